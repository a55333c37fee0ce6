//! `switch_core` in Verilator: traffic, bad frames, trees, reduction frames.
//!
//! `TRIBUTARY_SEED` runs one seed alone, to see a failure again. `TRIBUTARY_FRAMES` goes on until so many frames have come
//! out. Long form, every profile of stalls at sinks, sources and engines:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-sim --test switch_core -- --nocapture random_pauses_4 reach_the_engines any_tree_forwards_as_the_model_says_4
//! ```

mod bench;
mod engine;
mod frames;
mod marks;
mod reduction;
mod together;
mod traffic;
mod trees;
mod waiting;

use tributary_sim::testbench::seeds;
