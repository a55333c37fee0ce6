//! The sending side of the receiver window.

mod engine;
mod inbox;
mod plan;
mod scan;
mod send;
mod turns;
mod wants;

pub use engine::BulkEngine;
pub use inbox::BulkInbox;
pub use plan::BulkPlan;
pub use scan::BulkScan;
pub use send::BulkSend;
pub use turns::BulkTurns;
pub use wants::BulkWants;
