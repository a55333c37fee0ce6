//! How fast each transfer may send.

use crate::blocks::RamReg;
use crate::bus::CongestionSaidIn;
use crate::prelude::*;
use tributary_protocol::rw::pace::LINE;

hdl_record! {
    /// Pace of a transfer; times in sixteenths of a tick, but for the last change.
    pub struct PaceOf {
        /// Between two packets, 16 to 32,768.
        gap: Bits<16>,
        /// The gap that it recovers to by halves.
        target: Bits<16>,
        /// The gap of its part of the receiver's line.
        fair: Bits<16>,
        /// Steps of recovery since the last cut, 8 at most.
        steps: Bits<4>,
        /// Cuts since the last step, 63 at most.
        cuts: Bits<6>,
        /// Packets since the last cut or step, 7 at most.
        packets: Bits<3>,
        /// Tick of that.
        changed: Bits<16>,
        /// When the next packet may leave.
        free_at: Bits<20>,
    }
}

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Read,
    Work,
    Store,
}

/// To a transfer.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Deed {
    New,
    Sent,
    Heard,
    Visit,
}

hdl_module! {
    /// Pace of S transfers (CL-4): the least time between two packets of each, which grows when its receiver says so and
    /// shrinks as it sends. The arithmetic is that of `protocol/src/rw/sender/pace.rs`: sums, shifts, comparisons.
    /// A transfer is held from its packet to the end of its gap, which is seen within 16 clocks for each transfer held. What is
    /// said of a pace that is being looked at waits; one new transfer, one packet and one word of a receiver may wait at once,
    /// and bulk_send has 30 clocks and more between two of a kind.
    /// Stages of a deed: 1 and 2 the memory, 3 its register, 4 to 9 fields compared, moved and chosen, 10 stored; of a look at
    /// one that is held 4 and 5 the time, 6 released.
    /// Without cfg_enable packets and words of receivers change nothing, and gaps that have begun end. Nothing stalls it.
    #[module("bulk_pace_s{S}")]
    pub struct BulkPace<const S: usize, const LS: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nobody is held.
        pub rst: Signal<In, Bit>,
        /// Transfers slow down.
        pub cfg_enable: Signal<In, Bit>,
        /// Ticks at least between two cuts, and between two steps of recovery, 1 to 4,096.
        pub cfg_interval: Signal<In, Bits<13>>,
        /// Coarse time, a free-running count of ticks.
        pub now: Signal<In, Bits<16>>,
        /// A transfer begins; pulse.
        pub s_new: Signal<In, Bit>,
        /// A DATA packet leaves; pulse.
        pub s_sent: Signal<In, Bit>,
        /// Slot of either.
        pub s_slot: Signal<In, Bits<LS>>,
        /// Tick by which it does.
        pub s_tick: Signal<In, Bits<16>>,
        /// What receivers say.
        pub s_said: CongestionSaidIn<LS>,
        /// Transfers whose next packet has to wait.
        pub m_held: Signal<Out, Bits<S>>,
        /// One is slower for what its receiver says; pulse.
        pub ev_slowed: Signal<Out, Bit>,
        /// A deed is done; pulse.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 new, 1 packet, 2 word of a receiver, 3 looked at.
        pub mon_deed: Signal<Out, Bits<2>>,
        /// Slot.
        pub mon_slot: Signal<Out, Bits<LS>>,
        /// Tick it went by.
        pub mon_tick: Signal<Out, Bits<16>>,
        /// Gap of the transfer then.
        pub mon_gap: Signal<Out, Bits<16>>,

        paces: RamReg<{ PaceOf::BITS }, LS>,
        state: DFF<State>,
        deed: DFF<Deed>,
        timer: DFF<Bits<3>>,
        // What waits.
        #[reset] begins: DFF<Bit>,
        begins_slot: DFF<Bits<LS>>,
        begins_tick: DFF<Bits<16>>,
        #[reset] left: DFF<Bit>,
        left_slot: DFF<Bits<LS>>,
        left_tick: DFF<Bits<16>>,
        #[reset] told: DFF<Bit>,
        told_slot: DFF<Bits<LS>>,
        marked: DFF<Bit>,
        share: DFF<Bits<16>>,
        /// Slot that is looked at next.
        #[reset] turn: DFF<Bits<LS>>,
        turn_held: Signal<Local, Bit>,
        /// Of each transfer: its next packet waits.
        #[reset] held: DFF<Bits<S>>,
        /// The gap is longer than a tick.
        is_slow: Signal<Local, Bit>,
        news: Signal<Local, Bits<S>>,
        holds: Signal<Local, Bits<S>>,
        releases: Signal<Local, Bits<S>>,
        at_mask: Signal<Local, Bits<S>>,
        in_mask: Signal<Local, Bits<S>>,

        /// Slot and tick of the deed; the pace as it was, and as it will be.
        at: DFF<Bits<LS>>,
        tick: DFF<Bits<16>>,
        pace: DFF<PaceOf>,
        after: Signal<Local, PaceOf>,
        first: Signal<Local, PaceOf>,
        // Stage 4.
        late: DFF<Bits<20>>,
        elapsed: DFF<Bits<16>>,
        above_fair: DFF<Bit>,
        cut_before: DFF<Bit>,
        packets: DFF<Bits<3>>,
        small: DFF<Bits<16>>,
        new_fair: DFF<Bits<16>>,
        sixteenth_more: DFF<Bits<17>>,
        quarter_more: DFF<Bits<17>>,
        // Stages 5 to 9.
        soon: DFF<Bit>,
        waited: DFF<Bit>,
        recent: DFF<Bit>,
        enough: DFF<Bit>,
        halves: DFF<Bit>,
        to: DFF<Bits<16>>,
        over: DFF<Bits<17>>,
        half: DFF<Bits<16>>,
        less: DFF<Bits<16>>,
        down: DFF<Bits<16>>,
        risen: DFF<Bits<16>>,
        rises: DFF<Bit>,
        from: DFF<Bits<20>>,
        next: DFF<Bits<20>>,
        below_fair: DFF<Bit>,
        most: DFF<Bits<17>>,
        few: DFF<Bits<17>>,
        more: DFF<Bits<17>>,
        cut_gap: DFF<Bits<16>>,
        target: DFF<Bits<17>>,
        cut_target: DFF<Bits<16>>,
        cuts: DFF<Bit>,
        begins_fair: DFF<Bit>,
        slower: DFF<Bit>,
        wait: Signal<Local, Bits<14>>,
        line: Param<{ LINE as usize }, 16>,
        longest: Param<32768, 16>,
    }
}

