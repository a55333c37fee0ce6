//! `tributary bench rdmc`: block multicast over simulated links, beside its step bound and beside broadcasts as MPI
//! libraries do them over the same links.

mod deaths;
mod measure;
mod print;
mod storage;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::Verdict;
use crate::files::NewFile;
use crate::plot_rdmc;
use crate::progress::Progress;

pub use measure::{Against, Point};

/// Arguments of `tributary bench rdmc`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only groups of at most so many members.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(4..=65_536))]
    members: u32,
    /// Instead of the figures: so many random deaths in random groups; every verdict is checked.
    #[arg(long, value_name = "COUNT")]
    deaths: Option<u64>,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw bandwidth over group size and time over message size into this file (SVG).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Everything that is printed.
#[derive(Serialize)]
struct Table {
    bench: &'static str,
    rate_gbps: f64,
    block_bytes: u32,
    /// Time over step bound; the cards carry out the schedule.
    points: Vec<Point>,
    /// Beside broadcasts as MPI libraries do them.
    against: Vec<Against>,
    disturbed: Vec<measure::Disturbed>,
    software: Vec<measure::Software>,
    storage: storage::Replay,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    if let Some(count) = arguments.deaths {
        return deaths::run(count, arguments.seed, arguments.json);
    }
    let started = Instant::now();
    // Before the work, so that a wrong name does not cost it.
    let plot = arguments.plot.as_deref().map(NewFile::create).transpose()?;
    let cases = measure::cases(arguments.members);
    let compared = measure::compared(arguments.members);
    let progress = Progress::new((cases.len() + compared.len() + 3) as u64, "measurements");
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress.at(done);
    };
    let mut points = Vec::new();
    for case in cases {
        points.push(measure::point(case)?);
        step();
    }
    let mut against = Vec::new();
    for case in compared {
        against.push(measure::against(case)?);
        step();
    }
    let disturbed = measure::disturbed()?;
    step();
    let software = measure::software()?;
    step();
    let storage = storage::replay(arguments.seed)?;
    step();
    drop(progress);
    if let Some(mut file) = plot {
        let svg = plot_rdmc::broadcasts(&against).context("cannot draw the figures")?;
        file.write_all(svg.as_bytes())
            .context("cannot write the plot")?;
        file.finish()?;
    }
    let table = Table {
        bench: "rdmc",
        rate_gbps: measure::RATE_GBPS,
        block_bytes: measure::BLOCK_BYTES,
        points,
        against,
        disturbed,
        software,
        storage,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print::table(&table, &mut out)?;
        if let Some(path) = &arguments.plot {
            writeln!(out, "\nPlot: {}", path.display())?;
        }
    }
    Ok(Verdict::Good)
}
