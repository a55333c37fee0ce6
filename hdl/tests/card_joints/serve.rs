//! bulk_serve among messages of READ, good and malformed, a judge that says anything, and transfers that start and are over.

mod messages;
mod stages;

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkServe;
use tributary_hdl::emit::emit_block;
use tributary_protocol::bulk::{ReadMessage, ReadRefused, ReadRequest, Refusal};
use tributary_protocol::rw::{ConnectStatus, packets};
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, seeds};
use tributary_sim::verilate::{Model, Verilated};

use messages::{Message, Source};

/// Slots of transfers.
const S: usize = 4;
/// Most packets of a transfer.
const PACKETS_MAX: u32 = 1 << 21;
/// The hint of the right block; from the second one on there is an error.
const HINT: u64 = 1_234;
const BASE: u64 = 30_000;
/// Verdict of which nobody hears.
const SILENT: u64 = 7;
const EVENTS: [&str; 7] = [
    "bad_message",
    "stray",
    "bad_qp",
    "bad_key",
    "bad_length",
    "access",
    "busy",
];
const ACCESS: [&str; 6] = ["qpn", "q_key", "key", "addr", "length", "too_long"];
const START: [&str; 12] = [
    "node", "peer", "qpn", "q_key", "pd", "address", "key", "there", "rkey", "length", "mtu",
    "token",
];
const REFUSAL: [&str; 5] = ["node", "qpn", "token", "reason", "retry"];

/// The number of each comes as `cfg_busy_hint`.
const WRONG: [Wrong; 24] = [
    // CL-1: of the node of a frame bits 19:16 are left out.
    ("bulk_serve", "m_start_node = ", "{4'd0, r_node_reg[15:0]}"),
    (
        "bulk_serve",
        "same_reg <= ",
        "serves_2_reg & (here_node[15:0] == r_node_reg[15:0]) & (here_token == request_token)",
    ),
    // RW-20: what is wrong in a message is not seen.
    ("bulk_serve", "bad_head_reg <= ", "r_short_reg"),
    ("bulk_serve", "is_40_reg <= ", "1'b1"),
    ("bulk_serve", "is_8_reg <= ", "1'b1"),
    ("bulk_serve", "bad_mtu_reg <= ", "1'b0"),
    ("bulk_serve", "bad_reason_reg <= ", "1'b0"),
    ("bulk_serve", "bad_request_head_reg <= ", "1'b0"),
    ("bulk_serve", "bad_refused_head_reg <= ", "1'b0"),
    ("bulk_serve", "bad_rest_reg <= ", "1'b0"),
    ("bulk_serve", "strange_reg <= ", "1'b0"),
    // A transfer of one packet more; one of 0 bytes; addresses that wrap.
    ("bulk_limits", "length_1_reg <= ", "length"),
    ("bulk_limits", "some_reg <= ", "1'b1"),
    ("bulk_limits", "too_long_reg <= ", "too_many_reg"),
    // BW-11: served twice; the last slot is not looked at; the same token of another node is the same.
    ("bulk_serve", "same_reg <= ", "1'b0"),
    ("bulk_serve", "last_1_reg <= ", "at_reg == 5'd2"),
    (
        "bulk_serve",
        "same_reg <= ",
        "serves_2_reg & (here_token == request_token)",
    ),
    // What is over, or found no slot, is not served again.
    ("bulk_serve", "overs = ", "4'd0"),
    ("bulk_serve", "serves_2_reg <= ", "1'b1"),
    ("bulk_serve", "slots_wr_en = ", "m_start_ready"),
    // BW-9: it is never busy.
    ("bulk_serve", "m_idle = ", "1'b1"),
    // The wrong queue pair is told; the wrong key is used.
    ("bulk_serve", "m_say_qpn = ", "r_dest_reg"),
    ("bulk_serve", "m_start_rkey = ", "request_rkey"),
    ("bulk_serve", "m_refused_qpn = ", "request_source"),
];

/// What has become of the message that the block has begun.
#[derive(Clone, Debug)]
enum Stage {
    /// Its head is looked at.
    Head,
    /// What follows comes.
    Words,
    /// It is looked at.
    Verdict,
    /// Whether it is allowed.
    Ask(ReadRequest),
    /// A transfer is to start, in this protection domain.
    Start(ReadRequest, u64),
    /// Its sender is told that it is not served.
    Say(ReadRefused),
    /// It is a refusal.
    Tell(ReadRefused),
}

/// What has come up in all runs so far.
#[derive(Debug, Default)]
struct Seen {
    /// By event.
    events: [u64; 7],
    unwanted: u64,
    served: u64,
    served_again: u64,
    duplicates: u64,
    strange: u64,
    told: u64,
    told_stray: u64,
    held: u64,
    at_limit: [u64; 2],
    no_bytes: u64,
    overs: u64,
}

