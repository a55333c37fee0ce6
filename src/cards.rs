//! Simulated cards for the commands that need some.

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Error, Result};
use clap::Args;
use clap::error::ErrorKind;
use tributary_fabric::control::Control;
use tributary_host_driver::BulkTuning;
use tributary_host_driver::collective::remote::TREES_SOCKET;
use tributary_protocol::card::model::{CardModel, ModelConfig};
use tributary_sim::card::{
    CLOCK_NS, CardSizes, Cluster, ClusterTrees, NetworkConfig, Node, RtlNode, SLOT_NS, SimDevice,
    TreeServer, network, network_rtl, serve_trees,
};
use tributary_sim::fabric::{Fabric, Kind, Options, Simulator};
use tributary_sim::link::LinkConfig;
use tributary_sim::pcie::Config;

use crate::sim::{Engine, fabric, probability};

/// Bytes on the line around the payload of a packet of a bulk transfer.
const AROUND_PAYLOAD: f64 = 90.0;
/// Rate of a port of the model, Gb/s.
const MODEL_GBPS: f64 = 100.0;

/// What the RTL takes of a round trip: so many packets have been chosen and wait for the line, and so many clocks go by for host
/// memory, both cards and the answer.
const RTL_PACKETS: f64 = 8.0;
const RTL_CLOCKS: u64 = 500;

/// Timeout of the engines, in units of 1,024 clocks: 205 ms of simulated time. Processes are late by what their machine makes of them,
/// not by what the fabric does.
const PATIENT_UNITS: u32 = 25_000;

/// Arguments that say how frames travel between cards.
#[derive(Args)]
pub struct Network {
    /// Probability that a packet is lost, in both directions.
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub loss: f64,
    /// Probability that a packet arrives twice, in both directions.
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub dup: f64,
    /// How far packets overtake each other, slots of 104 ns.
    #[arg(long, value_name = "SLOTS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub reorder: u32,
    /// Shortest round trip of the links, slots of 104 ns; half of it each way.
    #[arg(long, value_name = "SLOTS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub round_trip: u32,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl Network {
    /// Shortest time from one card to another, ns.
    pub fn delay_ns(&self) -> u64 {
        u64::from(self.round_trip.div_ceil(2)) * SLOT_NS
    }

    /// What bulk transfers with packets of `mtu` bytes should know of such links, and of such cards.
    pub fn tuning(&self, mtu: u16, engine: Engine) -> BulkTuning {
        let packet_ns = packet_ns(mtu, engine);
        let span_ns = (u64::from(self.reorder) * SLOT_NS) as f64;
        BulkTuning {
            round_trip_ns: 2 * self.delay_ns() + within_ns(mtu, engine),
            // Two more for what the cards themselves take.
            overtaking: (span_ns / packet_ns).ceil() as u32 + 2,
            share_of_256: 128,
        }
    }

    /// Longest time of a link there and back, ns.
    pub fn longest_ns(&self) -> u64 {
        2 * (self.delay_ns() + u64::from(self.reorder) * SLOT_NS)
    }
}

/// What a packet of a bulk transfer takes on the line.
pub fn packet_ns(mtu: u16, engine: Engine) -> f64 {
    (f64::from(mtu) + AROUND_PAYLOAD) * 8.0 / line_gbps(engine)
}

/// What cards themselves take of a round trip of bulk transfers.
pub fn within_ns(mtu: u16, engine: Engine) -> u64 {
    match engine {
        Engine::Model => 0,
        Engine::Rtl => (RTL_PACKETS * packet_ns(mtu, engine)) as u64 + RTL_CLOCKS * CLOCK_NS,
    }
}

/// Rate of a card's port, Gb/s. The RTL's carries a word of 64 bits a clock.
pub fn line_gbps(engine: Engine) -> f64 {
    match engine {
        Engine::Model => MODEL_GBPS,
        Engine::Rtl => 64.0 / CLOCK_NS as f64,
    }
}

