//! Queue pairs in reduction groups (CL-5), and the root in hardware (CL-6).

mod answer;
mod land;
mod receive;
mod regs;
mod root;
mod send;
mod table;

pub use answer::CardReduceAnswer;
pub use land::CardReduceLand;
pub use receive::CardReduceReceive;
pub use regs::CardRegsReduce;
pub use root::CardReduceRoot;
pub use send::CardReduceSend;
pub use table::CardReduceTable;

use super::CardCompletions;
use crate::blocks::EventMerge;
use crate::bus::{
    AxisOut, CompletionOut, ContextIn, FramesOut, MoreRegistersIn, ReduceAnsweredOut,
    ReduceAnswersOut, ReduceArrivalsOut, ReduceJoinIn, ReduceLeaveOut, ReduceResultOut,
    ReduceVerdictsOut, ReduceWorksIn, ReserveOut, StreamOut,
};
use crate::prelude::*;

hdl_module! {
    /// Reduction groups of queue pairs, 16 at most: their work requests leave as reduction frames, and frames of the groups that
    /// arrive become completions. What the frames mean to each other is the driver's matter, but for results that the card of a
    /// group's root answers (CL-6).
    /// Wires; each block says its own stages.
    #[module("card_reduce_q{}", 1usize << LQ)]
    pub struct CardReduce<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, of all but counters.
        pub rst: Signal<In, Bit>,
        /// Synchronous reset of counters; a clock before rst.
        pub regs_rst: Signal<In, Bit>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// Accesses to counters.
        pub reg: MoreRegistersIn,
        /// Queue pairs that are to be in groups.
        pub s_join: ReduceJoinIn,
        /// Work requests.
        pub s_works: ReduceWorksIn<LQ>,
        /// A word of a frame that arrives.
        pub s_tvalid: Signal<In, Bit>,
        /// The word; its first byte is in bits 7:0.
        pub s_tdata: Signal<In, Bits<64>>,
        /// Bytes present.
        pub s_tkeep: Signal<In, Bits<8>>,
        /// It is the last word of the frame.
        pub s_tlast: Signal<In, Bit>,
        /// With the last word: the frame is bad (FCS).
        pub s_tuser: Signal<In, Bit>,
        /// Frames that leave.
        pub m_axis: AxisOut<64, 8>,
        /// Completion slots for frames that arrived.
        pub m_rsv: ReserveOut<LQ>,
        /// A completion slot of a work request is given back.
        pub m_cancel_valid: Signal<Out, Bit>,
        /// That is done.
        pub m_cancel_ready: Signal<In, Bit>,
        /// Of this queue pair.
        pub m_cancel_qpn: Signal<Out, Bits<LQ>>,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// Words 0 to 6 of those that are frames, in their order.
        pub m_words: StreamOut<64>,
        /// A work request was bad.
        pub ev_local_error: Signal<Out, Bit>,

        table: CardReduceTable<LQ>,
        send: CardReduceSend<LQ>,
        receive: CardReduceReceive,
        land: CardReduceLand<LQ>,
        root: CardReduceRoot,
        answer: CardReduceAnswer,
        completions: CardCompletions<LQ>,
        regs: CardRegsReduce,
        /// Frames without room count as those without a slot.
        no_slot: EventMerge,
    }
}

