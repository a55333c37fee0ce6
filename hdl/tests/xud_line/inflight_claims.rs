//! Claims of requests in flight by their answers (XUD-13): the rules, one by one.

use super::inflight::{
    ACKNOWLEDGED, BAD_QP, ECHO, SILENT, SOURCE, UNKNOWN, acknowledge, fill, request, reserve, send,
    until,
};
use super::table::{Ack, Bench, Inputs, PLACES, Request, TIMEOUT};

/// Offers something until it is taken; what became of it as a claim.
fn decide(bench: &mut Bench, ack: Ack) -> Option<bool> {
    let inputs = Inputs {
        ack: Some(ack),
        ..Inputs::default()
    };
    until(bench, inputs, |out| out.ack);
    let out: Vec<_> = (0..12).map(|_| bench.step(Inputs::default())).collect();
    out.iter().find_map(|out| out.claim)
}

/// Offers a failure until it is taken.
fn fail(bench: &mut Bench, request: Request) {
    let fail = Inputs {
        fail: Some((request.tag, 16)),
        ..Inputs::default()
    };
    until(bench, fail, |out| out.fail);
    bench.idle(12);
}

/// What may come beside a claim.
fn rivals(request: Request) -> [Inputs; 4] {
    let nothing = Inputs::default();
    [
        Inputs {
            ack: Some(request.ack(0)),
            ..nothing
        },
        Inputs {
            ack: Some(request.ack(4)),
            ..nothing
        },
        Inputs {
            ack: Some(request.claim()),
            ..nothing
        },
        Inputs {
            fail: Some((request.tag, 16)),
            ..nothing
        },
    ]
}

/// One thing, another so many clocks behind it; all claims that were decided then.
fn pair(bench: &mut Bench, first: Inputs, second: Inputs, distance: usize) -> Vec<bool> {
    let mut claims = vec![];
    for clock in 0..distance + 20 {
        let inputs = match clock {
            0 => first,
            _ if clock == distance => second,
            _ => Inputs::default(),
        };
        let out = bench.step(inputs);
        assert!(out.ack || inputs.ack.is_none(), "stalled");
        assert!(out.fail || inputs.fail.is_none(), "stalled");
        claims.extend(out.claim);
    }
    claims
}

#[test]
fn xud_13_a_claimed_request_is_out_of_reach_until_the_claim_ends_it() {
    let mut bench = Bench::new(16);
    let sent = Request {
        timeout: 3,
        answered: true,
        ..request(1, 4)
    };
    let rival = (1, 4 + PLACES as u32);
    send(&mut bench, sent);
    assert_eq!(decide(&mut bench, sent.claim()), Some(true));
    assert_eq!(acknowledge(&mut bench, sent.ack(0)), UNKNOWN);
    assert_eq!(acknowledge(&mut bench, sent.ack(5)), UNKNOWN);
    assert_eq!(decide(&mut bench, sent.claim()), Some(false));
    fail(&mut bench, sent);
    // Its time passes.
    bench.idle(400);
    assert_eq!(bench.counts[TIMEOUT as usize + 4], 0);
    assert!(!reserve(&mut bench, rival));
    assert_eq!(bench.completions, 0);
    assert_eq!(acknowledge(&mut bench, sent.end(3)), SILENT);
    bench.idle(20);
    assert_eq!(bench.completions, 1);
    assert_eq!(decide(&mut bench, sent.claim()), Some(false));
    send(&mut bench, request(1, rival.1));
    let ack = request(1, rival.1).ack(0);
    assert_eq!(acknowledge(&mut bench, ack), ACKNOWLEDGED);
    bench.finish();
    assert_eq!(bench.met.timeout, 1);
}

