//! What no router can go below: the busiest cable of any set of trees has at least this many groups.
//!
//! A group with members on both sides of a cut has a tree that crosses it, so the cables of the cut carry at least
//! groups / cables each, on average, and the busiest at least that. Looked at: each switch by itself, each part of the
//! network ([`Network::blocks`]), and all cables together, of which a tree over n member switches takes n - 1 at least.

use crate::group::Group;
use crate::network::Network;

/// The least max EFI that trees for these groups can have, as far as these cuts tell: the true least may be higher.
/// Failed cables do not count; a cut that no working cable crosses is left out, as no trees exist there.
#[must_use]
pub fn lower_bound(network: &Network, groups: &[Group]) -> u32 {
    let switches: Vec<u32> = (0..network.switch_count()).collect();
    total(network, groups)
        .max(cuts(network, groups, &switches))
        .max(cuts(network, groups, network.blocks()))
}

/// All cables together.
fn total(network: &Network, groups: &[Group]) -> u32 {
    let up: u64 = (0..network.switch_count())
        .map(|s| network.links(s).len() as u64)
        .sum();
    let needed: u64 = groups
        .iter()
        .map(|group| group.switches().len().saturating_sub(1) as u64)
        .sum();
    // Every cable was seen from both ends.
    share(needed, up / 2)
}

/// Each part against the rest; `part` is by switch.
fn cuts(network: &Network, groups: &[Group], part: &[u32]) -> u32 {
    let parts = part.iter().max().map_or(0, |&most| most as usize + 1);
    let mut cables = vec![0u64; parts];
    for (switch, &here) in (0u32..).zip(part) {
        let leave = |link: &&crate::network::Link| part[link.peer as usize] != here;
        cables[here as usize] += network.links(switch).iter().filter(leave).count() as u64;
    }
    let mut crossing = vec![0u64; parts];
    let mut of_group = Vec::new();
    for group in groups {
        of_group.clear();
        of_group.extend(group.switches().iter().map(|&s| part[s as usize]));
        of_group.sort_unstable();
        of_group.dedup();
        // In one part only, it need not leave it.
        if let [_, _, ..] = of_group[..] {
            of_group.iter().for_each(|&p| crossing[p as usize] += 1);
        }
    }
    let shares = crossing.iter().zip(&cables).map(|(&g, &c)| share(g, c));
    shares.max().unwrap_or(0)
}

fn share(groups: u64, cables: u64) -> u32 {
    match cables {
        0 => 0,
        _ => u32::try_from(groups.div_ceil(cables)).unwrap_or(u32::MAX),
    }
}
