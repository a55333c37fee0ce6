//! Hosts with a card each, in one process: what runs a driver without hardware. [`serve`] gives the cards to other processes.
//!
//! The cards are [`Node`]s, models or anything else that has a BAR and frames; their frames cross links that lose, repeat and
//! reorder them. Each is a [`SimDevice`] for `tributary_host_driver`. Nothing runs by itself: time goes on by a slot whenever some
//! driver looks at a register, waits, or finds nothing to do. With all drivers in one thread, a run depends on its seed only.
//!
//! ```
//! use std::sync::Arc;
//! use tributary_host_driver::{Context, EndpointConfig, EndpointEvent, Options, ReliableEndpoint};
//! use tributary_sim::card::{NetworkConfig, network};
//!
//! let endpoints = network(&NetworkConfig::default()).unwrap().into_iter().enumerate().map(|(node, device)| {
//!     let options = Options { node: node as u32, ..Options::default() };
//!     let domain = Context::open(Arc::new(device), options)?.alloc_pd()?;
//!     ReliableEndpoint::new(&domain, EndpointConfig::default())
//! });
//! let mut endpoints: Vec<_> = endpoints.collect::<Result<_, _>>().unwrap();
//! let to = endpoints[1].address();
//! endpoints[0].send_copy(to, b"hello").unwrap();
//! let payload = loop {
//!     endpoints[0].poll().unwrap();
//!     if let Some(EndpointEvent::Delivered { payload, .. }) = endpoints[1].poll().unwrap() {
//!         break payload;
//!     }
//! };
//! assert_eq!(*payload, *b"hello");
//! ```

#[doc = include_str!("../../docs/driver.md")]
#[cfg(doctest)]
pub struct DriverDocument;

mod axis;
mod board;
mod cluster;
mod device;
mod exchange;
mod incast;
mod memory;
mod node;
mod rtl;
mod serve;
mod tree_server;
mod trees;
mod world;

pub use board::{
    BoardKind, BoardNode, BoardStats, CabledBoard, LineFaults, RemoteBoard, build_board,
};
pub use cluster::{Cluster, SLOT_NS};
pub use device::SimDevice;
pub use exchange::{Exchange, ExchangeReport, exchange, exchange_over};
pub use incast::{Incast, IncastReport, LINE_MBPS, Passed, incast, incast_datagrams, incast_on};
pub use memory::HostStats;
pub use node::Node;
pub use rtl::{CLOCK_NS, CardSizes, RtlNode, network_rtl};
pub use serve::{ServeError, Served, serve};
pub use tree_server::{TreeServer, serve_trees};
pub use trees::ClusterTrees;
pub use world::{Captured, NetworkConfig, network, network_of};
