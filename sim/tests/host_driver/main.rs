//! The driver on simulated cards, end to end. `XUD_SEED=n` replays one run.

mod bulk;
mod bulk_rtl;
mod commands;
mod endpoints;
mod life;
mod long;
mod long_ends;
mod multicast;
mod multicast_cards;
mod multicast_cards_rtl;
mod multicast_deaths;
mod offload;
mod offload_rtl;
mod one_sided;
#[path = "../onesided_runs/mod.rs"]
mod onesided_runs;
mod served;
mod verbs;

use std::sync::Arc;

use tributary_host_driver::{Context, EndpointConfig, Options, ProtectionDomain};
use tributary_protocol::card::model::ModelConfig;
use tributary_sim::card::{NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;

/// Loss 1 %, duplication 1 %, reorder span 64.
const BAD: LinkConfig = LinkConfig {
    delay_slots: 20,
    reorder_slots: 64,
    loss: 0.01,
    duplication: 0.01,
};

fn config(nodes: u32, link: LinkConfig) -> NetworkConfig {
    let seed = std::env::var("XUD_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let config = NetworkConfig {
        nodes,
        link,
        seed: seed.unwrap_or(11),
        ..NetworkConfig::default()
    };
    println!("seed {}", config.seed);
    config
}

fn endpoint() -> EndpointConfig {
    EndpointConfig {
        timeout: 3,
        attempts: 16,
        ..EndpointConfig::default()
    }
}

fn open(device: &SimDevice, node: u32) -> ProtectionDomain {
    let options = Options { node, mtu: 1_024 };
    let context = Context::open(Arc::new(device.clone()), options).unwrap();
    assert_eq!(
        context.sizes().queue_pairs,
        1 << ModelConfig::default().qps_log
    );
    context.alloc_pd().unwrap()
}

/// Two cards on a link without faults, opened.
fn pair() -> (Vec<SimDevice>, [ProtectionDomain; 2]) {
    let devices = network(&config(2, NetworkConfig::default().link)).unwrap();
    let domains = [open(&devices[0], 0), open(&devices[1], 1)];
    (devices, domains)
}
