//! What a file that describes a block needs in scope.

pub use crate::module::{ModuleInfo, hdl_module};
pub use crate::param::{Bank, Param};
pub use rust_hdl::prelude::*;
