//! Tributary's hardware blocks, described in rust-hdl; [`emit`] turns them into
//! portable Verilog-2001.

pub mod blocks;
pub mod board;
pub mod bulk;
pub mod bus;
pub mod card;
pub mod catalog;
pub mod link;
pub mod mac;
pub mod mb;
pub mod param;
pub mod pcie;
pub mod prelude;
pub mod record;
pub mod red;
pub mod rw;
pub mod switch;
pub mod xud;

pub use tributary_verilog as emit;
