//! Work requests: out of the rings in turns, checked, sent, ended.

use super::bulk::Begun;
use super::queue::{Flying, Queue};
use super::regions::{Regions, Right};
use super::{CardModel, HostMemory, OUT_MAX};
use crate::card::command::State;
use crate::card::descriptor::{
    Completion, HEAD_MAX, OPCODE_ATOMIC, OPCODE_BULK_READ, OPCODE_BULK_WRITE, OPCODE_READ,
    OPCODE_SEND, OPCODE_WRITE, Of, WORK_LEN, WorkRequest, flags,
};
use crate::card::regs::Counter;
use crate::roce::Link;
use crate::xud::card::Stall;
use crate::xud::onesided::{HEADER_LEN, OPERANDS_LEN};
use crate::xud::table::Wants;
use crate::xud::wire::ONE_SIDED;
use crate::xud::{self, Outcome, Peer, SendRequest, Window, wire};

/// A completion of which only the status and the number are still missing.
fn completion(work: &WorkRequest, psn: u32, request: u16) -> Completion {
    Completion {
        wr_id: work.wr_id,
        status: Outcome::Ok,
        of: Of::Send,
        version_flags: work.version_flags,
        length: 0,
        peer: work.to,
        window: work.window,
        q_key: 0,
        psn,
        request,
        number: 0,
        marked: false,
    }
}

/// A completion LOCAL_QUEUE: a ring cannot be read. Of a send ring it has PSN and number of the work request that was fetched.
pub(super) fn unreadable(of: Of, psn: u32, request: u16) -> Completion {
    Completion {
        wr_id: 0,
        status: Outcome::LocalQueue,
        of,
        version_flags: 0,
        length: 0,
        peer: Peer { node: 0, qpn: 0 },
        window: Window::default(),
        q_key: 0,
        psn,
        request,
        number: 0,
        marked: false,
    }
}

/// Whether a work request can be sent; the order of the checks is the contract's.
fn check(work: &WorkRequest, mtu: u16, domain: u16, regions: &Regions) -> Result<(), Outcome> {
    let head = usize::from(work.head_len);
    if head > HEAD_MAX || head as u64 + u64::from(work.length) > u64::from(mtu) {
        return Err(Outcome::LocalLength);
    }
    let answered = match work.opcode {
        OPCODE_READ => work.length > 0 && work.length + HEADER_LEN as u32 <= u32::from(mtu),
        OPCODE_ATOMIC => work.length == OPERANDS_LEN as u32,
        _ => true,
    };
    if !answered {
        return Err(Outcome::LocalLength);
    }
    if work.to.qpn >= 1 << 24 {
        return Err(Outcome::LocalAddress);
    }
    let (version, flags) = (work.version_flags >> 4, work.version_flags & 15);
    let plain = flags == 0 && work.window.epoch == 0;
    let known = match (work.opcode, version) {
        (OPCODE_SEND, 0) => plain,
        (OPCODE_SEND, 1) => flags != ONE_SIDED && wire::flags_known(flags),
        (OPCODE_WRITE | OPCODE_READ | OPCODE_ATOMIC, 1) => flags == ONE_SIDED && head == HEADER_LEN,
        _ => false,
    };
    if !known {
        return Err(Outcome::LocalOpcode);
    }
    let right = match work.opcode {
        OPCODE_READ | OPCODE_ATOMIC => Right::LocalWrite,
        _ => Right::LocalRead,
    };
    if !regions.allow(work.lkey, domain, work.address, work.length.into(), right) {
        return Err(Outcome::LocalProtection);
    }
    Ok(())
}

impl CardModel {
    /// What was posted, and packets of bulk transfers.
    pub(super) fn work(&mut self, memory: &mut dyn HostMemory, now: u64) {
        if self.pci.bus_master {
            self.read_ahead(memory);
            if self.registers.enabled() {
                self.send_all(memory, now);
                self.ended(memory);
            }
        }
        if self.registers.enabled() {
            self.with_bulk(|bulk, card| bulk.work(card, memory, now));
        }
    }

