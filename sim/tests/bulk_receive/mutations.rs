//! Wrong receiving sides: the bench must notice each.

use std::sync::OnceLock;

use tributary_sim::testbench::Profile;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, Plan};
use crate::{plan, sources};

/// The number of each, from 101 on, comes as `cfg_busy_hint`; with any other the block is right.
const WRONG: [Wrong; 28] = [
    // BW-2: whoever knows the Q_Key may write to any queue pair.
    ("bulk_check", "receives_reg <= ", "1'b1"),
    // BW-2: the Q_Key is not looked at.
    ("bulk_check", "same_key_reg <= ", "1'b1"),
    // BW-2: only the first byte is looked up.
    ("bulk_check", "has_bytes_reg <= ", "1'b0"),
    // BW-2: the last byte is looked up one too far.
    ("bulk_check", "length_1_reg <= ", "r_length_reg"),
    // RW-20: what no card sends is acted upon.
    ("bulk_sort", "bad_reg <= ", "1'b0"),
    ("bulk_sort", "bad_long_reg <= ", "1'b0"),
    // RW-7: the node is not that of the frame.
    ("bulk_sort", "strange_reg <= ", "1'b0"),
    // RW-7: half of the incarnation.
    ("bulk_sort", "wide_gen_reg <= ", "1'b0"),
    // RW-16: packets count as visible before they are.
    ("bulk_land", "visible = ", "pending_m_valid"),
    // BW-7: what is dropped is written.
    ("bulk_land", "accepted = ", "1'b1"),
    // BW-2, BW-9: windows of a region, of a queue pair, stay.
    ("bulk_land", "same_region_reg <= ", "1'b0"),
    ("bulk_land", "same_pair_reg <= ", "1'b0"),
    // RW-19: the words of an answer.
    ("bulk_answer", "granted_reg <= ", "1'b1"),
    ("bulk_answer", "told_busy_reg <= ", "1'b1"),
    // BW-3: nobody waits for the host; the sender hears of it before the host does.
    ("bulk_sort", "m_con_notify = ", "1'b0"),
    // BW-3: never given up.
    ("bulk_notify", "over_reg <= ", "1'b0"),
    // BW-3: what is not ready counts as told.
    ("bulk_notify", "m_rev_status = ", "4'd0"),
    // BW-3: nobody is told.
    ("bulk_notify", "notes = ", "1'b0"),
    // BW-9: a command ends what is being told.
    ("bulk_notify", "m_idle = ", "1'b1"),
    // BW-11: a READ request of others is taken for a CONNECT, opens a window, is allowed though it is too long; another
    // protection domain is said.
    ("bulk_check", "of_read_reg <= ", "1'b0"),
    ("bulk_check", "m_win_valid = ", "state_reg == STATE_OFFER"),
    ("bulk_check", "too_long_reg <= ", "1'b0"),
    ("bulk_check", "s_read_pd = ", "16'h11"),
    // BW-11: nobody hears what became of an answer; it is another one's.
    ("bulk_check", "answers_reg <= ", "1'b0"),
    (
        "bulk_check",
        "m_answer_token = ",
        "{r_token_reg[63:1], 1'b0}",
    ),
    // BW-11: a READ ends well though its window was closed otherwise.
    ("bulk_receive", "m_closed_status = ", "4'd0"),
    // BW-11: messages of READ go to those who send, or are cut.
    ("bulk_sort", "is_read = ", "1'b0"),
    ("bulk_sort", "m_read_pl_last = ", "1'b1"),
];

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, files) = sources(64, 16, 16);
        wrong::library(&top, files, ("cfg_busy_hint", 16), 101, &WRONG)
    })
}

/// Runs until something is noticed; what.
fn runs(busy_hint: u16) -> Result<(), String> {
    for seed in 0..8 {
        let plan = Plan {
            clocks: 60_000,
            stall: [Profile::Free, Profile::Independent(64)][(seed % 2) as usize],
            forge: 6,
            end_every: [3_000, 0][(seed % 2) as usize],
            cancel_every: [0, 1_000, 0, 0][(seed % 4) as usize],
            wrong: 300,
            busy_hint,
            patience: [1_024, 200][(seed % 2) as usize],
            ..plan(seed)
        };
        let run = || Bench::new(library(), plan).run();
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(result) => result?,
            Err(_) => return Err(format!("seed {seed}: an assertion")),
        }
    }
    Ok(())
}

#[test]
fn bw_02_bw_03_bw_07_bw_09_bw_11_rw_07_rw_16_rw_20_every_wrong_receiving_side_is_noticed() {
    runs(100).unwrap_or_else(|what| panic!("the right one: {what}"));
    wrong::every_is_noticed(&WRONG, |number| runs(101 + number as u16));
}
