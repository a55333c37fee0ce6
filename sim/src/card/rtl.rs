//! A Verilated card behind its root complex.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use tributary_hdl::catalog;
use tributary_protocol::card::model::{HostMemory, Unanswered};

use super::{NetworkConfig, Node, SimDevice, network_of};
use crate::pcie::{Config, RootComplex};
use crate::switch::{Beat, Sink, Source};
use crate::testbench::stall::{Profile, Stalls};
use crate::verilate::{BuildOptions, Model, Port, Verilated};

/// Length of a clock, ns.
pub const CLOCK_NS: u64 = 8;
/// Clocks after which a register read that is not answered is given up; reads as ones, as on a bus.
const READ_CLOCKS: u32 = 10_000;
/// A read of host memory fails after so many units of 64 clocks: 10 ms.
const READ_TIMEOUT: u64 = 19_531;

/// Sizes of a Verilated card, as the catalog offers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardSizes {
    /// Queue pairs.
    pub qps: usize,
    /// Regions.
    pub regions: usize,
    /// Requests in flight.
    pub in_flight: usize,
    /// Bulk transfers that it sends at once; 0 without the engines of bulk transfers.
    pub transfers: usize,
    /// Packets of a window of those that it receives.
    pub window: usize,
}

impl CardSizes {
    /// A card of the default sizes with bulk transfers.
    #[must_use]
    pub fn bulk() -> Self {
        Self {
            transfers: 16,
            ..Self::default()
        }
    }
}

impl Default for CardSizes {
    /// Those of the preset `sim`.
    fn default() -> Self {
        Self {
            qps: 16,
            regions: 32,
            in_flight: 64,
            transfers: 0,
            window: 64,
        }
    }
}

impl CardSizes {
    /// Builds the card with Verilator.
    ///
    /// # Errors
    /// The size is not on offer, or Verilator or the compiler refuses the sources.
    pub fn build(self, trace: bool) -> Result<Verilated> {
        let mut sizes = vec![("Q", self.qps), ("R", self.regions), ("F", self.in_flight)];
        let mut block = "card";
        if self.transfers > 0 {
            block = "bulk_card";
            sizes.extend([("S", self.transfers), ("W", self.window)]);
        }
        let choice = catalog::choose(block, &sizes)?;
        let design = choice
            .emit()
            .with_context(|| format!("Verilog of {choice}"))?;
        let options = BuildOptions::new(&design.top, &design.files())
            .with_trace(trace)
            .with_random_init(true)
            .with_checks();
        Verilated::build(&options).with_context(|| format!("Verilator model of {choice}"))
    }
}

/// Hosts with Verilated cards joined by links, each behind a root complex of the kind and with a seed of its own: the seed of
/// `root`, one more, and so on. Of `config.card`, nothing counts.
///
/// # Errors
/// As [`CardSizes::build`] and [`network_of`].
pub fn network_rtl(
    config: &NetworkConfig,
    sizes: CardSizes,
    root: Config,
) -> Result<Vec<SimDevice>> {
    let library = sizes.build(false)?;
    let nodes = (0..u64::from(config.nodes)).map(|node| {
        let root = Config {
            seed: root.seed.wrapping_add(node),
            ..root.clone()
        };
        let node = RtlNode::new(&library, root)?;
        Ok(Box::new(node) as Box<dyn Node>)
    });
    network_of(config, nodes.collect::<Result<_>>()?)
}

/// A Verilated card, clock by clock; its host answers after `Config::latency` clocks, and its MAC is always ready unless
/// [`stall_line`](Self::stall_line) says otherwise.
pub struct RtlNode {
    model: Model,
    root: RootComplex,
    /// rx: tvalid, tdata, tkeep, tlast; tx: the same.
    rx: [Port; 4],
    tx: [Port; 4],
    tx_ready: Port,
    /// When the MAC takes a word.
    line: Stalls,
    flr: Port,
    read_timeout: Port,
    source: Source,
    sink: Sink,
    frames: VecDeque<Vec<u8>>,
    clocks: u64,
    /// Of these, those of `step`. The clocks of a register read are none of the network's time: else a driver that looks at a
    /// register again and again would leave the card no clock in which its host serves it.
    stepped: u64,
    /// What stopped the card, or the rules that it broke.
    broken: Option<String>,
}

impl RtlNode {
    /// A card after reset.
    ///
    /// # Errors
    /// The library is no card.
    pub fn new(library: &Verilated, config: Config) -> Result<Self> {
        let mut model = library.model_with_seed(config.seed)?;
        let port = |model: &Model, name: &str| model.port(name);
        let ends = ["tvalid", "tdata", "tkeep", "tlast"];
        let axis = |model: &Model, name: &str| -> Result<[Port; 4]> {
            let ports = ends.map(|end| model.port(&format!("{name}_{end}")));
            let [valid, data, keep, last] = ports;
            Ok([valid?, data?, keep?, last?])
        };
        let line = Stalls::new(Profile::Free, config.seed, 1).stream(1);
        let root = RootComplex::new(&mut model, config)?;
        for (name, value) in [
            ("msix_enable", 1),
            ("msix_mask", 0),
            ("cfg_write_returns", 0),
            ("s_axis_rx_tuser", 0),
            ("s_axis_rx_tvalid", 0),
            ("m_axis_tx_tready", 1),
        ] {
            let port = port(&model, name)?;
            model.set(port, value);
        }
        let read_timeout = port(&model, "cfg_read_timeout")?;
        model.set(read_timeout, READ_TIMEOUT);
        model.reset(4)?;
        Ok(Self {
            rx: axis(&model, "s_axis_rx")?,
            tx: axis(&model, "m_axis_tx")?,
            tx_ready: port(&model, "m_axis_tx_tready")?,
            line,
            flr: port(&model, "flr")?,
            read_timeout,
            root,
            model,
            source: Source::default(),
            sink: Sink::default(),
            frames: VecDeque::new(),
            clocks: 0,
            stepped: 0,
            broken: None,
        })
    }

