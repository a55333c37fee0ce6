//! One end of the link, as a machine without I/O.

use std::collections::VecDeque;

use thiserror::Error;

use super::wire::{Frame, Kind, MAX_WORDS};

/// What an end has room for, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Words that have come and are not taken yet, at most; below 2^15.
    pub buffer: u16,
    /// Words that were sent and are not acknowledged, at most.
    pub replay: u16,
    /// Units that were sent and are not acknowledged, at most; up to 2^14.
    pub units: u16,
    /// Time until something is sent again, and between frames of an idle link.
    pub timeout: u64,
}

/// What passes the link as a whole.
pub type Unit = (Kind, Vec<u8>);

/// What became of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Both ends know each other.
    Opened,
    /// The other end was reset: everything that was under way is gone.
    Lost,
}

/// Why a unit is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// There is no session.
    #[error("the other end is not there")]
    Closed,
    /// The other end has no room, or too much is not acknowledged: later.
    #[error("no room yet")]
    Full,
    /// It is not made of 1 to 1,121 whole words of 64 bits.
    #[error("a unit of {0} bytes; it has 8 to 8,968, in words of 8")]
    Size(usize),
}

/// One end of the link.
#[derive(Clone, Debug)]
pub struct Link {
    config: Config,
    /// This life.
    life: u32,
    /// The life with which there is a session.
    peer: Option<u32>,
    /// A life that is to be answered.
    heard: Option<u32>,
    /// Units that are not acknowledged: the number of the first, those themselves, their words, and how many of them have
    /// been sent since the last return to the first.
    base: u16,
    kept: VecDeque<Unit>,
    kept_words: usize,
    sent: usize,
    /// Words that were offered in the session, and may be.
    offered: u16,
    limit: u16,
    /// When the first one is sent again.
    deadline: Option<u64>,
    /// Number of the unit that is expected, those that came, words that were taken in the session.
    expected: u16,
    came: VecDeque<Unit>,
    came_words: usize,
    taken: u16,
    /// A unit is missing: it was asked for; it is to be.
    missing: bool,
    ask: bool,
    /// Units beyond the limit that came in this life.
    overruns: u64,
    /// Something is to be said: at once; at the latest.
    owes: bool,
    next_word: u64,
}

fn words(unit: &Unit) -> usize {
    unit.1.len() / 8
}

impl Link {
    /// An end whose life has this number: not 0, and none that it had in a life of which frames may still be under way.
    #[must_use]
    pub fn new(config: Config, life: u32) -> Self {
        Self {
            config,
            life: life.max(1),
            peer: None,
            heard: None,
            base: 0,
            kept: VecDeque::new(),
            kept_words: 0,
            sent: 0,
            offered: 0,
            limit: 0,
            deadline: None,
            expected: 0,
            came: VecDeque::new(),
            came_words: 0,
            taken: 0,
            missing: false,
            ask: false,
            overruns: 0,
            owes: false,
            next_word: 0,
        }
    }

    /// The session: this life and the other end's.
    #[must_use]
    pub fn session(&self) -> Option<(u32, u32)> {
        Some((self.life, self.peer?))
    }

    /// Units of this session that the other end has acknowledged, modulo 2^16.
    #[must_use]
    pub fn acked_units(&self) -> u16 {
        self.base
    }

    /// Units that came in this life although there was no room for them: the other end does not keep to the limit.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Number of this life.
    #[must_use]
    pub fn life(&self) -> u32 {
        self.life
    }

    /// Gives the other end a unit.
    ///
    /// # Errors
    /// It is not taken; nothing has changed.
    pub fn offer(&mut self, unit: Unit) -> Result<(), Refused> {
        let count = words(&unit);
        if !unit.1.len().is_multiple_of(8) || !(1..=MAX_WORDS).contains(&count) {
            return Err(Refused::Size(unit.1.len()));
        }
        if self.peer.is_none() {
            return Err(Refused::Closed);
        }
        let room = self.limit.wrapping_sub(self.offered) as i16;
        if room < count as i16
            || self.kept_words + count > self.config.replay.into()
            || self.kept.len() >= self.config.units.into()
        {
            return Err(Refused::Full);
        }
        self.offered = self.offered.wrapping_add(count as u16);
        self.kept_words += count;
        self.kept.push_back(unit);
        Ok(())
    }