#[test]
fn xud_13_nothing_that_comes_within_clocks_of_a_claim_ends_its_request() {
    let claim = |request: Request| Inputs {
        ack: Some(request.claim()),
        ..Inputs::default()
    };
    let mut bench = Bench::new(512);
    let mut sent = request(2, 40);
    for distance in 1..9 {
        for rival in 0..4 {
            sent.tag.1 += 1;
            send(&mut bench, sent);
            let second = rivals(sent)[rival];
            let claims = pair(&mut bench, claim(sent), second, distance);
            assert!(claims[0], "{rival} {distance}");
            assert!(!claims[1..].contains(&true), "{rival} {distance}");
            assert_eq!(bench.completions, 0, "{rival} {distance}");
            assert_eq!(acknowledge(&mut bench, sent.end(0)), ACKNOWLEDGED);
            bench.idle(20);
            assert_eq!(bench.completions, 1, "{rival} {distance}");
            bench.completions = 0;
        }
    }
    bench.finish();
    assert!(bench.met.behind.iter().all(|count| *count == 4));
}

#[test]
fn xud_13_a_claim_within_clocks_of_another_end_finds_nothing() {
    let mut bench = Bench::new(512);
    let mut sent = request(3, 40);
    for distance in 1..9 {
        for rival in [0, 1, 3] {
            sent.tag.1 += 1;
            send(&mut bench, sent);
            let claim = Inputs {
                ack: Some(sent.claim()),
                ..Inputs::default()
            };
            let claims = pair(&mut bench, rivals(sent)[rival], claim, distance);
            assert_eq!(claims, [false], "{rival} {distance}");
            assert_eq!(bench.completions, 1, "{rival} {distance}");
            bench.completions = 0;
        }
    }
    bench.finish();
    assert!(bench.met.ended.iter().all(|count| *count >= 2));
}

#[test]
fn xud_13_what_comes_within_clocks_of_the_end_of_a_claimed_request_ends_it_no_more() {
    let mut bench = Bench::new(512);
    let mut sent = request(4, 40);
    for distance in 1..9 {
        for rival in 0..4 {
            sent.tag.1 += 1;
            send(&mut bench, sent);
            assert_eq!(decide(&mut bench, sent.claim()), Some(true));
            let end = Inputs {
                ack: Some(sent.end(0)),
                ..Inputs::default()
            };
            let claims = pair(&mut bench, end, rivals(sent)[rival], distance);
            assert!(!claims.contains(&true), "{rival} {distance}");
            assert_eq!(bench.completions, 1, "{rival} {distance}");
            bench.completions = 0;
        }
    }
    bench.finish();
}

#[test]
fn xud_13_a_claim_and_the_timeout_of_one_moment_end_a_request_once() {
    let (mut by_time, mut by_claim) = (0, 0);
    for offset in 0..90 {
        let mut bench = Bench::new(16);
        let sent = Request {
            timeout: 1,
            ..request(1, 4)
        };
        assert!(reserve(&mut bench, sent.tag));
        fill(&mut bench, sent);
        bench.idle(12 + offset);
        let claimed = decide(&mut bench, sent.claim()) == Some(true);
        bench.idle(200);
        assert_eq!(bench.completions, u64::from(!claimed), "offset {offset}");
        assert_eq!(bench.counts[5], u64::from(!claimed), "offset {offset}");
        if claimed {
            assert_eq!(acknowledge(&mut bench, sent.end(0)), ACKNOWLEDGED);
        }
        bench.finish();
        assert_eq!(bench.completions, 1, "offset {offset}");
        by_time += u32::from(!claimed);
        by_claim += u32::from(claimed);
    }
    assert!(by_time > 0 && by_claim > 0);
}

#[test]
fn xud_13_a_claim_of_nothing_in_flight_claims_nothing() {
    let mut bench = Bench::new(512);
    let sent = request(5, 9);
    let (qpn, psn) = sent.tag;
    let claims = |bench: &mut Bench, tag, event| {
        let claim = Ack {
            tag,
            ..sent.claim()
        };
        assert_eq!(decide(bench, claim), Some(false), "{tag:?}");
        assert_eq!(acknowledge(bench, claim), event, "{tag:?}");
    };
    // Free, kept, filled for another number or queue pair, of a queue pair that no card has.
    claims(&mut bench, sent.tag, UNKNOWN);
    assert!(reserve(&mut bench, sent.tag));
    claims(&mut bench, sent.tag, UNKNOWN);
    fill(&mut bench, sent);
    bench.idle(12);
    claims(&mut bench, (qpn, psn + PLACES as u32), UNKNOWN);
    claims(&mut bench, (qpn, psn ^ 0x80_0000), UNKNOWN);
    claims(&mut bench, (qpn ^ 1, psn), UNKNOWN);
    claims(&mut bench, (qpn | 8, psn), BAD_QP);
    claims(&mut bench, (qpn | 0x80_0000, psn), BAD_QP);
    assert_eq!(acknowledge(&mut bench, sent.ack(0)), ACKNOWLEDGED);
    bench.finish();
    assert_eq!((bench.met.claimed, bench.completions), (0, 1));
}

