//! The receiving side of bulk transfers as it stands in the card (`bulk_receive`), in Verilator: frames in, writes of host
//! memory and answers out; which transfers answer READs of the host, and which READs of others are allowed. Senders are the executable model; the network loses, doubles and overtakes; frames with any bit
//! turned and of strangers come in between; regions and queue pairs end at any moment.
//!
//! `TRIBUTARY_SEED`: run this seed alone, to see a failure again.

mod bench;
mod mutations;
mod network;
mod watch;
mod world;

use bench::{Bench, Coverage, Plan};
use network::Faults;
use tributary_hdl::catalog;
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::rw::Outcome;
use tributary_sim::testbench::{PROFILES, Profile, seeds};
use tributary_sim::verilate::{BuildOptions, Verilated};
use world::Class;

/// Verilog of `bulk_receive`.
fn sources(w: usize, r: usize, q: usize) -> (String, Vec<(String, String)>) {
    let sizes = [("W", w), ("R", r), ("Q", q)];
    let design = catalog::choose("bulk_receive", &sizes)
        .unwrap()
        .emit()
        .unwrap();
    let files = design.files();
    (design.top, files)
}

fn build(top: &str, files: &[(String, String)]) -> Verilated {
    Verilated::build(&BuildOptions::new(top, files).with_checks()).unwrap()
}

fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        clocks: 150_000,
        stall: Profile::of_seed(seed),
        // What comes faster than the host takes it is lost for the most part.
        gap: match Profile::of_seed(seed) {
            Profile::OneIn(clocks) => 45 * u64::from(clocks),
            Profile::Independent(of_256) => 45 * 256 / u64::from(256 - of_256),
            _ => 60,
        },
        faults: Faults {
            loss: [0, 10, 60][(seed % 3) as usize],
            double: [10, 0, 60][(seed % 3) as usize],
            spread: [0, 400, 3_000][(seed / 2 % 3) as usize],
        },
        forge: [4, 0][(seed % 2) as usize],
        end_every: [0, 9_000][(seed / 3 % 2) as usize],
        reset_every: 0,
        cancel_every: [0, 4_000][(seed % 2) as usize],
        wrong: 150,
        busy_hint: 100,
        patience: 1_024,
        twice: seed % 4 != 3,
    }
}

fn run(library: &Verilated, plan: Plan) -> Coverage {
    let mut bench = Bench::new(library, plan);
    bench.run().unwrap_or_else(|what| panic!("{what}"));
    bench.coverage
}

fn count(coverage: &Coverage, counter: BulkCounter) -> u64 {
    coverage.events[counter as usize - BulkCounter::Completed as usize]
}

/// A line that loses nothing, and nobody who means harm: every transfer ends well, as often as it was begun, but for those
/// whose notification never finds a receive request, and no message is dropped.
#[test]
fn bw_01_bw_03_bw_07_bw_11_rw_16_transfers_over_a_line_without_loss_are_in_memory_byte_by_byte() {
    let (top, files) = sources(64, 16, 16);
    let library = build(&top, &files);
    let plan = Plan {
        stall: Profile::Free,
        gap: 45,
        faults: Faults {
            loss: 0,
            double: 0,
            spread: 0,
        },
        forge: 0,
        end_every: 0,
        cancel_every: 0,
        wrong: 0,
        ..plan(0)
    };
    let coverage = run(&library, plan);
    println!("{coverage:?}");
    let ok = coverage.outcomes[&Outcome::Ok];
    let not_ready = coverage.outcomes[&Outcome::NotReady];
    assert_eq!(coverage.outcomes.len(), 2, "{coverage:?}");
    assert!(coverage.told > 10 && not_ready > 1, "{coverage:?}");
    assert!(ok > 50 && coverage.bytes > 100_000, "{coverage:?}");
    assert!(coverage.read > 20 && coverage.unasked == 0, "{coverage:?}");
    assert_eq!(coverage.read, coverage.answered, "{coverage:?}");
    assert_eq!(count(&coverage, BulkCounter::Received), ok);
    // A transfer that waits long for its turn at the sender may be asked again: that is no fault of a frame.
    for counter in [
        BulkCounter::DataWrong,
        BulkCounter::ControlOverflow,
        BulkCounter::Stray,
        BulkCounter::BadMessage,
    ] {
        assert_eq!(count(&coverage, counter), 0, "{counter}");
    }
    for counter in [BulkCounter::ReceivedAborted, BulkCounter::NotReady] {
        assert_eq!(count(&coverage, counter), not_ready, "{counter}");
    }
}

