//! Runs of the whole sending side.

use std::sync::OnceLock;

use tributary_hdl::catalog;
use tributary_hdl::emit::Design;
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::{PROFILES, Profile, seeds};
use tributary_sim::verilate::Verilated;

use crate::joint::{Bench, Coverage, Plan};
use crate::network::Faults;
use tributary_sim::testbench::wrong::{self, Wrong};

fn design() -> Design {
    let sizes = [("S", 16), ("Q", 16)];
    catalog::choose("bulk_transmit", &sizes)
        .unwrap()
        .emit()
        .unwrap()
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| wrong::build(&design().top, &design().files()))
}

const NO_FAULTS: Faults = Faults {
    loss: 0,
    double: 0,
    spread: 0,
};

fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        clocks: 150_000,
        stall: Profile::of_seed(seed),
        mtu: [256, 1_024, 512, 4_096, 2_048][(seed % 5) as usize],
        faults: Faults {
            loss: [0, 10, 50][(seed % 3) as usize],
            double: [10, 0, 60][(seed % 3) as usize],
            spread: [0, 400, 3_000][(seed / 2 % 3) as usize],
        },
        unread: [0, 4][(seed % 2) as usize],
        wrong: 150,
        reads: 250,
        asks: 1_200,
        end_every: [0, 9_000][(seed / 3 % 2) as usize],
        most: 12_000,
        line: false,
    }
}

fn run(library: &Verilated, plan: Plan) -> Coverage {
    let mut bench = Bench::new(library, plan);
    bench.run().unwrap_or_else(|what| panic!("{what}"));
    bench.coverage
}

/// A network without faults and nobody who asks for what he may not: every transfer ends well, and nothing is sent twice.
#[test]
fn bw_01_bw_08_bw_11_transfers_over_a_good_network_are_at_their_receivers_byte_by_byte() {
    let plan = Plan {
        clocks: 200_000,
        stall: Profile::Free,
        faults: NO_FAULTS,
        unread: 0,
        wrong: 0,
        asks: 400,
        end_every: 0,
        ..plan(3)
    };
    let coverage = run(library(), plan);
    println!("{:?} {} bytes", coverage.statuses, coverage.bytes);
    assert_eq!(
        coverage.statuses.keys().copied().collect::<Vec<_>>(),
        [Outcome::Ok as u8]
    );
    assert!(coverage.statuses[&0] > 100 && coverage.bytes > 500_000);
    let count = |of: BulkCounter| coverage.events[of as usize - BulkCounter::Completed as usize];
    assert_eq!(count(BulkCounter::BadMessage), 0);
    // Large packets of many transfers in turn take longer than a receiver waits for the next one of its own.
    let (fresh, again) = (count(BulkCounter::DataSent), count(BulkCounter::DataResent));
    assert_eq!(fresh + again, coverage.data);
    assert!(again <= fresh / 100, "{again} of {fresh} again");
    assert_eq!(fresh, coverage.packets.len() as u64);
    // READ (BW-11), both ways.
    assert_eq!(count(BulkCounter::Served), coverage.answered);
    assert!(
        coverage.answered > 40 && coverage.reads[&0] > 20,
        "{} answered, {:?}",
        coverage.answered,
        coverage.reads
    );
}

/// Loss, doubles, overtaking, stalls at every port, memory that fails, regions and queue pairs that end, and requests that are
/// wrong in every way: each work request has exactly one completion, the right one, and what ends well is there.
#[test]
fn bw_01_bw_05_bw_08_bw_09_bw_11_rw_07_transfers_among_faults_with_every_profile_of_stalls() {
    let mut all = Coverage::default();
    for seed in seeds(PROFILES.len() as u64) {
        println!("seed {seed}");
        let coverage = run(library(), plan(seed));
        for (status, count) in &coverage.statuses {
            *all.statuses.entry(*status).or_default() += count;
        }
        all.events
            .iter_mut()
            .zip(coverage.events)
            .for_each(|(all, count)| *all += count);
        all.bytes += coverage.bytes;
        all.silent += coverage.silent;
        all.ends += coverage.ends;
        all.local_errors += coverage.local_errors;
        all.read_failed += coverage.read_failed;
        all.data += coverage.data;
        for (status, count) in &coverage.reads {
            *all.reads.entry(*status).or_default() += count;
        }
        all.answers += coverage.answers;
        all.no_answers += coverage.no_answers;
        all.answered += coverage.answered;
        for (all, count) in all.judged.iter_mut().zip(coverage.judged) {
            *all += count;
        }
        all.busy += coverage.busy;
    }
    println!("{all:?}");
    if std::env::var_os("TRIBUTARY_SEED").is_some() {
        return;
    }
    for status in [
        Outcome::Ok,
        Outcome::LocalLength,
        Outcome::LocalOpcode,
        Outcome::LocalProtection,
        Outcome::LocalDma,
        Outcome::RemoteAccess,
        Outcome::Unreachable,
    ] {
        assert!(all.statuses.contains_key(&(status as u8)), "no {status}");
    }
    // READ (BW-11): of this host, with every end, and of peers, with every verdict.
    for status in [
        Outcome::Ok,
        Outcome::LocalOpcode,
        Outcome::LocalProtection,
        Outcome::RemoteLength,
        Outcome::RemoteAccess,
        Outcome::BadQp,
        Outcome::Unreachable,
        Outcome::Unresponsive,
        Outcome::Aborted,
    ] {
        assert!(all.reads.contains_key(&(status as u8)), "no READ: {status}");
    }
    for verdict in [0, 2, 3, 4, 7] {
        assert!(all.judged[verdict] > 5, "verdict {verdict}: {all:?}");
    }
    assert!(
        all.answers > 200 && all.no_answers > 100 && all.answered > 200 && all.busy > 20,
        "{all:?}"
    );
    assert!(all.silent > 10 && all.ends > 20 && all.read_failed > 10 && all.local_errors > 20);
}

