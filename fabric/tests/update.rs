//! Tables between any two writes: no loop, no doubled frame, nobody lost, no half trees.

mod manager_common;

use std::collections::BTreeMap;

use manager_common::{ChaCha8Rng, Fabric, network, random_group, rng, seed};
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use tributary_fabric::manager::{Config, State};
use tributary_fabric::update::walk::{self, Survey};
use tributary_fabric::update::{self, Tables, Update};
use tributary_fabric::{Network, table};

const CONFIG: Config = Config {
    ids: 64,
    groups_max: 100,
    join_timeout: 100,
    leave_timeout: 50,
    drain: 10,
    lease: None,
};

/// Does an update write by write. In between every other group keeps what it has, and the tree itself is whole or not there.
fn step_through(
    f: &mut Fabric,
    update: &Update,
    keep: &BTreeMap<u64, Survey>,
) -> Result<(), String> {
    let network = f.manager.network().clone();
    let id = update.writes[0].id;
    let Some((group, leader)) = f.manager.members(update.key) else {
        return Err(format!("update of group {}, which is not", update.key));
    };
    let (group, leader) = (group.clone(), leader);
    let survey = |tables: &Tables| {
        walk::survey(&network, tables, id, &group, leader).map_err(|fault| fault.to_string())
    };
    let mut seen = vec![survey(&f.tables)?];
    for write in &update.writes {
        f.tables.apply(write);
        seen.push(survey(&f.tables)?);
        for (key, before) in keep {
            let now = f.survey(*key).map_err(|fault| fault.to_string())?;
            if !now.is_some_and(|now| now.keeps(before)) {
                return Err(format!("group {key} has lost someone at {write:?}"));
            }
        }
    }
    let (first, last) = (seen[0].clone(), seen[seen.len() - 1].clone());
    if seen
        .iter()
        .any(|s| s.down != first.down && s.down != last.down)
    {
        return Err(format!("group {} heard half of tree {id}", update.key));
    }
    let grows = seen.is_sorted_by(|a, b| a.up.is_subset(&b.up));
    let shrinks = seen.is_sorted_by(|a, b| b.up.is_subset(&a.up));
    if !grows && !shrinks {
        return Err(format!("members of group {} come and go", update.key));
    }
    Ok(())
}

/// What all groups have now.
fn have(f: &Fabric) -> BTreeMap<u64, Survey> {
    let keys = f.manager.keys().into_iter();
    keys.filter_map(|key| Some((key, f.survey(key).expect("no fault")?)))
        .collect()
}

struct Run {
    f: Fabric,
    rng: ChaCha8Rng,
    next: u64,
    failed: Vec<u32>,
    updates: usize,
}

impl Run {
    fn new(network: Network, seed: u64) -> Self {
        Self {
            f: Fabric::new(network, CONFIG),
            rng: rng(seed),
            next: 0,
            failed: Vec::new(),
            updates: 0,
        }
    }

    /// Something happens.
    fn act(&mut self) {
        let (f, rng) = (&mut self.f, &mut self.rng);
        match rng.random_range(0..10) {
            0..=2 if f.manager.group_count() < 12 => {
                let size = rng.random_range(2..9);
                let (group, leader) = random_group(f.manager.network(), size, rng);
                let mut members = group.endnodes().to_vec();
                let at = members.iter().position(|&m| m == leader).unwrap();
                members.swap(0, at);
                f.join_all(self.next, 1, &members);
                self.next += 1;
            }
            3..=4 => {
                if let Some(&key) = f.manager.keys().choose(rng) {
                    let members = f.manager.members(key).map(|(g, _)| g.endnodes().to_vec());
                    for member in members.into_iter().flatten() {
                        f.leave(key, 1, member);
                    }
                }
            }
            5..=6 if self.failed.len() < 4 => {
                let cable = rng.random_range(0..f.manager.network().cables().len()) as u32;
                if f.manager.network().is_up(cable) {
                    f.manager.cable_failed(f.now, cable).unwrap();
                    self.failed.push(cable);
                }
            }
            7 => {
                self.failed.shuffle(rng);
                if let Some(cable) = self.failed.pop() {
                    f.manager.cable_restored(f.now, cable).unwrap();
                }
            }
            _ => f.now += rng.random_range(1..8),
        }
        f.manager.tick(f.now);
        f.manager.compute(f.now, 4);
    }

    fn write(&mut self) -> Result<(), String> {
        let mut late = None;
        for update in self.f.manager.take_updates() {
            self.updates += 1;
            let keep = have(&self.f);
            step_through(&mut self.f, &update, &keep)?;
            // The owner may report several at once.
            late = Some(update.number);
            if self.rng.random_bool(0.7) {
                self.f.manager.written(self.f.now, update.number).unwrap();
                late = None;
            }
        }
        if let Some(number) = late {
            self.f.manager.written(self.f.now, number).unwrap();
        }
        for (key, survey) in have(&self.f) {
            let (group, _) = self.f.manager.members(key).unwrap();
            if self.f.manager.unroutable(key).is_none() && !survey.is_whole(group) {
                return Err(format!("group {key} is not whole"));
            }
        }
        self.f.manager.audit()
    }
}

#[test]
fn mc_09_no_loop_and_no_black_hole_between_any_two_writes() {
    let seed = seed();
    let networks = [
        network("torus:4x4,1"),
        network("leaf-spine:5,2,3"),
        network("torus:3x5,1"),
        network("ft3:4"),
        network("df:4,2,1"),
    ];
    for (network, seed) in networks.into_iter().zip(seed..) {
        let mut run = Run::new(network, seed);
        for step in 0..400 {
            run.act();
            if let Err(why) = run.write() {
                panic!("seed {seed} step {step}: {why}");
            }
        }
        let counters = run.f.manager.counters();
        assert!(counters.rerouted > 20 && run.updates > 200, "{counters:?}");
        // All leave: nothing stays.
        for cable in run.failed.clone() {
            run.f.manager.cable_restored(run.f.now, cable).unwrap();
        }
        for endnode in 0..run.f.manager.network().endnodes().len() as u32 {
            run.f.manager.endnode_failed(run.f.now, endnode);
        }
        for _ in 0..3 {
            run.f.pass(100);
        }
        assert!(run.f.is_clean(), "seed {seed}");
    }
}

#[test]
fn mc_09_clearing_before_members_have_moved_is_noticed() {
    let seed = seed();
    let mut run = Run::new(network("torus:4x4,1"), seed);
    run.f.join_all(1, 1, &[0, 5, 10]);
    run.f.pass(1);
    let id = run.f.id(1).unwrap();
    let (group, leader) = run.f.manager.members(1).unwrap();
    let (_, tree) = run.f.manager.tree(1).unwrap();
    let entries = table::entries(run.f.manager.network(), group, tree, leader).unwrap();
    let order: Vec<_> = entries.iter().map(|(s, _)| *s).collect();
    let update = Update {
        number: 99,
        key: 1,
        writes: update::clear(id, &order),
    };
    assert_eq!(run.f.state(1), Some(State::Ready));
    let keep = have(&run.f);
    let why = step_through(&mut run.f, &update, &keep).unwrap_err();
    assert!(why.starts_with("group 1 has lost someone"), "{why}");
}
