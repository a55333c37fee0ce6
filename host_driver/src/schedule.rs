//! Schedule rings (MB-16): groups whose transfers the card starts itself, by ringing doorbells of queue pairs.
//!
//! The host writes entries and all work requests beforehand. Only queue pairs made for it are bound: what the card finds behind
//! its own doorbell in the ring of another one could be an old request.

use tributary_protocol::card::regs::{
    RING_ANSWER, RING_ANSWER_BUSY, RING_ANSWER_OK, RING_BASE_HIGH, RING_BASE_LOW, RING_BIND,
    RING_BIND_GROUP, RING_BIND_PAIR, RING_BIND_ROLE, RING_BIND_SLOT, RING_COMMAND,
    RING_COMMAND_GROUP, RING_COMMAND_OP, RING_COMMAND_POSTED, RING_ORIGIN, RING_QUEUE,
    RING_QUEUE_PAIR, RING_REFUSED, RING_SETTINGS, RING_SETTINGS_LOG, RING_SETTINGS_TIMED,
    RING_SETTINGS_WATCHDOG,
};
use tributary_protocol::multicast::ring::{ENTRY_LEN, Entry};

use crate::memory::Dma;
use crate::{Context, Error, QueuePair};

/// log2 of the entries of the longest ring.
const LOG_MAX: u8 = 15;
/// Closing waits for the card's reads so long, ns.
const CLOSE_NS: u64 = 10_000_000;

/// What a queue pair is to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    /// Blocks go to the peer, and its grants come.
    Sends = 1,
    /// Blocks come from the peer, and grants go.
    Receives = 2,
}

/// What a ring is opened with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Ticks of 65,536 clocks without progress after which the group ends; 0: never.
    pub watchdog: u16,
    /// The watchdog runs from the doorbell on, as a root wants; else from the first block on.
    pub timed: bool,
    /// What counters begin at.
    pub origin: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Open = 0,
    Doorbell = 1,
    Stop = 2,
    Close = 3,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Doorbell => "take entries of",
            Self::Stop => "stop",
            Self::Close => "close",
        }
    }
}

/// A group of the card, with its ring in host memory.
pub(crate) struct ScheduleRing {
    context: Context,
    group: u32,
    memory: Dma,
    log: u8,
    posted: u16,
    open: bool,
}

impl ScheduleRing {
    /// A group, with a ring of at least so many entries. It is not open.
    pub fn new(context: &Context, entries: usize) -> Result<Self, Error> {
        if context.sizes().groups == 0 {
            return Err(Error::Feature("schedule rings"));
        }
        if entries > 1 << LOG_MAX {
            return Err(Error::Range {
                what: "entries of a schedule ring",
                value: entries as u64,
                min: 1,
                max: 1 << LOG_MAX,
            });
        }
        let log = entries.max(2).next_power_of_two().trailing_zeros() as u8;
        let memory = Dma::new(context, ENTRY_LEN << log)?;
        let (group, _) = context.0.groups.take()?;
        Ok(Self {
            context: context.clone(),
            group,
            memory,
            log,
            posted: 0,
            open: false,
        })
    }

    /// Its number.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// Gives a queue pair, into which nothing was posted, to a peer's slot.
    pub fn bind(&self, role: Role, slot: u8, pair: &QueuePair) -> Result<(), Error> {
        let word = RING_BIND_SLOT.put(slot.into())
            | RING_BIND_GROUP.put(self.group)
            | RING_BIND_ROLE.put(role as u32)
            | RING_BIND_PAIR.put(pair.qp_num());
        let inner = &self.context.0;
        let _held = inner.registers();
        inner.write(&RING_BIND, word)
    }

