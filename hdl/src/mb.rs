//! Block multicast in the card.

mod generator;

pub use generator::MbGenerator;
