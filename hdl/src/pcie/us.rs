//! Between the PCI Express block of UltraScale+ and the TLPs of a card. `docs/ultrascale.md` has the ports.

mod cc;
mod config;
mod cq;
mod rc;
mod rq;
mod rq_beats;
mod seq;
mod shim;

pub use cc::PcieUsCc;
pub use config::PcieUsConfig;
pub use cq::PcieUsCq;
pub use rc::PcieUsRc;
pub use rq::PcieUsRq;
pub use seq::PcieUsSeq;
pub use shim::PcieUsShim;
