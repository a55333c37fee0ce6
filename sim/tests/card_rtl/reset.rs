//! Resets at any moment, and queue pairs and regions that come and go: nothing of before is left.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::regs::{
    ARG0, ARGS, CONTROL, CONTROL_RESET, Counter, DOORBELL, GLOBAL, MSIX_PENDING, MSIX_TABLE, SIZES,
    doorbell,
};
use tributary_protocol::xud::Peer;
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;

use super::bench::{AREA, Dice, Pair, Queue, READS, Region, WRITES};
use super::traffic::{Traffic, alive, work};
use super::{long, seed};

/// Clocks that a reset lasts, the way of its TLP included.
const RESET_CLOCKS: u32 = 120;
/// `sizes` of the card here: 16 queue pairs, 32 regions, 64 places, 8 vectors.
const SIZES_HERE: u32 = 0x0306_0504;

fn queues() -> Vec<Queue> {
    (0..4)
        .map(|qpn| Queue {
            timeout: 2,
            ..Queue::new(qpn, [4, 4, 5])
        })
        .collect()
}

/// Registers are as after power-up.
fn as_new(pair: &mut Pair, at: usize) {
    pair.wait(at);
    for register in GLOBAL {
        let expected = match *register == SIZES {
            true => SIZES_HERE,
            false => register.reset,
        };
        assert_eq!(pair.read(at, register), expected, "{}", register.name);
    }
    for arg in 0..u32::from(ARGS) {
        assert_eq!(pair.read_at(at, u32::from(ARG0) + 4 * arg), 0, "arg{arg}");
    }
    for word in 0..32 {
        let masked = u32::from(word % 4 == 3);
        assert_eq!(pair.read_at(at, MSIX_TABLE + 4 * word), masked, "{word}");
    }
    assert_eq!(pair.read_at(at, MSIX_PENDING), 0);
}

#[test]
fn resets_at_any_moment_leave_a_new_card_and_drop_what_was_under_way() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl_behind(&Config {
        seed,
        stall: Profile::Independent(32),
        latency: 200..=600,
        ..Config::default()
    });
    let mut traffic = Traffic::new();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues());
    }
    let (mut late, mut good) = (0, 0);
    for count in 0..if long() { 2_000 } else { 50 } {
        for _ in 0..10 + dice.below(50) {
            traffic.pump(&mut pair, &mut dice, true);
            pair.step();
        }
        let at = dice.below(2) as usize;
        let function = dice.chance(50);
        println!("reset {count} of card {at}, of the function: {function}");
        pair.resets += 1;
        if !function {
            pair.write(at, &CONTROL, CONTROL_RESET.put(1));
        }
        let (card, memory) = pair.rtl_card(at);
        for _ in 0..dice.below(100) {
            card.clock(Some(&mut *memory));
        }
        if function {
            card.function_reset(memory);
        }
        for _ in 0..RESET_CLOCKS {
            card.clock(Some(&mut *memory));
        }
        let pending = card.root().reads_pending() as u64;
        let before = card.root().seen;
        as_new(&mut pair, at);
        // The completions of before come now, and frames of the other card.
        for _ in 0..12 {
            pair.step();
        }
        let strays = pair.counter(at, Counter::StrayCompletion);
        assert!(strays >= pending, "{strays} of {pending} were counted");
        late += strays;
        for (rung, qpn) in (0..4).enumerate() {
            for (kind, register) in DOORBELL.iter().enumerate() {
                pair.write_at(at, doorbell(qpn, register), dice.word() as u32);
                pair.step();
                let bad = pair.counter(at, Counter::BadDoorbell);
                assert_eq!(bad, 4 * rung as u64 + kind as u64 + 1);
            }
        }
        for counter in Counter::ALL {
            let moved = [Counter::StrayCompletion, Counter::BadDoorbell].contains(counter);
            assert!(
                moved || pair.counter(at, *counter) == 0,
                "{counter:?} after a reset"
            );
        }
        let (card, _) = pair.rtl_card(at);
        let seen = card.root().seen;
        assert_eq!(
            (seen.reads, seen.writes),
            (before.reads, before.writes),
            "host memory is touched after a reset"
        );
        for flow in &traffic.flows[at] {
            pair.unmap_rings(at, &flow.queue);
        }
        good = traffic.good;
        traffic.start(&mut pair, at, &queues());
        pair.check();
    }
    assert!(late > 50, "{late} completions came late");
    assert!(good > 300, "{good} messages");
    pair.settle(6_000 * CLOCK_NS);
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0);
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 5);
    pair.check();
}

