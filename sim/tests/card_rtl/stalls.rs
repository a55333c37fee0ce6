//! Messages between Verilated cards whose hosts and MACs stall, for long and all at once.
//!
//! Long form: `TRIBUTARY_FRAMES=20000 cargo test -p tributary-sim --test card_rtl stalls -- --nocapture`.

use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{Exchange, NetworkConfig, exchange_over};
use tributary_sim::link::LinkConfig;
use tributary_sim::testbench::{Profile, profiles};

use super::exchange::BAD;
use super::stalling_pair;

/// Messages of a run.
const MESSAGES: u64 = 40;

fn run(seed: u64) -> u64 {
    // Hosts and MACs go through the profiles in different order.
    let (host, line) = (Profile::of_seed(seed), Profile::of_seed(3 * seed + 1));
    let place = format!("seed {seed}, host {host}, MAC {line}");
    let good = LinkConfig {
        delay_slots: 5,
        reorder_slots: 0,
        loss: 0.0,
        duplication: 0.0,
    };
    let plan = Exchange {
        network: NetworkConfig {
            seed,
            ..NetworkConfig::default()
        },
        // A host and two MACs that each wait 5,000 clocks cost 120 us; the timeout is 1 ms.
        endpoint: EndpointConfig {
            timeout: 8,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1024,
        messages: MESSAGES,
        largest: 3_000,
        longer: None,
    };
    let link = if seed.is_multiple_of(2) { good } else { BAD };
    let devices = stalling_pair(link, seed, host, line);
    let report = exchange_over(&plan, (0..).zip(devices.clone()).collect(), &mut |_| ());
    let report = report.unwrap_or_else(|wrong| panic!("{place}: {wrong:#}"));
    for device in &devices {
        let checked = device.check();
        checked.unwrap_or_else(|wrong| panic!("{place}: {wrong:#}"));
    }
    assert!(report.good(MESSAGES), "{place}: {report:?}");
    MESSAGES
}

/// Each message arrives once and whole, nothing that is on offer to the MAC or the host changes, and no rule of PCI Express is
/// broken: the network looks at all of it in each clock.
#[test]
fn xud_02_xud_04_xud_10_messages_arrive_once_whatever_stalls() {
    profiles("two cards: messages", run);
}
