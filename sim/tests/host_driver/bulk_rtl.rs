//! Bulk writes through the driver, over Verilated cards.

use std::sync::Arc;

use tributary_host_driver::multicast::{Group, MulticastError};
use tributary_host_driver::{
    Access, BulkCounter, BulkTuning, Context, Options, PostError, ProtectionDomain,
    TransferRequest, WorkCompletionStatus,
};
use tributary_sim::card::{CardSizes, NetworkConfig, network_rtl};
use tributary_sim::pcie::Config;

use super::bulk::{ends, sample, wait};
use super::config;
use super::multicast::{options, seats};

fn domains() -> [ProtectionDomain; 2] {
    let link = NetworkConfig::default().link;
    let network = config(2, link);
    let root = Config {
        seed: network.seed,
        ..Config::default()
    };
    let devices = network_rtl(&network, CardSizes::bulk(), root).unwrap();
    let mut nodes = devices.into_iter();
    [0, 1].map(|node| {
        let device = nodes.next().unwrap();
        let context = Context::open(Arc::new(device), Options { node, mtu: 1_024 }).unwrap();
        let sizes = context.sizes();
        assert_eq!((sizes.transfers, sizes.writes_alone), (16, true));
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

/// The driver refuses them, and the buffer comes back.
#[test]
fn bw_03_bw_11_what_these_cards_have_not_is_refused_before_it_is_posted() {
    let domains = domains();
    let (mut seats, members) = seats(&domains);
    let group = Group::create(seats.remove(0), &members, options());
    assert!(matches!(group, Err(MulticastError::NoBulk)));
    let [a, b] = ends(domains);
    let here = a.domain.reg_mr(4_096, Access::LOCAL_WRITE).unwrap();
    let all = Access::REMOTE_WRITE | Access::REMOTE_READ;
    let there = b.domain.reg_mr(4_096, all).unwrap();
    let there = there.expose(2_000).unwrap().remote();
    let transfer = || TransferRequest::new(1, b.pair.address(), here.alloc(2_000).unwrap(), there);
    let read = a.pair.post_read(transfer()).unwrap_err();
    assert!(matches!(read.error, PostError::WritesAlone("a read")));
    assert_eq!(read.buffer.unwrap().len(), 2_000);
    let told = a.pair.post_write(transfer().notify(1)).unwrap_err();
    assert!(matches!(
        told.error,
        PostError::WritesAlone("a notification")
    ));
    assert_eq!(told.buffer.unwrap().len(), 2_000);
    a.pair.post_write(transfer()).unwrap();
    assert_eq!(wait(&a).status, WorkCompletionStatus::Ok);
}
