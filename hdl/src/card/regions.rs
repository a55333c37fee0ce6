//! Regions of host memory: what a key stands for.

use super::regions_look::CardRegionsLook;
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
        /// Port of the sender: an access.
        pub a_s_valid: Signal<In, Bit>,
        /// Key: index above variant.
        pub a_s_key: Signal<In, Bits<32>>,
        /// Protection domain of the queue pair.
        pub a_s_pd: Signal<In, Bits<16>>,
        /// Address of the first byte.
        pub a_s_addr: Signal<In, Bits<64>>,
        /// Bytes, 0 to 8,191.
        pub a_s_len: Signal<In, Bits<13>>,
        /// The access writes.
        pub a_s_write: Signal<In, Bit>,
        /// An answer.
        pub a_m_valid: Signal<Out, Bit>,
        /// The access is fine.
        pub a_m_ok: Signal<Out, Bit>,
        /// Port of the receiver: an access.
        pub b_s_valid: Signal<In, Bit>,
        /// Key: index above variant.
        pub b_s_key: Signal<In, Bits<32>>,
        /// Protection domain of the queue pair.
        pub b_s_pd: Signal<In, Bits<16>>,
        /// Address of the first byte.
        pub b_s_addr: Signal<In, Bits<64>>,
        /// Bytes, 0 to 8,191.
        pub b_s_len: Signal<In, Bits<13>>,
        /// The access writes.
        pub b_s_write: Signal<In, Bit>,
        /// An answer.
        pub b_m_valid: Signal<Out, Bit>,
        /// The access is fine.
        pub b_m_ok: Signal<Out, Bit>,
        /// Port of one-sided operations: an access.
        pub c_s_valid: Signal<In, Bit>,
        /// Key: index above variant.
        pub c_s_key: Signal<In, Bits<32>>,
        /// Protection domain of the queue pair.
        pub c_s_pd: Signal<In, Bits<16>>,
        /// Address of the first byte.
        pub c_s_addr: Signal<In, Bits<64>>,
        /// Bytes, 0 to 8,191.
        pub c_s_len: Signal<In, Bits<13>>,
        /// Rights that it needs: local_write 0, remote_write 1, remote_read 2, remote_atomic 3.
        pub c_s_need: Signal<In, Bits<4>>,
        /// An answer.
        pub c_m_valid: Signal<Out, Bit>,
        /// The access is fine.
        pub c_m_ok: Signal<Out, Bit>,
        /// A region is made, replaced or ended.
        pub set_valid: Signal<In, Bit>,
        /// Which.
        pub set_index: Signal<In, Bits<LR>>,
        /// It is there from now on.
        pub set_present: Signal<In, Bit>,
        /// Low byte of its key.
        pub set_variant: Signal<In, Bits<8>>,
        /// It may be written to.
        pub set_local_write: Signal<In, Bit>,
        /// Others may write there 0, read there 1, do atomics there 2.
        pub set_remote: Signal<In, Bits<3>>,
        /// Its protection domain.
        pub set_pd: Signal<In, Bits<16>>,
        /// Address of its first byte.
        pub set_base: Signal<In, Bits<64>>,
        /// Its bytes.
        pub set_length: Signal<In, Bits<64>>,

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
        self.wr_en.d.next = self.set_valid.val();
        self.wr_addr.d.next = self.set_index.val();
        self.wr_data.d.next = bit_cast::<157, 64>(self.set_base.val())
            | (bit_cast::<157, 64>(self.set_length.val()) << 64)
            | (bit_cast::<157, 16>(self.set_pd.val()) << 128)
            | (bit_cast::<157, 8>(self.set_variant.val()) << 144)
            | (bit_cast::<157, 1>(self.set_local_write.val().into()) << 152)
            | (bit_cast::<157, 3>(self.set_remote.val()) << 153)
            | (bit_cast::<157, 1>(self.set_present.val().into()) << 156);
        if !self.cleared.q.val() {
            self.wr_en.d.next = true;
            self.wr_addr.d.next = self.sweep.q.val();
            self.wr_data.d.next = 0.into();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.cleared.d.next = self.sweep.q.val().all();
        }

        self.a.cleared.next = self.cleared.q.val();
        self.a.wr_en.next = self.wr_en.q.val();
        self.a.wr_addr.next = self.wr_addr.q.val();
        self.a.wr_data.next = self.wr_data.q.val();
        self.a.s_valid.next = self.a_s_valid.val();
        self.a.s_key.next = self.a_s_key.val();
        self.a.s_pd.next = self.a_s_pd.val();
        self.a.s_addr.next = self.a_s_addr.val();
        self.a.s_len.next = self.a_s_len.val();
        self.a.s_need.next = bit_cast::<4, 1>(self.a_s_write.val().into());
        self.a_m_valid.next = self.a.m_valid.val();
        self.a_m_ok.next = self.a.m_ok.val();

        self.b.cleared.next = self.cleared.q.val();
        self.b.wr_en.next = self.wr_en.q.val();
        self.b.wr_addr.next = self.wr_addr.q.val();
        self.b.wr_data.next = self.wr_data.q.val();
        self.b.s_valid.next = self.b_s_valid.val();
        self.b.s_key.next = self.b_s_key.val();
        self.b.s_pd.next = self.b_s_pd.val();
        self.b.s_addr.next = self.b_s_addr.val();
        self.b.s_len.next = self.b_s_len.val();
        self.b.s_need.next = bit_cast::<4, 1>(self.b_s_write.val().into());
        self.b_m_valid.next = self.b.m_valid.val();
        self.b_m_ok.next = self.b.m_ok.val();

        self.c.cleared.next = self.cleared.q.val();
        self.c.wr_en.next = self.wr_en.q.val();
        self.c.wr_addr.next = self.wr_addr.q.val();
        self.c.wr_data.next = self.wr_data.q.val();
        self.c.s_valid.next = self.c_s_valid.val();
        self.c.s_key.next = self.c_s_key.val();
        self.c.s_pd.next = self.c_s_pd.val();
        self.c.s_addr.next = self.c_s_addr.val();
        self.c.s_len.next = self.c_s_len.val();
        self.c.s_need.next = self.c_s_need.val();
        self.c_m_valid.next = self.c.m_valid.val();
        self.c_m_ok.next = self.c.m_ok.val();
    }
}
