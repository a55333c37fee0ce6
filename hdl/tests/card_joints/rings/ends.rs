//! card_ring_ends between notifications that come and are withdrawn, groups that end, and a host that has receive requests or has
//! none.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::card::CardRingEnds;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::Verilated;

use super::super::ports::{Group, Record, rng};

/// Clocks for which an end that found no receive request is not offered.
const PAUSE: u64 = 255;

/// Errors by number, from 1 on, as the node; with others the block is right.
const WRONG: [Wrong; 6] = [
    ("card_ring_ends", "wants = ", "s_done_valid"),
    ("card_ring_ends", "s_notify_told = ", "m_notify_told"),
    ("card_ring_ends", "m_idle = ", "1'b1"),
    ("card_ring_ends", "s_done_ready = ", "told & turn_reg"),
    ("card_ring_ends", "tell_immediate_reg <= ", "32'd0"),
    ("card_ring_ends", "length = ", "32'd0"),
];

/// What has begun to be told.
struct Begun {
    end: bool,
    record: Record,
    /// When the host goes on with it; it has taken it.
    due: u64,
    taken: bool,
}

fn run(library: &Verilated, seed: u64, node: u64, stalls: &mut Stalls) -> Result<u64, String> {
    let back = ["begins", "ready", "told", "ok"];
    let [s_notify, s_done, m_notify, m_tell] =
        ["s_notify", "s_done", "m_notify", "m_tell"].map(|prefix| Group::of(library, prefix));
    let (s_notify, m_notify) = (s_notify.without(&back), m_notify.without(&back));
    let port = |name: &str| library.port(name).unwrap();
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    model.set(port("cfg_node"), node);
    for name in [
        "hold",
        "s_queue_valid",
        "m_notify_begins",
        "m_notify_ready",
        "m_notify_told",
    ] {
        model.set(port(name), 0);
    }
    s_notify.offer(&mut model, &mut rng, None);
    s_done.offer(&mut model, &mut rng, None);
    model.reset(2).unwrap();
    let queues: [u64; 16] = std::array::from_fn(|_| rng.random_range(0..1 << 16));
    for (group, pair) in (0..).zip(queues) {
        model.set(port("s_queue_valid"), 1);
        model.set(port("s_queue_group"), group);
        model.set(port("s_queue_pair"), pair);
        model.clock().unwrap();
    }
    model.set(port("s_queue_valid"), 0);

    let mut notice: Option<Record> = None;
    let mut end: Option<Record> = None;
    let mut begun: Option<Begun> = None;
    let mut tells: VecDeque<[u64; 2]> = VecDeque::new();
    let (mut hold, mut next_hold, mut not_before, mut told_ends) = (false, 300, 0, 0);
    let (mut told_notices, mut moved) = (0u64, 0);
    for clock in 0..9_000u64 {
        stalls.clock();
        if clock >= next_hold {
            hold ^= true;
            next_hold = clock + rng.random_range(10..300);
        }
        model.set(port("hold"), hold.into());
        let own_begun = begun.as_ref().is_some_and(|b| !b.end);
        let own_taken = begun.as_ref().is_some_and(|b| !b.end && b.taken);
        if notice.is_none() && !own_begun && rng.random_range(0..20) == 0 {
            notice = Some(s_notify.draw(&mut rng));
        } else if notice.is_some() && !own_begun && rng.random_range(0..30) == 0 {
            notice = None;
        }
        if end.is_none() && rng.random_range(0..30) == 0 {
            let mut new = s_done.draw(&mut rng);
            new.insert("group".into(), vec![rng.random_range(0..16)]);
            end = Some(new);
        }
        s_done.offer(&mut model, &mut rng, end.as_ref());
        // What the host was told of stays beside until it is told.
        if let Some(begun) = begun.as_ref().filter(|b| !b.end) {
            s_notify.offer(&mut model, &mut rng, Some(&begun.record));
        } else {
            s_notify.offer(&mut model, &mut rng, notice.as_ref());
        }
        if own_taken {
            model.set(port("s_notify_valid"), 0);
        }
        let (mut ready, mut told) = (false, None);
        if let Some(begun) = begun.as_mut().filter(|b| b.due <= clock) {
            if begun.taken {
                told = Some(rng.random_range(0..3) > 0);
            } else {
                ready = true;
                begun.due = clock + rng.random_range(1..20);
            }
        }
        model.set(port("m_notify_begins"), 0);
        model.set(port("m_notify_ready"), ready.into());
        model.set(port("m_notify_told"), told.is_some().into());
        model.set(port("m_notify_ok"), (told == Some(true)).into());
        m_tell.set_ready(&mut model, stalls.ready(0));
        model.eval().map_err(|e| e.to_string())?;
        let place = format!("seed {seed}, clock {clock}");

        // What is offered.
        let out = m_notify.offered(&model);
        let idle = !begun.as_ref().is_some_and(|b| b.end);
        if model.is_set(port("m_idle")) != idle {
            return Err(format!("{place}: idle is not {idle}"));
        }
        match (&begun, out) {
            (Some(b), out) if !b.taken => {
                if out.as_ref() != Some(&b.record) {
                    return Err(format!("{place}: {out:?}, not {:?}", b.record));
                }
            }
            (Some(_), Some(out)) => return Err(format!("{place}: {out:?} before it is told")),
            (None, Some(out)) => {
                let as_end = end.as_ref().map(|end| {
                    let field = |name: &str| end[name][0];
                    let length = field("code") | field("peer") << 8 | field("fetched") << 16;
                    [
                        ("qpn", queues[field("group") as usize]),
                        ("node", node),
                        ("source", field("group")),
                        ("q_key", field("user") & 0xFFFF_FFFF),
                        ("immediate", field("message")),
                        ("length", length),
                    ]
                    .map(|(name, value)| (name.to_owned(), vec![value]))
                    .into()
                });
                let is_end = as_end.as_ref() == Some(&out);
                if !is_end && notice.as_ref() != Some(&out) {
                    return Err(format!("{place}: {out:?} is offered"));
                }
                if is_end && (hold || clock < not_before) {
                    return Err(format!("{place}: an end is offered"));
                }
                if !is_end && !tells.is_empty() {
                    return Err(format!("{place}: offered before the one before was taken"));
                }
                if rng.random_range(0..4) == 0 {
                    model.set(port("m_notify_begins"), 1);
                    model.eval().map_err(|e| e.to_string())?;
                    if model.is_set(port("s_notify_begins")) == is_end {
                        return Err(format!("{place}: another one begins"));
                    }
                    begun = Some(Begun {
                        end: is_end,
                        record: out,
                        due: clock + rng.random_range(1..10),
                        taken: false,
                    });
                }
                moved = clock;
            }
            (_, None) => {}
        }

        // What becomes of it.
        let of_notice = begun.as_ref().is_some_and(|b| !b.end);
        let of_end = begun.as_ref().is_some_and(|b| b.end);
        let seen = ["s_notify_ready", "s_notify_told", "s_done_ready"];
        let seen = seen.map(|name| model.is_set(port(name)));
        let right = [
            ready && of_notice,
            told.is_some() && of_notice,
            told == Some(true) && of_end,
        ];
        if seen != right {
            return Err(format!("{place}: {seen:?}, not {right:?}"));
        }
        let tell = m_tell.offered(&model);
        stalls.observe(0, tell.is_some(), true);
        let tell = tell.map(|t| [t["qpn"][0], t["immediate"][0]]);
        if tell != tells.front().copied() {
            return Err(format!(
                "{place}: {tell:?} is told, not {:?}",
                tells.front()
            ));
        }
        if tell.is_some() && stalls.ready(0) {
            tells.pop_front();
            moved = clock;
        }
        if ready && let Some(b) = &mut begun {
            b.taken = true;
        }
        if let Some(ok) = told
            && let Some(b) = begun.take()
        {
            moved = clock;
            if b.end {
                told_ends += u64::from(ok);
                if ok {
                    end = None;
                } else {
                    not_before = clock + PAUSE;
                }
            } else {
                notice = None;
                told_notices += u64::from(ok);
                if ok {
                    tells.push_back([b.record["qpn"][0], b.record["immediate"][0]]);
                }
            }
        }
        let patience = 3 * u64::from(stalls.profile().pause()) + 1_000;
        if clock - moved > patience {
            return Err(format!("{place}: nothing moves"));
        }
        model.clock().map_err(|e| e.to_string())?;
    }
    Ok(told_ends.min(told_notices))
}

#[test]
fn mb_16_ends_and_notifications_are_each_told_once() {
    let design = emit_block(&mut CardRingEnds::<4>::default()).unwrap();
    let library = wrong::library(&design.top, design.files(), ("cfg_node", 16), 1, &WRONG);
    profiles("card_ring_ends: ends", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        run(&library, seed, 0, &mut stalls).unwrap_or_else(|what| panic!("{what}"))
    });
    let run = |error| run(&library, 7, error, &mut Stalls::of_seed(0, 1));
    assert!(run(0).unwrap() > 15);
    for (number, wrong) in (1..).zip(&WRONG) {
        let noticed = run(number).err();
        println!("{wrong:?}: {noticed:?}");
        assert!(noticed.is_some(), "{wrong:?}");
    }
}
