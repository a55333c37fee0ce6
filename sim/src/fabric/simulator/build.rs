//! A simulator from a fabric: nodes made, tables filled.

use std::collections::BinaryHeap;
use std::sync::Arc;

use anyhow::{Context, Result};
use tributary_protocol::red::wire::FRAME_LEN;

use super::{Simulator, event::Node};
use crate::fabric::cable::Wire;
use crate::fabric::check::Cabling;
use crate::fabric::describe::{Fabric, Kind, LinkSpec, Place, SwitchSpec};
use crate::fabric::endpoint::Endpoint;
use crate::fabric::model::ModelSwitch;
use crate::fabric::node::{ActsOn, SwitchNode};
use crate::fabric::ranks::{Carrier, Ranks};
use crate::fabric::rtl::{Libraries, RtlSwitch};
use crate::fabric::timing::words;
use crate::fabric::{routes, tree};
use crate::testbench::{Profile, Stalls};

/// What switches are, and what else takes part in the simulation.
pub struct Options {
    /// Switches of which the fabric does not say what they are.
    pub kind: Kind,
    /// Verilated switches can record waveforms.
    pub trace: bool,
    /// How the MACs of Verilated switches stall, those of each on their own.
    pub profile: Profile,
    /// The way to the other ranks, if there are some.
    pub carrier: Option<Box<dyn Carrier>>,
}

