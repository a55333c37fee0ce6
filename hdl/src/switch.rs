//! The reducing switch: ports, crosspoint queues, crossbar, tables. Contract: docs/red-switch.md.

mod check;
mod core;
mod counters;
mod crosspoint;
mod engine;
mod look;
mod output;
mod reader;
mod red_switch;
mod regs;
mod row;
mod rx;
mod together;
mod top;
mod tx;

pub use check::{ByteSwap, RedCheck, ops};
pub use core::SwitchCore;
pub use counters::SwitchCounters;
pub use crosspoint::Crosspoint;
pub use engine::{RedAccumulate, RedBuffer, RedEmit, RedEngine, RedEvents, RedMatch};
pub use look::SwitchLook;
pub use output::SwitchOut;
pub use reader::SwitchReader;
pub use red_switch::RedSwitch;
pub use regs::SwitchRegs;
pub use row::SwitchRow;
pub use rx::SwitchRx;
pub use together::SwitchTogether;
pub use top::SwitchTop;
pub use tx::SwitchTx;