/// Loss, doubles, overtaking, stalls on every port, forged frames, transfers that are to be refused, and regions and queue
/// pairs that end: each transfer ends as it must, what ends well is in memory, and nothing else is written, ever.
#[test]
fn bw_01_bw_02_bw_03_bw_05_bw_07_bw_09_bw_11_rw_16_rw_20_transfers_among_faults_with_every_profile_of_stalls()
 {
    let (top, files) = sources(64, 16, 16);
    let library = build(&top, &files);
    let mut all = Coverage::default();
    for seed in seeds(PROFILES.len() as u64) {
        let coverage = run(&library, plan(seed));
        for (outcome, count) in &coverage.outcomes {
            *all.outcomes.entry(*outcome).or_default() += count;
        }
        for (class, count) in &coverage.classes {
            *all.classes.entry(*class).or_default() += count;
        }
        for (sum, count) in all.events.iter_mut().zip(coverage.events) {
            *sum += count;
        }
        all.bytes += coverage.bytes;
        all.ends += coverage.ends;
        all.told += coverage.told;
        all.answered += coverage.answered;
        all.read += coverage.read;
        all.unasked += coverage.unasked;
        all.windowless += coverage.windowless;
        for (sum, count) in all.judged.iter_mut().zip(coverage.judged) {
            *sum += count;
        }
        all.held += coverage.held;
    }
    println!("{all:?}");
    if std::env::var_os("TRIBUTARY_SEED").is_some() {
        return;
    }
    for outcome in [
        Outcome::Ok,
        Outcome::Aborted,
        Outcome::Access,
        Outcome::BadQp,
        Outcome::Refused,
        Outcome::Unreachable,
        Outcome::NotReady,
        Outcome::Cancelled,
    ] {
        assert!(all.outcomes.contains_key(&outcome), "no {outcome:?}");
    }
    for class in [
        Class::Own,
        Class::Read,
        Class::Bad,
        Class::Stray,
        Class::Stale,
        Class::Data,
        Class::Poll,
        Class::Abort,
        Class::Connect,
    ] {
        assert!(all.classes.contains_key(&class), "no {class:?}");
    }
    for counter in [
        BulkCounter::Received,
        BulkCounter::ReceivedAborted,
        BulkCounter::ControlSent,
        BulkCounter::DataAccepted,
        BulkCounter::DataDuplicate,
        BulkCounter::DataStale,
        BulkCounter::Access,
        BulkCounter::BadQp,
        BulkCounter::BadKey,
        BulkCounter::NoRead,
        BulkCounter::NotReady,
    ] {
        assert!(count(&all, counter) > 0, "{counter} is 0");
    }
    assert!(all.ends > 20, "{} commands", all.ends);
    assert!(all.told > 100, "{} notifications", all.told);
    // READ (BW-11): answers, and requests of others with every verdict.
    assert!(
        all.read > 200 && all.unasked > 20 && all.windowless > 20,
        "{all:?}"
    );
    for verdict in [0, 2, 3, 4, 7] {
        assert!(all.judged[verdict] > 20, "verdict {verdict}: {all:?}");
    }
    assert!(all.held > 5, "{} while a command waited", all.held);
}

/// Resets at any moment: what waited is gone and what was open is closed, nothing of it is written later, each transfer ends once,
/// and those that begin afterwards end as they must.
#[test]
fn bw_09_bw_11_nothing_of_before_a_reset_is_written_after_it() {
    let (top, files) = sources(64, 16, 16);
    let library = build(&top, &files);
    let (mut ok, mut read) = (0, 0);
    for seed in seeds(4) {
        let plan = Plan {
            reset_every: 11_113,
            ..plan(3 * seed + 1)
        };
        let coverage = run(&library, plan);
        println!("{coverage:?}");
        assert!(coverage.resets > 10, "{coverage:?}");
        ok += coverage.outcomes[&Outcome::Ok];
        read += coverage.read;
    }
    if std::env::var_os("TRIBUTARY_SEED").is_none() {
        assert!(ok > 100 && read > 30, "{ok} ended well, {read} READs");
    }
}

/// Packets that follow each other without a gap are taken faster than a 64-bit line brings them, small ones and large ones:
/// the preamble and the gap between frames are 20 bytes, headers and ICRC 66 and the FCS 4.
#[test]
fn bw_07_payload_leaves_as_fast_as_the_line_brings_it() {
    let (top, files) = sources(256, 64, 64);
    let library = build(&top, &files);
    let plan = Plan {
        stall: Profile::Free,
        faults: Faults {
            loss: 0,
            double: 0,
            spread: 0,
        },
        forge: 0,
        end_every: 0,
        ..plan(0)
    };
    for (mtu, packets) in [(8, 250), (10, 60), (12, 15)] {
        let mut bench = Bench::new(&library, plan);
        let clocks = bench.rate(mtu, packets).unwrap();
        let line = f64::from((1 << mtu) + 20 + 66 + 4) / 8.0;
        println!(
            "{} bytes: {clocks:.1} clocks, {line:.1} on the line",
            1 << mtu
        );
        assert!(clocks < line, "2^{mtu} bytes take {clocks} clocks");
    }
}

/// Other sizes: words of the bitmap of 32 and of 64 bits.
#[test]
fn bw_01_bw_09_writes_into_larger_windows() {
    for w in [256, 1_024] {
        let (top, files) = sources(w, 64, 64);
        let library = build(&top, &files);
        for seed in seeds(2) {
            let coverage = run(
                &library,
                Plan {
                    clocks: 60_000,
                    ..plan(3 * seed + 4)
                },
            );
            assert!(coverage.outcomes[&Outcome::Ok] > 5, "{coverage:?}");
        }
    }
}
