//! card_regs_rings beside what the declarations say.

use std::collections::BTreeMap;

use rand::RngExt;
use tributary_hdl::card::CardRegsRings;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::regs::{
    FEATURES_RINGS, RING_ANSWER, RING_BASE_HIGH, RING_BASE_LOW, RING_BIND, RING_COMMAND,
    RING_ORIGIN, RING_QUEUE, RING_REFUSED, RING_SETTINGS, RING_SIZES, RINGS,
};
use tributary_protocol::registers::{Access, Register};
use tributary_sim::testbench::beyond::outside_fields;
use tributary_sim::testbench::seeds;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use super::super::ports::rng;

/// Errors by number, from 1 on, as the number of groups; with others the block is right.
const WRONG: [Wrong; 6] = [
    ("card_regs_rings", "w_low_reg <= ", "reg_wr_word == AT_LOW"),
    (
        "card_regs_rings",
        "w_queue_reg <= ",
        "reg_wr_word == AT_QUEUE",
    ),
    ("card_regs_rings", "m_cmd_origin = ", "origin_reg"),
    ("card_regs_rings", "both = ", "1'b0"),
    ("card_regs_rings", "m_bind_valid = ", "w_bind_reg"),
    ("card_regs_rings", "decided = ", "s_answer_valid"),
];

/// Operations of answers: commands, a tick, an entry, events.
const ANSWERS: [u64; 11] = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12];

fn word(register: &Register) -> u64 {
    u64::from(register.offset) / 4
}

