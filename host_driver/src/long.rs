//! Messages above 64 KiB of an endpoint (XUD-12).
//!
//! The sender announces one; when the receiver has memory for it, it says where; then the sender's card writes it there in bulk, or it
//! goes in parts, which are messages of the reliable layer, where a card cannot; when all is there, the receiver delivers it and says
//! that it is done. What is said is [`tributary_protocol::xud::rendezvous`].

mod incoming;
mod outgoing;
mod talk;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;

use tributary_protocol::xud::rendezvous::{ANNOUNCED_MAX, MAX_LONG, Said};
use tributary_protocol::xud::{self, Event, Layer, Outcome, Peer};

use crate::endpoint::EndpointConfig;
use crate::port::{Arrival, Message, Port};
use crate::{Buffer, Error, PostError, ProtectionDomain};
use incoming::Incoming;
use outgoing::{Outgoing, Waiting};
use talk::{Kind, Talk};

pub(crate) use talk::memory_bytes;

/// Bulk writes that an endpoint has in its card at a time.
const WRITES: usize = 4;

/// Counters of an endpoint's messages above 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongStats {
    /// Sent ones whose bytes a bulk transfer has moved.
    pub sent_in_bulk: u64,
    /// Sent ones whose bytes went in parts.
    pub sent_in_parts: u64,
    /// Delivered here.
    pub delivered: u64,
    /// Announced to this endpoint and refused.
    pub refused: u64,
    /// Given up by the other side, or by this one because the other side is gone, before all bytes were here.
    pub abandoned: u64,
    /// What peers said that fits nothing.
    pub stray: u64,
}

/// Memory of a long message.
pub(crate) enum Bytes {
    /// It came in parts.
    Own(Vec<u8>),
    /// A card has written it.
    Region(Buffer),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Region(buffer) => buffer,
        }
    }
}

impl Bytes {
    fn part(&mut self, at: usize, length: usize) -> Option<&mut [u8]> {
        let bytes: &mut [u8] = match self {
            Self::Own(bytes) => bytes,
            Self::Region(buffer) => buffer,
        };
        bytes.get_mut(at..at.checked_add(length)?)
    }
}

/// What long messages work with.
pub(crate) struct Hands<'a> {
    pub layer: &'a mut Layer<Message, Arrival>,
    pub port: &'a mut Port,
    pub domain: &'a ProtectionDomain,
    pub now: u64,
}

/// What waits to be sent to a peer, in its order.
#[derive(Default)]
struct Line {
    queue: VecDeque<Waiting>,
    /// Announced, and not done.
    announced: usize,
    /// Of an ordered endpoint: what comes next waits until all bytes of this one are on their way.
    behind: Option<u64>,
}

/// The long messages of an endpoint.
pub(crate) struct Long {
    talk: Talk,
    /// Name of the next message.
    next: u64,
    ordered: bool,
    /// Bytes that those that arrive may take together, and that they take, with what was delivered and not yet taken.
    room: usize,
    used: usize,
    outgoing: BTreeMap<u64, Outgoing>,
    lines: BTreeMap<Peer, Line>,
    /// Granted ones whose turn in the card has not come.
    to_write: VecDeque<u64>,
    /// Bulk writes in the card, by name.
    writes: BTreeMap<u64, u64>,
    next_write: u64,
    /// Those of which the next part can go.
    parts: VecDeque<u64>,
    incoming: BTreeMap<(Peer, u64), Incoming>,
    /// Announced ones that wait for memory.
    waiting: VecDeque<(Peer, u64)>,
    /// When silence is looked for next, and how long somebody is silent before being asked, ns.
    check_at: u64,
    silence: u64,
    stats: LongStats,
}

/// Whether the other side is gone, as far as the reliable layer can tell.
fn is_gone(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Unreachable | Outcome::Unresponsive | Outcome::BadQp
    )
}

