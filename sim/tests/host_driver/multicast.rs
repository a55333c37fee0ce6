//! Groups of block multicast through the driver.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::multicast::{
    Algorithm, Group, GroupOptions, Message, MulticastError, Seat, Verdict, Why,
};
use tributary_host_driver::{
    AddressHandle, BulkTuning, EndpointConfig, EndpointEvent, ProtectionDomain, ReliableEndpoint,
};
use tributary_protocol::card::model::ModelConfig;
use tributary_protocol::multicast::group::wire::{Body, Datagram, Place};
use tributary_protocol::multicast::group::{Control, Expected};
use tributary_sim::card::{NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;

use super::{BAD, config, endpoint, open};

pub const BLOCK: u32 = 3_000;

pub fn options() -> GroupOptions {
    GroupOptions {
        block_bytes: BLOCK,
        memory: 1 << 19,
        silence: Duration::from_millis(20),
        join: Duration::from_millis(40),
        ..GroupOptions::default()
    }
}

pub fn cards(count: u32, link: LinkConfig) -> (Vec<SimDevice>, Vec<ProtectionDomain>) {
    let devices = network(&config(count, link)).unwrap();
    let domains: Vec<_> = (0..).zip(&devices).map(|(n, d)| open(d, n)).collect();
    for domain in &domains {
        let tuning = BulkTuning {
            round_trip_ns: 9_000,
            overtaking: 100,
            share_of_256: 128,
        };
        domain.context().tune_bulk(&tuning).unwrap();
    }
    (devices, domains)
}

pub fn settings() -> EndpointConfig {
    EndpointConfig {
        copy_bytes: 1 << 17,
        ..endpoint()
    }
}

pub fn seats(domains: &[ProtectionDomain]) -> (Vec<Seat>, Vec<AddressHandle>) {
    let seat = |domain| Seat::new(domain, settings()).unwrap();
    let seats: Vec<Seat> = domains.iter().map(seat).collect();
    let addresses = seats.iter().map(Seat::address).collect();
    (seats, addresses)
}

pub fn groups(domains: &[ProtectionDomain], options: &GroupOptions) -> Vec<Group> {
    let (seats, members) = seats(domains);
    let make = |seat| Group::create(seat, &members, options.clone()).unwrap();
    seats.into_iter().map(make).collect()
}

pub fn bytes_of(random: &mut ChaCha8Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill_bytes(&mut bytes);
    bytes
}

/// Polls all until `done` says so of the messages that each has got; what went wrong at each.
pub fn run(
    groups: &mut [Group],
    got: &mut [Vec<Message>],
    mut done: impl FnMut(&[Group], &[Vec<Message>]) -> bool,
) {
    for _ in 0..2_000_000 {
        for (group, got) in groups.iter_mut().zip(got.iter_mut()) {
            if let Ok(message) = group.poll() {
                got.extend(message);
            }
        }
        if done(groups, got) {
            return;
        }
    }
    let states: Vec<_> = groups
        .iter()
        .map(|g| (g.is_open(), g.verdict().cloned(), g.counters()))
        .collect();
    let counts: Vec<_> = got.iter().map(Vec::len).collect();
    panic!("it does not end: {states:?}, messages {counts:?}");
}

/// Closes all; the verdicts.
pub fn close(groups: &mut [Group], got: &mut [Vec<Message>]) -> Vec<Verdict> {
    for group in groups.iter_mut() {
        group.say_close().unwrap();
    }
    run(groups, got, |groups, _| {
        groups.iter().all(|g| g.verdict().is_some())
    });
    let verdicts = groups.iter().map(|g| g.verdict().unwrap().clone());
    verdicts.collect()
}

#[test]
fn mb_08_mb_10_mb_11_mb_13_messages_of_any_length_reach_two_to_nine_members_over_a_bad_network() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let block = BLOCK as usize;
    let lengths = [0, 1, block - 1, block, block + 1, 7 * block + 5, 20 * block];
    for count in 2..=9 {
        let (devices, domains) = cards(count, BAD);
        let mut groups = groups(&domains, &options());
        let messages = lengths.map(|length| bytes_of(&mut random, length));
        let mut got = vec![Vec::new(); groups.len()];
        for (number, message) in messages.iter().enumerate() {
            assert_eq!(groups[0].send(message).unwrap() as usize, number);
        }
        let verdicts = close(&mut groups, &mut got);
        let messages_of = lengths.len() as u32;
        let success = Verdict::Success {
            messages: messages_of,
        };
        assert!(verdicts.iter().all(|v| *v == success), "{verdicts:?}");
        for (group, got) in groups.iter_mut().zip(&mut got).skip(1) {
            while let Ok(Some(message)) = group.poll() {
                got.push(message);
            }
            assert_eq!(got.len(), messages.len(), "{count} members");
            for (number, (message, right)) in got.iter().zip(&messages).enumerate() {
                assert_eq!(message.number() as usize, number);
                assert_eq!(message.length() as usize, right.len());
                assert!(message.to_vec() == *right, "{count} members, {number}");
            }
            let counters = group.counters();
            assert_eq!((counters.strange, counters.unexpected), (0, 0));
            // Every call after the end says so.
            assert!(matches!(group.poll(), Err(MulticastError::Group(_))));
        }
        got.clear();
        drop((groups, domains));
        for device in &devices {
            assert_eq!(device.bulk_under_way(), Some([0; 4]));
        }
    }
}

