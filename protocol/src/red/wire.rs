//! The reduction frame as bytes: 94 of them, without the frame check sequence.
//!
//! | offset | bits | field | value |
//! |---|---|---|---|
//! | 0 | 48 | destination MAC | that of the DFA, checked |
//! | 6 | 48 | source MAC | that of the SFA, not checked |
//! | 12 | 16 | ethertype | a setting, 0x88B5 |
//! | 14 | 4, 4 | version, header length | 4, 5 |
//! | 15 | 6, 2 | dscp, ecn | free |
//! | 16 | 16 | length | 80 |
//! | 18 | 16 | VNI | |
//! | 20 | 2, 11, 3 | reserved, spt_idx, try | 0, free, free |
//! | 22 | 8 | ttl | free |
//! | 23 | 8 | protocol | 253 |
//! | 24 | 16 | checksum of bytes 14 to 33 | checked |
//! | 26 | 32 | SFA | |
//! | 30 | 32 | DFA | |
//! | 34 | 1, 3, 4 | req_not_rsp, type, opcode | free, 4, free |
//! | 35 | 1, 2, 5 | flush, pktid_ext, index_ext | free |
//! | 36 | 56 | remote_offset | free |
//! | 43 | 3, 1, 12 | reserved, src_error, request_len | 0, free, 49 |
//! | 45 | 40 | pad | 0 |
//! | 50 | 96 | reduction header, see [`Reduction`] | |
//! | 62 | 4 × 64 | data, word 0 first | |
//!
//! All fields are big-endian. What is free keeps its value in a passing frame.

use thiserror::Error;

use super::{
    address::Address,
    ops::{Op, Rc, Value},
};

/// Bytes of a reduction frame.
pub const FRAME_LEN: usize = 94;
/// Ethertype unless configured otherwise: IEEE's local experimental one.
pub const DEFAULT_ETHERTYPE: u16 = 0x88B5;
/// Largest count, 20 bits.
pub const COUNT_MAX: u32 = (1 << 20) - 1;

const ETHERNET: usize = 14;
const DATA: usize = 62;
/// Version 4, header of 5 words.
pub const VERSION: u8 = 0x45;
/// Length field of the fabric header.
pub const LENGTH: u16 = 80;
/// Protocol.
pub const PROTOCOL: u8 = 253;
/// Time to live, as sent.
pub const TTL: u8 = 64;
/// Type of the restricted header.
pub const TYPE: u8 = 4;
/// Length of a request.
pub const REQUEST_LEN: u16 = 49;

/// What is wrong with a frame: the first check that fails. Nothing of it may be acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Not 94 bytes.
    #[error("{0} bytes, a reduction frame has 94")]
    Length(usize),
    /// Another ethertype than configured.
    #[error("ethertype {got:#06x}, expected {expected:#06x}")]
    Ethertype {
        /// Found.
        got: u16,
        /// Configured.
        expected: u16,
    },
    /// A field with one legal value has another.
    #[error("{field} is {got}, only {expected} is legal")]
    Field {
        /// Which.
        field: &'static str,
        /// Found.
        got: u64,
        /// Legal value.
        expected: u64,
    },
    /// Reserved or pad bits that are not 0.
    #[error("{0} must be 0")]
    Reserved(&'static str),
    /// Header checksum.
    #[error("header checksum {got:#06x}, computed {expected:#06x}")]
    Checksum {
        /// Found.
        got: u16,
        /// Computed.
        expected: u16,
    },
    /// Destination MAC is not that of the DFA.
    #[error("destination MAC is not that of DFA {0}")]
    Mac(Address),
    /// Not an operation.
    #[error("{0:#04x} is no reduction operation")]
    Op(u8),
    /// A contribution that stands for no one.
    #[error("a frame on its way up has a count of 0")]
    ZeroCount,
}

/// Fields of the fabric header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fabric {
    /// Free, 6 bits.
    pub dscp: u8,
    /// Free, 2 bits.
    pub ecn: u8,
    /// Virtual network: the job that a frame belongs to.
    pub vni: u16,
    /// Free, 11 bits.
    pub spt_idx: u16,
    /// Free, 3 bits.
    pub r#try: u8,
    /// Free; engines and hosts send 64, switches do not count it down.
    pub ttl: u8,
    /// Source.
    pub sfa: Address,
    /// Destination: an endpoint, or a tree and reduction id.
    pub dfa: Address,
}

