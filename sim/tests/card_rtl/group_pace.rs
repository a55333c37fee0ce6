//! How many clocks a frame of a reduction group (CL-5) takes in cards with everything.

use tributary_protocol::card::regs::REDUCTION_GROUPS;
use tributary_sim::card::CLOCK_NS;
use tributary_sim::testbench::stall::Profile;

use super::bench::{Dice, Queue};
use super::groups::{COOKIE, MTU, QPN, TREE, VNI, join_to, request, rtl, take};

/// Frames that each host posts and takes with one doorbell.
const LOT: u64 = 100;

/// Frames one way or both ways, of queue pairs of so many groups, whose send rings are never empty: how many clocks a frame takes, by
/// how many have landed, and from a doorbell to the completion at the other card at most.
fn pace(groups: u32, ways: u64) -> (f64, u64) {
    let mut dice = Dice::new(1);
    let mut pair = rtl(1, Profile::Free);
    let least = if groups == 1 { QPN } else { 0 };
    let queues = || (least..least + groups).map(|qpn| Queue::new(qpn, [8, 4, 9]));
    let mut queues = [0, 1].map(|_| queues().collect::<Vec<_>>());
    for (at, queues) in queues.iter().enumerate() {
        pair.open(at, MTU);
        for queue in queues {
            let group = queue.qpn - least;
            let group = [VNI, TREE + group, COOKIE + 8 * group];
            join_to(&mut pair, at, queue, &group);
        }
    }
    let posted = pair.now;
    // Of each queue pair: sent, and taken by the other host.
    let mut sent = [0, 1].map(|_| vec![0; queues[0].len()]);
    let mut taken = sent.clone();
    let (mut first, mut begin, mut end) = (0, None, (0, 0));
    while end.0 < 6_000 * ways {
        for at in 0..2 {
            for (group, queue) in queues[at].iter_mut().enumerate() {
                let open = sent[at][group] - taken[at][group];
                if open + LOT > 250 || at as u64 >= ways {
                    continue;
                }
                let rounds = sent[at][group]..sent[at][group] + LOT;
                let entries: Vec<_> = rounds.map(|r| request(&mut dice, at, r, 0)).collect();
                pair.post_entries(at, queue, &entries);
                queue.posted = queue.posted.wrapping_add(LOT as u16);
                sent[at][group] += LOT;
            }
        }
        pair.step();
        let mut there = 0;
        for at in 0..2 {
            for (group, queue) in queues[at].iter_mut().enumerate() {
                let new = pair.entries(at, queue).len() as u64;
                there += taken[1 - at][group] + new;
                if new >= LOT {
                    taken[1 - at][group] += take(&mut pair, at, queue).len() as u64;
                }
            }
        }
        end = (there, pair.now);
        if first == 0 && there > 0 {
            first = pair.now;
        }
        if begin.is_none() && there >= 1_000 * ways {
            begin = Some(end);
        }
        assert!(pair.now - posted < 120_000 * CLOCK_NS, "they do not come");
    }
    pair.check();
    let (before, began) = begin.expect("it has begun");
    let clocks = (end.1 - began) as f64 / CLOCK_NS as f64;
    (
        ways as f64 * clocks / (end.0 - before) as f64,
        (first - posted) / CLOCK_NS,
    )
}

#[test]
fn cl_05_cl_07_a_frame_of_a_group_leaves_each_13_clocks_also_both_ways() {
    for ways in [1, 2] {
        for groups in [1, 2, REDUCTION_GROUPS as u32] {
            let (clocks, first) = pace(groups, ways);
            println!(
                "{groups} groups, {ways} ways: {clocks:.2} clocks a frame; the first landed within {first} clocks"
            );
            assert!(clocks <= 13.05, "{groups} groups, {ways} ways: {clocks}");
        }
    }
}
