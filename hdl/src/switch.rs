//! The reducing switch: ports, crosspoint queues, crossbar, tables. Contract: docs/red-switch.md.

mod check;
mod core;
mod crosspoint;
mod engine;
mod output;
mod red_switch;
mod row;
mod rx;
mod tx;

pub use check::{ByteSwap, RedCheck};
pub use core::SwitchCore;
pub use crosspoint::Crosspoint;
pub use engine::{RedAccumulate, RedEmit, RedEngine, RedMatch};
pub use output::SwitchOut;
pub use red_switch::RedSwitch;
pub use row::SwitchRow;
pub use rx::SwitchRx;
pub use tx::SwitchTx;
