//! Bytes of long messages, reads and writes that go by bulk transfers of the cards.
//!
//! Who receives has slots, memory that others' cards may write. It lends one for a piece of what it waits for (`Grant`); the sender
//! writes the piece there by a bulk transfer, and when the transfer has ended, all of it is there and the sender says so (`Landed`).
//! Pieces of all that is under way take turns for the slots, so that no end waits for another one: a slot is free again when a card
//! has ended a transfer, whatever the programs do.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::{Address, Busy, Engine, Failure, Incoming, Memory, Outgoing, PART, Wire};
use crate::header::{Header, Kind};

/// Bytes of a slot: the longest piece.
pub const SLOT: usize = 256 << 10;
/// Shorter ones of the long messages go as datagrams: a transfer costs two messages and a handshake of cards.
pub const BULK: usize = 128 << 10;
/// Slots that one message has at a time.
const SLOTS_EACH: usize = 4;

/// Memory of an end that a transfer may write: its queue pair, the address and the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Number of the queue pair.
    pub qpn: u32,
    /// Address there.
    pub address: u64,
    /// Key of the region.
    pub rkey: u32,
}

/// How a transfer has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transferred {
    /// Every byte is visible at the other side.
    Landed,
    /// The other card was silent: whether its process lives, datagrams find out.
    Silent,
    /// The memory there is no more, or the cards could not.
    Broken,
}

impl Transferred {
    fn code(self) -> u64 {
        match self {
            Self::Landed => 0,
            Self::Silent => 1,
            Self::Broken => 2,
        }
    }

    fn of(code: u64) -> Option<Self> {
        [Self::Landed, Self::Silent, Self::Broken]
            .into_iter()
            .find(|how| how.code() == code)
    }
}

/// A slot of this end.
#[derive(Clone, Copy)]
enum Slot {
    Free,
    /// For a piece of what is received under this number.
    Lent(Address, u32, Piece),
    /// Somebody may still write there: it must be another memory first.
    Spoilt,
}

/// A part of a message.
#[derive(Clone, Copy)]
struct Piece {
    at: usize,
    length: usize,
}

/// A slot of a peer for a piece of what is sent here.
struct Granted {
    to: Address,
    /// What is sent.
    id: u32,
    /// The receiver's number of it.
    number: u32,
    slot: u32,
    spot: Spot,
    piece: Piece,
    /// Whoever lent the slot is gone.
    void: bool,
}

/// All that goes by bulk transfers.
#[derive(Default)]
pub(super) struct Lane {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// What is received and waits for slots.
    hungry: VecDeque<u32>,
    /// Slots with bytes that have not been taken.
    landed: VecDeque<usize>,
    spoilt: Vec<usize>,
    granted: VecDeque<Granted>,
    /// Transfers under way, by the names that the wire knows.
    under_way: HashMap<u32, Granted>,
    /// The wire had no room for another one.
    full: bool,
}

/// How much of what is received has slots.
#[derive(Default)]
pub(super) struct Fed {
    /// The sender's number.
    pub source: u32,
    /// Where the next piece begins.
    next: usize,
    /// Slots lent.
    slots: usize,
}

impl Fed {
    pub fn new(source: u32) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }
}

impl Lane {
    pub fn is_there(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Whether there is something that can be done now.
    pub fn waits(&self) -> bool {
        !self.landed.is_empty()
            || !self.spoilt.is_empty()
            || !(self.free.is_empty() || self.hungry.is_empty())
            || !(self.full || self.granted.is_empty())
    }

    fn give_back(&mut self, slot: usize, how: Transferred) {
        if how == Transferred::Landed {
            self.slots[slot] = Slot::Free;
            self.free.push(slot);
        } else {
            self.slots[slot] = Slot::Spoilt;
            self.spoilt.push(slot);
        }
    }

    /// A peer is gone: what it may still write to is no slot any more.
    pub fn abandon(&mut self, at: Address) {
        for slot in 0..self.slots.len() {
            if matches!(self.slots[slot], Slot::Lent(to, ..) if to == at) {
                self.landed.retain(|landed| *landed != slot);
                self.give_back(slot, Transferred::Broken);
            }
        }
        self.granted.retain(|granted| granted.to != at);
        for granted in self.under_way.values_mut().filter(|g| g.to == at) {
            granted.void = true;
        }
    }
}

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// The wire has so many slots: long messages may go by bulk transfers.
    pub fn lend(&mut self, slots: usize) {
        self.lane.slots = vec![Slot::Free; slots];
        self.lane.free = (0..slots).rev().collect();
    }

