//! DMA memory: protection domains, regions, buffers.
//!
//! Memory belongs to a region; a [`Buffer`] is a part of it that nobody else can reach. Posting takes the buffer and its completion
//! gives it back, so what the card owns cannot be touched or freed:
//!
//! ```compile_fail,E0382
//! # use tributary_host_driver::*;
//! fn misuse(queue: &QueuePair, mut buffer: Buffer, to: AddressHandle) {
//!     queue.post_send(SendRequest::new(1, to).buffer(buffer)).unwrap();
//!     buffer[0] = 1; // the card may be reading it
//! }
//! ```

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tributary_protocol::card::command::argument::set_region;
use tributary_protocol::card::command::{Arguments, Command, key};

use crate::context::Inner;
use crate::parts::{Part, Parts};
use crate::{Context, Device, DmaMemory, Error, Exposed};

/// Memory of a device that is given back when nobody has it any more.
pub(crate) struct Dma {
    context: Arc<Inner>,
    pub memory: DmaMemory,
    /// The card may still use it: it is not given back.
    pub lost: bool,
}

// SAFETY: the memory can be used from any thread (contract of `Device`); who may use which part is up to the owners.
unsafe impl Send for Dma {}
// SAFETY: as above; `Dma` itself hands out addresses only.
unsafe impl Sync for Dma {}

impl Dma {
    pub fn new(context: &Context, length: usize) -> Result<Self, Error> {
        let memory = context.device().allocate(length)?;
        Ok(Self {
            context: Arc::clone(&context.0),
            memory,
            lost: false,
        })
    }
}

impl Drop for Dma {
    fn drop(&mut self) {
        if !self.lost {
            // SAFETY: it came from this device, and its last owner is gone.
            unsafe { self.context.device.free(self.memory) };
        }
    }
}

/// What queue pairs and regions must share to work together.
#[derive(Clone)]
pub struct ProtectionDomain(pub(crate) Arc<Domain>);

pub(crate) struct Domain {
    pub context: Context,
    pub number: u16,
}

impl Drop for Domain {
    fn drop(&mut self) {
        self.context.0.domains.give(self.number.into());
    }
}

impl ProtectionDomain {
    /// The card that it is of.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Makes a region of so many zeroed bytes.
    ///
    /// # Errors
    /// No memory, or no region left on the card.
    pub fn reg_mr(&self, length: usize, access: Access) -> Result<MemoryRegion, Error> {
        let context = self.context();
        if length == 0 {
            let (value, max) = (0, u64::MAX);
            let what = "bytes of a region";
            return Err(Error::Range {
                what,
                value,
                min: 1,
                max,
            });
        }
        let mut dma = Dma::new(context, length)?;
        let (index, variant) = context.0.regions.take()?;
        let key = key(index, variant);
        let (base, bytes) = (dma.memory.iova, length as u64);
        let mut args = Arguments::default();
        set_region::VARIANT.put(&mut args, variant);
        set_region::LOCAL_WRITE.put(&mut args, access.local_write);
        set_region::REMOTE_WRITE.put(&mut args, access.remote_write);
        set_region::REMOTE_READ.put(&mut args, access.remote_read);
        set_region::REMOTE_ATOMIC.put(&mut args, access.remote_atomic);
        set_region::DOMAIN.put(&mut args, self.0.number);
        set_region::BASE.put(&mut args, base);
        set_region::LENGTH.put(&mut args, bytes);
        if let Err(error) = context.command(Command::SetRegion, index, &args) {
            if matches!(error, Error::Refused { .. }) {
                context.0.regions.give(index);
            } else {
                dma.lost = true;
            }
            return Err(error);
        }
        Ok(MemoryRegion(Arc::new(Region {
            domain: self.clone(),
            dma,
            length,
            index,
            key,
            access,
            free: Mutex::new(Parts::new(length)),
            closed: AtomicBool::new(false),
        })))
    }
}

/// What the card may do with a region beside reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// It may write there what it receives.
    pub local_write: bool,
    /// Others may write there, through windows of its protection domain (XUD-13).
    pub remote_write: bool,
    /// Others may read there.
    pub remote_read: bool,
    /// Others may do atomics there.
    pub remote_atomic: bool,
}

impl Access {
    /// The card only reads.
    pub const LOCAL_READ: Self = Self {
        local_write: false,
        remote_write: false,
        remote_read: false,
        remote_atomic: false,
    };
    /// The card reads and writes.
    pub const LOCAL_WRITE: Self = Self {
        local_write: true,
        ..Self::LOCAL_READ
    };
    /// Others write.
    pub const REMOTE_WRITE: Self = Self {
        remote_write: true,
        ..Self::LOCAL_READ
    };
    /// Others read.
    pub const REMOTE_READ: Self = Self {
        remote_read: true,
        ..Self::LOCAL_READ
    };
    /// Others do atomics.
    pub const REMOTE_ATOMIC: Self = Self {
        remote_atomic: true,
        ..Self::LOCAL_READ
    };

