//! Messages above 64 KiB of reliable endpoints (XUD-12).

use std::collections::HashMap;
use std::time::Duration;

use tributary_host_driver::{
    Access, AddressHandle, BulkCounter, BulkTuning, EndpointConfig, EndpointEvent, LongStats,
    PostError, ProtectionDomain, ReliableEndpoint, WorkCompletionStatus,
};
use tributary_protocol::card::model::ModelConfig;
use tributary_sim::card::{Exchange, NetworkConfig, SimDevice, exchange, network};

use crate::bulk::sample;
use crate::{BAD, config, endpoint, open, pair};

/// Two cards, with bulk transfers or without.
pub fn cards(bulk: bool, network_config: NetworkConfig) -> (Vec<SimDevice>, [ProtectionDomain; 2]) {
    let card = ModelConfig {
        bulk: ModelConfig::default().bulk.filter(|_| bulk),
        ..ModelConfig::default()
    };
    let devices = network(&NetworkConfig {
        card,
        ..network_config
    })
    .unwrap();
    let domains = [open(&devices[0], 0), open(&devices[1], 1)];
    for domain in domains.iter().filter(|_| bulk) {
        let tuning = BulkTuning {
            round_trip_ns: 4_500,
            overtaking: 100,
            share_of_256: 128,
        };
        domain.context().tune_bulk(&tuning).unwrap();
    }
    (devices, domains)
}

/// A message: who sent it, its number, its length, and bytes that follow from all of these.
fn message(from: usize, number: usize, length: usize) -> Vec<u8> {
    let mut bytes = sample(length);
    let salt = (17 * from + 5 * number) as u8;
    bytes.iter_mut().for_each(|byte| *byte ^= salt);
    bytes[0] = from as u8;
    bytes[1..3].copy_from_slice(&(number as u16).to_le_bytes());
    bytes
}

/// Lengths around the limit, short ones and long ones, in an order that a seed gives.
fn lengths(seed: u64) -> Vec<usize> {
    const EACH: [usize; 6] = [65_535, 65_536, 65_537, (1 << 20) + 3, 100, 81_920];
    let mix = |at: u64| (at ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let mut all: Vec<(u64, usize)> = (0..18).map(|at| (mix(at), EACH[at as usize % 6])).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, length)| length).collect()
}

/// Both ends send all lengths at once; everything arrives once, unchanged, in order if asked for, and nothing is left. What
/// the first end counted.
fn both_ways(bulk: bool, ordered: bool, seed: u64) -> LongStats {
    let network_config = NetworkConfig {
        seed,
        ..config(2, BAD)
    };
    let (devices, domains) = cards(bulk, network_config);
    let config = EndpointConfig {
        ordered,
        // Three of the longest fit; others wait.
        long_bytes: 3_500_000,
        ..endpoint()
    };
    let mut ends = domains
        .each_ref()
        .map(|domain| ReliableEndpoint::new(domain, config).unwrap());
    let lengths = lengths(seed);
    let mut ids = [HashMap::new(), HashMap::new()];
    for (number, length) in lengths.iter().enumerate() {
        for from in 0..2 {
            let to = ends[1 - from].address();
            let sent = ends[from].send_copy(to, &message(from, number, *length));
            assert!(ids[from].insert(sent.unwrap(), number).is_none());
        }
    }
    assert_eq!(ends[0].pending(), lengths.len());
    let mut seen = [vec![false; lengths.len()], vec![false; lengths.len()]];
    let mut next = [0; 2];
    let mut left = 4 * lengths.len();
    for _ in 0..5_000_000 {
        for (at, end) in ends.iter_mut().enumerate() {
            while let Some(event) = end.poll().unwrap() {
                left -= 1;
                match event {
                    EndpointEvent::Delivered { payload, .. } => {
                        let number = usize::from(u16::from_le_bytes([payload[1], payload[2]]));
                        let expected = message(1 - at, number, lengths[number]);
                        assert!(*payload == expected[..], "message {number}");
                        assert!(!std::mem::replace(&mut seen[at][number], true));
                        assert!(!ordered || number == next[at], "{number}, not {}", next[at]);
                        next[at] += 1;
                    }
                    EndpointEvent::Completed {
                        id, status, buffer, ..
                    } => {
                        assert_eq!(status, WorkCompletionStatus::Ok);
                        assert!(ids[at].remove(&id).is_some() && buffer.is_none());
                    }
                }
            }
        }
        if left == 0 {
            break;
        }
    }
    assert_eq!(
        left,
        0,
        "{:?} {:?}",
        ends[0].long_stats(),
        ends[1].long_stats()
    );
    assert_eq!(ends[0].pending() + ends[1].pending(), 0);
    let long = lengths.iter().filter(|length| **length > 65_536).count() as u64;
    let [mut stats, other] = ends.each_ref().map(ReliableEndpoint::long_stats);
    assert_eq!(stats.delivered + other.delivered, 2 * long);
    assert_eq!((stats.stray, stats.abandoned, stats.refused), (0, 0, 0));
    stats.delivered = long;
    assert_eq!(stats.sent_in_bulk + stats.sent_in_parts, long);
    drop(ends);
    for (device, domain) in devices.iter().zip(&domains) {
        assert_eq!(device.on_card(), Some((0, 0)));
        assert_eq!(device.host_stats(), Default::default());
        assert_eq!(domain.context().in_use(), (0, 0));
        device.check().unwrap();
    }
    stats
}

