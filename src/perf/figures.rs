//! From times to the figures of perftest, and their tables.

use std::io::Write;

use serde::Serialize;

use super::Transport;

/// MB of perftest's tables.
const MIB: f64 = 1_048_576.0;

/// What was measured.
#[derive(Default)]
pub struct Sample {
    /// When a message was begun and when it had ended, ns, in the order of beginning. Of latency, there and back.
    pub times: Vec<(u64, u64)>,
    /// Messages that ended otherwise than OK.
    pub failed: u64,
}

/// A line of the table.
#[derive(Serialize)]
pub struct Row {
    pub transport: Transport,
    pub message_bytes: usize,
    /// Messages that ended OK.
    pub iterations: u64,
    /// Others.
    pub failed: u64,
    #[serde(flatten)]
    pub latency: Option<Latency>,
    #[serde(flatten)]
    pub rates: Option<Bandwidth>,
}

/// Times of one way: half of those there and back.
#[derive(Debug, Serialize)]
pub struct Latency {
    t_min_us: f64,
    t_max_us: f64,
    /// The median.
    pub t_typical_us: f64,
    t_avg_us: f64,
    t_stdev_us: f64,
    percentile_99_us: f64,
    percentile_99_9_us: f64,
}

impl Latency {
    /// Of one time at least; each is of so many ways.
    pub fn of(times: &[(u64, u64)], ways: f64) -> Self {
        // In whole nanoseconds, so that no rounding moves the average out of the range.
        let mut whole: Vec<u64> = times
            .iter()
            .map(|(begun, ended)| ended.saturating_sub(*begun))
            .collect();
        whole.sort_unstable();
        let one_way = |ns: f64| ns / (ways * 1_000.0);
        let count = whole.len();
        let average = one_way(whole.iter().sum::<u64>() as f64 / count as f64);
        let sorted: Vec<f64> = whole.into_iter().map(|ns| one_way(ns as f64)).collect();
        let squares: f64 = sorted.iter().map(|time| (time - average).powi(2)).sum();
        // The smallest time that so many of 1,000 do not exceed.
        let percentile = |of_1000: usize| {
            let rank = (count * of_1000).div_ceil(1_000).clamp(1, count);
            sorted[rank - 1]
        };
        Self {
            t_min_us: sorted[0],
            t_max_us: sorted[count - 1],
            t_typical_us: percentile(500),
            t_avg_us: average,
            t_stdev_us: (squares / count as f64).sqrt(),
            percentile_99_us: percentile(990),
            percentile_99_9_us: percentile(999),
        }
    }
}

/// Bytes and messages a second.
#[derive(Debug, Serialize)]
pub struct Bandwidth {
    bw_peak_mib_per_s: f64,
    bw_average_mib_per_s: f64,
    msg_rate_peak_mpps: f64,
    pub msg_rate_mpps: f64,
}

impl Bandwidth {
    /// Average: over all messages. Peak: the best of all stretches of 1, 2, 4, ... messages and of all.
    pub fn of(times: &[(u64, u64)], bytes: usize) -> Self {
        // Messages a nanosecond.
        let rate = |count: usize, begun: u64, ended: u64| {
            count as f64 / ended.saturating_sub(begun).max(1) as f64
        };
        // When all of the stretch of `length` messages from each had ended; messages may overtake each other.
        let mut ended: Vec<u64> = times.iter().map(|(_, ended)| *ended).collect();
        let begun = times.first().map_or(0, |(begun, _)| *begun);
        let all = ended.iter().copied().max().unwrap_or(begun);
        let average = rate(times.len(), begun, all);
        let (mut peak, mut length) = (average, 1);
        while !ended.is_empty() {
            for ((begun, _), ended) in times.iter().zip(&ended) {
                peak = peak.max(rate(length, *begun, *ended));
            }
            let pairs = ended.len().saturating_sub(length);
            for at in 0..pairs {
                ended[at] = ended[at].max(ended[at + length]);
            }
            ended.truncate(pairs);
            length *= 2;
        }
        let mib = |rate: f64| rate * bytes as f64 * 1e9 / MIB;
        Self {
            bw_peak_mib_per_s: mib(peak),
            bw_average_mib_per_s: mib(average),
            msg_rate_peak_mpps: peak * 1e3,
            msg_rate_mpps: average * 1e3,
        }
    }
}

