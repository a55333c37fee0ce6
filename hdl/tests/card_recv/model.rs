//! What the rules say, and what the executable card of `protocol` says of the same situation.

use std::collections::{HashMap, VecDeque};

use tributary_protocol::card::descriptor::ReceiveRequest;
use tributary_protocol::xud::{
    Card, CardConfig, Packet, ReceiveRequest as Posted, Reply, Send, Shape, Window, wire,
};

/// Clocks after which the block has surely seen what its memory side was told.
const SURE: u64 = 12;

/// A queue pair as software and the block's neighbours know it.
#[derive(Clone, Debug, Default)]
pub struct Qp {
    pub state: u8,
    pub q_key: u32,
    pub pd: u16,
    pub oldest: u16,
    pub newest: u16,
    pub log: u8,
    pub base: u64,
    /// Receive requests posted, asked for by the block, taken by packets; modulo 2^16.
    pub posted: u16,
    pub asked: u16,
    pub taken: u16,
    /// Read and not taken, with the clock of their last word.
    pub cached: VecDeque<(ReceiveRequest, u64)>,
    /// Since when its ring is known to be unreadable.
    pub dead: Option<u64>,
    /// The ring in host memory.
    pub ring: HashMap<u16, ReceiveRequest>,
    /// Completion slots.
    pub slots: u32,
}

impl Qp {
    pub fn receives(&self) -> bool {
        matches!(self.state, 2 | 3)
    }

    pub fn length(&self) -> u16 {
        1 << self.log
    }

    /// Receive requests that the ring can still take.
    pub fn free(&self) -> u16 {
        self.length() - self.posted.wrapping_sub(self.taken)
    }

    /// A word of its configuration.
    pub fn config(&self, word: u8) -> u64 {
        match word {
            0 => u64::from(self.state) | u64::from(self.log) << 8 | u64::from(self.pd) << 32,
            1 => u64::from(self.q_key),
            3 => self.base,
            5 => u64::from(self.oldest) | u64::from(self.newest) << 16,
            _ => 0,
        }
    }

    /// Takes a word of configuration.
    pub fn configure(&mut self, word: u8, data: u64) {
        match word {
            0 => {
                self.state = data as u8 & 7;
                self.log = (data >> 8) as u8 & 15;
                self.pd = (data >> 32) as u16;
            }
            1 => self.q_key = data as u32,
            3 => self.base = data,
            5 => (self.oldest, self.newest) = (data as u16, (data >> 16) as u16),
            6 => {
                (self.posted, self.asked, self.taken) = (0, 0, 0);
                self.cached.clear();
                self.ring.clear();
                self.dead = None;
            }
            _ => {}
        }
    }

    /// The next burst: its requests, none if there is no room or nothing to read.
    pub fn burst(&self) -> u16 {
        let span = match self.log {
            0 => 1,
            1 => 2 - self.asked % 2,
            _ => 4 - self.asked % 4,
        };
        let burst = span.min(self.posted.wrapping_sub(self.asked));
        let used = self.asked.wrapping_sub(self.taken);
        let reads = matches!(self.state, 1..=3) && self.dead.is_none();
        if !reads {
            0
        } else if used + burst <= 16 {
            burst
        } else if used <= 14 && self.asked.is_multiple_of(2) {
            2
        } else {
            0
        }
    }

    /// The receive request that a packet finds; what came last may or may not be seen yet.
    pub fn next(&self, now: u64, hasty: bool) -> Option<ReceiveRequest> {
        let seen = |at: u64| hasty || at + SURE < now;
        let dead = self
            .dead
            .is_some_and(|at| if hasty { at + SURE < now } else { true });
        let (next, at) = self.cached.front()?;
        (!dead && seen(*at)).then_some(*next)
    }
}

/// A request as xud_rx offers it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub node: u32,
    pub qpn: u32,
    pub psn: u32,
    pub q_key: u32,
    pub src: u32,
    pub vf: u8,
    pub window: Window,
    pub unknown: bool,
    /// A switch has marked it.
    pub marked: bool,
    pub payload: Vec<u8>,
    /// It is a notification of a transfer of so many bytes.
    pub notice: Option<u32>,
}

