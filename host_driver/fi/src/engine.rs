//! Messages with tags over a service that delivers in order: matching, credits, long messages. No card, no C.
//!
//! A short message goes at once and waits at the receiver until somebody wants it. A long one announces itself (`Request`), and its
//! parts follow when its receiver is there (`Clear`), or bulk transfers move it (`bulk`). A sender has credits for so many packets that the receiver has not seen yet,
//! so that a receiver that computes never runs out of receive requests.

mod atomic;
mod bulk;
mod ending;
mod joining;
mod many;
mod matching;
mod pump;
mod remote;
mod terms;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::header::{HEADER, Header, Kind};
pub use atomic::{Atomic, MOST as MOST_ATOMIC, Operation, Type};
pub use bulk::{BULK, SLOT, Spot, Transferred};
use bulk::{Fed, Lane};
pub use joining::Notice;
use many::{Filling, Pool};
pub use remote::{Place, Reached, Region, Regions};
pub use terms::{Busy, Done, Failure, Label, Memory, Want, What, Wire};

/// Where somebody is.
pub type Address = u64;

/// Longest message that goes at once.
pub const EAGER: usize = 16 << 10;
/// Bytes of a part of a long message.
const PART: usize = 16 << 10;
/// Messages of a peer that may wait for credits; the program is told to come again.
const QUEUE: usize = 512;

/// An unexpected message.
struct Unexpected {
    from: Address,
    label: Label,
    length: usize,
    /// Its bytes, or where those of a long one wait.
    body: Result<Vec<u8>, Waiting>,
    /// Kept for the operation of this name, which has looked at it.
    claimed: Option<usize>,
}

/// A long message at its sender.
#[derive(Clone, Copy)]
struct Waiting {
    /// The sender's number.
    id: u32,
    /// The sender can do bulk transfers.
    bulk: bool,
}

struct Posted<O, M> {
    want: Want,
    op: O,
    memory: M,
    /// It is for many messages.
    many: Option<Filling>,
}

/// Bytes that are sent when they are asked for.
struct Sending<O, M> {
    to: Address,
    memory: M,
    /// Number of the receiver, when it wants them.
    number: Option<u32>,
    /// What is still to leave as datagrams.
    ranges: VecDeque<Range<usize>>,
    /// Bytes that are wanted and have not gone.
    left: usize,
    /// Of bulk transfers: bytes for which there was no slot yet.
    asked: Option<usize>,
    purpose: Outgoing<O>,
}

impl<O, M: Memory> Sending<O, M> {
    /// Bytes that nobody has asked for yet.
    fn new(to: Address, memory: M, purpose: Outgoing<O>) -> Self {
        Self {
            to,
            memory,
            number: None,
            ranges: VecDeque::new(),
            left: 0,
            asked: None,
            purpose,
        }
    }

    /// All of them may leave as datagrams, to what the receiver knows by a number.
    fn clear(&mut self, number: u32) {
        let length = self.memory.length();
        (self.number, self.left) = (Some(number), length);
        self.ranges.push_back(0..length);
    }
}

impl<O, M: Memory> Receiving<O, M> {
    /// Bytes of which none is here.
    fn new(from: Address, memory: M, length: usize, purpose: Incoming<O>) -> Self {
        Self {
            from,
            memory,
            length,
            expected: length,
            arrived: 0,
            fed: None,
            purpose,
        }
    }
}

/// What bytes are sent for.
enum Outgoing<O> {
    /// A long message.
    Message(O, Label),
    /// A write to memory of a peer: it ends when that says so.
    Write(O),
    /// An atomic operation on memory of a peer, and whether what was there comes back.
    Atomic(O, What),
    /// A peer's read of the region with this key.
    Served(u64),
}

/// Bytes that come in parts.
struct Receiving<O, M> {
    from: Address,
    memory: M,
    length: usize,
    /// Bytes that will come, if nothing fails.
    expected: usize,
    arrived: usize,
    /// They come by bulk transfers.
    fed: Option<Fed>,
    purpose: Incoming<O>,
}

/// What bytes come for.
enum Incoming<O> {
    /// A long message, and its place in memory for many.
    Message(O, Label, Option<many::Place>),
    /// A read of memory of a peer.
    Read(O),
    /// A peer's write: its number, the region's key, data for the program.
    Written {
        id: u32,
        key: u64,
        data: Option<u64>,
    },
}

#[derive(Default)]
struct Peer {
    credits: usize,
    /// Packets seen of which it was not told.
    owed: usize,
    /// Messages that wait: their bytes, whether credits count.
    queue: VecDeque<Vec<u8>>,
    /// Answers, which need no credits.
    answers: VecDeque<Vec<u8>>,
    /// Long messages that were cleared.
    long: VecDeque<u32>,
    gone: bool,
    /// It has said something since it was last probed.
    heard: bool,
    /// Which of the processes that have had its address it is, once it has said so.
    incarnation: Option<u16>,
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of the program that were sent, and their bytes.
    pub sent: u64,
    /// Bytes.
    pub bytes: u64,
    /// Of these, long ones.
    pub long: u64,
    /// Messages, reads and writes whose bytes came here by bulk transfers.
    pub bulk: u64,
}

