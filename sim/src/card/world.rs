//! The nodes and the links between them.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use rayon::prelude::*;
use tributary_host_driver::shared::{POSTED_ENTRIES, PostedWrites};
use tributary_protocol::card::model::{CardModel, ModelConfig};
use tributary_protocol::card::regs::{
    DOORBELLS, MSIX_ENTRY, MSIX_ENTRY_LEN, MSIX_TABLE, SIZES, SIZES_QPS, STATUS, STATUS_BUSY,
    bar0_bytes,
};
use tributary_protocol::red::{self, wire::DEFAULT_ETHERTYPE};
use tributary_protocol::roce::{self, IP_NET};

use super::memory::{MSI, Memory};
use super::{CLOCK_NS, Node, SimDevice};
use crate::fabric::Simulator;
use crate::link::{Link, LinkConfig, LinkStats};

/// Frames of a card that leave in one slot if its port has no rate: one request, and acknowledgements along with it.
const FRAMES_A_SLOT: usize = 4;
/// Frames that wait at the port of a card in a fabric: one leaves, the next one is there in time.
const PORT_FRAMES: usize = 2;
/// Looks at a register until the longest reset is over, at 8 clocks each and more.
const RESET_LOOKS: u32 = 4_000;
/// Slots for which a network stays awake after something was done: whoever did it is likely to do more.
const LINGER: u64 = 400;
/// Looks without anything new that each host may have in a round. After more, one of them waits for its card.
const HELD_LOOKS: usize = 4;
/// Bytes on the line around a frame: preamble 8, frame check sequence 4, gap 12.
const AROUND_FRAME: usize = 24;

/// Cards and how they are joined: each has a link to every other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Cards; their node numbers count from 0.
    pub nodes: u32,
    /// How they are built.
    pub card: ModelConfig,
    /// Every link.
    pub link: LinkConfig,
    /// What every random choice comes from.
    pub seed: u64,
    /// Length of a slot, ns: time goes on in such steps.
    pub slot_ns: u64,
    /// Rate of each card's port, Gb/s: a frame leaves when it was sent whole. Without one, four frames leave in a slot, whatever
    /// their length.
    pub line_gbps: Option<f64>,
}

impl Default for NetworkConfig {
    /// Two cards and links without faults.
    fn default() -> Self {
        Self {
            nodes: 2,
            card: ModelConfig::default(),
            link: LinkConfig {
                delay_slots: 10,
                reorder_slots: 0,
                loss: 0.0,
                duplication: 0.0,
            },
            seed: 1,
            slot_ns: 100,
            line_gbps: None,
        }
    }
}

/// One node of the world.
pub(super) struct Place {
    pub node: Box<dyn Node>,
    pub memory: Memory,
    /// Bytes of the card's BAR0.
    pub bar0: u32,
    /// To each other node, by number; of a fabric, none.
    pub out: Vec<Link<Vec<u8>>>,
    /// When its port has sent all that it was given, ns.
    pub port_free: f64,
    /// Whether the card can be reached.
    pub present: bool,
    /// Doorbells that its driver in another process posts.
    pub posted: Option<PostedWrites>,
}

impl Place {
    /// A card with its interrupts set up, and the links from it.
    pub fn new(mut node: Box<dyn Node>, vectors: usize, out: Vec<Link<Vec<u8>>>) -> Self {
        set_up_interrupts(&mut *node, vectors);
        let sizes = node.read32(SIZES.offset.into());
        Self {
            node,
            memory: Memory::new(vectors),
            bar0: bar0_bytes(SIZES_QPS.get(sizes) as u8),
            out,
            port_free: 0.0,
            present: true,
            posted: None,
        }
    }

    /// Whether an offset is that of a register: of those behind its BAR0 a card hears nothing on any bus.
    pub fn has_register(&self, offset: u32) -> bool {
        offset < self.bar0 && offset.is_multiple_of(4)
    }

