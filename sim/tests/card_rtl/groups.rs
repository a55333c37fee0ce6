//! Queue pairs in reduction groups (CL-5) in cards with everything: commands as the model's, beside other traffic, and what ends in
//! the middle of it.

use tributary_protocol::card::command::{Command, State, Status};
use tributary_protocol::card::descriptor::{
    Arrival, COMPLETION_LEN, Completion, Of, ReductionRequest, WORK_LEN, flags,
};
use tributary_protocol::card::regs::{
    CONTROL, CONTROL_RESET, Counter, REDUCTION_GROUPS, ReductionCounter, STATISTICS_LOW,
    STATISTICS_SELECT,
};
use tributary_protocol::red::wire::Reduction;
use tributary_protocol::red::{Op, Rc};
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::profiles;
use tributary_sim::testbench::stall::{Length, Profile};

use super::bench::{Dice, NODES, Pair, Queue, READS};
use super::bulk::{library, open_to_writes, write};
use super::traffic::{READABLE, Traffic, WRITABLE, work};
use super::{long, seed};

pub(super) const MTU: u32 = 512;
pub(super) const QUIET: u64 = 1_000 * CLOCK_NS;
pub(super) const VNI: u32 = 0x5A3;
pub(super) const TREE: u32 = 0x1234;
pub(super) const COOKIE: u32 = 0x8765_4320;
/// The queue pair in the group.
pub(super) const QPN: u32 = 9;
pub(super) const SIGNAL: u8 = flags::SIGNAL.mask() as u8;

pub(super) fn rtl(seed: u64, stall: Profile) -> Pair {
    Pair::rtl_of(
        library(),
        &Config {
            seed,
            stall,
            ..Config::default()
        },
    )
}

fn queue() -> Queue {
    Queue::new(QPN, [4, 4, 5])
}

/// A queue pair in the group, that sends and receives.
fn join(pair: &mut Pair, at: usize, queue: &Queue) {
    join_to(pair, at, queue, &[VNI, TREE, COOKIE]);
}

pub(super) fn join_to(pair: &mut Pair, at: usize, queue: &Queue, group: &[u32; 3]) {
    pair.map_rings(at, queue);
    pair.command(at, Command::CreateQp, queue.qpn, &queue.args(queue.qpn % 8));
    pair.command(at, Command::JoinGroup, queue.qpn, group);
    for state in [State::ReadyToReceive, State::ReadyToSend] {
        pair.command(at, Command::ModifyQp, queue.qpn, &[state.code().into()]);
    }
}

pub(super) fn count(pair: &mut Pair, at: usize, counter: ReductionCounter) -> u32 {
    pair.write(at, &STATISTICS_SELECT, counter.code().into());
    pair.read(at, &STATISTICS_LOW)
}

/// Frame `round` of a stream: to the tree or to the other node, its words made of its number.
pub(super) fn request(dice: &mut Dice, at: usize, round: u64, flags: u8) -> [u8; WORK_LEN] {
    let reduction = dice.below(8) as u8;
    ReductionRequest {
        flags,
        wr_id: round << 8,
        reduction,
        to: dice.chance(50).then_some(NODES[1 - at]),
        kind: dice.below(5) as u8,
        round,
        red: header(round),
        data: data(round),
    }
    .encode()
}

fn header(round: u64) -> Reduction {
    Reduction {
        seqno: (round % 1_024) as u16,
        arm: round.is_multiple_of(3),
        op: Op::IntSum,
        count: 1 + (round % 1_000) as u32,
        resno: (round % 1_024) as u16,
        rc: Rc::OK,
        m: round as i8,
        oflow: 0,
        pad: 0,
        cookie: 0,
    }
}

fn data(round: u64) -> [u64; 4] {
    std::array::from_fn(|at| round.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at as u64)
}

/// What an entry of the completion ring is.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    Frame(Arrival),
    Work(Completion),
}

fn entry(bytes: &[u8; COMPLETION_LEN]) -> Entry {
    let words: [u64; 8] =
        std::array::from_fn(|at| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap()));
    if Arrival::is_of(&words) {
        Entry::Frame(Arrival::from_words(&words).unwrap())
    } else {
        Entry::Work(Completion::decode(bytes).unwrap())
    }
}

