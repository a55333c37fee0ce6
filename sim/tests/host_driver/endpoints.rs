//! Reliable endpoints.

use std::time::Duration;

use tributary_host_driver::{
    Access, Device, EndpointConfig, EndpointEvent, PostError, ReliableEndpoint,
    WorkCompletionStatus,
};
use tributary_sim::card::{Exchange, exchange};

use crate::{BAD, config, endpoint, pair};

fn plan(nodes: u32, messages: u64, largest: usize) -> Exchange {
    Exchange {
        network: config(nodes, BAD),
        endpoint: endpoint(),
        mtu: 1_024,
        messages,
        largest,
        longer: None,
    }
}

fn perfect(plan: Exchange) {
    let seed = plan.network.seed;
    let report = exchange(&plan, &mut |_| {}).unwrap();
    assert!(report.good(plan.messages), "seed {seed}: {report:?}");
    assert!(report.lost > 0 && report.resent > 0, "{report:?}");
    assert!(
        report.overtaken == 0 || !plan.endpoint.ordered,
        "{report:?}"
    );
}

#[test]
fn xud_10_10_000_messages_between_two_hosts_arrive_once_over_a_bad_link() {
    perfect(plan(2, 10_000, 256));
}

#[test]
fn xud_10_four_hosts_exchange_messages_of_many_packets_over_bad_links() {
    perfect(plan(4, 2_000, 8_000));
}

#[test]
fn xud_11_ordered_endpoints_deliver_in_order_over_bad_links() {
    let plan = plan(3, 3_000, 2_000);
    let endpoint = EndpointConfig {
        ordered: true,
        ..plan.endpoint
    };
    perfect(Exchange { endpoint, ..plan });
}

#[test]
fn xud_12_messages_of_64_kib_arrive_over_a_bad_link() {
    perfect(plan(2, 60, 65_536));
}

#[test]
fn a_run_replays_from_its_seed() {
    let twice = [(); 2].map(|()| exchange(&plan(2, 500, 3_000), &mut |_| {}).unwrap());
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn xud_09_a_buffer_is_sent_from_where_it_is_and_comes_back() {
    let (_, domains) = pair();
    let mut ends =
        domains.map(|domain| (ReliableEndpoint::new(&domain, endpoint()).unwrap(), domain));
    let region = ends[0].1.reg_mr(10_000, Access::LOCAL_READ).unwrap();
    let mut buffer = region.alloc(5_000).unwrap();
    buffer.fill(7);
    let place = buffer.as_ptr();
    let to = ends[1].0.address();
    let id = ends[0].0.send(to, buffer).unwrap();
    let (mut delivered, mut completed) = (None, None);
    while delivered.is_none() || completed.is_none() {
        for (end, _) in &mut ends {
            match end.wait(Duration::from_micros(1)).unwrap() {
                Some(EndpointEvent::Delivered { payload, .. }) => {
                    delivered = Some(payload.into_owned());
                }
                Some(EndpointEvent::Completed {
                    id, status, buffer, ..
                }) => {
                    completed = Some((id, status, buffer));
                }
                None => {}
            }
        }
    }
    assert!(delivered.unwrap() == [7; 5_000]);
    let (got, status, buffer) = completed.unwrap();
    assert_eq!((got, status), (id, WorkCompletionStatus::Ok));
    assert_eq!(buffer.unwrap().as_ptr(), place);
}

#[test]
fn xud_10_what_a_program_is_reading_is_not_written_over() {
    let (_, domains) = pair();
    let config = EndpointConfig {
        receives: 2,
        ..endpoint()
    };
    let [mut a, mut b] = domains.map(|domain| ReliableEndpoint::new(&domain, config).unwrap());
    for number in 0..20 {
        a.send_copy(b.address(), &[number; 1_000]).unwrap();
    }
    let mut delivered = [false; 20];
    for _ in 0..100_000 {
        a.poll().unwrap();
        let Some(EndpointEvent::Delivered { payload, .. }) = b.poll().unwrap() else {
            continue;
        };
        let before = payload.to_vec();
        // Others arrive meanwhile, in all places that the card has.
        for _ in 0..100 {
            a.poll().unwrap();
        }
        assert!(*payload == before && before == [before[0]; 1_000]);
        assert!(!std::mem::replace(
            &mut delivered[usize::from(before[0])],
            true
        ));
        if delivered.iter().all(|delivered| *delivered) {
            break;
        }
    }
    assert_eq!(delivered, [true; 20]);
}

#[test]
fn memory_of_small_copies_is_there_for_a_large_one() {
    let (_, domains) = pair();
    let config = EndpointConfig {
        copy_bytes: 65_536,
        ..endpoint()
    };
    let [mut a, mut b] = domains.map(|domain| ReliableEndpoint::new(&domain, config).unwrap());
    let mut ended = 0;
    for (count, bytes) in [(500, 100), (1, 65_536), (60, 1_000)] {
        for _ in 0..count {
            a.send_copy(b.address(), &vec![7; bytes]).unwrap();
        }
        let room = a.send_copy(b.address(), &[7; 10_000]);
        assert!(matches!(room, Err(PostError::Full("copy"))), "{room:?}");
        while a.pending() > 0 {
            b.poll().unwrap();
            if let Some(EndpointEvent::Completed { status, .. }) = a.poll().unwrap() {
                assert_eq!(status, WorkCompletionStatus::Ok);
                ended += 1;
            }
        }
        while let Some(EndpointEvent::Completed { .. }) = a.poll().unwrap() {
            ended += 1;
        }
    }
    assert_eq!(ended, 561);
}

#[test]
fn xud_08_a_peer_that_is_not_there_is_unreachable_for_short_and_long_messages() {
    let (devices, domains) = pair();
    let mut end = ReliableEndpoint::new(&domains[0], endpoint()).unwrap();
    devices[1].remove();
    let to = tributary_host_driver::AddressHandle::new(1, 5).unwrap();
    let region = domains[0].reg_mr(1 << 17, Access::LOCAL_READ).unwrap();
    for length in [10, 65_537] {
        end.send(to, region.alloc(length).unwrap()).unwrap();
        let event = end.wait(Duration::from_secs(1)).unwrap().unwrap();
        let EndpointEvent::Completed { status, buffer, .. } = event else {
            panic!("{event:?}")
        };
        assert_eq!(status, WorkCompletionStatus::Unreachable);
        assert_eq!(buffer.unwrap().len(), length);
    }
}

#[test]
fn xud_08_a_program_that_is_kept_from_running_is_not_given_up() {
    let (devices, domains) = pair();
    let config = EndpointConfig::default();
    let [mut a, mut b] = domains.map(|domain| ReliableEndpoint::new(&domain, config).unwrap());
    for number in 0..2 {
        a.send_copy(b.address(), &[number]).unwrap();
        // Its card is there, but nobody answers OPEN, or posts receive requests: more than a time slice of a busy processor.
        let until = devices[0].now_ns() + 200_000_000;
        while devices[0].now_ns() < until {
            let slept = a.wait(Duration::from_millis(1)).unwrap();
            assert!(number > 0 || slept.is_none(), "{slept:?}");
        }
        let start = devices[0].now_ns();
        while b.wait(Duration::from_micros(50)).unwrap().is_none() {
            a.poll().unwrap();
            assert!(devices[0].now_ns() < start + 100_000_000);
        }
    }
}

#[test]
fn waiting_ends_with_the_time_that_was_given() {
    let (_, domains) = pair();
    let mut end = ReliableEndpoint::new(&domains[0], endpoint()).unwrap();
    assert!(end.wait(Duration::from_millis(1)).unwrap().is_none());
}
