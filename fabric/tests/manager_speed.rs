//! How long the manager takes on a large network. Run with `--release --ignored --nocapture`.

mod manager_common;

use std::time::Instant;

use manager_common::{Fabric, network};
use tributary_fabric::manager::Config;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::route::Fulb;
use tributary_fabric::{HopTable, Load, Router as _, TreeIds, table};

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[test]
#[ignore = "a measurement"]
fn time_of_a_failure_among_ten_thousand_groups() {
    let network = network("taihulight");
    let pattern: Pattern = "64x64x40".parse().unwrap();
    let groups = pattern.groups(&network, 4).unwrap();
    let mut f = Fabric::new(network.clone(), Config::default());
    let start = Instant::now();
    for (key, group) in (0..).zip(&groups) {
        f.join_all(key, 1, group.endnodes());
    }
    println!("{} groups join: {:.1} ms", groups.len(), ms(start));
    let start = Instant::now();
    f.manager.compute(0, usize::MAX);
    println!("routes, ids, entries: {:.1} ms", ms(start));
    let start = Instant::now();
    let writes = f.write();
    println!("{writes} writes: {:.1} ms", ms(start));

    let trees: Vec<_> = f
        .manager
        .keys()
        .into_iter()
        .filter_map(|k| f.manager.tree(k))
        .collect();
    let on: Vec<Vec<u32>> = trees.iter().map(|(_, t)| t.switches().collect()).collect();
    let mut ids = TreeIds::new(network.switch_count(), 8192).unwrap();
    let start = Instant::now();
    let most = on.iter().filter_map(|s| ids.allocate(s).ok()).max();
    println!(
        "{} ids: {:.1} ms, the highest {most:?}, {} kB",
        on.len(),
        ms(start),
        ids.bytes() / 1_000
    );

    let cables = 0..network.cables().len() as u32;
    let mut busiest: Vec<u32> = cables.collect();
    busiest.sort_by_key(|&c| std::cmp::Reverse(f.manager.load().of(c)));
    for cable in [busiest[0], busiest[1], busiest[busiest.len() / 3]] {
        let mut down = f.manager.network().clone();
        let users = f.manager.users(cable).to_vec();
        let mut hops = HopTable::new(&down).unwrap();
        down.fail(cable);
        let start = Instant::now();
        hops.failed(&down, cable).unwrap();
        let measure = ms(start);
        let load = f.manager.load().clone();
        let mut router = Fulb::default();
        let members = |key: u64| f.manager.members(key).unwrap();
        router
            .route(
                &down,
                &hops,
                &Load::new(&down),
                members(users[0]).0.switches(),
            )
            .unwrap();
        let start = Instant::now();
        let new: Vec<_> = users
            .iter()
            .map(|&k| {
                router
                    .route(&down, &hops, &load, members(k).0.switches())
                    .unwrap()
            })
            .collect();
        let route = ms(start);
        let start = Instant::now();
        for (tree, &key) in new.iter().zip(&users) {
            let (group, leader) = members(key);
            table::entries(&down, group, tree, leader).unwrap();
        }
        let entries = ms(start);
        let start = Instant::now();
        let report = f.manager.cable_failed(f.now, cable).unwrap();
        let all = ms(start);
        println!(
            "cable {cable}: {} groups re-routed in {all:.2} ms: distances {measure:.2}, routes {route:.2}, entries {entries:.2}, rest {:.2}",
            report.moved.len(),
            all - measure - route - entries
        );
        f.write();
    }
    f.manager.audit().unwrap();
}
