//! The Verilated switch, and the streams at its ports.

pub mod axil;
pub mod core;
pub mod red;
pub mod stream;
pub mod top;

pub use axil::{Answer, Axil};
pub use core::{CoreRtl, Events};
pub use red::RedRtl;
pub use stream::{Beat, Sink, Source, beats};
pub use top::TopRtl;
