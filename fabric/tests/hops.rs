//! The table of distances against plain searches, on whole networks and after failures.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_fabric::hops::UNREACHABLE;
use tributary_fabric::topology::Topology;
use tributary_fabric::{HopTable, Network, NetworkBuilder, SwitchId};

const NETWORKS: [&str; 9] = [
    "ft3:4",
    "ft3:8",
    "torus:6x4x4,2",
    "torus:5,1",
    "df:4,2,2",
    "df:3,1,1,palm",
    "leaf-spine:6,3,2",
    "chain:7,1",
    "supernodes:4,2",
];

fn build(text: &str) -> Network {
    text.parse::<Topology>().unwrap().build().unwrap()
}

/// By a search of its own for every switch.
fn distances(network: &Network) -> Vec<Vec<u8>> {
    let switches = network.switches().len();
    (0..network.switch_count())
        .map(|from| {
            let mut row = vec![UNREACHABLE; switches];
            row[from as usize] = 0;
            let mut front = vec![from];
            for hops in 1.. {
                let peers = front
                    .iter()
                    .flat_map(|&at| network.links(at))
                    .map(|link| link.peer);
                let mut next: Vec<SwitchId> = peers
                    .filter(|&peer| row[peer as usize] == UNREACHABLE)
                    .collect();
                next.sort_unstable();
                next.dedup();
                if next.is_empty() {
                    break;
                }
                next.iter().for_each(|&peer| row[peer as usize] = hops);
                front = next;
            }
            row
        })
        .collect()
}

fn compare(table: &HopTable, network: &Network, what: &str) {
    for (from, row) in (0..).zip(distances(network)) {
        for (to, hops) in (0..).zip(row) {
            assert_eq!(table.hops(from, to), hops, "{what}: {from} to {to}");
        }
    }
}

fn random_members(rng: &mut impl Rng, switches: u32) -> Vec<SwitchId> {
    let mut members: Vec<SwitchId> = (0..rng.random_range(1..8))
        .map(|_| rng.random_range(0..switches))
        .collect();
    members.sort_unstable();
    members.dedup();
    members
}

#[test]
fn mc_08_distances_are_those_of_plain_searches() {
    for text in NETWORKS {
        let network = build(text);
        for threads in [1, 3] {
            compare(
                &HopTable::with_threads(&network, threads).unwrap(),
                &network,
                text,
            );
        }
    }
}

#[test]
fn mc_08_more_switches_than_one_search_takes_at_once() {
    let network = build("torus:9x8x8,1");
    compare(
        &HopTable::with_threads(&network, 2).unwrap(),
        &network,
        "torus",
    );
}

#[test]
fn mc_08_centers_are_the_switches_of_least_height() {
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let text = NETWORKS[rng.random_range(0..NETWORKS.len())];
        let network = build(text);
        let (table, plain) = (HopTable::new(&network).unwrap(), distances(&network));
        for _ in 0..50 {
            let members = random_members(&mut rng, network.switch_count());
            let height = |root: usize| {
                members
                    .iter()
                    .map(|&m| plain[root][m as usize])
                    .max()
                    .unwrap()
            };
            let least = (0..plain.len()).map(height).min().unwrap();
            let roots: Vec<SwitchId> = (0..network.switch_count())
                .filter(|&r| height(r as usize) == least)
                .collect();
            let mut centers = Vec::new();
            assert_eq!(
                table.centers(&members, &mut centers),
                Some(least),
                "seed {seed}, {text}, {members:?}"
            );
            assert_eq!(centers, roots, "seed {seed}, {text}, {members:?}");
        }
    }
}

#[test]
fn mc_08_a_pair_of_switches_takes_a_byte_or_less() {
    for (text, most) in [
        ("ft3:16", 0.5),
        ("torus:12x12x12,1", 1.1),
        ("supernodes:40,8", 0.5),
    ] {
        let network = build(text);
        let pairs = network.switches().len().pow(2);
        let bytes = HopTable::new(&network).unwrap().row_bytes();
        assert!(
            (bytes as f64) < most * pairs as f64,
            "{text}: {bytes} bytes for {pairs} pairs"
        );
    }
}

#[test]
fn mc_09_the_table_follows_failures_one_by_one() {
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let text = NETWORKS[rng.random_range(0..NETWORKS.len())];
        let mut network = build(text);
        let mut table = HopTable::new(&network).unwrap();
        for step in 0..12 {
            let cable = rng.random_range(0..network.cables().len() as u32);
            if network.fail(cable) {
                table.failed(&network, cable).unwrap();
            }
            compare(
                &table,
                &network,
                &format!("seed {seed}, {text}, failure {step}"),
            );
        }
        let mut centers = Vec::new();
        let fresh = HopTable::new(&network).unwrap();
        for _ in 0..20 {
            let members = random_members(&mut rng, network.switch_count());
            let least = table.centers(&members, &mut centers);
            let mut again = Vec::new();
            assert_eq!(
                least,
                fresh.centers(&members, &mut again),
                "seed {seed}, {text}, {members:?}"
            );
            assert_eq!(centers, again, "seed {seed}, {text}, {members:?}");
        }
    }
}

#[test]
fn mc_09_the_table_follows_more_failures_than_it_has_room_for() {
    let mut network = build("ft3:12");
    let mut table = HopTable::new(&network).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..150 {
        let cable = rng.random_range(0..network.cables().len() as u32);
        if network.fail(cable) {
            table.failed(&network, cable).unwrap();
        }
    }
    compare(&table, &network, "ft3:12, 150 failures");
}

#[test]
fn mc_10_a_network_too_long_for_the_table_is_refused() {
    let mut builder = NetworkBuilder::new("long");
    for i in 0..260 {
        builder.switch(format!("s{i}"), i, 4).unwrap();
    }
    for i in 1..260 {
        builder.cable((i - 1, 1), (i, 2)).unwrap();
    }
    let network = builder.build().unwrap();
    let error = HopTable::new(&network).unwrap_err().to_string();
    assert!(error.contains("more than 254 cables apart"), "{error}");
}

#[test]
fn mc_10_a_network_too_large_for_the_table_is_refused_at_once() {
    let network = build("chain:66000,1");
    let error = HopTable::new(&network).unwrap_err().to_string();
    assert!(
        error.contains("66000 switches with different neighbours"),
        "{error}"
    );
}

#[test]
fn mc_10_the_first_two_switches_too_far_apart_end_the_search() {
    // All 47 searches of this chain would take minutes.
    let network = build("chain:12000,1");
    let error = HopTable::new(&network).unwrap_err().to_string();
    assert!(error.contains("more than 254 cables apart"), "{error}");
}

#[test]
fn mc_10_a_failure_that_makes_a_network_too_long_leaves_the_table_as_it_was() {
    let mut builder = NetworkBuilder::new("ring");
    for i in 0..300u32 {
        builder.switch(format!("s{i}"), i.into(), 4).unwrap();
    }
    for i in 0..300 {
        builder.cable((i, 1), ((i + 1) % 300, 2)).unwrap();
    }
    let mut network = builder.build().unwrap();
    let mut table = HopTable::new(&network).unwrap();
    assert!(network.fail(0));
    assert!(table.failed(&network, 0).is_err());
    assert!(network.restore(0));
    compare(&table, &network, "ring");
}
