//! Networks of switches, and multicast trees over them with the load spread evenly.
//!
//! - [`network`]: switches, endnodes and cables, checked as they are put together; cables that fail and come back.
//! - [`topology`] and [`read`]: networks by formula and from files; [`pattern`]: groups by formula.
//! - [`structure`]: fat trees, tori and dragonflies, recognised from the graph alone.
//! - [`hops`]: distances between switches.
//! - [`group`], [`tree`] and [`load`]: multicast groups, their trees, and the number of groups on each cable (its EFI).
//! - [`bound`]: what no router can go below.
//! - [`route`]: the routers, from OpenSM's to the project's own.
//! - [`table`]: a tree as entries of the switches' tables; [`update`]: the order in which they are written; [`ids`]: tree ids.
//! - [`export`]: trees written down for those who program switches.
//! - [`unicast`]: routes to single endnodes; [`control`]: switches of a running fabric, programmed through their registers.
//! - [`manager`]: groups that are joined, routed, re-routed after failures, and left.

pub mod bound;
pub mod control;
pub mod export;
pub mod group;
pub mod hops;
pub mod ids;
pub mod load;
pub mod manager;
pub mod network;
pub mod pattern;
pub mod read;
pub mod route;
pub mod structure;
pub mod table;
pub mod topology;
pub mod tree;
pub mod unicast;
pub mod update;

pub use group::{Group, GroupError};
pub use hops::HopTable;
pub use ids::{IdError, TreeId, TreeIds};
pub use load::Load;
pub use manager::Manager;
pub use network::{
    CableId, EndnodeId, Jack, Network, NetworkBuilder, NetworkError, Port, SwitchId,
};
pub use route::{RouteError, Router};
pub use table::{Leader, TableError};
pub use tree::{Tree, TreeCheck, TreeHop};
pub use update::{Tables, Update, Write};
