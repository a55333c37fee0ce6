//! What a communicator does when it is polled.

use std::sync::PoisonError;
use std::time::Duration;

use super::stripes::striped_over;
use super::{
    Communicator, Data, Finished, Input, Operation, Outcome, Plan, Read, Ticket, Work, outcome,
};
use crate::collective::data::prepare;
use crate::collective::long::{Around, Came, Progress as Exchanged};
use crate::collective::messages::Message;
use crate::collective::software::{Content, Progress, Software};
use crate::collective::switch::{Grant, News, Switch};
use crate::collective::{CollectiveError, Operation as Kind, Why};
use crate::{AddressHandle, Error};

/// Broadcasts of up to so many bytes go through the engines: a bitwise or with zeros.
const SMALL: usize = 256;

impl Communicator {
    /// Does what can be done, and returns the oldest operation that has ended. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached or failed.
    pub fn poll(&mut self) -> Result<Option<Finished>, CollectiveError> {
        self.work()?;
        Ok(self.finished.pop_front())
    }

    pub(super) fn work(&mut self) -> Result<(), CollectiveError> {
        let done = self.try_work();
        if done.is_err() {
            self.fail(self.rank, Why::Broken);
            // As far as the card still sends.
            let _ = self.host.hub().push();
        }
        Ok(done?)
    }

    fn try_work(&mut self) -> Result<(), Error> {
        self.host.hub().pull()?;
        let now = self.host.now();
        self.turn(now)?;
        self.host.hub().push()
    }

    /// Does what can be done with what the host has taken in.
    pub(super) fn turn(&mut self, now: u64) -> Result<(), Error> {
        loop {
            let next = self.host.hub().take(self.name);
            let Some((from, message)) = next else { break };
            self.receive(from, message, now);
        }
        self.find_lost();
        self.poll_switches(now)?;
        self.turn_stripes(now)?;
        while self.failed.is_none() && self.advance(now) {}
        self.ask(now);
        Ok(())
    }

