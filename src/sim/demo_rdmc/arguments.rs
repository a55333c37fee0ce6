//! Arguments of `--demo rdmc`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tributary_host_driver::multicast::OffloadOptions;
use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::GroupConfig;
use tributary_sim::card::SLOT_NS;
use tributary_sim::multicast::{Fault, GroupPlan, Plan, Time};

use super::NS;
use crate::cards::usage;
use crate::rdmc::Shape;
use crate::sim::{CLOCK_NS, Engine};

/// Longest latency with whole cards: 50 µs.
const MOST_LATENCY: Time = 50_000 * NS;

/// Options of `--demo rdmc`.
#[derive(Args)]
pub struct Options {
    /// Bytes of the object.
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    bytes: u32,
    /// Members of the group, the root among them [default: 8, or those of --racks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    members: Option<u32>,
    /// Bytes of a block.
    #[arg(long, value_name = "BYTES", default_value_t = 65_536)]
    block_size: u32,
    /// Schedule.
    #[arg(long, value_enum, default_value = "binomial-pipeline")]
    algorithm: Shape,
    /// Members of each rack, for `--algorithm hybrid`.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    racks: Vec<u32>,
    /// Blocks that may be on their way to a member at once; 1 shows why it takes two [default: 2, with --engine 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    credits: Option<u32>,
    /// Rate of the ports, Gb/s.
    #[arg(long, value_name = "GBPS", default_value_t = 100.0)]
    rate: f64,
    /// Latency, one way: 500ns, 1.5us.
    #[arg(long, value_name = "TIME", default_value = "0ns", value_parser = time)]
    latency: Time,
    /// The cards carry out the schedule, not the hosts.
    #[arg(long)]
    offload: bool,
    /// Whole cards carry it out, models or Verilated ones: members, bytes, blocks, schedule, credits and latency count.
    #[arg(
        long,
        conflicts_with_all = ["rate", "host_clocks", "detection", "kill", "pause", "slow_link", "slow_member", "svg", "racks"]
    )]
    engine: Option<Engine>,
    /// With --engine: queue pairs for each peer and direction, whose transfers overlap [default: 1, of two members 2]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u8).range(1..=31))]
    lanes: Option<u8>,
    /// What a host's software takes for each block that it receives and for each that it sends, clocks of 6.4 ns.
    #[arg(long, value_name = "CLOCKS", default_value_t = 0)]
    host_clocks: u32,
    /// How long a member takes to notice that one that it watches is dead.
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = time)]
    detection: Time,
    /// A member dies: 3@40us. May be given several times.
    #[arg(long, value_name = "MEMBER@TIME", value_parser = kill)]
    kill: Vec<Fault>,
    /// A member stands still: 3@40us+10us. May be given several times.
    #[arg(long, value_name = "MEMBER@TIME+TIME", value_parser = pause)]
    pause: Vec<Fault>,
    /// A link between two members is slow: 1-3@0.5, a share of the rate. May be given several times.
    #[arg(long, value_name = "A-B@SHARE", value_parser = slow_link)]
    slow_link: Vec<Fault>,
    /// A member's port is slow: 3@0.5. May be given several times.
    #[arg(long, value_name = "MEMBER@SHARE", value_parser = slow_member)]
    slow_member: Vec<Fault>,
    /// Draw the run: members over time.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// A group on whole cards.
pub struct OnCards {
    pub engine: Engine,
    pub members: u16,
    pub bytes: u32,
    pub block_bytes: u32,
    pub algorithm: Algorithm,
    pub credits: u32,
    pub lanes: u8,
    latency: Time,
}

impl OnCards {
    /// Slots of one way, at least one.
    pub fn latency_slots(&self) -> u32 {
        let slots = self.latency.div_ceil(SLOT_NS * NS);
        u32::try_from(slots).unwrap_or(u32::MAX).max(1)
    }
}

