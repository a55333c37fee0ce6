//! One queue pair in a group, or as many as there are groups, and a few frames: what does not fit, and how long things take.

use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::ReductionRequest;
use tributary_protocol::card::regs::{REDUCTION_GROUPS, ReductionCounter};
use tributary_protocol::red::wire::{self, DEFAULT_ETHERTYPE, Fabric, Frame, Restricted};
use tributary_protocol::red::{Address, Key, Rc};

use super::super::rings::{Bench, Result, demand, same};
use super::world::reduction;
use super::{KEPT, NODE, block};

const QPN: u64 = 3;
const VNI: u16 = 5;
const TREE: u16 = 9;
const MEMBERS: u32 = 4;
/// What is offered to the block.
const INPUTS: [&str; 8] = [
    "s_works_lands",
    "s_works_valid",
    "reg_take",
    "s_join_valid",
    "s_tvalid",
    "cfg_valid",
    "m_rsv_done",
    "hold",
];
/// What takes from it.
const OUTPUTS: [&str; 4] = [
    "m_axis_tready",
    "m_words_ready",
    "m_cpl_ready",
    "m_cancel_ready",
];

/// The block after its reset; all that comes out is taken.
fn fresh(error: u64) -> Result<Bench<'static>> {
    let mut bench = Bench::new(block(), 0, error, 1);
    for (name, value) in [("regs_rst", 1), ("rst", 1), ("cfg_node", NODE.into())] {
        bench.set(name, value);
    }
    for name in INPUTS {
        bench.set(name, 0);
    }
    for name in OUTPUTS {
        bench.set(name, 1);
    }
    clocks(&mut bench, 16)?;
    bench.set("rst", 0);
    bench.set("regs_rst", 0);
    Ok(bench)
}

/// A queue pair is to be in a group, whose cookie is in units of 8: whether it is then.
fn join(
    bench: &mut Bench,
    qpn: u64,
    (vni, tree, cookie): (u16, u16, u32),
    members: u32,
) -> Result<bool> {
    for (name, value) in [
        ("s_join_valid", 1),
        ("s_join_qpn", qpn),
        ("s_join_vni", vni.into()),
        ("s_join_tree", tree.into()),
        ("s_join_cookie", cookie.into()),
        ("s_join_members", members.into()),
    ] {
        bench.set(name, value);
    }
    let mut joined = None;
    for _ in 0..20 {
        clocks(bench, 1)?;
        if bench.is("s_join_done") {
            joined = Some(bench.is("s_join_ok"));
            bench.set("s_join_valid", 0);
        }
    }
    joined.ok_or_else(|| "a join is not answered".to_owned())
}

fn enter(bench: &mut Bench, qpn: u64, state: State) -> Result<()> {
    for (name, value) in [
        ("cfg_valid", 1),
        ("cfg_word", 0),
        ("cfg_qpn", qpn),
        ("cfg_data", state.code().into()),
    ] {
        bench.set(name, value);
    }
    clocks(bench, 1)?;
    bench.set("cfg_valid", 0);
    clocks(bench, 12)
}

/// The block with a queue pair of this state in a group. Of a root with 4 members, if it sends.
fn joined(error: u64, state: State) -> Result<Bench<'static>> {
    let mut bench = fresh(error)?;
    let members = if state == State::ReadyToSend {
        MEMBERS
    } else {
        0
    };
    demand(
        join(&mut bench, QPN, (VNI, TREE, 1), members)?,
        "it does not join",
    )?;
    enter(&mut bench, QPN, state)?;
    Ok(bench)
}

fn clocks(bench: &mut Bench, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| bench.model.clock().map_err(|e| e.to_string()))
}

/// A slot that is asked for is there at once.
fn slot(bench: &mut Bench) -> Result<()> {
    bench.eval()?;
    let asked = bench.is("m_rsv_valid");
    bench.set("m_rsv_done", asked.into());
    bench.set("m_rsv_ok", 1);
    bench.eval()
}

/// A word of a frame arrives, in 12 of them the frame.
fn word(bench: &mut Bench, chunk: &[u8]) {
    let mut word = [0; 8];
    word[..chunk.len()].copy_from_slice(chunk);
    bench.set("s_tvalid", 1);
    bench.set("s_tdata", u64::from_le_bytes(word));
    bench.set("s_tkeep", (1 << chunk.len()) - 1);
    bench.set("s_tlast", (chunk.len() == 6).into());
    bench.set("s_tuser", 0);
}

