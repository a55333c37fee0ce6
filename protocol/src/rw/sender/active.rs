//! State of one transfer at the sender.

use std::collections::VecDeque;

use super::{Mode, Request, SenderConfig, pace::Pace};
use crate::rw::{Tick, message::StatusReport};

/// The window that CONNECT_RESP named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Granted {
    pub wptr: u16,
    pub r#gen: u32,
    pub w: u32,
}

/// What is kept of a packet between the first one not known to have arrived and the last one sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    /// When it left last.
    pub at: Tick,
    /// That was not the first time.
    pub again: bool,
    /// It waits to be sent again.
    pub asked: bool,
}

/// Polls in idle slots after a packet, before the regular ones.
const EARLY_POLLS: u8 = 20;
/// Places for packets that wait to be sent again; what finds them taken is asked for once more (RW-11).
pub(super) const REPAIRS: usize = 32;
/// Polls whose time is kept.
pub(super) const POLLS_KEPT: usize = 32;
/// Most of [`Active::late`].
const LATE_MOST: u32 = (1 << 11) - 1;
/// So many copies fewer than requests at the end.
const HELD_BACK: u8 = 4;

/// A transfer that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Active {
    pub request: Request,
    pub xid: u32,
    pub n: u32,
    /// `None` until CONNECT_RESP.
    pub window: Option<Granted>,
    /// Anything was ever heard about this transfer (RW-18).
    pub heard: bool,
    /// Numbers below this may be sent (RW-19); never falls.
    pub credit: u32,
    /// Numbers below this are known to have arrived; never falls.
    pub base: u32,
    /// Send pointer. A range request moves it back; only sending, or news that packets have arrived, moves it forward (RW-14).
    pub next: u32,
    /// Last sending of `base`, `base + 1`, …
    pub sent: VecDeque<Sent>,
    /// Numbers below this are taken to have arrived before a packet that leaves now: see [`Active::trust`].
    pub trusted: u32,
    /// To be sent again, in the order in which they were asked for. One that is not marked as asked for any more is passed over.
    pub repairs: VecDeque<u32>,
    /// To be sent once more: a second copy of the packet just sent again.
    pub echo: Option<u32>,
    /// Something was asked for, or found lost.
    pub lossy: bool,
    /// Second copies that may be spent: one for each packet asked for again, or found lost.
    pub owed: u8,
    /// Time of the next poll in an idle slot, and how many have left since the last DATA packet.
    pub early_at: Tick,
    pub early_polls: u8,
    /// Time of the last polls, by seq modulo [`POLLS_KEPT`].
    pub polled: [Tick; POLLS_KEPT],
    /// Counter mode: the round, modulo 16, and how many there were.
    pub round: u8,
    pub rounds: u32,
    /// Polls, or CONNECTs, since the last progress.
    pub polls: u32,
    /// BUSY answers, and whether a CONNECT has left since the last one: its second copy is no further answer.
    pub busy: u32,
    pub connecting: bool,
    /// Present poll interval and the time of the next poll.
    pub interval: u16,
    pub poll_at: Tick,
    /// seq of the last poll.
    pub seq: u16,
    /// Ticks that an answer takes beyond what is configured, since queues are long on the way: see [`Active::sample`].
    pub late: u16,
    /// How fast it may send.
    pub pace: Pace,
}

/// `at` is now or was before.
fn reached(at: Tick, now: Tick) -> bool {
    now.wrapping_sub(at) < 1 << 15
}

/// A configured time as ticks.
fn ticks(time: u32) -> u16 {
    u16::try_from(time).unwrap_or(u16::MAX)
}

impl Active {
    pub fn new(request: Request, xid: u32, n: u32, interval: u16, now: Tick) -> Self {
        Self {
            request,
            xid,
            n,
            window: None,
            heard: false,
            credit: 0,
            base: 0,
            next: 0,
            sent: VecDeque::new(),
            trusted: 0,
            repairs: VecDeque::new(),
            echo: None,
            lossy: false,
            owed: 0,
            early_at: now,
            early_polls: 0,
            polled: [0; POLLS_KEPT],
            round: 0,
            rounds: 0,
            polls: 0,
            busy: 0,
            connecting: false,
            interval,
            poll_at: now,
            seq: 0,
            late: 0,
            pace: Pace::new(now),
        }
    }

