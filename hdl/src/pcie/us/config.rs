//! Configuration of the function and its reset.

use crate::prelude::*;

hdl_module! {
    /// What the PCI Express block of UltraScale+ says of function 0 becomes the configuration of a card, one clock later.
    /// A reset of the function: m_flr, and bus mastering counts as off; what the card still offers is thrown away
    /// (m_discard) until the card is at rest and no number of a request has come for 4,096 clocks; then bit 0 of cfg_flr_done is
    /// given for one clock, and m_clear with it. The next reset is seen when bit 0 of cfg_flr_in_process has fallen.
    #[module("pcie_us_config")]
    pub struct PcieUsConfig {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// Bus of the function.
        pub cfg_bus_number: Signal<In, Bits<8>>,
        /// Bit 2: bus mastering of function 0.
        pub cfg_function_status: Signal<In, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub cfg_max_payload: Signal<In, Bits<2>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub cfg_max_read_req: Signal<In, Bits<3>>,
        /// Bit 0: MSI-X of function 0 is enabled.
        pub cfg_interrupt_msix_enable: Signal<In, Bits<4>>,
        /// Bit 0: all its vectors are masked.
        pub cfg_interrupt_msix_mask: Signal<In, Bits<4>>,
        /// Bit 0: function 0 is being reset.
        pub cfg_flr_in_process: Signal<In, Bits<4>>,
        /// Bit 0: it has been; pulse.
        pub cfg_flr_done: Signal<Out, Bits<4>>,
        /// The card's reset has not ended.
        pub card_busy: Signal<In, Bit>,
        /// A number has come back; pulse.
        pub s_some: Signal<In, Bit>,
        /// Function-level reset; pulse.
        pub m_flr: Signal<Out, Bit>,
        /// Requester and completer ID: device 0, function 0 of the bus.
        pub m_function_id: Signal<Out, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub m_max_payload_size: Signal<Out, Bits<3>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub m_max_read_request_size: Signal<Out, Bits<3>>,
        /// TLPs may be sent.
        pub m_bus_master_enable: Signal<Out, Bit>,
        /// MSI-X is enabled.
        pub m_msix_enable: Signal<Out, Bit>,
        /// All its vectors are masked.
        pub m_msix_mask: Signal<Out, Bit>,
        /// What the card offers to its host is of before the reset.
        pub m_discard: Signal<Out, Bit>,
        /// Numbers of before the reset do not come any more; pulse.
        pub m_clear: Signal<Out, Bit>,

        #[reset] bus: DFF<Bits<8>>,
        #[reset] bus_master: DFF<Bit>,
        #[reset] max_payload: DFF<Bits<2>>,
        #[reset] max_read: DFF<Bits<3>>,
        #[reset] msix_enable: DFF<Bit>,
        #[reset] msix_mask: DFF<Bit>,
        #[reset] asked: DFF<Bit>,
        /// 0 none, 1 under way, 2 done.
        #[reset] state: DFF<Bits<2>>,
        #[reset] flr: DFF<Bit>,
        #[reset] done: DFF<Bit>,
        #[reset] quiet: DFF<Bits<12>>,
    }
}

impl Logic for PcieUsConfig {
    #[hdl_gen]
    fn update(&mut self) {
        self.bus.d.next = self.cfg_bus_number.val();
        self.bus_master.d.next = self.cfg_function_status.val().get_bit(2);
        self.max_payload.d.next = self.cfg_max_payload.val();
        self.max_read.d.next = self.cfg_max_read_req.val();
        self.msix_enable.d.next = self.cfg_interrupt_msix_enable.val().get_bit(0);
        self.msix_mask.d.next = self.cfg_interrupt_msix_mask.val().get_bit(0);
        self.asked.d.next = self.cfg_flr_in_process.val().get_bit(0);
        self.m_function_id.next = bit_cast::<16, 8>(self.bus.q.val()) << 8;
        self.m_max_payload_size.next = bit_cast::<3, 2>(self.max_payload.q.val());
        self.m_max_read_request_size.next = self.max_read.q.val();
        self.m_bus_master_enable.next = self.bus_master.q.val() & (self.state.q.val() != 1);
        self.m_msix_enable.next = self.msix_enable.q.val();
        self.m_msix_mask.next = self.msix_mask.q.val();

        self.flr.d.next = false;
        self.done.d.next = false;
        self.quiet.d.next = self.quiet.q.val() + 1;
        if (self.state.q.val() == 0) & self.asked.q.val() {
            self.state.d.next = 1.into();
            self.flr.d.next = true;
        }
        if (self.state.q.val() == 1) & self.quiet.q.val().all() {
            self.state.d.next = 2.into();
            self.done.d.next = true;
        }
        if (self.state.q.val() == 2) & !self.asked.q.val() {
            self.state.d.next = 0.into();
        }
        if (self.state.q.val() != 1) | self.flr.q.val() | self.card_busy.val() | self.s_some.val() {
            self.quiet.d.next = 0.into();
        }
        self.m_flr.next = self.flr.q.val();
        self.m_discard.next = self.state.q.val() == 1;
        self.m_clear.next = self.done.q.val();
        self.cfg_flr_done.next = bit_cast::<4, 1>(self.done.q.val().into());
    }
}
