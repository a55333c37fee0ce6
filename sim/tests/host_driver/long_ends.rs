//! Messages above 64 KiB of which an end dies, goes or starts anew (XUD-12).

use std::collections::BTreeMap;
use std::time::Duration;

use tributary_host_driver::{
    Access, AddressHandle, Device, EndpointConfig, EndpointEvent, ProtectionDomain,
    ReliableEndpoint, WorkCompletionStatus,
};
use tributary_sim::card::{NetworkConfig, SimDevice};

use crate::bulk::sample;
use crate::long::cards;
use crate::{BAD, config, endpoint};

const LENGTH: usize = 3 << 20;
/// Within so many ms an end is given up: 16 attempts with pauses of up to 33 ms take 99, and who says nothing is asked after a quarter
/// of that, give or take an eighth.
const BOUND_MS: u64 = 140;

struct Ends {
    devices: Vec<SimDevice>,
    domains: [ProtectionDomain; 2],
    ends: [Option<ReliableEndpoint>; 2],
    /// What was in use when both had just been made.
    used: [(usize, usize); 2],
}

/// Three long messages from the first to the second, in whose middle this returns.
fn in_the_middle(bulk: bool, ordered: bool, slots: u64) -> Ends {
    let (devices, domains) = cards(bulk, config(2, NetworkConfig::default().link));
    let config = EndpointConfig {
        ordered,
        ..endpoint()
    };
    let [mut a, mut b] =
        (domains.each_ref()).map(|domain| ReliableEndpoint::new(domain, config).unwrap());
    let used = domains.each_ref().map(|domain| domain.context().in_use());
    let region = domains[0].reg_mr(3 * LENGTH, Access::LOCAL_READ).unwrap();
    for _ in 0..3 {
        let buffer = region.alloc(LENGTH).unwrap();
        a.send(b.address(), buffer).unwrap();
    }
    drop(region);
    for _ in 0..slots {
        assert!(a.poll().unwrap().is_none() && b.poll().unwrap().is_none());
    }
    let arriving = domains[1].context().in_use().1 > used[1].1;
    assert_eq!(arriving, bulk, "not in the middle");
    assert!(bulk || a.stats().posted > 50, "not in the middle");
    Ends {
        devices,
        domains,
        ends: [Some(a), Some(b)],
        used,
    }
}

/// An endpoint of this address.
fn at(
    domain: &ProtectionDomain,
    config: EndpointConfig,
    address: AddressHandle,
) -> ReliableEndpoint {
    let mut end = ReliableEndpoint::new(domain, config).unwrap();
    // Numbers go round.
    while end.address() != address {
        drop(end);
        end = ReliableEndpoint::new(domain, config).unwrap();
    }
    end
}

/// How messages of an end that is left alone are to end: all within this time.
fn all_end(
    end: &mut ReliableEndpoint,
    device: &SimDevice,
    count: usize,
) -> Vec<WorkCompletionStatus> {
    let until = device.now_ns() + BOUND_MS * 1_000_000;
    let mut all = Vec::new();
    while all.len() < count {
        assert!(device.now_ns() < until, "{all:?}");
        let event = end.wait(Duration::from_millis(1)).unwrap();
        if let Some(EndpointEvent::Completed { status, buffer, .. }) = event {
            assert_eq!(buffer.unwrap().len(), LENGTH);
            all.push(status);
        }
    }
    assert_eq!(end.pending(), 0);
    all
}

#[test]
fn xud_12_a_receiver_that_dies_in_the_middle_ends_the_sender_s_messages() {
    for (bulk, ordered, slots) in [
        (true, false, 150),
        (true, true, 150),
        (false, false, 150),
        (false, true, 400),
    ] {
        let Ends {
            devices,
            domains,
            mut ends,
            used,
        } = in_the_middle(bulk, ordered, slots);
        devices[1].remove();
        let mut sender = ends[0].take().unwrap();
        let all = all_end(&mut sender, &devices[0], 3);
        let silent = |status: &WorkCompletionStatus| *status == WorkCompletionStatus::Unresponsive;
        assert!(all.iter().all(silent), "{all:?}");
        assert_eq!(domains[0].context().in_use(), used[0]);
    }
}

#[test]
fn xud_12_a_sender_that_dies_in_the_middle_leaves_nothing_at_the_receiver() {
    for (bulk, ordered) in [(true, false), (true, true), (false, false), (false, true)] {
        let Ends {
            devices,
            domains,
            mut ends,
            used,
        } = in_the_middle(bulk, ordered, 150);
        devices[0].remove();
        let mut receiver = ends[1].take().unwrap();
        for _ in 0..BOUND_MS {
            let event = receiver.wait(Duration::from_millis(1)).unwrap();
            assert!(event.is_none(), "{event:?}");
        }
        let stats = receiver.long_stats();
        let announced = if ordered { 1 } else { 3 };
        assert_eq!((stats.abandoned, stats.delivered), (announced, 0));
        assert_eq!(domains[1].context().in_use(), used[1]);
        assert!(receiver.drain(Duration::ZERO).unwrap());
    }
}

