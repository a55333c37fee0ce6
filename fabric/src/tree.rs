//! Multicast trees.

use std::collections::HashMap;

use crate::network::{CableId, Network, SwitchId};

/// One cable of a tree, seen from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHop {
    /// Switch at its lower end.
    pub child: SwitchId,
    /// The cable that leads one level up.
    pub cable: CableId,
}

/// A tree over switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its root, the switch from which heights count.
    pub root: SwitchId,
    /// Cables from the root to the farthest member switch.
    pub height: u16,
    /// Its cables; the one above a switch comes before those below it.
    pub hops: Box<[TreeHop]>,
}

impl Tree {
    /// A tree of these cables, the one above a switch before those below it.
    #[must_use]
    pub fn from_hops(network: &Network, root: SwitchId, hops: Vec<TreeHop>) -> Self {
        let mut depth = HashMap::with_capacity(hops.len());
        let mut height = 0;
        for hop in &hops {
            let parent = network.cables()[hop.cable as usize].other(hop.child);
            let below = depth.get(&parent).copied().unwrap_or(0u16) + 1;
            depth.insert(hop.child, below);
            height = height.max(below);
        }
        Self {
            root,
            height,
            hops: hops.into(),
        }
    }

    /// Its cables, in the order of `hops`.
    pub fn cables(&self) -> impl ExactSizeIterator<Item = CableId> + '_ {
        self.hops.iter().map(|hop| hop.cable)
    }

    /// Its switches, the root first.
    pub fn switches(&self) -> impl Iterator<Item = SwitchId> + '_ {
        std::iter::once(self.root).chain(self.hops.iter().map(|hop| hop.child))
    }

    /// Whether it is a tree of working cables of this network with this height, and reaches every one of `members`
    /// with nothing hanging below them; otherwise what is wrong.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self, network: &Network, members: &[SwitchId]) -> Result<(), String> {
        let switches = network.switches().len();
        if self.root as usize >= switches {
            return Err(format!("there is no switch {}, its root", self.root));
        }
        // By switch: its depth, and whether something hangs below it or it is a member.
        let mut seen: Vec<Option<(u16, bool)>> = vec![None; switches];
        seen[self.root as usize] = Some((0, true));
        let mut height = 0;
        for hop in &self.hops {
            let Some(cable) = network.cables().get(hop.cable as usize) else {
                return Err(format!("there is no cable {}", hop.cable));
            };
            if !network.is_up(hop.cable) {
                return Err(format!("cable {} does not work", hop.cable));
            }
            if !cable.ends.iter().any(|end| end.0 == hop.child) {
                return Err(format!(
                    "cable {} does not end at switch {}",
                    hop.cable, hop.child
                ));
            }
            let parent = cable.other(hop.child);
            let Some((above, used)) = &mut seen[parent as usize] else {
                return Err(format!(
                    "switch {parent} is not in the tree when its child {} comes",
                    hop.child
                ));
            };
            *used = true;
            let depth = *above + 1;
            height = height.max(depth);
            if seen[hop.child as usize].replace((depth, false)).is_some() {
                return Err(format!("switch {} is in the tree twice", hop.child));
            }
        }
        for member in members {
            match seen.get_mut(*member as usize).and_then(Option::as_mut) {
                Some((_, used)) => *used = true,
                None => return Err(format!("member switch {member} is not reached")),
            }
        }
        if let Some(hop) = self
            .hops
            .iter()
            .find(|hop| matches!(seen[hop.child as usize], Some((_, false))))
        {
            return Err(format!(
                "switch {} is an end of the tree and no member",
                hop.child
            ));
        }
        if height != self.height {
            return Err(format!("height is {height}, not {}", self.height));
        }
        Ok(())
    }
}
