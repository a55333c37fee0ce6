//! `tlp_link` in Verilator, in lock step with its model, over lines that lose, double, delay and damage frames.
//!
//! `TRIBUTARY_SEED` repeats a run, `TRIBUTARY_FRAMES` goes on until so many units have passed. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release --workspace --test tlp_link_rtl -- --nocapture
//! ```

mod bench;
mod mutations;

mod random;

use std::sync::LazyLock;

use bench::{Bench, build};
use tributary_protocol::tlp_link::wire::{Frame, Kind};
use tributary_protocol::tlp_link::{Config, Link};
use tributary_sim::testbench::profiles;
use tributary_sim::verilate::Verilated;

/// Sizes of the end that is full all the time, and of one for boards.
const SMALL: [usize; 3] = [64, 64, 4];
const LARGE: [usize; 3] = [1024, 1024, 64];

static ENDS: LazyLock<[Verilated; 2]> =
    LazyLock::new(|| [SMALL, LARGE].map(|sizes| build(sizes, |_, text| text)));

fn config(sizes: [usize; 3], timeout: u64) -> Config {
    Config {
        buffer: sizes[0] as u16,
        replay: sizes[1] as u16,
        units: sizes[2] as u16,
        timeout,
    }
}

#[test]
fn units_pass_once_and_in_order_whatever_becomes_of_frames() {
    profiles("units", |seed| {
        let mut units = 0;
        for (library, sizes) in ENDS.iter().zip([SMALL, LARGE]) {
            units += random::units(library, sizes, seed)
                .unwrap_or_else(|error| panic!("{sizes:?}, seed {seed}: {error}"));
        }
        units
    });
}

#[test]
fn resets_of_either_end_leave_one_clean_session() {
    profiles("units between resets", |seed| {
        random::resets(&ENDS[0], seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    });
}

/// Frames of nobody, of other sessions, with any numbers in them, and damaged ones.
#[test]
fn strange_frames_do_what_the_model_says() {
    profiles("strange frames", |seed| {
        random::strange(&ENDS[0], seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    });
}

/// A unit of no words or too many is counted, and the next one passes.
#[test]
fn units_of_wrong_sizes_are_counted_and_gone() {
    let config = config(SMALL, 500);
    let mut bench = Bench::new(&ENDS[0], config, 1, 0).free();
    let mut peer = Link::new(config, 9);
    let mut arrived = vec![];
    for words in [0, 65, 4095, 64, 1] {
        bench.offer = None;
        for clock in 0..2_000 {
            if bench.link.session().is_some() && clock == 500 {
                bench.offer = Some((Kind::Tlp, vec![words as u8; 8 * words]));
            }
            bench.clock().unwrap();
            for frame in std::mem::take(&mut bench.left) {
                peer.receive(&Frame::parse(&frame).unwrap(), bench.now);
            }
            while let Some((_, bytes)) = peer.take() {
                arrived.push(bytes.len() / 8);
            }
            if let Some(frame) = peer.poll(bench.now) {
                bench.line.push_back((frame.emit(1, 2), false));
            }
        }
    }
    assert_eq!((bench.refused, &arrived[..]), (3, &[64, 1][..]));
}

/// Units of a TLP of 512 bytes: the link adds 4 words and few clocks to each, far below what a line of 1 Gb/s needs.
#[test]
fn frames_follow_each_other_closely() {
    let config = config(LARGE, 100_000);
    let mut bench = Bench::new(&ENDS[1], config, 1, 0).free();
    let mut peer = Link::new(config, 9);
    let mut arrived = 0;
    let mut begin = 0;
    while arrived < 200 {
        if bench.link.session().is_some() && bench.offer.is_none() {
            bench.offer = Some((Kind::Tlp, vec![7; 8 * 66]));
        }
        bench.clock().unwrap();
        for frame in std::mem::take(&mut bench.left) {
            peer.receive(&Frame::parse(&frame).unwrap(), bench.now);
        }
        while peer.take().is_some() {
            arrived += 1;
            if arrived == 100 {
                begin = bench.now;
            }
        }
        if let Some(frame) = peer.poll(bench.now) {
            bench.line.push_back((frame.emit(1, 2), false));
        }
        assert!(bench.now < 100_000);
    }
    let clocks = (bench.now - begin) as f64 / 100.0;
    println!("{clocks} clocks for a unit of 66 words");
    assert!(clocks < 76.0, "{clocks}");
}
