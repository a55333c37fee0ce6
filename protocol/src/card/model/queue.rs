//! A queue pair: three rings and where card and software stand in them.

use std::collections::{BTreeMap, VecDeque};

use super::reduction::Membership;
use super::{HostMemory, receive::READ_AHEAD};
use crate::card::command::State;
use crate::card::descriptor::{COMPLETION_LEN, Completion, ReceiveRequest, WorkRequest};

/// A ring in host memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub base: u64,
    pub log: u8,
    /// Entries ever put in, modulo 2^16.
    pub producer: u16,
    /// Entries ever taken out, modulo 2^16.
    pub consumer: u16,
}

impl Ring {
    pub fn new(base: u64, log: u8) -> Self {
        Self {
            base,
            log,
            producer: 0,
            consumer: 0,
        }
    }

    /// Address of an entry.
    pub fn entry(&self, index: u16, bytes: usize) -> u64 {
        let place = u64::from(index) & ((1 << self.log) - 1);
        self.base.wrapping_add(place * bytes as u64)
    }

    /// Entries that wait.
    pub fn held(&self) -> u16 {
        self.producer.wrapping_sub(self.consumer)
    }

    /// Whether this many can be in it at once.
    pub fn holds(&self, entries: u16) -> bool {
        u32::from(entries) <= 1 << self.log
    }
}

/// What is known of a request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying {
    /// Its completion but for the status.
    pub ended: Completion,
    /// Where an answer with bytes goes.
    pub address: u64,
    /// Key of its region.
    pub lkey: u32,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub state: State,
    /// A ring could not be read: nothing is taken from the line any more.
    pub fatal: bool,
    pub vector: u8,
    /// Its reduction group.
    pub group: Option<Membership>,
    /// PSN of the next work request, while it is in one.
    pub psn: u32,
    pub domain: u16,
    pub q_key: u32,
    pub send: Ring,
    pub receive: Ring,
    /// Here the card is the producer.
    pub complete: Ring,
    /// Interrupt with more completions than this.
    pub armed: Option<u16>,
    /// Requests in flight, by PSN.
    pub flying: BTreeMap<u32, Flying>,
    /// A work request that was fetched and waits, for its fence or for a slot of bulk transfers: with its PSN and number.
    pub parked: Option<(WorkRequest, u32, u16)>,
    /// Receive requests read ahead, with their numbers.
    pub ahead: VecDeque<(u16, ReceiveRequest)>,
    /// Of these, those whose messages are landing.
    pub taken: VecDeque<(u16, ReceiveRequest)>,
}

impl Queue {
    /// Whether messages are accepted: never in a reduction group.
    pub fn receives(&self) -> bool {
        self.state.receives() && self.group.is_none()
    }

    /// Whether requests may be posted.
    pub fn takes_requests(&self) -> bool {
        self.state.posts()
    }

    /// Whether a receive request is to be read ahead.
    pub fn reads_ahead(&self) -> bool {
        self.takes_requests() && self.receive.held() > 0 && self.ahead.len() < READ_AHEAD
    }

    /// Writes an entry of the completion ring, made for its number.
    pub fn write_entry(
        &mut self,
        memory: &mut dyn HostMemory,
        entry: impl FnOnce(u16) -> [u8; COMPLETION_LEN],
    ) {
        let number = self.complete.producer;
        let at = self.complete.entry(number, COMPLETION_LEN);
        // A posted write: nobody tells the card whether it arrived.
        let _ = memory.write(at, &entry(number));
        self.complete.producer = number.wrapping_add(1);
    }

    /// Whether the interrupt that was asked for is due now; it is asked for no longer.
    pub fn take_due(&mut self) -> bool {
        let written = self.complete.producer;
        // As many as the longest ring has, at most.
        let more = |than: u16| matches!(written.wrapping_sub(than), 1..=0x8000);
        self.armed.take_if(|than| more(*than)).is_some()
    }
}
