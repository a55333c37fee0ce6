//! Who sends next on the line: datagrams or bulk transfers.

use crate::prelude::*;
use tributary_protocol::card::model::line::{AHEAD, WHOLE};
use tributary_protocol::roce::{BODY_OFFSET, ICRC_LEN};
use tributary_protocol::rw::wire::HEADER_LEN;
use tributary_protocol::xud::wire::{ACK_LEN, XUDETH_LEN};

/// Bytes that bulk transfers may be ahead, times the whole of the share: a power of two, so that two bits tell.
const MOST: usize = AHEAD as usize * WHOLE as usize;
const _: () = assert!(MOST == 1 << 22);

hdl_module! {
    /// Shares the line in front of xud_tx between datagrams and bulk transfers (BW-4): while both have a frame each gets its
    /// share of the bytes, and one that waits alone has the whole line. It knows nothing of either but lengths, so another
    /// schedule can take its place. Acknowledgements of datagrams go first in xud_tx; their bytes count for datagrams.
    /// What one sent while the other had nothing counts for 16 KiB at most.
    /// Latency: 1 clock from an offer to its turn. From the clock behind a frame that was taken on m_stop holds the next one
    /// back for 6 clocks, behind an acknowledgement for 7: no frame takes fewer than 10 on the line.
    /// Stages of a frame: 1 its bytes; 2 times each bit of their weight; 3 three sums; 4 their sum; 5 who is ahead; 6 turn.
    /// Nothing stalls it.
    #[module("bulk_line")]
    pub struct BulkLine {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nobody is ahead.
        pub rst: Signal<In, Bit>,
        /// Share of bulk transfers, of 256; more counts as all. When it changes, nobody is ahead.
        pub cfg_share: Signal<In, Bits<9>>,
        /// A datagram is offered to xud_tx.
        pub s_sd_valid: Signal<In, Bit>,
        /// It is taken; pulse.
        pub s_sd_taken: Signal<In, Bit>,
        /// Bytes in front of its payload.
        pub s_sd_head_len: Signal<In, Bits<5>>,
        /// Bytes of its payload.
        pub s_sd_len: Signal<In, Bits<13>>,
        /// A frame of a bulk transfer is offered.
        pub s_bulk_valid: Signal<In, Bit>,
        /// It is taken; pulse.
        pub s_bulk_taken: Signal<In, Bit>,
        /// Bytes behind the first 8 of its body.
        pub s_bulk_len: Signal<In, Bits<13>>,
        /// An acknowledgement is taken; pulse.
        pub s_ak_taken: Signal<In, Bit>,
        /// With it: it has an echo.
        pub s_ak_echo: Signal<In, Bit>,
        /// The bulk frame is next.
        pub m_turn: Signal<Out, Bit>,
        /// Neither is taken now.
        pub m_stop: Signal<Out, Bit>,

        share: DFF<Bits<9>>,
        limited: Signal<Local, Bits<9>>,
        /// An acknowledgement waits to be counted; it has an echo.
        #[reset] ack: DFF<Bit>,
        ack_echo: DFF<Bit>,
        payload: Signal<Local, Bits<14>>,
        around: Signal<Local, Bits<14>>,
        // Stages 1 to 4.
        bytes: DFF<Bits<14>>,
        of_byte: DFF<Bits<9>>,
        parts: Bank<DFF<Bits<24>>, 9>,
        low: DFF<Bits<24>>,
        middle: DFF<Bits<24>>,
        high: DFF<Bits<24>>,
        weight: DFF<Bits<24>>,
        /// A frame is in each, and it is of a bulk transfer.
        #[reset] valid: DFF<Bits<5>>,
        of_bulk: DFF<Bits<4>>,
        /// Bytes that bulk transfers are ahead of their share, times 256; negative: behind.
        #[reset] ahead: DFF<Bits<24>>,
        sum: Signal<Local, Bits<24>>,
        #[reset] turn: DFF<Bit>,
        first: Signal<Local, Bit>,

        whole: Param<{ WHOLE as usize }, 9>,
        most: Param<MOST, 24>,
        around_sd: Param<{ BODY_OFFSET + XUDETH_LEN + ICRC_LEN }, 14>,
        around_bulk: Param<{ BODY_OFFSET + HEADER_LEN + ICRC_LEN }, 14>,
        ack_short: Param<{ BODY_OFFSET + ACK_LEN[0] + ICRC_LEN }, 14>,
        ack_long: Param<{ BODY_OFFSET + ACK_LEN[1] + ICRC_LEN }, 14>,
    }
}

