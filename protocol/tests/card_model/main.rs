//! The model of the whole card, rule by rule of `docs/card.md`.

mod abuse;
mod bench;
mod bus_master;
mod groups;
mod interrupts;
mod nodes;
mod onesided;
mod queues;
mod regions;
mod registers;
