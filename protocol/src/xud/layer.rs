//! The reliable layer: what makes the card's datagrams arrive once, in software, over one queue pair (XUD-7).
//!
//! It runs over anything that is [`Datagrams`]: the model of a card, or a driver's queue pair.
//!
//! A connection has windows with one message in flight each. A message that ran into a timeout is sent again under the same
//! window identity; the receiver drops what it has seen. When a message is given up, its connection sends nothing more until
//! everything in flight has ended, and is then opened anew under a new epoch (XUD-8): one epoch for all windows of a connection
//! and direction keeps a window at 4 bytes.

mod connection;
mod incoming;
mod opening;
mod outgoing;
mod peers;
mod port;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use thiserror::Error;

use super::card::{Card, Completion, PostError};
use super::codes::{Drop, Drops, Outcome};
use super::config::{ConfigError, LayerConfig};
use super::control::Control;
use super::wheel::Wheel;
use super::wire::Window;
use super::{MAX_MESSAGE, Peer};
use crate::card::descriptor::HEAD_MAX;
use connection::{Queues, Slab};
use peers::Connections;
pub use port::{Clock, Datagrams, Post};

/// Name of control messages in the card; pieces have their place.
const CONTROL_ID: u64 = u64::MAX;

/// What the layer tells its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<B = Arc<[u8]>, P = Vec<u8>> {
    /// A message has arrived.
    Delivered {
        /// Where from.
        from: Peer,
        /// All of it.
        payload: P,
    },
    /// A message has ended; its buffer is the user's again (XUD-9).
    Completed {
        /// What [`Layer::send`] called it.
        id: u64,
        /// Where it went.
        to: Peer,
        /// How it ended. After anything but OK the receiver may have it, at most once.
        outcome: Outcome,
        /// The buffer.
        buffer: B,
    },
}

/// What the layer tells its runner about the rendezvous of long messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Said<B = Arc<[u8]>, P = Vec<u8>> {
    /// A message of the rendezvous has come or ended.
    Event(Event<B, P>),
    /// The process of this peer is another one from here on: all that was said by the earlier one is over.
    Another {
        /// Which.
        peer: Peer,
        /// What was said to it last was for the earlier one: that is over, too.
        unheard: bool,
    },
}

/// Why a message cannot be sent. Nothing happens and no completion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// Above 64 KiB: its runner announces it (XUD-12).
    #[error("message of {0} bytes, the most is {max}", max = MAX_MESSAGE)]
    TooLong(usize),
    /// Queue pair number of more than 24 bits.
    #[error("queue pair {0} has more than 24 bits")]
    Address(u32),
}

/// Why a layer cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LayerError {
    /// A parameter.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The card's queue pair.
    #[error(transparent)]
    Qp(#[from] super::QpError),
    /// The card's queues.
    #[error(transparent)]
    Post(#[from] PostError),
}

/// Counters of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerStats {
    /// Messages delivered to the user.
    pub delivered: u64,
    /// Messages that ended OK.
    pub completed: u64,
    /// Messages that ended otherwise.
    pub failed: u64,
    /// Packets sent for the first time.
    pub posted: u64,
    /// Packets sent again after a timeout.
    pub resent: u64,
    /// Packets sent again after RNR.
    pub rnr_resent: u64,
    /// Sendings whose acknowledgement said that they came marked by a switch (CL-4).
    pub marked: u64,
    /// OPEN messages sent.
    pub opens: u64,
    /// Connections opened again after a message was given up.
    pub reopened: u64,
    /// REFUSE messages that the peer sent for one of this layer's windows (XUD-5).
    pub refused: u64,
    /// By reason.
    pub drops: Drops,
}

/// An event to be; a message that has ended keeps its place until its event is taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum News<B, P> {
    Delivered(Peer, P),
    Ended(u32),
    /// What the runner put there.
    Put(Box<Event<B, P>>),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message<B> {
    id: u64,
    /// Place of its connection.
    to: u32,
    /// Number in its connection.
    number: u32,
    buffer: B,
    /// Bytes of a piece; the last may be shorter.
    piece: usize,
    pieces: u32,
    /// Pieces handed out so far.
    begun: u32,
    /// Pieces that ended OK.
    done: u32,
    /// Pieces in flight.
    flying: u32,
    failed: Option<Outcome>,
    /// The runner's, for the rendezvous of a long message; not the user's.
    rendezvous: bool,
}

