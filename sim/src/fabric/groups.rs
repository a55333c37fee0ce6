//! Groups of endpoints that reduce together.

use std::sync::Arc;

use tributary_protocol::red::{
    Key,
    host::{Doubling, Event, Group, Leaf, LeafConfig, Outcome, Root, RootConfig},
};

use super::endpoint::{Logged, Role, RootCard};
use super::simulator::{SimulationError, Simulator};

/// What distinguishes a group from others on the same tree, and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Reduction id, 0 to 7.
    pub reduction: u8,
    /// Job.
    pub vni: u16,
    /// Group.
    pub cookie: u32,
    /// Settings of the root. Whether it contributes up its own port the tree says.
    pub root: RootConfig,
    /// The root of a tree that lets it contribute has a card that answers results itself (CL-6). Otherwise its host does.
    pub root_has_card: bool,
    /// Settings of the leaves.
    pub leaf: LeafConfig,
    /// Sequence number of the first attempt.
    pub first_seqno: u16,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            reduction: 0,
            vni: 1,
            cookie: 0x7472_6962,
            root: RootConfig::default(),
            root_has_card: true,
            leaf: LeafConfig::default(),
            first_seqno: 0,
        }
    }
}

/// A group, and the endpoints in it: the root, then the leaves in its order.
#[derive(Clone, Debug)]
pub(super) struct Members {
    pub group: Arc<Group>,
    pub endpoints: Vec<usize>,
}

impl Simulator {
    /// Lets the endpoints of a tree reduce together through its engines. Returns the number of the group.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn add_group(
        &mut self,
        tree: usize,
        config: &GroupConfig,
    ) -> Result<usize, SimulationError> {
        let unknown = SimulationError::Unknown {
            what: "tree",
            index: tree,
        };
        let spec = self.fabric().trees.get(tree).ok_or(unknown)?.clone();
        let endpoints: Vec<usize> = [spec.root].into_iter().chain(spec.members).collect();
        let key = Key {
            tree: spec.id,
            reduction: config.reduction,
        };
        let (number, group) = self.members(key, config, endpoints.clone());
        let now = self.now();
        let contributes = spec.root_contributes;
        let settings = RootConfig {
            contributes,
            ..config.root
        };
        let root = Root::new(group.clone(), settings, now);
        let has_card = contributes && config.root_has_card;
        let card = has_card.then(|| RootCard::new(group.clone()));
        self.add_role(spec.root, number, Role::Root(Box::new(root)), card)?;
        for (&endpoint, &address) in endpoints.iter().skip(1).zip(&group.leaves) {
            let leaf = Leaf::new(group.clone(), address, config.leaf);
            self.add_role(endpoint, number, Role::Leaf(leaf), None)?;
        }
        Ok(number)
    }

    /// Lets endpoints reduce by recursive doubling, ranks in the order given. Returns the number of the group.
    ///
    /// # Errors
    /// There is no such endpoint.
    pub fn add_doubling(
        &mut self,
        endpoints: &[usize],
        config: &GroupConfig,
    ) -> Result<usize, SimulationError> {
        let known = self.fabric().endpoints.len();
        if let Some(&index) = endpoints.iter().find(|e| **e >= known) {
            return Err(SimulationError::Unknown {
                what: "endpoint",
                index,
            });
        }
        let key = Key {
            tree: 0,
            reduction: config.reduction,
        };
        let (number, group) = self.members(key, config, endpoints.to_vec());
        for (rank, &endpoint) in (0u32..).zip(endpoints) {
            let machine =
                Doubling::new(group.clone(), rank).map_err(|_| SimulationError::Unknown {
                    what: "endpoint",
                    index: endpoint,
                })?;
            self.add_role(endpoint, number, Role::Doubling(machine), None)?;
        }
        Ok(number)
    }

    fn members(
        &mut self,
        key: Key,
        config: &GroupConfig,
        endpoints: Vec<usize>,
    ) -> (usize, Arc<Group>) {
        let address = |e: &usize| self.fabric().endpoints[*e].address();
        let mut addresses = endpoints.iter().map(address);
        let root = addresses.next().unwrap_or_default();
        let group = Group::new(key, config.vni, config.cookie, root, addresses.collect());
        let group = Arc::new(Group {
            first_seqno: config.first_seqno,
            ..group
        });
        self.groups.push(Members {
            group: group.clone(),
            endpoints,
        });
        (self.groups.len() - 1, group)
    }

    /// A group.
    #[must_use]
    pub fn group(&self, number: usize) -> Option<&Arc<Group>> {
        self.groups.get(number).map(|m| &m.group)
    }

    /// The endpoints of a group: the root, then the leaves in its order.
    #[must_use]
    pub fn group_endpoints(&self, number: usize) -> &[usize] {
        self.groups.get(number).map_or(&[], |m| &m.endpoints)
    }

    /// What an endpoint has reported of a group.
    pub fn reported(&self, group: usize, endpoint: usize) -> impl Iterator<Item = &Logged> {
        let log = self.endpoints().get(endpoint).map_or(&[][..], |e| e.log());
        log.iter().filter(move |logged| logged.group == group)
    }

    /// The result of a round as an endpoint has it, and when it had it.
    #[must_use]
    pub fn outcome(&self, group: usize, endpoint: usize, round: u64) -> Option<(u64, Outcome)> {
        self.reported(group, endpoint)
            .find_map(|logged| match &logged.event {
                Event::Done(outcome) if outcome.round == round => Some((logged.clock, *outcome)),
                _ => None,
            })
    }

    /// Whether a round is over for an endpoint: with a result, or left out of it.
    #[must_use]
    pub fn is_over(&self, group: usize, endpoint: usize, round: u64) -> bool {
        self.reported(group, endpoint)
            .any(|logged| match &logged.event {
                Event::Done(outcome) => outcome.round == round,
                Event::LeftOut(rounds) => rounds.contains(&round),
                _ => false,
            })
    }
}
