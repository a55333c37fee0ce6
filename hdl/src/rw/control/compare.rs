//! What an operation goes by, compared while its tables are read.

use super::{RwControl, State};
use crate::prelude::*;

impl<
    const A: usize,
    const W: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const AW: usize,
    const PW: usize,
    const LE: usize,
    const BE: usize,
> RwControl<A, W, B, LB, NW, LNW, AW, PW, LE, BE>
{
    /// The CONNECT at the head of the queue: its packets and what forbids it.
    #[hdl_part]
    pub(super) fn weigh_connect(&mut self) {
        // The CONNECT at the head of the queue: number and length of its last packet, limits.
        self.mtu.next = bit_cast::<3, 4>(self.ctl_mtu.val());
        self.low_bytes.d.next = bit_cast::<16, 32>(self.ctl_length.val()).any();
        self.high_bytes.d.next = self.ctl_length.val().get_bits::<16>(16).any();
        self.has_bytes.d.next = self.low_bytes.q.val() | self.high_bytes.q.val();
        self.length_1.d.next = self.ctl_length.val() - 1;
        // One place a clock, five clocks before Act.
        if self.shifts.q.val().any() {
            self.new.d.next.last = self.new.q.val().last >> 1;
            self.shifts.d.next = self.shifts.q.val() - 1;
        }
        if self.state.q.val() == State::Peer {
            self.new.d.next.last = bit_cast::<24, 32>(self.length_1.q.val() >> 8);
            self.shifts.d.next = self.mtu.val();
        }
        if !self.has_bytes.q.val() {
            self.new.d.next.last = 0.into();
        }
        self.new.d.next.n = bit_cast::<22, 24>(self.new.q.val().last) + 1;
        self.new.d.next.mask = !((!bits::<13>(255)) << self.mtu.val());
        self.new.d.next.last_len =
            (bit_cast::<13, 32>(self.length_1.q.val()) & self.new.q.val().mask) + 1;
        if !self.has_bytes.q.val() {
            self.new.d.next.last_len = 0.into();
        }
        self.new.d.next.end = bit_cast::<33, 32>(bit_cast::<32, 64>(self.ctl_addr.val()))
            + bit_cast::<33, 32>(self.ctl_length.val());
        self.at_top.d.next = self.ctl_addr.val().get_bits::<32>(32).all();
        self.past_end.d.next = self.at_top.q.val()
            & self.new.q.val().end.get_bit(32)
            & bit_cast::<32, 33>(self.new.q.val().end).any();
        self.legal_mtu.d.next = (self.ctl_mtu.val() >= self.mtu_least.val())
            & (self.ctl_mtu.val() <= self.mtu_most.val());
        self.placed.d.next = !(self.ctl_slot.val() >> 8).any();
        self.legal.d.next = self.legal_mtu.q.val()
            & !self.past_end.q.val()
            & self.placed.q.val()
            & !(self.new.q.val().last >> 21).any();
    }

    /// The message or event against what the tables say of peer and window.
    #[hdl_part]
    pub(super) fn compare(&mut self) {
        // Compared while the state machine waits.
        self.xid_diff.d.next = self.ctl_xid.val() - self.peer_id.q.val().xid;
        self.incarnation_diff.d.next =
            self.ctl_incarnation.val() - self.peer_id.q.val().incarnation;
        // What has no place in the table is nobody there, whoever has the same lower bits.
        self.peer_known.d.next = self.peers.m_found.val() & self.placed.q.val();
        self.peer_open.d.next =
            (self.peers.m_state.val() == 1) & self.peers.m_found.val() & self.placed.q.val();
        self.peer_status.d.next = bit_cast::<4, 3>(self.peers.m_state.val() - 2);
        self.same_xid.d.next = !self.xid_diff.q.val().any();
        self.same_transfer.d.next =
            !self.xid_diff.q.val().any() & !self.incarnation_diff.q.val().any();
        self.newer.d.next = !self.incarnation_diff.q.val().get_bit(15)
            & (self.incarnation_diff.q.val().any() | !self.xid_diff.q.val().get_bit(31));
        // Both come from memories that may be far apart: two levels of logic are enough here.
        self.named_slot.next = bit_cast::<16, 8>(self.win.val().slot);
        self.named_wptr.next = bit_cast::<16, A>(self.wptr.q.val());
        for i in 0..4 {
            self.gen_part[i].d.next = self.gens.rd.data.val().get_bits::<4>(4 * i)
                == self.event_gen.q.val().get_bits::<4>(4 * i);
            self.slot_part[i].d.next = self.named_slot.val().get_bits::<4>(4 * i)
                == self.ctl_slot.val().get_bits::<4>(4 * i);
            self.wptr_part[i].d.next = self.named_wptr.val().get_bits::<4>(4 * i)
                == self.ctl_wptr.val().get_bits::<4>(4 * i);
        }
        for i in 0..5 {
            self.src_part[i].d.next =
                self.win.val().src.get_bits::<4>(4 * i) == self.ctl_src.val().get_bits::<4>(4 * i);
        }
        for i in 0..8 {
            self.xid_part[i].d.next =
                self.win.val().xid.get_bits::<4>(4 * i) == self.ctl_xid.val().get_bits::<4>(4 * i);
        }
        self.gen_match.d.next = self.gen_part[0].q.val()
            & self.gen_part[1].q.val()
            & self.gen_part[2].q.val()
            & self.gen_part[3].q.val();
        self.id_match.d.next = self.src_part[0].q.val()
            & self.src_part[1].q.val()
            & self.src_part[2].q.val()
            & self.src_part[3].q.val()
            & self.src_part[4].q.val()
            & self.slot_part[0].q.val()
            & self.slot_part[1].q.val()
            & self.slot_part[2].q.val()
            & self.slot_part[3].q.val()
            & self.wptr_part[0].q.val()
            & self.wptr_part[1].q.val()
            & self.wptr_part[2].q.val()
            & self.wptr_part[3].q.val();
        self.xid_match.d.next = self.xid_part[0].q.val()
            & self.xid_part[1].q.val()
            & self.xid_part[2].q.val()
            & self.xid_part[3].q.val()
            & self.xid_part[4].q.val()
            & self.xid_part[5].q.val()
            & self.xid_part[6].q.val()
            & self.xid_part[7].q.val();
        self.remaining.d.next = self.n.q.val() - self.wbase.q.val();
        self.at_end.d.next = !self.remaining.q.val().any();
        self.known_connect.d.next = self.peer_known.q.val() & self.same_transfer.q.val();
        self.late_connect.d.next = self.peer_known.q.val() & !self.newer.q.val();
        self.verdict.d.next = bit_cast::<4, 3>(self.ctl_verdict.val());
        self.unanswered.d.next = self.ctl_verdict.val().all();
        self.judged.d.next = self.ctl_verdict.val().any()
            & !(self.peer_known.q.val() & (self.same_transfer.q.val() | !self.newer.q.val()));
        self.this_window.d.next = self.is_open.q.val() & self.gen_match.q.val();
        self.good_poll.d.next = self.is_open.q.val()
            & self.gen_match.q.val()
            & self.id_match.q.val()
            & self.xid_match.q.val();
        self.late_poll.d.next =
            self.peer_known.q.val() & !self.peer_open.q.val() & self.same_xid.q.val();
        self.good_abort.d.next = self.peer_open.q.val() & self.same_xid.q.val();
        // wbase may still be on its way: as many packets as there are have been written.
        self.good_finish.d.next = self.is_open.q.val()
            & self.gen_match.q.val()
            & self.tail.q.val()
            & !self.incomplete.q.val();
        self.limit_credit.d.next = bit_cast::<23, 22>(self.wbase.q.val()) + self.w.val();
        self.credit.d.next = bit_cast::<22, 23>(self.limit_credit.q.val());
        // Less than W, which is 2 to the power of lb + lnw.
        self.past_n.d.next = !((self.remaining.q.val() >> self.lb.val()) >> self.lnw.val()).any();
        if self.past_n.q.val() {
            self.credit.d.next = self.n.q.val();
        }
        // A message on offer stays, also the credit of one that has none.
        if self.state.q.val() == State::Message {
            self.credit.d.next = self.credit.q.val();
        }
        self.highest.d.next = self.wbase.q.val() + bit_cast::<22, 12>(self.reach.q.val());
        self.idle.d.next = self.start.q.val() - self.last_rx.q.val();
        if self.s_heard.val() {
            self.heard.d.next = self.now.val();
        }
        self.silence.d.next = self.start.q.val() - self.heard_last.q.val();
        self.since_mark.d.next = self.start.q.val() - self.req.val().tick;
        self.since_range.d.next = self.start.q.val() - self.req_range_tick.val();
        self.old.d.next =
            bit_cast::<23, 22>(self.highest.q.val()) - bit_cast::<23, 22>(self.cfg_allowance.val());
    }

    /// What is old, and what is lost, in the window that is swept.
    #[hdl_part]
    pub(super) fn weigh_sweep(&mut self) {
        // Of a sweep: comparisons and choices take turns, so that no choice waits for a carry.
        self.give_up.d.next = self.idle.q.val() >= self.cfg_idle_ticks.val();
        self.all_old.d.next = self.idle.q.val() >= self.cfg_allowance_ticks.val();
        self.restart.d.next = self.since_mark.q.val() >= self.cfg_retry_ticks.val();
        self.tail_quiet.d.next = self.silence.q.val() >= self.cfg_tail_ticks.val();
        self.tail_long_quiet.d.next = (self.idle.q.val() >> 6) >= self.cfg_tail_ticks.val();
        self.range_old.d.next = self.since_range.q.val() >= self.cfg_retry_ticks.val();
        self.incomplete.d.next = self.remaining.q.val() != bit_cast::<22, 12>(self.reach.q.val());
        self.tail_lost.d.next = (self.tail_quiet.q.val() | self.tail_long_quiet.q.val())
            & self.range_old.q.val()
            & self.incomplete.q.val();
        self.limit.d.next = bit_cast::<22, 23>(self.old.q.val());
        if self.old.q.val().get_bit(22) {
            self.limit.d.next = 0.into();
        }
        if self.all_old.q.val() {
            self.limit.d.next = self.highest.q.val();
        }
        self.mark.d.next = self.req.val().below;
        self.end_by_mark.d.next = self.restart.q.val() & (self.mark.q.val() <= self.limit.q.val());
        self.searched.d.next = self.pos.q.val() >= self.end.q.val();
    }
}