/// The engine of one endpoint.
pub struct Engine<O, M> {
    own: Address,
    /// Tells this end from earlier ones of its address.
    incarnation: u16,
    /// Credits of each peer at first.
    credits: usize,
    /// Bytes of a packet.
    packet: usize,
    peers: HashMap<Address, Peer>,
    /// Peers that may have something to send.
    busy: Vec<Address>,
    posted: VecDeque<Posted<O, M>>,
    unexpected: VecDeque<Unexpected>,
    sending: HashMap<u32, Sending<O, M>>,
    receiving: HashMap<u32, Receiving<O, M>>,
    lane: Lane,
    /// Memory that peers may reach, and what they have done with it.
    regions: Regions<M>,
    reached: VecDeque<Reached>,
    /// Memory for many messages that has not been given back.
    pools: HashMap<u32, Pool<O>>,
    next: u32,
    done: VecDeque<Done<O>>,
    notices: VecDeque<Notice>,
    counts: Counts,
}

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// An engine at an address, where others may have been before; each peer may have `credits` packets of `packet` bytes under way
    /// to it, and reach `regions`.
    #[must_use]
    pub fn new(
        (own, incarnation): (Address, u16),
        credits: usize,
        packet: usize,
        regions: Regions<M>,
    ) -> Self {
        Self {
            own,
            incarnation,
            credits,
            packet,
            peers: HashMap::new(),
            busy: Vec::new(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            sending: HashMap::new(),
            receiving: HashMap::new(),
            lane: Lane::default(),
            regions,
            reached: VecDeque::new(),
            pools: HashMap::new(),
            next: 0,
            done: VecDeque::new(),
            notices: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Its counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The oldest operation that has ended.
    pub fn take(&mut self) -> Option<Done<O>> {
        self.done.pop_front()
    }

    /// Whether something waits to be sent, or to be taken from a slot.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.busy.is_empty() || self.lane.waits()
    }

    /// Whether nothing of this end is under way any more.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.busy.is_empty() && self.sending.is_empty()
    }

    fn cost(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.packet).max(1)
    }

    fn peer(&mut self, at: Address) -> &mut Peer {
        let credits = self.credits;
        self.peers.entry(at).or_insert_with(|| Peer {
            credits,
            ..Peer::default()
        })
    }

    fn wake(&mut self, at: Address) {
        if !self.busy.contains(&at) {
            self.busy.push(at);
        }
    }

    /// Sends a message. `matched`: it ends only when its receiver has it. Without `op` nobody is told of its end.
    ///
    /// # Errors
    /// Too many messages wait for this peer.
    pub fn send(
        &mut self,
        to: Address,
        label: Label,
        memory: M,
        op: Option<O>,
        matched: bool,
    ) -> Result<(), Busy> {
        let length = memory.length();
        let peer = self.peer(to);
        if peer.queue.len() >= QUEUE {
            return Err(Busy);
        }
        if peer.gone {
            self.end(op, What::Send, 0, label, to, Some(Failure::Peer));
            return Ok(());
        }
        self.counts.sent += 1;
        self.counts.bytes += length as u64;
        let long = length > EAGER || matched;
        let kind = if long { Kind::Request } else { Kind::Eager };
        let (tag, data) = (label.tag.unwrap_or(0), label.data.unwrap_or(0));
        let mut header = Header::new(kind, 0, tag, data, length);
        (header.tagged, header.has_data) = (label.tag.is_some(), label.data.is_some());
        if let Some(op) = op.clone().filter(|_| long) {
            header.id = self.number();
            header.bulk = self.lane.is_there();
            let sending = Sending::new(to, memory, Outgoing::Message(op, label));
            self.sending.insert(header.id, sending);
            self.counts.long += 1;
            self.queue(to, header.encode().to_vec());
            return Ok(());
        }
        header.kind = Kind::Eager;
        let mut bytes = Vec::with_capacity(HEADER + length);
        bytes.extend_from_slice(&header.encode());
        memory.read(0, length, &mut bytes);
        self.queue(to, bytes);
        self.end(op, What::Send, length, label, to, None);
        Ok(())
    }

    fn queue(&mut self, to: Address, bytes: Vec<u8>) {
        self.peer(to).queue.push_back(bytes);
        self.wake(to);
    }

    fn number(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn end(
        &mut self,
        op: Option<O>,
        what: What,
        length: usize,
        label: Label,
        from: Address,
        failure: Option<Failure>,
    ) {
        let Some(op) = op else { return };
        self.done.push_back(Done {
            op,
            what,
            length,
            label,
            from,
            failure,
            at: 0,
            released: false,
        });
    }

    /// Tells the sender of a long message where its bytes go, and how many are wanted.
    fn clear(&mut self, to: Address, id: u32, number: u32, wanted: usize) {
        let header = Header::new(Kind::Clear, id, number.into(), 0, wanted);
        self.peer(to).answers.push_back(header.encode().to_vec());
        self.wake(to);
    }

    /// A message has arrived. What makes no sense is dropped. Whether the peer is another process than the one that was at its
    /// address before.
    pub fn arrived(&mut self, from: Address, bytes: &[u8]) -> bool {
        let Some((header, payload)) = Header::decode(bytes) else {
            return false;
        };
        let heard = self.peer(from).incarnation;
        let another = from != self.own && heard.is_some_and(|heard| heard != header.from);
        if another {
            self.renewed(from);
        }
        if from != self.own {
            self.peer(from).incarnation = Some(header.from);
            if header.to.is_some_and(|to| to != self.incarnation) {
                // It is for an earlier process here; whoever sent it learns of this one by an answer.
                let answer = Header::new(Kind::Credit, 0, 0, 0, 0);
                self.peer(from).answers.push_back(answer.encode().to_vec());
                self.wake(from);
                return another;
            }
        }
        self.take_in(from, &header, payload, bytes.len());
        another
    }

    fn take_in(&mut self, from: Address, header: &Header, payload: &[u8], bytes: usize) {
        let (cost, half) = (self.cost(bytes), self.credits / 2);
        let peer = self.peer(from);
        peer.credits += usize::from(header.credits);
        peer.heard = true;
        if !header.kind.is_answer() {
            peer.owed += cost;
        }
        let speaks = peer.owed >= half;
        let sends = !(peer.queue.is_empty() && peer.long.is_empty());
        if speaks || sends {
            self.wake(from);
        }
        let label = Label {
            tag: header.tagged.then_some(header.tag),
            data: header.has_data.then_some(header.data),
        };
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        match header.kind {
            Kind::Eager => self.message(from, label, length, Ok(payload.to_vec())),
            Kind::Request => {
                let (id, bulk) = (header.id, header.bulk);
                self.message(from, label, length, Err(Waiting { id, bulk }));
            }
            Kind::Clear => self.cleared(from, header.id, header.tag as u32, length),
            Kind::Part => self.part(from, header.id, header.tag, payload),
            Kind::Credit => {}
            Kind::Write => self.asked_to_write(from, header, payload, length),
            Kind::Read => self.asked_to_read(from, header, length),
            Kind::Ack => self.acknowledged(from, header.id, header.tag, payload),
            Kind::Atomic => self.asked_for_atomic(from, header, payload, length),
            Kind::Join => self.joins(from, header, payload),
            Kind::Offer => self.offered(from, header, length),
            Kind::Grant => self.granted(from, header, payload, length),
            Kind::Landed => self.landed(from, header, length),
        }
    }

    fn cleared(&mut self, from: Address, id: u32, number: u32, wanted: usize) {
        let asked = |s: &&mut Sending<O, M>| {
            s.to == from && s.number.is_none() && !matches!(s.purpose, Outgoing::Atomic(..))
        };
        let Some(sending) = self.sending.get_mut(&id).filter(asked) else {
            return;
        };
        if wanted == 0 {
            // Somebody wants nothing of a message. A write has no such answer.
            if matches!(sending.purpose, Outgoing::Message(..))
                && let Some(sending) = self.sending.remove(&id)
            {
                self.went(sending, None);
            }
            return;
        }
        sending.clear(number);
        self.peer(from).long.push_back(id);
        self.wake(from);
    }

    fn part(&mut self, from: Address, id: u32, offset: u64, payload: &[u8]) {
        let Some(receiving) = self.receiving.get_mut(&id).filter(|r| r.from == from) else {
            return;
        };
        let room = receiving.memory.length();
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(room);
        let bytes = &payload[..payload.len().min(room - at)];
        receiving.memory.write(at, bytes);
        self.here(id, payload.len());
    }

    /// So many more bytes are in memory.
    fn here(&mut self, number: u32, bytes: usize) {
        let Some(receiving) = self.receiving.get_mut(&number) else {
            return;
        };
        receiving.arrived += bytes;
        if receiving.arrived < receiving.expected {
            return;
        }
        if let Some(receiving) = self.receiving.remove(&number) {
            let over = (receiving.length).saturating_sub(receiving.memory.length());
            let failure = (over > 0).then_some(Failure::Truncated(over));
            self.came(receiving, failure);
        }
    }
}

fn keys<T>(all: &HashMap<u32, T>, wanted: impl Fn(&T) -> bool) -> Vec<u32> {
    let found = all.iter().filter(|(_, item)| wanted(item));
    found.map(|(id, _)| *id).collect()
}
