//! Schedule rings in model cards (MB-16): members on a network of their own, whose hosts do nothing between doorbell and end.

mod ends;
mod members;
mod random;
mod registers;
mod schedules;
mod world;
