//! Exhaustive exploration: every state that cards and layers reach over a network that loses, duplicates and reorders.
//!
//! The machines are the real ones. The network holds every packet ever sent; each may be delivered any number of times, in any
//! order, or never. Time passes for a node at any moment, by more than every timeout. Of the properties, these are checked at
//! every step: a message that ended OK was delivered, none is delivered twice, to the wrong queue pair or with a wrong sender,
//! each ends once; and from every state, with all packets lost, all messages end within a bound.
//!
//! States count as the same when 128 bits of hash agree.

mod world;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Mutations;
use world::{Step, World};

/// What to explore: node 0 sends to node 1.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Messages, by the sending queue pair at node 0: 0 or 1.
    pub messages: Vec<u8>,
    /// Windows of a connection.
    pub windows: u32,
    /// The connections are open before anything else happens.
    pub opened: bool,
    /// Bits of a PSN: few, so that numbers are used again.
    pub psn_bits: u8,
    /// Sendings of a message.
    pub attempts: u8,
    /// How often the receiving process may be replaced by another, at any moment.
    pub receiver_restarts: u8,
    /// The same for the sending process. Messages that it has not sent are sent by its successor.
    pub sender_restarts: u8,
    /// Accepted messages become visible to the receiving software some time later.
    pub slow_landing: bool,
    /// Receive requests of the receiver; used up ones come back when the software runs.
    pub receives: u16,
    /// Deliberate errors, in cards and layers.
    pub mutations: Mutations,
    /// Stop after so many states.
    pub max_states: usize,
}

impl Scenario {
    /// Messages of queue pair 0 through one window; PSNs of 2 bits; two sendings each.
    #[must_use]
    pub fn new(messages: usize) -> Self {
        Self {
            messages: vec![0; messages],
            windows: 1,
            opened: true,
            psn_bits: 2,
            attempts: 2,
            receiver_restarts: 0,
            sender_restarts: 0,
            slow_landing: false,
            receives: 4,
            mutations: Mutations::default(),
            max_states: 400_000,
        }
    }
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// States.
    pub states: usize,
    /// Steps taken.
    pub steps: usize,
    /// States in which every message has ended.
    pub ended: usize,
    /// True if `max_states` was not enough: nothing is shown for the rest.
    pub truncated: bool,
    /// A shortest way to a violated property.
    pub counterexample: Option<Counterexample>,
}

/// A property that does not hold, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What is wrong in the last state.
    pub what: Violation,
    /// What happened, in order.
    pub steps: Vec<String>,
}

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// XUD-3, XUD-4, XUD-6: success was reported of a message that no software has seen.
    #[error("message {0} ended OK and was never delivered")]
    Lost(usize),
    /// XUD-5, XUD-10.
    #[error("message {0} was delivered twice")]
    Twice(usize),
    /// XUD-7: it came as if from another queue pair, or is no message at all.
    #[error("something was delivered that was not sent so")]
    Foreign,
    /// XUD-2.
    #[error("message {0} ended twice")]
    EndedTwice(usize),
    /// XUD-8.
    #[error("message {0} does not end when nothing arrives any more")]
    Endless(usize),
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.what)?;
        self.steps
            .iter()
            .enumerate()
            .try_for_each(|(index, step)| writeln!(f, "{:3}. {step}", index + 1))
    }
}

fn fingerprint(world: &World) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        world.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Explores a scenario, shortest ways first.
#[must_use]
pub fn explore(scenario: &Scenario) -> Report {
    let mut report = Report {
        states: 0,
        steps: 0,
        ended: 0,
        truncated: false,
        counterexample: None,
    };
    let Some(first) = World::new(scenario) else {
        return report;
    };
    let mut seen = HashSet::from([fingerprint(&first)]);
    // How each state was reached: its predecessor and the step.
    let mut ways: Vec<(usize, Option<Step>)> = vec![(0, None)];
    let mut queue = VecDeque::from([(0, first)]);
    while let Some((at, world)) = queue.pop_front() {
        report.states += 1;
        report.ended += usize::from(world.all_ended());
        if let Some(what) = world.endless() {
            report.counterexample = Some(way(&ways, at, None, what));
            return report;
        }
        for step in world.steps() {
            report.steps += 1;
            let mut next = world.clone();
            if let Err(what) = next.perform(&step) {
                report.counterexample = Some(way(&ways, at, Some(step), what));
                return report;
            }
            if seen.insert(fingerprint(&next)) {
                if ways.len() >= scenario.max_states {
                    report.truncated = true;
                    return report;
                }
                ways.push((at, Some(step)));
                queue.push_back((ways.len() - 1, next));
            }
        }
    }
    report
}

fn way(
    ways: &[(usize, Option<Step>)],
    mut at: usize,
    last: Option<Step>,
    what: Violation,
) -> Counterexample {
    let mut steps: Vec<String> = last.iter().map(ToString::to_string).collect();
    while let (before, Some(step)) = &ways[at] {
        steps.push(step.to_string());
        at = *before;
    }
    steps.reverse();
    Counterexample { what, steps }
}
