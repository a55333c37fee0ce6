//! Every host writes into the memory of the next one, all at once.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_host_driver::{
    Access, Context, Device, Options, TransferRequest, WorkCompletionStatus,
};
use tributary_sim::card::Cluster;

use super::Part;

/// Bytes that each host writes.
const LENGTH: usize = 64 << 10;
const Q_KEY: u32 = 0x1EE7;
/// Steps of time after which it is given up.
const PATIENCE: u64 = 10_000_000;

/// The bytes of a host.
fn bytes(host: usize) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    ChaCha8Rng::seed_from_u64(host as u64).fill_bytes(&mut bytes);
    bytes
}

pub fn run(cluster: &Cluster, mtu: u16) -> Result<Part> {
    let devices = cluster.devices();
    let begun = devices[0].now_ns();
    let mut hosts = Vec::new();
    for (device, &node) in devices.iter().zip(cluster.nodes()) {
        let context = Context::open(Arc::new(device.clone()), Options { node, mtu })?;
        let queue = context.create_cq(0)?;
        let domain = context.alloc_pd()?;
        let pair = domain.create_qp(&queue).q_key(Q_KEY).build()?;
        pair.activate()?;
        let shared = domain.reg_mr(LENGTH, Access::REMOTE_WRITE)?;
        let shared = shared.expose(LENGTH).context("no room for a transfer")?;
        let local = domain.reg_mr(LENGTH, Access::LOCAL_WRITE)?;
        hosts.push((context, queue, pair, shared, local));
    }
    let count = hosts.len();
    for from in 0..count {
        let (.., to, shared, _) = &hosts[(from + 1) % count];
        let (to, there) = (to.address(), shared.remote());
        let (.., pair, _, local) = &hosts[from];
        let mut buffer = local.alloc(LENGTH).context("no room for a transfer")?;
        buffer.copy_from_slice(&bytes(from));
        pair.post_write(TransferRequest::new(from as u64, to, buffer, there))?;
    }
    let mut done = Vec::new();
    for looks in 0.. {
        for (_, queue, ..) in &hosts {
            queue.poll(&mut done, 1)?;
        }
        if done.len() == count {
            break;
        }
        if looks > PATIENCE {
            bail!("{} of {count} writes have ended", done.len());
        }
        devices[0].idle()?;
    }
    let ok = done.iter().filter(|d| d.status == WorkCompletionStatus::Ok);
    let ok = ok.count();
    let mut right = 0;
    for from in 0..count {
        let mut arrived = vec![0; LENGTH];
        hosts[(from + 1) % count].3.read(0, &mut arrived)?;
        right += usize::from(arrived == bytes(from));
    }
    let time_us = (devices[0].now_ns() - begun) as f64 / 1_000.0;
    Ok(Part {
        name: "writes in bulk",
        good: ok == count && right == count,
        time_us,
        text: format!(
            "{count} of {LENGTH} bytes at once, {ok} ended ok, {right} right to the byte"
        ),
    })
}
