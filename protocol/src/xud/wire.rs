//! Packets as bytes: BTH fields and body of each, in the frame of [`crate::roce`].
//!
//! | packet | opcode | destination QP | PSN | body |
//! |---|---|---|---|---|
//! | SEND | 0xD0 | receiver's | of the request | XUDETH 16, payload 0 to 4,096 |
//! | ACK, version 0 | 0xD1 | requester's | of the request | AETH 4 |
//! | ACK, version 1 | 0xD1 | requester's | of the request | AETH 4, echo 8, source 4 |
//!
//! [`XUDETH`], [`AETH`], [`ECHO`] and [`SOURCE`] declare the fields. The echo and the source are those of the request: the address in
//! the frame names only the node, and control messages count epochs of their own, so without these words an acknowledgement of another
//! queue pair, or of an OPEN, could pass for that of a message when PSNs wrap (XUD-3).
//! All fields are big-endian.

use thiserror::Error;

use super::codes::{Nak, OPCODE_ACK, OPCODE_SEND, OPCODES};
use crate::header::HeaderField;
use crate::registers::Field;
use crate::roce::{self, Bth, FrameError, Link};

/// Bytes of the XUDETH.
pub const XUDETH_LEN: usize = 16;
/// Bytes of an acknowledgement's body, version 0 and 1.
pub const ACK_LEN: [usize; 2] = [4, 16];
/// Largest payload, bytes.
pub const MAX_PAYLOAD: usize = 4096;

header! {
    XUDETH "xudeth" XUDETH_LEN, "Extended datagram header: in front of the payload of every request.";
    XUDETH_Q_KEY "q_key" [0 / 0 +: 32] "Q_Key; must be that of the destination.",
    XUDETH_SOURCE "source_qpn" [4 / 0 +: 24] "Queue pair that sends.",
    XUDETH_VERSION "version" [7 / 0 +: 4] "0 or 1.",
    XUDETH_FLAGS "flags" [7 / 4 +: 4] "Flags; 0 in version 0.",
    XUDETH_WINDOW "win_id" [8 / 0 +: 16] "Window of the connection.",
    XUDETH_EPOCH "epoch" [10 / 0 +: 16] "Epoch of the window (XUD-6); 0 in version 0.",
    XUDETH_MSN "win_msn" [12 / 0 +: 32] "Number of the message in its window (XUD-5).",
}

header! {
    AETH "aeth" ACK_LEN[0], "Acknowledgement header: first, and in version 0 only, part of the body of an acknowledgement.";
    AETH_SYNDROME "syndrome" [0 / 0 +: 8] "What it says: see syndromes.",
    AETH_PSN "psn" [1 / 0 +: 24] "PSN of the request, as in the BTH.",
}

header! {
    ECHO "echo" 8, "Echo: behind the AETH in version 1; the window identity of the request.";
    ECHO_WINDOW "win_id" [0 / 0 +: 16] "Window of the request.",
    ECHO_EPOCH "epoch" [2 / 0 +: 16] "Epoch of the request.",
    ECHO_MSN "win_msn" [4 / 0 +: 32] "Number of the request in its window.",
}

header! {
    SOURCE "ack_source" 4, "Source: behind the echo in version 1; who answers, and what.";
    SOURCE_QPN "qpn" [0 / 0 +: 24] "Queue pair that answers.",
    SOURCE_VERSION "version" [3 / 0 +: 4] "Version of the request: 1.",
    SOURCE_FLAGS "flags" [3 / 4 +: 4] "Flags of the request.",
}

/// Version and flags as one byte: `version_flags` of work requests and completions, and byte 7 of the XUDETH.
pub const VERSION_FLAGS: &[Field] = &[
    FLAG_CONTROL,
    FLAG_FRAGMENT,
    FLAG_ORDERED,
    FLAG_ONE_SIDED,
    VERSION,
];

