//! The receiver-window engine.

mod accept;
mod acks;
mod bytes;
mod control;
mod counts;
mod decisions;
mod peers;
mod queue;
mod slide;
mod window;

pub use accept::RwAccept;
pub use acks::RwAcks;
pub use bytes::RwBytes;
pub use control::RwControl;
pub use counts::RwCounts;
pub use decisions::RwDecisions;
pub use peers::RwPeers;
pub use queue::EventQueue;
pub use slide::RwSlide;
pub use window::RwWindow;
