//! The control engine: everything that is not DATA.

use super::bytes::RwBytes;
use super::peers::RwPeers;
use crate::blocks::{FreeList, RamReg};
use crate::bus::{FramesOut, TransferEndOut, WindowMessageOut};
use crate::prelude::*;
use tributary_protocol::rw::{
    BESIDE_OTHERS_LOG, ConnectStatus, DropReason, MTU_RANGE, MessageType, Reason, Status,
};

// The shift of tail_long_quiet.
const _: () = assert!(BESIDE_OTHERS_LOG == 6);

/// What the engine is doing. Yosys gives up to 31 states a register each; of more it keeps the code.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Clear,
    Idle,
    Peer,
    Window,
    Settle,
    Act,
    Close,
    Drain,
    Completion,
    Alloc,
    AllocWait,
    Hold,
    Init,
    InitDrain,
    Open,
    Message,
    Fetch,
    View,
    Raise,
    Relate,
    Prepare,
    Bytes,
    Bitmap,
    Limits,
    Pass,
    Lift,
    Start,
    Aim,
    Range,
    Holes,
    SweepEnd,
}

/// What the engine was asked for.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Op {
    Connect,
    Poll,
    Abort,
    Finish,
    Credit,
    Sweep,
    Revoke,
}

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
        /// Number of its last packet.
        new_last: DFF<Bits<24>>,
        /// Places by which that is still to be shifted.
        shifts: DFF<Bits<3>>,
        /// Number of its packets.
        new_n: DFF<Bits<22>>,
        /// Its packet size, less 1.
        new_mask: DFF<Bits<13>>,
        /// Length of its last packet.
        new_last_len: DFF<Bits<13>>,
        /// End of its region, low half and carry.
        new_end: DFF<Bits<33>>,
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
        peer_id: DFF<Bits<48>>,
        /// Its last transfer.
        peer_xid: Signal<Local, Bits<32>>,
        /// Last incarnation of that peer.
        peer_incarnation: Signal<Local, Bits<16>>,
        /// State of that transfer: 0 none, 1 open, 2 and how it ended.
        peer_state: Signal<Local, Bits<3>>,
        /// Its window.
        peer_wptr: Signal<Local, Bits<A>>,
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

        /// Sender of the window of this operation.
        win_src: Signal<Local, Bits<20>>,
        /// Slot there.
        win_slot: Signal<Local, Bits<8>>,
        /// Transfer.
        win_xid: Signal<Local, Bits<32>>,
        /// Bytes of the transfer.
        win_length: Signal<Local, Bits<32>>,
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

        /// TYPE of the message to be sent.
        msg_type: DFF<Bits<3>>,
        /// Its status or reason.
        msg_status: DFF<Bits<4>>,
        /// Node it goes to.
        msg_dst: DFF<Bits<20>>,
        /// Slot there.
        msg_slot: DFF<Bits<16>>,
        /// Transfer it is about.
        msg_xid: DFF<Bits<32>>,
        /// Packet it asks for.
        msg_pidx: DFF<Bits<22>>,
        /// Number of the poll it answers.
        msg_seq: DFF<Bits<16>>,
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

        /// All holes of the window below this packet have been asked for.
        req_upto: Signal<Local, Bits<22>>,
        /// Holes below this packet had been asked for when the mark was set.
        req_mark: Signal<Local, Bits<22>>,
        /// When that was.
        req_mark_tick: Signal<Local, Bits<16>>,
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
        // Tables: addresses, and the fields of what they deliver.
        self.peers.s_src.next = self.ctl_src.val();
        self.peers.s_slot.next = bit_cast::<8, 16>(self.ctl_slot.val());
        self.opens.rd.addr.next = self.wptr.q.val();
        self.windows.rd.addr.next = self.wptr.q.val();
        self.gens.rd.addr.next = self.wptr.q.val();
        self.asked.rd.addr.next = self.wptr.q.val();
        self.marks.rd.addr.next = self.wptr.q.val();
        self.ranges.rd.addr.next = self.wptr.q.val();
        self.q_wptr.next = self.wptr.q.val();
        self.q_word.next = bit_cast::<LNW, AW>(self.abs.q.val());
        self.peer_id.d.next = self.peers.m_id.val();
        self.peer_incarnation.next = bit_cast::<16, 48>(self.peer_id.q.val());
        self.peer_xid.next = self.peer_id.q.val().get_bits::<32>(16);
        self.peer_state.next = self.peers.m_state.val();
        self.peer_wptr.next = self.peers.m_wptr.val();
        self.win_src.next = bit_cast::<20, 125>(self.windows.rd.data.val());
        self.win_slot.next = self.windows.rd.data.val().get_bits::<8>(20);
        self.win_xid.next = self.windows.rd.data.val().get_bits::<32>(28);
        self.win_length.next = self.windows.rd.data.val().get_bits::<32>(60);
        self.win_hold.d.next = self.windows.rd.data.val().get_bit(114);
        self.req_upto.next = self.asked.rd.data.val();
        self.req_mark.next = bit_cast::<22, 38>(self.marks.rd.data.val());
        self.req_mark_tick.next = self.marks.rd.data.val().get_bits::<16>(22);
        self.req_range_tick.next = self.ranges.rd.data.val();

        // The CONNECT at the head of the queue: number and length of its last packet, limits.
        self.mtu.next = bit_cast::<3, 4>(self.ctl_mtu.val());
        self.low_bytes.d.next = bit_cast::<16, 32>(self.ctl_length.val()).any();
        self.high_bytes.d.next = self.ctl_length.val().get_bits::<16>(16).any();
        self.has_bytes.d.next = self.low_bytes.q.val() | self.high_bytes.q.val();
        self.length_1.d.next = self.ctl_length.val() - 1;
        // One place a clock, five clocks before Act.
        if self.shifts.q.val().any() {
            self.new_last.d.next = self.new_last.q.val() >> 1;
            self.shifts.d.next = self.shifts.q.val() - 1;
        }
        if self.state.q.val() == State::Peer {
            self.new_last.d.next = bit_cast::<24, 32>(self.length_1.q.val() >> 8);
            self.shifts.d.next = self.mtu.val();
        }
        if !self.has_bytes.q.val() {
            self.new_last.d.next = 0.into();
        }
        self.new_n.d.next = bit_cast::<22, 24>(self.new_last.q.val()) + 1;
        self.new_mask.d.next = !((!bits::<13>(255)) << self.mtu.val());
        self.new_last_len.d.next =
            (bit_cast::<13, 32>(self.length_1.q.val()) & self.new_mask.q.val()) + 1;
        if !self.has_bytes.q.val() {
            self.new_last_len.d.next = 0.into();
        }
        self.new_end.d.next = bit_cast::<33, 32>(bit_cast::<32, 64>(self.ctl_addr.val()))
            + bit_cast::<33, 32>(self.ctl_length.val());
        self.at_top.d.next = self.ctl_addr.val().get_bits::<32>(32).all();
        self.past_end.d.next = self.at_top.q.val()
            & self.new_end.q.val().get_bit(32)
            & bit_cast::<32, 33>(self.new_end.q.val()).any();
        self.legal_mtu.d.next = (self.ctl_mtu.val() >= self.mtu_least.val())
            & (self.ctl_mtu.val() <= self.mtu_most.val());
        self.placed.d.next = !(self.ctl_slot.val() >> 8).any();
        self.legal.d.next = self.legal_mtu.q.val()
            & !self.past_end.q.val()
            & self.placed.q.val()
            & !(self.new_last.q.val() >> 21).any();

        // Compared while the state machine waits.
        self.xid_diff.d.next = self.ctl_xid.val() - self.peer_xid.val();
        self.incarnation_diff.d.next = self.ctl_incarnation.val() - self.peer_incarnation.val();
        // What has no place in the table is nobody there, whoever has the same lower bits.
        self.peer_known.d.next = self.peers.m_found.val() & self.placed.q.val();
        self.peer_open.d.next =
            (self.peer_state.val() == 1) & self.peers.m_found.val() & self.placed.q.val();
        self.peer_status.d.next = bit_cast::<4, 3>(self.peer_state.val() - 2);
        self.same_xid.d.next = !self.xid_diff.q.val().any();
        self.same_transfer.d.next =
            !self.xid_diff.q.val().any() & !self.incarnation_diff.q.val().any();
        self.newer.d.next = !self.incarnation_diff.q.val().get_bit(15)
            & (self.incarnation_diff.q.val().any() | !self.xid_diff.q.val().get_bit(31));
        // Both come from memories that may be far apart: two levels of logic are enough here.
        self.named_slot.next = bit_cast::<16, 8>(self.win_slot.val());
        self.named_wptr.next = bit_cast::<16, A>(self.wptr.q.val());
        for i in 0..4 {
            self.gen_part[i].d.next = self.gens.rd.data.val().get_bits::<4>(4 * i)
                == self.event_gen.q.val().get_bits::<4>(4 * i);
            self.slot_part[i].d.next = self.named_slot.val().get_bits::<4>(4 * i)
                == self.ctl_slot.val().get_bits::<4>(4 * i);
            self.wptr_part[i].d.next = self.named_wptr.val().get_bits::<4>(4 * i)
                == self.ctl_wptr.val().get_bits::<4>(4 * i);
        }
        for i in 0..5 {
            self.src_part[i].d.next =
                self.win_src.val().get_bits::<4>(4 * i) == self.ctl_src.val().get_bits::<4>(4 * i);
        }
        for i in 0..8 {
            self.xid_part[i].d.next =
                self.win_xid.val().get_bits::<4>(4 * i) == self.ctl_xid.val().get_bits::<4>(4 * i);
        }
        self.gen_match.d.next = self.gen_part[0].q.val()
            & self.gen_part[1].q.val()
            & self.gen_part[2].q.val()
            & self.gen_part[3].q.val();
        self.id_match.d.next = self.src_part[0].q.val()
            & self.src_part[1].q.val()
            & self.src_part[2].q.val()
            & self.src_part[3].q.val()
            & self.src_part[4].q.val()
            & self.slot_part[0].q.val()
            & self.slot_part[1].q.val()
            & self.slot_part[2].q.val()
            & self.slot_part[3].q.val()
            & self.wptr_part[0].q.val()
            & self.wptr_part[1].q.val()
            & self.wptr_part[2].q.val()
            & self.wptr_part[3].q.val();
        self.xid_match.d.next = self.xid_part[0].q.val()
            & self.xid_part[1].q.val()
            & self.xid_part[2].q.val()
            & self.xid_part[3].q.val()
            & self.xid_part[4].q.val()
            & self.xid_part[5].q.val()
            & self.xid_part[6].q.val()
            & self.xid_part[7].q.val();
        self.remaining.d.next = self.n.q.val() - self.wbase.q.val();
        self.at_end.d.next = !self.remaining.q.val().any();
        self.known_connect.d.next = self.peer_known.q.val() & self.same_transfer.q.val();
        self.late_connect.d.next = self.peer_known.q.val() & !self.newer.q.val();
        self.verdict.d.next = bit_cast::<4, 3>(self.ctl_verdict.val());
        self.unanswered.d.next = self.ctl_verdict.val().all();
        self.judged.d.next = self.ctl_verdict.val().any()
            & !(self.peer_known.q.val() & (self.same_transfer.q.val() | !self.newer.q.val()));
        self.this_window.d.next = self.is_open.q.val() & self.gen_match.q.val();
        self.good_poll.d.next = self.is_open.q.val()
            & self.gen_match.q.val()
            & self.id_match.q.val()
            & self.xid_match.q.val();
        self.late_poll.d.next =
            self.peer_known.q.val() & !self.peer_open.q.val() & self.same_xid.q.val();
        self.good_abort.d.next = self.peer_open.q.val() & self.same_xid.q.val();
        // wbase may still be on its way: as many packets as there are have been written.
        self.good_finish.d.next = self.is_open.q.val()
            & self.gen_match.q.val()
            & self.tail.q.val()
            & !self.incomplete.q.val();
        self.limit_credit.d.next = bit_cast::<23, 22>(self.wbase.q.val()) + self.w.val();
        self.credit.d.next = bit_cast::<22, 23>(self.limit_credit.q.val());
        // Less than W, which is 2 to the power of lb + lnw.
        self.past_n.d.next = !((self.remaining.q.val() >> self.lb.val()) >> self.lnw.val()).any();
        if self.past_n.q.val() {
            self.credit.d.next = self.n.q.val();
        }
        // A message on offer stays, also the credit of one that has none.
        if self.state.q.val() == State::Message {
            self.credit.d.next = self.credit.q.val();
        }
        self.highest.d.next = self.wbase.q.val() + bit_cast::<22, 12>(self.reach.q.val());
        self.idle.d.next = self.start.q.val() - self.last_rx.q.val();
        if self.s_heard.val() {
            self.heard.d.next = self.now.val();
        }
        self.silence.d.next = self.start.q.val() - self.heard_last.q.val();
        self.since_mark.d.next = self.start.q.val() - self.req_mark_tick.val();
        self.since_range.d.next = self.start.q.val() - self.req_range_tick.val();
        self.old.d.next =
            bit_cast::<23, 22>(self.highest.q.val()) - bit_cast::<23, 22>(self.cfg_allowance.val());

        // Of a sweep: comparisons and choices take turns, so that no choice waits for a carry.
        self.give_up.d.next = self.idle.q.val() >= self.cfg_idle_ticks.val();
        self.all_old.d.next = self.idle.q.val() >= self.cfg_allowance_ticks.val();
        self.restart.d.next = self.since_mark.q.val() >= self.cfg_retry_ticks.val();
        self.tail_quiet.d.next = self.silence.q.val() >= self.cfg_tail_ticks.val();
        self.tail_long_quiet.d.next = (self.idle.q.val() >> 6) >= self.cfg_tail_ticks.val();
        self.range_old.d.next = self.since_range.q.val() >= self.cfg_retry_ticks.val();
        self.incomplete.d.next = self.remaining.q.val() != bit_cast::<22, 12>(self.reach.q.val());
        self.tail_lost.d.next = (self.tail_quiet.q.val() | self.tail_long_quiet.q.val())
            & self.range_old.q.val()
            & self.incomplete.q.val();
        self.limit.d.next = bit_cast::<22, 23>(self.old.q.val());
        if self.old.q.val().get_bit(22) {
            self.limit.d.next = 0.into();
        }
        if self.all_old.q.val() {
            self.limit.d.next = self.highest.q.val();
        }
        self.mark.d.next = self.req_mark.val();
        self.end_by_mark.d.next = self.restart.q.val() & (self.mark.q.val() <= self.limit.q.val());
        self.searched.d.next = self.pos.q.val() >= self.end.q.val();

        // The bitmap, byte by byte: for a STATUS those from wbase on, for a sweep their holes.
        self.in_word.next = bit_cast::<4, 7>(self.octets.val() >> 3);
        self.last_byte.next = bit_cast::<3, 4>(self.in_word.val() - 1);
        self.push.next = (self.state.q.val() == State::Bytes) & self.skipped.q.val();
        self.empty_byte.next = (self.state.q.val() == State::Holes) & self.bytes.none.val();
        self.next_hole.next = (self.state.q.val() == State::Holes) & !self.bytes.none.val();
        self.bytes.load.next = self.state.q.val() == State::View;
        self.bytes.raw.next = self.q_bits.val();
        self.bytes.abs.next = self.abs.q.val();
        self.bytes.wbase.next = self.q_wbase.val();
        self.bytes.sweep.next = self.op.q.val() == Op::Sweep;
        self.bytes.pos.next = self.pos.q.val();
        self.bytes.stop.next = self.end.q.val();
        self.bytes.settle.next =
            (self.state.q.val() == State::Pass) | (self.state.q.val() == State::Range);
        self.fetching.d.next = self.state.q.val() == State::Fetch;
        self.compared.d.next = self.state.q.val() == State::Raise;
        self.bytes.raise.next = self.compared.q.val();
        self.bytes.relate.next = self.state.q.val() == State::Relate;
        self.bytes.prepare.next = self.state.q.val() == State::Prepare;
        self.bytes.shift.next =
            (self.state.q.val() == State::Bytes) | (self.empty_byte.val() & !self.spent.q.val());
        self.bytes.align.next = bit_cast::<3, 22>(self.wbase.q.val());
        self.bytes.push.next = self.push.val();
        self.bytes.drop_hole.next = self.next_hole.val();
        if self.bytes.shift.val() {
            self.spent.d.next = self.bytes.count.val() == self.in_word.val();
        }
        if self.state.q.val() == State::Prepare {
            self.spent.d.next = false;
        }

        // The record of a transfer that is given up follows the last of its writes: the last DATA
        // record that its window can accept is in the queue of decisions 8 clocks after Act; from
        // 12 clocks after it on, all that wait there are counted down as decisions leave. All
        // writes of a transfer that is complete have left before.
        self.all_decided.d.next = (self.state.q.val() == State::Drain)
            & (self.all_decided.q.val() | (self.timer.q.val() == 10));
        self.left.d.next = self.wr_left.val();
        self.ahead.d.next = self.wr_count.val();
        if self.all_decided.q.val() {
            self.ahead.d.next = self.ahead.q.val() - bit_cast::<5, 1>(self.left.q.val().into());
        }
        self.followed.d.next =
            self.all_decided.q.val() & (!self.ahead.q.val().any() | !self.cpl_status.q.val().any());

        // What leaves.
        self.m_msg.valid.next = self.state.q.val() == State::Message;
        self.m_msg.of.next.kind = self.msg_type.q.val();
        self.m_msg.of.next.dst = self.msg_dst.q.val();
        self.m_msg.of.next.slot = self.msg_slot.q.val();
        self.m_msg.of.next.xid = self.msg_xid.q.val();
        self.m_msg.of.next.status = self.msg_status.q.val();
        self.m_msg.of.next.wptr = bit_cast::<16, A>(self.wptr.q.val());
        self.m_msg.of.next.incarnation = self.generation.q.val();
        self.m_msg.of.next.pidx = self.msg_pidx.q.val();
        self.m_msg.of.next.credit = self.credit.q.val();
        self.m_msg.of.next.seq = self.msg_seq.q.val();
        self.m_msg.of.next.wbase = self.wbase.q.val();
        self.m_msg.of.next.tail = self.tail.q.val();
        self.m_msg.of.next.hint = self.hint.q.val();
        self.last_word.d.next = self.word.q.val() == self.words.val();
        self.word_left.next = self.shown.q.val() & self.m_bitmap.ready.val();
        self.copied.next = ((self.state.q.val() == State::Message)
            & self.m_msg.ready.val()
            & (self.msg_type.q.val() != self.poll_status.val()))
            | (self.word_left.val() & self.last_word.q.val());
        self.again.d.next = self.again.q.val() & !self.copied.val();
        if (self.state.q.val() != State::Message) & (self.state.q.val() != State::Bitmap) {
            self.again.d.next = self.cfg_twice.val();
        }
        if self.state.q.val() != State::Message {
            self.hint.d.next = self.cfg_busy_hint.val();
        }
        self.bitmap.wr.en.next = self.whole.q.val();
        self.bitmap.wr.addr.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.bitmap.wr.data.next = self.bytes.word.val();
        self.bitmap.rd.addr.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.shown.d.next = (self.state.q.val() == State::Bitmap)
            & (self.shown.q.val() | (self.timer.q.val() == 1))
            & !self.word_left.val();
        self.m_bitmap.valid.next = self.shown.q.val();
        self.m_bitmap.of.next.data = self.bitmap.rd.data.val();
        self.m_bitmap.of.next.last = self.last_word.q.val();
        self.m_cpl.valid.next = self.state.q.val() == State::Completion;
        self.m_cpl.of.next.wptr = bit_cast::<16, A>(self.wptr.q.val());
        self.m_cpl.of.next.src = self.win_src.val();
        self.m_cpl.of.next.slot = bit_cast::<16, 8>(self.win_slot.val());
        self.m_cpl.of.next.xid = self.win_xid.val();
        self.m_cpl.of.next.length = self.win_length.val();
        self.m_cpl.of.next.status = self.cpl_status.q.val();
        self.m_cpl.of.next.reason = self.cpl_reason.q.val();
        self.con_valid.next = self.decided.q.val();
        self.con_how.next = self.how.q.val();
        self.con_wptr.next = self.wptr.q.val();
        self.con_gen.next = self.generation.q.val();
        self.full_valid.next = self.full.q.val();
        self.forgotten.next = self.peers.forgotten.val();
        self.free_count.next = self.free.count.val();
        self.up.d.next = self.state.q.val() != State::Clear;
        self.ready.next = self.up.q.val();
        self.mon_wptr.next = self.wptr.q.val();
        self.mon_now.next = self.start.q.val();
        self.mon_view.next = self.state.q.val() == State::View;
        self.mon_word.next = self.abs.q.val();
        self.mon_op.next = 5.into();
        match self.op.q.val() {
            Op::Connect => self.mon_op.next = 0.into(),
            Op::Poll => self.mon_op.next = 1.into(),
            Op::Abort => self.mon_op.next = 2.into(),
            Op::Finish => self.mon_op.next = 3.into(),
            Op::Credit => self.mon_op.next = 4.into(),
            Op::Sweep => self.mon_op.next = 5.into(),
            Op::Revoke => self.mon_op.next = 6.into(),
        }
        self.holding.d.next =
            (self.state.q.val() == State::Hold) | (self.state.q.val() == State::Init);
        self.initialising.d.next = self.state.q.val() == State::Init;
        self.hold.next = self.holding.q.val();
        self.init_valid.next = self.initialising.q.val();
        self.init_wptr.next = self.wptr.q.val();
        // One word ahead, and so all words, the first one last.
        self.init_word.next = bit_cast::<LNW, 6>(self.word.q.val());
        self.clear_valid.next = self.initialising.q.val();
        self.clear_wptr.next = self.wptr.q.val();

        // Writes to the tables: reset, the end of a transfer, and its start.
        self.closing.next = self.state.q.val() == State::Close;
        self.opening.next = self.state.q.val() == State::Open;
        self.closed.d.next = self.closing.val();
        self.opened.d.next = self.opening.val();
        self.cleared.d.next = self.state.q.val() == State::Clear;
        self.swept.d.next = self.state.q.val() == State::SweepEnd;
        self.write_window.next =
            (self.state.q.val() == State::Clear) | self.closing.val() | self.opening.val();
        self.window_changed.next = self.cleared.q.val() | self.closed.q.val() | self.opened.q.val();
        self.cw_en.next = self.write_window.val();
        self.cw_wptr.next = self.wptr.q.val();
        self.cw_open.next = self.opening.val();
        self.cw_gen.next = self.generation.q.val();
        self.cw_src.next = self.ctl_src.val();
        self.cw_last.next = bit_cast::<22, 24>(self.new_last.q.val());
        self.cw_mtu.next = self.mtu.val();
        self.cw_last_len.next = self.new_last_len.q.val();
        self.cw_addr.next = self.ctl_addr.val();
        self.cw_rkey.next = self.ctl_rkey.val();
        self.opens.wr.en.next = self.window_changed.val();
        self.opens.wr.addr.next = self.wptr.q.val();
        self.opens.wr.data.next = bit_cast::<1, 1>(self.opened.q.val().into());
        self.windows.wr.en.next = self.opened.q.val();
        self.windows.wr.addr.next = self.wptr.q.val();
        self.windows.wr.data.next = (bit_cast::<125, LE>(self.peers.m_entry.val()) << 115)
            | (bit_cast::<125, 1>(self.ctl_hold.val().into()) << 114)
            | (bit_cast::<125, 22>(self.new_n.q.val()) << 92)
            | (bit_cast::<125, 32>(self.ctl_length.val()) << 60)
            | (bit_cast::<125, 32>(self.ctl_xid.val()) << 28)
            | (bit_cast::<125, 8>(bit_cast::<8, 16>(self.ctl_slot.val())) << 20)
            | bit_cast::<125, 20>(self.ctl_src.val());
        self.gens.wr.en.next = self.opened.q.val();
        self.gens.wr.addr.next = self.wptr.q.val();
        self.gens.wr.data.next = self.generation.q.val();
        self.peers.open.next = self.opened.q.val();
        self.peers.open_wptr.next = self.wptr.q.val();
        self.peers.open_id.next = (bit_cast::<48, 32>(self.ctl_xid.val()) << 16)
            | bit_cast::<48, 16>(self.ctl_incarnation.val());
        self.peers.close.next = self.closed.q.val();
        self.peers.close_entry.next = self.windows.rd.data.val().get_bits::<LE>(115);
        self.peers.close_wptr.next = self.wptr.q.val();
        self.peers.close_status.next = bit_cast::<2, 4>(self.cpl_status.q.val());
        self.asked.wr.en.next = self.opened.q.val() | self.swept.q.val();
        self.asked.wr.addr.next = self.wptr.q.val();
        self.asked.wr.data.next = self.upto.q.val();
        self.marks.wr.en.next = self.opened.q.val() | (self.swept.q.val() & self.restart.q.val());
        self.marks.wr.addr.next = self.wptr.q.val();
        self.marks.wr.data.next =
            (bit_cast::<38, 16>(self.start.q.val()) << 22) | bit_cast::<38, 22>(self.upto.q.val());
        self.ranges.wr.en.next =
            self.opened.q.val() | (self.swept.q.val() & self.tail_lost.q.val());
        self.ranges.wr.addr.next = self.wptr.q.val();
        self.ranges.wr.data.next = self.start.q.val();
        self.free.last.next = !bits::<A>(0);
        self.free.s.valid.next = self.closed.q.val();
        self.free.s.data.next = self.wptr.q.val();
        self.free.m.ready.next = self.state.q.val() == State::Alloc;

        // The state machine.
        self.done.next = false;
        self.raise_gen.next = self.state.q.val() == State::Hold;
        if self.raise_gen.val() | (self.state.q.val() == State::Window) {
            self.generation.d.next =
                self.gens.rd.data.val() + bit_cast::<16, 1>(self.raise_gen.val().into());
        }
        self.fin_ready.next = self.fin_served.q.val();
        self.crd_ready.next = self.crd_served.q.val();
        self.rev_ready.next = self.rev_served.q.val();
        self.ctl_ready.next = self.served.q.val();
        self.drop_valid.next = self.dropped.q.val();
        self.drop_reason.next = self.drop_why.q.val();
        self.fin_served.d.next = false;
        self.crd_served.d.next = false;
        self.dropped.d.next = false;
        self.decided.d.next = false;
        self.full.d.next = false;
        self.look.next = false;
        self.look_again.next =
            (self.op.q.val() == Op::Poll) & !self.good_poll.q.val() & !self.looked.q.val();
        self.is_message.next = (self.op.q.val() == Op::Connect)
            | (self.op.q.val() == Op::Poll)
            | (self.op.q.val() == Op::Abort);
        self.timer.d.next = self.timer.q.val() + 1;
        self.whole.d.next = false;
        match self.state.q.val() {
            State::Clear => {
                self.clear_count.d.next = self.clear_count.q.val() + 1;
                self.wptr.d.next = bit_cast::<A, 10>(self.clear_count.q.val() + 1);
                if self.clear_count.q.val().all() & self.free.ready.val() & self.peers.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.timer.d.next = 0.into();
                self.then_alloc.d.next = false;
                self.then_message.d.next = false;
                self.sweep_next.d.next = true;
                self.looked.d.next = false;
                if !self.sweep_next.q.val() & self.fin_valid.val() {
                    self.fin_served.d.next = true;
                    self.op.d.next = Op::Finish;
                    self.wptr.d.next = self.fin_wptr.val();
                    self.event_gen.d.next = self.fin_gen.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val()
                    & self.crd_valid.val()
                    & (self.credit_next.q.val() | !self.ctl_valid.val())
                {
                    self.crd_served.d.next = true;
                    self.credit_next.d.next = false;
                    self.op.d.next = Op::Credit;
                    self.wptr.d.next = self.crd_wptr.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val() & self.rev_valid.val() {
                    self.op.d.next = Op::Revoke;
                    self.wptr.d.next = self.rev_wptr.val();
                    self.event_gen.d.next = self.rev_gen.val();
                    self.state.d.next = State::Window;
                } else if !self.sweep_next.q.val() & self.ctl_valid.val() {
                    self.credit_next.d.next = true;
                    self.op.d.next = Op::Abort;
                    self.look.next = true;
                    self.looked.d.next = true;
                    if self.ctl_type.val() == self.connect.val() {
                        self.op.d.next = Op::Connect;
                    }
                    if self.ctl_type.val() == self.poll_status.val() {
                        self.op.d.next = Op::Poll;
                        self.look.next = false;
                        self.looked.d.next = false;
                    }
                    self.event_gen.d.next = self.ctl_gen.val();
                    self.state.d.next = State::Peer;
                } else {
                    self.sweep_next.d.next = false;
                    self.op.d.next = Op::Sweep;
                    self.wptr.d.next = self.sweep_wptr.q.val();
                    self.sweep_wptr.d.next = self.sweep_wptr.q.val() + 1;
                    self.state.d.next = State::Window;
                }
            }
            State::Peer => {
                self.wptr.d.next = self.peer_wptr.val();
                if self.op.q.val() == Op::Poll {
                    self.wptr.d.next = bit_cast::<A, 16>(self.ctl_wptr.val());
                }
                // An entry has been read when the search is done, which begins a clock late.
                if self.timer.q.val().any() & self.peers.done.val() {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Window;
                }
            }
            // What the tables say, the last time when it is that of this window.
            State::Window => {
                self.is_open.d.next = self.opens.rd.data.val().get_bit(0);
                self.n.d.next = self.windows.rd.data.val().get_bits::<22>(92);
                self.wbase.d.next = self.q_wbase.val();
                self.reach.d.next = self.q_highest.val() - bit_cast::<12, 22>(self.q_wbase.val());
                self.tail.d.next = self.q_tail.val();
                self.last_rx.d.next = self.q_last_rx.val();
                self.heard_last.d.next = self.heard.q.val();
                self.start.d.next = self.now.val();
                self.msg_dst.d.next = self.win_src.val();
                self.msg_slot.d.next = bit_cast::<16, 8>(self.win_slot.val());
                self.msg_xid.d.next = self.win_xid.val();
                if self.is_message.val() {
                    self.msg_dst.d.next = self.ctl_src.val();
                    self.msg_slot.d.next = self.ctl_slot.val();
                    self.msg_xid.d.next = self.ctl_xid.val();
                }
                if self.timer.q.val() == 2 {
                    self.state.d.next = State::Settle;
                }
            }
            State::Settle => {
                if self.timer.q.val() == 5 {
                    self.state.d.next = State::Act;
                }
            }
            State::Act => {
                self.msg_seq.d.next = 0.into();
                self.msg_status.d.next = 0.into();
                self.cpl_status.d.next = self.aborted.val();
                self.cpl_reason.d.next = self.gave_up.val();
                self.word.d.next = 0.into();
                self.abs.d.next = bit_cast::<AW, 22>(self.wbase.q.val() >> self.lb.val());
                self.skip.d.next =
                    bit_cast::<4, LB>(bit_cast::<LB, 22>(self.wbase.q.val()) >> 3) + 1;
                self.skipped.d.next = false;
                self.filled.d.next = 0.into();
                match self.op.q.val() {
                    Op::Connect => {
                        self.msg_type.d.next = self.connect_resp.val();
                        self.decided.d.next = true;
                        if self.judged.q.val() {
                            self.how.d.next = 5.into();
                            self.msg_status.d.next = self.verdict.q.val();
                            self.state.d.next = State::Message;
                            if self.unanswered.q.val() {
                                self.done.next = true;
                            }
                        } else if !self.legal.q.val() {
                            self.how.d.next = 4.into();
                            self.msg_status.d.next = self.refused.val();
                            self.state.d.next = State::Message;
                        } else if self.known_connect.q.val() {
                            self.how.d.next = 0.into();
                            if !self.peer_open.q.val() {
                                self.msg_type.d.next = self.complete.val();
                                self.msg_status.d.next = self.peer_status.q.val();
                            }
                            self.state.d.next = State::Message;
                        } else if self.late_connect.q.val() {
                            self.how.d.next = 2.into();
                            self.dropped.d.next = true;
                            self.drop_why.d.next = self.old_connect.val();
                            self.done.next = true;
                        } else if self.peer_open.q.val() {
                            self.decided.d.next = false;
                            self.then_alloc.d.next = true;
                            self.state.d.next = State::Close;
                        } else {
                            self.decided.d.next = false;
                            self.state.d.next = State::Alloc;
                        }
                    }
                    Op::Poll => {
                        self.state.d.next = State::Message;
                        if self.look_again.val() {
                            self.look.next = true;
                            self.looked.d.next = true;
                            self.timer.d.next = 0.into();
                            self.state.d.next = State::Peer;
                        } else if self.good_poll.q.val() {
                            self.msg_type.d.next = self.poll_status.val();
                            self.msg_seq.d.next = self.ctl_seq.val();
                            self.state.d.next = State::Fetch;
                        } else if self.late_poll.q.val() {
                            self.msg_type.d.next = self.complete.val();
                            self.msg_status.d.next = self.peer_status.q.val();
                        } else {
                            self.msg_type.d.next = self.abort_unknown.val();
                            self.msg_status.d.next = self.no_transfer.val();
                        }
                    }
                    Op::Abort => {
                        self.cpl_reason.d.next = self.ctl_reason.val();
                        if self.good_abort.q.val() {
                            self.state.d.next = State::Close;
                        } else {
                            self.dropped.d.next = true;
                            self.drop_why.d.next = self.stray_abort.val();
                            self.done.next = true;
                        }
                    }
                    Op::Finish => {
                        if self.good_finish.q.val() & self.win_hold.q.val() {
                            self.full.d.next = true;
                            self.done.next = true;
                        } else if self.good_finish.q.val() {
                            self.msg_type.d.next = self.complete.val();
                            self.cpl_status.d.next = self.ok.val();
                            self.then_message.d.next = true;
                            self.state.d.next = State::Close;
                        } else {
                            self.dropped.d.next = self.this_window.q.val();
                            self.drop_why.d.next = self.stale_write.val();
                            self.done.next = true;
                        }
                    }
                    Op::Credit => {
                        self.msg_type.d.next = self.poll_status.val();
                        if self.is_open.q.val() & !self.at_end.q.val() {
                            self.state.d.next = State::Fetch;
                        } else {
                            self.done.next = true;
                        }
                    }
                    Op::Revoke => {
                        self.msg_type.d.next = self.complete.val();
                        self.msg_status.d.next = self.rev_status.val();
                        self.cpl_status.d.next = self.rev_status.val();
                        self.cpl_reason.d.next = self.cancelled.val();
                        self.then_message.d.next = true;
                        if self.this_window.q.val() {
                            self.state.d.next = State::Close;
                        } else {
                            self.done.next = true;
                        }
                    }
                    Op::Sweep => {
                        if self.is_open.q.val() {
                            self.state.d.next = State::Limits;
                        } else {
                            self.done.next = true;
                        }
                    }
                }
            }
            State::Close => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Drain;
            }
            State::Drain => {
                if self.followed.q.val() {
                    self.state.d.next = State::Completion;
                }
            }
            State::Completion => {
                if self.m_cpl.ready.val() {
                    if self.then_alloc.q.val() {
                        self.state.d.next = State::Alloc;
                    } else if self.then_message.q.val() {
                        self.state.d.next = State::Message;
                    } else {
                        self.done.next = true;
                    }
                }
            }
            State::Alloc => {
                self.timer.d.next = 0.into();
                self.wptr.d.next = self.free.m.data.val();
                self.wbase.d.next = 0.into();
                self.n.d.next = self.new_n.q.val();
                self.upto.d.next = 0.into();
                self.word.d.next = 0.into();
                self.msg_type.d.next = self.connect_resp.val();
                if self.free.m.valid.val() {
                    self.state.d.next = State::AllocWait;
                } else {
                    self.how.d.next = 3.into();
                    self.decided.d.next = true;
                    self.msg_status.d.next = self.busy.val();
                    self.state.d.next = State::Message;
                }
            }
            State::AllocWait => {
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Hold;
                }
            }
            State::Hold => {
                if self.timer.q.val() == 2 {
                    self.state.d.next = State::Init;
                }
            }
            State::Init => {
                self.timer.d.next = 0.into();
                self.word.d.next = self.word.q.val() + 1;
                if self.word.q.val() == (self.words.val() - 1) {
                    self.state.d.next = State::InitDrain;
                }
            }
            State::InitDrain => {
                self.start.d.next = self.now.val();
                if self.timer.q.val() == 10 {
                    self.state.d.next = State::Open;
                }
            }
            State::Open => {
                self.how.d.next = 1.into();
                self.decided.d.next = true;
                self.state.d.next = State::Message;
            }
            State::Message => {
                self.timer.d.next = 0.into();
                self.word.d.next = 1.into();
                if self.m_msg.ready.val() {
                    // After a STATUS its bitmap, after a request the next hole.
                    if self.msg_type.q.val() == self.poll_status.val() {
                        self.state.d.next = State::Bitmap;
                    } else if !self.again.q.val() {
                        if self.msg_type.q.val() == self.retx_one.val() {
                            self.state.d.next = State::Holes;
                        } else {
                            self.done.next = true;
                        }
                    }
                }
            }
            State::Fetch => {
                if self.fetching.q.val() {
                    self.state.d.next = State::View;
                }
            }
            State::View => {
                self.state.d.next = State::Relate;
                if self.op.q.val() == Op::Sweep {
                    self.state.d.next = State::Raise;
                }
                if self.last_word.q.val() {
                    self.state.d.next = State::Message;
                }
            }
            State::Raise => {
                if self.compared.q.val() {
                    self.state.d.next = State::Relate;
                }
            }
            State::Relate => self.state.d.next = State::Prepare,
            State::Prepare => {
                self.state.d.next = State::Holes;
                if self.op.q.val() != Op::Sweep {
                    // The next word is read behind the bytes of this one.
                    self.abs.d.next = self.abs.q.val() + 1;
                    self.state.d.next = State::Bytes;
                }
            }
            State::Bytes => {
                self.skip.d.next = self.skip.q.val() - 1;
                self.skipped.d.next = self.skipped.q.val() | (self.skip.q.val() == 1);
                if self.bytes.count.val() == self.in_word.val() {
                    self.state.d.next = State::View;
                }
                if self.push.val() {
                    self.filled.d.next = self.filled.q.val() + 1;
                    if (self.filled.q.val() | !self.last_byte.val()).all() {
                        self.word.d.next = self.word.q.val() + 1;
                        self.whole.d.next = true;
                    }
                }
                // What follows the last word is read for nothing, and not kept.
                if self.last_word.q.val() {
                    self.state.d.next = State::Message;
                }
            }
            State::Bitmap => {
                if self.word_left.val() {
                    self.timer.d.next = 0.into();
                    self.word.d.next = self.word.q.val() + 1;
                    if self.last_word.q.val() {
                        self.done.next = !self.again.q.val();
                        self.state.d.next = State::Message;
                    }
                }
            }
            State::Limits => {
                self.msg_type.d.next = self.retx_one.val();
                self.state.d.next = State::Pass;
                if self.give_up.q.val() {
                    self.msg_type.d.next = self.abort_unknown.val();
                    self.msg_status.d.next = self.idle_reason.val();
                    self.cpl_reason.d.next = self.idle_reason.val();
                    self.then_message.d.next = true;
                    self.state.d.next = State::Close;
                }
            }
            State::Pass => {
                self.first_pass.d.next = self.restart.q.val();
                self.pos.d.next = self.req_upto.val();
                if self.restart.q.val() {
                    self.pos.d.next = 0.into();
                }
                self.end.d.next = self.limit.q.val();
                if self.end_by_mark.q.val() {
                    self.end.d.next = self.mark.q.val();
                }
                self.state.d.next = State::Lift;
            }
            State::Lift => self.state.d.next = State::Start,
            State::Start => {
                if !self.bytes.higher.val() {
                    self.pos.d.next = self.wbase.q.val();
                }
                self.fresh.d.next = true;
                self.state.d.next = State::Aim;
            }
            State::Aim => self.state.d.next = State::Range,
            State::Range => {
                self.abs.d.next = bit_cast::<AW, 22>(self.pos.q.val() >> self.lb.val());
                self.state.d.next = State::Fetch;
                self.fresh.d.next = false;
                if self.fresh.q.val() {
                    self.upto.d.next = self.end.q.val();
                    if self.searched.q.val() {
                        self.upto.d.next = self.pos.q.val();
                    }
                }
                if self.searched.q.val() {
                    self.state.d.next = State::SweepEnd;
                    if self.first_pass.q.val() {
                        self.first_pass.d.next = false;
                        self.pos.d.next = self.req_upto.val();
                        self.end.d.next = self.limit.q.val();
                        self.state.d.next = State::Lift;
                    }
                }
            }
            State::Holes => {
                self.msg_pidx.d.next = (bit_cast::<22, AW>(self.abs.q.val()) << self.lb.val())
                    | (bit_cast::<22, 3>(bit_cast::<3, 4>(self.bytes.count.val() - 2)) << 3)
                    | bit_cast::<22, 3>(self.bytes.hole.val());
                if self.next_hole.val() {
                    self.state.d.next = State::Message;
                } else if self.spent.q.val() {
                    self.pos.d.next = bit_cast::<22, AW>(self.abs.q.val() + 1) << self.lb.val();
                    self.state.d.next = State::Aim;
                }
            }
            State::SweepEnd => {
                self.msg_type.d.next = self.retx_range.val();
                self.msg_pidx.d.next = self.highest.q.val();
                if self.tail_lost.q.val() {
                    self.state.d.next = State::Message;
                } else {
                    self.done.next = true;
                }
            }
        }
        self.looks.d.next = self.look.val();
        self.peers.look.next = self.looks.q.val();
        self.mon_act.next = (self.state.q.val() == State::Act) & !self.look_again.val();
        self.served.d.next = self.done.val() & self.is_message.val();
        self.rev_served.d.next = self.done.val() & (self.op.q.val() == Op::Revoke);
        if self.done.val() {
            self.state.d.next = State::Idle;
        }
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
