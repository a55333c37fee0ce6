//! Multicast trees: entries from the cabling, and checks of entries that are given.

use std::collections::{BTreeMap, BTreeSet};

use tributary_protocol::red::Tree;

use super::check::{Cabling, Item, Problem};
use super::describe::{Fabric, Place, TreeSpec};
use super::routes::distances;

/// Entries of a tree, by switch.
pub type Entries = BTreeMap<usize, Tree>;

/// The entries of every tree of a fabric, in the order of its trees: derived, or given and checked.
///
/// # Errors
/// The first tree that is none, or that has the number of another on one of its switches.
pub fn all(fabric: &Fabric, cabling: &Cabling) -> Result<Vec<Entries>, Problem> {
    let mut taken = BTreeSet::new();
    let trees = fabric.trees.iter().enumerate();
    trees
        .map(|(index, tree)| {
            let entries = one(fabric, cabling, index)?;
            let twice = entries.keys().find(|&&s| !taken.insert((tree.id, s)));
            twice.map_or(Ok(()), |&switch| {
                let (id, name) = (tree.id, &fabric.switches[switch].name);
                let reason = format!("tree {id} is there twice, and {name} is in both");
                Err(Problem::new(Item::Tree(index), reason))
            })?;
            Ok(entries)
        })
        .collect()
}

/// The entries of a tree of a fabric, by its index: derived, or given and checked.
///
/// # Errors
/// It is no tree.
pub(super) fn one(fabric: &Fabric, cabling: &Cabling, index: usize) -> Result<Entries, Problem> {
    let tree = &fabric.trees[index];
    members(fabric, index, tree)?;
    if tree.entries.is_empty() {
        derive(fabric, cabling, index, tree)
    } else {
        Walk::new(fabric, cabling, index, tree)?.run()
    }
}

fn members(fabric: &Fabric, index: usize, tree: &TreeSpec) -> Result<(), Problem> {
    let wrong = |reason: String| Err(Problem::new(Item::Tree(index), reason));
    let known = fabric.endpoints.len();
    let mut seen = BTreeSet::new();
    if tree.members.is_empty() {
        return wrong(format!("tree {} has no members", tree.id));
    }
    for &e in tree.members.iter().chain([&tree.root]) {
        let name = fabric.name(Place::Endpoint(e));
        if e >= known {
            return wrong(format!("tree {}: there is no {name}", tree.id));
        }
        if !seen.insert(e) {
            let twice = if e == tree.root {
                "is root and member"
            } else {
                "is a member twice"
            };
            return wrong(format!("tree {}: {name} {twice}", tree.id));
        }
    }
    Ok(())
}

/// Shortest ways from the members to the root, each switch with one port towards the root: the union is a tree.
fn derive(
    fabric: &Fabric,
    cabling: &Cabling,
    index: usize,
    tree: &TreeSpec,
) -> Result<Entries, Problem> {
    let root_switch = match cabling.peer(Place::Endpoint(tree.root)) {
        Some(Place::Switch(switch, _)) => Some(switch),
        _ if tree.root_contributes => return Err(without_switch(index, tree)),
        _ => None,
    };
    let distances = distances(cabling, fabric.switches.len(), tree.root);
    let towards = |switch: usize| {
        cabling.neighbours(switch).find(|(_, place)| match *place {
            Place::Endpoint(e) => e == tree.root,
            Place::Switch(next, _) => distances[switch]
                .zip(distances[next])
                .is_some_and(|(a, b)| b < a),
        })
    };
    let mut entries = Entries::new();
    for &member in &tree.members {
        let mut place = cabling.peer(Place::Endpoint(member));
        loop {
            match place {
                Some(Place::Endpoint(e)) if e == tree.root => break,
                Some(Place::Switch(switch, from)) => {
                    let Some((parent, next)) = towards(switch) else {
                        return Err(unreachable(fabric, index, tree, member));
                    };
                    let empty = Tree {
                        parent,
                        children: 0,
                        wait: 0,
                    };
                    let entry = entries.entry(switch).or_insert(empty);
                    entry.children |= 1 << from;
                    entry.wait += 1;
                    place = Some(next);
                }
                _ => return Err(unreachable(fabric, index, tree, member)),
            }
        }
    }
    if tree.root_contributes
        && let Some(entry) = root_switch.and_then(|switch| entries.get_mut(&switch))
    {
        entry.children |= 1 << entry.parent;
        entry.wait += 1;
    }
    Ok(entries)
}

