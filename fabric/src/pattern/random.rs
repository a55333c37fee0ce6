//! Random numbers as Python draws them, so that a random pattern is the same groups here and in the tools of others.
//!
//! The generator is MT19937 (Matsumoto and Nishimura, 1998), seeded and used as Python's `random` documents it.

use std::collections::HashSet;

const WORDS: usize = 624;
const MIDDLE: usize = 397;

pub(super) struct Random {
    words: [u32; WORDS],
    next: usize,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let key = match (seed as u32, (seed >> 32) as u32) {
            (low, 0) => vec![low],
            (low, high) => vec![low, high],
        };
        let mut words = [0u32; WORDS];
        words[0] = 19_650_218;
        for i in 1..WORDS {
            words[i] = mixed(words[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for k in 0..WORDS.max(key.len()) {
            let k = k % key.len();
            words[i] = (words[i] ^ mixed(words[i - 1], 1_664_525))
                .wrapping_add(key[k])
                .wrapping_add(k as u32);
            i = following(&mut words, i);
        }
        for _ in 1..WORDS {
            words[i] = (words[i] ^ mixed(words[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = following(&mut words, i);
        }
        words[0] = 1 << 31;
        Self { words, next: WORDS }
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            for i in 0..WORDS {
                let both = (self.words[i] & 1 << 31) | (self.words[(i + 1) % WORDS] & !(1 << 31));
                let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
                self.words[i] = self.words[(i + MIDDLE) % WORDS] ^ both >> 1 ^ odd;
            }
            self.next = 0;
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: u32) -> u32 {
        loop {
            let number = self.word() >> end.leading_zeros();
            if number < end {
                return number;
            }
        }
    }

    /// `count` different numbers below `end`, as drawn; `count` is at most `end`.
    pub(super) fn sample(&mut self, end: u32, count: u32) -> Vec<u32> {
        // A list of all numbers, where that is smaller than a set of those drawn.
        let mut list_most = 21;
        if count > 5 {
            let mut size = 1u64;
            while size < u64::from(count) * 3 {
                size *= 4;
            }
            list_most += size;
        }
        if u64::from(end) <= list_most {
            let mut left: Vec<u32> = (0..end).collect();
            let draw = |_| left.swap_remove(self.below(left.len() as u32) as usize);
            return (0..count).map(draw).collect();
        }
        let mut drawn = HashSet::with_capacity(count as usize);
        let mut draw = |_| {
            loop {
                let number = self.below(end);
                if drawn.insert(number) {
                    return number;
                }
            }
        };
        (0..count).map(&mut draw).collect()
    }
}

const fn mixed(word: u32, by: u32) -> u32 {
    (word ^ word >> 30).wrapping_mul(by)
}

const fn following(words: &mut [u32; WORDS], i: usize) -> usize {
    if i + 1 < WORDS {
        return i + 1;
    }
    words[0] = words[WORDS - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values: Python 3, `random.Random(seed)`, `getrandbits(32)` and `sample(range(end), count)`.

    #[test]
    fn words_are_python_s() {
        let mut random = Random::new(1);
        let words = [random.word(), random.word(), random.word()];
        assert_eq!(words, [577_090_037, 2_444_712_010, 3_639_700_191]);
    }

    #[test]
    fn seeds_of_two_words_and_later_words_are_python_s() {
        let mut random = Random::new((1 << 40) + 5);
        assert_eq!(
            [random.word(), random.word()],
            [2_166_296_868, 2_220_160_828]
        );
        assert_eq!((0..1000).map(|_| random.word()).last(), Some(2_975_982_818));
        assert_eq!(random.sample(1000, 6), [63, 480, 340, 782, 474, 836]);
        assert_eq!(random.sample(1_000_000, 3), [602_958, 56_494, 336_271]);
        assert_eq!(random.sample(1, 1), [0]);
    }
}