    /// The host's end of the link.
    pub fn root(&mut self) -> &mut RootComplex {
        &mut self.root
    }

    /// The model, to record a waveform.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Clocks after which a read of host memory fails, in units of 64; 10 ms unless set.
    pub fn set_read_timeout(&mut self, units: u64) {
        self.model.set(self.read_timeout, units);
    }

    /// When the MAC takes words from the card.
    pub fn stall_line(&mut self, profile: Profile) {
        self.line.set(profile);
    }

    /// Whether the host lets the card send requests: bit 2 of the Command register.
    pub fn set_bus_master(&mut self, on: bool) {
        self.root.config.limits.bus_master = on;
        self.root.configure(&mut self.model);
    }

    /// Whether a write is done only when the sequence numbers of its TLPs have returned. Before the first clock.
    ///
    /// # Errors
    /// The card has no such input.
    pub fn set_write_returns(&mut self, on: bool) -> Result<()> {
        let port = self.model.port("cfg_write_returns")?;
        self.model.set(port, on.into());
        Ok(())
    }

    /// A frame has begun to leave, or has left and was not fetched.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.sink.is_within() || !self.frames.is_empty()
    }

    /// Clocks since reset.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.clocks
    }

    /// Why the card runs no more, if it does not: a check in its Verilog or a rule of the bus.
    pub fn stopped(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Resets the function: a pulse of one clock.
    pub fn function_reset(&mut self, memory: &mut dyn HostMemory) {
        self.root.function_reset(&mut self.model, true);
        self.clock(Some(&mut *memory));
        self.root.function_reset(&mut self.model, false);
        let flr = self.flr;
        self.model.set(flr, 0);
    }

    /// One clock. Without memory the host answers no read and takes no write.
    pub fn clock(&mut self, memory: Option<&mut dyn HostMemory>) {
        if self.broken.is_some() {
            return;
        }
        if let Err(error) = self.try_clock(memory) {
            self.broken = Some(format!("clock {}: {error:#}", self.clocks));
        }
    }

    fn try_clock(&mut self, mut memory: Option<&mut dyn HostMemory>) -> Result<()> {
        self.clocks += 1;
        let model = &mut self.model;
        let beat = self.source.front();
        model.set(self.rx[0], beat.is_some().into());
        if let Some(beat) = beat {
            model.set(self.rx[1], beat.data);
            model.set(self.rx[2], beat.keep.into());
            model.set(self.rx[3], beat.last.into());
            self.source.pop();
        }
        self.line.clock();
        let ready = self.line.ready(0);
        model.set(self.tx_ready, ready.into());
        // What is lent twice is lent anew.
        let lent = memory
            .as_mut()
            .map(|memory| &mut **memory as &mut dyn HostMemory);
        self.root.drive_with(model, lent)?;
        model.eval()?;
        match memory {
            Some(memory) => self.root.sample_with(model, memory)?,
            None => self.root.sample_with(model, &mut Nowhere)?,
        }
        let offered = model.is_set(self.tx[0]).then(|| Beat {
            data: model.get(self.tx[1]),
            keep: model.get(self.tx[2]) as u8,
            last: model.is_set(self.tx[3]),
            user: false,
        });
        self.line
            .observe(0, offered.is_some(), offered.is_some_and(|beat| beat.last));
        if let Some(beat) = offered.filter(|_| ready)
            && let Some(frame) = self.sink.take(beat).map_err(anyhow::Error::msg)?
        {
            self.frames.push_back(frame);
        }
        model.clock()?;
        Ok(())
    }
}

/// No write is taken while there is no memory, so nothing ever gets here.
struct Nowhere;

impl HostMemory for Nowhere {
    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), Unanswered> {
        Err(Unanswered)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Unanswered> {
        Err(Unanswered)
    }
}

impl Node for RtlNode {
    fn is_slow(&self) -> bool {
        true
    }

    fn read32(&mut self, offset: u32) -> u32 {
        if self.broken.is_some() {
            return u32::MAX;
        }
        let ticket = self.root.bar_read(offset.into(), 4);
        for _ in 0..READ_CLOCKS {
            self.clock(None);
            if let Some(answer) = self.root.answer(ticket) {
                return answer
                    .bytes
                    .first_chunk()
                    .map_or(u32::MAX, |word| u32::from_le_bytes(*word));
            }
        }
        u32::MAX
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.root.bar_write(offset.into(), &value.to_le_bytes());
    }

    fn step(&mut self, memory: &mut dyn HostMemory, now: u64) {
        while self.stepped * CLOCK_NS < now && self.broken.is_none() {
            self.clock(Some(&mut *memory));
            self.stepped += 1;
        }
    }

    fn receive_frame(&mut self, frame: &[u8], _: u64) {
        self.source.push(frame);
    }

    fn next_frame(&mut self, _: u64) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    fn check(&self) -> Result<()> {
        if let Some(broken) = &self.broken {
            anyhow::bail!("{broken}");
        }
        self.root.check()
    }
}
