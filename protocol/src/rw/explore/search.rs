//! Breadth-first search with fingerprints, and the check that the end stays reachable.

use std::collections::{HashMap, VecDeque, hash_map::Entry};
use std::hash::{Hash, Hasher};

use super::{
    Counterexample, Report, Scenario,
    model::{State, Step, Violation},
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

/// Where a state was first reached from.
struct Origin {
    parent: u32,
    step: Option<Step>,
}

struct Search<'a> {
    scenario: &'a Scenario,
    known: HashMap<u128, u32>,
    origins: Vec<Origin>,
    edges: Vec<(u32, u32)>,
    ended: Vec<u32>,
}

/// Explores a scenario to the end, to the first violation, or to `max_states`.
#[must_use]
pub fn explore(scenario: &Scenario) -> Report {
    let mut search = Search {
        scenario,
        known: HashMap::new(),
        origins: Vec::new(),
        edges: Vec::new(),
        ended: Vec::new(),
    };
    let found = search.run();
    let truncated = found.as_ref().is_err();
    Report {
        states: search.origins.len(),
        steps: search.edges.len(),
        ended: search.ended.len(),
        truncated,
        counterexample: found.ok().flatten(),
    }
}

/// `max_states` was not enough.
struct Truncated;

impl Search<'_> {
    fn run(&mut self) -> Result<Option<Counterexample>, Truncated> {
        let Some(first) = State::new(self.scenario) else {
            return Err(Truncated);
        };
        let mut queue = VecDeque::new();
        self.note(&first, 0, None);
        queue.push_back((0, first));
        while let Some((id, state)) = queue.pop_front() {
            if self.origins.len() > self.scenario.max_states {
                return Err(Truncated);
            }
            for step in state.steps(self.scenario) {
                match state.apply(step, self.scenario) {
                    Err(violation) => {
                        return Ok(Some(self.counterexample(id, Some(step), violation)));
                    }
                    Ok(next) => {
                        let (to, new) = self.note(&next, id, Some(step));
                        self.edges.push((id, to));
                        if new && !next.ended() {
                            queue.push_back((to, next));
                        }
                    }
                }
            }
        }
        Ok(self.stuck().map(|id| {
            let what =
                "from here the transfers can never all end with nothing left behind".to_owned();
            self.counterexample(id, None, ("P18", what))
        }))
    }

    /// Number of a state, and whether it is new.
    fn note(&mut self, state: &State, parent: u32, step: Option<Step>) -> (u32, bool) {
        match self.known.entry(fingerprint(state)) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(place) => {
                let id = self.origins.len() as u32;
                place.insert(id);
                self.origins.push(Origin { parent, step });
                if state.ended() {
                    self.ended.push(id);
                }
                (id, true)
            }
        }
    }

    /// The first state from which no end is reachable.
    fn stuck(&self) -> Option<u32> {
        let count = self.origins.len();
        // Predecessors of each state, as slices of one sorted list.
        let mut starts = vec![0u32; count + 1];
        self.edges
            .iter()
            .for_each(|(_, to)| starts[*to as usize + 1] += 1);
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut filled = starts.clone();
        let mut sources = vec![0u32; self.edges.len()];
        for (from, to) in &self.edges {
            let place = &mut filled[*to as usize];
            sources[*place as usize] = *from;
            *place += 1;
        }
        let mut reaches = vec![false; count];
        let mut stack = self.ended.clone();
        self.ended
            .iter()
            .for_each(|id| reaches[*id as usize] = true);
        while let Some(id) = stack.pop() {
            for &from in &sources[starts[id as usize] as usize..starts[id as usize + 1] as usize] {
                if !std::mem::replace(&mut reaches[from as usize], true) {
                    stack.push(from);
                }
            }
        }
        reaches
            .iter()
            .position(|reaches| !reaches)
            .map(|id| id as u32)
    }

    /// Replays the way to a state, in words.
    fn counterexample(
        &self,
        id: u32,
        last: Option<Step>,
        (property, what): Violation,
    ) -> Counterexample {
        let mut path: Vec<Step> = last.into_iter().collect();
        let mut at = id;
        while let Some(step) = self.origins[at as usize].step {
            path.push(step);
            at = self.origins[at as usize].parent;
        }
        path.reverse();
        let mut steps = Vec::new();
        let mut state = State::new(self.scenario);
        for step in path {
            let Some(now) = state else { break };
            steps.push(now.describe(step));
            state = now.apply(step, self.scenario).ok();
        }
        Counterexample {
            property,
            what,
            steps,
        }
    }
}
