//! The Verilated `switch_core`, one clock at a time.

use anyhow::{Context, Result};
use tributary_hdl::catalog;
use tributary_protocol::red::Tree;

use super::Beat;
use crate::verilate::{BuildOptions, Model, Port, Verilated};

/// Ports of one MAC and one engine.
#[derive(Clone, Copy, Debug)]
struct PortSet {
    rx: [Port; 5],
    rx_ready: Port,
    tx: [Port; 4],
    tx_ready: Port,
    ev: [Port; 6],
    eng: [Port; 4],
    eng_room: Port,
    others: Port,
    take: Port,
    op: [Port; 4],
    red: [Port; 3],
    red_ready: Port,
}

/// What a port has reported in one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// A received frame has ended: why it was dropped, 0 if it was not.
    pub ended: Option<u8>,
    /// Disabled ports that would have got a copy of it.
    pub off: u64,
    /// Outputs whose queue was full.
    pub full: u64,
    /// A frame has left.
    pub sent: bool,
    /// A frame that leaves has been marked.
    pub marked: bool,
}

/// A word of a reduction frame towards the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineWord {
    /// The word.
    pub data: u64,
    /// First of the frame.
    pub first: bool,
    /// Its frame goes down a tree.
    pub down: bool,
}

/// What a contribution adds that is combined with the one before: its word 8 and its result code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The word.
    pub data: u64,
    /// Its result code.
    pub rc: u8,
    /// The last one.
    pub last: bool,
}

/// What a port does in one clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input {
    /// A beat from the MAC.
    pub rx: Option<Beat>,
    /// The MAC takes a beat.
    pub tx_ready: bool,
    /// The engine can take a frame that it looks at.
    pub eng_room: bool,
    /// It takes the contributions that were offered one clock ago.
    pub take: bool,
    /// A word from the engine, and whether it is the last of its frame.
    pub red: Option<(u64, bool)>,
}

/// What a port has done in one clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// A beat taken by the MAC.
    pub tx: Option<Beat>,
    /// A beat stands at the output, taken or not.
    pub shown: Option<Beat>,
    /// A word for the engine.
    pub eng: Option<EngineWord>,
    /// Two contributions or more go with the one that passes.
    pub others: bool,
    /// What one of them adds.
    pub operand: Option<Operand>,
    /// The engine's word has been taken.
    pub red_taken: bool,
    /// Events.
    pub events: Events,
}

/// A Verilated switch without registers and engines.
#[derive(Debug)]
pub struct CoreRtl {
    model: Model,
    ports: Vec<PortSet>,
    tables: [Port; 6],
    enabled: Port,
    red: Port,
    engines: Port,
    ethertype: Port,
    ecn_words: Port,
    /// What goes in with the next clock, a port each.
    pub inputs: Vec<Input>,
    /// What came out with the last clock, a port each.
    pub outputs: Vec<Output>,
}

/// Sizes of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Ports.
    pub ports: usize,
    /// Entries of the unicast table.
    pub nodes: usize,
    /// Entries of the multicast table.
    pub trees: usize,
}

/// Builds `switch_core`.
///
/// # Errors
/// The size is not on offer, or Verilator or the compiler refuses the sources.
pub fn build(sizes: Sizes, trace: bool) -> Result<Verilated> {
    build_block("switch_core", sizes, trace)
}

/// Builds a block of the catalog that has the sizes of a switch. Reads that collide with a write give complemented
/// words, so that a missing forward shows.
pub(super) fn build_block(block: &str, sizes: Sizes, trace: bool) -> Result<Verilated> {
    let choice = catalog::choose(
        block,
        &[("N", sizes.ports), ("U", sizes.nodes), ("T", sizes.trees)],
    )?;
    let design = choice
        .emit()
        .with_context(|| format!("Verilog of {choice}"))?;
    let options = BuildOptions::new(&design.top, &design.files())
        .with_trace(trace)
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).with_context(|| format!("Verilator model of {choice}"))
}

/// An entry of the unicast table as `uc_data` takes it.
pub(super) fn unicast_word(port: Option<u8>) -> u64 {
    port.map_or(0, |p| 0x40 | u64::from(p))
}

/// An entry of the multicast table as `mc_data` takes it, lowest bits first.
pub(super) fn multicast_words(entry: Option<Tree>) -> [u64; 2] {
    let word = entry.map_or(0, |e| {
        u128::from(e.wait) | u128::from(e.parent) << 20 | 1 << 26 | u128::from(e.children) << 27
    });
    [word as u64, (word >> 64) as u64]
}

