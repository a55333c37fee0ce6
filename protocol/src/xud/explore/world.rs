//! Two nodes and everything that was ever sent between them.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Scenario, Violation};
use crate::xud::{Card, CardConfig, Event, Layer, LayerConfig, Outcome, Packet, Peer, Reply};

/// More than any timeout and pause.
const LONG_NS: u64 = 1 << 24;
/// Queue pair of the receiver; those of the sender are 1 and 2.
const RECEIVER: Peer = Peer { node: 1, qpn: 1 };
/// All messages must have ended after so many times that time passed.
const PATIENCE: usize = 64;

/// One thing that can happen.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Submit(usize),
    Deliver(usize, Packet),
    Land,
    Wait(usize),
    Restart(usize),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Submit(message) => write!(f, "message {message} is submitted"),
            Self::Deliver(node, Packet::Ack(ack)) => {
                let reply = match ack.reply {
                    Reply::Ok => "ACK".to_owned(),
                    Reply::Rnr => "RNR".to_owned(),
                    Reply::Nak(nak) => format!("NAK {nak}"),
                };
                write!(
                    f,
                    "node {node} takes {reply} of psn {} {:?}",
                    ack.psn,
                    ack.echo.map(|echo| echo.window)
                )
            }
            Self::Deliver(node, Packet::Send(send)) => {
                let (psn, window, payload) = (send.psn, send.window, &send.payload);
                write!(f, "node {node} takes SEND psn {psn} {window:?} {payload:?}")
            }
            Self::Deliver(node, Packet::Unknown { opcode, .. }) => {
                write!(f, "node {node} takes opcode {opcode:#x}")
            }
            Self::Land => write!(f, "a message becomes visible at node 1"),
            Self::Wait(node) => write!(f, "time passes at node {node}"),
            Self::Restart(node) => write!(f, "the process of node {node} is replaced"),
        }
    }
}

#[derive(Clone, Hash)]
struct Node {
    card: Card,
    layers: Vec<Layer>,
    now: Clock,
}

/// Left out of states: only its passing counts.
#[derive(Clone, Copy)]
struct Clock(u64);

impl Hash for Clock {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Clone, Hash)]
pub(super) struct World {
    scenario: Arc<Plan>,
    nodes: [Node; 2],
    network: BTreeSet<(usize, Packet)>,
    submitted: usize,
    delivered: Vec<bool>,
    ended: Vec<Option<Outcome>>,
    restarts: [u8; 2],
}

/// The scenario; the same in all states.
struct Plan(Scenario);

