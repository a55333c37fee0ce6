//! Wrong engines: each differs from `rw_window` in a statement or two, and lock step must notice.
//!
//! All are in one model, which takes less time to build than one for each: `cfg_busy_hint`, on
//! which nothing depends but the hint in a BUSY answer, chooses the wrong statement.

use super::{
    bench::{Bench, Plan},
    plan,
};
use std::sync::OnceLock;
use tributary_sim::rw::rtl;
use tributary_sim::verilate::Verilated;

/// A text of a module, which must be found exactly once.
enum Find {
    /// This expression.
    Expression(&'static str),
    /// The second text, behind the first.
    Within(&'static str, &'static str),
    /// The right-hand side of the statement that starts with this text, such as `x_reg <=`, and
    /// is no reset to 0.
    Statement(&'static str),
}

impl Find {
    fn range(&self, text: &str) -> std::ops::Range<usize> {
        let (pattern, found) = match self {
            Self::Expression(pattern) => (
                pattern,
                text.match_indices(pattern)
                    .map(|(at, found)| at..at + found.len())
                    .collect::<Vec<_>>(),
            ),
            Self::Within(before, pattern) => {
                let both = format!("{before}{pattern}");
                let ends = text.match_indices(&both).map(|(at, _)| at + both.len());
                (pattern, ends.map(|end| end - pattern.len()..end).collect())
            }
            Self::Statement(pattern) => {
                let starts = text.match_indices(pattern).filter(|(at, _)| {
                    let line = text[..*at].rfind('\n').map_or(0, |end| end + 1);
                    text[line..*at].trim().is_empty()
                });
                let rights = starts.filter_map(|(at, found)| {
                    let from = at + found.len();
                    let to = from + text[from..].find(';')?;
                    let digits = text[from..to]
                        .trim()
                        .split_once('\'')
                        .map(|(_, digits)| digits);
                    let zero = digits
                        .is_some_and(|d| d.trim_start_matches(['b', 'd', 'h', '0']).is_empty());
                    (!zero).then_some(from..to)
                });
                (pattern, rights.collect())
            }
        };
        assert_eq!(
            found.len(),
            1,
            "pattern not found, or more than once: {pattern}"
        );
        found[0].clone()
    }
}

/// The right engine, with the wrong ones in it.
fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, mut files) = rtl::sources(64, 16).unwrap();
        for (module, place) in places() {
            let text = files
                .iter_mut()
                .find(|(name, _)| name.starts_with(module))
                .map(|(_, text)| text);
            let text = text.unwrap_or_else(|| panic!("no module {module}"));
            let range = place.find.range(text);
            let mut instead = format!("({})", &text[range.clone()]);
            for (mutation, wrong) in place.wrong {
                instead = format!(
                    "(({top}.cfg_busy_hint == 16'd{}) ? ({wrong}) : {instead})",
                    mutation as u16
                );
            }
            text.replace_range(range, &format!(" {instead}"));
        }
        rtl::build_sources(&top, &files, false).unwrap()
    })
}

