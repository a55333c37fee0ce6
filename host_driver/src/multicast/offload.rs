//! Groups that the card carries out (MB-16): a host posts a message and hears when it is done.
//!
//! All blocks and grants of a message are bulk WRITEs that are written into rings beforehand; the card starts each when it may.
//! The members tell each other their [`Ticket`]s; how is the program's matter. [`Group`](super::Group) does it by messages.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use tributary_host_driver::ProtectionDomain;
//! # use tributary_host_driver::multicast::{OffloadError, OffloadOptions, OffloadedGroup, Ticket};
//! # fn show(domain: &ProtectionDomain, rank: u32, exchange: impl Fn(Ticket) -> Vec<Ticket>) -> Result<(), OffloadError> {
//! let mut group = OffloadedGroup::new(domain, OffloadOptions::new(4, rank))?;
//! let tickets = exchange(group.ticket());
//! group.connect(&tickets)?;
//! if rank == 0 {
//!     group.write(0, b"many bytes")?;
//! }
//! group.post(10)?;
//! // The host has nothing to do until the end.
//! let end = group.wait(Duration::from_secs(1))?;
//! let mut bytes = [0; 10];
//! group.read(0, &mut bytes)?;
//! # Ok(()) }
//! ```

mod error;
mod message;
mod options;
mod peers;
mod ticket;

use std::time::Duration;

use tributary_protocol::multicast::ring::{EndCode, EntryWriter, PEERS, end_of_word};

use crate::schedule::{ScheduleRing, Settings};
use crate::{
    Access, CompletionQueue, Error, Exposed, ProtectionDomain, QueuePair, WorkCompletion,
    WorkCompletionOpcode, WorkCompletionStatus,
};
pub use error::OffloadError;
pub use options::OffloadOptions;
use peers::{Needs, Peer};
pub use ticket::{Ticket, TicketPairs};

/// What the counters of groups begin at.
const ORIGIN: u32 = 0;
/// Receive requests for ends: that of a message, and that of the group.
const ENDS: u16 = 4;
/// Completions that are taken at once.
const AT_ONCE: usize = 64;
/// A group that is dropped is given so long to end, ns.
const DROP_NS: u64 = 10_000_000;

/// How a message has ended, or the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of the message; of an end of the group, messages that were done.
    pub message: u32,
    /// How. With [`EndCode::Done`] the group goes on.
    pub code: EndCode,
    /// With [`EndCode::Failed`], the rank that a transfer went to or came from.
    pub peer: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The card listens, and the other members are not known.
    New,
    /// It waits for a message.
    Ready,
    /// A message of so many bytes is under way.
    Busy,
    /// It was stopped, and its end has not come.
    Stopped,
    Ended,
}

/// A member of a group that the card carries out. When it is dropped it is stopped, and its queue pairs end.
pub struct OffloadedGroup {
    options: OffloadOptions,
    domain: ProtectionDomain,
    ring: ScheduleRing,
    writer: EntryWriter,
    /// By slot.
    peers: Vec<Peer>,
    blocks: CompletionQueue,
    ends: CompletionQueue,
    ends_pair: QueuePair,
    /// Behind all that the card uses it for.
    area: Exposed,
    state: State,
    done: Vec<WorkCompletion>,
    /// Completions of blocks and grants that ended otherwise than well.
    failed: u64,
}

