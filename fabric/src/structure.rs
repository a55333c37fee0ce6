//! What kind of network a graph is: tiers (fat trees, supernodes under directors), a torus, a dragonfly, or none of these.
//!
//! Only cables and the number of endnodes of each switch are looked at, so that names, GUIDs, the order of a file and the numbers of
//! ports play no part. A few missing cables and switches with an odd number of endnodes do no harm. What comes out guides bounds, routers and
//! drawings; none of them is wrong where it is mistaken, only weaker.

mod dragonfly;
mod graph;
mod tiers;
mod torus;

use std::fmt;

use crate::network::Network;
use graph::Graph;

/// What kind of network it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Every cable leads one tier up or down. By switch: its tier, 0 at the endnodes.
    Tiers(Vec<u8>),
    /// A torus of these sizes, the largest first. A ring of four switches is the same graph as two by two of them, and counts as a ring.
    Torus(Vec<u32>),
    /// Groups of switches that are all wired to each other, with cables between all groups; so many groups.
    Dragonfly(u32),
    /// None of these.
    #[default]
    Irregular,
}

/// The structure of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    form: Form,
    partitions: Vec<Vec<u32>>,
    blocks: Option<Vec<u32>>,
}

impl Structure {
    /// What the cables of a network say; failed ones do not count.
    #[must_use]
    pub fn recognise(network: &Network) -> Self {
        let graph = Graph::new(network);
        let found = tiers::recognise(&graph)
            .or_else(|| torus::recognise(&graph))
            .or_else(|| dragonfly::recognise(&graph));
        found.unwrap_or_default()
    }

    /// What kind of network it is.
    #[must_use]
    pub const fn form(&self) -> &Form {
        &self.form
    }

    /// Ways to divide the switches into parts between which cables are few; each by switch, parts from 0 without gaps.
    #[must_use]
    pub fn partitions(&self) -> &[Vec<u32>] {
        &self.partitions
    }

    /// Pods, supernodes and directors, or dragonfly groups, by switch; none if there are no such.
    #[must_use]
    pub fn blocks(&self) -> Option<&[u32]> {
        self.blocks.as_deref()
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Tiers(tiers) => {
                let last = tiers.iter().max().copied().unwrap_or(0);
                write!(f, "{} tiers", u32::from(last) + 1)
            }
            Form::Torus(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                write!(f, "torus {}", sizes.join("x"))
            }
            Form::Dragonfly(groups) => write!(f, "dragonfly of {groups} groups"),
            Form::Irregular => f.write_str("irregular"),
        }
    }
}
