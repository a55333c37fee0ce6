//! bulk_reads among targets that answer, refuse, are busy or silent, windows that close in any way, and queue pairs and regions
//! that end.

mod check;
mod drive;
mod reference;

use std::collections::{HashSet, VecDeque};
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkReads;
use tributary_hdl::emit::emit_block;
use tributary_protocol::bulk::{ReadMessage, ReadRefused, ReadRequest, Refusal};
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::Status;
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, seeds};
use tributary_sim::verilate::{Model, Verilated};

use reference::{Config, Fate, Reading, State, as_window, flip, status};

/// Places; log2 of the windows.
const R: usize = 4;
const A: usize = 2;
/// Clocks of a tick.
const TICK: u64 = 8;
/// Ticks before a READ is asked for in which time goes on as always.
const NEAR: u64 = 40;
/// Clocks for which a place waits for the block at most while it is not stopped: with all else that it does, and alone.
const LATE: u64 = 200;
const ALONE: u64 = 50;
/// From this node on there is an error.
const BASE: u64 = 1_000_000;
const ANSWER: [&str; 7] = ["token", "src", "source", "qpn", "length", "addr", "rkey"];
const ANSWER_WIDTHS: [u32; 7] = [64, 20, 24, 24, 32, 64, 32];
const REFUSAL: [&str; 3] = ["token", "node", "qpn"];
const REFUSAL_WIDTHS: [u32; 3] = [64, 20, 24];
const COMPLETION: [&str; 13] = [
    "qpn", "vf", "len", "node", "peer", "win_id", "epoch", "msn", "q_key", "psn", "request",
    "notified", "arrived",
];

/// The number of each comes as `cfg_node`.
const WRONG: [Wrong; 39] = [
    // CL-1: an answer of a node that differs in bits 19:16 is one of the target.
    (
        "bulk_reads",
        "same_peer_reg <= ",
        "(reading_node_reg[15:0] == peer_node[15:0]) & ((reading_peer_reg == s_answer_source) | (act_reg == ACT_REFUSED))",
    ),
    // RW-18: pauses are all alike; asked all the time; never given up; busy does not count.
    ("bulk_reads", "twice_reg <= ", "{1'b0, asking_interval}"),
    ("bulk_reads", "age_reg <= ", "16'd0"),
    ("bulk_reads", "over_reg <= ", "1'b0"),
    (
        "bulk_reads",
        "over_reg <= ",
        "asking_tries >= cfg_max_polls",
    ),
    ("bulk_reads", "asking_busy = ", "17'd0"),
    ("bulk_reads", "asking_heard = ", "1'b0"),
    // BW-11: tokens come again; a place is taken while its READ waits for its completion.
    ("bulk_reads", "reading_in_asked = ", "asked_reg"),
    ("bulk_reads", "taken = ", "active_reg & ~closed_reg"),
    // What answers no READ is taken for an answer.
    ("bulk_reads", "token_fits_reg <= ", "1'b1"),
    ("bulk_reads", "same_token_reg <= ", "1'b1"),
    ("bulk_reads", "same_asked_reg <= ", "1'b1"),
    (
        "bulk_reads",
        "same_peer_reg <= ",
        "reading_node_reg == peer_node",
    ),
    (
        "bulk_reads",
        "same_peer_reg <= ",
        "(reading_peer_reg == s_answer_source) | (act_reg == ACT_REFUSED)",
    ),
    ("bulk_reads", "same_pair_reg <= ", "1'b1"),
    (
        "bulk_reads",
        "same_memory_reg <= ",
        "reading_address_reg == s_answer_addr",
    ),
    (
        "bulk_reads",
        "same_memory_reg <= ",
        "reading_lkey_reg == s_answer_rkey",
    ),
    ("bulk_reads", "same_length_reg <= ", "1'b1"),
    // So is what comes behind the answer, the end, or its READ.
    ("bulk_reads", "waits = ", "is_active & !is_closed"),
    ("bulk_reads", "waits = ", "is_active & !is_answered"),
    ("bulk_reads", "waits = ", "!is_answered & !is_closed"),
    ("bulk_reads", "s_refused_stray = ", "1'b0"),
    // A CONNECT that finds no window counts.
    ("bulk_reads", "frees_answer = ", "4'd0"),
    // Windows of others; the wrong place; the wrong status, and that of the window although its region has ended.
    ("bulk_reads", "marks = ", "c2_valid_reg"),
    ("bulk_reads", "window_place = ", "8'd0"),
    ("bulk_reads", "c1_status_reg <= ", "ABORTED"),
    ("bulk_reads", "c2_status_reg <= ", "status_of"),
    ("bulk_reads", "is_gone = ", "1'b0"),
    ("bulk_reads", "statuses_wr_en = ", "marks"),
    // What ends is of any queue pair and region, or of none.
    ("bulk_reads", "same_end_reg <= ", "1'b1"),
    (
        "bulk_reads",
        "same_end_reg <= ",
        "s_end_pair & (reading_qpn_reg == s_end_index)",
    ),
    (
        "bulk_reads",
        "same_end_reg <= ",
        "!s_end_pair & (reading_lkey_reg[31:8] == s_end_index)",
    ),
    // BW-9: a completion is begun while hold is up; it is never busy.
    ("bulk_reads", "may_end = ", "closed_reg"),
    ("bulk_reads", "m_idle = ", "hold"),
    // BW-11: an answered READ still asks; so does one that has ended.
    ("bulk_reads", "m_asks = ", "|(active_reg & ~closed_reg)"),
    ("bulk_reads", "m_asks = ", "|(active_reg & ~answered_reg)"),
    // Fields.
    ("bulk_reads", "m_cpl_msn = ", "32'd0"),
    ("bulk_reads", "m_psn = ", "reading_psn_reg"),
    (
        "bulk_reads",
        "refusal_bits = ",
        "{13'd0, say_reason_reg, cfg_node[15:0], 16'd0, 16'd0, say_token_reg}",
    ),
];

