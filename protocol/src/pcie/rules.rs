//! The rules that a requester must obey, and those of a completion that answers one.

use super::{Completion, MemoryRequest, PAGE, Status, bytes};
use std::collections::HashMap;
use thiserror::Error;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Violation {
    /// A request while bus mastering is off.
    #[error("a request without bus master enable")]
    BusMaster,
    /// Another requester ID than that of the function.
    #[error("requester ID {0:#06x}")]
    RequesterId(u16),
    /// A read longer than the maximum read request size.
    #[error("read of {0} bytes")]
    ReadSize(u32),
    /// A write longer than the maximum payload size.
    #[error("write of {0} bytes")]
    PayloadSize(u32),
    /// First and last byte are in different pages.
    #[error("{length} words from {address:#x} on cross 4 KiB")]
    Page {
        /// Address of the first word.
        address: u64,
        /// Length.
        length: u16,
    },
    /// Byte enables that this length may not have.
    #[error("byte enables {first:#06b} and {last:#06b} with {length} words")]
    ByteEnables {
        /// Length.
        length: u16,
        /// First DW BE.
        first: u8,
        /// Last DW BE.
        last: u8,
    },
    /// No byte is enabled, and that is not allowed.
    #[error("a request for no byte")]
    ZeroLength,
    /// A header of four words for an address below 4 GiB.
    #[error("address {0:#x} in a header of four words")]
    Wide(u64),
    /// The tag of a read that has not ended.
    #[error("tag {0:#x} is in use")]
    TagInUse(u16),
    /// A tag of more bits than are enabled.
    #[error("tag {0:#x} without extended tags")]
    TagRange(u16),
    /// A request from this card that is poisoned, translated or has hints or a digest.
    #[error("attributes that are not enabled")]
    Attributes,
    /// Data that are not as long as Length says.
    #[error("{words} words of data, length {length}")]
    Data {
        /// Words that came.
        words: usize,
        /// Length.
        length: u16,
    },
    /// A completion that nobody waits for.
    #[error("a completion for tag {0:#x}, which waits for none")]
    Unexpected(u16),
    /// A completion with data and a bad status, or without data and a good one.
    #[error("status {status:?} with {length} words")]
    StatusData {
        /// Status.
        status: Status,
        /// Length.
        length: u16,
    },
    /// A Byte Count that is not that of the rest of the read.
    #[error("byte count {got}, not {want}")]
    ByteCount {
        /// In the completion.
        got: u16,
        /// Bytes still to come.
        want: u16,
    },
    /// A Lower Address that is not that of the next byte.
    #[error("lower address {got:#x}, not {want:#x}")]
    LowerAddress {
        /// In the completion.
        got: u8,
        /// Of the next byte.
        want: u8,
    },
    /// A completion that is too long, or ends where reads may not be cut.
    #[error("{0} words, which is too long or ends at no read completion boundary")]
    Cut(u16),
    /// Traffic class or attributes are not those of the request.
    #[error("traffic class or attributes differ from the request's")]
    CompletionAttributes,
}

/// What the configuration of a function allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bus, device, function.
    pub requester_id: u16,
    /// Bytes that a write may have: 128 to 4,096.
    pub max_payload: u32,
    /// Bytes that a read may have: 128 to 4,096.
    pub max_read: u32,
    /// Tags have 8 bits, else 5.
    pub extended_tags: bool,
    /// Requests may be sent.
    pub bus_master: bool,
    /// Requests for no byte may be sent (a read that flushes writes).
    pub zero_length: bool,
}

/// A read that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// The request.
    pub request: MemoryRequest,
    /// Bytes still to come.
    pub bytes: u16,
    /// Lower Address of the next completion.
    pub lower_address: u8,
}

impl Outstanding {
    /// A read that no completion has come for.
    #[must_use]
    pub fn new(request: MemoryRequest) -> Self {
        Self {
            request,
            bytes: bytes::byte_count(request.length, request.first_be, request.last_be),
            lower_address: bytes::lower_address(request.address, request.first_be),
        }
    }
}

/// Watches what a requester sends.
#[derive(Clone, Debug)]
pub struct Requester {
    /// What it may.
    pub limits: Limits,
    reads: HashMap<u16, MemoryRequest>,
}

