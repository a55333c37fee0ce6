//! Multicast trees, and table writes while frames pass.

use rand::RngExt;
use tributary_protocol::red::Tree;

use crate::bench::{Bench, node_mac, tree_mac};
use crate::seeds;
use tributary_sim::testbench::profiles;

fn tree(parent: u8, children: u64) -> Option<Tree> {
    Some(Tree {
        parent,
        children,
        wait: 0,
    })
}

/// Any entry: parents and children that do not exist, a parent among the children, no child.
fn any_tree(bench: &mut Bench) -> Option<Tree> {
    let ports = bench.ports() as u8;
    let rng = &mut bench.rng;
    (rng.random_range(0..8) != 0).then(|| Tree {
        parent: rng.random_range(0..ports + 1),
        children: rng.random_range(0..1u64 << (ports + 1)) & ((1 << ports) - 1),
        wait: rng.random_range(0..3),
    })
}

fn random_trees(ports: usize) {
    let library = Bench::library(ports);
    profiles(&format!("trees of {ports} ports: frames"), |seed| {
        let mut bench = Bench::new(&library, ports, seed);
        bench.stall();
        for round in 0..3 {
            for index in 0..64 {
                let entry = any_tree(&mut bench);
                bench.tree(index, entry);
            }
            bench.enable([u64::MAX, !2, u64::MAX][round]);
            for input in 0..ports {
                for _ in 0..60 {
                    let index = bench.rng.random_range(0..70);
                    let length = bench.rng.random_range(60..300);
                    let frame = bench.frame(input, tree_mac(index), length);
                    bench.push(input, &frame);
                    if bench.rng.random_range(0..3) == 0 {
                        let output = bench.rng.random_range(0..ports);
                        bench.send(input, output);
                    }
                }
            }
            bench.drain();
        }
        bench.finish();
        for reason in [0, 3, 4] {
            let counted: u64 = bench.counts.iter().map(|c| c.reasons[reason]).sum();
            assert!(counted > 50, "reason {reason}: {counted}, seed {seed}");
        }
        (0..ports).map(|port| bench.sent(port)).sum()
    });
}

#[test]
fn red_17_any_tree_forwards_as_the_model_says_4() {
    random_trees(4);
}

#[test]
fn red_17_any_tree_forwards_as_the_model_says_8() {
    random_trees(8);
}

#[test]
fn red_17_only_the_port_of_the_root_sends_down_and_a_member_only_up() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    // Port 1 leads to the root; it also stands among the children, which must not send anything back.
    bench.tree(7, tree(1, 0b0111));
    let mut send = |input: usize| {
        let frame = bench.frame(input, tree_mac(7), 100);
        bench.push(input, &frame);
        let before: Vec<u64> = (0..4).map(|p| bench.sent(p)).collect();
        bench.drain();
        (0..4)
            .map(|p| bench.sent(p) - before[p])
            .collect::<Vec<_>>()
    };
    assert_eq!(send(1), [1, 0, 1, 0], "from the root");
    assert_eq!(send(0), [0, 1, 0, 0], "from a member");
    assert_eq!(send(2), [0, 1, 0, 0], "from a member");
    assert_eq!(send(3), [0, 0, 0, 0], "from outside");
    bench.finish();
    assert_eq!(bench.counts[3].reasons[4], 1);
}

#[test]
fn red_17_a_full_queue_drops_the_copy_of_one_child_only() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    bench.tree(0, tree(0, 0b1110));
    bench.blocked[2] = true;
    for _ in 0..100 {
        let frame = bench.frame(0, tree_mac(0), 200);
        bench.push(0, &frame);
    }
    bench.drain();
    assert_eq!([1, 2, 3].map(|p| bench.sent(p)), [100, 0, 100]);
    let full = bench.counts[0].full.clone();
    assert!(full[2] > 50 && full[1] == 0 && full[3] == 0, "{full:?}");
    bench.blocked[2] = false;
    bench.finish();
    assert_eq!(bench.sent(2) + full[2], 100);
}

/// Writes entries in any clock; a frame must see the last one written up to the clock after its first beat.
fn writes_under_traffic(multicast: bool) {
    let library = Bench::library(4);
    for seed in seeds(8) {
        let mut bench = Bench::new(&library, 4, seed);
        bench.tree(3, tree(0, 0b0010));
        let often = [2, 5, 12, 40][(seed % 4) as usize];
        let mut due: Option<Vec<u8>> = None;
        let (mut frames, mut writes) = (0, 0);
        for _ in 0..20_000 {
            if bench.rng.random_range(0..often) == 0 {
                writes += 1;
                if multicast {
                    let entries = [tree(0, 0b0010), tree(0, 0b1100), tree(1, 0b0001), None];
                    let entry = entries[bench.rng.random_range(0..4)];
                    bench.model.set_multicast(3, entry).unwrap();
                    bench.rtl.write_multicast(3, entry).unwrap();
                } else {
                    let port = [Some(1), Some(2), Some(3), None][bench.rng.random_range(0..4)];
                    bench.model.set_unicast(20, port).unwrap();
                    bench.rtl.write_unicast(20, port);
                }
            }
            if let Some(frame) = due.take() {
                bench.expect(0, &frame);
            }
            if bench.sources[0].is_empty() && bench.rng.random_range(0..3) != 0 {
                let to = if multicast { tree_mac(3) } else { node_mac(20) };
                let length = bench.rng.random_range(60..150);
                let frame = bench.frame(0, to, length);
                bench.queue(0, &frame);
                due = Some(frame);
                frames += 1;
            }
            bench.clock();
        }
        if let Some(frame) = due.take() {
            bench.expect(0, &frame);
        }
        bench.finish();
        assert_eq!(bench.dropped(), 0);
        println!("{writes} writes, {frames} frames, seed {seed}");
        assert!(frames > 500 && writes > 400);
    }
}

#[test]
fn unicast_writes_under_traffic_give_the_old_or_the_new_entry() {
    writes_under_traffic(false);
}

#[test]
fn multicast_writes_under_traffic_give_the_old_or_the_new_entry() {
    writes_under_traffic(true);
}
