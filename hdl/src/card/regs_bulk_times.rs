//! Times of bulk transfers.

use crate::bus::BulkSettingsOut;
use crate::prelude::*;
use tributary_protocol::card::model::bulk_times as times;

hdl_module! {
    /// Coarse time of bulk transfers, and all of their times and limits, from what the registers say.
    /// A tick takes tick clocks, 1 at least; round_trip counts as 8 to 512 ticks, allowance as 1,024 at most.
    /// When something changes ticks go on from where they are, and the one that is under way begins anew.
    /// Stages: 1 numbers within their bounds, the length of a tick less one; 2 sums; 3 sums of sums. So times follow 3 clocks
    /// after changed, each by itself, and now goes by the new tick from 2 clocks after it. While changed is high for longer,
    /// now stands still but for a tick of 1 clock. Nothing stalls it. rst makes now 0.
    #[module("card_regs_bulk_times")]
    pub struct CardRegsBulkTimes {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset of the time alone.
        pub rst: Signal<In, Bit>,
        /// Clocks of a tick.
        pub tick: Signal<In, Bits<16>>,
        /// Shortest round trip, ticks.
        pub round_trip: Signal<In, Bits<16>>,
        /// Reorder allowance, packets and ticks.
        pub allowance: Signal<In, Bits<16>>,
        /// One of them was written: it has its new value from this clock on.
        pub changed: Signal<In, Bit>,
        /// Number of the transfer before the first one of each slot.
        pub xid_before: Signal<In, Bits<32>>,
        /// Coarse time, a free-running count of ticks.
        pub m_now: Signal<Out, Bits<16>>,
        /// Times and limits of the sending side.
        pub cfg: BulkSettingsOut,
        /// Reorder allowance of the receiving side, packets.
        pub cfg_allowance_packets: Signal<Out, Bits<22>>,
        /// Its reorder allowance, ticks without DATA.
        pub cfg_allowance_ticks: Signal<Out, Bits<16>>,
        /// Ticks before it asks for a hole again.
        pub cfg_retry_ticks: Signal<Out, Bits<16>>,
        /// Ticks without DATA before it asks for the rest of a transfer.
        pub cfg_tail_ticks: Signal<Out, Bits<16>>,
        /// Ticks without DATA before it gives a transfer up.
        pub cfg_idle_ticks: Signal<Out, Bits<16>>,
        /// Ticks for which its notifications wait for a receive request (BW-3).
        pub cfg_patience: Signal<Out, Bits<16>>,
        /// Retry hint in its BUSY answers, ticks.
        pub cfg_busy_hint: Signal<Out, Bits<16>>,
        /// Its answers leave twice (RW-11).
        pub cfg_twice: Signal<Out, Bit>,

        /// Stage 1.
        trip: DFF<Bits<10>>,
        reach: DFF<Bits<11>>,
        /// Clocks of a tick, less one.
        reload: DFF<Bits<16>>,
        restart: DFF<Bit>,
        /// Stage 2: round trip and allowance; allowance and 2; poll interval by the round trip alone.
        settled: DFF<Bits<12>>,
        tail: DFF<Bits<12>>,
        far: DFF<Bits<16>>,
        first: Signal<Local, Bits<16>>,
        /// Stage 3: round trip and twice the allowance and 4; round trip, allowance and 2; longest poll interval.
        retry: DFF<Bits<12>>,
        half_known: DFF<Bits<12>>,
        longest: DFF<Bits<16>>,
        /// Clocks until the tick ends.
        left: DFF<Bits<16>>,
        #[reset] now: DFF<Bits<16>>,
        ends: Signal<Local, Bit>,

        trip_least: Param<{ times::ROUND_TRIP_LEAST as usize }, 16>,
        trip_most: Param<{ times::ROUND_TRIP_MOST as usize }, 16>,
        reach_most: Param<{ times::ALLOWANCE_MOST as usize }, 16>,
        poll_most: Param<{ times::POLL_MOST as usize }, 16>,
        polls: Param<{ times::POLLS as usize }, 8>,
        max_busy: Param<{ times::MAX_BUSY as usize }, 16>,
        fresh_every: Param<{ times::FRESH_EVERY as usize }, 8>,
        overrun: Param<{ times::OVERRUN as usize }, 16>,
        idle: Param<{ times::IDLE as usize }, 16>,
        busy_hint: Param<{ times::BUSY_HINT as usize }, 16>,
    }
}

