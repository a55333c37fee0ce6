//! Where frames enter and leave a board.

use anyhow::Result;

/// What left a board in a clock, and what it counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocked {
    /// Frames for the host.
    pub to_host: Vec<Vec<u8>>,
    /// Frames for the network.
    pub to_network: Vec<Vec<u8>>,
    /// Times that units were sent again, units that were malformed or had no room: as far as the board says so.
    pub again: u64,
    pub wrong: u64,
}

/// A Verilated board with its clocks, and all that is between its ports and whole frames.
pub(super) trait Front: Send {
    /// One clock of the core.
    ///
    /// # Errors
    /// The model fails, or what leaves the board is no frame.
    fn clock(&mut self) -> Result<Clocked>;

    /// A frame from the host, `damaged` if its FCS is to be wrong.
    fn host_sends(&mut self, frame: &[u8], damaged: bool);

    /// A frame from the network.
    fn network_sends(&mut self, frame: &[u8]);

    /// The next frame from the host would have to wait.
    fn host_waits(&self) -> bool;

    /// Length of a clock of the core.
    fn clock_ns(&self) -> u64;
}
