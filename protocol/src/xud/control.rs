//! What reliable layers put in front of, or instead of, a user's bytes.
//!
//! Control messages are the payload of a SEND with the flag `CONTROL`; their XUDETH has no window. They may be lost: OPEN is
//! repeated until OPEN_ACK comes, and answering one twice does no harm (XUD-6).
//!
//! | message | kind (8) | flags (8) | then |
//! |---|---|---|---|
//! | OPEN | 1 | 1: `last` holds | windows - 1 (16) · incarnation (16) · epoch (16) · start (32) · last (16) · reserved (16) |
//! | OPEN_ACK | 2 | 1: fresh | windows - 1 (16) · epoch of the OPEN (16) · receiver's epoch (16) |
//! | REFUSE | 3 | 0 | win_id (16) · epoch (16) · reserved (16) · win_msn (32) |
//!
//! Fragments (XUD-12) begin with msg_id (32), offset (32), total (32); other messages of an ordered stream with their number (32).
//! In an ordered stream a fragment's msg_id is the number of its message (XUD-11). All fields are big-endian.

use super::wire::Window;

/// Bytes of a fragment header.
pub const FRAGMENT_LEN: usize = 12;
/// Bytes of a stream number.
pub const ORDERED_LEN: usize = 4;

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
}

impl Control {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        let mut put = |kind: u8, flag: bool, words: &[u16]| {
            out.extend_from_slice(&[kind, u8::from(flag)]);
            for word in words {
                out.extend_from_slice(&word.to_be_bytes());
            }
        };
        let less_one = |windows: u32| windows.wrapping_sub(1) as u16;
        let halves = |word: u32| [(word >> 16) as u16, word as u16];
        match self {
            Self::Open(open) => {
                let [high, low] = halves(open.start);
                let last = open.last.unwrap_or(0);
                let windows = less_one(open.windows);
                let words = [windows, open.incarnation, open.epoch, high, low, last, 0];
                put(1, open.last.is_some(), &words);
            }
            Self::OpenAck {
                fresh,
                windows,
                of,
                epoch,
            } => put(2, *fresh, &[less_one(*windows), *of, *epoch]),
            Self::Refuse(window) => {
                let [high, low] = halves(window.msn);
                put(3, false, &[window.id, window.epoch, 0, high, low]);
            }
        }
        out
    }

    /// From bytes; `None` unless every bit is as it must be.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(2)?;
        let words: Vec<u16> = rest
            .chunks(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
            .collect();
        let join = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let control = match (head, words.as_slice()) {
            ([1, flag], [windows, incarnation, epoch, high, low, last, 0]) => Self::Open(Open {
                windows: u32::from(*windows) + 1,
                incarnation: *incarnation,
                epoch: *epoch,
                start: join(*high, *low),
                last: (*flag != 0).then_some(*last),
            }),
            ([2, flag], [windows, of, epoch]) => Self::OpenAck {
                fresh: *flag != 0,
                windows: u32::from(*windows) + 1,
                of: *of,
                epoch: *epoch,
            },
            ([3, 0], [id, epoch, 0, high, low]) => Self::Refuse(Window {
                id: *id,
                epoch: *epoch,
                msn: join(*high, *low),
            }),
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
        let words = [self.message, self.offset, self.total];
        for (place, word) in out.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        out
    }

    /// The header and the bytes behind it; `None` if those do not lie in the message, or it is longer than `max`.
    #[must_use]
    pub fn decode(bytes: &[u8], max: usize) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(FRAGMENT_LEN)?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let fragment = Self {
            message: word(0),
            offset: word(4),
            total: word(8),
        };
        let end = u64::from(fragment.offset) + rest.len() as u64;
        let total = u64::from(fragment.total);
        (end <= total && total <= max as u64 && !rest.is_empty()).then_some((fragment, rest))
    }
}