    /// The next unit that has come.
    pub fn take(&mut self) -> Option<Unit> {
        let unit = self.came.pop_front()?;
        self.came_words -= words(&unit);
        self.taken = self.taken.wrapping_add(words(&unit) as u16);
        self.owes = true;
        Some(unit)
    }

    /// A frame has come.
    pub fn receive(&mut self, frame: &Frame, now: u64) -> Option<Event> {
        if frame.to != self.life {
            // The sender does not know this life yet, or the frame is an old one: an answer tells.
            self.heard = Some(frame.from);
            return None;
        }
        let mut event = None;
        match self.peer {
            Some(peer) if peer == frame.from => {
                if frame.busy {
                    return None;
                }
            }
            // Somebody who knows this life, and is not the one of the session: the other end was reset.
            Some(_) => {
                *self = Self::new(self.config, self.life.wrapping_add(1));
                self.heard = Some(frame.from);
                return Some(Event::Lost);
            }
            None if frame.busy => {
                self.heard = Some(frame.from);
                return None;
            }
            None => {
                self.peer = Some(frame.from);
                self.heard = None;
                self.limit = frame.limit;
                self.owes = true;
                event = Some(Event::Opened);
            }
        }
        self.acknowledged(frame, now);
        if let Some(unit) = &frame.unit {
            self.arrived(frame.seq, unit);
        }
        event
    }

    fn acknowledged(&mut self, frame: &Frame, now: u64) {
        let count = usize::from(frame.ack.wrapping_sub(self.base));
        if count > self.kept.len() {
            return;
        }
        for unit in self.kept.drain(..count) {
            self.kept_words -= words(&unit);
        }
        self.base = frame.ack;
        self.sent = self.sent.saturating_sub(count);
        if count > 0 {
            self.deadline = (!self.kept.is_empty()).then(|| now + self.config.timeout);
        }
        if frame.again {
            self.sent = 0;
        }
        // Of two frames the later one has the higher limit.
        if frame.limit.wrapping_sub(self.limit) as i16 > 0 {
            self.limit = frame.limit;
        }
    }

    fn arrived(&mut self, seq: u16, unit: &Unit) {
        self.owes = true;
        let ahead = seq.wrapping_sub(self.expected) as i16;
        let fits = self.came_words + words(unit) <= self.config.buffer.into();
        if ahead == 0 && !fits {
            self.overruns += 1;
        } else if ahead == 0 {
            self.came_words += words(unit);
            self.came.push_back(unit.clone());
            self.expected = self.expected.wrapping_add(1);
            self.missing = false;
        } else if ahead > 0 && !self.missing {
            self.missing = true;
            self.ask = true;
        }
    }

    /// The next frame to send at this time, if there is one.
    pub fn poll(&mut self, now: u64) -> Option<Frame> {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.sent = 0;
            self.deadline = None;
        }
        let frame = Frame {
            seq: self.base.wrapping_add(self.sent as u16),
            ack: self.expected,
            limit: self.taken.wrapping_add(self.config.buffer),
            again: false,
            busy: false,
            from: self.life,
            to: self.peer.unwrap_or(0),
            unit: None,
        };
        if let Some(heard) = self.heard.take() {
            self.next_word = now + self.config.timeout;
            return Some(Frame {
                to: heard,
                busy: self.peer.is_some_and(|peer| peer != heard),
                ..frame
            });
        }
        if let Some(unit) = self.kept.get(self.sent) {
            self.sent += 1;
            self.deadline.get_or_insert(now + self.config.timeout);
            return Some(self.said(frame, Some(unit.clone()), now));
        }
        if self.owes || self.ask || self.next_word <= now {
            return Some(self.said(frame, None, now));
        }
        None
    }

    fn said(&mut self, frame: Frame, unit: Option<Unit>, now: u64) -> Frame {
        self.owes = false;
        self.next_word = now + self.config.timeout;
        Frame {
            again: std::mem::take(&mut self.ask),
            unit,
            ..frame
        }
    }
}
