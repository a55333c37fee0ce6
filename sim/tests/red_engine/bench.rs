//! The Verilated engine, word by word, beside the model.
//!
//! The model hears of a frame when the RTL reports its decision, and of a timeout when the RTL reports it, within the
//! time that the contract allows. A descriptor whose result waits to be sent is free in the model and in use in the
//! RTL: only then may the RTL refuse to arm.

use std::collections::{BTreeMap, VecDeque};

use tributary_hdl::catalog;
use tributary_protocol::red::{
    Down, Engine, EngineConfig, Frame, Key, Together, Up, engine::TIMEOUT_UNIT,
};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Clocks after a deadline within which a descriptor must be given up: the visit, the gap, frames under way, of which 16 that are
/// taken together keep the engine closed for 71.
const LATE: u64 = 120 + 71;

/// Codes of events.
pub const EVENTS: usize = 15;

/// The engine's Verilog.
pub fn sources() -> (String, Vec<(String, String)>) {
    let design = catalog::choose("red_engine", &[("T", 8)])
        .unwrap()
        .emit()
        .unwrap();
    let files = design.files();
    (design.top, files)
}

pub fn build(top: &str, files: &[(String, String)]) -> Verilated {
    let options = BuildOptions::new(top, files).with_checks();
    Verilated::build(&options).unwrap()
}

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    /// With the wait count of the table.
    Down(u32),
}

/// A frame for the engine.
#[derive(Clone, Debug)]
pub struct Item {
    pub way: Way,
    pub frame: Frame,
    /// Contributions that wait beside it and may be taken with it.
    pub others: Vec<Frame>,
}

/// What is taken together, until its own pass.
#[derive(Debug)]
struct Taken {
    /// Clock of the pass's decision.
    decided: u64,
    /// What leaves then.
    result: Option<Frame>,
}

/// Clocks from the first word of the first contribution to the pass of all of them, and of so many others.
///
/// Two of a level are given to the lane when the second is there, a last one alone; 11 clocks later it is one of the next level.
/// The second of the last two, or the last one if the descriptor has some already, is there in clock 2 of the pass.
fn pass_after(others: u64, empty: bool) -> u64 {
    // When the values of a level are there, the first of all long before.
    let mut there: Vec<u64> = (6..=6 + others).collect();
    let mut contributions = true;
    loop {
        match there[..] {
            [last] => return last - 2,
            [_, last] if empty => return last - 2,
            _ => {}
        }
        there = there
            .chunks(2)
            .map(|pair| match pair {
                [_, second] => second + 11,
                [alone] => alone + 11 + u64::from(contributions),
                _ => unreachable!(),
            })
            .collect();
        contributions = false;
    }
}

impl Item {
    /// The words as the input of a port stores them.
    fn words(&self, ethertype: u16) -> [u64; 11] {
        let bytes = self.frame.to_bytes(ethertype);
        let mut padded = [0xa5; 96];
        padded[2..].copy_from_slice(&bytes);
        let mut words: [u64; 12] = std::array::from_fn(|i| {
            u64::from_le_bytes(padded[8 * i..8 * i + 8].try_into().unwrap())
        });
        let key = key_of(&self.frame);
        let wait = if let Way::Down(wait) = self.way {
            wait
        } else {
            0
        };
        words[4] = words[4] >> 32 << 32 | u64::from(wait);
        words[6] = words[6] >> 32 << 32
            | u64::from(self.frame.fabric.vni) << 16
            | u64::from(key.tree) << 3
            | u64::from(key.reduction);
        std::array::from_fn(|i| words[if i < 6 { i + 6 } else { i - 5 }])
    }
}

pub fn key_of(frame: &Frame) -> Key {
    frame.fabric.dfa.multicast().unwrap()
}

/// A frame that was sent, and the clock of its first word.
#[derive(Clone, Debug)]
pub struct Sent {
    pub bytes: Vec<u8>,
    pub first: u64,
}

