//! When acknowledgements leave, clock by clock.

use tributary_protocol::card::descriptor::Of;
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::wire::{self, Packet, Reply};
use tributary_sim::card::Node;
use tributary_sim::pcie::Config;

use super::back_to_back::Pair;
use super::{long, seed};

/// Messages of a run.
const COUNT: u16 = 200;
/// Clocks without anything new after which a run is over.
const QUIET: u64 = 20_000;

/// What one card has done so far.
#[derive(Default)]
struct Side {
    /// Completions of received messages in host memory.
    landed: u64,
    /// The same when the frame that is on the line began.
    landed_at_begin: u64,
    /// Acknowledgements OK that have left.
    acknowledged: u64,
    /// Clocks in which there were more completions than acknowledgements: the rule is tested only then.
    apart: u64,
}

/// Messages both ways; what each card has done.
fn run(seed: u64, stall: u8, length: u32) -> [Side; 2] {
    let config = Config {
        seed,
        stall,
        latency: 20..=300,
        ..Config::default()
    };
    let mut pair = Pair::behind(&config);
    for host in &mut pair.hosts {
        host.receives(COUNT, 4096);
    }
    (0..4_000).for_each(|_| pair.clock());
    for host in &mut pair.hosts {
        host.sends(COUNT, 8, length);
        host.ring(COUNT);
    }
    let mut sides = [(); 2].map(|()| Side::default());
    let mut quiet = 0;
    while quiet < QUIET {
        quiet += 1;
        for (at, side) in sides.iter_mut().enumerate() {
            let host = &mut pair.hosts[at];
            let between = !host.card.is_sending();
            host.card.clock(Some(&mut host.memory));
            if between && host.card.is_sending() {
                side.landed_at_begin = side.landed;
            }
            for completion in host.poll() {
                quiet = 0;
                side.landed += u64::from(completion.of == Of::Receive);
                let known = [Outcome::Ok, Outcome::RemoteRnr];
                assert!(known.contains(&completion.status), "{completion:?}");
            }
            while let Some(frame) = pair.hosts[at].card.next_frame(0) {
                let (_, packet) = wire::decode_frame(&frame).unwrap();
                if let Packet::Ack(ack) = packet
                    && ack.reply == Reply::Ok
                {
                    side.acknowledged += 1;
                    assert!(
                        side.acknowledged <= side.landed_at_begin,
                        "seed {seed}: acknowledgement {} of node {at} began to leave when {} completions were in memory",
                        side.acknowledged,
                        side.landed_at_begin,
                    );
                }
                pair.hosts[1 - at].card.receive_frame(&frame, 0);
            }
            side.apart += u64::from(side.landed > side.acknowledged);
        }
    }
    pair.check();
    sides
}

#[test]
fn xud_04_no_acknowledgement_leaves_before_its_completion_is_in_memory() {
    let runs = if long() { 40 } else { 2 };
    for seed in seed()..seed() + runs {
        for (stall, length) in [(0, 0), (60, 64), (160, 500), (220, 8)] {
            for side in run(seed, stall, length) {
                println!(
                    "seed {seed}, stall {stall}: {} completions, {} acknowledgements, {} clocks apart",
                    side.landed, side.acknowledged, side.apart
                );
                assert_eq!(side.landed, side.acknowledged);
                assert!(side.landed > u64::from(COUNT) / 5 && side.apart > 0);
            }
        }
    }
}
