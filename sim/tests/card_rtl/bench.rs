//! Two cards joined by a link, used by hand: registers, rings and host memory that is mapped to the byte.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::card::command::{Command, State, Status};
use tributary_protocol::card::descriptor::{
    COMPLETION_LEN, Completion, RECEIVE_LEN, ReceiveRequest, WORK_LEN, WorkRequest,
};
use tributary_protocol::card::model::{self, CardModel, ModelConfig, PciState, Unanswered};
use tributary_protocol::card::regs::{
    ARG0, COMMAND, COMMAND_CODE, COMMAND_INDEX, CONTROL, CONTROL_ENABLE, Counter,
    DOORBELL_COMPLETE, DOORBELL_RECEIVE, DOORBELL_SEND, MSIX_TABLE, MTU, NODE, REDUCTION_GROUPS,
    RESULT0, RESULT1, STATISTICS_HIGH, STATISTICS_LOW, STATISTICS_SELECT, STATUS, STATUS_BUSY,
    STATUS_CODE, doorbell,
};
use tributary_protocol::red::Frame;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_protocol::registers::Register;
use tributary_protocol::roce;
use tributary_protocol::rw::{MessageType, opcode};
use tributary_sim::card::{CLOCK_NS, Node, RtlNode};
use tributary_sim::pcie::{Access, Config, HostMemory};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::Verilated;

use super::library;

/// Time between two looks at the links, ns.
const STEP_NS: u64 = 100 * CLOCK_NS;
/// A card that is not done by then hangs, ns.
const PATIENCE_NS: u64 = 20_000_000;
/// Interrupts are writes to this page.
pub const MSI: u64 = 0x9669_5AA5_FEE0_0000;
/// Memory that cards only read: [`AREA`] bytes.
pub const READS: u64 = 0xC3A5_5A3C_C000_0000;
/// Memory that cards only write: [`AREA`] bytes on both sides of a multiple of 4 GiB.
pub const WRITES: u64 = 0x3C5A_A5C3_FFFF_8000;
/// Bytes of each.
pub const AREA: u64 = 0x1_0000;
/// Rings of the queue pairs with even and with odd numbers lie from here on, [`RINGS_EACH`] bytes apart; each bit above is set
/// in one and clear in the other.
const RINGS: [u64; 2] = [0xA5C3_9669_5000_0000, 0x5A3C_6996_A800_0000];
const RINGS_EACH: u64 = 0x1_0000;

/// Random choices.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    /// True in so many of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// A card of either kind.
pub enum Card {
    Rtl(Box<RtlNode>),
    Model(Box<CardModel>),
}

impl Card {
    fn node(&mut self) -> &mut dyn Node {
        match self {
            Self::Rtl(card) => &mut **card,
            Self::Model(card) => &mut **card,
        }
    }
}

/// Host memory that notes how much was done to it.
#[derive(Default)]
pub struct Memory {
    pub mapped: HostMemory,
    pub interrupts: Vec<u32>,
    /// Reads and writes so far, interrupts included.
    pub accesses: u64,
}

impl model::HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        self.accesses += 1;
        model::HostMemory::read(&mut self.mapped, iova, into)
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        self.accesses += 1;
        if let (MSI, Ok(data)) = (iova, <[u8; 4]>::try_from(from)) {
            self.interrupts.push(u32::from_le_bytes(data));
            return Ok(());
        }
        model::HostMemory::write(&mut self.mapped, iova, from)
    }
}

/// A host with its card.
pub struct Host {
    pub card: Card,
    pub memory: Memory,
    /// Frames that will arrive in the next step.
    pub inbox: VecDeque<Vec<u8>>,
}

/// What a bad link does to frames.
pub struct Faults {
    pub dice: Dice,
    /// Of 1,000 frames so many are lost, and so many arrive twice.
    pub loss: u64,
    pub double: u64,
    /// Each takes up to so much longer, ns.
    pub spread: u64,
}

impl Faults {
    /// When the copies of a frame arrive that was sent at this time.
    fn arrivals(&mut self, now: u64) -> Vec<u64> {
        let copies = match self.dice.below(1_000) {
            lot if lot < self.loss => 0,
            lot if lot < self.loss + self.double => 2,
            _ => 1,
        };
        let spread = self.spread + 1;
        (0..copies).map(|_| now + self.dice.below(spread)).collect()
    }
}

