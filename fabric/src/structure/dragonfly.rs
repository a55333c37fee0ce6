//! Dragonflies: groups of switches that are all neighbours of each other, and cables from every group to every other.
//!
//! Two switches of a group have the whole group as common neighbours, the ends of a global cable few or none. So the groups are what
//! hangs together by cables whose ends have many neighbours in common; how many are many is tried.

use super::graph::{Graph, sizes};
use super::{Form, Structure};

/// Most work, in neighbours compared.
const WORK_MAX: usize = 1 << 27;
/// Most limits that are tried.
const TRIES: usize = 64;

pub fn recognise(graph: &Graph) -> Option<Structure> {
    let work = (0..graph.len()).map(|s| graph.near(s).len().pow(2));
    if work.fold(0, usize::saturating_add) > WORK_MAX {
        return None;
    }
    let with_endnodes = graph.endnodes.iter().filter(|&&count| count > 0).count();
    if 2 * with_endnodes < graph.len() {
        return None;
    }
    let common = common_neighbours(graph);
    let mut limits = common.clone();
    limits.sort_unstable();
    limits.dedup();
    limits.into_iter().skip(1).take(TRIES).find_map(|limit| {
        let many = |a: usize, b: usize| {
            let at = graph.near(a).binary_search(&(b as u32));
            at.is_ok_and(|at| common[graph.first(a) + at] >= limit)
        };
        let groups = graph.parts(many);
        let count = groups.iter().max().map_or(0, |&last| last + 1);
        is_dragonfly(graph, &groups).then(|| Structure {
            form: Form::Dragonfly(count),
            partitions: vec![groups.clone()],
            blocks: Some(groups),
        })
    })
}

/// By edge, in the order of the neighbours of all switches.
fn common_neighbours(graph: &Graph) -> Vec<u32> {
    let mut common = Vec::with_capacity(graph.edges());
    let mut mark = vec![u32::MAX; graph.len()];
    for a in 0..graph.len() {
        for &near in graph.near(a) {
            mark[near as usize] = a as u32;
        }
        for &b in graph.near(a) {
            let both = graph.near(b as usize).iter();
            common.push(both.filter(|&&s| mark[s as usize] == a as u32).count() as u32);
        }
    }
    common
}

/// Whether nearly all switches of a group are neighbours, and nearly all groups.
fn is_dragonfly(graph: &Graph, groups: &[u32]) -> bool {
    let sizes = sizes(groups);
    let count = sizes.len() as u64;
    if count < 2 || sizes.iter().any(|&size| size < 3) {
        return false;
    }
    let mut inside = vec![0u64; sizes.len()];
    let mut between = Vec::new();
    for a in 0..graph.len() {
        for &b in graph.near(a) {
            let (from, to) = (groups[a], groups[b as usize]);
            match from == to {
                true => inside[from as usize] += 1,
                false => between.push((from, to)),
            }
        }
    }
    between.sort_unstable();
    between.dedup();
    let most = |have: u64, all: u64| 4 * have >= 3 * all;
    let dense = |(&size, &inside): (&u32, &u64)| {
        let size = u64::from(size);
        most(inside, size * (size - 1))
    };
    sizes.iter().zip(&inside).all(dense) && most(between.len() as u64, count * (count - 1))
}
