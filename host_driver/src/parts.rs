//! Which parts of a region are free.

use std::collections::BTreeMap;

/// Buffers start at a multiple of this, so that two of them share no line of a cache.
pub(crate) const LINE: usize = 64;
/// Up to so many lines, parts are kept by their size: 1 KiB.
const KEPT: usize = 16;

/// A part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub offset: usize,
    /// A multiple of a line, but at the end of the region.
    pub bytes: usize,
}

/// The free parts of a region. Programs ask for the same few sizes again and again, so small parts that come back are kept by their
/// size; they are joined with their neighbours once nothing else fits.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Bytes by offset; no two touch.
    joined: BTreeMap<usize, usize>,
    /// Offsets of parts of 1, 2, ... lines.
    kept: [Vec<usize>; KEPT],
}

impl Parts {
    /// A region of which all is free.
    pub fn new(length: usize) -> Self {
        Self {
            joined: BTreeMap::from([(0, length)]),
            kept: Default::default(),
        }
    }

    /// Takes a part of at least so many bytes.
    pub fn take(&mut self, length: usize) -> Option<Part> {
        let bytes = length.max(1).checked_next_multiple_of(LINE)?;
        if let Some(offset) = self.kept.get_mut(bytes / LINE - 1).and_then(Vec::pop) {
            return Some(Part { offset, bytes });
        }
        self.cut(length, bytes).or_else(|| {
            self.join_all();
            self.cut(length, bytes)
        })
    }

    /// Gives a part back.
    pub fn give(&mut self, part: Part) {
        // At the end of a region it may be no whole line.
        let whole = part.bytes.is_multiple_of(LINE);
        match self.kept.get_mut((part.bytes / LINE).wrapping_sub(1)) {
            Some(kept) if whole => kept.push(part.offset),
            _ => self.join(part),
        }
    }

    /// The first part that is long enough, cut to `bytes`.
    fn cut(&mut self, length: usize, bytes: usize) -> Option<Part> {
        let fits = |part: usize| part >= bytes || part >= length && !part.is_multiple_of(LINE);
        let (&offset, &part) = self.joined.iter().find(|(_, part)| fits(**part))?;
        self.joined.remove(&offset);
        let bytes = bytes.min(part);
        if part > bytes {
            self.joined.insert(offset + bytes, part - bytes);
        }
        Some(Part { offset, bytes })
    }

    fn join(&mut self, part: Part) {
        let Part {
            mut offset,
            mut bytes,
        } = part;
        if let Some(behind) = self.joined.remove(&(offset + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &part)) = self.joined.range(..offset).next_back()
            && before + part == offset
        {
            offset = before;
            bytes += part;
        }
        self.joined.insert(offset, bytes);
    }

    fn join_all(&mut self) {
        for lines in 1..=KEPT {
            for offset in std::mem::take(&mut self.kept[lines - 1]) {
                let bytes = lines * LINE;
                self.join(Part { offset, bytes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_in_small_parts_is_there_as_a_large_one() {
        let mut parts = Parts::new(4_096 + 10);
        let small: Vec<Part> = std::iter::from_fn(|| parts.take(64)).collect();
        // The last has 10 bytes only.
        assert_eq!(small.len(), 64);
        assert_eq!((parts.take(11), parts.take(usize::MAX)), (None, None));
        let end = parts.take(10).unwrap();
        assert_eq!((end.offset, end.bytes), (4_096, 10));
        for part in small.into_iter().chain([end]) {
            parts.give(part);
        }
        assert_eq!(parts.take(4_106).map(|part| part.bytes), Some(4_106));
        assert_eq!(parts.take(0), None);
    }

    #[test]
    fn parts_in_use_never_overlap() {
        let mut parts = Parts::new(10_000);
        let mut used: Vec<Part> = Vec::new();
        let mut random = 1u64;
        for _ in 0..10_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (length, which) = ((random >> 33) as usize % 1_500, (random >> 50) as usize);
            match parts.take(length) {
                Some(part) if which % 3 > 0 => {
                    assert!(part.bytes >= length && part.offset + part.bytes <= 10_000);
                    let apart = |other: &Part| {
                        other.offset + other.bytes <= part.offset
                            || part.offset + part.bytes <= other.offset
                    };
                    assert!(used.iter().all(apart));
                    used.push(part);
                }
                Some(part) => parts.give(part),
                None => {
                    assert!(!used.is_empty());
                    parts.give(used.swap_remove(which % used.len()));
                }
            }
        }
        used.drain(..).for_each(|part| parts.give(part));
        assert_eq!(parts.take(10_000).map(|part| part.offset), Some(0));
    }
}
