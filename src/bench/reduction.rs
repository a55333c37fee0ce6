//! `tributary bench reduction`: an all-reduce of 8 bytes in the switches, beside the bare time of its frames and beside
//! recursive doubling by the hosts' software over the same links.
//!
//! * The *all-reduce* begins at all endpoints in one clock, on a tree that is armed, and ends when the last one has the result.
//! * The *bare time* is that of one plain frame from the endpoint farthest from the root to it, and of one plain multicast frame
//!   from there to all: links, serialisation and forwarding, in the same fabric, idle.
//! * With the *root in hardware* (CL-6) the root contributes as all others do, and its card sends the result: of its host's time
//!   a reduction takes one frame sent and one received, as at every other endpoint.
//! * *Recursive doubling* runs over the same cables, unicast, ranks in the order of the endpoints, so that its first steps stay
//!   within a leaf switch. Both pay the same for each frame that a host sends or receives.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use tributary_protocol::red::{Counter, Key, Op, Value};
use tributary_sim::fabric::{
    Contribution, Cost, Fabric, GroupConfig, LinkSpec, Simulator, TreeSpec,
};

use crate::Verdict;
use crate::cards::simulator;
use crate::files::NewFile;
use crate::plot_reduction;
use crate::progress::Progress;
use crate::sim::{Engine, engine_name};

/// Latencies of a cable, clocks: 410 ns at 10 Gb/s, MAC and 10GBASE-R PHY on both sides and a few metres; and chips side by side.
const LATENCIES: [u64; 2] = [64, 12];
/// What a host's software takes for each frame that it sends and for each that it receives, clocks.
pub const COSTS: [u64; 3] = [0, 250, 1_000];
/// Ports downwards, level by level from the endpoints.
const SHAPES: [&[usize]; 8] = [
    &[4, 4],
    &[8, 8],
    &[4, 4, 4],
    &[16, 16],
    &[4, 8, 8],
    &[32, 32],
    &[8, 8, 16],
    &[16, 16, 16],
];
/// Size that is measured on RTL.
const RTL_ENDPOINTS: usize = 16;
/// Number of the plain tree, beside tree 1.
const PLAIN_TREE: u16 = 2;
/// Number of the tree whose root is in hardware, and its place in the fabric.
const HARDWARE_ROOT_TREE: (u16, usize) = (3, 2);
/// Clocks in which everything gets to its end; less than the time after which a root arms its tree anew.
const REST: u64 = 10_000;
/// Longest that anything here takes, clocks.
const LIMIT: u64 = 10_000_000;

/// Arguments of `tributary bench reduction`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only fabrics with at most so many endpoints.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    endpoints: usize,
    /// Measure 16 endpoints on switches in Verilog as well; needs `cargo xtask tools`.
    #[arg(long)]
    rtl: bool,
    /// Draw the ratios into this file (SVG).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// All-reduce in the switches and by the hosts, at one cost.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Clocks for each frame that a host sends, and for each that it receives.
    pub host_clocks: u64,
    /// In the switches.
    pub switches_clocks: u64,
    /// In the switches, the root in hardware.
    pub hardware_root_clocks: u64,
    /// Recursive doubling.
    pub doubling_clocks: u64,
    /// Doubling over switches, if hosts pay the same for both.
    pub speedup: f64,
    /// Doubling over switches with the root in hardware, if hosts pay the same for both.
    pub speedup_with_hardware_root: f64,
    /// Doubling over switches, if the endpoints of the switches' reduction are hardware and take no time.
    pub speedup_with_hardware_endpoints: f64,
}

/// One fabric.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Endpoints.
    pub endpoints: usize,
    /// Ports downwards, level by level from the endpoints.
    pub shape: Vec<usize>,
    /// As many cables up as down on every level, so that hosts' messages have ways of their own; otherwise one cable up.
    pub full_bisection: bool,
    /// What the switches are.
    pub engine: &'static str,
    /// Latency of a cable.
    pub link_clocks: u64,
    /// One plain frame up and one down.
    pub bare_clocks: u64,
    /// All-reduce in the switches, software for nothing.
    pub allreduce_clocks: u64,
    /// All-reduce over bare.
    pub ratio_to_bare: f64,
    /// All-reduce in the switches, the root in hardware, software for nothing.
    pub hardware_root_clocks: u64,
    /// The same over bare.
    pub hardware_root_ratio_to_bare: f64,
    /// Against doubling.
    pub comparisons: Vec<Comparison>,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    payload_bytes: u32,
    clock_ns: f64,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    // Before the work, so that a wrong name does not cost it.
    let plot = arguments.plot.as_deref().map(NewFile::create).transpose()?;
    let cases = cases(arguments);
    ensure!(
        !cases.is_empty(),
        "--endpoints {}: the smallest fabric has {}",
        arguments.endpoints,
        SHAPES[0].iter().product::<usize>()
    );
    let progress = Progress::new(cases.len() as u64, "fabrics");
    let mut rows = Vec::new();
    for case in cases {
        rows.push(measure(&case).with_context(|| format!("{case:?}"))?);
        progress.at(rows.len() as u64);
    }
    drop(progress);
    if let Some(mut file) = plot {
        let svg = plot_reduction::speedups(&rows).context("cannot draw the figures")?;
        file.write_all(svg.as_bytes())
            .context("cannot write the plot")?;
        file.finish()?;
    }
    let table = Table {
        bench: "reduction",
        payload_bytes: 8,
        clock_ns: crate::sim::CLOCK_NS,
        rows,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&table, &mut out)?;
        if let Some(path) = &arguments.plot {
            writeln!(out, "\nPlot: {}", path.display())?;
        }
    }
    Ok(Verdict::Good)
}

