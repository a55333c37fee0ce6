//! A switch as a model: [`Switch`] with the queues and the times of the RTL around it.
//!
//! A frame acts in the clock of its last word. Reduction frames, upwards and downwards, go through the engine of the port that
//! they leave by, and wait their turn there: the engine takes a frame in as many clocks as it has words in the queue, so
//! contributions that come at once from several ports follow each other. Beside those that it looks at it takes as many that pass
//! without a look.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::Result;
use tributary_protocol::red::{
    Address, Counter, PortSettings, Switch, SwitchConfig, SwitchError, Tree, regs,
    wire::DEFAULT_ETHERTYPE,
};

use super::describe::{Fabric, LinkSpec, SwitchSpec};
use super::node::{ActsOn, Departure, SwitchNode};
use super::timing::{
    DOWN_CLOCKS, ENGINE_CLOCKS, FORWARD_CLOCKS, OTHER_READER_CLOCKS, PASS_CLOCKS, QUEUE_WORDS,
    STORED_WORDS, TO_ENGINE_CLOCKS, words,
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
struct Output {
    link: Option<LinkSpec>,
    queues: Vec<VecDeque<Waiting>>,
    used: Vec<u64>,
    waiting: usize,
    /// Input whose turn is next.
    turn: usize,
    free_at: u64,
    /// When the engine has taken what it looks at, and what passes without a look.
    looks_free_at: u64,
    passes_free_at: u64,
    /// Frames on their way from an input's queue to the engine: when they have left it, and whether it looks at them.
    engine_queue: Vec<VecDeque<(u64, bool)>>,
}

impl Output {
    fn new(ports: usize) -> Self {
        Self {
            link: None,
            queues: (0..=ports).map(|_| VecDeque::new()).collect(),
            used: vec![0; ports + 1],
            waiting: 0,
            turn: 0,
            free_at: 0,
            looks_free_at: 0,
            passes_free_at: 0,
            engine_queue: vec![VecDeque::new(); ports],
        }
    }

    fn push(&mut self, queue: usize, bytes: Arc<[u8]>, ready: u64) {
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
    fn push_from_engine(&mut self, bytes: Arc<[u8]>, ready: u64, passes: bool) {
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

    /// Clock at which the next frame can leave.
    fn next(&self) -> Option<u64> {
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
    fn pop(&mut self, now: u64) -> Option<(Arc<[u8]>, Option<u64>)> {
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
        let plain = queue < self.engine_queue.len();
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
        let queue = &mut self.engine_queue[input];
        while queue.front().is_some_and(|(left, _)| *left <= now) {
            queue.pop_front();
        }
        self.used[input] + queue.len() as u64 * STORED_WORDS
    }

    /// Room in it.
    fn room(&mut self, input: usize, now: u64) -> u64 {
        QUEUE_WORDS.saturating_sub(self.queued(input, now))
    }

    /// Clock at which a frame that came in now begins at the engine, which looks at it or not.
    fn at_engine(&mut self, input: usize, looks: bool, now: u64) -> u64 {
        let free_at = if looks {
            &mut self.looks_free_at
        } else {
            &mut self.passes_free_at
        };
        let queue = &mut self.engine_queue[input];
        let behind = queue.back().map_or(0, |&(left, before)| {
            left + if before == looks {
                0
            } else {
                OTHER_READER_CLOCKS
            }
        });
        let begin = (now + TO_ENGINE_CLOCKS).max(*free_at).max(behind);
        *free_at = begin + STORED_WORDS;
        queue.push_back((*free_at, looks));
        begin
    }
}

/// What decides the times of a tree's frames: its parent port, and whether the engine there looks at them.
#[derive(Clone, Copy, Debug)]
struct Parent {
    port: u8,
    looks: bool,
}

/// A switch as a model.
#[derive(Debug)]
pub struct ModelSwitch {
    switch: Switch,
    engines: bool,
    /// By tree.
    parents: Vec<Option<Parent>>,
    outputs: Vec<Output>,
    queue_full: u64,
}

impl ModelSwitch {
    /// A switch of a fabric with its ports enabled and its tables empty.
    ///
    /// # Errors
    /// A size out of its range.
    pub fn new(
        index: usize,
        spec: &SwitchSpec,
        unicast_bits: u8,
        multicast_bits: u8,
    ) -> Result<Self, SwitchError> {
        let mut switch = Switch::new(SwitchConfig {
            ports: spec.ports,
            unicast_bits,
            multicast_bits,
            engine: spec.engine,
        })?;
        for port in 0..spec.ports {
            let address = Fabric::port_address(index, port);
            switch.set_port(
                port,
                PortSettings {
                    enable: true,
                    engine: spec.engines,
                    address,
                },
            )?;
        }
        switch.set_ecn_threshold(spec.ecn_words);
        let ports = usize::from(spec.ports);
        Ok(Self {
            switch,
            engines: spec.engines,
            parents: vec![None; 1 << multicast_bits],
            outputs: (0..ports).map(|_| Output::new(ports)).collect(),
            queue_full: 0,
        })
    }

    /// Parent of the tree of a reduction frame.
    fn parent(&self, bytes: &[u8]) -> Option<Parent> {
        let ethertype = DEFAULT_ETHERTYPE.to_be_bytes();
        if bytes.get(12..14)? != ethertype {
            return None;
        }
        let word = bytes.get(2..6)?.try_into().ok()?;
        let key = Address(u32::from_be_bytes(word)).multicast()?;
        self.parents.get(usize::from(key.tree)).copied()?
    }
}

impl SwitchNode for ModelSwitch {
    fn connect(&mut self, port: u8, link: LinkSpec) -> Result<()> {
        if let Some(output) = self.outputs.get_mut(usize::from(port)) {
            output.link = Some(link);
        }
        Ok(())
    }

    fn set_unicast(&mut self, node: u32, port: u8) -> Result<()> {
        Ok(self.switch.set_unicast(node, Some(port))?)
    }

    fn set_multicast(&mut self, tree: u16, entry: Option<Tree>) -> Result<()> {
        self.switch.set_multicast(tree, entry)?;
        self.parents[usize::from(tree)] = entry.map(|entry| Parent {
            port: entry.parent,
            looks: self.engines && entry.wait != 0,
        });
        Ok(())
    }

    fn read(&self, offset: u16) -> Result<u32> {
        Ok(self.switch.read(offset)?)
    }

    fn write(&mut self, offset: u16, value: u32) -> Result<()> {
        self.switch.write(offset, value)?;
        if offset == regs::MULTICAST_COMMIT.offset {
            let entry = self.switch.read(regs::MULTICAST_ENTRY.offset)?;
            let valid = regs::MULTICAST_VALID.get(entry) == 1;
            let parent = Parent {
                port: regs::MULTICAST_PARENT.get(entry) as u8,
                looks: self.engines && regs::MULTICAST_WAIT.get(entry) != 0,
            };
            let tree = regs::MULTICAST_INDEX.get(value) as usize;
            if let Some(slot) = self.parents.get_mut(tree) {
                *slot = valid.then_some(parent);
            }
        }
        Ok(())
    }

    fn acts_on(&self) -> ActsOn {
        ActsOn::LastWord
    }

    fn in_use(&self) -> usize {
        self.switch.in_use()
    }

    fn count(&self, counter: Counter) -> u64 {
        let model = (0..self.switch.ports())
            .filter_map(|p| self.switch.counters(p))
            .map(|c| c.get(counter))
            .sum();
        match counter {
            Counter::QueueFull => self.queue_full,
            _ => model,
        }
    }

    fn arrive(&mut self, port: u8, bytes: &[u8], damaged: bool, now: u64) {
        if damaged {
            return;
        }
        let input = usize::from(port);
        let parent = self.parent(bytes);
        let length = if parent.is_some() {
            STORED_WORDS
        } else {
            words(bytes.len())
        };
        let looks = parent.is_some_and(|p| p.looks);
        let parent = parent.map(|p| p.port);
        let up = parent.is_some() && (parent != Some(port) || self.switch.turns(port, bytes));
        let mut at_parent = None;
        // Upwards, or downwards past the engine of the port that it came by.
        if let Some(output) = parent.and_then(|p| self.outputs.get_mut(usize::from(p)))
            && (up || looks)
        {
            if output.room(input, now) >= length {
                at_parent = Some(output.at_engine(input, looks, now));
            } else {
                self.queue_full += 1;
                if up {
                    return;
                }
            }
        }
        let whole: Arc<[u8]> = bytes.into();
        for (out, sent) in self.switch.receive(port, bytes, now) {
            let passes = *sent == *whole;
            let sent: Arc<[u8]> = if passes { whole.clone() } else { sent.into() };
            let output = &mut self.outputs[usize::from(out)];
            let upwards = at_parent.filter(|_| parent == Some(out));
            if upwards.is_none() && output.room(input, now) < length {
                self.queue_full += 1;
            } else if parent.is_some() {
                let begin = upwards.unwrap_or_else(|| output.at_engine(input, false, now));
                let looked = upwards.is_some() && looks;
                let clocks = match (passes, looked) {
                    (false, _) => ENGINE_CLOCKS,
                    (true, true) => PASS_CLOCKS,
                    (true, false) => DOWN_CLOCKS,
                };
                output.push_from_engine(sent, begin + clocks, !looked);
            } else {
                output.push(input, sent, now + FORWARD_CLOCKS);
            }
        }
    }

    fn wake(&self, _: u64) -> Option<u64> {
        let sends = self.outputs.iter().filter_map(Output::next).min();
        sends.into_iter().chain(self.switch.next_deadline()).min()
    }

    fn run(&mut self, now: u64, leave: &mut Vec<Departure>) -> Result<()> {
        if self.switch.next_deadline().is_some_and(|at| at <= now) {
            for (port, bytes) in self.switch.tick(now) {
                let output = &mut self.outputs[usize::from(port)];
                output.push_from_engine(bytes.into(), now + ENGINE_CLOCKS, false);
            }
        }
        for (port, output) in (0u8..).zip(&mut self.outputs) {
            if let Some((mut bytes, queued)) = output.pop(now) {
                // Copies of a multicast frame share their bytes; only one that is marked is another frame.
                if let Some(queued) = queued.filter(|q| self.switch.is_long(*q)) {
                    let mut marked = bytes.to_vec();
                    if self.switch.leave(port, &mut marked, queued) {
                        bytes = marked.into();
                    }
                }
                leave.push(Departure {
                    port,
                    start: now,
                    bytes,
                });
            }
        }
        Ok(())
    }
}
