//! What the engine keeps of each transfer and of its packets.

use super::record::Copied;
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
    /// The transfer of this operation: its place in the tables, and whether the message or cancellation means it.
    #[hdl_part]
    pub(super) fn name_transfer(&mut self) {
        // Tables.
        self.states.rd.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.fixed.rd.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.copied.next = self.fixed.rd.data.val().into();
        self.scale.next = bit_cast::<3, 4>(self.mtu.q.val());
        self.mask.next = bits::<S>(1) << self.slot.q.val();
        self.lowest.req.next = !self.active.q.val();
        self.free_slot.d.next = self.lowest.index.val();
        self.free.d.next = !self.lowest.none.val();
        self.plan.addr.next = self.s.addr.val();
        self.plan.length.next = self.s.length.val();
        self.plan.mtu.next = self.s.mtu.val();

        // The transfer that is named.
        self.named_xid.next = self.s_msg.xid.val();
        self.named_slot.next = self.s_msg.slot.val();
        if self.cancels.q.val() {
            self.named_xid.next = self.s_cancel.xid.val();
            self.named_slot.next = self.s_cancel.slot.val();
        }
        self.same_xid.d.next = self.t.q.val().xid == self.named_xid.val();
        self.in_range.d.next = self.named_slot.val() == bit_cast::<16, LS>(self.slot.q.val());
        self.is_active.d.next = (self.active.q.val() & self.mask.val()).any();
    }

    /// Memories of packets: when each was sent, which are to be sent again, when polls left.
    #[hdl_part]
    pub(super) fn find_packets(&mut self) {
        // Memories of packets.
        self.ring_place.next = self.newest_place.q.val();
        if self.state.q.val() == State::Probe {
            self.ring_place.next = bit_cast::<LD, 22>(self.probe.q.val());
        }
        if self.state.q.val() == State::Scan {
            self.ring_place.next = self.scan.read_place.val();
        }
        self.ring.rd.addr.next = (bit_cast::<RA, LS>(self.slot.q.val()) << self.ld.val())
            | bit_cast::<RA, LD>(self.ring_place.val());
        self.ring_write.next = false;
        self.ring_write_place.next = bit_cast::<LD, 22>(self.probe.q.val());
        self.ring_data.next = bit_cast::<18, 16>(self.start.q.val());
        if self.scan.write.val() {
            self.ring_write_place.next = self.scan.write_place.val();
            self.ring_data.next = self.scan.write_data.val();
        } else if self.state.q.val() == State::Judge {
            self.ring_data.next = bit_cast::<18, 16>(self.stamp.q.val())
                .replace_bit(16, self.again.q.val())
                .replace_bit(17, true);
        } else if self.probe_below_upto.q.val() {
            self.ring_data.next = bit_cast::<18, 16>(self.start.q.val()).replace_bit(16, true);
        }
        self.repairs.rd.addr.next =
            (bit_cast::<QA, LS>(self.slot.q.val()) << 5) | bit_cast::<QA, 5>(self.t.q.val().rhead);
        self.repairs.wr.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(self.repair_place.val());
        self.poll_place.d.next = bit_cast::<5, 16>(self.s_msg.seq.val());
        if self.s_msg.r#type.val() == self.connect_resp.val() {
            self.poll_place.d.next = 0.into();
        }
        self.polled.rd.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(self.poll_place.q.val());
        self.polled.wr.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(bit_cast::<5, 16>(self.t.q.val().seq));
        // Before the first poll the time of CONNECT stands in the place of number 0.
        self.polled.wr.en.next = (self.state.q.val() == State::Emit)
            & ((self.kind.q.val() == self.poll_status.val())
                | (self.kind.q.val() == self.connect.val()));
        self.polled.wr.data.next = self.start.q.val();
        self.polled_at.d.next = self.polled.rd.data.val() - self.cfg.allowance.val();
    }

    /// The state of the transfer as it is written back, and what a new one is begun with.
    #[hdl_part]
    pub(super) fn store_transfer(&mut self) {
        self.number_before.next = self.cfg.xid_before.val();
        self.states.wr.en.next = self.state.q.val() == State::Store;
        self.states.wr.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.states.wr.data.next = self.t.q.val().to_bits();
        self.fixed.wr.en.next = false;
        self.fixed.wr.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.copied_in.next = Copied {
            dst: self.s.dst.val(),
            addr: self.s.addr.val(),
            rkey: self.s.rkey.val(),
            length: self.s.length.val(),
            mtu: self.s.mtu.val(),
            n: self.plan.n.val(),
            last_len: self.plan.last_len.val(),
        };
        self.fixed.wr.data.next = self.copied_in.val().to_bits();
    }
}
