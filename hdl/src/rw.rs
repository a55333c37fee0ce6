//! The receiver-window engine.

mod accept;
mod select;

pub use accept::RwAccept;
pub use select::OnehotSelect;
