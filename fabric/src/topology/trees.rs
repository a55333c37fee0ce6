//! Topologies with levels.

use super::Plan;
use crate::network::NetworkError;

/// Leaf and middle switches of a supernode, each; also endnodes of a leaf.
const SIXTEEN: u32 = 16;
/// Up cables of a middle switch.
const UP: u32 = 4;
/// Up cables of a supernode.
pub(super) const SUPERNODE_UP: u32 = SIXTEEN * UP;
/// Endnodes of a supernode.
pub(super) const SUPERNODE_ENDNODES: u32 = SIXTEEN * SIXTEEN;
/// Line chips of a director, and ports of each that lead outside.
const LINES: u32 = 18;
/// Ports of a director that lead outside.
pub(super) const DIRECTOR_PORTS: u32 = LINES * LINES;
/// Most spine chips: ports of a line chip that lead inside.
pub(super) const SPINES_MAX: u32 = 18;
/// Ports of the chips of all these machines.
const CHIP_PORTS: u32 = 36;

pub(super) fn fat_tree(plan: &mut Plan, ports: u32) -> Result<(), NetworkError> {
    let half = ports / 2;
    let (leaves, pods) = (ports * half, ports);
    plan.switches(leaves, ports, |i| Some(i / half))?;
    plan.switches(leaves, ports, |i| Some(i / half))?;
    plan.switches(half * half, ports, |_| None)?;
    for pod in 0..pods {
        let leaf = |i: u32| pod * half + i;
        let middle = |i: u32| leaves + pod * half + i;
        for i in 0..half {
            for m in 0..half {
                plan.cable((leaf(i), half + 1 + m), (middle(m), i + 1))?;
            }
        }
        for m in 0..half {
            for up in 0..half {
                let top = 2 * leaves + m * half + up;
                plan.cable((middle(m), half + 1 + up), (top, pod + 1))?;
            }
        }
    }
    plan.endnodes(leaves, half, 1)
}

pub(super) fn leaf_spine(
    plan: &mut Plan,
    leaves: u32,
    spines: u32,
    endnodes: u32,
) -> Result<(), NetworkError> {
    plan.switches(leaves, endnodes + spines, |_| None)?;
    plan.switches(spines, leaves, |_| None)?;
    for leaf in 0..leaves {
        for spine in 0..spines {
            plan.cable((leaf, endnodes + 1 + spine), (leaves + spine, leaf + 1))?;
        }
    }
    plan.endnodes(leaves, endnodes, 1)
}

/// Supernodes under directors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Supernodes {
    pub supernodes: u32,
    /// Divides the up cables of a supernode.
    pub directors: u32,
    /// Spine chips of a director.
    pub spines: u32,
}

impl Supernodes {
    pub(super) const fn switches(&self) -> u64 {
        self.supernodes as u64 * 2 * SIXTEEN as u64
            + self.directors as u64 * (LINES + self.spines) as u64
    }

    pub(super) fn build(&self, plan: &mut Plan) -> Result<(), NetworkError> {
        let leaves = self.supernodes * SIXTEEN;
        let lines = 2 * leaves;
        let spines = lines + self.directors * LINES;
        let each = SUPERNODE_UP / self.directors;
        let director = |chip: u32| Some(self.supernodes + chip);
        plan.switches(leaves, CHIP_PORTS, |i| Some(i / SIXTEEN))?;
        plan.switches(leaves, CHIP_PORTS, |i| Some(i / SIXTEEN))?;
        plan.switches(self.directors * LINES, CHIP_PORTS, |i| director(i / LINES))?;
        plan.switches(self.directors * self.spines, CHIP_PORTS, |i| {
            director(i / self.spines)
        })?;
        for supernode in 0..self.supernodes {
            let leaf = |i: u32| supernode * SIXTEEN + i;
            let middle = |m: u32| leaves + supernode * SIXTEEN + m;
            for i in 0..SIXTEEN {
                for m in 0..SIXTEEN {
                    plan.cable((leaf(i), SIXTEEN + 1 + m), (middle(m), i + 1))?;
                }
            }
            for up in 0..SUPERNODE_UP {
                let director = up % self.directors;
                let outer = supernode * each + up / self.directors;
                let line = lines + director * LINES + outer / LINES;
                let port = SIXTEEN + 1 + up % UP;
                plan.cable((middle(up / UP), port), (line, outer % LINES + 1))?;
            }
        }
        for director in 0..self.directors {
            for line in 0..LINES {
                for spine in 0..self.spines {
                    plan.cable(
                        (lines + director * LINES + line, LINES + 1 + spine),
                        (spines + director * self.spines + spine, line + 1),
                    )?;
                }
            }
        }
        plan.endnodes(leaves, SIXTEEN, 1)
    }
}
