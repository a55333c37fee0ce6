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
        TreeCheck::new(network).check(self, members)
    }
}

/// [`Tree::check`] for many trees of a network: what it costs is the size of the trees, not of the network.
#[derive(Clone, Debug)]
pub struct TreeCheck<'n> {
    network: &'n Network,
    /// By switch.
    seen: Vec<Seen>,
    /// Number of the tree that is checked.
    tree: u32,
}

/// A switch of a tree.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// In this tree; the rest is of it.
    tree: u32,
    depth: u16,
    /// Something hangs below it, or it is a member.
    used: bool,
}

impl<'n> TreeCheck<'n> {
    /// Nothing is checked yet.
    #[must_use]
    pub fn new(network: &'n Network) -> Self {
        Self {
            network,
            seen: vec![Seen::default(); network.switches().len()],
            tree: 0,
        }
    }

    /// As [`Tree::check`].
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&mut self, tree: &Tree, members: &[SwitchId]) -> Result<(), String> {
        let network = self.network;
        if tree.root as usize >= self.seen.len() {
            return Err(format!("there is no switch {}, its root", tree.root));
        }
        self.begin();
        self.enter(tree.root, 0, true);
        let mut height = 0;
        for hop in &tree.hops {
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
            let Some(above) = self.get(parent) else {
                return Err(format!(
                    "switch {parent} is not in the tree when its child {} comes",
                    hop.child
                ));
            };
            above.used = true;
            let depth = above.depth + 1;
            height = height.max(depth);
            if self.get(hop.child).is_some() {
                return Err(format!("switch {} is in the tree twice", hop.child));
            }
            self.enter(hop.child, depth, false);
        }
        for member in members {
            match self.get(*member) {
                Some(seen) => seen.used = true,
                None => return Err(format!("member switch {member} is not reached")),
            }
        }
        let unused = |hop: &&TreeHop| !self.seen[hop.child as usize].used;
        if let Some(hop) = tree.hops.iter().find(unused) {
            return Err(format!(
                "switch {} is an end of the tree and no member",
                hop.child
            ));
        }
        if height != tree.height {
            return Err(format!("height is {height}, not {}", tree.height));
        }
        Ok(())
    }

    /// The next tree: no switch is in it.
    fn begin(&mut self) {
        self.tree = self.tree.wrapping_add(1);
        if self.tree == 0 {
            self.seen.fill(Seen::default());
            self.tree = 1;
        }
    }

    fn enter(&mut self, switch: SwitchId, depth: u16, used: bool) {
        self.seen[switch as usize] = Seen {
            tree: self.tree,
            depth,
            used,
        };
    }

    /// A switch of the tree.
    fn get(&mut self, switch: SwitchId) -> Option<&mut Seen> {
        let tree = self.tree;
        let seen = self.seen.get_mut(switch as usize);
        seen.filter(|seen| seen.tree == tree)
    }
}