#[derive(Clone, Copy, Debug)]
struct Case {
    latency: u64,
    shape: &'static [usize],
    /// As many cables up as down on every level.
    fat: bool,
    engine: Engine,
}

fn cases(arguments: &Arguments) -> Vec<Case> {
    let mut cases = Vec::new();
    for latency in LATENCIES {
        for fat in [true, false] {
            for shape in SHAPES {
                let case = Case {
                    latency,
                    shape,
                    fat,
                    engine: Engine::Model,
                };
                let size: usize = shape.iter().product();
                if size <= arguments.endpoints {
                    cases.push(case);
                }
                if arguments.rtl && !fat && size == RTL_ENDPOINTS {
                    cases.push(Case {
                        engine: Engine::Rtl,
                        ..case
                    });
                }
            }
        }
    }
    cases
}

fn measure(case: &Case) -> Result<Row> {
    let link = LinkSpec {
        latency_clocks: case.latency,
        ..LinkSpec::default()
    };
    let below = &case.shape[..case.shape.len() - 1];
    let mut fabric = if case.fat {
        Fabric::fat(case.shape, below, link)?
    } else {
        Fabric::regular(case.shape, link)?
    };
    let reduced = fabric.trees[0].clone();
    fabric.trees.push(TreeSpec {
        id: PLAIN_TREE,
        ..reduced.clone()
    });
    fabric.trees.push(TreeSpec {
        id: HARDWARE_ROOT_TREE.0,
        root_contributes: true,
        ..reduced
    });
    let mut sim = simulator(fabric, case.engine, 1)?;
    let bare_clocks = bare(&mut sim)?;
    let group = sim.add_group(0, &GroupConfig::default())?;
    let in_switches = time_all(&mut sim, group)?;
    let group = sim.add_group(HARDWARE_ROOT_TREE.1, &GroupConfig::default())?;
    let by_card = time_all(&mut sim, group)?;
    let rounds = COSTS.len() as u64;
    ensure!(
        sim.endpoints()[0].answered() == rounds,
        "the root's card has answered {} of {rounds} results",
        sim.endpoints()[0].answered()
    );
    let all: Vec<usize> = (0..sim.fabric().endpoints.len()).collect();
    let group = sim.add_doubling(&all, &GroupConfig::default())?;
    let by_doubling = time_all(&mut sim, group)?;
    ensure!(sim.counted(Counter::QueueFull) == 0, "a queue overflowed");
    let compare = |cost: usize| {
        let doubling_clocks = by_doubling[cost];
        let over = |clocks: u64| doubling_clocks as f64 / clocks as f64;
        Comparison {
            host_clocks: COSTS[cost],
            switches_clocks: in_switches[cost],
            hardware_root_clocks: by_card[cost],
            doubling_clocks,
            speedup: over(in_switches[cost]),
            speedup_with_hardware_root: over(by_card[cost]),
            speedup_with_hardware_endpoints: over(in_switches[0]),
        }
    };
    Ok(Row {
        endpoints: all.len(),
        shape: case.shape.to_vec(),
        full_bisection: case.fat,
        engine: engine_name(case.engine),
        link_clocks: case.latency,
        bare_clocks,
        allreduce_clocks: in_switches[0],
        ratio_to_bare: in_switches[0] as f64 / bare_clocks as f64,
        hardware_root_clocks: by_card[0],
        hardware_root_ratio_to_bare: by_card[0] as f64 / bare_clocks as f64,
        comparisons: (0..COSTS.len()).map(compare).collect(),
    })
}