impl Logic for BulkLine {
    #[hdl_gen]
    fn update(&mut self) {
        self.limited.next = self.cfg_share.val();
        if self.cfg_share.val() > self.whole.val() {
            self.limited.next = self.whole.val();
        }
        self.share.d.next = self.limited.val();

        // Stage 1. Frame and acknowledgement may be taken together: then the acknowledgement is counted a clock later.
        self.ack.d.next = self.s_ak_taken.val();
        self.ack_echo.d.next = self.s_ak_echo.val();
        self.payload.next = 0.into();
        self.around.next = self.ack_short.val();
        if self.ack_echo.q.val() {
            self.around.next = self.ack_long.val();
        }
        self.of_byte.d.next = self.share.q.val();
        if self.s_sd_taken.val() {
            self.payload.next = bit_cast::<14, 13>(self.s_sd_len.val())
                + bit_cast::<14, 5>(self.s_sd_head_len.val());
            self.around.next = self.around_sd.val();
        }
        if self.s_bulk_taken.val() {
            self.payload.next = bit_cast::<14, 13>(self.s_bulk_len.val());
            self.around.next = self.around_bulk.val();
            self.of_byte.d.next = self.whole.val() - self.share.q.val();
        }
        // With its pad.
        self.bytes.d.next = (((self.payload.val() + 3) >> 2) << 2) + self.around.val();

        // Stages 2 to 4.
        for i in 0..9 {
            self.parts[i].d.next = 0.into();
        }
        if self.of_byte.q.val().get_bit(0) {
            self.parts[0].d.next = bit_cast::<24, 14>(self.bytes.q.val());
        }
        if self.of_byte.q.val().get_bit(1) {
            self.parts[1].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 1;
        }
        if self.of_byte.q.val().get_bit(2) {
            self.parts[2].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 2;
        }
        if self.of_byte.q.val().get_bit(3) {
            self.parts[3].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 3;
        }
        if self.of_byte.q.val().get_bit(4) {
            self.parts[4].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 4;
        }
        if self.of_byte.q.val().get_bit(5) {
            self.parts[5].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 5;
        }
        if self.of_byte.q.val().get_bit(6) {
            self.parts[6].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 6;
        }
        if self.of_byte.q.val().get_bit(7) {
            self.parts[7].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 7;
        }
        if self.of_byte.q.val().get_bit(8) {
            self.parts[8].d.next = bit_cast::<24, 14>(self.bytes.q.val()) << 8;
        }
        self.low.d.next = self.parts[0].q.val() + self.parts[1].q.val() + self.parts[2].q.val();
        self.middle.d.next = self.parts[3].q.val() + self.parts[4].q.val() + self.parts[5].q.val();
        self.high.d.next = self.parts[6].q.val() + self.parts[7].q.val() + self.parts[8].q.val();
        self.weight.d.next = self.low.q.val() + self.middle.q.val() + self.high.q.val();
        self.valid.d.next = (self.valid.q.val() << 1)
            | bit_cast::<5, 1>(
                (self.s_sd_taken.val() | self.s_bulk_taken.val() | self.ack.q.val()).into(),
            );
        self.of_bulk.d.next =
            (self.of_bulk.q.val() << 1) | bit_cast::<4, 1>(self.s_bulk_taken.val().into());

        // Stage 5: the two upper bits tell what is beyond the limit, either way.
        self.sum.next = self.ahead.q.val() - self.weight.q.val();
        if self.of_bulk.q.val().get_bit(3) {
            self.sum.next = self.ahead.q.val() + self.weight.q.val();
        }
        if self.valid.q.val().get_bit(3) {
            self.ahead.d.next = self.sum.val();
            if !self.sum.val().get_bit(23) & self.sum.val().get_bit(22) {
                self.ahead.d.next = self.most.val();
            }
            if self.sum.val().get_bit(23) & !self.sum.val().get_bit(22) {
                self.ahead.d.next = bits::<24>(0) - self.most.val();
            }
        }
        if self.limited.val() != self.share.q.val() {
            self.ahead.d.next = 0.into();
        }

        // Stage 6.
        self.first.next = self.share.q.val().any()
            & ((self.share.q.val() == self.whole.val())
                | self.ahead.q.val().get_bit(23)
                | !self.ahead.q.val().any());
        if self.s_bulk_valid.val() {
            self.turn.d.next = self.first.val() | !self.s_sd_valid.val();
        } else if self.s_sd_valid.val() {
            self.turn.d.next = false;
        }
        self.m_turn.next = self.turn.q.val();
        self.m_stop.next = self.valid.q.val().any() | self.ack.q.val();
    }
}
