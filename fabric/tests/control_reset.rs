//! The manager of a running fabric: switches that lose their tables.

mod control_common;
mod manager_common;

use control_common::{Fabric, others};
use manager_common::network;
use tributary_fabric::Leader;
use tributary_fabric::control::Control;
use tributary_protocol::red::regs;

/// log2 of the trees of each switch.
const TREE_BITS: u8 = 5;

/// Every switch loses its tables once, alone and while a cable of it is down: the next mend finds it and writes all of it.
#[test]
fn cl_03_a_switch_that_was_reset_gets_its_whole_tables_and_trees_again() {
    let switches = network("ft3:4").switch_count();
    for switch in 0..switches {
        let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
        let mut control = fabric.manager();
        let all: Vec<u32> = (0..fabric.hosts()).collect();
        let group = control.add_group(&all, 3, &mut fabric).unwrap();
        let tree = control.tell(group).unwrap();
        let part = [all[0], all[1]];
        let small = control.add_group(&part, all[0], &mut fabric).unwrap();
        let small = control.tell(small).unwrap();
        assert!(fabric.is_whole());
        fabric.reset(switch);
        assert!(!fabric.is_whole(), "switch {switch}");
        let mended = control.mend(&mut fabric).unwrap();
        assert_eq!(mended.reset, [switch]);
        assert_eq!((mended.trees.len(), mended.lost.len()), (0, 0));
        assert!(fabric.is_whole(), "switch {switch}");
        assert_eq!(fabric.on_tree(3, tree), others(&all, 3), "switch {switch}");
        assert_eq!(fabric.on_tree(all[0], small), others(&part, all[0]));
        assert_eq!(control.mend(&mut fabric).unwrap().reset, []);

        // With a cable that fails while it is empty, and that comes back when it is empty again.
        let cable = control.network().links(switch)[0].cable;
        fabric.reset(switch);
        fabric.cut.insert(cable);
        let mended = control.cable_failed(cable, &mut fabric).unwrap();
        assert_eq!(mended.reset, [switch]);
        assert!(fabric.is_whole(), "switch {switch}");
        let tree = control.tell(group).unwrap();
        assert_eq!(fabric.on_tree(3, tree), others(&all, 3), "switch {switch}");
        fabric.reset(switch);
        fabric.cut.clear();
        let mended = control.cable_restored(cable, &mut fabric).unwrap();
        assert_eq!(mended.reset, [switch]);
        assert!(fabric.is_whole(), "switch {switch}");
        assert_eq!(fabric.on_tree(3, tree), others(&all, 3), "switch {switch}");
    }
}

/// The contributions of a leader that contributes come back to it, on its first tree, on the one that takes its place, and at a switch
/// that has lost its tables; the group's leader stays what it was.
#[test]
fn cl_06_a_leader_contributes_on_every_tree_that_its_group_gets() {
    let switches = network("ft3:4").switch_count();
    for switch in 0..switches {
        let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
        let mut control = fabric.manager();
        let all: Vec<u32> = (0..fabric.hosts()).collect();
        let leader = Leader::contributing(3);
        let group = control.add_group(&all, leader, &mut fabric).unwrap();
        let plain = control.add_group(&all, 3, &mut fabric).unwrap();
        let check = |control: &mut Control, fabric: &mut Fabric| {
            let tree = control.tell(group).unwrap();
            assert_eq!(control.routed(group).unwrap().leader, leader);
            for &from in &all {
                assert_eq!(fabric.contribution(from, tree), [3].into(), "from {from}");
            }
            assert_eq!(fabric.on_tree(3, tree), others(&all, 3));
            // What a leader sends that only sends down goes down.
            let tree = control.tell(plain).unwrap();
            assert_eq!(fabric.contribution(3, tree), others(&all, 3));
            tree
        };
        let first = check(&mut control, &mut fabric);
        fabric.reset(switch);
        control.mend(&mut fabric).unwrap();
        assert_eq!(check(&mut control, &mut fabric), first);
        let cable = control.routed(group).unwrap().tree.cables().next().unwrap();
        fabric.cut.insert(cable);
        let mended = control.cable_failed(cable, &mut fabric).unwrap();
        assert!(!mended.trees.is_empty());
        check(&mut control, &mut fabric);
        fabric.reset(switch);
        control.mend(&mut fabric).unwrap();
        check(&mut control, &mut fabric);
    }
}

