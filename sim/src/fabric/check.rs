//! What makes a fabric impossible, and the cabling of one that is possible.

use std::collections::BTreeSet;

use thiserror::Error;
use tributary_protocol::red::{Engine, address::TREES, switch::PORTS_MAX};

use super::describe::{ECN_WORDS_MAX, Fabric, LinkSpec, Place, SWITCH_NODES};

/// Part of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A switch.
    Switch(usize),
    /// An endpoint.
    Endpoint(usize),
    /// A cable.
    Cable(usize),
    /// A tree.
    Tree(usize),
    /// An entry of a tree: the tree, and the place in its list.
    Entry(usize, usize),
}

/// Why a fabric cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Problem {
    /// Where.
    pub item: Item,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Problem {
    pub(super) fn new(item: Item, reason: impl Into<String>) -> Self {
        Self {
            item,
            reason: reason.into(),
        }
    }
}

/// Which cable is where.
#[derive(Clone, Debug)]
pub struct Cabling {
    switches: Vec<Vec<Option<usize>>>,
    endpoints: Vec<Option<usize>>,
    ends: Vec<[Place; 2]>,
}

impl Cabling {
    /// Checks everything but the trees.
    ///
    /// # Errors
    /// The first thing that is wrong: a name or node number that is there twice, a number out of its range, a cable that
    /// ends nowhere, a port wired twice or not at all.
    pub fn new(fabric: &Fabric) -> Result<Self, Problem> {
        numbers(fabric)?;
        let mut cabling = Self {
            switches: fabric
                .switches
                .iter()
                .map(|s| vec![None; s.ports.into()])
                .collect(),
            endpoints: vec![None; fabric.endpoints.len()],
            ends: fabric.cables.iter().map(|c| c.ends).collect(),
        };
        for (index, cable) in fabric.cables.iter().enumerate() {
            let item = Item::Cable(index);
            link(&cable.link).map_err(|reason| Problem::new(item, reason))?;
            for place in cable.ends {
                let name = fabric.name(place);
                let slot = cabling.slot(place);
                let slot = slot.ok_or_else(|| Problem::new(item, format!("there is no {name}")))?;
                if slot.replace(index).is_some() {
                    return Err(Problem::new(item, format!("{name} is wired twice")));
                }
            }
        }
        for (s, spec) in fabric.switches.iter().enumerate() {
            let open =
                |p: &u8| spec.spare >> p & 1 == 0 && cabling.at(Place::Switch(s, *p)).is_none();
            if let Some(port) = (0..spec.ports).find(open) {
                let name = fabric.name(Place::Switch(s, port));
                let reason =
                    format!("port {name} has no cable; list it under `spare` if that is meant");
                return Err(Problem::new(Item::Switch(s), reason));
            }
        }
        if let Some(e) = cabling.endpoints.iter().position(Option::is_none) {
            let reason = format!("endpoint {} has no cable", fabric.name(Place::Endpoint(e)));
            return Err(Problem::new(Item::Endpoint(e), reason));
        }
        Ok(cabling)
    }

    fn slot(&mut self, place: Place) -> Option<&mut Option<usize>> {
        match place {
            Place::Switch(s, p) => self.switches.get_mut(s)?.get_mut(usize::from(p)),
            Place::Endpoint(e) => self.endpoints.get_mut(e),
        }
    }

    /// The cable at a place.
    #[must_use]
    pub fn at(&self, place: Place) -> Option<usize> {
        match place {
            Place::Switch(s, p) => self.switches.get(s)?.get(usize::from(p)).copied()?,
            Place::Endpoint(e) => self.endpoints.get(e).copied()?,
        }
    }

    /// The other end of the cable at a place.
    #[must_use]
    pub fn peer(&self, place: Place) -> Option<Place> {
        let [a, b] = *self.ends.get(self.at(place)?)?;
        Some(if a == place { b } else { a })
    }

    /// What the ports of a switch lead to.
    pub fn neighbours(&self, switch: usize) -> impl Iterator<Item = (u8, Place)> {
        let ports = self.switches.get(switch).map_or(0, Vec::len);
        (0u8..)
            .take(ports)
            .filter_map(move |p| Some((p, self.peer(Place::Switch(switch, p))?)))
    }
}

fn numbers(fabric: &Fabric) -> Result<(), Problem> {
    let mut names = BTreeSet::new();
    let mut nodes = BTreeSet::new();
    let switches = fabric
        .switches
        .iter()
        .enumerate()
        .map(|(i, s)| (Item::Switch(i), &s.name));
    let endpoints = fabric
        .endpoints
        .iter()
        .enumerate()
        .map(|(i, e)| (Item::Endpoint(i), &e.name));
    let known: BTreeSet<&String> = fabric.switches.iter().map(|s| &s.name).collect();
    for (item, name) in switches.chain(endpoints) {
        if name.is_empty() {
            return Err(Problem::new(item, "a name without characters"));
        }
        // Files name ports so.
        if let Some((switch, port)) = name.rsplit_once('.')
            && known.contains(&switch.to_owned())
            && port.parse::<u8>().is_ok()
        {
            let reason = format!("the name {name} is that of port {port} of switch {switch}");
            return Err(Problem::new(item, reason));
        }
        if !names.insert(name) {
            return Err(Problem::new(
                item,
                format!("the name {name} is there twice"),
            ));
        }
    }
    for (i, switch) in fabric.switches.iter().enumerate() {
        if !(1..=PORTS_MAX).contains(&switch.ports) {
            let reason = format!("{} ports; a switch has 1 to {PORTS_MAX}", switch.ports);
            return Err(Problem::new(Item::Switch(i), reason));
        }
        if switch.ecn_words > ECN_WORDS_MAX {
            let reason = format!(
                "ecn_words = {}; the most is {ECN_WORDS_MAX}",
                switch.ecn_words
            );
            return Err(Problem::new(Item::Switch(i), reason));
        }
        Engine::new(switch.engine).map_err(|e| Problem::new(Item::Switch(i), e.to_string()))?;
    }
    for (i, endpoint) in fabric.endpoints.iter().enumerate() {
        let node = endpoint.node;
        if node >= SWITCH_NODES {
            let reason = format!("node {node}; endpoints have nodes below {SWITCH_NODES}");
            return Err(Problem::new(Item::Endpoint(i), reason));
        }
        if !nodes.insert(node) {
            return Err(Problem::new(
                Item::Endpoint(i),
                format!("node {node} is there twice"),
            ));
        }
    }
    for (i, tree) in fabric.trees.iter().enumerate() {
        if tree.id >= TREES {
            return Err(Problem::new(
                Item::Tree(i),
                format!("tree {}; the last one is {}", tree.id, TREES - 1),
            ));
        }
    }
    Ok(())
}

fn link(spec: &LinkSpec) -> Result<(), String> {
    for (name, clocks) in [
        ("latency_clocks", spec.latency_clocks),
        ("clocks_per_word", spec.clocks_per_word),
    ] {
        if !(1..=1 << 32).contains(&clocks) {
            return Err(format!("{name} = {clocks}; it can be 1 to 2^32"));
        }
    }
    if spec.reorder_clocks > 1 << 32 {
        return Err(format!(
            "reorder_clocks = {}; it can be 0 to 2^32",
            spec.reorder_clocks
        ));
    }
    let faults = [
        ("loss", spec.loss),
        ("duplication", spec.duplication),
        ("corruption", spec.corruption),
    ];
    match faults.into_iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
        Some((name, value)) => Err(format!("{name} = {value} is not a probability (0 to 1)")),
        None => Ok(()),
    }
}
