//! Fabric files of networks.

use tributary_fabric::NetworkBuilder;
use tributary_fabric::export::tables::NamedTables;
use tributary_fabric::route::Fulb;
use tributary_sim::fabric::network::NetworkError;
use tributary_sim::fabric::{Fabric, LinkSpec, file};

use crate::common::*;

#[test]
fn mc_10_tables_are_the_trees_of_a_fabric_file() {
    for topology in ["ft3:4", "torus:3x3x3,1", "df:2,2,1"] {
        let network = network(topology);
        let groups = groups(&network, "rnd20_5_1");
        let job = Job::new(network, groups, &mut Fulb::default());
        let bare = Fabric::from_network(&job.network, LinkSpec::default()).unwrap();
        let tables = NamedTables::new(&job.network, &job.routed()).unwrap();
        let text = format!("{}\n{tables}", file::write(&bare));
        let fabric = file::parse(&text, "routed.toml").unwrap();
        assert_eq!(fabric, job.fabric());
        assert_eq!(file::write(&fabric), text);
    }
}

#[test]
fn a_fabric_is_what_its_file_says() {
    let mut fabric = Fabric::fat(&[3, 2, 4], &[2, 2], LinkSpec::default()).unwrap();
    fabric.switches[1].engines = false;
    fabric.switches[2].engine.descriptors = 3;
    fabric.switches[3].engine.thresholds = [1, 2, 3];
    fabric.switches[4].engine.timeouts = [4, 3, 2, 1];
    fabric.switches[0].ecn_words = 77;
    fabric.cables[7].link.loss = 1e-7;
    fabric.cables[8].link.latency_clocks = 1000;
    assert_eq!(file::parse(&file::write(&fabric), "x").unwrap(), fabric);
}

/// Hosts are named so.
#[test]
fn mc_10_names_with_dots_and_quotes_are_kept() {
    let mut b = NetworkBuilder::new("named");
    let a = b.switch("rack1.sw", 1, 4).unwrap();
    let c = b.switch("\"MF0;rack2\" \\", 2, 4).unwrap();
    b.cable((a, 4), (c, 1)).unwrap();
    b.endnode("n1.cluster.org", 3, (a, 1)).unwrap();
    b.endnode("n2.cluster.org", 4, (c, 3)).unwrap();
    let network = b.build().unwrap();
    let fabric = Fabric::from_network(&network, LinkSpec::default()).unwrap();
    assert_eq!(fabric.switches[0].spare, 0b0110);
    assert_eq!(file::parse(&file::write(&fabric), "x").unwrap(), fabric);
    let mut odd = fabric;
    odd.endpoints[0].name = "rack1.sw.3".into();
    let error = file::parse(&file::write(&odd), "x").unwrap_err();
    assert_eq!(
        error.reason,
        "the name rack1.sw.3 is that of port 3 of switch rack1.sw"
    );
}

#[test]
fn mc_10_a_switch_of_more_than_64_ports_is_refused() {
    let mut b = NetworkBuilder::new("wide");
    b.switch("s", 1, 65).unwrap();
    let network = b.build().unwrap();
    let error = Fabric::from_network(&network, LinkSpec::default()).unwrap_err();
    assert!(matches!(error, NetworkError::Ports { .. }));
    assert_eq!(
        error.to_string(),
        "switch s has 65 ports, the project's switch has up to 64"
    );
}
