//! `tributary perf`: what the tools of perftest measure, of cards with and without the reliable layer.

mod figures;
mod raw;
mod reliable;
mod station;
mod transfers;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use tributary_protocol::xud::MAX_MESSAGE;
use tributary_sim::card::CardSizes;

use crate::Verdict;
use crate::cards::{Network, usage};
use crate::progress::Progress;
use crate::sim::Engine;
use figures::{Bandwidth, Latency, Row, Sample, print_latency, print_rates};
use station::Station;
use transfers::Direction;

/// Iterations of the model and of the RTL.
const ITERATIONS: [u64; 2] = [1_000, 100];
/// Without anything that ends for so long, a measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments of `tributary perf`.
#[derive(Args)]
pub struct Arguments {
    /// What to measure.
    test: Test,
    /// Bytes of a message: of sends up to 64 KiB, of writes and reads up to 1 GiB [default: 2; of bandwidths 65536, or the MTU if there are datagrams]
    #[arg(short, long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=transfers::LONGEST as i64))]
    size: Option<u32>,
    /// Messages of each size [default: 1000, of the RTL 100; of writes and reads 64 MiB at most]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    iters: Option<u64>,
    /// Measure each size for so long, by the clock on the wall, instead of a number of messages.
    #[arg(short = 'D', long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "iters")]
    duration: Option<f64>,
    /// All sizes 2^1 to 2^16, of datagrams up to the MTU; of writes and reads 2^1 to 2^23.
    #[arg(short, long, conflicts_with = "size")]
    all: bool,
    /// Largest payload of a packet, bytes.
    #[arg(short, long, value_name = "BYTES", default_value = "1024", value_parser = mtu)]
    mtu: u16,
    /// Messages under way in bandwidths and msg-rate; of writes and reads no more than have 256 MiB.
    #[arg(short, long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=1024))]
    tx_depth: u16,
    /// Datagrams without the reliable layer; what the network loses stays lost.
    #[arg(long)]
    raw: bool,
    /// Both, and the ratio.
    #[arg(long, conflicts_with = "raw")]
    compare: bool,
    /// What the two cards are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    #[command(flatten)]
    network: Network,
    /// A card that `tributary serve` offers, instead of two of its own; twice for two cards, once for one that sends to itself.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["engine", "loss", "dup", "reorder", "round_trip", "seed"])]
    connect: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Test {
    /// Half the time of a message there and back.
    SendLat,
    /// Bytes a second with many messages under way.
    SendBw,
    /// Messages a second, likewise.
    MsgRate,
    /// Half the time of a WRITE there and back; each tells the other side (WRITE with immediate).
    WriteLat,
    /// Bytes a second with many WRITEs under way.
    WriteBw,
    /// The time of a READ.
    ReadLat,
    /// Bytes a second with many READs under way.
    ReadBw,
}

impl Test {
    /// Of bulk transfers, their direction.
    const fn direction(self) -> Option<Direction> {
        match self {
            Self::WriteLat | Self::WriteBw => Some(Direction::Write),
            Self::ReadLat | Self::ReadBw => Some(Direction::Read),
            Self::SendLat | Self::SendBw | Self::MsgRate => None,
        }
    }

    /// Times are measured, not rates.
    const fn is_latency(self) -> bool {
        matches!(self, Self::SendLat | Self::WriteLat | Self::ReadLat)
    }
}

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    /// With the reliable layer.
    Reliable,
    /// Without.
    Raw,
    /// Bulk transfers, which the cards make reliable.
    Bulk,
}

impl Transport {
    const fn name(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Raw => "raw",
            Self::Bulk => "bulk",
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value > 0.0 && value <= 86_400.0 {
        Ok(value)
    } else {
        Err("above 0, at most 86400".to_owned())
    }
}

fn mtu(text: &str) -> Result<u16, String> {
    let sizes = [256, 512, 1024, 2048, 4096];
    text.parse()
        .ok()
        .filter(|mtu| sizes.contains(mtu))
        .ok_or_else(|| "256, 512, 1024, 2048 or 4096".to_owned())
}

/// One measurement: how long it goes on, who is told how far it is.
struct Budget<'a> {
    bytes: usize,
    depth: usize,
    iterations: Option<u64>,
    until: Option<Instant>,
    /// When something ended last.
    last: Instant,
    ended: u64,
    watch: &'a mut dyn FnMut(u64),
}

