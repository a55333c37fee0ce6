//! Joins, leaves, polls, deaths and deadlines.

use super::record::{Member, Phase, Record};
use super::{Ending, Event, GroupKey, Join, Leave, Manager, Poll, Refusal, Reply, State};
use crate::group::Group;
use crate::network::EndnodeId;

impl Manager {
    /// A member joins.
    pub fn join(&mut self, now: u64, join: Join) -> Reply {
        self.lapse(now, join.key);
        let reply = self.admit(&join);
        self.rearm(join.key);
        self.answer(reply)
    }

    /// A member leaves.
    pub fn leave(&mut self, now: u64, leave: Leave) -> Reply {
        self.lapse(now, leave.key);
        let known = self.known(leave.key, leave.incarnation, leave.endnode);
        let reply = known.map(|member| {
            if member.left {
                self.counters.repeated_leaves += 1;
            } else {
                self.counters.leaves += 1;
                self.gone(leave.key, leave.endnode);
            }
            Reply::Out
        });
        self.answer(reply)
    }

    /// A member asks how far its group is.
    pub fn poll(&mut self, now: u64, poll: Poll) -> Reply {
        self.lapse(now, poll.key);
        let known = self.known(poll.key, poll.incarnation, poll.endnode);
        let reply = known.and_then(|member| {
            let record = self.groups.get_mut(&poll.key).ok_or(Refusal::NoGroup)?;
            if record.state == State::Ready && !member.left {
                record.deadline = self.config.lease.map(|l| self.now.saturating_add(l));
            }
            Ok(Reply::In(record.status()))
        });
        self.rearm(poll.key);
        self.counters.polls += u64::from(reply.is_ok());
        self.answer(reply)
    }

    /// An endnode has died or is cut off for good: it counts as having left all its groups.
    pub fn endnode_failed(&mut self, now: u64, endnode: EndnodeId) {
        self.advance(now);
        for key in self.keys() {
            let member = self.groups.get(&key).and_then(|r| r.members.get(&endnode));
            if member.is_some_and(|m| !m.left) {
                self.counters.crashes += 1;
                self.gone(key, endnode);
            }
        }
    }

    /// Does what is due by now.
    pub fn tick(&mut self, now: u64) {
        self.advance(now);
        while let Some(&(at, key)) = self.timers.first()
            && at <= self.now
        {
            self.timers.pop_first();
            if let Some(record) = self.groups.get_mut(&key) {
                record.timer = None;
                self.due(key);
                self.rearm(key);
            }
        }
        if std::mem::take(&mut self.released) {
            self.retry(false);
        }
    }

    /// Does what is due for one group, so that its timeouts hold even if the owner is late with [`Manager::tick`].
    fn lapse(&mut self, now: u64, key: GroupKey) {
        self.advance(now);
        while let Some(record) = self.groups.get(&key)
            && record.timer.is_some_and(|at| at <= self.now)
        {
            self.due(key);
            self.rearm(key);
        }
    }

    fn answer(&mut self, reply: Result<Reply, Refusal>) -> Reply {
        reply.unwrap_or_else(|why| {
            self.counters.refused[why.kind()] += 1;
            Reply::Refused(why)
        })
    }

    /// The sender of a leave or poll.
    fn known(
        &self,
        key: GroupKey,
        incarnation: u64,
        endnode: EndnodeId,
    ) -> Result<Member, Refusal> {
        self.exists(endnode)?;
        let record = self.groups.get(&key).ok_or(Refusal::NoGroup)?;
        if incarnation < record.incarnation {
            return Err(Refusal::Stale {
                incarnation,
                current: record.incarnation,
            });
        }
        if incarnation > record.incarnation {
            return Err(Refusal::NoGroup);
        }
        record
            .members
            .get(&endnode)
            .copied()
            .ok_or(Refusal::NotMember)
    }

    fn exists(&self, endnode: EndnodeId) -> Result<(), Refusal> {
        if (endnode as usize) < self.network.endnodes().len() {
            Ok(())
        } else {
            Err(Refusal::UnknownEndnode(endnode))
        }
    }

    fn admit(&mut self, join: &Join) -> Result<Reply, Refusal> {
        let &Join {
            key,
            size,
            rank,
            endnode,
            ..
        } = join;
        self.exists(endnode)?;
        let max = self.network.endnodes().len() as u32;
        if size == 0 || size > max {
            return Err(Refusal::BadSize { size, max });
        }
        if rank >= size {
            return Err(Refusal::BadRank { rank, size });
        }
        self.begin(join)?;
        let record = self.groups.get_mut(&key).ok_or(Refusal::NoGroup)?;
        if let Some(member) = record.members.get(&endnode) {
            if size != record.size {
                return Err(differs(size, record));
            }
            if member.rank != rank {
                return Err(Refusal::Duplicate(member.rank));
            }
            if record.state == State::Destroying {
                return Err(Refusal::Ended);
            }
            if member.left {
                return Err(Refusal::HasLeft);
            }
            self.counters.repeated_joins += 1;
            return Ok(Reply::In(record.status()));
        }
        match record.state {
            State::Destroying => return Err(Refusal::Ended),
            _ if size != record.size => return Err(differs(size, record)),
            State::ReceivingJoinReq => {}
            _ => return Err(Refusal::Full(record.size)),
        }
        if let Some(&other) = record.ranks.get(&rank) {
            return Err(Refusal::RankTaken(other));
        }
        record.members.insert(endnode, Member { rank, left: false });
        record.ranks.insert(rank, endnode);
        self.counters.joins += 1;
        if record.members.len() as u32 == record.size {
            let members: Vec<_> = record.members.keys().copied().collect();
            record.group = Group::new(&self.network, members).ok();
            record.state = State::ComputingRoutes;
            record.deadline = None;
            self.queue.insert(key);
        }
        Ok(Reply::In(record.status()))
    }

