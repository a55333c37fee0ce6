//! Groups that go from tree to tree as cables fail.

use std::time::Duration;

use tributary_host_driver::collective::{Options, Path};

use super::{World, communicators, host_options, quick, ranks_add_up, rng, seed, sixteen_world};

/// Whether a cable between switches works, in the fabric and for the manager.
fn set_cable(world: &World, cable: u32, up: bool) {
    let mut control = world.control.lock().unwrap();
    let set = world.cluster.with(|sim| {
        sim.set_cable(world.cables[cable as usize], up).unwrap();
        if up {
            control.cable_restored(cable, sim)
        } else {
            control.cable_failed(cable, sim)
        }
    });
    let mended = set.unwrap().unwrap();
    assert_eq!(mended.lost, []);
}

/// A cable of the first group's tree.
fn used(world: &World) -> u32 {
    let control = world.control.lock().unwrap();
    let routed = control.routed(0).unwrap();
    routed.tree.cables().next().unwrap()
}

/// Each failure moves the group to another tree. The numbers of the trees before are given back when all have moved: as soon as two
/// operations have ended on a tree, or one on each of two.
#[test]
fn cl_03_a_group_that_outlives_many_cable_failures_takes_one_number() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let options = Options {
        ask_after: Duration::from_millis(50),
        ..quick()
    };
    let mut group = communicators(&hosts, 1, Some(&world.trees), options);
    let taken = || world.control.lock().unwrap().taken();
    for round in 0..8 {
        let idle = round % 2 == 1;
        if !idle {
            ranks_add_up(&mut group, &mut rng);
            ranks_add_up(&mut group, &mut rng);
            assert_eq!(taken(), 1, "round {round}");
        }
        let cable = used(&world);
        set_cable(&world, cable, false);
        // While members may not know, the numbers of the trees before stay taken.
        assert_eq!(taken(), if idle { 3 } else { 2 }, "round {round}");
        ranks_add_up(&mut group, &mut rng);
        set_cable(&world, cable, true);
    }
    assert!(matches!(group[0].path(), Path::Switches(_)));
    assert_eq!(group[0].counters().new_trees, 8);
}

/// A group that does nothing takes the number that it knows and that of its tree, however many cables fail.
#[test]
fn cl_03_a_group_that_is_idle_while_cables_fail_takes_two_numbers() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), Options::default());
    ranks_add_up(&mut group, &mut rng);
    let taken = || world.control.lock().unwrap().taken();
    for _ in 0..8 {
        let cable = used(&world);
        set_cable(&world, cable, false);
        set_cable(&world, cable, true);
        assert_eq!(taken(), 2);
    }
    for _ in 0..3 {
        ranks_add_up(&mut group, &mut rng);
    }
    assert_eq!((taken(), group[0].counters().new_trees), (1, 1));
}
