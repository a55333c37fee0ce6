//! Requests and packets that try to leave the regions. Host memory has just the rings and the regions, to the byte, and says so of
//! every access that is not to them; whether a request is refused is decided here once more, from the rule.

use std::collections::HashMap;

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{Of, ReceiveRequest, WorkRequest};
use tributary_protocol::card::regs::Counter;
use tributary_protocol::roce::Link;
use tributary_protocol::xud::wire::{self, CONTROL, Packet, Send};
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::pcie::Access;

use super::bench::{AREA, Dice, NODES, Pair, Queue, READS, Region, WRITES};
use super::traffic::alive;
use super::{long, seed};

/// Requests of each kind in a round: no more than the card holds.
const BURST: u64 = 16;
const MTU: u64 = 512;
/// The last byte of the address space.
const LAST: u64 = u64::MAX;

/// Regions of a host that do not overlap: at pages, 4 GiB, each other, and the end of all addresses, the very last one included.
fn regions(dice: &mut Dice) -> Vec<Region> {
    let bases: [u64; 12] = [
        0x1000,
        0x5_0FFF,
        0x9_0FF1,
        0xFFFF_FF00,
        0x2_0000_0000,
        0x2_0000_0801,
        0x3_0000_0FFE,
        0x4444_0000_0000,
        0x8000_0000_0000_0000,
        LAST,
        u64::MAX - 0x1800,
        u64::MAX - 0x2FFF,
    ];
    let mut indices: Vec<u32> = (0..32).collect();
    let mut regions = Vec::new();
    for base in bases {
        let index = indices.swap_remove(dice.below(indices.len() as u64) as usize);
        let most = 0x800;
        let last = base == LAST;
        let length = dice.pick(&[1, 2, 63, 64, 600, most - 1, most]);
        regions.push(Region {
            index,
            variant: dice.word() as u8,
            local_write: last || dice.chance(60),
            domain: if last { 7 } else { dice.pick(&[7, 7, 8]) },
            base: if last { LAST - (length - 1) } else { base },
            length,
        });
    }
    regions
}

/// The rule.
fn allowed(
    regions: &[Region],
    key: u32,
    domain: u16,
    address: u64,
    bytes: u64,
    write: bool,
) -> bool {
    let at = u128::from(address);
    bytes == 0
        || regions.iter().any(|region| {
            let base = u128::from(region.base);
            region.key() == key
                && region.domain == domain
                && (region.local_write || !write)
                && base <= at
                && at + u128::from(bytes) <= base + u128::from(region.length)
        })
}

/// A key and an address about some region's ends; one in five about the end of all addresses, so that some reach the last byte.
fn place(dice: &mut Dice, regions: &[Region], bytes: u64) -> (u32, u64) {
    let at_end = regions
        .iter()
        .find(|region| region.base.checked_add(region.length).is_none());
    let region = match at_end {
        Some(region) if dice.chance(20) => *region,
        _ => dice.pick(regions),
    };
    let key = region.key();
    let key = match dice.below(16) {
        0 => key ^ 1 << dice.below(32),
        1 => dice.pick(regions).key(),
        2 => dice.word() as u32,
        _ => key,
    };
    let end = region.base.wrapping_add(region.length);
    let inside = dice.below(region.length.saturating_sub(bytes) + 1);
    let address = match dice.below(8) {
        0..4 => region.base.wrapping_add(inside),
        4 => end.wrapping_sub(bytes),
        5 => end.wrapping_sub(bytes).wrapping_add(1),
        6 => region.base.wrapping_sub(1),
        _ => dice.word(),
    };
    (key, address)
}