    /// First number that was never sent.
    pub fn sent_upto(&self) -> u32 {
        self.base + self.sent.len() as u32
    }

    fn entry(&self, pidx: u32) -> Option<&Sent> {
        self.sent.get(pidx.checked_sub(self.base)? as usize)
    }

    /// Ticks since `pidx` left last; `None` if it is known to have arrived or never left.
    fn age(&self, pidx: u32, now: Tick) -> Option<u32> {
        self.entry(pidx)
            .map(|sent| u32::from(now.wrapping_sub(sent.at)))
    }

    /// It left, `time` ticks ago or earlier.
    fn older(&self, pidx: u32, time: u32, now: Tick) -> bool {
        self.age(pidx, now).is_some_and(|age| age >= time)
    }

    /// Notes a sending of `pidx`; true if it is not the first.
    pub fn note_sent(&mut self, pidx: u32, now: Tick) -> bool {
        let Some(place) = pidx.checked_sub(self.base) else {
            return true;
        };
        let again = (place as usize) < self.sent.len();
        let sent = Sent {
            at: now,
            again,
            asked: false,
        };
        match self.sent.get_mut(place as usize) {
            Some(entry) => *entry = sent,
            None => self.sent.push_back(sent),
        }
        again
    }

    /// Numbers below this may be sent now: the credit, and up to `overrun` above it as far as the window will have moved once all
    /// that is trusted to arrive has arrived.
    pub fn limit(&self, config: &SenderConfig) -> u32 {
        if config.mode != Mode::Rw {
            return self.credit;
        }
        let moved = self.trusted.saturating_sub(self.base);
        self.credit
            .saturating_add(moved.min(config.overrun))
            .min(self.n)
            .min(self.base.saturating_add(config.span))
    }

    /// Packet `first` waits to be sent again and keeps the window shut: what left above the window too long ago to arrive after it
    /// is dropped, and goes again, in order.
    pub fn go_back(&mut self, first: u32, config: &SenderConfig, now: Tick) {
        let Some(granted) = self.window else {
            return;
        };
        let top = first.saturating_add(granted.w);
        if config.mode == Mode::Rw
            && config.overrun > 0
            && self.older(top, config.allowance_ticks / 2, now)
        {
            self.rewind(top);
        }
    }

    /// Moves `trusted` on by a packet: over one that was sent a round trip and the allowance ago, since a request for it would be
    /// here in most cases, and over one sent again that a packet sent now will not overtake in most cases.
    pub fn trust(&mut self, config: &SenderConfig, now: Tick) {
        self.trusted = self.trusted.max(self.base);
        let Some(sent) = self.entry(self.trusted) else {
            return;
        };
        let time = if sent.again {
            config.allowance_ticks / 2
        } else {
            self.settled(config)
        };
        if self.trusted < self.next && !sent.asked && self.older(self.trusted, time, now) {
            self.trusted += 1;
        }
    }

    /// An answer came to what left at `at`, and the network holds nothing longer than that, but for what is overtaken. Where
    /// queues make it longer than `retry_ticks`, packets count as lost as much later: they stand in these queues, and
    /// sending them again would make the queues longer (RW-12).
    pub fn sample(&mut self, at: Tick, config: &SenderConfig, now: Tick) {
        let took = u32::from(now.wrapping_sub(at));
        self.late = if took > config.retry_ticks && config.mode == Mode::Rw {
            (took - config.retry_ticks).min(LATE_MOST) as u16
        } else {
            0
        };
    }

    /// Ticks in which a request for a packet that did not arrive would be here.
    fn settled(&self, config: &SenderConfig) -> u32 {
        config.rtt_ticks + config.allowance_ticks + u32::from(self.late)
    }

