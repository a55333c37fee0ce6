//! A Verilated end of the link beside its model: each frame, unit and verdict is compared in the clock in which it happens.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use tributary_hdl::catalog;
use tributary_protocol::tlp_link::wire::{Frame, Kind};
use tributary_protocol::tlp_link::{Config, Event, Link, Unit};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// MAC addresses of both ends.
pub const MINE: u64 = 0x0200_0000_0001;
pub const YOURS: u64 = 0x0200_0000_0002;

const PORTS: &[&str] = &[
    "rst",
    "s_axis_rx_tvalid",
    "s_axis_rx_tready",
    "s_axis_rx_tdata",
    "s_axis_rx_tkeep",
    "s_axis_rx_tlast",
    "s_axis_rx_tuser",
    "m_axis_tx_tvalid",
    "m_axis_tx_tready",
    "m_axis_tx_tdata",
    "m_axis_tx_tkeep",
    "m_axis_tx_tlast",
    "s_unit_valid",
    "s_unit_ready",
    "s_unit_data",
    "s_unit_settings",
    "s_unit_words",
    "m_unit_valid",
    "m_unit_ready",
    "m_unit_data",
    "m_unit_settings",
    "m_unit_last",
    "cfg_life",
    "cfg_timeout",
    "cfg_source",
    "cfg_destination",
    "session",
    "acked_units",
    "stat_rx_frame",
    "stat_overrun",
    "stat_lost",
    "stat_refused",
];

/// An end with room for so many words that came, words and units to be sent again.
pub fn build(sizes: [usize; 3], edit: impl Fn(&str, String) -> String) -> Verilated {
    let [b, r, u] = sizes;
    let design = catalog::choose("tlp_link", &[("B", b), ("R", r), ("U", u)]);
    let design = design.unwrap().emit().unwrap();
    let files = design.files();
    let files = files.into_iter().map(|(name, text)| {
        let text = edit(&name, text);
        (name, text)
    });
    let files: Vec<(String, String)> = files.collect();
    Verilated::build(&BuildOptions::new(&design.top, &files).with_checks()).unwrap()
}

thread_local! {
    /// The deliberate error of the blocks of this thread.
    pub static WRONG: Cell<u64> = const { Cell::new(0) };
}

/// Words of a frame: data, bytes that are there, last, bad.
type Word = (u64, u64, bool, bool);

fn words(bytes: &[u8], bad: bool) -> VecDeque<Word> {
    let count = bytes.len().div_ceil(8);
    let word = |(at, part): (usize, &[u8])| {
        let mut data = [0; 8];
        data[..part.len()].copy_from_slice(part);
        let last = at + 1 == count;
        let keep = 0xff >> (8 - part.len());
        (u64::from_le_bytes(data), keep, last, last && bad)
    };
    bytes.chunks(8).enumerate().map(word).collect()
}

pub struct Bench {
    model: Model,
    ports: HashMap<&'static str, Port>,
    pub link: Link,
    config: Config,
    pub now: u64,
    /// Outputs: frames, units. Inputs: words of frames, words of units.
    takes: Stalls,
    gives: Stalls,
    /// Frames that come: bytes, and whether their FCS is wrong.
    pub line: VecDeque<(Vec<u8>, bool)>,
    coming: VecDeque<Word>,
    came: Vec<u8>,
    /// Frames that take effect, and when.
    verdicts: VecDeque<(u64, Frame)>,
    /// What is being sent, and what of it has left.
    sending: VecDeque<Word>,
    sent: Vec<u8>,
    /// Frames that have left.
    pub left: Vec<Vec<u8>>,
    /// The unit that is being given, and how much of it was taken; the one that comes out.
    pub offer: Option<Unit>,
    offered: usize,
    offers: bool,
    out: Vec<u8>,
    /// Units that were given and have come out in this session.
    pub given: u64,
    pub got: Vec<Unit>,
    pub lost: u64,
    lost_before: bool,
    overruns_before: u64,
    pub overruns: u64,
    fresh: bool,
    /// Units leave only while no frame is coming.
    pub careful: bool,
    pub refused: u64,
    /// Clocks in which a unit waited although the model would take it, and nothing was being sent.
    waits: u32,
    /// Units that were given and that came out, in all sessions.
    pub passed: u64,
}

