//! One behaviour at a time.

use super::bench::{Bench, Command, Event, GROUPS, Seen, ends, entry, library};
use tributary_protocol::multicast::ring::{ALL, EndCode, Entry, EntryKind, Opening, Operation};
use tributary_sim::verilate::Verilated;

pub fn opening(base: u64) -> Opening {
    Opening {
        base,
        log: 4,
        watchdog: 3,
        timed: true,
        origin: u32::MAX - 1,
    }
}

/// Opens groups, each with one send that waits for a credit, and waits until they wait.
fn waiting(bench: &mut Bench, groups: usize) -> Result<(), String> {
    for group in 0..groups {
        let opening = opening(0x1000 * (group as u64 + 1));
        let send = entry(EntryKind::Send, 2, opening.origin.wrapping_add(1));
        let done = entry(EntryKind::Done, ALL, opening.origin.wrapping_add(1));
        let posted = bench.write(&opening, 0, &[send, done]);
        bench.commands.push_back(Command::Open(group, opening));
        bench.commands.push_back(Command::Doorbell(group, posted));
    }
    bench.settle()
}

fn starts(bench: &Bench) -> Vec<usize> {
    let of = bench.seen.iter().filter_map(|seen| match seen {
        Seen::Start(group, _) => Some(*group),
        _ => None,
    });
    of.collect()
}

/// Of sixteen groups that wait, one gets what it waits for.
pub fn waiting_groups(library: &Verilated) -> Result<(), String> {
    let mut bench = Bench::new(library, 0).free();
    waiting(&mut bench, GROUPS)?;
    let wrong = |bench: &Bench| Err(format!("{:?}", bench.seen));
    if !starts(&bench).is_empty() {
        return wrong(&bench);
    }
    bench.events.push_back(Event::Credit(9, 2, u32::MAX));
    bench.settle()?;
    if starts(&bench) != [9] {
        return wrong(&bench);
    }
    bench.events.push_back(Event::Sent(9));
    bench.settle()?;
    match bench.seen.last() {
        Some(Seen::Done(9, _)) => Ok(()),
        _ => wrong(&bench),
    }
}

#[test]
fn mb_16_groups_that_wait_in_rtl_do_not_stop_another() {
    waiting_groups(library()).unwrap();
}

/// A group is stopped while reads of its ring are under way; its place is free when they have come.
pub fn closing(library: &Verilated) -> Result<(), String> {
    let mut bench = Bench::new(library, 5).free();
    bench.latency = 2_000;
    let opening = opening(0x4000);
    let send = entry(EntryKind::Send, 2, opening.origin);
    let posted = bench.write(&opening, 0, &[send; 5]);
    bench.commands.push_back(Command::Open(3, opening));
    bench.commands.push_back(Command::Doorbell(3, posted));
    for _ in 0..700 {
        bench.clock()?;
    }
    for command in [
        Command::Stop(3),
        Command::Close(3),
        Command::Open(3, opening),
    ] {
        bench.commands.push_back(command);
    }
    bench.settle()?;
    bench.commands.push_back(Command::Close(3));
    bench.commands.push_back(Command::Open(3, opening));
    bench.settle()?;
    let answers: Vec<(Operation, bool)> = bench
        .seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Answer(operation, 3, ok) if *operation != Operation::Entry => {
                Some((*operation, *ok))
            }
            _ => None,
        })
        .skip(2)
        .collect();
    let right = [
        (Operation::Stop, true),
        (Operation::Close, false),
        (Operation::Open, false),
        (Operation::Close, true),
        (Operation::Open, true),
    ];
    match answers == right && starts(&bench).is_empty() {
        true => Ok(()),
        false => Err(format!("{answers:?}")),
    }
}

#[test]
fn mb_16_a_place_in_rtl_is_free_when_the_reads_of_its_ring_have_come() {
    closing(library()).unwrap();
}

#[test]
fn mb_16_the_watchdog_in_rtl_ends_each_group_that_waits_with_one_completion() {
    let mut bench = Bench::new(library(), 1).free();
    waiting(&mut bench, GROUPS).unwrap();
    for _ in 0..5 {
        bench.ticks = 1;
        bench.settle().unwrap();
    }
    for group in 0..GROUPS {
        assert_eq!(ends(&bench.seen, group), [EndCode::Watchdog]);
    }
    // Their places can be used again.
    for group in 0..GROUPS {
        bench.commands.push_back(Command::Close(group));
    }
    waiting(&mut bench, GROUPS).unwrap();
    bench.events.push_back(Event::Credit(0, 2, u32::MAX));
    bench.settle().unwrap();
    assert_eq!(starts(&bench), [0]);
}

#[test]
fn mb_16_stop_in_rtl_drains_then_flushes() {
    let mut bench = Bench::new(library(), 2).free();
    waiting(&mut bench, 2).unwrap();
    bench.events.push_back(Event::Credit(0, 2, u32::MAX));
    bench.settle().unwrap();
    bench.commands.push_back(Command::Stop(0));
    bench.commands.push_back(Command::Stop(1));
    bench.commands.push_back(Command::Stop(1));
    bench.settle().unwrap();
    // Nothing of group 1 was under way.
    assert_eq!(ends(&bench.seen, 1), [EndCode::Stopped]);
    assert_eq!(ends(&bench.seen, 0), []);
    bench.events.push_back(Event::Sent(0));
    bench.settle().unwrap();
    assert_eq!(ends(&bench.seen, 0), [EndCode::Stopped]);
}

