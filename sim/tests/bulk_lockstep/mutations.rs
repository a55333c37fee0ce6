//! Wrong sending sides: lock step must notice each.

use std::sync::OnceLock;

use tributary_sim::rw::rtl_sender;
use tributary_sim::testbench::{Profile, wrong};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, Plan};

/// Module, the signal that is assigned, and what it is instead. The number of the mutation, from 101 on, comes as
/// `cfg_max_busy`; with any other the engine is right.
const WRONG: [(&str, &str, &str); 61] = [
    // RW-7: a message of any transfer counts.
    ("bulk_engine", "same_xid_reg <= ", "1'b1"),
    // RW-7: a slot that is not there is the one of its lower bits.
    ("bulk_engine", "in_range_reg <= ", "1'b1"),
    // BW-9: numbers begin anew after a reset, whatever the setting.
    ("bulk_engine", "number_before = ", "32'd0"),
    // RW-10: no polls.
    ("bulk_wants", "due_now_reg <= ", "1'b0"),
    // RW-10: the interval does not grow.
    ("bulk_engine", "capped_reg <= ", "t_interval_reg"),
    // RW-18: never gives up.
    ("bulk_engine", "polls_spent_reg <= ", "1'b0"),
    // RW-4: TAIL with the first packet.
    ("bulk_engine", "probe_last_reg <= ", "probe_reg == 22'd0"),
    // RW-19: sends whatever the credit.
    ("bulk_wants", "below_limit_reg <= ", "1'b1"),
    // RW-19: one more than the credit.
    (
        "bulk_wants",
        "limit_reg <= ",
        "{1'b0, credit} + {1'b0, room_reg} + 23'd1",
    ),
    // RW-12: requests for packets that have just left.
    ("bulk_engine", "old_enough_reg <= ", "1'b1"),
    // RW-14: a range moves the pointer forward.
    ("bulk_engine", "probe_below_next_reg <= ", "1'b1"),
    // RW-15: no fresh packet while there are repairs.
    ("bulk_turns", "fresh_first_reg <= ", "1'b0"),
    // RW-15, BW-4: the lowest transfer always goes first.
    ("bulk_turns", "behind_req = ", "chosen_reg"),
    // RW-11: an older STATUS counts.
    ("bulk_engine", "base_below_reg <= ", "1'b0"),
    // RW-11: a STATUS that no receiver sends counts.
    ("bulk_engine", "base_beyond_reg <= ", "1'b0"),
    // RW-12: what is far below the highest is not lost.
    ("bulk_scan", "s4_old_reg <= ", "1'b0"),
    // RW-12: the age of a packet is not looked at.
    ("bulk_scan", "s4_age_reg <= ", "16'd0"),
    // RW-10: a poll that is answered shows nothing.
    ("bulk_engine", "answers_reg <= ", "1'b0"),
    // A packet waits twice to be sent again.
    (
        "bulk_scan",
        "asking = ",
        "s5_valid_reg & s5_lost_reg & room",
    ),
    // What has arrived is still sent again.
    ("bulk_scan", "clearing = ", "1'b0"),
    // The highest packet of a bitmap is one too low.
    ("bulk_inbox", "above_reg <= ", "{5'd0, top_index} + 11'd1"),
    // Second copies always, and never.
    ("bulk_engine", "copy_reg <= ", "1'b1"),
    ("bulk_engine", "copy_reg <= ", "1'b0"),
    // RW-9: a second copy of BUSY counts.
    (
        "bulk_engine",
        "told_busy_reg <= ",
        "is_resp_reg & !t_open_reg & (s_msg_status == RESP_BUSY)",
    ),
    // RW-20: too long a transfer starts.
    ("bulk_plan", "too_many_reg <= ", "1'b0"),
    // RW-20: an address wraps.
    ("bulk_plan", "past_end_reg <= ", "1'b0"),
    // RW-5: the number of packets is that of a length one byte longer.
    ("bulk_plan", "length_1_reg <= ", "length"),
    // BW-4: a transfer without credit is forgotten: what it trusts does not move on.
    ("bulk_engine", "trusted_passed_reg <= ", "1'b0"),
    // RW-12: nothing is learnt of queues; or from a second copy of a STATUS.
    ("bulk_engine", "beyond_reg <= ", "17'd0"),
    ("bulk_engine", "moved_reg <= ", "1'b1"),
    // RW-12: queues that are short again count as long.
    (
        "bulk_engine",
        "beyond_reg <= ",
        "(took_reg < cfg_retry) ? {6'd0, t_late_reg} : ({1'b0, took_reg} - {1'b0, cfg_retry})",
    ),
    // RW-12: a request for a packet or a range, or a STATUS, as if there were no queues.
    (
        "bulk_engine",
        "least_reg <= ",
        "((aim_reg == AIM_BACK) | ((aim_reg == AIM_TRUST) & again_reg)) ? cfg_overtaken : usual",
    ),
    // RW-12: age alone says that packets above the highest are lost.
    (
        "bulk_scan",
        "s5_lost_reg <= ",
        "!s4_arrived_reg & s4_below_reg & ((s4_age_reg >= retry) | (answers & !s4_gap_reg[15]) | s4_old_reg)",
    ),
    // RW-12: a range is served while packets leave that were granted; or only when one more than these has left.
    ("bulk_engine", "granted_left_reg <= ", "1'b0"),
    (
        "bulk_engine",
        "granted_left_reg <= ",
        "t_next_reg <= t_credit_reg",
    ),
    // What waits for credit does not count as such.
    ("bulk_wants", "starved_now_reg <= ", "1'b0"),
    // RW-15: those that send oldest first take turns; not the oldest of them goes; one that leaves the queue stays in it; one
    // that finds it full waits for ever; one that leaves leaves a hole.
    ("bulk_queue", "m_queued = ", "16'd0"),
    ("bulk_queue", "has = ", "wants & stays & 8'hfe"),
    ("bulk_queue", "here = ", "8'd0"),
    ("bulk_queue", "enters = ", "s_begin"),
    ("bulk_queue", "moves = ", "free"),
    // The time of a CONNECT is not kept.
    (
        "bulk_engine",
        "polled_wr_en = ",
        "(state_reg == STATE_EMIT) & (kind_reg != CONNECT)",
    ),
    // CL-4: a gap begins with each packet, however late it is; or where the last one ended, however long ago.
    ("bulk_pace", "soon_reg <= ", "1'b0"),
    ("bulk_pace", "soon_reg <= ", "!late_reg[19]"),
    // CL-4: a gap that is over holds; one that is not lets go.
    ("bulk_pace", "late_reg <= ", "20'd524288"),
    ("bulk_pace", "late_reg <= ", "20'd0"),
    // CL-4: what is slow is not held.
    ("bulk_pace", "is_slow = ", "1'b0"),
    // CL-4: as often as one likes; never.
    ("bulk_pace", "recent_reg <= ", "1'b0"),
    ("bulk_pace", "recent_reg <= ", "1'b1"),
    ("bulk_pace", "waited_reg <= ", "1'b1"),
    ("bulk_pace", "enough_reg <= ", "1'b1"),
    ("bulk_pace", "rises_reg <= ", "1'b0"),
    // CL-4: steps of another size.
    ("bulk_pace", "half_reg <= ", "to_reg"),
    ("bulk_pace", "less_reg <= ", "small_reg"),
    ("bulk_pace", "most_reg <= ", "17'h1ffff"),
    ("bulk_pace", "above_fair_reg <= ", "1'b0"),
    ("bulk_pace", "cut_target_reg <= ", "target_reg[15:0]"),
    // CL-4: what is only told of its part forgets a cut.
    (
        "bulk_pace",
        "begins_fair_reg <= ",
        "!marked_reg & below_fair_reg",
    ),
    // CL-4: held packets leave, asked for again, fresh, of the queue.
    ("bulk_turns", "ready_resend = ", "resend_reg"),
    ("bulk_turns", "ready_fresh = ", "fresh_reg"),
    ("bulk_queue", "may = ", "fresh_reg"),
];

