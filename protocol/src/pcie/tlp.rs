//! Headers of memory requests and completions.

use super::MAX_DWORDS;
use thiserror::Error;

/// A header: DW0 to DW3.
pub type Header = [u32; 4];

/// Why a header is not one of those known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum TlpError {
    /// No memory request and no completion.
    #[error("TLP of format {fmt:#05b} and type {ty:#07b}")]
    Type {
        /// Fmt, 3 bits.
        fmt: u8,
        /// Type, 5 bits.
        ty: u8,
    },
    /// Bits that must be 0 are not.
    #[error("reserved bits {bits:#010x} of DW{word} are set")]
    Reserved {
        /// Which word of the header.
        word: u8,
        /// The bits.
        bits: u32,
    },
    /// Length is not 1 to 1,024.
    #[error("length of {0} words of 32 bits")]
    Length(u16),
    /// Byte Count is not 1 to 4,096.
    #[error("byte count {0}")]
    ByteCount(u16),
    /// A field does not fit its bits.
    #[error("{field} {value:#x} is too large")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it was to be.
        value: u64,
    },
    /// The address does not begin at a word of 32 bits.
    #[error("address {0:#x} is no multiple of 4")]
    Address(u64),
    /// An address above 4 GiB in a header of three words.
    #[error("address {0:#x} needs a header of four words")]
    Narrow(u64),
}

/// What every header has in DW0 beside format, type and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Traffic Class, 3 bits.
    pub tc: u8,
    /// Attr, 3 bits: ID-based ordering 2, relaxed ordering 1, no snoop 0.
    pub attr: u8,
    /// TLP Processing Hints are there.
    pub th: bool,
    /// A digest follows.
    pub td: bool,
    /// The data are poisoned.
    pub ep: bool,
    /// Address Type, 2 bits.
    pub at: u8,
}

/// MRd or MWr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRequest {
    /// Of DW0.
    pub attributes: Attributes,
    /// Words of 32 bits, 1 to 1,024.
    pub length: u16,
    /// Requester ID: bus, device, function.
    pub requester_id: u16,
    /// Tag, 10 bits.
    pub tag: u16,
    /// Bytes of the last word; 0 if there is only one.
    pub last_be: u8,
    /// Bytes of the first word.
    pub first_be: u8,
    /// Address of the first word.
    pub address: u64,
    /// The header has four words.
    pub four_dw: bool,
}

codes! {
    /// Completion Status.
    Status {
        /// SC: successful completion.
        Successful = 0 "successful",
        /// UR: unsupported request; codes without a meaning count as this.
        UnsupportedRequest = 1 "unsupported_request",
        /// CRS, request retry status: configuration requests only.
        RequestRetry = 2 "request_retry",
        /// CA: completer abort.
        CompleterAbort = 4 "completer_abort",
    }
}

/// Cpl or CplD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// Of DW0.
    pub attributes: Attributes,
    /// Words of 32 bits, 1 to 1,024; 0 for a completion without data (Cpl).
    pub length: u16,
    /// Answers a locked read (CplLk, CplDLk).
    pub locked: bool,
    /// Completer ID.
    pub completer_id: u16,
    /// Status.
    pub status: Status,
    /// Byte count modified: a bridge to PCI-X only.
    pub bcm: bool,
    /// Bytes still to come, those of this completion included: 1 to 4,096.
    pub byte_count: u16,
    /// Requester ID of the request.
    pub requester_id: u16,
    /// Tag of the request, 10 bits.
    pub tag: u16,
    /// Bits 6:0 of the address of the first byte here.
    pub lower_address: u8,
}

/// A TLP by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tlp {
    /// MRd.
    MemoryRead(MemoryRequest),
    /// MWr.
    MemoryWrite(MemoryRequest),
    /// Cpl, CplD.
    Completion(Completion),
}

/// Type of a memory request.
pub const TYPE_MEMORY: u8 = 0b0_0000;
/// Type of a completion.
pub const TYPE_COMPLETION: u8 = 0b0_1010;
const TYPE_COMPLETION_LOCKED: u8 = 0b0_1011;

/// `value` if it has no more than `bits` bits.
fn field(field: &'static str, value: u64, bits: u32) -> Result<u32, TlpError> {
    if value >> bits == 0 {
        Ok(value as u32)
    } else {
        Err(TlpError::Field { field, value })
    }
}

