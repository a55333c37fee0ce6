//! Runs and their figures.

use anyhow::{Result, ensure};
use serde::Serialize;
use tributary_protocol::multicast::group::GroupConfig;
use tributary_sim::multicast::mpi::{Broadcast, best};
use tributary_sim::multicast::{Fault, GroupPlan, Plan, Report, Time, run};

use crate::sim::CLOCK_NS;

/// Rate of a port.
pub const RATE_GBPS: f64 = 100.0;
/// Time of a byte on it, femtoseconds.
pub const BYTE_TIME: Time = 80_000;
/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 65_536;
/// Time of a block.
const BLOCK_TIME: Time = BLOCK_BYTES as Time * BYTE_TIME;
/// Femtoseconds of a nanosecond.
const NS: f64 = 1e6;
/// Latency of a link, percent of a block time.
const LATENCIES: [u64; 3] = [0, 5, 25];
/// Blocks of a message.
const BLOCKS: [u32; 6] = [1, 4, 16, 64, 256, 1_024];
/// What a host's software takes for each block that it receives and for each that it sends, clocks.
const COSTS: [u32; 3] = [0, 250, 1_000];

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    members: u32,
    blocks: u32,
    percent: u64,
}

/// Time over step bound.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Members of the group.
    pub members: u32,
    /// Blocks of the message.
    pub blocks: u32,
    /// Latency of a link over the time of a block.
    pub latency_over_block: f64,
    /// Steps of the schedule.
    pub steps: u64,
    /// Time until the last block arrived, over the time of the steps.
    pub time_over_bound: f64,
    /// Step bound over time.
    pub share_of_bound: f64,
}

fn sizes(most: u32) -> impl Iterator<Item = u32> {
    [
        2, 3, 4, 5, 8, 12, 16, 32, 64, 100, 128, 256, 512, 1_000, 1_024,
    ]
    .into_iter()
    .filter(move |&n| n <= most)
}

/// Points beside the step bound.
pub fn cases(most: u32) -> Vec<Case> {
    let mut cases = Vec::new();
    for members in sizes(most) {
        for blocks in BLOCKS {
            for percent in LATENCIES {
                cases.push(Case {
                    members,
                    blocks,
                    percent,
                });
            }
        }
    }
    cases
}

/// Points beside other broadcasts.
pub fn compared(most: u32) -> Vec<Case> {
    let case = |members, blocks| Case {
        members,
        blocks,
        percent: 5,
    };
    let mut cases: Vec<Case> = sizes(most).map(|n| case(n, 256)).collect();
    cases.extend(sizes(most).map(|n| case(n, 8)));
    let middle = 64.min(most);
    cases.extend([1, 2, 4, 16, 32, 64, 128, 512, 1_024].map(|k| case(middle, k)));
    cases
}

fn plan(case: Case, offload: bool) -> Plan {
    let mut config = GroupConfig::new(case.members, BLOCK_BYTES);
    config.offload = offload;
    let mut plan = Plan::new(case.members, BYTE_TIME);
    plan.latency = BLOCK_TIME * case.percent / 100;
    let bytes = u64::from(case.blocks) * u64::from(BLOCK_BYTES);
    plan.groups.push(GroupPlan::one(config, bytes));
    plan
}

/// Runs it; nothing may be wrong.
pub fn good(plan: &Plan) -> Result<Report> {
    let report = run(plan)?;
    ensure!(
        report.wrong.is_empty(),
        "the run went wrong: {}",
        report.wrong.join("; ")
    );
    Ok(report)
}

/// One point, carried out by cards.
pub fn point(case: Case) -> Result<Point> {
    let report = good(&plan(case, true))?;
    let group = &report.groups[0];
    Ok(Point {
        members: case.members,
        blocks: case.blocks,
        latency_over_block: case.percent as f64 / 100.0,
        steps: group.steps,
        time_over_bound: group.end as f64 / group.bound as f64,
        share_of_bound: group.bound as f64 / group.end as f64,
    })
}

/// Block multicast beside broadcasts as MPI libraries do them.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// Members of the group.
    pub members: u32,
    /// Blocks of the message, of block multicast.
    pub blocks: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// Latency of a link.
    pub latency_ns: f64,
    /// Block multicast by cards, blocks of the fixed size.
    pub time_ns: f64,
    /// The same with the block size tuned.
    pub tuned_ns: f64,
    /// The block size that was best.
    pub tuned_block_bytes: u32,
    /// Each broadcast with its best number of segments; null where it does not exist.
    pub binomial_tree_ns: Option<f64>,
    /// Scatter, then all-gather around a ring.
    pub scatter_ring_ns: Option<f64>,
    /// Scatter, then all-gather by recursive doubling.
    pub scatter_doubling_ns: Option<f64>,
    /// The best of these over block multicast with blocks of the fixed size.
    pub speedup: f64,
    /// The best of these over block multicast with its block size tuned, as theirs is.
    pub speedup_tuned: f64,
}

