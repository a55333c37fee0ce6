//! card_ring_ends, between notifications that may be withdrawn, ends of groups, and a host that has receive requests or has none.

use std::sync::OnceLock;

use rand::RngExt;
use tributary_hdl::card::CardRingEnds;
use tributary_sim::testbench::wrong::Wrong;
use tributary_sim::verilate::Verilated;

use super::super::ports::{Group, Record};
use super::{Bench, Result, demand, library, right, same, wrong};

/// log2 of the groups.
const G: usize = 4;
/// Clocks after which an end that found no receive request is offered again.
const PAUSE: u64 = 256;
const NOTICE: [&str; 6] = ["qpn", "node", "source", "q_key", "immediate", "length"];

const WRONG: [Wrong; 10] = [
    // Without a pause, and although nothing may begin.
    ("card_ring_ends", "wants = ", "s_done_valid & !hold"),
    ("card_ring_ends", "wants = ", "s_done_valid & !(|pause_reg)"),
    // An end is gone without a receive request; what is told of it is told of a notification.
    ("card_ring_ends", "s_done_ready = ", "told & turn_reg"),
    ("card_ring_ends", "s_notify_told = ", "m_notify_told"),
    // It never looks busy.
    ("card_ring_ends", "m_idle = ", "1'b1"),
    // Fields.
    (
        "card_ring_ends",
        "length = ",
        "{s_done_fetched, 2'd0, s_done_peer, 8'd0}",
    ),
    ("card_ring_ends", "end_q_key = ", "s_done_user[63:32]"),
    ("card_ring_ends", "tell_qpn_reg <= ", "s_notify_source"),
    // The next one although nobody has heard of the one before; what was told is forgotten in the clock after it.
    (
        "card_ring_ends",
        "m_notify_valid = ",
        "offers | (s_notify_valid & !turn_reg)",
    ),
    (
        "card_ring_ends",
        "m_tell_valid = ",
        "tells_reg & m_tell_ready",
    ),
];

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| library(CardRingEnds::<G>::default(), &WRONG))
}

/// What has begun: an end or a notification, when the host goes on with it, whether it has taken it.
struct Begun {
    end: bool,
    notice: [u64; 6],
    due: u64,
    taken: bool,
}

/// What the end of a group says.
fn notice(end: &Record, pair: u64, node: u64) -> [u64; 6] {
    let of = |field: &str| end[field][0];
    [
        pair,
        node,
        of("group"),
        of("user") & 0xffff_ffff,
        of("message"),
        of("code") | of("peer") << 8 | of("fetched") << 16,
    ]
}

