//! The queue of a crosspoint beside a plain queue of frames: words come and go as close together as the switch lets them.

use std::collections::VecDeque;

use crate::bench::{Bench, Dice};
use tributary_hdl::switch::Crosspoint;
use tributary_sim::testbench::{PROFILES, Profile, Stalls};

/// Address bits, bits of an entry, words.
const A: usize = 6;
const E: usize = 11;
const WORDS: usize = 1 << A;
/// Words that are held back, and the clocks that the free space is late by.
const BACK: usize = 16;

struct Frame {
    words: Vec<u64>,
    entry: u64,
}

/// What is offered to the queue: one frame after the other, with and without gaps.
#[derive(Default)]
struct Writer {
    frame: Vec<u64>,
    moved: bool,
    sent: usize,
    pause: u64,
    /// Of the last clocks, the latest first: the word that came, if one did.
    came: [Option<Word>; 5],
    /// What is stored now is moved; the value of the clock before.
    stores_moved: bool,
    word: u64,
    /// Frame of the clock before if it has ended and is to be kept.
    ended: Option<Frame>,
}

/// A word that has come.
#[derive(Clone, Copy)]
struct Word {
    value: u64,
    number: usize,
    /// Its frame is stored from word 6 on, without word 0, as what an engine looks at.
    moved: bool,
}

impl Word {
    /// Where it is stored.
    const fn place(self) -> usize {
        match (self.moved, self.number) {
            (true, 1..6) => self.number + 5,
            (true, 6..) => self.number - 6,
            _ => self.number,
        }
    }
}

/// Words of a frame that is stored from word 6 on.
const MOVED: usize = 12;

/// Takes frames out: an entry first, words after it.
#[derive(Default)]
struct Reader {
    /// Clock in which the first word goes, once a frame is chosen.
    begin: Option<u64>,
    taken: usize,
    last_go: u64,
    /// Clocks of a long stall: the next frame comes in meanwhile.
    pause: u64,
    popped: u64,
}

/// How often a frame was known to be whole so many clocks, less 2, after the last word before it had left.
///
/// Last: how often one came as a whole while that last word stood.
type Meetings = [u64; 7];

