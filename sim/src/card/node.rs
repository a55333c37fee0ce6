//! A card of the simulation.

use anyhow::Result;
use tributary_protocol::card::model::{CardModel, HostMemory};

/// A card: registers on one side, frames on the other, host memory through what each step is given. Time is in nanoseconds.
pub trait Node: Send {
    /// Reads a register of BAR0.
    fn read32(&mut self, offset: u32) -> u32;

    /// Writes a register of BAR0.
    fn write32(&mut self, offset: u32, value: u32);

    /// Works until `now`. Interrupts are writes to the address that the MSI-X table names.
    fn step(&mut self, memory: &mut dyn HostMemory, now: u64);

    /// A frame has arrived.
    fn receive_frame(&mut self, frame: &[u8], now: u64);

    /// The next frame that leaves.
    fn next_frame(&mut self, now: u64) -> Option<Vec<u8>>;

    /// Until when nothing happens in it unless a register is written or a frame arrives, ns: 0 if there is something to do now,
    /// `u64::MAX` if never by itself; nothing if it cannot tell.
    fn quiet_until(&self) -> Option<u64> {
        None
    }

    /// Whether its clocks are worth a thread.
    fn is_slow(&self) -> bool {
        false
    }

    /// Whether the card kept every rule of its buses so far.
    ///
    /// # Errors
    /// The rules that it broke.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The card, if it is the model: for tests that look inside.
    fn as_model(&self) -> Option<&CardModel> {
        None
    }
}

impl Node for CardModel {
    fn read32(&mut self, offset: u32) -> u32 {
        self.read(offset)
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.write(offset, value);
    }

    fn step(&mut self, memory: &mut dyn HostMemory, now: u64) {
        Self::step(self, memory, now);
    }

    fn receive_frame(&mut self, frame: &[u8], now: u64) {
        Self::receive_frame(self, frame, now);
    }

    fn next_frame(&mut self, now: u64) -> Option<Vec<u8>> {
        Self::next_frame(self, now)
    }

    fn quiet_until(&self) -> Option<u64> {
        Some(Self::quiet_until(self))
    }

    fn as_model(&self) -> Option<&CardModel> {
        Some(self)
    }
}
