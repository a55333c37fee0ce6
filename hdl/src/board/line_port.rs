//! A PHY with its MAC.

use super::{EventLed, PhySetup, RgmiiEcp5};
use crate::blocks::SyncBits;
use crate::bus::{AxisIn, AxisRxOut, PhyIn};
use crate::mac::MacGmii;
use crate::prelude::*;

hdl_record! {
    /// What a port's LEDs show.
    pub struct PortLeds {
        /// Its PHY was found and set up.
        ready: Bit,
        /// The line is up.
        link: Bit,
        /// A good frame came.
        frame: Bit,
        /// Something went wrong.
        fault: Bit,
    }
}

hdl_module! {
    /// A port of 1 Gb/s of a board with an ECP5 and a PHY 88E1512: pads of RGMII and MDIO on one side, AXI4-Stream of
    /// 64 bits on the other. The PHY is set up first (phy_setup); the MAC is held in reset until its clock may be relied on.
    /// Pads have the delays RX and TX of rgmii_pads; 2^C clocks are the reset of the PHY, and
    /// about as long an LED is lit after an event.
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
        pub phy: PhyIn,
        /// Frames to send.
        pub s_axis_tx: AxisIn<64, 8>,
        /// Frames that came.
        pub m_axis_rx: AxisRxOut<64, 8>,
        /// What else is shown as a fault; pulse.
        pub fault: Signal<In, Bit>,
        /// A good frame came; pulse.
        pub stat_frame: Signal<Out, Bit>,
        /// LEDs, lit when high. 0: the PHY was found and set up. 1: it says that its line is up. 2: a good frame came.
        /// 3: a bad frame came, or a part of one, or one was lost in the MAC, or a fault.
        pub leds: Signal<Out, Bits<4>>,

        setup: PhySetup<C>,
        rgmii: RgmiiEcp5<RX, TX>,
        mac: MacGmii,
        link: SyncBits<1>,
        frames: EventLed<C>,
        faults: EventLed<C>,
        shown: Signal<Local, PortLeds>,
        /// The MAC may not run yet.
        held: DFF<Bit>,
        longest: Param<9022, 16>,
    }
}

impl<const RX: usize, const TX: usize, const C: usize> Logic for LinePort<RX, TX, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.setup.mdio_i.next = self.phy.mdio_i.val();
        self.phy.phy_rst_n.next = self.setup.phy_rst_n.val();
        self.phy.mdc.next = self.setup.mdc.val();
        self.phy.mdio_o.next = self.setup.mdio_o.val();
        self.phy.mdio_oe.next = self.setup.mdio_oe.val();
        self.held.d.next = self.rst.val() | !self.setup.awake.val();

        self.rgmii.rgmii_rxc.next = self.phy.rgmii_rxc.val();
        self.rgmii.rgmii_rx_ctl.next = self.phy.rgmii_rx_ctl.val();
        self.rgmii.rgmii_rxd.next = self.phy.rgmii_rxd.val();
        self.phy.rgmii_txc.next = self.rgmii.rgmii_txc.val();
        self.phy.rgmii_tx_ctl.next = self.rgmii.rgmii_tx_ctl.val();
        self.phy.rgmii_txd.next = self.rgmii.rgmii_txd.val();
        self.rgmii.tx_clk.next = self.tx_clk.val();
        self.rgmii.gmii_txd.next = self.mac.gmii_txd.val();
        self.rgmii.gmii_tx_en.next = self.mac.gmii_tx_en.val();
        self.rgmii.gmii_tx_er.next = self.mac.gmii_tx_er.val();
        self.link.clk.next = self.clk.val();
        self.link.d.next = self.rgmii.status.val().get_bit(0).into();

        self.mac.clk.next = self.clk.val();
        self.mac.rst.next = self.held.q.val();
        self.mac.rx_clk.next = self.phy.rgmii_rxc.val();
        self.mac.gmii_rxd.next = self.rgmii.gmii_rxd.val();
        self.mac.gmii_rx_dv.next = self.rgmii.gmii_rx_dv.val();
        self.mac.gmii_rx_er.next = self.rgmii.gmii_rx_er.val();
        self.mac.tx_clk.next = self.tx_clk.val();
        self.mac.cfg_longest.next = self.longest.val();
        AxisIn::<64, 8>::link(&mut self.s_axis_tx, &mut self.mac.s_axis_tx);
        AxisRxOut::<64, 8>::link(&mut self.m_axis_rx, &mut self.mac.m_axis_rx);
        self.stat_frame.next = self.mac.stat_rx_frame.val();
        self.frames.shows.next = self.mac.stat_rx_frame.val();
        self.faults.shows.next = self.fault.val()
            | self.mac.stat_rx_bad.val()
            | self.mac.stat_rx_dropped.val()
            | self.mac.stat_rx_fragment.val()
            | self.mac.stat_tx_underrun.val();
        self.shown.next = PortLeds {
            ready: self.setup.ready.val(),
            link: self.link.q.val().get_bit(0),
            frame: self.frames.lit.val(),
            fault: self.faults.lit.val(),
        };
        self.leds.next = self.shown.val().to_bits();
    }
}
