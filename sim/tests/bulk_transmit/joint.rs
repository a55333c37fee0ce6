//! `bulk_transmit` among work requests, regions, host memory that may fail, a network with faults, receivers of the model, and
//! peers that READ and are READ from.

mod asked;
mod ports;
mod reads;
mod receivers;
mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::bulk::{
    OPCODE_READ_REFUSED, OPCODE_READ_REQUEST, Purpose, ReadMessage, ReadRefused, ReadRequest,
    Refusal, Transfer,
};
use tributary_protocol::card::descriptor::{OPCODE_BULK_READ, OPCODE_BULK_WRITE, flags};
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::{
    ConnectStatus, Message, Output, Receiver, ReceiverConfig, Verdict, wire,
};
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::onesided::{H_ADDRESS, H_OPERATION, H_RKEY, Operation};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::{Model, Verilated};

use crate::network::{Faults, Network};

/// Clocks of a tick.
const TICK: u64 = 32;
const NODE: u32 = 0xA_0102;
/// Nodes that receive; any other is deaf.
const PEERS: [u32; 3] = [5, 0xF_0005, 0x8_00FF];
/// Clocks in which all transfers end that have begun.
const PATIENCE: u64 = 600_000;
/// Hint in busy answers to READ requests.
const BUSY_HINT: u16 = 100;
/// Rights, as card_regions has them.
const LOCAL_WRITE: u64 = 1;
const REMOTE_READ: u64 = 4;

/// How a run behaves.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub clocks: u64,
    pub stall: Profile,
    pub mtu: u64,
    pub faults: Faults,
    /// Reads of host memory that fail, in 1,000.
    pub unread: u32,
    /// Work requests that are wrong, in 1,000.
    pub wrong: u32,
    /// Clocks between two commands that end a queue pair or a region; 0: none.
    pub end_every: u64,
    /// Work requests that are READs, in 1,000.
    pub reads: u32,
    /// Clocks between two READ requests of peers; 0: none.
    pub asks: u64,
    /// Bytes of a transfer, at most.
    pub most: u32,
    /// Frames take the time that they take on a 64-bit line.
    pub line: bool,
}

/// What a run has covered.
#[derive(Debug, Default)]
pub struct Coverage {
    pub statuses: BTreeMap<u8, u64>,
    pub events: [u64; 32],
    pub local_errors: u64,
    pub read_failed: u64,
    pub bytes: u64,
    pub silent: u64,
    pub ends: u64,
    pub data: u64,
    /// DATA that left once or more: node, window, its incarnation, packet.
    pub packets: BTreeSet<(u32, u16, u32, u32)>,
    /// Clocks at which DATA left.
    pub left: Vec<u64>,
    /// READs of this host, by how they have ended.
    pub reads: BTreeMap<u8, u64>,
    /// CONNECTs that answer one, and such that answer none.
    pub answers: u64,
    pub no_answers: u64,
    /// READ requests of peers: whose every byte has come, that were judged, by verdict, and told busy.
    pub answered: u64,
    pub judged: [u64; 8],
    pub busy: u64,
    /// Of those that were answered, counted by the card, at least.
    pub doubtful: u64,
    pub clocks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    key: u32,
    domain: u16,
    base: u64,
    length: u64,
    rights: u64,
}

/// What a transfer is for.
#[derive(Clone, Debug)]
enum Kind {
    /// A WRITE of this host.
    Write,
    /// A READ of this host: it is asked for.
    Read(reads::Reading),
    /// It answers a READ request of a peer.
    Response(asked::Asked),
}

/// A work request or a READ request of a peer, its transfer, and what may become of it.
#[derive(Clone, Debug)]
struct Flow {
    kind: Kind,
    node: u32,
    length: u32,
    address: u64,
    there: u64,
    rkey: u32,
    key: u32,
    qpn: u32,
    peer: u32,
    q_key: u32,
    fields: BTreeMap<&'static str, u64>,
    notifies: bool,
    wanted: Outcome,
    /// Its memory or region has failed, or its peer has closed it.
    may: BTreeSet<u8>,
    /// Its queue pair has ended.
    flushed: bool,
    begun: bool,
    ended: Option<Outcome>,
    /// What its receiver has written.
    bytes: Vec<Option<u8>>,
}

