//! The card's datagram engine: queue pairs, requests in flight, acknowledgements.
//!
//! It keeps no state per connection. Time is in nanoseconds, given with each call; every method is one atomic operation.

mod onesided;
mod queues;
mod receive;
mod transmit;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use thiserror::Error;

use super::Peer;
use super::codes::{Drops, Nak, Outcome};
use super::config::{CardConfig, ConfigError};
use super::table::Table;
use super::wheel::Wheel;
use super::wire::{Ack, Packet, Window};
pub use onesided::{Grant, Reach};
use onesided::{Opened, Waiting};
pub(crate) use queues::Stall;

/// The shortest timeout, ns.
const TIMEOUT_UNIT_NS: u64 = 4_096;
/// Half of the shortest timeout, ns: width of the wheel's buckets.
const TICK_NS: u64 = 2_048;
/// Acknowledgements that may wait for the line. When more wait, requests are dropped as if lost.
const ACK_QUEUE: usize = 4_096;

/// What a queue pair is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Requests must carry this key.
    pub q_key: u32,
    /// First PSN, 24 bits.
    pub first_psn: u32,
    /// Timeout exponent t, 0 to 31: 4.096 µs · 2^t (XUD-1).
    pub timeout: u8,
    /// Requests that may wait to be sent.
    pub sends: u16,
    /// Receive requests that may be posted.
    pub receives: u16,
    /// Slots of its one completion queue (XUD-7).
    pub completions: u32,
}

/// A request to send. The payload is `head`, then `range` of `buffer`, read when the packet leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SendRequest {
    /// The user's name for it.
    pub id: u64,
    /// Where to.
    pub to: Peer,
    /// Version of the XUDETH: 0 without flags and epoch, 1 with the echo in acknowledgements.
    pub version: u8,
    /// Flags of the XUDETH.
    pub flags: u8,
    /// Window identity.
    pub window: Window,
    /// Bytes in front.
    pub head: Vec<u8>,
    /// Memory of the user (XUD-9: shared until the request leaves).
    pub buffer: Arc<[u8]>,
    /// Which of its bytes.
    pub range: (usize, usize),
}

/// Memory for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveRequest {
    /// The user's name for it.
    pub id: u64,
    /// Bytes.
    pub length: u32,
}

/// Entry of a completion queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Completion<P = Vec<u8>> {
    /// A request to send has ended.
    Sent {
        /// Its name.
        id: u64,
        /// How.
        outcome: Outcome,
        /// Its acknowledgement said that it came marked (CL-4).
        marked: bool,
    },
    /// A message has arrived; with the whole XUDETH.
    Received {
        /// Name of the receive request.
        id: u64,
        /// Where from.
        from: Peer,
        /// Version of the XUDETH.
        version: u8,
        /// Flags of the XUDETH.
        flags: u8,
        /// Window identity.
        window: Window,
        /// Bytes written to the receive request's memory.
        payload: P,
    },
    /// A message has used up a receive request that names no memory of the queue pair; its sender was told so.
    Refused {
        /// Name of the receive request.
        id: u64,
        /// Where from.
        from: Peer,
        /// Version of the XUDETH.
        version: u8,
        /// Flags of the XUDETH.
        flags: u8,
        /// Window identity.
        window: Window,
    },
}

impl<P> Completion<P> {
    /// A request has ended without an acknowledgement.
    pub(crate) fn unsent(id: u64, outcome: Outcome) -> Self {
        Self::Sent {
            id,
            outcome,
            marked: false,
        }
    }
}

/// A packet for the line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing {
    /// To this node.
    pub to: u32,
    /// The packet.
    pub packet: Packet,
}

/// Why something cannot be posted. Nothing happens and no completion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PostError {
    /// No such queue pair.
    #[error("no queue pair {0}")]
    NoQp(u32),
    /// The queue holds as many as it was made for.
    #[error("the {0} queue is full")]
    Full(&'static str),
    /// The range does not lie in the buffer, or the version is unknown.
    #[error("{0} of the request is out of range")]
    Request(&'static str),
}

/// Why a queue pair cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QpError {
    /// The number is taken.
    #[error("queue pair {0} exists")]
    Exists(u32),
    /// A number does not fit.
    #[error("{field} = {value}, the most is {max}")]
    Range {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The largest.
        max: u32,
    },
}

