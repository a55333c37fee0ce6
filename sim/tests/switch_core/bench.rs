//! The Verilated core with a MAC at each port, and its model beside it.
//!
//! Every frame goes to the model when it is queued; what the model sends must come out of the same ports, byte for byte
//! and in order for each pair of input and output and each class of frames. Copies that are missing must be those reported as dropped for want
//! of room. A frame that its queue was long for comes out marked for congestion, and no other does.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;
use tributary_protocol::red::{Address, Counter, PortSettings, Switch, SwitchConfig, Tree};
use tributary_sim::switch::core::{CoreRtl, Sizes, build};
use tributary_sim::switch::{Beat, Sink, Source};
use tributary_sim::testbench::{PROFILES, Profile, Stalls};
use tributary_sim::verilate::Verilated;

use crate::engine::Echo;
use crate::marks::Queues;
use crate::waiting::Waiting;
use tributary_protocol::roce;

/// Ethertype of plain frames.
pub const PLAIN: [u8; 2] = [0x12, 0x34];

/// Longest frame that a queue can hold, in beats.
pub const LONGEST: usize = 496;

/// Tables as small as they are made.
pub fn sizes(ports: usize) -> Sizes {
    Sizes {
        ports,
        nodes: 64,
        trees: 64,
    }
}

/// What the ports have reported.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub reasons: [u64; 7],
    pub off: u64,
    /// By output.
    pub full: Vec<u64>,
    pub sent: u64,
    pub marked: u64,
}

pub struct Bench {
    pub rtl: CoreRtl,
    pub model: Switch,
    pub rng: SmallRng,
    pub seed: u64,
    pub sources: Vec<Source>,
    sinks: Vec<Sink>,
    pub engines: Vec<Echo>,
    /// Whether each engine has had room in the latest clocks: a frame begins within so many.
    rooms: Vec<[bool; 5]>,
    /// When sources pause, sinks do not take anything, engines do not send.
    pauses: Stalls,
    stalls: Stalls,
    engine_pauses: Stalls,
    /// Contributions that have not come to an engine.
    pub waiting: Waiting,
    /// Sinks that take nothing at all.
    pub blocked: Vec<bool>,
    /// Frames on their way, by input and output.
    expected: Vec<Vec<VecDeque<Vec<u8>>>>,
    pub counts: Vec<Counts>,
    /// How long queues are, and what was marked.
    pub queues: Queues,
    /// Frames as they come out, if they are kept.
    pub log: Option<Vec<Vec<u8>>>,
    /// Bad frames queued, and frames queued, by input.
    bad: Vec<u64>,
    queued: Vec<u64>,
    /// Copies found missing, by input and output.
    missing: Vec<Vec<u64>>,
    /// Frames that have come out, by input and output.
    pub delivered: Vec<Vec<u64>>,
    pub clocks: u64,
    shown: Vec<Option<Beat>>,
    sequence: u32,
    /// Entries of the multicast table, and ports whose engines take part.
    trees: Vec<Option<Tree>>,
    reducing: u64,
}

impl Bench {
    pub fn library(ports: usize) -> Verilated {
        build(sizes(ports), false).unwrap()
    }

