//! Long messages that arrive.

use tributary_protocol::xud::MAX_MESSAGE;
use tributary_protocol::xud::rendezvous::{PART, Place};

use super::*;
use crate::{Access, Exposed};

/// A message that arrives.
pub(super) struct Incoming {
    length: usize,
    /// The sender's card can write it in bulk.
    bulk: bool,
    /// When something was heard of it last.
    pub heard: u64,
    memory: Memory,
}

enum Memory {
    /// It waits for some.
    None,
    /// The sender's card writes there.
    Bulk(Exposed),
    /// Parts come here.
    Parts(Parts),
}

struct Parts {
    bytes: Bytes,
    /// Which have come.
    here: Vec<bool>,
    missing: usize,
}

impl Parts {
    fn new(bytes: Bytes) -> Self {
        let missing = bytes.len().div_ceil(PART);
        Self {
            bytes,
            here: vec![false; missing],
            missing,
        }
    }

    /// Takes a part; whether there is such a one and it had not come.
    fn take(&mut self, offset: u32, bytes: &[u8]) -> bool {
        let at = offset as usize;
        let length = PART.min(self.bytes.len().saturating_sub(at));
        let here = self.here.get_mut(at / PART);
        let Some(here) = here.filter(|here| !**here && at.is_multiple_of(PART)) else {
            return false;
        };
        let Some(place) = self.bytes.part(at, length) else {
            return false;
        };
        if bytes.len() != length {
            return false;
        }
        place.copy_from_slice(bytes);
        *here = true;
        self.missing -= 1;
        true
    }
}

impl Long {
    /// A peer announces a message.
    pub(super) fn announced(
        &mut self,
        hands: &mut Hands<'_>,
        from: Peer,
        id: u64,
        bulk: bool,
        length: u32,
    ) {
        if self.incoming.contains_key(&(from, id)) {
            self.stats.stray += 1;
            return;
        }
        let length = length as usize;
        let announced = self.incoming.range((from, 0)..=(from, u64::MAX)).count();
        // Where order does not matter, an announcement may overtake the end of an earlier one.
        let refused = if announced >= 2 * ANNOUNCED_MAX || length <= MAX_MESSAGE {
            Some(Outcome::RemoteProtocol)
        } else if length > self.room || length > MAX_LONG {
            Some(Outcome::RemoteLength)
        } else {
            None
        };
        if let Some(outcome) = refused {
            return self.refuse(hands, from, id, outcome);
        }
        let coming = Incoming {
            length,
            bulk,
            heard: hands.now,
            memory: Memory::None,
        };
        self.incoming.insert((from, id), coming);
        self.waiting.push_back((from, id));
    }

    fn refuse(&mut self, hands: &mut Hands<'_>, from: Peer, id: u64, outcome: Outcome) {
        self.stats.refused += 1;
        self.say(hands, from, id, Said::Done(outcome.code()));
    }

    /// Gives memory to what waits for it, first come, first served.
    pub(super) fn admit(&mut self, hands: &mut Hands<'_>) {
        while let Some(key) = self.waiting.front().copied() {
            let Some(coming) = self.incoming.get_mut(&key) else {
                self.waiting.pop_front();
                continue;
            };
            if self.room - self.used < coming.length {
                return;
            }
            let memory = memory(hands.domain, coming);
            if memory.is_none() && self.used > 0 {
                // What arrives now gives its own back.
                return;
            }
            self.waiting.pop_front();
            let Some(memory) = memory else {
                self.incoming.remove(&key);
                self.refuse(hands, key.0, key.1, Outcome::RemoteOperation);
                continue;
            };
            let place = match &memory {
                Memory::Bulk(exposed) => Some(exposed.remote()),
                _ => None,
            };
            self.used += coming.length;
            (coming.memory, coming.heard) = (memory, hands.now);
            let place = place.map(|remote| Place {
                address: remote.address,
                rkey: remote.rkey,
            });
            self.say(hands, key.0, key.1, Said::Grant(place));
        }
    }

    /// The sender's card has written all bytes.
    pub(super) fn landed(
        &mut self,
        hands: &mut Hands<'_>,
        from: Peer,
        id: u64,
    ) -> Result<(), Error> {
        match self.incoming.get(&(from, id)).map(|coming| &coming.memory) {
            Some(Memory::Bulk(_)) => {}
            Some(_) => {
                self.stats.stray += 1;
                return Ok(());
            }
            None => {
                self.unknown(hands, from, id);
                return Ok(());
            }
        }
        if let Some(coming) = self.incoming.remove(&(from, id))
            && let Memory::Bulk(exposed) = coming.memory
        {
            let bytes = Bytes::Region(exposed.into_buffer()?);
            self.deliver(hands, from, id, bytes);
        }
        Ok(())
    }

