//! Deliberate errors in the Verilog, each of which the runs must notice.

use tributary_sim::verilate::Verilated;

use super::SMALL;
use super::bench::{WRONG, build};
use super::random::{Plan, run};

const TOP: &str = "tlp_units_d16";
const IN: &str = "tlp_units_in_d16";
const OUT: &str = "tlp_units_out";

/// Name, module, what stands before an expression, the expression and a wrong one. All are in one model: `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "a session is served before the card is quiet",
        TOP,
        "& session & ",
        "!units_out_m_some",
        "1'b1",
    ),
    (
        "a TLP that has begun is cut",
        TOP,
        "units_in_rst = rst | ",
        "!units_in_m_within",
        "1'b1",
    ),
    ("no time to calm down", TOP, "if (", "&calm_reg", "1'b1"),
    (
        "settings outlive the session",
        TOP,
        "if (",
        "state_reg != 2'd1",
        "1'b0",
    ),
    (
        "no reset by settings",
        TOP,
        "flr_reg <= ",
        "asked_function_reset",
        "1'b0",
    ),
    (
        "a unit that is too short counts",
        IN,
        "bad = wrong_reg | ",
        "(at_reg != final_at_reg);",
        "at_reg > final_at_reg",
    ),
    (
        "the fourth word counts",
        IN,
        "(at_reg != final_at_reg) | (",
        "three_reg & (|word[31:0])",
        "1'b0",
    ),
    ("a digest counts", IN, "| word[63] | ", "word[47]", "1'b0"),
    ("reserved settings count", IN, "(|(word & ", "GAPS", "64'd0"),
    (
        "a size of 16,384 bytes counts",
        IN,
        "| (",
        "asked_max_read[2] & asked_max_read[1]",
        "1'b0",
    ),
    (
        "all go to the requests",
        IN,
        "completes_reg <= ",
        "kept_m[60:57] == 4'd5",
        "1'b0",
    ),
    (
        "a word of data too many",
        IN,
        "if (ends & ",
        "high_reg[32]",
        "1'b0",
    ),
    (
        "completions overtake writes",
        OUT,
        "& !(",
        "wrote_reg & others",
        "others",
    ),
    (
        "writes always go first",
        OUT,
        "wrote_next = ",
        "pick_write;",
        "1'b0",
    ),
    (
        "reads wait for ever",
        OUT,
        "& !(s_rd_tlp_valid & ",
        "completed_reg",
        "1'b0",
    ),
    (
        "odd lengths are a word short",
        OUT,
        "length[11:1]} + ",
        "{11'd0, length[0]}",
        "12'd0",
    ),
    (
        "what was in the padding is seen",
        OUT,
        "if (",
        "!mask[1]",
        "1'b0",
    ),
    (
        "a write ends before its last word",
        OUT,
        "(!writes_reg | ",
        "s_wr_tlp_eop",
        "1'b1",
    ),
    (
        "numbers return when the link has taken their writes",
        OUT,
        "arrived = known_reg & ",
        "!ahead_reg[15] & (|ahead_reg)",
        "1'b1",
    ),
    (
        "numbers return a unit too early",
        OUT,
        "!ahead_reg[15] & ",
        "(|ahead_reg)",
        "1'b1",
    ),
    (
        "reads do not count as units",
        OUT,
        "given_next = ",
        "given_reg + 16'd1;",
        "given_reg + {15'd0, has_data}",
    ),
    (
        "numbers of a lost session return",
        OUT,
        "if (arrived | ",
        "!enable",
        "1'b0",
    ),
    (
        "writes begin without a place for their numbers",
        OUT,
        "? ",
        "waits_s_ready",
        "1'b1",
    ),
];

fn with_errors() -> Verilated {
    build(SMALL, |file, mut text| {
        let module = file.trim_end_matches(".v");
        if ![TOP, IN, OUT].contains(&module) {
            return text;
        }
        for (number, (name, of, before, right, wrong)) in (1..).zip(MUTATIONS) {
            if *of != module {
                continue;
            }
            let place = format!("{before}{right}");
            assert_eq!(text.matches(&place).count(), 1, "{name}: {place}");
            // What stands behind the expression stays behind it.
            let (right, rest) = right.split_at(right.find(';').unwrap_or(right.len()));
            let either = format!("{before}((wrong == 5'd{number}) ? ({wrong}) : ({right})){rest}");
            text = text.replace(&place, &either);
        }
        let clock = text
            .lines()
            .find(|line| line.contains("input") && line.contains("clk"));
        let clock = clock.unwrap().to_owned();
        let both = format!("{}\n{clock}", clock.replace("clk", "[4:0] wrong"));
        let text = text.replacen(&clock, &both, 1);
        text.replace(" units_in (\n", " units_in (\n        .wrong (wrong),\n")
            .replace(" units_out (\n", " units_out (\n        .wrong (wrong),\n")
    })
}

/// What notices an error first.
fn noticed(library: &Verilated) -> Option<String> {
    for seed in 0..8 {
        for losses in [0, 300] {
            let plan = Plan {
                wrong: 300,
                losses,
                clocks: 12_000,
            };
            if let Err(error) = run(library, SMALL, plan, seed) {
                return Some(format!("seed {seed}: {error}"));
            }
        }
    }
    None
}

#[test]
fn wrong_joints_are_noticed() {
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
