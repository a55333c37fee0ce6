//! What members of a group that is being made tell each other.

use super::{Address, Engine, Memory};
use crate::header::{Header, Kind};

/// What an endpoint hears that is of its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A member of a list speaks.
    Member {
        /// Which.
        from: Address,
        /// What the list is known by.
        key: u64,
        /// It is the first of the list, and speaks to the others.
        first: bool,
        /// What it says.
        words: Vec<u64>,
    },
    /// A peer is gone, or another process has its address.
    Lost(Address),
}

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Speaks to another member of a list.
    pub fn join(&mut self, to: Address, key: u64, first: bool, words: &[u64]) {
        if self.peer(to).gone {
            self.notices.push_back(Notice::Lost(to));
            return;
        }
        let header = Header::new(Kind::Join, first.into(), key, 0, 8 * words.len());
        let mut bytes = header.encode().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.queue(to, bytes);
    }

    pub(super) fn joins(&mut self, from: Address, header: &Header, payload: &[u8]) {
        let (words, rest) = payload.as_chunks::<8>();
        if !rest.is_empty() || header.length != payload.len() as u64 {
            return;
        }
        self.notices.push_back(Notice::Member {
            from,
            key: header.tag,
            first: header.id == 1,
            words: words.iter().map(|word| u64::from_le_bytes(*word)).collect(),
        });
    }

    /// The oldest notice.
    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}
