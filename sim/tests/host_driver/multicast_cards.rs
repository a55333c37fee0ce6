//! Groups of block multicast whose cards carry the blocks (MB-16), with all that hosts say to each other.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::multicast::{
    Algorithm, ByCards, Carried, Group, GroupOptions, MulticastError, Seat, Verdict, Why,
};
use tributary_host_driver::{
    AddressHandle, BulkCounter, EndpointConfig, EndpointEvent, ProtectionDomain, ReliableEndpoint,
};
use tributary_protocol::card::model::{BulkConfig, ModelConfig};
use tributary_protocol::multicast::group::wire::{Body, Datagram, Ticket};
use tributary_protocol::multicast::group::{Control, GroupConfig};
use tributary_sim::card::{NetworkConfig, SimDevice, network};

use super::multicast::{
    BLOCK, bytes_of, cards, close, groups, identity, options, run, seats, settings,
};
use super::{BAD, config, open};

/// Groups whose cards carry the blocks.
pub fn by_cards() -> GroupOptions {
    GroupOptions {
        carried: Carried::ByCards(ByCards::default()),
        ..options()
    }
}

fn with(change: impl FnOnce(&mut ByCards)) -> GroupOptions {
    let mut cards = ByCards::default();
    change(&mut cards);
    GroupOptions {
        carried: Carried::ByCards(cards),
        ..options()
    }
}

/// Nothing of any group is left on the cards.
fn nothing_is_left(domains: &[ProtectionDomain]) {
    for domain in domains {
        assert_eq!(domain.context().in_use(), (0, 0));
        assert_eq!(domain.context().open_groups(), 0);
    }
}

/// Sends messages, closes, and compares what each has got. Each polls in its turn.
pub fn send_all(groups: &mut [Group], messages: &[Vec<u8>], what: &str) {
    let root = groups.iter().position(Group::is_root).unwrap();
    let mut got = vec![Vec::new(); groups.len()];
    for (number, message) in messages.iter().enumerate() {
        assert_eq!(groups[root].send(message).unwrap() as usize, number);
    }
    let verdicts = close(groups, &mut got);
    let messages_of = messages.len() as u32;
    let success = Verdict::Success {
        messages: messages_of,
    };
    assert!(verdicts.iter().all(|v| *v == success), "{verdicts:?}");
    for (group, got) in groups.iter_mut().zip(&mut got) {
        while let Ok(Some(message)) = group.poll() {
            got.push(message);
        }
        let right = if group.is_root() { &[] } else { messages };
        assert_eq!(got.len(), right.len(), "{what}");
        for (number, (message, right)) in got.iter().zip(right).enumerate() {
            assert_eq!(message.number() as usize, number);
            assert!(message.to_vec() == *right, "{what}, message {number}");
        }
        let counters = group.counters();
        let odd = counters.strange + counters.unexpected + counters.malformed + counters.stale;
        assert_eq!(odd, 0, "{what}: {counters:?}");
        // Every call after the end says so.
        assert!(matches!(group.poll(), Err(MulticastError::Group(_))));
        assert!(matches!(group.send(&[]), Err(MulticastError::Group(_))));
    }
}

fn random_messages(seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let block = BLOCK as usize;
    for count in 1..=9 {
        let (_, domains) = cards(count, BAD);
        let (seats, members) = seats(&domains);
        let most_blocks = random.random_range(21..64);
        let options = GroupOptions {
            root: Some(members[random.random_range(0..members.len())]),
            credits: random.random_range(2..6),
            ..with(|cards| {
                cards.most_blocks = most_blocks;
                cards.lanes = random.random_range(1..=2);
            })
        };
        let make = |seat| Group::create(seat, &members, options.clone()).unwrap();
        let mut groups: Vec<Group> = seats.into_iter().map(make).collect();
        let mut lengths = vec![1, 0, block - 1, block, block + 1, 20 * block];
        lengths.extend((0..3).map(|_| random.random_range(1..8 * block)));
        lengths.push(random.random_range(1..=most_blocks as usize * block));
        let messages: Vec<_> = (lengths.iter().map(|&l| bytes_of(&mut random, l))).collect();
        let what = format!("TRIBUTARY_SEED={seed}, {count} members");
        send_all(&mut groups, &messages, &what);
        drop(groups);
        nothing_is_left(&domains);
    }
}

