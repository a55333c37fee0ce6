//! Tiers: switches with endnodes at the bottom, every cable leads to the tier above or below.

use super::graph::{Graph, sizes};
use super::{Form, Structure};

/// Most tiers.
const TIERS_MAX: u8 = 8;
/// Most numbers of endnodes that are tried as the least that a switch at the bottom has.
const TRIES: usize = 8;

pub fn recognise(graph: &Graph) -> Option<Structure> {
    let mut counts: Vec<u32> = graph.endnodes.iter().copied().filter(|&c| c > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    // A few endnodes on a switch further up (managers, storage) do not make it one of the bottom.
    let mut best: Option<Structure> = None;
    for &least in counts.iter().take(TRIES) {
        let Some(tiers) = tiers(graph, least) else {
            continue;
        };
        let found = divided(graph, tiers);
        if found.blocks.is_some() {
            return Some(found);
        }
        best.get_or_insert(found);
    }
    best
}

/// By switch: cables to the nearest one with at least so many endnodes; none if cables lead elsewhere than a tier up or down.
fn tiers(graph: &Graph, least: u32) -> Option<Vec<u8>> {
    let mut tiers = vec![u8::MAX; graph.len()];
    let mut queue: Vec<usize> = (0..graph.len())
        .filter(|&s| graph.endnodes[s] >= least)
        .collect();
    if queue.len() == graph.len() {
        return None;
    }
    queue.iter().for_each(|&s| tiers[s] = 0);
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        let tier = tiers[at];
        for &peer in graph.near(at) {
            let peer_tier = &mut tiers[peer as usize];
            if *peer_tier == u8::MAX {
                if tier + 1 == TIERS_MAX {
                    return None;
                }
                *peer_tier = tier + 1;
                queue.push(peer as usize);
            } else if peer_tier.abs_diff(tier) != 1 {
                return None;
            }
        }
    }
    Some(tiers)
}

/// Cuts between tiers: parts are what hangs together below, and what hangs together above.
fn divided(graph: &Graph, tiers: Vec<u8>) -> Structure {
    let last = tiers.iter().max().copied().unwrap_or(0);
    let mut partitions = Vec::new();
    let mut blocks = None;
    for cut in 0..last {
        let parts = graph.parts(|a, b| (tiers[a] <= cut) == (tiers[b] <= cut));
        let sizes = sizes(&parts);
        if sizes.iter().all(|&size| size == 1) {
            continue;
        }
        let below = |shared: bool| {
            let mut below: Vec<u32> = (0..graph.len())
                .filter(|&s| tiers[s] <= cut && (sizes[parts[s] as usize] > 1) == shared)
                .map(|s| parts[s])
                .collect();
            below.sort_unstable();
            below.dedup();
            below.len()
        };
        let (shared, all) = (below(true), below(true) + below(false));
        if blocks.is_none() && shared > 0 && all > 1 {
            blocks = Some(parts.clone());
        }
        partitions.push(parts);
    }
    Structure {
        form: Form::Tiers(tiers),
        partitions,
        blocks,
    }
}
