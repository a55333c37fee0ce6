//! What leaves the control engine.

use super::{Op, RwControl, State};
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
    /// Messages, bitmaps and completion records, and what is watched.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        // What leaves.
        self.m_msg.valid.next = self.state.q.val() == State::Message;
        self.m_msg.of.next.kind = self.msg.q.val().kind;
        self.m_msg.of.next.dst = self.msg.q.val().dst;
        self.m_msg.of.next.slot = self.msg.q.val().slot;
        self.m_msg.of.next.xid = self.msg.q.val().xid;
        self.m_msg.of.next.status = self.msg.q.val().status;
        self.m_msg.of.next.wptr = bit_cast::<16, A>(self.wptr.q.val());
        self.m_msg.of.next.incarnation = self.generation.q.val();
        self.m_msg.of.next.pidx = self.msg.q.val().pidx;
        self.m_msg.of.next.credit = self.credit.q.val();
        self.m_msg.of.next.seq = self.msg.q.val().seq;
        self.m_msg.of.next.wbase = self.wbase.q.val();
        self.m_msg.of.next.tail = self.tail.q.val();
        self.m_msg.of.next.hint = self.hint.q.val();
        self.last_word.d.next = self.word.q.val() == self.words.val();
        self.word_left.next = self.shown.q.val() & self.m_bitmap.ready.val();
        self.copied.next = ((self.state.q.val() == State::Message)
            & self.m_msg.ready.val()
            & (self.msg.q.val().kind != self.poll_status.val()))
            | (self.word_left.val() & self.last_word.q.val());
        self.again.d.next = self.again.q.val() & !self.copied.val();
        if (self.state.q.val() != State::Message) & (self.state.q.val() != State::Bitmap) {
            self.again.d.next = self.cfg_twice.val();
        }
        if self.state.q.val() != State::Message {
            self.hint.d.next = self.cfg_busy_hint.val();
        }
        self.bitmap.wr.en.next = self.whole.q.val();
        self.bitmap.wr.addr.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.bitmap.wr.data.next = self.bytes.word.val();
        self.bitmap.rd.addr.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.shown.d.next = (self.state.q.val() == State::Bitmap)
            & (self.shown.q.val() | (self.timer.q.val() == 1))
            & !self.word_left.val();
        self.m_bitmap.valid.next = self.shown.q.val();
        self.m_bitmap.of.next.data = self.bitmap.rd.data.val();
        self.m_bitmap.of.next.last = self.last_word.q.val();
        self.m_cpl.valid.next = self.state.q.val() == State::Completion;
        self.m_cpl.of.next.wptr = bit_cast::<16, A>(self.wptr.q.val());
        self.m_cpl.of.next.src = self.win.val().src;
        self.m_cpl.of.next.slot = bit_cast::<16, 8>(self.win.val().slot);
        self.m_cpl.of.next.xid = self.win.val().xid;
        self.m_cpl.of.next.length = self.win.val().length;
        self.m_cpl.of.next.status = self.cpl_status.q.val();
        self.m_cpl.of.next.reason = self.cpl_reason.q.val();
        self.con_valid.next = self.decided.q.val();
        self.con_how.next = self.how.q.val();
        self.con_wptr.next = self.wptr.q.val();
        self.con_gen.next = self.generation.q.val();
        self.full_valid.next = self.full.q.val();
        self.forgotten.next = self.peers.forgotten.val();
        self.free_count.next = self.free.count.val();
        self.up.d.next = self.state.q.val() != State::Clear;
        self.ready.next = self.up.q.val();
        self.mon_wptr.next = self.wptr.q.val();
        self.mon_now.next = self.start.q.val();
        self.mon_view.next = self.state.q.val() == State::View;
        self.mon_word.next = self.abs.q.val();
        self.mon_op.next = 5.into();
        match self.op.q.val() {
            Op::Connect => self.mon_op.next = 0.into(),
            Op::Poll => self.mon_op.next = 1.into(),
            Op::Abort => self.mon_op.next = 2.into(),
            Op::Finish => self.mon_op.next = 3.into(),
            Op::Credit => self.mon_op.next = 4.into(),
            Op::Sweep => self.mon_op.next = 5.into(),
            Op::Revoke => self.mon_op.next = 6.into(),
        }
        self.holding.d.next =
            (self.state.q.val() == State::Hold) | (self.state.q.val() == State::Init);
        self.initialising.d.next = self.state.q.val() == State::Init;
        self.hold.next = self.holding.q.val();
        self.init_valid.next = self.initialising.q.val();
        self.init_wptr.next = self.wptr.q.val();
        // One word ahead, and so all words, the first one last.
        self.init_word.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.clear_valid.next = self.initialising.q.val();
        self.clear_wptr.next = self.wptr.q.val();
    }
}
