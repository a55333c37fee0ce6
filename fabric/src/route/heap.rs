//! A heap whose order among equal distances is OpenSM's, on which its trees depend (MC-2).

/// Children of an entry.
const ARITY: usize = 4;

/// Vertices with a distance each, the nearest on top.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// Distance and vertex.
    entries: Vec<(u64, u32)>,
    /// By vertex: where it is in `entries`.
    at: Vec<u32>,
}

impl Heap {
    /// All of `vertices` at an infinite distance, in ascending order.
    pub fn fill(&mut self, vertices: u32) {
        self.entries.clear();
        self.entries.extend((0..vertices).map(|v| (u64::MAX, v)));
        self.at.clear();
        self.at.extend(0..vertices);
    }

    /// Moves a vertex nearer.
    pub fn decrease(&mut self, vertex: u32, distance: u64) {
        let mut slot = self.at[vertex as usize] as usize;
        self.entries[slot].0 = distance;
        while slot > 0 {
            let above = (slot - 1) / ARITY;
            if distance >= self.entries[above].0 {
                break;
            }
            self.swap(slot, above);
            slot = above;
        }
    }

    /// Takes the nearest vertex out; the last entry takes its place and sinks.
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let last = self.entries.len().checked_sub(1)?;
        self.swap(0, last);
        let top = self.entries.pop();
        let mut slot = 0;
        loop {
            let children = ARITY * slot + 1..(ARITY * slot + ARITY + 1).min(self.entries.len());
            // The last of equal children, and only if it is truly nearer.
            let Some(child) = children.rev().min_by_key(|&c| self.entries[c].0) else {
                break;
            };
            if self.entries[slot].0 <= self.entries[child].0 {
                break;
            }
            self.swap(slot, child);
            slot = child;
        }
        top
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.entries.swap(a, b);
        self.at[self.entries[a].1 as usize] = a as u32;
        self.at[self.entries[b].1 as usize] = b as u32;
    }
}
