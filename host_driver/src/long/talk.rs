//! What is said about long messages, and the memory that it is said from.

use std::collections::{HashMap, VecDeque};

use tributary_protocol::xud::rendezvous::{PART, PART_HEADER_LEN, RENDEZVOUS_LEN, Said};
use tributary_protocol::xud::{Layer, Peer};

use crate::Buffer;
use crate::parts::LINE;
use crate::port::{Arrival, Message};

/// Parts under way, of all messages of an endpoint.
const PARTS: usize = 8;
/// Other things said and not acknowledged; more wait.
const SMALL: usize = 64;
const PART_BYTES: usize = PART + PART_HEADER_LEN;

/// Bytes of memory that an endpoint needs for what it says.
pub(crate) fn memory_bytes() -> usize {
    PARTS * PART_BYTES.next_multiple_of(LINE) + SMALL * RENDEZVOUS_LEN.next_multiple_of(LINE)
}

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Announce,
    Grant,
    Landed,
    Part,
    Done,
    Abort,
    /// Asked by who sends.
    AskReceiver,
    /// Asked by who receives.
    AskSender,
}

impl Kind {
    fn of(said: &Said<'_>) -> Self {
        match said {
            Said::Announce { .. } => Self::Announce,
            Said::Grant(_) => Self::Grant,
            Said::Landed => Self::Landed,
            Said::Part { .. } => Self::Part,
            Said::Done(_) => Self::Done,
            Said::Abort => Self::Abort,
            Said::Ask { receiver: false } => Self::AskReceiver,
            Said::Ask { receiver: true } => Self::AskSender,
        }
    }
}

/// What is under way.
pub(super) struct Talk {
    small: Vec<Buffer>,
    parts: Vec<Buffer>,
    /// What waits for memory, in order: to whom, of which message, and the bytes.
    unsaid: VecDeque<(Peer, u64, Kind, Vec<u8>)>,
    flying: HashMap<u64, (Peer, u64, Kind)>,
    next: u64,
}

impl Talk {
    pub fn new(alloc: impl Fn(usize) -> Option<Buffer>) -> Self {
        Self {
            parts: (0..PARTS).filter_map(|_| alloc(PART_BYTES)).collect(),
            small: (0..SMALL).filter_map(|_| alloc(RENDEZVOUS_LEN)).collect(),
            unsaid: VecDeque::new(),
            flying: HashMap::new(),
            next: 0,
        }
    }

    /// Messages of the layer under way.
    pub fn flying(&self) -> usize {
        self.flying.len()
    }

    pub fn is_idle(&self) -> bool {
        self.flying.is_empty() && self.unsaid.is_empty()
    }

    /// Whether a peer is being asked, or something waits to be said to it.
    pub fn asks(&self, peer: Peer) -> bool {
        let asks = |kind: Kind| matches!(kind, Kind::AskReceiver | Kind::AskSender);
        let mut flying = self.flying.values();
        flying.any(|(to, _, kind)| *to == peer && asks(*kind))
            || self.unsaid.iter().any(|(to, ..)| *to == peer)
    }

    /// Whether this was said of a message and has not arrived.
    pub fn says(&self, peer: Peer, id: u64, kind: Kind) -> bool {
        let this = (peer, id, kind);
        let mut unsaid = self.unsaid.iter();
        self.flying.values().any(|said| *said == this)
            || unsaid.any(|(to, of, said, _)| (*to, *of, *said) == this)
    }

    /// Says something, as soon as there is memory for it; parts are [`Self::say_part`].
    pub fn say(&mut self, layer: &mut Layer<Message, Arrival>, to: Peer, id: u64, said: &Said<'_>) {
        let (kind, bytes) = (Kind::of(said), said.encode(id));
        self.unsaid.push_back((to, id, kind, bytes));
        self.retry(layer);
    }

    /// Says what waited for memory; whether there was any.
    pub fn retry(&mut self, layer: &mut Layer<Message, Arrival>) -> bool {
        let mut any = false;
        while !self.unsaid.is_empty()
            && let Some(mut buffer) = self.small.pop()
        {
            let Some((to, id, kind, bytes)) = self.unsaid.pop_front() else {
                self.small.push(buffer);
                break;
            };
            if buffer.resize(bytes.len()).is_ok() {
                buffer.copy_from_slice(&bytes);
            }
            self.send(layer, (to, id, kind), buffer);
            any = true;
        }
        any
    }

    /// Whether there is memory for a part.
    pub fn takes_part(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Sends a part.
    pub fn say_part(
        &mut self,
        layer: &mut Layer<Message, Arrival>,
        to: Peer,
        id: u64,
        (offset, bytes): (usize, &[u8]),
    ) {
        let Some(mut buffer) = self.parts.pop() else {
            return;
        };
        let offset = offset as u32;
        let (head, length) = Said::Part { offset, bytes }.head(id);
        if buffer.resize(length + bytes.len()).is_ok() {
            buffer[..length].copy_from_slice(&head[..length]);
            buffer[length..].copy_from_slice(bytes);
        }
        self.send(layer, (to, id, Kind::Part), buffer);
    }

    fn send(
        &mut self,
        layer: &mut Layer<Message, Arrival>,
        said: (Peer, u64, Kind),
        buffer: Buffer,
    ) {
        let name = self.next;
        self.next += 1;
        // It is short, and its address was that of a message.
        let sent = layer.send_as(name, said.0, Message::Said(buffer), true);
        debug_assert_eq!(sent, Ok(()));
        self.flying.insert(name, said);
    }

    /// Something that was said has ended: to whom, of which message, and what.
    pub fn ended(&mut self, name: u64, message: Message) -> Option<(Peer, u64, Kind)> {
        let said = self.flying.remove(&name)?;
        let buffer = message.into_buffer();
        if said.2 == Kind::Part {
            self.parts.push(buffer);
        } else {
            self.small.push(buffer);
        }
        Some(said)
    }
}
