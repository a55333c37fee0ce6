//! An endpoint: protocol machines, a processor that takes its time, and a port.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tributary_protocol::red::{
    Op, Value,
    host::{Doubling, Event, Leaf, Output, Root},
};

use super::describe::LinkSpec;
use super::timing::ENDPOINT_CLOCKS;

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
    fn receive(&mut self, bytes: &[u8], now: u64) -> bool {
        match &mut self.role {
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

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    link: LinkSpec,
    alive: bool,
    cost: Cost,
    processor_free_at: u64,
    inbox: VecDeque<(u64, Arc<[u8]>)>,
    outbox: VecDeque<(u64, Arc<[u8]>)>,
    port_free_at: u64,
    players: Vec<Player>,
    log: Vec<Logged>,
    ignored: Vec<(u64, Arc<[u8]>)>,
}

impl Endpoint {
    pub(super) fn new(link: LinkSpec) -> Self {
        Self {
            link,
            alive: true,
            cost: Cost::default(),
            processor_free_at: 0,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            port_free_at: 0,
            players: Vec::new(),
            log: Vec::new(),
            ignored: Vec::new(),
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

    /// Frames that have not left.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.outbox.len()
    }

    pub(super) fn add(&mut self, group: usize, role: Role, now: u64) {
        let script = BTreeMap::new();
        self.players.push(Player {
            group,
            role,
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
        let place = self.outbox.partition_point(|(ready, _)| *ready <= at);
        self.outbox.insert(place, (at, bytes));
    }

    pub(super) fn arrive(&mut self, bytes: Arc<[u8]>, now: u64) {
        if self.alive {
            let begin = (now + ENDPOINT_CLOCKS).max(self.processor_free_at);
            self.processor_free_at = begin + self.cost.receive;
            self.inbox.push_back((self.processor_free_at, bytes));
        }
    }

    pub(super) fn wake(&self) -> Option<u64> {
        let inbox = self.inbox.front().map(|(ready, _)| *ready);
        let outbox = self
            .outbox
            .front()
            .map(|(ready, _)| (*ready).max(self.port_free_at));
        let machines = self
            .players
            .iter()
            .filter(|_| self.alive)
            .filter_map(Player::next);
        machines.chain(inbox).chain(outbox).min()
    }

    /// Takes what has come, does what is due, and returns a frame that leaves now.
    pub(super) fn run(&mut self, now: u64) -> Option<Arc<[u8]>> {
        while let Some((_, bytes)) = self.inbox.pop_front_if(|(ready, _)| *ready <= now) {
            // A machine may have something to say of a frame that it does not want.
            let taken = (0..self.players.len()).any(|player| {
                let taken = self.players[player].receive(&bytes, now);
                self.collect(player, now);
                taken
            });
            if !taken {
                self.ignored.push((now, bytes));
            }
        }
        for player in 0..self.players.len() {
            if self.alive && self.players[player].next().is_some_and(|at| at <= now) {
                self.players[player].start(now);
                self.collect(player, now);
            }
        }
        if self.port_free_at > now {
            return None;
        }
        let (_, bytes) = self.outbox.pop_front_if(|(ready, _)| *ready <= now)?;
        self.port_free_at = now + self.link.occupancy(bytes.len());
        Some(bytes)
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
                    self.inject(bytes.into(), self.processor_free_at);
                }
            }
        }
    }
}
