//! Counts the writes of each transfer that are visible in host memory.

use crate::blocks::RamReg;
use crate::prelude::*;

hdl_module! {
    /// Write acknowledgements of the receiver window: counts, for each open window, the writes
    /// that are visible in host memory, one a clock, also all of the same window. When all
    /// packets of a transfer are, says so once.
    /// Stages: 1 address of the connection; 3 of the count; 4 is the window known; 5 the count,
    /// forwarded from stages 7 to 9; 6 raise it, forwarded from stage 7; 7 write it, compare it;
    /// 9 m_*.
    #[module("rw_acks_r{}", 1usize << A)]
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
        /// Write the connection of a window; gen and last stay for one clock more.
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

        /// Open, incarnation, number of the last packet.
        conns: RamReg<39, A>,
        /// Writes that are visible.
        counts: RamReg<22, A>,
        /// A connection is written one clock late; its words stay for so long.
        opened_en: DFF<Bit>,
        opened_wptr: DFF<Bits<A>>,
        opened: DFF<Bit>,
        /// The connection read one clock ago, two clocks ago, was about to be written or was written
        /// in that clock. It opens or closes the window: meanwhile the window counts as closed.
        torn_1: DFF<Bit>,
        torn_2: DFF<Bit>,
        #[reset] s1_valid: DFF<Bit>,
        #[reset] s1_clear: DFF<Bit>,
        s1_wptr: DFF<Bits<16>>,
        s1_gen: DFF<Bits<16>>,
        #[reset] s2_valid: DFF<Bit>,
        #[reset] s2_clear: DFF<Bit>,
        s2_wptr: DFF<Bits<16>>,
        s2_gen: DFF<Bits<16>>,
        #[reset] s3_valid: DFF<Bit>,
        #[reset] s3_clear: DFF<Bit>,
        s3_wptr: DFF<Bits<16>>,
        s3_gen: DFF<Bits<16>>,
        #[reset] s4_valid: DFF<Bit>,
        #[reset] s4_clear: DFF<Bit>,
        s4_wptr: DFF<Bits<16>>,
        s4_gen: DFF<Bits<16>>,
        /// The connection.
        s4_open: DFF<Bit>,
        s4_open_gen: DFF<Bits<16>>,
        s4_last: DFF<Bits<22>>,
        /// The window is open with that incarnation.
        known: Signal<Local, Bit>,
        s4_window: Signal<Local, Bits<A>>,
        #[reset] s5_clear: DFF<Bit>,
        #[reset] s5_known: DFF<Bit>,
        #[reset] s5_stale: DFF<Bit>,
        s5_wptr: DFF<Bits<A>>,
        s5_gen: DFF<Bits<16>>,
        s5_last: DFF<Bits<22>>,
        /// Same window as the record in stage 6, 7, 8, 9.
        s5_same6: DFF<Bit>,
        s5_same7: DFF<Bit>,
        s5_same8: DFF<Bit>,
        s5_same9: DFF<Bit>,
        #[reset] s6_clear: DFF<Bit>,
        #[reset] s6_known: DFF<Bit>,
        s6_wptr: DFF<Bits<A>>,
        s6_gen: DFF<Bits<16>>,
        s6_last: DFF<Bits<22>>,
        s6_same7: DFF<Bit>,
        /// The count, unless the record just before has the same window.
        s6_count: DFF<Bits<22>>,
        count: Signal<Local, Bits<22>>,
        #[reset] s7_write: DFF<Bit>,
        #[reset] s7_known: DFF<Bit>,
        s7_wptr: DFF<Bits<A>>,
        s7_gen: DFF<Bits<16>>,
        s7_last: DFF<Bits<22>>,
        /// The count without and with this write.
        s7_before: DFF<Bits<22>>,
        s7_count: DFF<Bits<22>>,
        /// The count without this write is the number of the last packet, four bits each.
        #[reset] s8_known: DFF<Bit>,
        s8_part: Bank<DFF<Bit>, 6>,
        s8_wptr: DFF<Bits<A>>,
        s8_gen: DFF<Bits<16>>,
        s8_count: DFF<Bits<22>>,
        s9_count: DFF<Bits<22>>,
        #[reset] s9_full: DFF<Bit>,
        s9_wptr: DFF<Bits<A>>,
        s9_gen: DFF<Bits<16>>,
        counted: Signal<Local, Bits<24>>,
        last: Signal<Local, Bits<24>>,
    }
}

