//! Grows a tree member by member, each joining it by the cheapest path that keeps the tree low enough.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Ground;
use crate::hops::Row;
use crate::network::{CableId, SwitchId};
use crate::tree::{Tree, TreeHop};

const NONE: u32 = u32::MAX;
/// Price of a cable that is taken only if there is no other way.
pub const FORBIDDEN: u32 = 1 << 22;

/// What a cable costs by its load; loads beyond the table cost as its last.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    by_load: Vec<u32>,
}

impl Costs {
    /// Prices for loads up to `most`.
    pub fn set(&mut self, most: u32, cost: impl FnMut(u32) -> u32) {
        self.by_load.clear();
        self.by_load.extend((0..=most).map(cost));
    }

    #[inline]
    fn of(&self, load: u32) -> u32 {
        let last = self.by_load.len().saturating_sub(1);
        self.by_load[(load as usize).min(last)]
    }
}

/// What a tree must keep to.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Its root, and the distances from there.
    pub root: SwitchId,
    pub row: Row<'a>,
    /// Most cables from the root to a member.
    pub height: u8,
    /// Every cable leads towards the root.
    pub strict: bool,
    /// Between blocks only straight into the root's: on a dragonfly, one global cable on every path (MC-11).
    pub one_global: bool,
    /// Trees that cost as much or more are of no use.
    pub cheaper_than: u64,
}

/// Why no tree grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is not cheaper than asked for.
    TooDear,
    /// A member found no path that keeps to the limits.
    NoPath,
}

/// A switch that a path has come to.
#[derive(Clone, Copy, Debug)]
struct Label {
    switch: SwitchId,
    before: u32,
    cable: CableId,
}

/// What is known of a switch.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The tree in the making that it belongs to, and how deep in it.
    tree: u32,
    depth: u8,
    /// The search that came by last, the cheapest way here that it knows, and how long that is.
    seen: u32,
    length: u8,
    cost: u32,
    /// The search that went on from here last, and the length of its shortest way so far.
    left: u32,
    left_length: u8,
}

/// Grows trees; keeps its memory from tree to tree.
#[derive(Clone, Debug, Default)]
pub struct Search {
    nodes: Vec<Node>,
    tree: u32,
    search: u32,
    labels: Vec<Label>,
    /// Ways to go on from, the cheapest first: cost, length, label.
    open: BinaryHeap<Reverse<(u32, u8, u32)>>,
    hops: Vec<TreeHop>,
    work: u64,
}

impl Search {
    /// Links looked at so far.
    pub const fn work(&self) -> u64 {
        self.work
    }

    /// Grows a tree that `members` join in their order; returns what its cables cost.
    pub fn grow(
        &mut self,
        ground: Ground<'_>,
        limits: Limits<'_>,
        members: &[SwitchId],
        costs: &Costs,
    ) -> Result<u64, Failure> {
        self.begin(ground.network.switches().len(), limits.root);
        let mut total = 0;
        for &member in members {
            if self.depth(member).is_none() {
                total += u64::from(self.attach(ground, limits, member, costs)?);
                if total >= limits.cheaper_than {
                    return Err(Failure::TooDear);
                }
            }
        }
        Ok(total)
    }

    /// The next tree, on a network of so many switches: its root alone.
    pub fn begin(&mut self, switches: usize, root: SwitchId) {
        self.start(switches);
        self.hops.clear();
        let node = &mut self.nodes[root as usize];
        (node.tree, node.depth) = (self.tree, 0);
    }

    /// How deep a switch is in the tree, if it belongs to it.
    pub fn depth(&self, switch: SwitchId) -> Option<u8> {
        let node = &self.nodes[switch as usize];
        (node.tree == self.tree).then_some(node.depth)
    }

    /// Adds a cable below a switch of the tree, whose depth the caller knows.
    pub fn hang(&mut self, hop: TreeHop, parent_depth: u8) {
        let node = &mut self.nodes[hop.child as usize];
        (node.tree, node.depth) = (self.tree, parent_depth + 1);
        self.hops.push(hop);
    }

