//! `tributary bench incast`: all hosts of a fabric write in bulk to the first one at once, or send it messages, cards as models or RTL, with
//! and without marks of switches (CL-4).
//!
//! * *dropped*: frames that found a queue of a switch full, of all that were sent into switches.
//! * *line*: use of the receiver's cable from the first to the last packet of data on it, headers and gaps counted, for packets
//!   that had not come before.
//! * *shares*: bytes that came of the sender with the fewest, over those of the one with the most, until the first had sent all.
//! * *again*: packets of data sent again, of those sent the first time.
//! * *recovery*: the last host sends four times as much; time from when all others have ended until it has 95 % of the line.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use tributary_sim::card::{
    CLOCK_NS, Incast, IncastReport, LINE_MBPS, incast, incast_datagrams, incast_on,
};
use tributary_sim::fabric::Fabric;
use tributary_sim::fabric::timing::QUEUE_WORDS;

use super::fabrics;
use crate::Verdict;
use crate::cards::cluster;
use crate::progress::Progress;
use crate::sim::{Engine, engine_name};

/// Largest payload of a packet: the queues of a switch take seven.
const MTU: u16 = 512;
/// How many times as much the last host sends when its recovery is measured.
const LONGER: usize = 4;
/// Part of the line that it has when it has recovered.
const RECOVERED: f64 = 0.95;

/// Arguments of `tributary bench incast`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The fabric (TOML); without, 16 hosts on one switch, and 16 on five.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Bytes that every host writes or sends.
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(4096..=16 << 20))]
    bytes: u32,
    /// Words of a queue of 512 above which switches mark; several with commas. 0, no marks and cards that do not look at them,
    /// is always measured.
    #[arg(long, value_name = "WORDS", value_delimiter = ',', default_values_t = [128, 192, 256, 320], value_parser = clap::value_parser!(u16).range(1..=QUEUE_WORDS as i64))]
    words: Vec<u16>,
    /// Ticks between two cuts of a transfer; without, what a card has after a reset.
    #[arg(long, value_name = "TICKS", value_parser = clap::value_parser!(u16).range(1..=4096))]
    interval: Option<u16>,
    /// Send messages of a packet by the reliable layer instead of writing in bulk. Only cards of bulk transfers look at marks.
    #[arg(long)]
    datagrams: bool,
    /// What the cards are; the switches are models.
    #[arg(long, value_enum, default_value_t = Engine::Model)]
    engine: Engine,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// One fabric with one threshold.
#[derive(Clone, Debug, Serialize)]
struct Row {
    fabric: String,
    senders: usize,
    /// Threshold of the switches; 0: without marks.
    ecn_words: u16,
    frames: u64,
    frames_dropped: u64,
    dropped: f64,
    marked: u64,
    /// By packets that had not come before; and by anything.
    goodput: f64,
    line_use: f64,
    shares: f64,
    sent_again: f64,
    /// Messages about marks that senders got, and cuts.
    told: u64,
    slowed: u64,
    time_us: f64,
    /// One sender alone: its time with this threshold over that without marks.
    alone: f64,
    recovery_us: Option<f64>,
    /// Every transfer ended ok, with every byte right.
    good: bool,
}

#[derive(Serialize)]
struct Table {
    bench: &'static str,
    datagrams: bool,
    engine: &'static str,
    bytes: u32,
    packet_bytes: u16,
    line_mbps: u32,
    rows: Vec<Row>,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let started = Instant::now();
    let fabrics = fabrics(arguments.fabric.as_deref(), 3)?;
    let mut thresholds = vec![0];
    thresholds.extend(&arguments.words);
    let progress = Progress::new((fabrics.len() * thresholds.len()) as u64, "measurements");
    let mut rows = Vec::new();
    for (name, fabric) in &fabrics {
        let mut alone_clocks = None;
        for &words in &thresholds {
            let row = measure(name, fabric, words, arguments, &mut alone_clocks)?;
            rows.push(row);
            progress.at(rows.len() as u64);
        }
    }
    drop(progress);
    let table = Table {
        bench: "incast",
        datagrams: arguments.datagrams,
        engine: engine_name(arguments.engine),
        bytes: arguments.bytes,
        packet_bytes: MTU,
        line_mbps: LINE_MBPS,
        rows,
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &table).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&table, &mut out)?;
    }
    let good = table.rows.iter().all(|row| row.good);
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

