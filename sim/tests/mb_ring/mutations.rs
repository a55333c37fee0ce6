//! Deliberate errors in the Verilog, each of which the runs must notice: those of the model of the ring by their names, and more.

use tributary_hdl::catalog;
use tributary_protocol::multicast::Algorithm;
use tributary_sim::verilate::{BuildOptions, Verilated};

use super::bench::{GROUPS, WRONG};
use super::directed::waiting_groups;
use super::members::Scenario;
use super::random::{arbitrary, real};

/// Name, what stands before an expression, the expression and a wrong one. All are in one model: `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str)] = &[
    (
        "not_modulo: blocks",
        "first_behind_reg <= ",
        "first_ahead[31]",
        "first_value_reg < head_received",
    ),
    (
        "not_modulo: credits",
        "second_behind_reg <= ",
        "second_ahead[31]",
        "second_value_reg < head_credit",
    ),
    ("error_satisfies", "", "op_reg == OP_FAILED", "1'b0"),
];

fn with_errors() -> Verilated {
    let design = catalog::choose("mb_ring", &[("G", GROUPS)]);
    let design = design.unwrap().emit().unwrap();
    let mut files: Vec<(String, String)> = design
        .files()
        .into_iter()
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    let (_, text) = files
        .iter_mut()
        .find(|(name, _)| name.starts_with("mb_ring_g"))
        .unwrap();
    for (number, (name, before, right, wrong)) in (1..).zip(MUTATIONS) {
        let place = format!("{before}{right}");
        assert_eq!(text.matches(&place).count(), 1, "{name}: {place}");
        let either = format!("{before}((wrong == 5'd{number}) ? ({wrong}) : ({right}))");
        *text = text.replace(&place, &either);
    }
    let clock = text
        .lines()
        .find(|line| line.contains("input") && line.contains("clk"));
    let clock = clock.unwrap().to_owned();
    let both = format!("{}\n{clock}", clock.replace("clk", "[4:0] wrong"));
    *text = text.replacen(&clock, &both, 1);
    Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap()
}

/// What notices an error first.
fn noticed(library: &Verilated) -> Option<String> {
    if let Err(error) = waiting_groups(library) {
        return Some(format!("groups that wait: {error}"));
    }
    for seed in 0..6 {
        for (what, run) in [
            ("real", real as super::random::Run),
            ("arbitrary", arbitrary),
        ] {
            if let Err(error) = run(library, seed) {
                return Some(format!("{what}, seed {seed}: {error}"));
            }
        }
    }
    let scenario = Scenario {
        algorithm: Algorithm::BinomialPipeline,
        members: 5,
        blocks: 4,
        groups: 2,
        messages: 2,
        block: 300,
        latency: 40,
    };
    scenario.run(library).err()
}

#[test]
fn mb_16_wrong_rings_are_noticed() {
    let library = with_errors();
    let mut unseen = Vec::new();
    for (number, (name, ..)) in (1..).zip(MUTATIONS) {
        WRONG.set(number);
        match noticed(&library) {
            Some(error) => println!("{name}: {}", error.chars().take(160).collect::<String>()),
            None => unseen.push(name),
        }
    }

    WRONG.set(0);
    assert_eq!(noticed(&library), None);
    assert!(unseen.is_empty(), "{unseen:?}");
}
