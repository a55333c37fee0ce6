//! State of one transfer at the sender.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Mode, Request, SenderConfig};
use crate::rw::message::StatusReport;

/// The window that CONNECT_RESP named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Granted {
    pub wptr: u16,
    pub r#gen: u32,
    pub w: u32,
}

/// Last sending of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    /// When.
    pub at: u64,
    /// It was not the first.
    pub again: bool,
}

/// At most so many of the last packets get a second copy before anything is known of them.
const GUARDED: u32 = 40;
/// Polls in idle slots after a packet, before the regular ones.
const EARLY_POLLS: u32 = 20;
/// As `config.overrun`, while a credit update is overdue: this share of it.
const OVERDUE_SHARE: u32 = 4;

/// A packet that leaves so many ticks after another overtakes it once in eight times at most.
fn overtaken(config: &SenderConfig) -> u64 {
    u64::from(config.allowance_ticks / 2)
}

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
    /// Asked for, to be sent again.
    pub pending: BTreeSet<u32>,
    /// Sent again after a request, arrival not yet known: number and time.
    pub repairs: BTreeMap<u32, u64>,
    /// To be sent once more: a second copy of the packet just sent again.
    pub echo: Option<u32>,
    /// Packets asked for again, or found lost, so far: how many second copies may be spent.
    pub asked: u32,
    /// Second copies sent: echoes, and copies of the last packets.
    pub copies: u32,
    /// Numbers from here on were copied after the last fresh packet.
    pub guarded: u32,
    /// Time of the last DATA packet, and polls in idle slots since.
    pub sent_last: u64,
    pub early_polls: u32,
    /// seq and time of the polls of the last round trips, oldest first.
    pub polled: VecDeque<(u16, u64)>,
    /// Counter mode: the round, modulo 16, and how many there were.
    pub round: u8,
    pub rounds: u32,
    /// Polls, or CONNECTs, since the last progress.
    pub polls: u32,
    /// BUSY answers, and whether a CONNECT has left since the last one: its second copy is no further answer.
    pub busy: u32,
    pub connecting: bool,
    /// Present poll interval and the time of the next poll.
    pub interval: u32,
    pub poll_at: u64,
    /// seq of the last poll and when it left.
    pub seq: u16,
    pub polled_at: Option<u64>,
    /// When something last left whose effect shows the whole window: a poll, or a repair that makes a credit update due.
    pub informed_at: Option<u64>,
}

