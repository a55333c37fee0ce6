//! Verilated `tlp_units` between an end of the link and a card that the bench plays.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use tributary_hdl::catalog;
use tributary_protocol::tlp_link::unit::is_completion;
use tributary_protocol::tlp_link::wire::Kind;
use tributary_protocol::tlp_link::{Content, Settings, Unit};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

use crate::card::{Card, Offered};

/// Clocks without an offer of the card behind a reset.
const CALM: u32 = 64;

/// What the link and the configuration are made of; the streams of TLPs are in `card`.
const PORTS: &[&str] = &[
    "session",
    "s_unit_valid",
    "s_unit_ready",
    "s_unit_data",
    "s_unit_settings",
    "s_unit_last",
    "m_unit_valid",
    "m_unit_ready",
    "m_unit_data",
    "m_unit_settings",
    "m_unit_words",
    "s_acked",
    "m_axis_wr_req_tx_seq_num",
    "m_axis_wr_req_tx_seq_num_valid",
    "m_flr",
    "m_function_id",
    "m_max_payload_size",
    "m_max_read_request_size",
    "m_bus_master_enable",
    "m_msix_enable",
    "m_msix_mask",
    "stat_malformed",
];

thread_local! {
    /// The deliberate error of the blocks of this thread.
    pub static WRONG: Cell<u64> = const { Cell::new(0) };
}

/// The block for units of so many words.
pub fn build(words: usize, edit: impl Fn(&str, String) -> String) -> Verilated {
    let design = catalog::choose("tlp_units", &[("D", words)]).unwrap();
    let design = design.emit().unwrap();
    let files = design.files().into_iter().map(|(name, text)| {
        let text = edit(&name, text);
        (name, text)
    });
    let files: Vec<(String, String)> = files.collect();
    Verilated::build(&BuildOptions::new(&design.top, &files).with_checks()).unwrap()
}

/// What the block does with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Up,
    Lost,
    Calms(u32),
}

pub struct Bench {
    model: Model,
    ports: HashMap<&'static str, Port>,
    words: usize,
    pub card: Card,
    /// Of the link: units to the block, units from it, acknowledgements.
    stalls: Stalls,
    state: State,
    pub session: bool,
    pub now: u64,
    /// Units for the board: the one under way, and how many of its words were taken.
    pub units: VecDeque<Unit>,
    given: usize,
    offers: bool,
    /// What the card has to see of them, in this order.
    expected: VecDeque<Content>,
    malformed: u64,
    counted: u64,
    settings: Settings,
    /// Of the unit that comes out: bytes, words that it should have.
    out: Vec<u8>,
    out_words: usize,
    /// Units that were given in this session, and those of them that the other end has acknowledged.
    left: u16,
    acked: u16,
    /// Writes that are not among these: unit, sequence number. The oldest of them, and how far the acknowledgements were
    /// ahead of it in the clock before. The one that returns.
    unacked: VecDeque<(u16, u64)>,
    oldest: Option<(u16, u64)>,
    ahead: Option<i16>,
    returns: Option<u64>,
    /// Units that were delivered to the card and to the link.
    pub passed: u64,
    pub losses: u64,
}

