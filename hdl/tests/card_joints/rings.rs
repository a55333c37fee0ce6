//! The blocks between schedule rings (MB-16) and the card.

mod ends;
mod pairs;
mod reads;
mod regs;
