//! `tributary sim --demo allreduce`: every reduction, in the switches of a fabric.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use tributary_protocol::red::Op;
use tributary_sim::fabric::ranks::Carrier;
use tributary_sim::fabric::{Fabric, LinkSpec, Simulator, capture, file};

use super::ranks::{Ranks, run_on};
use super::{OnFabric, allreduce, engine_name};
use crate::Verdict;
use crate::files::NewFile;
use crate::progress::Progress;

/// A clock in captures: 64 bits at 10 Gb/s.
pub const CLOCK_NS: f64 = 6.4;
/// Longest that descriptors may be in use after the last round: the longest timeout of the default settings, and two units.
const SETTLE_CLOCKS: u64 = 102 * 1024;

#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    /// Threads or processes that simulated it.
    ranks: usize,
    switches: usize,
    endpoints: usize,
    group_endpoints: usize,
    loss: Option<f64>,
    seed: u64,
    operations: Vec<allreduce::Row>,
    wrong_operations: usize,
    lost_frames: usize,
    descriptors_left_in_use: u64,
    clocks: u64,
    time_s: f64,
    clocks_per_s: f64,
}

/// Options of `--demo allreduce`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    on: OnFabric,
    /// Waveform of a switch (FST).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Which switch --trace is of; without, the first.
    #[arg(long, value_name = "NAME", requires = "trace")]
    trace_node: Option<String>,
    /// Every frame at both ends of its cable (pcapng).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Simulate on so many threads, each with a part of the switches; or "mpi": on the processes of an MPI job (mpirun -n N tributary
    /// ...). Frames and results are the same.
    #[arg(long, value_name = "N|mpi", value_parser = super::ranks::ranks)]
    ranks: Option<Ranks>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    match arguments.ranks {
        Some(ranks) => run_on(ranks, |carrier| one_rank(arguments, Some(carrier))),
        None => one_rank(arguments, None),
    }
}

