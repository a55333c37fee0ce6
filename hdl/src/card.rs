//! Queues, regions and registers of the card. `docs/card.md` is the contract.

mod read_mux;
mod tx_guard;

pub use read_mux::CardReadMux;
pub use tx_guard::CardTxGuard;
mod send;

pub use send::CardSend;
mod recv;
mod recv_acks;
mod recv_check;
mod recv_doorbell;
mod recv_fetch;
mod recv_fill;
mod recv_store;

pub use recv::CardRecv;
pub use recv_acks::CardRecvAcks;
pub use recv_check::CardRecvCheck;
pub use recv_doorbell::CardRecvDoorbell;
pub use recv_fetch::CardRecvFetch;
pub use recv_fill::CardRecvFill;
pub use recv_store::CardRecvStore;
