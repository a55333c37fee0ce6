//! MINIHOP-MC (MC-1): what OpenSM does unless told otherwise.

use super::root::{RootChoice, Roots};
use super::{RouteError, Router};
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};
use crate::tree::{Tree, TreeHop};

/// From the root down, every member by the lowest port on a shortest path to it.
#[derive(Clone, Debug)]
pub struct Minihop {
    roots: Roots,
}

impl Minihop {
    /// With roots chosen this way: [`RootChoice::First`] is OpenSM's, [`RootChoice::LeastLoaded`] is MINIHOP-new (MC-4).
    #[must_use]
    pub fn new(choice: RootChoice) -> Self {
        Self {
            roots: Roots::new(choice),
        }
    }
}

impl Router for Minihop {
    fn name(&self) -> &'static str {
        match self.roots.choice() {
            RootChoice::First => "minihop",
            RootChoice::LeastLoaded => "minihop-new",
        }
    }

    fn route(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<Tree, RouteError> {
        let (root, height) = self.roots.choose(network, hops, load, members)?;
        let mut tree = Vec::new();
        let mut open = vec![(root, members.to_vec())];
        while let Some((at, members)) = open.pop() {
            let links = network.links(at);
            let mut below: Vec<Vec<SwitchId>> = vec![Vec::new(); links.len()];
            for member in members {
                let row = hops.row(member);
                let far = row.to(at);
                if let Some(way) = links
                    .iter()
                    .position(|link| far > 0 && row.to(link.peer) == far - 1)
                {
                    below[way].push(member);
                }
            }
            for (link, members) in links.iter().zip(below) {
                if !members.is_empty() {
                    tree.push(TreeHop {
                        child: link.peer,
                        cable: link.cable,
                    });
                    open.push((link.peer, members));
                }
            }
        }
        Ok(Tree {
            root,
            height: height.into(),
            hops: tree.into(),
        })
    }
}