struct Peer {
    node: u32,
    receiver: Receiver,
    /// Windows that are open, for which transfer, by its address.
    windows: BTreeMap<u16, u64>,
    /// Writes that are not done.
    writes: VecDeque<(u64, u16, u32)>,
}

/// A command: what it waits for, what ends, and windows of READs that are closed then.
#[derive(Clone, Copy, Debug)]
enum End {
    Holding,
    Ending { pair: bool, index: u32 },
    Closing,
}

type Result<T> = std::result::Result<T, String>;

pub struct Bench {
    model: Model,
    plan: Plan,
    rng: SmallRng,
    stalls: Stalls,
    now: u64,
    starting: bool,
    regions: Vec<Region>,
    /// Queue pairs here, their protection domain and Q_Key.
    pairs: Vec<(u32, u16, u32)>,
    peers: Vec<Peer>,
    flows: BTreeMap<u64, Flow>,
    by_address: BTreeMap<u64, u64>,
    next_id: u64,
    offered: Option<u64>,
    to_peers: Network<(u32, Bth, Vec<u8>)>,
    to_card: Network<(u32, Bth, Vec<u8>)>,
    /// Frames for those who send, and of READ; words of those that were taken.
    inbox: [VecDeque<(u32, Bth, Vec<u8>)>; 2],
    payload: [VecDeque<(u64, u64, bool)>; 2],
    answers: reads::Answers,
    asked: asked::Judge,
    looks: VecDeque<(u64, bool)>,
    reads: VecDeque<(u64, u64, usize, bool)>,
    leaving: VecDeque<(u32, Bth, Vec<u8>, usize)>,
    line: u64,
    end: Option<End>,
    /// Nothing more may begin.
    quiet: bool,
    pub coverage: Coverage,
}

