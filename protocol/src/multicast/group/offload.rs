//! A group whose cards carry out the schedule (MB-16): the host posts, and hears of the end.

use std::collections::VecDeque;

use super::member::{Member, Output};
use super::{GroupError, Why};
use crate::multicast::ring::{Completion, Job, Status};

/// What the card has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offloaded {
    /// Bytes of buffers that wait for the group to open.
    buffers: VecDeque<u64>,
    /// Messages that the card is done with.
    done: u32,
}

impl Member {
    /// A buffer for the next message that has none. Its card takes messages as they come, without another word.
    ///
    /// # Errors
    /// The root, a group that is not offloaded, that is closed or has failed.
    pub fn post_buffer(&mut self, room: u64, out: &mut Vec<Output>) -> Result<(), GroupError> {
        self.error()?;
        if self.rank == 0 || !self.config.offload {
            return Err(GroupError::NoBuffers(self.rank));
        }
        self.offloaded.buffers.push_back(room);
        self.pump(out);
        Ok(())
    }

    pub(super) fn post_buffers(&mut self, out: &mut Vec<Output>) {
        let buffers = self.offloaded.buffers.drain(..);
        out.extend(buffers.map(|room| Output::Post(Job::Receive { room })));
    }

    pub(super) fn card_has_work(&self) -> bool {
        self.config.offload && self.offloaded.done != self.delivered()
    }

    /// The card is done with a message, or with the group.
    pub fn completed(&mut self, completion: Completion, out: &mut Vec<Output>) {
        let Completion {
            message,
            length,
            status,
        } = completion;
        match status {
            Status::Done if message == self.offloaded.done && self.error().is_ok() => {
                self.offloaded.done += 1;
                if self.rank != 0 {
                    self.receiving.delivered += 1;
                    self.lengths.insert(message, length);
                    out.push(Output::Delivered { message, length });
                }
                out.push(Output::Released { message });
                self.pump(out);
            }
            // The group has failed meanwhile: what it reported stays true.
            Status::Done if self.error().is_err() => {}
            Status::Done => self.counters.strange += 1,
            // Nothing is missing here, or the group has failed already: who leaves then is no suspect.
            Status::Failed { .. } if self.said_done || self.error().is_err() => {}
            Status::Failed { peer } => self.peer_failed(peer, out),
            Status::TooLong => self.fail(self.rank, Why::Length, None, out),
            Status::Watchdog => self.fail(self.rank, Why::Stuck, None, out),
            // As the host wanted.
            Status::Stopped => {}
        }
    }
}
