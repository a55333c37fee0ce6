//! Datagrams between two cards over two lossy links, slot by slot.
//!
//! Node 0 sends, node 1 receives; both are the models of [`tributary_protocol::xud`]. Everything travels as frames.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::roce::Link as Addresses;
use tributary_protocol::xud::{
    Card, CardConfig, CardStats, Event, Layer, LayerConfig, LayerStats, MAX_MESSAGE, Outcome,
    Packet, Peer, wire,
};

use crate::link::{Link, LinkConfig, LinkStats};

/// Queue pair at either end.
const QPN: u32 = 0x11;
/// Slots in which the acknowledgement of a message that is sent in full MTUs may come, beside the flight.
const MARGIN_SLOTS: u64 = 64;
/// More slots for each packet than any run of losses that a message survives.
const PATIENCE: u64 = 10_000;

/// What is sent over what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Messages.
    pub messages: u64,
    /// Bytes of a message, at most 64 KiB.
    pub size: usize,
    /// Largest payload of a packet, bytes.
    pub mtu: u16,
    /// Windows of the connection.
    pub windows: u32,
    /// Deliver in order.
    pub ordered: bool,
    /// Shortest round trip, slots.
    pub round_trip_slots: u32,
    /// How far packets overtake each other, slots, each way.
    pub reorder_slots: u32,
    /// Probability of loss, each way.
    pub loss: f64,
    /// Probability of duplication, each way.
    pub duplication: f64,
    /// What every random choice comes from.
    pub seed: u64,
    /// Length of a slot, the time of one full packet on the line, nanoseconds.
    pub slot_ns: u64,
}

impl Plan {
    /// The shortest timeout exponent that the network of this plan does not reach without loss.
    #[must_use]
    pub fn timeout(&self) -> u8 {
        let flight = u64::from(self.round_trip_slots) + 2 * u64::from(self.reorder_slots);
        let wait = (flight + MARGIN_SLOTS) * self.slot_ns;
        (0..31).find(|t| 4_096 << t >= wait).unwrap_or(31)
    }

    /// Packets of a message.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let head = if self.ordered { 4 } else { 0 };
        if self.size + head <= usize::from(self.mtu) {
            1
        } else {
            self.size.div_ceil(usize::from(self.mtu) - 12) as u64
        }
    }
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Report {
    /// Messages that ended OK.
    pub completed: u64,
    /// Messages that ended otherwise, and how the first of these did.
    pub failed: u64,
    /// How the first of these ended.
    pub first_failure: Option<Outcome>,
    /// Messages delivered for the first time, with every byte as sent.
    pub delivered: u64,
    /// Messages delivered again.
    pub duplicated: u64,
    /// Messages delivered with a byte that was not sent so.
    pub corrupted: u64,
    /// Messages delivered behind one that was sent later.
    pub overtaken: u64,
    /// The two layers, sender first.
    pub layers: [LayerStats; 2],
    /// The two cards, sender first.
    pub cards: [CardStats; 2],
    /// Link to the receiver, and back.
    pub links: [LinkStats; 2],
    /// Memory of the connection at either end, bytes, in use at the end.
    pub connection_bytes: [usize; 2],
    /// Slots until every message had ended.
    pub slots: u64,
}

impl Report {
    /// Messages reported OK that were never delivered.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.completed.saturating_sub(self.delivered)
    }

    /// True if every message ended OK and arrived once, unchanged.
    #[must_use]
    pub fn good(&self, plan: &Plan) -> bool {
        self.completed == plan.messages
            && self.delivered == plan.messages
            && (self.duplicated, self.corrupted) == (0, 0)
            && (self.overtaken == 0 || !plan.ordered)
    }
}

/// Sees every frame: node, slot, bytes.
pub type Watcher<'a> = dyn FnMut(usize, u64, &[u8]) -> Result<()> + 'a;

struct End {
    card: Card,
    layer: Layer,
    /// What it sends comes out of this one.
    out: Link<Vec<u8>>,
}

impl End {
    fn new(plan: &Plan, node: u32) -> Result<Self> {
        let mut card = Card::new(CardConfig {
            node,
            mtu: plan.mtu,
            table: 4_096,
            ..CardConfig::default()
        })?;
        let config = LayerConfig {
            qpn: QPN,
            windows: plan.windows,
            timeout: plan.timeout(),
            ordered: plan.ordered,
            receives: 1_024,
            sends: 1_024,
            attempts: 16,
            ..LayerConfig::default()
        };
        let trip = plan.round_trip_slots;
        let link = LinkConfig {
            delay_slots: if node == 0 {
                trip.div_ceil(2)
            } else {
                trip / 2
            },
            reorder_slots: plan.reorder_slots,
            loss: plan.loss,
            duplication: plan.duplication,
        };
        Ok(Self {
            layer: Layer::new(config, &mut card)?,
            out: Link::new(link, plan.seed, node.into())?,
            card,
        })
    }
}

