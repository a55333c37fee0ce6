//! Executable model of the whole card behind its BAR: what host software and the network see of it, register by register, ring
//! entry by ring entry, frame by frame.
//!
//! It is the reference for the RTL and the card of simulations. The datagram engine is [`crate::xud::Card`]; here are the
//! registers, the rings in host memory, the regions and the interrupts around it. Time is in nanoseconds and comes with each call.
//! A command that was written and all work on rings happen in [`CardModel::step`], so nothing else touches host memory.

mod bar;
mod bulk;
mod command;
mod congestion;
mod interrupt;
pub mod line;
mod memory;
mod onesided;
mod queue;
mod receive;
mod reduction;
mod regions;
mod rings;
mod send;

use std::collections::{BTreeMap, VecDeque};

use super::descriptor::Completion;
use super::regs::{BULK_SHARE, BULK_SHARE_OF_256, BulkCounter, Counter, STATUS, STATUS_BUSY};
use crate::roce::{self, Link};
use crate::xud::{Card, CardConfig, ConfigError, Drop, wire};
use bar::Registers;
use bulk::Bulk;
pub use bulk::{BulkConfig, BulkMutations, times as bulk_times};
use congestion::Marks;
use interrupt::Interrupts;
use line::{Line, Source};
pub use memory::{HostMemory, Unanswered};
use queue::Queue;
use reduction::Reductions;
use regions::Regions;
use rings::Rings;

/// Frames of requests that wait for the line; with more, no work request is fetched.
const OUT_MAX: usize = 16;

/// How large a card is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelConfig {
    /// log2 of the number of queue pairs, at most 16.
    pub qps_log: u8,
    /// log2 of the number of regions, at most 16.
    pub regions_log: u8,
    /// log2 of the places of the in-flight table, at most 16.
    pub in_flight_log: u8,
    /// log2 of the number of interrupt vectors, at most 3.
    pub vectors_log: u8,
    /// Length of a clock, ns: the unit of the registers `timeout_unit` and `moderation`.
    pub clock_ns: u64,
    /// Engines of bulk transfers, if it has any.
    pub bulk: Option<BulkConfig>,
    /// Queue pairs that can be in reduction groups at once; 0: none (CL-5).
    pub groups: usize,
}

impl Default for ModelConfig {
    /// 64 queue pairs, 64 regions, 4,096 places, 8 vectors, 125 MHz, bulk transfers, and all queue pairs in groups.
    fn default() -> Self {
        Self {
            qps_log: 6,
            regions_log: 6,
            in_flight_log: 12,
            vectors_log: 3,
            clock_ns: 8,
            bulk: Some(BulkConfig::default()),
            groups: 64,
        }
    }
}

impl ModelConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fields = [
            ("qps_log", self.qps_log.into(), 0, 16),
            ("regions_log", self.regions_log.into(), 0, 16),
            ("in_flight_log", self.in_flight_log.into(), 0, 16),
            ("vectors_log", self.vectors_log.into(), 0, 3),
            ("clock_ns", self.clock_ns, 1, 1_000),
        ];
        fields
            .into_iter()
            .try_for_each(|(name, value, min, max)| ConfigError::check(name, value, min, max))?;
        self.bulk.map_or(Ok(()), |bulk| bulk.check())
    }

    fn engine(&self) -> CardConfig {
        CardConfig {
            mtu: 4_096,
            table: 1 << self.in_flight_log,
            ..CardConfig::default()
        }
    }
}

/// What the host has set in the card's configuration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciState {
    /// The card may read and write host memory; otherwise all that needs it waits.
    pub bus_master: bool,
    /// MSI-X is on.
    pub msix_enable: bool,
    /// All vectors are masked.
    pub msix_mask: bool,
}

impl Default for PciState {
    /// As an operating system leaves a card that a driver has opened.
    fn default() -> Self {
        Self {
            bus_master: true,
            msix_enable: true,
            msix_mask: false,
        }
    }
}

/// A card.
#[derive(Clone, Debug)]
pub struct CardModel {
    config: ModelConfig,
    pci: PciState,
    engine: Card,
    registers: Registers,
    queues: BTreeMap<u32, Queue>,
    regions: Regions,
    interrupts: Interrupts,
    /// Own counters, by code; those of the engine are read from it.
    counters: [u64; Counter::ALL.len()],
    /// Requests for the line.
    out: VecDeque<Vec<u8>>,
    /// Queue pair that sent last.
    turn: u32,
    /// Who sends next.
    line: Line,
    bulk: Option<Box<Bulk>>,
    reductions: Option<Box<Reductions>>,
    rings: Option<Box<Rings>>,
    marks: Option<Box<Marks>>,
}

