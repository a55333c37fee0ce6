//! One member: its state, joining, closing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::offload::Offloaded;
use super::receive::Receiving;
use super::resume::Resuming;
use super::send::Outgoing;
use super::{Control, GroupConfig, GroupError, Verdict, Why};
use crate::multicast::ring::Job;

/// What a member wants done, or wants its user to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this to a member.
    Control {
        /// Its rank.
        to: u32,
        /// The message.
        control: Control,
    },
    /// Start to send a block. Then: [`Member::block_sent`], or [`Member::peer_failed`].
    Block {
        /// Rank that gets it.
        to: u32,
        /// Number of the message.
        message: u32,
        /// Number of the block.
        block: u32,
        /// Bytes of the whole message; they travel with the block (MB-10).
        length: u64,
    },
    /// Tell the card: a message to send, or a buffer. Only of groups that are offloaded. Then: [`Member::completed`].
    Post(Job),
    /// A message begins: a buffer for it is wanted. Then: [`Member::buffer`] or [`Member::refuse`].
    Begin {
        /// Number of the message.
        message: u32,
        /// Its bytes, exactly.
        length: u64,
    },
    /// A message is there. It comes once, and messages come in the order in which they were sent (MB-11).
    Delivered {
        /// Number of the message.
        message: u32,
        /// Its bytes, exactly.
        length: u64,
    },
    /// This member has passed on all that it had to of a message: the buffer may change.
    Released {
        /// Number of the message.
        message: u32,
    },
    /// A member has failed; nothing new is started (MB-12).
    Failed {
        /// The member.
        suspect: u32,
        /// What happened.
        why: Why,
    },
    /// A group that was resumed has opened: the messages below this number become whole everywhere; those behind are lost.
    Resumed {
        /// Their number.
        messages: u32,
    },
    /// The group has ended.
    Closed(Verdict),
}

/// What was dropped, without any other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Messages and blocks of another incarnation of the group.
    pub stale: u64,
    /// Messages of ranks that there are not, or that make no sense from their sender.
    pub strange: u64,
    /// Blocks that nobody was allowed to send.
    pub unexpected: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Joining,
    Open,
    Failed { suspect: u32, why: Why },
    Closed(Verdict),
}

/// One member of a group: see the [module](super).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    pub(super) config: GroupConfig,
    pub(super) rank: u32,
    pub(super) epoch: u32,
    pub(super) state: State,
    /// Ranks that this one sends to or receives from.
    pub(super) neighbours: Vec<u32>,
    /// Root: members that have joined; those that have everything.
    joined: BTreeSet<u32>,
    done: BTreeSet<u32>,
    /// Messages of the group, once the root has closed it.
    closing: Option<u32>,
    pub(super) said_done: bool,
    /// Root: messages that were sent.
    pub(super) sent: u32,
    /// Messages that this member still passes on, in order.
    pub(super) outgoing: VecDeque<Outgoing>,
    /// By rank: blocks that it has granted, and blocks that were started, modulo 2^32.
    pub(super) allowed: BTreeMap<u32, u32>,
    pub(super) started: BTreeMap<u32, u32>,
    pub(super) receiving: Receiving,
    pub(super) offloaded: Offloaded,
    pub(super) resuming: Option<Resuming>,
    /// Bytes of the messages that are whole here.
    pub(super) lengths: BTreeMap<u32, u64>,
    /// Members that are known to have failed.
    pub(super) dead: BTreeSet<u32>,
    /// As the one that gathers: who was asked, and what they reported.
    pub(super) asked: BTreeSet<u32>,
    pub(super) reports: BTreeMap<u32, u32>,
    /// The member that this one has reported to.
    pub(super) reported_to: Option<u32>,
    pub(super) counters: Counters,
}

impl Member {
    /// A member of a group. `epoch` tells incarnations of the group apart: each has another.
    ///
    /// # Errors
    /// A group that cannot be, or a rank that is not in it.
    pub fn new(config: GroupConfig, rank: u32, epoch: u32) -> Result<Self, GroupError> {
        config.check()?;
        let members = config.members;
        if rank >= members {
            return Err(GroupError::Rank { rank, members });
        }
        let schedule = config.schedule(1)?;
        let neighbours = schedule.neighbours(rank).collect();
        let first_from = schedule.first_block(rank).map(|first| first.from);
        Ok(Self {
            config,
            rank,
            epoch,
            state: State::Joining,
            neighbours,
            joined: BTreeSet::new(),
            done: BTreeSet::new(),
            closing: None,
            said_done: false,
            sent: 0,
            outgoing: VecDeque::new(),
            allowed: BTreeMap::new(),
            started: BTreeMap::new(),
            receiving: Receiving::new(first_from),
            offloaded: Offloaded::default(),
            resuming: None,
            lengths: BTreeMap::new(),
            dead: BTreeSet::new(),
            asked: BTreeSet::new(),
            reports: BTreeMap::new(),
            reported_to: None,
            counters: Counters::default(),
        })
    }

