//! The switch without its queues and clocks: what comes out of which port, and what is counted (`docs/red-switch.md`).
//!
//! Checks come in this order, and the first that fails counts the frame: port enabled, an Ethernet header, route
//! (`no_route`, `bad_entry`), form of a reduction frame (`malformed`), `hairpin`, output enabled; the engine comes last.
//!
//! What enters at the parent port of its tree goes down, with one exception: where the parent port is among the children too,
//! a contribution that enters there is the root's own and goes up, back by that port and through its engine (CL-6).
//!
//! Who keeps the queues tells [`Switch::leave`] how long they are: that is what marks for congestion depend on.

mod registers;

pub use registers::RegisterError;
use thiserror::Error;

use super::{
    address::{Address, Key},
    counters::{Counter, Counters},
    engine::{Engine, EngineConfig, EngineConfigError, Together, Up},
    wire::{COUNT_MAX, DEFAULT_ETHERTYPE, Frame},
};
use crate::roce;

/// Most ports of a switch.
pub const PORTS_MAX: u8 = 64;
const HEADER_LEN: usize = 14;

/// How large a switch is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// Ports, 1 to 64.
    pub ports: u8,
    /// log2 of the unicast table's entries, at most 20.
    pub unicast_bits: u8,
    /// log2 of the multicast table's entries, at most 13.
    pub multicast_bits: u8,
    /// Settings of every engine after reset; the address is each port's own.
    pub engine: EngineConfig,
}

impl Default for SwitchConfig {
    /// Eight ports, 4,096 nodes, every tree.
    fn default() -> Self {
        Self {
            ports: 8,
            unicast_bits: 12,
            multicast_bits: 13,
            engine: EngineConfig::default(),
        }
    }
}

/// A switch or table entry that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SwitchError {
    /// A size out of its range.
    #[error("{field} is {value}, it can be {min} to {max}")]
    Range {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A port that the switch does not have.
    #[error("port {port} of {ports}")]
    Port {
        /// Port.
        port: u8,
        /// Ports there are.
        ports: u8,
    },
    /// A setting of the engines.
    #[error(transparent)]
    Engine(#[from] EngineConfigError),
}

/// A valid entry of the multicast table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Port towards the root.
    pub parent: u8,
    /// Bit p: port p is a child. The bit of the parent port: the root contributes through it (CL-6).
    pub children: u64,
    /// Endpoints below this switch, and the root if it contributes here; 0 for plain multicast (RED-17).
    pub wait: u32,
}

impl Tree {
    /// Whether a frame from that port is a contribution of the root's own, which leaves by the same port (CL-6).
    const fn turns(&self, entry: u8, frame: &Frame) -> bool {
        entry == self.parent && self.children >> entry & 1 == 1 && frame.contributes()
    }
}

/// Settings of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PortSettings {
    /// It receives and sends.
    pub enable: bool,
    /// Its engine sees frames.
    pub engine: bool,
    /// Source address of results.
    pub address: Address,
}

#[derive(Clone, Debug)]
struct Port {
    settings: PortSettings,
    engine: Engine,
    counters: Counters,
}

impl Port {
    /// Counts what an engine lets leave by this port.
    const fn count_sent(&mut self, up: &Up) {
        if matches!(up, Up::Pass | Up::Result(_)) {
            self.counters.count(Counter::Sent);
        }
    }
}

/// What an engine has to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The engine's port: the parent of the tree upwards, the port that the frame came by downwards.
    pub port: u8,
    /// Downwards: the wait count of the tree.
    pub down: Option<u32>,
    /// The frame.
    pub frame: Frame,
}

impl Look {
    /// Whether it is a contribution of which an engine can take several at a time ([`Engine::up_together`]).
    #[must_use]
    pub fn is_brief(&self) -> bool {
        self.down.is_none() && self.frame.is_brief()
    }
}

/// Where a frame goes that has come in; nowhere if it is dropped, which has been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Taken {
    /// Past an engine that looks at it; if it leaves by the engine's port, then after that.
    pub look: Option<Look>,
    /// Bit p: a copy leaves by port p, whatever engines do.
    copies: u64,
}

