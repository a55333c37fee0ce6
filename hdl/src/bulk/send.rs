//! The sending side of the receiver window.

use super::{BulkEngine, BulkInbox, BulkPace, BulkTurns};
use crate::blocks::StatCounters;
use crate::bus::{
    BulkCancelIn, BulkEndOut, BulkMessageIn, BulkMessageOut, BulkPacketOut, BulkRequestIn,
    BulkSettingsIn, BulkStartedOut, CongestionSaidIn, FramesIn, RamReadIn,
};
use crate::prelude::*;

hdl_module! {
    /// Sending side of the receiver window: S transfers take turns on one line, by the packet. It keeps numbers, never
    /// payload: a packet for the line says which bytes of the transfer it carries, and whoever serves m_pkt reads them.
    /// A transfer offered at s gets the lowest free slot, says so at m_started, and ends with one record at m_end.
    /// Rate: a fresh packet in 35 clocks, one sent again in 41, with the timers of another transfer looked at in between
    /// every 255 clocks (30); a message takes 30 to 42 clocks, a STATUS about 60 and one for each packet of its bitmap.
    /// While m_pkt is not taken the packet stays and messages are served; while m_end is not taken the record stays,
    /// timers are looked at and transfers started, in its slot too; the bitmap of a STATUS that comes late holds back the messages behind it.
    #[module("bulk_send_s{S}_b{W}")]
    pub struct BulkSend<
        const S: usize, const LS: usize, const SA: usize, const LD: usize, const RA: usize,
        const QA: usize, const W: usize, const LW: usize, const A: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Transfers to start; taken while a slot is free.
        pub s: BulkRequestIn,
        /// What became of them.
        pub m_started: BulkStartedOut,
        /// Transfers to cancel.
        pub s_cancel: BulkCancelIn,
        /// Messages from receivers.
        pub s_msg: BulkMessageIn,
        /// The bitmap of the STATUS taken last; bit 0 of its first word is packet wbase.
        pub s_bitmap: FramesIn<W>,
        /// Packets for the line.
        pub m_pkt: BulkPacketOut,
        /// Transfers that have ended, each once.
        pub m_end: BulkEndOut,
        /// Coarse time, a free-running count.
        pub now: Signal<In, Bits<16>>,
        /// Times and limits.
        pub cfg: BulkSettingsIn,
        /// Transfers slow down when their receivers say so (CL-4).
        pub cfg_pace: Signal<In, Bit>,
        /// Ticks at least between two cuts of a pace, and between two steps of recovery, 1 to 4,096.
        pub cfg_interval: Signal<In, Bits<13>>,
        /// What receivers say, of transfers under way.
        pub s_said: CongestionSaidIn<LS>,
        /// A transfer is slower for it; pulse.
        pub ev_slowed: Signal<Out, Bit>,
        /// In this clock nothing is sent, since all that have packets wait for their pace.
        pub m_paced: Signal<Out, Bit>,
        /// A counter is read: 1 fresh and 2 further DATA, 3 POLL, 4 CONNECT, 5 ABORT, 6 messages ignored, 7 requests
        /// that came too early or too late. Its count comes two clocks later.
        pub stat: RamReadIn<32, 4>,
        /// Clocks are read: 0 in which the line did not take a packet, 1 without credit, 2 with nothing to send,
        /// 3 all others. The count comes two clocks later.
        pub stat_time: RamReadIn<32, 2>,
        /// In this clock no transfer may send for want of credit.
        pub m_starved: Signal<Out, Bit>,
        /// None has anything to send.
        pub m_nothing: Signal<Out, Bit>,
        /// A DATA packet was counted: one sent the first time; pulse.
        pub ev_fresh: Signal<Out, Bit>,
        /// One sent again; pulse.
        pub ev_again: Signal<Out, Bit>,
        /// The engine has left reset.
        pub ready: Signal<Out, Bit>,
        /// An operation ends.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 message, 1 start, 2 cancel, 3 send, 4 timers.
        pub mon_op: Signal<Out, Bits<3>>,
        /// Its slot.
        pub mon_slot: Signal<Out, Bits<LS>>,
        /// What was sent for: 0 due, 1 resend, 2 fresh, 3 spare.
        pub mon_class: Signal<Out, Bits<2>>,
        /// Time it went by.
        pub mon_now: Signal<Out, Bits<16>>,
        /// What the transfer wants then: due, resend, fresh, spare from bit 0 on.
        pub mon_wants: Signal<Out, Bits<4>>,
        /// A deed of bulk_pace is done; pulse.
        pub mon_pace: Signal<Out, Bit>,
        /// Which: 0 new, 1 packet, 2 word of a receiver, 3 looked at.
        pub mon_deed: Signal<Out, Bits<2>>,
        /// Its slot.
        pub mon_pace_slot: Signal<Out, Bits<LS>>,
        /// Tick it went by.
        pub mon_tick: Signal<Out, Bits<16>>,
        /// Gap of the transfer then.
        pub mon_gap: Signal<Out, Bits<16>>,
        /// Transfers whose next packet has to wait.
        pub mon_held: Signal<Out, Bits<S>>,

        pace: BulkPace<S, LS>,
        waits: Signal<Local, Bit>,
        inbox: BulkInbox<W, LW, A>,
        engine: BulkEngine<S, LS, SA, LD, RA, QA, W, LW, A>,
        turns: BulkTurns<S, LS>,
        counts: StatCounters<4>,
        times: StatCounters<2>,
        counted: DFF<Bits<4>>,
        clock_for: DFF<Bits<2>>,
    }
}

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const W: usize,
    const LW: usize,
    const A: usize,
