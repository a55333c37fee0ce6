//! The receiver: R windows, the list of free ones, and what is remembered of each peer.
//!
//! Every public method that takes part in the protocol is one atomic operation of `docs/rw-engine.md`, with its checks in
//! that order. [`Receiver::handle`] and its companions wrap them for simulators.

mod control;
mod data;
mod handle;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
pub use sweep::BESIDE_OTHERS_LOG;

use super::{
    Bitmap, Complete, Connect, Data, Message, Mode, Tick,
    codes::{ConnectStatus, DropReason, Reason, Status},
    config::{ConfigError, ReceiverConfig},
    stats::ReceiverStats,
};

/// One of the R windows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Incarnation: goes up at every allocation, modulo 2^gen_bits (P14).
    pub r#gen: u32,
    /// The transfer it is open for.
    pub open: Option<Transfer>,
}

/// What the receiver keeps of an open transfer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Node that opened the window.
    pub src: u32,
    /// Its transfer slot.
    pub slot: u16,
    /// Incarnation of the sending process.
    pub incarnation: u16,
    /// Number of the transfer in that slot.
    pub xid: u32,
    /// Address of byte 0.
    pub addr: u64,
    /// Key of the region.
    pub rkey: u32,
    /// Bytes.
    pub length: u32,
    /// log2 of the packet size.
    pub mtu: u8,
    /// N, packets.
    pub n: u32,
    /// First number not yet received in order.
    pub wbase: u32,
    /// Bit m = packet `wbase + m` has arrived; W bits.
    pub wvec: Bitmap,
    /// The last packet has arrived.
    pub w_tail: bool,
    /// Highest number accepted + 1; 0 at first.
    pub highest: u32,
    /// Tick of the last DATA that passed the window, number, tail and length checks.
    pub last_rx: Tick,
    /// Holes below this have been asked for.
    pub req_upto: u32,
    /// Holes below this were asked for at `mark_tick` or earlier.
    pub mark: u32,
    /// Tick of the last repetition of requests. Timer mode: of the last slide or request.
    pub mark_tick: Tick,
    /// Tick of the last RETX_RANGE.
    pub range_tick: Tick,
    /// Writes that are visible in host memory.
    pub acked: u32,
    /// Counter mode: packets of this round.
    pub count: u32,
    /// Counter mode: writes given out, over all rounds.
    pub issued: u32,
    /// Counter mode: the round, modulo 16.
    pub round: u8,
    /// Go-back-n: a packet above the expected one has been seen since the last NAK.
    pub gap: bool,
}

/// What is remembered of a (src, slot) (RW-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Incarnation of the sending process.
    pub incarnation: u16,
    /// Last transfer number.
    pub xid: u32,
    /// What became of it.
    pub state: PeerState,
}

/// State of the last transfer of a peer slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeerState {
    /// A window is open.
    Open {
        /// Which.
        wptr: u16,
    },
    /// It has ended.
    Done(Status),
}

/// A write to host memory, given out for every accepted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WriteCmd {
    /// Window: comes back in [`Receiver::write_done`].
    pub wptr: u16,
    /// Its incarnation: comes back as well.
    pub r#gen: u32,
    /// Packet number.
    pub pidx: u32,
    /// `addr + pidx·P`.
    pub addr: u64,
    /// Key of the region.
    pub rkey: u32,
    /// Bytes.
    pub len: u16,
}

/// Result of an accepted DATA packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Write its payload there.
    pub write: WriteCmd,
    /// Send STATUS with seq 0 ([`Receiver::status`]).
    pub credit_due: bool,
}

/// Completion record for the receiver's user. One per transfer (RW-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// Window it had.
    pub wptr: u16,
    /// Peer node.
    pub src: u32,
    /// Peer's transfer slot.
    pub slot: u16,
    /// Transfer number.
    pub xid: u32,
    /// Bytes.
    pub length: u32,
    /// OK or ABORTED.
    pub status: Status,
    /// Unless OK, why: what the ABORT says; `Idle` if the receiver gave up; `Cancelled` if it was told to
    /// ([`Receiver::revoke`]); `GaveUp` also of a transfer that a newer one of its peer slot has replaced.
    pub reason: Reason,
}

