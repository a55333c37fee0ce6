//! The events of a run, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tributary_protocol::multicast::Schedule;
use tributary_protocol::multicast::group::{Control, Member, Output};
use tributary_protocol::multicast::ring::Card;

use super::event::{Entry, Event};
use super::network::Prediction;
use super::plan::{Fault, GroupPlan, Plan, PlanError};
use super::report::{Ended, GroupReport, Moved, Report};
use super::seat::{Block, OnWire, Seat, content};
use super::{Network, Time, check};

/// The incarnation of every group of a run.
const EPOCH: u32 = 1;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub card: Card,
    /// Group and rank of each place of the card.
    pub places: Vec<(usize, u32)>,
    pub dead: bool,
    /// Its port stands still.
    pub port_paused_until: Time,
    /// Its host stands still.
    pub host_paused_until: Time,
    /// Its host's software has work until then.
    host_busy_until: Time,
}

impl Node {
    fn new(card_groups: usize) -> Self {
        Self {
            card: Card::new(card_groups),
            places: Vec::new(),
            dead: false,
            port_paused_until: 0,
            host_paused_until: 0,
            host_busy_until: 0,
        }
    }
}

pub(super) struct Group {
    pub plan: GroupPlan,
    pub seats: Vec<Seat>,
    /// Schedules of the messages that have begun.
    pub schedules: Vec<Schedule>,
}

pub(super) struct Runner {
    pub plan: Plan,
    pub now: Time,
    queue: BinaryHeap<Reverse<Entry>>,
    number: u64,
    pub network: Network,
    /// Whose flow it is.
    owners: Vec<(usize, u32)>,
    pub nodes: Vec<Node>,
    pub groups: Vec<Group>,
    pub report: Report,
    pub any_dead: bool,
}

/// Runs a plan until nothing happens any more.
///
/// # Errors
/// A plan that cannot be.
pub fn run(plan: &Plan) -> Result<Report, PlanError> {
    plan.check()?;
    let mut runner = Runner::new(plan)?;
    runner.begin();
    while let Some(Reverse(entry)) = runner.queue.pop() {
        runner.now = entry.at;
        runner.happens(entry.event);
    }
    Ok(runner.finish())
}

impl Runner {
    fn new(plan: &Plan) -> Result<Self, PlanError> {
        let mut groups = Vec::new();
        for (index, group) in plan.groups.iter().enumerate() {
            let error = |error| PlanError::Group {
                group: index,
                error,
            };
            let mut seats = Vec::new();
            for (rank, &node) in group.nodes.iter().enumerate() {
                let member = Member::new(group.config.clone(), rank as u32, EPOCH);
                seats.push(Seat::new(node, member.map_err(error)?));
            }
            groups.push(Group {
                plan: group.clone(),
                seats,
                schedules: Vec::new(),
            });
        }
        let mut network = Network::new(plan.nodes);
        for fault in &plan.faults {
            match *fault {
                Fault::SlowLink { a, b, rate } => network.slow_link(a, b, rate),
                Fault::SlowPort { node, rate } => network.set_port(0, node, rate),
                _ => {}
            }
        }
        let of = |group: &GroupPlan| GroupReport {
            members: vec![Ended::default(); group.nodes.len()],
            ..GroupReport::default()
        };
        let report = Report {
            groups: plan.groups.iter().map(of).collect(),
            ..Report::default()
        };
        Ok(Self {
            plan: plan.clone(),
            now: 0,
            queue: BinaryHeap::new(),
            number: 0,
            network,
            owners: Vec::new(),
            nodes: (0..plan.nodes)
                .map(|_| Node::new(plan.card_groups))
                .collect(),
            groups,
            report,
            any_dead: false,
        })
    }

    pub fn at(&mut self, at: Time, event: Event) {
        self.number += 1;
        let number = self.number;
        self.queue.push(Reverse(Entry { at, number, event }));
    }

