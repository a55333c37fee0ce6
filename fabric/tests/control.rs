//! The manager of a running fabric: numbers of trees, and entries of tables, whatever fails.

mod manager_common;

use std::collections::{BTreeMap, BTreeSet};

use manager_common::{network, rng, seed};
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use tributary_fabric::control::{Control, ControlError, Mended, Registers};
use tributary_fabric::ids::IdError;
use tributary_protocol::red::regs;

/// log2 of the trees of each switch.
const TREE_BITS: u32 = 5;

/// Registers of all switches, as far as the manager uses them.
#[derive(Default)]
struct Switches {
    /// Multicast entries that count, by switch and number.
    entries: BTreeSet<(u32, u16)>,
    staged: BTreeMap<u32, u32>,
    /// Unicast entries that count, by switch and node.
    routes: BTreeMap<(u32, u32), u32>,
    staged_route: BTreeMap<u32, u32>,
    /// Registers of ports.
    ports: BTreeMap<(u32, u16), u32>,
    /// Switches that do not answer.
    dead: BTreeSet<u32>,
    /// Writes until one fails; of all, or those of trees.
    left: Option<usize>,
    of_trees: bool,
    /// No entry is cleared.
    keeps: bool,
}

impl Registers for Switches {
    type Error = &'static str;

    fn read(&mut self, switch: u32, offset: u16) -> Result<u32, Self::Error> {
        if self.dead.contains(&switch) {
            return Err("it is off");
        }
        Ok(match offset {
            _ if offset >= regs::PORTS_BASE => {
                self.ports.get(&(switch, offset)).copied().unwrap_or(0)
            }
            _ if offset == regs::ID.offset => regs::ID.reset,
            _ if offset == regs::VERSION.offset => regs::VERSION.reset,
            _ if offset == regs::SIZES.offset => {
                regs::SIZES_PORTS.put(64)
                    | regs::SIZES_UNICAST.put(16)
                    | regs::SIZES_MULTICAST.put(TREE_BITS)
            }
            _ => 0,
        })
    }

    fn write(&mut self, switch: u32, offset: u16, value: u32) -> Result<(), Self::Error> {
        if self.dead.contains(&switch) {
            return Err("it is off");
        }
        let of_tree =
            (regs::MULTICAST_CHILDREN_LOW.offset..=regs::MULTICAST_COMMIT.offset).contains(&offset);
        if let Some(left) = &mut self.left
            && (of_tree || !self.of_trees)
        {
            if *left == 0 {
                return Err("no answer");
            }
            *left -= 1;
        }
        if offset >= regs::PORTS_BASE {
            self.ports.insert((switch, offset), value);
        }
        if offset == regs::UNICAST_ENTRY.offset {
            self.staged_route.insert(switch, value);
        }
        if offset == regs::UNICAST_COMMIT.offset {
            let (at, entry) = ((switch, value), self.staged_route[&switch]);
            if regs::UNICAST_VALID.get(entry) == 1 {
                self.routes.insert(at, regs::UNICAST_PORT.get(entry) + 1);
            } else {
                self.routes.remove(&at);
            }
        }
        if offset == regs::MULTICAST_ENTRY.offset {
            self.staged.insert(switch, value);
        }
        if offset == regs::MULTICAST_COMMIT.offset {
            let at = (switch, regs::MULTICAST_INDEX.get(value) as u16);
            if self.keeps && regs::MULTICAST_VALID.get(self.staged[&switch]) == 0 {
                return Err("it keeps its entries");
            }
            if regs::MULTICAST_VALID.get(self.staged[&switch]) == 1 {
                self.entries.insert(at);
            } else {
                self.entries.remove(&at);
            }
        }
        Ok(())
    }
}

impl Switches {
    /// The switch loses everything.
    fn reset(&mut self, switch: u32) {
        self.entries.retain(|at| at.0 != switch);
        self.staged.remove(&switch);
        self.routes.retain(|at, _| at.0 != switch);
        self.staged_route.remove(&switch);
        self.ports.retain(|at, _| at.0 != switch);
    }
}

/// Trees that stand, by group: number and switches.
type Standing = BTreeMap<usize, (u16, BTreeSet<u32>)>;

