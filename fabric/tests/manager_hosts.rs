//! Members and the manager over a network that loses, doubles and delays messages, with members that crash.

mod manager_common;

use std::collections::{BTreeMap, BTreeSet};

use manager_common::{ChaCha8Rng, Fabric, network, random_group, rng, seed};
use rand::RngExt as _;
use tributary_fabric::manager::member::{Announce, Member, Message, Patience, Phase};
use tributary_fabric::manager::{Config, Join, Reply, Request, State, Status};

const CONFIG: Config = Config {
    ids: 64,
    groups_max: 64,
    join_timeout: 600,
    leave_timeout: 600,
    drain: 200,
    lease: None,
};
const PATIENCE: Patience = Patience {
    resend: 20,
    poll: 10,
    wait: 60,
    give_up: 500,
};

#[derive(Clone, Copy, Debug)]
enum Packet {
    Request(Request),
    /// To a member of a group and incarnation.
    Reply(u32, (u64, u64), Reply),
    Announce(u32, Announce),
    /// Somebody has seen that an endnode is dead.
    Death(u32),
}

#[derive(Clone, Copy)]
struct Channel {
    loss: f64,
    double: f64,
    delay: u64,
}

struct World {
    f: Fabric,
    rng: ChaCha8Rng,
    channel: Channel,
    /// By time of arrival and order.
    flying: BTreeMap<(u64, u64), Packet>,
    order: u64,
    /// By key, endnode and incarnation.
    members: BTreeMap<(u64, u32, u64), Member>,
    dead: BTreeSet<u32>,
    noticed: bool,
    was_ready: BTreeSet<(u64, u64)>,
}

impl World {
    fn new(channel: Channel, seed: u64) -> Self {
        Self::leased(channel, seed, None)
    }

    /// With a lease, nobody notices crashes.
    fn leased(channel: Channel, seed: u64, lease: Option<u64>) -> Self {
        let config = Config { lease, ..CONFIG };
        Self {
            f: Fabric::new(network("leaf-spine:4,2,6"), config),
            noticed: lease.is_none(),
            rng: rng(seed),
            channel,
            flying: BTreeMap::new(),
            order: 0,
            members: BTreeMap::new(),
            dead: BTreeSet::new(),
            was_ready: BTreeSet::new(),
        }
    }

    fn send(&mut self, packet: Packet) {
        let copies = 1 + u64::from(self.rng.random_bool(self.channel.double));
        for _ in 0..copies {
            if !self.rng.random_bool(self.channel.loss) {
                let delay = self.rng.random_range(1..=self.channel.delay);
                self.put(delay, packet);
            }
        }
    }

    fn put(&mut self, delay: u64, packet: Packet) {
        self.order += 1;
        self.flying.insert((self.f.now + delay, self.order), packet);
    }

    fn start(&mut self, key: u64, incarnation: u64, members: &[u32]) {
        for (rank, &endnode) in (0..).zip(members) {
            let join = Join {
                key,
                incarnation,
                size: members.len() as u32,
                rank,
                endnode,
            };
            let member = Member::new(self.f.now, join, PATIENCE);
            self.members.insert((key, endnode, incarnation), member);
        }
    }

    /// An endnode stops in the middle of whatever it does; that is seen after a while.
    fn crash(&mut self, endnode: u32) {
        if self.dead.insert(endnode) {
            self.members.retain(|&(_, at, _), _| at != endnode);
            let delay = self.rng.random_range(1..100);
            if self.noticed {
                self.put(delay, Packet::Death(endnode));
            }
        }
    }

    fn step(&mut self) {
        self.f.pass(1);
        for key in self.f.manager.keys() {
            if let Some((incarnation, status)) = self.f.manager.status(key)
                && status.state == State::Ready
            {
                self.was_ready.insert((key, incarnation));
            }
        }
        while let Some((&at, _)) = self.flying.first_key_value()
            && at.0 <= self.f.now
        {
            if let Some(packet) = self.flying.remove(&at) {
                self.arrive(packet);
            }
        }
        let mut sent = Vec::new();
        for (&(key, _, incarnation), member) in &mut self.members {
            member.tick(self.f.now);
            sent.extend(member.take().into_iter().map(|m| (key, incarnation, m)));
        }
        for (key, incarnation, message) in sent {
            match message {
                Message::Request(request) => self.send(Packet::Request(request)),
                Message::Announce(announce) => {
                    let to = self.members.keys();
                    let to = to.filter(|&&(k, _, i)| (k, i) == (key, incarnation));
                    for (_, endnode, _) in to.copied().collect::<Vec<_>>() {
                        self.send(Packet::Announce(endnode, announce));
                    }
                }
            }
        }
    }

