//! Frames stay whole on the way to the MAC, also where the card is reset in their middle and the MAC stalls for longer
//! than the reset.
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-hdl --test card_tx_guard -- --nocapture
//! ```

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::card::CardTxGuard;
use tributary_hdl::prelude::*;
use tributary_sim::testbench::{Stalls, number, profiles};

/// Clocks of a reset of the card.
const RESET: i32 = 48;

fn phase(uut: &mut CardTxGuard, clk: bool) {
    uut.clk.next = Clock { clk };
    for _ in 0..50 {
        uut.update_all();
        if !uut.has_changed() {
            break;
        }
    }
}

/// Runs a seed; returns how many frames ended, and how many were cut.
fn run(seed: u64) -> (u64, u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut stalls = Stalls::of_seed(seed, 1);
    let mut uut = CardTxGuard::default();
    uut.connect_all();
    uut.rst.next = true;
    phase(&mut uut, false);
    phase(&mut uut, true);
    uut.rst.next = false;
    // What went in, and what must come out for it.
    let mut expected: Vec<(u64, u64, bool)> = Vec::new();
    let mut out = Vec::new();
    let mut left = 0;
    let mut within = false;
    let mut offered: Option<(u64, u64, bool)> = None;
    let mut stood: Option<(u64, u64, bool)> = None;
    let (mut cut, mut cuts) = (0, 0);
    for clock in 0..15_000u64 {
        if cut == 0 && rng.random_range(0..60) == 0 {
            cut = RESET;
            offered = None;
            left = 0;
            if within {
                cuts += 1;
                expected.push((0, 1, true));
                within = false;
            }
        }
        if cut == 0 && offered.is_none() && rng.random_range(0..4) > 0 {
            if left == 0 {
                left = rng.random_range(1..12);
            }
            let keep = if left == 1 { 0x3F } else { 0xFF };
            offered = Some((clock + 1, keep, left == 1));
        }
        uut.cut.next = cut > 0;
        let word = offered.unwrap_or_default();
        uut.s_axis.tvalid.next = offered.is_some();
        uut.s_axis.tdata.next = word.0.into();
        uut.s_axis.tkeep.next = word.1.into();
        uut.s_axis.tlast.next = word.2;
        stalls.clock();
        let ready = stalls.ready(0);
        uut.m_axis.tready.next = ready;
        phase(&mut uut, false);
        let valid = uut.m_axis.tvalid.val();
        let now = (
            uut.m_axis.tdata.val().to_u64(),
            uut.m_axis.tkeep.val().to_u64(),
            uut.m_axis.tlast.val(),
        );
        stalls.observe(0, valid, now.2);
        if let Some(before) = stood {
            assert!(valid && now == before, "{stalls}, clock {clock}");
        }
        stood = (valid && !ready).then_some(now);
        if valid && ready {
            out.push(now);
        }
        if offered.is_some() && uut.s_axis.tready.val() {
            expected.push(word);
            within = !word.2;
            left -= 1;
            offered = None;
        }
        cut -= i32::from(cut > 0);
        phase(&mut uut, true);
    }
    // One word in the register, and perhaps the end of a frame behind it.
    assert!(out.len() <= expected.len(), "{stalls}: words from nowhere");
    assert!(expected.len() - out.len() <= 2, "{stalls}: words are lost");
    for (i, (out, expected)) in out.iter().zip(&expected).enumerate() {
        let same = out == expected || (expected.0 == 0 && (out.1, out.2) == (1, true));
        assert!(same, "{stalls}, word {i}: {out:x?} for {expected:x?}");
    }
    (out.iter().filter(|word| word.2).count() as u64, cuts)
}

#[test]
fn every_frame_ends_and_only_cut_ones_are_changed() {
    let mut cuts = 0;
    profiles("frames to the MAC", |seed| {
        let (frames, cut) = run(seed);
        cuts += cut;
        frames
    });
    if number("TRIBUTARY_SEED").is_none() {
        assert!(cuts > 50, "{cuts}");
    }
}
