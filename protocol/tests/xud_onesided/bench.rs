//! A requester's and a target's engine, with memory behind them.

use std::collections::HashMap;

use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{
    Ack, Card, CardConfig, Completion, Drop, Grant, Mutations, Outcome, Packet, Peer, Reach, Reply,
    Send, SendRequest, Shape, Window, wire::ONE_SIDED,
};

pub const REQUESTER: Peer = Peer { node: 0, qpn: 7 };
pub const TARGET: Peer = Peer { node: 1, qpn: 9 };
pub const BASE: u64 = 0x1000;
pub const LENGTH: usize = 256;
pub const RKEY: u32 = 5;
pub const WINDOW: u16 = 3;
pub const MTU: u16 = 256;

/// One region, and a log of what is done to it.
#[derive(Clone, Default)]
pub struct Memory {
    pub bytes: Vec<u8>,
    /// Address, bytes, write.
    pub accesses: Vec<(u64, usize, bool)>,
    /// Reads fail.
    pub broken: bool,
    /// Where answers go, by request; 64 bytes above the base if not said.
    pub places: HashMap<u64, Option<u64>>,
}

impl Memory {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; LENGTH],
            ..Self::default()
        }
    }

    fn range(&self, address: u64, bytes: usize) -> std::ops::Range<usize> {
        let at = (address - BASE) as usize;
        at..at + bytes
    }

    pub fn word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.bytes[self.range(address, 8)].try_into().unwrap())
    }
}

impl Reach for Memory {
    fn allows(&self, qpn: u32, request: &Request<'_>) -> bool {
        let (at, bytes) = (
            u128::from(request.address),
            u128::from(request.asked.bytes()),
        );
        let base = u128::from(BASE);
        bytes == 0
            || qpn == TARGET.qpn
                && request.rkey == RKEY
                && at >= base
                && at + bytes <= base + LENGTH as u128
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.accesses.push((address, into.len(), false));
        if !self.broken {
            into.copy_from_slice(&self.bytes[self.range(address, into.len())]);
        }
        !self.broken
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        self.accesses.push((address, bytes.len(), true));
        let range = self.range(address, bytes.len());
        self.bytes[range].copy_from_slice(bytes);
    }

    fn place(&self, _: u32, id: u64, _: usize) -> Option<u64> {
        self.places.get(&id).copied().unwrap_or(Some(BASE + 64))
    }
}

pub const SHAPE: Shape = Shape {
    q_key: 77,
    first_psn: 0xFF_FFFE,
    timeout: 1,
    sends: 8,
    receives: 4,
    completions: 16,
};

pub fn card(at: Peer, mutations: Mutations) -> Card {
    let mut card = Card::new(CardConfig {
        node: at.node,
        mtu: MTU,
        mutations,
        ..CardConfig::default()
    })
    .unwrap();
    card.create_qp(at.qpn, SHAPE).unwrap();
    card
}

pub fn grant(epoch: u16) -> Grant {
    Grant {
        qpn: TARGET.qpn,
        peer: REQUESTER,
        epoch,
    }
}

pub struct Pair {
    pub requester: Card,
    pub local: Memory,
    pub target: Card,
    pub remote: Memory,
    pub now: u64,
}

impl Pair {
    pub fn with(mutations: Mutations) -> Self {
        let mut target = card(TARGET, mutations);
        assert!(target.open_window(WINDOW, grant(1)));
        Self {
            requester: card(REQUESTER, mutations),
            local: Memory::new(),
            target,
            remote: Memory::new(),
            now: 0,
        }
    }

    pub fn new() -> Self {
        Self::with(Mutations::default())
    }

    /// Posts an operation; its frame.
    pub fn ask(&mut self, id: u64, msn: u32, address: u64, asked: Asked<'_>) -> Send {
        let request = Request {
            address,
            rkey: RKEY,
            asked,
        };
        self.post(id, msn, request.encode())
    }

    pub fn post(&mut self, id: u64, msn: u32, head: Vec<u8>) -> Send {
        let request = SendRequest {
            id,
            to: TARGET,
            version: 1,
            flags: ONE_SIDED,
            window: Window {
                id: WINDOW,
                epoch: 1,
                msn,
            },
            head,
            buffer: [].into(),
            range: (0, 0),
        };
        self.requester.post_send(REQUESTER.qpn, request).unwrap();
        match self.requester.next_packet(self.now).unwrap().packet {
            Packet::Send(send) => send,
            other => panic!("{other:?}"),
        }
    }

    /// A frame reaches the target; what it replies.
    pub fn deliver(&mut self, send: &Send) -> Option<Packet> {
        let packet = Packet::Send(send.clone());
        self.target.receive(REQUESTER.node, &packet, self.now);
        while self.target.serve(&mut self.remote) {}
        let out = self.target.next_packet(self.now);
        assert_eq!(self.target.next_packet(self.now), None);
        out.map(|out| out.packet)
    }

    /// A reply reaches the requester; the completion that follows.
    pub fn reply(&mut self, packet: &Packet) -> Option<(u64, Outcome)> {
        self.requester.receive(TARGET.node, packet, self.now);
        while self.requester.serve(&mut self.local) {}
        self.ended()
    }

    pub fn ended(&mut self) -> Option<(u64, Outcome)> {
        let ended = self.requester.poll(REQUESTER.qpn);
        ended.map(|completion| match completion {
            Completion::Sent { id, outcome, .. } => (id, outcome),
            other => panic!("{other:?}"),
        })
    }

    /// Time passes until nothing is in flight.
    pub fn time_out(&mut self) {
        self.now += 1 << 20;
        self.requester.tick(self.now);
    }

    /// An operation and its reply, without faults.
    pub fn done(&mut self, msn: u32, address: u64, asked: Asked<'_>) -> Outcome {
        let send = self.ask(u64::from(msn), msn, address, asked);
        let reply = self.deliver(&send).unwrap();
        self.reply(&reply).unwrap().1
    }

    pub fn drops(&self, reason: Drop) -> u64 {
        self.target.stats().drops.of(reason)
    }
}

/// What an acknowledgement says.
pub fn said(packet: Option<Packet>) -> Option<Reply> {
    packet.map(|packet| match packet {
        Packet::Ack(Ack { reply, .. }) => reply,
        other => panic!("{other:?}"),
    })
}

/// The frame of an answer.
pub fn answer(packet: Option<Packet>) -> Send {
    match packet {
        Some(Packet::Send(send)) => send,
        other => panic!("{other:?}"),
    }
}
