//! Fabrics of cards that cannot be, and traffic that must not get through.

use tributary_host_driver::{Device, DeviceError};
use tributary_protocol::card::model::ModelConfig;
use tributary_sim::card::Cluster;
use tributary_sim::fabric::{LinkSpec, Simulator, file};

use super::traffic::small;
use super::{exchange, models, plan};

fn refused(text: &str) -> String {
    file::parse(text, "x.toml").unwrap_err().to_string()
}

#[test]
fn cards_that_are_there_twice_unconnected_or_numbered_alike_are_refused_by_line() {
    let two = "[[endpoint]]\nname = \"a\"\n[[endpoint]]\nname = \"b\"\n";
    let cable = "[[cable]]\nends = [\"a\", \"b\"]\n";
    let twice = format!("{two}[[endpoint]]\nname = \"a\"\n{cable}");
    assert_eq!(refused(&twice), "x.toml:5: the name a is there twice");
    assert_eq!(refused(two), "x.toml:1: endpoint a has no cable");
    let wired = refused(&format!("{two}{cable}{cable}"));
    assert_eq!(wired, "x.toml:7: a is wired twice");
    let same = "[[endpoint]]\nname = \"a\"\nnode = 4\n[[endpoint]]\nname = \"b\"\nnode = 4\n";
    let same = refused(&format!("{same}{cable}"));
    assert_eq!(same, "x.toml:4: node 4 is there twice");
}

#[test]
fn cl_01_a_card_has_any_node_number_that_is_no_switch_s() {
    let text = |node: u32| {
        let node = format!("[[endpoint]]\nname = \"a\"\nnode = {node}\n");
        node + "[[endpoint]]\nname = \"b\"\n[[cable]]\nends = [\"a\", \"b\"]\n"
    };
    for node in [65_536, 70_000, (1 << 19) - 1] {
        let sim = Simulator::new(file::parse(&text(node), "x.toml").unwrap(), 1).unwrap();
        let cluster = Cluster::of_models(sim, ModelConfig::default(), 104).unwrap();
        assert_eq!(cluster.nodes()[0], node);
    }
    for node in [1 << 19, 1 << 20, u32::MAX] {
        let error = refused(&text(node));
        let expected = format!("x.toml:1: node {node}; endpoints have nodes below 524288");
        assert_eq!(error, expected);
    }
}

#[test]
fn a_step_is_a_multiple_of_the_clock() {
    let text = "[[endpoint]]\nname = \"a\"\n[[endpoint]]\nname = \"b\"\n[[cable]]\nends = [\"a\", \"b\"]\n";
    let sim = Simulator::new(file::parse(text, "x.toml").unwrap(), 1).unwrap();
    let error = Cluster::of_models(sim, ModelConfig::default(), 100)
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "steps of 100 ns; they must be a multiple of 8"
    );
}

/// A Verilated switch hands a frame on when its last word has left, so a cable must be as long as the longest frame.
#[test]
fn cl_02_a_fabric_that_breaks_down_takes_the_cards_with_it_and_says_why() {
    let link = LinkSpec {
        latency_clocks: 20,
        ..LinkSpec::default()
    };
    let cluster = models(Simulator::of_rtl(small(3, link), 1, false).unwrap());
    let error = exchange(&cluster, &plan(30, 1), &mut |_| {}).unwrap_err();
    assert!(format!("{error:#}").contains("gone"), "{error:#}");
    for device in cluster.devices() {
        assert!(matches!(device.read32(0), Err(DeviceError::Gone)));
        let error = format!("{:#}", device.check().unwrap_err());
        assert!(
            error.starts_with("the fabric has broken down: s, clock ")
                && error.contains("longer than its cable of 20 clocks"),
            "{error}"
        );
    }
}
