//! Reads and writes of memory that a peer has opened (FI_RMA). The peer's provider does them; its program need not know.
//!
//! A short write carries its bytes; a long one announces itself as a long message does, and its bytes follow. A short read is
//! answered at once with what is there; a long one is a long message of the peer. Long ones go by bulk transfers where both ends can. So short reads, writes and atomic operations of
//! an end are done at a peer in the order in which they began. A write has ended when its bytes are there, which the peer says (`Ack`); a refusal says so as well.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::atomic::MOST;
use super::{
    Address, Busy, EAGER, Engine, Failure, Fed, Incoming, Label, Memory, Outgoing, QUEUE,
    Receiving, Sending, What,
};
use crate::header::{Header, Kind};

/// Memory that peers may reach.
pub struct Region<M> {
    /// The memory; offsets begin at 0.
    pub memory: M,
    /// Peers may read.
    pub reads: bool,
    /// Peers may write.
    pub writes: bool,
}

impl<M: Memory> Region<M> {
    /// So many bytes of it, if it has them.
    pub(super) fn part(&self, offset: u64, length: usize) -> Option<M> {
        let offset = usize::try_from(offset).ok()?;
        let fits = offset.checked_add(length)? <= self.memory.length();
        fits.then(|| self.memory.part(offset, length))
    }
}

/// All of it, by its keys; the endpoints of a domain share it.
pub type Regions<M> = Arc<Mutex<HashMap<u64, Region<M>>>>;

/// A place in memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose.
    pub at: Address,
    /// Key of the region.
    pub key: u64,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// What a peer has done with memory of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Who.
    pub by: Address,
    /// Key of the region.
    pub key: u64,
    /// It has written and not read. Who fetches or compares counts as a reader, as libfabric has it.
    pub write: bool,
    /// Bytes.
    pub length: usize,
    /// Data for the program here.
    pub data: Option<u64>,
}

