//! Every state that a window reaches over a network that loses, repeats and delays whatever it likes.
//!
//! The network holds every packet ever sent; each may arrive any number of times, in any order, or never. At every step the memory
//! must be what the operations so far leave one after the other, the one under way done or not; and so must what they found.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{
    Card, CardConfig, Completion, Mutations, Outcome, Packet, SendRequest, Window, wire::ONE_SIDED,
};

use crate::bench::{BASE, Memory, REQUESTER, RKEY, SHAPE, TARGET, WINDOW, grant};

/// More than any timeout.
const LONG_NS: u64 = 1 << 24;
/// States of a scenario.
const STATES: usize = 30_000;

#[derive(Clone, Copy)]
struct Scenario {
    operations: &'static [Asked<'static>],
    /// Sendings of each.
    attempts: u8,
    psn_bits: u8,
    mutations: Mutations,
}

#[derive(Clone)]
struct World {
    requester: Card,
    target: Card,
    local: Memory,
    remote: Memory,
    /// To the target or not.
    network: BTreeSet<(bool, Packet)>,
    /// Operations that have ended, and sendings of the next.
    ended: usize,
    sendings: u8,
    now: u64,
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.requester.hash(state);
        self.target.hash(state);
        self.local.bytes.hash(state);
        self.remote.bytes.hash(state);
        self.network.hash(state);
        (self.ended, self.sendings).hash(state);
    }
}

/// What the first `count` operations leave, and what the last of them found.
fn after(operations: &[Asked<'_>], count: usize) -> (u64, Option<u64>) {
    operations[..count]
        .iter()
        .fold((0, None), |(at, _), asked| match asked {
            Asked::Write(bytes) => (u64::from_le_bytes((*bytes).try_into().unwrap()), None),
            Asked::Read(_) => (at, Some(at)),
            atomic => (atomic.apply(at).unwrap_or(at), Some(at)),
        })
}

impl World {
    fn new(scenario: &Scenario) -> Self {
        let card = |at: tributary_protocol::xud::Peer| {
            let mut card = Card::new(CardConfig {
                node: at.node,
                mtu: 256,
                table: 4,
                psn_bits: scenario.psn_bits,
                wheel: 4,
                mutations: scenario.mutations,
            })
            .unwrap();
            card.create_qp(at.qpn, SHAPE).unwrap();
            card
        };
        let mut target = card(TARGET);
        assert!(target.open_window(WINDOW, grant(1)));
        let mut world = Self {
            requester: card(REQUESTER),
            target,
            local: Memory::new(),
            remote: Memory::new(),
            network: BTreeSet::new(),
            ended: 0,
            sendings: 0,
            now: 0,
        };
        world.send(scenario);
        world
    }

    /// Sends the next operation, or sends it again, if it may be.
    fn send(&mut self, scenario: &Scenario) {
        let Some(asked) = scenario.operations.get(self.ended) else {
            return;
        };
        if self.sendings >= scenario.attempts {
            return;
        }
        self.sendings += 1;
        let request = Request {
            address: BASE,
            rkey: RKEY,
            asked: *asked,
        };
        let request = SendRequest {
            id: 0,
            to: TARGET,
            version: 1,
            flags: ONE_SIDED,
            window: Window {
                id: WINDOW,
                epoch: 1,
                msn: self.ended as u32,
            },
            head: request.encode(),
            buffer: [].into(),
            range: (0, 0),
        };
        self.requester.post_send(REQUESTER.qpn, request).unwrap();
        while let Some(out) = self.requester.next_packet(self.now) {
            self.network.insert((true, out.packet));
        }
    }

    /// A packet arrives, or time passes at the requester; false if something is wrong then.
    fn step(&mut self, arrives: Option<&(bool, Packet)>, scenario: &Scenario) -> bool {
        match arrives {
            None => {
                self.now += LONG_NS;
                self.requester.tick(self.now);
            }
            Some((true, packet)) => {
                self.target.receive(REQUESTER.node, packet, 0);
                while self.target.serve(&mut self.remote) {}
                while let Some(out) = self.target.next_packet(0) {
                    self.network.insert((false, out.packet));
                }
            }
            Some((false, packet)) => {
                self.requester.receive(TARGET.node, packet, self.now);
                while self.requester.serve(&mut self.local) {}
            }
        }
        self.local.accesses.clear();
        self.remote.accesses.clear();
        let mut right = true;
        while let Some(completion) = self.requester.poll(REQUESTER.qpn) {
            let Completion::Sent { outcome, .. } = completion else {
                return false;
            };
            if outcome == Outcome::Ok {
                self.ended += 1;
                self.sendings = 0;
                let (_, found) = after(scenario.operations, self.ended);
                right &= found.is_none_or(|found| self.local.word(BASE + 64) == found);
                right &= self.remote.word(BASE) == after(scenario.operations, self.ended).0;
            } else {
                right &= outcome == Outcome::Timeout;
            }
            self.send(scenario);
        }
        let next = (self.ended + 1).min(scenario.operations.len());
        right
            && [self.ended, next]
                .map(|count| after(scenario.operations, count).0)
                .contains(&self.remote.word(BASE))
    }
}

fn fingerprint(world: &World) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        world.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Whether everything holds in all states, up to [`STATES`].
fn holds(scenario: &Scenario) -> bool {
    let first = World::new(scenario);
    let mut seen = HashSet::from([fingerprint(&first)]);
    let mut queue = VecDeque::from([first]);
    let mut all_ended = 0;
    while let Some(world) = queue.pop_front() {
        all_ended += usize::from(world.ended == scenario.operations.len());
        let steps = world.network.iter().map(Some).chain([None]);
        for arrives in steps {
            let mut next = world.clone();
            if !next.step(arrives, scenario) {
                println!("{} states, then: {arrives:?}", seen.len());
                return false;
            }
            if seen.len() < STATES && seen.insert(fingerprint(&next)) {
                queue.push_back(next);
            }
        }
    }
    println!("{} states, all ended in {all_ended}", seen.len());
    assert!(all_ended > 0);
    true
}

const NINE: [u8; 8] = [9, 0, 0, 0, 0, 0, 0, 0];

fn mixed() -> Scenario {
    Scenario {
        operations: &[Asked::FetchAdd(1), Asked::Write(&NINE), Asked::FetchAdd(1)],
        attempts: 2,
        psn_bits: 2,
        mutations: Mutations::default(),
    }
}

#[test]
fn xud_13_a_window_holds_over_any_network() {
    assert!(holds(&mixed()));
}

#[test]
fn xud_13_adds_hold_when_packet_numbers_wrap() {
    assert!(holds(&Scenario {
        operations: &[
            Asked::FetchAdd(1),
            Asked::FetchAdd(2),
            Asked::Read(8),
            Asked::FetchAdd(4)
        ],
        attempts: 3,
        psn_bits: 1,
        ..mixed()
    }));
}

#[test]
fn xud_13_exploration_finds_what_is_wrong() {
    for mutations in [
        Mutations {
            no_number_check: true,
            ..Mutations::default()
        },
        Mutations {
            no_replay: true,
            ..Mutations::default()
        },
        Mutations {
            access_first: true,
            ..Mutations::default()
        },
        // With one bit the number of an operation is that of the one before the last.
        Mutations {
            psn_only: true,
            ..Mutations::default()
        },
    ] {
        let scenario = Scenario {
            psn_bits: 1,
            mutations,
            ..mixed()
        };
        assert!(!holds(&scenario), "{mutations:?}");
    }
}