impl<const A: usize> Logic for RwAcks<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.opened_en.d.next = self.cw_en.val();
        self.opened_wptr.d.next = self.cw_wptr.val();
        self.opened.d.next = self.cw_open.val();
        self.conns.wr.en.next = self.opened_en.q.val();
        self.conns.wr.addr.next = self.opened_wptr.q.val();
        self.conns.wr.data.next = (bit_cast::<39, 22>(self.cw_last.val()) << 17)
            | (bit_cast::<39, 16>(self.cw_gen.val()) << 1)
            | bit_cast::<39, 1>(self.opened.q.val().into());

        // Stage 1.
        self.s1_valid.d.next = self.s_valid.val() & !self.clear_valid.val();
        self.s1_clear.d.next = self.clear_valid.val();
        self.s1_wptr.d.next = self.s_wptr.val();
        if self.clear_valid.val() {
            self.s1_wptr.d.next = bit_cast::<16, A>(self.clear_wptr.val());
        }
        self.s1_gen.d.next = self.s_gen.val();
        self.conns.rd.addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.torn_1.d.next = (self.cw_en.val()
            & (self.cw_wptr.val() == bit_cast::<A, 16>(self.s1_wptr.q.val())))
            | (self.opened_en.q.val()
                & (self.opened_wptr.q.val() == bit_cast::<A, 16>(self.s1_wptr.q.val())));
        self.torn_2.d.next = self.torn_1.q.val();

        // Stage 2.
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_clear.d.next = self.s1_clear.q.val();
        self.s2_wptr.d.next = self.s1_wptr.q.val();
        self.s2_gen.d.next = self.s1_gen.q.val();

        // Stage 3.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_clear.d.next = self.s2_clear.q.val();
        self.s3_wptr.d.next = self.s2_wptr.q.val();
        self.s3_gen.d.next = self.s2_gen.q.val();
        self.counts.rd.addr.next = bit_cast::<A, 16>(self.s3_wptr.q.val());
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_clear.d.next = self.s3_clear.q.val();
        self.s4_wptr.d.next = self.s3_wptr.q.val();
        self.s4_gen.d.next = self.s3_gen.q.val();
        self.s4_open.d.next = self.conns.rd.data.val().get_bit(0) & !self.torn_2.q.val();
        self.s4_open_gen.d.next = self.conns.rd.data.val().get_bits::<16>(1);
        self.s4_last.d.next = self.conns.rd.data.val().get_bits::<22>(17);

        // Stage 4.
        self.s4_window.next = bit_cast::<A, 16>(self.s4_wptr.q.val());
        self.known.next = self.s4_open.q.val()
            & (self.s4_open_gen.q.val() == self.s4_gen.q.val())
            & (bit_cast::<16, A>(self.s4_window.val()) == self.s4_wptr.q.val());
        self.s5_clear.d.next = self.s4_clear.q.val();
        self.s5_known.d.next = self.s4_valid.q.val() & self.known.val();
        self.s5_stale.d.next = self.s4_valid.q.val() & !self.known.val();
        self.s5_wptr.d.next = self.s4_window.val();
        self.s5_gen.d.next = self.s4_gen.q.val();
        self.s5_last.d.next = self.s4_last.q.val();
        self.s5_same6.d.next = self.s4_window.val() == self.s5_wptr.q.val();
        self.s5_same7.d.next = self.s4_window.val() == self.s6_wptr.q.val();
        self.s5_same8.d.next = self.s4_window.val() == self.s7_wptr.q.val();
        self.s5_same9.d.next = self.s4_window.val() == self.s8_wptr.q.val();

        // Stage 5. A record that writes nothing leaves the count as it was.
        self.stale.next = self.s5_stale.q.val();
        self.s6_clear.d.next = self.s5_clear.q.val();
        self.s6_known.d.next = self.s5_known.q.val();
        self.s6_wptr.d.next = self.s5_wptr.q.val();
        self.s6_gen.d.next = self.s5_gen.q.val();
        self.s6_last.d.next = self.s5_last.q.val();
        self.s6_same7.d.next = self.s5_same6.q.val();
        self.s6_count.d.next = self.counts.rd.data.val();
        if self.s5_same9.q.val() {
            self.s6_count.d.next = self.s9_count.q.val();
        }
        if self.s5_same8.q.val() {
            self.s6_count.d.next = self.s8_count.q.val();
        }
        if self.s5_same7.q.val() {
            self.s6_count.d.next = self.s7_count.q.val();
        }

        // Stage 6.
        self.count.next = self.s6_count.q.val();
        if self.s6_same7.q.val() {
            self.count.next = self.s7_count.q.val();
        }
        self.s7_write.d.next = self.s6_clear.q.val() | self.s6_known.q.val();
        self.s7_known.d.next = self.s6_known.q.val();
        self.s7_wptr.d.next = self.s6_wptr.q.val();
        self.s7_gen.d.next = self.s6_gen.q.val();
        self.s7_last.d.next = self.s6_last.q.val();
        self.s7_before.d.next = self.count.val();
        self.s7_count.d.next = self.count.val() + bit_cast::<22, 1>(self.s6_known.q.val().into());
        if self.s6_clear.q.val() {
            self.s7_count.d.next = 0.into();
        }

        // Stage 7; 8 and 9 feed stage 5 too.
        self.counts.wr.en.next = self.s7_write.q.val();
        self.counts.wr.addr.next = self.s7_wptr.q.val();
        self.counts.wr.data.next = self.s7_count.q.val();
        self.s8_known.d.next = self.s7_known.q.val();
        self.counted.next = bit_cast::<24, 22>(self.s7_before.q.val());
        self.last.next = bit_cast::<24, 22>(self.s7_last.q.val());
        for i in 0..6 {
            self.s8_part[i].d.next =
                self.counted.val().get_bits::<4>(4 * i) == self.last.val().get_bits::<4>(4 * i);
        }
        self.s8_wptr.d.next = self.s7_wptr.q.val();
        self.s8_gen.d.next = self.s7_gen.q.val();
        self.s8_count.d.next = self.s7_count.q.val();
        self.s9_count.d.next = self.s8_count.q.val();
        self.s9_full.d.next = self.s8_known.q.val()
            & self.s8_part[0].q.val()
            & self.s8_part[1].q.val()
            & self.s8_part[2].q.val()
            & self.s8_part[3].q.val()
            & self.s8_part[4].q.val()
            & self.s8_part[5].q.val();
        self.s9_wptr.d.next = self.s8_wptr.q.val();
        self.s9_gen.d.next = self.s8_gen.q.val();
        self.m_valid.next = self.s9_full.q.val();
        self.m_wptr.next = self.s9_wptr.q.val();
        self.m_gen.next = self.s9_gen.q.val();
    }
}
