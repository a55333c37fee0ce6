//! `tributary route`: multicast groups over a network, by one router or several.

mod draw;
pub mod failure;
pub mod measure;
mod memory;
mod page;
mod print;
pub mod routers;
mod tables;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{ArgGroup, Args};
use serde::Serialize;
use tributary_fabric::network::CableId;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::route::OwnSettings;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Network, read};

use crate::Verdict;
use crate::files::NewFile;
use failure::Failure;
use measure::{Figures, Map, Outcome, Task};
use routers::{Choice, Maker};

/// Arguments of `tributary route`.
#[derive(Args)]
#[command(group(ArgGroup::new("net").required(true).args(["topology", "network"])))]
#[command(group(ArgGroup::new("what").required(true).args(["groups", "groups_file"])))]
pub struct Arguments {
    /// Network by formula: ft3:K, torus:XxYxZ,E, df:A,P,H, supernodes:N,D, bluelight, taihulight, leaf-spine:L,S,E, chain:N,E.
    #[arg(long, value_name = "FORM")]
    topology: Option<Topology>,
    /// Network from a file: what ibnetdiscover prints, or .topo.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Groups by formula: 64x64x40 (lines of a grid of processes), rnd1000_64_2 (1,000 random groups of 64, seed 2).
    #[arg(long, value_name = "PATTERN")]
    groups: Option<Pattern>,
    /// Groups from a file: one a line, names or indexes of endnodes.
    #[arg(long, value_name = "FILE")]
    groups_file: Option<PathBuf>,
    /// Processes on each endnode, for grids.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536), conflicts_with = "groups_file")]
    ppn: u32,
    /// Routers, a list. Every tree is checked.
    #[arg(
        long,
        value_name = "ROUTERS",
        value_delimiter = ',',
        default_value = "own"
    )]
    router: Vec<Choice>,
    /// Cores for the distances; the routers use one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Work of router `own` on the fullest cables after its first trees, at most, in multiples of that of these trees; 0: none
    #[arg(long, value_name = "N", default_value_t = OwnSettings::default().effort)]
    effort: u32,
    /// Then fail this cable and route again what it touches: its number, or one of its ends as SWITCH.PORT. Several fail one after the other.
    #[arg(long, value_name = "CABLE", value_delimiter = ',')]
    fail: Vec<String>,
    /// Draw the network, its cables coloured by load (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write figures and drawing as a page (HTML).
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the trees as entries of the project's switches (TOML as in fabric files, JSON if the name ends in .json); one router.
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// Write the trees as OpenSM dumps its multicast tables, group i as multicast LID 0xC000 + i; one router.
    #[arg(long, value_name = "FILE")]
    mcfdbs: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What was routed.
#[derive(Clone, Debug, Serialize)]
struct Facts {
    network: String,
    switches: u32,
    endnodes: usize,
    cables: usize,
    /// Cables from a switch back to itself: nothing uses them.
    loopback_cables: usize,
    /// What the network is, as far as its graph shows it.
    structure: String,
    pattern: String,
    processes_per_endnode: u32,
    groups: usize,
    /// Groups of one endnode, which need no tree.
    skipped_groups: usize,
    lower_bound_efi: u32,
    /// To build or read the network.
    network_time_s: f64,
    hop_table_time_s: f64,
    hop_table_bytes: usize,
    /// Cores for the distances; the routers use one.
    threads: u16,
}

impl Facts {
    /// How many processes an endnode has, if it is not one.
    fn processes(&self) -> String {
        match self.processes_per_endnode {
            1 => String::new(),
            n => format!(", {n} processes on each endnode"),
        }
    }
}

