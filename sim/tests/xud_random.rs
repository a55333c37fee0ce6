//! Datagrams over bad links, from seeds. `XUD_SEED=n` replays one run; the command for 10^7 messages is in docs/xud.md.

use tributary_sim::xud::{Plan, Report, run};

fn plan(seed: u64) -> Plan {
    Plan {
        messages: 20_000,
        size: 64,
        mtu: 512,
        windows: 64,
        ordered: false,
        round_trip_slots: 128,
        reorder_slots: 64,
        loss: 0.01,
        duplication: 0.01,
        seed,
        slot_ns: 13,
    }
}

fn perfect(plan: Plan) -> Report {
    let seed = std::env::var("XUD_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let plan = Plan {
        seed: seed.unwrap_or(plan.seed),
        ..plan
    };
    println!("seed {}: {plan:?}", plan.seed);
    let report = run(&plan, &mut |_, _, _| Ok(()), &mut |_| {}).unwrap();
    assert!(report.good(&plan), "seed {}: {report:?}", plan.seed);
    assert!(report.links[0].lost > 0 && report.links[1].duplicated > 0);
    report
}

#[test]
fn xud_10_100_000_messages_arrive_once_over_loss_duplication_and_reordering() {
    let reports: Vec<Report> = (1..=5).map(|seed| perfect(plan(seed))).collect();
    assert_eq!(
        reports.iter().map(|report| report.delivered).sum::<u64>(),
        100_000
    );
    assert!(reports.iter().all(|report| report.layers[0].resent > 0));
}

#[test]
fn xud_11_ordered_messages_stay_in_order_at_a_tenth_lost() {
    perfect(Plan {
        messages: 5_000,
        ordered: true,
        loss: 0.1,
        duplication: 0.1,
        ..plan(6)
    });
}

#[test]
fn xud_12_fragments_of_64_kib_over_a_bad_link() {
    perfect(Plan {
        messages: 60,
        size: 65_536,
        loss: 0.03,
        ordered: true,
        ..plan(7)
    });
}

#[test]
fn a_run_replays_from_its_seed() {
    let twice = [(); 2].map(|()| {
        format!(
            "{:?}",
            perfect(Plan {
                messages: 2_000,
                ..plan(8)
            })
        )
    });
    assert_eq!(twice[0], twice[1]);
}