    fn begin(&mut self) {
        for (index, fault) in self.plan.faults.clone().into_iter().enumerate() {
            if let Fault::Kill { at, .. } | Fault::Pause { at, .. } | Fault::PauseHost { at, .. } =
                fault
            {
                self.at(at, Event::Fault(index));
            }
        }
        for group in 0..self.groups.len() {
            // Joining is not what is measured: it takes no time unless a node stands still or is dead.
            for rank in 0..self.groups[group].seats.len() as u32 {
                self.seat_on_card(group, rank);
                self.call(group, rank, |member, out| member.join(out));
            }
            let first = self.groups[group].plan.messages.first();
            let at = first.map_or(0, |&(at, _)| at);
            self.at(at, Event::Root { group });
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Root { group } => self.root(group),
            Event::Control {
                group,
                to,
                from,
                control,
            } => self.control(group, to, from, control),
            Event::Left(prediction) => self.left(prediction),
            Event::Arrived { group, from, block } => self.arrived(group, from, block),
            Event::Noted { group, from, block } => self.noted(group, from, block),
            Event::Posted { group, rank, block } => {
                self.groups[group].seats[rank as usize]
                    .queue
                    .push_back(block);
                self.send_next(group, rank);
            }
            Event::Sent {
                group,
                rank,
                message,
            } if self.is_offloaded(group) => {
                self.ring(group, rank, |ring, out| ring.sent(message, out));
            }
            Event::Sent {
                group,
                rank,
                message,
            } => self.call(group, rank, |member, out| member.block_sent(message, out)),
            Event::Doorbell { group, rank, job } => self.doorbell(group, rank, job),
            Event::Credit {
                group,
                to,
                from,
                granted,
            } => self.credit(group, to, from, granted),
            Event::Completion {
                group,
                rank,
                completion,
            } => self.call(group, rank, |member, out| member.completed(completion, out)),
            Event::Fault(index) => self.fault(index),
            Event::Resume { node } => {
                let n = &self.nodes[node as usize];
                if n.port_paused_until == self.now && !n.dead {
                    let rate = self.port_rate(node);
                    self.network.set_port(self.now, node, rate);
                    self.take_predictions();
                }
            }
            Event::Detect { group, rank, peer } => {
                let seat = &mut self.groups[group].seats[rank as usize];
                seat.will_detect.retain(|&other| other != peer);
                if seat.member.watched().contains(&peer) {
                    self.call(group, rank, |member, out| member.peer_failed(peer, out));
                }
            }
        }
    }

    fn port_rate(&self, node: u32) -> f64 {
        let slow = self.plan.faults.iter().find_map(|fault| match *fault {
            Fault::SlowPort { node: n, rate } if n == node => Some(rate),
            _ => None,
        });
        slow.unwrap_or(1.0)
    }

    pub fn node_of(&self, group: usize, rank: u32) -> u32 {
        self.groups[group].seats[rank as usize].node
    }

    pub fn is_dead(&self, group: usize, rank: u32) -> bool {
        self.nodes[self.node_of(group, rank) as usize].dead
    }

    /// The root sends its next message, or closes.
    fn root(&mut self, group: usize) {
        if self.is_dead(group, 0) {
            return;
        }
        let node = &self.nodes[self.node_of(group, 0) as usize];
        if node.host_paused_until > self.now {
            return self.at(node.host_paused_until, Event::Root { group });
        }
        let this = &mut self.groups[group];
        let index = this.schedules.len();
        if this.seats[0].member.error().is_err() {
            return;
        }
        let Some(&(_, length)) = this.plan.messages.get(index) else {
            if this.plan.close {
                self.call(group, 0, |member, out| {
                    let _ = member.close(out);
                });
            }
            return;
        };
        let config = &this.plan.config;
        let Ok(schedule) = config
            .blocks(length)
            .and_then(|blocks| config.schedule(blocks))
        else {
            return;
        };
        let report = &mut self.report.groups[group];
        report.steps += schedule.total_steps();
        report.bound +=
            schedule.total_steps() * u64::from(config.block_bytes) * self.plan.byte_time;
        report.members[0].delivered.push(self.now);
        let blocks = schedule.blocks();
        this.schedules.push(schedule);
        let contents = (0..blocks).map(|block| content(index as u32, block));
        this.seats[0].content.push(contents.collect());
        let next = this.plan.messages.get(index + 1);
        let at = next.map_or(self.now, |&(at, _)| at.max(self.now));
        self.call(group, 0, |member, out| {
            let _ = member.send(length, out);
        });
        self.at(at, Event::Root { group });
    }