/// What software knows of a queue pair.
#[derive(Clone, Debug)]
pub struct Queue {
    pub qpn: u32,
    /// log2 of the entries of the send, receive and completion ring.
    pub logs: [u8; 3],
    pub domain: u16,
    pub q_key: u32,
    pub first_psn: u32,
    pub timeout: u8,
    pub posted: u16,
    pub receives: u16,
    pub consumed: u16,
}

impl Queue {
    pub fn new(qpn: u32, logs: [u8; 3]) -> Self {
        Self {
            qpn,
            logs,
            domain: 7,
            q_key: 0x1234_5678,
            first_psn: 0xFF_FFF0,
            timeout: 4,
            posted: 0,
            receives: 0,
            consumed: 0,
        }
    }

    /// First byte and length of a ring: 0 send, 1 receive, 2 complete.
    pub fn ring(&self, which: usize) -> (u64, u64) {
        let entry = [WORK_LEN, RECEIVE_LEN, COMPLETION_LEN][which] as u64;
        let rings = RINGS[self.qpn as usize % 2] + RINGS_EACH * u64::from(self.qpn);
        let base = rings + 0x4000 * which as u64;
        (base, entry << self.logs[which])
    }

    fn entry(&self, which: usize, number: u16) -> u64 {
        let (base, bytes) = self.ring(which);
        base + (u64::from(number) * (bytes >> self.logs[which])) % bytes
    }

    pub fn args(&self, vector: u32) -> [u32; 10] {
        let [send, receive, complete] = self.logs.map(u32::from);
        let shape = send << 4
            | receive << 8
            | complete << 12
            | u32::from(self.timeout) << 16
            | vector << 24;
        let mut args = [0; 10];
        args[..4].copy_from_slice(&[shape, self.q_key, self.domain.into(), self.first_psn]);
        for which in 0..3 {
            let base = self.ring(which).0;
            args[4 + 2 * which] = base as u32;
            args[5 + 2 * which] = (base >> 32) as u32;
        }
        args
    }
}

/// What a region is made with.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub index: u32,
    pub variant: u8,
    pub local_write: bool,
    pub domain: u16,
    pub base: u64,
    pub length: u64,
}

impl Region {
    pub fn key(&self) -> u32 {
        self.index << 8 | u32::from(self.variant)
    }

    pub fn args(&self) -> [u32; 6] {
        [
            u32::from(self.variant) | u32::from(self.local_write) << 8,
            self.domain.into(),
            self.base as u32,
            (self.base >> 32) as u32,
            self.length as u32,
            (self.length >> 32) as u32,
        ]
    }
}

/// Numbers of the two nodes: each bit is set in one and clear in the other.
/// The same but for bits 19:16 (CL-1).
pub const NODES: [u32; 2] = [0x6_9AC3, 0x9_9AC3];

/// A frame that was sent, and the host that it goes to, if it is one of the two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    pub to: Option<usize>,
    pub frame: Vec<u8>,
}

/// Two hosts, of [`NODES`].
pub struct Pair {
    pub hosts: [Host; 2],
    pub now: u64,
    /// Resets so far: each may have cut one frame off.
    pub resets: u64,
    cut: u64,
    frames: u64,
    /// How often each frame arrives.
    pub copies: usize,
    /// Or what becomes of it on a bad link.
    pub faults: Option<Faults>,
    /// If not 0, each such frame of those that switches may mark comes marked.
    pub mark_every: u64,
    /// Frames that could have been marked, and packets of DATA that were, by host that they went to.
    pub markable: u64,
    pub marked_data: [u64; 2],
    /// Frames on their way, when they arrive and where.
    flying: Vec<(u64, usize, Vec<u8>)>,
    /// If wanted: frames that were sent since somebody took them.
    pub sent: Option<Vec<Sent>>,
}

impl Pair {
    /// Verilated cards.
    pub fn rtl(seed: u64, stall: u32) -> Self {
        Self::rtl_behind(&Config {
            seed,
            stall: Profile::Independent(stall),
            ..Config::default()
        })
    }

    /// The same behind root complexes like this.
    pub fn rtl_behind(config: &Config) -> Self {
        Self::rtl_of(library(), config)
    }

    /// The same of another size.
    pub fn rtl_of(library: &Verilated, config: &Config) -> Self {
        Self::of([0, 1].map(|node| {
            let root = Config {
                seed: config.seed.wrapping_mul(2).wrapping_add(node),
                ..config.clone()
            };
            Card::Rtl(Box::new(RtlNode::new(library, root).unwrap()))
        }))
    }

