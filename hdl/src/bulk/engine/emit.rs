//! Packets and ends on their way out.

use super::{BulkEngine, State};
use crate::prelude::*;

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const W: usize,
    const LW: usize,
    const A: usize,
> BulkEngine<S, LS, SA, LD, RA, QA, W, LW, A>
{
    /// A packet, a POLL or a CONNECT goes to its register.
    #[hdl_part]
    pub(super) fn emit(&mut self) {
        self.k_valid.d.next = true;
        self.k_type.d.next = self.kind.q.val();
        self.k_dst.d.next = self.copied.val().dst;
        self.k_slot.d.next = self.slot.q.val();
        self.k_xid.d.next = self.t.q.val().xid;
        self.k_wptr.d.next = self.t.q.val().wptr;
        self.k_gen.d.next = self.t.q.val().incarnation;
        self.k_pidx.d.next = self.probe.q.val();
        self.k_tail.d.next = self.probe_last.q.val();
        self.k_again.d.next = self.probe_below_upto.q.val();
        self.k_offset.d.next = self.at_byte.q.val();
        self.k_length.d.next = bit_cast::<32, 13>(self.packet_len.q.val());
        self.k_seq.d.next = self.t.q.val().seq;
        self.k_addr.d.next = self.copied.val().addr;
        self.k_rkey.d.next = self.copied.val().rkey;
        self.k_mtu.d.next = self.mtu.q.val();
        self.told.d.next = 3.into();
        if self.kind.q.val() == self.connect.val() {
            self.k_length.d.next = self.copied.val().length;
            self.told.d.next = 4.into();
        }
        if self.kind.q.val() == self.data.val() {
            self.ring_write.next = true;
            self.told.d.next = 2.into();
            if !self.probe_below_upto.q.val() {
                self.t.d.next.upto = self.t.q.val().upto + 1;
                self.told.d.next = 1.into();
            }
            self.t.d.next.early_polls = 0.into();
            self.early.d.next = true;
            self.put_off.d.next = true;
            self.wait.d.next = self.stalled.q.val();
        }
        self.timer.d.next = 0.into();
        self.state.d.next = State::Lift;
    }

    /// The transfer ends, perhaps with an ABORT.
    #[hdl_part]
    pub(super) fn end(&mut self) {
        self.active.d.next = self.active.q.val() & !self.mask.val();
        self.starved.d.next = self.starved.q.val() & !self.mask.val();
        self.e_valid.d.next = true;
        self.e_slot.d.next = self.slot.q.val();
        self.e_xid.d.next = self.t.q.val().xid;
        self.e_outcome.d.next = self.outcome.q.val();
        if self.abort.q.val() {
            self.told.d.next = 5.into();
            self.k_valid.d.next = true;
            self.k_type.d.next = self.abort_unknown.val();
            self.k_dst.d.next = self.copied.val().dst;
            self.k_slot.d.next = self.slot.q.val();
            self.k_xid.d.next = self.t.q.val().xid;
            self.k_reason.d.next = self.reason.q.val();
        }
        self.state.d.next = State::Leave;
    }
}
