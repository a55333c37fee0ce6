//! Cards at the endpoints of a fabric: hosts, cards, switches and cables together (CL-2).
//!
//! A clock of the fabric is [`CLOCK_NS`] here, that of the card's RTL. Each endpoint has one card, a model or RTL; the machines of
//! reductions that the simulator gives an endpoint share its port with the card. Two cards may be joined by one cable without a
//! switch.
//!
//! ```
//! use tributary_protocol::card::model::ModelConfig;
//! use tributary_sim::card::Cluster;
//! use tributary_sim::fabric::{Simulator, file};
//!
//! let text = r#"
//! [[endpoint]]
//! name = "a"
//! [[endpoint]]
//! name = "b"
//! [[cable]]
//! ends = ["a", "b"]
//! "#;
//! let fabric = file::parse(text, "pair.toml")?;
//! let cluster = Cluster::of_models(Simulator::new(fabric, 1)?, ModelConfig::default(), 104)?;
//! assert_eq!(cluster.devices().len(), 2);
//! # Ok::<(), anyhow::Error>(())
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use tributary_fabric::control::Control;
use tributary_protocol::card::model::{CardModel, ModelConfig};

use super::world::{Place, World};
use super::{CLOCK_NS, Node, SimDevice};
use crate::fabric::{Fabric, Simulator};

/// Usual step of time of cards that are joined: 13 clocks.
pub const SLOT_NS: u64 = 13 * CLOCK_NS;

/// Cards of a fabric.
#[derive(Clone)]
pub struct Cluster {
    world: Arc<Mutex<World>>,
    devices: Vec<SimDevice>,
    nodes: Vec<u32>,
}

impl Cluster {
    /// Puts a card at every endpoint, in their order. Time goes on in steps of `slot_ns`, a multiple of [`CLOCK_NS`]; `vectors` is
    /// the number of interrupt vectors of each card.
    ///
    /// # Errors
    /// Not one card for each endpoint, a node number that a card cannot have, or such a step.
    pub fn new(
        simulator: Simulator,
        cards: Vec<Box<dyn Node>>,
        vectors: usize,
        slot_ns: u64,
    ) -> Result<Self> {
        let endpoints = &simulator.fabric().endpoints;
        ensure!(
            cards.len() == endpoints.len() && !cards.is_empty(),
            "{} cards for {} endpoints",
            cards.len(),
            endpoints.len()
        );
        ensure!(
            slot_ns > 0 && slot_ns.is_multiple_of(CLOCK_NS),
            "steps of {slot_ns} ns; they must be a multiple of {CLOCK_NS}"
        );
        let nodes: Vec<u32> = endpoints.iter().map(|endpoint| endpoint.node).collect();
        let places = cards
            .into_iter()
            .map(|node| Place::new(node, vectors, Vec::new()));
        let world = Arc::new(Mutex::new(World {
            active: 0,
            places: places.collect(),
            captured: None,
            slot: 0,
            slot_ns,
            line_gbps: None,
            fabric: Some(simulator),
            broken: None,
            held: None,
        }));
        let device = |at| SimDevice::new(Arc::clone(&world), at, vectors);
        Ok(Self {
            devices: (0..nodes.len()).map(device).collect(),
            world,
            nodes,
        })
    }

    /// The same with models.
    ///
    /// # Errors
    /// As [`Cluster::new`], or a size out of its range.
    pub fn of_models(simulator: Simulator, card: ModelConfig, slot_ns: u64) -> Result<Self> {
        let cards = (0..simulator.fabric().endpoints.len()).map(|_| {
            let card = CardModel::new(card)?;
            Ok(Box::new(card) as Box<dyn Node>)
        });
        let cards = cards.collect::<Result<_>>()?;
        Self::new(simulator, cards, 1 << card.vectors_log, slot_ns)
    }

    /// The same, and a manager that has programmed the switches: model cards and switches of a fabric, ready for traffic.
    ///
    /// # Errors
    /// A fabric that cannot be, or that the manager cannot program.
    pub fn managed(fabric: Fabric, seed: u64) -> Result<(Self, Arc<Mutex<Control>>)> {
        let mut simulator = Simulator::new(fabric, seed)?;
        let control = simulator.manager()?;
        let cluster = Self::of_models(simulator, ModelConfig::default(), SLOT_NS)?;
        Ok((cluster, Arc::new(Mutex::new(control))))
    }

    /// The cards, by endpoint.
    #[must_use]
    pub fn devices(&self) -> &[SimDevice] {
        &self.devices
    }

    /// Their node numbers, for the driver.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Lets `round` do what all hosts do in the same moment, again and again until it says that they are done, with one step of time
    /// behind each; more pass while one of them waits for its card. Otherwise a step passes whenever one of them finds nothing to
    /// do, and each looks once while all others wait.
    ///
    /// # Errors
    /// Those of `round`.
    pub fn rounds<E>(&self, mut round: impl FnMut() -> Result<bool, E>) -> Result<(), E> {
        let world = || self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let mut again = || {
            world().held = Some(0);
            round()
        };
        let mut ended = again();
        while matches!(ended, Ok(false)) {
            world().step();
            ended = again();
        }
        world().held = None;
        ended.map(drop)
    }

    /// Does something with the fabric between two steps: a fault, a look at it, a manager's work. If it lets the fabric run on, the cards'
    /// time follows.
    pub fn with<T>(&self, act: impl FnOnce(&mut Simulator) -> T) -> Option<T> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let fabric = world.fabric.as_mut()?;
        let done = act(fabric);
        let now = fabric.now() * CLOCK_NS;
        world.slot = world.slot.max(now.div_ceil(world.slot_ns));
        Some(done)
    }
}