    pub fn has_fresh(&self, config: &SenderConfig) -> bool {
        self.window.is_some() && self.next < self.limit(config)
    }

    /// Whether a fresh packet could be sent at some time with nothing heard until then.
    pub fn may_run_ahead(&self, config: &SenderConfig) -> bool {
        let overrun = if config.mode == Mode::Rw {
            config.overrun
        } else {
            0
        };
        self.window.is_some() && self.next < self.n.min(self.credit.saturating_add(overrun))
    }

    pub fn has_resend(&self) -> bool {
        self.window.is_some() && (self.echo.is_some() || !self.repairs.is_empty())
    }

    /// A packet was asked for, or STATUS shows that it is lost.
    pub fn ask(&mut self, pidx: u32) {
        self.trusted = self.trusted.min(pidx);
        let Some(place) = pidx.checked_sub(self.base) else {
            return;
        };
        if let Some(sent) = self.sent.get_mut(place as usize)
            && !sent.asked
            && self.repairs.len() < REPAIRS
        {
            sent.asked = true;
            self.repairs.push_back(pidx);
            self.owe();
        }
    }

    /// Second copies cost at most what the requests cost: without loss there are none.
    pub fn owe(&mut self) {
        self.lossy = true;
        self.owed = self.owed.saturating_add(1);
    }

    /// As for other copies, for those that only bring the end forward: they save less than one of a packet that the
    /// window waits for, so some are held back.
    fn may_copy_at_end(&self) -> bool {
        self.owed > HELD_BACK
    }

    /// All is sent: a poll now, before the regular one, tells at once what is lost.
    pub fn early_poll(&self, config: &SenderConfig, now: Tick) -> bool {
        self.window.is_some()
            && config.mode == Mode::Rw
            && config.echo
            && self.lossy
            && self.early_polls < EARLY_POLLS
            && self.next == self.n
            && reached(self.early_at, now)
    }

    /// Whether losing `pidx` once more would shut the window before that is known, or delay the end, and a copy is worth it:
    /// the fewer packets are left above the window, the fewer are sent in vain without one.
    fn critical(&self, pidx: u32, config: &SenderConfig) -> bool {
        if self.next == self.n {
            return self.may_copy_at_end();
        }
        let known = config.rtt_ticks.saturating_add(config.retry_ticks);
        let w = self.window.map_or(0, |granted| granted.w);
        pidx.saturating_add(w + w / 4) < self.n
            && pidx.saturating_add(w) < self.next.saturating_add(known)
    }

    /// Takes the next packet to send again: the second copy of the last one, or the one asked for first.
    pub fn take_resend(&mut self, config: &SenderConfig) -> Option<u32> {
        if let Some(pidx) = self.echo.take() {
            return Some(pidx);
        }
        loop {
            let pidx = self.repairs.pop_front()?;
            if pidx >= self.next || !self.entry(pidx).is_some_and(|sent| sent.asked) {
                continue;
            }
            let pays = config.echo
                && config.mode == Mode::Rw
                && self.owed > 0
                && self.critical(pidx, config);
            self.echo = pays.then_some(pidx);
            self.owed -= u8::from(pays);
            return Some(pidx);
        }
    }

