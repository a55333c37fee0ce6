//! The root of a group in hardware (CL-6): one card is the root's, the host behind the other one stands for the network and all
//! other members.

use tributary_protocol::card::command::{Command, State};
use tributary_protocol::card::descriptor::{Of, ReductionRequest, WORK_LEN};
use tributary_protocol::card::regs::ReductionCounter;
use tributary_protocol::red::wire::Reduction;
use tributary_protocol::red::{Op, Rc};
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::profiles;
use tributary_sim::testbench::stall::Profile;

use super::bench::{Dice, NODES, Pair, Queue};
use super::groups::{COOKIE, Entry, MTU, QPN, QUIET, SIGNAL, TREE, VNI, count, rtl, take};
use super::traffic::Traffic;
use super::{long, seed};

const IDS: usize = 8;
/// Members of the group.
const MEMBERS: u32 = 77;
/// Marks a work request that an answer has overtaken.
const LATE: u64 = 1 << 63;

/// A queue pair in the group; of the root, or of the others.
fn join(pair: &mut Pair, at: usize, members: u32) -> Queue {
    let queue = Queue::new(QPN, [6, 4, 6]);
    pair.map_rings(at, &queue);
    pair.command(at, Command::CreateQp, queue.qpn, &queue.args(queue.qpn % 8));
    let args = [VNI, TREE | members << 13, COOKIE];
    pair.command(at, Command::JoinGroup, queue.qpn, &args);
    for state in [State::ReadyToReceive, State::ReadyToSend] {
        pair.command(at, Command::ModifyQp, queue.qpn, &[state.code().into()]);
    }
    queue
}