impl OffloadedGroup {
    /// Makes a member: a queue pair for each peer and direction, memory for one message, and a ring in the card, which counts
    /// grants of others from now on.
    ///
    /// # Errors
    /// A card without schedule rings, options out of range, or what the driver says.
    pub fn new(domain: &ProtectionDomain, options: OffloadOptions) -> Result<Self, OffloadError> {
        options.check()?;
        let context = domain.context();
        crate::bulk::fits(context, options.block_bytes as usize)?;
        let needs = Needs::of(&options)?;
        let mut ring = ScheduleRing::new(context, needs.entries)?;
        let writer = EntryWriter::new(options.rank, options.credits, ORIGIN, needs.ranks());
        let slots = needs.peers.len() * usize::from(options.lanes);
        let writer = writer.filter(|_| slots <= PEERS.into());
        let writer = writer.ok_or(OffloadError::Peers(slots))?;
        let (blocks, ends) = (
            context.create_cq(options.vector)?,
            context.create_cq(options.vector)?,
        );
        let area = domain.reg_mr(options.area_bytes(), Access::REMOTE_WRITE)?;
        let area = area
            .expose(options.area_bytes())
            .ok_or(OffloadError::Area)?;
        let ends_pair = domain
            .create_qp(&ends)
            .q_key(options.q_key)
            .max_send_wr(1)
            .max_recv_wr(ENDS)
            .build()?;
        ends_pair.activate()?;
        let peers = needs
            .peers
            .iter()
            .map(|(rank, need)| Peer::new(domain, &blocks, &options, *rank, need));
        let peers = peers.collect::<Result<Vec<_>, _>>()?;
        let settings = Settings {
            watchdog: options.watchdog_ticks(context)?,
            timed: options.rank == 0,
            origin: ORIGIN,
        };
        for (place, peer) in (0..).zip(&peers) {
            peer.bind(&ring, place * options.lanes)?;
            peer.fill()?;
        }
        await_ends(&ends_pair)?;
        ring.open(&ends_pair, settings)?;
        Ok(Self {
            peers,
            options,
            domain: domain.clone(),
            ring,
            writer,
            blocks,
            ends,
            ends_pair,
            area,
            state: State::New,
            done: Vec::new(),
            failed: 0,
        })
    }

