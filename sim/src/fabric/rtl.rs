//! A switch as Verilated RTL: `red_switch`, clock by clock, with MACs at its ports.

use std::collections::{BTreeMap, VecDeque, btree_map::Entry};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tributary_protocol::red::{
    Counter, PortSettings, Switch, SwitchConfig, Tree, regs, wire::FRAME_LEN,
};

use super::describe::{Fabric, LinkSpec, SwitchSpec};
use super::node::{ActsOn, Departure, SwitchNode};
use super::simulator::TableBits;
use super::timing::words;
use crate::switch::{Beat, RedRtl, Sink, beats, core::Sizes, red};
use crate::testbench::{Profile, Stalls};
use crate::verilate::Verilated;

/// Ports of the sizes that are on offer.
const PORTS: [usize; 5] = [4, 8, 16, 32, 64];
/// Entries of the unicast and of the multicast table of the sizes that are on offer, log2; the last with any number of ports.
const TABLES: [(u8, u8); 2] = [(6, 6), (12, 13)];
/// Descriptors of the RTL's engines.
const DESCRIPTORS: usize = 8;
/// Counter of the first of the engines' events.
const FIRST_EVENT: usize = Counter::ArmUpwards as usize;

/// What stands between a port and its cable.
#[derive(Debug)]
struct Mac {
    link: LinkSpec,
    /// Words on their way in, with the clock of each.
    incoming: VecDeque<(u64, Beat)>,
    sink: Sink,
    /// Clock from which the next word is taken.
    free_at: u64,
}

/// A switch as RTL.
#[derive(Debug)]
pub struct RtlSwitch {
    rtl: RedRtl,
    macs: Vec<Mac>,
    /// When the MACs take words, beside the pace of their cables. They collect a frame before they send it.
    stalls: Stalls,
    /// Its registers.
    file: Switch,
    /// Clock that comes next.
    next: u64,
}

impl RtlSwitch {
    /// A switch of a fabric, ports enabled, on a library of the size it needs.
    ///
    /// # Errors
    /// The library is of another size, or the engines are not as the RTL has them.
    pub fn new(
        library: &Verilated,
        index: usize,
        spec: &SwitchSpec,
        bits: TableBits,
    ) -> Result<Self> {
        ensure!(
            spec.engine.descriptors == DESCRIPTORS,
            "{} descriptors; the RTL has {DESCRIPTORS}",
            spec.engine.descriptors
        );
        let ports = ports(spec)?;
        let addresses: Vec<_> = (0..ports)
            .map(|port| Fabric::port_address(index, port as u8))
            .collect();
        let mut rtl = RedRtl::new(library, &spec.engine, &addresses)?;
        if !spec.engines {
            let engines = rtl.model().port("cfg_engines")?;
            rtl.model().set(engines, 0);
        }
        rtl.mark_above(spec.ecn_words)?;
        let mac = || Mac {
            link: LinkSpec::default(),
            incoming: VecDeque::new(),
            sink: Sink::default(),
            free_at: 0,
        };
        Ok(Self {
            rtl,
            macs: (0..spec.ports).map(|_| mac()).collect(),
            stalls: Stalls::new(Profile::Free, 0, spec.ports.into()),
            file: registers(index, spec, bits)?,
            next: 0,
        })
    }

    /// The same with MACs that stall.
    #[must_use]
    pub fn stalled(mut self, stalls: Stalls) -> Self {
        self.stalls = stalls;
        self
    }

    /// A write takes a clock of the switch and none of the fabric: no word passes in it.
    fn pause(&mut self) {
        self.rtl.rx.fill(None);
        self.rtl.tx_ready.fill(false);
    }
}

/// The registers of a switch of a fabric, ports enabled.
fn registers(index: usize, spec: &SwitchSpec, bits: TableBits) -> Result<Switch> {
    let mut file = Switch::new(SwitchConfig {
        ports: spec.ports,
        unicast_bits: bits.unicast,
        multicast_bits: bits.multicast,
        engine: spec.engine,
    })?;
    for port in 0..spec.ports {
        let settings = PortSettings {
            enable: true,
            engine: spec.engines,
            address: Fabric::port_address(index, port),
        };
        file.set_port(port, settings)?;
    }
    file.set_ecn_threshold(spec.ecn_words);
    Ok(file)
}

