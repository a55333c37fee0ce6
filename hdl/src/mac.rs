//! Ethernet MAC for 1 Gb/s: frames of bytes at a GMII, words of 64 bits on AXI4-Stream.

mod gmii;
mod guard;
mod receive;
mod transmit;
mod word;

pub use gmii::MacGmii;
pub use guard::MacGuard;
pub use receive::MacReceive;
pub use transmit::MacTransmit;
pub use word::{MacWord, MacWordBad};