/// Node and token of a request.
type Asker = (u64, u64);

struct Bench<'a> {
    library: &'a Verilated,
    model: Model,
    rng: SmallRng,
    stalls: Stalls,
    hint: u64,
    now: u64,
    hold: bool,
    next_hold: u64,
    source: Source,
    /// The message that is offered.
    offered: Option<Message>,
    next_offer: u64,
    /// Words of the message that was taken; which is the last.
    words: VecDeque<(u64, bool)>,
    current: Option<(Message, Stage)>,
    /// Clocks in which the block alone was waited for.
    waited: u64,
    /// Transfers by slot: of whom, if it answers; and when each is over.
    slots: [Option<(Option<Asker>, u64)>; S],
    /// Who was answered before.
    over: Vec<Asker>,
    /// A transfer that answers the current message was over while it was looked at.
    just_over: bool,
    /// Slot of the transfer that is over in this clock.
    over_slot: Option<usize>,
    seen: Seen,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Bench<'a> {
    fn new(library: &'a Verilated, seed: u64, hint: u64) -> Self {
        let model = library.model_with_seed(seed).unwrap();
        let mut bench = Self {
            library,
            model,
            rng: SmallRng::seed_from_u64(seed),
            stalls: Stalls::of_seed(seed, 5),
            hint,
            now: 0,
            hold: false,
            next_hold: 500,
            source: Source::new(seed),
            offered: None,
            next_offer: 0,
            words: VecDeque::new(),
            current: None,
            waited: 0,
            slots: Default::default(),
            over: vec![],
            just_over: false,
            over_slot: None,
            seen: Seen::default(),
        };
        bench.reset();
        bench
    }

    /// The card is reset: nothing is served.
    fn reset(&mut self) {
        for name in ["s", "s_pl", "s_over"] {
            self.set(&format!("{name}_valid"), 0);
        }
        self.noise();
        self.model.reset(2).unwrap();
        self.set("cfg_busy_hint", self.hint);
        self.offered = None;
        self.words.clear();
        self.current = None;
        self.slots = Default::default();
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

    /// Offers a message, now and then.
    fn offer(&mut self) {
        if self.offered.is_none() && self.now >= self.next_offer {
            self.offered = Some(self.source.next());
        }
        self.set("s_valid", self.offered.is_some().into());
        let Some(message) = self.offered.clone() else {
            return;
        };
        let mut head = [0; 8];
        let front = message.body.len().min(8);
        head[..front].copy_from_slice(&message.body[..front]);
        self.set("s_node", message.node);
        self.set("s_opcode", u64::from(message.bth.opcode & 15));
        self.set("s_dest", message.bth.dest_qp.into());
        self.set("s_psn", message.bth.psn.into());
        self.set("s_head", u64::from_be_bytes(head));
        self.set("s_short", message.short().into());
        self.set("s_len", message.rest() as u64);
    }

    /// Values without a meaning while nothing is said.
    fn noise(&mut self) {
        for name in [
            "m_access_verdict",
            "m_access_pd",
            "m_start_busy",
            "m_start_slot",
            "m_refused_stray",
        ] {
            let value = self.rng.random_range(0..2);
            self.set(name, value);
        }
        for name in ["m_access", "m_start", "m_say", "m_refused"] {
            self.set(&format!("{name}_ready"), 0);
        }
    }

    /// What stands at the inputs in this clock, but for what is answered.
    fn drive(&mut self) {
        let now = self.now;
        if now >= self.next_hold {
            self.hold ^= true;
            let most = if self.hold { 100 } else { 900 };
            self.next_hold = now + self.rng.random_range(20..most);
        }
        self.set("hold", self.hold.into());
        self.offer();
        let word = self.words.front().copied();
        let word = word.filter(|_| self.stalls.ready(4));
        self.set("s_pl_valid", word.is_some().into());
        self.set("s_pl_data", word.map_or(now, |(data, _)| data));
        self.set("s_pl_last", word.is_some_and(|(_, last)| last).into());
        // Transfers that are over.
        self.set("s_over_valid", 0);
        self.over_slot = None;
        let over = |slot: &Option<(_, u64)>| slot.is_some_and(|(_, at)| at <= now);
        if let Some(slot) = self.slots.iter().position(over) {
            self.set("s_over_valid", 1);
            self.set("s_over_slot", slot as u64);
            self.over_slot = Some(slot);
            if let Some((Some(of), _)) = self.slots[slot].take() {
                self.seen.overs += 1;
                self.over.push(of);
                let asks = self.current.as_ref().and_then(|(m, _)| m.request());
                self.just_over |= asks.is_some_and(|m| (m.node.into(), m.token) == of);
            }
        }
        // The host's own transfers take slots too.
        if self.one_in(400)
            && let Some(slot) = self.slots.iter().position(Option::is_none)
        {
            self.slots[slot] = Some((None, now + self.rng.random_range(10..300)));
        }
        self.noise();
        self.model.eval().unwrap();
    }

    fn clock(&mut self) -> Result<()> {
        self.stalls.clock();
        self.drive();
        let (idle, now) = (self.is("m_idle"), self.now);
        let ports = ["m_access", "m_start", "m_say", "m_refused"];
        let valid = ports.map(|name| self.is(&format!("{name}_valid")));
        for (port, valid) in valid.into_iter().enumerate() {
            self.stalls.observe(port, valid, true);
        }
        self.stalls
            .observe(4, self.is("s_pl_valid"), self.is("s_pl_last"));
        let mut events = [0; 7];
        let stage = self.current.as_ref().map(|(_, stage)| stage.clone());
        let may = match stage {
            Some(Stage::Verdict) => valid.iter().filter(|valid| **valid).count() <= 1,
            Some(Stage::Ask(_)) => valid == [true, false, false, false],
            Some(Stage::Start(..)) => valid == [false, true, false, false],
            Some(Stage::Say(_)) => valid == [false, false, true, false],
            Some(Stage::Tell(_)) => valid == [false, false, false, true],
            _ => valid == [false; 4],
        };
        if !may {
            return Err(format!("{valid:?} is offered at {:?}", self.current));
        }
        let words = matches!(stage, Some(Stage::Words));
        if self.is("s_pl_ready") && !words {
            return Err("words are taken".into());
        }
        if self.is("s_ready") && !matches!(stage, Some(Stage::Head)) {
            return Err("a message is taken".into());
        }
        if let Some((message, stage)) = self.current.take() {
            let next = self.step(&message, stage, &mut events)?;
            self.current = next.map(|stage| (message, stage));
            if self.waited > 9 + S as u64 {
                return Err(format!("nothing comes of {:?}", self.current));
            }
            // Only what was served already ends without being seen to.
            if idle && self.current.is_some() {
                return Err(format!("nothing comes of {:?}", self.current));
            }
        } else if !idle {
            return Err("it is not idle".into());
        }
        self.model.eval().unwrap();
        let is = EVENTS.map(|name| self.get(&format!("ev_{name}")));
        if is != events {
            return Err(format!("{EVENTS:?} are {is:?}, not {events:?}"));
        }
        for (count, is) in self.seen.events.iter_mut().zip(is) {
            *count += is;
        }
        if idle && let Some(message) = &self.offered {
            if self.hold {
                self.seen.held += 1;
            } else {
                self.waited = 0;
                self.current = Some((message.clone(), Stage::Head));
            }
        }
        self.model.clock().unwrap();
        self.now = now + 1;
        Ok(())
    }
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let design = emit_block(&mut BulkServe::<S, 2, 5>::default()).unwrap();
        let files = design.files();
        wrong::library(&design.top, files, ("cfg_busy_hint", 16), BASE, &WRONG)
    })
}