struct Place {
    find: Find,
    wrong: Vec<(Mutation, &'static str)>,
}

/// The wrong engines; the number chooses.
#[derive(Clone, Copy)]
enum Mutation {
    None = 77,
    NoGeneration = 1,
    OneBitGeneration,
    GenerationStandsStill,
    NoPoll,
    NoDuplicateCheck,
    SlideOffByOne,
    TailNotByIndex,
    CompletionOnTailAlone,
    WritesNotCounted,
    RangeFromWbase,
    OwnSilence,
    NoSilence,
    PollXidUnchecked,
    AbortXidUnchecked,
    RecordOvertakesWrites,
    SecondCopyMissing,
    StatusOnce,
    WordShownEarly,
    TwinOverlooked,
    LapOverlooked,
    WindowTooLarge,
    NeverLeft,
    NoTurns,
    SlidesTwice,
    VerdictOfKnown,
    VerdictIgnored,
    HoldIgnored,
    RevokesAnyGeneration,
    HalfTheNode,
    NeverFound,
    PeersOfUpperNodesAlike,
    PollsOfUpperNodes,
    DataOfUpperNodes,
    EndsWithoutUpperNode,
}

fn places() -> Vec<(&'static str, Place)> {
    use Find::{Expression, Statement, Within};
    use Mutation::*;
    let place = |module, find, wrong: &[_]| {
        (
            module,
            Place {
                find,
                wrong: wrong.to_vec(),
            },
        )
    };
    vec![
        place(
            ACCEPT,
            Statement("s4_stale_reg <="),
            &[
                (NoGeneration, "1'b0"),
                (OneBitGeneration, "s3_id_reg[17] != s3_gen_reg[0]"),
            ],
        ),
        place(
            CONTROL,
            Statement("assign raise_gen ="),
            &[(GenerationStandsStill, "1'b0")],
        ),
        place(
            CONTROL,
            Expression("ctl_type == POLL_STATUS"),
            &[(NoPoll, "1'b0")],
        ),
        place(
            ACCEPT,
            Statement("s5_dup_reg <="),
            &[(NoDuplicateCheck, "1'b0")],
        ),
        // The same packet twice, one behind the other; a packet W further on is taken for it.
        place(
            ACCEPT,
            Statement("s5_same_packet_reg <="),
            &[
                (NoDuplicateCheck, "1'b0"),
                (TwinOverlooked, "1'b0"),
                (
                    LapOverlooked,
                    "s4_word5_reg & (s4_pidx_reg[4:0] == s5_pidx_reg[4:0])",
                ),
            ],
        ),
        // The window is one packet larger.
        place(
            ACCEPT,
            Statement("s4_gap_reg <="),
            &[(
                WindowTooLarge,
                "{1'd0, s3_pidx_reg} - {1'd0, s3_base_reg} - 23'd1",
            )],
        ),
        // Where a slide ends, one further.
        place(
            SLIDE,
            Statement("assign hole ="),
            &[(
                SlideOffByOne,
                "((v8_base_reg >> LB) << LB) + {17'd0, lowest_index} + 22'd1",
            )],
        ),
        // A word without holes does not lead to the next one; a window that has moved is not looked
        // at again, and no window in turn; a visit that overlaps another one moves wbase, too.
        place(
            SLIDE,
            Statement("v8_beyond_reg <="),
            &[(NeverLeft, "v7_base_reg")],
        ),
        place(SLIDE, Statement("v9_again_reg <="), &[(NoTurns, "1'b0")]),
        place(SLIDE, Statement("turn_reg <="), &[(NoTurns, "4'd0")]),
        place(
            SLIDE,
            Statement("assign v8_now_stale ="),
            &[(SlidesTwice, "1'b0")],
        ),
        // The last packet is the one that says so.
        place(
            ACCEPT,
            Statement("s4_at_last_reg <="),
            &[(TailNotByIndex, "s3_tail_reg")],
        ),
        // Every write that becomes visible ends the transfer if its last packet has arrived, or
        // if all packets have.
        place(
            ACKS,
            Statement("s9_full_reg <="),
            &[
                (CompletionOnTailAlone, "s8_known_reg"),
                (WritesNotCounted, "s8_known_reg"),
            ],
        ),
        place(
            CONTROL,
            Statement("incomplete_reg <="),
            &[(CompletionOnTailAlone, "1'b0")],
        ),
        place(
            CONTROL,
            Within("msg_pidx_next = ", "highest_reg"),
            &[(RangeFromWbase, "wbase_reg")],
        ),
        // A range is asked for whatever comes for other windows; never.
        place(
            CONTROL,
            Statement("tail_quiet_reg <="),
            &[
                (OwnSilence, "idle_reg >= cfg_tail_ticks"),
                (NoSilence, "1'b0"),
            ],
        ),
        place(
            CONTROL,
            Statement("xid_match_reg <="),
            &[(PollXidUnchecked, "1'b1")],
        ),
        place(
            CONTROL,
            Statement("same_xid_reg <="),
            &[(AbortXidUnchecked, "1'b1")],
        ),
        // The record of a transfer that is given up waits a fixed time.
        place(
            CONTROL,
            Statement("followed_reg <="),
            &[(RecordOvertakesWrites, "all_decided_reg")],
        ),
        // Every message leaves once; a STATUS does, as it counts as sent before its bitmap; a word
        // of the bitmap leaves before its memory has delivered it.
        place(
            CONTROL,
            Statement("again_reg <="),
            &[(SecondCopyMissing, "1'b0")],
        ),
        place(
            CONTROL,
            Statement("assign copied ="),
            &[(StatusOnce, "m_msg_valid & m_msg_ready")],
        ),
        place(
            CONTROL,
            Statement("shown_reg <="),
            &[(WordShownEarly, "(state_reg == STATE_BITMAP) & !word_left")],
        ),
        // The verdict counts for transfers that are known, too, or for none.
        place(
            CONTROL,
            Statement("judged_reg <="),
            &[
                (VerdictOfKnown, "ctl_verdict != 3'd0"),
                (VerdictIgnored, "1'b0"),
            ],
        ),
        place(
            CONTROL,
            Statement("win_hold_reg <="),
            &[(HoldIgnored, "1'b0")],
        ),
        place(
            CONTROL,
            Statement("this_window_reg <="),
            &[(RevokesAnyGeneration, "is_open_reg")],
        ),
        // Peers that have the same half of their node are the same, or no peer is known.
        place(
            PEERS,
            Statement("high_0_reg <="),
            &[
                (HalfTheNode, "1'b1"),
                (NeverFound, "1'b0"),
                (
                    PeersOfUpperNodesAlike,
                    "keys_0_rd_data[15:10] == s_src[15:10]",
                ),
            ],
        ),
        // Nodes that differ in bits 19:16 are the same.
        place(
            CONTROL,
            Statement("src_part_4_reg <="),
            &[(PollsOfUpperNodes, "1'b1")],
        ),
        place(
            ACCEPT,
            Statement("s4_foreign_reg <="),
            &[(DataOfUpperNodes, "s3_id_reg[16:1] != s3_src_reg[15:0]")],
        ),
        place(
            CONTROL,
            Statement("assign m_cpl_src ="),
            &[(EndsWithoutUpperNode, "{4'd0, win_src[15:0]}")],
        ),
    ]
}

/// What lock step says of the engine.
fn lock_step(mutation: Mutation) -> Result<(), String> {
    (0..SEEDS).try_for_each(|seed| {
        let plan = Plan {
            busy_hint: mutation as u16,
            ..plan(64, 16, seed, CLOCKS)
        };
        Bench::run(plan, library(), 0).map(|_| ())
    })
}

fn caught(mutation: Mutation) {
    println!("{}", lock_step(mutation).expect_err("not caught"));
}

const ACCEPT: &str = "rw_accept_";
const SLIDE: &str = "rw_slide_";
const ACKS: &str = "rw_acks_";
const CONTROL: &str = "rw_control_";
const PEERS: &str = "rw_peers_";

/// Seeds, and clocks with each of them, within which a wrong engine shows.
const SEEDS: u64 = 4;
const CLOCKS: u64 = 30_000;

#[test]
fn rw_01_the_right_engine_among_the_mutations_passes_lock_step() {
    lock_step(Mutation::None).unwrap();
}

#[test]
fn rw_07_mutation_no_generation_is_caught_by_lock_step() {
    caught(Mutation::NoGeneration);
}

#[test]
fn rw_07_mutation_one_bit_generation_is_caught_by_lock_step() {
    caught(Mutation::OneBitGeneration);
}

#[test]
fn p_14_mutation_generation_stands_still_is_caught_by_lock_step() {
    caught(Mutation::GenerationStandsStill);
}

#[test]
fn rw_10_mutation_no_poll_is_caught_by_lock_step() {
    caught(Mutation::NoPoll);
}

#[test]
fn rw_02_mutation_no_duplicate_check_is_caught_by_lock_step() {
    caught(Mutation::NoDuplicateCheck);
}

#[test]
fn rw_03_mutation_slide_off_by_one_is_caught_by_lock_step() {
    caught(Mutation::SlideOffByOne);
}

#[test]
fn rw_04_mutation_tail_not_by_index_is_caught_by_lock_step() {
    caught(Mutation::TailNotByIndex);
}

#[test]
fn rw_04_rw_16_mutation_completion_on_tail_alone_is_caught_by_lock_step() {
    caught(Mutation::CompletionOnTailAlone);
}

#[test]
fn rw_16_mutation_writes_not_counted_is_caught_by_lock_step() {
    caught(Mutation::WritesNotCounted);
}

#[test]
fn rw_13_mutation_range_from_wbase_is_caught_by_lock_step() {
    caught(Mutation::RangeFromWbase);
}

#[test]
fn rw_12_mutation_range_while_others_send_is_caught_by_lock_step() {
    caught(Mutation::OwnSilence);
}

#[test]
fn rw_13_mutation_no_range_is_caught_by_lock_step() {
    caught(Mutation::NoSilence);
}

#[test]
fn rw_02_mutation_twin_overlooked_is_caught_by_lock_step() {
    caught(Mutation::TwinOverlooked);
}

#[test]
fn rw_02_mutation_lap_overlooked_is_caught_by_lock_step() {
    caught(Mutation::LapOverlooked);
}

#[test]
fn rw_01_mutation_window_too_large_is_caught_by_lock_step() {
    caught(Mutation::WindowTooLarge);
}

#[test]
fn rw_03_mutation_slide_never_leaves_its_word_is_caught_by_lock_step() {
    caught(Mutation::NeverLeft);
}

#[test]
fn rw_03_p_18_mutation_windows_not_looked_at_again_are_caught_by_lock_step() {
    caught(Mutation::NoTurns);
}

#[test]
fn rw_19_mutation_overlapping_visits_slide_twice_is_caught_by_lock_step() {
    caught(Mutation::SlidesTwice);
}

#[test]
fn rw_07_mutation_xid_of_poll_unchecked_is_caught_by_lock_step() {
    caught(Mutation::PollXidUnchecked);
}

#[test]
fn rw_07_mutation_xid_of_abort_unchecked_is_caught_by_lock_step() {
    caught(Mutation::AbortXidUnchecked);
}

#[test]
fn rw_11_mutation_second_copy_missing_is_caught_by_lock_step() {
    caught(Mutation::SecondCopyMissing);
}

#[test]
fn rw_11_mutation_status_leaves_once_is_caught_by_lock_step() {
    caught(Mutation::StatusOnce);
}

#[test]
fn rw_11_mutation_bitmap_word_shown_early_is_caught_by_lock_step() {
    caught(Mutation::WordShownEarly);
}

#[test]
fn p_05_mutation_record_overtakes_writes_is_caught_by_lock_step() {
    caught(Mutation::RecordOvertakesWrites);
}

#[test]
fn bw_02_rw_08_mutation_verdict_of_known_transfers_is_caught_by_lock_step() {
    caught(Mutation::VerdictOfKnown);
}

#[test]
fn bw_02_mutation_verdict_ignored_is_caught_by_lock_step() {
    caught(Mutation::VerdictIgnored);
}

#[test]
fn bw_03_mutation_windows_are_not_kept_is_caught_by_lock_step() {
    caught(Mutation::HoldIgnored);
}

#[test]
fn bw_02_bw_09_mutation_revokes_any_generation_is_caught_by_lock_step() {
    caught(Mutation::RevokesAnyGeneration);
}

#[test]
fn bw_10_mutation_half_the_node_is_caught_by_lock_step() {
    caught(Mutation::HalfTheNode);
}

#[test]
fn cl_01_bw_10_mutation_peers_of_upper_nodes_alike_is_caught_by_lock_step() {
    caught(Mutation::PeersOfUpperNodesAlike);
}

#[test]
fn cl_01_rw_07_mutation_polls_of_upper_nodes_is_caught_by_lock_step() {
    caught(Mutation::PollsOfUpperNodes);
}

#[test]
fn cl_01_rw_07_mutation_data_of_upper_nodes_is_caught_by_lock_step() {
    caught(Mutation::DataOfUpperNodes);
}

#[test]
fn cl_01_mutation_ends_without_upper_node_is_caught_by_lock_step() {
    caught(Mutation::EndsWithoutUpperNode);
}

#[test]
fn bw_10_mutation_peers_never_found_is_caught_by_lock_step() {
    caught(Mutation::NeverFound);
}
