//! Hosts with a card each, joined by a wire: what a driver would do, by hand.

use std::collections::HashMap;

use tributary_protocol::card::command::{Command, State, Status, key};
use tributary_protocol::card::descriptor::{
    COMPLETION_LEN, Completion, OPCODE_SEND, RECEIVE_LEN, ReceiveRequest, WORK_LEN, WorkRequest,
};
use tributary_protocol::card::model::{CardModel, HostMemory, ModelConfig, Unanswered};
use tributary_protocol::card::regs::{self, Counter, doorbell};
use tributary_protocol::xud::{Outcome, Peer, Window};

pub const MEMORY: usize = 1 << 20;
/// Where a host keeps its rings; queue pair n at n times 0x1_0000.
pub const RINGS: u64 = 0x1_0000;
/// Data of the region that [`Host::new`] makes.
pub const DATA: u64 = 0x8_0000;
pub const DATA_LEN: u64 = 0x4000;
pub const DATA_KEY: u32 = key(3, 9);
pub const DOMAIN: u32 = 5;
/// Writes here are interrupts.
pub const MSI: u64 = 0xFEE0_0000;

/// Memory that notes every access.
pub struct Memory {
    pub bytes: Vec<u8>,
    /// Address, length, write.
    pub accesses: Vec<(u64, usize, bool)>,
    /// Reads that touch these addresses fail.
    pub broken: Option<std::ops::Range<u64>>,
    pub interrupts: Vec<u32>,
}

impl HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        self.accesses.push((iova, into.len(), false));
        let end = iova + into.len() as u64;
        if self
            .broken
            .as_ref()
            .is_some_and(|broken| iova < broken.end && end > broken.start)
        {
            return Err(Unanswered);
        }
        let from = self.bytes.get(iova as usize..end as usize);
        into.copy_from_slice(from.ok_or(Unanswered)?);
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        if iova >= MSI {
            self.interrupts
                .push(u32::from_le_bytes(from.try_into().unwrap()));
            return Ok(());
        }
        self.accesses.push((iova, from.len(), true));
        let place = iova as usize..iova as usize + from.len();
        self.bytes
            .get_mut(place)
            .ok_or(Unanswered)?
            .copy_from_slice(from);
        Ok(())
    }
}

/// Where software stands in the rings of a queue pair.
#[derive(Clone, Copy, Default)]
pub struct Rings {
    pub logs: [u8; 3],
    pub sent: u16,
    pub posted: u16,
    pub taken: u16,
}

pub struct Host {
    pub card: CardModel,
    pub memory: Memory,
    pub rings: HashMap<u32, Rings>,
    pub now: u64,
}

pub fn ring(qpn: u32, which: u64) -> u64 {
    RINGS * (1 + u64::from(qpn)) + which * 0x4000
}

pub fn work(to: Peer, address: u64, length: u32) -> WorkRequest {
    WorkRequest {
        opcode: OPCODE_SEND,
        flags: 0,
        head_len: 0,
        length,
        wr_id: 77,
        address,
        lkey: DATA_KEY,
        version_flags: 0x10,
        to,
        window: Window {
            id: 2,
            epoch: 1,
            msn: 3,
        },
        head: [0; 16],
    }
}

impl Host {
    /// A card that is enabled and has one region; region 3, variant 9, may be written.
    pub fn new(node: u32) -> Self {
        Self::of(node, 2, 0)
    }

    /// The same with so many queue pairs and reduction groups.
    pub fn of(node: u32, qps_log: u8, groups: usize) -> Self {
        let config = ModelConfig {
            qps_log,
            regions_log: 3,
            in_flight_log: 6,
            vectors_log: 1,
            clock_ns: 8,
            bulk: None,
            groups,
        };
        let memory = Memory {
            bytes: vec![0; MEMORY],
            accesses: Vec::new(),
            broken: None,
            interrupts: Vec::new(),
        };
        let mut host = Self {
            card: CardModel::new(config).unwrap(),
            memory,
            rings: HashMap::new(),
            now: 0,
        };
        host.start(node);
        host
    }

    pub fn start(&mut self, node: u32) {
        self.write(&regs::NODE, node);
        self.write(&regs::CONTROL, 1);
        self.region(3, 9, true, DATA, DATA_LEN);
    }

    pub fn write(&mut self, register: &tributary_protocol::registers::Register, value: u32) {
        self.card.write(register.offset.into(), value);
    }

    pub fn read(&self, register: &tributary_protocol::registers::Register) -> u32 {
        self.card.read(register.offset.into())
    }

    /// Status and first result.
    pub fn command(&mut self, command: Command, index: u32, args: &[u32]) -> (Status, u32) {
        for (at, arg) in args.iter().enumerate() {
            self.card.write(u32::from(regs::ARG0) + 4 * at as u32, *arg);
        }
        self.write(&regs::COMMAND, u32::from(command.code()) | index << 8);
        assert_eq!(regs::STATUS_BUSY.get(self.read(&regs::STATUS)), 1);
        self.step();
        let status = self.read(&regs::STATUS);
        assert_eq!(regs::STATUS_BUSY.get(status), 0);
        let code = regs::STATUS_CODE.get(status) as u8;
        (Status::from_code(code).unwrap(), self.read(&regs::RESULT0))
    }

