//! The registers of the switch on AXI4-Lite.

use crate::blocks::OneHotMux;
use crate::bus::{AxiLiteIn, RamWriteOut};
use crate::prelude::*;
use tributary_protocol::red::regs;

/// Bit i: there is a global register at offset 4 i.
const KNOWN: u32 = words(false);
/// Bit i: it can be written.
const WRITABLE: u32 = words(true);

const fn words(writable: bool) -> u32 {
    let (mut mask, mut i) = (0, 0);
    while i < regs::GLOBAL.len() {
        let register = &regs::GLOBAL[i];
        if !writable || !matches!(register.access, regs::Access::ReadOnly) {
            mask |= 1 << (register.offset / 4);
        }
        i += 1;
    }
    mask
}

hdl_module! {
    /// Registers of the switch on AXI4-Lite, 32 bits each; one access at a time, about 6 clocks each, and up to 40
    /// for a write to statistics_select, which takes a copy of a counter.
    /// Address and data of a write come in any order. Bytes without strobe keep what they were, or count as 0 where
    /// there is nothing to keep. What is not there, cannot be written, has a one in a bit without a field or lies beyond a table
    /// is answered SLVERR, without effect.
    /// An answer that is not taken is held with a copy of what was read: registers and counters may change meanwhile. An
    /// access of the same kind waits until it is taken, one of the other kind does not.
    /// After reset the tables are wiped, an entry a clock; accesses wait until that is done.
    /// Statistics: visit goes round over 32 counters, and stat_count_i is the count of the counter visited 2 clocks ago.
    #[module("switch_regs_n{N}_u{}_t{}", 1usize << TU, 1usize << TM)]
    pub struct SwitchRegs<
        const N: usize, const TU: usize, const TM: usize, const MW: usize, const D: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// AXI4-Lite.
        pub s_axil: AxiLiteIn<12>,
        /// Write port of the unicast table: node, low bits; port in 5:0, valid 6.
        pub uc: RamWriteOut<7, TU>,
        /// Write port of the multicast table: tree, low bits; wait count in 19:0, parent port 25:20, valid 26, child ports from 27 on.
        pub mc: RamWriteOut<MW, TM>,
        /// A bit per port that is enabled.
        pub cfg_enabled: Signal<Out, Bits<N>>,
        /// A bit per port whose engine sees frames.
        pub cfg_engines: Signal<Out, Bits<N>>,
        /// MINNUM and MAXNUM with a signalling NaN give a NaN.
        pub cfg_ieee_nan: Signal<Out, Bit>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<Out, Bits<16>>,
        /// Wait count from which on timeout 1 counts.
        pub cfg_threshold0: Signal<Out, Bits<20>>,
        /// Wait count from which on timeout 2 counts.
        pub cfg_threshold1: Signal<Out, Bits<20>>,
        /// Wait count from which on timeout 3 counts.
        pub cfg_threshold2: Signal<Out, Bits<20>>,
        /// Timeout 0, in units of 1,024 clocks.
        pub cfg_timeout0: Signal<Out, Bits<24>>,
        /// Timeout 1.
        pub cfg_timeout1: Signal<Out, Bits<24>>,
        /// Timeout 2.
        pub cfg_timeout2: Signal<Out, Bits<24>>,
        /// Timeout 3.
        pub cfg_timeout3: Signal<Out, Bits<24>>,
        /// Source address of the results of each port.
        pub cfg_address: Bank<Signal<Out, Bits<32>>, N>,
        /// Words of a queue above which frames that leave it are marked; 0: none are.
        pub cfg_ecn_words: Signal<Out, Bits<10>>,
        /// Counts start from 0.
        pub stat_clear: Signal<Out, Bit>,
        /// Counter that is visited.
        pub stat_index: Signal<Out, Bits<5>>,
        /// The same, one-hot.
        pub stat_visit: Signal<Out, Bits<32>>,
        /// Of each port, the count of the counter visited 2 clocks ago.
        pub stat_count: Bank<Signal<In, Bits<32>>, N>,

        /// What has been taken from the bus.
        #[reset] aw_full: DFF<Bit>,
        aw_addr: DFF<Bits<12>>,
        #[reset] w_full: DFF<Bit>,
        w_data: DFF<Bits<32>>,
        w_strb: DFF<Bits<4>>,
        #[reset] ar_full: DFF<Bit>,
        ar_addr: DFF<Bits<12>>,
        /// Answers.
        #[reset] b_valid: DFF<Bit>,
        b_error: DFF<Bit>,
        #[reset] r_valid: DFF<Bit>,
        r_error: DFF<Bit>,
        r_data: DFF<Bits<32>>,
        /// 0 idle, 1 decode, 2 read, 3 merge, 4 write, 5 wait for a counter, 6 answer.
        #[reset] step: DFF<Bits<3>>,
        /// The access: it is a write, its offset.
        #[reset] writes: DFF<Bit>,
        addr: DFF<Bits<12>>,
        can_write: Signal<Local, Bit>,
        can_read: Signal<Local, Bit>,
        /// Decoded: global register, one-hot; port, one-hot; control, address.
        hit: DFF<Bits<32>>,
        port: DFF<Bits<N>>,
        hit_control: DFF<Bit>,
        hit_address: DFF<Bit>,
        /// What the register holds; the access can be made.
        value: DFF<Bits<32>>,
        known: DFF<Bit>,
        /// The word to write.
        mask: Signal<Local, Bits<32>>,
        mask_low: Signal<Local, Bits<16>>,
        mask_high: Signal<Local, Bits<16>>,
        beyond: Signal<Local, Bit>,
        /// Bits that must be 0 in it.
        spare: DFF<Bits<32>>,
        spares: OneHotMux<32, 11>,
        fresh: DFF<Bits<32>>,
        good: DFF<Bit>,
        go: Signal<Local, Bit>,
        globals: OneHotMux<32, 32>,
        addresses: OneHotMux<32, N>,
        counts: OneHotMux<32, N>,
        /// The registers.
        #[reset] enabled: DFF<Bits<N>>,
        #[reset] engines: DFF<Bits<N>>,
        address: Bank<DFF<Bits<32>>, N>,
        #[reset] ieee_nan: DFF<Bit>,
        ethertype: DFF<Bits<16>>,
        #[reset] ecn_words: DFF<Bits<10>>,
        threshold0: DFF<Bits<20>>,
        threshold1: DFF<Bits<20>>,
        threshold2: DFF<Bits<20>>,
        timeout0: DFF<Bits<24>>,
        timeout1: DFF<Bits<24>>,
        timeout2: DFF<Bits<24>>,
        timeout3: DFF<Bits<24>>,
        #[reset] uc_port: DFF<Bits<6>>,
        #[reset] uc_valid: DFF<Bit>,
        #[reset] children: DFF<Bits<64>>,
        #[reset] mc_wait: DFF<Bits<20>>,
        #[reset] mc_parent: DFF<Bits<6>>,
        #[reset] mc_valid: DFF<Bit>,
        #[reset] select_counter: DFF<Bits<8>>,
        #[reset] select_port: DFF<Bits<6>>,
        #[reset] statistic: DFF<Bits<32>>,
        /// Writes to the tables; after reset, all of them.
        #[reset] uc_write: DFF<Bit>,
        uc_index: DFF<Bits<20>>,
        #[reset] mc_write: DFF<Bit>,
        mc_index: DFF<Bits<20>>,
        #[reset] wiped: DFF<Bit>,
        #[reset] wipe: DFF<Bits<20>>,
        /// The round over the counters: index, one-hot, index 1 and 2 clocks ago, a whole round has passed.
        #[reset] index: DFF<Bits<5>>,
        visit: DFF<Bits<32>>,
        index_1: DFF<Bits<5>>,
        index_2: DFF<Bits<5>>,
        #[reset] round: DFF<Bits<7>>,
        n: Param<N, 32>,
        tu: Param<TU, 32>,
        tm: Param<TM, 32>,
        d: Param<D, 32>,
        port_one: Param<1, N>,
        one: Param<1, 32>,
        known_words: Param<{ KNOWN as usize }, 32>,
        writable_words: Param<{ WRITABLE as usize }, 32>,
        spare_mode: Param<{ regs::MODE.spare() as usize }, 32>,
        spare_ecn_threshold: Param<{ regs::ECN_THRESHOLD.spare() as usize }, 32>,
        spare_ethertype: Param<{ regs::ETHERTYPE.spare() as usize }, 32>,
        spare_threshold: Param<{ regs::THRESHOLD0.spare() as usize }, 32>,
        spare_timeout: Param<{ regs::TIMEOUT0.spare() as usize }, 32>,
        spare_unicast: Param<{ regs::UNICAST_ENTRY.spare() as usize }, 32>,
        spare_unicast_index: Param<{ regs::UNICAST_COMMIT.spare() as usize }, 32>,
        spare_multicast: Param<{ regs::MULTICAST_ENTRY.spare() as usize }, 32>,
        spare_multicast_index: Param<{ regs::MULTICAST_COMMIT.spare() as usize }, 32>,
        spare_select: Param<{ regs::STATISTICS_SELECT.spare() as usize }, 32>,
        spare_control: Param<{ regs::PORT_CONTROL.spare() as usize }, 32>,
        id: Param<{ regs::ID.reset as usize }, 32>,
        version: Param<{ regs::VERSION.reset as usize }, 32>,
        ethertype_reset: Param<{ regs::ETHERTYPE.reset as usize }, 16>,
        threshold0_reset: Param<{ regs::THRESHOLD0.reset as usize }, 20>,
        threshold1_reset: Param<{ regs::THRESHOLD1.reset as usize }, 20>,
        threshold2_reset: Param<{ regs::THRESHOLD2.reset as usize }, 20>,
        timeout0_reset: Param<{ regs::TIMEOUT0.reset as usize }, 24>,
        timeout1_reset: Param<{ regs::TIMEOUT1.reset as usize }, 24>,
        timeout2_reset: Param<{ regs::TIMEOUT2.reset as usize }, 24>,
        timeout3_reset: Param<{ regs::TIMEOUT3.reset as usize }, 24>,
    }
}

