//! Bulk WRITEs and datagrams of the same cards.

use tributary_protocol::card::descriptor::WorkRequest;
use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::{Access, Config};
use tributary_sim::testbench::stall::{Length, Profile};

use super::{QUIET, library, open_to_writes, post, write};
use crate::bench::{AREA, Dice, NODES, Pair, Queue, READS, Region};
use crate::traffic::Traffic;
use crate::{long, seed};

/// Where writes go; messages go to memory of their own.
const ASIDE: Region = Region {
    index: 29,
    variant: 0x3C,
    local_write: true,
    domain: 7,
    base: 0x7E57_0000_FFFF_A000,
    length: AREA,
};
/// Writes of a card under way, each to a place of its own.
const PLACES: u64 = 6;
/// Bytes of a place.
const BYTES: u64 = 10_000;

/// Writes of one card.
struct Writes {
    queue: Queue,
    /// What each place waits for: where the bytes come from, where they go, how many.
    open: [Option<(u64, u64, u64)>; PLACES as usize],
    ended: u64,
}

impl Writes {
    /// Begins one in some of the free places.
    fn post(&mut self, pair: &mut Pair, dice: &mut Dice, at: usize) {
        for place in 0..PLACES {
            if self.open[place as usize].is_some() || dice.chance(50) {
                continue;
            }
            let length = dice.below(BYTES - 8);
            let (from, to) = (dice.below(AREA - length), place * BYTES + dice.below(8));
            let header = Request {
                address: ASIDE.base + to,
                rkey: ASIDE.key(),
                asked: Asked::Write(&[]),
            };
            let request = WorkRequest {
                head: header.header(),
                to: Peer {
                    node: NODES[1 - at],
                    qpn: self.queue.qpn,
                },
                ..write(&self.queue, from, 0, length, place)
            };
            post(pair, at, &mut self.queue, request);
            self.open[place as usize] = Some((from, to, length));
        }
    }

    /// Takes completions; the bytes of each must be there.
    fn poll(&mut self, pair: &mut Pair, at: usize, source: &[u8]) {
        let new = pair.completions(at, &self.queue);
        for ended in &new {
            assert_eq!(ended.status, Outcome::Ok);
            let open = self.open[ended.wr_id as usize].take();
            let (from, to, length) = open.expect("one completion each");
            let arrived = pair.mapped(1 - at).bytes(ASIDE.base + to, length as usize);
            let sent = &source[from as usize..][..length as usize];
            assert!(arrived == sent, "{length} bytes from node {at}");
            self.ended += 1;
        }
        self.queue.consumed = self.queue.consumed.wrapping_add(new.len() as u16);
        if !new.is_empty() {
            pair.consume(at, &self.queue);
        }
    }
}

/// Queue pairs exchange messages both ways all the while, each of which is watched until its completion.
#[test]
fn bw_04_writes_and_datagrams_go_on_beside_each_other() {
    let profiles = [
        Profile::Free,
        Profile::Independent(60),
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
        Profile::Together {
            gap: 2_000,
            length: Length::Fixed(1_000),
        },
    ];
    for (number, stall) in profiles.into_iter().enumerate() {
        let seed = seed() + number as u64;
        let config = Config {
            seed,
            stall,
            ..Config::default()
        };
        let count = if long() { 2_000 } else { 40 };
        beside(Pair::rtl_of(library(), &config), seed, count);
    }
}

/// Until each card has made so many writes.
pub fn beside(mut pair: Pair, seed: u64, count: u64) {
    let mut dice = Dice::new(seed);
    let mut traffic = Traffic::new();
    let source = dice.bytes(AREA as usize);
    let mut writes = [0, 1].map(|at| {
        let queues = [5, 10].map(|qpn| Queue::new(qpn, [4, 4, 6]));
        traffic.start(&mut pair, at, &queues);
        let memory = pair.mapped(at);
        memory.map(ASIDE.base, AREA, Access::Write).unwrap();
        memory.write(READS, &source);
        open_to_writes(&mut pair, at, &ASIDE);
        let queue = Queue::new(2, [4, 4, 6]);
        pair.create(at, &queue);
        Writes {
            queue,
            open: [None; PLACES as usize],
            ended: 0,
        }
    });
    let start = pair.now;
    while writes.iter().any(|writes| writes.ended < count) {
        let most = 500_000 + count * 100_000;
        assert!(pair.now - start < most, "seed {seed}: it hangs");
        pair.run(dice.below(4_000));
        traffic.pump(&mut pair, &mut dice, true);
        for (at, writes) in writes.iter_mut().enumerate() {
            writes.poll(&mut pair, at, &source);
            writes.post(&mut pair, &mut dice, at);
        }
    }
    let clocks = (pair.now - start) / CLOCK_NS;
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    for (at, writes) in writes.iter_mut().enumerate() {
        writes.poll(&mut pair, at, &source);
        assert!(writes.open.iter().all(Option::is_none), "seed {seed}");
        pair.destroy(at, &writes.queue);
    }
    assert_eq!(traffic.open_sends(), 0, "seed {seed}");
    println!(
        "seed {seed}: {} writes, {} messages, {clocks} clocks",
        writes[0].ended + writes[1].ended,
        traffic.good
    );
    assert!(traffic.good > 4 * count, "{} messages", traffic.good);
    traffic.stop(&mut pair);
    pair.check();
}
