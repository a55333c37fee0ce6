//! What a member does in a group that cards carry out: tickets, lengths of messages, ends.

use tributary_protocol::multicast::group::GroupError;
use tributary_protocol::multicast::group::wire::{Body, Ticket};
use tributary_protocol::multicast::ring::Job;

use super::super::MulticastError;
use super::super::cards::{Now, Told};
use super::super::options::Carried;
use super::{Carrying, Group, nanos};

impl Group {
    /// Tells each peer how its card reaches this one's.
    pub(super) fn say_tickets(&mut self) {
        if let Carrying::Cards(cards) = &self.carrying {
            for (to, ticket) in cards.tickets() {
                self.say(to, Body::Ticket(ticket));
            }
        }
    }

    pub(super) fn ticket(&mut self, from: u32, ticket: Ticket) {
        let is_known = match &mut self.carrying {
            Carrying::Cards(cards) => cards.ticket(from, ticket),
            Carrying::Hosts(_) => false,
        };
        self.counters.strange += u64::from(!is_known);
    }

    /// The root says that a message comes.
    pub(super) fn length(&mut self, from: u32, message: u32, length: u64) {
        let is_next = match &mut self.carrying {
            Carrying::Cards(cards) => from == 0 && cards.is_next(message),
            Carrying::Hosts(_) => false,
        };
        if !is_next {
            self.counters.strange += 1;
            return;
        }
        self.with(|member, out| {
            // After a failure nothing comes any more.
            let _ = member.post_buffer(length, out);
        });
    }

    /// The root tells of its messages. Who is told has made the group: it has opened.
    fn say_lengths(&mut self) {
        let untold = match &mut self.carrying {
            Carrying::Cards(cards) => cards.untold(),
            Carrying::Hosts(_) => Vec::new(),
        };
        for (message, length) in untold {
            for to in 1..self.config.members {
                self.say(to, Body::Length { message, length });
            }
        }
    }

    /// The card shall take a message, when its turn comes.
    pub(super) fn post(&mut self, job: Job) {
        if let Carrying::Cards(cards) = &mut self.carrying {
            let (Job::Send { length } | Job::Receive { room: length }) = job;
            cards.take(length);
        }
    }

    pub(super) fn stop_card(&mut self) {
        if let Carrying::Cards(cards) = &mut self.carrying {
            cards.stop();
        }
    }

    /// What the card has done, and what it can do next.
    pub(super) fn run_cards(&mut self) -> Result<(), MulticastError> {
        let now = Now {
            time: self.now(),
            is_open: self.member.is_open(),
            join: nanos(self.options.join),
            // A member that is silent is found in a time of silence and a quarter; then it is told.
            patience: nanos(self.options.silence).saturating_mul(2),
        };
        if now.is_open {
            self.say_lengths();
        }
        let told = match &mut self.carrying {
            Carrying::Cards(cards) => cards.run(now, &mut self.memory)?,
            Carrying::Hosts(_) => Vec::new(),
        };
        for told in told {
            self.with(|member, out| match told {
                Told::Completed(completion) => member.completed(completion, out),
                Told::Misfit { rank } => member.peer_misfits(rank, out),
            });
        }
        Ok(())
    }

    /// Refuses what no message of the group can be.
    pub(super) fn check_length(&self, length: u64) -> Result<(), MulticastError> {
        let blocks = self.config.blocks(length).map_err(MulticastError::Group)?;
        match self.options.carried {
            Carried::ByCards(cards) if blocks > cards.most_blocks => {
                let block_bytes = self.config.block_bytes;
                Err(MulticastError::Group(GroupError::Length {
                    length,
                    block_bytes,
                    most: u64::from(cards.most_blocks) * u64::from(block_bytes),
                }))
            }
            _ => Ok(()),
        }
    }
}
