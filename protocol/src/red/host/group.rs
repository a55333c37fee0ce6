//! What root and leaves of a group agree on, and the frames between them.

use std::ops::Range;

use thiserror::Error;

use crate::red::{
    address::{Address, Key},
    ops::{Mode, Op, Value},
    wire::{DEFAULT_ETHERTYPE, Fabric, Frame, Reduction, Restricted, WireError},
};

use super::repsum::{Sum, TooManySummands, check_share, share, within};

/// Kind of message between hosts: the `opcode` of the restricted header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Downwards: arms, and carries the last result. Upwards: a contribution. Engines send it too.
    Reduce = 0,
    /// Root to leaves: answer by unicast.
    RollCall = 1,
    /// Answer to a roll call; count 1 with a value, 0 without.
    Present = 2,
    /// Leaf to root: repeat your last frame for me.
    Query = 3,
    /// Between hosts: a step of recursive doubling.
    Exchange = 4,
}

impl Kind {
    /// The kind of a frame.
    #[must_use]
    pub const fn of(frame: &Frame) -> Option<Self> {
        match frame.restricted.opcode {
            0 => Some(Self::Reduce),
            1 => Some(Self::RollCall),
            2 => Some(Self::Present),
            3 => Some(Self::Query),
            4 => Some(Self::Exchange),
            _ => None,
        }
    }
}

/// A reduction group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Tree and reduction id.
    pub key: Key,
    /// Job.
    pub vni: u16,
    /// Names this group among those that use the key one after another.
    pub cookie: u32,
    /// The root's endpoint.
    pub root: Address,
    /// Every endpoint but the root, in an order that all know.
    pub leaves: Vec<Address>,
    /// Ethertype of reduction frames.
    pub ethertype: u16,
    /// As the switches' mode register.
    pub mode: Mode,
    /// Sequence number of the first attempt.
    pub first_seqno: u16,
}

impl Group {
    /// A group with the default ethertype and mode, and sequence numbers from 0.
    #[must_use]
    pub fn new(key: Key, vni: u16, cookie: u32, root: Address, leaves: Vec<Address>) -> Self {
        Self {
            key,
            vni,
            cookie,
            root,
            leaves,
            ethertype: DEFAULT_ETHERTYPE,
            mode: Mode::default(),
            first_seqno: 0,
        }
    }

    /// Number of endpoints, the root among them: the count of a complete result.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.leaves.len()).map_or(u32::MAX, |n| n.saturating_add(1))
    }

    /// Most summands that each endpoint may bring into a reproducible sum: its share of 2^23 (RED-8).
    #[must_use]
    pub fn summands_each(&self) -> u32 {
        share(self.size())
    }

    /// What an endpoint contributes of a reproducible sum.
    ///
    /// # Errors
    /// The sum has more summands than [`Group::summands_each`]: with as many at every endpoint a word could overflow.
    pub fn contribution(&self, sum: &Sum) -> Result<Value, TooManySummands> {
        within(sum.summands().into(), self.summands_each())?;
        Ok(*sum.value())
    }

    /// Whether an endpoint may contribute this value. Every endpoint asks this before it sends anything.
    ///
    /// # Errors
    /// A reproducible sum whose words show more summands than [`Group::summands_each`]. If every endpoint keeps to that, no word
    /// overflows in any order.
    pub fn check_contribution(&self, op: Op, value: &Value) -> Result<(), TooManySummands> {
        check_share(op, value, self.size())
    }

    /// Reads a frame of this group.
    ///
    /// # Errors
    /// A malformed frame, another group's, or a kind that nobody sends.
    pub(super) fn parse(&self, bytes: &[u8]) -> Result<(Frame, Kind), Ignored> {
        let frame = Frame::parse(bytes, self.ethertype)?;
        if frame.fabric.vni != self.vni || frame.red.cookie != self.cookie {
            return Err(Ignored::Foreign);
        }
        let kind = Kind::of(&frame).ok_or(Ignored::Foreign)?;
        Ok((frame, kind))
    }

    pub(super) fn frame(&self, kind: Kind, from: Address, to: Address, fill: &Fill) -> Frame {
        Frame {
            fabric: Fabric::new(from, to, self.vni),
            restricted: Restricted {
                opcode: kind as u8,
                remote_offset: fill.round,
                ..Restricted::default()
            },
            red: Reduction {
                seqno: fill.seqno,
                arm: fill.arm,
                op: fill.op,
                count: fill.count,
                resno: fill.resno,
                rc: fill.value.rc,
                m: fill.value.m,
                oflow: fill.value.oflow,
                pad: 0,
                cookie: self.cookie,
            },
            data: fill.value.data,
        }
    }
}

/// What differs between the frames of a group.
pub(super) struct Fill {
    pub round: u64,
    pub seqno: u16,
    pub resno: u16,
    pub arm: bool,
    pub op: Op,
    pub count: u32,
    pub value: Value,
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// Round, from 0.
    pub round: u64,
    /// Operation.
    pub op: Op,
    /// Value; its result code says what went wrong in the arithmetic.
    pub value: Value,
    /// Endpoints whose values are in it; fewer than [`Group::size`] is a partial result.
    pub count: u32,
}

/// Something that an endpoint's user wants to know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Event {
    /// A round is over, and this is its result.
    Done(Outcome),
    /// At the root, before the `Done` of a partial result: whose values are not in it (RED-18).
    Missing {
        /// Round.
        round: u64,
        /// Leaves that gave no value, in the group's order.
        missing: Vec<Address>,
        /// Those among them that did not answer the roll call at all.
        silent: Vec<Address>,
    },
    /// At the root: a contribution came after the result that should have it, so the network has repeated a frame, and
    /// an engine may have counted someone twice in place of this leaf.
    Doubtful {
        /// Round whose result is in doubt.
        round: u64,
        /// Whose contribution came late.
        leaf: Address,
    },
    /// At a leaf: these rounds ended without its value, or without it hearing the result.
    LeftOut(Range<u64>),
    /// At the root: a round goes on with a new sequence number.
    Retry {
        /// Round.
        round: u64,
        /// The new sequence number.
        seqno: u16,
    },
}

/// What an endpoint gives out when it is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame to send.
    Send(Vec<u8>),
    /// News for the user.
    Event(Event),
}

/// Why a frame changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Ignored {
    /// It is malformed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Another VNI, cookie or key, a source that has no part in this, or a direction that makes no sense.
    #[error("not a frame for this endpoint")]
    Foreign,
    /// Of an attempt or round that is over, or not begun.
    #[error("of another attempt or round")]
    Stale,
    /// This source has been heard in this attempt.
    #[error("heard before")]
    Duplicate,
}
