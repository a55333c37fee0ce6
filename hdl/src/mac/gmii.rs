//! The MAC with its queues between clocks.

use super::{MacGuard, MacReceive, MacTransmit, MacWord, MacWordBad};
use crate::blocks::{CountCross, EventCross, FifoAsync, SyncBits};
use crate::bus::{AxisIn, AxisRxOut, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Ethernet MAC for 1 Gb/s, full duplex: AXI4-Stream of 64 bits with the clock of the core on one side, a GMII with
    /// its two clocks on the other. Frames go without preamble and FCS, from the destination address on.
    /// Each way has a queue of 512 words between the clocks (fifo_async). Sending begins when a whole frame waits or 256
    /// words of it. Frames come as mac_receive says; tuser marks bad ones. If the core does not take them in time they are
    /// dropped, or cut and marked (mac_guard).
    /// Stages out: tkeep as a number, queue (7 or 8 clocks), mac_transmit (2). In: mac_receive (7), queue, tkeep.
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

        rx_rst: SyncBits<1>,
        tx_rst: SyncBits<1>,
        receive: MacReceive,
        guard: MacGuard,
        come: FifoAsync<69, 9, 10>,
        go: FifoAsync<68, 9, 10>,
        transmit: MacTransmit<256>,
        /// Frames whose last word is in the queue, and those whose last word has left it.
        frames: CountCross<10>,
        taken: DFF<Bits<10>>,
        underruns: EventCross,
        drops: EventCross,
        fragments: EventCross,
        coming: Signal<Local, MacWordBad>,
        /// The word to send, and the number in it.
        word: Signal<Local, MacWord>,
        going: Signal<Local, Bits<3>>,
        seven: Param<7, 3>,
        ones: Param<255, 8>,
    }
}

impl Logic for MacGmii {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, tx_clk, taken);
        self.rx_rst.clk.next = self.rx_clk.val();
        self.rx_rst.d.next = self.rst.val().into();
        self.tx_rst.clk.next = self.tx_clk.val();
        self.tx_rst.d.next = self.rst.val().into();

        // What comes.
        self.receive.clk.next = self.rx_clk.val();
        self.receive.rst.next = self.rx_rst.q.val().get_bit(0);
        self.receive.gmii_rxd.next = self.gmii_rxd.val();
        self.receive.gmii_rx_dv.next = self.gmii_rx_dv.val();
        self.receive.gmii_rx_er.next = self.gmii_rx_er.val();
        self.receive.cfg_longest.next = self.cfg_longest.val();
        self.guard.clk.next = self.rx_clk.val();
        self.guard.rst.next = self.rx_rst.q.val().get_bit(0);
        StreamOut::<69>::join(&mut self.receive.m, &mut self.guard.s);
        StreamOut::<69>::join(&mut self.guard.m, &mut self.come.s);
        self.come.wr_clk.next = self.rx_clk.val();
        self.come.wr_rst.next = self.rx_rst.q.val().get_bit(0);
        self.come.rd_clk.next = self.clk.val();
        self.come.rd_rst.next = self.rst.val();
        self.coming.next = self.come.m.data.val().into();
        self.m_axis_rx.tvalid.next = self.come.m.valid.val();
        self.come.m.ready.next = self.m_axis_rx.tready.val();
        self.m_axis_rx.tdata.next = self.coming.val().data;
        self.m_axis_rx.tkeep.next = self.ones.val() >> (self.seven.val() - self.coming.val().more);
        self.m_axis_rx.tlast.next = self.coming.val().last;
        self.m_axis_rx.tuser.next = self.coming.val().bad;
        self.stat_rx_frame.next = self.come.m.valid.val()
            & self.m_axis_rx.tready.val()
            & self.coming.val().last
            & !self.coming.val().bad;
        self.stat_rx_bad.next = self.come.m.valid.val()
            & self.m_axis_rx.tready.val()
            & self.coming.val().last
            & self.coming.val().bad;

        // What goes.
        self.going.next = 0.into();
        if self.s_axis_tx.tkeep.val().get_bit(1) {
            self.going.next = 1.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(2) {
            self.going.next = 2.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(3) {
            self.going.next = 3.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(4) {
            self.going.next = 4.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(5) {
            self.going.next = 5.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(6) {
            self.going.next = 6.into();
        }
        if self.s_axis_tx.tkeep.val().get_bit(7) {
            self.going.next = 7.into();
        }
        self.go.wr_clk.next = self.clk.val();
        self.go.wr_rst.next = self.rst.val();
        self.go.rd_clk.next = self.tx_clk.val();
        self.go.rd_rst.next = self.tx_rst.q.val().get_bit(0);
        self.go.s.valid.next = self.s_axis_tx.tvalid.val();
        self.s_axis_tx.tready.next = self.go.s.ready.val();
        self.word.next = MacWord {
            data: self.s_axis_tx.tdata.val(),
            more: self.going.val(),
            last: self.s_axis_tx.tlast.val(),
        };
        self.go.s.data.next = self.word.val().to_bits();
        self.frames.s_clk.next = self.clk.val();
        self.frames.s_rst.next = self.rst.val();
        self.frames.s_en.next =
            self.s_axis_tx.tvalid.val() & self.go.s.ready.val() & self.s_axis_tx.tlast.val();
        self.stat_tx_frame.next =
            self.s_axis_tx.tvalid.val() & self.go.s.ready.val() & self.s_axis_tx.tlast.val();
        self.frames.m_clk.next = self.tx_clk.val();
        self.frames.m_rst.next = self.tx_rst.q.val().get_bit(0);
        self.transmit.clk.next = self.tx_clk.val();
        self.transmit.rst.next = self.tx_rst.q.val().get_bit(0);
        StreamOut::<68>::join(&mut self.go.m, &mut self.transmit.s);
        self.transmit.level.next = self.go.level.val();
        self.transmit.whole.next = self.frames.m_count.val() != self.taken.q.val();
        if self.transmit.m_taken.val() {
            self.taken.d.next = self.taken.q.val() + 1;
        }
        if self.tx_rst.q.val().get_bit(0) {
            self.taken.d.next = 0.into();
        }
        self.gmii_txd.next = self.transmit.gmii_txd.val();
        self.gmii_tx_en.next = self.transmit.gmii_tx_en.val();
        self.gmii_tx_er.next = self.transmit.gmii_tx_er.val();

        // What is counted, told to the core.
        self.underruns.s_clk.next = self.tx_clk.val();
        self.underruns.s_rst.next = self.tx_rst.q.val().get_bit(0);
        self.underruns.s.next = self.transmit.m_underrun.val();
        self.underruns.m_clk.next = self.clk.val();
        self.underruns.m_rst.next = self.rst.val();
        self.stat_tx_underrun.next = self.underruns.m.val();
        self.drops.s_clk.next = self.rx_clk.val();
        self.drops.s_rst.next = self.rx_rst.q.val().get_bit(0);
        self.drops.s.next = self.guard.m_dropped.val();
        self.drops.m_clk.next = self.clk.val();
        self.drops.m_rst.next = self.rst.val();
        self.stat_rx_dropped.next = self.drops.m.val();
        self.fragments.s_clk.next = self.rx_clk.val();
        self.fragments.s_rst.next = self.rx_rst.q.val().get_bit(0);
        self.fragments.s.next = self.receive.m_fragment.val();
        self.fragments.m_clk.next = self.clk.val();
        self.fragments.m_rst.next = self.rst.val();
        self.stat_rx_fragment.next = self.fragments.m.val();
    }
}
