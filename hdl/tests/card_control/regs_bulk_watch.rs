//! What the times of bulk transfers must be in every clock, from the accesses that are seen.

use crate::bench::Rtl;
use std::collections::VecDeque;
use tributary_protocol::card::model::bulk_times::Times;
use tributary_protocol::card::regs;
use tributary_protocol::registers::Register;

/// Clocks from a write that acts to the first clock of its tick, and to its times.
const TICK: u64 = 3;
const TIMES: u64 = 4;

/// Those that time follows from: tick, round trip, allowance.
const OF_TIME: [&Register; 3] = [
    &regs::BULK_TICK,
    &regs::BULK_ROUND_TRIP,
    &regs::BULK_ALLOWANCE,
];

/// Looks at a block in each clock; a clock counts as 1 ns of the model.
pub struct Watch {
    /// Offset and value of the writes of the last two clocks.
    writes: VecDeque<Option<(u32, u32)>>,
    values: [u32; 3],
    /// Values, and the clock from which the tick goes by them.
    changes: VecDeque<(u64, [u32; 3])>,
    /// Known once the first reset has lasted for some clocks.
    times: Option<Times>,
    /// Ticks that it does not know of, modulo 2^64.
    before: u64,
    /// Clock of the last one that acted; of the first reset.
    acted: u64,
    since: Option<u64>,
    /// Ticks that were seen to begin, changes of the times that held for long enough to be seen.
    pub ticks: u64,
    pub seen: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            writes: [None, None].into(),
            values: OF_TIME.map(|register| register.reset),
            changes: VecDeque::new(),
            times: None,
            before: 0,
            acted: 0,
            since: None,
            ticks: 0,
            seen: 0,
        }
    }
}

impl Watch {
    /// Forgets all, as rst does.
    pub fn restart(&mut self) {
        let (ticks, seen) = (self.ticks, self.seen);
        *self = Self {
            ticks,
            seen,
            ..Self::default()
        };
    }

    /// One clock, when the inputs have settled.
    pub fn look(&mut self, rtl: &mut Rtl) {
        let now = rtl.now;
        let wrote = rtl.is("reg_wr_valid") && rtl.get("reg_wr_strb") == 15;
        let write = ["reg_wr_addr", "reg_wr_data"].map(|port| rtl.get(port) as u32);
        self.writes
            .push_back(wrote.then_some((4 * write[0], write[1])));
        let acts = self.writes.pop_front().flatten();
        let reset = rtl.is("m_reset");
        if reset {
            self.since.get_or_insert(now);
            self.change(now, OF_TIME.map(|register| register.reset));
        } else if let Some((offset, value)) = acts {
            let place = OF_TIME.iter().position(|r| u32::from(r.offset) == offset);
            if let Some(place) = place.filter(|place| OF_TIME[*place].fits(value)) {
                let mut values = self.values;
                values[place] = value;
                self.change(now, values);
            }
        }
        self.check(rtl);
    }

    fn change(&mut self, now: u64, values: [u32; 3]) {
        if self.values != values && now >= self.acted + TIMES {
            self.seen += 1;
        }
        self.values = values;
        self.acted = now;
        self.changes.push_back((now + TICK, values));
    }

    fn check(&mut self, rtl: &mut Rtl) {
        let now = rtl.now;
        let ticks = rtl.get("m_now");
        if self.times.is_none() && self.since.is_some_and(|since| now > since + 8) {
            // What was before rst is not known: a tick may have ended.
            assert!(ticks <= 1, "{ticks} ticks after rst");
            self.before = ticks;
            self.changes.retain(|(from, _)| *from > now);
            let [_, round_trip, allowance] = self.values;
            let times = Times::default().change(u64::MAX, round_trip, allowance, 0);
            self.times = Some(times);
        }
        let Some(mut times) = self.times else {
            return;
        };
        while self.changes.front().is_some_and(|(from, _)| *from <= now) {
            let Some((from, [tick, round_trip, allowance])) = self.changes.pop_front() else {
                break;
            };
            times = times.change(tick.max(1).into(), round_trip, allowance, from);
        }
        self.times = Some(times);
        let want = self.before.wrapping_add(times.tick(now)) & 0xffff;
        assert_eq!(ticks, want, "clock {now}: {times:?}");
        self.ticks += 1;
        if now >= self.acted + TIMES {
            settings(rtl, &times);
        }
    }
}

/// All times and limits, as the models of both sides have them.
fn settings(rtl: &mut Rtl, times: &Times) {
    let (sender, receiver) = (times.sender(), times.receiver());
    let (rtt, allowance) = (sender.rtt_ticks, sender.allowance_ticks);
    let wants: [(&'static str, u32); 21] = [
        ("send_settled", rtt + allowance),
        ("send_allowance", allowance),
        ("send_overtaken", allowance / 2),
        ("send_retry", sender.retry_ticks),
        ("send_known", rtt + sender.retry_ticks),
        ("send_poll", sender.poll_ticks),
        ("send_poll_max", sender.poll_ticks_max),
        ("send_stall_poll", sender.stall_poll_ticks),
        ("send_early_poll", (sender.stall_poll_ticks / 8).max(1)),
        ("send_max_polls", sender.max_polls.expect("a bound")),
        ("send_max_busy", sender.max_busy),
        ("send_fresh_every", sender.fresh_every),
        ("send_overrun", sender.overrun),
        ("send_echo", sender.echo.into()),
        ("cfg_allowance_packets", receiver.allowance),
        ("cfg_allowance_ticks", receiver.allowance_ticks.into()),
        ("cfg_retry_ticks", receiver.retry_ticks.into()),
        ("cfg_tail_ticks", receiver.tail_ticks.into()),
        ("cfg_idle_ticks", receiver.idle_ticks.into()),
        ("cfg_busy_hint", receiver.busy_hint.into()),
        ("cfg_twice", (receiver.copies == 2).into()),
    ];
    for (port, want) in wants {
        assert_eq!(rtl.get(port), u64::from(want), "{port} of {times:?}");
    }
}