    /// Cards of the model, as large.
    pub fn model() -> Self {
        let config = ModelConfig {
            qps_log: 4,
            regions_log: 5,
            in_flight_log: 6,
            // `card` has none of these.
            bulk: None,
            groups: 0,
            ..ModelConfig::default()
        };
        Self::of([0, 1].map(|_| Card::Model(Box::new(CardModel::new(config).unwrap()))))
    }

    /// Those of the model with bulk transfers and reductions, as large.
    pub fn model_with_groups() -> Self {
        let config = ModelConfig {
            qps_log: 4,
            regions_log: 5,
            in_flight_log: 6,
            groups: REDUCTION_GROUPS,
            ..ModelConfig::default()
        };
        Self::of([0, 1].map(|_| Card::Model(Box::new(CardModel::new(config).unwrap()))))
    }

    fn of(cards: [Card; 2]) -> Self {
        let hosts = cards.map(|card| {
            let mut memory = Memory::default();
            memory.mapped.map(READS, AREA, Access::Read).unwrap();
            memory.mapped.map(WRITES, AREA, Access::Write).unwrap();
            Host {
                card,
                memory,
                inbox: VecDeque::new(),
            }
        });
        Self {
            hosts,
            now: 0,
            resets: 0,
            cut: 0,
            frames: 0,
            copies: 1,
            faults: None,
            mark_every: 0,
            markable: 0,
            marked_data: [0; 2],
            flying: Vec::new(),
            sent: None,
        }
    }

    /// What a driver does first.
    pub fn open(&mut self, at: usize, mtu: u32) {
        self.wait(at);
        for vector in 0..8 {
            let message = [MSI as u32, (MSI >> 32) as u32, vector, 0];
            for (word, value) in message.into_iter().enumerate() {
                self.write_at(at, MSIX_TABLE + 16 * vector + 4 * word as u32, value);
            }
        }
        self.write(at, &NODE, NODES[at]);
        self.write(at, &MTU, mtu);
        self.write(at, &CONTROL, CONTROL_ENABLE.put(1));
    }

    pub fn rtl_card(&mut self, at: usize) -> (&mut RtlNode, &mut Memory) {
        let host = &mut self.hosts[at];
        match &mut host.card {
            Card::Rtl(card) => (card, &mut host.memory),
            Card::Model(_) => panic!("a model"),
        }
    }

    /// Whether the host lets the card send requests.
    pub fn set_bus_master(&mut self, at: usize, bus_master: bool) {
        match &mut self.hosts[at].card {
            Card::Rtl(card) => card.set_bus_master(bus_master),
            Card::Model(card) => card.set_pci(PciState {
                bus_master,
                ..PciState::default()
            }),
        }
    }

    pub fn mapped(&mut self, at: usize) -> &mut HostMemory {
        &mut self.hosts[at].memory.mapped
    }

    pub fn read_at(&mut self, at: usize, offset: u32) -> u32 {
        self.hosts[at].card.node().read32(offset)
    }

    pub fn read(&mut self, at: usize, register: &Register) -> u32 {
        self.read_at(at, register.offset.into())
    }

    pub fn write_at(&mut self, at: usize, offset: u32, value: u32) {
        self.hosts[at].card.node().write32(offset, value);
    }

    pub fn write(&mut self, at: usize, register: &Register, value: u32) {
        self.write_at(at, register.offset.into(), value);
    }