impl Long {
    /// With the memory that [`memory_bytes`] counts.
    pub fn new(config: &EndpointConfig, alloc: impl Fn(usize) -> Option<Buffer>, now: u64) -> Self {
        let longest = u64::try_from(config.longest_pause.as_nanos()).unwrap_or(u64::MAX);
        let pauses = (0..u32::from(config.attempts)).map(|at| (2_000 << at.min(40)).min(longest));
        let waits = u64::from(config.attempts) * (4_096 << config.timeout.min(31));
        let given_up = pauses.fold(waits, u64::saturating_add);
        Self {
            talk: Talk::new(alloc),
            next: now,
            ordered: config.ordered,
            room: config.long_bytes,
            used: 0,
            outgoing: BTreeMap::new(),
            lines: BTreeMap::new(),
            to_write: VecDeque::new(),
            writes: BTreeMap::new(),
            next_write: 0,
            parts: VecDeque::new(),
            incoming: BTreeMap::new(),
            waiting: VecDeque::new(),
            check_at: 0,
            silence: (given_up / 4).max(1_000_000),
            stats: LongStats::default(),
        }
    }

    pub fn stats(&self) -> LongStats {
        self.stats
    }

    /// Messages of the user that have not ended and that the layer does not have.
    pub fn pending(&self) -> usize {
        let short = |waiting: &&Waiting| matches!(waiting, Waiting::Short(..));
        let queues = self.lines.values().map(|line| &line.queue);
        let held = queues.map(|queue| queue.iter().filter(short).count());
        self.outgoing.len() + held.sum::<usize>()
    }

    /// Messages of the layer that are not the user's.
    pub fn said(&self) -> usize {
        self.talk.flying()
    }

    /// Whether [`Self::step`] has something to do, or may have soon.
    #[inline]
    pub fn is_busy(&self) -> bool {
        !(self.outgoing.is_empty() && self.incoming.is_empty() && self.talk.is_idle())
    }

    /// Whether a message to this peer must wait behind others.
    #[inline]
    pub fn holds(&self, to: Peer) -> bool {
        let behind = |line: &Line| line.behind.is_some() || !line.queue.is_empty();
        self.ordered && !self.lines.is_empty() && self.lines.get(&to).is_some_and(behind)
    }

    /// Holds a short message of an ordered endpoint back.
    pub fn hold(&mut self, id: u64, to: Peer, message: Message) {
        let line = self.lines.entry(to).or_default();
        line.queue.push_back(Waiting::Short(id, message));
    }

    /// The user has taken a message of so many bytes.
    pub fn taken(&mut self, bytes: usize) {
        self.used -= bytes;
    }

    /// Does what can be done after a run of the layer; whether it is to run again.
    pub fn step(&mut self, hands: &mut Hands<'_>) -> Result<bool, Error> {
        let mut again = false;
        while let Some(said) = hands.layer.take_said() {
            again = true;
            match said {
                xud::Said::Event(Event::Delivered { from, payload }) => {
                    let bytes = hands.port.take_whole(payload);
                    self.hear(hands, from, &bytes)?;
                }
                xud::Said::Event(Event::Completed {
                    id,
                    outcome,
                    buffer,
                    ..
                }) => self.ended(hands, id, outcome, buffer),
                xud::Said::Another { peer, unheard } => {
                    self.abandon_all(peer);
                    if unheard {
                        self.fail_all(hands, peer, Outcome::EpochMismatch);
                    }
                }
            }
        }
        while let Some((name, outcome)) = hands.port.written.pop_front() {
            again = true;
            hands.layer.give_place();
            self.written(hands, name, outcome);
        }
        self.admit(hands);
        again |= self.talk.retry(hands.layer);
        again |= self.write(hands);
        again |= self.send_parts(hands);
        if hands.now >= self.check_at {
            self.check_at = hands.now + self.silence / 2;
            again |= self.ask(hands);
        }
        Ok(again)
    }

