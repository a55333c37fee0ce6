//! Operations by messages between hosts: binomial trees.
//!
//! A member adds the values of its children in a fixed order, whenever they come, so a result depends on the number of members only.

use std::collections::BTreeMap;

use tributary_protocol::red::Value;

use super::Why;
use super::messages::{BYTES, Message, SEGMENT, from_bytes, to_bytes};
use super::rule::Rule;

/// Parts that have come, by operation, direction and rank of the sender.
#[derive(Debug, Default)]
pub struct Parts(BTreeMap<(u64, bool, usize), Whole>);

/// Parts of one sender, which come in order.
#[derive(Debug)]
struct Whole {
    code: u8,
    segments: u32,
    /// Parts that have come.
    came: u32,
    bytes: Vec<u8>,
}

impl Parts {
    /// Keeps a part; false if it does not fit those before.
    pub fn put(&mut self, from: usize, message: Message) -> bool {
        let Message::Part {
            operation,
            down,
            segment,
            segments,
            code,
            bytes,
        } = message
        else {
            return false;
        };
        let whole = self.0.entry((operation, down, from)).or_insert(Whole {
            code,
            segments,
            came: 0,
            bytes: Vec::new(),
        });
        let next = (whole.code, whole.segments, whole.came) == (code, segments, segment);
        if next {
            whole.came += 1;
            whole.bytes.extend(bytes);
        }
        next
    }

    /// All that a member has sent for an operation, once it is there.
    pub fn take(&mut self, operation: u64, down: bool, from: usize) -> Option<(u8, Vec<u8>)> {
        let at = (operation, down, from);
        (self.0.get(&at)).filter(|whole| whole.came == whole.segments)?;
        let whole = self.0.remove(&at)?;
        Some((whole.code, whole.bytes))
    }

    /// Who has sent a part of an operation that is another one than this code says.
    pub fn other_than(&self, operation: u64, code: u8) -> Option<usize> {
        let of = self
            .0
            .range((operation, false, 0)..(operation + 1, false, 0));
        let mut others = of.filter(|(_, whole)| whole.code != code);
        others.next().map(|(&(_, _, from), _)| from)
    }

    /// What is of operations that are over.
    pub fn forget_before(&mut self, operation: u64) {
        self.0.retain(|(of, ..), _| *of >= operation);
    }
}

/// Where a member stands in an operation.
#[derive(Clone, Debug)]
enum Step {
    /// It adds what child number k has.
    Up(u32),
    /// It waits for what its parent has.
    Down,
}

/// What the messages are.
#[derive(Clone, Debug)]
pub enum Content {
    /// Values that are combined.
    Values(Rule, Vec<Value>),
    /// Bytes that the root gives to all.
    Bytes(Vec<u8>),
}

/// An operation by messages.
#[derive(Clone, Debug)]
pub struct Software {
    operation: u64,
    size: usize,
    /// This member's and the root's rank.
    rank: usize,
    root: usize,
    step: Step,
    content: Content,
}

/// What comes of a look.
pub enum Progress {
    /// It waits.
    Waits,
    /// It is over.
    Done(Content),
    /// This rank did something else.
    Failed(usize, Why),
}

impl Software {
    /// Begins; values go up to the root and down again, bytes only down.
    pub fn new(operation: u64, size: usize, rank: usize, root: usize, content: Content) -> Self {
        let step = match content {
            Content::Values(..) => Step::Up(0),
            Content::Bytes(_) => Step::Down,
        };
        Self {
            operation,
            size,
            rank,
            root,
            step,
            content,
        }
    }

    /// Place in the tree, the root's is 0.
    fn place(&self) -> usize {
        (self.rank + self.size - self.root) % self.size
    }

    fn rank_of(&self, place: usize) -> usize {
        (place + self.root) % self.size
    }

    /// Levels below a place: its children are place + 2^k for k below it.
    fn levels(&self) -> u32 {
        let all = usize::BITS - (self.size - 1).leading_zeros();
        match self.place() {
            0 => all,
            place => place.trailing_zeros(),
        }
    }

    /// Whom it waits for.
    pub fn waits_for(&self) -> Option<usize> {
        match self.step {
            Step::Up(k) => {
                let mut children = (k..self.levels()).map(|k| self.place() + (1 << k));
                let child = children.find(|&child| child < self.size);
                child.map(|child| self.rank_of(child))
            }
            Step::Down => (self.place() > 0).then(|| self.parent()),
        }
    }

    fn code(&self) -> u8 {
        match &self.content {
            Content::Values(rule, _) => rule.code(),
            Content::Bytes(_) => BYTES,
        }
    }

    /// Goes as far as what has come allows; messages go to `send`.
    pub fn run(&mut self, parts: &mut Parts, send: &mut dyn FnMut(usize, Message)) -> Progress {
        loop {
            match self.step {
                Step::Up(k) if k < self.levels() => {
                    let child = self.place() + (1 << k);
                    if child < self.size {
                        let child = self.rank_of(child);
                        let Some(came) = parts.take(self.operation, false, child) else {
                            return Progress::Waits;
                        };
                        if !self.add(came) {
                            return Progress::Failed(child, Why::Mismatch);
                        }
                    }
                    self.step = Step::Up(k + 1);
                }
                Step::Up(_) => {
                    self.step = Step::Down;
                    if self.place() > 0 {
                        self.send(self.parent(), false, send);
                    }
                }
                Step::Down => {
                    if self.place() > 0 {
                        let parent = self.parent();
                        let Some((code, bytes)) = parts.take(self.operation, true, parent) else {
                            return Progress::Waits;
                        };
                        if code != self.code() || !self.replace(bytes) {
                            return Progress::Failed(parent, Why::Mismatch);
                        }
                    }
                    for k in (0..self.levels()).rev() {
                        let child = self.place() + (1 << k);
                        if child < self.size {
                            self.send(self.rank_of(child), true, send);
                        }
                    }
                    let empty = Content::Bytes(Vec::new());
                    return Progress::Done(std::mem::replace(&mut self.content, empty));
                }
            }
        }
    }

    fn parent(&self) -> usize {
        let place = self.place();
        self.rank_of(place & (place - 1))
    }

    fn add(&mut self, (code, bytes): (u8, Vec<u8>)) -> bool {
        let Content::Values(rule, values) = &mut self.content else {
            return false;
        };
        let came = from_bytes(&bytes).filter(|came| came.len() == values.len());
        let Some(came) = came.filter(|_| code == rule.code()) else {
            return false;
        };
        for (value, came) in values.iter_mut().zip(came) {
            *value = rule.combine(value, &came);
        }
        true
    }

    fn replace(&mut self, bytes: Vec<u8>) -> bool {
        match &mut self.content {
            Content::Bytes(own) => {
                let fits = own.len() == bytes.len();
                *own = bytes;
                fits
            }
            Content::Values(_, values) => {
                let came = from_bytes(&bytes).filter(|came| came.len() == values.len());
                came.map(|came| *values = came).is_some()
            }
        }
    }

    fn send(&self, to: usize, down: bool, send: &mut dyn FnMut(usize, Message)) {
        let all = match &self.content {
            Content::Values(_, values) => to_bytes(values),
            Content::Bytes(bytes) => bytes.clone(),
        };
        let segments = all.len().div_ceil(SEGMENT).max(1) as u32;
        for segment in 0..segments {
            let begin = segment as usize * SEGMENT;
            let end = (begin + SEGMENT).min(all.len());
            let part = Message::Part {
                operation: self.operation,
                down,
                segment,
                segments,
                code: self.code(),
                bytes: all[begin..end].to_vec(),
            };
            send(to, part);
        }
    }
}
