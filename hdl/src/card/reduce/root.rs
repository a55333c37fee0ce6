//! What the card knows of reductions whose root its host is.

use crate::blocks::RamReg;
use crate::bus::{ReduceLeaveIn, ReduceResultIn};
use crate::prelude::*;

hdl_record! {
    /// What a tree was told last under one reduction id.
    struct Told {
        /// Its round.
        round: Bits<56>,
        /// Its sequence number.
        seqno: Bits<10>,
        /// Engines are armed.
        arms: Bit,
        /// It was told something.
        there: Bit,
    }
}

hdl_module! {
    /// Keeps what the trees were told last, by group and reduction id, and decides by that, one after the other, what the
    /// hosts of roots may send and which results the card answers (CL-6).
    /// A frame to the tree that arms, or is not of kind 0, may leave under a newer sequence number than the last one, unless its
    /// round is behind, and is kept. All others may in the round and under the number of the last one: contributions if it armed, frames to a node if
    /// it armed and they do, or neither does. A result is answered under the number that is armed; then the next one is, in
    /// the next round.
    /// A decision takes 7 clocks; both sides take turns. When a queue pair joins, its rows are emptied, one a clock.
    /// Stages: 1 whose turn; 2, 3 the memory; 4 what it says; 5 it is compared; 6 the decision, written; 7 it is told.
    /// Nothing is held but who asks: what they ask stays until it is answered.
    #[module("card_reduce_root")]
    pub struct CardReduceRoot {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nobody is answered.
        pub rst: Signal<In, Bit>,
        /// Frames of hosts.
        pub s_leave: ReduceLeaveIn,
        /// Results.
        pub s_result: ReduceResultIn,
        /// There is room for an answer; none is decided otherwise.
        pub room: Signal<In, Bit>,
        /// A queue pair has joined a group; pulse. Its next frame is 12 clocks away.
        pub ev_joined: Signal<In, Bit>,
        /// Its row.
        pub joined_row: Signal<In, Bits<4>>,
        /// None asks, and no row is being emptied.
        pub m_idle: Signal<Out, Bit>,

        told: RamReg<{ Told::BITS }, 7>,
        /// Reduction ids of this row that are to be emptied still.
        #[reset] empties: DFF<Bits<4>>,
        row: DFF<Bits<4>>,
        /// A bit for each stage from 2 on; it is of a result.
        #[reset] step: DFF<Bits<6>>,
        of_result: DFF<Bit>,
        #[reset] result_next: DFF<Bit>,
        begins: Signal<Local, Bit>,
        may_leave: Signal<Local, Bit>,
        may_answer: Signal<Local, Bit>,
        place: DFF<Bits<7>>,
        /// What is asked.
        seqno: DFF<Bits<10>>,
        round: DFF<Bits<56>>,
        arm: DFF<Bit>,
        /// It arms or releases engines; it is for those that are armed.
        tells: DFF<Bit>,
        for_armed: DFF<Bit>,
        /// Stage 4: what is there.
        now: DFF<Told>,
        /// Stage 5: it is of the same number, of one so far ahead; of a round so far on, of the same one, by quarters; engines are as
        /// it wants them.
        same: DFF<Bit>,
        ahead: DFF<Bits<10>>,
        on: DFF<Bits<16>>,
        rounds: DFF<Bits<4>>,
        state: DFF<Bit>,
        next_seqno: DFF<Bits<10>>,
        next_round: DFF<Bits<56>>,
        /// Stage 6.
        newer: Signal<Local, Bit>,
        ok: DFF<Bit>,
        yes: Signal<Local, Bit>,
        keep: Signal<Local, Told>,
    }
}

impl Logic for CardReduceRoot {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: whose turn.
        self.may_leave.next = self.s_leave.valid.val();
        self.may_answer.next = self.s_result.valid.val() & self.room.val();
        self.begins.next = !self.step.q.val().any()
            & !self.empties.q.val().any()
            & (self.may_leave.val() | self.may_answer.val());
        self.step.d.next = self.step.q.val() << 1;
        if self.begins.val() {
            self.step.d.next = 1.into();
            self.of_result.d.next =
                self.may_answer.val() & (self.result_next.q.val() | !self.may_leave.val());
            self.place.d.next = self.s_leave.place.val();
            self.seqno.d.next = self.s_leave.seqno.val();
            if self.may_answer.val() & (self.result_next.q.val() | !self.may_leave.val()) {
                self.place.d.next = self.s_result.place.val();
                self.seqno.d.next = self.s_result.seqno.val();
            }
            self.round.d.next = self.s_leave.round.val();
            self.arm.d.next = self.s_leave.arm.val();
            self.tells.d.next =
                self.s_leave.to_tree.val() & (self.s_leave.arm.val() | !self.s_leave.plain.val());
            self.for_armed.d.next = self.s_leave.to_tree.val() | self.s_leave.arm.val();
        }

