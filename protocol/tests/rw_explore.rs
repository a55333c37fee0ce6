//! The configurations and mutations of the receiver-window rules, explored exhaustively.

use tributary_protocol::rw::{
    Mutations,
    explore::{Report, Scenario, explore},
};

fn run(name: &str, scenario: &Scenario) -> Report {
    let start = std::time::Instant::now();
    let report = explore(scenario);
    println!(
        "{name}: {} states, {} with messages, {} messages, {} steps, {} ends, {:?}",
        report.states,
        report.nodes,
        report.messages,
        report.steps,
        report.ended,
        start.elapsed()
    );
    report
}

/// Every exploration checks every property; the test names only share them out.
fn holds(name: &str, scenario: &Scenario) {
    let report = run(name, scenario);
    if let Some(counterexample) = report.counterexample {
        panic!("{name}: {counterexample}");
    }
    assert!(
        !report.truncated && report.ended > 0,
        "{name}: more than {} states",
        scenario.max_states
    );
}

#[test]
fn p_01_p_02_p_03_p_04_p_05_p_06_hold_for_3_then_2_with_w_2() {
    holds("3,2 W=2", &Scenario::new(&[3, 2], 2));
}

#[test]
fn p_07_p_12_p_13_p_14_p_18_p_19_hold_for_2_2_with_polls_and_requests() {
    holds(
        "2,2 requests",
        &Scenario {
            requests: true,
            ..Scenario::new(&[2, 2], 2)
        },
    );
}

#[test]
fn p_01_p_02_p_12_p_18_hold_for_4_2_with_n_above_w() {
    holds("4,2 W=2", &Scenario::new(&[4, 2], 2));
}

#[test]
fn p_03_p_04_p_13_p_18_p_19_hold_for_2_1_1_with_a_sender_that_gives_up() {
    holds(
        "2,1,1 give up",
        &Scenario {
            give_up: true,
            ..Scenario::new(&[2, 1, 1], 2)
        },
    );
}

/// Transfers with a receiver that forgets. One that has forgotten can open a window for each late CONNECT, oldest first.
fn forgetful(transfers: &[u32], forget: u32, gen_bits: u32) -> Scenario {
    Scenario {
        forget,
        gen_bits,
        ..Scenario::new(transfers, 2)
    }
}

#[test]
fn bw_10_forgetting_what_has_ended_writes_nothing_and_completes_nothing_twice() {
    holds("2,1 forget 2", &forgetful(&[2, 1], 2, 3));
    holds("1,1,1 forget 1", &forgetful(&[1, 1, 1], 1, 3));
    holds("1,1 forget 4", &forgetful(&[1, 1], 4, 4));
    let requests = Scenario {
        requests: true,
        ..forgetful(&[2, 1], 2, 3)
    };
    holds("2,1 forget 2, requests", &requests);
    let give_up = Scenario {
        give_up: true,
        requests: true,
        ..forgetful(&[1, 1], 2, 3)
    };
    holds("1,1 forget 2, give up", &give_up);
}

#[test]
fn bw_10_what_bounds_forgetting_is_that_generations_come_round() {
    // One opening more than there are generations, with packets that live for ever: a late one is taken for one of now.
    for (name, scenario) in [
        ("1,1 forget 3", forgetful(&[1, 1], 3, 2)),
        ("1,1 forget 7", forgetful(&[1, 1], 7, 3)),
    ] {
        let found = run(name, &scenario).counterexample;
        let found = found.expect("a late packet is written");
        assert!(["P1", "P5", "RW-2"].contains(&found.property), "{found}");
    }
}

#[test]
fn p_01_p_14_p_18_p_19_hold_for_2_1_1_with_giving_up_and_requests() {
    holds(
        "2,1,1 give up, requests",
        &Scenario {
            give_up: true,
            requests: true,
            ..Scenario::new(&[2, 1, 1], 2)
        },
    );
}

#[test]
fn p_02_p_05_hold_with_slow_writes() {
    holds(
        "2,1 slow writes",
        &Scenario {
            slow_writes: true,
            ..Scenario::new(&[2, 1], 2)
        },
    );
}

/// In hardware a window slides some clocks after the packet that makes it: packets and messages may come in between.
#[test]
fn p_01_p_02_p_04_p_18_p_19_hold_for_4_2_with_late_slides() {
    holds(
        "4,2 W=2 late slides",
        &Scenario {
            late_slides: true,
            ..Scenario::new(&[4, 2], 2)
        },
    );
}

#[test]
fn p_03_p_07_p_12_p_24_hold_for_3_2_with_late_slides_requests_slow_writes_and_the_extras_of_the_sender()
 {
    holds(
        "3,2 W=2 late slides, requests, slow writes, extras",
        &Scenario {
            late_slides: true,
            requests: true,
            slow_writes: true,
            extras: true,
            ..Scenario::new(&[3, 2], 2)
        },
    );
}

#[test]
fn p_13_p_14_p_18_hold_for_2_1_1_with_late_slides_and_a_sender_that_gives_up() {
    holds(
        "2,1,1 late slides, give up, requests",
        &Scenario {
            late_slides: true,
            give_up: true,
            requests: true,
            ..Scenario::new(&[2, 1, 1], 2)
        },
    );
}

/// The same scenarios with everything that the sender may do beyond strict credit and one copy of each packet.
#[test]
fn p_01_p_03_p_07_hold_for_3_then_2_with_the_extras_of_the_sender() {
    holds(
        "3,2 W=2 extras",
        &Scenario {
            extras: true,
            ..Scenario::new(&[3, 2], 2)
        },
    );
}

