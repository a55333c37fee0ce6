//! The manager of a running fabric: it programs every switch through its registers, and mends routes and trees after failures (CL-3).
//!
//! It reaches the registers over a path of their own ([`Registers`]): each switch has an AXI4-Lite port, and a processor beside it,
//! or the host that it is plugged into, does the accesses. So routes can be mended when the fabric itself carries nothing.
//!
//! What is cabled to what comes from the plan of the fabric ([`Network`]). The manager compares each switch with it (identity,
//! version, ports, size of the tables) before it writes. Unicast tables cannot be read, so a manager that begins, or begins
//! again beside running traffic, writes every entry, in the order of [`Unicast::writes`], which makes no loop from any older routes
//! without one.
//!
//! A tree that loses a cable is made anew under another number (MC-9): its members go on when they are told the new one. The entries
//! of the old one are cleared, but if members were told its number ([`Control::tell`]), it stays taken until all of them have moved
//! ([`Control::moved`]) or their group is removed: a frame of a member that does not know yet is dropped, and never gets into the
//! tree of others.
//!
//! Trees of a manager before this one stay, and their groups go on: it has left a note in the switches below which number they are,
//! and this one gives numbers from there on ([`Control::inherited`]).
//!
//! A switch that was reset has its ports off, which the manager had enabled: [`Control::mend`] looks for that at every switch, and
//! writes everything to such a one before it enables its ports.

mod access;
mod note;
mod reset;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use thiserror::Error;
use tributary_protocol::red::{self, regs};

use crate::export::Routed;
use crate::network::{CableId, EndnodeId, Network, SwitchId};
use crate::route::{Own, RouteError, Router};
use crate::unicast::{Unicast, UnicastWrite};
use crate::{
    Group, GroupError, HopTable, IdError, Leader, Load, TableError, Tree, TreeIds, table, update,
};
use access::{clear_entry, compare, get, put};
use settings::Settings;

/// How the manager reaches the registers of switches.
pub trait Registers {
    /// Why an access failed.
    type Error: Display;
    /// Reads a register.
    ///
    /// # Errors
    /// The switch does not answer, or has no such register.
    fn read(&mut self, switch: SwitchId, offset: u16) -> Result<u32, Self::Error>;
    /// Writes a register.
    ///
    /// # Errors
    /// The switch does not answer, or does not take it.
    fn write(&mut self, switch: SwitchId, offset: u16, value: u32) -> Result<(), Self::Error>;
}

/// What the manager cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// An access to a register failed.
    #[error("switch {switch}: register {offset:#x}: {reason}")]
    Access {
        /// Its name.
        switch: String,
        /// Register.
        offset: u16,
        /// Why.
        reason: String,
    },
    /// A switch that is not as the plan says.
    #[error("switch {switch}: {what} is {is}, it has to be {wanted}")]
    Differs {
        /// Its name.
        switch: String,
        /// What differs.
        what: &'static str,
        /// As the switch says.
        is: u32,
        /// As it has to be; of sizes, at least.
        wanted: u32,
    },
    /// Not one node number for each endnode, each once.
    #[error("node numbers: {0}")]
    Nodes(String),
    /// There is no such cable between switches, or it is in that state already.
    #[error("cable {0} is none between switches, or is so already")]
    Cable(CableId),
    /// There is no such switch.
    #[error("there is no switch {0}")]
    Switch(SwitchId),
    /// A group that cannot be.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// A group that cannot be routed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A tree without a number.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A tree that does not fit the tables.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A network whose distances do not fit.
    #[error(transparent)]
    Hops(#[from] crate::hops::HopError),
}

/// What a failure has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Entries of unicast tables that were written.
    pub unicast: usize,
    /// Endnodes that some switch has lost its way to.
    pub unreachable: Vec<EndnodeId>,
    /// Trees that were made anew: the group, its old and its new number; also those of calls before that have failed.
    pub trees: Vec<(usize, u16, u16)>,
    /// Groups that have no tree any more, and why.
    pub lost: Vec<(usize, String)>,
    /// Entries of trees that are no more which switches still have, since they do not answer: the next one tries again.
    pub uncleared: usize,
    /// Switches that were reset and have everything again.
    pub reset: Vec<SwitchId>,
    /// Switches that did not answer when they were looked at, though cables lead to them.
    pub unanswered: Vec<SwitchId>,
}

