//! How members say things to each other: one datagram of the reliable layer for each.
//!
//! Numbers are big-endian. A datagram begins with
//!
//! | bytes | field |
//! |---|---|
//! | 0 | 0xB1: block multicast, version 1 |
//! | 1 | kind |
//! | 2..4 | 0 |
//! | 4..8 | epoch |
//!
//! and goes on by its kind:
//!
//! | kind | message | fields, with their bytes |
//! |---|---|---|
//! | 1 | Join | members 4, algorithm 1, offload 1, racks 2, bytes of a block 4, identity 8, members of each rack 4 |
//! | 2 | Holdings | whole messages 4, length of each 8; messages in part 4, of each: length 8, blocks that are here |
//! | 3 | Repairs | first message 4, messages 4, of each: length 8, members 4, of each: blocks that it has |
//! | 4 | Open | |
//! | 5 | Credit | blocks granted 4, the message of the last 4, its block is known 1, 0 1, 0 2, its block 4, then the place |
//! | 6 | Close | messages 4 |
//! | 7 | Done | |
//! | 8, 9 | Notice, Ask | suspect 4, why 1 |
//! | 10 | Report | suspect 4, why 1, watermark 4 |
//! | 11 | Verdict | success 1; then messages 4, or suspect 4, why 1, members 4, of each: it is there 1, watermark 4 |
//! | 12 | Carried | tag 4, message 4, block 4, length of the message 8 |
//! | 13, 14 | Ping, Pong | |
//! | 15 | Ticket | address 8, key 4, queue pairs that blocks leave by 2, that blocks come to 2, the number of each 4 |
//! | 16 | Length | message 4, length 8 |
//!
//! Credit and Carried are of groups that hosts carry out, Ticket and Length of those that cards carry out.
//!
//! Algorithms count from 0 in the order of [`Algorithm::ALL`]. Why is 0 gone, 1 other parameters, 2 a message that is too long,
//! 3 a card that is stuck, 4 a ticket that does not fit ([`Why`]).
//!
//! The place of a block is: tag 4, queue pair 4, key 4, address 8. A set of blocks is: its size 4, then a bit for each, the
//! first one lowest in its byte, in whole bytes.

use bitvec::vec::BitVec;
use thiserror::Error;

use super::{Control, Expected, GroupConfig, Holdings, Parameters, Partial, Repairs, Verdict, Why};
use crate::multicast::{Algorithm, MAX_BLOCKS};

/// First byte of every datagram.
const VERSION: u8 = 0xB1;

/// Where a block shall land, and the number that its notification carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Immediate data of the transfer; a receiver never uses one twice while it is of use.
    pub tag: u32,
    /// Queue pair that is notified.
    pub qp_num: u32,
    /// Key of the region.
    pub rkey: u32,
    /// Address in it.
    pub address: u64,
}

/// What one member's card must know of another's, of a group that cards carry out: see `host_driver::multicast`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// Where the sender's memory for a message begins.
    pub address: u64,
    /// Key of this memory.
    pub rkey: u32,
    /// The sender's queue pairs that blocks for the receiver leave by and its grants come to, a lane each; 65,535 at most.
    pub sends: Vec<u32>,
    /// Those that blocks of the receiver come to and its grants leave by.
    pub receives: Vec<u32>,
}

/// A datagram of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Incarnation of the group.
    pub epoch: u32,
    /// What it says.
    pub body: Body,
}

/// What a datagram says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A message of the group protocol, but for credits: those have a place.
    Control(Control),
    /// [`Control::Credit`] and the place of the block.
    Credit {
        /// As there.
        granted: u32,
        /// As there.
        expected: Expected,
        /// Where it shall land.
        place: Place,
    },
    /// With the first block that a receiver gets of a message: what it is (MB-10).
    Carried {
        /// Of its place.
        tag: u32,
        /// Number of the message.
        message: u32,
        /// Number of the block.
        block: u32,
        /// Bytes of the message.
        length: u64,
    },
    /// Is the host there?
    Ping,
    /// It is.
    Pong,
    /// To a peer of the schedule: how its card reaches the sender's.
    Ticket(Ticket),
    /// From the root to all, once for each message and in their order: its card may now take it.
    Length {
        /// Number of the message.
        message: u32,
        /// Its bytes.
        length: u64,
    },
}