/// Each other one is ordered. `XUD_RUNS` asks for more.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let runs = std::env::var("XUD_RUNS");
    1..=runs.ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

#[test]
fn xud_12_long_messages_are_written_in_bulk_over_bad_links() {
    for seed in seeds() {
        let stats = both_ways(true, seed % 2 == 0, seed);
        assert!(stats.sent_in_bulk > 0, "seed {seed}: {stats:?}");
    }
}

#[test]
fn xud_12_long_messages_go_in_parts_where_cards_have_no_bulk_transfers() {
    for seed in seeds() {
        let stats = both_ways(false, seed % 2 == 0, seed);
        assert_eq!(stats.sent_in_bulk, 0, "seed {seed}: {stats:?}");
    }
}

#[test]
fn xud_12_four_hosts_exchange_short_and_long_messages_over_bad_links() {
    for ordered in [false, true] {
        let plan = Exchange {
            network: config(4, BAD),
            endpoint: EndpointConfig {
                ordered,
                ..endpoint()
            },
            mtu: 1_024,
            messages: 600,
            largest: 2_000,
            longer: Some((20, 200_000)),
        };
        let report = exchange(&plan, &mut |_| {}).unwrap();
        assert!(report.good(plan.messages), "{report:?}");
        assert!(report.lost > 0 && report.resent > 0, "{report:?}");
        assert!(report.overtaken == 0 || !ordered, "{report:?}");
    }
}

/// Works on both until the first one has a completion, and says what the second one was delivered before.
fn completion(ends: &mut [ReliableEndpoint; 2]) -> (WorkCompletionStatus, usize, Option<usize>) {
    let mut delivered = 0;
    for _ in 0..1_000_000 {
        if let Some(EndpointEvent::Delivered { .. }) = ends[1].poll().unwrap() {
            delivered += 1;
        }
        if let Some(EndpointEvent::Completed { status, buffer, .. }) = ends[0].poll().unwrap() {
            return (status, delivered, buffer.map(|buffer| buffer.len()));
        }
    }
    panic!("nothing has ended");
}

#[test]
fn xud_12_a_message_that_is_longer_than_the_receiver_takes_ends_so() {
    for bulk in [true, false] {
        let (_, domains) = cards(bulk, config(2, NetworkConfig::default().link));
        let config = EndpointConfig {
            long_bytes: 100_000,
            ..endpoint()
        };
        let region = domains[0].reg_mr(1 << 18, Access::LOCAL_READ).unwrap();
        let mut ends = domains.map(|domain| ReliableEndpoint::new(&domain, config).unwrap());
        for (length, expected) in [
            (100_001, WorkCompletionStatus::RemoteLength),
            (100_000, WorkCompletionStatus::Ok),
        ] {
            let to = ends[1].address();
            ends[0].send(to, region.alloc(length).unwrap()).unwrap();
            let (status, delivered, buffer) = completion(&mut ends);
            assert_eq!((status, buffer), (expected, Some(length)));
            assert_eq!(delivered == 1, status == WorkCompletionStatus::Ok);
        }
        assert_eq!(ends[1].long_stats().refused, 1);
    }
}

