//! The DMA reader when completions go wrong: the request fails, the others do not, and nothing is taken for another.

use crate::bench::{Dice, seeds};
use crate::dma_read::{Bench, config};
use tributary_protocol::pcie::{Attributes, Completion, Status, Tlp};
use tributary_sim::pcie::{Config, Fault, RawTlp};
use tributary_sim::testbench::stall::Profile;

/// Clocks until a read fails: more than any that has its completions takes.
const TIMEOUT: u64 = 20_000;

#[test]
fn faults_fail_their_request_and_no_other() {
    let (mut failed, mut late) = (0, 0);
    for seed in seeds(40) {
        let mut dice = Dice::new(seed);
        let mut config = config(seed);
        config.stall = Profile::Independent([0, 40, 128][seed as usize % 3]);
        config.faults = dice.pick(&[20, 60, 200]);
        // Later than the timeout, and before a tag is used again.
        config.late = TIMEOUT as u32 * 3 / 2;
        let mut bench = Bench::new(config);
        bench.timeout(TIMEOUT / 64);
        bench.take = dice.pick(&[60, 100]);
        // More than there are tags.
        while bench.root.faulted.len() < 60 && bench.clock < 150_000 {
            if bench.queue.len() < 4 {
                bench.random_request();
            }
            bench.tick();
        }
        bench.root.config.faults = 0;
        bench.drain(3 * TIMEOUT);
        while bench.root.reads_pending() > 0 {
            bench.tick();
        }
        bench.random_request();
        bench.drain(3 * TIMEOUT);
        failed += bench.failed;
        late += bench.strays;
    }
    assert!(failed > 100 && late > 10, "{failed} failed, {late} strays");
}

#[test]
fn each_fault_fails_the_one_read_it_happens_to() {
    let faults = [
        Fault::Refused(Status::UnsupportedRequest),
        Fault::Refused(Status::CompleterAbort),
        Fault::Refused(Status::RequestRetry),
        Fault::Poisoned,
        Fault::ByteCount,
        Fault::LowerAddress,
        Fault::Short,
        Fault::Long,
        Fault::Interface(2),
        Fault::Interface(15),
        Fault::Dropped,
        Fault::Late(5000),
    ];
    for (seed, fault) in faults.into_iter().enumerate() {
        let mut bench = Bench::new(Config {
            seed: seed as u64,
            ..Config::default()
        });
        bench.timeout(50);
        bench.root.inject(fault);
        for len in [4, 512, 1500] {
            bench.request(0x10_0200, len);
        }
        bench.drain(20_000);
        assert_eq!((bench.failed, bench.ended), (1, 2), "{fault:?}");
        bench.ticks(6000);
        let strays = u64::from(matches!(fault, Fault::Late(_)));
        assert_eq!(bench.strays, strays, "{fault:?}");
    }
}

#[test]
fn completions_for_nobody_are_dropped_and_counted() {
    let mut bench = Bench::new(Config {
        latency: 400..=400,
        ..Config::default()
    });
    bench.request(0x10_0000, 8);
    bench.ticks(100);
    assert_eq!(bench.root.reads_pending(), 1);
    let completion = Completion {
        attributes: Attributes::default(),
        length: 2,
        locked: false,
        completer_id: 0,
        status: Status::Successful,
        bcm: false,
        byte_count: 8,
        requester_id: 0x0300,
        tag: 0,
        lower_address: 0,
    };
    let wrong = [
        Completion {
            tag: 1,
            ..completion
        },
        Completion {
            tag: 32,
            ..completion
        },
        Completion {
            tag: 0x100,
            ..completion
        },
        Completion {
            tag: 0x200,
            ..completion
        },
        Completion {
            requester_id: 0x0301,
            ..completion
        },
        Completion {
            locked: true,
            ..completion
        },
    ];
    for wrong in wrong {
        let header = Tlp::Completion(wrong).emit().unwrap();
        let data = vec![0xDEAD_BEEF; 2];
        bench.root.send_completion(&RawTlp {
            header,
            data,
            beside: 0,
        });
    }
    // A write and a read have lost their way.
    for dw0 in [0x4000_0002, 0x0000_0002] {
        let header = [dw0, 0x0300_000F, 0x0300_0000, 0];
        let data = vec![1, 2];
        bench.root.send_completion(&RawTlp {
            header,
            data,
            beside: 0,
        });
    }
    bench.drain(1000);
    assert_eq!((bench.ended, bench.strays), (1, 8));
}

