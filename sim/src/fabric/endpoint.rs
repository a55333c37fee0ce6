//! An endpoint: protocol machines, a processor that takes its time, and a port.
//!
//! Between processor and port of a root that contributes there is its card (CL-6): it sees a frame [`ENDPOINT_CLOCKS`] after the
//! frame's last word, and an answer may leave [`ANSWER_CLOCKS`] after it, without the processor. What the processor sends it sees
//! when the processor is done with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tributary_protocol::red::{
    Frame, Op, Value,
    answer::Answers,
    host::{Doubling, Event, Group, Leaf, Output, Root},
};

use super::describe::LinkSpec;
use super::timing::{ANSWER_CLOCKS, ENDPOINT_CLOCKS};

/// What the host's software takes, clocks; one thing at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// For each frame sent.
    pub send: u64,
    /// For each frame received.
    pub receive: u64,
}

/// A protocol machine.
#[derive(Clone, Debug)]
pub enum Role {
    /// Arms the tree and completes results.
    Root(Box<Root>),
    /// Contributes.
    Leaf(Leaf),
    /// All-reduce between hosts.
    Doubling(Doubling),
}

/// What the card of a root does by itself for one reduction id.
#[derive(Clone, Debug)]
pub struct RootCard {
    group: Arc<Group>,
    answers: Answers,
}

impl RootCard {
    pub(super) fn new(group: Arc<Group>) -> Self {
        let answers = Answers::new(group.size());
        Self { group, answers }
    }

    /// A frame of the group.
    fn frame(&self, bytes: &[u8]) -> Option<Frame> {
        let group = &self.group;
        let frame = Frame::parse(bytes, group.ethertype).ok()?;
        let is_of = (frame.fabric.vni, frame.red.cookie) == (group.vni, group.cookie);
        Some(frame).filter(|_| is_of)
    }

    /// Whether a frame of the host leaves.
    fn leaves(&mut self, bytes: &[u8]) -> bool {
        let frame = self.frame(bytes);
        frame.is_none_or(|frame| self.answers.leaves(&frame))
    }

    fn answer(&mut self, bytes: &[u8]) -> Option<Arc<[u8]>> {
        let by_tree = |frame: &Frame| frame.fabric.dfa.multicast() == Some(self.group.key);
        let frame = self.frame(bytes).filter(by_tree)?;
        let down = self.answers.answer(&frame, self.group.root)?;
        Some(down.to_bytes(self.group.ethertype)[..].into())
    }
}

/// A value for a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// Not before this clock.
    pub at: u64,
    /// Operation.
    pub op: Op,
    /// Value.
    pub value: Value,
}

/// An event of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Clock.
    pub clock: u64,
    /// Group, as numbered by the simulator.
    pub group: usize,
    /// What happened.
    pub event: Event,
}

#[derive(Debug)]
struct Player {
    group: usize,
    role: Role,
    card: Option<RootCard>,
    /// Values by round.
    script: BTreeMap<u64, Contribution>,
}

impl Player {
    fn round(&self) -> u64 {
        match &self.role {
            Role::Root(m) => m.round(),
            Role::Leaf(m) => m.round(),
            Role::Doubling(m) => m.round(),
        }
    }

    fn next(&self) -> Option<u64> {
        let deadline = match &self.role {
            Role::Root(m) => m.next_deadline(),
            Role::Leaf(m) => m.next_deadline(),
            Role::Doubling(_) => None,
        };
        let start = self.script.get(&self.round()).map(|c| c.at);
        deadline.into_iter().chain(start).min()
    }

    fn poll(&mut self, now: u64) -> Vec<Output> {
        match &mut self.role {
            Role::Root(m) => m.poll(now),
            Role::Leaf(m) => m.poll(now),
            Role::Doubling(m) => m.poll(),
        }
    }

    /// Whether the frame was for this machine.
    fn receive(&mut self, bytes: &[u8], answered: bool, now: u64) -> bool {
        match &mut self.role {
            Role::Root(m) if answered => m.answered(bytes, now).is_ok(),
            Role::Root(m) => m.receive(bytes, now).is_ok(),
            Role::Leaf(m) => m.receive(bytes, now).is_ok(),
            Role::Doubling(m) => m.receive(bytes).is_ok(),
        }
    }