    fn is_remote(self) -> bool {
        self.remote_write || self.remote_read || self.remote_atomic
    }
}

impl std::ops::BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            local_write: self.local_write || other.local_write,
            remote_write: self.remote_write || other.remote_write,
            remote_read: self.remote_read || other.remote_read,
            remote_atomic: self.remote_atomic || other.remote_atomic,
        }
    }
}

/// Memory that the card can reach. It lives as long as its handles and its buffers.
#[derive(Clone)]
pub struct MemoryRegion(Arc<Region>);

struct Region {
    domain: ProtectionDomain,
    dma: Dma,
    length: usize,
    index: u32,
    key: u32,
    access: Access,
    /// Parts that no buffer has.
    free: Mutex<Parts>,
    /// The card does not know it any more.
    closed: AtomicBool,
}

impl Drop for Region {
    fn drop(&mut self) {
        // Nobody knows what the card still does with one that it does not let go of.
        self.dma.lost = self.close().is_err();
    }
}

impl Region {
    fn close(&self) -> Result<(), Error> {
        if !self.closed.load(Ordering::Acquire) {
            let context = self.domain.context();
            context.command(Command::ClearRegion, self.index, &Arguments::default())?;
            if !self.closed.swap(true, Ordering::AcqRel) {
                context.0.regions.give(self.index);
            }
        }
        Ok(())
    }
}

impl MemoryRegion {
    /// Its bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.0.length
    }

    /// What the card may do.
    #[must_use]
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// Key that others name it by.
    #[must_use]
    pub fn rkey(&self) -> u32 {
        self.0.key
    }

    /// The card lets go of it, and its memory stays: the key means nothing any more. Whoever calls has the only part of it.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.0.close()
    }

    /// A part of it that nobody else has; `None` if there is no such part free, or if others reach the region: then there is
    /// [`Self::expose`]. It is free again when the buffer is dropped.
    #[must_use]
    pub fn alloc(&self, length: usize) -> Option<Buffer> {
        (!self.access().is_remote()).then(|| self.part(length))?
    }

    /// A part of it for others to read or write; `None` if there is no such part free, or if no others reach the region.
    #[must_use]
    pub fn expose(&self, length: usize) -> Option<Exposed> {
        let part = self.access().is_remote().then(|| self.part(length))?;
        part.map(Exposed::new)
    }

    fn part(&self, length: usize) -> Option<Buffer> {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let part = free.take(length)?;
        drop(free);
        Some(Buffer {
            region: Self(Arc::clone(&self.0)),
            part,
            length,
        })
    }
}

/// Bytes of a region that belong to whoever has this.
pub struct Buffer {
    region: MemoryRegion,
    part: Part,
    length: usize,
}

impl Buffer {
    /// The region that it is part of.
    #[must_use]
    pub fn region(&self) -> &MemoryRegion {
        &self.region
    }

    /// Makes it shorter or, up to what it was allocated with, longer.
    ///
    /// # Errors
    /// Longer than that.
    pub fn resize(&mut self, length: usize) -> Result<(), Error> {
        if length > self.part.bytes {
            return Err(Error::Range {
                what: "bytes of the buffer",
                value: length as u64,
                min: 0,
                max: self.part.bytes as u64,
            });
        }
        self.length = length;
        Ok(())
    }

    /// Where the card finds it.
    pub(crate) fn iova(&self) -> u64 {
        self.region.0.dma.memory.iova + self.part.offset as u64
    }

    pub(crate) fn key(&self) -> u32 {
        self.region.0.key
    }

    pub(crate) fn is_in(&self, domain: &ProtectionDomain) -> bool {
        Arc::ptr_eq(&self.region.0.domain.0, &domain.0)
    }

    pub(crate) fn writable(&self) -> bool {
        self.region.0.access.local_write
    }

    /// Bytes that it can be as long as.
    pub(crate) fn room(&self) -> usize {
        self.part.bytes
    }

    /// Its length, without a reference to its bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.length
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: the offset lies in the region's memory.
        unsafe {
            let memory = self.region.0.dma.memory.pointer.as_ptr();
            memory.add(self.part.offset)
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let free = &self.region.0.free;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        free.give(self.part);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: initialised memory that lives as long as the region, and no other buffer has any of it. The card writes to
        // it only while it is posted, and then it is the driver's.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.length) }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (offset, length) = (self.part.offset, self.length);
        write!(
            f,
            "Buffer({length} bytes at {offset} of region {:#x})",
            self.key()
        )
    }
}

impl Context {
    pub(crate) fn device(&self) -> &dyn Device {
        &*self.0.device
    }
}
