//! Queues, regions and registers of the card. `docs/card.md` is the contract.

mod read_mux;
mod tx_guard;

pub use read_mux::CardReadMux;
pub use tx_guard::CardTxGuard;
mod send;

pub use send::CardSend;
