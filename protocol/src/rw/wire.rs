//! Messages as bytes: BTH fields and body of each type, in the frame of [`crate::roce`].
//!
//! BTH opcode = 0xC0 + TYPE. The identifier at the destination stands in the destination queue pair, so that hardware can
//! steer by the BTH alone, and the number of the packet in the sequence number:
//!
//! | message | TYPE | S | destination QP (24) | PSN (24) | T | arg (8) | node (16) | body bytes |
//! |---|---|---|---|---|---|---|---|---|
//! | DATA | 0 | 0 | wptr | pidx | tail | round (4 bits) | src | 8 + payload |
//! | COMPLETE | 1 | 1 | slot | 0 | 0 | status | 0 | 8 |
//! | RETX_ONE | 2 | 1 | slot | pidx | 0 | 0 | 0 | 8 |
//! | RETX_RANGE | 3 | 1 | slot | pidx | 0 | round (4 bits) | 0 | 8 |
//! | CONNECT | 4 | 0 | slot | 0 | 0 | mtu | src | 32 |
//! | CONNECT_RESP | 5 | 1 | slot | 0 | 0 | status | 0 | 24 |
//! | POLL | 6 | 0 | wptr | seq | 0 | 0 | src | 16 |
//! | STATUS | 6 | 1 | slot | seq | w_tail | 0 | 0 | 24 + 8·⌈W/64⌉ |
//! | ABORT | 7 | 0 | slot | 0 | 0 | reason | src | 8 |
//! | UNKNOWN, ABORT by the receiver | 7 | 1 | slot | 0 | 0 | reason | 0 | 8 |
//!
//! Numbers (pidx) use 22 of the 24 bits, wptr, slot and seq 16. Every body begins with
//!
//! | offset | bits | field |
//! |---|---|---|
//! | 0 | 4 | version, 0 |
//! | 0 | 1 | S: for the sender (1) or the receiver (0) of the transfer |
//! | 0 | 1 | T: tail flag |
//! | 0 | 2 | reserved, 0 |
//! | 1 | 8 | arg |
//! | 2 | 16 | node |
//! | 4 | 32 | DATA, POLL: gen, at most 24 bits; all others: xid |
//!
//! and goes on, offsets in bytes:
//!
//! | message | fields |
//! |---|---|
//! | DATA | 8: payload, 256 to 4,096 bytes and a power of two, or 0 to 4,096 with tail |
//! | CONNECT | 8: incarnation (16) · 10: reserved (16) · 12: length (32) · 16: addr (64) · 24: rkey (32) · 28: reserved (32) |
//! | CONNECT_RESP | 8: wptr (16) · 10: W (16) · 12: gen (32) · 16: credit (32) · 20: retry (16) · 22: reserved (16) |
//! | POLL | 8: slot (16) · 10: reserved (16) · 12: xid (32) |
//! | STATUS | 8: wbase (32) · 12: credit (32) · 16: W (16) · 18: reserved (48) · 24: bitmap, words of 64 bits |
//!
//! Bit m of the bitmap is bit m mod 64 of word ⌊m/64⌋, bits from W up are 0. Reserved bits are 0; a message that has one set is
//! malformed. All fields are big-endian.

use thiserror::Error;

use super::{
    Bitmap, Message,
    codes::{ConnectStatus, MessageType, Reason, Status, opcode},
    message::{Abort, Complete, Connect, ConnectResp, Data, Poll, RetxOne, RetxRange, StatusReport, Unknown},
};
use crate::roce::{self, Bth, FrameError, Link};

/// Bytes in front of the payload of DATA, and the whole body of the short messages.
pub const HEADER_LEN: usize = 8;
/// Largest W of a bitmap on the wire.
pub const MAX_W: usize = 1 << 15;
const NUMBER_MAX: u32 = 1 << 21;