/// New entries, taken.
pub(super) fn take(pair: &mut Pair, at: usize, queue: &mut Queue) -> Vec<Entry> {
    let entries = pair.entries(at, queue);
    queue.consumed = queue.consumed.wrapping_add(entries.len() as u16);
    if !entries.is_empty() {
        pair.consume(at, queue);
    }
    entries.iter().map(entry).collect()
}

/// One end of a stream of frames both ways.
struct Stream {
    queue: Queue,
    /// Rounds sent, received; work requests that the card has said it has fetched.
    sent: u64,
    received: u64,
    fetched: u16,
    /// Work requests with `signal` that have no completion yet.
    signals: Vec<u64>,
}

impl Stream {
    fn new(pair: &mut Pair, at: usize) -> Self {
        let queue = queue();
        join(pair, at, &queue);
        Self {
            queue,
            sent: 0,
            received: 0,
            fetched: 0,
            signals: Vec::new(),
        }
    }

    /// Posts what fits and takes what came; every round of the other side comes once, in order, whole.
    fn pump(&mut self, pair: &mut Pair, at: usize, dice: &mut Dice, more: bool) {
        let open = self.queue.posted.wrapping_sub(self.fetched);
        if more && open < 16 && dice.chance(70) {
            let signal = open > 8 || dice.chance(20);
            if signal {
                self.signals.push(self.sent << 8);
            }
            let entry = request(dice, at, self.sent, if signal { SIGNAL } else { 0 });
            pair.post_entries(at, &self.queue, &[entry]);
            self.queue.posted = self.queue.posted.wrapping_add(1);
            self.sent += 1;
        }
        for entry in take(pair, at, &mut self.queue) {
            match entry {
                Entry::Frame(frame) => {
                    assert_eq!(frame.round, self.received);
                    assert_eq!(
                        (frame.red, frame.data),
                        (header(self.received), data(self.received))
                    );
                    assert_eq!(frame.source.node(), NODES[1 - at]);
                    let new = frame.fetched.wrapping_sub(self.fetched);
                    assert!(new <= self.queue.posted.wrapping_sub(self.fetched));
                    self.fetched = frame.fetched;
                    self.received += 1;
                }
                Entry::Work(ended) => {
                    assert_eq!((ended.status, ended.of), (Outcome::Ok, Of::Send));
                    assert_eq!(ended.wr_id, self.signals.remove(0));
                    let fetched = ended.request.wrapping_add(1);
                    if fetched.wrapping_sub(self.fetched) < 0x8000 {
                        self.fetched = fetched;
                    }
                }
            }
        }
    }
}

