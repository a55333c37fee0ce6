//! Messages between hosts through the driver over bad links, as many as wanted:
//! `cargo run --release -p tributary-sim --example driver_exchange -- 10000000`.

use anyhow::{Context, Result, ensure};
use tributary_host_driver::EndpointConfig;
use tributary_sim::card::{Exchange, NetworkConfig, exchange};
use tributary_sim::link::LinkConfig;

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1);
    let mut next = |default: u64| match numbers.next() {
        Some(text) => text.parse().with_context(|| format!("{text} is no number")),
        None => Ok(default),
    };
    let (messages, seed, nodes) = (next(1_000_000)?, next(1)?, next(2)?);
    let plan = Exchange {
        network: NetworkConfig {
            nodes: nodes.try_into()?,
            link: LinkConfig {
                delay_slots: 20,
                reorder_slots: 64,
                loss: 0.01,
                duplication: 0.01,
            },
            seed,
            ..NetworkConfig::default()
        },
        endpoint: EndpointConfig {
            timeout: 3,
            attempts: 16,
            ..EndpointConfig::default()
        },
        mtu: 1_024,
        messages,
        largest: 64,
        longer: None,
    };
    let started = std::time::Instant::now();
    let report = exchange(&plan, &mut |_| {})?;
    println!("{report:#?}");
    println!("{:.1} s, seed {seed}", started.elapsed().as_secs_f64());
    ensure!(report.good(messages), "not every message arrived once");
    Ok(())
}