/// Ports of the smallest size that has enough.
fn ports(spec: &SwitchSpec) -> Result<usize> {
    let fits = PORTS.into_iter().find(|n| *n >= spec.ports.into());
    fits.with_context(|| format!("{} ports; the RTL has up to 64", spec.ports))
}

/// The size of RTL for a switch and its tables.
///
/// # Errors
/// There is none so large.
pub fn size(spec: &SwitchSpec, bits: TableBits) -> Result<Sizes> {
    let ports = ports(spec)?;
    let fits =
        |(unicast, multicast): &&(u8, u8)| *unicast >= bits.unicast && *multicast >= bits.multicast;
    // The largest sizes come with the largest tables only.
    let offered = if ports > 16 {
        &TABLES[1..]
    } else {
        &TABLES[..]
    };
    let (unicast, multicast) = offered.iter().find(fits).with_context(|| {
        format!(
            "tables of 2^{} nodes and 2^{} trees; the RTL has up to 2^12 and 2^13",
            bits.unicast, bits.multicast
        )
    })?;
    Ok(Sizes {
        ports,
        nodes: 1 << unicast,
        trees: 1 << multicast,
    })
}

/// The sizes of switches that a fabric has needed so far: each is compiled once.
#[derive(Default)]
pub(super) struct Libraries(BTreeMap<(usize, usize, usize), Verilated>);

impl Libraries {
    /// The library for a switch; with `trace`, it can record waveforms.
    pub fn of(&mut self, spec: &SwitchSpec, bits: TableBits, trace: bool) -> Result<&Verilated> {
        let sizes = size(spec, bits)?;
        let key = (sizes.ports, sizes.nodes, sizes.trees);
        Ok(match self.0.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(red::build(sizes, trace)?),
        })
    }
}

impl SwitchNode for RtlSwitch {
    /// Frames are handed on whole once their last word has left, so a cable must be at least as long as a frame.
    fn connect(&mut self, port: u8, link: LinkSpec) -> Result<()> {
        let least = words(FRAME_LEN) * link.clocks_per_word;
        ensure!(
            link.latency_clocks >= least,
            "port {port}: latency_clocks = {}; beside RTL it is at least {least}, the length of a frame",
            link.latency_clocks
        );
        if let Some(mac) = self.macs.get_mut(usize::from(port)) {
            mac.link = link;
        }
        Ok(())
    }

    fn set_unicast(&mut self, node: u32, port: u8) -> Result<()> {
        self.pause();
        self.rtl.write_unicast(node, Some(port))
    }

    fn set_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()> {
        self.pause();
        self.rtl.write_multicast(tree, entry)
    }

    fn read(&self, offset: u16) -> Result<u32> {
        Ok(self.file.read(offset)?)
    }

    /// `red_switch` stands without its register block here: the block's model takes the write, and what it commits goes to the
    /// ports of the tables; the threshold for marks goes to its port.
    fn write(&mut self, offset: u16, value: u32) -> Result<()> {
        let before = self.file.read(offset)?;
        self.file.write(offset, value)?;
        if offset == regs::UNICAST_COMMIT.offset {
            let entry = self.file.read(regs::UNICAST_ENTRY.offset)?;
            let valid = regs::UNICAST_VALID.get(entry) == 1;
            let port = valid.then_some(regs::UNICAST_PORT.get(entry) as u8);
            self.pause();
            return self.rtl.write_unicast(regs::UNICAST_INDEX.get(value), port);
        }
        if offset == regs::MULTICAST_COMMIT.offset {
            let entry = self.file.read(regs::MULTICAST_ENTRY.offset)?;
            let [low, high] = [regs::MULTICAST_CHILDREN_LOW, regs::MULTICAST_CHILDREN_HIGH]
                .map(|half| self.file.read(half.offset));
            let tree = Tree {
                parent: regs::MULTICAST_PARENT.get(entry) as u8,
                children: u64::from(low?) | u64::from(high?) << 32,
                wait: regs::MULTICAST_WAIT.get(entry),
            };
            let valid = regs::MULTICAST_VALID.get(entry) == 1;
            self.pause();
            let index = regs::MULTICAST_INDEX.get(value) as u16;
            return self.rtl.write_multicast(index, valid.then_some(tree));
        }
        if offset == regs::ECN_THRESHOLD.offset {
            return self
                .rtl
                .mark_above(regs::ECN_THRESHOLD_WORDS.get(value) as u16);
        }
        let staged = (regs::UNICAST_ENTRY.offset..=regs::MULTICAST_ENTRY.offset).contains(&offset);
        ensure!(
            staged || self.file.read(offset)? == before,
            "register {offset:#x}: settings of the engines of a Verilated switch of a fabric are fixed"
        );
        Ok(())
    }