fn reserved(word: u8, value: u32, mask: u32) -> Result<(), TlpError> {
    match value & mask {
        0 => Ok(()),
        bits => Err(TlpError::Reserved { word, bits }),
    }
}

impl Attributes {
    fn parse(dw0: u32) -> Self {
        Self {
            tc: (dw0 >> 20 & 7) as u8,
            attr: ((dw0 >> 18 & 1) << 2 | dw0 >> 12 & 3) as u8,
            th: dw0 >> 16 & 1 == 1,
            td: dw0 >> 15 & 1 == 1,
            ep: dw0 >> 14 & 1 == 1,
            at: (dw0 >> 10 & 3) as u8,
        }
    }

    /// DW0 without its length.
    fn emit(self, fmt: u8, ty: u8, tag: u16) -> Result<u32, TlpError> {
        let attr = field("attr", self.attr.into(), 3)?;
        Ok(u32::from(fmt) << 29
            | u32::from(ty) << 24
            | u32::from(tag >> 9 & 1) << 23
            | field("tc", self.tc.into(), 3)? << 20
            | u32::from(tag >> 8 & 1) << 19
            | (attr >> 2) << 18
            | u32::from(self.th) << 16
            | u32::from(self.td) << 15
            | u32::from(self.ep) << 14
            | (attr & 3) << 12
            | field("at", self.at.into(), 2)? << 10)
    }
}

/// Bits 9:8 of the tag, which stand in DW0.
fn tag_high(dw0: u32) -> u16 {
    ((dw0 >> 23 & 1) << 9 | (dw0 >> 19 & 1) << 8) as u16
}

/// Length as it stands in DW0: 0 is 1,024.
fn length(dw0: u32) -> u16 {
    match (dw0 & 0x3FF) as u16 {
        0 => MAX_DWORDS,
        length => length,
    }
}

impl Tlp {
    /// Reads a header.
    ///
    /// # Errors
    /// Another type, or reserved bits that are set. Locked reads count as another type.
    pub fn parse(header: &Header) -> Result<Self, TlpError> {
        let [dw0, dw1, dw2, dw3] = *header;
        let (fmt, ty) = ((dw0 >> 29) as u8, (dw0 >> 24 & 0x1F) as u8);
        match (fmt, ty) {
            (0..=3, TYPE_MEMORY) => {
                reserved(0, dw0, 1 << 17)?;
                let four_dw = fmt & 1 == 1;
                let (high, low) = if four_dw { (dw2, dw3) } else { (0, dw2) };
                if !four_dw {
                    reserved(3, dw3, u32::MAX)?;
                }
                let attributes = Attributes::parse(dw0);
                if !attributes.th {
                    reserved(if four_dw { 3 } else { 2 }, low, 3)?;
                }
                let request = MemoryRequest {
                    attributes,
                    length: length(dw0),
                    requester_id: (dw1 >> 16) as u16,
                    tag: tag_high(dw0) | (dw1 >> 8 & 0xFF) as u16,
                    last_be: (dw1 >> 4 & 0xF) as u8,
                    first_be: (dw1 & 0xF) as u8,
                    address: u64::from(high) << 32 | u64::from(low & !3),
                    four_dw,
                };
                Ok(if fmt & 2 == 0 {
                    Self::MemoryRead(request)
                } else {
                    Self::MemoryWrite(request)
                })
            }
            (0 | 2, TYPE_COMPLETION | TYPE_COMPLETION_LOCKED) => {
                reserved(0, dw0, 1 << 17)?;
                reserved(2, dw2, 1 << 7)?;
                reserved(3, dw3, u32::MAX)?;
                let status = (dw1 >> 13 & 7) as u8;
                Ok(Self::Completion(Completion {
                    attributes: Attributes::parse(dw0),
                    length: if fmt == 2 { length(dw0) } else { 0 },
                    locked: ty == TYPE_COMPLETION_LOCKED,
                    completer_id: (dw1 >> 16) as u16,
                    status: Status::from_code(status).unwrap_or(Status::UnsupportedRequest),
                    bcm: dw1 >> 12 & 1 == 1,
                    byte_count: match (dw1 & 0xFFF) as u16 {
                        0 => 4096,
                        count => count,
                    },
                    requester_id: (dw2 >> 16) as u16,
                    tag: tag_high(dw0) | (dw2 >> 8 & 0xFF) as u16,
                    lower_address: (dw2 & 0x7F) as u8,
                }))
            }
            _ => Err(TlpError::Type { fmt, ty }),
        }
    }

