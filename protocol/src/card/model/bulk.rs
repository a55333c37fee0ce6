//! Bulk transfers (BW-1 to BW-12): the sender and the receiver of [`crate::rw`], joined to queue pairs, regions and host memory.
//!
//! Requests of this host are in `requests`, what comes from the line is in `incoming`, payload into host memory and notifications in
//! `landing`, packets for the line in `outgoing`, marks in `congestion`, and what ends a transfer from outside in `ends`.

mod congestion;
mod ends;
mod incoming;
mod landing;
mod outgoing;
mod requests;
pub mod times;

use std::collections::{BTreeMap, VecDeque};

use super::{CardModel, HostMemory};
use crate::bulk::watch::Watch;
use crate::bulk::{Purpose, Transfer};
use crate::card::descriptor::Completion;
use crate::card::regs::{BulkCounter, CongestionCounter};
use crate::red::address::NODES;
use crate::rw::pace::PaceConfig;
use crate::rw::{Receiver, ReceiverConfig, Sender, SenderConfig, WriteCmd};
use crate::xud::{ConfigError, Outcome, Peer};
pub(super) use requests::Begun;
use requests::Reading;
use times::Times;

/// Packets of transfers that are made ready while others are on the line.
const READY: usize = 2;
/// Packets that may wait for host memory; more are dropped, and sent again.
const LANDING: usize = 256;
/// Messages of the receiving side that may wait for the line; more are dropped, and sent again.
const CONTROL: usize = 1_024;
/// Largest number of the first counter of bulk transfers.
const FIRST_COUNTER: u8 = BulkCounter::ALL[0].code();

/// How large the engines of bulk transfers are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkConfig {
    /// S, transfers sent at once: 1 to 256 (BW-4).
    pub slots: u16,
    /// Reads of this host under way at once, 1 to 256.
    pub reads: u16,
    /// R, transfers received at once, 1 to 4,096.
    pub windows: u16,
    /// W, packets that a window covers: 8 to 32,768.
    pub packets: u16,
    /// Entries of peers, above R (BW-10).
    pub peers: u32,
    /// Rate of the line, Mb/s.
    pub line_mbps: u32,
    /// Groups of schedule rings (MB-16), 0 to 64; 0: the card has no rings.
    pub groups: u16,
    /// Whether it looks at marks of switches, and slows down (CL-4), once its driver wants it to.
    pub congestion: bool,
    /// Deliberate errors.
    pub mutations: BulkMutations,
}

/// Deliberate errors, all off by default. Tests switch one on and show what catches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkMutations {
    /// Windows are given without a look at key, right and bounds (against BW-2).
    pub no_connect_check: bool,
    /// The Q_Key of CONNECT is not looked at (against BW-2).
    pub any_q_key: bool,
    /// CLEAR_REGION leaves windows open (against BW-2).
    pub keep_windows: bool,
    /// A packet that is sent again is read without a look at its key (against BW-5).
    pub no_second_check: bool,
    /// The notification is written before the last packet is (against BW-3).
    pub early_notify: bool,
    /// A fence is not looked at (against BW-12).
    pub no_fence: bool,
    /// Transfers go on with the numbers of before a reset (against BW-9).
    pub same_numbers: bool,
    /// Transfers that were slowed down stay so (against CL-4).
    pub no_recovery: bool,
    /// Anybody may slow down a transfer (against CL-4).
    pub slowed_by_strangers: bool,
}

impl Default for BulkConfig {
    /// 16 slots, 16 reads, 64 windows of 256 packets, 1,024 entries of peers, 100 Gb/s, rings of 16 groups, marks.
    fn default() -> Self {
        Self {
            slots: 16,
            reads: 16,
            windows: 64,
            packets: 256,
            peers: 1_024,
            line_mbps: 100_000,
            groups: 16,
            congestion: true,
            mutations: BulkMutations::default(),
        }
    }
}

