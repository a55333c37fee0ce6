//! Which queue pairs want a turn.

use crate::blocks::{FifoAhead, FifoBram, RamReg};
use crate::bus::QueuePairIn;
use crate::prelude::*;

hdl_module! {
    /// List of the queue pairs that want a turn, in the order in which they came; each stands there
    /// at most once.
    /// One operation a clock: add a number, or mark that the first one was taken out. A bit for each
    /// queue pair, in block RAM, says whether it is in the list. A number that is added while it is
    /// there changes nothing.
    /// Doorbells come first and are never stalled, then starts of queue pairs, then op_*.
    /// Latency: 4 clocks from an operation to m_* if the list is short, otherwise 8.
    /// Stages: 0 to 2 the bit, 3 the queue, past its block RAM if that is empty, 4 m_*.
    /// While nobody takes m_* the number there and the one behind it stay; doorbells go on and only add behind them.
    #[module("card_send_list_q{}", 1usize << LQ)]
    pub struct CardSendList<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: an empty list; the bits must be cleaned.
        pub rst: Signal<In, Bit>,
        /// Clean a bit.
        pub clean: Signal<In, Bit>,
        /// Of this queue pair.
        pub clean_qpn: Signal<In, Bits<LQ>>,
        /// A queue pair has work: a doorbell.
        pub wake: QueuePairIn<LQ>,
        /// Add a number: its state is ReadyToSend. Between two of them there is a clock without wake.
        pub start_valid: Signal<In, Bit>,
        /// This one.
        pub start_qpn: Signal<In, Bits<LQ>>,
        /// Add a number, or mark it as taken out.
        pub op_valid: Signal<In, Bit>,
        /// Done.
        pub op_ready: Signal<Out, Bit>,
        /// It was taken out.
        pub op_remove: Signal<In, Bit>,
        /// This one.
        pub op_qpn: Signal<In, Bits<LQ>>,
        /// Somebody wants a turn.
        pub m_valid: Signal<Out, Bit>,
        /// The first one is taken out.
        pub m_ready: Signal<In, Bit>,
        /// The first one.
        pub m_qpn: Signal<Out, Bits<LQ>>,

        /// Who is in the list.
        listed: RamReg<1, LQ>,
        queue: FifoBram<LQ, LQ>,
        /// The first of the list.
        front: FifoAhead<LQ, 1>,
        direct: Signal<Local, Bit>,
        /// A start that waits.
        #[reset] start: DFF<Bit>,
        starting: DFF<Bits<LQ>>,
        /// Operation in stages 0 to 3.
        now: Signal<Local, Bit>,
        now_remove: Signal<Local, Bit>,
        now_qpn: Signal<Local, Bits<LQ>>,
        #[reset] valid_1: DFF<Bit>,
        #[reset] valid_2: DFF<Bit>,
        #[reset] valid_3: DFF<Bit>,
        remove_1: DFF<Bit>,
        remove_2: DFF<Bit>,
        remove_3: DFF<Bit>,
        qpn_1: DFF<Bits<LQ>>,
        qpn_2: DFF<Bits<LQ>>,
        qpn_3: DFF<Bits<LQ>>,
        /// One of the two operations before was on the same number; its bit since.
        recent: DFF<Bit>,
        recent_bit: DFF<Bit>,
        near: Signal<Local, Bit>,
        far: Signal<Local, Bit>,
        bit: Signal<Local, Bit>,
        /// The operation in stage 3 adds its number.
        #[reset] push: DFF<Bit>,
    }
}

impl<const LQ: usize> Logic for CardSendList<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 0: one operation.
        self.op_ready.next = !self.wake.valid.val() & !self.start.q.val() & !self.clean.val();
        self.now.next = self.op_valid.val();
        self.now_remove.next = self.op_remove.val();
        self.now_qpn.next = self.op_qpn.val();
        if self.start.q.val() {
            self.now.next = true;
            self.now_remove.next = false;
            self.now_qpn.next = self.starting.q.val();
            self.start.d.next = self.wake.valid.val();
        }
        if self.wake.valid.val() {
            self.now.next = true;
            self.now_remove.next = false;
            self.now_qpn.next = self.wake.qpn.val();
        }
        if self.clean.val() {
            self.now.next = true;
            self.now_remove.next = true;
            self.now_qpn.next = self.clean_qpn.val();
        }
        if self.start_valid.val() {
            self.start.d.next = true;
            self.starting.d.next = self.start_qpn.val();
        }
        self.listed.rd.addr.next = self.now_qpn.val();
        self.valid_1.d.next = self.now.val();
        self.remove_1.d.next = self.now_remove.val();
        self.qpn_1.d.next = self.now_qpn.val();

        // Stages 1 and 2: the bit. What the two operations before write is not in it.
        self.valid_2.d.next = self.valid_1.q.val();
        self.remove_2.d.next = self.remove_1.q.val();
        self.qpn_2.d.next = self.qpn_1.q.val();
        self.near.next = self.valid_2.q.val() & (self.qpn_2.q.val() == self.qpn_1.q.val());
        self.far.next = self.valid_3.q.val() & (self.qpn_3.q.val() == self.qpn_1.q.val());
        self.recent.d.next = self.near.val() | self.far.val();
        self.recent_bit.d.next = !self.remove_3.q.val();
        if self.near.val() {
            self.recent_bit.d.next = !self.remove_2.q.val();
        }
        self.valid_3.d.next = self.valid_2.q.val();
        self.remove_3.d.next = self.remove_2.q.val();
        self.qpn_3.d.next = self.qpn_2.q.val();
        self.bit.next = self.listed.rd.data.val().any();
        if self.recent.q.val() {
            self.bit.next = self.recent_bit.q.val();
        }
        self.push.d.next = self.valid_2.q.val() & !self.remove_2.q.val() & !self.bit.val();
        self.listed.wr.en.next = self.valid_2.q.val();
        self.listed.wr.addr.next = self.qpn_2.q.val();
        self.listed.wr.data.next = bit_cast::<1, 1>((!self.remove_2.q.val()).into());

        // Stage 3: into the queue, which has a place for every number, or past it.
        self.queue.almost_at.next = 0.into();
        self.direct.next = !self.queue.count.val().any() & self.front.s.ready.val();
        self.queue.s.valid.next = self.push.q.val() & !self.direct.val();
        self.queue.s.data.next = self.qpn_3.q.val();
        self.queue.m.ready.next = self.front.s.ready.val();
        self.front.s.valid.next =
            self.queue.m.valid.val() | (self.push.q.val() & self.direct.val());
        self.front.s.data.next = self.qpn_3.q.val();
        if self.queue.m.valid.val() {
            self.front.s.data.next = self.queue.m.data.val();
        }
        self.front.m.ready.next = self.m_ready.val();
        self.m_valid.next = self.front.m.valid.val();
        self.m_qpn.next = self.front.m.data.val();
    }
}
