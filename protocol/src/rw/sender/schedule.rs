//! What goes out next.

use super::*;
use crate::rw::message::{Connect, Data, Poll};

impl Sender {
    /// The packet for this slot of the line, if there is one: ABORTs, then CONNECTs and POLLs whose time has come, then
    /// resends before fresh packets but one fresh packet in `fresh_every`, in turn over the transfers (RW-10, RW-15).
    pub fn next_packet(&mut self, now: u64) -> Option<Outgoing> {
        let config = &self.config;
        for t in self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.active.as_mut())
        {
            t.trust(config, now);
        }
        while let Some(choice) = self.schedule(now) {
            let out = self.perform(choice, now);
            if out.is_some() {
                return out;
            }
        }
        None
    }

    /// Everything that could be done now if every timer were due. With `give_up`, also ending any transfer.
    #[must_use]
    pub fn choices(&self, now: u64, give_up: bool) -> Vec<Choice> {
        let mut choices = Vec::new();
        if !self.aborts.is_empty() {
            choices.push(Choice::Abort);
        }
        for (index, t) in self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| Some((index, slot.active.as_ref()?)))
        {
            let slot = index as u16;
            if t.has_resend() {
                choices.push(Choice::Resend(slot));
            }
            if t.may_run_ahead(&self.config) {
                choices.push(Choice::Fresh(slot));
            }
            if t.guard(&self.config).is_some() {
                choices.push(Choice::Guard(slot));
            }
            if t.window.is_some() && self.config.echo && !self.config.mutations.no_poll {
                choices.push(Choice::EarlyPoll(slot));
            }
            choices.extend(self.query(slot, t, now));
            if give_up {
                choices.push(Choice::GiveUp(slot));
            }
        }
        choices
    }

    /// CONNECT before there is a window, POLL when there is nothing to send.
    fn query(&self, slot: u16, t: &Active, now: u64) -> Option<Choice> {
        if t.window.is_none() {
            return Some(Choice::Connect(slot));
        }
        let quiet = !t.has_resend() && !t.has_fresh(&self.config, now);
        (quiet && !self.config.mutations.no_poll).then_some(Choice::Poll(slot))
    }

    fn schedule(&self, now: u64) -> Option<Choice> {
        if !self.aborts.is_empty() {
            return Some(Choice::Abort);
        }
        let (mut resend, mut fresh) = (None, None);
        for step in 0..self.slots.len() {
            let index = (self.turn + step) % self.slots.len();
            let Some(t) = self.slots[index].active.as_ref() else {
                continue;
            };
            let slot = index as u16;
            let exhausted = self.config.max_polls.is_some_and(|max| t.polls >= max);
            if !self.config.mutations.no_poll
                && !exhausted
                && t.overdue(&self.config, now)
                && t.polled_at
                    .is_none_or(|at| now >= at + u64::from(t.interval))
            {
                return Some(Choice::Poll(slot));
            }
            if now >= t.poll_at
                && let Some(query) = self.query(slot, t, now)
            {
                return Some(if exhausted {
                    Choice::GiveUp(slot)
                } else {
                    query
                });
            }
            if t.uninformed(&self.config, now) && !self.config.mutations.no_poll {
                return Some(Choice::EarlyPoll(slot));
            }
            if resend.is_none() && t.has_resend() {
                resend = Some(Choice::Resend(slot));
            }
            if fresh.is_none() && t.has_fresh(&self.config, now) {
                fresh = Some(Choice::Fresh(slot));
            }
        }
        let fresh_first = self.since_fresh + 1 >= self.config.fresh_every;
        let packet = if fresh_first {
            fresh.or(resend)
        } else {
            resend.or(fresh)
        };
        packet.or_else(|| self.spare(now))
    }

    /// What an idle slot of the line is good for when a transfer has sent everything: a second copy of its last packets, or
    /// an early poll.
    fn spare(&self, now: u64) -> Option<Choice> {
        for step in 0..self.slots.len() {
            let index = (self.turn + step) % self.slots.len();
            let Some(t) = self.slots[index].active.as_ref() else {
                continue;
            };
            let slot = index as u16;
            if t.guard(&self.config).is_some() {
                return Some(Choice::Guard(slot));
            }
            if t.early_poll(&self.config, now) && !self.config.mutations.no_poll {
                return Some(Choice::EarlyPoll(slot));
            }
        }
        None
    }

    /// Does one of [`Sender::choices`]. `None` if it is not possible, and for [`Choice::GiveUp`].
    pub fn perform(&mut self, choice: Choice, now: u64) -> Option<Outgoing> {
        match choice {
            Choice::Abort => {
                let (dst, abort) = self.aborts.pop_front()?;
                self.stats.aborts += 1;
                Some(Outgoing {
                    dst,
                    slot: abort.slot,
                    xid: abort.xid,
                    msg: Message::Abort(abort),
                })
            }
            Choice::Connect(slot) => self.send_connect(slot, now),
            Choice::Poll(slot) => {
                let config = self.config.clone();
                self.get_mut(slot)?.back_off(&config, now);
                self.send_poll(slot, now)
            }
            Choice::EarlyPoll(slot) => {
                let t = self.get_mut(slot)?;
                t.early_polls = t.early_polls.saturating_add(1);
                self.send_poll(slot, now)
            }
            Choice::Guard(slot) => {
                let config = self.config.clone();
                let t = self.get_mut(slot)?;
                let pidx = t.guard(&config)?;
                t.guarded = pidx;
                t.copies += 1;
                self.send_data(slot, pidx, now)
            }
            Choice::Resend(slot) => {
                let t = self.slots.get_mut(usize::from(slot))?.active.as_mut()?;
                let pidx = t.take_resend(&self.config, now)?;
                self.since_fresh = self
                    .since_fresh
                    .saturating_add(1)
                    .min(self.config.fresh_every);
                self.send_data(slot, pidx, now)
            }
            Choice::Fresh(slot) => {
                let t = self.slots.get_mut(usize::from(slot))?.active.as_mut()?;
                if !t.may_run_ahead(&self.config) {
                    return None;
                }
                let pidx = t.next;
                t.next += 1;
                self.since_fresh = 0;
                self.send_data(slot, pidx, now)
            }
            Choice::GiveUp(slot) => {
                let heard = self.get(slot)?.heard;
                self.end_and_abort(
                    slot,
                    if heard {
                        Outcome::Unresponsive
                    } else {
                        Outcome::Unreachable
                    },
                    Reason::GaveUp,
                );
                None
            }
        }
    }

    fn send_connect(&mut self, slot: u16, now: u64) -> Option<Outgoing> {
        let config = self.config.clone();
        let t = self.get_mut(slot)?;
        t.back_off(&config, now);
        t.connecting = true;
        let Request {
            dst,
            addr,
            rkey,
            length,
            mtu,
        } = t.request;
        let xid = t.xid;
        let connect = Connect {
            src: config.src,
            slot,
            xid,
            incarnation: config.incarnation,
            length,
            addr,
            rkey,
            mtu,
        };
        self.stats.connects += 1;
        Some(Outgoing {
            dst,
            slot,
            xid,
            msg: Message::Connect(connect),
        })
    }

    fn send_poll(&mut self, slot: u16, now: u64) -> Option<Outgoing> {
        let seq_limit = self.config.seq_limit;
        let src = self.config.src;
        let t = self.get_mut(slot)?;
        let window = t.window?;
        t.seq = if t.seq >= seq_limit { 1 } else { t.seq + 1 };
        t.polled_at = Some(now);
        t.informed_at = Some(now);
        t.polled.retain(|(seq, _)| *seq != t.seq);
        if t.polled.len() >= 64 {
            t.polled.pop_front();
        }
        t.polled.push_back((t.seq, now));
        let poll = Poll {
            src,
            wptr: window.wptr,
            r#gen: window.r#gen,
            slot,
            xid: t.xid,
            seq: t.seq,
        };
        let out = Outgoing {
            dst: t.request.dst,
            slot,
            xid: t.xid,
            msg: Message::Poll(poll),
        };
        self.stats.polls += 1;
        Some(out)
    }

    fn send_data(&mut self, slot: u16, pidx: u32, now: u64) -> Option<Outgoing> {
        let (src, mode, stall_poll_ticks) = (
            self.config.src,
            self.config.mode,
            self.config.stall_poll_ticks,
        );
        let tail_on_first_only = self.config.mutations.tail_on_first_only;
        let turns = self.slots.len();
        let t = self.get_mut(slot)?;
        let window = t.window?;
        let again = t.note_sent(pidx, now);
        t.sent_last = now;
        t.early_polls = 0;
        t.poll_at = now
            + u64::from(if t.next < t.n && t.polls == 0 {
                stall_poll_ticks.min(t.interval)
            } else {
                t.interval
            });
        let data = Data {
            src,
            wptr: window.wptr,
            r#gen: window.r#gen,
            pidx,
            tail: pidx == t.n - 1 && !(tail_on_first_only && again),
            round: if mode == Mode::Counter {
                t.round
            } else {
                u8::from(again)
            },
            len: super::super::packet_len(t.request.length, t.request.mtu, pidx) as u16,
        };
        let out = Outgoing {
            dst: t.request.dst,
            slot,
            xid: t.xid,
            msg: Message::Data(data),
        };
        self.turn = (usize::from(slot) + 1) % turns;
        if again {
            self.stats.resent += 1;
        } else {
            self.stats.fresh += 1;
        }
        Some(out)
    }
}