impl Requester {
    /// A requester that has sent nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            reads: HashMap::new(),
        }
    }

    /// A read was sent; its tag is in use from now on, whatever else is wrong.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn read(&mut self, request: &MemoryRequest) -> Result<(), Violation> {
        let in_use = self.reads.insert(request.tag, *request).is_some();
        self.common(request)?;
        let size = 4 * u32::from(request.length);
        if size > self.limits.max_read {
            return Err(Violation::ReadSize(size));
        }
        let bits = if self.limits.extended_tags { 8 } else { 5 };
        if request.tag >> bits != 0 {
            return Err(Violation::TagRange(request.tag));
        }
        if in_use {
            return Err(Violation::TagInUse(request.tag));
        }
        Ok(())
    }

    /// A write was sent with so many words of 32 bits of data.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn write(&self, request: &MemoryRequest, words: usize) -> Result<(), Violation> {
        self.common(request)?;
        let size = 4 * u32::from(request.length);
        if size > self.limits.max_payload {
            return Err(Violation::PayloadSize(size));
        }
        if words != usize::from(request.length) {
            return Err(Violation::Data {
                words,
                length: request.length,
            });
        }
        Ok(())
    }

    /// The read with this tag has ended: its tag may be used again.
    pub fn end(&mut self, tag: u16) {
        self.reads.remove(&tag);
    }

    /// Reads that have not ended.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.reads.len()
    }

    fn common(&self, request: &MemoryRequest) -> Result<(), Violation> {
        let &MemoryRequest {
            length,
            first_be: first,
            last_be: last,
            address,
            ..
        } = request;
        if !self.limits.bus_master {
            return Err(Violation::BusMaster);
        }
        if request.requester_id != self.limits.requester_id {
            return Err(Violation::RequesterId(request.requester_id));
        }
        let attributes = request.attributes;
        if attributes.ep || attributes.td || attributes.th || attributes.at != 0 {
            return Err(Violation::Attributes);
        }
        if address % PAGE + 4 * u64::from(length) > PAGE {
            return Err(Violation::Page { address, length });
        }
        if request.four_dw && address >> 32 == 0 {
            return Err(Violation::Wide(address));
        }
        if length == 1 && first == 0 && last == 0 {
            return match self.limits.zero_length {
                true => Ok(()),
                false => Err(Violation::ZeroLength),
            };
        }
        // More than one word: both ends have bytes. Bytes in a row, but for one word, or two at a multiple of 8.
        let ends = match length {
            1 => last == 0,
            _ => first != 0 && last != 0,
        };
        let loose = length == 1 || (length == 2 && address.is_multiple_of(8));
        let upwards = first != 0 && first | (first - 1) == 0xF;
        let downwards = last & last.wrapping_add(1) == 0;
        if !ends || !(loose || (upwards && downwards)) {
            return Err(Violation::ByteEnables {
                length,
                first,
                last,
            });
        }
        Ok(())
    }
}

