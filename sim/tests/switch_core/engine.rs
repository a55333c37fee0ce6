//! A stand-in for the engine of a port: sends what it gets upwards on as it came, and keeps a record. Of contributions that go together
//! it takes some, and watches the clocks of that.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Frame};
use tributary_protocol::red::{Op, Rc};
use tributary_sim::switch::core::{EngineWord, Operand};
use tributary_sim::testbench::Stalls;

/// Bits of word 7 that hold the result code.
const RC: u64 = 0x80_0700;
/// Most contributions that go with one.
const MOST: usize = 15;

/// It may go together with others.
pub fn is_brief(frame: &[u8]) -> bool {
    Frame::parse(frame, DEFAULT_ETHERTYPE).is_ok_and(|f| {
        let red = &f.red;
        let contributes = !red.arm && f.restricted.opcode == 0;
        contributes && red.rc < Rc::new(8) && red.op != Op::FltRepsum && f.data[1..] == [0; 3]
    })
}

/// A reduction frame as it came to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It goes down a tree.
    pub down: bool,
    /// In order of arrival: 6, 7, 8 to 11, 1 to 5.
    pub words: [u64; 11],
}

impl Stored {
    /// Wait count of the tree.
    pub fn wait(&self) -> u32 {
        (self.words[9] & 0xffff_ffff) as u32
    }

    /// VNI, tree, reduction id.
    pub fn place(&self) -> (u16, u16, u8) {
        let low = self.words[0];
        (
            (low >> 16) as u16,
            (low >> 3) as u16 & 0x1fff,
            low as u8 & 7,
        )
    }

    /// A frame of the same key and wait count.
    pub fn like(&self, bytes: &[u8]) -> Self {
        let mut padded = vec![0; 2];
        padded.extend(bytes);
        let word = |at: usize| u64::from_le_bytes(padded[8 * at..8 * at + 8].try_into().unwrap());
        let mut words: [u64; 11] =
            std::array::from_fn(|at| word(if at < 6 { at + 6 } else { at - 5 }));
        words[0] = words[0] >> 32 << 32 | self.words[0] & 0xffff_ffff;
        words[9] = words[9] >> 32 << 32 | self.words[9] & 0xffff_ffff;
        Self { words, ..*self }
    }

    /// Its words 6 and 7, without the result code.
    pub fn header(&self) -> [u64; 2] {
        [self.words[0], self.words[1] & !RC]
    }

    /// The input that it came by.
    pub fn source(&self) -> usize {
        self.bytes()[7].into()
    }

    /// Its result code.
    pub fn rc(&self) -> u8 {
        ((self.words[1] >> 8 & 7) << 1 | self.words[1] >> 23 & 1) as u8
    }

    /// The frame as it was received.
    pub fn bytes(&self) -> Vec<u8> {
        let (_, tree, reduction) = self.place();
        let address = 0xff80_0007 | u32::from(reduction) << 18 | u32::from(tree) << 3;
        let mut words = [0; 12];
        words[6..].copy_from_slice(&self.words[..6]);
        words[1..6].copy_from_slice(&self.words[6..]);
        words[6] &= 0xffff_ffff_0000_0000;
        words[4] = words[4] & 0xffff_ffff_0000_0000 | u64::from(address.swap_bytes());
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut frame = bytes[2..].to_vec();
        frame[..2].copy_from_slice(&[3, 0]);
        frame[2..6].copy_from_slice(&address.to_be_bytes());
        frame
    }
}

/// A frame that comes in.
#[derive(Clone, Debug, Default)]
struct Coming {
    words: Vec<u64>,
    down: bool,
}

/// A contribution that passes, and what goes with it.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Its own words are there, and so are all operands.
    first: Option<Stored>,
    operands: Vec<Operand>,
    complete: bool,
}

/// What has gone on about contributions that go together.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Groups taken, by the number of the others; offers refused.
    pub taken: [u64; MOST + 1],
    pub refused: u64,
    /// Groups taken of those that had been refused before.
    pub after_refusal: u64,
    /// Frames behind one with the same word 6 whose word 7 differs, and is the same, without an offer.
    pub differs: u64,
    pub alone: u64,
    /// Brief ones, others that go up, those that go down.
    pub brief: u64,
    pub full: u64,
    pub down: u64,
    /// Result codes that differ within a group.
    pub codes: u64,
}

#[derive(Clone, Debug)]
pub struct Echo {
    looks: Coming,
    out: VecDeque<(u64, bool)>,
    /// A word is offered and stays so.
    offered: bool,
    /// It says that it has no room, whatever it has.
    pub closed: bool,
    /// Frames that have come, in order.
    pub seen: Vec<Stored>,
    rng: SmallRng,
    /// Of a hundred offers, so many are taken.
    pub takes: u32,
    /// Others were offered with the frame that comes in; they are taken, which is said in clock 5.
    others: bool,
    saying: bool,
    group: Option<Group>,
    /// Clocks without room.
    hold: u32,
    /// Refused, and so first of all that come: words 6 and 7, how many at least.
    owed: Option<([u64; 2], usize)>,
    /// Clocks since the first word of the frame to look at.
    clock: usize,
    /// Clocks of the operands of the latest group.
    pub operand_clocks: Vec<usize>,
    last: Option<Stored>,
    pub tally: Tally,
}

impl Default for Echo {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Echo {
    pub fn new(seed: u64) -> Self {
        Self {
            looks: Coming::default(),
            out: VecDeque::new(),
            offered: false,
            closed: false,
            seen: vec![],
            rng: SmallRng::seed_from_u64(seed),
            takes: [60, 100, 0, 90, 30][(seed % 5) as usize],
            others: false,
            saying: false,
            group: None,
            hold: 0,
            owed: None,
            clock: usize::MAX,
            operand_clocks: vec![],
            last: None,
            tally: Tally::default(),
        }
    }

