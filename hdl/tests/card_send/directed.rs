//! Single events, edges, and figures.

use super::bench::{Bench, Check};
use super::library;
use super::rtl::QPS;
use super::world::{CALM, Manner, Shape, all};
use std::fs;
use tributary_hdl::card::CardSend;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::{OPCODE_BULK_WRITE, WorkRequest};
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::beyond::beyond;
use tributary_sim::tools::{Tools, target_dir};

fn bench(seed: u64, manner: Manner) -> Bench {
    Bench::new(library(), seed, manner).unwrap_or_else(|e| panic!("{e}"))
}

fn shape(log: u8, qpn: u32) -> Shape {
    Shape {
        log,
        timeout: 7,
        pd: 0x1234,
        q_key: 0x8001_0000 + qpn,
        first: 0xFF_FFFE,
        base: u64::from(qpn) << 38 | 0x1F_FFFF_FFC0,
        member: false,
    }
}

/// Puts one work request into the ring and rings.
fn post(bench: &mut Bench, qpn: u32, change: impl FnOnce(&mut WorkRequest)) {
    bench.post(qpn, 1);
    let qp = &mut bench.qps[qpn as usize];
    let at = ((qp.written - 1) % (1 << qp.shape.log)) as usize;
    let mut request = WorkRequest::decode(&qp.ring[at]);
    change(&mut request);
    qp.ring[at] = request.encode();
}

