//! Frames on their way from the inputs to the engine of an output: whose turn it is, and who is taken together.
//!
//! The queue of an input is left in the order in which it was entered. One reader takes what the engine looks at, one all
//! else; both a frame in as many clocks as it has words. What no engine looks at has its time as soon as nothing before it waits
//! for the engine; whether the line is free then is another matter.

use std::collections::VecDeque;
use std::sync::Arc;

use tributary_protocol::red::{Frame, Look};

use crate::fabric::timing::{
    ASIDE_CLOCKS, OTHER_READER_CLOCKS, OTHERS_MAX, STORED_WORDS, TO_ENGINE_CLOCKS, TOGETHER_CLOCKS,
    words,
};

/// A frame that has come in whole.
#[derive(Debug)]
pub(super) struct Arrival {
    pub input: usize,
    pub bytes: Arc<[u8]>,
    /// What the engine has to look at; otherwise it passes.
    pub look: Option<Look>,
}

impl Arrival {
    /// Words that a queue holds of it.
    pub fn words(&self) -> u64 {
        match self.look {
            Some(_) => STORED_WORDS,
            None => words(self.bytes.len()),
        }
    }
}

/// A frame that has not begun.
#[derive(Debug)]
struct Waiting {
    /// Clock from which on it can begin.
    ready: u64,
    frame: Arrival,
}

/// The queue of an input.
#[derive(Debug, Default)]
struct Queue {
    /// When frames that the engine has begun to look at have left it, oldest first.
    leaving: VecDeque<u64>,
    /// Those that have not; the engine looks at the oldest one.
    waiting: VecDeque<Waiting>,
    /// Clocks from which on the next one can begin, if the engine looks at it and if not.
    looks_from: u64,
    passes_from: u64,
}

/// A set of inputs, a bit for each.
type Inputs = u64;

/// The inputs of a set, ascending.
fn each(mut inputs: Inputs) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let input = inputs.trailing_zeros() as usize;
        inputs &= inputs.checked_sub(1)?;
        Some(input)
    })
}

fn set(inputs: impl Iterator<Item = usize>) -> Inputs {
    inputs.fold(0, |set, input| set | 1 << input)
}

/// A frame that begins at the engine, and those that may be taken with it.
#[derive(Debug)]
pub(super) struct Begin {
    /// Its first word is at the engine in this clock.
    pub at: u64,
    /// It.
    pub look: Look,
    /// It as it came.
    pub bytes: Arc<[u8]>,
    /// With two or more others that go with it: all of them, it first.
    pub together: Option<Vec<Frame>>,
    input: usize,
    /// Those whose head has been compared, and of them those that go with it.
    stopped: Inputs,
    others: Inputs,
}

/// A frame that passes.
#[derive(Debug)]
pub(super) struct Pass {
    pub input: usize,
    /// Its first word can be past the queue in this clock.
    pub begin: u64,
    pub bytes: Arc<[u8]>,
}

/// Everything before the engine of an output.
#[derive(Debug)]
pub(super) struct Before {
    queues: Vec<Queue>,
    /// Inputs whose oldest frame is for the engine to look at.
    heads: Inputs,
    /// When the engine's reader has taken what it is at.
    looks_free_at: u64,
    /// The input that was chosen last, and when the next one is at the earliest, as a frame that begins then.
    last: Option<usize>,
    choice_from: u64,
    /// Inputs whose oldest frame was compared with another and not taken; they go before all others.
    stopped: Inputs,
    /// When the next one begins.
    next: Option<u64>,
}

impl Before {
    /// Nothing yet.
    pub fn new(inputs: usize) -> Self {
        Self {
            queues: (0..inputs).map(|_| Queue::default()).collect(),
            heads: 0,
            looks_free_at: 0,
            last: None,
            choice_from: 0,
            stopped: 0,
            next: None,
        }
    }

    /// Clock in which the next frame begins that the engine looks at.
    pub const fn next(&self) -> Option<u64> {
        self.next
    }

    /// Words in an input's queue of frames that wait for the engine or behind such, or have begun there and not left.
    pub fn queued(&mut self, input: usize, now: u64) -> u64 {
        let queue = &mut self.queues[input];
        while queue.leaving.front().is_some_and(|left| *left <= now) {
            queue.leaving.pop_front();
        }
        let waiting = queue.waiting.iter().map(|waiting| waiting.frame.words());
        queue.leaving.len() as u64 * STORED_WORDS + waiting.sum::<u64>()
    }

    /// A frame has come in; gives it back with its time if it passes and nothing before it waits.
    pub fn push(&mut self, frame: Arrival, now: u64) -> Option<Pass> {
        let input = frame.input;
        let queue = &mut self.queues[input];
        let ready = now + TO_ENGINE_CLOCKS;
        queue.waiting.push_back(Waiting { ready, frame });
        if queue.waiting.len() > 1 {
            return None;
        }
        let pass = self.pass(input);
        self.show(input);
        if let Some(ready) = self.ready(input) {
            let begin = ready.max(self.looks_free_at);
            self.next = Some(self.next.map_or(begin, |next| next.min(begin)));
        }
        pass
    }

