//! What two ends say to each other about a message above 64 KiB (XUD-12): ordinary messages of the reliable layer, with the bit
//! `rendezvous` in the headers of their fragments.
//!
//! | message | from | meaning |
//! |---|---|---|
//! | ANNOUNCE | sender | a message of so many bytes; whether its card can write them in bulk |
//! | GRANT | receiver | there is memory: write it there in bulk, or send it in parts |
//! | LANDED | sender | the bulk write has its completion |
//! | PART | sender | [`PART`] bytes, the last part fewer |
//! | DONE | receiver | the message has been delivered, or why not |
//! | ABORT | sender | it will never be whole |
//! | ASK | both | is the other side still at it? |
//!
//! Each begins with its kind, an option and the id, which the sender chooses; it is not used again at the sender's address while anybody
//! there or elsewhere may remember it. All fields are big-endian, what is not named is 0.

/// Bytes of a part; the last of a message may be shorter.
pub const PART: usize = 16 << 10;
/// Longest message, bytes.
pub const MAX_LONG: usize = 1 << 30;
/// Messages that a sender may have announced to a receiver and that are not DONE; a receiver refuses more.
pub const ANNOUNCED_MAX: usize = 16;
/// Bytes in front of those of a part.
pub const PART_HEADER_LEN: usize = 16;
/// Bytes of the longest of these messages but PART.
pub const RENDEZVOUS_LEN: usize = 24;

/// Kinds of ANNOUNCE, GRANT, LANDED, PART, DONE, ABORT and ASK.
pub const KINDS: [u8; 7] = [1, 2, 3, 4, 5, 6, 7];

header! {
    ANNOUNCE "announce" 16, "ANNOUNCE: a message above 64 KiB. Kind 1.";
    ANNOUNCE_KIND "kind" [0 / 0 +: 8] "1.",
    ANNOUNCE_BULK "bulk" [1 / 7 +: 1] "1: the sender's card can write this message in bulk.",
    ANNOUNCE_ID "id" [4 / 0 +: 64] "Names the message, with the sender's address.",
    ANNOUNCE_LENGTH "length" [12 / 0 +: 32] "Its bytes.",
}

header! {
    GRANT "grant" 24, "GRANT: the receiver has memory for the message. Kind 2.";
    GRANT_KIND "kind" [0 / 0 +: 8] "2.",
    GRANT_BULK "bulk" [1 / 7 +: 1] "1: it is written in bulk, to the queue pair that says this; 0: it comes in parts.",
    GRANT_ID "id" [4 / 0 +: 64] "Of the message.",
    GRANT_ADDRESS "address" [12 / 0 +: 64] "Where its first byte goes; 0 for parts.",
    GRANT_RKEY "rkey" [20 / 0 +: 32] "Key of that memory; 0 for parts.",
}

header! {
    LANDED "landed" 12, "LANDED: all bytes have been written in bulk. Kind 3.";
    LANDED_KIND "kind" [0 / 0 +: 8] "3.",
    LANDED_ID "id" [4 / 0 +: 64] "Of the message.",
}

header! {
    PART_HEADER "part" PART_HEADER_LEN, "PART: bytes of the message, behind this. Kind 4.";
    PART_KIND "kind" [0 / 0 +: 8] "4.",
    PART_ID "id" [4 / 0 +: 64] "Of the message.",
    PART_OFFSET "offset" [12 / 0 +: 32] "Byte where this part begins: a multiple of 16,384.",
}

header! {
    DONE "done" 16, "DONE: the receiver has delivered the message, or never will. Kind 5.";
    DONE_KIND "kind" [0 / 0 +: 8] "5.",
    DONE_ID "id" [4 / 0 +: 64] "Of the message.",
    DONE_STATUS "status" [12 / 0 +: 8] "How it ended, a status of completions: ok; remote_length, longer than the receiver takes; remote_operation, no \
        memory; remote_protocol, announced against the rules; aborted, unknown here (any more).",
}

header! {
    ABORT "abort" 12, "ABORT: the sender has given the message up, or does not know it (any more). Kind 6.";
    ABORT_KIND "kind" [0 / 0 +: 8] "6.",
    ABORT_ID "id" [4 / 0 +: 64] "Of the message.",
}

header! {
    ASK "ask" 12, "ASK: answered, by DONE or ABORT, only by who does not know the message. Kind 7.";
    ASK_KIND "kind" [0 / 0 +: 8] "7.",
    ASK_RECEIVER "receiver" [1 / 7 +: 1] "1: the receiver asks its sender; 0: the sender asks.",
    ASK_ID "id" [4 / 0 +: 64] "Of the message.",
}

