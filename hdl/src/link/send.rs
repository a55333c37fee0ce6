//! Frames of the link go out.

use tributary_protocol::tlp_link::wire::{ETHERTYPE, VERSION};

use super::LinkHeader;
use crate::blocks::{FifoReg, RamReg};
use crate::bus::{AxisOut, RamWriteIn};
use crate::prelude::*;
use crate::switch::ByteSwap;

hdl_module! {
    /// Keeps the words of units in a memory of 2^A words, and makes frames: header, then words from a place on.
    /// Latency: the first word is at m_axis_tx in the clock behind s_go, and what the unit is comes in that clock
    /// (stages: 1 header, 2 unit). Of a unit's words the first one follows the header at once.
    /// One word per clock; between two frames one clock.
    #[module("tlp_link_send_d{}", 1usize << A)]
    pub struct TlpLinkSend<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Words of units. Those of a unit that is being sent are not written anew.
        pub s_keep: RamWriteIn<64, A>,
        /// A frame is made of what follows; pulse, only while idle.
        pub s_go: Signal<In, Bit>,
        /// Nothing is being sent.
        pub idle: Signal<Out, Bit>,
        /// Number of the unit, or of the next one.
        pub s_seq: Signal<In, Bits<16>>,
        /// Number that is expected.
        pub s_ack: Signal<In, Bits<16>>,
        /// Words that may be sent to this end.
        pub s_limit: Signal<In, Bits<16>>,
        /// A unit is missing.
        pub s_again: Signal<In, Bit>,
        /// In a session with another life.
        pub s_busy: Signal<In, Bit>,
        /// This life.
        pub s_from: Signal<In, Bits<32>>,
        /// The life that is addressed.
        pub s_to: Signal<In, Bits<32>>,
        /// In the clock behind s_go: words of the unit; 0 if there is none.
        pub s_words: Signal<In, Bits<12>>,
        /// In that clock too: it is settings.
        pub s_settings: Signal<In, Bit>,
        /// In that clock too: its first word.
        pub s_start: Signal<In, Bits<A>>,
        /// MAC address of the other end.
        pub cfg_destination: Signal<In, Bits<48>>,
        /// MAC address of this end.
        pub cfg_source: Signal<In, Bits<48>>,
        /// Frames for the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        words: RamReg<64, A>,
        ahead: FifoReg<64, 2>,
        swap: ByteSwap,
        #[reset] sending: DFF<Bit>,
        /// The clock behind s_go.
        #[reset] second: DFF<Bit>,
        /// Words of the header that have left.
        #[reset] at: DFF<Bits<3>>,
        /// Words of the unit that have to leave, and to be read; where from.
        left: DFF<Bits<12>>,
        #[reset] unread: DFF<Bits<12>>,
        place: DFF<Bits<A>>,
        #[reset] flight1: DFF<Bit>,
        #[reset] flight2: DFF<Bit>,
        #[reset] reserved: DFF<Bits<3>>,
        seq: DFF<Bits<16>>,
        ack: DFF<Bits<16>>,
        limit: DFF<Bits<16>>,
        again: DFF<Bit>,
        busy: DFF<Bit>,
        from: DFF<Bits<32>>,
        to: DFF<Bits<32>>,
        count: DFF<Bits<12>>,
        kind: DFF<Bits<8>>,
        header: Signal<Local, LinkHeader>,
        whole: Signal<Local, Bits<256>>,
        turn: Signal<Local, Bits<64>>,
        in_unit: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
        ethertype: Param<{ ETHERTYPE as usize }, 16>,
        version: Param<{ VERSION as usize }, 8>,
        ones: Param<255, 8>,
    }
}

