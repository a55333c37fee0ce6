//! One group's ring: what it waits for, what it starts, how it ends.

use std::collections::VecDeque;

use super::message::Message;
use super::{
    Completion, Counters, Counts, Descriptor, Generator, Job, RingConfig, RingError, RingOutput,
    Status,
};
use crate::multicast::MAX_BLOCKS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Running,
    /// Transfers that have begun come to their end.
    Draining,
    Ended,
}

/// A block that was granted and is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Open {
    from: u32,
    message: u32,
    /// `None`: the first of its message.
    block: Option<u32>,
    begun: bool,
    landed: bool,
}

/// The ring of one group: see the [module](super).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    config: RingConfig,
    state: State,
    /// The host has posted so many messages.
    posted: u32,
    /// Messages that are not done, in order.
    messages: VecDeque<Message>,
    /// The message that is granted now.
    granting: u32,
    open: Vec<Open>,
    /// Sender of the first block of every message.
    first_from: Option<u32>,
    granted: Counts,
    received: Counts,
    allowed: Counts,
    /// Sends put at the head, by rank.
    sent: Counts,
    head: Option<(u32, Descriptor)>,
    head_checked: bool,
    idle_ticks: u32,
    counters: Counters,
}

impl Ring {
    /// The ring of a member.
    ///
    /// # Errors
    /// Sizes that cannot be.
    pub fn new(config: RingConfig) -> Result<Self, RingError> {
        let (members, rank) = (config.members, config.rank);
        for (what, value, least) in [
            ("bytes of a block:", config.block_bytes, 1),
            ("credits:", config.credits, 2),
            ("ticks of the watchdog:", config.watchdog, 1),
        ] {
            if value < least {
                return Err(RingError::TooSmall { what, value, least });
            }
        }
        let mut steps = Generator::new(members, rank, 1)?;
        if rank >= members {
            return Err(RingError::Rank { rank, members });
        }
        let first = steps.find_map(|step| step.receive);
        let counts = Counts::new(config.origin);
        Ok(Self {
            state: State::Running,
            posted: 0,
            messages: VecDeque::new(),
            granting: 0,
            open: Vec::new(),
            first_from: first.map(|receive| receive.from),
            granted: counts.clone(),
            received: counts.clone(),
            allowed: counts.clone(),
            sent: counts,
            head: None,
            head_checked: false,
            idle_ticks: 0,
            counters: Counters::default(),
            config,
        })
    }

    /// What it was made with.
    #[must_use]
    pub fn config(&self) -> &RingConfig {
        &self.config
    }

