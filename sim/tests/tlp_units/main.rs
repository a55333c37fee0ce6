//! `tlp_units` in Verilator beside the model of units: what the host sends is what the card hears, what the card offers is
//! what the link gets, in an order that PCI Express allows, and a session that is lost leaves nothing behind.
//!
//! `TRIBUTARY_SEED` repeats a run, `TRIBUTARY_FRAMES` goes on until so many TLPs have passed. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release --workspace --test tlp_units -- --nocapture
//! ```

mod bench;
mod card;
mod mutations;
mod random;

use std::sync::LazyLock;

use bench::{Bench, build};
use random::{Plan, run};
use tributary_protocol::tlp_link::Content;
use tributary_sim::testbench::profiles;
use tributary_sim::verilate::Verilated;

/// Words of a unit of the host: one that is soon too long, and that of boards.
const SMALL: usize = 16;
const LARGE: usize = 128;

static BLOCKS: LazyLock<[Verilated; 2]> =
    LazyLock::new(|| [SMALL, LARGE].map(|words| build(words, |_, text| text)));

fn all(what: &str, plan: Plan) {
    profiles(what, |seed| {
        let mut passed = 0;
        for (library, words) in BLOCKS.iter().zip([SMALL, LARGE]) {
            passed += run(library, words, plan, seed)
                .unwrap_or_else(|error| panic!("{words} words, seed {seed}: {error}"));
        }
        passed
    });
}

#[test]
fn tlps_pass_both_ways_in_an_order_that_pci_express_allows() {
    all(
        "TLPs",
        Plan {
            wrong: 0,
            losses: 0,
            clocks: 12_000,
        },
    );
}

#[test]
fn malformed_units_are_counted_and_have_no_effect() {
    all(
        "TLPs among malformed units",
        Plan {
            wrong: 400,
            losses: 0,
            clocks: 12_000,
        },
    );
}

#[test]
fn a_session_that_is_lost_resets_the_function_and_leaves_nothing_behind() {
    all(
        "TLPs between losses of the session",
        Plan {
            wrong: 100,
            losses: 150,
            clocks: 20_000,
        },
    );
}

/// A read of the host is at the card 6 clocks behind the last word of its unit.
#[test]
fn a_request_reaches_the_card_behind_6_clocks() {
    let mut bench = Bench::new(&BLOCKS[1], LARGE, 1).free();
    bench.session = true;
    let (header, data) = ([1, 0xF, 0x40, 0], vec![]);
    let read = Content::Tlp { header, data }.emit().unwrap();
    bench.units.push_back(read);
    let mut taken = None;
    while bench.passed == 0 {
        bench.clock().unwrap();
        if bench.units.is_empty() {
            taken.get_or_insert(bench.now);
        }
        assert!(bench.now < 100);
    }
    assert_eq!(bench.now - taken.unwrap(), 6);
}