#[test]
fn mb_08_every_algorithm_runs_and_any_member_may_be_the_root() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for algorithm in Algorithm::ALL {
        let (_, domains) = cards(6, BAD);
        let (seats, members) = seats(&domains);
        let root = members[4];
        let options = GroupOptions {
            root: Some(root),
            algorithm,
            racks: match algorithm {
                Algorithm::Hybrid => vec![2, 4],
                _ => Vec::new(),
            },
            ..options()
        };
        let make = |seat| Group::create(seat, &members, options.clone()).unwrap();
        let mut groups: Vec<Group> = seats.into_iter().map(make).collect();
        assert!(groups[4].is_root() && groups.iter().filter(|g| g.is_root()).count() == 1);
        let message = bytes_of(&mut random, 10_000);
        let refused = groups[0].send(&message).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "rank 1 is not the root; only rank 0 sends and closes"
        );
        groups[4].send(&message).unwrap();
        let mut got = vec![Vec::new(); 6];
        run(&mut groups, &mut got, |_, got| {
            got.iter().filter(|g| g.len() == 1).count() == 5
        });
        for got in got.iter().filter(|got| !got.is_empty()) {
            assert!(got[0].to_vec() == message, "{algorithm}");
        }
    }
}

#[test]
fn mb_08_groups_that_overlap_on_their_cards_do_not_meet() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (_, domains) = cards(4, BAD);
    let mut all: Vec<Vec<Group>> = (0..3).map(|_| groups(&domains, &options())).collect();
    // Two members of one group on the same card, too.
    let twice = [domains[0].clone(), domains[1].clone(), domains[1].clone()];
    all.push(groups(&twice, &options()));
    let messages: Vec<_> = all.iter().map(|_| bytes_of(&mut random, 60_000)).collect();
    for (groups, message) in all.iter_mut().zip(&messages) {
        groups[0].send(message).unwrap();
    }
    let mut got: Vec<Vec<Vec<Message>>> = all.iter().map(|g| vec![Vec::new(); g.len()]).collect();
    for _ in 0..1_000_000 {
        for (groups, got) in all.iter_mut().zip(&mut got) {
            for (group, got) in groups.iter_mut().zip(got) {
                got.extend(group.poll().unwrap());
            }
        }
        if got.iter().all(|got| got[1..].iter().all(|g| g.len() == 1)) {
            break;
        }
    }
    for (got, message) in got.iter().zip(&messages) {
        for got in &got[1..] {
            assert!(got[0].to_vec() == *message);
        }
    }
}

#[test]
fn mb_08_lists_and_sizes_that_make_no_group_are_refused() {
    let (_, domains) = cards(3, NetworkConfig::default().link);
    let make = |change: &dyn Fn(&mut Vec<AddressHandle>, &mut GroupOptions)| {
        let (mut seats, mut members) = seats(&domains);
        let mut options = options();
        change(&mut members, &mut options);
        let made = Group::create(seats.remove(0), &members, options);
        made.map(|_| ()).unwrap_err().to_string()
    };
    let twice = make(&|members, _| members.push(members[1]));
    assert!(
        twice.ends_with("is twice in the list of members: places 1 and 3"),
        "{twice}"
    );
    let stranger = AddressHandle::new(77, 5).unwrap();
    assert_eq!(
        make(&|_, options| options.root = Some(stranger)),
        "the root, node 77, queue pair 5, is not in the list of members"
    );
    let other = make(&|members, _| *members = members.split_off(1));
    assert!(
        other.starts_with("this endpoint, node 0, queue pair ")
            && other.ends_with("is not in the list of members"),
        "{other}"
    );
    assert_eq!(
        make(&|_, options| options.block_bytes = 0),
        "blocks of 0 bytes: a block has at least one"
    );
    assert_eq!(
        make(&|_, options| options.credits = 1),
        "1 credits: a member allows at least 2 blocks on their way to it"
    );
    assert_eq!(
        make(&|members, _| *members = vec![stranger; 4_097]),
        "4097 members; a group has up to 4096"
    );
}

