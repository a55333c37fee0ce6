//! Registers, commands, doorbells, reset.

use tributary_protocol::card::command::{Command, State, Status};
use tributary_protocol::card::regs::{self, Counter, GLOBAL, doorbell};
use tributary_protocol::registers::Access;
use tributary_protocol::xud::Peer;

use crate::bench::{DATA, DATA_KEY, Host, exchange, work};

const LOGS: [u8; 3] = [3, 3, 4];

#[test]
fn registers_read_as_declared_after_reset_and_keep_their_fields_only() {
    let mut host = Host::new(7);
    host.write(&regs::CONTROL, 2);
    let mut bad = 0;
    for register in GLOBAL {
        let sizes = 2 | 3 << 8 | 6 << 16 | 1 << 24;
        let expected = match register.access {
            _ if *register == regs::SIZES => sizes,
            _ => register.reset,
        };
        assert_eq!(host.read(register), expected, "{}", register.name);
        let special = [regs::CONTROL, regs::COMMAND].contains(register);
        if !special {
            host.write(register, register.mask());
            let kept = match register.access {
                Access::ReadWrite => register.mask(),
                _ => expected,
            };
            // As the RTL counts it.
            bad += u64::from(register.access == Access::ReadOnly);
            assert_eq!(host.read(register), kept, "{}", register.name);
            // A number that is too large is refused whole.
            for bit in (0..32).filter(|bit| register.mask() >> bit & 1 == 0) {
                host.write(register, 1 << bit);
                bad += 1;
                assert_eq!(host.read(register), kept, "{} bit {bit}", register.name);
            }
        }
    }
    assert_eq!(host.count(Counter::BadWrite), bad);
}

#[test]
fn bar0_ends_behind_the_last_doorbell_page_at_a_power_of_two() {
    for (log, bytes) in [
        (4, 128 << 10),
        (6, 512 << 10),
        (10, 8 << 20),
        (11, 16 << 20),
    ] {
        assert_eq!(regs::bar0_bytes(log), bytes);
        let last = doorbell((1 << log) - 1, &regs::DOORBELL_ARM);
        assert!(last < bytes && bytes / 2 < last);
    }
}

#[test]
fn writes_where_nothing_is_are_counted_and_do_nothing() {
    let mut host = Host::new(0);
    let nowhere = [
        0x100,
        0x1000,
        0x2020,
        0x3000,
        0x3004,
        0x1_0004,
        0x1_0020,
        0x21,
        u32::MAX - 3,
    ];
    for (count, offset) in nowhere.into_iter().enumerate() {
        host.card.write(offset, u32::MAX);
        assert_eq!(
            host.count(Counter::BadWrite),
            count as u64 + 1,
            "{offset:#x}"
        );
        assert_eq!(host.card.read(offset), 0);
    }
    // The doorbells of a queue pair that the card does not have.
    host.card.write(0x1_4000, 1);
    assert_eq!(host.count(Counter::BadDoorbell), 1);
}

#[test]
fn statistics_are_copied_when_selected() {
    let mut host = Host::new(0);
    host.card.write(0x100, 0);
    host.write(&regs::STATISTICS_SELECT, Counter::BadWrite.code().into());
    host.card.write(0x100, 0);
    assert_eq!(host.read(&regs::STATISTICS_LOW), 1);
    host.write(&regs::STATISTICS_SELECT, 200);
    assert_eq!(host.read(&regs::STATISTICS_LOW), 0);
}

