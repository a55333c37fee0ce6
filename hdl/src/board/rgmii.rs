//! GMII of a MAC at the RGMII of a PHY.

use super::{Ecp5DdrIn, Ecp5DdrOut};
use crate::prelude::*;

hdl_module! {
    /// RGMII at pads of an ECP5, 1 Gb/s. The bits that come are delayed by RX steps of 25 ps, the clock that is sent by TX;
    /// both are 0 where the PHY delays its clocks.
    /// Latency: 1 clock from the pads to the GMII and 1 to the pads. Between frames the PHY says how its line is:
    /// status keeps that.
    #[module("rgmii_pads_rx{RX}_tx{TX}")]
    pub struct RgmiiEcp5<const RX: usize, const TX: usize> {
        /// Clock of what comes, from the PHY; that of gmii_rx.
        pub rgmii_rxc: Signal<In, Clock>,
        /// Pads: valid, and valid differing from error.
        pub rgmii_rx_ctl: Signal<In, Bit>,
        /// Pads: lower and upper half of a byte.
        pub rgmii_rxd: Signal<In, Bits<4>>,
        /// Pad: clock of what is sent.
        pub rgmii_txc: Signal<Out, Bit>,
        /// Pad, as rgmii_rx_ctl.
        pub rgmii_tx_ctl: Signal<Out, Bit>,
        /// Pads, as rgmii_rxd.
        pub rgmii_txd: Signal<Out, Bits<4>>,
        /// Clock of what is sent: 125 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Byte that comes.
        pub gmii_rxd: Signal<Out, Bits<8>>,
        /// There is one.
        pub gmii_rx_dv: Signal<Out, Bit>,
        /// The PHY has seen an error.
        pub gmii_rx_er: Signal<Out, Bit>,
        /// Byte to send.
        pub gmii_txd: Signal<In, Bits<8>>,
        /// There is one.
        pub gmii_tx_en: Signal<In, Bit>,
        /// The frame is to be taken for bad.
        pub gmii_tx_er: Signal<In, Bit>,
        /// What the PHY says of its line: bit 0 up; 2:1 speed, 2 for 1 Gb/s; 3 full duplex. With rgmii_rxc.
        pub status: Signal<Out, Bits<4>>,

        data_in: Ecp5DdrIn<4, RX>,
        ctl_in: Ecp5DdrIn<1, RX>,
        data_out: Ecp5DdrOut<4, 0>,
        ctl_out: Ecp5DdrOut<1, 0>,
        clock_out: Ecp5DdrOut<1, TX>,
        kept: DFF<Bits<4>>,
    }
}

impl<const RX: usize, const TX: usize> Logic for RgmiiEcp5<RX, TX> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, rgmii_rxc, kept);
        self.data_in.clk.next = self.rgmii_rxc.val();
        self.data_in.pads.next = self.rgmii_rxd.val();
        self.ctl_in.clk.next = self.rgmii_rxc.val();
        self.ctl_in.pads.next = self.rgmii_rx_ctl.val().into();
        self.gmii_rxd.next = (bit_cast::<8, 4>(self.data_in.fall.val()) << 4)
            | bit_cast::<8, 4>(self.data_in.rise.val());
        self.gmii_rx_dv.next = self.ctl_in.rise.val().get_bit(0);
        self.gmii_rx_er.next =
            self.ctl_in.rise.val().get_bit(0) ^ self.ctl_in.fall.val().get_bit(0);
        if !self.ctl_in.rise.val().get_bit(0) & !self.ctl_in.fall.val().get_bit(0) {
            self.kept.d.next = self.data_in.rise.val();
        }
        self.status.next = self.kept.q.val();

        self.data_out.clk.next = self.tx_clk.val();
        self.data_out.rise.next = self.gmii_txd.val().get_bits::<4>(0);
        self.data_out.fall.next = self.gmii_txd.val().get_bits::<4>(4);
        self.rgmii_txd.next = self.data_out.pads.val();
        self.ctl_out.clk.next = self.tx_clk.val();
        self.ctl_out.rise.next = self.gmii_tx_en.val().into();
        self.ctl_out.fall.next = (self.gmii_tx_en.val() ^ self.gmii_tx_er.val()).into();
        self.rgmii_tx_ctl.next = self.ctl_out.pads.val().get_bit(0);
        self.clock_out.clk.next = self.tx_clk.val();
        self.clock_out.rise.next = 1.into();
        self.clock_out.fall.next = 0.into();
        self.rgmii_txc.next = self.clock_out.pads.val().get_bit(0);
    }
}