    /// Makes sure that the life of the group that a join names is the one that is known.
    fn begin(&mut self, join: &Join) -> Result<(), Refusal> {
        let (key, incarnation) = (join.key, join.incarnation);
        let deadline = self.now.saturating_add(self.config.join_timeout);
        let count = self.groups.len() as u32;
        let Some(record) = self.groups.get(&key) else {
            if count >= self.config.groups_max {
                return Err(Refusal::TooManyGroups(count));
            }
            self.counters.begun += 1;
            let record = Record::new(incarnation, join.size, deadline);
            self.groups.insert(key, record);
            return Ok(());
        };
        let current = record.incarnation;
        if incarnation < current {
            return Err(Refusal::Stale {
                incarnation,
                current,
            });
        }
        if incarnation == current {
            return Ok(());
        }
        if record.state == State::ReceivingJoinReq {
            self.counters.superseded += 1;
            self.counters.begun += 1;
            let timer = record.timer;
            let record = Record {
                timer,
                ..Record::new(incarnation, join.size, deadline)
            };
            self.groups.insert(key, record);
            return Ok(());
        }
        let member = record.members.get(&join.endnode);
        if member.is_some_and(|m| !m.left) {
            self.counters.crashes += 1;
            self.gone(key, join.endnode);
        }
        Err(Refusal::Busy { current })
    }

    /// A member has left, in whatever way.
    fn gone(&mut self, key: GroupKey, endnode: EndnodeId) {
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        if let Some(member) = record.members.get_mut(&endnode) {
            member.left = true;
            record.left += 1;
        }
        let all = record.left == record.size;
        match record.state {
            State::ReceivingJoinReq | State::ComputingRoutes => {
                self.destroy(key, Ending::Withdrawn);
            }
            State::Ready | State::ReceivingLeaveReq if all => self.destroy(key, Ending::AllLeft),
            State::Ready => {
                record.state = State::ReceivingLeaveReq;
                record.deadline = Some(self.now.saturating_add(self.config.leave_timeout));
            }
            State::ReceivingLeaveReq | State::Destroying => {}
        }
        self.rearm(key);
    }

    /// The end of a group begins: it sends no longer, its trees drain.
    pub(super) fn destroy(&mut self, key: GroupKey, how: Ending) {
        self.queue.remove(&key);
        self.waiting.remove(&key);
        self.retire(key);
        let until = self.now.saturating_add(self.config.drain);
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        record.state = State::Destroying;
        record.announced = None;
        record.deadline = Some(until);
        for tree in &mut record.retired {
            if tree.phase == Phase::InUse {
                tree.phase = Phase::Draining(until);
            }
        }
        self.events.push(Event::Ended { key, how });
    }

    /// Something of a group is due.
    fn due(&mut self, key: GroupKey) {
        self.clear_drained(key);
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        if record.deadline.is_none_or(|at| at > self.now) {
            return;
        }
        record.deadline = None;
        match record.state {
            State::ReceivingJoinReq => {
                self.counters.join_timeouts += 1;
                self.destroy(key, Ending::JoinTimeout);
            }
            State::ReceivingLeaveReq => {
                self.counters.leave_timeouts += 1;
                self.destroy(key, Ending::LeaveTimeout);
            }
            State::Destroying => self.forget(key),
            State::Ready => {
                self.counters.leases += 1;
                record.state = State::ReceivingLeaveReq;
                record.deadline = Some(self.now.saturating_add(self.config.leave_timeout));
            }
            State::ComputingRoutes => {}
        }
    }

    /// Forgets a group whose end is over.
    pub(super) fn forget(&mut self, key: GroupKey) {
        let over = self.groups.get(&key).is_some_and(|r| {
            r.state == State::Destroying && r.retired.is_empty() && r.deadline.is_none()
        });
        if over && let Some(record) = self.groups.remove(&key) {
            if let Some(at) = record.timer {
                self.timers.remove(&(at, key));
            }
            self.counters.ended += 1;
        }
    }
}

fn differs(stated: u32, record: &Record) -> Refusal {
    Refusal::SizeDiffers {
        stated,
        size: record.size,
    }
}