    /// Queue pairs take turns as long as there is room for frames.
    pub(super) fn send_all(&mut self, memory: &mut dyn HostMemory, now: u64) {
        let mut progress = true;
        while progress && self.out.len() < OUT_MAX {
            progress = false;
            let after = self.turn.wrapping_add(1);
            let ready: Vec<u32> = self
                .queues
                .range(after..)
                .chain(self.queues.range(..after))
                .filter(|(_, queue)| queue.state.sends())
                .filter(|(_, queue)| queue.send.held() > 0 || queue.parked.is_some())
                .map(|(qpn, _)| *qpn)
                .collect();
            for qpn in ready {
                if self.out.len() >= OUT_MAX {
                    return;
                }
                progress |= self.send_one(qpn, memory, now);
            }
        }
    }

    /// One work request of a queue pair, if there is a completion slot and a place in flight for it.
    fn send_one(&mut self, qpn: u32, memory: &mut dyn HostMemory, now: u64) -> bool {
        if self.queues.get(&qpn).is_some_and(|q| q.group.is_some()) {
            return self.has_room_for_reductions() && self.send_reduction(qpn, memory);
        }
        if let Some((work, psn, request)) = self.queues.get(&qpn).and_then(|queue| queue.parked) {
            self.turn = qpn;
            return self.begin(qpn, &work, psn, request, memory, now);
        }
        let psn = match self.engine.reserve(qpn) {
            Ok(psn) => psn,
            Err(stall) => {
                self.count(match stall {
                    Stall::Credit => Counter::StallCredit,
                    Stall::Place => Counter::StallPlace,
                });
                return false;
            }
        };
        self.turn = qpn;
        let Some(queue) = self.queues.get_mut(&qpn) else {
            return false;
        };
        let request = queue.send.consumer;
        let mut entry = [0; WORK_LEN];
        if memory
            .read(queue.send.entry(request, WORK_LEN), &mut entry)
            .is_err()
        {
            self.fatal(qpn, unreadable(Of::Send, psn, request), memory);
            return true;
        }
        queue.send.consumer = request.wrapping_add(1);
        let work = WorkRequest::decode(&entry);
        self.begin(qpn, &work, psn, request, memory, now);
        true
    }

    /// Whether a fetched work request has to wait: for its fence, or for its place in flight if it has waited for that.
    fn waits(&self, queue: &Queue, qpn: u32, work: &WorkRequest, psn: u32) -> bool {
        let Some(bulk) = &self.bulk else {
            return false;
        };
        let fenced = flags::FENCE.get(work.flags.into()) != 0 && !bulk.ignores_fences();
        (fenced && (!queue.flying.is_empty() || bulk.works_for(qpn)))
            || (queue.parked.is_some() && !self.engine.has_place(qpn, psn))
    }

    /// Begins a work request that was fetched, or lets it wait; false if it waits already and goes on waiting.
    fn begin(
        &mut self,
        qpn: u32,
        work: &WorkRequest,
        psn: u32,
        request: u16,
        memory: &mut dyn HostMemory,
        now: u64,
    ) -> bool {
        let Some(queue) = self.queues.get(&qpn) else {
            return false;
        };
        let domain = queue.domain;
        let ended = completion(work, psn, request);
        let mut begun = Ok(Begun::Yes);
        let is_bulk =
            self.bulk.is_some() && matches!(work.opcode, OPCODE_BULK_WRITE | OPCODE_BULK_READ);
        if self.waits(queue, qpn, work, psn) {
            begun = Ok(Begun::Later);
        } else if is_bulk {
            begun = self.begin_bulk(qpn, work, ended, now);
        }
        if let Some(queue) = self.queues.get_mut(&qpn) {
            let later = begun == Ok(Begun::Later);
            queue.parked = later.then_some((*work, psn, request));
            if later {
                return false;
            }
        }
        if let Err(status) = begun {
            self.count(Counter::LocalError);
            self.complete(qpn, Completion { status, ..ended }, memory);
            self.tell_rings_ended(qpn, status);
        } else if !is_bulk {
            self.launch(qpn, work, ended, domain, memory, now);
        }
        true
    }

