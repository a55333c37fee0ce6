//! Hosts with a card each on a network that loses, doubles and overtakes.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::card::command::{Command, State, Status, key};
use tributary_protocol::card::descriptor::{
    COMPLETION_LEN, Completion, OPCODE_BULK_READ, OPCODE_BULK_WRITE, RECEIVE_LEN, ReceiveRequest,
    WORK_LEN, WorkRequest,
};
use tributary_protocol::card::model::{
    BulkConfig, CardModel, HostMemory, ModelConfig, PciState, Unanswered,
};
use tributary_protocol::card::regs::{self, BulkCounter, Counter, doorbell};
use tributary_protocol::registers::Register;
use tributary_protocol::roce;
use tributary_protocol::xud::onesided::{H_ADDRESS, H_OPERATION, H_RKEY, Operation};
use tributary_protocol::xud::{Outcome, Peer, Window};

/// Time of a frame on the line, ns: a tick of the card.
pub const SLOT_NS: u64 = 336;
/// Bytes on the line in this time, and those around a frame.
const SLOT_BYTES: i64 = 4_200;
const AROUND: usize = 24;
pub const Q_KEY: u32 = 0x1234;
pub const DOMAIN: u32 = 5;
/// Rings of queue pair n.
pub const RINGS: u64 = 0x1_0000;
/// Data of a host: region 3, variant 9, all rights.
pub const DATA: u64 = 0x10_0000;
pub const DATA_LEN: u64 = 0x20_0000;
pub const DATA_KEY: u32 = key(3, 9);
const LOGS: [u8; 3] = [4, 4, 6];
/// local_write, remote_write, remote_read, remote_atomic.
pub const ALL: u32 = 15;

pub fn seed() -> u64 {
    std::env::var("TRIBUTARY_SEED").map_or(1, |seed| seed.parse().expect("TRIBUTARY_SEED"))
}

/// Memory of a host. A write anywhere but into `open` is an error of the card.
pub struct Memory {
    pub bytes: Vec<u8>,
    pub open: Vec<Range<u64>>,
    pub broken: Option<Range<u64>>,
    /// Writes outside of `open`.
    pub stray: Vec<(u64, usize)>,
    /// Writes and reads of data, in order.
    pub writes: Vec<(u64, usize)>,
    pub reads: Vec<(u64, usize)>,
    /// Where was written last.
    last: u64,
}

impl Memory {
    /// The last write was a completion of queue pair 1.
    pub fn last_was_completion(&self) -> bool {
        (ring(1, 2)..ring(2, 0)).contains(&self.last)
    }
}

fn overlap(range: &Range<u64>, at: u64, length: usize) -> bool {
    at < range.end && at + length as u64 > range.start
}

impl HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        if self
            .broken
            .as_ref()
            .is_some_and(|b| overlap(b, iova, into.len()))
        {
            return Err(Unanswered);
        }
        if iova >= DATA {
            self.reads.push((iova, into.len()));
        }
        let from = self.bytes.get(iova as usize..iova as usize + into.len());
        into.copy_from_slice(from.ok_or(Unanswered)?);
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        let end = iova + from.len() as u64;
        self.last = iova;
        if !self
            .open
            .iter()
            .any(|open| open.contains(&iova) && end <= open.end)
        {
            self.stray.push((iova, from.len()));
        }
        if iova >= DATA {
            self.writes.push((iova, from.len()));
        }
        let place = self.bytes.get_mut(iova as usize..end as usize);
        place.ok_or(Unanswered)?.copy_from_slice(from);
        Ok(())
    }
}

#[derive(Clone, Copy, Default)]
struct Rings {
    sent: u16,
    posted: u16,
    taken: u16,
}

pub struct Host {
    pub card: CardModel,
    pub memory: Memory,
    rings: BTreeMap<u32, Rings>,
    pub node: u32,
    now: u64,
    /// Bytes that may leave in this slot.
    budget: i64,
}

pub fn ring(qpn: u32, which: u64) -> u64 {
    RINGS * (1 + u64::from(qpn)) + which * 0x4000
}

