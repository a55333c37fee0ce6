//! `tributary sim`: one transfer, the replay of one, a transfer through two cards, datagrams, reductions over a fabric, or one
//! object to many members.

pub mod allreduce;
mod demo_allreduce;
mod demo_bulk;
mod demo_cluster;
mod demo_rdmc;
mod demo_rw;
mod demo_xud;
mod demo_xud_rtl;
mod replay;
mod summary;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use tributary_protocol::rw::{Mode, ReceiverConfig};

use crate::Verdict;

pub use demo_allreduce::{CLOCK_NS, engine_name, fabric, simulator};

/// Arguments of `tributary sim`.
#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["demo", "replay"])))]
pub struct Arguments {
    /// What to simulate.
    #[arg(long, value_name = "DEMO")]
    demo: Option<Demo>,
    /// Put the records of this file (made with --record) into a receiver.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["events", "trace", "pcap", "record"])]
    replay: Option<PathBuf>,
    #[command(flatten)]
    transfer: Transfer,
    #[command(flatten)]
    datagrams: Datagrams,
    #[command(flatten)]
    multicast: demo_rdmc::Multicast,
    #[command(flatten)]
    cluster: demo_cluster::Options,
    /// Fabric of --demo allreduce or cluster (TOML); without, 16 endpoints on 4 leaf switches under a spine, or on 3 under 2.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// What stands at the receiving end of a transfer, or what the switches of a fabric are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Print every event as a line.
    #[arg(long, conflicts_with = "json")]
    events: bool,
    /// Waveform of the receiver, or of a switch (FST).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Which switch --trace is of; without, the first.
    #[arg(long, value_name = "NAME", requires = "trace")]
    trace_node: Option<String>,
    /// Every frame at both ends of its link (pcapng).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Records that enter the receiver, for --replay (JSON lines).
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Arguments that say what is sent over what.
#[derive(Args)]
struct Transfer {
    /// Bytes of the transfer, or of the object of --demo rdmc.
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    bytes: u32,
    /// Payload of a packet, bytes.
    #[arg(long, value_name = "N", default_value = "512", value_parser = packet_size)]
    packet: u8,
    /// Probability that a packet is lost, in both directions [default: 0.01 for a transfer; for a fabric, that of its cables]
    #[arg(long, value_name = "P", value_parser = probability)]
    loss: Option<f64>,
    /// Probability that a packet arrives twice, in both directions.
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    dup: f64,
    /// How far packets overtake each other, slots.
    #[arg(long, value_name = "SLOTS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=1024))]
    reorder: u32,
    /// Shortest round trip, slots.
    #[arg(long, value_name = "SLOTS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=1024))]
    round_trip: u32,
    /// Packets that a window of the receiver covers.
    #[arg(long, value_name = "W", default_value_t = 256, value_parser = window)]
    window: u32,
    /// Protocol: counter, go-back-n, rw-timer or rw. Counter is for links that do not duplicate.
    #[arg(long, default_value = "rw")]
    mode: Mode,
    /// How often each message of the receiver leaves, with `rw`: a second copy repairs the loss of the first.
    #[arg(long, value_name = "N", default_value_t = ReceiverConfig::default().copies, value_parser = clap::value_parser!(u8).range(1..=2))]
    copies: u8,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Arguments of --demo xud beside --packet, --loss, --dup, --reorder, --round-trip, --seed and --pcap.
#[derive(Args)]
struct Datagrams {
    /// Messages of --demo xud.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    messages: u64,
    /// Bytes of a message of --demo xud; above a packet it travels as fragments.
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    size: u32,
    /// Windows of the connection of --demo xud.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    windows: u32,
    /// Deliver messages of --demo xud in the order of sending.
    #[arg(long)]
    ordered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Demo {
    /// One receiver-window transfer of random bytes over a lossy link.
    Rw,
    /// Every reduction of the specification, in the switches of a fabric. Takes --fabric, --loss, --seed, --engine, --pcap, --trace.
    Allreduce,
    /// 16 hosts with cards on 5 switches under a manager: every host sends to every other, writes in bulk, all-reduces, and a cable
    /// fails. Takes --fabric, --engine, --loss, --seed, --each, --cut, --html.
    Cluster,
    /// Datagrams between two cards with the reliable layer, over a lossy link. Takes --messages, --size, --windows, --ordered.
    Xud,
    /// One WRITE with notification and one READ back through two whole cards, over a lossy link. Takes the options of --demo rw but
    /// --mode, --copies and --events.
    Bulk,
    /// One object from a root to many members, who relay its blocks. Takes --bytes, --members, --block-size, --algorithm,
    /// --latency, --offload, --kill, --pause, --slow-link, --svg and others.
    Rdmc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The executable model.
    Model,
    /// The Verilog in Verilator; needs `cargo xtask tools`.
    Rtl,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    match (&arguments.replay, arguments.demo) {
        (Some(file), _) => replay::run(file, arguments),
        (None, Some(Demo::Allreduce)) => demo_allreduce::run(arguments),
        (None, Some(Demo::Cluster)) => demo_cluster::run(arguments),
        (None, Some(Demo::Xud)) => demo_xud::run(arguments),
        (None, Some(Demo::Bulk)) => demo_bulk::run(arguments),
        (None, Some(Demo::Rdmc)) => demo_rdmc::run(arguments),
        (None, Some(Demo::Rw) | None) => demo_rw::run(arguments),
    }
}

/// A number from 0 to 1.
pub fn probability(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "not a number; 0.01 would be one".to_owned())?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err("a probability is 0 to 1".to_owned())
    }
}

/// log2 of a packet size.
fn packet_size(text: &str) -> Result<u8, String> {
    match text {
        "256" => Ok(8),
        "512" => Ok(9),
        "1024" => Ok(10),
        "2048" => Ok(11),
        "4096" => Ok(12),
        _ => Err("256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

fn window(text: &str) -> Result<u32, String> {
    let sizes = [64, 256, 1024];
    text.parse()
        .ok()
        .filter(|w| sizes.contains(w))
        .ok_or_else(|| "64, 256 or 1024".to_owned())
}
