//! What reliable layers put in front of, or instead of, a user's bytes.
//!
//! Control messages are the payload of a SEND with the flag `CONTROL`; their XUDETH has no window. They may be lost: OPEN is
//! repeated until OPEN_ACK comes, and answering one twice does no harm (XUD-6).
//!
//! [`OPEN`], [`OPEN_ACK`], [`REFUSE`], [`FRAGMENT`] and [`STREAM`] declare the fields. In an ordered stream a fragment's msg_id is the
//! number of its message (XUD-11). All fields are big-endian.

use super::wire::Window;

/// Bytes of a fragment header.
pub const FRAGMENT_LEN: usize = 12;
/// Bytes of a stream number.
pub const ORDERED_LEN: usize = 4;

/// Kind of OPEN, OPEN_ACK and REFUSE.
pub const KINDS: [u8; 3] = [1, 2, 3];

header! {
    OPEN "open" 16, "OPEN: opens the windows of a connection. Kind 1.";
    OPEN_KIND "kind" [0 / 0 +: 8] "1.",
    OPEN_HAS_LAST "has_last" [1 / 7 +: 1] "1: `last` holds.",
    OPEN_WINDOWS "windows" [2 / 0 +: 16] "Windows wanted, less one.",
    OPEN_INCARNATION "incarnation" [4 / 0 +: 16] "First epoch of the sending process.",
    OPEN_EPOCH "epoch" [6 / 0 +: 16] "The sender's epoch.",
    OPEN_START "start" [8 / 0 +: 32] "Number of the sender's oldest message that has not ended.",
    OPEN_LAST "last" [12 / 0 +: 16] "The receiver's epoch of the opening before.",
}

header! {
    OPEN_ACK "open_ack" 8, "OPEN_ACK: answers OPEN. Kind 2.";
    OPEN_ACK_KIND "kind" [0 / 0 +: 8] "2.",
    OPEN_ACK_FRESH "fresh" [1 / 7 +: 1] "1: the receiver kept nothing of the opening that `last` names.",
    OPEN_ACK_WINDOWS "windows" [2 / 0 +: 16] "Windows granted, less one.",
    OPEN_ACK_OF "of" [4 / 0 +: 16] "Epoch of the OPEN.",
    OPEN_ACK_EPOCH "epoch" [6 / 0 +: 16] "Epoch that messages must carry.",
}

header! {
    REFUSE "refuse" 12, "REFUSE: a message number was impossible (XUD-5). Kind 3.";
    REFUSE_KIND "kind" [0 / 0 +: 8] "3.",
    REFUSE_WINDOW "win_id" [2 / 0 +: 16] "Window of the message.",
    REFUSE_EPOCH "epoch" [4 / 0 +: 16] "Epoch of the message.",
    REFUSE_MSN "win_msn" [8 / 0 +: 32] "Number of the message.",
}

header! {
    FRAGMENT "fragment" FRAGMENT_LEN, "Fragment header (XUD-12): in front of a piece of a message.";
    FRAGMENT_MESSAGE "msg_id" [0 / 0 +: 32] "Number of the message.",
    FRAGMENT_OFFSET "offset" [4 / 0 +: 32] "Byte where this piece begins.",
    FRAGMENT_RENDEZVOUS "rendezvous" [8 / 0 +: 1] "1: a message of the rendezvous of long messages, not the user's.",
    FRAGMENT_TOTAL "total" [8 / 1 +: 31] "Bytes of the message.",
}

header! {
    STREAM "stream" ORDERED_LEN, "Stream number (XUD-11): in front of an ordered message of one packet.";
    STREAM_NUMBER "number" [0 / 0 +: 32] "Number of the message in its stream.",
}

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// Opens the windows of a connection, or opens them again.
    Open(Open),
    /// Answer to OPEN.
    OpenAck {
        /// The receiver kept nothing of the opening that `last` names.
        fresh: bool,
        /// Windows granted, 1 to 65,536: at most those asked for.
        windows: u32,
        /// Epoch of the OPEN.
        of: u16,
        /// Epoch that messages must carry.
        epoch: u16,
    },
    /// This message number was impossible (XUD-5).
    Refuse(Window),
}

/// Fields of OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// Windows wanted, 1 to 65,536.
    pub windows: u32,
    /// First epoch of the sending process: another one is another process.
    pub incarnation: u16,
    /// The sender's epoch; newer replaces, equal is answered again, older is ignored.
    pub epoch: u16,
    /// Number of the sender's oldest message that has not ended: what is older and missing will never come (XUD-11).
    pub start: u32,
    /// The receiver's epoch of the opening before, if there was one.
    pub last: Option<u16>,
}

