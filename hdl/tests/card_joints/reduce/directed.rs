//! One queue pair in a group, and a few frames: what does not fit, and how long an answer takes.

use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::ReductionRequest;
use tributary_protocol::card::regs::ReductionCounter;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Frame, Restricted};
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

/// The block after its reset, with a queue pair of this state in a group; all that comes out is taken. Of a root with 4 members, if
/// it sends.
fn joined(error: u64, state: State) -> Result<Bench<'static>> {
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
    let members = if state == State::ReadyToSend {
        MEMBERS
    } else {
        0
    };
    for (name, value) in [
        ("rst", 0),
        ("regs_rst", 0),
        ("s_join_valid", 1),
        ("s_join_qpn", QPN),
        ("s_join_vni", VNI.into()),
        ("s_join_tree", TREE.into()),
        ("s_join_cookie", 1),
        ("s_join_members", members.into()),
    ] {
        bench.set(name, value);
    }
    for _ in 0..20 {
        clocks(&mut bench, 1)?;
        if bench.is("s_join_done") {
            bench.set("s_join_valid", 0);
        }
    }
    for (name, value) in [
        ("cfg_valid", 1),
        ("cfg_word", 0),
        ("cfg_qpn", QPN),
        ("cfg_data", state.code().into()),
    ] {
        bench.set(name, value);
    }
    clocks(&mut bench, 1)?;
    bench.set("cfg_valid", 0);
    clocks(&mut bench, 12)?;
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
    for (at, word) in asked.encode().chunks(8).enumerate() {
        bench.set("s_works_lands", 1);
        bench.set("s_works_first", (at == 0).into());
        bench.set("s_works_data", u64::from_le_bytes(word.try_into().unwrap()));
        clocks(&mut bench, 1)?;
    }
    for (name, value) in [("s_works_lands", 0), ("s_works_valid", 1)] {
        bench.set(name, value);
    }
    bench.set("s_works_qpn", QPN);
    clocks(&mut bench, 1)?;
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
fn cl_06_an_answer_begins_to_leave_47_clocks_after_its_result() {
    let clocks = answer_latency().unwrap_or_else(|what| panic!("{what}"));
    println!("{clocks} clocks from the last word of a result to the first of its answer");
    // What simulated fabrics count with.
    assert_eq!(clocks, tributary_sim::fabric::timing::ANSWER_CLOCKS);
}

#[test]
fn cl_05_frames_without_room_are_dropped_as_a_whole() {
    for no_word in [false, true] {
        without_room(0, no_word).unwrap_or_else(|what| panic!("{what}"));
    }
}
