//! What surrounds `bulk_receive` in these tests: regions, host memory, and senders behind a network that loses, doubles and
//! overtakes.

use std::collections::VecDeque;

use tributary_protocol::bulk::{Purpose, Transfer};
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::{Message, Outcome, Request, Sender, SenderConfig, wire};

/// A frame of a bulk transfer between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub from: u32,
    pub bth: Bth,
    pub body: Vec<u8>,
}

/// What becomes of a frame that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// About a transfer of this card.
    Own,
    /// Of READ.
    Read,
    /// No card sends it.
    Bad,
    /// It says that it is of another node.
    Stray,
    /// DATA with an incarnation that no window has.
    Stale,
    Data,
    Poll,
    Abort,
    Connect,
}

/// First 8 bytes of a body; those that are missing are 0.
pub fn head(body: &[u8]) -> [u8; 8] {
    let mut head = [0; 8];
    let some = body.len().min(8);
    head[..some].copy_from_slice(&body[..some]);
    head
}

impl Frame {
    pub fn of(from: u32, message: &Message, payload: &[u8]) -> Self {
        let (bth, mut body) = wire::encode(message).unwrap();
        body.extend_from_slice(payload);
        Self { from, bth, body }
    }

    /// What the model makes of it.
    pub fn class(&self) -> Class {
        let kind = self.bth.opcode & 15;
        let to_sender = head(&self.body)[0] & 8 != 0;
        match kind {
            1 | 2 | 3 | 5 | 10 => return Class::Own,
            8.. => return Class::Read,
            6 | 7 if to_sender => return Class::Own,
            _ => {}
        }
        let Ok((message, payload)) = wire::decode(&self.bth, &self.body) else {
            return Class::Bad;
        };
        let class = match &message {
            Message::Data(m) if m.r#gen > 0xFFFF => Class::Stale,
            Message::Data(_) => Class::Data,
            Message::Connect(_) if payload.is_empty() => Class::Bad,
            Message::Connect(_) => Class::Connect,
            Message::Poll(_) => Class::Poll,
            Message::Abort(_) => Class::Abort,
            other => panic!("{other} to a receiver"),
        };
        match message.sent_by(self.from) {
            Some(_) => class,
            None => Class::Stray,
        }
    }
}

/// A queue pair of the card.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub qpn: u32,
    pub state: u8,
    pub domain: u16,
    pub q_key: u32,
}

impl Pair {
    pub fn receives(&self) -> bool {
        matches!(self.state, 2 | 3)
    }
}

/// Rights, as card_regions has them.
pub const LOCAL_WRITE: u8 = 1;
pub const REMOTE_WRITE: u8 = 2;
pub const REMOTE_READ: u8 = 4;

/// The right that a transfer needs here (BW-2, BW-11).
pub fn right(purpose: Purpose) -> u8 {
    match purpose {
        Purpose::Response(_) => LOCAL_WRITE,
        _ => REMOTE_WRITE,
    }
}

/// A region of host memory.
#[derive(Clone, Debug)]
pub struct Region {
    pub index: u32,
    pub variant: u8,
    pub domain: u16,
    pub base: u64,
    pub rights: u8,
    pub bytes: Vec<u8>,
}

impl Region {
    pub fn key(&self) -> u32 {
        self.index << 8 | u32::from(self.variant)
    }

    /// As `card_regions` decides.
    pub fn holds(&self, key: u32, domain: u16, addr: u64, len: u64, need: u8) -> bool {
        let offset = addr.wrapping_sub(self.base);
        let size = self.bytes.len() as u64;
        self.rights & need == need
            && (key, domain) == (self.key(), self.domain)
            && addr >= self.base
            && offset <= size
            && len <= size - offset
    }
}

/// Byte `at` of a transfer.
pub fn byte(tag: u32, at: u32) -> u8 {
    (tag.wrapping_mul(0x9E37_79B1) ^ at.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0xC2B2_AE35) as u8
        ^ (at >> 8) as u8
        ^ tag as u8
}

/// A transfer under way, or that was.
#[derive(Clone, Debug)]
pub struct Flow {
    pub tag: u32,
    pub node: u32,
    pub slot: u16,
    pub xid: u32,
    pub request: Request,
    pub header: Transfer,
    /// What it ends with; anything that a revocation may lead to if it may also end so.
    pub wanted: Outcome,
    pub may_end: bool,
    /// Its window is closed for ever: nothing of it may be written.
    pub closed: bool,
    /// Memory that it may write to, by region.
    pub area: Option<(usize, u64)>,
    pub ended: Option<(Outcome, u64)>,
    /// How often its host was told, and how often it found no receive request.
    pub told: u32,
    pub refused: u32,
}

/// Settings of the senders.
pub fn sender(node: u32, slots: u16) -> SenderConfig {
    let (rtt, allowance) = (64, 16);
    SenderConfig {
        slots,
        src: node,
        rtt_ticks: rtt,
        allowance_ticks: allowance,
        retry_ticks: rtt + 2 * allowance + 4,
        poll_ticks: 2 * rtt + 4 * allowance,
        stall_poll_ticks: rtt / 8,
        // Frames may wait long in front of a host that stalls.
        poll_ticks_max: 16 * (rtt + allowance),
        max_busy: 10_000,
        max_polls: Some(6),
        overrun: rtt,
        span: 512,
        ..SenderConfig::default()
    }
}

/// A node that sends.
#[derive(Debug)]
pub struct Peer {
    pub node: u32,
    pub sender: Sender,
}

/// The frame of what a sender sends, with the payload of its transfer.
pub fn frame_of(node: u32, message: &Message, flow: &Flow) -> Frame {
    let payload = match message {
        Message::Data(d) => {
            let first = d.pidx << flow.request.mtu;
            (first..first + u32::from(d.len))
                .map(|at| byte(flow.tag, at))
                .collect()
        }
        Message::Connect(_) => flow.header.encode().to_vec(),
        _ => vec![],
    };
    Frame::of(node, message, &payload)
}

/// What a transfer ends with, by the checks of BW-2 in their order. `answers`: a READ of the card waits for it.
pub fn wanted(
    pairs: &[Pair],
    regions: &[Region],
    request: &Request,
    header: &Transfer,
    answers: bool,
) -> Outcome {
    let pair = pairs.iter().find(|pair| pair.qpn == header.qpn);
    let Some(pair) = pair.filter(|pair| pair.receives()) else {
        return Outcome::BadQp;
    };
    if pair.q_key != header.q_key {
        return Outcome::Unreachable;
    }
    if matches!(header.purpose, Purpose::Response(_)) && !answers {
        return Outcome::Refused;
    }
    let length = u64::from(request.length);
    let need = right(header.purpose);
    let held = regions
        .iter()
        .any(|region| region.holds(request.rkey, pair.domain, request.addr, length, need));
    if held || length == 0 {
        Outcome::Ok
    } else {
        Outcome::Access
    }
}

/// A write of host memory under way: where, how many bytes, what has come of them.
#[derive(Debug)]
pub struct Write {
    pub addr: u64,
    pub len: usize,
    pub bytes: Vec<u8>,
}

/// Words of payload, each with the clock from which on it may be offered.
pub type Words = VecDeque<(u64, u64, bool)>;

/// The words that follow the first 8 bytes of a body.
pub fn words(body: &[u8], from: u64) -> Words {
    let rest = body.get(8..).unwrap_or_default();
    let count = rest.len().div_ceil(8);
    rest.chunks(8)
        .enumerate()
        .map(|(at, chunk)| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            (from, u64::from_le_bytes(word), at + 1 == count)
        })
        .collect()
}
