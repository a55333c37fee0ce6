//! The failure cases of the datagram rules, explored breadth first, and their mutations.
//!
//! Large scenarios stop after `STATES` states, so that all ways up to some 8 to 12 steps are covered; `XUD_STATES` sets another number.

use tributary_protocol::xud::{
    Mutations,
    explore::{Report, Scenario, Violation, explore},
};

fn run(name: &str, scenario: &Scenario) -> Report {
    let start = std::time::Instant::now();
    let report = explore(scenario);
    println!(
        "{name}: {} states, {} steps, {} ends, {:?}",
        report.states,
        report.steps,
        report.ended,
        start.elapsed()
    );
    report
}

/// States of a scenario in CI.
const STATES: usize = 8_000;

fn holds(name: &str, scenario: &Scenario) {
    let states = std::env::var("XUD_STATES")
        .ok()
        .and_then(|text| text.parse().ok());
    let scenario = &Scenario {
        max_states: states.unwrap_or(STATES),
        ..scenario.clone()
    };
    let report = run(name, scenario);
    if let Some(counterexample) = report.counterexample {
        panic!("{name}: {counterexample}");
    }
    assert!(report.ended > 0, "{name}: nothing ever ended");
    if report.truncated {
        println!("{name}: the first {} states only", report.states);
    }
}

/// The mutation must be caught by one of these violations; prints the way there.
fn caught(scenario: &Scenario, mutations: Mutations, expected: fn(&Violation) -> bool) {
    let scenario = Scenario {
        mutations,
        ..scenario.clone()
    };
    let report = run("mutation", &scenario);
    let Some(counterexample) = report.counterexample else {
        panic!("{:?} is not caught", scenario.mutations)
    };
    println!("{counterexample}");
    assert!(expected(&counterexample.what), "{counterexample}");
}

/// PSNs of one bit: every number is used again while acknowledgements of its earlier use are still under way.
fn wrap() -> Scenario {
    Scenario {
        psn_bits: 1,
        ..Scenario::new(2)
    }
}

fn receiver_restart() -> Scenario {
    Scenario {
        receiver_restarts: 1,
        ..Scenario::new(2)
    }
}

fn sender_restart() -> Scenario {
    Scenario {
        sender_restarts: 1,
        attempts: 1,
        ..Scenario::new(2)
    }
}

fn slow() -> Scenario {
    Scenario {
        slow_landing: true,
        receiver_restarts: 1,
        receives: 1,
        ..Scenario::new(1)
    }
}

fn two_queues() -> Scenario {
    Scenario {
        messages: vec![0, 1],
        attempts: 1,
        ..Scenario::new(2)
    }
}

#[test]
fn xud_02_xud_03_xud_08_xud_10_hold_when_numbers_wrap() {
    holds("PSN wrap", &wrap());
}

#[test]
fn xud_02_xud_06_xud_10_hold_from_the_opening_on() {
    holds(
        "opening",
        &Scenario {
            opened: false,
            ..Scenario::new(1)
        },
    );
}

#[test]
fn xud_02_xud_05_xud_10_hold_with_late_acknowledgements_and_two_windows() {
    holds(
        "two windows",
        &Scenario {
            windows: 2,
            attempts: 1,
            ..Scenario::new(2)
        },
    );
}

#[test]
fn xud_06_xud_10_hold_when_the_receiver_restarts() {
    holds("receiver restarts", &receiver_restart());
}

#[test]
fn xud_06_xud_10_hold_when_the_sender_restarts() {
    holds("sender restarts", &sender_restart());
}

#[test]
fn xud_04_holds_with_slow_landing_and_one_receive_request() {
    holds("slow landing", &slow());
}

#[test]
fn xud_07_holds_for_two_queue_pairs() {
    holds("two queue pairs", &two_queues());
}

#[test]
fn xud_03_mutation_psn_only_is_caught_as_a_loss() {
    let mutations = Mutations {
        psn_only: true,
        ..Mutations::default()
    };
    caught(&wrap(), mutations, |what| {
        matches!(what, Violation::Lost(_))
    });
}

#[test]
fn xud_06_mutation_no_epoch_is_caught_when_the_receiver_restarts() {
    let mutations = Mutations {
        no_epoch: true,
        ..Mutations::default()
    };
    caught(&receiver_restart(), mutations, |what| {
        matches!(what, Violation::Lost(_) | Violation::Twice(_))
    });
}

#[test]
fn xud_04_mutation_early_ack_is_caught_as_a_loss() {
    let mutations = Mutations {
        early_ack: true,
        ..Mutations::default()
    };
    caught(&slow(), mutations, |what| {
        matches!(what, Violation::Lost(_))
    });
}

#[test]
fn xud_04_mutation_no_reserve_is_caught_as_a_loss() {
    let mutations = Mutations {
        no_reserve: true,
        ..Mutations::default()
    };
    caught(
        &Scenario {
            receives: 1,
            windows: 2,
            receiver_restarts: 0,
            ..slow()
        },
        mutations,
        |what| matches!(what, Violation::Lost(_)),
    );
}

#[test]
fn xud_05_mutation_short_msn_is_caught() {
    let mutations = Mutations {
        short_msn: true,
        ..Mutations::default()
    };
    caught(&Scenario::new(3), mutations, |what| {
        matches!(what, Violation::Twice(_) | Violation::Lost(_))
    });
}

#[test]
fn xud_05_xud_10_mutation_no_duplicate_check_is_caught_as_a_second_delivery() {
    let mutations = Mutations {
        no_duplicate_check: true,
        ..Mutations::default()
    };
    caught(&Scenario::new(1), mutations, |what| {
        matches!(what, Violation::Twice(_))
    });
}

#[test]
fn xud_08_mutation_no_bound_is_caught_as_endless() {
    let mutations = Mutations {
        no_bound: true,
        ..Mutations::default()
    };
    caught(&Scenario::new(1), mutations, |what| {
        matches!(what, Violation::Endless(_))
    });
}

#[test]
fn xud_08_mutation_reuse_window_is_caught() {
    let mutations = Mutations {
        reuse_window: true,
        ..Mutations::default()
    };
    caught(&Scenario::new(2), mutations, |what| {
        matches!(what, Violation::Lost(_) | Violation::Twice(_))
    });
}

#[test]
fn xud_07_mutation_peer_by_node_is_caught() {
    let mutations = Mutations {
        peer_by_node: true,
        ..Mutations::default()
    };
    caught(&two_queues(), mutations, |what| {
        matches!(what, Violation::Lost(_) | Violation::Foreign)
    });
}
