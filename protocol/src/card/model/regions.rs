//! Regions: what a key stands for.

/// What an access needs beside key, domain and bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Every region may be read by its own card.
    LocalRead,
    LocalWrite,
    RemoteWrite,
    RemoteRead,
    RemoteAtomic,
}

/// A region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub variant: u8,
    /// Local write, remote write, read and atomic.
    pub rights: [bool; 4],
    pub domain: u16,
    pub base: u64,
    pub length: u64,
}

/// All regions of a card, by index.
#[derive(Clone, Debug)]
pub(super) struct Regions(Vec<Option<Region>>);

impl Regions {
    pub fn new(log: u8) -> Self {
        Self(vec![None; 1 << log])
    }

    /// Those that exist.
    pub fn len(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// The place of a region, if the card has it.
    pub fn place(&mut self, index: u32) -> Option<&mut Option<Region>> {
        self.0.get_mut(index as usize)
    }

    /// Whether an access lies in the region of its key to the byte, for a queue pair of this domain.
    pub fn allow(&self, key: u32, domain: u16, address: u64, bytes: u64, right: Right) -> bool {
        if bytes == 0 {
            return true;
        }
        let region = self.0.get((key >> 8) as usize).copied().flatten();
        region.is_some_and(|region| {
            let end = u128::from(region.base) + u128::from(region.length);
            region.variant == key as u8
                && region.domain == domain
                && match right {
                    Right::LocalRead => true,
                    Right::LocalWrite => region.rights[0],
                    Right::RemoteWrite => region.rights[1],
                    Right::RemoteRead => region.rights[2],
                    Right::RemoteAtomic => region.rights[3],
                }
                && address >= region.base
                && u128::from(address) + u128::from(bytes) <= end
        })
    }
}
