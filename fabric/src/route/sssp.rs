//! SSSP-MC (MC-2, MC-3): trees of shortest paths over weighted cables.

use super::grow::{Mark, join};
use super::heap::Heap;
use super::root::{RootChoice, Roots};
use super::{RouteError, Router};
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{CableId, Link, Network, SwitchId};
use crate::tree::Tree;

/// More than groups that can be on the cables of a path, so that hops count first.
const HOP: u64 = 1 << 32;

/// Where the weights come from.
#[derive(Clone, Debug)]
enum Weights {
    /// The routes of unicast traffic, by cable and end, computed before the first tree, as in OpenSM.
    Unicast(Vec<[u64; 2]>),
    /// The groups on each cable, as the FULB-MC paper words it.
    Groups,
}

/// A Dijkstra from the root.
#[derive(Clone, Debug)]
pub struct Sssp {
    weights: Weights,
    roots: Roots,
    search: Search,
    mark: Mark,
}

impl Sssp {
    /// Weights from unicast routes (MC-2): each cable and direction starts at the square of the number of LIDs; the routes
    /// to every endnode, then to every switch, switches with many endnodes first in both, are computed one after the other and raise
    /// the weights of the links they use.
    /// That is a search for each of them: half a minute for 18,000. `progress` is told how many are done.
    #[must_use]
    pub fn unicast(network: &Network, choice: RootChoice, progress: &mut dyn FnMut(usize)) -> Self {
        let mut search = Search::default();
        let lids = network.endnodes().len() as u64 + u64::from(network.switch_count());
        let mut weights = vec![[lids * lids; 2]; network.cables().len()];
        let endnodes = |s: SwitchId| network.attached(s).len();
        let mut order: Vec<SwitchId> = (0..network.switch_count()).collect();
        order.sort_by_key(|&s| std::cmp::Reverse(endnodes(s)));
        let to_endnodes = order
            .iter()
            .flat_map(|&s| std::iter::repeat_n(Source::endnode(s), endnodes(s)));
        let mut through = vec![0; order.len()];
        let sources = to_endnodes.chain(order.iter().copied().map(Source::switch));
        for (done, source) in sources.enumerate() {
            progress(done);
            search.run(network, source, |at, link| {
                weights[link.cable as usize][end(network, link.cable, at)]
            });
            for &switch in search.order.iter().rev() {
                let Some((from, cable)) = search.from[switch as usize] else {
                    continue;
                };
                let routes =
                    std::mem::take(&mut through[switch as usize]) + endnodes(switch) as u64 + 1;
                weights[cable as usize][end(network, cable, from)] += routes;
                through[from as usize] += routes;
            }
            through[source.switch as usize] = 0;
        }
        Self {
            weights: Weights::Unicast(weights),
            roots: Roots::new(choice),
            search,
            mark: Mark::default(),
        }
    }

    /// The same weights with roots chosen another way: they are the costly part, and do not depend on it.
    #[must_use]
    pub fn with_roots(mut self, choice: RootChoice) -> Self {
        self.roots = Roots::new(choice);
        self
    }

    /// Weights from the groups on each cable (MC-3).
    #[must_use]
    pub fn groups(choice: RootChoice) -> Self {
        Self {
            weights: Weights::Groups,
            roots: Roots::new(choice),
            search: Search::default(),
            mark: Mark::default(),
        }
    }
}

/// Which of a cable's ends a switch is.
fn end(network: &Network, cable: CableId, switch: SwitchId) -> usize {
    usize::from(network.cables()[cable as usize].ends[1].0 == switch)
}

impl Router for Sssp {
    fn name(&self) -> &'static str {
        match (&self.weights, self.roots.choice()) {
            (Weights::Unicast(_), RootChoice::First) => "sssp",
            (Weights::Unicast(_), RootChoice::LeastLoaded) => "sssp-new",
            (Weights::Groups, RootChoice::First) => "sssp-dyn",
            (Weights::Groups, RootChoice::LeastLoaded) => "sssp-dyn-new",
        }
    }

    fn route(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<Tree, RouteError> {
        let (root, _) = self.roots.choose(network, hops, load, members)?;
        match &self.weights {
            Weights::Unicast(weights) => {
                self.search.run(network, Source::switch(root), |at, link| {
                    weights[link.cable as usize][end(network, link.cable, at)]
                });
            }
            Weights::Groups => self.search.run(network, Source::switch(root), |_, link| {
                HOP + u64::from(load.of(link.cable))
            }),
        }
        let from = &self.search.from;
        Ok(join(network, &mut self.mark, root, members, |at| {
            from[at as usize].map(|(_, cable)| cable)
        }))
    }
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
struct Source {
    switch: SwitchId,
    /// It begins at an endnode of the switch.
    is_endnode: bool,
}

impl Source {
    const fn switch(switch: SwitchId) -> Self {
        Self {
            switch,
            is_endnode: false,
        }
    }

    const fn endnode(switch: SwitchId) -> Self {
        Self {
            switch,
            is_endnode: true,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Search {
    heap: Heap,
    distance: Vec<u64>,
    /// By switch: the switch before it, and the cable from there.
    from: Vec<Option<(SwitchId, CableId)>>,
    /// Switches, nearest first.
    order: Vec<SwitchId>,
}

impl Search {
    fn run(&mut self, network: &Network, source: Source, weight: impl Fn(SwitchId, &Link) -> u64) {
        let switches = network.switch_count();
        // An endnode is a vertex too: it goes in last and comes out first, which leaves the others in another order.
        self.heap.fill(switches + u32::from(source.is_endnode));
        if source.is_endnode {
            self.heap.decrease(switches, 0);
            self.heap.pop();
        }
        let source = source.switch;
        self.distance.clear();
        self.distance.resize(switches as usize, u64::MAX);
        self.from.clear();
        self.from.resize(switches as usize, None);
        self.order.clear();
        self.distance[source as usize] = 0;
        self.heap.decrease(source, 0);
        while let Some((distance, at)) = self.heap.pop() {
            if distance == u64::MAX {
                break;
            }
            self.order.push(at);
            for link in network.links(at) {
                let new = distance.saturating_add(weight(at, link));
                if new < self.distance[link.peer as usize] {
                    self.distance[link.peer as usize] = new;
                    self.from[link.peer as usize] = Some((at, link.cable));
                    self.heap.decrease(link.peer, new);
                }
            }
        }
    }
}
