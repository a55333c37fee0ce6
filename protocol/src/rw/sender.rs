//! The sender: transfer slots that share one line.
//!
//! One call of [`Sender::next_packet`] fills one packet slot of the line. Underneath, [`Sender::choices`] says what could be
//! sent whatever the clock says, and [`Sender::perform`] does one of these: the explorer drives the same code with every
//! timer free to fire at any moment.

mod active;
mod incoming;
pub mod pace;
mod schedule;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;

use active::Active;
pub use turns::{Class, QUEUED_MOST, Turns, Wants};

use super::{
    Abort, Message, Mode, Tick,
    codes::Reason,
    config::{ConfigError, SenderConfig},
    packets,
    stats::SenderStats,
};

/// What a user wants copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Receiving node.
    pub dst: u32,
    /// Address of byte 0 there.
    pub addr: u64,
    /// Key of the region it lies in.
    pub rkey: u32,
    /// Bytes.
    pub length: u32,
    /// log2 of the packet size, 8 to 12.
    pub mtu: u8,
    /// Fresh packets of it leave when no older transfer of this kind has any (RW-15).
    pub oldest_first: bool,
}

/// A packet for the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// To this node.
    pub dst: u32,
    /// The transfer it belongs to: with `msg.pidx` this names the payload of a DATA packet.
    pub slot: u16,
    /// Its number in that slot.
    pub xid: u32,
    /// The message.
    pub msg: Message,
}

/// How a transfer ended at the sender.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The receiver has all of it.
    Ok,
    /// The receiver gave up or has forgotten it.
    Aborted,
    /// The receiver will never take it: limits or address range.
    Refused,
    /// No free window in `max_busy` attempts.
    Busy,
    /// Nothing was ever heard (RW-18).
    Unreachable,
    /// Something was heard once, then no progress in K polls (RW-18).
    Unresponsive,
    /// [`Sender::cancel`].
    Cancelled,
    /// The receiver's key does not allow it (BW-2).
    Access,
    /// The receiver has no such queue pair (BW-2).
    BadQp,
    /// The receiver has all of it, and no room for the completion that was asked for (BW-3).
    NotReady,
}

/// What a transfer waits for that has nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The receiver's window is full as far as the sender knows (RW-19).
    Credit,
    /// The receiver has not answered CONNECT, or not said that it has everything.
    Peer,
    /// Its next packet is not due: it was told to slow down (CL-4).
    Pace,
}

/// Completion for the sender's user: exactly one per started transfer (P4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderCompletion {
    /// Transfer slot; free again.
    pub slot: u16,
    /// Transfer number.
    pub xid: u32,
    /// How it ended.
    pub outcome: Outcome,
}

/// Why a transfer cannot be started. Nothing is sent and no completion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// All slots are busy.
    #[error("all {0} transfer slots are busy")]
    NoSlot(u16),
    /// Not a packet size of the protocol.
    #[error("packet size 2^{0} is not one of 2^8 to 2^12")]
    Mtu(u8),
    /// More packets than numbers.
    #[error("{packets} packets, the most is {max}")]
    TooLong {
        /// N.
        packets: u32,
        /// M.
        max: u32,
    },
    /// The last byte has no address.
    #[error("address {addr:#x} + {length} bytes wraps around")]
    Address {
        /// Address of byte 0.
        addr: u64,
        /// Bytes.
        length: u32,
    },
}

/// One thing a sender could put on the line, or decide, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The oldest ABORT that waits.
    Abort,
    /// CONNECT, first or again.
    Connect(u16),
    /// POLL.
    Poll(u16),
    /// POLL before its time, in a slot of the line that nothing else needs.
    EarlyPoll(u16),
    /// The lowest packet that was asked for.
    Resend(u16),
    /// The packet at the send pointer.
    Fresh(u16),
    /// End the transfer without an answer (RW-18). Sends nothing by itself; an ABORT waits after it.
    GiveUp(u16),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    next_xid: u32,
    active: Option<Active>,
}

/// The sender of one node.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    slots: Vec<Slot>,
    turns: Turns,
    aborts: VecDeque<(u32, Abort)>,
    completions: VecDeque<SenderCompletion>,
    stats: SenderStats,
}

/// Equality of state: counters are left out.
impl PartialEq for Sender {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots
            && self.turns == other.turns
            && self.aborts == other.aborts
            && self.completions == other.completions
            && self.config == other.config
    }
}

impl Eq for Sender {}

impl std::hash::Hash for Sender {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.slots.hash(state);
        self.turns.hash(state);
        self.aborts.hash(state);
        self.completions.hash(state);
    }
}