    /// A little time passes.
    pub fn step(&mut self) {
        self.now += STEP_NS;
        let now = self.now;
        let mut sent = Vec::new();
        for host in &mut self.hosts {
            let node = host.card.node();
            for frame in host.inbox.drain(..) {
                node.receive_frame(&frame, now);
            }
            node.step(&mut host.memory, now);
            if let Card::Rtl(card) = &host.card {
                assert_eq!(card.stopped(), None);
            }
            let node = host.card.node();
            sent.extend(std::iter::from_fn(|| node.next_frame(now)));
        }
        for frame in sent {
            self.frames += 1;
            let reduction = frame.get(12..14) == Some(&DEFAULT_ETHERTYPE.to_be_bytes());
            let to = if reduction {
                let parsed = Frame::parse(&frame, DEFAULT_ETHERTYPE).ok();
                self.cut += u64::from(parsed.is_none());
                // Down a tree they go to the other host.
                parsed.and_then(|frame| match frame.fabric.dfa.multicast() {
                    Some(_) => NODES
                        .iter()
                        .position(|node| (*node) != frame.fabric.sfa.node()),
                    None => NODES
                        .iter()
                        .position(|node| (*node) == frame.fabric.dfa.node()),
                })
            } else {
                self.cut += u64::from(roce::decode(&frame).is_err());
                // The last three bytes of the address are the node.
                let to = frame.get(roce::UDP_OFFSET - 3..roce::UDP_OFFSET);
                let to = to.map(|to| u32::from_be_bytes([0, to[0], to[1], to[2]]));
                NODES.iter().position(|node| Some(*node) == to)
            };
            if let Some(host) = to {
                let arrivals = match &mut self.faults {
                    Some(faults) => faults.arrivals(now),
                    None => vec![now; self.copies],
                };
                let mut comes = frame.clone();
                self.mark(&mut comes, host);
                let copies = arrivals.into_iter().map(|at| (at, host, comes.clone()));
                self.flying.extend(copies);
            }
            if let Some(sent) = &mut self.sent {
                sent.push(Sent { to, frame });
            }
        }
        for (_, host, frame) in self.flying.extract_if(.., |(at, ..)| *at <= now) {
            self.hosts[host].inbox.push_back(frame);
        }
    }

    /// What a switch does whose queue is long now and then.
    fn mark(&mut self, frame: &mut [u8], host: usize) {
        if !roce::mark_congestion(&mut frame.to_vec()) {
            return;
        }
        self.markable += 1;
        if self.mark_every > 0 && self.markable.is_multiple_of(self.mark_every) {
            roce::mark_congestion(frame);
            let is_data = roce::F_OPCODE.get(frame) == u64::from(opcode(MessageType::Data));
            self.marked_data[host] += u64::from(is_data);
        }
    }

    pub fn run(&mut self, ns: u64) {
        let end = self.now + ns;
        while self.now < end {
            self.step();
        }
    }

    /// The frames since the last call, every byte of them, without their order: each queue pair has its own.
    pub fn sorted_frames(&mut self) -> Vec<Sent> {
        let mut sent = self.sent.replace(Vec::new()).expect("frames are wanted");
        sent.sort();
        sent
    }

    /// Runs until nothing has moved for so long.
    pub fn settle(&mut self, quiet: u64) {
        let start = self.now;
        let activity = |pair: &Self| {
            let accesses: u64 = pair.hosts.iter().map(|host| host.memory.accesses).sum();
            accesses + pair.frames
        };
        let (mut last, mut since) = (activity(self), self.now);
        while self.now - since < quiet {
            assert!(self.now - start < PATIENCE_NS, "it comes to no rest");
            self.step();
            let new = activity(self);
            if new != last {
                (last, since) = (new, self.now);
            }
        }
    }

    /// Waits until no command runs; its status.
    pub fn wait(&mut self, at: usize) -> u32 {
        let start = self.now;
        loop {
            self.step();
            let status = self.read(at, &STATUS);
            if STATUS_BUSY.get(status) == 0 {
                return STATUS_CODE.get(status);
            }
            assert!(self.now - start < PATIENCE_NS, "a command does not end");
        }
    }

    /// A command by its code: status and results.
    pub fn raw_command(&mut self, at: usize, code: u8, index: u32, args: &[u32]) -> [u32; 3] {
        for (word, arg) in args.iter().enumerate() {
            self.write_at(at, u32::from(ARG0) + 4 * word as u32, *arg);
        }
        let command = COMMAND_CODE.put(code.into()) | COMMAND_INDEX.put(index);
        self.write(at, &COMMAND, command);
        [
            self.wait(at),
            self.read(at, &RESULT0),
            self.read(at, &RESULT1),
        ]
    }

    /// A command that succeeds: its first result.
    pub fn command(&mut self, at: usize, command: Command, index: u32, args: &[u32]) -> u32 {
        let [status, result, _] = self.raw_command(at, command.code(), index, args);
        assert_eq!(status, u32::from(Status::Ok.code()), "{command:?} {index}");
        result
    }

    /// Maps the rings of a queue pair, empty.
    pub fn map_rings(&mut self, at: usize, queue: &Queue) {
        let memory = self.mapped(at);
        for which in 0..3 {
            let (base, bytes) = queue.ring(which);
            let access = [Access::Read, Access::Read, Access::Write][which];
            memory.write(base, &vec![0; bytes as usize]);
            memory.map(base, bytes, access).unwrap();
        }
    }

