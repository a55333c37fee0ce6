//! Bus mastering taken away and given back (bit 2 of the Command register): the card asks nothing of host memory meanwhile, says
//! nothing is done that is not, keeps its registers, and goes on when it may.

use tributary_protocol::card::command::{Command, State, Status};
use tributary_protocol::card::descriptor::{Completion, Of, ReceiveRequest};
use tributary_protocol::card::regs::{
    COMMAND, COMMAND_CODE, COMMAND_INDEX, CONTROL, CONTROL_ENABLE, CONTROL_RESET, Counter,
    DOORBELL_ARM, ID, MAGIC, MSIX_PENDING, STATUS, STATUS_BUSY, doorbell,
};
use tributary_protocol::xud::wire::{self, Packet, Reply};
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;

use super::bench::{Dice, NODES, Pair, Queue, WRITES};
use super::traffic::{LARGEST, READABLE, Traffic, WRITABLE, alive, work};
use super::{long, seed};

/// Time for what is under way, ns.
const WHILE: u64 = 3_000 * CLOCK_NS;

/// Timeout of the queue pairs in traffic: 65 us.
const TIMEOUT: u8 = 4;
/// Longer than that, ns.
const QUIET: u64 = 10_500 * CLOCK_NS;

/// Queue pair 1 of both cards, with receive requests read ahead; its requests do not time out.
fn ready(pair: &mut Pair) -> Queue {
    let queue = Queue {
        timeout: 20,
        ..Queue::new(1, [4, 4, 6])
    };
    for at in 0..2 {
        pair.open(at, 512);
        pair.set_region(at, &READABLE);
        pair.set_region(at, &WRITABLE);
        pair.create(at, &queue);
    }
    let requests = [0, 1, 2].map(|wr_id| ReceiveRequest {
        wr_id,
        address: WRITES + LARGEST * wr_id,
        lkey: WRITABLE.key(),
        length: LARGEST as u32,
    });
    pair.post_receives(1, &queue, &requests);
    pair.settle(WHILE);
    queue
}

/// Work of node 0 for queue pair 1 of node 1.
fn message(pair: &mut Pair, queue: &mut Queue, wr_id: u64) {
    let work = work(
        Peer {
            node: NODES[1],
            qpn: 1,
        },
        READABLE.base,
        LARGEST,
        wr_id,
    );
    pair.post_sends(0, queue, &[work]);
    queue.posted += 1;
}

/// Of a completion what does not depend on the way.
fn gist(all: &[Completion]) -> Vec<(u64, Of, Outcome)> {
    all.iter().map(|c| (c.wr_id, c.of, c.status)).collect()
}

/// What is seen while the receiver may not write, and when it may again.
#[derive(Debug, PartialEq)]
struct Seen {
    off: [Vec<(u64, Of, Outcome)>; 2],
    off_pending: u32,
    off_counters: [u64; 4],
    accesses: u64,
    on: [Vec<(u64, Of, Outcome)>; 2],
    on_pending: u32,
    on_counters: [u64; 4],
    interrupts: usize,
    payload: Vec<u8>,
}

/// A message arrives, with a receive request read ahead, at a card that may not write.
fn message_to_silent(mut pair: Pair) -> Seen {
    let text = Dice::new(seed()).bytes(LARGEST as usize);
    let mut queue = ready(&mut pair);
    pair.mapped(0).write(READABLE.base, &text);
    pair.write_at(1, doorbell(1, &DOORBELL_ARM), 0);
    pair.set_bus_master(1, false);
    pair.run(WHILE);
    let counters = |pair: &mut Pair| {
        [
            Counter::AcksSent,
            Counter::Interrupts,
            Counter::ReadFailed,
            Counter::LocalError,
        ]
        .map(|counter| pair.counter(1, counter))
    };
    let accesses = pair.hosts[1].memory.accesses;
    message(&mut pair, &mut queue, 10);
    pair.run(WHILE);
    let seen = |pair: &Pair| [0, 1].map(|at| gist(&pair.completions(at, &queue)));
    let off = seen(&pair);
    let (off_pending, off_counters) = (pair.read_at(1, MSIX_PENDING), counters(&mut pair));
    assert_eq!(pair.read(1, &ID), MAGIC);
    let accesses = pair.hosts[1].memory.accesses - accesses;
    pair.set_bus_master(1, true);
    pair.run(WHILE);
    let (on, on_pending) = (seen(&pair), pair.read_at(1, MSIX_PENDING));
    let on_counters = counters(&mut pair);
    let payload = pair.mapped(1).bytes(WRITES, text.len());
    assert_eq!(payload, text);
    pair.check();
    Seen {
        off,
        off_pending,
        off_counters,
        accesses,
        on,
        on_pending,
        on_counters,
        interrupts: pair.hosts[1].memory.interrupts.len(),
        payload,
    }
}