/// What an acknowledgement says.
const DONE: u64 = 0;
const REFUSED: u64 = 1;

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// What peers have done with memory of this end, oldest first.
    pub fn reached(&mut self) -> Option<Reached> {
        self.reached.pop_front()
    }

    /// Writes to memory of a peer; `data` is for its program.
    ///
    /// # Errors
    /// Too many messages wait for this peer.
    pub fn write(&mut self, to: Place, memory: M, data: Option<u64>, op: O) -> Result<(), Busy> {
        let length = memory.length();
        if self.refuses(to.at, &op, What::Write)? {
            return Ok(());
        }
        let mut header = Header::new(Kind::Write, self.number(), to.key, to.offset, length);
        (header.has_data, header.bulk) = (data.is_some(), self.lane.is_there());
        let mut bytes = header.encode().to_vec();
        bytes.extend(data.map(u64::to_le_bytes).iter().flatten());
        if length <= EAGER {
            memory.read(0, length, &mut bytes);
        }
        let sending = Sending::new(to.at, memory, Outgoing::Write(op));
        self.sending.insert(header.id, sending);
        self.queue(to.at, bytes);
        Ok(())
    }

    /// Reads memory of a peer.
    ///
    /// # Errors
    /// Too many messages wait for this peer.
    pub fn read(&mut self, from: Place, memory: M, op: O) -> Result<(), Busy> {
        let length = memory.length();
        if self.refuses(from.at, &op, What::Read)? {
            return Ok(());
        }
        let mut header = Header::new(Kind::Read, self.number(), from.key, from.offset, length);
        header.bulk = self.lane.is_there();
        let receiving = Receiving::new(from.at, memory, length, Incoming::Read(op));
        self.receiving.insert(header.id, receiving);
        self.queue(from.at, header.encode().to_vec());
        Ok(())
    }

    /// Whether a peer is gone, so that an operation has ended before it began.
    pub(super) fn refuses(&mut self, at: Address, op: &O, what: What) -> Result<bool, Busy> {
        let peer = self.peer(at);
        if peer.queue.len() >= QUEUE {
            return Err(Busy);
        }
        let gone = peer.gone;
        if gone {
            let failure = Some(Failure::Peer);
            self.end(Some(op.clone()), what, 0, Label::default(), at, failure);
        }
        Ok(gone)
    }

    /// Memory of this end that a peer asks for, if it may.
    fn open(&self, header: &Header, length: usize, write: bool) -> Option<M> {
        let regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let region = regions.get(&header.tag)?;
        let may = if write { region.writes } else { region.reads };
        may.then(|| region.part(header.data, length)).flatten()
    }

    pub(super) fn asked_to_read(&mut self, from: Address, header: &Header, length: usize) {
        let Some(memory) = self.open(header, length, false) else {
            return self.acknowledge(from, header.id, false, &[]);
        };
        if length <= MOST {
            let mut found = Vec::with_capacity(length);
            memory.read(0, length, &mut found);
            self.acknowledge(from, header.id, true, &found);
            return self.reached.push_back(Reached {
                by: from,
                key: header.tag,
                write: false,
                length,
                data: None,
            });
        }
        let number = self.number();
        let mut sending = Sending::new(from, memory, Outgoing::Served(header.tag));
        if self.is_bulk(from, length, header.bulk) {
            (sending.number, sending.left) = (Some(header.id), length);
            sending.asked = Some(length);
            self.sending.insert(number, sending);
            return self.offer(from, header.id, number, length);
        }
        sending.clear(header.id);
        self.sending.insert(number, sending);
        self.peer(from).long.push_back(number);
        self.wake(from);
    }

    pub(super) fn asked_to_write(
        &mut self,
        from: Address,
        header: &Header,
        payload: &[u8],
        length: usize,
    ) {
        let (data, bytes) = match payload.split_first_chunk() {
            Some((data, rest)) if header.has_data => (Some(u64::from_le_bytes(*data)), rest),
            _ if header.has_data => return,
            _ => (None, payload),
        };
        let here = bytes.len() == length;
        if !(here || bytes.is_empty()) {
            return;
        }
        let Some(mut memory) = self.open(header, length, true) else {
            return self.acknowledge(from, header.id, false, &[]);
        };
        if here {
            memory.write(0, bytes);
            return self.written(from, (header.id, header.tag), length, data);
        }
        let number = self.number();
        let (key, id) = (header.tag, header.id);
        let purpose = Incoming::Written { id, key, data };
        let mut receiving = Receiving::new(from, memory, length, purpose);
        if self.is_bulk(from, length, header.bulk) {
            receiving.fed = Some(Fed::new(id));
            self.receiving.insert(number, receiving);
            return self.feed(number);
        }
        self.receiving.insert(number, receiving);
        self.clear(from, id, number, length);
    }

    /// All bytes of a write are here.
    pub(super) fn written(
        &mut self,
        by: Address,
        (id, key): (u32, u64),
        length: usize,
        data: Option<u64>,
    ) {
        self.acknowledge(by, id, true, &[]);
        self.reached.push_back(Reached {
            by,
            key,
            write: true,
            length,
            data,
        });
    }

    /// Tells a peer that what it asked for was done, and what that found; or that it was refused.
    pub(super) fn acknowledge(&mut self, to: Address, id: u32, done: bool, found: &[u8]) {
        let how = if done { DONE } else { REFUSED };
        let mut bytes = Header::new(Kind::Ack, id, how, 0, found.len())
            .encode()
            .to_vec();
        bytes.extend_from_slice(found);
        self.peer(to).answers.push_back(bytes);
        self.wake(to);
    }

    /// An operation of this end has ended at the peer.
    pub(super) fn acknowledged(&mut self, from: Address, id: u32, how: u64, found: &[u8]) {
        let failure = (how != DONE).then_some(Failure::Refused);
        let atomic = |s: &Sending<O, M>| s.to == from && matches!(s.purpose, Outgoing::Atomic(..));
        if self.sending.get(&id).is_some_and(atomic) {
            return self.atomic_ended(id, how == DONE, found);
        }
        let write = |s: &Sending<O, M>| s.to == from && matches!(s.purpose, Outgoing::Write(_));
        if self.sending.get(&id).is_some_and(write) {
            if let Some(Sending {
                memory,
                purpose: Outgoing::Write(op),
                ..
            }) = self.sending.remove(&id)
            {
                let length = memory.length();
                self.end(
                    Some(op),
                    What::Write,
                    length,
                    Label::default(),
                    from,
                    failure,
                );
            }
            return;
        }
        // A long read ends with its bytes; only that it was refused is told so.
        let whole = |r: &Receiving<O, M>| r.length <= MOST && r.length == found.len();
        let read = |r: &Receiving<O, M>| {
            r.from == from && matches!(r.purpose, Incoming::Read(_)) && (how != DONE || whole(r))
        };
        if self.receiving.get(&id).is_some_and(read)
            && let Some(mut receiving) = self.receiving.remove(&id)
        {
            if failure.is_none() {
                receiving.memory.write(0, found);
            }
            self.came(receiving, failure);
        }
    }

    /// A region is no more: nothing touches its memory from here on, and what is under way in it is refused.
    pub fn close_region(&mut self, key: u64) {
        let served: Vec<u32> = super::keys(
            &self.sending,
            |s| matches!(s.purpose, Outgoing::Served(of) if of == key),
        );
        for sending in served
            .iter()
            .filter_map(|id| self.sending.remove(id))
            .collect::<Vec<_>>()
        {
            if let Some(number) = sending.number {
                self.acknowledge(sending.to, number, false, &[]);
            }
        }
        let written: Vec<u32> = super::keys(
            &self.receiving,
            |r| matches!(r.purpose, Incoming::Written { key: of, .. } if of == key),
        );
        for receiving in written
            .iter()
            .filter_map(|id| self.receiving.remove(id))
            .collect::<Vec<_>>()
        {
            if let Incoming::Written { id, .. } = receiving.purpose {
                self.acknowledge(receiving.from, id, false, &[]);
            }
        }
    }
}
