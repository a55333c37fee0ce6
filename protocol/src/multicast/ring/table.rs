//! The schedule rings of a card as hardware has them: entries in, starts, grants and completions out.
//!
//! A host writes [entries](super::Entry) into a ring in its memory. The card fetches them in order and puts each into the
//! queue of its kind; the head of each queue waits for two counters. Every call here is one operation of the hardware, and
//! what a head does is offered, so that hardware may do it later, but not otherwise.

use std::collections::VecDeque;

use super::entry::{ALL, ENTRY_LEN, ENTRY_WORDS, Entry, EntryKind, PEERS};

/// Entries in the queue of a kind.
pub const QUEUE: usize = 8;

/// What hardware does in one go; its answers carry these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operation {
    Open = 0,
    Doorbell = 1,
    Stop = 2,
    Close = 3,
    Tick = 4,
    Entry = 5,
    Look = 6,
    Begin = 8,
    Landed = 9,
    Credit = 10,
    Sent = 11,
    Failed = 12,
}

codes! {
    /// Why a group has ended; the number in its completion.
    EndCode {
        /// A message is done; the group goes on.
        Done = 0 "done",
        /// A transfer to or from a peer has failed.
        Failed = 1 "failed",
        /// Nothing came for too long.
        Watchdog = 2 "watchdog",
        /// The host has stopped it, and nothing is under way.
        Stopped = 3 "stopped",
        /// An entry is wrong.
        Entry = 4 "entry",
        /// The ring cannot be read.
        Read = 5 "read",
    }
}

/// What a host opens a group with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opening {
    /// Address of the ring, a multiple of 32.
    pub base: u64,
    /// log2 of its entries, 1 to 15.
    pub log: u8,
    /// Ticks without progress after which the group is given up; 0: never.
    pub watchdog: u16,
    /// The watchdog runs from the doorbell on, as at the root; else from the first block that begins.
    pub timed: bool,
    /// What all counters begin at.
    pub origin: u32,
}

/// What a group offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableOutput {
    /// A read of the entry at this address.
    Read(u64),
    /// A block to send, or a grant to tell; see the entry's kind.
    Act(Entry),
    /// A completion.
    Completion {
        /// How.
        code: EndCode,
        /// With [`EndCode::Failed`], the peer's slot; else 0.
        peer: u8,
        /// Number of the message; of an end, messages that were done.
        message: u32,
        /// Of the entry; of an end 0.
        user: u64,
        /// Index of the first entry of the ring that was not fetched.
        fetched: u16,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Closed,
    Running,
    Draining,
    Ending(EndCode, u8),
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    mode: Mode,
    opening: Opening,
    posted: u16,
    fetched: u16,
    /// Reads under way.
    flying: usize,
    queues: [VecDeque<Entry>; 3],
    idle: u16,
    /// A message has begun and is not done.
    begun: bool,
    /// Sends and receives under way.
    sends: u16,
    receives: u16,
    done: u32,
    landed: [u32; 64],
    /// Of [`ALL`]: sends that have ended.
    allowed: [u32; 64],
    granted: [u32; 64],
    opened: [u32; 64],
}

impl Group {
    fn new(mode: Mode, opening: Opening) -> Self {
        let counters = [opening.origin; 64];
        Self {
            mode,
            opening,
            posted: 0,
            fetched: 0,
            flying: 0,
            queues: Default::default(),
            idle: 0,
            begun: false,
            sends: 0,
            receives: 0,
            done: 0,
            landed: counters,
            allowed: counters,
            granted: counters,
            opened: counters,
        }
    }

    fn is_live(&self) -> bool {
        matches!(self.mode, Mode::Running | Mode::Draining)
    }

    fn is_under_way(&self) -> bool {
        self.sends > 0 || self.receives > 0
    }

    fn ends(&mut self, code: EndCode, peer: u8) {
        self.mode = Mode::Ending(code, peer);
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.posted = self.fetched;
        (self.sends, self.receives) = (0, 0);
    }

    fn drained(&mut self) {
        if self.mode == Mode::Draining && !self.is_under_way() {
            self.ends(EndCode::Stopped, 0);
        }
    }
}

const fn ahead(counter: u32, other: u32) -> bool {
    counter.wrapping_sub(other) as i32 > 0
}

const fn behind(counter: u32, wanted: u32) -> bool {
    (counter.wrapping_sub(wanted) as i32) < 0
}

/// The groups of a card: each with its ring, its counters and its state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingTable {
    groups: Vec<Group>,
}

impl RingTable {
    /// A card with room for so many groups.
    #[must_use]
    pub fn new(groups: usize) -> Self {
        let nothing = Opening {
            base: 0,
            log: 0,
            watchdog: 0,
            timed: false,
            origin: 0,
        };
        Self {
            groups: vec![Group::new(Mode::Closed, nothing); groups],
        }
    }

