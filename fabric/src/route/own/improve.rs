//! Takes load off the fullest cables, tree by tree.

use super::search::FORBIDDEN;
use super::{CABLE, Ground, Own, Paths};
use crate::group::Group;
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{CableId, Network};
use crate::tree::Tree;

/// What a cable costs that one more tree would make as full as the fullest: a detour of hundreds is cheaper.
const MAKES_FULL: u32 = 1 << 14;
/// What it costs when one more tree would bring it one below that.
const NEARLY: u32 = 64;
/// Rounds without fewer full cables, before it is given up.
const PATIENCE: usize = 8;
/// Work that is always allowed, in links looked at: a few milliseconds.
pub const LEAST_WORK: u64 = 1 << 20;

/// When to stop at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// No cable carries more.
    pub load: u32,
    /// It has cost this much, in links looked at.
    pub work: u64,
}

impl Own {
    /// Grows trees anew that use a full cable; a new one stays if it makes no more cables full than the old one did. Ends when rounds
    /// of that leave no fewer full cables, and as `until` says.
    pub(super) fn improve(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &mut Load,
        groups: &[Group],
        trees: &mut [Option<Tree>],
        until: Until,
    ) {
        let end = self.search.work().saturating_add(until.work);
        let mut most = load.max();
        if most <= until.load.max(1) || until.work == 0 {
            return;
        }
        let mut users = Users::new(network, trees);
        // Every idle round tries more roots.
        let (mut fewest, mut idle) = (usize::MAX, 0);
        while most > until.load.max(1) {
            self.costs.set(most, |load| match most - load {
                0 => FORBIDDEN,
                1 => MAKES_FULL,
                2 => NEARLY,
                _ => CABLE + CABLE * load / most,
            });
            let full = full_cables(load, most);
            for &cable in &full {
                let mut using = users.of[cable as usize].clone();
                // Small trees are quick to grow and easy to place.
                using.sort_by_key(|&group| (size(trees, group), group));
                for group in using {
                    if load.of(cable) < most {
                        break;
                    }
                    if self.search.work() >= end {
                        return;
                    }
                    let Some(old) = trees[group as usize].take() else {
                        continue;
                    };
                    load.remove(&old);
                    let ground = Ground {
                        network,
                        hops,
                        load,
                    };
                    let members = groups[group as usize].switches();
                    let new = self.cheapest(
                        ground,
                        members,
                        self.settings.roots * (2 + 2 * idle),
                        Paths::Any,
                    );
                    // A tree that is as good elsewhere makes room for others here.
                    let before = makes_full(load, &old, most);
                    let other = new.ok().filter(|new| makes_full(load, new, most) <= before);
                    let tree = other.unwrap_or_else(|| old.clone());
                    users.change(group, &old, &tree);
                    load.add(&tree);
                    trees[group as usize] = Some(tree);
                }
            }
            let now = load.max();
            if now < most {
                (most, fewest, idle) = (now, usize::MAX, 0);
                continue;
            }
            let left = full_cables(load, most).len();
            idle = if left < fewest { 0 } else { idle + 1 };
            fewest = fewest.min(left);
            if idle > PATIENCE {
                return;
            }
        }
    }
}

fn full_cables(load: &Load, most: u32) -> Vec<CableId> {
    let full = (0..).zip(load.efi()).filter(|&(_, &efi)| efi == most);
    full.map(|(cable, _)| cable).collect()
}

fn size(trees: &[Option<Tree>], group: u32) -> usize {
    trees[group as usize]
        .as_ref()
        .map_or(0, |tree| tree.hops.len())
}

/// Cables that this tree makes full, and whether it makes one fuller than that, which counts more.
fn makes_full(load: &Load, tree: &Tree, most: u32) -> (bool, usize) {
    let over = tree.cables().any(|cable| load.of(cable) >= most);
    (
        over,
        tree.cables()
            .filter(|&cable| load.of(cable) + 1 == most)
            .count(),
    )
}

/// Groups on each cable.
struct Users {
    of: Vec<Vec<u32>>,
}

impl Users {
    fn new(network: &Network, trees: &[Option<Tree>]) -> Self {
        let mut of = vec![Vec::new(); network.cables().len()];
        for (group, tree) in (0..).zip(trees) {
            for cable in tree.iter().flat_map(Tree::cables) {
                of[cable as usize].push(group);
            }
        }
        Self { of }
    }

    fn change(&mut self, group: u32, old: &Tree, new: &Tree) {
        for cable in old.cables() {
            self.of[cable as usize].retain(|&user| user != group);
        }
        for cable in new.cables() {
            self.of[cable as usize].push(group);
        }
    }
}
