//! The DMA engines while the host takes bus mastering away and gives it back, at any clock.

use crate::bench::{Dice, build_wrong, seeds};
use crate::{dma_read, dma_write};
use tributary_hdl::pcie::{DmaRead, DmaWrite};
use tributary_sim::pcie::{Config, RootComplex};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::Model;

fn set_bus_master(model: &mut Model, root: &mut RootComplex, on: bool) {
    root.config.limits.bus_master = on;
    root.configure(model);
}

/// How long it lasts: often a few clocks, now and then long.
fn while_clocks(dice: &mut Dice) -> u64 {
    match dice.below(4) {
        0 => 1 + dice.below(3),
        1 => 1 + dice.below(300),
        _ => 1 + dice.below(30),
    }
}

/// Requests for bytes of their own, one behind the other with a gap.
fn requests_apart(bench: &mut dma_write::Bench, dice: &mut Dice) -> u64 {
    bench.apart = true;
    let (mut addr, mut count) = (0x10_0000 + dice.below(16), 0);
    loop {
        let len = dice.length();
        if addr + len > 0x11_0000 {
            return count;
        }
        bench.request(addr, len);
        count += 1;
        addr += len + dice.below(20);
    }
}

fn writes(mut bench: dma_write::Bench, seed: u64) {
    let mut dice = Dice::new(seed);
    bench.offer = dice.pick(&[10, 50, 100]);
    bench.feed = dice.pick(&[30, 90, 100]);
    let count = requests_apart(&mut bench, &mut dice);
    let mut on = true;
    while bench.open() > 0 {
        let clocks = while_clocks(&mut dice);
        bench.ticks(clocks);
        on = !on;
        set_bus_master(&mut bench.model, &mut bench.root, on);
    }
    set_bus_master(&mut bench.model, &mut bench.root, true);
    bench.drain();
    assert_eq!(bench.ended, count, "seed {seed}");
}

#[test]
fn writes_wait_for_bus_mastering_and_are_done_when_they_are_in_memory() {
    for seed in seeds(40) {
        writes(dma_write::Bench::new(dma_write::config(seed)), seed);
    }
}

#[test]
fn without_bus_mastering_no_write_leaves_none_is_done_and_a_reset_forgets_them() {
    for seed in seeds(20) {
        let mut bench = dma_write::Bench::new(Config {
            seed,
            ..dma_write::config(seed)
        });
        set_bus_master(&mut bench.model, &mut bench.root, false);
        (0..6).for_each(|_| bench.random_request());
        bench.ticks(3_000);
        assert_eq!((bench.ended, bench.root.seen.writes), (0, 0), "seed {seed}");
        assert!(bench.is_busy());
        // A configuration write ends bus mastering with a function-level reset; it may come back in any clock.
        bench.root.function_reset(&mut bench.model, true);
        bench.in_reset = true;
        bench.withdraw();
        bench.tick();
        bench.forget();
        bench.root.function_reset(&mut bench.model, false);
        bench.in_reset = false;
        bench.ticks(seed % 8);
        set_bus_master(&mut bench.model, &mut bench.root, true);
        bench.ticks(50);
        assert_eq!(
            bench.root.seen.writes, 0,
            "seed {seed}: of before the reset"
        );
        assert!(!bench.is_busy());
        (0..6).for_each(|_| bench.random_request());
        bench.drain();
        assert_eq!(bench.ended, 6, "seed {seed}");
    }
}

#[test]
fn a_reset_without_bus_mastering_ends_the_tlp_on_offer_and_nothing_else_leaves() {
    let (mut whole, mut cut) = (0, 0);
    for seed in seeds(60) {
        let mut config = dma_write::config(seed);
        config.stall = Profile::Independent(220);
        let mut bench = dma_write::Bench::new(config);
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            bench.random_request();
        }
        let clocks = 20 + dice.below(1_500);
        bench.ticks(clocks);
        let under_way = !bench.root.is_idle();
        set_bus_master(&mut bench.model, &mut bench.root, false);
        let clocks = dice.below(40);
        bench.ticks(clocks);
        let before = bench.root.seen.writes;
        bench.root.function_reset(&mut bench.model, true);
        bench.in_reset = true;
        for _ in 0..=dice.below(4) {
            bench.withdraw();
            bench.tick();
        }
        bench.forget();
        bench.root.function_reset(&mut bench.model, false);
        bench.in_reset = false;
        bench.ticks(2_000);
        let after = bench.root.seen.writes - before;
        assert!(after <= 1, "seed {seed}: {after} TLPs after the reset");
        whole += after;
        cut += u64::from(under_way);
        assert!(bench.root.is_idle(), "seed {seed}: a TLP without its end");
        assert!(!bench.is_busy());
        bench.accept();
        set_bus_master(&mut bench.model, &mut bench.root, true);
        let ended = bench.ended;
        (0..6).for_each(|_| bench.random_request());
        bench.drain();
        assert_eq!(bench.ended - ended, 6, "seed {seed}");
    }
    assert!(whole > 5 && cut > 5, "{whole} of {cut} TLPs were on offer");
}

#[test]
fn reads_wait_for_bus_mastering_and_none_fails() {
    for seed in seeds(40) {
        let mut dice = Dice::new(seed);
        let mut bench = dma_read::Bench::new(Config {
            seed,
            stall: Profile::Independent(dice.pick(&[0, 40, 200])),
            ..Config::default()
        });
        bench.timeout(400);
        (0..60).for_each(|_| bench.random_request());
        let mut on = true;
        while !bench.queue.is_empty() || !bench.due.is_empty() {
            let clocks = while_clocks(&mut dice);
            bench.ticks(clocks);
            on = !on;
            set_bus_master(&mut bench.model, &mut bench.root, on);
        }
        set_bus_master(&mut bench.model, &mut bench.root, true);
        bench.drain(3_000);
        assert_eq!((bench.ended, bench.failed), (60, 0), "seed {seed}");
    }
}

#[test]
fn without_bus_mastering_no_read_leaves_and_none_times_out() {
    let mut config = Config::default();
    config.limits.bus_master = false;
    let mut bench = dma_read::Bench::new(config);
    bench.timeout(16);
    bench.request(0x10_0003, 4096);
    bench.request(0x10_0003, 1);
    bench.ticks(16 * 64 * 4);
    assert_eq!((bench.failed, bench.root.seen.reads), (0, 0));
    set_bus_master(&mut bench.model, &mut bench.root, true);
    bench.drain(1_000);
    assert_eq!((bench.ended, bench.failed), (2, 0));
}

/// What a test says that fails.
fn caught(test: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(test).expect_err("the fault was not seen");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn engines_that_do_not_heed_bus_mastering_are_noticed() {
    let library = build_wrong(DmaWrite::default(), "bus_master_enable & s_room", "s_room");
    let said = caught(move || {
        let config = dma_write::config(1);
        writes(dma_write::Bench::of(&library, config), 1);
    });
    assert!(said.contains("bus master"), "{said}");
    let library = build_wrong(
        DmaRead::default(),
        "stop_reg <= !bus_master_enable",
        "stop_reg <= 1'b0",
    );
    let said = caught(move || {
        let mut config = Config::default();
        config.limits.bus_master = false;
        let mut bench = dma_read::Bench::of(&library, config);
        bench.request(0x10_0003, 4096);
        bench.ticks(100);
        if let Err(errors) = bench.root.check() {
            panic!("{errors}");
        }
    });
    assert!(said.contains("bus master"), "{said}");
}
