//! A lookup port of the regions.

use crate::blocks::RamReg;
use crate::bus::{LookupRightsIn, RamWriteIn, VerdictOut};
use crate::prelude::*;

hdl_record! {
    /// An access that is looked up.
    struct Asked {
        /// Bytes of the access.
        len: Bits<13>,
        /// There are none.
        zero: Bit,
        /// Nothing speaks against it so far.
        good: Bit,
    }
}

hdl_module! {
    /// One lookup port of the regions, with its own copy of the table.
    /// Words of the table: base 63:0, length 127:64, protection domain 143:128, variant 151:144,
    /// rights 155:152, present 156.
    /// Rights: local_write 0, remote_write 1, remote_read 2, remote_atomic 3.
    /// Latency: 6 clocks, one access a clock.
    /// Stages: 1 and 2 read the table; 3 lower half of the offset in the region, fields compared; 4
    /// upper half, and lower half of the bytes left behind the offset; 5 upper half, lower half against
    /// the access; 6 the answer.
    #[module("card_regions_look_r{}", 1usize << LR)]
    pub struct CardRegionsLook<const LR: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// The table has been cleared since reset.
        pub cleared: Signal<In, Bit>,
        /// Lookups.
        pub s: LookupRightsIn,
        /// Their answers.
        pub m: VerdictOut,
        /// Write port of the table.
        pub wr: RamWriteIn<157, LR>,

        table: RamReg<157, LR>,
        lr: Param<LR, 5>,
        half: Param<8192, 14>,
        index: Signal<Local, Bits<LR>>,
        entry: Signal<Local, Bits<157>>,
        /// By stage: an access; its bytes; it has none; nothing so far forbids it.
        #[reset] s1_valid: DFF<Bit>,
        s1: DFF<Asked>,
        s1_variant: DFF<Bits<8>>,
        s1_pd: DFF<Bits<16>>,
        s1_addr: DFF<Bits<64>>,
        s1_need: DFF<Bits<4>>,
        /// It begins in the last 8 KiB of the address space; its end, counted from their begin.
        s1_top: DFF<Bit>,
        s1_end: DFF<Bits<14>>,
        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<Asked>,
        s2_variant: DFF<Bits<8>>,
        s2_pd: DFF<Bits<16>>,
        s2_addr: DFF<Bits<64>>,
        s2_need: DFF<Bits<4>>,
        #[reset] s3_valid: DFF<Bit>,
        s3: DFF<Asked>,
        s3_same_pd: DFF<Bit>,
        s3_same_variant: DFF<Bit>,
        /// Offset of the access in the region, lower half; bit 32 is the borrow.
        s3_offset: DFF<Bits<33>>,
        s3_addr: DFF<Bits<32>>,
        s3_base: DFF<Bits<32>>,
        s3_length: DFF<Bits<64>>,
        #[reset] s4_valid: DFF<Bit>,
        s4: DFF<Asked>,
        /// Upper half of the offset.
        s4_offset: DFF<Bits<33>>,
        /// Bytes of the region behind the offset, lower half.
        s4_left: DFF<Bits<33>>,
        s4_length: DFF<Bits<32>>,
        #[reset] s5_valid: DFF<Bit>,
        s5: DFF<Asked>,
        /// Upper half.
        s5_left: DFF<Bits<33>>,
        /// The lower half alone is enough for the access.
        s5_enough: DFF<Bit>,
        #[reset] s6_valid: DFF<Bit>,
        s6_ok: DFF<Bit>,
    }
}

