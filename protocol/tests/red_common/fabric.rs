//! A small fabric of models: a core switch, leaf switches below it, hosts below these, one group over all hosts.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tributary_protocol::red::{answer::Answers, host::*, wire::DEFAULT_ETHERTYPE, *};

pub const KEY: Key = Key {
    tree: 5,
    reduction: 2,
};
/// Clocks of a hop.
const HOP: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Switch(usize),
    Host(usize),
}

/// What happens to one frame on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Twice,
    Late(u64),
}

pub type Fates = Box<dyn FnMut(u64, Node, Node, &Frame) -> Fate>;

pub struct Fabric {
    pub now: u64,
    pub group: Group,
    pub switches: Vec<Switch>,
    pub root_host: usize,
    pub root: Root,
    /// The card of the root, if it answers results.
    pub card: Option<Answers>,
    /// Results that it has answered, and frames of the root that an answer has overtaken.
    pub answered: u64,
    pub overtaken: u64,
    /// Frames that left the root.
    pub sent_by_root: u64,
    /// The card lets leave what an answer has overtaken.
    pub lax: bool,
    /// Clocks until the host knows of what has come.
    pub slow: u64,
    contributes: bool,
    /// By host; the root's place holds a leaf that is never used.
    pub leaves: Vec<Leaf>,
    pub dead: BTreeSet<usize>,
    pub events: Vec<Vec<Event>>,
    pub fates: Fates,
    pub sent: u64,
    hosts_each: usize,
    queue: BTreeMap<(u64, u64), (Node, u8, Vec<u8>)>,
    /// What is on its way from the root's card to its host: when, the frame, whether it was answered.
    host: VecDeque<(u64, Vec<u8>, bool)>,
}

pub fn address(host: usize) -> Address {
    Address::unicast(host as u32, 0)
}

impl Fabric {
    /// `edges` switches with `hosts_each` hosts below one core switch; the group's root is `root_host`.
    pub fn new(edges: usize, hosts_each: usize, root_host: usize, leaf: LeafConfig) -> Self {
        Self::with_root(edges, hosts_each, root_host, leaf, false)
    }

    /// The same, whose root contributes up its own port and has a card that answers results.
    pub fn with_card(edges: usize, hosts_each: usize, root_host: usize, leaf: LeafConfig) -> Self {
        let mut fabric = Self::with_root(edges, hosts_each, root_host, leaf, true);
        fabric.card = Some(Answers::new((edges * hosts_each) as u32));
        fabric
    }

    fn with_root(
        edges: usize,
        hosts_each: usize,
        root_host: usize,
        leaf: LeafConfig,
        contributes: bool,
    ) -> Self {
        let mut config = RootConfig {
            contributes,
            ..RootConfig::default()
        };
        if contributes {
            // Longer than a card's completion takes to the host, together.
            config.roll_timeout = 600_000;
        }
        let hosts = edges * hosts_each;
        let others = (0..hosts)
            .filter(|&h| h != root_host)
            .map(address)
            .collect();
        let group = Group::new(KEY, 7, 0xc0ffee, address(root_host), others);
        let mut fabric = Self {
            now: 0,
            switches: Vec::new(),
            root_host,
            root: Root::new(group.clone(), config, 0),
            card: None,
            answered: 0,
            overtaken: 0,
            sent_by_root: 0,
            lax: false,
            slow: 0,
            contributes,
            leaves: (0..hosts)
                .map(|h| Leaf::new(group.clone(), address(h), leaf))
                .collect(),
            dead: BTreeSet::new(),
            events: vec![Vec::new(); hosts],
            fates: Box::new(|_, _, _, _| Fate::Deliver),
            sent: 0,
            hosts_each,
            queue: BTreeMap::new(),
            host: VecDeque::new(),
            group,
        };
        for s in 0..=edges {
            fabric.switches.push(fabric.build(s, edges));
        }
        fabric
    }

