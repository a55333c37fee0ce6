//! One behaviour at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::{
    Control, Expected, GroupConfig, GroupError, Member, Mutations, Output, Verdict, Why,
};

const EPOCH: u32 = 3;

/// Members over a network that delivers at once, in order; blocks that are on their way stay where they are.
pub struct Group {
    pub members: Vec<Member>,
    pub outputs: Vec<Vec<Output>>,
    blocks: Vec<(u32, u32, u32, u32, u64)>,
}

impl Group {
    fn new(configs: Vec<GroupConfig>) -> Self {
        let members = configs.into_iter().enumerate();
        let members: Vec<Member> = members
            .map(|(rank, config)| Member::new(config, rank as u32, EPOCH).unwrap())
            .collect();
        let outputs = vec![Vec::new(); members.len()];
        let mut group = Self {
            members,
            outputs,
            blocks: Vec::new(),
        };
        for rank in 0..group.members.len() {
            group.call(rank as u32, |m, out| m.join(out));
        }
        group
    }

    pub fn equal(config: &GroupConfig) -> Self {
        Self::new(vec![config.clone(); config.members as usize])
    }

    pub fn call<T>(
        &mut self,
        rank: u32,
        what: impl FnOnce(&mut Member, &mut Vec<Output>) -> T,
    ) -> T {
        let mut out = Vec::new();
        let result = what(&mut self.members[rank as usize], &mut out);
        let mut queue: VecDeque<(u32, Output)> = out.into_iter().map(|o| (rank, o)).collect();
        while let Some((rank, output)) = queue.pop_front() {
            match output {
                Output::Control { to, control } => {
                    let mut out = Vec::new();
                    self.members[to as usize].control(rank, EPOCH, control, &mut out);
                    queue.extend(out.into_iter().map(|o| (to, o)));
                }
                Output::Block {
                    to,
                    message,
                    block,
                    length,
                } => self.blocks.push((rank, to, message, block, length)),
                other => self.outputs[rank as usize].push(other),
            }
        }
        result
    }

    /// Gives every buffer that is wanted.
    fn give_buffers(&mut self) {
        for rank in 0..self.members.len() {
            let begins = self.outputs[rank].extract_if(.., |o| matches!(o, Output::Begin { .. }));
            for output in begins.collect::<Vec<_>>() {
                if let Output::Begin { message, .. } = output {
                    self.call(rank as u32, |m, out| m.buffer(message, out));
                }
            }
        }
    }

    /// The oldest block on its way arrives.
    fn arrive(&mut self) -> bool {
        if self.blocks.is_empty() {
            return false;
        }
        let (from, to, message, block, length) = self.blocks.remove(0);
        self.call(to, |m, out| {
            m.block_arrived(from, EPOCH, (message, block), length, out);
        });
        self.call(from, |m, out| m.block_sent(message, out));
        true
    }
}

#[test]
fn mb_08_other_parameters_are_refused_by_all_and_named() {
    let config = GroupConfig::new(5, 1_000);
    let mut other = config.clone();
    let changes: [fn(&mut GroupConfig); 5] = [
        |c| c.block_bytes = 999,
        |c| c.members = 4,
        |c| c.offload = true,
        |c| c.algorithm = Algorithm::Chain,
        |c| c.identity = 1,
    ];
    for change in changes {
        change(&mut other);
        let mut configs = vec![config.clone(); 5];
        configs[3] = other.clone();
        let group = Group::new(configs);
        for member in &group.members {
            let error = member.error().unwrap_err();
            let why = Why::Parameters;
            assert_eq!(error, GroupError::Failed { suspect: 3, why });
        }
        other = config.clone();
    }
    // How many blocks a member allows is its own affair.
    let mut configs = vec![config.clone(); 5];
    configs[2].credits = 9;
    assert!(Group::new(configs).members.iter().all(Member::is_open));
}

#[test]
fn mb_09_no_more_blocks_are_on_their_way_to_a_member_than_it_allows() {
    for credits in [2, 3, 7] {
        let mut config = GroupConfig::new(6, 10);
        config.credits = credits;
        let mut group = Group::equal(&config);
        group.call(0, |m, out| m.send(200, out)).unwrap();
        let mut most = BTreeMap::new();
        loop {
            for member in 1..6 {
                let coming = group.blocks.iter().filter(|b| b.1 == member).count() as u32;
                let seen = most.entry(member).or_insert(0);
                *seen = coming.max(*seen);
            }
            group.give_buffers();
            if !group.arrive() {
                break;
            }
        }
        assert!(most.values().all(|&n| n <= credits), "{credits}: {most:?}");
        assert!(group.members.iter().all(|m| m.delivered() == 1));
    }
}

/// Blocks on their way to the only receiver when a long message is going.
fn under_way(config: &GroupConfig) -> usize {
    let mut group = Group::equal(config);
    group.call(0, |m, out| m.send(200, out)).unwrap();
    for _ in 0..5 {
        assert!(group.arrive());
        group.give_buffers();
    }
    group.blocks.len()
}

