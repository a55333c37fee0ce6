//! All groups of a card.

use thiserror::Error;

use super::{Completion, Job, Ring, RingConfig, RingError, RingOutput};

/// Handle of a group on its card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// Why a card does not take a group, or a doorbell.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardError {
    /// All places are taken.
    #[error("{0} groups are open: the card has no place for another")]
    Full(usize),
    /// There is no such group.
    #[error("group {0} is not open on this card")]
    Closed(u32),
    /// The group cannot be, or not such a message.
    #[error(transparent)]
    Ring(#[from] RingError),
}

/// The rings of a card. What waits in one does not stop another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Card {
    places: Vec<Option<Ring>>,
    /// Which ring is looked at first.
    turn: usize,
    /// Messages for groups that are not open.
    strange: u64,
}

impl Card {
    /// A card with room for so many groups.
    #[must_use]
    pub fn new(groups: usize) -> Self {
        Self {
            places: vec![None; groups],
            turn: 0,
            strange: 0,
        }
    }

    /// Messages and blocks of groups that are not open.
    #[must_use]
    pub fn strange(&self) -> u64 {
        self.strange
    }

    /// The ring of a group.
    #[must_use]
    pub fn ring(&self, group: GroupId) -> Option<&Ring> {
        self.places.get(group.0 as usize)?.as_ref()
    }

    /// Takes a group.
    ///
    /// # Errors
    /// No place, or a group that cannot be.
    pub fn open(&mut self, config: RingConfig) -> Result<GroupId, CardError> {
        let free = self.places.iter().position(Option::is_none);
        let place = free.ok_or(CardError::Full(self.places.len()))?;
        self.places[place] = Some(Ring::new(config)?);
        Ok(GroupId(place as u32))
    }

    /// Forgets a group.
    ///
    /// # Errors
    /// It is not open.
    pub fn close(&mut self, group: GroupId) -> Result<(), CardError> {
        let place = self.places.get_mut(group.0 as usize);
        match place.and_then(Option::take) {
            Some(_) => Ok(()),
            None => Err(CardError::Closed(group.0)),
        }
    }

    /// A doorbell.
    ///
    /// # Errors
    /// The group is not open, or does not take it.
    pub fn post(
        &mut self,
        group: GroupId,
        job: Job,
        out: &mut Vec<(GroupId, RingOutput)>,
    ) -> Result<u32, CardError> {
        let place = self.places.get_mut(group.0 as usize);
        let ring = place
            .and_then(Option::as_mut)
            .ok_or(CardError::Closed(group.0))?;
        let mut own = Vec::new();
        let number = ring.post(job, &mut own)?;
        out.extend(own.into_iter().map(|output| (group, output)));
        self.pump(out);
        Ok(number)
    }

    /// Something happens to a group; then every head that can start does.
    pub fn with<T: Default>(
        &mut self,
        group: GroupId,
        out: &mut Vec<(GroupId, RingOutput)>,
        what: impl FnOnce(&mut Ring, &mut Vec<RingOutput>) -> T,
    ) -> T {
        let place = self.places.get_mut(group.0 as usize);
        let Some(ring) = place.and_then(Option::as_mut) else {
            self.strange += 1;
            return T::default();
        };
        let mut own = Vec::new();
        let result = what(ring, &mut own);
        out.extend(own.into_iter().map(|output| (group, output)));
        self.pump(out);
        result
    }

    /// Rings take turns; each starts one send in its turn.
    fn pump(&mut self, out: &mut Vec<(GroupId, RingOutput)>) {
        let places = self.places.len();
        let mut idle = 0;
        while idle < places {
            let place = self.turn % places;
            self.turn = (place + 1) % places;
            idle += 1;
            let Some(ring) = &mut self.places[place] else {
                continue;
            };
            let mut own = Vec::new();
            if ring.start(&mut own) {
                idle = 0;
            } else if ring.waits() && ring.config().mutations.blocks_others {
                self.turn = place;
                idle = places;
            }
            let group = GroupId(place as u32);
            out.extend(own.into_iter().map(|output| (group, output)));
        }
    }

    /// Time passes, for all groups.
    pub fn tick(&mut self, out: &mut Vec<(GroupId, RingOutput)>) {
        for place in 0..self.places.len() {
            let group = GroupId(place as u32);
            if self.places[place].is_some() {
                self.with(group, out, |ring, own| ring.tick(own));
            }
        }
    }

    /// Completions among outputs.
    pub fn completions(
        out: &[(GroupId, RingOutput)],
    ) -> impl Iterator<Item = (GroupId, Completion)> + '_ {
        out.iter().filter_map(|(group, output)| match output {
            RingOutput::Completion(completion) => Some((*group, *completion)),
            _ => None,
        })
    }
}