/// Commands and events that cannot be, some for groups whose number is that of another plus 16. All are refused.
pub fn refused(library: &Verilated) -> Result<Bench, String> {
    let mut bench = Bench::new(library, 3).free();
    waiting(&mut bench, 3)?;
    let wrong = |change: fn(&mut Opening)| {
        let mut opening = opening(0x8000);
        change(&mut opening);
        opening
    };
    for command in [
        Command::Open(0, opening(0x8000)),
        Command::Open(5, wrong(|o| o.base = 0x8010)),
        Command::Open(5, wrong(|o| o.log = 0)),
        Command::Open(GROUPS, opening(0x8000)),
        Command::Doorbell(0, 1),
        Command::Doorbell(0, 19),
        Command::Doorbell(6, 1),
        Command::Doorbell(255, 1),
        Command::Doorbell(GROUPS + 1, 3),
        Command::Stop(GROUPS + 1),
        Command::Stop(6),
        Command::Close(0),
        Command::Close(6),
    ] {
        bench.commands.push_back(command);
    }
    for event in [
        Event::Begin(0, 2),
        Event::Begin(0, ALL),
        Event::Landed(0, 1),
        Event::Sent(0),
        Event::Sent(GROUPS + 3),
        Event::Credit(GROUPS, 2, u32::MAX),
        Event::Failed(GROUPS, 2),
        Event::Failed(0, ALL),
        Event::Failed(8, 1),
        Event::Credit(0, ALL, u32::MAX),
        Event::Credit(0, 2, u32::MAX - 1),
        Event::Credit(200, 2, u32::MAX),
    ] {
        bench.events.push_back(event);
    }
    bench.seen.clear();
    bench.settle()?;
    let refused = |seen: &Seen| matches!(seen, Seen::Answer(_, _, false));
    match bench.seen.iter().all(refused) && bench.seen.len() == 25 {
        true => Ok(bench),
        false => Err(format!("{:?}", bench.seen)),
    }
}

#[test]
fn mb_16_wrong_commands_entries_and_events_in_rtl_are_answered_and_end_at_most_their_group() {
    let mut bench = refused(library()).unwrap();
    // Entries: without a kind, a send to nobody, a done to somebody, one that cannot be read.
    bench.memory.insert(0x1000 + 64, [0; 4]);
    let send = entry(EntryKind::Send, ALL, 0).words();
    bench.memory.insert(0x2000 + 64, send);
    bench.bad.push(0x3000 + 64);
    for group in 0..3 {
        bench.commands.push_back(Command::Doorbell(group, 3));
    }
    bench.settle().unwrap();
    for (group, code) in [EndCode::Entry, EndCode::Entry, EndCode::Read]
        .into_iter()
        .enumerate()
    {
        assert_eq!(ends(&bench.seen, group), [code]);
    }
}

#[test]
fn mb_16_an_output_that_is_stopped_stops_no_other_and_no_event() {
    // Starts of group 0 are not taken; group 1 grants, ends and is commanded meanwhile.
    let mut bench = Bench::new(library(), 4).free();
    waiting(&mut bench, 2).unwrap();
    bench.stop_starts = true;
    let origin = u32::MAX - 1;
    for _ in 0..2 {
        bench.events.push_back(Event::Credit(0, 2, u32::MAX));
        bench.events.push_back(Event::Credit(1, 2, u32::MAX));
    }
    let other = opening(0x9000);
    let entries = [
        entry(EntryKind::Grant, 4, origin.wrapping_add(1)),
        entry(EntryKind::Done, ALL, origin),
    ];
    let posted = bench.write(&other, 0, &entries);
    bench.commands.push_back(Command::Open(7, other));
    bench.commands.push_back(Command::Doorbell(7, posted));
    for _ in 0..2_000 {
        bench.clock().unwrap();
    }
    let seen = |what: &Seen| bench.seen.contains(what);
    assert!(seen(&Seen::Answer(Operation::Doorbell, 7, true)));
    assert!(seen(&Seen::Grant(7, 4, origin.wrapping_add(1))));
    assert!(bench.seen.iter().any(|s| matches!(s, Seen::Done(7, _))));
    assert_eq!(starts(&bench), [0]);
    bench.stop_starts = false;
    bench.settle().unwrap();
    assert_eq!(starts(&bench), [0, 1]);
}

#[test]
fn mb_16_a_send_in_rtl_starts_within_31_clocks_of_the_block_that_it_waits_for() {
    let origin = 5;
    let opening = Opening {
        origin,
        ..opening(0x1000)
    };
    let mut bench = Bench::new(library(), 6).free();
    let grant = entry(EntryKind::Grant, 1, origin + 4);
    let sends = (1..5).map(|received| Entry {
        waits: true,
        source: 1,
        received: origin + received,
        ..entry(EntryKind::Send, 2, origin + received)
    });
    let entries: Vec<Entry> = std::iter::once(grant).chain(sends).collect();
    let posted = bench.write(&opening, 0, &entries);
    bench.commands.push_back(Command::Open(0, opening));
    bench.commands.push_back(Command::Doorbell(0, posted));
    bench.settle().unwrap();
    bench.events.push_back(Event::Credit(0, 2, origin + 4));
    for phase in 0..4 {
        bench.events.push_back(Event::Begin(0, 1));
        bench.settle().unwrap();
        for _ in 0..phase {
            bench.clock().unwrap();
        }
        let before = starts(&bench).len();
        bench.events.push_back(Event::Landed(0, 1));
        let mut clocks = 0;
        while starts(&bench).len() == before {
            bench.clock().unwrap();
            clocks += 1;
        }
        assert!((26..=32).contains(&clocks), "{clocks}");
    }
}