impl Default for Options {
    /// Models, on one rank.
    fn default() -> Self {
        Self {
            kind: Kind::Model,
            trace: false,
            profile: Profile::Free,
            carrier: None,
        }
    }
}

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
    /// A fabric of models where it does not say otherwise, tables filled, at clock 0. Every random choice comes from `seed`.
    ///
    /// # Errors
    /// The fabric cannot be; where it has Verilated switches, as for [`Self::of_rtl`].
    pub fn new(fabric: impl Into<Arc<Fabric>>, seed: u64) -> Result<Self> {
        Self::build(fabric, seed, Options::default())
    }

    /// A fabric of RTL switches where it does not say otherwise; with `trace`, they can record waveforms. Each size is compiled once.
    ///
    /// # Errors
    /// The fabric cannot be, or the RTL does not have it; Verilator is not there.
    pub fn of_rtl(fabric: impl Into<Arc<Fabric>>, seed: u64, trace: bool) -> Result<Self> {
        let kind = Kind::Rtl;
        let options = Options {
            kind,
            trace,
            ..Options::default()
        };
        Self::build(fabric, seed, options)
    }

    /// A fabric in every detail, tables filled, at clock 0.
    ///
    /// # Errors
    /// As for [`Self::of_rtl`]; or there are more ranks than switches, or one of them simulates something else.
    pub fn build(fabric: impl Into<Arc<Fabric>>, seed: u64, options: Options) -> Result<Self> {
        let fabric = fabric.into();
        let Options {
            kind,
            trace,
            profile,
            carrier,
        } = options;
        let kind_of = move |spec: &SwitchSpec| spec.kind.unwrap_or(kind);
        let simulated = format!("{fabric:?} {seed} {kind:?} {profile:?}");
        let acts_on = |spec: &SwitchSpec| match kind_of(spec) {
            Kind::Model => ActsOn::LastWord,
            Kind::Rtl => ActsOn::FirstWord,
        };
        let acts_on = fabric.switches.iter().map(acts_on).collect();
        let mut libraries = Libraries::default();
        let mut simulator = Self::assemble(fabric, seed, carrier, |index, spec, bits| {
            Ok(match kind_of(spec) {
                Kind::Model => {
                    Box::new(ModelSwitch::new(index, spec, bits.unicast, bits.multicast)?)
                }
                Kind::Rtl => {
                    let stalls = Stalls::new(profile, seed, spec.ports.into()).stream(index as u64);
                    let library = libraries.of(spec, bits, trace)?;
                    Box::new(RtlSwitch::new(library, index, spec, bits)?.stalled(stalls))
                }
            })
        })?;
        simulator.see_how_far(acts_on);
        simulator.fill()?;
        simulator.ranks.agree_on(&simulated)?;
        Ok(simulator)
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
        simulator.fill()?;
        Ok(simulator)
    }

    /// The same with empty unicast tables, for a manager to write.
    ///
    /// # Errors
    /// As [`Self::with_switches`].
    pub fn unrouted(
        fabric: impl Into<Arc<Fabric>>,
        seed: u64,
        make: impl FnMut(usize, &SwitchSpec, TableBits) -> Result<Box<dyn SwitchNode>>,
    ) -> Result<Self> {
        let mut simulator = Self::assemble(fabric.into(), seed, None, make)?;
        let acts_on = simulator.switches.iter().flatten();
        let acts_on = acts_on.map(|switch| switch.acts_on()).collect();
        simulator.see_how_far(acts_on);
        Ok(simulator)
    }

    /// Nodes of this rank, trees in the tables of switches; no unicast entries, and no lookahead yet.
    fn assemble(
        fabric: Arc<Fabric>,
        seed: u64,
        carrier: Option<Box<dyn Carrier>>,
        mut make: impl FnMut(usize, &SwitchSpec, TableBits) -> Result<Box<dyn SwitchNode>>,
    ) -> Result<Self> {
        let cabling = Cabling::new(&fabric)?;
        let trees = tree::all(&fabric, &cabling)?;
        let bits = TableBits::of(&fabric);
        let ranks = Ranks::new(&fabric, carrier)?;
        let mut switches = Vec::new();
        for (index, spec) in fabric.switches.iter().enumerate() {
            if !ranks.is_own(index) {
                switches.push(None);
                continue;
            }
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
            switches.push(Some(node));
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
        Ok(Self {
            wakes: vec![None; switches.len() + endpoints.len()],
            told: vec![0; endpoints.len()],
            fabric,
            cabling,
            trees,
            switches,
            endpoints,
            down: vec![false; wires.len()],
            wires,
            acts_on: Vec::new(),
            events: BinaryHeap::new(),
            now: 0,
            window_end: 0,
            lookahead: 1,
            ranks,
            frames: 0,
            tamper: None,
            log: None,
            groups: Vec::new(),
        })
    }

    /// Sets the length of a window from when each switch wants its frames.
    fn see_how_far(&mut self, acts_on: Vec<ActsOn>) {
        // RTL hands a frame on when its last word has left, the others when its first word leaves.
        let ahead = |from: Place, link: &LinkSpec| match from {
            Place::Switch(s, _) if acts_on[s] == ActsOn::FirstWord => {
                let behind = (words(FRAME_LEN) - 1) * link.clocks_per_word;
                link.latency_clocks.saturating_sub(behind)
            }
            _ => link.latency_clocks,
        };
        let cables = self.fabric.cables.iter();
        let least = cables.flat_map(|cable| cable.ends.map(|from| ahead(from, &cable.link)));
        self.lookahead = least.min().unwrap_or(1).max(1);
        self.acts_on = acts_on;
        for switch in 0..self.switches.len() {
            self.rouse(Node::Switch(switch));
        }
    }

    /// Writes the shortest ways into the unicast tables.
    fn fill(&mut self) -> Result<()> {
        let (fabric, cabling) = (&self.fabric, &self.cabling);
        let levels = routes::levels(cabling, fabric.switches.len());
        for (e, endpoint) in fabric.endpoints.iter().enumerate() {
            let ports = routes::towards(fabric, cabling, &levels, e);
            for (switch, port) in self.switches.iter_mut().zip(ports) {
                if let (Some(switch), Some(port)) = (switch, port) {
                    switch.set_unicast(endpoint.node, port)?;
                }
            }
        }
        Ok(())
    }
}