impl Budget<'_> {
    /// Whether another message is to follow so many.
    fn more(&self, begun: u64) -> bool {
        self.iterations.is_none_or(|most| begun < most)
            // One is measured however short the time.
            && (begun == 0 || self.until.is_none_or(|until| Instant::now() < until))
    }

    /// A message has ended.
    fn ended(&mut self) {
        self.last = Instant::now();
        self.ended += 1;
        (self.watch)(self.ended);
    }

    /// A look at the cards in vain.
    fn idle(&self) -> Result<()> {
        // A simulated gigabyte takes minutes.
        let patience = PATIENCE + Duration::from_secs(self.bytes as u64 >> 21);
        if self.last.elapsed() > patience {
            bail!(
                "no message has ended for {} s; {} had ended before",
                patience.as_secs(),
                self.ended
            );
        }
        Ok(())
    }
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let direction = arguments.test.direction();
    if direction.is_some() && (arguments.raw || arguments.compare) {
        return Err(usage(
            "writes and reads are bulk transfers: --raw and --compare are for sends",
        ));
    }
    let transports: &[Transport] = match (arguments.raw, arguments.compare) {
        _ if direction.is_some() => &[Transport::Bulk],
        (true, _) => &[Transport::Raw],
        (_, true) => &[Transport::Raw, Transport::Reliable],
        _ => &[Transport::Reliable],
    };
    let sizes = sizes(arguments, transports)?;
    let station = station(arguments)?;
    let default = ITERATIONS[usize::from(arguments.engine == Engine::Rtl)];
    let iterations = match arguments.duration {
        Some(_) => None,
        None => Some(arguments.iters.unwrap_or(default)),
    };
    let runs = (sizes.len() * transports.len()) as u64;
    let progress = match iterations {
        Some(most) => Progress::new(most * runs, "messages"),
        None => Progress::new(runs, "measurements"),
    };
    let mut rows = Vec::new();
    for bytes in sizes {
        for transport in transports {
            let before = rows.len() as u64;
            let iterations = match (iterations, direction) {
                (Some(most), Some(_)) if arguments.iters.is_none() => {
                    Some(transfers::iterations(bytes, most))
                }
                _ => iterations,
            };
            let mut watch = |ended| progress.at(iterations.map_or(before, |n| before * n + ended));
            let length = arguments.duration.map(Duration::from_secs_f64);
            let mut budget = Budget {
                bytes,
                depth: arguments.tx_depth.into(),
                iterations,
                until: length.map(|length| Instant::now() + length),
                last: Instant::now(),
                ended: 0,
                watch: &mut watch,
            };
            let sample = match (transport, arguments.test) {
                (Transport::Bulk, test) => {
                    let direction = direction.unwrap_or(Direction::Write);
                    if test.is_latency() {
                        transfers::latency(&station, &mut budget, direction)
                    } else {
                        transfers::rate(&station, &mut budget, direction)
                    }
                }
                (Transport::Raw, Test::SendLat) => raw::latency(&station, &mut budget),
                (Transport::Raw, _) => raw::rate(&station, &mut budget),
                (_, Test::SendLat) => reliable::latency(&station, &mut budget),
                _ => reliable::rate(&station, &mut budget),
            };
            let sample = sample.map_err(|error| station.explain(error))?;
            rows.push(row(arguments.test, *transport, bytes, &sample)?);
        }
    }
    drop(progress);
    station.check()?;
    let report = Report::new(arguments, &station, rows);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        report.print(&mut out)?;
    }
    Ok(Verdict::Good)
}

/// Sizes to measure.
fn sizes(arguments: &Arguments, transports: &[Transport]) -> Result<Vec<usize>> {
    let datagrams = transports.contains(&Transport::Raw);
    let bulk = transports.contains(&Transport::Bulk);
    let most = if bulk {
        transfers::LONGEST
    } else if datagrams {
        usize::from(arguments.mtu)
    } else {
        MAX_MESSAGE
    };
    if arguments.all {
        let all = (1..=if bulk { 23 } else { 16 }).map(|log| 1 << log);
        return Ok(all.filter(|bytes| *bytes <= most).collect());
    }
    let bytes = match (arguments.size, arguments.test) {
        (Some(bytes), _) => bytes as usize,
        (None, Test::WriteBw | Test::ReadBw) => 65_536,
        (None, Test::SendBw) => most,
        (None, _) => 2,
    };
    if bytes > most {
        return Err(usage(format!(
            "--size {bytes}: a datagram has at most --mtu {most} bytes; without --raw and --compare up to {MAX_MESSAGE}"
        )));
    }
    Ok(vec![bytes])
}

