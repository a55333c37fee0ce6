//! Queue pairs, completion queues, regions.

use std::sync::Arc;
use std::time::Duration;

use tributary_host_driver::{
    Access, AddressHandle, Buffer, Context, Counter, Error, MapVersion, MemoryRegion, Options,
    PostError, ProtectionDomain, QueuePair, QueuePairState, SendRequest, Window, WorkCompletion,
    WorkCompletionOpcode, WorkCompletionStatus,
};
use tributary_protocol::card::model::{CardModel, HostMemory, ModelConfig};
use tributary_sim::card::{NetworkConfig, Node, network_of};

use crate::pair;

fn queue_pair(domain: &ProtectionDomain) -> (QueuePair, tributary_host_driver::CompletionQueue) {
    let queue = domain.context().create_cq(1).unwrap();
    let pair = domain.create_qp(&queue).q_key(9).timeout(2);
    let pair = pair.max_send_wr(8).max_recv_wr(8).build().unwrap();
    pair.activate().unwrap();
    (pair, queue)
}

fn region(domain: &ProtectionDomain) -> MemoryRegion {
    domain.reg_mr(1 << 16, Access::LOCAL_WRITE).unwrap()
}

fn filled(region: &MemoryRegion, bytes: &[u8]) -> Buffer {
    let mut buffer = region.alloc(bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}

fn window(epoch: u16) -> Window {
    Window {
        id: 3,
        epoch,
        msn: 4,
    }
}

#[test]
fn xud_02_a_datagram_crosses_and_both_requests_complete() {
    let (_, domains) = pair();
    let (tx, tx_queue) = queue_pair(&domains[0]);
    let (rx, rx_queue) = queue_pair(&domains[1]);
    rx.post_recv(70, region(&domains[1]).alloc(100).unwrap())
        .unwrap();
    let request = SendRequest::new(5, rx.address())
        .head(b"head")
        .unwrap()
        .window(window(rx.epoch()))
        .buffer(filled(&region(&domains[0]), b"payload"));
    tx.post_send(request).unwrap();
    assert!(rx_queue.wait(Duration::from_millis(1)).unwrap());
    assert!(tx_queue.wait(Duration::from_millis(1)).unwrap());
    let mut done = Vec::new();
    assert_eq!(rx_queue.poll(&mut done, 9).unwrap(), 1);
    assert_eq!(tx_queue.poll(&mut done, 9).unwrap(), 1);
    let [got, sent] = done.as_slice() else {
        panic!()
    };
    assert_eq!(
        (got.wr_id, got.status, got.opcode),
        (70, WorkCompletionStatus::Ok, WorkCompletionOpcode::Receive)
    );
    assert_eq!((got.byte_len, got.peer, got.q_key), (11, tx.address(), 9));
    assert_eq!(got.window, window(rx.epoch()));
    assert_eq!(&got.buffer.as_ref().unwrap()[..11], b"headpayload");
    assert_eq!(
        (sent.wr_id, sent.status, sent.opcode),
        (5, WorkCompletionStatus::Ok, WorkCompletionOpcode::Send)
    );
    assert_eq!(&sent.buffer.as_ref().unwrap()[..], b"payload");
    assert!(
        !tx_queue.wait(Duration::from_micros(50)).unwrap(),
        "nothing more"
    );
}

#[test]
fn many_requests_in_batches_go_round_the_rings() {
    let (devices, domains) = pair();
    let (tx, tx_queue) = queue_pair(&domains[0]);
    let (rx, rx_queue) = queue_pair(&domains[1]);
    let regions = [region(&domains[0]), region(&domains[1])];
    let mut next = 0;
    for round in 0..9_000u64 {
        let mut batch = rx.batch();
        (0..8).for_each(|at| batch.recv(at, regions[1].alloc(8).unwrap()).unwrap());
        let full = batch.recv(9, regions[1].alloc(8).unwrap()).unwrap_err();
        assert!(matches!(full.error, PostError::Full("receive")) && full.buffer.is_some());
        batch.ring().unwrap();
        let mut batch = tx.batch();
        for at in 0..8 {
            let buffer = filled(&regions[0], &(round * 8 + at).to_le_bytes());
            let request = SendRequest::new(at, rx.address()).window(window(rx.epoch()));
            batch.send(request.buffer(buffer)).unwrap();
        }
        batch.ring().unwrap();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        while sent.len() < 8 || got.len() < 8 {
            tx_queue.poll(&mut sent, 8).unwrap();
            rx_queue.poll(&mut got, 8).unwrap();
        }
        assert!(
            sent.iter()
                .all(|done| done.status == WorkCompletionStatus::Ok)
        );
        for done in got {
            let buffer = done.buffer.unwrap();
            assert_eq!(buffer[..8], u64::to_le_bytes(next));
            next += 1;
        }
    }
    assert_eq!(next, 72_000);
    for device in devices {
        assert_eq!(device.counter(Counter::BadDoorbell), Some(0));
        assert_eq!(device.host_stats().stray, 0);
    }
}

#[test]
fn xud_02_what_has_not_ended_when_a_queue_pair_is_dropped_is_flushed_with_its_buffer() {
    let (devices, domains) = pair();
    let (tx, queue) = queue_pair(&domains[0]);
    let region = region(&domains[0]);
    tx.post_recv(1, region.alloc(10).unwrap()).unwrap();
    let nobody = AddressHandle::new(1, 33).unwrap();
    devices[1].remove();
    tx.post_send(SendRequest::new(2, nobody).buffer(region.alloc(10).unwrap()))
        .unwrap();
    devices[0].run(10);
    assert_eq!(devices[0].in_flight(), Some(1));
    tx.post_send(SendRequest::new(3, nobody)).unwrap();
    drop(tx);
    assert_eq!(
        (devices[0].in_flight(), devices[0].on_card()),
        (Some(0), Some((0, 1)))
    );
    let mut done = Vec::new();
    assert!(queue.wait(Duration::ZERO).unwrap());
    assert_eq!(queue.poll(&mut done, 9).unwrap(), 3);
    assert!(
        done.iter()
            .all(|done| done.status == WorkCompletionStatus::Flushed)
    );
    let mut ids: Vec<u64> = done.iter().map(|done| done.wr_id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(done.iter().filter(|done| done.buffer.is_some()).count(), 2);
}

#[test]
fn states_are_those_of_verbs_and_errors_say_so() {
    let (_, domains) = pair();
    let queue = domains[0].context().create_cq(0).unwrap();
    let pair = domains[0].create_qp(&queue).build().unwrap();
    let to = pair.address();
    assert_eq!(pair.state(), QueuePairState::Init);
    let error = pair.post_send(SendRequest::new(1, to)).unwrap_err();
    assert_eq!(error.to_string(), "the queue pair is in the state init");
    let error = pair.modify(QueuePairState::ReadyToSend).unwrap_err();
    assert_eq!(error.to_string(), "the card refused modify_qp: bad_state");
    pair.activate().unwrap();
    pair.modify(QueuePairState::Error).unwrap();
    let error = pair
        .post_recv(1, region(&domains[0]).alloc(1).unwrap())
        .unwrap_err();
    assert!(matches!(
        error.error,
        PostError::State(QueuePairState::Error)
    ));
}

#[test]
fn buffers_of_another_domain_or_without_the_right_are_not_posted() {
    let (_, domains) = pair();
    let (tx, _queue) = queue_pair(&domains[0]);
    let other = domains[0].context().alloc_pd().unwrap();
    let error = tx
        .post_recv(1, region(&other).alloc(1).unwrap())
        .unwrap_err();
    assert!(matches!(error.error, PostError::Domain) && error.buffer.is_some());
    let read_only = domains[0].reg_mr(64, Access::LOCAL_READ).unwrap();
    let error = tx.post_recv(1, read_only.alloc(1).unwrap()).unwrap_err();
    assert!(matches!(error.error, PostError::ReadOnly));
}

#[test]
fn parts_of_a_region_are_apart_and_come_back_when_dropped() {
    let (_, domains) = pair();
    let region = domains[0].reg_mr(1_000, Access::LOCAL_WRITE).unwrap();
    let mut parts: Vec<Buffer> = std::iter::from_fn(|| region.alloc(100)).collect();
    assert_eq!(parts.len(), 8, "seven of two cache lines, and the rest");
    for (number, part) in parts.iter_mut().enumerate() {
        assert!(part.iter().all(|byte| *byte == 0));
        part.fill(number as u8 + 1);
    }
    assert!(
        parts
            .iter()
            .enumerate()
            .all(|(number, part)| part.iter().all(|b| usize::from(*b) == number + 1))
    );
    drop(parts);
    assert_eq!(
        region.alloc(1_000).unwrap().len(),
        1_000,
        "all in one piece again"
    );
    assert!(region.alloc(1_001).is_none());
}

#[test]
fn parents_live_as_long_as_what_was_made_on_them() {
    let (devices, domains) = pair();
    let (tx, queue) = queue_pair(&domains[0]);
    let buffer = region(&domains[0]).alloc(10).unwrap();
    drop(domains);
    assert_eq!(devices[0].on_card(), Some((1, 1)));
    drop((tx, queue));
    assert_eq!(devices[0].on_card(), Some((0, 1)));
    drop(buffer);
    assert_eq!(devices[0].on_card(), Some((0, 0)));
    assert_eq!(devices[0].host_stats().allocated, 0);
}

#[test]
fn the_card_runs_out_of_queue_pairs_and_says_so() {
    let (_, domains) = pair();
    let queue = domains[0].context().create_cq(0).unwrap();
    let make = || {
        domains[0]
            .create_qp(&queue)
            .max_send_wr(1)
            .max_recv_wr(1)
            .build()
    };
    let all: Vec<QueuePair> = (0..64).map(|_| make().unwrap()).collect();
    let error = make().err().unwrap();
    assert_eq!(
        error.to_string(),
        "all 64 queue pairs of the card are in use"
    );
    drop(all);
    make().unwrap();
    let error = domains[0]
        .create_qp(&queue)
        .max_send_wr(0)
        .build()
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "send = 0 is not within 1 to 8192");
}

#[test]
fn a_card_that_is_pulled_out_is_an_error_everywhere_and_no_hang() {
    let (devices, domains) = pair();
    let (tx, queue) = queue_pair(&domains[0]);
    let region = region(&domains[0]);
    tx.post_recv(1, region.alloc(10).unwrap()).unwrap();
    devices[0].remove();
    let gone = |error: Error| assert_eq!(error.to_string(), "the card is gone");
    let mut done = Vec::new();
    gone(queue.poll(&mut done, 1).unwrap_err());
    gone(queue.wait(Duration::from_secs(9)).unwrap_err());
    gone(domains[0].reg_mr(9, Access::LOCAL_READ).err().unwrap());
    let error = tx.post_send(SendRequest::new(2, tx.address())).unwrap_err();
    assert_eq!(error.to_string(), "the card is gone");
    drop(tx);
    assert!(queue.poll(&mut done, 9).is_ok());
    assert_eq!(
        done.iter()
            .map(|done| (done.status, done.buffer.is_some()))
            .collect::<Vec<_>>(),
        [(WorkCompletionStatus::Flushed, false); 2]
    );
}

/// A card whose registers say something else.
struct Strange {
    card: CardModel,
    offset: u32,
    value: u32,
}

impl Node for Strange {
    fn read32(&mut self, offset: u32) -> u32 {
        if offset == self.offset {
            self.value
        } else {
            self.card.read(offset)
        }
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.card.write(offset, value);
    }

    fn step(&mut self, memory: &mut dyn HostMemory, now: u64) {
        self.card.step(memory, now);
    }

    fn receive_frame(&mut self, _: &[u8], _: u64) {}

    fn next_frame(&mut self, _: u64) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn opening_refuses_other_devices_and_versions_and_names_both() {
    let open = |offset, value| {
        let card = CardModel::new(ModelConfig::default()).unwrap();
        let node = Box::new(Strange {
            card,
            offset,
            value,
        });
        let config = NetworkConfig {
            nodes: 1,
            ..NetworkConfig::default()
        };
        let device = network_of(&config, vec![node]).unwrap().remove(0);
        Context::open(Arc::new(device), Options::default())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(open(0x5000, 0), None);
    assert_eq!(
        open(0, 7).unwrap(),
        "register id reads 0x00000007: not a Tributary card (0x54524e43)"
    );
    let driver = MapVersion { major: 3, minor: 0 };
    for (word, version) in [(0x1_0001, "1.1"), (0x4_0003, "4.3")] {
        let text =
            format!("the card's register map has version {version}, this driver knows {driver}");
        assert_eq!(open(4, word), Some(text));
    }
    assert_eq!(
        open(8, 0).unwrap(),
        "the card has no extended unreliable datagrams"
    );
    assert_eq!(
        open(0x24, 1).unwrap(),
        "the card has not ended a command in 1000 ms"
    );
}

#[test]
fn handles_can_be_used_from_other_threads() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<(Context, ProtectionDomain, MemoryRegion, Buffer, QueuePair)>();
    shared::<(
        tributary_host_driver::CompletionQueue,
        WorkCompletion,
        SendRequest,
    )>();
    moved::<tributary_host_driver::ReliableEndpoint>();
    let (_, domains) = pair();
    let (tx, _tx_queue) = queue_pair(&domains[0]);
    let (rx, queue) = queue_pair(&domains[1]);
    let region = region(&domains[1]);
    let (to, epoch) = (rx.address(), rx.epoch());
    (0..8).for_each(|id| rx.post_recv(id, region.alloc(8).unwrap()).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0..8 {
                tx.post_send(SendRequest::new(id, to).window(window(epoch)))
                    .unwrap();
            }
        });
        let waiter = scope.spawn(|| {
            let mut done = Vec::new();
            while done.len() < 8 {
                assert!(queue.wait(Duration::from_secs(1)).unwrap());
                queue.poll(&mut done, 8).unwrap();
            }
            done.len()
        });
        assert_eq!(waiter.join().unwrap(), 8);
    });
}
