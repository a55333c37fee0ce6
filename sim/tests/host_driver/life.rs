//! Nothing is left behind.

use tributary_host_driver::{EndpointEvent, ReliableEndpoint, WorkCompletionStatus};

use crate::{endpoint, pair};

/// Endpoints come and go, most with messages under way.
#[test]
fn xud_06_a_thousand_reconnections_leave_nothing() {
    let (devices, domains) = pair();
    let config = tributary_host_driver::EndpointConfig {
        receives: 16,
        sends: 16,
        copy_bytes: 8_192,
        ..endpoint()
    };
    let mut delivered = 0;
    for round in 0..1_000u64 {
        let mut ends = domains
            .each_ref()
            .map(|domain| ReliableEndpoint::new(domain, config).unwrap());
        let to = ends[1].address();
        for number in 0..4 {
            ends[0].send_copy(to, &[round as u8, number]).unwrap();
        }
        let mut ended = 0;
        // Every other time it is all over before the endpoints go.
        let rounds = if round % 2 == 0 { 10_000 } else { round % 40 };
        for _ in 0..rounds {
            if let Some(EndpointEvent::Completed { status, .. }) = ends[0].poll().unwrap() {
                assert_eq!(status, WorkCompletionStatus::Ok);
                ended += 1;
            }
            if let Some(EndpointEvent::Delivered { payload, .. }) = ends[1].poll().unwrap() {
                assert_eq!(payload[0], round as u8);
                delivered += 1;
            }
            if ended == 4 {
                break;
            }
        }
        assert!(round % 2 == 1 || ended == 4);
        let [first, second] = ends;
        let flushed = first
            .close()
            .into_iter()
            .filter(|event| matches!(event, EndpointEvent::Completed { .. }));
        assert_eq!(ended + flushed.count(), 4);
        drop(second);
        for (device, domain) in devices.iter().zip(&domains) {
            assert_eq!(device.on_card(), Some((0, 0)), "round {round}");
            assert_eq!(device.in_flight(), Some(0));
            assert_eq!(device.host_stats(), Default::default());
            assert_eq!(domain.context().in_use(), (0, 0));
        }
    }
    assert!(delivered >= 2_000);
}

/// Completion queues outlive queue pairs, which leave nothing in them but their completions.
#[test]
fn a_completion_queue_keeps_no_memory_of_queue_pairs_that_are_gone() {
    let (devices, domains) = pair();
    let queue = domains[0].context().create_cq(0).unwrap();
    let empty = devices[0].host_stats();
    for round in 0..3 {
        let pairs = [(); 2].map(|()| domains[0].create_qp(&queue).build().unwrap());
        assert_ne!(devices[0].host_stats(), empty);
        drop(pairs);
        assert_eq!(devices[0].host_stats(), empty, "round {round}");
        assert_eq!(queue.poll(&mut Vec::new(), 1).unwrap(), 0);
    }
}
