//! card_send_room.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::card::CardSendRoom;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::Verilated;

use super::ports::{Group, Record, build, rng};

/// Words that have room.
const ROOM: usize = 1 << 10;
/// Contexts: of work requests and of payload.
const WORK: u64 = 0;
const PAYLOAD: u64 = 1 << 14;

/// Errors by number, from 1 on, at bit 8 and above of the address that is offered; 0: none.
const WRONG: [Wrong; 4] = [
    ("card_send_room", "fits_reg <= ", "1'b1"),
    ("card_send_room", "more = ", "16'd0"),
    ("card_send_room", "fewer = ", "16'd0"),
    ("card_send_room", "m_idle = ", "!reads_m_valid"),
];

/// A reader that answers every read after some clocks, word by word, and a line that takes them as the profile wants.
fn run(
    library: &Verilated,
    seed: u64,
    error: u64,
    stalls: &mut Stalls,
    least: u64,
) -> Result<u64, String> {
    let [s_rd, m_rd, s_pl, m_pl] =
        ["s_rd", "m_rd", "s_pl", "m_pl"].map(|prefix| Group::of(library, prefix));
    let idle = library.port("m_idle").unwrap();
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    model.reset(2).unwrap();
    let mut offered: Option<Record> = None;
    // Reads that were offered and not asked for; words that are to come, and those that are here.
    let mut waiting: VecDeque<Record> = VecDeque::new();
    let mut coming: VecDeque<(u64, Record)> = VecDeque::new();
    let mut here: VecDeque<Record> = VecDeque::new();
    let (mut asked, mut fullest, mut quiet) = (0, 0, 0);
    for clock in 0..6_000u64 {
        stalls.clock();
        // In the end all that was read leaves.
        if clock < 4_000 && offered.is_none() && rng.random_range(0..4) == 0 {
            let mut read = s_rd.draw(&mut rng);
            let payload: bool = rng.random();
            let len = match rng.random_range(0..4) {
                0 => rng.random_range(1..65),
                1 => 4_096,
                _ => rng.random_range(1..=4_096),
            };
            read.insert("ctx".into(), vec![if payload { PAYLOAD } else { WORK }]);
            read.insert("len".into(), vec![if payload { len } else { 64 }]);
            read.insert(
                "addr".into(),
                vec![error << 40 | rng.random::<u32>() as u64],
            );
            offered = Some(read);
        }
        s_rd.offer(&mut model, &mut rng, offered.as_ref());
        let ready = rng.random_range(0..3) > 0;
        m_rd.set_ready(&mut model, ready);
        let word = coming.front().filter(|(due, _)| *due <= clock);
        let word = word.map(|(_, word)| word.clone());
        s_pl.offer(&mut model, &mut rng, word.as_ref());
        m_pl.set_ready(&mut model, stalls.ready(0));
        model.eval().map_err(|e| e.to_string())?;
        let place = || format!("seed {seed}, clock {clock}");
        if word.is_some() && !s_pl.is_ready(&model) {
            return Err(format!("{}: a word has no room", place()));
        }
        let nothing = waiting.is_empty() && coming.is_empty() && here.is_empty();
        if model.is_set(idle) && !nothing {
            return Err(format!("{}: idle", place()));
        }
        // Room that is not given back would be missing for ever.
        quiet = if nothing { quiet + 1 } else { 0 };
        if quiet > 8 && !model.is_set(idle) {
            return Err(format!("{}: never idle", place()));
        }
        if let Some(out) = m_pl.offered(&model) {
            stalls.observe(0, true, out["last"] == [1]);
            if here.front() != Some(&out) {
                return Err(format!("{}: {out:?}, not {:?}", place(), here.front()));
            }
            if stalls.ready(0) {
                here.pop_front();
            }
        } else {
            stalls.observe(0, false, true);
        }
        if let Some(word) = word {
            here.push_back(word);
            coming.pop_front();
        }
        if let Some(read) = m_rd.offered(&model) {
            if waiting.front() != Some(&read) {
                return Err(format!("{}: {read:?}, not {:?}", place(), waiting.front()));
            }
            if ready {
                waiting.pop_front();
                asked += 1;
                let words = read["len"][0].div_ceil(8);
                let due = clock + rng.random_range(5..200);
                for at in 0..words {
                    if read["ctx"] == [PAYLOAD] {
                        let mut word = s_pl.draw(&mut rng);
                        word.insert("last".into(), vec![(at + 1 == words).into()]);
                        coming.push_back((due, word));
                    }
                }
                fullest = fullest.max(coming.len() + here.len());
                if fullest > ROOM {
                    return Err(format!("{}: {fullest} words have no room", place()));
                }
            }
        }
        if offered.is_some() && s_rd.is_ready(&model) {
            waiting.extend(offered.take());
        }
        model.clock().map_err(|e| e.to_string())?;
    }
    if asked < least || fullest < ROOM / 2 {
        return Err(format!("seed {seed}: {asked} reads, {fullest} words"));
    }
    Ok(asked)
}

/// Every read is asked for in its order, work requests too, and never more words than have room; every word leaves as it came.
#[test]
fn bw_04_payload_is_read_when_it_has_room() {
    let library = build(CardSendRoom::<10>::default());
    profiles("card_send_room: reads", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        run(&library, seed, 0, &mut stalls, 4).unwrap_or_else(|what| panic!("{what}"))
    });
}

#[test]
fn bw_04_payload_that_is_read_without_room_is_noticed() {
    let design = emit_block(&mut CardSendRoom::<10>::default()).unwrap();
    let files = design.files();
    let library = wrong::library(&design.top, files, ("s_rd_addr[63:40]", 24), 1, &WRONG);
    // A line that takes every word.
    let runs = |error| run(&library, 0, error, &mut Stalls::of_seed(0, 1), 30);
    runs(0).unwrap();
    for (number, wrong) in (1..).zip(&WRONG) {
        let noticed = runs(number).err();
        println!("{wrong:?}: {noticed:?}");
        assert!(noticed.is_some(), "{wrong:?}");
    }
}
