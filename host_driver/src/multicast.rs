//! Block multicast over queue pairs of the driver (MB-8 to MB-15): one large object, from the root to all members of a group.
//!
//! Blocks are bulk WRITEs into memory of the receiver, who has granted each; all else are messages of a [`ReliableEndpoint`].
//! Who may send which block when decides `tributary_protocol::multicast::group`; this carries it out. It works while it is
//! polled: [`Group::poll`], [`Group::next`], [`Group::close`].
//!
//! ```no_run
//! # use std::time::Duration;
//! # use tributary_host_driver::multicast::*;
//! # use tributary_host_driver::{AddressHandle, EndpointConfig, ProtectionDomain};
//! # fn show(domain: &ProtectionDomain, members: &[AddressHandle]) -> Result<(), MulticastError> {
//! let seat = Seat::new(domain, EndpointConfig::default())?;
//! // Tell the others `seat.address()`; the first one of the list is the root.
//! let mut group = Group::create(seat, members, GroupOptions::default())?;
//! if group.is_root() {
//!     group.send(b"many bytes")?;
//! } else if let Some(message) = group.next(Duration::from_secs(1))? {
//!     println!("{} bytes", message.to_vec().len());
//! }
//! let verdict = group.close(Duration::from_secs(10))?;
//! # Ok(()) }
//! ```
//!
//! With [`Carried::ByCards`] the cards pass the blocks on by themselves (MB-16). [`OffloadedGroup`] is a card's part of that alone,
//! without the messages of a group.
//!
//! [`ReliableEndpoint`]: crate::ReliableEndpoint

mod cards;
mod carrier;
mod error;
mod group;
mod incoming;
mod liveness;
mod memory;
mod offload;
mod options;
mod seat;

pub use error::MulticastError;
pub use group::{Group, GroupCounters};
pub use memory::Message;
pub use offload::{End, OffloadError, OffloadOptions, OffloadedGroup, Ticket, TicketPairs};
pub use options::{ByCards, Carried, GroupOptions};
pub use seat::Seat;
pub use tributary_protocol::multicast::Algorithm;
pub use tributary_protocol::multicast::group::{Verdict, Why};
pub use tributary_protocol::multicast::ring::EndCode;