/// One plain frame from the last endpoint to the root, and one from the root to all.
fn bare(sim: &mut Simulator) -> Result<u64> {
    let last = sim.fabric().endpoints.len() - 1;
    let plain = |to: [u8; 6]| {
        // 94 bytes as a reduction frame has, and an ethertype that no engine looks at.
        let mut bytes = [0; 94];
        bytes[..6].copy_from_slice(&to);
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        bytes
    };
    let arrival = |sim: &Simulator, endpoint: usize| {
        let got = sim.endpoints()[endpoint].ignored().last();
        got.map(|(clock, _)| *clock)
            .with_context(|| format!("no frame has come to endpoint {endpoint}"))
    };
    let start = sim.now();
    let root = sim.fabric().endpoints[0].address();
    sim.inject(last, &plain(root.mac()), start)?;
    sim.run(start + REST)?;
    let turn = arrival(sim, 0)?;
    let tree = Key {
        tree: PLAIN_TREE,
        reduction: 0,
    };
    // In the same fabric from the clock on in which the first frame has come: time passed meanwhile does not count.
    let again = sim.now().max(turn);
    sim.inject(0, &plain(tree.address().mac()), again)?;
    sim.run(again + REST)?;
    let mut end = 0;
    for endpoint in 1..=last {
        end = end.max(arrival(sim, endpoint)?);
    }
    Ok(turn - start + end - again)
}

/// Clocks of an all-reduce at each cost: until everyone has the sum, which is checked.
fn time_all(sim: &mut Simulator, group: usize) -> Result<[u64; COSTS.len()]> {
    let mut times = [0; COSTS.len()];
    for ((round, &host_clocks), time) in (0..).zip(&COSTS).zip(&mut times) {
        // What is still under way, such as the frame that arms the tree, gets to its end first.
        sim.run(sim.now() + REST)?;
        sim.set_cost(Cost {
            send: host_clocks,
            receive: host_clocks,
        });
        *time = time_one(sim, group, round)?;
    }
    Ok(times)
}

fn time_one(sim: &mut Simulator, group: usize, round: u64) -> Result<u64> {
    let start = sim.now() + 1;
    let endpoints = sim.group_endpoints(group).to_vec();
    for &endpoint in &endpoints {
        let value = Value {
            data: [endpoint as u64 + 1, 0, 0, 0],
            ..Value::default()
        };
        let given = Contribution {
            at: start,
            op: Op::IntSum,
            value,
        };
        sim.contribute(group, endpoint, round, given)?;
    }
    let mut open = endpoints.clone();
    sim.run_while(start + LIMIT, |sim| {
        while open.last().is_some_and(|&e| sim.is_over(group, e, round)) {
            open.pop();
        }
        !open.is_empty()
    })?;
    let count = endpoints.len() as u64;
    let mut end = 0;
    for endpoint in endpoints {
        let outcome = sim.outcome(group, endpoint, round);
        let (clock, outcome) =
            outcome.with_context(|| format!("endpoint {endpoint} has no result"))?;
        let sum = outcome.value.data[0];
        ensure!(
            sum == count * (count + 1) / 2,
            "endpoint {endpoint} has {sum}, which is wrong"
        );
        end = end.max(clock);
    }
    Ok(end - start)
}

/// `4x4`.
pub fn shape_name(shape: &[usize]) -> String {
    shape
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join("x")
}

fn print(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "All-reduce of {} bytes; times in clocks of {} ns (64 bits at 10 Gb/s).\n\
         shape: ports downwards of the switches, level by level from the endpoints.\n\
         bare: one plain frame up and one down the idle tree. switches: all-reduce in the switches. root: the same with the\n\
         root in hardware, with 0, 250 and 1,000 clocks of software for each frame that a host sends or receives.\n\
         Then recursive doubling by the hosts over the same cables, and how many times as long it takes as the switches: if\n\
         their hosts pay the same / the same, with the root in hardware / if all endpoints are hardware and take no time.",
        table.payload_bytes, table.clock_ns
    )?;
    let mut head = None;
    for row in &table.rows {
        if head != Some((row.link_clocks, row.full_bisection)) {
            head = Some((row.link_clocks, row.full_bisection));
            let cables = if row.full_bisection {
                "as many up as down on every level"
            } else {
                "one up from every switch: the tree's own"
            };
            writeln!(
                out,
                "\nCables of {} clocks, {cables}\n{:>9} {:>9} {:>6} {:>6} {:>8} {:>6} {:>8} {:>6} {:>6} {:>6}  {:>23} {:>23} {:>23}",
                row.link_clocks,
                "endpoints",
                "shape",
                "",
                "bare",
                "switches",
                "ratio",
                "root, 0",
                "ratio",
                "250",
                "1,000",
                "doubling, 0",
                "250",
                "1,000"
            )?;
        }
        write!(
            out,
            "{:>9} {:>9} {:>6} {:>6} {:>8} {:>6.3} {:>8} {:>6.3}",
            row.endpoints,
            shape_name(&row.shape),
            row.engine,
            row.bare_clocks,
            row.allreduce_clocks,
            row.ratio_to_bare,
            row.hardware_root_clocks,
            row.hardware_root_ratio_to_bare
        )?;
        for c in &row.comparisons[1..] {
            write!(out, " {:>6}", c.hardware_root_clocks)?;
        }
        write!(out, " ")?;
        for c in &row.comparisons {
            write!(
                out,
                " {:>8} {:>4.2}/{:>4.2}/{:>5.2}",
                c.doubling_clocks,
                c.speedup,
                c.speedup_with_hardware_root,
                c.speedup_with_hardware_endpoints
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
