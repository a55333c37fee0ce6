//! What a work request has to be.

use super::CardSendEntry;
use crate::prelude::*;

impl<const LQ: usize> CardSendEntry<LQ> {
    /// What comes first in the contract wins.
    #[hdl_part]
    pub(super) fn check(&mut self) {
        // The checks; what comes first in the contract wins.
        // The answer of a READ has a header too.
        self.in_front.next = self.head_len.q.val();
        if self.reads.q.val() {
            self.in_front.next = self.head_max.val();
        }
        self.bytes.d.next = bit_cast::<14, 13>(self.length.q.val().get_bits::<13>(0))
            + bit_cast::<14, 8>(self.in_front.val());
        self.too_long.d.next = self.long.q.val()
            | (self.head_len.q.val() > self.head_max.val())
            | (self.bytes.q.val() > bit_cast::<14, 13>(self.cfg_mtu.val()));
        self.reads.d.next = self.opcode.q.val() == self.read.val();
        self.atomic.d.next = self.opcode.q.val() == self.change.val();
        self.no_such_length.d.next = (self.reads.q.val()
            & !self.length.q.val().get_bits::<13>(0).any())
            | (self.atomic.q.val()
                & (self.length.q.val().get_bits::<13>(0) != self.operands.val()));
        self.bulk.d.next = self.cfg_bulk.val()
            & !self.member.q.val()
            & ((self.opcode.q.val() == self.bulk_write.val())
                | (self.opcode.q.val() == self.bulk_read.val()));
        self.bad_opcode.d.next = (self.opcode.q.val() != self.send.val())
            & (self.opcode.q.val() != self.write.val())
            & (self.opcode.q.val() != self.read.val())
            & (self.opcode.q.val() != self.change.val());
        // Version 1 with the one-sided flag alone and a header; or without that flag.
        self.bad_flags.d.next = self.vf.q.val().get_bits::<3>(5).any()
            | (self.vf.q.val().get_bit(3) != (self.opcode.q.val() != self.send.val()))
            | (self.vf.q.val().get_bit(3)
                & ((self.vf.q.val() != self.one_sided.val())
                    | (self.head_len.q.val() != self.head_max.val())))
            | (!self.vf.q.val().get_bit(4)
                & (self.vf.q.val().get_bits::<3>(0).any() | self.epoch.q.val().any()));
        self.code.d.next = 0.into();
        if self.bad_opcode.q.val() | self.bad_flags.q.val() {
            self.code.d.next = self.opcode_code.val();
        }
        if self.far.q.val() {
            self.code.d.next = self.address_code.val();
        }
        if self.too_long.q.val() | self.no_such_length.q.val() {
            self.code.d.next = self.length_code.val();
        }
    }
}
