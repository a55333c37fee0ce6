//! `tributary bench vector`: all hosts of a fabric add up a long vector of doubles through the switches, over one tree and over several
//! with different roots (CL-7).
//!
//! * *line*: frames that the vector takes, 32 bytes of it in each, times what one occupies a cable (94 bytes, preamble, check sequence and
//!   gap: 14.75 words, 15 clocks), over the time from the first post to the last result anywhere.
//! * *root*: of that, what the line of a root allows, which carries its own values and the results of its trees.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use tributary_host_driver::collective::{
    Communicator, Counters, Data, Host, HostOptions, Operation, Options as Settings,
};
use tributary_host_driver::{Context, Device, Options};
use tributary_protocol::red::wire::FRAME_LEN;
use tributary_sim::card::{CLOCK_NS, Cluster, ClusterTrees};
use tributary_sim::fabric::{Fabric, Place, Simulator};

use super::fabrics;
use crate::Verdict;
use crate::cards::cluster;
use crate::progress::Progress;
use crate::sim::{Engine, engine_name};

/// Bytes of the vector in a frame.
const PAYLOAD: usize = size_of::<[u64; 4]>();
/// Largest payload of other packets.
const MTU: u16 = 512;
/// All-reduces before those that are measured, which arm all trees, and those.
const BEFORE: usize = 1;
const MEASURED: usize = 3;
/// Clocks after which an operation is given up, for each frame, and at least.
const PATIENCE: u64 = 2_000;
const PATIENCE_MIN: u64 = 1_000_000;

/// Arguments of `tributary bench vector`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The fabric (TOML); without, 16 hosts on one switch, and 16 on five.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Bytes of the vector.
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1024..=16 << 20))]
    bytes: u32,
    /// Trees beside the first over which it is spread, 0 to one for each other host; several with commas. Of RTL cards at most 14,
    /// which have 16 queue pairs.
    #[arg(long, value_name = "TREES", value_delimiter = ',', default_values_t = [0, 3, 7, 15])]
    stripes: Vec<u8>,
    /// Reduction ids of each tree that are used at once: engines of switches have 8 descriptors.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    lanes: u8,
    /// What the cards are; the switches are models.
    #[arg(long, value_enum, default_value_t = Engine::Model)]
    engine: Engine,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// One fabric with as many trees.
#[derive(Clone, Debug, Serialize)]
struct Row {
    fabric: String,
    hosts: usize,
    trees: usize,
    /// Clocks of an operation, and of each frame of it; the slowest of those measured.
    clocks: u64,
    clocks_a_frame: f64,
    /// Clocks that a frame occupies the slowest cable of a host.
    frame_clocks: u64,
    /// Parts of what that carries, and of what that of a root can carry of it.
    line: f64,
    root: f64,
    /// Values that a root's software had to complete, and those that needed another attempt.
    completed_by_root: u64,
    again: u64,
    /// Operations of hosts of which some part went by messages, for want of trees.
    by_messages: u64,
    /// Every result right to the bit, and all through the switches.
    good: bool,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    engine: &'static str,
    bytes: u32,
    lanes: u8,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    let fabrics = fabrics(arguments.fabric.as_deref(), 2)?;
    let total = fabrics.len() * arguments.stripes.len();
    let progress = Progress::new(total as u64, "measurements");
    let mut rows = Vec::new();
    for (name, fabric) in &fabrics {
        for &stripes in &arguments.stripes {
            let row = measure(name, fabric, stripes, arguments);
            rows.push(row.with_context(|| format!("{name}, {stripes} further trees"))?);
            progress.at(rows.len() as u64);
        }
    }
    drop(progress);
    let table = Table {
        bench: "vector",
        engine: engine_name(arguments.engine),
        bytes: arguments.bytes,
        lanes: arguments.lanes,
        rows,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&table, &mut out)?;
    }
    let good = table.rows.iter().all(|row| row.good);
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// Hosts, and a communicator of all of them.
struct Hosts {
    cluster: Cluster,
    all: Vec<Communicator>,
}

impl Hosts {
    fn new(fabric: &Fabric, stripes: u8, arguments: &Arguments) -> Result<Self> {
        let mut simulator = Simulator::new(fabric.clone(), arguments.seed)?;
        let control = Arc::new(Mutex::new(simulator.manager()?));
        let cluster = cluster(arguments.engine, simulator, arguments.seed)?;
        let trees = ClusterTrees::shared(&cluster, &control, 0);
        let mut hosts = Vec::new();
        for (device, &node) in cluster.devices().iter().zip(cluster.nodes()) {
            let options = Options { node, mtu: MTU };
            let context = Context::open(Arc::new(device.clone()), options)?;
            hosts.push(Host::new(&context.alloc_pd()?, HostOptions::default())?);
        }
        let members: Vec<_> = hosts.iter().map(Host::address).collect();
        let settings = Settings {
            lanes: arguments.lanes,
            stripes,
            bulk_from: 0,
            ..Settings::default()
        };
        let create = |host| {
            let trees = Some(Arc::clone(&trees));
            Communicator::create(host, 1, &members, trees, settings)
        };
        let all = hosts.iter().map(create).collect::<Result<_, _>>()?;
        Ok(Self { cluster, all })
    }

