//! Memory for many messages (FI_MULTI_RECV): they lie in it one behind the other, and the last to end gives it back.

use super::{Address, Done, Engine, Failure, Label, Memory, Posted, Unexpected, Want, What};

/// How far memory is filled.
pub struct Filling {
    pool: u32,
    used: usize,
    /// With less room than this it takes no more messages.
    least: usize,
}

/// Where a message lies.
#[derive(Clone, Copy)]
pub struct Place {
    pool: u32,
    at: usize,
}

/// Memory that takes messages, or in which some have not ended.
pub struct Pool<O> {
    under_way: usize,
    takes_more: bool,
    /// The program, or the end of a peer, took it back while messages were under way: told when these have ended.
    taken_back: Option<(O, Address, Failure)>,
}

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Receives messages into memory until less than `least` bytes are left. Each ends on its own, as `op`, and says where it
    /// lies; the last one to end says that the memory is released. A message that is longer than the room that is left fills it
    /// and is truncated.
    pub fn receive_many(&mut self, want: Want, memory: M, op: O, least: usize) {
        let pool = self.number();
        let new = Pool {
            under_way: 0,
            takes_more: true,
            taken_back: None,
        };
        self.pools.insert(pool, new);
        let many = Some(Filling {
            pool,
            used: 0,
            least,
        });
        let mut rest = Some(Posted {
            want,
            op,
            memory,
            many,
        });
        while let Some(posted) = rest {
            match self.waiting(want) {
                Some(message) => rest = self.fill(posted, message),
                None => return self.post(posted),
            }
        }
    }

    /// A message for memory that takes many; what is left of it.
    pub(super) fn fill(
        &mut self,
        mut posted: Posted<O, M>,
        message: Unexpected,
    ) -> Option<Posted<O, M>> {
        let filling = posted.many.as_mut()?;
        let (pool, at) = (filling.pool, filling.used);
        let room = posted.memory.length() - at;
        let count = message.length.min(room);
        filling.used += count;
        let full = room - count < filling.least || room == count;
        if let Some(pool) = self.pools.get_mut(&pool) {
            pool.under_way += 1;
            pool.takes_more = !full;
        }
        let part = posted.memory.part(at, count);
        let place = Some(Place { pool, at });
        self.matched(message, part, posted.op.clone(), place);
        (!full).then_some(posted)
    }

    /// A receive has ended.
    pub(super) fn received(
        &mut self,
        op: O,
        length: usize,
        label: Label,
        from: Address,
        failure: Option<Failure>,
        place: Option<Place>,
    ) {
        let over = place.and_then(|place| self.leave(place.pool));
        let taken_back = over.map(|pool| pool.taken_back);
        self.done.push_back(Done {
            op,
            what: What::Receive,
            length,
            label,
            from,
            failure,
            at: place.map_or(0, |place| place.at),
            released: matches!(taken_back, Some(None)),
        });
        if let Some(Some((op, from, failure))) = taken_back {
            self.released(op, from, failure);
        }
    }

    /// A message in memory for many has ended; the memory, if it was the last.
    fn leave(&mut self, number: u32) -> Option<Pool<O>> {
        let pool = self.pools.get_mut(&number)?;
        pool.under_way -= 1;
        if pool.takes_more || pool.under_way > 0 {
            return None;
        }
        self.pools.remove(&number)
    }

    /// Memory for many is taken back: at once, or when what is under way in it has ended.
    pub(super) fn close_pool(&mut self, of: Filling, op: O, from: Address, failure: Failure) {
        let Some(pool) = self.pools.get_mut(&of.pool) else {
            return;
        };
        pool.takes_more = false;
        if pool.under_way > 0 {
            pool.taken_back = Some((op, from, failure));
        } else {
            self.pools.remove(&of.pool);
            self.released(op, from, failure);
        }
    }

    fn released(&mut self, op: O, from: Address, failure: Failure) {
        self.done.push_back(Done {
            op,
            what: What::Receive,
            length: 0,
            label: Label::default(),
            from,
            failure: Some(failure),
            at: 0,
            released: true,
        });
    }
}
