//! Regions: nothing else in host memory is touched.

use proptest::prelude::*;
use tributary_protocol::card::command::key;
use tributary_protocol::card::descriptor::WorkRequest;
use tributary_protocol::xud::{Outcome, Peer, Window};

use crate::bench::{DATA, DATA_KEY, DATA_LEN, Host, exchange, ring};

const LOGS: [u8; 3] = [4, 4, 5];

/// Bases and ends of regions of a domain that is another's, read-only, or ours.
const FOREIGN: u64 = 0x9_0000;
const READ_ONLY: u64 = 0xA_0000;

fn pair() -> [Host; 2] {
    let mut hosts = [Host::new(0), Host::new(1)];
    for host in &mut hosts {
        host.connect(1, LOGS);
        host.region(5, 1, false, READ_ONLY, 100);
        let args = [2 | 1 << 8, 6, FOREIGN as u32, 0, 100, 0];
        host.command(
            tributary_protocol::card::command::Command::SetRegion,
            6,
            &args,
        );
        host.memory.accesses.clear();
    }
    hosts
}

/// Whether an access is to a ring of queue pair 1 or to a region that allows it.
fn allowed(access: &(u64, usize, bool)) -> bool {
    let (at, length, write) = *access;
    let within = |base: u64, bytes: u64| at >= base && at + length as u64 <= base + bytes;
    let rings = if write {
        within(ring(1, 2), 64 << LOGS[2])
    } else {
        within(ring(1, 0), 64 << LOGS[0]) || within(ring(1, 1), 32 << LOGS[1])
    };
    rings || within(DATA, DATA_LEN) || !write && within(READ_ONLY, 100)
}

fn address() -> impl Strategy<Value = u64> {
    let bases = prop_oneof![
        Just(DATA),
        Just(DATA + DATA_LEN),
        Just(FOREIGN),
        Just(FOREIGN + 100),
        Just(READ_ONLY),
        Just(READ_ONLY + 100),
        Just(0),
        Just(ring(1, 0)),
        any::<u64>(),
    ];
    (bases, -130i64..130).prop_map(|(base, off)| base.wrapping_add_signed(off))
}

fn any_key() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(DATA_KEY), 2 => Just(key(5, 1)), 2 => Just(key(6, 2)), 1 => Just(DATA_KEY ^ 1),
        1 => Just(key(7, 0)), 1 => any::<u32>(),
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![0..130u32, 3_900..4_200u32, any::<u32>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_descriptor_leaves_its_region(
        sends in proptest::collection::vec((address(), any_key(), length(), 0..20u8, any::<u8>()), 1..12),
        receives in proptest::collection::vec((address(), any_key(), length()), 0..12),
    ) {
        let mut hosts = pair();
        for (address, key, length) in receives {
            hosts[1].post_receive(1, address, length, key);
        }
        for (address, lkey, length, head_len, noise) in sends {
            let plain = noise < 200;
            hosts[0].post_send(1, &WorkRequest {
                opcode: if plain { 1 } else { noise },
                flags: 0,
            head_len,
                length,
                wr_id: 0,
                address,
                lkey,
                version_flags: if plain { 0x10 } else { noise },
                to: Peer { node: 1, qpn: 1 },
                window: Window { id: 0, epoch: 1, msn: 0 },
                head: [0; 16],
            });
            exchange(&mut hosts);
            for host in &mut hosts {
                host.outcomes(1);
                let stray = host.memory.accesses.iter().find(|access| !allowed(access));
                prop_assert_eq!(stray, None);
            }
        }
    }
}

#[test]
fn a_region_is_exact_to_the_byte() {
    let fits = |address: u64, length: u32| {
        let mut hosts = pair();
        hosts[1].post_receive(1, DATA, 4_096, DATA_KEY);
        hosts[0].post_send(
            1,
            &crate::bench::work(Peer { node: 1, qpn: 1 }, address, length),
        );
        exchange(&mut hosts);
        hosts[0].outcomes(1) == [Outcome::Ok]
    };
    let end = DATA + DATA_LEN;
    for (address, length, good) in [
        (DATA, 1, true),
        (DATA - 1, 1, false),
        (DATA - 1, 2, false),
        (end - 1, 1, true),
        (end - 1, 2, false),
        (end, 1, false),
        (end - 4_096, 4_096, true),
        (end - 4_095, 4_096, false),
        (u64::MAX, 1, false),
        (u64::MAX - 3, 8, false),
        (0, 0, true),
    ] {
        assert_eq!(
            fits(address, length),
            good,
            "{length} bytes at {address:#x}"
        );
    }
}
