//! Outcomes of requests: every way in which one can end (BW-1, BW-2, BW-3, BW-5).

use tributary_protocol::card::command::{Command, State, Status, key};
use tributary_protocol::card::descriptor::{Of, WorkRequest, flags};
use tributary_protocol::card::model::BulkConfig;
use tributary_protocol::card::regs::{self, BulkCounter, Counter};
use tributary_protocol::xud::onesided::{H_LENGTH, H_OPERATION, H_RKEY};
use tributary_protocol::xud::{Outcome, Peer};

use super::world::{ALL, DATA, DATA_KEY, DATA_LEN, GOOD, World, node_of, read, seed, write};

fn with_rkey(work: WorkRequest, rkey: u32) -> WorkRequest {
    let mut head = work.head;
    H_RKEY.put(&mut head, rkey);
    WorkRequest { head, ..work }
}

#[test]
fn bw_01_write_and_read_of_every_length_around_a_packet_end_once() {
    let mut world = World::pair(GOOD, seed());
    let bytes = world.sample(20_000);
    world.hosts[0].fill(DATA, &bytes);
    let to = world.hosts[1].peer(1);
    for length in [0, 1, 255, 4_095, 4_096, 4_097, 8_192, 8_193, 20_000] {
        let end = length as usize;
        world.hosts[1].fill(DATA, &[0xEE; 20_010]);
        assert_eq!(world.run(&write(to, DATA, DATA + 3, length)), Outcome::Ok);
        assert_eq!(world.hosts[1].data(DATA + 3, end), &bytes[..end]);
        assert_eq!(
            world.hosts[1].data(DATA + 3 + u64::from(length), 4),
            [0xEE; 4]
        );
        let back = DATA + 0x8_0001;
        world.hosts[0].fill(back, &[0xDD; 20_010]);
        assert_eq!(world.run(&read(to, back, DATA + 3, length)), Outcome::Ok);
        assert_eq!(world.hosts[0].data(back, end), &bytes[..end]);
        assert_eq!(world.hosts[0].data(back + u64::from(length), 4), [0xDD; 4]);
    }
    world.settle();
    assert!(world.hosts[0].poll(1).is_none() && world.hosts[1].poll(1).is_none());
    assert_eq!(world.hosts[0].count(BulkCounter::Completed), 18);
    assert_eq!(world.hosts[1].count(BulkCounter::Served), 9);
}