impl Fabric {
    /// As engines and hosts send it.
    #[must_use]
    pub const fn new(sfa: Address, dfa: Address, vni: u16) -> Self {
        Self {
            dscp: 0,
            ecn: 0,
            vni,
            spt_idx: 0,
            r#try: 0,
            ttl: TTL,
            sfa,
            dfa,
        }
    }
}

/// Free fields of the restricted header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Restricted {
    /// Request, not response.
    pub req_not_rsp: bool,
    /// 4 bits.
    pub opcode: u8,
    /// 1 bit.
    pub flush: bool,
    /// 2 bits.
    pub pktid_ext: u8,
    /// 5 bits.
    pub index_ext: u8,
    /// 56 bits.
    pub remote_offset: u64,
    /// 1 bit.
    pub src_error: bool,
}

impl Default for Restricted {
    /// As engines and hosts send it.
    fn default() -> Self {
        Self {
            req_not_rsp: true,
            opcode: 0,
            flush: false,
            pktid_ext: 0,
            index_ext: 0,
            remote_offset: 0,
            src_error: false,
        }
    }
}

/// The reduction header: one number of 96 bits, bit 0 the least significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    /// Bits 9:0. Round that is armed (down) or contributed to (up).
    pub seqno: u16,
    /// Bit 10. Downwards: engines shall arm.
    pub arm: bool,
    /// Bits 16:11.
    pub op: Op,
    /// Bits 36:17. Endpoints whose contributions are in the value.
    pub count: u32,
    /// Bits 46:37. Downwards: round whose result this is; upwards equal to seqno (RED-15).
    pub resno: u16,
    /// Bits 50:47.
    pub rc: Rc,
    /// Bits 58:51. Weight of REPSUM's word 3.
    pub m: i8,
    /// Bits 60:59. Word of REPSUM that overflowed.
    pub oflow: u8,
    /// Bits 63:61, free.
    pub pad: u8,
    /// Bits 95:64. Names the reduction group among all that ever use this address.
    pub cookie: u32,
}

impl Reduction {
    /// Bits of seqno in bits 63:0.
    pub const SEQNO_MASK: u64 = (1 << 10) - 1;
    /// Bit of arm.
    pub const ARM_MASK: u64 = 1 << 10;
    /// Bits of resno.
    pub const RESNO_MASK: u64 = Self::SEQNO_MASK << 37;

    /// Bits 63:0; bits beyond a field's width are not sent.
    #[must_use]
    pub const fn word(&self) -> u64 {
        const fn field(value: u32, width: u32, at: u32) -> u64 {
            (value as u64 & ((1 << width) - 1)) << at
        }
        field(self.seqno as u32, 10, 0)
            | field(self.arm as u32, 1, 10)
            | field(self.op.code() as u32, 6, 11)
            | field(self.count, 20, 17)
            | field(self.resno as u32, 10, 37)
            | field(self.rc.code() as u32, 4, 47)
            | field(self.m as u8 as u32, 8, 51)
            | field(self.oflow as u32, 2, 59)
            | field(self.pad as u32, 3, 61)
    }

    /// From the cookie and bits 63:0.
    ///
    /// # Errors
    /// [`WireError::Op`].
    pub fn from_word(cookie: u32, low: u64) -> Result<Self, WireError> {
        let field = |width: u32, at: u32| low >> at & ((1 << width) - 1);
        let code = field(6, 11) as u8;
        Ok(Self {
            seqno: field(10, 0) as u16,
            arm: field(1, 10) == 1,
            op: Op::try_from(code).map_err(|_| WireError::Op(code))?,
            count: field(20, 17) as u32,
            resno: field(10, 37) as u16,
            rc: Rc::new(field(4, 47) as u8),
            m: field(8, 51) as i8,
            oflow: field(2, 59) as u8,
            pad: field(3, 61) as u8,
            cookie,
        })
    }

