//! Rings: exactly one completion each, errors, credits.

use proptest::prelude::*;
use tributary_protocol::card::command::{State, Status};
use tributary_protocol::card::descriptor::{Of, WorkRequest};
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::xud::{Outcome, Peer, Window};

use crate::bench::{DATA, DATA_KEY, DATA_LEN, Host, exchange, ring, work};

const LOGS: [u8; 3] = [3, 3, 4];
const TO: Peer = Peer { node: 1, qpn: 1 };

fn pair() -> [Host; 2] {
    let mut hosts = [Host::new(0), Host::new(1)];
    hosts.iter_mut().for_each(|host| host.connect(1, LOGS));
    hosts
}

#[test]
fn xud_02_a_message_arrives_with_its_header_and_both_sides_have_one_completion() {
    let mut hosts = pair();
    hosts[0].memory.bytes[DATA as usize..][..5].copy_from_slice(b"hello");
    hosts[1].post_receive(1, DATA + 100, 64, DATA_KEY);
    let mut request = work(TO, DATA, 5);
    request.head_len = 3;
    request.head[..3].copy_from_slice(b"one");
    hosts[0].post_send(1, &request);
    assert_eq!(exchange(&mut hosts), 2);
    let got = hosts[1].poll(1).unwrap();
    assert_eq!(
        &hosts[1].memory.bytes[DATA as usize + 100..][..8],
        b"onehello"
    );
    assert_eq!(
        (got.wr_id, got.status, got.of, got.length),
        (1000, Outcome::Ok, Of::Receive, 8)
    );
    assert_eq!(
        (got.peer, got.q_key, got.psn),
        (Peer { node: 0, qpn: 1 }, 0x1234, 0xFF_FFFE)
    );
    assert_eq!(
        (got.window, got.version_flags, got.request),
        (request.window, 0x10, 0)
    );
    let sent = hosts[0].poll(1).unwrap();
    assert_eq!(
        (sent.wr_id, sent.status, sent.of, sent.length),
        (77, Outcome::Ok, Of::Send, 0)
    );
    assert_eq!((sent.peer, sent.psn, sent.request), (TO, 0xFF_FFFE, 0));
    assert!(hosts.iter_mut().all(|host| host.poll(1).is_none()));
}

#[test]
fn xud_01_without_an_answer_a_request_ends_in_a_timeout_of_its_unit() {
    for (clocks, timeout) in [(512, 16_384), (100, 3_200)] {
        let mut host = Host::new(0);
        host.write(&regs::TIMEOUT_UNIT, clocks);
        host.connect(1, LOGS);
        host.post_send(1, &work(TO, DATA, 5));
        host.step();
        host.now = timeout - 1;
        host.step();
        assert_eq!(host.poll(1), None);
        host.now = timeout + 2_048;
        host.step();
        assert_eq!(host.outcomes(1), [Outcome::Timeout]);
    }
}

/// Spoils one more thing at a time, in the order of the contract: each must win over those before it.
#[test]
fn xud_02_bad_work_requests_end_in_the_first_error_take_a_psn_and_send_nothing() {
    type Spoil = (fn(&mut WorkRequest), Outcome);
    let spoils: [Spoil; 9] = [
        (|w| w.address = 0xF_0000, Outcome::LocalProtection),
        (|w| w.lkey ^= 1, Outcome::LocalProtection),
        (|w| w.window.epoch = 1, Outcome::LocalOpcode),
        (|w| w.version_flags = 0x18, Outcome::LocalOpcode),
        (|w| w.version_flags = 0x20, Outcome::LocalOpcode),
        (|w| w.opcode = 0, Outcome::LocalOpcode),
        (|w| w.to.qpn = 1 << 24, Outcome::LocalAddress),
        (|w| w.length = 4_097, Outcome::LocalLength),
        (|w| w.head_len = 17, Outcome::LocalLength),
    ];
    let mut hosts = pair();
    let mut spoilt = work(TO, DATA, 8);
    (spoilt.version_flags, spoilt.window) = (
        0,
        Window {
            epoch: 0,
            ..spoilt.window
        },
    );
    let mut psn = 0xFF_FFFE;
    for (spoil, outcome) in spoils {
        spoil(&mut spoilt);
        hosts[0].post_send(1, &spoilt);
        assert_eq!(exchange(&mut hosts), 0, "{outcome}");
        let ended = hosts[0].poll(1).unwrap();
        assert_eq!((ended.status, ended.psn, ended.wr_id), (outcome, psn, 77));
        hosts[0].give_back(1);
        psn = (psn + 1) & 0xFF_FFFF;
    }
    // Host memory that does not answer comes last of all.
    hosts[0].memory.broken = Some(DATA + 7..DATA + 8);
    hosts[0].post_send(1, &work(TO, DATA, 8));
    assert_eq!(
        (exchange(&mut hosts), hosts[0].outcomes(1)),
        (0, vec![Outcome::LocalDma])
    );
    hosts[0].post_send(1, &work(TO, DATA, 7));
    hosts[1].post_receive(1, DATA, 64, DATA_KEY);
    exchange(&mut hosts);
    let ended = hosts[0].poll(1).unwrap();
    assert_eq!(
        (ended.status, ended.psn),
        (Outcome::Ok, psn + 1),
        "the queue pair goes on"
    );
    assert_eq!(hosts[0].count(Counter::LocalError), 10);
    assert_eq!(hosts[0].count(Counter::Sent), 1);
}

