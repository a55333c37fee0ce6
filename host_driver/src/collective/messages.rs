//! Messages between the members of a communicator, over the reliable layer. Little-endian throughout.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | kind |
//! | 8..16 | name of the communicator |
//! | 16..24 | number of an operation, or of a group |
//! | 24..28, 28..32 | two numbers |
//! | 32.. | payload |

use tributary_protocol::red::Value;
use tributary_protocol::red::ops::Rc;

use super::long::{How, Lend, Phase};
use super::{Grant, Why};
use crate::Remote;

/// Bytes in front of the payload.
const HEAD: usize = 32;
/// Bytes of a value in a payload.
pub const VALUE_LEN: usize = 35;
/// Bytes of the payload of a message, at most: values of a whole number, and it fits into a message of the reliable layer.
pub const SEGMENT: usize = 1_024 * VALUE_LEN;

/// What a part of an operation is of: which operation of the engines, or bytes.
pub const BYTES: u8 = 0xFF;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the leader: how operations from a number on are done.
    Plan {
        /// Number of the first.
        from: u64,
        /// Tree for them; without one, messages.
        grant: Option<Grant>,
    },
    /// To the leader: this member cannot use the tree.
    Cannot {
        /// The number of the plan's first operation.
        from: u64,
    },
    /// A part of an operation.
    Part {
        /// Its number.
        operation: u64,
        /// From the root to the others.
        down: bool,
        /// Number of the part.
        segment: u32,
        /// Parts in all.
        segments: u32,
        /// Operation of the engines, or [`BYTES`].
        code: u8,
        /// Values or bytes.
        bytes: Vec<u8>,
    },
    /// This member has begun a long operation.
    Lend {
        /// Its number.
        operation: u64,
        /// Where blocks for this member go, and what it takes the operation for.
        lend: Lend,
    },
    /// The block for this member may come.
    Ask {
        /// Number of the operation.
        operation: u64,
        /// Which of the two that a member sends.
        phase: Phase,
    },
    /// A block of a long operation is there.
    Done {
        /// Its number.
        operation: u64,
        /// Which of the two that a member sends.
        phase: Phase,
        /// What the arithmetic has reported of it.
        code: Rc,
        /// How it came.
        how: How,
    },
    /// Are you there?
    Ping,
    /// Yes.
    Pong,
    /// The communicator has failed.
    Failed {
        /// Who.
        rank: u32,
        /// What it did.
        why: Why,
    },
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl Message {
    /// With the name of the communicator.
    pub fn encode(&self, name: u64) -> Vec<u8> {
        let mut head = [0; HEAD];
        let mut payload: &[u8] = &[];
        let lent;
        let (kind, number, pair) = match self {
            Self::Plan { from, grant } => {
                if let Some(grant) = grant {
                    head[1] = 1;
                    head[2..4].copy_from_slice(&grant.tree.to_le_bytes());
                    head[4..8].copy_from_slice(&grant.cookie.to_le_bytes());
                }
                let group = grant.map_or(0, |grant| grant.group);
                (1, *from, [group as u32, (group >> 32) as u32])
            }
            Self::Cannot { from } => (2, *from, [0; 2]),
            Self::Part {
                operation,
                down,
                segment,
                segments,
                code,
                bytes,
            } => {
                (head[1], head[2]) = ((*down).into(), *code);
                payload = bytes;
                (3, *operation, [*segment, *segments])
            }
            Self::Lend { operation, lend } => {
                head[1] = lend.place.is_some().into();
                (head[2], head[3]) = (lend.code, lend.flow.0);
                let (qp_num, there) = lend.place.unwrap_or((
                    0,
                    Remote {
                        address: 0,
                        rkey: 0,
                    },
                ));
                lent = [there.address.to_le_bytes(), lend.total.to_le_bytes()].concat();
                payload = &lent;
                head[4..8].copy_from_slice(&lend.flow.1.to_le_bytes());
                (7, *operation, [qp_num, there.rkey])
            }
            Self::Ask { operation, phase } => {
                head[1] = *phase as u8;
                (9, *operation, [0; 2])
            }
            Self::Done {
                operation,
                phase,
                code,
                how,
            } => {
                (head[1], head[2], head[3]) = (*phase as u8, code.code(), *how as u8);
                (8, *operation, [0; 2])
            }
            Self::Ping => (4, 0, [0; 2]),
            Self::Pong => (5, 0, [0; 2]),
            Self::Failed { rank, why } => {
                head[1] = why.code();
                (6, 0, [*rank, 0])
            }
        };
        head[0] = kind;
        head[8..16].copy_from_slice(&name.to_le_bytes());
        head[16..24].copy_from_slice(&number.to_le_bytes());
        head[24..28].copy_from_slice(&pair[0].to_le_bytes());
        head[28..].copy_from_slice(&pair[1].to_le_bytes());
        [&head, payload].concat()
    }

    /// With the name of the communicator; nothing of what no member sends.
    pub fn decode(bytes: &[u8]) -> Option<(u64, Self)> {
        let (name, number, pair) = (word(bytes, 8)?, word(bytes, 16)?, word(bytes, 24)?);
        let head = &bytes[..HEAD];
        let (low, high) = (pair as u32, (pair >> 32) as u32);
        let message = match head[0] {
            1 => Self::Plan {
                from: number,
                grant: (head[1] == 1).then(|| Grant {
                    group: pair,
                    tree: u16::from_le_bytes([head[2], head[3]]),
                    cookie: u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
                }),
            },
            2 => Self::Cannot { from: number },
            3 if low < high => Self::Part {
                operation: number,
                down: head[1] == 1,
                segment: low,
                segments: high,
                code: head[2],
                bytes: bytes[HEAD..].to_vec(),
            },
            7 if bytes.len() == HEAD + 16 && head[1] <= 1 => {
                let (address, total) = (word(bytes, HEAD)?, word(bytes, HEAD + 8)?);
                let there = Remote {
                    address,
                    rkey: high,
                };
                let root = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
                let lend = Lend {
                    place: (head[1] == 1).then_some((low, there)),
                    code: head[2],
                    flow: (head[3], root),
                    total,
                };
                Self::Lend {
                    operation: number,
                    lend,
                }
            }
            8 => Self::Done {
                operation: number,
                phase: *Phase::ALL.get(usize::from(head[1]))?,
                code: Rc::new(head[2]),
                how: How::from_code(head[3])?,
            },
            9 => Self::Ask {
                operation: number,
                phase: *Phase::ALL.get(usize::from(head[1]))?,
            },
            4 => Self::Ping,
            5 => Self::Pong,
            6 => Self::Failed {
                rank: low,
                why: Why::from_code(head[1])?,
            },
            _ => return None,
        };
        Some((name, message))
    }
}