impl CoreRtl {
    /// A switch after reset: ports disabled, no reduction, no marks, ethertype 0x88b5, all MACs ready, engines with room.
    ///
    /// # Errors
    /// The library is no `switch_core`.
    pub fn new(library: &Verilated, ports: usize, seed: u64) -> Result<Self> {
        let model = library.model_with_seed(seed)?;
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
                    rx_ready: rx("tready")?,
                    tx: [tx("tvalid")?, tx("tdata")?, tx("tkeep")?, tx("tlast")?],
                    tx_ready: tx("tready")?,
                    ev: [
                        port("ev_valid", i)?,
                        port("ev_reason", i)?,
                        port("ev_off", i)?,
                        port("ev_full", i)?,
                        port("ev_sent", i)?,
                        port("ev_marked", i)?,
                    ],
                    eng: [
                        port("eng_valid", i)?,
                        port("eng_data", i)?,
                        port("eng_first", i)?,
                        port("eng_down", i)?,
                    ],
                    eng_room: port("eng_room", i)?,
                    others: port("eng_others", i)?,
                    take: port("eng_take", i)?,
                    op: [
                        port("eng_op_valid", i)?,
                        port("eng_op_data", i)?,
                        port("eng_op_rc", i)?,
                        port("eng_op_last", i)?,
                    ],
                    red: [
                        port("red_valid", i)?,
                        port("red_data", i)?,
                        port("red_last", i)?,
                    ],
                    red_ready: port("red_ready", i)?,
                })
            })
            .collect();
        let table = |name: &str| model.port(name);
        let mut rtl = Self {
            ports: sets?,
            tables: [
                table("uc_en")?,
                table("uc_addr")?,
                table("uc_data")?,
                table("mc_en")?,
                table("mc_addr")?,
                table("mc_data")?,
            ],
            enabled: table("cfg_enabled")?,
            red: table("cfg_red")?,
            engines: table("cfg_engines")?,
            ethertype: table("cfg_ethertype")?,
            ecn_words: table("cfg_ecn_words")?,
            model,
            inputs: vec![
                Input {
                    tx_ready: true,
                    eng_room: true,
                    ..Input::default()
                };
                ports
            ],
            outputs: vec![Output::default(); ports],
        };
        rtl.model.set(rtl.ethertype, 0x88b5);
        rtl.model.reset(4)?;
        Ok(rtl)
    }

    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// The model, to record a waveform or reset it.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Ports that receive and send.
    pub fn enable(&mut self, mask: u64) {
        self.model.set(self.enabled, mask);
    }

    /// Parses reduction frames; `engines`: those that see them.
    pub fn reduce(&mut self, on: bool, engines: u64) {
        self.model.set(self.red, on.into());
        self.model.set(self.engines, engines);
    }

    /// Marks frames that leave a queue of more words; 0: none.
    pub fn mark_above(&mut self, words: u16) {
        self.model.set(self.ecn_words, words.into());
    }

    /// Writes an entry of the unicast table with the next clock.
    pub fn write_unicast(&mut self, node: u32, port: Option<u8>) {
        let [en, addr, data, ..] = self.tables;
        self.model.set(en, 1);
        self.model.set(addr, node.into());
        self.model.set(data, unicast_word(port));
    }

    /// Writes an entry of the multicast table with the next clock.
    ///
    /// # Errors
    /// The model's ports are not those of a switch.
    pub fn write_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()> {
        let [.., en, addr, data] = self.tables;
        self.model.set(en, 1);
        self.model.set(addr, tree.into());
        let words = multicast_words(entry);
        Ok(self.model.set_wide(data, &words[..data.words()])?)
    }

    /// One clock: `inputs` go in, `outputs` are what passed in it. Events are those of before the edge.
    ///
    /// # Errors
    /// The model has stopped.
    pub fn clock(&mut self) -> Result<()> {
        let m = &mut self.model;
        for (set, input) in self.ports.iter().zip(&self.inputs) {
            m.set(set.rx[0], input.rx.is_some().into());
            if let Some(beat) = input.rx {
                m.set(set.rx[1], beat.data);
                m.set(set.rx[2], beat.keep.into());
                m.set(set.rx[3], beat.last.into());
                m.set(set.rx[4], beat.user.into());
            }
            m.set(set.tx_ready, input.tx_ready.into());
            m.set(set.eng_room, input.eng_room.into());
            m.set(set.take, input.take.into());
            m.set(set.red[0], input.red.is_some().into());
            if let Some((data, last)) = input.red {
                m.set(set.red[1], data);
                m.set(set.red[2], last.into());
            }
        }
        m.eval()?;
        for ((set, input), output) in self.ports.iter().zip(&self.inputs).zip(&mut self.outputs) {
            debug_assert!(m.is_set(set.rx_ready));
            let shown = m.is_set(set.tx[0]).then(|| Beat {
                data: m.get(set.tx[1]),
                keep: m.get(set.tx[2]) as u8,
                last: m.is_set(set.tx[3]),
                user: false,
            });
            *output = Output {
                shown,
                tx: shown.filter(|_| input.tx_ready),
                eng: m.is_set(set.eng[0]).then(|| EngineWord {
                    data: m.get(set.eng[1]),
                    first: m.is_set(set.eng[2]),
                    down: m.is_set(set.eng[3]),
                }),
                others: m.is_set(set.others),
                operand: m.is_set(set.op[0]).then(|| Operand {
                    data: m.get(set.op[1]),
                    rc: m.get(set.op[2]) as u8,
                    last: m.is_set(set.op[3]),
                }),
                red_taken: input.red.is_some() && m.is_set(set.red_ready),
                events: Events {
                    ended: m.is_set(set.ev[0]).then(|| m.get(set.ev[1]) as u8),
                    off: m.get(set.ev[2]),
                    full: m.get(set.ev[3]),
                    sent: m.is_set(set.ev[4]),
                    marked: m.is_set(set.ev[5]),
                },
            };
        }
        m.clock()?;
        m.set(self.tables[0], 0);
        m.set(self.tables[3], 0);
        Ok(())
    }
}