    /// The oldest frame of an input, if it passes.
    fn pass(&mut self, input: usize) -> Option<Pass> {
        let queue = &mut self.queues[input];
        let passes = |waiting: &&Waiting| waiting.frame.look.is_none();
        queue.waiting.front().filter(passes)?;
        let Waiting { ready, frame } = queue.waiting.pop_front()?;
        let begin = ready.max(queue.passes_from);
        let left = begin + frame.words();
        queue.passes_from = left;
        queue.looks_from = left + OTHER_READER_CLOCKS;
        Some(Pass {
            input,
            begin,
            bytes: frame.bytes,
        })
    }

    /// Takes down whether the engine looks at an input's oldest frame.
    fn show(&mut self, input: usize) {
        let queue = &mut self.queues[input];
        self.heads &= !(1 << input);
        if let Some(frame) = queue.waiting.front_mut() {
            frame.ready = frame.ready.max(queue.looks_from);
            self.heads |= 1 << input;
        }
    }

    fn head(&self, input: usize) -> Option<(u64, &Look)> {
        let frame = self.queues[input].waiting.front()?;
        Some((frame.ready, frame.frame.look.as_ref()?))
    }

    fn ready(&self, input: usize) -> Option<u64> {
        self.head(input).map(|(ready, _)| ready)
    }

    /// These inputs in turn, behind the one chosen last.
    fn turns(&self, of: Inputs) -> impl Iterator<Item = usize> + use<> {
        let behind = self.last.map_or(0, |last| u64::MAX << last << 1);
        each(of & behind).chain(each(of & !behind))
    }

    /// The input that is chosen next: the first to be ready; of several, the port's own, or the one whose turn it is.
    fn choose(&self) -> Option<usize> {
        let clock = |input: usize| self.ready(input).map(|ready| ready.max(self.choice_from));
        let key = |input: &usize| (clock(*input), !self.is_own(*input));
        self.turns(self.heads).min_by_key(key)
    }

    /// The engine's port is that of the input.
    fn is_own(&self, input: usize) -> bool {
        let head = self.head(input);
        head.is_some_and(|(_, look)| usize::from(look.port) == input)
    }

    /// What begins by this clock.
    pub fn begin(&mut self, now: u64) -> Option<Begin> {
        let at = self.next.filter(|next| *next <= now)?;
        let resumed = self.stopped != 0;
        let input = if resumed {
            self.turns(self.stopped).next()?
        } else {
            self.choose()?
        };
        if !resumed && !self.is_own(input) {
            self.last = Some(input);
        }
        self.choice_from = at + STORED_WORDS;
        let look = *self.head(input)?.1;
        let mut compared = 0;
        if look.is_brief() {
            let stands = |other: &usize| {
                self.head(*other).is_some_and(|(ready, other)| {
                    ready <= at + TOGETHER_CLOCKS
                        && other.is_brief()
                        && other.frame.heads_for(&look.frame)
                })
            };
            let of = if resumed { self.stopped } else { self.heads };
            let others = each(of & !(1 << input)).filter(|other| resumed || stands(other));
            compared = set(others);
        }
        let frame = |other: usize| Some(self.head(other)?.1.frame);
        let goes = |other: &usize| frame(*other).is_some_and(|f| f.goes_with(&look.frame));
        let others = set(each(compared).take(OTHERS_MAX).filter(goes));
        let together = (others.count_ones() >= 2).then(|| {
            let others = each(others).filter_map(frame);
            std::iter::once(look.frame).chain(others).collect()
        });
        let bytes = self.queues[input].waiting.front()?.frame.bytes.clone();
        Some(Begin {
            at,
            look,
            bytes,
            together,
            input,
            stopped: compared,
            others,
        })
    }

    /// What has begun is gone, with the others if they are `taken` with it; the next one can begin after so many clocks.
    /// Returns frames that pass and waited behind these.
    pub fn finish(&mut self, begin: &Begin, taken: bool, clocks: u64) -> Vec<Pass> {
        let others = if taken { begin.others } else { 0 };
        self.stopped = begin.stopped & !others;
        self.looks_free_at = begin.at + clocks;
        self.leave(begin.input, begin.at + STORED_WORDS);
        let aside = begin.at + ASIDE_CLOCKS + u64::from(others.count_ones());
        for other in each(others) {
            self.leave(other, aside);
        }
        let mut passes = vec![];
        for input in each(others | 1 << begin.input) {
            passes.extend(std::iter::from_fn(|| self.pass(input)));
            self.show(input);
        }
        self.next = if self.stopped == 0 {
            let ready = each(self.heads).filter_map(|input| self.ready(input)).min();
            ready.map(|ready| ready.max(self.looks_free_at))
        } else {
            Some(self.looks_free_at)
        };
        passes
    }

    /// The oldest frame of an input leaves, and has left by this clock.
    fn leave(&mut self, input: usize, left: u64) {
        let queue = &mut self.queues[input];
        queue.waiting.pop_front();
        queue.leaving.push_back(left);
        queue.looks_from = left;
        queue.passes_from = left + OTHER_READER_CLOCKS;
    }
}
