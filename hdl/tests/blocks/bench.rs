//! What every block's lock-step test needs: a clock, settled signals, random choices,
//! and the same inputs once more for the block's Verilog.

use crate::verilog::Recording;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit;
use tributary_hdl::prelude::*;
use tributary_sim::testbench::{PROFILES, Profile, Stalls, number};

/// Clocks that the Verilog replays.
const RECORDED: usize = 50_000;

/// Reaches the clock of a block.
type ClockOf<B> = fn(&mut B) -> &mut Signal<In, Clock>;

/// A block under rust-hdl's own simulation.
pub struct Bench<B: Block> {
    pub uut: B,
    clk: Option<ClockOf<B>>,
    recording: Recording,
}

impl<B: Block> Bench<B> {
    /// Connects the block and runs rust-hdl's checks for open signals, logic loops
    /// and written inputs.
    pub fn new(uut: B, clk: ClockOf<B>) -> Self {
        Self::build(uut, Some(clk))
    }

    /// The same for a block without a clock.
    pub fn combinational(uut: B) -> Self {
        Self::build(uut, None)
    }

    fn build(mut uut: B, clk: Option<ClockOf<B>>) -> Self {
        uut.connect_all();
        check_all(&uut).expect("rust-hdl's checks");
        let mut bench = Self {
            uut,
            clk,
            recording: Recording::default(),
        };
        bench.settle();
        bench
    }

    /// Lets the inputs set so far reach the outputs.
    pub fn settle(&mut self) {
        assert!(simulate(&mut self.uut, 1_000), "the block does not settle");
    }

    /// One clock: a rising edge on the settled inputs, and the falling edge.
    pub fn clock(&mut self) {
        self.settle();
        // The long form would not fit into memory.
        if self.recording.len() < RECORDED {
            self.recording.sample(&self.uut);
        }
        if let Some(clk) = self.clk {
            clk(&mut self.uut).next = true.into();
            self.settle();
            clk(&mut self.uut).next = false.into();
            self.settle();
        }
    }

    /// Runs the block's Verilog on the inputs so far and expects the same outputs.
    pub fn replay_in_verilog(&self) {
        let design = emit(&self.uut).expect("the block is writable");
        self.recording.replay(&design, self.clk.is_some());
    }
}

/// Random choices of one test.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    /// A random word.
    pub fn word<const N: usize>(&mut self) -> Bits<N> {
        (0..N).fold(Bits::default(), |word, bit| {
            word.replace_bit(bit, self.chance(50))
        })
    }
}

/// When words are offered and taken.
pub struct Flow {
    offers: Stalls,
    takes: Stalls,
}

impl Flow {
    /// Whether a word is offered in this clock, and whether one is taken.
    pub fn moves(&mut self) -> (bool, bool) {
        (self.offers.moves(), self.takes.moves())
    }

    /// Clocks for which a test goes on: so many, or those of the long form.
    pub fn clocks(&self, least: u64) -> u64 {
        least.max(number("TRIBUTARY_FRAMES").unwrap_or(0))
    }
}

/// Flows that a queue test runs through: full speed, a stalled output, a starved input, both at random; the output, and
/// then the input, in every profile of stalls.
pub fn flows(seed: u64) -> Vec<Flow> {
    let chance = |percent: u32| Profile::Independent((100 - percent) * 256 / 100);
    let chances = [(100, 100), (100, 20), (20, 100), (50, 50), (90, 90)];
    let mut pairs: Vec<_> = chances.map(|(o, t)| (chance(o), chance(t))).into();
    pairs.extend(PROFILES.map(|takes| (Profile::Free, takes)));
    pairs.extend(PROFILES.map(|offers| (offers, Profile::Free)));
    pairs
        .into_iter()
        .map(|(offers, takes)| Flow {
            offers: Stalls::new(offers, seed, 1).stream(1),
            takes: Stalls::new(takes, seed, 1),
        })
        .collect()
}
