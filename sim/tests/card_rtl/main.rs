//! The driver on Verilated cards, each behind a root complex that checks every TLP. `XUD_SEED=n` replays one run;
//! `CARD_LONG=1` runs the campaigns at full length:
//! 20 to 150 times as many rounds.

mod back_to_back;
mod bench;
mod bulk;
mod bus_master;
mod exchange;
mod figures;
mod forged;
mod group_pace;
mod groups;
mod hang;
mod interrupts;
mod landing;
mod large;
mod model;
mod no_bulk;
mod onesided;
mod onesided_driver;
mod onesided_model;
#[path = "../onesided_runs/mod.rs"]
mod onesided_runs;
mod ordered;
mod regions;
mod reset;
mod roots;
mod stalls;
mod traffic;
mod unreadable;
mod write_returns;

use std::sync::OnceLock;

use tributary_sim::card::{CardSizes, NetworkConfig, Node, RtlNode, SimDevice, network_of};
use tributary_sim::link::LinkConfig;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::Verilated;

/// The card, built once.
fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| CardSizes::default().build(false).unwrap())
}

/// Whether campaigns run at full length.
fn long() -> bool {
    std::env::var_os("CARD_LONG").is_some()
}

fn seed() -> u64 {
    let seed = std::env::var("XUD_SEED");
    let seed = seed.ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    println!("seed {seed}");
    seed
}

/// Two Verilated cards joined by such links. The hosts answer in any order, cut completions anywhere, and stall.
fn pair(link: LinkConfig, seed: u64) -> Vec<SimDevice> {
    stalling_pair(link, seed, Profile::Independent(32), Profile::Free)
}

/// The same; hosts and MACs stall so.
fn stalling_pair(link: LinkConfig, seed: u64, host: Profile, line: Profile) -> Vec<SimDevice> {
    let config = NetworkConfig {
        nodes: 2,
        link,
        seed,
        slot_ns: 104,
        ..NetworkConfig::default()
    };
    let nodes = (0..2).map(|node| {
        let root = Config {
            seed: seed + node,
            stall: host,
            ..Config::default()
        };
        let mut node = RtlNode::new(library(), root).unwrap();
        node.stall_line(line);
        Box::new(node) as Box<dyn Node>
    });
    network_of(&config, nodes.collect()).unwrap()
}
