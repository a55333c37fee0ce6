//! Queues and the free list in lock step with plain models.

use crate::bench::{Bench, Dice, flows};
use std::collections::VecDeque;
use tributary_hdl::blocks::{FifoAhead, FifoBram, FifoReg, FreeList};
use tributary_hdl::prelude::*;

fn fifo_reg_matches_queue<const N: usize, const A: usize>(seed: u64) -> Bench<FifoReg<N, A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(FifoReg::<N, A>::default(), |b| &mut b.clk);
    let mut model: VecDeque<Bits<N>> = VecDeque::new();
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(400) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.count.val(), model.len() as u64);
            assert_eq!(uut.s.ready.val(), model.len() < 1 << A);
            assert_eq!(uut.m.valid.val(), !model.is_empty());
            if let Some(&oldest) = model.front() {
                assert_eq!(uut.m.data.val(), oldest);
            }
            let push = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val());
            if uut.m.valid.val() && uut.m.ready.val() {
                model.pop_front();
            }
            model.extend(push);
            if uut.rst.val() {
                model.clear();
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn fifo_reg_matches_queue_under_random_stalls() {
    fifo_reg_matches_queue::<1, 1>(1).replay_in_verilog();
    fifo_reg_matches_queue::<8, 2>(2);
    fifo_reg_matches_queue::<32, 4>(3);
    fifo_reg_matches_queue::<70, 5>(4).replay_in_verilog();
}

fn fifo_ahead_matches_queue<const N: usize, const A: usize>(seed: u64) -> Bench<FifoAhead<N, A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(FifoAhead::<N, A>::default(), |b| &mut b.clk);
    let mut model: VecDeque<Bits<N>> = VecDeque::new();
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(400) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.count.val(), model.len() as u64);
            assert_eq!(uut.s.ready.val(), model.len() < 1 << A);
            assert_eq!(uut.m.valid.val(), !model.is_empty());
            if let Some(&oldest) = model.front() {
                assert_eq!(uut.m.data.val(), oldest);
            }
            let push = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val());
            if uut.m.valid.val() && uut.m.ready.val() {
                model.pop_front();
            }
            model.extend(push);
            if uut.rst.val() {
                model.clear();
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn fifo_ahead_matches_queue_under_random_stalls() {
    fifo_ahead_matches_queue::<1, 1>(1).replay_in_verilog();
    fifo_ahead_matches_queue::<8, 2>(2);
    fifo_ahead_matches_queue::<32, 4>(3);
    fifo_ahead_matches_queue::<70, 5>(4).replay_in_verilog();
}

/// Words in RAM, in flight from it, and read ahead at the output.
struct BramQueue<const N: usize> {
    ram: VecDeque<Bits<N>>,
    flight: VecDeque<Option<Bits<N>>>,
    ahead: VecDeque<Bits<N>>,
}

impl<const N: usize> BramQueue<N> {
    fn new() -> Self {
        Self {
            ram: VecDeque::new(),
            flight: [None; 2].into(),
            ahead: VecDeque::new(),
        }
    }

    /// Words in flight and read ahead.
    fn reserved(&self) -> usize {
        self.flight.iter().flatten().count() + self.ahead.len()
    }

    fn len(&self) -> usize {
        self.ram.len() + self.reserved()
    }

    /// The word on offer.
    fn out(&self) -> Option<Bits<N>> {
        self.ahead.front().copied()
    }

    fn clock(&mut self, push: Option<Bits<N>>, take: bool) {
        let fetched = if self.reserved() < 4 {
            self.ram.pop_front()
        } else {
            None
        };
        if take {
            self.ahead.pop_front();
        }
        self.ahead.extend(self.flight.pop_front().flatten());
        self.flight.push_back(fetched);
        self.ram.extend(push);
    }
}

fn fifo_bram_matches_queue<const N: usize, const A: usize>(seed: u64) -> Bench<FifoBram<N, A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(FifoBram::<N, A>::default(), |b| &mut b.clk);
    let mut model = BramQueue::<N>::new();
    for mut flow in flows(seed) {
        let almost_at = dice.below((1 << A) + 1);
        bench.uut.almost_at.next = almost_at.into();
        for _ in 0..flow.clocks((4 << A) + 400) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(200) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.count.val(), model.len() as u64);
            assert_eq!(uut.almost_full.val(), model.len() as u64 >= almost_at);
            assert_eq!(uut.s.ready.val(), model.len() < 1 << A);
            assert_eq!(uut.m.valid.val(), model.out().is_some());
            if let Some(oldest) = model.out() {
                assert_eq!(uut.m.data.val(), oldest);
            }
            let push = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val());
            model.clock(push, uut.m.ready.val());
            if uut.rst.val() {
                model = BramQueue::new();
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn fifo_bram_matches_queue_under_random_stalls() {
    fifo_bram_matches_queue::<1, 1>(1).replay_in_verilog();
    fifo_bram_matches_queue::<8, 2>(2);
    fifo_bram_matches_queue::<32, 4>(3);
    fifo_bram_matches_queue::<72, 6>(4).replay_in_verilog();
}

#[test]
fn fifo_bram_moves_one_word_per_clock_after_four() {
    let mut bench = Bench::new(FifoBram::<16, 3>::default(), |b| &mut b.clk);
    bench.uut.s.valid.next = true;
    bench.uut.m.ready.next = true;
    for clock in 0..100u64 {
        bench.uut.s.data.next = clock.into();
        bench.settle();
        assert!(bench.uut.s.ready.val());
        assert_eq!(bench.uut.m.valid.val(), clock >= 4);
        if clock >= 4 {
            assert_eq!(bench.uut.m.data.val(), clock - 4);
        }
        bench.clock();
    }
}

fn free_list_reuses_in_order<const A: usize>(last: u64, seed: u64) -> Bench<FreeList<A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(FreeList::<A>::default(), |b| &mut b.clk);
    bench.uut.last.next = last.into();
    let mut filled = 0;
    let mut model = BramQueue::<A>::new();
    let mut taken: Vec<Bits<A>> = vec![];
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks((4 << A) + 400) {
            let (give, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            let given =
                (!taken.is_empty() && give).then(|| dice.below(taken.len() as u64) as usize);
            bench.uut.s.valid.next = given.is_some();
            bench.uut.s.data.next = given.map_or_else(|| dice.word(), |k| taken[k]);
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.ready.val(), filled > last);
            assert_eq!(uut.s.ready.val(), filled > last && model.len() < 1 << A);
            assert_eq!(uut.count.val(), model.len() as u64);
            assert_eq!(uut.m.valid.val(), model.out().is_some());
            if filled > last {
                assert_eq!(model.len() + taken.len(), last as usize + 1, "an id leaks");
            }
            let push = if filled <= last {
                filled += 1;
                Some((filled - 1).into())
            } else {
                given.map(|k| taken.swap_remove(k))
            };
            if let Some(id) = model.out() {
                assert_eq!(uut.m.data.val(), id);
                if uut.m.ready.val() {
                    taken.push(id);
                }
            }
            model.clock(push, uut.m.ready.val());
            if uut.rst.val() {
                model = BramQueue::new();
                taken.clear();
                filled = 0;
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn free_list_reuses_first_in_first_out_and_leaks_nothing() {
    free_list_reuses_in_order::<1>(1, 1);
    free_list_reuses_in_order::<2>(2, 2);
    free_list_reuses_in_order::<4>(15, 3);
    free_list_reuses_in_order::<6>(40, 4).replay_in_verilog();
    free_list_reuses_in_order::<7>(127, 5);
}

#[test]
fn free_list_is_ready_after_one_clock_per_id() {
    let mut bench = Bench::new(FreeList::<5>::default(), |b| &mut b.clk);
    bench.uut.last.next = 31u64.into();
    for clock in 0..40 {
        bench.settle();
        assert_eq!(bench.uut.ready.val(), clock >= 32);
        bench.clock();
    }
}
