//! Host memory as a device sees it: by IO virtual address, and only what is mapped.

use std::collections::{BTreeMap, HashMap};
use thiserror::Error;
use tributary_protocol::card::model::{self, Unanswered};

const PAGE: usize = 4096;

/// What a device may do with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Both.
    ReadWrite,
}

/// An access of the device outside of what is mapped for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{} of {bytes} bytes at {iova:#x} is not mapped", if *.write { "write" } else { "read" })]
pub struct Denied {
    /// First byte.
    pub iova: u64,
    /// Bytes.
    pub bytes: u64,
    /// It was a write.
    pub write: bool,
}

/// Why a range cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// No bytes, or beyond the end of the address space.
    #[error("{bytes} bytes at {iova:#x} are no range")]
    Range {
        /// First byte.
        iova: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Some of it is mapped already.
    #[error("{bytes} bytes at {iova:#x} overlap the range at {other:#x}")]
    Overlap {
        /// First byte.
        iova: u64,
        /// Bytes.
        bytes: u64,
        /// First byte of the other range.
        other: u64,
    },
}

/// Memory of a host: 64-bit addresses, only pages that were written exist, everything else reads as 0.
#[derive(Clone, Debug, Default)]
pub struct HostMemory {
    pages: HashMap<u64, Box<[u8; PAGE]>>,
    /// Last byte and access, by first byte.
    ranges: BTreeMap<u64, (u64, Access)>,
    denied: Vec<Denied>,
}

impl HostMemory {
    /// Maps a range for the device.
    ///
    /// # Errors
    /// No range, or it overlaps another.
    pub fn map(&mut self, iova: u64, bytes: u64, access: Access) -> Result<(), MapError> {
        let last = bytes.checked_sub(1).and_then(|more| iova.checked_add(more));
        let Some(last) = last else {
            return Err(MapError::Range { iova, bytes });
        };
        let below = self.ranges.range(..=last).next_back();
        if let Some((&other, _)) = below.filter(|(_, range)| range.0 >= iova) {
            return Err(MapError::Overlap { iova, bytes, other });
        }
        self.ranges.insert(iova, (last, access));
        Ok(())
    }

    /// Takes a range away again; whether there was one that begins there.
    pub fn unmap(&mut self, iova: u64) -> bool {
        self.ranges.remove(&iova).is_some()
    }

    /// Reads as software does.
    pub fn read(&self, iova: u64, bytes: &mut [u8]) {
        let mut at = iova;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE as u64) as usize;
            let (now, later) = rest.split_at_mut(rest.len().min(PAGE - offset));
            match self.pages.get(&(at / PAGE as u64)) {
                Some(page) => now.copy_from_slice(&page[offset..offset + now.len()]),
                None => now.fill(0),
            }
            at = at.wrapping_add(now.len() as u64);
            rest = later;
        }
    }

    /// Writes as software does.
    pub fn write(&mut self, iova: u64, bytes: &[u8]) {
        let mut at = iova;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(PAGE - offset));
            let page = self.pages.entry(at / PAGE as u64);
            let page = page.or_insert_with(|| Box::new([0; PAGE]));
            page[offset..offset + now.len()].copy_from_slice(now);
            at = at.wrapping_add(now.len() as u64);
            rest = later;
        }
    }

    /// A copy of a range.
    #[must_use]
    pub fn bytes(&self, iova: u64, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        self.read(iova, &mut copy);
        copy
    }

    /// Whether the device may access these bytes; if not, that is kept.
    pub fn allows(&mut self, iova: u64, bytes: u64, write: bool) -> bool {
        let wanted = if write { Access::Write } else { Access::Read };
        let mut at = iova;
        let mut left = bytes;
        while left > 0 {
            let range = self.ranges.range(..=at).next_back();
            let Some((_, &(last, _))) = range
                .filter(|(_, range)| range.0 >= at)
                .filter(|(_, range)| range.1 == wanted || range.1 == Access::ReadWrite)
            else {
                self.denied.push(Denied { iova, bytes, write });
                return false;
            };
            let here = last - at;
            if here >= left - 1 {
                break;
            }
            left -= here + 1;
            at = last + 1;
        }
        true
    }

    /// Accesses of the device that were not allowed.
    #[must_use]
    pub fn denied(&self) -> &[Denied] {
        &self.denied
    }

    /// The same, and forgets them.
    pub fn take_denied(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.denied)
    }
}

impl model::HostMemory for HostMemory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        if !self.allows(iova, into.len() as u64, false) {
            return Err(Unanswered);
        }
        Self::read(self, iova, into);
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        if !self.allows(iova, from.len() as u64, true) {
            return Err(Unanswered);
        }
        Self::write(self, iova, from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_pages_and_the_rest_is_zero() {
        let mut memory = HostMemory::default();
        let text: Vec<u8> = (0..9000).map(|i| (i % 251) as u8).collect();
        memory.write(0x7_0000_0FFF, &text);
        assert_eq!(memory.bytes(0x7_0000_0FFF, 9000), text);
        assert_eq!(memory.bytes(0x7_0000_0FFD, 3), [0, 0, 0]);
        assert_eq!(memory.bytes(5, 2), [0, 0]);
    }

    #[test]
    fn accesses_are_allowed_to_the_byte() {
        let mut memory = HostMemory::default();
        memory.map(100, 10, Access::Read).unwrap();
        memory.map(110, 10, Access::ReadWrite).unwrap();
        memory.map(u64::MAX - 1, 2, Access::Write).unwrap();
        assert!(memory.allows(100, 20, false));
        assert!(memory.allows(110, 10, true));
        assert!(memory.allows(u64::MAX, 1, true));
        assert!(memory.denied().is_empty());
        for (iova, bytes, write) in [
            (99, 1, false),
            (109, 1, true),
            (119, 2, false),
            (100, 21, false),
        ] {
            assert!(!memory.allows(iova, bytes, write));
            assert_eq!(memory.take_denied(), [Denied { iova, bytes, write }]);
        }
        assert!(memory.unmap(110));
        assert!(!memory.allows(105, 10, false));
        assert!(!memory.unmap(110));
    }

    #[test]
    fn ranges_do_not_overlap() {
        let mut memory = HostMemory::default();
        memory.map(100, 10, Access::Read).unwrap();
        for (iova, bytes) in [(109, 1), (91, 10), (90, 100), (104, 2)] {
            let overlap = MapError::Overlap {
                iova,
                bytes,
                other: 100,
            };
            assert_eq!(memory.map(iova, bytes, Access::Read), Err(overlap));
        }
        assert!(memory.map(0, 0, Access::Read).is_err());
        assert!(memory.map(u64::MAX, 2, Access::Read).is_err());
        memory.map(90, 10, Access::Read).unwrap();
        memory.map(110, 1, Access::Read).unwrap();
    }
}
