//! What an offloaded group is made with.

use std::time::Duration;

use tributary_protocol::card::regs::RING_TICK_CLOCKS;
use tributary_protocol::multicast::{Algorithm, Schedule};

use super::OffloadError;
use crate::{Context, Error};

/// What a member is made with. All but `rank`, `credits`, `watchdog` and `vector` must be the same at all members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadOptions {
    /// Shape of the schedules.
    pub algorithm: Algorithm,
    /// Members of each rack, for [`Algorithm::Hybrid`]; else empty.
    pub racks: Vec<u32>,
    /// Members of the group.
    pub members: u32,
    /// This one's rank; rank 0 is the root.
    pub rank: u32,
    /// Bytes of a block; the last one of a message may be shorter.
    pub block_bytes: u32,
    /// Most blocks of a message.
    pub most_blocks: u32,
    /// Blocks that may be on their way to this member at once, at least 1.
    pub credits: u32,
    /// Queue pairs for each peer and direction, which its blocks take in turns: transfers of one queue pair follow each other,
    /// those of two overlap.
    pub lanes: u8,
    /// A message that has begun and does not get on for so long ends the group; zero: never.
    pub watchdog: Duration,
    /// Q_Key of the group's queue pairs.
    pub q_key: u32,
    /// Interrupt vector of [`wait`](super::OffloadedGroup::wait).
    pub vector: u32,
}

impl OffloadOptions {
    /// A binomial pipeline, up to 64 blocks of 64 KiB, two credits, a watchdog of a second; two lanes if the group has two
    /// members, so that a block's handshake does not wait for the one before, otherwise one.
    #[must_use]
    pub fn new(members: u32, rank: u32) -> Self {
        Self {
            algorithm: Algorithm::BinomialPipeline,
            racks: Vec::new(),
            members,
            rank,
            block_bytes: 1 << 16,
            most_blocks: 64,
            credits: 2,
            lanes: if members == 2 { 2 } else { 1 },
            watchdog: Duration::from_secs(1),
            q_key: 0,
            vector: 0,
        }
    }

    pub(super) fn check(&self) -> Result<(), OffloadError> {
        if self.rank >= self.members {
            return Err(OffloadError::Rank {
                rank: self.rank,
                members: self.members,
            });
        }
        for (what, value) in [
            ("bytes of a block", self.block_bytes),
            ("blocks of a message", self.most_blocks),
            ("credits", self.credits),
            ("lanes", self.lanes.into()),
        ] {
            if value == 0 {
                return Err(OffloadError::Zero(what));
            }
        }
        self.schedule(self.most_blocks).map(|_| ())
    }

    /// Bytes of the longest message.
    pub(super) fn area_bytes(&self) -> usize {
        let bytes = u64::from(self.block_bytes) * u64::from(self.most_blocks);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The schedule of a message of so many blocks.
    pub(super) fn schedule(&self, blocks: u32) -> Result<Schedule, OffloadError> {
        let schedule = match self.algorithm {
            Algorithm::Hybrid => Schedule::hybrid(&self.racks, blocks),
            other => Schedule::new(other, self.members, blocks),
        }?;
        if schedule.members() != self.members {
            return Err(OffloadError::Racks {
                racks: schedule.members(),
                members: self.members,
            });
        }
        Ok(schedule)
    }

    /// The watchdog in ticks of a card.
    pub(super) fn watchdog_ticks(&self, context: &Context) -> Result<u16, OffloadError> {
        if self.watchdog.is_zero() {
            return Ok(0);
        }
        let tick_ns = f64::from(RING_TICK_CLOCKS) * context.clock_ns()?;
        let ticks = (self.watchdog.as_nanos() as f64 / tick_ns).ceil();
        if ticks > f64::from(u16::MAX) {
            return Err(Error::Range {
                what: "watchdog, µs",
                value: self.watchdog.as_micros() as u64,
                min: 0,
                max: (f64::from(u16::MAX) * tick_ns / 1e3) as u64,
            }
            .into());
        }
        Ok((ticks as u16).max(1))
    }
}
