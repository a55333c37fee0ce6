//! Comparisons that an operation goes by, while its transfer is loaded.

use super::{Aim, BulkEngine};
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
    /// The state against the message and in itself.
    #[hdl_part]
    pub(super) fn compare(&mut self) {
        // Comparisons of the state, with the message and in itself.
        self.polls_spent.d.next = self.t.q.val().polls >= self.cfg.max_polls.val();
        self.busy_spent.d.next = self.t.q.val().incarnation >= self.cfg.max_busy.val();
        self.credit_beyond.d.next = self.s_msg.credit.val() > self.n.q.val();
        self.credit_more.d.next = self.s_msg.credit.val() > self.t.q.val().credit;
        self.base_beyond.d.next = self.s_msg.pidx.val() > self.t.q.val().upto;
        self.base_below.d.next = self.s_msg.pidx.val() < self.t.q.val().base;
        self.base_above.d.next = self.s_msg.pidx.val() != self.t.q.val().base;
        self.next_passed.d.next = self.s_msg.pidx.val() > self.t.q.val().pointer;
        self.echo_passed.d.next = self.s_msg.pidx.val() > self.t.q.val().echo;
        self.seq_gap.d.next =
            bit_cast::<17, 16>(self.t.q.val().seq) - bit_cast::<17, 16>(self.s_msg.seq.val());
        self.answers.d.next = self.s_msg.seq.val().any() & !(self.seq_gap.q.val() >> 5).any();
        self.all_sent.d.next = self.t.q.val().pointer == self.n.q.val();
        self.trusted_passed.d.next = self.t.q.val().trusted < self.t.q.val().base;
        self.doubled.d.next = bit_cast::<17, 16>(self.t.q.val().interval) << 1;
        self.capped.d.next = bit_cast::<16, 17>(self.doubled.q.val());
        if self.doubled.q.val() > bit_cast::<17, 16>(self.cfg.poll_max.val()) {
            self.capped.d.next = self.cfg.poll_max.val();
        }
        self.wait_more.d.next = self.t.q.val().interval < self.cfg.stall_poll.val();
        self.stalled.d.next = self.cfg.stall_poll.val();
        if self.wait_more.q.val() | self.all_sent.q.val() | self.t.q.val().polls.any() {
            self.stalled.d.next = self.t.q.val().interval;
        }
        self.hint.d.next = self.s_msg.hint.val();
        if self.s_msg.hint.val().get_bit(15) {
            self.hint.d.next = 32767.into();
        }
        self.found.d.next = self.serves.q.val()
            & self.is_active.q.val()
            & self.same_xid.q.val()
            & self.in_range.q.val();
        self.is_complete.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.complete.val());
        self.is_unknown.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.abort_unknown.val());
        self.is_one.d.next = self.found.q.val() & (self.s_msg.r#type.val() == self.retx_one.val());
        self.is_range.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.retx_range.val());
        self.is_resp.d.next =
            (self.s_msg.r#type.val() == self.connect_resp.val()) & !self.t.q.val().open;
        self.granted.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & (self.s_msg.status.val() == self.resp_ok.val());
        self.told_busy.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & self.t.q.val().connecting
            & (self.s_msg.status.val() == self.resp_busy.val());
        self.told_refused.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & ((self.s_msg.status.val() == self.resp_refused.val())
                | (self.s_msg.status.val() == self.resp_access.val())
                | (self.s_msg.status.val() == self.resp_bad_qp.val()));
        self.credible.d.next = (self.s_msg.r#type.val() == self.poll_status.val())
            & self.t.q.val().open
            & !self.base_beyond.q.val()
            & !self.credit_beyond.q.val();
        self.newest.d.next = self.found.q.val() & self.credible.q.val() & !self.base_below.q.val();
        self.more_credit.d.next =
            self.found.q.val() & self.credible.q.val() & self.credit_more.q.val();
        self.begins.d.next = self.starts.q.val() & !self.plan.error.val().any();
        self.give_up.d.next =
            self.sends.q.val() & (self.purpose.q.val() == 0) & self.polls_spent.q.val();
        self.send_poll.d.next =
            self.sends.q.val() & (self.purpose.q.val() == 0) & !self.polls_spent.q.val();
        self.send_again.d.next = self.sends.q.val() & (self.purpose.q.val() == 1);
        self.send_fresh.d.next = self.sends.q.val() & (self.purpose.q.val() == 2);
        self.send_early.d.next = self.sends.q.val() & (self.purpose.q.val() == 3);
        self.span.d.next = self.t.q.val().upto - self.t.q.val().base;
        self.below_next.d.next = bit_cast::<11, 22>(self.t.q.val().pointer - self.t.q.val().base);
        self.sent_short.d.next = bit_cast::<11, 22>(self.span.q.val()) < self.bitmap_len.val();
        self.sent_here.d.next = self.bitmap_len.val();
        if self.sent_short.q.val() {
            self.sent_here.d.next = bit_cast::<11, 22>(self.span.q.val());
        }
        self.old.d.next = self.bitmap_highest.val() - bit_cast::<11, 16>(self.cfg.allowance.val());
        if bit_cast::<16, 11>(self.bitmap_highest.val()) < self.cfg.allowance.val() {
            self.old.d.next = 0.into();
        }
        self.top.d.next = self.t.q.val().base + bit_cast::<22, 11>(self.bitmap_len.val());
        self.last.d.next = self.n.q.val() - 1;
    }

    /// The packet that is looked up: its age, and whether it may be asked for, copied or trusted.
    #[hdl_part]
    pub(super) fn weigh_packet(&mut self) {
        // The packet that is looked up.
        self.offset.d.next = self.probe.q.val() - self.t.q.val().base;
        self.sent.d.next = self.offset.q.val() < self.span.q.val();
        self.stamp.d.next = bit_cast::<16, 18>(self.ring.rd.data.val());
        self.again.d.next = self.ring.rd.data.val().get_bit(16);
        self.asked.d.next = self.ring.rd.data.val().get_bit(17);
        self.age.d.next = self.start.q.val() - self.stamp.q.val();
        self.gap.d.next = self.polled_at.q.val() - self.stamp.q.val();
        self.usual.next = self.cfg.settled.val();
        self.queues.next = bit_cast::<16, 11>(self.t.q.val().late);
        if (self.aim.q.val() == Aim::Range) | (self.aim.q.val() == Aim::Hole) {
            self.usual.next = self.cfg.retry.val();
        }
        if self.aim.q.val() == Aim::Range {
            self.queues.next = bit_cast::<16, 11>(self.t.q.val().late) << 2;
        }
        self.least.d.next = self.usual.val() + self.queues.val();
        if (self.aim.q.val() == Aim::Back) | ((self.aim.q.val() == Aim::Trust) & self.again.q.val())
        {
            self.least.d.next = self.cfg.overtaken.val();
        }
        self.old_enough.d.next = self.age.q.val() >= self.least.q.val();
        self.probe_below_next.d.next = self.probe.q.val() < self.t.q.val().pointer;
        self.granted_left.d.next = (self.t.q.val().pointer < self.t.q.val().credit)
            & !(self.below_next.q.val() >> self.ld.val()).any();
        self.probe_below_trusted.d.next = self.probe.q.val() < self.t.q.val().trusted;
        self.probe_below_upto.d.next = self.probe.q.val() < self.t.q.val().upto;
        self.probe_last.d.next = self.probe.q.val() == self.last.q.val();
        self.above_window.d.next = self.probe.q.val() + bit_cast::<22, 16>(self.t.q.val().w);
        self.above_quarter.d.next = bit_cast::<23, 22>(self.above_window.q.val())
            + bit_cast::<23, 16>(self.t.q.val().w >> 2);
        self.known.d.next =
            bit_cast::<23, 22>(self.t.q.val().pointer) + bit_cast::<23, 16>(self.cfg.known.val());
        self.window_left.d.next = self.above_quarter.q.val() < bit_cast::<23, 22>(self.n.q.val());
        self.shuts_soon.d.next = bit_cast::<23, 22>(self.above_window.q.val()) < self.known.q.val();
        self.has_owed.d.next = self.t.q.val().owed.any();
        self.has_spare_owed.d.next = self.t.q.val().owed > 4;
        self.copy.d.next = self.window_left.q.val() & self.shuts_soon.q.val();
        if self.all_sent.q.val() {
            self.copy.d.next = self.has_spare_owed.q.val();
        }
        self.at_byte.d.next = (bit_cast::<32, 22>(self.probe.q.val()) << 8) << self.scale.val();
        self.packet_len.d.next = bits::<13>(256) << self.scale.val();
        if self.probe_last.q.val() {
            self.packet_len.d.next = self.last_len.q.val();
        }
        self.room.next = !self.t.q.val().rcount.get_bit(5);
        self.repair_place.next = self.t.q.val().rhead + bit_cast::<5, 6>(self.t.q.val().rcount);
    }

    /// What the transfer wants, in the end.
    #[hdl_part]
    pub(super) fn weigh_wants(&mut self) {
        // What the transfer wants.
        self.few_early.d.next = self.t.q.val().early_polls < 20;
        self.early_gap.d.next = self.cfg.echo.val()
            & self.t.q.val().open
            & self.t.q.val().lossy
            & self.few_early.q.val();
        self.wants.now.next = self.start.q.val();
        self.wants.open.next = self.t.q.val().open;
        self.wants.repairs.next = self.t.q.val().echo_valid | self.t.q.val().rcount.any();
        self.wants.early.next = self.early_gap.q.val();
        self.wants.n.next = self.n.q.val();
        self.wants.credit.next = self.t.q.val().credit;
        self.wants.base.next = self.t.q.val().base;
        self.wants.pointer.next = self.t.q.val().pointer;
        self.wants.trusted.next = self.t.q.val().trusted;
        self.wants.poll_at.next = self.t.q.val().poll_at;
        self.wants.early_at.next = self.t.q.val().early_at;
        self.wants.cfg_overrun.next = self.cfg.overrun.val();
    }

    /// What the scan of a STATUS is told.
    #[hdl_part]
    pub(super) fn weigh_bitmap(&mut self) {
        // The bitmap of a STATUS.
        self.scan.start.next = false;
        self.scan.now.next = self.start.q.val();
        self.scan.base.next = self.t.q.val().base;
        self.scan.sent.next = self.sent_here.q.val();
        self.scan.below_next.next = self.below_next.q.val();
        self.scan.old.next = self.old.q.val();
        self.scan.highest.next = self.bitmap_highest.val();
        self.scan.answers.next = self.answers.q.val();
        self.scan.polled.next = self.polled_at.q.val();
        self.scan.room.next = self.room.val();
        self.scan.retry.next = self.least.q.val();
        self.bitmap_addr.next = self.scan.word_addr.val();
        self.scan.word.next = self.bitmap_word.val();
        self.scan.read_data.next = self.ring.rd.data.val();
    }

    /// How long queues are on the way.
    #[hdl_part]
    pub(super) fn weigh_queues(&mut self) {
        // How long queues are: what the answer to a CONNECT or POLL took, or the news of a packet that was sent once.
        self.newest_place.d.next = bit_cast::<LD, 22>(self.s_msg.pidx.val() - 1);
        self.caused_at.d.next = self.stamp.q.val();
        self.certain.d.next =
            self.moved.q.val() & !self.again.q.val() & !self.bitmap_highest.val().any();
        if self.opening.q.val() | self.answers.q.val() {
            self.caused_at.d.next = self.polled.rd.data.val();
            self.certain.d.next = true;
        }
        self.took.d.next = self.start.q.val() - self.caused_at.q.val();
        self.beyond.d.next =
            bit_cast::<17, 16>(self.took.q.val()) - bit_cast::<17, 16>(self.cfg.retry.val());
        self.late.d.next = bit_cast::<11, 17>(self.beyond.q.val());
        if (self.beyond.q.val() >> 11).any() {
            self.late.d.next = 2047.into();
        }
        if self.beyond.q.val().get_bit(16) {
            self.late.d.next = 0.into();
        }
    }
}
