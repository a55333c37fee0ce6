//! One-sided operations on model cards.

use tributary_host_driver::{Access, Error, OneSided, PostError, WorkCompletionStatus};
use tributary_sim::card::{NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;

use crate::onesided_runs::{self as runs, Target};
use crate::{BAD, config};

fn devices(nodes: u32, link: LinkConfig) -> Vec<SimDevice> {
    network(&config(nodes, link)).unwrap()
}

fn good() -> LinkConfig {
    NetworkConfig::default().link
}

#[test]
fn xud_13_counts_are_exact_over_a_bad_network() {
    let again = runs::counts_are_exact(&devices(4, BAD), 8, 100, 1);
    assert!(again > 50, "only {again} came again");
}

#[test]
fn xud_13_bytes_are_exact_over_a_bad_network() {
    runs::bytes_are_exact(&devices(4, BAD), 8, 100, 2);
}

#[test]
fn xud_09_xud_13_a_requester_that_goes_leaves_nothing() {
    runs::a_requester_that_goes_leaves_nothing(&devices(2, good()), 120);
}

#[test]
fn xud_06_xud_13_a_target_that_is_reset_does_nothing_twice() {
    runs::a_target_that_is_reset_does_nothing_twice(&devices(2, good()));
}

#[test]
fn xud_13_refusals_have_their_names_and_end_the_window() {
    runs::refusals_have_their_names(&devices(2, good()));
}

#[test]
fn xud_08_xud_13_a_window_is_given_up_after_its_attempts() {
    let devices = devices(2, good());
    let mut target = Target::new(&devices[0], 64, runs::all());
    let domain = runs::open(&devices[1], 1);
    let config = tributary_host_driver::OneSidedConfig {
        attempts: 5,
        ..runs::config()
    };
    let mut requester = OneSided::new(&domain, config).unwrap();
    let [one, two] = [0, 1].map(|_| target.grant(&mut requester));
    requester.fetch_add(one, target.memory.remote(), 1).unwrap();
    assert_eq!(runs::ended_status(&mut requester), WorkCompletionStatus::Ok);
    devices[0].remove();
    for (through, status) in [
        (one, WorkCompletionStatus::Unresponsive),
        (two, WorkCompletionStatus::Unreachable),
    ] {
        let before = devices[1].counter(tributary_host_driver::Counter::Timeouts);
        requester
            .fetch_add(through, target.memory.remote(), 1)
            .unwrap();
        assert_eq!(runs::ended_status(&mut requester), status);
        let after = devices[1].counter(tributary_host_driver::Counter::Timeouts);
        assert_eq!(after.unwrap() - before.unwrap(), 5);
        let over = requester.fetch_add(through, target.memory.remote(), 1);
        assert!(matches!(over, Err(PostError::Window("over"))));
    }
}

#[test]
fn xud_13_what_cannot_be_begun_gives_the_buffer_back() {
    let mut config = config(2, good());
    config.card.bulk = None;
    let devices = network(&config).unwrap();
    let mut target = Target::new(&devices[0], 64, runs::all());
    let domain = runs::open(&devices[1], 1);
    let config = tributary_host_driver::OneSidedConfig {
        operations: 2,
        ..runs::config()
    };
    let mut requester = OneSided::new(&domain, config).unwrap();
    let lines = [0; 3].map(|_| target.grant(&mut requester));
    let remote = target.memory.remote();
    let region = domain.reg_mr(8_192, Access::LOCAL_WRITE).unwrap();
    let read_only = domain.reg_mr(4_096, Access::LOCAL_READ).unwrap();
    let other = domain.context().alloc_pd().unwrap();
    let foreign = other.reg_mr(4_096, Access::LOCAL_WRITE).unwrap();

    let long = requester.write(lines[0], region.alloc(1_009).unwrap(), remote);
    let long = long.unwrap_err();
    assert!(matches!(
        long.error,
        PostError::NoBulk {
            bytes: 1_009,
            max: 1_008
        }
    ));
    assert_eq!(long.buffer.unwrap().len(), 1_009);
    let empty = requester.read(lines[0], region.alloc(0).unwrap(), remote);
    assert!(matches!(empty.unwrap_err().error, PostError::Empty));
    let constant = requester.read(lines[0], read_only.alloc(8).unwrap(), remote);
    assert!(matches!(constant.unwrap_err().error, PostError::ReadOnly));
    let stranger = requester.write(lines[0], foreign.alloc(8).unwrap(), remote);
    assert!(matches!(stranger.unwrap_err().error, PostError::Domain));
    let odd = requester.fetch_add(lines[0], remote.at(4), 1);
    assert!(matches!(odd, Err(PostError::Unaligned(_))));
    assert_eq!(requester.pending(), 0);

    requester.fetch_add(lines[0], remote, 1).unwrap();
    let twice = requester.fetch_add(lines[0], remote, 1);
    assert!(matches!(twice, Err(PostError::Window("in use"))));
    requester.fetch_add(lines[1], remote, 1).unwrap();
    let third = requester.fetch_add(lines[2], remote, 1);
    assert!(matches!(third, Err(PostError::Full("operation"))));
    for _ in 0..2 {
        assert_eq!(runs::ended_status(&mut requester), WorkCompletionStatus::Ok);
    }
    assert_eq!(target.memory.load(0).unwrap(), 2);
}

#[test]
fn memory_is_either_the_hosts_or_for_others() {
    let devices = devices(1, good());
    let domain = runs::open(&devices[0], 0);
    let local = domain.reg_mr(64, Access::LOCAL_WRITE).unwrap();
    let remote = domain
        .reg_mr(64, Access::LOCAL_WRITE | Access::REMOTE_READ)
        .unwrap();
    assert!(local.expose(8).is_none() && remote.alloc(8).is_none());
    let exposed = remote.expose(64).unwrap();
    exposed.store(8, 7).unwrap();
    assert_eq!(exposed.load(8).unwrap(), 7);
    let mut bytes = [0; 3];
    exposed.read(8, &mut bytes).unwrap();
    assert_eq!(bytes, [7, 0, 0]);
    let all: Vec<u8> = (1..=64).collect();
    exposed.write(0, &all).unwrap();
    for (at, length) in (0..=64).flat_map(|at| (0..=64 - at).map(move |length| (at, length))) {
        let mut bytes = vec![0; length];
        exposed.read(at, &mut bytes).unwrap();
        assert_eq!(bytes, all[at..at + length], "{length} bytes at {at}");
    }
    for wrong in [
        exposed.load(4),
        exposed.load(64),
        exposed.load(usize::MAX - 3),
    ] {
        assert!(matches!(wrong, Err(Error::Range { .. })));
    }
    assert!(exposed.write(62, &[0; 3]).is_err());
    assert!(exposed.read(usize::MAX, &mut bytes).is_err());
}

#[test]
fn xud_13_all_windows_of_a_card_can_be_open_and_no_more() {
    let devices = devices(2, good());
    let mut target = Target::new(&devices[0], 64, runs::all());
    let domain = runs::open(&devices[1], 1);
    let mut requester = OneSided::new(&domain, runs::config()).unwrap();
    let lines: Vec<_> = (0..256).map(|_| target.grant(&mut requester)).collect();
    let none = target.pair.open_window(requester.address());
    assert!(matches!(none, Err(Error::Exhausted { count: 256, .. })));
    let sum = target.memory.remote();
    for some in lines.chunks(64) {
        for through in some {
            requester.fetch_add(*through, sum, 1).unwrap();
        }
        for _ in some {
            assert_eq!(runs::ended_status(&mut requester), WorkCompletionStatus::Ok);
        }
    }
    assert_eq!(target.memory.load(0).unwrap(), 256);
    target.windows.clear();
    assert_eq!(target.domain.context().open_windows(), 0);
}
