//! Bulk transfers through whole model cards: bytes, checks, ends, order, faults of the network, mutations.

mod checks;
mod congestion;
mod ends;
mod mutations;
mod order;
mod random;
mod registers;
mod strangers;
mod world;