    /// The 12 bytes, top of the cookie first.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[4..].copy_from_slice(&self.word().to_be_bytes());
        bytes
    }

    /// # Errors
    /// [`WireError::Op`].
    pub fn from_bytes(bytes: [u8; 12]) -> Result<Self, WireError> {
        Self::from_word(be(&bytes[..4]) as u32, be(&bytes[4..]))
    }
}

/// A reduction frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Fabric header.
    pub fabric: Fabric,
    /// Restricted header.
    pub restricted: Restricted,
    /// Reduction header.
    pub red: Reduction,
    /// Data words, word 0 first.
    pub data: [u64; 4],
}

impl Frame {
    /// Data, result code and REPSUM fields, as the operations see them.
    #[must_use]
    pub const fn value(&self) -> Value {
        Value {
            data: self.data,
            rc: self.red.rc,
            m: self.red.m,
            oflow: self.red.oflow,
        }
    }

    /// Reads a frame that is to have this ethertype.
    ///
    /// # Errors
    /// The first check that fails. The count of frames on their way up is checked by [`Frame::check_up`].
    pub fn parse(bytes: &[u8], ethertype: u16) -> Result<Self, WireError> {
        let frame: &[u8; FRAME_LEN] = bytes
            .try_into()
            .map_err(|_| WireError::Length(bytes.len()))?;
        let got = be(&frame[12..14]) as u16;
        if got != ethertype {
            return Err(WireError::Ethertype {
                got,
                expected: ethertype,
            });
        }
        let header = &frame[ETHERNET..];
        exactly("version", header[0] >> 4, 4u8)?;
        exactly("header length", header[0] & 15, 5u8)?;
        exactly("length", be(&header[2..4]), LENGTH)?;
        let routing = be(&header[6..8]) as u16;
        zero(
            "reserved bits of the fabric header",
            u64::from(routing >> 14),
        )?;
        exactly("protocol", header[9], PROTOCOL)?;
        let (got, expected) = (be(&header[10..12]) as u16, checksum(header));
        // 0 and 0xffff are the same in one's complement: a reader that sums all ten words cannot tell them apart.
        if got % 0xffff != expected % 0xffff {
            return Err(WireError::Checksum { got, expected });
        }
        let fabric = Fabric {
            dscp: header[1] >> 2,
            ecn: header[1] & 3,
            vni: be(&header[4..6]) as u16,
            spt_idx: routing >> 3 & 0x7ff,
            r#try: (routing & 7) as u8,
            ttl: header[8],
            sfa: Address(be(&header[12..16]) as u32),
            dfa: Address(be(&header[16..20]) as u32),
        };
        if frame[..6] != fabric.dfa.mac() {
            return Err(WireError::Mac(fabric.dfa));
        }
        exactly("type", header[20] >> 4 & 7, TYPE)?;
        let last = be(&header[29..31]) as u16;
        zero(
            "reserved bits of the restricted header",
            u64::from(last >> 13),
        )?;
        exactly("request_len", last & 0xfff, REQUEST_LEN)?;
        zero("pad", be(&header[31..36]))?;
        let restricted = Restricted {
            req_not_rsp: header[20] & 0x80 != 0,
            opcode: header[20] & 15,
            flush: header[21] & 0x80 != 0,
            pktid_ext: header[21] >> 5 & 3,
            index_ext: header[21] & 31,
            remote_offset: be(&header[22..29]),
            src_error: last & 0x1000 != 0,
        };
        let mut reduction = [0; 12];
        reduction.copy_from_slice(&header[36..48]);
        let red = Reduction::from_bytes(reduction)?;
        let data = std::array::from_fn(|i| be(&frame[DATA + 8 * i..DATA + 8 * i + 8]));
        Ok(Self {
            fabric,
            restricted,
            red,
            data,
        })
    }

    /// Whether it carries a contribution towards the root: it does not arm, and is of the kind 0. What else is sent to a tree
    /// goes down from the root.
    #[must_use]
    pub const fn contributes(&self) -> bool {
        !self.red.arm && self.restricted.opcode == 0
    }

