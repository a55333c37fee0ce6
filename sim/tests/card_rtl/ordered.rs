//! What stands on the order of writes against other TLPs: that nothing follows a command that has ended, and that an operation finds
//! what the one before has written. A host interface that lets reads and completions pass writes keeps it by sequence numbers.

use tributary_protocol::card::command::Command;
use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::pcie::{Access, Config, Denied, WritePath};
use tributary_sim::testbench::stall::Profile;

use super::bench::{AREA, Dice, NODES, Pair, Queue, WRITES};
use super::onesided::{
    LOCAL_WRITE, MTU, QUIET, REMOTE_ATOMIC, SHARED, SHARED_LEN, one_sided, share,
};
use super::traffic::{Traffic, WRITABLE};
use super::{long, seed};

/// Writes that reach memory behind reads and completions of later.
fn late() -> WritePath {
    WritePath {
        memory: 300..=400,
        number: 0..=60,
        lost: false,
    }
}

/// Host interfaces: with late writes whose numbers return, and with writes that keep their order.
fn good() -> [(WritePath, bool); 2] {
    [(late(), true), (WritePath::default(), false)]
}

/// Cards behind such a host interface, which wait for numbers or not.
fn cards(seed: u64, writes: WritePath, returns: bool) -> Pair {
    let mut pair = Pair::rtl_behind(&Config {
        seed,
        stall: Profile::Independent(20),
        writes,
        ..Config::default()
    });
    for at in 0..2 {
        pair.rtl_card(at).0.set_write_returns(returns).unwrap();
    }
    pair
}

/// Queue pairs and a region end in the middle of traffic: writes to memory that was given back, and bytes changed in the region.
fn ended_in_traffic(seed: u64, writes: WritePath, returns: bool) -> (Vec<Denied>, usize) {
    let mut dice = Dice::new(seed);
    let mut pair = cards(seed, writes, returns);
    let mut traffic = Traffic::new();
    let queues: Vec<_> = (0..4).map(|qpn| Queue::new(qpn, [4, 4, 5])).collect();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues);
    }
    for _ in 0..60 + dice.below(60) {
        pair.step();
        traffic.pump(&mut pair, &mut dice, true);
    }
    assert!(traffic.good > 20, "seed {seed}: {} messages", traffic.good);
    let mut changed = 0;
    for at in 0..2 {
        for flow in traffic.flows[at].drain(..) {
            pair.destroy(at, &flow.queue);
        }
        pair.command(at, Command::ClearRegion, WRITABLE.index, &[]);
        let before = pair.mapped(at).bytes(WRITES, AREA as usize);
        pair.run(QUIET);
        let after = pair.mapped(at).bytes(WRITES, AREA as usize);
        changed += before.iter().zip(&after).filter(|(b, a)| b != a).count();
    }
    let denied = [0, 1].map(|at| pair.mapped(at).take_denied());
    pair.check();
    (denied.concat(), changed)
}

#[test]
fn nothing_is_written_after_a_command_has_ended() {
    for seed in seed()..seed() + if long() { 30 } else { 2 } {
        for (writes, returns) in good() {
            let (denied, changed) = ended_in_traffic(seed, writes, returns);
            assert_eq!((denied, changed), (vec![], 0), "seed {seed} {returns}");
        }
    }
}

#[test]
fn a_completion_of_status_that_passes_writes_is_noticed() {
    let runs = (seed()..seed() + 3).map(|seed| ended_in_traffic(seed, late(), false));
    let late = runs.filter(|(denied, changed)| !denied.is_empty() || *changed > 0);
    assert!(late.count() > 0, "no write came late");
}

/// Sums at node 1, all under way at once: what each found, and the sum.
fn sums(seed: u64, writes: WritePath, returns: bool) -> (Vec<u64>, u64) {
    const COUNT: u64 = 12;
    let mut pair = cards(seed, writes, returns);
    let queue = Queue {
        timeout: 8,
        ..Queue::new(3, [4, 4, 6])
    };
    let mut epochs = [0; 2];
    for (at, epoch) in epochs.iter_mut().enumerate() {
        pair.open(at, MTU);
        let memory = pair.mapped(at);
        memory.map(SHARED, SHARED_LEN, Access::ReadWrite).unwrap();
        *epoch = pair.create(at, &queue);
    }
    let rights = LOCAL_WRITE | REMOTE_ATOMIC;
    let keys = [0, 1].map(|at| share(&mut pair, at, 5, rights, SHARED, SHARED_LEN));
    let args = [3, NODES[0], 3, epochs[1].into()];
    pair.command(1, Command::OpenWindow, 200, &args);
    let local = |number: u64| SHARED + 0x100 + 16 * number;
    let work: Vec<_> = (0..COUNT)
        .map(|number| {
            let asked = Asked::FetchAdd(1 << number);
            let operands = asked.operands().unwrap();
            pair.mapped(0).write(local(number), &operands);
            let request = Request {
                address: SHARED,
                rkey: keys[1],
                asked,
            };
            let window = Window {
                id: 200,
                epoch: epochs[1],
                msn: number as u32,
            };
            let to = Peer {
                node: NODES[1],
                qpn: 3,
            };
            one_sided(to, window, &request, local(number), keys[0])
        })
        .collect();
    pair.post_sends(0, &queue, &work);
    pair.settle(QUIET);
    let ended = pair.completions(0, &queue);
    assert!(ended.iter().all(|c| c.status == Outcome::Ok), "{ended:?}");
    assert_eq!(ended.len() as u64, COUNT);
    pair.check();
    let mut word = |at: usize, address| {
        let bytes = pair.mapped(at).bytes(address, 8);
        u64::from_le_bytes(bytes.try_into().unwrap())
    };
    let found = (0..COUNT).map(|number| word(0, local(number))).collect();
    (found, word(1, SHARED))
}

#[test]
fn xud_13_an_operation_finds_what_the_one_before_wrote() {
    for seed in seed()..seed() + if long() { 30 } else { 2 } {
        for (writes, returns) in good() {
            let (found, sum) = sums(seed, writes, returns);
            let right: Vec<u64> = (0..found.len()).map(|number| (1 << number) - 1).collect();
            assert_eq!((found, sum), (right, 0xFFF), "seed {seed} {returns}");
        }
    }
}

#[test]
fn xud_13_a_read_that_passes_the_write_before_it_is_noticed() {
    let (_, sum) = sums(seed(), late(), false);
    assert_ne!(sum, 0xFFF, "no read passed a write");
}
