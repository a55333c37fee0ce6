//! A queue pair as the reliable layer sees it: rings, and memory for what arrives.

use std::borrow::Cow;
use std::collections::VecDeque;

use tributary_protocol::card::descriptor::{OPCODE_SEND, Of, ReceiveRequest, WorkRequest};
use tributary_protocol::xud::{self, Clock, Completion, Datagrams, Post, wire::VERSION_1};

use crate::long::Bytes;
use crate::ring::Rings;
use crate::{Access, Buffer, Device, Error, PostError, ProtectionDomain, WorkCompletionStatus};

/// A message that is being sent.
pub(crate) enum Message {
    /// From where the user has it.
    User(Buffer),
    /// From a copy.
    Copy(Buffer),
    /// What the endpoint says about a long message.
    Said(Buffer),
}

impl Message {
    pub fn buffer(&self) -> &Buffer {
        match self {
            Self::User(buffer) | Self::Copy(buffer) | Self::Said(buffer) => buffer,
        }
    }

    pub fn into_buffer(self) -> Buffer {
        match self {
            Self::User(buffer) | Self::Copy(buffer) | Self::Said(buffer) => buffer,
        }
    }
}

/// Requests of the rings from this number on are bulk writes; the layer's are places and one that is greater than all of these.
const WRITES_FROM: u64 = 1 << 32;

impl AsRef<[u8]> for Message {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.buffer()
    }
}

/// The clock of a device.
#[derive(Clone, Copy)]
pub(crate) struct DeviceClock<'a>(pub &'a dyn Device);

impl Clock for DeviceClock<'_> {
    fn now(self) -> u64 {
        self.0.now_ns()
    }
}

/// What has arrived.
pub(crate) enum Arrival {
    /// A packet, where the card has put it: place and length.
    Place(u32, u32),
    /// A message that was put together.
    Whole(Vec<u8>),
    /// A message above 64 KiB.
    Long(Bytes),
}

impl From<Vec<u8>> for Arrival {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes)
    }
}

/// Places of an MTU for what arrives, two for each receive request: one that the card has and one that the program may be reading.
/// Between two looks at the card no more arrives than what was posted, so every request is posted again at once.
struct Places {
    all: Vec<Buffer>,
    /// Those that nobody has.
    free: Vec<u32>,
    mtu: u16,
}

impl Places {
    fn new(domain: &ProtectionDomain, receives: u16, mtu: u16) -> Result<Self, Error> {
        let count = 2 * usize::from(receives.max(1));
        let bytes = count * usize::from(mtu).next_multiple_of(64);
        let region = domain.reg_mr(bytes, Access::LOCAL_WRITE)?;
        let all = std::iter::from_fn(|| region.alloc(mtu.into()));
        Ok(Self {
            all: all.collect(),
            free: (0..count as u32).rev().collect(),
            mtu,
        })
    }

    #[inline]
    fn bytes(&self, place: u32, length: u32) -> Option<&[u8]> {
        self.all.get(place as usize)?.get(..length as usize)
    }
}

/// The queue pair as the layer sees it. An error of the card is kept for the user; from then on nothing happens.
pub(crate) struct Port {
    pub rings: Rings<()>,
    places: Places,
    /// The place that the program may be reading.
    lent: Option<u32>,
    /// The long message that the program may be reading.
    lent_long: Option<Bytes>,
    /// Bulk writes that have ended: their names, and how.
    pub written: VecDeque<(u64, WorkCompletionStatus)>,
    pub error: Option<Error>,
}

impl Port {
    pub fn new(domain: &ProtectionDomain, rings: Rings<()>, receives: u16) -> Result<Self, Error> {
        let mtu = domain.context().options().mtu;
        Ok(Self {
            rings,
            places: Places::new(domain, receives, mtu)?,
            lent: None,
            lent_long: None,
            written: VecDeque::new(),
            error: None,
        })
    }

    fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    /// Lets the program read what has arrived until the next call of this or of [`Self::take_back`].
    #[inline]
    pub fn lend(&mut self, payload: Arrival) -> Cow<'_, [u8]> {
        self.take_back();
        match payload {
            Arrival::Place(place, length) => {
                self.lent = Some(place);
                Cow::Borrowed(self.places.bytes(place, length).unwrap_or(&[]))
            }
            Arrival::Whole(bytes) | Arrival::Long(Bytes::Own(bytes)) => Cow::Owned(bytes),
            Arrival::Long(bytes) => Cow::Borrowed(&**self.lent_long.insert(bytes)),
        }
    }

    #[inline]
    pub fn take_back(&mut self) {
        self.places.free.extend(self.lent.take());
        if self.lent_long.is_some() {
            self.lent_long = None;
        }
    }

    /// Bytes of what has arrived, which the layer has put together.
    pub fn take_whole(&mut self, payload: Arrival) -> Vec<u8> {
        match payload {
            Arrival::Whole(bytes) => bytes,
            other => {
                let bytes = self.bytes(&other).to_vec();
                self.release(other);
                bytes
            }
        }
    }

    /// Puts a bulk write into the ring, which takes it.
    pub fn put_write(&mut self, work: WorkRequest) {
        let wr_id = WRITES_FROM + work.wr_id;
        self.rings.put_send(&WorkRequest { wr_id, ..work }, ());
    }

    #[cold]
    fn refused(&mut self, status: WorkCompletionStatus) {
        let qpn = self.rings.number();
        let what = format!("a receive request of the reliable layer ended in {status}");
        self.note::<()>(Err(Error::Corrupt { qpn, what }));
    }
}

impl Datagrams for Port {
    type Buffer = Message;
    type Payload = Arrival;

    fn mtu(&self) -> u16 {
        self.places.mtu
    }

    fn epoch(&self, _: u32) -> Option<u16> {
        Some(self.rings.epoch)
    }

    fn next_epoch(&mut self, _: u32) -> Option<u16> {
        let epoch = self.rings.next_epoch();
        self.note(epoch)
    }

    #[inline]
    fn post_send(&mut self, _: u32, post: Post<'_, Message>) -> Result<(), xud::PostError> {
        let (address, lkey, length) = post.payload.map_or((0, 0, 0), |(message, range)| {
            let buffer = message.buffer();
            let address = buffer.iova() + range.start as u64;
            (address, buffer.key(), range.len() as u32)
        });
        let work = WorkRequest {
            opcode: OPCODE_SEND,
            flags: 0,
            head_len: post.head_len,
            length,
            wr_id: post.id,
            address,
            lkey,
            version_flags: VERSION_1 | post.flags,
            to: post.to,
            window: post.window,
            head: post.head,
        };
        match self.rings.takes_send() {
            Ok(()) => self.rings.put_send(&work, ()),
            // In the state Error nothing is taken and nothing ends.
            Err(PostError::State(_)) => {}
            Err(_) => return Err(xud::PostError::Full("send")),
        }
        Ok(())
    }

    #[inline]
    fn post_receive(&mut self, _: u32) -> Result<(), xud::PostError> {
        match self.rings.takes_receive() {
            Ok(()) => {}
            Err(PostError::State(_)) => return Ok(()),
            Err(_) => return Err(xud::PostError::Full("receive")),
        }
        let place = self.places.free.pop();
        let Some((place, buffer)) = place.and_then(|p| Some((p, self.places.all.get(p as usize)?)))
        else {
            return Err(xud::PostError::Full("receive"));
        };
        let request = ReceiveRequest {
            wr_id: place.into(),
            address: buffer.iova(),
            lkey: buffer.key(),
            length: self.places.mtu.into(),
        };
        self.rings.put_receive(&request, ());
        Ok(())
    }

    #[inline]
    fn poll(&mut self, _: u32) -> Option<Completion<Arrival>> {
        let (id, completion) = loop {
            let ended = match self.rings.next() {
                Ok(ended) => ended?,
                Err(error) => return self.note(Err(error)),
            };
            if !(WRITES_FROM..u64::MAX).contains(&ended.wr_id) {
                break (ended.wr_id, ended.completion);
            }
            let name = ended.wr_id - WRITES_FROM;
            self.written.push_back((name, ended.completion.status));
        };
        let status = completion.status;
        if completion.of == Of::Send && status != WorkCompletionStatus::LocalQueue {
            return Some(Completion::Sent {
                id,
                outcome: status,
                marked: completion.marked,
            });
        }
        if status == WorkCompletionStatus::Ok
            && self.places.bytes(id as u32, completion.length).is_some()
        {
            return Some(Completion::Received {
                id,
                from: completion.peer,
                version: completion.version_flags >> 4,
                flags: completion.version_flags & 15,
                window: completion.window,
                payload: Arrival::Place(id as u32, completion.length),
            });
        }
        self.refused(status);
        None
    }

    #[inline]
    fn bytes<'a>(&'a self, payload: &'a Arrival) -> &'a [u8] {
        match payload {
            Arrival::Place(place, length) => self.places.bytes(*place, *length).unwrap_or(&[]),
            Arrival::Whole(bytes) => bytes,
            Arrival::Long(bytes) => bytes,
        }
    }

    #[inline]
    fn release(&mut self, payload: Arrival) {
        if let Arrival::Place(place, _) = payload {
            self.places.free.push(place);
        }
    }

    fn tick(&mut self, _: impl Clock) {}
}
