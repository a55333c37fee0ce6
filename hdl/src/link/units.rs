//! What joins an end of the link to a card.

use super::{LinkSettings, TlpUnitsIn, TlpUnitsOut};
use crate::bus::{
    LinkOfferOut, LinkUnitIn, TlpRxCompletionOut, TlpRxRequestOut, TlpTxCompletionIn, TlpTxReadIn,
    TlpTxWriteIn,
};
use crate::prelude::*;

hdl_module! {
    /// The board's side of a host link: units of tlp_link on one side, the TLP streams and the configuration of a card on
    /// the other. Units from the host have 2^A words at most (tlp_units_in); order of those for it: tlp_units_out. P is A + 1.
    /// A session that is lost is a function-level reset of the card, and nothing of it is seen in the next one: the settings
    /// fall back to 0, a TLP that the card is being given ends, units are forgotten, then m_flr is given; what the card still
    /// offers is thrown away until there was nothing for 64 clocks. Only then a new session is served; its units wait. Without
    /// a session everything that the card offers is thrown away, and none begins within a TLP.
    /// Latency: m_settings and m_flr change one clock behind tlp_units_in; the rest see there.
    #[module("tlp_units_d{}", 1usize << A)]
    pub struct TlpUnits<const A: usize, const P: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with card and link.
        pub rst: Signal<In, Bit>,
        /// There is a session.
        pub session: Signal<In, Bit>,
        /// Units from the host.
        pub s_unit: LinkUnitIn,
        /// Units for the host; while session is low m_unit_valid may fall.
        pub m_unit: LinkOfferOut,
        /// Requests of the host.
        pub m_rx_req_tlp: TlpRxRequestOut<64, 2>,
        /// Completions of the host.
        pub m_rx_cpl_tlp: TlpRxCompletionOut<64, 2>,
        /// Completions for the host.
        pub s_tx_cpl_tlp: TlpTxCompletionIn<64, 2>,
        /// Reads of host memory.
        pub s_tx_rd_req_tlp: TlpTxReadIn,
        /// Writes of host memory.
        pub s_tx_wr_req_tlp: TlpTxWriteIn<64, 2>,
        /// Units of this session that the host's end has acknowledged, modulo 2^16.
        pub s_acked: Signal<In, Bits<16>>,
        /// Sequence number of a write that is among these.
        pub m_axis_wr_req_tx_seq_num: Signal<Out, Bits<6>>,
        /// It comes back; pulse.
        pub m_axis_wr_req_tx_seq_num_valid: Signal<Out, Bit>,
        /// Function-level reset; pulse.
        pub m_flr: Signal<Out, Bit>,
        /// Requester and completer ID of the card.
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
        /// A unit was malformed or too long, and had no effect; pulse.
        pub stat_malformed: Signal<Out, Bit>,

        units_in: TlpUnitsIn<A, P>,
        units_out: TlpUnitsOut,
        /// 0 no session is served, 1 one is, 2 it is lost, 3 the card calms down.
        #[reset] state: DFF<Bits<2>>,
        #[reset] calm: DFF<Bits<6>>,
        #[reset] settings: DFF<Bits<64>>,
        #[reset] flr: DFF<Bit>,
        up: Signal<Local, Bit>,
        asked: Signal<Local, LinkSettings>,
        now: Signal<Local, LinkSettings>,
    }
}

impl<const A: usize, const P: usize> Logic for TlpUnits<A, P> {
    #[hdl_gen]
    fn update(&mut self) {
        LinkUnitIn::link(&mut self.s_unit, &mut self.units_in.s_unit);
        LinkOfferOut::link(&mut self.m_unit, &mut self.units_out.m_unit);
        TlpRxRequestOut::<64, 2>::link(&mut self.m_rx_req_tlp, &mut self.units_in.m_req_tlp);
        TlpRxCompletionOut::<64, 2>::link(&mut self.m_rx_cpl_tlp, &mut self.units_in.m_cpl_tlp);
        TlpTxCompletionIn::<64, 2>::link(&mut self.s_tx_cpl_tlp, &mut self.units_out.s_cpl_tlp);
        TlpTxReadIn::link(&mut self.s_tx_rd_req_tlp, &mut self.units_out.s_rd_tlp);
        TlpTxWriteIn::<64, 2>::link(&mut self.s_tx_wr_req_tlp, &mut self.units_out.s_wr_tlp);
        self.units_out.s_acked.next = self.s_acked.val();
        self.m_axis_wr_req_tx_seq_num.next = self.units_out.m_sent.val();
        self.m_axis_wr_req_tx_seq_num_valid.next = self.units_out.m_sent_valid.val();
        self.stat_malformed.next = self.units_in.stat_malformed.val();

        self.up.next = (self.state.q.val() == 1) & self.session.val();
        self.units_in.enable.next = self.up.val();
        self.units_out.enable.next = self.up.val();
        self.units_in.rst.next = self.rst.val() | (self.state.q.val() != 1);
        if self.state.q.val() == 2 {
            comment!("The card sees an end of every TLP.");
            self.units_in.rst.next = self.rst.val() | !self.units_in.m_within.val();
        }
        self.asked.next = self.units_in.m_settings.val().into();
        self.flr.d.next = false;
        if self.units_in.m_set.val() {
            self.settings.d.next = self.units_in.m_settings.val();
            self.flr.d.next = self.asked.val().function_reset;
        }
        if (self.state.q.val() == 0) & self.session.val() & !self.units_out.m_some.val() {
            self.state.d.next = 1.into();
        }
        if (self.state.q.val() == 1) & !self.session.val() {
            self.state.d.next = 2.into();
        }
        if self.state.q.val() != 1 {
            self.settings.d.next = 0.into();
        }
        if (self.state.q.val() == 2) & !self.units_in.m_within.val() {
            self.state.d.next = 3.into();
            self.flr.d.next = true;
            self.calm.d.next = 0.into();
        }
        if self.state.q.val() == 3 {
            self.calm.d.next = self.calm.q.val() + 1;
            if self.calm.q.val().all() {
                self.state.d.next = 0.into();
            }
            if self.units_out.m_some.val() {
                self.calm.d.next = 0.into();
                self.state.d.next = 3.into();
            }
        }
        self.now.next = self.settings.q.val().into();
        self.m_flr.next = self.flr.q.val();
        self.m_function_id.next = self.now.val().function_id;
        self.m_max_payload_size.next = self.now.val().max_payload;
        self.m_max_read_request_size.next = self.now.val().max_read;
        self.m_bus_master_enable.next = self.now.val().bus_master;
        self.m_msix_enable.next = self.now.val().msix_enable;
        self.m_msix_mask.next = self.now.val().msix_mask;
    }
}