    /// What a peer says.
    fn hear(&mut self, hands: &mut Hands<'_>, from: Peer, bytes: &[u8]) -> Result<(), Error> {
        let Some((id, said)) = Said::decode(bytes) else {
            self.stats.stray += 1;
            return Ok(());
        };
        match said {
            Said::Announce { bulk, length } => self.announced(hands, from, id, bulk, length),
            Said::Landed => self.landed(hands, from, id)?,
            Said::Part { offset, bytes } => self.part(hands, from, id, (offset, bytes))?,
            Said::Abort => self.abandon(from, id),
            Said::Ask { receiver: false } => self.asked_by_sender(hands, from, id),
            Said::Grant(place) => self.granted(hands, from, id, place),
            Said::Done(status) => self.done(hands, from, id, status),
            Said::Ask { receiver: true } => {
                if self.outgoing.get(&id).is_none_or(|sent| sent.to != from) {
                    self.say(hands, from, id, Said::Abort);
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, hands: &mut Hands<'_>, to: Peer, id: u64, said: Said<'_>) {
        self.talk.say(hands.layer, to, id, &said);
    }

    /// Something that was said has arrived, or never will.
    fn ended(&mut self, hands: &mut Hands<'_>, name: u64, outcome: Outcome, buffer: Message) {
        let Some((to, id, kind)) = self.talk.ended(name, buffer) else {
            return;
        };
        if kind == Kind::Part {
            self.part_ended(id);
        }
        let known = self.outgoing.contains_key(&id) || self.incoming.contains_key(&(to, id));
        if outcome == Outcome::Ok || !known {
            return;
        }
        if is_gone(outcome) || outcome == Outcome::EpochMismatch {
            // Whoever it was said to has ended, and so has all that was between both.
            self.abandon_all(to);
            return self.fail_all(hands, to, outcome);
        }
        match kind {
            Kind::Grant | Kind::AskSender => self.abandon(to, id),
            Kind::Announce | Kind::Landed | Kind::Part | Kind::AskReceiver => {
                self.fail(hands, id, outcome, true);
            }
            Kind::Done | Kind::Abort => {}
        }
    }

    /// Asks those that have been silent, one question to a peer at a time; whether there was one.
    fn ask(&mut self, hands: &mut Hands<'_>) -> bool {
        let long_ago = hands.now.saturating_sub(self.silence);
        let sent = self.outgoing.iter().filter(|(_, sent)| sent.waits());
        let sent = sent.map(|(id, sent)| (sent.to, (sent.heard, *id, false)));
        let coming = self.incoming.iter();
        let coming = coming.map(|((from, id), coming)| (*from, (coming.heard, *id, true)));
        let mut oldest = BTreeMap::new();
        for (peer, this) in sent.chain(coming).filter(|(_, this)| this.0 <= long_ago) {
            let best = oldest.entry(peer).or_insert(this);
            *best = this.min(*best);
        }
        oldest.retain(|peer, _| !self.talk.asks(*peer));
        let any = !oldest.is_empty();
        for (peer, (_, id, receiver)) in oldest {
            self.say(hands, peer, id, Said::Ask { receiver });
            if receiver {
                if let Some(coming) = self.incoming.get_mut(&(peer, id)) {
                    coming.heard = hands.now;
                }
            } else if let Some(sent) = self.outgoing.get_mut(&id) {
                sent.heard = hands.now;
            }
        }
        any
    }

    /// All of the user's messages that have not ended, oldest first.
    pub fn flush(&mut self) -> Vec<(u64, Peer, Message)> {
        let mut all: Vec<_> = std::mem::take(&mut self.outgoing)
            .into_values()
            .map(|sent| (sent.user, sent.to, sent.message))
            .collect();
        for (to, line) in std::mem::take(&mut self.lines) {
            all.extend(line.queue.into_iter().filter_map(|waiting| match waiting {
                Waiting::Short(id, message) => Some((id, to, message)),
                Waiting::Long(_) => None,
            }));
        }
        all.sort_by_key(|(id, ..)| *id);
        all
    }
}

/// Whether an endpoint sends so many bytes at all.
pub(crate) fn check(bytes: usize) -> Result<(), PostError> {
    if bytes > MAX_LONG {
        let max = MAX_LONG;
        return Err(PostError::TooLong { bytes, max });
    }
    Ok(())
}
