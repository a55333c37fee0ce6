//! What the writer's tests share: the tools, lint, co-simulation and equivalence.
#![allow(dead_code)]

pub mod cosim;
pub mod tools;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::prelude::*;

/// A random word; every fourth is a corner: zero, all ones, the top bit alone, one.
pub fn word<const N: usize>(rng: &mut ChaCha8Rng) -> Bits<N> {
    let corner: u8 = rng.random_range(0..16);
    let mut out = Bits::<N>::default();
    for i in 0..N {
        let bit = match corner {
            0 => false,
            1 => true,
            2 => i == N - 1,
            3 => i == 0,
            _ => rng.random(),
        };
        out = out.replace_bit(i, bit);
    }
    out
}

/// A random signed word.
pub fn signed_word<const N: usize>(rng: &mut ChaCha8Rng) -> Signed<N> {
    signed_cast(word::<N>(rng))
}
