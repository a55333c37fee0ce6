//! Classes of switches with the same neighbours, and the graph of these classes.

use std::collections::HashMap;

use super::UNREACHABLE;
use crate::network::{Network, SwitchId};

/// Distance of two switches with the same neighbours.
pub const TWINS_APART: u8 = 2;

/// Classes of twins, numbered by their first switch; those split off later at the end.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Class of each switch.
    pub of: Vec<u32>,
    /// Switches of each class, ascending.
    pub members: Vec<Vec<SwitchId>>,
    /// Neighbours of each class.
    near: Vec<Vec<u32>>,
}

impl Classes {
    pub fn new(network: &Network) -> Self {
        let switches = network.switch_count();
        let mut of = Vec::with_capacity(switches as usize);
        let mut members: Vec<Vec<SwitchId>> = Vec::new();
        let mut known: HashMap<Vec<SwitchId>, u32> = HashMap::new();
        for switch in 0..switches {
            let near = neighbours(network, switch);
            let class = *known.entry(near).or_insert_with(|| {
                members.push(Vec::new());
                members.len() as u32 - 1
            });
            members[class as usize].push(switch);
            of.push(class);
        }
        let near = members
            .iter()
            .map(|class| {
                let mut near: Vec<u32> = network
                    .links(class[0])
                    .iter()
                    .map(|l| of[l.peer as usize])
                    .collect();
                near.sort_unstable();
                near.dedup();
                near
            })
            .collect();
        Self { of, members, near }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn bytes(&self) -> usize {
        let lists = self.near.iter().chain(&self.members);
        4 * self.of.len()
            + lists
                .map(|list| 4 * list.len() + size_of::<Vec<u32>>())
                .sum::<usize>()
    }

    pub fn near(&self, class: usize) -> &[u32] {
        &self.near[class]
    }

    /// Distance of two switches of a class; 0 if it has only one.
    pub fn inner(&self, class: usize) -> u8 {
        match (self.members[class].len(), self.near[class].is_empty()) {
            (0 | 1, _) => 0,
            (_, true) => UNREACHABLE,
            (_, false) => TWINS_APART,
        }
    }

    /// Gives a switch that has twins a class of its own, at the end.
    pub fn split(&mut self, switch: SwitchId) -> Option<usize> {
        let old = self.of[switch as usize] as usize;
        if self.members[old].len() == 1 {
            return None;
        }
        let new = self.members.len();
        self.members[old].retain(|&s| s != switch);
        self.members.push(vec![switch]);
        self.of[switch as usize] = new as u32;
        for near in self.near[old].clone() {
            self.near[near as usize].push(new as u32);
        }
        self.near.push(self.near[old].clone());
        Some(new)
    }

    pub fn disconnect(&mut self, a: usize, b: usize) {
        self.near[a].retain(|&n| n as usize != b);
        self.near[b].retain(|&n| n as usize != a);
    }

    pub fn connect(&mut self, a: usize, b: usize) {
        self.near[a].push(b as u32);
        self.near[b].push(a as u32);
    }
}

fn neighbours(network: &Network, switch: SwitchId) -> Vec<SwitchId> {
    let mut near: Vec<SwitchId> = network.links(switch).iter().map(|link| link.peer).collect();
    near.sort_unstable();
    near.dedup();
    near
}