    /// Does the register writes that were posted; whether there were some.
    pub fn take_posted(&mut self) -> bool {
        let Some(ring) = &self.posted else {
            return false;
        };
        let mut some = false;
        // Who posts without end gets no more than a ring of them in one go.
        for (offset, value) in std::iter::from_fn(|| ring.take()).take(POSTED_ENTRIES) {
            // Whatever else a register does goes over the socket.
            if offset >= DOORBELLS && self.has_register(offset) {
                self.node.write32(offset, value);
            }
            some = true;
        }
        some
    }
}

/// What a network has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Something is under way, or was just now.
    Some,
    /// Cards that cannot tell may have timers.
    Unknown,
    /// Nothing happens before a driver does something.
    None,
}

/// A frame at one end of its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The node that sent it, or at which it arrived.
    pub node: usize,
    /// When it had left, or arrived, ns.
    pub at_ns: u64,
    /// From its Ethernet header to its ICRC.
    pub frame: Vec<u8>,
}

/// Everything.
pub(super) struct World {
    pub places: Vec<Place>,
    /// Frames at both ends of their links, if they are kept.
    pub captured: Option<Vec<Captured>>,
    /// The slot in which something was last done.
    pub active: u64,
    pub slot: u64,
    pub slot_ns: u64,
    pub line_gbps: Option<f64>,
    /// What carries frames instead of links.
    pub fabric: Option<Simulator>,
    /// Why it carries nothing any more.
    pub broken: Option<String>,
    /// While time is held: looks of drivers that found nothing in this round.
    pub held: Option<usize>,
}

/// Cards of the model, and a device for each, by node number.
///
/// # Errors
/// A size, probability or rate out of range.
pub fn network(config: &NetworkConfig) -> Result<Vec<SimDevice>> {
    let nodes = (0..config.nodes).map(|_| {
        let card = CardModel::new(config.card)?;
        Ok(Box::new(card) as Box<dyn Node>)
    });
    network_of(config, nodes.collect::<Result<_>>()?)
}

/// The same with other cards, as many as there are nodes; of `config.card`, only the vectors count.
///
/// # Errors
/// Another number of cards, or a probability or rate out of range.
pub fn network_of(config: &NetworkConfig, nodes: Vec<Box<dyn Node>>) -> Result<Vec<SimDevice>> {
    let count = nodes.len();
    ensure!(
        count == config.nodes as usize && count > 0,
        "{count} cards for {} nodes",
        config.nodes
    );
    let good = |gbps: f64| gbps.is_finite() && gbps > 0.0;
    ensure!(
        config.slot_ns > 0 && config.line_gbps.is_none_or(good),
        "slots of {} ns, line of {:?} Gb/s: both must be above 0",
        config.slot_ns,
        config.line_gbps
    );
    let vectors = 1usize << config.card.vectors_log;
    let mut places = Vec::new();
    for (from, node) in nodes.into_iter().enumerate() {
        let links = (0..count).map(|to| {
            let stream = (from * count + to) as u64;
            Ok(Link::new(config.link, config.seed, stream)?)
        });
        places.push(Place::new(node, vectors, links.collect::<Result<_>>()?));
    }
    let world = Arc::new(Mutex::new(World {
        places,
        captured: None,
        active: 0,
        slot: 0,
        slot_ns: config.slot_ns,
        line_gbps: config.line_gbps,
        fabric: None,
        broken: None,
        held: None,
    }));
    let device = |at| SimDevice::new(Arc::clone(&world), at, vectors);
    Ok((0..count).map(device).collect())
}

/// What an operating system does: every vector writes its number to the interrupt address.
pub(super) fn set_up_interrupts(node: &mut dyn Node, vectors: usize) {
    // During a reset writes are lost.
    for _ in 0..RESET_LOOKS {
        if STATUS_BUSY.get(node.read32(STATUS.offset.into())) == 0 {
            break;
        }
    }
    for vector in 0..vectors as u32 {
        let words = [MSI as u32, (MSI >> 32) as u32, vector, 0];
        for (register, value) in MSIX_ENTRY.iter().zip(words) {
            let entry = MSIX_TABLE + MSIX_ENTRY_LEN * vector;
            node.write32(entry + u32::from(register.offset), value);
        }
    }
}

