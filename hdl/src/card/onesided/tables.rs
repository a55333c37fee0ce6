//! What one-sided operations are checked against.

use crate::blocks::RamReg;
use crate::bus::{ContextIn, WindowSetIn};
use crate::prelude::*;
use crate::xud::XudPlace;

hdl_module! {
    /// Contexts of the queue pairs, 256 windows, and where answers go: for each place in flight the buffer of a READ or an
    /// ATOMIC. All in block RAM, each with one reader.
    /// Latency: 2 clocks from qpn, window or psn to the words; a word that is written meanwhile is not reliable until 2
    /// clocks behind the write. win_done 4 clocks after win_valid.
    /// After reset no queue pair receives and no window is open, once all have been visited, one a clock.
    /// Stages: 1 and 2 the memories.
    #[module("card_onesided_tables_q{}_f{}", 1usize << LQ, 1usize << LF)]
    pub struct CardOneSidedTables<const LQ: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: begins the visit.
        pub rst: Signal<In, Bit>,
        /// It is over.
        pub swept: Signal<Out, Bit>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// Windows are made or ended; nothing else is asked meanwhile.
        pub win: WindowSetIn<LQ>,
        /// A work request gets its place in flight.
        pub set_valid: Signal<In, Bit>,
        /// Queue pair.
        pub set_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub set_psn: Signal<In, Bits<24>>,
        /// 1 READ, 2 ATOMIC, 0 any other.
        pub set_kind: Signal<In, Bits<2>>,
        /// First byte of its buffer.
        pub set_addr: Signal<In, Bits<64>>,
        /// Key of the region.
        pub set_key: Signal<In, Bits<32>>,
        /// Bytes.
        pub set_len: Signal<In, Bits<13>>,
        /// Queue pair that is asked for.
        pub qpn: Signal<In, Bits<24>>,
        /// Window.
        pub window: Signal<In, Bits<8>>,
        /// Packet number, of a place in flight.
        pub psn: Signal<In, Bits<24>>,
        /// The queue pair receives.
        pub receives: Signal<Out, Bit>,
        /// Its protection domain.
        pub pd: Signal<Out, Bits<16>>,
        /// Its Q_Key.
        pub q_key: Signal<Out, Bits<32>>,
        /// Oldest epoch that it accepts.
        pub oldest: Signal<Out, Bits<16>>,
        /// Newest.
        pub newest: Signal<Out, Bits<16>>,
        /// The window is open 84; node 19:0, peer 43:20, epoch 59:44, own queue pair 83:60.
        pub opened: Signal<Out, Bits<85>>,
        /// Number that it expects.
        pub expected: Signal<Out, Bits<32>>,
        /// Its last operation, 0 none.
        pub last: Signal<Out, Bits<3>>,
        /// What the last atomic found.
        pub replay: Signal<Out, Bits<64>>,
        /// Kind of the request in flight.
        pub kind: Signal<Out, Bits<2>>,
        /// First byte of its buffer.
        pub addr: Signal<Out, Bits<64>>,
        /// Key of the region.
        pub key: Signal<Out, Bits<32>>,
        /// Bytes.
        pub len: Signal<Out, Bits<13>>,
        /// The window that is asked for goes on.
        pub next_valid: Signal<In, Bit>,
        /// Number that it expects.
        pub next_expected: Signal<In, Bits<32>>,
        /// Its last operation.
        pub next_last: Signal<In, Bits<3>>,
        /// What that found, if it was an atomic.
        pub next_replay: Signal<In, Bits<64>>,

        /// Protection domain 15:0, it receives 16.
        shapes: RamReg<17, LQ>,
        keys: RamReg<32, LQ>,
        epochs: RamReg<32, LQ>,
        fixed: RamReg<85, 8>,
        /// Number 31:0, operation 34:32, replay value 98:35.
        moving: RamReg<99, 8>,
        /// What is written to it in the next clock: nobody reads it so soon.
        #[reset] m_en: DFF<Bit>,
        m_addr: DFF<Bits<8>>,
        m_data: DFF<Bits<99>>,
        /// Kind 1:0, address 65:2, key 97:66, bytes 110:98.
        buffers: RamReg<111, LF>,
        set_place: XudPlace<LF>,
        place: XudPlace<LF>,
        /// A buffer to write.
        #[reset] w_valid: DFF<Bit>,
        w_place: DFF<Bits<LF>>,
        w_data: DFF<Bits<111>>,
        /// The queue pair, the window to visit; there are more.
        #[reset] pair: DFF<Bits<LQ>>,
        pairs: DFF<Bit>,
        #[reset] visit: DFF<Bits<8>>,
        visits: DFF<Bit>,
        /// A window command came one, two, three clocks ago.
        #[reset] win_1: DFF<Bit>,
        #[reset] win_2: DFF<Bit>,
        #[reset] win_3: DFF<Bit>,
        /// It is done.
        #[reset] done: DFF<Bit>,
        was: DFF<Bit>,
        number: DFF<Bits<32>>,
    }
}