#[test]
fn xud_12_more_than_a_gib_is_refused_at_once() {
    let (_, domains) = pair();
    let bytes = (1 << 30) + 1;
    let region = domains[0].reg_mr(bytes, Access::LOCAL_READ).unwrap();
    let mut end = ReliableEndpoint::new(&domains[0], endpoint()).unwrap();
    let to = AddressHandle::new(1, 5).unwrap();
    let refused = end.send(to, region.alloc(bytes).unwrap()).unwrap_err();
    let PostError::TooLong { bytes: got, max } = refused.error else {
        panic!("{refused:?}")
    };
    assert_eq!((got, max), (bytes, 1 << 30));
    assert_eq!(refused.buffer.unwrap().len(), bytes);
    assert_eq!(end.pending(), 0);
}

#[test]
fn xud_12_what_arrives_and_is_not_taken_stays_within_its_room() {
    for bulk in [true, false] {
        let (devices, domains) = cards(bulk, config(2, NetworkConfig::default().link));
        let before = EndpointConfig::default();
        let config = EndpointConfig {
            long_bytes: 700_000,
            ..endpoint()
        };
        assert_eq!(before.long_bytes, 64 << 20);
        let [mut a, mut b] = domains.map(|domain| ReliableEndpoint::new(&domain, config).unwrap());
        let empty = devices[1].host_stats().allocated;
        for _ in 0..40 {
            a.send_copy(b.address(), &[7; 200_000]).unwrap();
        }
        // The program takes nothing.
        for _ in 0..40_000 {
            a.flush().unwrap();
            b.flush().unwrap();
            devices[0].run(1);
            let allocated = devices[1].host_stats().allocated - empty;
            assert!(allocated <= 700_000, "{allocated}");
        }
        assert_eq!(b.long_stats().delivered, 3);
        // What was delivered is DONE, the rest waits.
        assert_eq!(a.pending(), 37);
        let mut delivered = 0;
        for _ in 0..1_000_000 {
            a.poll().unwrap();
            if let Some(EndpointEvent::Delivered { payload, .. }) = b.poll().unwrap() {
                assert!(*payload == [7; 200_000]);
                delivered += 1;
            }
            if delivered == 40 {
                break;
            }
        }
        assert_eq!(delivered, 40);
    }
}

#[test]
fn xud_12_a_card_that_has_regions_left_for_none_receives_in_parts() {
    let (_, domains) = pair();
    let context = domains[1].context().clone();
    let mut taken = Vec::new();
    let mut ends = domains
        .each_ref()
        .map(|domain| ReliableEndpoint::new(domain, endpoint()).unwrap());
    while let Ok(region) = domains[1].reg_mr(64, Access::LOCAL_READ) {
        taken.push(region);
    }
    let to = ends[1].address();
    ends[0].send_copy(to, &sample(300_000)).unwrap();
    let (status, delivered, _) = completion(&mut ends);
    assert_eq!((status, delivered), (WorkCompletionStatus::Ok, 1));
    assert_eq!(ends[0].long_stats().sent_in_parts, 1);
    assert_eq!(context.bulk_counter(BulkCounter::Completed).unwrap(), 0);
}

#[test]
fn xud_12_long_messages_are_waited_for_by_interrupt() {
    let (_, domains) = cards(true, config(2, NetworkConfig::default().link));
    let mut ends = domains.map(|domain| ReliableEndpoint::new(&domain, endpoint()).unwrap());
    let to = ends[1].address();
    ends[0].send_copy(to, &sample(500_000)).unwrap();
    let mut delivered = false;
    for _ in 0..100_000 {
        ends[0].flush().unwrap();
        let slept = ends[1].wait(Duration::from_micros(20)).unwrap();
        if let Some(EndpointEvent::Delivered { payload, .. }) = slept {
            assert!(*payload == sample(500_000)[..]);
            delivered = true;
            break;
        }
    }
    assert!(delivered);
    // DONE is on its way.
    assert!(ends[1].drain(Duration::from_millis(10)).unwrap());
    assert!(ends[0].drain(Duration::from_millis(10)).unwrap());
}
