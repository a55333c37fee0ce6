//! Reduction in the switch: frames, operations, engine, switch and host side.
//!
//! Rule ids (`RED-1` … `RED-18`) are those of `docs/conformance.md`; `docs/red-switch.md` is the operation contract that these
//! models share with the RTL.
//!
//! * [`ops`]: what a lane computes, as functions on 64-bit words and on [`ops::Value`]s.

pub mod ops;