impl<const LQ: usize> Logic for CardReduce<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.table.rst.next = self.rst.val();
        self.send.rst.next = self.rst.val();
        self.receive.rst.next = self.rst.val();
        self.land.rst.next = self.rst.val();
        self.root.rst.next = self.rst.val();
        self.answer.rst.next = self.rst.val();
        self.completions.rst.next = self.rst.val();
        self.no_slot.rst.next = self.rst.val();
        self.regs.rst.next = self.regs_rst.val();
        self.m_idle.next = self.send.m_idle.val()
            & self.land.m_idle.val()
            & self.root.m_idle.val()
            & self.answer.m_idle.val();

        // Groups.
        ReduceJoinIn::link(&mut self.s_join, &mut self.table.s_join);
        ContextIn::<LQ>::link(&mut self.cfg, &mut self.table.cfg);
        self.send.s_even.of.next = self.table.m_even.of.val();
        self.send.s_odd.of.next = self.table.m_odd.of.val();
        self.land.s_even.of.next = self.table.m_even.of.val();
        self.land.s_odd.of.next = self.table.m_odd.of.val();
        self.land.ev_joined.next = self.table.ev_joined.val();
        self.land.joined_row.next = self.table.joined_row.val();
        self.root.ev_joined.next = self.table.ev_joined.val();
        self.root.joined_row.next = self.table.joined_row.val();

        // What leaves.
        self.send.cfg_node.next = self.cfg_node.val();
        ReduceWorksIn::<LQ>::link(&mut self.s_works, &mut self.send.s);
        AxisOut::<64, 8>::link(&mut self.m_axis, &mut self.send.m_axis);
        // In the order in which they are offered: so no frame says of fewer work requests than a completion before it.
        CompletionOut::<LQ>::join(&mut self.send.m_cpl, &mut self.completions.a);
        self.m_cancel_valid.next = self.send.m_cancel_valid.val();
        self.send.m_cancel_ready.next = self.m_cancel_ready.val();
        self.m_cancel_qpn.next = self.send.m_cancel_qpn.val();
        self.land.fetched.en.next = self.send.m_fetched.en.val();
        self.land.fetched.addr.next = self.send.m_fetched.addr.val();
        self.land.fetched.data.next = self.send.m_fetched.data.val();
        self.ev_local_error.next = self.send.ev_local_error.val();

        // What arrives.
        self.land.hold.next = self.hold.val();
        self.receive.cfg_node.next = self.cfg_node.val();
        self.receive.s_tvalid.next = self.s_tvalid.val();
        self.receive.s_tdata.next = self.s_tdata.val();
        self.receive.s_tkeep.next = self.s_tkeep.val();
        self.receive.s_tlast.next = self.s_tlast.val();
        self.receive.s_tuser.next = self.s_tuser.val();
        ReduceArrivalsOut::join(&mut self.receive.m, &mut self.land.s);
        ReduceVerdictsOut::join(&mut self.land.m_verdict, &mut self.receive.s_verdict);
        ReserveOut::<LQ>::link(&mut self.m_rsv, &mut self.land.m_rsv);
        CompletionOut::<LQ>::join(&mut self.land.m_cpl, &mut self.completions.b);
        CompletionOut::<LQ>::link(&mut self.m_cpl, &mut self.completions.m);
        FramesOut::<64>::join(&mut self.receive.m_pl, &mut self.answer.s_words);
        StreamOut::<64>::link(&mut self.m_words, &mut self.answer.m_words);

        // The root.
        ReduceLeaveOut::join(&mut self.send.m_leave, &mut self.root.s_leave);
        ReduceResultOut::join(&mut self.land.m_result, &mut self.root.s_result);
        ReduceAnsweredOut::join(&mut self.land.m_answered, &mut self.answer.s);
        self.root.room.next = self.land.m_answered.room.val();
        ReduceAnswersOut::join(&mut self.answer.m, &mut self.send.s_answers);

        // Counters.
        MoreRegistersIn::link(&mut self.reg, &mut self.regs.reg);
        self.no_slot.a.next = self.land.ev_no_slot.val();
        self.no_slot.b.next = self.receive.ev_no_room.val();
        self.regs.ev.next = bit_cast::<7, 1>(self.send.ev_sent.val().into())
            | (bit_cast::<7, 1>(self.land.ev_received.val().into()) << 1)
            | (bit_cast::<7, 1>(self.receive.ev_bad_frame.val().into()) << 2)
            | (bit_cast::<7, 1>(self.land.ev_foreign.val().into()) << 3)
            | (bit_cast::<7, 1>(self.no_slot.m.val().into()) << 4)
            | (bit_cast::<7, 1>(self.land.ev_answered.val().into()) << 5)
            | (bit_cast::<7, 1>(self.send.ev_overtaken.val().into()) << 6);
    }
}
