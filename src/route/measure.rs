//! A network, groups on it, and what a router makes of them: shared by `route` and `bench multicast`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;
use tributary_fabric::bound::lower_bound;
use tributary_fabric::{Group, HopTable, Load, Network, Router, Tree, TreeCheck};

use super::memory;
use super::routers::{Kind, Maker};
use crate::progress::Progress;

/// A network with its distances.
pub struct Map {
    pub network: Network,
    pub hops: HopTable,
    /// To build or read the network.
    pub network_time_s: f64,
    pub hop_table_time_s: f64,
}

impl Map {
    /// Of a network that `build` makes.
    pub fn new(build: impl FnOnce() -> Result<Network>, threads: usize) -> Result<Self> {
        let start = Instant::now();
        let network = build()?;
        let network_time_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let hops = HopTable::with_threads(&network, threads)
            .with_context(|| format!("cannot route on {}", network.name()))?;
        Ok(Self {
            network,
            hops,
            network_time_s,
            hop_table_time_s: start.elapsed().as_secs_f64(),
        })
    }
}

/// Groups to route on a map.
pub struct Task {
    pub groups: Vec<Group>,
    /// Groups of one endnode: they need no tree.
    pub skipped: usize,
    pub lower_bound: u32,
    /// By group: the least height that a tree can have.
    least_height: Vec<u16>,
}

impl Task {
    pub fn new(map: &Map, groups: Vec<Group>) -> Self {
        let progress = Progress::new(groups.len() as u64, "groups looked at");
        let done = AtomicU64::new(0);
        let least = |centers: &mut Vec<_>, group: &Group| {
            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1);
            let height = map.hops.centers(group.switches(), centers);
            // A group that nobody reaches is the router's to complain about.
            height.unwrap_or(0).into()
        };
        Self {
            skipped: groups.iter().filter(|group| !group.is_routed()).count(),
            lower_bound: lower_bound(&map.network, &groups),
            least_height: groups.par_iter().map_init(Vec::new, least).collect(),
            groups,
        }
    }
}

/// Height of the trees, in cables from the root.
#[derive(Clone, Debug, Serialize)]
pub struct Height {
    pub max: u16,
    pub mean: f64,
    /// Trees that are higher than they need be.
    pub above_least: usize,
}

/// Figures of a router.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    pub router: String,
    pub max_efi: u32,
    pub mean_efi: f64,
    pub p50_efi: u32,
    pub p99_efi: u32,
    /// Cables with a group at least.
    pub used_cables: usize,
    pub height: Height,
    /// Before the first tree: unicast routes of the static routers; the second of them finds those of the first.
    pub setup_time_s: f64,
    /// All trees, choice of the roots included.
    pub time_s: f64,
    pub us_per_group: f64,
    /// Most memory of the whole process while this router worked; where this cannot be told, since the process began.
    pub peak_rss_bytes: Option<u64>,
    /// Whether the peak is of this router's time only.
    pub peak_rss_is_of_this_router: bool,
    /// Groups on a cable, and how many cables have so many; ascending.
    pub efi_histogram: Vec<(u32, usize)>,
}

/// What a router has made.
pub struct Outcome {
    pub router: Box<dyn Router>,
    pub trees: Vec<Option<Tree>>,
    pub load: Load,
    pub figures: Figures,
}

/// Lets a router route all groups, and checks every tree.
pub fn measure(map: &Map, task: &Task, maker: &mut Maker, kind: Kind) -> Result<Outcome> {
    let network = &map.network;
    let reset = memory::restart();
    let start = Instant::now();
    let mut router = maker.make(kind, network);
    let setup_time_s = start.elapsed().as_secs_f64();
    let mut load = Load::new(network);
    let progress = Progress::new(task.groups.len() as u64, "groups");
    let start = Instant::now();
    let trees = router
        .route_all(network, &map.hops, &mut load, &task.groups, &mut |done| {
            progress.at(done as u64);
        })
        .with_context(|| format!("{} on {}", kind.name(), network.name()))?;
    let time_s = start.elapsed().as_secs_f64();
    drop(progress);
    let peak_rss_bytes = memory::peak_bytes();
    check(network, &task.groups, &trees, &load)
        .with_context(|| format!("the router {} is wrong", kind.name()))?;
    let figures = Figures {
        router: kind.name(),
        max_efi: load.max(),
        mean_efi: load.mean(),
        p50_efi: percentile(&load, 0.5),
        p99_efi: percentile(&load, 0.99),
        used_cables: load.efi().iter().filter(|efi| **efi > 0).count(),
        height: heights(task, &trees),
        setup_time_s,
        time_s,
        us_per_group: time_s * 1e6 / task.groups.len().max(1) as f64,
        peak_rss_bytes,
        peak_rss_is_of_this_router: reset,
        efi_histogram: histogram(&load),
    };
    Ok(Outcome {
        router,
        trees,
        load,
        figures,
    })
}

/// Every tree is one, reaches its group and nothing more, and the load is that of the trees.
pub fn check(
    network: &Network,
    groups: &[Group],
    trees: &[Option<Tree>],
    load: &Load,
) -> Result<()> {
    let is_right = |check: &mut TreeCheck<'_>, (index, group): (usize, &Group)| {
        match &trees[index] {
            None => anyhow::ensure!(!group.is_routed(), "group {index} has no tree"),
            Some(tree) => check
                .check(tree, group.switches())
                .map_err(|reason| anyhow::anyhow!("tree of group {index}: {reason}"))?,
        }
        Ok(())
    };
    let each = groups.par_iter().enumerate();
    each.map_init(|| TreeCheck::new(network), is_right)
        .collect::<Result<Vec<()>>>()?;
    let mut sum = Load::new(network);
    trees.iter().flatten().for_each(|tree| sum.add(tree));
    anyhow::ensure!(sum.efi() == load.efi(), "the load is not that of the trees");
    Ok(())
}

fn heights(task: &Task, trees: &[Option<Tree>]) -> Height {
    let with_least = || {
        let pairs = trees.iter().zip(&task.least_height);
        pairs.filter_map(|(tree, least)| Some((tree.as_ref()?.height, *least)))
    };
    let total: u64 = with_least().map(|(height, _)| u64::from(height)).sum();
    Height {
        max: with_least().map(|(height, _)| height).max().unwrap_or(0),
        mean: total as f64 / with_least().count().max(1) as f64,
        above_least: with_least()
            .filter(|(height, least)| height > least)
            .count(),
    }
}

fn percentile(load: &Load, share: f64) -> u32 {
    let mut efi = load.efi().to_vec();
    efi.sort_unstable();
    let last = efi.len().saturating_sub(1);
    efi.get((share * last as f64).round() as usize)
        .copied()
        .unwrap_or(0)
}

fn histogram(load: &Load) -> Vec<(u32, usize)> {
    let mut efi = load.efi().to_vec();
    efi.sort_unstable();
    efi.chunk_by(|a, b| a == b)
        .map(|same| (same[0], same.len()))
        .collect()
}