/// Lints the Verilog of the block at a size.
fn lint<const LQ: usize>() {
    let design = emit_block(&mut CardSend::<LQ>::default()).expect("the block is writable");
    let dir = target_dir().join("blocks").join(&design.top);
    fs::create_dir_all(&dir).expect("target can be written");
    let files = design.write_to(&dir).expect("target can be written");
    let tools = Tools::find().unwrap_or_else(|e| panic!("{e}"));
    let output = tools
        .command("verilator")
        .expect("installed")
        .args(["--lint-only", "-Wall", "--quiet"])
        .args(["--default-language", "1364-2005"])
        .args(["--top-module", &design.top])
        .args(&files)
        .current_dir(&dir)
        .output()
        .expect("the tool starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.trim().is_empty(), "{text}");
}

#[test]
fn the_verilog_of_every_size_lints_clean() {
    lint::<4>();
    lint::<10>();
}

fn works(result: Check) {
    result.unwrap_or_else(|e| panic!("{e}"));
}

/// Every set of faults of one work request: the first one in the order of the contract decides.
#[test]
fn the_first_fault_in_the_order_of_the_contract_is_told() {
    let mut bench = bench(1, CALM);
    works(bench.connect(2, shape(4, 2)));
    let order = [
        Outcome::LocalLength,
        Outcome::LocalAddress,
        Outcome::LocalOpcode,
        Outcome::LocalProtection,
    ];
    for faults in 0..16_u32 {
        let before = bench.seen.outcomes.clone();
        post(&mut bench, 2, |request| {
            request.length = if faults & 1 != 0 { 4097 } else { 8 };
            request.to.qpn |= (faults >> 1 & 1) << 31;
            request.opcode = 1 + (faults >> 2 & 1) as u8;
            request.lkey = request.lkey & !1 | faults >> 3;
        });
        works(bench.drain());
        let want = (0..4).find(|fault| faults >> fault & 1 != 0);
        let want = want.map_or(0, |fault| order[fault].code());
        let count = |of: &std::collections::BTreeMap<u8, u64>| of.get(&want).copied().unwrap_or(0);
        assert_eq!(
            count(&bench.seen.outcomes),
            count(&before) + 1,
            "faults {faults:#b}"
        );
    }
}

/// The edges of each limit: one work request that just passes, one that just does not.
#[test]
fn limits_hold_to_the_byte() {
    let mut bench = bench(2, CALM);
    bench.mtu = 1024;
    works(bench.connect(5, shape(3, 5)));
    type Change = fn(&mut WorkRequest);
    let cases: [(Change, u8); 12] = [
        (|r| (r.head_len, r.length) = (16, 1008), 0),
        (|r| (r.head_len, r.length) = (16, 1009), 8),
        (|r| (r.head_len, r.length) = (0, 1024), 0),
        (|r| (r.head_len, r.length) = (1, 1024), 8),
        (|r| (r.head_len, r.length) = (17, 0), 8),
        (|r| (r.head_len, r.length) = (0, 1 << 13), 8),
        (|r| (r.head_len, r.length) = (0, u32::MAX), 8),
        (|r| r.to.qpn = 0xFF_FFFF, 0),
        (|r| r.to.qpn = 0x100_0000, 9),
        (|r| r.version_flags = 0x17, 0),
        (|r| r.version_flags = 0x18, 15),
        (|r| r.version_flags = 0x20, 15),
    ];
    for (case, (change, want)) in cases.into_iter().enumerate() {
        let before = bench.seen.outcomes.get(&want).copied().unwrap_or(0);
        post(&mut bench, 5, |request| {
            (request.head_len, request.length) = (4, 4);
            change(request);
        });
        works(bench.drain());
        assert_eq!(
            bench.seen.outcomes.get(&want),
            Some(&(before + 1)),
            "case {case}"
        );
    }
}

/// Numbers of a work request that are too large, though their lower bits are those of a good one.
#[test]
fn a_number_that_is_too_large_is_not_taken_for_its_lower_bits() {
    let mut bench = bench(2, CALM);
    bench.mtu = 1024;
    works(bench.connect(5, shape(3, 5)));
    let all = |head_lens: Vec<u64>, lengths: Vec<u64>, qpns: Vec<u64>| {
        let of = |which| move |value| (which, value);
        let all = head_lens.into_iter().map(of(0));
        let all = all.chain(lengths.into_iter().map(of(1)));
        all.chain(qpns.into_iter().map(of(2))).collect::<Vec<_>>()
    };
    let cases = all(
        beyond(17, 8, &[0, 4, 16]),
        beyond(1021, 32, &[0, 4, 64]),
        beyond(1 << 24, 32, &[0, 5]),
    );
    assert!(cases.len() > 80);
    for (which, value) in cases {
        let want = [
            Outcome::LocalLength,
            Outcome::LocalLength,
            Outcome::LocalAddress,
        ][which]
            .code();
        let before = bench.seen.outcomes.get(&want).copied().unwrap_or(0);
        post(&mut bench, 5, |request| {
            (request.head_len, request.length) = (4, 4);
            match which {
                0 => request.head_len = value as u8,
                1 => request.length = value as u32,
                _ => request.to.qpn = value as u32,
            }
        });
        works(bench.drain());
        let now = bench.seen.outcomes.get(&want);
        assert_eq!(now, Some(&(before + 1)), "{which}: {value:#x}");
    }
}

#[test]
fn work_posted_before_ready_to_send_starts_then() {
    let mut bench = bench(3, CALM);
    bench.create(9, shape(3, 9));
    works(bench.settle());
    bench.post(9, 5);
    works(bench.clocks(200));
    bench.set_state(9, State::ReadyToReceive);
    works(bench.clocks(200));
    assert_eq!(bench.seen.turns.len(), 0);
    bench.set_state(9, State::ReadyToSend);
    works(bench.drain());
    assert_eq!(bench.seen.records, 5);
}

/// In each state, each index: the model says which doorbells are good; none of a queue pair without ring is.
#[test]
fn doorbells_in_every_clock_are_all_checked() {
    let mut bench = bench(4, CALM);
    for qpn in 0..8 {
        works(bench.connect(qpn, shape((qpn % 4) as u8, qpn)));
    }
    bench.create(8, shape(2, 8));
    works(bench.connect(10, shape(2, 10)));
    bench.set_state(10, State::Error);
    works(bench.settle());
    for round in 0..2_000_u64 {
        let qpn = (round % QPS as u64) as u32;
        let written = bench.qps[qpn as usize].written as u16;
        let index = written
            .wrapping_add((round / 16 % 40) as u16)
            .wrapping_sub(20);
        bench.doorbells.push_back((qpn, 0, index));
        bench.doorbells.push_back((qpn, 0, written));
        bench.doorbells.push_back((qpn, 0, written));
    }
    works(bench.settle());
    let good = bench.seen.good_doorbells;
    works(bench.drain());
    assert!(good > 1_000, "{:?}", bench.seen.good_doorbells);
    assert!(
        bench.seen.bad_doorbells > 1_000,
        "{:?}",
        bench.seen.bad_doorbells
    );
    assert!(bench.qps[10].fetched == 0 && bench.qps[15].fetched == 0);
}

/// A ring of the largest size: full, and one more.
#[test]
fn a_ring_of_the_largest_size_fills_to_its_last_entry() {
    let mut bench = bench(5, CALM);
    works(bench.connect(0, shape(15, 0)));
    bench.hold = true;
    works(bench.clocks(10));
    let before = bench.seen.bad_doorbells;
    bench.doorbells.push_back((0, 0, 1 << 15));
    bench.doorbells.push_back((0, 0, (1 << 15) + 1));
    bench.doorbells.push_back((0, 0, u16::MAX));
    works(bench.clocks(20));
    let bad = bench.seen.bad_doorbells - before;
    assert_eq!((bench.seen.good_doorbells, bad), (1, 2));
    assert_eq!(bench.qps[0].posted, 1 << 15);
}

/// With k queue pairs that always have work, each has every k-th turn.
#[test]
fn busy_queue_pairs_take_turns() {
    for busy in [2, 5, 16] {
        let mut bench = bench(6, Manner { refuse: 30, ..CALM });
        for qpn in 0..busy {
            works(bench.connect(qpn, shape(6, qpn)));
        }
        while bench.seen.turns.len() < 2_000 {
            for qpn in 0..busy {
                bench.post(qpn, 8);
            }
            works(bench.clocks(11 * u64::from(busy)));
        }
        let turns = &bench.seen.turns;
        for qpn in 0..busy {
            let own: Vec<usize> = (100..turns.len()).filter(|&at| turns[at] == qpn).collect();
            let most = own.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(
                most <= Some(busy as usize + 1),
                "{qpn} of {busy} waits {most:?} turns"
            );
        }
        works(bench.drain());
    }
}

/// A queue pair without slots or place does not keep another one from sending.
#[test]
fn a_queue_pair_without_slots_does_not_block_the_others() {
    let mut bench = bench(
        7,
        Manner {
            slots: 4,
            flight: 4_000,
            ..CALM
        },
    );
    works(bench.connect(1, shape(6, 1)));
    works(bench.connect(9, shape(6, 9)));
    bench.post(1, 60);
    works(bench.clocks(500));
    let before = bench.seen.records;
    bench.post(9, 1);
    works(bench.clocks(300));
    // A place of the first may have become free meanwhile, for one more of its own.
    assert_eq!(bench.qps[9].fetched, 1);
    assert!(bench.seen.records > before);
    assert!(bench.seen.stall_credit > 5);
    works(bench.drain());
}

/// All that was fetched behind a failed read is dropped, and the queue pair can be made anew.
#[test]
fn a_ring_that_cannot_be_read_ends_its_queue_pair_once() {
    let mut bench = bench(8, Manner { fail: 100, ..CALM });
    works(bench.connect(4, shape(4, 4)));
    bench.post(4, 12);
    works(bench.clocks(1_000));
    assert_eq!(bench.seen.fatal, 1);
    assert_eq!(
        bench.seen.outcomes.get(&Outcome::LocalQueue.code()),
        Some(&1)
    );
    assert_eq!(bench.seen.dropped, bench.qps[4].fetched - 1);
    assert_eq!(bench.qps[4].state, State::Error);
    bench.manner.fail = 0;
    works(bench.destroy(4));
    works(bench.connect(4, shape(2, 4)));
    bench.post(4, 4);
    works(bench.drain());
    assert_eq!(bench.seen.records, 4);
}

/// Clocks for each of so many work requests of a few queue pairs with rings of 2^`log`, host memory 150 clocks away.
fn clocks_per_message(queue_pairs: u32, log: u8, messages: u64) -> f64 {
    let mut bench = bench(
        9,
        Manner {
            payload: 32,
            ..CALM
        },
    );
    for qpn in 0..queue_pairs {
        works(bench.connect(qpn, shape(log, qpn)));
    }
    let mut begin = None;
    while bench.seen.records < messages {
        for qpn in 0..queue_pairs {
            let qp = &bench.qps[qpn as usize];
            if qp.written - qp.ended < 512 {
                bench.post(qpn, 256);
            }
        }
        works(bench.clocks(64));
        if bench.seen.records > 100 {
            begin.get_or_insert((bench.now, bench.seen.records));
        }
    }
    let (clock, records) = begin.expect("more than 100 messages");
    let clocks = (bench.now - clock) as f64 / (bench.seen.records - records) as f64;
    works(bench.drain());
    clocks
}

#[test]
fn a_message_every_16_clocks_is_sustained() {
    for queue_pairs in [2, 16] {
        let clocks = clocks_per_message(queue_pairs, 10, 10_000);
        println!("{queue_pairs} queue pairs: {clocks:.2} clocks per message");
        assert!(clocks <= 16.0, "{clocks}");
    }
}

/// One queue pair alone is as fast, and its indices go round: through every place of the largest ring.
#[test]
fn one_queue_pair_sustains_a_message_every_16_clocks_while_its_indices_wrap() {
    let clocks = clocks_per_message(1, 15, 70_000);
    println!("1 queue pair: {clocks:.2} clocks per message");
    assert!(clocks <= 16.0, "{clocks}");
}

#[test]
fn a_doorbell_leads_to_a_fetch_and_a_work_request_to_a_record_within_20_clocks() {
    let mut bench = bench(10, CALM);
    works(bench.connect(3, shape(4, 3)));
    works(bench.clocks(50));
    for _ in 0..20 {
        bench.post(3, 1);
        let rung = bench.now;
        works(bench.clocks(400));
        let fetch = bench.seen.read_at - rung;
        let record = bench.seen.record_at - bench.seen.word_at;
        assert_eq!((fetch, record), (19, 6));
    }
    println!("doorbell to fetch 19 clocks, last word to record 6 clocks");
    assert!(all().all(|qpn| qpn == 3 || bench.qps[qpn as usize].fetched == 0));
}

/// A doorbell may go back; in whatever clock of the fetch it comes, nothing is fetched that was not posted.
#[test]
fn a_doorbell_that_takes_back_what_is_being_fetched_does_no_harm() {
    let mut bench = bench(11, CALM);
    works(bench.connect(6, shape(4, 6)));
    works(bench.clocks(50));
    for delay in 0..40 {
        let before = bench.qps[6].written;
        bench.post(6, 1);
        works(bench.clocks(delay));
        bench.doorbells.push_back((6, 0, before as u16));
        works(bench.clocks(60));
        let fetched = bench.qps[6].fetched;
        assert!(fetched == before || fetched == before + 1);
        // The next doorbell counts from what was fetched.
        bench
            .doorbells
            .push_back((6, 0, bench.qps[6].written as u16));
        works(bench.drain());
        assert_eq!(bench.qps[6].fetched, before + 1, "{delay} clocks later");
    }
}

/// A queue pair made anew begins at 0, whatever doorbells of others come while it is made.
#[test]
fn a_queue_pair_begins_at_its_first_entry_whatever_others_do() {
    let mut bench = bench(12, CALM);
    works(bench.connect(1, shape(4, 1)));
    for (begin, count) in (0..14).flat_map(|begin| [(begin, 1), (begin, 6)]) {
        works(bench.connect(2, shape(4, 2)));
        bench.post(2, 3);
        works(bench.drain());
        works(bench.destroy(2));
        bench.create(2, shape(4, 2));
        works(bench.clocks(begin));
        let written = bench.qps[1].written as u16;
        bench.doorbells.extend(vec![(1, 0, written); count]);
        bench.set_state(2, State::ReadyToReceive);
        bench.set_state(2, State::ReadyToSend);
        works(bench.settle());
        works(bench.clocks(60));
        assert_eq!(bench.qps[2].fetched, 0);
        bench.post(2, 2);
        works(bench.drain());
        assert_eq!(bench.qps[2].fetched, 2);
        works(bench.destroy(2));
    }
}

/// The end of a queue pair is kept, in whatever clock the state of another one is written.
#[test]
fn a_queue_pair_stays_ended_whatever_states_are_written_meanwhile() {
    let mut bench = bench(13, Manner { fail: 100, ..CALM });
    works(bench.connect(1, shape(4, 1)));
    for delay in (0..4).flat_map(|_| 0..14) {
        let (word, fatal) = (bench.seen.word_at, bench.seen.fatal);
        works(bench.connect(2, shape(4, 2)));
        bench.post(2, 6);
        while bench.seen.word_at == word {
            works(bench.clock());
        }
        works(bench.clocks(delay));
        bench.set_state(1, State::ReadyToSend);
        works(bench.clocks(800));
        assert_eq!(bench.seen.fatal, fatal + 1, "{delay} clocks later");
        works(bench.destroy(2));
    }
}

/// A request is set, and so its deadline starts, when xud_tx has room for it.
#[test]
fn no_deadline_starts_while_the_line_has_no_room() {
    let mut bench = bench(14, CALM);
    bench.manner.ahead = 0;
    works(bench.connect(7, shape(2, 7)));
    bench.post(7, 1);
    works(bench.clocks(1_000));
    assert_eq!(bench.qps[7].read, 1);
    assert!(bench.seen.outcomes.is_empty());
    bench.manner.ahead = 1;
    works(bench.drain());
    assert_eq!(bench.seen.records, 1);
}

/// A bulk transfer that finds no room waits, and the work requests of its queue pair behind it; those of others do not (BW-4).
#[test]
fn bw_04_a_bulk_transfer_without_room_holds_up_its_queue_pair_alone() {
    let mut bench = bench(16, CALM);
    bench.manner.bulk_taken = 0;
    works(bench.connect(1, shape(4, 1)));
    works(bench.connect(2, shape(4, 2)));
    for _ in 0..3 {
        post(&mut bench, 1, |request| request.opcode = OPCODE_BULK_WRITE);
    }
    post(&mut bench, 1, |_| {});
    works(bench.clocks(1_000));
    assert_eq!((bench.seen.bulks, bench.seen.records), (1, 0));
    for _ in 0..5 {
        bench.post(2, 8);
        works(bench.clocks(1_000));
    }
    assert_eq!((bench.seen.bulks, bench.seen.records), (1, 40));
    // It is fetched again when there is room, not before.
    assert_eq!(bench.qps[1].fetched, 1);
    let reads = bench.qps[1].read;
    works(bench.clocks(5_000));
    assert_eq!(bench.qps[1].read, reads);
    bench.manner.bulk_taken = 100;
    works(bench.drain());
    assert_eq!((bench.seen.bulks, bench.seen.records), (3, 41));
    assert!(bench.seen.came_back >= 1 && bench.seen.stale >= 1);
}

/// A fence waits for all before it, whatever they are; what stands behind it waits too, other queue pairs do not (BW-12).
#[test]
fn bw_12_a_fence_waits_for_all_before_it_and_holds_its_queue_pair_alone() {
    let mut bench = bench(20, CALM);
    bench.manner.flight = 0;
    bench.manner.bulk_taken = 0;
    works(bench.connect(1, shape(4, 1)));
    works(bench.connect(2, shape(4, 2)));
    post(&mut bench, 1, |request| request.opcode = OPCODE_BULK_WRITE);
    post(&mut bench, 1, |request| request.flags = 1);
    post(&mut bench, 1, |_| {});
    works(bench.clocks(1_000));
    assert_eq!((bench.seen.bulks, bench.seen.records), (1, 0));
    bench.post(2, 8);
    works(bench.clocks(1_000));
    assert_eq!((bench.seen.bulks, bench.seen.records), (1, 8));
    // It is fetched again when the one before it has ended, not before.
    let reads = bench.qps[1].read;
    works(bench.clocks(5_000));
    assert_eq!(bench.qps[1].read, reads);
    bench.manner.bulk_taken = 100;
    works(bench.drain());
    assert_eq!((bench.seen.bulks, bench.seen.records), (1, 10));
    assert_eq!((bench.seen.fenced, bench.seen.stale), (1, 1));
    assert_eq!(bench.qps[1].read, reads + 2);
    // Nothing is under way: a fence costs nothing.
    post(&mut bench, 1, |request| request.flags = 1);
    works(bench.drain());
    assert_eq!((bench.seen.fenced, bench.qps[1].read), (1, reads + 3));
}

/// Work requests of bulk transfers leave as fast as datagrams, if somebody takes them.
#[test]
fn a_bulk_transfer_every_16_clocks_is_sustained() {
    let mut bench = bench(17, Manner { bulk: 100, ..CALM });
    for qpn in 0..4 {
        works(bench.connect(qpn, shape(10, qpn)));
    }
    let mut begin = None;
    while bench.seen.bulks < 5_000 {
        for qpn in 0..4 {
            bench.post(qpn, 256);
        }
        works(bench.clocks(64));
        if bench.seen.bulks > 100 {
            begin.get_or_insert((bench.now, bench.seen.bulks));
        }
    }
    let (clock, bulks) = begin.expect("more than 100 of them");
    let clocks = (bench.now - clock) as f64 / (bench.seen.bulks - bulks) as f64;
    println!("{clocks:.2} clocks per bulk transfer");
    works(bench.drain());
    assert!(clocks <= 16.0, "{clocks}");
    assert_eq!(bench.seen.came_back, 0);
}
