//! Comments of kernels, each printed once.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::ports::comment;
use super::stmt::Comment;

/// What the text of a module has said so far. A statement that is split over several blocks, or that a loop repeats, says
/// its comment where it stands first.
#[derive(Default)]
pub(super) struct Said {
    ids: RefCell<BTreeSet<usize>>,
}

impl Said {
    /// Of all these, what has not been said.
    pub(super) fn left_of(&self, all: &[Comment]) -> Vec<String> {
        let mut ids = self.ids.borrow_mut();
        let left = all.iter().filter(|c| ids.insert(c.id));
        left.map(|c| c.text.clone()).collect()
    }

    /// Writes what has not been said.
    pub(super) fn say(&self, comments: &[Comment], pad: &str, out: &mut String) {
        let mut ids = self.ids.borrow_mut();
        let fresh = comments.iter().filter(|c| ids.insert(c.id));
        let lines: Vec<String> = fresh.map(|c| c.text.clone()).collect();
        comment(&lines, pad, out);
    }
}
