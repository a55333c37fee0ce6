//! The line side of the card against the executable protocol: ICRC, receiver, sender, table of requests in flight.
//!
//! `TRIBUTARY_SEED` runs one seed alone.

mod icrc;
mod inflight;
mod inflight_claims;
mod inflight_faults;
mod inflight_random;
mod line;
mod lint;
mod marks;
mod met;
mod nodes;
mod rtl;
mod rx;
mod rx_random;
mod rx_reductions;
mod table;
mod tx;
