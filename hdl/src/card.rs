//! Queues, regions and registers of the card. `docs/card.md` is the contract.

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
