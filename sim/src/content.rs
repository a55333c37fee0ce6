//! Names by content, for caches.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Collects what a result depends on and names it: equal parts in equal order, equal name.
#[derive(Clone, Debug, Default)]
pub struct ContentKey(Sha256);

impl ContentKey {
    /// The key of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part; its length goes in too, so that parts cannot run into each other.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The key as a file name of 32 hexadecimal digits.
    pub fn name(self) -> String {
        let mut name = String::with_capacity(32);
        for byte in &self.0.finalize()[..16] {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(parts: &[&str]) -> String {
        let mut key = ContentKey::new();
        for part in parts {
            key.add(part);
        }
        key.name()
    }

    #[test]
    fn names_tell_parts_apart() {
        assert_eq!(name(&["ab", "c"]), name(&["ab", "c"]));
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["ab"]), name(&["ab", ""]));
        assert_eq!(name(&[]).len(), 32);
    }
}