        // Stages 2 to 4: what is there.
        self.told.rd.addr.next = self.place.q.val();
        self.now.d.next = self.told.rd.data.val().into();

        // Stage 5: compared.
        self.same.d.next = self.now.q.val().seqno == self.seqno.q.val();
        self.ahead.d.next = self.seqno.q.val() - self.now.q.val().seqno;
        self.on.d.next =
            self.round.q.val().get_bits::<16>(0) - self.now.q.val().round.get_bits::<16>(0);
        self.rounds.d.next = bit_cast::<4, 1>(
            (self.now.q.val().round.get_bits::<14>(0) == self.round.q.val().get_bits::<14>(0))
                .into(),
        ) | (bit_cast::<4, 1>(
            (self.now.q.val().round.get_bits::<14>(14) == self.round.q.val().get_bits::<14>(14))
                .into(),
        ) << 1)
            | (bit_cast::<4, 1>(
                (self.now.q.val().round.get_bits::<14>(28)
                    == self.round.q.val().get_bits::<14>(28))
                .into(),
            ) << 2)
            | (bit_cast::<4, 1>(
                (self.now.q.val().round.get_bits::<14>(42)
                    == self.round.q.val().get_bits::<14>(42))
                .into(),
            ) << 3);
        self.state.d.next = self.now.q.val().arms == self.for_armed.q.val();
        self.next_seqno.d.next = self.now.q.val().seqno + 1;
        self.next_round.d.next = self.now.q.val().round + 1;

        // Stage 6: decided.
        self.newer.next = self.ahead.q.val().any() & !self.ahead.q.val().get_bit(9);
        self.yes.next = self.now.q.val().there
            & self.same.q.val()
            & self.rounds.q.val().all()
            & self.state.q.val();
        if self.tells.q.val() {
            self.yes.next =
                (self.newer.val() & !self.on.q.val().get_bit(15)) | !self.now.q.val().there;
        }
        self.keep.next = Told {
            round: self.round.q.val(),
            seqno: self.seqno.q.val(),
            arms: self.arm.q.val(),
            there: true,
        };
        if self.of_result.q.val() {
            self.yes.next = self.now.q.val().there & self.same.q.val() & self.now.q.val().arms;
            self.keep.next = Told {
                round: self.next_round.q.val(),
                seqno: self.next_seqno.q.val(),
                arms: true,
                there: true,
            };
        }
        self.ok.d.next = self.yes.val();
        self.told.wr.en.next = self.step.q.val().get_bit(4)
            & self.yes.val()
            & (self.tells.q.val() | self.of_result.q.val());
        self.told.wr.addr.next = self.place.q.val();
        self.told.wr.data.next = self.keep.val().to_bits();

        // Stage 7: told.
        self.s_leave.done.next = self.step.q.val().get_bit(5) & !self.of_result.q.val();
        self.s_leave.ok.next = self.ok.q.val();
        self.s_result.done.next = self.step.q.val().get_bit(5) & self.of_result.q.val();
        self.s_result.ok.next = self.ok.q.val();
        self.s_result.round.next = self.next_round.q.val();
        if self.step.q.val().get_bit(5) {
            self.result_next.d.next = !self.of_result.q.val();
        }

        // A row is emptied.
        if self.ev_joined.val() {
            self.empties.d.next = 8.into();
            self.row.d.next = self.joined_row.val();
        }
        if self.empties.q.val().any() & !self.step.q.val().any() {
            self.empties.d.next = self.empties.q.val() - 1;
            self.told.wr.en.next = true;
            self.told.wr.addr.next = (bit_cast::<7, 4>(self.row.q.val()) << 3)
                | bit_cast::<7, 3>(self.empties.q.val().get_bits::<3>(0));
            self.told.wr.data.next = 0.into();
        }
        self.m_idle.next = !self.step.q.val().any()
            & !self.empties.q.val().any()
            & !self.s_leave.valid.val()
            & !self.s_result.valid.val();
    }
}
