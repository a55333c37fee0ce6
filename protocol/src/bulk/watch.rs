//! The receiver's part of congestion control: which senders of its open windows are told, and what (CL-4).
//!
//! Times are ticks. Hardware keeps 16 bits of each, and a mark for what is longer ago.

use std::collections::BTreeMap;

use crate::rw::pace::Congestion;

/// Ticks after which what a window has received is not weighed any more: the next packet begins anew.
pub const LOAD_MOST: u64 = 1 << 14;

/// What the sender of a window is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The window.
    pub wptr: u16,
    /// What is said of its transfer.
    pub said: Congestion,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// When it was opened, and the number of windows that its sender was told last.
    since: u64,
    share: u16,
    /// When its sender was last told of marks.
    told_at: Option<u64>,
    /// Packets since a tick, each counted as the ticks that it may take if all windows have the same part of the line.
    load: u64,
    load_since: u64,
}

/// All open windows of a card.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    windows: BTreeMap<u16, Window>,
    /// When DATA last came marked.
    marked_at: Option<u64>,
}

impl Watch {
    /// Windows that are open, as `share` says it.
    #[must_use]
    pub fn share(&self) -> u16 {
        u16::try_from(self.windows.len()).unwrap_or(u16::MAX)
    }

    /// A window was opened: its sender learns how many there are, and so do those of others that were opened within the last
    /// `interval` ticks, when that is twice as many as they know of. So all that begin at once begin at about the rate of the
    /// line. Without an interval nobody is told.
    pub fn open(&mut self, wptr: u16, interval: Option<u16>, tick: u64) -> Vec<Told> {
        let window = Window {
            since: tick,
            share: 1,
            told_at: None,
            load: 0,
            load_since: tick,
        };
        self.windows.insert(wptr, window);
        let Some(interval) = interval else {
            return Vec::new();
        };
        let share = self.share();
        let young = |since: u64| tick.saturating_sub(since) < interval.into();
        let mut told = Vec::new();
        for (wptr, window) in &mut self.windows {
            if young(window.since) && share >> 1 >= window.share {
                window.share = share;
                told.push(Told {
                    wptr: *wptr,
                    said: Congestion {
                        marked: false,
                        share,
                    },
                });
            }
        }
        told
    }

    /// A window was closed.
    pub fn close(&mut self, wptr: u16) {
        self.windows.remove(&wptr);
    }

    /// DATA of a window came: its sender is told, once in an interval, if it came marked, or if that of any window did and this
    /// one has more than its part of the line. So a sender with a queue of its own, which is never long, makes room for those
    /// that share one.
    pub fn data(&mut self, wptr: u16, marked: bool, interval: u16, tick: u64) -> Option<Told> {
        let share = self.share();
        let window = self.windows.get_mut(&wptr)?;
        let interval = u64::from(interval);
        let within = |at: Option<u64>| at.is_some_and(|at| tick.saturating_sub(at) < interval);
        window.load += u64::from(share);
        let elapsed = tick.saturating_sub(window.load_since);
        let mut over = false;
        if elapsed >= interval {
            over = elapsed < LOAD_MOST && window.load > elapsed + (elapsed >> 2);
            (window.load, window.load_since) = (0, tick);
        }
        if marked {
            self.marked_at = Some(tick);
        }
        if within(window.told_at) || !(marked || over && within(self.marked_at)) {
            return None;
        }
        (window.told_at, window.share) = (Some(tick), share);
        let said = Congestion {
            marked: true,
            share,
        };
        Some(Told { wptr, said })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(told: &[Told]) -> Vec<(u16, u16)> {
        told.iter()
            .map(|told| (told.wptr, told.said.share))
            .collect()
    }

    #[test]
    fn cl_04_those_that_begin_together_hear_each_time_there_are_twice_as_many() {
        let mut watch = Watch::default();
        assert_eq!(watch.open(0, Some(32), 0), []);
        assert_eq!(shares(&watch.open(1, Some(32), 1)), [(0, 2), (1, 2)]);
        assert_eq!(shares(&watch.open(2, Some(32), 2)), [(2, 3)]);
        assert_eq!(
            shares(&watch.open(3, Some(32), 3)),
            [(0, 4), (1, 4), (3, 4)]
        );
        // Those of before are not young any more.
        assert_eq!(shares(&watch.open(4, Some(32), 40)), [(4, 5)]);
        watch.close(0);
        assert_eq!(shares(&watch.open(0, None, 41)), []);
    }

    #[test]
    fn cl_04_a_window_with_more_than_its_part_is_told_of_the_marks_of_others() {
        let mut watch = Watch::default();
        for wptr in 0..4 {
            watch.open(wptr, Some(32), 0);
        }
        assert!(watch.data(1, true, 32, 10).is_some());
        // A packet in each second tick is half of the line, of which its part is a quarter.
        let told = (0..60).filter(|tick| tick % 2 == 0);
        let told: Vec<u64> = told
            .filter(|tick| watch.data(0, false, 32, *tick).is_some())
            .collect();
        assert_eq!(told, [32]);
        // Long after the mark nobody is.
        assert!((60..200).all(|tick| watch.data(0, false, 32, tick).is_none()));
        // What it received long ago is not weighed.
        assert!(watch.data(1, true, 32, 20_000).is_some());
        assert!(watch.data(0, false, 32, 20_001).is_none());
        assert!(watch.data(9, true, 32, 20_001).is_none());
    }
}
