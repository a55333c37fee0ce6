//! Wire formats and executable protocol models.
//!
//! Everything here is pure: no I/O, no clock, no threads. A model is a struct whose methods are the atomic operations of
//! the protocol, so that it can be stepped beside the RTL, explored exhaustively, or driven by a simulator.
//!
//! * [`rw`]: RDMA over a receiver-side sliding window (receiver and sender machines, messages, explorer).
//! * [`bulk`]: what cards add to it: queue pairs, notification, READ.
//! * [`red`]: reductions in the switch (frame, operations, engine, switch, host side).
//! * [`xud`]: extended unreliable datagrams (the card's datagram engine, the reliable layer in software, explorer).
//! * [`multicast`]: block schedules of reliable multicast.
//! * [`card`]: what host software sees of the card: registers, commands, descriptors.
//! * [`pcie`]: PCI Express TLPs, and the rules of a requester.
//! * [`tlp_link`]: TLPs in Ethernet frames, for boards without PCI Express.
//! * [`roce`]: the Ethernet/IPv4/UDP/BTH frame around the messages of every protocol of the card, and its ICRC.

#[macro_use]
mod codes;
#[macro_use]
pub mod header;
#[macro_use]
pub mod registers;

pub mod bulk;
pub mod card;
pub mod multicast;
pub mod pcie;
pub mod red;
pub mod roce;
pub mod rw;
pub mod tlp_link;
pub mod xud;