    /// Its place is free.
    #[must_use]
    pub fn is_closed(&self, group: usize) -> bool {
        self.groups
            .get(group)
            .is_none_or(|g| g.mode == Mode::Closed)
    }

    /// It does nothing any more.
    #[must_use]
    pub fn has_ended(&self, group: usize) -> bool {
        self.groups
            .get(group)
            .is_some_and(|g| g.mode == Mode::Ended)
    }

    /// A message has begun, and the watchdog runs.
    #[must_use]
    pub fn is_watched(&self, group: usize) -> bool {
        let group = self.groups.get(group);
        group.is_some_and(|g| g.is_live() && g.begun && g.opening.watchdog != 0)
    }

    /// Sends, and receives under way.
    #[must_use]
    pub fn under_way(&self, group: usize) -> (u16, u16) {
        let group = self.groups.get(group);
        group.map_or((0, 0), |g| (g.sends, g.receives))
    }

    /// Takes a group. False: its place is taken, or there is no such place, or the ring cannot be.
    pub fn open(&mut self, group: usize, opening: Opening) -> bool {
        let right =
            (1..=15).contains(&opening.log) && opening.base.is_multiple_of(ENTRY_LEN as u64);
        match self.groups.get_mut(group) {
            Some(place) if right && place.mode == Mode::Closed => {
                *place = Group::new(Mode::Running, opening);
                true
            }
            _ => false,
        }
    }

    /// Entries before this index are written. False: more than the ring has, or fewer than before, or the group does not run.
    pub fn doorbell(&mut self, group: usize, posted: u16) -> bool {
        let Some(g) = self.groups.get_mut(group) else {
            return false;
        };
        let (new, old) = (
            posted.wrapping_sub(g.fetched),
            g.posted.wrapping_sub(g.fetched),
        );
        if g.mode != Mode::Running || new < old || u32::from(new) > 1 << g.opening.log {
            return false;
        }
        g.begun |= g.opening.timed && new != old;
        g.posted = posted;
        g.idle = 0;
        true
    }

    /// Nothing new begins; the completion comes when nothing is under way. False: it does not run.
    pub fn stop(&mut self, group: usize) -> bool {
        match self.groups.get_mut(group) {
            Some(g) if g.mode == Mode::Running => {
                g.mode = Mode::Draining;
                g.drained();
                true
            }
            _ => false,
        }
    }

    /// Frees the place of a group that has ended. False: it has not, or reads of its ring are under way.
    pub fn close(&mut self, group: usize) -> bool {
        match self.groups.get_mut(group) {
            Some(g) if g.mode == Mode::Ended && g.flying == 0 => {
                g.mode = Mode::Closed;
                true
            }
            _ => false,
        }
    }

    /// A block of a peer asks to come in. False: it was not granted; nothing of it is to be written.
    pub fn begin(&mut self, group: usize, slot: u8) -> bool {
        let at = usize::from(slot);
        match self.groups.get_mut(group) {
            Some(g)
                if g.mode == Mode::Running
                    && slot < PEERS
                    && g.receives < u16::MAX
                    && ahead(g.granted[at], g.opened[at]) =>
            {
                g.opened[at] = g.opened[at].wrapping_add(1);
                g.receives += 1;
                g.begun = true;
                true
            }
            _ => false,
        }
    }

    /// A block that had begun is here. False: there is none.
    pub fn landed(&mut self, group: usize, slot: u8) -> bool {
        let at = usize::from(slot);
        match self.groups.get_mut(group) {
            Some(g) if g.is_live() && slot < PEERS && ahead(g.opened[at], g.landed[at]) => {
                for counter in [at, ALL.into()] {
                    g.landed[counter] = g.landed[counter].wrapping_add(1);
                }
                g.receives -= 1;
                g.idle = 0;
                g.drained();
                true
            }
            _ => false,
        }
    }

    /// A peer has granted so many blocks. False: it had granted as many before, or is no peer.
    pub fn credit(&mut self, group: usize, slot: u8, granted: u32) -> bool {
        let at = usize::from(slot);
        match self.groups.get_mut(group) {
            Some(g) if g.is_live() && slot < PEERS && ahead(granted, g.allowed[at]) => {
                g.allowed[at] = granted;
                g.idle = 0;
                true
            }
            _ => false,
        }
    }

    /// A block is where it belongs. False: none is under way.
    pub fn sent(&mut self, group: usize) -> bool {
        let at = usize::from(ALL);
        match self.groups.get_mut(group) {
            Some(g) if g.is_live() && g.sends > 0 => {
                g.allowed[at] = g.allowed[at].wrapping_add(1);
                g.sends -= 1;
                g.idle = 0;
                g.drained();
                true
            }
            _ => false,
        }
    }

    /// A transfer to or from a peer has failed. False: no peer, or the group does not run.
    pub fn failed(&mut self, group: usize, slot: u8) -> bool {
        match self.groups.get_mut(group) {
            Some(g) if g.is_live() && slot < PEERS => {
                g.ends(EndCode::Failed, slot);
                true
            }
            _ => false,
        }
    }

