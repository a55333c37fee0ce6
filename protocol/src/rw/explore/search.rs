//! Breadth-first search over states and sets of messages, and the check that the end stays reachable.

use std::collections::{HashMap, hash_map::Entry};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::{
    Counterexample, Report, Scenario,
    model::{InFlight, Next, State, Step, Violation},
};

/// Two folded-multiply hashes side by side: 128 bits in one pass over a state.
struct Lanes([u64; 2]);

impl Lanes {
    fn mix(&mut self, value: u64) {
        const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
        for (lane, factor) in self.0.iter_mut().zip(FACTORS) {
            let product = u128::from(*lane ^ value) * u128::from(factor);
            *lane = (product as u64 ^ (product >> 64) as u64).wrapping_add(factor);
        }
    }
}

impl Hasher for Lanes {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0[0]
    }
}

/// 128 bits: states with the same fingerprint count as the same.
fn fingerprint(state: &State) -> u128 {
    let mut lanes = Lanes([1, 2]);
    state.hash(&mut lanes);
    u128::from(lanes.0[0]) << 64 | u128::from(lanes.0[1])
}

/// Most different messages of an exploration.
const MESSAGES: usize = 512;
/// Longest chain of messages, each an answer to the one before, in the search for a way to the end.
const CHAIN: usize = 4;

/// A set of messages, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Net([u64; MESSAGES / 64]);

impl Net {
    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn covers(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .all(|(all, some)| some & !all == 0)
    }

    fn with(mut self, other: &Self) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(all, more)| *all |= more);
        self
    }
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step(Step),
    Deliver(u16),
}

/// Where an event leads from a state, whatever else is in the network.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    sent: Net,
}

/// A state with a set of messages, and where it was first reached from.
struct Node {
    state: u32,
    net: Net,
    parent: u32,
    event: Option<Event>,
    /// A node with the same state and more messages was reached since.
    covered: bool,
}

/// A state's own steps.
type Steps = Rc<[(Step, Edge)]>;

struct Search<'a> {
    scenario: &'a Scenario,
    known: HashMap<u128, u32>,
    states: Vec<State>,
    numbers: HashMap<InFlight, u16>,
    messages: Vec<InFlight>,
    /// By state: its own steps, and what each message does to it. Filled in when first needed.
    steps: Vec<Option<Steps>>,
    deliveries: Vec<Vec<Option<Edge>>>,
    nodes: Vec<Node>,
    /// By state: its nodes that no other one covers.
    largest: Vec<Vec<u32>>,
    taken: usize,
}

/// Why a search ends early.
enum Stop {
    /// Too many nodes, or messages.
    Truncated,
    Violated(Event, Violation),
}

/// Explores a scenario to the end, to the first violation, or to `max_states`.
#[must_use]
pub fn explore(scenario: &Scenario) -> Report {
    let mut search = Search {
        scenario,
        known: HashMap::new(),
        states: Vec::new(),
        numbers: HashMap::new(),
        messages: Vec::new(),
        steps: Vec::new(),
        deliveries: Vec::new(),
        nodes: Vec::new(),
        largest: Vec::new(),
        taken: 0,
    };
    let found = search.run();
    Report {
        states: search.states.len(),
        nodes: search.nodes.len(),
        messages: search.messages.len(),
        steps: search.taken,
        ended: search.states.iter().filter(|state| state.ended()).count(),
        truncated: found.is_none(),
        counterexample: found.flatten(),
    }
}

