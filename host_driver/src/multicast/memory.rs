//! Memory for messages: where blocks land and are sent from.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::{Access, Error, Exposed, MemoryRegion, ProtectionDomain, Remote};

/// A message that has arrived. Its memory is the group's again when the last copy of it is gone.
#[derive(Clone, Debug)]
pub struct Message {
    number: u32,
    length: u64,
    memory: Arc<Exposed>,
}

impl Message {
    /// Its number in the group.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its bytes, exactly (MB-10).
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// Beyond the end.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        let end = at.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(Error::Range {
                what: "end of a part of a message",
                value: end.unwrap_or(u64::MAX),
                min: 0,
                max: self.length,
            });
        }
        self.memory.read(at as usize, into)
    }

    /// A copy of all of it.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length as usize];
        // It lies within the memory.
        let _ = self.memory.read(0, &mut bytes);
        bytes
    }
}

struct Held {
    message: Message,
    /// Everything that this member had to pass on is passed on.
    released: bool,
    delivered: bool,
}

/// The messages of a group that are here, whole or in part.
pub struct Memory {
    region: MemoryRegion,
    /// The first block of a message lands here, since its length is not known before.
    staging: Exposed,
    /// Message, block and bytes of what lies there.
    staged: Option<(u32, u32, u32)>,
    held: BTreeMap<u32, Held>,
    /// Messages that have begun and have no memory yet.
    waiting: VecDeque<(u32, u64)>,
    keep: bool,
}

/// What became of a message that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It has memory.
    Here,
    /// There will be memory when others are done with.
    Later,
    /// There never will be.
    Never,
}

impl Memory {
    pub fn new(
        domain: &ProtectionDomain,
        bytes: usize,
        block_bytes: u32,
        keep: bool,
    ) -> Result<Self, Error> {
        let region = domain.reg_mr(bytes, Access::REMOTE_WRITE)?;
        let first = domain.reg_mr(block_bytes as usize, Access::REMOTE_WRITE)?;
        let staging = first.expose(block_bytes as usize);
        let staging = staging.ok_or(Error::Range {
            what: "bytes of a block",
            value: block_bytes.into(),
            min: 1,
            max: first.length() as u64,
        })?;
        Ok(Self {
            region,
            staging,
            staged: None,
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            keep,
        })
    }

    /// Bytes for messages.
    pub fn bytes(&self) -> usize {
        self.region.length()
    }

    /// Memory for a message, if there is room.
    pub fn make(&mut self, number: u32, length: u64) -> Option<Arc<Exposed>> {
        if let Some(held) = self.held.get(&number)
            && held.message.length == length
        {
            return Some(Arc::clone(&held.message.memory));
        }
        let memory = Arc::new(self.region.expose(usize::try_from(length).ok()?)?);
        let message = Message {
            number,
            length,
            memory: Arc::clone(&memory),
        };
        let held = Held {
            message,
            released: false,
            delivered: false,
        };
        self.held.insert(number, held);
        Some(memory)
    }

    /// A message begins.
    pub fn begin(&mut self, number: u32, length: u64) -> Begun {
        if self.waiting.is_empty() && self.make(number, length).is_some() {
            self.unstage(number);
            return Begun::Here;
        }
        if self.is_too_long(length) {
            return Begun::Never;
        }
        self.waiting.push_back((number, length));
        Begun::Later
    }

    /// A message is to begin, of which nothing is here. Later means: to be asked again.
    pub fn reserve(&mut self, number: u32, length: u64) -> Begun {
        match self.make(number, length) {
            Some(_) => Begun::Here,
            None if self.is_too_long(length) => Begun::Never,
            None => Begun::Later,
        }
    }

    /// Whether a message that has no memory will never have any.
    fn is_too_long(&self, length: u64) -> bool {
        self.keep || length > self.region.length() as u64
    }

    /// The next message that waited and has memory now.
    pub fn next_begun(&mut self) -> Option<u32> {
        let (number, length) = *self.waiting.front()?;
        self.make(number, length)?;
        self.waiting.pop_front();
        self.unstage(number);
        Some(number)
    }

    /// The first block of a message lies beside its place.
    pub fn stage(&mut self, message: u32, block: u32, bytes: u32) {
        self.staged = Some((message, block, bytes));
    }

    fn unstage(&mut self, number: u32) {
        let Some((message, block, bytes)) = self.staged.filter(|s| s.0 == number) else {
            return;
        };
        let Some(held) = self.held.get(&message) else {
            return;
        };
        self.staged = None;
        let mut copy = vec![0; bytes as usize];
        let at = block as usize * self.staging.length();
        // Block and bytes were checked against the length of the message, of which the memory is.
        let _ = self.staging.read(0, &mut copy);
        let _ = held.message.memory.write(at, &copy);
    }

    /// Where the first block of a message shall land.
    pub fn first_place(&self) -> Remote {
        self.staging.remote()
    }

    /// Length and memory of a message that is here.
    pub fn find(&self, number: u32) -> Option<(u64, &Arc<Exposed>)> {
        let held = self.held.get(&number)?;
        Some((held.message.length, &held.message.memory))
    }

    /// The message is whole.
    pub fn deliver(&mut self, number: u32) -> Option<Message> {
        let held = self.held.get_mut(&number)?;
        held.delivered = true;
        let message = held.message.clone();
        self.forget(number);
        Some(message)
    }

    /// Everything is passed on. What the root sent is not delivered to it.
    pub fn release(&mut self, number: u32, is_source: bool) {
        if let Some(held) = self.held.get_mut(&number) {
            held.released = true;
            held.delivered |= is_source;
            self.forget(number);
        }
    }

    /// The root's message is not sent after all.
    pub fn discard(&mut self, number: u32) {
        self.held.remove(&number);
    }

    fn forget(&mut self, number: u32) {
        let done = |held: &Held| held.released && held.delivered;
        if !self.keep && self.held.get(&number).is_some_and(done) {
            self.held.remove(&number);
        }
    }

    /// For a group that goes on with these messages.
    pub fn resumed(&mut self) {
        self.staged = None;
        self.waiting.clear();
        for held in self.held.values_mut() {
            held.released = false;
        }
    }
}
