//! The Verilated `switch` with its registers, one clock at a time.

use anyhow::Result;

use super::core::{Sizes, build_block};
use super::{Answer, Axil, Beat};
use crate::verilate::{Model, Port, Verilated};

/// The streams of one MAC.
#[derive(Clone, Copy, Debug)]
struct Mac {
    rx: [Port; 5],
    tx: [Port; 4],
    tx_ready: Port,
}

/// A Verilated switch.
#[derive(Debug)]
pub struct TopRtl {
    model: Model,
    macs: Vec<Mac>,
    /// The register port; its stalls and queues.
    pub axil: Axil,
    /// Beat that goes in with the next clock, by port.
    pub rx: Vec<Option<Beat>>,
    /// Whether the MAC takes a beat, by port.
    pub ready: Vec<bool>,
    /// Beat that the MAC took in the last clock, by port.
    pub tx: Vec<Option<Beat>>,
}

/// Builds `switch`.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build(sizes: Sizes, trace: bool) -> Result<Verilated> {
    build_block("switch", sizes, trace)
}

impl TopRtl {
    /// A switch after reset; its tables are being wiped.
    ///
    /// # Errors
    /// The library is no `switch`.
    pub fn new(library: &Verilated, ports: usize, seed: u64) -> Result<Self> {
        let model = library.model_with_seed(seed)?;
        let port = |name: &str, i: usize| model.port(&format!("{name}_{i}"));
        let macs: Result<Vec<Mac>> = (0..ports)
            .map(|i| {
                let rx = |f: &str| port(&format!("s_axis_rx_{f}"), i);
                let tx = |f: &str| port(&format!("m_axis_tx_{f}"), i);
                Ok(Mac {
                    rx: [
                        rx("tvalid")?,
                        rx("tdata")?,
                        rx("tkeep")?,
                        rx("tlast")?,
                        rx("tuser")?,
                    ],
                    tx: [tx("tvalid")?, tx("tdata")?, tx("tkeep")?, tx("tlast")?],
                    tx_ready: tx("tready")?,
                })
            })
            .collect();
        let mut rtl = Self {
            macs: macs?,
            axil: Axil::new(&model, seed)?,
            rx: vec![None; ports],
            ready: vec![true; ports],
            tx: vec![None; ports],
            model,
        };
        rtl.model.reset(4)?;
        Ok(rtl)
    }

    /// The model, to record a waveform or reset it.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// One clock; returns what the register port has answered.
    ///
    /// # Errors
    /// The model has stopped, or the register port breaks its protocol.
    pub fn clock(&mut self) -> Result<Vec<Answer>> {
        let m = &mut self.model;
        for ((mac, rx), ready) in self.macs.iter().zip(&self.rx).zip(&self.ready) {
            m.set(mac.rx[0], rx.is_some().into());
            if let Some(beat) = rx {
                m.set(mac.rx[1], beat.data);
                m.set(mac.rx[2], beat.keep.into());
                m.set(mac.rx[3], beat.last.into());
                m.set(mac.rx[4], beat.user.into());
            }
            m.set(mac.tx_ready, (*ready).into());
        }
        self.axil.drive(m);
        m.eval()?;
        for ((mac, ready), tx) in self.macs.iter().zip(&self.ready).zip(&mut self.tx) {
            *tx = (*ready && m.is_set(mac.tx[0])).then(|| Beat {
                data: m.get(mac.tx[1]),
                keep: m.get(mac.tx[2]) as u8,
                last: m.is_set(mac.tx[3]),
                user: false,
            });
        }
        let answers = self.axil.sample(m)?;
        m.clock()?;
        Ok(answers)
    }
}