/// One run, with a reset halfway; what it has seen beside what was seen before.
fn run(seed: u64, hint: u64, clocks: u64, seen: Seen) -> Result<Seen> {
    let mut bench = Bench::new(library(), seed, hint);
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

/// What is wrong in a message changes nothing but a counter; every good request is served once at a time, or refused, with its
/// own fields.
#[test]
fn bw_11_rw_20_messages_of_read_are_checked_and_requests_served_once() {
    let mut seen = Seen::default();
    for seed in seeds(13) {
        let before = seen.served;
        seen = run(seed, HINT, 60_000, seen).unwrap_or_else(|what| panic!("{what}"));
        assert!(seen.served > before + 10, "seed {seed}: {seen:?}");
    }
    println!("{seen:?}");
    // One seed alone need not show everything.
    if seeds(13).count() < 13 {
        return;
    }
    let counts = [
        seen.unwanted,
        seen.served,
        seen.served_again,
        seen.duplicates,
        seen.strange,
        seen.told,
        seen.told_stray,
        seen.held,
        seen.no_bytes,
        seen.overs,
    ];
    assert!(
        counts.iter().all(|count| *count > 100)
            && seen.events.iter().all(|count| *count > 100)
            && seen.at_limit.iter().all(|count| *count > 100),
        "{seen:?}"
    );
}

#[test]
fn bw_11_rw_20_every_wrong_server_of_reads_is_noticed() {
    wrong::every_is_noticed(&WRONG, |number| {
        let run = |seed| run(seed, BASE + number, 30_000, Seen::default());
        (0..6).try_for_each(|seed| run(seed).map(drop))
    });
}