impl Logic for CardRegsBulkTimes {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.trip.d.next = self.round_trip.val().get_bits::<10>(0);
        if self.round_trip.val() < self.trip_least.val() {
            self.trip.d.next = self.trip_least.val().get_bits::<10>(0);
        }
        if self.round_trip.val() > self.trip_most.val() {
            self.trip.d.next = self.trip_most.val().get_bits::<10>(0);
        }
        self.reach.d.next = self.allowance.val().get_bits::<11>(0);
        if self.allowance.val() > self.reach_most.val() {
            self.reach.d.next = self.reach_most.val().get_bits::<11>(0);
        }
        self.reload.d.next = 0.into();
        if self.tick.val().any() {
            self.reload.d.next = self.tick.val() - 1;
        }
        self.restart.d.next = self.changed.val();

        // Stage 2.
        self.settled.d.next =
            bit_cast::<12, 10>(self.trip.q.val()) + bit_cast::<12, 11>(self.reach.q.val());
        self.tail.d.next = bit_cast::<12, 11>(self.reach.q.val()) + 2;
        self.far.d.next = bit_cast::<16, 10>(self.trip.q.val()) << 6;
        self.first.next = bit_cast::<16, 12>(self.settled.q.val()) << 1;

        // Stage 3.
        self.half_known.d.next = self.settled.q.val() + 2;
        self.retry.d.next = self.settled.q.val() + self.tail.q.val() + 2;
        self.longest.d.next = self.far.q.val();
        if self.far.q.val() > self.poll_most.val() {
            self.longest.d.next = self.poll_most.val();
        }
        if self.far.q.val() < self.first.val() {
            self.longest.d.next = self.first.val();
        }

        // Time.
        self.ends.next = !self.left.q.val().any();
        self.left.d.next = self.left.q.val() - 1;
        if self.ends.val() {
            self.now.d.next = self.now.q.val() + 1;
        }
        if self.ends.val() | self.restart.q.val() {
            self.left.d.next = self.reload.q.val();
        }
        self.m_now.next = self.now.q.val();

        // Sending side.
        self.cfg.xid_before.next = self.xid_before.val();
        self.cfg.settled.next = bit_cast::<16, 12>(self.settled.q.val());
        self.cfg.allowance.next = bit_cast::<16, 11>(self.reach.q.val());
        self.cfg.overtaken.next = bit_cast::<16, 11>(self.reach.q.val()) >> 1;
        self.cfg.retry.next = bit_cast::<16, 12>(self.retry.q.val());
        self.cfg.known.next = bit_cast::<16, 12>(self.half_known.q.val()) << 1;
        self.cfg.poll.next = self.first.val();
        self.cfg.poll_max.next = self.longest.q.val();
        // An eighth of a round trip is 1 at least, an eighth of that perhaps not.
        self.cfg.stall_poll.next = bit_cast::<16, 10>(self.trip.q.val()) >> 3;
        self.cfg.early_poll.next = bit_cast::<16, 10>(self.trip.q.val()) >> 6;
        if !self.trip.q.val().get_bits::<4>(6).any() {
            self.cfg.early_poll.next = 1.into();
        }
        self.cfg.max_polls.next = self.polls.val();
        self.cfg.max_busy.next = self.max_busy.val();
        self.cfg.fresh_every.next = self.fresh_every.val();
        self.cfg.overrun.next = self.overrun.val();
        self.cfg.echo.next = true;

        // Receiving side.
        self.cfg_allowance_packets.next = bit_cast::<22, 11>(self.reach.q.val());
        self.cfg_allowance_ticks.next = bit_cast::<16, 11>(self.reach.q.val());
        self.cfg_retry_ticks.next = bit_cast::<16, 12>(self.retry.q.val());
        self.cfg_tail_ticks.next = bit_cast::<16, 12>(self.tail.q.val());
        self.cfg_idle_ticks.next = self.idle.val();
        self.cfg_patience.next =
            self.longest.q.val() + (bit_cast::<16, 12>(self.settled.q.val()) << 2);
        self.cfg_busy_hint.next = self.busy_hint.val();
        self.cfg_twice.next = true;
    }
}
