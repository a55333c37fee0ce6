//! What host software sees of the card: BAR0 ([`regs`]), commands ([`command`]), and the queues in host memory ([`descriptor`]);
//! and a card that behaves so ([`model`]).
//!
//! `docs/card.md` is the contract. RTL, driver, C header and documents take every number from here.

pub mod command;
pub mod descriptor;
pub mod model;
pub mod regs;
