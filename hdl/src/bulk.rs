//! Bulk transfers: the sending side of the receiver window, and the receiving side of a card around rw_window.

mod answer;
mod check;
mod engine;
mod hear;
mod inbox;
mod land;
mod layout;
mod line;
mod plan;
mod receive;
mod scan;
mod send;
mod sort;
mod turns;
mod wants;

pub use answer::BulkAnswer;
pub use check::BulkCheck;
pub use engine::BulkEngine;
pub use hear::BulkHear;
pub use inbox::BulkInbox;
pub use land::BulkLand;
pub use layout::{BodyHead, ConnectRespRest, ConnectRest, PollRest, StatusRest, TransferRest};
pub use line::BulkLine;
pub use plan::BulkPlan;
pub use receive::BulkReceive;
pub use scan::BulkScan;
pub use send::BulkSend;
pub use sort::BulkSort;
pub use turns::BulkTurns;
pub use wants::BulkWants;