#[test]
fn commands_refuse_what_cannot_be() {
    use Command::*;
    let mut host = Host::new(0);
    let good = Host::shape(1, LOGS);
    let with = |at: usize, value: u32| {
        let mut args = good;
        args[at] = value;
        args
    };
    let create = |host: &mut Host, args: [u32; 10]| host.command(CreateQp, 1, &args).0;
    for (at, value) in [
        (0, good[0] | 2 << 24),
        (2, 1 << 16),
        (3, 1 << 24),
        (4, 32),
        (6, 8),
        (8, 1),
    ] {
        assert_eq!(
            create(&mut host, with(at, value)),
            Status::BadArgument,
            "{at}"
        );
    }
    assert_eq!(host.command(CreateQp, 4, &good).0, Status::BadIndex);
    assert_eq!(
        host.command(SetRegion, 8, &[0, 0, 0, 0, 1, 0]).0,
        Status::BadIndex
    );
    assert_eq!(
        host.command(SetRegion, 1, &[0, 0, 0, 0, 0, 0]).0,
        Status::BadArgument,
        "empty"
    );
    let wraps = [0, 0, 1, u32::MAX, 0, 1];
    assert_eq!(host.command(SetRegion, 1, &wraps).0, Status::BadArgument);
    assert_eq!(host.command(ClearRegion, 8, &[]).0, Status::BadIndex);
    for command in [ModifyQp, DestroyQp, NextEpoch] {
        assert_eq!(
            host.command(command, 1, &[2]).0,
            Status::BadState,
            "{command}"
        );
    }
    host.write(&regs::COMMAND, 99);
    host.step();
    assert_eq!(
        regs::STATUS_CODE.get(host.read(&regs::STATUS)),
        Status::BadCommand.code().into()
    );
    assert_eq!(create(&mut host, good), Status::Ok);
    assert_eq!(create(&mut host, good), Status::BadState);
    assert_eq!(host.command(ModifyQp, 1, &[9]).0, Status::BadArgument);
}

#[test]
fn a_queue_pair_goes_through_its_states_as_declared() {
    for from in State::ALL {
        for to in State::ALL {
            let mut host = Host::new(0);
            let way: &[State] = match from {
                State::Reset => continue,
                State::Init => &[],
                State::ReadyToReceive => &[State::ReadyToReceive],
                State::ReadyToSend => &[State::ReadyToReceive, State::ReadyToSend],
                State::Error => &[State::Error],
            };
            host.create(1, LOGS);
            way.iter()
                .for_each(|state| assert_eq!(host.modify(1, *state), Status::Ok));
            let expected = if from.leads_to(*to) {
                Status::Ok
            } else {
                Status::BadState
            };
            assert_eq!(host.modify(1, *to), expected, "{from} to {to}");
            let state = if expected == Status::Ok { to } else { from };
            let (_, found) = host.command(Command::QueryQp, 1, &[]);
            assert_eq!(found, u32::from(state.code()));
        }
    }
}

#[test]
fn a_command_while_one_runs_is_ignored() {
    let mut host = Host::new(0);
    host.write(&regs::COMMAND, u32::from(Command::QueryQp.code()));
    host.write(&regs::COMMAND, 99);
    host.step();
    assert_eq!(
        regs::STATUS_CODE.get(host.read(&regs::STATUS)),
        Status::Ok.code().into()
    );
}

#[test]
fn doorbells_beyond_the_ring_or_of_no_queue_pair_are_counted_and_ignored() {
    let mut host = Host::new(0);
    let doorbells = [
        &regs::DOORBELL_SEND,
        &regs::DOORBELL_RECEIVE,
        &regs::DOORBELL_COMPLETE,
        &regs::DOORBELL_ARM,
    ];
    for register in doorbells {
        host.card.write(doorbell(1, register), 1);
    }
    assert_eq!(host.count(Counter::BadDoorbell), 4, "no queue pair");
    host.connect(1, LOGS);
    for index in [9, 0x8000, 0xFFFF] {
        host.card.write(doorbell(1, &regs::DOORBELL_SEND), index);
        host.card.write(doorbell(1, &regs::DOORBELL_RECEIVE), index);
        host.card
            .write(doorbell(1, &regs::DOORBELL_COMPLETE), index);
    }
    host.card.write(doorbell(1, &regs::DOORBELL_COMPLETE), 1);
    assert_eq!(host.count(Counter::BadDoorbell), 14);
    let before = host.memory.accesses.len();
    host.step();
    assert_eq!(host.memory.accesses.len(), before, "no ring was looked at");
    // A full ring is as good as any.
    host.card.write(doorbell(1, &regs::DOORBELL_RECEIVE), 8);
    assert_eq!(host.count(Counter::BadDoorbell), 14);
    assert_eq!(host.modify(1, State::Error), Status::Ok);
    host.card.write(doorbell(1, &regs::DOORBELL_SEND), 1);
    assert_eq!(
        host.count(Counter::BadDoorbell),
        15,
        "nothing is posted in the state Error"
    );
}

