//! What a MAC has between its line and the core: queues, and the crossing of clocks.

use super::{MacGuard, MacWord, MacWordBad};
use crate::blocks::{CountCross, EventCross, FifoAsync, SyncBits};
use crate::bus::{AxisIn, AxisRxOut, StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Queues of 512 words each way between a core, with AXI4-Stream of 64 bits, and the two clocks of a line. What comes
    /// cannot wait: frames that the core does not take in time are dropped, or cut and marked (mac_guard). Of what goes the
    /// line is told how much waits, and whether a whole frame does.
    /// Stages out: tkeep as a number, queue (7 or 8 clocks of the line). In: queue (7 or 8 clocks of the core), tkeep.
    /// rst must be high for 8 clocks of the slowest clock, and all clocks run meanwhile.
    #[module("mac_queues")]
    pub struct MacQueues {
        /// Clock of the core.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, of all three clocks.
        pub rst: Signal<In, Bit>,
        /// Frames to send.
        pub s_axis_tx: AxisIn<64, 8>,
        /// Frames that came.
        pub m_axis_rx: AxisRxOut<64, 8>,
        /// Clock of what comes.
        pub rx_clk: Signal<In, Clock>,
        /// Reset of that side.
        pub rx_rst: Signal<Out, Bit>,
        /// Words that come, as mac_word_bad; what is not taken at once is lost.
        pub s: StreamIn<69>,
        /// What is no frame has come; pulse.
        pub s_fragment: Signal<In, Bit>,
        /// Clock of what is sent.
        pub tx_clk: Signal<In, Clock>,
        /// Reset of that side.
        pub tx_rst: Signal<Out, Bit>,
        /// Words to send, as mac_word.
        pub m: StreamOut<68>,
        /// Words that wait behind the one at m.
        pub level: Signal<Out, Bits<10>>,
        /// The last word of a frame is at m or in the queue.
        pub whole: Signal<Out, Bit>,
        /// The last word of a frame is taken from m; pulse.
        pub s_taken: Signal<In, Bit>,
        /// A frame was cut on the line; pulse.
        pub s_underrun: Signal<In, Bit>,
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

        rx_reset: SyncBits<1>,
        tx_reset: SyncBits<1>,
        guard: MacGuard,
        come: FifoAsync<69, 9, 10>,
        go: FifoAsync<68, 9, 10>,
        /// Frames whose last word is in the queue, and those whose last word has left it.
        frames: CountCross<10>,
        /// The former a clock later: the words themselves, which cross beside, are seen by then.
        seen: DFF<Bits<10>>,
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

impl Logic for MacQueues {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, tx_clk, seen, taken);
        self.rx_reset.clk.next = self.rx_clk.val();
        self.rx_reset.d.next = self.rst.val().into();
        self.rx_rst.next = self.rx_reset.q.val().get_bit(0);
        self.tx_reset.clk.next = self.tx_clk.val();
        self.tx_reset.d.next = self.rst.val().into();
        self.tx_rst.next = self.tx_reset.q.val().get_bit(0);

        // What comes.
        self.guard.clk.next = self.rx_clk.val();
        self.guard.rst.next = self.rx_reset.q.val().get_bit(0);
        StreamIn::<69>::link(&mut self.s, &mut self.guard.s);
        StreamOut::<69>::join(&mut self.guard.m, &mut self.come.s);
        self.come.wr_clk.next = self.rx_clk.val();
        self.come.wr_rst.next = self.rx_reset.q.val().get_bit(0);
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
        self.go.rd_rst.next = self.tx_reset.q.val().get_bit(0);
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
        self.frames.m_rst.next = self.tx_reset.q.val().get_bit(0);
        StreamOut::<68>::link(&mut self.m, &mut self.go.m);
        self.level.next = self.go.level.val();
        self.seen.d.next = self.frames.m_count.val();
        self.whole.next = self.seen.q.val() != self.taken.q.val();
        if self.s_taken.val() {
            self.taken.d.next = self.taken.q.val() + 1;
        }
        if self.tx_reset.q.val().get_bit(0) {
            self.seen.d.next = 0.into();
            self.taken.d.next = 0.into();
        }

        // What is counted, told to the core.
        self.underruns.s_clk.next = self.tx_clk.val();
        self.underruns.s_rst.next = self.tx_reset.q.val().get_bit(0);
        self.underruns.s.next = self.s_underrun.val();
        self.underruns.m_clk.next = self.clk.val();
        self.underruns.m_rst.next = self.rst.val();
        self.stat_tx_underrun.next = self.underruns.m.val();
        self.drops.s_clk.next = self.rx_clk.val();
        self.drops.s_rst.next = self.rx_reset.q.val().get_bit(0);
        self.drops.s.next = self.guard.m_dropped.val();
        self.drops.m_clk.next = self.clk.val();
        self.drops.m_rst.next = self.rst.val();
        self.stat_rx_dropped.next = self.drops.m.val();
        self.fragments.s_clk.next = self.rx_clk.val();
        self.fragments.s_rst.next = self.rx_reset.q.val().get_bit(0);
        self.fragments.s.next = self.s_fragment.val();
        self.fragments.m_clk.next = self.clk.val();
        self.fragments.m_rst.next = self.rst.val();
        self.stat_rx_fragment.next = self.fragments.m.val();
    }
}