    /// Whether bytes of a peer come by bulk transfers, if it can.
    pub(super) fn is_bulk(&self, from: Address, bytes: usize, can: bool) -> bool {
        can && self.lane.is_there() && bytes >= BULK && from != self.own
    }

    /// Something that is received waits for slots.
    pub(super) fn feed(&mut self, number: u32) {
        self.counts.bulk += 1;
        self.lane.hungry.push_back(number);
    }

    /// Does what is to be done before messages leave.
    pub(super) fn pump_bulk(&mut self, wire: &mut impl Wire) {
        if !self.lane.is_there() {
            return;
        }
        for slot in std::mem::take(&mut self.lane.spoilt) {
            // One that cannot be made again is missed.
            if wire.renew(slot) {
                self.lane.give_back(slot, Transferred::Landed);
            }
        }
        while let Some(slot) = self.lane.landed.pop_front() {
            self.take_slot(slot, wire);
        }
        while let Some(slot) = self.lane.free.last().copied()
            && let Some(number) = self.lane.hungry.pop_front()
        {
            self.grant(slot, number, wire);
        }
        self.lane.full = false;
        while let Some(granted) = self.lane.granted.pop_front() {
            if let Err(granted) = self.transfer(granted, wire) {
                self.lane.granted.push_front(granted);
                self.lane.full = true;
                break;
            }
        }
    }

    /// Lends a slot for the next piece.
    fn grant(&mut self, slot: usize, number: u32, wire: &mut impl Wire) {
        let Some(receiving) = self.receiving.get_mut(&number) else {
            return;
        };
        let (from, all) = (receiving.from, receiving.expected);
        let Some(fed) = &mut receiving.fed else {
            return;
        };
        let Some(spot) = wire.spot(slot) else {
            self.lane.free.pop();
            return self.lane.hungry.push_front(number);
        };
        let length = SLOT.min(all - fed.next);
        let piece = Piece {
            at: fed.next,
            length,
        };
        fed.next += length;
        fed.slots += 1;
        let source = fed.source;
        if fed.next < all && fed.slots < SLOTS_EACH {
            self.lane.hungry.push_back(number);
        }
        self.lane.free.pop();
        self.lane.slots[slot] = Slot::Lent(from, number, piece);
        let header = Header::new(Kind::Grant, source, spot.address, piece.at as u64, length);
        let mut bytes = header.encode().to_vec();
        for word in [number, spot.rkey, spot.qpn, slot as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(all as u64).to_le_bytes());
        self.peer(from).answers.push_back(bytes);
        self.wake(from);
    }

