//! What arrives: checks, acceptance, landing, acknowledgement.

use super::*;
use crate::xud::onesided;
use crate::xud::{
    codes::Drop,
    wire::{self, CONTROL, Echo, ONE_SIDED, Reply, Send, WireError},
};

/// Whether so many bytes may be written for a receive request of a queue pair.
pub(crate) type MayWrite<'a> = dyn FnMut(u32, u64, usize) -> bool + 'a;

impl Card {
    /// A frame from the line.
    pub fn receive_frame(&mut self, frame: &[u8], now: u64) {
        self.receive_frame_if(frame, now, &mut |_, _, _| true);
    }

    /// The same; `may_write` says of a queue pair, a receive request and a number of bytes whether these may go there.
    pub(crate) fn receive_frame_if(&mut self, frame: &[u8], now: u64, may_write: &mut MayWrite) {
        match wire::decode_frame(frame) {
            Ok((from, mut packet)) => {
                if let Packet::Send(send) | Packet::Unknown { send, .. } = &mut packet {
                    send.marked &= self.marks;
                    self.stats.marked += u64::from(send.marked);
                }
                self.receive_if(from, &packet, now, may_write);
            }
            Err(error) => self.stats.drops.count(match error {
                WireError::Frame(_) => Drop::BadFrame,
                WireError::Opcode(_) => Drop::NotXud,
                _ => Drop::BadHeader,
            }),
        }
    }

    /// A packet from a node. Everything is checked before any state changes (XUD-14).
    pub fn receive(&mut self, from: u32, packet: &Packet, now: u64) {
        self.receive_if(from, packet, now, &mut |_, _, _| true);
    }

    fn receive_if(&mut self, from: u32, packet: &Packet, now: u64, may_write: &mut MayWrite) {
        // A deadline that is over has priority over an acknowledgement of the same moment, as in the wheel.
        self.tick(now);
        match packet {
            Packet::Ack(ack) => self.acknowledged(from, ack),
            Packet::Send(send) => self.request(from, send, None, may_write),
            Packet::Unknown { send, .. } => self.request(from, send, Some(Nak::Opcode), may_write),
        }
    }

    fn request(&mut self, from: u32, send: &Send, refused: Option<Nak>, may_write: &mut MayWrite) {
        let one_sided = send.version > 0 && send.flags == ONE_SIDED && refused.is_none();
        // An answer needs no room: it is of a request in flight.
        let answers = one_sided && onesided::is_answer(&send.payload);
        let waiting = self.answers.len() + self.landing.len() + self.waiting.len();
        if waiting >= ACK_QUEUE && !answers {
            self.stats.ack_overload += 1;
            return;
        }
        if one_sided {
            return self.one_sided(from, send);
        }
        match self.check(send, refused) {
            Ok(()) => self.accept(from, send, may_write),
            Err(drop) => self.refuse(from, send, drop),
        }
    }

    /// Counts a request that is not done, and answers it.
    pub(super) fn refuse(&mut self, from: u32, send: &Send, drop: Drop) {
        self.stats.drops.count(drop);
        let reply = match drop {
            Drop::BadQp => Reply::Nak(Nak::BadQp),
            Drop::BadOpcode => Reply::Nak(Nak::Opcode),
            Drop::BadLength => Reply::Nak(Nak::Length),
            Drop::StaleEpoch => Reply::Nak(Nak::Epoch),
            Drop::OneSidedAhead => Reply::Nak(Nak::Number),
            Drop::OneSidedRefused => Reply::Nak(Nak::Access),
            Drop::OneSidedFailed => Reply::Nak(Nak::Operation),
            Drop::Rnr if self.config.mutations.no_reserve => Reply::Ok,
            Drop::Rnr => Reply::Rnr,
            // A wrong key is never answered, nor is a number of long ago.
            _ => return,
        };
        let ack = Packet::Ack(answer(send, reply));
        self.answers.push_back((from, ack));
    }

