//! FULB-MC (MC-5).

use super::grow::{Mark, join};
use super::root::{RootChoice, Roots};
use super::{RouteError, Router};
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};
use crate::tree::Tree;

/// FULB-MC of Chen, Zhou, He and Qi: the least loaded root of least height, then from each member up by the least loaded cable.
#[derive(Clone, Debug)]
pub struct Fulb {
    roots: Roots,
    mark: Mark,
}

impl Default for Fulb {
    fn default() -> Self {
        Self {
            roots: Roots::new(RootChoice::LeastLoaded),
            mark: Mark::default(),
        }
    }
}

impl Router for Fulb {
    fn name(&self) -> &'static str {
        "fulb"
    }

    fn route(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<Tree, RouteError> {
        let (root, _) = self.roots.choose(network, hops, load, members)?;
        let row = hops.row(root);
        Ok(join(network, &mut self.mark, root, members, |at| {
            let nearer = network
                .links(at)
                .iter()
                .filter(|link| row.to(link.peer) < row.to(at));
            nearer
                .min_by_key(|link| load.of(link.cable))
                .map(|link| link.cable)
        }))
    }
}