/// What one rank does; the first one has it all in the end, and says it.
fn one_rank(arguments: &Options, carrier: Option<Box<dyn Carrier>>) -> Result<Verdict> {
    let (rank, ranks) = carrier.as_ref().map_or((0, 1), |c| (c.rank(), c.ranks()));
    let fabric = fabric(arguments.on.fabric.as_deref(), arguments.on.loss)?;
    let traced = trace_node(&fabric, arguments.trace_node.as_deref())?;
    let seed = arguments.on.seed;
    let pcap = arguments.pcap.as_deref().filter(|_| rank == 0);
    let pcap = pcap.map(NewFile::create).transpose()?;
    let options = tributary_sim::fabric::Options {
        kind: arguments.on.engine.into(),
        trace: arguments.trace.is_some(),
        carrier,
        ..tributary_sim::fabric::Options::default()
    };
    let mut sim = Simulator::build(fabric, seed, options)?;
    let mut waveform = None;
    if let (Some(path), Some(switch)) = (&arguments.trace, sim.switch_mut(traced)) {
        let file = NewFile::create(path)?;
        switch.start_waveform(file.working_path())?;
        waveform = Some(file);
    }
    let started = Instant::now();
    let group = allreduce::group(&mut sim)?;
    let progress = (rank == 0).then(|| Progress::new(Op::ALL.len() as u64, "operations"));
    let told = |done| progress.as_ref().map_or((), |progress| progress.at(done));
    let operations = allreduce::run(&mut sim, group, seed, told)?;
    drop(progress);
    let settled = sim.now() + SETTLE_CLOCKS;
    sim.run_while(settled, |sim| sim.in_use() > 0)?;
    let left_in_use = sim.total(|sim| sim.in_use() as u64)?;
    let time_s = started.elapsed().as_secs_f64();
    if let (Some(file), Some(switch)) = (waveform, sim.switch_mut(traced)) {
        switch.finish_waveform()?;
        file.finish()?;
    }
    if !sim.gather()? {
        return Ok(Verdict::Good);
    }
    if let Some(file) = pcap {
        capture::write(file, sim.fabric(), sim.sightings(), CLOCK_NS)?.finish()?;
    }
    let lost = |s: &&tributary_sim::fabric::Sighting| s.fate == tributary_sim::fabric::Fate::Lost;
    let summary = Summary {
        demo: "allreduce",
        engine: engine_name(arguments.on.engine),
        ranks,
        switches: sim.fabric().switches.len(),
        endpoints: sim.fabric().endpoints.len(),
        group_endpoints: sim.group_endpoints(group).len(),
        loss: arguments.on.loss,
        seed,
        wrong_operations: operations.iter().filter(|row| row.wrong.is_some()).count(),
        operations,
        lost_frames: sim.sightings().iter().filter(lost).count(),
        descriptors_left_in_use: left_in_use,
        clocks: sim.now(),
        time_s,
        clocks_per_s: sim.now() as f64 / time_s,
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    let good = summary.wrong_operations == 0 && summary.descriptors_left_in_use == 0;
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// The fabric of a file, or the built-in one; with another loss on every cable if that is asked for.
pub fn fabric(path: Option<&Path>, loss: Option<f64>) -> Result<Fabric> {
    let mut fabric = match path {
        None => Fabric::regular(&[4, 4], LinkSpec::default())?,
        Some(path) => {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            file::parse(&text, &name)?
        }
    };
    for cable in &mut fabric.cables {
        cable.link.loss = loss.unwrap_or(cable.link.loss);
    }
    Ok(fabric)
}

fn trace_node(fabric: &Fabric, name: Option<&str>) -> Result<usize> {
    let Some(name) = name else {
        return Ok(0);
    };
    let mut switches = fabric.switches.iter();
    let place = switches.position(|switch| switch.name == name);
    place.with_context(|| format!("--trace-node {name}: the fabric has no switch of this name"))
}

impl Summary {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "fabric      {} endpoints, {} switches ({}); {} endpoints reduce",
            self.endpoints, self.switches, self.engine, self.group_endpoints
        )?;
        let loss = self.loss.map_or_else(
            || "as the cables have it".to_owned(),
            |loss| loss.to_string(),
        );
        writeln!(
            out,
            "cables      loss {loss}, {} frames lost, seed {}\n",
            self.lost_frames, self.seed
        )?;
        writeln!(
            out,
            "{:20} {:>24}  {:14} {:>5} {:>7} {:>6} {:>8} {:>7}",
            "operation",
            "result (first word)",
            "code",
            "count",
            "clocks",
            "frames",
            "partials",
            "retries"
        )?;
        for row in &self.operations {
            let result = match row.number {
                Some(number) => format!("{number:.16e}"),
                None => row.result[0].clone(),
            };
            writeln!(
                out,
                "{:20} {:>24}  {:14} {:>5} {:>7} {:>6} {:>8} {:>7}",
                row.op,
                result,
                row.rc,
                row.count,
                row.clocks,
                row.frames,
                row.partials,
                row.retries
            )?;
            if let Some(wrong) = &row.wrong {
                writeln!(out, "{:20} WRONG: {wrong}", "")?;
            }
            if row.left_out > 0 {
                writeln!(
                    out,
                    "{:20} {} endpoints have not heard it",
                    "", row.left_out
                )?;
            }
        }
        writeln!(
            out,
            "\nclocks: from the last endpoint's beginning until every endpoint has the result."
        )?;
        match self.wrong_operations {
            0 => writeln!(
                out,
                "result      all {} operations right, bit for bit in the order of their frames",
                self.operations.len()
            )?,
            wrong => writeln!(
                out,
                "result      {wrong} of {} operations WRONG",
                self.operations.len()
            )?,
        }
        writeln!(
            out,
            "afterwards  {} descriptors in use; {} clocks in {:.2} s, {:.0} clocks/s, by {} {}",
            self.descriptors_left_in_use,
            self.clocks,
            self.time_s,
            self.clocks_per_s,
            self.ranks,
            if self.ranks == 1 { "rank" } else { "ranks" }
        )
    }
}
