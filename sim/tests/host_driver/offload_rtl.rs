//! Groups that Verilated cards carry out (MB-16).

use std::sync::Arc;
use std::time::Duration;

use tributary_host_driver::multicast::{EndCode, OffloadOptions};
use tributary_host_driver::{BulkTuning, Context, Options, ProtectionDomain};
use tributary_sim::card::{CardSizes, NetworkConfig, SimDevice, network_rtl};
use tributary_sim::link::LinkConfig;
use tributary_sim::pcie::Config;

use super::offload::{death, ends, groups, hosts_do_nothing, messages, stop};
use super::{BAD, config};

pub fn cards(count: u32, link: LinkConfig) -> (Vec<SimDevice>, Vec<ProtectionDomain>) {
    let network = config(count, link);
    let root = Config {
        seed: network.seed,
        ..Config::default()
    };
    let devices = network_rtl(&network, CardSizes::bulk(), root).unwrap();
    let domain = |(node, device): (u32, &SimDevice)| {
        let options = Options { node, mtu: 1_024 };
        let context = Context::open(Arc::new(device.clone()), options).unwrap();
        let tuning = BulkTuning {
            round_trip_ns: 16_000,
            overtaking: 100,
            share_of_256: 128,
        };
        context.tune_bulk(&tuning).unwrap();
        assert_eq!(context.sizes().groups, 16);
        context.alloc_pd().unwrap()
    };
    let domains = (0..).zip(&devices).map(domain).collect();
    (devices, domains)
}

#[test]
fn mb_16_rtl_cards_carry_messages_of_any_length_without_their_hosts() {
    // 16 queue pairs do for one lane of 5 members.
    for (count, lanes) in [(2, 2), (3, 2), (5, 1)] {
        let (devices, domains) = cards(count, NetworkConfig::default().link);
        let mut groups = groups(&domains, |options| OffloadOptions { lanes, ..options });
        messages(&devices, &mut groups, &[1, 3_000, 3_000 * 7 + 5], 4_000);
        stop(groups, &domains);
    }
}

#[test]
fn mb_16_rtl_cards_carry_messages_over_a_bad_network() {
    let (devices, domains) = cards(4, BAD);
    let mut groups = groups(&domains, |options| options);
    messages(&devices, &mut groups, &[3_000 * 9 + 1, 17], 20_000);
    stop(groups, &domains);
}

#[test]
fn mb_16_when_an_rtl_card_dies_the_others_end_without_their_hosts() {
    for silent in [0, 2] {
        let (devices, domains) = cards(3, NetworkConfig::default().link);
        let mut groups = groups(&domains, |options| OffloadOptions {
            watchdog: Duration::from_micros(600),
            ..options
        });
        death(&devices, &mut groups, silent, [300, 20_000]);
    }
}

#[test]
fn mb_16_groups_share_rtl_cards_and_one_that_waits_stops_no_other() {
    let (devices, domains) = cards(3, NetworkConfig::default().link);
    let change = |options| OffloadOptions {
        watchdog: Duration::ZERO,
        ..options
    };
    let mut waiting = groups(&domains, change);
    let mut others = groups(&domains, change);
    // The root alone gets no grant.
    waiting[0].post(10).unwrap();
    messages(&devices, &mut others, &[20_000, 1], 4_000);
    assert_eq!(ends(&mut waiting[0]), []);
    for group in &mut waiting[1..] {
        group.post(10).unwrap();
    }
    hosts_do_nothing(&devices, 2_000);
    for group in &mut waiting {
        let ends = ends(group);
        assert!(ends.len() == 1 && ends[0].code == EndCode::Done, "{ends:?}");
    }
    stop(others, &domains[..0]);
    stop(waiting, &domains);
}