const fn bits(name: &'static str, lsb: u8, width: u8, doc: &'static str) -> Field {
    Field {
        name,
        lsb,
        width,
        doc,
    }
}

/// Bit of [`CONTROL`].
pub const FLAG_CONTROL: Field = bits(
    "control",
    0,
    1,
    "The payload is a control message of the reliable layer. Its epoch is not checked by the card.",
);
/// Bit of [`FRAGMENT`].
pub const FLAG_FRAGMENT: Field = bits(
    "fragment",
    1,
    1,
    "The payload begins with a fragment header.",
);
/// Bit of [`ORDERED`].
pub const FLAG_ORDERED: Field = bits(
    "ordered",
    2,
    1,
    "The payload begins with a stream number, or its fragment header has one.",
);
/// Bit of [`ONE_SIDED`].
pub const FLAG_ONE_SIDED: Field = bits(
    "one_sided",
    3,
    1,
    "The payload begins with a one-sided header. This flag stands alone.",
);
/// Version of the XUDETH.
pub const VERSION: Field = bits(
    "version",
    4,
    4,
    "0: plain datagram, flags and epoch 0. 1: with window identity, which the acknowledgement echoes.",
);

/// Flag: the payload is a message of [`super::control`].
pub const CONTROL: u8 = FLAG_CONTROL.put(1) as u8;
/// Flag: the payload begins with a fragment header.
pub const FRAGMENT: u8 = FLAG_FRAGMENT.put(1) as u8;
/// Flag: the payload begins with a stream sequence number.
pub const ORDERED: u8 = FLAG_ORDERED.put(1) as u8;
/// Flag: the payload begins with a header of [`super::onesided`]; alone.
pub const ONE_SIDED: u8 = FLAG_ONE_SIDED.put(1) as u8;
/// Version 1 in the byte of the XUDETH that has version and flags.
pub const VERSION_1: u8 = VERSION.put(1) as u8;
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

/// Syndrome: acknowledged.
pub const SYNDROME_OK: u8 = 0x1F;
/// Syndrome: no receive request or no completion slot.
pub const SYNDROME_RNR: u8 = 0x20;
/// Syndrome: refused; [`Nak`] is in the lower five bits.
pub const SYNDROME_NAK: u8 = 0x60;

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
    /// A switch has marked its frame on the way (CL-4): only of one that has come, none leaves marked.
    pub marked: bool,
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
    /// The request came marked (CL-4): BECN, of the frame and not of the body.
    pub marked: bool,
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

#[inline(always)] // The fields are constants.
fn window(body: &[u8], fields: [&HeaderField; 3]) -> Window {
    let [id, epoch, msn] = fields.map(|field| field.get(body));
    Window {
        id: id as u16,
        epoch: epoch as u16,
        msn: msn as u32,
    }
}

#[inline(always)] // The fields are constants.
fn put_window(body: &mut [u8], fields: [&HeaderField; 3], window: Window) {
    let values = [window.id.into(), window.epoch.into(), window.msn];
    for (field, value) in fields.into_iter().zip(values) {
        field.put(body, value);
    }
}

const XUDETH_IDENTITY: [&HeaderField; 3] = [&XUDETH_WINDOW, &XUDETH_EPOCH, &XUDETH_MSN];
const ECHO_IDENTITY: [&HeaderField; 3] = [&ECHO_WINDOW, &ECHO_EPOCH, &ECHO_MSN];

fn bits24(field: &'static str, value: u32) -> Result<u32, WireError> {
    if value < 1 << 24 {
        Ok(value)
    } else {
        Err(WireError::TooLarge { field, value })
    }
}

