//! Hosts with a card each on a network that delays.

use std::collections::{BTreeMap, VecDeque};

use tributary_protocol::card::command::{Command, State, Status, key};
use tributary_protocol::card::descriptor::{
    COMPLETION_LEN, Completion, RECEIVE_LEN, ReceiveRequest, WORK_LEN, WorkRequest,
};
use tributary_protocol::card::model::{
    BulkConfig, CardModel, HostMemory, ModelConfig, PciState, Unanswered,
};
use tributary_protocol::card::regs::{self, Counter, doorbell};
use tributary_protocol::multicast::ring::{ENTRY_LEN, Entry};
use tributary_protocol::registers::Register;
use tributary_protocol::roce;

/// Time of a slot, ns, in which a card sends one frame.
const SLOT_NS: u64 = 336;
/// Slots on the way.
const DELAY: u64 = 4;
/// Length of a clock, ns.
pub const CLOCK_NS: u64 = 8;
/// Slots of a tick of the watchdogs.
pub const TICK_SLOTS: u64 = 65_536 * CLOCK_NS / SLOT_NS + 1;
const Q_KEY: u32 = 0x77;
const DOMAIN: u32 = 3;
/// log2 of the entries of rings: send, receive, complete.
const LOGS: [u8; 3] = [6, 6, 8];
/// log2 of the entries of a schedule ring.
pub const RING_LOG: u8 = 7;
const SCHEDULES: u64 = 0x20_0000;
/// Data of a host.
pub const DATA: u64 = 0x30_0000;
pub const DATA_LEN: u64 = 0x10_0000;
pub const DATA_KEY: u32 = key(1, 2);

pub struct Memory(pub Vec<u8>);

impl HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        let from = self.0.get(iova as usize..iova as usize + into.len());
        into.copy_from_slice(from.ok_or(Unanswered)?);
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        let place = self.0.get_mut(iova as usize..iova as usize + from.len());
        place.ok_or(Unanswered)?.copy_from_slice(from);
        Ok(())
    }
}

#[derive(Clone, Copy, Default)]
struct Rings {
    sent: u16,
    received: u16,
    taken: u16,
}

pub struct Host {
    pub card: CardModel,
    pub memory: Memory,
    pub node: u32,
    rings: BTreeMap<u32, Rings>,
    /// Entries written into the schedule ring of each group.
    written: BTreeMap<u8, u16>,
    now: u64,
}

fn ring(qpn: u32, which: usize) -> usize {
    (1 + qpn as usize) * 0x8000 + which * 0x2000
}

/// Where the schedule ring of a group lies.
pub fn schedule(group: u8) -> u64 {
    SCHEDULES + u64::from(group) * 0x1000
}

/// Node of a host: not its index, and above 65,535 but of the first (CL-1).
pub const fn node_of(host: u16) -> u32 {
    host as u32 | ((host as u32 * 5) & 15) << 16
}

impl Host {
    pub fn new(node: u32, groups: u16) -> Self {
        let bulk = BulkConfig {
            groups,
            ..BulkConfig::default()
        };
        let config = ModelConfig {
            qps_log: 5,
            regions_log: 2,
            in_flight_log: 8,
            vectors_log: 0,
            clock_ns: CLOCK_NS,
            bulk: Some(bulk),
            groups: 0,
        };
        let mut host = Self {
            card: CardModel::new(config).unwrap(),
            memory: Memory(vec![0; (DATA + DATA_LEN) as usize]),
            node,
            rings: BTreeMap::new(),
            written: BTreeMap::new(),
            now: 0,
        };
        host.set(&regs::NODE, node);
        host.set(&regs::CONTROL, 1);
        let length = DATA_LEN as u32;
        let region = [2 | 15 << 8, DOMAIN, DATA as u32, 0, length, 0];
        assert_eq!(host.command(Command::SetRegion, 1, &region), Status::Ok);
        host
    }

