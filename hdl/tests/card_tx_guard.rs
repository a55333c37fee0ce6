//! Frames stay whole on the way to the MAC, also where the card is reset in their middle.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::card::CardTxGuard;
use tributary_hdl::prelude::*;

fn phase(uut: &mut CardTxGuard, clk: bool) {
    uut.clk.next = Clock { clk };
    for _ in 0..50 {
        uut.update_all();
        if !uut.has_changed() {
            break;
        }
    }
}

#[test]
fn every_frame_ends_and_only_cut_ones_are_changed() {
    let mut cuts_within = 0;
    for seed in 0..30 {
        let mut rng = SmallRng::seed_from_u64(seed);
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
        let mut cut = 0;
        for clock in 0..3_000u64 {
            if cut == 0 && rng.random_range(0..60) == 0 {
                // The reset lasts until the MAC had time to take a word.
                cut = 40;
                offered = None;
                left = 0;
                if within {
                    cuts_within += 1;
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
            uut.s_axis_tvalid.next = offered.is_some();
            uut.s_axis_tdata.next = word.0.into();
            uut.s_axis_tkeep.next = word.1.into();
            uut.s_axis_tlast.next = word.2;
            let ready = cut == 1 || rng.random();
            uut.m_axis_tready.next = ready;
            phase(&mut uut, false);
            let valid = uut.m_axis_tvalid.val();
            let now = (
                uut.m_axis_tdata.val().to_u64(),
                uut.m_axis_tkeep.val().to_u64(),
                uut.m_axis_tlast.val(),
            );
            if let Some(before) = stood {
                assert!(valid && now == before, "seed {seed} clock {clock}");
            }
            stood = (valid && !ready).then_some(now);
            if valid && ready {
                out.push(now);
            }
            if offered.is_some() && uut.s_axis_tready.val() {
                expected.push(word);
                within = !word.2;
                left -= 1;
                offered = None;
            }
            cut -= i32::from(cut > 0);
            phase(&mut uut, true);
        }
        // One word in the register, and perhaps the end of a frame behind it.
        assert!(expected.len() - out.len() <= 2, "seed {seed}");
        for (i, (out, expected)) in out.iter().zip(&expected).enumerate() {
            let same = out == expected || (expected.0 == 0 && (out.1, out.2) == (1, true));
            assert!(same, "seed {seed} word {i}: {out:x?} for {expected:x?}");
        }
    }
    assert!(cuts_within > 50, "{cuts_within}");
}
