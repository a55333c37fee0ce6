//! Blocks that the card carries: a member's [`OffloadedGroup`], and the messages that wait for it.

use std::collections::{BTreeMap, VecDeque};

use tributary_protocol::multicast::group::wire;
use tributary_protocol::multicast::ring::{Completion, EndCode, Status};

use super::memory::{Begun, Memory};
use super::options::ByCards;
use super::{
    End, GroupOptions, MulticastError, OffloadError, OffloadOptions, OffloadedGroup, Ticket,
    TicketPairs,
};
use crate::{AddressHandle, Error, PostError, ProtectionDomain};

/// Bytes that are copied at once.
const PART: usize = 1 << 16;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// For the member's machine.
    Completed(Completion),
    /// What a member said of its card does not fit, or nothing came of it.
    Misfit { rank: u32 },
}

/// What of the group the card has to know, and the times that the host looks at.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// ns.
    pub time: u64,
    /// All have made the group, and it has not failed.
    pub is_open: bool,
    /// From the opening on: peers that have not told their tickets by then misfit, ns.
    pub join: u64,
    /// From the end by a watchdog on: so long others may find out who is gone, ns.
    pub patience: u64,
}

/// A member's card, as its group sees it.
pub struct Cards {
    group: OffloadedGroup,
    ranks: Vec<AddressHandle>,
    options: OffloadOptions,
    /// Of peers, by rank.
    tickets: BTreeMap<u32, wire::Ticket>,
    is_connected: bool,
    /// When the group has opened, and tickets were missing.
    opened: Option<u64>,
    /// Bytes of messages that the card has not taken yet, the next one first; their number is `taken`.
    waiting: VecDeque<u64>,
    taken: u32,
    /// Messages that the root has spoken of.
    told: u32,
    /// At the root: messages of which the others do not know, number and bytes.
    untold: Vec<(u32, u64)>,
    under_way: Option<u64>,
    /// When the watchdog has ended the ring.
    stuck: Option<u64>,
}

impl Cards {
    pub fn new(
        domain: &ProtectionDomain,
        options: &GroupOptions,
        cards: ByCards,
        (rank, ranks): (u32, &[AddressHandle]),
        (q_key, vector): (u32, u32),
    ) -> Result<Self, OffloadError> {
        let options = OffloadOptions {
            algorithm: options.algorithm,
            racks: options.racks.clone(),
            members: ranks.len() as u32,
            rank,
            block_bytes: options.block_bytes,
            most_blocks: cards.most_blocks,
            credits: options.credits,
            lanes: cards.lanes,
            watchdog: cards.watchdog,
            q_key,
            vector,
        };
        Ok(Self {
            group: OffloadedGroup::new(domain, options.clone())?,
            ranks: ranks.to_vec(),
            options,
            tickets: BTreeMap::new(),
            is_connected: false,
            opened: None,
            waiting: VecDeque::new(),
            taken: 0,
            told: 0,
            untold: Vec::new(),
            under_way: None,
            stuck: None,
        })
    }

    /// What each peer must be told.
    pub fn tickets(&self) -> Vec<(u32, wire::Ticket)> {
        let own = self.group.ticket();
        let (address, rkey) = (own.address, own.rkey);
        let of = |pairs: TicketPairs| {
            let ticket = wire::Ticket {
                address,
                rkey,
                sends: pairs.sends,
                receives: pairs.receives,
            };
            (pairs.peer, ticket)
        };
        own.pairs.into_iter().map(of).collect()
    }

    /// A member has told its ticket; false if that is nothing to this one.
    pub fn ticket(&mut self, from: u32, ticket: wire::Ticket) -> bool {
        let is_peer = self.group.peers().any(|peer| peer == from);
        let is_new = is_peer && !self.is_connected && !self.tickets.contains_key(&from);
        if is_new {
            self.tickets.insert(from, ticket);
        }
        is_new
    }

    /// The root says that a message comes; false if it is not the next one.
    pub fn is_next(&mut self, message: u32) -> bool {
        let right = message == self.told && self.options.rank != 0;
        self.told = self.told.wrapping_add(right.into());
        right
    }

    /// The card shall take another message.
    pub fn take(&mut self, length: u64) {
        self.waiting.push_back(length);
        if self.options.rank == 0 {
            self.untold.push((self.told, length));
            self.told = self.told.wrapping_add(1);
        }
    }

