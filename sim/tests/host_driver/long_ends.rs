//! Messages above 64 KiB of which an end dies, goes or starts anew (XUD-12).

use std::time::Duration;

use tributary_host_driver::{
    Access, EndpointConfig, EndpointEvent, ProtectionDomain, ReliableEndpoint, WorkCompletionStatus,
};
use tributary_sim::card::{NetworkConfig, SimDevice};

use crate::bulk::sample;
use crate::long::cards;
use crate::{config, endpoint};

const LENGTH: usize = 3 << 20;

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
    assert!(arriving || !bulk, "not in the middle");
    Ends {
        devices,
        domains,
        ends: [Some(a), Some(b)],
        used,
    }
}

/// How messages of an end that is left alone are to end: all within this time.
fn all_end(
    end: &mut ReliableEndpoint,
    device: &SimDevice,
    count: usize,
) -> Vec<WorkCompletionStatus> {
    use tributary_host_driver::Device;
    let until = device.now_ns() + 100_000_000;
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
        (true, false, 1_500),
        (true, true, 1_500),
        (false, false, 1_500),
        (false, true, 4_000),
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
        } = in_the_middle(bulk, ordered, 1_500);
        devices[0].remove();
        let mut receiver = ends[1].take().unwrap();
        for _ in 0..100 {
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
        } = in_the_middle(bulk, true, 1_500);
        let old = ends[1].take().unwrap();
        let address = old.address();
        let _ = old.close();
        let mut next = again.then(|| {
            let config = EndpointConfig {
                ordered: true,
                ..endpoint()
            };
            // Numbers go round.
            let others: Vec<ReliableEndpoint> = Vec::new();
            let mut end = ReliableEndpoint::new(&domains[1], config).unwrap();
            let mut kept = others;
            while end.address() != address {
                kept.push(end);
                end = ReliableEndpoint::new(&domains[1], config).unwrap();
            }
            end
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
        // Those that had not been announced to the earlier process go to the new one.
        let good = all
            .iter()
            .filter(|status| **status == WorkCompletionStatus::Ok);
        assert_eq!(good.count(), if again { 2 } else { 0 }, "{all:?}");
        assert_eq!(delivered, if again { 2 } else { 0 });
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
        } = in_the_middle(bulk, ordered, 1_500);
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
