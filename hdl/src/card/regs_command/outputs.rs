//! What commands hand on.

use super::{CardRegsCommand, State};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// To the register, contexts, regions, windows and groups.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        self.status.next = self.result.q.val();
        self.result0.next = self.value0.q.val();
        self.result1.next = self.value1.q.val();
        self.cfg.valid.next = self.cfg_out.q.val();
        self.cfg.of.next.qpn = self.who.q.val();
        self.cfg.of.next.word = self.cfg_out_word.q.val();
        self.cfg.of.next.data = self.cfg_out_data.q.val();
        self.set.valid.next = self.set_out.q.val();
        self.set.of.next.index = self.index.q.val().get_bits::<LR>(0);
        self.set.of.next.present = self.set_there.q.val();
        self.set.of.next.variant = self.first.q.val().get_bits::<8>(0);
        self.set.of.next.local_write = self.first.q.val().get_bit(8);
        self.set.of.next.remote = self.first.q.val().get_bits::<3>(9);
        self.set.of.next.pd = self.domain.q.val();
        self.set.of.next.base =
            bit_cast::<64, 32>(self.arg3.q.val()) | (bit_cast::<64, 32>(self.arg2.q.val()) << 32);
        self.set.of.next.length =
            bit_cast::<64, 32>(self.arg1.q.val()) | (bit_cast::<64, 32>(self.arg0.q.val()) << 32);
        self.win.valid.next = self.win_out.q.val();
        self.win.of.next.index = self.index.q.val().get_bits::<8>(0);
        self.win.of.next.open = self.is_open.q.val();
        self.win.of.next.qpn = self.first.q.val().get_bits::<LQ>(0);
        self.win.of.next.node = self.arg2.q.val().get_bits::<20>(0);
        self.win.of.next.peer = self.arg1.q.val().get_bits::<24>(0);
        self.win.of.next.epoch = self.arg0.q.val().get_bits::<16>(0);
        // Its arguments came in the order of their registers.
        self.m_join.valid.next = self.state.q.val() == State::Join;
        self.m_join.of.next.qpn = bit_cast::<12, LQ>(self.who.q.val());
        self.m_join.of.next.vni = self.first.q.val().get_bits::<16>(0);
        self.m_join.of.next.tree = self.arg1.q.val().get_bits::<13>(0);
        self.m_join.of.next.members = self.arg1.q.val().get_bits::<19>(13);
        self.m_join.of.next.cookie = self.arg0.q.val().get_bits::<29>(3);
        self.hold.next = self.held.q.val();
        self.end.valid.next = self.state.q.val() == State::End;
        self.end.pair.next = self.is_destroy.q.val();
        self.end.index.next = self.index.q.val();
        self.flush.valid.next = self.flush_out.q.val();
        self.flush.qpn.next = self.who.q.val();
    }
}
