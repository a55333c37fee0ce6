//! Memories and the counters kept in them, in lock step with plain models.

use crate::bench::{Bench, Dice};
use std::collections::VecDeque;
use tributary_hdl::blocks::{AsyncRam, RamForward, SdpRam, StatCounters};
use tributary_hdl::prelude::*;

/// Runs a memory's ports at random; `check` gets the words before the clock, the
/// words after it and the address, and says what the read port must show.
macro_rules! memory_test {
    ($name:ident, $block:ident, $delay:expr, $expect:expr) => {
        #[test]
        fn $name() {
            fn run<const D: usize, const A: usize>(seed: u64) -> Bench<$block<D, A>> {
                let mut dice = Dice::new(seed);
                let mut bench = Bench::new($block::<D, A>::default(), |b| &mut b.clk);
                let mut words = vec![Bits::<D>::default(); 1 << A];
                let mut due = VecDeque::from(vec![None; $delay]);
                for _ in 0..3_000 {
                    let (rd, wr) = (dice.below(1 << A), dice.below(1 << A));
                    bench.uut.rd.addr.next = rd.into();
                    bench.uut.wr.addr.next = if dice.chance(30) { rd } else { wr }.into();
                    bench.uut.wr.en.next = dice.chance(60);
                    bench.uut.wr.data.next = dice.word();
                    bench.settle();
                    let before = words[rd as usize];
                    if bench.uut.wr.en.val() {
                        words[bench.uut.wr.addr.val().index()] = bench.uut.wr.data.val();
                    }
                    let expect: fn(Bits<D>, Bits<D>) -> Bits<D> = $expect;
                    due.push_back(Some(expect(before, words[rd as usize])));
                    if let Some(word) = due.pop_front().flatten() {
                        assert_eq!(bench.uut.rd.data.val(), word);
                    }
                    bench.clock();
                }
                bench
            }
            run::<1, 1>(1);
            run::<8, 3>(2);
            run::<40, 7>(3).replay_in_verilog();
        }
    };
}

memory_test!(ram_sdp_returns_the_old_word, SdpRam, 1, |before, _| before);
memory_test!(
    ram_forward_returns_the_new_word,
    RamForward,
    1,
    |_, after| after
);
memory_test!(
    ram_async_reads_in_the_same_clock,
    AsyncRam,
    0,
    |before, _| before
);

fn stat_counters_count<const A: usize>(seed: u64, spread: u64) -> Bench<StatCounters<A>> {
    let mut dice = Dice::new(seed);
    let mut bench = Bench::new(StatCounters::<A>::default(), |b| &mut b.clk);
    let mut counts = vec![0u64; 1 << A];
    // Events on their way to the RAM, and reads on their way out.
    let mut pending = VecDeque::from(vec![None; 3]);
    let mut reads = VecDeque::from(vec![None; 2]);
    let mut since_reset = 0;
    for busy in [100, 50, 90] {
        for _ in 0..2_000 {
            bench.uut.rst.next = dice.below(1_000) == 0;
            bench.uut.s.valid.next = dice.chance(busy);
            bench.uut.s.data.next = dice.below(spread).into();
            bench.uut.rd.addr.next = dice.below(spread).into();
            bench.settle();
            let uut = &bench.uut;
            assert_eq!(uut.s.ready.val(), since_reset >= 1 << A);
            let event = (uut.s.valid.val() && uut.s.ready.val()).then(|| uut.s.data.val().index());
            if let Some(index) = pending.pop_front().flatten() {
                counts[index] += 1;
            }
            pending.push_back(event);
            if uut.s.ready.val() {
                reads.push_back(Some(counts[uut.rd.addr.val().index()]));
            } else {
                reads.push_back(None);
            }
            if let Some(count) = reads.pop_front().flatten() {
                assert_eq!(uut.rd.data.val(), count);
            }
            since_reset += 1;
            if uut.rst.val() {
                since_reset = 0;
                counts.fill(0);
                pending.iter_mut().for_each(|e| *e = None);
            }
            bench.clock();
        }
    }
    bench
}

#[test]
fn stat_counters_lose_no_event_also_back_to_back() {
    stat_counters_count::<1>(1, 1);
    stat_counters_count::<2>(2, 2);
    stat_counters_count::<5>(3, 32).replay_in_verilog();
    stat_counters_count::<8>(4, 3);
}