impl<const LR: usize> Logic for CardRegionsLook<LR> {
    #[hdl_gen]
    fn update(&mut self) {
        RamWriteIn::<157, LR>::link(&mut self.wr, &mut self.table.wr);

        // Stage 0: the table is addressed. A word that is being written cannot be relied on.
        self.index.next = self.s.of.val().key.get_bits::<LR>(8);
        self.table.rd.addr.next = self.index.val();
        self.s1_valid.d.next = self.s.valid.val();
        self.s1.d.next.len = self.s.of.val().len;
        self.s1.d.next.zero = !self.s.of.val().len.any();
        self.s1.d.next.good = self.cleared.val()
            & !(self.wr.en.val() & (self.wr.addr.val() == self.index.val()))
            & !(self.s.of.val().key.get_bits::<24>(8) >> self.lr.val()).any();
        self.s1_variant.d.next = self.s.of.val().key.get_bits::<8>(0);
        self.s1_pd.d.next = self.s.of.val().pd;
        self.s1_addr.d.next = self.s.of.val().addr;
        self.s1_need.d.next = self.s.of.val().need;
        self.s1_top.d.next = self.s.of.val().addr.get_bits::<51>(13).all();
        self.s1_end.d.next = bit_cast::<14, 13>(self.s.of.val().addr.get_bits::<13>(0))
            + bit_cast::<14, 13>(self.s.of.val().len);

        // Stage 1: past the end of the address space?
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2.d.next = self.s1.q.val();
        self.s2.d.next.good =
            self.s1.q.val().good & !(self.s1_top.q.val() & (self.s1_end.q.val() > self.half.val()));
        self.s2_variant.d.next = self.s1_variant.q.val();
        self.s2_pd.d.next = self.s1_pd.q.val();
        self.s2_addr.d.next = self.s1_addr.q.val();
        self.s2_need.d.next = self.s1_need.q.val();

        // Stage 2: the entry is here.
        self.entry.next = self.table.rd.data.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3.d.next = self.s2.q.val();
        self.s3.d.next.good = self.s2.q.val().good
            & self.entry.val().get_bit(156)
            & !(self.s2_need.q.val() & !self.entry.val().get_bits::<4>(152)).any();
        self.s3_same_pd.d.next = self.entry.val().get_bits::<16>(128) == self.s2_pd.q.val();
        self.s3_same_variant.d.next =
            self.entry.val().get_bits::<8>(144) == self.s2_variant.q.val();
        self.s3_offset.d.next = bit_cast::<33, 32>(self.s2_addr.q.val().get_bits::<32>(0))
            - bit_cast::<33, 32>(self.entry.val().get_bits::<32>(0));
        self.s3_addr.d.next = self.s2_addr.q.val().get_bits::<32>(32);
        self.s3_base.d.next = self.entry.val().get_bits::<32>(32);
        self.s3_length.d.next = self.entry.val().get_bits::<64>(64);

        // Stage 3.
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4.d.next = self.s3.q.val();
        self.s4.d.next.good =
            self.s3.q.val().good & self.s3_same_pd.q.val() & self.s3_same_variant.q.val();
        self.s4_offset.d.next = bit_cast::<33, 32>(self.s3_addr.q.val())
            - bit_cast::<33, 32>(self.s3_base.q.val())
            - bit_cast::<33, 1>(self.s3_offset.q.val().get_bits::<1>(32));
        self.s4_left.d.next = bit_cast::<33, 32>(self.s3_length.q.val().get_bits::<32>(0))
            - bit_cast::<33, 32>(self.s3_offset.q.val().get_bits::<32>(0));
        self.s4_length.d.next = self.s3_length.q.val().get_bits::<32>(32);

        // Stage 4: a borrow out of the offset: the access begins below the region.
        self.s5_valid.d.next = self.s4_valid.q.val();
        self.s5.d.next.zero = self.s4.q.val().zero;
        self.s5.d.next.good = self.s4.q.val().good & !self.s4_offset.q.val().get_bit(32);
        self.s5_left.d.next = bit_cast::<33, 32>(self.s4_length.q.val())
            - bit_cast::<33, 32>(self.s4_offset.q.val().get_bits::<32>(0))
            - bit_cast::<33, 1>(self.s4_left.q.val().get_bits::<1>(32));
        self.s5_enough.d.next = self.s4_left.q.val().get_bits::<19>(13).any()
            | (self.s4_left.q.val().get_bits::<13>(0) >= self.s4.q.val().len);

        // Stage 5: a borrow out of what is left: it begins behind the region.
        self.s6_valid.d.next = self.s5_valid.q.val();
        self.s6_ok.d.next = self.s5.q.val().zero
            | (self.s5.q.val().good
                & !self.s5_left.q.val().get_bit(32)
                & (self.s5_left.q.val().get_bits::<32>(0).any() | self.s5_enough.q.val()));
        self.m.valid.next = self.s6_valid.q.val();
        self.m.ok.next = self.s6_ok.q.val();
    }
}