impl CardModel {
    /// A card after power-up.
    ///
    /// # Errors
    /// A size out of its range.
    pub fn new(config: ModelConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let mut card = Self {
            config,
            pci: PciState::default(),
            engine: Card::new(config.engine())?,
            registers: Registers::default(),
            queues: BTreeMap::new(),
            regions: Regions::new(config.regions_log),
            interrupts: Interrupts::new(1 << config.vectors_log),
            counters: [0; Counter::ALL.len()],
            out: VecDeque::new(),
            turn: 0,
            line: Line::new(BULK_SHARE_OF_256.get(BULK_SHARE.reset)),
            bulk: None,
            reductions: (config.groups > 0).then(Box::default),
            rings: None,
            marks: None,
        };
        if let Some(bulk) = config.bulk {
            card.bulk = Some(Box::new(Bulk::new(bulk, 0)?));
            card.marks = bulk.congestion.then(Box::default);
            card.rings = (bulk.groups > 0).then(|| Box::new(Rings::new(bulk.groups)));
            card.registers.set_bulk(card.bulk.as_deref());
            card.set_bulk_times();
        }
        card.set_line();
        Ok(card)
    }

    /// Function-level reset: as after power-up, but that no epoch is handed out again (XUD-6).
    pub fn reset(&mut self) {
        let pci = self.pci;
        let bulk = self.bulk.take().map(|bulk| bulk.reset());
        if let (Ok(mut fresh), Ok(bulk)) = (Self::new(self.config), bulk.transpose()) {
            self.engine.reset();
            std::mem::swap(&mut fresh.engine, &mut self.engine);
            fresh.bulk = bulk.map(Box::new);
            fresh.registers.set_bulk(fresh.bulk.as_deref());
            *self = Self { pci, ..fresh };
            self.set_line();
            self.set_bulk_times();
        }
    }

    /// How large it is built.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// What the host sets in configuration space.
    pub fn set_pci(&mut self, pci: PciState) {
        self.pci = pci;
    }

