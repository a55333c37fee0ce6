//! Trees over wide vectors against plain searches.

use crate::bench::{Bench, Dice};
use std::collections::VecDeque;
use tributary_hdl::blocks::{LeadingOnes, LeadingOnesPipe, PriorityEncoder, PriorityEncoderPipe};
use tributary_hdl::prelude::*;

/// Vectors that reach every result: none, all, single bits, runs of ones, random.
fn vectors<const N: usize>(seed: u64) -> Vec<Bits<N>> {
    let mut dice = Dice::new(seed);
    let none = Bits::<N>::default();
    let mut all = vec![none, Bits::mask()];
    let step = (N / 64).max(1);
    for i in (0..N).step_by(step).chain([N - 1]) {
        let bit = none.replace_bit(i, true);
        // Bit i alone, bit i with random bits above, ones below bit i, and all but bit i.
        all.push(bit);
        all.push(bit | ((dice.word() << i as u64) & !(bit - 1)));
        all.push(bit - 1);
        all.push(!bit);
    }
    all.extend((0..50).map(|_| dice.word::<N>()));
    all
}

/// Index of the lowest set bit, all ones if there is none, and whether there is none.
fn lowest<const N: usize>(vector: Bits<N>) -> (u64, bool) {
    match (0..N).find(|&i| vector.get_bit(i)) {
        Some(i) => (i as u64, false),
        None => (N.next_power_of_two() as u64 - 1, true),
    }
}

/// Ones from bit 0 up.
fn ones<const N: usize>(vector: Bits<N>) -> u64 {
    (0..N).take_while(|&i| vector.get_bit(i)).count() as u64
}

fn priority_encoder<const N: usize, const B: usize>() -> Bench<PriorityEncoder<N, B>> {
    let mut bench = Bench::combinational(PriorityEncoder::<N, B>::default());
    for vector in vectors::<N>(N as u64) {
        bench.uut.req.next = vector;
        bench.clock();
        let (index, none) = lowest(vector);
        assert_eq!(bench.uut.index.val(), index);
        assert_eq!(bench.uut.none.val(), none);
    }
    bench
}

#[test]
fn priority_encoder_finds_the_lowest_bit() {
    priority_encoder::<2, 1>();
    priority_encoder::<3, 2>().replay_in_verilog();
    priority_encoder::<5, 3>();
    priority_encoder::<16, 4>();
    priority_encoder::<33, 6>();
    priority_encoder::<64, 6>().replay_in_verilog();
    priority_encoder::<256, 8>();
    priority_encoder::<1000, 10>().replay_in_verilog();
    priority_encoder::<1024, 10>();
}

fn leading_ones<const N: usize, const B: usize>() -> Bench<LeadingOnes<N, B>> {
    let mut bench = Bench::combinational(LeadingOnes::<N, B>::default());
    for vector in vectors::<N>(N as u64) {
        bench.uut.vector.next = vector;
        bench.clock();
        assert_eq!(bench.uut.count.val(), ones(vector));
    }
    bench
}

#[test]
fn leading_ones_counts_up_to_the_first_zero() {
    leading_ones::<2, 2>();
    leading_ones::<3, 2>().replay_in_verilog();
    leading_ones::<7, 3>();
    leading_ones::<16, 5>();
    leading_ones::<64, 7>().replay_in_verilog();
    leading_ones::<100, 7>().replay_in_verilog();
    leading_ones::<256, 9>();
    leading_ones::<1024, 11>();
}

/// Both pipelined trees over the same vectors.
type Pipes<const N: usize, const B: usize, const C: usize> = (
    Bench<PriorityEncoderPipe<N, B>>,
    Bench<LeadingOnesPipe<N, C>>,
);

fn pipes<const N: usize, const B: usize, const C: usize>() -> Pipes<N, B, C> {
    let mut encoder = Bench::new(PriorityEncoderPipe::<N, B>::default(), |b| &mut b.clk);
    let mut counter = Bench::new(LeadingOnesPipe::<N, C>::default(), |b| &mut b.clk);
    let mut due = VecDeque::from(vec![None; 2]);
    for vector in vectors::<N>(N as u64) {
        encoder.uut.req.next = vector;
        counter.uut.vector.next = vector;
        due.push_back(Some((lowest(vector), ones(vector))));
        if let Some(((index, none), count)) = due.pop_front().flatten() {
            assert_eq!(encoder.uut.index.val(), index);
            assert_eq!(encoder.uut.none.val(), none);
            assert_eq!(counter.uut.count.val(), count);
        }
        encoder.clock();
        counter.clock();
    }
    (encoder, counter)
}

#[test]
fn pipelined_trees_answer_after_two_clocks() {
    pipes::<16, 4, 5>();
    pipes::<256, 8, 9>();
    pipes::<1024, 10, 11>();
    let (encoder, counter) = pipes::<65, 7, 7>();
    encoder.replay_in_verilog();
    counter.replay_in_verilog();
}