#[test]
fn bw_01_bad_work_requests_end_locally_and_send_nothing() {
    let mut world = World::pair(GOOD, seed());
    world.hosts[0].set_region(2, 1, 0, DATA, DATA_LEN);
    let to = world.hosts[1].peer(1);
    let good = write(to, DATA, DATA, 100_000);
    let asks = read(to, DATA, DATA, 100_000);
    let head = |change: fn(&mut [u8; 16])| {
        let mut head = good.head;
        change(&mut head);
        WorkRequest { head, ..good }
    };
    let far = Peer {
        node: node_of(1),
        qpn: 1 << 24,
    };
    let window = |id, epoch| {
        let mut work = good;
        (work.window.id, work.window.epoch) = (id, epoch);
        work
    };
    let notify = flags::NOTIFY.mask() as u8;
    let (opcode, protection) = (Outcome::LocalOpcode, Outcome::LocalProtection);
    let cases = [
        // More packets than 2^21 of 256 bytes.
        (
            WorkRequest {
                length: (1 << 29) + 1,
                ..good
            },
            Outcome::LocalLength,
        ),
        (head(|head| head[..8].fill(0xFF)), Outcome::LocalLength),
        (WorkRequest { to: far, ..good }, Outcome::LocalAddress),
        (
            WorkRequest {
                head_len: 15,
                ..good
            },
            opcode,
        ),
        (
            WorkRequest {
                version_flags: 0x10,
                ..good
            },
            opcode,
        ),
        (WorkRequest { flags: 4, ..good }, opcode),
        (
            WorkRequest {
                flags: notify,
                ..asks
            },
            opcode,
        ),
        (
            WorkRequest {
                flags: flags::OLDEST_FIRST.mask() as u8,
                ..asks
            },
            opcode,
        ),
        (WorkRequest { opcode: 7, ..good }, Outcome::LocalLength),
        (head(|head| H_OPERATION.put(head, 2u8)), opcode),
        (head(|head| H_LENGTH.put(head, 1u8)), opcode),
        (window(1, 0), opcode),
        (window(0, 1), opcode),
        (
            WorkRequest {
                lkey: DATA_KEY + 1,
                ..good
            },
            protection,
        ),
        (
            WorkRequest {
                lkey: 0xFF00,
                ..good
            },
            protection,
        ),
        (
            WorkRequest {
                address: DATA + DATA_LEN - 99_999,
                ..good
            },
            protection,
        ),
        (
            WorkRequest {
                address: DATA - 1,
                ..good
            },
            protection,
        ),
        // What is read goes into memory.
        (
            WorkRequest {
                lkey: key(2, 1),
                ..asks
            },
            protection,
        ),
    ];
    world.hosts[0].set(&regs::MTU, 256);
    for (work, outcome) in cases {
        assert_eq!(world.run(&work), outcome, "{work:?}");
    }
    let sent = [BulkCounter::ControlSent, BulkCounter::DataSent];
    assert_eq!(sent.map(|counter| world.hosts[0].count(counter)), [0, 0]);
    assert_eq!(
        world.hosts[0].count_card(Counter::LocalError),
        cases.len() as u64
    );
    assert_eq!(
        world.run(&WorkRequest {
            lkey: key(2, 1),
            ..good
        }),
        Outcome::Ok
    );
    world.settle();
}

#[test]
fn bw_02_what_the_target_forbids_is_refused_before_a_window_is_taken() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    world.hosts[1].set_region(1, 7, ALL & !2, DATA, DATA_LEN);
    world.hosts[1].set_region(2, 7, ALL & !4, DATA, DATA_LEN);
    let [no_write, no_read] = [1, 2].map(|index| key(index, 7));
    for ask in [write, read] {
        let good = ask(to, DATA, DATA, 5_000);
        let forbidden = if good.opcode == write(to, 0, 0, 0).opcode {
            no_write
        } else {
            no_read
        };
        let access = Outcome::RemoteAccess;
        for (work, outcome) in [
            (with_rkey(good, forbidden), access),
            (with_rkey(good, DATA_KEY + 1), access),
            (with_rkey(good, DATA_KEY + 256), access),
            (with_rkey(good, 0xFFFF_FF00), access),
            (ask(to, DATA, DATA - 1, 5_000), access),
            (ask(to, DATA, DATA + DATA_LEN - 4_999, 5_000), access),
            (
                ask(world.hosts[1].peer(2), DATA, DATA, 5_000),
                Outcome::BadQp,
            ),
            (
                ask(world.hosts[1].peer(0xFF_FFFF), DATA, DATA, 9),
                Outcome::BadQp,
            ),
        ] {
            assert_eq!(world.run(&work), outcome, "{work:?}");
        }
    }
    assert_eq!(world.hosts[1].count(BulkCounter::Access), 12);
    assert_eq!(world.hosts[1].count(BulkCounter::BadQp), 4);
    let touched = [&world.hosts[1].memory.writes, &world.hosts[1].memory.reads];
    assert!(touched.into_iter().all(Vec::is_empty));
    assert_eq!(world.hosts[1].count(BulkCounter::Received), 0);
    world.settle();
}