    /// Switch 0 is the core; port p of it leads to switch p + 1, whose last port leads back.
    fn build(&self, s: usize, edges: usize) -> Switch {
        let (each, root_edge) = (self.hosts_each, self.root_host / self.hosts_each);
        let ports = if s == 0 { edges } else { each + 1 };
        let config = SwitchConfig {
            ports: ports as u8,
            unicast_bits: 8,
            multicast_bits: 4,
            ..SwitchConfig::default()
        };
        let mut switch = Switch::new(config).expect("legal");
        for port in 0..ports as u8 {
            let address = Address::unicast(0x1000 + s as u32, port.into());
            switch
                .set_port(
                    port,
                    PortSettings {
                        enable: true,
                        engine: true,
                        address,
                    },
                )
                .expect("port");
        }
        for host in 0..edges * each {
            let port = match s {
                0 => host / each,
                _ if host / each == s - 1 => host % each,
                _ => each,
            };
            switch
                .set_unicast(host as u32, Some(port as u8))
                .expect("entry");
        }
        let (parent, wait) = match s {
            0 => (root_edge, (edges - 1) * each),
            _ if s - 1 == root_edge => (self.root_host % each, edges * each - 1),
            _ => (each, each),
        };
        let mut children = ((1u64 << ports) - 1) & !(1 << parent);
        if edges == 1 {
            children &= !(1 << each);
        }
        let mut wait = wait;
        if self.contributes && s == root_edge + 1 {
            children |= 1 << parent;
            wait += 1;
        }
        let tree = Tree {
            parent: parent as u8,
            children,
            wait: wait as u32,
        };
        switch.set_multicast(KEY.tree, Some(tree)).expect("entry");
        switch
    }

    pub fn hosts(&self) -> usize {
        self.leaves.len()
    }

    /// The root starts the round with its value, a leaf contributes.
    pub fn give(&mut self, host: usize, round: u64, op: Op, value: Value) {
        if host == self.root_host {
            assert_eq!(self.root.start(op, value, self.now), Ok(round));
        } else {
            self.leaves[host]
                .contribute(round, op, value, self.now)
                .expect("open");
        }
        self.pump();
    }

    fn transmit(&mut self, from: Node, port: u8, bytes: Vec<u8>) {
        let (each, edges) = (self.hosts_each, self.switches.len() - 1);
        let port = usize::from(port);
        self.sent_by_root += u64::from(from == Node::Host(self.root_host));
        let (to, at) = match from {
            Node::Host(h) => (Node::Switch(h / each + 1), h % each),
            Node::Switch(0) => (Node::Switch(port + 1), each),
            Node::Switch(s) if port == each => (Node::Switch(0), s - 1),
            Node::Switch(s) => (Node::Host((s - 1) * each + port), 0),
        };
        assert!(to != Node::Switch(0) || edges > 1, "no core");
        let frame = Frame::parse(&bytes, DEFAULT_ETHERTYPE).expect("only frames of the group here");
        let (copies, late) = match (self.fates)(self.sent, from, to, &frame) {
            Fate::Deliver => (1, 0),
            Fate::Drop => (0, 0),
            Fate::Twice => (2, 0),
            Fate::Late(clocks) => (1, clocks),
        };
        self.sent += 1;
        for copy in 0..copies {
            let key = (self.now + HOP + late, 2 * self.sent + copy);
            self.queue.insert(key, (to, at as u8, bytes.clone()));
        }
    }

    /// Takes what endpoints and switches have to give at this moment.
    pub fn pump(&mut self) {
        for s in 0..self.switches.len() {
            for (port, bytes) in self.switches[s].tick(self.now) {
                self.transmit(Node::Switch(s), port, bytes);
            }
        }
        self.hear();
        for host in 0..self.hosts() {
            if self.dead.contains(&host) {
                continue;
            }
            let outputs = if host == self.root_host {
                self.root.poll(self.now)
            } else {
                self.leaves[host].poll(self.now)
            };
            for output in outputs {
                match output {
                    Output::Send(bytes) if host == self.root_host && !self.leaves(&bytes) => {
                        self.overtaken += 1;
                    }
                    Output::Send(bytes) => self.transmit(Node::Host(host), 0, bytes),
                    Output::Event(event) => self.events[host].push(event),
                }
            }
        }
    }

