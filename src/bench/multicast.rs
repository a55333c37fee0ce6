//! `tributary bench multicast`: all routers on very large networks, beside the lower bound.

mod print;
mod rows;

use std::cmp::Reverse;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_fabric::network::CableId;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::topology::Topology;

use crate::Verdict;
use crate::progress::Progress;
use crate::route::failure;
use crate::route::measure::{Figures, Map, Outcome, Task, measure};
use crate::route::routers::{Choice, Kind, Maker, listed};
use rows::{NETWORKS, Net};

/// Cables looked at by searches; more takes minutes.
const QUICK: u64 = 200_000_000;

/// Arguments of `tributary bench multicast`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The slow ones too: searches for every endnode or group of the largest networks. Minutes each.
    #[arg(long)]
    full: bool,
    /// Only networks with at most so many endnodes.
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    endnodes: u32,
    /// Routers, a list.
    #[arg(
        long,
        value_name = "ROUTERS",
        value_delimiter = ',',
        default_value = "all"
    )]
    router: Vec<Choice>,
    /// Cores for the distances; the routers use one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Cables that fail, one at a time: so many drawn by a fixed seed of those with groups, and as many of the fullest
    #[arg(long, value_name = "N", default_value_t = 20)]
    failures: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What cables do that fail one at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Failures {
    pub router: String,
    pub cables: usize,
    pub median_touched_groups: usize,
    pub worst_touched_groups: usize,
    /// Distances and routes.
    pub median_time_s: f64,
    pub worst_time_s: f64,
    /// Most groups on a cable after a failure, at worst; before it is that of the router's row.
    pub worst_max_efi: u32,
}

/// Groups on a network.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub network: &'static str,
    pub pattern: &'static str,
    pub processes_per_endnode: u32,
    pub switches: u32,
    pub endnodes: usize,
    pub cables: usize,
    pub groups: usize,
    pub lower_bound_efi: u32,
    pub hop_table_time_s: f64,
    pub hop_table_bytes: usize,
    pub routers: Vec<Figures>,
    /// Of prototypes, by router: max EFI.
    pub prototype_max_efi: Vec<(String, u32)>,
    pub failures: Option<Failures>,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    threads: u16,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    let kinds = listed(&arguments.router);
    let mut rows = Vec::new();
    for net in &NETWORKS {
        let topology: Topology = net.topology.parse()?;
        let build = || topology.build().map_err(anyhow::Error::from);
        if net.endnodes > arguments.endnodes {
            continue;
        }
        let map = Map::new(build, arguments.threads.into()).context(net.topology)?;
        let mut maker = Maker::default();
        for pattern in net.patterns {
            let name = || format!("{} on {}", pattern.text, net.topology);
            let parsed: Pattern = pattern.text.parse()?;
            let groups = parsed.groups(&map.network, net.ppn).with_context(name)?;
            let task = Task::new(&map, groups);
            let mut row = row(net, pattern, &map, &task);
            for &kind in &kinds {
                if arguments.full || work(&map, &task, kind) <= QUICK {
                    let outcome = measure(&map, &task, &mut maker, kind)?;
                    row.routers.push(outcome.figures.clone());
                    // The first of the list stands for all.
                    if row.failures.is_none() {
                        let failed = fail(&map, &task, outcome, arguments.failures);
                        row.failures = Some(failed.with_context(name)?);
                    }
                }
            }
            rows.push(row);
        }
    }
    let table = Table {
        bench: "multicast",
        threads: arguments.threads,
        rows,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print::print(&table, &kinds, &mut out)?;
    }
    Ok(Verdict::Good)
}

/// Cables that a router's searches look at.
fn work(map: &Map, task: &Task, kind: Kind) -> u64 {
    let network = &map.network;
    let sources = network.endnodes().len() as u64 + u64::from(network.switch_count());
    let unicast = if kind.is_static() { sources } else { 0 };
    let trees = if kind.searches() {
        task.groups.len() as u64
    } else {
        0
    };
    (unicast + trees) * network.cables().len() as u64
}

fn row(net: &Net, pattern: &rows::Groups, map: &Map, task: &Task) -> Row {
    let known = pattern.prototype.iter().zip(rows::PROTOTYPES);
    let known = known.filter_map(|(efi, kind)| Some((kind.name(), (*efi)?)));
    Row {
        network: net.topology,
        pattern: pattern.text,
        processes_per_endnode: net.ppn,
        switches: map.network.switch_count(),
        endnodes: map.network.endnodes().len(),
        cables: map.network.cables().len(),
        groups: task.groups.len(),
        lower_bound_efi: task.lower_bound,
        hop_table_time_s: map.hop_table_time_s,
        hop_table_bytes: map.hops.bytes(),
        routers: Vec::new(),
        prototype_max_efi: known.collect(),
        failures: None,
    }
}

/// Fails cables that carry groups, each in the network as it was: `count` chosen by a fixed seed, then as many of the fullest.
fn fail(map: &Map, task: &Task, mut outcome: Outcome, count: usize) -> Result<Failures> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut loaded: Vec<CableId> = (0..map.network.cables().len() as u32)
        .filter(|&cable| outcome.load.of(cable) > 0)
        .collect();
    for i in 0..loaded.len() {
        let other = i + (rng.next_u64() % (loaded.len() - i) as u64) as usize;
        loaded.swap(i, other);
    }
    let any = count.min(loaded.len());
    loaded[any..].sort_by_key(|&cable| Reverse(outcome.load.of(cable)));
    loaded.truncate(count.saturating_mul(2));
    let count = loaded.len();
    let mut network = map.network.clone();
    let mut hops = map.hops.clone();
    let progress = Progress::new(count as u64, "failed cables");
    let (mut times, mut touched, mut worst_max_efi) = (Vec::new(), Vec::new(), 0);
    for (done, &cable) in loaded.iter().enumerate() {
        progress.at(done as u64);
        let (mut trees, mut load) = (outcome.trees.clone(), outcome.load.clone());
        let failure = failure::fail(
            &mut network,
            &mut hops,
            outcome.router.as_mut(),
            &task.groups,
            &mut trees,
            &mut load,
            cable,
        )?;
        times.push(failure.hop_table_time_s + failure.time_s);
        touched.push(failure.touched_groups);
        worst_max_efi = worst_max_efi.max(failure.max_efi);
        network.restore(cable);
        hops.clone_from(&map.hops);
    }
    times.sort_by(f64::total_cmp);
    touched.sort_unstable();
    Ok(Failures {
        router: outcome.figures.router,
        cables: count,
        median_touched_groups: touched.get(count / 2).copied().unwrap_or(0),
        worst_touched_groups: touched.last().copied().unwrap_or(0),
        median_time_s: times.get(count / 2).copied().unwrap_or(0.0),
        worst_time_s: times.last().copied().unwrap_or(0.0),
        worst_max_efi,
    })
}

/// All routers, in the order of the columns.
pub fn columns() -> &'static [Kind] {
    Kind::value_variants()
}
