//! Acknowledgements that wait.

use crate::blocks::{Pow2, RamReg};
use crate::bus::{Ack, AckToSendOut};
use crate::prelude::*;
use tributary_protocol::xud::Reply;

hdl_record! {
    /// An acknowledgement that waits.
    pub struct WaitingAck {
        /// Destination node.
        node: Bits<20>,
        /// Destination queue pair.
        peer: Bits<24>,
        /// Packet sequence number of the request.
        psn: Bits<24>,
        /// What it says.
        syndrome: Bits<8>,
        /// Window of the request.
        win_id: Bits<16>,
        /// Epoch of the request.
        epoch: Bits<16>,
        /// Number of the request in its window.
        msn: Bits<32>,
        /// Version and flags of the request.
        vf: Bits<8>,
        /// Queue pair that answers.
        src: Bits<24>,
        /// It is of a notification, and not for the line.
        notify: Bit,
        /// The request came marked (CL-4).
        marked: Bit,
    }
}

hdl_module! {
    /// Acknowledgements on their way to xud_tx: up to 2^A, those that leave at once and those that
    /// wait until their message has landed, each kind in order, in two rings of one block RAM.
    /// One that waits may leave once there were as many s_landed as its place among those that wait:
    /// its completion is ordered in host memory (XUD-4). The two kinds take turns. A syndrome of 0
    /// waits like any other, but nothing is sent. What is of a notification (BW-3) leaves at m_told instead, when its turn
    /// comes.
    /// Latency: 6 clocks from s_valid or s_landed to m_ak_valid; an acknowledgement each 5 clocks.
    /// B = A + 1.
    #[module("card_recv_acks_d{}", 1usize << A)]
    pub struct CardRecvAcks<const A: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties both rings.
        pub rst: Signal<In, Bit>,
        /// An acknowledgement; pulse, not while full.
        pub s_valid: Signal<In, Bit>,
        /// It waits until its message has landed.
        pub s_lands: Signal<In, Bit>,
        /// A record WaitingAck.
        pub s_data: Signal<In, Bits<174>>,
        /// The oldest message under way has landed; pulse.
        pub s_landed: Signal<In, Bit>,
        /// There are 2^A.
        pub full: Signal<Out, Bit>,
        /// There is none.
        pub empty: Signal<Out, Bit>,
        /// Acknowledgements for the line.
        pub m_ak: AckToSendOut,
        /// A notification is decided, and has landed if it was taken; pulse.
        pub m_told: Signal<Out, Bit>,
        /// With it: it was.
        pub m_told_ok: Signal<Out, Bit>,

        /// Both rings: those that wait in the upper half.
        words: RamReg<{ WaitingAck::BITS }, B>,
        oldest: Signal<Local, WaitingAck>,
        /// Next place to read and to write of each ring.
        #[reset] now_head: DFF<Bits<A>>,
        #[reset] now_tail: DFF<Bits<A>>,
        #[reset] wait_head: DFF<Bits<A>>,
        #[reset] wait_tail: DFF<Bits<A>>,
        /// Those that leave at once; those that wait and have landed; all.
        #[reset] now_count: DFF<Bits<B>>,
        #[reset] landed_count: DFF<Bits<B>>,
        #[reset] count: DFF<Bits<B>>,
        /// Clocks since a word was chosen; 0: none is.
        #[reset] step: DFF<Bits<3>>,
        /// The word chosen is of those that wait; so was the last one.
        #[reset] of_wait: DFF<Bit>,
        /// It says nothing: its completion was all that it waited for.
        silent: DFF<Bit>,
        told: DFF<Bit>,
        told_ok: DFF<Bit>,
        ok: Param<{ Reply::Ok.syndrome() as usize }, 8>,
        shown: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        now_push: Signal<Local, Bit>,
        wait_push: Signal<Local, Bit>,
        now_pop: Signal<Local, Bit>,
        wait_pop: Signal<Local, Bit>,
        depth: Pow2<B, A>,
    }
}

