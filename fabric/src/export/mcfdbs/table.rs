//! Multicast table of one switch.

use crate::network::Port;

/// Ports by multicast LID, in a few pieces of memory however many entries there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// LIDs, ascending, and where the ports of each end; they begin where those before them end.
    lids: Vec<(u16, u32)>,
    ports: Vec<Port>,
}

impl Table {
    /// Adds an entry; false if there is one for this LID already, and nothing is changed then. Cheapest in the order of the LIDs.
    #[must_use]
    pub fn insert(&mut self, mlid: u16, ports: impl ExactSizeIterator<Item = Port>) -> bool {
        if self.lids.last().is_none_or(|&(last, _)| last < mlid) {
            self.ports.extend(ports);
            self.lids.push((mlid, self.ports.len() as u32));
            return true;
        }
        let Err(at) = self.lids.binary_search_by_key(&mlid, |&(lid, _)| lid) else {
            return false;
        };
        let start = self.start(at);
        let more = ports.len() as u32;
        self.ports.splice(start..start, ports);
        self.lids.insert(at, (mlid, start as u32));
        for (_, end) in &mut self.lids[at..] {
            *end += more;
        }
        true
    }

    pub fn is_empty(&self) -> bool {
        self.lids.is_empty()
    }

    /// Ports of a LID.
    pub fn get(&self, mlid: u16) -> Option<&[Port]> {
        let at = self.lids.binary_search_by_key(&mlid, |&(lid, _)| lid);
        at.ok().map(|at| self.of(at))
    }

    /// All entries, by LID.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[Port])> {
        let lids = self.lids.iter().enumerate();
        lids.map(|(at, &(lid, _))| (lid, self.of(at)))
    }

    fn start(&self, at: usize) -> usize {
        let before = at.checked_sub(1).map(|before| self.lids[before].1);
        before.unwrap_or(0) as usize
    }

    fn of(&self, at: usize) -> &[Port] {
        &self.ports[self.start(at)..self.lids[at].1 as usize]
    }
}
