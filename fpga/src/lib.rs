//! What figures of blocks and bitstreams of boards share: [block RAMs placed first](rams), and [where they can be](sites).

mod anneal;
pub mod rams;
pub mod sites;