#[derive(Debug)]
struct Placed {
    group: Group,
    leader: Leader,
    tree: Option<(u16, Tree)>,
    /// Members were told the number of this tree, and may send under it.
    told: bool,
    /// Number of its latest tree.
    last: u16,
}

/// A tree that is given up.
#[derive(Debug)]
struct Old {
    /// Number of its group.
    group: usize,
    id: u16,
    /// All its switches.
    switches: Vec<SwitchId>,
    /// Those that still have an entry of it.
    left: Vec<SwitchId>,
    /// Members may still send under its number.
    used: bool,
}

/// The manager.
#[derive(Debug)]
pub struct Control {
    network: Network,
    nodes: Vec<u32>,
    routes: Unicast,
    /// Tables may hold something else: a write has failed.
    unsure: bool,
    hops: HopTable,
    load: Load,
    ids: TreeIds,
    /// By number.
    groups: BTreeMap<usize, Placed>,
    /// Number of the next group.
    next: usize,
    old: Vec<Old>,
    /// Trees that were made anew and that nobody was told of yet.
    untold: Vec<(usize, u16, u16)>,
    /// By switch.
    settings: Vec<Settings>,
    /// Trees have numbers below this, as a note in every switch says.
    noted: u16,
    /// Switches that have lost what was written to them.
    lost: BTreeSet<SwitchId>,
}

