//! Bulk work requests of this host: checked, begun, ended.

use super::times::{MAX_BUSY, POLLS};
use super::{Bulk, What, Work};
use crate::bulk::{Purpose, ReadMessage, ReadRequest, Transfer};
use crate::card::descriptor::{Completion, OPCODE_BULK_READ, WorkRequest, flags};
use crate::card::model::CardModel;
use crate::card::model::regions::{Regions, Right};
use crate::card::regs::BulkCounter;
use crate::rw::{MTU_RANGE, Outcome as Ending, Request, packets};
use crate::xud::onesided::{
    H_ADDRESS, H_ANSWER, H_LENGTH, H_OPERATION, H_RKEY, HEADER_LEN, Operation,
};
use crate::xud::{Outcome, Peer, Window, wire};

/// Most packets of a transfer.
pub(super) const PACKETS_MAX: u32 = 1 << 21;

/// A READ of this host that has not ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::card::model) struct Reading {
    /// Its completion but for the status.
    pub ended: Completion,
    /// Queue pair that asked.
    pub qpn: u32,
    /// Node of the target.
    pub target: u32,
    pub request: ReadRequest,
    /// When it is asked again, and how much later the next time.
    pub next_at: u64,
    pub interval: u32,
    /// Requests since the target was last heard.
    pub tries: u32,
    pub busy: u32,
    pub heard: bool,
    /// The window of the transfer that answers was opened.
    pub answered: bool,
}

/// What became of a work request that was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::card::model) enum Begun {
    /// It is under way.
    Yes,
    /// Every slot is taken; it waits.
    Later,
}

/// log2 of the packet size for an MTU: the largest power of two that fits.
fn packet_log(mtu: u16) -> u8 {
    (mtu.max(1).ilog2() as u8).clamp(*MTU_RANGE.start(), *MTU_RANGE.end())
}

/// Whether a bulk work request can begin; the order of the checks is the contract's.
pub(in crate::card::model) fn check(
    work: &WorkRequest,
    mtu: u16,
    domain: u16,
    regions: &Regions,
) -> Result<(), Outcome> {
    let remote = H_ADDRESS.get(&work.head);
    let wraps = u128::from(remote) + u128::from(work.length) > 1 << 64;
    if packets(work.length, packet_log(mtu)) > PACKETS_MAX || wraps {
        return Err(Outcome::LocalLength);
    }
    if work.to.qpn >= 1 << 24 {
        return Err(Outcome::LocalAddress);
    }
    let reads = work.opcode == OPCODE_BULK_READ;
    let (operation, right) = if reads {
        (Operation::Read, Right::LocalWrite)
    } else {
        (Operation::Write, Right::LocalRead)
    };
    let of_writes = flags::NOTIFY.mask() | flags::OLDEST_FIRST.mask();
    let allowed = flags::FENCE.mask() | if reads { 0 } else { of_writes };
    let known = usize::from(work.head_len) == HEADER_LEN
        && work.version_flags == wire::ONE_SIDED_FRAME
        && u32::from(work.flags) & !allowed == 0
        && H_OPERATION.get(&work.head) == u64::from(operation.code())
        && (H_ANSWER.get(&work.head), H_LENGTH.get(&work.head)) == (0, 0)
        && (work.window.id, work.window.epoch) == (0, 0);
    if !known {
        return Err(Outcome::LocalOpcode);
    }
    if !regions.allow(work.lkey, domain, work.address, work.length.into(), right) {
        return Err(Outcome::LocalProtection);
    }
    Ok(())
}

/// What a queue pair is to a transfer.
#[derive(Clone, Copy, Debug)]
pub(in crate::card::model) struct Owner {
    pub qpn: u32,
    pub domain: u16,
    pub q_key: u32,
}

impl Bulk {
    /// Whether work requests of a queue pair are under way.
    pub fn works_for(&self, qpn: u32) -> bool {
        let writes = self.works.values();
        let mut writes = writes.filter(|work| matches!(work.what, What::Write(_)));
        writes.any(|work| work.qpn == qpn)
            || self.reads.iter().flatten().any(|read| read.qpn == qpn)
            || self.ended.iter().any(|(of, _)| *of == qpn)
    }

    /// Begins a work request that was checked. `ended` is its completion but for the status; its slot is reserved.
    pub fn begin(
        &mut self,
        owner: Owner,
        work: &WorkRequest,
        ended: Completion,
        mtu: u16,
        now: u64,
    ) -> Begun {
        let tick = self.times.tick(now);
        if work.opcode == OPCODE_BULK_READ {
            return self.begin_read(owner, work, ended, mtu, tick);
        }
        let purpose = if flags::NOTIFY.get(work.flags.into()) != 0 {
            Purpose::Notify(work.window.msn)
        } else {
            Purpose::Write
        };
        let header = Transfer {
            qpn: work.to.qpn,
            source: owner.qpn,
            q_key: owner.q_key,
            purpose,
        };
        let request = Request {
            dst: work.to.node,
            addr: H_ADDRESS.get(&work.head),
            rkey: H_RKEY.get(&work.head) as u32,
            length: work.length,
            mtu: packet_log(mtu),
            oldest_first: flags::OLDEST_FIRST.get(work.flags.into()) != 0,
        };
        // What else could be wrong was checked.
        let Ok((slot, _)) = self.sender.start(request, tick) else {
            return Begun::Later;
        };
        let work = Work {
            what: What::Write(ended),
            qpn: owner.qpn,
            domain: owner.domain,
            address: work.address,
            key: work.lkey,
            to: work.to,
            header,
            ends_as: None,
        };
        self.works.insert(slot, work);
        Begun::Yes
    }