impl Taken {
    /// Ports by which copies leave that no engine looks at, ascending.
    pub fn ports(&self) -> impl Iterator<Item = u8> + use<> {
        let copies = self.copies;
        (0..PORTS_MAX).filter(move |port| copies >> port & 1 == 1)
    }
}

/// Frames that leave: port and bytes.
pub type Sent = Vec<(u8, Vec<u8>)>;

/// A reducing switch.
#[derive(Clone, Debug)]
pub struct Switch {
    config: SwitchConfig,
    ethertype: u16,
    ecn_threshold: u16,
    ports: Vec<Port>,
    unicast: Vec<Option<u8>>,
    multicast: Vec<Option<Tree>>,
    staging: registers::Staging,
}

impl Switch {
    /// After reset: ports disabled, tables empty.
    ///
    /// # Errors
    /// A size or setting out of its range.
    pub fn new(config: SwitchConfig) -> Result<Self, SwitchError> {
        range("ports", config.ports.into(), 1, PORTS_MAX.into())?;
        range("unicast_bits", config.unicast_bits.into(), 0, 20)?;
        range("multicast_bits", config.multicast_bits.into(), 0, 13)?;
        let port = Port {
            settings: PortSettings::default(),
            engine: Engine::new(config.engine)?,
            counters: Counters::default(),
        };
        Ok(Self {
            config,
            ethertype: DEFAULT_ETHERTYPE,
            ecn_threshold: 0,
            ports: vec![port; config.ports.into()],
            unicast: vec![None; 1 << config.unicast_bits],
            multicast: vec![None; 1 << config.multicast_bits],
            staging: registers::Staging::default(),
        })
    }

    /// Number of ports.
    #[must_use]
    pub const fn ports(&self) -> u8 {
        self.config.ports
    }

    /// Changes a port's settings.
    ///
    /// # Errors
    /// No such port.
    pub fn set_port(&mut self, port: u8, settings: PortSettings) -> Result<(), SwitchError> {
        let ports = self.ports();
        let slot = self
            .ports
            .get_mut(usize::from(port))
            .ok_or(SwitchError::Port { port, ports })?;
        slot.settings = settings;
        let config = EngineConfig {
            address: settings.address,
            ..*slot.engine.config()
        };
        Ok(slot.engine.configure(config)?)
    }

    /// Changes the settings of all engines but their addresses.
    ///
    /// # Errors
    /// A setting out of its range; nothing is changed then.
    pub fn set_engines(&mut self, config: EngineConfig) -> Result<(), SwitchError> {
        for port in &mut self.ports {
            port.engine.configure(EngineConfig {
                address: port.settings.address,
                ..config
            })?;
        }
        Ok(())
    }

    /// Changes the ethertype of reduction frames.
    pub const fn set_ethertype(&mut self, ethertype: u16) {
        self.ethertype = ethertype;
    }

    /// The ethertype of reduction frames.
    #[must_use]
    pub const fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// Changes the length of a queue, in words, above which frames that leave it are marked (CL-4); 0: none are.
    pub const fn set_ecn_threshold(&mut self, words: u16) {
        self.ecn_threshold = words;
    }

    /// Whether a queue of so many words is long: frames that leave it are marked, if they can be (CL-4).
    #[must_use]
    pub const fn is_long(&self, queued: u64) -> bool {
        self.ecn_threshold != 0 && queued > self.ecn_threshold as u64
    }

    /// A frame that no engine looks at begins to leave by a port; the queue that it leaves holds so many words, the frame's own
    /// among them. Marks the frame and counts it if the queue is long and the frame can be marked (CL-4), which a reduction frame
    /// never can; whether it did.
    pub fn leave(&mut self, port: u8, frame: &mut [u8], queued: u64) -> bool {
        let marked =
            self.is_long(queued) && !self.is_reduction(frame) && roce::mark_congestion(frame);
        if marked && let Some(slot) = self.ports.get_mut(usize::from(port)) {
            slot.counters.count(Counter::EcnMarked);
        }
        marked
    }

    /// Writes an entry of the unicast table; a port that does not exist makes frames `no_route`.
    ///
    /// # Errors
    /// The table does not reach so far.
    pub fn set_unicast(&mut self, node: u32, port: Option<u8>) -> Result<(), SwitchError> {
        range("node", node.into(), 0, self.unicast.len() as u64 - 1)?;
        self.unicast[node as usize] = port;
        Ok(())
    }

