//! Reduction in the switch: frames, operations, engine, switch and host side.
//!
//! Rule ids (`RED-1` … `RED-18`) are those of `docs/conformance.md`; `docs/red-switch.md` is the operation contract that these
//! models share with the RTL.
//!
//! * [`ops`]: what a lane computes, as functions on 64-bit words and on [`ops::Value`]s.
//! * [`address`], [`wire`]: fabric addresses, and the frame as bytes.
//! * [`partial`], [`engine`]: contributions being combined, and the engine of a port; [`counters`]: what a port counts.
//! * [`switch`]: the switch around the engines; [`regs`]: its registers.
//! * [`host`]: reproducible sums of binary64, and the endpoints of a reduction.

pub mod address;
pub mod answer;
pub mod counters;
pub mod engine;
pub mod host;
pub mod ops;
pub mod partial;
pub mod regs;
pub mod switch;
pub mod wire;

pub use address::{Address, Key};
pub use counters::{Counter, Counters};
pub use engine::{
    Descriptor, Down, Engine, EngineConfig, EngineConfigError, TIMEOUT_UNIT, Together, Up,
};
pub use ops::{Mode, Op, Rc, Value};
pub use partial::Partial;
pub use switch::{Look, PortSettings, Switch, SwitchConfig, SwitchError, Taken, Tree};
pub use wire::Frame;

/// Bits of a sequence number.
pub const SEQNO_BITS: u32 = 10;

/// Sequence number `a` is newer than `b`: 0 < (a-b) mod 1024 < 512 (RED-14).
#[must_use]
pub const fn seqno_newer(a: u16, b: u16) -> bool {
    let ahead = a.wrapping_sub(b) % (1 << SEQNO_BITS);
    ahead != 0 && ahead < 1 << (SEQNO_BITS - 1)
}

/// The sequence number after `seqno`.
#[must_use]
pub const fn seqno_after(seqno: u16) -> u16 {
    seqno.wrapping_add(1) % (1 << SEQNO_BITS)
}