    /// The queue pair that a request is for, if it takes any and the key is right.
    pub(super) fn addressed(&self, send: &Send) -> Result<&Qp, Drop> {
        let qp = self.qps.get(&send.dest_qp);
        let qp = qp.filter(|qp| qp.receiving).ok_or(Drop::BadQp)?;
        if send.q_key == qp.shape.q_key {
            Ok(qp)
        } else {
            Err(Drop::BadKey)
        }
    }

    /// Whether a queue pair that exists has handed out the epoch of a request, since it was made (XUD-6).
    pub(super) fn handed_out(&self, send: &Send) -> bool {
        let floor = self.qps.get(&send.dest_qp).map_or(0, |qp| qp.floor);
        let newest = self.epochs.get(&send.dest_qp).copied().unwrap_or(floor);
        send.window.epoch.wrapping_sub(floor) <= newest.wrapping_sub(floor)
    }

    /// Whether a request can be accepted; what is answered is in the order of these checks.
    fn check(&self, send: &Send, refused: Option<Nak>) -> Result<(), Drop> {
        let qp = self.addressed(send)?;
        if refused.is_some() {
            return Err(Drop::BadOpcode);
        }
        if send.payload.len() > usize::from(self.config.mtu) {
            return Err(Drop::BadLength);
        }
        let has_epoch = send.version > 0 && send.flags & CONTROL == 0;
        if has_epoch && !self.handed_out(send) && !self.config.mutations.no_epoch {
            return Err(Drop::StaleEpoch);
        }
        let memory = qp.receives.front().ok_or(Drop::Rnr)?;
        if send.payload.len() > memory.length as usize {
            return Err(Drop::BadLength);
        }
        if qp.room() { Ok(()) } else { Err(Drop::Rnr) }
    }

    /// Takes a receive request and a completion slot; the acknowledgement waits until the message has landed (XUD-4).
    fn accept(&mut self, from: u32, send: &Send, may_write: &mut MayWrite) {
        let Some(qp) = self.qps.get_mut(&send.dest_qp) else {
            return;
        };
        let Some(memory) = qp.receives.pop_front() else {
            return;
        };
        qp.reserved += 1;
        let allowed = may_write(send.dest_qp, memory.id, send.payload.len());
        self.stats.accepted += u64::from(allowed);
        let reply = if allowed {
            Reply::Ok
        } else {
            Reply::Nak(Nak::Access)
        };
        let mut ack = Some((from, answer(send, reply)));
        if self.config.mutations.early_ack {
            let ack = ack.take().map(|(to, ack)| (to, Packet::Ack(ack)));
            self.answers.extend(ack);
        }
        let from = Peer {
            node: from,
            qpn: send.src_qp,
        };
        let (id, version, flags, window) = (memory.id, send.version, send.flags, send.window);
        let completion = if allowed {
            Completion::Received {
                id,
                from,
                version,
                flags,
                window,
                payload: send.payload.clone(),
            }
        } else {
            Completion::Refused {
                id,
                from,
                version,
                flags,
                window,
            }
        };
        self.landing.push_back(Landing {
            qpn: send.dest_qp,
            completion,
            ack,
        });
    }

    /// The host interface has ordered the oldest accepted message's data and completion: software sees it from here on, and
    /// the acknowledgement may leave (XUD-4). False if none waits.
    pub fn land(&mut self) -> bool {
        let Some(landing) = self.landing.pop_front() else {
            return false;
        };
        if let Some(qp) = self.qps.get_mut(&landing.qpn) {
            qp.complete(landing.completion);
            let ack = landing.ack.map(|(to, ack)| (to, Packet::Ack(ack)));
            self.answers.extend(ack);
        }
        true
    }
}

/// The acknowledgement of a request, in its version.
pub(super) fn answer(send: &Send, reply: Reply) -> Ack {
    Ack {
        dest_qp: send.src_qp,
        psn: send.psn,
        reply,
        echo: (send.version > 0).then_some(Echo {
            window: send.window,
            flags: send.flags,
            qpn: send.dest_qp,
        }),
        marked: send.marked,
    }
}
