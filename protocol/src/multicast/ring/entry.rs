//! Entries of a schedule ring in host memory: little-endian 64-bit words, declared field by field in [`SCHEDULE`].

use std::collections::BTreeMap;

use super::{Counts, Descriptor, listed};
use crate::card::descriptor::Place;
use crate::multicast::{Receive, Schedule};

/// Bytes of an entry.
pub const ENTRY_LEN: usize = 32;
/// Its words.
pub const ENTRY_WORDS: usize = ENTRY_LEN / 8;
/// Peers of a member have slots below this.
pub const PEERS: u8 = 63;
/// As `source`: blocks of all members. As `to` of a DONE: sends that have ended.
pub const ALL: u8 = 63;

const fn place(name: &'static str, word: u8, lsb: u8, width: u8, doc: &'static str) -> Place {
    Place {
        name,
        word,
        lsb,
        width,
        doc,
    }
}

const KIND: Place = place("kind", 0, 0, 2, "1 send, 2 grant, 3 done; 0 is wrong.");
const WAITS: Place = place("waits", 0, 2, 1, "It waits for blocks.");
const SOURCE: Place = place(
    "source",
    0,
    8,
    6,
    "Slot of the member they come from; 63: all.",
);
const TO: Place = place(
    "to",
    0,
    16,
    6,
    "Slot of the member that gets the block or the grant; of done 63.",
);
const STEP: Place = place(
    "step",
    0,
    32,
    22,
    "Step of the schedule, for those who look.",
);
const BLOCK: Place = place("block", 1, 0, 20, "Number of the block.");
const MESSAGE: Place = place("message", 1, 32, 32, "Number of the message.");
const RECEIVED: Place = place("received", 2, 0, 32, "Blocks to wait for, modulo 2^32.");
const CREDIT: Place = place(
    "credit",
    2,
    32,
    32,
    "Send: credits to wait for; grant: blocks that are granted; done: ends of sends to wait for. Modulo 2^32.",
);
const USER: Place = place("user", 3, 0, 64, "Comes out with the entry.");

/// An entry of a schedule ring, 32 bytes.
pub const SCHEDULE: &[Place] = &[
    KIND, WAITS, SOURCE, TO, STEP, BLOCK, MESSAGE, RECEIVED, CREDIT, USER,
];

/// What an entry does when its waits are satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// Sends a block.
    Send = 1,
    /// Lets a member send.
    Grant = 2,
    /// Tells the host that a message is done.
    Done = 3,
}

impl EntryKind {
    /// All of them, in the order of their lanes.
    pub const ALL: [Self; 3] = [Self::Send, Self::Grant, Self::Done];

    /// Entries of one kind follow each other; those of different kinds do not wait for each other.
    #[must_use]
    pub const fn lane(self) -> usize {
        self as usize - 1
    }
}

/// An entry of a schedule ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it does.
    pub kind: EntryKind,
    /// It waits for `received` blocks.
    pub waits: bool,
    /// Slot of the member that they come from, or [`ALL`].
    pub source: u8,
    /// Slot of the member that gets the block or the grant; of DONE [`ALL`].
    pub to: u8,
    /// Step of the schedule.
    pub step: u32,
    /// The block.
    pub block: u32,
    /// The message.
    pub message: u32,
    /// Blocks to wait for.
    pub received: u32,
    /// Credits to wait for, blocks to grant, or ends of sends to wait for.
    pub credit: u32,
    /// Comes out with the entry.
    pub user: u64,
}

impl Entry {
    /// As it lies in memory.
    #[must_use]
    pub fn words(&self) -> [u64; ENTRY_WORDS] {
        let mut words = [0; ENTRY_WORDS];
        for (place, value) in [
            (KIND, self.kind as u64),
            (WAITS, self.waits.into()),
            (SOURCE, self.source.into()),
            (TO, self.to.into()),
            (STEP, self.step.into()),
            (BLOCK, self.block.into()),
            (MESSAGE, self.message.into()),
            (RECEIVED, self.received.into()),
            (CREDIT, self.credit.into()),
            (USER, self.user),
        ] {
            let mask = u64::MAX >> (64 - u32::from(place.width));
            words[usize::from(place.word)] |= (value & mask) << place.lsb;
        }
        words
    }

