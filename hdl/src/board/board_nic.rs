//! A network card on a board without PCI Express: two PHYs, one to the network, one to the host.

use tributary_protocol::tlp_link::wire::{BOARD_ADDRESS, BROADCAST};

use super::{BoardCard, LinePort};
use crate::blocks::Pow2;
use crate::bus::{AxisOut, AxisRxOut, PhyIn};
use crate::prelude::*;

hdl_module! {
    /// board_card behind two PHYs 88E1512 at an ECP5: the network at p0, the host at p1, whose frames are those of
    /// tlp_link. CA is LQ + 4. Pads of both have the delays RX and TX of rgmii_pads; 2^C clocks are the reset of the PHYs,
    /// and about as long an LED is lit after an event that it shows. 2^T clocks are cfg_timeout of the link.
    /// The core is in reset until a good frame has come from the host. The clocks until then, since the FPGA was configured
    /// and without those in which it ran, are the number of the link's life: odd, and hardly ever the same again.
    #[module("board_nic_q{}_r{}_f{}_rx{RX}_tx{TX}_c{C}_t{T}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct BoardNic<
        const LQ: usize,
        const LR: usize,
        const LF: usize,
        const CA: usize,
        const RX: usize,
        const TX: usize,
        const C: usize,
        const T: usize,
    > {
        /// Clock of the core; from 40 MHz on both lines are full.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Clock of what is sent: 125 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Pads of the PHY to the network.
        pub p0: PhyIn,
        /// Pads of the PHY to the host.
        pub p1: PhyIn,
        /// LEDs, lit when high. 3:0: those of line_port at p0. 4: there is a session with a host. 7:5: those of line_port
        /// at p1 but the first; 7 is lit too after units were sent again, were malformed or had no room.
        pub leds: Signal<Out, Bits<8>>,

        network: LinePort<RX, TX, C>,
        host: LinePort<RX, TX, C>,
        core: BoardCard<LQ, LR, LF, CA>,
        /// Clocks without a host.
        alone: DFF<Bits<31>>,
        /// A host was heard.
        #[reset] begun: DFF<Bit>,
        held: DFF<Bit>,
        timeout: Pow2<24, T>,
        /// 38 ms at 100 MHz.
        read_timeout: Param<60_000, 16>,
        board: Param<{ BOARD_ADDRESS as usize }, 48>,
        everyone: Param<{ BROADCAST as usize }, 48>,
    }
}

impl<
    const LQ: usize,
    const LR: usize,
    const LF: usize,
    const CA: usize,
    const RX: usize,
    const TX: usize,
    const C: usize,
    const T: usize,
> Logic for BoardNic<LQ, LR, LF, CA, RX, TX, C, T>
{
    #[hdl_gen]
    fn update(&mut self) {
        PhyIn::link(&mut self.p0, &mut self.network.phy);
        PhyIn::link(&mut self.p1, &mut self.host.phy);
        self.network.tx_clk.next = self.tx_clk.val();
        self.host.tx_clk.next = self.tx_clk.val();

        if self.host.stat_frame.val() {
            self.begun.d.next = true;
        }
        if !self.begun.q.val() {
            self.alone.d.next = self.alone.q.val() + 1;
        }
        self.held.d.next = self.rst.val() | !self.begun.q.val();
        self.core.rst.next = self.held.q.val();
        self.core.cfg_life.next = (bit_cast::<32, 31>(self.alone.q.val()) << 1) | 1;
        self.core.cfg_timeout.next = self.timeout.val();
        self.core.cfg_source.next = self.board.val();
        self.core.cfg_destination.next = self.everyone.val();
        self.core.cfg_read_timeout.next = self.read_timeout.val();

        AxisRxOut::<64, 8>::join(&mut self.network.m_axis_rx, &mut self.core.s_axis_rx);
        AxisOut::<64, 8>::join(&mut self.core.m_axis_tx, &mut self.network.s_axis_tx);
        AxisRxOut::<64, 8>::join(&mut self.host.m_axis_rx, &mut self.core.s_axis_host_rx);
        AxisOut::<64, 8>::join(&mut self.core.m_axis_host_tx, &mut self.host.s_axis_tx);

        self.network.fault.next = false;
        self.host.fault.next = self.core.stat_again.val()
            | self.core.stat_overrun.val()
            | self.core.stat_malformed.val();
        self.leds.next = bit_cast::<8, 4>(self.network.leds.val())
            | (bit_cast::<8, 1>(self.core.session.val().into()) << 4)
            | (bit_cast::<8, 3>(self.host.leds.val().get_bits::<3>(1)) << 5);
    }
}
