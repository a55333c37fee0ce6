//! Fabrics of cards that cannot be, and traffic that must not get through.

use tributary_protocol::card::model::ModelConfig;
use tributary_sim::card::Cluster;
use tributary_sim::fabric::{Simulator, file};

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
fn a_card_cannot_have_a_node_number_beyond_its_16_bits() {
    let text = "[[endpoint]]\nname = \"a\"\nnode = 70000\n[[endpoint]]\nname = \"b\"\n[[cable]]\nends = [\"a\", \"b\"]\n";
    let sim = Simulator::new(file::parse(text, "x.toml").unwrap(), 1).unwrap();
    let error = Cluster::of_models(sim, ModelConfig::default(), 104)
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "a is node 70000; cards have nodes below 65536"
    );
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
