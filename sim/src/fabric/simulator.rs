//! Time, cables and faults.
//!
//! Nodes of another rank are not here: their places in the lists of switches are empty, their endpoints do nothing.

mod build;
mod event;
mod fault;
mod meeting;

pub use build::{Options, TableBits};
use event::{Event, Node, What};
pub use fault::{Passing, Treatment};

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result};
use thiserror::Error;
use tributary_protocol::red::{Counter, Tree, host::repsum::TooManySummands};

use super::cable::{Arrival, Fate, Sighting, Wire};
use super::check::{Cabling, Problem};
use super::describe::{Fabric, Place, TreeSpec};
use super::endpoint::{Contribution, Cost, Endpoint, Role, RootCard};
use super::node::{ActsOn, Departure, SwitchNode};
use super::ranks::{Crossing, Ranks};
use super::tree;

/// Why a fabric is not simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// It cannot be.
    #[error(transparent)]
    Fabric(#[from] Problem),
    /// There is no such endpoint, tree or group, or the endpoint has no part in the group.
    #[error("there is no {what} {index}")]
    Unknown {
        /// Kind of thing.
        what: &'static str,
        /// Asked for.
        index: usize,
    },
    /// A value is a reproducible sum of too many summands for its group.
    #[error(transparent)]
    Summands(#[from] TooManySummands),
}

type Tamper = Box<dyn FnMut(&Passing<'_>) -> Treatment + Send>;

/// A fabric in time.
pub struct Simulator {
    fabric: Arc<Fabric>,
    cabling: Cabling,
    trees: Vec<tree::Entries>,
    /// Those of this rank.
    switches: Vec<Option<Box<dyn SwitchNode>>>,
    endpoints: Vec<Endpoint>,
    wires: Vec<[Wire; 2]>,
    /// When each switch wants its frames, those of other ranks too.
    acts_on: Vec<ActsOn>,
    /// Cables that carry nothing.
    down: Vec<bool>,
    events: BinaryHeap<Event>,
    /// Clock of the event by which a node acts; earlier ones of the same node have been overtaken.
    wakes: Vec<Option<u64>>,
    now: u64,
    /// Until when no frame arrives that has not been sent, and how long that is at least.
    window_end: u64,
    lookahead: u64,
    ranks: Ranks,
    frames: u64,
    tamper: Option<Tamper>,
    log: Option<Vec<Sighting>>,
    /// How much of what its endpoints have reported the first rank knows.
    told: Vec<usize>,
    pub(super) groups: Vec<super::groups::Members>,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("now", &self.now)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl Simulator {
    /// What is simulated.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Its cables, by place.
    #[must_use]
    pub const fn cabling(&self) -> &Cabling {
        &self.cabling
    }

    /// The entries of its trees.
    #[must_use]
    pub fn trees(&self) -> &[tree::Entries] {
        &self.trees
    }

    /// The clock.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The clock at which something happens next, if nobody injects anything.
    #[must_use]
    pub fn next_event(&self) -> Option<u64> {
        self.events.peek().map(|event| event.clock)
    }

    /// Frames put on cables so far by nodes of this rank.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Keeps what is seen on every cable from now on.
    pub fn record(&mut self) {
        self.log.get_or_insert_default();
    }

    /// What was seen, at the first rank after [`Simulator::gather`] in the order in which frames were sent.
    #[must_use]
    pub fn sightings(&self) -> &[Sighting] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Cuts a cable or mends it: frames that begin to cross a cut one are lost, those on their way arrive.
    ///
    /// # Errors
    /// There is no such cable.
    pub fn set_cable(&mut self, cable: usize, up: bool) -> Result<(), SimulationError> {
        let unknown = SimulationError::Unknown {
            what: "cable",
            index: cable,
        };
        *self.down.get_mut(cable).ok_or(unknown)? = !up;
        Ok(())
    }

    /// Reads a register of a switch. All ranks do so at the same time, and all learn what stands there.
    ///
    /// # Errors
    /// There is no such switch or register.
    pub fn read_register(&mut self, switch: usize, offset: u16) -> Result<u32> {
        let unknown = SimulationError::Unknown {
            what: "switch",
            index: switch,
        };
        let node = self.switches.get(switch).ok_or(unknown)?;
        let value = node.as_ref().map(|node| node.read(offset)).transpose()?;
        let told = self.ranks.tell(value)?;
        let told = told.into_iter().flatten().next();
        told.context("no rank has the switch")
    }

    /// Writes a register of a switch, as its host would while the fabric runs.
    ///
    /// # Errors
    /// There is no such switch, or it does not take the write.
    pub fn write_register(&mut self, switch: usize, offset: u16, value: u32) -> Result<()> {
        let unknown = SimulationError::Unknown {
            what: "switch",
            index: switch,
        };
        match self.switches.get_mut(switch).ok_or(unknown)? {
            Some(node) => node.write(offset, value),
            None => Ok(()),
        }
    }

    /// Takes the frames that no machine of an endpoint wanted, with the clock at which the host had them: those of its card.
    pub fn take_ignored(&mut self, endpoint: usize) -> Vec<(u64, Arc<[u8]>)> {
        let endpoint = self.endpoints.get_mut(endpoint);
        endpoint.map(Endpoint::take_ignored).unwrap_or_default()
    }

    /// Asks `tamper` about every frame that begins to cross a cable.
    pub fn tamper(&mut self, tamper: impl FnMut(&Passing<'_>) -> Treatment + Send + 'static) {
        self.tamper = Some(Box::new(tamper));
    }

    /// Descriptors in use in all switches of this rank.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.switches.iter().flatten().map(|s| s.in_use()).sum()
    }

    /// How often something was counted, in all switches of this rank.
    #[must_use]
    pub fn counted(&self, counter: Counter) -> u64 {
        let switches = self.switches.iter().flatten();
        switches.map(|s| s.count(counter)).sum()
    }

    /// A switch of this rank.
    pub fn switch_mut(&mut self, index: usize) -> Option<&mut (dyn SwitchNode + 'static)> {
        self.switches.get_mut(index)?.as_deref_mut()
    }

    /// Writes an entry of a switch's multicast table, or clears it, while the fabric runs. What [`Simulator::trees`] and
    /// [`Simulator::fabric`] say does not change with it.
    ///
    /// # Errors
    /// There is no such switch, or its table does not reach so far.
    pub fn write_multicast(&mut self, switch: usize, id: u16, entry: Option<Tree>) -> Result<()> {
        let unknown = SimulationError::Unknown {
            what: "switch",
            index: switch,
        };
        match self.switches.get_mut(switch).ok_or(unknown)? {
            Some(node) => node
                .set_multicast(id, entry)
                .with_context(|| format!("{}, tree {id}", self.fabric.switches[switch].name)),
            None => Ok(()),
        }
    }

    /// Adds a tree while the fabric runs and writes its entries, those far from the root first, over what stands there under
    /// its number. Returns its index.
    ///
    /// # Errors
    /// It is no tree, and nothing has changed; or a table does not reach so far.
    pub fn add_tree(&mut self, spec: TreeSpec) -> Result<usize> {
        let id = spec.id;
        let order: Vec<usize> = spec.entries.iter().map(|(switch, _)| *switch).collect();
        let mut fabric = (*self.fabric).clone();
        let index = fabric.trees.len();
        fabric.trees.push(spec);
        let entries = tree::one(&fabric, &self.cabling, index).map_err(SimulationError::from)?;
        // Derived entries have no order of their own.
        let derived = entries.keys().filter(|_| order.is_empty());
        let switches: Vec<usize> = order.iter().chain(derived).copied().collect();
        for switch in switches.into_iter().rev() {
            self.write_multicast(switch, id, entries.get(&switch).copied())?;
        }
        self.fabric = fabric.into();
        self.trees.push(entries);
        Ok(index)
    }

    /// Whether an endpoint is of this rank.
    #[must_use]
    pub fn has_endpoint(&self, endpoint: usize) -> bool {
        self.ranks.is_own(self.slot(Node::Endpoint(endpoint)))
    }

    /// The endpoints; those of other ranks do nothing.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Sets what the software of every endpoint takes.
    pub fn set_cost(&mut self, cost: Cost) {
        for endpoint in &mut self.endpoints {
            endpoint.set_cost(cost);
        }
    }

    /// Sets what the software of one endpoint takes.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn set_cost_of(&mut self, endpoint: usize, cost: Cost) -> Result<(), SimulationError> {
        self.endpoint(endpoint)?.set_cost(cost);
        Ok(())
    }

    /// Lets an endpoint live or die.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn set_alive(&mut self, endpoint: usize, alive: bool) -> Result<(), SimulationError> {
        self.endpoint(endpoint)?.set_alive(alive);
        self.rouse(Node::Endpoint(endpoint));
        Ok(())
    }

    /// Lets an endpoint send a frame as it is, at a clock that has not passed.
    ///
    /// # Errors
    /// There is no endpoint of this number.
    pub fn inject(
        &mut self,
        endpoint: usize,
        bytes: &[u8],
        at: u64,
    ) -> Result<(), SimulationError> {
        let at = at.max(self.now);
        self.endpoint(endpoint)?.inject(bytes.into(), at);
        self.rouse(Node::Endpoint(endpoint));
        Ok(())
    }

    /// Gives an endpoint its value for a round of a group.
    ///
    /// # Errors
    /// There is no such endpoint, it has no part in the group, or its hosts refuse the value, see
    /// [`Group::check_contribution`](tributary_protocol::red::host::Group::check_contribution).
    pub fn contribute(
        &mut self,
        group: usize,
        endpoint: usize,
        round: u64,
        given: Contribution,
    ) -> Result<(), SimulationError> {
        if let Some(known) = self.group(group) {
            known.check_contribution(given.op, &given.value)?;
        }
        if !self.endpoint(endpoint)?.contribute(group, round, given) {
            return Err(SimulationError::Unknown {
                what: "group",
                index: group,
            });
        }
        self.rouse(Node::Endpoint(endpoint));
        Ok(())
    }

    pub(super) fn add_role(
        &mut self,
        endpoint: usize,
        group: usize,
        role: Role,
        card: Option<RootCard>,
    ) -> Result<(), SimulationError> {
        let now = self.now;
        self.endpoint(endpoint)?.add(group, role, card, now);
        self.rouse(Node::Endpoint(endpoint));
        Ok(())
    }

    fn endpoint(&mut self, index: usize) -> Result<&mut Endpoint, SimulationError> {
        let unknown = SimulationError::Unknown {
            what: "endpoint",
            index,
        };
        self.endpoints.get_mut(index).ok_or(unknown)
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event.what {
            What::Arrive {
                at: Place::Switch(s, port),
                bytes,
                damaged,
            } => {
                if let Some(switch) = &mut self.switches[s] {
                    switch.arrive(port, &bytes, damaged, self.now);
                }
                self.rouse(Node::Switch(s));
            }
            What::Arrive {
                at: Place::Endpoint(e),
                bytes,
                damaged,
            } => {
                if !damaged {
                    self.endpoints[e].arrive(bytes, self.now);
                    self.rouse(Node::Endpoint(e));
                }
            }
            What::Wake(node) => {
                let slot = self.slot(node);
                // Overtaken by an earlier one.
                if self.wakes[slot] != Some(self.now) {
                    return Ok(());
                }
                self.wakes[slot] = None;
                self.act(node)?;
                self.rouse(node);
            }
        }
        Ok(())
    }

    fn act(&mut self, node: Node) -> Result<()> {
        match node {
            Node::Endpoint(e) => {
                if let Some(bytes) = self.endpoints[e].run(self.now) {
                    self.send(Place::Endpoint(e), self.now, bytes)?;
                }
            }
            Node::Switch(s) => {
                let mut leave: Vec<Departure> = Vec::new();
                if let Some(switch) = &mut self.switches[s] {
                    switch.run(self.now, &mut leave).with_context(|| {
                        format!("{}, clock {}", self.fabric.switches[s].name, self.now)
                    })?;
                }
                for Departure { port, start, bytes } in leave {
                    self.send(Place::Switch(s, port), start, bytes)?;
                }
            }
        }
        Ok(())
    }

    const fn slot(&self, node: Node) -> usize {
        match node {
            Node::Switch(s) => s,
            Node::Endpoint(e) => self.switches.len() + e,
        }
    }

    /// Sees to it that a node acts when it wants to.
    fn rouse(&mut self, node: Node) {
        let slot = self.slot(node);
        if !self.ranks.is_own(slot) {
            return;
        }
        let wake = match node {
            Node::Switch(s) => self.switches[s].as_ref().and_then(|s| s.wake(self.now)),
            Node::Endpoint(e) => self.endpoints[e].wake(),
        };
        let Some(clock) = wake.map(|clock| clock.max(self.now)) else {
            return;
        };
        if self.wakes[slot].is_none_or(|planned| clock < planned) {
            self.wakes[slot] = Some(clock);
            self.events.push(Event::wake(clock, slot, node));
        }
    }

    fn send(&mut self, from: Place, start: u64, bytes: Arc<[u8]>) -> Result<()> {
        let (Some(cable), Some(to)) = (self.cabling.at(from), self.cabling.peer(from)) else {
            return Ok(());
        };
        self.frames += 1;
        let side = usize::from(self.fabric.cables[cable].ends[0] != from);
        let passing = Passing {
            cable,
            from,
            to,
            start,
            bytes: &bytes,
        };
        let treatment = self
            .tamper
            .as_mut()
            .map_or(Treatment::Pass, |tamper| tamper(&passing));
        let treatment = if self.down[cable] {
            Treatment::Lose
        } else {
            treatment
        };
        let wire = &mut self.wires[cable][side];
        let (mut first, mut copy) = wire.carry(bytes.len(), start);
        match treatment {
            Treatment::Pass => {}
            Treatment::Lose => (first.fate, copy) = (Fate::Lost, None),
            Treatment::Damage => first.fate = Fate::Damaged,
            Treatment::Delay(clocks) => {
                (first.first, first.last) = (first.first + clocks, first.last + clocks);
            }
            Treatment::Repeat(clocks) => {
                copy = Some(wire.arrival(bytes.len(), start + clocks, Fate::Whole))
            }
        }
        self.arrive(cable, side, to, start, first, &bytes)?;
        match copy {
            Some(copy) => self.arrive(cable, side, to, start, copy, &bytes),
            None => Ok(()),
        }
    }

    fn arrive(
        &mut self,
        cable: usize,
        side: usize,
        to: Place,
        start: u64,
        arrival: Arrival,
        bytes: &Arc<[u8]>,
    ) -> Result<()> {
        let fate = arrival.fate;
        if let Some(log) = &mut self.log {
            let bytes = bytes.clone();
            log.push(Sighting {
                cable,
                from: side,
                start,
                end: arrival.last,
                fate,
                bytes,
            });
        }
        if fate == Fate::Lost {
            return Ok(());
        }
        let at_first = match to {
            Place::Switch(s, _) => self.acts_on[s] == ActsOn::FirstWord,
            Place::Endpoint(_) => false,
        };
        let clock = if at_first {
            arrival.first
        } else {
            arrival.last
        };
        let number = self.wires[cable][side].number();
        self.deliver(Crossing {
            clock,
            wire: 2 * cable + side,
            number,
            damaged: fate == Fate::Damaged,
            bytes: bytes.clone(),
        })
    }
}