impl Control {
    /// Compares every switch with the plan and programs it. Endnode e has node number `nodes[e]`.
    ///
    /// # Errors
    /// A switch that is not as planned or does not answer, or numbers that do not fit; what was written stays.
    pub fn start<R: Registers>(
        network: Network,
        nodes: Vec<u32>,
        registers: &mut R,
    ) -> Result<Self, ControlError> {
        if nodes.len() != network.endnodes().len() {
            let reason = format!("{} for {} endnodes", nodes.len(), network.endnodes().len());
            return Err(ControlError::Nodes(reason));
        }
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let reason = format!("{} is there twice", twice[0]);
            return Err(ControlError::Nodes(reason));
        }
        let largest = sorted.last().copied().unwrap_or(0);
        let bits = (u32::BITS - largest.leading_zeros()).max(1);
        let mut tree_bits = 13;
        for switch in 0..network.switch_count() {
            tree_bits = tree_bits.min(compare(&network, switch, bits, registers)?);
        }
        let numbers = 1 << tree_bits;
        let inherited = note::inherited(&network, numbers, registers)?;
        let mut ids = TreeIds::new(network.switch_count(), numbers)?;
        ids.set_first(inherited);
        let switches = 0..network.switch_count();
        let settings = switches.map(|switch| Settings::read(&network, switch, registers));
        let control = Self {
            settings: settings.collect::<Result<_, _>>()?,
            lost: BTreeSet::new(),
            routes: Unicast::new(&network),
            unsure: false,
            hops: HopTable::new(&network)?,
            load: Load::new(&network),
            ids,
            noted: inherited,
            groups: BTreeMap::new(),
            next: 0,
            old: Vec::new(),
            untold: Vec::new(),
            nodes,
            network,
        };
        for write in control.routes.writes(None) {
            control.unicast(registers, &write)?;
        }
        for (switch, settings) in (0..).zip(&control.settings) {
            control.note(switch, registers);
            settings.switch_on(&control.network, switch, registers)?;
        }
        Ok(control)
    }

    /// The network as it is now.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The routes as they are now.
    #[must_use]
    pub const fn routes(&self) -> &Unicast {
        &self.routes
    }

    /// Groups that were made so far: the number of the next one.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.next
    }

    /// The number of a group's tree, if it has one.
    #[must_use]
    pub fn tree(&self, group: usize) -> Option<u16> {
        let (id, _) = self.groups.get(&group)?.tree.as_ref()?;
        Some(*id)
    }

    /// The number of a group's tree, for its members: from now on they may send under it.
    pub fn tell(&mut self, group: usize) -> Option<u16> {
        let placed = self.groups.get_mut(&group)?;
        let (id, _) = placed.tree.as_ref()?;
        placed.told = true;
        Some(*id)
    }

    /// Trees whose numbers are taken: those that stand, and those that are no more but whose members may not know it, or whose
    /// entries are not all cleared.
    #[must_use]
    pub const fn taken(&self) -> u32 {
        self.ids.trees()
    }

    /// Makes a tree for a group and writes it; the group's later trees have the same kind of leader. Returns the number of the
    /// group.
    ///
    /// # Errors
    /// It cannot be routed or written.
    pub fn add_group<R: Registers>(
        &mut self,
        members: &[EndnodeId],
        leader: impl Into<Leader>,
        registers: &mut R,
    ) -> Result<usize, ControlError> {
        let group = Group::new(&self.network, members)?;
        let placed = Placed {
            group,
            leader: leader.into(),
            tree: None,
            told: false,
            last: 0,
        };
        let number = self.next;
        self.groups.insert(number, placed);
        if let Err(error) = self.plant(number, registers) {
            self.groups.remove(&number);
            return Err(error);
        }
        self.next += 1;
        Ok(number)
    }

    /// A group that nobody uses any more, and of which no frame is under way: its trees leave the tables, and their numbers are free
    /// for others. Nothing happens if there is no such group.
    ///
    /// # Errors
    /// A switch does not take a write; the next [`Control::mend`] tries again, and the number stays taken until then.
    pub fn remove_group<R: Registers>(
        &mut self,
        group: usize,
        registers: &mut R,
    ) -> Result<(), ControlError> {
        if let Some(placed) = self.groups.remove(&group)
            && let Some((id, tree)) = placed.tree
        {
            self.load.remove(&tree);
            self.give_up(group, id, tree.switches().collect(), false);
        }
        for old in self.old.iter_mut().filter(|old| old.group == group) {
            old.used = false;
        }
        self.clear(Some(group), registers)
    }

    /// All members of a group send under this number, and no frame of an older tree is under way: numbers of trees that the group
    /// had before this one are free for others. Nothing happens if the group has no such number.
    ///
    /// # Errors
    /// None that a caller can bring about.
    pub fn moved(&mut self, group: usize, tree: u16) -> Result<(), ControlError> {
        // The group may have lost this one too by now, and then it stays taken.
        let stands = self.tree(group) == Some(tree);
        let of_group = |old: &Old| old.group == group;
        let lost = self.old.iter().rposition(|o| of_group(o) && o.id == tree);
        let before = if stands {
            self.old.len()
        } else {
            lost.unwrap_or(0)
        };
        for old in self.old[..before].iter_mut().filter(|old| of_group(old)) {
            old.used = false;
        }
        self.release()
    }

    /// A cable has failed: writes what has to change.
    ///
    /// # Errors
    /// There is no such cable, or a switch does not take a write.
    pub fn cable_failed<R: Registers>(
        &mut self,
        cable: CableId,
        registers: &mut R,
    ) -> Result<Mended, ControlError> {
        if !self.network.fail(cable) {
            return Err(ControlError::Cable(cable));
        }
        self.hops.failed(&self.network, cable)?;
        self.mend(registers)
    }

    /// A switch has failed: all its cables.
    ///
    /// # Errors
    /// There is no such switch, or another does not take a write.
    pub fn switch_failed<R: Registers>(
        &mut self,
        switch: SwitchId,
        registers: &mut R,
    ) -> Result<Mended, ControlError> {
        if switch >= self.network.switch_count() {
            return Err(ControlError::Switch(switch));
        }
        let links = self.network.links(switch).iter();
        let cables: Vec<CableId> = links.map(|link| link.cable).collect();
        for cable in cables {
            self.network.fail(cable);
            self.hops.failed(&self.network, cable)?;
        }
        self.mend(registers)
    }

    /// A cable works again. Trees stay where they are; groups that have lost theirs are tried again.
    ///
    /// # Errors
    /// There is no such cable, or a switch does not take a write.
    pub fn cable_restored<R: Registers>(
        &mut self,
        cable: CableId,
        registers: &mut R,
    ) -> Result<Mended, ControlError> {
        if !self.network.restore(cable) {
            return Err(ControlError::Cable(cable));
        }
        self.hops.renew(&self.network)?;
        self.mend(registers)
    }

    /// Writes what has to change, and everything to switches that were reset: nobody tells the manager of these, so whoever has it
    /// calls this now and then. After a write that failed, all entries are written, and groups that have lost their trees are tried
    /// again: whoever got the error calls this when the switch answers again.
    ///
    /// # Errors
    /// A switch does not take a write.
    pub fn mend<R: Registers>(&mut self, registers: &mut R) -> Result<Mended, ControlError> {
        let unanswered = self.look(registers);
        let routes = Unicast::new(&self.network);
        let writes = routes.writes((!self.unsure).then_some(&self.routes));
        self.unsure = true;
        let mut mended = Mended {
            unanswered,
            ..Mended::default()
        };
        self.routes = routes;
        let empty = self.lost.clone();
        let full = self.refill(registers)?;
        mended.unicast = full.len() * self.nodes.len();
        for write in &writes {
            let cut_off = self.is_cut_off(write.switch);
            if !empty.contains(&write.switch) {
                mended.unicast += 1;
                match self.unicast(registers, write) {
                    // Nobody reads the tables of a switch that has no way to anyone; when it has one, it gets all of them.
                    Err(_) if cut_off => drop(self.lost.insert(write.switch)),
                    written => written?,
                }
            }
            if write.port.is_none() && !cut_off && !mended.unreachable.contains(&write.endnode) {
                mended.unreachable.push(write.endnode);
            }
        }
        self.unsure = false;
        let numbers: Vec<usize> = self.groups.keys().copied().collect();
        for number in numbers {
            let network = &self.network;
            let broken = |tree: &Tree| tree.cables().any(|cable| !network.is_up(cable));
            let Some(placed) = self.groups.get_mut(&number) else {
                continue;
            };
            let old = placed.last;
            if let Some((id, tree)) = placed.tree.take_if(|(_, tree)| broken(tree)) {
                let told = placed.told;
                self.load.remove(&tree);
                self.give_up(number, id, tree.switches().collect(), told);
            } else if placed.tree.is_some() {
                continue;
            }
            match self.plant(number, registers) {
                Ok(new) => self.untold.push((number, old, new)),
                Err(error @ ControlError::Access { .. }) => return Err(error),
                Err(error) => mended.lost.push((number, error.to_string())),
            }
        }
        // What was made has to be told, whatever cannot be cleared.
        match self.clear(None, registers) {
            Ok(()) | Err(ControlError::Access { .. }) => {}
            Err(error) => return Err(error),
        }
        mended.reset = self.switch_on(full, registers)?;
        mended.uncleared = self.old.iter().map(|old| old.left.len()).sum();
        mended.trees = std::mem::take(&mut self.untold);
        Ok(mended)
    }

    /// A tree that is no more. `used` if members may not know yet.
    fn give_up(&mut self, group: usize, id: u16, switches: Vec<SwitchId>, used: bool) {
        self.old.push(Old {
            group,
            id,
            left: switches.clone(),
            switches,
            used,
        });
    }

    /// Clears what is left of trees that were given up, of one group or of all. A switch that has no way to anyone may not answer.
    fn clear<R: Registers>(
        &mut self,
        group: Option<usize>,
        registers: &mut R,
    ) -> Result<(), ControlError> {
        let mut failed = None;
        let network = &self.network;
        let wanted = |old: &&mut Old| group.is_none_or(|group| group == old.group);
        for old in self.old.iter_mut().filter(wanted) {
            let writes = update::clear(old.id, &old.left);
            old.left.clear();
            for write in writes {
                if let Err(error) = clear_entry(network, registers, &write) {
                    old.left.push(write.switch);
                    if !network.links(write.switch).is_empty() {
                        failed.get_or_insert(error);
                    }
                }
            }
        }
        self.release()?;
        failed.map_or(Ok(()), Err)
    }

    /// Numbers of trees that nobody uses and no switch has are free.
    fn release(&mut self) -> Result<(), ControlError> {
        let is_over = |old: &mut Old| !old.used && old.left.is_empty();
        let over: Vec<Old> = self.old.extract_if(.., is_over).collect();
        for old in over {
            self.ids.release(old.id, &old.switches)?;
        }
        Ok(())
    }

    /// Routes a group over the cables that are up and writes its tree under a number that is free.
    fn plant<R: Registers>(
        &mut self,
        number: usize,
        registers: &mut R,
    ) -> Result<u16, ControlError> {
        let placed = &self.groups[&number];
        let switches = placed.group.switches();
        let tree = Own::default().route(&self.network, &self.hops, &self.load, switches)?;
        let on: Vec<SwitchId> = tree.switches().collect();
        let entries = table::entries(&self.network, &placed.group, &tree, placed.leader)?;
        let id = self.ids.allocate(&on)?;
        self.note_tree(id, registers);
        for write in update::install(id, &entries) {
            let Some(entry) = write.entry else { continue };
            let written = self.multicast(registers, write.switch, id, entry);
            self.note(write.switch, registers);
            if let Err(error) = written {
                self.give_up(number, id, on, false);
                return Err(error);
            }
        }
        self.load.add(&tree);
        if let Some(placed) = self.groups.get_mut(&number) {
            (placed.tree, placed.told, placed.last) = (Some((id, tree)), false, id);
        }
        Ok(id)
    }

    /// A group's tree with all that its members have to know of it.
    #[must_use]
    pub fn routed(&self, group: usize) -> Option<Routed<'_>> {
        let placed = self.groups.get(&group)?;
        let (id, tree) = placed.tree.as_ref()?;
        Some(Routed {
            id: *id,
            group: &placed.group,
            tree,
            leader: placed.leader,
        })
    }

    fn unicast<R: Registers>(
        &self,
        registers: &mut R,
        write: &UnicastWrite,
    ) -> Result<(), ControlError> {
        // The network counts ports from 1, the switch from 0.
        let port = write.port.map_or(0, |port| u32::from(port) - 1);
        let entry =
            regs::UNICAST_PORT.put(port) | regs::UNICAST_VALID.put(write.port.is_some().into());
        let commit = regs::UNICAST_INDEX.put(self.nodes[write.endnode as usize]);
        [
            (&regs::UNICAST_ENTRY, entry),
            (&regs::UNICAST_COMMIT, commit),
        ]
        .into_iter()
        .try_for_each(|(r, value)| put(&self.network, registers, write.switch, r.offset, value))
    }

    fn multicast<R: Registers>(
        &self,
        registers: &mut R,
        switch: SwitchId,
        id: u16,
        entry: red::Tree,
    ) -> Result<(), ControlError> {
        let rest = regs::MULTICAST_WAIT.put(entry.wait)
            | regs::MULTICAST_PARENT.put(entry.parent.into())
            | regs::MULTICAST_VALID.put(1);
        [
            (&regs::MULTICAST_CHILDREN_LOW, entry.children as u32),
            (
                &regs::MULTICAST_CHILDREN_HIGH,
                (entry.children >> 32) as u32,
            ),
            (&regs::MULTICAST_ENTRY, rest),
            (
                &regs::MULTICAST_COMMIT,
                regs::MULTICAST_INDEX.put(id.into()),
            ),
        ]
        .into_iter()
        .try_for_each(|(r, value)| put(&self.network, registers, switch, r.offset, value))
    }
}
