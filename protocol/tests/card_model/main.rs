//! The model of the whole card, rule by rule of `docs/card.md`.

mod abuse;
mod bench;
mod interrupts;
mod onesided;
mod queues;
mod regions;
mod registers;
