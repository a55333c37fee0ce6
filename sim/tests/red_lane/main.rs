//! `red_lane` and `red_flt_sum` in Verilator against the operations of the model, bit for bit.
//!
//! Environment: `RED_SEED` repeats a run, `RED_PAIRS` is the number of random pairs for each mode
//! of FLT_SUM and of random frames. Long form:
//!
//! ```sh
//! RED_PAIRS=10000000 cargo test --release -p tributary-sim --test red_lane -- --nocapture red_05_random
//! ```

mod bench;
mod mutations;
#[path = "../../../protocol/tests/red_common/mod.rs"]
mod red_common;
mod stimulus;

use bench::{Bench, build};
use tributary_protocol::red::ops::Mode;

const MODES: [Mode; 2] = [Mode { ieee_nan: false }, Mode { ieee_nan: true }];

/// Every operation on every pair of special values, the operation another at each clock.
#[test]
fn cl_07_red_01_red_03_red_04_red_05_special_values_in_every_operation() {
    let library = build();
    for mode in MODES {
        let mut bench = Bench::new(&library, mode);
        stimulus::specials(&mut bench, mode).unwrap();
        stimulus::special_halves(&mut bench, mode, red_common::seed()).unwrap();
        println!("{mode:?}: {} words", bench.words);
    }
}

/// Random pairs through all eight modes of FLT_SUM, the mode another at each clock.
#[test]
fn red_05_random_pairs_in_every_mode_of_flt_sum() {
    let library = build();
    let mut bench = Bench::new(&library, MODES[0]);
    stimulus::sums(&mut bench, red_common::seed(), red_common::pairs()).unwrap();
}

/// The same of binary32, another pair in each half of a word.
#[test]
fn cl_07_red_05_random_pairs_of_binary32_in_every_mode() {
    let library = build();
    let mut bench = Bench::new(&library, MODES[0]);
    stimulus::sums_32(&mut bench, red_common::seed(), red_common::pairs()).unwrap();
}

/// Integers of both sizes, and words of REPSUM, that overflow or nearly so, without pause.
#[test]
fn cl_07_red_01_red_06_random_integers_and_repsum_words() {
    let library = build();
    let mut bench = Bench::new(&library, MODES[0]);
    stimulus::integers(&mut bench, red_common::seed(), red_common::pairs()).unwrap();
}

/// Frames of all operations back to back and with pauses between: MINMAXLOC with ties in either
/// or both of the values, REPSUM words in between.
#[test]
fn cl_07_red_02_red_03_red_04_frames_of_every_operation_back_to_back() {
    let library = build();
    for mode in MODES {
        let mut bench = Bench::new(&library, mode);
        stimulus::frames(&mut bench, mode, red_common::seed(), red_common::pairs()).unwrap();
    }
}

/// Words on their way when a reset comes never leave, wherever in the pipeline they are.
#[test]
fn words_on_their_way_are_gone_after_a_reset() {
    use tributary_protocol::red::ops::Op;
    let library = build();
    let mut bench = Bench::new(&library, MODES[0]);
    for clocks in 1..bench::LATENCY {
        for _ in 0..clocks {
            let step = bench::single(Op::IntSum, MODES[0], 3, 5, 7);
            bench.clock(Some(step)).unwrap();
        }
        bench.reset();
        for _ in 0..2 * bench::LATENCY {
            bench.clock(None).unwrap();
        }
    }
}

/// The block of its own takes ten clocks and all eight modes too.
#[test]
fn red_05_flt_sum_block_has_the_same_sums() {
    use tributary_protocol::red::ops::{BINARY64, Rounding, flt_sum};
    use tributary_sim::verilate::{BuildOptions, Verilated};
    let design = tributary_hdl::catalog::choose("red_flt_sum", &[] as &[(&str, usize)])
        .unwrap()
        .emit()
        .unwrap();
    let library =
        Verilated::build(&BuildOptions::new(&design.top, &design.files()).with_checks()).unwrap();
    let mut model = library.model().unwrap();
    let [valid, rounding, ftz, a, b] =
        ["s_valid", "s_rounding", "s_ftz", "s_a", "s_b"].map(|name| model.port(name).unwrap());
    let [m_valid, m_data, m_code] =
        ["m_valid", "m_data", "m_code"].map(|name| model.port(name).unwrap());
    model.reset(2).unwrap();
    let mut rng = red_common::rng(red_common::seed());
    let mut due = std::collections::VecDeque::from(vec![None; bench::LATENCY - 1]);
    for i in 0..100_000_usize {
        let (x, y) = red_common::pair(&mut rng);
        let given = i % 7 != 0;
        let (mode, flush) = (i % 4, i / 4 % 2 == 1);
        for (port, value) in [
            (valid, given.into()),
            (rounding, mode as u64),
            (ftz, flush.into()),
            (a, x),
            (b, y),
        ] {
            model.set(port, value);
        }
        model.clock().unwrap();
        due.push_back(given.then(|| (x, y, flt_sum(BINARY64, x, y, Rounding::ALL[mode], flush))));
        let want = due.pop_front().flatten();
        assert_eq!(model.is_set(m_valid), want.is_some());
        if let Some((x, y, (sum, flags))) = want {
            let got = (model.get(m_data), model.get(m_code));
            assert_eq!(got, (sum, flags.rc().code().into()), "{x:#x} + {y:#x}");
        }
    }
}
