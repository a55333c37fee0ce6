//! The messages between sender and receiver, without payload bytes and without framing.

use bitvec::{order::Lsb0, vec::BitVec};

use super::codes::{ConnectStatus, MessageType, Reason, Status};
use crate::red::address::NODES;

/// Bits of a node number that bodies say.
const NODE_SAID: u32 = (NODES - 1) & 0xFFFF;

/// A window bitmap: bit m = packet `wbase + m` has arrived.
pub type Bitmap = BitVec<u64, Lsb0>;

/// DATA: one packet of a transfer. The payload itself is attached by the framing layer (bytes `pidx·P ..` of the transfer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Data {
    /// Node that sends, 20 bits; as decoded the 16 that the body says ([`Message::sent_by`]).
    pub src: u32,
    /// Window at the receiver.
    pub wptr: u16,
    /// Incarnation of that window (RW-7).
    pub r#gen: u32,
    /// Packet number, 22 bits.
    pub pidx: u32,
    /// pidx = N-1, on every sending (RW-4).
    pub tail: bool,
    /// 0 for a first sending, 1 for a resend; in counter mode the number of the round. 4 bits.
    pub round: u8,
    /// Payload bytes, at most 4,096.
    pub len: u16,
}

/// COMPLETE: the transfer has ended at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Complete {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// How it ended.
    pub status: Status,
}

/// RETX_ONE: send packet `pidx` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetxOne {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Packet number, 22 bits.
    pub pidx: u32,
}

/// RETX_RANGE: send `[pidx, N-1]` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetxRange {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// First packet number, 22 bits.
    pub pidx: u32,
    /// Counter mode: the round to send in. 0 otherwise. 4 bits.
    pub round: u8,
}

/// CONNECT: ask for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connect {
    /// Node that sends, 20 bits; as decoded the 16 that the body says ([`Message::sent_by`]).
    pub src: u32,
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Incarnation of the sending node (how often it was reset).
    pub incarnation: u16,
    /// Bytes of the transfer.
    pub length: u32,
    /// Address of byte 0 at the receiver.
    pub addr: u64,
    /// Key of the region it lies in.
    pub rkey: u32,
    /// log2 of the packet size.
    pub mtu: u8,
}

/// CONNECT_RESP: the window, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectResp {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Answer; the fields below but `retry` are 0 unless it is OK.
    pub status: ConnectStatus,
    /// Window at the receiver.
    pub wptr: u16,
    /// Its incarnation.
    pub r#gen: u32,
    /// Its size W in packets.
    pub w: u16,
    /// The sender may send numbers below this (RW-19).
    pub credit: u32,
    /// BUSY: try again after so many ticks (RW-9); 0 otherwise.
    pub retry: u16,
}

/// POLL: what has arrived of this transfer?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Poll {
    /// Node that sends, 20 bits; as decoded the 16 that the body says ([`Message::sent_by`]).
    pub src: u32,
    /// Window at the receiver.
    pub wptr: u16,
    /// Its incarnation.
    pub r#gen: u32,
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Comes back in the STATUS; never 0.
    pub seq: u16,
}

/// STATUS: the state of a window (RW-11), as the answer to a POLL or as a credit update (RW-19).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusReport {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// `seq` of the POLL answered; 0 for a credit update.
    pub seq: u16,
    /// First number not yet received in order.
    pub wbase: u32,
    /// The last packet has arrived.
    pub w_tail: bool,
    /// The sender may send numbers below this: min(N, wbase + W).
    pub credit: u32,
    /// Bit m = packet `wbase + m` has arrived; W bits.
    pub bitmap: Bitmap,
}

/// ABORT from the sender: the transfer is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Abort {
    /// Node that sends, 20 bits; as decoded the 16 that the body says ([`Message::sent_by`]).
    pub src: u32,
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Why.
    pub reason: Reason,
}

/// ABORT (reason IDLE) or UNKNOWN (reason NO_TRANSFER) from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unknown {
    /// Transfer slot at the sender.
    pub slot: u16,
    /// Transfer number in that slot.
    pub xid: u32,
    /// Why.
    pub reason: Reason,
}

/// One message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // each variant is its struct
pub enum Message {
    Data(Data),
    Complete(Complete),
    RetxOne(RetxOne),
    RetxRange(RetxRange),
    Connect(Connect),
    ConnectResp(ConnectResp),
    Poll(Poll),
    Status(StatusReport),
    Abort(Abort),
    Unknown(Unknown),
}

