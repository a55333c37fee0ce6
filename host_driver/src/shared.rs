//! Memory and events that two processes share (Linux).

mod clock;
mod posted;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::time::Duration;

pub(crate) use clock::Clock;
pub use posted::{POSTED_BYTES, POSTED_ENTRIES, POSTED_REGION, Posted, PostedWrites, TOLD_EVERY};

/// A part of a file in memory.
#[derive(Debug)]
pub struct Mapping {
    pointer: NonNull<u8>,
    length: usize,
}

// SAFETY: memory of the process, wherever it is used from.
unsafe impl Send for Mapping {}
// SAFETY: as above; it hands out addresses only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps bytes of a file for reading and writing.
    ///
    /// # Errors
    /// The file is shorter than that, or the system refused.
    pub fn new(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        let end = offset.checked_add(length as u64);
        if length == 0 || end.is_none_or(|end| file.metadata().is_ok_and(|m| m.len() < end)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::device(file, offset, length)
    }

    /// The same of a device, whose file has no length.
    pub(crate) fn device(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let offset = offset.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping where the system likes.
        let pointer = unsafe {
            let file = file.as_raw_fd();
            libc::mmap(null_mut(), length, access, libc::MAP_SHARED, file, offset)
        };
        if pointer == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let pointer = NonNull::new(pointer.cast()).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { pointer, length })
    }

    /// Where it is.
    #[must_use]
    pub fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// Bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; its owner is gone.
        unsafe { libc::munmap(self.pointer.as_ptr().cast(), self.length) };
    }
}

/// A file of zeros that exists in memory only and can be given to another process.
///
/// # Errors
/// The system refused.
pub fn memory_file(length: usize) -> io::Result<File> {
    // SAFETY: the name ends with a zero; the descriptor is ours alone.
    let file = unsafe {
        let fd = libc::memfd_create(c"tributary".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.set_len(length as u64)?;
    Ok(file)
}

/// Counts signals across processes: an eventfd.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// An event that was never signalled.
    ///
    /// # Errors
    /// The system refused.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the descriptor is ours alone.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Counts one. A counter that is full loses it: whoever waits is awake anyhow.
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Signals since the last call.
    #[must_use]
    pub fn take(&self) -> u64 {
        let mut count = [0; 8];
        // SAFETY: room for eight bytes.
        let read = unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
        if read == 8 {
            u64::from_ne_bytes(count)
        } else {
            0
        }
    }

    /// Waits until it is signalled, or the time is over.
    pub fn wait(&self, timeout: Duration) {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let most = Duration::from_secs(1_000);
        let millis = timeout.min(most).as_micros().div_ceil(1_000) as i32;
        // SAFETY: one entry.
        unsafe { libc::poll(&raw mut poll, 1, millis) };
    }
}

impl AsRawFd for Event {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

impl From<File> for Event {
    /// An eventfd that came from another process.
    fn from(file: File) -> Self {
        Self(file.into())
    }
}
