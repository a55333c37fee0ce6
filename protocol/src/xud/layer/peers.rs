//! How peers are found: a few instructions for each lookup instead of the hundred and fifty of the standard library's hash.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Fraction bits of the golden ratio: odd, without a pattern.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes of peers, each layer its own: who knows only the layer's source cannot choose peers that fall together.
#[derive(Clone, Debug)]
pub(super) struct PeerHash {
    key: u64,
}

impl PeerHash {
    pub fn new() -> Self {
        Self {
            key: RandomState::new().hash_one(SPREAD) | 1,
        }
    }
}

impl BuildHasher for PeerHash {
    type Hasher = PeerHasher;

    #[inline]
    fn build_hasher(&self) -> PeerHasher {
        PeerHasher {
            key: self.key,
            value: 0,
        }
    }
}

/// Node and queue pair, 48 bits, are gathered to one word; a product with the key mixes it.
pub(super) struct PeerHasher {
    key: u64,
    value: u64,
}

impl Hasher for PeerHasher {
    #[inline]
    fn finish(&self) -> u64 {
        let product = u128::from(self.value ^ SPREAD) * u128::from(self.key);
        product as u64 ^ (product >> 64) as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.value = self.value.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.value = self.value.rotate_left(16) ^ u64::from(value);
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.value = self.value.rotate_left(32) ^ u64::from(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::xud::Peer;

    #[test]
    fn near_peers_spread_over_the_bits_that_a_table_uses() {
        let hash = PeerHash::new();
        let peers = (0..64u16).flat_map(|node| (0..64u32).map(move |qpn| Peer { node, qpn }));
        let all: Vec<u64> = peers.map(|peer| hash.hash_one(peer)).collect();
        let low: HashSet<u64> = all.iter().map(|hash| hash & 0xFFFF).collect();
        let high: HashSet<u64> = all.iter().map(|hash| hash >> 57).collect();
        // Random places: 4,096 of 65,536 leave some 3,970 that differ.
        assert!(low.len() > 3_000, "{}", low.len());
        assert_eq!(high.len(), 128);
    }
}