impl BulkConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let fields = [
            ("slots", u64::from(self.slots), 1, 256),
            ("reads", self.reads.into(), 1, 256),
            ("windows", self.windows.into(), 1, 4_096),
            ("packets", self.packets.into(), 8, 1 << 15),
            (
                "peers",
                self.peers.into(),
                u64::from(self.windows) + 1,
                1 << 20,
            ),
            ("line_mbps", self.line_mbps.into(), 1, u32::MAX.into()),
            ("groups", self.groups.into(), 0, 64),
        ];
        fields
            .into_iter()
            .try_for_each(|(name, value, min, max)| ConfigError::check(name, value, min, max))
    }
}

/// What a transfer that is sent is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A work request of this host, with its completion but for the status.
    Write(Completion),
    /// A READ request of the peer.
    Response,
}

/// A transfer that is sent, by the slot of the sender.
#[derive(Clone, Copy, Debug)]
struct Work {
    what: What,
    /// Queue pair of this card.
    qpn: u32,
    domain: u16,
    /// Memory of this host and its key.
    address: u64,
    key: u32,
    to: Peer,
    header: Transfer,
    /// How it ends, if this card ends it.
    ends_as: Option<Outcome>,
}

/// What time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// As bulk transfers count it.
    Bulk(BulkCounter),
    /// No transfer may send yet (CL-4).
    Pace,
}

/// A window that is open: what it is for.
#[derive(Clone, Copy, Debug)]
struct Window {
    qpn: u32,
    key: u32,
    from: Peer,
    purpose: Purpose,
    /// Every byte is in memory since this tick, and nobody takes the notification.
    waits_since: Option<u64>,
}

/// The engines of a card.
#[derive(Clone, Debug)]
pub(super) struct Bulk {
    config: BulkConfig,
    times: Times,
    /// How often the card was reset.
    incarnation: u16,
    node: u32,
    sender: Sender,
    receiver: Receiver,
    works: BTreeMap<u16, Work>,
    reads: Vec<Option<Reading>>,
    /// READ requests ever made.
    asked: u32,
    windows: BTreeMap<u16, Window>,
    landing: VecDeque<(WriteCmd, Vec<u8>)>,
    /// Completions that wait to be written, by queue pair; their slots are reserved.
    ended: VecDeque<(u32, Completion)>,
    /// Frames of the receiving side for the line.
    control: VecDeque<Vec<u8>>,
    /// Frames of the sending side.
    ready: VecDeque<Vec<u8>>,
    counters: [u64; BulkCounter::ALL.len()],
    congestion: BTreeMap<CongestionCounter, u64>,
    /// How transfers slow down, if they do.
    pace: Option<PaceConfig>,
    /// Who is told of marks.
    watch: Watch,
    /// What time goes to, since when, ns.
    waits: [Option<Wait>; 2],
    since: u64,
    /// Something has come since the last step.
    arrived: bool,
    /// Tick of the last sweep.
    swept: u64,
}

impl Bulk {
    /// Engines after a reset; the card was reset `incarnation` times.
    pub fn new(config: BulkConfig, incarnation: u16) -> Result<Self, ConfigError> {
        config.check()?;
        let times = Times::default();
        let sender = Sender::new(SenderConfig {
            slots: config.slots,
            incarnation,
            // Numbers of other incarnations are far away: a late answer to one of these names no transfer of this one.
            first_xid: if config.mutations.same_numbers {
                1
            } else {
                u32::from(incarnation) << 16 | 1
            },
            ..SenderConfig::default()
        });
        let receiver = Receiver::new(ReceiverConfig {
            w: config.packets.into(),
            r: config.windows.into(),
            src_limit: NODES,
            slot_limit: 256,
            peers: Some(config.peers),
            ..ReceiverConfig::default()
        });
        let mut bulk = Self {
            config,
            times,
            incarnation,
            node: 0,
            sender: sender?,
            receiver: receiver?,
            works: BTreeMap::new(),
            reads: vec![None; config.reads.into()],
            asked: 0,
            windows: BTreeMap::new(),
            landing: VecDeque::new(),
            ended: VecDeque::new(),
            control: VecDeque::new(),
            ready: VecDeque::new(),
            counters: [0; BulkCounter::ALL.len()],
            congestion: BTreeMap::new(),
            pace: None,
            watch: Watch::default(),
            waits: [None; 2],
            since: 0,
            arrived: false,
            swept: 0,
        };
        bulk.set_times(times);
        Ok(bulk)
    }