/// What a receiver's owner says of a CONNECT: it counts only if the transfer is not known (BW-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It may have a window.
    #[default]
    Open,
    /// It is refused, with this answer.
    Refuse(ConnectStatus),
    /// It is not answered.
    Silent,
}

/// Result of [`Receiver::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishOut {
    /// For the user.
    pub completion: Completion,
    /// For the sender, at node `completion.src`.
    pub complete_msg: Complete,
}

/// Result of [`Receiver::connect`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOut {
    /// CONNECT_RESP or COMPLETE; nothing for an older xid.
    pub reply: Option<Message>,
    /// The transfer that this one replaced.
    pub aborted: Option<Completion>,
}

/// What a receiver wants done: see [`Receiver::handle`] and [`Receiver::sweep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a message.
    Send {
        /// To this node.
        dst: u32,
        /// The message.
        msg: Message,
    },
    /// Write a payload to memory, then call [`Receiver::write_done`].
    Write(WriteCmd),
    /// Tell the user.
    Completion(Completion),
}

/// The receiver of one node.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    windows: Vec<Window>,
    free: VecDeque<u16>,
    peers: BTreeMap<(u32, u16), Peer>,
    finished: Finished,
    /// Tick of the last DATA, whatever became of it: as a counter, no state of a transfer (P7).
    heard: Tick,
    stats: ReceiverStats,
}

/// Peer slots whose transfer has ended, in the order of the ends; kept only where their number is limited (BW-10).
#[derive(Clone, Debug, Default)]
struct Finished {
    ends: u64,
    by_end: BTreeMap<u64, (u32, u16)>,
    end_of: BTreeMap<(u32, u16), u64>,
}

impl Finished {
    fn remove(&mut self, peer: (u32, u16)) {
        if let Some(end) = self.end_of.remove(&peer) {
            self.by_end.remove(&end);
        }
    }

    fn push(&mut self, peer: (u32, u16)) {
        self.remove(peer);
        self.ends += 1;
        self.by_end.insert(self.ends, peer);
        self.end_of.insert(peer, self.ends);
    }

    fn pop(&mut self) -> Option<(u32, u16)> {
        let (_, peer) = self.by_end.pop_first()?;
        self.end_of.remove(&peer);
        Some(peer)
    }
}

/// Equality of state: counters are left out.
impl PartialEq for Receiver {
    fn eq(&self, other: &Self) -> bool {
        self.windows == other.windows
            && self.free == other.free
            && self.peers == other.peers
            && self.config == other.config
    }
}

impl Eq for Receiver {}

impl std::hash::Hash for Receiver {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.windows.hash(state);
        self.free.hash(state);
        self.peers.hash(state);
    }
}

impl Receiver {
    /// A receiver after reset: every window closed, free in the order 0..R-1, every gen 0.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        config.check()?;
        // `check` bounds r by 2^16, so every window number fits 16 bits.
        let windows = vec![
            Window {
                r#gen: 0,
                open: None
            };
            config.r as usize
        ];
        let free = (0..config.r).map(|wptr| wptr as u16).collect();
        Ok(Self {
            config,
            windows,
            free,
            peers: BTreeMap::new(),
            finished: Finished::default(),
            heard: 0,
            stats: ReceiverStats::default(),
        })
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Window `wptr`, if there is one.
    #[must_use]
    pub fn window(&self, wptr: u16) -> Option<&Window> {
        self.windows.get(usize::from(wptr))
    }

    /// The transfer that window `wptr` is open for.
    #[must_use]
    pub fn transfer(&self, wptr: u16) -> Option<&Transfer> {
        self.window(wptr)?.open.as_ref()
    }

