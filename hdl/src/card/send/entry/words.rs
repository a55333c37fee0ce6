//! Words of work requests: in, and to their fields.

use super::{CardSendEntry, FetchedWord};
use crate::prelude::*;

impl<const LQ: usize> CardSendEntry<LQ> {
    /// Words in.
    #[hdl_part]
    pub(super) fn take_words(&mut self) {
        // Words in.
        self.in_valid.d.next = self.s_wq_valid.val();
        self.in_data.d.next = self.s_wq_data.val();
        self.in_error.d.next = self.s_wq_error.val();
        self.words.wr.en.next = self.in_valid.q.val();
        self.words.wr.addr.next = self.tail.q.val().get_bits::<7>(0);
        self.stores.next = FetchedWord {
            data: self.in_data.q.val(),
            error: self.in_error.q.val(),
        };
        self.words.wr.data.next = self.stores.val().to_bits();
        self.stored.next = self.words.rd.data.val().into();
        if self.in_valid.q.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
    }

    /// Words of the oldest work request, to their fields.
    #[hdl_part]
    pub(super) fn fill_fields(&mut self) {
        // Words of the oldest work request out, and to their fields.
        self.empty.next = !self.some.q.val();
        self.fetch.next = self.open.q.val() & !self.empty.val();
        self.direct.next = self.open.q.val()
            & self.empty.val()
            & self.in_valid.q.val()
            & !self.valid_1.q.val()
            & !self.valid_2.q.val();
        self.words.rd.addr.next = self.head.q.val().get_bits::<7>(0);
        self.valid_1.d.next = self.fetch.val();
        if self.fetch.val() | self.direct.val() {
            self.head.d.next = self.head.q.val() + 1;
            self.open.d.next = !self.head.q.val().get_bits::<3>(0).all();
        }
        self.pop.next = self.fetch.val() | self.direct.val();
        self.single.next = (self.head.q.val() + 1) == self.tail.q.val();
        self.some.d.next = (self.in_valid.q.val() & !self.pop.val())
            | (self.some.q.val() & !(self.pop.val() & !self.in_valid.q.val() & self.single.val()));
        self.valid_2.d.next = self.valid_1.q.val();
        self.lands.next = self.valid_2.q.val() | self.direct.val();
        self.word.next = self.in_data.q.val();
        self.unread.next = self.in_error.q.val();
        if self.valid_2.q.val() {
            self.word.next = self.stored.val().data;
            self.unread.next = self.stored.val().error;
        }
        self.entry.next = self.word.val().into();
        self.look.d.next = self.lands.val() & self.field.q.val().get_bit(3);
        if self.lands.val() {
            self.field.d.next = self.field.q.val() << 1;
        }
        if self.field.q.val().get_bit(0) {
            self.opcode.d.next = self.entry.val().opcode;
            self.head_len.d.next = self.entry.val().head_len;
            self.flags.d.next = self.entry.val().flags;
            self.length.d.next = self.entry.val().length;
            self.long.d.next = self.entry.val().length.get_bits::<19>(13).any();
        }
        if self.field.q.val().get_bit(1) {
            self.wr_id.d.next = self.entry.val().wr_id;
        }
        if self.field.q.val().get_bit(2) {
            self.address.d.next = self.entry.val().address;
        }
        if self.field.q.val().get_bit(3) {
            self.key.d.next = self.entry.val().lkey;
            self.vf.d.next = self.entry.val().version_flags;
            self.node.d.next = self.entry.val().node;
        }
        if self.field.q.val().get_bit(4) {
            self.peer.d.next = self.entry.val().qpn;
            self.far.d.next = self.entry.val().qpn.get_bits::<8>(24).any();
            self.msn.d.next = self.entry.val().win_msn;
        }
        if self.field.q.val().get_bit(5) {
            self.win_id.d.next = self.entry.val().win_id;
            self.epoch.d.next = self.entry.val().epoch;
        }
        if self.field.q.val().get_bit(6) {
            self.head_0.d.next = self.entry.val().head_low;
        }
        if self.field.q.val().get_bit(7) {
            self.head_1.d.next = self.entry.val().head_high;
            self.failed.d.next = self.unread.val();
        }
        if self.lands.val() & self.field.q.val().get_bit(7) {
            self.full.d.next = true;
        }
    }
}
