//! Networks by formula: fat trees, tori, dragonflies and models of two machines.
//!
//! | text | network |
//! |---|---|
//! | `ft3:K` | fat tree of three levels, K ports a switch |
//! | `torus:XxYxZ,E` | torus of 1 to 6 dimensions, E endnodes a switch |
//! | `df:A,P,H` | dragonfly: A switches a group, P endnodes and H global cables a switch, A·H+1 groups |
//! | `df:A,P,H,G` | the same with G groups only |
//! | `df:A,P,H,palm`, `df:A,P,H,G,palm` | palm tree arrangement of the global cables instead of the consecutive one |
//! | `supernodes:N,D`, `supernodes:N,D,S` | N supernodes of 256 endnodes under D directors of 18 line and S spine chips (18 without S) |
//! | `bluelight` | model of Sunway BlueLight: `supernodes:34,8,16` |
//! | `taihulight` | model of Sunway TaihuLight: `supernodes:160,32,18` |
//! | `leaf-spine:L,S,E` | L leaf switches with E endnodes each, a cable from each of them to each of S spine switches |
//! | `chain:N,E` | N switches in a row, E endnodes each |
//!
//! Switches are named S0, S1, ... in table order, endnodes H0, H1, ...; endnodes come in the order of their switches and ports.
//! Ports count from 1.
//!
//! **Fat tree.** K pods of K/2 leaf and K/2 middle switches, (K/2)² top switches; table order: all leaves pod by pod, all
//! middles, all tops. Leaf: ports 1 to K/2 endnodes, then a port up to each middle switch of the pod. Middle switch m of a pod:
//! ports 1 to K/2 down, by leaf, then up to tops m·K/2 to m·K/2 + K/2-1. Top: port p + 1 goes to pod p.
//!
//! **Torus.** The first index is fastest in table order. Ports 1 and 2: next and previous switch of the first dimension, 3 and 4
//! of the second, and so on; then endnodes. A dimension of size 2 has one cable between its two switches (port "next" of the
//! first, port "previous" of the second), a dimension of size 1 has none; their other ports stay empty.
//!
//! **Dragonfly.** Ports: endnodes, then the group's other switches in order, then global cables. The global cables of a group are
//! numbered j = 0 to A·H-1, by switch, then by port. Consecutive: j leads to the j-th of the other groups in order.
//! Palm tree: cable j of group g leads to group g - 1 - j (modulo the number of groups). With fewer groups the pattern is repeated as
//! often as it fits whole, so that any two groups have equally many cables; ports left over stay empty.
//!
//! **Supernodes** (built from public figures, not from the machines' cable lists). A supernode has 16 leaf and 16 middle switches
//! of 36 ports; leaf: ports 1 to 16 endnodes, 17 to 32 up, one cable to each middle switch; middle: ports 1 to 16 down, by leaf, 17 to 20 up.
//! Up cable c = 4·middle + (port - 17) of a supernode leads to director c mod D, so that the four of a middle switch lead to
//! different directors where there are four, and a leaf has 64/D shortest paths to a spine chip. A director is a two-level tree in a
//! box: 18 line chips with 18 ports outside (1 to 18) and a cable to each of its S spine chips (ports 19 to 18+S); outer port e of a director is port e mod 18 + 1 of line chip e div 18, and the
//! supernodes take the outer ports one after the other, 64/D each: neighbours meet in a line chip. (With this and table order as below,
//! the trees of rule MC-1 for the 9,216 groups of 64x64x40 on `taihulight` have the max EFI of 2,642 that was measured.)
//! Table order: all leaves supernode by supernode, all middles, all line chips director by director, all spine chips.
//!
//! ```
//! use tributary_fabric::topology::Topology;
//!
//! let network = "ft3:4".parse::<Topology>()?.build()?;
//! assert_eq!(network.switch_count(), 20);
//! assert_eq!(network.endnodes().len(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod direct;
mod parse;
mod trees;

