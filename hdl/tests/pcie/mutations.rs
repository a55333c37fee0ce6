//! Faults put into the blocks on purpose, and that the tests see them.

use crate::bench::build_wrong;
use crate::{dma_read, dma_write};
use tributary_hdl::pcie::{DmaRead, DmaWrite};
use tributary_sim::pcie::{Config, Fault};

/// What a test says that fails.
fn caught(test: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(test).expect_err("the fault was not seen");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_header_of_four_words_for_a_low_address_is_seen_by_the_root_complex() {
    let library = build_wrong(
        DmaWrite::default(),
        "wide_reg <= |high_reg;",
        "wide_reg <= 1'b1;",
    );
    let said = caught(move || {
        let mut bench = dma_write::Bench::of(&library, Config::default());
        bench.request(0x10_0000, 4096);
        bench.drain();
    });
    assert!(said.contains("in a header of four words"), "{said}");
}

#[test]
fn a_tag_used_again_while_its_completions_may_come_is_seen() {
    let library = build_wrong(DmaRead::default(), "b_old_reg ? (ONE", "1'b1 ? (ONE");
    let said = caught(move || {
        let mut bench = dma_read::Bench::of(&library, Config::default());
        bench.timeout(40);
        bench.root.inject(Fault::Late(4000));
        for i in 0..40 {
            bench.request(0x10_0000 + 64 * i, 64);
        }
        bench.drain(5000);
    });
    assert!(said.contains("tag 0x0 is in use"), "{said}");
}