    /// Writes an entry of the multicast table. Children that do not exist are ignored; a parent that does not exist makes frames from below `no_route`.
    ///
    /// # Errors
    /// The table does not reach so far, or the wait count does not fit.
    pub fn set_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<(), SwitchError> {
        range("tree", tree.into(), 0, self.multicast.len() as u64 - 1)?;
        let wait = entry.map_or(0, |e| e.wait);
        range("wait", wait.into(), 0, COUNT_MAX.into())?;
        self.multicast[usize::from(tree)] = entry;
        Ok(())
    }

    /// The engine of a port.
    #[must_use]
    pub fn engine(&self, port: u8) -> Option<&Engine> {
        self.ports.get(usize::from(port)).map(|p| &p.engine)
    }

    /// Counters of a port and its engine.
    #[must_use]
    pub fn counters(&self, port: u8) -> Option<Counters> {
        let port = self.ports.get(usize::from(port))?;
        Some(Counters::total([&port.counters, &port.engine.counters]))
    }

    /// Whether a frame that comes in at a port leaves by it again if it leaves: a contribution of the root of a tree that lets
    /// it contribute (CL-6).
    #[must_use]
    pub fn turns(&self, port: u8, bytes: &[u8]) -> bool {
        Frame::parse(bytes, self.ethertype).is_ok_and(|frame| {
            let key = frame.fabric.dfa.multicast();
            let tree = key.and_then(|key| *self.multicast.get(usize::from(key.tree))?);
            tree.is_some_and(|tree| tree.turns(port, &frame))
        })
    }

