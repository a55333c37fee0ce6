//! A group that whole cards carry out: each host posts once and gets one completion.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_host_driver::multicast::{End, EndCode, OffloadOptions, OffloadedGroup, Ticket};
use tributary_host_driver::{self as driver, Context, Device};
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::multicast::Schedule;
use tributary_sim::card::{CLOCK_NS, CardSizes, SLOT_NS, SimDevice};

use super::arguments::OnCards;
use crate::Verdict;
use crate::cards::{Network, cards, line_gbps, packet_ns, usage};
use crate::sim::{Engine, engine_name};

/// Payload of a packet.
const MTU: u16 = 1_024;
/// Simulated time after which a run is given up.
const PATIENCE: Duration = Duration::from_secs(2);
const WATCHDOG: Duration = Duration::from_millis(100);

/// Everything that is printed.
#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    algorithm: &'static str,
    members: u16,
    bytes: u32,
    block_bytes: u32,
    blocks: u32,
    credits: u32,
    lanes: u8,
    packet_bytes: u16,
    line_gbps: f64,
    latency_ns: u64,
    /// What a whole block takes on the line, with the headers of its packets.
    block_ns: f64,
    total_steps: u64,
    step_bound_ns: f64,
    /// From the first doorbell until the last host was told.
    time_ns: u64,
    time_over_bound: f64,
    goodput_gbps: f64,
    /// Packets with payload that all cards have sent, and how many of them again.
    packets_sent: u64,
    packets_sent_again: u64,
    packets_per_useful: f64,
    /// Of all hosts, for the message: each posts once, and rings the card's schedule ring once.
    posts: usize,
    completions: usize,
    every_byte_right: bool,
    verdict: &'static str,
    wall_s: f64,
}

/// Runs it.
pub fn run(wanted: &OnCards, json: bool) -> Result<Verdict> {
    let started = Instant::now();
    let mut summary = carry(wanted)?;
    summary.wall_s = started.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    let good = summary.every_byte_right && summary.completions == usize::from(summary.members);
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// A card, opened.
fn open(node: u32, device: &SimDevice, network: &Network, engine: Engine) -> Result<Context> {
    let options = driver::Options { node, mtu: MTU };
    let context = Context::open(Arc::new(device.clone()), options)?;
    context.tune_bulk(&network.tuning(MTU, engine))?;
    Ok(context)
}

fn carry(wanted: &OnCards) -> Result<Summary> {
    let engine = wanted.engine;
    let network = Network {
        loss: 0.0,
        dup: 0.0,
        reorder: 0,
        round_trip: wanted.latency_slots() * 2,
        seed: 1,
    };
    let step_ns = match engine {
        Engine::Model => SLOT_NS,
        Engine::Rtl => CLOCK_NS,
    };
    let devices = cards(
        engine,
        CardSizes::bulk(),
        wanted.members.into(),
        [SLOT_NS, step_ns],
        &network,
    )?;
    let blocks = wanted.bytes.div_ceil(wanted.block_bytes).max(1);
    let schedule = Schedule::new(wanted.algorithm, wanted.members.into(), blocks).map_err(usage)?;

    let (mut contexts, mut groups) = (Vec::new(), Vec::new());
    for (node, device) in (0..).zip(&devices) {
        let context = open(node, device, &network, engine)?;
        let domain = context.alloc_pd()?;
        contexts.push(context);
        let options = OffloadOptions {
            algorithm: wanted.algorithm,
            block_bytes: wanted.block_bytes,
            most_blocks: blocks,
            credits: wanted.credits,
            lanes: wanted.lanes,
            watchdog: WATCHDOG,
            ..OffloadOptions::new(wanted.members.into(), node)
        };
        groups.push(OffloadedGroup::new(&domain, options)?);
    }
    let tickets: Vec<Ticket> = groups.iter().map(OffloadedGroup::ticket).collect();
    for group in &mut groups {
        group.connect(&tickets)?;
    }

    let mut bytes = vec![0; wanted.bytes as usize];
    ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut bytes);
    groups[0].write(0, &bytes)?;
    // The root posts last, so that nobody waits for a host.
    let mut posts = 0;
    for group in groups.iter_mut().rev() {
        group.post(wanted.bytes.into())?;
        posts += 1;
    }
    let began = devices[0].now_ns();
    let mut ends: Vec<End> = Vec::new();
    for group in &mut groups {
        let end = group.wait(PATIENCE)?;
        ends.push(end.with_context(|| format!("member {} hears nothing", group.rank()))?);
    }
    let time_ns = devices[0].now_ns() - began;
    if let Some((rank, end)) = ends
        .iter()
        .enumerate()
        .find(|(_, e)| e.code != EndCode::Done)
    {
        bail!("the group of member {rank} ended: {:?}", end.code);
    }
    let mut right = true;
    let mut got = vec![0; bytes.len()];
    for group in &groups {
        group.read(0, &mut got)?;
        right &= got == bytes;
    }

    let sum = |counter| -> Result<u64> {
        let of_each = contexts.iter().map(|card| card.bulk_counter(counter));
        Ok(of_each.sum::<std::result::Result<u64, _>>()?)
    };
    let packets_sent_again = sum(BulkCounter::DataResent)?;
    let packets_sent = sum(BulkCounter::DataSent)? + packets_sent_again;
    let useful = sum(BulkCounter::DataAccepted)?;

    let packets = f64::from(wanted.block_bytes) / f64::from(MTU);
    let block_ns = packets * packet_ns(MTU, engine);
    let bound = schedule.total_steps() as f64 * block_ns;
    Ok(Summary {
        demo: "rdmc",
        engine: engine_name(engine),
        algorithm: wanted.algorithm.name(),
        members: wanted.members,
        bytes: wanted.bytes,
        block_bytes: wanted.block_bytes,
        blocks,
        credits: wanted.credits,
        lanes: wanted.lanes,
        packet_bytes: MTU,
        line_gbps: line_gbps(engine),
        latency_ns: network.delay_ns(),
        block_ns,
        total_steps: schedule.total_steps(),
        step_bound_ns: bound,
        time_ns,
        time_over_bound: time_ns as f64 / bound,
        goodput_gbps: f64::from(wanted.bytes) * 8.0 / time_ns as f64,
        packets_sent,
        packets_sent_again,
        packets_per_useful: packets_sent as f64 / useful.max(1) as f64,
        posts,
        completions: ends.len(),
        every_byte_right: right,
        verdict: if right { "success" } else { "failure" },
        wall_s: 0.0,
    })
}

impl Summary {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "group       {} members, {}, {} bytes in {} blocks of {}, {} credits, by {} cards",
            self.members,
            self.algorithm,
            self.bytes,
            self.blocks,
            self.block_bytes,
            self.credits,
            self.engine
        )?;
        writeln!(
            out,
            "links       {} Gb/s, {} ns one way; a block takes {:.0} ns with its headers",
            self.line_gbps, self.latency_ns, self.block_ns
        )?;
        writeln!(
            out,
            "time        {} ns, {:.4} of {} steps; goodput {:.2} Gb/s",
            self.time_ns, self.time_over_bound, self.total_steps, self.goodput_gbps
        )?;
        writeln!(
            out,
            "hosts       {} posts, {} completions, nothing in between",
            self.posts, self.completions
        )?;
        writeln!(
            out,
            "packets     {} sent, {} of them again, {:.4} per useful one",
            self.packets_sent, self.packets_sent_again, self.packets_per_useful
        )?;
        let bytes = if self.every_byte_right {
            "right"
        } else {
            "WRONG"
        };
        writeln!(out, "verdict     {}: every byte is {bytes}", self.verdict)
    }
}
