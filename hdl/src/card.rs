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
mod cq;
mod cq_indices;
mod cq_moderation;
mod cq_write;
mod regions;
mod regions_look;
mod regs;
mod regs_command;
mod regs_msix;
mod regs_stats;

pub use cq::CardCq;
pub use regions::CardRegions;
pub use regs::CardRegs;