    /// Its rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// What the group was made with.
    #[must_use]
    pub fn config(&self) -> &GroupConfig {
        &self.config
    }

    /// The incarnation of the group.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What was dropped.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Messages that were delivered; at the root, messages that were sent.
    #[must_use]
    pub fn delivered(&self) -> u32 {
        match self.rank {
            0 if self.receiving.delivered >= self.repaired() => self.sent,
            _ => self.receiving.delivered,
        }
    }

    /// How the group ended.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.state {
            State::Closed(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// All members have made the group.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Joins. To be called once, before anything else.
    pub fn join(&mut self, out: &mut Vec<Output>) {
        if self.rank == 0 {
            self.open_if_all(out);
        } else {
            self.say_holdings(out);
            let control = Control::Join(self.config.parameters());
            out.push(Output::Control { to: 0, control });
        }
    }

    /// The root begins a message. Returns its number.
    ///
    /// # Errors
    /// Another member; a message that is too long; a group that is closed or has failed.
    pub fn send(&mut self, length: u64, out: &mut Vec<Output>) -> Result<u32, GroupError> {
        self.usable_by_root()?;
        let blocks = self.config.blocks(length)?;
        let schedule = self.config.schedule(blocks)?;
        let message = self.sent;
        self.sent += 1;
        self.lengths.insert(message, length);
        if self.config.offload {
            // Nothing leaves before the members' cards allow it, and they do when the group is open.
            out.push(Output::Post(Job::Send { length }));
        } else {
            self.outgoing
                .push_back(Outgoing::new(message, length, schedule, 0));
        }
        self.pump(out);
        Ok(message)
    }

    /// The root sends no more. Every member gets a verdict when everything is everywhere, or after a failure (MB-13).
    ///
    /// # Errors
    /// Another member; a group that is closed or has failed.
    pub fn close(&mut self, out: &mut Vec<Output>) -> Result<(), GroupError> {
        self.usable_by_root()?;
        self.closing = Some(self.sent);
        if self.state == State::Open {
            self.say_close(out);
        }
        self.pump(out);
        Ok(())
    }

    fn usable_by_root(&self) -> Result<(), GroupError> {
        self.error()?;
        if self.rank != 0 {
            return Err(GroupError::NotRoot(self.rank));
        }
        match self.closing {
            Some(_) => Err(GroupError::Closed),
            None => Ok(()),
        }
    }

    /// What every call returns after a failure or the end.
    ///
    /// # Errors
    /// The failure with its suspect, or that the group is closed.
    pub fn error(&self) -> Result<(), GroupError> {
        match self.state {
            State::Failed { suspect, why }
            | State::Closed(Verdict::Failure { suspect, why, .. }) => {
                Err(GroupError::Failed { suspect, why })
            }
            State::Closed(Verdict::Success { .. }) => Err(GroupError::Closed),
            State::Joining | State::Open => Ok(()),
        }
    }

    /// A message of another member has come.
    pub fn control(&mut self, from: u32, epoch: u32, control: Control, out: &mut Vec<Output>) {
        if epoch != self.epoch && !self.config.mutations.no_epoch {
            self.counters.stale += 1;
            return;
        }
        if from >= self.config.members || from == self.rank {
            self.counters.strange += 1;
            return;
        }
        match control {
            Control::Join(parameters) if self.rank == 0 => self.joins(from, &parameters, out),
            Control::Open if from == 0 => self.opens(out),
            Control::Holdings(holdings) => self.brings(from, holdings, out),
            Control::Repairs(repairs) if from == 0 => self.repairs(repairs, out),
            Control::Credit { granted, .. } => self.credit(from, granted, out),
            Control::Close { messages } if from == 0 => self.closes(messages, out),
            Control::Done if self.rank == 0 => {
                self.done.insert(from);
                self.pump(out);
            }
            Control::Notice { suspect, why } => self.noticed(from, suspect, why, out),
            Control::Ask { suspect, why } => self.is_asked(from, suspect, why, out),
            Control::Report {
                suspect,
                why,
                watermark,
            } => self.reported(from, suspect, why, watermark, out),
            Control::Verdict(verdict) => self.is_told(from, verdict, out),
            Control::Join(_)
            | Control::Open
            | Control::Repairs(_)
            | Control::Close { .. }
            | Control::Done => {
                self.counters.strange += 1;
            }
        }
    }

    fn joins(&mut self, from: u32, parameters: &super::Parameters, out: &mut Vec<Output>) {
        if self.state != State::Joining {
            return;
        }
        if *parameters != self.config.parameters() {
            self.fail(from, Why::Parameters, None, out);
            return;
        }
        self.joined.insert(from);
        self.open_if_all(out);
    }

    pub(super) fn open_if_all(&mut self, out: &mut Vec<Output>) {
        if self.joined.len() as u32 + 1 < self.config.members || !self.knows_holdings() {
            return;
        }
        if self.resuming.is_some() {
            let early = self.closing.is_some();
            self.say_repairs(out);
            if early {
                self.closing = Some(self.sent);
                self.say_close(out);
                self.pump(out);
            }
            return;
        }
        for to in 1..self.config.members {
            let control = Control::Open;
            out.push(Output::Control { to, control });
        }
        self.state = State::Open;
        if self.closing.is_some() {
            self.say_close(out);
        }
        self.pump(out);
    }

    fn opens(&mut self, out: &mut Vec<Output>) {
        if self.state == State::Joining {
            self.state = State::Open;
            self.pump(out);
        }
    }

    fn say_close(&mut self, out: &mut Vec<Output>) {
        let messages = self.sent;
        for to in 1..self.config.members {
            let control = Control::Close { messages };
            out.push(Output::Control { to, control });
        }
    }

    fn closes(&mut self, messages: u32, out: &mut Vec<Output>) {
        self.closing = Some(messages);
        self.pump(out);
    }

    fn credit(&mut self, from: u32, granted: u32, out: &mut Vec<Output>) {
        let allowed = self.allowed.entry(from).or_default();
        // Late ones are behind, modulo 2^32.
        if (granted.wrapping_sub(*allowed) as i32) > 0 {
            *allowed = granted;
        }
        self.pump(out);
    }

    /// Does what can be done now.
    pub(super) fn pump(&mut self, out: &mut Vec<Output>) {
        if self.state != State::Open {
            return;
        }
        if self.config.offload {
            self.post_buffers(out);
        } else {
            self.start_blocks(out);
            self.grant(out);
        }
        self.close_if_done(out);
    }

    fn close_if_done(&mut self, out: &mut Vec<Output>) {
        let Some(messages) = self.closing else {
            return;
        };
        if self.delivered() != messages || !self.outgoing.is_empty() || self.card_has_work() {
            return;
        }
        if self.rank != 0 {
            if !self.said_done {
                self.said_done = true;
                let control = Control::Done;
                out.push(Output::Control { to: 0, control });
            }
            return;
        }
        let everyone = self.done.len() as u32 + 1 == self.config.members;
        if everyone || self.config.mutations.no_barrier {
            let verdict = Verdict::Success { messages };
            for to in 1..self.config.members {
                let control = Control::Verdict(verdict.clone());
                out.push(Output::Control { to, control });
            }
            self.ends(verdict, out);
        }
    }

    /// Members whose end this one must learn of: the runner tells by [`Member::peer_failed`] when one does not answer.
    #[must_use]
    pub fn watched(&self) -> BTreeSet<u32> {
        let others = (0..self.config.members).filter(|&rank| rank != self.rank);
        let mut set: BTreeSet<u32> = match self.state {
            State::Closed(_) => BTreeSet::new(),
            State::Joining if self.rank == 0 => others.collect(),
            State::Joining => BTreeSet::from([0]),
            State::Open if self.closing.is_some() && self.rank == 0 => others.collect(),
            // Nothing is wanted of the others any more, and they may know the verdict already and leave.
            State::Open if self.said_done => BTreeSet::from([0]),
            State::Open => {
                let root = self.closing.is_some().then_some(0);
                self.neighbours.iter().copied().chain(root).collect()
            }
            State::Failed { .. } => match self.gatherer() {
                rank if rank == self.rank => others.collect(),
                rank => BTreeSet::from([rank]),
            },
        };
        set.retain(|rank| !self.dead.contains(rank));
        set
    }
}
