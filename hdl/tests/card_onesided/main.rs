//! One-sided operations in Verilog (XUD-13) against the engine of `protocol::xud::Card`: the same frames, the same replies, the same
//! memory, whatever stalls. `TRIBUTARY_SEED` runs one seed alone.

#[path = "../card_control/bench.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod bench;
mod mutations;
mod random;
mod world;
