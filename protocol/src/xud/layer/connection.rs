//! What a layer remembers of a peer. Either direction is allocated when it is first used.

use std::collections::{BTreeMap, VecDeque};
use std::mem::{size_of, size_of_val};

use super::Peer;
use crate::xud::congestion::Limit;

/// What is remembered of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    pub peer: Peer,
    /// Messages to it.
    pub tx: Option<Box<Tx>>,
    /// Messages from it.
    pub rx: Option<Box<Rx>>,
}

/// What a sending direction is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// No windows.
    #[default]
    Closed,
    /// OPEN was sent.
    Opening,
    /// Messages flow.
    Open,
    /// A message was given up: nothing new until all in flight have ended.
    Draining,
}

/// Sending direction.
#[expect(
    clippy::box_collection,
    reason = "an idle connection pays for a pointer only"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tx {
    /// Next number of each window.
    pub msn: Box<[u32]>,
    /// A bit for each window with a message in flight.
    pub busy: Box<[u64]>,
    /// Places of messages with pieces to be sent; the boxes keep an idle connection small.
    pub queue: Option<Box<VecDeque<u32>>>,
    /// Ordered streams only.
    pub order: Option<Box<Order>>,
    /// Number of the next message.
    pub next_number: u32,
    /// Messages in flight.
    pub flying: u32,
    /// This side's epoch of the current opening.
    pub epoch: u16,
    /// The receiver's, once it was told.
    pub remote: Option<u16>,
    pub state: State,
    /// Whether anything ever came back.
    pub heard: bool,
    /// Whether it waits in the layer's queue for a place in the card.
    pub queued: bool,
    /// The receiver may hold messages behind one that will never come.
    pub skip: bool,
    /// How many packets may be in flight, of a layer that slows down (CL-4).
    pub limit: Option<Box<Limit>>,
}

/// Empty queues: a connection that sends a message at a time takes the same memory again and again.
#[expect(clippy::vec_box, reason = "boxed where they are used")]
#[derive(Clone, Debug, Default)]
pub(super) struct Queues(Vec<Box<VecDeque<u32>>>);

/// Empty queues that are kept, and entries that the longest of them has room for.
const KEPT: usize = 16;
const KEPT_ROOM: usize = 1_024;

#[expect(clippy::box_collection, reason = "boxed where they are used")]
impl Queues {
    pub fn take(&mut self) -> Box<VecDeque<u32>> {
        self.0.pop().unwrap_or_default()
    }

    pub fn give(&mut self, queue: Box<VecDeque<u32>>) {
        if self.0.len() < KEPT && queue.capacity() <= KEPT_ROOM {
            self.0.push(queue);
        }
    }
}

/// Which messages of an ordered stream have ended: the sender stays within `span` of the oldest that has not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Order {
    /// Oldest that has not ended.
    pub base: u32,
    /// Ended or not, from `base` on.
    pub ended: VecDeque<bool>,
}

impl Order {
    /// A message has ended.
    pub fn end(&mut self, number: u32) {
        let at = number.wrapping_sub(self.base) as usize;
        if self.ended.len() <= at {
            self.ended.resize(at + 1, false);
        }
        self.ended[at] = true;
        while self.ended.front() == Some(&true) {
            self.ended.pop_front();
            self.base = self.base.wrapping_add(1);
        }
    }
}

impl Tx {
    /// A free window.
    #[inline]
    pub fn free_window(&self) -> Option<u16> {
        let (word, bits) = self
            .busy
            .iter()
            .enumerate()
            .find(|(_, bits)| **bits != u64::MAX)?;
        let window = word * 64 + bits.trailing_ones() as usize;
        (window < self.msn.len()).then_some(window as u16)
    }