    /// Gives the value of the open round if its time has come.
    fn start(&mut self, now: u64) {
        let round = self.round();
        // Rounds that went on without this endpoint.
        self.script = self.script.split_off(&round);
        let Some(given) = self.script.get(&round).copied().filter(|c| c.at <= now) else {
            return;
        };
        let taken = match &mut self.role {
            Role::Root(m) => m.start(given.op, given.value, now).is_ok(),
            Role::Leaf(m) => m.contribute(round, given.op, given.value, now).is_ok(),
            Role::Doubling(m) => m.start(given.op, given.value).is_ok(),
        };
        debug_assert!(taken, "a round takes one value");
        self.script.remove(&round);
    }
}

/// A frame that has come in.
#[derive(Debug)]
struct Incoming {
    at_card: u64,
    at_host: u64,
    bytes: Arc<[u8]>,
    /// The player whose card has answered it.
    answered_by: Option<usize>,
}

/// A frame that is to leave.
#[derive(Debug)]
struct Outgoing {
    ready: u64,
    bytes: Arc<[u8]>,
    /// The player whose card has still to let it leave.
    held_for: Option<usize>,
}

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    link: LinkSpec,
    alive: bool,
    cost: Cost,
    processor_free_at: u64,
    inbox: VecDeque<Incoming>,
    /// How many of them a card has looked at.
    seen: usize,
    outbox: VecDeque<Outgoing>,
    port_free_at: u64,
    players: Vec<Player>,
    log: Vec<Logged>,
    ignored: Vec<(u64, Arc<[u8]>)>,
    has_card: bool,
    answered: u64,
    overtaken: u64,
}

impl Endpoint {
    pub(super) fn new(link: LinkSpec) -> Self {
        Self {
            link,
            alive: true,
            cost: Cost::default(),
            processor_free_at: 0,
            inbox: VecDeque::new(),
            seen: 0,
            outbox: VecDeque::new(),
            port_free_at: 0,
            players: Vec::new(),
            log: Vec::new(),
            ignored: Vec::new(),
            has_card: false,
            answered: 0,
            overtaken: 0,
        }
    }

    /// Sets what its software takes.
    pub const fn set_cost(&mut self, cost: Cost) {
        self.cost = cost;
    }

    /// A dead endpoint neither hears nor says anything.
    pub const fn set_alive(&mut self, alive: bool) {
        self.alive = alive;
    }

    /// Everything that its machines reported.
    #[must_use]
    pub fn log(&self) -> &[Logged] {
        &self.log
    }

    /// Takes over what its machines reported on another rank.
    pub(super) fn report(&mut self, logged: &mut Vec<Logged>) {
        self.log.append(logged);
    }

    /// Frames that no machine wanted, with the clock at which the host had them.
    #[must_use]
    pub fn ignored(&self) -> &[(u64, Arc<[u8]>)] {
        &self.ignored
    }

    /// Takes them.
    pub(super) fn take_ignored(&mut self) -> Vec<(u64, Arc<[u8]>)> {
        std::mem::take(&mut self.ignored)
    }

