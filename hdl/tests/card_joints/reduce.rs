//! card_reduce among queue pairs that join groups and leave them, roots and others, work requests good and bad, and frames of
//! every kind.

mod directed;
mod errors;
mod world;

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::RngExt;
use tributary_hdl::card::CardReduce;
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::{Arrival, ReductionRequest, flags};
use tributary_protocol::card::regs::{REDUCTION_GROUPS, ReductionCounter};
use tributary_protocol::red::Address;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_protocol::xud::Outcome;
use tributary_sim::verilate::Verilated;

use self::directed::{all_groups, checksum, without_room};
use self::errors::WRONG;
use self::world::{Coming, Member, Work, World, coming, entry, over};
use super::rings::{Bench, Result, demand, library, right, same, wrong};

// Twice as many queue pairs as groups.
const LQ: usize = 5;
const NODE: u32 = 0xA_0A5C;
/// Frames that the block keeps at least while none is looked up.
const KEPT: usize = 32;
/// Verdicts that may wait, also those on words that are to be thrown away.
const DROPS: usize = 16;
/// Clocks in which the block is to be at rest before the table changes, as the card's commands wait.
const REST: u64 = 32;
/// Of these, when the count of foreign frames is asked for, and when it is there.
const ASKS: u64 = 20;
const COUNTS: u64 = 28;

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| library(CardReduce::<LQ>::default(), &WRONG))
}

/// What the bench asks the table for.
enum Change {
    Join(Box<Member>),
    State(usize, State),
}