/// Why bytes are no datagram of a group, or something has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Something else, or a version that is not known.
    #[error("byte 0 is {0:#04x}, not {VERSION:#04x}: no block multicast of version 1")]
    Version(u8),
    /// A kind that there is not.
    #[error("kind {0}")]
    Kind(u8),
    /// It ends too early.
    #[error("it ends at byte {0}, before its fields do")]
    Short(usize),
    /// It goes on behind its last field.
    #[error("{0} bytes behind the last field")]
    Long(usize),
    /// A field has a value that means nothing.
    #[error("{field} is {value}")]
    Value {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A credit without the place of its block.
    #[error("a credit without a place")]
    NoPlace,
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn set(&mut self, set: &BitVec) {
        self.u32(set.len() as u32);
        for bits in set.chunks(8) {
            let ones = bits.iter_ones().map(|bit| 1 << bit);
            self.u8(ones.fold(0, |byte: u8, bit: u8| byte | bit));
        }
    }

    fn why(&mut self, why: Why) -> &mut Self {
        self.u8(match why {
            Why::Gone => 0,
            Why::Parameters => 1,
            Why::Length => 2,
            Why::Stuck => 3,
            Why::Ticket => 4,
        })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let found = self.bytes[self.at..].first_chunk();
        let found = *found.ok_or(WireError::Short(self.bytes.len()))?;
        self.at += N;
        Ok(found)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_be_bytes(self.take()?))
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(bad(field, other.into())),
        }
    }

    fn zeros(&mut self, count: usize) -> Result<(), WireError> {
        for _ in 0..count {
            match self.u8()? {
                0 => {}
                other => return Err(bad("a reserved byte", other.into())),
            }
        }
        Ok(())
    }

    /// A number of things that have so many bytes each at least.
    fn count(&mut self, field: &'static str, bytes: usize) -> Result<usize, WireError> {
        let count = self.u32()?;
        let most = (self.bytes.len() - self.at) / bytes;
        if count as usize > most {
            return Err(bad(field, count.into()));
        }
        Ok(count as usize)
    }

    fn set(&mut self) -> Result<BitVec, WireError> {
        let size = self.u32()?;
        if size > MAX_BLOCKS {
            return Err(bad("blocks of a message", size.into()));
        }
        let mut set = BitVec::repeat(false, size as usize);
        for bits in set.chunks_mut(8) {
            let byte = self.u8()?;
            if u32::from(byte) >> bits.len() != 0 {
                return Err(bad("a set of blocks", byte.into()));
            }
            for (number, mut bit) in bits.into_iter().enumerate() {
                bit.set(byte >> number & 1 == 1);
            }
        }
        Ok(set)
    }

    fn why(&mut self) -> Result<Why, WireError> {
        Ok(match self.u8()? {
            0 => Why::Gone,
            1 => Why::Parameters,
            2 => Why::Length,
            3 => Why::Stuck,
            4 => Why::Ticket,
            other => return Err(bad("why", other.into())),
        })
    }
}

fn bad(field: &'static str, value: u64) -> WireError {
    WireError::Value { field, value }
}

/// Number of an algorithm: its place in [`Algorithm::ALL`].
fn algorithm_code(algorithm: Algorithm) -> u8 {
    let place = Algorithm::ALL.iter().position(|&a| a == algorithm);
    place.unwrap_or(Algorithm::ALL.len()) as u8
}

impl Datagram {
    /// Its bytes.
    ///
    /// # Errors
    /// A credit that has no place.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let mut w = Writer(Vec::with_capacity(64));
        w.u8(VERSION).u8(self.kind()).u16(0).u32(self.epoch);
        match &self.body {
            Body::Control(control) => write_control(&mut w, control)?,
            Body::Credit {
                granted,
                expected,
                place,
            } => {
                w.u32(*granted).u32(expected.message);
                w.u8(u8::from(expected.block.is_some())).u8(0).u16(0);
                w.u32(expected.block.unwrap_or(0));
                w.u32(place.tag).u32(place.qp_num);
                w.u32(place.rkey).u64(place.address);
            }
            Body::Carried {
                tag,
                message,
                block,
                length,
            } => {
                w.u32(*tag).u32(*message).u32(*block).u64(*length);
            }
            Body::Ping | Body::Pong => {}
            Body::Ticket(ticket) => write_ticket(&mut w, ticket),
            Body::Length { message, length } => {
                w.u32(*message).u64(*length);
            }
        }
        Ok(w.0)
    }

    fn kind(&self) -> u8 {
        match &self.body {
            Body::Control(control) => match control {
                Control::Join(_) => 1,
                Control::Holdings(_) => 2,
                Control::Repairs(_) => 3,
                Control::Open => 4,
                Control::Credit { .. } => 5,
                Control::Close { .. } => 6,
                Control::Done => 7,
                Control::Notice { .. } => 8,
                Control::Ask { .. } => 9,
                Control::Report { .. } => 10,
                Control::Verdict(_) => 11,
            },
            Body::Credit { .. } => 5,
            Body::Carried { .. } => 12,
            Body::Ping => 13,
            Body::Pong => 14,
            Body::Ticket(_) => 15,
            Body::Length { .. } => 16,
        }
    }

    /// Reads one. It holds nothing that means nothing, but may be out of place in a group: see [`Control::fits`].
    ///
    /// # Errors
    /// Other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader { bytes, at: 0 };
        let version = r.u8()?;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let kind = r.u8()?;
        r.zeros(2)?;
        let epoch = r.u32()?;
        let body = match kind {
            5 => read_credit(&mut r)?,
            12 => Body::Carried {
                tag: r.u32()?,
                message: r.u32()?,
                block: r.u32()?,
                length: r.u64()?,
            },
            13 => Body::Ping,
            14 => Body::Pong,
            15 => Body::Ticket(read_ticket(&mut r)?),
            16 => Body::Length {
                message: r.u32()?,
                length: r.u64()?,
            },
            _ => Body::Control(read_control(&mut r, kind)?),
        };
        match bytes.len() - r.at {
            0 => Ok(Self { epoch, body }),
            more => Err(WireError::Long(more)),
        }
    }
}

