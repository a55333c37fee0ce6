//! Turns, multiplexers and one-hot numbers against plain models.

use crate::bench::{Bench, Dice};
use tributary_hdl::blocks::{ChosenWord, LowestBits, OneHotIndex, OneHotMux, SameParts, TakeTurns};
use tributary_hdl::prelude::*;

/// A bit set, or none once in eight times.
fn one_hot<const N: usize>(dice: &mut Dice) -> (Option<usize>, Bits<N>) {
    let none = Bits::<N>::default();
    let set = (dice.below(8) > 0).then(|| dice.below(N as u64) as usize);
    (set, set.map_or(none, |i| none.replace_bit(i, true)))
}

fn chosen_word_comes_two_clocks_later<const D: usize, const N: usize>(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(ChosenWord::<D, N>::default(), |b| &mut b.clk);
    let (mut chosen, mut word) = (None, None);
    for _ in 0..400 {
        let (next, sel) = one_hot::<N>(&mut dice);
        bench.uut.sel.next = sel;
        let words: Vec<Bits<D>> = (0..N).map(|_| dice.word()).collect();
        for (i, word) in words.iter().enumerate() {
            bench.uut.s[i].next = *word;
        }
        bench.settle();
        if let Some(word) = word {
            assert_eq!(bench.uut.m.val(), word);
        }
        word = chosen.map(|set: Option<usize>| set.map_or(Bits::default(), |i| words[i]));
        chosen = Some(next);
        bench.clock();
    }
    bench.replay_in_verilog();
}

#[test]
fn a_chosen_word_comes_two_clocks_after_its_choice() {
    chosen_word_comes_two_clocks_later::<2, 2>(1);
    chosen_word_comes_two_clocks_later::<64, 4>(2);
    chosen_word_comes_two_clocks_later::<10, 16>(3);
}

fn muxes_agree<const D: usize, const N: usize, const LN: usize>(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut one = Bench::combinational(OneHotMux::<D, N>::default());
    let mut index = Bench::combinational(OneHotIndex::<N, LN>::default());
    for _ in 0..400 {
        let (set, sel) = one_hot::<N>(&mut dice);
        let words: Vec<Bits<D>> = (0..N).map(|_| dice.word()).collect();
        let number = set.unwrap_or(0);
        one.uut.sel.next = sel;
        index.uut.s.next = sel;
        for (i, word) in words.iter().enumerate() {
            one.uut.s[i].next = *word;
        }
        one.clock();
        index.clock();
        assert_eq!(one.uut.m.val(), set.map_or(Bits::default(), |i| words[i]));
        assert_eq!(index.uut.m.val(), number as u64);
    }
    one.replay_in_verilog();
    index.replay_in_verilog();
}

#[test]
fn multiplexers_and_numbers_of_one_hot_vectors_agree() {
    muxes_agree::<1, 2, 1>(1);
    muxes_agree::<32, 4, 2>(2);
    muxes_agree::<7, 16, 4>(3);
}

fn turns_go_round<const N: usize>(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::combinational(TakeTurns::<N>::default());
    for _ in 0..1_000 {
        let (last, one_hot) = one_hot::<N>(&mut dice);
        let req = dice.word::<N>() & dice.word::<N>();
        bench.uut.req.next = req;
        bench.uut.last.next = one_hot;
        bench.clock();
        let from = last.map_or(0, |i| i + 1);
        let next = (from..from + N).map(|i| i % N).find(|&i| req.get_bit(i));
        let none = Bits::<N>::default();
        let choice = next.map_or(none, |i| none.replace_bit(i, true));
        assert_eq!(bench.uut.choice.val(), choice);
    }
    bench.replay_in_verilog();
}

#[test]
fn turns_go_round_from_the_one_behind_the_last() {
    turns_go_round::<2>(1);
    turns_go_round::<4>(2);
    turns_go_round::<9>(3);
}

fn lowest_bits_are_kept<const N: usize>(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::combinational(LowestBits::<N>::default());
    let mut most = 0;
    for round in 0..1_000 {
        let word = match round % 3 {
            0 => dice.word::<N>() & dice.word::<N>(),
            1 => dice.word::<N>() | dice.word::<N>(),
            _ => dice.word::<N>(),
        };
        bench.uut.s.next = word;
        bench.clock();
        let mut expected = Bits::<N>::default();
        for i in (0..N).filter(|&i| word.get_bit(i)).take(15) {
            expected = expected.replace_bit(i, true);
        }
        assert_eq!(bench.uut.m.val(), expected);
        most = most.max((0..N).filter(|&i| word.get_bit(i)).count());
    }
    assert!(most > 15 || most == N);
    bench.replay_in_verilog();
}

#[test]
fn the_lowest_fifteen_bits_are_kept() {
    lowest_bits_are_kept::<4>(1);
    lowest_bits_are_kept::<15>(2);
    lowest_bits_are_kept::<16>(3);
    lowest_bits_are_kept::<17>(4);
    lowest_bits_are_kept::<32>(5);
    lowest_bits_are_kept::<64>(6);
}

fn parts_of_words_agree<const P: usize>(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::combinational(SameParts::<P>::default());
    for _ in 0..1_000 {
        // The words differ in some bits, or in none.
        let word = dice.word::<64>();
        let mut other = word;
        for _ in 0..dice.below(4) {
            let bit = dice.below(64) as usize;
            other = other.replace_bit(bit, dice.chance(50));
        }
        bench.uut.a.next = word;
        bench.uut.b.next = other;
        bench.clock();
        let mut expected = Bits::<P>::default();
        for part in 0..P {
            let bits = (64 / P * part)..(64 / P * (part + 1));
            let same = bits
                .into_iter()
                .all(|bit| word.get_bit(bit) == other.get_bit(bit));
            expected = expected.replace_bit(part, same);
        }
        assert_eq!(bench.uut.m.val(), expected);
    }
    bench.replay_in_verilog();
}

#[test]
fn words_are_compared_in_parts() {
    parts_of_words_agree::<8>(1);
    parts_of_words_agree::<16>(2);
}
