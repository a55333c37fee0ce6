//! What leaves the rings, and their memories.

use super::{MbRing, State};
use crate::bus::DmaWordsIn;
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// Reads, blocks, grants, completions and answers.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        // Outputs.
        self.m_rd.valid.next = self.rd_valid.q.val();
        self.m_rd.of.next.addr = self.rd_addr.q.val();
        self.m_rd.of.next.len = self.entry_len.val();
        self.m_rd.of.next.ctx = bit_cast::<16, 8>(self.rd_group.q.val());
        if self.m_rd.ready.val() {
            self.rd_valid.d.next = false;
        }
        self.m_start.valid.next = self.start_valid.q.val();
        self.m_start.of.next = self.start.q.val();
        if self.m_start.ready.val() {
            self.start_valid.d.next = false;
        }
        self.m_grant.valid.next = self.grant_valid.q.val();
        self.m_grant.of.next = self.grant.q.val();
        if self.m_grant.ready.val() {
            self.grant_valid.d.next = false;
        }
        self.m_done.valid.next = self.done_valid.q.val();
        self.m_done.of.next = self.done.q.val();
        if self.m_done.ready.val() {
            self.done_valid.d.next = false;
        }
        self.m_answer.valid.next = self.answer_valid.q.val();
        self.m_answer.op.next = self.answer_op.q.val();
        self.m_answer.group.next = self.answer_group.q.val();
        self.m_answer.ok.next = self.answer_ok.q.val();
        self.answer_valid.d.next = false;
        self.answer_op.d.next = self.op.q.val();
        self.idle.next = (self.state.q.val() == State::Idle)
            & !self.s_cmd.valid.val()
            & !self.s_ev.valid.val()
            & !self.burst.valid.val()
            & !self.looks.m.valid.val()
            & !self.ticks.q.val()
            & !self.sweeps.q.val()
            & !self.answer_valid.q.val();
    }

    /// Memories, and what was taken.
    #[hdl_part]
    pub(super) fn keep(&mut self) {
        // Memories.
        self.states.rd.addr.next = self.group.q.val();
        self.states.wr.addr.next = self.group.q.val();
        self.states.wr.en.next = ((self.state.q.val() == State::Save) & !self.beyond.q.val())
            | (self.state.q.val() == State::Boot);
        self.saved.next = self.st.q.val();
        self.saved.next.queued = self.st.q.val().queued | self.again.q.val();
        self.states.wr.data.next = self.saved.val().to_bits();
        if self.state.q.val() == State::Boot {
            self.states.wr.data.next = 0.into();
        }
        self.looks.s.valid.next = (self.state.q.val() == State::Save)
            & self.again.q.val()
            & !self.st.q.val().queued
            & !self.beyond.q.val();
        self.looks.s.data.next = bit_cast::<8, LG>(self.group.q.val());
        self.looks.m.ready.next = (self.state.q.val() == State::Idle) & (self.turn.q.val() == 3);
        DmaWordsIn::link(&mut self.s_rd, &mut self.burst.s);
        self.entry.next = self.burst.entry.val().into();
        self.head.next = self.queues.rd.data.val().into();
        self.burst.take.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() == self.op_entry.val());
        self.s_cmd.ready.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() <= self.op_close.val());
        self.s_ev.ready.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() >= self.op_begin.val());
    }
}