    /// Free windows, the next one to be used first.
    pub fn free(&self) -> impl Iterator<Item = u16> + '_ {
        self.free.iter().copied()
    }

    /// What is remembered of a peer slot.
    #[must_use]
    pub fn peer(&self, src: u32, slot: u16) -> Option<Peer> {
        self.peers.get(&(src, slot)).copied()
    }

    /// Takes over the times and the reorder allowance of a configuration; all else stays, and transfers go on.
    pub fn reconfigure(&mut self, config: &ReceiverConfig) {
        let ReceiverConfig {
            allowance,
            allowance_ticks,
            retry_ticks,
            tail_ticks,
            idle_ticks,
            busy_hint,
            ..
        } = *config;
        self.config = ReceiverConfig {
            allowance,
            allowance_ticks,
            retry_ticks,
            tail_ticks,
            idle_ticks,
            busy_hint,
            ..self.config.clone()
        };
    }

    /// Entries of peer slots.
    #[must_use]
    pub fn known_peers(&self) -> usize {
        self.peers.len()
    }

    /// Forgets a peer slot whose transfer has ended (BW-10); false if there is none, or its window is open.
    pub fn forget(&mut self, src: u32, slot: u16) -> bool {
        let done = matches!(
            self.peer(src, slot),
            Some(Peer {
                state: PeerState::Done(_),
                ..
            })
        );
        if done {
            self.peers.remove(&(src, slot));
            self.finished.remove((src, slot));
            self.stats.forgotten += 1;
        }
        done
    }

    /// Whether a CONNECT is of a transfer that is open, has ended, or is older than its peer slot's last: it needs no new window.
    #[must_use]
    pub fn knows(&self, c: &Connect) -> bool {
        self.peer(c.src, c.slot).is_some_and(|peer| {
            !super::transfer_newer((c.incarnation, c.xid), (peer.incarnation, peer.xid))
        })
    }

    /// Ends an open window at once, whatever has arrived: the region or the queue pair is gone (BW-2), or nobody takes the
    /// notification (BW-3). What the sender is told stays with its peer slot.
    pub fn revoke(&mut self, wptr: u16, status: Status) -> Option<FinishOut> {
        let completion = self.close(wptr, status, Reason::Cancelled)?;
        let complete_msg = Complete {
            slot: completion.slot,
            xid: completion.xid,
            status,
        };
        Some(FinishOut {
            completion,
            complete_msg,
        })
    }

    /// Makes room for the entry of a peer slot that is not known: the one that finished first is forgotten.
    fn make_room(&mut self) -> bool {
        let Some(limit) = self.config.peers else {
            return true;
        };
        if self.peers.len() < limit as usize {
            return true;
        }
        match self.finished.pop() {
            Some((src, slot)) => {
                self.peers.remove(&(src, slot));
                self.stats.forgotten += 1;
                true
            }
            None => false,
        }
    }

    /// Sets the incarnation counter of a closed window, to start a test near the wrap. Ignored if the window is open.
    pub fn preset_gen(&mut self, wptr: u16, r#gen: u32) {
        let mask = self.gen_mask();
        if let Some(window) = self
            .windows
            .get_mut(usize::from(wptr))
            .filter(|window| window.open.is_none())
        {
            window.r#gen = r#gen & mask;
        }
    }

    /// Checks the invariants P12 (numbers and bits of every window) and P13 (open + free = R, none twice).
    ///
    /// # Errors
    /// The property and what violates it.
    pub fn check(&self) -> Result<(), String> {
        for (wptr, t) in self
            .windows
            .iter()
            .enumerate()
            .filter_map(|(wptr, window)| Some((wptr, window.open.as_ref()?)))
        {
            let span = (t.highest.saturating_sub(t.wbase)) as usize;
            if t.wbase > t.n {
                return Err(format!("P12: window {wptr}: wbase {} > N {}", t.wbase, t.n));
            }
            if t.wvec.first().as_deref() == Some(&true) && !self.config.late_slides {
                return Err(format!("P12: window {wptr}: bit 0 set after a slide"));
            }
            if t.wvec.last_one().is_some_and(|last| last >= span) || t.highest > t.n {
                return Err(format!(
                    "P12: window {wptr}: a bit at or above the highest number {}",
                    t.highest
                ));
            }
            let known = self.peer(t.src, t.slot);
            if known
                != Some(Peer {
                    incarnation: t.incarnation,
                    xid: t.xid,
                    state: PeerState::Open { wptr: wptr as u16 },
                })
            {
                return Err(format!("P13: window {wptr}: its peer entry says {known:?}"));
            }
        }
        let mut seen = vec![false; self.windows.len()];
        for &wptr in &self.free {
            match seen.get_mut(usize::from(wptr)) {
                Some(seen) if !*seen && self.transfer(wptr).is_none() => *seen = true,
                _ => {
                    return Err(format!(
                        "P13: window {wptr} is free and open, or free twice"
                    ));
                }
            }
        }
        let open = self
            .windows
            .iter()
            .filter(|window| window.open.is_some())
            .count();
        if open + self.free.len() != self.windows.len() {
            return Err(format!(
                "P13: {open} open + {} free of {} windows",
                self.free.len(),
                self.windows.len()
            ));
        }
        Ok(())
    }

    fn gen_mask(&self) -> u32 {
        (1 << self.config.gen_bits) - 1
    }

    /// Closes an open window, frees it and remembers how the transfer ended.
    fn close(&mut self, wptr: u16, status: Status, reason: Reason) -> Option<Completion> {
        let t = self.windows.get_mut(usize::from(wptr))?.open.take()?;
        self.free.push_back(wptr);
        self.peers.insert(
            (t.src, t.slot),
            Peer {
                incarnation: t.incarnation,
                xid: t.xid,
                state: PeerState::Done(status),
            },
        );
        if self.config.peers.is_some() {
            self.finished.push((t.src, t.slot));
        }
        match status {
            Status::Ok => self.stats.finished += 1,
            Status::Aborted | Status::NotReady => self.stats.aborted += 1,
        }
        Some(Completion {
            wptr,
            src: t.src,
            slot: t.slot,
            xid: t.xid,
            length: t.length,
            status,
            reason,
        })
    }
}

