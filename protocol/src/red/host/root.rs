//! The endpoint that arms the tree, completes results in software and multicasts them.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use thiserror::Error;

use super::{
    group::{Event, Fill, Group, Ignored, Kind, Outcome, Output},
    repsum::TooManySummands,
};
use crate::red::{
    address::Address,
    ops::{Op, Rc, Value},
    partial::Partial,
    seqno_after, seqno_newer,
    wire::Frame,
};

/// Settings of a root; times in clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootConfig {
    /// How long an attempt may take: more than the engines' timeouts on the way together.
    pub attempt_timeout: u64,
    /// Attempts through the engines before the roll call.
    pub attempts: u32,
    /// How long to wait for answers to a roll call.
    pub roll_timeout: u64,
    /// How often the roll is called: first by multicast, then by unicast to those not heard.
    pub rolls: u32,
    /// Arm anew at the start of a round if the tree was armed longer ago than this and nothing has come: engines have timed out.
    pub rearm_after: u64,
    /// The root's value goes up its own port, as a leaf's does, and comes back with all others ([`crate::red::switch::Tree`]): so
    /// that its card can answer the result (CL-6). Otherwise the root adds its value in software. `rolls` calls together must take
    /// longer than the card's completions, or a round that the card has answered may end without those who were in it.
    pub contributes: bool,
}

impl Default for RootConfig {
    /// 2 ms for an attempt, 0.4 ms for a roll call at 250 MHz; fits the default timeouts of the engines.
    fn default() -> Self {
        Self {
            attempt_timeout: 500_000,
            attempts: 3,
            roll_timeout: 100_000,
            rolls: 3,
            rearm_after: 25_000,
            contributes: false,
        }
    }
}

/// Why a round was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StartError {
    /// The last one is not over.
    #[error("round {0} is still under way")]
    Busy(u64),
    /// The value is a reproducible sum of too many summands for this group.
    #[error(transparent)]
    Summands(#[from] TooManySummands),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Through the engines; the number of the attempt.
    Attempt(u32),
    /// By unicast; the number of the call.
    RollCall(u32),
}

/// The root of a group.
#[derive(Clone, Debug)]
pub struct Root {
    group: Arc<Group>,
    config: RootConfig,
    round: u64,
    seqno: u16,
    /// The first one of this round.
    first: u16,
    phase: Phase,
    /// The root's own value: the round is under way.
    own: Option<(Op, Value)>,
    collected: Option<Partial>,
    /// Whose frames are in `collected`: leaves and ports of switches.
    sources: BTreeSet<Address>,
    /// Who has answered the roll call.
    present: BTreeSet<Address>,
    armed_at: u64,
    deadline: u64,
    /// Sequence number and result of the last round.
    last: (u16, Outcome),
    /// Whose frames are in the last result.
    last_sources: BTreeSet<Address>,
    outputs: VecDeque<Output>,
}

impl Root {
    /// A root before its first round; the frame that arms the tree is the first output.
    #[must_use]
    pub fn new(group: impl Into<Arc<Group>>, config: RootConfig, now: u64) -> Self {
        let group = group.into();
        let none = Outcome {
            round: 0,
            op: Op::Barrier,
            value: Value::default(),
            count: 0,
        };
        let seqno = group.first_seqno;
        let mut root = Self {
            group,
            config,
            round: 0,
            seqno,
            first: seqno,
            phase: Phase::Attempt(1),
            own: None,
            collected: None,
            sources: BTreeSet::new(),
            present: BTreeSet::new(),
            armed_at: now,
            deadline: 0,
            // No round yet: a number that no leaf can have sent for.
            last: (seqno.wrapping_sub(1) & 0x3ff, none),
            last_sources: BTreeSet::new(),
            outputs: VecDeque::new(),
        };
        root.announce(Kind::Reduce, now);
        root
    }

    /// The round that is open.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Gives the root's own value and starts the clock of the round. The result comes as [`Event::Done`].
    ///
    /// # Errors
    /// The last one is not over, or the value is more than an endpoint's share of a reproducible sum; nothing is sent then.
    pub fn start(&mut self, op: Op, value: Value, now: u64) -> Result<u64, StartError> {
        if self.own.is_some() {
            return Err(StartError::Busy(self.round));
        }
        self.group.check_contribution(op, &value)?;
        self.own = Some((op, value));
        self.deadline = now.saturating_add(self.config.attempt_timeout);
        if self.collected.is_none() && now.saturating_sub(self.armed_at) > self.config.rearm_after {
            self.attempt(Phase::Attempt(1), now);
        } else {
            self.contribute();
        }
        let round = self.round;
        self.check(now);
        Ok(round)
    }