#[test]
fn mb_08_mb_10_mb_11_mb_13_mb_16_messages_of_any_length_by_cards_over_a_bad_network() {
    let seed = std::env::var("TRIBUTARY_SEED").map(|text| text.parse().unwrap());
    let seeds = seed.map_or(0..2, |seed: u64| seed..seed + 1);
    for seed in seeds {
        println!("TRIBUTARY_SEED={seed} replays this run");
        random_messages(seed);
    }
}

#[test]
fn mb_08_mb_16_cards_carry_every_algorithm() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for algorithm in Algorithm::ALL {
        let (_, domains) = cards(6, BAD);
        let options = GroupOptions {
            algorithm,
            racks: match algorithm {
                Algorithm::Hybrid => vec![2, 4],
                _ => Vec::new(),
            },
            ..by_cards()
        };
        let mut groups = groups(&domains, &options);
        let messages = [10_000, 1].map(|length| bytes_of(&mut random, length));
        send_all(&mut groups, &messages, &algorithm.to_string());
    }
}

/// The hosts make sure that every card has the message; from then on time passes without them.
pub fn hosts_sleep(devices: &[SimDevice], groups: &mut [Group], length: usize, slots: u64) {
    let message = bytes_of(&mut ChaCha8Rng::seed_from_u64(8), length);
    let mut got = vec![Vec::new(); groups.len()];
    run(groups, &mut got, |groups, _| {
        groups.iter().all(Group::is_open)
    });
    groups[0].send(&message).unwrap();
    while groups[0].is_telling() {
        groups
            .iter_mut()
            .for_each(|g| assert!(g.poll().unwrap().is_none()));
    }
    // All have heard of it; once more, and the last one has told its card.
    groups
        .iter_mut()
        .for_each(|g| assert!(g.poll().unwrap().is_none()));
    devices[0].run(slots);
    for group in &mut groups[1..] {
        let found = group.poll().unwrap().expect("it came while its host slept");
        assert!(found.to_vec() == message);
    }
    let verdicts = close(groups, &mut got);
    assert!(
        verdicts
            .iter()
            .all(|v| *v == Verdict::Success { messages: 1 })
    );
}

#[test]
fn mb_16_hosts_do_nothing_between_the_beginning_of_a_message_and_its_end() {
    for count in 2..=5 {
        let (devices, domains) = cards(count, NetworkConfig::default().link);
        let mut groups = groups(&domains, &by_cards());
        hosts_sleep(&devices, &mut groups, 60 * BLOCK as usize, 60_000);
    }
}

#[test]
fn mb_08_mb_16_seats_make_one_group_after_the_other_and_groups_share_cards() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let (_, domains) = cards(4, BAD);
    let (mut seats, members) = seats(&domains);
    for epoch in 0..4 {
        // Beside it one of each kind, with a message.
        let mut others = [options(), by_cards()].map(|o| groups(&domains[1..], &o));
        let long = bytes_of(&mut random, 50_000);
        for others in &mut others {
            others[0].send(&long).unwrap();
        }
        let options = GroupOptions {
            epoch,
            ..if epoch == 2 { options() } else { by_cards() }
        };
        let make = |seat| Group::create(seat, &members, options.clone()).unwrap();
        let mut groups: Vec<Group> = seats.into_iter().map(make).collect();
        let message = bytes_of(&mut random, 20_000);
        send_all(&mut groups, &[message], &format!("epoch {epoch}"));
        while groups.iter().any(Group::is_telling) {
            groups.iter_mut().for_each(|g| drop(g.poll()));
        }
        for others in &mut others {
            let mut got = vec![Vec::new(); 3];
            run(others, &mut got, |_, got| {
                got[1..].iter().all(|g| g.len() == 1)
            });
            assert!(got[1..].iter().all(|g| g[0].to_vec() == long));
        }
        seats = groups.into_iter().map(Group::into_seat).collect();
    }
    drop(seats);
    nothing_is_left(&domains);
}