    /// Opens the group; receive requests of `ends` are told of its ends.
    pub fn open(&mut self, ends: &QueuePair, settings: Settings) -> Result<(), Error> {
        let base = self.memory.memory.iova;
        let inner = &self.context.0;
        let held = inner.registers();
        inner.write(&RING_BASE_LOW, base as u32)?;
        inner.write(&RING_BASE_HIGH, (base >> 32) as u32)?;
        inner.write(&RING_ORIGIN, settings.origin)?;
        let word = RING_SETTINGS_LOG.put(self.log.into())
            | RING_SETTINGS_TIMED.put(settings.timed.into())
            | RING_SETTINGS_WATCHDOG.put(settings.watchdog.into());
        inner.write(&RING_SETTINGS, word)?;
        inner.write(&RING_QUEUE, RING_QUEUE_PAIR.put(ends.qp_num()))?;
        // What is not answered may have been done.
        self.open = true;
        let opened = self.command_held(Op::Open, 0);
        drop(held);
        if matches!(opened, Err(Error::RingRefused { .. })) {
            self.open = false;
        }
        opened
    }

    /// Writes entries, which are as many as the ring has places at most and follow entries that were all fetched; then rings.
    pub fn post(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let places = 1usize << self.log;
        if entries.len() > places {
            return Err(Error::Range {
                what: "entries of a message",
                value: entries.len() as u64,
                min: 1,
                max: places as u64,
            });
        }
        for entry in entries {
            let place = usize::from(self.posted) & (places - 1);
            let mut bytes = [0; ENTRY_LEN];
            for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(entry.words()) {
                *to = word.to_le_bytes();
            }
            let start = self.memory.memory.pointer.as_ptr();
            // SAFETY: the place lies in the memory, which has room for `places` entries, and the card has fetched what stood there.
            unsafe {
                let to = start.add(place * ENTRY_LEN);
                bytes.as_ptr().copy_to_nonoverlapping(to, ENTRY_LEN);
            }
            self.posted = self.posted.wrapping_add(1);
        }
        self.command(Op::Doorbell, self.posted)
    }

    /// Nothing new begins. The end comes when nothing is under way any more.
    pub fn stop(&self) -> Result<(), Error> {
        self.command(Op::Stop, 0)
    }

    /// Gives the group back, which has ended.
    pub fn close(&mut self) -> Result<(), Error> {
        if !self.open {
            return Ok(());
        }
        let device = self.context.device();
        let start = device.now_ns();
        loop {
            match self.command(Op::Close, 0) {
                // The card may still read its ring.
                Err(Error::RingRefused { .. })
                    if device.now_ns().saturating_sub(start) < CLOSE_NS =>
                {
                    device.idle()?;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.open = false;
        Ok(())
    }

    fn command(&self, op: Op, posted: u16) -> Result<(), Error> {
        let _held = self.context.0.registers();
        self.command_held(op, posted)
    }

    /// Gives a command and waits for its answer; whoever calls has the registers.
    fn command_held(&self, op: Op, posted: u16) -> Result<(), Error> {
        let inner = &self.context.0;
        let word = RING_COMMAND_OP.put(op as u32)
            | RING_COMMAND_GROUP.put(self.group)
            | RING_COMMAND_POSTED.put(posted.into());
        inner.write(&RING_COMMAND, word)?;
        let taken = inner.answered(|| {
            let answer = inner.read(&RING_ANSWER)?;
            Ok((RING_ANSWER_BUSY.get(answer) == 0).then(|| RING_ANSWER_OK.get(answer) != 0))
        })?;
        if taken {
            Ok(())
        } else {
            Err(Error::RingRefused {
                command: op.name(),
                group: self.group,
            })
        }
    }
}

impl Drop for ScheduleRing {
    fn drop(&mut self) {
        if self.open {
            // The card may still read there.
            self.memory.lost = true;
        } else {
            self.context.0.groups.give(self.group);
        }
    }
}

impl Context {
    /// Events, entries, commands and bindings that no group of schedule rings could take, modulo 2^32; 0 if the card has none.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn ring_refused(&self) -> Result<u32, Error> {
        self.0.read(&RING_REFUSED)
    }

    /// Groups of schedule rings that are in use.
    #[must_use]
    pub fn open_groups(&self) -> usize {
        self.0.groups.used()
    }
}