    /// Clock at which [`Root::poll`] has something to do by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.own.map(|_| self.deadline)
    }

    /// A frame that has come in, and that the card has answered (CL-6): the result of its round. The tree is armed for the next
    /// one, with the sequence number after its own.
    ///
    /// # Errors
    /// It ended no round: it is not of this group, or that round was over.
    pub fn answered(&mut self, bytes: &[u8], now: u64) -> Result<(), Ignored> {
        let (frame, kind) = self.group.parse(bytes)?;
        let to = frame.fabric.dfa.multicast();
        if kind != Kind::Reduce || to != Some(self.group.key) || !frame.contributes() {
            return Err(Ignored::Foreign);
        }
        let earlier = frame.red.seqno != self.first && !seqno_newer(frame.red.seqno, self.first);
        if earlier || self.own.is_none() {
            // Software had ended that round by other frames of this attempt, which all members are in, too.
            if frame.red.seqno == self.last.0 {
                let (round, leaf) = (self.last.1.round, frame.fabric.sfa);
                self.outputs
                    .push_back(Output::Event(Event::Doubtful { round, leaf }));
            }
            return Err(Ignored::Stale);
        }
        self.own = None;
        self.end(frame.red.seqno, Partial::first(&frame));
        self.last_sources = std::mem::take(&mut self.sources);
        self.last_sources.insert(frame.fabric.sfa);
        self.forget();
        // Further attempts at this round do not leave the card any more.
        self.seqno = seqno_after(frame.red.seqno);
        self.first = self.seqno;
        self.armed_at = now;
        Ok(())
    }

    /// What has come up since the last call.
    pub fn poll(&mut self, now: u64) -> Vec<Output> {
        if self.own.is_some() && self.deadline <= now {
            match self.phase {
                Phase::Attempt(n) if n < self.config.attempts => self.retry(now),
                Phase::Attempt(_) => self.attempt(Phase::RollCall(1), now),
                Phase::RollCall(n) if n < self.config.rolls => {
                    self.phase = Phase::RollCall(n + 1);
                    self.deadline = now.saturating_add(self.config.roll_timeout);
                    for leaf in self.not_in(&self.sources) {
                        self.down(Kind::RollCall, leaf);
                    }
                }
                Phase::RollCall(_) => self.finish(now),
            }
        }
        self.outputs.drain(..).collect()
    }

    /// A frame that has come in.
    ///
    /// # Errors
    /// It changed nothing, and why.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Result<(), Ignored> {
        let (frame, kind) = self.group.parse(bytes)?;
        let (from, to) = (frame.fabric.sfa, frame.fabric.dfa);
        let leaf = || self.group.leaves.contains(&from);
        match kind {
            Kind::Reduce if to.multicast() == Some(self.group.key) && !frame.red.arm => {
                frame.check_up()?;
                let called = matches!(self.phase, Phase::RollCall(_));
                if called || frame.red.seqno != self.seqno {
                    let own = self.config.contributes && from == self.group.root;
                    if frame.red.seqno == self.last.0 && (leaf() || own) {
                        self.doubt(from);
                    }
                    return Err(Ignored::Stale);
                }
                self.collect(&frame)?;
            }
            Kind::Present if to == self.group.root && leaf() => {
                let called = matches!(self.phase, Phase::RollCall(_));
                if !called || frame.red.seqno != self.seqno {
                    return Err(Ignored::Stale);
                }
                self.present.insert(from);
                if frame.red.count == 0 {
                    return Ok(());
                }
                self.collect(&frame)?;
            }
            Kind::Query if to == self.group.root && leaf() => {
                let kind = match self.phase {
                    Phase::Attempt(_) => Kind::Reduce,
                    Phase::RollCall(_) => Kind::RollCall,
                };
                self.down(kind, from);
                return Ok(());
            }
            _ => return Err(Ignored::Foreign),
        }
        self.check(now);
        Ok(())
    }

    /// A member's contribution to a complete round came after its result: a frame of someone has been there twice.
    fn doubt(&mut self, leaf: Address) {
        let complete = self.last.1.count == self.group.size();
        if complete && self.last_sources.insert(leaf) {
            let round = self.last.1.round;
            self.outputs
                .push_back(Output::Event(Event::Doubtful { round, leaf }));
        }
    }

    fn collect(&mut self, frame: &Frame) -> Result<(), Ignored> {
        if !self.sources.insert(frame.fabric.sfa) {
            return Err(Ignored::Duplicate);
        }
        match &mut self.collected {
            None => self.collected = Some(Partial::first(frame)),
            Some(partial) => partial.add(frame, self.group.mode),
        }
        Ok(())
    }

    /// Ends the round if everyone is in; throws an attempt away in which someone was counted twice.
    fn check(&mut self, now: u64) {
        let called = matches!(self.phase, Phase::RollCall(_));
        let own_comes = self.config.contributes && !called;
        let wanted = self.group.size() - u32::from(!own_comes);
        let count = self.collected.map_or(0, |c| c.count);
        let doubled = count > wanted
            || self
                .collected
                .is_some_and(|c| c.value.rc == Rc::CONTR_OVERFLOW);
        match (self.own, self.phase) {
            (None, _) => {}
            (Some(_), Phase::Attempt(n)) if doubled => {
                if n < self.config.attempts {
                    self.retry(now);
                } else {
                    self.attempt(Phase::RollCall(1), now);
                }
            }
            (Some(_), _) if count >= wanted => self.finish(now),
            _ => {}
        }
    }

    fn retry(&mut self, now: u64) {
        if let Phase::Attempt(n) = self.phase {
            self.attempt(Phase::Attempt(n + 1), now);
        }
    }

    /// Begins anew with the next sequence number: nothing of the old one counts any more.
    fn attempt(&mut self, phase: Phase, now: u64) {
        self.phase = phase;
        self.seqno = seqno_after(self.seqno);
        self.forget();
        let (kind, time) = match phase {
            Phase::Attempt(_) => (Kind::Reduce, self.config.attempt_timeout),
            Phase::RollCall(_) => (Kind::RollCall, self.config.roll_timeout),
        };
        self.deadline = now.saturating_add(time);
        self.outputs.push_back(Output::Event(Event::Retry {
            round: self.round,
            seqno: self.seqno,
        }));
        self.announce(kind, now);
        self.contribute();
    }

    /// Sends the root's own value, if it goes up with the others.
    fn contribute(&mut self) {
        let Some((op, value)) = self.own.filter(|_| self.config.contributes) else {
            return;
        };
        if matches!(self.phase, Phase::Attempt(_)) {
            let own = self.own_frame(op, value);
            let bytes = own.to_bytes(self.group.ethertype).to_vec();
            self.outputs.push_back(Output::Send(bytes));
        }
    }

    fn own_frame(&self, op: Op, value: Value) -> Frame {
        let own = Fill {
            round: self.round,
            seqno: self.seqno,
            resno: self.seqno,
            arm: false,
            op,
            count: 1,
            value,
        };
        let to = self.group.key.address();
        self.group.frame(Kind::Reduce, self.group.root, to, &own)
    }

    fn forget(&mut self) {
        self.collected = None;
        self.sources.clear();
        self.present.clear();
    }

    /// Leaves that are not in a set, in the group's order.
    fn not_in(&self, set: &BTreeSet<Address>) -> Vec<Address> {
        let leaves = self.group.leaves.iter().copied();
        leaves.filter(|leaf| !set.contains(leaf)).collect()
    }

    fn finish(&mut self, now: u64) {
        let Some((op, value)) = self.own.take() else {
            return;
        };
        // Only a roll call ends a round early, and its sources are the leaves themselves.
        let missing = self.not_in(&self.sources);
        if matches!(self.phase, Phase::RollCall(_)) && !missing.is_empty() {
            self.outputs.push_back(Output::Event(Event::Missing {
                round: self.round,
                missing,
                silent: self.not_in(&self.present),
            }));
        }
        let called = matches!(self.phase, Phase::RollCall(_));
        let own = self.own_frame(op, value);
        let total = match self.collected.take() {
            Some(partial) if self.config.contributes && !called => partial,
            Some(mut partial) => {
                partial.add(&own, self.group.mode);
                partial
            }
            None => Partial::first(&own),
        };
        self.end(self.seqno, total);
        self.seqno = seqno_after(self.seqno);
        self.first = self.seqno;
        self.last_sources = std::mem::take(&mut self.sources);
        self.forget();
        self.announce(Kind::Reduce, now);
    }

    /// The round is over, with what was collected under this sequence number.
    fn end(&mut self, seqno: u16, total: Partial) {
        let outcome = Outcome {
            round: self.round,
            op: total.op,
            value: total.value,
            count: total.count,
        };
        self.outputs.push_back(Output::Event(Event::Done(outcome)));
        self.last = (seqno, outcome);
        self.round += 1;
        self.phase = Phase::Attempt(1);
    }

    /// Multicasts the last result with the number that is now armed (or, for a roll call, released).
    fn announce(&mut self, kind: Kind, now: u64) {
        self.armed_at = now;
        self.down(kind, self.group.key.address());
    }

    fn down(&mut self, kind: Kind, to: Address) {
        let (resno, outcome) = self.last;
        let fill = Fill {
            round: self.round,
            seqno: self.seqno,
            resno,
            arm: kind == Kind::Reduce,
            op: outcome.op,
            count: outcome.count,
            value: outcome.value,
        };
        let frame = self.group.frame(kind, self.group.root, to, &fill);
        let bytes = frame.to_bytes(self.group.ethertype).to_vec();
        self.outputs.push_back(Output::Send(bytes));
    }
}