    /// Adds up vectors of whole numbers, whose sum does not depend on the order; its clocks, and whether all hosts have it.
    fn add_up(&mut self, length: usize, operation: usize) -> Result<(u64, bool)> {
        let size = self.all.len();
        let number = |rank: usize, at: usize| ((rank + 3) * (at + operation)) as f64;
        let begun = self.now();
        for (rank, member) in self.all.iter_mut().enumerate() {
            let data = (0..length).map(|at| number(rank, at)).collect();
            member.post_all_reduce(Operation::Sum, &Data::F64(data))?;
        }
        let sum = |at| (0..size).map(|rank| number(rank, at)).sum();
        let expected = Data::F64((0..length).map(sum).collect());
        let frames = (length * size_of::<f64>() / PAYLOAD) as u64;
        let last = begun + PATIENCE_MIN.max(PATIENCE * frames) * CLOCK_NS;
        let (mut left, mut right) = (size, true);
        let device = self.cluster.devices()[0].clone();
        self.cluster.rounds(|| {
            for member in &mut self.all {
                if let Some(finished) = member.poll()? {
                    right &= finished.result?.data == expected;
                    left -= 1;
                }
            }
            if device.now_ns() > last {
                bail!("{left} hosts have no result");
            }
            Ok(left == 0)
        })?;
        Ok(((self.now() - begun) / CLOCK_NS, right))
    }

    fn now(&self) -> u64 {
        self.cluster.devices()[0].now_ns()
    }

    fn counters(&self) -> Counters {
        let mut all = Counters::default();
        for member in self.all.iter().map(Communicator::counters) {
            all.in_software += member.in_software;
            all.completed_by_root += member.completed_by_root;
            all.again += member.again;
        }
        all
    }
}

fn measure(name: &str, fabric: &Fabric, stripes: u8, arguments: &Arguments) -> Result<Row> {
    let hosts = fabric.endpoints.len();
    let mut world = Hosts::new(fabric, stripes, arguments)?;
    let length = arguments.bytes as usize / size_of::<f64>();
    let mut good = true;
    for operation in 0..BEFORE {
        good &= world.add_up(length, operation)?.1;
    }
    let (before, mut clocks) = (world.counters(), 0);
    for operation in BEFORE..BEFORE + MEASURED {
        let (took, right) = world.add_up(length, operation)?;
        clocks = clocks.max(took);
        good &= right;
    }
    let after = world.counters();
    let trees = usize::from(stripes).clamp(1, hosts - 1);
    let frames = (length * size_of::<f64>()).div_ceil(PAYLOAD);
    let frame_clocks = frame_clocks(fabric);
    let line = (frames as u64 * frame_clocks) as f64 / clocks as f64;
    Ok(Row {
        fabric: name.to_owned(),
        hosts,
        trees,
        clocks,
        clocks_a_frame: clocks as f64 / frames as f64,
        frame_clocks,
        line,
        root: line * (trees + 1) as f64 / trees as f64,
        completed_by_root: after.completed_by_root - before.completed_by_root,
        again: after.again - before.again,
        by_messages: after.in_software,
        good: good && after.in_software == 0,
    })
}

fn frame_clocks(fabric: &Fabric) -> u64 {
    let of_host = |end: &Place| matches!(end, Place::Endpoint(_));
    let cables = fabric.cables.iter().filter(|c| c.ends.iter().any(of_host));
    let clocks = cables.map(|cable| cable.link.occupancy(FRAME_LEN));
    clocks.max().unwrap_or(1)
}

fn print(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "All hosts add up {} bytes of doubles through the switches, {} reduction ids of each tree at once.\n\
         line: of what the line of a host carries, a frame of {PAYLOAD} bytes of the vector in so many clocks. root: of what that of a root can carry of it.\n\
         completed, again: values that a root's software completed, and those that needed another attempt.\n\n\
         {:>10} {:>5} {:>5} {:>8} {:>14} {:>5} {:>7} {:>7} {:>9} {:>6}",
        table.bytes,
        table.lanes,
        "fabric",
        "hosts",
        "trees",
        "clocks",
        "clocks a frame",
        "of",
        "line",
        "root",
        "completed",
        "again"
    )?;
    for row in &table.rows {
        writeln!(
            out,
            "{:>10} {:>5} {:>5} {:>8} {:>14.2} {:>5} {:>6.1}% {:>6.1}% {:>9} {:>6}{}",
            row.fabric,
            row.hosts,
            row.trees,
            row.clocks,
            row.clocks_a_frame,
            row.frame_clocks,
            100.0 * row.line,
            100.0 * row.root,
            row.completed_by_root,
            row.again,
            match (row.good, row.by_messages) {
                (true, _) => "",
                (false, 0) => "  WRONG",
                (false, _) => "  BY MESSAGES",
            }
        )?;
    }
    Ok(())
}