#[test]
fn xud_12_a_receiver_that_closes_and_another_one_in_its_place() {
    for (bulk, again) in [(true, false), (false, false), (true, true), (false, true)] {
        let Ends {
            devices,
            domains,
            mut ends,
            used,
        } = in_the_middle(bulk, true, 150);
        let old = ends[1].take().unwrap();
        let address = old.address();
        let _ = old.close();
        let mut next = again.then(|| {
            let config = EndpointConfig {
                ordered: true,
                ..endpoint()
            };
            at(&domains[1], config, address)
        });
        let mut sender = ends[0].take().unwrap();
        let (mut all, mut delivered) = (Vec::new(), 0);
        for _ in 0..1_000_000 {
            if let Some(end) = &mut next
                && let Some(event) = end.poll().unwrap()
            {
                let EndpointEvent::Delivered { payload, .. } = event else {
                    panic!("{event:?}");
                };
                assert_eq!(payload.len(), LENGTH);
                delivered += 1;
            }
            if let Some(event) = sender.poll().unwrap() {
                let EndpointEvent::Completed { status, .. } = event else {
                    panic!("{event:?}");
                };
                all.push(status);
            }
            if all.len() == 3 {
                break;
            }
        }
        assert_eq!(all.len(), 3);
        assert_ne!(all[0], WorkCompletionStatus::Ok, "{all:?}");
        // What had not been announced to the earlier process may go to the new one, if that is there in time.
        let ok = |status: &&WorkCompletionStatus| **status == WorkCompletionStatus::Ok;
        assert_eq!(all.iter().filter(ok).count(), delivered, "{all:?}");
        if let Some(end) = &mut next {
            let more = sender.send_copy(address, &sample(LENGTH)).unwrap();
            let (mut came, mut ended) = (false, false);
            for _ in 0..1_000_000 {
                if let Some(EndpointEvent::Delivered { payload, .. }) = end.poll().unwrap() {
                    assert!(!came && *payload == sample(LENGTH)[..]);
                    came = true;
                }
                if let Some(event) = sender.poll().unwrap() {
                    let EndpointEvent::Completed { id, status, .. } = event else {
                        panic!("{event:?}");
                    };
                    assert_eq!((id, status), (more, WorkCompletionStatus::Ok));
                    ended = true;
                    break;
                }
            }
            assert!(came && ended);
        }
        drop((sender, next));
        for (device, used) in devices.iter().zip(used) {
            assert!(used.1 > 0);
            assert_eq!(device.host_stats(), Default::default());
        }
    }
}

#[test]
fn xud_12_an_endpoint_that_closes_in_the_middle_gives_its_buffers_back() {
    for (bulk, ordered) in [(true, false), (false, true)] {
        let Ends {
            devices,
            mut ends,
            domains,
            ..
        } = in_the_middle(bulk, ordered, 150);
        let mut sender = ends[0].take().unwrap();
        let to = ends[1].as_ref().unwrap().address();
        let short = sender.send_copy(to, b"short").unwrap();
        let events = sender.close();
        let flushed = events.iter().map(|event| match event {
            EndpointEvent::Completed {
                id, status, buffer, ..
            } => {
                assert_eq!(*status, WorkCompletionStatus::Flushed);
                assert_eq!(buffer.is_some(), *id != short);
                *id
            }
            other => panic!("{other:?}"),
        });
        let mut ids: Vec<u64> = flushed.collect();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2, 3]);
        drop((events, ends));
        for (device, domain) in devices.iter().zip(&domains) {
            assert_eq!(device.host_stats(), Default::default());
            assert_eq!(domain.context().in_use(), (0, 0));
        }
    }
}

#[test]
fn xud_12_a_program_that_does_not_look_for_a_while_is_not_given_up() {
    let (devices, domains) = cards(true, config(2, NetworkConfig::default().link));
    let [mut a, mut b] = domains.map(|domain| ReliableEndpoint::new(&domain, endpoint()).unwrap());
    a.send_copy(b.address(), b"open").unwrap();
    while b.poll().unwrap().is_none() {
        a.poll().unwrap();
    }
    while a.poll().unwrap().is_none() {}
    a.send_copy(b.address(), &sample(LENGTH)).unwrap();
    // The receiver does not look: many times as long as messages to somebody who is not there take to fail.
    for _ in 0..200 {
        assert!(a.wait(Duration::from_millis(1)).unwrap().is_none());
    }
    let mut delivered = false;
    for _ in 0..1_000_000 {
        if let Some(EndpointEvent::Delivered { payload, .. }) = b.poll().unwrap() {
            assert!(*payload == sample(LENGTH)[..]);
            delivered = true;
        }
        if let Some(EndpointEvent::Completed { status, .. }) = a.poll().unwrap() {
            assert_eq!(status, WorkCompletionStatus::Ok);
            break;
        }
    }
    assert!(delivered);
    devices[0].check().unwrap();
}

