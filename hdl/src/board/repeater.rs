//! Two PHYs back to back: the first design for a board.

use super::{FrameStore, LinePort};
use crate::bus::{AxisOut, AxisRxOut};
use crate::prelude::*;

hdl_module! {
    /// Repeater between two PHYs 88E1512 at an ECP5: what comes whole and good at one leaves at the other, store and
    /// forward, up to 16 KB waiting each way. Pads of both have the delays RX and TX of rgmii_pads; 2^C clocks are the
    /// reset of the PHYs, and about as long an LED is lit after an event that it shows.
    #[module("repeater_rx{RX}_tx{TX}_c{C}")]
    pub struct Repeater<const RX: usize, const TX: usize, const C: usize> {
        /// Clock of the core; from 40 MHz on both lines are full.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Clock of what is sent: 125 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Pads of PHY 0.
        pub p0_rgmii_rxc: Signal<In, Clock>,
        /// Pad.
        pub p0_rgmii_rx_ctl: Signal<In, Bit>,
        /// Pads.
        pub p0_rgmii_rxd: Signal<In, Bits<4>>,
        /// Pad.
        pub p0_rgmii_txc: Signal<Out, Bit>,
        /// Pad.
        pub p0_rgmii_tx_ctl: Signal<Out, Bit>,
        /// Pads.
        pub p0_rgmii_txd: Signal<Out, Bits<4>>,
        /// Pad: reset, active low.
        pub p0_phy_rst_n: Signal<Out, Bit>,
        /// Pad.
        pub p0_mdc: Signal<Out, Bit>,
        /// Said at the pad of MDIO while mdio_oe is high.
        pub p0_mdio_o: Signal<Out, Bit>,
        /// Something is said.
        pub p0_mdio_oe: Signal<Out, Bit>,
        /// Heard at that pad.
        pub p0_mdio_i: Signal<In, Bit>,
        /// Pads of PHY 1.
        pub p1_rgmii_rxc: Signal<In, Clock>,
        /// Pad.
        pub p1_rgmii_rx_ctl: Signal<In, Bit>,
        /// Pads.
        pub p1_rgmii_rxd: Signal<In, Bits<4>>,
        /// Pad.
        pub p1_rgmii_txc: Signal<Out, Bit>,
        /// Pad.
        pub p1_rgmii_tx_ctl: Signal<Out, Bit>,
        /// Pads.
        pub p1_rgmii_txd: Signal<Out, Bits<4>>,
        /// Pad: reset, active low.
        pub p1_phy_rst_n: Signal<Out, Bit>,
        /// Pad.
        pub p1_mdc: Signal<Out, Bit>,
        /// Said at the pad of MDIO while mdio_oe is high.
        pub p1_mdio_o: Signal<Out, Bit>,
        /// Something is said.
        pub p1_mdio_oe: Signal<Out, Bit>,
        /// Heard at that pad.
        pub p1_mdio_i: Signal<In, Bit>,
        /// LEDs, lit when high. 0: PHY 0 was found and set up; 1: its line is up; 2: a good frame came from it; 3: a
        /// bad frame came, or one was lost. 7:4: the same of PHY 1.
        pub leds: Signal<Out, Bits<8>>,

        port0: LinePort<RX, TX, C>,
        port1: LinePort<RX, TX, C>,
        to0: FrameStore<11, 12>,
        to1: FrameStore<11, 12>,
        /// How long LEDs of events are lit yet.
        #[reset] frame0: DFF<Bits<C>>,
        #[reset] fault0: DFF<Bits<C>>,
        #[reset] frame1: DFF<Bits<C>>,
        #[reset] fault1: DFF<Bits<C>>,
        zero: Param<0, 8>,
    }
}

