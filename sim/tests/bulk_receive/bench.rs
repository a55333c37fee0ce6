//! `bulk_receive` in Verilator among senders, a network, regions and host memory.

mod flows;
mod frames;
mod notices;
mod ports;
mod reads;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::bulk::{Purpose, Transfer};
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::{
    Connect, ConnectStatus, Data, Message, Outcome, Request, Sender, Status, wire,
};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{Model, Port, Verilated};

use crate::network::{Faults, Network};
use crate::world::*;

/// Clocks of a tick.
const TICK: u64 = 32;
/// Clocks that a lookup takes.
const LOOKUP: u64 = 6;
/// Clocks for which the memory of a transfer that failed is not used again, where the host takes a word in each.
const REST: u64 = 20_000;
/// Bytes of memory for each transfer.
const AREA: u64 = 8_192;
/// Clocks in which all transfers end that have begun.
const PATIENCE: u64 = 2_000_000;
/// A node without transfers.
const NOBODY: u32 = 0xF_0F0F;

/// How a run behaves.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub clocks: u64,
    pub stall: Profile,
    /// Clocks between two packets of a sender.
    pub gap: u64,
    pub faults: Faults,
    /// Chance in 1,000 clocks of a frame that nobody should act upon.
    pub forge: u32,
    /// Clocks between two commands that end a queue pair or a region; 0: none.
    pub end_every: u64,
    /// Clocks between two resets; 0: none.
    pub reset_every: u64,
    /// Clocks between two transfers that their senders give up; 0: none.
    pub cancel_every: u64,
    /// Transfers in 1,000 that are to be refused.
    pub wrong: u32,
    pub busy_hint: u16,
    /// Ticks that a transfer waits for a receive request.
    pub patience: u16,
    pub twice: bool,
}