/// Counters of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardStats {
    /// Requests put on the line.
    pub sent: u64,
    /// Acknowledgements put on the line, of every kind.
    pub acks_sent: u64,
    /// Answers of one-sided operations put on the line.
    pub answers_sent: u64,
    /// One-sided operations done, each number once.
    pub one_sided: u64,
    /// Requests accepted.
    pub accepted: u64,
    /// Requests that ended OK.
    pub acknowledged: u64,
    /// Requests that ended in TIMEOUT.
    pub timeouts: u64,
    /// Requests that waited because the number's place in the table was taken.
    pub stalls: u64,
    /// Requests not accepted because too many acknowledgements waited; the sender sees a loss.
    pub ack_overload: u64,
    /// Datagrams that came marked by a switch (CL-4), counted like the next two only while marks are looked at.
    pub marked: u64,
    /// Acknowledgements put on the line that say so of their requests.
    pub marks_told: u64,
    /// Requests that ended by such an acknowledgement.
    pub marks_heard: u64,
    /// By reason.
    pub drops: Drops,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Qp {
    shape: Shape,
    /// PSN of the latest request.
    psn: u32,
    /// First epoch that this queue pair may have handed out (XUD-6).
    floor: u16,
    sends: VecDeque<SendRequest>,
    receives: VecDeque<ReceiveRequest>,
    cq: VecDeque<Completion>,
    /// It takes requests from the line.
    receiving: bool,
    /// Slots of `cq` promised to requests in the queue, in flight, or landing (XUD-4).
    reserved: u32,
}

impl Qp {
    fn room(&self) -> bool {
        (self.cq.len() as u64 + u64::from(self.reserved)) < u64::from(self.shape.completions)
    }

    /// Uses a promised slot.
    fn complete(&mut self, completion: Completion) {
        self.reserved = self.reserved.saturating_sub(1);
        self.cq.push_back(completion);
    }
}

/// A message on its way into host memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Landing {
    /// To this queue pair.
    pub(crate) qpn: u32,
    /// What its software is told.
    pub(crate) completion: Completion,
    /// What the sender is told then.
    ack: Option<(u32, Ack)>,
}

/// The datagram engine of one card.
#[derive(Clone, Debug)]
pub struct Card {
    config: CardConfig,
    qps: BTreeMap<u32, Qp>,
    /// Latest epoch of each queue pair number; outlives the queue pair (XUD-6).
    epochs: BTreeMap<u32, u16>,
    table: Table,
    wheel: Wheel<(u32, u32)>,
    /// Acknowledgements, and answers of one-sided operations.
    answers: VecDeque<(u32, Packet)>,
    landing: VecDeque<Landing>,
    /// Windows of one-sided operations (XUD-13).
    windows: BTreeMap<u16, Opened>,
    /// One-sided requests and answers that have arrived.
    waiting: VecDeque<Waiting>,
    /// Queue pair that sent last.
    turn: u32,
    /// What 2^0 of a timeout is, ns (XUD-1).
    timeout_unit: u64,
    /// Marks of switches are looked at, told and heard (CL-4).
    marks: bool,
    stats: CardStats,
}

/// State that decides what can still happen: counters and clocks are left out.
impl std::hash::Hash for Card {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.qps.hash(state);
        self.epochs.hash(state);
        self.table.hash(state);
        self.answers.hash(state);
        self.landing.hash(state);
        self.windows.hash(state);
        self.waiting.hash(state);
    }
}