#[test]
fn a_completion_that_comes_twice_is_a_stray_the_second_time() {
    for seed in seeds(8) {
        let mut bench = Bench::new(Config {
            seed,
            ..config(seed)
        });
        let mut dice = Dice::new(seed);
        for _ in 0..10 {
            bench.root.inject(Fault::Twice);
            let len = dice.pick(&[1, 4, 8, 16, 60]);
            bench.request(0x10_0000, len);
        }
        bench.drain(5000);
        assert_eq!((bench.ended, bench.strays), (10, 10), "seed {seed}");
    }
}

#[test]
fn a_late_completion_is_never_taken_for_that_of_another_read() {
    // All reads look the same, and tags come round many times while the late completions are on their way.
    let mut bench = Bench::new(Config {
        latency: 5..=10,
        ..Config::default()
    });
    bench.timeout(64);
    for i in 0..8 {
        // The timeout is over after 4,096 clocks, and tags come back after twice that.
        bench.root.inject(Fault::Late(4200 + 500 * i));
    }
    for i in 0..600 {
        // Each is told from the others by its bytes only.
        bench.request(0x10_0000 + 128 * (i % 100), 64);
    }
    bench.drain(5000);
    bench.ticks(10_000);
    assert_eq!((bench.failed, bench.ended, bench.strays), (8, 592, 8));
    bench.root.check().unwrap();
}

#[test]
fn timeouts_in_the_middle_of_completions_fail_the_read_or_come_too_late() {
    let (mut failed, mut ended) = (0, 0);
    for seed in seeds(30) {
        let mut dice = Dice::new(seed);
        let mut config = config(seed);
        config.latency = 0..=2000;
        config.stall = Profile::Independent([0, 40, 96][seed as usize % 3]);
        let mut bench = Bench::new(config);
        bench.may_fail = true;
        // About as long as a read takes, which is never more than twice that.
        bench.timeout(24 + dice.below(8));
        for _ in 0..60 {
            let len = dice.pick(&[64, 512, 512]);
            bench.request(0x10_0000 + dice.below(0x8000), len);
        }
        bench.drain(20_000);
        failed += bench.failed;
        ended += bench.ended;
        while bench.root.reads_pending() > 0 {
            bench.tick();
        }
        bench.ticks(2000);
        // All late completions have come: every tag is free again.
        bench.timeout(0);
        bench.may_fail = false;
        (0..40).for_each(|_| bench.request(0x10_0000, 512));
        bench.drain(20_000);
    }
    assert!(
        failed > 100 && ended > 100,
        "{failed} failed, {ended} ended well"
    );
}

/// A timeout, in units of 64 clocks.
const UNITS: u64 = 100;

/// The next read goes out after twice the timeout since the reads of `began`, and not before.
fn comes_back(bench: &mut Bench, began: u64, reads: u64) {
    bench.request(0x10_0000, 8);
    while bench.clock < began + 2 * 64 * UNITS {
        bench.tick();
    }
    let seen = bench.root.seen.reads;
    assert_eq!(seen, reads, "a tag was used again too soon");
    bench.ticks(4 * 64);
    assert_eq!(bench.root.seen.reads, reads + 1);
    bench.drain(1000);
}

#[test]
fn tags_that_were_given_up_come_back_when_no_completion_can_come_any_more() {
    for fault in [Fault::Dropped, Fault::Short] {
        let mut bench = Bench::new(Config::default());
        bench.timeout(UNITS);
        for _ in 0..32 {
            bench.root.inject(fault);
            bench.request(0x10_0000, 8);
        }
        bench.drain(70 * UNITS);
        assert_eq!(bench.failed, 32);
        // The first of them went out at once.
        comes_back(&mut bench, 0, 32);
        assert_eq!(bench.ended, 1, "{fault:?}");
    }
}

#[test]
fn after_a_function_level_reset_tags_come_back_when_no_completion_can_come_any_more() {
    let mut bench = Bench::new(Config::default());
    bench.timeout(UNITS);
    for _ in 0..32 {
        bench.root.inject(Fault::Dropped);
        bench.request(0x10_0000, 8);
    }
    bench.ticks(1000);
    bench.function_reset(2);
    comes_back(&mut bench, 0, 32);
    assert_eq!((bench.ended, bench.failed), (1, 0));
}

