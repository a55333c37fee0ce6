//! Bulk transfers: the sending side of the receiver window and a card's around it, and the receiving side of a card around
//! rw_window.

mod answer;
mod begin;
mod check;
mod depart;
mod ends;
mod engine;
mod fetch;
mod hear;
mod inbox;
mod land;
mod layout;
mod limits;
mod line;
mod looks;
mod marks;
mod notify;
mod pace;
mod pack;
mod plan;
mod queue;
mod reading;
mod reads;
mod receive;
mod scan;
mod send;
mod serve;
mod sort;
mod transmit;
mod turns;
mod wants;
mod watch;
mod works;

pub use answer::BulkAnswer;
pub use begin::BulkBegin;
pub use check::BulkCheck;
pub use depart::BulkDepart;
pub use ends::BulkEnds;
pub use engine::BulkEngine;
pub use fetch::BulkFetch;
pub use hear::BulkHear;
pub use inbox::BulkInbox;
pub use land::BulkLand;
pub use layout::{
    BodyHead, ConnectRespRest, ConnectRest, OneSidedHead, PollRest, ReadRefusedBody,
    ReadRequestBody, StatusRest, TransferRest,
};
pub use limits::BulkLimits;
pub use line::BulkLine;
pub use looks::BulkLooks;
pub use marks::BulkMarks;
pub use notify::BulkNotify;
pub use pace::BulkPace;
pub use pack::{BulkPack, PacketUnderWay};
pub use plan::BulkPlan;
pub use queue::BulkQueue;
pub use reads::BulkReads;
pub use receive::BulkReceive;
pub use scan::BulkScan;
pub use send::BulkSend;
pub use serve::BulkServe;
pub use sort::BulkSort;
pub use transmit::BulkTransmit;
pub use turns::BulkTurns;
pub use wants::BulkWants;
pub use watch::BulkWatch;
pub use works::BulkWorks;