/// A card is reset in the middle of traffic while its host takes few words; writes that ended while status.busy was 1.
fn reset_behind_a_slow_host(seed: u64) -> u64 {
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl(seed, 0);
    let mut traffic = Traffic::new();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues());
    }
    for _ in 0..40 + dice.below(20) {
        traffic.pump(&mut pair, &mut dice, true);
        pair.step();
    }
    let (card, memory) = pair.rtl_card(0);
    card.root().config.stall = Profile::Independent(255);
    (0..dice.below(400)).for_each(|_| card.clock(Some(&mut *memory)));
    pair.write(0, &CONTROL, CONTROL_RESET.put(1));
    pair.resets += 1;
    let (card, memory) = pair.rtl_card(0);
    (0..RESET_CLOCKS).for_each(|_| card.clock(Some(&mut *memory)));
    let before = card.root().seen.writes;
    pair.wait(0);
    let root = pair.rtl_card(0).0.root();
    let seen = root.seen;
    root.config.stall = Profile::Free;
    let memory = pair.mapped(0).bytes(WRITES, AREA as usize);
    pair.run(4_000 * CLOCK_NS);
    let after = pair.rtl_card(0).0.root().seen;
    assert_eq!(
        (after.reads, after.writes),
        (seen.reads, seen.writes),
        "a TLP of before the reset, seed {seed}"
    );
    assert_eq!(pair.mapped(0).bytes(WRITES, AREA as usize), memory);
    pair.check();
    seen.writes - before
}

#[test]
fn a_reset_has_ended_when_no_tlp_of_before_is_on_offer() {
    let runs = if long() { 200 } else { 12 };
    let waited: u64 = (seed()..seed() + runs).map(reset_behind_a_slow_host).sum();
    assert!(waited > 2, "{waited} writes were on offer in {runs} resets");
}

#[test]
fn xud_02_queue_pairs_and_regions_that_come_and_go_leave_nothing() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl(seed, 32);
    for at in 0..2 {
        pair.open(at, 512);
    }
    let region = |index| Region {
        index,
        variant: 0xA5,
        local_write: false,
        domain: 7,
        base: READS,
        length: 64,
    };
    for round in 0..if long() { 1_000 } else { 50 } {
        // Every number has its turn, beside another that stays while it goes.
        let qpns = [round % 16, (round + 5) % 16];
        let indices = [round % 32, (round * 7 + 3) % 32];
        for index in indices {
            pair.set_region(0, &region(index));
        }
        let queues = qpns.map(|qpn| Queue {
            timeout: 20,
            first_psn: dice.word() as u32 & 0xFF_FFFF,
            ..Queue::new(qpn, [6, 2, 7])
        });
        for queue in &queues {
            pair.create(0, queue);
        }
        // To nobody, as many as there are places: all leave at once, or a place was lost in a round before.
        let sent = pair.counter(0, Counter::Sent);
        let to = Peer { node: 9, qpn: 3 };
        let work: Vec<_> = (0..64)
            .map(|wr_id| {
                let mut work = work(to, READS, dice.below(65), wr_id);
                work.lkey = region(dice.pick(&indices)).key();
                work
            })
            .collect();
        pair.post_sends(0, &queues[0], &work);
        pair.settle(3_000);
        let now = pair.counter(0, Counter::Sent);
        assert_eq!(now - sent, 64, "round {round}");
        assert_eq!(pair.completions(0, &queues[0]), []);
        // With all places taken, the next one has to wait, until the first queue pair is gone.
        pair.post_sends(0, &queues[1], &work[..1]);
        pair.settle(3_000);
        assert_eq!(pair.counter(0, Counter::Sent), now, "round {round}");
        pair.destroy(0, &queues[0]);
        pair.settle(3_000);
        assert_eq!(pair.counter(0, Counter::Sent), now + 1, "round {round}");
        pair.destroy(0, &queues[1]);
        for index in indices {
            pair.command(0, Command::ClearRegion, index, &[]);
        }
        assert_eq!(pair.completions(0, &queues[0]), []);
    }
    for qpn in [0, 15] {
        alive(&mut pair, &mut dice, qpn);
    }
    pair.check();
}