/// A byte of host memory.
fn byte(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

impl Region {
    fn holds(&self, key: u32, domain: u16, addr: u64, bytes: u64) -> bool {
        let end = u128::from(addr) + u128::from(bytes);
        (key, domain) == (self.key, self.domain)
            && addr >= self.base
            && end <= u128::from(self.base) + u128::from(self.length)
    }
}

impl Flow {
    /// The right that its memory here needs.
    fn need(&self) -> u64 {
        match self.kind {
            Kind::Write => 0,
            Kind::Read(_) => LOCAL_WRITE,
            Kind::Response(_) => REMOTE_READ,
        }
    }

    /// Nothing more is expected of it.
    fn over(&self) -> bool {
        let answer = matches!(self.kind, Kind::Response(_));
        let silent = !self.may.is_empty() || self.wanted == Outcome::Unreachable;
        self.ended.is_some() || self.flushed || (answer && silent)
    }
}

impl Bench {
    pub fn new(library: &Verilated, plan: Plan) -> Self {
        let (rtt, allowance) = (64u32, 16u32);
        let config = ReceiverConfig {
            w: 64,
            r: 8,
            src_limit: tributary_protocol::red::address::NODES,
            slot_limit: 256,
            allowance,
            allowance_ticks: 16,
            retry_ticks: 100,
            tail_ticks: 40,
            idle_ticks: 20_000,
            busy_hint: 100,
            ..ReceiverConfig::default()
        };
        let peer = |node| Peer {
            node,
            receiver: Receiver::new(config.clone()).unwrap(),
            windows: BTreeMap::new(),
            writes: VecDeque::new(),
        };
        let region = |key, domain, base, length, rights| Region {
            key,
            domain,
            base,
            length,
            rights,
        };
        let mut bench = Self {
            model: library.model().unwrap(),
            plan,
            rng: SmallRng::seed_from_u64(plan.seed),
            stalls: Stalls::new(plan.stall, plan.seed, 4),
            now: 0,
            starting: true,
            regions: vec![
                region(0x0000_0357, 0x11, 0x7F00_1234_5003, 0x10_0000, 5),
                region(0x00FF_FF01, 0x2222, u64::MAX - 0xF_FFFF, 0x10_0000, 4),
                region(0x0012_3402, 0x11, 0x1_0000_0000 - 0x4_0000, 0x8_0000, 1),
                region(0x0000_7744, 0x2222, 0x60_0000_0001, 0x8_0000, 3),
            ],
            pairs: vec![
                (3, 0x11, 0x1357_9BDF),
                (5, 0x2222, 0xFFFF_0000),
                (9, 0x11, 7),
            ],
            peers: PEERS.map(peer).into(),
            flows: BTreeMap::new(),
            by_address: BTreeMap::new(),
            next_id: 1,
            offered: None,
            to_peers: Network::new(),
            to_card: Network::new(),
            inbox: Default::default(),
            payload: Default::default(),
            answers: reads::Answers::default(),
            asked: asked::Judge::default(),
            looks: VecDeque::new(),
            reads: VecDeque::new(),
            leaving: VecDeque::new(),
            line: 0,
            end: None,
            quiet: false,
            coverage: Coverage::default(),
        };
        for name in [
            "s_valid",
            "s_own_valid",
            "s_own_pl_valid",
            "s_read_valid",
            "s_read_pl_valid",
            "m_access_ready",
            "s_answer_valid",
            "s_answered_done",
            "s_answered_opened",
            "s_closed_valid",
            "s_look_valid",
            "s_rd_valid",
            "s_end_valid",
            "hold",
        ] {
            bench.set(name, 0);
        }
        let retry = rtt + 2 * allowance + 4;
        for (name, value) in [
            ("cfg_node", NODE.into()),
            ("cfg_incarnation", 0),
            ("cfg_mtu", plan.mtu),
            ("cfg_busy_hint", BUSY_HINT.into()),
            ("cfg_xid_before", 0xFFFF_FFF0),
            ("cfg_settled", (rtt + allowance).into()),
            ("cfg_allowance", allowance.into()),
            ("cfg_overtaken", (allowance / 2).into()),
            ("cfg_retry", retry.into()),
            ("cfg_known", (rtt + retry).into()),
            ("cfg_poll", (2 * rtt + 4 * allowance).into()),
            ("cfg_poll_max", (8 * (rtt + allowance)).into()),
            ("cfg_stall_poll", (rtt / 8).into()),
            ("cfg_early_poll", 1),
            ("cfg_max_polls", 6),
            ("cfg_max_busy", 10_000),
            ("cfg_fresh_every", 8),
            ("cfg_overrun", rtt.into()),
            ("cfg_echo", 1),
        ] {
            bench.set(name, value);
        }
        bench.model.reset(4).unwrap();
        for _ in 0..10_000 {
            if bench.is("ready") {
                break;
            }
            bench.model.clock().unwrap();
        }
        assert!(bench.is("ready"), "not ready after reset");
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) == 1
    }

    fn moves(&self, port: &str) -> bool {
        self.is(&format!("{port}_valid")) && self.is(&format!("{port}_ready"))
    }

    fn tick(&self) -> u64 {
        65_000 + self.now / TICK
    }

    /// How often the card was reset, as CONNECT says it.
    pub fn incarnation(&mut self, number: u64) {
        self.set("cfg_incarnation", number);
    }

    /// Runs the plan, and then until every work request has ended.
    pub fn run(&mut self) -> Result<()> {
        let told =
            |bench: &Self, e: String| format!("seed {} clock {}: {e}", bench.plan.seed, bench.now);
        while self.now < self.plan.clocks {
            self.clock().map_err(|e| told(self, e))?;
        }
        self.rest().map_err(|e| told(self, e))
    }

    /// Until every work request has ended.
    pub fn rest(&mut self) -> Result<()> {
        self.starting = false;
        let upto = self.now + PATIENCE;
        while self.offered.is_some() || self.end.is_some() || !self.flows.values().all(Flow::over) {
            if self.now > upto {
                let flow = self.flows.values().find(|flow| !flow.over());
                return Err(format!("{flow:?} never ends; {}", self.under_way()));
            }
            self.clock()?;
        }
        for _ in 0..30_000 {
            self.clock()?;
        }
        self.quiet = true;
        // Idle within 200 clocks, and from then on but for looks at messages, which still come: 5 clocks each.
        let mut busy = 0;
        for clock in 0..600 {
            self.clock()?;
            busy = if self.is("m_idle") { 0 } else { busy + 1 };
            if clock >= 200 && busy > 10 {
                return Err(format!("not idle at the end: {}", self.under_way()));
            }
        }
        self.coverage.clocks = self.now;
        let count =
            |of: BulkCounter| self.coverage.events[of as usize - BulkCounter::Completed as usize];
        let (data, once) = (self.coverage.data, self.coverage.packets.len() as u64);
        let [fresh, again] = [BulkCounter::DataSent, BulkCounter::DataResent].map(count);
        // A packet whose transfer ends or whose key fails is counted, and does not leave.
        if fresh < once || again < data - once {
            return Err(format!(
                "counted {fresh} DATA and {again} again; {data} left, of {once} packets"
            ));
        }
        let ok = self
            .coverage
            .statuses
            .get(&(Outcome::Ok as u8))
            .copied()
            .unwrap_or(0);
        let all: u64 = self.coverage.statuses.values().sum();
        let refused = [Outcome::LocalLength, Outcome::LocalOpcode].map(|status| {
            self.coverage
                .statuses
                .get(&(status as u8))
                .copied()
                .unwrap_or(0)
        });
        if count(BulkCounter::Completed) != ok
            || count(BulkCounter::Failed) > all - ok - refused.iter().sum::<u64>()
        {
            return Err(format!(
                "counted {:?} of {:?}",
                self.coverage.events, self.coverage.statuses
            ));
        }
        self.all_judged()
    }

    /// What waits, and for what.
    fn under_way(&self) -> String {
        let offered = [
            "s",
            "m",
            "m_pl",
            "m_rd",
            "m_cpl",
            "s_own",
            "s_own_pl",
            "s_read",
            "s_read_pl",
            "s_answer",
            "m_access",
            "s_end",
        ];
        let offered: Vec<_> = offered
            .into_iter()
            .filter(|port| self.is(&format!("{port}_valid")))
            .map(|port| (port, self.is(&format!("{port}_ready"))))
            .collect();
        let queues = [
            self.reads.len(),
            self.leaving.len(),
            self.looks.len(),
            self.inbox[0].len(),
            self.inbox[1].len(),
        ];
        format!(
            "offered {offered:?}, waiting {queues:?}, {:?}, {:?}",
            self.end, self.coverage.events
        )
    }

    pub fn clock(&mut self) -> Result<()> {
        if self.starting && self.offered.is_none() && self.rng.random_range(0..300) == 0 {
            self.post(None);
        }
        self.ask();
        self.receive()?;
        self.command();
        self.stalls.clock();
        self.drive();
        self.model.eval().map_err(|e| e.to_string())?;
        for (at, name) in ["m_valid", "m_pl_valid", "m_rd_valid", "m_cpl_valid"]
            .into_iter()
            .enumerate()
        {
            let last = at != 1 || self.is("m_pl_last");
            self.stalls.observe(at, self.is(name), last);
        }
        self.sample()?;
        self.model.clock().map_err(|e| e.to_string())?;
        self.now += 1;
        Ok(())
    }

    /// Everything comes to rest, then a queue pair ends, or a region is replaced; then windows of READs are closed.
    fn command(&mut self) {
        let every = self.plan.end_every;
        match self.end {
            None if every > 0 && self.starting && self.now % every == every - 1 => {
                self.end = Some(End::Holding)
            }
            Some(End::Holding)
                if self.is("m_idle") && self.reads.is_empty() && !self.answers.under_way() =>
            {
                self.end = Some(if self.rng.random() {
                    let at = self.rng.random_range(0..self.regions.len());
                    let region = &mut self.regions[at];
                    let old = region.key;
                    region.key = (old & !0xFF) | (old.wrapping_add(1) & 0xFF);
                    self.region_ends(old);
                    let index = old >> 8;
                    End::Ending { pair: false, index }
                } else {
                    let at = self.rng.random_range(0..self.pairs.len());
                    let index = self.pairs[at].0;
                    End::Ending { pair: true, index }
                });
            }
            Some(End::Closing) if !self.answers.closes() => self.end = None,
            _ => {}
        }
    }

    fn region_ends(&mut self, old: u32) {
        let ends = |flow: &&mut Flow| flow.key == old && flow.ended.is_none();
        for flow in self.flows.values_mut().filter(ends) {
            let refused =
                [Outcome::LocalLength, Outcome::LocalOpcode].contains(&flow.wanted) && !flow.begun;
            if !flow.begun
                && !refused
                && flow.length > 0
                && matches!(flow.kind, Kind::Write | Kind::Read(_))
            {
                flow.wanted = Outcome::LocalProtection;
            }
            let may = flow.may_end_with_region();
            flow.may.extend(may);
        }
    }
}