fn without_switch(index: usize, tree: &TreeSpec) -> Problem {
    let reason = format!("tree {}: the root hangs on no switch", tree.id);
    Problem::new(Item::Tree(index), reason)
}

fn unreachable(fabric: &Fabric, index: usize, tree: &TreeSpec, member: usize) -> Problem {
    let [root, member] = [tree.root, member].map(|e| fabric.name(Place::Endpoint(e)));
    let reason = format!(
        "tree {}: no cables lead from {member} to the root {root}",
        tree.id
    );
    Problem::new(Item::Tree(index), reason)
}

/// Follows given entries from the root downwards.
struct Walk<'a> {
    fabric: &'a Fabric,
    cabling: &'a Cabling,
    index: usize,
    tree: &'a TreeSpec,
    /// Where the entry of a switch stands in the list.
    at: BTreeMap<usize, usize>,
    seen: BTreeSet<usize>,
    reached: BTreeSet<usize>,
}

impl<'a> Walk<'a> {
    fn new(
        fabric: &'a Fabric,
        cabling: &'a Cabling,
        index: usize,
        tree: &'a TreeSpec,
    ) -> Result<Self, Problem> {
        let mut at = BTreeMap::new();
        for (place, &(switch, _)) in tree.entries.iter().enumerate() {
            let item = Item::Entry(index, place);
            let Some(spec) = fabric.switches.get(switch) else {
                return Err(Problem::new(
                    item,
                    format!("tree {}: there is no switch {switch}", tree.id),
                ));
            };
            if at.insert(switch, place).is_some() {
                return Err(Problem::new(
                    item,
                    format!("tree {} has {} twice", tree.id, spec.name),
                ));
            }
        }
        let (seen, reached) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self {
            fabric,
            cabling,
            index,
            tree,
            at,
            seen,
            reached,
        })
    }

    fn problem(&self, switch: usize, reason: String) -> Problem {
        let item = self
            .at
            .get(&switch)
            .map_or(Item::Tree(self.index), |at| Item::Entry(self.index, *at));
        Problem::new(item, format!("tree {}: {reason}", self.tree.id))
    }

    fn run(mut self) -> Result<Entries, Problem> {
        let root = Place::Endpoint(self.tree.root);
        match self.cabling.peer(root) {
            Some(Place::Switch(switch, port)) => {
                let name = self.fabric.name(root);
                self.switch(switch, port, &name)?;
            }
            _ => return Err(without_switch(self.index, self.tree)),
        }
        let missing = self.tree.members.iter().find(|e| !self.reached.contains(e));
        if let Some(&e) = missing {
            let name = self.fabric.name(Place::Endpoint(e));
            return Err(Problem::new(
                Item::Tree(self.index),
                format!("tree {} does not reach its member {name}", self.tree.id),
            ));
        }
        let astray = self
            .tree
            .entries
            .iter()
            .find(|(switch, _)| !self.seen.contains(switch));
        if let Some(&(switch, _)) = astray {
            let name = &self.fabric.switches[switch].name;
            return Err(self.problem(
                switch,
                format!("{name} has an entry, but the root does not reach it: this is no tree"),
            ));
        }
        Ok(self.tree.entries.iter().copied().collect())
    }

    /// Number of members below a switch that is entered by a port. Without recursion: a chain of switches can be long.
    fn switch(&mut self, first: usize, port: u8, above: &str) -> Result<u32, Problem> {
        /// A switch under way: its children that are still to be followed, and the members found below it.
        struct Level {
            switch: usize,
            children: u64,
            below: u32,
        }
        let children = self.enter(first, port, above)?;
        let mut levels = vec![Level {
            switch: first,
            children,
            below: 0,
        }];
        loop {
            let Some(level) = levels.last_mut() else {
                return Ok(0);
            };
            let switch = level.switch;
            if level.children == 0 {
                let below = level.below;
                levels.pop();
                self.leave(switch, below)?;
                match levels.last_mut() {
                    Some(parent) => parent.below += below,
                    None => return Ok(below),
                }
                continue;
            }
            let child = level.children.trailing_zeros() as u8;
            level.children &= level.children - 1;
            let name = self.fabric.name(Place::Switch(switch, child));
            match self.cabling.peer(Place::Switch(switch, child)) {
                Some(Place::Endpoint(e)) => {
                    if !self.tree.members.contains(&e) || !self.reached.insert(e) {
                        let other = self.fabric.name(Place::Endpoint(e));
                        return Err(self.problem(
                            switch,
                            format!("{name} leads to {other}, which is no member"),
                        ));
                    }
                    level.below += 1;
                }
                Some(Place::Switch(next, port)) => {
                    let children = self.enter(next, port, &name)?;
                    levels.push(Level {
                        switch: next,
                        children,
                        below: 0,
                    });
                }
                None => {
                    return Err(
                        self.problem(switch, format!("{name} is a child, but has no cable"))
                    );
                }
            }
        }
    }

    fn enter(&mut self, switch: usize, port: u8, above: &str) -> Result<u64, Problem> {
        let here = self.fabric.name(Place::Switch(switch, port));
        let Some(&at) = self.at.get(&switch) else {
            let name = &self.fabric.switches[switch].name;
            return Err(Problem::new(
                Item::Tree(self.index),
                format!(
                    "tree {}: {above} leads to {name}, which has no entry",
                    self.tree.id
                ),
            ));
        };
        if !self.seen.insert(switch) {
            return Err(self.problem(
                switch,
                format!("a loop: {above} leads to {here}, which the tree has already been through"),
            ));
        }
        let entry = self.tree.entries[at].1;
        if entry.parent != port {
            return Err(self.problem(
                switch,
                format!(
                    "{above} leads to {here}, so the parent port is {port}, not {}",
                    entry.parent
                ),
            ));
        }
        let contributes = self.root_contributes_at(switch);
        match entry.children >> port & 1 == 1 {
            true if !contributes => {
                let reason = format!(
                    "port {port} is parent and child, which only the root's own port is, if the tree says `root_contributes`"
                );
                return Err(self.problem(switch, reason));
            }
            false if contributes => {
                let reason =
                    format!("port {port} is no child, though the root contributes through it");
                return Err(self.problem(switch, reason));
            }
            _ => {}
        }
        let below = entry.children & !(1 << port);
        if below == 0 {
            return Err(self.problem(switch, "no children".to_owned()));
        }
        Ok(below)
    }

    /// Whether the root contributes at this switch, which is its own then.
    fn root_contributes_at(&self, switch: usize) -> bool {
        let at = || self.cabling.peer(Place::Endpoint(self.tree.root));
        self.tree.root_contributes && matches!(at(), Some(Place::Switch(s, _)) if s == switch)
    }

    fn leave(&self, switch: usize, below: u32) -> Result<(), Problem> {
        let wait = self
            .at
            .get(&switch)
            .map_or(0, |at| self.tree.entries[*at].1.wait);
        let root = self.root_contributes_at(switch);
        // A wait count of 0 is plain multicast (RED-17).
        if wait != below + u32::from(root) && wait != 0 {
            let name = &self.fabric.switches[switch].name;
            let and = if root {
                ", and the root contributes"
            } else {
                ""
            };
            return Err(self.problem(
                switch,
                format!("{name} waits for {wait}, but {below} members are below it{and}"),
            ));
        }
        Ok(())
    }
}