    /// Messages that the others must be told of, once.
    pub fn untold(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.untold)
    }

    /// Nothing new begins: the group has ended.
    pub fn stop(&mut self) {
        self.waiting.clear();
        if self.group.is_running() {
            // A card that cannot be reached has stopped.
            let _ = self.group.halt();
        }
    }

    /// Takes the ends of messages, and gives the card the next one.
    pub fn run(&mut self, now: Now, memory: &mut Memory) -> Result<Vec<Told>, MulticastError> {
        let mut told = Vec::new();
        while let Some(end) = self.group.poll()? {
            told.extend(self.ended(end, now, memory)?);
        }
        if let Some(since) = self.stuck
            && now.time.saturating_sub(since) > now.patience
        {
            self.stuck = None;
            told.push(self.ends_with(Status::Watchdog));
        }
        if now.is_open {
            told.extend(self.connect(now)?);
            told.extend(self.feed(memory)?);
        }
        Ok(told)
    }

    fn ends_with(&self, status: Status) -> Told {
        Told::Completed(Completion {
            message: self.taken,
            length: 0,
            status,
        })
    }

    fn ended(
        &mut self,
        end: End,
        now: Now,
        memory: &Memory,
    ) -> Result<Option<Told>, MulticastError> {
        Ok(match (end.code, end.peer) {
            (EndCode::Done, _) => {
                let length = self.under_way.take().ok_or(OffloadError::Strange)?;
                if self.options.rank != 0 {
                    self.copy_out(end.message, memory)?;
                }
                Some(Told::Completed(Completion {
                    message: end.message,
                    length,
                    status: Status::Done,
                }))
            }
            (EndCode::Failed, Some(peer)) => Some(self.ends_with(Status::Failed { peer })),
            (EndCode::Stopped, _) => Some(self.ends_with(Status::Stopped)),
            // Somebody may be gone: who it is others find out by their transfers, and all by their silence.
            (EndCode::Watchdog, _) => {
                self.stuck = Some(now.time);
                None
            }
            (EndCode::Failed | EndCode::Entry | EndCode::Read, _) => {
                Some(self.ends_with(Status::Watchdog))
            }
        })
    }

    /// Joins the peers when all have told their tickets.
    fn connect(&mut self, now: Now) -> Result<Option<Told>, MulticastError> {
        if self.is_connected {
            return Ok(None);
        }
        let missing = self.group.peers().find(|p| !self.tickets.contains_key(p));
        if let Some(rank) = missing {
            let opened = *self.opened.get_or_insert(now.time);
            let late = now.time.saturating_sub(opened) > now.join;
            return Ok(late.then_some(Told::Misfit { rank }));
        }
        let tickets = std::mem::take(&mut self.tickets);
        let tickets = tickets.into_iter().map(|(rank, ticket)| Ticket {
            rank,
            // Those of a Join and of an endpoint were compared before.
            node: self.ranks[rank as usize].node(),
            q_key: self.options.q_key,
            members: self.options.members,
            block_bytes: self.options.block_bytes,
            most_blocks: self.options.most_blocks,
            address: ticket.address,
            rkey: ticket.rkey,
            pairs: vec![TicketPairs {
                peer: self.options.rank,
                sends: ticket.sends,
                receives: ticket.receives,
            }],
        });
        let tickets: Vec<_> = tickets.collect();
        match self.group.connect(&tickets) {
            Ok(()) => {
                self.is_connected = true;
                Ok(None)
            }
            Err(OffloadError::Ticket { rank, .. } | OffloadError::Number { rank, .. }) => {
                Ok(Some(Told::Misfit { rank }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the card the next message, if it has none, and there is memory for it.
    fn feed(&mut self, memory: &mut Memory) -> Result<Option<Told>, MulticastError> {
        let Some(&length) = self.waiting.front().filter(|_| self.group.is_ready()) else {
            return Ok(None);
        };
        let number = self.taken;
        if self.options.rank == 0 {
            self.copy_in(number, memory)?;
        } else {
            let begun = match length > self.group.most_bytes() {
                true => Begun::Never,
                false => memory.reserve(number, length),
            };
            match begun {
                Begun::Here => {}
                Begun::Later => return Ok(None),
                Begun::Never => return Ok(Some(self.ends_with(Status::TooLong))),
            }
        }
        match self.group.post(length) {
            // A ring that takes nothing has ended, and its end says why.
            Ok(()) | Err(OffloadError::Driver(Error::RingRefused { .. })) => {
                self.waiting.pop_front();
                self.taken = self.taken.wrapping_add(1);
                self.under_way = Some(length);
                Ok(None)
            }
            // Grants of the message before have not all ended.
            Err(OffloadError::Post(PostError::Full(_))) if self.group.is_ready() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn copy_in(&mut self, number: u32, memory: &Memory) -> Result<(), MulticastError> {
        let (length, from) = memory.find(number).ok_or(OffloadError::Strange)?;
        let group = &mut self.group;
        in_parts(length, |at, part| {
            from.read(at, part)?;
            Ok(group.write(at, part)?)
        })
    }

    fn copy_out(&self, number: u32, memory: &Memory) -> Result<(), MulticastError> {
        let (length, to) = memory.find(number).ok_or(OffloadError::Strange)?;
        in_parts(length, |at, part| {
            self.group.read(at, part)?;
            Ok(to.write(at, part)?)
        })
    }
}

/// Calls it for each part of so many bytes: where the part is, and room for it.
fn in_parts(
    length: u64,
    mut copy: impl FnMut(usize, &mut [u8]) -> Result<(), MulticastError>,
) -> Result<(), MulticastError> {
    let length = length as usize;
    let mut room = vec![0; PART.min(length)];
    for at in (0..length).step_by(PART) {
        copy(at, &mut room[..PART.min(length - at)])?;
    }
    Ok(())
}
