//! What a reliable layer runs over.

use std::ops::Range;
use std::sync::Arc;

use super::super::card::{Card, Completion, PostError, ReceiveRequest, SendRequest};
use super::super::wire::Window;
use super::Peer;
use crate::card::descriptor::HEAD_MAX;

/// A request of a layer: `head`, then the payload.
#[derive(Debug)]
pub struct Post<'a, B> {
    /// The layer's name for it; its completion carries it.
    pub id: u64,
    /// Where to.
    pub to: Peer,
    /// Flags of the XUDETH, whose version is 1.
    pub flags: u8,
    /// Window identity.
    pub window: Window,
    /// Bytes in front.
    pub head: [u8; HEAD_MAX],
    /// How many of them.
    pub head_len: u8,
    /// Bytes of the user. The layer keeps the buffer until the completion (XUD-9).
    pub payload: Option<(&'a B, Range<usize>)>,
}

/// What time it is, ns. To read a clock takes as long as to handle a message, so a layer only asks while a timer runs or starts.
pub trait Clock: Copy {
    /// The time now.
    fn now(self) -> u64;
}

/// A time that stands.
impl Clock for u64 {
    fn now(self) -> u64 {
        self
    }
}

/// A card as a reliable layer uses it: one queue pair of it, whose number comes with each call.
///
/// The layer posts no more than its queue pair was made for and posts a receive request again only after a completion of one. A
/// card that keeps to that never refuses; one that has failed takes everything and completes nothing.
pub trait Datagrams {
    /// Memory that it sends from.
    type Buffer: AsRef<[u8]>;

    /// What arrives: a packet, or a message that the layer put together from several.
    type Payload: From<Vec<u8>>;

    /// Largest payload of a packet, bytes.
    fn mtu(&self) -> u16;

    /// Latest epoch of the queue pair (XUD-6); `None` if it is gone.
    fn epoch(&self, qpn: u32) -> Option<u16>;

    /// Takes a new epoch.
    fn next_epoch(&mut self, qpn: u32) -> Option<u16>;

    /// Posts a request.
    ///
    /// # Errors
    /// No such queue pair, or no room in it.
    fn post_send(&mut self, qpn: u32, post: Post<'_, Self::Buffer>) -> Result<(), PostError>;

    /// Posts memory for one packet; where, it knows.
    ///
    /// # Errors
    /// No such queue pair, or no room in it.
    fn post_receive(&mut self, qpn: u32) -> Result<(), PostError>;

    /// The oldest completion.
    fn poll(&mut self, qpn: u32) -> Option<Completion<Self::Payload>>;

    /// Bytes of what has arrived.
    fn bytes<'a>(&'a self, payload: &'a Self::Payload) -> &'a [u8];

    /// Takes back what has arrived and is not delivered. What is delivered is the user's to give back.
    fn release(&mut self, payload: Self::Payload);

    /// Time passes.
    fn tick(&mut self, clock: impl Clock);
}

impl Datagrams for Card {
    type Buffer = Arc<[u8]>;
    type Payload = Vec<u8>;

    fn mtu(&self) -> u16 {
        self.config().mtu
    }

    fn epoch(&self, qpn: u32) -> Option<u16> {
        Self::epoch(self, qpn)
    }

    fn next_epoch(&mut self, qpn: u32) -> Option<u16> {
        Self::next_epoch(self, qpn)
    }

    fn post_send(&mut self, qpn: u32, post: Post<'_, Arc<[u8]>>) -> Result<(), PostError> {
        let (buffer, range) = post.payload.map_or_else(
            || (Arc::default(), 0..0),
            |(buffer, range)| (Arc::clone(buffer), range),
        );
        let request = SendRequest {
            id: post.id,
            to: post.to,
            version: 1,
            flags: post.flags,
            window: post.window,
            head: post.head[..usize::from(post.head_len)].to_vec(),
            buffer,
            range: (range.start, range.end),
        };
        Self::post_send(self, qpn, request)
    }

    fn post_receive(&mut self, qpn: u32) -> Result<(), PostError> {
        let length = self.config().mtu.into();
        Self::post_receive(self, qpn, ReceiveRequest { id: 0, length })
    }

    fn poll(&mut self, qpn: u32) -> Option<Completion> {
        Self::poll(self, qpn)
    }

    fn bytes<'a>(&'a self, payload: &'a Vec<u8>) -> &'a [u8] {
        payload
    }

    fn release(&mut self, _: Vec<u8>) {}

    fn tick(&mut self, clock: impl Clock) {
        Self::tick(self, clock.now());
    }
}
