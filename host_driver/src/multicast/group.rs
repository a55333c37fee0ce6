//! A member of a group, as its user sees it.

mod cards;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tributary_protocol::multicast::group::wire::Place;
use tributary_protocol::multicast::group::{
    Expected, GroupConfig, GroupError, Holdings, Member, Verdict,
};

use super::cards::Cards;
use super::carrier::Carrier;
use super::incoming::Incoming;
use super::liveness::Liveness;
use super::memory::{Memory, Message};
use super::options::by_rank;
use super::{Algorithm, Carried, GroupOptions, MulticastError, Seat};
use crate::AddressHandle;

/// What was dropped, without any other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Datagrams of older groups, and of later ones beyond those that are kept.
    pub stale: u64,
    /// Datagrams that are none of block multicast.
    pub malformed: u64,
    /// Datagrams of endpoints that are no members.
    pub stranger: u64,
    /// Messages that make no sense from their sender.
    pub strange: u64,
    /// Blocks that nobody was allowed to send.
    pub unexpected: u64,
}

/// What is known of another member.
#[derive(Default)]
struct Peer {
    /// Blocks that it has allowed so far, and those of them that were not started.
    granted: u32,
    credits: VecDeque<(Expected, Place)>,
}

/// Who carries the blocks.
enum Carrying {
    Hosts(Carrier),
    Cards(Box<Cards>),
}

/// A member of a group.
pub struct Group {
    seat: Seat,
    member: Member,
    config: GroupConfig,
    options: GroupOptions,
    ranks: Vec<AddressHandle>,
    rank_of: BTreeMap<AddressHandle, u32>,
    // Before the memory: when it goes, the card lets go of that.
    carrying: Carrying,
    memory: Memory,
    incoming: Incoming,
    liveness: Liveness,
    peers: BTreeMap<u32, Peer>,
    /// Datagrams that the endpoint has no room for yet.
    unsent: VecDeque<(u32, Vec<u8>)>,
    ready: VecDeque<Message>,
    /// The number of the root's next message.
    sent: u32,
    /// A resumed group that has not opened yet.
    is_resuming: bool,
    /// A datagram that is longer than a message can be: bytes, most.
    broken: Option<(usize, usize)>,
    counters: GroupCounters,
}

impl Group {
    /// Makes a group, as all its members do with the same list. It opens when all have (MB-8); sending may begin before.
    ///
    /// # Errors
    /// A list that has a member twice, or has not this one or the root; sizes that make no group; a card without bulk
    /// transfers, or without schedule rings if cards shall carry the blocks, or with nothing left of what a group takes.
    pub fn create(
        seat: Seat,
        members: &[AddressHandle],
        options: GroupOptions,
    ) -> Result<Self, MulticastError> {
        let ranks = by_rank(members, options.root)?;
        let config = options.config(&ranks);
        config.check().map_err(MulticastError::Group)?;
        let block = config.block_bytes;
        let memory = Memory::new(&seat.domain, options.memory, block, options.resumable)?;
        Self::build(seat, ranks, options, memory, None)
    }

    fn build(
        mut seat: Seat,
        ranks: Vec<AddressHandle>,
        options: GroupOptions,
        memory: Memory,
        holdings: Option<Holdings>,
    ) -> Result<Self, MulticastError> {
        let context = seat.domain.context();
        if context.sizes().transfers == 0 {
            return Err(MulticastError::NoBulk);
        }
        let own = seat.address();
        let rank = ranks.iter().position(|&member| member == own);
        let rank = rank.ok_or(MulticastError::NotMember(own))? as u32;
        let config = options.config(&ranks);
        crate::bulk::fits(context, config.block_bytes as usize)?;
        let is_resuming = holdings.is_some();
        let member = match holdings {
            Some(holdings) => Member::resume(config.clone(), rank, options.epoch, holdings),
            None => Member::new(config.clone(), rank, options.epoch),
        };
        let (q_key, vector) = (seat.config.q_key, seat.config.vector);
        let carrying = match options.carried {
            Carried::ByHosts => {
                Carrying::Hosts(Carrier::new(&seat.domain, q_key, vector, config.credits)?)
            }
            Carried::ByCards(cards) => {
                let (place, keys) = ((rank, &ranks[..]), (q_key, vector));
                let cards = Cards::new(&seat.domain, &options, cards, place, keys)?;
                Carrying::Cards(Box::new(cards))
            }
        };
        let early = seat.take_early(options.epoch);
        let mut group = Self {
            member: member.map_err(MulticastError::Group)?,
            rank_of: (0..).zip(&ranks).map(|(rank, &at)| (at, rank)).collect(),
            seat,
            config,
            options,
            ranks,
            carrying,
            memory,
            incoming: Incoming::default(),
            liveness: Liveness::default(),
            peers: BTreeMap::new(),
            unsent: VecDeque::new(),
            ready: VecDeque::new(),
            sent: 0,
            is_resuming,
            broken: None,
            counters: GroupCounters::default(),
        };
        group.say_tickets();
        let mut out = Vec::new();
        group.member.join(&mut out);
        group.carry_out(out);
        for (from, datagram) in early {
            group.read(from, datagram);
        }
        group.flush()?;
        Ok(group)
    }