/// Ports of the engine.
struct Ports {
    s_valid: Port,
    s_data: Port,
    s_first: Port,
    s_down: Port,
    room: Port,
    m_valid: Port,
    m_ready: Port,
    m_data: Port,
    m_last: Port,
    tick: Port,
    ev_valid: Port,
    ev_code: Port,
    ev_index: Port,
    used: Port,
    others: Port,
    take: Port,
    o_valid: Port,
    o_data: Port,
    o_rc: Port,
    o_last: Port,
}

pub struct Bench {
    rtl: Model,
    ports: Ports,
    pub model: Engine,
    ethertype: u16,
    pub clock: u64,
    /// Words still to be given, whether they are first ones; whether their frame goes down.
    giving: VecDeque<(u64, bool, bool)>,
    /// Frames begun and not decided, with their first clock.
    begun: VecDeque<(u64, Item)>,
    /// Words of others that are taken, their result codes, from the clock in which the first one comes.
    coming: (u64, VecDeque<(u64, u64)>),
    /// What has been taken together and is not decided yet.
    taken: Option<Taken>,
    expected: VecDeque<Vec<u8>>,
    receiving: Sent,
    pub sent: Vec<Sent>,
    /// RTL descriptor -> key, for timeouts.
    owners: BTreeMap<u64, Key>,
    /// Events seen, by code.
    pub events: [u64; EVENTS],
    /// Contributions taken together, by how many, by whether their descriptor was empty; refused.
    pub together: [[u64; 2]; 17],
    pub apart: u64,
    /// Whether there was room in the last clocks.
    room: VecDeque<bool>,
    /// The first mismatch.
    pub trouble: Option<String>,
    /// Arms refused because a result waited.
    pub refused: u64,
    /// Frames that have gone in.
    pub frames: u64,
    /// Descriptors in use in the last clocks.
    used: [u64; 4],
    stalls: Stalls,
    /// The word that was shown and not taken.
    shown: Option<(u64, bool)>,
}

impl Bench {
    /// An engine whose frames have this Ethertype, and whose output stalls as it is said; see [`Bench::step`].
    pub fn new(library: &Verilated, config: EngineConfig, ethertype: u16, stalls: Stalls) -> Self {
        let mut rtl = library.model().unwrap();
        let port = |name: &str| rtl.port(name).unwrap();
        let ports = Ports {
            s_valid: port("s_valid"),
            s_data: port("s_data"),
            s_first: port("s_first"),
            s_down: port("s_down"),
            room: port("room"),
            m_valid: port("m_valid"),
            m_ready: port("m_ready"),
            m_data: port("m_data"),
            m_last: port("m_last"),
            tick: port("tick"),
            ev_valid: port("ev_valid"),
            ev_code: port("ev_code"),
            ev_index: port("ev_index"),
            used: port("used"),
            others: port("others"),
            take: port("take"),
            o_valid: port("o_valid"),
            o_data: port("o_data"),
            o_rc: port("o_rc"),
            o_last: port("o_last"),
        };
        let settings = [
            ("cfg_enable", 1),
            ("cfg_ieee_nan", u64::from(config.mode.ieee_nan)),
            ("cfg_address", config.address.0.into()),
            ("cfg_ethertype", ethertype.into()),
            ("cfg_threshold_1", config.thresholds[0].into()),
            ("cfg_threshold_2", config.thresholds[1].into()),
            ("cfg_threshold_3", config.thresholds[2].into()),
            ("cfg_timeout_0", config.timeouts[0].into()),
            ("cfg_timeout_1", config.timeouts[1].into()),
            ("cfg_timeout_2", config.timeouts[2].into()),
            ("cfg_timeout_3", config.timeouts[3].into()),
        ];
        for (name, value) in settings {
            let port = rtl.port(name).unwrap();
            rtl.set(port, value);
        }
        rtl.set(ports.s_valid, 0);
        rtl.set(ports.others, 0);
        rtl.set(ports.o_valid, 0);
        rtl.set(ports.m_ready, 1);
        rtl.set(ports.tick, 0);
        rtl.reset(4).unwrap();
        Self {
            rtl,
            ports,
            model: Engine::new(config).unwrap(),
            ethertype,
            clock: 0,
            giving: VecDeque::new(),
            begun: VecDeque::new(),
            coming: (0, VecDeque::new()),
            taken: None,
            expected: VecDeque::new(),
            receiving: Sent {
                bytes: vec![],
                first: 0,
            },
            sent: vec![],
            owners: BTreeMap::new(),
            events: [0; EVENTS],
            together: [[0; 2]; 17],
            apart: 0,
            room: VecDeque::from([true; 5]),
            trouble: None,
            refused: 0,
            frames: 0,
            used: [0; 4],
            stalls,
            shown: None,
        }
    }

