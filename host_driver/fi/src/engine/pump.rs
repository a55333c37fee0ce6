//! What leaves, and when: answers first, then messages in order while there are credits, then parts of long messages in turns.

use super::bulk::{next_part, part_left};
use super::{Address, Busy, Engine, Memory, Outgoing, PART, Wire};
use crate::header::{HEADER, Header, Kind};

impl<O: Clone + PartialEq, M: Memory> Engine<O, M> {
    /// Sends what can be sent now.
    pub fn pump(&mut self, wire: &mut impl Wire) {
        self.pump_bulk(wire);
        for at in std::mem::take(&mut self.busy) {
            if self.pump_peer(at, wire).is_err() {
                self.wake(at);
            }
        }
    }

    /// `Busy` if the wire has no room: it is tried again. Without credits, the peer's next message wakes it.
    fn pump_peer(&mut self, at: Address, wire: &mut impl Wire) -> Result<(), Busy> {
        let (own, half, packet) = (self.own, self.credits / 2, self.packet);
        let this = (own, self.incarnation);
        let cost = |bytes: usize| bytes.div_ceil(packet).max(1);
        loop {
            let Some(peer) = self.peers.get_mut(&at).filter(|peer| !peer.gone) else {
                return Ok(());
            };
            if let Some(answer) = peer.answers.front_mut() {
                put(wire, this, at, answer, (&mut peer.owed, peer.incarnation))?;
                let answer = peer.answers.pop_front();
                self.loop_back(at, answer);
                continue;
            }
            if let Some(message) = peer.queue.front_mut() {
                let cost = cost(message.len());
                if at == own || peer.credits >= cost {
                    put(wire, this, at, message, (&mut peer.owed, peer.incarnation))?;
                    peer.credits -= if at == own { 0 } else { cost };
                    let message = peer.queue.pop_front();
                    self.loop_back(at, message);
                    continue;
                }
            }
            if let Some(id) = peer.long.pop_front() {
                if peer.credits < cost(HEADER + PART) && at != own {
                    peer.long.push_front(id);
                } else if self.send_part(at, id, wire)? {
                    continue;
                }
            }
            let Some(peer) = self.peers.get_mut(&at) else {
                return Ok(());
            };
            if peer.owed >= half && at != own {
                let mut bytes = Header::new(Kind::Credit, 0, 0, 0, 0).encode();
                put(
                    wire,
                    this,
                    at,
                    &mut bytes,
                    (&mut peer.owed, peer.incarnation),
                )?;
            }
            return Ok(());
        }
    }

    /// One part of a long message, which then waits for its next turn.
    fn send_part(&mut self, at: Address, id: u32, wire: &mut impl Wire) -> Result<bool, Busy> {
        let own = self.own;
        let this = (own, self.incarnation);
        let Some(sending) = self.sending.get_mut(&id) else {
            return Ok(true);
        };
        let length = sending.memory.length();
        let (Some(number), Some((sent, count))) = (sending.number, next_part(&sending.ranges))
        else {
            return Ok(true);
        };
        let header = Header::new(Kind::Part, number, sent as u64, 0, length);
        let mut bytes = Vec::with_capacity(HEADER + count);
        bytes.extend_from_slice(&header.encode());
        sending.memory.read(sent, count, &mut bytes);
        let packets = bytes.len().div_ceil(self.packet).max(1);
        let peer = self.peers.entry(at).or_default();
        if let Err(busy) = put(
            wire,
            this,
            at,
            &mut bytes,
            (&mut peer.owed, peer.incarnation),
        ) {
            peer.long.push_front(id);
            return Err(busy);
        }
        peer.credits -= if at == own { 0 } else { packets };
        part_left(&mut sending.ranges, count);
        sending.left -= count;
        if !sending.ranges.is_empty() {
            peer.long.push_back(id);
        } else if sending.left > 0 {
            // The rest goes by bulk transfers.
        } else if matches!(sending.purpose, Outgoing::Write(_)) {
            // Its end comes from the peer.
        } else if let Some(sending) = self.sending.remove(&id) {
            self.went(sending, None);
        }
        self.loop_back(at, Some(bytes));
        Ok(true)
    }

    /// A message to oneself has arrived.
    fn loop_back(&mut self, at: Address, bytes: Option<Vec<u8>>) {
        if at == self.own
            && let Some(bytes) = bytes
        {
            self.arrived(at, &bytes);
            self.peer(at).owed = 0;
        }
    }
}

/// Sends bytes with the credits that the peer is owed.
fn put(
    wire: &mut impl Wire,
    own: (Address, u16),
    to: Address,
    bytes: &mut [u8],
    (owed, incarnation): (&mut usize, Option<u16>),
) -> Result<(), Busy> {
    if to == own.0 {
        return Ok(());
    }
    let credits = (*owed).min(usize::from(u16::MAX));
    Header::stamp(bytes, credits as u16, own.1, incarnation);
    wire.send(to, bytes)?;
    *owed -= credits;
    Ok(())
}