    /// Leaves of the packets to send again those that will be, in their order: what an explorer must tell apart.
    pub fn level_repairs(&mut self) {
        let next = self.next;
        let mut waiting: Vec<u32> = self.repairs.drain(..).collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|pidx| *pidx < next && self.entry(*pidx).is_some_and(|sent| sent.asked));
        self.repairs.extend(waiting);
    }

    /// Progress: the poll interval and the count of polls start again (RW-10, RW-18).
    pub fn progress(&mut self, config: &SenderConfig, now: Tick) {
        self.polls = 0;
        self.interval = ticks(config.poll_ticks);
        self.poll_at = now.wrapping_add(self.interval);
    }

    /// A poll or CONNECT leaves: the next one waits twice as long (RW-10).
    pub fn back_off(&mut self, config: &SenderConfig, now: Tick) {
        self.polls = if config.max_polls.is_some() {
            self.polls.saturating_add(1)
        } else {
            0
        };
        self.poll_at = now.wrapping_add(self.interval);
        self.interval = self
            .interval
            .saturating_mul(2)
            .min(ticks(config.poll_ticks_max));
    }

    /// The time of the next poll, CONNECT or end has come.
    pub fn poll_due(&self, now: Tick) -> bool {
        reached(self.poll_at, now)
    }

    /// DATA leaves: polls wait from here on.
    pub fn put_off(&mut self, config: &SenderConfig, now: Tick) {
        self.early_polls = 0;
        self.early_at = now.wrapping_add(ticks(config.stall_poll_ticks / 8).max(1));
        let wait = if self.next < self.n && self.polls == 0 {
            self.interval.min(ticks(config.stall_poll_ticks))
        } else {
            self.interval
        };
        self.poll_at = now.wrapping_add(wait);
    }

    /// A poll in an idle slot leaves.
    pub fn count_early_poll(&mut self, config: &SenderConfig, now: Tick) {
        self.early_polls = self.early_polls.saturating_add(1);
        self.early_at = now.wrapping_add(ticks(config.stall_poll_ticks / 8).max(1));
    }

    /// The number of the next poll, which leaves now.
    pub fn next_seq(&mut self, limit: u16, now: Tick) -> u16 {
        self.seq = if self.seq >= limit { 1 } else { self.seq + 1 };
        self.polled[usize::from(self.seq) % POLLS_KEPT] = now;
        self.seq
    }

    /// CONNECT leaves: an answer to it tells of the queues before the first packet does.
    pub fn note_connect(&mut self, now: Tick) {
        self.connecting = true;
        self.polled[0] = now;
    }

    /// The window is there.
    pub fn open(&mut self, granted: Granted, credit: u32, config: &SenderConfig, now: Tick) {
        self.window = Some(granted);
        self.credit = credit.min(self.n);
        self.sample(self.polled[0], config, now);
        self.progress(config, now);
    }

    /// When the poll with this number left, if that is still known.
    fn polled_at(&self, seq: u16) -> Option<Tick> {
        let since = usize::from(self.seq.checked_sub(seq)?);
        (seq > 0 && since < POLLS_KEPT).then(|| self.polled[usize::from(seq) % POLLS_KEPT])
    }

    /// Moves the send pointer back to `pidx` (RW-14: never forward).
    pub fn rewind(&mut self, pidx: u32) {
        if pidx < self.next {
            self.next = pidx;
            self.trusted = self.trusted.min(pidx);
        }
    }

    /// A request for `pidx` makes sense: it was sent, so long ago that the receiver could miss it (a round trip and the
    /// reorder allowance, and what queues add), and is not known to have arrived. A NAK of
    /// go-back-n needs no age: it is never sent twice for one gap within a round trip.
    pub fn plausible(&self, pidx: u32, config: &SenderConfig, now: Tick) -> bool {
        if config.mode == Mode::GoBackN {
            return self.entry(pidx).is_some();
        }
        self.older(pidx, self.settled(config), now)
    }

    /// As [`Active::plausible`], for a range: the receiver asks for it after silence, whatever may be on its way, so the packet
    /// must be old enough to have arrived before the request left. Queues may have grown since they were measured.
    /// While packets leave that it has granted, silence says that others share the line, and what arrives of those shows what
    /// was lost.
    pub fn plausible_range(&self, pidx: u32, config: &SenderConfig, now: Tick) -> bool {
        if config.mode == Mode::Rw {
            let granted = self.credit.min(self.base.saturating_add(config.span));
            self.next >= granted
                && self.older(pidx, config.retry_ticks + 4 * u32::from(self.late), now)
        } else {
            self.plausible(pidx, config, now)
        }
    }

    /// Everything below `base` has arrived.
    pub fn arrived_below(&mut self, base: u32) -> bool {
        let Some(by) = base.checked_sub(self.base).filter(|by| *by > 0) else {
            return false;
        };
        self.sent.drain(..(by as usize).min(self.sent.len()));
        self.base = base;
        self.next = self.next.max(base);
        self.echo = self.echo.filter(|pidx| *pidx >= base);
        true
    }

    /// A packet that STATUS does not show is lost if it left the allowance before the poll that STATUS answers: queues keep what
    /// goes through them in order, however long they are.
    fn overtaken(&self, pidx: u32, polled_at: Option<Tick>, config: &SenderConfig) -> bool {
        polled_at.is_some_and(|polled| {
            self.entry(pidx).is_some_and(|sent| {
                reached(sent.at.wrapping_add(ticks(config.allowance_ticks)), polled)
            })
        })
    }

    /// It left long enough before STATUS was made: a round trip and the reorder allowance before now, and what queues add.
    fn aged(&self, pidx: u32, config: &SenderConfig, now: Tick) -> bool {
        self.older(pidx, config.retry_ticks + u32::from(self.late), now)
    }

    /// When the packet left whose arrival made the receiver send this STATUS, if that is certain: it moved wbase, nothing beyond
    /// has arrived, and it was sent once.
    fn newest(&self, status: &StatusReport) -> Option<Tick> {
        let moved = status.wbase > self.base && status.bitmap.not_any();
        let sent = self.entry(status.wbase.checked_sub(1)?)?;
        (moved && !sent.again).then_some(sent.at)
    }

    /// STATUS: takes over what has arrived and the credit, and marks what is lost for resending (RW-10, RW-11, RW-19).
    /// False if the report makes no sense or is older than what is known.
    pub fn take_status(&mut self, status: &StatusReport, config: &SenderConfig, now: Tick) -> bool {
        if status.wbase > self.sent_upto() || status.credit > self.n {
            return false;
        }
        self.credit = self.credit.max(status.credit);
        if status.wbase < self.base {
            return false;
        }
        let polled_at = self.polled_at(status.seq);
        let came = polled_at.or_else(|| self.newest(status));
        if self.arrived_below(status.wbase) {
            self.progress(config, now);
        }
        if let Some(at) = came {
            self.sample(at, config, now);
        }
        match config.mode {
            Mode::Counter => {}
            Mode::GoBackN => {
                if self.aged(self.base, config, now) || self.overtaken(self.base, polled_at, config)
                {
                    self.rewind(self.base);
                }
            }
            Mode::RwTimer | Mode::Rw => self.take_bitmap(status, polled_at, config, now),
        }
        true
    }

    fn take_bitmap(
        &mut self,
        status: &StatusReport,
        polled_at: Option<Tick>,
        config: &SenderConfig,
        now: Tick,
    ) {
        let top = status.wbase.saturating_add(status.bitmap.len() as u32);
        // As at the receiver: what is so far below the highest that arrived would be there by now, if it was sent once only.
        let highest = (status.bitmap.last_one()).map_or(0, |last| status.wbase + last as u32 + 1);
        let old = highest.saturating_sub(config.allowance_ticks);
        let mut first = None;
        for pidx in self.base..self.sent_upto().min(top) {
            let place = (pidx - self.base) as usize;
            // Nothing that left later than what is above the highest has arrived: age alone says nothing of it.
            let lost = self.overtaken(pidx, polled_at, config)
                || (pidx < highest && self.aged(pidx, config, now))
                || (pidx < old && !self.sent[place].again);
            if status.bitmap.get(place).as_deref() == Some(&true) {
                self.sent[place].asked = false;
            } else if pidx < self.next && lost {
                self.ask(pidx);
                first = first.or(Some(pidx));
            }
        }
        // Above the window nothing was kept: what was sent there before this report goes again, in order.
        if self.overtaken(top, polled_at, config) {
            self.rewind(top);
        }
        if let Some(first) = first {
            self.go_back(first, config, now);
        }
    }
}
