//! The frame: 32 bytes of header, then a unit. All fields are big-endian; everything is aligned to words of 64 bits.
//!
//! A frame is numbered if it has a unit. Every frame acknowledges, gives room, and says which session it belongs to.

use thiserror::Error;

use crate::header::HeaderField;

/// Bytes of the header, Ethernet's included.
pub const LINK_LEN: usize = 32;
/// EtherType: the first of those that IEEE 802 leaves for experiments.
pub const ETHERTYPE: u16 = 0x88B5;
/// Version of the link.
pub const VERSION: u8 = 1;
/// Words of 64 bits in the longest unit: what a frame of 9,000 bytes has room for.
pub const MAX_WORDS: usize = 1121;
/// MAC address of a board on the cable to its host, which joins these two alone: locally administered.
pub const BOARD_ADDRESS: u64 = 0x0254_5249_4201;
/// To whom such a board sends: it does not know the host's address.
pub const BROADCAST: u64 = 0xFFFF_FFFF_FFFF;

header! {
    LINK "tlp_link" LINK_LEN, "Link header: in front of the unit of every frame.";
    LINK_DESTINATION "destination" [0 / 0 +: 48] "MAC address of the other end.",
    LINK_SOURCE "source" [6 / 0 +: 48] "MAC address of this end.",
    LINK_TYPE "ethertype" [12 / 0 +: 16] "0x88B5.",
    LINK_VERSION "version" [14 / 0 +: 8] "1.",
    LINK_KIND "kind" [15 / 0 +: 8] "What the unit is: 0 there is none, 1 a TLP, 2 settings.",
    LINK_SEQ "seq" [16 / 0 +: 16] "Number of the unit in its session, modulo 2^16; without one, of the next.",
    LINK_ACK "ack" [18 / 0 +: 16] "Number of the next unit that is expected: all before have arrived.",
    LINK_LIMIT "limit" [20 / 0 +: 16] "Words that may be sent in the session, all together, modulo 2^16.",
    LINK_AGAIN "again" [22 / 0 +: 1] "A unit is missing: everything from ack on is to be sent again.",
    LINK_BUSY "busy" [22 / 1 +: 1] "This end is in a session with another life of the one that is addressed.",
    LINK_WORDS "words" [22 / 4 +: 12] "Words of 64 bits in the unit; Ethernet may have padded it.",
    LINK_FROM "from" [24 / 0 +: 32] "Life of the end that sends.",
    LINK_TO "to" [28 / 0 +: 32] "Life of the end that is addressed; 0 if it is not known.",
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One TLP.
    Tlp,
    /// Settings of the function.
    Settings,
}

/// A frame, without the addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Number of the unit, or of the next one.
    pub seq: u16,
    /// Number of the unit that is expected.
    pub ack: u16,
    /// Words that may be sent in the session.
    pub limit: u16,
    /// Send again from `ack` on.
    pub again: bool,
    /// In a session with another life.
    pub busy: bool,
    /// Life of the sender.
    pub from: u32,
    /// Life that is addressed, or 0.
    pub to: u32,
    /// The unit: whole words of 64 bits.
    pub unit: Option<(Kind, Vec<u8>)>,
}

/// Why bytes are no frame of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Fewer bytes than the header has, or than it says.
    #[error("{0} bytes, where the frame has {1}")]
    Short(usize, usize),
    /// Another EtherType.
    #[error("EtherType {0:#06x} instead of 0x88b5")]
    Type(u16),
    /// Another version.
    #[error("version {0} instead of 1")]
    Version(u8),
    /// No such kind.
    #[error("there is no kind {0}")]
    Kind(u8),
    /// A unit of no words, or more than the longest, or words without a unit.
    #[error("a unit of {0} words")]
    Words(u16),
    /// The sender's life is 0.
    #[error("the sender has no number")]
    Nobody,
}

impl Frame {
    /// Reads a frame, with or without Ethernet's padding, without FCS.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() < LINK_LEN {
            return Err(WireError::Short(bytes.len(), LINK_LEN));
        }
        let get = |field: HeaderField| field.get(bytes);
        let ethertype = get(LINK_TYPE) as u16;
        if ethertype != ETHERTYPE {
            return Err(WireError::Type(ethertype));
        }
        let version = get(LINK_VERSION) as u8;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let kind = match get(LINK_KIND) as u8 {
            0 => None,
            1 => Some(Kind::Tlp),
            2 => Some(Kind::Settings),
            kind => return Err(WireError::Kind(kind)),
        };
        let words = get(LINK_WORDS) as usize;
        if kind.is_some() != (words > 0) || words > MAX_WORDS {
            return Err(WireError::Words(words as u16));
        }
        let end = LINK_LEN + 8 * words;
        let Some(unit) = bytes.get(LINK_LEN..end) else {
            return Err(WireError::Short(bytes.len(), end));
        };
        let from = get(LINK_FROM) as u32;
        if from == 0 {
            return Err(WireError::Nobody);
        }
        Ok(Self {
            seq: get(LINK_SEQ) as u16,
            ack: get(LINK_ACK) as u16,
            limit: get(LINK_LIMIT) as u16,
            again: get(LINK_AGAIN) == 1,
            busy: get(LINK_BUSY) == 1,
            from,
            to: get(LINK_TO) as u32,
            unit: kind.map(|kind| (kind, unit.to_vec())),
        })
    }

    /// Writes the frame between two MAC addresses, without padding and FCS.
    #[must_use]
    pub fn emit(&self, destination: u64, source: u64) -> Vec<u8> {
        let (kind, unit) = match &self.unit {
            None => (0u8, &[][..]),
            Some((Kind::Tlp, unit)) => (1, &unit[..]),
            Some((Kind::Settings, unit)) => (2, &unit[..]),
        };
        let mut bytes = vec![0; LINK_LEN];
        LINK_DESTINATION.put(&mut bytes, destination);
        LINK_SOURCE.put(&mut bytes, source);
        LINK_TYPE.put(&mut bytes, ETHERTYPE);
        LINK_VERSION.put(&mut bytes, VERSION);
        LINK_KIND.put(&mut bytes, kind);
        LINK_SEQ.put(&mut bytes, self.seq);
        LINK_ACK.put(&mut bytes, self.ack);
        LINK_LIMIT.put(&mut bytes, self.limit);
        LINK_AGAIN.put(&mut bytes, self.again);
        LINK_BUSY.put(&mut bytes, self.busy);
        LINK_WORDS.put(&mut bytes, (unit.len() / 8) as u64);
        LINK_FROM.put(&mut bytes, self.from);
        LINK_TO.put(&mut bytes, self.to);
        bytes.extend_from_slice(unit);
        bytes
    }
}
