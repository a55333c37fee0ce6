//! The MAC of 10 Gb/s with its queues between clocks.

use super::{MacQueues, XgmiiFaults, XgmiiReceive, XgmiiTransmit};
use crate::blocks::SyncBits;
use crate::bus::{AxisIn, AxisRxOut, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Ethernet MAC for 10 Gb/s: AXI4-Stream of 64 bits with the clock of the core on one side, an XGMII of 64 bits with its
    /// two clocks on the other. Frames go without preamble and FCS, from the destination address on.
    /// Each way has a queue of 512 words between the clocks (mac_queues). Sending begins when a whole frame waits or 256
    /// words of it. Frames come as mac_xgmii_receive says; tuser marks bad ones. If the core does not take them in time they
    /// are dropped, or cut and marked (mac_guard).
    /// While the PHY tells a local fault the other end is told a remote one, and while that one tells a remote fault idle
    /// characters are sent (IEEE 802.3, 46.3.4). Frames are taken from the core all the same, and lost.
    /// Stages out: those of mac_queues (8 or 9 clocks), mac_xgmii_transmit (7). In: mac_xgmii_receive (7), mac_queues (7 or 8).
    /// rst must be high for 8 clocks of the slowest clock, and all clocks run meanwhile.
    #[module("mac_xgmii")]
    pub struct MacXgmii {
        /// Clock of the core; from 156.25 MHz on the line is full.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, of all three clocks.
        pub rst: Signal<In, Bit>,
        /// Clock of what comes: 156.25 MHz.
        pub rx_clk: Signal<In, Clock>,
        /// Lanes that come; the first one in bits 7:0.
        pub xgmii_rxd: Signal<In, Bits<64>>,
        /// Which of them are control characters.
        pub xgmii_rxc: Signal<In, Bits<8>>,
        /// Clock of what is sent: 156.25 MHz.
        pub tx_clk: Signal<In, Clock>,
        /// Lanes that are sent; the first one in bits 7:0.
        pub xgmii_txd: Signal<Out, Bits<64>>,
        /// Which of them are control characters.
        pub xgmii_txc: Signal<Out, Bits<8>>,
        /// Frames to send.
        pub s_axis_tx: AxisIn<64, 8>,
        /// Frames that came.
        pub m_axis_rx: AxisRxOut<64, 8>,
        /// Bytes of the longest frame that is good, FCS included: 9,022 for 9,018 without. To be constant.
        pub cfg_longest: Signal<In, Bits<16>>,
        /// The PHY does not hear the other end.
        pub stat_local_fault: Signal<Out, Bit>,
        /// The other end does not hear this one.
        pub stat_remote_fault: Signal<Out, Bit>,
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
        /// A start without frame, or a frame of fewer than 5 bytes.
        pub stat_rx_fragment: Signal<Out, Bit>,

        receive: XgmiiReceive,
        faults: XgmiiFaults,
        to_tx: SyncBits<2>,
        to_core: SyncBits<2>,
        queues: MacQueues,
        transmit: XgmiiTransmit<256>,
        told: Signal<Local, Bits<2>>,
    }
}

impl Logic for MacXgmii {
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
        self.receive.xgmii_rxd.next = self.xgmii_rxd.val();
        self.receive.xgmii_rxc.next = self.xgmii_rxc.val();
        self.receive.cfg_longest.next = self.cfg_longest.val();
        StreamOut::<69>::join(&mut self.receive.m, &mut self.queues.s);
        self.queues.s_fragment.next = self.receive.m_fragment.val();

        self.faults.clk.next = self.rx_clk.val();
        self.faults.rst.next = self.queues.rx_rst.val();
        self.faults.xgmii_rxd.next = self.xgmii_rxd.val();
        self.faults.xgmii_rxc.next = self.xgmii_rxc.val();
        self.told.next = bit_cast::<2, 1>(self.faults.m_local.val().into())
            | (bit_cast::<2, 1>(self.faults.m_remote.val().into()) << 1);
        self.to_tx.clk.next = self.tx_clk.val();
        self.to_tx.d.next = self.told.val();
        self.to_core.clk.next = self.clk.val();
        self.to_core.d.next = self.told.val();
        self.stat_local_fault.next = self.to_core.q.val().get_bit(0);
        self.stat_remote_fault.next = self.to_core.q.val().get_bit(1);

        self.queues.tx_clk.next = self.tx_clk.val();
        self.transmit.clk.next = self.tx_clk.val();
        self.transmit.rst.next = self.queues.tx_rst.val();
        StreamOut::<68>::join(&mut self.queues.m, &mut self.transmit.s);
        self.transmit.level.next = self.queues.level.val();
        self.transmit.whole.next = self.queues.whole.val();
        self.transmit.local_fault.next = self.to_tx.q.val().get_bit(0);
        self.transmit.remote_fault.next = self.to_tx.q.val().get_bit(1);
        self.queues.s_taken.next = self.transmit.m_taken.val();
        self.queues.s_underrun.next = self.transmit.m_underrun.val();
        self.xgmii_txd.next = self.transmit.xgmii_txd.val();
        self.xgmii_txc.next = self.transmit.xgmii_txc.val();
    }
}