impl Bench {
    pub fn new(library: &Verilated, config: Config, life: u32, seed: u64) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        let ports = PORTS.iter().map(|&name| (name, model.port(name).unwrap()));
        let ports = ports.collect();
        if let Ok(wrong) = model.port("wrong") {
            model.set(wrong, WRONG.get());
        }
        let mut bench = Self {
            model,
            ports,
            link: Link::new(config, life),
            config,
            now: 0,
            takes: Stalls::of_seed(seed, 2),
            gives: Stalls::of_seed(seed / 3, 2).stream(1),
            line: VecDeque::new(),
            coming: VecDeque::new(),
            came: vec![],
            verdicts: VecDeque::new(),
            sending: VecDeque::new(),
            sent: vec![],
            left: vec![],
            offer: None,
            offered: 0,
            offers: false,
            out: vec![],
            given: 0,
            got: vec![],
            lost: 0,
            lost_before: false,
            overruns_before: 0,
            overruns: 0,
            fresh: true,
            careful: false,
            refused: 0,
            waits: 0,
            passed: 0,
        };
        bench.reset(life);
        bench
    }

    pub fn free(mut self) -> Self {
        self.takes.set(Profile::Free);
        self.gives.set(Profile::Free);
        self
    }

    /// A new life. What was under way inside is gone.
    pub fn reset(&mut self, life: u32) {
        for (name, value) in [
            ("cfg_life", u64::from(life)),
            ("cfg_timeout", self.config.timeout),
            ("cfg_source", MINE),
            ("cfg_destination", YOURS),
            ("s_axis_rx_tvalid", 0),
            ("s_unit_valid", 0),
        ] {
            self.set(name, value);
        }
        self.model.reset(2).unwrap();
        self.link = Link::new(self.config, life);
        self.coming.clear();
        self.came.clear();
        self.verdicts.clear();
        self.sending.clear();
        self.sent.clear();
        self.lost_before = false;
        self.overruns_before = 0;
        self.fresh = true;
        self.forget();
    }

    /// The session is over: users begin from nothing.
    fn forget(&mut self) {
        self.offer = None;
        self.offered = 0;
        self.offers = false;
        self.out.clear();
        self.given = 0;
        self.got.clear();
    }

    fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.ports[name])
    }

    fn drive(&mut self) -> bool {
        self.takes.clock();
        self.gives.clock();
        if self.coming.is_empty()
            && let Some((bytes, bad)) = self.line.pop_front()
        {
            self.coming = words(&bytes, bad);
        }
        // A word waits for nobody, but words may have gaps.
        let comes = !self.coming.is_empty() && self.gives.ready(0);
        self.gives
            .observe(0, !self.coming.is_empty(), self.coming.len() == 1);
        let word = self.coming.front().copied().unwrap_or_default();
        self.set("s_axis_rx_tvalid", comes.into());
        self.set("s_axis_rx_tdata", word.0);
        self.set("s_axis_rx_tkeep", word.1);
        self.set("s_axis_rx_tlast", word.2.into());
        self.set("s_axis_rx_tuser", word.3.into());
        self.offers = self.offer.is_some() && (self.offers || self.gives.ready(1));
        self.gives.observe(1, self.offer.is_some(), true);
        self.set("s_unit_valid", self.offers.into());
        if let Some((kind, bytes)) = &self.offer {
            let at = 8 * self.offered;
            let word = bytes
                .get(at..at + 8)
                .map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap()));
            let (settings, count) = (*kind == Kind::Settings, bytes.len() as u64 / 8);
            self.set("s_unit_data", word);
            self.set("s_unit_settings", settings.into());
            self.set("s_unit_words", count);
        }
        let busy = self.careful && !(self.coming.is_empty() && self.verdicts.is_empty());
        let ready = self.takes.ready(0);
        self.set("m_axis_tx_tready", ready.into());
        let ready = self.takes.ready(1) && !busy;
        self.set("m_unit_ready", ready.into());
        comes
    }

    /// One clock; what differs from the model.
    pub fn clock(&mut self) -> Result<(), String> {
        let comes = self.drive();
        self.model.eval().unwrap();
        let session = self.link.session().is_some();
        self.same("session", session.into())?;
        self.same("acked_units", self.link.acked_units().into())?;
        self.same("s_axis_rx_tready", 1)?;
        self.same("stat_lost", self.lost_before.into())?;
        let over = self.link.overruns() - self.overruns_before;
        self.same("stat_overrun", over)?;
        self.overruns_before = self.link.overruns();
        self.overruns += over;
        self.lost_before = false;

        // A frame takes effect, or the next one is looked for.
        let verdict = self
            .verdicts
            .front()
            .is_some_and(|(when, _)| *when == self.now);
        self.same("stat_rx_frame", verdict.into())?;
        let sends = !self.sending.is_empty();
        self.same("m_axis_tx_tvalid", sends.into())?;
        self.takes.observe(0, sends, self.sending.len() == 1);
        let mut next = VecDeque::new();
        if verdict {
            let (_, frame) = self.verdicts.pop_front().unwrap();
            if self.link.receive(&frame, self.now) == Some(Event::Lost) {
                self.lost_before = true;
                self.lost += 1;
            }
            if self.lost_before {
                self.overruns_before = 0;
            }
        } else if !sends
            && !self.fresh
            && let Some(frame) = self.link.poll(self.now)
        {
            next = words(&frame.emit(YOURS, MINE), false);
        }
        if let Some(&(data, keep, last, _)) = self.sending.front() {
            self.same("m_axis_tx_tdata", data)?;
            self.same("m_axis_tx_tkeep", keep)?;
            self.same("m_axis_tx_tlast", last.into())?;
            if self.get("m_axis_tx_tready") == 1 {
                self.sending.pop_front();
                self.sent.extend(data.to_le_bytes());
                if last {
                    self.left.push(std::mem::take(&mut self.sent));
                }
            }
        }
        if !next.is_empty() {
            self.sending = next;
        }
        self.fresh = false;
        self.offered_word()?;
        self.unit_word()?;
        if comes {
            let (data, keep, last, bad) = self.coming.pop_front().unwrap();
            let count = keep.count_ones() as usize;
            self.came.extend(&data.to_le_bytes()[..count]);
            if last {
                let bytes = std::mem::take(&mut self.came);
                if let Ok(frame) = Frame::parse(&bytes)
                    && !bad
                {
                    self.verdicts.push_back((self.now + 2, frame));
                }
            }
        }
        if self.lost_before {
            self.forget();
        }
        self.model.clock().unwrap();
        self.now += 1;
        Ok(())
    }

    fn offered_word(&mut self) -> Result<(), String> {
        let taken = self.offers && self.get("s_unit_ready") == 1 && !self.lost_before;
        let Some((_, bytes)) = &self.offer else {
            return self.same("stat_refused", 0);
        };
        let count = bytes.len() / 8;
        let wrong = count == 0 || count > 1121.min(self.config.replay.into());
        self.same("stat_refused", (taken && wrong).into())?;
        if !taken {
            return self.waiting();
        }
        self.waits = 0;
        self.offers = false;
        self.offered += 1;
        if wrong {
            self.refused += 1;
            self.offer = None;
            self.offered = 0;
        } else if self.offered == count {
            let unit = self.offer.take().unwrap();
            self.offered = 0;
            self.given += 1;
            self.passed += 1;
            let given = self.link.offer(unit);
            given.map_err(|refused| format!("a unit of {count} words was taken: {refused}"))?;
        }
        Ok(())
    }

    /// A unit that the model would take is taken within few clocks.
    fn waiting(&mut self) -> Result<(), String> {
        if self.offered > 0 || !self.offers || !self.sending.is_empty() {
            return Ok(());
        }
        let unit = self.offer.clone().unwrap_or((Kind::Tlp, vec![]));
        self.waits = match self.link.clone().offer(unit) {
            Ok(()) => self.waits + 1,
            Err(_) => 0,
        };
        if self.waits > 8 {
            return Err(format!("clock {}: a unit is not taken", self.now));
        }
        Ok(())
    }

    fn unit_word(&mut self) -> Result<(), String> {
        let valid = self.get("m_unit_valid") == 1;
        self.takes.observe(1, valid, self.get("m_unit_last") == 1);
        if !valid || self.get("m_unit_ready") == 0 || self.lost_before {
            return Ok(());
        }
        let data = self.get("m_unit_data");
        self.out.extend(data.to_le_bytes());
        if self.get("m_unit_last") == 1 {
            let kind = match self.get("m_unit_settings") {
                1 => Kind::Settings,
                _ => Kind::Tlp,
            };
            let unit = (kind, std::mem::take(&mut self.out));
            let right = self.link.take();
            if right.as_ref() != Some(&unit) {
                return Err(format!("clock {}: {unit:?}, not {right:?}", self.now));
            }
            self.got.push(unit);
            self.passed += 1;
        }
        Ok(())
    }

    fn same(&self, name: &str, right: u64) -> Result<(), String> {
        let got = self.get(name);
        if got == right {
            return Ok(());
        }
        Err(format!(
            "clock {}: {name} {got:#x}, not {right:#x}",
            self.now
        ))
    }
}