/// The table of `send-lat`.
pub fn print_latency(rows: &[&Row], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]"
    )?;
    for row in rows {
        let Some(of) = &row.latency else { continue };
        writeln!(
            out,
            " {:<6} {:<11} {:>14.3} {:>14.3} {:>16.3} {:>14.3} {:>16.3} {:>22.3} {:>24.3}",
            row.message_bytes,
            row.iterations,
            of.t_min_us,
            of.t_max_us,
            of.t_typical_us,
            of.t_avg_us,
            of.t_stdev_us,
            of.percentile_99_us,
            of.percentile_99_9_us
        )?;
    }
    Ok(())
}

/// The table of `send-bw`, or of `msg-rate`.
pub fn print_rates(rows: &[&Row], bytes: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let heads = if bytes {
        ["BW peak[MB/sec]", "BW average[MB/sec]", "MsgRate[Mpps]"]
    } else {
        [
            "MsgRate peak[Mpps]",
            "MsgRate average[Mpps]",
            "BW average[MB/sec]",
        ]
    };
    let [a, b, c] = heads;
    writeln!(out, " #bytes #iterations {a:>20} {b:>22} {c:>20}")?;
    for row in rows {
        let Some(of) = &row.rates else { continue };
        let figures = if bytes {
            [
                of.bw_peak_mib_per_s,
                of.bw_average_mib_per_s,
                of.msg_rate_mpps,
            ]
        } else {
            [
                of.msg_rate_peak_mpps,
                of.msg_rate_mpps,
                of.bw_average_mib_per_s,
            ]
        };
        let [a, b, c] = figures;
        writeln!(
            out,
            " {:<6} {:<11} {a:>20.6} {b:>22.6} {c:>20.6}",
            row.message_bytes, row.iterations
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_half_of_there_and_back_and_percentiles_are_of_the_samples() {
        let times: Vec<(u64, u64)> = (1..=1_000).rev().map(|n| (7, 7 + 2_000 * n)).collect();
        let of = Latency::of(&times, 2.0);
        assert_eq!((of.t_min_us, of.t_max_us), (1.0, 1_000.0));
        assert_eq!((of.t_typical_us, of.t_avg_us), (500.0, 500.5));
        assert_eq!((of.percentile_99_us, of.percentile_99_9_us), (990.0, 999.0));
        assert!((of.t_stdev_us - 288.675).abs() < 1e-3);
        let one = Latency::of(&[(0, 2_000)], 2.0);
        assert_eq!((one.t_min_us, one.percentile_99_9_us), (1.0, 1.0));
    }

    #[test]
    fn the_peak_is_the_best_stretch_and_waits_for_the_slowest_of_it() {
        // Eight messages of 1,000 ns one after the other, then four in 1,000 ns, one of which is late.
        let mut times: Vec<(u64, u64)> = (0..8).map(|n| (1_000 * n, 1_000 * n + 1_000)).collect();
        times.extend([
            (8_000, 9_000),
            (8_000, 9_000),
            (8_000, 16_000),
            (8_000, 9_000),
        ]);
        let of = Bandwidth::of(&times, 1_048_576);
        assert!((of.msg_rate_mpps - 12.0 / 16.0).abs() < 1e-9, "{of:?}");
        assert!((of.msg_rate_peak_mpps - 2.0).abs() < 1e-9, "{of:?}");
        assert!((of.bw_average_mib_per_s - 750_000.0).abs() < 1e-3, "{of:?}");
        assert!((of.bw_peak_mib_per_s - 2e6).abs() < 1e-3, "{of:?}");
    }
}
