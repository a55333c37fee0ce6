//! `mb_ring` in Verilator beside its model: each operation and each output is compared in the clock in which it happens.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::catalog;
use tributary_protocol::multicast::ring::{
    ALL, ENTRY_WORDS, EndCode, Entry, EntryKind, Opening, Operation, RingTable, TableOutput,
};
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Groups of the block under test.
pub const GROUPS: usize = 16;
const PORTS: &[&str] = &[
    "rst",
    "s_cmd_valid",
    "s_cmd_ready",
    "s_cmd_op",
    "s_cmd_group",
    "s_cmd_posted",
    "s_cmd_base",
    "s_cmd_log",
    "s_cmd_watchdog",
    "s_cmd_timed",
    "s_cmd_origin",
    "s_ev_valid",
    "s_ev_ready",
    "s_ev_op",
    "s_ev_group",
    "s_ev_slot",
    "s_ev_value",
    "m_answer_valid",
    "m_answer_op",
    "m_answer_group",
    "m_answer_ok",
    "s_tick",
    "m_rd_valid",
    "m_rd_ready",
    "m_rd_addr",
    "m_rd_len",
    "m_rd_ctx",
    "s_rd_valid",
    "s_rd_ready",
    "s_rd_data",
    "s_rd_last",
    "s_rd_error",
    "s_rd_ctx",
    "m_start_valid",
    "m_start_ready",
    "m_start_group",
    "m_start_to",
    "m_start_step",
    "m_start_block",
    "m_start_message",
    "m_start_user",
    "m_grant_valid",
    "m_grant_ready",
    "m_grant_group",
    "m_grant_to",
    "m_grant_granted",
    "m_done_valid",
    "m_done_ready",
    "m_done_group",
    "m_done_code",
    "m_done_peer",
    "m_done_message",
    "m_done_user",
    "m_done_fetched",
    "idle",
];

/// The block, built once.
pub fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let design = catalog::choose("mb_ring", &[("G", GROUPS)]);
        let design = design.unwrap().emit().unwrap();
        Verilated::build(&BuildOptions::new(&design.top, &design.files()).with_checks()).unwrap()
    })
}

thread_local! {
    /// The deliberate error of the models of this thread; the block without errors has no port for it.
    pub static WRONG: Cell<u64> = const { Cell::new(0) };
}

/// A command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Open(usize, Opening),
    Doorbell(usize, u16),
    Stop(usize),
    Close(usize),
}

/// What happens to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Begin(usize, u8),
    Landed(usize, u8),
    Credit(usize, u8, u32),
    Sent(usize),
    Failed(usize, u8),
}

/// What left the block, and what it said of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Start(usize, Entry),
    Grant(usize, u8, u32),
    Done(usize, TableOutput),
    Answer(Operation, usize, bool),
}

/// A read of host memory under way.
#[derive(Clone, Copy, Debug)]
struct Read {
    from: u64,
    address: u64,
    group: u64,
    word: usize,
}

/// The outputs that can be stopped, each with its fields.
const CHANNELS: [(&str, &str, &[&str]); 4] = [
    (
        "m_rd_valid",
        "m_rd_ready",
        &["m_rd_addr", "m_rd_len", "m_rd_ctx"],
    ),
    (
        "m_start_valid",
        "m_start_ready",
        &[
            "m_start_group",
            "m_start_to",
            "m_start_step",
            "m_start_block",
            "m_start_message",
            "m_start_user",
        ],
    ),
    (
        "m_grant_valid",
        "m_grant_ready",
        &["m_grant_group", "m_grant_to", "m_grant_granted"],
    ),
    (
        "m_done_valid",
        "m_done_ready",
        &[
            "m_done_group",
            "m_done_code",
            "m_done_peer",
            "m_done_message",
            "m_done_user",
            "m_done_fetched",
        ],
    ),
];

/// Nothing of the block may take longer, in clocks.
const PATIENCE: u64 = 400_000;