    /// Descriptors in use in all engines.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.ports.iter().map(|p| p.engine.in_use()).sum()
    }

    /// Clock of the next timeout in any engine: when [`Switch::tick`] has something to do.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.ports
            .iter()
            .filter_map(|p| p.engine.next_deadline())
            .min()
    }

    /// Lets timeouts run out; returns the partial results.
    pub fn tick(&mut self, now: u64) -> Sent {
        let mut sent = Sent::new();
        for (port, slot) in (0u8..).zip(&mut self.ports) {
            for frame in slot.engine.expire(now) {
                if slot.settings.enable {
                    slot.counters.count(Counter::Sent);
                    sent.push((port, frame.to_bytes(self.ethertype).to_vec()));
                } else {
                    slot.counters.count(Counter::Disabled);
                }
            }
        }
        sent
    }

    /// A frame that has come in at a port, from its destination MAC to the end of its payload; its engine looks at it at once.
    pub fn receive(&mut self, port: u8, bytes: &[u8], now: u64) -> Sent {
        let mut sent = Sent::new();
        let taken = self.take(port, bytes);
        if let Some(look) = &taken.look {
            match self.look(look, now) {
                Up::Pass => sent.push((look.port, bytes.to_vec())),
                Up::Result(result) => {
                    sent.push((look.port, result.to_bytes(self.ethertype).to_vec()));
                }
                Up::Drop(_) | Up::Absorbed => {}
            }
        }
        sent.extend(taken.ports().map(|port| (port, bytes.to_vec())));
        sent
    }

    /// Checks a frame that has come in at a port and says where it goes; [`Switch::look`] is what follows if that is past an engine.
    pub fn take(&mut self, port: u8, bytes: &[u8]) -> Taken {
        self.forward(port, bytes).unwrap_or_else(|why| {
            if let Some(slot) = self.ports.get_mut(usize::from(port)) {
                slot.counters.count(why);
            }
            Taken::default()
        })
    }

    /// An engine looks at a frame that was taken. What goes on upwards leaves by the engine's port; downwards that is nothing.
    pub fn look(&mut self, look: &Look, now: u64) -> Up {
        let Some(port) = self.ports.get_mut(usize::from(look.port)) else {
            return Up::Absorbed;
        };
        let up = match look.down {
            Some(wait) => {
                port.engine.down(&look.frame, wait, now);
                Up::Absorbed
            }
            None => port.engine.up(&look.frame),
        };
        port.count_sent(&up);
        up
    }

    /// The engine of a port is offered contributions that wait at once ([`Engine::up_together`]).
    pub fn look_together(&mut self, port: u8, frames: &[Frame]) -> Option<Together> {
        let port = self.ports.get_mut(usize::from(port))?;
        let together = port.engine.up_together(frames)?;
        port.count_sent(&together.up);
        Some(together)
    }

    /// A multicast frame with the Ethertype of reductions.
    fn is_reduction(&self, frame: &[u8]) -> bool {
        frame.first().is_some_and(|byte| byte & 1 == 1)
            && frame.get(12..HEADER_LEN) == Some(&self.ethertype.to_be_bytes())
    }

    fn forward(&mut self, entry: u8, bytes: &[u8]) -> Result<Taken, Counter> {
        let Some(input) = self.ports.get_mut(usize::from(entry)) else {
            return Ok(Taken::default());
        };
        if !input.settings.enable {
            return Err(Counter::Disabled);
        }
        input.counters.count(Counter::Received);
        let header: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(Counter::Malformed)?;
        let address = Address(u32::from_be_bytes([
            header[2], header[3], header[4], header[5],
        ]));
        match (header[0], header[1], address.multicast()) {
            (2, 0, _) => self.unicast(entry, address),
            (3, 0, Some(key)) => self.multicast(entry, key, bytes),
            _ => Err(Counter::NoRoute),
        }
    }

    fn unicast(&mut self, entry: u8, to: Address) -> Result<Taken, Counter> {
        let port = self.unicast.get(to.node() as usize).copied().flatten();
        let port = port.filter(|&p| p < self.ports()).ok_or(Counter::NoRoute)?;
        if port == entry {
            return Err(Counter::Hairpin);
        }
        self.send(port)
    }

    fn multicast(&mut self, entry: u8, key: Key, bytes: &[u8]) -> Result<Taken, Counter> {
        let tree = self.multicast.get(usize::from(key.tree)).copied();
        let tree = tree.flatten().ok_or(Counter::NoRoute)?;
        let at_parent = entry == tree.parent;
        if !at_parent && tree.children >> entry & 1 == 0 {
            return Err(Counter::BadEntry);
        }
        if !at_parent && tree.parent >= self.ports() {
            return Err(Counter::NoRoute);
        }
        let frame = if self.is_reduction(bytes) {
            Some(Frame::parse(bytes, self.ethertype).map_err(|_| Counter::Malformed)?)
        } else {
            None
        };
        let turns = frame.is_some_and(|frame| tree.turns(entry, &frame));
        let down = at_parent && !turns;
        if let Some(frame) = frame.filter(|_| !down) {
            frame.check_up().map_err(|_| Counter::Malformed)?;
        }
        let port = if down { entry } else { tree.parent };
        let settings = self.ports[usize::from(port)].settings;
        if !settings.enable {
            return Err(Counter::Disabled);
        }
        let frame = frame.filter(|_| tree.wait != 0 && settings.engine);
        let look = frame.map(|frame| Look {
            port,
            down: down.then_some(tree.wait),
            frame,
        });
        let mut taken = if down {
            self.copies(entry, tree.children)
        } else if look.is_none() {
            self.send(port)?
        } else {
            Taken::default()
        };
        taken.look = look;
        Ok(taken)
    }

    /// A copy to each child, none back; those for disabled ports are counted one by one.
    fn copies(&mut self, entry: u8, children: u64) -> Taken {
        let mut taken = Taken::default();
        for port in (0..self.ports()).filter(|&p| children >> p & 1 == 1 && p != entry) {
            match self.send(port) {
                Ok(one) => taken.copies |= one.copies,
                Err(why) => self.ports[usize::from(entry)].counters.count(why),
            }
        }
        taken
    }

    fn send(&mut self, port: u8) -> Result<Taken, Counter> {
        let output = &mut self.ports[usize::from(port)];
        if !output.settings.enable {
            return Err(Counter::Disabled);
        }
        output.counters.count(Counter::Sent);
        Ok(Taken {
            copies: 1 << port,
            ..Taken::default()
        })
    }
}

fn range(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), SwitchError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(SwitchError::Range {
            field,
            value,
            min,
            max,
        })
    }
}
