//! Words on their way to the queues.

use super::SwitchRx;
use crate::prelude::*;

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> SwitchRx<N, A, E, TU, TM, MW>
{
    /// Stages 2 to 6 of words: they wait, and are stored as they came or moved.
    #[hdl_part]
    pub(super) fn store_words(&mut self) {
        // Stages 2 to 5: words wait.
        self.turn.d.next = self.turn.q.val() + 1;
        self.waiting.wr.en.next = true;
        self.waiting.wr.addr.next = self.turn.q.val();
        self.waiting.wr.data.next = self.r_data.q.val();
        self.waiting.rd.addr.next = self.turn.q.val() + 1;
        self.notes.wr.en.next = true;
        self.notes.wr.addr.next = self.turn.q.val();
        self.notes.wr.data.next = bit_cast::<E, 1>(self.r_valid.q.val().into())
            | (bit_cast::<E, 1>(self.at_4.q.val().into()) << 1)
            | (bit_cast::<E, 1>(self.at_6.q.val().into()) << 2)
            | (bit_cast::<E, 4>(self.r_moved.q.val()) << 3)
            | (bit_cast::<E, A>(self.r_beat.q.val()) << 7);
        self.notes.rd.addr.next = self.turn.q.val() + 1;
        self.note.next = self.notes.rd.data.val();
        self.e_data.d.next = self.waiting.rd.data.val();
        self.e_valid.d.next = self.note.val().get_bit(0);
        self.e_at_4.d.next = self.note.val().get_bit(1);
        self.e_at_6.d.next = self.note.val().get_bit(2);
        self.e_moved.d.next = self.note.val().get_bits::<4>(3);
        self.e_beat.d.next = self.note.val().get_bits::<A>(7);

        // Stage 5: words that are moved.
        if self.e_valid.q.val() {
            self.e_carry.d.next = self.e_data.q.val().get_bits::<16>(48);
        }
        self.e_aligned.next = (bit_cast::<64, 48>(self.e_data.q.val().get_bits::<48>(0)) << 16)
            | bit_cast::<64, 16>(self.e_carry.q.val());
        self.e_word.next = self.e_aligned.val();
        if self.e_at_4.q.val() {
            self.e_word.next = (bit_cast::<64, 32>(self.e_aligned.val().get_bits::<32>(32)) << 32)
                | bit_cast::<64, 20>(self.t_wait.q.val());
        }
        if self.e_at_6.q.val() {
            self.e_word.next = (bit_cast::<64, 32>(self.e_aligned.val().get_bits::<32>(32)) << 32)
                | (bit_cast::<64, 16>(self.vni.q.val()) << 16)
                | (bit_cast::<64, 13>(self.a_address.q.val().get_bits::<13>(3)) << 3)
                | bit_cast::<64, 3>(self.a_address.q.val().get_bits::<3>(18));
        }
        // Stage 6: words as they came.
        self.l_data.d.next = self.e_data.q.val();
        self.l_beat.d.next = self.e_beat.q.val();

        // How they are stored: as they came from the first word's stage 6 on, moved from the second word's stage 5 on, which is the
        // same clock if they follow each other. No word of the frame before is left then: its last one is a clock ahead.
        self.second_1.d.next = self.at_1.q.val();
        self.second_2.d.next = self.second_1.q.val();
        self.second_3.d.next = self.second_2.q.val();
        if self.look_4.q.val() {
            self.m_moved.d.next = false;
            self.h_moved.d.next = false;
        }
        if self.second_3.q.val() {
            self.m_moved.d.next = self.red.q.val() & self.engine_on.val() & !self.goes_down.val();
            self.h_moved.d.next = self.red.q.val() & self.engine_on.val();
        }
        self.m_early.next = self.m_moved.q.val() & !self.look_4.q.val();
        self.m_late.next = !self.m_moved.q.val();
        self.m_offset.next = self.l_beat.q.val();
        self.m_word.d.next = self.l_data.q.val();
        if self.m_moved.q.val() {
            self.m_offset.next = bit_cast::<A, 4>(self.e_moved.q.val());
            self.m_word.d.next = self.e_word.val();
        }
        self.m_data.next = self.m_word.q.val();
        self.h_early.next = self.h_moved.q.val() & !self.look_4.q.val();
        self.h_late.next = !self.h_moved.q.val();
        self.h_offset.next = self.l_beat.q.val();
        self.h_word.d.next = self.l_data.q.val();
        if self.h_moved.q.val() {
            self.h_offset.next = bit_cast::<A, 4>(self.e_moved.q.val());
            self.h_word.d.next = self.e_word.val();
        }
        self.h_data.next = self.h_word.q.val();
    }
}