#[test]
fn xud_04_a_message_to_a_card_that_may_not_write_is_acknowledged_when_it_is_in_memory() {
    let seen = message_to_silent(Pair::rtl(seed(), 32));
    assert_eq!(seen, message_to_silent(Pair::model()));
    assert_eq!(
        (&seen.off, seen.accesses),
        (&[vec![], vec![]], 0),
        "{seen:?}"
    );
    assert_eq!(seen.off_counters, [0; 4]);
    let of = |wr_id, of| vec![(wr_id, of, Outcome::Ok)];
    assert_eq!(seen.on, [of(10, Of::Send), of(0, Of::Receive)]);
    // One acknowledgement, one interrupt; nothing failed.
    assert_eq!(seen.on_counters, [1, 1, 0, 0]);
    assert_eq!((seen.on_pending, seen.interrupts), (0, 1));
}

/// An interrupt falls due while the card may not send its message: pending bits and interrupts, off and on.
fn silent_interrupt(mut pair: Pair) -> [(u32, usize, u64); 2] {
    let mut queue = ready(&mut pair);
    message(&mut pair, &mut queue, 10);
    pair.settle(WHILE);
    pair.set_bus_master(1, false);
    pair.run(WHILE);
    // More than 0 completions have been written.
    pair.write_at(1, doorbell(1, &DOORBELL_ARM), 0);
    let seen = [false, true].map(|on| {
        pair.set_bus_master(1, on);
        pair.run(WHILE);
        let pending = pair.read_at(1, MSIX_PENDING);
        let sent = pair.counter(1, Counter::Interrupts);
        (pending, pair.hosts[1].memory.interrupts.len(), sent)
    });
    pair.check();
    seen
}

#[test]
fn an_interrupt_of_a_card_that_may_not_write_stays_pending_and_is_sent_once() {
    let seen = silent_interrupt(Pair::rtl(seed(), 32));
    assert_eq!(seen, silent_interrupt(Pair::model()));
    assert_eq!(seen, [(1 << 1, 0, 0), (0, 1, 1)]);
}

/// Work requests are posted to a card that may not read: completions of both cards off and on, and the state of the queue pair.
fn silent_sender(mut pair: Pair) -> Vec<[Vec<(u64, Of, Outcome)>; 2]> {
    let mut queue = ready(&mut pair);
    pair.set_bus_master(0, false);
    pair.run(WHILE);
    for wr_id in [20, 21] {
        message(&mut pair, &mut queue, wr_id);
    }
    let seen = [false, true].map(|on| {
        pair.set_bus_master(0, on);
        pair.run(WHILE);
        [0, 1].map(|at| gist(&pair.completions(at, &queue)))
    });
    let [_, state, _] = pair.raw_command(0, Command::QueryQp.code(), 1, &[]);
    assert_eq!(state, u32::from(State::ReadyToSend.code()));
    for counter in [Counter::ReadFailed, Counter::LocalError] {
        assert_eq!(pair.counter(0, counter), 0, "{counter:?}");
    }
    pair.check();
    seen.into()
}

#[test]
fn xud_02_work_posted_to_a_card_that_may_not_read_is_done_when_it_may() {
    let seen = silent_sender(Pair::rtl(seed(), 32));
    assert_eq!(seen, silent_sender(Pair::model()));
    assert_eq!(seen[0], [vec![], vec![]]);
    let all = |ids: [u64; 2], of| ids.map(|id| (id, of, Outcome::Ok)).to_vec();
    let [sent, received] = [(([20, 21]), Of::Send), ([0, 1], Of::Receive)].map(|(i, o)| all(i, o));
    assert_eq!(seen[1], [sent, received]);
}

