//! PCI Express: completer of BAR0, DMA engines, at the level of TLPs. `docs/card.md` is the contract.

mod completer;
mod completions;
mod deliver;
mod dma_read;
mod dma_write;
mod dma_write_mux;
mod split;
mod tags;
mod us;
mod write_returns;

pub use completer::PcieCompleter;
pub use completions::DmaCompletions;
pub use deliver::DmaDeliver;
pub use dma_read::DmaRead;
pub use dma_write::DmaWrite;
pub use dma_write_mux::DmaWriteMux;
pub use split::DmaSplit;
pub use tags::DmaTags;
pub use us::{PcieUsCc, PcieUsConfig, PcieUsCq, PcieUsRc, PcieUsRq, PcieUsSeq, PcieUsShim};
pub use write_returns::DmaWriteReturns;