impl Bench {
    pub fn new(library: &Verilated, words: usize, seed: u64) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        if let Ok(wrong) = model.port("wrong") {
            model.set(wrong, WRONG.get());
        }
        let ports = PORTS.iter().map(|&name| (name, model.port(name).unwrap()));
        let ports: HashMap<_, _> = ports.collect();
        model.set(ports["session"], 0);
        model.set(ports["s_unit_valid"], 0);
        let mut card = Card::new(&model, seed);
        card.silent(&mut model);
        model.reset(2).unwrap();
        Self {
            card,
            model,
            ports,
            words,
            stalls: Stalls::of_seed(seed, 3),
            state: State::Idle,
            session: false,
            now: 0,
            units: VecDeque::new(),
            given: 0,
            offers: false,
            expected: VecDeque::new(),
            malformed: 0,
            counted: 0,
            settings: Settings::default(),
            out: vec![],
            out_words: 0,
            left: 0,
            acked: 0,
            unacked: VecDeque::new(),
            oldest: None,
            ahead: None,
            returns: None,
            passed: 0,
            losses: 0,
        }
    }

    /// Without stalls.
    pub fn free(mut self) -> Self {
        self.stalls.set(Profile::Free);
        self.card.free();
        self
    }

    fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.ports[name])
    }

    fn same(&self, name: &str, right: u64) -> Result<(), String> {
        let got = self.get(name);
        if got == right {
            return Ok(());
        }
        Err(format!("{name} {got:#x}, not {right:#x}"))
    }

    /// One clock; what is wrong.
    pub fn clock(&mut self) -> Result<(), String> {
        self.try_clock()
            .map_err(|error| format!("clock {}: {error}", self.now))
    }

    fn try_clock(&mut self) -> Result<(), String> {
        self.stalls.clock();
        self.set("session", self.session.into());
        let some = self.session && !self.units.is_empty();
        self.offers = some && (self.offers || self.stalls.ready(0));
        self.set("s_unit_valid", self.offers.into());
        let mut last = false;
        if let Some((kind, bytes)) = self.units.front() {
            let word = bytes[8 * self.given..].first_chunk().unwrap();
            last = self.given + 1 == bytes.len() / 8;
            let (word, settings) = (u64::from_le_bytes(*word), *kind == Kind::Settings);
            self.set("s_unit_data", word);
            self.set("s_unit_settings", settings.into());
            self.set("s_unit_last", last.into());
        }
        self.stalls.observe(0, some, last);
        let ready = self.stalls.ready(1);
        self.set("m_unit_ready", ready.into());
        // One more, or all.
        let some = self.acked != self.left;
        if some && self.stalls.ready(2) {
            self.acked = match self.now % 2 {
                0 => self.left,
                _ => self.acked.wrapping_add(1),
            };
        }
        self.stalls.observe(2, some, true);
        self.set("s_acked", self.acked.into());
        self.card.drive(&mut self.model, self.now);
        self.model.eval().map_err(|error| error.to_string())?;

        let up = self.state == State::Up && self.session;
        self.settings_now(up)?;
        self.malformed_now()?;
        if !up {
            self.same("s_unit_ready", 0)?;
            self.same("m_unit_valid", 0)?;
        }
        self.unit_word(last)?;
        let some = self.card.some();
        self.tlp_word()?;
        self.out_word(up)?;
        self.next_state(some);
        self.model.clock().map_err(|error| error.to_string())?;
        self.now += 1;
        Ok(())
    }

    /// A word of a unit for the board may be taken.
    fn unit_word(&mut self, last: bool) -> Result<(), String> {
        if !self.offers || self.get("s_unit_ready") == 0 {
            return Ok(());
        }
        self.offers = false;
        self.given += 1;
        if last {
            self.given = 0;
            let unit = self.units.pop_front().unwrap();
            match Content::parse(&unit) {
                Ok(content) if unit.1.len() <= 8 * self.words => self.expected.push_back(content),
                _ => self.malformed += 1,
            }
        }
        Ok(())
    }

    /// The card sees what came, in its order.
    fn tlp_word(&mut self) -> Result<(), String> {
        let Some((completes, tlp)) = self.card.heard(&self.model)? else {
            return Ok(());
        };
        // Settings that change nothing are not seen.
        while let Some(Content::Settings(settings)) = self.expected.front() {
            if *settings != self.settings || settings.function_reset {
                return Err(format!("{settings:?} was passed over"));
            }
            self.expected.pop_front();
        }
        let right = self.expected.pop_front();
        if let Some(Content::Tlp { header, .. }) = &right
            && is_completion(header) != completes
        {
            return Err(format!("{header:x?} at the wrong stream"));
        }
        if right.as_ref() != Some(&tlp) {
            return Err(format!("{tlp:x?}, not {right:x?}"));
        }
        self.passed += 1;
        Ok(())
    }

    /// Settings change where their turn has come, and a session that is lost resets the function.
    fn settings_now(&mut self, up: bool) -> Result<(), String> {
        let flag = |name| self.get(name) == 1;
        let now = Settings {
            function_id: self.get("m_function_id") as u16,
            bus_master: flag("m_bus_master_enable"),
            msix_enable: flag("m_msix_enable"),
            msix_mask: flag("m_msix_mask"),
            function_reset: flag("m_flr"),
            max_payload: 128 << self.get("m_max_payload_size"),
            max_read: 128 << self.get("m_max_read_request_size"),
        };
        let quiet = Settings {
            function_reset: false,
            ..self.settings
        };
        if self.state == State::Lost && now.function_reset {
            // What the session has left behind is forgotten, and no TLP is cut.
            self.card.whole()?;
            self.expected.clear();
            self.state = State::Calms(0);
            self.settings = Settings::default();
            let right = Settings {
                function_reset: true,
                ..Settings::default()
            };
            return match now == right {
                true => Ok(()),
                false => Err(format!("{now:?} at the end of a session")),
            };
        }
        if now == quiet {
            return Ok(());
        }
        while self.expected.front() == Some(&Content::Settings(quiet)) {
            self.expected.pop_front();
        }
        if self.expected.front() == Some(&Content::Settings(now)) {
            self.expected.pop_front();
            self.settings = Settings {
                function_reset: false,
                ..now
            };
            self.passed += 1;
            return Ok(());
        }
        let back = Settings {
            function_reset: now.function_reset,
            ..Settings::default()
        };
        if !up && now == back && !now.function_reset {
            self.settings = Settings::default();
            return Ok(());
        }
        Err(format!(
            "{now:?}, where {:?} is next",
            self.expected.front()
        ))
    }

    fn malformed_now(&mut self) -> Result<(), String> {
        self.counted += self.get("stat_malformed");
        if self.counted > self.malformed {
            return Err(format!("{} malformed units", self.counted));
        }
        Ok(())
    }

    /// A word of a unit of the board.
    fn out_word(&mut self, up: bool) -> Result<(), String> {
        let returns = self.returns.take();
        self.same("m_axis_wr_req_tx_seq_num_valid", returns.is_some().into())?;
        if let Some(number) = returns {
            self.same("m_axis_wr_req_tx_seq_num", number)?;
        }
        let arrived = self.ahead.take().is_some_and(|ahead| ahead > 0);
        match self.oldest {
            Some((_, number)) if arrived => {
                self.oldest = None;
                self.returns = up.then_some(number);
            }
            Some((unit, _)) => self.ahead = Some(self.acked.wrapping_sub(unit) as i16),
            None => self.oldest = self.unacked.pop_front(),
        }
        let valid = self.get("m_unit_valid") == 1;
        let begins = self.out.is_empty();
        if valid && begins {
            self.out_words = self.get("m_unit_words") as usize;
            self.same("m_unit_settings", 0)?;
        }
        let last = self.out.len() / 8 + 1 == self.out_words;
        self.stalls.observe(1, valid, last);
        self.card.taken(&self.model, up, self.now)?;
        if !valid || !self.stalls.ready(1) {
            return Ok(());
        }
        self.out.extend(self.get("m_unit_data").to_le_bytes());
        if !last {
            return Ok(());
        }
        let unit = (Kind::Tlp, std::mem::take(&mut self.out));
        let Offered { tlp, number } = self.card.left()?;
        // Bytes, so that the padding counts.
        if Ok(&unit) != tlp.emit().as_ref() {
            return Err(format!("a unit {unit:x?}, not {tlp:x?}"));
        }
        self.unacked
            .extend(number.map(|number| (self.left, number)));
        self.left = self.left.wrapping_add(1);
        self.passed += 1;
        Ok(())
    }

    fn next_state(&mut self, some: bool) {
        self.state = match self.state {
            State::Idle if self.session && !some => State::Up,
            State::Up if !self.session => {
                self.losses += 1;
                self.given = 0;
                self.offers = false;
                self.units.clear();
                self.out.clear();
                self.unacked.clear();
                (self.oldest, self.ahead) = (None, None);
                (self.left, self.acked) = (0, 0);
                self.card.lost();
                State::Lost
            }
            State::Calms(_) if some => State::Calms(0),
            State::Calms(clocks) if clocks + 1 == CALM => State::Idle,
            State::Calms(clocks) => State::Calms(clocks + 1),
            state => state,
        };
    }

    /// All that was under way has arrived, and everything malformed was counted.
    pub fn settled(&self) -> Result<(), String> {
        let left = self.expected.iter();
        let tlps = left
            .filter(|content| matches!(content, Content::Tlp { .. }))
            .count();
        if self.state != State::Up || tlps > 0 || !self.units.is_empty() || !self.card.done() {
            return Err(format!(
                "it does not settle: {:?}, {tlps} TLPs and {} units for the card",
                self.state,
                self.units.len()
            ));
        }
        if !self.unacked.is_empty() || self.oldest.is_some() || self.returns.is_some() {
            return Err(format!(
                "{} writes and more never return",
                self.unacked.len()
            ));
        }
        match self.counted == self.malformed {
            true => Ok(()),
            false => Err(format!("{} of {} malformed", self.counted, self.malformed)),
        }
    }
}
