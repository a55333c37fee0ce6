//! Transfers of any size between queue pairs: what the card adds to the receiver window ([`crate::rw`]).
//!
//! A bulk WRITE is one transfer of the receiver window. Its CONNECT carries, behind the fields of [`crate::rw::Connect`], the
//! header [`TRANSFER`]: queue pairs, key and what the target's software is to be told (BW-2, BW-3). A bulk READ is a message
//! [`ReadRequest`], on which the target's card makes such a transfer back to the requester (BW-11); [`ReadRefused`] says that it
//! will not. Rule ids (`BW-1` …) are those of `docs/conformance.md`; `docs/bulk.md` is the contract.

pub mod watch;

use thiserror::Error;

use crate::roce::{self, Bth, FrameError, Link};
use crate::rw::pace::Congestion;
use crate::rw::{MTU_RANGE, full};

/// Bytes of [`TRANSFER`].
pub const TRANSFER_LEN: usize = 24;
/// Bytes of [`READ_REQUEST`].
pub const READ_REQUEST_LEN: usize = 48;
/// Bytes of [`READ_REFUSED`].
pub const READ_REFUSED_LEN: usize = 16;
/// BTH opcode of [`ReadRequest`].
pub const OPCODE_READ_REQUEST: u8 = 0xC8;
/// BTH opcode of [`ReadRefused`].
pub const OPCODE_READ_REFUSED: u8 = 0xC9;
/// Bytes of [`CONGESTED`].
pub const CONGESTED_LEN: usize = 16;
/// BTH opcode of [`Congested`]. Not one of [`OPCODES`]: only cards that look at marks know it.
pub const OPCODE_CONGESTED: u8 = 0xCA;
/// BTH opcodes of all frames of bulk transfers: messages of [`crate::rw`], and those two.
pub const OPCODES: std::ops::RangeInclusive<u8> = 0xC0..=OPCODE_READ_REFUSED;

header! {
    TRANSFER "transfer" TRANSFER_LEN, "Behind the 32 bytes of CONNECT when it is of a card: between which queue pairs the transfer is, and what it is for.";
    T_VERSION "version" [0 / 0 +: 4] "0.",
    T_NOTIFY "notify" [0 / 4 +: 1] "The target's software gets one completion when every byte is in its memory, with the immediate data.",
    T_RESPONSE "response" [0 / 5 +: 1] "The transfer answers a READ request; never together with notify.",
    T_QPN "qpn" [1 / 0 +: 24] "Queue pair at the receiver of the bytes.",
    T_SOURCE "source" [5 / 0 +: 24] "Queue pair at the sender of the bytes.",
    T_QKEY "q_key" [8 / 0 +: 32] "Q_Key of the queue pair at the receiver.",
    T_IMMEDIATE "immediate" [12 / 0 +: 32] "Immediate data with notify; otherwise 0.",
    T_TOKEN "token" [16 / 0 +: 64] "Of a response: the token of the READ request; otherwise 0.",
}

header! {
    READ_REQUEST "read_request" READ_REQUEST_LEN, "Body of a READ request (BTH opcode 0xc8, destination queue pair: the target's, PSN 0): the target's card answers with a transfer into memory of the requester, or with read_refused.";
    Q_VERSION "version" [0 / 0 +: 4] "0.",
    Q_MTU "mtu" [1 / 0 +: 8] "log2 of the packet size of the transfer, 8 to 12.",
    Q_NODE "node" [2 / 0 +: 16] "Node that asks, bits 15:0; all 20 are in the address of the frame.",
    Q_QKEY "q_key" [4 / 0 +: 32] "Q_Key of the target's queue pair.",
    Q_TOKEN "token" [8 / 0 +: 64] "Name of the request at the requester: never used twice.",
    Q_LENGTH "length" [16 / 0 +: 32] "Bytes.",
    Q_RKEY "rkey" [20 / 0 +: 32] "Key of the region at the target; it needs remote_read.",
    Q_ADDRESS "address" [24 / 0 +: 64] "Address of byte 0 at the target.",
    Q_TO_ADDRESS "to_address" [32 / 0 +: 64] "Address of byte 0 at the requester: addr of the CONNECT that answers.",
    Q_TO_KEY "to_key" [40 / 0 +: 32] "Key of the region at the requester: rkey of the CONNECT that answers.",
    Q_SOURCE "source" [45 / 0 +: 24] "Queue pair that asks.",
}

