//! The accept pipeline, in Verilog, in lock step with a set of numbers received per window.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;
use std::sync::OnceLock;
use tributary_hdl::emit::emit_block;
use tributary_hdl::rw::RwAccept;
use tributary_sim::verilate::{BuildOptions, Model, Verilated};

/// W = 64, R = 4: 32-bit words, two a window.
type Small = RwAccept<2, 64, 6, 32, 5, 1, 3>;
/// W = 256, R = 4: 32-bit words, eight a window.
type Middle = RwAccept<2, 256, 8, 32, 5, 3, 5>;
/// W = 1024, R = 4: 64-bit words, sixteen a window.
type Large = RwAccept<2, 1024, 10, 64, 6, 4, 6>;

/// What one window has received.
#[derive(Clone, Default)]
struct Window {
    got: Vec<bool>,
    /// First hole, as far as slides have come.
    seen: u64,
    /// Credit updates that may come, one for each step over a multiple of W/4; one must.
    owed: u64,
    fresh: bool,
    open: bool,
}

impl Window {
    /// Drop reason of a packet.
    fn data(&mut self, pidx: u64, w: u64) -> u64 {
        if !self.open {
            return 1;
        }
        if pidx < self.seen {
            return 7;
        }
        if pidx >= self.seen + w {
            return 8;
        }
        if self.got[pidx as usize] {
            return 9;
        }
        self.got[pidx as usize] = true;
        0
    }

    /// First hole.
    fn base(&self) -> u64 {
        self.got.iter().take_while(|&&got| got).count() as u64
    }

    /// A slide.
    fn slide(&mut self, base: u64, w: u64) {
        if !self.open {
            return;
        }
        assert!(
            (self.seen..=self.base()).contains(&base),
            "a slide from {} to {base}, the first hole is {}",
            self.seen,
            self.base()
        );
        if self.seen / (w / 4) != base / (w / 4) {
            self.owed += 1;
            self.fresh = true;
        }
        self.seen = base;
    }
}

/// A decision to come: cycle, packet, reason.
type Due = (u64, u64, u64);

/// Clocks after a record in which the slide it makes has been made: 17, and 12 for each further
/// word, of 17 at most; with another visit and 3 clocks for the credit update.
const SLID: u64 = VISIT + 17 * 12;
/// Clocks of one visit and its credit update.
const VISIT: u64 = 20;

