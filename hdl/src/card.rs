//! Queues, regions and registers of the card. `docs/card.md` is the contract.

mod send;

pub use send::CardSend;