#[test]
fn xud_14_a_bad_receive_request_refuses_the_packet_that_takes_it() {
    let bad = [
        (DATA, DATA_KEY ^ 1),
        (DATA + DATA_LEN - 7, DATA_KEY),
        (DATA, 200 << 8),
    ];
    for (address, key) in bad {
        let mut hosts = pair();
        hosts[1].post_receive(1, address, 64, key);
        hosts[1].post_receive(1, DATA, 64, DATA_KEY);
        let before = hosts[1].memory.bytes[DATA as usize..].to_vec();
        hosts[0].post_send(1, &work(TO, DATA, 8));
        exchange(&mut hosts);
        assert_eq!(hosts[0].outcomes(1), [Outcome::RemoteAccess]);
        let refused = hosts[1].poll(1).unwrap();
        assert_eq!(
            (refused.status, refused.wr_id, refused.length),
            (Outcome::LocalProtection, 1000, 0)
        );
        assert!(hosts[1].memory.bytes[DATA as usize..] == before);
        hosts[0].post_send(1, &work(TO, DATA, 8));
        exchange(&mut hosts);
        assert_eq!(hosts[0].outcomes(1), [Outcome::Ok]);
        assert_eq!(hosts[1].outcomes(1), [Outcome::Ok]);
    }
}

#[test]
fn xud_02_a_ring_that_cannot_be_read_ends_the_queue_pair_and_what_is_in_flight_ends_once() {
    for (which, of) in [(0, Of::Send), (1, Of::Receive)] {
        let mut hosts = pair();
        hosts[1].post_receive(1, DATA, 64, DATA_KEY);
        hosts[1].step();
        // One message is accepted but not yet in memory, one request is in flight.
        hosts[0].post_send(1, &work(TO, DATA, 8));
        hosts[0].step();
        let at = ring(1, which);
        hosts[0].memory.broken = Some(at..at + 0x1000);
        hosts[0].post_send(1, &work(TO, DATA, 8));
        hosts[0].post_receive(1, DATA, 64, DATA_KEY);
        hosts[0].step();
        let last = hosts[0].poll(1).unwrap();
        assert_eq!(
            (last.status, last.of, last.wr_id),
            (Outcome::LocalQueue, of, 0)
        );
        let found = hosts[0].command(tributary_protocol::card::command::Command::QueryQp, 1, &[]);
        assert_eq!(found, (Status::Ok, u32::from(State::Error.code())));
        exchange(&mut hosts);
        hosts[0].now = 1 << 30;
        hosts[0].step();
        // The second work request was not taken.
        assert_eq!(hosts[0].outcomes(1), [Outcome::Ok]);
        // For others it is not there.
        let back = Peer { node: 0, qpn: 1 };
        hosts[1].post_send(1, &work(back, DATA, 8));
        exchange(&mut hosts);
        assert!(hosts[1].outcomes(1).contains(&Outcome::BadQp));
    }
}

#[test]
fn xud_04_without_a_completion_slot_sending_waits_and_receiving_answers_rnr() {
    let mut hosts = [Host::new(0), Host::new(1)];
    hosts[0].connect(1, [4, 3, 1]);
    hosts[1].connect(1, [3, 3, 1]);
    (0..4).for_each(|_| hosts[1].post_receive(1, DATA, 64, DATA_KEY));
    (0..3).for_each(|_| hosts[0].post_send(1, &work(TO, DATA, 8)));
    exchange(&mut hosts);
    assert_eq!(hosts[0].count(Counter::Sent), 2);
    assert!(hosts[0].count(Counter::StallCredit) > 0);
    assert_eq!(hosts[0].outcomes(1), [Outcome::Ok; 2]);
    exchange(&mut hosts);
    assert_eq!(
        hosts[0].outcomes(1),
        [Outcome::RemoteRnr],
        "the receiver has read none"
    );
    assert_eq!(hosts[1].outcomes(1), [Outcome::Ok; 2]);
    hosts[0].post_send(1, &work(TO, DATA, 8));
    exchange(&mut hosts);
    assert_eq!(
        (hosts[0].outcomes(1), hosts[1].outcomes(1)),
        (vec![Outcome::Ok], vec![Outcome::Ok])
    );
}