/// A piece of a message that occupies a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Piece {
    /// Place of its connection.
    to: u32,
    /// Place of its message.
    message: u32,
    window: u16,
    index: u32,
    /// Sendings that ran into a timeout.
    attempts: u8,
    /// Sendings that were answered RNR.
    rnr: u8,
    /// Refused by the peer while it was under way: ends instead of being sent again.
    refused: bool,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// Send this piece again.
    Piece(u32),
    /// Repeat OPEN to this connection, or give up: the sender's epoch and the number of attempts.
    Open(u32, u16, u8),
}

/// The reliable layer of one queue pair. `B` is the memory that messages are sent from, `P` what arrives.
#[derive(Clone, Debug)]
pub struct Layer<B = Arc<[u8]>, P = Vec<u8>> {
    config: LayerConfig,
    mtu: usize,
    incarnation: u16,
    connections: Connections,
    /// Empty queues for connections that have something to send again.
    queues: Queues,
    messages: Slab<Message<B>>,
    pieces: Slab<Piece>,
    timers: Wheel<Timer>,
    /// Control messages that wait for a place in the card.
    control: VecDeque<(Peer, Control)>,
    /// Connections that could post if the card had a place.
    waiting: VecDeque<u32>,
    /// What the user was not yet told.
    news: VecDeque<News<B, P>>,
    /// Messages of the rendezvous that have come or ended, each with the news that came before it.
    said: VecDeque<(usize, Said<B, P>)>,
    /// Anything was said by or to this layer.
    speaks: bool,
    /// Where the one that was taken last stood among the news.
    turn: usize,
    /// News that were put there since the last run.
    put: usize,
    /// Messages that have ended and of which the user was not yet told.
    over: usize,
    /// Requests in the card.
    in_card: u32,
    next_id: u64,
    /// Connections slow down when their packets are marked (CL-4).
    slows: bool,
    stats: LayerStats,
}

/// State that decides what can still happen: counters and clocks are left out.
impl<B: Hash, P: Hash> Hash for Layer<B, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.connections.hash(state);
        self.messages.hash(state);
        self.pieces.hash(state);
        self.control.hash(state);
        self.waiting.hash(state);
        self.news.hash(state);
        self.said.hash(state);
        (self.in_card, self.incarnation).hash(state);
    }
}

impl Layer {
    /// A layer with a new queue pair of the card and its receive requests posted.
    ///
    /// # Errors
    /// A parameter out of range, or a queue pair that exists.
    pub fn new(config: LayerConfig, card: &mut Card) -> Result<Self, LayerError> {
        config.check()?;
        card.create_qp(config.qpn, config.shape())?;
        Self::over(config, card)
    }

    /// Destroys the queue pair; every message that has not ended ends FLUSHED. Then the card may make another of its number.
    pub fn close(self, card: &mut Card) -> Vec<Event> {
        card.destroy_qp(self.config.qpn);
        self.flush()
    }
}