    pub fn unmap_rings(&mut self, at: usize, queue: &Queue) {
        for which in 0..3 {
            self.mapped(at).unmap(queue.ring(which).0);
        }
    }

    /// A queue pair that sends and receives; its epoch.
    pub fn create(&mut self, at: usize, queue: &Queue) -> u16 {
        self.map_rings(at, queue);
        let vector = queue.qpn % 8;
        let epoch = self.command(at, Command::CreateQp, queue.qpn, &queue.args(vector));
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            let state = state.code().into();
            self.command(at, Command::ModifyQp, queue.qpn, &[state]);
        }
        epoch as u16
    }

    pub fn destroy(&mut self, at: usize, queue: &Queue) {
        self.command(at, Command::DestroyQp, queue.qpn, &[]);
        self.unmap_rings(at, queue);
    }

    pub fn set_region(&mut self, at: usize, region: &Region) {
        self.command(at, Command::SetRegion, region.index, &region.args());
    }

    /// Puts work requests into the ring and rings its doorbell.
    pub fn post_sends(&mut self, at: usize, queue: &Queue, work: &[WorkRequest]) {
        let entries: Vec<_> = work.iter().map(WorkRequest::encode).collect();
        self.post_entries(at, queue, &entries);
    }

    /// The same with what stands in the ring.
    pub fn post_entries(&mut self, at: usize, queue: &Queue, entries: &[[u8; WORK_LEN]]) {
        let mut number = queue.posted;
        for bytes in entries {
            let entry = queue.entry(0, number);
            self.mapped(at).write(entry, bytes);
            number = number.wrapping_add(1);
        }
        self.write_at(at, doorbell(queue.qpn, &DOORBELL_SEND), number.into());
    }

    pub fn post_receives(&mut self, at: usize, queue: &Queue, requests: &[ReceiveRequest]) {
        let mut number = queue.receives;
        for request in requests {
            let entry = queue.entry(1, number);
            self.mapped(at).write(entry, &request.encode());
            number = number.wrapping_add(1);
        }
        self.write_at(at, doorbell(queue.qpn, &DOORBELL_RECEIVE), number.into());
    }

    /// Completions that are new, in their order; each has the phase and the number that it must have.
    pub fn completions(&self, at: usize, queue: &Queue) -> Vec<Completion> {
        let numbers = (0..).map(|at| queue.consumed.wrapping_add(at));
        let decode = |(number, entry): (u16, [u8; COMPLETION_LEN])| {
            let completion = Completion::decode(&entry).unwrap();
            let again = completion.encode(queue.logs[2]);
            assert_eq!(completion.number, number, "queue pair {}", queue.qpn);
            assert_eq!(again, entry, "queue pair {}", queue.qpn);
            completion
        };
        let entries = self.entries(at, queue);
        numbers.zip(entries).map(decode).collect()
    }

    /// Entries of the completion ring that are new, by their phases.
    pub fn entries(&self, at: usize, queue: &Queue) -> Vec<[u8; COMPLETION_LEN]> {
        let memory = &self.hosts[at].memory.mapped;
        let log = queue.logs[2];
        let mut new = Vec::new();
        let mut number = queue.consumed;
        while new.len() < 1 << log {
            let mut entry = [0; COMPLETION_LEN];
            memory.read(queue.entry(2, number), &mut entry);
            if (entry[56] & 1 == 1) != Completion::phase(number, log) {
                break;
            }
            new.push(entry);
            number = number.wrapping_add(1);
        }
        new
    }

    pub fn consume(&mut self, at: usize, queue: &Queue) {
        let offset = doorbell(queue.qpn, &DOORBELL_COMPLETE);
        self.write_at(at, offset, queue.consumed.into());
    }

    pub fn counter(&mut self, at: usize, counter: Counter) -> u64 {
        self.write(at, &STATISTICS_SELECT, counter.code().into());
        let low = self.read(at, &STATISTICS_LOW);
        u64::from(self.read(at, &STATISTICS_HIGH)) << 32 | u64::from(low)
    }

    /// No rule of a bus was broken, frames were whole, and nothing was touched that is not mapped.
    pub fn check(&mut self) {
        assert!(self.cut <= self.resets, "{} frames are not whole", self.cut);
        for host in &mut self.hosts {
            host.card.node().check().unwrap();
            let denied = host.memory.mapped.denied();
            assert!(denied.is_empty(), "{denied:?}");
        }
    }
}
