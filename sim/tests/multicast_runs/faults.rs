//! Pauses, slow links, groups that share ports, deaths, plans that cannot be.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::{GroupConfig, Verdict};
use tributary_sim::multicast::{Fault, GroupPlan, Plan, run};

use crate::common::{B, BLOCK, BYTE, good, plan};

fn seeds(count: u64) -> std::ops::Range<u64> {
    let seed = std::env::var("TRIBUTARY_SEED").ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("TRIBUTARY_SEED={text}: not a number"))
    });
    seed.map_or(0..count, |seed: u64| seed..seed + 1)
}

#[test]
fn mb_15_a_pause_delays_the_end_by_no_more_than_itself() {
    for seed in seeds(400) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (n, k) = (rng.random_range(2..40), rng.random_range(1..60));
        let mut plan = plan(Algorithm::BinomialPipeline, n, k);
        plan.latency = B * [0, 5, 25, 17][rng.random_range(0..4)] / 100;
        plan.groups[0].config.offload = rng.random_range(0..2) == 1;
        let before = good(&plan).groups[0].end;
        let time = rng.random_range(0..4 * B);
        plan.faults.push(Fault::Pause {
            node: rng.random_range(0..n),
            at: rng.random_range(0..before),
            time,
        });
        let after = good(&plan).groups[0].end;
        assert!(
            (before..=before + time).contains(&after),
            "TRIBUTARY_SEED={seed}: {n} members, {k} blocks, a pause of {time}: {before}, then {after}"
        );
    }
}

#[test]
fn mb_15_a_slow_link_costs_what_the_formula_says() {
    for n in [4u32, 8, 16, 32, 64] {
        for rate in [0.5, 0.25, 0.1] {
            for (a, b) in [(1, 3), (0, 1), (n / 2, n / 2 + 1)] {
                let mut plan = plan(Algorithm::BinomialPipeline, n, 400);
                plan.faults.push(Fault::SlowLink { a, b, rate });
                let group = &good(&plan).groups[0];
                let l = f64::from(n.ilog2());
                let formula = l * rate / (1.0 + (l - 1.0) * rate);
                let got = group.bound as f64 / group.end as f64;
                assert!(
                    (got / formula - 1.0).abs() < 0.03,
                    "{n} members, link {a}-{b} at {rate}: {got} {formula}"
                );
            }
        }
    }
}

#[test]
fn mb_08_groups_that_overlap_share_ports_fairly() {
    // Two equal groups on the same nodes: each takes twice its time, neither starves.
    for offload in [false, true] {
        let mut plan = plan(Algorithm::BinomialPipeline, 8, 64);
        plan.groups[0].config.offload = offload;
        let alone = good(&plan).groups[0].end;
        let mut second = plan.groups[0].clone();
        second.nodes.reverse();
        plan.groups.push(second);
        let report = good(&plan);
        let ends = [report.groups[0].end, report.groups[1].end];
        for end in ends {
            let ratio = end as f64 / alone as f64;
            assert!((1.2..=2.05).contains(&ratio), "{ends:?} {alone}");
        }
        assert!(ends[0].abs_diff(ends[1]) < alone / 10, "{ends:?}");
    }
}

#[test]
fn mb_08_four_roots_of_the_same_members_take_turns_at_every_port() {
    let mut plan = plan(Algorithm::BinomialPipeline, 4, 100);
    let first = plan.groups[0].clone();
    for root in 1..4 {
        let mut group = first.clone();
        group.nodes.rotate_left(root);
        plan.groups.push(group);
    }
    let report = good(&plan);
    let ends: Vec<u64> = report.groups.iter().map(|g| g.end).collect();
    // Each port takes 300 blocks.
    let least = 300 * B;
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(*last >= least && *last < least * 13 / 10, "{ends:?}");
    assert!(last - first < least / 10, "{ends:?}");
}

/// A run with deaths. Whether anyone learnt of one.
fn deadly(seed: u64) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n: u32 = rng.random_range(2..24);
    let k = rng.random_range(1..20);
    let algorithm = Algorithm::ALL[rng.random_range(0..4)];
    let mut plan = plan(algorithm, n, k);
    plan.groups[0].config.offload =
        algorithm == Algorithm::BinomialPipeline && rng.random_range(0..2) == 1;
    plan.groups[0].messages = (0..rng.random_range(1..4))
        .map(|_| (0, rng.random_range(0..u64::from(k) * u64::from(BLOCK))))
        .collect();
    plan.latency = B * [0, 5, 25][rng.random_range(0..3)] / 100;
    plan.detection = rng.random_range(0..5 * B);
    plan.host_time = [0, B / 10][rng.random_range(0..2)];
    let steps = u64::from(n + k) * 2;
    for _ in 0..rng.random_range(1..4) {
        let (node, at) = (rng.random_range(0..n), rng.random_range(0..steps * B));
        plan.faults.push(Fault::Kill { node, at });
    }
    let report = run(&plan).unwrap();
    assert!(
        report.wrong.is_empty(),
        "TRIBUTARY_SEED={seed}: {:#?}\n{plan:?}",
        report.wrong
    );
    let mut members = report.groups[0].members.iter();
    members.any(|m| m.failed.is_some())
}

