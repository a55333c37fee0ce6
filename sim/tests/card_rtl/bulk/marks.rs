//! Marks of switches (CL-4): registers, frames, who is told, and transfers that slow down; on Verilated cards and on models.

use tributary_protocol::bulk::{Congested, OPCODE_CONGESTED};
use tributary_protocol::card::regs::{
    CONGESTION_CONTROL, CONGESTION_INTERVAL, CONTROL, CONTROL_RESET, CongestionCounter, Counter,
    FEATURES_CONGESTION,
};
use tributary_protocol::roce::{self, F_IP_DSCP, F_OPCODE, Link};
use tributary_protocol::rw::pace::Congestion;

use super::*;

/// Transfers of the test, one after the other's end.
const BYTES: u64 = 40_000;

pub fn count(pair: &mut Pair, at: usize, counter: CongestionCounter) -> u32 {
    pair.write(at, &STATISTICS_SELECT, counter.code().into());
    pair.read(at, &STATISTICS_LOW)
}

/// Both kinds of cards, opened.
pub fn both(seed: u64) -> [(Pair, Queue); 2] {
    [pair(seed), made(Pair::model_with_groups())]
}

#[test]
fn cl_04_registers_of_congestion_keep_what_fits_and_are_as_new_after_a_reset() {
    for (kind, (mut pair, _)) in both(seed()).into_iter().enumerate() {
        assert_eq!(
            FEATURES_CONGESTION.get(pair.read(0, &FEATURES)),
            1,
            "{kind}"
        );
        let mut written = 0;
        for round in 0..2 {
            assert_eq!(pair.read(0, &CONGESTION_CONTROL), 0, "{kind} {round}");
            assert_eq!(pair.read(0, &CONGESTION_INTERVAL), 48, "{kind} {round}");
            for (register, good, bad) in [
                (&CONGESTION_CONTROL, 1, 2),
                (&CONGESTION_INTERVAL, 0xA5F3, 0x1_0000),
            ] {
                pair.write(0, register, good);
                assert_eq!(pair.read(0, register), good, "{kind}");
                let refused = pair.counter(0, Counter::BadWrite);
                pair.write(0, register, bad);
                pair.run(2_000);
                assert_eq!(pair.counter(0, Counter::BadWrite), refused + 1, "{kind}");
                assert_eq!(pair.read(0, register), good, "{kind}");
                written += 1;
            }
            pair.write(0, &CONTROL, CONTROL_RESET.put(1));
            pair.open(0, MTU);
        }
        assert_eq!(written, 4);
        pair.check();
    }
}

/// A write of [`BYTES`], and what came of it.
fn transfer(pair: &mut Pair, queue: &mut Queue, dice: &mut Dice, number: u64) {
    let bytes = dice.bytes(BYTES as usize);
    pair.mapped(0).write(READS, &bytes);
    let request = write(queue, 0, 0, BYTES, number);
    post(pair, 0, queue, request);
    pair.settle(QUIET);
    let ended = pair.completions(0, queue);
    let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
    assert_eq!(ended, [(number, Outcome::Ok)]);
    queue.consumed += 1;
    pair.consume(0, queue);
    assert!(pair.mapped(1).bytes(WRITES, bytes.len()) == bytes);
}

