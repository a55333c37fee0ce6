//! Groups of block multicast whose Verilated cards carry the blocks (MB-16).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::multicast::{Group, GroupOptions, Verdict, Why};
use tributary_sim::card::NetworkConfig;

use super::BAD;
use super::multicast::{bytes_of, close, groups, run};
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

#[test]
fn mb_12_mb_13_mb_16_when_an_rtl_card_dies_the_survivors_have_a_true_verdict() {
    let (devices, domains) = cards(3, NetworkConfig::default().link);
    let mut groups = groups(&domains, &by_cards());
    let mut got = vec![Vec::new(); 3];
    run(&mut groups, &mut got, |groups, _| {
        groups.iter().all(Group::is_open)
    });
    groups[0].send(&[5; 100]).unwrap();
    run(&mut groups, &mut got, |_, got| {
        got[1..].iter().all(|got| got.len() == 1)
    });
    groups[0].send(&vec![6; 120_000]).unwrap();
    while groups[0].is_telling() {
        groups.iter_mut().for_each(|g| drop(g.poll().unwrap()));
    }
    devices[2].remove();
    drop(groups.pop());
    got.pop();
    let verdicts = close(&mut groups, &mut got);
    let verdict = Verdict::Failure {
        suspect: 2,
        why: Why::Gone,
        watermarks: vec![Some(2), Some(1), None],
    };
    assert_eq!(verdicts, [verdict.clone(), verdict]);
    assert!(got[1].len() == 1 && got[1][0].to_vec() == [5; 100]);
}