/// A bulk request of so many bytes from or to `local`.
pub fn work(opcode: u8, to: Peer, local: u64, remote: u64, length: u32) -> WorkRequest {
    let mut head = [0; 16];
    let operation = if opcode == OPCODE_BULK_READ {
        Operation::Read
    } else {
        Operation::Write
    };
    H_ADDRESS.put(&mut head, remote);
    H_RKEY.put(&mut head, DATA_KEY);
    H_OPERATION.put(&mut head, operation.code());
    WorkRequest {
        opcode,
        flags: 0,
        head_len: 16,
        length,
        wr_id: 0,
        address: local,
        lkey: DATA_KEY,
        version_flags: 0x18,
        to,
        window: Window::default(),
        head,
    }
}

pub fn write(to: Peer, local: u64, remote: u64, length: u32) -> WorkRequest {
    work(OPCODE_BULK_WRITE, to, local, remote, length)
}

pub fn read(to: Peer, local: u64, remote: u64, length: u32) -> WorkRequest {
    work(OPCODE_BULK_READ, to, local, remote, length)
}

/// Node of a host: not its index, and above 65,535 but of the first (CL-1).
pub const fn node_of(host: u16) -> u32 {
    host as u32 | ((host as u32 * 5) & 15) << 16
}

impl Host {
    pub fn new(node: u32, config: BulkConfig) -> Self {
        let config = ModelConfig {
            qps_log: 3,
            regions_log: 3,
            in_flight_log: 6,
            vectors_log: 1,
            clock_ns: 8,
            bulk: Some(config),
            groups: 0,
        };
        let mut host = Self {
            card: CardModel::new(config).unwrap(),
            memory: Memory {
                bytes: vec![0; (DATA + DATA_LEN) as usize],
                open: vec![RINGS..DATA, DATA..DATA + DATA_LEN],
                broken: None,
                stray: Vec::new(),
                writes: Vec::new(),
                reads: Vec::new(),
                last: 0,
            },
            rings: BTreeMap::new(),
            node,
            now: 0,
            budget: 0,
        };
        host.start();
        host
    }

    pub fn start(&mut self) {
        self.rings.clear();
        self.set(&regs::NODE, self.node);
        self.set(&regs::CONTROL, 1);
        self.set_region(3, 9, ALL, DATA, DATA_LEN);
    }

    pub fn peer(&self, qpn: u32) -> Peer {
        let node = self.node;
        Peer { node, qpn }
    }

    pub fn set(&mut self, register: &Register, value: u32) {
        self.card.write(register.offset.into(), value);
    }

    pub fn get(&self, register: &Register) -> u32 {
        self.card.read(register.offset.into())
    }

    pub fn count(&self, counter: BulkCounter) -> u64 {
        self.card.bulk_counter(counter)
    }

    pub fn count_card(&self, counter: Counter) -> u64 {
        self.card.counter(counter)
    }

    /// Status of a command, which runs in a step of the present time.
    pub fn command(&mut self, command: Command, index: u32, args: &[u32]) -> Status {
        for (at, arg) in args.iter().enumerate() {
            self.card.write(u32::from(regs::ARG0) + 4 * at as u32, *arg);
        }
        self.set(&regs::COMMAND, u32::from(command.code()) | index << 8);
        self.card.step(&mut self.memory, self.now);
        let status = self.get(&regs::STATUS);
        assert_eq!(regs::STATUS_BUSY.get(status), 0);
        Status::from_code(regs::STATUS_CODE.get(status) as u8).unwrap()
    }

    pub fn set_region(&mut self, index: u32, variant: u8, rights: u32, base: u64, length: u64) {
        let args = [
            u32::from(variant) | rights << 8,
            DOMAIN,
            base as u32,
            (base >> 32) as u32,
            length as u32,
            (length >> 32) as u32,
        ];
        assert_eq!(self.command(Command::SetRegion, index, &args), Status::Ok);
    }

