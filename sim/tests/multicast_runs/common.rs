//! Runs of one group.

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::GroupConfig;
use tributary_sim::multicast::{GroupPlan, Plan, Report, Time, run};

/// Bytes of a block, and its time.
pub const BLOCK: u32 = 1_000;
pub const BYTE: Time = 80_000;
pub const B: Time = BLOCK as Time * BYTE;

/// One message of `blocks` blocks to `members` members.
pub fn plan(algorithm: Algorithm, members: u32, blocks: u32) -> Plan {
    let mut config = GroupConfig::new(members, BLOCK);
    config.algorithm = algorithm;
    plan_of(config, blocks)
}

pub fn plan_of(config: GroupConfig, blocks: u32) -> Plan {
    let mut plan = Plan::new(config.members, BYTE);
    let length = u64::from(blocks) * u64::from(BLOCK);
    plan.groups.push(GroupPlan::one(config, length));
    plan
}

/// Runs it; nothing may be wrong.
pub fn good(plan: &Plan) -> Report {
    let report = run(plan).unwrap();
    assert!(report.wrong.is_empty(), "{:#?}\n{plan:?}", report.wrong);
    report
}

/// Share of the step bound that a run reaches.
pub fn efficiency(plan: &Plan) -> f64 {
    let report = good(plan);
    report.groups[0].bound as f64 / report.groups[0].end as f64
}