/// A queue pair is destroyed while a message for it waits for host memory: busy while off, the status when on again, accesses after.
fn destroyed_while_silent(mut pair: Pair) -> (bool, u32, u64) {
    let mut queue = ready(&mut pair);
    pair.set_bus_master(1, false);
    pair.run(WHILE);
    message(&mut pair, &mut queue, 10);
    pair.run(WHILE);
    let command = COMMAND_CODE.put(Command::DestroyQp.code().into()) | COMMAND_INDEX.put(1);
    pair.write(1, &COMMAND, command);
    pair.run(WHILE);
    let busy = STATUS_BUSY.get(pair.read(1, &STATUS)) != 0;
    pair.set_bus_master(1, true);
    let status = pair.wait(1);
    let accesses = pair.hosts[1].memory.accesses;
    pair.unmap_rings(1, &queue);
    pair.run(WHILE);
    pair.check();
    (busy, status, pair.hosts[1].memory.accesses - accesses)
}

#[test]
fn a_queue_pair_whose_message_waits_for_host_memory_is_destroyed_after_it() {
    let seen = destroyed_while_silent(Pair::rtl(seed(), 32));
    assert_eq!(seen, destroyed_while_silent(Pair::model()));
    assert_eq!(seen, (true, u32::from(Status::Ok.code()), 0));
}

fn queues() -> Vec<Queue> {
    (0..4)
        .map(|qpn| Queue {
            timeout: TIMEOUT,
            ..Queue::new(qpn, [4, 4, 5])
        })
        .collect()
}

/// Acknowledgements OK in the frames for a node, so far.
#[derive(Default)]
struct Acknowledged([u64; 2]);

impl Acknowledged {
    /// Each stands for a completion in the memory of the card that sent it.
    fn check(&mut self, pair: &mut Pair, landed: [u64; 2], seed: u64) {
        for sent in pair.sent.take().into_iter().flatten() {
            if let (Some(to), Ok((_, Packet::Ack(ack)))) =
                (sent.to, wire::decode_frame(&sent.frame))
                && ack.reply == Reply::Ok
            {
                self.0[1 - to] += 1;
            }
        }
        pair.sent = Some(Vec::new());
        for (at, (acknowledged, landed)) in self.0.into_iter().zip(landed).enumerate() {
            assert!(
                acknowledged <= landed,
                "node {at} has acknowledged {acknowledged} messages of {landed} in memory, seed {seed}"
            );
        }
    }
}

/// So many rounds, in which more than so many messages must arrive.
fn campaign(seed: u64, rounds: u64, least: u64) {
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl(seed, dice.pick(&[0, 40, 120, 220]));
    let mut traffic = Traffic::new();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues());
    }
    pair.sent = Some(Vec::new());
    let mut acknowledged = Acknowledged::default();
    let mut on = [true; 2];
    for _ in 0..rounds {
        for (at, on) in on.iter_mut().enumerate() {
            if dice.chance(if *on { 6 } else { 20 }) {
                // At any clock, and now and then back before anything can have come of it.
                let (card, memory) = pair.rtl_card(at);
                for _ in 0..dice.below(60) {
                    card.clock(Some(&mut *memory));
                }
                *on = !*on;
                pair.set_bus_master(at, *on);
            }
            for flow in &traffic.flows[at] {
                if dice.chance(10) {
                    let offset = doorbell(flow.queue.qpn, &DOORBELL_ARM);
                    pair.write_at(at, offset, flow.queue.consumed.into());
                }
            }
            assert_eq!(pair.read(at, &ID), MAGIC, "seed {seed}");
        }
        pair.step();
        traffic.pump(&mut pair, &mut dice, true);
        acknowledged.check(&mut pair, traffic.landed, seed);
    }
    for at in 0..2 {
        pair.set_bus_master(at, true);
    }
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    acknowledged.check(&mut pair, traffic.landed, seed);
    println!(
        "seed {seed}: {} messages, {:?} landed, {:?} acknowledged",
        traffic.good, traffic.landed, acknowledged.0
    );
    assert_eq!(traffic.open_sends(), 0, "seed {seed}: no completion");
    assert!(
        traffic.good > least,
        "seed {seed}: {} messages",
        traffic.good
    );
    for at in 0..2 {
        assert_eq!(pair.read_at(at, MSIX_PENDING), 0, "seed {seed}");
        let sent = pair.counter(at, Counter::Interrupts);
        assert_eq!(sent, pair.hosts[at].memory.interrupts.len() as u64);
        assert!(sent > 0);
        for counter in [Counter::ReadFailed, Counter::LocalError] {
            assert_eq!(pair.counter(at, counter), 0, "{counter:?}, seed {seed}");
        }
    }
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 5);
    pair.check();
}