/// Payload of message `number`: its number as far as it fits, then random bytes.
fn payload(plan: &Plan, number: u64) -> Vec<u8> {
    let mut bytes = vec![0; plan.size];
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed ^ number.wrapping_mul(0x9E37_79B9));
    rng.fill_bytes(&mut bytes);
    let head = plan.size.min(8);
    bytes[..head].copy_from_slice(&number.to_le_bytes()[..head]);
    bytes
}

/// Runs a plan. `frames` sees every frame at both ends of its link; `watch` is told how many messages have ended.
///
/// # Errors
/// A parameter out of range, a watcher that failed, or messages that do not end.
pub fn run(plan: &Plan, frames: &mut Watcher<'_>, watch: &mut dyn FnMut(u64)) -> Result<Report> {
    ensure!(
        (8..=MAX_MESSAGE).contains(&plan.size),
        "messages of {} bytes: 8 to {MAX_MESSAGE}",
        plan.size
    );
    let mut ends = [End::new(plan, 0)?, End::new(plan, 1)?];
    let to = Peer { node: 1, qpn: QPN };
    let mut run = Run::new(plan);
    let limit = 1_000_000 + PATIENCE * plan.messages * plan.packets();
    let mut slot = 0;
    while run.ended() < plan.messages {
        ensure!(slot < limit, "messages have not ended after {limit} slots");
        let now = slot * plan.slot_ns;
        // Enough waits for every window to find something.
        while run.submitted < plan.messages && ends[0].layer.pending() < 2 * plan.windows as usize {
            let bytes: Arc<[u8]> = payload(plan, run.submitted).into();
            ends[0].layer.send(to, bytes)?;
            run.submitted += 1;
        }
        for at in 0..2 {
            let (left, right) = ends.split_at_mut(1);
            let (end, other) = if at == 0 {
                (&mut left[0], &mut right[0])
            } else {
                (&mut right[0], &mut left[0])
            };
            while let Some(frame) = other.out.receive(slot) {
                frames(at, slot, &frame)?;
                end.card.receive_frame(&frame, now);
            }
            while end.card.land() {}
            end.layer.run(&mut end.card, now);
            while let Some(event) = end.layer.take_event() {
                run.note(event);
            }
            // One request a slot; acknowledgements are a tenth of it and go along.
            while let Some(out) = end.card.next_packet(now) {
                let request = !matches!(out.packet, Packet::Ack(_));
                let link = Addresses::between(at as u32, out.to);
                let frame = wire::encode_frame(&link, &out.packet).context("cannot send")?;
                frames(at, slot, &frame)?;
                end.out.send(frame, slot);
                if request {
                    break;
                }
            }
        }
        watch(run.ended());
        slot += 1;
    }
    Ok(run.report(&ends, slot))
}

struct Run<'a> {
    plan: &'a Plan,
    submitted: u64,
    completed: u64,
    failed: u64,
    first_failure: Option<Outcome>,
    seen: Vec<u64>,
    delivered: u64,
    duplicated: u64,
    corrupted: u64,
    overtaken: u64,
    newest: u64,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            submitted: 0,
            completed: 0,
            failed: 0,
            first_failure: None,
            seen: vec![0; plan.messages.div_ceil(64) as usize],
            delivered: 0,
            duplicated: 0,
            corrupted: 0,
            overtaken: 0,
            newest: 0,
        }
    }

    fn ended(&self) -> u64 {
        self.completed + self.failed
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Completed {
                outcome: Outcome::Ok,
                ..
            } => self.completed += 1,
            Event::Completed { outcome, .. } => {
                self.failed += 1;
                self.first_failure.get_or_insert(outcome);
            }
            Event::Delivered { payload: got, .. } => {
                let number = got
                    .first_chunk()
                    .map_or(u64::MAX, |head| u64::from_le_bytes(*head));
                if number >= self.submitted || got != payload(self.plan, number) {
                    self.corrupted += 1;
                    return;
                }
                let (word, bit) = (&mut self.seen[(number / 64) as usize], 1 << (number % 64));
                if *word & bit == 0 {
                    self.delivered += 1;
                } else {
                    self.duplicated += 1;
                }
                *word |= bit;
                self.overtaken += u64::from(number < self.newest);
                self.newest = self.newest.max(number);
            }
        }
    }

    fn report(self, ends: &[End; 2], slots: u64) -> Report {
        let each = |end: &End| (end.layer.stats().clone(), end.card.stats().clone());
        let ((tx_layer, tx_card), (rx_layer, rx_card)) = (each(&ends[0]), each(&ends[1]));
        Report {
            completed: self.completed,
            failed: self.failed,
            first_failure: self.first_failure,
            delivered: self.delivered,
            duplicated: self.duplicated,
            corrupted: self.corrupted,
            overtaken: self.overtaken,
            layers: [tx_layer, rx_layer],
            cards: [tx_card, rx_card],
            links: [ends[0].out.stats(), ends[1].out.stats()],
            connection_bytes: [&ends[0], &ends[1]].map(|end| end.layer.connection_bytes()),
            slots,
        }
    }
}
