//! The reduction engine of a port.

mod accumulate;
mod buffer;
mod emit;
mod events;
mod matcher;
mod together;

pub use accumulate::RedAccumulate;
pub use buffer::RedBuffer;
pub use emit::RedEmit;
pub use events::RedEvents;
pub use matcher::RedMatch;
pub use together::RedTogether;

use crate::bus::FramesOut;
use crate::prelude::*;

hdl_module! {
    /// Reduction engine of a switch port, 8 descriptors: combines the reduction frames that leave by the port
    /// towards the parent of their tree, and sends results, partial results and frames that pass.
    /// Takes a frame of 11 words every 11 clocks, one word a clock, never stalled; combines all of them, also
    /// of the same tree. Words come as the input stored them
    /// (see switch_rx): 6, 7 (reduction header), 8 to 11 (data), 1 to 5.
    /// Contributions that wait beside one, and go with it, are taken together (red_together): they come at o_*, one a clock, and all
    /// of them make one pass, whose clocks count as those of a frame: it begins 18 clocks after the first word of the first for
    /// 3 or 4 of them, 31 to 33 for 5 to 8, 46 to 52 for 9 to 16; 11 more if the descriptor has some already. The engine has no room until then.
    /// Latency: 10 clocks from the first word of the last contribution to the first word of the result, and from
    /// the first word of a frame that passes upwards to the first that it sends.
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
        /// Its frame goes down a tree and is for the descriptors only; otherwise towards the parent.
        pub s_down: Signal<In, Bit>,
        /// A frame may begin within the next 4 clocks, whatever has begun before.
        pub room: Signal<Out, Bit>,
        /// In clock 4 of a contribution, counted from its first word: other contributions wait, two or more, whose words 6 and 7
        /// are the same but for the result code, and of all of them, this one's too, words 9 to 11 are zero, the result code is below 8
        /// and the operation is not REPSUM.
        pub others: Signal<In, Bit>,
        /// In clock 5: all of them are combined. The others follow at o_*, their first one in clock 7.
        pub take: Signal<Out, Bit>,
        /// The data of one of the others, in clocks that follow each other.
        pub o_valid: Signal<In, Bit>,
        /// Its word 8, first byte in bits 7:0.
        pub o_data: Signal<In, Bits<64>>,
        /// Its result code.
        pub o_rc: Signal<In, Bits<3>>,
        /// It is the last one.
        pub o_last: Signal<In, Bit>,
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
        /// 13 too many contributions, 14 nothing to do.
        pub ev_code: Signal<Out, Bits<4>>,
        /// Its descriptor.
        pub ev_index: Signal<Out, Bits<3>>,
        /// A bit per descriptor in use, those included whose result waits to be sent.
        pub used: Signal<Out, Bits<8>>,
        matcher: RedMatch,
        values: RedAccumulate,
        emit: RedEmit,
        together: RedTogether,
        /// Frames that may pass.
        kept: RedBuffer,
        /// A frame begins.
        begins: Signal<Local, Bit>,
    }
}

impl Logic for RedEngine {
    #[hdl_gen]
    fn update(&mut self) {
        self.begins.next = self.s_valid.val() & self.s_first.val();
        // Every frame goes into a buffer; its place is kept if it passes.
        self.kept.s_valid.next = self.s_valid.val();
        self.kept.s_data.next = self.s_data.val();
        self.kept.s_first.next = self.s_first.val();
        self.kept.push.next = self.matcher.c_pass.val();
        self.room.next = self.matcher.room.val() & self.kept.room.val() & !self.together.busy.val();

        // The word that is sent.
        self.kept.b_slot.next = self.emit.b_slot.val();
        self.kept.b_word.next = self.emit.b_word.val();
        self.kept.h_slot.next = self.emit.h_slot.val();
        self.kept.h_word.next = self.emit.h_word.val();
        self.kept.b_take.next = self.emit.b_take.val();
        self.kept.freed.next = self.emit.freed.val();
        self.emit.b_key.next = self.kept.b_key.val();
        self.emit.b_taken.next = self.kept.b_taken.val();

        // Contributions that wait together.
        self.take.next = self.matcher.take.val();
        self.together.s_first.next = self.begins.val();
        self.together.s_data.next = self.s_data.val();
        self.together.m_header.next = self.matcher.m_header.val();
        self.together.m_empty.next = self.matcher.m_empty.val();
        self.together.take.next = self.matcher.take.val();
        self.together.o_valid.next = self.o_valid.val();
        self.together.o_data.next = self.o_data.val();
        self.together.o_rc.next = self.o_rc.val();
        self.together.o_last.next = self.o_last.val();
        self.together.l_data.next = self.values.l_data.val();
        self.together.l_code.next = self.values.l_code.val();
        self.matcher.others.next = self.others.val();
        self.matcher.again.next = self.together.again.val();
        self.matcher.again_1.next = self.together.again_1.val();
        self.matcher.again_count.next = self.together.p_count.val();
        self.matcher.busy.next = self.together.busy.val();
        self.matcher.counted.next = self.together.counted.val();
        self.values.again.next = self.together.again.val();
        self.values.g_valid.next = self.together.g_valid.val();
        self.values.g_alone.next = self.together.g_alone.val();
        self.values.g_is_held.next = self.together.g_is_held.val();
        self.values.g_is_slot.next = self.together.g_is_slot.val();
        self.values.g_is_other.next = self.together.g_is_other.val();
        self.values.g_is_lane.next = self.together.g_is_lane.val();
        self.values.g_held.next = self.together.g_held.val();
        self.values.g_slot.next = self.together.g_slot.val();
        self.values.g_other.next = self.together.g_other.val();
        self.values.in_pass.next = self.together.in_pass.val();
        self.values.combines.next = self.together.combines.val();
        self.values.taken.next = self.together.taken.val();
        self.values.p_rc.next = self.together.p_rc.val();

        self.matcher.s_first.next = self.begins.val();
        self.matcher.s_down.next = self.s_down.val();
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
        self.emit.p_valid.next = self.matcher.c_pass.val();
        self.emit.p_slot.next = self.kept.slot.val();
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
    }
}
