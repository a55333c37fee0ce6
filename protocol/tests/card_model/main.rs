//! The model of the whole card, rule by rule of `docs/card.md`.

mod bench;
mod interrupts;
mod queues;
mod regions;
mod registers;
