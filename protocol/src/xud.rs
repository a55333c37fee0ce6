//! Extended unreliable datagrams: any queue pair sends to any other, hardware acknowledges, software makes it reliable.
//!
//! The card's half knows no connections: it numbers requests, keeps them in one table until the acknowledgement or the timeout,
//! and acknowledges what its own software will see. The other half is a library: windows with one message in flight each, resend,
//! duplicate removal. Rule ids (`XUD-1` …) are those of `docs/conformance.md`; `docs/xud.md` is the contract.
//!
//! * [`Card`]: queue pairs, in-flight table and timer wheel of a card.
//! * [`Layer`]: the reliable layer of one queue pair.
//! * [`explore`]: every state that two cards and two layers reach over a bad network, at small sizes.
//! * [`Packet`]: what travels between cards, [`wire`]: as bytes; [`control`]: what layers say to each other; [`onesided`]: writes,
//!   reads and atomics in memory there.
//!
//! ```
//! use tributary_protocol::xud::*;
//!
//! let (mut cards, mut layers) = (Vec::new(), Vec::new());
//! for node in 0..2 {
//!     let mut card = Card::new(CardConfig { node, ..CardConfig::default() }).unwrap();
//!     layers.push(Layer::new(LayerConfig { qpn: 7, ..LayerConfig::default() }, &mut card).unwrap());
//!     cards.push(card);
//! }
//! layers[0].send(Peer { node: 1, qpn: 7 }, b"hello".as_slice().into()).unwrap();
//! let mut events = Vec::new();
//! for now in (0..50_000).step_by(100) {
//!     for at in 0..2 {
//!         layers[at].run(&mut cards[at], now);
//!         events.extend(layers[at].take_event());
//!         while let Some(out) = cards[at].next_packet(now) {
//!             let to = out.to as usize;
//!             cards[to].receive(at as u32, &out.packet, now);
//!         }
//!         while cards[at].land() {}
//!     }
//! }
//! assert!(matches!(&events[0], Event::Delivered { payload, .. } if payload == b"hello"));
//! assert!(matches!(&events[1], Event::Completed { outcome: Outcome::Ok, .. }));
//! ```

pub(crate) mod card;
mod codes;
mod config;
mod congestion;
pub mod control;
pub mod explore;
mod layer;
pub mod onesided;
pub mod rendezvous;
pub(crate) mod table;
mod wheel;
pub mod wire;

pub use card::{
    Card, CardStats, Completion, Grant, Outgoing, PostError, QpError, Reach, ReceiveRequest,
    SendRequest, Shape,
};
pub use codes::{Drop, Drops, Nak, OPCODE_ACK, OPCODE_SEND, OPCODES, Outcome};
pub use config::{CardConfig, ConfigError, LayerConfig, Mutations};
pub use layer::{Clock, Datagrams, Event, Layer, LayerError, LayerStats, Post, Said, SendError};
pub use wire::{Ack, Echo, Packet, Reply, Send, Window};

/// A queue pair somewhere: what a connection of the reliable layer is made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Node number, 20 bits; the last three bytes of its IPv4 address.
    pub node: u32,
    /// Queue pair there, 24 bits.
    pub qpn: u32,
}

/// Largest message of the reliable layer, bytes (XUD-12).
pub const MAX_MESSAGE: usize = 64 << 10;

/// Whether `a` is `b` or newer, modulo 2^16: not more than half the range ahead.
#[must_use]
pub fn epoch_at_least(a: u16, b: u16) -> bool {
    a.wrapping_sub(b) < 1 << 15
}
