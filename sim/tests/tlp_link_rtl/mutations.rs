//! Deliberate errors in the Verilog, each of which the runs must notice.

use tributary_sim::verilate::Verilated;

use super::SMALL;
use super::bench::{WRONG, build};
use super::random::{resets, strange, units};

const TOP: &str = "tlp_link_b64_r64_u4";
const RECEIVE: &str = "tlp_link_receive_d64";

/// Name, module, what stands before an expression, the expression and a wrong one. All are in one model: `wrong` chooses one.
const MUTATIONS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "any number is taken",
        TOP,
        "& receive_m_some & ",
        "right_reg & receive_m_fits;\n    assign",
        "receive_m_fits",
    ),
    (
        "no session is lost",
        TOP,
        "assign lost = ",
        "receive_m_end & mine_reg & open_reg & !known_reg",
        "1'b0",
    ),
    (
        "more than the limit",
        TOP,
        "& ",
        "({4'd0, s_unit_words} <= allowed_reg)",
        "1'b1",
    ),
    (
        "more than can be sent again",
        TOP,
        "& ",
        "({4'd0, s_unit_words} <= room_reg)",
        "1'b1",
    ),
    ("too many units", TOP, "& ", "(kept_reg != MOST)", "1'b1"),
    (
        "the timer does not return",
        TOP,
        "assign index = ",
        "due_reg ? base_reg : next_sent_reg",
        "next_sent_reg",
    ),
    (
        "an idle link says nothing",
        TOP,
        "| ask_reg | ",
        "quiet_reg",
        "1'b0",
    ),
    (
        "a unit is asked for each time",
        TOP,
        "if (ahead_reg & ",
        "!missing_reg",
        "1'b1",
    ),
    (
        "any acknowledgement counts",
        TOP,
        "assign counts = belongs & ",
        "!rest_kept[16]",
        "1'b1",
    ),
    ("a lower limit counts", TOP, "if (", "higher_reg", "1'b1"),
    (
        "busy is not said",
        TOP,
        "assign send_s_busy = answer_reg & open_reg & ",
        "(peer_reg != heard_reg)",
        "1'b0",
    ),
    (
        "an end that is busy opens",
        TOP,
        "assign opens = receive_m_end & mine_reg & !open_reg & ",
        "!receive_m_busy",
        "1'b1",
    ),
    (
        "frames for others count",
        TOP,
        "mine_reg <= ",
        "receive_m_to == life_reg",
        "1'b1",
    ),
    (
        "a new life is the old one",
        TOP,
        "life_reg <= ",
        "life_reg + 32'd1",
        "life_reg",
    ),
    (
        "an acknowledged unit is sent again",
        TOP,
        "if (",
        "!unsent[15] & (|unsent)",
        "1'b0",
    ),
    (
        "the timer goes on after an acknowledgement",
        TOP,
        "due_reg <= 1'b0;\n                wait_reg <= ",
        "reload",
        "wait_reg - 24'd1",
    ),
    (
        "what has left is not told",
        TOP,
        "if (receive_m_left) begin\n            owes_reg <= ",
        "1'b1",
        "owes_reg",
    ),
    (
        "nobody is asked again",
        TOP,
        "if (",
        "receive_m_again",
        "1'b0",
    ),
    (
        "a unit is overwritten while it is sent",
        TOP,
        "if (",
        "send_idle",
        "1'b1",
    ),
    (
        "a wrong FCS is right",
        RECEIVE,
        "s_axis_rx_tlast & ",
        "!s_axis_rx_tuser",
        "1'b1",
    ),
    (
        "a unit that is cut off counts",
        RECEIVE,
        "& ",
        "!(|missing_reg)",
        "1'b1",
    ),
    (
        "another version counts",
        RECEIVE,
        "& ",
        "(header_version == VERSION)",
        "1'b1",
    ),
    (
        "there is always room",
        RECEIVE,
        "assign m_fits = ",
        "!spilled_reg",
        "1'b1",
    ),
    (
        "room is free before a unit has left",
        RECEIVE,
        "room_reg <= DEPTH - (got_reg - ",
        "taken_reg",
        "gone_reg",
    ),
    (
        "a word of a session that is over",
        RECEIVE,
        "assign ahead_rst = rst | ",
        "s_clear",
        "1'b0",
    ),
];

fn with_errors() -> Verilated {
    build(SMALL, |file, mut text| {
        let module = file.trim_end_matches(".v");
        if module != TOP && module != RECEIVE {
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
        text.replace(" receive (\n", " receive (\n        .wrong (wrong),\n")
    })
}

/// What notices an error first.
fn noticed(library: &Verilated) -> Option<String> {
    for seed in 0..8 {
        let runs = [
            ("strange", strange(library, seed)),
            ("units", units(library, SMALL, seed)),
            ("resets", resets(library, seed)),
        ];
        for (what, run) in runs {
            if let Err(error) = run {
                return Some(format!("{what}, seed {seed}: {error}"));
            }
        }
    }
    None
}

#[test]
fn wrong_ends_are_noticed() {
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
