//! An output: what leaves by it, and when.

use std::collections::VecDeque;
use std::sync::Arc;

use tributary_protocol::red::{Look, Switch, Up};

use super::before::Before;
use crate::fabric::describe::LinkSpec;
use crate::fabric::timing::{
    DOWN_CLOCKS, ENGINE_CLOCKS, PASS_CLOCKS, QUEUE_WORDS, STORED_WORDS, together_clocks, words,
};

#[derive(Debug)]
struct Waiting {
    ready: u64,
    /// It passes the engine without a look.
    passes: bool,
    bytes: Arc<[u8]>,
}

/// An output: a queue for each input, and one for what the engine sends.
#[derive(Debug)]
pub(super) struct Output {
    /// Its cable, once it has one.
    pub link: Option<LinkSpec>,
    queues: Vec<VecDeque<Waiting>>,
    used: Vec<u64>,
    waiting: usize,
    /// Input whose turn is next.
    turn: usize,
    free_at: u64,
    /// Frames on their way from the inputs' queues to the engine.
    before: Before,
}

impl Output {
    pub fn new(ports: usize) -> Self {
        Self {
            link: None,
            queues: (0..=ports).map(|_| VecDeque::new()).collect(),
            used: vec![0; ports + 1],
            waiting: 0,
            turn: 0,
            free_at: 0,
            before: Before::new(ports),
        }
    }

    pub fn push(&mut self, queue: usize, bytes: Arc<[u8]>, ready: u64) {
        self.used[queue] += words(bytes.len());
        self.waiting += 1;
        self.queues[queue].push_back(Waiting {
            ready,
            passes: false,
            bytes,
        });
    }

    /// A frame that the engine sends: in the order in which it decides so; of two in one clock what passes without a look is the
    /// second.
    pub fn push_from_engine(&mut self, bytes: Arc<[u8]>, ready: u64, passes: bool) {
        self.waiting += 1;
        let Some(queue) = self.queues.last_mut() else {
            return;
        };
        if let Some(used) = self.used.last_mut() {
            *used += words(bytes.len());
        }
        let behind = |w: &Waiting| (w.ready, w.passes) <= (ready, passes);
        let place = queue.partition_point(behind);
        let waiting = Waiting {
            ready,
            passes,
            bytes,
        };
        queue.insert(place, waiting);
    }

    /// Clock at which a frame can leave or begins at the engine.
    pub fn next(&self) -> Option<u64> {
        self.leaves().into_iter().chain(self.before.next()).min()
    }

    /// Clock at which the next frame can leave.
    fn leaves(&self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let ready = self
            .queues
            .iter()
            .filter_map(|q| q.front())
            .map(|w| w.ready)
            .min()?;
        Some(ready.max(self.free_at))
    }

    /// The frame that leaves now, and if it is a plain one, the words that its queue holds; the inputs take turns.
    pub fn pop(&mut self, now: u64) -> Option<(Arc<[u8]>, Option<u64>)> {
        if self.waiting == 0 || self.free_at > now {
            return None;
        }
        let count = self.queues.len();
        let queue = (0..count)
            .map(|i| (self.turn + i) % count)
            .find(|&q| self.queues[q].front().is_some_and(|w| w.ready <= now))?;
        let frame = self.queues[queue].pop_front()?;
        self.turn = (queue + 1) % count;
        self.waiting -= 1;
        let plain = queue + 1 < count;
        let queued = plain.then(|| self.queued(queue, now));
        self.used[queue] -= words(frame.bytes.len());
        self.free_at = now
            + self
                .link
                .map_or(1, |link| link.occupancy(frame.bytes.len()));
        Some((frame.bytes, queued))
    }

    /// Words in the queue between an input and this output.
    fn queued(&mut self, input: usize, now: u64) -> u64 {
        self.used[input] + self.before.queued(input, now)
    }

    /// Room in it.
    pub fn room(&mut self, input: usize, now: u64) -> u64 {
        QUEUE_WORDS.saturating_sub(self.queued(input, now))
    }

    /// A reduction frame that the engine looks at or that passes.
    pub fn push_reduction(&mut self, input: usize, bytes: Arc<[u8]>, look: Option<Look>, now: u64) {
        if let Some((begin, bytes)) = self.before.push(input, bytes, look, now) {
            self.push_from_engine(bytes, begin + DOWN_CLOCKS, true);
        }
    }

    /// What begins at the engine by this clock acts.
    pub fn look(&mut self, switch: &mut Switch, now: u64) {
        while let Some(begin) = self.before.begin(now) {
            let all = begin.together.as_deref().unwrap_or_default();
            let taken = switch.look_together(begin.look.port, all);
            let (up, wait) = match taken {
                Some(taken) => (taken.up, together_clocks(all.len(), taken.was_empty)),
                None => (switch.look(&begin.look, begin.at), 0),
            };
            match up {
                Up::Pass => {
                    self.push_from_engine(begin.bytes.clone(), begin.at + PASS_CLOCKS, false);
                }
                Up::Result(result) => {
                    let bytes = result.to_bytes(switch.ethertype());
                    let ready = begin.at + wait + ENGINE_CLOCKS;
                    self.push_from_engine(Arc::new(bytes), ready, false);
                }
                Up::Drop(_) | Up::Absorbed => {}
            }
            let passes = self
                .before
                .finish(&begin, taken.is_some(), wait + STORED_WORDS);
            for (begin, bytes) in passes {
                self.push_from_engine(bytes, begin + DOWN_CLOCKS, true);
            }
        }
    }
}
