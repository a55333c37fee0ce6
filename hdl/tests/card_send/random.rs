//! Random traffic: everything at once, and what the model must catch.

use super::bench::{Bench, Check, Fault, Seen};
use super::world::{CALM, Manner, all};
use super::{changing, faulty, library};
use std::collections::BTreeMap;
use tributary_protocol::card::command::State;
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::{Stalls, profiles};

const BUSY: Manner = Manner {
    taken: 80,
    words: 90,
    slot: (1, 12),
    refuse: 10,
    latency: 60,
    fail: 1,
    bad: 30,
    bulk: 15,
    bulk_taken: 4,
    fence: 10,
    group: 0,
    room: 100,
    payload: 256,
    flight: 400,
    reads: 24,
    ahead: 3,
    slots: 6,
    places: 64,
};

/// Starved of everything: outputs are rarely taken, words come one by one.
const SLOW: Manner = Manner {
    taken: 15,
    words: 20,
    slot: (1, 40),
    refuse: 40,
    latency: 5,
    fail: 2,
    bad: 50,
    bulk: 20,
    bulk_taken: 1,
    fence: 5,
    group: 0,
    room: 100,
    payload: 64,
    flight: 3000,
    reads: 3,
    ahead: 1,
    slots: 3,
    places: 8,
};

/// Fast, with answers of dma_read in one piece and many failures.
const FRAIL: Manner = Manner {
    latency: 150,
    slot: (1, 4),
    fail: 8,
    bad: 5,
    bulk: 10,
    bulk_taken: 50,
    fence: 5,
    payload: 32,
    refuse: 2,
    places: 32,
    ..CALM
};

/// Some queue pairs are in reduction groups; what takes their work requests has room now and then.
const GROUPS: Manner = Manner {
    group: 30,
    room: 40,
    fence: 20,
    ..BUSY
};
const SLOW_GROUPS: Manner = Manner {
    group: 40,
    room: 3,
    ..SLOW
};
const FRAIL_GROUPS: Manner = Manner {
    group: 50,
    room: 20,
    ..FRAIL
};

/// Random work, doorbells, lives of queue pairs and holds for so many clocks.
fn traffic(bench: &mut Bench, clocks: u64) -> Check {
    for qpn in all() {
        let shape = bench.shape(qpn);
        bench.connect(qpn, shape)?;
    }
    let end = bench.now + clocks;
    let mut release = 0;
    while bench.now < end {
        let qpn = bench.dice.below(16) as u32;
        let qp = &bench.qps[qpn as usize];
        let (state, gone, written) = (qp.state, qp.gone, qp.written);
        let (log, qp_ended) = (qp.shape.log, qp.ended);
        let lives = matches!(
            state,
            State::Init | State::ReadyToReceive | State::ReadyToSend
        );
        match bench.dice.below(1000) {
            0..80 if lives => {
                let most = 1 + bench.dice.below(4);
                bench.post(qpn, most);
            }
            80..90 => {
                // Any index, and the right one behind it.
                let index = bench.dice.word() as u16;
                let near = (written as u16)
                    .wrapping_add(bench.dice.below(8) as u16)
                    .wrapping_sub(4);
                let mut index = if bench.dice.chance(50) { index } else { near };
                if bench.bulk {
                    // What comes back changes which ones are good, at a time that nobody outside knows: these never are.
                    let good = (written - qp_ended) as u16 + (1 << log);
                    let beyond = bench.dice.below(u64::from(u16::MAX - good)) as u16;
                    index = (written as u16).wrapping_add((1 << log) + 1 + beyond);
                }
                bench.doorbells.push_back((qpn, 0, index));
                bench.doorbells.push_back((qpn, 0, written as u16));
            }
            90..100 => {
                let kind = 1 + bench.dice.below(3) as u8;
                let index = bench.dice.word() as u16;
                bench.doorbells.push_back((qpn, kind, index));
            }
            100..103 if state == State::Reset => {
                let shape = bench.shape(qpn);
                bench.create(qpn, shape);
                bench.settle()?;
            }
            100..110 if state == State::Init => bench.set_state(qpn, State::ReadyToReceive),
            100..110 if state == State::ReadyToReceive => bench.set_state(qpn, State::ReadyToSend),
            110..112 if gone || state == State::Error => bench.destroy(qpn)?,
            112 if bench.dice.chance(10) && state != State::Reset => bench.destroy(qpn)?,
            113 if bench.dice.chance(10) && lives => bench.set_state(qpn, State::Error),
            114 if bench.dice.chance(20) => {
                bench.hold = true;
                release = bench.now + bench.dice.below(400);
            }
            _ => {}
        }
        if bench.now >= release {
            bench.hold = false;
        }
        bench.clock()?;
    }
    bench.drain()
}

