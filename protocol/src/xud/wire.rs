//! Packets as bytes: BTH fields and body of each, in the frame of [`crate::roce`].
//!
//! | packet | opcode | destination QP | PSN | body |
//! |---|---|---|---|---|
//! | SEND | 0xD0 | receiver's | of the request | XUDETH 16, payload 0 to 4,096 |
//! | ACK, version 0 | 0xD1 | requester's | of the request | AETH 4 |
//! | ACK, version 1 | 0xD1 | requester's | of the request | AETH 4, echo 8, source 4 |
//!
//! XUDETH:
//!
//! | offset | bits | field |
//! |---|---|---|
//! | 0 | 32 | Q_Key |
//! | 4 | 24 | source queue pair |
//! | 7 | 4 | version, 0 or 1 |
//! | 7 | 4 | flags: 1 control, 2 fragment, 4 ordered, or 8 one-sided alone; 0 in version 0 |
//! | 8 | 16 | win_id |
//! | 10 | 16 | epoch; 0 in version 0 |
//! | 12 | 32 | win_msn |
//!
//! AETH: syndrome (8), PSN received (24). Syndrome: 0x1F acknowledgement, 0x20 RNR, 0x60 + code: [`Nak`].
//! Echo: win_id (16), epoch (16), win_msn (32) of the request. Source: the replying queue pair (24), then version and flags of the
//! request (8). The address in the frame names only the node, and control messages count epochs of their own: without this word an
//! acknowledgement of another queue pair, or of an OPEN, could pass for that of a message when PSNs wrap (XUD-3).
//! All fields are big-endian.

use thiserror::Error;

use super::codes::{Nak, OPCODE_ACK, OPCODE_SEND, OPCODES};
use crate::roce::{self, Bth, FrameError, Link};

/// Bytes of the XUDETH.
pub const XUDETH_LEN: usize = 16;
/// Bytes of an acknowledgement's body, version 0 and 1.
pub const ACK_LEN: [usize; 2] = [4, 16];
/// Largest payload, bytes.
pub const MAX_PAYLOAD: usize = 4096;
/// Flag: the payload is a message of [`super::control`].
pub const CONTROL: u8 = 1;
/// Flag: the payload begins with a fragment header.
pub const FRAGMENT: u8 = 2;
/// Flag: the payload begins with a stream sequence number.
pub const ORDERED: u8 = 4;
/// Flag: the payload begins with a header of [`super::onesided`]; alone.
pub const ONE_SIDED: u8 = 8;
/// Version 1 in the byte of the XUDETH that has version and flags.
pub const VERSION_1: u8 = 1 << 4;
/// That byte of every one-sided frame.
pub const ONE_SIDED_FRAME: u8 = VERSION_1 | ONE_SIDED;
const FLAGS: u8 = CONTROL | FRAGMENT | ORDERED;

/// Whether these flags have a meaning together.
pub(crate) const fn flags_known(flags: u8) -> bool {
    flags & !FLAGS == 0 || flags == ONE_SIDED
}

/// The flags that must not be set.
const fn unknown(flags: u8) -> u8 {
    if flags_known(flags) {
        0
    } else {
        flags & !FLAGS
    }
}

const SYNDROME_OK: u8 = 0x1F;
const SYNDROME_RNR: u8 = 0x20;
const SYNDROME_NAK: u8 = 0x60;

/// Identity of a message in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// Window of the connection.
    pub id: u16,
    /// Incarnation of the connection (XUD-6).
    pub epoch: u16,
    /// Number of the message in the window (XUD-5).
    pub msn: u32,
}

/// A request: BTH, XUDETH, payload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Send {
    /// To this queue pair.
    pub dest_qp: u32,
    /// Its number.
    pub psn: u32,
    /// Must be that of the destination.
    pub q_key: u32,
    /// From this queue pair.
    pub src_qp: u32,
    /// 0 or 1.
    pub version: u8,
    /// [`CONTROL`], [`FRAGMENT`], [`ORDERED`]; or [`ONE_SIDED`] alone.
    pub flags: u8,
    /// Window identity.
    pub window: Window,
    /// At most an MTU.
    pub payload: Vec<u8>,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// The receiver's software will see it (XUD-4).
    Ok,
    /// It had no receive request or no completion slot.
    Rnr,
    /// Refused.
    Nak(Nak),
}