    fn control(&mut self, group: usize, to: u32, from: u32, control: Control) {
        let node = &self.nodes[self.node_of(group, to) as usize];
        if node.dead {
            return;
        }
        let until = node.host_paused_until.max(node.port_paused_until);
        if until > self.now {
            let event = Event::Control {
                group,
                to,
                from,
                control,
            };
            return self.at(until, event);
        }
        self.call(group, to, |member, out| {
            member.control(from, EPOCH, control, out);
        });
    }

    /// Puts the member's next block on the wire.
    pub fn send_next(&mut self, group: usize, rank: u32) {
        let this = &mut self.groups[group];
        let seat = &mut this.seats[rank as usize];
        if seat.on_wire.is_some() || self.nodes[seat.node as usize].dead {
            return;
        }
        let Some(block) = seat.queue.pop_front() else {
            return;
        };
        let (_, length) = this.plan.messages[block.message as usize];
        let bytes = this.plan.config.bytes_of(length, block.block);
        let work = u64::from(bytes) * self.plan.byte_time;
        let (src, dst) = (seat.node, this.seats[block.to as usize].node);
        let flow = self.network.add(src, dst, work);
        let start = self.now;
        this.seats[rank as usize].on_wire = Some(OnWire { flow, block, start });
        let index = flow.index();
        if self.owners.len() <= index {
            self.owners.resize(index + 1, (0, 0));
        }
        self.owners[index] = (group, rank);
        self.groups[group].seats[block.to as usize]
            .waiting
            .push(rank);
        self.admit(group, block.to);
    }

    /// Lets the sender of the block whose turn it is at `rank` begin.
    pub fn admit(&mut self, group: usize, rank: u32) {
        let this = &mut self.groups[group];
        let seat = &mut this.seats[rank as usize];
        let Some(turn) = seat.cursor.block(rank, &this.schedules) else {
            return;
        };
        let senders = &this.seats[rank as usize].waiting;
        let place = senders.iter().position(|&from| {
            let wire = this.seats[from as usize].on_wire;
            wire.is_some_and(|w| (w.block.message, w.block.block) == turn)
        });
        let Some(place) = place else { return };
        let from = this.seats[rank as usize].waiting.swap_remove(place);
        if let Some(wire) = &mut this.seats[from as usize].on_wire {
            wire.start = self.now;
            let flow = wire.flow;
            self.network.admit(self.now, flow);
        }
        self.take_predictions();
    }

    pub fn take_predictions(&mut self) {
        let predictions: Vec<Prediction> = self.network.predictions().collect();
        for prediction in predictions {
            self.at(prediction.at, Event::Left(prediction));
        }
    }

    fn left(&mut self, prediction: Prediction) {
        if !self.network.ends(self.now, prediction) {
            return;
        }
        self.take_predictions();
        let (group, rank) = self.owners[prediction.flow.index()];
        let Some(OnWire { block, start, .. }) =
            self.groups[group].seats[rank as usize].on_wire.take()
        else {
            return;
        };
        let at = self.now + self.plan.latency;
        if self.plan.record {
            self.report.moved.push(Moved {
                group: group as u32,
                message: block.message,
                block: block.block,
                from: rank,
                to: block.to,
                start,
                end: at,
            });
        }
        let from = rank;
        self.at(at, Event::Arrived { group, from, block });
        self.groups[group].seats[block.to as usize].cursor.advance();
        self.admit(group, block.to);
        self.send_next(group, rank);
    }

    fn arrived(&mut self, group: usize, from: u32, block: Block) {
        if self.is_dead(group, block.to) {
            return;
        }
        let this = &mut self.groups[group];
        let holds = this.seats[from as usize].holds(block.message, block.block);
        let seat = &mut this.seats[block.to as usize];
        seat.make_room(block.message, &this.schedules);
        seat.content[block.message as usize][block.block as usize] = holds;
        let (_, length) = this.plan.messages[block.message as usize];
        let report = &mut self.report.groups[group];
        report.end = self.now;
        report.blocks += 1;
        report.bytes += u64::from(this.plan.config.bytes_of(length, block.block));
        self.at(
            self.now + self.plan.latency,
            Event::Sent {
                group,
                rank: from,
                message: block.message,
            },
        );
        if self.is_offloaded(group) {
            return self.lands(group, from, block, length);
        }
        match self.host_works(self.node_of(group, block.to)) {
            Some(at) => self.at(at, Event::Noted { group, from, block }),
            None => self.noted(group, from, block),
        }
    }