#[test]
fn mb_08_a_card_without_bulk_transfers_is_refused() {
    let card = ModelConfig {
        bulk: None,
        ..ModelConfig::default()
    };
    let config = NetworkConfig {
        card,
        ..NetworkConfig::default()
    };
    let devices = network(&config).unwrap();
    let domains = [open(&devices[0], 0), open(&devices[1], 1)];
    let (mut seats, members) = seats(&domains);
    let refused = Group::create(seats.remove(0), &members, options());
    assert_eq!(
        refused.map(|_| ()).unwrap_err().to_string(),
        "a group needs bulk transfers, which this card does not have (bit bulk of its register features is 0)"
    );
}

#[test]
fn mb_08_other_parameters_are_refused_by_all_and_named() {
    for odd in 1..5u32 {
        let (_, domains) = cards(5, BAD);
        let (seats, members) = seats(&domains);
        let mut groups: Vec<Group> = (0..)
            .zip(seats)
            .map(|(rank, seat)| {
                let mut options = options();
                options.block_bytes += u32::from(rank == odd);
                Group::create(seat, &members, options).unwrap()
            })
            .collect();
        let mut got = vec![Vec::new(); 5];
        let verdicts = close(&mut groups, &mut got);
        for (group, verdict) in groups.iter_mut().zip(verdicts) {
            let Verdict::Failure { suspect, why, .. } = verdict else {
                panic!("{verdict:?}");
            };
            assert_eq!((suspect, why), (odd, Why::Parameters));
            let error = group.poll().unwrap_err();
            let MulticastError::Failed { suspect, rank, .. } = error else {
                panic!("{error}");
            };
            assert_eq!((suspect, rank), (members[odd as usize], odd));
        }
    }
}

#[test]
fn mb_10_a_message_longer_than_a_receivers_memory_names_it_at_all() {
    let (_, domains) = cards(4, BAD);
    let (seats, members) = seats(&domains);
    let mut groups: Vec<Group> = (0..)
        .zip(seats)
        .map(|(rank, seat)| {
            let mut options = options();
            if rank == 2 {
                options.memory = 20_000;
            }
            Group::create(seat, &members, options).unwrap()
        })
        .collect();
    groups[0].send(&[7; 20_000]).unwrap();
    groups[0].send(&[8; 20_001]).unwrap();
    let mut got = vec![Vec::new(); 4];
    let verdicts = close(&mut groups, &mut got);
    for (verdict, got) in verdicts.iter().zip(&got) {
        let Verdict::Failure {
            suspect,
            why,
            watermarks,
        } = verdict
        else {
            panic!("{verdict:?}");
        };
        assert_eq!((*suspect, *why), (2, Why::Length));
        assert!(watermarks.iter().all(Option::is_some));
        assert!(
            got.iter()
                .all(|m| m.length() != 20_001 || m.to_vec() == [8; 20_001])
        );
    }
    let error = groups[3].poll().unwrap_err().to_string();
    assert!(
        error.ends_with("(rank 2): a message is longer than its buffer"),
        "{error}"
    );
    assert!(matches!(
        groups[0].send(&[0; 600_000]),
        Err(MulticastError::Failed { .. })
    ));
}

