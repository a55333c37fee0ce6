//! Goodput: the same transfer over many seeds.

use std::ops::Range;

use anyhow::{Context, Result};
use tributary_protocol::rw::{Mode, Outcome};

use super::engine::ModelEngine;
use super::transfer::{Plan, Transfer};

/// Packets of the transfer that is measured.
pub const PACKETS: u32 = 2048;

/// One measurement: a way to send, and how much the links lose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Protocol.
    pub mode: Mode,
    /// W, packets.
    pub window_packets: u32,
    /// Probability of loss on the way to the receiver.
    pub loss: f64,
    /// Probability of loss on the way back.
    pub loss_back: f64,
    /// How often each message of the receiver leaves.
    pub copies: u8,
}

impl Case {
    /// The transfer with one seed: [`PACKETS`] packets, round trip 128 slots, reorder span 32
    /// slots, no duplication.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        Plan {
            mode: self.mode,
            window_packets: self.window_packets,
            bytes: PACKETS << 9,
            mtu: 9,
            round_trip_slots: 128,
            reorder_slots: 32,
            loss: self.loss,
            loss_back: self.loss_back,
            copies: self.copies,
            duplication: 0.0,
            seed,
        }
    }

    /// Runs the transfer once for each seed and adds up.
    ///
    /// # Errors
    /// A run that did not end, with its seed.
    pub fn measure(&self, seeds: Range<u64>) -> Result<Sums> {
        let mut sums = Sums::default();
        for seed in seeds {
            let plan = self.plan(seed);
            let run = || -> Result<_> {
                let mut engine = ModelEngine::new(plan.receiver())?;
                Transfer::new(plan)?.run(&mut engine, &mut [], &mut |_| {})
            };
            let report = run().with_context(|| {
                format!(
                    "{} with W = {}, loss {}, seed {seed}",
                    self.mode, self.window_packets, self.loss
                )
            })?;
            sums.runs += 1;
            sums.resent += report.sender.resent;
            match report.goodput() {
                Some(goodput) if report.outcome == Outcome::Ok => {
                    sums.goodput.add(goodput);
                    sums.with_handshake.add(report.goodput_with_handshake());
                    sums.packets_per_useful.add(report.packets_per_useful());
                }
                _ => sums.failed += 1,
            }
        }
        Ok(sums)
    }
}

/// Results of many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Runs.
    pub runs: u64,
    /// Of these, transfers that the sender gave up; the means below leave them out.
    pub failed: u64,
    /// Packets sent again, over all runs.
    pub resent: u64,
    /// [`super::Report::goodput`].
    pub goodput: Mean,
    /// [`super::Report::goodput_with_handshake`].
    pub with_handshake: Mean,
    /// [`super::Report::packets_per_useful`].
    pub packets_per_useful: Mean,
}

impl Sums {
    /// These runs and others.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.failed += other.failed;
        self.resent += other.resent;
        self.goodput.merge(&other.goodput);
        self.with_handshake.merge(&other.with_handshake);
        self.packets_per_useful.merge(&other.packets_per_useful);
    }
}

/// Mean and standard error of values that come one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    /// One more value.
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The mean; `None` without a value.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// Standard error of the mean; `None` with fewer than two values.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        let variance = (self.squares - self.sum * self.sum / self.count) / (self.count - 1.0);
        (self.count > 1.0).then(|| (variance.max(0.0) / self.count).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_standard_error_of_known_values() {
        let mut mean = Mean::default();
        assert_eq!((mean.mean(), mean.standard_error()), (None, None));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            mean.add(value);
        }
        assert_eq!(mean.mean(), Some(5.0));
        // Sample variance 32/7, over 8 values.
        assert!((mean.standard_error().unwrap() - (32.0 / 7.0 / 8.0f64).sqrt()).abs() < 1e-12);
    }
}
