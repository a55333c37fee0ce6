//! The table of requests in flight: the rules, one by one.

use super::table::{Ack, Bench, Inputs, LOCAL, Outputs, PLACES, QPS, Request, TIMEOUT};

/// A request of version 1 with fields of its own.
pub fn request(qpn: u32, psn: u32) -> Request {
    Request {
        tag: (qpn, psn),
        node: 0x5_1200 + qpn,
        peer: (psn ^ 0xab_0000) & 0xff_ffff,
        vf: 0x13,
        win_id: psn as u16 ^ 0x5555,
        epoch: 77,
        msn: psn ^ 0x8000_0000,
        wr_id: u64::from(psn) << 32 | 0xfeed,
        request: (psn as u16).wrapping_add(9),
        timeout: 20,
        outcome: 0,
        answered: false,
        marked: false,
    }
}

/// Steps until `done` says so; the bench keeps what came out.
pub fn until(bench: &mut Bench, inputs: Inputs, done: impl Fn(&Outputs) -> bool) -> Outputs {
    for _ in 0..200 {
        let out = bench.step(inputs);
        if done(&out) {
            return out;
        }
    }
    panic!("it hangs");
}

pub fn reserve(bench: &mut Bench, tag: (u32, u32)) -> bool {
    bench.step(Inputs {
        rsv: Some(tag),
        ..Inputs::default()
    });
    let out = until(bench, Inputs::default(), |out| out.rsv.is_some());
    out.rsv == Some(true)
}

pub fn fill(bench: &mut Bench, request: Request) {
    let set = Inputs {
        set: Some(request),
        ..Inputs::default()
    };
    until(bench, set, |out| out.set);
}

/// Reserves and fills, and waits until the request can be sent.
pub fn send(bench: &mut Bench, request: Request) {
    assert!(reserve(bench, request.tag), "{request:?}");
    fill(bench, request);
    bench.idle(12);
}

pub fn acknowledge(bench: &mut Bench, ack: Ack) -> usize {
    let inputs = Inputs {
        ack: Some(ack),
        ..Inputs::default()
    };
    until(bench, inputs, |out| out.ack);
    let out = (0..12).map(|_| bench.step(Inputs::default()));
    let events: Vec<_> = out.flat_map(|out| out.events).collect();
    events.iter().position(|seen| *seen).map_or(6, |at| at % 6)
}

pub const UNKNOWN: usize = 0;
pub const SOURCE: usize = 1;
pub const ECHO: usize = 2;
pub const BAD_QP: usize = 3;
pub const ACKNOWLEDGED: usize = 4;
pub const SILENT: usize = 6;

#[test]
fn xud_01_one_reservation_one_filling_and_one_acknowledgement_a_clock_for_100_000_clocks() {
    let mut bench = Bench::new(1000);
    let clocks = 100_000;
    // Ten requests between reservation, filling and acknowledgement: the places of one queue pair in turns.
    for psn in 0..clocks + 26 {
        let inputs = Inputs {
            rsv: (psn < clocks).then_some((5, psn & 0xff_ffff)),
            set: (6..clocks + 6).contains(&psn).then(|| request(5, psn - 6)),
            ack: (18..clocks + 18)
                .contains(&psn)
                .then(|| request(5, psn - 18).ack(0)),
            ..Inputs::default()
        };
        let out = bench.step(inputs);
        assert!(out.set && out.ack, "stalled in clock {psn}");
        assert_ne!(out.rsv, Some(false), "clock {psn}");
    }
    bench.finish();
    assert_eq!(bench.completions, u64::from(clocks));
    assert_eq!(bench.counts, [0, 0, 0, 0, clocks.into(), 0]);
}

