//! Allocation of tree ids.

mod manager_common;

use std::collections::HashMap;

use manager_common::{rng, seed};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use tributary_fabric::ids::{IdError, TreeIds};

#[test]
fn mc_09_trees_share_an_id_only_if_they_have_no_switch_in_common() {
    let mut ids = TreeIds::new(5, 8192).unwrap();
    assert_eq!(ids.allocate(&[0, 1, 2]), Ok(0));
    assert_eq!(ids.allocate(&[3, 4]), Ok(0));
    assert_eq!(ids.allocate(&[2, 3]), Ok(1));
    assert_eq!(ids.allocate(&[0, 4]), Ok(1));
    assert_eq!(ids.allocate(&[4]), Ok(2));
    assert_eq!((ids.trees(), ids.entries(), ids.used(4)), (5, 10, 3));
    ids.release(0, &[3, 4]).unwrap();
    assert_eq!(ids.allocate(&[4]), Ok(0), "the lowest comes first");
    assert_eq!(ids.allocate(&[1, 3]), Ok(2));
}

#[test]
fn mc_09_exhaustion_and_misuse_are_errors_that_change_nothing() {
    assert_eq!(TreeIds::new(1, 0).unwrap_err(), IdError::Range { ids: 0 });
    assert_eq!(
        TreeIds::new(1, 8193).unwrap_err().to_string(),
        "tables of 8193 entries, they can have 1 to 8192"
    );
    let mut ids = TreeIds::new(3, 70).unwrap();
    for id in 0..70 {
        assert_eq!(ids.allocate(&[1]), Ok(id));
    }
    let full = ids.allocate(&[0, 1, 2]).unwrap_err();
    assert_eq!(
        full,
        IdError::Exhausted {
            ids: 70,
            fullest: 1,
            free: 0
        }
    );
    assert_eq!(ids.allocate(&[0, 2]), Ok(0));
    assert!(matches!(
        ids.allocate(&[3]),
        Err(IdError::NoSwitch { switch: 3, .. })
    ));
    assert!(ids.allocate(&[]).is_err());
    assert_eq!(
        ids.release(0, &[0, 1, 2, 7]),
        Err(IdError::NoSwitch {
            switch: 7,
            switches: 3
        })
    );
    assert_eq!(
        ids.release(1, &[1, 0]),
        Err(IdError::NotInUse { id: 1, switch: 0 })
    );
    assert!(ids.release(9999, &[1]).is_err());
    assert_eq!((ids.trees(), ids.entries()), (71, 72));
    ids.release(69, &[1]).unwrap();
    assert!(ids.release(69, &[1]).is_err(), "not twice");
}

#[test]
fn mc_09_random_ids_are_the_lowest_and_none_leaks() {
    const SWITCHES: u32 = 40;
    let seed = seed();
    let mut rng = rng(seed);
    let mut ids = TreeIds::new(SWITCHES, 100).unwrap();
    let mut live: HashMap<u32, (u16, Vec<u32>)> = HashMap::new();
    let mut all: Vec<u32> = (0..SWITCHES).collect();
    for step in 0..20_000u32 {
        if rng.random_bool(0.55) {
            let many = rng.random_range(1..12);
            let switches = all.partial_shuffle(&mut rng, many).0.to_vec();
            let taken = |id| {
                let mut trees = live.values();
                trees.any(|(i, on)| *i == id && on.iter().any(|s| switches.contains(s)))
            };
            let lowest = (0..100).find(|&id| !taken(id));
            let got = ids.allocate(&switches);
            assert_eq!(got.ok(), lowest, "seed {seed} step {step}");
            live.extend(got.ok().map(|id| (step, (id, switches))));
        } else if let Some(&key) = live.keys().min() {
            let (id, switches) = live.remove(&key).unwrap();
            assert_eq!(ids.release(id, &switches), Ok(()));
        }
        assert_eq!(ids.trees(), live.len() as u32);
    }
    for (id, switches) in live.into_values() {
        ids.release(id, &switches).unwrap();
    }
    assert_eq!((ids.trees(), ids.entries()), (0, 0), "seed {seed}");
}

#[test]
fn cl_03_ids_below_the_first_are_not_given() {
    let mut ids = TreeIds::new(2, 200).unwrap();
    assert_eq!(ids.highest(), None);
    for first in [3, 63, 64, 65, 130, 199] {
        ids.set_first(first);
        assert_eq!(ids.allocate(&[0, 1]), Ok(first));
        assert_eq!((ids.first(), ids.highest()), (first, Some(first)));
    }
    let none = IdError::Exhausted {
        ids: 200,
        fullest: 1,
        free: 0,
    };
    assert_eq!(ids.allocate(&[1]), Err(none));
    ids.release(199, &[0, 1]).unwrap();
    assert_eq!(ids.highest(), Some(130));
    ids.set_first(0);
    assert_eq!(ids.allocate(&[1]), Ok(0));
}