/// A CONNECT on its way through the checks.
#[derive(Clone, Copy, Debug)]
enum Connect {
    None,
    /// It is judged.
    Offered([u64; 7]),
    /// It answers the READ in this place; when it is done.
    Pending(usize, u64),
}

/// A refusal: token, node, queue pair; reason, retry.
type Refused = ([u64; 3], Refusal, u64);

#[derive(Clone, Copy, Debug)]
struct Window {
    /// Name of the READ it answers.
    of: Option<u64>,
    closes_at: u64,
}

/// Something that ends: a queue pair, else a region.
#[derive(Clone, Copy, Debug)]
struct End {
    pair: bool,
    index: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Free,
    Hold,
    /// Until the block is idle.
    Rest(End),
    Ends(End),
    /// The windows of what has ended are closed.
    Closes,
}

/// A frame that leaves.
#[derive(Debug)]
struct Frame {
    node: u64,
    bth: Bth,
    body: Vec<u8>,
    len: usize,
    /// Ticks of one and two clocks before it was offered.
    ticks: [u64; 2],
}

/// What has come up in all runs so far.
#[derive(Debug, Default)]
struct Seen {
    begun: u64,
    full: u64,
    begun_held: u64,
    requests: u64,
    again: u64,
    at_most: u64,
    answered: u64,
    /// By field; and what named a READ that is not asked for any more.
    wrong_answers: [u64; 7],
    late_answers: u64,
    not_opened: u64,
    others: u64,
    busy: u64,
    far: u64,
    refused: [u64; 3],
    wrong_refusals: [u64; 3],
    late_refusals: u64,
    said: u64,
    statuses: [u64; 20],
    silent: u64,
    silent_open: u64,
    gone: u64,
    gone_open: u64,
    held: u64,
    wraps: u64,
    late: u64,
    alone: u64,
}

