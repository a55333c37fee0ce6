//! The manager of a running fabric: numbers of trees, and entries of tables, whatever fails.

mod manager_common;

use std::collections::{BTreeMap, BTreeSet};

use manager_common::{network, rng, seed};
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use tributary_fabric::control::{Control, ControlError, Registers};
use tributary_fabric::ids::IdError;
use tributary_protocol::red::regs;

/// log2 of the trees of each switch.
const TREE_BITS: u32 = 4;

/// Registers of all switches, as far as the manager uses them.
#[derive(Default)]
struct Switches {
    /// Multicast entries that count, by switch and number.
    entries: BTreeSet<(u32, u16)>,
    staged: BTreeMap<u32, u32>,
    /// Switches that do not answer.
    dead: BTreeSet<u32>,
    /// Writes until one fails.
    left: Option<usize>,
}

impl Registers for Switches {
    type Error = &'static str;

    fn read(&mut self, _: u32, offset: u16) -> Result<u32, Self::Error> {
        Ok(match offset {
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
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return Err("no answer");
            }
            *left -= 1;
        }
        if offset == regs::MULTICAST_ENTRY.offset {
            self.staged.insert(switch, value);
        }
        if offset == regs::MULTICAST_COMMIT.offset {
            let at = (switch, regs::MULTICAST_INDEX.get(value) as u16);
            if regs::MULTICAST_VALID.get(self.staged[&switch]) == 1 {
                self.entries.insert(at);
            } else {
                self.entries.remove(&at);
            }
        }
        Ok(())
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

/// Random groups, failures, repairs, and writes that are not answered. Behind each mend the tables hold the entries of trees that
/// stand and no others. A number that members may still send under is never given to others, and in the end all are free.
#[test]
fn mc_09_cl_03_no_number_of_a_tree_is_lost_or_given_twice_whatever_fails() {
    let first = seed();
    let (mut failures, mut lost, mut moves, mut cut_off) = (0, 0, 0, 0);
    for seed in first..first + 20 {
        let mut rng = rng(seed);
        let plan = network("ft3:4");
        let (cables, hosts) = (plan.cables().len() as u32, plan.endnodes().len() as u32);
        let mut switches = Switches::default();
        let mut control =
            Control::start(plan.clone(), (0..hosts).collect(), &mut switches).unwrap();
        // Numbers that members may still send under, of groups that have another one now.
        let mut held: Vec<(usize, u16, BTreeSet<u32>)> = Vec::new();
        for step in 0..200 {
            let before = standing(&control);
            let groups: Vec<usize> = before.keys().copied().collect();
            if rng.random_range(0..4) == 0 {
                switches.left = Some(rng.random_range(0..60));
            }
            let mut removed = None;
            let result = match rng.random_range(0..10) {
                0..3 if groups.len() < 4 => {
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
                    control.cable_failed(cable, &mut switches).map(drop)
                }
                7 => {
                    let switch = rng.random_range(0..plan.switch_count());
                    switches.dead.insert(switch);
                    cut_off += 1;
                    control.switch_failed(switch, &mut switches).map(drop)
                }
                _ => {
                    let down = (0..cables).filter(|&cable| !control.network().is_up(cable));
                    let down: Vec<u32> = down.collect();
                    match down.choose(&mut rng) {
                        Some(&cable) => {
                            for (switch, _) in plan.cables()[cable as usize].ends {
                                switches.dead.remove(&switch);
                            }
                            control.cable_restored(cable, &mut switches).map(drop)
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
            control.mend(&mut switches).unwrap();

            let now = standing(&control);
            held.retain(|(group, ..)| Some(*group) != removed);
            for (group, (id, on)) in before {
                let changed = now.get(&group).is_none_or(|(new, _)| *new != id);
                if changed && removed != Some(group) {
                    lost += 1;
                    held.push((group, id, on));
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
            // A switch that is off keeps what it has.
            let is = switches.entries.iter().copied();
            let is: BTreeSet<_> = is.filter(|(s, _)| !switches.dead.contains(s)).collect();
            assert_eq!(is, wanted, "seed {seed}, step {step}");
            if !held.is_empty() && (held.len() > 2 || rng.random_range(0..4) == 0) {
                moves += 1;
                for (group, ..) in held.drain(..) {
                    control.moved(group).unwrap();
                }
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
        "{failures} writes not answered, {lost} trees lost, {moves} moves, {cut_off} switches off"
    );
    assert!(failures > 100 && lost > 100 && moves > 50 && cut_off > 100);
}