/// One run; the messages that came from, or went to, the last byte of the address space.
fn run(seed: u64, rounds: u64, seen: &mut HashMap<(Of, Outcome), u64>) -> u64 {
    println!("run with seed {seed}");
    let mut at_last = 0;
    let holds_last = |address: u64, bytes: u32| bytes > 0 && LAST - address < u64::from(bytes);
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl(seed, 32);
    let regions = [(); 2].map(|()| regions(&mut dice));
    let mut queues = [(); 2].map(|()| {
        [(0, 7), (3, 8), (15, 7)].map(|(qpn, domain)| Queue {
            domain,
            ..Queue::new(qpn, [4, 4, 6])
        })
    });
    for at in 0..2 {
        pair.mapped(at).unmap(READS);
        pair.mapped(at).unmap(WRITES);
        pair.open(at, MTU as u32);
        for region in &regions[at] {
            let access = match region.local_write {
                true => Access::ReadWrite,
                false => Access::Read,
            };
            let memory = pair.mapped(at);
            memory.map(region.base, region.length, access).unwrap();
            memory.write(region.base, &dice.bytes(region.length as usize));
            pair.set_region(at, region);
        }
        for queue in &queues[at] {
            pair.create(at, queue);
        }
    }
    for _ in 0..rounds {
        let mut receives: HashMap<(usize, u32, u16), ReceiveRequest> = HashMap::new();
        let mut works: HashMap<(usize, u32, u16), WorkRequest> = HashMap::new();
        for at in 0..2 {
            for queue in &queues[at] {
                let requests: Vec<_> = (0..BURST)
                    .map(|_| {
                        let length = dice.pick(&[0, 1, 2, 63, 64, 512, 0x1_0000, u64::MAX >> 32]);
                        let (lkey, address) = place(&mut dice, &regions[at], length.min(MTU));
                        ReceiveRequest {
                            wr_id: dice.word(),
                            address,
                            lkey,
                            length: length as u32,
                        }
                    })
                    .collect();
                pair.post_receives(at, queue, &requests);
                for (number, request) in (queue.receives..).zip(requests) {
                    receives.insert((at, queue.qpn, number), request);
                }
            }
        }
        pair.settle(8_000);
        for at in 0..2 {
            for queue in &queues[at] {
                // Each takes one receive request, or tells of its length; packets of strangers take the rest.
                let requests: Vec<_> = (0..dice.below(BURST - 3))
                    .map(|_| {
                        let length = dice.pick(&[0, 1, 2, 7, 63, 64, 65, 511, 512]);
                        let (lkey, address) = place(&mut dice, &regions[at], length);
                        WorkRequest {
                            opcode: 1,
                            flags: 0,
                            head_len: 0,
                            length: length as u32,
                            wr_id: dice.word(),
                            address,
                            lkey,
                            version_flags: 0x10 | CONTROL,
                            to: Peer {
                                node: NODES[1 - at],
                                qpn: queue.qpn,
                            },
                            window: Window::default(),
                            head: [0; 16],
                        }
                    })
                    .collect();
                pair.post_sends(at, queue, &requests);
                for (number, request) in (queue.posted..).zip(&requests) {
                    works.insert((at, queue.qpn, number), *request);
                }
                for _ in 0..3 {
                    let frame = stranger(&mut dice, NODES[at], queue);
                    pair.hosts[at].inbox.push_back(frame);
                }
            }
        }
        pair.settle(80_000);
        for (at, queues) in queues.iter_mut().enumerate() {
            for queue in queues {
                for ended in pair.completions(at, queue) {
                    queue.consumed = queue.consumed.wrapping_add(1);
                    *seen.entry((ended.of, ended.status)).or_default() += 1;
                    let id = (at, queue.qpn, ended.request);
                    let domain = queue.domain;
                    let refused = ended.status == Outcome::LocalProtection;
                    if ended.of == Of::Send {
                        let work = works.remove(&id).expect("one completion each");
                        assert_eq!(work.wr_id, ended.wr_id);
                        let (key, length) = (work.lkey, work.length.into());
                        let good = allowed(&regions[at], key, domain, work.address, length, false);
                        assert_eq!(good, !refused, "{work:x?} ended {ended:x?}");
                        at_last += u64::from(good && holds_last(work.address, work.length));
                        continue;
                    }
                    let request = receives.remove(&id).expect("one completion each");
                    assert_eq!(request.wr_id, ended.wr_id);
                    let key = request.lkey;
                    let fits = |bytes: u32| {
                        let bytes = bytes.into();
                        allowed(&regions[at], key, domain, request.address, bytes, true)
                    };
                    if refused {
                        // Whatever its length was, a message that fits everywhere is not refused.
                        let most = request.length.min(MTU as u32);
                        assert!(!fits(most), "{request:x?} ended {ended:x?}");
                    } else {
                        assert!(fits(ended.length), "{request:x?} ended {ended:x?}");
                        at_last += u64::from(holds_last(request.address, ended.length));
                    }
                }
            }
        }
        assert_eq!(works.len(), 0, "work requests without a completion");
        // New queue pairs for the next round: receive requests that nobody took go with the old ones.
        for (at, queues) in queues.iter_mut().enumerate() {
            for queue in queues {
                pair.destroy(at, queue);
                *queue = Queue {
                    domain: queue.domain,
                    ..Queue::new(queue.qpn, queue.logs)
                };
                pair.create(at, queue);
            }
        }
        pair.check();
    }
    for at in 0..2 {
        assert_eq!(pair.counter(at, Counter::ReadFailed), 0);
        for queue in &queues[at] {
            pair.destroy(at, queue);
        }
        for region in &regions[at] {
            pair.command(at, Command::ClearRegion, region.index, &[]);
            pair.mapped(at).unmap(region.base);
        }
        pair.mapped(at).map(READS, AREA, Access::Read).unwrap();
        pair.mapped(at).map(WRITES, AREA, Access::Write).unwrap();
    }
    alive(&mut pair, &mut dice, 7);
    pair.check();
    at_last
}

/// A packet that no card has sent, of any length.
fn stranger(dice: &mut Dice, node: u32, queue: &Queue) -> Vec<u8> {
    let length = dice.pick(&[0, 1, 64, 65, 511, 512, 513, 4096]);
    let send = Send {
        dest_qp: queue.qpn,
        psn: dice.word() as u32 & 0xFF_FFFF,
        q_key: queue.q_key,
        src_qp: 9,
        version: dice.pick(&[0, 1]),
        flags: 0,
        window: Window::default(),
        payload: dice.bytes(length),
        marked: false,
    };
    let send = Send {
        flags: send.version * CONTROL,
        ..send
    };
    wire::encode_frame(&Link::between(77, node), &Packet::Send(send)).unwrap()
}

#[test]
fn no_request_or_packet_leaves_the_regions_to_the_byte() {
    let (runs, rounds) = if long() { (100, 40) } else { (3, 12) };
    let mut seen = HashMap::new();
    let mut at_last = 0;
    for seed in seed()..seed() + runs {
        at_last += run(seed, rounds, &mut seen);
    }
    println!("{seen:?}, {at_last} at the last byte");
    assert!(at_last > 10);
    for outcome in [
        (Of::Send, Outcome::Ok),
        (Of::Send, Outcome::LocalProtection),
        (Of::Send, Outcome::RemoteAccess),
        (Of::Send, Outcome::RemoteLength),
        (Of::Receive, Outcome::Ok),
        (Of::Receive, Outcome::LocalProtection),
    ] {
        assert!(
            seen.get(&outcome).is_some_and(|&count| count > 50),
            "{outcome:?}"
        );
    }
}