    /// Joins a switch that is not in the tree yet by the cheapest path; returns what that costs.
    pub fn attach(
        &mut self,
        ground: Ground<'_>,
        limits: Limits<'_>,
        switch: SwitchId,
        costs: &Costs,
    ) -> Result<u32, Failure> {
        let (cost, label) = self
            .path(ground, limits, switch, costs)
            .ok_or(Failure::NoPath)?;
        self.join(label);
        Ok(cost)
    }

    /// Keeps only cables of the tree that `used` says yes to, asked from the ends on.
    pub fn prune(&mut self, mut used: impl FnMut(TreeHop) -> bool) {
        let mut kept: Vec<TreeHop> = self
            .hops
            .iter()
            .rev()
            .copied()
            .filter(|&h| used(h))
            .collect();
        kept.reverse();
        self.hops = kept;
    }

    /// The tree that grew last, under this root.
    pub fn tree(&self, root: SwitchId) -> Tree {
        let depth = |hop: &TreeHop| u16::from(self.nodes[hop.child as usize].depth);
        Tree {
            root,
            height: self.hops.iter().map(depth).max().unwrap_or(0),
            hops: self.hops.as_slice().into(),
        }
    }

    /// The next tree, for a network of so many switches.
    fn start(&mut self, switches: usize) {
        self.nodes.resize(switches, Node::default());
        // Marks of rounds long ago must not be taken for today's.
        if self.tree == u32::MAX || self.search > u32::MAX - (1 << 24) {
            self.nodes.fill(Node::default());
            (self.tree, self.search) = (0, 0);
        }
        self.tree += 1;
    }

    /// The cheapest path from a member to the tree: its cost and last label.
    fn path(
        &mut self,
        ground: Ground<'_>,
        limits: Limits<'_>,
        member: SwitchId,
        costs: &Costs,
    ) -> Option<(u32, u32)> {
        let Ground { network, load, .. } = ground;
        let Limits {
            root,
            row,
            height,
            strict,
            one_global,
            ..
        } = limits;
        let block = |switch: SwitchId| network.blocks()[switch as usize];
        self.search += 1;
        self.labels.clear();
        self.open.clear();
        self.labels.push(Label {
            switch: member,
            before: NONE,
            cable: 0,
        });
        self.open.push(Reverse((0, 0, 0)));
        while let Some(Reverse((cost, length, index))) = self.open.pop() {
            let at = self.labels[index as usize].switch;
            let node = &mut self.nodes[at as usize];
            if node.tree == self.tree {
                return Some((cost, index));
            }
            // Ways come in the order of their costs: a dearer one counts only if it is shorter.
            if node.left == self.search && node.left_length <= length {
                continue;
            }
            (node.left, node.left_length) = (self.search, length);
            let far = row.to(at);
            let length = length + 1;
            let links = network.links(at);
            self.work += links.len() as u64;
            for link in links {
                let peer = &mut self.nodes[link.peer as usize];
                let peer_far = row.to(link.peer);
                let low_enough = if strict {
                    peer_far < far
                } else if peer.tree == self.tree {
                    u16::from(peer.depth) + u16::from(length) <= height.into()
                } else {
                    u16::from(peer_far) + u16::from(length) <= height.into()
                };
                if one_global && block(link.peer) != block(at) && block(link.peer) != block(root) {
                    continue;
                }
                if !low_enough || peer.left == self.search && peer.left_length <= length {
                    continue;
                }
                let cost = cost.saturating_add(costs.of(load.of(link.cable)));
                if peer.seen == self.search && peer.cost <= cost {
                    if peer.length <= length {
                        continue;
                    }
                } else {
                    (peer.seen, peer.cost, peer.length) = (self.search, cost, length);
                }
                let label = self.labels.len() as u32;
                self.labels.push(Label {
                    switch: link.peer,
                    before: index,
                    cable: link.cable,
                });
                self.open.push(Reverse((cost, length, label)));
            }
        }
        None
    }

    /// Adds the path to a label to the tree.
    fn join(&mut self, label: u32) {
        let mut label = self.labels[label as usize];
        let mut depth = self.nodes[label.switch as usize].depth;
        while label.before != NONE {
            let below = self.labels[label.before as usize];
            depth += 1;
            let node = &mut self.nodes[below.switch as usize];
            (node.tree, node.depth) = (self.tree, depth);
            self.hops.push(TreeHop {
                child: below.switch,
                cable: label.cable,
            });
            label = below;
        }
    }
}
