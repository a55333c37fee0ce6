//! One-sided operations (XUD-13): the header that their payloads begin with.
//!
//! They travel in SEND frames with the flag [`super::wire::ONE_SIDED`]; WRITE is acknowledged like a message, the others are
//! answered by such a frame.
//!
//! [`ONE_SIDED_HEADER`] declares its fields.
//!
//! Behind it: WRITE: its bytes. READ: nothing. FETCH_ADD: what is added (8), ignored (8). COMPARE_SWAP: what is put (8), what must
//! be there (8). These numbers and those in memory are little-endian. The answer of a READ: the bytes; of an atomic: nothing.
//! Of an answer, only the operation, the old value and the bytes are looked at.

use thiserror::Error;

use super::{codes::Nak, wire::MAX_PAYLOAD};

/// Bytes of the header.
pub const HEADER_LEN: usize = 16;
/// Bytes behind the header of an atomic.
pub const OPERANDS_LEN: usize = 16;
/// Bytes that an atomic changes; its address is a multiple of this.
pub const ATOMIC_LEN: usize = 8;
/// Bit of the operation that makes an answer of it.
pub const ANSWER: u8 = 0x80;

header! {
    ONE_SIDED_HEADER "one_sided" HEADER_LEN, "One-sided header: in front of the payload of every one-sided request and answer.";
    H_ADDRESS "address" [0 / 0 +: 64] "Address there, of an atomic a multiple of 8. In an atomic's answer: the old value, its bytes as they stood in memory; in a READ's answer 0.",
    H_RKEY "rkey" [8 / 0 +: 32] "Key of the region there; 0 in answers.",
    H_ANSWER "answer" [12 / 0 +: 1] "1 in an answer.",
    H_OPERATION "operation" [12 / 1 +: 7] "What is asked for: see operations.",
    H_LENGTH "length" [13 / 0 +: 24] "Bytes to read, 1 to the MTU less 16; 0 of everything but a READ request.",
}

codes! {
    /// What is done to memory there.
    Operation {
        /// Writes bytes.
        Write = 1 "write",
        /// Reads bytes.
        Read = 2 "read",
        /// Adds to 64 bits, modulo 2^64.
        FetchAdd = 3 "fetch_add",
        /// Puts 64 bits if those that are there equal a number.
        CompareSwap = 4 "compare_swap",
    }
}

impl Operation {
    /// Whether it answers with the old value.
    #[must_use]
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }
}

/// What is asked, with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// These bytes go there.
    Write(&'a [u8]),
    /// So many bytes are wanted.
    Read(u32),
    /// This is added.
    FetchAdd(u64),
    /// This is put, if what is there equals `compare`.
    CompareSwap {
        /// What is put.
        swap: u64,
        /// What must be there.
        compare: u64,
    },
}

impl Asked<'_> {
    /// Which operation it is.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Write(_) => Operation::Write,
            Self::Read(_) => Operation::Read,
            Self::FetchAdd(_) => Operation::FetchAdd,
            Self::CompareSwap { .. } => Operation::CompareSwap,
        }
    }

    /// Bytes of memory that it touches.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self {
            Self::Write(bytes) => bytes.len() as u64,
            Self::Read(bytes) => *bytes as u64,
            Self::FetchAdd(_) | Self::CompareSwap { .. } => ATOMIC_LEN as u64,
        }
    }

    /// What an atomic leaves where `old` was; `None` if it writes nothing.
    #[must_use]
    pub const fn apply(&self, old: u64) -> Option<u64> {
        match self {
            Self::FetchAdd(add) => Some(old.wrapping_add(*add)),
            Self::CompareSwap { swap, compare } if *compare == old => Some(*swap),
            _ => None,
        }
    }

    /// Operands of an atomic, as they follow the header; `None` of the others.
    #[must_use]
    pub fn operands(&self) -> Option<[u8; OPERANDS_LEN]> {
        let (operand, compare) = match self {
            Self::FetchAdd(add) => (*add, 0),
            Self::CompareSwap { swap, compare } => (*swap, *compare),
            Self::Write(_) | Self::Read(_) => return None,
        };
        let mut bytes = [0; OPERANDS_LEN];
        bytes[..8].copy_from_slice(&operand.to_le_bytes());
        bytes[8..].copy_from_slice(&compare.to_le_bytes());
        Some(bytes)
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Where in the memory of the other side.
    pub address: u64,
    /// Key of the region there.
    pub rkey: u32,
    /// What is to be done.
    pub asked: Asked<'a>,
}

/// The answer of a READ or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Of which operation; never WRITE.
    pub operation: Operation,
    /// What an atomic found, as it stood in memory.
    pub old: [u8; ATOMIC_LEN],
    /// What a READ found.
    pub data: &'a [u8],
}

/// Where a number stands to the one that a window expects, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is the one.
    Next,
    /// The one before.
    Last,
    /// Older than that, in the half behind.
    Behind,
    /// In the half ahead.
    Ahead,
}

impl Order {
    /// Of number `msn` to `expected`.
    #[must_use]
    pub const fn of(msn: u32, expected: u32) -> Self {
        match msn.wrapping_sub(expected) {
            0 => Self::Next,
            u32::MAX => Self::Last,
            0x8000_0000.. => Self::Behind,
            _ => Self::Ahead,
        }
    }
}

