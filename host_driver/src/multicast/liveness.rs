//! Which members are there: who is watched and silent for too long is gone.

use std::collections::{BTreeMap, BTreeSet};

/// When the members that are watched were heard last.
#[derive(Default)]
pub struct Liveness {
    heard: BTreeMap<u32, u64>,
    looked: Option<u64>,
}

impl Liveness {
    /// A member has said something.
    pub fn heard(&mut self, rank: u32, now: u64) {
        if let Some(heard) = self.heard.get_mut(&rank) {
            *heard = now;
        }
    }

    /// Whether it is time to look after the members again: four times in each time of silence, which may change.
    pub fn is_due(&mut self, now: u64, silence: u64) -> bool {
        let due = self
            .looked
            .is_none_or(|looked| now.saturating_sub(looked) >= silence / 4);
        if due {
            self.looked = Some(now);
        }
        due
    }

    /// Who is to be asked, and who has been silent for too long.
    pub fn look(
        &mut self,
        watched: &BTreeSet<u32>,
        now: u64,
        silence: u64,
    ) -> (Vec<u32>, Vec<u32>) {
        self.heard.retain(|rank, _| watched.contains(rank));
        for &rank in watched {
            self.heard.entry(rank).or_insert(now);
        }
        let is_there = |&rank: &u32| now.saturating_sub(self.heard[&rank]) <= silence;
        watched.iter().copied().partition(is_there)
    }
}