/// One transfer alone over a 64-bit line, from a host that answers after 150 clocks (BW-6): clocks from packet to packet.
#[test]
fn bw_06_one_transfer_fills_a_line_from_a_host_that_answers_after_150_clocks() {
    for (mtu, bytes) in [
        (256, 100_000),
        (512, 100_000),
        (1_024, 200_000),
        (4_096, 400_000),
    ] {
        let plan = Plan {
            stall: Profile::Free,
            faults: NO_FAULTS,
            unread: 0,
            wrong: 0,
            end_every: 0,
            mtu,
            clocks: 0,
            line: true,
            ..plan(1)
        };
        let mut bench = Bench::new(library(), plan);
        bench.post(Some(bytes));
        bench.rest().unwrap_or_else(|what| panic!("{what}"));
        let left = &bench.coverage.left;
        // The first ones wait for host memory, and the last one is short.
        let (first, last) = (left[4], left[left.len() - 2]);
        let clocks = (last - first) as f64 / (left.len() - 6) as f64;
        let line = (mtu + 90) as f64 / 8.0;
        println!(
            "{mtu} bytes: {clocks:.1} clocks a packet, {line:.1} on the line, {} packets",
            left.len()
        );
        // Small ones leave as fast as bulk_send chooses them among the messages of their receiver.
        let most = (line * 1.05).max(50.0);
        assert!(
            clocks < most,
            "{mtu} bytes take {clocks} clocks, {line} on the line"
        );
    }
}

const WRONG: [Wrong; 13] = [
    // BW-1: a completion of nothing, none of something.
    ("bulk_works", "silent_reg <= ", "1'b1"),
    ("bulk_works", "gone_key_reg <= ", "1'b0"),
    // BW-5: no second look; the other one's answer.
    ("bulk_fetch", "reads_reg <= ", "1'b0"),
    ("bulk_looks", "of_b_reg <= ", "1'b0"),
    // BW-9: those of the queue pair that ends.
    ("bulk_marks", "same_pair_reg <= ", "1'b0"),
    // BW-5: other bytes are read.
    ("bulk_fetch", "address_reg <= ", "source_address_reg"),
    // RW-7: no message is believed.
    ("bulk_hear", "stray_reg <= ", "1'b1"),
    // BW-11: a READ is looked up, and an answer read, with another right.
    ("bulk_begin", "m_look_need = ", "4'd0"),
    ("bulk_fetch", "m_look_need = ", "4'd0"),
    // BW-11: an answer has a completion, ends with another queue pair, and names no READ.
    ("bulk_works", "end_response = ", "1'b0"),
    ("bulk_works", "marks_s_start_qpn = ", "s_qpn"),
    ("bulk_pack", "transfer_token = ", "64'd0"),
    // BW-9, BW-11: READs are not waited for when a queue pair ends.
    (
        "bulk_transmit",
        "works_s_end_valid = ",
        "s_end_valid & s_end_pair",
    ),
];

#[test]
fn bw_01_bw_05_bw_09_bw_11_every_wrong_sending_side_is_noticed() {
    let library = wrong::library(
        &design().top,
        design().files(),
        ("cfg_incarnation", 16),
        101,
        &WRONG,
    );
    let runs = |number: u64| {
        (0..4).try_for_each(|seed| {
            let plan = Plan {
                clocks: 50_000,
                unread: 4,
                end_every: [3_000, 0][(seed % 2) as usize],
                wrong: 250,
                ..plan(seed)
            };
            let mut bench = Bench::new(&library, plan);
            bench.incarnation(100 + number);
            bench.run()
        })
    };
    runs(0).unwrap_or_else(|what| panic!("the right one: {what}"));
    wrong::every_is_noticed(&WRONG, |number| runs(1 + number));
}