#[test]
fn mb_08_mb_16_members_with_other_parameters_are_named_at_all() {
    for odd in 1..5u32 {
        let others = [
            with(|cards| cards.most_blocks += 1),
            with(|cards| cards.lanes += 1),
            options(),
            GroupOptions {
                block_bytes: BLOCK + 1,
                ..by_cards()
            },
        ];
        for other in others {
            let (_, domains) = cards(5, BAD);
            let (seats, members) = seats(&domains);
            let make = |(rank, seat): (u32, Seat)| {
                let options = if rank == odd { &other } else { &by_cards() };
                Group::create(seat, &members, options.clone()).unwrap()
            };
            let mut groups: Vec<Group> = (0..).zip(seats).map(make).collect();
            groups[0].send(&[1]).unwrap();
            let mut got = vec![Vec::new(); 5];
            let verdicts = close(&mut groups, &mut got);
            for verdict in verdicts {
                let Verdict::Failure { suspect, why, .. } = verdict else {
                    panic!("{verdict:?}");
                };
                assert_eq!((suspect, why), (odd, Why::Parameters), "{other:?}");
            }
            assert!(got.iter().all(Vec::is_empty));
            drop(groups);
            nothing_is_left(&domains);
        }
    }
}

#[test]
fn mb_10_mb_16_a_message_that_is_too_long_is_refused_or_names_the_member() {
    let (_, domains) = cards(3, BAD);
    let (seats, members) = seats(&domains);
    let make = |(rank, seat): (usize, Seat)| {
        let mut options = with(|cards| cards.most_blocks = 10);
        if rank == 2 {
            options.memory = 20_000;
        }
        Group::create(seat, &members, options).unwrap()
    };
    let mut groups: Vec<Group> = (0..).zip(seats).map(make).collect();
    let error = groups[0].send(&[1; 30_001]).unwrap_err().to_string();
    assert_eq!(
        error,
        "a message of 30001 bytes; with blocks of 3000 a message has up to 30000"
    );
    assert_eq!(groups[0].send(&[7; 20_000]).unwrap(), 0);
    assert_eq!(groups[0].send(&[8; 20_001]).unwrap(), 1);
    let mut got = vec![Vec::new(); 3];
    let verdicts = close(&mut groups, &mut got);
    for verdict in &verdicts {
        let Verdict::Failure {
            suspect,
            why,
            watermarks,
        } = verdict
        else {
            panic!("{verdict:?}");
        };
        assert_eq!((*suspect, *why), (2, Why::Length));
        assert_eq!(watermarks[2], Some(1));
    }
    assert!(got[2][0].to_vec() == [7; 20_000] && got[2].len() == 1);
}

#[test]
fn mb_10_mb_16_a_message_waits_for_memory_and_the_watchdog_does_not_wait_for_ever() {
    for watchdog in [Duration::ZERO, Duration::from_millis(2)] {
        let (_, domains) = cards(3, BAD);
        let options = GroupOptions {
            memory: 40_000,
            ..with(|cards| cards.watchdog = watchdog)
        };
        let mut groups = groups(&domains, &options);
        groups[0].send(&[1; 30_000]).unwrap();
        let full = groups[0].send(&[2; 30_000]).unwrap_err();
        assert_eq!(
            full.to_string(),
            "30000 bytes: the group's memory of 40000 has no room for them now"
        );
        let mut got = vec![Vec::new(); 3];
        let one = |got: &[Vec<_>]| got[1..].iter().all(|g| g.len() == 1);
        run(&mut groups, &mut got, |_, got| one(got));
        // The root has its memory back, the receivers still hold theirs.
        while groups[0].send(&[2; 30_000]).is_err() {
            run(&mut groups, &mut got, |_, got| one(got));
        }
        if !watchdog.is_zero() {
            let verdicts = close(&mut groups, &mut got);
            let why = Why::Stuck;
            let watermarks = vec![Some(2), Some(1), Some(1)];
            let stuck = Verdict::Failure {
                suspect: 0,
                why,
                watermarks,
            };
            assert_eq!(verdicts, vec![stuck; 3]);
            continue;
        }
        for _ in 0..20_000 {
            for group in &mut groups {
                assert!(group.poll().unwrap().is_none());
            }
        }
        got.iter_mut().for_each(Vec::clear);
        run(&mut groups, &mut got, |_, got| one(got));
        assert!(got[1..].iter().all(|g| g[0].to_vec() == [2; 30_000]));
    }
}