impl Active {
    pub fn new(request: Request, xid: u32, n: u32, interval: u32, now: u64) -> Self {
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
            pending: BTreeSet::new(),
            repairs: BTreeMap::new(),
            echo: None,
            asked: 0,
            copies: 0,
            guarded: n,
            polled: VecDeque::new(),
            sent_last: 0,
            early_polls: 0,
            round: 0,
            rounds: 0,
            polls: 0,
            busy: 0,
            connecting: false,
            interval,
            poll_at: now,
            seq: 0,
            polled_at: None,
            informed_at: None,
        }
    }

    /// First number that was never sent.
    pub fn sent_upto(&self) -> u32 {
        self.base + self.sent.len() as u32
    }

    fn sent_at(&self, pidx: u32) -> Option<u64> {
        self.sent
            .get(pidx.checked_sub(self.base)? as usize)
            .map(|sent| sent.at)
    }

    fn sent_once(&self, pidx: u32) -> bool {
        pidx.checked_sub(self.base)
            .and_then(|place| self.sent.get(place as usize))
            .is_some_and(|sent| !sent.again)
    }

    /// Notes a sending of `pidx`; true if it is not the first.
    pub fn note_sent(&mut self, pidx: u32, now: u64) -> bool {
        let Some(place) = pidx.checked_sub(self.base) else {
            return true;
        };
        match self.sent.get_mut(place as usize) {
            Some(sent) => {
                *sent = Sent {
                    at: now,
                    again: true,
                }
            }
            None => {
                self.sent.push_back(Sent {
                    at: now,
                    again: false,
                });
                return false;
            }
        }
        true
    }

    /// Numbers below this may be sent now: the credit, and up to `overrun` above it as far as the window will have moved once all
    /// that is trusted to arrive has arrived; less far while a credit update is overdue.
    pub fn limit(&self, config: &SenderConfig, now: u64) -> u32 {
        if config.mode != Mode::Rw || config.overrun == 0 || self.credit >= self.n {
            return self.credit;
        }
        let overrun = if self.overdue(config, now) {
            config.overrun / OVERDUE_SHARE
        } else {
            config.overrun
        };
        let moved = self.trusted.saturating_sub(self.base);
        self.n.min(self.credit.saturating_add(moved.min(overrun)))
    }

    /// A packet that waits to be sent again keeps the window shut: what left above the window too long ago to arrive after it
    /// is dropped, and goes again, in order.
    pub fn go_back(&mut self, config: &SenderConfig, now: u64) {
        let (Some(granted), Some(first)) = (self.window, self.pending.first()) else {
            return;
        };
        let top = first.saturating_add(granted.w);
        let dropped = self
            .sent_at(top)
            .is_some_and(|at| now.saturating_sub(at) >= overtaken(config));
        if config.mode == Mode::Rw && config.overrun > 0 && dropped {
            self.rewind(top);
        }
    }

    /// Moves `trusted` on: over packets that were sent a round trip and the allowance ago, since a request for them would be here
    /// in most cases, and over packets sent again that a packet sent now will not overtake in most cases.
    pub fn trust(&mut self, config: &SenderConfig, now: u64) {
        let settled = u64::from(config.rtt_ticks + config.allowance_ticks);
        self.trusted = self.trusted.max(self.base);
        while self.trusted < self.next && !self.pending.contains(&self.trusted) {
            let age = if self.repairs.contains_key(&self.trusted) {
                overtaken(config)
            } else {
                settled
            };
            match self.sent_at(self.trusted) {
                Some(at) if now.saturating_sub(at) >= age => self.trusted += 1,
                _ => break,
            }
        }
    }

    /// The next credit update should have come: all packets it waits for left longer ago than a round trip and the allowance.
    /// Something is lost of which nothing is known.
    pub fn overdue(&self, config: &SenderConfig, now: u64) -> bool {
        let Some(granted) = self.window else {
            return false;
        };
        let quarter = (granted.w / 4).max(1);
        let update = (self.base / quarter + 1) * quarter;
        let waits_for = (update - self.base) as usize;
        let old = |sent: &Sent| now.saturating_sub(sent.at) >= u64::from(config.retry_ticks);
        config.mode == Mode::Rw
            && update < self.n
            && waits_for <= self.sent.len()
            && self.sent.iter().take(waits_for).rev().all(old)
    }

    pub fn has_fresh(&self, config: &SenderConfig, now: u64) -> bool {
        self.window.is_some() && self.next < self.limit(config, now)
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
        self.window.is_some() && (self.echo.is_some() || !self.pending.is_empty())
    }

    /// Second copies cost at most what the requests cost: without loss there are none.
    fn may_copy(&self) -> bool {
        self.copies < self.asked
    }

    /// A packet was asked for, or STATUS shows that it is lost.
    pub fn ask(&mut self, pidx: u32) {
        self.trusted = self.trusted.min(pidx);
        if self.pending.insert(pidx) {
            self.asked = self.asked.saturating_add(1);
        }
    }

    /// As [`Active::may_copy`], for copies that only bring the end forward: they save less than one of a packet that the
    /// window waits for, so they take four fifths of that at most.
    fn may_copy_at_end(&self) -> bool {
        self.copies < self.asked.saturating_mul(4).div_ceil(5)
    }

    /// The last packet that has no second copy yet, once all have been sent: losing it would cost the most.
    pub fn guard(&self, config: &SenderConfig) -> Option<u32> {
        let all_sent =
            self.window.is_some() && self.next == self.n && config.echo && config.mode == Mode::Rw;
        (all_sent
            && self.may_copy_at_end()
            && self.guarded > self.base
            && self.n - self.guarded < GUARDED)
            .then(|| self.guarded - 1)
    }

    /// All is sent, or the credit is used up and an update is overdue: a poll now, before the regular one, tells at once what is
    /// lost.
    pub fn early_poll(&self, config: &SenderConfig, now: u64) -> bool {
        let step = (config.stall_poll_ticks / 8).max(1);
        self.window.is_some()
            && config.mode == Mode::Rw
            && config.echo
            && self.asked > 0
            && self.early_polls < EARLY_POLLS
            && (self.next == self.n || self.overdue(config, now))
            && now >= self.sent_last + u64::from((self.early_polls + 1) * step)
    }

    /// For a round trip, and for as long as it takes to lose every copy of a message, nothing has left that would show a packet
    /// of which the request was lost, and the window is small enough to shut before that shows by itself: a poll is worth its
    /// slot.
    pub fn uninformed(&self, config: &SenderConfig, now: u64) -> bool {
        let every = self
            .sent_upto()
            .checked_div(self.asked)
            .unwrap_or(u32::MAX)
            .saturating_pow(config.receiver_copies.into())
            .max(config.rtt_ticks);
        config.mode == Mode::Rw
            && config.echo
            && self.next < self.n
            && self.shuts_soon(self.base, config)
            && self
                .informed_at
                .is_some_and(|at| now.saturating_sub(at) >= u64::from(every))
    }

    /// The window shuts at `pidx` before it is known that `pidx` is lost once more.
    fn shuts_soon(&self, pidx: u32, config: &SenderConfig) -> bool {
        let known = config.rtt_ticks.saturating_add(config.retry_ticks);
        self.window
            .is_some_and(|granted| pidx.saturating_add(granted.w) < self.next.saturating_add(known))
    }

    /// Whether losing `pidx` once more would shut the window before that is known, or delay the end, and a copy is worth it:
    /// the fewer packets are left above the window, the fewer are sent in vain without one.
    fn critical(&self, pidx: u32, config: &SenderConfig) -> bool {
        if self.next == self.n {
            return self.may_copy_at_end();
        }
        let w = self.window.map_or(0, |granted| granted.w);
        pidx.saturating_add(w + w / 4) < self.n && self.shuts_soon(pidx, config)
    }

    /// Takes the next packet to send again: the second copy of the last one, or the lowest that was asked for.
    pub fn take_resend(&mut self, config: &SenderConfig, now: u64) -> Option<u32> {
        if let Some(pidx) = self.echo.take() {
            return Some(pidx);
        }
        let pidx = self.pending.pop_first()?;
        if config.overrun > 0 {
            self.repairs.insert(pidx, now);
        }
        // Its arrival moves wbase at least to the next packet that waits.
        let quarter = self.window.map_or(1, |granted| (granted.w / 4).max(1));
        let stop = self.pending.first().copied().unwrap_or(self.next);
        if pidx / quarter != stop / quarter {
            self.informed_at = Some(now);
        }
        let pays = config.echo
            && config.mode == Mode::Rw
            && self.may_copy()
            && self.critical(pidx, config);
        self.echo = pays.then_some(pidx);
        self.copies += u32::from(pays);
        Some(pidx)
    }

    /// Progress: the poll interval and the count of polls start again (RW-10, RW-18).
    pub fn progress(&mut self, config: &SenderConfig, now: u64) {
        self.polls = 0;
        self.interval = config.poll_ticks;
        self.poll_at = now + u64::from(self.interval);
    }

    /// A poll or CONNECT leaves: the next one waits twice as long (RW-10).
    pub fn back_off(&mut self, config: &SenderConfig, now: u64) {
        self.polls = if config.max_polls.is_some() {
            self.polls.saturating_add(1)
        } else {
            0
        };
        self.poll_at = now + u64::from(self.interval);
        self.interval = self.interval.saturating_mul(2).min(config.poll_ticks_max);
    }

    /// Moves the send pointer back to `pidx` (RW-14: never forward).
    pub fn rewind(&mut self, pidx: u32) {
        if pidx < self.next {
            self.next = pidx;
            self.trusted = self.trusted.min(pidx);
            self.pending.split_off(&pidx);
        }
    }

    /// A request for `pidx` makes sense: it was sent, so long ago that the receiver could miss it (a round trip and the
    /// reorder allowance), and is not known to have arrived. A NAK of
    /// go-back-n needs no age: it is never sent twice for one gap within a round trip.
    pub fn plausible(&self, pidx: u32, config: &SenderConfig, now: u64) -> bool {
        if config.mode == Mode::GoBackN {
            return self.sent_at(pidx).is_some();
        }
        self.sent_at(pidx).is_some_and(|at| {
            now.saturating_sub(at)
                >= u64::from(config.rtt_ticks) + u64::from(config.allowance_ticks)
        })
    }

    /// As [`Active::plausible`], for a range: the receiver asks for it after silence, whatever may be on its way, so the packet
    /// must be old enough to have arrived before the request left.
    pub fn plausible_range(&self, pidx: u32, config: &SenderConfig, now: u64) -> bool {
        let old = self
            .sent_at(pidx)
            .is_some_and(|at| now.saturating_sub(at) >= u64::from(config.retry_ticks));
        self.plausible(pidx, config, now) && (config.mode != Mode::Rw || old)
    }

    /// Everything below `base` has arrived.
    pub fn arrived_below(&mut self, base: u32) -> bool {
        let Some(by) = base.checked_sub(self.base).filter(|by| *by > 0) else {
            return false;
        };
        self.sent.drain(..(by as usize).min(self.sent.len()));
        self.base = base;
        self.next = self.next.max(base);
        self.pending = self.pending.split_off(&base);
        self.repairs = self.repairs.split_off(&base);
        true
    }

    /// A packet that STATUS does not show is lost if it left long enough before STATUS was made: a round trip and the
    /// reorder allowance before now, or the allowance before the poll that STATUS answers.
    fn lost(&self, pidx: u32, polled_at: Option<u64>, config: &SenderConfig, now: u64) -> bool {
        self.sent_at(pidx).is_some_and(|at| {
            now.saturating_sub(at) >= u64::from(config.retry_ticks)
                || polled_at.is_some_and(|polled| at + u64::from(config.allowance_ticks) <= polled)
        })
    }

    /// STATUS: takes over what has arrived and the credit, and marks what is lost for resending (RW-10, RW-11, RW-19).
    /// False if the report makes no sense or is older than what is known.
    pub fn take_status(&mut self, status: &StatusReport, config: &SenderConfig, now: u64) -> bool {
        if status.wbase > self.sent_upto() || status.credit > self.n {
            return false;
        }
        self.credit = self.credit.max(status.credit);
        if status.wbase < self.base {
            return false;
        }
        if self.arrived_below(status.wbase) {
            self.progress(config, now);
        }
        let polled_at = self
            .polled
            .iter()
            .find(|(seq, _)| *seq == status.seq)
            .map(|(_, at)| *at);
        match config.mode {
            Mode::Counter => {}
            Mode::GoBackN => {
                if self.lost(self.base, polled_at, config, now) {
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
        polled_at: Option<u64>,
        config: &SenderConfig,
        now: u64,
    ) {
        let top = status.wbase.saturating_add(status.bitmap.len() as u32);
        // As at the receiver: what is so far below the highest that arrived would be there by now, if it was sent once only.
        let old = status.bitmap.last_one().map_or(0, |last| {
            (status.wbase + last as u32 + 1).saturating_sub(config.allowance_ticks)
        });
        for pidx in self.base..self.sent_upto().min(top) {
            if status.bitmap.get((pidx - status.wbase) as usize).as_deref() == Some(&true) {
                self.pending.remove(&pidx);
                self.repairs.remove(&pidx);
            } else if pidx < self.next
                && (self.lost(pidx, polled_at, config, now) || (pidx < old && self.sent_once(pidx)))
            {
                self.ask(pidx);
            }
        }
        // Above the window nothing was kept: what was sent there before this report goes again, in order.
        if self.lost(top, polled_at, config, now) {
            self.rewind(top);
        }
        self.go_back(config, now);
    }
}
