//! Topologies with endnodes on every switch.

use super::Plan;
use crate::network::NetworkError;

pub(super) fn torus(plan: &mut Plan, sizes: &[u32], endnodes: u32) -> Result<(), NetworkError> {
    let switches = sizes.iter().product();
    let first_endnode = 2 * sizes.len() as u32 + 1;
    plan.switches(switches, first_endnode - 1 + endnodes, |_| None)?;
    for switch in 0..switches {
        let mut stride = 1;
        for (port, &size) in (1..).step_by(2).zip(sizes) {
            let at = switch / stride % size;
            let next = switch - at * stride + (at + 1) % size * stride;
            // The way back round of a dimension of two would be a second cable between the same switches.
            if size > 2 || (size == 2 && at == 0) {
                plan.cable((switch, port), (next, port + 1))?;
            }
            stride *= size;
        }
    }
    plan.endnodes(switches, endnodes, first_endnode)
}

pub(super) fn chain(plan: &mut Plan, switches: u32, endnodes: u32) -> Result<(), NetworkError> {
    plan.switches(switches, endnodes + 2, |_| None)?;
    for switch in 1..switches {
        plan.cable((switch - 1, endnodes + 1), (switch, endnodes + 2))?;
    }
    plan.endnodes(switches, endnodes, 1)
}

/// A dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dragonfly {
    /// Switches of a group.
    pub switches: u32,
    /// Endnodes of a switch.
    pub endnodes: u32,
    /// Global ports of a switch.
    pub global: u32,
    /// At most one more than a group has global ports.
    pub groups: u32,
    /// Palm tree arrangement.
    pub palm: bool,
}

impl Dragonfly {
    pub(super) const fn ports(&self) -> u64 {
        self.endnodes as u64 + self.switches as u64 - 1 + self.global as u64
    }

    pub(super) fn build(&self, plan: &mut Plan) -> Result<(), NetworkError> {
        plan.builder.dragonfly();
        let (a, p) = (self.switches, self.endnodes);
        plan.switches(self.groups * a, p + a - 1 + self.global, |i| Some(i / a))?;
        for group in 0..self.groups {
            for i in 0..a {
                for k in i + 1..a {
                    // A switch has no port to itself: ports to later switches are one lower.
                    plan.cable((group * a + i, p + k), (group * a + k, p + 1 + i))?;
                }
            }
        }
        let others = self.groups - 1;
        let rounds = (a * self.global).checked_div(others).unwrap_or(0);
        for group in 0..self.groups {
            for cable in 0..rounds * others {
                let (base, i) = (cable - cable % others, cable % others);
                let (to, back) = self.peer(group, i);
                if to > group {
                    plan.cable(self.jack(group, cable), self.jack(to, base + back))?;
                }
            }
        }
        plan.endnodes(self.groups * a, p, 1)
    }

    /// The group that cable `i` of a round leads to, and the cable's number there.
    const fn peer(&self, group: u32, i: u32) -> (u32, u32) {
        if self.palm {
            (
                (group + self.groups - 1 - i) % self.groups,
                self.groups - 2 - i,
            )
        } else if i < group {
            (i, group - 1)
        } else {
            (i + 1, group)
        }
    }

    /// Where a group's global cable is plugged in.
    const fn jack(&self, group: u32, cable: u32) -> (u32, u32) {
        let (switch, port) = (cable / self.global, cable % self.global);
        (
            group * self.switches + switch,
            self.endnodes + self.switches + port,
        )
    }
}
