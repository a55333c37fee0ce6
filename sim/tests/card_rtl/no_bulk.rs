//! A card without bulk transfers says so, refuses their work requests and drops their frames; the card of the model does the same.

use tributary_protocol::bulk::{OPCODE_READ_REFUSED, Purpose, Transfer};
use tributary_protocol::card::descriptor::{
    OPCODE_BULK_READ, OPCODE_BULK_WRITE, WorkRequest, flags,
};
use tributary_protocol::card::regs::{
    BulkCounter, Counter, FEATURES, FEATURES_BULK, STATISTICS_LOW, STATISTICS_SELECT,
};
use tributary_protocol::roce::{self, Bth, Link};
use tributary_protocol::rw::{Connect, Data, Message, MessageType, Poll, opcode, wire};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;

use super::bench::{Dice, NODES, Pair, Queue, READS, WRITES};
use super::seed;
use super::traffic::{READABLE, WRITABLE, work};

const MTU: u32 = 512;
const QUIET: u64 = 1_000 * CLOCK_NS;

/// A bulk work request as a driver posts it, and how a card without them ends it: what is longer than a packet by its length.
fn request(dice: &mut Dice, to: Peer, wr_id: u64) -> (WorkRequest, Outcome) {
    let reads = dice.chance(50);
    let length = dice.pick(&[0, 1, 496, 497, 4_096, 0x1_0000]);
    let most = u64::from(MTU) - HEADER_LEN as u64;
    let asked = if reads {
        Asked::Read(0)
    } else {
        Asked::Write(&[])
    };
    let header = Request {
        address: WRITES + dice.below(64),
        rkey: WRITABLE.key(),
        asked,
    };
    let request = WorkRequest {
        opcode: if reads {
            OPCODE_BULK_READ
        } else {
            OPCODE_BULK_WRITE
        },
        flags: dice.pick(&[0, flags::FENCE.mask() as u8]),
        head_len: HEADER_LEN as u8,
        version_flags: ONE_SIDED_FRAME,
        head: header.header(),
        ..work(to, READS, length, wr_id)
    };
    let outcome = if length > most {
        Outcome::LocalLength
    } else {
        Outcome::LocalOpcode
    };
    (request, outcome)
}

/// A frame of bulk transfers: right in every field, or any bytes behind one of the opcodes.
fn frame(dice: &mut Dice, queue: &Queue) -> Vec<u8> {
    let link = Link::between(NODES[1], NODES[0]);
    let src = NODES[1];
    let (slot, xid) = (dice.below(16) as u16, dice.word() as u32);
    let message = match dice.below(4) {
        0 => {
            let connect = Message::Connect(Connect {
                src,
                slot,
                xid,
                incarnation: dice.word() as u16,
                length: dice.below(0x1_0000) as u32,
                addr: WRITES,
                rkey: WRITABLE.key(),
                mtu: 8,
            });
            let header = Transfer {
                qpn: queue.qpn,
                source: queue.qpn,
                q_key: queue.q_key,
                purpose: Purpose::Write,
            };
            (connect, header.encode().to_vec())
        }
        1 => {
            let len = dice.below(MTU.into()) as u16;
            let data = Message::Data(Data {
                src,
                wptr: dice.below(64) as u16,
                r#gen: dice.below(4) as u32,
                pidx: dice.below(64) as u32,
                tail: true,
                round: 0,
                len,
            });
            (data, dice.bytes(len.into()))
        }
        2 => {
            let poll = Message::Poll(Poll {
                src,
                wptr: dice.below(64) as u16,
                r#gen: dice.below(4) as u32,
                slot,
                xid,
                seq: 1,
            });
            (poll, Vec::new())
        }
        _ => {
            let first = opcode(MessageType::Data);
            let opcodes = u64::from(OPCODE_READ_REFUSED - first) + 1;
            let bth = Bth {
                opcode: first + dice.below(opcodes) as u8,
                dest_qp: dice.pick(&[queue.qpn, 0xFF_FFFF]),
                psn: dice.word() as u32 & 0xFF_FFFF,
            };
            let length = dice.below(200) as usize;
            return roce::encode(&link, &bth, &dice.bytes(length)).unwrap();
        }
    };
    wire::encode_frame(&link, &message.0, &message.1).unwrap()
}

#[test]
fn a_card_without_bulk_transfers_refuses_their_requests_and_drops_their_frames() {
    let seed = seed();
    let rounds = if super::long() { 1_000 } else { 60 };
    for (kind, mut pair) in [Pair::rtl(seed, 32), Pair::model()].into_iter().enumerate() {
        let mut dice = Dice::new(seed);
        let queue = &mut Queue::new(2, [4, 4, 6]);
        for at in 0..2 {
            pair.open(at, MTU);
            pair.set_region(at, &READABLE);
            pair.set_region(at, &WRITABLE);
            pair.create(at, queue);
        }
        assert_eq!(FEATURES_BULK.get(pair.read(0, &FEATURES)), 0);
        let to = Peer {
            node: NODES[1],
            qpn: queue.qpn,
        };
        for round in 0..rounds {
            let what = format!("card {kind}, round {round}");
            let (request, outcome) = request(&mut dice, to, round);
            let errors = pair.counter(0, Counter::LocalError);
            pair.sent = Some(Vec::new());
            pair.post_sends(0, queue, &[request]);
            queue.posted += 1;
            pair.settle(QUIET);
            let ended = pair.completions(0, queue);
            let [ended] = ended[..] else {
                panic!("{what}: {ended:?}")
            };
            assert_eq!((ended.wr_id, ended.status), (round, outcome), "{what}");
            assert_eq!(pair.counter(0, Counter::LocalError), errors + 1, "{what}");
            queue.consumed += 1;
            pair.consume(0, queue);

            let frame = frame(&mut dice, queue);
            let before = Counter::ALL.iter().map(|c| pair.counter(0, *c));
            let before: Vec<u64> = before.collect();
            let accesses = pair.hosts[0].memory.accesses;
            pair.hosts[0].inbox.push_back(frame);
            pair.settle(QUIET);
            for (counter, before) in Counter::ALL.iter().zip(before) {
                let waits = [Counter::WaitRead, Counter::WaitLine, Counter::WaitWrite];
                let more = u64::from(*counter == Counter::NotXud);
                if !waits.contains(counter) {
                    let now = pair.counter(0, *counter);
                    assert_eq!(now, before + more, "{counter:?}, {what}");
                }
            }
            assert_eq!(pair.hosts[0].memory.accesses, accesses, "{what}");
            assert_eq!(pair.sorted_frames(), [], "{what}");
        }
        for counter in BulkCounter::ALL {
            pair.write(0, &STATISTICS_SELECT, counter.code().into());
            assert_eq!(pair.read(0, &STATISTICS_LOW), 0, "{counter:?}");
        }

        // The queue pair goes on.
        pair.post_sends(0, queue, &[work(to, READS, 64, rounds)]);
        pair.settle(QUIET);
        let ended = pair.completions(0, queue);
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].status, Outcome::RemoteRnr);
        for at in 0..2 {
            pair.destroy(at, queue);
        }
        pair.check();
    }
}
