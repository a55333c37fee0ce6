//! card_contexts.

use rand::RngExt;
use tributary_hdl::card::CardContexts;
use tributary_hdl::record::MEMBER;
use tributary_protocol::card::command::State;
use tributary_sim::testbench::seeds;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use super::ports::{build_wrong, rng};

/// log2 of queue pairs.
const Q: usize = 4;
/// The words of a context.
const WORDS: u64 = 8;

const CASES: &str = "(shape_state == RECEIVES) | (shape_state == SENDS)";

const WRONG: [Wrong; 8] = [
    // One state alone, or all of them.
    ("card_contexts", CASES, "shape_state == SENDS"),
    ("card_contexts", CASES, "shape_state == RECEIVES"),
    ("card_contexts", CASES, "1'b1"),
    ("card_contexts", CASES, "shape_state != 3'd0"),
    // Of all words, of other queue pairs, of none.
    (
        "card_contexts",
        "(s_word == 3'd0) & shape_member",
        "shape_member",
    ),
    (
        "card_contexts",
        "(s_word == 3'd0) & shape_member",
        "s_word == 3'd0",
    ),
    (
        "card_contexts",
        "(s_word == 3'd0) & shape_member",
        "(s_word == 3'd0) & s_data[30]",
    ),
    ("card_contexts", "(s_word == 3'd0) & shape_member", "1'b0"),
];

fn block() -> Verilated {
    build_wrong(CardContexts::<Q>::default(), &WRONG)
}

/// What those who take messages see of word 0: Init while one in a group would receive.
fn apart(word: u64) -> u64 {
    let [init, receives, sends] = [State::Init, State::ReadyToReceive, State::ReadyToSend]
        .map(|state| u64::from(state.code()));
    let member = word >> MEMBER & 1 == 1;
    if member && [receives, sends].contains(&(word & 7)) {
        word & !7 | init
    } else {
        word
    }
}

/// Bits of word 0 that no field has; nobody looks at them.
const SPARE: u64 = 0xffff_0000_78e0_0008;

/// Counts words 0 of members and of others by state, and other words.
fn run(library: &Verilated, seed: u64, error: u64) -> Result<[u64; 11], String> {
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    let port = |name| library.port(name).unwrap();
    let inputs = ["s_valid", "s_qpn", "s_word", "s_data"].map(port);
    let outputs = ["m_valid", "m_qpn", "m_word", "m_data"].map(port);
    model.set(port("wrong"), error);
    let mut seen = [0; 11];
    for round in 0..4_000 {
        let word = if rng.random() {
            0
        } else {
            rng.random_range(0..WORDS)
        };
        let mut data: u64 = rng.random();
        if word == 0 {
            let state = rng.random_range(0..State::ALL.len() as u64);
            data = data & !7 | state;
            seen[(state + 5 * (data >> MEMBER & 1)) as usize] += 1;
        } else {
            seen[10] += 1;
        }
        let values = [
            rng.random_range(0..2),
            rng.random_range(0..1 << Q),
            word,
            data,
        ];
        for (port, value) in inputs.into_iter().zip(values) {
            model.set(port, value);
        }
        model.eval().map_err(|e| e.to_string())?;
        let mut is = outputs.map(|port| model.get(port));
        let mut should = values;
        if word == 0 {
            should[3] = apart(data) & !SPARE;
            is[3] &= !SPARE;
        }
        if is != should {
            return Err(format!(
                "seed {seed}, round {round}: {is:x?}, not {should:x?}"
            ));
        }
    }
    Ok(seen)
}

#[test]
fn cl_05_queue_pairs_in_groups_do_not_receive_for_those_who_take_messages() {
    let library = block();
    for seed in seeds(4) {
        let seen = run(&library, seed, 0).unwrap_or_else(|what| panic!("{what}"));
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    }
}

#[test]
fn cl_05_every_wrong_context_is_noticed() {
    let library = block();
    wrong::every_is_noticed(&WRONG, |number| run(&library, 0, number + 1).map(drop));
}