fn standing(control: &Control) -> Standing {
    let groups = 0..control.groups();
    let of = |group| {
        let routed = control.routed(group)?;
        Some((group, (routed.id, routed.tree.switches().collect())))
    };
    groups.filter_map(of).collect()
}

/// Random groups, failures, repairs, resets, and writes that are not answered. Behind each mend the tables hold the entries of trees that
/// stand and no others. A number that members were told and may still send under is never given to others, and in the end all are
/// free.
#[test]
fn mc_09_cl_03_no_number_of_a_tree_is_lost_or_given_twice_whatever_fails() {
    let first = seed();
    let (mut failures, mut lost, mut moves, mut cut_off, mut resets) = (0, 0, 0, 0, 0);
    for seed in first..first + 20 {
        let mut rng = rng(seed);
        let plan = network("ft3:4");
        let (cables, hosts) = (plan.cables().len() as u32, plan.endnodes().len() as u32);
        let mut switches = Switches::default();
        let mut control =
            Control::start(plan.clone(), (0..hosts).collect(), &mut switches).unwrap();
        // Numbers that members may still send under, of groups that have another one now.
        let mut held: Vec<(usize, u16, BTreeSet<u32>)> = Vec::new();
        // Groups whose members know the number of the tree of now.
        let mut known: BTreeSet<(usize, u16)> = BTreeSet::new();
        for step in 0..200 {
            let before = standing(&control);
            let groups: Vec<usize> = before.keys().copied().collect();
            if rng.random_range(0..4) == 0 {
                switches.left = Some(rng.random_range(0..80));
                switches.of_trees = rng.random();
            }
            let (mut removed, mut told) = (None, Vec::new());
            let made = control.groups();
            let mut tell = |mended: Mended| {
                told.extend(mended.trees.iter().map(|(group, _, new)| (*group, *new)))
            };
            if rng.random_range(0..8) == 0 {
                switches.reset(rng.random_range(0..plan.switch_count()));
                resets += 1;
            }
            let result = match rng.random_range(0..10) {
                0..3 if groups.len() < 8 => {
                    let size = rng.random_range(2..9);
                    let mut all: Vec<u32> = (0..hosts).collect();
                    let members = all.partial_shuffle(&mut rng, size).0.to_vec();
                    let made = control.add_group(&members, members[0], &mut switches);
                    made.map(drop)
                }
                0..4 => match groups.choose(&mut rng) {
                    Some(&group) => {
                        removed = Some(group);
                        control.remove_group(group, &mut switches)
                    }
                    None => Ok(()),
                },
                4..7 => {
                    let cable = rng.random_range(0..cables);
                    control.cable_failed(cable, &mut switches).map(&mut tell)
                }
                7 => {
                    let switch = rng.random_range(0..plan.switch_count());
                    switches.dead.insert(switch);
                    cut_off += 1;
                    control.switch_failed(switch, &mut switches).map(&mut tell)
                }
                _ => {
                    let down = (0..cables).filter(|&cable| !control.network().is_up(cable));
                    let down: Vec<u32> = down.collect();
                    match down.choose(&mut rng) {
                        Some(&cable) => {
                            for (switch, _) in plan.cables()[cable as usize].ends {
                                switches.dead.remove(&switch);
                            }
                            control.cable_restored(cable, &mut switches).map(&mut tell)
                        }
                        None => Ok(()),
                    }
                }
            };
            match result {
                Ok(()) | Err(ControlError::Cable(_) | ControlError::Route(_)) => {}
                Err(ControlError::Access { .. }) => failures += 1,
                Err(error) => panic!("seed {seed}, step {step}: {error}"),
            }
            switches.left = None;
            let mended = control.mend(&mut switches).unwrap();
            let uncleared = mended.uncleared;
            tell(mended);

            for switch in (0..plan.switch_count()).filter(|s| !switches.dead.contains(s)) {
                for endnode in 0..hosts {
                    let route = control.routes().port(switch, endnode).map(u32::from);
                    let is = switches.routes.get(&(switch, endnode)).copied();
                    assert_eq!(is, route, "seed {seed}, step {step}: {switch} to {endnode}");
                }
                let ports = switches.ports.range((switch, 0)..(switch + 1, 0));
                let works = ports.filter(|(_, value)| regs::PORT_ENABLE.get(**value) == 1);
                let wanted = usize::from(plan.switches()[switch as usize].ports);
                assert_eq!(works.count(), wanted, "seed {seed}, step {step}: {switch}");
            }
            let now = standing(&control);
            // Every group with another number was told so, once, whichever call has failed.
            let is_new = |group: &usize, id| before.get(group).is_none_or(|(old, _)| *old != id);
            let other = now
                .iter()
                .filter(|(group, (id, _))| **group < made && is_new(group, *id));
            let other: Vec<_> = other.map(|(group, (id, _))| (*group, *id)).collect();
            told.sort_unstable();
            assert_eq!(told, other, "seed {seed}, step {step}");
            held.retain(|(group, ..)| Some(*group) != removed);
            for (group, (id, on)) in before {
                let changed = now.get(&group).is_none_or(|(new, _)| *new != id);
                let knew = changed && known.remove(&(group, id));
                if changed && removed != Some(group) {
                    lost += 1;
                    if knew {
                        held.push((group, id, on));
                    }
                }
            }
            for (group, (id, _)) in &now {
                if rng.random_range(0..3) > 0 {
                    assert_eq!(control.tell(*group), Some(*id));
                    known.insert((*group, *id));
                }
            }
            for (group, (id, on)) in &now {
                for (of, old, switches) in &held {
                    assert!(
                        id != old || on.is_disjoint(switches),
                        "seed {seed}, step {step}: group {group} has number {id}, under which those of group {of} may send"
                    );
                }
            }
            let entries = now
                .values()
                .flat_map(|(id, on)| on.iter().map(|s| (*s, *id)));
            let wanted: BTreeSet<_> = entries.collect();
            // A switch that is off keeps what it has; a tree within it needs no cable and stays.
            let on = |at: &&(u32, u16)| !switches.dead.contains(&at.0);
            let is: Vec<_> = switches.entries.iter().filter(on).collect();
            let wanted_on: Vec<_> = wanted.iter().filter(on).collect();
            assert_eq!(is, wanted_on, "seed {seed}, step {step}");
            let kept = switches.entries.difference(&wanted).count();
            assert!(
                uncleared >= kept && (uncleared == 0 || !switches.dead.is_empty()),
                "seed {seed}, step {step}: {uncleared} {kept} {:?}",
                switches.dead
            );
            if !held.is_empty() && (held.len() > 2 || rng.random_range(0..4) == 0) {
                moves += 1;
                held.retain(|(group, ..)| {
                    let Some(tree) = control.tell(*group) else {
                        return true;
                    };
                    known.insert((*group, tree));
                    control.moved(*group, tree).unwrap();
                    false
                });
            }
        }

        switches.dead.clear();
        for cable in 0..cables {
            if !control.network().is_up(cable) {
                control.cable_restored(cable, &mut switches).unwrap();
            }
        }
        for group in 0..control.groups() {
            control.remove_group(group, &mut switches).unwrap();
        }
        assert!(switches.entries.is_empty(), "seed {seed}");
        let all: Vec<u32> = (0..hosts).collect();
        let numbers: BTreeSet<u16> = (0..1 << TREE_BITS)
            .map(|_| {
                let group = control.add_group(&all, 0, &mut switches).unwrap();
                control.tree(group).unwrap()
            })
            .collect();
        assert_eq!(numbers.len(), 1 << TREE_BITS, "seed {seed}");
        assert!(matches!(
            control.add_group(&all, 0, &mut switches),
            Err(ControlError::Id(IdError::Exhausted { .. }))
        ));
    }
    eprintln!(
        "{failures} writes not answered, {lost} trees lost, {moves} moves, {cut_off} switches off, {resets} resets"
    );
    assert!(failures > 100 && lost > 100 && moves > 50 && cut_off > 100 && resets > 100);
}

