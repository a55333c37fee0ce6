//! What a switch is to the simulator.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use tributary_protocol::red::{Counter, Tree};

use super::describe::LinkSpec;

/// When a switch wants to be given a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActsOn {
    /// In the clock of its first word.
    FirstWord,
    /// In the clock of its last word.
    LastWord,
}

/// A frame that leaves a switch.
#[derive(Clone, Debug)]
pub struct Departure {
    /// By which port.
    pub port: u8,
    /// Clock of its first word, now or earlier.
    pub start: u64,
    /// The frame.
    pub bytes: Arc<[u8]>,
}

/// A switch of any kind.
pub trait SwitchNode: Debug + Send {
    /// A cable has been put into a port.
    ///
    /// # Errors
    /// The switch cannot be simulated with such a link.
    fn connect(&mut self, port: u8, link: LinkSpec) -> Result<()>;
    /// Writes an entry of the unicast table.
    ///
    /// # Errors
    /// The table does not reach so far.
    fn set_unicast(&mut self, node: u32, port: u8) -> Result<()>;
    /// Writes an entry of the multicast table, or clears it.
    ///
    /// # Errors
    /// The table does not reach so far, or the wait count does not fit.
    fn set_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()>;
    /// Reads a register ([`tributary_protocol::red::regs`]).
    ///
    /// # Errors
    /// There is none.
    fn read(&self, offset: u16) -> Result<u32>;
    /// Writes a register.
    ///
    /// # Errors
    /// There is none, it cannot be written, or this kind of switch cannot change it while it runs.
    fn write(&mut self, offset: u16, value: u32) -> Result<()>;
    /// When it wants its frames.
    fn acts_on(&self) -> ActsOn;
    /// A frame comes in; `damaged` if its check sequence is wrong.
    fn arrive(&mut self, port: u8, bytes: &[u8], damaged: bool, now: u64);
    /// Clock, from `now` on, at which it has something to do.
    fn wake(&self, now: u64) -> Option<u64>;
    /// Does what is to be done in this clock.
    ///
    /// # Errors
    /// The switch has broken down.
    fn run(&mut self, now: u64, leave: &mut Vec<Departure>) -> Result<()>;
    /// Descriptors in use in all engines.
    fn in_use(&self) -> usize;
    /// How often something was counted, on all ports together.
    fn count(&self, counter: Counter) -> u64;
    /// Records a waveform (FST) from now on.
    ///
    /// # Errors
    /// It has none, or the file cannot be written.
    fn start_waveform(&mut self, _: &Path) -> Result<()> {
        bail!("a model has no waveform; the RTL has")
    }
    /// Ends the waveform, if there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish_waveform(&mut self) -> Result<()> {
        Ok(())
    }
}