    /// All ports enabled; node i is at port i.
    pub fn new(library: &Verilated, ports: usize, seed: u64) -> Self {
        let config = SwitchConfig {
            ports: ports as u8,
            unicast_bits: 6,
            multicast_bits: 6,
            ..SwitchConfig::default()
        };
        let mut bench = Self {
            rtl: CoreRtl::new(library, ports, seed).unwrap(),
            model: Switch::new(config).unwrap(),
            rng: SmallRng::seed_from_u64(seed),
            seed,
            sources: vec![Source::default(); ports],
            sinks: vec![Sink::default(); ports],
            engines: (0..ports as u64).map(|i| Echo::new(seed + i)).collect(),
            waiting: Waiting::new(ports),
            rooms: vec![[false; 5]; ports],
            pauses: Stalls::new(Profile::Free, seed, ports).stream(1),
            stalls: Stalls::new(Profile::Free, seed, ports),
            engine_pauses: Stalls::new(Profile::Free, seed, ports).stream(2),
            blocked: vec![false; ports],
            expected: vec![vec![VecDeque::new(); ports]; ports],
            counts: vec![
                Counts {
                    full: vec![0; ports],
                    ..Counts::default()
                };
                ports
            ],
            queues: Queues::new(ports),
            log: None,
            bad: vec![0; ports],
            queued: vec![0; ports],
            missing: vec![vec![0; ports]; ports],
            delivered: vec![vec![0; ports]; ports],
            clocks: 0,
            shown: vec![None; ports],
            sequence: 0,
            trees: vec![None; 64],
            reducing: 0,
        };
        bench.enable(u64::MAX);
        for port in 0..ports {
            bench.route(port as u32, Some(port as u8));
        }
        bench
    }

    /// Stalls of sinks in the profile of the seed, pauses of sources and engines in others: every combination comes with
    /// some seed.
    pub fn stall(&mut self) {
        let (seed, count) = (self.seed, PROFILES.len() as u64);
        self.stalls.set(Profile::of_seed(seed));
        self.pauses
            .set(Profile::of_seed(5 * seed + 4 + seed / count));
        self.engine_pauses.set(Profile::of_seed(3 * seed + 7));
    }

    /// Pauses of sources in the profile of that number, sinks free.
    pub fn pause(&mut self, number: u64) {
        self.pauses.set(Profile::of_seed(number));
    }

    pub fn ports(&self) -> usize {
        self.sources.len()
    }

    /// Parses reduction frames; these ports' engines see them.
    pub fn reduce(&mut self, engines: u64) {
        self.rtl.reduce(true, engines);
        self.reducing = engines;
    }

    pub fn enable(&mut self, mask: u64) {
        self.rtl.enable(mask);
        for port in 0..self.ports() {
            let settings = PortSettings {
                enable: mask >> port & 1 == 1,
                ..PortSettings::default()
            };
            self.model.set_port(port as u8, settings).unwrap();
        }
    }

    pub fn route(&mut self, node: u32, port: Option<u8>) {
        self.model.set_unicast(node, port).unwrap();
        self.rtl.write_unicast(node, port);
        self.clock();
    }

    pub fn tree(&mut self, tree: u16, entry: Option<Tree>) {
        self.model.set_multicast(tree, entry).unwrap();
        self.rtl.write_multicast(tree, entry).unwrap();
        self.trees[usize::from(tree)] = entry;
        self.clock();
    }

    /// Marks frames that leave a queue of more words; 0: none.
    pub fn mark_above(&mut self, words: u16) {
        self.rtl.mark_above(words);
        self.queues.threshold = Some(words.into());
        // Until all queues know.
        (0..4).for_each(|_| self.clock());
    }

    /// A frame of `length` bytes from `input` to a MAC, its content random but for the sender and a number.
    pub fn frame(&mut self, input: usize, to: [u8; 6], length: usize) -> Vec<u8> {
        let mut frame: Vec<u8> = (0..length).map(|_| self.rng.random()).collect();
        frame[..6].copy_from_slice(&to);
        frame[12..14].copy_from_slice(&PLAIN);
        self.sign(input, &mut frame);
        frame
    }

