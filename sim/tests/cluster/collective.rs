//! Communicators over cards, switches and a manager.

mod blocks;
mod faults;
mod jobs;
mod moves;
mod remote;
mod root;
mod stripes;
mod values;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tributary_fabric::control::Control;
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Host, HostOptions, Options, Outcome, SharedTrees, Ticket,
};
use tributary_host_driver::{Context, EndpointConfig};
use tributary_sim::card::{Cluster, ClusterTrees};
use tributary_sim::fabric::{Fabric, Simulator};

use super::{manager::start, models, reduction::open, rtl, sixteen, unrouted};

/// Loops until a test is given up.
const PATIENCE: usize = 400_000;

fn seed() -> u64 {
    let seed = std::env::var("TRIBUTARY_SEED").map_or(1, |s| s.parse().unwrap());
    eprintln!("TRIBUTARY_SEED={seed} replays this");
    seed
}

/// Short times, so that failures are found in milliseconds of simulated time; nothing in blocks.
fn quick() -> Options {
    Options {
        attempt: Duration::from_millis(1),
        roll: Duration::from_micros(300),
        ask_after: Duration::from_micros(500),
        questions: 4,
        bulk_from: 0,
        ..Options::default()
    }
}

fn host_options(q_key: u32, vni: u16) -> HostOptions {
    HostOptions {
        endpoint: EndpointConfig {
            q_key,
            attempts: 12,
            longest_pause: Duration::from_micros(500),
            ..EndpointConfig::default()
        },
        vni,
    }
}

/// Hosts of a fabric, a manager, and trees of it.
struct World {
    cluster: Cluster,
    control: Arc<Mutex<Control>>,
    trees: SharedTrees,
    contexts: Vec<Context>,
    /// Cables between switches, as the manager numbers them.
    cables: Vec<usize>,
}

impl World {
    fn new(fabric: Fabric, seed: u64) -> Self {
        Self::over(unrouted(fabric.clone(), seed), &fabric, models)
    }

    /// All of it Verilated: cards and switches.
    fn rtl(fabric: Fabric, seed: u64) -> Self {
        let sim = Simulator::of_rtl(fabric.clone(), seed, false).unwrap();
        Self::over(sim, &fabric, rtl)
    }

    fn over(mut sim: Simulator, fabric: &Fabric, cards: impl Fn(Simulator) -> Cluster) -> Self {
        let plan = fabric.plan().unwrap();
        let control = Arc::new(Mutex::new(start(&mut sim, &plan)));
        let cluster = cards(sim);
        let trees = ClusterTrees::shared(&cluster, &control, 0x4000);
        Self {
            contexts: open(&cluster),
            trees,
            control,
            cluster,
            cables: plan.cables,
        }
    }

    fn hosts(&self, at: &[usize], options: HostOptions) -> Vec<Host> {
        let host = |&at: &usize| {
            let domain = self.contexts[at].alloc_pd().unwrap();
            Host::new(&domain, options).unwrap()
        };
        at.iter().map(host).collect()
    }

    fn now(&self) -> u64 {
        use tributary_host_driver::Device;
        self.cluster.devices()[0].now_ns()
    }
}

/// A communicator of all these hosts.
fn communicators(
    hosts: &[Host],
    name: u64,
    trees: Option<&SharedTrees>,
    options: Options,
) -> Vec<Communicator> {
    let members: Vec<_> = hosts.iter().map(Host::address).collect();
    let create = |host| Communicator::create(host, name, &members, trees.cloned(), options);
    hosts.iter().map(|host| create(host).unwrap()).collect()
}

type Ended = Result<Outcome, CollectiveError>;

/// Polls all in random order until each has ended as many operations; what they came to, in their order.
fn run(all: &mut [Communicator], operations: usize, rng: &mut StdRng) -> Vec<Vec<Ended>> {
    let mut done: Vec<Vec<Ended>> = all.iter().map(|_| Vec::new()).collect();
    for _ in 0..PATIENCE {
        let first = rng.random_range(0..all.len());
        for at in (first..all.len()).chain(0..first) {
            if let Some(finished) = all[at].poll().unwrap() {
                assert_eq!(finished.ticket, Ticket(finished.ticket.0));
                done[at].push(finished.result);
            }
        }
        if done.iter().all(|list| list.len() >= operations) {
            return done;
        }
    }
    let counts: Vec<_> = all.iter().map(Communicator::counters).collect();
    panic!("not all have ended: {done:?} {counts:?}");
}

/// One operation of all members; the outcomes by rank.
fn all(
    members: &mut [Communicator],
    rng: &mut StdRng,
    mut post: impl FnMut(&mut Communicator) -> Result<Ticket, CollectiveError>,
) -> Vec<Outcome> {
    for member in members.iter_mut() {
        post(member).unwrap();
    }
    let ended = run(members, 1, rng);
    ended
        .into_iter()
        .map(|mut list| list.remove(0).unwrap())
        .collect()
}

fn close(mut members: Vec<Communicator>, rng: &mut StdRng) {
    all(&mut members, rng, Communicator::post_close);
    while !members.iter().all(Communicator::is_drained) {
        for member in &mut members {
            assert!(member.poll().unwrap().is_none());
        }
    }
}

/// The sum of everyone's rank and one, at every rank.
fn ranks_add_up(members: &mut [Communicator], rng: &mut StdRng) {
    use tributary_host_driver::collective::Operation::Sum;
    let size = members.len() as i64;
    let outcomes = all(members, rng, |member| {
        let own = member.rank() as i64 + 1;
        member.post_all_reduce(Sum, &Data::I64(vec![own, -own]))
    });
    let total = size * (size + 1) / 2;
    for outcome in outcomes {
        assert_eq!(outcome.data, Data::I64(vec![total, -total]));
    }
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn sixteen_world(seed: u64) -> World {
    World::new(sixteen(), seed)
}
