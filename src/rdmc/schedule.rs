//! `tributary rdmc schedule`: the transfers of a schedule, as lines, as one JSON object, or drawn.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tributary_protocol::multicast::{Algorithm, Layout, Schedule, ScheduleError, Transfer};

use super::draw;
use crate::Verdict;
use crate::cards::usage;
use crate::files::NewFile;

/// Arguments of `tributary rdmc schedule`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Shape of the schedule.
    #[arg(long, value_enum, default_value = "binomial-pipeline")]
    algorithm: Shape,
    /// Members of the group, the root among them; not needed with --racks.
    #[arg(long, value_name = "N", required_unless_present = "racks")]
    members: Option<u32>,
    /// Blocks of the message.
    #[arg(long, value_name = "K")]
    blocks: u32,
    /// Members of each rack, rack after rack: `hybrid` needs them, `binomial-pipeline` keeps low dimensions inside racks.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    racks: Vec<u32>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Draw members over steps.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// A schedule by its name.
#[derive(Clone, Copy, ValueEnum)]
pub enum Shape {
    /// The root sends the whole message to one member after the other.
    Sequential,
    /// Each member passes each block on to the next.
    Chain,
    /// The number of members that have the whole message doubles in each stage.
    BinomialTree,
    /// Members talk along one dimension of a hypercube after the other.
    BinomialPipeline,
    /// One binomial pipeline among racks, then one inside each.
    Hybrid,
}

impl Shape {
    /// What the protocol calls it.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Sequential => Algorithm::Sequential,
            Self::Chain => Algorithm::Chain,
            Self::BinomialTree => Algorithm::BinomialTree,
            Self::BinomialPipeline => Algorithm::BinomialPipeline,
            Self::Hybrid => Algorithm::Hybrid,
        }
    }
}

/// A schedule whose ranks are given to members.
pub struct Plan {
    pub schedule: Schedule,
    /// The racks as they were given.
    pub racks: Vec<u32>,
    layout: Option<Layout>,
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self> {
        let algorithm = arguments.algorithm.algorithm();
        let racks = arguments.racks.clone();
        let in_racks: u64 = racks.iter().map(|&size| u64::from(size)).sum();
        let members = arguments.members.map_or(in_racks, u64::from);
        if !racks.is_empty() && members != in_racks {
            return Err(usage(format!(
                "--members {members}, but the racks have {in_racks} together; leave --members out"
            )));
        }
        if racks.contains(&0) {
            return Err(usage("--racks: a rack of 0 members; each has at least one"));
        }
        let (schedule, layout) = match (algorithm, racks.is_empty()) {
            (Algorithm::Hybrid, true) => {
                return Err(usage("hybrid needs --racks, the members of each rack"));
            }
            (Algorithm::Hybrid, false) => (Schedule::hybrid(&racks, arguments.blocks), None),
            (Algorithm::BinomialPipeline, false) => (
                plain(algorithm, members, arguments.blocks),
                u32::try_from(members).ok().map(Layout::new),
            ),
            (_, false) => {
                return Err(usage(format!(
                    "{algorithm} knows no racks; hybrid and binomial-pipeline do"
                )));
            }
            (_, true) => (plain(algorithm, members, arguments.blocks), None),
        };
        Ok(Self {
            schedule: schedule.map_err(usage)?,
            racks,
            layout,
        })
    }

    fn member(&self, rank: u32) -> u32 {
        let laid_out = self.layout.and_then(|layout| layout.member(rank));
        laid_out.unwrap_or(rank)
    }

    /// The transfers by members, ordered by step and then by sending member.
    pub fn transfers(&self) -> impl Iterator<Item = Transfer> {
        let mut all = self.schedule.transfers().peekable();
        let mut step: Vec<Transfer> = Vec::new();
        std::iter::from_fn(move || {
            // A layout changes the order within a step only.
            if step.is_empty() {
                let now = all.peek()?.step;
                while let Some(next) = all.next_if(|next| next.step == now) {
                    step.push(Transfer {
                        src: self.member(next.src),
                        dst: self.member(next.dst),
                        ..next
                    });
                }
                step.sort_unstable_by_key(|t| std::cmp::Reverse(t.src));
            }
            step.pop()
        })
    }

    /// Transfers between members of different racks.
    fn between_racks(&self) -> u64 {
        let mut rack = Vec::new();
        for (index, &size) in self.racks.iter().enumerate() {
            rack.resize(rack.len() + size as usize, index);
        }
        let crosses = |t: &Transfer| rack[t.src as usize] != rack[t.dst as usize];
        self.transfers().filter(crosses).count() as u64
    }
}

fn plain(algorithm: Algorithm, members: u64, blocks: u32) -> Result<Schedule, ScheduleError> {
    // What does not fit 32 bits is out of range all the same.
    Schedule::new(
        algorithm,
        u32::try_from(members).unwrap_or(u32::MAX),
        blocks,
    )
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let plan = Plan::new(arguments)?;
    if let Some(path) = &arguments.svg {
        let drawing = draw::drawing(&plan).map_err(usage)?;
        let mut file = NewFile::create(path)?;
        file.write_all(drawing.as_bytes())?;
        file.finish()?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if arguments.json {
        serde_json::to_writer(&mut out, &Json(&plan))?;
        writeln!(out)?;
    } else {
        print(&mut out, &plan)?;
    }
    out.flush()?;
    Ok(Verdict::Good)
}

fn print(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    let schedule = &plan.schedule;
    let (members, blocks) = (schedule.members(), schedule.blocks());
    writeln!(
        out,
        "{}: {members} members, {blocks} blocks; {} steps, {} transfers",
        schedule.algorithm(),
        schedule.total_steps(),
        u64::from(blocks) * u64::from(members - 1)
    )?;
    if !plan.racks.is_empty() {
        let all = (u64::from(blocks) * u64::from(members - 1)).max(1);
        let between = plan.between_racks();
        writeln!(
            out,
            "between racks: {between} transfers, {:.1} %",
            100.0 * between as f64 / all as f64
        )?;
    }
    let mut now = None;
    for Transfer {
        step,
        src,
        dst,
        block,
    } in plan.transfers()
    {
        if now != Some(step) {
            write!(out, "{}{step:>6}:", if now.is_some() { "\n" } else { "" })?;
            now = Some(step);
        }
        write!(out, "  {src}>{dst} b{block}")?;
    }
    if now.is_some() {
        writeln!(out)?;
    }
    Ok(())
}

/// The plan as one object, written while the transfers are made: there may be 2^36 of them.
struct Json<'a>(&'a Plan);

#[derive(Serialize)]
struct Row {
    step: u64,
    src: u32,
    dst: u32,
    block: u32,
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schedule = &self.0.schedule;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("algorithm", schedule.algorithm().name())?;
        map.serialize_entry("members", &schedule.members())?;
        map.serialize_entry("blocks", &schedule.blocks())?;
        map.serialize_entry("total_steps", &schedule.total_steps())?;
        if !self.0.racks.is_empty() {
            map.serialize_entry("racks", &self.0.racks)?;
            map.serialize_entry("transfers_between_racks", &self.0.between_racks())?;
        }
        map.serialize_entry("transfers", &Rows(self.0))?;
        map.end()
    }
}

struct Rows<'a>(&'a Plan);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.transfers().map(|t| Row {
            step: t.step,
            src: t.src,
            dst: t.dst,
            block: t.block,
        }))
    }
}