#[test]
fn xud_01_a_request_whose_place_is_taken_waits_and_others_do_not() {
    let mut host = Host::new(0);
    host.connect(1, [7, 3, 8]);
    host.connect(2, [3, 3, 4]);
    (0..65).for_each(|_| host.post_send(1, &work(TO, DATA, 8)));
    for _ in 0..16 {
        host.step();
        while host.card.next_frame(0).is_some() {}
    }
    assert_eq!((host.card.in_flight(), host.count(Counter::Sent)), (64, 64));
    assert!(host.count(Counter::StallPlace) > 0);
    host.now = 1 << 20;
    host.step();
    while host.card.next_frame(host.now).is_some() {}
    assert_eq!(host.outcomes(1).len(), 64);
    assert_eq!(host.count(Counter::Sent), 65);
}

#[test]
fn queue_pairs_take_turns() {
    let mut hosts = [Host::new(0), Host::new(1)];
    let qpns = [0, 1, 3];
    qpns.iter()
        .for_each(|qpn| hosts[0].connect(*qpn, [5, 3, 6]));
    for qpn in qpns {
        (0..12).for_each(|_| hosts[0].post_send(qpn, &work(TO, DATA, 8)));
    }
    let mut sent = Vec::new();
    loop {
        hosts[0].step();
        let Some(frame) = hosts[0].card.next_frame(0) else {
            break;
        };
        let (_, packet) = tributary_protocol::xud::wire::decode_frame(&frame).unwrap();
        let tributary_protocol::xud::Packet::Send(send) = packet else {
            panic!()
        };
        sent.push(send.src_qp);
    }
    assert_eq!(sent.len(), 36);
    for turn in sent.chunks(3) {
        let mut turn = turn.to_vec();
        turn.sort_unstable();
        assert_eq!(turn, qpns);
    }
}

#[test]
fn xud_06_the_epoch_of_a_queue_pair_number_outlives_the_queue_pair() {
    use tributary_protocol::card::command::Command;
    let mut host = Host::new(0);
    assert_eq!(host.create(1, LOGS), 1);
    assert_eq!(host.command(Command::NextEpoch, 1, &[]), (Status::Ok, 2));
    assert_eq!(host.command(Command::DestroyQp, 1, &[]).0, Status::Ok);
    let reset = u32::from(State::Reset.code());
    assert_eq!(host.command(Command::QueryQp, 1, &[]), (Status::Ok, reset));
    assert_eq!(host.read(&regs::RESULT1), 2);
    assert_eq!(host.create(1, LOGS), 3);
    host.command(Command::QueryQp, 1, &[]);
    assert_eq!(host.read(&regs::RESULT1), 3);
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Receive(usize),
    Poll(usize, usize),
    Move,
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..2usize).prop_map(Step::Send),
        3 => (0..2usize).prop_map(Step::Receive),
        2 => (0..2usize, 0..8usize).prop_map(|(host, most)| Step::Poll(host, most)),
        2 => Just(Step::Move),
        1 => Just(Step::Wait),
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// `poll` of the bench sees every entry that was overwritten; every request must end once.
    #[test]
    fn xud_02_completion_rings_never_overrun_and_every_request_ends_once(steps in steps()) {
        let mut hosts = [Host::new(0), Host::new(1)];
        hosts.iter_mut().for_each(|host| host.connect(1, [3, 3, 2]));
        let mut posted = [[0u32; 2]; 2];
        let mut ended = [[0u32; 2]; 2];
        let mut take = |hosts: &mut [Host; 2], at: usize, most: usize| {
            for _ in 0..most {
                let Some(completion) = hosts[at].poll(1) else { break };
                ended[at][usize::from(completion.of == Of::Receive)] += 1;
            }
            hosts[at].give_back(1);
            ended
        };
        for step in steps {
            match step {
                Step::Send(at) if posted[at][0] - take(&mut hosts, at, 0)[at][0] < 8 => {
                    let to = Peer { node: 1 - at as u32, qpn: 1 };
                    hosts[at].post_send(1, &work(to, DATA, 8));
                    posted[at][0] += 1;
                }
                Step::Receive(at) if posted[at][1] - take(&mut hosts, at, 0)[at][1] < 8 => {
                    hosts[at].post_receive(1, DATA, 64, DATA_KEY);
                    posted[at][1] += 1;
                }
                Step::Poll(at, most) => {
                    take(&mut hosts, at, most);
                }
                Step::Move => {
                    exchange(&mut hosts);
                }
                Step::Wait => hosts.iter_mut().for_each(|host| host.now += 20_000),
                Step::Send(_) | Step::Receive(_) => {}
            }
        }
        for _ in 0..40 {
            exchange(&mut hosts);
            hosts.iter_mut().for_each(|host| host.now += 20_000);
            (0..2).for_each(|at| { take(&mut hosts, at, 8); });
        }
        let ended = take(&mut hosts, 0, 0);
        prop_assert_eq!([ended[0][0], ended[1][0]], [posted[0][0], posted[1][0]]);
        prop_assert!((0..2).all(|at| ended[at][1] <= posted[at][1]));
        prop_assert!(hosts.iter().all(|host| host.count(Counter::BadDoorbell) == 0));
    }
}
