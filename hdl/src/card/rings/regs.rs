//! Registers of the schedule rings.

use super::super::regs_bulk::{spare, word};
use crate::blocks::OneHotMux;
use crate::bus::{
    GroupBindingOut, GroupPair, GroupQueueOut, MoreRegistersIn, ScheduleAnswerIn,
    ScheduleCommandOut,
};
use crate::prelude::*;
use tributary_protocol::card::regs;
use tributary_protocol::multicast::ring::Operation;

// Fields are taken from their words by these bits.
const _: () = assert!(regs::RING_COMMAND_OP.lsb == 0);
const _: () = assert!(regs::RING_COMMAND_GROUP.lsb == 8 && regs::RING_COMMAND_POSTED.lsb == 16);
const _: () = assert!(regs::RING_SETTINGS_LOG.lsb == 0 && regs::RING_SETTINGS_TIMED.lsb == 4);
const _: () = assert!(regs::RING_SETTINGS_WATCHDOG.lsb == 16 && regs::RING_QUEUE_PAIR.lsb == 0);
const _: () = assert!(regs::RING_BIND_SLOT.lsb == 0 && regs::RING_BIND_GROUP.lsb == 6);
const _: () = assert!(regs::RING_BIND_ROLE.lsb == 14 && regs::RING_BIND_PAIR.lsb == 16);

hdl_module! {
    /// Registers 0x100 to 0x124 of the schedule rings (MB-16), beside card_regs, which decodes accesses: commands for mb_ring,
    /// bindings for card_ring_pairs.
    /// A write is looked at in the clock in which it comes and acts in the next one; a one outside the fields is refused. A value
    /// is there 2 clocks after its address. A command is offered until mb_ring takes it, and its fields stay as they were when
    /// it was written; a command that is written meanwhile is ignored. A binding leaves in the clock in which it acts.
    /// Stages: 1 what a write is to, 2 it acts. Nothing stalls it.
    #[module("card_regs_rings")]
    pub struct CardRegsRings {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: registers are 0, no command waits.
        pub rst: Signal<In, Bit>,
        /// Accesses; what they ask of counters is not looked at.
        pub reg: MoreRegistersIn,
        /// Groups that there are.
        pub size_groups: Signal<In, Bits<9>>,
        /// Commands.
        pub m_cmd: ScheduleCommandOut,
        /// What became of commands and everything else that can be refused.
        pub s_answer: ScheduleAnswerIn,
        /// Queue pairs that are given to groups.
        pub m_bind: GroupBindingOut,
        /// The binding of the clock before could not be.
        pub s_unbound: Signal<In, Bit>,
        /// Where the ends of a group are told that was opened.
        pub m_queue: GroupQueueOut,

        /// A write, 1 clock old; it fits this register.
        w_data: DFF<Bits<32>>,
        w_command: DFF<Bit>,
        w_low: DFF<Bit>,
        w_high: DFF<Bit>,
        w_origin: DFF<Bit>,
        w_settings: DFF<Bit>,
        w_queue: DFF<Bit>,
        w_bind: DFF<Bit>,
        /// The registers.
        #[reset] low: DFF<Bits<32>>,
        #[reset] high: DFF<Bits<32>>,
        #[reset] origin: DFF<Bits<32>>,
        #[reset] settings: DFF<Bits<32>>,
        #[reset] queue: DFF<Bits<16>>,
        #[reset] refused: DFF<Bits<32>>,
        /// The latest command waits; it was taken.
        #[reset] busy: DFF<Bit>,
        #[reset] ok: DFF<Bit>,
        command: DFF<Bits<32>>,
        /// The registers as they were when it was written.
        base_of: DFF<Bits<64>>,
        origin_of: DFF<Bits<32>>,
        settings_of: DFF<Bits<32>>,
        queue_of: DFF<Bits<16>>,
        bound: Signal<Local, GroupPair>,
        decided: Signal<Local, Bit>,
        refuses: Signal<Local, Bit>,
        both: Signal<Local, Bit>,
        /// What is read, one-hot.
        hit: DFF<Bits<8>>,
        values: OneHotMux<32, 8>,
        value: DFF<Bits<32>>,

        at_sizes: Param<{ word(&regs::RING_SIZES) }, 10>,
        at_answer: Param<{ word(&regs::RING_ANSWER) }, 10>,
        at_refused: Param<{ word(&regs::RING_REFUSED) }, 10>,
        at_command: Param<{ word(&regs::RING_COMMAND) }, 10>,
        at_low: Param<{ word(&regs::RING_BASE_LOW) }, 10>,
        at_high: Param<{ word(&regs::RING_BASE_HIGH) }, 10>,
        at_origin: Param<{ word(&regs::RING_ORIGIN) }, 10>,
        at_settings: Param<{ word(&regs::RING_SETTINGS) }, 10>,
        at_queue: Param<{ word(&regs::RING_QUEUE) }, 10>,
        at_bind: Param<{ word(&regs::RING_BIND) }, 10>,
        spare_command: Param<{ spare(&regs::RING_COMMAND) }, 32>,
        spare_low: Param<{ spare(&regs::RING_BASE_LOW) }, 32>,
        spare_settings: Param<{ spare(&regs::RING_SETTINGS) }, 32>,
        spare_queue: Param<{ spare(&regs::RING_QUEUE) }, 32>,
        op_open: Param<{ Operation::Open as usize }, 4>,
        op_close: Param<{ Operation::Close as usize }, 4>,
        op_tick: Param<{ Operation::Tick as usize }, 4>,
        features: Param<{ regs::FEATURES_RINGS.mask() as usize }, 32>,
    }
}