#[test]
fn mc_09_cl_03_entries_that_cannot_be_cleared_keep_nobody_from_the_new_tree() {
    let plan = network("ft3:4");
    let hosts = plan.endnodes().len() as u32;
    let mut switches = Switches::default();
    let mut control = Control::start(plan, (0..hosts).collect(), &mut switches).unwrap();
    let all: Vec<u32> = (0..hosts).collect();
    let group = control.add_group(&all, 0, &mut switches).unwrap();
    let old = control.tree(group).unwrap();
    let used = control.routed(group).unwrap().tree.cables().next().unwrap();
    switches.keeps = true;
    let mended = control.cable_failed(used, &mut switches).unwrap();
    let new = control.tree(group).unwrap();
    assert_eq!(mended.trees, [(group, old, new)]);
    let kept = switches.entries.iter().filter(|(_, id)| *id == old).count();
    assert_eq!((mended.uncleared, kept > 0), (kept, true));
    switches.keeps = false;
    let mended = control.mend(&mut switches).unwrap();
    assert_eq!((mended.trees.len(), mended.uncleared), (0, 0));
    assert!(switches.entries.iter().all(|(_, id)| *id == new));
}

/// Cables of a group's tree fail and come back, more often than there are numbers.
fn fail_often(each: impl Fn(&mut Control, usize)) -> u32 {
    let plan = network("ft3:4");
    let hosts = plan.endnodes().len() as u32;
    let mut switches = Switches::default();
    let mut control = Control::start(plan, (0..hosts).collect(), &mut switches).unwrap();
    let all: Vec<u32> = (0..hosts).collect();
    let group = control.add_group(&all, 0, &mut switches).unwrap();
    for round in 0..4 << TREE_BITS {
        each(&mut control, group);
        let used = control
            .routed(group)
            .map(|routed| routed.tree.cables().next().unwrap());
        let used = used.unwrap_or_else(|| panic!("no tree in round {round}"));
        let mended = control.cable_failed(used, &mut switches).unwrap();
        assert_eq!(mended.lost, [], "round {round}");
        control.cable_restored(used, &mut switches).unwrap();
    }
    each(&mut control, group);
    control.taken()
}

