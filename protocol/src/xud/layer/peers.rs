//! How peers are found: a few instructions for each lookup instead of the hundred and fifty of the standard library's hash.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::{Index, IndexMut};

use super::Peer;
use super::connection::Connection;

/// Fraction bits of the golden ratio: odd, without a pattern.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The connections of a layer. None goes, so what belongs to one remembers its place, and only what comes from the user or the
/// network is looked up.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    places: HashMap<Peer, u32, PeerHash>,
    /// Who was looked up last: most messages follow one of the same peer.
    latest: Option<(Peer, u32)>,
    all: Vec<Connection>,
}

impl Connections {
    pub fn new() -> Self {
        Self {
            places: HashMap::with_hasher(PeerHash::new()),
            latest: None,
            all: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The place of a peer that is known.
    #[inline]
    pub fn find(&mut self, peer: Peer) -> Option<u32> {
        if let Some((latest, place)) = self.latest
            && latest == peer
        {
            return Some(place);
        }
        let place = *self.places.get(&peer)?;
        self.latest = Some((peer, place));
        Some(place)
    }

    /// The place of a peer, which is known from now on.
    #[inline]
    pub fn find_or_add(&mut self, peer: Peer) -> u32 {
        self.find(peer).unwrap_or_else(|| self.add(peer))
    }

    fn add(&mut self, peer: Peer) -> u32 {
        let place = self.all.len() as u32;
        self.all.push(Connection::new(peer));
        self.places.insert(peer, place);
        place
    }

    /// Bytes of memory: the hash table, the list, and what each connection has allocated.
    pub fn bytes(&self) -> usize {
        // The table of the standard library: an entry and a byte for each bucket, 8/7 of its capacity.
        let table = self.places.capacity() * 8 / 7 * (size_of::<(Peer, u32)>() + 1);
        let list = self.all.capacity() * size_of::<Connection>();
        table + list + self.all.iter().map(Connection::bytes).sum::<usize>()
    }
}

/// By place.
impl Index<u32> for Connections {
    type Output = Connection;

    fn index(&self, place: u32) -> &Connection {
        &self.all[place as usize]
    }
}

impl IndexMut<u32> for Connections {
    fn index_mut(&mut self, place: u32) -> &mut Connection {
        &mut self.all[place as usize]
    }
}

impl Hash for Connections {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all.hash(state);
    }
}

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

/// Node and queue pair, of 32 bits each, are gathered to one word; a product with the key mixes it.
pub(super) struct PeerHasher {
    key: u64,
    value: u64,
}

impl Hasher for PeerHasher {
    #[inline]
    fn finish(&self) -> u64 {
        let product = u128::from(self.value ^ SPREAD) * u128::from(self.key);
        let folded = product as u64 ^ (product >> 64) as u64;
        // Some keys leave the highest bits of near peers alike, some the lowest: both are of all bits then.
        folded.wrapping_mul(SPREAD) ^ folded >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.value = self.value.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.value = self.value.rotate_left(32) ^ u64::from(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Whatever random key a layer has.
    #[test]
    fn near_peers_spread_over_the_bits_that_a_table_uses() {
        let keys = ChaCha8Rng::seed_from_u64(1).random_iter();
        let own = PeerHash::new().key;
        for key in keys.take(2_000).chain([own]) {
            let hash = PeerHash { key: key | 1 };
            let peers = (0..64u32).flat_map(|node| (0..64u32).map(move |qpn| Peer { node, qpn }));
            let all: Vec<u64> = peers.map(|peer| hash.hash_one(peer)).collect();
            let low: HashSet<u64> = all.iter().map(|hash| hash & 0xFFFF).collect();
            let high: HashSet<u64> = all.iter().map(|hash| hash >> 57).collect();
            // Random places: 4,096 of 65,536 leave some 3,970 that differ.
            assert!(low.len() > 3_000, "{key:x}: {}", low.len());
            assert_eq!(high.len(), 128, "{key:x}");
        }
    }
}
