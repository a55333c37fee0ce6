//! The root in hardware (CL-6): what the card of a group's root does by itself.
//!
//! The root contributes up its own port, as every leaf does ([`super::switch::Tree::children`]). When one frame comes up that
//! has all contributions of the round that is armed, the card sends it down again as the result, which arms the tree for the
//! next round, and its host gets a completion that says so. Everything else is left to the host.
//!
//! The host may send at the same moment, for the round that is just over: an attempt that it repeats, its own contribution, what
//! it says to one leaf. What an answer has overtaken does not leave, so that no value of one round gets into the next.

use super::wire::{Fabric, Frame, Reduction, Restricted};
use super::{address::Address, ops::Rc, seqno_after, seqno_newer};

/// Bits of a round on the wire.
const ROUND: u64 = (1 << 56) - 1;

/// Whether round `a` is before `b`.
const fn is_behind(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i16) < 0
}

/// What the tree was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Armed {
    seqno: u16,
    round: u64,
    /// Engines are armed, so that a result may come; otherwise the host has called the roll.
    arms: bool,
}

/// What a card keeps of one reduction id of a group whose root its host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    members: u32,
    armed: Option<Armed>,
}

impl Answers {
    /// A group of so many members, the root among them, before its first round.
    #[must_use]
    pub const fn new(members: u32) -> Self {
        Self {
            members,
            armed: None,
        }
    }

    /// Whether a frame that the host sends may leave. One to the tree that is no contribution, and so arms or releases engines, may
    /// under a newer sequence number than the last one, unless its round is behind: by the lowest 16 bits of both. All others, contributions and frames to one node, may in the round and under
    /// the number of the last one: contributions if it armed, and what arms to a node if it did, too.
    pub const fn leaves(&mut self, frame: &Frame) -> bool {
        let (red, round) = (&frame.red, frame.restricted.remote_offset & ROUND);
        let to_tree = frame.fabric.dfa.multicast().is_some();
        if to_tree && !frame.contributes() {
            if let Some(armed) = self.armed
                && (!seqno_newer(red.seqno, armed.seqno) || is_behind(round, armed.round))
            {
                return false;
            }
            self.armed = Some(Armed {
                seqno: red.seqno,
                round,
                arms: red.arm,
            });
            return true;
        }
        let Some(armed) = self.armed else {
            return false;
        };
        let arms = red.arm || to_tree;
        armed.seqno == red.seqno && armed.round == round && armed.arms == arms
    }

    /// The answer of the root at this address to a frame that has come, if that is the result of the round that is armed, by the
    /// tree: the same value on its way down, which arms the next round.
    pub fn answer(&mut self, frame: &Frame, root: Address) -> Option<Frame> {
        let red = &frame.red;
        let by_tree = frame.fabric.dfa.multicast().is_some();
        let complete = by_tree && frame.contributes() && red.count == self.members;
        let armed = self.armed?;
        if !complete
            || !armed.arms
            || armed.seqno != red.seqno
            || red.rc.code() == Rc::CONTR_OVERFLOW.code()
        {
            return None;
        }
        let next = Armed {
            seqno: seqno_after(armed.seqno),
            round: (armed.round + 1) & ROUND,
            arms: true,
        };
        self.armed = Some(next);
        Some(Frame {
            fabric: Fabric::new(root, frame.fabric.dfa, frame.fabric.vni),
            restricted: Restricted {
                remote_offset: next.round,
                ..Restricted::default()
            },
            red: Reduction {
                seqno: next.seqno,
                arm: true,
                resno: armed.seqno,
                ..*red
            },
            data: frame.data,
        })
    }
}