    /// This member's rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.options.rank
    }

    /// Number of the group in the card.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.ring.group()
    }

    /// What the other members must be told.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        let area = self.area.remote();
        Ticket {
            rank: self.options.rank,
            node: self.domain.context().options().node,
            q_key: self.options.q_key,
            members: self.options.members,
            block_bytes: self.options.block_bytes,
            most_blocks: self.options.most_blocks,
            address: area.address,
            rkey: area.rkey,
            pairs: self.peers.iter().map(Peer::ticket).collect(),
        }
    }

    /// Joins its peers in the schedules, of which each has a ticket; others may be among them. Who is connected may post: its
    /// peers have made the group, or there were no tickets of them.
    ///
    /// # Errors
    /// It is connected already; a ticket that is missing, comes twice or does not fit.
    pub fn connect(&mut self, tickets: &[Ticket]) -> Result<(), OffloadError> {
        if self.state != State::New {
            return Err(OffloadError::State("connected already"));
        }
        for peer in &mut self.peers {
            let ticket = ticket::of(tickets, peer.rank, &self.options)?;
            peer.connect(ticket, self.options.rank)?;
        }
        self.state = State::Ready;
        Ok(())
    }

    /// The next end. In between it takes the completions of blocks and grants.
    ///
    /// # Errors
    /// The card cannot be reached, or wrote nonsense.
    pub fn poll(&mut self) -> Result<Option<End>, OffloadError> {
        let mut done = Vec::new();
        let found = self.ends.poll(&mut done, 1)?;
        self.drain()?;
        let Some(completion) = done.pop().filter(|_| found > 0) else {
            return Ok(None);
        };
        self.ended(&completion).map(Some)
    }

    /// The next end, for which it waits by interrupt; `None` if the time is over first.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<End>, OffloadError> {
        if !self.ends.wait(timeout)? {
            return Ok(None);
        }
        self.poll()
    }

    fn ended(&mut self, completion: &WorkCompletion) -> Result<End, OffloadError> {
        let notice = completion.opcode == WorkCompletionOpcode::Notify
            && completion.status == WorkCompletionStatus::Ok
            && completion.peer.qp_num() == self.ring.group();
        let told = end_of_word(completion.byte_len).filter(|_| notice);
        let (code, slot) = told.ok_or(OffloadError::Strange)?;
        await_ends(&self.ends_pair)?;
        self.state = match code {
            EndCode::Done if self.state == State::Stopped => State::Stopped,
            EndCode::Done => State::Ready,
            _ => State::Ended,
        };
        let peer = self
            .peers
            .get(usize::from(slot) / usize::from(self.options.lanes));
        Ok(End {
            message: completion.window.msn,
            code,
            peer: peer
                .filter(|_| code == EndCode::Failed)
                .map(|peer| peer.rank),
        })
    }

    /// Takes the completions of blocks and grants.
    fn drain(&mut self) -> Result<(), OffloadError> {
        loop {
            self.done.clear();
            let found = self.blocks.poll(&mut self.done, AT_ONCE)?;
            let bad = |one: &&WorkCompletion| one.status != WorkCompletionStatus::Ok;
            self.failed += self.done.iter().filter(bad).count() as u64;
            if found < AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Blocks and grants of this member that did not end well.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Nothing new begins. The end [`EndCode::Stopped`] comes when what is under way has ended.
    ///
    /// # Errors
    /// It is not connected, or has ended; or what the driver says.
    pub fn stop(&mut self) -> Result<(), OffloadError> {
        match self.state {
            State::Ready | State::Busy => {}
            State::New => return Err(OffloadError::State("not connected")),
            State::Stopped => return Err(OffloadError::State("stopped already")),
            State::Ended => return Err(OffloadError::State("ended")),
        }
        self.halt()
    }

    pub(super) fn halt(&mut self) -> Result<(), OffloadError> {
        match self.ring.stop() {
            // It has ended otherwise, and its end is to be polled.
            Ok(()) | Err(Error::RingRefused { .. }) => self.state = State::Stopped,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Gives the group of the card back. It has ended, or was never connected.
    ///
    /// # Errors
    /// It has not ended: [`Self::stop`], then wait for the end; or what the driver says.
    pub fn close(mut self) -> Result<(), OffloadError> {
        if !matches!(self.state, State::New | State::Ended) {
            return Err(OffloadError::State("not ended: stop it first"));
        }
        self.finish()?;
        Ok(self.ring.close()?)
    }

    /// Stops it unless it has ended, and waits for its end.
    fn finish(&mut self) -> Result<(), OffloadError> {
        if self.is_running() {
            self.halt()?;
        }
        let now = |group: &Self| group.domain.context().device().now_ns();
        let start = now(self);
        while self.state == State::Stopped {
            self.poll()?;
            if now(self).saturating_sub(start) > DROP_NS {
                break;
            }
        }
        match self.state {
            State::Ended => Ok(()),
            _ => Err(OffloadError::State("not ended in time")),
        }
    }

    /// It was neither stopped nor has it ended.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::New | State::Ready | State::Busy)
    }

    /// It is connected and has no message.
    pub(super) fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Bytes of the longest message.
    pub(super) fn most_bytes(&self) -> u64 {
        self.area.length() as u64
    }

    /// Ranks of its peers.
    pub(super) fn peers(&self) -> impl Iterator<Item = u32> {
        self.peers.iter().map(|peer| peer.rank)
    }

    /// Copies bytes of the message into its place; of the root, before it posts.
    ///
    /// # Errors
    /// A message is under way, or beyond the end.
    pub fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), OffloadError> {
        if matches!(self.state, State::Busy | State::Stopped) {
            return Err(OffloadError::State("busy with a message"));
        }
        Ok(self.area.write(at, bytes)?)
    }

    /// Copies bytes of the message out. They are whole after its end.
    ///
    /// # Errors
    /// Beyond the end.
    pub fn read(&self, at: usize, into: &mut [u8]) -> Result<(), OffloadError> {
        Ok(self.area.read(at, into)?)
    }
}

impl Drop for OffloadedGroup {
    fn drop(&mut self) {
        // A group that is not closed keeps its ring and its place.
        if self.finish().is_ok() {
            let _ = self.ring.close();
        }
    }
}

/// Posts receive requests for ends, as many as fit.
fn await_ends(pair: &QueuePair) -> Result<(), OffloadError> {
    let mut batch = pair.batch();
    while batch.recv_notice(0) {}
    batch.ring().map_err(|rejected| rejected.error)?;
    Ok(())
}
