//! What one short transfer takes between two cards back to back, clock by clock.

use tributary_protocol::card::descriptor::flags;
use tributary_protocol::card::regs::{BULK_ROUND_TRIP, BULK_TICK};
use tributary_protocol::xud::Outcome;
use tributary_sim::pcie::Config;

use super::library;
use crate::back_to_back::Pair;

/// Clocks after which hosts answer a read.
const LATENCY: u32 = 150;

/// When what happens, clocks from the doorbell on.
#[derive(Debug, Default)]
struct Times {
    /// First word of each frame of the sender and of the receiver: CONNECT and DATA; both copies of CONNECT_RESP and of COMPLETE.
    frames: [Vec<u64>; 2],
    /// Reads that the sender's card asks its host for: the work request, the payload.
    reads: Vec<u64>,
    /// Completions of the sender and of the receiver.
    completions: [Option<u64>; 2],
}

fn times(pair: &mut Pair, number: u16, length: u32) -> Times {
    pair.hosts[0].bulk_write(number, flags::NOTIFY.mask() as u8, length);
    pair.hosts[0].ring(number + 1);
    let from = pair.hosts[0].card.clocks();
    let mut times = Times::default();
    let mut sending = [false; 2];
    let mut seen = pair.hosts[0].card.root().seen.reads;
    while times.completions.contains(&None) {
        pair.clock();
        let now = pair.hosts[0].card.clocks() - from;
        assert!(now < 5_000, "{times:?}");
        for (at, host) in pair.hosts.iter_mut().enumerate() {
            let before = std::mem::replace(&mut sending[at], host.card.is_sending());
            if sending[at] && !before {
                times.frames[at].push(now);
            }
            for completion in host.poll() {
                assert_eq!(completion.status, Outcome::Ok);
                times.completions[at] = Some(now);
            }
        }
        if pair.hosts[0].card.root().seen.reads > seen {
            seen += 1;
            times.reads.push(now);
        }
    }
    times
}

/// The second transfer, since a peer that comes for the first time is searched for among all.
#[test]
fn bw_06_from_the_doorbell_to_the_payload_and_to_both_completions() {
    let config = Config {
        large: true,
        ordered: true,
        latency: LATENCY..=LATENCY,
        ..Config::default()
    };
    let mut pair = Pair::of(library(), &config);
    for host in &mut pair.hosts {
        host.set(&BULK_TICK, 139);
        host.set(&BULK_ROUND_TRIP, 20);
    }
    pair.hosts[1].receives(40, 4_096);
    for number in 0..2 {
        for _ in 0..3_000 {
            pair.clock();
        }
        let times = times(&mut pair, number, 8);
        println!("{times:?}");
        let ([connect, data], [answer, _, complete, _]) =
            (&times.frames[0][..], &times.frames[1][..])
        else {
            panic!("{times:?}");
        };
        assert!(connect < answer && answer < data && data < complete);
        let [_, payload] = times.reads[..] else {
            panic!("{times:?}");
        };
        assert!(*answer < payload && payload < *data);
        // Two reads, a work request of 8 words and one of payload; the words of CONNECT and of its answer.
        let waits = 2 * u64::from(LATENCY) + 8 + 1 + 15 + 11;
        let (first, done) = (data - waits, times.completions[0].unwrap());
        println!(
            "{first} clocks to the payload without {waits} of reads and frames; {done} in all"
        );
        if number == 1 {
            assert!(first <= 470 && done <= 1_100, "{times:?}");
        }
    }
    pair.check();
}
