//! Two PHYs back to back: the first design for a board.

use super::{FrameStore, LinePort};
use crate::bus::{AxisOut, AxisRxOut, PhyIn};
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
        pub p0: PhyIn,
        /// Pads of PHY 1.
        pub p1: PhyIn,
        /// LEDs, lit when high: 3:0 those of line_port at PHY 0, 7:4 at PHY 1. A frame that is lost between the two is a
        /// fault of the PHY from which it came.
        pub leds: Signal<Out, Bits<8>>,

        port0: LinePort<RX, TX, C>,
        port1: LinePort<RX, TX, C>,
        to0: FrameStore<11, 12>,
        to1: FrameStore<11, 12>,
    }
}

impl<const RX: usize, const TX: usize, const C: usize> Logic for Repeater<RX, TX, C> {
    #[hdl_gen]
    fn update(&mut self) {
        PhyIn::link(&mut self.p0, &mut self.port0.phy);
        PhyIn::link(&mut self.p1, &mut self.port1.phy);
        self.port0.tx_clk.next = self.tx_clk.val();
        self.port1.tx_clk.next = self.tx_clk.val();

        AxisRxOut::<64, 8>::join(&mut self.port0.m_axis_rx, &mut self.to1.s_axis_rx);
        AxisOut::<64, 8>::join(&mut self.to1.m_axis_tx, &mut self.port1.s_axis_tx);
        AxisRxOut::<64, 8>::join(&mut self.port1.m_axis_rx, &mut self.to0.s_axis_rx);
        AxisOut::<64, 8>::join(&mut self.to0.m_axis_tx, &mut self.port0.s_axis_tx);

        self.port0.fault.next = self.to1.stat_dropped.val();
        self.port1.fault.next = self.to0.stat_dropped.val();
        self.leds.next = bit_cast::<8, 4>(self.port0.leds.val())
            | (bit_cast::<8, 4>(self.port1.leds.val()) << 4);
    }
}
