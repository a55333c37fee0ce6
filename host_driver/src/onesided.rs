//! One-sided operations on memory of other hosts, made reliable (XUD-13).

use std::collections::VecDeque;
use std::time::Duration;

use tributary_protocol::card::descriptor::{
    OPCODE_ATOMIC, OPCODE_BULK_READ, OPCODE_BULK_WRITE, OPCODE_READ, OPCODE_WRITE, WorkRequest,
};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, OPERANDS_LEN, Request};
use tributary_protocol::xud::{Window, wire::ONE_SIDED_FRAME};

use crate::bulk;
use crate::queue::QueueRings;
use crate::ring::{Ended, Rings, Shape};
use crate::{
    Access, AddressHandle, Buffer, Error, Grant, MemoryRegion, OpenWindow, PostError,
    ProtectionDomain, QueuePairState, Rejected, Remote, WorkCompletionStatus,
};

/// Pause before the first repeat of an operation, ns.
const FIRST_PAUSE_NS: u64 = 2_048;

/// How one-sided operations are done.
#[derive(Clone, Copy, Debug)]
pub struct OneSidedConfig {
    /// Key of this side and of all queue pairs whose windows it uses.
    pub q_key: u32,
    /// Operations under way, in all windows: 1 to 8,192.
    pub operations: u16,
    /// Timeout exponent t: 4.096 µs · 2^t, above the round trip.
    pub timeout: u8,
    /// Sendings of an operation before its window is given up (XUD-8).
    pub attempts: u8,
    /// Longest pause before a repeat. Pauses double from 2 µs to it, and bound together with `attempts` how long a peer may be deaf.
    pub longest_pause: Duration,
    /// Interrupt vector that wakes [`OneSided::wait`].
    pub vector: u32,
}

impl Default for OneSidedConfig {
    /// 64 operations, 65 µs, 24 sendings with pauses of up to 33 ms (a third of a second in all).
    fn default() -> Self {
        Self {
            q_key: 0x1EE7,
            operations: 64,
            timeout: 4,
            attempts: 24,
            longest_pause: Duration::from_millis(33),
            vector: 0,
        }
    }
}

/// A window of another host that operations go through, by the order of [`OneSided::connect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Through(usize);

/// An operation that has ended.
#[derive(Debug)]
pub struct OneSidedCompletion {
    /// The window.
    pub through: Through,
    /// How. After anything but OK the operation was done at most once, and the window is over: a new grant is needed.
    pub status: WorkCompletionStatus,
    /// What an atomic found there.
    pub old: Option<u64>,
    /// The buffer of a write or read: the user's again. After a card has vanished there is none.
    pub buffer: Option<Buffer>,
}

/// An operation under way.
struct Operation {
    /// As it is posted each time.
    work: WorkRequest,
    sendings: u8,
    /// Between two sendings; while one is under way the card has it.
    buffer: Option<Buffer>,
}

impl Operation {
    fn is_atomic(&self) -> bool {
        self.work.opcode == OPCODE_ATOMIC
    }
}

/// The other end of a window.
struct Line {
    grant: Grant,
    /// Number of the next operation.
    msn: u32,
    doing: Option<Operation>,
    /// Something was heard from there.
    heard: bool,
    over: bool,
}

/// Writes, reads and atomics on memory of other hosts, each done once or reported as failed, over a queue pair of its own. One
/// operation at a time in each window; windows are independent of each other.
///
/// It works while it is polled: repeats are made in [`Self::poll`] and [`Self::wait`].
pub struct OneSided {
    rings: QueueRings,
    lines: Vec<Line>,
    /// Windows whose operation waits to be sent again, and when.
    pauses: Vec<(u64, usize)>,
    ended: VecDeque<OneSidedCompletion>,
    /// For operands of atomics.
    operands: MemoryRegion,
    domain: ProtectionDomain,
    config: OneSidedConfig,
    under_way: usize,
}

