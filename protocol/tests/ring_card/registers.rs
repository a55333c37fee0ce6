//! Registers of schedule rings, and what they refuse.

use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::regs::{self, Counter, RINGS};
use tributary_protocol::registers::Access;

use crate::world::Host;

const OPEN: u32 = 0;
const DOORBELL: u32 = 1;

#[test]
fn mb_16_registers_of_rings_refuse_what_their_fields_do_not_hold() {
    let mut host = Host::new(1, 64);
    let mut bad = host.count(Counter::BadWrite);
    for register in RINGS {
        let kept = register.mask() & 0x5555_5555;
        match register.access {
            Access::ReadWrite => {
                host.set(register, kept);
                assert_eq!(host.get(register), kept, "{}", register.name);
            }
            Access::ReadOnly => {
                host.set(register, 0);
                bad += 1;
            }
            Access::WriteOnly => assert_eq!(host.get(register), 0, "{}", register.name),
        }
        for bit in (0..32).filter(|bit| register.spare() >> bit & 1 == 1) {
            let before = host.get(register);
            host.set(register, 1 << bit);
            bad += 1;
            assert_eq!(host.get(register), before, "{} bit {bit}", register.name);
        }
        assert_eq!(host.count(Counter::BadWrite), bad, "{}", register.name);
    }
    assert_eq!((host.get(&regs::RING_ANSWER), host.refused()), (0, 0));
}

#[test]
fn mb_16_a_card_without_rings_has_no_registers_of_rings() {
    for (groups, has) in [(0, 0), (1, 1), (64, 1)] {
        let mut host = Host::new(1, groups);
        let features = host.get(&regs::FEATURES);
        assert_eq!(regs::FEATURES_RINGS.get(features), has);
        let sizes = host.get(&regs::RING_SIZES);
        assert_eq!(regs::RING_SIZES_GROUPS.get(sizes), groups.into());
        let before = host.count(Counter::BadWrite);
        host.set(&regs::RING_ORIGIN, 7);
        let written = u64::from(has);
        assert_eq!(host.get(&regs::RING_ORIGIN), 7 * has);
        assert_eq!(host.count(Counter::BadWrite), before + 1 - written);
    }
}

#[test]
fn mb_16_a_command_is_ignored_while_another_one_waits() {
    let mut host = Host::new(1, 4);
    host.set(&regs::RING_SETTINGS, 3);
    host.set(&regs::RING_COMMAND, OPEN);
    host.set(&regs::RING_COMMAND, OPEN | 1 << 8);
    assert!(!host.card.idle());
    assert_eq!(host.get(&regs::RING_ANSWER), 1);
    host.step();
    assert_eq!(host.get(&regs::RING_ANSWER), 2);
    assert!(host.ring_command(OPEN, 1, 0), "group 1 was not opened");
    assert!(host.card.idle());
}

#[test]
fn mb_16_wrong_commands_and_bindings_are_refused_and_counted() {
    let mut host = Host::new(1, 4);
    let mut refused = 0;
    let mut no = |host: &mut Host, done: bool, what: &str| {
        refused += 1;
        assert!(!done, "{what}");
        assert_eq!(host.refused(), refused, "{what}");
    };
    let opened = host.ring_command(OPEN, 0, 0);
    no(&mut host, opened, "a ring of one entry");
    host.set(&regs::RING_SETTINGS, 3);
    let opened = host.ring_command(OPEN, 4, 0);
    no(&mut host, opened, "a group that the card does not have");
    assert!(host.ring_command(OPEN, 3, 0));
    let opened = host.ring_command(OPEN, 3, 0);
    no(&mut host, opened, "an open group");
    let posted = host.ring_command(DOORBELL, 3, 9);
    no(&mut host, posted, "more entries than the ring has");
    for (what, role, group, slot, pair) in [
        ("role", 3, 0, 0, 0),
        ("group", 1, 4, 0, 0),
        ("slot", 1, 0, 63, 0),
        ("queue pair", 2, 0, 0, 32),
    ] {
        host.bind(role, group, slot, pair);
        no(&mut host, false, what);
    }
    host.bind(2, 3, 62, 31);
    assert_eq!(host.refused(), refused);
}

#[test]
fn mb_16_a_reset_closes_every_group() {
    let mut host = Host::new(1, 4);
    assert!(host.open(2, 0, 0, false, 5));
    host.bind(0, 9, 0, 0);
    assert_eq!(host.refused(), 1);
    host.set(&regs::CONTROL, 2);
    assert_eq!((host.refused(), host.get(&regs::RING_ORIGIN)), (0, 0));
    assert!(host.open(2, 0, 0, false, 5));
}

#[test]
fn mb_16_destroy_qp_takes_a_binding_back() {
    let mut host = Host::new(1, 4);
    host.connect(4);
    host.connect(0);
    host.bind(1, 0, 0, 4);
    assert_eq!(host.command(Command::DestroyQp, 4, &[]), Status::Ok);
    host.connect(4);
    assert!(host.open(0, 0, 0, true, 0));
    host.post_receive(0, 1);
    let posted = host.write_entry(0, &[1, 0, 0, 0]);
    assert!(host.ring_command(DOORBELL, 0, posted));
    let end = host.poll(0).expect("an end");
    assert_eq!((end.length & 0xFF, end.q_key), (1, 0));
    assert_eq!(host.count(Counter::BadDoorbell), 0);
}
