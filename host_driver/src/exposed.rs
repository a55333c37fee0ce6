//! Memory that other hosts read and write while this one does.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tributary_protocol::xud::onesided::ATOMIC_LEN;

use crate::{Buffer, Error, Remote};

/// A part of a region that others reach. There are no references to its bytes: they change at any moment.
///
/// Each byte is read and written on its own, as far as others can tell; [`Self::load`] and [`Self::store`] take 8 bytes as a whole. Atomics of others are
/// atomic to each other, not to what this host does.
#[derive(Debug)]
pub struct Exposed(Buffer);

impl Exposed {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self(buffer)
    }

    /// The memory itself, for the card.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.0
    }

    /// The memory, which others reach no longer: the card has let go of what it had for them. All of its region is closed.
    pub(crate) fn into_buffer(self) -> Result<Buffer, Error> {
        self.0.region().close()?;
        Ok(self.0)
    }

    /// Bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.0.bytes()
    }

    /// How others name it.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote {
            address: self.0.iova(),
            rkey: self.0.key(),
        }
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// Beyond the end.
    pub fn read(&self, at: usize, into: &mut [u8]) -> Result<(), Error> {
        self.check(at, into.len())?;
        let (head, rest) = into.split_at_mut(to_word(at).min(into.len()));
        let (words, tail) = rest.as_chunks_mut();
        let behind = at + head.len();
        for (offset, byte) in head.iter_mut().enumerate() {
            *byte = self.byte(at + offset).load(Ordering::Relaxed);
        }
        for (number, word) in words.iter_mut().enumerate() {
            let there = self.word_at(behind + ATOMIC_LEN * number);
            *word = there.load(Ordering::Relaxed).to_ne_bytes();
        }
        let behind = behind + ATOMIC_LEN * words.len();
        for (offset, byte) in tail.iter_mut().enumerate() {
            *byte = self.byte(behind + offset).load(Ordering::Relaxed);
        }
        Ok(())
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// Beyond the end.
    pub fn write(&self, at: usize, from: &[u8]) -> Result<(), Error> {
        self.check(at, from.len())?;
        let (head, rest) = from.split_at(to_word(at).min(from.len()));
        let (words, tail) = rest.as_chunks();
        let behind = at + head.len();
        for (offset, byte) in head.iter().enumerate() {
            self.byte(at + offset).store(*byte, Ordering::Relaxed);
        }
        for (number, word) in words.iter().enumerate() {
            let there = self.word_at(behind + ATOMIC_LEN * number);
            there.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        let behind = behind + ATOMIC_LEN * words.len();
        for (offset, byte) in tail.iter().enumerate() {
            self.byte(behind + offset).store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads 8 bytes, a little-endian number.
    ///
    /// # Errors
    /// Beyond the end, or not at a multiple of 8.
    pub fn load(&self, at: usize) -> Result<u64, Error> {
        Ok(u64::from_le(self.word(at)?.load(Ordering::Acquire)))
    }

    /// Writes 8 bytes, a little-endian number.
    ///
    /// # Errors
    /// Beyond the end, or not at a multiple of 8.
    pub fn store(&self, at: usize, value: u64) -> Result<(), Error> {
        self.word(at)?.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    fn check(&self, at: usize, bytes: usize) -> Result<(), Error> {
        let end = at.checked_add(bytes);
        if end.is_some_and(|end| end <= self.length()) {
            return Ok(());
        }
        Err(Error::Range {
            what: "end of an access to exposed memory",
            value: end.unwrap_or(usize::MAX) as u64,
            min: 0,
            max: self.length() as u64,
        })
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: whoever calls has checked that it lies in the memory, which lives as long as this; there are no references to
        // it but atomic ones.
        unsafe { AtomicU8::from_ptr(self.0.pointer().add(at)) }
    }

    fn word(&self, at: usize) -> Result<&AtomicU64, Error> {
        self.check(at, ATOMIC_LEN)?;
        if !at.is_multiple_of(ATOMIC_LEN) {
            let (value, max) = (at as u64 % 8, 0);
            return Err(Error::Range {
                what: "offset of a number, modulo 8,",
                value,
                min: 0,
                max,
            });
        }
        Ok(self.word_at(at))
    }

    fn word_at(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as above; whoever calls gives a multiple of 8, and buffers start at a multiple of 64.
        unsafe { AtomicU64::from_ptr(self.0.pointer().add(at).cast()) }
    }
}

/// Bytes from here to the next multiple of 8.
fn to_word(at: usize) -> usize {
    at.next_multiple_of(ATOMIC_LEN) - at
}
