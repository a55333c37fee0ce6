//! A PHY with its MAC.

use super::{PhySetup, RgmiiEcp5};
use crate::blocks::SyncBits;
use crate::bus::{AxisIn, AxisRxOut};
use crate::mac::MacGmii;
use crate::prelude::*;

hdl_module! {
    /// A port of 1 Gb/s of a board with an ECP5 and a PHY 88E1512: pads of RGMII and MDIO on one side, AXI4-Stream of
    /// 64 bits on the other. The PHY is set up first (phy_setup); the MAC is held in reset until its clock may be relied on.
    /// Pads have the delays RX and TX of rgmii_pads; 2^C clocks are the reset of the PHY.
    /// Frames of up to 9,018 bytes without FCS are good.
    #[module("line_port_rx{RX}_tx{TX}_c{C}")]
    pub struct LinePort<const RX: usize, const TX: usize, const C: usize> {
        /// Clock of the core; from 40 MHz on the line is full.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Clock of what is sent: 125 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Pads of the PHY.
        pub rgmii_rxc: Signal<In, Clock>,
        /// Pad.
        pub rgmii_rx_ctl: Signal<In, Bit>,
        /// Pads.
        pub rgmii_rxd: Signal<In, Bits<4>>,
        /// Pad.
        pub rgmii_txc: Signal<Out, Bit>,
        /// Pad.
        pub rgmii_tx_ctl: Signal<Out, Bit>,
        /// Pads.
        pub rgmii_txd: Signal<Out, Bits<4>>,
        /// Pad: reset of the PHY, active low.
        pub phy_rst_n: Signal<Out, Bit>,
        /// Pad.
        pub mdc: Signal<Out, Bit>,
        /// Said at the pad of MDIO while mdio_oe is high.
        pub mdio_o: Signal<Out, Bit>,
        /// Something is said.
        pub mdio_oe: Signal<Out, Bit>,
        /// Heard at that pad.
        pub mdio_i: Signal<In, Bit>,
        /// Frames to send.
        pub s_axis_tx: AxisIn<64, 8>,
        /// Frames that came.
        pub m_axis_rx: AxisRxOut<64, 8>,
        /// The PHY was found and set up.
        pub stat_ready: Signal<Out, Bit>,
        /// The PHY says that its line is up.
        pub stat_link: Signal<Out, Bit>,
        /// A good frame came; pulse, as the next one.
        pub stat_frame: Signal<Out, Bit>,
        /// A bad frame came, or a part of one, or one was lost in the MAC.
        pub stat_fault: Signal<Out, Bit>,

        setup: PhySetup<C>,
        rgmii: RgmiiEcp5<RX, TX>,
        mac: MacGmii,
        link: SyncBits<1>,
        /// The MAC may not run yet.
        held: DFF<Bit>,
        longest: Param<9022, 16>,
    }
}

impl<const RX: usize, const TX: usize, const C: usize> Logic for LinePort<RX, TX, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.setup.mdio_i.next = self.mdio_i.val();
        self.phy_rst_n.next = self.setup.phy_rst_n.val();
        self.mdc.next = self.setup.mdc.val();
        self.mdio_o.next = self.setup.mdio_o.val();
        self.mdio_oe.next = self.setup.mdio_oe.val();
        self.stat_ready.next = self.setup.ready.val();
        self.held.d.next = self.rst.val() | !self.setup.awake.val();

        self.rgmii.rgmii_rxc.next = self.rgmii_rxc.val();
        self.rgmii.rgmii_rx_ctl.next = self.rgmii_rx_ctl.val();
        self.rgmii.rgmii_rxd.next = self.rgmii_rxd.val();
        self.rgmii_txc.next = self.rgmii.rgmii_txc.val();
        self.rgmii_tx_ctl.next = self.rgmii.rgmii_tx_ctl.val();
        self.rgmii_txd.next = self.rgmii.rgmii_txd.val();
        self.rgmii.tx_clk.next = self.tx_clk.val();
        self.rgmii.gmii_txd.next = self.mac.gmii_txd.val();
        self.rgmii.gmii_tx_en.next = self.mac.gmii_tx_en.val();
        self.rgmii.gmii_tx_er.next = self.mac.gmii_tx_er.val();
        self.link.clk.next = self.clk.val();
        self.link.d.next = self.rgmii.status.val().get_bit(0).into();
        self.stat_link.next = self.link.q.val().get_bit(0);

        self.mac.clk.next = self.clk.val();
        self.mac.rst.next = self.held.q.val();
        self.mac.rx_clk.next = self.rgmii_rxc.val();
        self.mac.gmii_rxd.next = self.rgmii.gmii_rxd.val();
        self.mac.gmii_rx_dv.next = self.rgmii.gmii_rx_dv.val();
        self.mac.gmii_rx_er.next = self.rgmii.gmii_rx_er.val();
        self.mac.tx_clk.next = self.tx_clk.val();
        self.mac.cfg_longest.next = self.longest.val();
        AxisIn::<64, 8>::link(&mut self.s_axis_tx, &mut self.mac.s_axis_tx);
        AxisRxOut::<64, 8>::link(&mut self.m_axis_rx, &mut self.mac.m_axis_rx);
        self.stat_frame.next = self.mac.stat_rx_frame.val();
        self.stat_fault.next = self.mac.stat_rx_bad.val()
            | self.mac.stat_rx_dropped.val()
            | self.mac.stat_rx_fragment.val()
            | self.mac.stat_tx_underrun.val();
    }
}