    fn begin_read(
        &mut self,
        owner: Owner,
        work: &WorkRequest,
        ended: Completion,
        mtu: u16,
        tick: u64,
    ) -> Begun {
        let Some(place) = self.reads.iter().position(Option::is_none) else {
            return Begun::Later;
        };
        self.asked = self.asked.wrapping_add(1);
        let token = u64::from(self.incarnation) << 48 | u64::from(self.asked) << 16 | place as u64;
        let request = ReadRequest {
            qpn: work.to.qpn,
            node: self.node,
            source: owner.qpn,
            q_key: owner.q_key,
            token,
            mtu: packet_log(mtu),
            length: work.length,
            address: H_ADDRESS.get(&work.head),
            rkey: H_RKEY.get(&work.head) as u32,
            to_address: work.address,
            to_key: work.lkey,
        };
        self.reads[place] = Some(Reading {
            ended,
            qpn: owner.qpn,
            target: work.to.node,
            request,
            next_at: tick,
            interval: self.times.polls().0,
            tries: 0,
            busy: 0,
            heard: false,
            answered: false,
        });
        Begun::Yes
    }

    /// Asks the targets of reads that have not answered, or gives them up (RW-18).
    pub(super) fn ask(&mut self, tick: u64) {
        let longest = self.times.polls().1;
        for place in 0..self.reads.len() {
            let Some(read) = &mut self.reads[place] else {
                continue;
            };
            if read.answered || tick < read.next_at {
                continue;
            }
            if read.tries > POLLS || read.busy > MAX_BUSY {
                let status = if read.heard {
                    Outcome::Unresponsive
                } else {
                    Outcome::Unreachable
                };
                self.end_read(place, status);
                continue;
            }
            read.tries += 1;
            read.next_at = tick + u64::from(read.interval);
            read.interval = (read.interval * 2).min(longest);
            let (to, message) = (read.target, ReadMessage::Request(read.request));
            self.send_read(to, &message);
        }
    }

    /// The read with a token, and its place.
    pub(super) fn reading(&mut self, token: u64) -> Option<(usize, &mut Reading)> {
        let place = (token & 0xFFFF) as usize;
        let read = self.reads.get_mut(place)?.as_mut()?;
        (read.request.token == token).then_some((place, read))
    }

    /// A read ends.
    pub(super) fn end_read(&mut self, place: usize, status: Outcome) {
        if let Some(read) = self.reads.get_mut(place).and_then(Option::take) {
            self.end_request(read.qpn, read.ended, status);
        }
    }

    /// The one completion of a work request.
    fn end_request(&mut self, qpn: u32, ended: Completion, status: Outcome) {
        self.count(if status == Outcome::Ok {
            BulkCounter::Completed
        } else {
            BulkCounter::Failed
        });
        self.ended.push_back((qpn, Completion { status, ..ended }));
    }

    /// Takes what the sender has ended.
    pub(super) fn take_ends(&mut self) {
        while let Some(done) = self.sender.take_completion() {
            let Some(work) = self.works.remove(&done.slot) else {
                continue;
            };
            let status = match (done.outcome, work.ends_as) {
                (_, Some(status)) => status,
                (Ending::Ok, _) => Outcome::Ok,
                (Ending::Access, _) => Outcome::RemoteAccess,
                (Ending::BadQp, _) => Outcome::BadQp,
                (Ending::Refused, _) => Outcome::RemoteLength,
                (Ending::NotReady, _) => Outcome::RemoteRnr,
                (Ending::Unreachable, _) => Outcome::Unreachable,
                (Ending::Busy | Ending::Unresponsive, _) => Outcome::Unresponsive,
                (Ending::Aborted | Ending::Cancelled, _) => Outcome::Aborted,
            };
            match work.what {
                What::Write(_) if status == Outcome::Flushed => {}
                What::Write(ended) => self.end_request(work.qpn, ended, status),
                What::Response => {
                    if status == Outcome::Ok {
                        self.count(BulkCounter::Served);
                    }
                }
            }
        }
    }
}

impl CardModel {
    /// A work request that waits, for its fence or for a slot.
    pub(in crate::card::model) fn begin_bulk(
        &mut self,
        qpn: u32,
        work: &WorkRequest,
        ended: Completion,
        now: u64,
    ) -> Result<Begun, Outcome> {
        let mtu = self.registers.mtu();
        let Some(queue) = self.queues.get(&qpn) else {
            return Ok(Begun::Yes);
        };
        let owner = Owner {
            qpn,
            domain: queue.domain,
            q_key: queue.q_key,
        };
        check(work, mtu, owner.domain, &self.regions)?;
        let begun = self.with_bulk(|bulk, _| bulk.begin(owner, work, ended, mtu, now));
        Ok(begun.unwrap_or(Begun::Later))
    }
}

/// Completion of a notification (BW-3).
pub(super) fn notification(
    wr_id: u64,
    request: u16,
    from: Peer,
    q_key: u32,
    length: u32,
    immediate: u32,
) -> Completion {
    Completion {
        wr_id,
        status: Outcome::Ok,
        of: crate::card::descriptor::Of::Notify,
        version_flags: wire::ONE_SIDED_FRAME,
        length,
        peer: from,
        window: Window {
            msn: immediate,
            ..Window::default()
        },
        q_key,
        psn: 0,
        request,
        number: 0,
        marked: false,
    }
}