    /// Whether all that this host has sent has arrived.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.host.hub().is_quiet()
    }

    /// Waits until all that this member has sent has arrived.
    pub(super) fn drain(&mut self) -> Result<(), CollectiveError> {
        let begun = self.host.now();
        let patience = self.options.patience;
        while !self.is_drained() {
            self.work()?;
            let over = Duration::from_nanos(self.host.now().saturating_sub(begun));
            if over > patience {
                return Err(CollectiveError::TimedOut {
                    operation: self.next.saturating_sub(1),
                    waiting: Vec::new(),
                });
            }
        }
        Ok(())
    }

    fn receive(&mut self, from: AddressHandle, message: Message, now: u64) {
        let Some(&rank) = self.rank_of.get(&from) else {
            self.counters.strange += 1;
            return;
        };
        self.peers[rank].heard = now;
        self.peers[rank].questions = 0;
        match message {
            Message::Ping => {
                let answer = match self.failed {
                    Some((rank, why)) => Message::Failed {
                        rank: rank as u32,
                        why,
                    },
                    None => Message::Pong,
                };
                self.send(rank, &answer);
            }
            Message::Pong => {}
            Message::Failed { rank, why } if (rank as usize) < self.size() => {
                self.failed.get_or_insert((rank as usize, why));
                self.end_all();
            }
            Message::Plan { from, grant } if rank == 0 && self.rank > 0 => {
                self.upcoming = Some((from, grant));
                self.adopt();
            }
            Message::Cannot { from } if self.rank == 0 => {
                self.counters.no_tree += 1;
                let open = self.open();
                // A plan that was given up in the meantime needs no answer.
                if from <= open && matches!(self.plan, Plan::Switches(_)) {
                    self.uproot();
                    self.decide(open, None);
                }
            }
            part @ Message::Part { operation, .. } if operation >= self.open() => {
                if !self.parts.put(rank, part) {
                    self.fail(rank, Why::Strange);
                }
            }
            Message::Lend { operation, lend } if operation >= self.open() => {
                if !self.words.lend(operation, rank, lend) {
                    self.fail(rank, Why::Strange);
                }
            }
            Message::Ask { operation, phase } if operation >= self.open() => {
                if !self.words.ask(operation, phase, rank) {
                    self.fail(rank, Why::Strange);
                }
            }
            Message::Done {
                operation,
                phase,
                code,
                how,
            } if operation >= self.open() => {
                if !self.words.done(operation, (phase, rank), (code, how)) {
                    self.fail(rank, Why::Strange);
                }
            }
            // From a member to whom this one had nothing to send.
            Message::Lend { .. } => {}
            _ => self.counters.strange += 1,
        }
    }

    /// Number of the operation that is under way, or comes next.
    fn open(&self) -> u64 {
        self.operations.front().map_or(self.next, |op| op.number)
    }

    fn find_lost(&mut self) {
        let hub = self.host.hub();
        let lost = hub
            .lost()
            .iter()
            .find_map(|at| self.rank_of.get(at).copied());
        drop(hub);
        if let Some(rank) = lost {
            self.fail(rank, Why::Unreachable);
        }
    }

    /// Asks the manager for a tree.
    pub(super) fn plant(&mut self) -> Option<Grant> {
        let trees = self.trees.clone()?;
        let mut trees = trees.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes: Vec<u32> = self.members.iter().map(|member| member.node()).collect();
        let grant = trees.plant(&nodes).ok();
        if grant.is_none() {
            self.counters.no_tree += 1;
        }
        self.planted = grant.map(|grant| grant.group);
        grant
    }

    fn uproot(&mut self) {
        if let (Some(group), Some(trees)) = (self.planted.take(), &self.trees) {
            let mut trees = trees.lock().unwrap_or_else(PoisonError::into_inner);
            trees.uproot(group);
        }
    }

    /// At the leader: an operation has ended on the tree of now, so everyone has joined that and has left those of before. The last
    /// frames of those are behind the first switch when everyone has the result, which came out of the card after them; that
    /// everyone has it, the end of the next operation shows.
    fn settle(&mut self) {
        if let (Some(tree), Some(group), Some(trees)) =
            (self.settled.take(), self.planted, &self.trees)
        {
            let mut trees = trees.lock().unwrap_or_else(PoisonError::into_inner);
            trees.moved(group, tree);
        }
        if let Plan::Switches(switch) = &self.plan
            && !self.previous.is_empty()
        {
            self.previous.clear();
            self.settled = Some(switch.grant.tree);
        }
    }

    /// At the leader: tells all how operations are done from a number on.
    pub(super) fn decide(&mut self, from: u64, grant: Option<Grant>) {
        for rank in 1..self.size() {
            self.send(rank, &Message::Plan { from, grant });
        }
        self.upcoming = Some((from, grant));
        self.adopt();
    }

    /// Goes over to the plan that has been announced, once operations are so far.
    fn adopt(&mut self) {
        let open = self.open();
        let Some((from, grant)) = self.upcoming.take_if(|(from, _)| *from <= open) else {
            return;
        };
        let plan = match grant {
            None => Plan::Software,
            Some(grant) => match self.join(grant) {
                Ok(switch) => Plan::Switches(Box::new(switch)),
                Err(_) if self.rank == 0 => {
                    self.counters.no_tree += 1;
                    self.uproot();
                    return self.decide(from, None);
                }
                Err(_) => {
                    self.counters.no_tree += 1;
                    self.send(0, &Message::Cannot { from });
                    Plan::Unknown
                }
            },
        };
        let old = std::mem::replace(&mut self.plan, plan);
        if let Plan::Switches(old) = old {
            self.counters.new_trees += u64::from(grant.is_some());
            // Members that have missed a result ask the root of the old tree for it.
            if self.rank == 0 {
                self.previous.push(*old);
            }
        }
        // What goes over other trees, or by messages whatever the plan, goes on there.
        if let Some(op) = self.operations.front_mut()
            && matches!(op.work, Work::InSwitches { .. })
        {
            op.work = Work::Waiting;
        }
    }

    fn join(&self, grant: Grant) -> Result<Switch, Error> {
        let (domain, vni) = {
            let hub = self.host.hub();
            (hub.domain.clone(), hub.options.vni)
        };
        let how = (self.options.lanes, self.options.times());
        Switch::new(&domain, grant, vni, self.rank, &self.members, how)
    }

    fn poll_switches(&mut self, now: u64) -> Result<(), Error> {
        for previous in &mut self.previous {
            previous.serve(now)?;
        }
        let Plan::Switches(switch) = &mut self.plan else {
            return Ok(());
        };
        let news = switch.poll(now)?;
        let mut called = Vec::new();
        for news in news {
            match news {
                News::Failed(rank, why) => self.fail(rank, why),
                News::Again => self.trouble = self.rank == 0,
                News::Called(chunk) => called.push(chunk),
                News::Done(chunk, value, engines, first) => {
                    if self.rank == 0 {
                        self.counters.completed_by_root += u64::from(!engines);
                        self.counters.again += u64::from(!first);
                    }
                    if let Some(op) = self.operations.front_mut()
                        && let Work::InSwitches { results, left, .. } = &mut op.work
                        && let Some(place @ None) = results.get_mut(chunk)
                    {
                        *place = Some(value);
                        *left -= 1;
                    }
                }
            }
        }
        // Nobody has a result of the operation, since one of its values has none.
        let open = self.operations.front().is_some_and(|op| match &op.work {
            Work::InSwitches { results, .. } => {
                let mut called = called.iter().filter_map(|&chunk| results.get(chunk));
                called.any(Option::is_none)
            }
            _ => false,
        });
        let attempt = u64::try_from(self.options.attempt.as_nanos()).unwrap_or(u64::MAX);
        if open && now >= self.ask_again_at {
            self.ask_again_at = now.saturating_add(attempt);
            self.change_tree();
        }
        Ok(())
    }

    /// At the leader: goes over to the tree that the manager has made in place of the one of now, if it has.
    ///
    /// Nobody has a result of the operation that is under way, or comes next. That the leader has none is not enough: its card may
    /// have answered one that it has not looked at. So either it has not begun here, or a member has answered the roll.
    fn change_tree(&mut self) {
        let (Plan::Switches(switch), Some(group), Some(trees)) =
            (&self.plan, self.planted, &self.trees)
        else {
            return;
        };
        let current = {
            let mut trees = trees.lock().unwrap_or_else(PoisonError::into_inner);
            trees.current(group)
        };
        let same = current.is_some_and(|now| now.tree == switch.grant.tree);
        if !same {
            self.counters.no_tree += u64::from(current.is_none());
            self.decide(self.open(), current);
        }
    }

    /// Brings the oldest operation further; whether it has ended.
    fn advance(&mut self, now: u64) -> bool {
        self.adopt();
        // Without the leader's own value nobody has a result.
        let waits = |op: &Operation| matches!(op.work, Work::Waiting);
        if self.trouble && self.operations.front().is_none_or(waits) {
            self.trouble = false;
            self.change_tree();
        }
        let alone = self.size() == 1;
        let Some(op) = self.operations.front_mut() else {
            return false;
        };
        op.begun.get_or_insert(now);
        let done = if alone {
            self.counters.alone += 1;
            Some(match &op.input {
                Input::Values(p) => outcome(&op.keep, p.shape, p.length, &p.values),
                Input::Bytes(_, bytes) => whole(bytes.clone()),
                Input::Blocks(_) => whole(Vec::new()),
            })
        } else {
            if matches!(op.work, Work::Waiting) {
                match striped_over(op, self.stripes.len(), self.options.lanes) {
                    Some(parts) => self.begin_striped(parts),
                    None => begin(op, &self.plan, self.members.len(), self.rank),
                }
            }
            self.step(now)
        };
        let Some(outcome) = done else {
            return false;
        };
        if let Some(op) = self.operations.pop_front() {
            match op.work {
                Work::InSwitches { .. } => {
                    self.counters.in_switches += 1;
                    self.settle();
                }
                Work::InSoftware(_) => self.counters.in_software += 1,
                Work::InBlocks(exchange) => {
                    self.counters.in_blocks += 1;
                    self.counters.blocks_by_messages += exchange.by_messages;
                }
                Work::Striped(striped) => self.count_striped(&striped),
                Work::Waiting => {}
            }
            self.finished.push_back(Finished {
                ticket: Ticket(op.number),
                result: Ok(outcome),
            });
        }
        let open = self.open();
        self.parts.forget_before(open);
        self.words.forget_before(open);
        true
    }

    fn step(&mut self, now: u64) -> Option<Outcome> {
        if let Some(other) = self.does_another() {
            self.fail(other, Why::Mismatch);
        }
        let op = self.operations.front_mut()?;
        match &mut op.work {
            Work::Waiting => None,
            Work::InBlocks(exchange) => {
                let mut around = Around {
                    host: &self.host,
                    name: self.name,
                    members: &self.members,
                    parts: &mut self.parts,
                    words: &mut self.words,
                    memory: &mut self.memory,
                };
                match (exchange.run(&mut around), &op.input) {
                    (Exchanged::Failed(rank, why), _) => {
                        self.fail(rank, why);
                        None
                    }
                    (Exchanged::Done(Came::Values(values)), Input::Blocks(read)) => match read {
                        Read::Values(shape, length) => {
                            Some(outcome(&op.keep, *shape, *length, &values))
                        }
                        Read::Bytes(_) => None,
                    },
                    (Exchanged::Done(Came::Bytes(bytes)), Input::Blocks(Read::Bytes(kind))) => {
                        Some(Outcome {
                            data: kind.of_bytes(&bytes),
                            code: Default::default(),
                        })
                    }
                    (Exchanged::Waits | Exchanged::Done(_), _) => None,
                }
            }
            Work::InSwitches {
                small,
                results,
                next,
                left,
            } => {
                let p = match (small, &op.input) {
                    (Some(small), _) => &*small,
                    (None, Input::Values(p)) => p,
                    (None, _) => return None,
                };
                let (Plan::Switches(switch), Some(rule)) = (&mut self.plan, p.rule.engines())
                else {
                    return None;
                };
                for chunk in next.iter_mut() {
                    let value = p.values.get(*chunk);
                    if value.is_some_and(|value| switch.start(*chunk, rule, *value, now)) {
                        *chunk += switch.lanes();
                    }
                }
                (*left == 0).then(|| {
                    let values: Vec<_> = results.iter().flatten().copied().collect();
                    outcome(&op.keep, p.shape, p.length, &values)
                })
            }
            Work::Striped(striped) => match &op.input {
                Input::Values(p) => striped.outcome(&op.keep, p.shape),
                _ => None,
            },
            Work::InSoftware(software) => {
                let (name, members) = (self.name, &self.members);
                let host = &self.host;
                let mut send = |to: usize, message: Message| {
                    host.hub().send(name, members[to], &message);
                };
                match (software.run(&mut self.parts, &mut send), &op.input) {
                    (Progress::Waits, _) => None,
                    (Progress::Failed(rank, why), _) => {
                        self.fail(rank, why);
                        None
                    }
                    (Progress::Done(Content::Bytes(bytes)), _) => Some(whole(bytes)),
                    (Progress::Done(Content::Values(_, values)), Input::Values(p)) => {
                        Some(outcome(&op.keep, p.shape, p.length, &values))
                    }
                    (Progress::Done(Content::Values(..)), _) => None,
                }
            }
        }
    }

    /// Members that the oldest operation waits for, as far as this one knows.
    pub(super) fn waiting(&self) -> Vec<usize> {
        let Some(op) = self.operations.front() else {
            return Vec::new();
        };
        match &op.work {
            Work::InSoftware(software) => software.waits_for().into_iter().collect(),
            Work::InBlocks(exchange) => exchange.waits_for(),
            Work::Striped(_) => self.stripes_waiting(),
            _ if self.rank == 0 => (1..self.size()).collect(),
            _ => vec![0],
        }
    }

    /// Asks those that are waited for whether they are there.
    fn ask(&mut self, now: u64) {
        let begun = self.operations.front().and_then(|op| op.begun);
        let Some(begun) = begun.filter(|_| self.failed.is_none()) else {
            return;
        };
        let pause = u64::try_from(self.options.ask_after.as_nanos()).unwrap_or(u64::MAX);
        if now.saturating_sub(begun) < pause {
            return;
        }
        for rank in self.waiting() {
            let peer = &mut self.peers[rank];
            if now.saturating_sub(begun.max(peer.heard).max(peer.asked)) < pause {
                continue;
            }
            if peer.questions >= self.options.questions {
                return self.fail(rank, Why::Silent);
            }
            peer.asked = now;
            peer.questions += 1;
            self.counters.questions += 1;
            self.send(rank, &Message::Ping);
        }
    }

    /// A member has failed: all others are told, and every operation ends.
    pub(super) fn fail(&mut self, rank: usize, why: Why) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some((rank, why));
        for to in (0..self.size()).filter(|&to| to != rank && to != self.rank) {
            let rank = rank as u32;
            self.send(to, &Message::Failed { rank, why });
        }
        self.end_all();
    }

    fn end_all(&mut self) {
        for op in std::mem::take(&mut self.operations) {
            if let Some(failure) = self.failure() {
                self.finished.push_back(Finished {
                    ticket: Ticket(op.number),
                    result: Err(failure),
                });
            }
        }
    }
}

