//! `tributary bench long`: all hosts of a fabric do long operations together, by messages, over one tree of the switches, and in blocks
//! that they write into each other's memory (CL-8).
//!
//! *line*: bytes of the vector in a clock, of the eight that a line carries without headers.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use tributary_host_driver::collective::{
    Communicator, Data, Host, HostOptions, Operation, Options as Settings,
};
use tributary_host_driver::{Context, Device, Options};
use tributary_sim::card::{CLOCK_NS, Cluster, ClusterTrees};
use tributary_sim::fabric::{Fabric, Simulator};

use super::fabrics;
use crate::Verdict;
use crate::cards::cluster;
use crate::progress::Progress;
use crate::sim::{Engine, engine_name};

/// Operations before that which is measured, which make memory and open windows.
const BEFORE: usize = 1;
const MEASURED: usize = 2;
/// Clocks after which an operation is given up, for each byte, and at least.
const PATIENCE: u64 = 200;
const PATIENCE_MIN: u64 = 2_000_000;
/// Bytes that a line carries in a clock.
const LINE: f64 = 8.0;

/// Arguments of `tributary bench long`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The fabric (TOML); without, 16 hosts on one switch, and 16 on five.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Bytes of the operation; of a gathering all together.
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1024..=16 << 20))]
    bytes: u32,
    /// Largest payload of a packet.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(256..=4096))]
    mtu: u16,
    /// Only these ways; several with commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Way::Messages, Way::Tree, Way::Blocks])]
    ways: Vec<Way>,
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

/// How an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Way {
    /// By messages along a binomial tree.
    Messages,
    /// Over one tree of the switches; a broadcast goes by messages then.
    Tree,
    /// In blocks, by bulk transfers.
    Blocks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    AllReduce,
    ReduceScatter,
    AllGather,
    Broadcast,
}

