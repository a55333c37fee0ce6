//! A storage service that writes objects in three copies: sizes log-normal with a median of 12 MB and a mean of 29 MB.

use anyhow::{Context, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_protocol::multicast::group::GroupConfig;
use tributary_sim::multicast::{GroupPlan, Plan, Report, Time};

use super::measure::{BYTE_TIME, RATE_GBPS, good};

const MEDIAN: f64 = 12e6;
const MEAN: f64 = 29e6;
/// Objects of a replay.
const OBJECTS: usize = 2_000;
/// The writer and three copies.
const MEMBERS: u32 = 4;
const BLOCK_BYTES: u32 = 1 << 20;
/// One way.
const LATENCY: Time = 2_000_000_000;
/// Offered, of what the writer's port carries.
const LOAD: f64 = 0.8;

/// Writes of objects in three copies.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// How the sizes were made.
    pub sizes: String,
    /// Objects.
    pub objects: usize,
    /// Copies of each.
    pub copies: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// One way.
    pub latency_ns: f64,
    /// Of these objects.
    pub median_bytes: u64,
    /// Of these objects.
    pub mean_bytes: u64,
    /// All objects one behind the other: bytes of objects a second, each written three times.
    pub throughput_gbps: f64,
    /// Random arrivals that fill the port to this share.
    pub load: f64,
    /// From the arrival of a write until the last copy is there.
    pub p50_ms: f64,
    /// The same.
    pub p99_ms: f64,
}

/// A number above 0 and below 1.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON / 4.0
}

/// Box and Muller's way to normal numbers.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * unit(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(rng)).cos()
}

fn writes(messages: Vec<(Time, u64)>) -> Result<Report> {
    let mut config = GroupConfig::new(MEMBERS, BLOCK_BYTES);
    config.offload = true;
    let mut plan = Plan::new(MEMBERS, BYTE_TIME);
    plan.latency = LATENCY;
    let mut group = GroupPlan::one(config, 0);
    group.messages = messages;
    plan.groups.push(group);
    good(&plan)
}

/// Replays them.
pub fn replay(seed: u64) -> Result<Replay> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sigma = (2.0 * (MEAN / MEDIAN).ln()).sqrt();
    let sizes: Vec<u64> = (0..OBJECTS)
        .map(|_| (MEDIAN * (sigma * normal(&mut rng)).exp()).round() as u64)
        .collect();
    let all: u64 = sizes.iter().sum();
    let busy = writes(sizes.iter().map(|&size| (0, size)).collect())?;
    let throughput_gbps = all as f64 * 8e6 / busy.groups[0].end as f64;
    let gap = all as f64 / OBJECTS as f64 * BYTE_TIME as f64 / LOAD;
    let mut at = 0.0;
    let arrivals: Vec<(Time, u64)> = sizes
        .iter()
        .map(|&size| {
            at -= gap * unit(&mut rng).ln();
            (at as Time, size)
        })
        .collect();
    let open = writes(arrivals.clone())?;
    let members = &open.groups[0].members[1..];
    let mut times = Vec::new();
    for (index, (arrived, _)) in arrivals.iter().enumerate() {
        let last = members.iter().filter_map(|m| m.delivered.get(index)).max();
        let last = last.with_context(|| format!("object {index} was not written"))?;
        times.push((last - arrived) as f64 / 1e12);
    }
    times.sort_by(f64::total_cmp);
    let mut sorted = sizes.clone();
    sorted.sort_unstable();
    Ok(Replay {
        sizes: format!(
            "log-normal, median 12 MB, mean 29 MB (sigma {sigma:.4}), ChaCha8 seed {seed}"
        ),
        objects: OBJECTS,
        copies: MEMBERS - 1,
        block_bytes: BLOCK_BYTES,
        latency_ns: LATENCY as f64 / 1e6,
        median_bytes: sorted[OBJECTS / 2],
        mean_bytes: all / OBJECTS as u64,
        throughput_gbps: throughput_gbps.min(RATE_GBPS),
        load: LOAD,
        p50_ms: times[OBJECTS / 2],
        p99_ms: times[OBJECTS * 99 / 100],
    })
}
