//! Groups that cards carry out (MB-16), through the driver: hosts do nothing between a message's doorbells and its ends.

use std::time::Duration;

use tributary_host_driver::ProtectionDomain;
use tributary_host_driver::multicast::{
    Algorithm, End, EndCode, OffloadError, OffloadOptions, OffloadedGroup, Ticket,
};
use tributary_protocol::card::model::{BulkConfig, ModelConfig};
use tributary_sim::card::{NetworkConfig, SimDevice, network};

use super::bulk::sample;
use super::multicast::cards;
use super::{BAD, config, open};

const BLOCK: u32 = 3_000;

pub fn options(members: usize, rank: u32) -> OffloadOptions {
    OffloadOptions {
        block_bytes: BLOCK,
        most_blocks: 24,
        watchdog: Duration::from_millis(5),
        q_key: 0x4D42,
        ..OffloadOptions::new(members as u32, rank)
    }
}

/// Groups of all domains, connected.
pub fn groups(
    domains: &[ProtectionDomain],
    change: impl Fn(OffloadOptions) -> OffloadOptions,
) -> Vec<OffloadedGroup> {
    let options = |rank| change(options(domains.len(), rank));
    let new = |(rank, domain)| OffloadedGroup::new(domain, options(rank)).unwrap();
    let mut groups: Vec<OffloadedGroup> = (0..).zip(domains).map(new).collect();
    let tickets: Vec<Ticket> = groups.iter().map(OffloadedGroup::ticket).collect();
    for group in &mut groups {
        group.connect(&tickets).unwrap();
    }
    groups
}

/// Time passes for the cards, and no host does anything.
pub fn hosts_do_nothing(devices: &[SimDevice], slots: u64) {
    devices[0].run(slots);
}

/// Ends that have come to a host by now.
pub fn ends(group: &mut OffloadedGroup) -> Vec<End> {
    std::iter::from_fn(|| group.poll().unwrap()).collect()
}

fn done(message: u32) -> End {
    End {
        message,
        code: EndCode::Done,
        peer: None,
    }
}

/// Messages of some lengths; each has `slots` of time.
pub fn messages(
    devices: &[SimDevice],
    groups: &mut [OffloadedGroup],
    lengths: &[usize],
    slots: u64,
) {
    for (number, length) in (0..).zip(lengths) {
        let bytes: Vec<u8> = sample(length + number as usize)[number as usize..].to_vec();
        groups[0].write(0, &bytes).unwrap();
        for group in groups.iter_mut().rev() {
            group.post(*length as u64).unwrap();
        }
        hosts_do_nothing(devices, slots);
        for group in groups.iter_mut() {
            let rank = group.rank();
            assert_eq!(ends(group), [done(number)], "rank {rank}, {length} bytes");
            let mut got = vec![0; *length];
            group.read(0, &mut got).unwrap();
            assert!(got == bytes, "rank {rank}, {length} bytes");
            assert_eq!(group.failed(), 0);
        }
    }
}

/// Stops and closes all, of which nothing is left on their cards.
pub fn stop(groups: Vec<OffloadedGroup>, domains: &[ProtectionDomain]) {
    for mut group in groups {
        group.stop().unwrap();
        let end = group.wait(Duration::from_millis(10)).unwrap().unwrap();
        assert_eq!(end.code, EndCode::Stopped);
        group.close().unwrap();
    }
    for domain in domains {
        assert_eq!(domain.context().in_use(), (0, 0));
        assert_eq!(domain.context().open_groups(), 0);
        assert_eq!(domain.context().ring_refused().unwrap(), 0);
    }
}

/// A member whose card is pulled out. Every other member at which the message has begun ends, by a failure or by its watchdog; one
/// at which it has not waits until it is stopped. Nobody says Done.
pub fn death(
    devices: &[SimDevice],
    groups: &mut [OffloadedGroup],
    silent: usize,
    [before, slots]: [u64; 2],
) {
    let length = u64::from(BLOCK) * 20;
    for group in groups.iter_mut() {
        group.post(length).unwrap();
    }
    hosts_do_nothing(devices, before);
    devices[silent].remove();
    hosts_do_nothing(devices, slots);
    for (rank, group) in groups.iter_mut().enumerate() {
        if rank == silent {
            continue;
        }
        let mut ended = ends(group);
        if ended.is_empty() {
            assert_ne!(rank, 0, "the root's watchdog runs from the doorbell on");
            group.stop().unwrap();
            ended.extend(group.wait(Duration::from_millis(1)).unwrap());
            assert_eq!(ended[0].code, EndCode::Stopped, "rank {rank}");
        }
        let [end] = ended[..] else {
            panic!("rank {rank}: {ended:?}");
        };
        match end.code {
            EndCode::Stopped => {}
            EndCode::Failed => assert_eq!(end.peer, Some(silent as u32), "rank {rank}"),
            EndCode::Watchdog => assert_eq!(end.peer, None),
            code => panic!("rank {rank}: {code:?}"),
        }
        assert!(matches!(group.post(1), Err(OffloadError::State("ended"))));
    }
}

const LENGTHS: [usize; 6] = [
    7 * BLOCK as usize + 5,
    1,
    BLOCK as usize,
    24 * BLOCK as usize,
    2 * BLOCK as usize - 1,
    11 * BLOCK as usize,
];

