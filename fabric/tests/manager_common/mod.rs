//! Small networks and seeded randomness for tests of tables, ids and groups.
#![allow(dead_code, reason = "each test file uses some of it")]

use rand::seq::SliceRandom as _;
use rand::{Rng, SeedableRng as _};

pub use rand_chacha::ChaCha8Rng;
use tributary_fabric::manager::{Config, Join, Leave, Poll, Reply, State};
use tributary_fabric::route::Fulb;
use tributary_fabric::topology::Topology;
use tributary_fabric::update::walk::{self, Fault, Survey};
use tributary_fabric::{Group, Manager, Network, Tables};

/// TRIBUTARY_SEED replays a run; every message of a failed check names the seed.
pub fn seed() -> u64 {
    let given = std::env::var("TRIBUTARY_SEED").ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(1)
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    eprintln!("TRIBUTARY_SEED={seed} replays this");
    ChaCha8Rng::seed_from_u64(seed)
}

/// A network by formula.
pub fn network(text: &str) -> Network {
    let topology: Topology = text.parse().expect("a topology");
    topology.build().expect("a network")
}

/// A group of `size` different endnodes and one of them as leader.
pub fn random_group(network: &Network, size: usize, rng: &mut impl Rng) -> (Group, u32) {
    let mut all: Vec<u32> = (0..network.endnodes().len() as u32).collect();
    let (chosen, _) = all.partial_shuffle(rng, size);
    let chosen = chosen.to_vec();
    let leader = chosen[0];
    (Group::new(network, chosen).expect("a group"), leader)
}

/// A manager and the switches that it writes to.
pub struct Fabric {
    pub manager: Manager,
    pub tables: Tables,
    pub now: u64,
}

impl Fabric {
    pub fn new(network: Network, config: Config) -> Self {
        let router = Box::new(Fulb::default());
        Self {
            manager: Manager::new(network, router, config).expect("a manager"),
            tables: Tables::default(),
            now: 0,
        }
    }

    /// Carries out all updates; returns how many writes that were.
    pub fn write(&mut self) -> usize {
        let mut writes = 0;
        for update in self.manager.take_updates() {
            update.writes.iter().for_each(|w| self.tables.apply(w));
            writes += update.writes.len();
            self.manager
                .written(self.now, update.number)
                .expect("an update that was handed out");
        }
        writes
    }

    /// Lets time pass, computes what is to be computed, and writes it.
    pub fn pass(&mut self, ticks: u64) {
        self.now += ticks;
        self.manager.tick(self.now);
        self.manager.compute(self.now, usize::MAX);
        self.write();
    }

    pub fn join(
        &mut self,
        key: u64,
        incarnation: u64,
        size: u32,
        rank: u32,
        endnode: u32,
    ) -> Reply {
        let join = Join {
            key,
            incarnation,
            size,
            rank,
            endnode,
        };
        self.manager.join(self.now, join)
    }

    /// All of these join, in the order of their ranks.
    pub fn join_all(&mut self, key: u64, incarnation: u64, members: &[u32]) {
        for (rank, &endnode) in (0..).zip(members) {
            let size = members.len() as u32;
            let reply = self.join(key, incarnation, size, rank, endnode);
            assert!(matches!(reply, Reply::In(_)), "{reply:?}");
        }
    }

    pub fn leave(&mut self, key: u64, incarnation: u64, endnode: u32) -> Reply {
        let leave = Leave {
            key,
            incarnation,
            endnode,
        };
        self.manager.leave(self.now, leave)
    }

    pub fn poll(&mut self, key: u64, incarnation: u64, endnode: u32) -> Reply {
        let poll = Poll {
            key,
            incarnation,
            endnode,
        };
        self.manager.poll(self.now, poll)
    }

    pub fn state(&self, key: u64) -> Option<State> {
        self.manager.status(key).map(|(_, s)| s.state)
    }

    /// The id that members of a group send on.
    pub fn id(&self, key: u64) -> Option<u16> {
        self.manager.status(key).and_then(|(_, s)| s.tree)
    }

    /// Who hears whom in a group, on the id that its members know.
    pub fn survey(&self, key: u64) -> Result<Option<Survey>, Fault> {
        let known = self.manager.members(key).zip(self.id(key));
        let Some(((group, leader), id)) = known else {
            return Ok(None);
        };
        let network = self.manager.network();
        walk::survey(network, &self.tables, id, group, leader).map(Some)
    }

    /// Nothing is left of any group.
    pub fn is_clean(&self) -> bool {
        let m = &self.manager;
        let nothing = (
            m.group_count(),
            m.ids().trees(),
            m.ids().entries(),
            m.load().max(),
        );
        nothing == (0, 0, 0, 0) && self.tables.is_empty() && m.next_deadline().is_none()
    }
}
