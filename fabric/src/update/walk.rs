//! Frames sent through the tables as they stand: who gets them, and whether one goes round in a circle.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use thiserror::Error;

use super::Tables;
use crate::group::Group;
use crate::ids::TreeId;
use crate::network::{EndnodeId, Network, Port, SwitchId};

/// What must never happen, however far an update has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A frame comes back to where it was.
    #[error("frames of endnode {from} on tree {id} loop at switch {switch}")]
    Loop {
        /// Sender.
        from: EndnodeId,
        /// Its tree.
        id: TreeId,
        /// A switch of the loop.
        switch: SwitchId,
    },
    /// A frame arrives more than once.
    #[error("frames of endnode {from} on tree {id} reach endnode {to} {times} times")]
    Duplicate {
        /// Sender.
        from: EndnodeId,
        /// Its tree.
        id: TreeId,
        /// Receiver.
        to: EndnodeId,
        /// How often.
        times: u32,
    },
    /// A frame arrives where it does not belong.
    #[error("frames of endnode {from} on tree {id} reach endnode {to}, who must not have them")]
    WrongReceiver {
        /// Sender.
        from: EndnodeId,
        /// Its tree.
        id: TreeId,
        /// Receiver.
        to: EndnodeId,
    },
}

/// Where a copy of a frame ended without a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The switch has no entry for the tree.
    NoEntry(SwitchId),
    /// The entry has neither parent nor child at the port of entry.
    BadEntry(SwitchId, Port),
    /// Nothing works behind the port.
    NoCable(SwitchId, Port),
}

/// What became of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// How often each endnode got it.
    pub received: BTreeMap<EndnodeId, u32>,
    /// A switch at which it came round again; it is not followed further there.
    pub looped: Option<SwitchId>,
    /// Copies that were dropped.
    pub lost: Vec<Lost>,
}

/// Copies of one frame at which a walk gives up and calls it a loop; a tree makes no more than it has switches.
const STORM: u32 = 1 << 20;

/// A copy that is about to enter a switch, or marks that all copies of it are done.
enum Step {
    Enter(SwitchId, Port),
    Done(SwitchId, Port),
}

/// Sends a frame on a tree; an endnode that does not exist sends nothing.
#[must_use]
pub fn send(network: &Network, tables: &Tables, id: TreeId, from: EndnodeId) -> Walk {
    let mut walk = Walk::default();
    let Some(sender) = network.endnodes().get(from as usize) else {
        return walk;
    };
    let mut open = vec![Step::Enter(sender.at.0, sender.at.1)];
    // Entries of switches that the frame has passed: true while copies made there are still on their way.
    let mut copies = 0u32;
    let mut passed: HashMap<(SwitchId, Port), bool> = HashMap::new();
    while let Some(step) = open.pop() {
        let (switch, port) = match step {
            Step::Enter(switch, port) => (switch, port),
            Step::Done(switch, port) => {
                passed.insert((switch, port), false);
                continue;
            }
        };
        copies += 1;
        // A copy that is not the first here is followed too: its receivers get it twice.
        if passed.insert((switch, port), true) == Some(true) || copies > STORM {
            walk.looped = Some(switch);
            continue;
        }
        open.push(Step::Done(switch, port));
        let Some(entry) = tables.get(switch, id) else {
            walk.lost.push(Lost::NoEntry(switch));
            continue;
        };
        let bit = |port: Port| 1u64.checked_shl(u32::from(port) - 1).unwrap_or(0);
        let parent = Port::from(entry.parent) + 1;
        let out = if port == parent {
            entry.children & !bit(port)
        } else if entry.children & bit(port) != 0 {
            bit(parent)
        } else {
            walk.lost.push(Lost::BadEntry(switch, port));
            continue;
        };
        if out == 0 && port != parent {
            walk.lost.push(Lost::NoCable(switch, parent));
        }
        for port in (1..=64).filter(|&p| out & bit(p) != 0) {
            if let Some(link) = network.links(switch).iter().find(|l| l.port == port) {
                open.push(Step::Enter(link.peer, link.peer_port));
            } else if let Some(&to) = network
                .attached(switch)
                .iter()
                .find(|&&e| network.endnodes()[e as usize].at.1 == port)
            {
                *walk.received.entry(to).or_default() += 1;
            } else {
                walk.lost.push(Lost::NoCable(switch, port));
            }
        }
    }
    walk
}

/// Who hears whom in a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Members that the leader's frames reach.
    pub down: BTreeSet<EndnodeId>,
    /// Members whose frames reach the leader.
    pub up: BTreeSet<EndnodeId>,
}

impl Survey {
    /// Whether everyone hears and is heard.
    #[must_use]
    pub fn is_whole(&self, group: &Group) -> bool {
        let others = group.endnodes().len().saturating_sub(1);
        self.down.len() == others && self.up.len() == others
    }

    /// Whether nobody of `before` has lost anything.
    #[must_use]
    pub fn keeps(&self, before: &Self) -> bool {
        self.down.is_superset(&before.down) && self.up.is_superset(&before.up)
    }
}

/// Sends a frame from the leader and one from every other member.
///
/// # Errors
/// A frame loops, arrives twice, or at someone whom it is not for.
pub fn survey(
    network: &Network,
    tables: &Tables,
    id: TreeId,
    group: &Group,
    leader: EndnodeId,
) -> Result<Survey, Fault> {
    let mut survey = Survey::default();
    for &from in group.endnodes() {
        let walk = send(network, tables, id, from);
        if let Some(switch) = walk.looped {
            return Err(Fault::Loop { from, id, switch });
        }
        for (to, times) in walk.received {
            let right = if from == leader {
                to != leader && group.endnodes().binary_search(&to).is_ok()
            } else {
                to == leader
            };
            if !right {
                return Err(Fault::WrongReceiver { from, id, to });
            }
            if times > 1 {
                return Err(Fault::Duplicate {
                    from,
                    id,
                    to,
                    times,
                });
            }
            if from == leader {
                survey.down.insert(to);
            } else {
                survey.up.insert(from);
            }
        }
    }
    Ok(survey)
}