> Logic for BulkSend<S, LS, SA, LD, RA, QA, W, LW, A>
{
    #[hdl_gen]
    fn update(&mut self) {
        BulkMessageIn::link(&mut self.s_msg, &mut self.inbox.s);
        FramesIn::<W>::link(&mut self.s_bitmap, &mut self.inbox.s_bitmap);
        BulkMessageOut::join(&mut self.inbox.m, &mut self.engine.s_msg);
        self.engine.bitmap_len.next = self.inbox.len.val();
        self.engine.bitmap_highest.next = self.inbox.highest.val();
        self.inbox.rd.addr.next = self.engine.bitmap_addr.val();
        self.engine.bitmap_word.next = self.inbox.rd.data.val();
        BulkRequestIn::link(&mut self.s, &mut self.engine.s);
        BulkCancelIn::link(&mut self.s_cancel, &mut self.engine.s_cancel);
        BulkStartedOut::link(&mut self.m_started, &mut self.engine.m_started);
        BulkPacketOut::link(&mut self.m_pkt, &mut self.engine.m_pkt);
        BulkEndOut::link(&mut self.m_end, &mut self.engine.m_end);
        BulkSettingsIn::link(&mut self.cfg, &mut self.engine.cfg);
        self.engine.now.next = self.now.val();

        self.turns.set_en.next = self.engine.set_en.val();
        self.turns.set_slot.next = self.engine.set_slot.val();
        self.turns.set_due.next = self.engine.set_due.val();
        self.turns.set_resend.next = self.engine.set_resend.val();
        self.turns.set_fresh.next = self.engine.set_fresh.val();
        self.turns.set_spare.next = self.engine.set_spare.val();
        self.turns.begin_en.next = self.engine.begin_en.val();
        self.turns.end_en.next = self.engine.end_en.val();
        self.turns.sent_en.next = self.engine.sent_en.val();
        self.turns.sent_slot.next = self.engine.set_slot.val();
        self.turns.sent_resend.next = self.engine.sent_resend.val();
        self.turns.cfg_fresh_every.next = self.cfg.fresh_every.val();
        self.engine.pick_valid.next = self.turns.valid.val();
        self.engine.pick_slot.next = self.turns.slot.val();
        self.engine.pick_class.next = self.turns.purpose.val();

        self.pace.cfg_enable.next = self.cfg_pace.val();
        self.pace.cfg_interval.next = self.cfg_interval.val();
        self.pace.now.next = self.now.val();
        self.pace.s_new.next = self.engine.new_en.val();
        self.pace.s_sent.next = self.engine.sent_en.val();
        self.pace.s_slot.next = self.engine.set_slot.val();
        self.pace.s_tick.next = self.engine.mon_now.val();
        CongestionSaidIn::<LS>::link(&mut self.s_said, &mut self.pace.s_said);
        self.ev_slowed.next = self.pace.ev_slowed.val();
        self.turns.s_held.next = self.pace.m_held.val();
        self.mon_held.next = self.pace.m_held.val();
        self.mon_pace.next = self.pace.mon_act.val();
        self.mon_deed.next = self.pace.mon_deed.val();
        self.mon_pace_slot.next = self.pace.mon_slot.val();
        self.mon_tick.next = self.pace.mon_tick.val();
        self.mon_gap.next = self.pace.mon_gap.val();

        self.counted.d.next = self.engine.counted.val();
        self.counts.s.valid.next = self.counted.q.val().any();
        self.counts.s.data.next = self.counted.q.val();
        RamReadIn::<32, 4>::link(&mut self.stat, &mut self.counts.rd);
        self.ev_fresh.next = self.counted.q.val() == 1;
        self.ev_again.next = self.counted.q.val() == 2;
        self.clock_for.d.next = self.engine.clock_for.val();
        self.waits.next = (self.clock_for.q.val() == 1) | (self.clock_for.q.val() == 2);
        self.m_paced.next = self.waits.val() & self.turns.m_paced.val();
        self.m_starved.next = (self.clock_for.q.val() == 1) & !self.turns.m_paced.val();
        self.m_nothing.next = (self.clock_for.q.val() == 2) & !self.turns.m_paced.val();
        self.times.s.valid.next = true;
        self.times.s.data.next = self.clock_for.q.val();
        RamReadIn::<32, 2>::link(&mut self.stat_time, &mut self.times.rd);
        self.ready.next = self.engine.ready.val() & self.counts.s.ready.val();
        self.mon_act.next = self.engine.mon_act.val();
        self.mon_op.next = self.engine.mon_op.val();
        self.mon_slot.next = self.engine.mon_slot.val();
        self.mon_class.next = self.engine.mon_class.val();
        self.mon_now.next = self.engine.mon_now.val();
        self.mon_wants.next = self.engine.mon_wants.val();
    }
}