    /// A frame can begin in this clock.
    pub fn ready(&self) -> bool {
        self.giving.is_empty() && self.room.front() == Some(&true)
    }

    /// Begins a frame in this clock.
    pub fn begin(&mut self, item: Item) {
        let words = item.words(self.ethertype).into_iter().zip(0..);
        self.frames += 1;
        assert!(self.giving.is_empty());
        let down = matches!(item.way, Way::Down(_));
        self.giving
            .extend(words.map(|(word, i)| (word, i == 0, down)));
        self.begun.push_back((self.clock, item));
    }

    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.giving.is_empty()
            && self.begun.is_empty()
            && self.taken.is_none()
            && self.expected.is_empty()
            && self.receiving.bytes.is_empty()
    }

    fn fail(&mut self, what: String) {
        let clock = self.clock;
        self.trouble.get_or_insert(format!("clock {clock}: {what}"));
    }

    /// One clock.
    pub fn step(&mut self) {
        self.stalls.clock();
        let m_ready = self.stalls.ready(0);
        let p = &self.ports;
        let word = self.giving.pop_front();
        self.rtl.set(p.s_valid, word.is_some().into());
        if let Some((data, first, down)) = word {
            self.rtl.set(p.s_data, data);
            self.rtl.set(p.s_first, first.into());
            self.rtl.set(p.s_down, down.into());
        }
        let others = self
            .begun
            .front()
            .is_some_and(|(begun, item)| begun + 4 == self.clock && item.others.len() > 1);
        self.rtl.set(p.others, others.into());
        let due = self.clock >= self.coming.0;
        let other = due.then(|| self.coming.1.pop_front()).flatten();
        self.rtl.set(p.o_valid, other.is_some().into());
        if let Some((data, rc)) = other {
            self.rtl.set(p.o_data, data);
            self.rtl.set(p.o_rc, rc);
            self.rtl.set(p.o_last, self.coming.1.is_empty().into());
        }
        self.rtl.set(p.m_ready, m_ready.into());
        self.rtl
            .set(p.tick, (self.clock.is_multiple_of(TIMEOUT_UNIT)).into());
        self.rtl.eval().unwrap();
        let event = self
            .rtl
            .is_set(p.ev_valid)
            .then(|| (self.rtl.get(p.ev_code), self.rtl.get(p.ev_index)));
        // The decision goes by what was in use up to three clocks before.
        self.used.rotate_left(1);
        self.used[3] = self.rtl.get(p.used);
        let full = self.used.contains(&0xff);
        let shown = self
            .rtl
            .is_set(p.m_valid)
            .then(|| (self.rtl.get(p.m_data), self.rtl.is_set(p.m_last)));
        let out = shown.filter(|_| m_ready);
        let last = shown.is_some_and(|(_, last)| last);
        self.stalls.observe(0, shown.is_some(), last);
        self.room.pop_front();
        self.room.push_back(self.rtl.is_set(p.room));
        let take = self.rtl.is_set(p.take);
        if take && event.is_none() {
            self.fail("taken together without an event".to_owned());
        }
        if let Some((code, index)) = event {
            match self.events.get_mut(code as usize) {
                Some(count) => *count += 1,
                None => self.fail(format!("event {code}")),
            }
            if self.taken.is_some() && code == 8 {
                let more = other.is_some() && !self.coming.1.is_empty();
                self.one_of_many(more);
            } else {
                self.event(code, index, full, take);
            }
        } else if self
            .taken
            .as_ref()
            .is_some_and(|taken| taken.decided <= self.clock)
        {
            self.fail("no event of what was taken together".to_owned());
        }
        if self.shown.is_some() && self.shown != shown {
            self.fail("a word changed that was not taken".to_owned());
        }
        self.shown = shown.filter(|_| !m_ready);
        if let Some((data, last)) = out {
            self.receive(data, last);
        }
        self.rtl.clock().unwrap();
        self.clock += 1;
    }

    fn receive(&mut self, data: u64, last: bool) {
        if self.receiving.bytes.is_empty() {
            self.receiving.first = self.clock;
        }
        let bytes = data.to_le_bytes();
        let count = if last { 6 } else { 8 };
        self.receiving.bytes.extend_from_slice(&bytes[..count]);
        if !last {
            return;
        }
        let frame = std::mem::replace(
            &mut self.receiving,
            Sent {
                bytes: vec![],
                first: 0,
            },
        );
        match self.expected.pop_front() {
            Some(bytes) if bytes == frame.bytes => {}
            Some(bytes) => self.fail(format!(
                "frame sent\n {:02x?}\nexpected\n {bytes:02x?}\n{:?}\n{:?}",
                frame.bytes,
                Frame::parse(&frame.bytes, self.ethertype),
                Frame::parse(&bytes, self.ethertype)
            )),
            None => self.fail(format!("a frame nobody expects: {:02x?}", frame.bytes)),
        }
        self.sent.push(frame);
    }

    /// One of the frames that are taken together is combined: one of the others, or the last one with all of them.
    fn one_of_many(&mut self, more: bool) {
        if more {
            return;
        }
        let clock = self.clock;
        match self.taken.take_if(|taken| taken.decided == clock) {
            Some(taken) => {
                let result = taken.result.map(|frame| frame.to_bytes(self.ethertype));
                self.expected.extend(result.map(Vec::from));
            }
            None => self.fail(format!("combined at a wrong time: {:?}", self.taken)),
        }
    }

    fn event(&mut self, code: u64, index: u64, full: bool, take: bool) {
        match code {
            9 | 12 | 13 => return, // beside another event
            10 | 11 => return self.expire(code, index),
            _ => {}
        }
        let Some((begun, item)) = self.begun.pop_front() else {
            return self.fail(format!("event {code} without a frame"));
        };
        if self.clock != begun + 5 {
            self.fail(format!(
                "decision {} clocks after the first word",
                self.clock - begun
            ));
        }
        let key = key_of(&item.frame);
        let mut together = vec![item.frame];
        together.extend_from_slice(&item.others);
        let taken = self.model.up_together(&together);
        if take != taken.is_some() {
            self.fail(format!("taken together: {take}, the model: {taken:?}"));
        }
        if let Some(Together { up, was_empty }) = taken {
            self.together[together.len()][usize::from(was_empty)] += 1;
            self.taken = Some(Taken {
                decided: begun + pass_after(item.others.len() as u64, was_empty) + 5,
                result: match up {
                    Up::Result(frame) => Some(frame),
                    _ => None,
                },
            });
            let word = |frame: &Frame| (frame.data[0].swap_bytes(), frame.red.rc.code().into());
            self.coming = (begun + 7, item.others.iter().map(word).collect());
            if code != 8 {
                self.fail(format!("event {code} of frames taken together"));
            }
            return;
        }
        self.apart += u64::from(item.others.len() > 1);
        let name = match item.way {
            Way::Up => match self.model.up(&item.frame) {
                Up::Pass => {
                    self.expected
                        .push_back(item.frame.to_bytes(self.ethertype).to_vec());
                    7
                }
                Up::Drop(why) => dropped(why),
                Up::Absorbed => 8,
                Up::Result(frame) => {
                    self.expected
                        .push_back(frame.to_bytes(self.ethertype).to_vec());
                    8
                }
            },
            Way::Down(wait) => {
                let again = self.find(key).is_some();
                if code == 3 && !again && item.frame.red.arm {
                    // A result that waits keeps its descriptor.
                    if !full {
                        self.fail("refused to arm with a free descriptor".to_owned());
                    }
                    if self.model.in_use() < 8 {
                        self.refused += 1;
                        return;
                    }
                }
                match self.model.down(&item.frame, wait, begun + 12) {
                    Down::Armed(_) => {
                        self.owners.insert(index, key);
                        u64::from(again)
                    }
                    Down::Released(_) => 2,
                    Down::Ignored(why) => dropped(why),
                    Down::Nothing => 14,
                }
            }
        };
        if name != code {
            self.fail(format!("event {code}, expected {name}, for {item:?}"));
        }
    }

    fn find(&self, key: Key) -> Option<usize> {
        let mut all = self.model.descriptors().iter();
        all.position(|d| d.is_some_and(|d| d.key == key))
    }

    fn expire(&mut self, code: u64, index: u64) {
        let key = self.owners.get(&index).copied();
        let Some(found) = key.and_then(|key| self.find(key)) else {
            return self.fail(format!("descriptor {index} expires, which is free"));
        };
        let deadline = self.model.descriptors()[found].unwrap().deadline();
        if self.clock < deadline || self.clock > deadline + LATE {
            self.fail(format!("given up at {}, deadline {deadline}", self.clock));
        }
        match (code, self.model.expire_descriptor(found)) {
            (10, Some(frame)) => self
                .expected
                .push_back(frame.to_bytes(self.ethertype).to_vec()),
            (11, None) => {}
            (code, frame) => self.fail(format!("event {code}, model has {frame:?}")),
        }
    }

    /// Runs without input until nothing is under way and every descriptor is free.
    pub fn drain(&mut self, clocks: u64) {
        self.stalls.set(Profile::Free);
        for _ in 0..clocks {
            self.step();
            let used = self.rtl.get(self.ports.used);
            let room = self.room.iter().all(|room| *room);
            if self.idle() && self.model.in_use() == 0 && used == 0 && room {
                return;
            }
        }
        let used = self.rtl.get(self.ports.used);
        self.fail(format!(
            "after {clocks} clocks: descriptors {used:#x} in use, {} in the model, {} frames missing, room {:?}",
            self.model.in_use(),
            self.expected.len(),
            self.room
        ));
    }

    /// Overdue descriptors must not exist.
    pub fn check_deadlines(&mut self) {
        if let Some(deadline) = self.model.next_deadline()
            && self.clock > deadline + LATE
        {
            self.fail(format!("a descriptor outlives its deadline {deadline}"));
        }
    }

    /// A reset of one clock: nothing of before is left.
    pub fn reset(&mut self) {
        self.rtl.set(self.ports.s_valid, 0);
        self.rtl.set(self.ports.others, 0);
        self.rtl.set(self.ports.o_valid, 0);
        self.rtl.set(self.ports.tick, 0);
        self.rtl.reset(1).unwrap();
        self.model = Engine::new(*self.model.config()).unwrap();
        self.giving.clear();
        self.begun.clear();
        self.coming.1.clear();
        self.taken = None;
        self.expected.clear();
        self.receiving.bytes.clear();
        self.owners.clear();
        self.room = VecDeque::from([true; 5]);
        self.used = [0; 4];
        self.shown = None;
    }
}

fn dropped(why: tributary_protocol::red::Counter) -> u64 {
    use tributary_protocol::red::Counter;
    match why {
        Counter::NoDescriptor => 3,
        Counter::ForeignVni => 4,
        Counter::OldSeqno => 5,
        Counter::ArmUpwards => 6,
        other => panic!("the engine does not count {other}"),
    }
}
