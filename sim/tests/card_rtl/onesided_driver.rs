//! One-sided operations by the driver, on Verilated cards.

use tributary_sim::card::SimDevice;

use super::exchange::BAD;
use super::{onesided_runs as runs, pair, seed};

fn devices() -> Vec<SimDevice> {
    pair(BAD, seed())
}

fn check(devices: &[SimDevice]) {
    for device in devices {
        device.check().unwrap();
    }
}

#[test]
fn xud_13_counts_are_exact_over_links_that_lose_double_and_reorder() {
    let devices = devices();
    let again = runs::counts_are_exact(&devices, 8, 100, seed());
    assert!(again > 5, "only {again} came again");
    check(&devices);
}

#[test]
fn xud_13_bytes_are_exact_over_links_that_lose_double_and_reorder() {
    let devices = devices();
    runs::bytes_are_exact(&devices, 8, 60, seed());
    check(&devices);
}

#[test]
fn xud_06_xud_13_a_target_that_is_reset_does_nothing_twice() {
    let devices = devices();
    runs::a_target_that_is_reset_does_nothing_twice(&devices);
    check(&devices);
}

#[test]
fn xud_09_xud_13_a_requester_that_goes_leaves_nothing() {
    let devices = devices();
    runs::a_requester_that_goes_leaves_nothing(&devices, 40);
    check(&devices);
}

#[test]
fn xud_13_refusals_have_their_names_and_end_the_window() {
    let devices = devices();
    runs::refusals_have_their_names(&devices);
    check(&devices);
}
