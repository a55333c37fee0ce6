//! Two clients of the read engine take turns, and words come back to whom they belong.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::card::CardReadMux;
use tributary_hdl::prelude::*;
use tributary_sim::testbench::{Stalls, profiles};

struct Bench {
    uut: CardReadMux,
}

impl Bench {
    fn new() -> Self {
        let mut uut = CardReadMux::default();
        uut.connect_all();
        let mut bench = Self { uut };
        bench.uut.rst.next = true;
        bench.settle();
        bench.edge();
        bench.uut.rst.next = false;
        bench
    }

    /// Outputs of this clock.
    fn settle(&mut self) {
        self.phase(false);
    }

    fn edge(&mut self) {
        self.phase(true);
    }

    fn phase(&mut self, clk: bool) {
        self.uut.clk.next = Clock { clk };
        for _ in 0..50 {
            self.uut.update_all();
            if !self.uut.has_changed() {
                break;
            }
        }
    }
}

/// What is asked: address, length and context follow from a number.
fn offer(bench: &mut Bench, b: bool, number: Option<u64>) {
    let uut = &mut bench.uut;
    let n = number.unwrap_or(0);
    if b {
        uut.b.valid.next = number.is_some();
        uut.b.addr.next = n.into();
        uut.b.len.next = (n % 4096 + 1).into();
        uut.b.ctx.next = (n % 65_536).into();
    } else {
        uut.a.valid.next = number.is_some();
        uut.a.addr.next = n.into();
        uut.a.len.next = (n % 4096 + 1).into();
        uut.a.ctx.next = (n % 65_536).into();
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-hdl --test card_read_mux requests -- --nocapture`.
#[test]
fn requests_pass_once_in_turns_and_what_is_offered_stays() {
    profiles("card_read_mux: requests", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = Bench::new();
        let mut waiting = [None::<u64>; 2];
        let mut next = [1u64 << 40, 2 << 40];
        let mut passed = [Vec::new(), Vec::new()];
        let mut stood: Option<u64> = None;
        let mut behind = [0u32; 2];
        let busy = rng.random_range(1..=10);
        for clock in 0..7_000 {
            for i in 0..2 {
                if waiting[i].is_none() && rng.random_range(0..10) < busy {
                    waiting[i] = Some(next[i]);
                    next[i] += 1;
                }
                offer(&mut bench, i == 1, waiting[i]);
            }
            stalls.clock();
            let ready = stalls.ready(0);
            bench.uut.m.ready.next = ready;
            bench.settle();
            let uut = &bench.uut;
            let valid = uut.m.valid.val();
            stalls.observe(0, valid, true);
            let address = uut.m.addr.val().to_u64();
            if let Some(before) = stood {
                assert!(
                    valid && address == before,
                    "{stalls}, clock {clock}: it moved"
                );
            }
            stood = (valid && !ready).then_some(address);
            let taken = [
                waiting[0].is_some() && uut.a.ready.val(),
                waiting[1].is_some() && uut.b.ready.val(),
            ];
            assert_eq!(
                u32::from(taken[0]) + u32::from(taken[1]),
                u32::from(valid && ready),
                "{stalls}, clock {clock}"
            );
            for i in 0..2 {
                if taken[i] {
                    assert_eq!(Some(address), waiting[i]);
                    assert_eq!(uut.m.len.val().to_u64(), address % 4096 + 1);
                    assert_eq!(uut.m.ctx.val().to_u64(), address % 65_536);
                    passed[i].push(address);
                    waiting[i] = None;
                    behind[i] = 0;
                    if waiting[1 - i].is_some() {
                        behind[1 - i] += 1;
                        assert!(behind[1 - i] < 2, "{stalls}, clock {clock}: not in turns");
                    }
                }
            }
            bench.edge();
        }
        for (i, passed) in passed.iter().enumerate() {
            assert!(passed.len() > 20, "{stalls}: client {i}");
            assert!(passed.is_sorted(), "client {i}: once each and in order");
        }
        passed.iter().map(|passed| passed.len() as u64).sum()
    });
}

#[test]
fn words_go_to_their_client_and_to_no_other() {
    let mut bench = Bench::new();
    for client in 0..4u64 {
        for bits in 0..16u32 {
            let bit = |i: u32| bits >> i & 1 == 1;
            let uut = &mut bench.uut;
            uut.s_data_client.next = client.into();
            uut.s_data_valid.next = bit(3);
            uut.wq_ready.next = bit(0);
            uut.pl_ready.next = bit(1);
            uut.rr_ready.next = bit(2);
            bench.settle();
            let uut = &bench.uut;
            let valid = [
                uut.wq_valid.val(),
                uut.pl_valid.val(),
                uut.rr_valid.val(),
                false,
            ];
            for (i, valid) in valid.into_iter().enumerate() {
                assert_eq!(valid, bit(3) && i as u64 == client && client < 3);
            }
            if client < 3 {
                assert_eq!(uut.s_data_ready.val(), bit(client as u32));
            }
        }
    }
}
