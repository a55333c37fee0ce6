//! What stands in front of every message between two providers.

use crate::numbered::numbered;

/// Bytes of a header.
pub const HEADER: usize = 40;
/// Version of this layout; messages of another are refused.
const VERSION: u8 = 4;

/// Incarnations in a header: of who sends it at these bytes, of whom it means at those, if the flag says that it is known.
const FROM: std::ops::Range<usize> = 6..8;
const TO: std::ops::Range<usize> = 12..14;
const TO_KNOWN: u8 = 4;
const BULK: u8 = 8;

numbered! {
    /// What a message is.
    Kind {
        /// A whole message of the program.
        Eager = 1,
        /// A long message waits for its receiver.
        Request = 2,
        /// The receiver of a long message is ready.
        Clear = 3,
        /// A part of a long message.
        Part = 4,
        /// Credits only.
        Credit = 5,
        /// A write to memory of the receiver: the bytes follow, or a long one waits to be cleared.
        Write = 6,
        /// A read of memory of the receiver, who answers with what a short one found, or with parts.
        Read = 7,
        /// An operation of the receiver on memory of the sender has ended, or found this.
        Ack = 8,
        /// An atomic operation on memory of the receiver.
        Atomic = 9,
        /// Members of a group that is being made tell the first of them where they are, and that tells the others.
        Join = 10,
        /// The bytes of a long read are there, and wait for `Grant`.
        Offer = 11,
        /// Who receives lends a slot for a piece: a bulk transfer may write to it.
        Grant = 12,
        /// A bulk transfer has ended.
        Landed = 13,
    }
}

impl Kind {
    /// It answers, or says that there is room, so that it needs no credits.
    #[must_use]
    pub fn is_answer(self) -> bool {
        let bulk = matches!(self, Self::Offer | Self::Grant | Self::Landed);
        bulk || matches!(self, Self::Credit | Self::Clear | Self::Ack)
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// Of a message with a tag.
    pub tagged: bool,
    /// It carries `data` for the program.
    pub has_data: bool,
    /// Of `Request`, `Write` and `Read`: the bytes may go by bulk transfers.
    pub bulk: bool,
    /// Packets that the sender of this has room for again.
    pub credits: u16,
    /// Which of the processes that have had the sender's address it is from.
    pub from: u16,
    /// Which of those that have had the receiver's address it is for, if the sender has heard of it.
    pub to: Option<u16>,
    /// Of `Request`, `Clear`, `Write`, `Read`, `Atomic`, `Ack` and `Offer` the number of who began, of `Part` and `Landed` that of who gets
    /// the bytes, of `Grant` that of who sends them, of `Join` 1 if it is from the first member.
    pub id: u32,
    /// Tag; of `Clear` the number of the receiver, of `Part` the offset, of `Write`, `Read` and `Atomic` the key, of `Ack` 0, or 1 for a
    /// refusal, of `Join` what the list of members is known by, of `Offer` the number of who sends the bytes, of `Grant` the address
    /// that is lent, of `Landed` the slot.
    pub tag: u64,
    /// The program's; of `Write`, `Read` and `Atomic` the offset. Data of a `Write` stand in front of its bytes. Of `Grant` where the
    /// piece begins, of `Landed` how the transfer has ended.
    pub data: u64,
    /// Bytes of the whole message; of `Atomic` of the memory, of `Ack` of what was found there, of `Grant` and `Landed` of the piece.
    /// A `Grant` is followed by its number of the whole, key, queue pair and slot (32 bits each), and the bytes of the whole that are
    /// wanted (64 bits).
    pub length: u64,
}

impl Header {
    /// A header of a message without a tag and data for the program.
    #[must_use]
    pub fn new(kind: Kind, id: u32, tag: u64, data: u64, length: usize) -> Self {
        Self {
            kind,
            tagged: false,
            has_data: false,
            bulk: false,
            credits: 0,
            from: 0,
            to: None,
            id,
            tag,
            data,
            length: length as u64,
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION;
        bytes[1] = self.kind as u8;
        bytes[2] = u8::from(self.tagged) | u8::from(self.has_data) << 1;
        bytes[2] |= if self.bulk { BULK } else { 0 };
        Self::stamp(&mut bytes, self.credits, self.from, self.to);
        bytes[8..12].copy_from_slice(&self.id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.tag.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.data.to_le_bytes());
        bytes[32..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Writes into an encoded header what is known only when it leaves: the credits, who sends it, and whom it means if that is known.
    pub fn stamp(bytes: &mut [u8], credits: u16, from: u16, to: Option<u16>) {
        bytes[4..6].copy_from_slice(&credits.to_le_bytes());
        bytes[FROM].copy_from_slice(&from.to_le_bytes());
        if let Some(to) = to {
            bytes[2] |= TO_KNOWN;
            bytes[TO].copy_from_slice(&to.to_le_bytes());
        }
    }

    /// Header and payload of a message; nothing if it is of another version or makes no sense.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, payload) = bytes.split_first_chunk::<HEADER>()?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let kind = Kind::of(head[1].into())?;
        let header = Self {
            kind,
            tagged: head[2] & 1 != 0,
            has_data: head[2] & 2 != 0,
            bulk: head[2] & BULK != 0,
            credits: half(4),
            from: half(FROM.start),
            to: (head[2] & TO_KNOWN != 0).then(|| half(TO.start)),
            id: u32::from_le_bytes([head[8], head[9], head[10], head[11]]),
            tag: word(16),
            data: word(24),
            length: word(32),
        };
        let whole = kind != Kind::Eager || header.length == payload.len() as u64;
        (head[0] == VERSION && head[2] < 16 && whole).then_some((header, payload))
    }
}
