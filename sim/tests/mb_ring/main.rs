//! `mb_ring`: the schedule rings of a card in Verilator, in lock step with their model.
//!
//! `TRIBUTARY_SEED` repeats a random run, `MB_RUNS` is the number of them.

mod bench;
mod directed;
mod members;
mod mutations;
mod random;
