//! The three rings of a queue pair in host memory, and what is under way in them.

use std::sync::atomic::{AtomicU64, Ordering};

use tributary_protocol::card::command::argument::{create_qp, modify_qp, next_epoch};
use tributary_protocol::card::command::{Arguments, Command, RING_LOG_MAX};
use tributary_protocol::card::descriptor::{
    Arrival, COMPLETION_LEN, Completion, Of, RECEIVE_LEN, ReceiveRequest, ReductionRequest,
    WORK_LEN, WorkRequest, flags,
};
use tributary_protocol::card::regs::{
    DOORBELL_ARM, DOORBELL_COMPLETE, DOORBELL_RECEIVE, DOORBELL_SEND, doorbell,
};
use tributary_protocol::registers::Register;
use tributary_protocol::xud::Outcome;

use crate::memory::Dma;
use crate::{Context, DeviceError, Error, PostError, QueuePairState};

/// What a queue pair is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub sends: u16,
    pub receives: u16,
    pub q_key: u32,
    pub first_psn: u32,
    pub timeout: u8,
    pub vector: u32,
    /// The card rings the doorbell of the send ring.
    pub rung_by_card: bool,
}

/// A place for a request that has not ended.
#[derive(Debug, Default)]
struct Request<K> {
    wr_id: u64,
    /// What it is; nothing while the place is free.
    of: Option<Of>,
    /// Its number in its ring.
    number: u64,
    kept: K,
}

/// A request that has ended, or the queue pair has ([`Outcome::LocalQueue`]).
#[derive(Debug)]
pub(crate) struct Ended {
    pub wr_id: u64,
    /// Where it was: [`Rings::kept`].
    place: usize,
    pub completion: Completion,
}

/// What a completion of a queue pair in a reduction group says.
#[derive(Debug)]
pub(crate) enum Came {
    /// A frame of the group has arrived.
    Frame(Arrival),
    /// A request has ended, or the queue pair has.
    Ended,
}

/// Where software stands in a ring that it fills.
#[derive(Debug)]
struct Producer {
    /// Offset in the memory.
    at: usize,
    log: u8,
    /// Its entries less one.
    mask: u64,
    /// Entries ever posted.
    posted: u64,
    /// Entries that the card has surely read: it reads in order, so all up to the newest that has ended.
    read: u64,
    /// What was rung last.
    rung: u64,
    /// Requests that have not ended, and how many may be.
    live: u16,
    most: u16,
}

impl Producer {
    fn new(at: usize, most: u16) -> Self {
        let log = most.next_power_of_two().trailing_zeros() as u8;
        Self {
            at,
            log,
            mask: (1 << log) - 1,
            posted: 0,
            read: 0,
            rung: 0,
            live: 0,
            most,
        }
    }

    fn full(&self) -> bool {
        self.live >= self.most || self.posted - self.read > self.mask
    }

    /// Entries that can be put in now.
    fn room(&self) -> usize {
        let waiting = (self.posted - self.read).min(self.mask + 1);
        let places = self.mask + 1 - waiting;
        usize::from(self.most.saturating_sub(self.live)).min(places as usize)
    }

    /// Offset of the next entry.
    fn next(&self, bytes: usize) -> usize {
        self.at + (self.posted & self.mask) as usize * bytes
    }

    /// The next entry was written.
    fn advance(&mut self) {
        self.posted += 1;
        self.live += 1;
    }

    /// The index for the doorbell, if it is a new one.
    fn ring(&mut self) -> Option<u16> {
        let new = std::mem::replace(&mut self.rung, self.posted) != self.posted;
        new.then_some(self.posted as u16)
    }

    /// The card has fetched so many entries, modulo 2^16.
    fn fetched(&mut self, number: u16) {
        let waiting = u64::from((self.posted as u16).wrapping_sub(number));
        if waiting <= self.mask + 1 {
            self.read = self.read.max(self.posted.saturating_sub(waiting));
        }
    }