/// Values as bytes.
pub fn to_bytes(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * VALUE_LEN);
    for value in values {
        for word in value.data {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([value.rc.code(), value.m as u8, value.oflow]);
    }
    bytes
}

/// Values of bytes; nothing if these are no whole number of values.
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<Value>> {
    let (chunks, rest) = bytes.as_chunks::<VALUE_LEN>();
    let value = |chunk: &[u8; VALUE_LEN]| Value {
        data: std::array::from_fn(|i| word(chunk, 8 * i).unwrap_or(0)),
        rc: Rc::new(chunk[32]),
        m: chunk[33] as i8,
        oflow: chunk[34] & 3,
    };
    rest.is_empty().then(|| chunks.iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cl_08_messages_keep_every_field_and_nonsense_is_refused() {
        let grant = Grant {
            group: 0x1122_3344_5566_7788,
            tree: 0x1FFF,
            cookie: 0xFFFF_FFF8,
        };
        let part = Message::Part {
            operation: u64::MAX,
            down: true,
            segment: 6,
            segments: 7,
            code: 0x30,
            bytes: vec![1, 2, 3],
        };
        let all = [
            Message::Plan {
                from: 1 << 40,
                grant: Some(grant),
            },
            Message::Plan {
                from: 0,
                grant: None,
            },
            Message::Cannot { from: 3 },
            part.clone(),
            Message::Lend {
                operation: 5,
                lend: Lend {
                    place: Some((
                        0xF_1234,
                        Remote {
                            address: 1 << 50,
                            rkey: 0xABCD_EF01,
                        },
                    )),
                    code: 0x83,
                    flow: (5, 65_535),
                    total: 1 << 40,
                },
            },
            Message::Lend {
                operation: 6,
                lend: Lend {
                    place: None,
                    code: 0,
                    flow: (1, 0),
                    total: 1,
                },
            },
            Message::Ask {
                operation: 7,
                phase: Phase::Deal,
            },
            Message::Done {
                operation: 7,
                phase: Phase::Collect,
                code: Rc::INT_OVERFLOW,
                how: How::SentAfter,
            },
            Message::Ping,
            Message::Pong,
            Message::Failed {
                rank: 70_000,
                why: Why::Left,
            },
        ];
        for message in all {
            let bytes = message.encode(0xABCD_EF01_2345_6789);
            let read = Message::decode(&bytes);
            assert_eq!(read, Some((0xABCD_EF01_2345_6789, message)));
            for length in 0..HEAD {
                assert_eq!(Message::decode(&bytes[..length]), None);
            }
        }
        let mut bytes = part.encode(1);
        bytes[24] = 7;
        assert_eq!(Message::decode(&bytes), None, "part 7 of 7");
        for (at, value) in [(0, 0), (0, 7), (0, 10)] {
            let mut bytes = Message::Ping.encode(1);
            bytes[at] = value;
            assert_eq!(Message::decode(&bytes), None);
        }
        let values = [Value {
            data: [1, u64::MAX, 3, 4],
            rc: Rc::INT_OVERFLOW,
            m: -26,
            oflow: 3,
        }; 3];
        assert_eq!(from_bytes(&to_bytes(&values)).as_deref(), Some(&values[..]));
        assert_eq!(from_bytes(&[0; VALUE_LEN + 1]), None);
    }
}
