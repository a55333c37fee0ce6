//! Bulk transfers through the driver.

use std::sync::Arc;

use tributary_host_driver::{
    Access, BulkCounter, BulkTuning, CompletionQueue, Context, Device, OneSided, OneSidedConfig,
    Options, PostError, ProtectionDomain, QueuePair, TransferRequest, WorkCompletion,
    WorkCompletionOpcode, WorkCompletionStatus,
};
use tributary_protocol::card::model::{BulkConfig, ModelConfig};
use tributary_sim::card::{NetworkConfig, SimDevice, network};
use tributary_sim::link::LinkConfig;

use super::{BAD, config, open, pair};

/// Bytes that follow from their places.
pub fn sample(length: usize) -> Vec<u8> {
    let word = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
    (0..length).map(|at| word(at) as u8).collect()
}

pub struct End {
    pub domain: ProtectionDomain,
    queue: CompletionQueue,
    pub pair: QueuePair,
}

pub fn ends(domains: [ProtectionDomain; 2]) -> [End; 2] {
    domains.map(|domain| {
        let queue = domain.context().create_cq(0).unwrap();
        let pair = domain.create_qp(&queue).q_key(7).build().unwrap();
        pair.activate().unwrap();
        End {
            domain,
            queue,
            pair,
        }
    })
}

pub fn wait(end: &End) -> WorkCompletion {
    let mut done = Vec::new();
    for _ in 0..2_000_000 {
        if end.queue.poll(&mut done, 1).unwrap() > 0 {
            return done.remove(0);
        }
    }
    panic!("nothing has ended");
}

#[test]
fn bw_01_bw_03_bw_11_any_size_is_written_read_and_notified_over_a_bad_network() {
    let devices = network(&config(2, BAD)).unwrap();
    let [a, b] = ends([open(&devices[0], 0), open(&devices[1], 1)]);
    for end in [&a, &b] {
        let tuning = BulkTuning {
            round_trip_ns: 4_500,
            overtaking: 100,
            share_of_256: 128,
        };
        end.domain.context().tune_bulk(&tuning).unwrap();
    }
    let all = Access::REMOTE_WRITE | Access::REMOTE_READ;
    let here = a.domain.reg_mr(1 << 20, Access::LOCAL_WRITE).unwrap();
    let there = b.domain.reg_mr(1 << 20, all).unwrap();
    let there = there.expose(1 << 19).unwrap();
    let inbox = b.domain.reg_mr(64, Access::LOCAL_WRITE).unwrap();
    for (number, length) in [0, 1, 1_000, 1_024, 1_025, 300_000].into_iter().enumerate() {
        let bytes = sample(length);
        b.pair.post_recv(9, inbox.alloc(16).unwrap()).unwrap();
        let mut buffer = here.alloc(length).unwrap();
        buffer.copy_from_slice(&bytes);
        let write = TransferRequest::new(1, b.pair.address(), buffer, there.remote().at(3));
        a.pair.post_write(write.notify(number as u32)).unwrap();
        let done = wait(&a);
        assert_eq!((done.status, done.wr_id), (WorkCompletionStatus::Ok, 1));
        let mut arrived = vec![0; length];
        there.read(3, &mut arrived).unwrap();
        assert!(arrived == bytes, "{length} bytes");
        let told = wait(&b);
        assert_eq!(told.opcode, WorkCompletionOpcode::Notify);
        assert_eq!(told.immediate(), Some(number as u32));
        assert_eq!((told.wr_id, told.byte_len as usize), (9, length));
        assert_eq!(told.peer, a.pair.address());

        let empty = here.alloc(length).unwrap();
        let read = TransferRequest::new(2, b.pair.address(), empty, there.remote().at(3));
        a.pair.post_read(read.fence()).unwrap();
        let done = wait(&a);
        assert_eq!((done.status, done.wr_id), (WorkCompletionStatus::Ok, 2));
        assert!(done.buffer.unwrap()[..] == bytes[..], "{length} bytes");
    }
    let context = a.domain.context();
    assert_eq!(context.bulk_counter(BulkCounter::Completed).unwrap(), 12);
    assert_eq!(context.bulk_counter(BulkCounter::Failed).unwrap(), 0);
}

