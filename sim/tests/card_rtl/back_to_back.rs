//! Two Verilated cards back to back, with bare registers and rings: for figures in clocks.

use tributary_protocol::card::command::{self, Command, State};
use tributary_protocol::card::descriptor::{
    COMPLETION_LEN, Completion, OPCODE_BULK_WRITE, OPCODE_SEND, RECEIVE_LEN, ReceiveRequest,
    WORK_LEN, WorkRequest,
};
use tributary_protocol::card::regs::{self, doorbell};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Peer, Window};
use tributary_sim::card::{Node, RtlNode};
use tributary_sim::pcie::{Access, Config, HostMemory};
use tributary_sim::verilate::Verilated;

use super::bench::NODES;
use super::library;

/// log2 of every ring.
const RING_LOG: u8 = 11;
const RING: usize = 1 << RING_LOG;
const SEND: u64 = 0x10_0000;
const RECEIVE: u64 = 0x20_0000;
const COMPLETE: u64 = 0x30_0000;
const DATA: u64 = 0x40_0000;
const DATA_BYTES: u64 = 0x40_0000;
const Q_KEY: u32 = 0x1234;
/// The queue pair that everything goes over.
const QPN: u32 = 1;

pub struct Host {
    pub card: RtlNode,
    pub memory: HostMemory,
    /// Node that work requests go to.
    peer: u32,
    seen: u16,
}

pub struct Pair {
    pub hosts: [Host; 2],
    /// Clock in which the first word of a frame of the first card was on the line, with the latest doorbell.
    pub first_word: Option<u64>,
}