/// BTH and body of a packet; whether it or its request was marked is in neither.
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
            body.resize(ACK_LEN[usize::from(ack.echo.is_some())], 0);
            let (aeth, rest) = body.split_at_mut(AETH.length);
            AETH_SYNDROME.put(aeth, ack.reply.syndrome());
            AETH_PSN.put(aeth, bits24("PSN", ack.psn)?);
            if let Some(echo) = ack.echo {
                let (identity, source) = rest.split_at_mut(ECHO.length);
                put_window(identity, ECHO_IDENTITY, echo.window);
                SOURCE_QPN.put(source, bits24("source queue pair", echo.qpn)?);
                SOURCE_VERSION.put(source, 1u8);
                SOURCE_FLAGS.put(source, echo.flags);
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
    let mut header = [0; XUDETH_LEN];
    XUDETH_Q_KEY.put(&mut header, send.q_key);
    XUDETH_SOURCE.put(&mut header, bits24("source queue pair", send.src_qp)?);
    XUDETH_VERSION.put(&mut header, send.version);
    XUDETH_FLAGS.put(&mut header, send.flags);
    put_window(&mut header, XUDETH_IDENTITY, send.window);
    body.extend_from_slice(&header);
    length(send.payload.len(), 0, MAX_PAYLOAD)
}

/// The packet of a BTH and its body, not marked.
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
    let (version, flags) = (XUDETH_VERSION.get(body) as u8, XUDETH_FLAGS.get(body) as u8);
    if version > 1 {
        return Err(WireError::Version(version));
    }
    let window = window(body, XUDETH_IDENTITY);
    reserved("reserved flag", unknown(flags))?;
    if version == 0 {
        reserved("flags of version 0", flags)?;
        reserved("epoch of version 0", window.epoch)?;
    }
    let mut send = Send {
        dest_qp: bth.dest_qp,
        psn: bth.psn,
        q_key: XUDETH_Q_KEY.get(body) as u32,
        src_qp: XUDETH_SOURCE.get(body) as u32,
        version,
        flags,
        window,
        payload: Vec::new(),
        marked: false,
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
    let psn = AETH_PSN.get(body) as u32;
    if psn != bth.psn {
        let bth = bth.psn;
        return Err(WireError::Psn { aeth: psn, bth });
    }
    let syndrome = AETH_SYNDROME.get(body) as u8;
    let reply = Reply::from_syndrome(syndrome).ok_or(WireError::Syndrome(syndrome))?;
    let echo = if body.len() == ACK_LEN[1] {
        let (identity, source) = body[AETH.length..].split_at(ECHO.length);
        let version = SOURCE_VERSION.get(source) as u8;
        if version != 1 {
            return Err(WireError::Version(version));
        }
        let flags = SOURCE_FLAGS.get(source) as u8;
        reserved("reserved flag", unknown(flags))?;
        Some(Echo {
            window: window(identity, ECHO_IDENTITY),
            flags,
            qpn: SOURCE_QPN.get(source) as u32,
        })
    } else {
        None
    };
    Ok(Ack {
        dest_qp: bth.dest_qp,
        psn,
        reply,
        echo,
        marked: false,
    })
}

/// Builds the frame of a packet.
///
/// # Errors
/// A field that does not fit.
pub fn encode_frame(link: &Link, packet: &Packet) -> Result<Vec<u8>, WireError> {
    let (bth, body) = encode(packet)?;
    let mut frame = roce::encode(link, &bth, &body)?;
    if matches!(packet, Packet::Ack(ack) if ack.marked) {
        roce::tell_mark(&mut frame);
    }
    Ok(frame)
}

/// Takes the frame of a packet apart; checks ICRC, lengths and reserved bits before anything else sees it (XUD-14).
/// The node it comes from is in the last three bytes of its source address.
///
/// # Errors
/// The first check that fails.
pub fn decode_frame(frame: &[u8]) -> Result<(u32, Packet), WireError> {
    let decoded = roce::decode(frame)?;
    let mut packet = decode(&decoded.bth, decoded.body)?;
    match &mut packet {
        Packet::Ack(ack) => ack.marked = roce::tells_mark(frame),
        Packet::Send(send) | Packet::Unknown { send, .. } => send.marked = roce::is_marked(frame),
    }
    Ok((decoded.link.src_node(), packet))
}
