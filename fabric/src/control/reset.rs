//! Switches that have lost what was written to them, by a reset or for want of power, and get it again.
//!
//! Their ports are off until they have everything, so the order within one does not matter: no frame passes it.

use super::{Control, ControlError, Registers};
use crate::network::SwitchId;
use crate::table;
use crate::unicast::UnicastWrite;

impl Control {
    /// Finds switches that were reset; returns those that do not answer though a way leads to them.
    pub(super) fn look<R: Registers>(&mut self, registers: &mut R) -> Vec<SwitchId> {
        let mut unanswered = Vec::new();
        for (switch, settings) in (0..).zip(&self.settings) {
            match settings.are_lost(&self.network, switch, registers) {
                Ok(true) => {
                    self.lost.insert(switch);
                }
                Ok(false) => {}
                Err(_) if self.is_cut_off(switch) => {}
                Err(_) => unanswered.push(switch),
            }
        }
        unanswered
    }

    /// Whether other switches have no way to this one.
    pub(super) fn is_cut_off(&self, switch: SwitchId) -> bool {
        self.network.switch_count() > 1 && self.network.links(switch).is_empty()
    }

    /// Writes settings, routes and trees of every switch that has lost them, as they are now. Returns those that have everything.
    pub(super) fn refill<R: Registers>(
        &mut self,
        registers: &mut R,
    ) -> Result<Vec<SwitchId>, ControlError> {
        let mut full = Vec::new();
        for &switch in &self.lost {
            match self.fill(switch, registers) {
                Ok(()) => full.push(switch),
                // It is tried again when it has a way to others.
                Err(ControlError::Access { .. }) if self.is_cut_off(switch) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(full)
    }

    fn fill<R: Registers>(&self, switch: SwitchId, registers: &mut R) -> Result<(), ControlError> {
        self.settings[switch as usize].restore(&self.network, switch, registers)?;
        for endnode in 0..self.nodes.len() as u32 {
            let port = self.routes.port(switch, endnode);
            let write = UnicastWrite {
                switch,
                endnode,
                port,
            };
            self.unicast(registers, &write)?;
        }
        for placed in self.groups.values() {
            let Some((id, tree)) = &placed.tree else {
                continue;
            };
            let entries = table::entries(&self.network, &placed.group, tree, placed.leader)?;
            for (_, entry) in entries.into_iter().filter(|(at, _)| *at == switch) {
                self.multicast(registers, switch, *id, entry)?;
            }
        }
        self.note(switch, registers);
        Ok(())
    }

    /// Switches that have everything again work; returns which do.
    pub(super) fn switch_on<R: Registers>(
        &mut self,
        full: Vec<SwitchId>,
        registers: &mut R,
    ) -> Result<Vec<SwitchId>, ControlError> {
        let mut on = Vec::new();
        for switch in full {
            let settings = &self.settings[switch as usize];
            match settings.switch_on(&self.network, switch, registers) {
                Ok(()) => {
                    self.lost.remove(&switch);
                    on.push(switch);
                }
                Err(_) if self.is_cut_off(switch) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(on)
    }
}
