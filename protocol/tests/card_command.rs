//! The declarations of commands: every argument has a place of its own, and every limit is what its name says.

use tributary_protocol::card::command::argument::{
    create_qp, modify_qp, open_window, query_qp, set_region,
};
use tributary_protocol::card::command::{
    Argument, Arguments, Built, CALLS, Command, Limit, State, Status, TRANSITIONS,
};

const BUILT: Built = Built {
    queue_pairs: 16,
    regions: 32,
    vectors: 4,
};

fn with(argument: &Argument, value: u64) -> Arguments {
    let mut registers = Arguments::default();
    argument.put(&mut registers, value);
    registers
}

#[test]
fn each_command_is_declared_once_and_its_arguments_share_no_bit() {
    assert_eq!(CALLS.len(), Command::ALL.len());
    for command in Command::ALL {
        let call = command.call();
        assert_eq!(call.command, *command);
        let mut used = Arguments::default();
        let mut names = Vec::new();
        for argument in call.arguments {
            let ones = with(argument, u64::MAX);
            let bits: u32 = ones.iter().map(|word| word.count_ones()).sum();
            assert_eq!(bits, argument.width.into(), "{}", argument.name);
            for (used, new) in used.iter_mut().zip(ones) {
                assert_eq!(*used & new, 0, "{command} {}", argument.name);
                *used |= new;
            }
            assert_eq!(argument.get(&ones), u64::MAX >> (64 - argument.width));
            assert!(!names.contains(&argument.name) && !argument.doc.is_empty());
            names.push(argument.name);
        }
        let looked_at = used
            .iter()
            .rposition(|word| *word != 0)
            .map_or(0, |at| at + 1);
        assert_eq!(call.registers(), looked_at, "{command}");
        assert!(call.results.iter().all(|result| result.register < 2));
        assert!(!call.effect.is_empty());
    }
}

#[test]
fn an_argument_of_64_bits_has_its_upper_half_in_the_next_register() {
    let registers = with(&create_qp::RECEIVE_BASE, 0x0123_4567_89ab_cdc0);
    assert_eq!((registers[6], registers[7]), (0x89ab_cdc0, 0x0123_4567));
    assert_eq!(
        create_qp::RECEIVE_BASE.get(&registers),
        0x0123_4567_89ab_cdc0
    );
    assert_eq!(set_region::LENGTH.field().width, 32);
}

#[test]
fn putting_a_value_changes_its_bits_alone() {
    for argument in CALLS.iter().flat_map(|call| call.arguments) {
        let ones = with(argument, u64::MAX);
        let mut all = [u32::MAX; 16];
        argument.put(&mut all, 0u64);
        let cleared: Vec<u32> = all.iter().map(|word| !word).collect();
        assert_eq!(cleared, ones, "{}", argument.name);
    }
}

#[test]
fn values_outside_of_their_limits_are_refused() {
    let taken = |argument: &Argument, registers: Arguments| argument.is_taken(&registers, &BUILT);
    let raw = |register: usize, value: u32| {
        let mut registers = Arguments::default();
        registers[register] = value;
        registers
    };
    assert!(taken(&create_qp::SEND_LOG, raw(0, u32::MAX)));
    assert!(taken(&create_qp::VECTOR, with(&create_qp::VECTOR, 3)));
    assert!(!taken(&create_qp::VECTOR, with(&create_qp::VECTOR, 4)));
    assert!(taken(
        &create_qp::COMPLETE_BASE,
        with(&create_qp::COMPLETE_BASE, 64)
    ));
    assert!(!taken(
        &create_qp::COMPLETE_BASE,
        with(&create_qp::COMPLETE_BASE, 96)
    ));
    for state in State::ALL {
        assert!(taken(&modify_qp::STATE, raw(0, state.code().into())));
    }
    for state in [5, 6, 7] {
        assert!(!taken(&modify_qp::STATE, raw(0, state)), "{state}");
    }
    assert!(taken(&open_window::QPN, raw(0, 15)));
    for qpn in [16, 17, 1 << 23] {
        assert!(!taken(&open_window::QPN, raw(0, qpn)), "{qpn}");
    }
    let region = |base: u64, length: u64| {
        let mut registers = with(&set_region::BASE, base);
        set_region::LENGTH.put(&mut registers, length);
        registers
    };
    assert!(matches!(set_region::LENGTH.limit, Limit::BytesFrom(_)));
    for (base, length, good) in [
        (0, 0, false),
        (0, 1, true),
        (0, u64::MAX, true),
        (1, u64::MAX, true),
        (2, u64::MAX, false),
        (u64::MAX, 1, true),
        (u64::MAX, 2, false),
    ] {
        let found = taken(&set_region::LENGTH, region(base, length));
        assert_eq!(found, good, "{base:#x} {length:#x}");
    }
}

#[test]
fn the_index_is_checked_before_the_arguments() {
    let bad = with(&set_region::LENGTH, 0);
    let check = |command: Command, index| command.call().check(index, &bad, &BUILT);
    assert_eq!(check(Command::SetRegion, 32), Err(Status::BadIndex));
    assert_eq!(check(Command::SetRegion, 31), Err(Status::BadArgument));
    assert_eq!(check(Command::QueryQp, 16), Err(Status::BadIndex));
    assert_eq!(check(Command::CloseWindow, 255), Ok(()));
    assert_eq!(check(Command::CloseWindow, 256), Err(Status::BadIndex));
}

#[test]
fn states_lead_forward_and_to_error_only() {
    for (from, to) in TRANSITIONS {
        assert!(*from != State::Reset && to.code() > from.code() || *to == State::Error);
    }
    assert!(State::ReadyToSend.leads_to(State::Error) && !State::Init.leads_to(State::ReadyToSend));
    assert!(State::Init.posts() && !State::Init.receives() && !State::ReadyToReceive.sends());
    assert!(!State::Error.posts() && !State::Error.receives() && !State::Error.sends());
    let mut results = [0; 2];
    query_qp::STATE.put(&mut results, State::Error.code());
    query_qp::EPOCH.put(&mut results, 0xffffu16);
    assert_eq!(results, [4, 0xffff]);
    assert_eq!(query_qp::EPOCH.get(&results), 0xffff);
}
