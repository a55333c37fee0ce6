//! All-reduce by recursive doubling between hosts: what the switches are measured against.
//!
//! Frames are those of the reduction, by unicast, without loss: nothing is repeated. Every [`Output::Send`] is one message that
//! the host's software sends, every successful [`Doubling::receive`] one that it receives; a simulator adds the time of each there.
//!
//! With n endpoints, of which p is the largest power of two, the first 2·(n-p) pair up: the even one gives its value to the odd one
//! and gets the result from it in the end. The other p exchange values in log2 p steps. Values are combined with the lower rank's
//! as the accumulator, so all endpoints have the same bits.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use thiserror::Error;

use super::{
    group::{Event, Fill, Group, Ignored, Kind, Outcome, Output},
    repsum::TooManySummands,
};
use crate::red::{
    address::Address,
    ops::{Op, Value},
    partial::Partial,
    wire::Frame,
};

/// Step in which the odd ones of the pairs give the result back.
const BACK: u16 = 63;

/// Why an endpoint cannot take part, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DoublingError {
    /// It is not in the group.
    #[error("rank {rank} of {size}")]
    Rank {
        /// Asked for.
        rank: u32,
        /// Endpoints.
        size: u32,
    },
    /// The last round is not over.
    #[error("round {0} is still under way")]
    Busy(u64),
    /// The value is a reproducible sum of too many summands for this group.
    #[error(transparent)]
    Summands(#[from] TooManySummands),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No value yet.
    Idle,
    /// Odd one of a pair: waits for the even one's value.
    PairUp,
    /// Waits for the message of this step, 1 to log2 p.
    Step(u16),
    /// Even one of a pair: waits for the result.
    Back,
}

/// An endpoint.
#[derive(Clone, Debug)]
pub struct Doubling {
    group: Arc<Group>,
    rank: u32,
    round: u64,
    stage: Stage,
    partial: Option<Partial>,
    /// Messages that came early: by round and step.
    inbox: BTreeMap<(u64, u16), Frame>,
    outputs: VecDeque<Output>,
}

impl Doubling {
    /// The endpoint of this rank: 0 is the root, leaf i has rank i + 1.
    ///
    /// # Errors
    /// No such rank.
    pub fn new(group: impl Into<Arc<Group>>, rank: u32) -> Result<Self, DoublingError> {
        let group = group.into();
        let size = group.size();
        if rank >= size {
            return Err(DoublingError::Rank { rank, size });
        }
        Ok(Self {
            group,
            rank,
            round: 0,
            stage: Stage::Idle,
            partial: None,
            inbox: BTreeMap::new(),
            outputs: VecDeque::new(),
        })
    }

    /// The round that is open.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Begins a round with this endpoint's value. The result comes as [`Event::Done`].
    ///
    /// # Errors
    /// The last round is not over, or the value is more than an endpoint's share of a reproducible sum; nothing is sent then.
    pub fn start(&mut self, op: Op, value: Value) -> Result<u64, DoublingError> {
        if self.stage != Stage::Idle {
            return Err(DoublingError::Busy(self.round));
        }
        self.group.check_contribution(op, &value)?;
        self.partial = Some(Partial {
            op,
            source: self.address(self.rank),
            value,
            count: 1,
        });
        let round = self.round;
        if self.rank >= 2 * self.pairs() {
            self.step(1);
        } else if self.rank.is_multiple_of(2) {
            self.send(self.rank + 1, 0);
            self.stage = Stage::Back;
        } else {
            self.stage = Stage::PairUp;
        }
        self.advance();
        Ok(round)
    }

    /// What has come up since the last call.
    pub fn poll(&mut self) -> Vec<Output> {
        self.outputs.drain(..).collect()
    }

