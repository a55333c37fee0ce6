//! The in-flight table: one entry for each request between its sending and its completion (XUD-1).

use super::{Peer, wire::Window};

/// What ends a request well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wants {
    /// An acknowledgement.
    Acknowledgement,
    /// So many bytes of memory there (XUD-13).
    Bytes(u32),
    /// The old value of an atomic.
    Old,
}

/// What the card knows of a request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Queue pair that sent it.
    pub qpn: u32,
    /// Its number.
    pub psn: u32,
    /// Where it went.
    pub to: Peer,
    /// Its window identity; what an acknowledgement of version 1 echoes.
    pub window: Window,
    /// Its flags, echoed too.
    pub flags: u8,
    /// Version of the request.
    pub version: u8,
    /// The user's name for it.
    pub id: u64,
    /// What it waits for.
    pub wants: Wants,
    /// It has come and is being written: only the place is still taken.
    pub claimed: bool,
}

/// Direct mapped: consecutive numbers of a queue pair take consecutive places, so a lookup is one read.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Option<Entry>>,
    /// Tells uses of a place apart for the timers.
    serials: Vec<u32>,
    used: usize,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Table {}

impl std::hash::Hash for Table {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.entries.hash(state);
    }
}

impl Table {
    /// `size` places, a power of two.
    pub fn new(size: u32) -> Self {
        Self {
            entries: vec![None; size as usize],
            serials: vec![0; size as usize],
            used: 0,
        }
    }

    fn place(&self, qpn: u32, psn: u32) -> usize {
        // Spreads the queue pairs over the table: number 1 begins at its half, 2 and 3 at its quarters.
        let base = (u64::from(qpn.reverse_bits()) * self.entries.len() as u64) >> 32;
        psn.wrapping_add(base as u32) as usize & (self.entries.len() - 1)
    }

    /// Whether a request with this number could enter.
    pub fn is_free(&self, qpn: u32, psn: u32) -> bool {
        self.entries[self.place(qpn, psn)].is_none()
    }

    /// Enters a request: its place and serial, for the timer. The place must be free.
    pub fn insert(&mut self, entry: Entry) -> (u32, u32) {
        let place = self.place(entry.qpn, entry.psn);
        self.entries[place] = Some(entry);
        self.serials[place] = self.serials[place].wrapping_add(1);
        self.used += 1;
        (place as u32, self.serials[place])
    }

    /// The request of this number, if it still waits.
    pub fn get(&self, qpn: u32, psn: u32) -> Option<&Entry> {
        self.entries[self.place(qpn, psn)]
            .as_ref()
            .filter(|entry| entry.qpn == qpn && entry.psn == psn && !entry.claimed)
    }

    /// The request of this number waits no longer; its place stays taken.
    pub fn claim(&mut self, qpn: u32, psn: u32) {
        let place = self.place(qpn, psn);
        if self.get(qpn, psn).is_some()
            && let Some(entry) = &mut self.entries[place]
        {
            entry.claimed = true;
        }
    }

    /// Takes out the claimed request of this number.
    pub fn take_claimed(&mut self, qpn: u32, psn: u32) -> Option<Entry> {
        let place = self.place(qpn, psn);
        let is = |entry: &mut Entry| entry.claimed && entry.qpn == qpn && entry.psn == psn;
        let entry = self.entries[place].take_if(is)?;
        self.used -= 1;
        Some(entry)
    }

    /// Takes out the request of this number.
    pub fn remove(&mut self, qpn: u32, psn: u32) -> Option<Entry> {
        self.get(qpn, psn)?;
        let place = self.place(qpn, psn);
        self.used -= 1;
        self.entries[place].take()
    }

    /// Whether a timer was started for something that is still there.
    pub fn is_live(&self, place: u32, serial: u32) -> bool {
        let entry = self.entries.get(place as usize).and_then(Option::as_ref);
        self.serials.get(place as usize) == Some(&serial) && entry.is_some_and(|e| !e.claimed)
    }

    /// Takes out what a timer was started for, if it is still there.
    pub fn expire(&mut self, place: u32, serial: u32) -> Option<Entry> {
        let place = place as usize;
        if self.serials.get(place) != Some(&serial) {
            return None;
        }
        let entry = self.entries[place].take_if(|entry| !entry.claimed)?;
        self.used -= 1;
        Some(entry)
    }

    /// Takes out every request of a queue pair.
    pub fn flush(&mut self, qpn: u32) -> Vec<Entry> {
        let gone: Vec<Entry> = self
            .entries
            .iter_mut()
            .filter_map(|entry| entry.take_if(|entry| entry.qpn == qpn))
            .collect();
        self.used -= gone.len();
        gone
    }

    /// Requests in flight.
    pub fn used(&self) -> usize {
        self.used
    }
}
