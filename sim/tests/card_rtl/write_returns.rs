//! A host interface in which writes reach memory late: what the card says is done, with and without the sequence numbers of its
//! writes coming back.

use tributary_protocol::card::regs::{
    CONTROL, CONTROL_RESET, Counter, DOORBELL_ARM, ID, MAGIC, MSIX_PENDING, doorbell,
};
use tributary_protocol::xud::wire::{self, Packet, Reply};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::{Config, WritePath};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::Verilated;

use super::bench::{Dice, Pair, Queue};
use super::landing::{NO_LAP, wrong_card};
use super::traffic::{Traffic, alive};
use super::{library, long, seed};

/// Longer than the timeout of the queue pairs, ns.
const QUIET: u64 = 10_500 * CLOCK_NS;

fn queues() -> Vec<Queue> {
    (0..4).map(|qpn| Queue::new(qpn, [4, 4, 5])).collect()
}

/// Cards behind such a host interface, which count the numbers that come back or not, with queue pairs in traffic.
fn cards(seed: u64, writes: WritePath, returns: bool) -> (Pair, Traffic, Dice) {
    cards_of(library(), 0, seed, writes, returns)
}

fn cards_of(
    library: &Verilated,
    fault: u64,
    seed: u64,
    writes: WritePath,
    returns: bool,
) -> (Pair, Traffic, Dice) {
    let mut dice = Dice::new(seed);
    let config = Config {
        seed,
        stall: Profile::Independent(dice.pick(&[0, 40, 120])),
        writes,
        ..Config::default()
    };
    let mut pair = Pair::rtl_of(library, &config);
    let mut traffic = Traffic::new();
    for at in 0..2 {
        let (card, _) = pair.rtl_card(at);
        if fault > 0 {
            let port = card.model().port("fault").unwrap();
            card.model().set(port, fault);
        }
        card.set_write_returns(returns).unwrap();
        traffic.start(&mut pair, at, &queues());
    }
    pair.sent = Some(Vec::new());
    (pair, traffic, dice)
}

/// Acknowledgements OK that node `at` has sent since the last call.
fn acknowledged(pair: &mut Pair, at: usize) -> u64 {
    let sent = pair.sent.take().unwrap_or_default();
    let (mine, others): (Vec<_>, Vec<_>) =
        sent.into_iter().partition(|sent| sent.to == Some(1 - at));
    pair.sent = Some(others);
    let ok = |frame: &[u8]| matches!(wire::decode_frame(frame), Ok((_, Packet::Ack(ack))) if ack.reply == Reply::Ok);
    mine.iter().filter(|sent| ok(&sent.frame)).count() as u64
}

/// Messages both ways; how often a card had acknowledged more than was in memory, and messages.
fn run(seed: u64, rounds: u64, writes: WritePath, returns: bool) -> (u64, u64) {
    let (mut pair, mut traffic, mut dice) = cards(seed, writes, returns);
    let (mut acks, mut early) = ([0; 2], 0);
    for _ in 0..rounds {
        for at in 0..2 {
            for flow in &traffic.flows[at] {
                if dice.chance(10) {
                    let offset = doorbell(flow.queue.qpn, &DOORBELL_ARM);
                    pair.write_at(at, offset, flow.queue.consumed.into());
                }
            }
        }
        pair.step();
        traffic.pump(&mut pair, &mut dice, true);
        for (at, acks) in acks.iter_mut().enumerate() {
            *acks += acknowledged(&mut pair, at);
            early += u64::from(*acks > traffic.landed[at]);
        }
    }
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0, "seed {seed}");
    for at in 0..2 {
        let sent = pair.counter(at, Counter::Interrupts);
        assert_eq!(sent, pair.hosts[at].memory.interrupts.len() as u64);
        assert!(sent > 0);
        assert_eq!(pair.read_at(at, MSIX_PENDING), 0);
    }
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 5);
    pair.check();
    (early, traffic.good)
}

#[test]
fn xud_04_with_numbers_that_return_late_and_in_any_order_all_that_is_acknowledged_is_in_memory() {
    let (runs, rounds) = if long() { (30, 2_000) } else { (2, 300) };
    for seed in seed()..seed() + runs {
        for (memory, number) in [(0..=0, 0..=0), (0..=40, 0..=0), (100..=400, 0..=300)] {
            let writes = WritePath {
                memory,
                number,
                lost: false,
            };
            let (early, good) = run(seed, rounds, writes.clone(), true);
            println!("seed {seed}, {writes:?}: {good} messages");
            assert_eq!(early, 0, "seed {seed}, {writes:?}");
            assert!(
                good > rounds / 4,
                "seed {seed}, {writes:?}: {good} messages"
            );
        }
    }
}

