//! The blocks between schedule rings (MB-16) and the card.

mod pairs;
mod reads;
