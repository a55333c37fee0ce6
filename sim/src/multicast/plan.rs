//! What is to be run.

use thiserror::Error;
use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::{GroupConfig, GroupError};

use super::Time;

/// Groups of a card unless told.
const CARD_GROUPS: usize = 16;

/// A group and its messages.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// The node of each rank; rank 0 is the root.
    pub nodes: Vec<u32>,
    /// What every member makes the group with.
    pub config: GroupConfig,
    /// Messages of the root: when it begins them, and their bytes.
    pub messages: Vec<(Time, u64)>,
    /// The root closes the group behind the last message.
    pub close: bool,
}

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A node dies.
    Kill {
        /// The node.
        node: u32,
        /// When.
        at: Time,
    },
    /// A node does nothing for a while: its port stands still, and so does its host. Nobody takes it for dead.
    Pause {
        /// The node.
        node: u32,
        /// From when on.
        at: Time,
        /// How long.
        time: Time,
    },
    /// The host of a node stands still for a while; its card goes on.
    PauseHost {
        /// The node.
        node: u32,
        /// From when on.
        at: Time,
        /// How long.
        time: Time,
    },
    /// A link between two nodes is slow, in both directions.
    SlowLink {
        /// One end.
        a: u32,
        /// The other.
        b: u32,
        /// Share of the rate of a port.
        rate: f64,
    },
    /// A node's port is slow.
    SlowPort {
        /// The node.
        node: u32,
        /// Share of the rate of the others.
        rate: f64,
    },
}

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes, each with a port.
    pub nodes: u32,
    /// Rate of a port, as time for a byte.
    pub byte_time: Time,
    /// One way.
    pub latency: Time,
    /// What a host's software takes for each block that it receives, for each that it sends, and for each work request
    /// and completion of an offloaded message.
    pub host_time: Time,
    /// Groups that a card has places for.
    pub card_groups: usize,
    /// From a death, or from the moment since when a member watches the dead one, until it knows.
    pub detection: Time,
    /// Groups. Several may use a node.
    pub groups: Vec<GroupPlan>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Keep a record of each block's way.
    pub record: bool,
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanError {
    /// The group cannot be, or a message of it.
    #[error("group {group}: {error}")]
    Group {
        /// Which.
        group: usize,
        /// Why.
        error: GroupError,
    },
    /// The simulated cards make their schedules themselves.
    #[error("group {group}: {algorithm} cannot be offloaded; binomial-pipeline can")]
    Offload {
        /// Which.
        group: usize,
        /// Shape of its schedules.
        algorithm: Algorithm,
    },
    /// The list of nodes does not fit the configuration.
    #[error("group {group}: {members} members, but {nodes} nodes are named")]
    Members {
        /// Which.
        group: usize,
        /// Members by its configuration.
        members: u32,
        /// Nodes that are named.
        nodes: usize,
    },
    /// A node's card has no place for another group.
    #[error("node {node} is in {groups} offloaded groups; its card has places for {most}")]
    Card {
        /// The node.
        node: u32,
        /// Its offloaded groups.
        groups: usize,
        /// Places.
        most: usize,
    },
    /// A node is a member twice.
    #[error("group {group}: node {node} is a member twice, as rank {first} and rank {second}")]
    Twice {
        /// Which.
        group: usize,
        /// The node.
        node: u32,
        /// A rank.
        first: usize,
        /// Another.
        second: usize,
    },
    /// There is no such node.
    #[error("node {node}: there are nodes 0 to {}", nodes.saturating_sub(1))]
    Node {
        /// The node.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// A rate that is none.
    #[error("a rate of {0}: a share of the ports' rate is above 0 and at most 1")]
    Rate(f64),
    /// Bytes take no time.
    #[error("a byte that takes no time: a port has a rate")]
    ByteTime,
}

impl GroupPlan {
    /// One message on nodes 0, 1, ..; the root closes behind it. Hosts carry out the schedule.
    #[must_use]
    pub fn one(config: GroupConfig, length: u64) -> Self {
        Self {
            nodes: (0..config.members).collect(),
            config,
            messages: vec![(0, length)],
            close: true,
        }
    }
}

impl Plan {
    /// So many nodes at `byte_time` a byte, without latency, groups and faults.
    #[must_use]
    pub fn new(nodes: u32, byte_time: Time) -> Self {
        Self {
            nodes,
            byte_time,
            latency: 0,
            host_time: 0,
            card_groups: CARD_GROUPS,
            detection: 0,
            groups: Vec::new(),
            faults: Vec::new(),
            record: false,
        }
    }

    /// Checks it.
    ///
    /// # Errors
    /// What cannot be.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.byte_time == 0 {
            return Err(PlanError::ByteTime);
        }
        for (group, plan) in self.groups.iter().enumerate() {
            self.check_group(group, plan)?;
        }
        self.check_cards()?;
        for fault in &self.faults {
            match *fault {
                Fault::Kill { node, .. }
                | Fault::Pause { node, .. }
                | Fault::PauseHost { node, .. } => self.check_node(node)?,
                Fault::SlowPort { node, rate } => {
                    self.check_node(node)?;
                    check_rate(rate)?;
                }
                Fault::SlowLink { a, b, rate } => {
                    self.check_node(a)?;
                    self.check_node(b)?;
                    check_rate(rate)?;
                }
            }
        }
        Ok(())
    }

    fn check_group(&self, group: usize, plan: &GroupPlan) -> Result<(), PlanError> {
        let error = |error| PlanError::Group { group, error };
        plan.config.check().map_err(error)?;
        let algorithm = plan.config.algorithm;
        if plan.config.offload && algorithm != Algorithm::BinomialPipeline {
            return Err(PlanError::Offload { group, algorithm });
        }
        let (members, nodes) = (plan.config.members, plan.nodes.len());
        if members as usize != nodes {
            return Err(PlanError::Members {
                group,
                members,
                nodes,
            });
        }
        let mut seen = std::collections::HashMap::new();
        for (second, &node) in plan.nodes.iter().enumerate() {
            self.check_node(node)?;
            if let Some(first) = seen.insert(node, second) {
                return Err(PlanError::Twice {
                    group,
                    node,
                    first,
                    second,
                });
            }
        }
        for &(_, length) in &plan.messages {
            plan.config.blocks(length).map_err(error)?;
        }
        Ok(())
    }

    fn check_cards(&self) -> Result<(), PlanError> {
        let mut groups = vec![0; self.nodes as usize];
        for plan in self.groups.iter().filter(|plan| plan.config.offload) {
            for &node in &plan.nodes {
                groups[node as usize] += 1;
            }
        }
        let most = self.card_groups;
        match groups.iter().position(|&groups| groups > most) {
            None => Ok(()),
            Some(node) => Err(PlanError::Card {
                node: node as u32,
                groups: groups[node],
                most,
            }),
        }
    }

    fn check_node(&self, node: u32) -> Result<(), PlanError> {
        let nodes = self.nodes;
        match node < nodes {
            true => Ok(()),
            false => Err(PlanError::Node { node, nodes }),
        }
    }
}

fn check_rate(rate: f64) -> Result<(), PlanError> {
    match rate > 0.0 && rate <= 1.0 {
        true => Ok(()),
        false => Err(PlanError::Rate(rate)),
    }
}
