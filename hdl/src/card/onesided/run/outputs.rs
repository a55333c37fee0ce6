//! What leaves, and what happened.

use super::{CardOneSidedRun, RunState};
use crate::prelude::*;

impl CardOneSidedRun {
    /// Requests, lookups, acknowledgements and answers.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        self.idle.next = (self.state.q.val() == RunState::Idle) & !self.acks.q.val();
        self.m_look.valid.next = self.looks.q.val();
        self.m_look.of.next.key = self.key.q.val();
        self.m_look.of.next.pd = self.domain.q.val();
        self.m_look.of.next.addr = self.addr.q.val();
        self.m_look.of.next.len = self.bytes.q.val();
        self.m_look.of.next.need = self.need.q.val();
        self.m_rd_valid.next = self.reads.q.val();
        self.m_wr_valid.next = self.writes.q.val();
        self.advance.next = (self.state.q.val() == RunState::Advance) & !self.stays.q.val();
        self.old.next = self.found.q.val();
        self.m_ak_valid.next = self.acks.q.val();
        self.m_ak_syndrome.next = self.says.q.val();
        self.m_sd_valid.next = self.answers.q.val();
        self.m_sd_len.next = 0.into();
        if self.read.val() {
            self.m_sd_len.next = self.bytes.q.val();
        }
        self.m_claim_valid.next = self.claims.q.val();
        self.m_claim_end.next = self.ends.q.val();
        self.m_claim_outcome.next = self.outcome.q.val();
        self.ev.next = self.happened.q.val();
    }
}