#[test]
fn reads_go_on_whatever_number_of_completions_was_bad() {
    let mut bench = Bench::new(Config::default());
    let mut dice = Dice::new(1);
    bench.timeout(UNITS);
    for round in 1..=20 {
        for _ in 0..32 {
            bench.root.inject(dice.pick(&[
                Fault::ByteCount,
                Fault::LowerAddress,
                Fault::Short,
                Fault::Long,
                Fault::Interface(3),
            ]));
            bench.request(0x10_0000, 64);
        }
        bench.request(0x10_0040, 64);
        bench.drain(3 * 64 * UNITS);
        assert_eq!((bench.failed, bench.ended), (32 * round, round));
    }
    // All tags are out of use in each round, for twice the timeout.
    assert!(bench.clock < 20 * (2 * UNITS + 20) * 64);
}

#[test]
fn with_the_timeout_off_a_slow_host_is_waited_for() {
    let mut bench = Bench::new(Config {
        latency: 200_000..=200_000,
        ..Config::default()
    });
    bench.timeout(0);
    bench.request(0x10_0001, 700);
    bench.drain(300_000);
    assert_eq!(bench.ended, 1);
}

#[test]
fn a_function_level_reset_forgets_all_and_drops_the_completions_of_before() {
    for seed in seeds(30) {
        let mut config = config(seed);
        config.latency = 20..=400;
        let mut bench = Bench::new(config);
        let mut dice = Dice::new(seed);
        for _ in 0..4 {
            (0..20).for_each(|_| bench.random_request());
            let clocks = dice.below(900);
            bench.ticks(clocks);
            bench.function_reset(1 + dice.below(3));
            (0..5).for_each(|_| bench.random_request());
            bench.drain(30_000);
        }
        assert_eq!(bench.failed, 0, "seed {seed}");
        assert!(bench.ended >= 20, "seed {seed}");
    }
}

#[test]
fn a_completion_cut_off_by_another_fails_its_read() {
    let mut bench = Bench::new(Config {
        latency: 300..=300,
        ..Config::default()
    });
    bench.may_fail = true;
    bench.request(0x10_0000, 64);
    bench.request(0x10_0040, 64);
    bench.ticks(100);
    assert_eq!(bench.root.reads_pending(), 2);
    let completion = |tag: u32, address| [0x4A00_0010, 64, 0x0300_0000 | tag << 8 | address, 0];
    bench.root.send_completion_cut(
        &RawTlp {
            header: completion(0, 0),
            data: vec![0; 16],
            beside: 0,
        },
        3,
    );
    bench.drain(1000);
    // Its own completion comes after that; the tag has been given up, so it is dropped.
    assert_eq!((bench.failed, bench.ended), (1, 1));
    assert_eq!(bench.strays, 1);
}

#[test]
fn a_read_of_memory_that_is_not_mapped_fails_and_is_noted() {
    let mut bench = Bench::new(Config::default());
    bench.may_fail = true;
    // The last byte is one too many.
    bench.request(0x10_FF00, 257);
    bench.request(0x10_FF00, 256);
    while bench.ended == 0 {
        bench.tick();
    }
    assert_eq!(bench.failed, 1);
    let denied = bench.root.memory.take_denied();
    assert_eq!(denied.len(), 1);
    assert_eq!(
        (denied[0].iova, denied[0].bytes, denied[0].write),
        (0x11_0000, 1, false)
    );
    bench.drain(100);
}

#[test]
fn reset_forgets_all_reads_and_gives_all_tags_back() {
    let mut bench = Bench::new(Config::default());
    for round in 0..3 {
        // No completion comes for these: the link is reset with the card.
        (0..32).for_each(|_| bench.root.inject(Fault::Dropped));
        let before = bench.root.seen.reads;
        (0..40).for_each(|_| bench.request(0x10_0000, 64));
        bench.ticks(300);
        assert_eq!(bench.root.seen.reads - before, 32, "round {round}");
        bench.reset();
        (0..40).for_each(|_| bench.request(0x10_0003, 509));
        bench.drain(2000);
    }
    assert_eq!((bench.ended, bench.failed, bench.strays), (120, 0, 0));
}