    /// Whether it is a contribution whose data words 1 to 3 are zero, without a mismatch below it and not of REPSUM: of those
    /// an engine can take several at a time, since [`combine`](super::ops::combine) leaves these words zero and says nothing
    /// about them.
    #[must_use]
    pub fn is_brief(&self) -> bool {
        self.contributes()
            && self.data[1..] == [0; 3]
            && self.red.rc < Rc::OP_MISMATCH
            && self.red.op != Op::FltRepsum
    }

    /// Whether it goes to the same descriptor as `other` if both are contributions: same tree, reduction id, VNI and cookie. These
    /// are what a switch compares first, before [`Frame::goes_with`].
    #[must_use]
    pub fn heads_for(&self, other: &Self) -> bool {
        let to = |frame: &Self| (frame.fabric.dfa, frame.fabric.vni, frame.red.cookie);
        to(self) == to(other)
    }

    /// Whether both are brief and the same but for data word 0, the result code and what is free outside the reduction header, so
    /// that an engine may take them together.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        let red = Reduction {
            rc: other.red.rc,
            ..self.red
        };
        self.is_brief() && other.is_brief() && self.heads_for(other) && red == other.red
    }

    /// What holds for frames on their way to the root only.
    ///
    /// # Errors
    /// [`WireError::ZeroCount`].
    pub const fn check_up(&self) -> Result<(), WireError> {
        if self.red.count == 0 {
            Err(WireError::ZeroCount)
        } else {
            Ok(())
        }
    }

    /// The bytes of the frame; bits beyond a field's width are not sent.
    #[must_use]
    pub fn to_bytes(&self, ethertype: u16) -> [u8; FRAME_LEN] {
        let mut out = [0; FRAME_LEN];
        let (f, r) = (&self.fabric, &self.restricted);
        out[..6].copy_from_slice(&f.dfa.mac());
        out[6..12].copy_from_slice(&f.sfa.mac());
        out[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let header = &mut out[ETHERNET..];
        header[0] = VERSION;
        header[1] = f.dscp << 2 | f.ecn & 3;
        header[2..4].copy_from_slice(&LENGTH.to_be_bytes());
        header[4..6].copy_from_slice(&f.vni.to_be_bytes());
        let routing = (f.spt_idx & 0x7ff) << 3 | u16::from(f.r#try & 7);
        header[6..8].copy_from_slice(&routing.to_be_bytes());
        header[8] = f.ttl;
        header[9] = PROTOCOL;
        header[12..16].copy_from_slice(&f.sfa.0.to_be_bytes());
        header[16..20].copy_from_slice(&f.dfa.0.to_be_bytes());
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header[20] = u8::from(r.req_not_rsp) << 7 | TYPE << 4 | r.opcode & 15;
        header[21] = u8::from(r.flush) << 7 | (r.pktid_ext & 3) << 5 | r.index_ext & 31;
        header[22..29].copy_from_slice(&r.remote_offset.to_be_bytes()[1..]);
        let last = u16::from(r.src_error) << 12 | REQUEST_LEN;
        header[29..31].copy_from_slice(&last.to_be_bytes());
        header[36..48].copy_from_slice(&self.red.to_bytes());
        for (i, word) in self.data.iter().enumerate() {
            header[48 + 8 * i..56 + 8 * i].copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

/// Up to eight bytes as a number.
fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// IPv4's checksum over the first 20 bytes, the checksum field itself left out.
fn checksum(header: &[u8]) -> u16 {
    let words = header[..20].chunks(2).enumerate();
    let sum: u64 = words.filter(|&(i, _)| i != 5).map(|(_, w)| be(w)).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !(((once & 0xffff) + (once >> 16)) as u16)
}

fn exactly(
    field: &'static str,
    got: impl Into<u64>,
    expected: impl Into<u64>,
) -> Result<(), WireError> {
    let (got, expected) = (got.into(), expected.into());
    if got == expected {
        Ok(())
    } else {
        Err(WireError::Field {
            field,
            got,
            expected,
        })
    }
}

fn zero(name: &'static str, bits: u64) -> Result<(), WireError> {
    if bits == 0 {
        Ok(())
    } else {
        Err(WireError::Reserved(name))
    }
}
