//! What a member does in a round: datagrams and blocks in, and what the machine wants then.

use std::collections::VecDeque;
use std::sync::Arc;

use tributary_protocol::multicast::group::wire::{Body, Datagram, Place};
use tributary_protocol::multicast::group::{Control, Expected, Member, Output};

use super::super::MulticastError;
use super::super::carrier::{Block, Moved};
use super::super::incoming::Leads;
use super::super::memory::Begun;
use super::super::seat::is_older;
use super::{Carrying, Group, nanos};
use crate::{AddressHandle, EndpointEvent, PostError, WorkCompletionStatus};

/// Events of the endpoint that are looked at in one go.
const EVENTS: usize = 64;

impl Group {
    /// One round: what has come, what has moved, who is there.
    pub(super) fn step(&mut self) -> Result<(), MulticastError> {
        self.flush()?;
        for _ in 0..EVENTS {
            let (from, bytes) = match self.seat.endpoint.poll()? {
                None => break,
                Some(EndpointEvent::Completed { to, status, .. }) => {
                    if status != WorkCompletionStatus::Ok
                        && let Some(&rank) = self.rank_of.get(&to)
                    {
                        self.lost(rank);
                    }
                    continue;
                }
                Some(EndpointEvent::Delivered { from, payload }) => (from, payload.into_owned()),
            };
            match Datagram::decode(&bytes) {
                Ok(datagram) => self.read(from, datagram),
                Err(_) => self.counters.malformed += 1,
            }
        }
        match &mut self.carrying {
            Carrying::Hosts(carrier) => {
                for moved in carrier.run()? {
                    self.moved(moved);
                }
            }
            Carrying::Cards(_) => self.run_cards()?,
        }
        while let Some(number) = self.memory.next_begun() {
            self.with(|member, out| member.buffer(number, out));
        }
        self.look_after();
        self.flush()
    }

    pub(super) fn with(&mut self, what: impl FnOnce(&mut Member, &mut Vec<Output>)) {
        let mut out = Vec::new();
        what(&mut self.member, &mut out);
        self.carry_out(out);
    }

    /// A member was not reached.
    fn lost(&mut self, rank: u32) {
        if self.member.watched().contains(&rank) {
            self.with(|member, out| member.peer_failed(rank, out));
        }
    }

    fn look_after(&mut self) {
        let silence = match self.member.is_open() || self.member.error().is_err() {
            true => nanos(self.options.silence),
            false => nanos(self.options.join),
        };
        let now = self.now();
        if !self.liveness.is_due(now, silence) {
            return;
        }
        let (there, gone) = self.liveness.look(&self.member.watched(), now, silence);
        for to in there {
            self.say(to, Body::Ping);
        }
        for rank in gone {
            self.lost(rank);
        }
    }

    pub(super) fn read(&mut self, from: AddressHandle, datagram: Datagram) {
        let Some(&rank) = self.rank_of.get(&from) else {
            self.counters.stranger += 1;
            return;
        };
        let epoch = self.options.epoch;
        if datagram.epoch != epoch {
            let later = is_older(epoch, datagram.epoch);
            if !later || !self.seat.keep(from, datagram) {
                self.counters.stale += 1;
            }
            return;
        }
        let now = self.now();
        self.liveness.heard(rank, now);
        match datagram.body {
            Body::Ping => self.say(rank, Body::Pong),
            Body::Pong => {}
            Body::Control(control) if control.fits(&self.config) => {
                self.with(|member, out| member.control(rank, epoch, control, out));
            }
            Body::Control(_) => self.counters.strange += 1,
            Body::Ticket(ticket) => self.ticket(rank, ticket),
            Body::Length { message, length } => self.length(rank, message, length),
            // Cards grant blocks themselves.
            Body::Credit { .. } if self.config.offload => self.counters.strange += 1,
            Body::Credit {
                granted,
                expected,
                place,
            } => {
                let peer = self.peers.entry(rank).or_default();
                if granted != peer.granted.wrapping_add(1) {
                    self.counters.strange += 1;
                    return;
                }
                peer.granted = granted;
                peer.credits.push_back((expected, place));
                let credit = Control::Credit { granted, expected };
                self.with(|member, out| member.control(rank, epoch, credit, out));
            }
            Body::Carried {
                tag,
                message,
                block,
                length,
            } => {
                let carried = (message, block, length);
                let leads = self.incoming.carried(rank, tag, carried, &self.config);
                self.leads(leads);
            }
        }
    }

    fn moved(&mut self, moved: Moved) {
        match moved {
            Moved::Sent { message } => {
                if self.member.error().is_ok() {
                    self.with(|member, out| member.block_sent(message, out));
                }
            }
            Moved::Lost { to } => self.lost(to),
            Moved::Strange => self.counters.unexpected += 1,
            Moved::Landed { node, tag, bytes } => {
                let sender = self.incoming.sender(tag);
                let right = sender.filter(|&rank| self.ranks[rank as usize].node() == node);
                if right.is_none() {
                    self.counters.unexpected += 1;
                    return;
                }
                let memory = &self.memory;
                let length_of = |message| memory.find(message).map(|(length, _)| length);
                let leads = self.incoming.landed(tag, bytes, &self.config, length_of);
                self.leads(leads);
            }
        }
    }