#[test]
fn xud_01_timeouts_are_never_early_and_late_by_no_more_than_documented() {
    for unit in [4, 5, 17, 64, 512] {
        let mut bench = Bench::new(unit);
        let limit = |t: u8| unit << t <= 20_000;
        for t in (0..32).filter(|t| limit(*t)) {
            // A different phase of the unit for each.
            bench.idle(t as usize * 3 + 1);
            let tag = (3, u32::from(t));
            assert!(reserve(&mut bench, tag));
            fill(
                &mut bench,
                Request {
                    timeout: t,
                    ..request(3, t.into())
                },
            );
        }
        bench.idle(40_500);
        bench.finish();
        assert!(bench.counts[5] > 5 && bench.in_flight() == 0);
        let bound = unit.div_ceil(4) + PLACES as u64 + 20;
        println!("unit {unit}: {} of {bound} clocks late", bench.late);
        assert!(bench.late <= bound);
    }
}

#[test]
fn xud_01_the_longest_timeouts_do_not_end_when_the_count_of_time_wraps() {
    let mut bench = Bench::new(4);
    for t in 14..32 {
        let psn = u32::from(t);
        send(
            &mut bench,
            Request {
                timeout: t,
                ..request(1, psn)
            },
        );
    }
    // The count is in clocks here and wraps 256 clocks after reset.
    bench.idle(20_000);
    bench.check();
    assert_eq!(bench.counts[5], 0);
    for t in 14..32 {
        assert_eq!(acknowledge(&mut bench, request(1, t).ack(0)), ACKNOWLEDGED);
    }
    bench.finish();
}

#[test]
fn xud_03_each_field_of_an_acknowledgement_must_match() {
    let mut bench = Bench::new(512);
    let sent = request(6, 0xff_ffff);
    send(&mut bench, sent);
    let right = sent.ack(0);
    let (qpn, psn) = right.tag;
    // Every single bit of every field.
    let bits = |count: u32| (0..count).map(|bit| 1u32 << bit);
    let mut wrong = Vec::new();
    for bit in bits(24) {
        let there = (qpn ^ bit) < QPS;
        wrong.extend([
            (
                Ack {
                    tag: (qpn, psn ^ bit),
                    ..right
                },
                UNKNOWN,
            ),
            (
                Ack {
                    tag: (qpn ^ bit, psn),
                    ..right
                },
                if there { UNKNOWN } else { BAD_QP },
            ),
            (
                Ack {
                    peer: right.peer ^ bit,
                    ..right
                },
                SOURCE,
            ),
        ]);
    }
    for bit in bits(20) {
        let node = right.node ^ bit;
        wrong.push((Ack { node, ..right }, SOURCE));
    }
    for bit in bits(16) {
        let win_id = right.win_id ^ bit as u16;
        let epoch = right.epoch ^ bit as u16;
        wrong.extend([
            (Ack { win_id, ..right }, ECHO),
            (Ack { epoch, ..right }, ECHO),
        ]);
    }
    for bit in bits(32) {
        let msn = right.msn ^ bit;
        wrong.push((Ack { msn, ..right }, ECHO));
    }
    for bit in bits(4) {
        let flags = right.flags ^ bit as u8;
        wrong.push((Ack { flags, ..right }, ECHO));
    }
    wrong.extend([
        (
            Ack {
                echo: false,
                ..right
            },
            ECHO,
        ),
        // The source is looked at before the identity, and neither without an echo.
        (
            Ack {
                node: 0,
                msn: 0,
                ..right
            },
            SOURCE,
        ),
        (
            Ack {
                node: 0,
                echo: false,
                ..right
            },
            ECHO,
        ),
    ]);
    for (ack, event) in wrong {
        assert_eq!(acknowledge(&mut bench, ack), event, "{ack:?}");
    }
    assert_eq!(bench.completions, 0);
    assert_eq!(acknowledge(&mut bench, right), ACKNOWLEDGED);
    bench.finish();
    assert_eq!(bench.completions, 1);
}