/// Counts notifications and ends that were told, those of each without a receive request, notifications that were withdrawn, and
/// those told while an end waits for its next try.
fn run(seed: u64, error: u64) -> Result<[u64; 6]> {
    let mut bench = Bench::new(block(), seed, error, 2);
    let (s_done, m_tell) = (Group::of(block(), "s_done"), Group::of(block(), "m_tell"));
    let node = bench.rng.random_range(0..1 << 20);
    bench.set("cfg_node", node);
    let mut pairs: [Option<u64>; 1 << G] = [None; 1 << G];
    let (mut hold, mut notify, mut done) = (false, None::<[u64; 6]>, None::<Record>);
    let mut again = 0;
    let mut begun: Option<Begun> = None;
    let mut tell: Option<[u64; 2]> = None;
    // Notification and end: in the clock before it could be offered and nothing was; how many of the other kind have begun since
    // it could.
    let mut idle = [false; 2];
    let mut passed = [0; 2];
    // No end before this clock.
    let mut pause = 0;
    let busy = [0; 3].map(|_: u64| bench.rng.random_range(1..=10));
    let mut seen = [0; 6];
    bench.run(12_000, |bench, now| {
        if bench.rng.random_range(0..200) == 0 {
            hold ^= true;
        }
        // A group that has an end to tell is not opened.
        let at = bench.rng.random_range(0..1 << G);
        let opens = bench.rng.random_range(0..4) == 0
            && done.as_ref().is_none_or(|end| end["group"][0] != at as u64);
        let pair = bench.rng.random_range(0..1 << 16);
        bench.set("s_queue_valid", opens.into());
        bench.set("s_queue_group", at as u64);
        bench.set("s_queue_pair", pair);

        // What is to be told. A notification that has begun stands until it is told, and says so until it is taken.
        let of_notify = begun.as_ref().filter(|begun| !begun.end);
        if of_notify.is_none() {
            if notify.is_none() && now > again && bench.rng.random_range(0..10) < busy[0] {
                let [qpn, source] = [0; 2].map(|_| bench.rng.random_range(0..1 << 24));
                let [key, immediate, length] = [0; 3].map(|_| u64::from(bench.rng.random::<u32>()));
                let node = bench.rng.random_range(0..1 << 20);
                notify = Some([qpn, node, source, key, immediate, length]);
            } else if notify.is_some() && bench.rng.random_range(0..30) == 0 {
                notify = None;
                again = now + 3;
                seen[4] += 1;
            }
        }
        let offers = notify.is_some() && of_notify.is_none_or(|begun| !begun.taken);
        bench.set("s_notify_valid", offers.into());
        for (field, value) in NOTICE.iter().zip(notify.unwrap_or([now & 0xff; 6])) {
            bench.set(&format!("s_notify_{field}"), value);
        }
        if done.is_none() && bench.rng.random_range(0..10) < busy[1] {
            let mut record = s_done.draw(&mut bench.rng);
            let group = bench.rng.random_range(0..1 << G);
            record.insert("group".to_owned(), vec![group]);
            let known = pairs[group as usize].is_some() && !(opens && group == at as u64);
            done = Some(record).filter(|_| known);
        }
        s_done.offer(&mut bench.model, &mut bench.rng, done.as_ref());
        bench.set("hold", hold.into());

        // The host.
        let (mut ready, mut told) = (false, None);
        if let Some(begun) = begun.as_mut().filter(|begun| begun.due <= now) {
            if begun.taken {
                told = Some(bench.rng.random_range(0..3) > 0);
            } else {
                ready = true;
                begun.due = now + 1 + bench.rng.random_range(0..30 / busy[2]);
            }
        }
        bench.set("m_notify_begins", 0);
        bench.set("m_notify_ready", ready.into());
        bench.set("m_notify_told", told.is_some().into());
        let ok = told.unwrap_or(bench.rng.random());
        bench.set("m_notify_ok", ok.into());
        let hears = bench.stalls.ready(1);
        m_tell.set_ready(&mut bench.model, hears);
        bench.eval()?;

        // What is offered.
        let end = done.as_ref().map(|end| {
            let group = end["group"][0] as usize;
            notice(end, pairs[group].unwrap_or_default(), node)
        });
        let of_end = begun.as_ref().is_some_and(|begun| begun.end);
        bench.says("m_idle", u64::from(!of_end))?;
        let valid = bench.is("m_notify_valid");
        let is = NOTICE.map(|field| bench.get(&format!("m_notify_{field}")));
        bench.stalls.observe(0, valid, true);
        if let Some(begun) = &begun {
            same("what has begun is offered", valid, !begun.taken)?;
            if valid {
                same("what has begun", is, begun.notice)?;
            }
            (idle, passed) = ([false; 2], [passed[0], passed[1]]);
        } else {
            let may = [
                notify.filter(|_| tell.is_none()),
                end.filter(|_| !hold && now >= pause),
            ];
            if valid {
                let which = may.iter().position(|may| *may == Some(is));
                let which =
                    which.ok_or_else(|| format!("{is:x?} is offered, not one of {may:x?}"))?;
                if bench.stalls.ready(0) {
                    bench.set("m_notify_begins", 1);
                    bench.eval()?;
                    begun = Some(Begun {
                        end: which == 1,
                        notice: is,
                        due: now + 1 + bench.rng.random_range(0..8),
                        taken: false,
                    });
                    let other = 1 - which;
                    passed[which] = 0;
                    passed[other] = if may[other].is_some() {
                        passed[other] + 1
                    } else {
                        0
                    };
                    demand(passed[other] < 2, "one kind has no turn")?;
                }
            }
            for i in 0..2 {
                let waits = may[i].is_some() && !valid;
                demand(!(waits && idle[i]), "nothing is offered")?;
                idle[i] = waits;
                passed[i] *= u64::from(may[i].is_some());
            }
        }

        // What becomes of it.
        let of_end = begun.as_ref().is_some_and(|begun| begun.end);
        let begins = begun.as_ref().is_some_and(|_| bench.is("m_notify_begins"));
        bench.says("s_notify_begins", begins && !of_end)?;
        bench.says("s_notify_ready", ready && !of_end)?;
        bench.says("s_notify_told", told.is_some() && !of_end)?;
        if let Some(ok) = told {
            bench.says("s_notify_ok", ok)?;
        }
        bench.says("s_done_ready", told == Some(true) && of_end)?;
        let says = m_tell.offered(&bench.model);
        bench.stalls.observe(1, says.is_some(), true);
        let says = says.map(|told| [told["qpn"][0], told["immediate"][0]]);
        same("m_tell", says, tell)?;
        if hears {
            tell = None;
        }
        if ready && let Some(begun) = &mut begun {
            begun.taken = true;
        }
        if opens {
            pairs[at] = Some(pair);
        }
        let Some((ok, begun)) = told.and_then(|ok| Some((ok, begun.take()?))) else {
            return Ok(());
        };
        seen[usize::from(begun.end) + if ok { 0 } else { 2 }] += 1;
        if begun.end {
            done = done.take().filter(|_| !ok);
            pause = if ok { pause } else { now + PAUSE };
        } else {
            notify = None;
            again = now + 2;
            tell = ok.then_some([begun.notice[0], begun.notice[4]]);
            seen[5] += u64::from(now < pause);
        }
        Ok(())
    })?;
    Ok(seen)
}

#[test]
fn mb_16_ends_and_notifications_are_told_once_each_in_turns() {
    right("card_ring_ends", run);
}

#[test]
fn mb_16_every_wrong_teller_of_ends_is_noticed() {
    wrong(&WRONG, run);
}
