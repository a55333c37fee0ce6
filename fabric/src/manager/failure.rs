//! Cables and switches that fail and come back (MC-9): only groups whose tree is hit get another.

use super::{GroupKey, Manager, ManagerError, Rerouted, State, Unroutable};
use crate::network::{CableId, SwitchId};

impl Manager {
    /// A cable has failed. If it had failed already, nothing happens.
    ///
    /// # Errors
    /// There is no such cable.
    pub fn cable_failed(&mut self, now: u64, cable: CableId) -> Result<Rerouted, ManagerError> {
        self.advance(now);
        self.cable(cable)?;
        if !self.network.fail(cable) {
            return Ok(Rerouted::default());
        }
        self.measure(&[cable]);
        let hit = self.users[cable as usize].clone();
        Ok(self.reroute(hit))
    }

    /// A switch has failed, with all its cables. Groups with members at it are reported and keep what works of their tree.
    ///
    /// # Errors
    /// There is no such switch.
    pub fn switch_failed(&mut self, now: u64, switch: SwitchId) -> Result<Rerouted, ManagerError> {
        self.advance(now);
        let switches = self.network.switch_count();
        if switch >= switches {
            return Err(ManagerError::NoSwitch { switch, switches });
        }
        let links = self.network.links(switch);
        let cables: Vec<_> = links.iter().map(|link| link.cable).collect();
        let mut hit = Vec::new();
        for &cable in &cables {
            self.network.fail(cable);
            hit.extend_from_slice(&self.users[cable as usize]);
        }
        self.measure(&cables);
        Ok(self.reroute(hit))
    }

    /// A cable is back. Groups that were cut get a tree if they can have one now; others stay where they are.
    ///
    /// # Errors
    /// There is no such cable.
    pub fn cable_restored(&mut self, now: u64, cable: CableId) -> Result<Rerouted, ManagerError> {
        self.advance(now);
        self.cable(cable)?;
        if !self.network.restore(cable) {
            return Ok(Rerouted::default());
        }
        self.stale = self.hops.renew(&self.network).err();
        Ok(self.retry(true))
    }

    fn cable(&self, cable: CableId) -> Result<(), ManagerError> {
        let cables = self.network.cables().len() as u32;
        if cable < cables {
            Ok(())
        } else {
            Err(ManagerError::NoCable { cable, cables })
        }
    }

    /// Brings the distances up to date after these cables have failed.
    fn measure(&mut self, cables: &[CableId]) {
        let done = match *cables {
            [] => return,
            [cable] if self.stale.is_none() => self.hops.failed(&self.network, cable),
            _ => self.hops.renew(&self.network),
        };
        self.stale = done.err();
    }

    /// Gives new trees to groups whose tree is broken.
    fn reroute(&mut self, mut hit: Vec<GroupKey>) -> Rerouted {
        let mut report = Rerouted::default();
        hit.sort_unstable();
        hit.dedup();
        for key in hit {
            // What the other broken trees keep counts, so they stay in the load until it is their turn.
            if let Some(placed) = self.groups.get(&key).and_then(|r| r.placed.as_ref()) {
                self.load.remove(&placed.tree);
            }
            let found = self.find(key);
            if let Some(placed) = self.groups.get(&key).and_then(|r| r.placed.as_ref()) {
                self.load.add(&placed.tree);
            }
            match found {
                Ok(found) => {
                    self.retire(key);
                    self.adopt(key, found);
                    self.waiting.remove(&key);
                    self.counters.rerouted += 1;
                    report.moved.push(key);
                }
                Err(why) => {
                    self.unplaced(key, why.clone());
                    report.unroutable.push((key, why));
                }
            }
            self.rearm(key);
        }
        report
    }

    /// Looks at waiting groups again: all of them after a repair, else those that wait for an id.
    pub(super) fn retry(&mut self, repaired: bool) -> Rerouted {
        let mut report = Rerouted::default();
        let ready = |why: &Unroutable| repaired || matches!(why, Unroutable::Id(_));
        let waiting = self.waiting.iter().filter(|(_, why)| ready(why));
        let keys: Vec<GroupKey> = waiting.map(|(&key, _)| key).collect();
        let mut broken = Vec::new();
        for key in keys {
            let Some(record) = self.groups.get(&key) else {
                continue;
            };
            match &record.placed {
                None if record.state == State::ComputingRoutes => match self.place(key) {
                    Ok(()) => {
                        self.waiting.remove(&key);
                        self.counters.routed += 1;
                        report.moved.push(key);
                    }
                    Err(why) => {
                        self.waiting.insert(key, why.clone());
                        report.unroutable.push((key, why));
                    }
                },
                Some(placed) if placed.tree.cables().all(|c| self.network.is_up(c)) => {
                    self.waiting.remove(&key);
                    report.healed.push(key);
                }
                _ => broken.push(key),
            }
            self.rearm(key);
        }
        let rest = self.reroute(broken);
        report.moved.extend(rest.moved);
        report.moved.sort_unstable();
        report.unroutable.extend(rest.unroutable);
        report.unroutable.sort_unstable_by_key(|&(key, _)| key);
        report
    }
}