impl Reply {
    /// Syndrome of the AETH.
    #[must_use]
    pub const fn syndrome(self) -> u8 {
        match self {
            Self::Ok => SYNDROME_OK,
            Self::Rnr => SYNDROME_RNR,
            Self::Nak(nak) => SYNDROME_NAK | nak.code(),
        }
    }

    /// What a syndrome says, if anything.
    #[must_use]
    pub const fn from_syndrome(syndrome: u8) -> Option<Self> {
        match syndrome {
            SYNDROME_OK => Some(Self::Ok),
            SYNDROME_RNR => Some(Self::Rnr),
            _ if syndrome & 0xE0 == SYNDROME_NAK => match Nak::from_code(syndrome & 0x1F) {
                Some(nak) => Some(Self::Nak(nak)),
                None => None,
            },
            _ => None,
        }
    }
}

/// What an acknowledgement of version 1 says of its request, beside the PSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Echo {
    /// Window identity.
    pub window: Window,
    /// Flags.
    pub flags: u8,
    /// The queue pair that answers.
    pub qpn: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ack {
    /// To the queue pair that sent the request.
    pub dest_qp: u32,
    /// PSN of the request.
    pub psn: u32,
    /// What it says.
    pub reply: Reply,
    /// Version 1 only.
    pub echo: Option<Echo>,
}

/// A packet between cards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packet {
    /// Request.
    Send(Send),
    /// Acknowledgement.
    Ack(Ack),
    /// Request of an opcode without a meaning: just enough to refuse it.
    Unknown {
        /// BTH opcode, one of [`OPCODES`].
        opcode: u8,
        /// The request, without payload.
        send: Send,
    },
}

