//! Messages between hosts through the driver over bad links, as many as wanted, each checked byte by byte; on models, or on
//! Verilated cards whose hosts cut, reorder and stall their completions:
//! `cargo run --release -p tributary-sim --example driver_exchange -- --messages 10000000 --engine rtl`.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{
    CLOCK_NS, CardSizes, Exchange, NetworkConfig, exchange_over, network, network_rtl,
};
use tributary_sim::link::LinkConfig;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// The executable specification.
    Model,
    /// Verilated cards behind simulated PCIe.
    Rtl,
}

/// Messages of 16 to 64 bytes over links with loss 1 %, duplication 1 % and reorder span 64.
#[derive(Parser)]
struct Arguments {
    /// Messages, of all hosts together.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Every random choice comes from this number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hosts with a card each.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=64))]
    nodes: u32,
    /// What the cards are.
    #[arg(long, value_enum, default_value = "model")]
    engine: Engine,
}

fn main() -> Result<()> {
    let Arguments {
        messages,
        seed,
        nodes,
        engine,
    } = Arguments::parse();
    let rtl = engine == Engine::Rtl;
    let plan = Exchange {
        network: NetworkConfig {
            nodes,
            link: LinkConfig {
                delay_slots: 20,
                reorder_slots: 64,
                loss: 0.01,
                duplication: 0.01,
            },
            seed,
            // A whole number of the RTL's clocks.
            slot_ns: 13 * CLOCK_NS,
            ..NetworkConfig::default()
        },
        endpoint: EndpointConfig {
            windows: 256,
            // The shortest above the longest round trip, 17.5 us.
            timeout: 3,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1_024,
        messages,
        largest: 64,
        longer: None,
    };
    let devices = if rtl {
        let root = Config {
            seed,
            stall: Profile::Independent(32),
            ..Config::default()
        };
        network_rtl(&plan.network, CardSizes::default(), root)?
    } else {
        network(&plan.network)?
    };
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} messages, {eta} left")?;
    let bar = ProgressBar::new(messages).with_style(style);
    let (started, mut shown) = (Instant::now(), Instant::now());
    let report = exchange_over(&plan, (0..).zip(devices.clone()).collect(), &mut |ended| {
        if shown.elapsed() > Duration::from_secs(1) {
            bar.set_position(ended);
            shown = Instant::now();
        }
    })?;
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64();
    println!("{report:#?}");
    println!("{seconds:.1} s, seed {seed}");
    if rtl {
        let clocks = report.now_ns / CLOCK_NS;
        println!(
            "{clocks} clocks, {:.1} a message, {:.0} clocks/s of all {nodes} cards",
            clocks as f64 / messages as f64,
            clocks as f64 / seconds
        );
    }
    for device in &devices {
        device.check()?;
    }
    ensure!(report.good(messages), "not every message arrived once");
    Ok(())
}