#[test]
fn destruction_leaves_nothing_a_thousand_times() {
    let mut hosts = [Host::new(0), Host::new(1)];
    for round in 0..1_000 {
        for host in &mut hosts {
            host.connect(1, LOGS);
        }
        hosts[1].post_receive(1, DATA, 64, DATA_KEY);
        hosts[1].post_receive(1, DATA, 64, DATA_KEY);
        let to = Peer { node: 1, qpn: 1 };
        let mut request = work(to, DATA, 8);
        let (_, _) = hosts[1].command(Command::QueryQp, 1, &[]);
        request.window.epoch = hosts[1].read(&regs::RESULT1) as u16;
        hosts[0].post_send(1, &request);
        exchange(&mut hosts);
        // One is left in flight, one in the ring.
        hosts[0].post_send(1, &request);
        hosts[0].step();
        assert_eq!(hosts[0].card.in_flight(), 1, "{round}");
        while hosts[0].card.next_frame(0).is_some() {}
        hosts[0].post_send(1, &request);
        for host in &mut hosts {
            assert_eq!(host.command(Command::DestroyQp, 1, &[]).0, Status::Ok);
            assert_eq!((host.card.in_flight(), host.card.queue_pairs()), (0, 0));
            host.memory.accesses.clear();
            host.step();
            assert!(
                host.memory.accesses.is_empty(),
                "its memory is not touched again"
            );
        }
    }
    assert_eq!(hosts[0].count(Counter::Acknowledged), 1_000);
}

#[test]
fn xud_06_a_reset_forgets_everything_but_the_epochs() {
    let mut hosts = [Host::new(0), Host::new(1)];
    hosts.iter_mut().for_each(|host| host.connect(1, LOGS));
    hosts[0].post_send(1, &work(Peer { node: 1, qpn: 1 }, DATA, 8));
    hosts[0].step();
    for (function_level, host) in hosts.iter_mut().enumerate() {
        if function_level == 1 {
            host.card.reset();
        } else {
            host.write(&regs::CONTROL, 2);
        }
        assert_eq!(
            (
                host.card.in_flight(),
                host.card.queue_pairs(),
                host.card.regions()
            ),
            (0, 0, 0)
        );
        assert!(Counter::ALL.iter().all(|counter| host.count(*counter) == 0));
        assert_eq!(host.card.next_frame(0), None);
        host.start(0);
        assert_eq!(host.create(1, LOGS), 2, "no epoch is handed out again");
        assert_eq!(
            host.card.read(regs::MSIX_TABLE + 12),
            1,
            "vectors are masked"
        );
    }
}

#[test]
fn a_card_that_is_not_enabled_neither_sends_nor_receives() {
    let mut hosts = [Host::new(0), Host::new(1)];
    hosts.iter_mut().for_each(|host| host.connect(1, LOGS));
    hosts[0].write(&regs::CONTROL, 0);
    hosts[0].post_send(1, &work(Peer { node: 1, qpn: 1 }, DATA, 8));
    assert_eq!(exchange(&mut hosts), 0);
    hosts[0].write(&regs::CONTROL, 1);
    assert!(exchange(&mut hosts) > 0);
}