    fn leads(&mut self, leads: Leads) {
        match leads {
            Leads::Nowhere => {}
            Leads::Unexpected => self.counters.unexpected += 1,
            // It cannot be trusted with memory any more.
            Leads::Wrong { from } => {
                self.counters.unexpected += 1;
                self.lost(from);
            }
            Leads::Arrived(a) => {
                if a.is_first {
                    self.memory.stage(a.message, a.block, a.bytes);
                }
                let (epoch, now) = (self.options.epoch, self.now());
                self.liveness.heard(a.from, now);
                self.with(|member, out| {
                    member.block_arrived(a.from, epoch, (a.message, a.block), a.length, out);
                });
            }
        }
    }

    /// Does what the machine wants, and what it wants then.
    pub(super) fn carry_out(&mut self, out: Vec<Output>) {
        let mut todo = VecDeque::from(out);
        let mut more = Vec::new();
        while let Some(output) = todo.pop_front() {
            match output {
                Output::Control {
                    to,
                    control: Control::Credit { granted, expected },
                } => self.grant(to, granted, expected),
                Output::Control { to, control } => self.say(to, Body::Control(control)),
                Output::Block {
                    to,
                    message,
                    block,
                    length,
                } => {
                    if !self.start(to, message, block, length) {
                        self.member.peer_failed(to, &mut more);
                    }
                }
                Output::Begin { message, length } => match self.memory.begin(message, length) {
                    Begun::Here => self.member.buffer(message, &mut more),
                    Begun::Later => {}
                    Begun::Never => self.member.refuse(message, &mut more),
                },
                Output::Delivered { message, .. } => {
                    self.ready.extend(self.memory.deliver(message));
                }
                Output::Released { message } => {
                    self.memory.release(message, self.member.rank() == 0);
                }
                Output::Resumed { messages } => {
                    self.sent = messages;
                    self.is_resuming = false;
                }
                Output::Post(job) => self.post(job),
                // The state of the machine says it to the host.
                Output::Failed { .. } | Output::Closed(_) => self.stop_card(),
            }
            todo.extend(more.drain(..));
        }
    }

    /// Lets a member send a block, and says where it shall land.
    fn grant(&mut self, to: u32, granted: u32, expected: Expected) {
        let Carrying::Hosts(carrier) = &self.carrying else {
            return;
        };
        let there = match expected.block {
            None => Some(self.memory.first_place()),
            Some(block) => {
                let found = self.memory.find(expected.message);
                found.map(|(_, memory)| memory.remote().at(self.config.offset(block)))
            }
        };
        // The machine grants later blocks when there is memory, so there is.
        let Some(there) = there else { return };
        let place = Place {
            tag: self.incoming.grant(to, expected),
            qp_num: carrier.qp_num(),
            rkey: there.rkey,
            address: there.address,
        };
        let body = Body::Credit {
            granted,
            expected,
            place,
        };
        self.say(to, body);
    }

    /// Starts to send a block; false if its receiver has granted another one.
    fn start(&mut self, to: u32, message: u32, block: u32, length: u64) -> bool {
        let peer = self.peers.entry(to).or_default();
        let Some((expected, place)) = peer.credits.pop_front() else {
            return false;
        };
        let right = expected.message == message && expected.block.is_none_or(|b| b == block);
        let Some((_, memory)) = self.memory.find(message).filter(|_| right) else {
            self.counters.strange += 1;
            return false;
        };
        let Carrying::Hosts(carrier) = &mut self.carrying else {
            return false;
        };
        carrier.send(Block {
            to,
            message,
            node: self.ranks[to as usize].node(),
            memory: Arc::clone(memory),
            part: (
                self.config.offset(block) as usize,
                self.config.bytes_of(length, block),
            ),
            place,
        });
        if expected.block.is_none() {
            let tag = place.tag;
            let body = Body::Carried {
                tag,
                message,
                block,
                length,
            };
            self.say(to, body);
        }
        true
    }

    pub(super) fn say(&mut self, to: u32, body: Body) {
        let epoch = self.options.epoch;
        // Only a credit without a place has no bytes, and those are made above.
        if let Ok(bytes) = (Datagram { epoch, body }).encode() {
            self.unsent.push_back((to, bytes));
        }
    }

    /// Gives datagrams to the endpoint, in order, as far as it has room.
    pub(super) fn flush(&mut self) -> Result<(), MulticastError> {
        while self.broken.is_none()
            && let Some((to, bytes)) = self.unsent.front()
        {
            let to = self.ranks[*to as usize];
            match self.seat.endpoint.send_copy(to, bytes) {
                Ok(_) => {
                    self.unsent.pop_front();
                }
                Err(PostError::Full(_)) => break,
                // The others find this member silent.
                Err(PostError::TooLong { bytes, max }) => self.broken = Some((bytes, max)),
                Err(error) => return Err(error.into()),
            }
        }
        match self.broken {
            Some((bytes, max)) => Err(PostError::TooLong { bytes, max }.into()),
            None => Ok(()),
        }
    }
}
