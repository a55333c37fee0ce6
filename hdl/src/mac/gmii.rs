//! The MAC with its queues between clocks.

use super::{MacQueues, MacReceive, MacTransmit};
use crate::bus::{AxisIn, AxisRxOut, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Ethernet MAC for 1 Gb/s, full duplex: AXI4-Stream of 64 bits with the clock of the core on one side, a GMII with
    /// its two clocks on the other. Frames go without preamble and FCS, from the destination address on.
    /// Each way has a queue of 512 words between the clocks (mac_queues). Sending begins when a whole frame waits or 256
    /// words of it. Frames come as mac_receive says; tuser marks bad ones. If the core does not take them in time they are
    /// dropped, or cut and marked (mac_guard).
    /// Stages out: those of mac_queues (8 or 9 clocks), mac_transmit (2). In: mac_receive (7), mac_queues (7 or 8).
    /// rst must be high for 8 clocks of the slowest clock, and all clocks run meanwhile.
    #[module("mac_gmii")]
    pub struct MacGmii {
        /// Clock of the core; from 40 MHz on the line is full.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, of all three clocks.
        pub rst: Signal<In, Bit>,
        /// Clock of what comes, from the PHY: 125 MHz.
        pub rx_clk: Signal<In, Clock>,
        /// Byte that comes.
        pub gmii_rxd: Signal<In, Bits<8>>,
        /// There is one.
        pub gmii_rx_dv: Signal<In, Bit>,
        /// The PHY has seen an error.
        pub gmii_rx_er: Signal<In, Bit>,
        /// Clock of what is sent: 125 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Byte that is sent.
        pub gmii_txd: Signal<Out, Bits<8>>,
        /// There is one.
        pub gmii_tx_en: Signal<Out, Bit>,
        /// The frame is to be taken for bad.
        pub gmii_tx_er: Signal<Out, Bit>,
        /// Frames to send.
        pub s_axis_tx: AxisIn<64, 8>,
        /// Frames that came.
        pub m_axis_rx: AxisRxOut<64, 8>,
        /// Bytes of the longest frame that is good, FCS included: 9,022 for 9,018 without. To be constant.
        pub cfg_longest: Signal<In, Bits<16>>,
        /// A frame was taken for sending; pulse, as all of these.
        pub stat_tx_frame: Signal<Out, Bit>,
        /// A frame was cut on the line since its words did not come in time.
        pub stat_tx_underrun: Signal<Out, Bit>,
        /// A good frame was handed over.
        pub stat_rx_frame: Signal<Out, Bit>,
        /// A bad frame was handed over.
        pub stat_rx_bad: Signal<Out, Bit>,
        /// A frame was dropped, or cut, since the core did not take frames in time.
        pub stat_rx_dropped: Signal<Out, Bit>,
        /// A carrier without frame, or one of fewer than 5 bytes.
        pub stat_rx_fragment: Signal<Out, Bit>,

        receive: MacReceive,
        queues: MacQueues,
        transmit: MacTransmit<256>,
    }
}

impl Logic for MacGmii {
    #[hdl_gen]
    fn update(&mut self) {
        AxisIn::<64, 8>::link(&mut self.s_axis_tx, &mut self.queues.s_axis_tx);
        AxisRxOut::<64, 8>::link(&mut self.m_axis_rx, &mut self.queues.m_axis_rx);
        self.stat_tx_frame.next = self.queues.stat_tx_frame.val();
        self.stat_tx_underrun.next = self.queues.stat_tx_underrun.val();
        self.stat_rx_frame.next = self.queues.stat_rx_frame.val();
        self.stat_rx_bad.next = self.queues.stat_rx_bad.val();
        self.stat_rx_dropped.next = self.queues.stat_rx_dropped.val();
        self.stat_rx_fragment.next = self.queues.stat_rx_fragment.val();

        self.queues.rx_clk.next = self.rx_clk.val();
        self.receive.clk.next = self.rx_clk.val();
        self.receive.rst.next = self.queues.rx_rst.val();
        self.receive.gmii_rxd.next = self.gmii_rxd.val();
        self.receive.gmii_rx_dv.next = self.gmii_rx_dv.val();
        self.receive.gmii_rx_er.next = self.gmii_rx_er.val();
        self.receive.cfg_longest.next = self.cfg_longest.val();
        StreamOut::<69>::join(&mut self.receive.m, &mut self.queues.s);
        self.queues.s_fragment.next = self.receive.m_fragment.val();

        self.queues.tx_clk.next = self.tx_clk.val();
        self.transmit.clk.next = self.tx_clk.val();
        self.transmit.rst.next = self.queues.tx_rst.val();
        StreamOut::<68>::join(&mut self.queues.m, &mut self.transmit.s);
        self.transmit.level.next = self.queues.level.val();
        self.transmit.whole.next = self.queues.whole.val();
        self.queues.s_taken.next = self.transmit.m_taken.val();
        self.queues.s_underrun.next = self.transmit.m_underrun.val();
        self.gmii_txd.next = self.transmit.gmii_txd.val();
        self.gmii_tx_en.next = self.transmit.gmii_tx_en.val();
        self.gmii_tx_er.next = self.transmit.gmii_tx_er.val();
    }
}
