//! Queue pairs and regions that end while transfers use them (BW-2, BW-5, BW-9).

use super::{Bulk, What};
use crate::bulk::Purpose;
use crate::rw::{Reason, Status};
use crate::xud::Outcome;

impl Bulk {
    /// A queue pair is destroyed: its requests end without a completion, and the windows that name it are closed.
    pub fn end_queue_pair(&mut self, qpn: u32) {
        self.ended.retain(|(of, _)| *of != qpn);
        for read in &mut self.reads {
            read.take_if(|read| read.qpn == qpn);
        }
        let slots = self.works.iter().filter(|(_, work)| work.qpn == qpn);
        let slots: Vec<u16> = slots.map(|(slot, _)| *slot).collect();
        for slot in slots {
            self.end_work(slot, Outcome::Flushed, Reason::Cancelled);
        }
        self.revoke(|window| window.qpn == qpn, Outcome::Aborted);
    }

    /// A region is gone, or another one has its place. A transfer that is sent from there ends with its next packet, whose key is
    /// checked (BW-5); one that has nothing more to send may still end well.
    pub fn end_region(&mut self, index: u32) {
        let of = |key: u32| key >> 8 == index;
        for place in 0..self.reads.len() {
            let read = self.reads[place].as_ref();
            if read.is_some_and(|read| of(read.request.to_key) && !read.answered) {
                self.end_read(place, Outcome::LocalProtection);
            }
        }
        if !self.config.mutations.keep_windows {
            self.revoke(
                |window| of(window.key) && matches!(window.purpose, Purpose::Response(_)),
                Outcome::LocalProtection,
            );
            self.revoke(|window| of(window.key), Outcome::Aborted);
        }
    }

    /// Ends a transfer that is sent: its completion has this status, and the peer is told why.
    pub(super) fn end_work(&mut self, slot: u16, status: Outcome, reason: Reason) {
        if let Some(work) = self.works.get_mut(&slot) {
            let ends_as = match work.what {
                What::Write(_) => status,
                What::Response => Outcome::Aborted,
            };
            work.ends_as = Some(ends_as);
            self.sender.cancel_for(slot, reason);
            self.take_ends();
        }
    }

    fn revoke(&mut self, which: impl Fn(&super::Window) -> bool, status: Outcome) {
        let windows = self.windows.iter().filter(|(_, window)| which(window));
        let windows: Vec<u16> = windows.map(|(wptr, _)| *wptr).collect();
        for wptr in windows {
            if let Some(done) = self.receiver.revoke(wptr, Status::Aborted) {
                self.finished(done, status);
            }
        }
    }
}
