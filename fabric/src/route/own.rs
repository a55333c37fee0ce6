//! The project's own router (MC-6).
//!
//! First every group gets a tree, one after the other: of the switches that give it the least height, a few roots are
//! tried ([`roots`]) and under each a tree is grown by cheapest paths ([`search`]), where a cable costs the more the
//! nearer its load is to the highest so far. Members near the root join first, so that those behind them find a branch to join.
//! Then the fullest cables are relieved one by one ([`improve`]): a tree that uses one is grown anew, now with
//! detours as far as its height allows, and stays if no more of its cables are full.
//! Relief ends at the lower bound, when nothing helps any more, or when it has cost a set multiple of the first step.
//!
//! A tree that has lost a cable keeps its branches, which join it anew ([`repair`]). Only where that would make a cable fuller than any was
//! before is a tree from scratch tried, and taken if it does not.

mod global;
mod improve;
mod repair;
mod roots;
mod search;
mod stars;

use global::OneGlobal;
use improve::Until;
use repair::Remains;
use roots::Candidates;
use search::{Costs, Failure, Limits, Search};

use super::{RouteError, Router, each};
use crate::bound::quick_bound;
use crate::group::Group;
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};
use crate::tree::Tree;

/// What a cable costs when it carries nothing.
const CABLE: u32 = 8;
/// What it costs more when it carries as much as the fullest; an eighth of that when it carries one less.
const FULL: u32 = 24;

/// What a cable costs for a single tree that would make it fuller than any.
const TOO_FULL: u32 = 1 << 12;
/// Most roots that are tried for a single tree, and about the most work, in links looked at.
const ROOTS_MAX: usize = 64;
const SINGLE_WORK: u64 = 1 << 18;
/// The same where a cable failed, and others wait for their trees.
const MEND_WORK: u64 = 1 << 17;

/// How hard it tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnSettings {
    /// Roots under which a tree is grown, of which the best stays, 1 to 1,024; more while relieving full cables.
    pub roots: usize,
    /// Work of relieving full cables, at most, in multiples of that of the first trees; 0: none.
    pub effort: u32,
}

impl Default for OwnSettings {
    /// 2 roots, effort 16.
    fn default() -> Self {
        Self {
            roots: 2,
            effort: 16,
        }
    }
}

/// The project's own router.
///
/// ```
/// use tributary_fabric::route::{Own, OwnSettings};
/// use tributary_fabric::{Group, HopTable, Load, Router, topology::Topology};
///
/// let network = "ft3:8".parse::<Topology>()?.build()?;
/// let hops = HopTable::new(&network)?;
/// let groups = [Group::new(&network, [0, 40, 90])?, Group::new(&network, [1, 41, 91])?];
/// let mut load = Load::new(&network);
/// let mut router = Own::new(OwnSettings::default());
/// let trees = router.route_all(&network, &hops, &mut load, &groups, &mut |_| ())?;
/// assert_eq!(load.max(), 1);
/// assert!(trees.iter().flatten().all(|tree| tree.height == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Own {
    settings: OwnSettings,
    search: Search,
    costs: Costs,
    candidates: Candidates,
    centers: Vec<SwitchId>,
    order: Vec<SwitchId>,
    remains: Remains,
    one_global: OneGlobal,
}

/// What trees are grown on.
#[derive(Clone, Copy)]
struct Ground<'a> {
    network: &'a Network,
    hops: &'a HopTable,
    load: &'a Load,
}

/// Which paths members may take to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paths {
    /// Towards the root with every cable.
    Shortest,
    /// Any that keep the tree low enough; if a member finds none, towards the root.
    Any,
}

impl Own {
    /// One that tries so hard.
    #[must_use]
    pub fn new(settings: OwnSettings) -> Self {
        let roots = settings.roots.clamp(1, 1024);
        Self {
            settings: OwnSettings { roots, ..settings },
            ..Self::default()
        }
    }

    /// The cheapest of the trees of least height under some roots.
    fn cheapest(
        &mut self,
        ground: Ground<'_>,
        members: &[SwitchId],
        roots: usize,
        paths: Paths,
    ) -> Result<Tree, RouteError> {
        let unreachable = || RouteError::unreachable(ground.network, members);
        let height = ground
            .hops
            .centers(members, &mut self.centers)
            .ok_or_else(unreachable)?;
        self.candidates.pick(
            ground.network,
            ground.hops,
            ground.load,
            &mut self.centers,
            roots,
        );
        let mut best: Option<(u64, Tree)> = None;
        for i in 0..self.centers.len() {
            let root = self.centers[i];
            let cheaper_than = best.as_ref().map_or(u64::MAX, |&(cost, _)| cost);
            let limits = Limits {
                root,
                row: ground.hops.row(root),
                height,
                strict: false,
                one_global: ground.network.is_dragonfly(),
                cheaper_than,
            };
            if let Ok(cost) = self.under(ground, limits, members, paths) {
                best = Some((cost, self.search.tree(root)));
            }
        }
        best.map(|(_, tree)| tree).ok_or_else(unreachable)
    }