#[test]
fn p_12_p_18_p_19_hold_for_2_2_with_requests_and_the_extras_of_the_sender() {
    holds(
        "2,2 requests, extras",
        &Scenario {
            extras: true,
            requests: true,
            ..Scenario::new(&[2, 2], 2)
        },
    );
}

#[test]
fn p_02_p_12_p_18_hold_for_4_2_with_the_extras_of_the_sender() {
    holds(
        "4,2 W=2 extras",
        &Scenario {
            extras: true,
            ..Scenario::new(&[4, 2], 2)
        },
    );
}

#[test]
fn p_04_p_13_p_14_hold_for_2_1_1_with_giving_up_requests_and_the_extras_of_the_sender() {
    holds(
        "2,1,1 give up, requests, extras",
        &Scenario {
            extras: true,
            give_up: true,
            requests: true,
            ..Scenario::new(&[2, 1, 1], 2)
        },
    );
}

#[test]
fn p_02_p_05_hold_with_slow_writes_and_the_extras_of_the_sender() {
    holds(
        "2,1 slow writes, extras",
        &Scenario {
            extras: true,
            slow_writes: true,
            ..Scenario::new(&[2, 1], 2)
        },
    );
}

#[test]
fn p_18_p_19_hold_for_2_2_1_with_giving_up_requests_and_the_extras_of_the_sender() {
    holds(
        "2,2,1 give up, requests, extras",
        &Scenario {
            extras: true,
            give_up: true,
            requests: true,
            ..Scenario::new(&[2, 2, 1], 2)
        },
    );
}

#[test]
fn p_01_p_05_p_18_hold_for_2_1_1_with_everything_at_once() {
    holds(
        "2,1,1 give up, requests, extras, slow writes",
        &Scenario {
            extras: true,
            give_up: true,
            requests: true,
            slow_writes: true,
            ..Scenario::new(&[2, 1, 1], 2)
        },
    );
}

/// The long form: a window of 4.
#[test]
#[ignore = "takes most of a minute"]
fn p_01_p_18_hold_for_5_2_with_w_4_requests_and_the_extras_of_the_sender() {
    holds(
        "5,2 W=4 requests, extras",
        &Scenario {
            extras: true,
            requests: true,
            ..Scenario::new(&[5, 2], 4)
        },
    );
}

/// The mutation must be caught by this property; prints the way there.
fn caught(property: &str, scenario: &Scenario) {
    let report = explore(scenario);
    let Some(counterexample) = report.counterexample else {
        panic!(
            "{:?} with {} gen bits is not caught in {} states",
            scenario.mutations, scenario.gen_bits, report.states
        )
    };
    println!("{counterexample}");
    assert_eq!(counterexample.property, property, "{counterexample}");
    assert!(!counterexample.steps.is_empty());
}

fn mutated(transfers: &[u32], mutations: Mutations) -> Scenario {
    Scenario {
        mutations,
        ..Scenario::new(transfers, 2)
    }
}

#[test]
fn mutation_no_gen_is_caught_by_p1() {
    caught(
        "P1",
        &mutated(
            &[2, 2],
            Mutations {
                no_gen: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn mutation_one_bit_gen_is_caught_by_p1() {
    caught(
        "P1",
        &Scenario {
            gen_bits: 1,
            ..Scenario::new(&[1, 1, 1], 2)
        },
    );
    holds(
        "1,1 with 1-bit gen",
        &Scenario {
            gen_bits: 1,
            ..Scenario::new(&[1, 1], 2)
        },
    );
}

#[test]
fn mutation_no_poll_is_caught_by_p18() {
    let scenario = mutated(
        &[1],
        Mutations {
            no_poll: true,
            ..Default::default()
        },
    );
    caught("P18", &scenario);
    // The receiver's own timers do not help: it is the COMPLETE that is lost.
    caught(
        "P18",
        &Scenario {
            requests: true,
            ..scenario
        },
    );
}

#[test]
fn mutation_no_duplicate_check_is_caught_by_rw_2() {
    caught(
        "RW-2",
        &mutated(
            &[2],
            Mutations {
                no_duplicate_check: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn mutation_slide_off_by_one_is_caught_by_p12() {
    caught(
        "P12",
        &mutated(
            &[2],
            Mutations {
                slide_off_by_one: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn mutation_tail_not_by_index_is_caught_by_p18() {
    caught(
        "P18",
        &mutated(
            &[2],
            Mutations {
                tail_on_first_only: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn mutation_completion_on_tail_alone_is_caught_by_p2() {
    caught(
        "P2",
        &mutated(
            &[2],
            Mutations {
                complete_on_tail: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn mutation_range_from_wbase_is_caught_by_p24() {
    let mutations = Mutations {
        range_from_wbase: true,
        ..Default::default()
    };
    caught(
        "P24",
        &Scenario {
            requests: true,
            ..mutated(&[3], mutations)
        },
    );
}

#[test]
fn mutation_xid_unchecked_on_complete_is_caught_by_p3() {
    caught(
        "P3",
        &mutated(
            &[1, 1],
            Mutations {
                any_xid_completes: true,
                ..Default::default()
            },
        ),
    );
}

#[test]
fn a_counterexample_reads_as_a_message_sequence() {
    let scenario = mutated(
        &[1],
        Mutations {
            no_poll: true,
            ..Default::default()
        },
    );
    let report = explore(&Scenario {
        requests: true,
        ..scenario
    });
    let text = report
        .counterexample
        .map(|c| c.to_string())
        .unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("P18 is violated: "), "{text}");
    assert!(
        lines[1].starts_with("  1. sender -> CONNECT src=0 slot=0"),
        "{text}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("network loses COMPLETE")),
        "{text}"
    );
}
