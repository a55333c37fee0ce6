//! What one short transfer takes, clock by clock.

use tributary_protocol::card::descriptor::flags;
use tributary_protocol::card::regs::{BULK_ROUND_TRIP, BULK_TICK};
use tributary_protocol::xud::Outcome;
use tributary_sim::pcie::Config;

use super::library;
use crate::back_to_back::Pair;

#[test]
fn timeline() {
    let config = Config {
        large: true,
        ordered: true,
        latency: 150..=150,
        ..Config::default()
    };
    let built = tributary_sim::card::CardSizes::bulk().build(true).unwrap();
    let mut pair = Pair::of(&built, &config);
    for host in &mut pair.hosts {
        host.set(&BULK_TICK, 139);
        host.set(&BULK_ROUND_TRIP, 20);
    }
    pair.hosts[1].receives(40, 4096);
    for _ in 0..2_000 {
        pair.clock();
    }
    let len: u32 = std::env::var("LEN").ok().and_then(|t| t.parse().ok()).unwrap_or(8);
    for at in 0..2 {
        pair.hosts[at].card.model().trace_open(format!("/tmp/trace{at}.fst")).unwrap();
    }
    for number in 0..3 {
        pair.hosts[0].bulk_write(number, flags::NOTIFY.mask() as u8, len);
        pair.hosts[0].ring(number + 1);
        let from = pair.hosts[0].card.clocks();
        println!("{number}: doorbell at {from}");
        let mut sending = [false; 2];
        let mut reads = [0, 0];
        let mut writes = [0, 0];
        for at in 0..2 { reads[at] = pair.hosts[at].card.root().seen.reads; writes[at] = pair.hosts[at].card.root().seen.writes; }
        let mut ended = [false; 2];
        for clock in 0..20_000 {
            pair.clock();
            for at in 0..2 {
                let now = pair.hosts[at].card.is_sending();
                if now != sending[at] { println!("{clock} card {at} {}", if now {"first word"} else {"last word"}); }
                sending[at] = now;
                let seen = pair.hosts[at].card.root().seen;
                let (r, w) = (seen.reads, seen.writes);
                if r != reads[at] { println!("{clock} card {at} reads"); }
                if w != writes[at] { println!("{clock} card {at} writes"); }
                reads[at] = r; writes[at] = w;
                for c in pair.hosts[at].poll() {
                    assert_eq!(c.status, Outcome::Ok);
                    println!("{clock} card {at} completion");
                    ended[at] = true;
                }
            }
            if ended == [true; 2] { break; }
        }
        for _ in 0..3000 { pair.clock(); }
    }
    let _ = library;
}