impl Logic for CardRegsRings {
    #[hdl_gen]
    fn update(&mut self) {
        // Writes: what to.
        self.w_data.d.next = self.reg.wr_data.val();
        self.w_command.d.next = (self.reg.wr_word.val() == self.at_command.val())
            & !(self.reg.wr_data.val() & self.spare_command.val()).any();
        self.w_low.d.next = (self.reg.wr_word.val() == self.at_low.val())
            & !(self.reg.wr_data.val() & self.spare_low.val()).any();
        self.w_high.d.next = self.reg.wr_word.val() == self.at_high.val();
        self.w_origin.d.next = self.reg.wr_word.val() == self.at_origin.val();
        self.w_settings.d.next = (self.reg.wr_word.val() == self.at_settings.val())
            & !(self.reg.wr_data.val() & self.spare_settings.val()).any();
        self.w_queue.d.next = (self.reg.wr_word.val() == self.at_queue.val())
            & !(self.reg.wr_data.val() & self.spare_queue.val()).any();
        self.w_bind.d.next = self.reg.wr_word.val() == self.at_bind.val();

        // They act.
        self.reg.wr_known.next = self.w_command.q.val()
            | self.w_low.q.val()
            | self.w_high.q.val()
            | self.w_origin.q.val()
            | self.w_settings.q.val()
            | self.w_queue.q.val()
            | self.w_bind.q.val();
        if self.reg.wr_acts.val() {
            if self.w_low.q.val() {
                self.low.d.next = self.w_data.q.val();
            }
            if self.w_high.q.val() {
                self.high.d.next = self.w_data.q.val();
            }
            if self.w_origin.q.val() {
                self.origin.d.next = self.w_data.q.val();
            }
            if self.w_settings.q.val() {
                self.settings.d.next = self.w_data.q.val();
            }
            if self.w_queue.q.val() {
                self.queue.d.next = self.w_data.q.val().get_bits::<16>(0);
            }
            if self.w_command.q.val() & !self.busy.q.val() {
                self.busy.d.next = true;
                self.command.d.next = self.w_data.q.val();
                self.base_of.d.next = (bit_cast::<64, 32>(self.high.q.val()) << 32)
                    | bit_cast::<64, 32>(self.low.q.val());
                self.origin_of.d.next = self.origin.q.val();
                self.settings_of.d.next = self.settings.q.val();
                self.queue_of.d.next = self.queue.q.val();
            }
        }
        self.bound.next = GroupPair {
            role: self.w_data.q.val().get_bits::<2>(14),
            group: self.w_data.q.val().get_bits::<8>(6),
            slot: self.w_data.q.val().get_bits::<6>(0),
        };
        self.m_bind.valid.next = self.reg.wr_acts.val() & self.w_bind.q.val();
        self.m_bind.pair.next = self.w_data.q.val().get_bits::<16>(16);
        self.m_bind.of.next = self.bound.val();

        // A command, and what becomes of it.
        self.m_cmd.valid.next = self.busy.q.val();
        self.m_cmd.op.next = self.command.q.val().get_bits::<2>(0);
        self.m_cmd.group.next = self.command.q.val().get_bits::<8>(8);
        self.m_cmd.posted.next = self.command.q.val().get_bits::<16>(16);
        self.m_cmd.base.next = self.base_of.q.val();
        self.m_cmd.log.next = self.settings_of.q.val().get_bits::<4>(0);
        self.m_cmd.timed.next = self.settings_of.q.val().get_bit(4);
        self.m_cmd.watchdog.next = self.settings_of.q.val().get_bits::<16>(16);
        self.m_cmd.origin.next = self.origin_of.q.val();
        self.decided.next =
            self.s_answer.valid.val() & (self.s_answer.op.val() <= self.op_close.val());
        if self.decided.val() {
            self.ok.d.next = self.s_answer.ok.val();
        }
        if self.m_cmd.ready.val() {
            self.busy.d.next = false;
        }
        self.m_queue.valid.next = self.s_answer.valid.val()
            & self.s_answer.ok.val()
            & (self.s_answer.op.val() == self.op_open.val());
        self.m_queue.group.next = self.s_answer.group.val();
        self.m_queue.pair.next = self.queue_of.q.val();

        // What was refused.
        self.refuses.next = self.s_answer.valid.val()
            & !self.s_answer.ok.val()
            & (self.s_answer.op.val() != self.op_tick.val());
        self.both.next = self.refuses.val() & self.s_unbound.val();
        if self.both.val() {
            self.refused.d.next = self.refused.q.val() + 2;
        } else if self.refuses.val() | self.s_unbound.val() {
            self.refused.d.next = self.refused.q.val() + 1;
        }

        // Reads.
        self.hit.d.next = 0.into();
        if self.reg.rd_global.val() {
            self.hit.d.next =
                bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_sizes.val()).into())
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_answer.val()).into())
                        << 1)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_refused.val()).into())
                        << 2)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_low.val()).into()) << 3)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_high.val()).into())
                        << 4)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_origin.val()).into())
                        << 5)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_settings.val()).into())
                        << 6)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_queue.val()).into())
                        << 7);
        }
        self.values.sel.next = self.hit.q.val();
        self.values.s[0].next = bit_cast::<32, 9>(self.size_groups.val());
        self.values.s[1].next = bit_cast::<32, 1>(self.busy.q.val().into())
            | (bit_cast::<32, 1>((self.ok.q.val() & !self.busy.q.val()).into()) << 1);
        self.values.s[2].next = self.refused.q.val();
        self.values.s[3].next = self.low.q.val();
        self.values.s[4].next = self.high.q.val();
        self.values.s[5].next = self.origin.q.val();
        self.values.s[6].next = self.settings.q.val();
        self.values.s[7].next = bit_cast::<32, 16>(self.queue.q.val());
        self.value.d.next = self.values.m.val();
        self.reg.rd_data.next = self.value.q.val();
        self.reg.features.next = self.features.val();
        self.reg.count.next = 0.into();
    }
}