    /// Sends a datagram or one-sided request.
    fn launch(
        &mut self,
        qpn: u32,
        work: &WorkRequest,
        ended: Completion,
        domain: u16,
        memory: &mut dyn HostMemory,
        now: u64,
    ) {
        let psn = ended.psn;
        let payload = check(work, self.registers.mtu(), domain, &self.regions)
            .and_then(|()| self.payload(work, memory));
        let payload = match payload {
            Ok(payload) => payload,
            Err(status) => {
                self.count(Counter::LocalError);
                self.complete(qpn, Completion { status, ..ended }, memory);
                return;
            }
        };
        let send = SendRequest {
            id: psn.into(),
            to: work.to,
            version: work.version_flags >> 4,
            flags: work.version_flags & 15,
            window: work.window,
            head: payload,
            buffer: Default::default(),
            range: (0, 0),
        };
        let wants = match work.opcode {
            OPCODE_READ => Wants::Bytes(work.length),
            OPCODE_ATOMIC => Wants::Old,
            _ => Wants::Acknowledgement,
        };
        let out = self.engine.launch(qpn, psn, send, wants, now);
        let link = Link::between(self.registers.node(), work.to.node);
        // What was checked fits into a frame.
        let frame = out.and_then(|out| wire::encode_frame(&link, &out.packet).ok());
        self.out.extend(frame);
        if let Some(queue) = self.queues.get_mut(&qpn) {
            let flying = Flying {
                ended,
                address: work.address,
                lkey: work.lkey,
            };
            queue.flying.insert(psn, flying);
        }
    }

    /// Head, then the bytes from memory; of a read none.
    fn payload(
        &mut self,
        work: &WorkRequest,
        memory: &mut dyn HostMemory,
    ) -> Result<Vec<u8>, Outcome> {
        let head = usize::from(work.head_len);
        let mut payload = work.head[..head].to_vec();
        if work.opcode == OPCODE_READ {
            return Ok(payload);
        }
        payload.resize(head + work.length as usize, 0);
        if work.length > 0 && memory.read(work.address, &mut payload[head..]).is_err() {
            self.count(Counter::ReadFailed);
            return Err(Outcome::LocalDma);
        }
        Ok(payload)
    }

    /// Completions of requests that the engine has ended.
    pub(super) fn ended(&mut self, memory: &mut dyn HostMemory) {
        for qpn in self.engine.ended() {
            while let Some(completion) = self.engine.take(qpn) {
                let xud::Completion::Sent {
                    id,
                    outcome,
                    marked,
                } = completion
                else {
                    continue;
                };
                let queue = self.queues.get_mut(&qpn);
                if let Some(flying) = queue.and_then(|queue| queue.flying.remove(&(id as u32))) {
                    let status = outcome;
                    // Only what answers a one-sided request finds its region gone here.
                    if status == Outcome::LocalProtection {
                        self.count(Counter::LocalError);
                    }
                    let ended = Completion {
                        status,
                        marked,
                        ..flying.ended
                    };
                    self.complete(qpn, ended, memory);
                }
            }
        }
    }

    /// A ring cannot be read: one completion says so in the slot that was reserved, and the queue pair is over.
    pub(super) fn fatal(&mut self, qpn: u32, ended: Completion, memory: &mut dyn HostMemory) {
        self.count(Counter::ReadFailed);
        self.count(Counter::LocalError);
        self.complete(qpn, ended, memory);
        self.fatal_silently(qpn);
    }

    /// The same without a slot for the completion.
    pub(super) fn fatal_silently(&mut self, qpn: u32) {
        self.engine.set_receiving(qpn, false);
        if let Some(queue) = self.queues.get_mut(&qpn) {
            queue.fatal = true;
            queue.state = State::Error;
        }
    }
}