impl<const N: usize, const TU: usize, const TM: usize, const MW: usize, const D: usize> Logic
    for SwitchRegs<N, TU, TM, MW, D>
{
    #[hdl_gen]
    fn update(&mut self) {
        // The bus: address and data of a write are taken on their own.
        self.s_axil.awready.next = !self.aw_full.q.val();
        self.s_axil.wready.next = !self.w_full.q.val();
        self.s_axil.arready.next = !self.ar_full.q.val();
        if self.s_axil.awvalid.val() & !self.aw_full.q.val() {
            self.aw_full.d.next = true;
            self.aw_addr.d.next = self.s_axil.awaddr.val();
        }
        if self.s_axil.wvalid.val() & !self.w_full.q.val() {
            self.w_full.d.next = true;
            self.w_data.d.next = self.s_axil.wdata.val();
            self.w_strb.d.next = self.s_axil.wstrb.val();
        }
        if self.s_axil.arvalid.val() & !self.ar_full.q.val() {
            self.ar_full.d.next = true;
            self.ar_addr.d.next = self.s_axil.araddr.val();
        }
        self.s_axil.bvalid.next = self.b_valid.q.val();
        self.s_axil.bresp.next = bit_cast::<2, 1>(self.b_error.q.val().into()) << 1;
        if self.s_axil.bready.val() {
            self.b_valid.d.next = false;
        }
        self.s_axil.rvalid.next = self.r_valid.q.val();
        self.s_axil.rresp.next = bit_cast::<2, 1>(self.r_error.q.val().into()) << 1;
        self.s_axil.rdata.next = self.r_data.q.val();
        if self.s_axil.rready.val() {
            self.r_valid.d.next = false;
        }

        // Step 0: an access begins, a read after a write if both wait.
        self.can_write.next =
            self.aw_full.q.val() & self.w_full.q.val() & !self.b_valid.q.val() & self.wiped.q.val();
        self.can_read.next = self.ar_full.q.val() & !self.r_valid.q.val() & self.wiped.q.val();
        if self.step.q.val() == 0 {
            if self.can_read.val() & (self.writes.q.val() | !self.can_write.val()) {
                self.writes.d.next = false;
                self.addr.d.next = self.ar_addr.q.val();
                self.step.d.next = 1.into();
            } else if self.can_write.val() {
                self.writes.d.next = true;
                self.addr.d.next = self.aw_addr.q.val();
                self.step.d.next = 1.into();
            }
        } else {
            self.step.d.next = self.step.q.val() + 1;
        }

        // Step 1: which register.
        self.hit.d.next = 0.into();
        if (self.addr.q.val().get_bits::<5>(7) == 0) & (self.addr.q.val().get_bits::<2>(0) == 0) {
            self.hit.d.next = self.one.val() << self.addr.q.val().get_bits::<5>(2);
        }
        self.port.d.next = 0.into();
        if (self.addr.q.val().get_bits::<2>(10) == 1) & (self.addr.q.val().get_bits::<2>(0) == 0) {
            self.port.d.next = self.port_one.val() << self.addr.q.val().get_bits::<6>(4);
        }
        self.hit_control.d.next = self.addr.q.val().get_bits::<2>(2) == 0;
        self.hit_address.d.next = self.addr.q.val().get_bits::<2>(2) == 1;

        // Step 2: what it holds. Registers that are not here or cannot be read hold 0.
        for i in 0..32 {
            self.globals.s[i].next = 0.into();
        }
        self.globals.s[0].next = self.id.val();
        self.globals.s[1].next = self.version.val();
        self.globals.s[2].next =
            self.n.val() | (self.d.val() << 8) | (self.tu.val() << 16) | (self.tm.val() << 24);
        self.globals.s[4].next = bit_cast::<32, 1>(self.ieee_nan.q.val().into());
        self.globals.s[5].next = bit_cast::<32, 16>(self.ethertype.q.val());
        self.globals.s[6].next = bit_cast::<32, 10>(self.ecn_words.q.val());
        self.globals.s[8].next = bit_cast::<32, 20>(self.threshold0.q.val());
        self.globals.s[9].next = bit_cast::<32, 20>(self.threshold1.q.val());
        self.globals.s[10].next = bit_cast::<32, 20>(self.threshold2.q.val());
        self.globals.s[12].next = bit_cast::<32, 24>(self.timeout0.q.val());
        self.globals.s[13].next = bit_cast::<32, 24>(self.timeout1.q.val());
        self.globals.s[14].next = bit_cast::<32, 24>(self.timeout2.q.val());
        self.globals.s[15].next = bit_cast::<32, 24>(self.timeout3.q.val());
        self.globals.s[16].next = bit_cast::<32, 6>(self.uc_port.q.val())
            | (bit_cast::<32, 1>(self.uc_valid.q.val().into()) << 8);
        self.globals.s[20].next = self.children.q.val().get_bits::<32>(0);
        self.globals.s[21].next = self.children.q.val().get_bits::<32>(32);
        self.globals.s[22].next = bit_cast::<32, 20>(self.mc_wait.q.val())
            | (bit_cast::<32, 6>(self.mc_parent.q.val()) << 20)
            | (bit_cast::<32, 1>(self.mc_valid.q.val().into()) << 31);
        self.globals.s[28].next = bit_cast::<32, 8>(self.select_counter.q.val())
            | (bit_cast::<32, 6>(self.select_port.q.val()) << 8);
        self.globals.s[29].next = self.statistic.q.val();
        self.globals.sel.next = self.hit.q.val();
        self.addresses.sel.next = self.port.q.val();
        self.value.d.next = self.globals.m.val();
        if self.port.q.val().any() {
            self.value.d.next = self.addresses.m.val();
            if self.hit_control.q.val() {
                self.value.d.next =
                    bit_cast::<32, 1>((self.enabled.q.val() & self.port.q.val()).any().into())
                        | (bit_cast::<32, 1>(
                            (self.engines.q.val() & self.port.q.val()).any().into(),
                        ) << 1);
            }
        }
        self.known.d.next = (self.port.q.val().any()
            & (self.hit_control.q.val() | self.hit_address.q.val()))
            | (!self.writes.q.val() & (self.hit.q.val() & self.known_words.val()).any())
            | (self.writes.q.val() & (self.hit.q.val() & self.writable_words.val()).any());

        // Bits that no field of it has; registers that are not named here have fields everywhere, or cannot be written.
        self.spares.s[0].next = self.spare_mode.val();
        self.spares.s[1].next = self.spare_ethertype.val();
        self.spares.s[2].next = self.spare_threshold.val();
        self.spares.s[3].next = self.spare_timeout.val();
        self.spares.s[4].next = self.spare_unicast.val();
        self.spares.s[5].next = self.spare_unicast_index.val();
        self.spares.s[6].next = self.spare_multicast.val();
        self.spares.s[7].next = self.spare_multicast_index.val();
        self.spares.s[8].next = self.spare_select.val();
        self.spares.s[9].next = self.spare_control.val();
        self.spares.s[10].next = self.spare_ecn_threshold.val();
        self.spares.sel.next = bit_cast::<11, 1>(self.hit.q.val().get_bit(4).into())
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(5).into()) << 1)
            | (bit_cast::<11, 1>(
                (self.hit.q.val().get_bit(8)
                    | self.hit.q.val().get_bit(9)
                    | self.hit.q.val().get_bit(10))
                .into(),
            ) << 2)
            | (bit_cast::<11, 1>(
                (self.hit.q.val().get_bit(12)
                    | self.hit.q.val().get_bit(13)
                    | self.hit.q.val().get_bit(14)
                    | self.hit.q.val().get_bit(15))
                .into(),
            ) << 3)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(16).into()) << 4)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(17).into()) << 5)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(22).into()) << 6)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(23).into()) << 7)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(28).into()) << 8)
            | (bit_cast::<11, 1>((self.port.q.val().any() & self.hit_control.q.val()).into()) << 9)
            | (bit_cast::<11, 1>(self.hit.q.val().get_bit(6).into()) << 10);
        self.spare.d.next = self.spares.m.val();

        // Step 3: the word to write; whether an index lies in its table.
        self.mask_low.next = 0.into();
        if self.w_strb.q.val().get_bit(0) {
            self.mask_low.next = 0xff.into();
        }
        if self.w_strb.q.val().get_bit(1) {
            self.mask_low.next = 0xff00.into();
            if self.w_strb.q.val().get_bit(0) {
                self.mask_low.next = 0xffff.into();
            }
        }
        self.mask_high.next = 0.into();
        if self.w_strb.q.val().get_bit(2) {
            self.mask_high.next = 0xff.into();
        }
        if self.w_strb.q.val().get_bit(3) {
            self.mask_high.next = 0xff00.into();
            if self.w_strb.q.val().get_bit(2) {
                self.mask_high.next = 0xffff.into();
            }
        }
        self.mask.next = bit_cast::<32, 16>(self.mask_low.val())
            | (bit_cast::<32, 16>(self.mask_high.val()) << 16);
        self.fresh.d.next =
            (self.value.q.val() & !self.mask.val()) | (self.w_data.q.val() & self.mask.val());
        if self.step.q.val() == 3 {
            self.good.d.next = self.known.q.val();
        }

        // Step 4: it is written.
        self.beyond.next = (self.fresh.q.val() & self.spare.q.val()).any()
            | (self.hit.q.val().get_bit(17)
                & ((self.fresh.q.val().get_bits::<20>(0) >> self.tu.val().get_bits::<5>(0)) != 0))
            | (self.hit.q.val().get_bit(23)
                & ((self.fresh.q.val().get_bits::<13>(0) >> self.tm.val().get_bits::<5>(0)) != 0));
        self.go.next = false;
        if self.step.q.val() == 4 {
            self.go.next = self.writes.q.val()
                & self.good.q.val()
                & !self.beyond.val()
                & self.w_strb.q.val().any();
            self.good.d.next = self.good.q.val() & !(self.writes.q.val() & self.beyond.val());
            self.step.d.next = 6.into();
        }
        self.uc_write.d.next = false;
        self.mc_write.d.next = false;
        if self.go.val() {
            if self.hit.q.val().get_bit(4) {
                self.ieee_nan.d.next = self.fresh.q.val().get_bit(0);
            }
            if self.hit.q.val().get_bit(5) {
                self.ethertype.d.next = self.fresh.q.val().get_bits::<16>(0);
            }
            if self.hit.q.val().get_bit(6) {
                self.ecn_words.d.next = self.fresh.q.val().get_bits::<10>(0);
            }
            if self.hit.q.val().get_bit(8) {
                self.threshold0.d.next = self.fresh.q.val().get_bits::<20>(0);
            }
            if self.hit.q.val().get_bit(9) {
                self.threshold1.d.next = self.fresh.q.val().get_bits::<20>(0);
            }
            if self.hit.q.val().get_bit(10) {
                self.threshold2.d.next = self.fresh.q.val().get_bits::<20>(0);
            }
            if self.hit.q.val().get_bit(12) {
                self.timeout0.d.next = self.fresh.q.val().get_bits::<24>(0);
            }
            if self.hit.q.val().get_bit(13) {
                self.timeout1.d.next = self.fresh.q.val().get_bits::<24>(0);
            }
            if self.hit.q.val().get_bit(14) {
                self.timeout2.d.next = self.fresh.q.val().get_bits::<24>(0);
            }
            if self.hit.q.val().get_bit(15) {
                self.timeout3.d.next = self.fresh.q.val().get_bits::<24>(0);
            }
            if self.hit.q.val().get_bit(16) {
                self.uc_port.d.next = self.fresh.q.val().get_bits::<6>(0);
                self.uc_valid.d.next = self.fresh.q.val().get_bit(8);
            }
            if self.hit.q.val().get_bit(17) {
                self.uc_write.d.next = true;
                self.uc_index.d.next = self.fresh.q.val().get_bits::<20>(0);
            }
            if self.hit.q.val().get_bit(20) {
                self.children.d.next =
                    (bit_cast::<64, 32>(self.children.q.val().get_bits::<32>(32)) << 32)
                        | bit_cast::<64, 32>(self.fresh.q.val());
            }
            if self.hit.q.val().get_bit(21) {
                self.children.d.next = (bit_cast::<64, 32>(self.fresh.q.val()) << 32)
                    | bit_cast::<64, 32>(self.children.q.val().get_bits::<32>(0));
            }
            if self.hit.q.val().get_bit(22) {
                self.mc_wait.d.next = self.fresh.q.val().get_bits::<20>(0);
                self.mc_parent.d.next = self.fresh.q.val().get_bits::<6>(20);
                self.mc_valid.d.next = self.fresh.q.val().get_bit(31);
            }
            if self.hit.q.val().get_bit(23) {
                self.mc_write.d.next = true;
                self.mc_index.d.next = bit_cast::<20, 13>(self.fresh.q.val().get_bits::<13>(0));
            }
            if self.hit.q.val().get_bit(28) {
                self.select_counter.d.next = self.fresh.q.val().get_bits::<8>(0);
                self.select_port.d.next = self.fresh.q.val().get_bits::<6>(8);
                self.step.d.next = 5.into();
            }
            if self.hit_control.q.val() {
                self.enabled.d.next = self.enabled.q.val() & !self.port.q.val();
                if self.fresh.q.val().get_bit(0) {
                    self.enabled.d.next = self.enabled.q.val() | self.port.q.val();
                }
                self.engines.d.next = self.engines.q.val() & !self.port.q.val();
                if self.fresh.q.val().get_bit(1) {
                    self.engines.d.next = self.engines.q.val() | self.port.q.val();
                }
            }
        }
        for i in 0..N {
            self.address[i].d.next = self.address[i].q.val();
            if self.go.val() & self.hit_address.q.val() & self.port.q.val().get_bit(i) {
                self.address[i].d.next = self.fresh.q.val();
            }
            self.addresses.s[i].next = self.address[i].q.val();
            self.cfg_address[i].next = self.address[i].q.val();
            self.counts.s[i].next = self.stat_count[i].val();
        }

        // Step 5: the round over the counters comes by. What is behind the 32 reads as 0.
        self.counts.sel.next = self.port_one.val() << self.select_port.q.val();
        self.index.d.next = self.index.q.val() + 1;
        self.visit.d.next =
            (self.visit.q.val() << 1) | bit_cast::<32, 1>(self.visit.q.val().get_bits::<1>(31));
        self.index_1.d.next = self.index.q.val();
        self.index_2.d.next = self.index_1.q.val();
        if !self.round.q.val().get_bit(6) {
            self.round.d.next = self.round.q.val() + 1;
        }
        if self.step.q.val() == 5 {
            self.step.d.next = 5.into();
            if self.index_2.q.val() == self.select_counter.q.val().get_bits::<5>(0) {
                self.statistic.d.next = self.counts.m.val();
                if self.select_counter.q.val().get_bits::<3>(5).any() {
                    self.statistic.d.next = 0.into();
                }
                self.step.d.next = 6.into();
            }
        }
        self.stat_clear.next = !self.round.q.val().get_bit(6);
        self.stat_index.next = self.index.q.val();
        self.stat_visit.next = self.visit.q.val();

        // Step 6: the answer.
        if self.step.q.val() == 6 {
            self.step.d.next = 0.into();
            if self.writes.q.val() {
                self.b_valid.d.next = true;
                self.b_error.d.next = !self.good.q.val();
                self.aw_full.d.next = false;
                self.w_full.d.next = false;
            } else {
                self.r_valid.d.next = true;
                self.r_error.d.next = !self.good.q.val();
                self.r_data.d.next = 0.into();
                if self.good.q.val() {
                    self.r_data.d.next = self.value.q.val();
                }
                self.ar_full.d.next = false;
            }
        }

        // Tables: the staged entry, or nothing while they are wiped.
        self.uc.en.next = self.uc_write.q.val() | !self.wiped.q.val();
        self.mc.en.next = self.mc_write.q.val() | !self.wiped.q.val();
        self.uc.addr.next = self.uc_index.q.val().get_bits::<TU>(0);
        self.mc.addr.next = self.mc_index.q.val().get_bits::<TM>(0);
        self.uc.data.next = bit_cast::<7, 6>(self.uc_port.q.val())
            | (bit_cast::<7, 1>(self.uc_valid.q.val().into()) << 6);
        self.mc.data.next = bit_cast::<MW, 20>(self.mc_wait.q.val())
            | (bit_cast::<MW, 6>(self.mc_parent.q.val()) << 20)
            | (bit_cast::<MW, 1>(self.mc_valid.q.val().into()) << 26)
            | (bit_cast::<MW, N>(self.children.q.val().get_bits::<N>(0)) << 27);
        if !self.wiped.q.val() {
            self.wipe.d.next = self.wipe.q.val() + 1;
            self.wiped.d.next = ((self.wipe.q.val() >> self.tu.val().get_bits::<5>(0)) != 0)
                & ((self.wipe.q.val() >> self.tm.val().get_bits::<5>(0)) != 0);
            self.uc.addr.next = self.wipe.q.val().get_bits::<TU>(0);
            self.mc.addr.next = self.wipe.q.val().get_bits::<TM>(0);
            self.uc.data.next = 0.into();
            self.mc.data.next = 0.into();
        }

        self.cfg_enabled.next = self.enabled.q.val();
        self.cfg_engines.next = self.engines.q.val();
        self.cfg_ieee_nan.next = self.ieee_nan.q.val();
        self.cfg_ethertype.next = self.ethertype.q.val();
        self.cfg_ecn_words.next = self.ecn_words.q.val();
        self.cfg_threshold0.next = self.threshold0.q.val();
        self.cfg_threshold1.next = self.threshold1.q.val();
        self.cfg_threshold2.next = self.threshold2.q.val();
        self.cfg_timeout0.next = self.timeout0.q.val();
        self.cfg_timeout1.next = self.timeout1.q.val();
        self.cfg_timeout2.next = self.timeout2.q.val();
        self.cfg_timeout3.next = self.timeout3.q.val();
        if self.rst.val() {
            self.ethertype.d.next = self.ethertype_reset.val();
            self.threshold0.d.next = self.threshold0_reset.val();
            self.threshold1.d.next = self.threshold1_reset.val();
            self.threshold2.d.next = self.threshold2_reset.val();
            self.timeout0.d.next = self.timeout0_reset.val();
            self.timeout1.d.next = self.timeout1_reset.val();
            self.timeout2.d.next = self.timeout2_reset.val();
            self.timeout3.d.next = self.timeout3_reset.val();
            self.visit.d.next = 1.into();
            for i in 0..N {
                self.address[i].d.next = 0.into();
            }
        }
    }
}
