//! `tributary bench rw`: goodput of four modes on the same links.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use tributary_protocol::rw::{Mode, ReceiverConfig};
use tributary_sim::rw::goodput::{Case, PACKETS, Sums};

use super::Verdict;
use crate::files::NewFile;
use crate::plot;
use crate::progress::Progress;

/// Probabilities of loss that are measured.
pub const LOSSES: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];
/// Seeds between two looks at the standard error.
const BATCH: u64 = 32;
/// A mean whose standard error is below this has a stable third digit.
const STABLE: f64 = 0.0004;

/// Arguments of `tributary bench rw`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Transfers per figure at most; fewer where the third digit is stable before.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// Lose nothing on the way back. Without this, requests, credit and completions are lost as often as data.
    #[arg(long)]
    lossless_back: bool,
    /// How often each message of the receiver leaves, with `rw`.
    #[arg(long, value_name = "N", default_value_t = ReceiverConfig::default().copies, value_parser = clap::value_parser!(u8).range(1..=2))]
    copies: u8,
    /// Seed of the first transfer of each figure; the others follow it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 32))]
    first_seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Also draw the figures (SVG).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// A way to send, with the figures of an earlier slot simulation beside ours: packets sent per useful
/// packet and goodput, for the losses above 0 of [`LOSSES`]. They are those of the table in section 5
/// of the receiver-window rules.
pub struct Way {
    pub mode: Mode,
    pub window_packets: u32,
    pub name: &'static str,
    pub reference: [(f64, f64); 3],
}

/// The rows of the table, in its order.
pub const WAYS: [Way; 5] = [
    Way {
        mode: Mode::Counter,
        window_packets: 256,
        name: "counter",
        reference: [(1.06, 0.89), (1.70, 0.50), (2.10, 0.41)],
    },
    Way {
        mode: Mode::GoBackN,
        window_packets: 256,
        name: "go-back-n",
        reference: [(17.4, 0.06), (17.5, 0.06), (18.1, 0.05)],
    },
    Way {
        mode: Mode::RwTimer,
        window_packets: 256,
        name: "rw-timer W=256",
        reference: [(1.02, 0.90), (2.02, 0.39), (2.72, 0.29)],
    },
    Way {
        mode: Mode::Rw,
        window_packets: 1024,
        name: "rw W=1024",
        reference: [(1.00, 0.96), (1.00, 0.93), (1.01, 0.92)],
    },
    Way {
        mode: Mode::Rw,
        window_packets: 256,
        name: "rw W=256",
        reference: [(1.00, 0.96), (1.00, 0.91), (1.01, 0.82)],
    },
];

/// One figure of the table.
#[derive(Serialize)]
pub struct Row {
    mode: Mode,
    window_packets: u32,
    pub loss: f64,
    /// `None` if no transfer ended well.
    pub goodput: Option<f64>,
    goodput_standard_error: Option<f64>,
    goodput_with_handshake: Option<f64>,
    pub packets_per_useful: Option<f64>,
    packets_per_useful_standard_error: Option<f64>,
    resent_packets: u64,
    transfers: u64,
    failed_transfers: u64,
    pub reference_goodput: Option<f64>,
    pub reference_packets_per_useful: Option<f64>,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    transfer_packets: u32,
    round_trip_slots: u32,
    reorder_slots: u32,
    loss_on_the_way_back: bool,
    /// With `rw`.
    copies_of_receiver_messages: u8,
    first_seed: u64,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    // Before the work, so that a wrong name does not cost it.
    let plot = arguments.plot.as_deref().map(NewFile::create).transpose()?;
    let ways = WAYS.iter().flat_map(|way| LOSSES.map(|loss| (way, loss)));
    let cases: Vec<(&Way, Case)> = ways
        .map(|(way, loss)| {
            let loss_back = if arguments.lossless_back { 0.0 } else { loss };
            (
                way,
                Case {
                    mode: way.mode,
                    window_packets: way.window_packets,
                    loss,
                    loss_back,
                    copies: arguments.copies,
                },
            )
        })
        .collect();
    let sums = measure_all(&cases, arguments.first_seed, arguments.seeds)?;
    let rows: Vec<Row> = cases
        .iter()
        .zip(&sums)
        .map(|((way, case), sums)| row(way, case, sums))
        .collect();
    if let Some(mut file) = plot {
        let svg = plot::goodput(&rows).context("cannot draw the figures")?;
        file.write_all(svg.as_bytes())
            .context("cannot write the plot")?;
        file.finish()?;
    }
    let plan = Case {
        mode: Mode::Rw,
        window_packets: 256,
        loss: 0.0,
        loss_back: 0.0,
        copies: arguments.copies,
    }
    .plan(0);
    let table = Table {
        bench: "rw",
        transfer_packets: PACKETS,
        round_trip_slots: plan.round_trip_slots,
        reorder_slots: plan.reorder_slots,
        loss_on_the_way_back: !arguments.lossless_back,
        copies_of_receiver_messages: arguments.copies,
        first_seed: arguments.first_seed,
        rows,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&table, &mut out)?;
        if let Some(path) = &arguments.plot {
            writeln!(out, "\nPlot: {}", path.display())?;
        }
    }
    Ok(Verdict::Good)
}