impl Transfer {
    /// Bytes that packet `pidx` must carry.
    #[must_use]
    pub fn packet_len(&self, pidx: u32) -> u32 {
        super::packet_len(self.length, self.mtu, pidx)
    }

    /// True if `pidx` is neither below wbase nor marked in the bitmap.
    #[must_use]
    pub fn missing(&self, pidx: u32) -> bool {
        pidx >= self.wbase
            && !self
                .wvec
                .get((pidx - self.wbase) as usize)
                .as_deref()
                .copied()
                .unwrap_or(false)
    }

    /// Missing numbers of a range, ascending.
    fn holes(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        (from.max(self.wbase)..to).filter(|&pidx| self.missing(pidx))
    }

    /// First number that has not arrived: wbase, unless a slide is due.
    #[must_use]
    pub fn first_hole(&self) -> u32 {
        self.wbase + self.wvec.leading_ones() as u32
    }

    /// Every packet of the transfer has been accepted (RW-4).
    #[must_use]
    pub fn all_received(&self, mode: Mode) -> bool {
        match mode {
            Mode::Counter => self.count == self.n,
            Mode::GoBackN | Mode::RwTimer | Mode::Rw => self.w_tail && self.first_hole() == self.n,
        }
    }
}

impl Data {
    /// The first of the checks on a packet's own numbers that fails against the transfer (RW-4, RW-6, RW-20).
    fn shape(&self, t: &Transfer) -> Result<(), DropReason> {
        if self.pidx >= t.n {
            return Err(DropReason::BeyondEnd);
        }
        if self.tail != (self.pidx == t.n - 1) {
            return Err(DropReason::BadTail);
        }
        if u32::from(self.len) != t.packet_len(self.pidx) {
            return Err(DropReason::BadLength);
        }
        Ok(())
    }
}
