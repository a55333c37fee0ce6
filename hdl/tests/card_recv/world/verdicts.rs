//! The verdict on each request, and what is owed from then on.

use super::{Record, World};
use crate::host::{Slot, words};
use crate::model::{Request, Verdict, allowed, card_answer};
use crate::order::Event;

impl World {
    pub(super) fn observe_verdict(&mut self) {
        let p = self.dut.p;
        self.regions.observe(&self.dut, self.now);
        let free = |qpn: usize| self.qps[qpn].slots;
        let answered = self.slots.observe(
            &self.dut,
            self.now,
            &mut self.dice,
            &self.knobs,
            free,
            self.begun,
        );
        if let Some(slot) = answered {
            if slot.ok {
                let slots = &mut self.qps[slot.qpn].slots;
                *slots = slots.saturating_sub(1);
            }
            if slot.packet {
                self.slot = Some(slot);
            } else {
                self.failed_slot(slot);
            }
        }
        let fired: Vec<bool> = [
            p.ev_ack_overload,
            p.ev_bad_qp,
            p.ev_bad_key,
            p.ev_bad_opcode,
            p.ev_bad_length,
            p.ev_stale_epoch,
            p.ev_rnr,
            p.ev_accepted,
            p.ev_local_error,
        ]
        .map(|port| self.dut.is_set(port))
        .to_vec();
        let events = fired.iter().filter(|&&fired| fired).count();
        self.observe_notice(events);
        if !self.dut.is_set(p.s_rq_ready) {
            // Without a packet, only a ring that cannot be read is an event.
            assert_eq!(events, usize::from(fired[8]));
            return;
        }
        assert_eq!(events, 1, "one event for each request: {fired:?}");
        assert!(!self.held, "nothing is taken while held and idle");
        let (rq, _, right) = self.offer.take().expect("it was offered");
        let drop = self.dut.is_set(p.s_rq_drop);
        let said = match fired.iter().position(|&fired| fired) {
            Some(0) => Verdict::Overload,
            Some(1) => Verdict::BadQp,
            Some(2) => Verdict::BadKey,
            Some(3) => Verdict::Opcode,
            Some(4) => Verdict::Length,
            Some(5) => Verdict::Epoch,
            Some(6) if self.slot.is_none() => Verdict::Rnr,
            _ => Verdict::Take,
        };
        assert!(
            right.contains(&said),
            "{said:?} is not among {right:?} for {rq:?}"
        );
        self.counts.verdicts[said as usize] += 1;
        let slot = self.slot.take();
        assert_eq!(slot.is_some(), said == Verdict::Take, "slots are for takes");
        let granted = slot.is_some_and(|slot| slot.ok && slot.qpn == rq.qpn as usize);
        let answer = match said {
            Verdict::Overload | Verdict::BadKey => None,
            Verdict::BadQp => Some(0x71),
            Verdict::Opcode => Some(0x61),
            Verdict::Length => Some(0x70),
            Verdict::Epoch => Some(0x72),
            Verdict::Take if granted => Some(0x1f),
            Verdict::Rnr | Verdict::Take => Some(0x20),
        };
        let qp = self.qps.get(rq.qpn as usize);
        let [next, hasty] = [false, true].map(|hasty| qp.and_then(|qp| qp.next(self.now, hasty)));
        // Not if a read failed in this very clock.
        if right.len() == 1 && said != Verdict::Overload && next == hasty {
            let slot = slot.is_none_or(|slot| slot.ok);
            let model = card_answer(&rq, qp, self.mtu, next, slot);
            assert_eq!(answer, model, "protocol::xud::Card on {rq:?}");
            self.counts.compared += 1;
        }
        if said == Verdict::Take && granted {
            return self.take(rq, drop, fired[7]);
        }
        assert!(drop, "no payload of a refused request is wanted");
        assert_eq!(fired[6], answer == Some(0x20));
        self.counts.refused_slot += u64::from(said == Verdict::Take);
        if let Some(syndrome) = answer {
            self.owed_now.push_back(Some((rq, syndrome)));
        }
    }

    /// A receive request is taken.
    fn take(&mut self, rq: Request, drop: bool, accepted: bool) {
        let qpn = rq.qpn as usize;
        let qp = &mut self.qps[qpn];
        let (next, _) = qp.cached.pop_front().expect("one was there");
        let length = rq.payload.len() as u16;
        let ok = allowed(next.lkey, qp.pd, next.address, length, true);
        assert_eq!((drop, accepted), (!ok, ok), "{next:?} for {rq:?}");
        let request = qp.taken;
        qp.taken = qp.taken.wrapping_add(1);
        let writes = ok && length > 0;
        if writes {
            let count = words(&rq.payload).count();
            let last = |at| at + 1 == count;
            self.payload.extend(
                words(&rq.payload)
                    .enumerate()
                    .map(|(at, word)| (word, last(at))),
            );
            self.owed_writes
                .push_back((next.address, rq.payload.clone()));
            self.offered_payloads += 1;
        }
        if ok {
            self.counts.accepted += 1;
            self.events.push(Event::Taken {
                n: self.taken,
                writes,
            });
            self.taken += 1;
        } else {
            self.counts.refused_access += 1;
        }
        self.takes.push(self.now);
        self.owed_records.push_back(Record {
            qpn,
            rq: Some(rq.clone()),
            wr_id: next.wr_id,
            status: if ok { 0 } else { 14 },
            len: if ok { length.into() } else { 0 },
            request,
            payloads: self.offered_payloads,
        });
        let syndrome = if ok { 0x1f } else { 0x62 };
        self.owed_landed.push_back(Some((rq, syndrome)));
    }

    /// card_cq answered for a ring that could not be read.
    fn failed_slot(&mut self, slot: Slot) {
        let qpn = self.owed_failed.pop_front().expect("a ring failed");
        assert_eq!(qpn, slot.qpn, "in the order of failures");
        if slot.ok {
            self.counts.local_queue += 1;
            self.owed_records.push_back(Record {
                qpn,
                rq: None,
                wr_id: 0,
                status: 17,
                len: 0,
                request: 0,
                payloads: self.offered_payloads,
            });
            self.owed_landed.push_back(None);
        }
    }

    pub(super) fn observe_fatal(&mut self) {
        let p = self.dut.p;
        if self.dut.is_set(p.m_fatal_valid) {
            let qpn = self.owed_fatal.pop_front().expect("a read failed");
            assert_eq!(self.dut.get(p.m_fatal_qpn) as usize, qpn);
            self.counts.fatals += 1;
            let at = self.now + self.dice.below(self.fatal_latency);
            self.errors.push_back((at, qpn));
        }
        if self.dut.is_set(p.ev_bad_doorbell) {
            self.counts.bad_doorbells = self
                .counts
                .bad_doorbells
                .checked_sub(1)
                .expect("a doorbell was bad");
        }
        self.held &= self.hold;
        if self.dut.is_set(p.m_idle) {
            // What has landed without an acknowledgement of its own is over.
            while self.landed > 0 && self.owed_landed.front().is_some_and(Option::is_none) {
                self.owed_landed.pop_front();
                self.landed -= 1;
            }
            assert!(self.nothing_owed(), "idle, but something is owed");
            self.held = self.hold;
        }
    }
}