/// What a run has covered.
#[derive(Debug, Default)]
pub struct Coverage {
    pub outcomes: BTreeMap<Outcome, u64>,
    pub classes: BTreeMap<Class, u64>,
    pub events: [u64; 32],
    pub bytes: u64,
    pub ends: u64,
    pub resets: u64,
    pub clocks: u64,
    /// Notifications that hosts got.
    pub told: u64,
    /// READs of the host: answered, and ended with every byte in memory; CONNECTs that answer none.
    pub answered: u64,
    pub read: u64,
    pub unasked: u64,
    /// CONNECTs that answer one and get no window, once or for ever.
    pub windowless: u64,
    /// READ requests of others, by verdict, and those that were judged while a command waited.
    pub judged: [u64; 8],
    pub held: u64,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
enum End {
    Holding,
    Ending { pair: bool, index: u32 },
}

pub struct Bench {
    model: Model,
    ports: HashMap<String, Port>,
    plan: Plan,
    rng: SmallRng,
    now: u64,
    pairs: Vec<Pair>,
    regions: Vec<Region>,
    peers: Vec<Peer>,
    flows: Vec<Flow>,
    next_tag: u32,
    to_card: Network<Frame>,
    to_peers: Network<(u32, Message)>,
    inbox: VecDeque<Frame>,
    payload: Words,
    /// What other nodes were told.
    heard: Vec<Message>,
    /// Frames that were sent last.
    recent: VecDeque<Frame>,
    own: VecDeque<Frame>,
    own_words: Words,
    looks: VecDeque<(u64, bool)>,
    writes: VecDeque<Write>,
    done: VecDeque<u64>,
    leaving: VecDeque<(u32, Bth, usize, Vec<u8>)>,
    contexts: VecDeque<(u32, u8, u64)>,
    end: Option<End>,
    telling: notices::Telling,
    /// READs of the host, by their token.
    reads: BTreeMap<u64, reads::Read>,
    windows: reads::Windows,
    /// A CONNECT that is to be judged at this clock, and the READ that one is found to answer until it is done.
    asking: Option<u64>,
    answering: Option<u64>,
    /// A READ request of others, and since when.
    access: Option<(reads::Access, u64)>,
    read_frames: VecDeque<Frame>,
    read_words: Words,
    stalls: Stalls,
    starting: bool,
    pub coverage: Coverage,
}

type Result<T> = std::result::Result<T, String>;

impl Bench {
    pub fn new(library: &Verilated, plan: Plan) -> Self {
        let model = library.model().unwrap();
        let ports = library
            .ports()
            .map(|(name, port)| (name.to_owned(), port))
            .collect();
        let pairs = [
            (3, 3, 0x11, 0x1357_9BDF),
            (5, 2, 0x2222, 0xFFFF_0000),
            (15, 3, 0x11, 0x8000_0001),
            (7, 1, 0x11, 0x7777_7777),
            (9, 6, 0x11, 0x9999_9999),
        ];
        let regions = [
            (0, 0x7F00_1234_5003, 0x1_0000, 0x11, 7),
            (0xFF_FFFF, u64::MAX - 0xFFFF, 0x1_0000, 0x2222, REMOTE_WRITE),
            (2, 0x5_0000, 0x1_0000, 0x11, REMOTE_READ),
            (0x12_3456, 0x1_0000_0000 - 0x4000, 0x8000, 0x11, 3),
            (
                0x77,
                0x60_0000_0001,
                0x8000,
                0x2222,
                LOCAL_WRITE | REMOTE_READ,
            ),
        ];
        let peers = [0x3_0005, 0xC_0005].map(|node| Peer {
            node,
            sender: Sender::new(sender(node, 16)).unwrap(),
        });
        let mut bench = Self {
            model,
            ports,
            plan,
            rng: SmallRng::seed_from_u64(plan.seed),
            now: 0,
            pairs: pairs
                .map(|(qpn, state, domain, q_key)| Pair {
                    qpn,
                    state,
                    domain,
                    q_key,
                })
                .to_vec(),
            regions: regions
                .map(|(index, base, size, domain, rights)| Region {
                    index,
                    variant: 0x5A,
                    domain,
                    base,
                    rights,
                    bytes: vec![0; size],
                })
                .to_vec(),
            peers: peers.into(),
            flows: vec![],
            next_tag: 1,
            to_card: Network::new(),
            to_peers: Network::new(),
            inbox: VecDeque::new(),
            payload: VecDeque::new(),
            heard: vec![],
            recent: VecDeque::new(),
            own: VecDeque::new(),
            own_words: VecDeque::new(),
            looks: VecDeque::new(),
            writes: VecDeque::new(),
            done: VecDeque::new(),
            leaving: VecDeque::new(),
            contexts: VecDeque::new(),
            end: None,
            telling: notices::Telling::default(),
            reads: BTreeMap::new(),
            windows: reads::Windows::default(),
            asking: None,
            answering: None,
            access: None,
            read_frames: VecDeque::new(),
            read_words: VecDeque::new(),
            stalls: Stalls::new(plan.stall, plan.seed, 8),
            starting: true,
            coverage: Coverage::default(),
        };
        for (name, value) in [
            ("cfg_allowance", 16),
            ("cfg_allowance_ticks", 16),
            ("cfg_retry_ticks", 100),
            ("cfg_tail_ticks", 40),
            ("cfg_idle_ticks", 20_000),
            ("cfg_patience", plan.patience.into()),
            ("cfg_busy_hint", plan.busy_hint.into()),
            ("cfg_twice", plan.twice.into()),
        ] {
            bench.set(name, value);
        }
        bench.reset();
        bench
    }

    /// Everything that waits in the card is gone. Transfers that have a window lose it; those that have none yet may go on.
    fn reset(&mut self) {
        for name in [
            "s_valid",
            "s_pl_valid",
            "s_done",
            "s_look_valid",
            "s_end_valid",
            "s_access_valid",
            "m_answer_ready",
            "cfg_valid",
            "hold",
            "m_notify_begins",
            "m_notify_ready",
            "m_notify_told",
        ] {
            self.set(name, 0);
        }
        self.model.reset(4).unwrap();
        for _ in 0..10_000 {
            if self.is("ready") {
                break;
            }
            self.model.clock().unwrap();
        }
        assert!(self.is("ready"), "not ready after reset");
        (self.inbox, self.own) = (VecDeque::new(), VecDeque::new());
        (self.payload, self.own_words) = (Words::new(), Words::new());
        (self.looks, self.writes, self.done) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        (self.leaving, self.contexts, self.end) = (VecDeque::new(), VecDeque::new(), None);
        self.telling = notices::Telling::default();
        self.forget_reads();
        self.coverage.resets += u64::from(self.now > 0);
        for flow in self.flows.iter_mut().filter(|flow| flow.ended.is_none()) {
            flow.may_end = true;
            let peer = self.peers.iter().find(|peer| peer.node == flow.node);
            flow.closed |= peer.is_some_and(|peer| peer.sender.connected(flow.slot));
        }
        for at in 0..self.pairs.len() {
            self.tell_pair(at);
        }
    }

