//! All transfers of a schedule, one after the other.

use std::ops::Range;

use super::{Schedule, Send, Transfer};

/// The transfers of a schedule, ordered by step and then by sending rank: see [`Schedule::transfers`].
#[derive(Clone, Debug)]
pub struct Transfers<'a> {
    schedule: &'a Schedule,
    step: u64,
    /// Ranks that may still send at this step.
    senders: Range<u32>,
}

impl<'a> Transfers<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> Self {
        let senders = match schedule.total_steps() {
            0 => 0..0,
            _ => schedule.shape().senders_at(0),
        };
        Self {
            schedule,
            step: 0,
            senders,
        }
    }
}

impl Iterator for Transfers<'_> {
    type Item = Transfer;

    fn next(&mut self) -> Option<Transfer> {
        let shape = self.schedule.shape();
        loop {
            for src in self.senders.by_ref() {
                if let Some(Send { to: dst, block }) = shape.send_at(src, self.step) {
                    let step = self.step;
                    return Some(Transfer {
                        step,
                        src,
                        dst,
                        block,
                    });
                }
            }
            if self.step + 1 >= shape.total_steps() {
                return None;
            }
            self.step += 1;
            self.senders = shape.senders_at(self.step);
        }
    }
}
