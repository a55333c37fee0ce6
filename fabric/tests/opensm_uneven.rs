//! Networks as real fabrics are: switches with different numbers of endnodes, and GUIDs in no order. The trees of MC-1 and MC-2
//! against those of OpenSM 3.3.23, cable for cable.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
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

/// The uneven fat tree as a dump has it: nodes and lines in no order, GUIDs that look random and sort by their bytes from the last to the
/// first as OpenSM's table was, and cables from switches back to themselves in ports that were free.
fn as_dump(network: &Network, rng: &mut ChaCha8Rng) -> Network {
    let mut nodes = Vec::new();
    let mut loopbacks = 0;
    for (id, switch) in (0u32..).zip(network.switches()) {
        let mut lines = Vec::new();
        let mut free: BTreeSet<u16> = (1..=switch.ports).collect();
        for link in network.links(id) {
            let peer = &network.switches()[link.peer as usize].name;
            lines.push(format!("[{}] \"{peer}\"[{}]\n", link.port, link.peer_port));
            free.remove(&link.port);
        }
        for &e in network.attached(id) {
            let endnode = &network.endnodes()[e as usize];
            lines.push(format!("[{}] \"{}\"[1]\n", endnode.at.1, endnode.name));
            free.remove(&endnode.at.1);
        }
        let mut free: Vec<u16> = free.into_iter().collect();
        free.shuffle(rng);
        if let (true, &[a, b, ..]) = (id % 2 == 0, &free[..]) {
            for (from, to) in [(a, b), (b, a)] {
                lines.push(format!("[{from}] \"{}\"[{to}]\n", switch.name));
            }
            loopbacks += 1;
        }
        lines.shuffle(rng);
        let rank = (u64::from(id) + 1) << 32 | u64::from(rng.random::<u32>());
        nodes.push(format!(
            "switchguid={:#x}\nSwitch {} \"{}\"\n{}",
            rank.swap_bytes(),
            switch.ports,
            switch.name,
            lines.concat()
        ));
    }
    for endnode in network.endnodes() {
        let (at, port) = endnode.at;
        nodes.push(format!(
            "caguid={:#x}\nCa 1 \"{}\"\n[1] \"{}\"[{port}]\n",
            rng.random::<u64>() | 1 << 63 | 1,
            endnode.name,
            network.switches()[at as usize].name
        ));
    }
    nodes.shuffle(rng);
    let dump = read::parse(nodes.join("\n").as_bytes(), "dump", "dump").unwrap();
    assert!(loopbacks > 5);
    assert_eq!(dump.loopbacks().len(), loopbacks);
    dump
}

/// Cables by the names and ports of their ends.
fn by_name(network: &Network, tree: &Tree) -> BTreeSet<[(String, u16); 2]> {
    let ends = |cable: u32| {
        let ends = network.cables()[cable as usize].ends;
        let mut named = ends.map(|(s, port)| (network.switches()[s as usize].name.clone(), port));
        named.sort();
        named
    };
    tree.cables().map(ends).collect()
}

/// The order of a file, the sizes of GUIDs and cables that lead nowhere change no tree.
#[test]
fn mc_01_mc_02_a_dump_in_any_order_gives_opensms_trees() {
    let seed = std::env::var("TRIBUTARY_SEED").ok();
    let seed = seed.map_or(61, |text| text.parse().unwrap());
    println!("TRIBUTARY_SEED={seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let plain = read::network(&path("irrft.topo")).unwrap();
    let mut all = Vec::new();
    for line in text("irrft.index").lines() {
        let (name, _) = line.split_once(' ').unwrap();
        all.extend(groups(&format!("irrft.{name}.groups"), &plain));
    }
    let name = |e: u32| plain.endnodes()[e as usize].name.as_str();
    for _ in 0..3 {
        let dump = as_dump(&plain, &mut rng);
        let ids: HashMap<&str, u32> = (0..)
            .zip(dump.endnodes())
            .map(|(id, e)| (e.name.as_str(), id))
            .collect();
        let there = |g: &Group| {
            let members = g.endnodes().iter().map(|&e| ids[name(e)]);
            Group::new(&dump, members.collect::<Vec<_>>()).unwrap()
        };
        let same: Vec<Group> = all.iter().map(there).collect();
        for engine in ["minhop", "sssp"] {
            let mut router: Box<dyn Router> = match engine {
                "sssp" => Box::new(Sssp::unicast(&dump, RootChoice::First, &mut |_| ())),
                _ => Box::new(Minihop::new(RootChoice::First)),
            };
            let trees = route(&dump, &same, router.as_mut());
            let wanted = text(&format!("irrft.{engine}.trees"));
            let mut equal = 0;
            for (tree, line) in trees.iter().zip(wanted.lines()) {
                let cables = line.split_whitespace().map(|w| w.parse().unwrap());
                let wanted: BTreeSet<_> = cables
                    .map(|cable: u32| {
                        let ends = plain.cables()[cable as usize].ends;
                        let mut named =
                            ends.map(|(s, port)| (plain.switches()[s as usize].name.clone(), port));
                        named.sort();
                        named
                    })
                    .collect();
                equal += usize::from(by_name(&dump, tree.as_ref().unwrap()) == wanted);
            }
            assert_eq!(equal, 341, "{engine}");
        }
    }
}
