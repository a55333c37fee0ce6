//! What no router can go below: the busiest cable of any set of trees has at least this many groups.
//!
//! Whatever cables are looked at, if the trees of all groups together use them at least so many times, the busiest of them carries at
//! least the average. Looked at are
//!
//! - the cables that leave a switch or a part of the network: a group with members on both sides crosses them once at least;
//! - all cables between the parts of a partition: a group with members in k parts uses k - 1 of them at least;
//! - all cables together: a tree over n member switches has n - 1 at least, and more where members lie far apart ([`least_cables`]).
//!
//! Parts are those of [`Network::blocks`] and of [`crate::structure`].

mod ascent;

use crate::group::Group;
use crate::network::{Link, Network, SwitchId};
use crate::structure::Form;
use ascent::Ascent;

/// Most work of counting cables of trees, in links looked at: a fraction of a second. Groups beyond it count by their members.
const ASCENT_WORK: u64 = 1 << 27;

/// The least max EFI that trees for these groups can have, as far as these counts tell: the true least may be higher.
/// Failed cables do not count; where groups have no trees because cables failed, their share of it means nothing.
#[must_use]
pub fn lower_bound(network: &Network, groups: &[Group]) -> u32 {
    let quick = quick_bound(network, groups);
    // Between tiers the cuts say all there is to say.
    match network.structure().form() {
        Form::Tiers(_) => quick,
        _ => quick.max(total(network, groups)),
    }
}

/// The same without a look at the ways between members: microseconds for each group, and less on tori.
pub(crate) fn quick_bound(network: &Network, groups: &[Group]) -> u32 {
    let switches: Vec<u32> = (0..network.switch_count()).collect();
    let structure = network.structure();
    let mut partitions: Vec<&[u32]> = vec![&switches, network.blocks()];
    partitions.extend(structure.partitions().iter().map(Vec::as_slice));
    let parted = partitions.iter().map(|part| cuts(network, groups, part));
    parted.max().unwrap_or(0)
}

/// Cables that any tree over the group's switches has at least, whatever its root and its height. Near the least number on tori, where the
/// number of switches says little.
#[must_use]
pub fn least_cables(network: &Network, group: &Group) -> u64 {
    let simple = group.switches().len().saturating_sub(1) as u64;
    simple.max(Ascent::new(network).least(group.switches()))
}

/// All cables together.
fn total(network: &Network, groups: &[Group]) -> u32 {
    let mut ascent = Ascent::new(network);
    let needed = groups.iter().map(|group| {
        let switches = group.switches();
        let simple = switches.len().saturating_sub(1) as u64;
        match ascent.work() < ASCENT_WORK {
            true => simple.max(ascent.least(switches)),
            false => simple,
        }
    });
    let up: u64 = (0..network.switch_count())
        .map(|s| network.links(s).len() as u64)
        .sum();
    // Every cable was seen from both ends.
    share(needed.sum(), up / 2)
}

/// Each part against the rest, and all parts against each other; `part` is by switch.
fn cuts(network: &Network, groups: &[Group], part: &[u32]) -> u32 {
    let parts = part.iter().max().map_or(0, |&most| most as usize + 1);
    let mut cables = vec![0u64; parts];
    for (switch, &here) in (0u32..).zip(part) {
        let leave = |link: &&Link| part[link.peer as usize] != here;
        cables[here as usize] += network.links(switch).iter().filter(leave).count() as u64;
    }
    let mut crossing = vec![0u64; parts];
    let mut between = 0;
    let mut of_group = Parts::new(parts);
    for group in groups {
        let touched = of_group.touched(part, group.switches());
        // In one part only, it need not leave it.
        if let [_, others @ ..] = touched
            && !others.is_empty()
        {
            between += others.len() as u64;
            touched.iter().for_each(|&p| crossing[p as usize] += 1);
        }
    }
    let shares = crossing.iter().zip(&cables).map(|(&g, &c)| share(g, c));
    let all = share(between, cables.iter().sum::<u64>() / 2);
    shares.max().unwrap_or(0).max(all)
}

/// The parts that a group touches; keeps its memory.
struct Parts {
    round: u32,
    seen: Vec<u32>,
    touched: Vec<u32>,
}

impl Parts {
    fn new(parts: usize) -> Self {
        Self {
            round: 0,
            seen: vec![0; parts],
            touched: Vec::new(),
        }
    }

    fn touched(&mut self, part: &[u32], switches: &[SwitchId]) -> &[u32] {
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.touched.clear();
        for &switch in switches {
            let here = part[switch as usize];
            if std::mem::replace(&mut self.seen[here as usize], self.round) != self.round {
                self.touched.push(here);
            }
        }
        &self.touched
    }
}

fn share(groups: u64, cables: u64) -> u32 {
    match cables {
        0 => 0,
        _ => u32::try_from(groups.div_ceil(cables)).unwrap_or(u32::MAX),
    }
}
