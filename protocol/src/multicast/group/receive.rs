//! What a member receives: grants, blocks that come, messages that are whole.

use std::collections::{BTreeMap, VecDeque};

use bitvec::vec::BitVec;

use super::member::{Member, Output, State};
use super::send::Outgoing;
use super::{Control, Expected, Partial, Why};
use crate::multicast::Receive;

/// A message that has begun to arrive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incoming {
    message: u32,
    length: u64,
    have: BitVec,
    missing: u32,
    /// The user has given a buffer for it.
    buffer: bool,
}

/// All that is about receiving.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receiving {
    /// Messages that have begun and that this member has not done with, in order.
    incoming: VecDeque<Incoming>,
    /// Messages that were delivered.
    pub delivered: u32,
    /// Sender of the first block of every message; `None` at the root.
    first_from: Option<u32>,
    /// Messages below this number are repaired.
    repaired: u32,
    /// The message of which blocks are granted, and the step of the schedule behind the last one that was. `None`: its
    /// first block has not been granted.
    granting: u32,
    next_step: Option<u64>,
    /// Blocks that were granted and have not come, with their senders.
    open: Vec<(u32, Expected)>,
    /// By rank: blocks that were granted, modulo 2^32.
    granted: BTreeMap<u32, u32>,
}

impl Incoming {
    /// A message of which some blocks are here.
    pub fn of_part(message: u32, length: u64, have: BitVec, buffer: bool) -> Self {
        Self {
            message,
            length,
            missing: have.count_zeros() as u32,
            have,
            buffer,
        }
    }
}

impl Receiving {
    pub fn new(first_from: Option<u32>) -> Self {
        Self {
            incoming: VecDeque::new(),
            delivered: 0,
            first_from,
            repaired: 0,
            granting: 0,
            next_step: None,
            open: Vec::new(),
            granted: BTreeMap::new(),
        }
    }

    fn find(&self, message: u32) -> Option<&Incoming> {
        self.incoming.iter().find(|i| i.message == message)
    }

    pub fn has(&self, message: u32, block: u32) -> bool {
        self.find(message)
            .is_some_and(|i| i.buffer && i.have[block as usize])
    }

    /// What is here in part.
    pub fn partial(&self) -> Vec<Partial> {
        let of = |i: &Incoming| Partial {
            length: i.length,
            have: match i.buffer {
                true => i.have.clone(),
                // What lies beside its place is given up.
                false => BitVec::repeat(false, i.have.len()),
            },
        };
        let behind = self.incoming.iter();
        behind
            .filter(|i| i.message >= self.delivered)
            .map(of)
            .collect()
    }

    pub fn begins_again(&mut self, incoming: Incoming) {
        self.incoming.push_back(incoming);
    }

    /// Blocks of these messages are granted by what this member lacks.
    pub fn repairs(&mut self, first: u32, end: u32) {
        self.granting = first;
        self.repaired = end;
        self.next_step = (first < end).then_some(0);
    }

    pub fn forget(&mut self, message: u32) {
        self.incoming.retain(|i| i.message != message);
    }
}

impl Member {
    /// Lets senders send, until as many blocks as this member allows are on their way (MB-9).
    pub(super) fn grant(&mut self, out: &mut Vec<Output>) {
        let credits = match self.config.mutations.one_credit {
            true => 1,
            false => self.config.credits as usize,
        };
        while self.receiving.open.len() < credits {
            let Some((from, expected)) = self.next_grant() else {
                return;
            };
            let r = &mut self.receiving;
            r.open.push((from, expected));
            let granted = r.granted.entry(from).or_default();
            *granted = granted.wrapping_add(1);
            let granted = *granted;
            let control = Control::Credit { granted, expected };
            out.push(Output::Control { to: from, control });
        }
    }

    /// The next block in the order of the schedule, and its sender.
    fn next_grant(&mut self) -> Option<(u32, Expected)> {
        let message = self.receiving.granting;
        let Some(step) = self.receiving.next_step else {
            let first_from = self.receiving.first_from?;
            self.receiving.next_step = Some(0);
            let block = None;
            return Some((first_from, Expected { message, block }));
        };
        // Of a message that was delivered nothing is missing, and it may be forgotten.
        if message >= self.receiving.delivered {
            // The rest is known with the length, and has a place with the buffer.
            self.receiving.find(message).filter(|i| i.buffer)?;
            let mut outgoing = self.outgoing.iter();
            let schedule = &outgoing.find(|o| o.message == message)?.schedule;
            let mut rest = schedule.receives(self.rank, step);
            if let Some((at, Receive { from, block })) = rest.next() {
                self.receiving.next_step = Some(at + 1);
                let block = Some(block);
                return Some((from, Expected { message, block }));
            }
        }
        self.receiving.granting += 1;
        let known = self.receiving.granting < self.receiving.repaired;
        self.receiving.next_step = known.then_some(0);
        self.next_grant()
    }

