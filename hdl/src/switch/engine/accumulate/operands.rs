//! Operands of the lane: frames, contributions that go together, REPSUM.

use super::RedAccumulate;
use crate::prelude::*;

impl RedAccumulate {
    /// Clocks 2 to 5: what the lane is given.
    #[hdl_part]
    pub(super) fn take_operands(&mut self) {
        // Clocks 2 to 5: operands. OR with nothing copies the frame's words.
        self.swap.s.next = self.s_data.val();
        self.is_data.next = self.t2.q.val() | self.t3.q.val() | self.t4.q.val() | self.t5.q.val();
        self.data_word.d.next = self.data_word.q.val() + 1;
        if self.t1.q.val() {
            self.data_word.d.next = 0.into();
        }
        self.a_place.d.next = self.a_place.q.val() + 1;
        if self.t1.q.val() {
            self.a_place.d.next = bit_cast::<5, 3>(self.m_soon.val()) << 2;
            self.weight_at.d.next = self.m_soon.val();
        }
        self.words.rd.addr.next = self.a_place.q.val();
        self.l_valid.d.next = self.is_data.val() | self.g_valid.val();
        self.l_word.d.next = self.data_word.q.val();
        if self.combines.val() {
            self.l_word.d.next = 0.into();
        }
        // Of a frame that follows at once: what is stored now. Sources of operations that differ are not combined.
        self.a_is_near.next = self.near_store.q.val()
            & self.near_hit.q.val()
            & !self.m_load.val()
            & !self.taken.val();
        self.a_is_word.next = !(self.near_store.q.val() & self.near_hit.q.val())
            & !self.m_load.val()
            & !self.combines.val()
            & !self.g_is_slot.val();
        self.l_op.d.next = self.m_header.val().get_bits::<6>(11);
        if (self.combines.val() & self.g_alone.val())
            | (self.m_load.val() & !self.combines.val() & !self.g_is_slot.val())
        {
            self.l_op.d.next = self.op_or.val();
        }
        self.a_word.next = 0.into();
        if self.a_is_word.val() {
            self.a_word.next = self.words.rd.data.val();
        }
        self.a_near.next = 0.into();
        if self.a_is_near.val() {
            self.a_near.next = self.lane.m_data.val();
        }
        self.a_held.next = 0.into();
        if self.g_is_held.val() {
            self.a_held.next = self.g_held.val();
        }
        self.a_slot.next = 0.into();
        if self.g_is_slot.val() {
            self.a_slot.next = self.g_slot.val();
        }
        self.l_a.d.next =
            self.a_word.val() | self.a_near.val() | self.a_held.val() | self.a_slot.val();
        self.b_frame.next = self.swap.m.val();
        if self.taken.val() {
            self.b_frame.next = 0.into();
        }
        self.b_other.next = 0.into();
        if self.g_is_other.val() {
            self.b_other.next = self.g_other.val();
        }
        self.b_lane.next = 0.into();
        if self.g_is_lane.val() {
            self.b_lane.next = self.lane.m_data.val();
        }
        self.l_b.d.next = self.b_frame.val() | self.b_other.val() | self.b_lane.val();
        self.l_data.next = self.lane.m_data.val();
        self.l_code.next = self.lane.m_code.val();
        self.l_any.d.next = bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(0).any().into())
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(16).any().into()) << 1)
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(32).any().into()) << 2)
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(48).any().into()) << 3);
        self.l_shift.d.next = self.is_data.val();
        if self.l_shift.q.val() {
            self.in_filled.d.next = (self.in_filled.q.val() >> 1)
                | (bit_cast::<4, 1>(self.l_any.q.val().any().into()) << 3);
        }
    }

    /// Clocks 2 to 4: REPSUM, how far the two sums are apart.
    #[hdl_part]
    pub(super) fn find_distance(&mut self) {
        // Clocks 2 to 4: REPSUM, how far the two sums are apart.
        self.weights.rd.addr.next = self.weight_at.q.val();
        self.t3_weight.d.next = self.weights.rd.data.val();
        self.ahead.d.next = bit_cast::<9, 8>(self.m_header.val().get_bits::<8>(51) ^ 0x80)
            - bit_cast::<9, 8>(self.weights.rd.data.val() ^ 0x80);
        self.larger.next = !self.ahead.q.val().get_bit(8) & self.ahead.q.val().any();
        self.far.next = self.ahead.q.val().get_bits::<7>(2).any();
        if self.ahead.q.val().get_bit(8) {
            self.far.next = !self.ahead.q.val().get_bits::<7>(2).all();
        }
        // Where the frame's word 0 falls in the accumulator, modulo 16: 0 to 4, or -1 to -4.
        self.offset.next = self.ahead.q.val().get_bits::<4>(0);
        if self.far.val() {
            self.offset.next = 12.into();
            if self.larger.val() {
                self.offset.next = 4.into();
            }
        }
        self.r_next.next = self.r_word.q.val() + 1;
        if self.t4.q.val() {
            self.r_next.next = self.t4_offset.q.val();
        }
        self.r_word.d.next = self.r_next.val();
        self.r_none.d.next = self.r_next.val().get_bits::<2>(2).any();
        if self.t4.q.val() {
            self.r_index.d.next = self.m_index.val();
        }
        if self.t3.q.val() {
            self.t4_larger.d.next = self.larger.val();
            self.t4_offset.d.next = self.offset.val();
            self.t4_weight.d.next = self.t3_weight.q.val();
            self.t4_special.d.next = !self.t3_weight.q.val().get_bit(7)
                & (self.t3_weight.q.val() >= self.minus_inf.val());
            if self.larger.val() {
                self.t4_weight.d.next = self.m_header.val().get_bits::<8>(51);
                self.t4_special.d.next = !self.m_header.val().get_bit(58)
                    & (self.m_header.val().get_bits::<8>(51) >= self.minus_inf.val());
            }
            self.t4_nan.d.next = ((self.t3_weight.q.val() == self.plus_inf.val())
                & (self.m_header.val().get_bits::<8>(51) == self.minus_inf.val()))
                | ((self.t3_weight.q.val() == self.minus_inf.val())
                    & (self.m_header.val().get_bits::<8>(51) == self.plus_inf.val()));
        }

        self.r_zero.d.next = self.t4_special.q.val();
        self.lane.s_valid.next = self.l_valid.q.val();
        self.lane.s_op.next = self.l_op.q.val();
        self.lane.s_word.next = self.l_word.q.val();
        self.lane.s_a.next = self.l_a.q.val();
        self.lane.s_b.next = self.l_b.q.val();
        self.lane.cfg_ieee_nan.next = self.cfg_ieee_nan.val();
        self.lane.r_a.next = self.r_a.q.val();
        self.lane.r_zero.next = self.r_zero.q.val();
    }
}