/// When each of four writes that are posted at once ends, as a share of when the last one does.
fn ends_of_four(oldest_first: bool) -> Vec<f64> {
    let good = LinkConfig {
        reorder_slots: 0,
        loss: 0.0,
        duplication: 0.0,
        ..BAD
    };
    let devices = network(&config(2, good)).unwrap();
    let [a, b] = ends([open(&devices[0], 0), open(&devices[1], 1)]);
    let here = a.domain.reg_mr(1 << 21, Access::LOCAL_READ).unwrap();
    let there = b.domain.reg_mr(1 << 21, Access::REMOTE_WRITE).unwrap();
    let there = there.expose(1 << 20).unwrap().remote();
    let now = || devices[0].now_ns();
    let start = now();
    let mut batch = a.pair.batch();
    for number in 0..4 {
        let part = here.alloc(1 << 18).unwrap();
        let to = there.at(number << 18);
        let write = TransferRequest::new(number, b.pair.address(), part, to);
        let write = match oldest_first {
            true => write.oldest_first(),
            false => write,
        };
        batch.write(write).unwrap();
    }
    batch.ring().unwrap();
    let mut ends = Vec::new();
    for number in 0..4 {
        let done = wait(&a);
        assert_eq!(done.status, WorkCompletionStatus::Ok);
        assert!(!oldest_first || done.wr_id == number);
        ends.push((now() - start) as f64);
    }
    ends.iter().map(|end| end / ends[3]).collect()
}

#[test]
fn rw_15_writes_that_leave_oldest_first_end_one_by_one_and_others_together() {
    let (row, turns) = (ends_of_four(true), ends_of_four(false));
    println!("oldest first {row:.2?}, in turns {turns:.2?}");
    // One begins with a handshake and all end with an answer; in between each takes a transfer's time.
    let gaps: Vec<f64> = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap > 0.2), "{row:?}");
    assert!(turns[0] > 0.9, "{turns:?}");
}

#[test]
fn bw_01_what_cannot_be_posted_gives_the_buffer_back() {
    let (_, domains) = pair();
    let [a, b] = ends(domains);
    let to = b.pair.address();
    let there = b.domain.reg_mr(64, Access::REMOTE_WRITE).unwrap();
    let there = there.expose(64).unwrap().remote();
    let constant = a.domain.reg_mr(4_096, Access::LOCAL_READ).unwrap();
    let foreign = a.domain.context().alloc_pd().unwrap();
    let foreign = foreign.reg_mr(64, Access::LOCAL_WRITE).unwrap();
    let transfer = |buffer| TransferRequest::new(1, to, buffer, there);
    let rejected = a.pair.post_read(transfer(constant.alloc(100).unwrap()));
    let rejected = rejected.unwrap_err();
    assert!(matches!(rejected.error, PostError::ReadOnly));
    assert_eq!(rejected.buffer.unwrap().len(), 100);
    let rejected = a.pair.post_write(transfer(foreign.alloc(9).unwrap()));
    assert!(matches!(rejected.unwrap_err().error, PostError::Domain));
    let own = a.domain.reg_mr(64, Access::LOCAL_WRITE).unwrap();
    let rejected = a.pair.post_read(transfer(own.alloc(9).unwrap()).notify(1));
    assert!(matches!(
        rejected.unwrap_err().error,
        PostError::ReadNotifies
    ));
    let rejected = a
        .pair
        .post_read(transfer(own.alloc(9).unwrap()).oldest_first());
    assert!(matches!(
        rejected.unwrap_err().error,
        PostError::ReadOldestFirst
    ));
    // What the target forbids ends with a completion.
    let beyond = TransferRequest::new(1, to, constant.alloc(100).unwrap(), there);
    a.pair.post_write(beyond).unwrap();
    assert_eq!(wait(&a).status, WorkCompletionStatus::RemoteAccess);
}

#[test]
fn a_card_without_bulk_transfers_says_so() {
    let card = ModelConfig {
        bulk: None,
        ..ModelConfig::default()
    };
    let config = NetworkConfig {
        card,
        ..NetworkConfig::default()
    };
    let devices = network(&config).unwrap();
    let [a, b] = ends([open(&devices[0], 0), open(&devices[1], 1)]);
    assert_eq!(a.domain.context().sizes().transfers, 0);
    let region = a.domain.reg_mr(4_096, Access::LOCAL_WRITE).unwrap();
    let there = b.domain.reg_mr(64, Access::REMOTE_WRITE).unwrap();
    let there = there.expose(64).unwrap().remote();
    let buffer = region.alloc(2_000).unwrap();
    let write = TransferRequest::new(1, b.pair.address(), buffer, there);
    let rejected = a.pair.post_write(write).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "2000 bytes: this card has no bulk transfers (bit bulk of its register features is 0); without them the most is 1008, \
         through a window of one-sided operations"
    );
    assert!(rejected.buffer.is_some());
    let tuning = BulkTuning {
        round_trip_ns: 0,
        overtaking: 0,
        share_of_256: 0,
    };
    let error = a.domain.context().tune_bulk(&tuning).unwrap_err();
    assert_eq!(error.to_string(), "the card has no bulk transfers");
}

