//! What a member sends: blocks of the messages that it has begun, in the order of its schedule.

use super::member::{Member, Output};
use crate::multicast::{Schedule, Send};

/// A message that this member passes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing {
    pub message: u32,
    length: u64,
    pub schedule: Schedule,
    /// The next transfer: its step and what is sent. `None` when all were started.
    next: Option<(u64, Send)>,
    /// Transfers that were started and have not ended.
    under_way: u32,
}

impl Outgoing {
    pub fn new(message: u32, length: u64, schedule: Schedule, rank: u32) -> Self {
        let next = schedule.sends(rank, 0).next();
        Self {
            message,
            length,
            schedule,
            next,
            under_way: 0,
        }
    }
}

impl Member {
    /// Starts every block whose turn it is, that is here, and that its receiver has granted.
    pub(super) fn start_blocks(&mut self, out: &mut Vec<Output>) {
        let (rank, repaired) = (self.rank, self.repaired());
        for outgoing in &mut self.outgoing {
            while let Some((step, Send { to, block })) = outgoing.next {
                let message = outgoing.message;
                let here = (rank == 0 && message >= repaired)
                    || message < self.receiving.delivered
                    || self.receiving.has(message, block);
                let started = self.started.entry(to).or_default();
                let allowed = self.allowed.get(&to).copied().unwrap_or(0);
                if !here || *started == allowed {
                    break;
                }
                *started = started.wrapping_add(1);
                outgoing.under_way += 1;
                outgoing.next = outgoing.schedule.sends(rank, step + 1).next();
                out.push(Output::Block {
                    to,
                    message,
                    block,
                    length: outgoing.length,
                });
            }
            // Messages leave in order: the credits of a receiver are for the older one first.
            if outgoing.next.is_some() {
                break;
            }
        }
        self.release(out);
    }

    /// A block that this member sent is where it belongs.
    pub fn block_sent(&mut self, message: u32, out: &mut Vec<Output>) {
        let mut all = self.outgoing.iter_mut();
        let Some(outgoing) = all.find(|o| o.message == message && o.under_way > 0) else {
            self.counters.strange += 1;
            return;
        };
        outgoing.under_way -= 1;
        self.release(out);
        self.pump(out);
    }

    /// Ends messages of which everything was passed on.
    fn release(&mut self, out: &mut Vec<Output>) {
        while let Some(first) = self.outgoing.front() {
            let message = first.message;
            let is_source = self.rank == 0 && message >= self.repaired();
            let delivered = is_source || self.receiving.delivered > message;
            if first.next.is_some() || first.under_way > 0 || !delivered {
                return;
            }
            self.outgoing.pop_front();
            self.receiving.forget(message);
            out.push(Output::Released { message });
        }
    }
}