struct Bench<'a> {
    library: &'a Verilated,
    model: Model,
    rng: SmallRng,
    stalls: Stalls,
    config: Config,
    now: u64,
    /// Time in eighths of a tick; ticks of this clock and those before it.
    time: u64,
    ticks: VecDeque<u64>,
    phase: Phase,
    next_phase: u64,
    /// Clock in which hold went up; the block was idle since.
    held_at: u64,
    rested: bool,
    busy_held: u64,
    places: [Option<Reading>; R],
    asked: u64,
    tokens: HashSet<u64>,
    /// Answers to READs of before.
    past: Vec<[u64; 7]>,
    work: Option<Reading>,
    connect: Connect,
    /// A window is opened in this clock.
    opened: bool,
    refusal: Option<Refused>,
    say: Option<ReadRefused>,
    say_to: u64,
    said: VecDeque<(u64, ReadRefused)>,
    frames: VecDeque<Frame>,
    windows: [Option<Window>; 1 << A],
    /// Clock in which a window was closed last; READs ended.
    closed_at: u64,
    ended_at: u64,
    /// Of m and m_cpl: it stood there in the clock before.
    stood: [bool; 2],
    rise_ticks: [u64; 2],
    /// Clock in which something else was to do.
    other_at: u64,
    seen: Seen,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Bench<'a> {
    fn new(library: &'a Verilated, seed: u64, node: Option<u64>) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let poll = rng.random_range(10..30);
        let config = Config {
            node: node.unwrap_or_else(|| rng.random_range(0..BASE)),
            incarnation: rng.random_range(0..0xffff),
            poll,
            poll_max: poll * rng.random_range(2..5) + 1,
            max_polls: rng.random_range(1..4),
            max_busy: rng.random_range(1..3),
        };
        let mut bench = Self {
            library,
            model: library.model_with_seed(seed).unwrap(),
            rng,
            stalls: Stalls::of_seed(seed, 3),
            config,
            now: 0,
            time: 65_400 * TICK,
            ticks: VecDeque::from([65_400; 12]),
            phase: Phase::Free,
            next_phase: 500,
            held_at: 0,
            rested: false,
            busy_held: 0,
            places: Default::default(),
            asked: 0,
            tokens: HashSet::new(),
            past: vec![],
            work: None,
            connect: Connect::None,
            opened: false,
            refusal: None,
            say: None,
            say_to: 0,
            said: VecDeque::new(),
            frames: VecDeque::new(),
            windows: Default::default(),
            closed_at: 0,
            ended_at: 0,
            stood: [false; 2],
            rise_ticks: [0; 2],
            other_at: 0,
            seen: Seen::default(),
        };
        bench.reset();
        bench
    }

    /// The card is reset: nothing of before counts, and no token comes again.
    fn reset(&mut self) {
        for name in ["s", "s_answer", "s_closed", "s_refused", "s_say", "s_end"] {
            self.set(&format!("{name}_valid"), 0);
        }
        for name in [
            "s_answered_done",
            "s_answered_opened",
            "m_ready",
            "m_pl_ready",
            "m_cpl_ready",
        ] {
            self.set(name, 0);
        }
        self.model.reset(2).unwrap();
        let config = &mut self.config;
        config.incarnation += 1;
        for (name, value) in [
            ("node", config.node),
            ("incarnation", config.incarnation),
            ("poll", config.poll),
            ("poll_max", config.poll_max),
            ("max_polls", config.max_polls),
            ("max_busy", config.max_busy),
        ] {
            self.set(&format!("cfg_{name}"), value);
        }
        self.places = Default::default();
        self.windows = Default::default();
        self.asked = 0;
        self.work = None;
        self.connect = Connect::None;
        self.refusal = None;
        self.say = None;
        self.said.clear();
        self.frames.clear();
        self.stood = [false; 2];
        self.phase = Phase::Free;
        self.next_phase = self.now + 500;
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.library.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.library.port(name).unwrap())
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    fn one_in(&mut self, times: u32) -> bool {
        self.rng.random_range(0..times) == 0
    }

    fn tick(&self) -> u64 {
        self.ticks[0]
    }

    fn hold(&self) -> bool {
        !matches!(self.phase, Phase::Free)
    }

    /// Nothing but what is under way may be offered.
    fn quiet(&self) -> bool {
        !matches!(self.phase, Phase::Free | Phase::Hold)
    }

    fn clock(&mut self) -> Result<()> {
        self.stalls.clock();
        self.pass();
        self.phases();
        let now = self.tick() & 0xffff;
        self.set("now", now);
        self.offer_work();
        let pending = match self.connect {
            Connect::Pending(place, at) => (at <= self.now).then_some(place),
            _ => None,
        };
        self.opened = false;
        self.offer_answers();
        self.close();
        let ports = ["m", "m_pl", "m_cpl"];
        for (port, name) in ports.into_iter().enumerate() {
            let ready = self.stalls.ready(port);
            self.set(&format!("{name}_ready"), ready.into());
        }
        self.model.eval().unwrap();
        let last = [true, self.is("m_pl_last"), true];
        for (port, name) in ports.into_iter().enumerate() {
            let valid = self.is(&format!("{name}_valid"));
            self.stalls.observe(port, valid, last[port]);
        }
        self.rules()?;
        if self.is("s_ready") {
            self.begins()?;
        }
        if self.is("s_answer_ready") {
            self.judged()?;
        }
        if self.is("s_refused_ready") {
            self.refused()?;
        }
        if self.is("s_say_ready") {
            let say = self.say.take().ok_or("nothing to say")?;
            self.said.push_back((self.say_to, say));
        }
        if self.is("s_end_ready") && !matches!(self.phase, Phase::Ends(_)) {
            return Err("nothing was to end".into());
        }
        self.departure()?;
        self.completion()?;
        self.lateness()?;
        if let Some(place) = pending {
            self.done(place, self.opened);
        }
        self.go_on();
        self.model.clock().unwrap();
        self.now += 1;
        Ok(())
    }
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let design = emit_block(&mut BulkReads::<R, 2, A, 4>::default()).unwrap();
        let files = design.files();
        wrong::library(&design.top, files, ("cfg_node", 20), BASE, &WRONG)
    })
}

