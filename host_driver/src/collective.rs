//! Collectives: operations that all members of a group do together (CL-8).
//!
//! A [`Host`] is the endpoint by which others know this process; a [`Communicator`] is a group of them, each with a rank. Members
//! call the same operations in the same order. Reductions go through the engines of the switches where a manager ([`Trees`]) has
//! made a tree for the group, and through messages between hosts where not; [`Counters`] say which. Values that do not depend on the
//! order of the operands are the same to the bit on both ways: everything but plain sums of floating-point numbers.
//!
//! ```no_run
//! # use tributary_host_driver::collective::*;
//! # use tributary_host_driver::ProtectionDomain;
//! # fn show(domain: &ProtectionDomain, members: &[tributary_host_driver::AddressHandle]) -> Result<(), CollectiveError> {
//! let host = Host::new(domain, HostOptions::default())?;
//! // Tell the others `host.address()`; the order of the list is that of the ranks.
//! let mut all = Communicator::create(&host, 1, members, None, Options::default())?;
//! let sum = all.all_reduce(Operation::SumReproducible, Data::F64(vec![0.1 * all.rank() as f64]))?;
//! println!("{:?}", sum.data);
//! all.close()?;
//! # Ok(()) }
//! ```
//!
//! It works while it is polled: [`Communicator::poll`], and every call that waits. `docs/collectives.md` is the contract.

mod communicator;
mod data;
mod error;
mod host;
mod long;
mod messages;
#[cfg(unix)]
pub mod remote;
mod rule;
mod software;
mod switch;

pub use communicator::{Communicator, Counters, Finished, Options, Outcome, Path, Ticket, name};
pub use data::{Data, Extremes, Operation};
pub use error::{CollectiveError, Why};
pub use host::{Host, HostOptions};
pub use switch::{Grant, SharedTrees, Trees};
pub use tributary_protocol::red::host::repsum::Sum;
