//! Trees that grow from the members up: each climbs until it meets a switch that another has passed.

use crate::network::{CableId, Network, SwitchId};
use crate::tree::{Tree, TreeHop};

/// Switches that belong to the tree in the making; emptied in no time.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    round: u32,
    of: Vec<u32>,
}

impl Mark {
    /// Forgets all, for a network of so many switches.
    pub fn clear(&mut self, switches: usize) {
        self.of.resize(switches, 0);
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.of.fill(0);
            self.round = 1;
        }
    }

    /// Adds a switch; false if it was there.
    pub fn insert(&mut self, switch: SwitchId) -> bool {
        let slot = &mut self.of[switch as usize];
        std::mem::replace(slot, self.round) != self.round
    }
}

/// The tree in which each member climbs by the cables that `up` names until it meets the tree; `up` leads to `root` from everywhere.
pub fn join(
    network: &Network,
    mark: &mut Mark,
    root: SwitchId,
    members: &[SwitchId],
    mut up: impl FnMut(SwitchId) -> Option<CableId>,
) -> Tree {
    mark.clear(network.switches().len());
    mark.insert(root);
    let mut hops: Vec<TreeHop> = Vec::with_capacity(2 * members.len());
    for &member in members {
        let first = hops.len();
        let mut at = member;
        while mark.insert(at) {
            let Some(cable) = up(at) else { break };
            hops.push(TreeHop { child: at, cable });
            at = network.cables()[cable as usize].other(at);
        }
        hops[first..].reverse();
    }
    Tree::from_hops(network, root, hops)
}