fn station(arguments: &Arguments) -> Result<Station> {
    #[cfg(target_os = "linux")]
    if !arguments.connect.is_empty() {
        return Station::connect(&arguments.connect, arguments.mtu);
    }
    let sizes = match arguments.test.direction() {
        Some(_) => CardSizes::bulk(),
        None => CardSizes::default(),
    };
    Station::simulate(arguments.engine, sizes, &arguments.network, arguments.mtu)
}

fn row(test: Test, transport: Transport, bytes: usize, sample: &Sample) -> Result<Row> {
    if sample.times.is_empty() {
        bail!(
            "{bytes} bytes, {}: none of {} messages got through",
            transport.name(),
            sample.failed
        );
    }
    let lat = test.is_latency();
    // A read goes there and comes back: all of its time is its latency.
    let ways = if test == Test::ReadLat { 1.0 } else { 2.0 };
    Ok(Row {
        transport,
        message_bytes: bytes,
        iterations: sample.times.len() as u64,
        failed: sample.failed,
        latency: lat.then(|| Latency::of(&sample.times, ways)),
        rates: (!lat).then(|| Bandwidth::of(&sample.times, bytes)),
    })
}

/// With the reliable layer, as a share of without.
#[derive(Serialize)]
struct Ratio {
    message_bytes: usize,
    /// Of the median times.
    #[serde(skip_serializing_if = "Option::is_none")]
    t_typical_ratio: Option<f64>,
    /// Of the average rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_ratio: Option<f64>,
}

/// Everything that is printed.
#[derive(Serialize)]
struct Report {
    test: Test,
    #[serde(flatten)]
    station: station::Facts,
    mtu_bytes: u16,
    tx_depth: u16,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compare: Vec<Ratio>,
}

impl Report {
    fn new(arguments: &Arguments, station: &Station, rows: Vec<Row>) -> Self {
        let compare = rows.windows(2).filter_map(|pair| {
            let [raw, reliable] = pair else { return None };
            let of = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
            let both = |row: &Row| (row.transport, row.message_bytes);
            let bytes = raw.message_bytes;
            (both(raw) == (Transport::Raw, bytes) && both(reliable) == (Transport::Reliable, bytes))
                .then(|| Ratio {
                    message_bytes: bytes,
                    t_typical_ratio: reliable
                        .latency
                        .as_ref()
                        .zip(raw.latency.as_ref())
                        .map(|(a, b)| of(a.t_typical_us, b.t_typical_us)),
                    rate_ratio: reliable
                        .rates
                        .as_ref()
                        .zip(raw.rates.as_ref())
                        .map(|(a, b)| of(a.msg_rate_mpps, b.msg_rate_mpps)),
                })
        });
        Self {
            compare: compare.collect(),
            test: arguments.test,
            station: station.facts(),
            mtu_bytes: arguments.mtu,
            tx_depth: arguments.tx_depth,
            rows,
        }
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.station.print(out)?;
        write!(out, "mtu    {} bytes", self.mtu_bytes)?;
        if !self.test.is_latency() {
            write!(out, "; up to {} messages under way", self.tx_depth)?;
        }
        writeln!(out)?;
        for transport in [Transport::Reliable, Transport::Raw, Transport::Bulk] {
            let rows = self.rows.iter().filter(|row| row.transport == transport);
            let rows: Vec<&Row> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let how = match transport {
                Transport::Reliable => "messages with the reliable layer",
                Transport::Raw => "datagrams without the reliable layer",
                Transport::Bulk => "bulk transfers, which the cards make reliable",
            };
            writeln!(out, "\n{how}")?;
            match self.test {
                test if test.is_latency() => print_latency(&rows, out)?,
                Test::MsgRate => print_rates(&rows, false, out)?,
                _ => print_rates(&rows, true, out)?,
            }
            for row in rows.iter().filter(|row| row.failed > 0) {
                writeln!(
                    out,
                    "{} bytes: {} more got lost, found no receive request, or were not acknowledged",
                    row.message_bytes, row.failed
                )?;
            }
        }
        if !self.compare.is_empty() {
            writeln!(out, "\nwith the layer / without")?;
        }
        for ratio in &self.compare {
            let what = [
                (ratio.t_typical_ratio, "of the typical latency"),
                (ratio.rate_ratio, "of the average rate"),
            ];
            for (value, what) in what {
                if let Some(value) = value {
                    writeln!(out, " {:<10} {value:.3} {what}", ratio.message_bytes)?;
                }
            }
        }
        Ok(())
    }
}
