//! The largest card that is offered: queue pairs and regions at both ends of their numbers, and everywhere between.

use tributary_protocol::card::descriptor::{Of, ReceiveRequest, WorkRequest};
use tributary_protocol::card::regs::{Counter, DOORBELL_SEND, DOORBELLS, PAGE};
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CardSizes;
use tributary_sim::pcie::Config;

use super::bench::{Dice, NODES, Pair, Queue, READS, Region, WRITES};
use super::seed;
use super::traffic::work;

const SIZES: CardSizes = CardSizes {
    qps: 1_024,
    regions: 4_096,
    in_flight: 4_096,
    transfers: 0,
    window: 64,
};
/// Queue pairs in use on both cards.
const QPNS: [u32; 8] = [0, 1, 2, 511, 512, 513, 1_022, 1_023];
/// Bytes of a region and of a message.
const BYTES: u64 = 72;

/// Regions of a card, half of them to be read, half to be written: the first and last indices, and those with one bit.
fn regions() -> Vec<Region> {
    let last = SIZES.regions as u32 - 1;
    let powers = (3..12).map(|log| 1 << log);
    let indices = (0..8).chain(powers).chain(last - 8..=last);
    let region = |(slot, index): (u64, u32)| Region {
        index,
        variant: index as u8 ^ 0x5A,
        local_write: slot % 2 == 1,
        domain: 7,
        base: [READS, WRITES][slot as usize % 2] + slot * BYTES,
        length: BYTES,
    };
    (0..).zip(indices).map(region).collect()
}

/// A message each way between every queue pair of one card and every one of the other.
fn exchange(pair: &mut Pair, dice: &mut Dice, queues: &mut [Vec<Queue>; 2], regions: &[Region]) {
    let [from, to]: [Vec<&Region>; 2] = [false, true].map(|write| {
        let all = regions.iter().filter(|region| region.local_write == write);
        all.collect()
    });
    for turn in 0..QPNS.len() {
        let mut expected = Vec::new();
        for at in 0..2 {
            for place in 0..QPNS.len() {
                let there = (place + turn) % QPNS.len();
                // Every message has a region of its own on either side.
                let slot = (place + 3 * turn) % from.len().min(to.len());
                let bytes = dice.bytes(BYTES as usize);
                pair.mapped(at).write(from[slot].base, &bytes);
                let queue = &mut queues[1 - at][there];
                let request = ReceiveRequest {
                    wr_id: slot as u64,
                    address: to[slot].base,
                    lkey: to[slot].key(),
                    length: BYTES as u32,
                };
                pair.post_receives(1 - at, queue, &[request]);
                queue.receives = queue.receives.wrapping_add(1);
                expected.push((at, place, there, slot, bytes));
            }
        }
        pair.run(20_000);
        for (at, place, there, slot, _) in &expected {
            let to = Peer {
                node: NODES[1 - at],
                qpn: QPNS[*there],
            };
            let request = WorkRequest {
                lkey: from[*slot].key(),
                ..work(to, from[*slot].base, BYTES, *slot as u64)
            };
            let queue = &mut queues[*at][*place];
            pair.post_sends(*at, queue, &[request]);
            queue.posted = queue.posted.wrapping_add(1);
        }
        pair.run(40_000);
        for (at, own) in queues.iter_mut().enumerate() {
            for queue in own {
                let new = pair.completions(at, queue);
                let of = |of| new.iter().filter(|done| done.of == of).count();
                assert_eq!((of(Of::Send), of(Of::Receive)), (1, 1), "{}", queue.qpn);
                assert!(new.iter().all(|done| done.status == Outcome::Ok), "{new:?}");
                queue.consumed = queue.consumed.wrapping_add(2);
                pair.consume(at, queue);
            }
        }
        for (at, _, _, slot, bytes) in expected {
            let found = pair.mapped(1 - at).bytes(to[slot].base, BYTES as usize);
            assert_eq!(found, bytes, "from card {at}, region {}", to[slot].index);
        }
    }
}

#[test]
fn xud_02_14_the_largest_card_works_at_both_ends_of_its_numbers() {
    let seed = seed();
    let library = SIZES.build(false).unwrap();
    let mut dice = Dice::new(seed);
    let config = Config {
        seed,
        ..Config::default()
    };
    let mut pair = Pair::rtl_of(&library, &config);
    let regions = regions();
    let mut queues = [(); 2].map(|()| QPNS.map(|qpn| Queue::new(qpn, [3, 3, 5])).to_vec());
    for (at, own) in queues.iter().enumerate() {
        pair.open(at, 512);
        for region in &regions {
            pair.set_region(at, region);
        }
        for queue in own {
            pair.create(at, queue);
        }
    }
    exchange(&mut pair, &mut dice, &mut queues, &regions);
    // Refused: the last region under another variant, and a byte behind it.
    let last = regions.iter().rfind(|region| !region.local_write).unwrap();
    let to = Peer {
        node: NODES[1],
        qpn: 0,
    };
    let refused = [
        (last.key() ^ 1, last.base),
        (last.key(), last.base + 1),
        (0xFFFF_FF00, last.base),
    ];
    let requests = refused.map(|(lkey, address)| WorkRequest {
        lkey,
        ..work(to, address, BYTES, 9)
    });
    let queue = &queues[0][QPNS.len() - 1];
    pair.post_sends(0, queue, &requests);
    // A queue pair that was never made, and a doorbell page behind the last.
    pair.write_at(
        0,
        DOORBELLS + PAGE * 1_021 + u32::from(DOORBELL_SEND.offset),
        1,
    );
    pair.write_at(
        0,
        DOORBELLS + PAGE * 1_024 + u32::from(DOORBELL_SEND.offset),
        1,
    );
    pair.run(20_000);
    let ended = pair.completions(0, queue);
    let statuses: Vec<Outcome> = ended.iter().map(|done| done.status).collect();
    assert_eq!(statuses, [Outcome::LocalProtection; 3]);
    assert_eq!(pair.counter(0, Counter::BadDoorbell), 2);
    for (at, own) in queues.iter().enumerate() {
        for counter in [Counter::Rnr, Counter::BadQp, Counter::AckUnknown] {
            assert_eq!(pair.counter(at, counter), 0, "{counter:?}");
        }
        for queue in own {
            pair.destroy(at, queue);
        }
    }
    pair.check();
    let (card, _) = pair.rtl_card(0);
    println!("{} clocks", card.clocks());
}
