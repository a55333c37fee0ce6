//! `tributary report`: one reduction over a fabric as a self-contained page.

mod draw;
mod page;
mod stages;

pub use page::escape;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::red::{Op, Value, host::Outcome};
use tributary_sim::fabric::{Contribution, Sighting, Simulator};

use crate::Verdict;
use crate::cards::simulator;
use crate::files::NewFile;
use crate::sim::{Engine, allreduce, fabric, probability};

/// Most nodes that fit into a drawing.
const NODES_MAX: usize = 96;
/// Clock at which the first endpoint begins: the tree is armed.
const BEGIN: u64 = 5_000;
/// Longest time from the first endpoint's beginning to the last one's, clocks.
const SPREAD: u64 = 120;
/// Clocks after which the round is given up.
const LIMIT: u64 = 5_000_000;

/// Arguments of `tributary report`.
#[derive(Args)]
pub struct Arguments {
    /// Page to write (HTML).
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Fabric (TOML); without, 16 endpoints on 4 leaf switches under a spine.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// What the switches are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Probability that a frame is lost [default: that of the fabric's cables]
    #[arg(long, value_name = "P", value_parser = probability)]
    loss: Option<f64>,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A round that has been run.
struct Run {
    sim: Simulator,
    group: usize,
    /// Clock at which the last endpoint began.
    last: u64,
    /// Clock at which the last endpoint had the result.
    end: u64,
    outcome: Outcome,
}

impl Run {
    /// Frames of the round, and of the one that it opens.
    fn frames(&self) -> impl Iterator<Item = &Sighting> {
        self.sim
            .sightings()
            .iter()
            .filter(|s| s.start >= BEGIN && s.start <= self.end)
    }
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let fabric = fabric(arguments.fabric.as_deref(), arguments.loss)?;
    let nodes = fabric.switches.len() + fabric.endpoints.len();
    ensure!(
        nodes <= NODES_MAX,
        "the fabric has {nodes} nodes; a drawing has room for {NODES_MAX}"
    );
    let mut out = NewFile::create(&arguments.out)?;
    let sim = simulator(fabric, arguments.engine, arguments.seed)?;
    let run = reduce(sim, arguments.seed)?;
    out.write_all(page::page(&run).as_bytes())
        .context("cannot write the report")?;
    out.finish()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}: {} frames, {} clocks",
        arguments.out.display(),
        run.frames().count(),
        run.end - run.last
    )?;
    Ok(Verdict::Good)
}

/// One sum; endpoints begin at random within a short time.
fn reduce(mut sim: Simulator, seed: u64) -> Result<Run> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    sim.record();
    let group = allreduce::group(&mut sim)?;
    let endpoints = sim.group_endpoints(group).to_vec();
    let mut last = BEGIN;
    for &endpoint in &endpoints {
        let at = BEGIN + rng.next_u64() % SPREAD;
        last = last.max(at);
        let value = Value {
            data: [1, endpoint as u64, 0, 0],
            ..Value::default()
        };
        let given = Contribution {
            at,
            op: Op::IntSum,
            value,
        };
        sim.contribute(group, endpoint, 0, given)?;
    }
    sim.run_while(BEGIN + LIMIT, |sim| {
        !endpoints.iter().all(|&e| sim.is_over(group, e, 0))
    })?;
    let outcomes: Vec<(u64, Outcome)> = endpoints
        .iter()
        .filter_map(|&e| sim.outcome(group, e, 0))
        .collect();
    let (_, outcome) = *outcomes.first().context("nobody has a result")?;
    let end = outcomes
        .iter()
        .map(|(clock, _)| *clock)
        .max()
        .unwrap_or(last);
    Ok(Run {
        sim,
        group,
        last,
        end,
        outcome,
    })
}
