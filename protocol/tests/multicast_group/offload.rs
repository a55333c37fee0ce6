//! Groups whose cards carry out the schedule: what a member makes of the ends that its card tells.

use tributary_protocol::multicast::group::{
    GroupConfig, GroupError, Holdings, Output, Verdict, Why,
};
use tributary_protocol::multicast::ring::{Completion, Job, Status};

use super::directed::Group;

/// Three members, and messages of these lengths posted at all.
fn posted(lengths: &[u64]) -> Group {
    let mut config = GroupConfig::new(3, 10);
    config.offload = true;
    let mut group = Group::equal(&config);
    for &length in lengths {
        group.call(0, |m, out| m.send(length, out)).unwrap();
        for rank in 1..3 {
            group
                .call(rank, |m, out| m.post_buffer(length, out))
                .unwrap();
        }
    }
    group
}

fn done(group: &mut Group, rank: u32, message: u32, length: u64) {
    end(group, rank, message, length, Status::Done);
}

fn end(group: &mut Group, rank: u32, message: u32, length: u64, status: Status) {
    let completion = Completion {
        message,
        length,
        status,
    };
    group.call(rank, |m, out| m.completed(completion, out));
}

#[test]
fn mb_14_what_a_card_has_brought_whole_is_what_its_member_has() {
    let mut group = posted(&[25, 7]);
    let jobs = [25, 7].map(|room| Output::Post(Job::Receive { room }));
    assert_eq!(group.outputs[1], jobs);
    done(&mut group, 1, 0, 25);
    let first = Holdings {
        whole: vec![25],
        partial: Vec::new(),
    };
    assert_eq!(group.members[1].holdings(), first);
    assert_eq!(group.members[2].holdings(), Holdings::default());
    assert_eq!(group.members[0].holdings().whole, [25, 7]);
}

#[test]
fn mb_12_the_peer_of_a_failed_transfer_is_suspected_once() {
    let mut group = posted(&[25]);
    end(&mut group, 1, 0, 0, Status::Failed { peer: 2 });
    // The others are told before their cards end; what these say then accuses nobody else.
    end(&mut group, 0, 0, 0, Status::Failed { peer: 1 });
    end(&mut group, 2, 0, 0, Status::Failed { peer: 0 });
    let why = Why::Gone;
    for member in &group.members {
        let error = member.error().unwrap_err();
        assert_eq!(error, GroupError::Failed { suspect: 2, why });
    }
    let verdict = Verdict::Failure {
        suspect: 2,
        why,
        watermarks: vec![Some(1), Some(0), None],
    };
    assert_eq!(group.members[0].verdict(), Some(&verdict));
    assert_eq!(group.members[1].verdict(), Some(&verdict));
}

#[test]
fn mb_13_who_leaves_when_all_is_done_fails_nobody() {
    let mut group = posted(&[25]);
    group.call(0, |m, out| m.close(out)).unwrap();
    done(&mut group, 1, 0, 25);
    // It wants nothing of others any more, and cards of those who know the verdict may be gone.
    for peer in [0, 2] {
        end(&mut group, 1, 1, 0, Status::Failed { peer });
    }
    assert!(group.members.iter().all(|m| m.error().is_ok()));
    done(&mut group, 2, 0, 25);
    done(&mut group, 0, 0, 25);
    let verdict = Verdict::Success { messages: 1 };
    assert!(group.members.iter().all(|m| m.verdict() == Some(&verdict)));
}

#[test]
fn mb_12_a_card_that_waits_for_too_long_or_is_told_nonsense_fails_the_group() {
    for (status, why) in [
        (Status::Watchdog, Why::Stuck),
        (Status::TooLong, Why::Length),
    ] {
        let mut group = posted(&[25]);
        end(&mut group, 1, 0, 0, status);
        for member in &group.members {
            let error = member.error().unwrap_err();
            assert_eq!(error, GroupError::Failed { suspect: 1, why });
        }
    }
    let mut group = posted(&[]);
    group.call(1, |m, out| m.peer_misfits(2, out));
    for member in &group.members {
        let (suspect, why) = (2, Why::Ticket);
        let error = member.error().unwrap_err();
        assert_eq!(error, GroupError::Failed { suspect, why });
        // It is there, and has its say in the verdict.
        let Some(Verdict::Failure { watermarks, .. }) = member.verdict() else {
            panic!("{:?}", member.verdict());
        };
        assert_eq!(watermarks, &[Some(0); 3]);
    }
    for peer in [1, 3] {
        let mut group = posted(&[]);
        group.call(1, |m, out| m.peer_misfits(peer, out));
        assert!(group.members[1].is_open());
        assert_eq!(group.members[1].counters().strange, 1);
    }
}
