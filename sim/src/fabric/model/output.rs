//! An output: what leaves by it, and when.

use std::collections::VecDeque;
use std::sync::Arc;

use tributary_protocol::red::{Switch, Up};

use super::before::{Arrival, Before, Pass};
use crate::fabric::describe::LinkSpec;
use crate::fabric::timing::{
    ENGINE_CLOCKS, LINE_CLOCKS, PASS_CLOCKS, QUEUE_WORDS, STORED_WORDS, together_clocks, words,
};

#[derive(Debug)]
struct Waiting {
    ready: u64,
    bytes: Arc<[u8]>,
}

/// An output: a queue for each input, and one for what the engine sends. The engine and the line take turns, and on the line the
/// inputs.
#[derive(Debug)]
pub(super) struct Output {
    /// Its cable, once it has one.
    pub link: Option<LinkSpec>,
    queues: Vec<VecDeque<Waiting>>,
    /// Words in them.
    used: Vec<u64>,
    engine: VecDeque<Waiting>,
    waiting: usize,
    /// Input whose turn is next, and when it is chosen at the earliest, as a frame that is ready then.
    turn: usize,
    choice_from: u64,
    free_at: u64,
    /// The frame that left last was the engine's; what was ready by then has the next turn.
    was_engine: bool,
    turn_at: u64,
    /// When the line is done with the frame before.
    line_from: u64,
    /// Frames that wait for the engine, and those behind them.
    before: Before,
}

impl Output {
    pub fn new(ports: usize) -> Self {
        Self {
            link: None,
            queues: (0..ports).map(|_| VecDeque::new()).collect(),
            used: vec![0; ports],
            engine: VecDeque::new(),
            waiting: 0,
            turn: 0,
            choice_from: 0,
            free_at: 0,
            was_engine: false,
            turn_at: 0,
            line_from: 0,
            before: Before::new(ports),
        }
    }

    /// A frame has come in whole; whether there is room for it.
    pub fn take(&mut self, arrival: Arrival, now: u64) -> bool {
        if QUEUE_WORDS.saturating_sub(self.queued(arrival.input, now)) < arrival.words() {
            return false;
        }
        if let Some(pass) = self.before.push(arrival, now) {
            self.push(pass);
        }
        true
    }

    /// A frame that no engine looks at: nothing in its queue is in front of it that one does.
    fn push(&mut self, pass: Pass) {
        self.used[pass.input] += words(pass.bytes.len());
        self.waiting += 1;
        self.queues[pass.input].push_back(Waiting {
            ready: pass.begin + LINE_CLOCKS,
            bytes: pass.bytes,
        });
    }

    /// A frame that the engine sends: in the order in which it decides so.
    pub fn push_from_engine(&mut self, bytes: Arc<[u8]>, ready: u64) {
        self.waiting += 1;
        let place = self.engine.partition_point(|w| w.ready <= ready);
        self.engine.insert(place, Waiting { ready, bytes });
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
        let fronts = self.queues.iter().chain([&self.engine]);
        let ready = fronts.filter_map(|q| q.front()).map(|w| w.ready).min()?;
        Some(ready.max(self.free_at))
    }

    /// The input whose frame is next on the line: the first to be ready; of several, the one whose turn it is.
    fn line(&self) -> Option<(usize, u64)> {
        let count = self.queues.len();
        let inputs = (0..count).map(|i| (self.turn + i) % count);
        inputs
            .filter_map(|input| Some((input, self.queues[input].front()?.ready)))
            .min_by_key(|(_, ready)| (*ready).max(self.choice_from))
    }

    /// Whether the engine's frame is next: it was ready for its turn, or is before the line's.
    fn engine_is_next(&self, line: Option<u64>) -> bool {
        let Some(engine) = self.engine.front().map(|w| w.ready) else {
            return false;
        };
        let Some(line) = line else {
            return true;
        };
        if self.was_engine {
            line > self.turn_at && engine < line
        } else {
            engine < self.turn_at || engine < line
        }
    }

    /// The frame that leaves now, and if it is not of the engine, the words that its queue holds.
    pub fn pop(&mut self, now: u64) -> Option<(Arc<[u8]>, Option<u64>)> {
        if self.leaves()? > now {
            return None;
        }
        let line = self.line();
        self.was_engine = self.engine_is_next(line.map(|(_, ready)| ready));
        let (frame, queued) = if self.was_engine {
            (self.engine.pop_front()?, None)
        } else {
            let (input, _) = line?;
            let frame = self.queues[input].pop_front()?;
            let queued = self.queued(input, now);
            let length = words(frame.bytes.len());
            self.used[input] -= length;
            self.turn = (input + 1) % self.queues.len();
            self.choice_from = frame.ready.max(self.line_from) + 1;
            self.line_from = now + length;
            (frame, Some(queued))
        };
        self.waiting -= 1;
        let length = frame.bytes.len();
        self.free_at = now + self.link.map_or(1, |link| link.occupancy(length));
        self.turn_at = (now + words(length)).min(self.free_at);
        Some((frame.bytes, queued))
    }

    /// Words in the queue between an input and this output.
    fn queued(&mut self, input: usize, now: u64) -> u64 {
        self.used[input] + self.before.queued(input, now)
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
                    self.push_from_engine(begin.bytes.clone(), begin.at + PASS_CLOCKS);
                }
                Up::Result(result) => {
                    let bytes = result.to_bytes(switch.ethertype());
                    let ready = begin.at + wait + ENGINE_CLOCKS;
                    self.push_from_engine(Arc::new(bytes), ready);
                }
                Up::Drop(_) | Up::Absorbed => {}
            }
            let passes = self
                .before
                .finish(&begin, taken.is_some(), wait + STORED_WORDS);
            for pass in passes {
                self.push(pass);
            }
        }
    }
}