#[test]
fn xud_03_version_0_matches_by_number_alone_whatever_else_is_said() {
    let mut bench = Bench::new(512);
    for (psn, echo) in [(7, false), (8, true)] {
        let sent = Request {
            vf: 0,
            ..request(2, psn)
        };
        send(&mut bench, sent);
        let ack = Ack {
            tag: (2, psn),
            echo,
            ..request(4, 99).ack(0)
        };
        assert_eq!(acknowledge(&mut bench, ack), ACKNOWLEDGED);
    }
    bench.finish();
}

#[test]
fn xud_03_a_model_that_matches_by_number_alone_disagrees() {
    for field in 0..3 {
        let mut bench = Bench::new(512);
        bench.psn_only = true;
        let sent = request(1, 4);
        send(&mut bench, sent);
        let mut ack = sent.ack(0);
        match field {
            0 => ack.node ^= 1,
            1 => ack.msn ^= 1,
            _ => ack.echo = false,
        }
        acknowledge(&mut bench, ack);
        bench.idle(50);
        assert!(bench.trouble.is_some(), "field {field} is not looked at");
    }
}

#[test]
fn xud_10_an_acknowledgement_after_the_timeout_and_a_second_one_are_ignored() {
    let mut bench = Bench::new(16);
    let sent = Request {
        timeout: 1,
        ..request(1, 4)
    };
    send(&mut bench, sent);
    bench.idle(100);
    assert_eq!(bench.counts[5], 1);
    assert_eq!(acknowledge(&mut bench, sent.ack(0)), UNKNOWN);
    let again = request(1, 5);
    send(&mut bench, again);
    assert_eq!(acknowledge(&mut bench, again.ack(2)), SILENT);
    assert_eq!(acknowledge(&mut bench, again.ack(0)), UNKNOWN);
    bench.finish();
    assert_eq!(bench.completions, 2);
}

#[test]
fn an_acknowledgement_and_the_timeout_of_one_moment_end_a_request_once() {
    let (mut by_time, mut by_ack) = (0, 0);
    for offset in 0..90 {
        let mut bench = Bench::new(16);
        let sent = Request {
            timeout: 1,
            ..request(1, 4)
        };
        assert!(reserve(&mut bench, sent.tag));
        fill(&mut bench, sent);
        bench.idle(12 + offset);
        acknowledge(&mut bench, sent.ack(0));
        bench.idle(100);
        bench.finish();
        assert_eq!(bench.completions, 1, "offset {offset}");
        by_time += bench.counts[5];
        by_ack += bench.counts[4];
    }
    assert!(by_time > 0 && by_ack > 0 && by_time + by_ack == 90);
}

#[test]
fn copies_of_an_acknowledgement_in_clocks_that_follow_each_other_end_a_request_once() {
    for distance in 1..8 {
        for fails in [false, true] {
            let mut bench = Bench::new(512);
            let sent = request(2, 40);
            send(&mut bench, sent);
            for clock in 0..=distance {
                let due = clock == 0 || clock == distance;
                bench.step(Inputs {
                    ack: (due && !(fails && clock > 0)).then(|| sent.ack(0)),
                    fail: (due && fails && clock > 0).then_some((sent.tag, 16)),
                    ..Inputs::default()
                });
            }
            bench.finish();
            assert_eq!(bench.completions, 1, "distance {distance}");
        }
    }
}

#[test]
fn a_burst_of_copies_ends_a_request_once_and_its_place_is_free_after_that() {
    let mut bench = Bench::new(512);
    for psn in 0..100 {
        let sent = request(2, psn * PLACES as u32);
        send(&mut bench, sent);
        for _ in 0..9 {
            bench.step(Inputs {
                ack: Some(sent.ack(0)),
                ..Inputs::default()
            });
        }
        bench.idle(2);
    }
    bench.finish();
    assert_eq!(bench.counts, [800, 0, 0, 0, 100, 0]);
}