    /// The tree under one root: with fewer choices only where more lead into a dead end.
    fn under(
        &mut self,
        ground: Ground<'_>,
        limits: Limits<'_>,
        members: &[SwitchId],
        paths: Paths,
    ) -> Result<u64, Failure> {
        let row = limits.row;
        self.order.clear();
        self.order.extend_from_slice(members);
        self.order.sort_by_key(|&member| row.to(member));
        let Self {
            search,
            costs,
            order,
            one_global,
            ..
        } = self;
        let mut grow = |limits: Limits<'_>| search.grow(ground, limits, order, costs);
        let mut grown = Err(Failure::NoPath);
        // Some of the shortest paths on a dragonfly have two global cables, so these alone are no choice there.
        if paths == Paths::Any || limits.one_global {
            grown = grow(limits);
        }
        if grown == Err(Failure::NoPath) && limits.one_global {
            let row = one_global.row(ground.network, limits.root);
            if members
                .iter()
                .all(|&member| row.to(member) <= limits.height)
            {
                grown = grow(Limits {
                    row,
                    strict: true,
                    ..limits
                });
            }
        }
        if grown == Err(Failure::NoPath) {
            grown = grow(Limits {
                strict: true,
                one_global: false,
                ..limits
            });
        }
        grown
    }

    /// A tree for one group, with about so much work.
    fn single(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
        work: u64,
    ) -> Result<Tree, RouteError> {
        let most = load.max();
        self.price_alone(most);
        let ground = Ground {
            network,
            hops,
            load,
        };
        let before = self.search.work();
        // Shortest paths alone are found in a sixth of the time, on tori, and are mostly good enough.
        let mut tree = self.cheapest(ground, members, 2 * self.settings.roots, Paths::Shortest)?;
        let mut roots = 1;
        while most > 0 && tree.cables().any(|cable| load.of(cable) == most) {
            let spent = self.search.work() - before;
            if roots > ROOTS_MAX || 4 * spent > work {
                break;
            }
            tree = self.cheapest(ground, members, roots, Paths::Any)?;
            roots *= 4;
        }
        Ok(tree)
    }

    /// Prices for a single tree, which has no later relief: what makes a cable fuller than any is avoided at almost any price.
    fn price_alone(&mut self, most: u32) {
        self.costs.set(most, |load| match most - load {
            0 => TOO_FULL,
            1 => 2 * FULL,
            _ => CABLE + CABLE * load / (most + 1),
        });
    }

    /// Prices when no cable carries more than `most`.
    fn price(&mut self, most: u32) {
        self.costs.set(most, |load| {
            let near_full = FULL.checked_shr(3 * (most - load)).unwrap_or(0);
            CABLE + near_full + CABLE * load / (2 * (most + 1))
        });
    }
}

impl Router for Own {
    fn name(&self) -> &'static str {
        "own"
    }

    fn route(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<Tree, RouteError> {
        self.single(network, hops, load, members, SINGLE_WORK)
    }

    fn reroute(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
        old: &Tree,
    ) -> Result<Tree, RouteError> {
        let ground = Ground {
            network,
            hops,
            load,
        };
        // The old tree counts here: the mended one may make other cables as full as the fullest was, and no fuller.
        let before = old.cables().map(|cable| load.of(cable) + 1).max();
        let most = load.max().max(before.unwrap_or(0));
        self.price_alone(most);
        match self.mend(ground, members, old, most) {
            Some((mended, true)) => Ok(mended),
            None => self.single(network, hops, load, members, MEND_WORK),
            Some((mended, false)) => {
                let new = self.single(network, hops, load, members, MEND_WORK)?;
                let fuller = new.cables().any(|cable| load.of(cable) >= most);
                Ok(if fuller { mended } else { new })
            }
        }
    }

    fn route_all(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &mut Load,
        groups: &[Group],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<Tree>>, RouteError> {
        let before = self.search.work();
        let mut priced = None;
        let mut trees = each(load, groups, progress, |load, members| {
            let most = load.max();
            if priced != Some(most) {
                self.price(most);
                priced = Some(most);
            }
            let ground = Ground {
                network,
                hops,
                load,
            };
            self.cheapest(ground, members, self.settings.roots, Paths::Shortest)
        })?;
        let work = (self.search.work() - before).max(improve::LEAST_WORK);
        let mut work = work.saturating_mul(self.settings.effort.into());
        let bound = quick_bound(network, groups);
        if network.is_dragonfly() && load.max() > bound && work > 0 {
            let limits = stars::Limits {
                load: bound,
                work: work / 2,
            };
            work -= work.min(stars::settle(network, load, groups, &mut trees, limits));
        }
        let until = Until { load: bound, work };
        self.improve(network, hops, load, groups, &mut trees, until);
        Ok(trees)
    }
}