fn frames_come_and_go(
    seed: u64,
    clocks: u64,
    (gaps, stalls, longest): (u64, u64, u64),
    profile: Profile,
) -> Meetings {
    let mut takes = Stalls::new(profile, seed, 1);
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(Crosspoint::<A, E>::default(), |b| &mut b.clk);
    let mut kept: VecDeque<Frame> = VecDeque::new();
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let (mut met, mut dropped, mut delivered) = (Meetings::default(), 0, 0);
    // Words of whole frames in each of the last clocks.
    let mut held: VecDeque<usize> = VecDeque::from([0; 5]);
    // Words of whole frames as the queue's registers have them, of each of the last clocks; whether it was long.
    let mut lengths: VecDeque<usize> = VecDeque::from([0; 5]);
    let limit = [20, 8, 40, 1, 63, 30][seed as usize % 6];
    let mut long = 0;
    bench.uut.cfg_ecn_limit.next = (limit as u64).into();
    bench.uut.rst.next = true;
    bench.clock();
    bench.uut.rst.next = false;
    // The free space is known.
    (0..4).for_each(|_| bench.clock());
    let (mut left_at, mut kept_at) = (0, 0);
    for clock in 5..clocks {
        takes.clock();
        // The writer: a word, of which the queue hears the number two clocks before and the value a clock later.
        let valid = writer.sent < writer.frame.len() && writer.pause == 0;
        let (at, length) = (writer.sent, writer.frame.len());
        let end = valid && at + 1 == length;
        let take = end && dice.chance(90);
        let kept_words = if writer.moved {
            length.wrapping_sub(1)
        } else {
            length
        };
        let entry = kept_words as u64 & (WORDS as u64 - 1) | dice.below(1 << (E - A)) << A;
        let u = &mut bench.uut;
        u.w_valid.next = valid;
        u.w_end.next = end;
        u.w_take.next = take;
        u.w_entry.next = entry.into();
        // What came 3 and 4 clocks ago is stored now, its value follows.
        writer.came.rotate_right(1);
        writer.came[0] = valid.then(|| Word {
            value: writer.frame[at],
            number: at,
            moved: writer.moved,
        });
        // A frame is known to be moved when its second word is due, and so is the end of the one before.
        if let Some(word) = writer.came[3].filter(|word| word.number == 1) {
            writer.stores_moved = word.moved;
        } else if writer.came[4].is_some_and(|word| word.number == 0) {
            writer.stores_moved = false;
        }
        let stored = writer.came[if writer.stores_moved { 3 } else { 4 }];
        let early = writer.stores_moved && writer.came[3].is_none_or(|word| word.number != 0);
        u.w_early.next = early;
        u.w_late.next = !writer.stores_moved;
        u.w_offset.next = (stored.map_or(dice.below(WORDS as u64) as usize, Word::place) as u64
            % WORDS as u64)
            .into();
        u.w_data.next = writer.word.into();
        writer.word = stored.map_or_else(|| dice.below(u64::MAX), |word| word.value);
        writer.sent += usize::from(valid);
        writer.pause = writer.pause.saturating_sub(1);
        let ended = take.then(|| {
            let mut words = std::mem::take(&mut writer.frame);
            if writer.moved {
                words.rotate_left(6);
                words.remove(6);
            }
            Frame { words, entry }
        });
        if writer.sent == length && writer.pause == 0 {
            let words = 8 + dice.below(longest - 7);
            writer.moved = dice.chance(40);
            let words = if writer.moved { MOVED as u64 } else { words };
            writer.frame = (0..words).map(|_| dice.below(u64::MAX)).collect();
            writer.sent = 0;
            writer.pause = if dice.chance(gaps) { dice.below(30) } else { 0 };
        } else if dice.chance(gaps / 4) {
            writer.pause = dice.below(3);
        }
        let goes = writer.pause == 0;
        let after = writer.sent + usize::from(goes);
        let beat = if after < writer.frame.len() { after } else { 0 };
        u.w_beat.next = (beat as u64).into();

        // The frame of the clock before was kept or dropped.
        bench.settle();
        let most = held.iter().max().copied().unwrap_or_default();
        if let Some(frame) = writer.ended.take() {
            if bench.uut.dropped.val() {
                dropped += 1;
                lengths[4] -= frame.words.len();
                assert!(
                    most + frame.words.len() + BACK > WORDS,
                    "clock {clock}: {} words dropped beside {most}",
                    frame.words.len()
                );
            } else {
                if kept.is_empty()
                    && let Some(met) = met[..6].get_mut((clock - left_at) as usize + 2)
                {
                    *met += 1;
                }
                let at_last = kept.len() == 1 && reader.taken + 1 == kept[0].words.len();
                if at_last && clock - reader.last_go > frame.words.len() as u64 + 2 {
                    met[6] += 1;
                }
                kept_at = clock;
                kept.push_back(frame);
            }
        } else {
            assert!(!bench.uut.dropped.val());
        }
        writer.ended = ended;
        // Two clocks late, and a word or frame is in the registers a clock after it moved.
        assert_eq!(
            bench.uut.is_long.val(),
            lengths[2] > limit,
            "clock {clock}: {lengths:?}, limit {limit}"
        );
        long += u64::from(bench.uut.is_long.val());

        // The reader.
        let (mut go, mut pop) = (false, false);
        assert!(
            !bench.uut.entry_valid.val() || kept.len() > usize::from(reader.taken > 0),
            "clock {clock}: an entry without a frame"
        );
        if bench.uut.entry_valid.val() && clock >= reader.popped + 2 {
            let oldest = &kept[usize::from(reader.taken > 0)];
            let kind = bench.uut.entry_kind.val();
            assert_eq!(kind, oldest.entry >> A & 3, "clock {clock}");
        }
        if reader.begin.is_none() && bench.uut.entry_valid.val() && clock >= reader.popped + 2 {
            let late = if dice.chance(stalls) {
                dice.below(20)
            } else {
                0
            };
            // Chosen while the frame before it still passes, if there is one.
            reader.begin = Some((clock + 2).max(reader.last_go + 1) + late);
        }
        let length = kept.front().map_or(0, |frame| frame.words.len());
        if reader.taken > 0 {
            go = reader.pause == 0 && !dice.chance(stalls) && takes.ready(0);
            reader.pause = reader.pause.saturating_sub(1);
        } else if reader.begin.is_some_and(|begin| begin <= clock) && takes.ready(0) {
            let frame = &kept[0];
            assert_eq!(bench.uut.entry.val(), frame.entry, "clock {clock}");
            (go, pop) = (true, true);
            (reader.begin, reader.popped) = (None, clock);
        }
        if go {
            let word = kept[0].words[reader.taken];
            assert_eq!(
                bench.uut.rd_data.val(),
                word,
                "clock {clock}, word {}",
                reader.taken
            );
            reader.taken += 1;
            reader.last_go = clock;
            if stalls > 0 && kept.len() == 1 && reader.taken + 1 == length && dice.chance(50) {
                reader.pause = dice.below(80);
            }
            if reader.taken == length {
                kept.pop_front();
                (reader.taken, left_at) = (0, clock);
                delivered += 1;
                if kept.len() == 1
                    && let Some(place) = (2 + kept_at).checked_sub(clock)
                {
                    met[place as usize] += 1;
                }
            }
        }
        let due = reader.taken > 0 || reader.begin.is_some_and(|begin| begin <= clock);
        let waits = due && !takes.ready(0);
        takes.observe(0, go || waits, go && reader.taken == 0);
        bench.uut.rd_go.next = go;
        bench.uut.entry_pop.next = pop;
        held.pop_front();
        let words = kept.iter().map(|frame| frame.words.len()).sum::<usize>();
        held.push_back(words - reader.taken + writer.ended.as_ref().map_or(0, |f| f.words.len()));
        lengths.pop_front();
        lengths.push_back(held[4]);
        bench.clock();
    }
    // At a stop of 300 clocks before each word, few frames go through.
    let least = if profile == Profile::Free {
        clocks / 100
    } else {
        1
    };
    assert!(delivered > least, "{delivered} frames, {profile}");
    assert!(dropped > 0 || stalls < 10, "no frame was dropped");
    assert!(long > 0 || limit > 8, "never longer than {limit} words");
    assert!(long < clocks);
    bench.replay_in_verilog();
    met
}

#[test]
fn a_crosspoint_keeps_whole_frames_whenever_words_come_and_go() {
    let mut sum = Meetings::default();
    for (seed, (gaps, stalls, longest)) in [
        (0, 0, 9),
        (40, 0, 12),
        (80, 0, 30),
        (20, 10, 30),
        (90, 5, 9),
        (5, 60, 40),
    ]
    .into_iter()
    .enumerate()
    {
        let pace = (gaps, stalls, longest);
        let met = frames_come_and_go(seed as u64, 6_000, pace, Profile::Free);
        for (sum, met) in sum.iter_mut().zip(met) {
            *sum += met;
        }
    }
    println!("whole 2 clocks before to 3 after the last word before it left: {sum:?}");
    assert!(sum.iter().all(|&met| met >= 5), "{sum:?}");
}

#[test]
fn a_crosspoint_holds_what_it_shows_under_every_profile_of_stalls() {
    for (seed, profile) in (100..).zip(PROFILES) {
        frames_come_and_go(seed, 8_000, (10, 0, 30), profile);
    }
}