/// One router, and what failed under it.
#[derive(Serialize)]
struct Routed {
    #[serde(flatten)]
    figures: Figures,
    failures: Vec<Failure>,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    facts: Facts,
    routers: Vec<Routed>,
    /// With `--mcfdbs`: which group has which multicast LID.
    #[serde(skip_serializing_if = "Option::is_none")]
    mlids: Option<Vec<tables::Mlid>>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let kinds = routers::listed(&arguments.router);
    if kinds.len() > 1 && (arguments.tables.is_some() || arguments.mcfdbs.is_some()) {
        let message = format!(
            "--tables and --mcfdbs are for the trees of one router; --router names {}\n",
            kinds.len()
        );
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
    }
    let map = Map::new(|| network(arguments), arguments.threads.into())?;
    let (pattern, groups) = groups(arguments, &map.network)?;
    let failing = arguments
        .fail
        .iter()
        .map(|text| failure::cable(&map.network, text).context("--fail"))
        .collect::<Result<Vec<_>>>()?;
    // Before the work, so that a wrong name does not cost it.
    let new = |path: &Option<PathBuf>| path.as_deref().map(NewFile::create).transpose();
    let (svg, html) = (new(&arguments.svg)?, new(&arguments.html)?);
    let (mut tables, mut mcfdbs) = (new(&arguments.tables)?, new(&arguments.mcfdbs)?);
    let task = Task::new(&map, groups);
    let facts = facts(arguments, &map, &task, pattern);
    let mut maker = Maker::with(OwnSettings {
        effort: arguments.effort,
        ..OwnSettings::default()
    });
    let mut routed = Vec::new();
    let mut mlids = None;
    let mut panels = Vec::new();
    for kind in kinds {
        let mut outcome = measure::measure(&map, &task, &mut maker, kind)?;
        let (failures, network) = fail_all(&map, &task, &mut outcome, &failing)?;
        if tables.is_some() || mcfdbs.is_some() {
            let network = network.as_ref().unwrap_or(&map.network);
            if let Some(file) = tables.take() {
                let routed = tables::routed(network, &task.groups, &outcome.trees)?;
                let path = arguments.tables.as_deref();
                let as_json = path.and_then(Path::extension).is_some_and(|e| e == "json");
                tables::write_tables(network, &routed, as_json, file)?;
            }
            if let Some(file) = mcfdbs.take() {
                let numbers = tables::mlids(&outcome.trees)?;
                let text = tables::mcfdbs(network, &task.groups, &outcome.trees, &numbers)?;
                write(file, &text)?;
                mlids = Some(numbers);
            }
        }
        if svg.is_some() || html.is_some() {
            panels.push(draw::Panel {
                name: outcome.figures.router.clone(),
                load: outcome.load,
                network,
            });
        }
        routed.push(Routed {
            figures: outcome.figures,
            failures,
        });
    }
    let lost = routed.iter().flat_map(|r| &r.failures);
    let lost = lost.map(|f| f.unreachable_groups).sum::<usize>();
    let report = Report {
        facts,
        routers: routed,
        mlids,
    };
    if svg.is_some() || html.is_some() {
        let drawing = draw::drawing(&map.network, &report.facts, &panels);
        if let Some(file) = svg {
            write(file, &drawing)?;
        }
        if let Some(file) = html {
            write(file, &page::page(&report, &drawing))?;
        }
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print::print(&report, &mut out)?;
        let files = [
            &arguments.svg,
            &arguments.html,
            &arguments.tables,
            &arguments.mcfdbs,
        ];
        for path in files.into_iter().flatten() {
            writeln!(out, "written: {}", path.display())?;
        }
    }
    Ok(if lost == 0 {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

fn network(arguments: &Arguments) -> Result<Network> {
    match (&arguments.topology, &arguments.network) {
        (Some(topology), _) => topology
            .build()
            .with_context(|| format!("cannot build {topology}")),
        (None, path) => {
            let path = path.as_deref().unwrap_or(Path::new(""));
            Ok(read::network(path)?)
        }
    }
}

/// Name of the pattern, and its groups.
fn groups(arguments: &Arguments, network: &Network) -> Result<(String, Vec<Group>)> {
    match (&arguments.groups, &arguments.groups_file) {
        (Some(pattern), _) => Ok((
            pattern.to_string(),
            pattern.groups(network, arguments.ppn).context("--groups")?,
        )),
        (None, path) => {
            let path = path.as_deref().unwrap_or(Path::new(""));
            let file = path.display().to_string();
            let groups = read::groups_file(path, network)?;
            anyhow::ensure!(
                !groups.is_empty(),
                "{file}: there is no group in it; one a line, names or indexes of endnodes"
            );
            Ok((file, groups))
        }
    }
}

fn facts(arguments: &Arguments, map: &Map, task: &Task, pattern: String) -> Facts {
    Facts {
        network: map.network.name().to_owned(),
        switches: map.network.switch_count(),
        endnodes: map.network.endnodes().len(),
        cables: map.network.cables().len(),
        loopback_cables: map.network.loopbacks().len(),
        structure: map.network.structure().to_string(),
        pattern,
        processes_per_endnode: arguments.ppn,
        groups: task.groups.len(),
        skipped_groups: task.skipped,
        lower_bound_efi: task.lower_bound,
        network_time_s: map.network_time_s,
        hop_table_time_s: map.hop_table_time_s,
        hop_table_bytes: map.hops.bytes(),
        threads: arguments.threads,
    }
}

/// Fails the cables one after the other on a copy of the network, which is returned; none if nothing fails.
fn fail_all(
    map: &Map,
    task: &Task,
    outcome: &mut Outcome,
    cables: &[CableId],
) -> Result<(Vec<Failure>, Option<Network>)> {
    if cables.is_empty() {
        return Ok((Vec::new(), None));
    }
    let (mut network, mut hops): (Network, HopTable) = (map.network.clone(), map.hops.clone());
    let mut failures = Vec::new();
    for &cable in cables {
        failures.push(failure::fail(
            &mut network,
            &mut hops,
            outcome.router.as_mut(),
            &task.groups,
            &mut outcome.trees,
            &mut outcome.load,
            cable,
        )?);
    }
    Ok((failures, Some(network)))
}

fn write(mut file: NewFile, text: &str) -> Result<()> {
    file.write_all(text.as_bytes())
        .context("cannot write an output")?;
    file.finish()
}
