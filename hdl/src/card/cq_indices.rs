//! Indices of the completion rings.

use crate::blocks::{FifoAhead, RamReg, RamRegForward};
use crate::bus::{ContextIn, DoorbellIn, QueuePairIn, ReserveIn};
use crate::prelude::*;
use crate::record::{ContextShape, RingBase};

/// What is done with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Reset,
    Complete,
    Arm,
    Done,
    Cancel,
    SlotA,
    SlotB,
    Number,
}

hdl_record! {
    /// Indices of a ring.
    struct Indices {
        /// Slots ever given away, modulo 2^16.
        issued: Bits<16>,
        /// Completions ever taken by software.
        consumer: Bits<16>,
        /// Completions that have a number.
        numbered: Bits<16>,
        /// Completions that are done.
        done: Bits<16>,
        /// The index of the latest doorbell that asks for an interrupt.
        armed_at: Bits<16>,
        /// An interrupt is asked for.
        armed: Bit,
    }
}

hdl_record! {
    /// What does not change of a ring.
    struct Shape {
        /// log2 of its entries.
        log: Bits<4>,
        /// Interrupt vector.
        vector: Bits<3>,
        /// The ring is there.
        there: Bit,
    }
}

hdl_record! {
    /// A doorbell that waits.
    struct Waiting {
        /// New index.
        index: Bits<16>,
        /// It asks for an interrupt.
        arm: Bit,
    }
}

hdl_record! {
    /// An operation on a ring.
    struct OnRing<const Q: usize> {
        /// Which.
        kind: Bits<3>,
        /// Queue pair.
        qpn: Bits<Q>,
        /// Index of the doorbell.
        index: Bits<16>,
    }
}