    /// A queue pair that sends and receives.
    pub fn connect(&mut self, qpn: u32) {
        let [send, receive, complete] = LOGS.map(u32::from);
        let base = |which| ring(qpn, which) as u32;
        let shape = send << 4 | receive << 8 | complete << 12 | 2 << 16;
        let args = [shape, Q_KEY, DOMAIN, 1, base(0), 0, base(1), 0, base(2), 0];
        // What an earlier queue pair left would look like completions.
        let rings = ring(qpn, 0) as usize..ring(qpn + 1, 0) as usize;
        self.memory.bytes[rings].fill(0);
        assert_eq!(self.command(Command::CreateQp, qpn, &args), Status::Ok);
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            let args = [state.code().into()];
            assert_eq!(self.command(Command::ModifyQp, qpn, &args), Status::Ok);
        }
        self.rings.insert(qpn, Rings::default());
    }

    pub fn post(&mut self, qpn: u32, work: &WorkRequest) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.sent) & ((1 << LOGS[0]) - 1);
        let at = ring(qpn, 0) as usize + place * WORK_LEN;
        self.memory.bytes[at..at + WORK_LEN].copy_from_slice(&work.encode());
        rings.sent = rings.sent.wrapping_add(1);
        let index = rings.sent.into();
        self.card.write(doorbell(qpn, &regs::DOORBELL_SEND), index);
    }

    pub fn post_receive(&mut self, qpn: u32, wr_id: u64) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.posted) & ((1 << LOGS[1]) - 1);
        let at = ring(qpn, 1) as usize + place * RECEIVE_LEN;
        let request = ReceiveRequest {
            wr_id,
            address: DATA,
            lkey: DATA_KEY,
            length: 64,
        };
        self.memory.bytes[at..at + RECEIVE_LEN].copy_from_slice(&request.encode());
        rings.posted = rings.posted.wrapping_add(1);
        let index = rings.posted.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_RECEIVE), index);
    }

    /// The next completion; its slot is given back at once.
    pub fn poll(&mut self, qpn: u32) -> Option<Completion> {
        let rings = self.rings.get_mut(&qpn)?;
        let log = LOGS[2];
        let place = usize::from(rings.taken) & ((1 << log) - 1);
        let at = ring(qpn, 2) as usize + place * COMPLETION_LEN;
        let entry = self.memory.bytes[at..at + COMPLETION_LEN]
            .try_into()
            .unwrap();
        let entry: &[u8; COMPLETION_LEN] = &entry;
        if (entry[56] & 1 == 1) != Completion::phase(rings.taken, log) {
            return None;
        }
        let completion = Completion::decode(entry).unwrap();
        assert_eq!(completion.number, rings.taken, "an entry was overwritten");
        rings.taken = rings.taken.wrapping_add(1);
        let index = rings.taken.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_COMPLETE), index);
        Some(completion)
    }

    pub fn fill(&mut self, at: u64, bytes: &[u8]) {
        self.memory.bytes[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    pub fn data(&self, at: u64, length: usize) -> &[u8] {
        &self.memory.bytes[at as usize..at as usize + length]
    }
}

/// How the network treats frames, both ways.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub loss: f64,
    pub doubling: f64,
    /// Slots by which frames overtake each other.
    pub span: u64,
}

pub const GOOD: Faults = Faults {
    loss: 0.0,
    doubling: 0.0,
    span: 0,
};
const DELAY: u64 = 8;

pub struct World {
    pub hosts: Vec<Host>,
    pub faults: Faults,
    pub rng: ChaCha8Rng,
    pub slot: u64,
    flying: BTreeMap<(u64, u64), Vec<u8>>,
    frames: u64,
    /// Frames to a node that are lost, by what says so.
    pub filter: Option<fn(&[u8]) -> bool>,
    /// Frames that a switch would mark, if they may be marked, and how many were.
    pub marks: Option<fn(&[u8]) -> bool>,
    pub marked: u64,
}

