//! Every order of events, breadth first. `TRIBUTARY_STATES` sets how many states of each scenario are looked at.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use tributary_protocol::multicast::ring::RingMutations;

use super::world::{Scenario, World};

/// States of each scenario unless told.
const STATES: usize = 20_000;

/// 128 bits of hash: states are the same when these agree.
fn key(world: &World) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    let first = hasher.finish();
    0x5eed_u64.hash(&mut hasher);
    world.hash(&mut hasher);
    (first, hasher.finish())
}

/// States seen, those at rest among them, and whether these are all.
fn explore(scenario: &Scenario, limit: usize) -> Result<(usize, usize, bool), String> {
    let start = World::new(scenario)?;
    let mut known = HashSet::from([key(&start)]);
    let mut queue = VecDeque::from([start]);
    let mut rests = 0;
    while let Some(world) = queue.pop_front() {
        let events = world.events(scenario);
        if World::is_at_rest(&events) {
            rests += 1;
            world.check_rest(scenario)?;
        }
        for event in events {
            let mut next = world.clone();
            next.take(event)?;
            if known.len() < limit && known.insert(key(&next)) {
                queue.push_back(next);
            }
        }
    }
    Ok((known.len(), rests, known.len() < limit))
}

fn limit() -> usize {
    match std::env::var("TRIBUTARY_STATES") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("TRIBUTARY_STATES={text}: not a number")),
        Err(_) => STATES,
    }
}

fn scenarios() -> Vec<Scenario> {
    let failing = |mut s: Scenario| {
        s.failures = 1;
        s
    };
    let stopped = |mut s: Scenario| {
        s.stops = 1;
        s
    };
    vec![
        Scenario::new(1, &[25]),
        Scenario::new(2, &[25]),
        Scenario::new(2, &[15, 0, 7]),
        Scenario::new(3, &[25]),
        Scenario::new(3, &[15, 5]),
        Scenario::new(4, &[25]),
        Scenario::new(5, &[15]),
        failing(Scenario::new(2, &[15, 5])),
        failing(Scenario::new(3, &[25])),
        failing(Scenario::new(4, &[15])),
        stopped(Scenario::new(2, &[25])),
        stopped(Scenario::new(3, &[15])),
        stopped(failing(Scenario::new(3, &[15]))),
    ]
}

#[test]
fn mb_16_every_order_of_events_ends_each_doorbell_once() {
    for scenario in scenarios() {
        let (states, rests, whole) =
            explore(&scenario, limit()).unwrap_or_else(|e| panic!("{e}\n{scenario:?}"));
        println!(
            "{} members, {:?}, {} failures, {} stops: {states} states{}, {rests} at rest",
            scenario.members,
            scenario.messages,
            scenario.failures,
            scenario.stops,
            if whole { ", all" } else { "" },
        );
        assert!(rests > 0 || !whole, "{scenario:?} never rests");
    }
}

fn is_caught(mutations: RingMutations, text: &str) {
    let found = scenarios().into_iter().find_map(|mut scenario| {
        scenario.mutations = mutations;
        explore(&scenario, 50_000).err()
    });
    let error = found.unwrap_or_else(|| panic!("not caught: {mutations:?}"));
    assert!(error.contains(text), "{error}");
}

#[test]
fn mb_16_mutation_not_modulo_is_caught() {
    let mutations = RingMutations {
        not_modulo: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "");
}

#[test]
fn mb_16_mutation_error_satisfies_is_caught() {
    let mutations = RingMutations {
        error_satisfies: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "which it has not");
}

#[test]
fn mb_16_mutation_two_errors_is_caught() {
    let mutations = RingMutations {
        two_errors: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "after Failed");
}

#[test]
fn mb_16_mutation_no_watchdog_is_caught() {
    let mutations = RingMutations {
        no_watchdog: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "waits for ever");
}

#[test]
fn mb_16_mutation_no_drain_is_caught() {
    let mutations = RingMutations {
        no_drain: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "STOP is done");
}

#[test]
fn mb_16_mutation_no_recheck_is_caught() {
    let mutations = RingMutations {
        no_recheck: true,
        ..RingMutations::default()
    };
    is_caught(mutations, "Watchdog");
}
