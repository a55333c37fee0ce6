//! The number of groups on each cable: its EFI.

use crate::network::{CableId, Network, SwitchId};
use crate::tree::Tree;

/// Groups on each cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    efi: Vec<u32>,
    /// By load up to the highest: cables that carry it.
    cables: Vec<u32>,
    trees: Vec<u32>,
    rooted: Vec<u32>,
}

impl Load {
    /// No groups on any cable.
    #[must_use]
    pub fn new(network: &Network) -> Self {
        Self {
            efi: vec![0; network.cables().len()],
            cables: vec![network.cables().len() as u32],
            trees: vec![0; network.switches().len()],
            rooted: vec![0; network.switches().len()],
        }
    }

    /// Groups on a cable.
    #[must_use]
    #[inline]
    pub fn of(&self, cable: CableId) -> u32 {
        self.efi[cable as usize]
    }

    /// Groups on each cable, by cable.
    #[must_use]
    pub fn efi(&self) -> &[u32] {
        &self.efi
    }

    /// Trees that a switch belongs to.
    #[must_use]
    #[inline]
    pub fn trees(&self, switch: SwitchId) -> u32 {
        self.trees[switch as usize]
    }

    /// Trees whose root is this switch.
    #[must_use]
    #[inline]
    pub fn rooted(&self, switch: SwitchId) -> u32 {
        self.rooted[switch as usize]
    }

    /// A tree is in use from now on.
    pub fn add(&mut self, tree: &Tree) {
        self.rooted[tree.root as usize] += 1;
        for switch in tree.switches() {
            self.trees[switch as usize] += 1;
        }
        for cable in tree.cables() {
            let efi = &mut self.efi[cable as usize];
            self.cables[*efi as usize] -= 1;
            *efi += 1;
            if *efi as usize == self.cables.len() {
                self.cables.push(0);
            }
            self.cables[*efi as usize] += 1;
        }
    }

    /// A tree that was added is in use no longer.
    pub fn remove(&mut self, tree: &Tree) {
        self.rooted[tree.root as usize] -= 1;
        for switch in tree.switches() {
            self.trees[switch as usize] -= 1;
        }
        for cable in tree.cables() {
            let efi = &mut self.efi[cable as usize];
            self.cables[*efi as usize] -= 1;
            *efi -= 1;
            self.cables[*efi as usize] += 1;
        }
        // Highest first, so that equal loads look alike however they came about.
        while self.cables.len() > 1 && self.cables.last() == Some(&0) {
            self.cables.pop();
        }
    }

    /// Most groups on a cable.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.cables.len() as u32 - 1
    }

    /// Groups on a cable, on average.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let total: u64 = self.efi.iter().map(|&e| u64::from(e)).sum();
        total as f64 / self.efi.len().max(1) as f64
    }
}
