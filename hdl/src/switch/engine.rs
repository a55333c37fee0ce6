//! The reduction engine of a port.

mod accumulate;
mod emit;
mod events;
mod matcher;

pub use accumulate::RedAccumulate;
pub use emit::RedEmit;
pub use events::RedEvents;
pub use matcher::RedMatch;

use crate::blocks::AsyncRam;
use crate::bus::FramesOut;
use crate::prelude::*;

hdl_module! {
    /// Reduction engine of a switch port, 8 descriptors: combines the reduction frames that leave by the port
    /// towards the parent of their tree, and sends results, partial results and frames that pass.
    /// Takes a frame of 11 words every 11 clocks, one word a clock, never stalled; combines all of them, also
    /// of the same tree. Words come as the input stored them (see switch_rx): 6, 7 (reduction header), 8 to 11
    /// (data), 1 to 5.
    /// Latency: 10 clocks from the first word of the last contribution to the first word of the result, and from
    /// the first word of a frame that passes upwards to the first that it sends; 8 if it passes without a look (kind 2).
    /// While the output stalls, results keep their descriptor and frames that pass their place in the buffer, until
    /// their last word is safe; meanwhile all other descriptors change as ever, frames come in, and room falls when
    /// places run short.
    #[module("red_engine_t8")]
    pub struct RedEngine {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: frees all descriptors and drops what is under way.
        pub rst: Signal<In, Bit>,
        /// A word of a frame; the words of a frame come in clocks that follow each other.
        pub s_valid: Signal<In, Bit>,
        /// The word, first byte in bits 7:0.
        pub s_data: Signal<In, Bits<64>>,
        /// It is the frame's first.
        pub s_first: Signal<In, Bit>,
        /// 1 towards the parent, 2 passes, down a tree or up, 3 down and for the descriptors only.
        pub s_kind: Signal<In, Bits<2>>,
        /// A frame may begin within the next 4 clocks, whatever has begun before.
        pub room: Signal<Out, Bit>,
        /// Frames to send.
        pub m: FramesOut<64>,
        /// 1,024 clocks have passed; never within 40 clocks of the one before.
        pub tick: Signal<In, Bit>,
        /// The engine takes part; otherwise frames up pass and frames down have no effect.
        pub cfg_enable: Signal<In, Bit>,
        /// MINNUM and MAXNUM as IEEE 754: a signalling NaN gives a NaN.
        pub cfg_ieee_nan: Signal<In, Bit>,
        /// Source address of results.
        pub cfg_address: Signal<In, Bits<32>>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// Wait count from which timeout 1 is chosen.
        pub cfg_threshold_1: Signal<In, Bits<20>>,
        /// Wait count from which timeout 2 is chosen.
        pub cfg_threshold_2: Signal<In, Bits<20>>,
        /// Wait count from which timeout 3 is chosen.
        pub cfg_threshold_3: Signal<In, Bits<20>>,
        /// Timeout of small wait counts, ticks.
        pub cfg_timeout_0: Signal<In, Bits<24>>,
        /// Timeout from threshold 1 on, ticks.
        pub cfg_timeout_1: Signal<In, Bits<24>>,
        /// Timeout from threshold 2 on, ticks.
        pub cfg_timeout_2: Signal<In, Bits<24>>,
        /// Timeout from threshold 3 on, ticks.
        pub cfg_timeout_3: Signal<In, Bits<24>>,
        /// Something happened; 5 clocks after a frame's first word, one event at least for each.
        pub ev_valid: Signal<Out, Bit>,
        /// 0 armed, 1 armed again, 2 released, 3 no free descriptor, 4 foreign VNI, 5 old sequence number,
        /// 6 arm frame upwards, 7 passed, 8 combined, 9 result, 10 partial result, 11 expired empty, 12 operations differ,
        /// 13 too many contributions, 14 nothing to do, 15 passed without a look.
        pub ev_code: Signal<Out, Bits<4>>,
        /// Its descriptor.
        pub ev_index: Signal<Out, Bits<3>>,
        /// A bit per descriptor in use, those included whose result waits to be sent.
        pub used: Signal<Out, Bits<8>>,
        matcher: RedMatch,
        values: RedAccumulate,
        emit: RedEmit,
        /// Frames that may pass: four places of 16 words.
        buffer: AsyncRam<64, 6>,
        /// Their keys.
        buffer_keys: AsyncRam<16, 2>,
        /// A frame begins.
        begins: Signal<Local, Bit>,
        /// The word of the clock before.
        written: DFF<Bits<64>>,
        /// The word's number in the frame, the next word's: 6 to 11, then 1 to 5.
        number: Signal<Local, Bits<4>>,
        number_next: DFF<Bits<4>>,
        /// Place that is filled, places that wait to be sent.
        #[reset] place: DFF<Bits<2>>,
        #[reset] held: DFF<Bits<3>>,
        /// The frame under way passes.
        #[reset] passes: DFF<Bit>,
        /// It does: its place is held from now on.
        push: Signal<Local, Bit>,
    }
}