pub use parse::TopologyError;

use std::fmt;

use crate::network::{EndnodeId, Jack, Network, NetworkBuilder, NetworkError, Port, SwitchId};

/// A network by formula; see the module's text for the forms. It is small until it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    FatTree(u32),
    Torus(Vec<u32>, u32),
    Dragonfly(direct::Dragonfly),
    Supernodes(trees::Supernodes),
    LeafSpine(u32, u32, u32),
    Chain(u32, u32),
}

impl Topology {
    /// The network, named as the topology is written.
    ///
    /// # Errors
    /// None for a topology that was parsed: its sizes were checked then. The type is the builder's.
    pub fn build(&self) -> Result<Network, NetworkError> {
        let mut plan = Plan::new(&self.text);
        match &self.form {
            Form::FatTree(ports) => trees::fat_tree(&mut plan, *ports)?,
            Form::Torus(sizes, endnodes) => direct::torus(&mut plan, sizes, *endnodes)?,
            Form::Dragonfly(dragonfly) => dragonfly.build(&mut plan)?,
            Form::Supernodes(supernodes) => supernodes.build(&mut plan)?,
            Form::LeafSpine(leaves, spines, endnodes) => {
                trees::leaf_spine(&mut plan, *leaves, *spines, *endnodes)?;
            }
            Form::Chain(switches, endnodes) => direct::chain(&mut plan, *switches, *endnodes)?,
        }
        plan.builder.build()
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Name and GUID of a numbered switch: what the ibsim simulator gives it.
pub(crate) fn switch_name(switch: SwitchId) -> (String, u64) {
    (format!("S{switch}"), 0x2 << 48 | spread(switch))
}

/// Name and GUID of a numbered endnode.
pub(crate) fn endnode_name(endnode: EndnodeId) -> (String, u64) {
    // Two numbers each, for the node and for its port.
    (
        format!("H{endnode}"),
        0x1 << 48 | spread(endnode.wrapping_mul(2)),
    )
}

/// Bytes of the number from the top of the GUID's lower 48 bits downwards.
fn spread(number: u32) -> u64 {
    u64::from(number.swap_bytes()) << 16
}

/// A builder that numbers what it adds.
struct Plan {
    builder: NetworkBuilder,
    switches: u32,
    endnodes: u32,
}

impl Plan {
    fn new(name: &str) -> Self {
        Self {
            builder: NetworkBuilder::new(name),
            switches: 0,
            endnodes: 0,
        }
    }

    /// Adds switches; `block` says which part of the network the i-th of them belongs to.
    fn switches(
        &mut self,
        count: u32,
        ports: u32,
        block: impl Fn(u32) -> Option<u32>,
    ) -> Result<(), NetworkError> {
        for i in 0..count {
            let (name, guid) = switch_name(self.switches);
            let switch = self.builder.switch(name, guid, port(ports))?;
            if let Some(block) = block(i) {
                self.builder.block(switch, block);
            }
            self.switches += 1;
        }
        Ok(())
    }

    /// Adds endnodes, `each` to every one of the first `switches` switches, from port `first` on.
    fn endnodes(&mut self, switches: u32, each: u32, first: u32) -> Result<(), NetworkError> {
        for switch in 0..switches {
            for i in 0..each {
                let (name, guid) = endnode_name(self.endnodes);
                self.builder.endnode(name, guid, jack(switch, first + i))?;
                self.endnodes += 1;
            }
        }
        Ok(())
    }

    fn cable(&mut self, a: (u32, u32), b: (u32, u32)) -> Result<(), NetworkError> {
        self.builder
            .cable(jack(a.0, a.1), jack(b.0, b.1))
            .map(|_| ())
    }
}

/// A number that no switch has ports for is an error of the builder.
fn port(number: u32) -> Port {
    Port::try_from(number).unwrap_or(Port::MAX)
}

fn jack(switch: SwitchId, number: u32) -> Jack {
    (switch, port(number))
}
