//! Trees of groups: computed, written, used, drained, cleared.

use tributary_protocol::red;

use super::record::{Phase, Placed, Retired};
use super::{Ending, Event, GroupKey, Manager, ManagerError, Pending, State, Unroutable};
use crate::hops::UNREACHABLE;
use crate::ids::TreeId;
use crate::network::SwitchId;
use crate::table;
use crate::update::{self, Update, Write};

/// What a tree is in the tables.
type Entries = Vec<(SwitchId, red::Tree)>;

impl Manager {
    /// Computes the trees of at most `max` groups that have become complete, in ascending order; returns how many.
    ///
    /// A group that cannot be routed now waits for a cable or an id to come back, which [`Event::Unroutable`] tells.
    pub fn compute(&mut self, now: u64, max: usize) -> usize {
        self.advance(now);
        let mut done = 0;
        while done < max
            && let Some(key) = self.queue.pop_first()
        {
            done += 1;
            match self.place(key) {
                Ok(()) => self.counters.routed += 1,
                Err(why) => self.unplaced(key, why),
            }
            self.rearm(key);
        }
        done
    }

    /// All updates up to this one are carried out.
    ///
    /// # Errors
    /// It was not handed out; nothing is changed then.
    pub fn written(&mut self, now: u64, number: u64) -> Result<(), ManagerError> {
        self.advance(now);
        if number >= self.taken {
            return Err(ManagerError::NoUpdate {
                number,
                next: self.taken,
            });
        }
        while let Some(&done) = self.pending.front().filter(|p| p.number <= number) {
            self.pending.pop_front();
            if done.clear {
                self.cleared(done.key, done.id);
            } else {
                self.stands(done.key, done.id);
            }
            self.rearm(done.key);
            self.forget(done.key);
        }
        Ok(())
    }

    /// The last entry of a tree is cleared: its id is free.
    fn cleared(&mut self, key: GroupKey, id: TreeId) {
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        if let Some(at) = record.retired.iter().position(|r| r.id == id) {
            let tree = record.retired.remove(at);
            let released = self.ids.release(id, &tree.switches);
            debug_assert_eq!(released, Ok(()));
            self.released = true;
        }
    }

    /// All entries of a tree are written: the group uses it.
    fn stands(&mut self, key: GroupKey, id: TreeId) {
        let until = self.now.saturating_add(self.config.drain);
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        // The tree may have been replaced while it was written; members never hear of it then.
        if record.placed.as_ref().is_none_or(|p| p.id != id) {
            return;
        }
        for tree in &mut record.retired {
            if tree.phase == Phase::InUse {
                tree.phase = Phase::Draining(until);
            }
        }
        record.announced = Some(id);
        if record.state == State::ComputingRoutes {
            record.state = State::Ready;
            record.deadline = self.config.lease.map(|l| self.now.saturating_add(l));
            let tree = Some(id);
            self.events.push(Event::Ready { key, tree });
        } else {
            record.moves += 1;
            self.events.push(Event::Moved { key, tree: id });
        }
    }

    /// Gives a complete group its first tree.
    pub(super) fn place(&mut self, key: GroupKey) -> Result<(), Unroutable> {
        let Some(record) = self.groups.get_mut(&key) else {
            return Ok(());
        };
        if record.size == 1 {
            record.state = State::Ready;
            record.deadline = self.config.lease.map(|l| self.now.saturating_add(l));
            self.events.push(Event::Ready { key, tree: None });
            return Ok(());
        }
        let found = self.find(key)?;
        self.adopt(key, found);
        Ok(())
    }

    /// A tree for a group, with an id of its own; nothing of the group is changed.
    pub(super) fn find(&mut self, key: GroupKey) -> Result<(Placed, Entries), Unroutable> {
        if let Some(why) = &self.stale {
            return Err(Unroutable::Distances(why.clone()));
        }
        let record = self.groups.get(&key);
        let known = record.and_then(|r| r.group.as_ref().zip(r.leader()));
        let Some((group, leader)) = known else {
            return Err(Unroutable::Cut { switches: vec![] });
        };
        let members = group.switches();
        let (network, hops, load) = (&self.network, &self.hops, &self.load);
        let old = record.and_then(|r| r.placed.as_ref());
        let routed = match old {
            Some(old) => self.router.reroute(network, hops, load, members, &old.tree),
            None => self.router.route(network, hops, load, members),
        };
        let tree =
            routed.map_err(|_| self.cut(members, self.network.endnodes()[leader as usize].at.0))?;
        let entries =
            table::entries(&self.network, group, &tree, leader).map_err(Unroutable::Table)?;
        let switches: Vec<_> = entries.iter().map(|&(switch, _)| switch).collect();
        let id = self.ids.allocate(&switches).map_err(Unroutable::Id)?;
        Ok((Placed { tree, id, switches }, entries))
    }

    fn cut(&self, members: &[SwitchId], leader: SwitchId) -> Unroutable {
        let far = |s: &SwitchId| self.hops.hops(leader, *s) == UNREACHABLE;
        Unroutable::Cut {
            switches: members.iter().copied().filter(far).collect(),
        }
    }

    /// Puts a tree into use: load, index of cables, tables.
    pub(super) fn adopt(&mut self, key: GroupKey, (placed, entries): (Placed, Entries)) {
        self.load.add(&placed.tree);
        for cable in placed.tree.cables() {
            self.users[cable as usize].push(key);
        }
        let writes = update::install(placed.id, &entries);
        self.push(key, placed.id, false, writes);
        if let Some(record) = self.groups.get_mut(&key) {
            record.placed = Some(placed);
        }
    }

    /// Takes a group's tree out of the load and the index; its entries and id stay until they are drained and cleared.
    pub(super) fn retire(&mut self, key: GroupKey) {
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        let Some(placed) = record.placed.take() else {
            return;
        };
        record.retired.push(Retired {
            id: placed.id,
            switches: placed.switches,
            phase: Phase::InUse,
        });
        self.load.remove(&placed.tree);
        for cable in placed.tree.cables() {
            let users = &mut self.users[cable as usize];
            if let Some(at) = users.iter().position(|&k| k == key) {
                users.swap_remove(at);
            }
        }
    }

    /// Clears a group's trees whose time is over.
    pub(super) fn clear_drained(&mut self, key: GroupKey) {
        let mut clear = Vec::new();
        if let Some(record) = self.groups.get_mut(&key) {
            for tree in &mut record.retired {
                if matches!(tree.phase, Phase::Draining(until) if until <= self.now) {
                    tree.phase = Phase::Clearing;
                    clear.push((tree.id, update::clear(tree.id, &tree.switches)));
                }
            }
        }
        for (id, writes) in clear {
            self.push(key, id, true, writes);
        }
    }

    /// A group has no tree, or none that is whole.
    pub(super) fn unplaced(&mut self, key: GroupKey, why: Unroutable) {
        let computing = self
            .groups
            .get(&key)
            .is_some_and(|r| r.state == State::ComputingRoutes && r.placed.is_none());
        match why {
            // No repair helps a group that has never had a tree and can have none.
            Unroutable::Table(error) if computing => self.destroy(key, Ending::Refused(error)),
            why => {
                if self.waiting.insert(key, why.clone()).as_ref() != Some(&why) {
                    self.events.push(Event::Unroutable { key, why });
                }
            }
        }
    }

    fn push(&mut self, key: GroupKey, id: TreeId, clear: bool, writes: Vec<Write>) {
        let number = self.next;
        self.next += 1;
        self.updates.push(Update {
            number,
            key,
            writes,
        });
        self.pending.push_back(Pending {
            number,
            key,
            id,
            clear,
        });
    }
}