fn measure(
    name: &str,
    fabric: &Fabric,
    words: u16,
    arguments: &Arguments,
    alone_clocks: &mut Option<u64>,
) -> Result<Row> {
    let bytes = arguments.bytes as usize;
    let plan = Incast {
        interval: arguments.interval,
        seed: arguments.seed,
        ..Incast::of_all(fabric, bytes, words)
    };
    let go = |bytes: Vec<usize>| -> Result<IncastReport> {
        let plan = Incast {
            bytes,
            ..plan.clone()
        };
        let cards = |simulator| cluster(arguments.engine, simulator, arguments.seed);
        let report = match arguments.engine {
            _ if arguments.datagrams => incast_datagrams(fabric, &plan, cards, &mut |_| {}),
            Engine::Model => incast(fabric, &plan, &mut |_| {}),
            Engine::Rtl => incast_on(fabric, &plan, cards, &mut |_| {}),
        };
        report.with_context(|| format!("{name}, {words} words"))
    };
    let last = fabric.endpoints.len() - 1;
    let all = go(plan.bytes.clone())?;
    let mut one = vec![0; last + 1];
    one[last] = bytes;
    let one = go(one)?;
    let without = *alone_clocks.get_or_insert(one.clocks);
    let mut longer = plan.bytes.clone();
    longer[last] *= LONGER;
    let longer = go(longer)?;
    let node = fabric.endpoints[last].node;
    let us = |clocks: u64| (clocks * CLOCK_NS) as f64 / 1_000.0;
    Ok(Row {
        fabric: name.to_owned(),
        senders: last,
        ecn_words: words,
        frames: all.frames,
        frames_dropped: all.dropped,
        dropped: all.loss(),
        marked: all.marked,
        goodput: all.goodput(),
        line_use: all.line_use(),
        shares: all.fairness(),
        sent_again: all.resent as f64 / all.sent.max(1) as f64,
        told: all.told,
        slowed: all.slowed,
        time_us: us(all.clocks),
        alone: one.clocks as f64 / without.max(1) as f64,
        recovery_us: longer.recovery(node, RECOVERED).map(us),
        good: [&all, &longer]
            .iter()
            .all(|r| (r.ok, r.right) == (last, last))
            && (one.ok, one.right) == (1, 1),
    })
}

fn print(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "All hosts but one {} {} bytes each to that one at once; packets of {} bytes, lines of {} Mb/s, queues of {QUEUE_WORDS} words.\n\
         marks at: words of a queue above which switches mark. dropped: of the frames sent into switches. line: use of the\n\
         receiver's for packets that had not come before. shares: smallest over largest. again: packets sent again, of those sent once. alone: time of one transfer\n\
         alone, over that without marks. recovery: from when the others have ended until one has 95 % of the line.\n\n\
         {:>10} {:>7} {:>8} {:>8} {:>7} {:>6} {:>7} {:>9} {:>6} {:>9}",
        if table.datagrams { "send" } else { "write" },
        table.bytes,
        table.packet_bytes,
        table.line_mbps,
        "fabric",
        "senders",
        "marks at",
        "dropped",
        "line",
        "shares",
        "again",
        "time, µs",
        "alone",
        "recovery"
    )?;
    for row in &table.rows {
        let marks = match row.ecn_words {
            0 => "none".to_owned(),
            words => words.to_string(),
        };
        let recovery = row
            .recovery_us
            .map_or("-".to_owned(), |us| format!("{us:.0} µs"));
        writeln!(
            out,
            "{:>10} {:>7} {:>8} {:>7.2}% {:>6.1}% {:>6.2} {:>6.1}% {:>9.0} {:>6.3} {:>9}{}",
            row.fabric,
            row.senders,
            marks,
            100.0 * row.dropped,
            100.0 * row.goodput,
            row.shares,
            100.0 * row.sent_again,
            row.time_us,
            row.alone,
            recovery,
            if row.good { "" } else { "  WRONG" }
        )?;
    }
    Ok(())
}
