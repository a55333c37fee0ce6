//! Cards, switches and a manager in one fabric.

mod collective;
mod incast;
mod manager;
mod reduction;
mod traffic;
mod wrong;

use std::sync::OnceLock;

use anyhow::Result;
use tributary_host_driver::EndpointConfig;
use tributary_protocol::card::model::ModelConfig;
use tributary_sim::card::{CardSizes, Cluster, Exchange, NetworkConfig, Node, RtlNode};
use tributary_sim::fabric::{Fabric, ModelSwitch, Simulator, file};
use tributary_sim::pcie::Config;
use tributary_sim::verilate::Verilated;

/// Step of time, ns: 13 clocks.
const SLOT_NS: u64 = 104;

/// The file of 16 hosts on 5 switches.
fn sixteen() -> Fabric {
    file::parse(include_str!("../../fabrics/cluster.toml"), "cluster.toml").unwrap()
}

/// The hosts of a fabric, with numbers that are not their places: above 65,535, and seven at a time differ in bits 19:16 alone
/// (CL-1).
fn far(mut fabric: Fabric) -> Fabric {
    for (at, endpoint) in (0..).zip(&mut fabric.endpoints) {
        endpoint.node = far_node(at);
    }
    fabric
}

/// The node of a host of such a fabric.
const fn far_node(at: u32) -> u32 {
    (at % 7 + 1) << 16 | (0x9A + at / 7)
}

/// The cards of a fabric by their node numbers.
fn numbered(cluster: &Cluster) -> Vec<(u32, tributary_sim::card::SimDevice)> {
    let devices = cluster.devices().iter().cloned();
    cluster.nodes().iter().copied().zip(devices).collect()
}

/// A fabric of models whose unicast tables nobody has written.
fn unrouted(fabric: Fabric, seed: u64) -> Simulator {
    let sim = Simulator::unrouted(fabric, seed, |index, spec, bits| {
        let switch = ModelSwitch::new(index, spec, bits.unicast, bits.multicast)?;
        Ok(Box::new(switch))
    });
    sim.unwrap()
}

fn models(sim: Simulator) -> Cluster {
    Cluster::of_models(sim, ModelConfig::default(), SLOT_NS).unwrap()
}

/// The same with Verilated cards.
fn rtl(sim: Simulator) -> Cluster {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| CardSizes::bulk().build(false).unwrap());
    let cards = (0..sim.fabric().endpoints.len() as u64).map(|seed| {
        let root = Config {
            seed,
            ..Config::default()
        };
        let card = RtlNode::new(library, root).unwrap();
        Box::new(card) as Box<dyn Node>
    });
    let cards = cards.collect();
    Cluster::new(sim, cards, 8, SLOT_NS).unwrap()
}

/// Every host sends to every other.
fn plan(messages: u64, seed: u64) -> Exchange {
    Exchange {
        network: NetworkConfig {
            seed,
            ..NetworkConfig::default()
        },
        endpoint: EndpointConfig::default(),
        mtu: 512,
        messages,
        largest: 400,
        longer: Some((50, 3_000)),
    }
}

fn exchange(
    cluster: &Cluster,
    plan: &Exchange,
    watch: &mut dyn FnMut(u64),
) -> Result<tributary_sim::card::ExchangeReport> {
    tributary_sim::card::exchange_over(plan, numbered(cluster), watch)
}
