//! A sum in the making: what an engine keeps for a descriptor, and what the root's software keeps (RED-9, RED-18).

use super::{
    address::Address,
    ops::{Mode, Op, Rc, Value, combine},
    wire::{COUNT_MAX, Frame},
};

/// Contributions combined so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Partial {
    /// Operation of the first contribution (RED-9).
    pub op: Op,
    /// Source of the first contribution.
    pub source: Address,
    /// What came out.
    pub value: Value,
    /// Endpoints in it; stops at 2^20 - 1.
    pub count: u32,
}

impl Partial {
    /// Begins with a contribution, kept to the bit.
    #[must_use]
    pub fn first(frame: &Frame) -> Self {
        Self {
            op: frame.red.op,
            source: frame.fabric.sfa,
            value: frame.value(),
            count: frame.red.count,
        }
    }

    /// Several brief contributions of one operation as one, with the source of the first: neighbours are combined, what comes
    /// out again, until one is left; a last one without a neighbour goes up a level unchanged. Nothing of nothing.
    #[must_use]
    pub fn together(frames: &[Frame], mode: Mode) -> Option<Self> {
        let mut level: Vec<Self> = frames.iter().map(Self::first).collect();
        while level.len() > 1 {
            let pair = |pair: &[Self]| {
                let mut sum = pair[0];
                if let Some(second) = pair.get(1) {
                    sum.merge(second, mode);
                }
                sum
            };
            level = level.chunks(2).map(pair).collect();
        }
        level.pop()
    }

    /// Adds a contribution, see [`Partial::merge`].
    pub fn add(&mut self, frame: &Frame, mode: Mode) {
        self.merge(&Self::first(frame), mode);
    }

    /// Adds what has been combined elsewhere. A mismatch of operations stays, and so does the first one found (RED-9); `m` and
    /// `oflow` go with the data.
    pub fn merge(&mut self, other: &Self, mode: Mode) {
        let (value, rc) = (other.value, self.value.rc.max(other.value.rc));
        self.value = if self.value.rc >= Rc::OP_MISMATCH {
            Value { rc, ..self.value }
        } else if value.rc >= Rc::OP_MISMATCH {
            Value { rc, ..value }
        } else if other.op != self.op {
            let sources = u64::from(self.source.0) << 32 | u64::from(other.source.0);
            Value {
                data: [sources, 0, 0, 0],
                rc: rc.max(Rc::OP_MISMATCH),
                ..Value::default()
            }
        } else {
            combine(self.op, mode, &self.value, &value)
        };
        self.count = self.count.saturating_add(other.count).min(COUNT_MAX);
    }

    /// Reports more contributions than `wait` (RED-11).
    pub fn check_count(&mut self, wait: u32) {
        if self.count > wait {
            self.value.rc = self.value.rc.max(Rc::CONTR_OVERFLOW);
        }
    }
}
