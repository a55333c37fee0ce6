//! What reads, writes and atomic operations of a peer's memory have in common.

use super::*;
use crate::engine::{Busy, Place};

/// What every call says.
pub struct Target {
    /// Whose memory, where, by which key.
    pub peer: (u64, u64, u64),
    pub context: *mut c_void,
    /// Nothing for injects, of which nobody is told.
    pub flags: Option<u64>,
}

impl Ep {
    /// Begins an operation on memory of a peer, if the engine takes it.
    pub(super) fn reach(
        &self,
        target: Target,
        act: impl FnOnce(&mut Core<Op, UserMemory>, Place, Op) -> Result<(), Busy>,
    ) -> isize {
        let queues = &self.end.queues;
        let (whose, offset, key) = target.peer;
        let Some(at) = queues.table.get().and_then(|table| table.address(whose)) else {
            return -(EINVAL as isize);
        };
        let mut core = self.end.port.enter();
        if core.failed.is_some() {
            return -(EIO as isize);
        }
        let selective = queues.send.get().is_some_and(|(_, selective)| *selective);
        let told = |flags| !selective || flags & COMPLETION != 0;
        let op = Op {
            context: target.context as usize,
            buffer: 0,
            tagged: false,
            counts: true,
            told: target.flags.is_some_and(told),
        };
        let place = Place { at, key, offset };
        let taken = act(&mut core, place, op).is_ok();
        if taken {
            core.push();
        } else {
            core.progress();
        }
        queues.tell(&mut core);
        if taken { 0 } else { -(EAGAIN as isize) }
    }
}
