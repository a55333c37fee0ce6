//! What the card does in how many clocks.

use tributary_protocol::card::regs::Counter;
use tributary_protocol::xud::Outcome;

use super::back_to_back::Pair;

/// Clocks from one completion at the receiver to the next, in the steady state.
fn clocks_per_message(latency: u32, count: u16, head: u8, length: u32) -> f64 {
    let mut pair = Pair::new(latency);
    pair.hosts[1].receives(count, 4096);
    for _ in 0..2_000 {
        pair.clock();
    }
    pair.hosts[0].sends(count, head, length);
    pair.hosts[0].ring(count);
    let (mut received, mut sent) = (0, 0);
    let mut at = Vec::new();
    for clock in 0..u64::from(count) * 1_200 + 10_000 {
        pair.clock();
        for completion in pair.hosts[1].poll() {
            assert_eq!(completion.status, Outcome::Ok);
            assert_eq!(completion.wr_id, received);
            assert_eq!(completion.length, u32::from(head) + length);
            received += 1;
            at.push(clock);
        }
        for completion in pair.hosts[0].poll() {
            assert_eq!(completion.status, Outcome::Ok);
            sent += 1;
        }
        if (received, sent) == (count.into(), count) {
            break;
        }
    }
    assert_eq!((received, sent), (count.into(), count), "of {count}");
    pair.check();
    assert_eq!(pair.hosts[1].counter(Counter::Rnr), 0);
    let (first, last) = (usize::from(count) / 4, usize::from(count) - 1);
    (at[last] - at[first]) as f64 / (last - first) as f64
}

#[test]
fn a_small_message_each_16_clocks_through_both_cards() {
    for (head, length) in [(16, 0), (0, 16)] {
        let clocks = clocks_per_message(150, 1_200, head, length);
        println!("{head} bytes in the request and {length} from memory: {clocks:.2} clocks");
        assert!(clocks <= 16.0, "{clocks}");
    }
}

#[test]
fn messages_of_4_kib_at_95_percent_of_the_line_or_more() {
    let clocks = clocks_per_message(150, 120, 0, 4096);
    // Ethernet to ICRC: 74 bytes around the payload.
    let frame = (4096_f64 + 74.0) / 8.0;
    println!("{clocks:.1} clocks for {frame:.1} words of a frame");
    assert!(frame.ceil() / clocks >= 0.95, "{clocks}");
}

#[test]
fn from_the_doorbell_to_the_line_and_what_of_it_the_card_takes() {
    let (latency, length) = (150, 16);
    let mut pair = Pair::new(latency);
    pair.hosts[1].receives(4, 4096);
    pair.hosts[0].sends(1, 0, length);
    for _ in 0..1_000 {
        pair.clock();
    }
    pair.hosts[0].ring(1);
    let from = pair.hosts[0].card.clocks();
    let mut reads = Vec::new();
    while pair.first_word.is_none() {
        pair.clock();
        let seen = pair.hosts[0].card.root().seen.reads;
        if seen > reads.len() as u64 {
            reads.push(pair.hosts[0].card.clocks() - from);
        }
        assert!(pair.hosts[0].card.clocks() - from < 2_000, "nothing comes");
    }
    let clocks = pair.first_word.unwrap() - from;
    assert_eq!(reads.len(), 2);
    // What the host takes: twice until its first word, and the words.
    let host = 2 * u64::from(latency) + u64::from(64 + length) / 8;
    println!("{clocks} clocks, {host} of them the host's; reads asked for after {reads:?}");
    assert!(clocks - host <= 80, "{clocks}");
}