    fn acts_on(&self) -> ActsOn {
        ActsOn::FirstWord
    }

    fn arrive(&mut self, port: u8, bytes: &[u8], damaged: bool, now: u64) {
        let Some(mac) = self.macs.get_mut(usize::from(port)) else {
            return;
        };
        // Frames that overtake each other on the cable come in one after the other all the same.
        let after = mac.incoming.back().map_or(0, |(clock, _)| clock + 1);
        let mut clock = now.max(after);
        for beat in beats(bytes) {
            let user = damaged && beat.last;
            mac.incoming.push_back((clock, Beat { user, ..beat }));
            clock += mac.link.clocks_per_word;
        }
    }

    fn wake(&self, _: u64) -> Option<u64> {
        Some(self.next)
    }

    fn run(&mut self, now: u64, leave: &mut Vec<Departure>) -> Result<()> {
        self.next = now + 1;
        self.stalls.clock();
        for (port, mac) in self.macs.iter_mut().enumerate() {
            let word = mac.incoming.pop_front_if(|(clock, _)| *clock <= now);
            self.rtl.rx[port] = word.map(|(_, beat)| beat);
            self.rtl.tx_ready[port] = mac.free_at <= now && self.stalls.ready(port);
        }
        self.rtl.clock()?;
        for (port, mac) in self.macs.iter_mut().enumerate() {
            // A word that waits for the cable does not count.
            if mac.free_at <= now {
                let shown = self.rtl.shown[port];
                let last = shown.is_some_and(|beat| beat.last);
                self.stalls.observe(port, shown.is_some(), last);
            }
            let Some(beat) = self.rtl.tx[port] else {
                continue;
            };
            mac.free_at = now + mac.link.clocks_per_word;
            let frame = mac.sink.take(beat).map_err(anyhow::Error::msg)?;
            if let Some(frame) = frame {
                let long = words(frame.len()) * mac.link.clocks_per_word;
                ensure!(
                    long <= mac.link.latency_clocks,
                    "a frame of {} bytes left port {port}, longer than its cable of {} clocks",
                    frame.len(),
                    mac.link.latency_clocks
                );
                // Of a frame without a pause this is the clock of its first word.
                let start = now + mac.link.clocks_per_word - long;
                mac.free_at = start + mac.link.occupancy(frame.len());
                leave.push(Departure {
                    port: port as u8,
                    start,
                    bytes: frame.into(),
                });
            }
        }
        Ok(())
    }

    fn in_use(&self) -> usize {
        self.rtl.in_use() as usize
    }

    /// Queues and engines only; the registers' counters are not part of `red_switch`.
    fn count(&self, counter: Counter) -> u64 {
        match counter {
            Counter::QueueFull => self.rtl.queue_full,
            Counter::EcnMarked => self.rtl.ecn_marked,
            _ => (counter as usize)
                .checked_sub(FIRST_EVENT)
                .and_then(|i| self.rtl.events.get(i).copied())
                .unwrap_or(0),
        }
    }

    fn start_waveform(&mut self, path: &Path) -> Result<()> {
        Ok(self.rtl.model().trace_open(path)?)
    }

    fn finish_waveform(&mut self) -> Result<()> {
        Ok(self.rtl.model().trace_close()?)
    }
}