#[test]
fn cl_03_a_number_that_nobody_was_told_is_free_when_its_tree_is_lost() {
    assert_eq!(fail_often(|_, _| {}), 1);
}

#[test]
fn cl_03_numbers_do_not_run_out_while_members_move_to_each_new_tree() {
    let move_on = |control: &mut Control, group| {
        let tree = control.tell(group).unwrap();
        control.moved(group, tree).unwrap();
    };
    assert_eq!(fail_often(move_on), 1);
}

/// The manager makes another tree before it hears that all have moved to the one before.
#[test]
fn cl_03_members_that_have_moved_free_what_was_before_their_tree_and_not_that_tree() {
    let plan = network("ft3:4");
    let hosts = plan.endnodes().len() as u32;
    let mut switches = Switches::default();
    let mut control = Control::start(plan, (0..hosts).collect(), &mut switches).unwrap();
    let all: Vec<u32> = (0..hosts).collect();
    let group = control.add_group(&all, 0, &mut switches).unwrap();
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(control.tell(group).unwrap());
        let used = control.routed(group).unwrap().tree.cables().next().unwrap();
        control.cable_failed(used, &mut switches).unwrap();
        control.cable_restored(used, &mut switches).unwrap();
    }
    assert_eq!(control.taken(), 4);
    let other = |control: &mut Control, switches: &mut Switches| {
        let other = control.add_group(&all, 0, switches).unwrap();
        let tree = control.tree(other).unwrap();
        control.remove_group(other, switches).unwrap();
        tree
    };
    control.moved(group, told[1]).unwrap();
    assert_eq!(control.taken(), 3);
    assert_eq!(other(&mut control, &mut switches), told[0]);
    // Said twice, of another group's number, of a group that is not there: nothing.
    control.moved(group, told[1]).unwrap();
    control.moved(group, 31).unwrap();
    control.moved(group + 1, told[2]).unwrap();
    assert_eq!(control.taken(), 3);
    control.moved(group, told[2]).unwrap();
    assert_eq!(control.taken(), 2);
    let tree = control.tell(group).unwrap();
    control.moved(group, tree).unwrap();
    assert_eq!(control.taken(), 1);
}
