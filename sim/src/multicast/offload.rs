//! Groups whose cards carry out the schedule: doorbells, credits and blocks go to the model of the ring (MB-16).

use tributary_protocol::multicast::ring::{
    GroupId, Job, Ring, RingConfig, RingMutations, RingOutput,
};

use super::event::Event;
use super::runner::Runner;
use super::seat::Block;

/// A watchdog that no run is as long as: the runner has deaths instead.
const TICKS: u32 = u32::MAX;
/// Buffers that a receiver posts ahead.
const BUFFERS: usize = 2;

impl Runner {
    pub(super) fn is_offloaded(&self, group: usize) -> bool {
        self.groups[group].plan.config.offload
    }

    /// Gives a member its place on the card, and its first buffers.
    pub(super) fn seat_on_card(&mut self, group: usize, rank: u32) {
        if !self.is_offloaded(group) {
            return;
        }
        let config = &self.groups[group].plan.config;
        let ring = RingConfig {
            members: config.members,
            rank,
            block_bytes: config.block_bytes,
            credits: config.credits,
            watchdog: TICKS,
            origin: 0,
            mutations: RingMutations::default(),
        };
        let node = self.node_of(group, rank) as usize;
        match self.nodes[node].card.open(ring) {
            Ok(place) => {
                self.groups[group].seats[rank as usize].place = place;
                self.nodes[node].places.push((group, rank));
            }
            Err(error) => self.report.wrong.push(error.to_string()),
        }
        if rank != 0 {
            for _ in 0..BUFFERS {
                self.post_buffer(group, rank);
            }
        }
    }

    pub(super) fn post_buffer(&mut self, group: usize, rank: u32) {
        self.call(group, rank, |member, out| {
            // After a failure nothing comes any more.
            let _ = member.post_buffer(u64::MAX, out);
        });
    }

    pub(super) fn doorbell(&mut self, group: usize, rank: u32, job: Job) {
        let (node, place) = self.place(group, rank);
        if self.nodes[node].dead {
            return;
        }
        let mut out = Vec::new();
        // A ring that has stopped takes nothing.
        let _ = self.nodes[node].card.post(place, job, &mut out);
        self.card_outputs(node, out);
    }

    fn place(&self, group: usize, rank: u32) -> (usize, GroupId) {
        let seat = &self.groups[group].seats[rank as usize];
        (seat.node as usize, seat.place)
    }

    pub(super) fn ring<T: Default>(
        &mut self,
        group: usize,
        rank: u32,
        what: impl FnOnce(&mut Ring, &mut Vec<RingOutput>) -> T,
    ) -> T {
        let (node, place) = self.place(group, rank);
        if self.nodes[node].dead {
            return T::default();
        }
        let mut out = Vec::new();
        let result = self.nodes[node].card.with(place, &mut out, what);
        self.card_outputs(node, out);
        result
    }

    pub(super) fn credit(&mut self, group: usize, to: u32, from: u32, granted: u32) {
        let (node, _) = self.place(group, to);
        let until = self.nodes[node].port_paused_until;
        if until > self.now {
            let event = Event::Credit {
                group,
                to,
                from,
                granted,
            };
            return self.at(until, event);
        }
        self.ring(group, to, |ring, _| ring.credit(from, granted));
    }

    /// A block has arrived: the card writes it where it belongs.
    pub(super) fn lands(&mut self, group: usize, from: u32, block: Block, length: u64) {
        let number = (block.message, block.block);
        let begins = self.ring(group, block.to, |ring, out| {
            ring.begin(from, number, length, out)
        });
        if begins {
            self.ring(group, block.to, |ring, out| ring.landed(from, number, out));
        }
    }

    fn card_outputs(&mut self, node: usize, out: Vec<(GroupId, RingOutput)>) {
        for (place, output) in out {
            let (group, rank) = self.nodes[node].places[place.0 as usize];
            match output {
                RingOutput::Grant { to, granted } => {
                    let event = Event::Credit {
                        group,
                        to,
                        from: rank,
                        granted,
                    };
                    self.at(self.now + self.plan.latency, event);
                }
                RingOutput::Start {
                    message,
                    descriptor,
                    ..
                } => {
                    let block = Block {
                        message,
                        block: descriptor.block,
                        to: descriptor.to,
                    };
                    let seat = &mut self.groups[group].seats[rank as usize];
                    seat.queue.push_back(block);
                    self.send_next(group, rank);
                }
                RingOutput::Completion(completion) => {
                    let event = Event::Completion {
                        group,
                        rank,
                        completion,
                    };
                    let at = self.host_works(node as u32);
                    self.at(at.unwrap_or(self.now), event);
                }
            }
        }
    }
}
