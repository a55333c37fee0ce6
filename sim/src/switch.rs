//! The Verilated switch, and the streams at its ports.

pub mod core;
pub mod red;
pub mod stream;

pub use core::{CoreRtl, Events};
pub use red::RedRtl;
pub use stream::{Beat, Sink, Source, beats};
