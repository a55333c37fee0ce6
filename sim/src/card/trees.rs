//! Trees for collectives, made by the manager of a simulated fabric.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tributary_fabric::Leader;
use tributary_fabric::control::Control;
use tributary_host_driver::collective::{Grant, SharedTrees, Trees};

use super::Cluster;

/// Cookies of groups are multiples of this: one for each reduction id.
const COOKIES: u32 = 8;

/// A manager that the hosts of a cluster ask for trees. Whoever tells it of failures has the same [`Control`].
pub struct ClusterTrees {
    cluster: Cluster,
    control: Arc<Mutex<Control>>,
    /// Endnode of the plan by node number.
    endnodes: BTreeMap<u32, u32>,
    /// The next cookie.
    cookie: u32,
    /// Number of the group at the manager, and what was said of its tree last.
    groups: BTreeMap<u64, (usize, Grant)>,
}

impl ClusterTrees {
    /// Trees of a cluster's manager; its cookies begin behind `cookie`.
    #[must_use]
    pub fn shared(cluster: &Cluster, control: &Arc<Mutex<Control>>, cookie: u32) -> SharedTrees {
        let endnodes = cluster.nodes().iter().copied().zip(0..).collect();
        Arc::new(Mutex::new(Self {
            cluster: cluster.clone(),
            control: Arc::clone(control),
            endnodes,
            cookie: cookie / COOKIES * COOKIES,
            groups: BTreeMap::new(),
        }))
    }

    fn next_cookie(&mut self) -> u32 {
        self.cookie = self.cookie.wrapping_add(COOKIES);
        self.cookie
    }
}

impl Trees for ClusterTrees {
    fn plant(&mut self, nodes: &[u32]) -> Result<Grant, String> {
        let members = nodes.iter().map(|node| {
            let endnode = self.endnodes.get(node).copied();
            endnode.ok_or_else(|| format!("node {node} is not on the fabric"))
        });
        let members: Vec<u32> = members.collect::<Result<_, _>>()?;
        let leader = *members.first().ok_or("a group of nobody")?;
        let leader = Leader::contributing(leader);
        let control = Arc::clone(&self.control);
        let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
        let made = (self.cluster).with(|sim| control.add_group(&members, leader, sim));
        let made = made.ok_or("the fabric is gone")?;
        let number = made.map_err(|error| error.to_string())?;
        let tree = control.tell(number).ok_or("the group has no tree")?;
        let grant = Grant {
            group: number as u64,
            tree,
            cookie: self.next_cookie(),
        };
        self.groups.insert(grant.group, (number, grant));
        Ok(grant)
    }

    fn current(&mut self, group: u64) -> Option<Grant> {
        let (number, said) = *self.groups.get(&group)?;
        let control = Arc::clone(&self.control);
        let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = control.tell(number)?;
        if tree == said.tree {
            return Some(said);
        }
        let grant = Grant {
            tree,
            cookie: self.next_cookie(),
            ..said
        };
        self.groups.insert(group, (number, grant));
        Some(grant)
    }

    fn moved(&mut self, group: u64, tree: u16) {
        let Some((number, _)) = self.groups.get(&group) else {
            return;
        };
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // It fails for nothing that a group can say.
        let _ = control.moved(*number, tree);
    }

    fn uproot(&mut self, group: u64) {
        let Some((number, _)) = self.groups.remove(&group) else {
            return;
        };
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // Entries at a switch that does not answer are cleared by the next mend.
        let _ = (self.cluster).with(|sim| control.remove_group(number, sim));
    }
}