    /// A block has come and lies in its place, or the first block of a message beside it.
    ///
    /// `length` is what came with it.
    pub fn block_arrived(
        &mut self,
        from: u32,
        epoch: u32,
        (message, block): (u32, u32),
        length: u64,
        out: &mut Vec<Output>,
    ) {
        if epoch != self.epoch && !self.config.mutations.no_epoch {
            self.counters.stale += 1;
            return;
        }
        if self.state != State::Open {
            return;
        }
        let fits = |&(sender, expected): &(u32, Expected)| {
            sender == from
                && expected.message == message
                && expected.block.is_none_or(|number| number == block)
        };
        let Some(place) = self.receiving.open.iter().position(fits) else {
            self.counters.unexpected += 1;
            return;
        };
        let is_first = self.receiving.open[place].1.block.is_none();
        let right = match is_first {
            true => self.begins(message, block, length, out),
            false => {
                let known = self.receiving.find(message);
                known.is_some_and(|incoming| incoming.length == length)
            }
        };
        if !right {
            self.counters.unexpected += 1;
            return;
        }
        self.receiving.open.remove(place);
        let mut all = self.receiving.incoming.iter_mut();
        if let Some(incoming) = all.find(|i| i.message == message) {
            incoming.have.set(block as usize, true);
            incoming.missing -= 1;
        }
        self.deliver(out);
        self.pump(out);
    }

    /// The first block of a message tells its length. False if it cannot be that.
    fn begins(&mut self, message: u32, block: u32, length: u64, out: &mut Vec<Output>) -> bool {
        let Ok(schedule) = self
            .config
            .blocks(length)
            .and_then(|blocks| self.config.schedule(blocks))
        else {
            return false;
        };
        let Some(first) = schedule.first_block(self.rank).filter(|f| f.block == block) else {
            return false;
        };
        let blocks = schedule.blocks();
        self.receiving.incoming.push_back(Incoming {
            message,
            length,
            have: BitVec::repeat(false, blocks as usize),
            missing: blocks,
            buffer: false,
        });
        self.receiving.next_step = Some(first.step + 1);
        self.outgoing
            .push_back(Outgoing::new(message, length, schedule, self.rank));
        let length = self.shown_length(length);
        out.push(Output::Begin { message, length });
        true
    }

    fn shown_length(&self, length: u64) -> u64 {
        if self.config.mutations.rounded_length {
            return length.next_multiple_of(self.config.block_bytes.into());
        }
        length
    }

    /// The user has given a buffer for the message that [`Output::Begin`] spoke of; what came of it so far lies there.
    pub fn buffer(&mut self, message: u32, out: &mut Vec<Output>) {
        let mut all = self.receiving.incoming.iter_mut();
        let Some(incoming) = all.find(|i| i.message == message && !i.buffer) else {
            self.counters.strange += 1;
            return;
        };
        incoming.buffer = true;
        self.deliver(out);
        self.pump(out);
    }

    /// The user has no buffer that is long enough: the group fails, and this member is named.
    pub fn refuse(&mut self, message: u32, out: &mut Vec<Output>) {
        if self.receiving.find(message).is_none_or(|i| i.buffer) {
            self.counters.strange += 1;
            return;
        }
        self.fail(self.rank, Why::Length, None, out);
    }

    pub(super) fn deliver(&mut self, out: &mut Vec<Output>) {
        if self.state != State::Open {
            return;
        }
        while let Some(whole) = self
            .receiving
            .find(self.receiving.delivered)
            .filter(|i| i.missing == 0 && i.buffer)
        {
            let (message, length) = (whole.message, whole.length);
            self.receiving.delivered += 1;
            self.lengths.insert(message, length);
            let length = self.shown_length(length);
            out.push(Output::Delivered { message, length });
        }
    }
}
