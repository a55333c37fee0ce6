//! Software and network that do what they like: no panic, and nothing outside of what was named.

use proptest::prelude::*;
use tributary_protocol::card::command::Command;
use tributary_protocol::card::model::{CardModel, ModelConfig};
use tributary_protocol::card::regs;

use crate::bench::{DATA, Host, MEMORY, exchange, work};

#[derive(Clone, Debug)]
enum Step {
    Write(u32, u32),
    Memory(usize, u64),
    Frame(Vec<(usize, u8)>),
    Noise(Vec<u8>),
    Time(u64),
}

fn offset() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => (0..0x90u32).prop_map(|word| word & !3),
        3 => (0..4u32, 0..5u32).prop_map(|(qpn, kind)| regs::DOORBELLS + qpn * regs::PAGE + 8 * kind),
        1 => (0..16u32).prop_map(|word| regs::MSIX_TABLE + 4 * word),
        1 => any::<u32>(),
    ]
}

fn value() -> impl Strategy<Value = u32> {
    let command = (0..9u32, 0..5u32).prop_map(|(code, index)| code | index << 8);
    prop_oneof![
        0..20u32,
        command,
        any::<u32>(),
        Just(0x2_0000),
        Just(DATA as u32)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (offset(), value()).prop_map(|(offset, value)| Step::Write(offset, value)),
        2 => (0..MEMORY - 8, any::<u64>()).prop_map(|(at, word)| Step::Memory(at, word)),
        2 => proptest::collection::vec((0..80usize, any::<u8>()), 0..3).prop_map(Step::Frame),
        1 => proptest::collection::vec(any::<u8>(), 0..200).prop_map(Step::Noise),
        1 => prop_oneof![0..100_000u64, any::<u32>().prop_map(u64::from)].prop_map(Step::Time),
    ]
}

/// A good frame for queue pair 1.
fn frame() -> Vec<u8> {
    let mut host = Host::new(1);
    host.connect(1, [3, 3, 4]);
    let to = tributary_protocol::xud::Peer { node: 0, qpn: 1 };
    host.post_send(1, &work(to, DATA, 8));
    host.step();
    host.card.next_frame(0).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn xud_14_no_write_frame_or_memory_makes_the_card_panic(steps in proptest::collection::vec(step(), 1..150)) {
        let mut host = Host::new(0);
        host.connect(1, [3, 3, 4]);
        let good = frame();
        for step in steps {
            match step {
                Step::Write(offset, value) => host.card.write(offset, value),
                Step::Memory(at, word) => host.memory.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes()),
                Step::Frame(flips) => {
                    let mut frame = good.clone();
                    for (at, flip) in flips {
                        if let Some(byte) = frame.get_mut(at) {
                            *byte ^= flip;
                        }
                    }
                    host.card.receive_frame(&frame, host.now);
                }
                Step::Noise(bytes) => host.card.receive_frame(&bytes, host.now),
                Step::Time(ns) => host.now += ns,
            }
            host.step();
            let now = host.now;
            while host.card.next_frame(now).is_some() {}
        }
        // It is a good card again after a reset.
        host.card.reset();
        let mut hosts = [Host::new(1), host];
        hosts[1].start(0);
        hosts.iter_mut().for_each(|host| host.connect(1, [3, 3, 4]));
        hosts[1].post_receive(1, DATA, 64, crate::bench::DATA_KEY);
        let mut request = work(tributary_protocol::xud::Peer { node: 0, qpn: 1 }, DATA, 8);
        // Epochs go on after a reset.
        hosts[1].command(Command::QueryQp, 1, &[]);
        request.window.epoch = hosts[1].card.read(regs::RESULT1.offset.into()) as u16;
        hosts[0].post_send(1, &request);
        exchange(&mut hosts);
        prop_assert_eq!(hosts[0].outcomes(1), [tributary_protocol::xud::Outcome::Ok]);
    }
}

#[test]
fn sizes_out_of_range_are_refused() {
    let config = ModelConfig {
        vectors_log: 4,
        ..ModelConfig::default()
    };
    let error = CardModel::new(config).unwrap_err();
    assert_eq!(error.to_string(), "vectors_log = 4 is not within 0 to 3");
}