impl<const A: usize> Logic for TlpLinkSend<A> {
    #[hdl_gen]
    fn update(&mut self) {
        RamWriteIn::<64, A>::link(&mut self.s_keep, &mut self.words.wr);
        self.idle.next = !self.sending.q.val();
        if self.s_go.val() {
            self.sending.d.next = true;
            self.at.d.next = 0.into();
            self.seq.d.next = self.s_seq.val();
            self.ack.d.next = self.s_ack.val();
            self.limit.d.next = self.s_limit.val();
            self.again.d.next = self.s_again.val();
            self.busy.d.next = self.s_busy.val();
            self.from.d.next = self.s_from.val();
            self.to.d.next = self.s_to.val();
        }
        self.second.d.next = self.s_go.val();
        if self.second.q.val() {
            self.left.d.next = self.s_words.val();
            self.unread.d.next = self.s_words.val();
            self.place.d.next = self.s_start.val();
            self.count.d.next = self.s_words.val();
            self.kind.d.next = 0.into();
            if self.s_words.val().any() {
                self.kind.d.next = 1.into();
                if self.s_settings.val() {
                    self.kind.d.next = 2.into();
                }
            }
        }

        // A word is read when the output queue is sure to have room for it.
        self.fetch.next = self.unread.q.val().any() & !self.reserved.q.val().get_bit(2);
        self.words.rd.addr.next = self.place.q.val();
        self.flight1.d.next = self.fetch.val();
        self.flight2.d.next = self.flight1.q.val();
        if self.fetch.val() {
            self.unread.d.next = self.unread.q.val() - 1;
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.ahead.s.valid.next = self.flight2.q.val();
        self.ahead.s.data.next = self.words.rd.data.val();

        self.header.next = LinkHeader {
            destination: self.cfg_destination.val(),
            source: self.cfg_source.val(),
            ethertype: self.ethertype.val(),
            version: self.version.val(),
            kind: self.kind.q.val(),
            seq: self.seq.q.val(),
            ack: self.ack.q.val(),
            limit: self.limit.q.val(),
            again: self.again.q.val(),
            busy: self.busy.q.val(),
            words: self.count.q.val(),
            from: self.from.q.val(),
            to: self.to.q.val(),
        };
        self.whole.next = self.header.val().to_bits();
        self.turn.next = self.whole.val().get_bits::<64>(192);
        if self.at.q.val() == 1 {
            self.turn.next = self.whole.val().get_bits::<64>(128);
        }
        if self.at.q.val() == 2 {
            self.turn.next = self.whole.val().get_bits::<64>(64);
        }
        if self.at.q.val() == 3 {
            self.turn.next = self.whole.val().get_bits::<64>(0);
        }
        self.swap.s.next = self.turn.val();
        self.in_unit.next = self.at.q.val().get_bit(2);
        self.m_axis_tx.tvalid.next =
            self.sending.q.val() & (!self.in_unit.val() | self.ahead.m.valid.val());
        self.m_axis_tx.tdata.next = self.swap.m.val();
        if self.in_unit.val() {
            self.m_axis_tx.tdata.next = self.ahead.m.data.val();
        }
        self.m_axis_tx.tkeep.next = self.ones.val();
        self.m_axis_tx.tlast.next = ((self.at.q.val() == 3) & !self.left.q.val().any())
            | (self.in_unit.val() & (self.left.q.val() == 1));
        self.ahead.m.ready.next =
            self.sending.q.val() & self.in_unit.val() & self.m_axis_tx.tready.val();
        self.pop.next = self.sending.q.val()
            & self.in_unit.val()
            & self.m_axis_tx.tready.val()
            & self.ahead.m.valid.val();
        self.passes.next = self.sending.q.val()
            & self.m_axis_tx.tready.val()
            & (!self.in_unit.val() | self.ahead.m.valid.val());
        if self.passes.val() {
            if self.in_unit.val() {
                self.left.d.next = self.left.q.val() - 1;
                if self.left.q.val() == 1 {
                    self.sending.d.next = false;
                }
            } else {
                self.at.d.next = self.at.q.val() + 1;
                if (self.at.q.val() == 3) & !self.left.q.val().any() {
                    self.sending.d.next = false;
                }
            }
        }
    }
}