/// More frames than the block keeps, while none is looked up or no word leaves: those that were kept are whole and in order, the
/// others counted.
pub fn without_room(error: u64, no_word: bool) -> Result<()> {
    let mut bench = joined(error, State::ReadyToReceive)?;
    bench.set("hold", (!no_word).into());
    bench.set("m_words_ready", (!no_word).into());
    let sent = 100;
    for number in 0..sent {
        let frame = Frame {
            fabric: Fabric::new(Address(7), Address::unicast(NODE, 0), VNI),
            restricted: Restricted {
                remote_offset: number,
                ..Restricted::default()
            },
            red: reduction(&mut bench.rng, 8),
            data: [number; 4],
        };
        for chunk in frame.to_bytes(DEFAULT_ETHERTYPE).chunks(8) {
            word(&mut bench, chunk);
            slot(&mut bench)?;
            clocks(&mut bench, 1)?;
        }
    }
    bench.set("s_tvalid", 0);
    for _ in 0..20 {
        slot(&mut bench)?;
        clocks(&mut bench, 1)?;
    }
    bench.set("hold", 0);
    bench.set("m_words_ready", 1);
    let (mut rounds, mut data, mut place) = (Vec::new(), Vec::new(), 0);
    for _ in 0..3_000 {
        slot(&mut bench)?;
        if bench.is("m_words_valid") {
            match place {
                0 => rounds.push(bench.get("m_words_data") & 0xFF_FFFF_FFFF_FFFF),
                3..7 => data.push(bench.get("m_words_data")),
                _ => {}
            }
            place = (place + 1) % 7;
        }
        clocks(&mut bench, 1)?;
    }
    let kept = rounds.len() as u64;
    demand((KEPT as u64..sent).contains(&kept), "too few were kept")?;
    same("rounds", &rounds, &(0..kept).collect())?;
    let whole = rounds.iter().flat_map(|round| [*round; 4]);
    same("data", &data, &whole.collect())?;
    bench.set("reg_select", ReductionCounter::NoSlot.code().into());
    bench.set("reg_take", 1);
    clocks(&mut bench, 1)?;
    bench.set("reg_take", 0);
    clocks(&mut bench, 6)?;
    bench.says("reg_count", sent - kept)
}

/// What a work request has at its ports in the clocks 0 to 8: its words, then who it is of.
fn offer(bench: &mut Bench, qpn: u64, asked: &ReductionRequest, clock: usize) {
    bench.set("s_works_lands", (clock < 8).into());
    bench.set("s_works_first", (clock == 0).into());
    bench.set("s_works_valid", (clock == 8).into());
    bench.set("s_works_qpn", qpn);
    if let Some(word) = asked.encode().chunks(8).nth(clock) {
        bench.set("s_works_data", u64::from_le_bytes(word.try_into().unwrap()));
    }
}

/// The group of a queue pair: no two share more than two of tree, VNI and cookie, and these differ in few bits.
fn group(qpn: u64) -> (u16, u16, u32) {
    let (vni, tree, cookie) = (qpn as u16 % 4, qpn as u16 % 8, qpn as u32 / 4);
    (VNI + vni, TREE + tree, cookie)
}

/// As many roots in groups as there are, each sends and receives a frame; one more, refused, until another one has left: then
/// nothing of that one is left.
pub fn all_groups(error: u64) -> Result<()> {
    let mut bench = fresh(error)?;
    let all = REDUCTION_GROUPS as u64;
    for qpn in 0..all {
        demand(join(&mut bench, qpn, group(qpn), MEMBERS)?, "no room")?;
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            enter(&mut bench, qpn, state)?;
        }
    }
    // Each row is a clash for who wants its group, and full is full.
    for qpn in 0..all {
        demand(!join(&mut bench, all, group(qpn), 0)?, "two in a group")?;
    }
    demand(!join(&mut bench, all, group(all), 0)?, "one too many")?;
    for qpn in 0..all {
        exchange(&mut bench, qpn, group(qpn))?;
    }
    for leaves in 0..all {
        enter(&mut bench, leaves, State::Reset)?;
        let (qpn, to) = (all + leaves, group(all + leaves));
        demand(join(&mut bench, qpn, to, MEMBERS)?, "no room")?;
        enter(&mut bench, qpn, State::ReadyToSend)?;
        exchange(&mut bench, qpn, to)?;
    }
    // All leave, and each is in the group of another one, in another row.
    for qpn in all..2 * all {
        enter(&mut bench, qpn, State::Reset)?;
    }
    for qpn in all..2 * all {
        let to = group(3 * all - 1 - qpn);
        demand(join(&mut bench, qpn, to, MEMBERS)?, "no room")?;
        enter(&mut bench, qpn, State::ReadyToSend)?;
        exchange(&mut bench, qpn, to)?;
    }
    Ok(())
}

