//! One-sided operations on the engine of a card (XUD-13), rule by rule.

mod answers;
mod bench;
mod explore;
mod header;
mod random;
mod target;