#[test]
fn xud_04_without_numbers_a_host_interface_whose_writes_are_late_is_noticed() {
    let writes = WritePath {
        memory: 300..=400,
        ..WritePath::default()
    };
    let (early, _) = run(seed(), 300, writes, false);
    assert!(
        early > 0,
        "the test sees no acknowledgement before its data"
    );
}

/// Resets, and bus mastering that comes and goes, while numbers of before are on their way.
fn reset_with_numbers_under_way(library: &Verilated, fault: u64, seed: u64, resets: u64) {
    let writes = WritePath {
        memory: 100..=200,
        number: 0..=1_000,
        lost: false,
    };
    let (mut pair, mut traffic, mut dice) = cards_of(library, fault, seed, writes, true);
    let mut acks = [0; 2];
    for round in 0..resets {
        for _ in 0..20 + dice.below(30) {
            let at = dice.below(2) as usize;
            pair.set_bus_master(at, dice.chance(80));
            pair.step();
            traffic.pump(&mut pair, &mut dice, true);
            for (at, acks) in acks.iter_mut().enumerate() {
                *acks += acknowledged(&mut pair, at);
                assert!(*acks <= traffic.landed[at], "seed {seed} round {round}");
            }
        }
        let at = dice.below(2) as usize;
        let function = dice.chance(50);
        let (card, memory) = pair.rtl_card(at);
        (0..dice.below(100)).for_each(|_| card.clock(Some(&mut *memory)));
        if function {
            card.function_reset(memory);
        } else {
            pair.write(at, &CONTROL, CONTROL_RESET.put(1));
        }
        pair.resets += 1;
        for at in 0..2 {
            pair.set_bus_master(at, true);
        }
        let (card, memory) = pair.rtl_card(at);
        (0..60).for_each(|_| card.clock(Some(&mut *memory)));
        pair.wait(at);
        // Rings of before say nothing any more: a completion that the reset cut was filled up with zeros.
        acknowledged(&mut pair, at);
        acks[at] = traffic.landed[at];
        let (card, memory) = pair.rtl_card(at);
        (0..250).for_each(|_| card.clock(Some(&mut *memory)));
        while card.root().reads_pending() > 0 {
            card.clock(Some(&mut *memory));
        }
        for flow in &traffic.flows[at] {
            pair.unmap_rings(at, &flow.queue);
        }
        // New numbers are under way while those of before come back.
        traffic.start(&mut pair, at, &queues());
    }
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0, "seed {seed}");
    println!("seed {seed}: {} messages", traffic.good);
    assert!(traffic.good > 10 * resets, "{} messages", traffic.good);
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 9);
    pair.check();
}

#[test]
fn xud_04_numbers_of_before_a_reset_count_for_nothing_after_it() {
    for seed in seed()..seed() + if long() { 40 } else { 3 } {
        reset_with_numbers_under_way(library(), 0, seed, 8);
    }
}

#[test]
fn a_card_that_does_not_tell_its_numbers_of_a_reset_is_noticed() {
    let run = || reset_with_numbers_under_way(wrong_card(), NO_LAP, seed(), 8);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it was not noticed");
}

#[test]
fn numbers_that_never_return_acknowledge_nothing_and_a_reset_helps() {
    for soft in [false, true] {
        let lost = WritePath {
            lost: true,
            ..WritePath::default()
        };
        let (mut pair, mut traffic, mut dice) = cards(seed(), lost, true);
        for at in 0..2 {
            pair.write_at(at, doorbell(0, &DOORBELL_ARM), 0);
        }
        for _ in 0..300 {
            traffic.pump(&mut pair, &mut dice, true);
            pair.step();
        }
        for at in 0..2 {
            assert_eq!(acknowledged(&mut pair, at), 0);
            assert_eq!(pair.counter(at, Counter::AcksSent), 0);
            assert_eq!(pair.counter(at, Counter::Interrupts), 0);
            assert_eq!(pair.read(at, &ID), MAGIC);
            let (card, memory) = pair.rtl_card(at);
            let writes = card.root().seen.writes;
            assert!((1..=32).contains(&writes), "{writes} writes");
            card.root().config.writes.lost = false;
            if soft {
                pair.write(at, &CONTROL, CONTROL_RESET.put(1));
            } else {
                card.function_reset(memory);
            }
            pair.resets += 1;
            pair.run(2_000 * CLOCK_NS);
            for flow in &traffic.flows[at] {
                pair.unmap_rings(at, &flow.queue);
            }
        }
        for at in 0..2 {
            traffic.start(&mut pair, at, &queues());
        }
        for _ in 0..200 {
            traffic.pump(&mut pair, &mut dice, true);
            pair.step();
        }
        pair.settle(QUIET);
        traffic.pump(&mut pair, &mut dice, false);
        assert_eq!(traffic.open_sends(), 0);
        assert!(traffic.good > 50, "{} messages", traffic.good);
        traffic.stop(&mut pair);
        pair.check();
    }
}