    /// Time passes for a group. True: it is given up.
    pub fn tick(&mut self, group: usize) -> bool {
        let Some(g) = self.groups.get_mut(group) else {
            return false;
        };
        if !g.is_live() || !g.begun || g.opening.watchdog == 0 {
            return false;
        }
        g.idle = g.idle.wrapping_add(1);
        let over = g.idle >= g.opening.watchdog;
        if over {
            g.ends(EndCode::Watchdog, 0);
        }
        over
    }

    /// An entry has come, or its read has failed (`None`). False: the group does not run any more, or ends now.
    pub fn entry(&mut self, group: usize, words: Option<&[u64; ENTRY_WORDS]>) -> bool {
        let Some(g) = self.groups.get_mut(group) else {
            return false;
        };
        g.flying = g.flying.saturating_sub(1);
        if g.mode != Mode::Running {
            return false;
        }
        match words.map(Entry::parse) {
            None => g.ends(EndCode::Read, 0),
            Some(None) => g.ends(EndCode::Entry, 0),
            Some(Some(entry)) => g.queues[entry.kind.lane()].push_back(entry),
        }
        g.mode == Mode::Running
    }

    /// What the head of a kind's queue would do now.
    #[must_use]
    pub fn head(&self, group: usize, kind: EntryKind) -> Option<TableOutput> {
        let g = self.groups.get(group)?;
        let entry = *g.queues[kind.lane()].front()?;
        let here = g.landed[usize::from(entry.source)];
        let there = g.allowed[usize::from(entry.to)];
        let first = !entry.waits || !behind(here, entry.received);
        let second = kind == EntryKind::Grant || !behind(there, entry.credit);
        let room = kind != EntryKind::Send || g.sends < u16::MAX;
        let now = first && second && room && g.mode == Mode::Running;
        now.then_some(match kind {
            EntryKind::Done => TableOutput::Completion {
                code: EndCode::Done,
                peer: 0,
                message: entry.message,
                user: entry.user,
                fetched: g.fetched,
            },
            _ => TableOutput::Act(entry),
        })
    }

    /// The completion that ends the group, if it is to come.
    #[must_use]
    pub fn end(&self, group: usize) -> Option<TableOutput> {
        let g = self.groups.get(group)?;
        let Mode::Ending(code, peer) = g.mode else {
            return None;
        };
        Some(TableOutput::Completion {
            code,
            peer,
            message: g.done,
            user: 0,
            fetched: g.fetched,
        })
    }

    /// The next read of the ring, if all queues have room for what it brings.
    #[must_use]
    pub fn read(&self, group: usize) -> Option<TableOutput> {
        let g = self.groups.get(group)?;
        let room = g.queues.iter().all(|q| q.len() + g.flying < QUEUE);
        let place = u64::from(g.fetched & ((1 << g.opening.log) - 1));
        (g.mode == Mode::Running && g.posted != g.fetched && room)
            .then(|| TableOutput::Read(g.opening.base.wrapping_add(place * ENTRY_LEN as u64)))
    }

    /// A group does what it offers, whichever it is. False: it offers nothing of this.
    pub fn takes(&mut self, group: usize, output: &TableOutput) -> bool {
        if self.read(group).as_ref() == Some(output) {
            let g = &mut self.groups[group];
            g.fetched = g.fetched.wrapping_add(1);
            g.flying += 1;
            return true;
        }
        if self.end(group).as_ref() == Some(output) {
            let g = &mut self.groups[group];
            g.mode = Mode::Ended;
            return true;
        }
        let mut kinds = EntryKind::ALL.into_iter();
        let Some(kind) = kinds.find(|&kind| self.head(group, kind).as_ref() == Some(output)) else {
            return false;
        };
        let g = &mut self.groups[group];
        let Some(entry) = g.queues[kind.lane()].pop_front() else {
            return false;
        };
        match kind {
            EntryKind::Send => {
                g.sends += 1;
                g.begun = true;
            }
            EntryKind::Grant => g.granted[usize::from(entry.to)] = entry.credit,
            EntryKind::Done => {
                g.done = g.done.wrapping_add(1);
                let more =
                    g.posted != g.fetched || g.flying > 0 || g.queues.iter().any(|q| !q.is_empty());
                let next = g.landed[usize::from(entry.source)] != entry.received
                    || g.allowed[usize::from(entry.to)] != entry.credit
                    || g.is_under_way();
                g.begun = next || (g.opening.timed && more);
            }
        }
        true
    }

    /// Everything that a group offers now.
    #[must_use]
    pub fn offers(&self, group: usize) -> Vec<TableOutput> {
        let heads = EntryKind::ALL.into_iter().map(|k| self.head(group, k));
        heads
            .chain([self.end(group), self.read(group)])
            .flatten()
            .collect()
    }
}
