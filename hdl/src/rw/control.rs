//! The control engine: everything that is not DATA.
//!
//! Its parts: `tables` (read in the first clocks, written in the last ones), `compare` (between them), `steps` and in it `act` (the
//! operations), `bitmap` (byte by byte), `outputs`.

mod act;
mod bitmap;
mod compare;
mod outputs;
mod record;
mod state;
mod steps;
mod tables;

use super::bytes::RwBytes;
use super::peers::RwPeers;
use crate::blocks::{FreeList, RamReg};
use crate::bus::{FramesOut, TransferEndOut, WindowMessageOut};
use crate::prelude::*;
use record::{Identity, Mark, Message, Prepared, Window};
use state::{Op, State};
use tributary_protocol::rw::{
    BESIDE_OTHERS_LOG, ConnectStatus, DropReason, MTU_RANGE, MessageType, Reason, Status,
};

// The shift of tail_long_quiet.
const _: () = assert!(BESIDE_OTHERS_LOG == 6);

hdl_module! {
    /// Control engine of the receiver window: serves CONNECT, POLL and ABORT, finishes transfers, revokes windows,
    /// sends credit updates and sweeps the timers of all windows, one operation at a time.
    /// An operation reads its tables (peer, window, row: two clocks each), decides, and writes
    /// all tables in one clock. A closed window costs 8 clocks of the sweep, an open one without
    /// holes about 15, a STATUS about 20 + (3 + B/8) W/B until it leaves and 3 W/B for each copy, a
    /// CONNECT about 60 + W/B, and up to 2^BE for the search of its peer, which ABORT and a POLL that names no window have too.
    /// With cfg_twice every message, and the bitmap of a STATUS, leaves twice. The bitmap is read
    /// once, into a memory, so that both copies are the same.
    /// Peers are any node and the first 256 slots there; 2^LE of them are remembered (rw_peers).
    /// Reset clears their entries, one a clock; incarnations of windows survive a reset.
    /// A CONNECT comes with a verdict, which counts if its transfer is not known. A window with ctl_hold is not closed when its
    /// transfer is complete; m_full says so, and revoke ends it.
    /// While a message is not taken its fields stay, the hint of BUSY too; m_bitmap comes from a copy. A finished
    /// transfer or a credit that waits meanwhile is served after it.
    #[module("rw_control_w{W}_r{}", 1usize << A)]
    pub struct RwControl<
        const A: usize, const W: usize, const B: usize, const LB: usize, const NW: usize,
        const LNW: usize, const AW: usize, const PW: usize, const LE: usize, const BE: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Coarse time.
        pub now: Signal<In, Bits<16>>,
        /// A control message waits.
        pub ctl_valid: Signal<In, Bit>,
        /// It has been served, one clock ago.
        pub ctl_ready: Signal<Out, Bit>,
        /// Its TYPE: 4 CONNECT, 6 POLL, 7 ABORT.
        pub ctl_type: Signal<In, Bits<3>>,
        /// Sending node.
        pub ctl_src: Signal<In, Bits<20>>,
        /// Transfer slot at the sender.
        pub ctl_slot: Signal<In, Bits<16>>,
        /// Transfer.
        pub ctl_xid: Signal<In, Bits<32>>,
        /// Incarnation of the sender (CONNECT).
        pub ctl_incarnation: Signal<In, Bits<16>>,
        /// Window (POLL).
        pub ctl_wptr: Signal<In, Bits<16>>,
        /// Incarnation of the window (POLL).
        pub ctl_gen: Signal<In, Bits<16>>,
        /// Number of the poll.
        pub ctl_seq: Signal<In, Bits<16>>,
        /// Bytes to transfer (CONNECT).
        pub ctl_length: Signal<In, Bits<32>>,
        /// Address of the region (CONNECT).
        pub ctl_addr: Signal<In, Bits<64>>,
        /// Key of the region (CONNECT).
        pub ctl_rkey: Signal<In, Bits<32>>,
        /// log2 of the packet size (CONNECT).
        pub ctl_mtu: Signal<In, Bits<4>>,
        /// What a transfer that is not known is answered with: 0 it may have a window, 7 no answer, else the status (CONNECT).
        pub ctl_verdict: Signal<In, Bits<3>>,
        /// The complete transfer keeps its window until that is revoked (CONNECT).
        pub ctl_hold: Signal<In, Bit>,
        /// Reason (ABORT).
        pub ctl_reason: Signal<In, Bits<4>>,
        /// A window is to be closed.
        pub rev_valid: Signal<In, Bit>,
        /// It is closed, one clock ago, or was none of this incarnation.
        pub rev_ready: Signal<Out, Bit>,
        /// Which.
        pub rev_wptr: Signal<In, Bits<A>>,
        /// Its incarnation.
        pub rev_gen: Signal<In, Bits<16>>,
        /// How its transfer ends.
        pub rev_status: Signal<In, Bits<4>>,
        /// A CONNECT is decided: pulse.
        pub con_valid: Signal<Out, Bit>,
        /// 0 known, 1 it has a new window, 2 older than its peer's last, 3 no window is free, 4 beyond the limits, 5 the verdict.
        pub con_how: Signal<Out, Bits<3>>,
        /// With 1: its window.
        pub con_wptr: Signal<Out, Bits<A>>,
        /// With 1: incarnation of that.
        pub con_gen: Signal<Out, Bits<16>>,
        /// A transfer is complete that keeps its window: pulse.
        pub full_valid: Signal<Out, Bit>,
        /// A peer was forgotten: pulse.
        pub forgotten: Signal<Out, Bit>,
        /// All writes of a transfer are visible.
        pub fin_valid: Signal<In, Bit>,
        /// Taken, one clock ago.
        pub fin_ready: Signal<Out, Bit>,
        /// Its window.
        pub fin_wptr: Signal<In, Bits<A>>,
        /// Incarnation of the window.
        pub fin_gen: Signal<In, Bits<16>>,
        /// A credit update is due.
        pub crd_valid: Signal<In, Bit>,
        /// Taken, one clock ago.
        pub crd_ready: Signal<Out, Bit>,
        /// Its window.
        pub crd_wptr: Signal<In, Bits<A>>,
        /// Reorder allowance, packets.
        pub cfg_allowance: Signal<In, Bits<22>>,
        /// Reorder allowance, ticks without DATA.
        pub cfg_allowance_ticks: Signal<In, Bits<16>>,
        /// Ticks before a hole is asked for again: round trip and allowance.
        pub cfg_retry_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before the rest of the transfer is asked for.
        pub cfg_tail_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before the transfer is given up.
        pub cfg_idle_ticks: Signal<In, Bits<16>>,
        /// Retry hint in a BUSY answer, ticks.
        pub cfg_busy_hint: Signal<In, Bits<16>>,
        /// Every message leaves twice.
        pub cfg_twice: Signal<In, Bit>,
        /// Write the connection of a window.
        pub cw_en: Signal<Out, Bit>,
        /// Window.
        pub cw_wptr: Signal<Out, Bits<A>>,
        /// The window is open.
        pub cw_open: Signal<Out, Bit>,
        /// Incarnation.
        pub cw_gen: Signal<Out, Bits<16>>,
        /// Node that may send to it.
        pub cw_src: Signal<Out, Bits<20>>,
        /// Number of the last packet.
        pub cw_last: Signal<Out, Bits<22>>,
        /// log2 of the packet size, less 8.
        pub cw_mtu: Signal<Out, Bits<3>>,
        /// Length of the last packet, bytes.
        pub cw_last_len: Signal<Out, Bits<13>>,
        /// Address of the region.
        pub cw_addr: Signal<Out, Bits<64>>,
        /// Key of the region.
        pub cw_rkey: Signal<Out, Bits<32>>,
        /// No DATA may enter from the clock after the next one.
        pub hold: Signal<Out, Bit>,
        /// Clear a word of the bitmap, and the row, of a window.
        pub init_valid: Signal<Out, Bit>,
        /// Window.
        pub init_wptr: Signal<Out, Bits<A>>,
        /// Word.
        pub init_word: Signal<Out, Bits<LNW>>,
        /// Forget the acknowledged writes of a window.
        pub clear_valid: Signal<Out, Bit>,
        /// Window.
        pub clear_wptr: Signal<Out, Bits<A>>,
        /// Decisions about DATA that wait to leave.
        pub wr_count: Signal<In, Bits<5>>,
        /// One of them leaves.
        pub wr_left: Signal<In, Bit>,
        /// Window to look at.
        pub q_wptr: Signal<Out, Bits<A>>,
        /// Word of its bitmap to look at.
        pub q_word: Signal<Out, Bits<LNW>>,
        /// First hole, two clocks later.
        pub q_wbase: Signal<In, Bits<22>>,
        /// Highest packet received, plus one, modulo 4,096.
        pub q_highest: Signal<In, Bits<12>>,
        /// The last packet has arrived.
        pub q_tail: Signal<In, Bit>,
        /// Time of the last DATA.
        pub q_last_rx: Signal<In, Bits<16>>,
        /// DATA comes in, for any window.
        pub s_heard: Signal<In, Bit>,
        /// The word.
        pub q_bits: Signal<In, Bits<B>>,
        /// Messages for senders.
        pub m_msg: WindowMessageOut,
        /// The bitmap of the STATUS that left last; bit 0 of its first word is packet wbase.
        pub m_bitmap: FramesOut<B>,
        /// Transfers that have ended.
        pub m_cpl: TransferEndOut,
        /// A control message or event was dropped.
        pub drop_valid: Signal<Out, Bit>,
        /// Why.
        pub drop_reason: Signal<Out, Bits<4>>,
        /// Free windows.
        pub free_count: Signal<Out, Bits<16>>,
        /// The engine has left reset.
        pub ready: Signal<Out, Bit>,
        /// An operation is decided now, on the row as it was six clocks ago.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 CONNECT, 1 POLL, 2 ABORT, 3 finish, 4 credit update, 5 sweep, 6 revoke.
        pub mon_op: Signal<Out, Bits<3>>,
        /// Its window.
        pub mon_wptr: Signal<Out, Bits<A>>,
        /// Coarse time the operation goes by.
        pub mon_now: Signal<Out, Bits<16>>,
        /// A word of the window's bitmap is used now, as it was two clocks ago.
        pub mon_view: Signal<Out, Bit>,
        /// First packet of that word, divided by B.
        pub mon_word: Signal<Out, Bits<AW>>,

        /// Packets of a window.
        w: Param<W, 23>,
        /// log2 of the bits of a bitmap word.
        lb: Param<LB, 5>,
        /// log2 of the words of a bitmap.
        lnw: Param<LNW, 5>,
        /// Words of a bitmap.
        words: Param<NW, 6>,
        /// Bits of a bitmap word.
        octets: Param<B, 7>,
        /// Bytes of a bitmap word.
        in_word: Signal<Local, Bits<4>>,
        last_byte: Signal<Local, Bits<3>>,

        /// Windows that are not open, longest free first.
        free: FreeList<A>,
        /// What is remembered of each (node, slot).
        peers: RwPeers<A, PW, LE, BE>,
        /// Which windows are open, and the transfer of each.
        opens: RamReg<1, A>,
        /// Transfer of each window: source, slot, xid, length, packets, kept when complete; entry of its peer.
        windows: RamReg<125, A>,
        /// Incarnation of each window.
        gens: RamReg<16, A>,
        /// Of each window: all holes below this packet have been asked for.
        asked: RamReg<22, A>,
        /// Of each window: holes below this packet had been asked for at this tick or before.
        marks: RamReg<38, A>,
        /// Of each window: tick at which the rest of the transfer was asked for.
        ranges: RamReg<16, A>,
        /// The bitmap word under way, a byte a clock.
        bytes: RwBytes<B, LB, LNW, AW>,
        /// Bitmap of a STATUS, its first word at 1 and its last one at 0.
        bitmap: RamReg<B, LNW>,

        /// What the engine is doing.
        state: DFF<State>,
        /// It has left reset.
        #[reset] up: DFF<Bit>,
        /// What for.
        op: DFF<Op>,
        /// After the completion record a window is opened.
        then_alloc: DFF<Bit>,
        /// After the completion record a message is sent.
        then_message: DFF<Bit>,
        /// The next operation is a sweep.
        #[reset] sweep_next: DFF<Bit>,
        /// A credit update goes before a control message.
        #[reset] credit_next: DFF<Bit>,
        /// Windows that reset has closed; all, and more than once.
        #[reset] clear_count: DFF<Bits<10>>,
        /// Clocks in a state that waits.
        timer: DFF<Bits<4>>,
        /// Window of the next sweep.
        #[reset] sweep_wptr: DFF<Bits<A>>,
        /// Window of this operation; the reset leaves it, since what was decided in the clock before is still to be written.
        wptr: DFF<Bits<A>>,
        /// Incarnation in the event or message.
        event_gen: DFF<Bits<16>>,
        /// Words cleared, or sent.
        word: DFF<Bits<6>>,
        /// The control message leaves its queue: one clock late, as queues are looked at after the
        /// sweep that follows each operation.
        #[reset] served: DFF<Bit>,
        /// The finished transfer leaves its queue.
        #[reset] fin_served: DFF<Bit>,
        /// The credit update leaves its queue.
        #[reset] crd_served: DFF<Bit>,
        /// The window to be closed is.
        #[reset] rev_served: DFF<Bit>,
        /// Of this message the peer has been looked for.
        #[reset] looked: DFF<Bit>,
        look: Signal<Local, Bit>,
        #[reset] looks: DFF<Bit>,
        /// A POLL that names no window: its peer is still to be looked for.
        look_again: Signal<Local, Bit>,
        /// The CONNECT is decided, and how.
        #[reset] decided: DFF<Bit>,
        how: DFF<Bits<3>>,
        /// A transfer that keeps its window is complete.
        #[reset] full: DFF<Bit>,
        /// A drop is counted.
        #[reset] dropped: DFF<Bit>,
        /// Why.
        drop_why: DFF<Bits<4>>,

        /// Of the CONNECT at the head of the queue, prepared while the tables are read: its length,
        /// less 1.
        length_1: DFF<Bits<32>>,
        /// The lower half of its length is not 0.
        low_bytes: DFF<Bit>,
        /// The upper half of its length is not 0.
        high_bytes: DFF<Bit>,
        /// Its length is not 0.
        has_bytes: DFF<Bit>,
        /// What is reckoned of it.
        new: DFF<Prepared>,
        /// Places by which that is still to be shifted.
        shifts: DFF<Bits<3>>,
        /// The upper half of its address is all ones.
        at_top: DFF<Bit>,
        /// Its region goes past the end of the address space.
        past_end: DFF<Bit>,
        /// Its packet size is legal.
        legal_mtu: DFF<Bit>,
        /// Sender and slot of the message have a place in the peer table.
        placed: DFF<Bit>,
        /// All of it is legal.
        legal: DFF<Bit>,
        /// log2 of its packet size, less 8.
        mtu: Signal<Local, Bits<3>>,

        /// What the table says of the peer that sent the message.
        peer_id: DFF<Identity>,
        open_id: Signal<Local, Identity>,
        /// Transfer of the message, less the last one.
        xid_diff: DFF<Bits<32>>,
        /// Incarnation of the message, less the last one.
        incarnation_diff: DFF<Bits<16>>,
        /// The peer has had a transfer.
        peer_known: DFF<Bit>,
        /// It is open.
        peer_open: DFF<Bit>,
        /// How it ended.
        peer_status: DFF<Bits<4>>,
        /// The message means it.
        same_xid: DFF<Bit>,
        /// The CONNECT means it, incarnation and all.
        same_transfer: DFF<Bit>,
        /// The CONNECT means one that comes after it.
        newer: DFF<Bit>,

        /// The window of this operation, and as it is opened.
        win: Signal<Local, Window>,
        win_in: Signal<Local, Window>,
        /// Its window stays when it is complete.
        win_hold: DFF<Bit>,
        /// The message or event names the incarnation of the window, four bits each; all.
        gen_part: Bank<DFF<Bit>, 4>,
        gen_match: DFF<Bit>,
        /// The message comes from the sender of the window.
        src_part: Bank<DFF<Bit>, 5>,
        /// The message names the slot.
        slot_part: Bank<DFF<Bit>, 4>,
        /// The message names the window, all 16 bits.
        wptr_part: Bank<DFF<Bit>, 4>,
        named_slot: Signal<Local, Bits<16>>,
        named_wptr: Signal<Local, Bits<16>>,
        /// The message names the transfer, four bits each.
        xid_part: Bank<DFF<Bit>, 8>,
        /// Source, slot and window of the message are right.
        id_match: DFF<Bit>,
        /// The transfer that the message names is right.
        xid_match: DFF<Bit>,
        /// Packets of the transfer from its first hole on.
        remaining: DFF<Bits<22>>,
        /// wbase is behind the last packet.
        at_end: DFF<Bit>,
        /// What Act goes by, one clock before it: the CONNECT means the last transfer, or an older one;
        /// its verdict counts, and is not that it may have a window;
        /// the POLL means the window, or a transfer that has ended; the ABORT means an open one; the
        /// transfer that is finished is.
        known_connect: DFF<Bit>,
        late_connect: DFF<Bit>,
        judged: DFF<Bit>,
        good_poll: DFF<Bit>,
        late_poll: DFF<Bit>,
        good_abort: DFF<Bit>,
        good_finish: DFF<Bit>,
        /// The verdict, and that it means no answer.
        verdict: DFF<Bits<4>>,
        unanswered: DFF<Bit>,
        /// The event names the window as it is.
        this_window: DFF<Bit>,
        /// The window was open when the operation began.
        is_open: DFF<Bit>,
        /// Packets of its transfer.
        n: DFF<Bits<22>>,
        /// Its first hole.
        wbase: DFF<Bits<22>>,
        /// How far that is below its highest packet received, plus one: by W at most.
        reach: DFF<Bits<12>>,
        /// Its highest packet received, plus one.
        highest: DFF<Bits<22>>,
        /// Its last packet had arrived.
        tail: DFF<Bit>,
        /// Time of its last DATA.
        last_rx: DFF<Bits<16>>,
        /// Time of the last DATA for any window, now and when the operation began.
        #[reset] heard: DFF<Bits<16>>,
        heard_last: DFF<Bits<16>>,
        /// Time of the operation.
        start: DFF<Bits<16>>,
        /// Incarnation of the window, or the one that it gets.
        generation: DFF<Bits<16>>,
        raise_gen: Signal<Local, Bit>,
        /// wbase + W.
        limit_credit: DFF<Bits<23>>,
        /// That is beyond the last packet.
        past_n: DFF<Bit>,
        /// Packets below this number may be sent.
        credit: DFF<Bits<22>>,

        /// All decisions about a transfer that ends have been made.
        all_decided: DFF<Bit>,
        /// Decisions that have to leave before its completion record: those that wait, and then
        /// what is left of them.
        ahead: DFF<Bits<5>>,
        /// A decision left one clock ago.
        left: DFF<Bit>,
        /// None is ahead of the completion record any more, or it need not wait for any.
        followed: DFF<Bit>,

        /// The message to be sent.
        msg: DFF<Message>,
        /// Status in the completion record: 0 OK, 1 ABORTED.
        cpl_status: DFF<Bits<4>>,
        /// Why.
        cpl_reason: DFF<Bits<4>>,

        /// Word of the bitmap, counted from packet 0.
        abs: DFF<Bits<AW>>,
        /// The word has been read for a clock.
        fetching: DFF<Bit>,
        /// The first packet to search has been compared with wbase.
        compared: DFF<Bit>,
        /// All bytes of the word have been looked at.
        spent: DFF<Bit>,
        /// Bytes to skip before the first one of a STATUS, and one more; they are skipped.
        skip: DFF<Bits<4>>,
        skipped: DFF<Bit>,
        /// Bytes in the word of a STATUS so far, modulo 8.
        filled: DFF<Bits<3>>,
        /// That word is whole.
        whole: DFF<Bit>,
        /// The word of the bitmap that leaves next stands at the output of its memory.
        #[reset] shown: DFF<Bit>,
        /// The message leaves once more.
        again: DFF<Bit>,
        /// cfg_busy_hint when the message was made, however long it is held.
        hint: DFF<Bits<16>>,
        /// A copy of the message leaves, all of it.
        copied: Signal<Local, Bit>,
        /// All words of the bitmap are in its memory, or the last one leaves; one clock late.
        last_word: DFF<Bit>,
        /// A word of the bitmap leaves.
        word_left: Signal<Local, Bit>,
        /// A byte goes to the word of a STATUS.
        push: Signal<Local, Bit>,
        /// A hole is asked for.
        next_hole: Signal<Local, Bit>,
        /// The byte has no hole left.
        empty_byte: Signal<Local, Bit>,

        /// The mark that was set last, and the one that is set.
        req: Signal<Local, Mark>,
        req_in: Signal<Local, Mark>,
        /// When the rest was asked for.
        req_range_tick: Signal<Local, Bits<16>>,
        /// Ticks since the last DATA.
        idle: DFF<Bits<16>>,
        /// Ticks since the last DATA for any window.
        silence: DFF<Bits<16>>,
        /// Ticks since the mark was set.
        since_mark: DFF<Bits<16>>,
        /// Ticks since the rest was asked for.
        since_range: DFF<Bits<16>>,
        /// highest less the allowance; negative in the last bit.
        old: DFF<Bits<23>>,
        /// Too long without DATA: the transfer is given up.
        give_up: DFF<Bit>,
        /// So long without DATA that every hole is old.
        all_old: DFF<Bit>,
        /// So long without DATA for any window that the rest may be lost; 64 times as long without any for this one.
        tail_quiet: DFF<Bit>,
        tail_long_quiet: DFF<Bit>,
        /// The rest may be asked for again.
        range_old: DFF<Bit>,
        /// Not all packets up to the last one have been seen.
        incomplete: DFF<Bit>,
        /// Holes below the mark may be asked for again.
        restart: DFF<Bit>,
        /// The rest is asked for.
        tail_lost: DFF<Bit>,
        /// Holes below it are old.
        limit: DFF<Bits<22>>,
        /// The mark, a clock after its memory, which may be far away.
        mark: DFF<Bits<22>>,
        /// The first pass ends at the mark, not at limit.
        end_by_mark: DFF<Bit>,
        /// All holes below it have been asked for.
        upto: DFF<Bits<22>>,
        /// This pass asks again, for holes below the mark.
        first_pass: DFF<Bit>,
        /// A pass begins.
        fresh: DFF<Bit>,
        /// Nothing is left of the packets to search.
        searched: DFF<Bit>,
        /// First packet that is left to search.
        pos: DFF<Bits<22>>,
        /// The search ends below this packet.
        end: DFF<Bits<22>>,

        /// The operation ends in this clock.
        done: Signal<Local, Bit>,
        /// The operation serves a control message.
        is_message: Signal<Local, Bit>,
        /// A connection is written.
        write_window: Signal<Local, Bit>,
        /// The window is closed.
        closing: Signal<Local, Bit>,
        /// The window is opened.
        opening: Signal<Local, Bit>,
        /// It was closed one clock ago; tables follow a clock late, as what they are given lasts.
        closed: DFF<Bit>,
        /// It was opened one clock ago.
        opened: DFF<Bit>,
        /// An entry was cleared one clock ago.
        cleared: DFF<Bit>,
        /// A sweep ended one clock ago.
        swept: DFF<Bit>,
        /// A word of the bitmap of the window is cleared.
        initialising: DFF<Bit>,
        /// No DATA may enter.
        holding: DFF<Bit>,
        /// The state of a window, and of its peer, is written.
        window_changed: Signal<Local, Bit>,
        /// Types of messages.
        complete: Param<{ MessageType::Complete as usize }, 3>,
        retx_one: Param<{ MessageType::RetxOne as usize }, 3>,
        retx_range: Param<{ MessageType::RetxRange as usize }, 3>,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        connect_resp: Param<{ MessageType::ConnectResp as usize }, 3>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 3>,
        abort_unknown: Param<{ MessageType::AbortUnknown as usize }, 3>,
        /// How a transfer ended.
        ok: Param<{ Status::Ok as usize }, 4>,
        aborted: Param<{ Status::Aborted as usize }, 4>,
        /// Answers to CONNECT.
        busy: Param<{ ConnectStatus::Busy as usize }, 4>,
        refused: Param<{ ConnectStatus::Refused as usize }, 4>,
        /// Reasons of ABORT and UNKNOWN.
        gave_up: Param<{ Reason::GaveUp as usize }, 4>,
        cancelled: Param<{ Reason::Cancelled as usize }, 4>,
        idle_reason: Param<{ Reason::Idle as usize }, 4>,
        no_transfer: Param<{ Reason::NoTransfer as usize }, 4>,
        /// Why something is dropped.
        stale_write: Param<{ DropReason::StaleWrite as usize }, 4>,
        old_connect: Param<{ DropReason::OldConnect as usize }, 4>,
        stray_abort: Param<{ DropReason::StrayAbort as usize }, 4>,
        /// log2 of the smallest and largest packet.
        mtu_least: Param<{ *MTU_RANGE.start() as usize }, 4>,
        mtu_most: Param<{ *MTU_RANGE.end() as usize }, 4>,
    }
}

impl<
    const A: usize,
    const W: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const AW: usize,
    const PW: usize,
    const LE: usize,
    const BE: usize,
> Logic for RwControl<A, W, B, LB, NW, LNW, AW, PW, LE, BE>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.read_tables();
        self.weigh_connect();
        self.compare();
        self.weigh_sweep();
        self.read_bitmap();
        self.await_decisions();
        self.offer();
        self.write_tables();
        self.advance();
    }
}