    /// Writes the header.
    ///
    /// # Errors
    /// A field that has no place in it.
    pub fn emit(&self) -> Result<Header, TlpError> {
        match self {
            Self::MemoryRead(request) => request.emit(0),
            Self::MemoryWrite(request) => request.emit(2),
            Self::Completion(completion) => completion.emit(),
        }
    }
}

impl MemoryRequest {
    fn emit(&self, data: u8) -> Result<Header, TlpError> {
        if !(1..=MAX_DWORDS).contains(&self.length) {
            return Err(TlpError::Length(self.length));
        }
        if !self.address.is_multiple_of(4) {
            return Err(TlpError::Address(self.address));
        }
        if !self.four_dw && self.address >> 32 != 0 {
            return Err(TlpError::Narrow(self.address));
        }
        field("tag", self.tag.into(), 10)?;
        let dw0 = self
            .attributes
            .emit(data | u8::from(self.four_dw), TYPE_MEMORY, self.tag)?;
        let dw1 = u32::from(self.requester_id) << 16
            | u32::from(self.tag & 0xFF) << 8
            | field("last_be", self.last_be.into(), 4)? << 4
            | field("first_be", self.first_be.into(), 4)?;
        let (high, low) = ((self.address >> 32) as u32, self.address as u32);
        let dw0 = dw0 | u32::from(self.length) & 0x3FF;
        Ok(if self.four_dw {
            [dw0, dw1, high, low]
        } else {
            [dw0, dw1, low, 0]
        })
    }
}

