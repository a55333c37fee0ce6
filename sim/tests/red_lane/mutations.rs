//! Wrong lanes: each differs from `red_lane` in one expression, and the streams must notice.
//!
//! All are in one model, which takes less time to build than one for each; a port that is added
//! to it chooses the wrong expression.

use super::{MODES, bench::Bench, bench::sources, stimulus};
use std::sync::OnceLock;
use tributary_sim::verilate::{BuildOptions, Verilated};

/// A wrong expression: the module, what stands before the right one, the right one, the wrong one.
type Mutation = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The wrong lanes, by name.
const MUTATIONS: &[Mutation] = &[
    ("sticky bit", ALIGN, "sticky = ", "(|s2_lost_reg)", "1'b0"),
    ("far operand", ALIGN, "", "|distance[10:6]", "1'b0"),
    (
        "subnormal distance",
        ALIGN,
        "",
        "s_a_normal ^ s_b_normal",
        "1'b0",
    ),
    (
        "overflow by carry",
        ALIGN,
        "",
        "s3_exp_reg == 11'd2046",
        "1'b0",
    ),
    (
        "no limit",
        "red_flt_lead.v",
        "",
        "s_bits | s_limit",
        "s_bits",
    ),
    (
        "tie to odd",
        ROUND,
        "",
        "rest | s_sum[4]",
        "rest | !s_sum[4]",
    ),
    ("no flush", ROUND, "", "s_ftz & !hidden", "1'b0"),
    (
        "zero down",
        "red_flt_control.v",
        "s1_opposite_reg) ? ",
        "(s1_rounding_reg == 2'd2)",
        "1'b0",
    ),
    (
        "tie of indexes",
        CHOOSE,
        "take_b = ",
        "!s1_below_reg",
        "s1_below_reg",
    ),
    ("signed index", PICK, "", "s_a_sign ^ s_index", "s_a_sign"),
    (
        "no precedence",
        PICK,
        "by_nan = ",
        "b_signalling",
        "s_low_lt",
    ),
    (
        "quiet bit in payload",
        PICK,
        "by_nan = ",
        "s_low_lt",
        "s_lt",
    ),
    ("no zero", CHOOSE, "", "s2_repsum_reg & r_zero", "1'b0"),
    (
        "overflow of signs",
        CHOOSE,
        "",
        "s4_x_sign_reg == s4_y_sign_reg",
        "1'b1",
    ),
    ("carry between halves", CHOOSE, "", "!s3_pair_reg", "1'b1"),
    (
        "overflow of the lower half lost",
        CHOOSE,
        "",
        "s4_pair_reg & low_wraps",
        "1'b0",
    ),
    (
        "lower half chosen as the upper",
        CHOOSE,
        "s2_low_b_reg <= ",
        "low_m_take_b",
        "high_m_take_b",
    ),
    (
        "lower NaN stays signalling",
        CHOOSE,
        "chosen[22] | ",
        "s2_quiet_low_reg",
        "1'b0",
    ),
    (
        "lower NaN keeps its sign",
        CHOOSE,
        "chosen[31] & ",
        "!s2_quiet_low_reg",
        "1'b1",
    ),
    (
        "invalid lower half lost",
        CHOOSE,
        "",
        "high_m_invalid | low_m_invalid",
        "high_m_invalid",
    ),
    (
        "minimum of halves with a place",
        CHOOSE,
        "loc = ",
        "s_op[1] & !is_pair",
        "s_op[1]",
    ),
    (
        "halves swapped",
        LANE,
        "add_other_data = ",
        "{add_high_m_data, add_low_m_data}",
        "{add_low_m_data, add_high_m_data}",
    ),
    (
        "code of the lower sum lost",
        ROUND,
        "",
        "s_high_code | s_low_code",
        "s_high_code",
    ),
    (
        "invalid beside a code of the other sum",
        ROUND,
        "if (",
        "either_code[2]",
        "1'b0",
    ),
    (
        "sticky bit of binary32",
        HALF_ALIGN,
        "sticky = ",
        "(|s2_lost_reg)",
        "1'b0",
    ),
    (
        "far operand of binary32",
        HALF_ALIGN,
        "",
        "|distance[7:5]",
        "1'b0",
    ),
    (
        "subnormal distance of binary32",
        HALF_ALIGN,
        "",
        "s_a_normal ^ s_b_normal",
        "1'b0",
    ),
    (
        "overflow by carry of binary32",
        HALF_ALIGN,
        "",
        "s3_exp_reg == 8'd254",
        "1'b0",
    ),
    (
        "tie of binary32 to odd",
        HALF_ADD,
        "",
        "rest | s6_sum_reg[4]",
        "rest | !s6_sum_reg[4]",
    ),
    (
        "no flush of binary32",
        HALF_ADD,
        "",
        "control_m_ftz & !hidden",
        "1'b0",
    ),
    (
        "limit of binary32",
        HALF_ADD,
        "",
        "align_m_octet[0]",
        "1'b0",
    ),
    (
        "the lower half rounded up with the upper",
        "red_flt_add.v",
        "s7_up_low_reg <= ",
        "up_low",
        "up_high",
    ),
    (
        "sign of the lower half",
        ROUND,
        "low = {",
        "s1_down_reg[31]",
        "1'b0",
    ),
    (
        "overflow of the lower rounding",
        ROUND,
        "",
        "s1_choose_low_reg & s1_low_top_reg",
        "1'b0",
    ),
    (
        "overflow of the upper rounding",
        ROUND,
        "",
        "s1_choose_high_reg & s1_high_top_reg",
        "1'b0",
    ),
    (
        "overflow hides what is invalid",
        ROUND,
        "",
        "beyond & !s1_code_reg[2]",
        "beyond",
    ),
];
const LANE: &str = "red_lane.v";
const HALF_ALIGN: &str = "red_half_align.v";
const HALF_ADD: &str = "red_half_add.v";
const ALIGN: &str = "red_flt_align.v";
const ROUND: &str = "red_flt_round.v";
const PICK: &str = "red_lane_pick.v";
const CHOOSE: &str = "red_lane_choose.v";

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, mut files) = sources();
        let mut replace = |file: &str, before: &str, old: &str, new: &str| {
            let (_, text) = files.iter_mut().find(|(name, _)| name == file).unwrap();
            let old = format!("{before}{old}");
            assert_eq!(text.matches(&old).count(), 1, "{old} in {file}");
            *text = text.replace(&old, &format!("{before}{new}"));
        };
        let port = "input  wire        rst, ";
        replace(
            "red_lane.v",
            "",
            port,
            &format!("input wire [7:0] mutation,\n    {port}"),
        );
        for (number, (_, file, before, right, wrong)) in MUTATIONS.iter().enumerate() {
            let chosen = format!(
                "(({top}.mutation == 8'd{}) ? ({wrong}) : ({right}))",
                number + 1
            );
            replace(file, before, right, &chosen);
        }
        Verilated::build(&BuildOptions::new(&top, &files).with_checks()).unwrap()
    })
}

/// Runs all streams in short form.
fn streams(mutation: u64) -> Result<(), String> {
    for mode in MODES {
        let mut bench = Bench::new(library(), mode);
        bench.set("mutation", mutation);
        stimulus::frames(&mut bench, mode, 1, 2000)?;
        stimulus::sums(&mut bench, 2, 5000)?;
        stimulus::integers(&mut bench, 3, 5000)?;
        stimulus::sums_32(&mut bench, 4, 5000)?;
        stimulus::special_halves(&mut bench, mode, 5)?;
    }
    Ok(())
}

#[test]
fn cl_07_red_01_red_02_red_03_red_04_red_05_wrong_lanes_are_noticed() {
    streams(0).unwrap();
    let missed: Vec<&str> = (1..)
        .zip(MUTATIONS)
        .filter_map(|(number, mutation)| match streams(number) {
            Ok(()) => Some(mutation.0),
            Err(wrong) => {
                println!("{}: {wrong}", mutation.0);
                None
            }
        })
        .collect();
    assert_eq!(missed, Vec::<&str>::new());
}
