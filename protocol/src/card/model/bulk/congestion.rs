//! Marks of switches (CL-4): senders of windows are told of them, and transfers of this card slow down when told.

use super::Bulk;
use crate::bulk::Congested;
use crate::bulk::watch::Told;
use crate::card::regs::{BulkCounter, CongestionCounter};
use crate::roce::{Frame, Link};
use crate::rw::pace::PaceConfig;

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

    /// A window was opened: who is to know of it does.
    pub(super) fn window_opened(&mut self, wptr: u16, tick: u64) {
        let interval = self.pace.map(|pace| pace.interval);
        for told in self.watch.open(wptr, interval, tick) {
            self.tell(told);
        }
    }

    /// DATA of a window came.
    pub(super) fn data_came(&mut self, wptr: u16, marked: bool, tick: u64) {
        let Some(pace) = self.pace else {
            return;
        };
        if marked {
            self.count_congestion(CongestionCounter::MarkedReceived, 1);
        }
        if let Some(told) = self.watch.data(wptr, marked, pace.interval, tick) {
            self.tell(told);
        }
    }

    fn tell(&mut self, told: Told) {
        let Some(transfer) = self.receiver.transfer(told.wptr) else {
            return;
        };
        let to = transfer.src;
        let message = Congested {
            node: self.node,
            slot: transfer.slot,
            xid: transfer.xid,
            said: told.said,
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