/// The right engine, with the wrong ones in it.
fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, mut files) = rtl_sender::sources(16).unwrap();
        for (number, (module, target, wrong)) in WRONG.iter().enumerate() {
            let (_, text) = files
                .iter_mut()
                .find(|(name, _)| {
                    name.starts_with(&format!("{module}_")) || *name == format!("{module}.v")
                })
                .unwrap_or_else(|| panic!("no module {module}"));
            let places: Vec<_> = text.match_indices(&format!(" {target}")).collect();
            assert_eq!(places.len(), 1, "{module}: {target}");
            let from = places[0].0 + target.len() + 1;
            let upto = from + text[from..].find(';').expect("a statement ends");
            let right = text[from..upto].to_owned();
            let number = 101 + number;
            text.replace_range(
                from..upto,
                &format!("({top}.cfg_max_busy == 16'd{number}) ? ({wrong}) : ({right})"),
            );
        }
        rtl_sender::build_sources(&top, &files).unwrap()
    })
}

/// Runs with much loss, forged messages and short transfers, until something differs; what.
pub fn runs(max_busy: u32) -> Result<u64, String> {
    let mut packets = 0;
    for seed in 0..30 {
        let kind = (seed % 4) as usize;
        let mut bench = Bench::new(
            library(),
            Plan {
                seed: 1000 + seed,
                clocks: 120_000,
                slots: 16,
                w: [256, 64, 1024, 64][kind],
                r: [64, 4, 64, 8][kind],
                stall: [Profile::Free, Profile::Independent(64)][kind % 2],
                tick: [32, 8, 64, 8][kind],
                loss: [50, 150, 20, 10][kind],
                double: 50,
                forge: [0, 100, 200, 100][kind],
                cancel: [0, 20, 20, 100][kind],
                flight: [400, 1000, 2000, 300][kind],
                spread: [200, 600, 1000, 100][kind],
                queue: if seed % 3 == 0 { 0 } else { 8_000 },
                packets: [300, 40, 1000, 100][kind],
                max_busy: if max_busy == 0 { 100 } else { max_busy },
                echo: true,
                oldest_first: [4, 8, 6, 2, 0][(seed % 5) as usize],
                gap: if seed % 8 == 7 { 10_000 } else { 200 },
                pace: match seed {
                    0..20 => None,
                    _ => Some([(8, 500), (40, 300)][(seed % 2) as usize]),
                },
            },
        );
        bench.run()?;
        packets += bench.coverage.packets;
    }
    Ok(packets)
}

pub fn every() {
    let packets = runs(0).unwrap_or_else(|what| panic!("the right engine: {what}"));
    assert!(packets > 5_000, "{packets} packets only");
    wrong::every_is_noticed(&WRONG, |number| runs(101 + number as u32).map(drop));
}

#[test]
fn bw_08_rw_04_rw_07_rw_09_rw_10_rw_14_rw_15_rw_18_rw_19_every_wrong_engine_is_noticed() {
    every();
}
