//! Completions on their way into host memory.

use crate::bus::{DmaRequestOut, Ended, StreamIn, StreamOut};
use crate::prelude::*;
use crate::record::{ArrivalEntry, CompletionEntry, EntryContext, WriteClient};
use tributary_protocol::card::descriptor::{COMPLETION_LEN, Of};

hdl_module! {
    /// Takes records of completions from the sender (s_tx) and the receiver (s_rx) in turns, lets each
    /// be numbered, and hands it to dma_write as one request of 64 bytes and 8 words. Whose turn it is
    /// is found out a clock before a record is taken. Two records are under way: one is being numbered
    /// while the words of the one in front leave. Not more than 16 are between here and the counting of
    /// what is done.
    /// Context of a request: 1 in 15:13, recv in 12, queue pair below.
    /// While num_ready is low num_qpn may change from the sender's record to the receiver's. Words of reduction
    /// frames come by themselves, and are handed on as they come. While a request or a word
    /// is not taken it stays as it is, and the record behind it may be numbered and its address computed.
    #[module("card_cq_write_q{}", 1usize << LQ)]
    pub struct CardCqWrite<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A work request has ended.
        pub s_tx_valid: Signal<In, Bit>,
        /// Taken.
        pub s_tx_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub s_tx_qpn: Signal<In, Bits<LQ>>,
        /// How it ended: a record Ended.
        pub s_tx_record: Signal<In, Bits<{ Ended::BITS }>>,
        /// A receive request has ended.
        pub s_rx_valid: Signal<In, Bit>,
        /// Taken.
        pub s_rx_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub s_rx_qpn: Signal<In, Bits<LQ>>,
        /// Its fields, alike.
        pub s_rx_record: Signal<In, Bits<{ Ended::BITS }>>,
        /// A completion waits for its number.
        pub num_valid: Signal<Out, Bit>,
        /// It will be numbered; does not depend on num_valid.
        pub num_ready: Signal<In, Bit>,
        /// Its queue pair.
        pub num_qpn: Signal<Out, Bits<LQ>>,
        /// Its number is here and stays until the next one.
        pub s_num_valid: Signal<In, Bit>,
        /// The number.
        pub s_num: Signal<In, Bits<16>>,
        /// Phase bit of its entry.
        pub s_phase: Signal<In, Bit>,
        /// Number of the entry in its ring.
        pub s_entry: Signal<In, Bits<15>>,
        /// Address of the ring, in units of 64 bytes.
        pub s_base: Signal<In, Bits<58>>,
        /// What was done for one completion has been counted.
        pub end_taken: Signal<In, Bit>,
        /// Words 0 to 6 of completions that are reduction frames, in the order of their records.
        pub s_words: StreamIn<64>,
        /// Writes of entries.
        pub m_wr: DmaRequestOut,
        /// The words of the entries.
        pub m_wd: StreamOut<64>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,

        /// The next one to be taken is of the receiver, if it has one; it is, found out a clock before.
        #[reset] turn: DFF<Bit>,
        use_rx: DFF<Bit>,
        can_take: Signal<Local, Bit>,
        offered: Signal<Local, Bit>,
        /// Record that is being numbered.
        #[reset] busy: DFF<Bit>,
        rx: DFF<Bit>,
        qpn: DFF<Bits<LQ>>,
        record: DFF<Ended>,
        /// It was taken a clock ago.
        #[reset] taken: DFF<Bit>,
        /// It has its number.
        #[reset] numbered: DFF<Bit>,
        go: Signal<Local, Bit>,
        /// Its address: 1 to be computed, 2 lower half is.
        #[reset] address: DFF<Bits<2>>,
        low: DFF<Bits<27>>,
        /// Record whose words leave.
        #[reset] out_busy: DFF<Bit>,
        out_rx: DFF<Bit>,
        out: DFF<Ended>,
        /// Its entry.
        entry: Signal<Local, CompletionEntry>,
        arrival: Signal<Local, ArrivalEntry>,
        /// Word that is offered is one that comes by itself; it is there, whatever it is.
        comes: Signal<Local, Bit>,
        there: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        context: Signal<Local, EntryContext>,
        out_num: DFF<Bits<16>>,
        out_phase: DFF<Bit>,
        /// Word that is offered.
        #[reset] word: DFF<Bits<3>>,
        out_done: Signal<Local, Bit>,
        #[reset] wr_valid: DFF<Bit>,
        wr_addr: DFF<Bits<58>>,
        wr_qpn: DFF<Bits<LQ>>,
        wr_rx: DFF<Bit>,
        /// Completions between here and the counting of what is done.
        #[reset] under_way: DFF<Bits<5>>,
        bytes: Param<COMPLETION_LEN, 13>,
        client: Param<{ WriteClient::Completion as usize }, 3>,
        /// Which kind of request has ended.
        sent: Param<{ Of::Send as usize }, 8>,
        received: Param<{ Of::Receive as usize }, 8>,
        notified: Param<{ Of::Notify as usize }, 8>,
    }
}