header! {
    CONGESTED "congested" CONGESTED_LEN, "Body of what the receiver of a transfer says of it to its sender (CL-4; BTH opcode 0xca, destination queue pair: the slot, PSN 0): once as its window opens, if others are open, and when packets came marked. Never sent unless the register congestion says so; a card without it counts it in not_xud, and does nothing.";
    G_VERSION "version" [0 / 0 +: 4] "0.",
    G_MARKED "marked" [0 / 4 +: 1] "Packets of the transfer came marked, or those of another while this one had more than its part: it slows down. 0: its sender only learns share, to begin with.",
    G_NODE "node" [2 / 0 +: 16] "Node that says it, likewise.",
    G_XID "xid" [4 / 0 +: 32] "Number of the transfer in its slot.",
    G_SHARE "share" [8 / 0 +: 16] "Windows open at the receiver, this one among them, at least 1: a fair part of its line is one in so many.",
}

header! {
    READ_REFUSED "read_refused" READ_REFUSED_LEN, "Body of the answer to a READ request that is not served (BTH opcode 0xc9, destination queue pair: the one that asked, PSN 0).";
    F_VERSION "version" [0 / 0 +: 4] "0.",
    F_REASON "reason" [1 / 0 +: 8] "Why: see refusals.",
    F_NODE "node" [2 / 0 +: 16] "Node that refuses, likewise.",
    F_RETRY "retry" [4 / 0 +: 16] "With busy: ask again after so many ticks; otherwise 0.",
    F_TOKEN "token" [8 / 0 +: 64] "Token of the request.",
}

codes! {
    /// Why a READ request is not served.
    Refusal {
        /// All transfer slots of the target are taken; ask again.
        Busy = 1 "busy",
        /// Key, protection domain, right (remote_read) or bounds.
        Access = 2 "access",
        /// No such queue pair, or it does not receive.
        BadQp = 3 "bad_qp",
        /// More packets than a transfer can have.
        Length = 4 "length",
    }
}

/// What is wrong with a header or message. Nothing of it may be acted upon (RW-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BulkError {
    /// The frame around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Not the opcode of such a message.
    #[error("opcode {0:#04x} is not read_request (0xc8), read_refused (0xc9) or congested (0xca)")]
    Opcode(u8),
    /// Another length than the message has.
    #[error("{what} of {got} bytes, expected {expected}")]
    Length {
        /// Which.
        what: &'static str,
        /// Bytes found.
        got: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// A version other than 0.
    #[error("version {0}, only 0 is known")]
    Version(u8),
    /// A field with a value that nobody sends.
    #[error("{field} is {value:#x}: {expected}")]
    Field {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// A bit without a field is not 0.
    #[error("reserved bits of {0} are not 0")]
    Reserved(&'static str),
}

/// What a transfer is for, beside writing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A WRITE of which the target's software learns nothing.
    Write,
    /// A WRITE that ends with a completion at the target, with these immediate data.
    Notify(u32),
    /// The answer to the READ request with this token.
    Response(u64),
}

/// What CONNECT says of the two queue pairs ([`TRANSFER`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Queue pair at the receiver of the bytes, 24 bits.
    pub qpn: u32,
    /// Queue pair at the sender of the bytes, 24 bits.
    pub source: u32,
    /// Q_Key of the queue pair at the receiver.
    pub q_key: u32,
    /// What it is for.
    pub purpose: Purpose,
}

/// A READ request ([`READ_REQUEST`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadRequest {
    /// Queue pair at the target, 24 bits.
    pub qpn: u32,
    /// Node that asks, 20 bits; as decoded the 16 that the body says ([`ReadMessage::sent_by`]).
    pub node: u32,
    /// Queue pair that asks, 24 bits.
    pub source: u32,
    /// Q_Key of the target's queue pair.
    pub q_key: u32,
    /// Name of the request at the requester.
    pub token: u64,
    /// log2 of the packet size.
    pub mtu: u8,
    /// Bytes.
    pub length: u32,
    /// Address at the target.
    pub address: u64,
    /// Key of its region.
    pub rkey: u32,
    /// Address at the requester.
    pub to_address: u64,
    /// Key of its region.
    pub to_key: u32,
}

/// A READ request is not served ([`READ_REFUSED`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadRefused {
    /// Queue pair that asked, 24 bits.
    pub qpn: u32,
    /// Node that refuses, 20 bits; as decoded the 16 that the body says ([`ReadMessage::sent_by`]).
    pub node: u32,
    /// Token of the request.
    pub token: u64,
    /// Why.
    pub reason: Refusal,
    /// With [`Refusal::Busy`]: ask again after so many ticks; otherwise 0.
    pub retry: u16,
}

/// One of the two messages of READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadMessage {
    /// To the target.
    Request(ReadRequest),
    /// To the requester.
    Refused(ReadRefused),
}

/// What the receiver of a transfer says of it to its sender ([`CONGESTED`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Congested {
    /// Node that says it, 20 bits; as decoded the 16 that the body says.
    pub node: u32,
    /// Slot of the transfer at its sender.
    pub slot: u16,
    /// Its number there.
    pub xid: u32,
    /// What it says.
    pub said: Congestion,
}