/// What the checks of the block itself say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Overload,
    BadQp,
    BadKey,
    Opcode,
    Length,
    Epoch,
    Rnr,
    Take,
}

/// The first check that fails, in the order of `docs/xud.md`.
pub fn verdict(
    rq: &Request,
    qp: Option<&Qp>,
    mtu: u16,
    overload: bool,
    next: Option<ReceiveRequest>,
) -> Verdict {
    if overload {
        return Verdict::Overload;
    }
    let Some(qp) = qp.filter(|qp| qp.receives()) else {
        return Verdict::BadQp;
    };
    if rq.notice.is_some() {
        return next.map_or(Verdict::Rnr, |_| Verdict::Take);
    }
    let age = rq.window.epoch.wrapping_sub(qp.oldest);
    let span = qp.newest.wrapping_sub(qp.oldest);
    let length = rq.payload.len();
    if rq.q_key != qp.q_key {
        Verdict::BadKey
    } else if rq.unknown {
        Verdict::Opcode
    } else if length > mtu.into() {
        Verdict::Length
    } else if rq.vf >> 4 > 0 && rq.vf & wire::CONTROL == 0 && age > span {
        Verdict::Epoch
    } else {
        match next {
            None => Verdict::Rnr,
            Some(next) if length > next.length as usize => Verdict::Length,
            Some(_) => Verdict::Take,
        }
    }
}

/// The AETH syndrome of a reply.
pub fn syndrome(reply: Reply) -> u8 {
    match reply {
        Reply::Ok => 0x1f,
        Reply::Rnr => 0x20,
        Reply::Nak(nak) => 0x60 | nak.code(),
    }
}

/// What `protocol::xud::Card` answers to the request, with or without a free completion slot.
pub fn card_answer(
    rq: &Request,
    qp: Option<&Qp>,
    mtu: u16,
    next: Option<ReceiveRequest>,
    slot: bool,
) -> Option<u8> {
    let config = CardConfig {
        mtu,
        table: 1,
        wheel: 1,
        ..CardConfig::default()
    };
    let mut card = Card::new(config).expect("the sizes are right");
    let mut window = rq.window;
    if let Some(qp) = qp.filter(|qp| qp.receives()) {
        let shape = Shape {
            q_key: qp.q_key,
            first_psn: 0,
            timeout: 0,
            sends: 1,
            receives: 1,
            completions: slot.into(),
        };
        card.create_qp(rq.qpn, shape).expect("a queue pair");
        // Its first epoch there is 1; only differences count.
        let first = card.epoch(rq.qpn).expect("it exists");
        window.epoch = window.epoch.wrapping_sub(qp.oldest).wrapping_add(first);
        for _ in 0..qp.newest.wrapping_sub(qp.oldest) {
            card.next_epoch(rq.qpn);
        }
        if let Some(next) = next {
            let posted = Posted {
                id: next.wr_id,
                length: next.length,
            };
            card.post_receive(rq.qpn, posted).expect("room for one");
        }
    }
    let send = Send {
        dest_qp: rq.qpn,
        psn: rq.psn,
        q_key: rq.q_key,
        src_qp: rq.src,
        version: rq.vf >> 4,
        flags: rq.vf & 15,
        window,
        payload: rq.payload.clone(),
        marked: rq.marked,
    };
    let packet = if rq.unknown {
        Packet::Unknown { opcode: 0xd5, send }
    } else {
        Packet::Send(send)
    };
    card.receive(rq.node, &packet, 0);
    while card.land() {}
    card.next_packet(0).map(|out| match out.packet {
        Packet::Ack(ack) => syndrome(ack.reply),
        _ => panic!("the card sends nothing of its own"),
    })
}

/// Where the region of a key is: anywhere in 64 bits, so that each bit of an address counts.
pub fn region(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !0xf_ffff
}

/// Whether the region of a key allows an access: the regions of these tests are 1 MiB each, and those with an odd key
/// belong to another protection domain.
pub fn allowed(key: u32, pd: u16, addr: u64, len: u16, write: bool) -> bool {
    let base = region(key);
    let inside = addr >= base && addr + u64::from(len) <= base + (1 << 20);
    len == 0 || (write && inside && pd == domain(key))
}

/// The protection domain of a region.
pub fn domain(key: u32) -> u16 {
    7 + (key % 2) as u16
}