/// What is wrong with a message. Nothing of it may be acted upon (RW-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The frame around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Not an opcode of the receiver-window protocol.
    #[error("opcode {0:#04x} is not a receiver-window message (0xc0 to 0xc7)")]
    Opcode(u8),
    /// A version other than 0.
    #[error("version {0}, only 0 is known")]
    Version(u8),
    /// The S bit says that a message goes where its type never goes.
    #[error("{0} does not go in this direction")]
    Direction(MessageType),
    /// Body length does not fit the type.
    #[error("{kind} body of {got} bytes, expected {expected}")]
    Length {
        /// Type.
        kind: MessageType,
        /// Bytes found.
        got: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// DATA payload length that no packet has.
    #[error("payload of {len} bytes with tail = {tail}: a power of two from 256 to 4096, or at most 4096 with tail")]
    Payload {
        /// Bytes.
        len: usize,
        /// Tail flag.
        tail: bool,
    },
    /// A field is out of its range.
    #[error("{field} is {value}, the most is {max}")]
    Range {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The largest.
        max: u64,
    },
    /// A code that has no meaning.
    #[error("{value} is not a {field}")]
    Code {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
    /// A reserved bit, or a field that this type does not use, is not 0.
    #[error("{0} is not 0")]
    Reserved(&'static str),
}

/// A message with its payload and the addresses it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// Addresses.
    pub link: Link,
    /// The message.
    pub msg: Message,
    /// Payload; empty for all but DATA.
    pub payload: &'a [u8],
}

/// Builds the frame of a message.
///
/// # Errors
/// A field that does not fit, or a payload that is not the `len` of a DATA message.
pub fn encode_frame(link: &Link, msg: &Message, payload: &[u8]) -> Result<Vec<u8>, WireError> {
    let (bth, mut body) = encode(msg)?;
    let expected = if let Message::Data(d) = msg { usize::from(d.len) } else { 0 };
    if payload.len() != expected {
        return Err(WireError::Length { kind: msg.kind(), got: payload.len(), expected });
    }
    body.extend_from_slice(payload);
    Ok(roce::encode(link, &bth, &body)?)
}

/// Takes the frame of a message apart; checks CRC, lengths, ranges and reserved bits before anything else sees it (RW-20).
///
/// # Errors
/// The first check that fails.
pub fn decode_frame(frame: &[u8]) -> Result<Decoded<'_>, WireError> {
    let frame = roce::decode(frame)?;
    let (msg, payload) = decode(&frame.bth, frame.body)?;
    Ok(Decoded { link: frame.link, msg, payload })
}

fn at_most(field: &'static str, value: impl Into<u64>, max: impl Into<u64>) -> Result<(), WireError> {
    let (value, max) = (value.into(), max.into());
    if value <= max { Ok(()) } else { Err(WireError::Range { field, value, max }) }
}

/// The common words of a body, in both directions.
struct Head {
    to_sender: bool,
    tail: bool,
    arg: u8,
    node: u16,
    word: u32,
}

