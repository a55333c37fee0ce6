//! Roots of trees on a dragonfly, all of them weighed.
//!
//! A tree that crosses one global cable to a member (MC-11) and is no higher than three cables is nearly fixed by its root: the root's
//! neighbours in its group, one global cable to each group with members, and from its end the neighbours there that are members. So what
//! a root costs is a sum over known cables, and every root can be weighed. Trees move, one after the other, to the root that costs least,
//! until none does. A cable costs several times as much as one that carries a group less, so few groups more on a full cable outweigh many on
//! empty ones, and the sum over all cables falls with every move.

use std::iter::successors;

use crate::group::Group;
use crate::load::Load;
use crate::network::{CableId, Network, SwitchId};
use crate::tree::{Tree, TreeHop};

/// Height of the trees that are weighed: lower ones belong to groups that leave fewer choices.
const HEIGHT: u16 = 3;
/// How many tenths of the price of one that carries a group less a cable costs: mildly at first, so that loads even out everywhere, then such
/// that the fullest count most.
const FACTORS: [u64; 7] = [13, 16, 20, 25, 30, 40, 60];
/// What a cable costs that carries so many groups less than the fullest, or more than so many.
const CABLE: u64 = 64;
const RANGE: u32 = 16;
/// Prices end at one group more than the fullest has, such that sums do not overflow.
const PRICES: usize = RANGE as usize + 2;
const NONE: u32 = u32::MAX;

/// When to stop at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// No cable carries more.
    pub load: u32,
    /// So many prices were looked at.
    pub work: u64,
}

/// A global cable, seen from the group at its near end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gate {
    from: u32,
    to: u32,
    cable: CableId,
    near: SwitchId,
    far: SwitchId,
}

/// A dragonfly, laid out for sums.
struct Stars<'a> {
    network: &'a Network,
    /// Switches by dragonfly group, and where each group begins.
    switches: Vec<SwitchId>,
    first: Vec<usize>,
    /// By switch: its place in its group.
    place: Vec<usize>,
    /// By group: where its cables between switches begin, place by place.
    square: Vec<usize>,
    local: Vec<CableId>,
    gates: Vec<Gate>,
    gates_of: Vec<usize>,
    /// By cable, for one tree more on it.
    price: Vec<u64>,
    /// Prices from the cheapest on.
    by_load: Vec<u64>,
    /// Groups on the fullest cable of those that cost least.
    cheap: u32,
    work: u64,
}

/// A root, its sum, and the global cables that go with it.
struct Choice {
    cost: u64,
    root: SwitchId,
    gates: Vec<Gate>,
}

/// Moves trees of groups to other roots until that helps no more or a limit is met; returns the work. The most groups on a cable never
/// become more.
pub fn settle(
    network: &Network,
    load: &mut Load,
    groups: &[Group],
    trees: &mut [Option<Tree>],
    limits: Limits,
) -> u64 {
    let before = load.max();
    // The sum may fall while the fullest cable gets another group.
    let old: Vec<Option<Tree>> = trees.to_vec();
    let mut stars = Stars::new(network);
    let mut factors = FACTORS.into_iter();
    let mut moved = false;
    'passes: while load.max() > limits.load {
        if !moved {
            let Some(factor) = factors.next() else { break };
            stars.set(factor, load);
        }
        moved = false;
        for (group, slot) in groups.iter().zip(trees.iter_mut()) {
            let Some(tree) = slot.take_if(|tree| tree.height == HEIGHT) else {
                continue;
            };
            load.remove(&tree);
            stars.reprice(load, &tree);
            let new = stars.better(group.switches(), &tree);
            moved |= new.is_some();
            let tree = new.unwrap_or(tree);
            load.add(&tree);
            stars.reprice(load, &tree);
            *slot = Some(tree);
            if stars.work > limits.work {
                break 'passes;
            }
        }
    }
    if load.max() > before {
        for (slot, old) in trees.iter_mut().zip(old) {
            slot.iter().for_each(|tree| load.remove(tree));
            old.iter().for_each(|tree| load.add(tree));
            *slot = old;
        }
    }
    stars.work
}

impl<'a> Stars<'a> {
    fn new(network: &'a Network) -> Self {
        let blocks = network.blocks();
        let mut switches: Vec<SwitchId> = (0..network.switch_count()).collect();
        switches.sort_by_key(|&switch| blocks[switch as usize]);
        let count = blocks.iter().max().map_or(0, |&last| last as usize + 1);
        let first: Vec<usize> = (0..=count)
            .map(|block| switches.partition_point(|&s| (blocks[s as usize] as usize) < block))
            .collect();
        let mut place = vec![0; switches.len()];
        for (at, &switch) in switches.iter().enumerate() {
            place[switch as usize] = at - first[blocks[switch as usize] as usize];
        }
        let mut square = vec![0];
        for ends in first.windows(2) {
            let size = ends[1] - ends[0];
            square.push(square[square.len() - 1] + size * size);
        }
        let mut local = vec![NONE; square[count]];
        let mut gates = Vec::new();
        for near in 0..network.switch_count() {
            let from = blocks[near as usize];
            let size = first[from as usize + 1] - first[from as usize];
            for link in network.links(near) {
                let (far, to) = (link.peer, blocks[link.peer as usize]);
                if from == to {
                    let at = place[near as usize] * size + place[far as usize];
                    local[square[from as usize] + at] = link.cable;
                } else {
                    gates.push(Gate {
                        from,
                        to,
                        cable: link.cable,
                        near,
                        far,
                    });
                }
            }
        }
        gates.sort_unstable();
        let gates_of = (0..=count as u32)
            .map(|block| gates.partition_point(|gate| gate.from < block))
            .collect();
        Self {
            network,
            switches,
            first,
            place,
            square,
            local,
            gates,
            gates_of,
            price: Vec::new(),
            by_load: Vec::new(),
            cheap: 0,
            work: 0,
        }
    }

