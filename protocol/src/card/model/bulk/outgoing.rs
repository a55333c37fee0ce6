//! Packets for the line, and where time goes.

use super::{Bulk, CONTROL, READY, Wait, What, Work};
use crate::bulk::ReadMessage;
use crate::card::model::regions::{Regions, Right};
use crate::card::model::{CardModel, HostMemory};
use crate::card::regs::{BulkCounter, CongestionCounter, Counter};
use crate::roce::Link;
use crate::rw::{Message, Outgoing, Reason, Waits, wire};
use crate::xud::Outcome;

impl Bulk {
    /// Whether a frame waits for the line.
    pub fn has_frame(&self) -> bool {
        !self.control.is_empty() || !self.ready.is_empty()
    }

    /// The next frame: answers to senders first, they are short and many wait for them.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.control.pop_front().or_else(|| self.ready.pop_front())
    }

    /// Sends a message of the receiving side, as often as each is sent (RW-11).
    pub(super) fn send(&mut self, to: u32, message: &Message) {
        let link = Link::between(self.node, to);
        // All fields come from frames or from the engines, so they fit into one.
        if let Ok(frame) = wire::encode_frame(&link, message, &[]) {
            for _ in 0..self.receiver.config().frames_per_message() {
                self.queue(frame.clone());
            }
        }
    }

    /// Sends a message of READ.
    pub(super) fn send_read(&mut self, to: u32, message: &ReadMessage) {
        if let Ok(frame) = message.encode_frame(&Link::between(self.node, to)) {
            self.queue(frame);
        }
    }

    pub(super) fn queue(&mut self, frame: Vec<u8>) {
        if self.control.len() >= CONTROL {
            return self.count(BulkCounter::ControlOverflow);
        }
        self.count(BulkCounter::ControlSent);
        self.control.push_back(frame);
    }

    /// Makes packets of transfers ready, as the sender says whose turn it is (RW-15). Of a packet that is sent again, memory is read
    /// again (BW-5).
    pub(super) fn make_ready(
        &mut self,
        card: &mut CardModel,
        memory: &mut dyn HostMemory,
        tick: u64,
    ) {
        while self.ready.len() < READY {
            let next = self.sender.next_packet(tick);
            self.take_ends();
            let Some(out) = next else {
                return;
            };
            match self.packet(&out, &card.regions, memory) {
                Ok(Some(frame)) => self.ready.push_back(frame),
                Ok(None) => {}
                Err((status, reason)) => {
                    card.count(match reason {
                        Reason::Memory => Counter::ReadFailed,
                        _ => Counter::LocalError,
                    });
                    self.end_work(out.slot, status, reason);
                }
            }
        }
    }

    /// The frame of a packet; nothing if its transfer has ended.
    fn packet(
        &mut self,
        out: &Outgoing,
        regions: &Regions,
        memory: &mut dyn HostMemory,
    ) -> Result<Option<Vec<u8>>, (Outcome, Reason)> {
        let work = self.works.get(&out.slot);
        let payload = match (&out.msg, work) {
            (Message::Data(data), Some(work)) => {
                let log = self
                    .sender
                    .request(out.slot)
                    .map_or(0, |request| request.mtu);
                let address = work.address.wrapping_add(u64::from(data.pidx) << log);
                let again = data.round > 0 && self.config.mutations.no_second_check;
                if !again {
                    allowed(work, address, data.len, regions)?;
                }
                let mut payload = vec![0; data.len.into()];
                if data.len > 0 && memory.read(address, &mut payload).is_err() {
                    return Err((Outcome::LocalDma, Reason::Memory));
                }
                payload
            }
            (Message::Connect(_), Some(work)) => work.header.encode().to_vec(),
            (Message::Data(_) | Message::Connect(_), None) => return Ok(None),
            _ => Vec::new(),
        };
        if !matches!(out.msg, Message::Data(_)) {
            self.count(BulkCounter::ControlSent);
        }
        let link = Link::between(self.node, out.dst);
        Ok(wire::encode_frame(&link, &out.msg, &payload).ok())
    }

    /// Says where the time since the last step went, and what this one waits for.
    pub(super) fn account(&mut self, bus_master: bool, clock_ns: u64, now: u64) {
        let clocks = now.saturating_sub(self.since) / clock_ns;
        self.since += clocks * clock_ns;
        for waits in self.waits.into_iter().flatten() {
            match waits {
                Wait::Bulk(counter) => self.add(counter, clocks),
                Wait::Pace => self.count_congestion(CongestionCounter::WaitPace, clocks),
            }
        }
        self.waits = [
            self.waits_to_send(bus_master),
            self.waits_to_receive().map(Wait::Bulk),
        ];
        self.arrived = false;
    }

    fn waits_to_send(&self, bus_master: bool) -> Option<Wait> {
        let asking = self.reads.iter().flatten().any(|read| !read.answered);
        if !self.ready.is_empty() {
            return Some(Wait::Bulk(BulkCounter::WaitLine));
        }
        if self.works.is_empty() {
            return asking.then_some(Wait::Bulk(BulkCounter::WaitPeer));
        }
        if !bus_master {
            return Some(Wait::Bulk(BulkCounter::WaitRead));
        }
        let any = |what| {
            let mut slots = self.works.keys();
            slots.any(|slot| self.sender.waits_for(*slot) == Some(what))
        };
        Some(if any(Waits::Pace) {
            Wait::Pace
        } else if any(Waits::Credit) {
            Wait::Bulk(BulkCounter::WaitCredit)
        } else {
            Wait::Bulk(BulkCounter::WaitPeer)
        })
    }

    fn waits_to_receive(&self) -> Option<BulkCounter> {
        if self.windows.is_empty() {
            None
        } else if !self.landing.is_empty() {
            Some(BulkCounter::InWaitWrite)
        } else if self
            .windows
            .values()
            .any(|window| window.waits_since.is_some())
        {
            Some(BulkCounter::InWaitReceive)
        } else if self.arrived {
            None
        } else {
            Some(BulkCounter::InWaitPeer)
        }
    }
}

/// Whether a packet may still be read (BW-5).
fn allowed(
    work: &Work,
    address: u64,
    bytes: u16,
    regions: &Regions,
) -> Result<(), (Outcome, Reason)> {
    let right = match work.what {
        What::Write(_) => Right::LocalRead,
        What::Response => Right::RemoteRead,
    };
    if regions.allow(work.key, work.domain, address, bytes.into(), right) {
        Ok(())
    } else {
        Err((Outcome::LocalProtection, Reason::Protection))
    }
}