    /// This member's rank; the root has 0.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.member.rank()
    }

    /// Whether this member is the one that sends.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.rank() == 0
    }

    /// The members by rank.
    #[must_use]
    pub fn members(&self) -> &[AddressHandle] {
        &self.ranks
    }

    /// Whether all members have made the group, and none has failed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.member.is_open()
    }

    /// How the group ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.member.verdict()
    }

    /// What was dropped.
    #[must_use]
    pub fn counters(&self) -> GroupCounters {
        let member = self.member.counters();
        GroupCounters {
            stale: self.counters.stale + member.stale,
            strange: self.counters.strange + member.strange,
            unexpected: self.counters.unexpected + member.unexpected,
            ..self.counters
        }
    }

    /// The root sends a message: its bytes are copied. Returns its number.
    ///
    /// # Errors
    /// Another member; a message of too many blocks; no memory until earlier ones have gone; a group that is closed or has
    /// failed, or was resumed and is not open yet.
    pub fn send(&mut self, bytes: &[u8]) -> Result<u32, MulticastError> {
        let length = bytes.len() as u64;
        self.member.error().map_err(|e| self.error(e))?;
        if !self.is_root() {
            return Err(self.error(GroupError::NotRoot(self.rank())));
        }
        if self.is_resuming {
            return Err(MulticastError::NotOpen);
        }
        self.check_length(length)?;
        let number = self.sent;
        let memory = self.memory.make(number, length);
        let memory = memory.ok_or(MulticastError::NoMemory {
            bytes: length,
            memory: self.memory.bytes(),
        })?;
        memory.write(0, bytes)?;
        let mut out = Vec::new();
        if let Err(error) = self.member.send(length, &mut out) {
            self.memory.discard(number);
            return Err(self.error(error));
        }
        self.sent += 1;
        self.carry_out(out);
        self.flush()?;
        Ok(number)
    }

    /// Does what can be done, and returns the next message if one is there. Never waits.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn poll(&mut self) -> Result<Option<Message>, MulticastError> {
        self.step()?;
        match self.ready.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self
                .member
                .error()
                .map(|()| None)
                .map_err(|e| self.error(e)),
        }
    }

    /// The next message: each comes once, in the order of sending (MB-11). `None` if the time is over first.
    ///
    /// # Errors
    /// The failure of the group with its suspect (MB-12), once the messages that had arrived before are taken; the group is
    /// closed; the card cannot be reached.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Message>, MulticastError> {
        let end = self.now().saturating_add(nanos(timeout));
        loop {
            if let Some(message) = self.poll()? {
                return Ok(Some(message));
            }
            if self.now() >= end {
                return Ok(None);
            }
            std::thread::yield_now();
        }
    }

    /// Waits for the end of the group; the root says that it sends no more (MB-13). Messages that were not taken can be taken
    /// afterwards, but those that have no memory until others are taken do not come.
    ///
    /// # Errors
    /// The time is over, and the group goes on: `close` may be called again. The card cannot be reached.
    pub fn close(&mut self, timeout: Duration) -> Result<Verdict, MulticastError> {
        let end = self.now().saturating_add(nanos(timeout));
        self.say_close()?;
        loop {
            self.step()?;
            if self.member.verdict().is_some() {
                break;
            }
            if self.now() >= end {
                return Err(MulticastError::TimedOut);
            }
            std::thread::yield_now();
        }
        // Others learn the verdict from what is still on its way.
        let silence = self.now() + nanos(self.options.silence);
        while self.is_telling() && self.now() < end.min(silence) {
            self.step()?;
        }
        let verdict = self.member.verdict().cloned();
        verdict.ok_or(MulticastError::TimedOut)
    }

    /// The root says that it sends no more, and does not wait: [`Self::poll`] goes on until there is a [`Self::verdict`].
    /// Nothing at other members.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn say_close(&mut self) -> Result<(), MulticastError> {
        let mut out = Vec::new();
        if self.is_root() && self.member.error().is_ok() {
            // It may have been said before.
            let _ = self.member.close(&mut out);
        }
        self.carry_out(out);
        self.flush()
    }

    /// Whether something that this member says has not arrived yet: a member that leaves earlier leaves others to find out
    /// by themselves.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        !self.unsent.is_empty() || self.seat.endpoint.pending() > 0
    }

    /// A group of those that survived a failure: messages that some of them have in part become whole at all, by blocks that
    /// they lack and no others (MB-14). All survivors call it once they have the verdict. The lowest old rank is the root.
    /// A message of which no survivor has some block is lost, with those behind it. Hosts carry the blocks of the new group; of
    /// what cards carried counts what was delivered.
    ///
    /// # Errors
    /// A group that has not failed or did not keep its messages; one survivor alone; as [`Self::create`].
    pub fn resume(self) -> Result<Self, MulticastError> {
        let Some(Verdict::Failure { watermarks, .. }) = self.member.verdict() else {
            return Err(MulticastError::NothingToResume);
        };
        if !self.options.resumable {
            return Err(MulticastError::NotResumable);
        }
        let there = self.ranks.iter().zip(watermarks);
        let ranks = there.filter_map(|(&at, watermark)| watermark.map(|_| at));
        let ranks: Vec<_> = ranks.collect();
        let holdings = self.member.holdings();
        let mut options = self.options;
        options.root = None;
        options.epoch = options.epoch.wrapping_add(1);
        options.carried = Carried::ByHosts;
        if options.algorithm == Algorithm::Hybrid {
            options.algorithm = Algorithm::BinomialPipeline;
            options.racks.clear();
        }
        // Nothing of the old group lands any more.
        drop(self.carrying);
        let mut memory = self.memory;
        memory.resumed();
        let mut group = Self::build(self.seat, ranks, options, memory, Some(holdings))?;
        group.ready.extend(self.ready);
        Ok(group)
    }

    /// The endpoint, for another group, which must have a higher epoch.
    #[must_use]
    pub fn into_seat(self) -> Seat {
        self.seat
    }

    fn error(&self, error: GroupError) -> MulticastError {
        MulticastError::of(error, &self.ranks)
    }

    fn now(&self) -> u64 {
        self.seat.domain.context().device().now_ns()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