    /// A sending has ended: lost, or answered, and then marked or not.
    pub fn weigh(&mut self, lost: bool, marked: bool) {
        let (flying, most) = (self.flying, self.msn.len() as u32);
        match &mut self.limit {
            Some(limit) if lost => limit.lost(flying, most),
            Some(limit) => limit.answered(marked, flying, most),
            None => {}
        }
    }

    pub fn set_busy(&mut self, window: u16, busy: bool) {
        let (word, bit) = (usize::from(window) / 64, 1u64 << (window % 64));
        if let Some(bits) = self.busy.get_mut(word) {
            *bits = if busy { *bits | bit } else { *bits & !bit };
        }
    }
}

/// Receiving direction.
#[expect(
    clippy::box_collection,
    reason = "an idle connection pays for a pointer only"
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rx {
    /// Expected number of each window.
    pub expected: Box<[u32]>,
    /// Messages that came before their turn, from `next` on; ordered streams only.
    pub ring: Option<Box<VecDeque<Option<Whole>>>>,
    /// Messages of which pieces are missing.
    pub partial: Option<Box<BTreeMap<u32, Partial>>>,
    /// Number of the message that an ordered stream delivers next.
    pub next: u32,
    /// First epoch of the sending process.
    pub incarnation: u16,
    /// The sender's epoch.
    pub remote: u16,
    /// The epoch that its messages must carry.
    pub epoch: u16,
    /// What the answer to its OPEN says.
    pub fresh: bool,
}

/// A message with all its pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Whole {
    pub bytes: Vec<u8>,
    /// It is the rendezvous', not the user's.
    pub rendezvous: bool,
}

/// A message of which pieces are missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Partial {
    pub whole: Whole,
    /// How many have arrived; windows let each come once.
    pub arrived: usize,
}

impl Connection {
    pub fn new(peer: Peer) -> Self {
        let (tx, rx) = (None, None);
        Self { peer, tx, rx }
    }

    /// Bytes allocated by it; of the user's data only what it holds back.
    pub fn bytes(&self) -> usize {
        let tx = self.tx.as_ref().map_or(0, |tx| {
            let queue = tx
                .queue
                .as_ref()
                .map_or(0, |queue| 32 + 4 * queue.capacity());
            let order = tx
                .order
                .as_ref()
                .map_or(0, |order| 40 + order.ended.capacity());
            let limit = tx.limit.as_deref().map_or(0, size_of_val);
            let windows = size_of_val(&*tx.msn) + size_of_val(&*tx.busy);
            size_of_val(&**tx) + windows + queue + order + limit
        });
        let rx = self.rx.as_ref().map_or(0, |rx| {
            let ring = rx.ring.as_ref().map_or(0, |ring| {
                let kept = ring.iter().flatten().map(|whole| whole.bytes.capacity());
                32 + ring.capacity() * size_of::<Option<Whole>>() + kept.sum::<usize>()
            });
            let partial = rx.partial.as_ref().map_or(0, |partial| {
                24 + partial
                    .values()
                    .map(|message| message.whole.bytes.capacity() + 56)
                    .sum::<usize>()
            });
            size_of_val(&**rx) + size_of_val(&*rx.expected) + ring + partial
        });
        tx + rx
    }
}

/// Numbered places that are used again.
#[derive(Clone, Debug, Hash)]
pub(super) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.items[place as usize] = Some(item);
            place
        } else {
            self.items.push(Some(item));
            (self.items.len() - 1) as u32
        }
    }

    pub fn get(&self, place: u32) -> Option<&T> {
        self.items.get(place as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.items.get_mut(place as usize)?.as_mut()
    }

    #[inline]
    pub fn remove(&mut self, place: u32) -> Option<T> {
        let item = self.items.get_mut(place as usize)?;
        if item.is_some() {
            self.free.push(place);
        }
        item.take()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let all = self.items.iter().enumerate();
        all.filter_map(|(place, item)| Some((place as u32, item.as_ref()?)))
    }

    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.free.clear();
        std::mem::take(&mut self.items).into_iter().flatten()
    }
}
