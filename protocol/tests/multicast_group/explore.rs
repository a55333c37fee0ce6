//! Every order of events, breadth first. `TRIBUTARY_STATES` sets how many states of each scenario are looked at.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::Mutations;

use super::world::{Scenario, World};

/// States of each scenario unless told.
const STATES: usize = 20_000;

/// What was seen.
struct Seen {
    states: usize,
    /// States in which nothing happens any more.
    rests: usize,
    /// Every state that can be reached was looked at.
    whole: bool,
}

/// 128 bits of hash: states are the same when these agree.
fn key(world: &World) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    let first = hasher.finish();
    0x5eed_u64.hash(&mut hasher);
    world.hash(&mut hasher);
    (first, hasher.finish())
}

fn explore(scenario: &Scenario, states: usize) -> Result<Seen, String> {
    let start = World::new(scenario)?;
    let mut known = HashSet::from([key(&start)]);
    let mut queue = VecDeque::from([start]);
    let mut rests = 0;
    while let Some(world) = queue.pop_front() {
        let steps = world.steps(scenario);
        if World::is_at_rest(&steps) {
            rests += 1;
            world.check_rest()?;
        }
        for step in steps {
            let mut next = world.clone();
            next.take(scenario, step)?;
            if known.len() < states && known.insert(key(&next)) {
                queue.push_back(next);
            }
        }
    }
    Ok(Seen {
        states: known.len(),
        rests,
        whole: known.len() < states,
    })
}

fn limit() -> usize {
    match std::env::var("TRIBUTARY_STATES") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("TRIBUTARY_STATES={text}: not a number")),
        Err(_) => STATES,
    }
}

fn holds(scenarios: &[Scenario]) {
    for scenario in scenarios {
        let seen = explore(scenario, limit()).unwrap_or_else(|e| panic!("{e}\n{scenario:?}"));
        println!(
            "{} members, {} messages, {} deaths: {} states{}, {} at rest",
            scenario.config.members,
            scenario.messages.len(),
            scenario.deaths,
            seen.states,
            if seen.whole { ", all" } else { "" },
            seen.rests
        );
        assert!(seen.rests > 0 || !seen.whole, "{scenario:?} never rests");
    }
}

#[test]
fn mb_09_mb_11_mb_13_every_order_of_events_without_deaths() {
    holds(&[
        Scenario::new(2, &[25]),
        Scenario::new(2, &[15, 0, 7]).repeated_credits(),
        Scenario::new(3, &[25]),
        Scenario::new(3, &[5, 5]),
        Scenario::new(4, &[15]).algorithm(Algorithm::Chain),
        Scenario::new(4, &[25]),
        Scenario::new(5, &[15]),
        Scenario::new(3, &[25]).old_messages(),
        Scenario::new(3, &[5, 5]).repeated_credits(),
    ]);
}

#[test]
fn mb_12_mb_13_every_order_of_events_with_deaths() {
    holds(&[
        Scenario::new(2, &[15]).deaths(1),
        Scenario::new(3, &[5]).deaths(1),
        Scenario::new(3, &[5]).deaths(2),
        Scenario::new(3, &[15])
            .deaths(1)
            .algorithm(Algorithm::Chain),
        Scenario::new(4, &[5]).deaths(1),
        Scenario::new(4, &[5])
            .deaths(2)
            .algorithm(Algorithm::BinomialTree),
        Scenario::new(5, &[]).deaths(1),
    ]);
}

fn is_caught(scenario: Scenario, rule: &str) {
    let error = explore(&scenario, 400_000).err();
    let error = error.unwrap_or_else(|| panic!("not caught: {:?}", scenario.config.mutations));
    assert!(error.contains(rule), "{error}");
}

#[test]
fn mb_09_mutation_no_epoch_is_caught() {
    let mutations = Mutations {
        no_epoch: true,
        ..Mutations::default()
    };
    is_caught(
        Scenario::new(3, &[25]).old_messages().mutations(mutations),
        "MB-",
    );
}

#[test]
fn mb_10_mutation_rounded_length_is_caught() {
    let mutations = Mutations {
        rounded_length: true,
        ..Mutations::default()
    };
    is_caught(Scenario::new(2, &[25]).mutations(mutations), "MB-10");
}

#[test]
fn mb_13_mutation_no_barrier_is_caught() {
    let mutations = Mutations {
        no_barrier: true,
        ..Mutations::default()
    };
    is_caught(Scenario::new(3, &[15]).mutations(mutations), "MB-13");
}

#[test]
fn mb_13_mutation_watermark_off_by_one_is_caught() {
    let mutations = Mutations {
        watermark_off_by_one: true,
        ..Mutations::default()
    };
    is_caught(
        Scenario::new(2, &[5]).deaths(1).mutations(mutations),
        "MB-13",
    );
}