impl Card {
    /// A card without queue pairs.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn new(config: CardConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::fresh(config))
    }

    fn fresh(config: CardConfig) -> Self {
        Self {
            config,
            qps: BTreeMap::new(),
            epochs: BTreeMap::new(),
            table: Table::new(config.table),
            wheel: Wheel::new(TICK_NS.ilog2(), usize::from(config.wheel)),
            answers: VecDeque::new(),
            landing: VecDeque::new(),
            windows: BTreeMap::new(),
            waiting: VecDeque::new(),
            turn: 0,
            timeout_unit: TIMEOUT_UNIT_NS,
            marks: false,
            stats: CardStats::default(),
        }
    }

    /// As new, but for the epochs: none is handed out again (XUD-6).
    pub fn reset(&mut self) {
        let epochs = std::mem::take(&mut self.epochs);
        let fresh = Self::fresh(self.config);
        *self = Self { epochs, ..fresh };
    }

    /// Whether marks of switches are looked at (CL-4): a request that came marked has an acknowledgement that says so, and the
    /// completion of one that was answered so says it, too. Off in a new card.
    pub fn look_at_marks(&mut self, on: bool) {
        self.marks = on;
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &CardConfig {
        &self.config
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> &CardStats {
        &self.stats
    }

    /// Makes a queue pair. It accepts no epoch that an earlier one of its number has handed out (XUD-6).
    ///
    /// # Errors
    /// The number is taken, or a field does not fit.
    pub fn create_qp(&mut self, qpn: u32, shape: Shape) -> Result<(), QpError> {
        let fits = |field, value, max| {
            if value <= max {
                Ok(())
            } else {
                Err(QpError::Range { field, value, max })
            }
        };
        fits("queue pair", qpn, 0xFF_FFFF)?;
        fits("first PSN", shape.first_psn, 0xFF_FFFF)?;
        fits("timeout exponent", shape.timeout.into(), 31)?;
        if self.qps.contains_key(&qpn) {
            return Err(QpError::Exists(qpn));
        }
        let psn = shape.first_psn.wrapping_sub(1) & self.psn_mask();
        let epoch = self.epochs.entry(qpn).or_insert(0);
        *epoch = epoch.wrapping_add(1);
        let qp = Qp {
            shape,
            psn,
            floor: *epoch,
            sends: VecDeque::new(),
            receives: VecDeque::new(),
            cq: VecDeque::new(),
            receiving: true,
            reserved: 0,
        };
        self.qps.insert(qpn, qp);
        Ok(())
    }

    /// Ends a queue pair: what its completion queue held, then FLUSHED for every request that had not ended (XUD-2).
    /// Messages that had not landed are forgotten; they were not acknowledged (XUD-4).
    pub fn destroy_qp(&mut self, qpn: u32) -> Vec<Completion> {
        let Some(qp) = self.qps.remove(&qpn) else {
            return Vec::new();
        };
        self.landing.retain(|landing| landing.qpn != qpn);
        let of = |waiting: &Waiting| matches!(waiting, Waiting::Answer(of, ..) if *of == qpn);
        self.waiting.retain(|waiting| !of(waiting));
        let outcome = Outcome::Flushed;
        let waiting = qp.sends.into_iter().map(|request| request.id);
        let flying = self.table.flush(qpn).into_iter().map(|entry| entry.id);
        let flushed = flying.chain(waiting);
        let flushed = flushed.map(|id| Completion::unsent(id, outcome));
        qp.cq.into_iter().chain(flushed).collect()
    }

    /// Latest epoch of a queue pair number, also while there is no queue pair of it; none if there never was one.
    #[must_use]
    pub fn epoch(&self, qpn: u32) -> Option<u16> {
        self.epochs.get(&qpn).copied()
    }

    /// A new epoch of a queue pair. Those more than half the range behind it are no longer accepted.
    pub fn next_epoch(&mut self, qpn: u32) -> Option<u16> {
        let qp = self.qps.get_mut(&qpn)?;
        let epoch = self.epochs.get_mut(&qpn)?;
        *epoch = epoch.wrapping_add(1);
        if epoch.wrapping_sub(qp.floor) >= 1 << 15 {
            qp.floor = epoch.wrapping_sub((1 << 15) - 1);
        }
        Some(*epoch)
    }

    /// Requests in flight, of all queue pairs.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.table.used()
    }

    /// When the first of the requests in flight ends in a timeout, if nothing answers it.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        let live = |(place, serial): &(u32, u32)| self.table.is_live(*place, *serial);
        self.wheel.next(live)
    }

    /// The oldest completion of a queue pair.
    pub fn poll(&mut self, qpn: u32) -> Option<Completion> {
        self.qps.get_mut(&qpn)?.cq.pop_front()
    }

    /// Posts memory for a message.
    ///
    /// # Errors
    /// No such queue pair, or its queue is full.
    pub fn post_receive(&mut self, qpn: u32, request: ReceiveRequest) -> Result<(), PostError> {
        let qp = self.qps.get_mut(&qpn).ok_or(PostError::NoQp(qpn))?;
        if qp.receives.len() >= usize::from(qp.shape.receives) {
            return Err(PostError::Full("receive"));
        }
        qp.receives.push_back(request);
        Ok(())
    }

    fn psn_mask(&self) -> u32 {
        (1 << self.config.psn_bits) - 1
    }
}
