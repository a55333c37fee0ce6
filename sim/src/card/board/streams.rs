//! A board without MACs: `board_card` at its AXI4-Streams.

use anyhow::Result;
use tributary_protocol::tlp_link::wire::BOARD_ADDRESS;

use super::TIMEOUT;
use super::front::{Clocked, Front};
use super::host_end::HOST;
use crate::card::CLOCK_NS;
use crate::card::axis::AxisPorts;
use crate::switch::beats;
use crate::verilate::{Model, Port};

/// Words of a frame that may wait for the board's MAC before the host sends the next frame.
const AHEAD: usize = 8;
/// A read of host memory fails after so many units of 64 clocks: 30 ms.
const READ_TIMEOUT: u64 = 60_000;

/// The two pairs of streams.
pub(super) struct Streams {
    model: Model,
    host: AxisPorts,
    network: AxisPorts,
    /// Units again, units without room, malformed units.
    stats: [Port; 3],
}

impl Streams {
    /// A board after reset.
    ///
    /// # Errors
    /// The model is no `board_card`.
    pub fn new(mut model: Model) -> Result<Self> {
        for (name, value) in [
            ("cfg_life", 1),
            ("cfg_timeout", TIMEOUT),
            ("cfg_source", BOARD_ADDRESS),
            ("cfg_destination", HOST),
            ("cfg_read_timeout", READ_TIMEOUT),
        ] {
            let port = model.port(name)?;
            model.set(port, value);
        }
        let host = AxisPorts::new(&mut model, "s_axis_host_rx", "m_axis_host_tx")?;
        let network = AxisPorts::new(&mut model, "s_axis_rx", "m_axis_tx")?;
        model.reset(4)?;
        let stats = ["stat_again", "stat_overrun", "stat_malformed"].map(|name| model.port(name));
        let [again, overrun, malformed] = stats;
        Ok(Self {
            host,
            network,
            stats: [again?, overrun?, malformed?],
            model,
        })
    }
}

impl Front for Streams {
    fn clock(&mut self) -> Result<Clocked> {
        self.host.drive(&mut self.model);
        self.network.drive(&mut self.model);
        self.model.eval()?;
        let count = self.stats.map(|port| u64::from(self.model.is_set(port)));
        let clocked = Clocked {
            to_host: self.host.sample(&self.model)?.into_iter().collect(),
            to_network: self.network.sample(&self.model)?.into_iter().collect(),
            again: count[0],
            wrong: count[1] + count[2],
        };
        self.model.clock()?;
        Ok(clocked)
    }

    fn host_sends(&mut self, frame: &[u8], damaged: bool) {
        self.host.push(beats(frame).map(|mut beat| {
            beat.user = beat.last && damaged;
            beat
        }));
    }

    fn network_sends(&mut self, frame: &[u8]) {
        self.network.push(beats(frame));
    }

    fn host_waits(&self) -> bool {
        self.host.waiting() >= AHEAD
    }

    fn clock_ns(&self) -> u64 {
        CLOCK_NS
    }
}
