//! The routers by their names on the command line.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use tributary_fabric::route::{Fulb, Minihop, Own, OwnSettings, RootChoice, Sssp};
use tributary_fabric::{Network, Router};

use crate::progress::Progress;

/// A router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// The project's own
    Own,
    /// FULB-MC: least loaded root, least loaded cables upwards
    Fulb,
    /// OpenSM's default
    Minihop,
    /// The same with the least loaded root
    MinihopNew,
    /// OpenSM's for sssp and dfsssp: weights from unicast routes
    Sssp,
    /// The same with the least loaded root
    SsspNew,
    /// Weights from the groups on each cable
    SsspDyn,
    /// The same with the least loaded root
    SsspDynNew,
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether unicast routes come before its first tree.
    pub const fn is_static(self) -> bool {
        matches!(self, Self::Sssp | Self::SsspNew)
    }

    /// Whether every tree is a search over the whole network.
    pub const fn searches(self) -> bool {
        matches!(
            self,
            Self::Sssp | Self::SsspNew | Self::SsspDyn | Self::SsspDynNew
        )
    }
}

/// What can stand in a list of routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every router.
    All,
    /// One of them.
    One(Kind),
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::One(Kind::Own),
            Self::One(Kind::Fulb),
            Self::One(Kind::Minihop),
            Self::One(Kind::MinihopNew),
            Self::One(Kind::Sssp),
            Self::One(Kind::SsspNew),
            Self::One(Kind::SsspDyn),
            Self::One(Kind::SsspDynNew),
            Self::All,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::All => Some(PossibleValue::new("all").help("Every router")),
            Self::One(kind) => kind.to_possible_value(),
        }
    }
}

/// The routers of a list, each once.
pub fn listed(choices: &[Choice]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for choice in choices {
        let more = match choice {
            Choice::All => Kind::value_variants(),
            Choice::One(kind) => std::slice::from_ref(kind),
        };
        for kind in more {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
    }
    kinds
}

/// Makes the routers of one network; the unicast routes of the static ones are computed once.
#[derive(Default)]
pub struct Maker {
    unicast: Option<Sssp>,
    own: OwnSettings,
}

impl Maker {
    /// With these settings of the own router.
    pub fn with(own: OwnSettings) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// A router that has not seen any group yet.
    pub fn make(&mut self, kind: Kind, network: &Network) -> Box<dyn Router> {
        match kind {
            Kind::Own => Box::new(Own::new(self.own)),
            Kind::Fulb => Box::new(Fulb::default()),
            Kind::Minihop => Box::new(Minihop::new(RootChoice::First)),
            Kind::MinihopNew => Box::new(Minihop::new(RootChoice::LeastLoaded)),
            Kind::Sssp => Box::new(self.unicast(network)),
            Kind::SsspNew => Box::new(self.unicast(network).with_roots(RootChoice::LeastLoaded)),
            Kind::SsspDyn => Box::new(Sssp::groups(RootChoice::First)),
            Kind::SsspDynNew => Box::new(Sssp::groups(RootChoice::LeastLoaded)),
        }
    }

    fn unicast(&mut self, network: &Network) -> Sssp {
        let make = || {
            let routes = network.endnodes().len() as u64 + u64::from(network.switch_count());
            let progress = Progress::new(routes, "unicast routes");
            Sssp::unicast(network, RootChoice::First, &mut |done| {
                progress.at(done as u64);
            })
        };
        self.unicast.get_or_insert_with(make).clone()
    }
}
