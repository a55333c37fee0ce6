//! Notifications beside the requests of the line.

use super::{Record, World};
use crate::model::Verdict;
use crate::order::Event;

impl World {
    pub(super) fn drive_notice(&mut self) {
        let p = self.dut.p;
        // One that is not looked at yet may be withdrawn, and comes again later.
        if !self.begun && self.notice.is_some() && self.dice.chance(self.knobs.withdrawn) {
            let (rq, ..) = self.notice.take().expect("it is there");
            self.notices.push_back(rq);
            self.counts.withdrawn += 1;
        } else if self.notice.is_none() && self.dice.chance(self.knobs.offer) {
            self.notice = self.notices.pop_front().map(|rq| (rq, self.now, vec![]));
        }
        self.dut.set(p.s_notify_valid, self.notice.is_some());
        if let Some((rq, ..)) = &self.notice {
            let d = &mut self.dut;
            d.set(p.s_notify_qpn, rq.qpn);
            d.set(p.s_notify_node, rq.node);
            d.set(p.s_notify_source, rq.src);
            d.set(p.s_notify_q_key, rq.q_key);
            d.set(p.s_notify_immediate, rq.window.msn);
            d.set(p.s_notify_length, rq.notice.unwrap_or_default());
        }
    }

    /// A notification begins, and is decided: it takes a receive request and a slot, or neither. It counts nothing.
    pub(super) fn observe_notice(&mut self, events: usize) {
        let p = self.dut.p;
        if self.dut.is_set(p.s_notify_begins) {
            assert!(self.notice.is_some() && !self.begun, "nothing begins");
            assert!(!self.held, "nothing begins while held and idle");
            self.begun = true;
        }
        if !self.dut.is_set(p.s_notify_ready) {
            return;
        }
        assert_eq!(events, 0, "a notification counts nothing");
        assert!(self.begun && !self.held, "it had not begun");
        self.begun = false;
        let (rq, _, right) = self.notice.take().expect("it was offered");
        let qpn = rq.qpn as usize;
        let Some(slot) = self.slot.take() else {
            assert!(
                right.contains(&Verdict::BadQp) || right.contains(&Verdict::Rnr),
                "refused, and {right:?} for {rq:?}"
            );
            return self.owed_now.push_back(Some((rq, 0x20)));
        };
        assert!(right.contains(&Verdict::Take), "{right:?} for {rq:?}");
        if !slot.ok || slot.qpn != qpn {
            return self.owed_now.push_back(Some((rq, 0x20)));
        }
        let qp = &mut self.qps[qpn];
        let (next, _) = qp.cached.pop_front().expect("one was there");
        let request = qp.taken;
        qp.taken = qp.taken.wrapping_add(1);
        self.takes.push(self.now);
        self.events.push(Event::Taken {
            n: self.taken,
            writes: false,
        });
        self.taken += 1;
        self.owed_records.push_back(Record {
            qpn,
            rq: Some(rq.clone()),
            wr_id: next.wr_id,
            status: 0,
            len: rq.notice.unwrap_or_default(),
            request,
            payloads: self.offered_payloads,
        });
        self.owed_landed.push_back(Some((rq, 0x1f)));
    }
}
