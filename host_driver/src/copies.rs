//! Memory for copies of messages.

use crate::parts::LINE;
use crate::{Buffer, MemoryRegion};

/// Up to so many lines, buffers are kept by their size: 1 KiB.
const KEPT: usize = 16;

/// A region of an endpoint's own. Small buffers that come back are kept for the next copies, which then need neither the lock of
/// the region nor a count of its owners; they go back to it once it has no room.
pub(crate) struct Copies {
    region: MemoryRegion,
    /// Of 1, 2, ... lines.
    kept: [Vec<Buffer>; KEPT],
}

impl Copies {
    pub fn new(region: MemoryRegion) -> Self {
        let kept = Default::default();
        Self { region, kept }
    }

    /// A copy of these bytes, if there is room.
    pub fn make(&mut self, bytes: &[u8]) -> Option<Buffer> {
        let kept = self.kept.get_mut(class(bytes.len())).and_then(Vec::pop);
        let mut buffer = kept
            .or_else(|| self.region.alloc(bytes.len()))
            .or_else(|| {
                self.kept.iter_mut().for_each(Vec::clear);
                self.region.alloc(bytes.len())
            })?;
        buffer.resize(bytes.len()).ok()?;
        buffer.copy_from_slice(bytes);
        Some(buffer)
    }

    /// A copy is not needed any more.
    pub fn give(&mut self, buffer: Buffer) {
        // At the end of the region it may be shorter than its lines.
        let whole = buffer.room().is_multiple_of(LINE);
        if let Some(kept) = self.kept.get_mut(class(buffer.room()))
            && whole
        {
            kept.push(buffer);
        }
    }
}

fn class(bytes: usize) -> usize {
    bytes.saturating_sub(1) / LINE
}