    fn arrive(&mut self, packet: Packet) {
        let now = self.f.now;
        match packet {
            Packet::Request(request) => {
                let endnode = match request {
                    Request::Join(join) => join.endnode,
                    Request::Leave(leave) => leave.endnode,
                    Request::Poll(poll) => poll.endnode,
                };
                let reply = self.f.manager.request(now, request);
                self.send(Packet::Reply(endnode, request.group(), reply));
            }
            Packet::Reply(endnode, (key, incarnation), reply) => {
                if let Some(member) = self.members.get_mut(&(key, endnode, incarnation)) {
                    member.answered(now, reply);
                }
            }
            Packet::Announce(endnode, announce) => {
                let at = (announce.key, endnode, announce.incarnation);
                if let Some(member) = self.members.get_mut(&at) {
                    member.announced(&announce);
                }
            }
            Packet::Death(endnode) => self.f.manager.endnode_failed(now, endnode),
        }
    }

    /// Steps until `done`, which must be so before `ticks` are over.
    fn until(&mut self, ticks: u64, what: &str, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..ticks {
            self.step();
            if done(self) {
                return;
            }
        }
        let groups = self.f.manager.keys().into_iter();
        let groups: Vec<_> = groups.map(|k| (k, self.f.manager.status(k))).collect();
        let in_it = self.members.values();
        let in_it: Vec<_> = in_it.filter(|m| m.phase() != Phase::Out).collect();
        panic!("not {what} after {ticks} ticks: {groups:?} {in_it:?}");
    }

    fn ready(&self) -> usize {
        let phases = self.members.values().map(Member::phase);
        phases.filter(|p| matches!(p, Phase::Ready(_))).count()
    }

    fn leave_all(&mut self) {
        for member in self.members.values_mut() {
            member.leave(self.f.now);
        }
    }

    /// Members are out and the manager has forgotten everything.
    fn over(&self) -> bool {
        let out = |m: &Member| matches!(m.phase(), Phase::Out | Phase::Refused(_));
        self.members.values().all(out) && self.f.is_clean()
    }
}

#[test]
fn mc_07_member_0_polls_and_announces() {
    let channel = Channel {
        loss: 0.0,
        double: 0.0,
        delay: 1,
    };
    let mut world = World::new(channel, 1);
    world.start(7, 1, &[0, 7, 14, 21]);
    world.until(30, "ready", |w| w.ready() == 4);
    let tree = world.f.id(7);
    assert!(tree.is_some());
    for member in world.members.values() {
        assert_eq!(member.phase(), Phase::Ready(tree));
    }
    let polls = world.f.manager.counters().polls;
    assert_eq!(polls, 1, "only member 0 asks");
    // The tree moves: all hear of it while the old one still stands.
    let cable = world.f.manager.tree(7).unwrap().1.hops[0].cable;
    world.f.manager.cable_failed(world.f.now, cable).unwrap();
    world.step();
    let moved = world.f.id(7);
    assert_ne!(moved, tree);
    world.until(100, "moved", |w| {
        w.members.values().all(|m| m.phase() == Phase::Ready(moved))
    });
    assert_eq!(world.f.manager.ids().trees(), 2);
    world.leave_all();
    world.until(400, "over", World::over);
    assert_eq!(world.f.manager.counters().refused.iter().sum::<u64>(), 0);
}

#[test]
fn mc_07_members_do_not_go_back_to_an_older_tree() {
    let join = Join {
        key: 7,
        incarnation: 2,
        size: 3,
        rank: 1,
        endnode: 4,
    };
    let mut member = Member::new(0, join, PATIENCE);
    assert_eq!(member.take(), [Message::Request(Request::Join(join))]);
    let news = |incarnation, tree, moves| Announce {
        key: 7,
        incarnation,
        tree: Some(tree),
        moves,
    };
    member.announced(&news(1, 9, 5));
    assert_eq!(member.phase(), Phase::Joining, "that was another life");
    member.announced(&news(2, 11, 1));
    let late = Status {
        state: State::Ready,
        tree: Some(10),
        moves: 0,
        joined: 3,
        size: 3,
    };
    member.answered(5, Reply::In(late));
    member.announced(&news(2, 10, 0));
    assert_eq!(member.phase(), Phase::Ready(Some(11)));
    member.announced(&news(2, 12, 2));
    assert_eq!(member.phase(), Phase::Ready(Some(12)));
    member.leave(6);
    member.answered(7, Reply::In(late));
    assert_eq!(member.phase(), Phase::Leaving);
    member.answered(8, Reply::Out);
    assert_eq!(member.phase(), Phase::Out);
}

