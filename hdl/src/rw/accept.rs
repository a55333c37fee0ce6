//! The accept pipeline: one DATA record a clock, whatever window it hits.
//!
//! Its parts: `enter` (stages 1 and 2), `check` (3 and 4), `decide` (5 to 8), `tables` (what all of them read, and stage 6 writes).

mod check;
mod decide;
mod enter;
mod tables;

use super::slide::RwSlide;
use crate::blocks::{RamReg, RamRegForward};
use crate::prelude::*;
use tributary_protocol::rw::DropReason;

hdl_record! {
    /// A packet on its way. BA bits for a word of the bitmap.
    struct Packet<const BA: usize> {
        /// A row is cleared, and there is no packet.
        init: Bit,
        /// Window.
        wptr: Bits<16>,
        /// Incarnation of the window.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// Who sent the packet.
        src: Bits<20>,
        /// Number of the packet.
        pidx: Bits<22>,
        /// It is the last packet of the transfer.
        tail: Bit,
        /// Bytes of payload.
        len: Bits<13>,
        /// Word of the bitmap.
        word: Bits<BA>,
    }
}

hdl_module! {
    /// Accept pipeline of the receiver window: one DATA record a clock, never stalled, also when
    /// every record hits the same window.
    /// Decision on m_* seven clocks after the record was taken, what it is about on p_* two clocks
    /// before. Stages:
    ///   1 addresses of all tables            2 block RAM arrays
    ///   3 RAM outputs, checks against the connection and wbase, forward from stages 6 to 8
    ///   4 forward from stage 6, is the packet in the window, is its bit set
    ///   5 p_*; decision                      6 write back
    ///   7 m_*
    /// The bitmap is circular: packet p has bit p mod W of its window, in words of B bits, and
    /// the bit tells the lap (bit log2 W of p, inverted) of the last packet received there, so a
    /// slide touches no bit. Slides are made beside the pipeline, by rw_slide, some clocks later:
    /// a packet is judged by wbase as it was in the clock in which its record was taken. So no
    /// record waits for what the one before it does to wbase; what it does to its own bit, and to
    /// the highest packet, is forwarded.
    /// A window is closed when its words are cleared, one after the other, and stays so for three
    /// clocks more. It is closed for a record taken in the clock of cw_en or the one after it,
    /// whatever that says.
    #[module("rw_accept_w{W}_r{}", 1usize << A)]
    pub struct RwAccept<
        const A: usize, const W: usize, const LW: usize, const B: usize, const LB: usize,
        const LNW: usize, const BA: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A record is offered; always taken.
        pub s_valid: Signal<In, Bit>,
        /// The record clears the word of s_pidx and the row of its window, instead of being DATA.
        pub s_init: Signal<In, Bit>,
        /// Window.
        pub s_wptr: Signal<In, Bits<16>>,
        /// Incarnation of the window.
        pub s_gen: Signal<In, Bits<16>>,
        /// Sending node.
        pub s_src: Signal<In, Bits<20>>,
        /// Packet number.
        pub s_pidx: Signal<In, Bits<22>>,
        /// Last packet of the transfer.
        pub s_tail: Signal<In, Bit>,
        /// Payload length, bytes.
        pub s_len: Signal<In, Bits<13>>,
        /// Coarse time.
        pub now: Signal<In, Bits<16>>,
        /// Write the connection of a window; what describes the region stays for one clock more.
        pub cw_en: Signal<In, Bit>,
        /// Window.
        pub cw_wptr: Signal<In, Bits<A>>,
        /// The window is open.
        pub cw_open: Signal<In, Bit>,
        /// Incarnation.
        pub cw_gen: Signal<In, Bits<16>>,
        /// Node that may send to it.
        pub cw_src: Signal<In, Bits<20>>,
        /// Number of the last packet.
        pub cw_last: Signal<In, Bits<22>>,
        /// log2 of the packet size, less 8.
        pub cw_mtu: Signal<In, Bits<3>>,
        /// Length of the last packet, bytes.
        pub cw_last_len: Signal<In, Bits<13>>,
        /// Address of the region.
        pub cw_addr: Signal<In, Bits<64>>,
        /// Key of the region.
        pub cw_rkey: Signal<In, Bits<32>>,
        /// Window to look at.
        pub q_wptr: Signal<In, Bits<A>>,
        /// Word of its bitmap to look at.
        pub q_word: Signal<In, Bits<LNW>>,
        /// First hole, two clocks later.
        pub q_wbase: Signal<Out, Bits<22>>,
        /// Highest packet received, plus one, modulo 4,096.
        pub q_highest: Signal<Out, Bits<12>>,
        /// The last packet has arrived.
        pub q_tail: Signal<Out, Bit>,
        /// Time of the last DATA.
        pub q_last_rx: Signal<Out, Bits<16>>,
        /// The word.
        pub q_bits: Signal<Out, Bits<B>>,
        /// A packet is decided two clocks later.
        pub p_valid: Signal<Out, Bit>,
        /// Its window.
        pub p_wptr: Signal<Out, Bits<16>>,
        /// Incarnation of the window.
        pub p_gen: Signal<Out, Bits<16>>,
        /// Where its payload goes, if it is accepted.
        pub p_addr: Signal<Out, Bits<64>>,
        /// Key of the region.
        pub p_rkey: Signal<Out, Bits<32>>,
        /// Length of its payload, bytes.
        pub p_len: Signal<Out, Bits<13>>,
        /// A decision.
        pub m_valid: Signal<Out, Bit>,
        /// Why the packet is dropped; 0: it is accepted.
        pub m_reason: Signal<Out, Bits<4>>,
        /// Its window.
        pub m_wptr: Signal<Out, Bits<A>>,
        /// A slide: wbase of a window is written.
        pub slide_en: Signal<Out, Bit>,
        /// Its window.
        pub slide_wptr: Signal<Out, Bits<A>>,
        /// Its first hole, as far as the slide has come.
        pub slide_base: Signal<Out, Bits<22>>,
        /// A slide over a multiple of W/4 has come to a hole: a credit update is due.
        pub m_credit: Signal<Out, Bit>,
        /// For this window.
        pub m_credit_wptr: Signal<Out, Bits<A>>,

        lw: Param<LW, 5>,
        lb: Param<LB, 5>,
        lnw: Param<LNW, 5>,

        /// open, source, incarnation, packet size of each window.
        conn_id: RamReg<40, A>,
        /// The connection read one clock ago, two clocks ago, was about to be written or was written
        /// in that clock. It opens or closes the window: meanwhile the window counts as closed.
        torn_1: DFF<Bit>,
        torn_2: DFF<Bit>,
        /// The connection in stage 3.
        s3_torn: DFF<Bit>,
        s3_id: DFF<Bits<40>>,
        s3_size: DFF<Bits<35>>,
        /// Last packet number and length.
        conn_size: RamReg<35, A>,
        conn_addr: RamReg<64, A>,
        conn_rkey: RamReg<32, A>,
        /// First hole.
        bases: RamRegForward<22, A>,
        bases_q: RamRegForward<22, A>,
        /// Highest packet modulo 4,096, tail.
        rows: RamReg<13, A>,
        /// The same, and the time of the last DATA.
        rows_q: RamRegForward<29, A>,
        bitmap: RamReg<B, BA>,
        bitmap_q: RamRegForward<B, BA>,
        slides: RwSlide<A, LW, B, LB, LNW, BA>,

        opened_en: DFF<Bit>,
        opened_wptr: DFF<Bits<A>>,
        opened_id: DFF<Bits<37>>,

        #[reset] s1_valid: DFF<Bit>,
        s1: DFF<Packet<BA>>,
        s1_word: Signal<Local, Bits<BA>>,

        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<Packet<BA>>,
        s1_row: Signal<Local, Bits<A>>,
        s2_row: Signal<Local, Bits<A>>,
        s2_at_row6: Signal<Local, Bit>,
        /// Same row as the record in stage 6, in stage 7.
        s2_row6: DFF<Bit>,
        s2_row7: DFF<Bit>,

        #[reset] s3_valid: DFF<Bit>,
        s3: DFF<Packet<BA>>,
        /// First hole.
        s3_base: DFF<Bits<22>>,
        /// Where the newest bitmap word is: 0 in the table, 1 to 3 in stage 8, 7, 6.
        s3_from: DFF<Bits<2>>,
        /// Same row as the record in stage 6; as any of those in stages 6 to 8.
        s3_row6: DFF<Bit>,
        s3_forward: DFF<Bit>,
        /// The row as the records in stages 7 and 8 leave it, 0 if it is not theirs.
        late_row: DFF<Bits<13>>,
        s3_row: Signal<Local, Bits<A>>,
        s3_pos: Signal<Local, Bits<LB>>,
        s3_last: Signal<Local, Bits<22>>,
        s3_plen: Signal<Local, Bits<13>>,

        #[reset] s4_valid: DFF<Bit>,
        s4: DFF<Packet<BA>>,
        s4_addr: DFF<Bits<64>>,
        s4_rkey: DFF<Bits<32>>,
        /// Where the payload begins in its region, divided by 256.
        s4_offset: DFF<Bits<26>>,
        s4_closed: DFF<Bit>,
        s4_stale: DFF<Bit>,
        s4_foreign: DFF<Bit>,
        s4_beyond: DFF<Bit>,
        s4_at_last: DFF<Bit>,
        s4_len_full: DFF<Bit>,
        s4_len_last: DFF<Bit>,
        /// The packet less wbase, negative in the last bit.
        s4_gap: DFF<Bits<23>>,
        s4_onehot: DFF<Bits<B>>,
        /// What the packet's bit tells once it has arrived.
        s4_lap: DFF<Bit>,
        s4_bits: DFF<Bits<B>>,
        s4_row: DFF<Bits<13>>,
        /// The row as records ahead left it, if they did: the one in s4_row is 0 then.
        fwd_row: DFF<Bits<13>>,
        /// Same word or row as the record in stage 6, and as the record just before.
        s4_word6: DFF<Bit>,
        s4_row6: DFF<Bit>,
        s4_word5: DFF<Bit>,
        s4_row5: DFF<Bit>,
        /// Same place in a word and same lap as the packet just before.
        s4_place5: DFF<Bit>,
        s4_cur_bits: Signal<Local, Bits<B>>,
        /// The row as the record in stage 6 leaves it.
        s4_cur_row: Signal<Local, Bits<13>>,
        /// The packet less highest, less the packet just before; negative in the last bit. A packet
        /// that is accepted is less than 2 W above both and less than W below.
        over_highest: Signal<Local, Bits<12>>,
        over_last: Signal<Local, Bits<12>>,
        s4_shape: Signal<Local, Bit>,

        #[reset] s5_valid: DFF<Bit>,
        s5: DFF<Packet<BA>>,
        s5_pidx_1: DFF<Bits<12>>,
        #[reset] s5_clear: DFF<Bit>,
        s5_addr: DFF<Bits<64>>,
        s5_rkey: DFF<Bits<32>>,
        s5_fail: DFF<Bits<4>>,
        s5_below: DFF<Bit>,
        s5_above: DFF<Bit>,
        s5_at_base: DFF<Bit>,
        s5_onehot: DFF<Bits<B>>,
        s5_bits: DFF<Bits<B>>,
        s5_row: DFF<Bits<13>>,
        /// Relation to the record just before, now in stage 6.
        s5_same_word: DFF<Bit>,
        s5_same_row: DFF<Bit>,
        s5_same_packet: DFF<Bit>,
        /// Received before.
        s5_dup: DFF<Bit>,
        /// DATA that passed every check against the connection; and is in the window.
        #[reset] s5_known: DFF<Bit>,
        #[reset] s5_pass: DFF<Bit>,
        /// At least highest; above the packet just before.
        s5_new_highest: DFF<Bit>,
        s5_after_last: DFF<Bit>,
        /// The word, from the table or from the record just before, 0 if not from there.
        table_bits: Signal<Local, Bits<B>>,
        last_bits: Signal<Local, Bits<B>>,
        bits_in: Signal<Local, Bits<B>>,
        duplicate: Signal<Local, Bit>,
        take: Signal<Local, Bit>,
        /// The record just before raised highest.
        with_raised: Signal<Local, Bit>,

        #[reset] s6_valid: DFF<Bit>,
        /// It was in the window: its bit is set now, whether by it or before.
        s6_pass: DFF<Bit>,
        /// It was taken, and it was wbase.
        #[reset] s6_at_base: DFF<Bit>,
        #[reset] s6_clear: DFF<Bit>,
        #[reset] s6_write_row: DFF<Bit>,
        #[reset] s6_write_bits: DFF<Bit>,
        /// Why the packet is dropped: a check of stages 3 and 4 failed; it is not in the window;
        /// received before.
        s6_fail: DFF<Bits<4>>,
        s6_below: DFF<Bit>,
        s6_above: DFF<Bit>,
        s6_dup: DFF<Bit>,
        s6: DFF<Packet<BA>>,
        s6_bits: DFF<Bits<B>>,
        s6_row: DFF<Bits<13>>,
        /// The packet is taken and says that it is the last one.
        s6_last_rx: DFF<Bits<16>>,
        /// The packet is taken and the highest so far; its number plus one.
        s6_raised: DFF<Bit>,
        s6_pidx_1: DFF<Bits<12>>,
        s6_highest: Signal<Local, Bits<12>>,
        s6_new_row: Signal<Local, Bits<13>>,
        s6_window: Signal<Local, Bits<A>>,

        #[reset] s7_valid: DFF<Bit>,
        s7_reason: DFF<Bits<4>>,
        s7_word: DFF<Bits<BA>>,
        s7_wptr: DFF<Bits<A>>,
        s7_bits: DFF<Bits<B>>,
        s7_row: DFF<Bits<13>>,

        s8_bits: DFF<Bits<B>>,
        /// Why a packet is dropped.
        why_closed: Param<{ DropReason::Closed as usize }, 4>,
        why_stale_gen: Param<{ DropReason::StaleGen as usize }, 4>,
        why_bad_source: Param<{ DropReason::BadSource as usize }, 4>,
        why_beyond_end: Param<{ DropReason::BeyondEnd as usize }, 4>,
        why_bad_tail: Param<{ DropReason::BadTail as usize }, 4>,
        why_bad_length: Param<{ DropReason::BadLength as usize }, 4>,
        why_below_window: Param<{ DropReason::BelowWindow as usize }, 4>,
        why_above_window: Param<{ DropReason::AboveWindow as usize }, 4>,
        why_duplicate: Param<{ DropReason::Duplicate as usize }, 4>,
    }
}

impl<
    const A: usize,
    const W: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const LNW: usize,
    const BA: usize,
> Logic for RwAccept<A, W, LW, B, LB, LNW, BA>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.write_tables();
        // The row as the record in stage 6 leaves it.
        self.s6_highest.next = bit_cast::<12, 13>(self.s6_row.q.val());
        if self.s6_raised.q.val() {
            self.s6_highest.next = self.s6_pidx_1.q.val();
        }
        self.s6_new_row.next =
            (bit_cast::<13, 1>((self.s6_row.q.val().get_bit(12) | self.s6.q.val().tail).into())
                << 12)
                | bit_cast::<13, 12>(self.s6_highest.val());

        self.enter();
        self.match_ahead();
        self.check();
        self.judge();
        self.announce();
        self.decide();
        self.write_back();
        self.slide();
        self.leave();
        self.show();
    }
}
