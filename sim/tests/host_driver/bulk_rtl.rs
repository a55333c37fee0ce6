//! Bulk transfers through the driver, over Verilated cards.

use std::sync::Arc;

use tributary_host_driver::multicast::Verdict;
use tributary_host_driver::{
    Access, BulkCounter, BulkTuning, Context, Options, ProtectionDomain, TransferRequest,
    WorkCompletionOpcode, WorkCompletionStatus,
};
use tributary_sim::card::{CardSizes, NetworkConfig, network_rtl};
use tributary_sim::pcie::Config;

use super::bulk::{ends, sample, wait};
use super::config;
use super::multicast::{bytes_of, close, groups, options};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn domains<const N: usize>() -> [ProtectionDomain; N] {
    let link = NetworkConfig::default().link;
    let network = config(N as u32, link);
    let root = Config {
        seed: network.seed,
        ..Config::default()
    };
    let devices = network_rtl(&network, CardSizes::bulk(), root).unwrap();
    let mut nodes = devices.into_iter();
    std::array::from_fn(|node| {
        let device = nodes.next().unwrap();
        let node = node as u32;
        let context = Context::open(Arc::new(device), Options { node, mtu: 1_024 }).unwrap();
        let sizes = context.sizes();
        assert_eq!(sizes.transfers, 16);
        context.alloc_pd().unwrap()
    })
}

/// A long write, and a short one to the same place behind its fence: what is left there is the short one in front.
#[test]
fn bw_01_bw_12_writes_of_any_size_arrive_in_the_order_of_fences() {
    let [a, b] = ends(domains());
    for end in [&a, &b] {
        let tuning = BulkTuning {
            round_trip_ns: 16_000,
            overtaking: 2,
            share_of_256: 128,
        };
        end.domain.context().tune_bulk(&tuning).unwrap();
    }
    let here = a.domain.reg_mr(1 << 18, Access::LOCAL_WRITE).unwrap();
    let there = b.domain.reg_mr(1 << 18, Access::REMOTE_WRITE).unwrap();
    let there = there.expose(1 << 17).unwrap();
    for (number, length) in [0, 1, 1_000, 1_025, 60_000].into_iter().enumerate() {
        let number = number as u64;
        let long = sample(length);
        let short: Vec<u8> = long.iter().take(100).map(|byte| !byte).collect();
        let mut whole = long.clone();
        whole[..short.len()].copy_from_slice(&short);
        for (id, bytes) in [(2 * number, &long), (2 * number + 1, &short)] {
            let mut buffer = here.alloc(bytes.len()).unwrap();
            buffer.copy_from_slice(bytes);
            let write = TransferRequest::new(id, b.pair.address(), buffer, there.remote().at(3));
            a.pair.post_write(write.fence()).unwrap();
        }
        for id in [2 * number, 2 * number + 1] {
            let done = wait(&a);
            assert_eq!((done.status, done.wr_id), (WorkCompletionStatus::Ok, id));
        }
        let mut arrived = vec![0; length];
        there.read(3, &mut arrived).unwrap();
        assert!(arrived == whole, "{length} bytes");
    }
    let context = a.domain.context();
    assert_eq!(context.bulk_counter(BulkCounter::Completed).unwrap(), 10);
    assert_eq!(context.bulk_counter(BulkCounter::Failed).unwrap(), 0);
}

