//! Doorbells through memory that two processes share: a ring of register writes, so that none costs a message and its answer.
//!
//! One side posts, the other takes; a write that was posted before a message over the socket is done before it. Who takes may
//! sleep: it says so, looks once more, and from then on whoever posts must wake it.
//!
//! Beside the ring, whoever takes tells the time: it stands still while the taker does.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use super::{Mapping, memory_file};

/// Region of the card that holds the ring, beside those that VFIO numbers. A write to it over the socket wakes the card.
pub const POSTED_REGION: u32 = 9;
/// Bytes of the region.
pub const POSTED_BYTES: usize = 8_192;
/// First word: "TRBP" and the version of this layout. Another one is not used, and every write goes over the socket.
const VERSION: u32 = 0x5452_4201;
const ENTRIES: u32 = 512;
/// Writes that the ring has room for.
pub const POSTED_ENTRIES: usize = ENTRIES as usize;
/// Time goes on by no more than this between two tellings of it.
pub const TOLD_EVERY: Duration = Duration::from_millis(4);

/// Offsets in the region. Each side's words have a cache line of their own.
mod at {
    pub const VERSION: usize = 0;
    pub const ASLEEP: usize = 64;
    pub const POSTED: usize = 128;
    pub const TAKEN: usize = 192;
    pub const TIME: usize = 256;
    pub const ENTRIES: usize = 4_096;
}

/// What became of a write that was to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is in the ring, and the card looks.
    Seen,
    /// It is in the ring, and the card sleeps: wake it.
    Asleep,
    /// The ring is full: write over the socket.
    Full,
}

/// The ring.
#[derive(Debug)]
pub struct PostedWrites(Mapping);

impl PostedWrites {
    /// A new ring, and the file that it lies in.
    ///
    /// # Errors
    /// The system refused.
    pub fn create() -> io::Result<(Self, File)> {
        let file = memory_file(POSTED_BYTES)?;
        let ring = Self(Mapping::new(&file, 0, POSTED_BYTES)?);
        ring.tell_time(NonZeroU64::MIN);
        ring.word(at::VERSION).store(VERSION, Ordering::Release);
        Ok((ring, file))
    }

    /// The ring of another process; `None` if it has another layout.
    ///
    /// # Errors
    /// The file is too short, or the system refused.
    pub fn open(file: &File, offset: u64) -> io::Result<Option<Self>> {
        let ring = Self(Mapping::new(file, offset, POSTED_BYTES)?);
        let version = ring.word(at::VERSION).load(Ordering::Acquire);
        Ok((version == VERSION).then_some(ring))
    }

    /// Posts a write. One thread at a time.
    #[inline]
    pub fn post(&self, offset: u32, value: u32) -> Posted {
        let posted = self.word(at::POSTED);
        let number = posted.load(Ordering::Relaxed);
        let taken = self.word(at::TAKEN).load(Ordering::Acquire);
        if number.wrapping_sub(taken) >= ENTRIES {
            return Posted::Full;
        }
        let entry = u64::from(offset) << 32 | u64::from(value);
        self.entry(number).store(entry, Ordering::Relaxed);
        posted.store(number.wrapping_add(1), Ordering::Release);
        // Either the taker sees the entry in its last look, or this sees that it sleeps.
        fence(Ordering::SeqCst);
        if self.word(at::ASLEEP).load(Ordering::Relaxed) == 0 {
            Posted::Seen
        } else {
            Posted::Asleep
        }
    }

    /// The oldest write that was not taken: register and value. One thread at a time.
    #[inline]
    #[must_use]
    pub fn take(&self) -> Option<(u32, u32)> {
        let taken = self.word(at::TAKEN);
        let number = taken.load(Ordering::Relaxed);
        let posted = self.word(at::POSTED).load(Ordering::Acquire);
        if number == posted {
            return None;
        }
        if posted.wrapping_sub(number) > ENTRIES {
            // Not what a driver writes: nothing of it counts.
            taken.store(posted, Ordering::Release);
            return None;
        }
        let entry = self.entry(number).load(Ordering::Relaxed);
        taken.store(number.wrapping_add(1), Ordering::Release);
        Some(((entry >> 32) as u32, entry as u32))
    }

    /// Whether all was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let taken = self.word(at::TAKEN).load(Ordering::Relaxed);
        self.word(at::POSTED).load(Ordering::Acquire) == taken
    }

    /// Forgets what was not taken.
    pub fn clear(&self) {
        let posted = self.word(at::POSTED).load(Ordering::Acquire);
        self.word(at::TAKEN).store(posted, Ordering::Release);
    }

    /// Says whether the taker sleeps. Before it does, it looks once more ([`Self::is_empty`]).
    pub fn set_asleep(&self, asleep: bool) {
        self.word(at::ASLEEP)
            .store(asleep.into(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Tells the time of the card's world, ns, at least every [`TOLD_EVERY`].
    pub fn tell_time(&self, ns: NonZeroU64) {
        self.long(at::TIME).store(ns.get(), Ordering::Relaxed);
    }

    /// The time that was told last; `None` from a taker that tells none.
    #[must_use]
    pub fn told_time(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.long(at::TIME).load(Ordering::Relaxed))
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: an aligned word of the mapping, which both processes use as an atomic only.
        unsafe { self.0.pointer().add(at).cast().as_ref() }
    }

    #[inline]
    fn entry(&self, number: u32) -> &AtomicU64 {
        self.long(at::ENTRIES + (number % ENTRIES) as usize * 8)
    }

    #[inline]
    fn long(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.0.pointer().add(at).cast().as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_come_out_in_order_once_whoever_sleeps() {
        let (card, file) = PostedWrites::create().unwrap();
        let host = PostedWrites::open(&file, 0).unwrap().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 0..100_000 {
                    while host.post(value / 7, value) == Posted::Full {
                        std::thread::yield_now();
                    }
                }
            });
            for value in 0..100_000 {
                let got = loop {
                    if let Some(got) = card.take() {
                        break got;
                    }
                    std::thread::yield_now();
                };
                assert_eq!(got, (value / 7, value));
            }
        });
        assert!(card.is_empty());
        card.set_asleep(true);
        assert_eq!(host.post(4, 5), Posted::Asleep);
        card.set_asleep(false);
        assert_eq!(host.post(4, 6), Posted::Seen);
        card.clear();
        assert_eq!(card.take(), None);
    }

    #[test]
    fn a_full_ring_says_so_and_an_index_that_cannot_be_takes_nothing() {
        let (card, file) = PostedWrites::create().unwrap();
        let host = PostedWrites::open(&file, 0).unwrap().unwrap();
        assert!((0..ENTRIES).all(|value| host.post(0, value) == Posted::Seen));
        assert_eq!(host.post(0, 0), Posted::Full);
        host.word(at::POSTED).store(77_777, Ordering::Release);
        assert_eq!(card.take(), None);
        assert!(card.is_empty());
        host.word(at::VERSION).store(1, Ordering::Release);
        assert!(PostedWrites::open(&file, 0).unwrap().is_none());
    }
}