#[test]
fn mb_16_cards_carry_messages_of_any_length_to_two_to_five_members() {
    for (count, lanes) in [(2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (5, 2)] {
        let (devices, domains) = cards(count, NetworkConfig::default().link);
        let mut groups = groups(&domains, |options| OffloadOptions { lanes, ..options });
        messages(&devices, &mut groups, &LENGTHS, 12_000);
        stop(groups, &domains);
    }
}

#[test]
fn mb_16_cards_carry_schedules_of_any_shape_over_a_bad_network() {
    for algorithm in Algorithm::ALL {
        let (devices, domains) = cards(5, BAD);
        let mut groups = groups(&domains, |options| OffloadOptions {
            algorithm,
            racks: match algorithm {
                Algorithm::Hybrid => vec![2, 3],
                _ => Vec::new(),
            },
            credits: 3,
            ..options
        });
        messages(&devices, &mut groups, &LENGTHS[..3], 60_000);
        stop(groups, &domains);
    }
}

#[test]
fn mb_16_when_a_card_dies_the_others_end_without_their_hosts() {
    for silent in 0..4 {
        for (credits, before) in [(2, 5), (2, 100), (2, 400), (4, 5), (4, 100), (4, 200)] {
            let (devices, domains) = cards(4, NetworkConfig::default().link);
            let mut groups = groups(&domains, |options| OffloadOptions { credits, ..options });
            death(&devices, &mut groups, silent, [before, 100_000]);
        }
    }
}

#[test]
fn mb_16_when_a_member_goes_the_others_end() {
    let (devices, domains) = cards(3, NetworkConfig::default().link);
    let mut groups = groups(&domains, |options| options);
    for group in &mut groups {
        group.post(u64::from(BLOCK) * 20).unwrap();
    }
    hosts_do_nothing(&devices, 20);
    groups.truncate(2);
    hosts_do_nothing(&devices, 200_000);
    for group in &mut groups {
        let ends = ends(group);
        assert!(
            matches!(
                ends[..],
                [End {
                    code: EndCode::Failed | EndCode::Watchdog,
                    ..
                }]
            ),
            "{ends:?}"
        );
    }
}

#[test]
fn mb_16_groups_share_cards_and_one_that_waits_stops_no_other() {
    let (devices, domains) = cards(3, NetworkConfig::default().link);
    let change = |options| OffloadOptions {
        watchdog: Duration::ZERO,
        ..options
    };
    let mut waiting = groups(&domains, change);
    let mut others = groups(&domains, change);
    // The root alone gets no grant.
    waiting[0].post(10).unwrap();
    messages(&devices, &mut others, &LENGTHS[..2], 12_000);
    assert_eq!(ends(&mut waiting[0]), []);
    let bytes = [7; 10];
    for group in &mut waiting[1..] {
        group.post(10).unwrap();
    }
    hosts_do_nothing(&devices, 5_000);
    for group in &mut waiting {
        assert_eq!(ends(group), [done(0)]);
    }
    waiting[0].write(0, &bytes).unwrap();
    stop(others, &domains[..0]);
    stop(waiting, &domains);
}

#[test]
fn mb_16_what_does_not_fit_is_refused_with_what_would() {
    let (_, domains) = cards(2, NetworkConfig::default().link);
    let plain = |rank| OffloadOptions {
        credits: 2,
        lanes: 1,
        ..options(2, rank)
    };
    let refused = |change: &dyn Fn(&mut OffloadOptions)| {
        let mut options = plain(1);
        change(&mut options);
        let group = OffloadedGroup::new(&domains[1], options);
        group.err().expect("refused").to_string()
    };
    assert_eq!(refused(&|o| o.rank = 2), "rank 2 in a group of 2");
    assert_eq!(refused(&|o| o.credits = 0), "credits: 0, at least 1");
    assert_eq!(
        refused(&|o| o.most_blocks = 9_000),
        "9002 requests to or from rank 0, a queue pair holds 8192: blocks of 6000 bytes or more would do"
    );
    let new = |rank| OffloadedGroup::new(&domains[rank as usize], plain(rank)).unwrap();
    let [mut root, mut other] = [new(0), new(1)];
    let error = root.post(1).unwrap_err().to_string();
    assert_eq!(error, "the group is not connected");
    let error = root.connect(&[root.ticket()]).unwrap_err().to_string();
    assert_eq!(error, "0 tickets of rank 1, it has one");
    let wrong = Ticket {
        block_bytes: 1,
        ..other.ticket()
    };
    let error = root.connect(&[wrong]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the ticket of rank 1 does not fit: bytes of a block 1, here 3000"
    );
    let wrong = Ticket {
        pairs: Vec::new(),
        ..other.ticket()
    };
    let error = root.connect(&[wrong]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the ticket of rank 1 does not fit: queue pairs for a direction 0, here 1"
    );
    let tickets = [root.ticket(), other.ticket()];
    root.connect(&tickets).unwrap();
    other.connect(&tickets).unwrap();
    let error = root.post(72_001).unwrap_err().to_string();
    assert_eq!(error, "a message of 72001 bytes: up to 72000");
    root.post(5).unwrap();
    let error = root.write(0, &[1]).unwrap_err().to_string();
    assert_eq!(error, "the group is busy with a message");
    let error = root.close().unwrap_err().to_string();
    assert_eq!(error, "the group is not ended: stop it first");
    drop(other);
    assert!(domains.iter().all(|d| d.context().open_groups() == 0));
}

#[test]
fn mb_16_a_card_without_rings_says_so() {
    let bulk = BulkConfig {
        groups: 0,
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
    assert_eq!(domain.context().sizes().groups, 0);
    let group = OffloadedGroup::new(&domain, options(2, 0));
    let error = group.err().expect("refused").to_string();
    assert_eq!(error, "the card has no schedule rings");
}
