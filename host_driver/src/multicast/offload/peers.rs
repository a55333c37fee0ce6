//! Peers of a member: a queue pair for each direction.

use std::collections::BTreeMap;

use tributary_protocol::card::command::RING_LOG_MAX;

use super::{OffloadError, OffloadOptions, Ticket, TicketPairs};
use crate::schedule::{Role, ScheduleRing};
use crate::{AddressHandle, CompletionQueue, Error, ProtectionDomain, QueuePair, Remote};

/// Requests of a kind that a queue pair holds.
const REQUESTS_MAX: usize = 1 << (RING_LOG_MAX - 2);
/// Entries of the longest schedule ring.
const ENTRIES_MAX: usize = 1 << 15;
/// Lengths of messages, in blocks, whose schedules are looked at from either end.
const LENGTHS: u32 = 64;

/// Blocks of the messages of a group to and from one peer, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    pub sends: usize,
    pub receives: usize,
}

/// What messages need.
#[derive(Debug)]
pub struct Needs {
    /// By rank.
    pub peers: BTreeMap<u32, Need>,
    /// Entries of a ring.
    pub entries: usize,
}

impl Needs {
    /// Of the longest messages and the shortest: those in between need no more.
    pub fn of(options: &OffloadOptions) -> Result<Self, OffloadError> {
        let most = options.most_blocks;
        let short = 1..=most.min(LENGTHS);
        let long = most.saturating_sub(LENGTHS).max(1)..=most;
        // The longest first: one that does not fit is not looked at any further.
        let mut needs = Self {
            peers: BTreeMap::new(),
            entries: 1,
        };
        for blocks in long.rev().chain(short) {
            let (peers, entries) = Self::message(options, blocks)?;
            needs.entries = needs.entries.max(entries);
            for (rank, need) in peers {
                let all = needs.peers.entry(rank).or_default();
                all.sends = all.sends.max(need.sends);
                all.receives = all.receives.max(need.receives);
            }
            needs.check(options)?;
        }
        Ok(needs)
    }

    /// Of a message of so many blocks: by peer, and entries.
    fn message(
        options: &OffloadOptions,
        blocks: u32,
    ) -> Result<(BTreeMap<u32, Need>, usize), OffloadError> {
        let schedule = options.schedule(blocks)?;
        let (mut peers, mut entries) = (BTreeMap::<u32, Need>::new(), 1);
        for (_, send) in schedule.sends(options.rank, 0) {
            peers.entry(send.to).or_default().sends += 1;
            entries += 1;
        }
        for (_, receive) in schedule.receives(options.rank, 0) {
            peers.entry(receive.from).or_default().receives += 1;
            entries += 1;
        }
        Ok((peers, entries))
    }

    fn check(&self, options: &OffloadOptions) -> Result<(), OffloadError> {
        let block_bytes = |need: usize, most: usize| {
            u64::from(options.block_bytes) * (need as u64).div_ceil(most as u64)
        };
        for (rank, need) in &self.peers {
            let (need, most) = (need.sends.max(need.receives), REQUESTS_MAX);
            let need = need.div_ceil(options.lanes.into()) + options.credits as usize;
            if need > most {
                return Err(OffloadError::Requests {
                    rank: *rank,
                    need,
                    most,
                    block_bytes: block_bytes(need, most),
                });
            }
        }
        let (need, most) = (self.entries, ENTRIES_MAX);
        if need > most {
            return Err(OffloadError::Entries {
                need,
                most,
                block_bytes: block_bytes(need, most),
            });
        }
        Ok(())
    }

    /// Ranks of the peers.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.peers.keys().copied()
    }
}

/// A peer.
pub struct Peer {
    pub rank: u32,
    /// Blocks go through the first, by lane; grants come there. The other way round of the second.
    pairs: [Vec<QueuePair>; 2],
    /// The peer's other ends of these.
    others: [Vec<AddressHandle>; 2],
    /// Its memory.
    area: Remote,
}