#[test]
fn xud_02_04_bus_mastering_that_comes_and_goes_loses_nothing_and_lies_about_nothing() {
    let (runs, rounds, least) = if long() {
        (60, 3_600, 375)
    } else {
        (4, 480, 50)
    };
    for seed in seed()..seed() + runs {
        campaign(seed, rounds, least);
    }
}

/// What waits for host memory when the card is reset is gone.
fn reset_while_silent(seed: u64, function: bool) {
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl_behind(&Config {
        seed,
        stall: Profile::Independent(dice.pick(&[0, 40, 200])),
        ..Config::default()
    });
    let mut traffic = Traffic::new();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues());
    }
    for round in 0..6 {
        for _ in 0..20 + dice.below(20) {
            traffic.pump(&mut pair, &mut dice, true);
            pair.step();
        }
        let (card, memory) = pair.rtl_card(1);
        for _ in 0..dice.below(100) {
            card.clock(Some(&mut *memory));
        }
        pair.set_bus_master(1, false);
        for _ in 0..dice.below(30) {
            pair.step();
        }
        pair.resets += 1;
        if !function {
            pair.write(1, &CONTROL, CONTROL_RESET.put(1));
        }
        let (card, memory) = pair.rtl_card(1);
        if function {
            card.function_reset(memory);
        }
        // What was on offer may still leave, filled up.
        for _ in 0..2_000 {
            card.clock(Some(&mut *memory));
        }
        assert!(card.root().is_idle(), "a TLP is cut, seed {seed}");
        let before = card.root().seen;
        pair.set_bus_master(1, true);
        pair.wait(1);
        pair.run(WHILE);
        let seen = pair.rtl_card(1).0.root().seen;
        assert_eq!(
            (seen.reads, seen.writes),
            (before.reads, before.writes),
            "round {round} of seed {seed}: host memory is touched after a reset"
        );
        assert_eq!(pair.read_at(1, MSIX_PENDING), 0);
        for flow in &traffic.flows[1] {
            pair.unmap_rings(1, &flow.queue);
        }
        traffic.start(&mut pair, 1, &queues());
        pair.check();
    }
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0);
    assert!(traffic.good > 20, "{} messages", traffic.good);
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 5);
    pair.check();
}

#[test]
fn a_reset_forgets_what_waits_for_bus_mastering() {
    for seed in seed()..seed() + if long() { 40 } else { 3 } {
        for function in [true, false] {
            reset_while_silent(seed, function);
        }
    }
}

#[test]
fn a_card_that_may_not_write_drops_and_counts_frames_and_can_be_disabled() {
    let mut dice = Dice::new(seed());
    let mut pair = Pair::rtl(seed(), 0);
    let mut traffic = Traffic::new();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues());
    }
    for _ in 0..40 {
        traffic.pump(&mut pair, &mut dice, true);
        pair.step();
    }
    pair.set_bus_master(1, false);
    // Node 0 sends for longer than the buffers of node 1 last: its requests time out, and more follow.
    for _ in 0..400 {
        traffic.pump(&mut pair, &mut dice, true);
        pair.step();
    }
    assert!(pair.counter(1, Counter::RxOverflow) > 10);
    pair.write(1, &CONTROL, CONTROL_ENABLE.put(0));
    let overflow = pair.counter(1, Counter::RxOverflow);
    let sent = pair.counter(0, Counter::Sent);
    for _ in 0..200 {
        traffic.pump(&mut pair, &mut dice, true);
        pair.step();
    }
    assert!(pair.counter(0, Counter::Sent) > sent + 10);
    // A card that is off takes no frame.
    assert_eq!(pair.counter(1, Counter::RxOverflow), overflow);
    pair.write(1, &CONTROL, CONTROL_ENABLE.put(1));
    pair.set_bus_master(1, true);
    pair.settle(QUIET);
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0);
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 5);
    pair.check();
}
