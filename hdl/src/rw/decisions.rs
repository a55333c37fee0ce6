//! Decisions on their way out.

use crate::blocks::{FifoReg, RamRegSteps};
use crate::prelude::*;

hdl_module! {
    /// Queue of decisions: a decision waits beside what it is about, which is known two clocks
    /// before it and stands in block RAM. Latency: 1 clock from s to m.
    /// While m_* is not taken reason and packet stay. One packet stands behind them in the RAM's array register; its
    /// entry may be written anew.
    #[module("rw_decisions")]
    pub struct RwDecisions {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// A packet is decided two clocks later.
        pub p_valid: Signal<In, Bit>,
        /// Its window.
        pub p_wptr: Signal<In, Bits<16>>,
        /// Incarnation of the window.
        pub p_gen: Signal<In, Bits<16>>,
        /// Where its payload goes.
        pub p_addr: Signal<In, Bits<64>>,
        /// Key of the region.
        pub p_rkey: Signal<In, Bits<32>>,
        /// Length of its payload.
        pub p_len: Signal<In, Bits<13>>,
        /// A decision; the queue must have room.
        pub s_valid: Signal<In, Bit>,
        /// Why the packet is dropped; 0: it is accepted.
        pub s_reason: Signal<In, Bits<4>>,
        /// Decisions that wait.
        pub count: Signal<Out, Bits<16>>,
        /// A decision waits.
        pub m_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_ready: Signal<In, Bit>,
        /// Why the packet is dropped; 0: it is accepted.
        pub m_reason: Signal<Out, Bits<4>>,
        /// Window.
        pub m_wptr: Signal<Out, Bits<16>>,
        /// Incarnation of the window.
        pub m_gen: Signal<Out, Bits<16>>,
        /// Where the payload goes.
        pub m_addr: Signal<Out, Bits<64>>,
        /// Key of the region.
        pub m_rkey: Signal<Out, Bits<32>>,
        /// Length of the payload.
        pub m_len: Signal<Out, Bits<13>>,

        reasons: FifoReg<4, 4>,
        packets: RamRegSteps<141, 5>,
        /// Place of the next packet.
        #[reset] tail: DFF<Bits<5>>,
        /// Place of the first packet that has not been taken out of the array.
        #[reset] head: DFF<Bits<5>>,
        /// A packet stands between the array and m_*.
        #[reset] taken: DFF<Bit>,
        /// What is at m_* may change.
        free: Signal<Local, Bit>,
    }
}

impl Logic for RwDecisions {
    #[hdl_gen]
    fn update(&mut self) {
        self.packets.wr.en.next = self.p_valid.val();
        self.packets.wr.addr.next = self.tail.q.val();
        self.packets.wr.data.next = bit_cast::<141, 16>(self.p_wptr.val())
            | (bit_cast::<141, 16>(self.p_gen.val()) << 16)
            | (bit_cast::<141, 64>(self.p_addr.val()) << 32)
            | (bit_cast::<141, 32>(self.p_rkey.val()) << 96)
            | (bit_cast::<141, 13>(self.p_len.val()) << 128);
        if self.p_valid.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }

        self.reasons.s.valid.next = self.s_valid.val();
        self.reasons.s.data.next = self.s_reason.val();
        self.reasons.m.ready.next = self.m_ready.val();
        self.count.next = self.reasons.count.val();
        self.free.next = self.m_ready.val() | !self.reasons.m.valid.val();
        self.packets.rd_addr.next = self.head.q.val();
        self.packets.rd_en.next = self.free.val();
        self.packets.array_en.next = self.free.val() | !self.taken.q.val();
        if self.packets.array_en.val() {
            self.taken.d.next = self.head.q.val() != self.tail.q.val();
            if self.head.q.val() != self.tail.q.val() {
                self.head.d.next = self.head.q.val() + 1;
            }
        }

        self.m_valid.next = self.reasons.m.valid.val();
        self.m_reason.next = self.reasons.m.data.val();
        self.m_wptr.next = self.packets.rd_data.val().get_bits::<16>(0);
        self.m_gen.next = self.packets.rd_data.val().get_bits::<16>(16);
        self.m_addr.next = self.packets.rd_data.val().get_bits::<64>(32);
        self.m_rkey.next = self.packets.rd_data.val().get_bits::<32>(96);
        self.m_len.next = self.packets.rd_data.val().get_bits::<13>(128);
    }
}
