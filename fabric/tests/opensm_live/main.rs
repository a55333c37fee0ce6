//! The trees of MC-1 and MC-2 on random networks against those of OpenSM itself, where it is installed
//! (Debian: opensm, ibsim-utils, libibumad-dev).
//!
//! `TRIBUTARY_NETWORKS=20 cargo test -p tributary-fabric --test opensm_live -- --nocapture` tries so many networks of each
//! shape; `TRIBUTARY_SEED=5` begins with another.

mod network;
mod opensm;

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_fabric::export::mcfdbs::McastTables;
use tributary_fabric::route::{Minihop, RootChoice, Sssp};
use tributary_fabric::{Group, HopTable, Load, Network, Router};

use opensm::OpenSm;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn groups(network: &Network, rng: &mut ChaCha8Rng) -> Vec<Group> {
    let endnodes = network.endnodes().len();
    let mut group = || {
        let members = rng.random_range(2..=endnodes.min(16));
        let members = rand::seq::index::sample(rng, endnodes, members).into_iter();
        Group::new(network, members.map(|e| e as u32).collect::<Vec<_>>()).unwrap()
    };
    (0..120).map(|_| group()).collect()
}

fn router(engine: &str, network: &Network) -> Box<dyn Router> {
    match engine {
        "sssp" => Box::new(Sssp::unicast(network, RootChoice::First, &mut |_| ())),
        _ => Box::new(Minihop::new(RootChoice::First)),
    }
}

#[test]
fn mc_01_mc_02_trees_of_random_networks_are_those_that_opensm_makes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opensm");
    let Some(opensm) = OpenSm::find(&folder) else {
        println!("skipped: opensm, ibsim or libibumad-dev is not installed");
        return;
    };
    let (first, each) = (number("TRIBUTARY_SEED", 1), number("TRIBUTARY_NETWORKS", 1));
    let mut compared = 0;
    for seed in first..first + each {
        for shape in network::SHAPES {
            println!("{shape}: TRIBUTARY_SEED={seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (network, file) = network::random(shape, &mut rng);
            let groups = groups(&network, &mut rng);
            let hops = HopTable::new(&network).unwrap();
            for engine in ["minhop", "sssp"] {
                let trees = router(engine, &network)
                    .route_all(
                        &network,
                        &hops,
                        &mut Load::new(&network),
                        &groups,
                        &mut |_| (),
                    )
                    .unwrap();
                let ours = McastTables::of_groups(&network, &groups, &trees).unwrap();
                let theirs = opensm.tables(&network, &file, engine, &groups);
                // Their numbers of the groups and their order of switches, too.
                assert!(
                    ours.to_string() == theirs,
                    "{engine} of {shape}, seed {seed}: see {}",
                    folder.display()
                );
                compared += groups.len();
            }
        }
    }
    println!("{compared} trees, each the same");
}