impl OneSided {
    /// Makes a queue pair for one-sided operations.
    ///
    /// # Errors
    /// The card does none, a number out of range, or something that the card has no more of.
    pub fn new(domain: &ProtectionDomain, config: OneSidedConfig) -> Result<Self, Error> {
        let context = domain.context();
        if context.sizes().windows == 0 {
            return Err(Error::Feature("one-sided operations"));
        }
        let shape = Shape {
            sends: config.operations,
            receives: 1,
            q_key: config.q_key,
            first_psn: context.device().now_ns() as u32,
            timeout: config.timeout.min(31),
            vector: config.vector,
            rung_by_card: false,
        };
        // A buffer begins at a multiple of 64.
        let bytes = 64 * usize::from(config.operations.max(1));
        let operands = domain.reg_mr(bytes, Access::LOCAL_WRITE)?;
        let mut rings = Rings::new(context, domain.0.number, &shape)?;
        rings.modify(QueuePairState::ReadyToReceive)?;
        rings.modify(QueuePairState::ReadyToSend)?;
        Ok(Self {
            rings,
            lines: Vec::new(),
            pauses: Vec::new(),
            ended: VecDeque::new(),
            operands,
            domain: domain.clone(),
            config,
            under_way: 0,
        })
    }

    /// How others address it: whom a window for it is opened for.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        let context = self.domain.context();
        AddressHandle::of(context, self.rings.number())
    }

    /// Most bytes of a write or read: an MTU less 16.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        usize::from(self.domain.context().options().mtu) - HEADER_LEN
    }

    /// Operations that have not ended.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.under_way
    }

    /// Opens a window of this side for another.
    ///
    /// # Errors
    /// None is left.
    pub fn open_window(&mut self, peer: AddressHandle) -> Result<OpenWindow, Error> {
        OpenWindow::new(self.domain.context(), &mut self.rings, peer)
    }

    /// Takes the grant of a window that was opened for [`Self::address`].
    pub fn connect(&mut self, grant: Grant) -> Through {
        self.lines.push(Line {
            grant,
            msn: 0,
            doing: None,
            heard: false,
            over: false,
        });
        Through(self.lines.len() - 1)
    }

    /// Writes all bytes of a buffer there.
    ///
    /// # Errors
    /// The window is in use or over, or the buffer cannot be used so; it comes back with the error.
    pub fn write(&mut self, through: Through, buffer: Buffer, to: Remote) -> Result<(), Rejected> {
        let header = Request {
            address: to.address,
            rkey: to.rkey,
            asked: Asked::Write(&[]),
        };
        let checked = self.fits(&buffer);
        self.begin(through, OPCODE_WRITE, &header, buffer, checked)
    }

    /// Reads as many bytes from there as the buffer has.
    ///
    /// # Errors
    /// As [`Self::write`]; or the card may not write to the buffer, or it is empty.
    pub fn read(&mut self, through: Through, buffer: Buffer, from: Remote) -> Result<(), Rejected> {
        let header = Request {
            address: from.address,
            rkey: from.rkey,
            asked: Asked::Read(buffer.len() as u32),
        };
        let checked = self.fits(&buffer).and_then(|()| match buffer.writable() {
            false => Err(PostError::ReadOnly),
            true if buffer.is_empty() => Err(PostError::Empty),
            true => Ok(()),
        });
        self.begin(through, OPCODE_READ, &header, buffer, checked)
    }

    /// Adds to the 64-bit little-endian number there, modulo 2^64.
    ///
    /// # Errors
    /// The window is in use or over, or the address is no multiple of 8.
    pub fn fetch_add(&mut self, through: Through, at: Remote, add: u64) -> Result<(), PostError> {
        self.atomic(through, at, Asked::FetchAdd(add))
    }

    /// Puts a 64-bit little-endian number there, if the one that is there equals `compare`.
    ///
    /// # Errors
    /// As [`Self::fetch_add`].
    pub fn compare_swap(
        &mut self,
        through: Through,
        at: Remote,
        compare: u64,
        swap: u64,
    ) -> Result<(), PostError> {
        self.atomic(through, at, Asked::CompareSwap { swap, compare })
    }

    fn atomic(&mut self, through: Through, at: Remote, asked: Asked<'_>) -> Result<(), PostError> {
        self.free(through)?;
        let buffer = self.operands.alloc(OPERANDS_LEN);
        let mut buffer = buffer.ok_or(PostError::Full("operation"))?;
        buffer.copy_from_slice(&asked.operands().unwrap_or_default());
        let header = Request {
            address: at.address,
            rkey: at.rkey,
            asked,
        };
        let checked = if at.is_aligned() {
            Ok(())
        } else {
            Err(PostError::Unaligned(at.address))
        };
        let begun = self.begin(through, OPCODE_ATOMIC, &header, buffer, checked);
        begun.map_err(|rejected| rejected.error)
    }

    fn fits(&self, buffer: &Buffer) -> Result<(), PostError> {
        if self.is_bulk(buffer.bytes()) {
            bulk::fits(self.domain.context(), buffer.bytes())?;
        }
        if buffer.is_in(&self.domain) {
            Ok(())
        } else {
            Err(PostError::Domain)
        }
    }

    /// More than a packet carries: a bulk transfer, which needs no number of the window.
    fn is_bulk(&self, bytes: usize) -> bool {
        bytes > self.max_bytes()
    }

    /// Whether an operation can begin in a window.
    fn free(&self, through: Through) -> Result<(), PostError> {
        match self.lines.get(through.0) {
            Some(line) if !line.over && line.doing.is_none() => Ok(()),
            Some(line) if !line.over => Err(PostError::Window("in use")),
            Some(_) => Err(PostError::Window("over")),
            None => Err(PostError::Window("of another card")),
        }?;
        if self.under_way < usize::from(self.config.operations) {
            Ok(())
        } else {
            Err(PostError::Full("operation"))
        }
    }

    fn begin(
        &mut self,
        through: Through,
        opcode: u8,
        header: &Request<'_>,
        buffer: Buffer,
        checked: Result<(), PostError>,
    ) -> Result<(), Rejected> {
        if let Err(error) = self.free(through).and(checked) {
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        let is_bulk = opcode != OPCODE_ATOMIC && self.is_bulk(buffer.bytes());
        let line = &mut self.lines[through.0];
        let to = AddressHandle::from_grant(line.grant);
        let work = if is_bulk {
            let there = Remote {
                address: header.address,
                rkey: header.rkey,
            };
            let opcode = match opcode {
                OPCODE_READ => OPCODE_BULK_READ,
                _ => OPCODE_BULK_WRITE,
            };
            bulk::work(opcode, through.0 as u64, to, &buffer, there, (0, 0))
        } else {
            WorkRequest {
                opcode,
                flags: 0,
                head_len: HEADER_LEN as u8,
                length: buffer.len() as u32,
                wr_id: through.0 as u64,
                address: buffer.iova(),
                lkey: buffer.key(),
                version_flags: ONE_SIDED_FRAME,
                to: to.peer(),
                window: Window {
                    id: line.grant.window,
                    epoch: line.grant.epoch,
                    msn: line.msn,
                },
                head: header.header(),
            }
        };
        if let Err(error) = self.rings.takes_send() {
            let buffer = Some(buffer);
            return Err(Rejected { error, buffer });
        }
        self.rings.put_send(&work, Some(buffer));
        line.doing = Some(Operation {
            work,
            sendings: 1,
            buffer: None,
        });
        self.under_way += 1;
        let rung = self.rings.ring();
        rung.map_err(|error| Rejected {
            error: error.into(),
            buffer: None,
        })
    }

    /// Does what can be done and returns the oldest operation that has ended. Never waits.
    ///
    /// # Errors
    /// The card cannot be reached or failed; [`Self::close`] gives the buffers back that the card cannot touch any more.
    pub fn poll(&mut self) -> Result<Option<OneSidedCompletion>, Error> {
        if self.ended.is_empty() {
            self.run()?;
        }
        if self.ended.is_empty() {
            self.domain.context().device().idle()?;
        }
        Ok(self.ended.pop_front())
    }

    fn run(&mut self) -> Result<(), Error> {
        let now = self.domain.context().device().now_ns();
        while let Some(ended) = self.rings.next()? {
            if ended.completion.status == WorkCompletionStatus::LocalQueue {
                let qpn = self.rings.number();
                let what = "the card could not read a ring".to_owned();
                return Err(Error::Corrupt { qpn, what });
            }
            let buffer = self.rings.kept(&ended);
            self.sending_ended(&ended, buffer, now);
        }
        let (due, later) = std::mem::take(&mut self.pauses)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.pauses = later;
        let due: Vec<(u64, usize)> = due;
        for (_, place) in due {
            self.send_again(place);
        }
        self.rings.ring()?;
        self.rings.give_back()?;
        Ok(())
    }

    /// A work request has ended: its operation has, or is sent again after a pause.
    fn sending_ended(&mut self, ended: &Ended, buffer: Option<Buffer>, now: u64) {
        use WorkCompletionStatus as Status;
        let place = ended.wr_id as usize;
        let status = ended.completion.status;
        let Some(line) = self.lines.get_mut(place) else {
            return;
        };
        let Some(mut operation) = line.doing.take() else {
            return;
        };
        operation.buffer = buffer;
        line.heard |= status != Status::Timeout;
        let is_bulk = matches!(operation.work.opcode, OPCODE_BULK_WRITE | OPCODE_BULK_READ);
        let again = matches!(status, Status::Timeout | Status::RemoteRnr) && !is_bulk;
        if again && operation.sendings < self.config.attempts {
            let longest = u64::try_from(self.config.longest_pause.as_nanos()).unwrap_or(u64::MAX);
            let doublings = u32::from(operation.sendings - 1).min(31);
            let pause = (FIRST_PAUSE_NS << doublings).min(longest);
            self.pauses.push((now.saturating_add(pause), place));
            line.doing = Some(operation);
            return;
        }
        if is_bulk {
            // The card has tried all, and no number was used: the window goes on.
            return self.finish(place, operation, status);
        }
        let status = match status {
            Status::Timeout if line.heard => Status::Unresponsive,
            Status::Timeout => Status::Unreachable,
            other => other,
        };
        // Of an operation that failed nobody knows whether its number was used: another must not be done under it.
        if status == Status::Ok {
            line.msn = line.msn.wrapping_add(1);
        } else {
            line.over = true;
        }
        self.finish(place, operation, status);
    }

    /// The same operation under the same number.
    fn send_again(&mut self, place: usize) {
        let operation = self
            .lines
            .get_mut(place)
            .and_then(|line| line.doing.as_mut());
        let Some(operation) = operation else {
            return;
        };
        // No more than `operations` are under way, so there is room but in the state Error.
        if self.rings.takes_send().is_ok() {
            let buffer = operation.buffer.take();
            self.rings.put_send(&operation.work, buffer);
            operation.sendings += 1;
        }
    }

    fn finish(&mut self, place: usize, operation: Operation, status: WorkCompletionStatus) {
        self.under_way -= 1;
        let atomic = operation.is_atomic();
        let old = operation.buffer.as_ref().filter(|_| atomic);
        let old = old.and_then(|buffer| buffer.first_chunk()).copied();
        let old = old.filter(|_| status == WorkCompletionStatus::Ok);
        self.ended.push_back(OneSidedCompletion {
            through: Through(place),
            status,
            old: old.map(u64::from_le_bytes),
            buffer: operation.buffer.filter(|_| !atomic),
        });
    }

    /// The next operation that ends, waiting by interrupt for at most so long.
    ///
    /// # Errors
    /// As [`Self::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<OneSidedCompletion>, Error> {
        let context = self.domain.context().clone();
        let device = context.device();
        let start = device.now_ns();
        // Pauses need a look now and then.
        let slice = Duration::from_nanos(2 * FIRST_PAUSE_NS);
        loop {
            let ended = self.poll()?;
            let over = Duration::from_nanos(device.now_ns().saturating_sub(start));
            let left = timeout.saturating_sub(over);
            if ended.is_some() || left.is_zero() {
                return Ok(ended);
            }
            let seen = device.interrupts(self.config.vector)?;
            self.rings.arm()?;
            // What came before the arming interrupts nobody.
            if !self.rings.has_next() {
                let most = if self.pauses.is_empty() {
                    left
                } else {
                    left.min(slice)
                };
                device.wait(self.config.vector, seen, most)?;
            }
        }
    }

    /// Ends it: operations that were not taken, then those that had not ended, FLUSHED; whether they were done is not known.
    #[must_use]
    pub fn close(mut self) -> Vec<OneSidedCompletion> {
        // The card lets go first; of what it may still touch there is no buffer.
        for (ended, buffer) in self.rings.destroy() {
            let place = ended.wr_id as usize;
            let line = self.lines.get_mut(place);
            if let Some(mut operation) = line.and_then(|line| line.doing.take()) {
                operation.buffer = buffer;
                let status = match ended.completion.status {
                    WorkCompletionStatus::Timeout => WorkCompletionStatus::Flushed,
                    other => other,
                };
                self.finish(place, operation, status);
            }
        }
        for place in 0..self.lines.len() {
            if let Some(operation) = self.lines[place].doing.take() {
                self.finish(place, operation, WorkCompletionStatus::Flushed);
            }
        }
        std::mem::take(&mut self.ended).into()
    }
}
