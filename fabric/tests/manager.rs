//! The life of a group, request by request.

mod manager_common;

use manager_common::{Fabric, network};
use tributary_fabric::manager::{
    Config, Ending, Event, ManagerError, Refusal, Reply, State, Unroutable,
};
use tributary_fabric::{IdError, NetworkBuilder};

const CONFIG: Config = Config {
    ids: 8192,
    groups_max: 100,
    join_timeout: 100,
    leave_timeout: 50,
    drain: 10,
    lease: None,
};

fn fabric() -> Fabric {
    Fabric::new(network("leaf-spine:4,2,4"), CONFIG)
}

fn refused(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn mc_07_routes_are_computed_once_when_all_have_joined() {
    let mut f = fabric();
    for (rank, endnode) in [(2, 9), (0, 1), (3, 14)] {
        let Reply::In(status) = f.join(7, 1, 4, rank, endnode) else {
            panic!("not in");
        };
        assert_eq!(status.state, State::ReceivingJoinReq);
        f.pass(1);
        assert!(f.tables.is_empty() && f.manager.load().max() == 0);
    }
    let Reply::In(last) = f.join(7, 1, 4, 1, 5) else {
        panic!("not in");
    };
    assert_eq!((last.state, last.joined), (State::ComputingRoutes, 4));
    assert_eq!(f.manager.compute(f.now, 10), 1);
    assert_eq!(f.state(7), Some(State::ComputingRoutes), "not written yet");
    assert_eq!(last.tree, None);
    f.write();
    let Reply::In(now) = f.poll(7, 1, 1) else {
        panic!("not in");
    };
    assert_eq!((now.state, now.tree), (State::Ready, Some(0)));
    let (group, leader) = f.manager.members(7).unwrap();
    assert_eq!((group.endnodes(), leader), (&[1, 5, 9, 14][..], 1));
    assert!(f.survey(7).unwrap().unwrap().is_whole(group));
    assert_eq!(f.manager.counters().routed, 1);
    let ready = Event::Ready {
        key: 7,
        tree: Some(0),
    };
    assert_eq!(f.manager.take_events(), [ready]);
}

#[test]
fn mc_07_a_leave_never_re_routes_and_when_all_have_left_the_group_goes() {
    let mut f = fabric();
    f.join_all(7, 1, &[0, 4, 8]);
    f.pass(1);
    let tree = f.manager.tree(7).map(|(id, tree)| (id, tree.clone()));
    for endnode in [4, 0] {
        assert_eq!(f.leave(7, 1, endnode), Reply::Out);
        f.pass(1);
        assert_eq!(f.state(7), Some(State::ReceivingLeaveReq));
        assert_eq!(f.manager.tree(7).map(|(id, t)| (id, t.clone())), tree);
        assert!(f.survey(7).unwrap().unwrap().down.contains(&8));
    }
    assert_eq!(f.leave(7, 1, 8), Reply::Out);
    assert_eq!(f.state(7), Some(State::Destroying));
    assert_eq!(f.manager.load().max(), 0);
    assert_eq!(f.manager.ids().trees(), 1, "frames may be under way");
    f.pass(9);
    assert!(!f.tables.is_empty());
    f.pass(1);
    assert!(f.is_clean());
    assert_eq!(f.manager.counters().routed, 1);
    assert_eq!(f.manager.counters().ended, 1);
}

#[test]
fn mc_07_an_id_is_reused_only_when_destroying_is_over() {
    let mut f = fabric();
    f.join_all(1, 1, &[0, 4]);
    f.pass(1);
    f.leave(1, 1, 0);
    f.leave(1, 1, 4);
    f.join_all(2, 1, &[1, 5]);
    f.pass(5);
    assert_eq!((f.state(1), f.id(2)), (Some(State::Destroying), Some(1)));
    f.now += 5;
    f.manager.tick(f.now);
    let clears = f.manager.take_updates();
    f.join_all(3, 1, &[0, 4]);
    f.manager.compute(f.now, 1);
    assert_eq!(
        f.manager.tree(3).unwrap().0,
        2,
        "the clearing is not confirmed"
    );
    assert_eq!(f.state(1), Some(State::Destroying));
    f.manager.written(f.now, clears[0].number).unwrap();
    assert_eq!(f.state(1), None);
    f.join_all(4, 1, &[0, 4]);
    f.manager.compute(f.now, 1);
    assert_eq!(f.manager.tree(4).unwrap().0, 0);
    f.manager.audit().unwrap();
}

#[test]
fn mc_07_timeouts_in_both_receiving_states_lead_to_destroying() {
    let mut f = fabric();
    f.join(7, 1, 3, 0, 0);
    f.pass(60);
    f.join(7, 1, 3, 1, 1);
    f.pass(39);
    assert_eq!(f.state(7), Some(State::ReceivingJoinReq));
    assert_eq!(f.manager.next_deadline(), Some(100), "from the first join");
    f.pass(1);
    assert_eq!(f.state(7), Some(State::Destroying));
    assert_eq!(refused(f.join(7, 1, 3, 2, 2)), Refusal::Ended);
    let Reply::In(status) = f.poll(7, 1, 0) else {
        panic!("not in");
    };
    assert_eq!(status.state, State::Destroying);
    f.pass(10);
    assert!(f.is_clean());

    f.join_all(7, 2, &[0, 1, 4]);
    f.pass(1_000);
    assert_eq!(f.state(7), Some(State::Ready), "no hurry here");
    f.leave(7, 2, 1);
    f.pass(49);
    assert_eq!(f.state(7), Some(State::ReceivingLeaveReq));
    f.pass(1);
    assert_eq!(f.state(7), Some(State::Destroying));
    assert_eq!(f.leave(7, 2, 0), Reply::Out, "late, but right");
    f.pass(10);
    assert!(f.is_clean());
    let counters = f.manager.counters();
    assert_eq!((counters.join_timeouts, counters.leave_timeouts), (1, 1));
    let ends = f.manager.take_events().into_iter();
    let ends: Vec<_> = ends.filter(|e| matches!(e, Event::Ended { .. })).collect();
    let ended = |how| Event::Ended { key: 7, how };
    assert_eq!(
        ends,
        [ended(Ending::JoinTimeout), ended(Ending::LeaveTimeout)]
    );
}

#[test]
fn mc_07_a_ready_group_that_nobody_asks_for_ends() {
    let lease = Config {
        lease: Some(30),
        ..CONFIG
    };
    let mut f = Fabric::new(network("leaf-spine:4,2,4"), lease);
    f.join_all(7, 1, &[0, 4]);
    f.join_all(8, 1, &[5]);
    f.pass(1);
    for _ in 0..10 {
        f.pass(29);
        f.poll(7, 1, 4);
        f.poll(8, 1, 5);
    }
    let ready = Some(State::Ready);
    assert_eq!((f.state(7), f.state(8)), (ready, ready));
    f.pass(29);
    f.poll(7, 1, 9);
    f.pass(1);
    let leaving = Some(State::ReceivingLeaveReq);
    assert_eq!((f.state(7), f.state(8)), (leaving, leaving));
    f.poll(7, 1, 4);
    f.pass(50);
    f.pass(10);
    assert!(f.is_clean());
    assert_eq!(f.manager.counters().leases, 2);
}

#[test]
fn mc_07_timeouts_hold_even_if_nobody_ticks() {
    let mut f = fabric();
    f.join(7, 1, 2, 0, 0);
    f.now = 100;
    assert_eq!(refused(f.join(7, 1, 2, 1, 1)), Refusal::Ended);
    f.now = 110;
    assert_eq!(refused(f.poll(7, 1, 0)), Refusal::NoGroup);
    assert!(f.is_clean());
    // Time does not go back.
    f.manager.tick(5);
    f.join(7, 2, 2, 0, 0);
    assert_eq!(f.manager.next_deadline(), Some(210));
}

#[test]
fn mc_07_repeated_requests_are_answered_and_change_nothing() {
    let mut f = fabric();
    f.join_all(7, 1, &[0, 4]);
    let Reply::In(again) = f.join(7, 1, 2, 1, 4) else {
        panic!("not in");
    };
    assert_eq!((again.joined, again.state), (2, State::ComputingRoutes));
    f.pass(1);
    assert!(matches!(f.join(7, 1, 2, 0, 0), Reply::In(s) if s.tree == Some(0)));
    assert_eq!(f.leave(7, 1, 4), Reply::Out);
    assert_eq!(f.leave(7, 1, 4), Reply::Out);
    assert_eq!(f.state(7), Some(State::ReceivingLeaveReq));
    let counters = f.manager.counters();
    assert_eq!((counters.joins, counters.repeated_joins), (2, 2));
    assert_eq!((counters.leaves, counters.repeated_leaves), (1, 1));
}

#[test]
fn mc_07_requests_that_are_wrong_are_refused_and_change_nothing() {
    let mut f = fabric();
    let max = 16;
    f.join(7, 5, 3, 0, 0);
    let before = f.manager.status(7);
    let wrong = [
        (f.join(7, 5, 3, 1, 16), Refusal::UnknownEndnode(16)),
        (f.join(8, 5, 0, 0, 1), Refusal::BadSize { size: 0, max }),
        (f.join(8, 5, 17, 0, 1), Refusal::BadSize { size: 17, max }),
        (f.join(8, 5, 3, 3, 1), Refusal::BadRank { rank: 3, size: 3 }),
        (
            f.join(7, 5, 4, 1, 1),
            Refusal::SizeDiffers { stated: 4, size: 3 },
        ),
        (
            f.join(7, 5, 4, 0, 0),
            Refusal::SizeDiffers { stated: 4, size: 3 },
        ),
        (f.join(7, 5, 3, 1, 0), Refusal::Duplicate(0)),
        (f.join(7, 5, 3, 0, 1), Refusal::RankTaken(0)),
        (
            f.join(7, 4, 3, 1, 1),
            Refusal::Stale {
                incarnation: 4,
                current: 5,
            },
        ),
        (
            f.leave(7, 4, 0),
            Refusal::Stale {
                incarnation: 4,
                current: 5,
            },
        ),
        (f.leave(7, 6, 0), Refusal::NoGroup),
        (f.leave(7, 5, 1), Refusal::NotMember),
        (f.leave(7, 5, 99), Refusal::UnknownEndnode(99)),
        (f.poll(7, 5, 1), Refusal::NotMember),
        (f.poll(8, 5, 1), Refusal::NoGroup),
    ];
    for (got, why) in wrong {
        assert_eq!(refused(got), why);
    }
    assert_eq!(f.manager.status(7), before);
    assert_eq!(f.manager.group_count(), 1);
    f.join(7, 5, 3, 1, 1);
    f.join(7, 5, 3, 2, 2);
    assert_eq!(refused(f.join(7, 5, 3, 2, 3)), Refusal::Full(3));
    f.pass(1);
    assert_eq!(refused(f.join(7, 5, 3, 2, 3)), Refusal::Full(3));
    f.leave(7, 5, 2);
    assert_eq!(refused(f.join(7, 5, 3, 2, 2)), Refusal::HasLeft);
    assert_eq!(f.manager.counters().refused.iter().sum::<u64>(), 18);
    assert_eq!(f.manager.counters().refused[Refusal::Full(3).kind()], 2);
    f.manager.audit().unwrap();
}

#[test]
fn mc_07_every_refusal_has_a_kind_of_its_own() {
    let all = [
        Refusal::UnknownEndnode(0),
        Refusal::BadSize { size: 0, max: 0 },
        Refusal::BadRank { rank: 0, size: 0 },
        Refusal::TooManyGroups(0),
        Refusal::Stale {
            incarnation: 0,
            current: 0,
        },
        Refusal::Busy { current: 0 },
        Refusal::SizeDiffers { stated: 0, size: 0 },
        Refusal::Duplicate(0),
        Refusal::RankTaken(0),
        Refusal::Full(0),
        Refusal::HasLeft,
        Refusal::Ended,
        Refusal::NoGroup,
        Refusal::NotMember,
    ];
    let kinds: Vec<_> = all.iter().map(Refusal::kind).collect();
    assert_eq!(kinds, (0..Refusal::KINDS.len()).collect::<Vec<_>>());
}

#[test]
fn mc_07_the_number_of_groups_is_bounded() {
    let mut f = fabric();
    for key in 0..100 {
        f.join(key, 1, 2, 0, 0);
    }
    assert_eq!(
        refused(f.join(100, 1, 2, 0, 0)),
        Refusal::TooManyGroups(100)
    );
    assert!(matches!(f.join(99, 1, 2, 1, 1), Reply::In(_)));
}

#[test]
fn mc_07_a_newer_life_waits_for_the_end_of_the_old_one() {
    let mut f = fabric();
    // A join of life 1, so late that life 1 is forgotten, does not keep life 2 out.
    f.join(7, 1, 5, 0, 0);
    f.join_all(7, 2, &[0, 4]);
    assert_eq!(
        refused(f.join(7, 1, 5, 0, 0)),
        Refusal::Stale {
            incarnation: 1,
            current: 2
        }
    );
    f.pass(200);
    assert_eq!(f.state(7), Some(State::Ready));
    let busy = Refusal::Busy { current: 2 };
    assert_eq!(refused(f.join(7, 3, 2, 0, 9)), busy);
    assert_eq!(f.state(7), Some(State::Ready), "a stranger ends nothing");
    // Its members have started anew without leaving.
    assert_eq!(refused(f.join(7, 3, 2, 0, 0)), busy);
    assert_eq!(f.state(7), Some(State::ReceivingLeaveReq));
    assert_eq!(refused(f.join(7, 3, 2, 0, 0)), busy);
    assert_eq!(refused(f.join(7, 3, 2, 1, 4)), busy);
    assert_eq!(f.state(7), Some(State::Destroying));
    f.pass(10);
    f.join_all(7, 3, &[0, 4]);
    f.pass(1);
    assert_eq!(
        f.manager.status(7).map(|(i, s)| (i, s.state)),
        Some((3, State::Ready))
    );
    assert_eq!(f.manager.counters().crashes, 2);
    assert_eq!(f.manager.counters().superseded, 1);
}

#[test]
fn mc_07_a_group_that_loses_a_member_before_it_is_ready_ends() {
    let mut f = fabric();
    f.join(7, 1, 3, 0, 0);
    f.join(7, 1, 3, 1, 1);
    f.leave(7, 1, 1);
    assert_eq!(f.state(7), Some(State::Destroying));
    // In the middle of being written.
    f.join_all(8, 1, &[0, 4, 8]);
    f.manager.compute(0, 1);
    f.manager.endnode_failed(0, 8);
    assert_eq!(f.state(8), Some(State::Destroying));
    f.write();
    assert!(!f.tables.is_empty());
    f.pass(10);
    assert!(f.is_clean());
}

#[test]
fn mc_07_dead_members_count_as_gone() {
    let mut f = fabric();
    f.join_all(1, 1, &[0, 4]);
    f.join_all(2, 1, &[4, 8, 0]);
    f.join_all(3, 1, &[9, 5]);
    f.pass(1);
    f.manager.endnode_failed(f.now, 0);
    let states = [1, 2, 3].map(|key| f.state(key));
    let leaving = Some(State::ReceivingLeaveReq);
    assert_eq!(states, [leaving, leaving, Some(State::Ready)]);
    f.leave(1, 1, 4);
    assert_eq!(f.state(1), Some(State::Destroying));
    f.pass(50);
    assert_eq!(f.state(2), Some(State::Destroying));
    assert_eq!(f.manager.counters().crashes, 2);
}

#[test]
fn mc_07_a_group_of_one_needs_no_tree() {
    let mut f = fabric();
    f.join_all(1, 1, &[3]);
    f.pass(1);
    assert_eq!((f.state(1), f.id(1)), (Some(State::Ready), None));
    f.leave(1, 1, 3);
    f.pass(10);
    assert!(f.is_clean());
}

#[test]
fn mc_09_without_a_free_id_a_group_waits_for_one() {
    let network = network("leaf-spine:2,1,4");
    let mut f = Fabric::new(network, Config { ids: 2, ..CONFIG });
    for key in 1..=3 {
        f.join_all(key, 1, &[0, 4]);
    }
    f.pass(1);
    assert_eq!(f.state(3), Some(State::ComputingRoutes));
    assert!(matches!(
        f.manager.unroutable(3),
        Some(Unroutable::Id(IdError::Exhausted {
            ids: 2,
            free: 0,
            ..
        }))
    ));
    f.manager.audit().unwrap();
    f.leave(1, 1, 0);
    f.leave(1, 1, 4);
    f.pass(10);
    f.pass(1);
    assert_eq!((f.state(3), f.id(3)), (Some(State::Ready), Some(0)));
    assert_eq!(f.manager.unroutable(3), None);
}

#[test]
fn mc_07_a_group_whose_tree_does_not_go_into_tables_ends() {
    let mut b = NetworkBuilder::new("wide");
    let s = b.switch("wide", 1, 80).unwrap();
    b.endnode("a", 2, (s, 1)).unwrap();
    b.endnode("b", 3, (s, 80)).unwrap();
    let mut f = Fabric::new(b.build().unwrap(), CONFIG);
    f.join_all(1, 1, &[0, 1]);
    f.pass(1);
    assert_eq!(f.state(1), Some(State::Destroying));
    let events = f.manager.take_events();
    assert!(matches!(
        &events[..],
        [Event::Ended {
            how: Ending::Refused(_),
            ..
        }]
    ));
    f.pass(10);
    assert!(f.is_clean());
}

#[test]
fn mc_09_updates_that_were_not_handed_out_cannot_be_done() {
    let mut f = fabric();
    f.join_all(1, 1, &[0, 4]);
    f.manager.compute(0, 1);
    let early = f.manager.written(0, 0);
    assert_eq!(early, Err(ManagerError::NoUpdate { number: 0, next: 0 }));
    assert_eq!(f.state(1), Some(State::ComputingRoutes));
    assert_eq!(f.manager.take_updates().len(), 1);
    f.manager.written(0, 0).unwrap();
    f.manager.written(0, 0).unwrap();
    assert_eq!(f.state(1), Some(State::Ready));
}