    fn ended(&mut self, number: u64) {
        self.live = self.live.saturating_sub(1);
        self.read = self.read.max(number + 1);
    }
}

/// A completion in its ring, word by word.
type Entry = [AtomicU64; COMPLETION_LEN / 8];

/// The rings of one queue pair. `K` is kept with each request until it ends: the buffer, where that is given away.
pub(crate) struct Rings<K: Default> {
    context: Context,
    number: u32,
    /// Epoch that the card gave the queue pair.
    pub epoch: u16,
    pub state: QueuePairState,
    /// Given back as soon as the queue pair has ended: others may hold what is left of it for longer.
    memory: Option<Dma>,
    send: Producer,
    receive: Producer,
    complete_at: usize,
    complete_log: u8,
    /// Its entries less one.
    complete_mask: usize,
    /// Completions ever taken, modulo 2^16.
    taken: u16,
    /// Of these, those whose slots were given back.
    given: u16,
    requests: Vec<Request<K>>,
    /// Free places in it.
    free: Vec<u32>,
    rung_by_card: bool,
    gone: bool,
}

impl<K: Default> Rings<K> {
    /// Makes a queue pair.
    pub fn new(context: &Context, domain: u16, shape: &Shape) -> Result<Self, Error> {
        let ring_max = 1u64 << (RING_LOG_MAX - 2);
        for (what, value) in [("send", shape.sends), ("receive", shape.receives)] {
            let value = value.into();
            if !(1..=ring_max).contains(&value) {
                let (min, max) = (1, ring_max);
                return Err(Error::Range {
                    what,
                    value,
                    min,
                    max,
                });
            }
        }
        let send = Producer::new(0, shape.sends);
        let receive = Producer::new(WORK_LEN << send.log, shape.receives);
        let receive_bytes = (RECEIVE_LEN << receive.log).next_multiple_of(COMPLETION_LEN);
        let complete_at = receive.at + receive_bytes;
        // Twice as long as what can be under way: slots can be given back by the half ring, and nothing ever waits for one.
        let most = 2 * (u32::from(shape.sends) + u32::from(shape.receives));
        let complete_log = most.next_power_of_two().trailing_zeros() as u8;
        let mut memory = Dma::new(context, complete_at + (COMPLETION_LEN << complete_log))?;
        let base = memory.memory.iova;
        let bases = [base, base + receive.at as u64, base + complete_at as u64];
        let mut args = Arguments::default();
        create_qp::SEND_LOG.put(&mut args, send.log);
        create_qp::RECEIVE_LOG.put(&mut args, receive.log);
        create_qp::COMPLETE_LOG.put(&mut args, complete_log);
        create_qp::TIMEOUT.put(&mut args, shape.timeout);
        create_qp::VECTOR.put(&mut args, shape.vector);
        create_qp::Q_KEY.put(&mut args, shape.q_key);
        create_qp::DOMAIN.put(&mut args, domain);
        create_qp::FIRST_PSN.put(&mut args, shape.first_psn);
        create_qp::SEND_BASE.put(&mut args, bases[0]);
        create_qp::RECEIVE_BASE.put(&mut args, bases[1]);
        create_qp::COMPLETE_BASE.put(&mut args, bases[2]);
        let (number, _) = context.0.queue_pairs.take()?;
        let results = context
            .command(Command::CreateQp, number, &args)
            .inspect_err(|error| {
                if matches!(error, Error::Refused { .. }) {
                    context.0.queue_pairs.give(number);
                } else {
                    memory.lost = true;
                }
            })?;
        let slots = u32::from(shape.sends) + u32::from(shape.receives);
        Ok(Self {
            context: context.clone(),
            number,
            epoch: create_qp::EPOCH.get(&results) as u16,
            state: QueuePairState::Init,
            memory: Some(memory),
            send,
            receive,
            complete_at,
            complete_log,
            complete_mask: (1 << complete_log) - 1,
            taken: 0,
            given: 0,
            requests: (0..slots).map(|_| Request::default()).collect(),
            free: (0..slots).rev().collect(),
            rung_by_card: shape.rung_by_card,
            gone: false,
        })
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn modify(&mut self, to: QueuePairState) -> Result<(), Error> {
        let mut args = Arguments::default();
        modify_qp::STATE.put(&mut args, to.code());
        self.context
            .command(Command::ModifyQp, self.number, &args)?;
        self.state = to;
        Ok(())
    }

    pub fn next_epoch(&mut self) -> Result<u16, Error> {
        let none = Arguments::default();
        let results = (self.context).command(Command::NextEpoch, self.number, &none)?;
        self.epoch = next_epoch::EPOCH.get(&results) as u16;
        Ok(self.epoch)
    }

    /// Whether a work request can be put into the ring.
    #[inline]
    pub fn takes_send(&self) -> Result<(), PostError> {
        if self.state != QueuePairState::ReadyToSend {
            return Err(PostError::State(self.state));
        }
        if self.send.full() {
            return Err(PostError::Full("send"));
        }
        Ok(())
    }

    /// Work requests and receive requests that can be put into the rings now.
    pub fn room(&self) -> (usize, usize) {
        (self.send.room(), self.receive.room())
    }

    /// Whether a receive request can be put into the ring.
    #[inline]
    pub fn takes_receive(&self) -> Result<(), PostError> {
        if matches!(self.state, QueuePairState::Reset | QueuePairState::Error) {
            return Err(PostError::State(self.state));
        }
        if self.receive.full() {
            return Err(PostError::Full("receive"));
        }
        Ok(())
    }

    /// Puts a work request into the ring, which takes it ([`Self::takes_send`]); the card does not know yet.
    #[inline]
    pub fn put_send(&mut self, work: &WorkRequest, kept: K) {
        let wr_id = self.enter(work.wr_id, Of::Send, self.send.posted, kept);
        let entry = WorkRequest { wr_id, ..*work };
        self.put(self.send.next(WORK_LEN), &entry.encode());
        self.send.advance();
    }

    /// Puts a receive request into the ring, which takes it ([`Self::takes_receive`]); the card does not know yet.
    #[inline]
    pub fn put_receive(&mut self, request: &ReceiveRequest, kept: K) {
        let wr_id = self.enter(request.wr_id, Of::Receive, self.receive.posted, kept);
        let entry = ReceiveRequest { wr_id, ..*request };
        self.put(self.receive.next(RECEIVE_LEN), &entry.encode());
        self.receive.advance();
    }

    /// Puts a reduction frame into the ring, which takes it; the card does not know yet. Arriving frames say how far the ring was
    /// read; in case none come, a completion says it for every quarter of the ring.
    pub fn put_reduction(&mut self, request: &ReductionRequest) {
        let quarter = (self.send.mask + 1).div_ceil(4);
        let number = self.send.posted;
        let mut entry = ReductionRequest {
            wr_id: u64::MAX,
            ..*request
        };
        let at = self.send.next(WORK_LEN);
        if (number + 1).is_multiple_of(quarter) {
            entry.wr_id = self.enter(0, Of::Send, number, K::default());
            entry.flags |= flags::SIGNAL.put(1) as u8;
            self.send.advance();
        } else {
            self.send.posted += 1;
        }
        self.put(at, &entry.encode());
    }

    /// Takes the next completion of a queue pair in a reduction group.
    pub fn next_arrival(&mut self) -> Result<Option<Came>, Error> {
        let entry = self.entry().filter(|entry| self.is_written(entry));
        let Some(entry) = entry else {
            return Ok(None);
        };
        let words = std::array::from_fn(|at| u64::from_le(entry[at].load(Ordering::Relaxed)));
        if !Arrival::is_of(&words) {
            return Ok(self.next()?.map(|_| Came::Ended));
        }
        let arrival = Arrival::from_words(&words).map_err(|error| self.corrupt(&error))?;
        if arrival.number != self.taken {
            let (number, at) = (arrival.number, self.taken);
            return Err(self.corrupt(&format_args!("completion {number} at {at}")));
        }
        self.taken = self.taken.wrapping_add(1);
        self.send.fetched(arrival.fetched);
        Ok(Some(Came::Frame(arrival)))
    }

    /// Tells the card what was put into the rings.
    #[inline]
    pub fn ring(&mut self) -> Result<(), DeviceError> {
        if !self.rung_by_card
            && let Some(index) = self.send.ring()
        {
            self.doorbell(&DOORBELL_SEND, index)?;
        }
        if let Some(index) = self.receive.ring() {
            self.doorbell(&DOORBELL_RECEIVE, index)?;
        }
        Ok(())
    }

    /// Whether the card has written a completion that was not taken.
    #[inline]
    pub fn has_next(&self) -> bool {
        self.entry().is_some_and(|entry| self.is_written(entry))
    }

    #[inline]
    fn is_written(&self, entry: &Entry) -> bool {
        // Acquire: the rest of the entry is there when its phase is.
        let last = entry[COMPLETION_LEN / 8 - 1].load(Ordering::Acquire);
        u64::from_le(last) & 1 == u64::from(Completion::phase(self.taken, self.complete_log))
    }

    /// Takes the next completion.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Ended>, Error> {
        let entry = self.entry().filter(|entry| self.is_written(entry));
        let Some(entry) = entry else {
            return Ok(None);
        };
        let words = std::array::from_fn(|at| u64::from_le(entry[at].load(Ordering::Relaxed)));
        let completion = Completion::from_words(&words).map_err(|error| self.corrupt(&error))?;
        if completion.number != self.taken {
            let (number, at) = (completion.number, self.taken);
            return Err(self.corrupt(&format_args!("completion {number} at {at}")));
        }
        self.taken = self.taken.wrapping_add(1);
        let (mut wr_id, mut place) = (0, usize::MAX);
        if completion.status == Outcome::LocalQueue {
            self.state = QueuePairState::Error;
        } else {
            place = completion.wr_id as usize;
            let request = self.requests.get_mut(place);
            // A notification takes what a message would have taken.
            let of = match completion.of {
                Of::Notify => Of::Receive,
                of => of,
            };
            let Some(request) = request.filter(|request| request.of == Some(of)) else {
                let what = format!("completion of request {place}, which is not under way");
                return Err(self.corrupt(&what));
            };
            request.of = None;
            wr_id = request.wr_id;
            match completion.of {
                Of::Send => self.send.ended(request.number),
                // No request is of a frame: that was refused above.
                Of::Receive | Of::Notify | Of::Reduction => self.receive.ended(request.number),
            }
            self.free.push(place as u32);
        }
        Ok(Some(Ended {
            wr_id,
            place,
            completion,
        }))
    }

