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

/// The block with one fault in its Verilog: `right` stands there once, and is `wrong` instead.
fn faulty(right: &str, wrong: &str) -> Verilated {
    let (top, mut files) = rtl::sources();
    let mut places = 0;
    for (_, text) in &mut files {
        places += text.matches(right).count();
        *text = text.replace(right, wrong);
    }
    assert_eq!(places, 1, "the fault has its place: {right}");
    rtl::build(&top, &files)
}

/// The block with a fault: a word of m_sd that is held changes with an input that has nothing to do with it.
fn changing() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        faulty(
            "assign m_sd_psn = record_m_psn;",
            "assign m_sd_psn = record_m_psn ^ {23'd0, look_valid};",
        )
    })
}