    pub fn region(&mut self, index: u32, variant: u8, writable: bool, base: u64, length: u64) {
        let args = [
            u32::from(variant) | u32::from(writable) << 8,
            DOMAIN,
            base as u32,
            (base >> 32) as u32,
            length as u32,
            (length >> 32) as u32,
        ];
        let (status, _) = self.command(Command::SetRegion, index, &args);
        assert_eq!(status, Status::Ok);
    }

    /// Arguments of CREATE_QP.
    pub fn shape(qpn: u32, logs: [u8; 3]) -> [u32; 10] {
        let [send, receive, complete] = logs.map(u32::from);
        let base = |which| ring(qpn, which) as u32;
        let shape = send << 4 | receive << 8 | complete << 12 | 2 << 16 | 1 << 24;
        let first_psn = 0xFF_FFFE;
        [
            shape,
            0x1234,
            DOMAIN,
            first_psn,
            base(0),
            0,
            base(1),
            0,
            base(2),
            0,
        ]
    }

    pub fn create(&mut self, qpn: u32, logs: [u8; 3]) -> u32 {
        let (status, epoch) = self.command(Command::CreateQp, qpn, &Self::shape(qpn, logs));
        assert_eq!(status, Status::Ok);
        let rings = Rings {
            logs,
            ..Rings::default()
        };
        self.rings.insert(qpn, rings);
        epoch
    }

    pub fn modify(&mut self, qpn: u32, state: State) -> Status {
        let args = [state.code().into()];
        self.command(Command::ModifyQp, qpn, &args).0
    }

    /// A queue pair that sends and receives.
    pub fn connect(&mut self, qpn: u32, logs: [u8; 3]) {
        self.create(qpn, logs);
        assert_eq!(self.modify(qpn, State::ReadyToReceive), Status::Ok);
        assert_eq!(self.modify(qpn, State::ReadyToSend), Status::Ok);
        // Old completions of a ring that was used before must not look new.
        let at = ring(qpn, 2) as usize;
        self.memory.bytes[at..at + (COMPLETION_LEN << logs[2])].fill(0);
    }

    pub fn post_send(&mut self, qpn: u32, work: &WorkRequest) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.sent) & ((1 << rings.logs[0]) - 1);
        let at = ring(qpn, 0) as usize + place * WORK_LEN;
        self.memory.bytes[at..at + WORK_LEN].copy_from_slice(&work.encode());
        rings.sent = rings.sent.wrapping_add(1);
        let index = rings.sent.into();
        self.card.write(doorbell(qpn, &regs::DOORBELL_SEND), index);
    }

    pub fn post_receive(&mut self, qpn: u32, address: u64, length: u32, lkey: u32) {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let place = usize::from(rings.posted) & ((1 << rings.logs[1]) - 1);
        let at = ring(qpn, 1) as usize + place * RECEIVE_LEN;
        let request = ReceiveRequest {
            wr_id: 1000 + u64::from(rings.posted),
            address,
            lkey,
            length,
        };
        self.memory.bytes[at..at + RECEIVE_LEN].copy_from_slice(&request.encode());
        rings.posted = rings.posted.wrapping_add(1);
        let index = rings.posted.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_RECEIVE), index);
    }

    /// The next completion, if the card has written it; its slot is given back only by [`Self::give_back`].
    pub fn poll(&mut self, qpn: u32) -> Option<Completion> {
        let rings = self.rings.get_mut(&qpn).unwrap();
        let log = rings.logs[2];
        let place = usize::from(rings.taken) & ((1 << log) - 1);
        let at = ring(qpn, 2) as usize + place * COMPLETION_LEN;
        let entry: &[u8; COMPLETION_LEN] = self.memory.bytes[at..at + COMPLETION_LEN]
            .try_into()
            .unwrap();
        if (entry[56] & 1 == 1) != Completion::phase(rings.taken, log) {
            return None;
        }
        let completion = Completion::decode(entry).unwrap();
        assert_eq!(completion.number, rings.taken, "an entry was overwritten");
        rings.taken = rings.taken.wrapping_add(1);
        Some(completion)
    }

    pub fn give_back(&mut self, qpn: u32) {
        let index = self.rings[&qpn].taken.into();
        self.card
            .write(doorbell(qpn, &regs::DOORBELL_COMPLETE), index);
    }

    pub fn outcomes(&mut self, qpn: u32) -> Vec<Outcome> {
        let all = std::iter::from_fn(|| self.poll(qpn)).map(|c| c.status);
        let all = all.collect();
        self.give_back(qpn);
        all
    }

    pub fn step(&mut self) {
        self.card.step(&mut self.memory, self.now);
    }

    pub fn count(&self, counter: Counter) -> u64 {
        self.card.counter(counter)
    }
}

/// Moves frames between two hosts until none is left; how many there were.
pub fn exchange(hosts: &mut [Host; 2]) -> usize {
    let mut frames = 0;
    hosts.iter_mut().for_each(Host::step);
    loop {
        let before = frames;
        for at in 0..2 {
            hosts[at].step();
            let now = hosts[at].now;
            while let Some(frame) = hosts[at].card.next_frame(now) {
                frames += 1;
                let there = hosts[1 - at].now;
                hosts[1 - at].card.receive_frame(&frame, there);
            }
            hosts[1 - at].step();
        }
        if frames == before {
            return frames;
        }
    }
}