#[test]
fn a_kept_place_never_ends_is_not_given_twice_and_is_free_when_dropped() {
    let mut bench = Bench::new(4);
    let (tag, rival) = ((1, 9), (1, 9 + PLACES as u32));
    for _ in 0..3 {
        assert!(reserve(&mut bench, tag));
        bench.idle(600);
        assert_eq!(bench.completions, 0);
        assert!(!reserve(&mut bench, rival));
        assert_eq!(acknowledge(&mut bench, request(1, 9).ack(0)), UNKNOWN);
        let fail = Inputs {
            fail: Some((tag, 16)),
            ..Inputs::default()
        };
        until(&mut bench, fail, |out| out.fail);
        bench.step(Inputs {
            drop: Some(tag),
            ..Inputs::default()
        });
        bench.idle(40);
        send(&mut bench, request(1, rival.1));
        let ack = request(1, rival.1).ack(0);
        assert_eq!(acknowledge(&mut bench, ack), ACKNOWLEDGED);
        bench.completions = 0;
    }
    // Neither a free place nor a filled one is dropped.
    let drop = Inputs {
        drop: Some(tag),
        ..Inputs::default()
    };
    bench.step(drop);
    bench.idle(40);
    send(&mut bench, request(1, 9));
    bench.step(drop);
    bench.idle(40);
    assert!(!reserve(&mut bench, rival));
    assert_eq!(acknowledge(&mut bench, request(1, 9).ack(0)), ACKNOWLEDGED);
    bench.finish();
}

#[test]
fn an_outcome_at_once_and_a_failure_end_a_request_once() {
    let mut bench = Bench::new(16);
    for (psn, outcome) in (0..60).zip(LOCAL.into_iter().cycle()) {
        assert!(reserve(&mut bench, (3, psn)));
        fill(
            &mut bench,
            Request {
                outcome,
                timeout: 0,
                ..request(3, psn)
            },
        );
    }
    bench.idle(100);
    assert_eq!(bench.completions, 60);
    assert_eq!(bench.counts, [0; 6]);
    send(&mut bench, request(3, 60));
    let fail = Inputs {
        fail: Some(((3, 60), 16)),
        ..Inputs::default()
    };
    until(&mut bench, fail, |out| out.fail);
    until(&mut bench, fail, |out| out.fail);
    bench.finish();
    assert_eq!(bench.completions, 61);
}

#[test]
fn a_flush_frees_every_place_of_a_queue_pair_and_no_other() {
    let mut bench = Bench::new(512);
    let tags = |qpn| (0..4).map(move |psn| (qpn, psn));
    for (qpn, psn) in (0..QPS).flat_map(tags) {
        assert!(reserve(&mut bench, (qpn, psn)), "{qpn} {psn}");
        if psn % 2 == 0 {
            fill(&mut bench, request(qpn, psn));
        }
    }
    for qpn in [5, 0, 7] {
        bench.idle(12);
        let flush = Inputs {
            flush: Some(qpn),
            ..Inputs::default()
        };
        bench.step(flush);
        let mut clocks = 0;
        while !bench.step(Inputs::default()).flushed {
            clocks += 1;
            assert!(clocks < 2 * PLACES + 60, "the flush hangs");
        }
        for tag in tags(qpn) {
            assert!(reserve(&mut bench, tag));
            bench.step(Inputs {
                drop: Some(tag),
                ..Inputs::default()
            });
        }
    }
    bench.idle(40);
    for (qpn, psn) in [1, 2, 3, 4, 6].into_iter().flat_map(tags) {
        assert!(!reserve(&mut bench, (qpn, psn + PLACES as u32)));
        let event = acknowledge(&mut bench, request(qpn, psn).ack(0));
        let filled = psn % 2 == 0;
        assert_eq!(event, if filled { ACKNOWLEDGED } else { UNKNOWN });
    }
    bench.finish();
    assert_eq!(bench.completions, 10);
}

