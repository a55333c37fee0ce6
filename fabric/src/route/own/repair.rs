//! A tree that has lost cables: what is left of it, and new ways for what it lost.
//!
//! Whole branches join anew, not members one by one, so that all cables within them stay.

use super::search::{Failure, Limits};
use super::{Ground, Own};
use crate::network::{Network, SwitchId};
use crate::tree::Tree;

/// Roots near the old one that are tried where that does not do.
const NEAR: usize = 3;
const NONE: u32 = u32::MAX;

/// What is known of a tree that has lost cables; keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// By switch: where the cable above it stands in the tree.
    above: Vec<u32>,
    /// By cable of the tree: cables that work from its lower end down to the farthest member, and directly below it.
    height: Vec<u8>,
    children: Vec<u32>,
}

impl Remains {
    fn look(&mut self, network: &Network, tree: &Tree) {
        self.above.resize(network.switches().len(), NONE);
        self.height.clear();
        self.height.resize(tree.hops.len(), 0);
        self.children.clear();
        self.children.resize(tree.hops.len(), 0);
        for (at, hop) in (0..).zip(&tree.hops) {
            self.above[hop.child as usize] = at;
        }
        for (at, hop) in tree.hops.iter().enumerate().rev() {
            let parent = network.cables()[hop.cable as usize].other(hop.child);
            let above = self.above[parent as usize];
            if above != NONE && network.is_up(hop.cable) {
                let height = self.height[at].saturating_add(1);
                let parent = &mut self.height[above as usize];
                *parent = (*parent).max(height);
                self.children[above as usize] += 1;
            }
        }
        for hop in &tree.hops {
            self.above[hop.child as usize] = NONE;
        }
    }
}

impl Own {
    /// Mends a tree under its root or one near it, and says whether no cable carries more than `most` with it. If none of these roots gives
    /// such a tree, that of the nearest root; none if no root near gives the least height.
    pub(super) fn mend(
        &mut self,
        ground: Ground<'_>,
        members: &[SwitchId],
        old: &Tree,
        most: u32,
    ) -> Option<(Tree, bool)> {
        let height = ground.hops.centers(members, &mut self.centers)?;
        self.remains.look(ground.network, old);
        let far = ground.hops.row(old.root);
        let load = ground.load;
        self.centers
            .sort_by_cached_key(|&root| (far.to(root), load.trees(root), root));
        self.centers.truncate(1 + NEAR);
        let mut first = None;
        for i in 0..self.centers.len() {
            let root = self.centers[i];
            let limits = Limits {
                root,
                row: ground.hops.row(root),
                height,
                strict: false,
                one_global: ground.network.is_dragonfly(),
                cheaper_than: u64::MAX,
            };
            if self.mend_under(ground, limits, members, old).is_ok() {
                let tree = self.search.tree(root);
                if tree.cables().all(|cable| load.of(cable) < most) {
                    return Some((tree, true));
                }
                first.get_or_insert((tree, false));
            }
        }
        first
    }

    /// Grows what is left of a tree into one under this root.
    fn mend_under(
        &mut self,
        ground: Ground<'_>,
        limits: Limits<'_>,
        members: &[SwitchId],
        old: &Tree,
    ) -> Result<(), Failure> {
        let Ground { network, .. } = ground;
        let Self {
            search,
            costs,
            remains,
            ..
        } = self;
        let is_member = |switch: SwitchId| members.binary_search(&switch).is_ok();
        let block = |switch: SwitchId| network.blocks()[switch as usize];
        search.begin(network.switches().len(), limits.root);
        for (at, &hop) in old.hops.iter().enumerate() {
            if search.depth(hop.child).is_some() {
                continue;
            }
            let parent = network.cables()[hop.cable as usize].other(hop.child);
            let below = remains.height[at];
            if network.is_up(hop.cable)
                && let Some(depth) = search.depth(parent)
            {
                let low_enough = depth.saturating_add(1).saturating_add(below) <= limits.height;
                let allowed = !limits.one_global
                    || block(parent) == block(hop.child)
                    || block(parent) == block(limits.root);
                if low_enough && allowed {
                    search.hang(hop, depth);
                    continue;
                }
            }
            // A switch that only leads on is worth a way of its own where the branch divides.
            if (is_member(hop.child) || remains.children[at] > 1) && below <= limits.height {
                let height = limits.height - below;
                let limits = Limits { height, ..limits };
                // Where the whole branch finds no way, its parts may.
                let _ = search.attach(ground, limits, hop.child, costs);
            }
        }
        for &member in members {
            if search.depth(member).is_none() {
                search.attach(ground, limits, member, costs)?;
            }
        }
        // From the ends on: what has no member below it goes. The look at the old tree is over, so its memory is free.
        let leads = &mut remains.above;
        let mut seen = Vec::new();
        search.prune(|hop| {
            let used = leads[hop.child as usize] != NONE || is_member(hop.child);
            if used {
                let parent = network.cables()[hop.cable as usize].other(hop.child);
                leads[parent as usize] = 0;
                seen.push(parent);
            }
            used
        });
        for switch in seen {
            leads[switch as usize] = NONE;
        }
        Ok(())
    }
}
