//! Register slice, arbiter and timer sweep in lock step with plain models.

use crate::bench::{Bench, Dice, flows};
use std::collections::VecDeque;
use tributary_hdl::blocks::{HalfSlice, RoundRobinArbiter, SkidBuffer, TimerSweep, TwoSlots};
use tributary_hdl::prelude::*;

fn skid_buffer_matches_queue<const N: usize>(seed: u64) -> Bench<SkidBuffer<N>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(SkidBuffer::<N>::default(), |b| &mut b.clk);
    let mut model: VecDeque<Bits<N>> = VecDeque::new();
    bench.uut.rst.next = true;
    bench.clock();
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(500) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.s.ready.val(), model.len() < 2);
            assert_eq!(uut.m.valid.val(), !model.is_empty());
            if let Some(&oldest) = model.front() {
                assert_eq!(uut.m.data.val(), oldest);
            }
            let push = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val());
            if uut.m.ready.val() {
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
fn skid_buffer_matches_queue_of_two_under_random_stalls() {
    skid_buffer_matches_queue::<1>(1);
    skid_buffer_matches_queue::<32>(2);
    skid_buffer_matches_queue::<130>(3).replay_in_verilog();
}

fn two_slots_match_queue<const N: usize>(seed: u64) -> Bench<TwoSlots<N>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(TwoSlots::<N>::default(), |b| &mut b.clk);
    let mut model: VecDeque<Bits<N>> = VecDeque::new();
    bench.uut.rst.next = true;
    bench.clock();
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(500) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.s.ready.val(), model.len() < 2);
            assert_eq!(uut.m.valid.val(), !model.is_empty());
            if let Some(&oldest) = model.front() {
                assert_eq!(uut.m.data.val(), oldest);
            }
            let push = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val());
            if uut.m.ready.val() {
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
fn two_slots_match_queue_of_two_under_random_stalls() {
    two_slots_match_queue::<1>(21);
    two_slots_match_queue::<65>(22).replay_in_verilog();
}

fn half_slice_matches_register<const N: usize>(seed: u64) -> Bench<HalfSlice<N>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(HalfSlice::<N>::default(), |b| &mut b.clk);
    let mut model: Option<Bits<N>> = None;
    bench.uut.rst.next = true;
    bench.clock();
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(500) {
            let (offer, take) = flow.moves();
            bench.uut.rst.next = dice.below(500) == 0;
            bench.uut.s.valid.next = offer;
            bench.uut.s.data.next = dice.word();
            bench.uut.m.ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.s.ready.val(), model.is_none());
            assert_eq!(uut.m.valid.val(), model.is_some());
            if let Some(word) = model {
                assert_eq!(uut.m.data.val(), word);
            }
            model = match model {
                None => uut.s.valid.val().then(|| uut.s.data.val()),
                word => word.filter(|_| !uut.m.ready.val()),
            };
            if uut.rst.val() {
                model = None;
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn half_slice_matches_one_register_under_random_stalls() {
    half_slice_matches_register::<1>(1);
    half_slice_matches_register::<207>(2).replay_in_verilog();
}

/// The first requesting port from `from` on, in a circle.
fn next_port<const N: usize>(req: Bits<N>, from: usize) -> Option<usize> {
    (0..N).map(|k| (from + k) % N).find(|&i| req.get_bit(i))
}

fn arbiter_is_round_robin<const N: usize, const B: usize>(
    seed: u64,
) -> Bench<RoundRobinArbiter<N, B>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(RoundRobinArbiter::<N, B>::default(), |b| &mut b.clk);
    let mut granted = None;
    let mut from = 0;
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(600) {
            let (ask, take) = flow.moves();
            bench.uut.rst.next = dice.below(200) == 0;
            let sparse = dice.word::<N>() & dice.word::<N>() & dice.word::<N>();
            bench.uut.req.next = if ask { dice.word() } else { sparse };
            bench.uut.m_ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.m_valid.val(), granted.is_some());
            let one_hot = granted.map_or(Bits::default(), |i| Bits::default().replace_bit(i, true));
            assert_eq!(uut.grant.val(), one_hot);
            if let Some(port) = granted {
                assert_eq!(uut.index.val(), port as u64);
            }
            if uut.m_ready.val() || granted.is_none() {
                granted = next_port(uut.req.val(), from);
                from = granted.map_or(from, |i| (i + 1) % N);
            }
            if uut.rst.val() {
                (granted, from) = (None, 0);
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn arbiter_grants_round_robin_under_random_stalls() {
    arbiter_is_round_robin::<2, 1>(1);
    arbiter_is_round_robin::<3, 2>(2).replay_in_verilog();
    arbiter_is_round_robin::<8, 3>(3);
    arbiter_is_round_robin::<64, 6>(4).replay_in_verilog();
}

#[test]
fn arbiter_serves_every_port_once_per_round() {
    let mut bench = Bench::new(RoundRobinArbiter::<5, 3>::default(), |b| &mut b.clk);
    bench.uut.req.next = Bits::mask();
    bench.uut.m_ready.next = true;
    bench.clock();
    for clock in 0..50u64 {
        assert_eq!(bench.uut.index.val(), clock % 5);
        assert!(bench.uut.m_valid.val());
        bench.clock();
    }
}

fn timer_sweep_visits_all<const A: usize>(prescale: u64, seed: u64) -> Bench<TimerSweep<A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(TimerSweep::<A>::default(), |b| &mut b.clk);
    bench.uut.prescale.next = prescale.into();
    let mut clocks = 0u64;
    let mut visit: Option<(u64, u64)> = None;
    let mut next_id = 0;
    for mut flow in flows(seed) {
        for _ in 0..flow.clocks(800) {
            let (_, take) = flow.moves();
            bench.uut.rst.next = dice.below(400) == 0;
            bench.uut.m_ready.next = take;
            bench.settle();
            let uut = &bench.uut;
            let now = clocks / (prescale + 1) % (1 << 16);
            assert_eq!(uut.now.val(), now);
            assert_eq!(uut.m_valid.val(), visit.is_some());
            if let Some((id, time)) = visit {
                assert_eq!(uut.m_id.val(), id);
                assert_eq!(uut.m_now.val(), time);
            }
            if uut.m_ready.val() || visit.is_none() {
                visit = Some((next_id, now));
                next_id = (next_id + 1) % (1 << A);
            }
            clocks += 1;
            if uut.rst.val() {
                (clocks, visit, next_id) = (0, None, 0);
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn timer_sweep_visits_round_robin_with_the_time() {
    timer_sweep_visits_all::<1>(0, 1);
    timer_sweep_visits_all::<4>(6, 2).replay_in_verilog();
    timer_sweep_visits_all::<9>(99, 3);
}

#[test]
fn timer_sweep_tick_wraps_at_16_bits() {
    let mut bench = Bench::new(TimerSweep::<2>::default(), |b| &mut b.clk);
    for clock in 0..70_000u64 {
        assert_eq!(bench.uut.now.val(), clock % (1 << 16));
        bench.clock();
    }
}