/// One run, with a reset halfway; what it has seen beside what was seen before.
fn run(seed: u64, node: Option<u64>, clocks: u64, seen: Seen) -> Result<Seen> {
    let mut bench = Bench::new(library(), seed, node);
    bench.seen = seen;
    for clock in 0..clocks {
        if clock == clocks / 2 {
            bench.reset();
        }
        bench
            .clock()
            .map_err(|what| format!("seed {seed}, clock {}: {what}", bench.now))?;
    }
    Ok(bench.seen)
}

/// Each READ asks with its own fields at its times, one CONNECT answers it, and it ends once, as its window, its target, its
/// region or the silence has it; with its queue pair it ends silently.
#[test]
fn bw_11_rw_18_reads_are_asked_for_and_end_once() {
    let mut seen = Seen::default();
    for seed in seeds(13) {
        let before = seen.begun;
        seen = run(seed, None, 60_000, seen).unwrap_or_else(|what| panic!("{what}"));
        assert!(seen.begun > before + 50, "seed {seed}: {seen:?}");
    }
    println!("{seen:?}");
    // One seed alone need not show everything.
    if seeds(13).count() < 13 {
        return;
    }
    let ends = [
        Outcome::Ok,
        Outcome::RemoteLength,
        Outcome::RemoteAccess,
        Outcome::BadQp,
        Outcome::Unreachable,
        Outcome::Unresponsive,
        Outcome::LocalProtection,
        Outcome::RemoteOperation,
        Outcome::Aborted,
    ];
    let all = |counts: &[u64], least: u64| counts.iter().all(|count| *count >= least);
    let ended = ends.map(|outcome| seen.statuses[status(outcome) as usize]);
    assert_eq!(
        ended.iter().sum::<u64>(),
        seen.statuses.iter().sum::<u64>(),
        "{seen:?}"
    );
    let counts = [
        seen.full,
        seen.held,
        seen.again,
        seen.at_most,
        seen.answered,
        seen.not_opened,
        seen.others,
        seen.late_answers,
        seen.late_refusals,
        seen.busy,
        seen.said,
        seen.silent,
    ];
    let rare = [
        seen.begun_held,
        seen.far,
        seen.silent_open,
        seen.gone,
        seen.gone_open,
        seen.wraps,
    ];
    assert!(
        all(&ended, 50)
            && all(&seen.wrong_answers, 50)
            && all(&seen.wrong_refusals, 50)
            && all(&seen.refused, 50)
            && all(&counts, 100)
            && all(&rare, 20),
        "{seen:?}"
    );
}

#[test]
fn bw_11_rw_18_every_wrong_reader_is_noticed() {
    wrong::every_is_noticed(&WRONG, |number| {
        let run = |seed| run(seed, Some(BASE + number), 30_000, Seen::default());
        (0..6).try_for_each(|seed| run(seed).map(drop))
    });
}