#[test]
fn mb_12_mb_16_when_a_member_has_failed_no_card_begins_another_block() {
    let (devices, domains) = cards(4, NetworkConfig::default().link);
    let blocks = 1_000;
    // The root sends all of it to rank 1 first, and its card has nothing to do with rank 3.
    let options = GroupOptions {
        algorithm: Algorithm::Sequential,
        silence: Duration::from_micros(200),
        memory: 4 << 20,
        ..with(|cards| cards.most_blocks = blocks)
    };
    let mut groups = groups(&domains, &options);
    let mut got = vec![Vec::new(); 4];
    let sent = |card: usize| {
        let context = domains[card].context();
        context.bulk_counter(BulkCounter::Completed).unwrap()
    };
    groups[0].send(&vec![3; 3_000_000]).unwrap();
    run(&mut groups, &mut got, |_, _| sent(0) > 10);
    devices[3].remove();
    drop(groups.pop());
    got.pop();
    run(&mut groups, &mut got, |groups, _| {
        groups.iter().all(|g| g.verdict().is_some())
    });
    for group in &mut groups {
        let error = group.poll().unwrap_err().to_string();
        assert!(error.ends_with("(rank 3): it does not answer"), "{error}");
    }
    // What was under way ends.
    devices[0].run(20_000);
    let before = sent(0);
    assert!(before < u64::from(blocks), "{before}");
    devices[0].run(200_000);
    assert_eq!(sent(0), before);
}

fn with_groups(groups: u16) -> (Vec<SimDevice>, ProtectionDomain) {
    let bulk = BulkConfig {
        groups,
        ..BulkConfig::default()
    };
    let card = ModelConfig {
        bulk: Some(bulk),
        ..ModelConfig::default()
    };
    let config = NetworkConfig {
        card,
        ..config(1, NetworkConfig::default().link)
    };
    let devices = network(&config).unwrap();
    let domain = open(&devices[0], 0);
    (devices, domain)
}

#[test]
fn mb_08_mb_16_what_a_card_cannot_carry_is_refused() {
    let refused = |domain: &ProtectionDomain, options: GroupOptions| {
        let seat = Seat::new(domain, settings()).unwrap();
        let members = [seat.address(), AddressHandle::new(9, 9).unwrap()];
        let made = Group::create(seat, &members, options);
        made.map(|_| ()).unwrap_err().to_string()
    };
    let (_devices, domain) = with_groups(0);
    assert_eq!(
        refused(&domain, by_cards()),
        "the card has no schedule rings"
    );
    let (_devices, domain) = with_groups(1);
    let seat = Seat::new(&domain, settings()).unwrap();
    let members = [seat.address(), AddressHandle::new(9, 9).unwrap()];
    let one = Group::create(seat, &members, by_cards()).unwrap();
    assert_eq!(
        refused(&domain, by_cards()),
        "all 1 groups of schedule rings of the card are in use"
    );
    drop(one);
    for (options, why) in [
        (with(|c| c.lanes = 0), "lanes: 0, at least 1"),
        (
            with(|c| c.most_blocks = 0),
            "blocks of a message: 0, at least 1",
        ),
        (
            with(|c| c.most_blocks = 9_000),
            "9002 requests to or from rank 1, a queue pair holds 8192: blocks of 6000 bytes or more would do",
        ),
        (
            with(|c| c.lanes = 64),
            "64 lanes of peers of this rank; a card tells 63 apart",
        ),
    ] {
        assert_eq!(refused(&domain, options), why);
    }
    assert_eq!(domain.context().open_groups(), 0);
}

/// A member of its own make, in a group of two, which says what it likes after a Join that is right.
struct Liar {
    endpoint: ReliableEndpoint,
    group: Group,
    domains: Vec<ProtectionDomain>,
}

impl Liar {
    fn new(watchdog: Duration, says: &[Body]) -> Self {
        let (_, domains) = cards(2, BAD);
        let (mut seats, _) = seats(&domains[..1]);
        let config = EndpointConfig {
            ordered: true,
            ..settings()
        };
        let mut endpoint = ReliableEndpoint::new(&domains[1], config).unwrap();
        let seat = seats.remove(0);
        let members = [seat.address(), endpoint.address()];
        let options = with(|cards| cards.watchdog = watchdog);
        let mut group = Group::create(seat, &members, options).unwrap();
        group.send(&[1; 10_000]).unwrap();
        let config = GroupConfig {
            identity: identity(&members, &[0, 0, 0, 64, 1]),
            offload: true,
            ..GroupConfig::new(2, BLOCK)
        };
        let join = Body::Control(Control::Join(config.parameters()));
        for body in [&join].into_iter().chain(says) {
            let datagram = Datagram {
                epoch: 0,
                body: body.clone(),
            };
            let bytes = datagram.encode().unwrap();
            endpoint.send_copy(members[0], &bytes).unwrap();
        }
        Self {
            endpoint,
            group,
            domains,
        }
    }

