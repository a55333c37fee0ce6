//! The choice of a tree's root among the switches that give it the least height.

use super::RouteError;
use crate::hops::HopTable;
use crate::load::Load;
use crate::network::{Network, SwitchId};

/// Which of the switches of least height becomes the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootChoice {
    /// The first in table order, as in OpenSM.
    First,
    /// The one at which the fewest trees are rooted, ties in table order (MC-4).
    LeastLoaded,
}

/// Chooses roots.
#[derive(Clone, Debug)]
pub struct Roots {
    choice: RootChoice,
    centers: Vec<SwitchId>,
}

impl Roots {
    pub const fn new(choice: RootChoice) -> Self {
        Self {
            choice,
            centers: Vec::new(),
        }
    }

    pub const fn choice(&self) -> RootChoice {
        self.choice
    }

    /// The root and the height of a tree over these switches.
    pub fn choose(
        &mut self,
        network: &Network,
        hops: &HopTable,
        load: &Load,
        members: &[SwitchId],
    ) -> Result<(SwitchId, u8), RouteError> {
        let height = hops
            .centers(members, &mut self.centers)
            .ok_or_else(|| RouteError::unreachable(network, members))?;
        let root = match self.choice {
            RootChoice::First => self.centers.first().copied(),
            RootChoice::LeastLoaded => {
                let rooted = |&s: &SwitchId| load.rooted(s);
                self.centers.iter().copied().min_by_key(rooted)
            }
        };
        let root = root.ok_or_else(|| RouteError::unreachable(network, members))?;
        Ok((root, height))
    }
}