#[test]
fn a_consumer_that_sleeps_loses_nothing_and_lets_nothing_more_in() {
    let mut bench = Bench::new(16);
    for psn in 0..PLACES as u32 {
        let sent = Request {
            timeout: if psn % 3 == 0 { 2 } else { 20 },
            ..request(4, psn)
        };
        assert!(reserve(&mut bench, (4, psn)));
        fill(&mut bench, sent);
    }
    let mut psn = 0;
    let mut asleep = 0;
    for _ in 0..400 {
        let out = bench.step(Inputs {
            ack: (psn < 32 && psn % 3 != 0).then(|| request(4, psn).ack(0)),
            stall: true,
            ..Inputs::default()
        });
        asleep += u32::from(!out.ack);
        psn += u32::from(psn < 32 && (psn % 3 == 0 || out.ack));
    }
    assert!(asleep > 300, "acknowledgements are let in");
    while psn < 32 {
        let ack = (psn % 3 != 0).then(|| request(4, psn).ack(0));
        let out = bench.step(Inputs {
            ack,
            ..Inputs::default()
        });
        psn += u32::from(ack.is_none() || out.ack);
    }
    bench.idle(100);
    bench.finish();
    assert_eq!(bench.completions, PLACES as u64);
    let timeouts = bench.counts[TIMEOUT as usize + 4];
    assert_eq!(timeouts, 11);
}

#[test]
fn xud_01_a_time_that_was_over_before_two_flushes_ends_no_later_request() {
    let mut bench = Bench::new(16);
    let asleep = Inputs {
        stall: true,
        ..Inputs::default()
    };
    let places = PLACES as u32 / 2;
    for round in 0..3 {
        for at in 0..places {
            let sent = Request {
                timeout: if round == 0 { 0 } else { 20 },
                ..request(3, round * PLACES as u32 + at)
            };
            bench.step(Inputs {
                rsv: Some(sent.tag),
                ..asleep
            });
            let out = until(&mut bench, asleep, |out| out.rsv.is_some());
            assert_eq!(out.rsv, Some(true), "{sent:?}");
            let set = Inputs {
                set: Some(sent),
                ..asleep
            };
            until(&mut bench, set, |out| out.set);
        }
        // Of the first round some have ended, the others' times are over; all completions wait.
        for _ in 0..200 {
            bench.step(asleep);
        }
        if round < 2 {
            bench.step(Inputs {
                flush: Some(3),
                ..asleep
            });
            until(&mut bench, asleep, |out| out.flushed);
        }
    }
    let ended = bench.completions;
    assert_eq!(ended, 0, "nobody took a completion");
    bench.idle(1_000);
    bench.finish();
    assert!(
        (8..u64::from(places)).contains(&bench.completions),
        "{}",
        bench.completions
    );
}

#[test]
fn reset_frees_all_places_and_nothing_is_taken_until_then() {
    let mut bench = Bench::new(16);
    for psn in 0..PLACES as u32 {
        assert!(reserve(&mut bench, (4, psn)));
        if psn % 2 == 0 {
            fill(&mut bench, request(4, psn));
        }
    }
    let bench_clock = bench.clock;
    bench.reset();
    let mut closed = 0;
    for _ in 0..bench_clock {
        let out = bench.step(Inputs::default());
        assert_eq!(out.set, out.ack);
        closed += usize::from(!out.set);
    }
    assert_eq!(closed, PLACES + 1);
    for psn in 100..100 + PLACES as u32 {
        send(&mut bench, request(4, psn));
        assert_eq!(
            acknowledge(&mut bench, request(4, psn).ack(0)),
            ACKNOWLEDGED
        );
    }
    bench.finish();
}

#[test]
fn a_reservation_while_the_table_is_being_emptied_is_refused() {
    let mut bench = Bench::new(16);
    bench.reset();
    for psn in 0..PLACES as u32 - 8 {
        let out = bench.step(Inputs {
            rsv: Some((0, psn)),
            ..Inputs::default()
        });
        assert_ne!(out.rsv, Some(true));
    }
}