hdl_module! {
    /// Indices of 2^LQ completion rings: slots given away, taken by software, numbered, done, and
    /// when to interrupt. One operation each 2 clocks: first a reset of indices, then completions to
    /// number (never more than one in 8 clocks), doorbells, completions done, slots given back, and
    /// slots asked for. A slot that the sender asks for goes before what is done or given back, but
    /// not two in front of the same, so that its turns take no longer while frames arrive.
    /// Stages, 2 clocks each: chosen; the indices are read; compared and counted; written back. Those
    /// of the two operations in front are forwarded. What was chosen is answered 5 clocks later.
    /// Doorbells and slots given back wait in queues of 32 each; a doorbell for which there is no
    /// room, after more than 48 without a pause, counts as bad. Reset makes all rings absent, one a
    /// clock; what comes until then waits, but for doorbells, which are bad, and contexts.
    #[module("card_cq_indices_q{}", 1usize << LQ)]
    pub struct CardCqIndices<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// Doorbells.
        pub db: DoorbellIn<LQ>,
        /// The sender asks for a completion slot.
        pub a_rsv: ReserveIn<LQ>,
        /// The sender gives a slot back.
        pub a_cancel: QueuePairIn<LQ>,
        /// The receiver asks for a completion slot.
        pub b_rsv: ReserveIn<LQ>,
        /// A completion waits for its number.
        pub num_valid: Signal<In, Bit>,
        /// The next one may be numbered; does not depend on num_valid.
        pub num_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub num_qpn: Signal<In, Bits<LQ>>,
        /// The number is here; it stays until the next one.
        pub m_num_valid: Signal<Out, Bit>,
        /// The number.
        pub m_num: Signal<Out, Bits<16>>,
        /// Phase bit of its entry.
        pub m_phase: Signal<Out, Bit>,
        /// Number of the entry in its ring.
        pub m_entry: Signal<Out, Bits<15>>,
        /// Address of the ring, in units of 64 bytes.
        pub m_base: Signal<Out, Bits<58>>,
        /// A completion is done in dma_write; at most 16 that are not yet taken.
        pub end_valid: Signal<In, Bit>,
        /// Queue pair.
        pub end_qpn: Signal<In, Bits<LQ>>,
        /// One of them is taken.
        pub end_taken: Signal<Out, Bit>,
        /// An interrupt is due.
        pub irq_valid: Signal<Out, Bit>,
        /// Of this vector.
        pub irq_vector: Signal<Out, Bits<3>>,
        /// A doorbell was ignored.
        pub ev_bad_doorbell: Signal<Out, Bit>,
        /// Nothing waits or is under way.
        pub m_idle: Signal<Out, Bit>,

        indices: RamReg<{ Indices::BITS }, LQ>,
        shapes: RamRegForward<{ Shape::BITS }, LQ>,
        /// Of each ring: its address.
        bases: RamReg<58, LQ>,
        /// Doorbells that wait; their queue pairs beside them.
        doorbells: FifoAhead<{ Waiting::BITS }, 5>,
        comes: Signal<Local, Waiting>,
        waits: Signal<Local, Waiting>,
        set: Signal<Local, Shape>,
        shape: Signal<Local, Shape>,
        context_shape: Signal<Local, ContextShape>,
        context_base: Signal<Local, RingBase>,
        doorbell_qpns: FifoAhead<LQ, 5>,
        cancels: FifoAhead<LQ, 5>,
        ends: FifoAhead<LQ, 4>,
        /// The rings have been made absent since reset.
        #[reset] cleared: DFF<Bit>,
        #[reset] sweep: DFF<Bits<LQ>>,
        /// Operations are chosen in clocks in which it is low.
        #[reset] beat: DFF<Bit>,
        /// An operation is chosen in this clock.
        #[reset] choose: DFF<Bit>,
        /// The indices of a queue pair are to be reset.
        #[reset] reset: DFF<Bit>,
        reset_qpn: DFF<Bits<LQ>>,
        /// A doorbell for which there was no room.
        #[reset] refused: DFF<Bit>,
        /// A doorbell that was chosen leaves its queue a clock later: nothing is chosen in that clock.
        #[reset] db_taken: DFF<Bit>,
        ring: Signal<Local, Bit>,
        /// Slots being asked for.
        #[reset] a_busy: DFF<Bit>,
        #[reset] b_busy: DFF<Bit>,
        a_asks: Signal<Local, Bit>,
        b_asks: Signal<Local, Bit>,
        /// The latest slot was for b.
        #[reset] last_b: DFF<Bit>,
        slot_a: Signal<Local, Bit>,
        /// It goes first; one went in front of what is done or given back.
        first_a: Signal<Local, Bit>,
        #[reset] owed: DFF<Bit>,
        slot_b: Signal<Local, Bit>,
        /// Stage 1, being read.
        #[reset] s1_valid: DFF<Bit>,
        s1: DFF<OnRing<LQ>>,
        /// Stage 2.
        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<OnRing<LQ>>,
        /// It is a number.
        s2_number: DFF<Bit>,
        /// The operation in front, or the one before that, was on the same ring.
        s2_near1: DFF<Bit>,
        s2_near2: DFF<Bit>,
        word: Signal<Local, Indices>,
        was: DFF<Indices>,
        /// Completions that a doorbell takes, and those that it may take.
        moved: DFF<Bits<16>>,
        can_move: DFF<Bits<16>>,
        there: DFF<Bit>,
        vector: DFF<Bits<3>>,
        /// Ones from bit log2 of the ring's entries up; that bit alone.
        above: DFF<Bits<16>>,
        pass: DFF<Bits<16>>,
        base: DFF<Bits<58>>,
        /// What an operation compares with.
        in_use: DFF<Bits<16>>,
        since_arm: Signal<Local, Bits<16>>,
        since_armed: Signal<Local, Bits<16>>,
        has_room: Signal<Local, Bit>,
        /// Stage 3: what is written back.
        #[reset] s3_valid: DFF<Bit>,
        s3_qpn: DFF<Bits<LQ>>,
        s3_word: DFF<Indices>,
        n: Signal<Local, Indices>,
        /// What was, one operation ago.
        s4_word: DFF<Indices>,
        #[reset] a_done: DFF<Bit>,
        #[reset] b_done: DFF<Bit>,
        rsv_ok: DFF<Bit>,
        #[reset] number_valid: DFF<Bit>,
        number: DFF<Bits<16>>,
        phase: DFF<Bit>,
        entry: DFF<Bits<15>>,
        number_base: DFF<Bits<58>>,
        #[reset] due: DFF<Bit>,
        due_vector: DFF<Bits<3>>,
        #[reset] bad: DFF<Bit>,
        ones: Param<0xffff, 16>,
        /// Operations.
        op_resets: Param<{ Operation::Reset as usize }, 3>,
        op_completes: Param<{ Operation::Complete as usize }, 3>,
        op_arms: Param<{ Operation::Arm as usize }, 3>,
        op_dones: Param<{ Operation::Done as usize }, 3>,
        op_cancels_one: Param<{ Operation::Cancel as usize }, 3>,
        op_slots_a: Param<{ Operation::SlotA as usize }, 3>,
        op_slots_b: Param<{ Operation::SlotB as usize }, 3>,
        op_numbers: Param<{ Operation::Number as usize }, 3>,
        one: Param<1, 16>,
    }
}