/// What becomes of the second end.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Dies,
    Closes,
    StartsAnew,
}

/// Takes what has been delivered: each message once, unchanged.
fn take(
    event: EndpointEvent<'_>,
    from: u8,
    delivered: &mut BTreeMap<u8, usize>,
) -> Option<(u64, WorkCompletionStatus)> {
    match event {
        EndpointEvent::Delivered { payload, .. } => {
            let (number, sender) = (payload[0], payload[1]);
            assert!(sender == from && payload[2..].iter().all(|byte| *byte == number));
            *delivered.entry(number).or_default() += 1;
            None
        }
        EndpointEvent::Completed { id, status, .. } => Some((id, status)),
    }
}

/// Both ends send; something happens to the second one after so many rounds over a bad network. Each message ends once and is
/// delivered at most once, those that ended well exactly once, and nothing is left.
fn meets(fate: Fate, bulk: bool, ordered: bool, rounds: u64) {
    let (devices, domains) = cards(
        bulk,
        NetworkConfig {
            seed: rounds,
            ..config(2, BAD)
        },
    );
    let config = EndpointConfig {
        ordered,
        long_bytes: 500_000,
        ..endpoint()
    };
    let [mut a, b] =
        (domains.each_ref()).map(|domain| ReliableEndpoint::new(domain, config).unwrap());
    let to = b.address();
    let mut b = Some(b);
    let lengths = [300, 70_000, 200_000, 65_536, 130_000, 2_000];
    let bytes = |number: usize, from: u8| {
        let mut bytes = vec![number as u8; lengths[number % 6]];
        bytes[1] = from;
        bytes
    };
    for number in 0..12 {
        a.send_copy(to, &bytes(number, 0)).unwrap();
        let other = b.as_mut().unwrap();
        other.send_copy(a.address(), &bytes(number, 1)).unwrap();
    }
    let mut delivered = [BTreeMap::new(), BTreeMap::new()];
    let mut ended = BTreeMap::new();
    let mut note = |done: Option<(u64, WorkCompletionStatus)>| {
        if let Some((id, status)) = done {
            assert!(ended.insert(id, status).is_none(), "{id} has ended twice");
        }
        ended.len()
    };
    let mut round = 0;
    loop {
        assert!(round < 3_000_000, "not all have ended");
        let mut count = note(None);
        while let Some(event) = a.poll().unwrap() {
            count = note(take(event, 1, &mut delivered[0]));
        }
        if let Some(end) = &mut b {
            while let Some(event) = end.poll().unwrap() {
                take(event, 0, &mut delivered[1]);
            }
        }
        if round == rounds {
            if matches!(fate, Fate::Dies) {
                devices[1].remove();
            }
            for event in b.take().unwrap().close() {
                take(event, 0, &mut delivered[1]);
            }
            if matches!(fate, Fate::StartsAnew) {
                b = Some(at(&domains[1], config, to));
            }
        }
        round += 1;
        if count == 12 && round > rounds {
            break;
        }
    }
    let what = format!("{fate:?}, bulk {bulk}, ordered {ordered}, {rounds} rounds: {ended:?}");
    for (id, status) in &ended {
        let times = delivered[1].get(&(*id as u8)).copied().unwrap_or(0);
        let fewest = usize::from(*status == WorkCompletionStatus::Ok);
        assert!((fewest..=1).contains(&times), "{what}: {id} {times} times");
    }
    assert!(delivered[0].values().all(|times| *times == 1), "{what}");
    // What the second end had announced is given up.
    for _ in 0..BOUND_MS {
        assert!(
            a.wait(Duration::from_millis(1)).unwrap().is_none(),
            "{what}"
        );
    }
    assert!(
        a.drain(Duration::ZERO).unwrap(),
        "{what}: {:?}",
        a.long_stats()
    );
    assert_eq!(a.long_stats().stray, 0, "{what}");
    drop((a, b));
    for (device, domain) in devices.iter().zip(&domains).take(1) {
        assert_eq!(domain.context().in_use(), (0, 0), "{what}");
        assert_eq!(device.host_stats(), Default::default(), "{what}");
    }
}

#[test]
fn xud_12_whatever_becomes_of_an_end_at_any_moment_each_message_ends_once() {
    let runs = std::env::var("XUD_RUNS")
        .ok()
        .and_then(|text| text.parse().ok());
    for run in 0..runs.unwrap_or(3u64) {
        for fate in [Fate::Dies, Fate::Closes, Fate::StartsAnew] {
            for (bulk, ordered) in [(true, false), (true, true), (false, false), (false, true)] {
                meets(fate, bulk, ordered, 20 + run * 137 % 1_500);
            }
        }
    }
}