impl World {
    pub fn now_ns(&self) -> u64 {
        self.slot * self.slot_ns
    }

    /// A driver has looked and found nothing: a slot passes, or, while time is held, only if it seems to wait for that.
    pub fn idle(&mut self) {
        let most = HELD_LOOKS * self.places.len();
        match &mut self.held {
            Some(looks) if *looks < most => *looks += 1,
            _ => self.step(),
        }
    }

    /// A slot passes.
    pub fn step(&mut self) {
        self.slot += 1;
        let (slot, now) = (self.slot, self.now_ns());
        self.carry(now);
        // Cards of a fabric meet in it alone, so those that take long work at the same time.
        let slow = self.places.iter().filter(|place| place.node.is_slow());
        let together = self.fabric.is_some() && slow.count() > 1;
        if together {
            for place in &mut self.places {
                if place.take_posted() {
                    self.active = slot;
                }
            }
            self.places.par_iter_mut().for_each(|place| {
                if place.present {
                    place.node.step(&mut place.memory, now);
                }
            });
        }
        for at in 0..self.places.len() {
            if !together && self.places[at].take_posted() {
                self.active = slot;
            }
            for from in 0..self.places.len() {
                while let Some(frame) = self.places[from]
                    .out
                    .get_mut(at)
                    .and_then(|out| out.receive(slot))
                {
                    self.active = slot;
                    self.capture(at, now, &frame);
                    if self.places[at].present {
                        self.places[at].node.receive_frame(&frame, now);
                    }
                }
            }
            if !self.places[at].present {
                continue;
            }
            let place = &mut self.places[at];
            if !together {
                place.node.step(&mut place.memory, now);
            }
            for sent in 0.. {
                let place = &mut self.places[at];
                let open = match (&self.fabric, self.line_gbps) {
                    (Some(fabric), _) => fabric.endpoints()[at].waiting() < PORT_FRAMES,
                    (None, Some(_)) => place.port_free <= now as f64,
                    (None, None) => sent < FRAMES_A_SLOT,
                };
                let Some(frame) = open.then(|| place.node.next_frame(now)).flatten() else {
                    break;
                };
                if self.fabric.is_some() {
                    self.capture(at, now, &frame);
                    if let Some(fabric) = &mut self.fabric
                        && let Err(error) = fabric.inject(at, &frame, now / CLOCK_NS)
                    {
                        self.break_down(error.to_string());
                    }
                    continue;
                }
                let place = &mut self.places[at];
                let leaves = self.line_gbps.map_or(slot, |gbps| {
                    // It may have begun at any time since the last look.
                    let begins = place.port_free.max(now.saturating_sub(self.slot_ns) as f64);
                    place.port_free = begins + ((frame.len() + AROUND_FRAME) * 8) as f64 / gbps;
                    ((place.port_free / self.slot_ns as f64).ceil() as u64).max(slot)
                });
                self.capture(at, leaves * self.slot_ns, &frame);
                let all = self.places[at].out.len();
                for to in receivers(&frame, at, all) {
                    if let Some(link) = self.places[at].out.get_mut(to) {
                        link.send(frame.clone(), leaves);
                    }
                }
            }
        }
    }

    /// Lets the fabric run until now, and gives the cards what has arrived.
    fn carry(&mut self, now: u64) {
        let Some(mut fabric) = self.fabric.take() else {
            return;
        };
        if self.broken.is_none()
            && let Err(error) = fabric.run(now / CLOCK_NS)
        {
            self.break_down(format!("{error:#}"));
        }
        for at in 0..self.places.len() {
            for (_, frame) in fabric.take_ignored(at) {
                self.capture(at, now, &frame);
                if self.places[at].present {
                    self.places[at].node.receive_frame(&frame, now);
                }
            }
        }
        self.fabric = Some(fabric);
    }