fn write_control(w: &mut Writer, control: &Control) -> Result<(), WireError> {
    match control {
        Control::Join(p) => {
            w.u32(p.members).u8(algorithm_code(p.algorithm));
            w.u8(p.offload.into()).u16(p.racks.len() as u16);
            w.u32(p.block_bytes).u64(p.identity);
            for &rack in &p.racks {
                w.u32(rack);
            }
        }
        Control::Holdings(holdings) => {
            w.u32(holdings.whole.len() as u32);
            for &length in &holdings.whole {
                w.u64(length);
            }
            w.u32(holdings.partial.len() as u32);
            for partial in &holdings.partial {
                w.u64(partial.length).set(&partial.have);
            }
        }
        Control::Repairs(repairs) => {
            w.u32(repairs.first).u32(repairs.messages.len() as u32);
            for (length, have) in &repairs.messages {
                w.u64(*length).u32(have.len() as u32);
                for set in have {
                    w.set(set);
                }
            }
        }
        Control::Open | Control::Done => {}
        Control::Credit { .. } => return Err(WireError::NoPlace),
        Control::Close { messages } => {
            w.u32(*messages);
        }
        Control::Notice { suspect, why } | Control::Ask { suspect, why } => {
            w.u32(*suspect).why(*why);
        }
        Control::Report {
            suspect,
            why,
            watermark,
        } => {
            w.u32(*suspect).why(*why).u32(*watermark);
        }
        Control::Verdict(Verdict::Success { messages }) => {
            w.u8(1).u32(*messages);
        }
        Control::Verdict(Verdict::Failure {
            suspect,
            why,
            watermarks,
        }) => {
            w.u8(0).u32(*suspect).why(*why);
            w.u32(watermarks.len() as u32);
            for watermark in watermarks {
                w.u8(watermark.is_some().into());
                w.u32(watermark.unwrap_or(0));
            }
        }
    }
    Ok(())
}

fn write_ticket(w: &mut Writer, ticket: &Ticket) {
    w.u64(ticket.address).u32(ticket.rkey);
    let (sends, receives) = (&ticket.sends, &ticket.receives);
    w.u16(sends.len() as u16).u16(receives.len() as u16);
    for &number in sends.iter().chain(receives) {
        w.u32(number);
    }
}

fn read_ticket(r: &mut Reader<'_>) -> Result<Ticket, WireError> {
    let (address, rkey) = (r.u64()?, r.u32()?);
    let (sends, receives) = (r.u16()?, r.u16()?);
    let mut numbers = |count| (0..count).map(|_| r.u32()).collect::<Result<_, _>>();
    Ok(Ticket {
        address,
        rkey,
        sends: numbers(sends)?,
        receives: numbers(receives)?,
    })
}

fn read_credit(r: &mut Reader<'_>) -> Result<Body, WireError> {
    let (granted, message) = (r.u32()?, r.u32()?);
    let known = r.flag("whether the block is known")?;
    r.zeros(3)?;
    let block = absent("a block that is not known", known, r.u32()?)?;
    let place = Place {
        tag: r.u32()?,
        qp_num: r.u32()?,
        rkey: r.u32()?,
        address: r.u64()?,
    };
    Ok(Body::Credit {
        granted,
        expected: Expected { message, block },
        place,
    })
}

