//! What the command is, and what its queue pair allows.

use super::{CardRegsCommand, State};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// Rings that cannot be read.
    #[hdl_part]
    pub(super) fn serve_fatal(&mut self) {
        // Rings that cannot be read.
        self.fatal_a_valid.d.next = self.s_fatal_a.valid.val();
        self.fatal_a_qpn.d.next = self.s_fatal_a.qpn.val();
        self.fatal_b_valid.d.next = self.s_fatal_b.valid.val();
        self.fatal_b_qpn.d.next = self.s_fatal_b.qpn.val();
        self.fatal_a.s.valid.next = self.fatal_a_valid.q.val();
        self.fatal_a.s.data.next = self.fatal_a_qpn.q.val();
        self.fatal_b.s.valid.next = self.fatal_b_valid.q.val();
        self.fatal_b.s.data.next = self.fatal_b_qpn.q.val();
        self.take_fatal.next =
            (self.state.q.val() == State::Idle) | (self.state.q.val() == State::Hold);
        self.fatal_a.m.ready.next = self.take_fatal.val();
        self.fatal_b.m.ready.next = self.take_fatal.val() & !self.fatal_a.m.valid.val();
    }

    /// Which command it is, and how many arguments it has.
    #[hdl_part]
    pub(super) fn decode(&mut self) {
        self.contexts.rd.addr.next = self.who.q.val();
        self.contexts.wr.en.next = false;
        self.contexts.wr.addr.next = self.who.q.val();
        self.contexts.wr.data.next = bit_cast::<80, 48>(self.word0.q.val())
            | (bit_cast::<80, 16>(self.oldest.q.val()) << 48)
            | (bit_cast::<80, 16>(self.newest.q.val()) << 64);

        self.clearing.next = self.state.q.val() == State::Clear;
        self.cleared.d.next = (self.state.q.val() != State::Clear) & !self.settling.val();
        self.busy.next = self.running.q.val() | !self.cleared.q.val();
        if self.start.val() & !self.running.q.val() & self.cleared.q.val() {
            self.running.d.next = true;
            self.code.d.next = self.start_code.val();
            self.index.d.next = self.start_index.val();
            self.result.d.next = 0.into();
            self.value0.d.next = 0.into();
            self.value1.d.next = 0.into();
        }
        self.is_create.d.next = self.code.q.val() == self.create.val();
        self.is_modify.d.next = self.code.q.val() == self.modify.val();
        self.is_set.d.next = self.code.q.val() == self.set_region.val();
        self.of_region.d.next = (self.code.q.val() == self.set_region.val())
            | (self.code.q.val() == self.clear_region.val());
        self.is_destroy.d.next = self.code.q.val() == self.destroy.val();
        self.is_query.d.next = self.code.q.val() == self.query.val();
        self.is_advance.d.next = self.code.q.val() == self.advance.val();
        self.ends.d.next = (self.code.q.val() == self.clear_region.val())
            | (self.code.q.val() == self.close_window.val());
        self.is_open.d.next = self.code.q.val() == self.open_window.val();
        self.of_window.d.next = (self.code.q.val() == self.open_window.val())
            | (self.code.q.val() == self.close_window.val());
        self.is_join.d.next = self.code.q.val() == self.join.val();
        self.unknown.d.next = !self.code.q.val().any()
            | ((self.code.q.val() > self.close_window.val())
                & !((self.code.q.val() == self.join.val()) & self.cfg_reduce.val()));
        self.last.d.next = 0.into();
        if self.is_join.q.val() {
            self.last.d.next = 3.into();
        }
        if self.is_open.q.val() {
            self.last.d.next = 4.into();
        }
        if self.is_create.q.val() {
            self.last.d.next = 10.into();
        }
        if self.is_modify.q.val() {
            self.last.d.next = 1.into();
        }
        if self.is_set.q.val() {
            self.last.d.next = 6.into();
        }
    }

    /// The state of the queue pair, and the end of a region.
    #[hdl_part]
    pub(super) fn weigh(&mut self) {
        self.now.next = self.word0.q.val().get_bits::<3>(0);
        self.member.next = (self.word0.q.val() & self.member_bit.val()).any();
        self.to.next = self.arg0.q.val().get_bits::<3>(0);
        self.leads.d.next = ((self.to.val() == self.receives.val())
            & (self.now.val() == self.init.val()))
            | ((self.to.val() == self.sends.val()) & (self.now.val() == self.receives.val()))
            | ((self.to.val() == self.error.val()) & self.now.val().any());
        self.span.next = self.next_epoch.q.val() - self.oldest.q.val();
        self.beyond.next = (self.end_high.q.val().get_bit(32)
            & (self.end_low.q.val().get_bit(32) | self.high_some.q.val() | self.low_some.q.val()))
            | (self.high_wraps.q.val() & self.low_some.q.val());
        self.low_some.d.next = self.end_low.q.val().get_bits::<32>(0).any();
        self.high_some.d.next = self.end_high.q.val().get_bits::<32>(0).any();
        self.high_wraps.d.next =
            self.end_high.q.val().get_bits::<32>(0).all() & self.end_low.q.val().get_bit(32);
    }
}
