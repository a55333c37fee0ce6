//! The pace of a transfer: the least time between two of its packets (CL-4).
//!
//! A transfer begins at the rate of the line. Its receiver may tell it at once that others send to it, too, and then it begins
//! at its part; it may say later that packets came marked, and then the transfer slows down, once in an interval at most. With
//! nothing heard it recovers as it sends: half of the way back to where it was with each step, then by small ones, then by a
//! quarter of its gap at a time.
//!
//! Times are in parts of a tick, [`LINE`] to one. All that is done with them are additions, shifts and comparisons, the state
//! of a slot has less than 100 bits, and the highest bit of a gap is the only thing that is looked for.

use crate::rw::Tick;

/// log2 of the parts of a tick.
const PARTS_LOG: u32 = 4;
/// Gap of a transfer that has the whole line: one tick.
pub const LINE: u32 = 1 << PARTS_LOG;
/// Longest gap: 2,048 ticks.
pub const LONGEST: u32 = LINE << 11;
/// Times count modulo 2^20 parts: 2^16 ticks.
const TIME: u32 = (1 << (16 + PARTS_LOG)) - 1;
/// Packets at least between two steps of recovery, so that one of them can have come marked.
const PACKETS: u8 = 2;
/// Steps of half of the way back.
const BACK: u8 = 4;
/// Steps before the large ones: those behind [`BACK`] are small.
const SMALL: u8 = 8;
/// log2 of the part of the line that a small step adds to the rate, negative.
const SMALL_LOG: u32 = 8;
/// Cuts, one after another, that are small; from then on each halves the rate.
const GENTLE: u8 = 3;

/// How transfers slow down. Without it nobody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaceConfig {
    /// Ticks at least between two cuts of a transfer, and between two steps of its recovery.
    pub interval: u16,
    /// Deliberate error: no transfer recovers (against CL-4).
    pub no_recovery: bool,
}

/// What a receiver says of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Congestion {
    /// Its packets came marked; otherwise its sender only learns `share`.
    pub marked: bool,
    /// Transfers that the receiver takes in at present: the fair part of each is one in so many of the receiver's line.
    pub share: u16,
}

/// State of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Between two packets.
    gap: u32,
    /// The gap that it recovers to by halves.
    target: u32,
    /// Steps of recovery since the last cut.
    steps: u8,
    /// Cuts since the last step.
    cuts: u8,
    /// Packets since the last cut or step.
    packets: u8,
    /// When that was.
    changed: Tick,
    /// No packet before `next`.
    held: bool,
    next: u32,
}

/// A tick in parts.
fn parts(now: Tick) -> u32 {
    u32::from(now) << PARTS_LOG
}

/// How long ago a time was; `None` if it is to come.
fn since(at: u32, now: Tick) -> Option<u32> {
    let late = parts(now).wrapping_sub(at) & TIME;
    (late <= TIME / 2).then_some(late)
}

impl Pace {
    /// Of a transfer that begins.
    pub fn new(now: Tick) -> Self {
        Self {
            gap: LINE,
            target: LINE,
            steps: SMALL,
            cuts: 0,
            packets: 0,
            changed: now,
            held: false,
            next: 0,
        }
    }

    /// The gap between two packets, in parts of a tick, [`LINE`] to one.
    pub fn gap(&self) -> u32 {
        self.gap
    }

    /// Whether the next packet had to wait when time was last told.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Whether the next packet has to wait.
    pub fn holds(&self, now: Tick) -> bool {
        self.held && since(self.next, now).is_none()
    }

    /// Time goes on; called more often than every 2^15 ticks.
    pub fn advance(&mut self, now: Tick) {
        self.held = self.holds(now);
    }

    /// A packet leaves. One that is late by less than a gap does not delay those behind it.
    pub fn sent(&mut self, config: PaceConfig, now: Tick) {
        if self.gap > LINE || self.held {
            let late = since(self.next, now).filter(|late| *late < self.gap);
            let from = if late.is_some() {
                self.next
            } else {
                parts(now)
            };
            self.next = from.wrapping_add(self.gap) & TIME;
            self.held = true;
        }
        self.packets = self.packets.saturating_add(1);
        // Behind a cut what was sent before it may still come marked, and the receiver says so once in an interval only.
        let twice = u32::from(self.cuts > 0);
        let waited =
            u32::from(now.wrapping_sub(self.changed)) >= u32::from(config.interval) << twice;
        let enough = self.packets >= PACKETS << twice;
        if waited && enough && self.gap > LINE && !config.no_recovery {
            self.rise();
            (self.packets, self.changed) = (0, now);
        }
    }

    /// A step of recovery.
    fn rise(&mut self) {
        self.cuts = 0;
        self.gap = if self.steps < BACK {
            // Never over the target, which was lower than the gap when it was set.
            self.target + (self.gap.saturating_sub(self.target) >> 1)
        } else if self.steps < SMALL {
            // The rate is 1/gap: so much more of it is gap squared less of the gap, here to the next power of two below.
            let shift = (SMALL_LOG + PARTS_LOG)
                .saturating_sub(self.gap.ilog2())
                .max(2);
            self.gap - (self.gap >> shift).max(1)
        } else {
            self.gap - (self.gap >> 2).max(1)
        };
        self.gap = self.gap.max(LINE);
        self.steps = self.steps.saturating_add(1).min(SMALL);
    }

    /// The receiver says something; whether the transfer is slower for it.
    pub fn heard(&mut self, config: PaceConfig, said: Congestion, now: Tick) -> bool {
        let fair = (u32::from(said.share) << PARTS_LOG).clamp(LINE, LONGEST);
        if !said.marked {
            // Of one that was slowed down already more is known than this.
            let begins = self.gap == LINE && fair > LINE;
            if begins {
                (self.gap, self.target, self.changed) = (fair, fair, now);
            }
            return begins;
        }
        let recent = self.cuts > 0 && now.wrapping_sub(self.changed) < config.interval;
        if recent || self.gap == LONGEST {
            return false;
        }
        if self.gap < fair {
            // Faster than its part: it begins anew from there.
            (self.gap, self.target) = (fair, fair);
        } else {
            if self.cuts == 0 {
                // A bit less than what was too much.
                self.target = self.gap + (self.gap >> 3);
            }
            let gentle = self.cuts < GENTLE && self.gap > LINE;
            self.gap += if gentle { self.gap >> 3 } else { self.gap };
        }
        self.gap = self.gap.min(LONGEST);
        self.target = self.target.min(self.gap);
        self.cuts = self.cuts.saturating_add(1);
        (self.steps, self.packets, self.changed) = (0, 0, now);
        true
    }
}