/// Each write that notifies takes one receive request there, whose completion says what it was; without one it ends so.
#[test]
fn bw_03_a_notification_comes_once_with_its_data_and_length() {
    let [a, b] = ends(domains());
    let here = a.domain.reg_mr(1 << 17, Access::LOCAL_WRITE).unwrap();
    let there = b.domain.reg_mr(1 << 17, Access::REMOTE_WRITE).unwrap();
    let there = there.expose(1 << 16).unwrap();
    let inbox = b.domain.reg_mr(64, Access::LOCAL_WRITE).unwrap();
    let write = |number: u32, bytes: &[u8]| {
        let mut buffer = here.alloc(bytes.len()).unwrap();
        buffer.copy_from_slice(bytes);
        let write = TransferRequest::new(1, b.pair.address(), buffer, there.remote().at(3));
        a.pair.post_write(write.notify(number)).unwrap();
        wait(&a)
    };
    for (number, length) in [0, 1, 1_000, 1_024, 1_025, 40_000].into_iter().enumerate() {
        let bytes = sample(length);
        b.pair.post_recv(9, inbox.alloc(16).unwrap()).unwrap();
        let done = write(0xCAFE_0000 + number as u32, &bytes);
        assert_eq!((done.status, done.wr_id), (WorkCompletionStatus::Ok, 1));
        // It was told before the sender was.
        let told = wait(&b);
        assert_eq!(told.opcode, WorkCompletionOpcode::Notify);
        assert_eq!(told.immediate(), Some(0xCAFE_0000 + number as u32));
        assert_eq!((told.wr_id, told.byte_len as usize), (9, length));
        assert_eq!(told.peer, a.pair.address());
        let mut arrived = vec![0; length];
        there.read(3, &mut arrived).unwrap();
        assert!(arrived == bytes, "{length} bytes");
    }
    let done = write(1, &sample(2_000));
    assert_eq!(done.status, WorkCompletionStatus::RemoteRnr);
    let context = b.domain.context();
    assert_eq!(context.bulk_counter(BulkCounter::NotReady).unwrap(), 1);
    assert_eq!(context.bulk_counter(BulkCounter::Received).unwrap(), 6);
}

/// Block multicast over RTL cards: every block is a bulk WRITE that notifies.
#[test]
fn mb_08_mb_10_mb_11_mb_13_a_group_of_rtl_cards_gets_messages_of_any_length() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let domains: [ProtectionDomain; 3] = domains();
    let mut groups = groups(&domains, &options());
    let messages = [0, 1, 3_000, 20_001].map(|length| bytes_of(&mut random, length));
    for message in &messages {
        groups[0].send(message).unwrap();
    }
    let mut got = vec![Vec::new(); groups.len()];
    let verdicts = close(&mut groups, &mut got);
    let all = Verdict::Success { messages: 4 };
    assert!(
        verdicts.iter().all(|verdict| *verdict == all),
        "{verdicts:?}"
    );
    for (group, got) in groups.iter_mut().zip(&mut got).skip(1) {
        while let Ok(Some(message)) = group.poll() {
            got.push(message);
        }
        let got: Vec<Vec<u8>> = got.iter().map(|message| message.to_vec()).collect();
        assert!(got == messages, "{} messages", got.len());
    }
}

/// READs of any size, one behind the fence of a write to the same place: what it brings is what was written. One without the
/// right to it says so.
#[test]
fn bw_11_bw_12_reads_of_any_size_bring_what_was_written_before() {
    let [a, b] = ends(domains());
    let here = a.domain.reg_mr(1 << 18, Access::LOCAL_WRITE).unwrap();
    let all = Access::REMOTE_WRITE | Access::REMOTE_READ;
    let there = b.domain.reg_mr(1 << 18, all).unwrap();
    let there = there.expose(1 << 17).unwrap();
    for length in [0, 1, 1_000, 1_025, 60_000] {
        let bytes = sample(length);
        let mut buffer = here.alloc(length).unwrap();
        buffer.copy_from_slice(&bytes);
        let to = there.remote().at(5);
        let write = TransferRequest::new(1, b.pair.address(), buffer, to);
        a.pair.post_write(write).unwrap();
        let read = TransferRequest::new(2, b.pair.address(), here.alloc(length).unwrap(), to);
        a.pair.post_read(read.fence()).unwrap();
        let done = [wait(&a), wait(&a)];
        let how = done.each_ref().map(|done| (done.wr_id, done.status));
        let ok = WorkCompletionStatus::Ok;
        assert_eq!(how, [(1, ok), (2, ok)], "{length} bytes");
        let [_, done] = done;
        assert!(done.buffer.unwrap()[..] == bytes[..], "{length} bytes");
    }
    let closed = b.domain.reg_mr(4_096, Access::REMOTE_WRITE).unwrap();
    let from = closed.expose(2_000).unwrap().remote();
    let read = TransferRequest::new(3, b.pair.address(), here.alloc(2_000).unwrap(), from);
    a.pair.post_read(read).unwrap();
    assert_eq!(wait(&a).status, WorkCompletionStatus::RemoteAccess);
    let context = b.domain.context();
    assert_eq!(context.bulk_counter(BulkCounter::Served).unwrap(), 5);
    assert_eq!(context.bulk_counter(BulkCounter::Access).unwrap(), 1);
}
