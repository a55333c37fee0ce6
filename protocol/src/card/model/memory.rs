//! Memory of the host, as the card reaches it.

use thiserror::Error;

/// An access that nobody answered, or with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("host memory did not answer")]
pub struct Unanswered;

/// Memory of the host by bus addresses. An interrupt is a write of four bytes to where the MSI-X table says.
pub trait HostMemory {
    /// Reads bytes.
    ///
    /// # Errors
    /// No memory there.
    fn read(&mut self, iova: u64, into: &mut [u8]) -> Result<(), Unanswered>;

    /// Writes bytes, in ascending order as far as others see. The card never learns whether a write arrived.
    ///
    /// # Errors
    /// No memory there.
    fn write(&mut self, iova: u64, from: &[u8]) -> Result<(), Unanswered>;
}
