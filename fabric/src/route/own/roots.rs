//! Which roots to try.

use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};

/// For each root to be tried, so many are looked at more closely.
const NEAR: usize = 32;

/// Picks candidates; keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    round: u32,
    /// By class: the round that came by last, and where the class is in `found`.
    classes: Vec<(u32, u32)>,
    found: Vec<Found>,
}

/// A class of twins among the centers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// Trees through its switches.
    all: u32,
    /// Trees through the best of them, and which one that is.
    trees: u32,
    best: SwitchId,
}

impl Candidates {
    /// Leaves at most `count` (1 or more) of `centers`, the best first: one of each class of twins, the one that fewest trees
    /// pass, from the classes that fewest trees pass. Twins lead to the same switches, so trying two of them tells little.
    pub fn pick(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        centers: &mut Vec<SwitchId>,
        count: usize,
    ) {
        self.classes.resize(hops.classes(), (0, 0));
        if self.round == u32::MAX {
            self.classes.fill((0, 0));
            self.round = 0;
        }
        self.round += 1;
        self.found.clear();
        for &switch in centers.iter() {
            let trees = load.trees(switch);
            let class = &mut self.classes[hops.class(switch) as usize];
            if class.0 == self.round {
                let found = &mut self.found[class.1 as usize];
                found.all += trees;
                if trees < found.trees {
                    (found.trees, found.best) = (trees, switch);
                }
            } else {
                *class = (self.round, self.found.len() as u32);
                self.found.push(Found {
                    all: trees,
                    trees,
                    best: switch,
                });
            }
        }
        keep(&mut self.found, NEAR * count);
        self.found.sort_unstable();
        let half = (count / 2).min(self.found.len());
        let (sure, rest) = self.found.split_at_mut(half);
        if rest.len() > count - sure.len() {
            // A tree uses what is around its root.
            for found in &mut *rest {
                let near = network.links(found.best).iter();
                found.all = near
                    .map(|link| 2 * load.of(link.cable) + load.trees(link.peer))
                    .sum();
            }
            rest.sort_unstable();
        }
        self.found.truncate(count);
        centers.clear();
        centers.extend(self.found.iter().map(|found| found.best));
    }
}

/// Leaves the `count` smallest.
fn keep(found: &mut Vec<Found>, count: usize) {
    if found.len() > count {
        found.select_nth_unstable(count - 1);
        found.truncate(count);
    }
}
