//! Queue pairs in reduction groups (CL-5): their work requests leave as reduction frames, and each frame of the group that comes is
//! one completion. What the frames mean to each other is the driver's matter, but for results that the root's card answers (CL-6).

use std::collections::VecDeque;

use super::{CardModel, HostMemory, OUT_MAX, Queue, send::unreadable};
use crate::card::command::argument::join_group;
use crate::card::command::{State, Status};
use crate::card::descriptor::{
    Arrival, Completion, Of, ReductionRequest, WORK_LEN, WorkRequest, flags,
};
use crate::card::regs::{Counter, ReductionCounter};
use crate::red::address::REDUCTIONS;
use crate::red::answer::Answers;
use crate::red::wire::{DEFAULT_ETHERTYPE, Fabric, Frame, Restricted};
use crate::red::{Address, Key};
use crate::xud::Outcome;

/// The group of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    pub vni: u16,
    pub tree: u16,
    /// A multiple of 8; frames carry it plus their reduction id.
    pub cookie: u32,
    /// Of the root: results that are to be answered, by reduction id.
    pub answers: Option<[Answers; REDUCTIONS as usize]>,
}

impl Membership {
    /// Whether a frame is one of the group, at a node with this address.
    fn has(&self, frame: &Frame, own: Address) -> bool {
        let reduction = (frame.red.cookie % u32::from(REDUCTIONS)) as u8;
        let key = Key {
            tree: self.tree,
            reduction,
        };
        (self.vni, self.cookie + u32::from(reduction)) == (frame.fabric.vni, frame.red.cookie)
            && (frame.fabric.dfa == own || frame.fabric.dfa.multicast() == Some(key))
    }
}

/// What waits: frames for the line, and completions for host memory. Slots of the latter are reserved.
#[derive(Clone, Debug, Default)]
pub(super) struct Reductions {
    pub out: VecDeque<Vec<u8>>,
    landing: VecDeque<(u32, Arrival)>,
    counters: [u64; ReductionCounter::ALL.len()],
}

impl Reductions {
    pub fn counter(&self, counter: ReductionCounter) -> u64 {
        self.counters[usize::from(counter.code() - ReductionCounter::ALL[0].code())]
    }

    fn count(&mut self, counter: ReductionCounter) {
        self.counters[usize::from(counter.code() - ReductionCounter::ALL[0].code())] += 1;
    }

    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let frame = self.out.pop_front()?;
        self.count(ReductionCounter::Sent);
        Some(frame)
    }

    /// Nothing waits for host memory.
    pub fn is_at_rest(&self) -> bool {
        self.landing.is_empty()
    }

    pub fn is_idle(&self) -> bool {
        self.out.is_empty() && self.landing.is_empty()
    }

    /// What has arrived for a queue pair that is no more is forgotten.
    pub fn end_queue_pair(&mut self, qpn: u32) {
        self.landing.retain(|(of, _)| *of != qpn);
    }
}

/// Whether a frame has the ethertype of reductions.
pub(super) fn is_reduction(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&DEFAULT_ETHERTYPE.to_be_bytes())
}

impl CardModel {
    /// A counter of reductions; 0 without them.
    #[must_use]
    pub fn reduction_counter(&self, counter: ReductionCounter) -> u64 {
        (self.reductions.as_ref()).map_or(0, |reductions| reductions.counter(counter))
    }

    fn count_reduction(&mut self, counter: ReductionCounter) {
        if let Some(reductions) = &mut self.reductions {
            reductions.count(counter);
        }
    }

    /// JOIN_GROUP.
    pub(super) fn join_group(&mut self, qpn: u32) -> Result<(), Status> {
        let value = |argument| self.argument(argument);
        let group = Membership {
            vni: value(&join_group::VNI) as u16,
            tree: value(&join_group::TREE) as u16,
            cookie: value(&join_group::COOKIE) as u32,
            answers: match value(&join_group::MEMBERS) as u32 {
                0 => None,
                members => Some([Answers::new(members); REDUCTIONS as usize]),
            },
        };
        let named = |queue: &Queue| {
            (queue.group).is_some_and(|g| (g.vni, g.cookie) == (group.vni, group.cookie))
        };
        let members = self.queues.values().filter(|queue| queue.group.is_some());
        if self.queues.values().any(named) || members.count() >= self.config.groups {
            return Err(Status::BadState);
        }
        let queue = self.queues.get_mut(&qpn).ok_or(Status::BadState)?;
        if queue.state != State::Init || queue.group.is_some() {
            return Err(Status::BadState);
        }
        queue.group = Some(group);
        Ok(())
    }

