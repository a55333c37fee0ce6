//! A whole board from pad to pad: `board_nic` between two PHYs.

use anyhow::Result;

use super::front::{Clocked, Front};
use super::rgmii::Rgmii;
use crate::verilate::{Model, Port};

/// Half periods of the clocks in femtoseconds: core, what is sent, and what comes from the PHYs, whose crystals are 100 ppm
/// off either way.
const HALF: [u64; 4] = [5_000_000, 4_000_000, 4_000_400, 3_999_600];
const CORE: usize = 0;
const SENT: usize = 1;
/// Bytes of a frame that may wait for the line before the host sends the next frame.
const AHEAD: usize = 64;
/// Clocks of reset: 8 of the slowest clock and more.
const RESET: u64 = 32;

/// The board between its PHYs. Nothing answers at MDIO: a board works with PHYs that it cannot set up.
pub(super) struct Pads {
    model: Model,
    clk: Port,
    tx_clk: Port,
    /// To the network and to the host.
    phys: [Rgmii; 2],
    next: [u64; 4],
    high: [bool; 4],
    came: Clocked,
}

impl Pads {
    /// A board after reset.
    ///
    /// # Errors
    /// The model is no `board_nic`.
    pub fn new(mut model: Model, phase: u64) -> Result<Self> {
        for name in ["p0_mdio_i", "p1_mdio_i"] {
            let port = model.port(name)?;
            model.set(port, 1);
        }
        let rst = model.port("rst")?;
        model.set(rst, 1);
        let mut pads = Self {
            clk: model.port("clk")?,
            tx_clk: model.port("tx_clk")?,
            phys: [Rgmii::new(&model, "p0")?, Rgmii::new(&model, "p1")?],
            next: [0, 3, 7, 11].map(|step| phase.wrapping_mul(step) % HALF[0]),
            high: [false; 4],
            came: Clocked::default(),
            model,
        };
        for _ in 0..RESET {
            pads.clock()?;
        }
        pads.model.set(rst, 0);
        Ok(pads)
    }

    /// The next edge of any clock; whether it was a rising one of the core.
    fn edge(&mut self) -> Result<bool> {
        let which = (0..4).min_by_key(|&i| self.next[i]).unwrap_or(CORE);
        self.next[which] += HALF[which];
        self.high[which] = !self.high[which];
        let rising = self.high[which];
        match which {
            CORE => {
                self.model.set(self.clk, rising.into());
                // Nothing is clocked by the other edge.
                if rising {
                    self.model.eval()?;
                }
            }
            SENT => {
                self.model.set(self.tx_clk, rising.into());
                self.model.eval()?;
                let [network, host] = &mut self.phys;
                self.came
                    .to_network
                    .extend(network.sent_edge(&self.model, rising)?);
                self.came
                    .to_host
                    .extend(host.sent_edge(&self.model, rising)?);
            }
            phy => {
                self.phys[phy - 2].receive_edge(&mut self.model, rising);
                self.model.eval()?;
            }
        }
        Ok(which == CORE && rising)
    }
}

impl Front for Pads {
    fn clock(&mut self) -> Result<Clocked> {
        while !self.edge()? {}
        Ok(std::mem::take(&mut self.came))
    }

    fn host_sends(&mut self, frame: &[u8], damaged: bool) {
        self.phys[1].send(frame, damaged);
    }

    fn network_sends(&mut self, frame: &[u8]) {
        self.phys[0].send(frame, false);
    }

    fn host_waits(&self) -> bool {
        self.phys[1].waiting() >= AHEAD
    }

    fn clock_ns(&self) -> u64 {
        2 * HALF[CORE] / 1_000_000
    }
}
