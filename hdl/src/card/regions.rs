//! Regions of host memory: what a key stands for.

use super::regions_look::CardRegionsLook;
use crate::bus::{LookupIn, LookupRightsIn, RegionSetIn, VerdictOut};
use crate::prelude::*;

hdl_module! {
    /// Table of 2^LR regions of host memory with three lookup ports.
    /// An access is fine if its key's region is there with the same variant and protection domain, gives
    /// the rights that it needs, and holds every byte of the access; one of 0 bytes always is.
    /// Nothing else is.
    /// Latency: 6 clocks, one access a clock on each port.
    /// Reset clears the table, one region a clock; until then no access of a byte is fine, and set is
    /// not looked at.
    /// An access in the clock after its region was set is refused, whatever it was set to.
    #[module("card_regions_r{}", 1usize << LR)]
    pub struct CardRegions<const LR: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no region is there.
        pub rst: Signal<In, Bit>,
        /// Lookups of the sender, of up to 8,191 bytes.
        pub a_s: LookupIn,
        /// Their answers.
        pub a_m: VerdictOut,
        /// Lookups of the receiver.
        pub b_s: LookupIn,
        /// Their answers.
        pub b_m: VerdictOut,
        /// Lookups of one-sided operations; rights: local_write 0, remote_write 1, remote_read 2, remote_atomic 3.
        pub c_s: LookupRightsIn,
        /// Their answers.
        pub c_m: VerdictOut,
        /// Changes of the table.
        pub set: RegionSetIn<LR>,

        a: CardRegionsLook<LR>,
        b: CardRegionsLook<LR>,
        c: CardRegionsLook<LR>,
        /// The table has been cleared since reset.
        #[reset] cleared: DFF<Bit>,
        /// Region to clear next.
        #[reset] sweep: DFF<Bits<LR>>,
        /// What is written to the table in the next clock.
        #[reset] wr_en: DFF<Bit>,
        wr_addr: DFF<Bits<LR>>,
        wr_data: DFF<Bits<157>>,
    }
}

impl<const LR: usize> Logic for CardRegions<LR> {
    #[hdl_gen]
    fn update(&mut self) {
        self.wr_en.d.next = self.set.valid.val();
        self.wr_addr.d.next = self.set.of.val().index;
        self.wr_data.d.next = bit_cast::<157, 64>(self.set.of.val().base)
            | (bit_cast::<157, 64>(self.set.of.val().length) << 64)
            | (bit_cast::<157, 16>(self.set.of.val().pd) << 128)
            | (bit_cast::<157, 8>(self.set.of.val().variant) << 144)
            | (bit_cast::<157, 1>(self.set.of.val().local_write.into()) << 152)
            | (bit_cast::<157, 3>(self.set.of.val().remote) << 153)
            | (bit_cast::<157, 1>(self.set.of.val().present.into()) << 156);
        if !self.cleared.q.val() {
            self.wr_en.d.next = true;
            self.wr_addr.d.next = self.sweep.q.val();
            self.wr_data.d.next = 0.into();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.cleared.d.next = self.sweep.q.val().all();
        }

        self.a.cleared.next = self.cleared.q.val();
        self.a.wr.en.next = self.wr_en.q.val();
        self.a.wr.addr.next = self.wr_addr.q.val();
        self.a.wr.data.next = self.wr_data.q.val();
        self.a.s.valid.next = self.a_s.valid.val();
        self.a.s.of.next.key = self.a_s.of.val().key;
        self.a.s.of.next.pd = self.a_s.of.val().pd;
        self.a.s.of.next.addr = self.a_s.of.val().addr;
        self.a.s.of.next.len = self.a_s.of.val().len;
        self.a.s.of.next.need = bit_cast::<4, 1>(self.a_s.of.val().write.into());
        VerdictOut::link(&mut self.a_m, &mut self.a.m);

        self.b.cleared.next = self.cleared.q.val();
        self.b.wr.en.next = self.wr_en.q.val();
        self.b.wr.addr.next = self.wr_addr.q.val();
        self.b.wr.data.next = self.wr_data.q.val();
        self.b.s.valid.next = self.b_s.valid.val();
        self.b.s.of.next.key = self.b_s.of.val().key;
        self.b.s.of.next.pd = self.b_s.of.val().pd;
        self.b.s.of.next.addr = self.b_s.of.val().addr;
        self.b.s.of.next.len = self.b_s.of.val().len;
        self.b.s.of.next.need = bit_cast::<4, 1>(self.b_s.of.val().write.into());
        VerdictOut::link(&mut self.b_m, &mut self.b.m);

        self.c.cleared.next = self.cleared.q.val();
        self.c.wr.en.next = self.wr_en.q.val();
        self.c.wr.addr.next = self.wr_addr.q.val();
        self.c.wr.data.next = self.wr_data.q.val();
        LookupRightsIn::link(&mut self.c_s, &mut self.c.s);
        VerdictOut::link(&mut self.c_m, &mut self.c.m);
    }
}
