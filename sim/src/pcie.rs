//! The host side of the card's PCI Express link: memory behind an IOMMU, and a root complex that speaks TLPs with a
//! Verilated model and checks every one that comes from it.

mod config;
mod fault;
mod host;
mod memory;
mod posted;
mod reads;
mod root;
mod stream;

pub use config::{Config, Interrupt, Seen};
pub use fault::{Fault, Faulted};
pub use host::{Answer, Ticket};
pub use memory::{Access, Denied, HostMemory, MapError};
pub use posted::WritePath;
pub use root::RootComplex;
pub use stream::RawTlp;