    /// The fabric carries nothing any more: drivers are told that their cards are gone, and not left to wait.
    fn break_down(&mut self, why: String) {
        self.broken.get_or_insert(why);
        for place in &mut self.places {
            place.present = false;
        }
    }

    fn capture(&mut self, node: usize, at_ns: u64, frame: &[u8]) {
        if let Some(captured) = &mut self.captured {
            captured.push(Captured {
                node,
                at_ns,
                frame: frame.to_vec(),
            });
        }
    }

    /// A driver did something over the socket.
    pub fn touch(&mut self) {
        self.active = self.slot;
    }

    /// What there is to do.
    pub fn work(&self) -> Work {
        let there = || self.places.iter().filter(|place| place.present);
        let quiet = || there().map(|place| place.node.quiet_until());
        let busy = || quiet().any(|until| until.is_some_and(|until| until < u64::MAX));
        // Cards are asked last: to look for their next timeout takes long.
        if self.slot < self.active + LINGER || self.has_flying() || busy() {
            Work::Some
        } else if self.fabric_is_quiet() && quiet().all(|until| until == Some(u64::MAX)) {
            Work::None
        } else {
            Work::Unknown
        }
    }

    /// How often cards have written to their hosts: what drivers can see.
    pub fn written(&self) -> u64 {
        self.places.iter().map(|place| place.memory.written).sum()
    }

    /// Whether a frame is on a link.
    fn has_flying(&self) -> bool {
        let mut links = self.places.iter().flat_map(|place| &place.out);
        links.any(|link| link.in_flight() > 0)
    }

    /// While cards wait for nothing but timeouts of datagrams, the slots until the first of these pass at once: no driver could
    /// tell the difference, but for the time that they take here.
    pub fn skip(&mut self) {
        if self.has_flying() {
            return;
        }
        let mut until = u64::MAX;
        for place in self.places.iter().filter(|place| place.present) {
            let posted = place.posted.as_ref().is_some_and(|ring| !ring.is_empty());
            match place.node.quiet_until() {
                Some(quiet) if !posted => until = until.min(quiet),
                _ => return,
            }
        }
        if until == u64::MAX {
            return;
        }
        if let Some(clock) = self.fabric.as_ref().and_then(Simulator::next_event) {
            until = until.min(clock * CLOCK_NS);
        }
        self.slot = self.slot.max(until / self.slot_ns);
    }

    /// Whether no frame is under way in the fabric, if there is one. Engines that wait for late ones may wait longer.
    fn fabric_is_quiet(&self) -> bool {
        let soon = (self.slot + LINGER) * self.slot_ns / CLOCK_NS;
        let next = self.fabric.as_ref().and_then(Simulator::next_event);
        next.is_none_or(|clock| clock > soon)
    }

    /// What the links from a node have done, by the node they go to.
    pub fn link_stats(&self, from: usize) -> Vec<LinkStats> {
        self.places[from].out.iter().map(Link::stats).collect()
    }
}

/// Whom a frame of `at` is for, of all cards that are linked to each other; a frame to nobody is lost.
fn receivers(frame: &[u8], at: usize, all: usize) -> Vec<usize> {
    // IPv4 address 10 and the node: anything else is nobody's number.
    if let Ok(frame) = roce::decode(frame) {
        let to = u32::from_be_bytes(frame.link.dst_ip) ^ u32::from(IP_NET) << 24;
        return vec![to as usize];
    }
    // Without switches every card is on every tree, and nothing is combined.
    match red::Frame::parse(frame, DEFAULT_ETHERTYPE) {
        Ok(frame) if frame.fabric.dfa.multicast().is_some() => {
            (0..all).filter(|to| *to != at).collect()
        }
        Ok(frame) => vec![frame.fabric.dfa.node() as usize],
        Err(_) => vec![],
    }
}
