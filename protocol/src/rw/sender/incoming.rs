//! Messages from the receiver.

use super::pace::Congestion;
use super::*;
use crate::rw::{
    codes::{ConnectStatus, Status},
    message::ConnectResp,
};

/// Longest wait that a BUSY answer can ask for, ticks: half of what the clock can tell apart.
const BUSY_WAIT: u16 = (1 << 15) - 1;

impl Sender {
    /// Acts on a message from the network, if its slot is active with that xid (RW-7); otherwise counts it.
    pub fn on_message(&mut self, msg: &Message, now: u64) {
        if !self.act(msg, now as Tick) {
            self.stats.ignored += 1;
        }
    }

    /// The receiver says how many share its line, or that packets came marked (CL-4); whether the transfer is slower for it.
    pub fn on_congestion(&mut self, slot: u16, xid: u32, said: Congestion, now: u64) -> bool {
        let Some(pace) = self.config.pace else {
            return false;
        };
        self.named(slot, xid)
            .is_some_and(|t| t.pace.heard(pace, said, now as Tick))
    }

    /// The transfer a message names, if it is the one in its slot.
    fn named(&mut self, slot: u16, xid: u32) -> Option<&mut Active> {
        let t = self.get_mut(slot).filter(|t| t.xid == xid)?;
        t.heard = true;
        Some(t)
    }

    fn act(&mut self, msg: &Message, now: Tick) -> bool {
        let config = self.config.clone();
        match msg {
            Message::Complete(m) => {
                let named = self
                    .get(m.slot)
                    .is_some_and(|t| t.xid == m.xid || config.mutations.any_xid_completes);
                let outcome = match m.status {
                    Status::Ok => Outcome::Ok,
                    Status::Aborted => Outcome::Aborted,
                    Status::NotReady => Outcome::NotReady,
                };
                named && self.end(m.slot, outcome).is_some()
            }
            Message::Unknown(m) => {
                self.named(m.slot, m.xid).is_some() && self.end(m.slot, Outcome::Aborted).is_some()
            }
            Message::ConnectResp(m) => self.on_connect_resp(m, &config, now),
            Message::RetxOne(m) => {
                let Some(t) = self.named(m.slot, m.xid) else {
                    return false;
                };
                let plausible = t.plausible(m.pidx, &config, now) && m.pidx < t.next;
                if plausible {
                    t.ask(m.pidx);
                    t.go_back(m.pidx, &config, now);
                } else {
                    self.stats.stale_requests += 1;
                }
                plausible
            }
            Message::RetxRange(m) => {
                let Some(t) = self.named(m.slot, m.xid) else {
                    return false;
                };
                if config.mode == Mode::Counter {
                    return self.on_next_round(m.slot, m.round, &config, now);
                }
                let plausible = t.plausible_range(m.pidx, &config, now);
                if config.mode == Mode::GoBackN
                    && m.pidx <= t.sent_upto()
                    && t.arrived_below(m.pidx)
                {
                    // A NAK also says that everything below has arrived.
                    let w = t.window.map_or(0, |granted| granted.w);
                    t.credit = t.credit.max(t.n.min(m.pidx.saturating_add(w)));
                    t.progress(&config, now);
                }
                // A second copy of the request finds the pointer moved back: nothing more was asked for.
                if plausible && config.mode == Mode::Rw && m.pidx < t.next {
                    t.owe();
                }
                if plausible {
                    t.rewind(m.pidx);
                } else {
                    self.stats.stale_requests += 1;
                }
                plausible
            }
            Message::Status(m) => self
                .named(m.slot, m.xid)
                .is_some_and(|t| t.window.is_some() && t.take_status(m, &config, now)),
            Message::Data(_) | Message::Connect(_) | Message::Poll(_) | Message::Abort(_) => false,
        }
    }

    fn on_connect_resp(&mut self, m: &ConnectResp, config: &SenderConfig, now: Tick) -> bool {
        let Some(t) = self.named(m.slot, m.xid).filter(|t| t.window.is_none()) else {
            return false;
        };
        match m.status {
            ConnectStatus::Ok => {
                let granted = active::Granted {
                    wptr: m.wptr,
                    r#gen: m.r#gen,
                    w: u32::from(m.w),
                };
                t.open(granted, m.credit, config, now);
            }
            ConnectStatus::Busy if !t.connecting => return false,
            ConnectStatus::Busy => {
                t.connecting = false;
                t.busy = t.busy.saturating_add(1);
                let given_up = t.busy > config.max_busy;
                t.progress(config, now);
                t.poll_at = now.wrapping_add(m.retry.min(BUSY_WAIT));
                if given_up {
                    self.end(m.slot, Outcome::Busy);
                }
            }
            ConnectStatus::Refused => {
                self.end(m.slot, Outcome::Refused);
            }
            ConnectStatus::Access => {
                self.end(m.slot, Outcome::Access);
            }
            ConnectStatus::BadQp => {
                self.end(m.slot, Outcome::BadQp);
            }
        }
        true
    }

    /// Counter mode: everything again, if the round is newer than the present one.
    fn on_next_round(&mut self, slot: u16, round: u8, config: &SenderConfig, now: Tick) -> bool {
        let Some(t) = self.get_mut(slot) else {
            return false;
        };
        if !(1..8).contains(&(round.wrapping_sub(t.round) % 16)) {
            self.stats.stale_requests += 1;
            return false;
        }
        t.round = round;
        t.rounds = t.rounds.saturating_add(1);
        t.rewind(0);
        t.progress(config, now);
        if t.rounds > config.max_rounds {
            self.end_and_abort(slot, Outcome::Unresponsive, Reason::GaveUp);
        }
        true
    }
}