    /// When the host has done a piece of work that comes up now; `None` if at once.
    pub fn host_works(&mut self, node: u32) -> Option<Time> {
        let cost = self.plan.host_time;
        let node = &mut self.nodes[node as usize];
        let from = self
            .now
            .max(node.host_busy_until)
            .max(node.host_paused_until);
        node.host_busy_until = from + cost;
        (from + cost > self.now).then_some(from + cost)
    }

    fn noted(&mut self, group: usize, from: u32, block: Block) {
        if self.is_dead(group, block.to) {
            return;
        }
        let (_, length) = self.groups[group].plan.messages[block.message as usize];
        let number = (block.message, block.block);
        self.call(group, block.to, |member, out| {
            member.block_arrived(from, EPOCH, number, length, out);
        });
    }

    /// Something happens to a member; what it wants is done.
    pub fn call(
        &mut self,
        group: usize,
        rank: u32,
        what: impl FnOnce(&mut Member, &mut Vec<Output>),
    ) {
        if self.is_dead(group, rank) {
            return;
        }
        let mut out = Vec::new();
        what(
            &mut self.groups[group].seats[rank as usize].member,
            &mut out,
        );
        let mut next = 0;
        while next < out.len() {
            let output = out[next].clone();
            next += 1;
            self.output(group, rank, output, &mut out);
        }
        if self.any_dead {
            self.watch(group, rank);
        }
    }

    fn output(&mut self, group: usize, rank: u32, output: Output, more: &mut Vec<Output>) {
        let now = self.now;
        match output {
            Output::Control { to, control } => {
                let joining = matches!(control, Control::Join(_) | Control::Open);
                let delay = match joining {
                    true => 0,
                    false => self.plan.latency,
                };
                let from = rank;
                let event = Event::Control {
                    group,
                    to,
                    from,
                    control,
                };
                self.at(now + delay, event);
            }
            Output::Block {
                to, message, block, ..
            } => {
                let block = Block { message, block, to };
                let node = self.node_of(group, rank);
                match self.host_works(node) {
                    Some(at) => self.at(at, Event::Posted { group, rank, block }),
                    None => self.happens(Event::Posted { group, rank, block }),
                }
            }
            Output::Post(job) => {
                let node = self.node_of(group, rank);
                match self.host_works(node) {
                    Some(at) => self.at(at, Event::Doorbell { group, rank, job }),
                    None => self.doorbell(group, rank, job),
                }
            }
            Output::Begin { message, .. } => {
                let seat = &mut self.groups[group].seats[rank as usize];
                seat.member.buffer(message, more);
            }
            Output::Delivered { message, length } => self.delivered(group, rank, message, length),
            // No group of a run is resumed.
            Output::Released { .. } | Output::Resumed { .. } => {}
            Output::Failed { suspect, why } => {
                self.report.groups[group].members[rank as usize].failed = Some((now, suspect, why));
                self.stop_sending(group, rank);
            }
            Output::Closed(verdict) => {
                check::verdict(
                    group,
                    rank,
                    &verdict,
                    &self.groups[group],
                    &mut self.report,
                    now,
                );
                self.report.groups[group].members[rank as usize].verdict = Some((now, verdict));
            }
        }
    }

    fn delivered(&mut self, group: usize, rank: u32, message: u32, length: u64) {
        let delivered = &mut self.report.groups[group].members[rank as usize].delivered;
        delivered.push(self.now);
        let count = delivered.len();
        check::delivery(
            &self.groups[group],
            (group, rank),
            (message, count),
            length,
            &mut self.report.wrong,
        );
        if self.is_offloaded(group) {
            self.post_buffer(group, rank);
        }
    }

    fn finish(mut self) -> Report {
        self.report.end = self.now;
        for (group, this) in self.groups.iter().enumerate() {
            for (rank, seat) in this.seats.iter().enumerate() {
                self.report.groups[group].members[rank].counters = seat.member.counters();
            }
            check::rest(group, this, &mut self.report);
        }
        self.report
    }
}