impl<const A: usize, const B: usize> Logic for CardRecvAcks<A, B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.full.next = self.count.q.val() == self.depth.val();
        self.empty.next = !self.count.q.val().any();
        self.now_push.next = self.s_valid.val() & !self.s_lands.val();
        self.wait_push.next = self.s_valid.val() & self.s_lands.val();

        self.words.wr.en.next = self.s_valid.val();
        self.words.wr.data.next = self.s_data.val();
        self.words.wr.addr.next = bit_cast::<B, A>(self.now_tail.q.val());
        if self.s_lands.val() {
            self.words.wr.addr.next = bit_cast::<B, A>(self.wait_tail.q.val()) | self.depth.val();
        }
        self.words.rd.addr.next = bit_cast::<B, A>(self.now_head.q.val());
        if self.of_wait.q.val() {
            self.words.rd.addr.next = bit_cast::<B, A>(self.wait_head.q.val()) | self.depth.val();
        }

        self.shown.next = self.step.q.val().get_bit(2);
        self.oldest.next = self.words.rd.data.val().into();
        self.silent.d.next = !self.oldest.val().syndrome.any();
        self.told.d.next = self.oldest.val().notify;
        self.told_ok.d.next = self.oldest.val().syndrome == self.ok.val();
        self.m_ak.valid.next = self.shown.val() & !self.silent.q.val() & !self.told.q.val();
        self.m_told.next = self.shown.val() & self.told.q.val();
        self.m_told_ok.next = self.told_ok.q.val();
        self.taken.next =
            self.shown.val() & (self.m_ak.ready.val() | self.silent.q.val() | self.told.q.val());
        self.now_pop.next = self.taken.val() & !self.of_wait.q.val();
        self.wait_pop.next = self.taken.val() & self.of_wait.q.val();
        if self.step.q.val().any() & !self.shown.val() {
            self.step.d.next = self.step.q.val() + 1;
        }
        if !self.step.q.val().any() {
            if self.landed_count.q.val().any()
                & (!self.of_wait.q.val() | !self.now_count.q.val().any())
            {
                self.of_wait.d.next = true;
                self.step.d.next = 1.into();
            } else if self.now_count.q.val().any() {
                self.of_wait.d.next = false;
                self.step.d.next = 1.into();
            }
        }
        if self.taken.val() {
            self.step.d.next = 0.into();
        }

        if self.now_push.val() {
            self.now_tail.d.next = self.now_tail.q.val() + 1;
        }
        if self.wait_push.val() {
            self.wait_tail.d.next = self.wait_tail.q.val() + 1;
        }
        if self.now_pop.val() {
            self.now_head.d.next = self.now_head.q.val() + 1;
        }
        if self.wait_pop.val() {
            self.wait_head.d.next = self.wait_head.q.val() + 1;
        }
        if self.now_push.val() & !self.now_pop.val() {
            self.now_count.d.next = self.now_count.q.val() + 1;
        }
        if self.now_pop.val() & !self.now_push.val() {
            self.now_count.d.next = self.now_count.q.val() - 1;
        }
        if self.s_landed.val() & !self.wait_pop.val() {
            self.landed_count.d.next = self.landed_count.q.val() + 1;
        }
        if self.wait_pop.val() & !self.s_landed.val() {
            self.landed_count.d.next = self.landed_count.q.val() - 1;
        }
        if self.s_valid.val() & !self.taken.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.taken.val() & !self.s_valid.val() {
            self.count.d.next = self.count.q.val() - 1;
        }

        self.m_ak.of.next = Ack {
            node: self.oldest.val().node,
            peer: self.oldest.val().peer,
            psn: self.oldest.val().psn,
            syndrome: self.oldest.val().syndrome,
            echo: self.oldest.val().vf.get_bits::<4>(4).any(),
            win_id: self.oldest.val().win_id,
            epoch: self.oldest.val().epoch,
            msn: self.oldest.val().msn,
            vf: self.oldest.val().vf,
            src: self.oldest.val().src,
            marked: self.oldest.val().marked,
        };
    }
}
