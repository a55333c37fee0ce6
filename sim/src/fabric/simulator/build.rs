//! A simulator from a fabric: nodes made, tables filled.

use std::collections::BinaryHeap;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::{Simulator, event::Node};
use crate::fabric::cable::Wire;
use crate::fabric::check::Cabling;
use crate::fabric::describe::{Fabric, Place, SwitchSpec};
use crate::fabric::endpoint::Endpoint;
use crate::fabric::model::ModelSwitch;
use crate::fabric::node::SwitchNode;
use crate::fabric::{routes, tree};

/// log2 of the entries of a switch's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBits {
    /// Unicast.
    pub unicast: u8,
    /// Multicast.
    pub multicast: u8,
}

impl TableBits {
    fn of(fabric: &Fabric) -> Self {
        let bits =
            |largest: Option<u32>| largest.map_or(0, |n| (u32::BITS - n.leading_zeros()) as u8);
        Self {
            unicast: bits(fabric.endpoints.iter().map(|e| e.node).max()),
            // Room for trees that are added later.
            multicast: bits(fabric.trees.iter().map(|t| t.id.into()).max()).max(6),
        }
    }
}

impl Simulator {
    /// A fabric of models, tables filled, at clock 0. Every random choice comes from `seed`.
    ///
    /// # Errors
    /// The fabric cannot be.
    pub fn new(fabric: impl Into<Arc<Fabric>>, seed: u64) -> Result<Self> {
        Self::with_switches(fabric, seed, |index, spec, bits| {
            Ok(Box::new(ModelSwitch::new(
                index,
                spec,
                bits.unicast,
                bits.multicast,
            )?))
        })
    }

    /// A fabric with switches of any kind.
    ///
    /// # Errors
    /// The fabric cannot be, or a switch cannot be made.
    pub fn with_switches(
        fabric: impl Into<Arc<Fabric>>,
        seed: u64,
        make: impl FnMut(usize, &SwitchSpec, TableBits) -> Result<Box<dyn SwitchNode>>,
    ) -> Result<Self> {
        let mut simulator = Self::unrouted(fabric, seed, make)?;
        let (fabric, cabling) = (&simulator.fabric, &simulator.cabling);
        let levels = routes::levels(cabling, fabric.switches.len());
        for (e, endpoint) in fabric.endpoints.iter().enumerate() {
            let ports = routes::towards(fabric, cabling, &levels, e);
            for (switch, port) in simulator.switches.iter_mut().zip(ports) {
                if let Some(port) = port {
                    switch.set_unicast(endpoint.node, port)?;
                }
            }
        }
        for switch in 0..simulator.switches.len() {
            simulator.rouse(Node::Switch(switch));
        }
        Ok(simulator)
    }

    /// The same with empty unicast tables, for a manager to write.
    ///
    /// # Errors
    /// As [`Self::with_switches`].
    pub fn unrouted(
        fabric: impl Into<Arc<Fabric>>,
        seed: u64,
        mut make: impl FnMut(usize, &SwitchSpec, TableBits) -> Result<Box<dyn SwitchNode>>,
    ) -> Result<Self> {
        let fabric = fabric.into();
        let cabling = Cabling::new(&fabric)?;
        let trees = tree::all(&fabric, &cabling)?;
        let bits = TableBits::of(&fabric);
        let mut switches = Vec::new();
        for (index, spec) in fabric.switches.iter().enumerate() {
            let mut node = make(index, spec, bits).with_context(|| spec.name.clone())?;
            for port in 0..spec.ports {
                if let Some(cable) = cabling.at(Place::Switch(index, port)) {
                    node.connect(port, fabric.cables[cable].link)
                        .with_context(|| spec.name.clone())?;
                }
            }
            for (entries, tree) in trees.iter().zip(&fabric.trees) {
                if let Some(entry) = entries.get(&index) {
                    node.set_multicast(tree.id, Some(*entry))?;
                }
            }
            switches.push(node);
        }
        let link = |e| {
            cabling
                .at(Place::Endpoint(e))
                .map(|c| fabric.cables[c].link)
                .unwrap_or_default()
        };
        let endpoints: Vec<Endpoint> = (0..fabric.endpoints.len())
            .map(|e| Endpoint::new(link(e)))
            .collect();
        let wires: Vec<_> = (0u64..)
            .zip(&fabric.cables)
            .map(|(i, c)| [2 * i, 2 * i + 1].map(|stream| Wire::new(c.link, seed, stream)))
            .collect();
        let mut simulator = Self {
            wakes: vec![None; switches.len() + endpoints.len()],
            fabric,
            cabling,
            trees,
            switches,
            endpoints,
            down: vec![false; wires.len()],
            wires,
            events: BinaryHeap::new(),
            count: 0,
            now: 0,
            frames: 0,
            tamper: None,
            log: None,
            groups: Vec::new(),
        };
        for switch in 0..simulator.switches.len() {
            simulator.rouse(Node::Switch(switch));
        }
        Ok(simulator)
    }
}
