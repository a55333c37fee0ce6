//! Root and leaves under random loss and delay, and under random frames (RED-16, RED-18).

mod red_common;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use red_common::fabric::*;
use tributary_protocol::red::{host::*, wire::DEFAULT_ETHERTYPE, *};

/// One bit for each host: a sum shows exactly whose value is in it, and how often.
fn bit(host: usize) -> Value {
    Value {
        data: [1 << (4 * host), 0, 0, 0],
        ..Value::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Loss, delay and a dead leaf at random. Each round ends with a value that is exactly the sum of those who are not
    /// reported missing; every leaf hears the result, or that it was left out; descriptors are free in the end.
    #[test]
    fn red_16_red_18_every_round_is_right_or_honestly_partial(seed: u64, loss in 0.0..0.3f64, late in 0.0..0.2f64, dead in proptest::option::of(0usize..9)) {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let mut f = Fabric::new(3, 3, 4, LeafConfig::default());
        f.dead.extend(dead.filter(|&d| d != 4));
        f.fates = Box::new(move |_, _, _, _| {
            if rng.random_bool(loss) {
                Fate::Drop
            } else if rng.random_bool(late) {
                Fate::Late(rng.random_range(0..300_000))
            } else {
                Fate::Deliver
            }
        });
        for number in 0..4 {
            f.events.iter_mut().for_each(Vec::clear);
            let (mut gave, now) = (0u64, f.now);
            for host in (0..9).filter(|&h| h != 4 && dead != Some(h)) {
                // A leaf that has not heard of the round yet cannot take part.
                if f.leaves[host].contribute(number, Op::IntSum, bit(host), now).is_ok() {
                    gave |= 1 << host;
                }
            }
            f.give(4, number, Op::IntSum, bit(4));
            f.run();
            let outcome = f.done(4)[0];
            let missing = f.missing().map_or(vec![], |m| m.0);
            let in_it: Vec<usize> = (0..9).filter(|&h| !missing.contains(&address(h))).collect();
            let want: u64 = in_it.iter().map(|h| 1 << (4 * h)).sum();
            prop_assert_eq!((outcome.value.data[0], outcome.count as usize), (want, in_it.len()));
            prop_assert!(in_it.iter().all(|&h| h == 4 || gave >> h & 1 == 1));
            prop_assert_eq!(f.in_use(), 0);
            for host in (0..9).filter(|h| gave >> h & 1 == 1) {
                match &f.events[host][..] {
                    [Event::Done(heard)] => prop_assert_eq!(*heard, outcome),
                    [Event::LeftOut(rounds)] => prop_assert!(rounds.contains(&number)),
                    other => prop_assert!(false, "host {} heard {:?}", host, other),
                }
            }
        }
    }

    /// Any bytes, and any frame of the group from anyone: endpoints do not panic, and a leaf ends no round by itself.
    #[test]
    fn red_18_endpoints_survive_anything(
        steps in proptest::collection::vec((0usize..9, 0u8..6, 0usize..94, any::<u8>(), any::<u32>(), any::<bool>()), 0..60),
    ) {
        let mut f = Fabric::new(1, 3, 0, LeafConfig { wait_for_arm: false, ..LeafConfig::default() });
        let _ = f.leaves[1].contribute(0, Op::IntSum, bit(1), 0);
        let _ = f.root.start(Op::IntSum, bit(0), 0);
        for (source, kind, at, value, word, multicast) in steps {
            let to = if multicast { KEY.address() } else { address(at % 3) };
            let mut frame = red_common::frame(to, source as u32, Op::IntSum, [1; 4]);
            (frame.fabric.vni, frame.red.cookie) = (7, 0xc0ffee);
            (frame.red.seqno, frame.red.resno) = (word as u16 % 4, (word >> 8) as u16 % 4);
            (frame.red.count, frame.red.arm) = (word >> 16 & 3, word >> 20 & 1 == 1);
            (frame.restricted.opcode, frame.restricted.remote_offset) = (kind, u64::from(word >> 24) % 3);
            let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
            bytes[at] = value;
            let _ = f.root.receive(&bytes, 1000);
            let _ = f.leaves[1].receive(&bytes, 1000);
            let _ = (f.root.poll(u64::from(word)), f.leaves[1].poll(u64::from(word)));
        }
    }
}
