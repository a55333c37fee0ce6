//! Memory of a simulated host.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tributary_host_driver::DmaMemory;
use tributary_host_driver::shared::{Event, Mapping};
use tributary_protocol::card::model::{HostMemory, Unanswered};

/// DMA memory starts at a multiple of this.
const PAGE: usize = 4_096;
/// The first bus address that is handed out.
const FIRST: u64 = 0x1_0000_0000;
/// A write here is an interrupt; its data is the vector.
pub(super) const MSI: u64 = 0xFEE0_0000;

/// What cards have done to a host's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Bytes that are allocated.
    pub allocated: usize,
    /// Accesses where nothing is, or not any more: there must be none.
    pub stray: u64,
}

/// The memory of one host that its card reaches.
pub(super) struct Memory {
    parts: BTreeMap<u64, Part>,
    next: u64,
    stats: HostStats,
    /// Writes so far, interrupts among them.
    pub written: u64,
    /// Interrupts so far, by vector.
    pub interrupts: Vec<u64>,
    /// Who is told of them in another process, by vector.
    pub events: Vec<Option<Event>>,
}

struct Part {
    pointer: NonNull<u8>,
    length: usize,
    /// Memory that another process shares, not our own.
    shared: Option<Mapping>,
}

// SAFETY: the pointers are of memory that this owns; it is used under the lock of the world, and by drivers as `Device` says.
unsafe impl Send for Memory {}

fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length, PAGE).ok()
}

impl Memory {
    pub fn new(vectors: usize) -> Self {
        Self {
            parts: BTreeMap::new(),
            next: FIRST,
            stats: HostStats::default(),
            written: 0,
            interrupts: vec![0; vectors],
            events: (0..vectors).map(|_| None).collect(),
        }
    }

    pub fn stats(&self) -> HostStats {
        self.stats
    }

    pub fn allocate(&mut self, length: usize) -> Option<DmaMemory> {
        let length = length.max(1).checked_next_multiple_of(PAGE)?;
        let layout = layout(length)?;
        // SAFETY: the layout is not empty.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // A page between two parts, so that an access over an end is one where nothing is; no address is ever used again.
        let iova = self.next;
        self.next += (length + PAGE) as u64;
        let part = Part {
            pointer,
            length,
            shared: None,
        };
        self.parts.insert(iova, part);
        self.stats.allocated += length;
        Some(DmaMemory {
            iova,
            pointer,
            length,
        })
    }

    pub fn free(&mut self, memory: &DmaMemory) {
        let Some(part) = self.parts.remove(&memory.iova) else {
            return;
        };
        self.stats.allocated -= part.length;
        part.dealloc();
    }

    /// Takes memory that another process shares; false if some of the addresses are taken.
    pub fn map(&mut self, iova: u64, mapping: Mapping) -> bool {
        let (pointer, length) = (mapping.pointer(), mapping.length());
        let Some(end) = iova.checked_add(length as u64) else {
            return false;
        };
        let before = self.parts.range(..end).next_back();
        if before.is_some_and(|(base, part)| base + part.length as u64 > iova) {
            return false;
        }
        let part = Part {
            pointer,
            length,
            shared: Some(mapping),
        };
        self.parts.insert(iova, part);
        self.stats.allocated += length;
        true
    }

    /// The other process takes its memory back; false if there is none.
    pub fn unmap(&mut self, iova: u64, length: u64) -> bool {
        let part = self.parts.get(&iova);
        let fits = part.is_some_and(|part| part.shared.is_some() && part.length as u64 == length);
        if fits && let Some(part) = self.parts.remove(&iova) {
            self.stats.allocated -= part.length;
        }
        fits
    }

    /// The other process is gone.
    pub fn unmap_all(&mut self) {
        self.parts.retain(|_, part| part.shared.is_none());
        self.stats.allocated = self.parts.values().map(|part| part.length).sum();
        self.events.fill_with(|| None);
    }

    /// Where bytes lie, if all are in one part.
    fn find(&mut self, iova: u64, length: usize) -> Result<*mut u8, Unanswered> {
        let part = self.parts.range(..=iova).next_back();
        let place = part.and_then(|(base, part)| {
            let at = (iova - base) as usize;
            let end = at.checked_add(length)?;
            // SAFETY: the offset lies in the part.
            (end <= part.length).then(|| unsafe { part.pointer.as_ptr().add(at) })
        });
        if place.is_none() {
            self.stats.stray += 1;
        }
        place.ok_or(Unanswered)
    }
}

impl Part {
    fn dealloc(self) {
        if self.shared.is_none()
            && let Some(layout) = layout(self.length)
        {
            // SAFETY: allocated with this layout; the owner has given it up.
            unsafe { dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // What drivers could not give back because their card was gone.
        for part in std::mem::take(&mut self.parts).into_values() {
            part.dealloc();
        }
    }
}

/// Drivers may look at a ring entry while it is written: words are written whole and in order, as over PCI Express.
impl HostMemory for Memory {
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered> {
        let from = self.find(iova, into.len())?;
        let (head, rest) = into.split_at_mut(from.align_offset(8).min(into.len()));
        let bytes = |into: &mut [u8], from: *mut u8| {
            for (at, byte) in into.iter_mut().enumerate() {
                // SAFETY: within the part.
                *byte = unsafe { AtomicU8::from_ptr(from.add(at)) }.load(Ordering::Relaxed);
            }
        };
        bytes(head, from);
        let mut at = head.len();
        let mut words = rest.chunks_exact_mut(8);
        for word in &mut words {
            // SAFETY: within the part and aligned.
            let value = unsafe { AtomicU64::from_ptr(from.add(at).cast()) };
            word.copy_from_slice(&value.load(Ordering::Relaxed).to_ne_bytes());
            at += 8;
        }
        // SAFETY: within the part.
        bytes(words.into_remainder(), unsafe { from.add(at) });
        Ok(())
    }

    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered> {
        self.written += 1;
        if let (MSI, Ok(data)) = (iova, <[u8; 4]>::try_from(from)) {
            let vector = u32::from_le_bytes(data) as usize;
            let count = self.interrupts.get_mut(vector).ok_or(Unanswered)?;
            *count += 1;
            if let Some(Some(event)) = self.events.get(vector) {
                event.signal();
            }
            return Ok(());
        }
        let to = self.find(iova, from.len())?;
        let (head, words) = from.split_at(to.align_offset(8).min(from.len()));
        let bytes = |to: *mut u8, from: &[u8]| {
            for (at, byte) in from.iter().enumerate() {
                // SAFETY: within the part.
                unsafe { AtomicU8::from_ptr(to.add(at)) }.store(*byte, Ordering::Release);
            }
        };
        bytes(to, head);
        let mut at = head.len();
        let mut words = words.chunks_exact(8);
        for word in &mut words {
            let mut value = [0; 8];
            value.copy_from_slice(word);
            // SAFETY: within the part and aligned.
            let place = unsafe { AtomicU64::from_ptr(to.add(at).cast()) };
            place.store(u64::from_ne_bytes(value), Ordering::Release);
            at += 8;
        }
        // SAFETY: within the part.
        bytes(unsafe { to.add(at) }, words.remainder());
        Ok(())
    }
}
