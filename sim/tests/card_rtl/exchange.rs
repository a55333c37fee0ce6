//! Messages over Verilated cards.

use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{Exchange, NetworkConfig, exchange_over};
use tributary_sim::link::LinkConfig;

use super::{pair, seed};

fn run(link: LinkConfig, messages: u64, largest: usize) {
    let seed = seed();
    let devices = pair(link, seed);
    let plan = Exchange {
        network: NetworkConfig {
            seed,
            ..NetworkConfig::default()
        },
        endpoint: EndpointConfig {
            timeout: 4,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1024,
        messages,
        largest,
    };
    let report = exchange_over(&plan, devices.clone(), &mut |_| ()).unwrap();
    println!("{report:?}");
    for device in &devices {
        device.check().unwrap();
        assert_eq!(device.host_stats().stray, 0);
    }
    assert!(report.good(messages), "{report:?}");
}

#[test]
fn messages_arrive_once_and_whole_over_good_links() {
    let link = LinkConfig {
        delay_slots: 5,
        reorder_slots: 0,
        loss: 0.0,
        duplication: 0.0,
    };
    run(link, 300, 200);
}

#[test]
fn xud_10_messages_arrive_once_over_links_that_lose_double_and_reorder() {
    let link = LinkConfig {
        delay_slots: 20,
        reorder_slots: 64,
        loss: 0.01,
        duplication: 0.01,
    };
    run(link, 2_000, 3_000);
}
