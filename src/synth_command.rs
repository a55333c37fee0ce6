//! `tributary synth`: how large a block is on an FPGA, and how fast it runs.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::Verdict;
use crate::r#gen::choice;
use crate::progress::Progress;
use crate::synth::{self, Device, SynthOptions};

/// Arguments of `tributary synth`.
#[derive(Args)]
pub struct Arguments {
    /// The block, as for `gen --block`.
    #[arg(value_name = "BLOCK")]
    block: String,
    /// Size of the block, as W=256; may be repeated. Sizes left out are the smallest on offer.
    #[arg(long = "set", value_name = "NAME=SIZE", value_parser = choice::size)]
    sizes: Vec<(String, usize)>,
    /// The device: ecp5-85k.
    #[arg(long, default_value = Device::default().name(), value_parser = str::parse::<Device>)]
    device: Device,
    /// How often to place and route; the frequency is the median.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    seeds: u32,
    /// Place block RAMs ahead of the rest, in N rounds, and keep the best; 0 leaves them to nextpnr.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9))]
    ram_rounds: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let design = choice::choose(&arguments.block, &arguments.sizes)?.emit()?;
    let sources = design.files();
    let options = SynthOptions {
        device: arguments.device,
        seeds: arguments.seeds,
        ram_rounds: arguments.ram_rounds,
        ..SynthOptions::default()
    };
    let placements = match arguments.ram_rounds {
        0 => 0,
        rounds => u64::from(rounds) + 1,
    };
    let steps = 1 + placements + u64::from(arguments.seeds);
    let report = with_bar(steps, |progress| {
        synth::synth(&sources, &design.top, &options, progress)
    })?;
    let text = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&report)?)
    } else {
        report.to_string()
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Verdict::Good)
}

/// Does work of so many steps with a bar that shows before the first of them has ended.
fn with_bar<T>(steps: u64, work: impl FnOnce(&(dyn Fn(&str) + Sync)) -> T) -> T {
    let done = AtomicU64::new(0);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let bar = scope.spawn(|| {
            let bar = Progress::new(steps, "runs of yosys and nextpnr");
            while !ended.load(Ordering::Relaxed) {
                bar.at(done.load(Ordering::Relaxed));
                thread::park_timeout(Duration::from_millis(200));
            }
        });
        let result = work(&|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        ended.store(true, Ordering::Relaxed);
        bar.thread().unpark();
        result
    })
}