    pub fn offer(&mut self, pauses: &mut Stalls, port: usize) -> Option<(u64, bool)> {
        let word = self.out.front().copied();
        if !self.offered {
            let last = word.is_some_and(|(_, last)| last);
            pauses.observe(port, word.is_some(), last);
            self.offered = word.is_some() && pauses.ready(port);
        }
        word.filter(|_| self.offered)
    }

    pub fn taken(&mut self, taken: bool) {
        if taken {
            self.out.pop_front();
            self.offered = false;
        }
    }

    /// There is room for a frame.
    pub fn has_room(&self) -> bool {
        !self.closed && self.out.len() < 24 && self.group.is_none() && self.hold == 0
    }

    /// What was offered one clock ago is taken.
    pub fn says_take(&self) -> bool {
        self.saying
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// One clock: a word of a frame, whether others go with it, what one of them adds.
    pub fn looked(&mut self, word: Option<EngineWord>, others: bool, operand: Option<Operand>) {
        self.clock = self.clock.saturating_add(1);
        self.hold = self.hold.saturating_sub(1);
        if let Some(word) = word {
            if word.first {
                self.clock = 0;
                self.others = false;
                assert!(
                    self.group.is_none(),
                    "a frame begins before all operands of the one before it"
                );
            }
            assert_eq!(self.looks.words.len(), self.clock, "a word is missing");
            self.word(word);
        } else {
            assert!(
                self.looks.words.is_empty(),
                "no word in clock {}",
                self.clock
            );
        }
        self.saying = false;
        if others {
            assert_eq!(self.clock, 4, "others in this clock");
            assert!(!self.looks.down, "others of what does not go up");
            self.others = true;
            self.saying = self.rng.random_range(0..100) < self.takes;
            if self.saying {
                self.group = Some(Group::default());
                self.operand_clocks.clear();
            } else {
                self.tally.refused += 1;
            }
        }
        match (&mut self.group, operand) {
            (Some(group), Some(operand)) if !group.complete => {
                let expected = 7 + group.operands.len();
                assert_eq!(self.clock, expected, "an operand's clock");
                assert!(expected < 7 + MOST, "too many operands");
                self.operand_clocks.push(self.clock);
                group.operands.push(operand);
                group.complete = operand.last;
                if operand.last {
                    let count = group.operands.len();
                    assert!(count > 1, "one operand alone");
                    self.tally.taken[count] += 1;
                    // Now and then the next frame may come at once.
                    let most = [1, 4, 60][self.rng.random_range(0..3)];
                    self.hold = self.rng.random_range(0..most);
                }
            }
            (Some(group), None) if !group.complete => assert!(self.clock < 7, "no operand"),
            (_, None) => {}
            _ => panic!("an operand that was not asked for"),
        }
    }

    /// A group has come in: the first one and what the others add, in their order.
    pub fn group(&mut self) -> Option<(Stored, Vec<Operand>)> {
        let group = self.group.take_if(|g| g.complete && g.first.is_some())?;
        Some((group.first?, group.operands))
    }

    /// The frames of a group behind the first, sent as if they had come.
    pub fn join(&mut self, frame: Stored, rc_of_first: u8) {
        self.tally.codes += u64::from(frame.rc() != rc_of_first);
        self.seen.push(frame);
        self.send(frame);
    }

    /// A whole frame has come to be looked at.
    fn look(&mut self, frame: Stored) {
        let bytes = frame.bytes();
        let brief = !frame.down && is_brief(&bytes);
        assert!(brief || !self.others, "others of what is not brief");
        match (frame.down, brief) {
            (true, _) => self.tally.down += 1,
            (_, true) => self.tally.brief += 1,
            _ => self.tally.full += 1,
        }
        if let Some(last) = self
            .last
            .replace(frame)
            .filter(|l| l.words[0] == frame.words[0])
        {
            let same = last.header() == frame.header();
            *(if same {
                &mut self.tally.alone
            } else {
                &mut self.tally.differs
            }) += 1;
        }
        let joins = match &mut self.group {
            Some(group) => {
                group.first = Some(frame);
                group.operands.len()
            }
            None => 0,
        };
        // What was refused comes before all else that has not begun.
        if let Some((header, count)) = self.owed {
            assert!(
                brief && frame.words[0] == header[0],
                "what was refused does not come first"
            );
            if frame.header() == header {
                if joins > 0 {
                    self.tally.after_refusal += 1;
                }
                self.owed = count
                    .checked_sub(1 + joins)
                    .filter(|&c| c > 0)
                    .map(|c| (header, c));
            }
        }
        if self.others && self.group.is_none() && self.owed.is_none() {
            self.owed = Some((frame.header(), 2));
        }
    }

    fn send(&mut self, frame: Stored) {
        for (chunk, number) in frame.bytes().chunks(8).zip(1..) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.out.push_back((u64::from_le_bytes(word), number == 12));
        }
    }

    fn word(&mut self, word: EngineWord) {
        let coming = &mut self.looks;
        let at = coming.words.len();
        assert_eq!(word.first, at == 0, "first at word {at}");
        if word.first {
            coming.down = word.down;
        }
        assert_eq!(word.down, coming.down, "the way changes within a frame");
        coming.words.push(word.data);
        if let Ok(words) = <[u64; 11]>::try_from(coming.words.as_slice()) {
            coming.words.clear();
            let down = word.down;
            let stored = Stored { down, words };
            self.seen.push(stored);
            self.look(stored);
            if !down {
                self.send(stored);
            }
        }
    }
}