    pub fn set(&mut self, register: &Register, value: u32) {
        self.card.write(register.offset.into(), value);
    }

    pub fn get(&self, register: &Register) -> u32 {
        self.card.read(register.offset.into())
    }

    pub fn count(&self, counter: Counter) -> u64 {
        self.card.counter(counter)
    }

    pub fn refused(&self) -> u32 {
        self.get(&regs::RING_REFUSED)
    }

    pub fn step(&mut self) {
        self.card.step(&mut self.memory, self.now);
    }

    pub fn bus_master(&mut self, on: bool) {
        self.card.set_pci(PciState {
            bus_master: on,
            ..PciState::default()
        });
    }

    pub fn command(&mut self, command: Command, index: u32, args: &[u32]) -> Status {
        for (at, arg) in args.iter().enumerate() {
            self.card.write(u32::from(regs::ARG0) + 4 * at as u32, *arg);
        }
        self.set(&regs::COMMAND, u32::from(command.code()) | index << 8);
        self.step();
        let status = self.get(&regs::STATUS);
        assert_eq!(regs::STATUS_BUSY.get(status), 0);
        Status::from_code(regs::STATUS_CODE.get(status) as u8).unwrap()
    }

    /// A queue pair that sends and receives.
    pub fn connect(&mut self, qpn: u32) {
        let [send, receive, complete] = LOGS.map(u32::from);
        let base = |which| ring(qpn, which) as u32;
        let shape = send << 4 | receive << 8 | complete << 12 | 2 << 16;
        let args = [shape, Q_KEY, DOMAIN, 1, base(0), 0, base(1), 0, base(2), 0];
        self.memory.0[ring(qpn, 0)..ring(qpn + 1, 0)].fill(0);
        assert_eq!(self.command(Command::CreateQp, qpn, &args), Status::Ok);
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            let args = [state.code().into()];
            assert_eq!(self.command(Command::ModifyQp, qpn, &args), Status::Ok);
        }
        self.rings.insert(qpn, Rings::default());
    }

    pub fn destroy(&mut self, qpn: u32) {
        assert_eq!(self.command(Command::DestroyQp, qpn, &[]), Status::Ok);
        self.rings.remove(&qpn);
    }

    /// Writes a work request; nobody rings.
    pub fn prepare(&mut self, qpn: u32, work: &WorkRequest) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.sent) & ((1 << LOGS[0]) - 1);
        let at = ring(qpn, 0) + place * WORK_LEN;
        self.memory.0[at..at + WORK_LEN].copy_from_slice(&work.encode());
        rings.sent = rings.sent.wrapping_add(1);
    }

    /// Writes a work request and rings.
    pub fn post(&mut self, qpn: u32, work: &WorkRequest) {
        self.prepare(qpn, work);
        let index = self.rings[&qpn].sent.into();
        self.card.write(doorbell(qpn, &regs::DOORBELL_SEND), index);
    }

    pub fn post_receive(&mut self, qpn: u32, wr_id: u64) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.received) & ((1 << LOGS[1]) - 1);
        let at = ring(qpn, 1) + place * RECEIVE_LEN;
        let request = ReceiveRequest {
            wr_id,
            address: DATA,
            lkey: DATA_KEY,
            length: 0,
        };
        self.memory.0[at..at + RECEIVE_LEN].copy_from_slice(&request.encode());
        rings.received = rings.received.wrapping_add(1);
        let index = rings.received.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_RECEIVE), index);
    }

    /// The next completion; its place is free at once.
    pub fn poll(&mut self, qpn: u32) -> Option<Completion> {
        let rings = self.rings.get_mut(&qpn)?;
        let place = usize::from(rings.taken) & ((1 << LOGS[2]) - 1);
        let at = ring(qpn, 2) + place * COMPLETION_LEN;
        let entry: [u8; COMPLETION_LEN] =
            self.memory.0[at..at + COMPLETION_LEN].try_into().unwrap();
        if (entry[56] & 1 == 1) != Completion::phase(rings.taken, LOGS[2]) {
            return None;
        }
        rings.taken = rings.taken.wrapping_add(1);
        let index = rings.taken.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_COMPLETE), index);
        Some(Completion::decode(&entry).unwrap())
    }

    /// Writes an entry of a schedule ring; the index behind it.
    pub fn write_entry(&mut self, group: u8, words: &[u64]) -> u16 {
        let written = self.written.entry(group).or_default();
        let place = usize::from(*written) & ((1 << RING_LOG) - 1);
        let at = schedule(group) as usize + place * ENTRY_LEN;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.0[at..at + ENTRY_LEN].copy_from_slice(&bytes);
        *written = written.wrapping_add(1);
        *written
    }

    pub fn write_entries(&mut self, group: u8, entries: &[Entry]) -> u16 {
        let written = entries.iter().map(|e| self.write_entry(group, &e.words()));
        written.last().unwrap()
    }

    /// A command of rings, carried out in a step of the present time; whether it was taken.
    pub fn ring_command(&mut self, op: u32, group: u8, posted: u16) -> bool {
        let word = op | u32::from(group) << 8 | u32::from(posted) << 16;
        self.set(&regs::RING_COMMAND, word);
        self.step();
        let answer = self.get(&regs::RING_ANSWER);
        assert_eq!(regs::RING_ANSWER_BUSY.get(answer), 0);
        regs::RING_ANSWER_OK.get(answer) != 0
    }

    /// Opens a group whose ends are told at a queue pair; its ring is empty.
    pub fn open(&mut self, group: u8, ends: u32, watchdog: u16, timed: bool, origin: u32) -> bool {
        self.written.remove(&group);
        self.set(&regs::RING_BASE_LOW, schedule(group) as u32);
        self.set(&regs::RING_ORIGIN, origin);
        let settings = u32::from(RING_LOG) | u32::from(timed) << 4 | u32::from(watchdog) << 16;
        self.set(&regs::RING_SETTINGS, settings);
        self.set(&regs::RING_QUEUE, ends);
        self.ring_command(0, group, 0)
    }

    pub fn bind(&mut self, role: u32, group: u8, slot: u8, qpn: u32) {
        let word = u32::from(slot) | u32::from(group) << 6 | role << 14 | qpn << 16;
        self.set(&regs::RING_BIND, word);
    }
}

