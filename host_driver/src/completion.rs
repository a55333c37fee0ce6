//! Completion queues: where ended requests are found.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tributary_protocol::xud::Window;

use crate::queue::Queue;
use crate::ring::Ended;
use crate::{AddressHandle, Buffer, Context, Error, WorkCompletionOpcode, WorkCompletionStatus};

/// A request that has ended.
#[derive(Debug)]
pub struct WorkCompletion {
    /// The user's name for it.
    pub wr_id: u64,
    /// How it ended.
    pub status: WorkCompletionStatus,
    /// What it was.
    pub opcode: WorkCompletionOpcode,
    /// Queue pair that it was posted to.
    pub qp_num: u32,
    /// Bytes received: of the buffer, the first so many. Of a notification, those of the transfer, which are elsewhere.
    pub byte_len: u32,
    /// The other side.
    pub peer: AddressHandle,
    /// Version of the XUDETH.
    pub version: u8,
    /// Flags of the XUDETH.
    pub flags: u8,
    /// Window identity in the XUDETH.
    pub window: Window,
    /// Q_Key of a message that was received.
    pub q_key: u32,
    /// Its packet number.
    pub psn: u32,
    /// Of a datagram that was answered: it came marked by a switch (CL-4), and the card looks at marks
    /// ([`Context::set_congestion`]).
    pub marked: bool,
    /// The request's buffer: the user's again. After a card has vanished there is none: it may still write there.
    pub buffer: Option<Buffer>,
}

impl WorkCompletion {
    /// Immediate data of a bulk WRITE that notifies (BW-3); nothing of other completions.
    #[must_use]
    pub fn immediate(&self) -> Option<u32> {
        (self.opcode == WorkCompletionOpcode::Notify).then_some(self.window.msn)
    }

    #[inline]
    pub(crate) fn new(qp_num: u32, ended: &Ended, buffer: Option<Buffer>) -> Self {
        let completion = &ended.completion;
        Self {
            wr_id: ended.wr_id,
            status: completion.status,
            opcode: completion.of,
            qp_num,
            byte_len: completion.length,
            peer: AddressHandle::from(completion.peer),
            version: completion.version_flags >> 4,
            flags: completion.version_flags & 15,
            window: completion.window,
            q_key: completion.q_key,
            psn: completion.psn,
            marked: completion.marked,
            buffer,
        }
    }
}

/// Ended requests of a set of queue pairs. Copies are the same queue; each completion goes to one of who polls (XUD-7).
#[derive(Clone)]
pub struct CompletionQueue(Arc<Inner>);

struct Inner {
    context: Context,
    vector: u32,
    /// The first queue pair. Many completion queues never have another: these are polled without a lock of their own.
    first: OnceLock<Arc<Queue>>,
    /// There was another queue pair, or one that is no more.
    others: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: Vec<Arc<Queue>>,
    /// Of queue pairs that are no more.
    left: VecDeque<WorkCompletion>,
    /// The queue pair that is looked at first.
    turn: usize,
}

impl CompletionQueue {
    pub(crate) fn new(context: &Context, vector: u32) -> Self {
        Self(Arc::new(Inner {
            context: context.clone(),
            vector,
            first: OnceLock::new(),
            others: AtomicBool::new(false),
            state: Mutex::default(),
        }))
    }

    /// The card that it is of.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    pub(crate) fn vector(&self) -> u32 {
        self.0.vector
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, queue: &Arc<Queue>) {
        self.state().queues.push(Arc::clone(queue));
        if self.0.first.set(Arc::clone(queue)).is_err() {
            self.0.others.store(true, Ordering::Release);
        }
    }

    /// The only queue pair, if there was never another.
    fn only(&self) -> Option<&Queue> {
        let others = self.0.others.load(Ordering::Acquire);
        self.0.first.get().filter(|_| !others).map(Arc::as_ref)
    }

    /// A queue pair is no more; what it left comes out of the next polls.
    pub(crate) fn remove(&self, queue: &Arc<Queue>) {
        let mut state = self.state();
        self.0.others.store(true, Ordering::Release);
        state.queues.retain(|other| !Arc::ptr_eq(other, queue));
        let ended = queue.rings().destroy();
        let left = ended
            .into_iter()
            .map(|(ended, buffer)| WorkCompletion::new(queue.number, &ended, buffer));
        state.left.extend(left);
    }

    /// Moves up to `most` completions to the end of `into`; how many. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached, or wrote nonsense; completions before that are in `into`.
    pub fn poll(&self, into: &mut Vec<WorkCompletion>, most: usize) -> Result<usize, Error> {
        let found = match self.only() {
            Some(queue) => queue.take(into, most)?,
            None => self.poll_all(into, most)?,
        };
        if found == 0 && most > 0 {
            self.0.context.device().idle()?;
        }
        Ok(found)
    }

    fn poll_all(&self, into: &mut Vec<WorkCompletion>, most: usize) -> Result<usize, Error> {
        let mut state = self.state();
        let mut found = most.min(state.left.len());
        into.extend(state.left.drain(..found));
        // One may have gone since the turn was set.
        let (before_turn, from_turn) = state.queues.split_at(state.turn.min(state.queues.len()));
        for queue in from_turn.iter().chain(before_turn) {
            found += queue.take(into, most - found)?;
        }
        state.turn += 1;
        if state.turn >= state.queues.len() {
            state.turn = 0;
        }
        Ok(found)
    }

    /// Asks for an interrupt; whether there is nothing to poll now. What comes from here on interrupts whoever looked at the
    /// number of interrupts before.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn arm(&self) -> Result<bool, Error> {
        let state = self.state();
        for queue in &state.queues {
            queue.rings().arm()?;
        }
        // What came before the arming interrupts nobody.
        Ok(state.left.is_empty() && !state.queues.iter().any(|q| q.rings().has_next()))
    }

    /// Waits by interrupt until a poll would find something; false if the time is over first.
    ///
    /// # Errors
    /// The card cannot be reached.
    pub fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        let device = self.0.context.device();
        let start = device.now_ns();
        loop {
            let seen = device.interrupts(self.0.vector)?;
            if !self.arm()? {
                return Ok(true);
            }
            let over = Duration::from_nanos(device.now_ns().saturating_sub(start));
            let Some(left) = timeout.checked_sub(over).filter(|left| !left.is_zero()) else {
                return Ok(false);
            };
            device.wait(self.0.vector, seen, left)?;
        }
    }
}