/// Off: no frame may be marked, nobody is told. On at both ends: all may, marks are counted and told, and the sender waits. It
/// sends nothing again, and with marks gone it is as fast as before.
#[test]
fn cl_04_marked_transfers_slow_down_and_what_a_card_counts_is_what_happened() {
    use CongestionCounter::{Heard, MarkedReceived, Sent as Told, Slowed, WaitPace};
    let seed = seed();
    for (kind, (mut pair, mut queue)) in both(seed).into_iter().enumerate() {
        let mut dice = Dice::new(seed);
        pair.mark_every = 3;
        transfer(&mut pair, &mut queue, &mut dice, 0);
        assert_eq!((pair.markable, pair.marked_data), (0, [0; 2]), "{kind}");
        for at in 0..2 {
            pair.write(at, &CONGESTION_CONTROL, 1);
            for counter in [MarkedReceived, Told, Heard, Slowed, WaitPace] {
                assert_eq!(count(&mut pair, at, counter), 0, "{kind} {counter:?}");
            }
        }
        pair.sent = Some(Vec::new());
        transfer(&mut pair, &mut queue, &mut dice, 1);
        let frames = pair.sent.take().unwrap();
        let capable = |frame: &[u8]| F_IP_DSCP.get(frame) & 3 == 2;
        assert!(frames.iter().all(|sent| capable(&sent.frame)), "{kind}");
        let told = frames
            .iter()
            .filter(|sent| F_OPCODE.get(&sent.frame) == u64::from(OPCODE_CONGESTED));
        let told = told.count() as u32;
        let [_, marked] = pair.marked_data;
        let seen = [MarkedReceived, Told].map(|counter| count(&mut pair, 1, counter));
        assert_eq!(seen, [marked as u32, told], "{kind}");
        assert!(marked > 10 && told > 2, "{kind}: {marked} {told}");
        let heard = [Heard, Slowed].map(|counter| count(&mut pair, 0, counter));
        assert!(heard[0] == told && heard[1] > 1, "{kind}: {heard:?}");
        let waited = count(&mut pair, 0, WaitPace);
        assert!(waited > 200, "{kind}: {waited} clocks");
        assert_eq!(bulk_counter(&mut pair, 0, BulkCounter::DataResent), 0);
        // The next one is a new transfer, and nothing marks it.
        pair.mark_every = 0;
        let waited = count(&mut pair, 0, WaitPace);
        transfer(&mut pair, &mut queue, &mut dice, 2);
        assert_eq!(count(&mut pair, 0, WaitPace), waited, "{kind}");
        pair.check();
    }
}

/// What strangers say, or says nothing, of a transfer changes a counter and nothing else; what is said to a card that does not look
/// at marks is no frame of its.
#[test]
fn cl_04_what_is_not_said_by_the_receiver_of_a_transfer_changes_a_counter_alone() {
    let seed = seed();
    for (kind, (mut pair, mut queue)) in both(seed).into_iter().enumerate() {
        let mut dice = Dice::new(seed);
        let say = |pair: &mut Pair, edit: &dyn Fn(&mut Congested)| {
            let mut message = Congested {
                node: NODES[1],
                slot: 0,
                xid: 1,
                said: Congestion {
                    marked: true,
                    share: 100,
                },
            };
            edit(&mut message);
            let link = Link::between(NODES[1], NODES[0]);
            let (bth, body) = message.encode();
            let frame = roce::encode(&link, &bth, &body).unwrap();
            pair.hosts[0].inbox.push_back(frame);
            pair.run(4_000);
        };
        let foreign = pair.counter(0, Counter::NotXud);
        say(&mut pair, &|_| {});
        assert_eq!(pair.counter(0, Counter::NotXud), foreign + 1, "{kind}");
        pair.write(0, &CONGESTION_CONTROL, 1);
        let counters = |pair: &mut Pair| {
            [BulkCounter::Stray, BulkCounter::BadMessage].map(|c| bulk_counter(pair, 0, c))
        };
        let [stray, bad] = counters(&mut pair);
        // No transfer is under way.
        say(&mut pair, &|_| {});
        assert_eq!(counters(&mut pair), [stray + 1, bad], "{kind}");
        say(&mut pair, &|message| message.said.share = 0);
        assert_eq!(counters(&mut pair), [stray + 1, bad + 1], "{kind}");
        // While one is.
        let bytes = dice.bytes(BYTES as usize);
        pair.mapped(0).write(READS, &bytes);
        let request = write(&queue, 0, 0, BYTES, 7);
        post(&mut pair, 0, &mut queue, request);
        pair.run(20_000);
        let mut strange = stray + 1;
        for edit in [
            &(|message: &mut Congested| message.node ^= 1) as &dyn Fn(&mut Congested),
            &|message| message.slot ^= 1,
            &|message| message.slot |= 1 << 9,
            &|message| message.xid ^= 1 << 31,
        ] {
            say(&mut pair, edit);
            strange += 1;
        }
        // Among others, such as the second copy of what ended the transfer.
        let [seen, wrong] = counters(&mut pair);
        assert!(
            seen >= strange && wrong == bad + 1,
            "{kind}: {seen} {wrong}"
        );
        let heard = |pair: &mut Pair| count(pair, 0, CongestionCounter::Heard);
        assert_eq!(heard(&mut pair), 0, "{kind}");
        pair.settle(QUIET);
        assert_eq!(pair.completions(0, &queue).len(), 1, "{kind}");
        assert_eq!(
            count(&mut pair, 0, CongestionCounter::WaitPace),
            0,
            "{kind}"
        );
        pair.check();
    }
}
