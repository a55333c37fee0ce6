//! How many cables a tree needs at least, by dual ascent (Wong 1984).
//!
//! Think of a tree as arcs that lead away from one of its members, the origin. Any set of switches with another member and without the
//! origin has an arc that enters it. Sets are chosen one after the other such that no arc enters two of them; the tree has an arc for each.
//! A set is what reaches a member by arcs that entered sets before; all arcs that enter it are used up then, and it grows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::network::{Network, SwitchId};

/// Counts; keeps its memory from group to group.
pub struct Ascent {
    /// By switch: where its neighbours begin; each once.
    first: Vec<u32>,
    near: Vec<SwitchId>,
    /// Arcs to a switch from its neighbours that are used up, a byte for each.
    used: Vec<bool>,
    seen: Vec<u32>,
    round: u32,
    /// By switch: whether it is the origin, or a member whose set still grows.
    alive: Vec<bool>,
    set: Vec<SwitchId>,
    /// Arcs that enter the set, with the switches that they come from.
    unused: Vec<(u32, SwitchId)>,
    /// Sets to grow, those that fewest arcs enter first: arcs, member.
    open: BinaryHeap<Reverse<(u32, SwitchId)>>,
    work: u64,
}

impl Ascent {
    pub fn new(network: &Network) -> Self {
        let switches = network.switch_count();
        let mut first = vec![0];
        let mut near = Vec::new();
        for switch in 0..switches {
            let from = near.len();
            near.extend(network.links(switch).iter().map(|link| link.peer));
            near[from..].sort_unstable();
            let mut kept = from;
            for i in from..near.len() {
                if i == from || near[i] != near[kept - 1] {
                    near[kept] = near[i];
                    kept += 1;
                }
            }
            near.truncate(kept);
            first.push(near.len() as u32);
        }
        Self {
            first,
            used: vec![false; near.len()],
            near,
            seen: vec![0; switches as usize],
            round: 0,
            alive: vec![false; switches as usize],
            set: Vec::new(),
            unused: Vec::new(),
            open: BinaryHeap::new(),
            work: 0,
        }
    }

    /// Arcs looked at so far.
    pub const fn work(&self) -> u64 {
        self.work
    }

    /// Cables that a tree over these switches has at least.
    pub fn least(&mut self, members: &[SwitchId]) -> u64 {
        let Some((_, others)) = members.split_first() else {
            return 0;
        };
        members.iter().for_each(|&m| self.alive[m as usize] = true);
        self.used.fill(false);
        self.work += self.used.len() as u64 / 16;
        self.open.clear();
        self.open.extend(others.iter().map(|&m| Reverse((0, m))));
        let mut least = 0;
        while let Some(Reverse((arcs, member))) = self.open.pop() {
            let Some(entering) = self.grown(member) else {
                self.alive[member as usize] = false;
                continue;
            };
            // No path leads there from the origin: any number would do.
            if entering == 0 {
                continue;
            }
            let next = self.open.peek().map_or(u32::MAX, |next| next.0.0);
            if entering > arcs.max(next) {
                self.open.push(Reverse((entering, member)));
                continue;
            }
            self.enter();
            least += 1;
            self.open.push(Reverse((entering, member)));
        }
        members.iter().for_each(|&m| self.alive[m as usize] = false);
        least
    }

    /// Gathers the set that reaches `member` by arcs that are used up: how many others enter it. None if the origin or
    /// another member is in it, which reaches this one then.
    fn grown(&mut self, member: SwitchId) -> Option<u32> {
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.set.clear();
        self.unused.clear();
        self.set.push(member);
        self.seen[member as usize] = self.round;
        let mut next = 0;
        while let Some(&at) = self.set.get(next) {
            next += 1;
            if at != member && self.alive[at as usize] {
                return None;
            }
            let arcs = self.arcs(at);
            self.work += arcs.len() as u64;
            for arc in arcs {
                let from = self.near[arc];
                if !self.used[arc] {
                    self.unused.push((arc as u32, from));
                } else if self.seen[from as usize] != self.round {
                    self.seen[from as usize] = self.round;
                    self.set.push(from);
                }
            }
        }
        let Self {
            unused,
            seen,
            round,
            ..
        } = self;
        unused.retain(|&(_, from)| seen[from as usize] != *round);
        Some(unused.len() as u32)
    }

    /// Uses up the arcs that enter the set gathered last.
    fn enter(&mut self) {
        for &(arc, _) in &self.unused {
            self.used[arc as usize] = true;
        }
    }

    fn arcs(&self, to: SwitchId) -> std::ops::Range<usize> {
        self.first[to as usize] as usize..self.first[to as usize + 1] as usize
    }
}