#[test]
fn mb_09_two_blocks_are_on_their_way_at_once() {
    assert_eq!(under_way(&GroupConfig::new(2, 10)), 2);
}

#[test]
fn mb_09_mutation_one_credit_is_caught() {
    let mut config = GroupConfig::new(2, 10);
    config.mutations = Mutations {
        one_credit: true,
        ..Mutations::default()
    };
    assert_eq!(under_way(&config), 1);
}

#[test]
fn mb_09_a_credit_that_comes_late_takes_nothing_back() {
    let config = GroupConfig::new(2, 10);
    let mut root = Member::new(config.clone(), 0, EPOCH).unwrap();
    let mut out = Vec::new();
    root.control(1, EPOCH, Control::Join(config.parameters()), &mut out);
    assert!(root.is_open());
    let credit = |granted| Control::Credit {
        granted,
        expected: Expected {
            message: 0,
            block: None,
        },
    };
    for granted in [1, 3, 2, 1, 3] {
        root.control(1, EPOCH, credit(granted), &mut out);
    }
    root.send(100, &mut out).unwrap();
    let started = |out: &[Output]| {
        let block = |o: &&Output| matches!(o, Output::Block { .. });
        out.iter().filter(block).count()
    };
    assert_eq!(started(&out), 3);
    // Of another incarnation, of nobody, of itself: counted, and nothing else.
    let before = root.clone();
    root.control(1, EPOCH + 1, credit(9), &mut out);
    root.control(2, EPOCH, credit(9), &mut out);
    root.control(0, EPOCH, credit(9), &mut out);
    assert_eq!((root.counters().stale, root.counters().strange), (1, 2));
    assert_eq!(started(&out), 3);
    assert_eq!(root.watched(), before.watched());
}

#[test]
fn mb_10_an_empty_message_and_a_short_last_block_have_their_exact_length() {
    for length in [0, 1, 9, 10, 11, 99, 100] {
        let config = GroupConfig::new(5, 10);
        let mut group = Group::equal(&config);
        group.call(0, |m, out| m.send(length, out)).unwrap();
        loop {
            for rank in 1..5u32 {
                if let Some(&Output::Begin { message, length: l }) =
                    group.outputs[rank as usize].last()
                {
                    assert_eq!(l, length);
                    group.outputs[rank as usize].pop();
                    group.call(rank, |m, out| m.buffer(message, out));
                }
            }
            if !group.arrive() {
                break;
            }
        }
        for outputs in &group.outputs[1..] {
            let delivered = Output::Delivered { message: 0, length };
            assert_eq!(outputs[..], [delivered, Output::Released { message: 0 }]);
        }
    }
}

#[test]
fn mb_10_a_message_longer_than_a_buffer_fails_the_group_and_names_the_member() {
    let mut group = Group::equal(&GroupConfig::new(4, 10));
    group.call(0, |m, out| m.send(30, out)).unwrap();
    while group.outputs[2].is_empty() {
        assert!(group.arrive());
        for rank in [1, 3] {
            if let Some(&Output::Begin { message, .. }) = group.outputs[rank as usize].last() {
                group.outputs[rank as usize].pop();
                group.call(rank, |m, out| m.buffer(message, out));
            }
        }
    }
    group.call(2, |m, out| m.refuse(0, out));
    for member in &group.members {
        let Some(Verdict::Failure {
            suspect,
            why,
            watermarks,
        }) = member.verdict()
        else {
            panic!("{:?}", member.verdict());
        };
        assert_eq!((*suspect, *why), (2, Why::Length));
        assert_eq!(watermarks[..], [Some(1), Some(0), Some(0), Some(0)]);
    }
    assert!(group.call(0, |m, out| m.send(1, out)).is_err());
}

/// Rounds until all the living have failed, if only notices are carried; `None` if some never do.
fn notice_rounds(config: &GroupConfig, dead: u32) -> Option<u32> {
    let mut group = Group::equal(config);
    let mut knows: BTreeSet<u32> = BTreeSet::new();
    let mut flying: Vec<(u32, u32, Control)> = Vec::new();
    let tell = |group: &mut Group, rank: u32, from: u32, control: Option<Control>| {
        let mut out = Vec::new();
        let member = &mut group.members[rank as usize];
        match control {
            None => member.peer_failed(dead, &mut out),
            Some(control) => member.control(from, EPOCH, control, &mut out),
        }
        let notices = out.into_iter().filter_map(|output| match output {
            Output::Control {
                to,
                control: c @ Control::Notice { .. },
            } if to != dead => Some((rank, to, c)),
            _ => None,
        });
        notices.collect::<Vec<_>>()
    };
    // One neighbour of the dead member finds out.
    let first =
        (0..config.members).find(|&rank| group.members[rank as usize].watched().contains(&dead))?;
    flying.extend(tell(&mut group, first, first, None));
    knows.insert(first);
    for round in 0..config.members {
        if knows.len() as u32 + 1 == config.members {
            return Some(round);
        }
        for (from, to, control) in std::mem::take(&mut flying) {
            knows.insert(to);
            flying.extend(tell(&mut group, to, from, Some(control)));
        }
    }
    None
}

