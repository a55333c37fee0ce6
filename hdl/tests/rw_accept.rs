//! The accept pipeline in rust-hdl's own simulation, against a set of numbers
//! received per window.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;
use tributary_hdl::prelude::*;
use tributary_hdl::rw::RwAccept;

/// W = 64, R = 4: 32-bit words, two a window.
type Small = RwAccept<2, 64, 6, 32, 5, 2, 1, 4, 16, 3, 17>;
/// W = 256, R = 4: 32-bit words, eight a window.
type Middle = RwAccept<2, 256, 8, 32, 5, 8, 3, 16, 14, 5, 15>;

fn settle<B: Block>(uut: &mut B) {
    for _ in 0..200 {
        uut.update_all();
        if !uut.has_changed() {
            return;
        }
    }
    panic!("no fixpoint");
}

macro_rules! lock_step {
    ($name:ident, $ty:ty, $w:expr) => {
        #[test]
        fn $name() {
            let mut uut = <$ty>::default();
            uut.connect_all();
            let mut rng = SmallRng::seed_from_u64(7);
            let n = 5 * $w as u64 + 3;
            let clock = |uut: &mut $ty| {
                uut.clk.next = Clock { clk: false };
                settle(uut);
                uut.clk.next = Clock { clk: true };
                settle(uut);
            };
            uut.rst.next = true;
            clock(&mut uut);
            uut.rst.next = false;
            for wptr in 0..4u64 {
                uut.cw_en.next = true;
                uut.cw_wptr.next = wptr.into();
                uut.cw_open.next = true;
                uut.cw_gen.next = 9.into();
                uut.cw_src.next = 3.into();
                uut.cw_last.next = (n - 1).into();
                uut.cw_mtu.next = 1.into();
                uut.cw_last_len.next = 77.into();
                uut.cw_addr.next = 0x1000.into();
                clock(&mut uut);
            }
            uut.cw_en.next = false;
            let mut got = vec![vec![false; n as usize]; 4];
            let mut base = [0u64; 4];
            let mut expect: VecDeque<(u64, u64, u64)> = VecDeque::new();
            let mut decided = 0;
            let mut seen = [0u64; 10];
            for cycle in 0..6000 {
                let valid = rng.random_range(0..10) != 0;
                let wptr = if rng.random_range(0..4) == 0 { rng.random_range(0..4) } else { (cycle / 200) % 4 };
                let b = base[wptr as usize];
                let w = $w as u64;
                let pidx = match rng.random_range(0..8) {
                    0..3 => b,
                    3 => b + w - 1,
                    4 => (b + w).saturating_sub(rng.random_range(0..3)),
                    5 => b.saturating_sub(1),
                    _ => b + rng.random_range(0..w + 4),
                }
                .min(n - 1);
                uut.s_valid.next = valid;
                uut.s_wptr.next = wptr.into();
                uut.s_gen.next = 9.into();
                uut.s_src.next = 3.into();
                uut.s_pidx.next = pidx.into();
                uut.s_tail.next = pidx == n - 1;
                uut.s_len.next = if pidx == n - 1 { 77 } else { 512 }.into();
                clock(&mut uut);
                if valid {
                    let (g, k) = (&mut got[wptr as usize], wptr as usize);
                    let reason = if pidx < base[k] {
                        7
                    } else if pidx >= base[k] + w {
                        8
                    } else if g[pidx as usize] {
                        9
                    } else {
                        g[pidx as usize] = true;
                        while (base[k] as usize) < g.len() && g[base[k] as usize] {
                            base[k] += 1;
                        }
                        0
                    };
                    expect.push_back((cycle, pidx, reason));
                }
                if uut.m_valid.val() {
                    let (at, pidx, reason) = expect.pop_front().expect("no decision is due");
                    assert_eq!(cycle - at, 5, "latency");
                    assert_eq!(uut.m_reason.val().to_u64(), reason, "packet {pidx} at {at}");
                    seen[reason as usize] += 1;
                    if reason == 0 {
                        assert_eq!(uut.m_addr.val().to_u64(), 0x1000 + pidx * 512);
                    }
                    decided += 1;
                }
            }
            assert!(decided > 4000);
            assert!(seen[0] > 100 && seen[7] > 10 && seen[8] > 10 && seen[9] > 10, "{seen:?}");
        }
    };
}

lock_step!(rw_01_rw_02_rw_03_accept_pipeline_w64, Small, 64);
lock_step!(rw_01_rw_02_rw_03_accept_pipeline_w256, Middle, 256);
