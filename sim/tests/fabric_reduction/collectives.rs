//! coll_reduce and coll_reduce_ops of the open host software, through fabrics.

use tributary_protocol::red::{Op, Rc, Value, host::LeafConfig};
use tributary_sim::fabric::{Contribution, Fabric, GroupConfig, LinkSpec, Simulator, TreeSpec};

use crate::common::*;

const NODES: usize = 31;
/// Clocks between one endpoint's beginning and the next one's.
const STEP: u64 = 10;

/// 31 endpoints on four leaf switches (the 32nd place has someone who takes no part); trees with different roots.
fn nodes(trees: usize) -> Simulator {
    let mut fabric = Fabric::regular(&[8, 4], LinkSpec::default()).unwrap();
    let tree = |t: usize| TreeSpec {
        id: 1 + t as u16,
        root: t * 9,
        root_contributes: false,
        members: (0..NODES).filter(|e| *e != t * 9).collect(),
        entries: Vec::new(),
    };
    fabric.trees = (0..trees).map(tree).collect();
    Simulator::new(fabric, 1).unwrap()
}

/// `concur` reductions at once, eight on a tree; endpoints begin one after the other from `first` on.
fn coll_reduce(concur: usize) {
    let mut cases = 0;
    for first in (0..5).chain(27..31) {
        for wrong in [None, Some(0), Some(1)] {
            for leaf_first in [false, true] {
                case(concur, first, wrong, leaf_first);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 54);
}

fn case(concur: usize, first: usize, wrong: Option<usize>, leaf_first: bool) {
    let mut sim = nodes(concur.div_ceil(8));
    let groups: Vec<usize> = (0..concur)
        .map(|n| {
            let config = GroupConfig {
                reduction: (n % 8) as u8,
                cookie: n as u32,
                leaf: LeafConfig {
                    wait_for_arm: !leaf_first,
                    ..LeafConfig::default()
                },
                ..GroupConfig::default()
            };
            sim.add_group(n / 8, &config).unwrap()
        })
        .collect();
    for &group in &groups {
        let root = sim.group_endpoints(group)[0];
        for place in 0..NODES {
            let e = (first + place) % NODES;
            let at = match (e == root, leaf_first) {
                (true, false) => 2_000,
                (true, true) => 4_000 + STEP * NODES as u64,
                // Without waiting for the arm frame, some are ahead of it.
                (false, true) => STEP * place as u64,
                (false, false) => 3_000 + STEP * place as u64,
            };
            let op = if wrong == Some(e) {
                Op::IntMax
            } else {
                Op::IntSum
            };
            sim.contribute(
                group,
                e,
                0,
                Contribution {
                    at,
                    op,
                    value: lanes((e * (group + 1)) as u64),
                },
            )
            .unwrap();
        }
    }
    for &group in &groups {
        finish(&mut sim, group, 0, |_| true);
        let outcome = agreed(&sim, group, 0);
        let what = format!(
            "concur {concur}, first {first}, wrong {wrong:?}, leaf first {leaf_first}, group {group}"
        );
        let code = if wrong.is_some() {
            Rc::OP_MISMATCH
        } else {
            Rc::OK
        };
        assert_eq!((outcome.value.rc, outcome.count), (code, 31), "{what}");
        if wrong.is_none() {
            assert_eq!(outcome.value.data, [465 * (group as u64 + 1); 4], "{what}");
        }
        assert_eq!(missing(&sim, group, 0), None, "{what}");
    }
    settle(&mut sim);
}

#[test]
fn red_09_coll_reduce_concur1() {
    coll_reduce(1);
}

#[test]
fn red_09_coll_reduce_concur2() {
    coll_reduce(2);
}

#[test]
fn red_09_coll_reduce_concur3() {
    coll_reduce(3);
}

#[test]
fn red_09_coll_reduce_concur8() {
    coll_reduce(8);
}

/// As many as there are nodes: 31 reductions on four trees, more than the engines' descriptors.
#[test]
fn red_16_coll_reduce_concur_n() {
    coll_reduce(NODES);
}

/// Every root in turn, every operation, ten nodes: the value is that of a fold in the order of the nodes.
#[test]
fn red_18_coll_reduce_ops_of_ten_nodes_with_each_root() {
    for root in 0..10 {
        let mut fabric = Fabric::regular(&[5, 2], LinkSpec::default()).unwrap();
        fabric.trees[0].root = root;
        fabric.trees[0].members = (0..10).filter(|e| *e != root).collect();
        let mut sim = Simulator::new(fabric, 1).unwrap();
        let group = group(&mut sim);
        for (round, &op) in (0..).zip(Op::ALL) {
            // Small numbers, so that no sum is rounded and no order matters.
            let number = |e: usize| (e as f64 - 4.0).to_bits();
            let value = |e: usize| match op {
                Op::Barrier => Value::default(),
                Op::FltRepsum => tributary_protocol::red::host::repsum::encode(number(e)),
                Op::IntMinmaxloc => Value {
                    data: [e as u64, e as u64, e as u64, e as u64],
                    ..Value::default()
                },
                Op::FltMinmaxloc | Op::FltMinmaxnumloc => Value {
                    data: [number(e), e as u64, number(e), e as u64],
                    ..Value::default()
                },
                op if op.code() >= Op::FltMin.code() => lanes(number(e)),
                _ => lanes(1 << e | 1 << 20),
            };
            let at = sim.now() + 500;
            contribute_all(&mut sim, group, round, op, value, |_| at);
            finish(&mut sim, group, round, |_| true);
            let fold = (1..10).map(value).fold(value(0), |sum, v| {
                tributary_protocol::red::ops::combine(op, Default::default(), &sum, &v)
            });
            let outcome = agreed(&sim, group, round);
            assert_eq!(
                (outcome.value, outcome.count),
                (fold, 10),
                "{op}, root {root}"
            );
        }
        settle(&mut sim);
    }
}

/// A broadcast is an "or" to which everyone else gives zeros.
#[test]
fn red_18_coll_reduce_ops_broadcast() {
    let mut sim =
        Simulator::new(Fabric::regular(&[5, 2], LinkSpec::default()).unwrap(), 1).unwrap();
    let group = group(&mut sim);
    for sender in 0..10 {
        let word = |e| {
            if e == sender {
                0xabcd_0000 + sender as u64
            } else {
                0
            }
        };
        contribute_all(
            &mut sim,
            group,
            sender as u64,
            Op::Or,
            |e| lanes(word(e)),
            |_| 0,
        );
        finish(&mut sim, group, sender as u64, |_| true);
        assert_eq!(
            agreed(&sim, group, sender as u64).value.data,
            [0xabcd_0000 + sender as u64; 4]
        );
    }
    settle(&mut sim);
}
