//! The trees of MC-1 and MC-2 against those of OpenSM 3.3.23, cable for cable.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tributary_fabric::route::{Minihop, RootChoice, Sssp};
use tributary_fabric::{Group, HopTable, Load, Network, NetworkBuilder, Router, Tree};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/multicast")
        .join(name)
}

fn network(name: &str) -> Network {
    let text = fs::read_to_string(data(&format!("{name}.topo"))).unwrap();
    let mut builder = NetworkBuilder::new(name);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap();
        if kind == "topo" {
            continue;
        }
        let n: Vec<i64> = words.map(|w| w.parse().unwrap()).collect();
        match kind {
            "sw" => drop(
                builder
                    .switch(format!("S{}", n[0]), n[0] as u64, n[1] as u16)
                    .unwrap(),
            ),
            "l" => drop(
                builder
                    .cable((n[0] as u32, n[1] as u16), (n[2] as u32, n[3] as u16))
                    .unwrap(),
            ),
            "h" => drop(
                builder
                    .endnode(
                        format!("H{}", n[0]),
                        1 << 20 | n[0] as u64,
                        (n[1] as u32, n[2] as u16),
                    )
                    .unwrap(),
            ),
            _ => panic!("{line}"),
        }
    }
    builder.build().unwrap()
}

fn groups(network: &Network, pattern: &str) -> Vec<Group> {
    let text = fs::read_to_string(data(&format!("{}.{pattern}.groups", network.name()))).unwrap();
    text.lines()
        .map(|line| {
            Group::new(
                network,
                line.split_whitespace()
                    .map(|w| w.parse().unwrap())
                    .collect::<Vec<u32>>(),
            )
            .unwrap()
        })
        .collect()
}

/// As in `opensm_trees.csv.gz`: `U.PU-V.PV`, sorted, lower switch first.
fn cables(network: &Network, tree: &Tree) -> Vec<String> {
    let mut list: Vec<_> = tree
        .cables()
        .map(|c| network.cables()[c as usize].ends)
        .collect();
    list.sort_unstable();
    list.iter()
        .map(|[a, b]| format!("{}.{}-{}.{}", a.0, a.1, b.0, b.1))
        .collect()
}

fn compare(engine: &str, make: fn(&Network) -> Box<dyn Router>) {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(data("opensm_trees.csv.gz")).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let mut wanted: BTreeMap<(&str, &str), Vec<(usize, &str)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        if f[1] == engine {
            wanted
                .entry((f[0], f[2]))
                .or_default()
                .push((f[3].parse().unwrap(), f[4]));
        }
    }
    assert!(!wanted.is_empty());
    let mut bad = 0;
    let mut all = 0;
    for ((name, pattern), trees) in wanted {
        let network = network(name);
        let hops = HopTable::new(&network).unwrap();
        let groups = groups(&network, pattern);
        let mut load = Load::new(&network);
        let got = make(&network)
            .route_all(&network, &hops, &mut load, &groups, &mut |_| ())
            .unwrap();
        for (index, cables_wanted) in trees {
            let tree = got[index].as_ref().unwrap();
            tree.check(&network, groups[index].switches()).unwrap();
            let mut w: Vec<&str> = cables_wanted.split(';').filter(|c| !c.is_empty()).collect();
            let mut g = cables(&network, tree);
            w.sort_unstable();
            g.sort_unstable();
            all += 1;
            if g != w {
                bad += 1;
                if bad < 3 {
                    eprintln!("{name} {pattern} {index}\n{g:?}\n{w:?}");
                }
            }
        }
        eprintln!("{name} {pattern}: {bad} of {all} so far");
    }
    assert_eq!(bad, 0, "of {all}");
}

#[test]
fn mc_01_minihop_trees_are_opensms() {
    compare("minhop", |_| Box::new(Minihop::new(RootChoice::First)));
}

#[test]
fn mc_02_sssp_trees_are_opensms() {
    compare("sssp", |network| {
        Box::new(Sssp::unicast(network, RootChoice::First, &mut |_| ()))
    });
}