/// What is wrong with the payload of a one-sided frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Payload length.
    #[error("payload of {got} bytes, expected {min} to {max}")]
    Length {
        /// Bytes found.
        got: usize,
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
    /// An operation without a meaning, or without an answer of its own.
    #[error("operation {0:#04x} has no meaning here")]
    Operation(u8),
    /// Bytes to read of an operation that reads none.
    #[error("{0} bytes to read, by an operation that reads none")]
    Reserved(u32),
    /// READ of nothing, or of more than fits into its answer.
    #[error("{got} bytes to read, expected 1 to {max}")]
    Read {
        /// Bytes wanted.
        got: u32,
        /// The most.
        max: usize,
    },
    /// Address of an atomic.
    #[error("atomic at {0:#x}, which is no multiple of 8")]
    Alignment(u64),
}

impl HeaderError {
    /// How the target refuses it.
    #[must_use]
    pub const fn nak(self) -> Nak {
        match self {
            Self::Operation(_) => Nak::Opcode,
            Self::Length { .. } | Self::Reserved(_) | Self::Read { .. } | Self::Alignment(_) => {
                Nak::Length
            }
        }
    }
}

fn length(got: usize, min: usize, max: usize) -> Result<(), HeaderError> {
    if (min..=max).contains(&got) {
        Ok(())
    } else {
        Err(HeaderError::Length { got, min, max })
    }
}

/// Bytes at a place; those beyond the end are 0.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes.iter().skip(at)) {
        *to = *from;
    }
    out
}

/// Whether the payload of a one-sided frame is an answer; anything else is a request, however wrong.
#[must_use]
pub fn is_answer(payload: &[u8]) -> bool {
    payload.len() >= HEADER_LEN && answered(payload[12]).is_some()
}

fn answered(code: u8) -> Option<Operation> {
    let operation = Operation::from_code(code & !ANSWER)?;
    (code & ANSWER != 0 && operation != Operation::Write).then_some(operation)
}

impl<'a> Request<'a> {
    /// Takes the payload of a request apart.
    ///
    /// # Errors
    /// The first check that fails, in the order of the target: length up to `mtu`, operation, fields.
    pub fn decode(payload: &'a [u8], mtu: u16) -> Result<Self, HeaderError> {
        let mtu = usize::from(mtu);
        let got = payload.len();
        length(got, HEADER_LEN, mtu)?;
        let to_read = H_LENGTH.get(payload) as u32;
        let operation = payload[12];
        let operation = Operation::from_code(operation).ok_or(HeaderError::Operation(operation))?;
        if operation != Operation::Read && to_read != 0 {
            return Err(HeaderError::Reserved(to_read));
        }
        let address = H_ADDRESS.get(payload);
        let behind = &payload[HEADER_LEN..];
        let number = |at| u64::from_le_bytes(array(behind, at));
        if operation.is_atomic() {
            length(got, HEADER_LEN + OPERANDS_LEN, HEADER_LEN + OPERANDS_LEN)?;
            if !address.is_multiple_of(ATOMIC_LEN as u64) {
                return Err(HeaderError::Alignment(address));
            }
        }
        let asked = match operation {
            Operation::Write => Asked::Write(behind),
            Operation::Read => {
                length(got, HEADER_LEN, HEADER_LEN)?;
                let max = mtu - HEADER_LEN;
                if to_read == 0 || to_read as usize > max {
                    return Err(HeaderError::Read { got: to_read, max });
                }
                Asked::Read(to_read)
            }
            Operation::FetchAdd => Asked::FetchAdd(number(0)),
            Operation::CompareSwap => Asked::CompareSwap {
                swap: number(0),
                compare: number(8),
            },
        };
        Ok(Self {
            address,
            rkey: H_RKEY.get(payload) as u32,
            asked,
        })
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        H_ADDRESS.put(&mut header, self.address);
        H_RKEY.put(&mut header, self.rkey);
        H_OPERATION.put(&mut header, self.asked.operation().code());
        if let Asked::Read(bytes) = self.asked {
            H_LENGTH.put(&mut header, bytes);
        }
        header
    }

    /// Header and what follows it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = self.header().to_vec();
        if let Asked::Write(bytes) = self.asked {
            payload.extend_from_slice(bytes);
        }
        payload.extend(self.asked.operands().into_iter().flatten());
        payload
    }
}

impl<'a> Answer<'a> {
    /// Takes the payload of an answer apart.
    ///
    /// # Errors
    /// Shorter than a header, or not the operation of an answer.
    pub fn decode(payload: &'a [u8]) -> Result<Self, HeaderError> {
        length(payload.len(), HEADER_LEN, MAX_PAYLOAD)?;
        let operation = answered(payload[12]).ok_or(HeaderError::Operation(payload[12]))?;
        Ok(Self {
            operation,
            old: array(payload, 0),
            data: &payload[HEADER_LEN..],
        })
    }

    /// Header and bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = vec![0; HEADER_LEN];
        payload[..8].copy_from_slice(&self.old);
        H_OPERATION.put(&mut payload, self.operation.code());
        H_ANSWER.put(&mut payload, true);
        payload.extend_from_slice(self.data);
        payload
    }
}