impl Options {
    /// What is to be run on whole cards, if it is.
    pub fn on_cards(&self) -> Result<Option<OnCards>> {
        let Some(engine) = self.engine else {
            return Ok(None);
        };
        let members = self.members.unwrap_or(8);
        if !(2..=64).contains(&members) {
            return Err(usage(format!("--members {members}: 2 to 64 with --engine")));
        }
        if self.bytes == 0 || self.block_size == 0 {
            return Err(usage("--bytes and --block-size: at least 1 with --engine"));
        }
        if self.latency > MOST_LATENCY {
            return Err(usage("--latency: up to 50us with --engine"));
        }
        let usual = OffloadOptions::new(members, 0);
        Ok(Some(OnCards {
            engine,
            members: members as u16,
            bytes: self.bytes,
            block_bytes: self.block_size,
            algorithm: self.algorithm.algorithm(),
            credits: self.credits.unwrap_or(usual.credits),
            lanes: self.lanes.unwrap_or(usual.lanes),
            latency: self.latency,
        }))
    }

    /// What is to be run.
    pub fn plan(&self) -> Result<Plan> {
        if !(0.001..=1e5).contains(&self.rate) {
            return Err(usage(format!("--rate {}: 0.001 to 100000", self.rate)));
        }
        let in_racks: u32 = self
            .racks
            .iter()
            .fold(0, |sum, &size| sum.saturating_add(size));
        let usual = if self.racks.is_empty() { 8 } else { in_racks };
        let members = self.members.unwrap_or(usual);
        let mut config = GroupConfig::new(members, self.block_size);
        config.algorithm = self.algorithm.algorithm();
        config.racks = self.racks.clone();
        config.offload = self.offload;
        let credits = self.credits.unwrap_or(2);
        match credits {
            1 => config.mutations.one_credit = true,
            credits => config.credits = credits,
        }
        if self.offload && credits == 1 {
            return Err(usage("--credits 1 is for hosts: a card has two or more"));
        }
        let byte_time = (8e6 / self.rate).round() as Time;
        let mut plan = Plan::new(members, byte_time);
        plan.groups.push(GroupPlan::one(config, self.bytes.into()));
        plan.latency = self.latency;
        plan.detection = self.detection;
        plan.host_time = (f64::from(self.host_clocks) * CLOCK_NS * NS as f64).round() as Time;
        plan.record = self.svg.is_some();
        for list in [&self.kill, &self.pause, &self.slow_link, &self.slow_member] {
            plan.faults.extend(list);
        }
        Ok(plan)
    }
}

/// `12ns`, `1.5us`, `3ms`, `1s`.
fn time(text: &str) -> Result<Time, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units
        .iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
    let right = "a time is a number and a unit: 500ns, 1.5us, 3ms, 1s";
    let (number, ns) = found.ok_or(right)?;
    let value: f64 = number.parse().map_err(|_| right)?;
    let value = value * ns * NS as f64;
    // An hour is more than any run takes, and far from the end of 64 bits.
    if !(0.0..=3.6e18).contains(&value) {
        return Err("0 to an hour".to_owned());
    }
    Ok(value.round() as Time)
}

fn split<'a>(text: &'a str, mark: char, right: &str) -> Result<(&'a str, &'a str), String> {
    text.split_once(mark)
        .ok_or_else(|| format!("{right} would be right"))
}

fn member(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no member: they are numbers from 0"))
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    match value > 0.0 && value <= 1.0 {
        true => Ok(value),
        false => Err(format!("`{text}`: a share is above 0 and at most 1")),
    }
}

fn kill(text: &str) -> Result<Fault, String> {
    let (node, at) = split(text, '@', "3@40us")?;
    Ok(Fault::Kill {
        node: member(node)?,
        at: time(at)?,
    })
}

fn pause(text: &str) -> Result<Fault, String> {
    let (node, rest) = split(text, '@', "3@40us+10us")?;
    let (at, long) = split(rest, '+', "3@40us+10us")?;
    Ok(Fault::Pause {
        node: member(node)?,
        at: time(at)?,
        time: time(long)?,
    })
}

fn slow_link(text: &str) -> Result<Fault, String> {
    let (link, rate) = split(text, '@', "1-3@0.5")?;
    let (a, b) = split(link, '-', "1-3@0.5")?;
    Ok(Fault::SlowLink {
        a: member(a)?,
        b: member(b)?,
        rate: share(rate)?,
    })
}

fn slow_member(text: &str) -> Result<Fault, String> {
    let (node, rate) = split(text, '@', "3@0.5")?;
    Ok(Fault::SlowPort {
        node: member(node)?,
        rate: share(rate)?,
    })
}
