//! What the builder of networks refuses, and how it numbers.

use tributary_fabric::{NetworkBuilder, NetworkError};

fn pair() -> NetworkBuilder {
    let mut builder = NetworkBuilder::new("pair");
    builder.switch("a", 1, 4).unwrap();
    builder.switch("b", 2, 4).unwrap();
    builder.cable((0, 4), (1, 4)).unwrap();
    builder.endnode("h", 3, (0, 1)).unwrap();
    builder
}

#[test]
fn mc_10_what_is_taken_is_named() {
    let mut builder = pair();
    let message = |error: NetworkError| error.to_string();
    assert_eq!(
        builder.cable((0, 2), (1, 4)).map_err(message).unwrap_err(),
        "port 4 of switch b is wired already, to a"
    );
    assert_eq!(
        builder.cable((0, 1), (1, 1)).map_err(message).unwrap_err(),
        "port 1 of switch a is wired already, to h"
    );
    assert_eq!(
        builder
            .endnode("h", 4, (1, 1))
            .map_err(message)
            .unwrap_err(),
        "there is a node h already"
    );
    assert_eq!(
        builder.switch("c", 3, 4).map_err(message).unwrap_err(),
        "node c has GUID 0x0000000000000003, as h has"
    );
    assert_eq!(
        builder
            .endnode("i", 4, (1, 5))
            .map_err(message)
            .unwrap_err(),
        "switch b has ports 1 to 4, not 5"
    );
    assert_eq!(
        builder
            .endnode("i", 4, (2, 1))
            .map_err(message)
            .unwrap_err(),
        "there is no switch 2: 2 were added"
    );
    // Nothing of what was refused is left behind.
    builder.cable((0, 2), (1, 1)).unwrap();
    builder.endnode("i", 4, (0, 3)).unwrap();
    let network = builder.build().unwrap();
    assert_eq!((network.cables().len(), network.endnodes().len()), (2, 2));
}

#[test]
fn links_and_endnodes_are_by_port_in_whatever_order_they_came() {
    let mut builder = pair();
    builder.cable((1, 1), (0, 3)).unwrap();
    builder.cable((0, 2), (1, 3)).unwrap();
    let network = builder.build().unwrap();
    let ports = |s| {
        network
            .links(s)
            .iter()
            .map(|l| (l.port, l.peer_port))
            .collect::<Vec<_>>()
    };
    assert_eq!(ports(0), [(2, 3), (3, 1), (4, 4)]);
    assert_eq!(ports(1), [(1, 3), (3, 2), (4, 4)]);
    assert_eq!(network.attached(0), [0]);
}

#[test]
fn parts_are_numbered_without_gaps_and_before_switches_of_none() {
    let mut builder = NetworkBuilder::new("parts");
    for (id, name) in (0..).zip(["a", "b", "c", "d", "e"]) {
        builder.switch(name, id, 4).unwrap();
        if id > 0 {
            builder.cable((id as u32 - 1, 1), (id as u32, 2)).unwrap();
        }
    }
    builder.block(0, u32::MAX);
    builder.block(2, 7);
    builder.block(3, u32::MAX);
    assert_eq!(builder.build().unwrap().blocks(), [1, 2, 0, 1, 3]);
}