fn data(id: usize, round: u64) -> [u64; 4] {
    let mix = (round << 3 | id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    std::array::from_fn(|word| mix.rotate_left(word as u32))
}

/// What stands in the header of a result beside its numbers, and comes back in the answer.
fn header(round: u64, seqno: u16, count: u32) -> Reduction {
    Reduction {
        seqno,
        arm: false,
        op: Op::IntMinmaxloc,
        count,
        resno: seqno,
        rc: Rc::new((round % 7) as u8),
        m: round as i8,
        oflow: (round % 4) as u8,
        pad: (round % 8) as u8,
        cookie: 0,
    }
}

fn asked(id: usize, round: u64, red: Reduction, data: [u64; 4]) -> ReductionRequest {
    ReductionRequest {
        flags: 0,
        wr_id: 0,
        reduction: id as u8,
        to: None,
        kind: 0,
        round,
        red,
        data,
    }
}

fn post(pair: &mut Pair, at: usize, queue: &mut Queue, request: &ReductionRequest) {
    let entry: [u8; WORK_LEN] = request.encode();
    pair.post_entries(at, queue, &[entry]);
    queue.posted = queue.posted.wrapping_add(1);
}

/// One reduction id: round and sequence number that host 0 and host 1 know of.
#[derive(Clone, Copy)]
struct Id {
    root: (u64, u16),
    heard: Option<(u64, u16)>,
}

/// Rounds of all reduction ids at once, until each has had so many. Host 0 posts one contribution a round, now and then something
/// for the round that is over before it.
fn rounds(pair: &mut Pair, dice: &mut Dice, wanted: u64, mut beside: Option<&mut Traffic>) {
    let counted = |pair: &mut Pair| {
        use ReductionCounter::{Answered, Overtaken, Received, Sent};
        let here = [Answered, Overtaken, Received, Sent];
        let [answered, overtaken, received, sent] = here.map(|c| count(pair, 0, c));
        [answered, overtaken, received, sent, count(pair, 1, Sent)]
    };
    let before = counted(pair);
    let mut queues = [join(pair, 0, MEMBERS), join(pair, 1, 0)];
    // The numbers wrap, and so do rounds.
    let first = |id: usize| {
        (
            ((1u64 << 56) - 5 + id as u64) % (1 << 56),
            1_020 + id as u16 % 4,
        )
    };
    let mut ids: [Id; IDS] = std::array::from_fn(|id| Id {
        root: first(id),
        heard: None,
    });
    let (mut done, mut late, mut told) = ([0u64; IDS], 0u64, 0u64);
    for (id, of) in ids.iter().enumerate() {
        let (round, seqno) = of.root;
        let mut red = header(0, seqno, 1);
        red.arm = true;
        post(pair, 0, &mut queues[0], &asked(id, round, red, [0; 4]));
        let own = header(0, seqno, 1);
        post(
            pair,
            0,
            &mut queues[0],
            &asked(id, round, own, data(id, round)),
        );
    }
    while done.iter().any(|&done| done < wanted) || told < late {
        for entry in take(pair, 0, &mut queues[0]) {
            let frame = match entry {
                Entry::Frame(frame) => frame,
                Entry::Work(ended) => {
                    assert_eq!((ended.of, ended.status), (Of::Send, Outcome::Overtaken));
                    assert_eq!(ended.wr_id, LATE);
                    told += 1;
                    continue;
                }
            };
            let id = usize::from(frame.reduction);
            let (round, seqno) = ids[id].root;
            assert!(frame.answered && frame.by_tree, "{frame:?}");
            assert_eq!(frame.red, header(round % 1_000, seqno, MEMBERS));
            assert_eq!(frame.data, data(id, round));
            done[id] += 1;
            if done[id] >= wanted {
                continue;
            }
            if dice.chance(20) {
                let mut stale = asked(id, round, header(0, seqno, 1), [!0; 4]);
                match dice.below(4) {
                    0 => stale.red.seqno = (seqno + 1) % 1_024,
                    1 => stale.red.arm = true,
                    2 => (stale.red.arm, stale.to) = (true, Some(NODES[1])),
                    _ => {}
                }
                (stale.flags, stale.wr_id) = (SIGNAL, LATE);
                post(pair, 0, &mut queues[0], &stale);
                late += 1;
            }
            let next = ((round + 1) % (1 << 56), (seqno + 1) % 1_024);
            ids[id].root = next;
            let own = header(0, next.1, 1);
            post(
                pair,
                0,
                &mut queues[0],
                &asked(id, next.0, own, data(id, next.0)),
            );
        }
        for entry in take(pair, 1, &mut queues[1]) {
            let Entry::Frame(frame) = entry else {
                panic!("{entry:?}")
            };
            let id = usize::from(frame.reduction);
            assert!(!frame.answered && frame.by_tree && frame.kind == 0);
            assert_eq!(frame.source.node(), NODES[0]);
            let numbers = (frame.round, frame.red.seqno);
            if frame.red.arm {
                match ids[id].heard {
                    None => assert_eq!(numbers, first(id)),
                    // The answer: the result of the round before, word for word.
                    Some((round, seqno)) => {
                        let after = ((round + 1) % (1 << 56), (seqno + 1) % 1_024);
                        assert_eq!(numbers, after);
                        let mut result = header(round % 1_000, seqno, MEMBERS);
                        (result.seqno, result.arm) = (after.1, true);
                        assert_eq!((frame.red, frame.data), (result, data(id, round)));
                    }
                }
                ids[id].heard = Some(numbers);
            } else {
                // The root's own value, which never comes before the tree is armed for it.
                assert_eq!(Some(numbers), ids[id].heard);
                assert_eq!(frame.data, data(id, frame.round));
                let red = header(frame.round % 1_000, frame.red.seqno, MEMBERS);
                let result = asked(id, dice.below(1 << 20), red, data(id, frame.round));
                post(pair, 1, &mut queues[1], &result);
            }
        }
        if let Some(traffic) = beside.as_deref_mut() {
            traffic.pump(pair, dice, true);
        }
        pair.step();
    }
    if let Some(traffic) = beside {
        let mut steps = 0;
        while traffic.open_sends() > 0 {
            traffic.pump(pair, dice, false);
            pair.step();
            steps += 1;
            assert!(steps < 3_000, "sends are left");
        }
    }
    pair.settle(QUIET);
    let all = wanted as u32 * IDS as u32;
    let after = counted(pair);
    let new: [u32; 5] = std::array::from_fn(|i| after[i] - before[i]);
    // A round is one contribution and one answer; before the first, the tree is armed.
    assert_eq!(new, [all, late as u32, all, 2 * all + IDS as u32, all]);
    for (at, queue) in queues.iter().enumerate() {
        for counter in [
            ReductionCounter::BadFrame,
            ReductionCounter::Foreign,
            ReductionCounter::NoSlot,
        ] {
            assert_eq!(count(pair, at, counter), 0, "{counter:?}");
        }
        pair.destroy(at, queue);
    }
    pair.check();
}

#[test]
fn cl_06_a_model_card_answers_results_and_nothing_overtakes_an_answer() {
    let mut pair = Pair::model_with_groups();
    for at in 0..2 {
        pair.open(at, MTU);
    }
    rounds(&mut pair, &mut Dice::new(seed()), 500, None);
}

/// Beside datagrams both ways; then the group is joined anew, and knows nothing of what was told before.
#[test]
fn cl_06_a_card_answers_results_whatever_hosts_and_line_do() {
    profiles("two cards: a root", |seed| {
        let mut dice = Dice::new(seed);
        let mut pair = rtl(seed, Profile::Independent(32));
        let mut traffic = Traffic::new();
        let queues: Vec<Queue> = (0..3).map(|qpn| Queue::new(qpn, [4, 4, 5])).collect();
        for at in 0..2 {
            traffic.start(&mut pair, at, &queues);
            pair.rtl_card(at).0.stall_line(Profile::of_seed(seed));
        }
        let wanted = if long() { 3_000 } else { 8 };
        rounds(&mut pair, &mut dice, wanted, Some(&mut traffic));
        rounds(&mut pair, &mut dice, 3, None);
        wanted * IDS as u64
    });
}