fn run(library: &Verilated, seed: u64, groups: u64) -> Result<u64, String> {
    let port = |name: &str| library.port(name).unwrap();
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    for name in [
        "reg_wr_acts",
        "reg_rd_global",
        "s_answer_valid",
        "s_unbound",
        "m_cmd_ready",
    ] {
        model.set(port(name), 0);
    }
    model.set(port("size_groups"), groups);
    model.reset(2).unwrap();
    let mut values: BTreeMap<u64, u64> = BTreeMap::new();
    let get = |values: &BTreeMap<u64, u64>, register: &Register| {
        values.get(&word(register)).copied().unwrap_or(0)
    };
    // The command that waits: its word, base, origin, settings, queue pair; it was decided.
    let mut command: Option<([u64; 5], bool)> = None;
    let (mut ok, mut refused, mut carried) = (0, 0u64, 0);
    for round in 0..6_000u64 {
        let place = format!("seed {seed}, round {round}");
        model.set(port("s_answer_valid"), 0);
        model.set(port("s_unbound"), 0);
        model.set(port("m_cmd_ready"), 0);
        match rng.random_range(0..4) {
            // A write.
            0 | 1 => {
                let register = RINGS[rng.random_range(0..RINGS.len())];
                let outside = outside_fields(&register);
                let (mut data, mut fits) =
                    (u64::from(rng.random::<u32>() & !register.spare()), true);
                if !outside.is_empty() && rng.random_range(0..4) == 0 {
                    data |= u64::from(outside[rng.random_range(0..outside.len())]);
                    fits = false;
                }
                let acts = rng.random_range(0..8) > 0;
                model.set(port("reg_wr_word"), word(&register));
                model.set(port("reg_wr_data"), data);
                model.clock().unwrap();
                model.set(port("reg_wr_word"), rng.random_range(0..1024));
                model.set(port("reg_wr_data"), u64::from(rng.random::<u32>()));
                model.set(port("reg_wr_acts"), acts.into());
                model.eval().map_err(|e| e.to_string())?;
                let known = fits && register.access != Access::ReadOnly;
                if model.is_set(port("reg_wr_known")) != known {
                    return Err(format!(
                        "{place}: {} {data:x}: known is not {known}",
                        register.name
                    ));
                }
                let binds = acts && known && register == RING_BIND;
                if model.is_set(port("m_bind_valid")) != binds {
                    return Err(format!("{place}: binds is not {binds}"));
                }
                if binds {
                    let is = ["slot", "group", "role", "pair"]
                        .map(|field| model.get(port(&format!("m_bind_{field}"))));
                    let right = [data & 63, data >> 6 & 255, data >> 14 & 3, data >> 16];
                    if is != right {
                        return Err(format!("{place}: {is:?}, not {right:?}"));
                    }
                }
                model.clock().unwrap();
                model.set(port("reg_wr_acts"), 0);
                if acts && known && register == RING_COMMAND && command.is_none() {
                    let base = get(&values, &RING_BASE_HIGH) << 32 | get(&values, &RING_BASE_LOW);
                    let [origin, settings, queue] = [&RING_ORIGIN, &RING_SETTINGS, &RING_QUEUE]
                        .map(|register| get(&values, register));
                    command = Some(([data, base, origin, settings, queue], false));
                    ok = 0;
                } else if acts && known && register.access == Access::ReadWrite {
                    values.insert(word(&register), data);
                }
            }
            // A read.
            2 => {
                let at = rng.random_range(0x40..0x4C);
                model.set(port("reg_rd_word"), at);
                model.set(port("reg_rd_global"), 1);
                model.clock().unwrap();
                model.set(port("reg_rd_global"), 0);
                model.clock().unwrap();
                model.eval().map_err(|e| e.to_string())?;
                let is = model.get(port("reg_rd_data"));
                let right = match at {
                    at if at == word(&RING_SIZES) => groups,
                    at if at == word(&RING_ANSWER) => match command {
                        Some(_) => 1,
                        None => ok << 1,
                    },
                    at if at == word(&RING_REFUSED) => refused & 0xFFFF_FFFF,
                    _ => values.get(&at).copied().unwrap_or(0),
                };
                if is != right
                    || model.get(port("reg_features")) != u64::from(FEATURES_RINGS.mask())
                {
                    return Err(format!("{place}: word {at:x} is {is:x}, not {right:x}"));
                }
            }
            // Answers; the command is taken a clock after its own.
            _ => {
                let operation = match command {
                    Some(([data, ..], false)) if rng.random() => data & 3,
                    _ => ANSWERS[rng.random_range(4..ANSWERS.len())],
                };
                let (good, unbound): (bool, bool) = (rng.random(), rng.random_range(0..4) == 0);
                let group = rng.random_range(0..16);
                for (name, value) in [
                    ("s_answer_valid", 1),
                    ("s_answer_op", operation),
                    ("s_answer_ok", good.into()),
                    ("s_answer_group", group),
                    ("s_unbound", unbound.into()),
                ] {
                    model.set(port(name), value);
                }
                model.eval().map_err(|e| e.to_string())?;
                let opened = operation == 0 && good;
                let is = model.is_set(port("m_queue_valid"));
                if is != opened {
                    return Err(format!("{place}: opened is {is}"));
                }
                refused += u64::from(!good && operation != 4) + u64::from(unbound);
                if let Some((words, decided)) = command.as_mut().filter(|_| operation < 4) {
                    if opened && model.get(port("m_queue_pair")) != words[4] {
                        return Err(format!("{place}: another queue pair"));
                    }
                    (*decided, ok) = (true, good.into());
                }
                model.clock().unwrap();
                model.set(port("s_answer_valid"), 0);
                model.set(port("s_unbound"), 0);
            }
        }
        // What is offered stays as it was written.
        model.eval().map_err(|e| e.to_string())?;
        let fields = [
            "op", "group", "posted", "base", "origin", "log", "timed", "watchdog",
        ];
        let is = fields.map(|field| model.get(port(&format!("m_cmd_{field}"))));
        let valid = model.is_set(port("m_cmd_valid"));
        if valid != command.is_some() {
            return Err(format!("{place}: a command is offered: {valid}"));
        }
        if let Some(([data, base, origin, settings, _], decided)) = command {
            let right = [
                data & 3,
                data >> 8 & 255,
                data >> 16,
                base,
                origin,
                settings & 15,
                settings >> 4 & 1,
                settings >> 16,
            ];
            if is != right {
                return Err(format!("{place}: {is:x?}, not {right:x?}"));
            }
            if decided {
                model.set(port("m_cmd_ready"), 1);
                model.clock().unwrap();
                model.set(port("m_cmd_ready"), 0);
                command = None;
                carried += 1;
            }
        }
    }
    Ok(carried)
}

#[test]
fn mb_16_registers_of_rings_are_those_of_the_declarations() {
    let design = emit_block(&mut CardRegsRings::default()).unwrap();
    let library = wrong::library(&design.top, design.files(), ("size_groups", 9), 1, &WRONG);
    for seed in seeds(4) {
        let carried = run(&library, seed, 16).unwrap_or_else(|what| panic!("{what}"));
        assert!(carried > 100, "seed {seed}: {carried} commands");
    }
    for (number, wrong) in (1..).zip(&WRONG) {
        let noticed = run(&library, 0, number).err();
        println!("{wrong:?}: {noticed:?}");
        assert!(noticed.is_some(), "{wrong:?}");
    }
}
