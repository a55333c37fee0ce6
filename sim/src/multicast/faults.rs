//! Deaths and pauses while a run goes on.

use super::event::Event;
use super::plan::Fault;
use super::runner::Runner;
use super::seat::OnWire;

impl Runner {
    /// A member starts nothing any more; blocks that wait for their turn never begin.
    pub(super) fn stop_sending(&mut self, group: usize, rank: u32) {
        if self.is_offloaded(group) {
            self.ring(group, rank, |ring, out| ring.stop(out));
        }
        let seat = &mut self.groups[group].seats[rank as usize];
        seat.queue.clear();
        let Some(OnWire { flow, block, .. }) = seat.on_wire else {
            return;
        };
        let waiting = &mut self.groups[group].seats[block.to as usize].waiting;
        if let Some(place) = waiting.iter().position(|&from| from == rank) {
            waiting.swap_remove(place);
            self.groups[group].seats[rank as usize].on_wire = None;
            self.network.remove(self.now, flow);
            self.take_predictions();
        }
    }

    /// Whoever watches a dead member will learn of it.
    pub(super) fn watch(&mut self, group: usize, rank: u32) {
        let dead: Vec<u32> = (0..self.groups[group].seats.len() as u32)
            .filter(|&peer| self.is_dead(group, peer))
            .collect();
        let seat = &mut self.groups[group].seats[rank as usize];
        let watched = seat.member.watched();
        for peer in dead {
            if watched.contains(&peer) && !seat.will_detect.contains(&peer) {
                seat.will_detect.push(peer);
                let at = self.now + self.plan.detection;
                self.at(at, Event::Detect { group, rank, peer });
                return self.watch(group, rank);
            }
        }
    }

    pub(super) fn fault(&mut self, index: usize) {
        match self.plan.faults[index] {
            Fault::Kill { node, .. } => self.kill(node),
            Fault::Pause { node, time, .. } => {
                let until = self.now + time;
                let n = &mut self.nodes[node as usize];
                n.port_paused_until = n.port_paused_until.max(until);
                n.host_paused_until = n.host_paused_until.max(until);
                self.network.set_port(self.now, node, 0.0);
                self.take_predictions();
                self.at(until, Event::Resume { node });
            }
            Fault::PauseHost { node, time, .. } => {
                let until = self.now + time;
                let n = &mut self.nodes[node as usize];
                n.host_paused_until = n.host_paused_until.max(until);
            }
            Fault::SlowLink { .. } | Fault::SlowPort { .. } => {}
        }
    }

    fn kill(&mut self, node: u32) {
        if std::mem::replace(&mut self.nodes[node as usize].dead, true) {
            return;
        }
        self.any_dead = true;
        for group in 0..self.groups.len() {
            let seats = &self.groups[group].seats;
            let Some(rank) = seats.iter().position(|seat| seat.node == node) else {
                continue;
            };
            self.report.groups[group].members[rank].died = Some(self.now);
            // What it sends and what is sent to it goes nowhere.
            for other in 0..self.groups[group].seats.len() {
                let seat = &mut self.groups[group].seats[other];
                let Some(OnWire { flow, block, .. }) = seat.on_wire else {
                    continue;
                };
                if other == rank || block.to as usize == rank {
                    self.network.remove(self.now, flow);
                    // A block for a dead member blocks its sender until that learns of the death.
                    if other == rank {
                        seat.on_wire = None;
                    }
                }
            }
            self.take_predictions();
            for other in 0..self.groups[group].seats.len() as u32 {
                if !self.is_dead(group, other) {
                    self.watch(group, other);
                }
            }
        }
    }
}