impl Message {
    /// The 3-bit TYPE.
    #[must_use]
    pub fn kind(&self) -> MessageType {
        match self {
            Self::Data(_) => MessageType::Data,
            Self::Complete(_) => MessageType::Complete,
            Self::RetxOne(_) => MessageType::RetxOne,
            Self::RetxRange(_) => MessageType::RetxRange,
            Self::Connect(_) => MessageType::Connect,
            Self::ConnectResp(_) => MessageType::ConnectResp,
            Self::Poll(_) | Self::Status(_) => MessageType::PollStatus,
            Self::Abort(_) | Self::Unknown(_) => MessageType::AbortUnknown,
        }
    }

    /// True for what goes from the sender to the receiver.
    #[must_use]
    pub fn to_receiver(&self) -> bool {
        matches!(
            self,
            Self::Data(_) | Self::Connect(_) | Self::Poll(_) | Self::Abort(_)
        )
    }

    /// Node that sends it, of what goes to the receiver.
    #[must_use]
    pub fn src(&self) -> Option<u32> {
        match self {
            Self::Data(m) => Some(m.src),
            Self::Connect(m) => Some(m.src),
            Self::Poll(m) => Some(m.src),
            Self::Abort(m) => Some(m.src),
            _ => None,
        }
    }

    /// What a body said, of which `src` is 16 bits, as the message of the node that its frame came from, with all of its number.
    /// Nothing if the body is of a node with other lowest 16 bits; what goes to the sender names no node and stays as it is.
    #[must_use]
    pub fn sent_by(mut self, node: u32) -> Option<Self> {
        match &mut self {
            Self::Data(Data { src, .. })
            | Self::Connect(Connect { src, .. })
            | Self::Poll(Poll { src, .. })
            | Self::Abort(Abort { src, .. }) => *src = full(*src, node)?,
            _ => {}
        }
        Some(self)
    }
}

/// The number of the node that a frame came from, if its lowest 16 bits are what the body of the frame says.
pub(crate) const fn full(said: u32, node: u32) -> Option<u32> {
    if said == node & NODE_SAID {
        Some(node)
    } else {
        None
    }
}

/// One line, as traces and counterexamples print it.
impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Data(m) => {
                write!(f, "DATA pidx={} wptr={} gen={}", m.pidx, m.wptr, m.r#gen)?;
                if m.tail {
                    f.write_str(" tail")?
                }
                if m.round > 0 {
                    write!(f, " round={}", m.round)?
                }
                Ok(())
            }
            Self::Complete(m) => write!(f, "COMPLETE slot={} xid={} {}", m.slot, m.xid, m.status),
            Self::RetxOne(m) => write!(f, "RETX_ONE slot={} xid={} pidx={}", m.slot, m.xid, m.pidx),
            Self::RetxRange(m) => write!(
                f,
                "RETX_RANGE slot={} xid={} pidx={}..",
                m.slot, m.xid, m.pidx
            ),
            Self::Connect(m) => write!(
                f,
                "CONNECT src={} slot={} xid={} length={} mtu={}",
                m.src, m.slot, m.xid, m.length, m.mtu
            ),
            Self::ConnectResp(m) => {
                write!(
                    f,
                    "CONNECT_RESP slot={} xid={} {} wptr={} gen={} credit={}",
                    m.slot, m.xid, m.status, m.wptr, m.r#gen, m.credit
                )
            }
            Self::Poll(m) => write!(
                f,
                "POLL slot={} xid={} wptr={} gen={} seq={}",
                m.slot, m.xid, m.wptr, m.r#gen, m.seq
            ),
            Self::Status(m) => {
                write!(
                    f,
                    "STATUS slot={} xid={} seq={} wbase={} credit={} bitmap=",
                    m.slot, m.xid, m.seq, m.wbase, m.credit
                )?;
                let shown = m.bitmap.last_one().map_or(0, |last| last + 1);
                m.bitmap
                    .iter()
                    .take(shown)
                    .try_for_each(|bit| f.write_str(if *bit { "1" } else { "0" }))
            }
            Self::Abort(m) => write!(
                f,
                "ABORT src={} slot={} xid={} {}",
                m.src, m.slot, m.xid, m.reason
            ),
            Self::Unknown(m) => write!(f, "UNKNOWN slot={} xid={} {}", m.slot, m.xid, m.reason),
        }
    }
}
