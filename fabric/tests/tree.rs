//! What a tree is: every way in which cables can fail to be one is told.

use tributary_fabric::topology::Topology;
use tributary_fabric::tree::{Tree, TreeHop};
use tributary_fabric::{HopTable, Load, Network, Router, route::Minihop, route::RootChoice};

/// A square of switches 0, 1, 3, 2 with a tree over all of them.
fn case() -> (Network, Tree) {
    let network = "torus:2x2,1".parse::<Topology>().unwrap().build().unwrap();
    let hops = HopTable::new(&network).unwrap();
    let tree = Minihop::new(RootChoice::First)
        .route(&network, &hops, &Load::new(&network), &[0, 1, 2, 3])
        .unwrap();
    (network, tree)
}

fn hop(child: u32, cable: u32) -> TreeHop {
    TreeHop { child, cable }
}

#[test]
fn what_is_no_tree_is_told_from_one() {
    let (mut network, tree) = case();
    let all = [0, 1, 2, 3];
    assert_eq!(tree.check(&network, &all), Ok(()));
    let refused =
        |network: &Network, hops: &[TreeHop], root, height, members: &[u32], why: &str| {
            let tree = Tree {
                root,
                height,
                hops: hops.into(),
            };
            let error = tree.check(network, members).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
    let hops = tree.hops.to_vec();
    let (root, height) = (tree.root, tree.height);
    refused(&network, &hops[..2], root, height, &all, "is not reached");
    refused(
        &network,
        &hops,
        root,
        height,
        &all[..3],
        "is an end of the tree and no member",
    );
    refused(
        &network,
        &hops,
        root,
        height + 1,
        &all,
        "height is 2, not 3",
    );
    refused(&network, &hops, 9, height, &all, "no switch 9");
    refused(
        &network,
        &hops,
        root,
        height,
        &[0, 1, 2, 3, 9],
        "member switch 9 is not reached",
    );
    let with = |more: TreeHop| [&hops[..], &[more]].concat();
    refused(
        &network,
        &with(hop(0, 99)),
        root,
        height,
        &all,
        "no cable 99",
    );
    refused(
        &network,
        &with(hops[0]),
        root,
        height,
        &all,
        "in the tree twice",
    );
    let mut turned = hops.clone();
    turned.reverse();
    refused(
        &network,
        &turned,
        root,
        height,
        &all,
        "is not in the tree when its child",
    );
    let first = hops[0];
    let strange = (0..4).find(|&s| {
        let ends = network.cables()[first.cable as usize].ends;
        ends.iter().all(|end| end.0 != s)
    });
    let away = hop(strange.unwrap(), first.cable);
    refused(&network, &[away], root, 1, &all, "does not end at switch");
    network.fail(first.cable);
    refused(&network, &hops, root, height, &all, "does not work");
}
