//! The sending side of bulk transfers as it stands in the card (`bulk_transmit`), block by block and joined, in Verilator. Its
//! receivers are the executable model; peers READ, and are READ from; the network loses, doubles and overtakes; host memory
//! fails, and regions and queue pairs end at any moment.
//!
//! `TRIBUTARY_SEED`: run this seed alone, to see a failure again.

mod fetch;
mod joint;
#[path = "../bulk_receive/network.rs"]
mod network;
mod runs;
mod works;