impl Congested {
    /// BTH and body.
    #[must_use]
    pub fn encode(&self) -> (Bth, [u8; CONGESTED_LEN]) {
        let mut out = [0; CONGESTED_LEN];
        G_MARKED.put(&mut out, self.said.marked);
        G_NODE.put(&mut out, self.node);
        G_XID.put(&mut out, self.xid);
        G_SHARE.put(&mut out, self.said.share);
        let bth = Bth {
            opcode: OPCODE_CONGESTED,
            dest_qp: self.slot.into(),
            psn: 0,
        };
        (bth, out)
    }

    /// Takes a message apart.
    ///
    /// # Errors
    /// The first check that fails: opcode, PSN, slot, length, version, share, bits that must be 0.
    pub fn decode(bth: &Bth, body: &[u8]) -> Result<Self, BulkError> {
        if bth.opcode != OPCODE_CONGESTED {
            return Err(BulkError::Opcode(bth.opcode));
        }
        let field = |field, value: u64, good, expected| match good {
            true => Ok(()),
            false => Err(BulkError::Field {
                field,
                value,
                expected,
            }),
        };
        field("PSN", bth.psn.into(), bth.psn == 0, "0")?;
        let slot = u16::try_from(bth.dest_qp);
        field("slot", bth.dest_qp.into(), slot.is_ok(), "16 bits")?;
        length(CONGESTED.name, body.len(), CONGESTED_LEN)?;
        version(G_VERSION.get(body))?;
        let share = G_SHARE.get(body);
        field("share", share, share > 0, "1 or more")?;
        let message = Self {
            node: G_NODE.get(body) as u32,
            slot: slot.unwrap_or_default(),
            xid: G_XID.get(body) as u32,
            said: Congestion {
                marked: G_MARKED.get(body) != 0,
                share: share as u16,
            },
        };
        exact(CONGESTED.name, body, &message.encode().1)?;
        Ok(message)
    }

    /// Its frame.
    ///
    /// # Errors
    /// None: every field fits.
    pub fn encode_frame(&self, link: &Link) -> Result<Vec<u8>, FrameError> {
        let (bth, body) = self.encode();
        roce::encode(link, &bth, &body)
    }
}

fn length(what: &'static str, got: usize, expected: usize) -> Result<(), BulkError> {
    if got == expected {
        Ok(())
    } else {
        Err(BulkError::Length {
            what,
            got,
            expected,
        })
    }
}

/// Whether bytes are what their fields make of them: all others must be 0.
fn exact(what: &'static str, bytes: &[u8], same: &[u8]) -> Result<(), BulkError> {
    if bytes == same {
        Ok(())
    } else {
        Err(BulkError::Reserved(what))
    }
}

fn version(found: u64) -> Result<(), BulkError> {
    if found == 0 {
        Ok(())
    } else {
        Err(BulkError::Version(found as u8))
    }
}

impl Transfer {
    /// As it travels.
    #[must_use]
    pub fn encode(&self) -> [u8; TRANSFER_LEN] {
        let mut out = [0; TRANSFER_LEN];
        T_QPN.put(&mut out, self.qpn);
        T_SOURCE.put(&mut out, self.source);
        T_QKEY.put(&mut out, self.q_key);
        match self.purpose {
            Purpose::Write => {}
            Purpose::Notify(immediate) => {
                T_NOTIFY.put(&mut out, true);
                T_IMMEDIATE.put(&mut out, immediate);
            }
            Purpose::Response(token) => {
                T_RESPONSE.put(&mut out, true);
                T_TOKEN.put(&mut out, token);
            }
        }
        out
    }

    /// Takes the header apart.
    ///
    /// # Errors
    /// The first check that fails: length, version, flags together, bits that must be 0.
    pub fn decode(bytes: &[u8]) -> Result<Self, BulkError> {
        length(TRANSFER.name, bytes.len(), TRANSFER_LEN)?;
        version(T_VERSION.get(bytes))?;
        let purpose = match (T_NOTIFY.get(bytes), T_RESPONSE.get(bytes)) {
            (0, 0) => Purpose::Write,
            (_, 0) => Purpose::Notify(T_IMMEDIATE.get(bytes) as u32),
            (0, _) => Purpose::Response(T_TOKEN.get(bytes)),
            _ => {
                return Err(BulkError::Field {
                    field: "notify and response",
                    value: 3,
                    expected: "one of them at most",
                });
            }
        };
        let header = Self {
            qpn: T_QPN.get(bytes) as u32,
            source: T_SOURCE.get(bytes) as u32,
            q_key: T_QKEY.get(bytes) as u32,
            purpose,
        };
        exact(TRANSFER.name, bytes, &header.encode())?;
        Ok(header)
    }
}

