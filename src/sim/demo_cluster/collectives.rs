//! All hosts reduce through their cards and the switches, while a cable of their tree fails.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_fabric::control::Control;
use tributary_host_driver::collective::{
    Communicator, Data, Host, HostOptions, Operation, Options as Settings, Outcome, Path, Sum,
};
use tributary_host_driver::{Context, Device, Options};
use tributary_protocol::red::host::repsum;
use tributary_protocol::red::ops::Rounding;
use tributary_sim::card::{Cluster, ClusterTrees};

use super::Part;

/// Operations of every host.
const OPERATIONS: u64 = 60;
/// Before this one the cable fails.
const CUT_BEFORE: u64 = 20;
/// The manager is told so long after, ns: while attempts fail.
const TOLD_AFTER: u64 = 1_500_000;
/// Looks at all members until an operation is given up.
const PATIENCE: u64 = 2_000_000;

/// What a host gives to an operation: integers and doubles by turns.
fn given(operation: u64, rank: usize, seed: u64) -> (Operation, Data) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ operation << 20 ^ (rank as u64) << 8);
    let words: Vec<u64> = (0..1 + operation % 40).map(|_| rng.next_u64()).collect();
    // Of very different size, so that the order would matter.
    let real = |w: &u64| (*w as i64 >> 12) as f64 * f64::powi(2.0, (w & 31) as i32 - 16);
    match operation % 4 {
        0 => (Operation::Sum, Data::U64(words)),
        1 => (Operation::Xor, Data::U64(words)),
        2 => (Operation::Max, Data::F64(words.iter().map(real).collect())),
        _ => {
            let reals = words.iter().map(real).collect();
            (Operation::SumReproducible, Data::F64(reals))
        }
    }
}

/// What it must come to, by plain arithmetic on one host.
fn expected(operation: u64, size: usize, seed: u64) -> Vec<u64> {
    let all: Vec<_> = (0..size).map(|rank| given(operation, rank, seed)).collect();
    let bits = |data: &Data| match data {
        Data::F64(list) => list.iter().map(|x| x.to_bits()).collect(),
        Data::U64(list) => list.clone(),
        _ => Vec::new(),
    };
    let columns: Vec<Vec<u64>> = all.iter().map(|(_, data)| bits(data)).collect();
    let column = |at: usize| columns.iter().map(move |list| list[at]);
    let result = |at: usize| match all[0].0 {
        Operation::Sum => column(at).fold(0, u64::wrapping_add),
        Operation::Xor => column(at).fold(0, |a, b| a ^ b),
        Operation::Max => {
            let largest = column(at).map(f64::from_bits).max_by(f64::total_cmp);
            largest.map_or(0, f64::to_bits)
        }
        _ => {
            let mut sum = Sum::new();
            let fits = column(at).all(|number| sum.push(number).is_ok());
            debug_assert!(fits, "a few numbers");
            repsum::decode(sum.value(), Rounding::NearestEven).0
        }
    };
    (0..columns[0].len()).map(result).collect()
}

fn is_right(outcome: &Outcome, expected: &[u64]) -> bool {
    match &outcome.data {
        Data::F64(list) => list
            .iter()
            .map(|x| x.to_bits())
            .eq(expected.iter().copied()),
        Data::U64(list) => list == expected,
        _ => false,
    }
}

/// Runs the operations; `cables` are those between switches, as the manager numbers them.
pub fn run(
    cluster: &Cluster,
    control: &Arc<Mutex<Control>>,
    cables: &[usize],
    (mtu, seed): (u16, u64),
) -> Result<Part> {
    let lock = || control.lock().unwrap_or_else(PoisonError::into_inner);
    let device = &cluster.devices()[0];
    let begun = device.now_ns();
    let mut hosts = Vec::new();
    for (device, &node) in cluster.devices().iter().zip(cluster.nodes()) {
        let context = Context::open(Arc::new(device.clone()), Options { node, mtu })?;
        hosts.push(Host::new(&context.alloc_pd()?, HostOptions::default())?);
    }
    let members: Vec<_> = hosts.iter().map(Host::address).collect();
    let group = lock().groups();
    let trees = ClusterTrees::shared(cluster, control, 0);
    let mut all = hosts
        .iter()
        .map(|host| {
            let trees = Some(Arc::clone(&trees));
            Communicator::create(host, 1, &members, trees, Settings::default())
        })
        .collect::<Result<Vec<_>, _>>()?;
    let before = all[0].path();
    let used = lock()
        .routed(group)
        .and_then(|routed| routed.tree.cables().next());
    let used = used.filter(|_| matches!(before, Path::Switches(_)));
    let mut told_at = None;
    let (mut right, mut slowest, mut slowest_cut) = (0, 0, 0);
    for operation in 0..OPERATIONS {
        if operation == CUT_BEFORE
            && let Some(used) = used
        {
            let cable = cables[used as usize];
            (cluster.with(|sim| sim.set_cable(cable, false))).context("the fabric is gone")??;
            told_at = Some(device.now_ns() + TOLD_AFTER);
        }
        let started = device.now_ns();
        for (rank, member) in all.iter_mut().enumerate() {
            let (what, data) = given(operation, rank, seed);
            member.post_all_reduce(what, &data)?;
        }
        let expected = expected(operation, all.len(), seed);
        let mut left = all.len();
        for looks in 0.. {
            for member in &mut all {
                if let Some(finished) = member.poll()? {
                    right += u64::from(is_right(&finished.result?, &expected));
                    left -= 1;
                }
            }
            if left == 0 {
                break;
            }
            if looks > PATIENCE {
                bail!("operation {operation}: {left} hosts have no result");
            }
            if let (Some(used), Some(_)) = (used, told_at.take_if(|at| device.now_ns() >= *at)) {
                let mut control = lock();
                let mended = cluster.with(|sim| control.cable_failed(used, sim));
                mended.context("the fabric is gone")??;
            }
        }
        let took = device.now_ns() - started;
        if operation == CUT_BEFORE {
            slowest_cut = took;
        } else {
            slowest = slowest.max(took);
        }
    }
    let (after, counters) = (all[0].path(), all[0].counters());
    if let Some(used) = used {
        let mut control = lock();
        let cable = cables[used as usize];
        cluster
            .with(|sim| {
                sim.set_cable(cable, true)?;
                control.cable_restored(used, sim)?;
                anyhow::Ok(())
            })
            .context("the fabric is gone")??;
    }
    let wanted = OPERATIONS * all.len() as u64;
    let tree = |path| match path {
        Path::Switches(tree) => format!("tree {tree}"),
        other => format!("{other:?}").to_lowercase(),
    };
    Ok(Part {
        name: "all-reduce by the cards, a cable of their tree cut",
        good: right == wanted && counters.in_software == 0 && used.is_some() == (before != after),
        time_us: (device.now_ns() - begun) as f64 / 1_000.0,
        text: format!(
            "{OPERATIONS} operations of {} hosts, {right} of {wanted} results as in software; slowest {:.1} us, while cut {:.1} us; {}, then {}",
            all.len(),
            slowest as f64 / 1_000.0,
            slowest_cut as f64 / 1_000.0,
            tree(before),
            tree(after)
        ),
    })
}
