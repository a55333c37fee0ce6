//! Block multicast in the card.

mod generator;
mod ring;
mod ring_burst;
mod ring_state;

pub use generator::MbGenerator;
pub use ring::MbRing;
pub use ring_burst::MbRingBurst;