/// Any commands with any arguments: card and model answer alike, and neither has more groups than there are.
#[test]
fn cl_05_commands_of_groups_are_answered_as_the_model_does() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let mut pairs = [rtl(seed, Profile::Free), Pair::model_with_groups()];
    for pair in &mut pairs {
        pair.open(0, MTU);
    }
    let mut seen = [0u32; 8];
    let (mut joined, mut refused) = (0, 0);
    for _ in 0..if long() { 20_000 } else { 1_500 } {
        let qpn = dice.below(18) as u32;
        let (code, args): (Command, Vec<u32>) = match dice.below(10) {
            0..2 => (Command::CreateQp, queue().args(0).to_vec()),
            2..4 => (Command::ModifyQp, vec![dice.below(6) as u32]),
            4 => (Command::DestroyQp, vec![]),
            5 => (Command::QueryQp, vec![]),
            _ => {
                let spare = dice.pick(&[0, 0, 0, 0, 0, 0, 1 << 31, 1 << 16, 1 << 13]);
                let cookie = dice.below(6) as u32 * 8 + dice.pick(&[0, 0, 0, 0, 0, 1, 4]);
                let vni = dice.below(3) as u32 | if spare >> 16 > 0 { spare } else { 0 };
                (
                    Command::JoinGroup,
                    vec![vni, dice.below(1 << 13) as u32 | spare, cookie],
                )
            }
        };
        let answers = pairs
            .each_mut()
            .map(|pair| pair.raw_command(0, code.code(), qpn, &args));
        assert_eq!(answers[0], answers[1], "{code:?} {qpn} {args:x?}");
        seen[answers[0][0] as usize] += 1;
        if code == Command::JoinGroup {
            joined += u32::from(answers[0][0] == u32::from(Status::Ok.code()));
            refused += u32::from(answers[0][0] == u32::from(Status::BadState.code()));
        }
    }
    assert!(joined > 20 && refused > 50, "{joined} {refused} {seen:?}");
    // All rows taken, by all queue pairs that these cards have; and each of them again.
    for pair in &mut pairs {
        pair.write(0, &CONTROL, CONTROL_RESET.put(1));
        pair.wait(0);
        for qpn in 0..REDUCTION_GROUPS as u32 {
            pair.command(0, Command::CreateQp, qpn, &queue().args(0));
            pair.command(0, Command::JoinGroup, qpn, &[VNI, TREE, COOKIE + 8 * qpn]);
        }
        for qpn in 0..REDUCTION_GROUPS as u32 {
            let other = (qpn + 5) % REDUCTION_GROUPS as u32;
            pair.command(0, Command::DestroyQp, qpn, &[]);
            pair.command(0, Command::CreateQp, qpn, &queue().args(0));
            let moved = if other < qpn { 0x1000 } else { 0 };
            let args = [VNI, TREE, COOKIE + moved + 8 * other];
            let [status, ..] = pair.raw_command(0, Command::JoinGroup.code(), qpn, &args);
            assert_eq!(status, u32::from(Status::BadState.code()), "{qpn}");
            pair.command(
                0,
                Command::JoinGroup,
                qpn,
                &[VNI, TREE, COOKIE + 0x1000 + 8 * qpn],
            );
        }
        pair.check();
    }
}

/// Messages, and bulk transfers, to a queue pair in a group: refused as if it were not there, on card and model alike.
#[test]
fn cl_05_messages_for_a_queue_pair_in_a_group_are_refused() {
    let ended = |mut pair: Pair| {
        let mut other = Queue::new(3, [4, 4, 6]);
        for at in 0..2 {
            pair.open(at, MTU);
            pair.set_region(at, &READABLE);
            open_to_writes(&mut pair, at, &WRITABLE);
        }
        pair.create(0, &other);
        join(&mut pair, 1, &queue());
        let to = Peer {
            node: NODES[1],
            qpn: QPN,
        };
        let group = queue();
        let named = Queue {
            qpn: QPN,
            ..other.clone()
        };
        let asked = [
            work(to, READS, 16, 1),
            write(&named, 0, 0, 64, 2),
            write(&named, 0, 0, 5_000, 3),
        ];
        pair.post_sends(0, &other, &asked);
        other.posted += 3;
        pair.settle(40_000 * CLOCK_NS);
        let mut statuses: Vec<_> = pair
            .completions(0, &other)
            .iter()
            .map(|c| (c.wr_id, c.status))
            .collect();
        statuses.sort_by_key(|(id, _)| *id);
        assert!(pair.entries(1, &group).is_empty());
        pair.check();
        statuses
    };
    let rtl = ended(rtl(1, Profile::Free));
    assert_eq!(rtl, ended(Pair::model_with_groups()));
    assert_eq!(rtl.len(), 3);
    assert!(
        rtl.iter().all(|(_, status)| *status != Outcome::Ok),
        "{rtl:?}"
    );
}

/// Bulk writes of host 0, one after the other.
struct Writes {
    queue: Queue,
    open: bool,
    done: u64,
}

impl Writes {
    fn new(pair: &mut Pair) -> Self {
        let queue = Queue::new(12, [4, 4, 6]);
        for at in 0..2 {
            open_to_writes(pair, at, &WRITABLE);
            pair.create(at, &queue);
        }
        Self {
            queue,
            open: false,
            done: 0,
        }
    }

    fn pump(&mut self, pair: &mut Pair, dice: &mut Dice, more: bool) {
        for ended in pair.completions(0, &self.queue) {
            assert_eq!((ended.wr_id, ended.status), (self.done, Outcome::Ok));
            self.queue.consumed = self.queue.consumed.wrapping_add(1);
            pair.consume(0, &self.queue);
            (self.open, self.done) = (false, self.done + 1);
        }
        if more && !self.open {
            let asked = write(&self.queue, 0, 0, dice.below(6_000), self.done);
            pair.post_sends(0, &self.queue, &[asked]);
            self.queue.posted = self.queue.posted.wrapping_add(1);
            self.open = true;
        }
    }
}

