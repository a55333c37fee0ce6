//! Deliberate errors in the Verilog, each of which the runs must notice: those of the model of the ring by their names, and more.

use tributary_hdl::catalog;
use tributary_protocol::multicast::Algorithm;
use tributary_sim::verilate::{BuildOptions, Verilated};

use super::bench::{GROUPS, WRONG};
use super::directed::{closing, refused, waiting_groups};
use super::members::Scenario;
use super::random::{arbitrary, real};

/// Name, what stands before an expression, the expression and a wrong one. All are in one model: `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str)] = &[
    (
        "not_modulo: blocks",
        "first_behind_next = ",
        "first_ahead[31]",
        "(aim_reg == AIM_HEAD) ? (first_value_reg < head_received) : first_ahead[31]",
    ),
    (
        "not_modulo: credits",
        "second_behind_next = ",
        "second_ahead[31]",
        "second_value_reg < head_credit",
    ),
    (
        "error_satisfies",
        "op_next = ",
        "{1'b0, s_ev_op} | OP_BEGIN",
        "(s_ev_op == 3'd4) ? OP_LANDED : ({1'b0, s_ev_op} | OP_BEGIN)",
    ),
    (
        "blocks_others",
        "lane_next = lane_reg + 2'd1;\n            state_next = ",
        "STATE_LANE",
        "ready ? STATE_LANE : STATE_FIRST",
    ),
    ("two_errors", "st_mode_next = ", "ENDED", "ENDING"),
    (
        "no_watchdog",
        "if (",
        "ticked_reg >= st_watchdog_reg",
        "1'b0",
    ),
    ("no_drain", "ends = ", "still", "1'b1"),
    (
        "no_recheck",
        "if (op_reg == OP_CREDIT) begin\n                    mask_next = ",
        "3'd1",
        "3'd0",
    ),
    (
        "a late credit counts",
        "counts = ",
        "!first_behind_reg & !first_same_reg;",
        "(op_reg == OP_CREDIT) | (!first_behind_reg & !first_same_reg);",
    ),
    (
        "one block more than granted",
        "counts = ",
        "!first_behind_reg & !first_same_reg & ",
        "!first_behind_reg & ",
    ),
    (
        "blocks of all are not counted",
        "(aim_reg == AIM_TOTAL)) begin\n            counters_wr_en = ",
        "1'b1",
        "1'b0",
    ),
    (
        "grants are not kept",
        "grant_valid_next = 1'b1;\n                        counters_wr_en = ",
        "1'b1",
        "1'b0",
    ),
    (
        "room for one entry too many",
        "assign room = ((st_send_count_reg + st_flying_reg) < ",
        "4'd8",
        "4'd9",
    ),
    (
        "its queues stay when a group ends",
        "if (ends) begin\n            st_send_count_next = ",
        "4'd0",
        "st_send_count_reg",
    ),
    (
        "time runs after a message is done",
        "st_begun_next = ",
        "!first_same_reg",
        "1'b1",
    ),
    (
        "a carry is lost",
        "{st_base_reg[63:32] + ",
        "{31'd0, low_reg[32]}",
        "32'd0",
    ),
    (
        "a start that waits is lost",
        "free = ",
        "!start_valid_reg",
        "1'b1",
    ),
    (
        "groups beyond the last",
        "(st_mode_reg == RUNNING) & ",
        "!beyond_reg",
        "1'b1",
    ),
    (
        "an unreadable entry is carried out",
        "if (",
        "burst_error",
        "1'b0",
    ),
    (
        "closed while a read is under way",
        "(st_mode_reg == ENDED)\n                    & ",
        "!(|st_flying_reg)",
        "1'b1",
    ),
    (
        "too many entries posted",
        "(ahead_reg >= before_reg) & ",
        "(ahead_reg <= size_reg)",
        "1'b1",
    ),
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
        assert!(text.contains(&place), "{name}: nowhere {place}");
        // What stands behind the expression stays behind it.
        let strip = |text: &'static str| text.trim_end_matches([';', '&', ' ']);
        let rest = &right[strip(right).len()..];
        let (right, wrong) = (strip(right), strip(wrong));
        let either = format!("{before}((wrong == 5'd{number}) ? ({wrong}) : ({right})){rest}");
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
    let strange = |library: &_| refused(library).map(|_| ());
    for directed in [
        waiting_groups as fn(&Verilated) -> Result<(), String>,
        closing,
        strange,
    ] {
        if let Err(error) = directed(library) {
            return Some(format!("directed: {error}"));
        }
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