#[test]
fn bw_02_a_wrong_q_key_is_never_answered() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(2);
    // Another Q_Key there.
    let args = [
        0x6640 | 2 << 16,
        9,
        5,
        1,
        0x3_0000,
        0,
        0x3_4000,
        0,
        0x3_8000,
        0,
    ];
    assert_eq!(
        world.hosts[1].command(Command::CreateQp, 2, &args),
        Status::Ok
    );
    let ready = [State::ReadyToReceive.code().into()];
    assert_eq!(
        world.hosts[1].command(Command::ModifyQp, 2, &ready),
        Status::Ok
    );
    for ask in [write, read] {
        let before = world.hosts[1].count(BulkCounter::ControlSent);
        assert_eq!(world.run(&ask(to, DATA, DATA, 10)), Outcome::Unreachable);
        assert_eq!(world.hosts[1].count(BulkCounter::ControlSent), before);
    }
    assert!(world.hosts[1].count(BulkCounter::BadKey) > 8);
    world.settle();
}

#[test]
fn bw_01_a_peer_that_is_not_there_is_unreachable_and_one_that_goes_away_unresponsive() {
    let mut world = World::pair(GOOD, seed());
    let nobody = Peer { node: 9, qpn: 1 };
    assert_eq!(
        world.run(&write(nobody, DATA, DATA, 10)),
        Outcome::Unreachable
    );
    assert_eq!(
        world.run(&read(nobody, DATA, DATA, 10)),
        Outcome::Unreachable
    );
    for ask in [write, read] {
        let to = world.hosts[1].peer(1);
        world.hosts[0].post(1, &ask(to, DATA, DATA, 1 << 20));
        world.until(1_000, |world| {
            world.hosts[1].card.bulk_under_way()[..2] != [0, 0]
        });
        (0..60).for_each(|_| world.step());
        world.filter = Some(|_| true);
        assert_eq!(world.wait(0, 200_000).status, Outcome::Unresponsive);
        world.filter = None;
        world.settle();
    }
}

#[test]
fn bw_01_host_memory_that_fails_ends_the_request_on_the_side_it_is_on() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    let broken = Some(DATA + 50_000..DATA + 50_001);
    world.hosts[0].memory.broken = broken.clone();
    assert_eq!(
        world.run(&write(to, DATA, DATA, 100_000)),
        Outcome::LocalDma
    );
    world.hosts[0].memory.broken = None;
    world.settle();
    world.hosts[1].memory.broken = broken;
    assert_eq!(
        world.run(&read(to, DATA, DATA, 100_000)),
        Outcome::RemoteOperation
    );
    world.settle();
    let failed = world
        .hosts
        .iter()
        .map(|host| host.count_card(Counter::ReadFailed));
    assert!(failed.eq([1, 1]));
}

#[test]
fn bw_01_busy_is_retried_and_never_shown() {
    let config = BulkConfig {
        slots: 8,
        windows: 1,
        peers: 2,
        ..BulkConfig::default()
    };
    let mut world = World::pair_of(config, GOOD, seed());
    let bytes = world.sample(400_000);
    world.hosts[0].fill(DATA, &bytes);
    let to = world.hosts[1].peer(1);
    for part in 0..8 {
        let at = DATA + 50_000 * part;
        world.hosts[0].post(1, &write(to, at, at, 50_000));
    }
    for _ in 0..8 {
        assert_eq!(world.wait(0, 200_000).status, Outcome::Ok);
    }
    assert_eq!(world.hosts[1].data(DATA, 400_000), bytes);
    assert!(world.hosts[1].count(BulkCounter::Busy) >= 7);
    world.settle();
}