/// Frames both ways beside datagrams both ways and bulk writes, while hosts and MACs stall like this: each once, in order, whole.
fn beside(seed: u64, host: Profile, line: Profile) -> u64 {
    let place = format!("seed {seed}, host {host}, MAC {line}");
    println!("{place}");
    let mut dice = Dice::new(seed);
    let mut pair = rtl(seed, host);
    let mut traffic = Traffic::new();
    let mut streams = Vec::new();
    let queues: Vec<Queue> = (0..3).map(|qpn| Queue::new(qpn, [4, 4, 5])).collect();
    for at in 0..2 {
        traffic.start(&mut pair, at, &queues);
        streams.push(Stream::new(&mut pair, at));
        pair.rtl_card(at).0.stall_line(line);
    }
    let mut writes = Writes::new(&mut pair);
    let rounds = if long() { 5_000 } else { 250 };
    let mut idle = 0;
    while idle < 2_000 {
        let more = streams.iter().any(|stream| stream.sent < rounds);
        traffic.pump(&mut pair, &mut dice, more);
        writes.pump(&mut pair, &mut dice, more);
        for (at, stream) in streams.iter_mut().enumerate() {
            stream.pump(&mut pair, at, &mut dice, more);
        }
        pair.step();
        let [a, b] = &streams[..] else { unreachable!() };
        let done = !more && (a.received, b.received) == (b.sent, a.sent);
        let whole = done && a.signals.is_empty() && b.signals.is_empty() && !writes.open;
        idle = if whole && traffic.open_sends() == 0 {
            2_000
        } else {
            idle + u64::from(!more)
        };
    }
    let [a, b] = &streams[..] else { unreachable!() };
    assert_eq!((a.received, b.received), (b.sent, a.sent), "{place}");
    assert!(a.signals.is_empty() && b.signals.is_empty(), "{place}");
    assert_eq!(traffic.open_sends(), 0, "{place}");
    assert!(!writes.open && writes.done > 0, "{place}");
    for (at, stream) in streams.iter().enumerate() {
        let (sent, received) = (stream.sent as u32, stream.received as u32);
        assert_eq!(count(&mut pair, at, ReductionCounter::Sent), sent);
        assert_eq!(count(&mut pair, at, ReductionCounter::Received), received);
        for counter in [
            ReductionCounter::BadFrame,
            ReductionCounter::Foreign,
            ReductionCounter::NoSlot,
        ] {
            assert_eq!(count(&mut pair, at, counter), 0, "{counter:?}, {place}");
        }
        assert_eq!(pair.counter(at, Counter::BadFrame), 0, "{place}");
    }
    pair.check();
    a.received + b.received
}

#[test]
fn cl_05_frames_of_groups_pass_beside_other_traffic_whatever_hosts_do() {
    let seed = seed();
    let profiles = [
        Profile::Free,
        Profile::Independent(32),
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
        Profile::Together {
            gap: 2_000,
            length: Length::Fixed(1_000),
        },
    ];
    for (number, host) in (0..).zip(profiles) {
        beside(seed + number, host, Profile::Free);
    }
}

#[test]
fn cl_05_frames_of_groups_pass_beside_other_traffic_under_every_profile_of_the_line() {
    profiles("two cards: frames of groups", |seed| {
        beside(seed, Profile::Independent(32), Profile::of_seed(seed))
    });
}

