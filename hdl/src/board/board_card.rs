//! A card whose host is at the other end of a link of TLPs in frames.

use crate::bus::{
    AxisOut, AxisRxIn, LinkOfferOut, LinkUnitOut, TlpRxCompletionOut, TlpRxRequestOut,
    TlpTxCompletionOut, TlpTxReadOut, TlpTxWriteOut,
};
use crate::card::CardTop;
use crate::link::{TlpLink, TlpUnits};
use crate::prelude::*;

hdl_module! {
    /// A card of 2^LQ queue pairs, 2^LR regions and 2^LF requests in flight with the board's end of a host link: card,
    /// tlp_units and tlp_link, and only wires between them. CA is LQ + 4. Both sides are AXI4-Stream of 64 bits as mac_gmii
    /// has it, in one clock. The link has room for 1,024 words that came and for 1,024 words and 64 units that may have to
    /// be sent again; a unit of the host has 128 words at most.
    /// A write is done when the host's end has acknowledged it.
    /// Latency: that of its parts.
    #[module("board_card_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct BoardCard<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with both MACs: a new life of the link.
        pub rst: Signal<In, Bit>,
        /// Frames of the link from the MAC of the host's side; always taken.
        pub s_axis_host_rx: AxisRxIn<64, 8>,
        /// Frames of the link.
        pub m_axis_host_tx: AxisOut<64, 8>,
        /// Frames of the network from its MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Frames of the network.
        pub m_axis_tx: AxisOut<64, 8>,
        /// Number of this life of the link, as tlp_link wants it.
        pub cfg_life: Signal<In, Bits<32>>,
        /// Clocks until frames of the link are sent again, and between those of an idle link: 2 at least.
        pub cfg_timeout: Signal<In, Bits<24>>,
        /// MAC address of this end of the link.
        pub cfg_source: Signal<In, Bits<48>>,
        /// MAC address of the host.
        pub cfg_destination: Signal<In, Bits<48>>,
        /// Units of 64 clocks after which a read of host memory fails: far more than the link needs to send anew; 0 never.
        pub cfg_read_timeout: Signal<In, Bits<16>>,
        /// There is a session with a host.
        pub session: Signal<Out, Bit>,
        /// A session was lost; pulse, as all of these.
        pub stat_lost: Signal<Out, Bit>,
        /// Units are sent again.
        pub stat_again: Signal<Out, Bit>,
        /// The host does not keep to the limit.
        pub stat_overrun: Signal<Out, Bit>,
        /// A unit of the host was malformed.
        pub stat_malformed: Signal<Out, Bit>,

        card: CardTop<LQ, LR, LF, CA>,
        units: TlpUnits<7, 8>,
        host: TlpLink<10, 10, 6>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> Logic
    for BoardCard<LQ, LR, LF, CA>
{
    #[hdl_gen]
    fn update(&mut self) {
        AxisRxIn::<64, 8>::link(&mut self.s_axis_host_rx, &mut self.host.s_axis_rx);
        AxisOut::<64, 8>::link(&mut self.m_axis_host_tx, &mut self.host.m_axis_tx);
        self.host.cfg_life.next = self.cfg_life.val();
        self.host.cfg_timeout.next = self.cfg_timeout.val();
        self.host.cfg_source.next = self.cfg_source.val();
        self.host.cfg_destination.next = self.cfg_destination.val();
        LinkUnitOut::join(&mut self.host.m_unit, &mut self.units.s_unit);
        LinkOfferOut::join(&mut self.units.m_unit, &mut self.host.s_unit);
        self.units.session.next = self.host.session.val();
        self.units.s_acked.next = self.host.acked_units.val();
        self.session.next = self.host.session.val();
        self.stat_lost.next = self.host.stat_lost.val();
        self.stat_again.next = self.host.stat_again.val();
        self.stat_overrun.next = self.host.stat_overrun.val();
        self.stat_malformed.next = self.units.stat_malformed.val();

        TlpRxRequestOut::<64, 2>::join(&mut self.units.m_rx_req_tlp, &mut self.card.s_rx_req_tlp);
        TlpRxCompletionOut::<64, 2>::join(
            &mut self.units.m_rx_cpl_tlp,
            &mut self.card.s_rx_cpl_tlp,
        );
        TlpTxCompletionOut::<64, 2>::join(
            &mut self.card.m_tx_cpl_tlp,
            &mut self.units.s_tx_cpl_tlp,
        );
        TlpTxReadOut::join(
            &mut self.card.m_tx_rd_req_tlp,
            &mut self.units.s_tx_rd_req_tlp,
        );
        TlpTxWriteOut::<64, 2>::join(
            &mut self.card.m_tx_wr_req_tlp,
            &mut self.units.s_tx_wr_req_tlp,
        );
        self.card.s_axis_wr_req_tx_seq_num.next = self.units.m_axis_wr_req_tx_seq_num.val();
        self.card.s_axis_wr_req_tx_seq_num_valid.next =
            self.units.m_axis_wr_req_tx_seq_num_valid.val();
        self.card.cfg_write_returns.next = true;
        self.card.cfg_read_timeout.next = self.cfg_read_timeout.val();
        self.card.flr.next = self.units.m_flr.val();
        self.card.completer_id.next = self.units.m_function_id.val();
        self.card.requester_id.next = self.units.m_function_id.val();
        self.card.max_payload_size.next = self.units.m_max_payload_size.val();
        self.card.max_read_request_size.next = self.units.m_max_read_request_size.val();
        self.card.bus_master_enable.next = self.units.m_bus_master_enable.val();
        self.card.msix_enable.next = self.units.m_msix_enable.val();
        self.card.msix_mask.next = self.units.m_msix_mask.val();

        AxisRxIn::<64, 8>::link(&mut self.s_axis_rx, &mut self.card.s_axis_rx);
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.card.m_axis_tx);
    }
}
