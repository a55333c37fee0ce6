//! Rings that cannot be read, on card and model alike: the queue pair ends, and nothing else does.

use tributary_protocol::card::command::{Command, State};
use tributary_protocol::card::descriptor::{Completion, Of, ReceiveRequest};
use tributary_protocol::card::regs::Counter;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::Access;

use super::bench::{Dice, NODES, Pair, Queue, WRITES};
use super::seed;
use super::traffic::{LARGEST, READABLE, WRITABLE, alive, work};

/// Longer than the timeout of the queue pairs, ns.
const QUIET: u64 = 10_500 * CLOCK_NS;

/// What is seen of it.
#[derive(Debug, PartialEq)]
struct Seen {
    before: Vec<Completion>,
    after: Vec<Completion>,
    others: Vec<Completion>,
    states: Vec<[u32; 3]>,
    failed: u64,
    local: u64,
}

/// The send or the receive ring of a queue pair cannot be read any more.
fn run(mut pair: Pair, which: usize) -> Seen {
    let mut dice = Dice::new(1);
    let queues = [1, 2].map(|qpn| Queue::new(qpn, [4, 4, 6]));
    for at in 0..2 {
        pair.open(at, 512);
        pair.set_region(at, &READABLE);
        pair.set_region(at, &WRITABLE);
        for queue in &queues {
            pair.create(at, queue);
        }
    }
    // Another key: what is sent to it is never answered.
    let deaf = Queue {
        q_key: 1,
        ..Queue::new(3, [4, 4, 6])
    };
    pair.create(1, &deaf);
    let [mut queue, other] = queues;
    let to = |qpn| Peer {
        node: NODES[1],
        qpn,
    };
    let requests = [0, 1, 2].map(|wr_id| ReceiveRequest {
        wr_id,
        address: WRITES + LARGEST * wr_id,
        lkey: WRITABLE.key(),
        length: LARGEST as u32,
    });
    for qpn in [&queue, &other] {
        pair.post_receives(1, qpn, &requests);
    }
    pair.settle(1_000 * CLOCK_NS);
    // While all is well.
    pair.post_sends(0, &queue, &[work(to(1), READABLE.base, 100, 10)]);
    pair.settle(1_000 * CLOCK_NS);
    queue.posted = 1;
    let before = pair.completions(0, &queue);
    queue.consumed = before.len() as u16;
    // On its way while the ring goes.
    pair.post_sends(0, &queue, &[work(to(3), READABLE.base, 100, 13)]);
    pair.settle(1_000 * CLOCK_NS);
    queue.posted = 2;
    let (base, bytes) = queue.ring(which);
    assert!(pair.mapped(0).unmap(base));
    match which {
        0 => pair.post_sends(0, &queue, &[work(to(1), READABLE.base, 100, 11)]),
        _ => pair.post_receives(0, &queue, &requests[..1]),
    }
    pair.post_sends(0, &other, &[work(to(2), READABLE.base, 200, 20)]);
    pair.settle(QUIET);
    let ring = base..base + bytes;
    let denied = pair.mapped(0).take_denied();
    assert!(!denied.is_empty());
    for access in denied {
        assert!(ring.contains(&access.iova) && !access.write, "{access}");
    }
    let mut states = vec![pair.raw_command(0, Command::QueryQp.code(), 1, &[])];
    // It does nothing more.
    pair.post_sends(
        0,
        &Queue {
            posted: 3,
            ..queue.clone()
        },
        &[work(to(1), READABLE.base, 100, 12)],
    );
    pair.settle(QUIET);
    pair.mapped(0).map(base, bytes, Access::Read).unwrap();
    pair.settle(QUIET);
    let after = pair.completions(0, &queue);
    let others = pair.completions(0, &other);
    for state in [State::ReadyToReceive, State::ReadyToSend] {
        let args = [state.code().into()];
        states.push(pair.raw_command(0, Command::ModifyQp.code(), 1, &args));
    }
    let [failed, local] = [Counter::ReadFailed, Counter::LocalError].map(|c| pair.counter(0, c));
    // Its number can be used again.
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.destroy(1, &deaf);
    alive(&mut pair, &mut dice, 1);
    alive(&mut pair, &mut dice, 3);
    pair.check();
    Seen {
        before,
        after,
        others,
        states,
        failed,
        local,
    }
}

#[test]
fn xud_02_a_ring_that_cannot_be_read_ends_its_queue_pair_and_every_request_once() {
    for (which, of) in [(0, Of::Send), (1, Of::Receive)] {
        let seen = run(Pair::rtl(seed(), 32), which);
        assert_eq!(seen, run(Pair::model(), which));
        let [ended, late] = seen.after[..] else {
            panic!("{seen:?}")
        };
        assert_eq!((late.status, late.wr_id), (Outcome::Timeout, 13));
        assert_eq!(
            (ended.status, ended.of, ended.wr_id),
            (Outcome::LocalQueue, of, 0)
        );
        let status = [&seen.before, &seen.others].map(|all| (all.len(), all[0].status));
        assert_eq!(status, [(1, Outcome::Ok); 2]);
        assert_eq!(seen.states[0][1], u32::from(State::Error.code()));
        assert_eq!((seen.failed, seen.local), (1, 1));
    }
}