    /// Whether the root's card lets a frame of its host leave.
    fn leaves(&mut self, bytes: &[u8]) -> bool {
        let frame = Frame::parse(bytes, DEFAULT_ETHERTYPE).expect("of the root");
        let card = self.card.as_mut();
        card.is_none_or(|card| card.leaves(&frame)) || self.lax
    }

    /// A frame comes to the root's card: it may answer, and its host gets it later.
    fn arrive(&mut self, bytes: Vec<u8>) {
        let frame = Frame::parse(&bytes, DEFAULT_ETHERTYPE).expect("of the group");
        let card = self.card.as_mut();
        let answer = card.and_then(|card| card.answer(&frame, self.group.root));
        if let Some(down) = answer {
            self.answered += 1;
            let down = down.to_bytes(DEFAULT_ETHERTYPE).to_vec();
            self.transmit(Node::Host(self.root_host), 0, down);
        }
        let at = self.now + self.slow;
        self.host.push_back((at, bytes, answer.is_some()));
    }

    /// What has come to the root's host by now.
    fn hear(&mut self) {
        while self.host.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, bytes, answered) = self.host.pop_front().expect("checked");
            let _ = if answered {
                self.root.answered(&bytes, self.now)
            } else {
                self.root.receive(&bytes, self.now)
            };
        }
    }

    /// Runs until nothing more will happen by itself.
    pub fn run(&mut self) {
        self.run_until(u64::MAX);
    }

    /// Runs for some clocks.
    pub fn run_for(&mut self, clocks: u64) {
        self.run_until(self.now + clocks);
        self.pump();
    }

    fn run_until(&mut self, end: u64) {
        for _ in 0..1_000_000 {
            self.pump();
            let mut next: Vec<u64> = self
                .switches
                .iter()
                .filter_map(Switch::next_deadline)
                .collect();
            next.extend(self.queue.keys().next().map(|k| k.0));
            next.extend(self.root.next_deadline());
            next.extend(self.host.front().map(|(at, ..)| *at));
            let alive = (0..self.hosts()).filter(|h| !self.dead.contains(h));
            next.extend(alive.filter_map(|h| self.leaves[h].next_deadline()));
            let Some(next) = next.into_iter().min() else {
                return;
            };
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            while self
                .queue
                .first_key_value()
                .is_some_and(|(k, _)| k.0 <= self.now)
            {
                let (_, (to, port, bytes)) = self.queue.pop_first().expect("checked");
                match to {
                    Node::Switch(s) => {
                        for (out, bytes) in self.switches[s].receive(port, &bytes, self.now) {
                            self.transmit(Node::Switch(s), out, bytes);
                        }
                    }
                    Node::Host(h) if self.dead.contains(&h) => {}
                    Node::Host(h) if h == self.root_host => self.arrive(bytes),
                    Node::Host(h) => {
                        let _ = self.leaves[h].receive(&bytes, self.now);
                    }
                }
            }
        }
        panic!("no end");
    }

    /// The results that a host has had, in order.
    pub fn done(&self, host: usize) -> Vec<Outcome> {
        let done = |e: &Event| {
            if let Event::Done(outcome) = e {
                Some(*outcome)
            } else {
                None
            }
        };
        self.events[host].iter().filter_map(done).collect()
    }

    /// The root's last report of who is missing: (missing, silent).
    pub fn missing(&self) -> Option<(Vec<Address>, Vec<Address>)> {
        self.events[self.root_host]
            .iter()
            .rev()
            .find_map(|e| match e {
                Event::Missing {
                    missing, silent, ..
                } => Some((missing.clone(), silent.clone())),
                _ => None,
            })
    }

    pub fn in_use(&self) -> usize {
        self.switches.iter().map(Switch::in_use).sum()
    }

    pub fn counted(&self, counter: Counter) -> u64 {
        let ports = |s: &Switch| {
            (0..s.ports())
                .filter_map(|p| s.counters(p))
                .collect::<Vec<_>>()
        };
        let all: Vec<Counters> = self.switches.iter().flat_map(ports).collect();
        Counters::total(&all).get(counter)
    }
}
