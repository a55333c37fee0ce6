//! Tags and the ends of the range of their timeout.

use crate::bench::build;
use std::sync::LazyLock;
use tributary_hdl::pcie::DmaTags;
use tributary_sim::verilate::{Model, Verilated};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(DmaTags::default()));

/// Clocks of a unit of the timeout.
const UNIT: u64 = 64;

/// A read that nobody answers goes out; the clocks until it is given up, within a number of them.
fn given_up(model: &mut Model, timeout: u64, limit: u64) -> Option<u64> {
    let [take, end, give, flr, cfg] = ["take", "end_valid", "give_valid", "flr", "cfg_timeout"]
        .map(|name| model.port(name).unwrap());
    let [free, gone] = ["m_free", "tmo_valid"].map(|name| model.port(name).unwrap());
    for input in [take, end, give, flr] {
        model.set(input, 0);
    }
    model.set(cfg, timeout);
    model.reset(3).unwrap();
    model.eval().unwrap();
    while !model.is_set(free) {
        model.clock().unwrap();
    }
    model.set(take, 1);
    model.clock().unwrap();
    model.set(take, 0);
    for clock in 1..limit {
        model.eval().unwrap();
        if model.is_set(gone) {
            return Some(clock);
        }
        model.clock().unwrap();
    }
    None
}

#[test]
fn a_read_is_given_up_after_1_to_65535_units_and_with_0_never() {
    let mut model = LIBRARY.model_with_seed(1).unwrap();
    for timeout in [1, 100, 65_534, 65_535] {
        let clocks = given_up(&mut model, timeout, UNIT * (timeout + 4));
        let clocks = clocks.unwrap_or_else(|| panic!("never, with {timeout}"));
        // Not earlier, and at most two units late.
        let units = clocks as f64 / UNIT as f64;
        assert!(
            (timeout as f64..=timeout as f64 + 2.1).contains(&units),
            "{units} units with a timeout of {timeout}"
        );
    }
    // Longer than the longest timeout, and than the count of units.
    assert_eq!(given_up(&mut model, 0, UNIT * 131_200), None);
}
