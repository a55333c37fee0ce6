//! Fabrics of reducing switches and endpoints, simulated clock by clock or event by event from one seed.
//!
//! * [`Fabric`]: switches, endpoints, cables and trees; [`mod@file`] reads one from TOML, [`Fabric::regular`] makes one.
//! * [`mod@network`]: fabrics and trees from `tributary_fabric`'s networks and routed groups.
//! * [`tree`], [`routes`]: table entries, derived by walking the cabling, and checks of those that are given.
//! * [`timing`]: how long a switch takes, measured on the RTL.
//! * [`Simulator`]: nodes, cables, faults and time. A switch is a [`ModelSwitch`], which is given a frame when it has come in,
//!   or an [`RtlSwitch`], which runs clock by clock.
//! * [`Endpoint`]: the machines of `tributary_protocol::red::host`, each with the time that a host takes to send and receive.
//! * [`ranks`]: a simulation over several threads, processes or machines.
//! * [`capture`]: what was seen on the cables, for Wireshark.
//! * [`mod@reference`]: what a round must come to, from the frames that were seen on the cables.
//!
//! Time is in clocks of the 64-bit datapath: one word of 8 bytes, 6.4 ns at 10 Gb/s.

mod cable;
pub mod capture;
pub mod check;
mod describe;
mod endpoint;
pub mod file;
mod groups;
mod model;
pub mod network;
mod node;
pub mod ranks;
pub mod reference;
pub mod routes;
mod rtl;
mod shape;
mod simulator;
pub mod timing;
pub mod tree;

pub use cable::{Fate, Sighting};
pub use describe::{Cable, EndpointSpec, Fabric, Kind, LinkSpec, Place, SwitchSpec, TreeSpec};
pub use endpoint::{Contribution, Cost, Endpoint, Logged, Role};
pub use groups::GroupConfig;
pub use model::ModelSwitch;
pub use node::{ActsOn, Departure, SwitchNode};
pub use rtl::RtlSwitch;
pub use shape::ShapeError;
pub use simulator::{Options, Passing, SimulationError, Simulator, TableBits, Treatment};