/// Counts frames that left, frames that became completions, those of nobody, malformed ones, those without a slot, work requests
/// without a meaning, groups that others were in, queue pairs that left, those for which there was no row, frames that were
/// answered, work requests that an answer has overtaken, and, while more groups are in use than there are even rows, frames that
/// left and those that became completions.
fn run(seed: u64, error: u64) -> Result<[u64; 13]> {
    let mut bench = Bench::new(block(), seed, error, 4);
    let mut world = World::default();
    let mut seen = [0; 13];
    for (name, value) in [("regs_rst", 1), ("rst", 1), ("cfg_node", NODE.into())] {
        bench.set(name, value);
    }
    for name in [
        "s_tvalid",
        "s_join_valid",
        "cfg_valid",
        "s_works_lands",
        "s_works_valid",
        "m_rsv_done",
        "reg_take",
        "hold",
    ] {
        bench.set(name, 0);
    }
    for _ in 0..16 {
        bench.model.clock().map_err(|e| e.to_string())?;
    }
    bench.set("rst", 0);
    bench.set("regs_rst", 0);

    // The work request that lands: its words, then who it is of.
    let mut landing: VecDeque<u64> = VecDeque::new();
    let mut landed: Option<([u64; 8], Option<usize>)> = None;
    let mut frame: Option<Coming> = None;
    let mut out: Vec<u8> = Vec::new();
    let mut asked: Option<u64> = None;
    // A round of traffic, then rest, then changes of the table.
    let (mut rest, mut pause) = (0u64, 0u64);
    let mut traffic = 600u64;
    let mut change: Option<Change> = None;
    // At first the table fills, or it stays nearly empty.
    let mut changes = if bench.rng.random() { 60 } else { 4 };
    let busy = [0; 4].map(|_: u64| bench.rng.random_range(1..=10));
    let clocks = 26_000;
    bench
        .run(clocks, |bench, now| {
            let drains = now > clocks - 8_000;
            // At last nothing is held, whatever the profile.
            let free = now > clocks - 1_000;
            let readies = [0, 1, 2, 3].map(|port| free || bench.stalls.ready(port));
            traffic = traffic.saturating_sub(1);
            let changing = change.is_some() || pause > 0;
            let hold = traffic == 0 && (!drains || changing);
            bench.set("hold", hold.into());

            // Work requests: of members that send, and of others.
            bench.set("s_works_valid", 0);
            bench.set("s_works_lands", 0);
            let noise = bench.rng.random();
            bench.set("s_works_data", noise);
            if let Some((words, of)) = &landed
                && landing.is_empty()
            {
                match of {
                    None => landed = None,
                    Some(at) if bench.is("s_works_room") && bench.rng.random_range(0..3) > 0 => {
                        let member = &mut world.members[*at];
                        let request = member.fetched;
                        member.fetched = request.wrapping_add(1);
                        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                        let bytes: [u8; 64] = bytes.try_into().unwrap();
                        let asked = ReductionRequest::decode(&bytes);
                        let mut work = Work {
                            qpn: member.qpn,
                            wr_id: words[1],
                            request,
                            reduction: (words[0] >> 20 & 7) as u8,
                            late: false,
                            bad: asked.is_none(),
                            signal: words[0] >> 8 & u64::from(flags::SIGNAL.mask()) != 0,
                        };
                        bench.set("s_works_valid", 1);
                        bench.set("s_works_qpn", work.qpn);
                        bench.set("s_works_request", request.into());
                        seen[5] += u64::from(work.bad);
                        if let Some(asked) = asked {
                            let frame = world.frame(&world.members[*at], &asked);
                            let member = &mut world.members[*at];
                            let id = usize::from(asked.reduction);
                            work.late = member.members != 0 && !member.answers[id].leaves(&frame);
                            if work.late {
                                world.counts.overtaken += 1;
                                seen[10] += 1;
                            } else {
                                if asked.to.is_none() && !frame.contributes() {
                                    member.last[id] = (asked.red.seqno, asked.round);
                                }
                                let bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
                                world.leaving.push_back(bytes);
                            }
                        }
                        world.ends.push_back(work);
                        landed = None;
                    }
                    Some(_) => {}
                }
            } else if landed.is_none()
                && !hold
                && !drains
                && bench.rng.random_range(0..10) < busy[0]
            {
                let sends: Vec<usize> = (0..world.members.len())
                    .filter(|at| world.members[*at].state == State::ReadyToSend)
                    .collect();
                let others = sends.is_empty() || bench.rng.random_range(0..4) == 0;
                let of = (!others).then(|| sends[bench.rng.random_range(0..sends.len())]);
                let member = of.map(|at| &world.members[at]);
                let words = entry(&mut bench.rng, member);
                let place = member.map(|m| (m.qpn, (words[0] >> 20 & 7) as u8));
                if place.is_none_or(|place| !world.results.contains_key(&place)) {
                    if let Some(place) = place {
                        *world.works.entry(place).or_default() += 1;
                    }
                    landing = words.into_iter().collect();
                    landed = Some((words, of));
                }
            }
            if !landing.is_empty() && bench.rng.random_range(0..4) > 0 {
                bench.set("s_works_lands", 1);
                bench.set("s_works_first", (landing.len() == 8).into());
                bench.set("s_works_data", landing.pop_front().unwrap());
            }

            // Frames arrive, also while nothing may begin, as long as they have room.
            if frame.is_none()
                && !drains
                && world.arrived.len() + world.words.len() / 7 + 3 < KEPT - DROPS
                && bench.rng.random_range(0..10) < busy[1]
            {
                let mut next = coming(&mut bench.rng, &world);
                let place = next.kept.as_ref().and_then(|frame| world.result(frame));
                next.place = place;
                if place.is_none_or(|place| !world.works.contains_key(&place)) {
                    if let Some(place) = place {
                        *world.results.entry(place).or_default() += 1;
                    }
                    frame = Some(next);
                }
            }
            let moves = frame.is_some() && bench.rng.random_range(0..10) < 9;
            bench.set("s_tvalid", moves.into());
            if moves && let Some(coming) = &mut frame {
                let (data, keep, last, user) = coming.words.pop_front().unwrap();
                bench.set("s_tdata", data);
                bench.set("s_tkeep", keep);
                bench.set("s_tlast", last.into());
                bench.set("s_tuser", user.into());
                if last {
                    world.counts.bad += u64::from(coming.bad);
                    let kept = coming.kept.take();
                    world
                        .arrived
                        .extend(kept.map(|frame| (frame, coming.place)));
                    frame = None;
                }
            }

            // Slots.
            bench.set("m_rsv_done", 0);
            let ok = bench.rng.random_range(0..5) > 0;
            let answers = asked.is_some() && bench.rng.random_range(0..4) == 0;
            bench.set("m_rsv_done", answers.into());
            bench.set("m_rsv_ok", ok.into());

            // The table.
            let waits = pause > 0;
            pause = pause.saturating_sub(1);
            bench.set("cfg_valid", 0);
            bench.set("cfg_word", 0);
            if hold && !drains && change.is_none() && !waits && rest > REST && changes > 0 {
                let free: Vec<u64> = (0..1 << LQ)
                    .filter(|qpn| world.members.iter().all(|m| m.qpn != *qpn))
                    .collect();
                let some = world.members.len();
                let fills = changes > 5 && bench.rng.random();
                let joins = fills || some == 0 || bench.rng.random_range(0..some + 4) < 5;
                change = Some(if joins {
                    let twin = (some > 0 && bench.rng.random_range(0..4) == 0)
                        .then(|| world.members[bench.rng.random_range(0..some)].clone());
                    let [vni, tree]: [u16; 2] = bench.rng.random();
                    let cookie = bench.rng.random::<u32>() & !7;
                    // Near to one that is there, so that each field counts.
                    let near = (some > 0 && bench.rng.random::<bool>())
                        .then(|| world.members[bench.rng.random_range(0..some)].clone());
                    let near = near.map(|m| match bench.rng.random_range(0..2) {
                        0 => (m.vni ^ 1, m.cookie),
                        _ => (m.vni, m.cookie ^ 8),
                    });
                    let (vni, cookie) = twin
                        .map(|m| (m.vni, m.cookie))
                        .or(near)
                        .unwrap_or((vni, cookie));
                    let qpn = free[bench.rng.random_range(0..free.len())];
                    let members = match bench.rng.random_range(0..4) {
                        0..2 => 0,
                        2 => bench.rng.random_range(1..1 << 19),
                        _ => bench.rng.random_range(1..5),
                    };
                    let group = (vni, tree & 0x1FFF, cookie);
                    Change::Join(Box::new(Member::new(qpn, group, members)))
                } else {
                    let at = bench.rng.random_range(0..some);
                    let to = match world.members[at].state {
                        State::Init => State::ReadyToReceive,
                        State::ReadyToReceive => State::ReadyToSend,
                        _ if bench.rng.random() => State::Error,
                        _ => State::Reset,
                    };
                    Change::State(at, to)
                });
            }
            match &change {
                Some(Change::Join(member)) => {
                    bench.set("s_join_valid", 1);
                    bench.set("s_join_qpn", member.qpn);
                    bench.set("s_join_vni", member.vni.into());
                    bench.set("s_join_tree", member.tree.into());
                    bench.set("s_join_cookie", (member.cookie >> 3).into());
                    bench.set("s_join_members", member.members.into());
                }
                Some(Change::State(at, to)) => {
                    let member = &mut world.members[*at];
                    bench.set("cfg_valid", 1);
                    bench.set("cfg_qpn", member.qpn);
                    let rest: u64 = bench.rng.random();
                    bench.set("cfg_data", rest & !7 | u64::from(to.code()));
                    member.state = *to;
                    if *to == State::Reset {
                        world.members.remove(*at);
                        seen[7] += 1;
                    }
                    change = None;
                    (pause, changes) = (10, changes - 1);
                }
                None => {
                    // Words of other queue pairs, and other words of contexts.
                    if !waits && hold && !drains && bench.rng.random_range(0..8) == 0 {
                        let word = bench.rng.random_range(1..8);
                        let data = bench.rng.random();
                        bench.set("cfg_valid", 1);
                        bench.set("cfg_word", word);
                        bench.set("cfg_data", data);
                        let qpn = bench.rng.random_range(0..1 << LQ);
                        bench.set("cfg_qpn", qpn);
                        pause = 10;
                    }
                }
            }

            for (port, name) in [
                "m_axis_tready",
                "m_words_ready",
                "m_cpl_ready",
                "m_cancel_ready",
            ]
            .iter()
            .enumerate()
            {
                let ready = readies[port];
                bench.set(name, ready.into());
            }
            bench.eval()?;

            // Frames of nobody are gone without a word: how many, the counter says, before the table changes.
            bench.set("reg_take", (rest == ASKS).into());
            bench.set("reg_select", ReductionCounter::Foreign.code().into());
            if rest == COUNTS {
                while world.counts.foreign < bench.get("reg_count") {
                    let (frame, place) = world.arrived.pop_front().ok_or("nothing is foreign")?;
                    over(&mut world.results, place);
                    demand(world.of(&frame).is_none(), "a frame of somebody is foreign")?;
                    world.counts.foreign += 1;
                    seen[2] += 1;
                }
                bench.says("reg_count", world.counts.foreign)?;
            }

            // The answer of the table.
            if let Some(Change::Join(member)) = &change
                && bench.is("s_join_done")
            {
                let clash = world
                    .members
                    .iter()
                    .any(|m| (m.vni, m.cookie) == (member.vni, member.cookie));
                let joins = !clash && world.members.len() < REDUCTION_GROUPS;
                bench.says("s_join_ok", joins)?;
                seen[if clash { 6 } else { 8 }] += u64::from(!joins);
                if joins {
                    world.members.push((**member).clone());
                }
                change = None;
                bench.set("s_join_valid", 0);
                (pause, changes) = (10, changes - 1);
            }

            // Frames that leave.
            let valid = bench.is("m_axis_tvalid");
            bench.stalls.observe(0, valid, bench.is("m_axis_tlast"));
            if valid && readies[0] {
                let word = bench.get("m_axis_tdata").to_le_bytes();
                let last = bench.is("m_axis_tlast");
                bench.says("m_axis_tkeep", if last { 0x3Fu64 } else { 0xFF })?;
                out.extend(&word[..if last { 6 } else { 8 }]);
                if last {
                    let frame = std::mem::take(&mut out);
                    if world.answers.front() == Some(&frame) {
                        world.answers.pop_front();
                    } else {
                        same("a frame", Some(frame), world.leaving.pop_front())?;
                    }
                    world.counts.sent += 1;
                    seen[0] += 1;
                    seen[11] += u64::from(world.members.len() > REDUCTION_GROUPS / 2);
                }
            }

            // Slots that are asked for: of the next frame that is for somebody.
            if answers {
                let qpn = asked.take().unwrap_or_default();
                let (frame, place) = world.arrived.pop_front().ok_or("a slot for nothing")?;
                if ok {
                    let answer = world.answer(&frame);
                    let answered = answer.is_some();
                    world.answers.extend(answer);
                    world.counts.answered += u64::from(answered);
                    seen[9] += u64::from(answered);
                    let arrival = Arrival {
                        kind: frame.restricted.opcode,
                        round: frame.restricted.remote_offset,
                        reduction: (frame.red.cookie % 8) as u8,
                        by_tree: frame.fabric.dfa != Address::unicast(NODE, 0),
                        fetched: 0,
                        source: frame.fabric.sfa,
                        red: frame.red,
                        data: frame.data,
                        answered,
                        number: 0,
                    };
                    let bytes = arrival.encode(4);
                    let words = bytes[..56].chunks(8);
                    (world.words).extend(words.map(|w| u64::from_le_bytes(w.try_into().unwrap())));
                    let ended = world.members.iter().find(|m| m.qpn == qpn);
                    let ended = ended.map_or(0, |m| m.ended);
                    world.landing.push_back((qpn, ended, place, answered));
                    world.counts.received += 1;
                    seen[1] += 1;
                    seen[12] += u64::from(world.members.len() > REDUCTION_GROUPS / 2);
                } else {
                    over(&mut world.results, place);
                    world.counts.no_slot += 1;
                    seen[4] += 1;
                }
            } else if bench.is("m_rsv_valid") && asked.is_none() {
                demand(
                    !hold || rest < REST,
                    "a frame is looked up though nothing may begin",
                )?;
                while let Some((frame, place)) = world.arrived.front() {
                    if world.of(frame).is_some() {
                        break;
                    }
                    over(&mut world.results, *place);
                    world.arrived.pop_front();
                    world.counts.foreign += 1;
                    seen[2] += 1;
                }
                let (frame, _) = world
                    .arrived
                    .front()
                    .ok_or("a slot is asked for without a frame")?;
                let member = world.of(frame).ok_or("it is for nobody")?;
                bench.says("m_rsv_qpn", member.qpn)?;
                asked = Some(member.qpn);
            }

            // Completions.
            let valid = bench.is("m_cpl_valid");
            bench.stalls.observe(2, valid, true);
            if valid && bench.is("m_cpl_arrived") {
                let (qpn, least, place, answered) =
                    *world.landing.front().ok_or("a completion of no frame")?;
                bench.says("m_cpl_notified", answered)?;
                bench.says("m_cpl_qpn", qpn)?;
                let member = world.members.iter_mut().find(|m| m.qpn == qpn);
                let member = member.ok_or("a completion of a queue pair that is gone")?;
                let is = bench.get("m_cpl_request") as u16;
                let most = member.fetched;
                demand(
                    is.wrapping_sub(least) <= most.wrapping_sub(least),
                    &format!("{is} work requests fetched, not {least} to {most}"),
                )?;
                demand(
                    is.wrapping_sub(member.told) < 0x8000,
                    &format!("{is} work requests fetched, {} before", member.told),
                )?;
                if readies[2] {
                    member.told = is;
                    world.landing.pop_front();
                    over(&mut world.results, place);
                }
            } else if valid {
                let work = world
                    .ends
                    .front()
                    .cloned()
                    .ok_or("a completion of no work request")?;
                demand(work.bad || work.signal, "a completion that nobody wants")?;
                bench.says("m_cpl_qpn", work.qpn)?;
                bench.says("m_cpl_wr_id", work.wr_id)?;
                bench.says("m_cpl_request", work.request)?;
                let status = match (work.bad, work.late) {
                    (true, _) => Outcome::LocalOpcode,
                    (_, true) => Outcome::Overtaken,
                    _ => Outcome::Ok,
                };
                bench.says("m_cpl_status", status.code())?;
            }
            let ends = valid && !bench.is("m_cpl_arrived") && readies[2];
            let cancels = bench.is("m_cancel_valid");
            bench.stalls.observe(3, cancels, true);
            if cancels {
                let work = world
                    .ends
                    .front()
                    .ok_or("a slot of nothing is given back")?;
                demand(
                    !work.bad && !work.signal,
                    "a slot is given back that is needed",
                )?;
                bench.says("m_cancel_qpn", work.qpn)?;
            }
            if ends || cancels && readies[3] {
                let work = world.ends.pop_front().unwrap();
                over(&mut world.works, Some((work.qpn, work.reduction)));
                if let Some(member) = world.members.iter_mut().find(|m| m.qpn == work.qpn) {
                    member.ended = work.request.wrapping_add(1);
                    if ends {
                        member.told = member.ended;
                    }
                }
            }

            // Words of frames.
            let valid = bench.is("m_words_valid");
            bench.stalls.observe(1, valid, true);
            if valid {
                let word = world.words.front().copied().ok_or("a word of nothing")?;
                bench.says("m_words_data", word)?;
                if readies[1] {
                    world.words.pop_front();
                }
            }

            // Rest: nothing of what has begun is left.
            let works = !world.ends.is_empty() || !world.leaving.is_empty();
            let idle = bench.is("m_idle");
            demand(
                !idle || !works || bench.is("s_works_valid"),
                "idle with work requests",
            )?;
            demand(!(idle && asked.is_some()), "idle with a slot asked for")?;
            demand(!idle || world.landing.is_empty(), "idle with a completion")?;
            demand(!idle || world.answers.is_empty(), "idle with an answer")?;
            rest = if hold && idle && landed.is_none() {
                rest + 1
            } else {
                0
            };
            if hold && rest > REST && changes == 0 && !waits && pause == 0 {
                traffic = bench.rng.random_range(100..800);
                changes = bench.rng.random_range(1..6);
            }
            Ok(())
        })
        .and_then(|mut model| {
            // What is left is of nobody; then the counters.
            let nobody = (world.arrived.iter()).all(|(frame, _)| world.of(frame).is_none());
            demand(nobody, "frames were not looked up")?;
            seen[2] += world.arrived.len() as u64;
            seen[3] = world.counts.bad;
            world.counts.foreign += world.arrived.len() as u64;
            demand(
                world.leaving.is_empty() && world.ends.is_empty(),
                "work requests are left",
            )?;
            demand(
                world.landing.is_empty() && world.words.is_empty(),
                "completions are left",
            )?;
            demand(world.answers.is_empty(), "answers are left")?;
            let port = |name: &str| block().port(name).unwrap();
            let counts = [
                (ReductionCounter::Sent, world.counts.sent),
                (ReductionCounter::Received, world.counts.received),
                (ReductionCounter::BadFrame, world.counts.bad),
                (ReductionCounter::Foreign, world.counts.foreign),
                (ReductionCounter::NoSlot, world.counts.no_slot),
                (ReductionCounter::Answered, world.counts.answered),
                (ReductionCounter::Overtaken, world.counts.overtaken),
            ];
            for (counter, should) in counts {
                model.set(port("reg_select"), counter.code().into());
                model.set(port("reg_take"), 1);
                model.clock().map_err(|e| e.to_string())?;
                model.set(port("reg_take"), 0);
                for _ in 0..6 {
                    model.clock().map_err(|e| e.to_string())?;
                }
                same(
                    &format!("{counter:?}"),
                    model.get(port("reg_count")),
                    should,
                )?;
            }
            Ok(seen)
        })
}

#[test]
fn cl_05_work_requests_are_frames_and_frames_are_completions() {
    right("card_reduce", run);
}

#[test]
fn cl_05_every_wrong_reduction_is_noticed() {
    wrong(&WRONG, |seed, error| {
        without_room(error, true)?;
        all_groups(error)?;
        checksum(error)?;
        run(seed, error)
    });
}
