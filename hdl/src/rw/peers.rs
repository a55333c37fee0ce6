//! What is remembered of peers.

use crate::blocks::RamReg;
use crate::prelude::*;

hdl_module! {
    /// Entries of peers: of each (node, transfer slot there) its last transfer and what became of it, 2^LE of them, found by
    /// search, four entries a clock. An entry is made when a peer's transfer gets a window and there is none of that peer; it
    /// takes the place of the one whose transfer has ended first, never of one whose window is open. So there are more entries
    /// than windows.
    /// look is taken at any time; done stands from at most 2^BE + 12 clocks later until the next look, and with it all m_*.
    /// open and close come between two looks. BE = LE - 2, PW = A + 3.
    /// Entries without a window are a list, in the order in which their transfers ended.
    /// Stages of a look: rows addressed; read (2); compared in parts; a row found; its entry read (2); compared by the owner.
    /// Reset clears the entries, one a clock.
    #[module("rw_peers_e{}_r{}", 1usize << LE, 1usize << A)]
    pub struct RwPeers<const A: usize, const PW: usize, const LE: usize, const BE: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// The entries have been cleared.
        pub ready: Signal<Out, Bit>,
        /// A peer is looked for: pulse.
        pub look: Signal<In, Bit>,
        /// Its node; stays until done.
        pub s_src: Signal<In, Bits<20>>,
        /// Its slot; stays until done.
        pub s_slot: Signal<In, Bits<8>>,
        /// The search has ended.
        pub done: Signal<Out, Bit>,
        /// It has an entry.
        pub m_found: Signal<Out, Bit>,
        /// That entry; otherwise the one that would be made its.
        pub m_entry: Signal<Out, Bits<LE>>,
        /// State there: 0 none, 1 window open; or 2 and how the last transfer ended.
        pub m_state: Signal<Out, Bits<3>>,
        /// Window there.
        pub m_wptr: Signal<Out, Bits<A>>,
        /// Incarnation of the sender, and above it the number of the last transfer.
        pub m_id: Signal<Out, Bits<48>>,
        /// A window is opened for the peer that was looked for: pulse.
        pub open: Signal<In, Bit>,
        /// Its window.
        pub open_wptr: Signal<In, Bits<A>>,
        /// Incarnation of the sender, and above it the number of the transfer.
        pub open_id: Signal<In, Bits<48>>,
        /// A peer was forgotten for it: pulse.
        pub forgotten: Signal<Out, Bit>,
        /// A window is closed: pulse.
        pub close: Signal<In, Bit>,
        /// Entry of its peer.
        pub close_entry: Signal<In, Bits<LE>>,
        /// That window.
        pub close_wptr: Signal<In, Bits<A>>,
        /// How its transfer has ended.
        pub close_status: Signal<In, Bits<2>>,

        /// Node, slot, and whether there is one, of four entries.
        keys: Bank<RamReg<29, BE>, 4>,
        states: RamReg<PW, LE>,
        ids: RamReg<48, LE>,
        /// The entries that ended behind and before each one.
        later: RamReg<LE, LE>,
        earlier: RamReg<LE, LE>,
        /// Of those without a window: the one that ended first, and last.
        #[reset] oldest: DFF<Bits<LE>>,
        #[reset] newest: DFF<Bits<LE>>,
        is_oldest: DFF<Bit>,
        is_newest: DFF<Bit>,
        between: Signal<Local, Bit>,
        /// An entry is the newest now; which.
        ends: Signal<Local, Bit>,
        ended: Signal<Local, Bits<LE>>,
        #[reset] cleared: DFF<Bit>,
        /// Row that is addressed; it is found four clocks later.
        row: DFF<Bits<10>>,
        #[reset] busy: DFF<Bit>,
        /// Halves of nodes and slots are the same, by bank.
        low: Bank<DFF<Bit>, 4>,
        high: Bank<DFF<Bit>, 4>,
        slot: Bank<DFF<Bit>, 4>,
        used: Bank<DFF<Bit>, 4>,
        hits: DFF<Bits<4>>,
        hit_bank: Signal<Local, Bits<2>>,
        found: DFF<Bit>,
        /// The entry that was found, or the oldest; while reset clears them, each in turn.
        #[reset] entry: DFF<Bits<LE>>,
        /// Clocks until the entry has been read.
        settle: DFF<Bits<3>>,
        known: DFF<Bit>,
        entry_bank: Signal<Local, Bits<2>>,
        /// Banks that are written.
        to_bank: Signal<Local, Bits<4>>,
        r_forgotten: DFF<Bit>,
        be: Param<BE, 5>,
    }
}