/// The outcome of a broadcast.
fn whole(bytes: Vec<u8>) -> Outcome {
    Outcome {
        data: Data::Bytes(bytes),
        code: Default::default(),
    }
}

/// Chooses how an operation is done.
fn begin(op: &mut Operation, plan: &Plan, size: usize, rank: usize) {
    let switch = match plan {
        Plan::Unknown => return,
        Plan::Software => None,
        Plan::Switches(switch) => Some(switch).filter(|_| !op.by_messages),
    };
    let small = match &op.input {
        Input::Bytes(root, bytes) if bytes.len() <= SMALL => {
            let own = if *root == rank {
                bytes.clone()
            } else {
                vec![0; bytes.len()]
            };
            prepare(Kind::Or, &Data::Bytes(own)).ok()
        }
        _ => None,
    };
    let in_switches = |switch: &Switch, count: usize, small| Work::InSwitches {
        small,
        results: vec![None; count],
        next: (0..switch.lanes()).collect(),
        left: count,
    };
    op.work = match (switch, &op.input) {
        (Some(switch), Input::Values(p)) if p.rule.engines().is_some() => {
            in_switches(switch, p.values.len(), None)
        }
        (Some(switch), Input::Bytes(..)) if small.is_some() => {
            let count = small.as_ref().map_or(0, |p| p.values.len());
            in_switches(switch, count, small)
        }
        (_, Input::Values(p)) => {
            let content = Content::Values(p.rule, p.values.clone());
            Work::InSoftware(Software::new(op.number, size, rank, 0, content))
        }
        // It has begun when it was posted.
        (_, Input::Blocks(_)) => return,
        (_, Input::Bytes(root, bytes)) => {
            let content = Content::Bytes(bytes.clone());
            Work::InSoftware(Software::new(op.number, size, rank, *root, content))
        }
    };
}