    fn tell_pair(&mut self, at: usize) {
        let pair = self.pairs[at];
        let shape = u64::from(pair.domain) << 32 | u64::from(pair.state);
        self.contexts.push_back((pair.qpn, 1, pair.q_key.into()));
        self.contexts.push_back((pair.qpn, 0, shape));
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.ports[name];
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.ports[name])
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// Clocks for which the memory of a transfer that failed is not used again: frames of it may wait.
    fn rest(&self) -> u64 {
        match self.plan.stall {
            Profile::OneIn(clocks) => REST * u64::from(clocks),
            _ => REST,
        }
    }

    fn chance(&mut self, of_1000: u32) -> bool {
        self.rng.random_range(0..1_000) < of_1000
    }

    fn tick(&self) -> u64 {
        65_000 + self.now / TICK
    }

    /// Runs the plan, and then until every transfer has ended.
    pub fn run(&mut self) -> Result<()> {
        let plan = self.plan;
        let told = |e: String, now| format!("seed {} clock {now}: {e}", plan.seed);
        while self.now < plan.clocks {
            self.clock().map_err(|e| told(e, self.now))?;
        }
        self.starting = false;
        let upto = self.now + PATIENCE;
        while !self.at_rest() {
            if self.now > upto {
                let flow = self.flows.iter().find(|flow| flow.ended.is_none());
                return Err(told(
                    format!("{flow:?} never ends; {}", self.under_way()),
                    self.now,
                ));
            }
            self.clock().map_err(|e| told(e, self.now))?;
        }
        self.finish().map_err(|e| told(e, self.now))
    }

    /// Clocks for each packet of a transfer of `packets` of 2^`mtu` bytes that come one behind the other.
    pub fn rate(&mut self, mtu: u8, packets: u32) -> Result<f64> {
        self.starting = false;
        let region = &self.regions[0];
        let request = Request {
            dst: 1,
            addr: region.base + 3,
            rkey: region.key(),
            length: packets << mtu,
            mtu,
            oldest_first: false,
        };
        let pair = self.pairs[0];
        let flow = Flow {
            tag: 77,
            node: 0xA_0AAA,
            slot: 3,
            xid: 9,
            request,
            header: Transfer {
                qpn: pair.qpn,
                source: 1,
                q_key: pair.q_key,
                purpose: Purpose::Write,
            },
            wanted: Outcome::Ok,
            may_end: false,
            closed: false,
            area: Some((0, 0)),
            ended: None,
            told: 0,
            refused: 0,
        };
        self.flows.push(flow.clone());
        let connect = Message::Connect(Connect {
            src: flow.node,
            slot: flow.slot,
            xid: flow.xid,
            incarnation: 0,
            length: request.length,
            addr: request.addr,
            rkey: request.rkey,
            mtu,
        });
        self.inbox.push_back(frame_of(flow.node, &connect, &flow));
        let granted = loop {
            self.clock()?;
            if let Some(Message::ConnectResp(m)) = self.heard.first() {
                break *m;
            }
            if self.now > 10_000 {
                return Err("no window".into());
            }
        };
        for pidx in 0..packets {
            let data = Message::Data(Data {
                src: flow.node,
                wptr: granted.wptr,
                r#gen: granted.r#gen,
                pidx,
                tail: pidx + 1 == packets,
                round: 0,
                len: 1 << mtu,
            });
            self.inbox.push_back(frame_of(flow.node, &data, &flow));
        }
        let from = self.now;
        while !self.inbox.is_empty() || !self.payload.is_empty() {
            self.clock()?;
        }
        let clocks = self.now - from;
        for _ in 0..5_000 {
            self.clock()?;
        }
        let done = |m: &Message| matches!(m, Message::Complete(m) if m.status == Status::Ok);
        if !self.heard.iter().any(done) {
            return Err(format!("not complete: {:?}", self.heard.last()));
        }
        Ok(clocks as f64 / f64::from(packets))
    }