impl Hash for Plan {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

fn layer(scenario: &Scenario, card: &mut Card, qpn: u32, node: usize) -> Option<Layer> {
    let config = LayerConfig {
        qpn,
        windows: scenario.windows,
        attempts: scenario.attempts,
        rnr_attempts: 1,
        receives: if node == 1 { scenario.receives } else { 4 },
        sends: 8,
        mutations: scenario.mutations,
        ..LayerConfig::default()
    };
    Layer::new(config, card).ok()
}

impl World {
    /// The first state; `None` for a scenario that cannot be.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let card = |node| {
            Card::new(CardConfig {
                node,
                mtu: 256,
                table: 16,
                psn_bits: scenario.psn_bits,
                wheel: 4,
                mutations: scenario.mutations,
            })
            .ok()
        };
        let node = |at: usize, qpns: std::ops::RangeInclusive<u32>| {
            let mut card = card(at as u32)?;
            let layers: Option<Vec<_>> = qpns
                .map(|qpn| layer(scenario, &mut card, qpn, at))
                .collect();
            Some(Node {
                layers: layers?,
                card,
                now: Clock(0),
            })
        };
        let queues = u32::from(*scenario.messages.iter().max()?) + 1;
        let mut world = Self {
            nodes: [node(0, 1..=queues)?, node(1, 1..=1)?],
            scenario: Arc::new(Plan(scenario.clone())),
            network: BTreeSet::new(),
            submitted: 0,
            delivered: vec![false; scenario.messages.len()],
            ended: vec![None; scenario.messages.len()],
            restarts: [scenario.sender_restarts, scenario.receiver_restarts],
        };
        if scenario.opened {
            world.connect(queues)?;
        }
        Some(world)
    }

    /// A message of each queue pair goes through a network without faults; then nothing is left of it but open windows.
    fn connect(&mut self, queues: u32) -> Option<()> {
        for queue in 0..queues as usize {
            self.nodes[0].layers[queue].send(RECEIVER, [].into()).ok()?;
        }
        for _ in 0..16 {
            for at in 0..2 {
                let node = &mut self.nodes[at];
                for layer in &mut node.layers {
                    layer.run(&mut node.card, 0);
                    while layer.take_event().is_some() {}
                }
                while let Some(out) = self.nodes[at].card.next_packet(0) {
                    let card = &mut self.nodes[out.to as usize].card;
                    card.receive(at as u32, &out.packet, 0);
                    card.land();
                }
            }
        }
        // Timers of the connecting are over before the exploration begins.
        for at in 0..2 {
            self.nodes[at].now.0 += LONG_NS;
        }
        self.settle().ok()
    }

    pub fn all_ended(&self) -> bool {
        self.ended.iter().all(Option::is_some)
    }

    /// Everything that can happen now.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.submitted < self.ended.len() {
            steps.push(Step::Submit(self.submitted));
        }
        if self.scenario.0.slow_landing {
            steps.push(Step::Land);
        }
        steps.extend((0..2).map(Step::Wait));
        steps.extend(
            (0..2)
                .filter(|node| self.restarts[*node] > 0)
                .map(Step::Restart),
        );
        let packets = self.network.iter();
        steps.extend(packets.map(|(to, packet)| Step::Deliver(*to, packet.clone())));
        steps
    }

    pub fn perform(&mut self, step: &Step) -> Result<(), Violation> {
        let scenario = Arc::clone(&self.scenario);
        match step {
            Step::Submit(message) => {
                let queue = usize::from(scenario.0.messages[*message]);
                let node = &mut self.nodes[0];
                let bytes: Arc<[u8]> = [*message as u8, queue as u8].as_slice().into();
                if node.layers[queue].send(RECEIVER, bytes).is_err() {
                    return Err(Violation::Foreign);
                }
                self.submitted += 1;
            }
            Step::Deliver(to, packet) => {
                let node = &mut self.nodes[*to];
                node.card.receive(1 - *to as u32, packet, node.now.0);
            }
            Step::Land => {
                self.nodes[1].card.land();
            }
            Step::Wait(node) => self.nodes[*node].now.0 += LONG_NS,
            Step::Restart(at) => {
                self.restarts[*at] -= 1;
                let node = &mut self.nodes[*at];
                let layers = std::mem::take(&mut node.layers);
                let mut events = Vec::new();
                for old in layers {
                    let qpn = old.config().qpn;
                    events.extend(old.close(&mut node.card));
                    node.layers
                        .extend(layer(&scenario.0, &mut node.card, qpn, *at));
                }
                events.into_iter().try_for_each(|event| self.note(event))?;
            }
        }
        self.settle()
    }

    /// Software runs and packets leave until nothing moves; what leaves stays in the network for ever.
    fn settle(&mut self) -> Result<(), Violation> {
        let mut events = Vec::new();
        for at in 0..2 {
            let slow = self.scenario.0.slow_landing && at == 1;
            let node = &mut self.nodes[at];
            let now = node.now.0;
            loop {
                for layer in &mut node.layers {
                    layer.run(&mut node.card, now);
                    events.extend(std::iter::from_fn(|| layer.take_event()));
                }
                let landed = !slow && node.card.land();
                let mut sent = false;
                while let Some(out) = node.card.next_packet(now) {
                    sent = true;
                    self.network.insert((out.to as usize, out.packet));
                }
                if !landed && !sent {
                    break;
                }
            }
        }
        events.into_iter().try_for_each(|event| self.note(event))
    }

    /// Checks what software is told.
    fn note(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Delivered { from, payload } => {
                let message = payload.first().copied().map_or(usize::MAX, usize::from);
                let sent = self.scenario.0.messages.get(message);
                let right = sent.is_some_and(|queue| {
                    payload.get(1) == Some(queue) && from.qpn == u32::from(*queue) + 1
                });
                if !right {
                    return Err(Violation::Foreign);
                }
                if std::mem::replace(&mut self.delivered[message], true) {
                    return Err(Violation::Twice(message));
                }
            }
            Event::Completed {
                outcome, buffer, ..
            } => {
                let message = buffer.first().copied().map_or(0, usize::from);
                if self.ended[message].replace(outcome).is_some() {
                    return Err(Violation::EndedTwice(message));
                }
                if outcome == Outcome::Ok && !self.delivered[message] {
                    return Err(Violation::Lost(message));
                }
            }
        }
        Ok(())
    }

    /// A message that does not end although time passes.
    pub fn endless(&self) -> Option<Violation> {
        let mut world = self.clone();
        for _ in 0..PATIENCE {
            let open = (0..world.submitted).find(|message| world.ended[*message].is_none());
            open?;
            if let Err(violation) = world.perform(&Step::Wait(0)) {
                return Some(violation);
            }
        }
        (0..world.submitted)
            .find(|message| world.ended[*message].is_none())
            .map(Violation::Endless)
    }
}