/// BTH and body of a message, without the payload of DATA.
///
/// # Errors
/// A field that does not fit.
pub fn encode(msg: &Message) -> Result<(Bth, Vec<u8>), WireError> {
    let head = |arg: u8, node: u16, word: u32| Head { to_sender: !msg.to_receiver(), tail: false, arg, node, word };
    let (dest_qp, psn, head, rest) = match msg {
        Message::Data(d) => {
            payload_ok(usize::from(d.len), d.tail)?;
            at_most("round", d.round, 15u8)?;
            at_most("gen", d.r#gen, 0xFF_FFFFu32)?;
            (d.wptr, d.pidx, Head { tail: d.tail, ..head(d.round, d.src, d.r#gen) }, Vec::new())
        }
        Message::Complete(m) => (m.slot, 0, head(m.status.code(), 0, m.xid), Vec::new()),
        Message::RetxOne(m) => (m.slot, m.pidx, head(0, 0, m.xid), Vec::new()),
        Message::RetxRange(m) => {
            at_most("round", m.round, 15u8)?;
            (m.slot, m.pidx, head(m.round, 0, m.xid), Vec::new())
        }
        Message::Connect(m) => {
            let mut rest = Vec::with_capacity(24);
            rest.extend(m.incarnation.to_be_bytes());
            rest.extend([0; 2]);
            rest.extend(m.length.to_be_bytes());
            rest.extend(m.addr.to_be_bytes());
            rest.extend(m.rkey.to_be_bytes());
            rest.extend([0; 4]);
            (m.slot, 0, head(m.mtu, m.src, m.xid), rest)
        }
        Message::ConnectResp(m) => {
            at_most("gen", m.r#gen, 0xFF_FFFFu32)?;
            at_most("credit", m.credit, NUMBER_MAX)?;
            let mut rest = Vec::with_capacity(16);
            rest.extend(m.wptr.to_be_bytes());
            rest.extend(m.w.to_be_bytes());
            rest.extend(m.r#gen.to_be_bytes());
            rest.extend(m.credit.to_be_bytes());
            rest.extend(m.retry.to_be_bytes());
            rest.extend([0; 2]);
            (m.slot, 0, head(m.status.code(), 0, m.xid), rest)
        }
        Message::Poll(m) => {
            at_most("gen", m.r#gen, 0xFF_FFFFu32)?;
            let mut rest = Vec::with_capacity(8);
            rest.extend(m.slot.to_be_bytes());
            rest.extend([0; 2]);
            rest.extend(m.xid.to_be_bytes());
            (m.wptr, u32::from(m.seq), head(0, m.src, m.r#gen), rest)
        }
        Message::Status(m) => {
            at_most("wbase", m.wbase, NUMBER_MAX)?;
            at_most("credit", m.credit, NUMBER_MAX)?;
            at_most("W", m.bitmap.len() as u64, MAX_W as u64)?;
            let mut rest = Vec::with_capacity(16 + m.bitmap.len() / 8 + 8);
            rest.extend(m.wbase.to_be_bytes());
            rest.extend(m.credit.to_be_bytes());
            rest.extend((m.bitmap.len() as u16).to_be_bytes());
            rest.extend([0; 6]);
            for word in m.bitmap.chunks(64) {
                let word = word.iter_ones().fold(0u64, |bits, bit| bits | 1 << bit);
                rest.extend(word.to_be_bytes());
            }
            (m.slot, u32::from(m.seq), Head { tail: m.w_tail, ..head(0, 0, m.xid) }, rest)
        }
        Message::Abort(m) => (m.slot, 0, head(m.reason.code(), m.src, m.xid), Vec::new()),
        Message::Unknown(m) => (m.slot, 0, head(m.reason.code(), 0, m.xid), Vec::new()),
    };
    if matches!(msg, Message::Data(_) | Message::RetxOne(_) | Message::RetxRange(_)) {
        at_most("pidx", psn, NUMBER_MAX - 1)?;
    }
    let mut body = vec![u8::from(head.to_sender) << 3 | u8::from(head.tail) << 2, head.arg];
    body.extend(head.node.to_be_bytes());
    body.extend(head.word.to_be_bytes());
    body.extend(rest);
    Ok((Bth { opcode: opcode(msg.kind()), dest_qp: dest_qp.into(), psn }, body))
}

fn payload_ok(len: usize, tail: bool) -> Result<(), WireError> {
    let full = len.is_power_of_two() && (256..=4096).contains(&len);
    if full || (tail && len <= 4096) { Ok(()) } else { Err(WireError::Payload { len, tail }) }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

fn zero(name: &'static str, value: impl Into<u64>) -> Result<(), WireError> {
    if value.into() == 0 { Ok(()) } else { Err(WireError::Reserved(name)) }
}

/// Message and payload of a BTH and its body.
///
/// # Errors
/// The first check that fails.
pub fn decode<'a>(bth: &Bth, body: &'a [u8]) -> Result<(Message, &'a [u8]), WireError> {
    let kind = bth.opcode.checked_sub(0xC0).and_then(MessageType::from_code).ok_or(WireError::Opcode(bth.opcode))?;
    let length = |expected: usize| if body.len() == expected { Ok(()) } else { Err(WireError::Length { kind, got: body.len(), expected }) };
    if body.len() < HEADER_LEN {
        length(HEADER_LEN)?;
    }
    let head = Head { to_sender: body[0] & 8 != 0, tail: body[0] & 4 != 0, arg: body[1], node: be16(body, 2), word: be32(body, 4) };
    if body[0] >> 4 != 0 {
        return Err(WireError::Version(body[0] >> 4));
    }
    zero("reserved bits of byte 0", body[0] & 3)?;
    at_most("destination QP", bth.dest_qp, 0xFFFFu32)?;
    let (id, xid, arg) = (bth.dest_qp as u16, head.word, head.arg);
    let numbered = matches!(kind, MessageType::Data | MessageType::RetxOne | MessageType::RetxRange);
    match kind {
        _ if numbered => at_most("pidx", bth.psn, NUMBER_MAX - 1)?,
        MessageType::PollStatus => at_most("seq", bth.psn, 0xFFFFu32)?,
        _ => zero("PSN", bth.psn)?,
    }
    let both_ways = matches!(kind, MessageType::PollStatus | MessageType::AbortUnknown);
    let from_sender = matches!(kind, MessageType::Data | MessageType::Connect);
    if !both_ways && head.to_sender == from_sender {
        return Err(WireError::Direction(kind));
    }
    if head.to_sender {
        zero("node", head.node)?;
    }
    let is_status = kind == MessageType::PollStatus && head.to_sender;
    let is_fixed = !is_status && kind != MessageType::Data;
    if is_fixed {
        zero("tail flag", head.tail)?;
    }
    let (src, pidx, seq) = (head.node, bth.psn, bth.psn as u16);
    let reason = || Reason::from_code(arg).ok_or(WireError::Code { field: "reason", value: arg });
    if is_fixed {
        length(match kind {
            MessageType::Connect => 32,
            MessageType::ConnectResp => 24,
            MessageType::PollStatus => 16,
            _ => HEADER_LEN,
        })?;
    }
    let msg = match kind {
        MessageType::Data => {
            at_most("round", arg, 15u8)?;
            at_most("gen", head.word, 0xFF_FFFFu32)?;
            let payload = &body[HEADER_LEN..];
            payload_ok(payload.len(), head.tail)?;
            let len = payload.len() as u16;
            let data = Data { src, wptr: id, r#gen: head.word, pidx, tail: head.tail, round: arg, len };
            return Ok((Message::Data(data), payload));
        }
        MessageType::Complete => {
            let status = Status::from_code(arg).ok_or(WireError::Code { field: "status", value: arg })?;
            Message::Complete(Complete { slot: id, xid, status })
        }
        MessageType::RetxOne => {
            zero("arg", arg)?;
            Message::RetxOne(RetxOne { slot: id, xid, pidx })
        }
        MessageType::RetxRange => {
            at_most("round", arg, 15u8)?;
            Message::RetxRange(RetxRange { slot: id, xid, pidx, round: arg })
        }
        MessageType::Connect => {
            zero("reserved bytes", be16(body, 10))?;
            zero("reserved bytes", be32(body, 28))?;
            Message::Connect(Connect {
                src,
                slot: id,
                xid,
                incarnation: be16(body, 8),
                length: be32(body, 12),
                addr: be64(body, 16),
                rkey: be32(body, 24),
                mtu: arg,
            })
        }
        MessageType::ConnectResp => {
            let status = ConnectStatus::from_code(arg).ok_or(WireError::Code { field: "connect status", value: arg })?;
            zero("reserved bytes", be16(body, 22))?;
            at_most("gen", be32(body, 12), 0xFF_FFFFu32)?;
            at_most("credit", be32(body, 16), NUMBER_MAX)?;
            Message::ConnectResp(ConnectResp {
                slot: id,
                xid,
                status,
                wptr: be16(body, 8),
                w: be16(body, 10),
                r#gen: be32(body, 12),
                credit: be32(body, 16),
                retry: be16(body, 20),
            })
        }
        MessageType::PollStatus if is_status => {
            zero("arg", arg)?;
            let w = usize::from(be16(body, 16));
            at_most("W", w as u64, MAX_W as u64)?;
            length(24 + w.div_ceil(64) * 8)?;
            zero("reserved bytes", be16(body, 18))?;
            zero("reserved bytes", be32(body, 20))?;
            at_most("wbase", be32(body, 8), NUMBER_MAX)?;
            at_most("credit", be32(body, 12), NUMBER_MAX)?;
            let words = (0..w.div_ceil(64)).map(|word| be64(body, 24 + word * 8)).collect();
            let mut bitmap = Bitmap::from_vec(words);
            zero("bitmap above W", bitmap[w..].count_ones() as u64)?;
            bitmap.truncate(w);
            let (wbase, credit) = (be32(body, 8), be32(body, 12));
            Message::Status(StatusReport { slot: id, xid, seq, wbase, w_tail: head.tail, credit, bitmap })
        }
        MessageType::PollStatus => {
            zero("arg", arg)?;
            zero("reserved bytes", be16(body, 10))?;
            at_most("gen", head.word, 0xFF_FFFFu32)?;
            Message::Poll(Poll { src, wptr: id, r#gen: head.word, slot: be16(body, 8), xid: be32(body, 12), seq })
        }
        MessageType::AbortUnknown if head.to_sender => Message::Unknown(Unknown { slot: id, xid, reason: reason()? }),
        MessageType::AbortUnknown => Message::Abort(Abort { src, slot: id, xid, reason: reason()? }),
    };
    Ok((msg, &[]))
}