#[test]
fn mb_10_messages_wait_for_memory_that_the_receiver_still_has() {
    let (_, domains) = cards(3, BAD);
    let options = GroupOptions {
        memory: 40_000,
        ..options()
    };
    let mut groups = groups(&domains, &options);
    groups[0].send(&[1; 30_000]).unwrap();
    let full = groups[0].send(&[2; 30_000]).unwrap_err();
    assert_eq!(
        full.to_string(),
        "30000 bytes: the group's memory of 40000 has no room for them now"
    );
    let mut got = vec![Vec::new(); 3];
    let one = |got: &[Vec<Message>]| got[1..].iter().all(|g| g.len() == 1);
    run(&mut groups, &mut got, |_, got| one(got));
    // The root has its memory back, the receivers still hold theirs.
    while groups[0].send(&[2; 30_000]).is_err() {
        run(&mut groups, &mut got, |_, got| one(got));
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

#[test]
fn mb_09_credits_of_strangers_and_nonsense_are_counted_and_do_nothing() {
    let (_, domains) = cards(4, BAD);
    let mut groups = groups(&domains[..3], &options());
    let stranger = ReliableEndpoint::new(&domains[3], settings());
    let mut stranger = stranger.unwrap();
    let expected = Expected {
        message: 0,
        block: None,
    };
    let place = Place {
        tag: 0,
        qp_num: 1,
        rkey: 0,
        address: 0,
    };
    let credit = Body::Credit {
        granted: 1,
        expected,
        place,
    };
    let close = Body::Control(Control::Close { messages: 0 });
    let root = groups[0].members()[0];
    for body in [credit, close] {
        let bytes = Datagram { epoch: 0, body }.encode().unwrap();
        stranger.send_copy(root, &bytes).unwrap();
    }
    // From nobody either.
    stranger.send_copy(root, &[1, 2, 3]).unwrap();
    groups[0].send(&[9; 10_000]).unwrap();
    let mut got = vec![Vec::new(); 3];
    let mut told = 0;
    run(&mut groups, &mut got, |groups, got| {
        if let Some(EndpointEvent::Completed { .. }) = stranger.poll().unwrap() {
            told += 1;
        }
        let counters = groups[0].counters();
        let all = counters.stranger + counters.malformed == 3;
        all && told == 3 && got[1..].iter().all(|g| g.len() == 1)
    });
    let counters = groups[0].counters();
    assert_eq!((counters.stranger, counters.malformed), (2, 1));
    let success = Verdict::Success { messages: 1 };
    let verdicts = self::close(&mut groups, &mut got);
    assert!(verdicts.iter().all(|v| *v == success), "{verdicts:?}");
}

/// A member of its own make, which says what it likes: it grants a block twice, which a member must not.
#[test]
fn mb_09_a_member_that_grants_what_is_not_its_turn_is_suspected() {
    let (_, domains) = cards(2, BAD);
    let (mut seats, _) = seats(&domains[..1]);
    let liar = ReliableEndpoint::new(
        &domains[1],
        EndpointConfig {
            ordered: true,
            ..settings()
        },
    );
    let mut liar = liar.unwrap();
    let seat = seats.remove(0);
    let root = seat.address();
    let members = [root, liar.address()];
    let mut group = Group::create(seat, &members, options()).unwrap();
    group.send(&[1; 10_000]).unwrap();
    let mut joined = Vec::new();
    // Its word that it made the group is that of a real member.
    let config = tributary_protocol::multicast::group::GroupConfig {
        identity: identity(&members, &[]),
        ..tributary_protocol::multicast::group::GroupConfig::new(2, BLOCK)
    };
    joined.push(Body::Control(Control::Join(config.parameters())));
    let place = Place {
        tag: 0,
        qp_num: 1,
        rkey: 0,
        address: 0,
    };
    let expected = Expected {
        message: 3,
        block: Some(1),
    };
    // One that says nothing new is dropped, the next one cannot be meant.
    for granted in [0, 1] {
        joined.push(Body::Credit {
            granted,
            expected,
            place,
        });
    }
    for body in joined {
        let bytes = Datagram { epoch: 0, body }.encode().unwrap();
        liar.send_copy(root, &bytes).unwrap();
    }
    for _ in 0..1_000_000 {
        let _ = liar.poll().unwrap();
        if let Err(error) = group.poll() {
            assert!(matches!(error, MulticastError::Failed { rank: 1, .. }));
            assert_eq!(group.counters().strange, 2);
            return;
        }
    }
    panic!("it was believed");
}

/// FNV-1a over node and queue pair number of the members and what follows them, as the documentation has it.
pub fn identity(members: &[AddressHandle], more: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut bytes = Vec::new();
    for member in members {
        bytes.extend(member.node().to_be_bytes());
        bytes.extend(member.qp_num().to_be_bytes());
    }
    bytes.extend(more);
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
    }
    hash
}
