//! The group protocol (MB-8 to MB-14): who may send which block when, what is delivered, and what becomes of a failure.
//!
//! [`Member`] is one member's machine. It does no input and no output: methods tell it what happened, and it answers with
//! [`Output`]s. The runner moves blocks between the members' buffers, carries [`Control`] messages, and watches the members
//! that [`Member::watched`] names. Control messages may come late and more than once; the runner repeats those that are
//! lost, as the reliable layer of datagrams does. A block transfer that ends well ended at both sides.
//!
//! A member's life:
//!
//! ```text
//! joining --Open--> open --every message everywhere--> closed, success
//!    \                \
//!     +----failure-----+--> failed --every survivor has reported--> closed, with watermarks
//! ```

mod config;
mod control;
mod failure;
mod member;
mod offload;
mod receive;
mod resume;
mod send;
pub mod wire;

pub use config::{GroupConfig, GroupError, Mutations};
pub use control::{Control, Expected, Parameters, Verdict, Why};
pub use member::{Counters, Member, Output};
pub use resume::{Holdings, Partial, Repairs};
