//! What a fabric is made of.

use std::fmt;

use serde::{Deserialize, Serialize};
use tributary_protocol::red::{Address, EngineConfig, Tree, regs};

use super::timing::{GAP_BYTES, WORD_BYTES, words};

/// Nodes from here on are switches: the ports' addresses begin here.
pub const SWITCH_NODES: u32 = 1 << 19;

/// The highest threshold of a switch for marks: its register has no more bits.
pub const ECN_WORDS_MAX: u16 = regs::ECN_THRESHOLD.mask() as u16;

/// What stands for a switch or a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The executable model.
    #[default]
    Model,
    /// The Verilog in Verilator.
    Rtl,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::Rtl => "rtl",
        })
    }
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Its name, different from every other.
    pub name: String,
    /// Ports, 1 to 64.
    pub ports: u8,
    /// Bit p: port p may stay without a cable.
    pub spare: u64,
    /// Its engines see frames; without, it only forwards.
    pub engines: bool,
    /// Settings of the engines; the addresses are the fabric's.
    pub engine: EngineConfig,
    /// Words of a queue above which frames that leave it are marked (CL-4), at most 1,023; 0: none are.
    pub ecn_words: u16,
    /// What it is, whatever the others are.
    pub kind: Option<Kind>,
}

impl SwitchSpec {
    /// A switch with engines as they are after reset.
    #[must_use]
    pub fn new(name: impl Into<String>, ports: u8) -> Self {
        Self {
            name: name.into(),
            ports,
            spare: 0,
            engines: true,
            engine: EngineConfig::default(),
            ecn_words: 0,
            kind: None,
        }
    }
}

/// An endpoint: a node with one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSpec {
    /// Its name, different from every other.
    pub name: String,
    /// Its node number, below 2^19 and different from every other.
    pub node: u32,
    /// What its card is, if it has one, whatever the others are.
    pub kind: Option<Kind>,
}

impl EndpointSpec {
    /// Its address: endpoint 0 of its node.
    #[must_use]
    pub const fn address(&self) -> Address {
        Address::unicast(self.node, 0)
    }
}

/// How a cable treats frames, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// From a word out to the same word in, clocks; at least 1. Holds everything between two datapaths: MACs, PHYs, cable.
    pub latency_clocks: u64,
    /// Clocks of a word, at least 1: 1 is the full rate.
    pub clocks_per_word: u64,
    /// Longest further delay of a frame, clocks: how far frames overtake each other.
    pub reorder_clocks: u64,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame that is not lost arrives twice.
    pub duplication: f64,
    /// Probability that a frame that is not lost arrives damaged, with a wrong frame check sequence.
    pub corruption: f64,
}

impl Default for LinkSpec {
    /// 64 clocks, 410 ns at 10 Gb/s: MAC and 10GBASE-R PHY on both sides and a few metres; no faults.
    fn default() -> Self {
        Self {
            latency_clocks: 64,
            clocks_per_word: 1,
            reorder_clocks: 0,
            loss: 0.0,
            duplication: 0.0,
            corruption: 0.0,
        }
    }
}

impl LinkSpec {
    /// Clocks from the first to the last word of a frame.
    #[must_use]
    pub const fn spread(&self, bytes: usize) -> u64 {
        words(bytes).saturating_sub(1) * self.clocks_per_word
    }

    /// Clocks from the first word of a frame to the first word of the next.
    #[must_use]
    pub const fn occupancy(&self, bytes: usize) -> u64 {
        (bytes as u64 + GAP_BYTES).div_ceil(WORD_BYTES) * self.clocks_per_word
    }
}

/// Where a cable can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Port of a switch.
    Switch(usize, u8),
    /// The one port of an endpoint.
    Endpoint(usize),
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// What it connects.
    pub ends: [Place; 2],
    /// How it treats frames.
    pub link: LinkSpec,
}

/// A multicast tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    /// Its number, below 8,192; trees without a common switch may have the same.
    pub id: u16,
    /// Endpoint that arms it.
    pub root: usize,
    /// The root contributes too, up its own port: that port is parent and child of its switch, which waits for the root as well
    /// (CL-6). Otherwise it adds its value to the others' itself.
    pub root_contributes: bool,
    /// Endpoints that contribute, without the root.
    pub members: Vec<usize>,
    /// Entries of the switches, by switch; empty: derive them.
    pub entries: Vec<(usize, Tree)>,
}

/// A fabric: everything by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fabric {
    /// Switches.
    pub switches: Vec<SwitchSpec>,
    /// Endpoints.
    pub endpoints: Vec<EndpointSpec>,
    /// Cables.
    pub cables: Vec<Cable>,
    /// Trees.
    pub trees: Vec<TreeSpec>,
}

impl Fabric {
    /// Source address of the results of a switch's port.
    #[must_use]
    pub fn port_address(switch: usize, port: u8) -> Address {
        let node = u32::try_from(switch).unwrap_or(u32::MAX);
        Address::unicast(SWITCH_NODES.saturating_add(node), port.into())
    }

    /// Name of a switch or endpoint; of a port of a switch with the port behind a dot.
    #[must_use]
    pub fn name(&self, place: Place) -> String {
        match place {
            Place::Switch(s, port) => match self.switches.get(s) {
                Some(switch) => format!("{}.{port}", switch.name),
                None => format!("switch {s}.{port}"),
            },
            Place::Endpoint(e) => match self.endpoints.get(e) {
                Some(endpoint) => endpoint.name.clone(),
                None => format!("endpoint {e}"),
            },
        }
    }

    /// The endpoint that has this address.
    #[must_use]
    pub fn endpoint_at(&self, address: Address) -> Option<usize> {
        self.endpoints.iter().position(|e| e.address() == address)
    }

    /// Changes every cable.
    #[must_use]
    pub fn with_links(mut self, link: LinkSpec) -> Self {
        for cable in &mut self.cables {
            cable.link = link;
        }
        self
    }
}
