//! Deliberate errors where the engines of bulk transfers are joined to a card.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_hdl::catalog;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use super::beside::beside;
use super::ends::end_under_writes;
use super::made;
use super::order::in_order;
use crate::bench::Pair;

/// Chooses an error: the number of the first one, as the time after which reads of host memory fail, in units of 64 clocks. Long
/// enough for every test.
const FIRST: u64 = 30_001;
const WRONG: [Wrong; 6] = [
    // A command does not wait for the receiving side.
    ("bulk_ends", "done = ", "s_valid & (sent_reg | !s_pair)"),
    // Words of packets follow frames that are answers.
    ("bulk_depart", "of_b = ", "order_m_data[3] | b_pl_valid"),
    // Two completions in one clock are one.
    ("card_completions", "a_ready = ", "m_ready"),
    // A write asks before the payload of earlier datagrams is gone.
    ("card_write_order", "none = ", "1'b1"),
    // Fences do not learn that datagrams end.
    (
        "card_core",
        "send_s_ended_valid = ",
        "s_cpl_valid & s_cpl_ready",
    ),
    // Words that were read for packets go to others.
    ("card_core", "read_mux_s_data_bulk = ", "1'b0"),
];

#[test]
fn bw_02_bw_04_bw_09_a_card_that_is_joined_wrongly_is_noticed() {
    let sizes = [("Q", 16), ("R", 32), ("F", 64), ("S", 16)];
    let choice = catalog::choose("bulk_card", &sizes).unwrap();
    let design = choice.emit().unwrap();
    let port = ("cfg_read_timeout", 16);
    let library = wrong::library(&design.top, design.files(), port, FIRST, &WRONG);
    runs(&library, FIRST - 1);
    wrong::every_is_noticed(&WRONG, |number| {
        catch_unwind(AssertUnwindSafe(|| runs(&library, FIRST + number)))
            .map_err(|_| "an assertion".to_owned())
    });
}

/// What tests of the card do, shorter.
fn runs(library: &Verilated, number: u64) {
    const SEED: u64 = 1;
    let config = Config {
        seed: SEED,
        stall: Profile::Independent(60),
        ..Config::default()
    };
    let cards = || {
        let mut pair = Pair::rtl_of(library, &config);
        for at in 0..2 {
            pair.rtl_card(at).0.set_read_timeout(number);
        }
        pair
    };
    beside(cards(), SEED, 20);
    end_under_writes(made(cards()), SEED, 4);
    in_order(made(cards()).0, SEED, 8, 30);
}