#[test]
fn xud_03_xud_13_each_field_of_a_claim_must_match() {
    let mut bench = Bench::new(512);
    let sent = Request {
        answered: true,
        ..request(6, 0xff_ffff)
    };
    send(&mut bench, sent);
    let right = sent.claim();
    let mut wrong = vec![];
    for bit in [0, 15, 16, 19] {
        wrong.push((
            Ack {
                node: right.node ^ 1 << bit,
                ..right
            },
            SOURCE,
        ));
    }
    for bit in [0, 15] {
        wrong.push((
            Ack {
                win_id: right.win_id ^ 1 << bit,
                ..right
            },
            ECHO,
        ));
        wrong.push((
            Ack {
                epoch: right.epoch ^ 1 << bit,
                ..right
            },
            ECHO,
        ));
    }
    for bit in [0, 23] {
        wrong.push((
            Ack {
                peer: right.peer ^ 1 << bit,
                ..right
            },
            SOURCE,
        ));
    }
    for bit in [0, 31] {
        wrong.push((
            Ack {
                msn: right.msn ^ 1 << bit,
                ..right
            },
            ECHO,
        ));
    }
    for bit in 0..4 {
        wrong.push((
            Ack {
                flags: right.flags ^ 1 << bit,
                ..right
            },
            ECHO,
        ));
    }
    for (ack, event) in wrong {
        assert_eq!(decide(&mut bench, ack), Some(false), "{ack:?}");
        assert_eq!(acknowledge(&mut bench, ack), event, "{ack:?}");
    }
    assert_eq!(bench.completions, 0);
    assert_eq!(decide(&mut bench, right), Some(true));
    assert_eq!(acknowledge(&mut bench, sent.end(0)), ACKNOWLEDGED);
    bench.finish();
    assert_eq!(bench.completions, 1);
}

#[test]
fn xud_13_an_acknowledgement_that_says_ok_ends_no_request_that_waits_for_an_answer() {
    let mut bench = Bench::new(512);
    let sent = |psn| Request {
        answered: true,
        ..request(2, psn)
    };
    for outcome in [2, 4, 18] {
        let psn = outcome as u32;
        send(&mut bench, sent(psn));
        assert_eq!(acknowledge(&mut bench, sent(psn).ack(0)), ECHO);
        assert_eq!(acknowledge(&mut bench, sent(psn).ack(outcome)), SILENT);
    }
    bench.finish();
    assert_eq!((bench.met.refused, bench.completions), (3, 3));
}

#[test]
fn xud_13_a_claim_is_over_with_its_end_and_with_a_reset() {
    let mut bench = Bench::new(64);
    for round in 0..50 {
        let sent = request(2, round * PLACES as u32);
        send(&mut bench, sent);
        assert_eq!(decide(&mut bench, sent.claim()), Some(true));
        assert_eq!(acknowledge(&mut bench, sent.end(0)), ACKNOWLEDGED);
        // The same place again, which ends by acknowledgement or by time.
        let next = Request {
            timeout: 1,
            ..request(2, (round + 50) * PLACES as u32)
        };
        send(&mut bench, next);
        if round % 2 == 0 {
            assert_eq!(acknowledge(&mut bench, next.ack(0)), ACKNOWLEDGED);
        }
        bench.idle(300);
    }
    assert_eq!((bench.completions, bench.counts[5]), (100, 25));
    let sent = request(2, 0);
    send(&mut bench, sent);
    assert_eq!(decide(&mut bench, sent.claim()), Some(true));
    bench.reset();
    bench.idle(PLACES + 3);
    send(&mut bench, sent);
    assert_eq!(acknowledge(&mut bench, sent.ack(0)), ACKNOWLEDGED);
    bench.finish();
}