    /// What was kept with a request that has ended just now.
    #[inline]
    pub fn kept(&mut self, ended: &Ended) -> K {
        let request = self.requests.get_mut(ended.place);
        request.map_or_else(K::default, |request| std::mem::take(&mut request.kept))
    }

    /// Gives the slots of completions back that were taken, once that is worth a doorbell.
    #[inline]
    pub fn give_back(&mut self) -> Result<(), DeviceError> {
        let slots = self.taken.wrapping_sub(self.given);
        // The number of a queue pair that has ended may be another's.
        if slots > 0 && u32::from(slots) * 4 >= 1 << self.complete_log && !self.gone {
            self.given = self.taken;
            self.doorbell(&DOORBELL_COMPLETE, self.taken)?;
        }
        Ok(())
    }

    /// Asks for an interrupt with the next completion.
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.doorbell(&DOORBELL_ARM, self.taken)
    }

    /// Ends the queue pair: what had ended, then FLUSHED for the rest. If the card does not answer, it may still use rings and
    /// buffers: these are never given back.
    pub fn destroy(&mut self) -> Vec<(Ended, K)> {
        if std::mem::replace(&mut self.gone, true) {
            return Vec::new();
        }
        let done = self
            .context
            .command(Command::DestroyQp, self.number, &Arguments::default())
            .is_ok();
        let mut all = Vec::new();
        while let Ok(Some(ended)) = self.next() {
            let kept = self.kept(&ended);
            all.push((ended, kept));
        }
        self.state = QueuePairState::Reset;
        for place in 0..self.requests.len() {
            let Some(of) = self.requests[place].of.take() else {
                continue;
            };
            let ended = Ended {
                wr_id: self.requests[place].wr_id,
                place,
                completion: flushed(of),
            };
            let mut kept = self.kept(&ended);
            if !done {
                std::mem::forget(std::mem::take(&mut kept));
            }
            all.push((ended, kept));
        }
        if done {
            self.memory = None;
            self.context.0.queue_pairs.give(self.number);
        } else if let Some(memory) = &mut self.memory {
            memory.lost = true;
        }
        all
    }

    /// Keeps a request until it ends; its place. There are as many as both rings take.
    #[inline]
    fn enter(&mut self, wr_id: u64, of: Of, number: u64, kept: K) -> u64 {
        let place = self.free.pop().unwrap_or_default();
        if let Some(request) = self.requests.get_mut(place as usize) {
            (request.wr_id, request.of, request.number) = (wr_id, Some(of), number);
            // Whoever is told of an end takes what was kept: there is nothing to drop.
            std::mem::forget(std::mem::replace(&mut request.kept, kept));
        }
        place.into()
    }

    /// Whether the card has let go of all memory, after [`Self::destroy`].
    pub fn let_go(&self) -> bool {
        self.memory.is_none()
    }

    #[inline]
    fn put<const N: usize>(&mut self, at: usize, entry: &[u8; N]) {
        if let Some(to) = self.pointer(at) {
            // SAFETY: the entry lies in its ring, and the card has read what stood there before (`Producer::full`).
            unsafe { entry.as_ptr().copy_to_nonoverlapping(to, N) }
        }
    }

    /// The completion that comes next. The card writes words as a whole.
    #[inline]
    fn entry(&self) -> Option<&Entry> {
        let place = usize::from(self.taken) & self.complete_mask;
        let entry = self.pointer(self.complete_at + place * COMPLETION_LEN)?;
        // SAFETY: an aligned entry of the completion ring; its memory goes with `&mut self` only. Software only reads it.
        Some(unsafe { &*entry.cast() })
    }

    /// None after [`Self::destroy`].
    #[inline]
    fn pointer(&self, at: usize) -> Option<*mut u8> {
        let memory = &self.memory.as_ref()?.memory;
        // SAFETY: all offsets lie in the memory, which was allocated for all three rings.
        Some(unsafe { memory.pointer.as_ptr().add(at) })
    }

    fn doorbell(&self, register: &Register, index: u16) -> Result<(), DeviceError> {
        let offset = doorbell(self.number, register);
        self.context.device().write32(offset, index.into())
    }

    #[cold]
    fn corrupt(&mut self, what: &dyn std::fmt::Display) -> Error {
        self.state = QueuePairState::Error;
        Error::Corrupt {
            qpn: self.number,
            what: what.to_string(),
        }
    }
}

impl<K: Default> Drop for Rings<K> {
    fn drop(&mut self) {
        self.destroy();
    }
}

fn flushed(of: Of) -> Completion {
    Completion {
        wr_id: 0,
        status: Outcome::Flushed,
        of,
        version_flags: 0,
        length: 0,
        peer: tributary_protocol::xud::Peer { node: 0, qpn: 0 },
        window: Default::default(),
        q_key: 0,
        psn: 0,
        request: 0,
        number: 0,
        marked: false,
    }
}
