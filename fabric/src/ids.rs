//! Tree ids. An id is the index of an entry in the table of every switch that the tree passes, so two trees may share an id
//! only if they have no switch in common.

use thiserror::Error;

use crate::network::SwitchId;

/// Number of a tree in frames and tables.
pub type TreeId = u16;
/// Ids that an address has room for.
pub const IDS_MAX: u16 = tributary_protocol::red::address::TREES;
const BITS: usize = u64::BITS as usize;

/// An id that cannot be given or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IdError {
    /// A table of no entries or of too many.
    #[error("tables of {ids} entries, they can have 1 to {IDS_MAX}")]
    Range {
        /// Entries.
        ids: u16,
    },
    /// A tree without switches, or with one that does not exist.
    #[error("a tree over switch {switch}, there are {switches} switches")]
    NoSwitch {
        /// The switch; the number of switches for a tree without any.
        switch: SwitchId,
        /// Number of switches.
        switches: u32,
    },
    /// No id is free on all switches of the tree.
    #[error(
        "none of {ids} tree ids is free on all switches of the tree; the fullest, {fullest}, has {free} free"
    )]
    Exhausted {
        /// Ids there are.
        ids: u16,
        /// The switch with the fewest free ids.
        fullest: SwitchId,
        /// Free ids there.
        free: u16,
    },
    /// An id that is not in use on a switch.
    #[error("tree id {id} is not in use on switch {switch}")]
    NotInUse {
        /// The id.
        id: TreeId,
        /// The switch.
        switch: SwitchId,
    },
}

/// Which ids are in use on which switch: a bit for each, for as many ids as were ever in use at once.
#[derive(Clone, Debug)]
pub struct TreeIds {
    ids: u16,
    /// Lower ids are not given.
    first: u16,
    trees: u32,
    /// By switch.
    used: Vec<u16>,
    /// 64 ids of every switch, then the next 64 of every switch: low ids are used most and lie together.
    words: Vec<u64>,
}

impl TreeIds {
    /// Ids 0 to `ids` - 1, all free.
    ///
    /// # Errors
    /// `ids` is 0 or more than 8,192.
    pub fn new(switches: u32, ids: u16) -> Result<Self, IdError> {
        if ids == 0 || ids > IDS_MAX {
            return Err(IdError::Range { ids });
        }
        Ok(Self {
            ids,
            first: 0,
            trees: 0,
            used: vec![0; switches as usize],
            words: Vec::new(),
        })
    }

    /// Ids below this are not given: others may use them.
    #[must_use]
    pub const fn first(&self) -> TreeId {
        self.first
    }

    /// Changes from which id on they are given; those that are in use stay so.
    pub const fn set_first(&mut self, first: TreeId) {
        self.first = first;
    }

    /// Takes the lowest id that is free on all of these switches (in any order, each once).
    ///
    /// # Errors
    /// There is none, or a switch does not exist; nothing is taken then.
    pub fn allocate(&mut self, switches: &[SwitchId]) -> Result<TreeId, IdError> {
        self.known(switches)?;
        let all = self.used.len();
        let blocks = usize::from(self.ids).div_ceil(BITS);
        let first = usize::from(self.first);
        for block in first / BITS..blocks {
            // Beyond the words there are, nothing was ever in use.
            let words = self.words.get(block * all..(block + 1) * all);
            let mut used = (1 << first.saturating_sub(block * BITS)) - 1;
            for &switch in words.map_or(&[][..], |_| switches) {
                used |= self.words[block * all + switch as usize];
                if used == u64::MAX {
                    break;
                }
            }
            let id = block * BITS + used.trailing_ones() as usize;
            if used == u64::MAX || id >= usize::from(self.ids) {
                continue;
            }
            if words.is_none() {
                self.words.resize((block + 1) * all, 0);
            }
            for &switch in switches {
                let word = &mut self.words[block * all + switch as usize];
                let bit = 1 << (id % BITS);
                self.used[switch as usize] += u16::from(*word & bit == 0);
                *word |= bit;
            }
            self.trees += 1;
            return Ok(id as TreeId);
        }
        let fullest = switches.iter().max_by_key(|&&s| self.used[s as usize]);
        let fullest = fullest.copied().unwrap_or(0);
        Err(IdError::Exhausted {
            ids: self.ids,
            fullest,
            free: (self.ids.saturating_sub(self.first)).saturating_sub(self.used[fullest as usize]),
        })
    }

    /// Gives an id back; `switches` are those it was taken for.
    ///
    /// # Errors
    /// It is not in use on one of them; nothing is given back then.
    pub fn release(&mut self, id: TreeId, switches: &[SwitchId]) -> Result<(), IdError> {
        self.known(switches)?;
        if let Some(&switch) = switches.iter().find(|&&s| !self.is_used(s, id)) {
            return Err(IdError::NotInUse { id, switch });
        }
        let (block, bit) = (usize::from(id) / BITS, 1u64 << (usize::from(id) % BITS));
        for &switch in switches {
            let word = &mut self.words[block * self.used.len() + switch as usize];
            self.used[switch as usize] -= u16::from(*word & bit != 0);
            *word &= !bit;
        }
        self.trees -= 1;
        Ok(())
    }

    /// Whether an id is in use on a switch.
    #[must_use]
    pub fn is_used(&self, switch: SwitchId, id: TreeId) -> bool {
        let (block, bit) = (usize::from(id) / BITS, usize::from(id) % BITS);
        (switch as usize) < self.used.len()
            && self
                .words
                .get(block * self.used.len() + switch as usize)
                .is_some_and(|word| word >> bit & 1 == 1)
    }

    /// Ids in use on a switch; 0 for one that does not exist.
    #[must_use]
    pub fn used(&self, switch: SwitchId) -> u16 {
        self.used.get(switch as usize).copied().unwrap_or(0)
    }

    /// The highest id in use on any switch.
    #[must_use]
    pub fn highest(&self) -> Option<TreeId> {
        let last = self.words.iter().rposition(|&word| word != 0)?;
        let block = last / self.used.len();
        let words = &self.words[block * self.used.len()..=last];
        let used = words.iter().fold(0, |used, word| used | word);
        Some((block * BITS) as TreeId + used.ilog2() as TreeId)
    }

    /// Trees with an id.
    #[must_use]
    pub const fn trees(&self) -> u32 {
        self.trees
    }

    /// Entries in use on all switches together.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.used.iter().map(|&n| u64::from(n)).sum()
    }

    /// Bytes that the bits take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.used.len() * size_of::<u16>()
    }

    fn known(&self, switches: &[SwitchId]) -> Result<(), IdError> {
        let count = self.used.len() as u32;
        let stranger = if switches.is_empty() {
            Some(count)
        } else {
            switches.iter().copied().find(|&s| s >= count)
        };
        stranger.map_or(Ok(()), |switch| {
            Err(IdError::NoSwitch {
                switch,
                switches: count,
            })
        })
    }
}
