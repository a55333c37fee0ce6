//! The pace of a transfer: the least time between two of its packets (CL-4).
//!
//! A transfer begins at the rate of the line. Its receiver may tell it at once that others send to it, too, and then it begins
//! at its part; it may say later that packets came marked, and then the transfer slows down, once in an interval at most. With
//! nothing heard it recovers as it sends: below its part half of the way there with each step; from there on half of the way
//! back to where it was, then by small steps, then by a quarter of its gap at a time.
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
const BACK: u8 = 2;
/// Steps before the large ones: those behind [`BACK`] are small.
const SMALL: u8 = 8;
/// log2 of the part of the line that a small step adds to the rate, negative.
const SMALL_LOG: u32 = 7;
/// Of a transfer that shares its receiver: the queue is most likely near that, and its fair part is known. A cut adds so much
/// of the gap, as log2; for so many in a row the gap grows to twice the fair one at most, then each doubles it. A queue that is
/// served that slowly stays long for a while after the rate is right, so most cuts in a row are of one cause.
const SHARED_LOG: u32 = 4;
const SHARED_CUTS: u8 = 32;
/// Of one that has its receiver alone: the queue is within the fabric, and nobody knows how many share it. The first cut doubles
/// the gap, the next ones add so much, and from so many in a row on each doubles it.
const ALONE_LOG: u32 = 2;
const ALONE_CUTS: u8 = 2;

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
    /// The gap of its part of the receiver's line, as far as it was told.
    fair: u32,
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
            fair: LINE,
            steps: SMALL,
            cuts: 0,
            packets: 0,
            changed: now,
            held: false,
            next: parts(now),
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
        let late = since(self.next, now).filter(|late| *late < self.gap);
        let from = late.map_or_else(|| parts(now), |_| self.next);
        self.next = from.wrapping_add(self.gap) & TIME;
        self.held = self.gap > LINE;
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
        let halfway = |to: u32, gap: u32| to + (gap.saturating_sub(to) >> 1);
        if self.fair > LINE && self.gap > self.fair {
            self.gap = halfway(self.fair, self.gap);
        } else if self.steps < BACK {
            self.gap = halfway(self.target, self.gap);
        } else if self.steps < SMALL {
            // The rate is 1/gap: so much more of it is gap squared less of the gap, here to the next power of two below.
            let shift = (SMALL_LOG + PARTS_LOG).saturating_sub(self.gap.ilog2());
            self.gap -= (self.gap >> shift.max(2)).max(1);
        } else {
            self.gap -= (self.gap >> 2).max(1);
        }
        self.gap = self.gap.max(LINE);
        self.steps = self.steps.saturating_add(1).min(SMALL);
    }

    /// The receiver says something; whether the transfer is slower for it.
    pub fn heard(&mut self, config: PaceConfig, said: Congestion, now: Tick) -> bool {
        self.fair = (u32::from(said.share) << PARTS_LOG).clamp(LINE, LONGEST);
        if !said.marked {
            // Of one that recovers from a cut more is known than this.
            let slower = self.gap < self.fair && self.cuts == 0 && self.steps == SMALL;
            if slower {
                (self.gap, self.target) = (self.fair, self.fair);
                (self.packets, self.changed) = (0, now);
            }
            return slower;
        }
        let recent = self.cuts > 0 && now.wrapping_sub(self.changed) < config.interval;
        if recent || self.gap == LONGEST {
            return false;
        }
        let before = self.gap;
        if self.cuts == 0 {
            // A bit less than what was too much.
            self.target = self.gap + (self.gap >> SHARED_LOG);
        }
        if self.gap < self.fair {
            // Faster than its part: it begins anew from there.
            (self.gap, self.target) = (self.fair, self.fair);
        } else if said.share > 1 && self.cuts < SHARED_CUTS {
            let longest = (self.fair << 1).max(self.gap);
            self.gap = (self.gap + (self.gap >> SHARED_LOG)).min(longest);
        } else if self.gap > LINE && self.cuts < ALONE_CUTS {
            self.gap += self.gap >> ALONE_LOG;
        } else {
            self.gap <<= 1;
        }
        self.gap = self.gap.min(LONGEST);
        self.target = self.target.min(self.gap);
        self.cuts = self.cuts.saturating_add(1);
        (self.steps, self.packets, self.changed) = (0, 0, now);
        self.gap > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: PaceConfig = PaceConfig {
        interval: 32,
        no_recovery: false,
    };

    fn said(marked: bool, share: u16) -> Congestion {
        Congestion { marked, share }
    }

    /// Packets that leave in so many ticks if there is always one.
    fn packets(pace: &mut Pace, config: PaceConfig, now: &mut Tick, ticks: u32) -> u32 {
        let mut sent = 0;
        for _ in 0..ticks {
            pace.advance(*now);
            if !pace.holds(*now) {
                pace.sent(config, *now);
                sent += 1;
            }
            *now = now.wrapping_add(1);
        }
        sent
    }

    #[test]
    fn cl_04_nobody_told_has_the_whole_line() {
        let mut pace = Pace::new(7);
        let mut now = 7;
        assert_eq!(packets(&mut pace, CONFIG, &mut now, 500), 500);
        assert_eq!(pace.gap(), LINE);
    }

    #[test]
    fn cl_04_a_gap_is_kept_in_parts_of_a_tick() {
        let still = PaceConfig {
            no_recovery: true,
            ..CONFIG
        };
        // From anywhere in the range of times, over its end too.
        for from in [0, 1_000, 0x7FF0, 0xFFF0] {
            for share in [2, 3, 5, 15, 2_000] {
                let mut pace = Pace::new(from);
                assert!(pace.heard(still, said(false, share), from));
                let mut now = from;
                let ticks = 20_000;
                let sent = packets(&mut pace, still, &mut now, ticks);
                assert_eq!(sent, ticks.div_ceil(share.into()), "{share} from {from}");
            }
            // A gap that is no whole number of ticks, so 17 of 16 parts.
            let mut pace = Pace::new(from);
            pace.gap = LINE + 1;
            let mut now = from;
            let sent = packets(&mut pace, still, &mut now, 1_700);
            assert!((1_599..=1_601).contains(&sent), "{sent}");
        }
    }

    #[test]
    fn cl_04_one_cut_in_an_interval_and_never_more_than_the_longest_gap() {
        let mut pace = Pace::new(0);
        let mut cuts = 0;
        let mut before = pace.gap();
        for now in 0..4_000 {
            let cut = pace.heard(CONFIG, said(true, 4), now);
            cuts += u32::from(cut);
            assert_eq!(cut, pace.gap() > before, "{now}");
            before = pace.gap();
            assert!(before <= LONGEST);
            match now {
                0 => assert_eq!(before, 4 * LINE, "at once to its part"),
                1..1_000 => assert!(before <= 8 * LINE, "not below half of it"),
                _ => {}
            }
        }
        assert!((20..=4_000 / 32 + 1).contains(&cuts), "{cuts}");
        assert_eq!(before, LONGEST, "marks without end");
        assert!(!pace.heard(CONFIG, said(true, u16::MAX), 4_100));
    }

    #[test]
    fn cl_04_a_transfer_recovers_to_the_whole_line_and_only_by_sending() {
        let mut pace = Pace::new(0);
        let mut now = 0;
        for _ in 0..40 {
            pace.heard(CONFIG, said(true, 15), now);
            now += 32;
        }
        let slow = pace.gap();
        assert!(slow > 15 * LINE);
        now += 1_000;
        pace.advance(now);
        assert_eq!(pace.gap(), slow, "who sends nothing gains nothing");
        packets(&mut pace, CONFIG, &mut now, 30_000);
        assert_eq!(pace.gap(), LINE);
        let sent = packets(&mut pace, CONFIG, &mut now, 100);
        assert_eq!(sent, 100);
    }

    #[test]
    fn cl_04_what_is_only_told_of_its_share_does_not_undo_a_cut() {
        let mut pace = Pace::new(0);
        assert!(pace.heard(CONFIG, said(true, 3), 0));
        assert_eq!(pace.gap(), 3 * LINE);
        assert!(!pace.heard(CONFIG, said(false, 9), 1));
        assert!(!pace.heard(CONFIG, said(false, 1), 1));
        assert_eq!(pace.gap(), 3 * LINE);
        // And one that is slow enough is not slowed down.
        let mut pace = Pace::new(0);
        assert!(pace.heard(CONFIG, said(false, 9), 0));
        assert!(!pace.heard(CONFIG, said(false, 5), 1));
        assert!(pace.heard(CONFIG, said(false, 18), 2));
        assert_eq!(pace.gap(), 18 * LINE);
    }

    #[test]
    fn cl_04_a_transfer_alone_at_its_receiver_halves_its_rate() {
        let mut pace = Pace::new(0);
        let gaps: Vec<u32> = (0..5)
            .map(|cut| {
                pace.heard(CONFIG, said(true, 1), cut * 32);
                pace.gap()
            })
            .collect();
        assert_eq!(gaps, [32, 40, 80, 160, 320]);
    }
}
