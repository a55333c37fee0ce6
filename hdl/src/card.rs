//! Queues, regions and registers of the card. `docs/card.md` is the contract.

mod read_mux;

pub use read_mux::CardReadMux;