    /// Prices everything anew, with so many tenths for each group more.
    fn set(&mut self, factor: u64, load: &Load) {
        let prices = successors(Some(CABLE), |price| Some(price * factor / 10));
        self.by_load = prices.take(PRICES).collect();
        self.cheap = load.max().saturating_sub(RANGE);
        self.price = load.efi().iter().map(|&efi| self.at(efi)).collect();
    }

    /// The price at a load.
    fn at(&self, load: u32) -> u64 {
        let above = load.saturating_sub(self.cheap) as usize;
        self.by_load[above.min(PRICES - 1)]
    }

    /// Brings the prices up to date after this tree came or went.
    fn reprice(&mut self, load: &Load, tree: &Tree) {
        for cable in tree.cables() {
            self.price[cable as usize] = self.at(load.of(cable));
        }
    }

    /// The cable between two switches of a group, if there is one.
    fn local(&self, a: SwitchId, b: SwitchId) -> Option<CableId> {
        let block = self.network.blocks()[a as usize] as usize;
        let size = self.first[block + 1] - self.first[block];
        let at = self.place[a as usize] * size + self.place[b as usize];
        let cable = self.local[self.square[block] + at];
        (cable != NONE).then_some(cable)
    }

    /// What the cables from a switch to others of its group cost; none if one of them is missing.
    fn spread(&self, from: SwitchId, to: &[SwitchId]) -> Option<u64> {
        let others = to.iter().filter(|&&s| s != from);
        others
            .map(|&s| Some(self.price[self.local(from, s)? as usize]))
            .sum()
    }

    /// A tree of a group that costs less than its old one, which is out of the load.
    fn better(&mut self, members: &[SwitchId], old: &Tree) -> Option<Tree> {
        let blocks = self.network.blocks();
        let mut members = members.to_vec();
        members.sort_by_key(|&member| blocks[member as usize]);
        let parts: Vec<&[SwitchId]> = members
            .chunk_by(|&a, &b| blocks[a as usize] == blocks[b as usize])
            .collect();
        let mut best = Choice {
            cost: old.cables().map(|cable| self.price[cable as usize]).sum(),
            root: NONE,
            gates: Vec::new(),
        };
        for block in 0..self.first.len() - 1 {
            self.weigh(block, &parts, &mut best);
        }
        (best.root != NONE).then(|| self.tree(&parts, &best))
    }

    /// Roots in one dragonfly group, against the best one so far.
    fn weigh(&mut self, block: usize, parts: &[&[SwitchId]], best: &mut Choice) {
        let mut cost = 0;
        let mut gates = Vec::with_capacity(parts.len());
        let mut near = Vec::new();
        let all = &self.gates[self.gates_of[block]..self.gates_of[block + 1]];
        let mut work = 0;
        for part in parts {
            let there = self.network.blocks()[part[0] as usize];
            if there as usize == block {
                near.extend_from_slice(part);
                continue;
            }
            let start = all.partition_point(|gate| gate.to < there);
            let between = all[start..].iter().take_while(|gate| gate.to == there);
            let costs = between.filter_map(|gate| {
                work += 1 + part.len() as u64;
                let here = self.price[gate.cable as usize];
                Some((here + self.spread(gate.far, part)?, gate))
            });
            let Some((least, &gate)) = costs.min() else {
                self.work += work;
                return;
            };
            cost += least;
            if cost >= best.cost {
                self.work += work;
                return;
            }
            near.push(gate.near);
            gates.push(gate);
        }
        near.sort_unstable();
        near.dedup();
        for &root in &self.switches[self.first[block]..self.first[block + 1]] {
            work += near.len() as u64;
            let Some(spread) = self.spread(root, &near) else {
                continue;
            };
            if cost + spread < best.cost {
                best.cost = cost + spread;
                best.root = root;
                best.gates.clone_from(&gates);
            }
        }
        self.work += work;
    }

    /// The tree of a choice.
    fn tree(&self, parts: &[&[SwitchId]], choice: &Choice) -> Tree {
        let root = choice.root;
        let block = |switch: SwitchId| self.network.blocks()[switch as usize];
        let mut hops = Vec::new();
        let mut hang = |parent: SwitchId, child: SwitchId| {
            let cable = self.local(parent, child).filter(|_| parent != child);
            hops.extend(cable.map(|cable| TreeHop { child, cable }));
        };
        let mut near: Vec<SwitchId> = choice.gates.iter().map(|gate| gate.near).collect();
        let here = parts.iter().find(|part| block(part[0]) == block(root));
        near.extend(here.into_iter().copied().flatten());
        near.sort_unstable();
        near.dedup();
        near.iter().for_each(|&child| hang(root, child));
        for gate in &choice.gates {
            hops.push(TreeHop {
                child: gate.far,
                cable: gate.cable,
            });
            let part = parts.iter().find(|part| block(part[0]) == gate.to);
            for &child in part.into_iter().copied().flatten() {
                let cable = self.local(gate.far, child).filter(|_| gate.far != child);
                hops.extend(cable.map(|cable| TreeHop { child, cable }));
            }
        }
        Tree::from_hops(self.network, root, hops)
    }
}
