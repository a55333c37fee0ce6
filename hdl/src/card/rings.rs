//! Schedule rings in the card.

mod ends;
mod pairs;
mod reads;
mod regs;

pub use ends::CardRingEnds;
pub use pairs::CardRingPairs;
pub use reads::CardRingReads;
pub use regs::CardRegsRings;

use crate::bus::{
    BlockStartOut, CardPostOut, CompletionIn, CompletionOut, DmaReadWordsIn, DmaReadWordsOut,
    DmaRequestIn, DmaRequestOut, DmaWordsOut, GrantStartOut, GroupBindingOut, GroupQueueOut,
    HostTellOut, MoreRegistersIn, NotifyIn, NotifyOut, ScheduleAnswerOut, ScheduleCommandOut,
    ScheduleDoneOut, ScheduleEventOut,
};
use crate::mb::MbRing;
use crate::prelude::*;
use tributary_protocol::card::regs::RING_TICK_CLOCKS;

// A tick is an overflow of 16 bits.
const _: () = assert!(RING_TICK_CLOCKS == 1 << 16);

hdl_module! {
    /// Schedule rings of 16 groups (MB-16), between the engines of bulk transfers and the card: what a ring starts are WRITEs
    /// that the host has put into send rings, whose doorbells are rung here; what it counts are completions and notifications
    /// on their way; what it says is a notification as others are.
    /// Wires, and the ticks of the watchdogs, 65,536 clocks each; each block says its own stages.
    /// While nothing belongs to a group all passes, but a completion waits up to 16 clocks for the one before.
    #[module("card_rings_q{}", 1usize << LQ)]
    pub struct CardRings<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, of all but registers.
        pub rst: Signal<In, Bit>,
        /// Synchronous reset of registers; a clock before rst.
        pub regs_rst: Signal<In, Bit>,
        /// Tables have been cleared.
        pub ready: Signal<Out, Bit>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// No end of a group has begun to be told.
        pub m_idle: Signal<Out, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Accesses to registers.
        pub reg: MoreRegistersIn,
        /// A queue pair ends.
        pub s_end_valid: Signal<In, Bit>,
        /// Which.
        pub s_end_qpn: Signal<In, Bits<24>>,
        /// Completions of bulk transfers.
        pub s_cpl: CompletionIn<LQ>,
        /// The same.
        pub m_cpl: CompletionOut<LQ>,
        /// Notifications of bulk transfers.
        pub s_notify: NotifyIn,
        /// The same, and ends of groups.
        pub m_notify: NotifyOut,
        /// Reads of bulk transfers.
        pub s_rd: DmaRequestIn,
        /// Their words.
        pub m_words: DmaReadWordsOut,
        /// The same, and reads of rings.
        pub m_rd: DmaRequestOut,
        /// Words of both.
        pub s_words: DmaReadWordsIn,
        /// Doorbells.
        pub m_post: CardPostOut<LQ>,

        regs: CardRegsRings,
        ring: MbRing<4, 12, 9>,
        pairs: CardRingPairs<LQ, 4, 11>,
        ends: CardRingEnds<4>,
        reads: CardRingReads,
        #[reset] clocks: DFF<Bits<16>>,
        groups: Param<16, 9>,
    }
}

impl<const LQ: usize> Logic for CardRings<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.regs.rst.next = self.regs_rst.val();
        self.ring.rst.next = self.rst.val();
        self.pairs.rst.next = self.rst.val();
        self.ends.rst.next = self.rst.val();
        self.reads.rst.next = self.rst.val();
        self.ready.next = self.pairs.ready.val();
        self.ends.hold.next = self.hold.val();
        self.m_idle.next = self.ends.m_idle.val();
        self.ends.cfg_node.next = self.cfg_node.val();
        self.clocks.d.next = self.clocks.q.val() + 1;
        self.ring.s_tick.next = self.clocks.q.val().all();

        // The host.
        MoreRegistersIn::link(&mut self.reg, &mut self.regs.reg);
        self.regs.size_groups.next = self.groups.val();
        ScheduleCommandOut::join(&mut self.regs.m_cmd, &mut self.ring.s_cmd);
        ScheduleAnswerOut::join(&mut self.ring.m_answer, &mut self.regs.s_answer);
        GroupBindingOut::join(&mut self.regs.m_bind, &mut self.pairs.s_bind);
        self.regs.s_unbound.next = self.pairs.m_unbound.val();
        GroupQueueOut::join(&mut self.regs.m_queue, &mut self.ends.s_queue);

        // What the rings start, and what becomes of it.
        BlockStartOut::join(&mut self.ring.m_start, &mut self.pairs.s_start);
        GrantStartOut::join(&mut self.ring.m_grant, &mut self.pairs.s_grant);
        CardPostOut::<LQ>::link(&mut self.m_post, &mut self.pairs.m_post);
        ScheduleEventOut::join(&mut self.pairs.m_ev, &mut self.ring.s_ev);
        self.pairs.s_end_valid.next = self.s_end_valid.val();
        self.pairs.s_end_qpn.next = self.s_end_qpn.val();
        CompletionIn::<LQ>::link(&mut self.s_cpl, &mut self.pairs.s_cpl);
        CompletionOut::<LQ>::link(&mut self.m_cpl, &mut self.pairs.m_cpl);
        HostTellOut::join(&mut self.ends.m_tell, &mut self.pairs.s_tell);

        // What hosts are told.
        NotifyIn::link(&mut self.s_notify, &mut self.ends.s_notify);
        ScheduleDoneOut::join(&mut self.ring.m_done, &mut self.ends.s_done);
        NotifyOut::link(&mut self.m_notify, &mut self.ends.m_notify);

        // Their entries.
        DmaRequestIn::link(&mut self.s_rd, &mut self.reads.a);
        DmaReadWordsOut::link(&mut self.m_words, &mut self.reads.a_m);
        DmaRequestOut::join(&mut self.ring.m_rd, &mut self.reads.b);
        DmaWordsOut::join(&mut self.reads.b_m, &mut self.ring.s_rd);
        DmaRequestOut::link(&mut self.m_rd, &mut self.reads.m);
        DmaReadWordsIn::link(&mut self.s_words, &mut self.reads.s);
    }
}