impl ReadMessage {
    /// BTH opcode, destination queue pair and body.
    #[must_use]
    pub fn encode(&self) -> (Bth, Vec<u8>) {
        let (opcode, dest_qp, body) = match self {
            Self::Request(m) => {
                let mut out = vec![0; READ_REQUEST_LEN];
                Q_MTU.put(&mut out, m.mtu);
                Q_NODE.put(&mut out, m.node);
                Q_QKEY.put(&mut out, m.q_key);
                Q_TOKEN.put(&mut out, m.token);
                Q_LENGTH.put(&mut out, m.length);
                Q_RKEY.put(&mut out, m.rkey);
                Q_ADDRESS.put(&mut out, m.address);
                Q_TO_ADDRESS.put(&mut out, m.to_address);
                Q_TO_KEY.put(&mut out, m.to_key);
                Q_SOURCE.put(&mut out, m.source);
                (OPCODE_READ_REQUEST, m.qpn, out)
            }
            Self::Refused(m) => {
                let mut out = vec![0; READ_REFUSED_LEN];
                F_REASON.put(&mut out, m.reason.code());
                F_NODE.put(&mut out, m.node);
                F_RETRY.put(&mut out, m.retry);
                F_TOKEN.put(&mut out, m.token);
                (OPCODE_READ_REFUSED, m.qpn, out)
            }
        };
        let bth = Bth {
            opcode,
            dest_qp,
            psn: 0,
        };
        (bth, body)
    }

    /// Takes a message apart.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn decode(bth: &Bth, body: &[u8]) -> Result<Self, BulkError> {
        if bth.psn != 0 {
            return Err(BulkError::Field {
                field: "PSN",
                value: bth.psn.into(),
                expected: "0",
            });
        }
        let qpn = bth.dest_qp;
        let message = match bth.opcode {
            OPCODE_READ_REQUEST => {
                length(READ_REQUEST.name, body.len(), READ_REQUEST_LEN)?;
                version(Q_VERSION.get(body))?;
                let mtu = Q_MTU.get(body) as u8;
                if !MTU_RANGE.contains(&mtu) {
                    return Err(BulkError::Field {
                        field: "mtu",
                        value: mtu.into(),
                        expected: "8 to 12",
                    });
                }
                Self::Request(ReadRequest {
                    qpn,
                    node: Q_NODE.get(body) as u32,
                    source: Q_SOURCE.get(body) as u32,
                    q_key: Q_QKEY.get(body) as u32,
                    token: Q_TOKEN.get(body),
                    mtu,
                    length: Q_LENGTH.get(body) as u32,
                    address: Q_ADDRESS.get(body),
                    rkey: Q_RKEY.get(body) as u32,
                    to_address: Q_TO_ADDRESS.get(body),
                    to_key: Q_TO_KEY.get(body) as u32,
                })
            }
            OPCODE_READ_REFUSED => {
                length(READ_REFUSED.name, body.len(), READ_REFUSED_LEN)?;
                version(F_VERSION.get(body))?;
                let reason = F_REASON.get(body);
                Self::Refused(ReadRefused {
                    qpn,
                    node: F_NODE.get(body) as u32,
                    token: F_TOKEN.get(body),
                    reason: Refusal::from_code(reason as u8).ok_or(BulkError::Field {
                        field: "reason",
                        value: reason,
                        expected: "1 to 4",
                    })?,
                    retry: F_RETRY.get(body) as u16,
                })
            }
            other => return Err(BulkError::Opcode(other)),
        };
        exact("the body", body, &message.encode().1)?;
        Ok(message)
    }

    /// What a body said, of which the node is 16 bits, as the message of the node that its frame came from, with all of its number.
    /// Nothing if the body is of a node with other lowest 16 bits.
    #[must_use]
    pub fn sent_by(mut self, from: u32) -> Option<Self> {
        match &mut self {
            Self::Request(ReadRequest { node, .. }) | Self::Refused(ReadRefused { node, .. }) => {
                *node = full(*node, from)?;
            }
        }
        Some(self)
    }

    /// Its frame.
    ///
    /// # Errors
    /// A queue pair of more than 24 bits.
    pub fn encode_frame(&self, link: &Link) -> Result<Vec<u8>, FrameError> {
        let (bth, body) = self.encode();
        roce::encode(link, &bth, &body)
    }

    /// Takes a frame apart.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn decode_frame(frame: &[u8]) -> Result<(Link, Self), BulkError> {
        let frame = roce::decode(frame)?;
        Ok((frame.link, Self::decode(&frame.bth, frame.body)?))
    }
}
