//! The Verilated switch, and the streams at its ports.

pub mod core;
pub mod stream;

pub use core::{CoreRtl, Events};
pub use stream::{Beat, Sink, Source, beats};