/// Checks a completion against the read that it answers; `words` of 32 bits of data came with it. Returns what is
/// outstanding after it, or nothing if it is the last. `boundary` is the read completion boundary, 64 or 128 bytes.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_completion(
    read: &Outstanding,
    completion: &Completion,
    words: usize,
    boundary: u64,
) -> Result<Option<Outstanding>, Violation> {
    let &Completion {
        length,
        status,
        byte_count,
        lower_address,
        ..
    } = completion;
    let request = &read.request;
    if completion.tag != request.tag || completion.requester_id != request.requester_id {
        return Err(Violation::Unexpected(completion.tag));
    }
    let (a, b) = (completion.attributes, request.attributes);
    if (a.tc, a.attr) != (b.tc, b.attr) {
        return Err(Violation::CompletionAttributes);
    }
    if words != usize::from(length) {
        return Err(Violation::Data { words, length });
    }
    if (status == Status::Successful) != (length > 0) {
        return Err(Violation::StatusData { status, length });
    }
    if byte_count != read.bytes {
        return Err(Violation::ByteCount {
            got: byte_count,
            want: read.bytes,
        });
    }
    if lower_address != read.lower_address {
        return Err(Violation::LowerAddress {
            got: lower_address,
            want: read.lower_address,
        });
    }
    if length == 0 || length == bytes::completion_dwords(lower_address, byte_count) {
        return Ok(None);
    }
    let carried = 4 * length - u16::from(lower_address % 4);
    let end = u64::from(lower_address) + u64::from(carried);
    if carried >= byte_count || !end.is_multiple_of(boundary) {
        return Err(Violation::Cut(length));
    }
    Ok(Some(Outstanding {
        request: *request,
        bytes: byte_count - carried,
        lower_address: (end & 0x7F) as u8,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Attributes;
    use super::*;

    fn requester() -> Requester {
        Requester::new(Limits {
            requester_id: 0x300,
            max_payload: 256,
            max_read: 512,
            extended_tags: false,
            bus_master: true,
            zero_length: false,
        })
    }

    fn request(address: u64, length: u16, first_be: u8, last_be: u8) -> MemoryRequest {
        MemoryRequest {
            attributes: Attributes::default(),
            length,
            requester_id: 0x300,
            tag: 3,
            last_be,
            first_be,
            address,
            four_dw: address >> 32 != 0,
        }
    }

    #[test]
    fn requests_at_the_limits_are_fine() {
        for request in [
            request(0x1000, 64, 0xF, 0xF),
            request(0x1F00, 64, 0xF, 0xF),
            request(0x1FFC, 1, 0x6, 0),
            request(0x1_0000_0000, 1, 0x9, 0),
            request(0x1008, 2, 0x5, 0xA),
            request(0x1004, 2, 0xC, 0x3),
        ] {
            assert_eq!(requester().read(&request), Ok(()));
            assert_eq!(requester().write(&request, request.length.into()), Ok(()));
        }
        assert_eq!(requester().read(&request(0x1E00, 128, 0x8, 0x1)), Ok(()));
    }

    #[test]
    fn every_broken_rule_is_named() {
        let read = |request| requester().read(&request).unwrap_err();
        assert_eq!(read(request(0, 129, 15, 15)), Violation::ReadSize(516));
        let write = requester().write(&request(0, 65, 15, 15), 65);
        assert_eq!(write, Err(Violation::PayloadSize(260)));
        let write = requester().write(&request(0, 2, 15, 15), 3);
        assert_eq!(
            write,
            Err(Violation::Data {
                words: 3,
                length: 2
            })
        );
        let page = Violation::Page {
            address: 0x1FF8,
            length: 3,
        };
        assert_eq!(read(request(0x1FF8, 3, 15, 15)), page);
        assert_eq!(read(request(0, 1, 0, 0)), Violation::ZeroLength);
        let wide = MemoryRequest {
            four_dw: true,
            ..request(0x1000, 1, 15, 0)
        };
        assert_eq!(read(wide), Violation::Wide(0x1000));
        for (address, length, first, last) in [
            (0, 1, 15, 1),
            (0, 2, 15, 0),
            (0, 2, 0, 15),
            (4, 2, 5, 15),
            (4, 2, 7, 15),
            (4, 2, 15, 14),
            (0, 3, 10, 15),
            (0, 3, 15, 11),
        ] {
            let broken = Violation::ByteEnables {
                length,
                first,
                last,
            };
            assert_eq!(read(request(address, length, first, last)), broken);
        }
        let id = MemoryRequest {
            requester_id: 1,
            ..request(0, 1, 15, 0)
        };
        assert_eq!(read(id), Violation::RequesterId(1));
        let mut poisoned = request(0, 1, 15, 0);
        poisoned.attributes.ep = true;
        assert_eq!(read(poisoned), Violation::Attributes);
        let mut off = requester();
        off.limits.bus_master = false;
        assert_eq!(off.read(&request(0, 1, 15, 0)), Err(Violation::BusMaster));
    }

    #[test]
    fn a_tag_is_used_by_one_read_at_a_time_and_has_five_bits() {
        let mut requester = requester();
        let read = request(0, 1, 15, 0);
        assert_eq!(requester.read(&read), Ok(()));
        assert_eq!(requester.read(&read), Err(Violation::TagInUse(3)));
        requester.end(3);
        assert_eq!(requester.outstanding(), 0);
        assert_eq!(requester.read(&read), Ok(()));
        let tag = |tag| MemoryRequest { tag, ..read };
        assert_eq!(requester.read(&tag(32)), Err(Violation::TagRange(32)));
        requester.limits.extended_tags = true;
        assert_eq!(requester.read(&tag(33)), Ok(()));
        assert_eq!(requester.read(&tag(256)), Err(Violation::TagRange(256)));
    }

    #[test]
    fn completions_follow_each_other_to_the_end_of_the_read() {
        let read = Outstanding::new(request(0x103C, 33, 0x8, 0x7));
        assert_eq!((read.bytes, read.lower_address), (128, 0x3F));
        let first = Completion {
            attributes: Attributes::default(),
            length: 1,
            locked: false,
            completer_id: 0,
            status: Status::Successful,
            bcm: false,
            byte_count: 128,
            requester_id: 0x300,
            tag: 3,
            lower_address: 0x3F,
        };
        let rest = check_completion(&read, &first, 1, 64).unwrap().unwrap();
        assert_eq!((rest.bytes, rest.lower_address), (127, 0x40));
        let last = Completion {
            length: 32,
            byte_count: 127,
            lower_address: 0x40,
            ..first
        };
        assert_eq!(check_completion(&rest, &last, 32, 64), Ok(None));
        let refused = Completion {
            length: 0,
            status: Status::CompleterAbort,
            ..last
        };
        assert_eq!(check_completion(&rest, &refused, 0, 64), Ok(None));

        let wrong = |completion: Completion, words| {
            check_completion(&rest, &completion, words, 64).unwrap_err()
        };
        assert_eq!(
            wrong(Completion { tag: 4, ..last }, 32),
            Violation::Unexpected(4)
        );
        assert_eq!(
            wrong(last, 31),
            Violation::Data {
                words: 31,
                length: 32
            }
        );
        assert_eq!(
            wrong(
                Completion {
                    byte_count: 126,
                    ..last
                },
                32
            ),
            Violation::ByteCount {
                got: 126,
                want: 127
            }
        );
        assert_eq!(
            wrong(
                Completion {
                    lower_address: 0,
                    ..last
                },
                32
            ),
            Violation::LowerAddress { got: 0, want: 0x40 }
        );
        assert_eq!(
            wrong(Completion { length: 8, ..last }, 8),
            Violation::Cut(8)
        );
        assert_eq!(
            wrong(Completion { length: 48, ..last }, 48),
            Violation::Cut(48)
        );
        let data = Violation::StatusData {
            status: Status::CompleterAbort,
            length: 32,
        };
        assert_eq!(
            wrong(
                Completion {
                    length: 32,
                    ..refused
                },
                32
            ),
            data
        );
        let mut class = last;
        class.attributes.tc = 1;
        assert_eq!(wrong(class, 32), Violation::CompletionAttributes);
    }
}