impl<const LQ: usize, const LF: usize> Logic for CardOneSidedTables<LQ, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.swept.next = !self.pairs.q.val() & !self.visits.q.val();

        // Contexts.
        self.shapes.rd.addr.next = self.qpn.val().get_bits::<LQ>(0);
        self.shapes.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 0);
        self.shapes.wr.addr.next = self.cfg.of.val().qpn;
        self.shapes.wr.data.next = bit_cast::<17, 16>(self.cfg.of.val().data.get_bits::<16>(32))
            | (bit_cast::<17, 1>(
                (self.cfg.of.val().data.get_bit(1) & !self.cfg.of.val().data.get_bit(2)).into(),
            ) << 16);
        if self.pairs.q.val() {
            self.pair.d.next = self.pair.q.val() + 1;
            self.pairs.d.next = !self.pair.q.val().all();
            self.shapes.wr.en.next = true;
            self.shapes.wr.addr.next = self.pair.q.val();
            self.shapes.wr.data.next = 0.into();
        }
        self.keys.rd.addr.next = self.qpn.val().get_bits::<LQ>(0);
        self.keys.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 1);
        self.keys.wr.addr.next = self.cfg.of.val().qpn;
        self.keys.wr.data.next = self.cfg.of.val().data.get_bits::<32>(0);
        self.epochs.rd.addr.next = self.qpn.val().get_bits::<LQ>(0);
        self.epochs.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 5);
        self.epochs.wr.addr.next = self.cfg.of.val().qpn;
        self.epochs.wr.data.next = self.cfg.of.val().data.get_bits::<32>(0);
        self.receives.next = self.shapes.rd.data.val().get_bit(16);
        self.pd.next = self.shapes.rd.data.val().get_bits::<16>(0);
        self.q_key.next = self.keys.rd.data.val();
        self.oldest.next = self.epochs.rd.data.val().get_bits::<16>(0);
        self.newest.next = self.epochs.rd.data.val().get_bits::<16>(16);

        // Windows: a command reads its window, then writes it; else the frame's.
        self.win_1.d.next = self.win.valid.val();
        self.win_2.d.next = self.win_1.q.val();
        self.win_3.d.next = self.win_2.q.val();
        self.fixed.rd.addr.next = self.window.val();
        self.moving.rd.addr.next = self.window.val();
        if self.win.valid.val() | self.win_1.q.val() {
            self.fixed.rd.addr.next = self.win.of.val().index;
            self.moving.rd.addr.next = self.win.of.val().index;
        }
        self.opened.next = self.fixed.rd.data.val();
        self.expected.next = self.moving.rd.data.val().get_bits::<32>(0);
        self.last.next = self.moving.rd.data.val().get_bits::<3>(32);
        self.replay.next = self.moving.rd.data.val().get_bits::<64>(35);
        self.done.d.next = self.win_3.q.val();
        if self.win_2.q.val() {
            self.was.d.next = self.fixed.rd.data.val().get_bit(84);
            self.number.d.next = 0.into();
            if self.fixed.rd.data.val().get_bit(84) {
                self.number.d.next = self.moving.rd.data.val().get_bits::<32>(0);
            }
        }
        self.win.done.next = self.done.q.val();
        self.win.was.next = self.was.q.val();
        self.win.expected.next = self.number.q.val();
        self.fixed.wr.en.next = self.win_3.q.val();
        self.fixed.wr.addr.next = self.win.of.val().index;
        self.fixed.wr.data.next = bit_cast::<85, 20>(self.win.of.val().node)
            | (bit_cast::<85, 24>(self.win.of.val().peer) << 20)
            | (bit_cast::<85, 16>(self.win.of.val().epoch) << 44)
            | (bit_cast::<85, LQ>(self.win.of.val().qpn) << 60)
            | (bit_cast::<85, 1>(self.win.of.val().open.into()) << 84);
        if self.visits.q.val() {
            self.visit.d.next = self.visit.q.val() + 1;
            self.visits.d.next = !self.visit.q.val().all();
            self.fixed.wr.en.next = true;
            self.fixed.wr.addr.next = self.visit.q.val();
            self.fixed.wr.data.next = 0.into();
        }
        self.moving.wr.en.next = self.m_en.q.val();
        self.moving.wr.addr.next = self.m_addr.q.val();
        self.moving.wr.data.next = self.m_data.q.val();
        self.m_en.d.next = self.next_valid.val() | self.win_3.q.val();
        self.m_addr.d.next = self.window.val();
        self.m_data.d.next = bit_cast::<99, 32>(self.next_expected.val())
            | (bit_cast::<99, 3>(self.next_last.val()) << 32)
            | (bit_cast::<99, 64>(self.next_replay.val()) << 35);
        if self.win_3.q.val() {
            self.m_addr.d.next = self.win.of.val().index;
            self.m_data.d.next = 0.into();
        }

        // Buffers.
        self.set_place.qpn.next = bit_cast::<24, LQ>(self.set_qpn.val());
        self.set_place.psn.next = self.set_psn.val();
        self.w_valid.d.next = self.set_valid.val();
        self.w_place.d.next = self.set_place.m.val();
        self.w_data.d.next = bit_cast::<111, 2>(self.set_kind.val())
            | (bit_cast::<111, 64>(self.set_addr.val()) << 2)
            | (bit_cast::<111, 32>(self.set_key.val()) << 66)
            | (bit_cast::<111, 13>(self.set_len.val()) << 98);
        self.buffers.wr.en.next = self.w_valid.q.val();
        self.buffers.wr.addr.next = self.w_place.q.val();
        self.buffers.wr.data.next = self.w_data.q.val();
        self.place.qpn.next = self.qpn.val();
        self.place.psn.next = self.psn.val();
        self.buffers.rd.addr.next = self.place.m.val();
        self.kind.next = self.buffers.rd.data.val().get_bits::<2>(0);
        self.addr.next = self.buffers.rd.data.val().get_bits::<64>(2);
        self.key.next = self.buffers.rd.data.val().get_bits::<32>(66);
        self.len.next = self.buffers.rd.data.val().get_bits::<13>(98);
        if self.rst.val() {
            self.pairs.d.next = true;
            self.visits.d.next = true;
        }
    }
}