    /// Results that its card has answered as a root's.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Frames of the host that such an answer has overtaken: they did not leave.
    #[must_use]
    pub const fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Frames that have not left.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.outbox.len()
    }

    pub(super) fn add(&mut self, group: usize, role: Role, card: Option<RootCard>, now: u64) {
        let script = BTreeMap::new();
        self.has_card |= card.is_some();
        self.players.push(Player {
            group,
            role,
            card,
            script,
        });
        self.collect(self.players.len() - 1, now);
    }

    /// False if the endpoint has no part in the group.
    pub(super) fn contribute(&mut self, group: usize, round: u64, given: Contribution) -> bool {
        match self.players.iter_mut().find(|p| p.group == group) {
            Some(player) => {
                player.script.insert(round, given);
                true
            }
            None => false,
        }
    }

    /// Sends a frame as it is.
    pub(super) fn inject(&mut self, bytes: Arc<[u8]>, at: u64) {
        self.send(bytes, at, None);
    }

    fn send(&mut self, bytes: Arc<[u8]>, ready: u64, held_for: Option<usize>) {
        let place = self.outbox.partition_point(|frame| frame.ready <= ready);
        let frame = Outgoing {
            ready,
            bytes,
            held_for,
        };
        self.outbox.insert(place, frame);
    }

    pub(super) fn arrive(&mut self, bytes: Arc<[u8]>, now: u64) {
        if self.alive {
            let at_card = now + ENDPOINT_CLOCKS;
            self.processor_free_at = at_card.max(self.processor_free_at) + self.cost.receive;
            self.inbox.push_back(Incoming {
                at_card,
                at_host: self.processor_free_at,
                bytes,
                answered_by: None,
            });
        }
    }

    /// What cards have to look at: frames of the host, then those that have come in.
    fn look(&mut self, now: u64) {
        if !self.has_card {
            return;
        }
        self.let_leave(now);
        while let Some(frame) = self.inbox.get_mut(self.seen).filter(|f| f.at_card <= now) {
            self.seen += 1;
            let answer = |(player, of): (usize, &mut Player)| {
                Some((player, of.card.as_mut()?.answer(&frame.bytes)?))
            };
            let Some((player, answer)) = self.players.iter_mut().enumerate().find_map(answer)
            else {
                continue;
            };
            frame.answered_by = Some(player);
            self.answered += 1;
            self.send(answer, now + (ANSWER_CLOCKS - ENDPOINT_CLOCKS), None);
        }
    }

    /// Frames of the host that its processor is done with.
    fn let_leave(&mut self, now: u64) {
        let mut at = 0;
        while let Some(frame) = self.outbox.get_mut(at).filter(|f| f.ready <= now) {
            let card = frame
                .held_for
                .take()
                .and_then(|p| self.players[p].card.as_mut());
            if card.is_none_or(|card| card.leaves(&frame.bytes)) {
                at += 1;
            } else {
                self.overtaken += 1;
                self.outbox.remove(at);
            }
        }
    }

    pub(super) fn wake(&self) -> Option<u64> {
        let inbox = self.inbox.front().map(|frame| frame.at_host);
        let outbox = self.outbox.front();
        let outbox = outbox.map(|frame| frame.ready.max(self.port_free_at));
        let held = || self.outbox.iter().find(|frame| frame.held_for.is_some());
        let held = self.has_card.then(held).flatten().map(|frame| frame.ready);
        let unseen = self.inbox.get(self.seen).filter(|_| self.has_card);
        let cards = held.into_iter().chain(unseen.map(|frame| frame.at_card));
        let machines = self
            .players
            .iter()
            .filter(|_| self.alive)
            .filter_map(Player::next);
        machines.chain(inbox).chain(outbox).chain(cards).min()
    }

    /// Takes what has come, does what is due, and returns a frame that leaves now.
    pub(super) fn run(&mut self, now: u64) -> Option<Arc<[u8]>> {
        self.look(now);
        while let Some(frame) = self.inbox.pop_front_if(|frame| frame.at_host <= now) {
            self.seen = self.seen.saturating_sub(1);
            // A machine may have something to say of a frame that it does not want.
            let taken = (0..self.players.len()).any(|player| {
                let answered = frame.answered_by == Some(player);
                let taken = self.players[player].receive(&frame.bytes, answered, now);
                self.collect(player, now);
                taken
            });
            if !taken {
                self.ignored.push((now, frame.bytes));
            }
        }
        for player in 0..self.players.len() {
            if self.alive && self.players[player].next().is_some_and(|at| at <= now) {
                self.players[player].start(now);
                self.collect(player, now);
            }
        }
        self.let_leave(now);
        if self.port_free_at > now {
            return None;
        }
        let frame = self.outbox.pop_front_if(|frame| frame.ready <= now)?;
        self.port_free_at = now + self.link.occupancy(frame.bytes.len());
        Some(frame.bytes)
    }

    fn collect(&mut self, player: usize, now: u64) {
        let group = self.players[player].group;
        for output in self.players[player].poll(now) {
            match output {
                Output::Event(event) => self.log.push(Logged {
                    clock: now,
                    group,
                    event,
                }),
                Output::Send(bytes) => {
                    let begin = now.max(self.processor_free_at);
                    self.processor_free_at = begin + self.cost.send;
                    let held_for = self.players[player].card.is_some().then_some(player);
                    self.send(bytes.into(), self.processor_free_at, held_for);
                }
            }
        }
    }
}
