//! Networks as real fabrics are: switches with different numbers of endnodes, and GUIDs in no order. The trees of MC-1 and MC-2
//! against those of OpenSM 3.3.23, cable for cable.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tributary_fabric::export::mcfdbs::McastTables;
use tributary_fabric::route::{Minihop, RootChoice, Sssp};
use tributary_fabric::{Group, HopTable, Load, Network, Router, Tree, read};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/multicast/uneven")
        .join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

fn groups(name: &str, network: &Network) -> Vec<Group> {
    read::groups(&text(name), name, network).unwrap()
}

fn route(network: &Network, groups: &[Group], router: &mut dyn Router) -> Vec<Option<Tree>> {
    let hops = HopTable::new(network).unwrap();
    let mut load = Load::new(network);
    router
        .route_all(network, &hops, &mut load, groups, &mut |_| ())
        .unwrap()
}

/// The uneven fat tree: cables are those of the file, in its order.
fn uneven_fat_tree(engine: &str, make: fn(&Network) -> Box<dyn Router>) {
    let network = read::network(&path("irrft.topo")).unwrap();
    let mut all = Vec::new();
    for line in text("irrft.index").lines() {
        let (name, count) = line.split_once(' ').unwrap();
        let some = groups(&format!("irrft.{name}.groups"), &network);
        assert_eq!(some.len(), count.parse::<usize>().unwrap());
        all.extend(some);
    }
    let trees = route(&network, &all, make(&network).as_mut());
    let wanted = text(&format!("irrft.{engine}.trees"));
    let wanted: Vec<BTreeSet<u32>> = wanted
        .lines()
        .map(|line| {
            line.split_whitespace()
                .map(|w| w.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!((trees.len(), wanted.len()), (341, 341));
    let differ: Vec<usize> = (0..341)
        .filter(|&i| trees[i].as_ref().unwrap().cables().collect::<BTreeSet<_>>() != wanted[i])
        .collect();
    assert_eq!(differ, [0usize; 0], "{} of 341 trees differ", differ.len());
}

#[test]
fn mc_01_minihop_trees_are_opensms_on_an_uneven_fat_tree() {
    uneven_fat_tree("minhop", |_| Box::new(Minihop::new(RootChoice::First)));
}

#[test]
fn mc_02_sssp_trees_are_opensms_where_switches_have_different_numbers_of_endnodes() {
    uneven_fat_tree("sssp", |network| {
        Box::new(Sssp::unicast(network, RootChoice::First, &mut |_| ()))
    });
}

/// OpenSM's dump of a random graph whose GUIDs are in no order.
fn dump() -> String {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path("rrgG.minhop.mcfdbs.gz")).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[test]
fn mc_01_minihop_trees_are_opensms_where_guids_are_in_no_order() {
    let network = read::network(&path("rrgG.net")).unwrap();
    let groups = groups("rrgG.all.groups", &network);
    let trees = route(&network, &groups, &mut Minihop::new(RootChoice::First));
    let got = McastTables::of_groups(&network, &groups, &trees).unwrap();
    let wanted = McastTables::parse(&dump(), "rrgG.minhop.mcfdbs").unwrap();
    let mlids: BTreeSet<u16> = wanted.entries().map(|(_, mlid, _)| mlid).collect();
    let differ = |mlid: &u16| {
        let entry = |s: &tributary_fabric::network::Switch| {
            got.ports(s.guid, *mlid) != wanted.ports(s.guid, *mlid)
        };
        network.switches().iter().any(entry)
    };
    let differ = mlids.iter().filter(|mlid| differ(mlid)).count();
    assert_eq!(mlids.len(), 341);
    assert_eq!(differ, 0, "of 341 trees");
    // The same text, too, so that the two can be compared with any tool.
    assert!(got.to_string() == dump());
}
