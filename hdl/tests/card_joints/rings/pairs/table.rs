//! What card_ring_pairs does, with plain tables.

use std::collections::{BTreeMap, VecDeque};

use tributary_protocol::multicast::ring::Operation;

use super::Q;

/// Role, group, slot.
pub type Place = [u64; 3];

/// Where work comes from, in the order of the turns.
pub const TOLD: usize = 0;
pub const ENDED: usize = 1;
pub const START: usize = 2;
pub const GRANT: usize = 3;

/// Clocks of work: from FIND on the queue pair of a place is found, from LOOK on it is looked at.
pub const FIND: u32 = 1;
pub const LOOK: u32 = 4;
pub const JUDGE: u32 = 7;
pub const COUNT: u32 = 8;

/// What is under way.
#[derive(Default)]
pub struct Work {
    pub from: usize,
    pub stage: u32,
    pub place: Place,
    pub pair: u64,
    pub value: u64,
    pub good: bool,
    pub post: Option<[u64; 2]>,
    /// Operation, group, slot, value.
    pub events: VecDeque<[u64; 4]>,
}

#[derive(Default)]
pub struct Table {
    pub pairs: BTreeMap<u64, Place>,
    /// 0 if nothing was given; a reset leaves them, as what counts is the binding of the queue pair.
    pub places: BTreeMap<Place, u64>,
    pub posted: BTreeMap<u64, u64>,
    pub turn: usize,
    /// Clocks until it is ready.
    pub clears: u32,
    pub work: Option<Work>,
    /// A completion that is to be looked at: queue pair, whether it was good.
    pub ended: Option<(u64, bool)>,
}

impl Table {
    pub fn new() -> Self {
        Self {
            clears: 1 << Q,
            ..Self::default()
        }
    }

    pub fn idle(&self, turn: usize) -> bool {
        self.clears == 0 && self.work.is_none() && self.turn == turn
    }

    pub fn offers(&self) -> Option<&Work> {
        let offers = |work: &&Work| work.stage > if work.post.is_some() { COUNT } else { JUDGE };
        self.work.as_ref().filter(offers)
    }

    /// A clock of what is under way, which sees the binding of this clock; `counts`: there is none. It is over.
    pub fn step(&mut self, counts: bool, ready: [bool; 2]) -> bool {
        let Some(work) = &mut self.work else {
            return false;
        };
        let (posts, rings) = (work.from >= START, work.post.is_some());
        match work.stage {
            FIND => work.pair = self.places.get(&work.place).copied().unwrap_or(0),
            LOOK => {
                let found = self.pairs.get(&work.pair).copied();
                let [role, group, slot] = if posts {
                    work.place
                } else {
                    found.unwrap_or_default()
                };
                let events: &[Operation] = match (role, work.from) {
                    (_, START | GRANT) if found == Some(work.place) => {
                        let posted = self.posted.entry(work.pair).or_default();
                        *posted = (*posted + 1) & 0xffff;
                        work.post = Some([work.pair, *posted]);
                        &[]
                    }
                    (_, START | GRANT) => &[Operation::Failed],
                    (1.., _) if !work.good => &[Operation::Failed],
                    (1, ENDED) => &[Operation::Sent],
                    (1, _) => &[Operation::Credit],
                    (2, TOLD) => &[Operation::Begin, Operation::Landed],
                    _ => &[],
                };
                let event = |op: &Operation| [*op as u64 & 7, group, slot, work.value];
                work.events = events.iter().map(event).collect();
            }
            JUDGE if !rings && work.events.is_empty() => return true,
            COUNT if rings && !counts => return false,
            stage if stage > COUNT && rings => return ready[1],
            stage if stage > JUDGE && !rings => {
                if ready[0] {
                    work.events.pop_front();
                }
                return work.events.is_empty();
            }
            _ => {}
        }
        work.stage += 1;
        false
    }

    pub fn bind(&mut self, pair: u64, place: Place) {
        self.posted.insert(pair, 0);
        if place[0] == 0 {
            self.pairs.remove(&pair);
        } else {
            self.pairs.insert(pair, place);
            self.places.insert(place, pair);
        }
    }
}
