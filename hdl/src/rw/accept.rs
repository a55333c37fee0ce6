//! The accept pipeline: one DATA record a clock, whatever window it hits.

use super::select::LateChoiceEncoder;
use crate::blocks::{PriorityEncoder, RamReg, RamRegBank, RamRegForward, WordSelect};
use crate::prelude::*;
use tributary_protocol::rw::DropReason;

hdl_module! {
    /// Accept pipeline of the receiver window: one DATA record a clock, never stalled, also when
    /// every record hits the same window.
    /// Decision on m_* seven clocks after the record was taken, what it is about on p_* two clocks
    /// before. Stages:
    ///   1 addresses of all tables            2 block RAM arrays
    ///   3 RAM outputs, checks against the connection, forward from stages 6 to 8
    ///   4 update from stage 6, comparisons with wbase, candidates for next hole and next word
    ///   5 p_*; decision, new wbase and word   6 update of the tables, write back
    ///   7 m_*
    /// The bitmap is circular: packet p has bit p mod W of its window, in words of B bits, and
    /// the bit tells the lap (bit log2 W of p, inverted) of the last packet received there, so a
    /// slide touches no bit. The row of a window holds wbase (the first hole) and for each word
    /// its first hole, or that it is full; the word of wbase is never full and its hole is the
    /// next lap's. Stage 5 needs the record just before it: stage 4 prepares every candidate
    /// twice, without and with that record accepted. What a record does to the tables of holes
    /// and full words is applied in stage 6, one clock late: stages 4 and 5 apply it for
    /// themselves.
    /// A window is closed when its words are cleared and stays so for three clocks more.
    /// It is closed for a record taken in the clock of cw_en or the one after it, whatever that says.
    pub struct RwAccept<
        const A: usize, const W: usize, const LW: usize, const B: usize, const LB: usize,
        const NW: usize, const LNW: usize, const HI: usize, const BA: usize,
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
        pub s_src: Signal<In, Bits<16>>,
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
        pub cw_src: Signal<In, Bits<16>>,
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
        /// The accepted packet moved wbase over a multiple of W/4 and the transfer goes on.
        pub m_credit: Signal<Out, Bit>,

        lw: Param<LW, 5>,
        lb: Param<LB, 5>,
        lnw: Param<LNW, 5>,

        /// open, source, incarnation, packet size of each window.
        conn_id: RamReg<36, A>,
        /// The connection read one clock ago, two clocks ago, was about to be written or was written
        /// in that clock. It opens or closes the window: meanwhile the window counts as closed.
        torn_1: DFF<Bit>,
        torn_2: DFF<Bit>,
        /// The connection in stage 3.
        s3_torn: DFF<Bit>,
        s3_id: DFF<Bits<36>>,
        s3_size: DFF<Bits<35>>,
        /// Last packet number and length.
        conn_size: RamReg<35, A>,
        conn_addr: RamReg<64, A>,
        conn_rkey: RamReg<32, A>,
        /// wbase, highest modulo 4,096, tail.
        rows: RamReg<35, A>,
        /// The same, and the time of the last DATA.
        rows_q: RamRegForward<51, A>,
        /// Which words are full, and the first hole of each.
        fulls: RamReg<NW, A>,
        holes: RamRegBank<LB, NW, A>,
        bitmap: RamReg<B, BA>,
        bitmap_q: RamRegForward<B, BA>,

        opened_en: DFF<Bit>,
        opened_wptr: DFF<Bits<A>>,
        opened_id: DFF<Bits<33>>,

        s1_valid: DFF<Bit>,
        s1_init: DFF<Bit>,
        s1_wptr: DFF<Bits<16>>,
        s1_gen: DFF<Bits<16>>,
        s1_src: DFF<Bits<16>>,
        s1_pidx: DFF<Bits<22>>,
        s1_tail: DFF<Bit>,
        s1_len: DFF<Bits<13>>,
        s1_word: Signal<Local, Bits<BA>>,

        s2_valid: DFF<Bit>,
        s2_init: DFF<Bit>,
        s2_wptr: DFF<Bits<16>>,
        s2_gen: DFF<Bits<16>>,
        s2_src: DFF<Bits<16>>,
        s2_pidx: DFF<Bits<22>>,
        s2_tail: DFF<Bit>,
        s2_len: DFF<Bits<13>>,
        s2_word: DFF<Bits<BA>>,
        s1_row: Signal<Local, Bits<A>>,
        s2_row: Signal<Local, Bits<A>>,
        s2_at_row6: Signal<Local, Bit>,
        /// Same row as the record in stage 6, in stage 7.
        s2_row6: DFF<Bit>,
        s2_row7: DFF<Bit>,

        s3_valid: DFF<Bit>,
        s3_init: DFF<Bit>,
        s3_wptr: DFF<Bits<16>>,
        s3_gen: DFF<Bits<16>>,
        s3_src: DFF<Bits<16>>,
        s3_pidx: DFF<Bits<22>>,
        s3_tail: DFF<Bit>,
        s3_len: DFF<Bits<13>>,
        s3_word: DFF<Bits<BA>>,
        /// Where the newest bitmap word is: 0 in the table, 1 to 3 in stage 8, 7, 6.
        s3_from: DFF<Bits<2>>,
        /// Same row as the record in stage 6; as any of those in stages 6 to 8.
        s3_row6: DFF<Bit>,
        s3_forward: DFF<Bit>,
        /// The row as the records in stages 7 and 8 leave it, 0 if it is not theirs.
        late_wbase: DFF<Bits<22>>,
        late_highest: DFF<Bits<12>>,
        late_row_tail: DFF<Bit>,
        late_full: DFF<Bits<NW>>,
        late_hole: Bank<DFF<Bits<LB>>, NW>,
        s3_row: Signal<Local, Bits<A>>,
        s3_pos: Signal<Local, Bits<LB>>,
        s3_last: Signal<Local, Bits<22>>,
        s3_plen: Signal<Local, Bits<13>>,
        s3_lap: Signal<Local, Bits<HI>>,
        s3_index: Signal<Local, Bits<LNW>>,

        s4_valid: DFF<Bit>,
        s4_init: DFF<Bit>,
        s4_wptr: DFF<Bits<16>>,
        s4_gen: DFF<Bits<16>>,
        s4_pidx: DFF<Bits<22>>,
        s4_tail: DFF<Bit>,
        s4_len: DFF<Bits<13>>,
        s4_word: DFF<Bits<BA>>,
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
        /// The packet's place in its word, the places above and below, and the same for its
        /// word in the window.
        s4_onehot: DFF<Bits<B>>,
        s4_above: DFF<Bits<B>>,
        s4_below: DFF<Bits<B>>,
        s4_word_onehot: DFF<Bits<NW>>,
        s4_word_above: DFF<Bits<NW>>,
        /// Modulo W: above the packet just before; above it or equal.
        s4_after: DFF<Bit>,
        s4_from: DFF<Bit>,
        /// From the packet just before up to this one, both not counted: the places if both are in
        /// one word and this one above, and the words, going round.
        s4_between: DFF<Bits<B>>,
        s4_words_between: DFF<Bits<NW>>,
        /// Places above the packet in its word less that of the packet just before, and whether
        /// that is one of them.
        s4_above_rest: DFF<Bits<B>>,
        s4_last_above: DFF<Bit>,
        /// What the packet's bit tells once it has arrived: a register of its own for its many readers.
        s4_lap: DFF<Bit>,
        /// The packet's lap, and the one and two before it.
        s4_lap_0: DFF<Bits<HI>>,
        s4_lap_1: DFF<Bits<HI>>,
        s4_lap_2: DFF<Bits<HI>>,
        s4_bits: DFF<Bits<B>>,
        s4_wbase: DFF<Bits<22>>,
        s4_highest: DFF<Bits<12>>,
        s4_row_tail: DFF<Bit>,
        s4_hole: Bank<DFF<Bits<LB>>, NW>,
        s4_full: DFF<Bits<NW>>,
        /// The row as records ahead left it, if they did: the one in s4_* is 0 then.
        fwd_wbase: DFF<Bits<22>>,
        fwd_highest: DFF<Bits<12>>,
        fwd_row_tail: DFF<Bit>,
        fwd_hole: Bank<DFF<Bits<LB>>, NW>,
        fwd_full: DFF<Bits<NW>>,
        /// Same word or row as the record in stage 6, and as the record just before.
        s4_word6: DFF<Bit>,
        s4_row6: DFF<Bit>,
        /// The opposite, in a register of its own for half of the readers; so below.
        s4_other6: DFF<Bit>,
        s4_word5: DFF<Bit>,
        s4_row5: DFF<Bit>,
        s4_cur_bits: Signal<Local, Bits<B>>,
        s4_cur_wbase: Signal<Local, Bits<22>>,
        s4_old_full: Signal<Local, Bits<NW>>,
        s4_cur_full: Signal<Local, Bits<NW>>,
        s4_same_lap: Signal<Local, Bit>,
        s4_index: Signal<Local, Bits<LNW>>,
        s4_missing: Signal<Local, Bits<B>>,
        s4_missing_with: Signal<Local, Bits<B>>,
        s4_low: Signal<Local, Bits<LW>>,
        s4_base_low: Signal<Local, Bits<LW>>,
        s4_base_lap: Signal<Local, Bits<HI>>,
        s4_last_low: Signal<Local, Bits<LW>>,
        s4_same_bit: Signal<Local, Bit>,
        s4_dup: Signal<Local, Bit>,
        s4_laps_0: Signal<Local, Bit>,
        s4_laps_1: Signal<Local, Bit>,
        s4_laps_2: Signal<Local, Bit>,
        /// The row as the record in stage 6 leaves it.
        s4_cur_highest: Signal<Local, Bits<12>>,
        /// The packet less highest, less the packet just before; negative in the last bit. A packet
        /// that is accepted is less than 2 W above both and less than W below.
        over_highest: Signal<Local, Bits<12>>,
        over_last: Signal<Local, Bits<12>>,
        /// Words that are not full; the same less the word of the record in stage 5.
        s4_open: Signal<Local, Bits<NW>>,
        s4_rest: Signal<Local, Bits<NW>>,
        /// Next hole above the packet in its word; its first half is in stage 4, the rest in 5.
        next_above: LateChoiceEncoder<B, LB>,
        /// Lowest word that is not full, above the packet's and of all.
        open_above: PriorityEncoder<NW, LNW>,
        open_lowest: PriorityEncoder<NW, LNW>,
        rest_above: PriorityEncoder<NW, LNW>,
        rest_lowest: PriorityEncoder<NW, LNW>,

        s5_valid: DFF<Bit>,
        s5_wptr: DFF<Bits<16>>,
        s5_gen: DFF<Bits<16>>,
        s5_pidx: DFF<Bits<22>>,
        s5_pidx_1: DFF<Bits<12>>,
        s5_lap_1: DFF<Bits<HI>>,
        s5_clear: DFF<Bit>,
        s5_tail: DFF<Bit>,
        s5_len: DFF<Bits<13>>,
        s5_word: DFF<Bits<BA>>,
        s5_addr: DFF<Bits<64>>,
        s5_rkey: DFF<Bits<32>>,
        s5_fail: DFF<Bits<4>>,
        s5_onehot: DFF<Bits<B>>,
        s5_lap: DFF<Bit>,
        s5_bits: DFF<Bits<B>>,
        s5_wbase: DFF<Bits<22>>,
        s5_highest: DFF<Bits<12>>,
        s5_row_tail: DFF<Bit>,
        s5_hole: Bank<DFF<Bits<LB>>, NW>,
        s5_full: DFF<Bits<NW>>,
        /// Relation to the record just before, now in stage 6.
        s5_same_word: DFF<Bit>,
        s5_other_word: DFF<Bit>,
        s5_same_row: DFF<Bit>,
        s5_other_row: DFF<Bit>,
        /// Received before; not received before if the record just before was accepted.
        s5_dup: DFF<Bit>,
        s5_fresh: DFF<Bit>,
        /// The packet may change the row: DATA that passed every check of stages 3 and 4.
        s5_pass: DFF<Bit>,
        /// Relation to wbase before the record just before: equal; in its lap, the lap after it;
        /// modulo W before it.
        s5_at_base: DFF<Bit>,
        s5_laps_0: DFF<Bit>,
        s5_laps_1: DFF<Bit>,
        s5_borrow: DFF<Bit>,
        /// If the record just before was wbase: the packet is 1 to W above it; W to 2 W - 1.
        s5_next_lap: DFF<Bit>,
        s5_wrap_lap: DFF<Bit>,
        /// In the word of the packet just before and above it; or at its place.
        s5_after_here: DFF<Bit>,
        s5_from_here: DFF<Bit>,
        /// Between the two in one word: nothing is missing; nothing belongs to the packet's lap.
        s5_near_run: DFF<Bit>,
        s5_near_lapped: DFF<Bit>,
        /// Every word between theirs is full.
        s5_words_full: DFF<Bit>,
        /// At least highest; above the packet just before.
        s5_new_highest: DFF<Bit>,
        s5_after_last: DFF<Bit>,
        /// Nothing is missing above the packet in its word.
        s5_none_without: DFF<Bit>,
        s5_none_with: DFF<Bit>,
        /// Nothing is missing below the packet in its word; nothing there belongs to its lap.
        s5_lowest_without: DFF<Bit>,
        s5_lowest_with: DFF<Bit>,
        s5_lapped_without: DFF<Bit>,
        s5_lapped_with: DFF<Bit>,
        /// Next word that is not full, whether that goes into the next lap, and whether no other
        /// word than the packet's is left: as it was, and with the word just before filled.
        s5_next_without: DFF<Bits<LNW>>,
        s5_next_with: DFF<Bits<LNW>>,
        s5_wraps_without: DFF<Bit>,
        s5_wraps_with: DFF<Bit>,
        s5_following: DFF<Bits<LNW>>,
        s5_alone_without: DFF<Bit>,
        s5_alone_with: DFF<Bit>,
        s5_word_onehot: DFF<Bits<NW>>,
        s5_word_above: DFF<Bits<NW>>,
        s5_index: Signal<Local, Bits<LNW>>,
        s5_pos: Signal<Local, Bits<LB>>,
        /// wbase and the word, from the table or from the record just before, 0 if not from there.
        table_wbase: Signal<Local, Bits<22>>,
        last_wbase: Signal<Local, Bits<22>>,
        table_bits: Signal<Local, Bits<B>>,
        last_bits: Signal<Local, Bits<B>>,
        row_wbase: Signal<Local, Bits<22>>,
        row_highest: Signal<Local, Bits<12>>,
        row_tail: Signal<Local, Bit>,
        /// Tables of holes: with the one hole set just before, and with words cleared too.
        row_hole_set: Bank<Signal<Local, Bits<LB>>, NW>,
        row_hole: Bank<Signal<Local, Bits<LB>>, NW>,
        row_full: Signal<Local, Bits<NW>>,
        /// The record just before has moved wbase of this row.
        slid: Signal<Local, Bit>,
        /// If wbase has moved, to where the packet may be: up to the next hole in the word of the
        /// packet just before, or beyond that word.
        next_far: Signal<Local, Bit>,
        far_run: Signal<Local, Bit>,
        next_near: Signal<Local, Bit>,
        at_next: Signal<Local, Bit>,
        past_near: Signal<Local, Bit>,
        past_far: Signal<Local, Bit>,
        /// In the window as it was; in what the slide adds to it.
        inside_old: Signal<Local, Bit>,
        inside_new: Signal<Local, Bit>,
        within: Signal<Local, Bit>,
        /// Received before.
        duplicate: Signal<Local, Bit>,
        pass_fresh: Signal<Local, Bit>,
        pass_none: Signal<Local, Bit>,
        take: Signal<Local, Bit>,
        /// The packet is wbase.
        slide: Signal<Local, Bit>,
        with_last: Signal<Local, Bit>,
        none_above: Signal<Local, Bit>,
        above: Signal<Local, Bits<LB>>,
        lowest: Signal<Local, Bit>,
        lapped: Signal<Local, Bit>,
        /// The record just before has filled its word: that is not the next word.
        filled: Signal<Local, Bit>,
        next: Signal<Local, Bits<LNW>>,
        wraps: Signal<Local, Bit>,
        alone: Signal<Local, Bit>,
        /// The record just before emptied the window: the next word is the one that follows.
        emptied: Signal<Local, Bit>,
        /// Hole of the next word in the tables, and whether the record just before set it; without
        /// and with the word just before filled.
        hole_without: WordSelect<NW, LNW, LB>,
        hole_with: WordSelect<NW, LNW, LB>,
        set_without: Signal<Local, Bit>,
        set_with: Signal<Local, Bit>,
        next_pos: Signal<Local, Bits<LB>>,
        base_lap: Signal<Local, Bits<HI>>,
        base_index: Signal<Local, Bits<LNW>>,
        base_pos: Signal<Local, Bits<LB>>,
        row_base_index: Signal<Local, Bits<LNW>>,
        in_base_word: Signal<Local, Bit>,
        leave: Signal<Local, Bit>,
        want_full: Signal<Local, Bit>,
        /// The record just before raised highest.
        with_raised: Signal<Local, Bit>,
        up_to_next: Signal<Local, Bits<NW>>,
        /// Words that the slide enters or passes.
        passed: Signal<Local, Bits<NW>>,
        bits_in: Signal<Local, Bits<B>>,
        set_mask: Signal<Local, Bits<NW>>,
        fill_mask: Signal<Local, Bits<NW>>,
        clear_mask: Signal<Local, Bits<NW>>,

        s6_valid: DFF<Bit>,
        s6_take: DFF<Bit>,
        s6_slid: DFF<Bit>,
        /// The slide was by a whole window: all words are cleared.
        s6_emptied: DFF<Bit>,
        /// The slide left the word of the packet.
        s6_left: DFF<Bit>,
        s6_write_row: DFF<Bit>,
        s6_write_bits: DFF<Bit>,
        /// Why the packet is dropped: a check of stages 3 and 4 failed; it is not in the window;
        /// received before. And wbase as it was, to tell below from above.
        s6_fail: DFF<Bits<4>>,
        s6_pass: DFF<Bit>,
        s6_old_wbase: DFF<Bits<22>>,
        s6_within: DFF<Bit>,
        s6_dup: DFF<Bit>,
        s6_wptr: DFF<Bits<16>>,
        s6_pidx: DFF<Bits<22>>,
        s6_word: DFF<Bits<BA>>,
        s6_bits: DFF<Bits<B>>,
        s6_wbase: DFF<Bits<22>>,
        s6_highest: DFF<Bits<12>>,
        s6_row_tail: DFF<Bit>,
        /// The packet is taken and says that it is the last one.
        s6_tail: DFF<Bit>,
        s6_new_tail: Signal<Local, Bit>,
        s6_last_rx: DFF<Bits<16>>,
        /// The packet is taken and the highest so far; its number plus one.
        s6_raised: DFF<Bit>,
        s6_pidx_1: DFF<Bits<12>>,
        /// Tables of the row before this record, and what it does to them: words whose hole is
        /// set to s6_value, words that are full now, words that a slide out of its word clears.
        s6_hole: Bank<DFF<Bits<LB>>, NW>,
        s6_full: DFF<Bits<NW>>,
        s6_set: DFF<Bits<NW>>,
        s6_filled: DFF<Bit>,
        s6_fill: DFF<Bits<NW>>,
        s6_clear: DFF<Bits<NW>>,
        s6_value: DFF<Bits<LB>>,
        s6_new_hole: Bank<Signal<Local, Bits<LB>>, NW>,
        s6_new_full: Signal<Local, Bits<NW>>,
        s6_new_highest: Signal<Local, Bits<12>>,
        s6_row: Signal<Local, Bits<A>>,
        s6_row_word: Signal<Local, Bits<35>>,
        s6_moved: Signal<Local, Bits<22>>,
        /// All packets of the transfer have arrived.
        s6_complete: Signal<Local, Bit>,

        s7_valid: DFF<Bit>,
        s7_reason: DFF<Bits<4>>,
        s7_credit: DFF<Bit>,
        s7_word: DFF<Bits<BA>>,
        s7_wptr: DFF<Bits<A>>,
        s7_bits: DFF<Bits<B>>,
        s7_wbase: DFF<Bits<22>>,
        s7_highest: DFF<Bits<12>>,
        s7_row_tail: DFF<Bit>,
        s7_hole: Bank<DFF<Bits<LB>>, NW>,
        s7_full: DFF<Bits<NW>>,

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
    const NW: usize,
    const LNW: usize,
    const HI: usize,
    const BA: usize,
> Logic for RwAccept<A, W, LW, B, LB, NW, LNW, HI, BA>
{
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            opened_en,
            opened_wptr,
            opened_id,
            torn_1,
            torn_2,
            s3_torn,
            s3_id,
            s3_size,
            s1_valid,
            s1_init,
            s1_wptr,
            s1_gen,
            s1_src,
            s1_pidx,
            s1_tail,
            s1_len,
            s2_valid,
            s2_init,
            s2_wptr,
            s2_gen,
            s2_src,
            s2_pidx,
            s2_tail,
            s2_len,
            s2_word,
            s3_valid,
            s3_init,
            s3_wptr,
            s3_gen,
            s3_src,
            s3_pidx,
            s3_tail,
            s3_len,
            s3_word,
            s3_from,
            s3_row6,
            s3_forward,
            late_wbase,
            late_highest,
            late_row_tail,
            late_full,
            s2_row6,
            s2_row7,
            fwd_wbase,
            fwd_highest,
            fwd_row_tail,
            fwd_full,
            s4_valid,
            s4_init,
            s4_wptr,
            s4_gen,
            s4_pidx,
            s4_tail,
            s4_len,
            s4_word,
            s4_addr,
            s4_rkey,
            s4_offset,
            s4_closed,
            s4_stale,
            s4_foreign,
            s4_beyond,
            s4_at_last,
            s4_len_full,
            s4_len_last,
            s4_onehot,
            s4_above,
            s4_below,
            s4_word_onehot,
            s4_word_above,
            s4_after,
            s4_from,
            s4_between,
            s4_words_between,
            s4_above_rest,
            s4_last_above,
            s4_lap,
            s4_lap_0,
            s4_lap_1,
            s4_lap_2,
            s4_bits,
            s4_wbase,
            s4_highest,
            s4_row_tail,
            s4_full,
            s4_word6,
            s4_row6,
            s4_other6,
            s4_word5,
            s4_row5,
            s5_valid,
            s5_wptr,
            s5_gen,
            s5_pidx,
            s5_pidx_1,
            s5_lap_1,
            s5_clear,
            s5_tail,
            s5_len,
            s5_word,
            s5_addr,
            s5_rkey,
            s5_fail,
            s5_onehot,
            s5_lap,
            s5_bits,
            s5_wbase,
            s5_highest,
            s5_row_tail,
            s5_full,
            s5_same_word,
            s5_other_word,
            s5_same_row,
            s5_other_row,
            s5_dup,
            s5_fresh,
            s5_pass,
            s5_at_base,
            s5_laps_0,
            s5_laps_1,
            s5_borrow,
            s5_next_lap,
            s5_wrap_lap,
            s5_after_here,
            s5_from_here,
            s5_near_run,
            s5_near_lapped,
            s5_words_full,
            s5_none_without,
            s5_none_with,
            s5_new_highest,
            s5_after_last,
            s5_lowest_without,
            s5_lowest_with,
            s5_lapped_without,
            s5_lapped_with,
            s5_next_without,
            s5_next_with,
            s5_wraps_without,
            s5_wraps_with,
            s5_following,
            s5_alone_without,
            s5_alone_with,
            s5_word_onehot,
            s5_word_above,
            s6_valid,
            s6_take,
            s6_slid,
            s6_emptied,
            s6_left,
            s6_write_row,
            s6_write_bits,
            s6_fail,
            s6_pass,
            s6_old_wbase,
            s6_within,
            s6_dup,
            s6_wptr,
            s6_pidx,
            s6_word,
            s6_bits,
            s6_wbase,
            s6_highest,
            s6_row_tail,
            s6_tail,
            s6_last_rx,
            s6_raised,
            s6_pidx_1,
            s6_full,
            s6_set,
            s6_filled,
            s6_fill,
            s6_clear,
            s6_value,
            s7_valid,
            s7_reason,
            s7_credit,
            s7_word,
            s7_wptr,
            s7_bits,
            s7_wbase,
            s7_highest,
            s7_row_tail,
            s7_full,
            s8_bits
        );
        for i in 0..NW {
            self.s4_hole[i].clock.next = self.clk.val();
            self.s5_hole[i].clock.next = self.clk.val();
            self.s6_hole[i].clock.next = self.clk.val();
            self.s7_hole[i].clock.next = self.clk.val();
            self.late_hole[i].clock.next = self.clk.val();
            self.fwd_hole[i].clock.next = self.clk.val();
        }
        self.next_above.clk.next = self.clk.val();
        self.conn_id.clk.next = self.clk.val();
        self.conn_size.clk.next = self.clk.val();
        self.conn_addr.clk.next = self.clk.val();
        self.conn_rkey.clk.next = self.clk.val();
        self.fulls.clk.next = self.clk.val();
        self.holes.clk.next = self.clk.val();
        self.rows.clk.next = self.clk.val();
        self.rows_q.clk.next = self.clk.val();
        self.bitmap.clk.next = self.clk.val();
        self.bitmap_q.clk.next = self.clk.val();

        // The connection table belongs to the control engine.
        // All of it is written one clock late.
        self.opened_en.d.next = self.cw_en.val();
        self.opened_wptr.d.next = self.cw_wptr.val();
        self.opened_id.d.next = (bit_cast::<33, 16>(self.cw_gen.val()) << 17)
            | (bit_cast::<33, 16>(self.cw_src.val()) << 1)
            | bit_cast::<33, 1>(self.cw_open.val().into());
        self.conn_id.wr_en.next = self.opened_en.q.val();
        self.conn_id.wr_addr.next = self.opened_wptr.q.val();
        self.conn_id.wr_data.next = (bit_cast::<36, 3>(self.cw_mtu.val()) << 33)
            | bit_cast::<36, 33>(self.opened_id.q.val());
        self.conn_size.wr_en.next = self.opened_en.q.val();
        self.conn_size.wr_addr.next = self.opened_wptr.q.val();
        self.conn_size.wr_data.next = (bit_cast::<35, 13>(self.cw_last_len.val()) << 22)
            | bit_cast::<35, 22>(self.cw_last.val());
        self.conn_addr.wr_en.next = self.opened_en.q.val();
        self.conn_addr.wr_addr.next = self.opened_wptr.q.val();
        self.conn_addr.wr_data.next = self.cw_addr.val();
        self.conn_rkey.wr_en.next = self.opened_en.q.val();
        self.conn_rkey.wr_addr.next = self.opened_wptr.q.val();
        self.conn_rkey.wr_data.next = self.cw_rkey.val();

        // The row as the record in stage 6 leaves it.
        self.s6_new_tail.next = self.s6_row_tail.q.val() | self.s6_tail.q.val();
        self.s6_new_highest.next = self.s6_highest.q.val();
        if self.s6_raised.q.val() {
            self.s6_new_highest.next = self.s6_pidx_1.q.val();
        }
        self.s6_new_full.next =
            (self.s6_full.q.val() | self.s6_fill.q.val()) & !self.s6_clear.q.val();
        for i in 0..NW {
            self.s6_new_hole[i].next = self.s6_hole[i].q.val();
            if self.s6_set.q.val().get_bit(i) {
                self.s6_new_hole[i].next = self.s6_value.q.val();
            }
            if self.s6_clear.q.val().get_bit(i) {
                self.s6_new_hole[i].next = 0.into();
            }
        }

        // Stage 1: addresses of all tables.
        self.s1_valid.d.next = self.s_valid.val();
        self.s1_init.d.next = self.s_init.val();
        self.s1_wptr.d.next = self.s_wptr.val();
        self.s1_gen.d.next = self.s_gen.val();
        self.s1_src.d.next = self.s_src.val();
        self.s1_pidx.d.next = self.s_pidx.val();
        self.s1_tail.d.next = self.s_tail.val();
        self.s1_len.d.next = self.s_len.val();
        self.s1_word.next = (bit_cast::<BA, 16>(self.s1_wptr.q.val()) << self.lnw.val())
            | bit_cast::<BA, LNW>(self.s1_pidx.q.val().get_bits::<LNW>(self.lb.val().index()));
        // The words to compare are read a stage early: from the RAM's output the way is too long.
        self.conn_id.rd_addr.next = bit_cast::<A, 16>(self.s_wptr.val());
        self.conn_size.rd_addr.next = bit_cast::<A, 16>(self.s_wptr.val());
        self.conn_addr.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.conn_rkey.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.fulls.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.holes.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.rows.rd_addr.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.bitmap.rd_addr.next = self.s1_word.val();

        self.torn_1.d.next = (self.cw_en.val()
            & (self.cw_wptr.val() == bit_cast::<A, 16>(self.s_wptr.val())))
            | (self.opened_en.q.val()
                & (self.opened_wptr.q.val() == bit_cast::<A, 16>(self.s_wptr.val())));
        self.torn_2.d.next = self.torn_1.q.val();
        self.s3_torn.d.next = self.torn_2.q.val();
        self.s3_id.d.next = self.conn_id.rd_data.val();
        self.s3_size.d.next = self.conn_size.rd_data.val();

        // Stage 2: the arrays are read; which of the records ahead have the same row or word?
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_init.d.next = self.s1_init.q.val();
        self.s2_wptr.d.next = self.s1_wptr.q.val();
        self.s2_gen.d.next = self.s1_gen.q.val();
        self.s2_src.d.next = self.s1_src.q.val();
        self.s2_pidx.d.next = self.s1_pidx.q.val();
        self.s2_tail.d.next = self.s1_tail.q.val();
        self.s2_len.d.next = self.s1_len.q.val();
        self.s2_word.d.next = self.s1_word.val();
        self.s2_row.next = bit_cast::<A, 16>(self.s2_wptr.q.val());
        self.s1_row.next = bit_cast::<A, 16>(self.s1_wptr.q.val());
        self.s2_row6.d.next = self.s1_row.val() == bit_cast::<A, 16>(self.s5_wptr.q.val());
        self.s2_row7.d.next = self.s1_row.val() == bit_cast::<A, 16>(self.s6_wptr.q.val());
        self.s3_from.d.next = 0.into();
        if self.s2_word.q.val() == self.s5_word.q.val() {
            self.s3_from.d.next = 3.into();
        } else if self.s2_word.q.val() == self.s6_word.q.val() {
            self.s3_from.d.next = 2.into();
        } else if self.s2_word.q.val() == self.s7_word.q.val() {
            self.s3_from.d.next = 1.into();
        }
        self.s2_at_row6.next = self.s2_row.val() == bit_cast::<A, 16>(self.s5_wptr.q.val());
        self.s3_row6.d.next = self.s2_at_row6.val();
        self.s3_forward.d.next =
            self.s2_at_row6.val() | self.s2_row6.q.val() | self.s2_row7.q.val();
        // What the last but one and two records ahead leave, to be forwarded in the next clock.
        self.late_wbase.d.next = 0.into();
        self.late_highest.d.next = 0.into();
        self.late_row_tail.d.next = false;
        self.late_full.d.next = 0.into();
        for i in 0..NW {
            self.late_hole[i].d.next = 0.into();
        }
        if self.s2_row6.q.val() {
            self.late_wbase.d.next = self.s6_wbase.q.val();
            self.late_highest.d.next = self.s6_new_highest.val();
            self.late_row_tail.d.next = self.s6_new_tail.val();
            self.late_full.d.next = self.s6_new_full.val();
            for i in 0..NW {
                self.late_hole[i].d.next = self.s6_new_hole[i].val();
            }
        } else if self.s2_row7.q.val() {
            self.late_wbase.d.next = self.s7_wbase.q.val();
            self.late_highest.d.next = self.s7_highest.q.val();
            self.late_row_tail.d.next = self.s7_row_tail.q.val();
            self.late_full.d.next = self.s7_full.q.val();
            for i in 0..NW {
                self.late_hole[i].d.next = self.s7_hole[i].q.val();
            }
        }

        // Stage 3: checks against the connection, forward from stages 6 to 8.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_init.d.next = self.s2_init.q.val();
        self.s3_wptr.d.next = self.s2_wptr.q.val();
        self.s3_gen.d.next = self.s2_gen.q.val();
        self.s3_src.d.next = self.s2_src.q.val();
        self.s3_pidx.d.next = self.s2_pidx.q.val();
        self.s3_tail.d.next = self.s2_tail.q.val();
        self.s3_len.d.next = self.s2_len.q.val();
        self.s3_word.d.next = self.s2_word.q.val();
        self.s3_row.next = bit_cast::<A, 16>(self.s3_wptr.q.val());
        self.s3_pos.next = bit_cast::<LB, 22>(self.s3_pidx.q.val());
        self.s3_last.next = bit_cast::<22, 35>(self.s3_size.q.val());
        self.s3_plen.next = bits::<13>(256) << self.s3_id.q.val().get_bits::<3>(33);
        self.s3_lap.next = bit_cast::<HI, 22>(self.s3_pidx.q.val() >> self.lw.val());
        self.s3_index.next = self.s3_pidx.q.val().get_bits::<LNW>(self.lb.val().index());
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_init.d.next = self.s3_init.q.val();
        self.s4_wptr.d.next = self.s3_wptr.q.val();
        self.s4_gen.d.next = self.s3_gen.q.val();
        self.s4_pidx.d.next = self.s3_pidx.q.val();
        self.s4_tail.d.next = self.s3_tail.q.val();
        self.s4_len.d.next = self.s3_len.q.val();
        self.s4_word.d.next = self.s3_word.q.val();
        self.s4_addr.d.next = self.conn_addr.rd_data.val();
        self.s4_rkey.d.next = self.conn_rkey.rd_data.val();
        self.s4_offset.d.next =
            bit_cast::<26, 22>(self.s3_pidx.q.val()) << self.s3_id.q.val().get_bits::<3>(33);
        self.s4_closed.d.next = !self.s3_id.q.val().get_bit(0)
            | self.s3_torn.q.val()
            | (bit_cast::<16, A>(self.s3_row.val()) != self.s3_wptr.q.val());
        self.s4_stale.d.next = self.s3_id.q.val().get_bits::<16>(17) != self.s3_gen.q.val();
        self.s4_foreign.d.next = self.s3_id.q.val().get_bits::<16>(1) != self.s3_src.q.val();
        self.s4_beyond.d.next = self.s3_pidx.q.val() > self.s3_last.val();
        self.s4_at_last.d.next = self.s3_pidx.q.val() == self.s3_last.val();
        self.s4_len_full.d.next = self.s3_len.q.val() == self.s3_plen.val();
        self.s4_len_last.d.next = self.s3_len.q.val() == self.s3_size.q.val().get_bits::<13>(22);
        self.s4_onehot.d.next = bits::<B>(1) << self.s3_pos.val();
        self.s4_above.d.next = (!bits::<B>(0) << self.s3_pos.val()) << 1;
        self.s4_below.d.next = !(!bits::<B>(0) << self.s3_pos.val());
        self.s4_word_onehot.d.next = bits::<NW>(1) << self.s3_index.val();
        self.s4_word_above.d.next = (!bits::<NW>(0) << self.s3_index.val()) << 1;
        self.s4_index.next = self.s4_pidx.q.val().get_bits::<LNW>(self.lb.val().index());
        self.s4_low.next = bit_cast::<LW, 22>(self.s4_pidx.q.val());
        self.s4_after.d.next = bit_cast::<LW, 22>(self.s3_pidx.q.val()) > self.s4_low.val();
        self.s4_from.d.next = bit_cast::<LW, 22>(self.s3_pidx.q.val()) >= self.s4_low.val();
        self.s4_between.d.next = self.s4_above.q.val() & !(!bits::<B>(0) << self.s3_pos.val());
        self.s4_above_rest.d.next =
            ((!bits::<B>(0) << self.s3_pos.val()) << 1) & !self.s4_onehot.q.val();
        self.s4_last_above.d.next = bit_cast::<LB, 22>(self.s4_pidx.q.val()) > self.s3_pos.val();
        if self.s3_index.val() > self.s4_index.val() {
            self.s4_words_between.d.next =
                self.s4_word_above.q.val() & !(!bits::<NW>(0) << self.s3_index.val());
        } else {
            self.s4_words_between.d.next =
                self.s4_word_above.q.val() | !(!bits::<NW>(0) << self.s3_index.val());
        }
        self.s4_lap.d.next = !self.s3_pidx.q.val().get_bit(self.lw.val().index());
        self.s4_lap_0.d.next = self.s3_lap.val();
        self.s4_lap_1.d.next = self.s3_lap.val() - 1;
        self.s4_lap_2.d.next = self.s3_lap.val() - 2;
        // As trees on the bits of the choice: chains of multiplexers take half as much again.
        if self.s3_from.q.val().get_bit(1) {
            if self.s3_from.q.val().get_bit(0) {
                self.s4_bits.d.next = self.s6_bits.q.val();
            } else {
                self.s4_bits.d.next = self.s7_bits.q.val();
            }
        } else if self.s3_from.q.val().get_bit(0) {
            self.s4_bits.d.next = self.s8_bits.q.val();
        } else {
            self.s4_bits.d.next = self.bitmap.rd_data.val();
        }
        // Table and forward apart, and 0 where the other one counts: stage 4 joins them.
        self.s4_wbase.d.next = bit_cast::<22, 35>(self.rows.rd_data.val());
        self.s4_highest.d.next = self.rows.rd_data.val().get_bits::<12>(22);
        self.s4_row_tail.d.next = self.rows.rd_data.val().get_bit(34);
        self.s4_full.d.next = self.fulls.rd_data.val();
        self.fwd_wbase.d.next = self.late_wbase.q.val();
        self.fwd_highest.d.next = self.late_highest.q.val();
        self.fwd_row_tail.d.next = self.late_row_tail.q.val();
        self.fwd_full.d.next = self.late_full.q.val();
        if self.s3_row6.q.val() {
            self.fwd_wbase.d.next = self.s6_wbase.q.val();
            self.fwd_highest.d.next = self.s6_new_highest.val();
            self.fwd_row_tail.d.next = self.s6_new_tail.val();
            self.fwd_full.d.next = self.s6_new_full.val();
        }
        for i in 0..NW {
            self.s4_hole[i].d.next = self.holes.rd_data[i].val();
            self.fwd_hole[i].d.next = self.late_hole[i].q.val();
            if self.s3_row6.q.val() {
                self.fwd_hole[i].d.next = self.s6_new_hole[i].val();
            }
        }
        if self.s3_forward.q.val() {
            self.s4_wbase.d.next = 0.into();
            self.s4_highest.d.next = 0.into();
            self.s4_row_tail.d.next = false;
            self.s4_full.d.next = 0.into();
            for i in 0..NW {
                self.s4_hole[i].d.next = 0.into();
            }
        }
        self.s4_word6.d.next = self.s3_word.q.val() == self.s5_word.q.val();
        self.s4_row6.d.next = self.s3_row.val() == bit_cast::<A, 16>(self.s5_wptr.q.val());
        self.s4_other6.d.next = self.s3_row.val() != bit_cast::<A, 16>(self.s5_wptr.q.val());
        self.s4_word5.d.next = self.s3_word.q.val() == self.s4_word.q.val();
        self.s4_row5.d.next = self.s3_row.val() == bit_cast::<A, 16>(self.s4_wptr.q.val());

        // Stage 4: forward from stage 6; candidates with and without the record now in stage 5.
        self.s5_valid.d.next = self.s4_valid.q.val();
        self.s5_clear.d.next = self.s4_valid.q.val() & self.s4_init.q.val();
        self.s5_lap_1.d.next = self.s4_lap_0.q.val() + 1;
        self.s5_word_onehot.d.next = self.s4_word_onehot.q.val();
        self.s5_word_above.d.next = self.s4_word_above.q.val();
        self.s5_wptr.d.next = self.s4_wptr.q.val();
        self.s5_gen.d.next = self.s4_gen.q.val();
        self.s5_pidx.d.next = self.s4_pidx.q.val();
        self.s5_pidx_1.d.next = bit_cast::<12, 22>(self.s4_pidx.q.val()) + 1;
        self.s5_tail.d.next = self.s4_tail.q.val();
        self.s5_len.d.next = self.s4_len.q.val();
        self.s5_word.d.next = self.s4_word.q.val();
        self.s5_addr.d.next =
            self.s4_addr.q.val() + (bit_cast::<64, 26>(self.s4_offset.q.val()) << 8);
        self.s5_rkey.d.next = self.s4_rkey.q.val();
        self.s5_onehot.d.next = self.s4_onehot.q.val();
        if self.s4_closed.q.val() {
            self.s5_fail.d.next = self.why_closed.val();
        } else if self.s4_stale.q.val() {
            self.s5_fail.d.next = self.why_stale_gen.val();
        } else if self.s4_foreign.q.val() {
            self.s5_fail.d.next = self.why_bad_source.val();
        } else if self.s4_beyond.q.val() {
            self.s5_fail.d.next = self.why_beyond_end.val();
        } else if self.s4_tail.q.val() != self.s4_at_last.q.val() {
            self.s5_fail.d.next = self.why_bad_tail.val();
        } else if (self.s4_at_last.q.val() & !self.s4_len_last.q.val())
            | (!self.s4_at_last.q.val() & !self.s4_len_full.q.val())
        {
            self.s5_fail.d.next = self.why_bad_length.val();
        } else {
            self.s5_fail.d.next = 0.into();
        }
        self.s5_pass.d.next = self.s4_valid.q.val()
            & !self.s4_init.q.val()
            & !self.s4_closed.q.val()
            & !self.s4_stale.q.val()
            & !self.s4_foreign.q.val()
            & !self.s4_beyond.q.val()
            & (self.s4_tail.q.val() == self.s4_at_last.q.val())
            & ((self.s4_at_last.q.val() & self.s4_len_last.q.val())
                | (!self.s4_at_last.q.val() & self.s4_len_full.q.val()));
        self.s4_cur_bits.next = self.s4_bits.q.val();
        if self.s4_word6.q.val() {
            self.s4_cur_bits.next = self.s6_bits.q.val();
        }
        self.s4_cur_wbase.next = self.s4_wbase.q.val() | self.fwd_wbase.q.val();
        self.s4_old_full.next = self.s4_full.q.val() | self.fwd_full.q.val();
        self.s4_cur_full.next = self.s4_old_full.val();
        self.s4_cur_highest.next = self.s4_highest.q.val() | self.fwd_highest.q.val();
        self.s5_row_tail.d.next = self.s4_row_tail.q.val() | self.fwd_row_tail.q.val();
        if !self.s4_other6.q.val() {
            self.s4_cur_wbase.next = self.s6_wbase.q.val();
        }
        if self.s4_row6.q.val() {
            self.s4_cur_full.next =
                (self.s4_old_full.val() | self.s6_fill.q.val()) & !self.s6_clear.q.val();
            self.s4_cur_highest.next = self.s6_new_highest.val();
            self.s5_row_tail.d.next = self.s6_new_tail.val();
        }
        for i in 0..NW {
            self.s5_hole[i].d.next = self.s4_hole[i].q.val() | self.fwd_hole[i].q.val();
            if self.s4_row6.q.val() & self.s6_set.q.val().get_bit(i) {
                self.s5_hole[i].d.next = self.s6_value.q.val();
            }
            if self.s4_row6.q.val() & self.s6_clear.q.val().get_bit(i) {
                self.s5_hole[i].d.next = 0.into();
            }
        }
        self.s5_bits.d.next = self.s4_cur_bits.val();
        self.s5_wbase.d.next = self.s4_cur_wbase.val();
        self.s5_full.d.next = self.s4_cur_full.val();
        self.s5_highest.d.next = self.s4_cur_highest.val();
        self.s5_lap.d.next = self.s4_lap.q.val();
        self.s4_same_lap.next = self.s4_lap.q.val() == self.s5_lap.q.val();
        self.s4_missing.next = self.s4_cur_bits.val();
        if self.s4_lap.q.val() {
            self.s4_missing.next = !self.s4_cur_bits.val();
        }
        self.s4_missing_with.next = self.s4_missing.val() | self.s5_onehot.q.val();
        if self.s4_same_lap.val() {
            self.s4_missing_with.next = self.s4_missing.val() & !self.s5_onehot.q.val();
        }
        self.next_above.plain.next = self.s4_missing.val() & self.s4_above.q.val();
        self.next_above.updated.next = self.s4_missing_with.val() & self.s4_above.q.val();
        self.s5_none_without.d.next = !(self.s4_missing.val() & self.s4_above.q.val()).any();
        self.s5_none_with.d.next = !(self.s4_missing.val() & self.s4_above_rest.q.val()).any()
            & (!self.s4_last_above.q.val() | self.s4_same_lap.val());
        self.s5_lowest_without.d.next = !(self.s4_missing.val() & self.s4_below.q.val()).any();
        self.s5_lowest_with.d.next = !(self.s4_missing_with.val() & self.s4_below.q.val()).any();
        self.s5_lapped_without.d.next = !(!self.s4_missing.val() & self.s4_below.q.val()).any();
        self.s5_lapped_with.d.next = !(!self.s4_missing_with.val() & self.s4_below.q.val()).any();
        self.s5_same_word.d.next = self.s4_word5.q.val();
        self.s5_other_word.d.next = !self.s4_word5.q.val();
        self.s5_same_row.d.next = self.s4_row5.q.val();
        self.s5_other_row.d.next = !self.s4_row5.q.val();
        self.s4_base_low.next = bit_cast::<LW, 22>(self.s4_cur_wbase.val());
        self.s4_base_lap.next = bit_cast::<HI, 22>(self.s4_cur_wbase.val() >> self.lw.val());
        self.s4_last_low.next = bit_cast::<LW, 22>(self.s5_pidx.q.val());
        self.s4_same_bit.next =
            self.s4_row5.q.val() & (self.s4_low.val() == self.s4_last_low.val());
        self.s4_dup.next = !(self.s4_missing.val() & self.s4_onehot.q.val()).any();
        self.s5_dup.d.next = self.s4_dup.val();
        self.s5_fresh.d.next = !self.s4_dup.val();
        if self.s4_same_bit.val() {
            self.s5_fresh.d.next = !self.s4_same_lap.val();
        }
        self.s5_at_base.d.next = self.s4_pidx.q.val() == self.s4_cur_wbase.val();
        self.s4_laps_0.next = self.s4_lap_0.q.val() == self.s4_base_lap.val();
        self.s4_laps_1.next = self.s4_lap_1.q.val() == self.s4_base_lap.val();
        self.s4_laps_2.next = self.s4_lap_2.q.val() == self.s4_base_lap.val();
        self.s5_laps_0.d.next = self.s4_laps_0.val();
        self.s5_laps_1.d.next = self.s4_laps_1.val();
        self.s5_next_lap.d.next = (self.s4_after.q.val() & self.s4_laps_0.val())
            | (!self.s4_after.q.val() & self.s4_laps_1.val());
        self.s5_wrap_lap.d.next = (self.s4_from.q.val() & self.s4_laps_1.val())
            | (!self.s4_from.q.val() & self.s4_laps_2.val());
        self.s5_after_here.d.next = self.s4_word5.q.val() & self.s4_after.q.val();
        self.s5_from_here.d.next = self.s4_word5.q.val() & self.s4_from.q.val();
        self.s5_near_run.d.next = !(self.s4_missing.val() & self.s4_between.q.val()).any();
        self.s5_near_lapped.d.next = !(!self.s4_missing.val() & self.s4_between.q.val()).any();
        self.s5_borrow.d.next = self.s4_low.val() < self.s4_base_low.val();
        self.over_highest.next =
            bit_cast::<12, 22>(self.s4_pidx.q.val()) - self.s4_cur_highest.val();
        self.s5_new_highest.d.next = !self.over_highest.val().get_bit(11);
        self.over_last.next =
            bit_cast::<12, 22>(self.s4_pidx.q.val()) - bit_cast::<12, 22>(self.s5_pidx.q.val());
        self.s5_after_last.d.next = !self.over_last.val().get_bit(11);
        self.s4_open.next = !self.s4_cur_full.val();
        self.s4_rest.next = self.s4_open.val() & !self.s5_word_onehot.q.val();
        self.s5_words_full.d.next = !(self.s4_open.val() & self.s4_words_between.q.val()).any();
        self.open_above.req.next = self.s4_open.val() & self.s4_word_above.q.val();
        self.open_lowest.req.next = self.s4_open.val();
        self.rest_above.req.next = self.s4_rest.val() & self.s4_word_above.q.val();
        self.rest_lowest.req.next = self.s4_rest.val();
        self.s5_following.d.next = self.s4_index.val() + 1;
        self.s5_next_without.d.next = self.open_above.index.val();
        self.s5_wraps_without.d.next = self.open_above.none.val();
        if self.open_above.none.val() {
            self.s5_next_without.d.next = self.open_lowest.index.val();
        }
        self.s5_next_with.d.next = self.rest_above.index.val();
        self.s5_wraps_with.d.next = self.rest_above.none.val();
        if self.rest_above.none.val() {
            self.s5_next_with.d.next = self.rest_lowest.index.val();
        }
        self.s5_alone_without.d.next = !(self.s4_open.val() & !self.s4_word_onehot.q.val()).any();
        self.s5_alone_with.d.next = !(self.s4_rest.val() & !self.s4_word_onehot.q.val()).any();

        // Stage 5: what the decision will be about.
        self.p_valid.next = self.s5_valid.q.val() & !self.s5_clear.q.val();
        self.p_wptr.next = self.s5_wptr.q.val();
        self.p_gen.next = self.s5_gen.q.val();
        self.p_addr.next = self.s5_addr.q.val();
        self.p_rkey.next = self.s5_rkey.q.val();
        self.p_len.next = self.s5_len.q.val();

        // Stage 5: the row and word as the record just before left them.
        self.table_wbase.next = self.s5_wbase.q.val();
        self.last_wbase.next = 0.into();
        self.table_bits.next = self.s5_bits.q.val();
        self.last_bits.next = 0.into();
        self.row_highest.next = self.s5_highest.q.val();
        self.row_tail.next = self.s5_row_tail.q.val();
        self.row_full.next = self.s5_full.q.val();
        if !self.s5_other_row.q.val() {
            self.table_wbase.next = 0.into();
            self.last_wbase.next = self.s6_wbase.q.val();
        }
        if self.s5_same_row.q.val() {
            self.row_highest.next = self.s6_new_highest.val();
            self.row_tail.next = self.s6_new_tail.val();
            self.row_full.next =
                (self.s5_full.q.val() | self.s6_fill.q.val()) & !self.s6_clear.q.val();
        }
        for i in 0..NW {
            self.row_hole_set[i].next = self.s5_hole[i].q.val();
            if self.s5_same_row.q.val() & self.s6_set.q.val().get_bit(i) {
                self.row_hole_set[i].next = self.s6_value.q.val();
            }
            self.row_hole[i].next = self.row_hole_set[i].val();
            if self.s5_same_row.q.val() & self.s6_clear.q.val().get_bit(i) {
                self.row_hole[i].next = 0.into();
            }
        }
        if self.s5_same_word.q.val() {
            self.table_bits.next = 0.into();
            self.last_bits.next = self.s6_bits.q.val();
        }
        // As an OR: a multiplexer with the register's own output becomes a clock enable, which
        // the decision reaches too late.
        self.row_wbase.next = self.table_wbase.val() | self.last_wbase.val();
        self.bits_in.next = self.table_bits.val() | self.last_bits.val();

        // Stage 5: the decision. Stage 4 compared the packet with wbase as the record just before
        // finds it. If that record moves wbase, it was wbase: where it goes is told by what lies
        // between the two packets, so that nothing here waits for the new wbase. The next hole is
        // this packet if it is missing and nothing between them is; the window reaches this packet if
        // the number W below it lies before the next hole, that is, has arrived as all between them.
        self.slid.next = !self.s5_other_row.q.val() & self.s6_slid.q.val();
        self.duplicate.next = self.s5_dup.q.val();
        self.pass_fresh.next = self.s5_pass.q.val() & !self.s5_dup.q.val();
        if self.s6_take.q.val() {
            self.duplicate.next = !self.s5_fresh.q.val();
            self.pass_fresh.next = self.s5_pass.q.val() & self.s5_fresh.q.val();
        }
        self.next_near.next = self.s5_after_here.q.val()
            & self.s5_next_lap.q.val()
            & self.s5_near_run.q.val()
            & self.s5_fresh.q.val();
        self.next_far.next = !self.s5_after_here.q.val() & self.s5_next_lap.q.val();
        self.far_run.next =
            self.s5_words_full.q.val() & self.s5_lowest_without.q.val() & self.s5_fresh.q.val();
        self.at_next.next = self.next_near.val();
        if self.s6_left.q.val() {
            self.at_next.next = self.next_far.val() & self.far_run.val();
        }
        self.past_near.next =
            self.s5_from_here.q.val() & self.s5_wrap_lap.q.val() & self.s5_near_lapped.q.val();
        self.past_far.next = !self.s5_from_here.q.val()
            & self.s5_wrap_lap.q.val()
            & self.s5_words_full.q.val()
            & self.s5_lapped_without.q.val();
        self.inside_old.next = (self.s5_laps_0.q.val() & !self.s5_borrow.q.val())
            | (self.s5_laps_1.q.val() & self.s5_borrow.q.val());
        self.inside_new.next = self.past_near.val() | (self.s6_left.q.val() & self.past_far.val());
        // A bit that says "received" for a packet above the old window belongs to a lap long gone.
        self.within.next = self.inside_old.val()
            | (self.slid.val() & self.inside_new.val() & self.s5_fresh.q.val());
        self.take.next = self.pass_fresh.val()
            & (self.inside_old.val() | (self.slid.val() & self.inside_new.val()));
        self.slide.next = self.s5_pass.q.val() & self.s5_at_base.q.val();
        if self.slid.val() {
            self.slide.next = self.s5_pass.q.val() & self.at_next.val();
        }
        self.s6_fail.d.next = self.s5_fail.q.val();
        self.s6_pass.d.next = self.s5_pass.q.val();
        self.s6_old_wbase.d.next = self.row_wbase.val();
        self.s6_within.d.next = self.within.val();
        self.s6_dup.d.next = self.duplicate.val();

        // Stage 5: where the slide goes if the packet is wbase.
        self.with_last.next = !self.s5_other_word.q.val() & self.s6_take.q.val();
        self.next_above.use_updated.next = self.with_last.val();
        self.none_above.next = self.s5_none_without.q.val();
        self.above.next = self.next_above.index.val();
        self.lowest.next = self.s5_lowest_without.q.val();
        self.lapped.next = self.s5_lapped_without.q.val();
        if self.with_last.val() {
            self.none_above.next = self.s5_none_with.q.val();
            self.lowest.next = self.s5_lowest_with.q.val();
            self.lapped.next = self.s5_lapped_with.q.val();
        }
        self.s5_index.next = self.s5_pidx.q.val().get_bits::<LNW>(self.lb.val().index());
        self.s5_pos.next = bit_cast::<LB, 22>(self.s5_pidx.q.val());
        self.filled.next = self.s5_same_row.q.val() & self.s6_filled.q.val();
        self.next.next = self.s5_next_without.q.val();
        self.wraps.next = self.s5_wraps_without.q.val();
        self.alone.next = self.s5_alone_without.q.val();
        if self.filled.val() {
            self.next.next = self.s5_next_with.q.val();
            self.wraps.next = self.s5_wraps_with.q.val();
            self.alone.next = self.s5_alone_with.q.val();
        }
        self.emptied.next = self.s5_same_row.q.val() & self.s6_emptied.q.val();
        if self.emptied.val() {
            self.next.next = self.s5_following.q.val();
            self.wraps.next = !self.s5_word_above.q.val().any();
            self.alone.next = false;
        }
        for i in 0..NW {
            self.hole_without.d[i].next = self.s5_hole[i].q.val();
            self.hole_with.d[i].next = self.s5_hole[i].q.val();
        }
        self.hole_without.sel.next = self.s5_next_without.q.val();
        self.hole_with.sel.next = self.s5_next_with.q.val();
        self.set_without.next = (self.s6_set.q.val() >> self.s5_next_without.q.val()).get_bit(0);
        self.set_with.next = (self.s6_set.q.val() >> self.s5_next_with.q.val()).get_bit(0);
        self.next_pos.next = self.hole_without.q.val();
        if self.set_without.val() & self.s5_same_row.q.val() {
            self.next_pos.next = self.s6_value.q.val();
        }
        if self.filled.val() {
            self.next_pos.next = self.hole_with.q.val();
            if self.set_with.val() {
                self.next_pos.next = self.s6_value.q.val();
            }
        }
        if self.alone.val() & self.lapped.val() {
            self.next_pos.next = self.s5_pos.val();
        }
        if self.emptied.val() {
            self.next_pos.next = 0.into();
        }

        // Stage 5: the new row. The hole of a word changes only with its first hole; the word of
        // wbase holds the next lap's, which is at wbase itself once all below are there.
        self.pass_none.next = self.s5_pass.q.val() & self.none_above.val();
        self.leave.next = self.pass_none.val() & self.s5_at_base.q.val();
        if self.slid.val() {
            self.leave.next = self.pass_none.val() & self.at_next.val();
        }
        self.base_lap.next = bit_cast::<HI, 22>(self.row_wbase.val() >> self.lw.val());
        self.base_index.next = self.row_wbase.val().get_bits::<LNW>(self.lb.val().index());
        self.base_pos.next = bit_cast::<LB, 22>(self.row_wbase.val());
        self.row_base_index.next = self.row_wbase.val().get_bits::<LNW>(self.lb.val().index());
        self.in_base_word.next = self.s5_index.val() == self.row_base_index.val();
        if self.slide.val() {
            self.base_pos.next = self.above.val();
        }
        if self.leave.val() {
            self.base_index.next = self.next.val();
            self.base_pos.next = self.next_pos.val();
            if self.wraps.val() {
                self.base_lap.next = self.s5_lap_1.q.val();
            }
        }
        self.s6_wbase.d.next = (bit_cast::<22, HI>(self.base_lap.val()) << self.lw.val())
            | (bit_cast::<22, LNW>(self.base_index.val()) << self.lb.val())
            | bit_cast::<22, LB>(self.base_pos.val());
        self.s6_slid.d.next = self.slide.val();
        self.s6_left.d.next = self.leave.val();
        self.s6_value.d.next = self.above.val();
        if self.slide.val() {
            self.s6_value.d.next = self.s5_pos.val();
        }
        self.want_full.next = self.lowest.val() & self.none_above.val() & !self.in_base_word.val();
        self.up_to_next.next = !((!bits::<NW>(0) << self.next.val()) << 1);
        self.passed.next = self.s5_word_above.q.val() & self.up_to_next.val();
        if self.wraps.val() {
            self.passed.next = self.s5_word_above.q.val() | self.up_to_next.val();
        }
        for i in 0..NW {
            self.s6_hole[i].d.next = self.row_hole[i].val();
        }
        self.s6_full.d.next = self.row_full.val();
        // As AND with a mask: "or else 0" becomes the registers' own reset, which is slower to reach.
        self.set_mask.next = 0.into();
        if self.take.val()
            & ((self.slide.val() & self.lapped.val()) | (!self.slide.val() & self.lowest.val()))
        {
            self.set_mask.next = !bits::<NW>(0);
        }
        self.s6_set.d.next = self.s5_word_onehot.q.val() & self.set_mask.val();
        self.s6_filled.d.next = self.take.val() & self.want_full.val();
        self.fill_mask.next = 0.into();
        if self.take.val() & self.want_full.val() {
            self.fill_mask.next = !bits::<NW>(0);
        }
        self.s6_fill.d.next = self.s5_word_onehot.q.val() & self.fill_mask.val();
        self.s6_emptied.d.next = self.leave.val() & self.alone.val();
        self.clear_mask.next = 0.into();
        if self.leave.val() {
            self.clear_mask.next = !bits::<NW>(0);
        }
        self.s6_clear.d.next = self.passed.val() & self.clear_mask.val();
        self.with_raised.next = self.s5_same_row.q.val() & self.s6_raised.q.val();
        self.s6_highest.d.next = self.row_highest.val();
        self.s6_pidx_1.d.next = self.s5_pidx_1.q.val();
        self.s6_raised.d.next = self.take.val()
            & self.s5_new_highest.q.val()
            & (!self.with_raised.val() | self.s5_after_last.q.val());
        self.s6_row_tail.d.next = self.row_tail.val();
        self.s6_tail.d.next = self.take.val() & self.s5_tail.q.val();
        // Who writes the row has passed the checks.
        self.s6_last_rx.d.next = self.now.val();
        // A packet that is taken is missing: its bit turns.
        self.s6_bits.d.next = self.bits_in.val();
        if self.take.val() {
            self.s6_bits.d.next = self.bits_in.val() ^ self.s5_onehot.q.val();
        }
        if self.s5_clear.q.val() {
            self.s6_bits.d.next = 0.into();
            self.s6_wbase.d.next = 0.into();
            self.s6_highest.d.next = 0.into();
            self.s6_row_tail.d.next = false;
            self.s6_clear.d.next = !bits::<NW>(0);
        }
        self.s6_valid.d.next = self.s5_valid.q.val() & !self.s5_clear.q.val();
        self.s6_take.d.next = self.take.val();
        self.s6_write_row.d.next = self.s5_pass.q.val() | self.s5_clear.q.val();
        self.s6_write_bits.d.next = self.take.val() | self.s5_clear.q.val();
        self.s6_wptr.d.next = self.s5_wptr.q.val();
        self.s6_pidx.d.next = self.s5_pidx.q.val();
        self.s6_word.d.next = self.s5_word.q.val();

        // Stage 6: write back.
        self.s6_row.next = bit_cast::<A, 16>(self.s6_wptr.q.val());
        self.s6_row_word.next = (bit_cast::<35, 1>(self.s6_new_tail.val().into()) << 34)
            | (bit_cast::<35, 12>(self.s6_new_highest.val()) << 22)
            | bit_cast::<35, 22>(self.s6_wbase.q.val());
        self.rows.wr_en.next = self.s6_write_row.q.val();
        self.rows.wr_addr.next = self.s6_row.val();
        self.rows.wr_data.next = self.s6_row_word.val();
        self.rows_q.wr_en.next = self.s6_write_row.q.val();
        self.rows_q.wr_addr.next = self.s6_row.val();
        self.rows_q.wr_data.next = (bit_cast::<51, 16>(self.s6_last_rx.q.val()) << 35)
            | bit_cast::<51, 35>(self.s6_row_word.val());
        for i in 0..NW {
            self.holes.wr_data[i].next = self.s6_new_hole[i].val();
        }
        self.holes.wr_en.next = self.s6_write_row.q.val();
        self.holes.wr_addr.next = self.s6_row.val();
        self.fulls.wr_en.next = self.s6_write_row.q.val();
        self.fulls.wr_addr.next = self.s6_row.val();
        self.fulls.wr_data.next = self.s6_new_full.val();
        self.bitmap.wr_en.next = self.s6_write_bits.q.val();
        self.bitmap.wr_addr.next = self.s6_word.q.val();
        self.bitmap.wr_data.next = self.s6_bits.q.val();
        self.bitmap_q.wr_en.next = self.s6_write_bits.q.val();
        self.bitmap_q.wr_addr.next = self.s6_word.q.val();
        self.bitmap_q.wr_data.next = self.s6_bits.q.val();
        self.s6_moved.next = ((self.s6_wbase.q.val() ^ self.s6_pidx.q.val()) << 2) >> self.lw.val();
        self.s7_valid.d.next = self.s6_valid.q.val();
        self.s7_reason.d.next = self.s6_fail.q.val();
        if self.s6_pass.q.val() {
            if self.s6_pidx.q.val() < self.s6_old_wbase.q.val() {
                self.s7_reason.d.next = self.why_below_window.val();
            } else if !self.s6_within.q.val() {
                self.s7_reason.d.next = self.why_above_window.val();
            } else if self.s6_dup.q.val() {
                self.s7_reason.d.next = self.why_duplicate.val();
            }
        }
        // The last packet is there and nothing is missing below the highest.
        self.s6_complete.next = self.s6_new_tail.val()
            & (self.s6_new_highest.val() == bit_cast::<12, 22>(self.s6_wbase.q.val()));
        self.s7_credit.d.next =
            self.s6_slid.q.val() & self.s6_moved.val().any() & !self.s6_complete.val();

        // Stage 7: the decision is out.
        self.m_valid.next = self.s7_valid.q.val();
        self.m_reason.next = self.s7_reason.q.val();
        self.m_wptr.next = self.s7_wptr.q.val();
        self.m_credit.next = self.s7_credit.q.val();

        // The rest of stages 7 and 8 only feeds stage 3.
        self.s7_word.d.next = self.s6_word.q.val();
        self.s7_wptr.d.next = self.s6_row.val();
        self.s7_bits.d.next = self.s6_bits.q.val();
        self.s7_wbase.d.next = self.s6_wbase.q.val();
        self.s7_highest.d.next = self.s6_new_highest.val();
        self.s7_row_tail.d.next = self.s6_new_tail.val();
        self.s7_full.d.next = self.s6_new_full.val();
        self.s8_bits.d.next = self.s7_bits.q.val();
        for i in 0..NW {
            self.s7_hole[i].d.next = self.s6_new_hole[i].val();
        }

        // What the control engine looks at.
        self.rows_q.rd_addr.next = self.q_wptr.val();
        self.bitmap_q.rd_addr.next = (bit_cast::<BA, A>(self.q_wptr.val()) << self.lnw.val())
            | bit_cast::<BA, LNW>(self.q_word.val());
        self.q_wbase.next = bit_cast::<22, 51>(self.rows_q.rd_data.val());
        self.q_highest.next = self.rows_q.rd_data.val().get_bits::<12>(22);
        self.q_last_rx.next = self.rows_q.rd_data.val().get_bits::<16>(35);
        self.q_tail.next = self.rows_q.rd_data.val().get_bit(34);
        self.q_bits.next = self.bitmap_q.rd_data.val();

        if self.rst.val() {
            self.s1_valid.d.next = false;
            self.s2_valid.d.next = false;
            self.s3_valid.d.next = false;
            self.s4_valid.d.next = false;
            self.s5_valid.d.next = false;
            self.s5_pass.d.next = false;
            self.s5_clear.d.next = false;
            self.s6_valid.d.next = false;
            self.s6_take.d.next = false;
            self.s6_slid.d.next = false;
            self.s6_write_row.d.next = false;
            self.s6_write_bits.d.next = false;
            self.s7_valid.d.next = false;
            self.s7_credit.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("rw_accept_w{W}_r{}", 1usize << A)).into_timing()
    }
}