impl<B: AsRef<[u8]>, P: From<Vec<u8>>> Layer<B, P> {
    /// A layer over a queue pair that was made for it, as [`LayerConfig::shape`] says. Its receive requests are posted here.
    ///
    /// # Errors
    /// A parameter out of range, or a queue pair that takes no receive requests.
    pub fn over(
        config: LayerConfig,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
    ) -> Result<Self, LayerError> {
        config.check()?;
        let mtu = card.mtu();
        for _ in 0..config.receives {
            card.post_receive(config.qpn)?;
        }
        Ok(Self {
            config,
            mtu: mtu.into(),
            incarnation: card.epoch(config.qpn).unwrap_or(0),
            connections: Connections::new(),
            queues: Queues::default(),
            messages: Slab::default(),
            pieces: Slab::default(),
            timers: Wheel::new(11, 512),
            control: VecDeque::new(),
            waiting: VecDeque::new(),
            news: VecDeque::new(),
            said: VecDeque::new(),
            speaks: false,
            turn: 0,
            put: 0,
            over: 0,
            in_card: 0,
            next_id: 0,
            slows: false,
            stats: LayerStats::default(),
        })
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &LayerConfig {
        &self.config
    }

    /// What tells this process from others that have had its queue pair number: the first epoch (XUD-6).
    #[must_use]
    pub fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// Whether connections slow down when acknowledgements say that packets came marked, or do not come, and recover (CL-4): from a
    /// few packets in flight on, up to all windows. Off in a new layer; each connection begins anew when it is turned on.
    #[inline]
    pub fn set_congestion(&mut self, on: bool) {
        self.slows = on;
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> &LayerStats {
        &self.stats
    }

    /// Messages that have not ended, those of the rendezvous too.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.messages.len() - self.over
    }

    /// Connections it knows, in either direction.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Bytes of memory that its connections occupy: the hash table, and what each connection has allocated.
    #[must_use]
    pub fn connection_bytes(&self) -> usize {
        self.connections.bytes()
    }

    /// The oldest event that was not yet taken.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event<B, P>> {
        match self.news.pop_front()? {
            News::Delivered(from, payload) => Some(Event::Delivered { from, payload }),
            News::Ended(place) => {
                self.over -= 1;
                self.take_ended(place)
            }
            News::Put(event) => Some(*event),
        }
    }

    fn take_ended(&mut self, place: u32) -> Option<Event<B, P>> {
        let message = self.messages.remove(place)?;
        Some(Event::Completed {
            id: message.id,
            to: self.connections[message.to].peer,
            outcome: message.failed.unwrap_or(Outcome::Ok),
            buffer: message.buffer,
        })
    }

    /// The oldest news of the rendezvous. A runner that sends none of its messages and gets none need not ask. All are taken after each
    /// run, before events are: of an ordered stream, [`Self::put`] then finds their turn.
    pub fn take_said(&mut self) -> Option<Said<B, P>> {
        let (turn, said) = self.said.pop_front()?;
        self.turn = turn;
        Some(said)
    }

    fn tell(&mut self, said: Said<B, P>) {
        self.speaks = true;
        self.said.push_back((self.news.len(), said));
    }

    /// Whether there is something for [`Self::take_said`].
    #[must_use]
    #[inline]
    pub fn has_said(&self) -> bool {
        !self.said.is_empty()
    }

    /// An event of a long message, for the user: what it came with was the message of the rendezvous that was taken last, so it
    /// stands where that one did.
    pub fn put(&mut self, event: Event<B, P>) {
        match &event {
            Event::Delivered { .. } => self.stats.delivered += 1,
            Event::Completed { outcome, .. } if *outcome == Outcome::Ok => {
                self.stats.completed += 1;
            }
            Event::Completed { .. } => self.stats.failed += 1,
        }
        let at = (self.turn + self.put).min(self.news.len());
        self.news.insert(at, News::Put(Box::new(event)));
        self.put += 1;
    }

    /// Takes a place in the card, which holds as many requests as the queue pair was made for: the runner posts a request of its own.
    /// False if there is none.
    pub fn take_place(&mut self) -> bool {
        let free = self.has_place();
        self.in_card += u32::from(free);
        free
    }

    /// That request has ended.
    pub fn give_place(&mut self) {
        self.in_card = self.in_card.saturating_sub(1);
    }

    /// Whether there is an event that was not yet taken.
    #[must_use]
    #[inline]
    pub fn has_event(&self) -> bool {
        !self.news.is_empty()
    }

    /// Whether [`Self::run`] has something to do even if the card has completed nothing.
    #[must_use]
    #[inline]
    pub fn has_work(&self) -> bool {
        !(self.waiting.is_empty() && self.control.is_empty() && self.timers.is_empty())
    }

    /// Sends a message of up to 64 KiB; the name that its completion will carry. The buffer is shared until then (XUD-9).
    ///
    /// # Errors
    /// Too long, or an address that cannot be.
    pub fn send(&mut self, to: Peer, buffer: B) -> Result<u64, SendError> {
        self.check(to, buffer.as_ref().len())?;
        let id = self.next_id;
        self.next_id += 1;
        self.enqueue(id, to, buffer, false);
        Ok(id)
    }