macro_rules! bench {
    ($module:ident, $ty:ty, $w:expr, $words:expr, $n:expr) => {
        mod $module {
            use super::*;

            const W: u64 = $w;
            /// Packets of a transfer.
            const N: u64 = $n;

            struct Bench {
                rtl: Model,
                windows: Vec<Window>,
                due: VecDeque<Due>,
                /// Addresses of the decisions to come.
                addresses: VecDeque<u64>,
                cycle: u64,
                seen: [u64; 10],
            }

            impl Bench {
                fn new() -> Self {
                    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
                    let library = LIBRARY.get_or_init(|| {
                        let design = emit_block(&mut <$ty>::default()).unwrap();
                        let options = BuildOptions::new(&design.top, &design.files());
                        Verilated::build(&options.with_checks()).unwrap()
                    });
                    let mut bench = Self {
                        rtl: library.model().unwrap(),
                        windows: vec![Window::default(); 4],
                        due: VecDeque::new(),
                        addresses: VecDeque::new(),
                        cycle: 0,
                        seen: [0; 10],
                    };
                    bench.rtl.reset(1).unwrap();
                    for wptr in 0..4 {
                        bench.open(wptr);
                    }
                    bench
                }

                fn set(&mut self, port: &str, value: u64) {
                    let port = self.rtl.port(port).unwrap();
                    self.rtl.set(port, value);
                }

                fn get(&self, port: &str) -> u64 {
                    self.rtl.get(self.rtl.port(port).unwrap())
                }

                /// One clock; then the decision, if one is out.
                fn clock(&mut self) {
                    self.rtl.clock().unwrap();
                    if self.get("m_valid") == 1 {
                        let address = self.addresses.pop_front().expect("nothing on p_*");
                        let (at, pidx, reason) = self.due.pop_front().expect("no decision is due");
                        assert_eq!(self.cycle - at, 6, "latency");
                        assert_eq!(self.get("m_reason"), reason, "packet {pidx} at {at}");
                        self.seen[reason as usize] += 1;
                        if reason == 0 {
                            assert_eq!(address, 0x1000 + pidx * 512);
                        }
                    } else if let Some(due) = self.due.front() {
                        assert!(self.cycle - due.0 < 6, "decision on {} is missing", due.1);
                    }
                    if self.get("p_valid") == 1 {
                        self.addresses.push_back(self.get("p_addr"));
                    }
                    assert!(self.addresses.len() <= 2, "p_* two clocks before m_*");
                    if self.get("m_credit") == 1 {
                        let wptr = self.get("m_credit_wptr");
                        let window = &mut self.windows[wptr as usize];
                        assert!(!window.open || window.owed > 0, "a credit update too many");
                        window.owed = window.owed.saturating_sub(1);
                        window.fresh = false;
                    }
                    if self.get("slide_en") == 1 {
                        let wptr = self.get("slide_wptr");
                        let base = self.get("slide_base");
                        self.windows[wptr as usize].slide(base, W);
                    }
                    self.cycle += 1;
                    self.set("s_valid", 0);
                    self.set("s_init", 0);
                    self.set("cw_en", 0);
                }

                fn connection(&mut self, wptr: usize, open: bool) {
                    self.set("cw_en", 1);
                    self.set("cw_wptr", wptr as u64);
                    self.set("cw_open", open.into());
                    self.set("cw_gen", 9);
                    self.set("cw_src", 3);
                    self.set("cw_last", N - 1);
                    self.set("cw_mtu", 1);
                    self.set("cw_last_len", 77);
                    self.set("cw_addr", 0x1000);
                }

                /// Closes the window, clears its words and opens it again. DATA for it in between
                /// is dropped as closed, whatever its number.
                fn open(&mut self, wptr: usize) {
                    for _ in 0..3 {
                        self.clock();
                    }
                    self.connection(wptr, false);
                    self.clock();
                    self.windows[wptr].open = false;
                    for _ in 0..3 {
                        self.clock();
                    }
                    for word in 0..$words {
                        self.set("s_valid", 1);
                        self.set("s_init", 1);
                        self.set("s_wptr", wptr as u64);
                        self.set("s_pidx", word * (W / $words));
                        self.clock();
                        self.data(wptr, word * 3);
                    }
                    for _ in 0..3 {
                        self.clock();
                    }
                    // Open for what is offered two clocks later.
                    self.connection(wptr, true);
                    self.clock();
                    self.clock();
                    self.windows[wptr] = Window {
                        got: vec![false; N as usize],
                        seen: 0,
                        owed: 0,
                        fresh: false,
                        open: true,
                    };
                }

                fn data(&mut self, wptr: usize, pidx: u64) {
                    let pidx = pidx.min(N - 1);
                    self.set("s_valid", 1);
                    self.set("s_wptr", wptr as u64);
                    self.set("s_gen", 9);
                    self.set("s_src", 3);
                    self.set("s_pidx", pidx);
                    self.set("s_tail", (pidx == N - 1).into());
                    self.set("s_len", if pidx == N - 1 { 77 } else { 512 });
                    let reason = self.windows[wptr].data(pidx, W);
                    self.due.push_back((self.cycle, pidx, reason));
                    self.clock();
                }

                fn base(&self, wptr: usize) -> u64 {
                    self.windows[wptr].base()
                }

                /// Until all slides are made, and a visit has passed the pipeline behind them.
                fn settle(&mut self) {
                    let slid = |w: &Window| !w.open || w.seen == w.base() && !w.fresh;
                    for _ in 0..SLID {
                        if self.windows.iter().all(slid) {
                            break;
                        }
                        self.clock();
                    }
                    for _ in 0..VISIT {
                        self.clock();
                    }
                    for window in self.windows.iter().filter(|window| window.open) {
                        assert_eq!(window.seen, window.base(), "a slide is missing");
                        assert!(!window.fresh, "a credit update is missing");
                    }
                }

                fn finish(mut self) -> [u64; 10] {
                    self.settle();
                    assert!(self.due.is_empty());
                    self.seen
                }
            }

            #[test]
            fn rw_01_rw_02_rw_03_random_packets() {
                for seed in 0..6 {
                    let mut rng = SmallRng::seed_from_u64(seed);
                    let mut bench = Bench::new();
                    for step in 0..4000usize {
                        let wptr = if rng.random_range(0..4) == 0 {
                            rng.random_range(0..4)
                        } else {
                            (step / 200) % 4
                        };
                        let b = bench.base(wptr);
                        let pidx = match rng.random_range(0..9) {
                            0..3 => b,
                            3 => b + W - 1,
                            4 => (b + W).saturating_sub(rng.random_range(0..3)),
                            5 => b.saturating_sub(1),
                            6 => b + rng.random_range(0..W + 4),
                            7 => (b + W).saturating_sub(rng.random_range(0..W / 2)),
                            _ => b + rng.random_range(0..40),
                        };
                        bench.data(wptr, pidx);
                        if rng.random_range(0..10) == 0 {
                            bench.clock();
                        }
                        if b + 1 >= N || rng.random_range(0..900) == 0 {
                            bench.open(wptr);
                        }
                    }
                    let seen = bench.finish();
                    assert!([0, 1, 7, 8, 9].iter().all(|&r| seen[r] > 10), "{seen:?}");
                }
            }

            /// Streams at one packet a clock: in order, neighbours swapped, blocks reversed. Slides
            /// keep up, but for blocks of half a window, which wait for the window.
            #[test]
            fn rw_03_streams_in_order_and_reversed_blocks() {
                for block in [1, 2, 3, 8, 32] {
                    let mut bench = Bench::new();
                    let mut waits = 0;
                    for p in 0..N {
                        let start = p / block * block;
                        let top = (start + block).min(N) - 1;
                        while top >= bench.windows[0].seen + W {
                            bench.clock();
                            waits += 1;
                        }
                        bench.data(0, top - (p - start));
                    }
                    assert!(block * 4 > W || waits == 0, "{waits} clocks waited");
                    assert_eq!(bench.base(0), N);
                    assert_eq!(bench.finish()[0], N);
                }
            }

            /// A window full but for some holes, which are then filled back to back; each slides.
            /// Behind each slide: the last packet of the new window, and the one above it.
            #[test]
            fn rw_01_rw_03_holes_filled_back_to_back() {
                for (seed, edges) in (0..24).map(|s| (s, s % 8)) {
                    let mut rng = SmallRng::seed_from_u64(100 + seed);
                    let mut bench = Bench::new();
                    while bench.base(1) < N {
                        let b = bench.base(1);
                        let holes: Vec<u64> = (b + 1..(b + W).min(N))
                            .filter(|_| rng.random_range(0..W) < 4)
                            .collect();
                        for p in (b + 1..(b + W).min(N)).filter(|p| !holes.contains(p)) {
                            bench.data(1, p);
                        }
                        for hole in std::iter::once(b).chain(holes) {
                            bench.data(1, hole);
                            if edges & 4 == 0 {
                                bench.settle();
                            }
                            let b = bench.base(1);
                            if edges & 1 != 0 {
                                bench.data(1, b + W - 1);
                            }
                            if edges & 2 != 0 {
                                bench.data(1, b + W);
                                bench.data(1, hole + W);
                            }
                        }
                    }
                    bench.finish();
                }
            }

            /// Packets W further on fill the words that the slide just before has left.
            #[test]
            fn rw_01_rw_03_next_lap_behind_a_slide() {
                for hole in [0, 1, 30, 31, 32, 33, W / 2 - 1, W / 2] {
                    for second in [
                        hole + 1,
                        hole + 31,
                        hole + 32,
                        hole + 33,
                        hole + W / 2,
                        hole + W - 1,
                    ] {
                        let mut bench = Bench::new();
                        let base = hole;
                        println!("hole {hole}, second {second}");
                        for p in (0..base).chain(base + 1..base + W).filter(|&p| p != second) {
                            bench.data(2, p);
                        }
                        // All of the next lap below the hole has come too.
                        bench.data(2, base);
                        bench.settle();
                        bench.data(2, base + W);
                        if second < base + W {
                            bench.data(2, second);
                        }
                        let b = bench.base(2);
                        for p in b..b + W {
                            bench.data(2, p);
                        }
                        bench.finish();
                    }
                }
            }

            /// A window full from one hole to the next lap: a slide by W.
            #[test]
            fn rw_03_slide_by_a_whole_window() {
                for hole in [0, 1, 31, 32, 40, W - 1] {
                    let mut bench = Bench::new();
                    for p in (0..hole).chain(hole + 1..hole + W) {
                        bench.data(3, p);
                    }
                    bench.data(3, hole);
                    assert_eq!(bench.base(3), hole + W);
                    bench.settle();
                    for p in [
                        hole + 2 * W - 1,
                        hole + 2 * W,
                        hole + W,
                        hole + W + 2,
                        hole + W + 1,
                    ] {
                        bench.data(3, p);
                    }
                    bench.finish();
                }
            }

            #[test]
            fn rw_01_rw_02_rw_03_windows_interleaved() {
                let mut bench = Bench::new();
                for p in 0..N {
                    for wptr in 0..4u64 {
                        bench.data(wptr as usize, p ^ (wptr & 1));
                    }
                }
                bench.finish();
            }
        }
    };
}

bench!(w64, Small, 64, 2, 5 * 64 + 3);
bench!(w256, Middle, 256, 8, 3 * 256 + 3);
bench!(w1024, Large, 1024, 16, 2 * 1024 + 3);
