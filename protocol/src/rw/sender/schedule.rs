//! What goes out next.

use super::*;
use crate::rw::message::{Connect, Data, Poll};

impl Sender {
    /// The packet for this slot of the line, if there is one: ABORTs, then CONNECTs and POLLs whose time has come, then
    /// resends before fresh packets but one fresh packet in `fresh_every`, in turn over the transfers (RW-10, RW-15).
    pub fn next_packet(&mut self, now: u64) -> Option<Outgoing> {
        let active = (self.slots.iter_mut()).filter_map(|slot| slot.active.as_mut());
        for t in active {
            t.trust(&self.config, now as Tick);
            t.pace.advance(now as Tick);
        }
        while let Some(choice) = self.schedule(now) {
            let out = self.perform(choice, now);
            if out.is_some() {
                return out;
            }
        }
        None
    }

    /// Looks at the timers of the transfer in a slot, as every operation does at its end; what it wants then, whatever its pace.
    pub fn visit(&mut self, slot: u16, now: u64) -> Wants {
        if let Some(t) = self
            .slots
            .get_mut(usize::from(slot))
            .and_then(|slot| slot.active.as_mut())
        {
            t.trust(&self.config, now as Tick);
            t.pace.advance(now as Tick);
        }
        self.wants(slot, now)
    }

    /// What the transfer in a slot wants of the line, whatever its pace: a packet that only waits for that is nothing to poll about.
    #[must_use]
    pub fn wants(&self, slot: u16, now: u64) -> Wants {
        let now = now as Tick;
        let Some(t) = self.get(slot) else {
            return Wants::default();
        };
        let polls = !self.config.mutations.no_poll;
        Wants {
            due: t.poll_due(now) && self.query(slot, t).is_some(),
            resend: t.has_resend(),
            fresh: t.has_fresh(&self.config),
            spare: polls && t.early_poll(&self.config, now),
        }
    }

    /// Whether the next packet of the transfer in a slot has to wait for its pace (CL-4).
    #[must_use]
    pub fn is_held(&self, slot: u16, now: u64) -> bool {
        self.get(slot).is_some_and(|t| t.pace.holds(now as Tick))
    }

    /// What to do for a transfer whose turn it is.
    #[must_use]
    pub fn choice(&self, slot: u16, class: Class) -> Option<Choice> {
        match class {
            Class::Due => {
                let t = self.get(slot)?;
                if self.config.max_polls.is_some_and(|max| t.polls >= max) {
                    Some(Choice::GiveUp(slot))
                } else {
                    self.query(slot, t)
                }
            }
            Class::Resend => Some(Choice::Resend(slot)),
            Class::Fresh => Some(Choice::Fresh(slot)),
            Class::Spare => Some(Choice::EarlyPoll(slot)),
        }
    }

    /// Everything that could be done now if every timer were due. With `give_up`, also ending any transfer.
    #[must_use]
    pub fn choices(&self, give_up: bool) -> Vec<Choice> {
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
            if t.window.is_some() && self.config.echo && !self.config.mutations.no_poll {
                choices.push(Choice::EarlyPoll(slot));
            }
            choices.extend(self.query(slot, t));
            if give_up {
                choices.push(Choice::GiveUp(slot));
            }
        }
        choices
    }

    /// CONNECT before there is a window, POLL when there is nothing to send.
    fn query(&self, slot: u16, t: &Active) -> Option<Choice> {
        if t.window.is_none() {
            return Some(Choice::Connect(slot));
        }
        let quiet = !t.has_resend() && !t.has_fresh(&self.config);
        (quiet && !self.config.mutations.no_poll).then_some(Choice::Poll(slot))
    }

    fn schedule(&self, now: u64) -> Option<Choice> {
        if !self.aborts.is_empty() {
            return Some(Choice::Abort);
        }
        if self.slots.iter().all(|slot| slot.active.is_none()) {
            return None;
        }
        // Nothing is allocated for the usual sizes.
        let (mut few, mut many) = ([Wants::default(); 32], Vec::new());
        let wants = match few.get_mut(..self.slots.len()) {
            Some(wants) => wants,
            None => {
                many.resize(self.slots.len(), Wants::default());
                &mut many
            }
        };
        for (slot, wants) in (0..).zip(&mut *wants) {
            *wants = self.wants(slot, now).paced(self.is_held(slot, now));
        }
        let (slot, class) = self.turns.pick(wants, self.config.fresh_every)?;
        self.choice(slot as u16, class)
    }

    /// Does one of [`Sender::choices`]. `None` if it is not possible, and for [`Choice::GiveUp`].
    pub fn perform(&mut self, choice: Choice, now: u64) -> Option<Outgoing> {
        let now = now as Tick;
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
                let config = self.config.clone();
                let t = self.get_mut(slot)?;
                t.count_early_poll(&config, now);
                self.send_poll(slot, now)
            }
            Choice::Resend(slot) => {
                let t = self.slots.get_mut(usize::from(slot))?.active.as_mut()?;
                let pidx = t.take_resend(&self.config)?;
                self.send_data(slot, pidx, true, now)
            }
            Choice::Fresh(slot) => {
                let t = self.slots.get_mut(usize::from(slot))?.active.as_mut()?;
                if !t.may_run_ahead(&self.config) {
                    return None;
                }
                let pidx = t.next;
                t.next += 1;
                self.send_data(slot, pidx, false, now)
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

    fn send_connect(&mut self, slot: u16, now: Tick) -> Option<Outgoing> {
        let config = self.config.clone();
        let t = self.get_mut(slot)?;
        t.back_off(&config, now);
        t.note_connect(now);
        let Request {
            dst,
            addr,
            rkey,
            length,
            mtu,
            oldest_first: _,
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

    fn send_poll(&mut self, slot: u16, now: Tick) -> Option<Outgoing> {
        let seq_limit = self.config.seq_limit;
        let src = self.config.src;
        let t = self.get_mut(slot)?;
        let window = t.window?;
        let seq = t.next_seq(seq_limit, now);
        let poll = Poll {
            src,
            wptr: window.wptr,
            r#gen: window.r#gen,
            slot,
            xid: t.xid,
            seq,
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

    fn send_data(&mut self, slot: u16, pidx: u32, resend: bool, now: Tick) -> Option<Outgoing> {
        let config = self.config.clone();
        let (src, mode) = (config.src, config.mode);
        let tail_on_first_only = self.config.mutations.tail_on_first_only;
        let turns = self.slots.len();
        let t = self.get_mut(slot)?;
        let window = t.window?;
        let again = t.note_sent(pidx, now);
        t.put_off(&config, now);
        if let Some(pace) = config.pace {
            t.pace.sent(pace, now);
        }
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
        self.turns
            .sent(usize::from(slot), turns, resend, config.fresh_every);
        if again {
            self.stats.resent += 1;
        } else {
            self.stats.fresh += 1;
        }
        Some(out)
    }
}