impl<const LQ: usize> Logic for CardCqIndices<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.d.next = !self.beat.q.val();

        // Contexts; after reset, none.
        self.shapes.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 0);
        self.shapes.wr.addr.next = self.cfg.of.val().qpn;
        self.context_shape.next = self.cfg.of.val().data.into();
        self.set.next = Shape {
            log: self.context_shape.val().complete_log,
            vector: self.context_shape.val().vector,
            there: self.context_shape.val().state.any(),
        };
        self.shapes.wr.data.next = self.set.val().to_bits();
        self.bases.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 4);
        self.bases.wr.addr.next = self.cfg.of.val().qpn;
        self.context_base.next = self.cfg.of.val().data.into();
        self.bases.wr.data.next = self.context_base.val().entries_of_64;
        if !self.cleared.q.val() {
            self.shapes.wr.en.next = true;
            self.shapes.wr.addr.next = self.sweep.q.val();
            self.shapes.wr.data.next = 0.into();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.cleared.d.next = self.sweep.q.val().all();
        }
        if self.cfg.valid.val() & (self.cfg.of.val().word == 6) {
            self.reset.d.next = true;
            self.reset_qpn.d.next = self.cfg.of.val().qpn;
        }

        // What comes as a pulse waits.
        self.ring.next = self.db.valid.val() & self.db.of.val().kind.get_bit(1);
        self.doorbells.s.valid.next = self.ring.val() & self.cleared.q.val();
        self.comes.next = Waiting {
            index: self.db.of.val().index,
            arm: self.db.of.val().kind.get_bit(0),
        };
        self.doorbells.s.data.next = self.comes.val().to_bits();
        self.waits.next = self.doorbells.m.data.val().into();
        self.doorbell_qpns.s.valid.next = self.ring.val() & self.cleared.q.val();
        self.doorbell_qpns.s.data.next = self.db.of.val().qpn;
        self.refused.d.next =
            self.ring.val() & !(self.cleared.q.val() & self.doorbells.s.ready.val());
        self.cancels.s.valid.next = self.a_cancel.valid.val();
        self.cancels.s.data.next = self.a_cancel.qpn.val();
        self.ends.s.valid.next = self.end_valid.val();
        self.ends.s.data.next = self.end_qpn.val();

        // Stage 0: an operation is chosen. Those that ask for slots take turns.
        self.choose.d.next = self.beat.q.val() & (self.cleared.q.val() | self.sweep.q.val().all());
        self.num_ready.next = self.choose.q.val() & !self.reset.q.val();
        self.a_asks.next = self.a_rsv.valid.val() & !self.a_busy.q.val();
        self.b_asks.next = self.b_rsv.valid.val() & !self.b_busy.q.val();
        self.slot_a.next = self.a_asks.val() & (self.last_b.q.val() | !self.b_asks.val());
        self.slot_b.next = self.b_asks.val() & (!self.last_b.q.val() | !self.a_asks.val());
        self.first_a.next = self.slot_a.val() & !self.owed.q.val();
        self.doorbells.m.ready.next = self.db_taken.q.val();
        self.doorbell_qpns.m.ready.next = self.db_taken.q.val();
        self.db_taken.d.next = false;
        self.ends.m.ready.next = false;
        self.end_taken.next = false;
        self.cancels.m.ready.next = false;
        if self.choose.q.val() {
            self.s1_valid.d.next = true;
            self.s1.d.next.index = self.waits.val().index;
            if self.reset.q.val() {
                self.s1.d.next.kind = self.op_resets.val();
                self.s1.d.next.qpn = self.reset_qpn.q.val();
                self.reset.d.next = self.cfg.valid.val() & (self.cfg.of.val().word == 6);
            } else if self.num_valid.val() {
                self.s1.d.next.kind = self.op_numbers.val();
                self.s1.d.next.qpn = self.num_qpn.val();
            } else if self.doorbells.m.valid.val() {
                self.s1.d.next.kind = self.op_completes.val();
                if self.waits.val().arm {
                    self.s1.d.next.kind = self.op_arms.val();
                }
                self.s1.d.next.qpn = self.doorbell_qpns.m.data.val();
                self.db_taken.d.next = true;
            } else if self.ends.m.valid.val() & !self.first_a.val() {
                self.owed.d.next = false;
                self.s1.d.next.kind = self.op_dones.val();
                self.s1.d.next.qpn = self.ends.m.data.val();
                self.ends.m.ready.next = true;
                self.end_taken.next = true;
            } else if self.cancels.m.valid.val() & !self.first_a.val() {
                self.owed.d.next = false;
                self.s1.d.next.kind = self.op_cancels_one.val();
                self.s1.d.next.qpn = self.cancels.m.data.val();
                self.cancels.m.ready.next = true;
            } else if self.slot_a.val() {
                self.owed.d.next = self.ends.m.valid.val() | self.cancels.m.valid.val();
                self.s1.d.next.kind = self.op_slots_a.val();
                self.s1.d.next.qpn = self.a_rsv.qpn.val();
                self.a_busy.d.next = true;
                self.last_b.d.next = false;
            } else if self.slot_b.val() {
                self.s1.d.next.kind = self.op_slots_b.val();
                self.s1.d.next.qpn = self.b_rsv.qpn.val();
                self.b_busy.d.next = true;
                self.last_b.d.next = true;
            } else {
                self.s1_valid.d.next = false;
            }
        }

        // Stage 1: the memories are addressed; the operations in front may still be going to write.
        self.indices.rd.addr.next = self.s1.q.val().qpn;
        self.shapes.rd.addr.next = self.s1.q.val().qpn;
        self.bases.rd.addr.next = self.s1.q.val().qpn;
        if !self.beat.q.val() {
            self.s2_valid.d.next = self.s1_valid.q.val();
            self.s2.d.next.kind = self.s1.q.val().kind;
            self.s2_number.d.next = self.s1_valid.q.val() & self.s1.q.val().kind.all();
            self.s2.d.next = self.s1.q.val();
            self.s2_near1.d.next =
                self.s2_valid.q.val() & (self.s2.q.val().qpn == self.s1.q.val().qpn);
            self.s2_near2.d.next =
                self.s3_valid.q.val() & (self.s3_qpn.q.val() == self.s1.q.val().qpn);
        }

        // Stage 2, first clock: the newest indices.
        self.shape.next = self.shapes.rd.data.val().into();
        self.word.next = self.indices.rd.data.val().into();
        if self.s2_near1.q.val() {
            self.word.next = self.s3_word.q.val();
        } else if self.s2_near2.q.val() {
            self.word.next = self.s4_word.q.val();
        }
        if self.beat.q.val() {
            self.was.d.next = self.word.val();
            self.in_use.d.next = self.word.val().issued - self.word.val().consumer;
            self.moved.d.next = self.s2.q.val().index - self.word.val().consumer;
            self.can_move.d.next = self.word.val().numbered - self.word.val().consumer;
            self.there.d.next = self.shape.val().there;
            self.vector.d.next = self.shape.val().vector;
            self.above.d.next = self.ones.val() << self.shape.val().log;
            self.pass.d.next = self.one.val() << self.shape.val().log;
            self.base.d.next = self.bases.rd.data.val();
        }

        // Stage 2, second clock: compared and counted.
        self.has_room.next = self.there.q.val() & !(self.in_use.q.val() & self.above.q.val()).any();
        // Completions done beyond the index, less 1: below 2^15 if there are any.
        self.since_arm.next = self.was.q.val().done + !self.s2.q.val().index;
        self.since_armed.next = self.was.q.val().done - self.was.q.val().armed_at;
        self.n.next = self.was.q.val();
        self.a_done.d.next = false;
        self.b_done.d.next = false;
        self.number_valid.d.next = false;
        self.due.d.next = false;
        self.bad.d.next = self.refused.q.val();
        if self.s2_valid.q.val() & !self.beat.q.val() {
            self.rsv_ok.d.next = self.has_room.val();
            self.due_vector.d.next = self.vector.q.val();
            if (self.s2.q.val().kind == self.op_completes.val())
                & !(self.there.q.val() & (self.moved.q.val() <= self.can_move.q.val()))
            {
                self.bad.d.next = true;
            }
            if self.s2.q.val().kind == self.op_arms.val() {
                self.due.d.next = self.there.q.val() & !self.since_arm.val().get_bit(15);
                self.bad.d.next = self.refused.q.val() | !self.there.q.val();
            }
            if self.s2.q.val().kind == self.op_dones.val() {
                self.due.d.next = self.was.q.val().armed & !self.since_armed.val().get_bit(15);
            }
            self.a_done.d.next = self.s2.q.val().kind == self.op_slots_a.val();
            self.b_done.d.next = self.s2.q.val().kind == self.op_slots_b.val();
        }
        // What is written back counts with s3_valid alone.
        if self.s2.q.val().kind == self.op_resets.val() {
            self.n.next = Indices {
                issued: 0.into(),
                consumer: 0.into(),
                numbered: 0.into(),
                done: 0.into(),
                armed: false,
                ..self.was.q.val()
            };
        }
        if (self.s2.q.val().kind == self.op_completes.val())
            & self.there.q.val()
            & (self.moved.q.val() <= self.can_move.q.val())
        {
            self.n.next.consumer = self.s2.q.val().index;
        }
        if (self.s2.q.val().kind == self.op_arms.val()) & self.there.q.val() {
            self.n.next.armed_at = self.s2.q.val().index;
            self.n.next.armed = self.since_arm.val().get_bit(15);
        }
        if self.s2.q.val().kind == self.op_dones.val() {
            self.n.next.done = self.was.q.val().done + 1;
            if self.was.q.val().armed & !self.since_armed.val().get_bit(15) {
                self.n.next.armed = false;
            }
        }
        if self.s2.q.val().kind == self.op_cancels_one.val() {
            self.n.next.issued = self.was.q.val().issued - 1;
        }
        if ((self.s2.q.val().kind == self.op_slots_a.val())
            | (self.s2.q.val().kind == self.op_slots_b.val()))
            & self.has_room.val()
        {
            self.n.next.issued = self.was.q.val().issued + 1;
        }
        if self.s2.q.val().kind == self.op_numbers.val() {
            self.n.next.numbered = self.was.q.val().numbered + 1;
        }
        if self.s2_number.q.val() & !self.beat.q.val() {
            self.number_valid.d.next = true;
            self.number.d.next = self.was.q.val().numbered;
            self.phase.d.next = !(self.was.q.val().numbered & self.pass.q.val()).any();
            self.entry.d.next = (self.was.q.val().numbered & !self.above.q.val()).get_bits::<15>(0);
            self.number_base.d.next = self.base.q.val();
        }

        // Stage 3: written back.
        if !self.beat.q.val() {
            self.s3_valid.d.next = self.s2_valid.q.val();
            self.s3_qpn.d.next = self.s2.q.val().qpn;
            self.s3_word.d.next = self.n.val();
            self.s4_word.d.next = self.s3_word.q.val();
        }
        self.indices.wr.en.next = self.s3_valid.q.val() & self.beat.q.val();
        self.indices.wr.addr.next = self.s3_qpn.q.val();
        self.indices.wr.data.next = self.s3_word.q.val().to_bits();

        self.a_rsv.done.next = self.a_done.q.val();
        self.a_rsv.ok.next = self.rsv_ok.q.val();
        if self.a_done.q.val() {
            self.a_busy.d.next = false;
        }
        self.b_rsv.done.next = self.b_done.q.val();
        self.b_rsv.ok.next = self.rsv_ok.q.val();
        if self.b_done.q.val() {
            self.b_busy.d.next = false;
        }
        self.m_num_valid.next = self.number_valid.q.val();
        self.m_num.next = self.number.q.val();
        self.m_phase.next = self.phase.q.val();
        self.m_entry.next = self.entry.q.val();
        self.m_base.next = self.number_base.q.val();
        self.irq_valid.next = self.due.q.val();
        self.irq_vector.next = self.due_vector.q.val();
        self.ev_bad_doorbell.next = self.bad.q.val();
        self.m_idle.next = self.cleared.q.val()
            & !self.reset.q.val()
            & !self.doorbells.m.valid.val()
            & !self.ends.m.valid.val()
            & !self.cancels.m.valid.val()
            & !self.s1_valid.q.val()
            & !self.s2_valid.q.val()
            & !self.s3_valid.q.val()
            & !self.number_valid.q.val();
    }
}