/// Measures every case; as many at a time as there are processors.
fn measure_all(cases: &[(&Way, Case)], first: u64, seeds: u64) -> Result<Vec<Sums>> {
    let progress = Progress::new(cases.len() as u64, "figures");
    let next = AtomicUsize::new(0);
    let done = AtomicU64::new(0);
    let results = Mutex::new(vec![None; cases.len()]);
    let worker = || -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, case)) = cases.get(index) else {
                return Ok(());
            };
            let sums = measure(case, first, seeds, &|| {
                progress.at(done.load(Ordering::Relaxed))
            })?;
            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1);
            if let Ok(mut results) = results.lock() {
                results[index] = Some(sums);
            }
        }
    };
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(cases.len());
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a measuring thread broke down"))??;
        }
        Ok(())
    })?;
    let results = results
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a measuring thread broke down"))?;
    results
        .into_iter()
        .map(|sums| sums.context("a figure was not measured"))
        .collect()
}

/// Seeds `first`, `first + 1`, … until both means are stable, or no transfer of a batch got through.
fn measure(case: &Case, first: u64, seeds: u64, tick: &dyn Fn()) -> Result<Sums> {
    let mut sums = Sums::default();
    while sums.runs < seeds {
        let batch = sums.runs..(sums.runs + BATCH).min(seeds);
        sums.merge(&case.measure(first + batch.start..first + batch.end)?);
        tick();
        let errors = [
            sums.goodput.standard_error(),
            sums.packets_per_useful.standard_error(),
        ];
        let stable = sums.failed == 0
            && errors
                .iter()
                .all(|error| error.is_some_and(|error| error <= STABLE));
        if stable || sums.failed == sums.runs {
            break;
        }
    }
    Ok(sums)
}

fn row(way: &Way, case: &Case, sums: &Sums) -> Row {
    let reference = LOSSES
        .iter()
        .skip(1)
        .zip(way.reference)
        .find(|(loss, _)| **loss == case.loss)
        .map(|(_, reference)| reference);
    Row {
        mode: case.mode,
        window_packets: case.window_packets,
        loss: case.loss,
        goodput: sums.goodput.mean(),
        goodput_standard_error: sums.goodput.standard_error(),
        goodput_with_handshake: sums.with_handshake.mean(),
        packets_per_useful: sums.packets_per_useful.mean(),
        packets_per_useful_standard_error: sums.packets_per_useful.standard_error(),
        resent_packets: sums.resent,
        transfers: sums.runs,
        failed_transfers: sums.failed,
        reference_goodput: reference.map(|(_, goodput)| goodput),
        reference_packets_per_useful: reference.map(|(sent, _)| sent),
    }
}

fn print(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    let back = if table.loss_on_the_way_back {
        "loss in both directions"
    } else {
        "no loss on the way back"
    };
    writeln!(
        out,
        "One transfer of {} packets, round trip {} slots, reorder span {} slots, {back}.\n\
         sent: DATA packets put on the line per packet of the transfer.\n\
         goodput: share of the line rate from the first DATA packet to the last byte in the receiver's memory;\n\
         whole: from CONNECT to the sender's completion. ±: standard error. ref: the reference figures.\n",
        table.transfer_packets, table.round_trip_slots, table.reorder_slots
    )?;
    let heads = [
        "sent",
        "±",
        "ref",
        "goodput",
        "±",
        "ref",
        "whole",
        "transfers",
        "failed",
    ];
    writeln!(
        out,
        "{:15} {:>6} {:>7} {:>6} {:>5}  {:>7} {:>6} {:>5} {:>6} {:>10} {:>7}",
        "mode",
        "loss",
        heads[0],
        heads[1],
        heads[2],
        heads[3],
        heads[4],
        heads[5],
        heads[6],
        heads[7],
        heads[8]
    )?;
    for (row, way) in table
        .rows
        .iter()
        .zip(WAYS.iter().flat_map(|way| LOSSES.map(|_| way)))
    {
        let figure = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        writeln!(
            out,
            "{:15} {:>6} {:>7} {:>6} {:>5}  {:>7} {:>6} {:>5} {:>6} {:>10} {:>7}",
            way.name,
            if row.loss == 0.0 {
                "0".to_owned()
            } else {
                format!("{:.0e}", row.loss)
            },
            figure(row.packets_per_useful, 4),
            figure(row.packets_per_useful_standard_error, 4),
            figure(row.reference_packets_per_useful, 2),
            figure(row.goodput, 4),
            figure(row.goodput_standard_error, 4),
            figure(row.reference_goodput, 2),
            figure(row.goodput_with_handshake, 3),
            row.transfers,
            row.failed_transfers,
        )?;
    }
    if table.rows.iter().any(|row| row.failed_transfers > 0) {
        writeln!(
            out,
            "\nfailed: given up by the sender, and left out of the means."
        )?;
    }
    Ok(())
}