/// Header of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Number of the message.
    pub message: u32,
    /// Byte where this piece begins.
    pub offset: u32,
    /// Bytes of the message.
    pub total: u32,
    /// It is one of [`super::rendezvous`], not the user's.
    pub rendezvous: bool,
}

impl Control {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let less_one = |windows: u32| windows.wrapping_sub(1) as u16;
        let (header, kind) = match self {
            Self::Open(_) => (OPEN, KINDS[0]),
            Self::OpenAck { .. } => (OPEN_ACK, KINDS[1]),
            Self::Refuse(_) => (REFUSE, KINDS[2]),
        };
        let mut out = vec![0; header.length];
        OPEN_KIND.put(&mut out, kind);
        match self {
            Self::Open(open) => {
                OPEN_HAS_LAST.put(&mut out, open.last.is_some());
                OPEN_WINDOWS.put(&mut out, less_one(open.windows));
                OPEN_INCARNATION.put(&mut out, open.incarnation);
                OPEN_EPOCH.put(&mut out, open.epoch);
                OPEN_START.put(&mut out, open.start);
                OPEN_LAST.put(&mut out, open.last.unwrap_or(0));
            }
            Self::OpenAck {
                fresh,
                windows,
                of,
                epoch,
            } => {
                OPEN_ACK_FRESH.put(&mut out, *fresh);
                OPEN_ACK_WINDOWS.put(&mut out, less_one(*windows));
                OPEN_ACK_OF.put(&mut out, *of);
                OPEN_ACK_EPOCH.put(&mut out, *epoch);
            }
            Self::Refuse(window) => {
                REFUSE_WINDOW.put(&mut out, window.id);
                REFUSE_EPOCH.put(&mut out, window.epoch);
                REFUSE_MSN.put(&mut out, window.msn);
            }
        }
        out
    }

    /// From bytes; `None` unless every bit is as it must be.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let half = |field: crate::header::HeaderField| field.get(bytes) as u16;
        let control = match (bytes.first()?, bytes.len()) {
            (kind, length) if *kind == KINDS[0] && length == OPEN.length => Self::Open(Open {
                windows: u32::from(half(OPEN_WINDOWS)) + 1,
                incarnation: half(OPEN_INCARNATION),
                epoch: half(OPEN_EPOCH),
                start: OPEN_START.get(bytes) as u32,
                last: (OPEN_HAS_LAST.get(bytes) != 0).then_some(half(OPEN_LAST)),
            }),
            (kind, length) if *kind == KINDS[1] && length == OPEN_ACK.length => Self::OpenAck {
                fresh: OPEN_ACK_FRESH.get(bytes) != 0,
                windows: u32::from(half(OPEN_ACK_WINDOWS)) + 1,
                of: half(OPEN_ACK_OF),
                epoch: half(OPEN_ACK_EPOCH),
            },
            (kind, length) if *kind == KINDS[2] && length == REFUSE.length => {
                Self::Refuse(Window {
                    id: half(REFUSE_WINDOW),
                    epoch: half(REFUSE_EPOCH),
                    msn: REFUSE_MSN.get(bytes) as u32,
                })
            }
            _ => return None,
        };
        // What does not come out again as it went in has a bit where there must be none.
        (control.encode() == bytes).then_some(control)
    }
}

impl Fragment {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAGMENT_LEN] {
        let mut out = [0; FRAGMENT_LEN];
        FRAGMENT_MESSAGE.put(&mut out, self.message);
        FRAGMENT_OFFSET.put(&mut out, self.offset);
        FRAGMENT_TOTAL.put(&mut out, self.total);
        FRAGMENT_RENDEZVOUS.put(&mut out, self.rendezvous);
        out
    }

    /// The header and the bytes behind it; `None` if those do not lie in the message, or it is longer than `max`.
    #[must_use]
    pub fn decode(bytes: &[u8], max: usize) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(FRAGMENT_LEN)?;
        let fragment = Self {
            message: FRAGMENT_MESSAGE.get(head) as u32,
            offset: FRAGMENT_OFFSET.get(head) as u32,
            total: FRAGMENT_TOTAL.get(head) as u32,
            rendezvous: FRAGMENT_RENDEZVOUS.get(head) != 0,
        };
        let end = u64::from(fragment.offset) + rest.len() as u64;
        let total = u64::from(fragment.total);
        (end <= total && total <= max as u64 && !rest.is_empty()).then_some((fragment, rest))
    }
}