const WHAT: [What; 4] = [
    What::AllReduce,
    What::ReduceScatter,
    What::AllGather,
    What::Broadcast,
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    fabric: String,
    hosts: usize,
    operation: What,
    way: Way,
    /// Of the slowest of those measured.
    clocks: u64,
    line: f64,
    /// Blocks that could not be written.
    blocks_by_messages: u64,
    /// Every result right to the bit.
    good: bool,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    engine: &'static str,
    bytes: u32,
    mtu: u16,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    let fabrics = fabrics(arguments.fabric.as_deref(), 2)?;
    let total = fabrics.len() * arguments.ways.len();
    let progress = Progress::new(total as u64, "ways");
    let mut rows = Vec::new();
    let mut done = 0;
    for (name, fabric) in &fabrics {
        for &way in &arguments.ways {
            let measured = measure(name, fabric, way, arguments);
            rows.extend(measured.with_context(|| format!("{name}, {way:?}"))?);
            done += 1;
            progress.at(done);
        }
    }
    drop(progress);
    let table = Table {
        bench: "long",
        engine: engine_name(arguments.engine),
        bytes: arguments.bytes,
        mtu: arguments.mtu,
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
    fn new(fabric: &Fabric, way: Way, arguments: &Arguments) -> Result<Self> {
        let mut simulator = Simulator::new(fabric.clone(), arguments.seed)?;
        let control = Arc::new(Mutex::new(simulator.manager()?));
        let cluster = cluster(arguments.engine, simulator, arguments.seed)?;
        let trees = ClusterTrees::shared(&cluster, &control, 0);
        let mut hosts = Vec::new();
        for (device, &node) in cluster.devices().iter().zip(cluster.nodes()) {
            let mtu = arguments.mtu;
            let context = Context::open(Arc::new(device.clone()), Options { node, mtu })?;
            hosts.push(Host::new(&context.alloc_pd()?, HostOptions::default())?);
        }
        let members: Vec<_> = hosts.iter().map(Host::address).collect();
        let settings = Settings {
            lanes: 8,
            bulk_from: u32::from(way == Way::Blocks),
            ..Settings::default()
        };
        let create = |host| {
            let trees = (way == Way::Tree).then(|| Arc::clone(&trees));
            Communicator::create(host, 1, &members, trees, settings)
        };
        let all = hosts.iter().map(create).collect::<Result<_, _>>()?;
        Ok(Self { cluster, all })
    }

    /// Does an operation; its clocks, and whether all hosts have what comes of it.
    fn go(&mut self, what: What, bytes: usize, round: usize) -> Result<(u64, bool)> {
        let size = self.all.len();
        let share = bytes / 8 / size;
        let number = |rank: usize, at: usize| ((rank + 3) * (at + round)) as u64;
        let own = |rank: usize| -> Vec<u64> {
            let length = if what == What::AllGather {
                share
            } else {
                share * size
            };
            (0..length).map(|at| number(rank, at)).collect()
        };
        let root = round % size;
        let begun = self.now();
        for (rank, member) in self.all.iter_mut().enumerate() {
            let data = Data::U64(own(rank));
            match what {
                What::AllReduce => member.post_all_reduce(Operation::Sum, &data)?,
                What::ReduceScatter => member.post_reduce_scatter(Operation::Sum, &data)?,
                What::AllGather => member.post_all_gather(&data)?,
                What::Broadcast => member.post_broadcast(root, vec![rank as u8; bytes])?,
            };
        }
        let sum = |at| (0..size).map(|rank| number(rank, at)).sum();
        let sums: Vec<u64> = (0..share * size).map(sum).collect();
        let all: Vec<u64> = (0..size).flat_map(own).collect();
        let expected = |rank: usize| match what {
            What::AllReduce => Data::U64(sums.clone()),
            What::ReduceScatter => Data::U64(sums[share * rank..][..share].to_vec()),
            What::AllGather => Data::U64(all.clone()),
            What::Broadcast => Data::Bytes(vec![root as u8; bytes]),
        };
        let last = begun + PATIENCE_MIN.max(PATIENCE * bytes as u64) * CLOCK_NS;
        let (mut left, mut right) = (size, true);
        let device = self.cluster.devices()[0].clone();
        self.cluster.rounds(|| {
            for (rank, member) in self.all.iter_mut().enumerate() {
                if let Some(finished) = member.poll()? {
                    right &= finished.result?.data == expected(rank);
                    left -= 1;
                }
            }
            if device.now_ns() > last {
                bail!("{left} hosts have no result of {what:?}");
            }
            Ok(left == 0)
        })?;
        Ok(((self.now() - begun) / CLOCK_NS, right))
    }

    fn now(&self) -> u64 {
        self.cluster.devices()[0].now_ns()
    }
}

fn measure(name: &str, fabric: &Fabric, way: Way, arguments: &Arguments) -> Result<Vec<Row>> {
    let hosts = fabric.endpoints.len();
    let mut world = Hosts::new(fabric, way, arguments)?;
    let bytes = arguments.bytes as usize / 8 / hosts * 8 * hosts;
    let mut rows = Vec::new();
    for what in WHAT {
        let by_messages = |world: &Hosts| -> u64 {
            let counters = world.all.iter().map(Communicator::counters);
            counters.map(|counters| counters.blocks_by_messages).sum()
        };
        let (mut clocks, mut good, before) = (0, true, by_messages(&world));
        for round in 0..BEFORE + MEASURED {
            let (took, right) = world.go(what, bytes, round)?;
            good &= right;
            if round >= BEFORE {
                clocks = clocks.max(took);
            }
        }
        rows.push(Row {
            fabric: name.to_owned(),
            hosts,
            operation: what,
            way,
            clocks,
            line: bytes as f64 / clocks as f64 / LINE,
            blocks_by_messages: by_messages(&world) - before,
            good,
        });
    }
    Ok(rows)
}

fn print(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "All hosts do operations on {} bytes together, packets of up to {} bytes.\n\
         line: bytes of the vector in a clock, of {LINE} that a line carries without headers.\n\n\
         {:>10} {:>5} {:>14} {:>9} {:>9} {:>6}",
        table.bytes, table.mtu, "fabric", "hosts", "operation", "way", "clocks", "line"
    )?;
    for row in &table.rows {
        let (operation, way) = (format!("{:?}", row.operation), format!("{:?}", row.way));
        writeln!(
            out,
            "{:>10} {:>5} {:>14} {:>9} {:>9} {:>5.1}%{}{}",
            row.fabric,
            row.hosts,
            operation,
            way,
            row.clocks,
            100.0 * row.line,
            match row.blocks_by_messages {
                0 => String::new(),
                blocks => format!("  {blocks} blocks by messages"),
            },
            if row.good { "" } else { "  WRONG" },
        )?;
    }
    Ok(())
}