#[test]
fn mc_07_a_member_without_an_answer_leaves_until_its_join_must_have_arrived() {
    let join = Join {
        key: 7,
        incarnation: 2,
        size: 1,
        rank: 0,
        endnode: 4,
    };
    let mut f = Fabric::new(network("leaf-spine:4,2,6"), CONFIG);
    let mut member = Member::new(0, join, PATIENCE);
    let late = member.take();
    member.leave(1);
    member.tick(1);
    let send = |f: &mut Fabric, member: &mut Member, messages: Vec<Message>, now| {
        for message in messages {
            if let Message::Request(request) = message {
                let reply = f.manager.request(now, request);
                member.answered(now, reply);
            }
        }
    };
    let leave = member.take();
    send(&mut f, &mut member, leave, 2);
    assert_eq!(member.phase(), Phase::Leaving, "nobody knows it yet");
    send(&mut f, &mut member, late, 10);
    f.pass(11);
    assert_eq!(f.state(7), Some(State::Ready));
    member.tick(21);
    let leave = member.take();
    send(&mut f, &mut member, leave, 22);
    assert_eq!(member.phase(), Phase::Out);
    assert_eq!(f.state(7), Some(State::Destroying));
}

#[test]
fn mc_07_without_crashes_every_group_gets_ready_under_loss_and_doubling() {
    let seed = seed();
    for seed in seed..seed + 10 {
        let channel = Channel {
            loss: 0.2,
            double: 0.2,
            delay: 15,
        };
        let mut world = World::new(channel, seed);
        for key in 0..12 {
            let (group, _) = random_group(world.f.manager.network(), 6, &mut world.rng);
            world.start(key, 1, group.endnodes());
        }
        world.until(500, "ready", |w| w.ready() == 12 * 6);
        assert_eq!(
            world.f.manager.counters().routed,
            12,
            "seed {seed}: once each"
        );
        world.leave_all();
        world.until(3_000, "over", World::over);
        let counters = world.f.manager.counters();
        assert_eq!((counters.ended, counters.join_timeouts), (12, 0));
    }
}

#[test]
fn mc_07_under_loss_doubling_and_crashes_every_group_gets_ready_or_ends_and_nothing_leaks() {
    let seed = seed();
    let (mut ready, mut lives, mut leases) = (0, 0, 0);
    for seed in seed..seed + 20 {
        let channel = Channel {
            loss: 0.15,
            double: 0.15,
            delay: 40,
        };
        let lease = seed.is_multiple_of(2).then_some(300);
        let mut world = World::leased(channel, seed, lease);
        for round in 1..=6u64 {
            for key in 0..6 {
                let size = world.rng.random_range(1..8);
                let network = world.f.manager.network();
                let (group, _) = random_group(network, size, &mut world.rng);
                world.start(key, round, group.endnodes());
                lives += 1;
            }
            for _ in 0..world.rng.random_range(50..900) {
                world.step();
                if world.rng.random_bool(0.002) {
                    let endnode = world.rng.random_range(0..24);
                    world.crash(endnode);
                }
            }
            world.leave_all();
            // They are up again, sometimes before anyone has noticed.
            world.dead.clear();
            for _ in 0..world.rng.random_range(0..300) {
                world.step();
            }
        }
        world.until(3_000, "over", World::over);
        ready += world.was_ready.len();
        leases += world.f.manager.counters().leases;
        world.f.manager.audit().unwrap();
    }
    let counts = format!("seed {seed}: {ready} of {lives} were ready, {leases} leases");
    assert!(ready > lives / 3, "{counts}");
}

#[test]
fn mc_07_a_group_whose_members_all_crash_unnoticed_ends_with_its_lease() {
    let channel = Channel {
        loss: 0.1,
        double: 0.1,
        delay: 5,
    };
    let mut world = World::leased(channel, 1, Some(400));
    world.start(7, 1, &[0, 7, 14, 21]);
    world.until(200, "ready", |w| w.ready() == 4);
    for _ in 0..2_000 {
        world.step();
    }
    assert_eq!(world.ready(), 4, "polls keep it");
    world.members.clear();
    world.until(400 + 600 + 200 + 10, "over", World::over);
    assert_eq!(world.f.manager.counters().leases, 1);
}

#[test]
fn mc_07_when_member_0_crashes_the_others_get_ready_by_themselves_and_out() {
    let channel = Channel {
        loss: 0.0,
        double: 0.0,
        delay: 1,
    };
    let mut world = World::new(channel, 1);
    world.start(7, 1, &[0, 7, 14, 21]);
    for _ in 0..3 {
        world.step();
    }
    assert_eq!(world.f.state(7), Some(State::Ready));
    // Nobody tells the manager.
    world.members.remove(&(7, 0, 1));
    world.until(70, "ready", |w| w.ready() == 3);
    world.leave_all();
    world.until(1_000, "over", World::over);
    assert_eq!(world.f.manager.counters().leave_timeouts, 1);
}

#[test]
fn mc_07_a_group_that_never_gets_complete_lets_its_members_go() {
    let channel = Channel {
        loss: 0.1,
        double: 0.1,
        delay: 5,
    };
    let mut world = World::new(channel, 5);
    world.start(7, 1, &[0, 7, 14, 21]);
    world.members.remove(&(7, 14, 1));
    world.until(1_500, "over", World::over);
    assert_eq!(world.f.manager.counters().routed, 0);
}