impl Logic for RedEngine {
    #[hdl_gen]
    fn update(&mut self) {
        self.begins.next = self.s_valid.val() & self.s_first.val();
        self.number.next = self.number_next.q.val();
        if self.s_first.val() {
            self.number.next = 6.into();
        }
        if self.s_valid.val() {
            self.number_next.d.next = self.number.val() + 1;
            if self.number.val() == 11 {
                self.number_next.d.next = 1.into();
            }
        }

        // Every frame goes into the buffer; its place is kept if it passes.
        self.buffer.wr.en.next = self.s_valid.val();
        self.buffer.wr.addr.next =
            (bit_cast::<6, 2>(self.place.q.val()) << 4) | bit_cast::<6, 4>(self.number.val());
        self.buffer.wr.data.next = self.s_data.val();
        self.buffer_keys.wr.en.next = self.begins.val();
        self.buffer_keys.wr.addr.next = self.place.q.val();
        self.buffer_keys.wr.data.next = self.s_data.val().get_bits::<16>(0);
        self.buffer.rd.addr.next = (bit_cast::<6, 2>(self.emit.b_slot.val()) << 4)
            | bit_cast::<6, 4>(self.emit.b_word.val());
        self.buffer_keys.rd.addr.next = self.emit.b_slot.val();
        // A frame that goes down is sent while it still comes in: a word may be wanted in the clock in which it is
        // written.
        self.written.d.next = self.s_data.val();
        self.emit.b_data.next = self.buffer.rd.data.val();
        self.emit.b_same.next = self.s_valid.val()
            & (self.place.q.val() == self.emit.b_slot.val())
            & (self.number.val() == self.emit.b_word.val());
        self.emit.b_written.next = self.written.q.val();
        self.emit.b_key.next = self.buffer_keys.rd.data.val();
        self.push.next = self.matcher.c_pass.val() | self.matcher.d_pass.val();
        if self.begins.val() {
            self.passes.d.next = false;
        }
        if self.push.val() {
            self.passes.d.next = true;
        }
        if self.s_valid.val() & (self.number.val() == 5) & self.passes.q.val() {
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.push.val() & !self.emit.freed.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if self.emit.freed.val() & !self.push.val() {
            self.held.d.next = self.held.q.val() - 1;
        }
        // The frame under way and the next may both pass.
        self.room.next = self.matcher.room.val() & (self.held.q.val() < 3);

        self.matcher.s_first.next = self.begins.val();
        self.matcher.s_kind.next = self.s_kind.val();
        self.matcher.s_data.next = self.s_data.val();
        self.matcher.tick.next = self.tick.val();
        self.matcher.cfg_enable.next = self.cfg_enable.val();
        self.matcher.cfg_threshold_1.next = self.cfg_threshold_1.val();
        self.matcher.cfg_threshold_2.next = self.cfg_threshold_2.val();
        self.matcher.cfg_threshold_3.next = self.cfg_threshold_3.val();
        self.matcher.cfg_timeout_0.next = self.cfg_timeout_0.val();
        self.matcher.cfg_timeout_1.next = self.cfg_timeout_1.val();
        self.matcher.cfg_timeout_2.next = self.cfg_timeout_2.val();
        self.matcher.cfg_timeout_3.next = self.cfg_timeout_3.val();
        self.matcher.done_valid.next = self.emit.done_valid.val();
        self.matcher.done_index.next = self.emit.done_index.val();
        self.matcher.q_index.next = self.emit.q_index.val();
        self.ev_valid.next = self.matcher.ev_valid.val();
        self.ev_code.next = self.matcher.ev_code.val();
        self.ev_index.next = self.matcher.ev_index.val();
        self.used.next = self.matcher.used.val();

        self.values.s_first.next = self.begins.val();
        self.values.s_data.next = self.s_data.val();
        self.values.cfg_ieee_nan.next = self.cfg_ieee_nan.val();
        self.values.m_soon.next = self.matcher.m_soon.val();
        self.values.m_hit.next = self.matcher.m_hit.val();
        self.values.m_load.next = self.matcher.m_load.val();
        self.values.m_index.next = self.matcher.m_index.val();
        self.values.m_empty.next = self.matcher.m_empty.val();
        self.values.m_mismatched.next = self.matcher.m_mismatched.val();
        self.values.m_header.next = self.matcher.m_header.val();
        self.values.c_valid.next = self.matcher.c_valid.val();
        self.values.c_combine.next = self.matcher.c_combine.val();
        self.values.c_first.next = self.matcher.c_first.val();
        self.values.c_differs.next = self.matcher.c_differs.val();
        self.values.c_over.next = self.matcher.c_over.val();
        self.values.c_index.next = self.matcher.c_index.val();
        self.values.c_onehot.next = self.matcher.c_onehot.val();
        self.values.q_index.next = self.emit.q_index.val();
        self.values.q_word.next = self.emit.q_word.val();

        self.emit.j_valid.next = self.matcher.j_valid.val();
        self.emit.j_index.next = self.matcher.j_index.val();
        self.emit.p_valid.next = self.push.val();
        self.emit.p_slot.next = self.place.q.val();
        self.emit.cfg_address.next = self.cfg_address.val();
        self.emit.cfg_ethertype.next = self.cfg_ethertype.val();
        self.emit.q_data.next = self.values.q_data.val();
        self.emit.w_valid.next = self.values.w_valid.val();
        self.emit.w_place.next = self.values.w_place.val();
        self.emit.w_data.next = self.values.w_data.val();
        self.emit.q_rc.next = self.values.q_rc.val();
        self.emit.q_oflow.next = self.values.q_oflow.val();
        self.emit.q_m.next = self.values.q_m.val();
        self.emit.q_key.next = self.matcher.q_key.val();
        self.emit.q_seqno.next = self.matcher.q_seqno.val();
        self.emit.q_count.next = self.matcher.q_count.val();
        self.emit.q_op.next = self.matcher.q_op.val();
        FramesOut::<64>::link(&mut self.m, &mut self.emit.m);
        if self.rst.val() {
            self.number_next.d.next = 6.into();
        }
    }
}