impl Host {
    fn new(library: &Verilated, at: usize, config: &Config) -> Self {
        let config = Config {
            seed: config.seed.wrapping_mul(2) + at as u64,
            ..config.clone()
        };
        let mut memory = HostMemory::default();
        for (base, bytes, access) in [
            (SEND, RING * WORK_LEN, Access::Read),
            (RECEIVE, RING * RECEIVE_LEN, Access::Read),
            (COMPLETE, RING * COMPLETION_LEN, Access::Write),
            (DATA, DATA_BYTES as usize, Access::ReadWrite),
        ] {
            memory.map(base, bytes as u64, access).unwrap();
        }
        let mut host = Self {
            card: RtlNode::new(library, config).unwrap(),
            memory,
            peer: NODES[1 - at],
            seen: 0,
        };
        host.wait();
        host.set(&regs::NODE, NODES[at]);
        host.set(&regs::TIMEOUT_UNIT, 512);
        host.set(&regs::CONTROL, 1);
        let low_high = |address: u64| [address as u32, (address >> 32) as u32];
        let log = u32::from(RING_LOG);
        let shape = command::SHAPE_SEND.put(log)
            | command::SHAPE_RECEIVE.put(log)
            | command::SHAPE_COMPLETE.put(log)
            | command::SHAPE_TIMEOUT.put(8);
        let mut args = vec![shape, Q_KEY, 7, 0];
        for base in [SEND, RECEIVE, COMPLETE] {
            args.extend(low_high(base));
        }
        host.command(Command::CreateQp, QPN, &args);
        let mut args = vec![
            command::REGION_LOCAL_WRITE.put(1) | command::REGION_REMOTE_WRITE.put(1),
            7,
        ];
        args.extend(low_high(DATA));
        args.extend(low_high(DATA_BYTES));
        host.command(Command::SetRegion, 1, &args);
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            host.command(Command::ModifyQp, QPN, &[state.code().into()]);
        }
        host
    }

    pub fn set(&mut self, register: &tributary_protocol::registers::Register, value: u32) {
        self.card.write32(register.offset.into(), value);
    }

    fn wait(&mut self) {
        let busy = regs::STATUS_BUSY.mask();
        let status = regs::STATUS.offset.into();
        let mut rounds = 0;
        while self.card.read32(status) & busy != 0 {
            self.card.clock(Some(&mut self.memory));
            rounds += 1;
            assert!(rounds < 10_000, "a command does not end");
        }
    }

    fn command(&mut self, command: Command, index: u32, args: &[u32]) {
        for (at, arg) in args.iter().enumerate() {
            self.card
                .write32(u32::from(regs::ARG0) + 4 * at as u32, *arg);
        }
        self.set(&regs::COMMAND, u32::from(command.code()) | index << 8);
        self.wait();
        let status = self.card.read32(regs::STATUS.offset.into());
        assert_eq!(regs::STATUS_CODE.get(status), 0, "{command}");
    }

    pub fn counter(&mut self, counter: regs::Counter) -> u32 {
        self.set(&regs::STATISTICS_SELECT, counter.code().into());
        self.card.read32(regs::STATISTICS_LOW.offset.into())
    }

    /// New completions.
    pub fn poll(&mut self) -> Vec<Completion> {
        let mut new = Vec::new();
        loop {
            let mut entry = [0; COMPLETION_LEN];
            let at = COMPLETION_LEN * (usize::from(self.seen) % RING);
            self.memory.read(COMPLETE + at as u64, &mut entry);
            if (entry[56] & 1 == 1) != Completion::phase(self.seen, RING_LOG) {
                return new;
            }
            let completion = Completion::decode(&entry).unwrap();
            assert_eq!(completion.number, self.seen);
            self.seen = self.seen.wrapping_add(1);
            new.push(completion);
        }
    }

    /// Posts so many receive requests of so many bytes.
    pub fn receives(&mut self, count: u16, length: u32) {
        for number in 0..count {
            let request = ReceiveRequest {
                wr_id: number.into(),
                address: DATA + u64::from(number) % 64 * 4096,
                lkey: command::key(1, 0),
                length,
            };
            let at = RECEIVE + u64::from(number) * RECEIVE_LEN as u64;
            self.memory.write(at, &request.encode());
        }
        self.card
            .write32(doorbell(QPN, &regs::DOORBELL_RECEIVE), count.into());
    }

    /// Posts so many work requests, each with so many bytes of head and from memory; the doorbell is still to come.
    pub fn sends(&mut self, count: u16, head: u8, length: u32) {
        for number in 0..count {
            let request = WorkRequest {
                opcode: OPCODE_SEND,
                flags: 0,
                head_len: head,
                length,
                wr_id: number.into(),
                address: DATA + u64::from(number) % 64 * 4096,
                lkey: command::key(1, 0),
                version_flags: 0,
                to: Peer {
                    node: self.peer,
                    qpn: QPN,
                },
                window: Window::default(),
                head: [number as u8; 16],
            };
            let at = SEND + u64::from(number) * WORK_LEN as u64;
            self.memory.write(at, &request.encode());
        }
    }

    /// Posts one bulk WRITE of so many bytes, from the first half of the memory here to the second half there; the doorbell is
    /// still to come.
    pub fn bulk_write(&mut self, number: u16, flags: u8, length: u32) {
        let header = Request {
            address: DATA + DATA_BYTES / 2,
            rkey: command::key(1, 0),
            asked: Asked::Write(&[]),
        };
        let request = WorkRequest {
            opcode: OPCODE_BULK_WRITE,
            flags,
            head_len: HEADER_LEN as u8,
            length,
            wr_id: number.into(),
            address: DATA,
            lkey: command::key(1, 0),
            version_flags: ONE_SIDED_FRAME,
            to: Peer {
                node: self.peer,
                qpn: QPN,
            },
            window: Window::default(),
            head: header.header(),
        };
        let at = SEND + u64::from(number) * WORK_LEN as u64;
        self.memory.write(at, &request.encode());
    }

    pub fn ring(&mut self, count: u16) {
        self.card
            .write32(doorbell(QPN, &regs::DOORBELL_SEND), count.into());
    }
}

impl Pair {
    /// Two cards, ready; their hosts answer after so many clocks.
    pub fn new(latency: u32) -> Self {
        let config = Config {
            large: true,
            ordered: true,
            latency: latency..=latency,
            ..Config::default()
        };
        Self::of(library(), &config)
    }

    /// Two such cards, ready, behind root complexes like this.
    pub fn of(library: &Verilated, config: &Config) -> Self {
        Self {
            hosts: [0, 1].map(|at| Host::new(library, at, config)),
            first_word: None,
        }
    }

    /// One clock of both; frames cross without delay.
    pub fn clock(&mut self) {
        for from in 0..2 {
            let host = &mut self.hosts[from];
            host.card.clock(Some(&mut host.memory));
            if from == 0 && self.first_word.is_none() && host.card.is_sending() {
                self.first_word = Some(host.card.clocks());
            }
            while let Some(frame) = self.hosts[from].card.next_frame(0) {
                self.hosts[1 - from].card.receive_frame(&frame, 0);
            }
        }
    }

    pub fn check(&self) {
        for host in &self.hosts {
            host.card.check().unwrap();
            assert_eq!(host.memory.denied(), []);
        }
    }
}
