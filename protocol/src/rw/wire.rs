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
//! | CONNECT | 4 | 0 | slot | 0 | 0 | mtu | src | 32, of a card 32 + 24 |
//! | CONNECT_RESP | 5 | 1 | slot | 0 | 0 | status | 0 | 24 |
//! | POLL | 6 | 0 | wptr | seq | 0 | 0 | src | 16 |
//! | STATUS | 6 | 1 | slot | seq | w_tail | 0 | 0 | 24 + 8·⌈W/64⌉ |
//! | ABORT | 7 | 0 | slot | 0 | 0 | reason | src | 8 |
//! | UNKNOWN, ABORT by the receiver | 7 | 1 | slot | 0 | 0 | reason | 0 | 8 |
//!
//! A node has 20 bits ([`NODES`]). The body says 16 of them, and all are in the source address of the frame: [`decode`] gives what the
//! body says, [`Message::sent_by`] what its frame makes of it.
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
//! | 2 | 16 | node, bits 15:0 |
//! | 4 | 32 | DATA, POLL: gen, at most 24 bits; all others: xid |
//!
//! and goes on, offsets in bytes:
//!
//! | message | fields |
//! |---|---|
//! | DATA | 8: payload, 256 to 4,096 bytes and a power of two, or 0 to 4,096 with tail |
//! | CONNECT | 8: incarnation (16) · 10: reserved (16) · 12: length (32) · 16: addr (64) · 24: rkey (32) · 28: reserved (32) · 32, of a card: [`crate::bulk::TRANSFER`] |
//! | CONNECT_RESP | 8: wptr (16) · 10: W (16) · 12: gen (32) · 16: credit (32) · 20: retry (16) · 22: reserved (16) |
//! | POLL | 8: slot (16) · 10: reserved (16) · 12: xid (32) |
//! | STATUS | 8: wbase (32) · 12: credit (32) · 16: W (16) · 18: reserved (48) · 24: bitmap, words of 64 bits |
//!
//! Bit m of the bitmap is bit m mod 64 of word ⌊m/64⌋, bits from W up are 0. Reserved bits are 0; a message that has one set is
//! malformed. All fields are big-endian.

mod decode;
mod encode;
pub mod layout;

pub use decode::decode;
pub use encode::encode;
use thiserror::Error;

use super::{
    Bitmap, Message,
    codes::{ConnectStatus, MessageType, Reason, Status, opcode},
    message::{
        Abort, Complete, Connect, ConnectResp, Data, Poll, RetxOne, RetxRange, StatusReport,
        Unknown,
    },
};
use crate::bulk::{BulkError, TRANSFER_LEN, Transfer};
use crate::red::address::NODES;
use crate::roce::{self, Bth, FrameError, Link};

/// Bytes in front of the payload of DATA, and the whole body of the short messages.
pub const HEADER_LEN: usize = 8;
/// Largest W of a bitmap on the wire.
pub const MAX_W: usize = 1 << 15;
/// Packets of the largest transfer; numbers of packets are below, credit and the first hole may be it.
pub const NUMBER_MAX: u32 = 1 << 21;
/// Bytes of CONNECT without the header of a card.
pub const CONNECT_LEN: usize = 32;

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
    #[error(
        "payload of {len} bytes with tail = {tail}: a power of two from 256 to 4096, or at most 4096 with tail"
    )]
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
    /// What a card put behind CONNECT.
    #[error("behind CONNECT: {0}")]
    Transfer(BulkError),
}

/// A message with its payload and the addresses it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// Addresses.
    pub link: Link,
    /// The message.
    pub msg: Message,
    /// Of DATA the payload; of the CONNECT of a card [`crate::bulk::TRANSFER`]; otherwise empty.
    pub payload: &'a [u8],
}

/// Builds the frame of a message.
///
/// # Errors
/// A field that does not fit, or a payload that is neither the `len` of a DATA message nor, behind CONNECT, the header of a card.
pub fn encode_frame(link: &Link, msg: &Message, payload: &[u8]) -> Result<Vec<u8>, WireError> {
    let (bth, mut body) = encode(msg)?;
    let expected = match msg {
        Message::Data(d) => usize::from(d.len),
        Message::Connect(_) if !payload.is_empty() => TRANSFER_LEN,
        _ => 0,
    };
    if payload.len() != expected {
        return Err(WireError::Length {
            kind: msg.kind(),
            got: payload.len(),
            expected,
        });
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
    Ok(Decoded {
        link: frame.link,
        msg,
        payload,
    })
}

fn at_most(
    field: &'static str,
    value: impl Into<u64>,
    max: impl Into<u64>,
) -> Result<(), WireError> {
    let (value, max) = (value.into(), max.into());
    if value <= max {
        Ok(())
    } else {
        Err(WireError::Range { field, value, max })
    }
}

/// The common words of a body, in both directions.
struct Head {
    to_sender: bool,
    tail: bool,
    arg: u8,
    node: u16,
    word: u32,
}

fn payload_ok(len: usize, tail: bool) -> Result<(), WireError> {
    let full = len.is_power_of_two() && (256..=4096).contains(&len);
    if full || (tail && len <= 4096) {
        Ok(())
    } else {
        Err(WireError::Payload { len, tail })
    }
}
