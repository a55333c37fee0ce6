//! What the driver needs of a card, wherever that is: simulated in the process, behind a socket, or on the PCI Express bus.

use std::ptr::NonNull;
use std::time::Duration;

use thiserror::Error;

/// Memory that host and card both reach.
#[derive(Clone, Copy, Debug)]
pub struct DmaMemory {
    /// Where the card finds it.
    pub iova: u64,
    /// Where the host finds it.
    pub pointer: NonNull<u8>,
    /// Bytes.
    pub length: usize,
}

/// Why a device did not do what was asked.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// Nobody is at the other end any more.
    #[error("the card is gone")]
    Gone,
    /// No memory of this size.
    #[error("no DMA memory of {0} bytes")]
    Memory(usize),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A card as the driver reaches it.
///
/// # Safety
/// What [`Device::allocate`] returns is zeroed, starts at a multiple of 4,096 for host and card, overlaps no other memory, and
/// stays valid for reads and writes from any thread until it is given to [`Device::free`].
pub unsafe trait Device: Send + Sync {
    /// Reads a register of BAR0.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn read32(&self, offset: u32) -> Result<u32, DeviceError>;

    /// Writes a register of BAR0. What the host wrote to memory before is there for the card when this write is.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError>;

    /// Memory for the card to read and write.
    ///
    /// # Errors
    /// There is none.
    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError>;

    /// Gives memory back.
    ///
    /// # Safety
    /// It came from [`Self::allocate`] of this device, and neither host nor card touches it any more.
    unsafe fn free(&self, memory: DmaMemory);

    /// Interrupts of a vector so far.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn interrupts(&self, vector: u32) -> Result<u64, DeviceError>;

    /// Waits until the interrupts of a vector are not `seen` any more, or the time is over; their number then.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn wait(&self, vector: u32, seen: u64, timeout: Duration) -> Result<u64, DeviceError>;

    /// Time of the card's world, ns: of a simulated one, simulated.
    fn now_ns(&self) -> u64;

    /// Software looked for work and found none. A simulated card goes on here.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn idle(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