    /// Out of memory; `None` if it has no kind, or a slot that its kind cannot have.
    #[must_use]
    pub fn parse(words: &[u64; ENTRY_WORDS]) -> Option<Self> {
        let get = |place: Place| {
            let mask = u64::MAX >> (64 - u32::from(place.width));
            words[usize::from(place.word)] >> place.lsb & mask
        };
        let kind = match get(KIND) {
            1 => EntryKind::Send,
            2 => EntryKind::Grant,
            3 => EntryKind::Done,
            _ => return None,
        };
        let to = get(TO) as u8;
        ((to == ALL) == (kind == EntryKind::Done)).then(|| Self {
            kind,
            waits: get(WAITS) == 1,
            source: get(SOURCE) as u8,
            to,
            step: get(STEP) as u32,
            block: get(BLOCK) as u32,
            message: get(MESSAGE) as u32,
            received: get(RECEIVED) as u32,
            credit: get(CREDIT) as u32,
            user: get(USER),
        })
    }
}

/// Writes the entries of one member, message after message.
#[derive(Clone, Debug)]
pub struct EntryWriter {
    rank: u32,
    credits: u32,
    slots: BTreeMap<u32, u8>,
    granted: Counts,
    received: Counts,
    sent: Counts,
    /// Blocks granted and sends written since the group was opened, from its origin on.
    grants: u32,
    sends: u32,
    messages: u32,
}

impl EntryWriter {
    /// For a member that grants `credits` blocks ahead, whose group was opened with counters at `origin`. `peers` are the
    /// ranks that it sends to or receives from; the first has slot 0. `None` if there are more than [`PEERS`].
    #[must_use]
    pub fn new(
        rank: u32,
        credits: u32,
        origin: u32,
        peers: impl IntoIterator<Item = u32>,
    ) -> Option<Self> {
        let slots: BTreeMap<u32, u8> = peers.into_iter().zip(0..).collect();
        (slots.len() <= PEERS.into()).then(|| Self {
            rank,
            credits,
            slots,
            granted: Counts::new(origin),
            received: Counts::new(origin),
            sent: Counts::new(origin),
            grants: origin,
            sends: origin,
            messages: 0,
        })
    }

    /// The slot of a rank; `None` if it is no peer.
    #[must_use]
    pub fn slot(&self, rank: u32) -> Option<u8> {
        self.slots.get(&rank).copied()
    }

    /// The entries of the next message, in the order of its steps; DONE is the last. `None` if the schedule has a peer
    /// that is not among those of the group.
    #[must_use]
    pub fn message(&mut self, schedule: &Schedule, user: u64) -> Option<Vec<Entry>> {
        let message = self.messages;
        let mut entries = Vec::new();
        for (step, Receive { from, block }) in schedule.receives(self.rank, 0) {
            let credit = self.granted.count(from);
            self.grants = self.grants.wrapping_add(1);
            entries.push(Entry {
                kind: EntryKind::Grant,
                waits: true,
                source: ALL,
                to: self.slot(from)?,
                step: step as u32,
                block,
                message,
                received: self.grants.wrapping_sub(self.credits),
                credit,
                user,
            });
        }
        for descriptor in listed(schedule, self.rank, &mut self.received, &mut self.sent) {
            let Descriptor {
                step,
                to,
                block,
                source,
                received,
                credit,
            } = descriptor;
            self.sends = self.sends.wrapping_add(1);
            entries.push(Entry {
                kind: EntryKind::Send,
                waits: source.is_some(),
                source: source.map_or(Some(0), |rank| self.slot(rank))?,
                to: self.slot(to)?,
                step,
                block,
                message,
                received,
                credit,
                user,
            });
        }
        entries.sort_by_key(|entry| (entry.step, entry.kind != EntryKind::Grant));
        self.messages += 1;
        entries.push(Entry {
            kind: EntryKind::Done,
            waits: true,
            source: ALL,
            to: ALL,
            step: 0,
            block: 0,
            message,
            received: self.grants,
            credit: self.sends,
            user,
        });
        Some(entries)
    }
}