pub struct Bench {
    pub model: Model,
    ports: HashMap<&'static str, Port>,
    pub table: RingTable,
    /// Entries in host memory, by address; those of addresses in `bad` cannot be read.
    pub memory: HashMap<u64, [u64; ENTRY_WORDS]>,
    pub bad: Vec<u64>,
    pub commands: VecDeque<Command>,
    pub events: VecDeque<Event>,
    pub ticks: u32,
    pub clocks: u64,
    stalls: Stalls,
    inputs: Stalls,
    rng: SmallRng,
    /// Clocks of a read of host memory.
    pub latency: u64,
    /// Nobody takes what is started.
    pub stop_starts: bool,
    reads: VecDeque<Read>,
    came: VecDeque<(usize, Option<[u64; ENTRY_WORDS]>)>,
    offered: [bool; 3],
    answered: [Option<bool>; 2],
    held: [Option<Vec<u64>>; 4],
    pub seen: Vec<Seen>,
    pub counts: BTreeMap<String, u64>,
}

impl Bench {
    pub fn new(library: &Verilated, seed: u64) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        let ports = PORTS.iter().map(|&name| (name, model.port(name).unwrap()));
        let ports = ports.collect();
        if let Ok(wrong) = model.port("wrong") {
            model.set(wrong, WRONG.get());
        }
        model.reset(2).unwrap();
        model.clocks(GROUPS as u64 + 4).unwrap();
        Self {
            model,
            ports,
            table: RingTable::new(GROUPS),
            memory: HashMap::new(),
            bad: Vec::new(),
            commands: VecDeque::new(),
            events: VecDeque::new(),
            ticks: 0,
            clocks: 0,
            stalls: Stalls::of_seed(seed, 4),
            inputs: Stalls::of_seed(seed / 3, 3).stream(1),
            rng: SmallRng::seed_from_u64(seed),
            latency: 20,
            stop_starts: false,
            reads: VecDeque::new(),
            came: VecDeque::new(),
            offered: [false; 3],
            answered: [None; 2],
            held: Default::default(),
            seen: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Neither side stalls.
    pub fn free(mut self) -> Self {
        use tributary_sim::testbench::Profile::Free;
        self.stalls.set(Free);
        self.inputs.set(Free);
        self
    }

    fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.ports[name])
    }

    fn drive(&mut self) {
        self.stalls.clock();
        self.inputs.clock();
        for (at, (_, name, _)) in CHANNELS.iter().enumerate() {
            let ready = self.takes(at);
            self.set(name, ready.into());
        }
        let now = self.clocks;
        let some = [
            !self.commands.is_empty(),
            !self.events.is_empty(),
            self.reads.front().is_some_and(|read| read.from <= now),
        ];
        for (at, some) in some.into_iter().enumerate() {
            self.offered[at] = some && (self.offered[at] || self.inputs.ready(at));
            self.inputs.observe(at, some, true);
        }
        self.set("s_cmd_valid", self.offered[0].into());
        self.set("s_ev_valid", self.offered[1].into());
        self.set("s_rd_valid", self.offered[2].into());
        if let Some(&command) = self.commands.front() {
            let (op, group) = match command {
                Command::Open(group, opening) => {
                    self.set("s_cmd_base", opening.base);
                    self.set("s_cmd_log", opening.log.into());
                    self.set("s_cmd_watchdog", opening.watchdog.into());
                    self.set("s_cmd_timed", opening.timed.into());
                    self.set("s_cmd_origin", opening.origin.into());
                    (0, group)
                }
                Command::Doorbell(group, posted) => {
                    self.set("s_cmd_posted", posted.into());
                    (1, group)
                }
                Command::Stop(group) => (2, group),
                Command::Close(group) => (3, group),
            };
            self.set("s_cmd_op", op);
            self.set("s_cmd_group", group as u64);
        }
        if let Some(&event) = self.events.front() {
            let (op, group, slot, value) = match event {
                Event::Begin(group, slot) => (0, group, slot, 0),
                Event::Landed(group, slot) => (1, group, slot, 0),
                Event::Credit(group, slot, value) => (2, group, slot, value),
                Event::Sent(group) => (3, group, 0, 0),
                Event::Failed(group, slot) => (4, group, slot, 0),
            };
            self.set("s_ev_op", op);
            self.set("s_ev_group", group as u64);
            self.set("s_ev_slot", slot.into());
            self.set("s_ev_value", value.into());
        }
        if let Some(&read) = self.reads.front() {
            let (words, bad) = self.read(read.address);
            let last = read.word + 1 == ENTRY_WORDS;
            self.set("s_rd_data", words[read.word]);
            self.set("s_rd_last", last.into());
            self.set("s_rd_error", (last && bad).into());
            self.set("s_rd_ctx", read.group);
        }
        let tick = self.ticks > 0;
        self.ticks -= u32::from(tick);
        self.set("s_tick", tick.into());
    }

    fn takes(&self, channel: usize) -> bool {
        self.stalls.ready(channel) && !(channel == 1 && self.stop_starts)
    }

    fn read(&self, address: u64) -> ([u64; ENTRY_WORDS], bool) {
        let words = self.memory.get(&address).copied();
        (words.unwrap_or_default(), self.bad.contains(&address))
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// One clock; what differs from the model.
    pub fn clock(&mut self) -> Result<(), String> {
        self.drive();
        self.model.eval().unwrap();
        self.answer()?;
        for at in 0..CHANNELS.len() {
            self.channel(at)?;
        }
        if self.offered[0] && self.get("s_cmd_ready") == 1 {
            let command = self.commands.pop_front();
            self.offered[0] = false;
            self.answered[0]
                .take()
                .ok_or(format!("{command:?}: no answer"))?;
        }
        if self.offered[1] && self.get("s_ev_ready") == 1 {
            let event = self.events.pop_front();
            self.offered[1] = false;
            self.answered[1]
                .take()
                .ok_or(format!("{event:?}: no answer"))?;
        }
        if self.offered[2] && self.get("s_rd_ready") == 1 {
            self.offered[2] = false;
            let mut read = self.reads.pop_front().unwrap();
            read.word += 1;
            if read.word == ENTRY_WORDS {
                let (words, bad) = self.read(read.address);
                self.came
                    .push_back((read.group as usize, (!bad).then_some(words)));
            } else {
                self.reads.push_front(read);
            }
        }
        self.model.clock().unwrap();
        self.clocks += 1;
        Ok(())
    }

    fn answer(&mut self) -> Result<(), String> {
        if self.get("m_answer_valid") == 0 {
            return Ok(());
        }
        let (op, group) = (self.get("m_answer_op"), self.get("m_answer_group") as usize);
        let found = self.get("m_answer_ok") == 1;
        let table = &mut self.table;
        let (operation, right, of) = match op {
            4 => (Operation::Tick, table.tick(group), group),
            5 => {
                let (of, words) = self.came.pop_front().ok_or("no entry has come")?;
                (Operation::Entry, table.entry(of, words.as_ref()), of)
            }
            0..4 => {
                let command = *self.commands.front().ok_or("no command")?;
                let what = match command {
                    Command::Open(g, opening) => (Operation::Open, table.open(g, opening), g),
                    Command::Doorbell(g, posted) => {
                        (Operation::Doorbell, table.doorbell(g, posted), g)
                    }
                    Command::Stop(g) => (Operation::Stop, table.stop(g), g),
                    Command::Close(g) => (Operation::Close, table.close(g), g),
                };
                self.answered[0] = Some(what.1);
                what
            }
            _ => {
                let event = *self.events.front().ok_or("no event")?;
                let what = match event {
                    Event::Begin(g, slot) => (Operation::Begin, table.begin(g, slot), g),
                    Event::Landed(g, slot) => (Operation::Landed, table.landed(g, slot), g),
                    Event::Credit(g, slot, value) => {
                        (Operation::Credit, table.credit(g, slot, value), g)
                    }
                    Event::Sent(g) => (Operation::Sent, table.sent(g), g),
                    Event::Failed(g, slot) => (Operation::Failed, table.failed(g, slot), g),
                };
                self.answered[1] = Some(what.1);
                what
            }
        };
        if (op, group, found) != (operation as u64, of, right) {
            return Err(format!(
                "answer {op} {group} {found}, not {operation:?} {of} {right}"
            ));
        }
        self.count(format!("{operation:?} {right}"));
        self.seen.push(Seen::Answer(operation, of, right));
        Ok(())
    }

    fn channel(&mut self, at: usize) -> Result<(), String> {
        let (name, _, fields) = CHANNELS[at];
        let valid = self.get(name) == 1;
        let ready = self.takes(at);
        self.stalls.observe(at, valid, true);
        if !valid {
            return match self.held[at].take() {
                None => Ok(()),
                Some(held) => Err(format!("{name} {held:?} is gone")),
            };
        }
        let values: Vec<u64> = fields.iter().map(|field| self.get(field)).collect();
        match &self.held[at] {
            Some(held) if *held != values => {
                return Err(format!("{name}: {held:?}, then {values:?}"));
            }
            Some(_) => {}
            None => self.new_output(at, &values)?,
        }
        self.held[at] = (!ready).then_some(values);
        Ok(())
    }

    fn new_output(&mut self, at: usize, values: &[u64]) -> Result<(), String> {
        let group = values[if at == 0 { 2 } else { 0 }] as usize;
        let wrong = |table: &RingTable| {
            Err(format!(
                "{} {values:?}, but {:?}",
                CHANNELS[at].0,
                table.offers(group)
            ))
        };
        let offers = self.table.offers(group);
        let fits = |output: &TableOutput| match (at, output) {
            (0, &TableOutput::Read(address)) => values[..2] == [address, 32],
            (1, TableOutput::Act(e)) => {
                e.kind == EntryKind::Send
                    && values[1..]
                        == [
                            u64::from(e.to),
                            e.step.into(),
                            e.block.into(),
                            e.message.into(),
                            e.user,
                        ]
            }
            (2, TableOutput::Act(e)) => {
                e.kind == EntryKind::Grant && values[1..] == [u64::from(e.to), u64::from(e.credit)]
            }
            (
                3,
                &TableOutput::Completion {
                    code,
                    peer,
                    message,
                    user,
                    fetched,
                },
            ) => {
                let right: [u64; 5] = [
                    code as u64,
                    peer.into(),
                    message.into(),
                    user,
                    fetched.into(),
                ];
                values[1..] == right
            }
            _ => false,
        };
        let Some(output) = offers.into_iter().find(fits) else {
            return wrong(&self.table);
        };
        if !self.table.takes(group, &output) {
            return wrong(&self.table);
        }
        match output {
            TableOutput::Read(address) => {
                let delay = self.rng.random_range(self.latency / 2..=self.latency);
                // In the order in which they were asked for.
                let last = self.reads.back().map_or(0, |read| read.from);
                self.reads.push_back(Read {
                    from: (self.clocks + delay).max(last),
                    address,
                    group: group as u64,
                    word: 0,
                });
                self.count("Read");
            }
            TableOutput::Act(entry) if entry.kind == EntryKind::Send => {
                self.seen.push(Seen::Start(group, entry));
                self.count("Start");
            }
            TableOutput::Act(entry) => {
                self.seen.push(Seen::Grant(group, entry.to, entry.credit));
                self.count("Grant");
            }
            TableOutput::Completion { code, .. } => {
                self.seen.push(Seen::Done(group, output));
                self.count(format!("{code:?}"));
            }
        }
        Ok(())
    }

    /// Runs until nothing moves any more; then nothing may be left that a group offers.
    pub fn settle(&mut self) -> Result<(), String> {
        let end = self.clocks + PATIENCE;
        loop {
            self.clock()?;
            let quiet = self.commands.is_empty()
                && self.events.is_empty()
                && self.reads.is_empty()
                && self.came.is_empty()
                && self.ticks == 0
                && self.held.iter().all(Option::is_none);
            if quiet && self.get("idle") == 1 {
                break;
            }
            if self.clocks > end {
                return Err(format!("no rest after {PATIENCE} clocks"));
            }
        }
        match (0..GROUPS).find(|&group| !self.table.offers(group).is_empty()) {
            None => Ok(()),
            Some(group) => Err(format!(
                "group {group} stands, but {:?}",
                self.table.offers(group)
            )),
        }
    }

    /// Writes entries into the ring of a group from this index on; returns the index behind them.
    pub fn write(&mut self, opening: &Opening, from: u16, entries: &[Entry]) -> u16 {
        let mut at = from;
        for entry in entries {
            let place = u64::from(at & ((1 << opening.log) - 1));
            self.memory.insert(opening.base + 32 * place, entry.words());
            at = at.wrapping_add(1);
        }
        at
    }
}

/// The completion that ended a group, and how many there were.
pub fn ends(seen: &[Seen], group: usize) -> Vec<EndCode> {
    let of = seen.iter().filter_map(|seen| match seen {
        Seen::Done(g, TableOutput::Completion { code, .. }) if *g == group => Some(*code),
        _ => None,
    });
    of.filter(|code| *code != EndCode::Done).collect()
}

/// An entry without waits.
pub fn entry(kind: EntryKind, to: u8, credit: u32) -> Entry {
    Entry {
        kind,
        waits: false,
        source: ALL,
        to,
        step: 3,
        block: 5,
        message: 0,
        received: 0,
        credit,
        user: 0x0123_4567_89ab_cdef,
    }
}