    /// One work request of a queue pair in a group, if there is a completion slot for it.
    pub(super) fn send_reduction(&mut self, qpn: u32, memory: &mut dyn HostMemory) -> bool {
        if !self.engine.reserve_slot(qpn) {
            self.count(Counter::StallCredit);
            return false;
        }
        self.turn = qpn;
        let node = self.registers.node();
        let Some(queue) = self.queues.get_mut(&qpn) else {
            return false;
        };
        let (psn, number) = (queue.psn, queue.send.consumer);
        let mut entry = [0; WORK_LEN];
        if memory
            .read(queue.send.entry(number, WORK_LEN), &mut entry)
            .is_err()
        {
            self.fatal(qpn, unreadable(Of::Send, psn, number), memory);
            return true;
        }
        queue.send.consumer = number.wrapping_add(1);
        queue.psn = psn.wrapping_add(1) & 0xff_ffff;
        let asked = ReductionRequest::decode(&entry).zip(queue.group.as_mut());
        let signal = asked.as_ref().is_none_or(|(request, _)| {
            let flags = request.flags.into();
            flags::SIGNAL.get(flags) != 0
        });
        let leaves = asked.map(|(request, group)| {
            let frame = frame(node, group, &request);
            let answers = group.answers.as_mut();
            let leaves = answers.is_none_or(|a| a[usize::from(request.reduction)].leaves(&frame));
            leaves.then_some(frame)
        });
        let status = match leaves {
            Some(Some(frame)) => {
                if let Some(reductions) = &mut self.reductions {
                    let bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
                    reductions.out.push_back(bytes);
                }
                Outcome::Ok
            }
            Some(None) => {
                self.count_reduction(ReductionCounter::Overtaken);
                Outcome::Overtaken
            }
            None => {
                self.count(Counter::LocalError);
                Outcome::LocalOpcode
            }
        };
        if !signal {
            self.engine.release(qpn, 1);
            return true;
        }
        let ended = Completion {
            wr_id: WorkRequest::decode(&entry).wr_id,
            status,
            ..unreadable(Of::Send, 0, number)
        };
        self.complete(qpn, ended, memory);
        true
    }

    /// Whether another frame of a group may be made.
    pub(super) fn has_room_for_reductions(&self) -> bool {
        (self.reductions.as_ref()).is_some_and(|reductions| reductions.out.len() < OUT_MAX)
    }

    /// A frame with the ethertype of reductions.
    pub(super) fn take_reduction(&mut self, bytes: &[u8]) {
        let Ok(frame) = Frame::parse(bytes, DEFAULT_ETHERTYPE) else {
            return self.count_reduction(ReductionCounter::BadFrame);
        };
        let own = Address::unicast(self.registers.node(), 0);
        let of = |queue: &Queue| {
            let receives = queue.state.receives() && !queue.fatal;
            receives && queue.group.is_some_and(|group| group.has(&frame, own))
        };
        let Some((&qpn, queue)) = self.queues.iter_mut().find(|(_, queue)| of(queue)) else {
            return self.count_reduction(ReductionCounter::Foreign);
        };
        if !self.engine.reserve_slot(qpn) {
            return self.count_reduction(ReductionCounter::NoSlot);
        }
        let reduction = (frame.red.cookie % u32::from(REDUCTIONS)) as u8;
        let answers = queue.group.as_mut().and_then(|g| g.answers.as_mut());
        let answer = answers.and_then(|a| a[usize::from(reduction)].answer(&frame, own));
        let arrival = Arrival {
            kind: frame.restricted.opcode,
            round: frame.restricted.remote_offset,
            reduction,
            by_tree: frame.fabric.dfa != own,
            fetched: queue.send.consumer,
            source: frame.fabric.sfa,
            red: frame.red,
            data: frame.data,
            answered: answer.is_some(),
            number: 0,
        };
        self.count_reduction(ReductionCounter::Received);
        if let Some(reductions) = &mut self.reductions {
            if let Some(answer) = answer {
                reductions.count(ReductionCounter::Answered);
                let bytes = answer.to_bytes(DEFAULT_ETHERTYPE).to_vec();
                reductions.out.push_back(bytes);
            }
            reductions.landing.push_back((qpn, arrival));
        }
    }

    /// Completions of what has arrived.
    pub(super) fn land_reductions(&mut self, memory: &mut dyn HostMemory) {
        while let Some((qpn, arrival)) =
            (self.reductions.as_mut()).and_then(|r| r.landing.pop_front())
        {
            if let Some(queue) = self.queues.get_mut(&qpn) {
                let fetched = queue.send.consumer;
                let log = queue.complete.log;
                queue.write_entry(memory, |number| {
                    let arrival = Arrival {
                        fetched,
                        number,
                        ..arrival
                    };
                    arrival.encode(log)
                });
                if queue.take_due() {
                    self.interrupts.raise(queue.vector);
                }
            }
        }
    }
}

/// The frame that a work request asks for.
fn frame(node: u32, group: &Membership, request: &ReductionRequest) -> Frame {
    let key = Key {
        tree: group.tree,
        reduction: request.reduction,
    };
    let to = (request.to).map_or(key.address(), |node| Address::unicast(node, 0));
    let mut red = request.red;
    red.cookie = group.cookie + u32::from(request.reduction);
    Frame {
        fabric: Fabric::new(Address::unicast(node, 0), to, group.vni),
        restricted: Restricted {
            opcode: request.kind,
            remote_offset: request.round,
            ..Restricted::default()
        },
        red,
        data: request.data,
    }
}
