//! What a file that describes a block needs in scope.

pub use crate::param::{Bank, Param};
pub use rust_hdl::prelude::*;
pub use rust_hdl_widgets::prelude::*;
pub use tributary_verilog::{
    ModuleInfo, Wired, comment, hdl_bus, hdl_gen, hdl_module, hdl_part, hdl_record,
};
