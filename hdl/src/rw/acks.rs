//! Counts the writes of each transfer that are visible in host memory.

use crate::blocks::RamReg;
use crate::prelude::*;

hdl_record! {
    /// An acknowledgement on its way.
    struct Acknowledged {
        /// Window.
        wptr: Bits<16>,
        /// Incarnation of the window.
        #[verilog("gen")]
        incarnation: Bits<16>,
    }
}

hdl_record! {
    /// What is counted of a window. A bits for a window.
    struct Counted<const A: usize> {
        /// Window.
        wptr: Bits<A>,
        /// Incarnation of the window.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// Last packet of the transfer.
        last: Bits<22>,
        /// Packets acknowledged.
        count: Bits<22>,
    }
}

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
        s1: DFF<Acknowledged>,
        #[reset] s2_valid: DFF<Bit>,
        #[reset] s2_clear: DFF<Bit>,
        s2: DFF<Acknowledged>,
        #[reset] s3_valid: DFF<Bit>,
        #[reset] s3_clear: DFF<Bit>,
        s3: DFF<Acknowledged>,
        #[reset] s4_valid: DFF<Bit>,
        #[reset] s4_clear: DFF<Bit>,
        s4: DFF<Acknowledged>,
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
        s5: DFF<Counted<A>>,
        /// Same window as the record in stage 6, 7, 8, 9.
        s5_same6: DFF<Bit>,
        s5_same7: DFF<Bit>,
        s5_same8: DFF<Bit>,
        s5_same9: DFF<Bit>,
        #[reset] s6_clear: DFF<Bit>,
        #[reset] s6_known: DFF<Bit>,
        s6: DFF<Counted<A>>,
        s6_same7: DFF<Bit>,
        /// The count, unless the record just before has the same window.
        count: Signal<Local, Bits<22>>,
        #[reset] s7_write: DFF<Bit>,
        #[reset] s7_known: DFF<Bit>,
        s7: DFF<Counted<A>>,
        /// The count without and with this write.
        s7_before: DFF<Bits<22>>,
        /// The count without this write is the number of the last packet, four bits each.
        #[reset] s8_known: DFF<Bit>,
        s8_part: Bank<DFF<Bit>, 6>,
        s8: DFF<Counted<A>>,
        s9: DFF<Counted<A>>,
        #[reset] s9_full: DFF<Bit>,
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
        self.s1.d.next.wptr = self.s_wptr.val();
        if self.clear_valid.val() {
            self.s1.d.next.wptr = bit_cast::<16, A>(self.clear_wptr.val());
        }
        self.s1.d.next.incarnation = self.s_gen.val();
        self.conns.rd.addr.next = bit_cast::<A, 16>(self.s1.q.val().wptr);
        self.torn_1.d.next = (self.cw_en.val()
            & (self.cw_wptr.val() == bit_cast::<A, 16>(self.s1.q.val().wptr)))
            | (self.opened_en.q.val()
                & (self.opened_wptr.q.val() == bit_cast::<A, 16>(self.s1.q.val().wptr)));
        self.torn_2.d.next = self.torn_1.q.val();

        // Stage 2.
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_clear.d.next = self.s1_clear.q.val();
        self.s2.d.next = self.s1.q.val();

        // Stage 3.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_clear.d.next = self.s2_clear.q.val();
        self.s3.d.next = self.s2.q.val();
        self.counts.rd.addr.next = bit_cast::<A, 16>(self.s3.q.val().wptr);
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_clear.d.next = self.s3_clear.q.val();
        self.s4.d.next = self.s3.q.val();
        self.s4_open.d.next = self.conns.rd.data.val().get_bit(0) & !self.torn_2.q.val();
        self.s4_open_gen.d.next = self.conns.rd.data.val().get_bits::<16>(1);
        self.s4_last.d.next = self.conns.rd.data.val().get_bits::<22>(17);

        // Stage 4.
        self.s4_window.next = bit_cast::<A, 16>(self.s4.q.val().wptr);
        self.known.next = self.s4_open.q.val()
            & (self.s4_open_gen.q.val() == self.s4.q.val().incarnation)
            & (bit_cast::<16, A>(self.s4_window.val()) == self.s4.q.val().wptr);
        self.s5_clear.d.next = self.s4_clear.q.val();
        self.s5_known.d.next = self.s4_valid.q.val() & self.known.val();
        self.s5_stale.d.next = self.s4_valid.q.val() & !self.known.val();
        self.s5.d.next.wptr = self.s4_window.val();
        self.s5.d.next.incarnation = self.s4.q.val().incarnation;
        self.s5.d.next.last = self.s4_last.q.val();
        self.s5_same6.d.next = self.s4_window.val() == self.s5.q.val().wptr;
        self.s5_same7.d.next = self.s4_window.val() == self.s6.q.val().wptr;
        self.s5_same8.d.next = self.s4_window.val() == self.s7.q.val().wptr;
        self.s5_same9.d.next = self.s4_window.val() == self.s8.q.val().wptr;

        // Stage 5. A record that writes nothing leaves the count as it was.
        self.stale.next = self.s5_stale.q.val();
        self.s6_clear.d.next = self.s5_clear.q.val();
        self.s6_known.d.next = self.s5_known.q.val();
        self.s6.d.next = self.s5.q.val();
        self.s6_same7.d.next = self.s5_same6.q.val();
        self.s6.d.next.count = self.counts.rd.data.val();
        if self.s5_same9.q.val() {
            self.s6.d.next.count = self.s9.q.val().count;
        }
        if self.s5_same8.q.val() {
            self.s6.d.next.count = self.s8.q.val().count;
        }
        if self.s5_same7.q.val() {
            self.s6.d.next.count = self.s7.q.val().count;
        }

        // Stage 6.
        self.count.next = self.s6.q.val().count;
        if self.s6_same7.q.val() {
            self.count.next = self.s7.q.val().count;
        }
        self.s7_write.d.next = self.s6_clear.q.val() | self.s6_known.q.val();
        self.s7_known.d.next = self.s6_known.q.val();
        self.s7.d.next = self.s6.q.val();
        self.s7_before.d.next = self.count.val();
        self.s7.d.next.count = self.count.val() + bit_cast::<22, 1>(self.s6_known.q.val().into());
        if self.s6_clear.q.val() {
            self.s7.d.next.count = 0.into();
        }

        // Stage 7; 8 and 9 feed stage 5 too.
        self.counts.wr.en.next = self.s7_write.q.val();
        self.counts.wr.addr.next = self.s7.q.val().wptr;
        self.counts.wr.data.next = self.s7.q.val().count;
        self.s8_known.d.next = self.s7_known.q.val();
        self.counted.next = bit_cast::<24, 22>(self.s7_before.q.val());
        self.last.next = bit_cast::<24, 22>(self.s7.q.val().last);
        for i in 0..6 {
            self.s8_part[i].d.next =
                self.counted.val().get_bits::<4>(4 * i) == self.last.val().get_bits::<4>(4 * i);
        }
        self.s8.d.next = self.s7.q.val();
        self.s9.d.next = self.s8.q.val();
        self.s9_full.d.next = self.s8_known.q.val()
            & self.s8_part[0].q.val()
            & self.s8_part[1].q.val()
            & self.s8_part[2].q.val()
            & self.s8_part[3].q.val()
            & self.s8_part[4].q.val()
            & self.s8_part[5].q.val();
        self.m_valid.next = self.s9_full.q.val();
        self.m_wptr.next = self.s9.q.val().wptr;
        self.m_gen.next = self.s9.q.val().incarnation;
    }
}
