//! Several requesters over a network that loses, repeats and delays, against what must hold whatever the order was.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{
    Card, Completion, Grant, Mutations, Outcome, Packet, Peer, SendRequest, Window, wire::ONE_SIDED,
};

use crate::bench::{BASE, Memory, RKEY, SHAPE, TARGET, card};

const REQUESTERS: u16 = 3;
/// Queue pair of each.
const QPN: u32 = 7;
/// Node of each: that of the target but for bits above 16 (CL-1).
const fn node_of(at: usize) -> u32 {
    TARGET.node ^ (at as u32 * 7 + 1) << 16
}
/// Windows of each.
const WINDOWS: u16 = 2;
/// What is added to; what is swapped; a cell of each window that is written.
const SUM: u64 = BASE;
const CHAIN: u64 = BASE + 8;
const OWN: u64 = BASE + 16;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Add(u64),
    Swap { swap: u64, compare: u64 },
    Write(u64),
    Read,
}

/// One window of a requester's software: one operation at a time, repeated until it has ended well.
struct User {
    at: usize,
    window: u16,
    msn: u32,
    doing: Option<Doing>,
    posted: bool,
    /// What it wrote last.
    own: u64,
    /// What it believes to be at the end of the chain.
    tail: u64,
}

struct World {
    /// Requesters and, last, the target.
    cards: Vec<Card>,
    memories: Vec<Memory>,
    /// Frames under way: when they arrive, a number, from, to.
    network: BTreeMap<(u64, u64), (u32, usize, Packet)>,
    users: Vec<User>,
    /// What was found and added.
    added: Vec<(u64, u64)>,
    /// What was found, compared and put.
    swapped: Vec<(u64, u64, u64)>,
    serial: u64,
    now: u64,
    rng: ChaCha8Rng,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut target = card(TARGET, Mutations::default());
        let mut cards = Vec::new();
        let mut users = Vec::new();
        for node in 0..REQUESTERS {
            let peer = Peer {
                node: node_of(node.into()),
                qpn: QPN,
            };
            cards.push(card(peer, Mutations::default()));
            for place in 0..WINDOWS {
                let window = node * WINDOWS + place;
                let grant = Grant {
                    qpn: TARGET.qpn,
                    peer,
                    epoch: 1,
                };
                assert!(target.open_window(window, grant));
                users.push(User {
                    at: usize::from(node),
                    window,
                    msn: 0,
                    doing: None,
                    posted: false,
                    own: 0,
                    tail: 0,
                });
            }
        }
        cards.push(target);
        let memories = cards.iter().map(|_| Memory::new()).collect();
        Self {
            cards,
            memories,
            network: BTreeMap::new(),
            users,
            added: Vec::new(),
            swapped: Vec::new(),
            serial: 0,
            now: 0,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn send(&mut self, from: u32, to: u32, packet: Packet) {
        let at = (0..usize::from(REQUESTERS)).find(|at| node_of(*at) == to);
        assert!(at.is_some() || to == TARGET.node, "node {to}");
        let to = at.unwrap_or(self.cards.len() - 1);
        let copies = match self.rng.random_range(0..100) {
            0..10 => 0,
            10..20 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            // Some come after the timeout.
            let late = self.rng.random_range(0..100) < 5;
            let delay = self.rng.random_range(1..if late { 100_000 } else { 4_000 });
            self.serial += 1;
            let key = (self.now + delay, self.serial);
            self.network.insert(key, (from, to, packet.clone()));
        }
    }

    fn post(&mut self, index: usize, more: bool) {
        let user = &mut self.users[index];
        let doing = match user.doing {
            Some(doing) => doing,
            None if !more => return,
            None => match self.rng.random_range(0..4) {
                0 => Doing::Add(self.rng.random_range(1..1_000_000)),
                1 => {
                    self.serial += 1;
                    let (swap, compare) = (self.serial << 20, user.tail);
                    Doing::Swap { swap, compare }
                }
                2 => Doing::Write(self.rng.random()),
                _ => Doing::Read,
            },
        };
        user.doing = Some(doing);
        user.posted = true;
        let own = OWN + 8 * u64::from(user.window);
        let bytes = match doing {
            Doing::Write(value) => value.to_le_bytes(),
            _ => [0; 8],
        };
        let (address, asked) = match doing {
            Doing::Add(add) => (SUM, Asked::FetchAdd(add)),
            Doing::Swap { swap, compare } => (CHAIN, Asked::CompareSwap { swap, compare }),
            Doing::Write(_) => (own, Asked::Write(&bytes)),
            Doing::Read => (own, Asked::Read(8)),
        };
        let request = Request {
            address,
            rkey: RKEY,
            asked,
        };
        let window = Window {
            id: user.window,
            epoch: 1,
            msn: user.msn,
        };
        let request = SendRequest {
            id: index as u64,
            to: TARGET,
            version: 1,
            flags: ONE_SIDED,
            window,
            head: request.encode(),
            buffer: [].into(),
            range: (0, 0),
        };
        let place = BASE + 64 + 8 * u64::from(user.window);
        self.memories[user.at]
            .places
            .insert(index as u64, Some(place));
        self.cards[user.at].post_send(QPN, request).unwrap();
    }

    fn ended(&mut self, index: usize, outcome: Outcome) {
        let user = &mut self.users[index];
        user.posted = false;
        if outcome == Outcome::Timeout {
            return;
        }
        assert_eq!(outcome, Outcome::Ok);
        user.msn += 1;
        let found = self.memories[user.at].word(BASE + 64 + 8 * u64::from(user.window));
        let target = &self.memories[self.memories.len() - 1];
        match user.doing.take().unwrap() {
            Doing::Add(add) => self.added.push((found, add)),
            Doing::Swap { swap, compare } => {
                user.tail = if found == compare { swap } else { found };
                self.swapped.push((found, compare, swap));
            }
            Doing::Write(value) => {
                user.own = value;
                assert_eq!(target.word(OWN + 8 * u64::from(user.window)), value);
            }
            Doing::Read => assert_eq!(found, user.own),
        }
    }

    /// One step of everything; software begins something new if `more`.
    fn step(&mut self, more: bool) {
        self.now += 100;
        for index in 0..self.users.len() {
            if !self.users[index].posted {
                self.post(index, more);
            }
        }
        while let Some(entry) = self.network.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (from, to, packet) = entry.remove();
            self.cards[to].receive(from, &packet, self.now);
        }
        for at in 0..self.cards.len() {
            self.cards[at].tick(self.now);
            while self.cards[at].serve(&mut self.memories[at]) {}
            let last = at + 1 == self.cards.len();
            let node = if last { TARGET.node } else { node_of(at) };
            while let Some(out) = self.cards[at].next_packet(self.now) {
                self.send(node, out.to, out.packet);
            }
            while let Some(completion) = self.cards[at].poll(if last { TARGET.qpn } else { QPN }) {
                match completion {
                    Completion::Sent { id, outcome, .. } => self.ended(id as usize, outcome),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn xud_13_every_operation_is_done_exactly_once_over_a_bad_network() {
    assert!(SHAPE.completions >= 2 * u32::from(WINDOWS));
    for seed in 0..4 {
        let mut world = World::new(seed);
        for _ in 0..40_000 {
            world.step(true);
        }
        for _ in 0..40_000 {
            world.step(false);
        }
        assert!(
            world.users.iter().all(|user| user.doing.is_none()),
            "seed {seed}"
        );
        assert!(world.added.len() > 500, "only {} sums", world.added.len());
        assert!(
            world.swapped.len() > 500,
            "only {} swaps",
            world.swapped.len()
        );

        // Sums: each was found once, and together they are one chain from 0 to what stands there.
        let target = &world.memories[usize::from(REQUESTERS)];
        let found: BTreeMap<u64, u64> = world.added.iter().copied().collect();
        assert_eq!(found.len(), world.added.len());
        let mut at = 0u64;
        for _ in 0..found.len() {
            at = at.wrapping_add(*found.get(&at).expect("a sum that nobody made"));
        }
        assert_eq!(target.word(SUM), at);

        // Swaps: those that found what they compared with are one chain; the others found something of it.
        let good: BTreeMap<u64, u64> = (world.swapped.iter())
            .filter(|(found, compare, _)| found == compare)
            .map(|(found, _, swap)| (*found, *swap))
            .collect();
        let mut chain = BTreeSet::from([0]);
        let mut at = 0;
        while let Some(next) = good.get(&at) {
            assert!(chain.insert(*next), "in a circle");
            at = *next;
        }
        assert_eq!(target.word(CHAIN), at);
        assert_eq!(chain.len(), good.len() + 1);
        assert!(
            world
                .swapped
                .iter()
                .all(|(found, ..)| chain.contains(found))
        );

        let stats = world.cards[usize::from(REQUESTERS)].stats();
        let done: u64 = world.users.iter().map(|user| u64::from(user.msn)).sum();
        assert_eq!(stats.one_sided, done);
        let again = stats
            .drops
            .of(tributary_protocol::xud::Drop::OneSidedDuplicate);
        assert!(again > 100, "only {again} came again");
        println!("seed {seed}: {done} done, {again} came again");
    }
}