impl Search<'_> {
    /// `None` if the limits were not enough.
    fn run(&mut self) -> Option<Option<Counterexample>> {
        let first = self.number_state(State::new(self.scenario)?);
        self.note(first, Net::default(), 0, None);
        let mut at = 0;
        while at < self.nodes.len() {
            if self.nodes.len() > self.scenario.max_states {
                return None;
            }
            if !self.nodes[at].covered {
                match self.expand(at as u32) {
                    Ok(()) => {}
                    Err(Stop::Truncated) => return None,
                    Err(Stop::Violated(event, violation)) => {
                        return Some(Some(self.counterexample(at as u32, Some(event), violation)));
                    }
                }
            }
            at += 1;
        }
        self.stuck().ok()
    }

    /// Everything that can happen in a node. What leaves the state as it is and only adds messages comes first, and then
    /// alone: the node with them covers this one.
    fn expand(&mut self, at: u32) -> Result<(), Stop> {
        let Node { state, net, .. } = self.nodes[at as usize];
        if self.states[state as usize].ended() {
            return Ok(());
        }
        let mut events: Vec<(Event, Edge)> = Vec::new();
        for &(step, edge) in self.steps_of(state)?.iter() {
            events.push((Event::Step(step), edge));
        }
        for number in (0..self.messages.len()).filter(|number| net.contains(*number)) {
            let edge = self.deliver(state, number)?;
            events.push((Event::Deliver(number as u16), edge));
        }
        self.taken += events.len();
        let adds = |edge: &Edge| edge.to == state && !net.covers(&edge.sent);
        if let Some((event, edge)) = events.iter().find(|(_, edge)| adds(edge)) {
            self.note(state, net.with(&edge.sent), at, Some(*event));
            return Ok(());
        }
        for (event, edge) in events {
            self.note(edge.to, net.with(&edge.sent), at, Some(event));
        }
        Ok(())
    }

    /// A node, unless one that is known covers it.
    fn note(&mut self, state: u32, net: Net, parent: u32, event: Option<Event>) {
        let nodes = &mut self.nodes;
        let largest = &mut self.largest[state as usize];
        if largest
            .iter()
            .any(|other| nodes[*other as usize].net.covers(&net))
        {
            return;
        }
        largest.retain(|other| {
            let covered = net.covers(&nodes[*other as usize].net);
            nodes[*other as usize].covered |= covered;
            !covered
        });
        largest.push(nodes.len() as u32);
        nodes.push(Node {
            state,
            net,
            parent,
            event,
            covered: false,
        });
    }

    fn number_state(&mut self, state: State) -> u32 {
        match self.known.entry(fingerprint(&state)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let number = self.states.len() as u32;
                place.insert(number);
                self.states.push(state);
                self.steps.push(None);
                self.deliveries.push(Vec::new());
                self.largest.push(Vec::new());
                number
            }
        }
    }

    fn edge(&mut self, event: Event, next: Next) -> Result<Edge, Stop> {
        let (state, messages) = next.map_err(|violation| Stop::Violated(event, violation))?;
        let mut sent = Net::default();
        for message in messages {
            let fresh = self.messages.len();
            let number = usize::from(*self.numbers.entry(message.clone()).or_insert(fresh as u16));
            if number >= MESSAGES {
                return Err(Stop::Truncated);
            }
            if number == fresh {
                self.messages.push(message);
            }
            sent.insert(number);
        }
        let to = self.number_state(state);
        Ok(Edge { to, sent })
    }

    fn steps_of(&mut self, state: u32) -> Result<Steps, Stop> {
        if let Some(steps) = &self.steps[state as usize] {
            return Ok(Rc::clone(steps));
        }
        let from = self.states[state as usize].clone();
        let mut steps = Vec::new();
        for step in from.steps(self.scenario) {
            let next = from.apply(step, self.scenario);
            steps.push((step, self.edge(Event::Step(step), next)?));
        }
        let steps: Steps = steps.into();
        self.steps[state as usize] = Some(Rc::clone(&steps));
        Ok(steps)
    }

    fn deliver(&mut self, state: u32, number: usize) -> Result<Edge, Stop> {
        let known = &mut self.deliveries[state as usize];
        if known.len() <= number {
            known.resize(number + 1, None);
        }
        if let Some(edge) = known[number] {
            return Ok(edge);
        }
        let next = self.states[state as usize].deliver(&self.messages[number], self.scenario);
        let edge = self.edge(Event::Deliver(number as u16), next)?;
        self.deliveries[state as usize][number] = Some(edge);
        Ok(edge)
    }

    /// The first state from which no end is reachable when all that is in the network is lost, by steps of which each is the
    /// machines' own or takes in an answer to the step before.
    fn stuck(&mut self) -> Result<Option<Counterexample>, Stop> {
        let count = self.states.len();
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); count];
        let reached: Vec<u32> = (0..count as u32)
            .filter(|state| !self.largest[*state as usize].is_empty())
            .collect();
        for &state in &reached {
            if self.states[state as usize].ended() {
                continue;
            }
            let mut chain: Vec<Edge> = self
                .steps_of(state)?
                .iter()
                .map(|(_, edge)| *edge)
                .collect();
            for _ in 0..CHAIN {
                let mut answers = Vec::new();
                for edge in chain {
                    if from.len() < self.states.len() {
                        from.resize(self.states.len(), Vec::new());
                    }
                    from[edge.to as usize].push(state);
                    if self.states[edge.to as usize].ended() {
                        continue;
                    }
                    for number in
                        (0..self.messages.len()).filter(|number| edge.sent.contains(*number))
                    {
                        answers.push(self.deliver(edge.to, number)?);
                    }
                }
                chain = answers;
            }
        }
        let mut reaches = vec![false; self.states.len()];
        from.resize(self.states.len(), Vec::new());
        let mut stack: Vec<u32> = (0..self.states.len() as u32)
            .filter(|state| self.states[*state as usize].ended())
            .collect();
        stack
            .iter()
            .for_each(|state| reaches[*state as usize] = true);
        while let Some(state) = stack.pop() {
            for &earlier in &from[state as usize] {
                if !std::mem::replace(&mut reaches[earlier as usize], true) {
                    stack.push(earlier);
                }
            }
        }
        let at = self
            .nodes
            .iter()
            .position(|node| !reaches[node.state as usize]);
        Ok(at.map(|at| {
            let what =
                "from here the transfers can never all end with nothing left behind".to_owned();
            self.counterexample(at as u32, None, ("P18", what))
        }))
    }

    /// The way to a node, in words; for P18 also the losses after it.
    fn counterexample(
        &self,
        at: u32,
        last: Option<Event>,
        (property, what): Violation,
    ) -> Counterexample {
        let words = |state: u32, event: Event| match event {
            Event::Step(step) => self.states[state as usize].describe(step),
            Event::Deliver(number) => self.messages[usize::from(number)].to_string(),
        };
        let Node { state, net, .. } = self.nodes[at as usize];
        let mut steps: Vec<String> = match last {
            Some(event) => vec![words(state, event)],
            None => {
                let matters = |number: &usize| {
                    let known = self.deliveries[state as usize]
                        .get(*number)
                        .copied()
                        .flatten();
                    net.contains(*number)
                        && known.is_some_and(|edge| edge.to != state || edge.sent != Net::default())
                };
                let lost = (0..self.messages.len()).filter(matters);
                lost.map(|number| format!("network loses {}", self.messages[number].msg))
                    .rev()
                    .collect()
            }
        };
        let mut node = &self.nodes[at as usize];
        while let Some(event) = node.event {
            node = &self.nodes[node.parent as usize];
            steps.push(words(node.state, event));
        }
        steps.reverse();
        Counterexample {
            property,
            what,
            steps,
        }
    }
}