/// A queue pair leaves its group, or the card is reset, in the middle of frames both ways: its rings are not touched any more, and
/// the next one of its number works.
#[test]
fn cl_05_a_queue_pair_leaves_its_group_in_the_middle_of_frames() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let mut pair = rtl(seed, Profile::Independent(32));
    for at in 0..2 {
        pair.open(at, MTU);
    }
    let mut came = 0;
    for turn in 0..if long() { 1_000 } else { 40 } {
        let mut streams: Vec<Stream> = (0..2).map(|at| Stream::new(&mut pair, at)).collect();
        for _ in 0..20 + dice.below(60) {
            for (at, stream) in streams.iter_mut().enumerate() {
                stream.pump(&mut pair, at, &mut dice, true);
            }
            pair.step();
        }
        came += streams.iter().map(|stream| stream.received).sum::<u64>();
        // One of them ends while the other goes on; then the other.
        let first = dice.below(2) as usize;
        if turn % 4 == 3 {
            pair.resets += 1;
            pair.write(first, &CONTROL, CONTROL_RESET.put(1));
            pair.wait(first);
            pair.unmap_rings(first, &streams[first].queue);
            pair.open(first, MTU);
        } else {
            pair.destroy(first, &streams[first].queue);
        }
        for _ in 0..30 {
            streams[1 - first].pump(&mut pair, 1 - first, &mut dice, true);
            pair.step();
        }
        pair.destroy(1 - first, &streams[1 - first].queue);
        pair.settle(QUIET);
        pair.check();
    }
    assert!(came > 500, "{came}");
}

/// The ring of work requests cannot be read any more: one completion, the state Error, and frames of the group are foreign; card and
/// model alike.
#[test]
fn cl_05_a_group_ends_with_its_send_ring() {
    let ends = |mut pair: Pair| {
        let mut dice = Dice::new(1);
        for at in 0..2 {
            pair.open(at, MTU);
            join(&mut pair, at, &queue());
        }
        let mut mine = queue();
        for round in 0..3 {
            let entry = request(&mut dice, 0, round, SIGNAL);
            pair.post_entries(0, &mine, &[entry]);
            mine.posted += 1;
        }
        pair.settle(QUIET);
        let (base, _) = mine.ring(0);
        pair.mapped(0).unmap(base);
        let entry = request(&mut dice, 0, 3, SIGNAL);
        pair.post_entries(0, &mine, &[entry]);
        pair.settle(QUIET);
        let state = pair.raw_command(0, Command::QueryQp.code(), QPN, &[]);
        let theirs = queue();
        pair.post_entries(1, &theirs, &[request(&mut dice, 1, 0, 0)]);
        pair.settle(QUIET);
        let foreign = count(&mut pair, 0, ReductionCounter::Foreign);
        let entries = take(&mut pair, 0, &mut mine);
        (
            state,
            foreign,
            entries,
            pair.counter(0, Counter::LocalError),
        )
    };
    let rtl = ends(rtl(1, Profile::Free));
    assert_eq!(rtl, ends(Pair::model_with_groups()));
    let (state, foreign, entries, errors) = rtl;
    assert_eq!(
        (state[1], foreign, errors),
        (State::Error.code().into(), 1, 1)
    );
    let Some(Entry::Work(last)) = entries.last() else {
        panic!("{entries:?}")
    };
    assert_eq!((entries.len(), last.status), (4, Outcome::LocalQueue));
}

/// Without bus mastering nothing is written and nothing fetched; with it again, all that came and was posted.
#[test]
fn cl_05_without_bus_mastering_frames_of_groups_wait() {
    let mut dice = Dice::new(1);
    let mut pair = rtl(1, Profile::Free);
    for at in 0..2 {
        pair.open(at, MTU);
        join(&mut pair, at, &queue());
    }
    let [mut here, mut there] = [queue(), queue()];
    pair.set_bus_master(1, false);
    for round in 0..10 {
        pair.post_entries(0, &here, &[request(&mut dice, 0, round, 0)]);
        here.posted += 1;
        pair.post_entries(1, &there, &[request(&mut dice, 1, round, 0)]);
        there.posted += 1;
    }
    pair.settle(QUIET);
    assert!(pair.entries(1, &there).is_empty() && pair.entries(0, &here).is_empty());
    pair.set_bus_master(1, true);
    pair.settle(QUIET);
    for (at, queue) in [&mut here, &mut there].into_iter().enumerate() {
        let rounds: Vec<u64> = take(&mut pair, at, queue)
            .into_iter()
            .map(|entry| match entry {
                Entry::Frame(frame) => frame.round,
                Entry::Work(ended) => panic!("{ended:?}"),
            })
            .collect();
        assert!(rounds.iter().copied().eq(0..10), "{at}: {rounds:?}");
    }
    pair.check();
}