    /// What the root says in the end; the liar answers whether it is there.
    fn end(&mut self) -> String {
        let root = self.group.members()[0];
        for _ in 0..1_000_000 {
            if let Some(EndpointEvent::Delivered { payload, .. }) = self.endpoint.poll().unwrap()
                && Datagram::decode(&payload).unwrap().body == Body::Ping
            {
                let body = Body::Pong;
                let pong = Datagram { epoch: 0, body }.encode().unwrap();
                self.endpoint.send_copy(root, &pong).unwrap();
            }
            match self.group.poll() {
                Ok(message) => assert!(message.is_none()),
                Err(error) => return error.to_string(),
            }
        }
        panic!("it waits for ever");
    }
}

fn ticket(receives: &[u32]) -> Body {
    Body::Ticket(Ticket {
        address: 1 << 40,
        rkey: 77,
        sends: Vec::new(),
        receives: receives.to_vec(),
    })
}

#[test]
fn mb_12_mb_16_tickets_that_do_not_fit_name_their_member() {
    let misfits = "(rank 1): its queue pairs do not fit the group, or are not known";
    let opened = "(rank 1): it does not answer";
    for (says, why, strange) in [
        // None, one without a queue pair, one with too many, one with what is none.
        (vec![], misfits, 0),
        (vec![ticket(&[])], misfits, 0),
        (vec![ticket(&[5, 6])], misfits, 0),
        (vec![ticket(&[1 << 24])], misfits, 0),
        // A second one is dropped; only the root speaks of messages, and hosts grant nothing.
        (
            vec![
                ticket(&[]),
                ticket(&[5]),
                Body::Length {
                    message: 0,
                    length: 1,
                },
            ],
            misfits,
            2,
        ),
    ] {
        let mut liar = Liar::new(Duration::ZERO, &says);
        let error = liar.end();
        assert!(error.ends_with(why), "{says:?}: {error}");
        assert_eq!(liar.group.counters().strange, strange, "{says:?}");
        let Liar { group, domains, .. } = liar;
        drop(group);
        assert_eq!(domains[0].context().open_groups(), 0);
    }
    // One that fits, of a member that grants nothing: its host may hold it back, and only the watchdog ends that.
    let mut liar = Liar::new(Duration::from_millis(2), &[ticket(&[5])]);
    let error = liar.end();
    assert!(
        error.ends_with("(rank 0): its card waits for what does not come"),
        "{error}"
    );
    // Its host goes.
    let mut liar = Liar::new(Duration::ZERO, &[ticket(&[5])]);
    liar.endpoint.drain(Duration::from_millis(5)).unwrap();
    liar.domains.truncate(1);
    let group = &mut liar.group;
    drop(liar.endpoint);
    let gone = (0..1_000_000).find_map(|_| group.poll().err()).unwrap();
    assert!(gone.to_string().ends_with(opened), "{gone}");
}

#[test]
fn mb_16_what_strangers_say_of_cards_is_counted_and_does_nothing() {
    let (_, domains) = cards(4, BAD);
    let mut groups = groups(&domains[..3], &by_cards());
    let mut stranger = ReliableEndpoint::new(&domains[3], settings()).unwrap();
    let length = Body::Length {
        message: 0,
        length: 5,
    };
    let members = groups[0].members().to_vec();
    for &to in &members {
        for body in [ticket(&[1]), length.clone()] {
            let bytes = Datagram { epoch: 0, body }.encode().unwrap();
            stranger.send_copy(to, &bytes).unwrap();
        }
    }
    groups[0].send(&[9; 10_000]).unwrap();
    let mut got = vec![Vec::new(); 3];
    run(&mut groups, &mut got, |groups, got| {
        drop(stranger.poll().unwrap());
        let told = groups.iter().all(|g| g.counters().stranger == 2);
        told && got[1..].iter().all(|g| g.len() == 1)
    });
    assert!(got[1..].iter().all(|g| g[0].to_vec() == [9; 10_000]));
    let verdicts = close(&mut groups, &mut got);
    assert!(
        verdicts
            .iter()
            .all(|v| *v == Verdict::Success { messages: 1 })
    );
}