    fn at_rest(&self) -> bool {
        self.flows.iter().all(|flow| flow.ended.is_some())
            && self.to_card.flying.is_empty()
            && self.to_peers.flying.is_empty()
            && self.inbox.is_empty()
            && self.payload.is_empty()
            && self.own_words.is_empty()
            && self.read_words.is_empty()
            && self.access.is_none()
            && self.writes.is_empty()
            && self.done.is_empty()
            && self.leaving.is_empty()
            && self.end.is_none()
    }

    fn finish(&mut self) -> Result<()> {
        for _ in 0..20_000 {
            self.clock()?;
        }
        let count = |of| self.coverage.events[of as usize - BulkCounter::Completed as usize];
        for (class, counter) in [
            (Class::Bad, BulkCounter::BadMessage),
            (Class::Stray, BulkCounter::Stray),
        ] {
            let of = |class| self.coverage.classes.get(&class).copied().unwrap_or(0);
            let want = of(class);
            // An ABORT of no transfer under way is a stray, too.
            let more = [0, of(Class::Abort)][usize::from(class == Class::Stray)];
            // A reset may come between a frame and what is counted of it.
            let got = count(counter);
            if got > want + more || got + self.coverage.resets < want {
                return Err(format!("{counter}: {got}, of {want} {class:?}"));
            }
        }
        let ok = self.coverage.outcomes.get(&Outcome::Ok).copied();
        if count(BulkCounter::Received) < ok.unwrap_or(0) {
            return Err(format!("{ok:?} ended well, fewer were received"));
        }
        self.reads_over()?;
        self.aborts_of_nothing()?;
        self.coverage.clocks = self.now;
        Ok(())
    }

    /// Each ABORT of a transfer that never was is counted, and of other frames no more than may be.
    fn aborts_of_nothing(&mut self) -> Result<()> {
        const SENT: u64 = 5;
        let counted = |bench: &Self| {
            let stray = BulkCounter::Stray as usize - BulkCounter::Completed as usize;
            let taken = [Class::Abort, Class::Stray]
                .map(|class| bench.coverage.classes.get(&class).copied().unwrap_or(0));
            (bench.coverage.events[stray], taken.iter().sum::<u64>())
        };
        let before = counted(self);
        for xid in 0..SENT as u32 {
            let message = Message::Abort(tributary_protocol::rw::Abort {
                src: NOBODY,
                slot: 255,
                xid,
                reason: tributary_protocol::rw::Reason::GaveUp,
            });
            self.inbox.push_back(Frame::of(NOBODY, &message, &[]));
        }
        for _ in 0..4_000 {
            self.clock()?;
        }
        let after = counted(self);
        // What this asked for is of no frame of the run.
        self.coverage.events[BulkCounter::Stray as usize - BulkCounter::Completed as usize] =
            before.0;
        let (got, taken) = (after.0 - before.0, after.1 - before.1);
        if taken < SENT || !(SENT..=taken).contains(&got) {
            return Err(format!(
                "{got} strays, of {taken} and {SENT} ABORTs of nothing"
            ));
        }
        Ok(())
    }

    fn clock(&mut self) -> Result<()> {
        self.senders()?;
        self.arrivals();
        self.command();
        let every = self.plan.reset_every;
        if every > 0 && self.starting && self.now % every == every - 1 {
            self.reset();
        }
        self.stalls.clock();
        self.drive();
        self.model.eval().map_err(|e| e.to_string())?;
        self.notices()?;
        self.sample()?;
        self.model.clock().map_err(|e| e.to_string())?;
        self.now += 1;
        Ok(())
    }
}
