//! MACs in Verilator: what they send is read, and what they get is made, by code that has nothing of them but IEEE 802.3.
//!
//! Clocks of core, sender and receiver have periods and phases of their own, 100 ppm apart or far apart. Environment:
//! `TRIBUTARY_SEED` repeats a run, `TRIBUTARY_FRAMES` goes on until so many frames were compared each way. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=10000 cargo test --release --workspace --test mac -- --nocapture
//! ```

mod bench;
mod gmii;
mod gmii_line;
mod xgmii;
mod xgmii_line;