/// One comparison.
pub fn against(case: Case) -> Result<Against> {
    let fixed = plan(case, true);
    let time = good(&fixed)?.groups[0].end;
    let bytes = fixed.groups[0].messages[0].1;
    let mut tuned = (time, BLOCK_BYTES);
    for shift in 1..=4 {
        for block_bytes in [BLOCK_BYTES >> shift, BLOCK_BYTES << shift] {
            let blocks = bytes.div_ceil(block_bytes.into());
            if blocks == 0 || blocks * u64::from(case.members) > 300_000 {
                continue;
            }
            let mut other = fixed.clone();
            other.groups[0].config.block_bytes = block_bytes;
            tuned = tuned.min((good(&other)?.groups[0].end, block_bytes));
        }
    }
    let [tree, ring, doubling] = Broadcast::ALL.map(|broadcast| {
        let found = best(broadcast, case.members, bytes, BYTE_TIME, fixed.latency);
        found.map(|(_, time)| time)
    });
    let theirs = [tree, ring, doubling].into_iter().flatten().min();
    let over = |own: Time| theirs.map_or(0.0, |time| time as f64 / own as f64);
    let ns = |time: Time| time as f64 / NS;
    Ok(Against {
        members: case.members,
        blocks: case.blocks,
        bytes,
        latency_ns: ns(fixed.latency),
        time_ns: ns(time),
        tuned_ns: ns(tuned.0),
        tuned_block_bytes: tuned.1,
        binomial_tree_ns: tree.map(ns),
        scatter_ring_ns: ring.map(ns),
        scatter_doubling_ns: doubling.map(ns),
        speedup: over(time),
        speedup_tuned: over(tuned.0),
    })
}

/// A run with something slow in it, or with groups that overlap.
#[derive(Clone, Debug, Serialize)]
pub struct Disturbed {
    /// What.
    pub what: String,
    /// Undisturbed time over time.
    pub share_of_undisturbed: f64,
    /// What a formula or the ports allow, if there is one.
    pub expected: Option<f64>,
}

/// Slow members, slow links, pauses, groups that overlap.
pub fn disturbed() -> Result<Vec<Disturbed>> {
    let case = Case {
        members: 64,
        blocks: 256,
        percent: 5,
    };
    let base = plan(case, true);
    let end = |plan: &Plan| -> Result<f64> {
        let report = good(plan)?;
        let last = report.groups.iter().map(|group| group.end).max();
        Ok(last.unwrap_or(0) as f64)
    };
    let alone = end(&base)?;
    let mut rows = Vec::new();
    let mut with = |what: String, faults: Vec<Fault>, expected| -> Result<()> {
        let mut plan = base.clone();
        plan.faults = faults;
        rows.push(Disturbed {
            what,
            share_of_undisturbed: alone / end(&plan)?,
            expected,
        });
        Ok(())
    };
    for rate in [0.5, 0.1] {
        let l = f64::from(case.members.ilog2());
        let formula = l * rate / (1.0 + (l - 1.0) * rate);
        let (a, b) = (20, 21);
        with(
            format!("a link at {rate} of the rate"),
            vec![Fault::SlowLink { a, b, rate }],
            Some(formula),
        )?;
        let node = 21;
        with(
            format!("a member's port at {rate} of the rate"),
            vec![Fault::SlowPort { node, rate }],
            Some(rate),
        )?;
    }
    let (node, at, time) = (21, 60 * BLOCK_TIME, 40 * BLOCK_TIME);
    with(
        "a member that stands still for 40 block times".to_owned(),
        vec![Fault::Pause { node, at, time }],
        Some(alone / (alone + time as f64)),
    )?;
    for groups in [2, 4, 8] {
        let mut plan = base.clone();
        for index in 1..groups {
            let mut group = base.groups[0].clone();
            group.nodes.rotate_left(index * 64 / groups);
            plan.groups.push(group);
        }
        rows.push(Disturbed {
            what: format!("{groups} groups of the same members, each with another root"),
            share_of_undisturbed: alone / end(&plan)?,
            // Every member takes the blocks of all groups but those that it roots.
            expected: Some(1.0 / groups as f64),
        });
    }
    Ok(rows)
}

/// What the hosts' software costs.
#[derive(Clone, Debug, Serialize)]
pub struct Software {
    /// Clocks of 6.4 ns for each block that a host receives and for each that it sends.
    pub host_clocks: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Share of the step bound, schedule by hosts.
    pub hosts: f64,
    /// Share of the step bound, schedule by cards.
    pub cards: f64,
}

/// The same message by hosts whose software takes its time, and by cards.
pub fn software() -> Result<Vec<Software>> {
    let mut rows = Vec::new();
    for block_bytes in [65_536, 1_048_576] {
        for host_clocks in COSTS {
            let share = |offload| -> Result<f64> {
                let case = Case {
                    members: 16,
                    blocks: 256,
                    percent: 5,
                };
                let mut plan = plan(case, offload);
                let group = &mut plan.groups[0];
                group.config.block_bytes = block_bytes;
                group.messages[0].1 = 256 * u64::from(block_bytes);
                plan.host_time = (f64::from(host_clocks) * CLOCK_NS * NS) as Time;
                let report = good(&plan)?;
                Ok(report.groups[0].bound as f64 / report.groups[0].end as f64)
            };
            rows.push(Software {
                host_clocks,
                block_bytes,
                hosts: share(false)?,
                cards: share(true)?,
            });
        }
    }
    Ok(rows)
}