/// What is wrong with a packet. Nothing of it may be acted upon (XUD-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The frame around it.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Not XUD's opcode.
    #[error("opcode {0:#04x} is not XUD's (0xd0 to 0xdf)")]
    Opcode(u8),
    /// Body length.
    #[error("body of {got} bytes, expected {min} to {max}")]
    Length {
        /// Bytes found.
        got: usize,
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
    /// A version other than 0 and 1.
    #[error("version {0}, only 0 and 1 are known")]
    Version(u8),
    /// A field that must be 0 is not.
    #[error("{0} is not 0")]
    Reserved(&'static str),
    /// A code without a meaning.
    #[error("AETH syndrome {0:#04x} has no meaning")]
    Syndrome(u8),
    /// The AETH names another number than the BTH.
    #[error("AETH says PSN {aeth}, BTH {bth}")]
    Psn {
        /// In the AETH.
        aeth: u32,
        /// In the BTH.
        bth: u32,
    },
    /// A field does not fit (encoding only).
    #[error("{field} {value} has more than 24 bits")]
    TooLarge {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u32,
    },
}

fn reserved(name: &'static str, value: impl Into<u32>) -> Result<(), WireError> {
    if value.into() == 0 {
        Ok(())
    } else {
        Err(WireError::Reserved(name))
    }
}

fn length(got: usize, min: usize, max: usize) -> Result<(), WireError> {
    if (min..=max).contains(&got) {
        Ok(())
    } else {
        Err(WireError::Length { got, min, max })
    }
}

fn word(body: &[u8], at: usize) -> u32 {
    body.get(at..at + 4)
        .map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

fn window(body: &[u8], at: usize) -> Window {
    let ids = word(body, at);
    Window {
        id: (ids >> 16) as u16,
        epoch: ids as u16,
        msn: word(body, at + 4),
    }
}

fn put_window(body: &mut Vec<u8>, window: Window) {
    body.extend_from_slice(&window.id.to_be_bytes());
    body.extend_from_slice(&window.epoch.to_be_bytes());
    body.extend_from_slice(&window.msn.to_be_bytes());
}

fn bits24(field: &'static str, value: u32) -> Result<u32, WireError> {
    if value < 1 << 24 {
        Ok(value)
    } else {
        Err(WireError::TooLarge { field, value })
    }
}

/// BTH and body of a packet.
///
/// # Errors
/// A field that does not fit.
pub fn encode(packet: &Packet) -> Result<(Bth, Vec<u8>), WireError> {
    let mut body = Vec::new();
    let (opcode, dest_qp, psn) = match packet {
        Packet::Send(send) => {
            put_xudeth(&mut body, send)?;
            body.extend_from_slice(&send.payload);
            (OPCODE_SEND, send.dest_qp, send.psn)
        }
        Packet::Unknown { opcode, send } => {
            put_xudeth(&mut body, send)?;
            (*opcode, send.dest_qp, send.psn)
        }
        Packet::Ack(ack) => {
            let aeth = u32::from(ack.reply.syndrome()) << 24 | bits24("PSN", ack.psn)?;
            body.extend_from_slice(&aeth.to_be_bytes());
            if let Some(echo) = ack.echo {
                put_window(&mut body, echo.window);
                let source = bits24("source queue pair", echo.qpn)? << 8;
                let source = source | u32::from(VERSION_1 | echo.flags & 15);
                body.extend_from_slice(&source.to_be_bytes());
            }
            (OPCODE_ACK, ack.dest_qp, ack.psn)
        }
    };
    let bth = Bth {
        opcode,
        dest_qp,
        psn,
    };
    Ok((bth, body))
}

fn put_xudeth(body: &mut Vec<u8>, send: &Send) -> Result<(), WireError> {
    body.extend_from_slice(&send.q_key.to_be_bytes());
    let source = bits24("source queue pair", send.src_qp)? << 8;
    let source = source | u32::from(send.version & 15) << 4 | u32::from(send.flags & 15);
    body.extend_from_slice(&source.to_be_bytes());
    put_window(body, send.window);
    length(send.payload.len(), 0, MAX_PAYLOAD)
}

/// The packet of a BTH and its body.
///
/// # Errors
/// The first check that fails.
pub fn decode(bth: &Bth, body: &[u8]) -> Result<Packet, WireError> {
    if !OPCODES.contains(&bth.opcode) {
        return Err(WireError::Opcode(bth.opcode));
    }
    if bth.opcode == OPCODE_ACK {
        return decode_ack(bth, body).map(Packet::Ack);
    }
    length(body.len(), XUDETH_LEN, XUDETH_LEN + MAX_PAYLOAD)?;
    let (version, flags) = (body[7] >> 4, body[7] & 15);
    if version > 1 {
        return Err(WireError::Version(version));
    }
    let window = window(body, 8);
    reserved("reserved flag", unknown(flags))?;
    if version == 0 {
        reserved("flags of version 0", flags)?;
        reserved("epoch of version 0", window.epoch)?;
    }
    let mut send = Send {
        dest_qp: bth.dest_qp,
        psn: bth.psn,
        q_key: word(body, 0),
        src_qp: word(body, 4) >> 8,
        version,
        flags,
        window,
        payload: Vec::new(),
    };
    if bth.opcode != OPCODE_SEND {
        let opcode = bth.opcode;
        return Ok(Packet::Unknown { opcode, send });
    }
    send.payload = body[XUDETH_LEN..].to_vec();
    Ok(Packet::Send(send))
}

fn decode_ack(bth: &Bth, body: &[u8]) -> Result<Ack, WireError> {
    if body.len() != ACK_LEN[0] {
        length(body.len(), ACK_LEN[1], ACK_LEN[1])?;
    }
    let psn = word(body, 0) & 0xFF_FFFF;
    if psn != bth.psn {
        let bth = bth.psn;
        return Err(WireError::Psn { aeth: psn, bth });
    }
    let reply = Reply::from_syndrome(body[0]).ok_or(WireError::Syndrome(body[0]))?;
    let echo = if body.len() == ACK_LEN[1] {
        let source = word(body, 12);
        if source >> 4 & 15 != 1 {
            return Err(WireError::Version((source >> 4 & 15) as u8));
        }
        let flags = source as u8 & 15;
        reserved("reserved flag", unknown(flags))?;
        Some(Echo {
            window: window(body, 4),
            flags,
            qpn: source >> 8,
        })
    } else {
        None
    };
    Ok(Ack {
        dest_qp: bth.dest_qp,
        psn,
        reply,
        echo,
    })
}

/// Builds the frame of a packet.
///
/// # Errors
/// A field that does not fit.
pub fn encode_frame(link: &Link, packet: &Packet) -> Result<Vec<u8>, WireError> {
    let (bth, body) = encode(packet)?;
    Ok(roce::encode(link, &bth, &body)?)
}

/// Takes the frame of a packet apart; checks ICRC, lengths and reserved bits before anything else sees it (XUD-14).
/// The node it comes from is the last two bytes of its source address.
///
/// # Errors
/// The first check that fails.
pub fn decode_frame(frame: &[u8]) -> Result<(u16, Packet), WireError> {
    let frame = roce::decode(frame)?;
    let [.., high, low] = frame.link.src_ip;
    Ok((
        u16::from_be_bytes([high, low]),
        decode(&frame.bth, frame.body)?,
    ))
}
