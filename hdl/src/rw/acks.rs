//! Counts the writes of each transfer that are visible in host memory.

use crate::blocks::{RamReg, RamRegForward};
use crate::prelude::*;

hdl_module! {
    /// Write acknowledgements of the receiver window: counts, for each open window, the writes
    /// that are visible in host memory, one a clock, also all of the same window. When all
    /// packets of a transfer are, says so once.
    /// Stages: 1 addresses; 2 RAM arrays; 3 RAM outputs, forward, compare; 4 write back, m_*.
    pub struct RwAcks<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A write is visible; always taken unless clear_valid.
        pub s_valid: Signal<In, Bit>,
        /// Its window.
        pub s_wptr: Signal<In, Bits<16>>,
        /// Incarnation of the window.
        pub s_gen: Signal<In, Bits<16>>,
        /// Set the count of clear_wptr to 0.
        pub clear_valid: Signal<In, Bit>,
        /// Window.
        pub clear_wptr: Signal<In, Bits<A>>,
        /// Write the connection of a window.
        pub cw_en: Signal<In, Bit>,
        /// Window.
        pub cw_wptr: Signal<In, Bits<A>>,
        /// The window is open.
        pub cw_open: Signal<In, Bit>,
        /// Incarnation.
        pub cw_gen: Signal<In, Bits<16>>,
        /// Number of the last packet.
        pub cw_last: Signal<In, Bits<22>>,
        /// All writes of a transfer are visible.
        pub m_valid: Signal<Out, Bit>,
        /// Its window.
        pub m_wptr: Signal<Out, Bits<A>>,
        /// Incarnation of the window.
        pub m_gen: Signal<Out, Bits<16>>,
        /// The write belongs to no open window of that incarnation.
        pub stale: Signal<Out, Bit>,

        conns: RamRegForward<39, A>,
        counts: RamReg<22, A>,
        s1_valid: DFF<Bit>,
        s1_clear: DFF<Bit>,
        s1_wptr: DFF<Bits<16>>,
        s1_gen: DFF<Bits<16>>,
        s2_valid: DFF<Bit>,
        s2_clear: DFF<Bit>,
        s2_wptr: DFF<Bits<16>>,
        s2_gen: DFF<Bits<16>>,
        s3_valid: DFF<Bit>,
        s3_clear: DFF<Bit>,
        s3_wptr: DFF<Bits<16>>,
        s3_gen: DFF<Bits<16>>,
        /// Same window as the record in stage 4, 5, 6.
        s3_same4: DFF<Bit>,
        s3_same5: DFF<Bit>,
        s3_same6: DFF<Bit>,
        count: Signal<Local, Bits<22>>,
        known: Signal<Local, Bit>,
        s4_write: DFF<Bit>,
        s4_full: DFF<Bit>,
        s4_stale: DFF<Bit>,
        s4_wptr: DFF<Bits<16>>,
        s4_gen: DFF<Bits<16>>,
        s4_count: DFF<Bits<22>>,
        s5_wptr: DFF<Bits<16>>,
        s5_count: DFF<Bits<22>>,
        s6_count: DFF<Bits<22>>,
    }
}

