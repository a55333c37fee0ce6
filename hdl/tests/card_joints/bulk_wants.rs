//! bulk_wants: what a transfer wants of the line, by its rules.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::bulk::BulkWants;
use tributary_sim::testbench::seeds;

use super::ports::{build, rng};

/// log2 of the packets that are kept of a transfer.
const LD: usize = 9;
/// Packets of a transfer, at most.
const MOST: u32 = 1 << 21;

/// One below, the number itself, or one above.
fn near(rng: &mut ChaCha8Rng, number: u32) -> u32 {
    (number + rng.random_range(0..3)).saturating_sub(1)
}

/// Few, or of any size up to `most`.
fn some(rng: &mut ChaCha8Rng, most: u32) -> u32 {
    let most = most >> rng.random_range(0..22);
    rng.random_range(0..=most)
}

/// A tick that is past, present or to come.
fn tick(rng: &mut ChaCha8Rng, now: u16) -> u16 {
    match rng.random_range(0..3) {
        0 => now.wrapping_add(rng.random_range(0..3)).wrapping_sub(1),
        1 => now.wrapping_add(0x7fff + rng.random_range(0..3)),
        _ => rng.random(),
    }
}

/// Numbers of all sizes, and each comparison at its border: the answer, 7 clocks later, is that of the rules.
#[test]
fn rw_10_rw_19_what_a_transfer_wants_is_what_its_state_says() {
    let library = build(BulkWants::<LD>::default());
    let port = |name: &str| library.port(name).unwrap();
    let inputs = [
        "now",
        "open",
        "repairs",
        "early",
        "n",
        "credit",
        "base",
        "pointer",
        "trusted",
        "poll_at",
        "early_at",
        "cfg_overrun",
    ]
    .map(port);
    let outputs = ["due", "resend", "fresh", "spare", "starved"].map(port);
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        let mut seen = [[0; 2]; 5];
        for round in 0..4_000 {
            let n = 1 + some(&mut rng, MOST - 1);
            let base = some(&mut rng, n);
            let trusted = base + some(&mut rng, n - base);
            let moved = trusted - base;
            let overrun = match rng.random_range(0..3) {
                0 => near(&mut rng, moved).min(0xffff),
                1 => some(&mut rng, 0xffff),
                _ => 1 << rng.random_range(0..16),
            };
            let room = moved.min(overrun);
            let pointer = match rng.random_range(0..4) {
                0 => n,
                1 => near(&mut rng, base + (1 << LD)).min(n),
                2 => base,
                _ => base + some(&mut rng, n - base),
            };
            let credit = match rng.random_range(0..3) {
                0 => n,
                1 => near(&mut rng, pointer.saturating_sub(room)).min(n),
                _ => some(&mut rng, n),
            };
            let now: u16 = rng.random();
            let (poll_at, early_at) = (tick(&mut rng, now), tick(&mut rng, now));
            let [open, repairs, early] = [(); 3].map(|()| rng.random_range(0..4) > 0);
            let repairs = repairs && rng.random();
            let values = [
                now.into(),
                open.into(),
                repairs.into(),
                early.into(),
                n,
                credit,
                base,
                pointer,
                trusted,
                poll_at.into(),
                early_at.into(),
                overrun,
            ];
            for (port, value) in inputs.into_iter().zip(values) {
                model.set(port, value.into());
            }
            model.clocks(7).unwrap();
            model.eval().unwrap();
            let resend = open && repairs;
            let fresh = open && pointer < credit + room && pointer != n && pointer - base < 1 << LD;
            let past = |at: u16| now.wrapping_sub(at) < 0x8000;
            let wanted = [
                past(poll_at) && !(open && (resend || fresh)),
                resend,
                fresh,
                early && pointer == n && past(early_at),
                open && pointer != n && !fresh && !resend,
            ];
            let got = outputs.map(|port| model.is_set(port));
            assert_eq!(got, wanted, "seed {seed}, round {round}: {values:?}");
            for (seen, wanted) in seen.iter_mut().zip(wanted) {
                seen[usize::from(wanted)] += 1;
            }
        }
        assert!(seen.iter().flatten().all(|&seen| seen > 200), "{seen:?}");
    }
}