impl World {
    pub fn new(hosts: u16, config: BulkConfig, faults: Faults, seed: u64) -> Self {
        let hosts = (0..hosts).map(|node| {
            let mut host = Host::new(node_of(node), config);
            host.set(&regs::BULK_ROUND_TRIP, 2 * DELAY as u32 + 2);
            host.set(&regs::BULK_ALLOWANCE, faults.span as u32 + 2);
            host
        });
        Self {
            hosts: hosts.collect(),
            faults,
            rng: ChaCha8Rng::seed_from_u64(seed),
            slot: 0,
            flying: BTreeMap::new(),
            frames: 0,
            filter: None,
            marks: None,
            marked: 0,
        }
    }

    /// Two hosts with queue pair 1 each.
    pub fn pair(faults: Faults, seed: u64) -> Self {
        Self::pair_of(BulkConfig::default(), faults, seed)
    }

    pub fn pair_of(config: BulkConfig, faults: Faults, seed: u64) -> Self {
        let mut world = Self::new(2, config, faults, seed);
        world.hosts.iter_mut().for_each(|host| host.connect(1));
        world
    }

    pub fn now(&self) -> u64 {
        self.slot * SLOT_NS
    }

    /// Puts a frame on the network.
    pub fn send(&mut self, mut frame: Vec<u8>) {
        if self.marks.is_some_and(|marks| marks(&frame)) {
            self.marked += u64::from(roce::mark_congestion(&mut frame));
        }
        let lost = self.rng.random_bool(self.faults.loss);
        let copies = 1 + usize::from(self.rng.random_bool(self.faults.doubling));
        for _ in 0..copies {
            let due = self.slot + DELAY + self.rng.random_range(0..=self.faults.span);
            self.frames += 1;
            if !lost && !self.filter.is_some_and(|filter| filter(&frame)) {
                self.flying.insert((due, self.frames), frame.clone());
            }
        }
    }

    pub fn step(&mut self) {
        self.slot += 1;
        let now = self.now();
        while let Some(first) = self.flying.first_entry().filter(|e| e.key().0 <= self.slot) {
            let frame = first.remove();
            let to = u32::from_be_bytes(roce::decode(&frame).unwrap().link.dst_ip);
            if let Some(host) = (self.hosts.iter_mut()).find(|host| to == 10 << 24 | host.node) {
                host.card.receive_frame(&frame, now);
            }
        }
        for at in 0..self.hosts.len() {
            let host = &mut self.hosts[at];
            host.now = now;
            host.card.step(&mut host.memory, now);
            host.budget = (host.budget + SLOT_BYTES).min(SLOT_BYTES);
            while self.hosts[at].budget > 0
                && let Some(frame) = self.hosts[at].card.next_frame(now)
            {
                self.hosts[at].budget -= (frame.len() + AROUND) as i64;
                self.send(frame);
            }
            let host = &self.hosts[at];
            assert_eq!(host.memory.stray, [], "host {at} was written outside");
        }
    }

    /// Steps until something is true, or panics after so many slots.
    pub fn until(&mut self, slots: u64, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..slots {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("not within {slots} slots");
    }

    /// The next completion of queue pair 1 of a host.
    pub fn wait(&mut self, host: usize, slots: u64) -> Completion {
        let mut got = None;
        self.until(slots, |world| {
            got = world.hosts[host].poll(1);
            got.is_some()
        });
        got.unwrap()
    }

    /// Posts to queue pair 1 of host 0 and waits for the end.
    pub fn run(&mut self, work: &WorkRequest) -> Outcome {
        self.hosts[0].post(1, work);
        self.wait(0, 200_000).status
    }

    /// Runs until nothing is under way on any card, and checks that nothing is left (BW-9).
    pub fn settle(&mut self) {
        self.until(200_000, |world| {
            world.flying.is_empty()
                && world
                    .hosts
                    .iter()
                    .all(|host| host.card.bulk_under_way() == [0; 4])
        });
        for host in &self.hosts {
            host.card.check_bulk().unwrap();
        }
    }

    pub fn sample(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.rng.fill(bytes.as_mut_slice());
        bytes
    }

    pub fn bus_master(&mut self, host: usize, on: bool) {
        self.hosts[host].card.set_pci(PciState {
            bus_master: on,
            ..PciState::default()
        });
    }
}
