//! Many random operations on a manager: ids and load are exact at any time, state is bounded, nothing stays.
//!
//! `TRIBUTARY_OPS` sets how many, `TRIBUTARY_SEED` which.

mod manager_common;

use manager_common::{ChaCha8Rng, Fabric, network, random_group, rng, seed};
use rand::RngExt as _;
use tributary_fabric::manager::{Config, State};
use tributary_fabric::{Load, Network};

const KEYS: u64 = 48;
const CONFIG: Config = Config {
    ids: 40,
    groups_max: 40,
    join_timeout: 300,
    leave_timeout: 200,
    drain: 60,
    lease: None,
};

/// What a test knows of the members of a group.
#[derive(Clone, Default)]
struct Plan {
    incarnation: u64,
    members: Vec<u32>,
}

struct Chaos {
    f: Fabric,
    rng: ChaCha8Rng,
    plans: Vec<Plan>,
    failed: Vec<u32>,
}

impl Chaos {
    fn new(network: Network, seed: u64) -> Self {
        Self {
            f: Fabric::new(network, CONFIG),
            rng: rng(seed),
            plans: vec![Plan::default(); KEYS as usize],
            failed: Vec::new(),
        }
    }

    fn operation(&mut self) {
        let key = self.rng.random_range(0..KEYS);
        match self.rng.random_range(0..100) {
            0..=1 => self.renew(key),
            2..=59 => self.join(key),
            60..=69 => self.leave(key),
            70..=78 => {
                let plan = &self.plans[key as usize];
                let member = plan.members.first().copied().unwrap_or(0);
                self.f.poll(key, plan.incarnation, member);
            }
            79 => {
                let endnodes = self.f.manager.network().endnodes().len() as u32;
                let dead = self.rng.random_range(0..endnodes);
                if self.rng.random_bool(0.2) {
                    self.f.manager.endnode_failed(self.f.now, dead);
                }
            }
            80..=81 => self.cable(),
            82..=91 => {
                self.f.now += self.rng.random_range(0..8);
                self.f.manager.tick(self.f.now);
            }
            92..=95 => {
                let max = self.rng.random_range(0..6);
                self.f.manager.compute(self.f.now, max);
            }
            _ => {
                self.f.write();
            }
        }
    }

    /// The next life of a group, with other members.
    fn renew(&mut self, key: u64) {
        let size = self.rng.random_range(1..7);
        let (group, _) = random_group(self.f.manager.network(), size, &mut self.rng);
        let plan = &mut self.plans[key as usize];
        plan.incarnation += 1;
        plan.members = group.endnodes().to_vec();
    }

    /// Mostly a right join, sometimes a wrong one.
    fn join(&mut self, key: u64) {
        let plan = self.plans[key as usize].clone();
        let mut size = plan.members.len() as u32;
        let mut rank = self.rng.random_range(0..size.max(1));
        let mut endnode = plan.members.get(rank as usize).copied().unwrap_or(0);
        let mut incarnation = plan.incarnation;
        match self.rng.random_range(0..60) {
            0 => size = self.rng.random_range(0..1_000),
            1 => rank = self.rng.random_range(0..10),
            2 => endnode = self.rng.random_range(0..100),
            3 => incarnation = incarnation.saturating_sub(1),
            4 => incarnation += 1,
            _ => {}
        }
        self.f.join(key, incarnation, size, rank, endnode);
    }

    fn leave(&mut self, key: u64) {
        let plan = self.plans[key as usize].clone();
        // Before it is ready a leave would end it; few do that.
        let early = matches!(
            self.f.state(key),
            Some(State::ReceivingJoinReq | State::ComputingRoutes)
        );
        if early && self.rng.random_bool(0.95) {
            return;
        }
        for &member in &plan.members {
            if self.rng.random_bool(0.6) {
                self.f.leave(key, plan.incarnation, member);
            }
        }
    }

    fn cable(&mut self) {
        let (f, rng) = (&mut self.f, &mut self.rng);
        if self.failed.len() < 3 && rng.random_bool(0.5) {
            let cable = rng.random_range(0..f.manager.network().cables().len()) as u32;
            if f.manager.network().is_up(cable) {
                f.manager.cable_failed(f.now, cable).unwrap();
                self.failed.push(cable);
            }
        } else if !self.failed.is_empty() {
            let at = rng.random_range(0..self.failed.len());
            let cable = self.failed.swap_remove(at);
            f.manager.cable_restored(f.now, cable).unwrap();
        }
    }

    /// Whatever is kept twice agrees, and the load is that of the trees of all groups.
    fn check(&self) {
        let m = &self.f.manager;
        m.audit().unwrap();
        let mut load = Load::new(m.network());
        for key in m.keys() {
            if let Some((_, tree)) = m.tree(key) {
                load.add(tree);
            }
        }
        assert_eq!(load.efi(), m.load().efi());
        assert!(m.group_count() <= CONFIG.groups_max as usize);
        assert!(self.f.tables.len() as u64 <= m.ids().entries());
    }
}

#[test]
fn mc_07_mc_09_a_million_random_operations_leak_nothing() {
    let given = std::env::var("TRIBUTARY_OPS").ok();
    let operations: u64 = given.and_then(|ops| ops.parse().ok()).unwrap_or(1_000_000);
    let seed = seed();
    for (network, seed) in [network("torus:4x5,1"), network("leaf-spine:6,3,5")]
        .into_iter()
        .zip(seed..)
    {
        let mut chaos = Chaos::new(network, seed);
        for step in 0..operations / 2 {
            chaos.operation();
            if step % 256 == 0 {
                chaos.check();
            }
        }
        chaos.check();
        let counters = *chaos.f.manager.counters();
        eprintln!("{counters:?}");
        let many = operations / 1_000;
        assert!(counters.routed > many && counters.rerouted > many / 4);
        assert!(counters.join_timeouts > 0 && counters.leave_timeouts > 0);
        // Everyone is gone; the rest is a matter of time.
        for endnode in 0..chaos.f.manager.network().endnodes().len() as u32 {
            chaos.f.manager.endnode_failed(chaos.f.now, endnode);
        }
        for _ in 0..4 {
            chaos.f.pass(300);
        }
        chaos.check();
        assert!(chaos.f.is_clean(), "seed {seed}");
        let counters = chaos.f.manager.counters();
        assert_eq!(counters.begun, counters.ended + counters.superseded);
    }
}