/// Both directions, with their places.
pub const ROLES: [Role; 2] = [Role::Sends, Role::Receives];

impl Peer {
    /// Makes its queue pairs, which hold all of a message. Grants for the next one may come before it is posted here.
    pub fn new(
        domain: &ProtectionDomain,
        queue: &CompletionQueue,
        options: &OffloadOptions,
        rank: u32,
        need: &Need,
    ) -> Result<Self, OffloadError> {
        let pairs = |blocks: usize| -> Result<Vec<QueuePair>, Error> {
            let lanes = usize::from(options.lanes);
            // That these fit was checked.
            let requests = (blocks.div_ceil(lanes) + options.credits as usize) as u16;
            let pair = || {
                let pair = domain
                    .create_qp(queue)
                    .q_key(options.q_key)
                    .max_send_wr(requests)
                    .max_recv_wr(requests)
                    .rung_by_card()
                    .build()?;
                pair.activate()?;
                Ok(pair)
            };
            let lanes = if blocks == 0 { 0 } else { lanes };
            (0..lanes).map(|_| pair()).collect()
        };
        Ok(Self {
            rank,
            pairs: [pairs(need.sends)?, pairs(need.receives)?],
            others: [Vec::new(), Vec::new()],
            area: Remote {
                address: 0,
                rkey: 0,
            },
        })
    }

    pub fn ticket(&self) -> TicketPairs {
        let [sends, receives] = self
            .pairs
            .each_ref()
            .map(|pairs| pairs.iter().map(QueuePair::qp_num).collect());
        TicketPairs {
            peer: self.rank,
            sends,
            receives,
        }
    }

    /// Takes what the peer has told, who talks to `own`.
    pub fn connect(&mut self, ticket: &Ticket, own: u32) -> Result<(), OffloadError> {
        let pairs = ticket.pairs.iter().find(|pairs| pairs.peer == own);
        let theirs = pairs.map_or([&[][..]; 2], |pairs| [&pairs.receives, &pairs.sends]);
        for ((own, numbers), other) in self.pairs.iter().zip(theirs).zip(&mut self.others) {
            if own.len() != numbers.len() {
                return Err(OffloadError::Ticket {
                    rank: self.rank,
                    what: "queue pairs for a direction",
                    found: numbers.len() as u64,
                    expected: own.len() as u64,
                });
            }
            let rank = self.rank;
            let address = |&number: &u32| {
                AddressHandle::new(ticket.node, number)
                    .map_err(|_| OffloadError::Number { rank, number })
            };
            *other = numbers.iter().map(address).collect::<Result<_, _>>()?;
        }
        self.area = Remote {
            address: ticket.address,
            rkey: ticket.rkey,
        };
        Ok(())
    }

    /// Gives its queue pairs to slots of a ring, a lane each, from this one on.
    pub fn bind(&self, ring: &ScheduleRing, first: u8) -> Result<(), Error> {
        for (role, pairs) in ROLES.into_iter().zip(&self.pairs) {
            for (lane, pair) in (0..).zip(pairs) {
                ring.bind(role, first + lane, pair)?;
            }
        }
        Ok(())
    }

    /// Posts as many receive requests as fit.
    pub fn fill(&self) -> Result<(), OffloadError> {
        for pair in self.pairs.iter().flatten() {
            let mut batch = pair.batch();
            while batch.recv_notice(0) {}
            batch.ring().map_err(|rejected| rejected.error)?;
        }
        Ok(())
    }

    /// The queue pair of a direction and lane, the peer's end of it, and the peer's memory.
    pub fn way(&self, role: Role, lane: usize) -> Option<(&QueuePair, AddressHandle, Remote)> {
        let place = role as usize - 1;
        let pair = self.pairs[place].get(lane)?;
        Some((pair, *self.others[place].get(lane)?, self.area))
    }
}
