//! `tributary sim --demo cluster`: hosts with their cards on the switches of one fabric, a manager, and a cable that fails.

mod collectives;
mod page;
mod writes;

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::Serialize;
use tributary_fabric::control::{Control, Mended};
use tributary_host_driver::{Device, EndpointConfig};
use tributary_protocol::red::Counter;
use tributary_sim::card::{Cluster, Exchange, ExchangeReport, NetworkConfig, exchange_over};
use tributary_sim::fabric::{Fabric, GroupConfig, Kind, Simulator, file, network};

use super::{Engine, OnFabric, allreduce, engine_name};
use crate::Verdict;
use crate::cards::{cluster, simulator};
use crate::files::NewFile;
use crate::progress::Progress;

/// The fabric without --fabric: 16 hosts, 5 switches.
const SIXTEEN: &str = include_str!("../../sim/fabrics/cluster.toml");
/// Largest payload of a packet, bytes.
const MTU: u16 = 512;
/// Largest message, bytes; one in 50 has up to 3,000.
const LARGEST: usize = 400;

/// Options of `--demo cluster`.
#[derive(Args)]
pub struct Options {
    /// Messages of every host to every other.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    each: u64,
    /// Cable that fails, by number in the file from 0; without, the first between two switches.
    #[arg(long, value_name = "CABLE")]
    cut: Option<usize>,
    /// Report page (HTML).
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    on: OnFabric,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// How a part of the run went.
#[derive(Serialize)]
struct Part {
    name: &'static str,
    good: bool,
    /// Simulated, µs.
    time_us: f64,
    text: String,
}

/// Everything that is printed.
#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    hosts: usize,
    switches: usize,
    verilated_cards: usize,
    verilated_switches: usize,
    cut_cable: String,
    unicast_entries_mended: usize,
    trees_mended: usize,
    /// From the moment at which the manager knew to the last message of the exchange, µs.
    exchange_after_mend_us: f64,
    frames_on_cables: u64,
    frames_without_route: u64,
    parts: Vec<Part>,
    seed: u64,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    let started = Instant::now();
    let page = arguments.html.as_deref().map(NewFile::create);
    let page = page.transpose()?;
    let mut run = Run::new(arguments)?;
    run.reduce("all-reduce in the switches", 0)?;
    let engine = arguments.on.engine;
    let cards = run.fabric.endpoints.iter().map(|card| card.kind);
    let verilated_cards = verilated(cards, engine);
    let switches = run.fabric.switches.iter().map(|switch| switch.kind);
    let verilated_switches = verilated(switches, engine);
    let cables = run.fabric.plan()?.cables;
    let how = (MTU, arguments.on.seed);
    let part = collectives::run(&run.cluster, &run.control, &cables, how)?;
    run.parts.push(part);
    run.exchange(arguments.each)?;
    let part = writes::run(&run.cluster, MTU)?;
    run.parts.push(part);
    run.reduce("all-reduce on the mended tree", 1)?;
    let (frames, lost_ways) = run
        .cluster
        .with(|sim| (sim.frames(), sim.counted(Counter::NoRoute)))
        .context("the fabric is gone")?;
    let summary = Summary {
        demo: "cluster",
        engine: engine_name(engine),
        hosts: run.fabric.endpoints.len(),
        switches: run.fabric.switches.len(),
        verilated_cards,
        verilated_switches,
        cut_cable: run.cut_name(),
        unicast_entries_mended: run.mended.unicast,
        trees_mended: run.mended.trees.len(),
        exchange_after_mend_us: run.after_mend_us,
        frames_on_cables: frames,
        frames_without_route: lost_ways,
        parts: run.parts,
        seed: arguments.on.seed,
        time_s: started.elapsed().as_secs_f64(),
    };
    if let Some(mut file) = page {
        file.write_all(page::page(&run.fabric, run.cut, &summary).as_bytes())?;
        file.finish()?;
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    let good = summary.parts.iter().all(|part| part.good);
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// How many of some cards or switches are Verilated.
fn verilated(kinds: impl Iterator<Item = Option<Kind>>, engine: Engine) -> usize {
    let kinds = kinds.map(|kind| kind.unwrap_or(engine.into()));
    kinds.filter(|kind| *kind == Kind::Rtl).count()
}

struct Run {
    fabric: Fabric,
    cluster: Cluster,
    control: Arc<Mutex<Control>>,
    /// Cable of the fabric that fails, and its number for the manager.
    cut: usize,
    cut_number: u32,
    group: usize,
    mended: Mended,
    after_mend_us: f64,
    parts: Vec<Part>,
    seed: u64,
}

impl Run {
    fn new(arguments: &Options) -> Result<Self> {
        let mut fabric = match &arguments.on.fabric {
            Some(_) => super::fabric(arguments.on.fabric.as_deref(), None)?,
            None => file::parse(SIXTEEN, "cluster.toml")?,
        };
        for cable in &mut fabric.cables {
            cable.link.loss = arguments.on.loss.unwrap_or(cable.link.loss);
        }
        let numbered = (0..).zip(&fabric.endpoints).all(|(i, e)| e.node == i);
        ensure!(
            numbered && (2..=64).contains(&fabric.endpoints.len()),
            "--demo cluster takes 2 to 64 endpoints whose nodes count from 0"
        );
        let plan = fabric.plan()?;
        let first = plan.cables.first().copied();
        let cut = arguments.cut.or(first);
        let cut_number = cut.and_then(|cut| plan.cables.iter().position(|&c| c == cut));
        let (cut, cut_number) = cut
            .zip(cut_number)
            .with_context(|| format!("--cut: cables between two switches are {:?}", plan.cables))?;
        let seed = arguments.on.seed;
        let mut simulator = simulator(fabric.clone(), arguments.on.engine, seed)?;
        let mut control = simulator.manager()?;
        let members: Vec<u32> = (0..fabric.endpoints.len() as u32).collect();
        let group = control.add_group(&members, 0, &mut simulator)?;
        Ok(Self {
            cluster: cluster(arguments.on.engine, simulator, seed)?,
            fabric,
            control: Arc::new(Mutex::new(control)),
            cut,
            cut_number: cut_number as u32,
            group,
            mended: Mended::default(),
            after_mend_us: 0.0,
            parts: Vec::new(),
            seed,
        })
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_us(&self) -> f64 {
        self.cluster.devices()[0].now_ns() as f64 / 1_000.0
    }

    fn cut_name(&self) -> String {
        let [a, b] = self.fabric.cables[self.cut]
            .ends
            .map(|end| self.fabric.name(end));
        format!("{a} - {b}")
    }

    /// Every operation, over the tree that the group has now. The ends are models of hosts that share the ports of the cards.
    fn reduce(&mut self, name: &'static str, number: u32) -> Result<()> {
        let begun = self.now_us();
        let tree = {
            let mut control = self.control();
            control.tell(self.group);
            let routed = control.routed(self.group);
            let routed = routed.context("the group has no tree any more")?;
            network::tree(control.network(), &routed)?
        };
        let tree_number = tree.id;
        let seed = self.seed;
        let rows = self.cluster.with(|sim: &mut Simulator| {
            let tree = sim.add_tree(tree)?;
            let base = GroupConfig::default();
            let config = GroupConfig {
                cookie: base.cookie.wrapping_add(number),
                ..base
            };
            let group = sim.add_group(tree, &config)?;
            allreduce::run(sim, group, seed, |_| {})
        });
        let rows = rows.context("the fabric is gone")??;
        // Nothing of an older tree is under way.
        self.control().moved(self.group, tree_number)?;
        let wrong = rows.iter().filter(|row| row.wrong.is_some()).count();
        let slowest = rows.iter().map(|row| row.clocks).max().unwrap_or(0);
        self.parts.push(Part {
            name,
            good: wrong == 0,
            time_us: self.now_us() - begun,
            text: format!(
                "{} operations, {wrong} wrong; the slowest {slowest} clocks; tree {}",
                rows.len(),
                tree_number
            ),
        });
        Ok(())
    }

    /// Every host sends to every other. After a quarter of the messages the cable fails, after a half the manager knows.
    fn exchange(&mut self, each: u64) -> Result<()> {
        let hosts = self.fabric.endpoints.len() as u64;
        let messages = hosts * (hosts - 1) * each;
        let plan = Exchange {
            network: NetworkConfig {
                seed: self.seed,
                ..NetworkConfig::default()
            },
            endpoint: EndpointConfig::default(),
            mtu: MTU,
            messages,
            largest: LARGEST,
            longer: Some((50, 3_000)),
        };
        let begun = self.now_us();
        let progress = Progress::new(messages, "messages");
        let (cluster, control) = (self.cluster.clone(), Arc::clone(&self.control));
        let (cut, number) = (self.cut, self.cut_number);
        let (mut failed, mut mended, mut known) = (false, None, 0.0);
        let devices = cluster.nodes().iter().copied();
        let devices = devices.zip(cluster.devices().iter().cloned()).collect();
        let report = exchange_over(&plan, devices, &mut |ended| {
            progress.at(ended);
            if !failed && ended >= messages / 4 {
                failed = true;
                cluster.with(|sim| sim.set_cable(cut, false));
            }
            if failed && mended.is_none() && ended >= messages / 2 {
                known = cluster.devices()[0].now_ns() as f64 / 1_000.0;
                let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
                mended = cluster.with(|sim| control.cable_failed(number, sim));
            }
        })?;
        drop(progress);
        self.mended = mended.context("the manager was never told")??;
        self.after_mend_us = self.now_us() - known;
        let ExchangeReport {
            resent, duplicated, ..
        } = report;
        self.parts.push(Part {
            name: "every host to every other",
            good: report.good(messages),
            time_us: self.now_us() - begun,
            text: format!(
                "{} of {messages} messages delivered once, {duplicated} twice; {resent} packets sent again, a cable cut",
                report.delivered
            ),
        });
        Ok(())
    }
}

impl Summary {
    /// What they are.
    fn kinds(&self) -> String {
        let (cards, switches) = (self.verilated_cards, self.verilated_switches);
        match (cards, switches) {
            (0, 0) => "models".to_owned(),
            all if all == (self.hosts, self.switches) => "Verilated".to_owned(),
            _ => format!("{cards} cards and {switches} switches Verilated"),
        }
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "fabric      {} hosts with cards, {} switches ({}), seed {}",
            self.hosts,
            self.switches,
            self.kinds(),
            self.seed
        )?;
        writeln!(
            out,
            "cut         {}; the manager wrote {} entries and {} trees anew, all was delivered {:.1} us later",
            self.cut_cable,
            self.unicast_entries_mended,
            self.trees_mended,
            self.exchange_after_mend_us
        )?;
        for part in &self.parts {
            let verdict = if part.good { "good" } else { "WRONG" };
            writeln!(
                out,
                "{verdict:11} {}: {} ({:.1} us)",
                part.name, part.text, part.time_us
            )?;
        }
        writeln!(
            out,
            "cables      {} frames; {} found no route",
            self.frames_on_cables, self.frames_without_route
        )
    }
}