    /// A peer lends a slot.
    pub(super) fn granted(&mut self, to: Address, header: &Header, payload: &[u8], length: usize) {
        let Ok(words) = <&[u8; 24]>::try_from(payload) else {
            return;
        };
        let (words, all) = words.split_at(16);
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&words[4 * at..][..4]);
            u32::from_le_bytes(word)
        };
        let mut total = [0; 8];
        total.copy_from_slice(all);
        let total = usize::try_from(u64::from_le_bytes(total)).unwrap_or(usize::MAX);
        let piece = Piece {
            at: usize::try_from(header.data).unwrap_or(usize::MAX),
            length,
        };
        let granted = Granted {
            to,
            id: header.id,
            number: word(0),
            slot: word(3),
            spot: Spot {
                qpn: word(2),
                address: header.tag,
                rkey: word(1),
            },
            piece,
            void: false,
        };
        let number = granted.number;
        let fits = |all: usize| {
            let end = piece.at.checked_add(length);
            end.is_some_and(|end| end <= total) && total <= all && (1..=SLOT).contains(&length)
        };
        if let Some(sending) = self.sending.get_mut(&header.id).filter(|s| s.to == to) {
            let begins = sending.number.is_none();
            let asked = if begins {
                (!matches!(sending.purpose, Outgoing::Atomic(..))).then_some(total)
            } else {
                sending.asked.filter(|_| sending.number == Some(number))
            };
            let asked = asked.and_then(|asked| asked.checked_sub(length));
            let Some(asked) = asked.filter(|_| fits(sending.memory.length())) else {
                return;
            };
            sending.asked = Some(asked);
            if begins {
                (sending.number, sending.left) = (Some(number), total);
            }
        }
        self.lane.granted.push_back(granted);
    }

    /// Begins the transfer of a piece.
    fn transfer(&mut self, granted: Granted, wire: &mut impl Wire) -> Result<(), Granted> {
        let sending = self.sending.get(&granted.id);
        let Some(sending) = sending.filter(|sending| sending.to == granted.to) else {
            // Nothing is sent any more: the slot goes back.
            self.say_landed(&granted, Transferred::Broken);
            return Ok(());
        };
        let name = self.next.wrapping_add(1);
        let Piece { at, length } = granted.piece;
        let to = (granted.to, granted.spot);
        let mut fill = |into: &mut [u8]| sending.memory.copy(at, into);
        match wire.write(to, length, name, &mut fill) {
            Ok(()) => {
                self.next = name;
                self.lane.under_way.insert(name, granted);
                Ok(())
            }
            Err(Busy) => Err(granted),
        }
    }

    fn say_landed(&mut self, granted: &Granted, how: Transferred) {
        let Granted { number, slot, .. } = *granted;
        let length = granted.piece.length;
        let header = Header::new(Kind::Landed, number, slot.into(), how.code(), length);
        let answers = &mut self.peer(granted.to).answers;
        answers.push_back(header.encode().to_vec());
        self.wake(granted.to);
    }

    /// A transfer that the wire was given has ended.
    pub fn transferred(&mut self, name: u32, how: Transferred) {
        let Some(granted) = self.lane.under_way.remove(&name) else {
            return;
        };
        self.lane.full = false;
        if granted.void {
            return;
        }
        self.say_landed(&granted, how);
        let Some(sending) = self.sending.get_mut(&granted.id) else {
            return;
        };
        let Piece { at, length } = granted.piece;
        match how {
            Transferred::Landed => sending.left -= length,
            Transferred::Silent => {
                sending.ranges.push_back(at..at + length);
                self.peer(granted.to).long.push_back(granted.id);
                return;
            }
            Transferred::Broken => {
                if let Some(sending) = self.sending.remove(&granted.id) {
                    self.went(sending, Some(Failure::Peer));
                }
                return;
            }
        }
        // The end of a write comes from the peer.
        if sending.left == 0
            && !matches!(sending.purpose, Outgoing::Write(_))
            && let Some(sending) = self.sending.remove(&granted.id)
        {
            self.went(sending, None);
        }
    }

    /// A peer has written to a slot, or never will.
    pub(super) fn landed(&mut self, from: Address, header: &Header, length: usize) {
        let slot = usize::try_from(header.tag).unwrap_or(usize::MAX);
        let Some(Slot::Lent(to, number, piece)) = self.lane.slots.get(slot).copied() else {
            return;
        };
        let Some(how) = Transferred::of(header.data) else {
            return;
        };
        if (to, number, piece.length) != (from, header.id, length)
            || self.lane.landed.contains(&slot)
        {
            return;
        }
        if how == Transferred::Landed {
            return self.lane.landed.push_back(slot);
        }
        self.lane.give_back(slot, how);
        if how == Transferred::Broken {
            return self.lose(from, number);
        }
        self.slot_is_back(number);
    }

    /// What is received under this number will never be whole.
    fn lose(&mut self, from: Address, number: u32) {
        if let Some(receiving) = self.receiving.remove(&number) {
            if let Incoming::Written { id, .. } = receiving.purpose {
                self.acknowledge(from, id, false, &[]);
            }
            self.came(receiving, Some(Failure::Peer));
        }
    }

    /// Something that is received may have another slot.
    fn slot_is_back(&mut self, number: u32) {
        let Some(receiving) = self.receiving.get_mut(&number) else {
            return;
        };
        let all = receiving.expected;
        let Some(fed) = &mut receiving.fed else {
            return;
        };
        // With as many as it may have, or nothing left, it does not wait in the queue.
        if fed.slots == SLOTS_EACH && fed.next < all {
            self.lane.hungry.push_back(number);
        }
        fed.slots -= 1;
    }

    /// Takes the bytes from a slot, which is free then.
    fn take_slot(&mut self, slot: usize, wire: &mut impl Wire) {
        let Slot::Lent(from, number, piece) = self.lane.slots[slot] else {
            return;
        };
        // What is received there may have ended meanwhile.
        if let Some(receiving) = self.receiving.get_mut(&number) {
            let memory = &mut receiving.memory;
            let whole = wire.take(slot, piece.length, &mut |at, bytes| {
                memory.write(piece.at + at, bytes);
            });
            if !whole {
                self.lane.give_back(slot, Transferred::Broken);
                return self.lose(from, number);
            }
        }
        self.lane.give_back(slot, Transferred::Landed);
        self.slot_is_back(number);
        self.here(number, piece.length);
    }

    /// The bytes of a read of this end go by bulk transfers, when its reader lends slots.
    pub(super) fn offer(&mut self, to: Address, id: u32, number: u32, length: usize) {
        let header = Header::new(Kind::Offer, id, number.into(), 0, length);
        self.peer(to).answers.push_back(header.encode().to_vec());
        self.wake(to);
    }

    /// The bytes of a read wait for slots.
    pub(super) fn offered(&mut self, from: Address, header: &Header, length: usize) {
        let known = self.lane.is_there();
        let Some(receiving) = self.receiving.get_mut(&header.id) else {
            return;
        };
        let read = matches!(receiving.purpose, Incoming::Read(_)) && receiving.fed.is_none();
        let untouched = receiving.arrived == 0 && receiving.length == length;
        if !(known && read && untouched && receiving.from == from) {
            return;
        }
        receiving.fed = Some(Fed::new(header.tag as u32));
        self.feed(header.id);
    }

    /// Asks peers with which something is under way, and which have said nothing since this was called before, for an
    /// acknowledgement: of one that has died it is found out so.
    pub fn probe(&mut self) {
        let receiving = self.receiving.values().map(|receiving| receiving.from);
        let sending = self.sending.values().map(|sending| sending.to);
        let mut waited_for: Vec<Address> = receiving.chain(sending).collect();
        waited_for.sort_unstable();
        waited_for.dedup();
        waited_for.retain(|at| *at != self.own);
        for at in waited_for {
            let peer = self.peer(at);
            let silent = !std::mem::take(&mut peer.heard);
            if silent && peer.answers.is_empty() && !peer.gone {
                let nothing = Header::new(Kind::Credit, 0, 0, 0, 0);
                peer.answers.push_back(nothing.encode().to_vec());
                self.wake(at);
            }
        }
    }
}

/// The next part that goes as a datagram: where it begins, and its bytes.
pub(super) fn next_part(ranges: &VecDeque<Range<usize>>) -> Option<(usize, usize)> {
    let range = ranges.front()?;
    Some((range.start, PART.min(range.len())))
}

/// That part has left.
pub(super) fn part_left(ranges: &mut VecDeque<Range<usize>>, count: usize) {
    if let Some(range) = ranges.front_mut() {
        range.start += count;
        if range.start >= range.end {
            ranges.pop_front();
        }
    }
}