impl Sender {
    /// A sender with every slot free.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn new(config: SenderConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let slots = vec![
            Slot {
                next_xid: config.first_xid,
                active: None
            };
            usize::from(config.slots)
        ];
        Ok(Self {
            config,
            slots,
            turns: Turns::new(),
            aborts: VecDeque::new(),
            completions: VecDeque::new(),
            stats: SenderStats::default(),
        })
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Starts a transfer in the lowest free slot: (slot, xid), which name it in its completion.
    ///
    /// # Errors
    /// What is wrong with the request, or that every slot is taken.
    pub fn start(&mut self, request: Request, now: u64) -> Result<(u16, u32), StartError> {
        if !SenderConfig::mtu_ok(request.mtu) {
            return Err(StartError::Mtu(request.mtu));
        }
        let n = packets(request.length, request.mtu);
        if n > self.config.max_packets {
            return Err(StartError::TooLong {
                packets: n,
                max: self.config.max_packets,
            });
        }
        if u128::from(request.addr) + u128::from(request.length) > 1 << 64 {
            return Err(StartError::Address {
                addr: request.addr,
                length: request.length,
            });
        }
        let interval = u16::try_from(self.config.poll_ticks).unwrap_or(u16::MAX);
        let free = self
            .slots
            .iter_mut()
            .enumerate()
            .find(|(_, slot)| slot.active.is_none());
        let Some((index, slot)) = free else {
            return Err(StartError::NoSlot(self.config.slots));
        };
        let xid = slot.next_xid;
        slot.next_xid = xid.wrapping_add(1);
        slot.active = Some(Active::new(request, xid, n, interval, now as Tick));
        self.turns.started(index, request.oldest_first);
        Ok((index as u16, xid))
    }

    /// Ends a transfer at the user's wish: ABORT to the receiver, completion CANCELLED. False if the slot is free.
    pub fn cancel(&mut self, slot: u16) -> bool {
        self.cancel_for(slot, Reason::Cancelled)
    }

    /// The same, with what the receiver is told.
    pub fn cancel_for(&mut self, slot: u16, reason: Reason) -> bool {
        self.end_and_abort(slot, Outcome::Cancelled, reason)
    }

    /// Takes over everything of a configuration but the number of slots and the first xid, which stay: another node number,
    /// or another network. Transfers go on.
    pub fn reconfigure(&mut self, config: SenderConfig) {
        self.config = SenderConfig {
            slots: self.config.slots,
            first_xid: self.config.first_xid,
            ..config
        };
    }

    /// True if a transfer can be started.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.slots.iter().any(|slot| slot.active.is_none())
    }

    /// What the transfer in a slot waits for, if it has nothing to send now.
    #[must_use]
    pub fn waits_for(&self, slot: u16) -> Option<Waits> {
        let t = self.get(slot)?;
        if t.window.is_none() || t.next >= t.n && !t.has_resend() {
            Some(Waits::Peer)
        } else if t.has_resend() || t.has_fresh(&self.config) {
            t.pace.is_held().then_some(Waits::Pace)
        } else {
            Some(Waits::Credit)
        }
    }

    /// The oldest completion that was not yet taken.
    pub fn take_completion(&mut self) -> Option<SenderCompletion> {
        self.completions.pop_front()
    }

    /// Number of transfers that have not ended.
    #[must_use]
    pub fn active(&self) -> usize {
        self.slots
            .iter()
            .filter(|slot| slot.active.is_some())
            .count()
    }

    /// Number of the transfer in a slot, if it is busy.
    #[must_use]
    pub fn xid(&self, slot: u16) -> Option<u32> {
        Some(self.get(slot)?.xid)
    }

    /// What the transfer in a slot copies.
    #[must_use]
    pub fn request(&self, slot: u16) -> Option<&Request> {
        Some(&self.get(slot)?.request)
    }

    /// Send pointer and credit of the transfer in a slot: the next fresh packet, and the first number that may not be sent.
    #[must_use]
    pub fn pointers(&self, slot: u16) -> Option<(u32, u32)> {
        self.get(slot).map(|t| (t.next, t.credit))
    }

    /// Least time between two packets of the transfer in a slot, in parts of a tick, [`pace::LINE`] to one.
    #[must_use]
    pub fn gap(&self, slot: u16) -> Option<u32> {
        self.get(slot).map(|t| t.pace.gap())
    }

    /// True if the sender knows a window for the transfer in this slot.
    #[must_use]
    pub fn connected(&self, slot: u16) -> bool {
        self.get(slot).is_some_and(|t| t.window.is_some())
    }

    /// Levels what only times the scheduler or tells two failures apart: an explorer that tries every choice with the clock
    /// standing still has no use for it.
    pub(super) fn level(&mut self) {
        self.turns = Turns::new();
        for t in self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.active.as_mut())
        {
            t.heard = false;
            // The answer to any poll is one to the last.
            (t.seq, t.late) = (1, 0);
            t.polled = [0; active::POLLS_KEPT];
            t.level_repairs();
            (t.owed, t.lossy, t.trusted) = (255, true, 0);
            (t.early_at, t.early_polls) = (0, 0);
            t.pace = pace::Pace::new(0);
        }
    }

    fn get(&self, slot: u16) -> Option<&Active> {
        self.slots.get(usize::from(slot))?.active.as_ref()
    }

    fn get_mut(&mut self, slot: u16) -> Option<&mut Active> {
        self.slots.get_mut(usize::from(slot))?.active.as_mut()
    }

    /// Frees a slot and leaves the one completion of its transfer.
    fn end(&mut self, slot: u16, outcome: Outcome) -> Option<Active> {
        let t = self.slots.get_mut(usize::from(slot))?.active.take()?;
        self.turns.ended(slot.into());
        self.completions.push_back(SenderCompletion {
            slot,
            xid: t.xid,
            outcome,
        });
        Some(t)
    }

    fn end_and_abort(&mut self, slot: u16, outcome: Outcome, reason: Reason) -> bool {
        let src = self.config.src;
        let ended = self.end(slot, outcome);
        if let Some(t) = &ended {
            self.aborts.push_back((
                t.request.dst,
                Abort {
                    src,
                    slot,
                    xid: t.xid,
                    reason,
                },
            ));
        }
        ended.is_some()
    }
}