    /// A message that has come in.
    ///
    /// # Errors
    /// It changed nothing, and why.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Ignored> {
        let (frame, kind) = self.group.parse(bytes)?;
        let (round, step) = (frame.restricted.remote_offset, frame.red.resno);
        let from = self.peer(step).map(|rank| self.address(rank));
        let here = frame.fabric.dfa == self.address(self.rank);
        if kind != Kind::Exchange || !here || from != Some(frame.fabric.sfa) {
            return Err(Ignored::Foreign);
        }
        // A peer can be one round ahead, not more: it needs this endpoint's messages.
        if round < self.round || round > self.round + 1 {
            return Err(Ignored::Stale);
        }
        if self.inbox.contains_key(&(round, step)) {
            return Err(Ignored::Duplicate);
        }
        self.inbox.insert((round, step), frame);
        self.advance();
        Ok(())
    }

    fn advance(&mut self) {
        loop {
            let step = match self.stage {
                Stage::Idle => return,
                Stage::PairUp => 0,
                Stage::Step(step) => step,
                Stage::Back => BACK,
            };
            let (Some(frame), Some(peer)) =
                (self.inbox.remove(&(self.round, step)), self.peer(step))
            else {
                return;
            };
            if step == BACK {
                self.partial = Some(Partial::first(&frame));
                self.done();
                return;
            }
            if let Some(mine) = self.message(peer, step) {
                let (low, high) = if peer < self.rank {
                    (frame, mine)
                } else {
                    (mine, frame)
                };
                let mut partial = Partial::first(&low);
                partial.add(&high, self.group.mode);
                self.partial = Some(partial);
            }
            self.step(step + 1);
        }
    }

    /// Sends the message of a step and waits for the peer's; after the last one the round is over.
    fn step(&mut self, step: u16) {
        match self.peer(step).filter(|_| step != BACK) {
            Some(peer) => {
                self.send(peer, step);
                self.stage = Stage::Step(step);
            }
            None => {
                if self.rank < 2 * self.pairs() {
                    self.send(self.rank - 1, BACK);
                }
                self.done();
            }
        }
    }

    fn done(&mut self) {
        if let Some(partial) = self.partial.take() {
            let outcome = Outcome {
                round: self.round,
                op: partial.op,
                value: partial.value,
                count: partial.count,
            };
            self.outputs.push_back(Output::Event(Event::Done(outcome)));
        }
        self.stage = Stage::Idle;
        self.round += 1;
        let open = self.round;
        self.inbox.retain(|&(round, _), _| round >= open);
    }

    fn send(&mut self, peer: u32, step: u16) {
        if let Some(frame) = self.message(peer, step) {
            let bytes = frame.to_bytes(self.group.ethertype).to_vec();
            self.outputs.push_back(Output::Send(bytes));
        }
    }

    fn message(&self, peer: u32, step: u16) -> Option<Frame> {
        let partial = self.partial?;
        let fill = Fill {
            round: self.round,
            seqno: 0,
            resno: step,
            arm: false,
            op: partial.op,
            count: partial.count,
            value: partial.value,
        };
        let (from, to) = (self.address(self.rank), self.address(peer));
        Some(self.group.frame(Kind::Exchange, from, to, &fill))
    }

    /// Number of pairs: endpoints beyond the largest power of two.
    fn pairs(&self) -> u32 {
        let size = self.group.size();
        size - (1 << size.ilog2())
    }

    /// Whose message a step waits for.
    fn peer(&self, step: u16) -> Option<u32> {
        let pairs = self.pairs();
        let (paired, odd) = (self.rank < 2 * pairs, self.rank % 2 == 1);
        match step {
            0 => (paired && odd).then(|| self.rank - 1),
            BACK => (paired && !odd).then_some(self.rank + 1),
            _ if paired && !odd || u32::from(step) > self.group.size().ilog2() => None,
            _ => {
                let place = if paired {
                    self.rank / 2
                } else {
                    self.rank - pairs
                };
                let other = place ^ 1 << (step - 1);
                Some(if other < pairs {
                    2 * other + 1
                } else {
                    other + pairs
                })
            }
        }
    }

    fn address(&self, rank: u32) -> Address {
        match rank.checked_sub(1) {
            None => self.group.root,
            Some(leaf) => self
                .group
                .leaves
                .get(leaf as usize)
                .copied()
                .unwrap_or_default(),
        }
    }
}
