//! Marks of switches (CL-4): senders of windows are told of them, and transfers of this card slow down when told.

use super::Bulk;
use crate::bulk::Congested;
use crate::card::regs::{BulkCounter, CongestionCounter};
use crate::roce::{Frame, Link};
use crate::rw::pace::{Congestion, PaceConfig};

impl Bulk {
    /// How long to wait between two messages about a window, two cuts and two steps of recovery; `None`: nobody slows down.
    pub fn set_pace(&mut self, interval: Option<u16>) {
        self.pace = interval.map(|interval| PaceConfig {
            interval,
            no_recovery: self.config.mutations.no_recovery,
        });
        self.set_times(self.times);
    }

    /// A counter of congestion, as far as bulk transfers count.
    pub fn congestion_counter(&self, counter: CongestionCounter) -> u64 {
        self.congestion.get(&counter).copied().unwrap_or(0)
    }

    pub(super) fn count_congestion(&mut self, counter: CongestionCounter, by: u64) {
        *self.congestion.entry(counter).or_default() += by;
    }

    /// Gaps of the transfers that are sent, in parts of a tick ([`crate::rw::pace::LINE`]).
    pub fn gaps(&self) -> impl Iterator<Item = u32> + '_ {
        self.works.keys().filter_map(|slot| self.sender.gap(*slot))
    }

    /// A window was opened: its sender learns how many there are, and so do those of others that were opened just now, when
    /// that is twice as many as they know of. So all that begin at once begin at about the rate of the line.
    pub(super) fn tell_shares(&mut self, opened: u16, tick: u64) {
        let Some(pace) = self.pace else {
            return;
        };
        let windows = u16::try_from(self.windows.len()).unwrap_or(u16::MAX);
        let young = |since: u64| tick.saturating_sub(since) < pace.interval.into();
        let told = self.windows.iter().filter(|(wptr, window)| {
            let known = window.share;
            **wptr == opened && windows > 1 || young(window.since) && windows >> 1 >= known
        });
        let told: Vec<u16> = told.map(|(wptr, _)| *wptr).collect();
        for wptr in told {
            self.tell(wptr, false);
        }
    }

    /// DATA of a window came: its sender is told, once in an interval, if it came marked, or if that of any window did and this
    /// one has more than its part of the line. So a sender with a queue of its own, which is never long, makes room for those
    /// that share one.
    pub(super) fn watch(&mut self, wptr: u16, marked: bool, tick: u64) {
        let windows = self.windows.len() as u64;
        let (Some(pace), Some(window)) = (self.pace, self.windows.get_mut(&wptr)) else {
            return;
        };
        let interval = u64::from(pace.interval);
        let within = |at: Option<u64>| at.is_some_and(|at| tick.saturating_sub(at) < interval);
        window.load += windows;
        let elapsed = tick.saturating_sub(window.load_since);
        let mut over = false;
        if elapsed >= interval {
            over = window.load > elapsed + (elapsed >> 2);
            (window.load, window.load_since) = (0, tick);
        }
        if marked {
            self.marked_at = Some(tick);
        }
        let due = !within(window.told_at) && (marked || over && within(self.marked_at));
        if due {
            window.told_at = Some(tick);
        }
        if marked {
            self.count_congestion(CongestionCounter::MarkedReceived, 1);
        }
        if due {
            self.tell(wptr, true);
        }
    }

    fn tell(&mut self, wptr: u16, marked: bool) {
        let share = u16::try_from(self.windows.len()).unwrap_or(u16::MAX);
        if let Some(window) = self.windows.get_mut(&wptr) {
            window.share = share;
        }
        let Some(transfer) = self.receiver.transfer(wptr) else {
            return;
        };
        let to = transfer.src;
        let message = Congested {
            node: self.node,
            slot: transfer.slot,
            xid: transfer.xid,
            said: Congestion { marked, share },
        };
        if let Ok(frame) = message.encode_frame(&Link::between(self.node, to)) {
            self.count_congestion(CongestionCounter::Sent, 1);
            self.queue(frame);
        }
    }

    /// A receiver says how a transfer of this card fares: believed only from where that goes to.
    pub(super) fn congested(&mut self, from: u32, frame: &Frame<'_>, tick: u64) {
        let Ok(message) = Congested::decode(&frame.bth, frame.body) else {
            return self.count(BulkCounter::BadMessage);
        };
        let Congested {
            node, slot, xid, ..
        } = message;
        let to = self.sender.request(slot).map(|request| request.dst);
        let from_there = crate::rw::full(node, from) == to && to.is_some();
        let believed = from_there || self.config.mutations.slowed_by_strangers;
        if !believed || self.sender.xid(slot) != Some(xid) {
            return self.count(BulkCounter::Stray);
        }
        self.count_congestion(CongestionCounter::Heard, 1);
        let slowed = self.sender.on_congestion(slot, xid, message.said, tick);
        self.count_congestion(CongestionCounter::Slowed, slowed.into());
    }
}
