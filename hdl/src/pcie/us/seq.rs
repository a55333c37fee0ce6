//! Sequence numbers that the PCI Express block returns.

use crate::blocks::AsyncRam;
use crate::prelude::*;

hdl_module! {
    /// Numbers of requests that have left, from both ports of the PCI Express block, one after the other; those of reads are
    /// kept back. A read has number 31 with the bit 5 that writes of its time do not have; only after a reset of the function
    /// a write can have the same. While numbers of such reads are out, the number counts as that of a read: so a write is
    /// never said to have left before it has, and is said so late at worst.
    /// Stages: 1 number registered; 2 port 0 first; 3 known whose it is. What comes at port 1 waits in a queue of 64, which
    /// leaves in every second clock without a number at port 0. It is enough: no more TLPs are out at once, and RQ takes one
    /// in two clocks at most.
    #[module("pcie_us_seq")]
    pub struct PcieUsSeq {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// No number is out any more.
        pub clear: Signal<In, Bit>,
        /// A read begins; pulse.
        pub s_read: Signal<In, Bit>,
        /// With it: bit 5 of its number.
        pub s_read_lap: Signal<In, Bit>,
        /// Number of a request that has left.
        pub pcie_rq_seq_num0: Signal<In, Bits<6>>,
        /// It is there; pulse.
        pub pcie_rq_seq_num_vld0: Signal<In, Bit>,
        /// Another one.
        pub pcie_rq_seq_num1: Signal<In, Bits<6>>,
        /// It is there; pulse.
        pub pcie_rq_seq_num_vld1: Signal<In, Bit>,
        /// Number of a write that has left.
        pub m_seq: Signal<Out, Bits<6>>,
        /// It has; pulse.
        pub m_seq_valid: Signal<Out, Bit>,
        /// Some number has come; pulse.
        pub m_some: Signal<Out, Bit>,

        /// Numbers as they came.
        #[reset] valid_0: DFF<Bit>,
        seq_0: DFF<Bits<6>>,
        #[reset] valid_1: DFF<Bit>,
        seq_1: DFF<Bits<6>>,
        /// Queue of those at port 1; there is one.
        second: AsyncRam<6, 6>,
        #[reset] head: DFF<Bits<6>>,
        #[reset] tail: DFF<Bits<6>>,
        #[reset] some: DFF<Bit>,
        pop: Signal<Local, Bit>,
        #[reset] a_valid: DFF<Bit>,
        a_seq: DFF<Bits<6>>,
        /// Reads that are out, with bit 5 clear, set.
        #[reset] out_0: DFF<Bits<7>>,
        #[reset] out_1: DFF<Bits<7>>,
        /// There are some.
        #[reset] some_0: DFF<Bit>,
        #[reset] some_1: DFF<Bit>,
        of_read: Signal<Local, Bit>,
        more_0: Signal<Local, Bit>,
        more_1: Signal<Local, Bit>,
        less_0: Signal<Local, Bit>,
        less_1: Signal<Local, Bit>,
        #[reset] valid: DFF<Bit>,
        seq: DFF<Bits<6>>,
    }
}

impl Logic for PcieUsSeq {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid_0.d.next = self.pcie_rq_seq_num_vld0.val();
        self.seq_0.d.next = self.pcie_rq_seq_num0.val();
        self.valid_1.d.next = self.pcie_rq_seq_num_vld1.val();
        self.seq_1.d.next = self.pcie_rq_seq_num1.val();
        self.second.wr.en.next = self.valid_1.q.val();
        self.second.wr.addr.next = self.tail.q.val();
        self.second.wr.data.next = self.seq_1.q.val();
        self.second.rd.addr.next = self.head.q.val();
        if self.valid_1.q.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        self.pop.next = self.some.q.val() & !self.valid_0.q.val();
        self.some.d.next = (self.head.q.val() != self.tail.q.val()) & !self.pop.val();
        if self.pop.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        self.a_valid.d.next = self.valid_0.q.val() | self.some.q.val();
        self.a_seq.d.next = self.second.rd.data.val();
        if self.valid_0.q.val() {
            self.a_seq.d.next = self.seq_0.q.val();
        }
        self.m_some.next = self.a_valid.q.val();

        self.of_read.next = self.a_seq.q.val().get_bits::<5>(0).all()
            & ((self.a_seq.q.val().get_bit(5) & self.some_1.q.val())
                | (!self.a_seq.q.val().get_bit(5) & self.some_0.q.val()));
        self.more_0.next = self.s_read.val() & !self.s_read_lap.val();
        self.more_1.next = self.s_read.val() & self.s_read_lap.val();
        self.less_0.next =
            self.a_valid.q.val() & self.of_read.val() & !self.a_seq.q.val().get_bit(5);
        self.less_1.next =
            self.a_valid.q.val() & self.of_read.val() & self.a_seq.q.val().get_bit(5);
        if self.more_0.val() & !self.less_0.val() & !self.out_0.q.val().all() {
            self.out_0.d.next = self.out_0.q.val() + 1;
        }
        if self.less_0.val() & !self.more_0.val() {
            self.out_0.d.next = self.out_0.q.val() - 1;
        }
        if self.more_1.val() & !self.less_1.val() & !self.out_1.q.val().all() {
            self.out_1.d.next = self.out_1.q.val() + 1;
        }
        if self.less_1.val() & !self.more_1.val() {
            self.out_1.d.next = self.out_1.q.val() - 1;
        }
        self.some_0.d.next = self.more_0.val()
            | (self.some_0.q.val() & !(self.less_0.val() & (self.out_0.q.val() == 1)));
        self.some_1.d.next = self.more_1.val()
            | (self.some_1.q.val() & !(self.less_1.val() & (self.out_1.q.val() == 1)));
        if self.clear.val() {
            self.some_0.d.next = false;
            self.some_1.d.next = false;
            self.out_0.d.next = 0.into();
            self.out_1.d.next = 0.into();
        }
        self.valid.d.next = self.a_valid.q.val() & !self.of_read.val();
        self.seq.d.next = self.a_seq.q.val();
        self.m_seq.next = self.seq.q.val();
        self.m_seq_valid.next = self.valid.q.val();
    }
}
