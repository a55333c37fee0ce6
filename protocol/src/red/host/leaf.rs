//! An endpoint that contributes.

use std::{collections::VecDeque, sync::Arc};

use thiserror::Error;

use super::{
    group::{Event, Fill, Group, Ignored, Kind, Outcome, Output},
    repsum::TooManySummands,
};
use crate::red::{
    address::Address,
    ops::{Op, Value},
    seqno_newer,
    wire::Frame,
};

/// Settings of a leaf; times in clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafConfig {
    /// Hold the first value back until the tree is armed. Without, it may run ahead of the arm frame and pass the engines.
    pub wait_for_arm: bool,
    /// After this long without news, ask the root; and again each time.
    pub patience: u64,
}

impl Default for LeafConfig {
    /// 4 ms at 250 MHz.
    fn default() -> Self {
        Self {
            wait_for_arm: true,
            patience: 1_000_000,
        }
    }
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ContributeError {
    /// The value of this round is there already.
    #[error("round {0} has its value")]
    Busy(u64),
    /// The leaf is in another round: an event has said, or will say, what became of the wanted one.
    #[error("round {wanted} is not open, round {open} is")]
    Round {
        /// Asked for.
        wanted: u64,
        /// Open.
        open: u64,
    },
    /// The value is a reproducible sum of too many summands for this group.
    #[error(transparent)]
    Summands(#[from] TooManySummands),
}

/// A leaf of a group.
#[derive(Clone, Debug)]
pub struct Leaf {
    group: Arc<Group>,
    me: Address,
    config: LeafConfig,
    round: u64,
    seqno: u16,
    /// A frame of the root for this round has been heard, or need not be.
    armed: bool,
    /// The root calls the roll: answer by unicast.
    roll_call: bool,
    value: Option<(Op, Value)>,
    /// Sequence number for which the value was sent.
    sent: Option<u16>,
    ask_at: u64,
    outputs: VecDeque<Output>,
}

impl Leaf {
    /// A leaf before the first round.
    #[must_use]
    pub fn new(group: impl Into<Arc<Group>>, me: Address, config: LeafConfig) -> Self {
        let group = group.into();
        Self {
            seqno: group.first_seqno,
            group,
            me,
            config,
            round: 0,
            armed: !config.wait_for_arm,
            roll_call: false,
            value: None,
            sent: None,
            ask_at: 0,
            outputs: VecDeque::new(),
        }
    }

    /// The round that is open.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Gives this endpoint's value for a round. The result comes as [`Event::Done`].
    ///
    /// # Errors
    /// A value is there already, another round is open, or the value is more than an endpoint's share of a reproducible sum;
    /// nothing is sent then.
    pub fn contribute(
        &mut self,
        round: u64,
        op: Op,
        value: Value,
        now: u64,
    ) -> Result<(), ContributeError> {
        if round != self.round {
            let (wanted, open) = (round, self.round);
            return Err(ContributeError::Round { wanted, open });
        }
        if self.value.is_some() {
            return Err(ContributeError::Busy(round));
        }
        self.group.check_contribution(op, &value)?;
        self.value = Some((op, value));
        self.ask_at = now.saturating_add(self.config.patience);
        self.send_value();
        Ok(())
    }

    /// Clock at which [`Leaf::poll`] has something to do by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.value.map(|_| self.ask_at)
    }

    /// What has come up since the last call.
    pub fn poll(&mut self, now: u64) -> Vec<Output> {
        if self.value.is_some() && self.ask_at <= now {
            self.ask_at = now.saturating_add(self.config.patience);
            self.send(Kind::Query, self.group.root, None);
        }
        self.outputs.drain(..).collect()
    }

    /// A frame that has come in.
    ///
    /// # Errors
    /// It changed nothing, and why.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Result<(), Ignored> {
        let (frame, kind) = self.group.parse(bytes)?;
        let to = frame.fabric.dfa;
        let for_me = to == self.me || to.multicast() == Some(self.group.key);
        let downwards = matches!(kind, Kind::Reduce | Kind::RollCall);
        if !for_me || !downwards || frame.fabric.sfa != self.group.root {
            return Err(Ignored::Foreign);
        }
        let round = frame.restricted.remote_offset;
        let seqno = frame.red.seqno;
        let known = round == self.round && seqno == self.seqno;
        if round < self.round || round == self.round && !known && !seqno_newer(seqno, self.seqno) {
            return Err(Ignored::Stale);
        }
        if round > self.round {
            self.close(&frame);
        }
        self.seqno = seqno;
        self.armed = true;
        self.roll_call = kind == Kind::RollCall;
        self.ask_at = now.saturating_add(self.config.patience);
        if self.roll_call {
            // Answered as often as it is asked: the root knows whom it has heard.
            self.sent = None;
            if self.value.is_none() {
                self.send(Kind::Present, self.group.root, None);
            }
        }
        self.send_value();
        Ok(())
    }

    /// The root has gone on to a later round; its frame carries the result of the one before.
    fn close(&mut self, frame: &Frame) {
        let next = frame.restricted.remote_offset;
        let mine = self.value.is_some() && self.sent == Some(frame.red.resno);
        let event = if mine && next == self.round + 1 {
            Event::Done(Outcome {
                round: self.round,
                op: frame.red.op,
                value: frame.value(),
                count: frame.red.count,
            })
        } else {
            Event::LeftOut(self.round..next)
        };
        self.outputs.push_back(Output::Event(event));
        self.round = next;
        self.value = None;
        self.sent = None;
    }

    fn send_value(&mut self) {
        if self.value.is_none() || !self.armed || self.sent == Some(self.seqno) {
            return;
        }
        self.sent = Some(self.seqno);
        if self.roll_call {
            self.send(Kind::Present, self.group.root, self.value);
        } else {
            self.send(Kind::Reduce, self.group.key.address(), self.value);
        }
    }

    fn send(&mut self, kind: Kind, to: Address, value: Option<(Op, Value)>) {
        let (op, data) = value.unwrap_or((Op::Barrier, Value::default()));
        let fill = Fill {
            round: self.round,
            seqno: self.seqno,
            resno: self.seqno,
            arm: false,
            op,
            count: value.is_some().into(),
            value: data,
        };
        let frame = self.group.frame(kind, self.me, to, &fill);
        let bytes = frame.to_bytes(self.group.ethertype).to_vec();
        self.outputs.push_back(Output::Send(bytes));
    }
}
