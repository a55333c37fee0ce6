//! As many queue pairs are in reduction groups as the card has room for (CL-5).

use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::regs::REDUCTION_GROUPS;

use crate::bench::Host;

const LOGS: [u8; 3] = [3, 3, 4];

#[test]
fn cl_05_one_queue_pair_more_than_groups_does_not_join() {
    let mut host = Host::of(7, 5, REDUCTION_GROUPS);
    let all = REDUCTION_GROUPS as u32;
    let join = |host: &mut Host, qpn: u32| {
        let args = [0, 5, 8 * qpn, 0];
        host.command(Command::JoinGroup, qpn, &args).0
    };
    for qpn in 0..all + 2 {
        let (status, _) = host.command(Command::CreateQp, qpn, &Host::shape(qpn, LOGS));
        assert_eq!(status, Status::Ok);
    }
    for qpn in 0..all {
        assert_eq!(join(&mut host, qpn), Status::Ok);
    }
    assert_eq!(join(&mut host, all), Status::BadState);
    let (status, _) = host.command(Command::DestroyQp, 3, &[]);
    assert_eq!(status, Status::Ok);
    assert_eq!(join(&mut host, all), Status::Ok);
    assert_eq!(join(&mut host, all + 1), Status::BadState);
}
