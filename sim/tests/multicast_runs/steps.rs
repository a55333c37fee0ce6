//! Runs take their steps, and latency costs what it must.

use std::collections::BTreeMap;

use tributary_protocol::multicast::group::GroupConfig;
use tributary_protocol::multicast::{Algorithm, Schedule};

use crate::common::{B, efficiency, good, plan, plan_of};

#[test]
fn mb_01_mb_02_mb_03_mb_04_mb_05_without_latency_a_run_takes_exactly_its_steps() {
    for n in 1..=300 {
        for algorithm in Algorithm::ALL {
            let blocks: &[u32] = match algorithm {
                Algorithm::BinomialPipeline if n > 64 => &[1, 5, 1 + n % 23],
                Algorithm::BinomialPipeline => &[1, 2, 3, 8, 1 + n % 7, 40],
                Algorithm::Hybrid => continue,
                _ if n % 10 != 3 && n > 20 => continue,
                _ => &[1, 4, 9],
            };
            for &k in blocks {
                takes_its_steps(algorithm, n, k, false);
            }
        }
    }
}

#[test]
fn mb_16_without_latency_cards_take_exactly_the_steps() {
    for n in (1..=20).chain((21..=300).step_by(13)) {
        for k in [1, 6, 1 + n % 23] {
            takes_its_steps(Algorithm::BinomialPipeline, n, k, true);
        }
    }
}

fn takes_its_steps(algorithm: Algorithm, n: u32, k: u32, offload: bool) {
    let mut plan = plan(algorithm, n, k);
    plan.groups[0].config.offload = offload;
    let report = good(&plan);
    let group = &report.groups[0];
    assert_eq!(
        (group.end, group.blocks),
        (group.steps * B, u64::from(k) * u64::from(n - 1)),
        "{algorithm}, {n} members, {k} blocks: {} steps",
        group.end as f64 / B as f64
    );
}

#[test]
fn mb_06_a_hybrid_run_takes_no_more_than_its_steps() {
    for racks in [vec![3, 3, 3], vec![1, 7, 2, 5], vec![12, 12, 12, 12]] {
        let mut config = GroupConfig::new(racks.iter().sum(), 1_000);
        config.algorithm = Algorithm::Hybrid;
        config.racks = racks;
        let report = good(&plan_of(config, 20));
        assert!(report.groups[0].end <= report.groups[0].steps * B);
    }
}

/// Share of the step bound with so much latency, percent of a block time.
fn share(n: u32, k: u32, percent: u64, offload: bool) -> f64 {
    let mut plan = plan(Algorithm::BinomialPipeline, n, k);
    plan.latency = B * percent / 100;
    plan.groups[0].config.offload = offload;
    efficiency(&plan)
}

#[test]
fn mb_09_two_credits_hide_most_of_the_latency() {
    for offload in [false, true] {
        for (n, five, twenty_five) in [(2, 0.99, 0.99), (8, 0.97, 0.87), (17, 0.97, 0.87)] {
            let got = (share(n, 256, 5, offload), share(n, 256, 25, offload));
            assert!(got.0 >= five && got.1 >= twenty_five, "{n}: {got:?}");
        }
        // The step bound counts no latency; what a chain of relays adds depends on the size of the hypercube.
        for n in [3, 4, 5, 6, 7, 12, 16, 31, 32, 33, 64, 100, 128] {
            let got = (share(n, 256, 5, offload), share(n, 256, 25, offload));
            assert!(got.0 >= 0.965 && got.1 >= 0.85, "{n}: {got:?}");
        }
    }
}

/// The time of a schedule at ports that take one block at a time and in its order, with nothing to wait for but blocks.
fn least_time(n: u32, k: u32, latency: u64) -> u64 {
    let schedule = Schedule::new(Algorithm::BinomialPipeline, n, k).unwrap();
    let (mut sends, mut receives) = (vec![0; n as usize], vec![0; n as usize]);
    let mut here = BTreeMap::new();
    for transfer in schedule.transfers() {
        let (from, to) = (transfer.src as usize, transfer.dst as usize);
        let block = here.get(&(transfer.src, transfer.block)).copied();
        let begins = sends[from].max(receives[to]).max(block.unwrap_or(0));
        (sends[from], receives[to]) = (begins + B, begins + B);
        here.insert((transfer.dst, transfer.block), begins + B + latency);
    }
    here.into_values().max().unwrap()
}

#[test]
fn mb_09_mb_16_cards_with_two_credits_take_the_least_time_of_the_schedule_and_latency() {
    for n in [2, 3, 4, 5, 8, 12, 16, 17, 33, 64, 100, 256] {
        for percent in [5, 25] {
            let least = least_time(n, 256, B * percent / 100);
            let mut plan = plan(Algorithm::BinomialPipeline, n, 256);
            plan.latency = B * percent / 100;
            plan.groups[0].config.offload = true;
            let end = good(&plan).groups[0].end;
            let over = end as f64 / least as f64;
            println!("{n} members, {percent} %: {over:.4} of the least time");
            // The last credits and the length of the message cost a few latencies.
            assert!((1.0..=1.01).contains(&over), "{n}, {percent}: {over}");
        }
    }
}

#[test]
fn mb_09_one_credit_pays_a_round_trip_for_each_block() {
    for percent in [5, 25] {
        let mut plan = plan(Algorithm::BinomialPipeline, 8, 256);
        plan.latency = B * percent / 100;
        plan.groups[0].config.mutations.one_credit = true;
        let bound = 100.0 / (100.0 + 2.0 * percent as f64);
        let got = efficiency(&plan);
        assert!((got / bound - 1.0).abs() < 0.01, "{percent}: {got} {bound}");
    }
}

#[test]
fn mb_10_mb_11_messages_of_any_length_arrive_whole_and_in_order() {
    for offload in [false, true] {
        for n in [1, 2, 5, 8, 11] {
            let mut plan = plan(Algorithm::BinomialPipeline, n, 1);
            plan.latency = B / 7;
            plan.groups[0].config.offload = offload;
            let lengths = [0, 1, 999, 1_000, 1_001, 20_500, 3, 7_777];
            plan.groups[0].messages = lengths.map(|length| (0, length)).to_vec();
            let report = good(&plan);
            let group = &report.groups[0];
            assert!(group.members.iter().all(|m| m.delivered.len() == 8));
            assert_eq!(group.bytes, lengths.iter().sum::<u64>() * u64::from(n - 1));
        }
    }
}

#[test]
fn mb_16_a_host_that_is_slow_or_stands_still_costs_an_offloaded_message_nothing() {
    use tributary_sim::multicast::Fault;
    let run = |offload, host_time, pause| {
        let mut plan = plan(Algorithm::BinomialPipeline, 8, 100);
        plan.latency = B / 20;
        plan.groups[0].config.offload = offload;
        plan.host_time = host_time;
        if pause {
            let (node, at, time) = (3, 10 * B, 50 * B);
            plan.faults.push(Fault::PauseHost { node, at, time });
        }
        good(&plan).groups[0].end
    };
    let free = run(true, 0, false);
    // Each host has one doorbell before the message.
    assert!(run(true, B / 2, false) <= free + 2 * (B / 2));
    assert_eq!(run(true, 0, true), free);
    assert!(run(false, B / 2, false) > free + 20 * B);
    assert!(run(false, 0, true) > free + 40 * B);
}
