//! The timer sweep: one engine for all windows, no timer per packet (RW-21).

use super::*;
use crate::rw::message::{RetxOne, RetxRange, Unknown};

/// log2 of how many times as long a window is silent before a range is asked for while DATA comes for others.
pub const BESIDE_OTHERS_LOG: u32 = 6;

/// Requests of one sweep, in the order in which they are sent.
struct Requests {
    ones: Vec<u32>,
    range: Option<(u32, u8)>,
}

impl Receiver {
    /// One visit of the timer sweep to window `wptr` (RW-12, RW-13, RW-18). Nothing if it is not open.
    pub fn sweep(&mut self, wptr: u16, now: Tick) -> Vec<Output> {
        let config = &self.config;
        let Some(t) = self
            .windows
            .get_mut(usize::from(wptr))
            .and_then(|window| window.open.as_mut())
        else {
            return Vec::new();
        };
        if now.wrapping_sub(t.last_rx) >= config.idle_ticks {
            return self.abort_idle(wptr);
        }
        let requests = match config.mode {
            Mode::Rw => t.requests(config, now, self.heard),
            Mode::RwTimer => t.requests_on_timer(config, now),
            Mode::GoBackN => t.nak(config, now),
            Mode::Counter => t.next_round(config, now),
        };
        let (dst, slot, xid) = (t.src, t.slot, t.xid);
        self.stats.retx_one += requests.ones.len() as u64;
        self.stats.retx_range += u64::from(requests.range.is_some());
        let ones = requests
            .ones
            .into_iter()
            .map(|pidx| Message::RetxOne(RetxOne { slot, xid, pidx }));
        let range = requests.range.map(|(pidx, round)| {
            Message::RetxRange(RetxRange {
                slot,
                xid,
                pidx,
                round,
            })
        });
        ones.chain(range)
            .map(|msg| Output::Send { dst, msg })
            .collect()
    }

    /// Gives up on a silent sender (RW-18): what step 1 of the sweep does after `idle_ticks`.
    pub fn abort_idle(&mut self, wptr: u16) -> Vec<Output> {
        let Some(completion) = self.close(wptr, Status::Aborted, Reason::Idle) else {
            return Vec::new();
        };
        let unknown = Unknown {
            slot: completion.slot,
            xid: completion.xid,
            reason: Reason::Idle,
        };
        vec![
            Output::Completion(completion),
            Output::Send {
                dst: completion.src,
                msg: Message::Unknown(unknown),
            },
        ]
    }
}

impl Transfer {
    /// Steps 2 to 6 of the contract.
    fn requests(&mut self, config: &ReceiverConfig, now: Tick, heard: Tick) -> Requests {
        let idle = now.wrapping_sub(self.last_rx);
        let limit = if idle >= config.allowance_ticks {
            self.highest
        } else {
            self.highest.saturating_sub(config.allowance)
        };
        let restart = now.wrapping_sub(self.mark_tick) >= config.retry_ticks;
        let mut ones = Vec::new();
        if restart {
            ones.extend(self.holes(self.wbase, self.mark.min(limit)));
        }
        ones.extend(self.holes(self.req_upto, limit));
        self.req_upto = self.req_upto.max(self.wbase).max(limit);
        if restart {
            self.mark = self.req_upto;
            self.mark_tick = now;
        }
        // While others' packets come, those of this window may stand behind them, but not for ever.
        let quiet = now.wrapping_sub(heard) >= config.tail_ticks
            || idle >> BESIDE_OTHERS_LOG >= config.tail_ticks;
        let silent = quiet && self.highest < self.n;
        let range =
            (silent && now.wrapping_sub(self.range_tick) >= config.retry_ticks).then(|| {
                self.range_tick = now;
                (
                    if config.mutations.range_from_wbase {
                        self.wbase
                    } else {
                        self.highest
                    },
                    0,
                )
            });
        Requests { ones, range }
    }

    /// Timer mode: everything that is missing, when the window has not moved for `retry_ticks`.
    fn requests_on_timer(&mut self, config: &ReceiverConfig, now: Tick) -> Requests {
        if now.wrapping_sub(self.mark_tick) < config.retry_ticks {
            return Requests {
                ones: Vec::new(),
                range: None,
            };
        }
        self.mark_tick = now;
        let ones = self.holes(self.wbase, self.highest).collect();
        Requests {
            ones,
            range: (self.highest < self.n).then_some((self.highest, 0)),
        }
    }

    /// Go-back-n: one NAK per gap, repeated after `retry_ticks`, and one after silence.
    fn nak(&mut self, config: &ReceiverConfig, now: Tick) -> Requests {
        let again = now.wrapping_sub(self.range_tick) >= config.retry_ticks;
        let asked = self.req_upto == self.wbase + 1;
        let silent = now.wrapping_sub(self.last_rx) >= config.tail_ticks;
        let due = self.wbase < self.n && ((self.gap && (!asked || again)) || (silent && again));
        let range = due.then(|| {
            self.gap = false;
            self.req_upto = self.wbase + 1;
            self.range_tick = now;
            (self.wbase, 0)
        });
        Requests {
            ones: Vec::new(),
            range,
        }
    }

    /// Counter: after silence with packets missing, everything again in a new round.
    fn next_round(&mut self, config: &ReceiverConfig, now: Tick) -> Requests {
        let silent = now.wrapping_sub(self.last_rx) >= config.tail_ticks
            && now.wrapping_sub(self.range_tick) >= config.retry_ticks;
        let range = (silent && self.count < self.n).then(|| {
            self.range_tick = now;
            self.round = (self.round + 1) % 16;
            self.count = 0;
            (0, self.round)
        });
        Requests {
            ones: Vec::new(),
            range,
        }
    }
}
