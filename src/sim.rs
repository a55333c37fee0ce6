//! `tributary sim`: demonstrations, each with its own options, and the replay of a recorded transfer.

pub mod allreduce;
mod command_line;
mod demo_allreduce;
mod demo_bulk;
mod demo_cluster;
mod demo_rdmc;
mod demo_rw;
mod demo_xud;
mod demo_xud_rtl;
mod ranks;
mod replay;
mod summary;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};

use tributary_sim::fabric::Kind;

use crate::Verdict;

pub use command_line::demo_first;
pub use demo_allreduce::{CLOCK_NS, fabric};

/// Arguments of `tributary sim`.
#[derive(Args)]
#[command(
    subcommand_help_heading = "Demos",
    subcommand_value_name = "DEMO",
    override_usage = "tributary sim --demo <DEMO> [OPTIONS]\n       tributary sim --demo <DEMO> --help\n       tributary sim --replay <FILE> [OPTIONS]",
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One receiver-window transfer of random bytes over a lossy link.
    #[command(override_usage = "tributary sim --demo rw [OPTIONS]")]
    Rw(demo_rw::Options),
    /// Every reduction of the specification, in the switches of a fabric.
    #[command(override_usage = "tributary sim --demo allreduce [OPTIONS]")]
    Allreduce(demo_allreduce::Options),
    /// 16 hosts with cards on 5 switches under a manager: every host sends to every other, writes in bulk, all-reduces, and a cable
    /// fails.
    #[command(override_usage = "tributary sim --demo cluster [OPTIONS]")]
    Cluster(demo_cluster::Options),
    /// Datagrams between two cards with the reliable layer, over a lossy link.
    #[command(override_usage = "tributary sim --demo xud [OPTIONS]")]
    Xud(demo_xud::Options),
    /// One WRITE with notification and one READ back through two whole cards, over a lossy link.
    #[command(override_usage = "tributary sim --demo bulk [OPTIONS]")]
    Bulk(demo_bulk::Options),
    /// One object from a root to many members, who relay its blocks.
    #[command(override_usage = "tributary sim --demo rdmc [OPTIONS]")]
    Rdmc(demo_rdmc::Options),
    /// Puts the records of a file (made with `--demo rw --record`) into a receiver.
    #[command(
        hide = true,
        override_usage = "tributary sim --replay <FILE> [OPTIONS]"
    )]
    Replay(replay::Options),
}

/// How packets travel between two ends.
#[derive(Args)]
struct Link {
    /// Probability that a packet is lost, in both directions.
    #[arg(long, value_name = "P", default_value = "0.01", value_parser = probability)]
    loss: f64,
    /// Probability that a packet arrives twice, in both directions.
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    dup: f64,
    /// How far packets overtake each other, slots.
    #[arg(long, value_name = "SLOTS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=1024))]
    reorder: u32,
    /// Shortest round trip, slots.
    #[arg(long, value_name = "SLOTS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=1024))]
    round_trip: u32,
    /// Payload of a packet, bytes.
    #[arg(long, value_name = "N", default_value = "512", value_parser = packet_size)]
    packet: u8,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Where reductions run.
#[derive(Args)]
struct OnFabric {
    /// The fabric (TOML); without, one of 16 endpoints: on 4 leaf switches under a spine, of --demo cluster on 3 under 2.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Probability that a frame is lost on a cable; without, as the fabric says.
    #[arg(long, value_name = "P", value_parser = probability)]
    loss: Option<f64>,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What switches and cards are, where the fabric does not say it.
    #[arg(long, default_value = "model")]
    engine: Engine,
}

/// What is moved between two memories.
#[derive(Args)]
struct Transfer {
    /// Bytes of the transfer.
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    bytes: u32,
    /// Packets that a window of the receiver covers.
    #[arg(long, value_name = "W", default_value_t = 256, value_parser = window)]
    window: u32,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    match &arguments.what {
        What::Rw(options) => demo_rw::run(options),
        What::Allreduce(options) => demo_allreduce::run(options),
        What::Cluster(options) => demo_cluster::run(options),
        What::Xud(options) => demo_xud::run(options),
        What::Bulk(options) => demo_bulk::run(options),
        What::Rdmc(options) => demo_rdmc::run(options),
        What::Replay(options) => replay::run(options),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The executable model.
    Model,
    /// The Verilog in Verilator; needs `cargo xtask tools`.
    Rtl,
}

impl From<Engine> for Kind {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Model => Self::Model,
            Engine::Rtl => Self::Rtl,
        }
    }
}

/// Its name in reports.
pub const fn engine_name(engine: Engine) -> &'static str {
    match engine {
        Engine::Model => "model",
        Engine::Rtl => "rtl",
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
