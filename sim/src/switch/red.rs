//! The Verilated `red_switch`: core and engines, one clock at a time.

use anyhow::Result;
use tributary_protocol::red::{Address, EngineConfig, Tree};

use super::{
    Beat,
    core::{Sizes, build_block, multicast_words, unicast_word},
};
use crate::verilate::{Model, Port, Verilated};

/// Ports of one MAC.
#[derive(Clone, Copy, Debug)]
struct PortSet {
    rx: [Port; 5],
    tx: [Port; 4],
    tx_ready: Port,
    full: Port,
    marked: Port,
    engine: Port,
    used: Port,
}

/// A Verilated reducing switch.
#[derive(Debug)]
pub struct RedRtl {
    model: Model,
    ports: Vec<PortSet>,
    tables: [Port; 6],
    /// A beat for each port, with the next clock.
    pub rx: Vec<Option<Beat>>,
    /// Whether the MAC of each port takes beats.
    pub tx_ready: Vec<bool>,
    /// The beat that each port's MAC took in the last clock.
    pub tx: Vec<Option<Beat>>,
    /// The beat that stood at each port in the last clock, taken or not.
    pub shown: Vec<Option<Beat>>,
    /// Copies dropped because a queue was full.
    pub queue_full: u64,
    /// Frames marked for congestion.
    pub ecn_marked: u64,
    /// Events of all engines, in the order of the counters from `arm_upwards` on.
    pub events: [u64; 11],
    /// Arm frames that the engine of each port has obeyed.
    pub armed: Vec<u64>,
}

/// Builds `red_switch`.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build(sizes: Sizes, trace: bool) -> Result<Verilated> {
    build_block("red_switch", sizes, trace)
}

impl RedRtl {
    /// A switch after reset: all ports and engines on, ethertype 0x88b5, all MACs ready. Port i sends its results as
    /// `addresses[i]`; the address in `config` is not used.
    ///
    /// # Errors
    /// The library is no `red_switch` of that many ports.
    pub fn new(library: &Verilated, config: &EngineConfig, addresses: &[Address]) -> Result<Self> {
        let mut model = library.model()?;
        let ports = addresses.len();
        let port = |name: &str, i: usize| model.port(&format!("{name}_{i}"));
        let sets: Result<Vec<PortSet>> = (0..ports)
            .map(|i| {
                let rx = |f: &str| port(&format!("s_axis_rx_{f}"), i);
                let tx = |f: &str| port(&format!("m_axis_tx_{f}"), i);
                Ok(PortSet {
                    rx: [
                        rx("tvalid")?,
                        rx("tdata")?,
                        rx("tkeep")?,
                        rx("tlast")?,
                        rx("tuser")?,
                    ],
                    tx: [tx("tvalid")?, tx("tdata")?, tx("tkeep")?, tx("tlast")?],
                    tx_ready: tx("tready")?,
                    full: port("ev_full", i)?,
                    marked: port("ev_marked", i)?,
                    engine: port("ev_engine", i)?,
                    used: port("used", i)?,
                })
            })
            .collect();
        let sets = sets?;
        let all = u64::MAX >> (64 - ports);
        let settings = [
            ("cfg_enabled", all),
            ("cfg_red", 1),
            ("cfg_engines", all),
            ("cfg_ethertype", 0x88b5),
            ("cfg_ieee_nan", config.mode.ieee_nan.into()),
            ("cfg_threshold_1", config.thresholds[0].into()),
            ("cfg_threshold_2", config.thresholds[1].into()),
            ("cfg_threshold_3", config.thresholds[2].into()),
            ("cfg_timeout_0", config.timeouts[0].into()),
            ("cfg_timeout_1", config.timeouts[1].into()),
            ("cfg_timeout_2", config.timeouts[2].into()),
            ("cfg_timeout_3", config.timeouts[3].into()),
        ];
        for (name, value) in settings {
            let port = model.port(name)?;
            model.set(port, value);
        }
        for (i, address) in addresses.iter().enumerate() {
            let port = model.port(&format!("cfg_address_{i}"))?;
            model.set(port, address.0.into());
        }
        let tables = [
            model.port("uc_en")?,
            model.port("uc_addr")?,
            model.port("uc_data")?,
            model.port("mc_en")?,
            model.port("mc_addr")?,
            model.port("mc_data")?,
        ];
        model.reset(4)?;
        Ok(Self {
            model,
            ports: sets,
            tables,
            rx: vec![None; ports],
            tx_ready: vec![true; ports],
            tx: vec![None; ports],
            shown: vec![None; ports],
            queue_full: 0,
            ecn_marked: 0,
            events: [0; 11],
            armed: vec![0; ports],
        })
    }

    /// Marks frames that leave a queue of more words; 0, as after reset: none.
    ///
    /// # Errors
    /// The library is no `red_switch`.
    pub fn mark_above(&mut self, words: u16) -> Result<()> {
        let port = self.model.port("cfg_ecn_words")?;
        self.model.set(port, words.into());
        Ok(())
    }

    /// The model, to record a waveform.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Writes an entry of the unicast table; takes a clock.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn write_unicast(&mut self, node: u32, port: Option<u8>) -> Result<()> {
        let [en, addr, data, ..] = self.tables;
        self.model.set(en, 1);
        self.model.set(addr, node.into());
        self.model.set(data, unicast_word(port));
        self.clock()?;
        self.model.set(en, 0);
        Ok(())
    }

    /// Writes an entry of the multicast table; takes a clock.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn write_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()> {
        let [.., en, addr, data] = self.tables;
        self.model.set(en, 1);
        self.model.set(addr, tree.into());
        let words = multicast_words(entry);
        self.model.set_wide(data, &words[..data.words()])?;
        self.clock()?;
        self.model.set(en, 0);
        Ok(())
    }

    /// Descriptors in use, all ports.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        let used = self.ports.iter().map(|p| self.model.get(p.used));
        used.map(u64::count_ones).sum()
    }

    /// One clock: `rx` goes in, `tx` is what left in it.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn clock(&mut self) -> Result<()> {
        let m = &mut self.model;
        for (i, set) in self.ports.iter().enumerate() {
            m.set(set.rx[0], self.rx[i].is_some().into());
            if let Some(beat) = self.rx[i] {
                m.set(set.rx[1], beat.data);
                m.set(set.rx[2], beat.keep.into());
                m.set(set.rx[3], beat.last.into());
                m.set(set.rx[4], beat.user.into());
            }
            m.set(set.tx_ready, self.tx_ready[i].into());
            // All outputs are registers: they show the state before the edge.
            self.shown[i] = m.is_set(set.tx[0]).then(|| Beat {
                data: m.get(set.tx[1]),
                keep: m.get(set.tx[2]) as u8,
                last: m.is_set(set.tx[3]),
                user: false,
            });
            self.tx[i] = self.shown[i].filter(|_| self.tx_ready[i]);
            self.ecn_marked += u64::from(m.is_set(set.marked));
            self.queue_full += u64::from(m.get(set.full).count_ones());
            let events = m.get(set.engine);
            self.armed[i] += events >> 5 & 1;
            for (i, sum) in self.events.iter_mut().enumerate() {
                *sum += events >> i & 1;
            }
        }
        m.clock()?;
        Ok(())
    }
}
