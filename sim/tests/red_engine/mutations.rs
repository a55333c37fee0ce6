//! Wrong engines: each differs from `red_engine` in one expression, and lock step must notice.

use super::{bench, run, two_scales};

/// Rule, module, text that stands there once, what stands there instead.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "RED-6: a word that moves is not forwarded",
        "red_accumulate_d8",
        "if (follows_reg) begin",
        "if (1'b0) begin",
    ),
    (
        "RED-1: a word that is just being written is not forwarded",
        "red_accumulate_d8",
        "a_is_near = near_store_reg &",
        "a_is_near = 1'b0 &",
    ),
    (
        "RED-9: the second operation replaces the first",
        "red_match_d8",
        "t4_op_reg <= t2_empty_reg ?",
        "t4_op_reg <= 1'b1 ?",
    ),
    (
        "RED-10: the cookie is not compared",
        "red_match_d8",
        "t3_match_reg <= t2_any_reg & t2_vni_reg & t2_cookie_reg",
        "t3_match_reg <= t2_any_reg & t2_vni_reg",
    ),
    (
        "RED-11: complete above the wait count only",
        "red_match_d8",
        "t4_reached_reg <= !excess[21]",
        "t4_reached_reg <= left[21]",
    ),
    (
        "RED-12: a timer set during a visit runs at once",
        "red_match_d8",
        "|(visit_at_reg & fresh_reg)",
        "1'b0",
    ),
    (
        "RED-13: arming again keeps the count",
        "red_match_d8",
        "{t5_op_reg, t5_count_reg} : 26'd0",
        "{t5_op_reg, t5_count_reg} : {6'd0, t5_count_reg}",
    ),
    (
        "RED-14: every other sequence number is newer",
        "red_match_d8",
        "t4_older_reg <= behind[9]",
        "t4_older_reg <= 1'b0",
    ),
    (
        "RED-15: a word written late is not put right",
        "red_emit",
        "\n        if (p_stale_reg) begin",
        "\n        if (1'b0) begin",
    ),
    (
        "RED-15: the same, while the output stalls",
        "red_emit",
        "end else if (p_stale_reg) begin",
        "end else if (1'b0) begin",
    ),
    (
        "RED-15: a word written in the clock after it was read is not put right",
        "red_emit",
        "c_value = c_late_reg ?",
        "c_value = 1'b0 ?",
    ),
    (
        "RED-15: the same, while the output stalls",
        "red_emit",
        "end else if (c_late_reg) begin",
        "end else if (1'b0) begin",
    ),
    (
        "RED-15: a descriptor is freed when its last word is read, which a stalled output then holds",
        "red_emit",
        "assign done_valid = flows_reg & c_last_reg & c_result_reg;\n    \
         assign done_index = c_place_reg[4:2];",
        "assign done_valid = step & is_last & !passing_reg;\n    assign done_index = index_reg;",
    ),
    (
        "RED-1: of those taken together a last one without a partner is lost",
        "red_together",
        "(number[0] | last_reg[9]);",
        "number[0];",
    ),
    (
        "RED-1: what the descriptor is combined with has a partner of the tree, too",
        "red_together",
        "& (m_empty | !is_final_reg[9]);",
        ";",
    ),
    (
        "RED-1: the second level of the tree has the place of the first",
        "red_together",
        "place = 2'd1;",
        "place = 2'd0;",
    ),
    (
        "RED-11: others that are taken do not count",
        "red_together",
        "count_reg <= sum[19:0];",
        "count_reg <= count_reg;",
    ),
    (
        "RED-11: the count of those taken together wraps",
        "red_together",
        "count_reg <= COUNT_MAX;",
        "count_reg <= sum[19:0];",
    ),
    (
        "RED-9: result codes of others are forgotten",
        "red_together",
        "rc_frames_reg <= {1'b0, o_rc};",
        "rc_frames_reg <= rc_frames_reg;",
    ),
    (
        "RED-1: result codes of the tree are forgotten",
        "red_together",
        "rc_lane_reg <= l_code;",
        "rc_lane_reg <= rc_lane_reg;",
    ),
    (
        "RED-9: taken together though the descriptor has another operation",
        "red_match_d8",
        "others & !t4_differs_reg &",
        "others &",
    ),
    (
        "RED-9: taken together though operations have disagreed",
        "red_match_d8",
        "& !t2_mismatched_reg;\n    assign",
        ";\n    assign",
    ),
    (
        "RED-12: a descriptor is given up while contributions are taken together",
        "red_match_d8",
        "still = !s_first & closed_reg & !busy;",
        "still = !s_first & closed_reg;",
    ),
    (
        "RED-9: the pass has a source of its own",
        "red_accumulate_d8",
        "if (t8_reg & !in_pass) begin",
        "if (t8_reg) begin",
    ),
    (
        "RED-1: the other words of a pass are not nothing",
        "red_accumulate_d8",
        "b_frame = taken ? 64'd0 : swap_m;",
        "b_frame = swap_m;",
    ),
];

#[test]
fn red_06_red_09_red_10_red_11_red_12_red_13_red_14_red_15_wrong_engines_are_noticed() {
    let (top, files) = bench::sources();
    // Two at a time: the machine of the continuous integration has two cores.
    for pair in WRONG.chunks(2) {
        std::thread::scope(|scope| {
            for &(what, module, right, wrong) in pair {
                let mut files = files.clone();
                let top = &top;
                scope.spawn(move || {
                    let name = format!("{module}.v");
                    let (_, text) = files.iter_mut().find(|(file, _)| *file == name).unwrap();
                    assert_eq!(text.matches(right).count(), 1, "{what}: {right}");
                    *text = text.replace(right, wrong);
                    let library = bench::build(top, &files);
                    let noticed = (0..26)
                        .find_map(|seed| run(&library, seed, super::CLOCKS).err())
                        .or_else(|| (0..26).find_map(|seed| two_scales(&library, seed).err()));
                    println!("{what}: {}", noticed.as_deref().unwrap_or("not noticed"));
                    assert!(noticed.is_some(), "{what}: lock step does not notice");
                });
            }
        });
    }
}