/// A number that must be 0 where there is none.
fn absent(field: &'static str, there: bool, value: u32) -> Result<Option<u32>, WireError> {
    match (there, value) {
        (true, value) => Ok(Some(value)),
        (false, 0) => Ok(None),
        (false, value) => Err(bad(field, value.into())),
    }
}

fn read_control(r: &mut Reader<'_>, kind: u8) -> Result<Control, WireError> {
    Ok(match kind {
        1 => {
            let members = r.u32()?;
            let code = r.u8()?;
            let algorithm = Algorithm::ALL.get(usize::from(code)).copied();
            let algorithm = algorithm.ok_or(bad("algorithm", code.into()))?;
            let offload = r.flag("offload")?;
            let racks = r.u16()?;
            Control::Join(Parameters {
                members,
                algorithm,
                offload,
                block_bytes: r.u32()?,
                identity: r.u64()?,
                racks: (0..racks).map(|_| r.u32()).collect::<Result<_, _>>()?,
            })
        }
        2 => {
            let whole = r.count("whole messages", 8)?;
            let whole = (0..whole).map(|_| r.u64()).collect::<Result<_, _>>()?;
            let partial = r.count("messages in part", 12)?;
            let one = |r: &mut Reader<'_>| {
                Ok(Partial {
                    length: r.u64()?,
                    have: r.set()?,
                })
            };
            let partial = (0..partial).map(|_| one(r)).collect::<Result<_, _>>()?;
            Control::Holdings(Holdings { whole, partial })
        }
        3 => {
            let first = r.u32()?;
            let count = r.count("messages", 12)?;
            let one = |r: &mut Reader<'_>| {
                let length = r.u64()?;
                let members = r.count("members", 4)?;
                let have = (0..members).map(|_| r.set()).collect::<Result<_, _>>()?;
                Ok((length, have))
            };
            let messages = (0..count).map(|_| one(r)).collect::<Result<_, _>>()?;
            Control::Repairs(Repairs { first, messages })
        }
        4 => Control::Open,
        6 => Control::Close { messages: r.u32()? },
        7 => Control::Done,
        8 => Control::Notice {
            suspect: r.u32()?,
            why: r.why()?,
        },
        9 => Control::Ask {
            suspect: r.u32()?,
            why: r.why()?,
        },
        10 => Control::Report {
            suspect: r.u32()?,
            why: r.why()?,
            watermark: r.u32()?,
        },
        11 if r.flag("success")? => Control::Verdict(Verdict::Success { messages: r.u32()? }),
        11 => {
            let (suspect, why) = (r.u32()?, r.why()?);
            let members = r.count("members", 5)?;
            let one = |r: &mut Reader<'_>| {
                let there = r.flag("whether a member is there")?;
                absent("the watermark of a member that is gone", there, r.u32()?)
            };
            let watermarks = (0..members).map(|_| one(r)).collect::<Result<_, _>>()?;
            Control::Verdict(Verdict::Failure {
                suspect,
                why,
                watermarks,
            })
        }
        other => return Err(WireError::Kind(other)),
    })
}

impl Control {
    /// Whether its numbers are possible in a group: members, and blocks of messages. What does not fit must not reach a
    /// [`Member`](super::Member).
    #[must_use]
    pub fn fits(&self, config: &GroupConfig) -> bool {
        let members = config.members as usize;
        let blocks = |length: u64| config.blocks(length).ok().map(|blocks| blocks as usize);
        match self {
            Self::Holdings(holdings) => {
                let whole = holdings.whole.iter().all(|&l| blocks(l).is_some());
                let mut partial = holdings.partial.iter();
                whole && partial.all(|p| blocks(p.length) == Some(p.have.len()))
            }
            Self::Repairs(repairs) => {
                let count = u32::try_from(repairs.messages.len());
                let end = count
                    .ok()
                    .and_then(|count| repairs.first.checked_add(count));
                let right = |(length, have): &(u64, Vec<BitVec>)| {
                    let blocks = blocks(*length);
                    have.len() == members && have.iter().all(|set| blocks == Some(set.len()))
                };
                end.is_some() && repairs.messages.iter().all(right)
            }
            Self::Notice { suspect, .. }
            | Self::Ask { suspect, .. }
            | Self::Report { suspect, .. } => *suspect < config.members,
            Self::Verdict(Verdict::Failure {
                suspect,
                watermarks,
                ..
            }) => *suspect < config.members && watermarks.len() == members,
            _ => true,
        }
    }
}