    /// As [`Self::send`], under a name that the runner has given. Of the rendezvous of long messages its end, and what comes from
    /// such a one of a peer, is for [`Self::take_said`].
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_as(
        &mut self,
        id: u64,
        to: Peer,
        buffer: B,
        rendezvous: bool,
    ) -> Result<(), SendError> {
        self.check(to, buffer.as_ref().len())?;
        self.enqueue(id, to, buffer, rendezvous);
        Ok(())
    }

    /// Whether [`Self::send`] would take so many bytes for this peer.
    ///
    /// # Errors
    /// Too long, or an address that cannot be.
    pub fn check(&self, to: Peer, length: usize) -> Result<(), SendError> {
        if length > MAX_MESSAGE {
            return Err(SendError::TooLong(length));
        }
        if to.qpn >= 1 << 24 {
            return Err(SendError::Address(to.qpn));
        }
        Ok(())
    }

    /// Does what can be done now: takes the card's completions, serves timers, posts what waits.
    pub fn run(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>, clock: impl Clock) {
        (self.turn, self.put) = (0, 0);
        card.tick(clock);
        while let Some(completion) = card.poll(self.config.qpn) {
            match completion {
                Completion::Sent {
                    id,
                    outcome,
                    marked,
                } => self.sent(card, id, outcome, marked, clock),
                Completion::Received {
                    from,
                    version,
                    flags,
                    window,
                    payload,
                    ..
                } => {
                    self.receive_again(card);
                    if version == 0 {
                        self.stats.drops.count(Drop::OldEpoch);
                        card.release(payload);
                    } else {
                        self.received(card, from, flags, window, payload);
                    }
                }
                Completion::Refused { .. } => self.receive_again(card),
            }
        }
        if !self.timers.is_empty() {
            self.serve_timers(card, clock);
        }
        self.post_waiting(card, clock);
    }

    fn serve_timers(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        clock: impl Clock,
    ) {
        let mut due = Vec::new();
        self.timers.advance(clock.now(), |timer| due.push(timer));
        for timer in due {
            match timer {
                Timer::Piece(place) => self.repeat(card, place, clock),
                Timer::Open(to, epoch, attempts) => {
                    self.open_again(card, to, epoch, attempts, clock);
                }
            }
        }
    }

    /// The queue pair is gone: every message that has not ended ends FLUSHED, those of the rendezvous too.
    pub fn flush(mut self) -> Vec<Event<B, P>> {
        let mut events: Vec<_> = std::iter::from_fn(|| self.take_event()).collect();
        events.extend(self.messages.drain().map(|message| Event::Completed {
            id: message.id,
            to: self.connections[message.to].peer,
            outcome: Outcome::Flushed,
            buffer: message.buffer,
        }));
        events
    }

    /// Whether the card has a place for one more request.
    fn has_place(&self) -> bool {
        self.in_card < u32::from(self.config.sends)
    }

    fn posted(&mut self, posted: Result<(), PostError>) {
        // `in_card` never exceeds the queue that the queue pair was made with.
        debug_assert_eq!(posted, Ok(()));
        self.in_card += u32::from(posted.is_ok());
    }

    fn receive_again(&mut self, card: &mut impl Datagrams<Buffer = B, Payload = P>) {
        let posted = card.post_receive(self.config.qpn);
        // The queue has just lost one, so there is room.
        debug_assert_eq!(posted, Ok(()));
    }

    /// A request that only speaks to the peer's layer.
    fn say(
        &mut self,
        card: &mut impl Datagrams<Buffer = B, Payload = P>,
        to: Peer,
        control: Control,
    ) {
        if !self.has_place() {
            self.control.push_back((to, control));
            return;
        }
        let (epoch, msn) = match &control {
            Control::Open(open) => (open.epoch, 0),
            Control::OpenAck { epoch, .. } => (*epoch, 1),
            Control::Refuse(window) => (window.epoch, 2),
        };
        let message = control.encode();
        let mut head = [0; HEAD_MAX];
        head[..message.len()].copy_from_slice(&message);
        let post = Post {
            id: CONTROL_ID,
            to,
            flags: super::wire::CONTROL,
            window: Window { id: 0, epoch, msn },
            head,
            head_len: message.len() as u8,
            payload: None,
        };
        let posted = card.post_send(self.config.qpn, post);
        self.posted(posted);
    }
}