pub struct World {
    pub hosts: Vec<Host>,
    slot: u64,
    flying: VecDeque<(u64, Vec<u8>)>,
    /// Nodes that nothing comes from.
    pub silent: Vec<u32>,
}

impl World {
    pub fn new(hosts: u16) -> Self {
        Self {
            hosts: (0..hosts).map(|node| Host::new(node_of(node), 4)).collect(),
            slot: 0,
            flying: VecDeque::new(),
            silent: Vec::new(),
        }
    }

    pub fn step(&mut self) {
        self.slot += 1;
        let now = self.slot * SLOT_NS;
        while let Some((_, frame)) = self.flying.pop_front_if(|(due, _)| *due <= self.slot) {
            let to = u32::from_be_bytes(roce::decode(&frame).unwrap().link.dst_ip);
            if let Some(host) = (self.hosts.iter_mut()).find(|host| to == 10 << 24 | host.node) {
                host.card.receive_frame(&frame, now);
            }
        }
        for host in &mut self.hosts {
            host.now = now;
            host.step();
            let silent = self.silent.contains(&host.node);
            if let Some(frame) = host.card.next_frame(now).filter(|_| !silent) {
                self.flying.push_back((self.slot + DELAY, frame));
            }
        }
    }

    /// Steps until nothing happens any more, or panics after so many slots.
    pub fn settle(&mut self, slots: u64) {
        for _ in 0..slots {
            self.step();
            if self.flying.is_empty() && self.hosts.iter().all(|host| host.card.idle()) {
                return;
            }
        }
        panic!("not at rest within {slots} slots");
    }
}