impl<const A: usize, const PW: usize, const LE: usize, const BE: usize> Logic
    for RwPeers<A, PW, LE, BE>
{
    #[hdl_gen]
    fn update(&mut self) {
        if !self.cleared.q.val() {
            self.entry.d.next = self.entry.q.val() + 1;
            self.cleared.d.next = self.entry.q.val().all();
        }
        self.ready.next = self.cleared.q.val();

        // The search, a row a clock.
        self.row.d.next = self.row.q.val() + 1;
        for i in 0..4 {
            self.keys[i].rd.addr.next = bit_cast::<BE, 10>(self.row.q.val());
            self.low[i].d.next = self.keys[i].rd.data.val().get_bits::<10>(0)
                == bit_cast::<10, 20>(self.s_src.val());
            self.high[i].d.next = self.keys[i].rd.data.val().get_bits::<10>(10)
                == self.s_src.val().get_bits::<10>(10);
            self.slot[i].d.next = self.keys[i].rd.data.val().get_bits::<8>(20) == self.s_slot.val();
            self.used[i].d.next = self.keys[i].rd.data.val().get_bit(28);
        }
        self.hits.d.next = bit_cast::<4, 1>(
            (self.low[0].q.val()
                & self.high[0].q.val()
                & self.slot[0].q.val()
                & self.used[0].q.val())
            .into(),
        ) | (bit_cast::<4, 1>(
            (self.low[1].q.val()
                & self.high[1].q.val()
                & self.slot[1].q.val()
                & self.used[1].q.val())
            .into(),
        ) << 1)
            | (bit_cast::<4, 1>(
                (self.low[2].q.val()
                    & self.high[2].q.val()
                    & self.slot[2].q.val()
                    & self.used[2].q.val())
                .into(),
            ) << 2)
            | (bit_cast::<4, 1>(
                (self.low[3].q.val()
                    & self.high[3].q.val()
                    & self.slot[3].q.val()
                    & self.used[3].q.val())
                .into(),
            ) << 3);
        self.hit_bank.next =
            bit_cast::<2, 1>((self.hits.q.val().get_bit(1) | self.hits.q.val().get_bit(3)).into())
                | (bit_cast::<2, 1>(
                    (self.hits.q.val().get_bit(2) | self.hits.q.val().get_bit(3)).into(),
                ) << 1);
        self.settle.d.next = self.settle.q.val();
        if self.settle.q.val().any() {
            self.settle.d.next = self.settle.q.val() - 1;
        }
        if self.busy.q.val() {
            self.settle.d.next = 4.into();
            // What the comparisons say of before the look is over by row 4.
            if self.hits.q.val().any() & (self.row.q.val() >> 2).any() {
                self.found.d.next = true;
                self.entry.d.next = (bit_cast::<LE, 10>(self.row.q.val() - 4) << 2)
                    | bit_cast::<LE, 2>(self.hit_bank.val());
                self.busy.d.next = false;
            } else if (self.row.q.val() >> self.be.val()).get_bit(0) & self.row.q.val().get_bit(2) {
                self.entry.d.next = self.oldest.q.val();
                self.busy.d.next = false;
            }
        }
        if self.look.val() {
            self.busy.d.next = true;
            self.found.d.next = false;
            self.row.d.next = 0.into();
            self.settle.d.next = 4.into();
        }
        self.done.next = !self.busy.q.val() & !self.settle.q.val().any();
        self.m_found.next = self.found.q.val();
        self.m_entry.next = self.entry.q.val();
        self.states.rd.addr.next = self.entry.q.val();
        self.ids.rd.addr.next = self.entry.q.val();
        self.later.rd.addr.next = self.entry.q.val();
        self.earlier.rd.addr.next = self.entry.q.val();
        self.m_state.next = bit_cast::<3, PW>(self.states.rd.data.val());
        self.m_wptr.next = self.states.rd.data.val().get_bits::<A>(3);
        self.m_id.next = self.ids.rd.data.val();
        self.is_oldest.d.next = self.entry.q.val() == self.oldest.q.val();
        self.is_newest.d.next = self.entry.q.val() == self.newest.q.val();
        self.known.d.next = bit_cast::<3, PW>(self.states.rd.data.val()).any();
        self.r_forgotten.d.next = self.open.val() & self.known.q.val() & !self.found.q.val();
        self.forgotten.next = self.r_forgotten.q.val();

        // A window is opened: its entry leaves the list, from any place. A window is closed: its entry is the newest. So is each
        // that reset clears.
        self.ends.next = self.close.val() | !self.cleared.q.val();
        self.ended.next = self.close_entry.val();
        if !self.cleared.q.val() {
            self.ended.next = self.entry.q.val();
        }
        self.between.next = self.open.val() & !self.is_oldest.q.val() & !self.is_newest.q.val();
        self.later.wr.en.next = self.between.val() | self.ends.val();
        self.later.wr.addr.next = self.newest.q.val();
        self.later.wr.data.next = self.ended.val();
        self.earlier.wr.en.next = self.between.val() | self.ends.val();
        self.earlier.wr.addr.next = self.ended.val();
        self.earlier.wr.data.next = self.newest.q.val();
        if self.open.val() {
            self.later.wr.addr.next = self.earlier.rd.data.val();
            self.later.wr.data.next = self.later.rd.data.val();
            self.earlier.wr.addr.next = self.later.rd.data.val();
            self.earlier.wr.data.next = self.earlier.rd.data.val();
            if self.is_oldest.q.val() {
                self.oldest.d.next = self.later.rd.data.val();
            } else if self.is_newest.q.val() {
                self.newest.d.next = self.earlier.rd.data.val();
            }
        }
        if self.ends.val() {
            self.newest.d.next = self.ended.val();
        }

        // What becomes of an entry.
        self.entry_bank.next = bit_cast::<2, LE>(self.entry.q.val());
        self.to_bank.next = 0.into();
        if self.open.val() {
            self.to_bank.next = bits::<4>(1) << self.entry_bank.val();
        }
        if !self.cleared.q.val() {
            self.to_bank.next = bits::<4>(1) << self.entry_bank.val();
        }
        for i in 0..4 {
            self.keys[i].wr.en.next = self.to_bank.val().get_bit(i);
            self.keys[i].wr.addr.next = bit_cast::<BE, LE>(self.entry.q.val() >> 2);
            // Of one that is cleared the rest does not matter.
            self.keys[i].wr.data.next = (bit_cast::<29, 1>(self.cleared.q.val().into()) << 28)
                | (bit_cast::<29, 8>(self.s_slot.val()) << 20)
                | bit_cast::<29, 20>(self.s_src.val());
        }
        self.ids.wr.en.next = self.open.val();
        self.ids.wr.addr.next = self.entry.q.val();
        self.ids.wr.data.next = self.open_id.val();
        self.states.wr.en.next = self.open.val() | self.ends.val();
        self.states.wr.addr.next = self.entry.q.val();
        self.states.wr.data.next = (bit_cast::<PW, A>(self.open_wptr.val()) << 3) | bits::<PW>(1);
        if self.ends.val() {
            self.states.wr.addr.next = self.ended.val();
            self.states.wr.data.next = (bit_cast::<PW, A>(self.close_wptr.val()) << 3)
                | (bits::<PW>(2) + bit_cast::<PW, 2>(self.close_status.val()));
        }
        if !self.cleared.q.val() {
            self.states.wr.data.next = 0.into();
        }
    }
}