#[test]
fn mb_12_notices_reach_everyone_within_the_diameter() {
    for members in [3, 8, 13, 32, 100] {
        let config = GroupConfig::new(members, 10);
        for dead in 0..members {
            let rounds = notice_rounds(&config, dead).unwrap();
            // Without the dead member a path may be two longer than in the hypercube of vertices, twice its twins.
            let most = members.ilog2() + 3;
            assert!(
                rounds <= most,
                "{members} members, {dead} dead: {rounds} rounds"
            );
        }
    }
}

#[test]
fn mb_12_mutation_notice_not_relayed_is_caught() {
    let mut config = GroupConfig::new(13, 10);
    config.mutations = Mutations {
        notice_not_relayed: true,
        ..Mutations::default()
    };
    assert_eq!(notice_rounds(&config, 5), None);
}

#[test]
fn mb_12_every_call_after_a_failure_names_the_suspect() {
    let mut group = Group::equal(&GroupConfig::new(3, 10));
    group.call(0, |m, out| m.peer_failed(2, out));
    let failed = Err(GroupError::Failed {
        suspect: 2,
        why: Why::Gone,
    });
    assert_eq!(group.call(0, |m, out| m.send(5, out).map(|_| ())), failed);
    assert_eq!(group.call(0, |m, out| m.close(out)), failed);
    assert_eq!(group.members[1].error(), failed);
}

#[test]
fn mb_08_groups_that_cannot_be_are_refused() {
    let good = GroupConfig::new(4, 10);
    assert!(Member::new(good.clone(), 3, 0).is_ok());
    type Change = fn(&mut GroupConfig);
    let wrong: [(Change, &str); 5] = [
        (|c| c.block_bytes = 0, "blocks of 0 bytes"),
        (|c| c.credits = 1, "1 credits"),
        (|c| c.members = 0, "0 members"),
        (
            |c| c.algorithm = Algorithm::Hybrid,
            "the racks have 0 together",
        ),
        (|c| c.members = 3, "rank 3 in a group of 3"),
    ];
    for (change, text) in wrong {
        let mut config = good.clone();
        change(&mut config);
        let error = Member::new(config, 3, 0).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let mut group = Group::equal(&good);
    let long = u64::from(u32::MAX);
    let error = group.call(0, |m, out| m.send(long, out)).unwrap_err();
    assert!(error.to_string().contains("has up to 10485760"), "{error}");
    let error = group.call(1, |m, out| m.send(1, out)).unwrap_err();
    assert_eq!(error, GroupError::NotRoot(1));
}

#[test]
fn mb_13_who_reported_before_the_verdict_came_is_told() {
    let config = GroupConfig::new(4, 10);
    let mut member = Member::new(config, 1, EPOCH).unwrap();
    let mut out = Vec::new();
    member.control(0, EPOCH, Control::Open, &mut out);
    // Member 3 knows that the root is gone, this one does not yet.
    let report = Control::Report {
        suspect: 0,
        why: Why::Gone,
        watermark: 0,
    };
    member.control(3, EPOCH, report, &mut out);
    out.clear();
    let verdict = Verdict::Success { messages: 0 };
    member.control(0, EPOCH, Control::Verdict(verdict.clone()), &mut out);
    let told = Output::Control {
        to: 3,
        control: Control::Verdict(verdict.clone()),
    };
    assert!(out.contains(&told), "{out:?}");
    assert_eq!(member.verdict(), Some(&verdict));
}

#[test]
fn mb_12_what_makes_no_sense_from_its_sender_is_counted_and_does_nothing() {
    let config = GroupConfig::new(4, 10);
    let mut member = Member::new(config, 2, EPOCH).unwrap();
    let (suspect, why) = (1, Why::Gone);
    let wrong = [
        // Only a member with a lower rank gathers.
        (3, Control::Ask { suspect, why }),
        (
            1,
            Control::Report {
                suspect,
                why,
                watermark: 0,
            },
        ),
        (0, Control::Notice { suspect: 4, why }),
        (1, Control::Open),
        (3, Control::Done),
        (4, Control::Open),
        (2, Control::Open),
    ];
    let mut out = Vec::new();
    let before = member.clone();
    for (i, (from, control)) in wrong.into_iter().enumerate() {
        member.control(from, EPOCH, control, &mut out);
        assert_eq!(member.counters().strange, i as u64 + 1);
    }
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(member.error(), before.error());
    assert!(!member.is_open());
}
