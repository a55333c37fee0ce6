//! The routers. Each computes one tree at a time from the network, its distances and the load so far.

mod fulb;
mod grow;
mod heap;
mod minihop;
mod own;
mod root;
mod sssp;

pub use fulb::Fulb;
pub use minihop::Minihop;
pub use own::{Own, OwnSettings};
pub use root::RootChoice;
pub use sssp::Sssp;
use thiserror::Error;

use crate::group::Group;
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};
use crate::tree::Tree;

/// A group without a tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// No switch reaches all members.
    #[error("no switch reaches all of the group's switches {}", members.join(", "))]
    Unreachable {
        /// Names of the members' switches, the first few.
        members: Vec<String>,
    },
}

impl RouteError {
    fn unreachable(network: &Network, members: &[SwitchId]) -> Self {
        let names = members
            .iter()
            .take(4)
            .map(|&m| network.switches()[m as usize].name.clone());
        Self::Unreachable {
            members: names.collect(),
        }
    }
}

/// A way to choose trees.
pub trait Router {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// A tree for a group with these member switches (ascending, each once, at least one); the load is not changed.
    ///
    /// # Errors
    /// No switch reaches all members.
    fn route(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<Tree, RouteError>;

    /// Another tree for a group whose tree `old` has lost cables; `old` is no part of the load, broken trees of other groups are. Routers
    /// may keep what works of the old one.
    ///
    /// # Errors
    /// No switch reaches all members.
    fn reroute(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
        old: &Tree,
    ) -> Result<Tree, RouteError> {
        let _ = old;
        self.route(network, hops, load, members)
    }

    /// Trees for all groups that need one, one after the other, each added to the load. `progress` is told how many groups are done.
    ///
    /// # Errors
    /// No switch reaches all members of a group; the load is as before then.
    fn route_all(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &mut Load,
        groups: &[Group],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<Tree>>, RouteError> {
        each(load, groups, progress, |load, members| {
            self.route(network, hops, load, members)
        })
    }
}

/// A tree for each group that needs one, each added to the load before the next; the load is as before if one fails.
fn each(
    load: &mut Load,
    groups: &[Group],
    progress: &mut dyn FnMut(usize),
    mut route: impl FnMut(&Load, &[SwitchId]) -> Result<Tree, RouteError>,
) -> Result<Vec<Option<Tree>>, RouteError> {
    let mut trees: Vec<Option<Tree>> = Vec::with_capacity(groups.len());
    for group in groups {
        let mut tree = None;
        if group.is_routed() {
            match route(load, group.switches()) {
                Ok(new) => {
                    load.add(&new);
                    tree = Some(new);
                }
                Err(error) => {
                    trees.iter().flatten().for_each(|tree| load.remove(tree));
                    return Err(error);
                }
            }
        }
        trees.push(tree);
        progress(trees.len());
    }
    Ok(trees)
}