    /// A part has come.
    pub(super) fn part(
        &mut self,
        hands: &mut Hands<'_>,
        from: Peer,
        id: u64,
        (offset, bytes): (u32, &[u8]),
    ) -> Result<(), Error> {
        let Some(coming) = self.incoming.get_mut(&(from, id)) else {
            self.unknown(hands, from, id);
            return Ok(());
        };
        coming.heard = hands.now;
        if let Memory::Bulk(_) = coming.memory
            && let Memory::Bulk(exposed) = std::mem::replace(&mut coming.memory, Memory::None)
        {
            // The sender's card could not: nothing is written in bulk any more.
            let bytes = Bytes::Region(exposed.into_buffer()?);
            coming.memory = Memory::Parts(Parts::new(bytes));
        }
        let Memory::Parts(parts) = &mut coming.memory else {
            self.stats.stray += 1;
            return Ok(());
        };
        if !parts.take(offset, bytes) {
            self.stats.stray += 1;
            return Ok(());
        }
        if parts.missing == 0
            && let Some(coming) = self.incoming.remove(&(from, id))
            && let Memory::Parts(parts) = coming.memory
        {
            self.deliver(hands, from, id, parts.bytes);
        }
        Ok(())
    }

    fn deliver(&mut self, hands: &mut Hands<'_>, from: Peer, id: u64, bytes: Bytes) {
        self.stats.delivered += 1;
        let payload = Arrival::Long(bytes);
        hands.layer.put(Event::Delivered { from, payload });
        self.say(hands, from, id, Said::Done(Outcome::Ok.code()));
    }

    /// A message that the sender speaks of and that is not known here.
    fn unknown(&mut self, hands: &mut Hands<'_>, from: Peer, id: u64) {
        self.say(hands, from, id, Said::Done(Outcome::Aborted.code()));
    }

    /// The sender asks.
    pub(super) fn asked_by_sender(&mut self, hands: &mut Hands<'_>, from: Peer, id: u64) {
        let known = self.incoming.contains_key(&(from, id));
        if !known && !self.talk.says(from, id, Kind::Done) {
            self.unknown(hands, from, id);
        }
    }

    /// A message will never be whole. The card lets go of its memory here.
    pub(super) fn abandon(&mut self, from: Peer, id: u64) {
        if let Some(coming) = self.incoming.remove(&(from, id)) {
            self.stats.abandoned += 1;
            if matches!(coming.memory, Memory::None) {
                self.waiting.retain(|key| *key != (from, id));
            } else {
                self.used -= coming.length;
            }
        }
    }

    /// Nothing more comes from a peer's process.
    pub(super) fn abandon_all(&mut self, from: Peer) {
        let keys = self.incoming.range((from, 0)..=(from, u64::MAX));
        for id in keys.map(|((_, id), _)| *id).collect::<Vec<_>>() {
            self.abandon(from, id);
        }
    }
}

/// Memory for a message, if there is any.
fn memory(domain: &ProtectionDomain, coming: &Incoming) -> Option<Memory> {
    let length = coming.length;
    if coming.bulk && domain.context().sizes().transfers > 0 {
        let region = domain.reg_mr(length, Access::REMOTE_WRITE);
        // A card without a region left receives parts.
        if let Some(exposed) = region.ok().and_then(|region| region.expose(length)) {
            return Some(Memory::Bulk(exposed));
        }
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(Memory::Parts(Parts::new(Bytes::Own(bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xud_12_a_part_is_taken_once_where_it_belongs() {
        let length = 2 * PART + 5;
        let mut parts = Parts::new(Bytes::Own(vec![0; length]));
        let ones = vec![1; PART];
        // Not at a part's beginning, beyond the end, too short, too long.
        for (offset, bytes) in [
            (1, &ones[..]),
            (3 * PART as u32, &ones[..5]),
            (u32::MAX, &ones[..5]),
            (0, &ones[..5]),
            (2 * PART as u32, &ones[..6]),
        ] {
            assert!(!parts.take(offset, bytes), "{offset}");
        }
        assert_eq!(parts.missing, 3);
        assert!(parts.bytes.iter().all(|byte| *byte == 0));
        for (at, bytes) in [(2, &ones[..5]), (0, &ones[..]), (1, &ones[..])] {
            let offset = at * PART as u32;
            assert!(parts.take(offset, bytes) && !parts.take(offset, bytes));
        }
        assert_eq!(parts.missing, 0);
        assert!(parts.bytes.iter().all(|byte| *byte == 1));
    }
}