    /// What was dropped.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// It will do nothing any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// A send waits at the head.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.head.is_some()
    }

    /// A message has begun and is not done. A buffer that waits for its message is no work.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.messages.iter().any(|m| m.length.is_some()) || self.under_way() > 0
    }

    /// Transfers that have begun and not ended, out and in.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        let out: u32 = self.messages.iter().map(|m| m.under_way).sum();
        out + self.open.iter().filter(|o| o.begun && !o.landed).count() as u32
    }

    /// A doorbell. Returns the number of the message.
    ///
    /// # Errors
    /// A message that is too long, a job for another role, a ring that has ended.
    pub fn post(&mut self, job: Job, out: &mut Vec<RingOutput>) -> Result<u32, RingError> {
        if self.state != State::Running {
            return Err(RingError::Stopped);
        }
        let is_root = self.config.rank == 0;
        let number = self.posted;
        let mut message = Message::new(number, job);
        match (job, is_root) {
            (Job::Send { length }, true) => {
                let generator = self.generator(length)?;
                message.begins(length, self.config.members, generator, true);
            }
            (Job::Receive { .. }, false) => {}
            _ => return Err(RingError::Role(self.config.rank)),
        }
        self.posted += 1;
        self.messages.push_back(message);
        self.idle_ticks = 0;
        self.grant(out);
        self.complete(out);
        Ok(number)
    }

    fn generator(&self, length: u64) -> Result<Generator, RingError> {
        let block_bytes = self.config.block_bytes;
        let blocks = length.div_ceil(block_bytes.into()).max(1);
        if blocks > MAX_BLOCKS.into() {
            return Err(RingError::Length {
                length,
                block_bytes,
                most: u64::from(MAX_BLOCKS) * u64::from(block_bytes),
            });
        }
        let (members, rank) = (self.config.members, self.config.rank);
        Ok(Generator::new(members, rank, blocks as u32)?)
    }

    fn message(&mut self, number: u32) -> Option<&mut Message> {
        self.messages.iter_mut().find(|m| m.number == number)
    }

    /// Lets senders send, in the order of the schedules (MB-9).
    fn grant(&mut self, out: &mut Vec<RingOutput>) {
        let Some(first_from) = self.first_from else {
            return;
        };
        let credits = self.config.credits as usize;
        while self.state == State::Running
            && self.open.iter().filter(|o| !o.landed).count() < credits
        {
            let number = self.granting;
            let granted = self.granted.clone();
            let Some(message) = self.message(number) else {
                return;
            };
            let (from, block) = if !message.first_granted {
                message.first_granted = true;
                message.before = granted;
                (first_from, None)
            } else if message.length.is_none() {
                return;
            } else if let Some(receive) = message.next_receive() {
                (receive.from, Some(receive.block))
            } else {
                self.granting += 1;
                continue;
            };
            self.open.push(Open {
                from,
                message: number,
                block,
                begun: false,
                landed: false,
            });
            let granted = self.granted.count(from);
            out.push(RingOutput::Grant { to: from, granted });
        }
    }

    /// A member has allowed so many blocks in all. Late ones are behind.
    pub fn credit(&mut self, from: u32, granted: u32) {
        if from >= self.config.members || from == self.config.rank {
            self.counters.strange += 1;
            return;
        }
        if (granted.wrapping_sub(self.allowed.of(from)) as i32) > 0 {
            self.allowed.set(from, granted);
            self.progress();
        }
    }

    fn progress(&mut self) {
        self.idle_ticks = 0;
        self.head_checked &= self.config.mutations.no_recheck;
    }

    fn find_open(&self, from: u32, message: u32, block: u32) -> Option<usize> {
        self.open.iter().position(|o| {
            o.from == from
                && o.message == message
                && o.block.is_none_or(|number| number == block)
                && !o.landed
        })
    }

    /// A transfer of a block asks to begin; if not, nothing of it is written.
    pub fn begin(
        &mut self,
        from: u32,
        (number, block): (u32, u32),
        length: u64,
        out: &mut Vec<RingOutput>,
    ) -> bool {
        let place = self
            .find_open(from, number, block)
            .filter(|&place| self.state == State::Running && !self.open[place].begun);
        let Some(place) = place else {
            self.counters.unexpected += 1;
            return false;
        };
        let fits = match self.open[place].block {
            Some(_) => self
                .message(number)
                .is_some_and(|m| m.length == Some(length)),
            None => {
                let generator = self.generator(length).ok();
                let first = generator
                    .clone()
                    .and_then(|mut g| g.find_map(|step| step.receive));
                match (generator, first) {
                    (Some(generator), Some(first)) if first.block == block => {
                        self.first(number, length, generator, out)
                    }
                    _ => false,
                }
            }
        };
        if !fits {
            self.counters.unexpected += u64::from(self.state == State::Running);
            return false;
        }
        self.open[place].block = Some(block);
        self.open[place].begun = true;
        true
    }

    /// The first block tells the length of its message. False if the buffer is shorter.
    fn first(
        &mut self,
        number: u32,
        length: u64,
        generator: Generator,
        out: &mut Vec<RingOutput>,
    ) -> bool {
        let members = self.config.members;
        let Some(message) = self.message(number) else {
            return false;
        };
        if matches!(message.job, Job::Receive { room } if room < length) {
            self.ends(Status::TooLong, out);
            return false;
        }
        message.begins(length, members, generator, false);
        self.grant(out);
        true
    }

    /// A transfer that had begun is here, every byte of it visible.
    pub fn landed(&mut self, from: u32, (number, block): (u32, u32), out: &mut Vec<RingOutput>) {
        let place = self
            .find_open(from, number, block)
            .filter(|&place| self.open[place].begun);
        let Some(place) = place else {
            self.counters.strange += 1;
            return;
        };
        self.open[place].landed = true;
        if let Some(message) = self.message(number) {
            message.missing -= 1;
        }
        // Blocks of one sender count in the order in which they were granted.
        while let Some(first) = self.open.iter().position(|o| o.from == from)
            && self.open[first].landed
        {
            self.open.remove(first);
            self.received.count(from);
        }
        self.progress();
        self.grant(out);
        self.complete(out);
        self.drained(out);
    }

    /// A block that this member sent is where it belongs.
    pub fn sent(&mut self, number: u32, out: &mut Vec<RingOutput>) {
        let Some(message) = self.message(number).filter(|m| m.under_way > 0) else {
            self.counters.strange += 1;
            return;
        };
        message.under_way -= 1;
        self.idle_ticks = 0;
        self.complete(out);
        self.drained(out);
    }

    /// A transfer to or from a member has failed: no wait is satisfied by it, and the group ends.
    pub fn failed(&mut self, peer: u32, out: &mut Vec<RingOutput>) {
        if peer >= self.config.members || peer == self.config.rank {
            self.counters.strange += 1;
            return;
        }
        if self.config.mutations.error_satisfies {
            self.received.count(peer);
            self.progress();
            return;
        }
        self.ends(Status::Failed { peer }, out);
    }

    /// The host wants the group to end: nothing new begins; when nothing is under way, the host is told.
    pub fn stop(&mut self, out: &mut Vec<RingOutput>) {
        if self.state == State::Running {
            self.state = State::Draining;
            self.head = None;
            self.drained(out);
        }
    }

    fn drained(&mut self, out: &mut Vec<RingOutput>) {
        let still = self.under_way() > 0 && !self.config.mutations.no_drain;
        if self.state == State::Draining && !still {
            self.ends(Status::Stopped, out);
        }
    }

    /// Time passes.
    pub fn tick(&mut self, out: &mut Vec<RingOutput>) {
        if self.state == State::Ended || !self.is_working() {
            return;
        }
        self.idle_ticks += 1;
        if self.idle_ticks >= self.config.watchdog && !self.config.mutations.no_watchdog {
            self.ends(Status::Watchdog, out);
        }
    }

    /// The end: one completion, whatever was posted.
    fn ends(&mut self, status: Status, out: &mut Vec<RingOutput>) {
        if self.state == State::Ended {
            return;
        }
        self.state = State::Ended;
        let count = match self.config.mutations.two_errors {
            true => self.messages.len().max(1),
            false => 1,
        };
        for _ in 0..count {
            let first = self.messages.front();
            out.push(RingOutput::Completion(Completion {
                message: first.map_or(self.posted, |m| m.number),
                length: first.and_then(|m| m.length).unwrap_or(0),
                status,
            }));
        }
        self.messages.clear();
        self.open.clear();
        self.head = None;
    }

    /// Whether the counters have reached what the head waits for.
    fn is_ready(&self, descriptor: &Descriptor) -> bool {
        let reached = |counter: u32, wanted: u32| match self.config.mutations.not_modulo {
            true => counter >= wanted,
            false => counter.wrapping_sub(wanted) as i32 >= 0,
        };
        let here = descriptor
            .source
            .is_none_or(|source| reached(self.received.of(source), descriptor.received));
        here && reached(self.allowed.of(descriptor.to), descriptor.credit)
    }

    /// Starts the head if it can; false if there is none or it waits. A card calls it whenever something has happened.
    pub fn start(&mut self, out: &mut Vec<RingOutput>) -> bool {
        if self.state != State::Running {
            return false;
        }
        if self.head.is_none() {
            self.fetch(out);
        }
        let Some((number, descriptor)) = self.head else {
            return false;
        };
        if self.head_checked || !self.is_ready(&descriptor) {
            self.head_checked = true;
            return false;
        }
        self.head = None;
        let Some(message) = self.message(number) else {
            return false;
        };
        message.under_way += 1;
        out.push(RingOutput::Start {
            message: number,
            length: message.length.unwrap_or(0),
            descriptor,
        });
        true
    }

    /// Puts the next descriptor at the head: those of a message follow those of the one before.
    fn fetch(&mut self, out: &mut Vec<RingOutput>) {
        for message in &mut self.messages {
            if message.length.is_none() {
                break;
            }
            let Some(sends) = &mut message.sends else {
                continue;
            };
            if let Some(descriptor) = sends.next(&mut self.sent) {
                self.head = Some((message.number, descriptor));
                self.head_checked = false;
                break;
            }
            message.sends = None;
        }
        self.complete(out);
    }

    /// Tells the host of messages that are done, in order.
    fn complete(&mut self, out: &mut Vec<RingOutput>) {
        while let Some(first) = self.messages.front()
            && first.is_done()
        {
            out.push(RingOutput::Completion(Completion {
                message: first.number,
                length: first.length.unwrap_or(0),
                status: Status::Done,
            }));
            self.messages.pop_front();
        }
    }
}
