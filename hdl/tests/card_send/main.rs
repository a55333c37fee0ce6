//! `card_send` in Verilator, in lock step with a model of it.

mod bench;
mod checks;
mod directed;
mod driver;
mod random;
mod rtl;
mod world;

use std::sync::OnceLock;
use tributary_sim::verilate::Verilated;

/// The block, built once for all tests.
fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, files) = rtl::sources();
        rtl::build(&top, &files)
    })
}