/// A frame of a queue pair leaves to its tree, and one that comes by that tree is its completion.
fn exchange(bench: &mut Bench, qpn: u64, (vni, tree, cookie): (u16, u16, u32)) -> Result<()> {
    let mut red = reduction(&mut bench.rng, 0);
    // Of a root: leaves if the tree was told nothing before.
    (red.arm, red.seqno) = (true, 100);
    let asked = ReductionRequest {
        flags: 0,
        wr_id: 0,
        reduction: 5,
        to: None,
        kind: 0,
        round: qpn,
        red,
        data: [qpn; 4],
    };
    let key = Key { tree, reduction: 5 };
    red.cookie = 8 * cookie + 5;
    let frame = |from| Frame {
        fabric: Fabric::new(from, key.address(), vni),
        restricted: Restricted {
            remote_offset: qpn,
            ..Restricted::default()
        },
        red,
        data: [qpn; 4],
    };
    let coming = frame(Address(7)).to_bytes(DEFAULT_ETHERTYPE);
    let (mut words, mut left) = (coming.chunks(8), Vec::new());
    let mut landed = None;
    for clock in 0..90 {
        bench.set("s_works_lands", 0);
        bench.set("s_works_valid", 0);
        if clock < 9 {
            offer(bench, qpn, &asked, clock);
        }
        match words.next() {
            Some(chunk) => word(bench, chunk),
            None => bench.set("s_tvalid", 0),
        }
        slot(bench)?;
        if bench.is("m_axis_tvalid") {
            left.extend(bench.get("m_axis_tdata").to_le_bytes());
        }
        if bench.is("m_cpl_valid") {
            landed = Some(bench.get("m_cpl_qpn"));
        }
        clocks(bench, 1)?;
    }
    left.truncate(94);
    let leaves = frame(Address::unicast(NODE, 0)).to_bytes(DEFAULT_ETHERTYPE);
    same("what leaves", left, leaves.to_vec())?;
    same("who it is for", landed, Some(qpn))
}

/// A frame whose checksum has a carry once more when its carries are added.
pub fn checksum(error: u64) -> Result<()> {
    let key = Key {
        tree: TREE,
        reduction: 5,
    };
    let halves = |word: u32| (word >> 16) + (word & 0xFFFF);
    let fixed = (u32::from(wire::VERSION) << 8)
        + u32::from(wire::LENGTH)
        + (u32::from(wire::TTL) << 8)
        + u32::from(wire::PROTOCOL);
    let rest = fixed + halves(Address::unicast(NODE, 0).0) + halves(key.address().0);
    let vni = (0..=u16::MAX).find(|vni| halves(rest + u32::from(*vni)) > 0xFFFF);
    let group = (vni.ok_or("no such group")?, TREE, 1);
    let mut bench = fresh(error)?;
    demand(join(&mut bench, QPN, group, 0)?, "it does not join")?;
    enter(&mut bench, QPN, State::ReadyToSend)?;
    exchange(&mut bench, QPN, group)
}

