//! The counters of the receiver window against plain counts.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::prelude::*;
use tributary_hdl::rw::RwCounts;

struct Bench {
    uut: RwCounts<4>,
    want: [u64; 16],
}

impl Bench {
    fn new() -> Self {
        let mut uut = RwCounts::default();
        uut.connect_all();
        let mut bench = Self { uut, want: [0; 16] };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.uut.rst.next = true;
        self.clock();
        self.uut.rst.next = false;
        self.clocks(32);
        self.want = [0; 16];
    }

    fn clock(&mut self) {
        for clk in [false, true] {
            self.uut.clk.next = Clock { clk };
            for _ in 0..50 {
                self.uut.update_all();
                if !self.uut.has_changed() {
                    break;
                }
            }
        }
        self.uut.s_valid.next = false;
    }

    fn clocks(&mut self, clocks: u32) {
        for _ in 0..clocks {
            self.clock();
        }
    }

    fn event(&mut self, index: usize) {
        self.uut.s_valid.next = true;
        self.uut.s_data.next = (index as u64).into();
        self.want[index] += 1;
        self.clock();
    }

    fn check(&mut self) {
        for index in 0..16 {
            self.uut.rd.addr.next = (index as u64).into();
            self.clocks(24);
            let count = self.uut.rd.data.val().to_u64();
            assert_eq!(count, self.want[index], "counter {index}");
        }
    }
}

#[test]
fn no_event_is_lost_back_to_back_or_spread_also_when_the_lower_bits_wrap() {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut bench = Bench::new();
    for round in 0..40 {
        let spread = [1, 2, 3, 16][round % 4];
        for _ in 0..rng.random_range(1..700) {
            if rng.random_range(0..8) == 0 {
                bench.clock();
            }
            bench.event(rng.random_range(0..spread) * 5 % 16);
        }
        bench.check();
    }
    assert!(bench.want[0] > 3 * 256);
}

#[test]
fn reset_clears_all_counters() {
    let mut bench = Bench::new();
    for event in 0..1000 {
        bench.event(event % 16);
    }
    bench.reset();
    bench.check();
    bench.event(7);
    bench.check();
}