    /// A counter.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        let stats = self.engine.stats();
        let drops = |reason| stats.drops.of(reason);
        match counter {
            Counter::Sent => self.counters[usize::from(counter.code())] + stats.answers_sent,
            Counter::OneSided => stats.one_sided,
            Counter::OneSidedDuplicate => drops(Drop::OneSidedDuplicate),
            Counter::OneSidedAhead => drops(Drop::OneSidedAhead),
            Counter::OneSidedRefused => drops(Drop::OneSidedRefused),
            Counter::OneSidedFailed => drops(Drop::OneSidedFailed),
            Counter::AcksSent => stats.acks_sent,
            Counter::Accepted => stats.accepted,
            Counter::Acknowledged => stats.acknowledged,
            Counter::Timeouts => stats.timeouts,
            Counter::AckOverload => stats.ack_overload,
            Counter::BadFrame => drops(Drop::BadFrame),
            Counter::NotXud => drops(Drop::NotXud),
            Counter::BadOpcode => drops(Drop::BadOpcode),
            Counter::BadHeader => drops(Drop::BadHeader),
            Counter::BadQp => drops(Drop::BadQp),
            Counter::BadKey => drops(Drop::BadKey),
            Counter::BadLength => drops(Drop::BadLength),
            Counter::StaleEpoch => drops(Drop::StaleEpoch),
            Counter::Rnr => drops(Drop::Rnr),
            Counter::AckUnknown => drops(Drop::AckUnknown),
            Counter::AckSource => drops(Drop::AckSource),
            Counter::AckEcho => drops(Drop::AckEcho),
            own => self.counters[usize::from(own.code())],
        }
    }

    /// A counter of bulk transfers; 0 without them.
    #[must_use]
    pub fn bulk_counter(&self, counter: BulkCounter) -> u64 {
        self.bulk.as_ref().map_or(0, |bulk| bulk.counter(counter))
    }

    /// Gaps between the packets of the transfers that are sent, in parts of a tick, [`crate::rw::pace::LINE`] to one.
    #[must_use]
    pub fn bulk_gaps(&self) -> Vec<u32> {
        let bulk = self.bulk.as_ref();
        bulk.map_or_else(Vec::new, |bulk| bulk.gaps().collect())
    }

    /// Of bulk transfers: windows that are open, transfers that are sent, reads under way, packets that wait for memory.
    #[must_use]
    pub fn bulk_under_way(&self) -> [usize; 4] {
        self.bulk.as_ref().map_or([0; 4], |bulk| bulk.under_way())
    }

    /// Whether windows, peers and slots of bulk transfers agree with each other: for tests.
    ///
    /// # Errors
    /// What does not.
    pub fn check_bulk(&self) -> Result<(), String> {
        self.bulk.as_ref().map_or(Ok(()), |bulk| bulk.consistent())
    }

    /// Requests in flight, of all queue pairs.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.engine.in_flight()
    }

    /// Queue pairs that exist.
    #[must_use]
    pub fn queue_pairs(&self) -> usize {
        self.queues.len()
    }

    /// Regions that exist.
    #[must_use]
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Whether nothing happens until a register is written or a frame arrives: no command, no request, no timer.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.quiet_until() == u64::MAX
    }

    /// Until when nothing happens unless a register is written or a frame arrives, ns: the next timeout of a datagram, or for
    /// ever; 0 if there is something to do now, or may be.
    #[must_use]
    pub fn quiet_until(&self) -> u64 {
        if !self.only_waits() {
            0
        } else if self.engine.in_flight() == 0 {
            u64::MAX
        } else {
            // A request without a timer is being answered.
            self.engine.next_timeout().unwrap_or(0)
        }
    }

    /// Whether there is nothing to do but to wait for answers of datagrams.
    fn only_waits(&self) -> bool {
        let queues = || self.queues.values();
        self.out.is_empty()
            && !self.engine.has_answer()
            && !self.engine.is_landing()
            && STATUS_BUSY.get(self.read(STATUS.offset.into())) == 0
            && queues().all(|queue| queue.send.held() == 0 && queue.parked.is_none())
            && self.bulk_under_way() == [0; 4]
            && self.reductions.as_ref().is_none_or(|r| r.is_idle())
            && self.rings_are_idle()
            && !self.interrupts_wait()
    }

    /// Does all that can be done now: messages into memory and their completions, one-sided operations, the command that was written, requests out of
    /// the rings, interrupts.
    pub fn step(&mut self, memory: &mut dyn HostMemory, now: u64) {
        self.engine.tick(now);
        if self.pci.bus_master {
            self.land(memory);
            self.with_bulk(|bulk, card| bulk.land(card, memory, now));
            self.land_reductions(memory);
            self.serve(memory);
            self.ended(memory);
        }
        self.run_command(now);
        self.work(memory, now);
        while self.work_rings(memory, now) {
            self.work(memory, now);
        }
        if self.pci.bus_master {
            self.interrupt(memory, now);
        }
    }

    /// A frame from the line.
    pub fn receive_frame(&mut self, frame: &[u8], now: u64) {
        if !self.registers.enabled() {
            return;
        }
        if self.reductions.is_some() && reduction::is_reduction(frame) {
            return self.take_reduction(frame);
        }
        let bulk = self.bulk.is_some() && roce::F_OPCODE.get(frame) >> 4 == 0xC;
        let marked = roce::is_marked(frame);
        match bulk.then(|| roce::decode(frame)) {
            Some(Ok(frame))
                if crate::bulk::OPCODES.contains(&frame.bth.opcode)
                    || self.is_congested(frame.bth.opcode) =>
            {
                self.with_bulk(|bulk, card| bulk.receive(card, &frame, marked, now));
            }
            _ => self.accept(frame, now),
        }
    }

    /// The next frame for the line: reductions first, which are short and few, then datagrams and bulk transfers by their shares.
    pub fn next_frame(&mut self, now: u64) -> Option<Vec<u8>> {
        if !self.registers.enabled() {
            return None;
        }
        let reduction = self.reductions.as_mut().and_then(|r| r.next_frame());
        if reduction.is_some() {
            return reduction;
        }
        let datagrams = self.engine.has_answer() || !self.out.is_empty();
        let bulk = self.bulk.as_ref().is_some_and(|bulk| bulk.has_frame());
        let source = self.line.next(datagrams, bulk)?;
        let mut frame = match source {
            Source::Datagrams => self.next_datagram(now),
            Source::Bulk => self.bulk.as_mut().and_then(|bulk| bulk.next_frame()),
        }?;
        if bulk && datagrams {
            self.line.sent(source, frame.len());
        }
        self.allow_marks(&mut frame);
        Some(frame)
    }

    /// The next frame of datagrams: acknowledgements and answers first.
    fn next_datagram(&mut self, now: u64) -> Option<Vec<u8>> {
        while let Some(out) = self.engine.next_packet(now) {
            let link = Link::between(self.registers.node(), out.to);
            // All fields of a reply were decoded from a frame, so they fit into one.
            if let Ok(frame) = wire::encode_frame(&link, &out.packet) {
                return Some(frame);
            }
        }
        let frame = self.out.pop_front()?;
        self.count(Counter::Sent);
        Some(frame)
    }

    fn count(&mut self, counter: Counter) {
        self.counters[usize::from(counter.code())] += 1;
    }

    /// Writes a completion into its ring; its slot was reserved.
    fn complete(&mut self, qpn: u32, completion: Completion, memory: &mut dyn HostMemory) {
        let Some(queue) = self.queues.get_mut(&qpn) else {
            return;
        };
        let log = queue.complete.log;
        queue.write_entry(memory, |number| {
            let completion = Completion {
                number,
                ..completion
            };
            completion.encode(log)
        });
        if queue.take_due() {
            self.interrupts.raise(queue.vector);
        }
    }
}