/// One of these messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said<'a> {
    /// A long message.
    Announce {
        /// The sender's card can write it in bulk.
        bulk: bool,
        /// Its bytes.
        length: u32,
    },
    /// There is memory for it.
    Grant(Option<Place>),
    /// It has been written.
    Landed,
    /// A part of it.
    Part {
        /// Where it begins.
        offset: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// It has ended at the receiver: a code of [`super::Outcome`].
    Done(u8),
    /// It has ended at the sender.
    Abort,
    /// Whether the other side knows it.
    Ask {
        /// The receiver asks.
        receiver: bool,
    },
}

/// Memory of a receiver for a bulk write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where it begins.
    pub address: u64,
    /// Its key.
    pub rkey: u32,
}

impl<'a> Said<'a> {
    /// The bytes in front: all of them, but of a PART.
    #[must_use]
    pub fn head(&self, id: u64) -> ([u8; RENDEZVOUS_LEN], usize) {
        let mut out = [0; RENDEZVOUS_LEN];
        let header = match self {
            Self::Announce { bulk, length } => {
                ANNOUNCE_BULK.put(&mut out, *bulk);
                ANNOUNCE_LENGTH.put(&mut out, *length);
                ANNOUNCE
            }
            Self::Grant(place) => {
                GRANT_BULK.put(&mut out, place.is_some());
                GRANT_ADDRESS.put(&mut out, place.map_or(0, |place| place.address));
                GRANT_RKEY.put(&mut out, place.map_or(0, |place| place.rkey));
                GRANT
            }
            Self::Landed => LANDED,
            Self::Part { offset, .. } => {
                PART_OFFSET.put(&mut out, *offset);
                PART_HEADER
            }
            Self::Done(status) => {
                DONE_STATUS.put(&mut out, *status);
                DONE
            }
            Self::Abort => ABORT,
            Self::Ask { receiver } => {
                ASK_RECEIVER.put(&mut out, *receiver);
                ASK
            }
        };
        ANNOUNCE_KIND.put(&mut out, self.kind());
        ANNOUNCE_ID.put(&mut out, id);
        (out, header.length)
    }

    fn kind(&self) -> u8 {
        KINDS[match self {
            Self::Announce { .. } => 0,
            Self::Grant(_) => 1,
            Self::Landed => 2,
            Self::Part { .. } => 3,
            Self::Done(_) => 4,
            Self::Abort => 5,
            Self::Ask { .. } => 6,
        }]
    }

    /// As bytes.
    #[must_use]
    pub fn encode(&self, id: u64) -> Vec<u8> {
        let (head, length) = self.head(id);
        let mut out = head[..length].to_vec();
        if let Self::Part { bytes, .. } = self {
            out.extend_from_slice(bytes);
        }
        out
    }

    /// Of bytes: the id and the message; `None` unless every bit is as it must be, or if a part has no bytes or more than [`PART`].
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<(u64, Self)> {
        let place = KINDS.iter().position(|kind| bytes.first() == Some(kind))?;
        let headers = [ANNOUNCE, GRANT, LANDED, PART_HEADER, DONE, ABORT, ASK];
        let (front, rest) = bytes.split_at_checked(headers[place].length)?;
        let most = if place == 3 { 1..=PART } else { 0..=0 };
        if !most.contains(&rest.len()) {
            return None;
        }
        let said = match place {
            0 => Self::Announce {
                bulk: ANNOUNCE_BULK.get(front) != 0,
                length: ANNOUNCE_LENGTH.get(front) as u32,
            },
            1 => Self::Grant((GRANT_BULK.get(front) != 0).then(|| Place {
                address: GRANT_ADDRESS.get(front),
                rkey: GRANT_RKEY.get(front) as u32,
            })),
            2 => Self::Landed,
            3 => Self::Part {
                offset: PART_OFFSET.get(front) as u32,
                bytes: rest,
            },
            4 => Self::Done(DONE_STATUS.get(front) as u8),
            5 => Self::Abort,
            _ => Self::Ask {
                receiver: ASK_RECEIVER.get(front) != 0,
            },
        };
        let id = ANNOUNCE_ID.get(front);
        // What does not come out again as it went in has a bit where there must be none.
        let (head, length) = said.head(id);
        (head[..length] == *front).then_some((id, said))
    }
}