    /// Marks a frame with its sender and a number, in its source MAC.
    pub fn sign(&mut self, input: usize, frame: &mut [u8]) {
        frame[6..8].copy_from_slice(&[2, input as u8]);
        frame[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        self.sequence += 1;
    }

    /// Queues a well-formed frame; the model says what becomes of it.
    pub fn push(&mut self, input: usize, frame: &[u8]) {
        self.expect(input, frame);
        self.queue(input, frame);
    }

    /// Asks the model, with the tables as they are now.
    pub fn expect(&mut self, input: usize, frame: &[u8]) {
        let mut outputs = vec![];
        for (out, bytes) in self.model.receive(input as u8, frame, 0) {
            let out = usize::from(out);
            let class = self.class(out, &bytes);
            outputs.push((out, class == Class::Looked));
            self.waiting.push((input, out), class, &bytes);
            self.expected[input][out].push_back(bytes);
        }
        self.queues.queued(input, frame, outputs);
    }

    /// Queues a frame without asking the model.
    pub fn queue(&mut self, input: usize, frame: &[u8]) {
        self.queued[input] += 1;
        self.sources[input].push(frame);
    }

    /// Queues what is no frame; only a counter may change.
    pub fn push_bad(&mut self, input: usize, beats: Vec<Beat>) {
        assert_eq!(beats.iter().filter(|b| b.last).count(), 1);
        self.queued[input] += 1;
        self.bad[input] += 1;
        self.sources[input].push_beats(beats);
    }

    /// A unicast frame of random length.
    pub fn send(&mut self, input: usize, output: usize) {
        let length = self.rng.random_range(60..=1518);
        self.send_of(input, output, length);
    }

    pub fn send_of(&mut self, input: usize, output: usize, length: usize) {
        let frame = self.frame(input, node_mac(output as u32), length);
        self.push(input, &frame);
    }

    /// One clock.
    pub fn clock(&mut self) {
        self.pauses.clock();
        self.stalls.clock();
        self.engine_pauses.clock();
        for port in 0..self.ports() {
            let input = &mut self.rtl.inputs[port];
            let beat = self.sources[port].front();
            input.rx = beat.filter(|_| self.pauses.ready(port));
            self.pauses
                .observe(port, beat.is_some(), beat.is_some_and(|b| b.last));
            input.tx_ready = self.stalls.ready(port) && !self.blocked[port];
            input.red = self.engines[port].offer(&mut self.engine_pauses, port);
            input.eng_room = self.engines[port].has_room();
            input.take = self.engines[port].says_take();
            self.rooms[port].rotate_left(1);
            self.rooms[port][4] = input.eng_room;
        }
        self.rtl.clock().unwrap();
        self.clocks += 1;
        for port in 0..self.ports() {
            let output = self.rtl.outputs[port];
            if !self.blocked[port] {
                let shown = output.shown;
                self.stalls
                    .observe(port, shown.is_some(), shown.is_some_and(|b| b.last));
            }
            if self.rtl.inputs[port].rx.is_some() {
                self.sources[port].pop();
            }
            // What is offered stays as it is until it is taken.
            if let Some(before) = self.shown[port] {
                assert_eq!(output.shown, Some(before), "port {port}, {}", self.place());
            }
            self.shown[port] = output.shown.filter(|_| output.tx.is_none());
            if output.shown.is_some() {
                self.queues.word(port, output.tx.is_some(), self.clocks);
            }
            if let Some(beat) = output.tx {
                let frame = self.sinks[port]
                    .take(beat)
                    .unwrap_or_else(|e| panic!("port {port}: {e}, {}", self.place()));
                if let Some(frame) = frame {
                    self.deliver(port, &frame);
                }
            }
            self.engines[port].taken(output.red_taken);
            let first = output.eng.is_some_and(|w| w.first);
            assert!(
                !first || self.rooms[port].contains(&true),
                "no room, port {port}, {}",
                self.place()
            );
            let seen = self.engines[port].seen.len();
            self.engines[port].looked(output.eng, output.others, output.operand);
            for at in seen..self.engines[port].seen.len() {
                let frame = self.engines[port].seen[at];
                self.waiting.clock = self.clocks;
                if !frame.down {
                    let came = self.waiting.came(port, &frame.bytes());
                    came.unwrap_or_else(|e| panic!("port {port}: {e}, {}", self.place()));
                }
            }
            if let Some((first, operands)) = self.engines[port].group() {
                let mut from = 0;
                for operand in operands {
                    let is = |bytes: &[u8]| {
                        let f = first.like(bytes);
                        let same = f.header() == first.header() && f.bytes() == bytes;
                        same && f.words[2] == operand.data && f.rc() == operand.rc
                    };
                    let inputs = from..self.ports();
                    let found = self.waiting.joined(port, inputs, first.source(), is);
                    let Some((input, bytes)) = found else {
                        panic!(
                            "port {port}: an operand of no one: {operand:x?}, {}",
                            self.place()
                        );
                    };
                    from = input + 1;
                    self.engines[port].join(first.like(&bytes), first.rc());
                }
            }
            let events = output.events;
            let counts = &mut self.counts[port];
            if let Some(reason) = events.ended {
                counts.reasons[usize::from(reason)] += 1;
            }
            counts.off += u64::from(events.off.count_ones());
            counts.sent += u64::from(events.sent);
            for (out, full) in counts.full.iter_mut().enumerate() {
                *full += events.full >> out & 1;
            }
            counts.marked += u64::from(events.marked);
            for out in (0..self.ports()).filter(|out| events.full >> out & 1 == 1) {
                self.queues.full(port, out);
            }
            if events.ended.is_some() {
                self.queues.ended(port, self.clocks);
            }
        }
    }

    fn place(&self) -> String {
        let profile = self.stalls.profile();
        format!("clock {}, seed {}, {profile}", self.clocks, self.seed)
    }

    /// Of which kind a frame to that output is; those that the engine looks at keep their order, all others theirs.
    fn class(&self, out: usize, frame: &[u8]) -> Class {
        class_of(&self.trees, self.reducing, out, frame)
    }

    fn deliver(&mut self, out: usize, frame: &[u8]) {
        let input = usize::from(frame[7]);
        let Some(queue) = self.expected.get_mut(input).map(|e| &mut e[out]) else {
            panic!("port {out}: a frame of no one, {}", self.place());
        };
        let marked = |f: &Vec<u8>| {
            let mut f = f.clone();
            roce::mark_congestion(&mut f) && f == frame
        };
        let Some(place) = queue.iter().position(|f| f == frame || marked(f)) else {
            panic!(
                "port {out}: a frame from port {input} changed, twice or out of order, {}: {frame:02x?}",
                self.place()
            );
        };
        let (trees, engines) = (&self.trees, self.reducing);
        let ahead = queue.drain(..=place).collect::<Vec<_>>();
        let before = &ahead[place];
        let way = (input, out);
        let looked = |f: &[u8]| class_of(trees, engines, out, f) == Class::Looked;
        let marked = before != frame;
        let verdict = (self.queues).left(way, before, looked(before), marked, self.clocks);
        if let Err(why) = verdict {
            panic!("{input} to {out}: {why}, {}", self.place());
        }
        if class_of(trees, engines, out, frame) == Class::Plain {
            self.waiting.passed(way, self.clocks);
        }
        if let Some(log) = self.log.as_mut().filter(|_| input == 0) {
            log.push(frame.to_vec());
        }
        let (others, missing): (Vec<_>, Vec<_>) = ahead
            .into_iter()
            .take(place)
            .partition(|f| looked(f) != looked(frame));
        for other in others.into_iter().rev() {
            queue.push_front(other);
        }
        self.missing[input][out] += missing.len() as u64;
        self.delivered[input][out] += 1;
    }

    /// Nothing is under way any more, as far as the bench can see.
    pub fn idle(&self) -> bool {
        self.sources.iter().all(Source::is_empty) && self.engines.iter().all(Echo::is_empty)
    }

    /// Clocks until the sources are empty and nothing has come out for a while.
    pub fn drain(&mut self) {
        let mut quiet = 0;
        let limit = self.clocks + 4_000_000;
        // A frame may stand still at two places, and pass the engine between them.
        let pauses = [&self.stalls, &self.engine_pauses].map(|s| s.profile().pause());
        let rest = 600 + 2 * pauses.iter().max().unwrap();
        while quiet < rest {
            self.clock();
            let moves = self.rtl.outputs.iter().any(|o| o.tx.is_some());
            quiet = if self.idle() && !moves { quiet + 1 } else { 0 };
            assert!(
                self.clocks < limit,
                "does not come to rest, {}",
                self.place()
            );
        }
    }

    /// Drains, then accounts for every frame.
    pub fn finish(&mut self) {
        self.drain();
        let place = self.place();
        for port in 0..self.ports() {
            assert!(
                !self.sinks[port].is_within(),
                "port {port}: a frame is cut, {place}"
            );
            let counts = &self.counts[port];
            let model = self.model.counters(port as u8).unwrap();
            let ended: u64 = counts.reasons.iter().sum();
            assert_eq!(
                ended, self.queued[port],
                "port {port}: frames ended, {place}"
            );
            assert_eq!(
                counts.reasons[1], self.bad[port],
                "port {port}: bad, {place}"
            );
            let received = ended - counts.reasons[6] - counts.reasons[1];
            let told = [
                (received, Counter::Received),
                (counts.reasons[2], Counter::Malformed),
                (counts.reasons[3], Counter::NoRoute),
                (counts.reasons[4], Counter::BadEntry),
                (counts.reasons[5], Counter::Hairpin),
                (counts.reasons[6] + counts.off, Counter::Disabled),
            ];
            for (value, counter) in told {
                assert_eq!(value, model.get(counter), "port {port}: {counter}, {place}");
            }
            let mut dropped = 0;
            for input in 0..self.ports() {
                let full = self.counts[input].full[port];
                let missing = self.missing[input][port] + self.expected[input][port].len() as u64;
                // Most of what a port hands to its own engine leaves by no port: only contributions of a root do.
                assert!(
                    missing == full || missing < full && input == port,
                    "from {input} to {port}: {missing} missing, {full} dropped, {place}"
                );
                dropped += missing;
            }
            let delivered: u64 = self.delivered.iter().map(|d| d[port]).sum();
            assert_eq!(
                counts.marked, self.queues.marked[port],
                "port {port}: marked, {place}"
            );
            assert_eq!(counts.sent, delivered, "port {port}: sent, {place}");
            assert_eq!(
                delivered + dropped,
                model.get(Counter::Sent),
                "port {port}: sent and dropped, {place}"
            );
        }
    }

    /// Copies dropped because a queue was full.
    pub fn dropped(&self) -> u64 {
        self.counts.iter().flat_map(|c| &c.full).sum()
    }

    /// Copies that the output has sent.
    pub fn sent(&self, port: usize) -> u64 {
        self.counts[port].sent
    }
}

/// What becomes of a frame at an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No reduction frame.
    Plain,
    /// A reduction frame that no engine looks at.
    Passes,
    /// The engine looks at them.
    Looked,
}

fn class_of(trees: &[Option<Tree>], engines: u64, out: usize, f: &[u8]) -> Class {
    if f[0] != 3 || f[12..14] == PLAIN || f[12..14] == roce::ETHERTYPE.to_be_bytes() {
        return Class::Plain;
    }
    let address = Address(u32::from_be_bytes([f[2], f[3], f[4], f[5]]));
    let tree = address.multicast().map(|key| usize::from(key.tree));
    let entry = tree.and_then(|tree| trees[tree]);
    let looked = |e: Tree| usize::from(e.parent) == out && e.wait != 0 && engines >> out & 1 == 1;
    match entry.is_some_and(looked) {
        true => Class::Looked,
        false => Class::Passes,
    }
}

/// MAC of a node.
pub fn node_mac(node: u32) -> [u8; 6] {
    tributary_protocol::red::Address::unicast(node, 0).mac()
}

/// MAC of a tree.
pub fn tree_mac(tree: u16) -> [u8; 6] {
    let key = tributary_protocol::red::Key { tree, reduction: 0 };
    key.address().mac()
}
