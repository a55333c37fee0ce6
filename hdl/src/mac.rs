//! Ethernet MACs for 1 Gb/s at a GMII and 10 Gb/s at an XGMII, with words of 64 bits on AXI4-Stream.

mod gmii;
mod guard;
mod queues;
mod receive;
mod transmit;
mod word;
mod xgmii;
mod xgmii_faults;
mod xgmii_receive;
mod xgmii_transmit;

pub use gmii::MacGmii;
pub use guard::MacGuard;
pub use queues::MacQueues;
pub use receive::MacReceive;
pub use transmit::MacTransmit;
pub use word::{MacWord, MacWordBad};
pub use xgmii::MacXgmii;
pub use xgmii_faults::XgmiiFaults;
pub use xgmii_receive::{XgmiiPart, XgmiiReceive};
pub use xgmii_transmit::{XgmiiTransmit, XgmiiWord};