fn run(seed: u64, manner: Manner, clocks: u64, fault: Option<Fault>) -> Result<Seen, String> {
    let mut bench = Bench::new(library(), seed, manner).map_err(|e| format!("seed {seed}: {e}"))?;
    bench.mtu = [256, 1024, 4096][(seed % 3) as usize];
    bench.fault = fault;
    traffic(&mut bench, clocks).map_err(|e| format!("seed {seed}: {e}"))?;
    Ok(bench.seen)
}

fn soak(manner: Manner, seeds: std::ops::Range<u64>, clocks: u64) {
    let mut outcomes = BTreeMap::<u8, u64>::new();
    let mut events = [("", 0); 10];
    for seed in seeds {
        let seen = run(seed, manner, clocks, None).unwrap_or_else(|e| panic!("{e}"));
        for (outcome, count) in seen.outcomes {
            *outcomes.entry(outcome).or_default() += count;
        }
        for (sum, (what, count)) in events.iter_mut().zip([
            ("dropped", seen.dropped),
            ("payloads", seen.payloads),
            ("turns without a place", seen.stall_place),
            ("turns without a slot", seen.stall_credit),
            ("good doorbells", seen.good_doorbells),
            ("bad doorbells", seen.bad_doorbells),
            ("bulk transfers", seen.bulks),
            ("bulk transfers that came back", seen.came_back),
            ("work requests that came back with them", seen.stale),
            ("work requests that came back for their fence", seen.fenced),
        ]) {
            *sum = (what, sum.1 + count);
        }
    }
    println!("{outcomes:?} work requests by outcome, {events:?}");
    for (what, count) in events {
        assert!(count > 0, "no {what}");
    }
    for outcome in [
        Outcome::Ok,
        Outcome::LocalLength,
        Outcome::LocalAddress,
        Outcome::LocalOpcode,
        Outcome::LocalProtection,
        Outcome::LocalQueue,
    ] {
        assert!(outcomes.contains_key(&outcome.code()), "no {outcome}");
    }
}

#[test]
fn xud_02_every_work_request_ends_once_in_busy_traffic() {
    soak(BUSY, 0..6, 60_000);
}

#[test]
fn xud_02_every_work_request_ends_once_when_everything_stalls() {
    soak(SLOW, 10..15, 150_000);
}