impl Completion {
    fn emit(&self) -> Result<Header, TlpError> {
        if self.length > MAX_DWORDS {
            return Err(TlpError::Length(self.length));
        }
        if !(1..=4096).contains(&self.byte_count) {
            return Err(TlpError::ByteCount(self.byte_count));
        }
        field("tag", self.tag.into(), 10)?;
        let fmt = if self.length == 0 { 0 } else { 2 };
        let ty = if self.locked {
            TYPE_COMPLETION_LOCKED
        } else {
            TYPE_COMPLETION
        };
        let dw0 = self.attributes.emit(fmt, ty, self.tag)? | u32::from(self.length) & 0x3FF;
        let dw1 = u32::from(self.completer_id) << 16
            | u32::from(self.status.code()) << 13
            | u32::from(self.bcm) << 12
            | u32::from(self.byte_count) & 0xFFF;
        let dw2 = u32::from(self.requester_id) << 16
            | u32::from(self.tag & 0xFF) << 8
            | field("lower_address", self.lower_address.into(), 7)?;
        Ok([dw0, dw1, dw2, 0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> MemoryRequest {
        MemoryRequest {
            attributes: Attributes::default(),
            length: 1,
            requester_id: 0x0100,
            tag: 0x0C,
            last_be: 0,
            first_be: 0xF,
            address: 0xFDAF_F040,
            four_dw: false,
        }
    }

    #[test]
    fn a_read_of_one_word_has_the_bytes_of_the_specification() {
        let tlp = Tlp::MemoryRead(request());
        let header = [0x0000_0001, 0x0100_0C0F, 0xFDAF_F040, 0];
        assert_eq!(tlp.emit(), Ok(header));
        assert_eq!(Tlp::parse(&header), Ok(tlp));
    }

    #[test]
    fn a_write_above_4_gib_has_four_words_and_length_0_is_1024() {
        let tlp = Tlp::MemoryWrite(MemoryRequest {
            length: 1024,
            last_be: 0x1,
            first_be: 0x8,
            address: 0x12_3456_7000,
            four_dw: true,
            tag: 0,
            ..request()
        });
        let header = [0x6000_0000, 0x0100_0018, 0x12, 0x3456_7000];
        assert_eq!(tlp.emit(), Ok(header));
        assert_eq!(Tlp::parse(&header), Ok(tlp));
    }

    #[test]
    fn completions_with_and_without_data() {
        let completion = Completion {
            attributes: Attributes::default(),
            length: 1,
            locked: false,
            completer_id: 0x0100,
            status: Status::Successful,
            bcm: false,
            byte_count: 4,
            requester_id: 0,
            tag: 0x0C,
            lower_address: 0x40,
        };
        let header = [0x4A00_0001, 0x0100_0004, 0x0000_0C40, 0];
        assert_eq!(Tlp::Completion(completion).emit(), Ok(header));
        assert_eq!(Tlp::parse(&header), Ok(Tlp::Completion(completion)));
        let refused = Completion {
            length: 0,
            status: Status::UnsupportedRequest,
            byte_count: 4096,
            ..completion
        };
        let header = [0x0A00_0000, 0x0100_2000, 0x0000_0C40, 0];
        assert_eq!(Tlp::Completion(refused).emit(), Ok(header));
        assert_eq!(Tlp::parse(&header), Ok(Tlp::Completion(refused)));
    }

    #[test]
    fn every_field_of_dw0_has_its_place() {
        let attributes = Attributes {
            tc: 5,
            attr: 0b101,
            th: false,
            td: true,
            ep: true,
            at: 2,
        };
        let tlp = Tlp::MemoryRead(MemoryRequest {
            attributes,
            tag: 0x30C,
            ..request()
        });
        // T9, TC 5, T8, Attr[2], TD, EP, Attr[0], AT 2, Length 1.
        let dw0 = 1 << 23 | 5 << 20 | 1 << 19 | 1 << 18 | 1 << 15 | 1 << 14 | 1 << 12 | 2 << 10 | 1;
        let header = tlp.emit().unwrap();
        assert_eq!(header[0], dw0);
        assert_eq!(Tlp::parse(&header), Ok(tlp));
    }

    #[test]
    fn reserved_statuses_count_as_unsupported_request() {
        for code in [3, 5, 6, 7] {
            let header = [0x0A00_0000, code << 13 | 4, 0, 0];
            let Ok(Tlp::Completion(completion)) = Tlp::parse(&header) else {
                panic!("status {code}");
            };
            assert_eq!(completion.status, Status::UnsupportedRequest);
        }
    }

    #[test]
    fn what_is_no_memory_request_or_completion_is_an_error() {
        // Locked read, I/O, configuration, message, atomic, prefix.
        for (fmt, ty) in [
            (0, 1),
            (0, 2),
            (2, 2),
            (0, 4),
            (2, 5),
            (1, 0x10),
            (2, 0xC),
            (4, 0),
        ] {
            let header = [u32::from(fmt) << 29 | u32::from(ty) << 24 | 1, 0xF, 0, 0];
            assert_eq!(Tlp::parse(&header), Err(TlpError::Type { fmt, ty }));
        }
    }

    #[test]
    fn reserved_bits_and_oversized_fields_are_errors() {
        let reserved = |word, bits| Err(TlpError::Reserved { word, bits });
        assert_eq!(Tlp::parse(&[0x0002_0001, 0xF, 0, 0]), reserved(0, 0x2_0000));
        assert_eq!(Tlp::parse(&[1, 0xF, 2, 0]), reserved(2, 2));
        assert_eq!(Tlp::parse(&[1, 0xF, 0, 1]), reserved(3, 1));
        assert_eq!(Tlp::parse(&[0x0A00_0000, 4, 0x80, 0]), reserved(2, 0x80));
        let emit = |request| Tlp::MemoryRead(request).emit();
        let length = |length| MemoryRequest {
            length,
            ..request()
        };
        assert_eq!(emit(length(0)), Err(TlpError::Length(0)));
        assert_eq!(emit(length(1025)), Err(TlpError::Length(1025)));
        let address = |address| MemoryRequest {
            address,
            ..request()
        };
        assert_eq!(emit(address(2)), Err(TlpError::Address(2)));
        assert_eq!(emit(address(1 << 32)), Err(TlpError::Narrow(1 << 32)));
        let tag = MemoryRequest {
            tag: 1024,
            ..request()
        };
        assert!(matches!(
            emit(tag),
            Err(TlpError::Field { field: "tag", .. })
        ));
    }
}