/// A switch is off, and known to be; when it comes back it is empty.
#[test]
fn cl_03_a_switch_that_was_off_is_written_anew_when_its_cables_come_back() {
    let plan = network("ft3:4");
    for switch in 0..plan.switch_count() {
        let mut fabric = Fabric::new(plan.clone(), TREE_BITS);
        let mut control = fabric.manager();
        let all: Vec<u32> = (0..fabric.hosts()).collect();
        let group = control.add_group(&all, 3, &mut fabric).unwrap();
        fabric.silent.insert(switch);
        control.switch_failed(switch, &mut fabric).unwrap();
        fabric.silent.clear();
        fabric.reset(switch);
        let cables: Vec<u32> = (0..plan.cables().len() as u32)
            .filter(|&cable| !control.network().is_up(cable))
            .collect();
        for cable in cables {
            control.cable_restored(cable, &mut fabric).unwrap();
        }
        assert!(fabric.is_whole(), "switch {switch}");
        let tree = control.tell(group).unwrap();
        assert_eq!(fabric.on_tree(3, tree), others(&all, 3), "switch {switch}");
    }
}

/// Whichever write of the mend is the last that is answered: the next mend makes the switch whole, and until then its ports are off.
#[test]
fn cl_03_a_reset_switch_that_stops_answering_is_made_whole_by_a_later_mend() {
    let (switch, mut ended) = (0, false);
    for left in (0..).step_by(3) {
        let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
        let mut control = fabric.manager();
        let all: Vec<u32> = (0..fabric.hosts()).collect();
        let group = control.add_group(&all, 3, &mut fabric).unwrap();
        fabric.reset(switch);
        fabric.left = Some(left);
        ended = control.mend(&mut fabric).is_ok();
        fabric.left = None;
        if !ended {
            control.mend(&mut fabric).unwrap();
        }
        assert!(fabric.is_whole(), "{left} writes");
        let tree = control.tell(group).unwrap();
        assert_eq!(fabric.on_tree(3, tree), others(&all, 3), "{left} writes");
        if ended {
            assert!(left > 20, "{left} writes");
            break;
        }
    }
    assert!(ended);
}

/// What stood in the registers when the manager began, whoever wrote it, comes back too.
#[test]
fn cl_03_cl_04_settings_of_a_switch_come_back_after_a_reset() {
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let engine_off = regs::PORT_ENABLE.put(1);
    let settings = [
        (regs::MODE.offset, 1),
        (regs::ETHERTYPE.offset, 0x88b6),
        (regs::ECN_THRESHOLD.offset, 321),
        (regs::THRESHOLD1.offset, 65),
        (regs::TIMEOUT3.offset, 25_000),
        (regs::port_offset(2, &regs::PORT_ADDRESS), 0x1234_5678),
        (regs::port_offset(1, &regs::PORT_CONTROL), engine_off),
    ];
    for (offset, value) in settings {
        fabric.switches[4].write(offset, value).unwrap();
    }
    let mut control = fabric.manager();
    fabric.reset(4);
    assert_eq!(control.mend(&mut fabric).unwrap().reset, [4]);
    for (offset, value) in settings {
        assert_eq!(fabric.switches[4].read(offset), Ok(value), "{offset:#x}");
    }
}

/// A switch with the first version of the registers has no threshold for marks; the rest of it comes back all the same.
#[test]
fn cl_04_a_switch_from_before_marks_is_managed_as_before() {
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    fabric.old = Some(4);
    fabric.switches[4].write(regs::MODE.offset, 1).unwrap();
    let mut control = fabric.manager();
    fabric.reset(4);
    assert_eq!(control.mend(&mut fabric).unwrap().reset, [4]);
    assert_eq!(fabric.switches[4].read(regs::MODE.offset), Ok(1));
    assert!(fabric.is_whole());
}

/// One port that somebody has disabled is no reset; a switch that does not answer is told of, and keeps nobody else from being mended.
#[test]
fn cl_03_a_disabled_port_is_no_reset_and_a_silent_switch_is_named() {
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let mut control = fabric.manager();
    let offset = regs::port_offset(0, &regs::PORT_CONTROL);
    fabric.switches[2].write(offset, 0).unwrap();
    fabric.silent.insert(7);
    fabric.reset(1);
    let mended = control.mend(&mut fabric).unwrap();
    assert_eq!((mended.reset, mended.unanswered), (vec![1], vec![7]));
    assert_eq!(fabric.switches[2].read(offset), Ok(0));
    fabric.switches[2].write(offset, 3).unwrap();
    fabric.silent.clear();
    assert!(fabric.is_whole());
}
