//! `tributary sim --demo xud`: datagrams between two cards with the reliable layer.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use tributary_protocol::xud::{Drops, Outcome};
use tributary_sim::pcap::Capture;
use tributary_sim::xud::{Plan, Report, run as simulate};

use super::{Engine, Link, demo_xud_rtl, engine_name};
use crate::Verdict;
use crate::cards::{line_gbps, usage};
use crate::files::NewFile;
use crate::progress::Progress;

/// Bytes on the line around the payload of a packet: preamble 8, Ethernet, IPv4, UDP and BTH 54, XUDETH 16, ICRC 4, frame check
/// sequence 4, gap 12.
const OVERHEAD_BYTES: f64 = 98.0;

/// Options of `--demo xud`.
#[derive(Args)]
pub struct Options {
    /// Messages.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    messages: u64,
    /// Bytes of a message; above a packet it travels as fragments.
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    size: u32,
    /// Windows of the connection.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    windows: u32,
    /// Deliver messages in the order of sending.
    #[arg(long)]
    ordered: bool,
    #[command(flatten)]
    link: Link,
    /// What the cards are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Every frame at both ends of the link (pcapng); of models.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    let started = Instant::now();
    let rtl = arguments.engine == Engine::Rtl;
    if rtl && arguments.pcap.is_some() {
        return Err(usage(
            "--demo xud captures frames of models: --pcap without --engine rtl",
        ));
    }
    let link = &arguments.link;
    let mtu = 1u16 << link.packet;
    let filled = f64::from(mtu).min(f64::from(arguments.size));
    let plan = Plan {
        messages: arguments.messages,
        size: arguments.size as usize,
        mtu,
        windows: arguments.windows,
        ordered: arguments.ordered,
        round_trip_slots: link.round_trip,
        reorder_slots: link.reorder,
        loss: link.loss,
        duplication: link.dup,
        seed: link.seed,
        slot_ns: ((filled + OVERHEAD_BYTES) * 8.0 / line_gbps(arguments.engine)).ceil() as u64,
    };
    let mut capture = arguments
        .pcap
        .as_deref()
        .map(|path| Capture::new(NewFile::create(path)?, plan.slot_ns as f64))
        .transpose()?;
    let progress = Progress::new(plan.messages, "messages");
    let mut frames = |end, slot, frame: &[u8]| match &mut capture {
        Some(capture) => capture.frame(end, slot, frame),
        None => Ok(()),
    };
    let mut watch = |ended| progress.at(ended);
    let (report, dropped) = if rtl {
        demo_xud_rtl::run(&plan, &mut watch)?
    } else {
        let report = simulate(&plan, &mut frames, &mut watch)?;
        let dropped = report.cards.each_ref().map(|card| by_reason(&card.drops));
        (report, dropped)
    };
    drop(progress);
    if let Some(capture) = capture {
        capture.into_inner().finish()?;
    }
    let summary = Summary::new(
        &plan,
        &report,
        dropped,
        arguments.engine,
        started.elapsed().as_secs_f64(),
    );
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    Ok(if report.good(&plan) {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

/// Everything that is printed.
#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    messages: u64,
    message_bytes: usize,
    packet_bytes: u16,
    packets_per_message: u64,
    windows: u32,
    ordered: bool,
    loss: f64,
    duplication: f64,
    reorder_slots: u32,
    round_trip_slots: u32,
    seed: u64,
    completed: u64,
    failed: u64,
    first_failure: Option<Outcome>,
    delivered: u64,
    lost: u64,
    duplicated: u64,
    corrupted: u64,
    overtaken: u64,
    requests: u64,
    resends: u64,
    rnr_resends: u64,
    opens: u64,
    acks: u64,
    timeouts: u64,
    timeout_ns: u64,
    /// At the receiver, by reason: card and layer.
    dropped: BTreeMap<&'static str, u64>,
    /// At the sender.
    dropped_back: BTreeMap<&'static str, u64>,
    lost_to_receiver: u64,
    lost_to_sender: u64,
    /// Payload as a share of what the line carries in the time.
    goodput: f64,
    goodput_gbps: f64,
    bytes_per_connection_sender: usize,
    bytes_per_connection_receiver: usize,
    slots: u64,
    slot_ns: u64,
    simulated_s: f64,
    time_s: f64,
}

fn by_reason(drops: &Drops) -> BTreeMap<&'static str, u64> {
    drops
        .iter()
        .map(|(reason, count)| (reason.name(), count))
        .collect()
}

impl Summary {
    /// `dropped`: by the cards.
    fn new(
        plan: &Plan,
        report: &Report,
        dropped: [BTreeMap<&'static str, u64>; 2],
        engine: Engine,
        time_s: f64,
    ) -> Self {
        let [mut dropped_back, mut dropped] = dropped;
        for (all, layer) in [&mut dropped_back, &mut dropped]
            .into_iter()
            .zip(&report.layers)
        {
            for (reason, count) in by_reason(&layer.drops) {
                *all.entry(reason).or_default() += count;
            }
        }
        let [sender, receiver] = &report.cards;
        let [layer, _] = &report.layers;
        let simulated_s = report.slots as f64 * plan.slot_ns as f64 * 1e-9;
        let gbps = report.completed as f64 * plan.size as f64 * 8e-9 / simulated_s;
        Self {
            demo: "xud",
            engine: engine_name(engine),
            messages: plan.messages,
            message_bytes: plan.size,
            packet_bytes: plan.mtu,
            packets_per_message: plan.packets(),
            windows: plan.windows,
            ordered: plan.ordered,
            loss: plan.loss,
            duplication: plan.duplication,
            reorder_slots: plan.reorder_slots,
            round_trip_slots: plan.round_trip_slots,
            seed: plan.seed,
            completed: report.completed,
            failed: report.failed,
            first_failure: report.first_failure,
            delivered: report.delivered,
            lost: report.lost(),
            duplicated: report.duplicated,
            corrupted: report.corrupted,
            overtaken: report.overtaken,
            requests: sender.sent,
            resends: layer.resent,
            rnr_resends: layer.rnr_resent,
            opens: layer.opens,
            acks: receiver.acks_sent,
            timeouts: sender.timeouts,
            timeout_ns: 4_096 << plan.timeout(),
            dropped,
            dropped_back,
            lost_to_receiver: report.links[0].lost,
            lost_to_sender: report.links[1].lost,
            goodput: gbps / line_gbps(engine),
            goodput_gbps: gbps,
            bytes_per_connection_sender: report.connection_bytes[0],
            bytes_per_connection_receiver: report.connection_bytes[1],
            slots: report.slots,
            slot_ns: plan.slot_ns,
            simulated_s,
            time_s,
        }
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let list = |counts: &BTreeMap<&str, u64>| {
            let all: Vec<String> = counts
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            if all.is_empty() {
                "nothing".to_owned()
            } else {
                all.join(", ")
            }
        };
        writeln!(
            out,
            "datagrams   {} messages of {} bytes, {} packet(s) of up to {} each, {} windows{}, {}",
            self.messages,
            self.message_bytes,
            self.packets_per_message,
            self.packet_bytes,
            self.windows,
            if self.ordered { ", in order" } else { "" },
            self.engine
        )?;
        writeln!(
            out,
            "link        loss {}, duplication {}, reorder span {} slots, round trip {} slots, seed {}",
            self.loss, self.duplication, self.reorder_slots, self.round_trip_slots, self.seed
        )?;
        let failure = self
            .first_failure
            .map_or_else(String::new, |how| format!(", the first as {how}"));
        writeln!(
            out,
            "result      {} completed, {} failed{failure}; {} delivered, {} lost, {} duplicated, {} corrupted; {} overtaken",
            self.completed,
            self.failed,
            self.delivered,
            self.lost,
            self.duplicated,
            self.corrupted,
            self.overtaken
        )?;
        writeln!(
            out,
            "sent        {} requests, {} of them resends, {} OPEN; {} timeouts of {} ns; {} acknowledgements back",
            self.requests, self.resends, self.opens, self.timeouts, self.timeout_ns, self.acks
        )?;
        writeln!(
            out,
            "goodput     {:.3} of the line rate, {:.1} Gb/s; 1 slot = {} ns, {:.6} s in all",
            self.goodput, self.goodput_gbps, self.slot_ns, self.simulated_s
        )?;
        writeln!(
            out,
            "memory      {} bytes for the connection at the sender, {} at the receiver",
            self.bytes_per_connection_sender, self.bytes_per_connection_receiver
        )?;
        writeln!(
            out,
            "dropped     {} at the receiver; {} at the sender",
            list(&self.dropped),
            list(&self.dropped_back)
        )?;
        writeln!(
            out,
            "lost        {} frames to the receiver, {} to the sender",
            self.lost_to_receiver, self.lost_to_sender
        )
    }
}