/// Cards joined by such links, whose slots have `slot_ns`; time goes on in steps of `step_ns`, which divides that. `sizes`: of the RTL.
pub fn cards(
    engine: Engine,
    sizes: CardSizes,
    nodes: u32,
    [slot_ns, step_ns]: [u64; 2],
    wanted: &Network,
) -> Result<Vec<SimDevice>> {
    let steps = (slot_ns / step_ns) as u32;
    let config = NetworkConfig {
        nodes,
        link: LinkConfig {
            delay_slots: wanted.round_trip.div_ceil(2) * steps,
            reorder_slots: wanted.reorder * steps,
            loss: wanted.loss,
            duplication: wanted.dup,
        },
        seed: wanted.seed,
        slot_ns: step_ns,
        // The RTL gives its frames away as fast as its port is.
        line_gbps: (engine == Engine::Model).then_some(MODEL_GBPS),
        ..NetworkConfig::default()
    };
    if engine == Engine::Model {
        return network(&config);
    }
    let root = Config {
        seed: wanted.seed,
        large: true,
        ..Config::default()
    };
    network_rtl(&config, sizes, root)
}

/// Cards at the endpoints of a fabric file and, where it has switches, the manager that has programmed them.
pub struct OfFabric {
    pub cluster: Cluster,
    pub control: Option<Arc<Mutex<Control>>>,
    /// What the cards are, in their order.
    pub kinds: Vec<Kind>,
}

impl OfFabric {
    pub fn new(path: &Path, engine: Engine, seed: u64) -> Result<Self> {
        let mut fabric = fabric(Some(path), None)?;
        for switch in &mut fabric.switches {
            switch.engine.timeouts = [PATIENT_UNITS; 4];
        }
        let kinds = fabric.endpoints.iter();
        let kinds = kinds.map(|card| card.kind.unwrap_or(engine.into()));
        let kinds = kinds.collect();
        let has_switches = !fabric.switches.is_empty();
        let mut simulator = simulator(fabric, engine, seed)?;
        let control = has_switches.then(|| simulator.manager()).transpose();
        let control = control.with_context(|| path.display().to_string())?;
        Ok(Self {
            cluster: cluster(engine, simulator, seed)?,
            control: control.map(|control| Arc::new(Mutex::new(control))),
            kinds,
        })
    }

    /// Answers processes that ask for trees, in the folder of the cards' sockets; nothing without switches.
    pub fn serve_trees(&self, folder: &Path) -> Result<Option<TreeServer>> {
        let served = self.control.as_ref().map(|control| {
            let trees = ClusterTrees::shared(&self.cluster, control, 0);
            serve_trees(trees, &folder.join(TREES_SOCKET))
        });
        Ok(served.transpose()?)
    }
}

/// A fabric with switches of the kind that is asked for, where it does not say it itself.
pub fn simulator(fabric: Fabric, engine: Engine, seed: u64) -> Result<Simulator> {
    let options = Options {
        kind: engine.into(),
        ..Options::default()
    };
    Simulator::build(fabric, seed, options)
}

/// Cards at the endpoints of a fabric, of the kind that is asked for, where the fabric does not say it.
pub fn cluster(engine: Engine, simulator: Simulator, seed: u64) -> Result<Cluster> {
    let model = ModelConfig::default();
    let mut library = None;
    let mut cards: Vec<Box<dyn Node>> = Vec::new();
    for (host, endpoint) in (0u64..).zip(&simulator.fabric().endpoints) {
        cards.push(match endpoint.kind.unwrap_or(engine.into()) {
            Kind::Model => Box::new(CardModel::new(model)?),
            Kind::Rtl => {
                let root = Config {
                    seed: seed.wrapping_add(host),
                    large: true,
                    ..Config::default()
                };
                if library.is_none() {
                    library = Some(CardSizes::bulk().build(false)?);
                }
                let library = library.as_ref().context("it was just built")?;
                Box::new(RtlNode::new(library, root)?)
            }
        });
    }
    Cluster::new(simulator, cards, 1 << model.vectors_log, SLOT_NS)
}

/// The error of a call that makes no sense: exit code 2.
pub fn usage(message: impl std::fmt::Display) -> Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n")).into()
}
