//! Messages over Verilated cards.

use std::time::Instant;

use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{CLOCK_NS, Exchange, NetworkConfig, exchange_over};
use tributary_sim::link::LinkConfig;

use super::{pair, seed};

/// Loss 1 %, duplication 1 %, reorder span 64.
pub const BAD: LinkConfig = LinkConfig {
    delay_slots: 20,
    reorder_slots: 64,
    loss: 0.01,
    duplication: 0.01,
};

fn run(link: LinkConfig, plan: Exchange) {
    let seed = seed();
    let devices = pair(link, seed);
    let network = NetworkConfig {
        seed,
        ..NetworkConfig::default()
    };
    let start = Instant::now();
    let plan = Exchange { network, ..plan };
    let report = exchange_over(&plan, (0..).zip(devices.clone()).collect(), &mut |_| ()).unwrap();
    println!("{report:?}");
    let (clocks, seconds) = (report.now_ns / CLOCK_NS, start.elapsed().as_secs_f64());
    println!(
        "seed {seed}: {clocks} clocks, {:.1} a message; {seconds:.1} s, {:.0} clocks/s of both cards",
        clocks as f64 / plan.messages as f64,
        clocks as f64 / seconds
    );
    for device in &devices {
        device.check().unwrap();
        assert_eq!(device.host_stats().stray, 0);
    }
    assert!(report.good(plan.messages), "{report:?}");
    let bad = link == BAD;
    assert_eq!(bad, report.lost > 0, "{report:?}");
}

fn plan(messages: u64, largest: usize) -> Exchange {
    Exchange {
        network: NetworkConfig::default(),
        endpoint: EndpointConfig {
            timeout: 4,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1024,
        messages,
        largest,
        longer: None,
    }
}

#[test]
fn messages_arrive_once_and_whole_over_good_links() {
    let link = LinkConfig {
        delay_slots: 5,
        reorder_slots: 0,
        loss: 0.0,
        duplication: 0.0,
    };
    run(link, plan(300, 200));
}

#[test]
fn xud_10_messages_arrive_once_over_links_that_lose_double_and_reorder() {
    run(BAD, plan(2_000, 3_000));
}

#[test]
fn xud_10_100_000_messages_arrive_once_over_links_that_lose_double_and_reorder() {
    let mut plan = plan(100_000, 64);
    plan.longer = Some((50, 3_000));
    // Windows enough for a card that never waits for one; the shortest timeout above the longest round trip, 17.5 us.
    plan.endpoint.windows = 256;
    plan.endpoint.timeout = 3;
    run(BAD, plan);
}