#[test]
fn bw_03_notify_gives_one_completion_behind_the_last_byte() {
    let mut world = World::pair(GOOD, seed());
    world.hosts[1].post_receive(1, 55);
    world.hosts[1].post_receive(1, 56);
    let to = world.hosts[1].peer(1);
    let mut request = write(to, DATA, DATA + 9, 100_000);
    request.flags = flags::NOTIFY.mask() as u8;
    request.window.msn = 0xFEED_BEEF;
    assert_eq!(world.run(&request), Outcome::Ok);
    let done = world.hosts[1].poll(1).unwrap();
    assert_eq!(
        (done.of, done.wr_id, done.status),
        (Of::Notify, 55, Outcome::Ok)
    );
    assert_eq!((done.length, done.window.msn), (100_000, 0xFEED_BEEF));
    assert_eq!(done.peer, world.hosts[0].peer(1));
    // Without it nobody is told, and no receive request is taken.
    assert_eq!(world.run(&write(to, DATA, DATA + 9, 100_000)), Outcome::Ok);
    world.settle();
    assert!(world.hosts[1].poll(1).is_none());
    assert_eq!(world.run(&request), Outcome::Ok);
    assert_eq!(world.hosts[1].poll(1).map(|done| done.wr_id), Some(56));
}

#[test]
fn bw_03_without_a_receive_request_the_transfer_waits_and_then_ends_as_rnr() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    let mut request = write(to, DATA, DATA, 10_000);
    request.flags = flags::NOTIFY.mask() as u8;
    world.hosts[0].post(1, &request);
    (0..300).for_each(|_| world.step());
    assert!(world.hosts[0].poll(1).is_none());
    assert_eq!(world.hosts[1].card.bulk_under_way()[0], 1);
    world.hosts[1].post_receive(1, 7);
    assert_eq!(world.wait(0, 5_000).status, Outcome::Ok);
    assert_eq!(world.hosts[1].poll(1).map(|done| done.wr_id), Some(7));
    assert_eq!(world.run(&request), Outcome::RemoteRnr);
    assert_eq!(world.hosts[1].count(BulkCounter::NotReady), 1);
    assert!(world.hosts[1].count(BulkCounter::InWaitReceive) > 0);
    world.settle();
    assert!(world.hosts[1].poll(1).is_none());
}

#[test]
fn bw_05_a_repair_reads_memory_again_and_keeps_no_payload() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    world.hosts[0].post(1, &write(to, DATA, DATA, 40_000));
    // The first sending of packet 2 is lost.
    world.filter = Some(|frame| frame[42] == 0xC0 && frame[53] == 2);
    world.until(1_000, |world| {
        world.hosts[0].count(BulkCounter::DataSent) == 10
    });
    (0..3).for_each(|_| world.step());
    world.filter = None;
    // What memory holds now is what is sent again.
    world.hosts[0].fill(DATA + 2 * 4_096, &[0x77; 4_096]);
    assert_eq!(world.wait(0, 10_000).status, Outcome::Ok);
    assert_eq!(world.hosts[1].data(DATA + 2 * 4_096, 4_096), [0x77; 4_096]);
    assert!(world.hosts[0].count(BulkCounter::DataResent) > 0);
    world.settle();
}

#[test]
fn a_card_without_the_feature_refuses_bulk_requests_and_has_no_such_registers() {
    use tributary_protocol::card::model::{CardModel, ModelConfig};
    let mut without = CardModel::new(ModelConfig {
        bulk: None,
        ..ModelConfig::default()
    })
    .unwrap();
    assert_eq!(
        regs::FEATURES_BULK.get(without.read(regs::FEATURES.offset.into())),
        0
    );
    for register in regs::BULK {
        assert_eq!(without.read(register.offset.into()), 0);
        without.write(register.offset.into(), 1);
        assert_eq!(without.read(register.offset.into()), 0);
    }
    assert_eq!(without.counter(Counter::BadWrite), regs::BULK.len() as u64);
    let with = CardModel::new(ModelConfig::default()).unwrap();
    assert_eq!(
        regs::FEATURES_BULK.get(with.read(regs::FEATURES.offset.into())),
        1
    );
    assert_eq!(
        regs::BULK_SIZES_SLOTS.get(with.read(regs::BULK_SIZES.offset.into())),
        16
    );
    assert_eq!(
        regs::BULK_WINDOWS_PACKETS.get(with.read(regs::BULK_WINDOWS.offset.into())),
        256
    );
}
