//! Rates, latencies, bus mastering, the reset of the function.

use crate::SHIM;
use crate::bench::{ANSWERED, Bench, COMPLETION, CQ, RC, READ, REQUEST, RQ, WRITE};

/// Clocks without a number until a reset is done.
const QUIET: u64 = 4096;

fn bench() -> Bench {
    let mut bench = Bench::new(&SHIM, 1).free();
    bench.set("cfg_function_status", 4);
    for _ in 0..4 {
        bench.clock().unwrap();
    }
    bench
}

/// Clocks from the first word at a sink to the last of so many TLPs, and the first of the clocks.
fn clocks(bench: &mut Bench, sink: usize, last: usize, tlps: usize) -> (u64, u64) {
    let (mut seen, mut first) = (0, None);
    for _ in 0..4000 {
        bench.clock().unwrap();
        if let Some(beat) = &bench.taken[sink] {
            first.get_or_insert(bench.now);
            seen += usize::from(beat[last] == 1);
            if seen == tlps {
                let first = first.unwrap();
                return (bench.now - first + 1, first);
            }
        }
    }
    panic!("{seen} of {tlps} TLPs");
}

/// So many writes of 64 bytes to the same address.
fn writes(bench: &mut Bench, count: u128) {
    for number in 0..count {
        let header = (2 << 125 | 16 << 96) | 0xFF << 64 | 0x1000 << 32;
        for at in 0..8 {
            let (sop, eop) = (u128::from(at == 0), u128::from(at == 7));
            let number = number % 32;
            bench.waiting[WRITE].push_back(vec![at, 3, header, number, sop, eop]);
        }
    }
}

fn reads(bench: &mut Bench, count: u128) {
    for tag in 0..count {
        let header = 16 << 96 | (tag << 8 | 0xFF) << 64 | 0x1000 << 32;
        bench.waiting[READ].push_back(vec![header, 0, 1, 1]);
    }
}

#[test]
fn tlps_of_64_bytes_follow_each_other_without_a_gap() {
    // Writes: a descriptor of two beats and 8 of data.
    let mut bench = bench();
    writes(&mut bench, 30);
    let start = bench.now;
    let (took, first) = clocks(&mut bench, RQ, 2, 30);
    assert_eq!((took, first - start), (300, 2), "RQ");

    // Requests of the host, as many beats.
    for _ in 0..30 {
        for at in 0..10u128 {
            let descriptor = [0x1000, 1 << 11 | 16];
            let data = descriptor.get(at as usize).copied().unwrap_or(at);
            bench.waiting[CQ].push_back(vec![data, 3, u128::from(at == 9), 0xFF]);
        }
    }
    let start = bench.now;
    let (took, first) = clocks(&mut bench, REQUEST, 6, 30);
    // The first word is the third beat, two clocks later.
    assert_eq!((took, first - start), (298, 5), "CQ");

    // Completions: 3 and 16 words in 10 beats.
    for _ in 0..30 {
        for at in 0..10u128 {
            let descriptor = [64 << 16 | 16 << 32];
            let data = descriptor.get(at as usize).copied().unwrap_or(at);
            let keep = if at == 9 { 1 } else { 3 };
            bench.waiting[RC].push_back(vec![data, keep, u128::from(at == 9), 0]);
        }
    }
    let start = bench.now;
    let (took, first) = clocks(&mut bench, ANSWERED, 5, 30);
    assert_eq!((took, first - start), (298, 5), "RC");

    // Reads.
    reads(&mut bench, 30);
    let (took, _) = clocks(&mut bench, RQ, 2, 30);
    assert_eq!(took, 60, "reads");
    assert_eq!((bench.dropped, bench.errors), (0, 0));
}

#[test]
fn reads_and_writes_take_turns() {
    let mut bench = bench();
    writes(&mut bench, 6);
    reads(&mut bench, 6);
    let mut kinds = vec![];
    let mut beats = 0;
    while kinds.len() < 12 {
        bench.clock().unwrap();
        if let Some(beat) = &bench.taken[RQ] {
            beats += 1;
            if beats == 2 {
                kinds.push(beat[0] >> 11 & 1);
            }
            if beat[2] == 1 {
                beats = 0;
            }
        }
        assert!(bench.now < 400);
    }
    assert!(kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
}

#[test]
fn without_bus_mastering_no_request_begins_and_answers_do() {
    let mut bench = bench();
    bench.set("cfg_function_status", 0);
    bench.clock().unwrap();
    bench.clock().unwrap();
    writes(&mut bench, 2);
    reads(&mut bench, 2);
    let answer = 10 << 120 | 4 << 64;
    bench.waiting[COMPLETION].push_back(vec![0, 0, answer, 1, 1]);
    for _ in 0..50 {
        bench.clock().unwrap();
        assert_eq!(bench.taken[RQ], None);
    }
    assert_eq!(
        (bench.waiting[WRITE].len(), bench.waiting[READ].len()),
        (16, 2)
    );
    assert!(bench.waiting[COMPLETION].is_empty());
    bench.set("cfg_function_status", 4);
    clocks(&mut bench, RQ, 2, 4);
}

#[test]
fn a_reset_of_the_function_ends_when_card_and_block_are_quiet() {
    let mut bench = bench();
    // A write has begun; it leaves whole. What stands behind it does not.
    writes(&mut bench, 8);
    reads(&mut bench, 3);
    let (mut pulses, mut beats) = (0, 0);
    for _ in 0..5 {
        bench.clock().unwrap();
        beats += u64::from(bench.taken[RQ].is_some());
    }
    bench.set("cfg_flr_in_process", 1);
    bench.set("card_busy", 1);
    for clock in 0..6000u64 {
        bench.clock().unwrap();
        pulses += bench.get("m_flr");
        beats += u64::from(bench.taken[RQ].is_some());
        assert_eq!(bench.get("cfg_flr_done"), 0);
        if clock > 3 {
            assert_eq!(bench.get("m_bus_master_enable"), 0);
        }
    }
    assert_eq!(pulses, 1);
    assert_eq!(beats % 10, 0, "a TLP is cut");
    assert!(beats <= 20 && bench.idle(), "{beats} beats left");
    // A number of before comes while it is counted, so it is counted anew.
    bench.set("card_busy", 0);
    for _ in 0..QUIET - 100 {
        bench.clock().unwrap();
    }
    bench.set("pcie_rq_seq_num_vld0", 1);
    bench.clock().unwrap();
    bench.set("pcie_rq_seq_num_vld0", 0);
    let mut waited = 0;
    while bench.get("cfg_flr_done") == 0 {
        bench.clock().unwrap();
        waited += 1;
        assert!(waited < QUIET + 10);
    }
    assert!(waited >= QUIET);
    bench.clock().unwrap();
    // A pulse, and no second one before the next reset.
    for _ in 0..QUIET + 100 {
        assert_eq!(bench.get("cfg_flr_done"), 0);
        bench.clock().unwrap();
    }
    assert_eq!(bench.get("m_flr"), 0);
    writes(&mut bench, 1);
    clocks(&mut bench, RQ, 2, 1);
    bench.set("cfg_flr_in_process", 0);
    bench.clock().unwrap();
    bench.clock().unwrap();
    bench.set("cfg_flr_in_process", 1);
    pulses = 0;
    for _ in 0..10 {
        bench.clock().unwrap();
        pulses += bench.get("m_flr");
    }
    assert_eq!(pulses, 1);
}
