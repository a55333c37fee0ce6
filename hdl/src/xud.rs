//! Datagrams on the line: frames, acknowledgements, requests in flight. `docs/card.md` is the contract.

mod icrc;
mod inflight;
mod rx;
mod tx;

pub use icrc::XudIcrc;
pub use inflight::{XudDeadlines, XudEnd, XudInFlight, XudKeep, XudPlace};
pub use rx::{XudRx, XudRxBuffer, XudRxHeader, XudRxSum};
pub use tx::{XudTx, XudTxBuffer, XudTxGather, XudTxItems};
