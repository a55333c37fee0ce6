//! TLPs in Ethernet frames: how a board without PCI Express reaches a host over its second PHY.
//!
//! [`wire`] is the frame, [`mod@unit`] what is in it, [`Link`] one end of the link: units of words go in at one end and come out
//! at the other, each once and in order, whatever becomes of frames on the way. Lost, doubled, late and damaged frames cost time only.
//!
//! Each life of an end has a number of its own, and a *session* is a pair of them. What was sent in a session arrives in it
//! or not at all: when either end is reset both begin a session anew, with nothing of the old one left.

mod link;
pub mod unit;
pub mod wire;

pub use link::{Config, Event, Link, Refused, Unit};
pub use unit::{Content, Settings, UnitError};
