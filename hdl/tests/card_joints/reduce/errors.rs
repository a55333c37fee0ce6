//! Deliberate errors in the Verilog of card_reduce, each of which must be noticed.

use tributary_sim::testbench::wrong::Wrong;

pub const WRONG: [Wrong; 76] = [
    // CL-1: bits 19:16 of the own node are not sent, or not looked at; those of another one are not sent.
    (
        "card_reduce_send",
        "assign sfa = ",
        "{4'd0, cfg_node[15:0], 12'd0}",
    ),
    (
        "card_reduce_receive",
        "own_reg <= ",
        "to_reg[27:0] == {cfg_node[15:0], 12'd0}",
    ),
    (
        "card_reduce_send",
        "dfa_reg <= ",
        "to_node ? {4'd0, work_node[15:0], 12'd0} : (MULTICAST | {11'd0, reduction, 18'd0} | {16'd0, tree_reg, 3'd0})",
    ),
    // A queue pair joins twice over, or without room; what it fetched is not forgotten.
    (
        "card_reduce_table",
        "ok_reg <= ",
        "decides ? found_reg : ok_reg",
    ),
    (
        "card_reduce_table",
        "ok_reg <= ",
        "decides ? !clash_reg : ok_reg",
    ),
    ("card_reduce_table", "clash_even = ", "1'b0"),
    ("card_reduce_table", "clash_odd = ", "1'b0"),
    ("card_reduce_table", "ev_joined = ", "1'b0"),
    (
        "card_reduce_table",
        "joined_row = ",
        "{free_reg[3:1], 1'b0}",
    ),
    ("card_reduce_root", "row_reg <= ", "{1'b0, row_next[2:0]}"),
    // The odd rows are the even ones, or have their numbers.
    (
        "card_reduce_table",
        "odd_tree_reg <= ",
        "evens_rd_data[40:28]",
    ),
    (
        "card_reduce_table",
        "m_odd_number = ",
        "{shown_at_reg, 1'b0}",
    ),
    // The state of another one, or none.
    ("card_reduce_table", "its_even = ", "1'b0"),
    ("card_reduce_table", "its_odd = ", "1'b0"),
    ("card_reduce_table", "m_odd_receives = ", "1'b1"),
    ("card_reduce_table", "to_end_reg <= ", "1'b0"),
    // Frames of another group, of another tree, for another node.
    (
        "card_reduce_land",
        "for_even = ",
        "even_takes_part_reg & even_cookie_reg & (l_key_own_reg | l_key_by_tree_reg)",
    ),
    (
        "card_reduce_land",
        "for_odd = ",
        "odd_takes_part_reg & odd_vni_reg & odd_cookie_reg",
    ),
    ("card_reduce_land", "for_even = ", "1'b0"),
    ("card_reduce_land", "for_odd = ", "1'b0"),
    (
        "card_reduce_land",
        "even_takes_part_reg <= ",
        "s_even_there",
    ),
    (
        "card_reduce_land",
        "odd_takes_part_reg <= ",
        "s_even_there & s_even_receives",
    ),
    (
        "card_reduce_land",
        "odd_cookie_reg <= ",
        "s_even_of_cookie == l_key_cookie_reg[31:3]",
    ),
    ("card_reduce_land", "odd_qpn_reg <= ", "s_even_of_qpn[4:0]"),
    ("card_reduce_land", "odd_row_reg <= ", "s_even_number"),
    // Looked up though nothing may begin; a completion before the one in front has left; words that stay.
    ("card_reduce_land", "takes = ", "s_valid & !l_busy_reg"),
    (
        "card_reduce_land",
        "a_done = ",
        "a_busy_reg & !asks_reg & m_verdict_room",
    ),
    ("card_reduce_land", "m_verdict_drop = ", "1'b0"),
    // What begins in the clock in which the count is read is not in it.
    ("card_reduce_land", "fetched_now = ", "1'b0"),
    ("card_reduce_land", "m_idle = ", "!l_busy_reg"),
    // Checks of frames.
    ("card_reduce_receive", "wrong_reg <= ", "r_bad_reg"),
    ("card_reduce_receive", "good = ", "ended_reg & !wrong_reg"),
    ("card_reduce_receive", "right_prefix = ", "1'b1"),
    ("card_reduce_receive", "ragged_now = ", "ragged_reg"),
    // The words of a frame that does not fit are kept as far as they do.
    ("card_reduce_receive", "room = ", "keys_s_ready"),
    // Fields of frames that leave; the place of the next one; how it ends.
    ("card_reduce_send", "f_sum_reg <= ", "~folded_reg[15:0]"),
    ("card_reduce_send", "settled = ", "found_reg & known_reg"),
    // The group of a work request: that of the other row, of the one before, none; answers beside them.
    ("card_reduce_send", "same_even_reg <= ", "1'b0"),
    ("card_reduce_send", "same_odd_reg <= ", "1'b0"),
    (
        "card_reduce_send",
        "same_odd_reg <= ",
        "s_odd_of_qpn == {7'd0, look_qpn_reg}",
    ),
    ("card_reduce_send", "odd_row_reg <= ", "s_even_number"),
    ("card_reduce_send", "odd_root_reg <= ", "|s_even_of_members"),
    ("card_reduce_send", "odd_vni_reg <= ", "s_even_of_vni"),
    (
        "card_reduce_send",
        "hit = ",
        "looks_reg & (same_even_reg | same_odd_reg)",
    ),
    ("card_reduce_send", "moves = ", "hit & !found_reg"),
    (
        "card_reduce_send",
        "brings = ",
        "!found_reg & s_answers_valid",
    ),
    ("card_reduce_send", "s_room = ", "1'b1"),
    ("card_reduce_send", "taken_bad = ", "head_bad_reg"),
    ("card_reduce_send", "m_fetched_data = ", "end_request_reg"),
    ("card_reduce_send", "m_idle = ", "!busy_reg"),
    ("card_reduce_send", "m_cancel_qpn = ", "5'd0"),
    // What a tree was told last: an old number, a number on, another round, engines that are not armed, without room.
    ("card_reduce_root", "newer = ", "|ahead_reg"),
    ("card_reduce_root", "newer = ", "!ahead_reg[9]"),
    (
        "card_reduce_root",
        "same_reg <= ",
        "now_seqno_reg[8:0] == seqno_reg[8:0]",
    ),
    ("card_reduce_root", "rounds_reg <= ", "4'd15"),
    ("card_reduce_root", "on_reg <= ", "16'd0"),
    ("card_reduce_root", "state_reg <= ", "1'b1"),
    (
        "card_reduce_root",
        "tells_reg <= ",
        "s_leave_to_tree & s_leave_arm",
    ),
    ("card_reduce_root", "for_armed_reg <= ", "s_leave_arm"),
    ("card_reduce_root", "next_round_reg <= ", "now_round_reg"),
    ("card_reduce_root", "may_answer = ", "s_result_valid"),
    // A result: of fewer members, to this node, for which engines were told of too many, that arms.
    ("card_reduce_land", "may_be_all = ", "l_key_whole_reg"),
    ("card_reduce_land", "may_be_all = ", "!l_key_own_reg"),
    ("card_reduce_land", "even_count_reg <= ", "1'b1"),
    (
        "card_reduce_land",
        "odd_count_reg <= ",
        "{1'b0, s_even_of_members} == l_key_count_reg",
    ),
    ("card_reduce_land", "m_answered_valid = ", "a_done"),
    ("card_reduce_land", "m_result_place = ", "{a_row_reg, 3'd0}"),
    (
        "card_reduce_receive",
        "plain_reg <= ",
        "!word[10] & !(|kind_reg)",
    ),
    (
        "card_reduce_receive",
        "plain_reg <= ",
        "!(|kind_reg) & (word[50:47] != 4'd7)",
    ),
    // An answer: its header, its place, when it is there.
    ("card_reduce_answer", "s_room = ", "1'b1"),
    (
        "card_reduce_answer",
        "words_wr_en = ",
        "moves & answered & (number_reg >= 3'd3)",
    ),
    (
        "card_reduce_answer",
        "header = ",
        "(s_words_data & REST) | ARM | {54'd0, seqno + 10'd1}",
    ),
    ("card_reduce_answer", "m_idle = ", "1'b1"),
    ("card_reduce_send", "m_leave_place = ", "{row_reg, 3'd0}"),
    ("card_reduce_send", "m_leave_arm = ", "1'b1"),
    ("card_reduce_send", "ev_overtaken = ", "1'b0"),
];