impl<const RX: usize, const TX: usize, const C: usize> Logic for Repeater<RX, TX, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.port0.tx_clk.next = self.tx_clk.val();
        self.port0.rgmii_rxc.next = self.p0_rgmii_rxc.val();
        self.port0.rgmii_rx_ctl.next = self.p0_rgmii_rx_ctl.val();
        self.port0.rgmii_rxd.next = self.p0_rgmii_rxd.val();
        self.p0_rgmii_txc.next = self.port0.rgmii_txc.val();
        self.p0_rgmii_tx_ctl.next = self.port0.rgmii_tx_ctl.val();
        self.p0_rgmii_txd.next = self.port0.rgmii_txd.val();
        self.p0_phy_rst_n.next = self.port0.phy_rst_n.val();
        self.p0_mdc.next = self.port0.mdc.val();
        self.p0_mdio_o.next = self.port0.mdio_o.val();
        self.p0_mdio_oe.next = self.port0.mdio_oe.val();
        self.port0.mdio_i.next = self.p0_mdio_i.val();
        self.port1.tx_clk.next = self.tx_clk.val();
        self.port1.rgmii_rxc.next = self.p1_rgmii_rxc.val();
        self.port1.rgmii_rx_ctl.next = self.p1_rgmii_rx_ctl.val();
        self.port1.rgmii_rxd.next = self.p1_rgmii_rxd.val();
        self.p1_rgmii_txc.next = self.port1.rgmii_txc.val();
        self.p1_rgmii_tx_ctl.next = self.port1.rgmii_tx_ctl.val();
        self.p1_rgmii_txd.next = self.port1.rgmii_txd.val();
        self.p1_phy_rst_n.next = self.port1.phy_rst_n.val();
        self.p1_mdc.next = self.port1.mdc.val();
        self.p1_mdio_o.next = self.port1.mdio_o.val();
        self.p1_mdio_oe.next = self.port1.mdio_oe.val();
        self.port1.mdio_i.next = self.p1_mdio_i.val();

        AxisRxOut::<64, 8>::join(&mut self.port0.m_axis_rx, &mut self.to1.s_axis_rx);
        AxisOut::<64, 8>::join(&mut self.to1.m_axis_tx, &mut self.port1.s_axis_tx);
        AxisRxOut::<64, 8>::join(&mut self.port1.m_axis_rx, &mut self.to0.s_axis_rx);
        AxisOut::<64, 8>::join(&mut self.to0.m_axis_tx, &mut self.port0.s_axis_tx);

        if self.frame0.q.val().any() {
            self.frame0.d.next = self.frame0.q.val() - 1;
        }
        if self.fault0.q.val().any() {
            self.fault0.d.next = self.fault0.q.val() - 1;
        }
        if self.frame1.q.val().any() {
            self.frame1.d.next = self.frame1.q.val() - 1;
        }
        if self.fault1.q.val().any() {
            self.fault1.d.next = self.fault1.q.val() - 1;
        }
        if self.port0.stat_frame.val() {
            self.frame0.d.next = !bit_cast::<C, 8>(self.zero.val());
        }
        if self.port0.stat_fault.val() | self.to1.stat_dropped.val() {
            self.fault0.d.next = !bit_cast::<C, 8>(self.zero.val());
        }
        if self.port1.stat_frame.val() {
            self.frame1.d.next = !bit_cast::<C, 8>(self.zero.val());
        }
        if self.port1.stat_fault.val() | self.to0.stat_dropped.val() {
            self.fault1.d.next = !bit_cast::<C, 8>(self.zero.val());
        }
        self.leds.next = bit_cast::<8, 1>(self.port0.stat_ready.val().into())
            | (bit_cast::<8, 1>(self.port0.stat_link.val().into()) << 1)
            | (bit_cast::<8, 1>(self.frame0.q.val().any().into()) << 2)
            | (bit_cast::<8, 1>(self.fault0.q.val().any().into()) << 3)
            | (bit_cast::<8, 1>(self.port1.stat_ready.val().into()) << 4)
            | (bit_cast::<8, 1>(self.port1.stat_link.val().into()) << 5)
            | (bit_cast::<8, 1>(self.frame1.q.val().any().into()) << 6)
            | (bit_cast::<8, 1>(self.fault1.q.val().any().into()) << 7);
    }
}
