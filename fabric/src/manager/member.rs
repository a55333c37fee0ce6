//! The member's side of a group's life (MC-7): joins, waits for "ready", leaves; over messages that may be lost or doubled.
//!
//! Member 0 polls the manager and multicasts "ready" with the tree. Every other member waits for that, and asks the manager
//! itself only when it has waited for long: the announcement may have been lost, or member 0 may be dead. All go on asking
//! once in a while when ready, and so hear of a new tree.

use super::{GroupKey, Join, Leave, Poll, Refusal, Reply, Request, State, Status};
use crate::ids::TreeId;

/// How patient a member is; times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until an unanswered join or leave is sent again.
    pub resend: u64,
    /// Between two polls of member 0 before the group is ready.
    pub poll: u64,
    /// Between two polls of other members, and of all when ready.
    pub wait: u64,
    /// From the first join to giving up, and from the first leave to going without an answer; longer than any message is
    /// under way.
    pub give_up: u64,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its join is not answered yet.
    Joining,
    /// It has joined, others have not, or the tree is not ready.
    Waiting,
    /// It may send.
    Ready(Option<TreeId>),
    /// Its leave is not answered yet.
    Leaving,
    /// It is out.
    Out,
    /// It is out because the manager refused it or the group has ended.
    Refused(Refusal),
}

/// The announcement of member 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announce {
    /// The group.
    pub key: GroupKey,
    /// Which life of it.
    pub incarnation: u64,
    /// Tree to send on.
    pub tree: Option<TreeId>,
    /// Trees that the group has had before this one.
    pub moves: u32,
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To the manager.
    Request(Request),
    /// To all members, on the tree that it names.
    Announce(Announce),
}

/// One member of one group.
#[derive(Clone, Debug)]
pub struct Member {
    join: Join,
    patience: Patience,
    phase: Phase,
    /// When to send next, and when to give up.
    next: u64,
    end: u64,
    /// The manager has answered that it is in.
    known: bool,
    /// Trees that the group had before the one that is known.
    moves: u32,
    outbox: Vec<Message>,
}

impl Member {
    /// A member that begins to join.
    #[must_use]
    pub fn new(now: u64, join: Join, patience: Patience) -> Self {
        let mut member = Self {
            join,
            patience,
            phase: Phase::Joining,
            next: now,
            end: now.saturating_add(patience.give_up),
            known: false,
            moves: 0,
            outbox: Vec::new(),
        };
        member.tick(now);
        member
    }

    /// Where it is.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Who and what it joins.
    #[must_use]
    pub const fn join(&self) -> &Join {
        &self.join
    }

    /// Messages to send.
    pub fn take(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.outbox)
    }

    /// Sends again or gives up, if it is time.
    pub fn tick(&mut self, now: u64) {
        match self.phase {
            Phase::Joining | Phase::Waiting if now >= self.end => self.leave(now),
            Phase::Leaving if now >= self.end => self.phase = Phase::Out,
            _ => {}
        }
        if now < self.next {
            return;
        }
        let (message, after) = match self.phase {
            Phase::Joining => (Request::Join(self.join), self.patience.resend),
            Phase::Waiting => (self.poll(), self.pause()),
            Phase::Ready(_) => (self.poll(), self.patience.wait),
            Phase::Leaving => (self.bye(), self.patience.resend),
            Phase::Out | Phase::Refused(_) => return,
        };
        self.outbox.push(Message::Request(message));
        self.next = now.saturating_add(after.max(1));
    }

    /// An answer of the manager to a request for this group and incarnation; others are to be thrown away before.
    pub fn answered(&mut self, now: u64, reply: Reply) {
        match (self.phase, reply) {
            (Phase::Joining | Phase::Waiting | Phase::Ready(_), Reply::In(status)) => {
                self.known = true;
                self.informed(now, &status);
            }
            (Phase::Leaving, Reply::Out) => self.phase = Phase::Out,
            // The manager does not know of this member (any longer). If no join was ever answered, one may still be under
            // way: the member goes on leaving until that would have arrived.
            (
                Phase::Leaving,
                Reply::Refused(
                    Refusal::NoGroup
                    | Refusal::NotMember
                    | Refusal::Stale { .. }
                    | Refusal::UnknownEndnode(_),
                ),
            ) if self.known => self.phase = Phase::Out,
            // Room may become free, or the life before may end.
            (Phase::Joining, Reply::Refused(Refusal::Busy { .. } | Refusal::TooManyGroups(_))) => {}
            // A late answer to a join of before; the polls tell more.
            (
                Phase::Waiting | Phase::Ready(_),
                Reply::Refused(Refusal::Busy { .. } | Refusal::TooManyGroups(_)),
            ) => {}
            (Phase::Joining | Phase::Waiting | Phase::Ready(_), Reply::Refused(why)) => {
                self.phase = Phase::Refused(why);
            }
            _ => {}
        }
    }

    /// Member 0 has said that the group is ready.
    pub fn announced(&mut self, announce: &Announce) {
        let mine = (announce.key, announce.incarnation) == (self.join.key, self.join.incarnation);
        if mine
            && matches!(
                self.phase,
                Phase::Joining | Phase::Waiting | Phase::Ready(_)
            )
        {
            self.ready(announce.tree, announce.moves);
        }
    }

    /// Begins to leave; nothing happens if it is out or leaving.
    pub fn leave(&mut self, now: u64) {
        if matches!(
            self.phase,
            Phase::Joining | Phase::Waiting | Phase::Ready(_)
        ) {
            self.phase = Phase::Leaving;
            self.end = now.saturating_add(self.patience.give_up);
            self.next = now;
        }
    }

    fn informed(&mut self, now: u64, status: &Status) {
        let before = self.phase;
        match status.state {
            State::ReceivingJoinReq | State::ComputingRoutes => {
                if before == Phase::Joining {
                    self.phase = Phase::Waiting;
                    self.next = now.saturating_add(self.pause());
                }
            }
            // When others are leaving already, this one may go on until it likes to leave too.
            State::Ready | State::ReceivingLeaveReq => self.ready(status.tree, status.moves),
            State::Destroying => self.phase = Phase::Refused(Refusal::Ended),
        }
        if self.join.rank == 0 && self.phase != before && matches!(self.phase, Phase::Ready(_)) {
            self.outbox.push(Message::Announce(Announce {
                key: self.join.key,
                incarnation: self.join.incarnation,
                tree: status.tree,
                moves: status.moves,
            }));
        }
    }

    /// Takes a tree, unless the news is older than what is known.
    fn ready(&mut self, tree: Option<TreeId>, moves: u32) {
        if !matches!(self.phase, Phase::Ready(_)) || moves > self.moves {
            self.phase = Phase::Ready(tree);
            self.moves = moves;
        }
    }

    /// Time between two polls while the group is not ready.
    fn pause(&self) -> u64 {
        if self.join.rank == 0 {
            self.patience.poll
        } else {
            self.patience.wait
        }
    }

    const fn poll(&self) -> Request {
        Request::Poll(Poll {
            key: self.join.key,
            incarnation: self.join.incarnation,
            endnode: self.join.endnode,
        })
    }

    const fn bye(&self) -> Request {
        Request::Leave(Leave {
            key: self.join.key,
            incarnation: self.join.incarnation,
            endnode: self.join.endnode,
        })
    }
}