impl<const A: usize> Logic for RwAcks<A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, s1_valid, s1_clear, s1_wptr, s1_gen, s2_valid, s2_clear, s2_wptr, s2_gen,
            s3_valid, s3_clear, s3_wptr, s3_gen, s3_same4, s3_same5, s3_same6, s4_write, s4_full,
            s4_stale, s4_wptr, s4_gen, s4_count, s5_wptr, s5_count, s6_count
        );
        self.conns.clk.next = self.clk.val();
        self.counts.clk.next = self.clk.val();
        self.conns.wr_en.next = self.cw_en.val();
        self.conns.wr_addr.next = self.cw_wptr.val();
        self.conns.wr_data.next = (bit_cast::<39, 22>(self.cw_last.val()) << 17)
            | (bit_cast::<39, 16>(self.cw_gen.val()) << 1)
            | bit_cast::<39, 1>(self.cw_open.val().into());

        // Stage 1.
        self.s1_valid.d.next = self.s_valid.val() & !self.clear_valid.val();
        self.s1_clear.d.next = self.clear_valid.val();
        self.s1_wptr.d.next = self.s_wptr.val();
        if self.clear_valid.val() {
            self.s1_wptr.d.next = bit_cast::<16, A>(self.clear_wptr.val());
        }
        self.s1_gen.d.next = self.s_gen.val();
        self.conns.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.counts.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());

        // Stage 2.
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_clear.d.next = self.s1_clear.q.val();
        self.s2_wptr.d.next = self.s1_wptr.q.val();
        self.s2_gen.d.next = self.s1_gen.q.val();
        self.s3_same4.d.next =
            bit_cast::<A, 16>(self.s2_wptr.q.val()) == bit_cast::<A, 16>(self.s3_wptr.q.val());
        self.s3_same5.d.next =
            bit_cast::<A, 16>(self.s2_wptr.q.val()) == bit_cast::<A, 16>(self.s4_wptr.q.val());
        self.s3_same6.d.next =
            bit_cast::<A, 16>(self.s2_wptr.q.val()) == bit_cast::<A, 16>(self.s5_wptr.q.val());

        // Stage 3.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_clear.d.next = self.s2_clear.q.val();
        self.s3_wptr.d.next = self.s2_wptr.q.val();
        self.s3_gen.d.next = self.s2_gen.q.val();
        self.count.next = self.counts.rd_data.val();
        if self.s3_same6.q.val() {
            self.count.next = self.s6_count.q.val();
        }
        if self.s3_same5.q.val() {
            self.count.next = self.s5_count.q.val();
        }
        if self.s3_same4.q.val() {
            self.count.next = self.s4_count.q.val();
        }
        self.known.next = self.conns.rd_data.val().get_bit(0)
            & (self.conns.rd_data.val().get_bits::<16>(1) == self.s3_gen.q.val())
            & (bit_cast::<16, A>(bit_cast::<A, 16>(self.s3_wptr.q.val())) == self.s3_wptr.q.val());
        self.s4_write.d.next = self.s3_clear.q.val() | (self.s3_valid.q.val() & self.known.val());
        self.s4_full.d.next = self.s3_valid.q.val()
            & self.known.val()
            & (self.count.val() == self.conns.rd_data.val().get_bits::<22>(17));
        self.s4_stale.d.next = self.s3_valid.q.val() & !self.known.val();
        self.s4_wptr.d.next = self.s3_wptr.q.val();
        self.s4_gen.d.next = self.s3_gen.q.val();
        self.s4_count.d.next = self.count.val();
        if self.s3_clear.q.val() {
            self.s4_count.d.next = 0.into();
        } else if self.s3_valid.q.val() & self.known.val() {
            self.s4_count.d.next = self.count.val() + 1;
        }

        // Stage 4; 5 and 6 only feed stage 3.
        self.counts.wr_en.next = self.s4_write.q.val();
        self.counts.wr_addr.next = bit_cast::<A, 16>(self.s4_wptr.q.val());
        self.counts.wr_data.next = self.s4_count.q.val();
        self.m_valid.next = self.s4_full.q.val();
        self.m_wptr.next = bit_cast::<A, 16>(self.s4_wptr.q.val());
        self.m_gen.next = self.s4_gen.q.val();
        self.stale.next = self.s4_stale.q.val();
        self.s5_wptr.d.next = self.s4_wptr.q.val();
        self.s5_count.d.next = self.s4_count.q.val();
        self.s6_count.d.next = self.s5_count.q.val();
        if self.rst.val() {
            self.s1_valid.d.next = false;
            self.s1_clear.d.next = false;
            self.s2_valid.d.next = false;
            self.s2_clear.d.next = false;
            self.s3_valid.d.next = false;
            self.s3_clear.d.next = false;
            self.s4_write.d.next = false;
            self.s4_full.d.next = false;
            self.s4_stale.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("rw_acks_r{}", 1usize << A)).into_timing()
    }
}