#[test]
fn mb_12_mb_13_random_deaths_give_no_wrong_verdict() {
    let runs = seeds(1_500);
    let many = runs.clone().count();
    let learnt = runs.filter(|&seed| deadly(seed)).count();
    assert!(many == 1 || learnt > many / 4, "{learnt} of {many}");
}

#[test]
fn mb_12_survivors_know_of_a_death_within_the_diameter_and_one_detection_time() {
    for seed in seeds(300) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n: u32 = rng.random_range(3..70);
        let mut plan = plan(Algorithm::BinomialPipeline, n, 40);
        plan.latency = B / 20;
        plan.detection = 3 * B;
        plan.groups[0].config.offload = rng.random_range(0..2) == 1;
        let (node, at) = (rng.random_range(0..n), rng.random_range(0..35 * B));
        plan.faults.push(Fault::Kill { node, at });
        let schedule = plan.groups[0].config.schedule(1).unwrap();
        let diameter = u64::from(diameter_without(n, node, |rank| {
            schedule.neighbours(rank).collect()
        }));
        let report = good(&plan);
        for (rank, member) in report.groups[0].members.iter().enumerate() {
            if rank as u32 == node {
                continue;
            }
            let (when, suspect, _) = member.failed.expect("a death in the middle is noticed");
            assert_eq!(suspect, node);
            let most = at + plan.detection + diameter * plan.latency;
            assert!(
                when <= most,
                "TRIBUTARY_SEED={seed}: {rank} at {when} > {most}"
            );
        }
        let failed = |m: &tributary_sim::multicast::Ended| {
            matches!(m.verdict, Some((_, Verdict::Failure { .. })))
        };
        assert_eq!(
            report.groups[0]
                .members
                .iter()
                .filter(|m| failed(m))
                .count() as u32,
            n - 1
        );
    }
}

/// Longest way between two survivors along neighbours that live.
fn diameter_without(n: u32, dead: u32, neighbours: impl Fn(u32) -> Vec<u32>) -> u32 {
    let mut longest = 0;
    for start in (0..n).filter(|&rank| rank != dead) {
        let mut far = vec![u32::MAX; n as usize];
        far[start as usize] = 0;
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(rank) = queue.pop_front() {
            for next in neighbours(rank) {
                if next != dead && far[next as usize] == u32::MAX {
                    far[next as usize] = far[rank as usize] + 1;
                    longest = longest.max(far[next as usize]);
                    queue.push_back(next);
                }
            }
        }
    }
    longest
}

#[test]
fn mb_08_plans_that_cannot_be_are_refused() {
    let good = {
        let mut plan = Plan::new(4, BYTE);
        plan.groups
            .push(GroupPlan::one(GroupConfig::new(4, BLOCK), 10));
        plan
    };
    type Change = fn(&mut Plan);
    let wrong: [(Change, &str); 9] = [
        (
            |p| p.groups[0].nodes = vec![0, 1, 2, 1],
            "node 1 is a member twice, as rank 1 and rank 3",
        ),
        (
            |p| p.groups[0].nodes = vec![0, 1, 2, 4],
            "node 4: there are nodes 0 to 3",
        ),
        (|p| p.groups[0].nodes = vec![0, 1], "4 members, but 2 nodes"),
        (|p| p.groups[0].config.block_bytes = 0, "blocks of 0 bytes"),
        (|p| p.groups[0].messages = vec![(0, u64::MAX)], "has up to"),
        (|p| p.byte_time = 0, "a port has a rate"),
        (
            |p| p.faults = vec![Fault::SlowPort { node: 1, rate: 0.0 }],
            "a rate of 0",
        ),
        (
            |p| p.faults = vec![Fault::Kill { node: 9, at: 0 }],
            "node 9",
        ),
        (
            |p| {
                p.groups[0].config.offload = true;
                p.groups = vec![p.groups[0].clone(); 17];
            },
            "node 0 is in 17 offloaded groups; its card has places for 16",
        ),
    ];
    assert!(run(&good).is_ok());
    for (change, text) in wrong {
        let mut plan = good.clone();
        change(&mut plan);
        let error = run(&plan).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}
