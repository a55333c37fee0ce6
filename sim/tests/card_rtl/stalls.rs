//! Messages between Verilated cards whose hosts and MACs stall, for long and all at once.

use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{Exchange, NetworkConfig, exchange_over};
use tributary_sim::link::LinkConfig;
use tributary_sim::testbench::stall::{PROFILES, Profile};

use super::exchange::BAD;
use super::stalling_pair;

/// Messages of a run, unless `TRIBUTARY_FRAMES` says how many there are in all runs together.
const MESSAGES: u64 = 40;

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("TRIBUTARY_SEED") {
        Ok(text) => {
            let seed = text.parse().expect("a number");
            seed..seed + 1
        }
        Err(_) => 0..PROFILES.len() as u64,
    }
}

fn messages() -> u64 {
    match std::env::var("TRIBUTARY_FRAMES") {
        Ok(text) => text.parse::<u64>().expect("a number") / PROFILES.len() as u64,
        Err(_) => MESSAGES,
    }
}

/// Each message arrives once and whole, nothing that is on offer to the MAC or the host changes, and no rule of PCI Express is
/// broken: the network looks at all of it in each clock.
#[test]
fn xud_02_xud_04_xud_10_messages_arrive_once_whatever_stalls() {
    let mut sent = 0;
    for seed in seeds() {
        // Hosts and MACs go through the profiles in different order.
        let (host, line) = (Profile::of_seed(seed), Profile::of_seed(3 * seed + 1));
        let good = LinkConfig {
            delay_slots: 5,
            reorder_slots: 0,
            loss: 0.0,
            duplication: 0.0,
        };
        let link = if seed % 2 == 0 { good } else { BAD };
        let network = NetworkConfig {
            seed,
            ..NetworkConfig::default()
        };
        let plan = Exchange {
            network,
            // A host and two MACs that each wait 5,000 clocks cost 120 us; the timeout is 1 ms.
            endpoint: EndpointConfig {
                timeout: 8,
                attempts: 16,
                ..EndpointConfig::default()
            },
            mtu: 1024,
            messages: messages(),
            largest: 3_000,
            longer: None,
        };
        let devices = stalling_pair(link, seed, host, line);
        let report = exchange_over(&plan, devices.clone(), &mut |_| ())
            .unwrap_or_else(|wrong| panic!("seed {seed}, host {host}, MAC {line}: {wrong:#}"));
        for device in &devices {
            device
                .check()
                .unwrap_or_else(|wrong| panic!("seed {seed}, host {host}, MAC {line}: {wrong:#}"));
        }
        assert!(
            report.good(plan.messages),
            "seed {seed}, host {host}, MAC {line}: {report:?}"
        );
        println!("seed {seed}: host {host}; MAC {line}: {} ns", report.now_ns);
        sent += plan.messages;
    }
    println!("{sent} messages, none wrong");
}
