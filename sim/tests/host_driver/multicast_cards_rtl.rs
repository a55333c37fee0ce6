//! Groups of block multicast whose Verilated cards carry the blocks (MB-16).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::multicast::GroupOptions;
use tributary_sim::card::NetworkConfig;

use super::BAD;
use super::multicast::{bytes_of, groups};
use super::multicast_cards::{by_cards, hosts_sleep, send_all};
use super::offload_rtl::cards;

#[test]
fn mb_10_mb_11_mb_13_mb_16_rtl_cards_carry_the_messages_of_a_group() {
    let (_, domains) = cards(3, BAD);
    let mut groups = groups(&domains, &by_cards());
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let messages = [3_000 * 5 + 1, 1, 0, 3_000].map(|length| bytes_of(&mut random, length));
    send_all(&mut groups, &messages, "3 RTL cards");
}

#[test]
fn mb_16_hosts_of_rtl_cards_do_nothing_between_the_beginning_of_a_message_and_its_end() {
    let (devices, domains) = cards(3, NetworkConfig::default().link);
    let options = GroupOptions {
        credits: 3,
        ..by_cards()
    };
    let mut groups = groups(&domains, &options);
    hosts_sleep(&devices, &mut groups, 20_000, 10_000);
}
