//! A message: all its work requests, then its entries, then one doorbell.

use tributary_protocol::card::descriptor::flags;
use tributary_protocol::multicast::ring::{ALL, Entry, EntryKind};

use super::peers::ROLES;
use super::{OffloadError, OffloadedGroup, State};
use crate::schedule::Role;
use crate::{AddressHandle, PostError, QueuePair, Remote};

/// The direction that an entry goes through; none of DONE.
fn role(entry: &Entry) -> Option<Role> {
    match entry.kind {
        EntryKind::Send => Some(Role::Sends),
        EntryKind::Grant => Some(Role::Receives),
        EntryKind::Done => None,
    }
}

/// The slot and the counter there that stand for a peer's block `count`, counted from 1: its blocks take its lanes in turns.
fn in_lane(slot: u8, count: u32, lanes: u8) -> (u8, u32) {
    let (index, each) = (count.wrapping_sub(1), u32::from(lanes));
    (
        slot * lanes + (index % each) as u8,
        (index / each).wrapping_add(1),
    )
}

/// An entry for peers with lanes. A block that is waited for is one of its lane; counts of all peers stay.
fn spread(entry: Entry, lanes: u8) -> Entry {
    let mut spread = entry;
    if entry.to != ALL {
        (spread.to, spread.credit) = in_lane(entry.to, entry.credit, lanes);
    }
    if entry.waits && entry.source != ALL {
        (spread.source, spread.received) = in_lane(entry.source, entry.received, lanes);
    }
    spread
}

impl OffloadedGroup {
    /// Posts the next message, of so many bytes: at the root, whose bytes lie in their place, and alike at all others. One
    /// message at a time is under way.
    ///
    /// # Errors
    /// Not now, or too long. After another error the group cannot go on.
    pub fn post(&mut self, length: u64) -> Result<(), OffloadError> {
        match self.state {
            State::Ready => {}
            State::New => return Err(OffloadError::State("not connected")),
            State::Busy => return Err(OffloadError::State("busy with a message")),
            State::Stopped | State::Ended => return Err(OffloadError::State("ended")),
        }
        let block = u64::from(self.options.block_bytes);
        let most = self.options.area_bytes() as u64;
        if length > most {
            return Err(OffloadError::Length { length, most });
        }
        // Not above `most_blocks`, which has 32 bits. An empty message is one empty block.
        let schedule = self
            .options
            .schedule(length.div_ceil(block).max(1) as u32)?;
        let mut writer = self.writer.clone();
        let entries = writer.message(&schedule, 0);
        let entries = entries.ok_or(OffloadError::State("without a peer of its schedule"))?;
        let lanes = self.options.lanes;
        let entries: Vec<Entry> = entries.into_iter().map(|e| spread(e, lanes)).collect();
        self.drain()?;
        self.check_room(&entries)?;
        self.state = State::Busy;
        for slot in self.slots() {
            for role in ROLES {
                self.post_to(slot, role, &entries, length)?;
            }
        }
        self.peers.iter().try_for_each(|peer| peer.fill())?;
        self.ring.post(&entries)?;
        self.writer = writer;
        Ok(())
    }

    /// Slots in the ring: all lanes of all peers.
    fn slots(&self) -> std::ops::Range<usize> {
        0..self.peers.len() * usize::from(self.options.lanes)
    }

    fn way(&self, slot: usize, way: Role) -> Option<(&QueuePair, AddressHandle, Remote)> {
        let lanes = usize::from(self.options.lanes);
        self.peers.get(slot / lanes)?.way(way, slot % lanes)
    }

    /// Whether all work requests of a message fit.
    fn check_room(&self, entries: &[Entry]) -> Result<(), OffloadError> {
        for slot in self.slots() {
            for way in ROLES {
                let of = |entry: &&Entry| role(entry) == Some(way) && usize::from(entry.to) == slot;
                let need = entries.iter().filter(of).count();
                let room = self
                    .way(slot, way)
                    .map_or(0, |(pair, ..)| pair.batch().rings.room().0);
                if need > room {
                    return Err(PostError::Full("send").into());
                }
            }
        }
        Ok(())
    }

    /// Writes the work requests of a message for one lane and direction, in the order of the entries. Each waits for the one
    /// before: blocks of one lane are counted in their order, and transfers may overtake each other.
    fn post_to(
        &self,
        slot: usize,
        way: Role,
        entries: &[Entry],
        length: u64,
    ) -> Result<(), OffloadError> {
        let Some((pair, to, there)) = self.way(slot, way) else {
            return Ok(());
        };
        let block = u64::from(self.options.block_bytes);
        // Blocks that leave one by one are passed on while the next ones leave.
        let bits = match way {
            Role::Sends => flags::FENCE.mask() | flags::OLDEST_FIRST.mask(),
            Role::Receives => flags::FENCE.mask(),
        };
        let mut batch = pair.batch();
        for entry in entries {
            if role(entry) != Some(way) || usize::from(entry.to) != slot {
                continue;
            }
            let at = u64::from(entry.block) * block;
            let (at, bytes, immediate) = match way {
                Role::Sends => (at, (length - at).min(block) as u32, entry.message),
                Role::Receives => (0, 0, entry.credit),
            };
            let part = (at as usize, bytes);
            let bits = bits | flags::NOTIFY.mask();
            batch.write_exposed(0, to, &self.area, part, there.at(at), (bits, immediate))?;
        }
        batch.ring().map_err(|rejected| rejected.error)?;
        Ok(())
    }
}
