//! Requests: posting, sending, acknowledgement, timeout.

use super::*;
use crate::xud::{
    codes::Drop,
    table::{Entry, Wants},
    wire::{Echo, Reply, Send},
};

impl Card {
    /// Posts a request. A bad one ends at once with a LOCAL outcome; its completion slot is reserved here, so that no
    /// completion is ever lost.
    ///
    /// # Errors
    /// No such queue pair, no room in it, or a request that describes no memory.
    pub fn post_send(&mut self, qpn: u32, request: SendRequest) -> Result<(), PostError> {
        let qp = self.qps.get_mut(&qpn).ok_or(PostError::NoQp(qpn))?;
        if qp.sends.len() >= usize::from(qp.shape.sends) {
            return Err(PostError::Full("send"));
        }
        if !qp.room() {
            return Err(PostError::Full("completion"));
        }
        let (from, to) = request.range;
        if from > to || to > request.buffer.len() {
            return Err(PostError::Request("range"));
        }
        if request.version > 1 {
            return Err(PostError::Request("version"));
        }
        qp.reserved += 1;
        let id = request.id;
        let length = request.head.len() + (to - from);
        if length > usize::from(self.config.mtu) {
            let outcome = Outcome::LocalLength;
            qp.complete(Completion::unsent(id, outcome));
        } else if request.to.qpn >= 1 << 24 {
            let outcome = Outcome::LocalAddress;
            qp.complete(Completion::unsent(id, outcome));
        } else {
            qp.sends.push_back(request);
        }
        Ok(())
    }

    /// What leaves next: acknowledgements and answers first, then the queue pairs in turns.
    pub fn next_packet(&mut self, now: u64) -> Option<Outgoing> {
        if let Some((to, packet)) = self.answers.pop_front() {
            match packet {
                Packet::Ack(ack) => {
                    self.stats.acks_sent += 1;
                    self.stats.marks_told += u64::from(ack.marked);
                }
                _ => self.stats.answers_sent += 1,
            }
            return Some(Outgoing { to, packet });
        }
        let after = self.turn.wrapping_add(1);
        let mut chosen = None;
        for (qpn, qp) in self.qps.range(after..).chain(self.qps.range(..after)) {
            if qp.sends.is_empty() {
                continue;
            }
            // A number still in flight is never used again: the request waits for its completion.
            if self
                .table
                .is_free(*qpn, qp.psn.wrapping_add(1) & self.psn_mask())
            {
                chosen = Some(*qpn);
                break;
            }
            self.stats.stalls += 1;
        }
        let qpn = chosen?;
        self.turn = qpn;
        self.transmit(qpn, now)
    }

    fn transmit(&mut self, qpn: u32, now: u64) -> Option<Outgoing> {
        let mask = self.psn_mask();
        let qp = self.qps.get_mut(&qpn)?;
        let request = qp.sends.pop_front()?;
        qp.psn = qp.psn.wrapping_add(1) & mask;
        let psn = qp.psn;
        let wants = Wants::of(request.version, request.flags, &payload(&request));
        self.launch(qpn, psn, request, wants, now)
    }

    /// Enters a request with its number, and what it waits for, into the table of those in flight.
    pub(crate) fn launch(
        &mut self,
        qpn: u32,
        psn: u32,
        request: SendRequest,
        wants: Wants,
        now: u64,
    ) -> Option<Outgoing> {
        let payload = payload(&request);
        let qp = self.qps.get_mut(&qpn)?;
        let SendRequest {
            id,
            to,
            version,
            flags,
            window,
            ..
        } = request;
        let timer = self.table.insert(Entry {
            qpn,
            psn,
            to,
            window,
            version,
            flags,
            id,
            wants,
            claimed: false,
        });
        let timeout = self.timeout_unit << qp.shape.timeout;
        self.wheel.start(now, timeout, timer);
        self.stats.sent += 1;
        let send = Send {
            dest_qp: to.qpn,
            psn,
            q_key: qp.shape.q_key,
            src_qp: qpn,
            version,
            flags,
            window,
            payload,
            marked: false,
        };
        let packet = Packet::Send(send);
        Some(Outgoing {
            to: to.node,
            packet,
        })
    }

    /// Ends requests whose time is over (XUD-1).
    pub fn tick(&mut self, now: u64) {
        let Self {
            wheel,
            table,
            qps,
            stats,
            ..
        } = self;
        wheel.advance(now, |(place, serial)| {
            let Some(entry) = table.expire(place, serial) else {
                return;
            };
            stats.timeouts += 1;
            if let Some(qp) = qps.get_mut(&entry.qpn) {
                qp.complete(Completion::unsent(entry.id, Outcome::Timeout));
            }
        });
    }

    /// An acknowledgement: it must be of a request in flight, from where that went, of the same window identity (XUD-3).
    pub(super) fn acknowledged(&mut self, from: u32, ack: &Ack) {
        let entry = match self.matching(from, ack.dest_qp, ack.psn, ack.echo) {
            Ok(entry) => entry,
            Err(drop) => return self.stats.drops.count(drop),
        };
        let outcome = match ack.reply {
            Reply::Ok => Outcome::Ok,
            Reply::Rnr => Outcome::RemoteRnr,
            Reply::Nak(nak) => Outcome::of(nak),
        };
        // What waits for bytes cannot have been done without them.
        if outcome == Outcome::Ok && entry.wants != Wants::Acknowledgement {
            return self.stats.drops.count(Drop::AckEcho);
        }
        self.table.remove(ack.dest_qp, ack.psn);
        let marked = ack.marked && self.marks;
        self.stats.marks_heard += u64::from(marked);
        self.ended_in(&entry, outcome, marked);
    }

    /// The request in flight that something from a node is the reply to (XUD-3).
    pub(super) fn matching(
        &self,
        from: u32,
        qpn: u32,
        psn: u32,
        echo: Option<Echo>,
    ) -> Result<Entry, Drop> {
        let entry = *self.table.get(qpn, psn).ok_or(Drop::AckUnknown)?;
        if !self.config.mutations.psn_only && entry.version > 0 {
            // Without an echo it answers another version.
            let echo = echo.ok_or(Drop::AckEcho)?;
            let source = Peer {
                node: from,
                qpn: echo.qpn,
            };
            if source != entry.to {
                return Err(Drop::AckSource);
            }
            if (echo.window, echo.flags) != (entry.window, entry.flags) {
                return Err(Drop::AckEcho);
            }
        }
        Ok(entry)
    }

    /// The one completion of a request that has left the table; `marked` if it was acknowledged so.
    pub(super) fn ended_in(&mut self, entry: &Entry, outcome: Outcome, marked: bool) {
        self.stats.acknowledged += u64::from(outcome == Outcome::Ok);
        if let Some(qp) = self.qps.get_mut(&entry.qpn) {
            let id = entry.id;
            qp.complete(Completion::Sent {
                id,
                outcome,
                marked,
            });
        }
    }
}

/// Head, then the bytes of the buffer.
fn payload(request: &SendRequest) -> Vec<u8> {
    let (from, to) = request.range;
    let bytes = request.buffer.get(from..to).unwrap_or_default();
    [request.head.as_slice(), bytes].concat()
}