#[test]
fn bw_01_one_sided_operations_of_more_than_a_packet_are_bulk_transfers() {
    let (devices, domains) = pair();
    let [a, b] = domains;
    let config = OneSidedConfig::default();
    let mut user = OneSided::new(&a, config).unwrap();
    let mut target = OneSided::new(&b, config).unwrap();
    let window = target.open_window(user.address()).unwrap();
    let through = user.connect(window.grant());
    let all = Access::REMOTE_WRITE | Access::REMOTE_READ;
    let shared = b.reg_mr(1 << 18, all).unwrap();
    let shared = shared.expose(200_000).unwrap();
    let region = a.reg_mr(1 << 19, Access::LOCAL_WRITE).unwrap();
    let mut transfers = 0;
    for length in [10, 1_008, 1_009, 200_000, 12] {
        let mut buffer = region.alloc(length).unwrap();
        buffer.copy_from_slice(&sample(length));
        user.write(through, buffer, shared.remote()).unwrap();
        let done = end_of(&mut user);
        assert_eq!(done.status, WorkCompletionStatus::Ok);
        let empty = region.alloc(length).unwrap();
        user.read(through, empty, shared.remote()).unwrap();
        let done = end_of(&mut user);
        assert_eq!(done.status, WorkCompletionStatus::Ok);
        assert!(done.buffer.unwrap()[..] == sample(length)[..]);
        transfers += if length > 1_008 { 2 } else { 0 };
        let completed = a.context().bulk_counter(BulkCounter::Completed).unwrap();
        assert_eq!(completed, transfers, "{length} bytes");
    }
    drop(target);
    assert_eq!(devices.len(), 2);
}

fn end_of(user: &mut OneSided) -> tributary_host_driver::OneSidedCompletion {
    (0..1_000_000)
        .find_map(|_| user.poll().unwrap())
        .expect("an operation ends")
}

#[test]
fn bw_09_a_queue_pair_that_is_dropped_flushes_its_transfers_and_leaves_nothing() {
    let (devices, domains) = pair();
    let [a, b] = ends(domains);
    let region = a.domain.reg_mr(1 << 20, Access::LOCAL_WRITE).unwrap();
    let there = b
        .domain
        .reg_mr(1 << 20, Access::REMOTE_WRITE | Access::REMOTE_READ)
        .unwrap();
    let there = there.expose(1 << 20).unwrap().remote();
    let to = b.pair.address();
    for half in 0..2 {
        let buffer = region.alloc(1 << 19).unwrap();
        let transfer = TransferRequest::new(half, to, buffer, there);
        if half == 0 {
            a.pair.post_write(transfer).unwrap();
        } else {
            a.pair.post_read(transfer).unwrap();
        }
    }
    devices[0].run(40);
    let End {
        domain,
        queue,
        pair,
    } = a;
    drop(pair);
    let mut done = Vec::new();
    queue.poll(&mut done, 8).unwrap();
    assert_eq!(done.len(), 2);
    assert!(
        done.iter()
            .all(|one| one.status == WorkCompletionStatus::Flushed)
    );
    assert!(done.iter().all(|one| one.buffer.is_some()));
    drop((done, domain));
    devices[0].run(100_000);
    for device in &devices {
        assert_eq!(device.bulk_under_way(), Some([0; 4]));
    }
}

#[test]
fn the_tick_of_a_card_is_a_packet_on_its_line() {
    for (mtu, mbps, clocks) in [
        (4_096, 100_000, 42),
        (1_024, 100_000, 12),
        (4_096, 8_000, 524),
    ] {
        let card = ModelConfig {
            bulk: Some(BulkConfig {
                line_mbps: mbps,
                ..BulkConfig::default()
            }),
            ..ModelConfig::default()
        };
        let config = NetworkConfig {
            card,
            ..NetworkConfig::default()
        };
        let device: SimDevice = network(&config).unwrap().remove(0);
        let options = Options { node: 0, mtu };
        let context = Context::open(Arc::new(device.clone()), options).unwrap();
        let offset = tributary_protocol::card::regs::BULK_TICK.offset.into();
        let tick = tributary_host_driver::Device::read32(&device, offset).unwrap();
        assert_eq!(tick, clocks, "{mtu} bytes at {mbps} Mb/s");
        drop(context);
    }
}