    /// The same after another reset.
    pub fn reset(&self) -> Result<Self, ConfigError> {
        Self::new(self.config, self.incarnation.wrapping_add(1))
    }

    pub fn config(&self) -> &BulkConfig {
        &self.config
    }

    pub fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// Another incarnation, given by the driver; and who this card is.
    pub fn set_identity(&mut self, node: u32, incarnation: u16) {
        (self.node, self.incarnation) = (node, incarnation);
        self.set_times(self.times);
    }

    /// Other times.
    pub fn set_times(&mut self, times: Times) {
        self.times = times;
        self.sender.reconfigure(SenderConfig {
            src: self.node,
            incarnation: self.incarnation,
            pace: self.pace,
            ..times.sender()
        });
        self.receiver.reconfigure(&times.receiver());
    }

    /// What the registers say of time; it holds from the last step on.
    pub fn change_times(&mut self, tick_ns: u64, round_trip: u32, allowance: u32) {
        let times = self
            .times
            .change(tick_ns, round_trip, allowance, self.since);
        self.set_times(times);
    }

    /// A counter.
    pub fn counter(&self, counter: BulkCounter) -> u64 {
        let sent = self.sender.stats();
        match counter {
            BulkCounter::DataSent => sent.fresh,
            BulkCounter::DataResent => sent.resent,
            BulkCounter::Forgotten => self.receiver.stats().forgotten,
            own => self.counters[usize::from(own.code() - FIRST_COUNTER)],
        }
    }

    fn count(&mut self, counter: BulkCounter) {
        self.add(counter, 1);
    }

    fn add(&mut self, counter: BulkCounter, count: u64) {
        self.counters[usize::from(counter.code() - FIRST_COUNTER)] += count;
    }

    /// Windows that are open, transfers that are sent, reads under way, and packets that wait for memory.
    pub fn under_way(&self) -> [usize; 4] {
        let reads = self.reads.iter().flatten().count();
        [
            self.windows.len(),
            self.works.len(),
            reads,
            self.landing.len(),
        ]
    }

    /// Whether windows, peers and slots agree with each other.
    pub fn consistent(&self) -> Result<(), String> {
        self.receiver.check()?;
        let open = (0..self.config.windows).filter(|wptr| self.receiver.transfer(*wptr).is_some());
        if !open.eq(self.windows.keys().copied()) {
            return Err("a window is open for nobody".into());
        }
        if self.works.len() != self.sender.active() {
            return Err("a slot is taken by nobody".into());
        }
        Ok(())
    }

    /// Fences are not looked at (mutation).
    pub fn ignores_fences(&self) -> bool {
        self.config.mutations.no_fence
    }

    /// Nothing waits for host memory.
    pub fn is_at_rest(&self) -> bool {
        self.landing.is_empty() && self.ended.is_empty()
    }

    /// Payload into memory, notifications, completions.
    pub fn land(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory, now: u64) {
        let tick = self.times.tick(now);
        self.land_all(card, memory);
        self.notify_waiting(card, memory, tick);
        self.complete_ended(card, memory);
    }

    /// Timers, and packets for the line.
    pub fn work(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory, now: u64) {
        let tick = self.times.tick(now);
        self.sweep(tick);
        self.ask(tick);
        if card.pci.bus_master {
            self.make_ready(card, memory, tick);
            self.complete_ended(card, memory);
        }
        self.account(card.pci.bus_master, card.config.clock_ns, now);
    }

    fn complete_ended(&mut self, card: &mut CardModel, memory: &mut dyn HostMemory) {
        while let Some((qpn, completion)) = self.ended.pop_front() {
            card.complete(qpn, completion, memory);
            card.tell_rings_ended(qpn, completion.status);
        }
    }
}

impl CardModel {
    /// Does something with the engines of bulk transfers, if the card has any.
    pub(super) fn with_bulk<T>(
        &mut self,
        act: impl FnOnce(&mut Bulk, &mut Self) -> T,
    ) -> Option<T> {
        let mut bulk = self.bulk.take()?;
        let result = act(&mut bulk, self);
        self.bulk = Some(bulk);
        Some(result)
    }
}