impl<const LQ: usize> Logic for CardCqWrite<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // A record is taken in the clock in which its numbering begins.
        self.can_take.next =
            !self.busy.q.val() & !self.address.q.val().any() & !self.under_way.q.val().get_bit(4);
        self.use_rx.d.next = self.s_rx_valid.val() & (self.turn.q.val() | !self.s_tx_valid.val());
        self.offered.next = self.s_tx_valid.val();
        self.num_qpn.next = self.s_tx_qpn.val();
        if self.use_rx.q.val() {
            self.offered.next = self.s_rx_valid.val();
            self.num_qpn.next = self.s_rx_qpn.val();
        }
        self.num_valid.next = self.can_take.val() & self.offered.val();
        self.s_tx_ready.next = self.can_take.val() & self.num_ready.val() & !self.use_rx.q.val();
        self.s_rx_ready.next = self.can_take.val() & self.num_ready.val() & self.use_rx.q.val();
        if self.num_valid.val() & self.num_ready.val() {
            self.turn.d.next = !self.use_rx.q.val();
            self.busy.d.next = true;
            self.address.d.next = 1.into();
        }
        // Whatever is offered, until it is taken: so that the enable of many registers is one.
        if !self.busy.q.val() & !self.address.q.val().any() {
            self.rx.d.next = self.use_rx.q.val();
            self.qpn.d.next = self.num_qpn.val();
        }
        if !self.busy.q.val() {
            self.record.d.next = self.s_tx_record.val().into();
            if self.use_rx.q.val() {
                self.record.d.next = self.s_rx_record.val().into();
            }
        }
        // A clock late, in which none is taken.
        self.taken.d.next = self.num_valid.val() & self.num_ready.val();
        if self.taken.q.val() & !self.end_taken.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.taken.q.val() & self.end_taken.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }

        // Its request: address in two halves, as soon as the request in front has been taken.
        self.m_wr.valid.next = self.wr_valid.q.val();
        self.m_wr.of.next.addr = bit_cast::<64, 58>(self.wr_addr.q.val()) << 6;
        self.m_wr.of.next.len = self.bytes.val();
        self.context.next = EntryContext {
            qpn: bit_cast::<12, LQ>(self.wr_qpn.q.val()),
            receive: self.wr_rx.q.val(),
            client: self.client.val(),
        };
        self.m_wr.of.next.ctx = self.context.val().to_bits();
        if self.m_wr.ready.val() {
            self.wr_valid.d.next = false;
        }
        if self.s_num_valid.val() {
            self.address.d.next = 2.into();
            self.low.d.next = bit_cast::<27, 26>(self.s_base.val().get_bits::<26>(0))
                + bit_cast::<27, 15>(self.s_entry.val());
        }
        if self.address.q.val().get_bit(1) & (self.m_wr.ready.val() | !self.wr_valid.q.val()) {
            self.address.d.next = 0.into();
            self.wr_valid.d.next = true;
            self.wr_addr.d.next = bit_cast::<58, 26>(self.low.q.val().get_bits::<26>(0))
                | (bit_cast::<58, 32>(
                    self.s_base.val().get_bits::<32>(26)
                        + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(26)),
                ) << 26);
            self.wr_qpn.d.next = self.qpn.q.val();
            self.wr_rx.d.next = self.rx.q.val();
        }

        // Its words, as soon as those in front have been taken.
        self.comes.next =
            self.out_busy.q.val() & self.out.q.val().arrived & !self.word.q.val().all();
        self.there.next = self.out_busy.q.val() & (!self.comes.val() | self.s_words.valid.val());
        self.s_words.ready.next = self.comes.val() & self.m_wd.ready.val();
        self.moves.next = self.there.val() & self.m_wd.ready.val();
        self.out_done.next =
            self.out_busy.q.val() & self.m_wd.ready.val() & self.word.q.val().all();
        self.go.next = (self.numbered.q.val() | self.s_num_valid.val())
            & (!self.out_busy.q.val() | self.out_done.val());
        if self.s_num_valid.val() {
            self.numbered.d.next = true;
        }
        if self.moves.val() {
            self.word.d.next = self.word.q.val() + 1;
        }
        if self.out_done.val() {
            self.out_busy.d.next = false;
        }
        if self.go.val() {
            self.busy.d.next = false;
            self.numbered.d.next = false;
            self.out_busy.d.next = true;
            self.out_rx.d.next = self.rx.q.val();
            self.out.d.next = self.record.q.val();
            self.out_num.d.next = self.s_num.val();
            self.out_phase.d.next = self.s_phase.val();
        }
        self.m_wd.valid.next = self.there.val();
        self.entry.next = CompletionEntry {
            wr_id: self.out.q.val().wr_id,
            status: self.out.q.val().status,
            of: self.sent.val(),
            version_flags: self.out.q.val().vf,
            marked: self.out.q.val().marked,
            length: self.out.q.val().len,
            node: self.out.q.val().node,
            qpn: self.out.q.val().peer,
            win_id: self.out.q.val().win_id,
            epoch: self.out.q.val().epoch,
            win_msn: self.out.q.val().msn,
            q_key: self.out.q.val().q_key,
            psn: self.out.q.val().psn,
            request: self.out.q.val().request,
            phase: self.out_phase.q.val(),
            number: self.out_num.q.val(),
        };
        if self.out_rx.q.val() {
            self.entry.next.of = self.received.val();
            if self.out.q.val().notified {
                self.entry.next.of = self.notified.val();
            }
        }
        self.m_wd.data.next = 0.into();
        for i in 0..8 {
            if self.word.q.val() == i.to_bits() {
                self.m_wd.data.next = self.entry.val().get_bits::<64>(64 * i);
            }
        }
        // Of a frame is known here how many work requests were fetched, and whether it was answered; its last word is as of any.
        self.arrival.next = bits::<{ ArrivalEntry::BITS }>(0).into();
        self.arrival.next.fetched = self.out.q.val().request;
        self.arrival.next.answered = self.out.q.val().arrived & self.out.q.val().notified;
        if self.word.q.val().all() {
            self.m_wd.data.next =
                self.entry.val().get_bits::<64>(448) | self.arrival.val().get_bits::<64>(448);
        }
        if self.comes.val() {
            self.m_wd.data.next = self.s_words.data.val();
            if self.word.q.val() == 1 {
                self.m_wd.data.next =
                    self.s_words.data.val() | self.arrival.val().get_bits::<64>(64);
            }
        }
        self.m_idle.next = !self.under_way.q.val().any()
            & !self.busy.q.val()
            & !self.out_busy.q.val()
            & !self.wr_valid.q.val();
    }
}