/// Clocks from one frame to the next, the longest, of queue pairs of as many groups in turns, roots or not, whose work requests
/// are there as soon as there is room.
fn pace(groups: u64, members: u32) -> Result<u64> {
    let mut bench = fresh(0)?;
    for qpn in 0..groups {
        demand(join(&mut bench, qpn, group(qpn), members)?, "no room")?;
        enter(&mut bench, qpn, State::ReadyToSend)?;
    }
    let (mut sent, mut clock, mut before) = (0, 0, None);
    let (mut frames, mut longest) = (0, 0);
    for now in 0..3_000 {
        let (qpn, turn) = (sent % groups, sent / groups);
        let mut asked = ReductionRequest {
            flags: 0,
            wr_id: 0,
            reduction: 0,
            to: None,
            kind: 0,
            round: turn,
            red: reduction(&mut bench.rng, 0),
            data: [now; 4],
        };
        // So that the root may tell it.
        (asked.red.arm, asked.red.seqno) = (true, (turn % 1_024) as u16);
        bench.set("s_works_lands", 0);
        bench.set("s_works_valid", 0);
        if clock < 8 || bench.is("s_works_room") {
            offer(&mut bench, qpn, &asked, clock);
            clock += 1;
            if clock == 9 {
                (sent, clock) = (sent + 1, 0);
            }
        }
        bench.eval()?;
        if bench.is("m_axis_tvalid") && bench.is("m_axis_tlast") {
            frames += 1;
            // Those in front do not wait for one that leaves.
            if frames > 8 {
                longest = longest.max(now - before.unwrap_or(now));
            }
            before = Some(now);
        }
        clocks(&mut bench, 1)?;
    }
    demand(frames > 3_000 / 16, "few frames")?;
    Ok(longest)
}

/// From the last word of a result to the first word of its answer, with slots and completions taken at once.
fn answer_latency() -> Result<u64> {
    let mut bench = joined(0, State::ReadyToSend)?;
    let mut asked = ReductionRequest {
        flags: 0,
        wr_id: 0,
        reduction: 2,
        to: None,
        kind: 0,
        round: 6,
        red: reduction(&mut bench.rng, 0),
        data: [0; 4],
    };
    (asked.red.arm, asked.red.seqno) = (true, 7);
    for clock in 0..9 {
        offer(&mut bench, QPN, &asked, clock);
        clocks(&mut bench, 1)?;
    }
    bench.set("s_works_valid", 0);
    clocks(&mut bench, 60)?;

    let key = Key {
        tree: TREE,
        reduction: 2,
    };
    let mut frame = Frame {
        fabric: Fabric::new(Address(7), key.address(), VNI),
        restricted: Restricted::default(),
        red: reduction(&mut bench.rng, 8 + 2),
        data: [1, 2, 3, 4],
    };
    (frame.red.arm, frame.red.seqno, frame.red.count) = (false, 7, MEMBERS);
    frame.red.rc = Rc::OK;
    let mut waited = 0;
    let bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
    let mut words = bytes.chunks(8);
    for _ in 0..200 {
        if let Some(chunk) = words.next() {
            word(&mut bench, chunk);
        } else {
            bench.set("s_tvalid", 0);
            waited += 1;
        }
        slot(&mut bench)?;
        if bench.is("m_axis_tvalid") {
            return Ok(waited);
        }
        clocks(&mut bench, 1)?;
    }
    Err("no answer".to_owned())
}

#[test]
fn cl_06_an_answer_begins_to_leave_43_clocks_after_its_result() {
    let clocks = answer_latency().unwrap_or_else(|what| panic!("{what}"));
    println!("{clocks} clocks from the last word of a result to the first of its answer");
    // What simulated fabrics count with.
    assert_eq!(clocks, tributary_sim::fabric::timing::ANSWER_CLOCKS);
}

#[test]
fn cl_07_a_frame_leaves_each_12_clocks_of_whichever_group_and_of_a_root() {
    for groups in [1, 2, 3, 7, 16] {
        for members in [0, MEMBERS] {
            let clocks = pace(groups, members).unwrap_or_else(|what| panic!("{what}"));
            println!("{groups} groups of {members}: {clocks} clocks a frame at most");
            assert_eq!(clocks, 12, "{groups} groups, root's members {members}");
        }
    }
}

#[test]
fn cl_05_a_checksum_is_folded_twice() {
    checksum(0).unwrap_or_else(|what| panic!("{what}"));
}

#[test]
fn cl_05_cl_07_all_groups_are_served_and_one_more_is_refused() {
    all_groups(0).unwrap_or_else(|what| panic!("{what}"));
}

#[test]
fn cl_05_frames_without_room_are_dropped_as_a_whole() {
    for no_word in [false, true] {
        without_room(0, no_word).unwrap_or_else(|what| panic!("{what}"));
    }
}