#[test]
fn xud_02_every_work_request_ends_once_when_rings_fail() {
    soak(FRAIL, 20..24, 60_000);
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test card_send under_every_profile -- --nocapture`.
#[test]
fn xud_02_every_work_request_ends_once_under_every_profile_of_stalls() {
    profiles("card_send: work requests", |seed| {
        let stalls = Stalls::of_seed(seed, 4);
        let mut bench = Bench::new(library(), seed, BUSY).unwrap_or_else(|e| panic!("{e}"));
        bench.stalls = Some(stalls.clone());
        traffic(&mut bench, 20_000).unwrap_or_else(|e| panic!("{stalls}: {e}"));
        bench.seen.outcomes.values().sum()
    });
}

/// Groups beside datagrams and bulk transfers, under one manner; what was seen.
fn groups(manner: Manner, seeds: std::ops::Range<u64>, clocks: u64) {
    let mut events = [("", 0); 8];
    for seed in seeds {
        let seen = run(seed, manner, clocks, None).unwrap_or_else(|e| panic!("{e}"));
        for (sum, (what, count)) in events.iter_mut().zip([
            ("work requests of groups", seen.reduces),
            ("with a fence", seen.reduces_fenced),
            ("with an opcode of bulk transfers", seen.reduces_bulk),
            ("clocks without room", seen.no_room),
            ("dropped", seen.reduces_dropped),
            ("datagrams", seen.records),
            ("bulk transfers", seen.bulks),
            ("work requests that came back for their fence", seen.fenced),
        ]) {
            *sum = (what, sum.1 + count);
        }
    }
    println!("{events:?}");
    for (what, count) in events {
        assert!(count > 0, "no {what}");
    }
}

#[test]
fn cl_05_work_requests_of_groups_leave_once_as_they_are_in_busy_traffic() {
    groups(GROUPS, 0..6, 60_000);
}

#[test]
fn cl_05_work_requests_of_groups_leave_once_as_they_are_when_everything_stalls() {
    groups(SLOW_GROUPS, 10..14, 150_000);
}

#[test]
fn cl_05_work_requests_of_groups_leave_once_as_they_are_when_rings_fail() {
    groups(FRAIL_GROUPS, 20..24, 60_000);
}

/// Without groups the bit of the context means nothing.
#[test]
fn cl_05_without_groups_all_queue_pairs_send_datagrams() {
    let mut bench = Bench::new(library(), 71, GROUPS).unwrap_or_else(|e| panic!("{e}"));
    bench.reduce = false;
    traffic(&mut bench, 30_000).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(bench.seen.reduces, 0);
    assert!(bench.seen.records > 100);
}

#[test]
fn cl_05_work_requests_of_groups_leave_once_under_every_profile_of_stalls() {
    profiles("card_send: work requests of groups", |seed| {
        let stalls = Stalls::of_seed(seed, 5);
        let mut bench = Bench::new(library(), seed, GROUPS).unwrap_or_else(|e| panic!("{e}"));
        bench.stalls = Some(stalls.clone());
        traffic(&mut bench, 15_000).unwrap_or_else(|e| panic!("{stalls}: {e}"));
        bench.seen.reduces
    });
}

#[test]
fn cl_05_a_reset_forgets_groups() {
    for seed in 90..93 {
        let mut bench = Bench::new(library(), seed, GROUPS).unwrap_or_else(|e| panic!("{e}"));
        let result = (0..3).try_for_each(|_| {
            traffic(&mut bench, 2_000)?;
            bench.reset()
        });
        result
            .and_then(|()| traffic(&mut bench, 5_000))
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

#[test]
fn cl_05_work_requests_of_groups_that_leave_wrongly_are_noticed() {
    for (right, wrong, said) in [
        // Its place is not given back; its slot is.
        (
            "drop_reg <= entry_m_drop | entry_m_bulk | entry_m_reduce;",
            "drop_reg <= entry_m_drop | entry_m_bulk;",
            ["a place is kept for ever", "slots and places do not match"],
        ),
        (
            "cancel_reg <= entry_m_drop;",
            "cancel_reg <= entry_m_drop | entry_m_reduce;",
            ["another one is dropped than the next", "nothing is dropped"],
        ),
        // It is sent as a datagram: alone, or too.
        (
            "member_reg <= context_member & cfg_reduce;",
            "member_reg <= 1'b0;",
            ["of a group is sent as a datagram", "of a group at m_bulk"],
        ),
        (
            "(!bulk_reg & !member_reg & !later)",
            "(!bulk_reg & !later)",
            [
                "of a group is sent as a datagram",
                "of a group is sent as a datagram",
            ],
        ),
        // Room is not looked at; a ring that cannot be read; an end.
        (
            "!failed_reg & reduce_room & drop_ready",
            "!failed_reg & drop_ready",
            ["of a group has no room", "of a group has no room"],
        ),
        (
            "alive & member_reg & !failed_reg",
            "alive & member_reg",
            [
                "of a group that must not begin",
                "are not those that were seen",
            ],
        ),
        (
            "pass_reduce = alive &",
            "pass_reduce = ready &",
            [
                "of a group that must not begin",
                "another work request of a group than the next",
            ],
        ),
        // Fences count; bulk transfers are looked for.
        (
            "before_reg & cfg_bulk & !member_reg &",
            "before_reg & cfg_bulk &",
            [
                "dropped although its queue pair lives",
                "dropped before it was there",
            ],
        ),
        (
            "& !member_reg\n            & ((opcode_reg == BULK_WRITE)",
            "& ((opcode_reg == BULK_WRITE)",
            [
                "of a group at m_bulk",
                "dropped although its queue pair lives",
            ],
        ),
        // Words: the first is another; they are those of a clock before.
        (
            "assign m_first = field_reg[0];",
            "assign m_first = field_reg[1];",
            ["a word is first, or is not", "a word is first, or is not"],
        ),
        (
            "assign m_word = word;",
            "assign m_word = in_data_reg;",
            ["another word lands", "another word lands"],
        ),
        // It is another one.
        (
            "assign m_reduce_request = oldest_number[15:0];",
            "assign m_reduce_request = oldest_number[15:0] + 16'd1;",
            [
                "another work request of a group",
                "leaves before it was there",
            ],
        ),
    ] {
        let library = faulty(right, wrong);
        let noticed = [FRAIL_GROUPS, GROUPS].into_iter().any(|manner| {
            let mut bench = Bench::new(&library, 60, manner).unwrap_or_else(|e| panic!("{e}"));
            let error = traffic(&mut bench, 20_000).err();
            if let Some(error) = &error {
                println!("{wrong}: {error}");
                assert!(said.iter().any(|said| error.contains(said)), "{error}");
            }
            error.is_some()
        });
        assert!(noticed, "not noticed: {wrong}");
    }
}

#[test]
fn a_held_request_that_changes_is_noticed() {
    let mut bench = Bench::new(changing(), 50, SLOW).unwrap_or_else(|e| panic!("{e}"));
    let error = traffic(&mut bench, 20_000).expect_err("the fault is seen");
    assert!(error.contains("tributary_offers.sv"), "{error}");
}

#[test]
fn reset_in_the_middle_forgets_everything() {
    for seed in 30..34 {
        let mut bench = Bench::new(library(), seed, BUSY).unwrap_or_else(|e| panic!("{e}"));
        let result = (0..4).try_for_each(|_| {
            let clocks = 200 + bench.dice.below(2_000);
            for qpn in all() {
                let shape = bench.shape(qpn);
                bench.connect(qpn, shape)?;
            }
            for _ in 0..clocks {
                let qpn = bench.dice.below(16) as u32;
                if bench.dice.chance(20) && bench.qps[qpn as usize].state == State::ReadyToSend {
                    bench.post(qpn, 2);
                }
                bench.clock()?;
            }
            bench.reset()
        });
        result
            .and_then(|()| traffic(&mut bench, 5_000))
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

#[test]
fn the_model_catches_an_environment_that_lies() {
    for (fault, words) in [
        (Fault::LoseDoorbell, "3 waits while"),
        (Fault::SwapFetches, "instead of"),
        (Fault::InvertLook, "outcome"),
        (Fault::DenyPlace, "nothing moves although work waits"),
        (Fault::HideError, "is not told"),
    ] {
        let error = run(40, BUSY, 20_000, Some(fault)).expect_err("the fault is seen");
        assert!(error.contains(words), "{fault:?}: {error}");
    }
}

#[test]
fn a_bulk_transfer_that_comes_back_wrongly_is_noticed() {
    for (right, wrong, said) in [
        // What was fetched behind it goes on.
        (
            "stale_reg <= skips_rd_data & cfg_bulk & !s_fresh;",
            "stale_reg <= 1'b0;",
            ["set although one before", "must not begin"],
        ),
        // Its place in flight is not given back when it leaves.
        (
            "drop_reg <= entry_m_drop | entry_m_bulk | entry_m_reduce;",
            "drop_reg <= entry_m_drop | entry_m_reduce;",
            ["a place is kept for ever", "slots and places do not match"],
        ),
        // A fence is not looked at; a count is that of the clock before; it goes on where the last queue pair left it.
        (
            "fenced_reg <= before_reg & cfg_bulk & !member_reg & (|(flags_reg & FENCE));",
            "fenced_reg <= 1'b0;",
            ["behind its fence", "behind its fence"],
        ),
        (
            "(valid_3_reg & (qpn_3_reg == qpn_2_reg)) ? word_3_reg",
            "1'b0 ? word_3_reg",
            ["nothing moves", "dropped although its queue pair lives"],
        ),
        (
            "zero_of_reg <= zero_qpn;",
            "zero_of_reg <= zero_of_reg;",
            ["nothing moves", "dropped although its queue pair lives"],
        ),
    ] {
        let library = faulty(right, wrong);
        let mut bench = Bench::new(&library, 60, BUSY).unwrap_or_else(|e| panic!("{e}"));
        let error = traffic(&mut bench, 20_000).expect_err("the fault is seen");
        assert!(said.iter().any(|said| error.contains(said)), "{error}");
    }
}