impl<const S: usize, const LS: usize> Logic for BulkPace<S, LS> {
    #[hdl_gen]
    fn update(&mut self) {
        // What comes.
        self.in_mask.next = bits::<S>(1) << self.s_slot.val();
        self.at_mask.next = bits::<S>(1) << self.at.q.val();
        self.holds.next = 0.into();
        self.news.next = 0.into();
        self.releases.next = 0.into();
        if self.s_new.val() {
            self.begins.d.next = true;
            self.begins_slot.d.next = self.s_slot.val();
            self.begins_tick.d.next = self.s_tick.val();
            self.news.next = self.in_mask.val();
        }
        if self.s_sent.val() & self.cfg_enable.val() {
            self.left.d.next = true;
            self.left_slot.d.next = self.s_slot.val();
            self.left_tick.d.next = self.s_tick.val();
        }
        self.s_said.ready.next = !self.told.q.val();
        if self.s_said.valid.val() & !self.told.q.val() {
            self.told.d.next = self.cfg_enable.val();
            self.told_slot.d.next = self.s_said.slot.val();
            self.marked.d.next = self.s_said.marked.val();
            self.share.d.next = self.s_said.share.val();
        }
        self.turn_held.next = ((self.held.q.val() >> self.turn.q.val()) & bits::<S>(1)).any();
        self.paces.rd.addr.next = self.at.q.val();

        self.is_slow.next = self.pace.q.val().gap != self.line.val();

        // Stage 4.
        self.late.d.next = (bit_cast::<20, 16>(self.tick.q.val()) << 4) - self.pace.q.val().free_at;
        self.elapsed.d.next = self.tick.q.val() - self.pace.q.val().changed;
        self.above_fair.d.next = self.pace.q.val().gap > self.pace.q.val().fair;
        self.cut_before.d.next = self.pace.q.val().cuts.any();
        self.packets.d.next = self.pace.q.val().packets;
        if !self.pace.q.val().packets.all() {
            self.packets.d.next = self.pace.q.val().packets + 1;
        }
        // A 128th of the line: the gap squared, shifted by its highest bit.
        self.small.d.next = self.pace.q.val().gap >> 7;
        if self.pace.q.val().gap.get_bit(5) {
            self.small.d.next = self.pace.q.val().gap >> 6;
        }
        if self.pace.q.val().gap.get_bit(6) {
            self.small.d.next = self.pace.q.val().gap >> 5;
        }
        if self.pace.q.val().gap.get_bit(7) {
            self.small.d.next = self.pace.q.val().gap >> 4;
        }
        if self.pace.q.val().gap.get_bit(8) {
            self.small.d.next = self.pace.q.val().gap >> 3;
        }
        if (self.pace.q.val().gap >> 9).any() | self.pace.q.val().steps.get_bit(3) {
            self.small.d.next = self.pace.q.val().gap >> 2;
        }
        self.new_fair.d.next = self.share.q.val() << 4;
        if (self.share.q.val() >> 11).any() {
            self.new_fair.d.next = self.longest.val();
        }
        self.sixteenth_more.d.next = bit_cast::<17, 16>(self.pace.q.val().gap)
            + bit_cast::<17, 16>(self.pace.q.val().gap >> 4);
        self.quarter_more.d.next = bit_cast::<17, 16>(self.pace.q.val().gap)
            + bit_cast::<17, 16>(self.pace.q.val().gap >> 2);

        // A packet: when the next one may leave, and whether it is a step of recovery.
        self.soon.d.next = !self.late.q.val().get_bit(19)
            & (self.late.q.val() < bit_cast::<20, 16>(self.pace.q.val().gap));
        self.from.d.next = bit_cast::<20, 16>(self.tick.q.val()) << 4;
        if self.soon.q.val() {
            self.from.d.next = self.pace.q.val().free_at;
        }
        self.next.d.next = self.from.q.val() + bit_cast::<20, 16>(self.pace.q.val().gap);
        self.wait.next = bit_cast::<14, 13>(self.cfg_interval.val());
        if self.cut_before.q.val() {
            self.wait.next = bit_cast::<14, 13>(self.cfg_interval.val()) << 1;
        }
        self.waited.d.next = self.elapsed.q.val() >= bit_cast::<16, 14>(self.wait.val());
        self.enough.d.next = self.packets.q.val().get_bit(2)
            | (self.packets.q.val().get_bit(1) & !self.cut_before.q.val());
        self.rises.d.next =
            self.waited.q.val() & self.enough.q.val() & (self.pace.q.val().gap != self.line.val());
        self.halves.d.next = !(self.pace.q.val().steps >> 1).any();
        self.to.d.next = self.pace.q.val().target;
        if self.above_fair.q.val() & (self.pace.q.val().fair != self.line.val()) {
            self.to.d.next = self.pace.q.val().fair;
            self.halves.d.next = true;
        }
        self.over.d.next =
            bit_cast::<17, 16>(self.pace.q.val().gap) - bit_cast::<17, 16>(self.to.q.val());
        self.half.d.next = self.to.q.val();
        if !self.over.q.val().get_bit(16) {
            self.half.d.next = self.to.q.val() + bit_cast::<16, 17>(self.over.q.val() >> 1);
        }
        self.less.d.next = self.small.q.val();
        if !self.small.q.val().any() {
            self.less.d.next = 1.into();
        }
        self.down.d.next = self.pace.q.val().gap - self.less.q.val();
        self.risen.d.next = self.down.q.val();
        if self.halves.q.val() {
            self.risen.d.next = self.half.q.val();
        }

        // A word of its receiver: the gap after a cut, and whether there is one.
        self.below_fair.d.next = self.pace.q.val().gap < self.new_fair.q.val();
        self.recent.d.next = self.cut_before.q.val()
            & (self.elapsed.q.val() < bit_cast::<16, 13>(self.cfg_interval.val()));
        self.most.d.next = bit_cast::<17, 16>(self.new_fair.q.val()) << 1;
        if (bit_cast::<17, 16>(self.new_fair.q.val()) << 1)
            < bit_cast::<17, 16>(self.pace.q.val().gap)
        {
            self.most.d.next = bit_cast::<17, 16>(self.pace.q.val().gap);
        }
        self.few.d.next = self.sixteenth_more.q.val();
        if self.sixteenth_more.q.val() > self.most.q.val() {
            self.few.d.next = self.most.q.val();
        }
        self.more.d.next = bit_cast::<17, 16>(self.pace.q.val().gap) << 1;
        if (self.pace.q.val().gap != self.line.val()) & !(self.pace.q.val().cuts >> 1).any() {
            self.more.d.next = self.quarter_more.q.val();
        }
        if (self.share.q.val() != 1) & !self.pace.q.val().cuts.get_bit(5) {
            self.more.d.next = self.few.q.val();
        }
        self.target.d.next = bit_cast::<17, 16>(self.pace.q.val().target);
        if !self.cut_before.q.val() {
            self.target.d.next = self.sixteenth_more.q.val();
        }
        self.cut_gap.d.next = bit_cast::<16, 17>(self.more.q.val());
        if self.more.q.val() > bit_cast::<17, 16>(self.longest.val()) {
            self.cut_gap.d.next = self.longest.val();
        }
        if self.below_fair.q.val() {
            self.cut_gap.d.next = self.new_fair.q.val();
        }
        self.cut_target.d.next = bit_cast::<16, 17>(self.target.q.val());
        if self.below_fair.q.val()
            | (self.target.q.val() > bit_cast::<17, 16>(self.cut_gap.q.val()))
        {
            self.cut_target.d.next = self.cut_gap.q.val();
        }
        self.cuts.d.next = self.marked.q.val()
            & !self.recent.q.val()
            & (self.pace.q.val().gap != self.longest.val());
        self.begins_fair.d.next = !self.marked.q.val()
            & self.below_fair.q.val()
            & !self.cut_before.q.val()
            & self.pace.q.val().steps.get_bit(3);
        self.slower.d.next = self.begins_fair.q.val()
            | (self.cuts.q.val() & (self.cut_gap.q.val() > self.pace.q.val().gap));

        // What is stored.
        self.first.next.gap = self.line.val();
        self.first.next.target = self.line.val();
        self.first.next.fair = self.line.val();
        self.first.next.steps = 8.into();
        self.first.next.cuts = 0.into();
        self.first.next.packets = 0.into();
        self.first.next.changed = self.tick.q.val();
        self.first.next.free_at = bit_cast::<20, 16>(self.tick.q.val()) << 4;
        self.after.next = self.pace.q.val();
        match self.deed.q.val() {
            Deed::New => self.after.next = self.first.val(),
            Deed::Sent => {
                self.after.next.free_at = self.next.q.val();
                self.after.next.packets = self.packets.q.val();
                if self.rises.q.val() {
                    self.after.next.gap = self.risen.q.val();
                    if self.risen.q.val() < self.line.val() {
                        self.after.next.gap = self.line.val();
                    }
                    self.after.next.cuts = 0.into();
                    self.after.next.packets = 0.into();
                    self.after.next.changed = self.tick.q.val();
                    if !self.pace.q.val().steps.get_bit(3) {
                        self.after.next.steps = self.pace.q.val().steps + 1;
                    }
                }
            }
            Deed::Heard => {
                self.after.next.fair = self.new_fair.q.val();
                if self.begins_fair.q.val() {
                    self.after.next.gap = self.new_fair.q.val();
                    self.after.next.target = self.new_fair.q.val();
                }
                if self.cuts.q.val() {
                    self.after.next.gap = self.cut_gap.q.val();
                    self.after.next.target = self.cut_target.q.val();
                    self.after.next.steps = 0.into();
                    if !self.pace.q.val().cuts.all() {
                        self.after.next.cuts = self.pace.q.val().cuts + 1;
                    }
                }
                if self.begins_fair.q.val() | self.cuts.q.val() {
                    self.after.next.packets = 0.into();
                    self.after.next.changed = self.tick.q.val();
                }
            }
            Deed::Visit => {}
        }
        self.paces.wr.en.next = self.state.q.val() == State::Store;
        self.paces.wr.addr.next = self.at.q.val();
        self.paces.wr.data.next = self.after.val().to_bits();

        self.ev_slowed.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Idle => {
                self.timer.d.next = 0.into();
                self.tick.d.next = self.now.val();
                if self.begins.q.val() {
                    self.begins.d.next = self.s_new.val();
                    self.at.d.next = self.begins_slot.q.val();
                    self.tick.d.next = self.begins_tick.q.val();
                    self.deed.d.next = Deed::New;
                    self.state.d.next = State::Read;
                } else if self.left.q.val() {
                    self.left.d.next = self.s_sent.val() & self.cfg_enable.val();
                    self.at.d.next = self.left_slot.q.val();
                    self.tick.d.next = self.left_tick.q.val();
                    self.deed.d.next = Deed::Sent;
                    self.state.d.next = State::Read;
                } else if self.told.q.val() {
                    self.at.d.next = self.told_slot.q.val();
                    self.deed.d.next = Deed::Heard;
                    self.state.d.next = State::Read;
                } else {
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.at.d.next = self.turn.q.val();
                    self.deed.d.next = Deed::Visit;
                    if self.turn_held.val() {
                        self.state.d.next = State::Read;
                    }
                }
            }
            State::Read => {
                self.pace.d.next = self.paces.rd.data.val().into();
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Work;
                }
            }
            State::Work => {
                // At once: bulk_turns may choose again 20 clocks after a packet.
                if (self.deed.q.val() == Deed::Sent) & self.is_slow.val() {
                    self.holds.next = self.at_mask.val();
                }
                if (self.timer.q.val() == 5)
                    | ((self.deed.q.val() == Deed::Visit) & self.timer.q.val().get_bit(0))
                {
                    self.state.d.next = State::Store;
                }
            }
            State::Store => {
                self.state.d.next = State::Idle;
                if self.deed.q.val() == Deed::Heard {
                    self.told.d.next = false;
                    self.ev_slowed.next = self.slower.q.val();
                }
                // A packet that waits to be counted holds anew.
                if (self.deed.q.val() == Deed::Visit)
                    & !self.late.q.val().get_bit(19)
                    & !(self.left.q.val() & (self.left_slot.q.val() == self.at.q.val()))
                {
                    self.releases.next = self.at_mask.val();
                }
            }
        }
        self.held.d.next =
            (self.held.q.val() & !self.releases.val() & !self.news.val()) | self.holds.val();
        self.m_held.next = self.held.q.val();
        self.mon_act.next = self.state.q.val() == State::Store;
        self.mon_deed.next = 0.into();
        match self.deed.q.val() {
            Deed::New => {}
            Deed::Sent => self.mon_deed.next = 1.into(),
            Deed::Heard => self.mon_deed.next = 2.into(),
            Deed::Visit => self.mon_deed.next = 3.into(),
        }
        self.mon_slot.next = self.at.q.val();
        self.mon_tick.next = self.tick.q.val();
        self.mon_gap.next = self.after.val().gap;
        if self.rst.val() {
            self.state.d.next = State::Idle;
        }
    }
}
