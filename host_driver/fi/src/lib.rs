//! Provider of libfabric over the Tributary card: `libtributary-fi.so`, which libfabric loads from FI_PROVIDER_PATH.
//!
//! Reliable datagram endpoints (FI_EP_RDM) with messages, tagged messages and memory of peers; `docs/mpi.md` is the contract. [`engine`] is the
//! logic, without C and without a card; [`card`] joins it to the driver; [`collective`] is for the library of reductions, which needs
//! the card of the same process; the rest is the boundary to C.
#![cfg(target_os = "linux")]

pub mod abi;
mod boundary;
pub mod card;
pub mod collective;
pub mod engine;
pub mod header;
mod mover;
mod numbered;
