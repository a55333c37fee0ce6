//! The Verilated card against the model: the same commands, rings and doorbells, the same answers, completions, memory and counters.

use tributary_protocol::card::command::{Command, State};
use tributary_protocol::card::descriptor::{Completion, Of, ReceiveRequest, WorkRequest};
use tributary_protocol::card::regs::{
    Counter, DOORBELL_ARM, DOORBELL_COMPLETE, DOORBELL_RECEIVE, DOORBELL_SEND, DOORBELLS, ID,
    MAGIC, PAGE, bar0_bytes, doorbell,
};
use tributary_protocol::roce::Link;
use tributary_protocol::xud::wire::{self, Ack, Echo, Packet, Reply, Send};
use tributary_protocol::xud::{Nak, Outcome, Peer, Window};
use tributary_sim::card::CLOCK_NS;

use super::bench::{AREA, Dice, NODES, Pair, Queue, READS, Region, WRITES};
use super::{long, seed};

/// Queue pairs of a card that are used, of [`QPS`]; on the other card, each has one partner of the same number.
const QPNS: [u32; 8] = [0, 3, 5, 6, 9, 10, 12, 15];
const QPS: u32 = 16;
/// Fewest receive requests that the card holds; more than this in a round could be answered RNR, or not.
const BURST: u64 = 16;
/// Longer than any timeout, ns.
const QUIET: u64 = 10_500 * CLOCK_NS;
/// Bytes that a queue pair's messages go to.
const SHARE: u64 = AREA / QPS as u64;
const MTU: u32 = 512;
/// Memory that a region names and that is not there.
const HOLE: u64 = 0x55_0000_0000;

/// What a queue pair with a small completion ring is used for, so that no two requests want the last slot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Both,
    Send,
    Receive,
}

#[derive(Clone, Debug)]
struct User {
    queue: Queue,
    role: Role,
    /// Work and receive requests that have no completion yet.
    open: [u16; 2],
    epoch: u16,
}

/// The same things done to both.
struct Both {
    rtl: Pair,
    model: Pair,
    dice: Dice,
    users: [Vec<Option<User>>; 2],
    regions: [Vec<Option<Region>>; 2],
    /// Completions seen, by outcome: what the runs reach.
    seen: Vec<u64>,
}

impl Both {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut both = Self {
            rtl: Pair::rtl(seed, dice.pick(&[0, 32, 100])),
            model: Pair::model(),
            users: [(); 2].map(|()| vec![None; QPS as usize]),
            regions: [(); 2].map(|()| vec![None; 32]),
            seen: vec![0; Outcome::ALL.len()],
            dice,
        };
        both.each(|pair| pair.sent = Some(Vec::new()));
        for at in 0..2 {
            let text = both.dice.bytes(AREA as usize);
            both.each(|pair| {
                pair.mapped(at).write(READS, &text);
                pair.open(at, MTU);
            });
        }
        both
    }

    fn each(&mut self, mut act: impl FnMut(&mut Pair)) {
        act(&mut self.rtl);
        act(&mut self.model);
    }

    /// The same answer from both.
    fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        mut act: impl FnMut(&mut Pair) -> T,
    ) -> T {
        let rtl = act(&mut self.rtl);
        assert_eq!(rtl, act(&mut self.model), "{what}");
        rtl
    }

    fn command(&mut self, at: usize, code: u8, index: u32, args: &[u32]) -> [u32; 3] {
        self.same(&format!("command {code} {index} {args:x?}"), |pair| {
            pair.raw_command(at, code, index, args)
        })
    }

    fn create(&mut self, at: usize, qpn: u32) {
        let dice = &mut self.dice;
        let role = dice.pick(&[Role::Both, Role::Both, Role::Send, Role::Receive]);
        let complete = if role == Role::Both {
            6
        } else {
            dice.below(4) as u8
        };
        let logs = [4 + dice.below(2) as u8, 4 + dice.below(2) as u8, complete];
        let queue = Queue {
            domain: dice.pick(&[7, 7, 7, 8]),
            q_key: dice.pick(&[0x1234_5678, 0x1234_5678, 0x1234_5678, 0x1234_5679]),
            first_psn: dice.pick(&[0, 0xFF_FFF8, 0x12_3456]),
            ..Queue::new(qpn, logs)
        };
        self.each(|pair| pair.map_rings(at, &queue));
        let args = queue.args(qpn % 8);
        let [status, epoch, _] = self.command(at, Command::CreateQp.code(), qpn, &args);
        assert_eq!(status, 0);
        for state in [State::ReadyToReceive, State::ReadyToSend] {
            let args = [state.code().into()];
            self.command(at, Command::ModifyQp.code(), qpn, &args);
        }
        self.users[at][qpn as usize] = Some(User {
            queue,
            role,
            open: [0, 0],
            epoch: epoch as u16,
        });
    }

    fn destroy(&mut self, at: usize, qpn: u32) {
        let [status, ..] = self.command(at, Command::DestroyQp.code(), qpn, &[]);
        let user = self.users[at][qpn as usize].take();
        assert_eq!(status == 0, user.is_some());
        if let Some(user) = user {
            self.each(|pair| pair.unmap_rings(at, &user.queue));
        }
    }

    fn set_region(&mut self, at: usize, index: u32) {
        let dice = &mut self.dice;
        let (base, size) = dice.pick(&[(READS, AREA), (WRITES, AREA), (HOLE, 0x2000)]);
        let whole = dice.chance(60);
        let from = if whole { 0 } else { dice.below(size) };
        let length = if whole {
            size
        } else {
            1 + dice.below(size - from)
        };
        let region = Region {
            index,
            variant: dice.word() as u8,
            // The model's host knows no memory that may not be written but by the region.
            local_write: base != READS && dice.chance(80),
            domain: dice.pick(&[7, 7, 7, 8]),
            base: base + from,
            length,
        };
        let [status, ..] = self.command(at, Command::SetRegion.code(), index, &region.args());
        self.regions[at][index as usize] = (status == 0).then_some(region);
    }

    /// A few commands, good and bad. Nothing is under way.
    fn commands(&mut self) {
        for _ in 0..2 + self.dice.below(4) {
            let at = self.dice.below(2) as usize;
            let qpn = self.dice.pick(&QPNS);
            let there = self.users[at][qpn as usize].is_some();
            match self.dice.below(12) {
                0 if there => self.destroy(at, qpn),
                1 => {
                    let [status, epoch, _] = self.command(at, Command::NextEpoch.code(), qpn, &[]);
                    if let (0, Some(user)) = (status, &mut self.users[at][qpn as usize]) {
                        user.epoch = epoch as u16;
                    }
                }
                2 => {
                    let index = self.dice.below(34) as u32;
                    self.command(at, Command::ClearRegion.code(), index, &[]);
                    if let Some(place) = self.regions[at].get_mut(index as usize) {
                        *place = None;
                    }
                }
                3..6 => {
                    let index = self.dice.below(32) as u32;
                    self.set_region(at, index);
                }
                6 => {
                    let code = self.dice.pick(&[0, 8, 200]);
                    self.command(at, code, qpn, &[]);
                }
                7 => {
                    // One argument is wrong; the queue pair may be there too.
                    let mut args = Queue::new(qpn, [4, 4, 6]).args(0);
                    let (word, value) =
                        self.dice
                            .pick(&[(2, 0x1_0000), (3, 1 << 24), (4, 32), (6, 8), (8, 63)]);
                    args[word] = value;
                    self.command(at, Command::CreateQp.code(), qpn, &args);
                }
                8 => {
                    let index = self.dice.pick(&[16, 255, 0xFF_FFFF]);
                    let code = 1 + self.dice.below(7) as u8;
                    let args = Queue::new(3, [4, 4, 6]).args(0);
                    self.command(at, code, index, &args);
                }
                9 => {
                    let state = self.dice.pick(&[0, 1, 2, 3, 5, 0x102]);
                    self.command(at, Command::ModifyQp.code(), qpn, &[state]);
                }
                10 => {
                    // No length, and past the end of the address space.
                    let index = self.dice.below(34) as u32;
                    let length = self.dice.pick(&[0, 17]);
                    let high = self.dice.pick(&[0, u32::MAX]);
                    let args = [0, 7, u32::MAX - 15, high, length, 0];
                    let [status, ..] = self.command(at, Command::SetRegion.code(), index, &args);
                    if status == 0 {
                        self.command(at, Command::ClearRegion.code(), index, &[]);
                        self.regions[at][index as usize] = None;
                    }
                }
                _ if !there => self.create(at, qpn),
                _ => {}
            }
            self.command(at, Command::QueryQp.code(), qpn, &[]);
        }
    }

    /// A key and an address for so many bytes from a base on; sometimes not what they should be.
    fn place(&mut self, at: usize, user: &User, base: u64, size: u64, bytes: u64) -> (u32, u64) {
        let dice = &mut self.dice;
        let inside = |region: &&Region| {
            region.base <= base
                && base + size <= region.base + region.length
                && region.domain == user.queue.domain
        };
        let all: Vec<Region> = self.regions[at].iter().flatten().copied().collect();
        let fits: Vec<Region> = all.iter().filter(inside).copied().collect();
        let mut address = base + dice.below(size - bytes + 1);
        let region = if dice.chance(90) && !fits.is_empty() {
            dice.pick(&fits)
        } else if !all.is_empty() {
            // At an end of some region, or beyond; where a message goes, still where that of no other queue pair does, and
            // never to be sent from there.
            let region = dice.pick(&all);
            let end = region.base + region.length;
            let edge = dice.pick(&[region.base, end - bytes.min(region.length)]);
            let edge = edge.wrapping_add(dice.pick(&[0, 0, 1, u64::MAX]));
            let writes = WRITES - 1..WRITES + AREA + 1;
            let own = (base..base + size).contains(&edge) && edge + bytes <= base + size;
            if own || base == READS && !writes.contains(&edge) {
                address = edge;
            }
            region
        } else {
            return (dice.word() as u32, address);
        };
        let key = region.key();
        let wrong = [key ^ 1, key ^ 0x100, key | 0x8000_0000, key ^ 0x2000];
        match dice.chance(4) {
            true => (dice.pick(&wrong), address),
            false => (key, address),
        }
    }

    fn receive(&mut self, at: usize, user: &User) -> ReceiveRequest {
        let length = self.dice.pick(&[0, 64, 256, 512, 512, 512, 600]);
        let base = WRITES + SHARE * u64::from(user.queue.qpn);
        let (lkey, address) = self.place(at, user, base, SHARE, length);
        ReceiveRequest {
            wr_id: self.dice.word(),
            address,
            lkey,
            length: length as u32,
        }
    }

    fn work(&mut self, at: usize, user: &User) -> WorkRequest {
        let head_len = self.dice.pick(&[0, 0, 1, 7, 8, 15, 16]);
        let length = self.dice.pick(&[0, 1, 8, 63, 64, 65, 200, 255, 256, 496]);
        let (lkey, address) = self.place(at, user, READS, AREA, length);
        let dice = &mut self.dice;
        let (node, qpn) = (NODES[1 - at], user.queue.qpn);
        let epoch = self.users[1 - at][qpn as usize]
            .as_ref()
            .map_or(0, |peer| peer.epoch);
        let mut head = [0; 16];
        head.copy_from_slice(&dice.bytes(16));
        let mut work = WorkRequest {
            opcode: 1,
            flags: 0,
            head_len,
            length: length as u32,
            wr_id: dice.word(),
            address,
            lkey,
            version_flags: dice.pick(&[0x10, 0x10, 0x10, 0x11, 0x12, 0x14, 0x17]),
            to: Peer { node, qpn },
            window: Window {
                id: dice.word() as u16,
                epoch: dice.pick(&[epoch, epoch, epoch, epoch.wrapping_sub(1)]),
                msn: dice.word() as u32,
            },
            head,
        };
        if dice.chance(15) {
            work.version_flags = 0;
            work.window.epoch = 0;
        }
        match dice.below(60) {
            0 => work.opcode = dice.pick(&[0, 2, 255]),
            1 => work.head_len = 17,
            2 => work.length = dice.pick(&[MTU - 15, MTU + 1, 4097, 0x8000_0000, u32::MAX]),
            3 => work.to.qpn = dice.pick(&[1 << 24, u32::MAX]),
            4 => work.version_flags = dice.pick(&[0x01, 0x18, 0x20, 0xF0]),
            5 => work.to.node = dice.word() as u32 >> 12,
            6 | 7 => {
                let any = dice.word() as u32 >> 8 | 0x10_0000;
                work.to.qpn = dice.pick(&[14, 16, 0xFF_FFFF, any]);
            }
            8 => work.window.epoch = dice.word() as u16,
            _ => {}
        }
        work
    }

    fn doorbells(&mut self) {
        for at in 0..2 {
            for qpn in QPNS {
                if !self.dice.chance(15) {
                    continue;
                }
                let Some(user) = self.users[at][qpn as usize].clone() else {
                    continue;
                };
                let more = |dice: &mut Dice, from: u16, log: u8| {
                    let more = (1 << log) + 1 + dice.below(30_000) as u16;
                    from.wrapping_add(more)
                };
                let queue = &user.queue;
                let dice = &mut self.dice;
                let (register, index) = match dice.below(3) {
                    0 => (&DOORBELL_SEND, more(dice, queue.posted, queue.logs[0])),
                    1 => (&DOORBELL_RECEIVE, more(dice, queue.receives, queue.logs[1])),
                    _ => (
                        &DOORBELL_COMPLETE,
                        more(dice, queue.consumed, queue.logs[2]),
                    ),
                };
                self.each(|pair| pair.write_at(at, doorbell(qpn, register), index.into()));
            }
            // Queue pairs that are not there, and doorbells that no queue pair has.
            let qpn = self.dice.pick(&[1, 7, 14]);
            let offset = DOORBELLS + PAGE * qpn + self.dice.pick(&[0, 8, 16, 24, 4, 32, 0xFFC]);
            let value = self.dice.word() as u32;
            self.each(|pair| pair.write_at(at, offset, value));
        }
    }

    fn packets(&mut self, at: usize) {
        for _ in 0..self.dice.below(6) {
            let frame = self.packet(at);
            self.each(|pair| pair.hosts[at].inbox.push_back(frame.clone()));
        }
    }

    /// A packet that nothing on the link has sent, to a card on which nothing is in flight.
    fn packet(&mut self, at: usize) -> Vec<u8> {
        let dice = &mut self.dice;
        let known: Vec<User> = self.users[at].iter().flatten().cloned().collect();
        // Of no queue pair: of this card, and of none.
        let mut queue = Queue::new(dice.pick(&[13, 16, 0xFF_FFFF]), [0, 0, 0]);
        let mut epoch = 0;
        if !known.is_empty() && dice.chance(80) {
            let user = dice.pick(&known);
            (queue, epoch) = (user.queue, user.epoch);
        }
        let window = Window {
            id: dice.word() as u16,
            epoch: epoch.wrapping_add(dice.pick(&[1, 2, 0x8000])),
            msn: dice.word() as u32,
        };
        let length = dice.pick(&[0, 1, 7, 8, 64, 513, 600, 1100, 4096]);
        // A known epoch only with a payload above the MTU, so that no receive request is taken.
        let stale = length <= MTU as usize;
        let mut send = Send {
            dest_qp: queue.qpn,
            psn: dice.word() as u32 & 0xFF_FFFF,
            q_key: queue.q_key,
            src_qp: dice.word() as u32 >> 8,
            version: 1,
            flags: 0,
            window: Window {
                epoch: if stale { window.epoch } else { epoch },
                ..window
            },
            payload: dice.bytes(length),
            marked: false,
        };
        let packet = match dice.below(6) {
            0 => {
                send.q_key ^= 1 << dice.below(32);
                Packet::Send(send)
            }
            1 => {
                let opcode = dice.pick(&[0xD2, 0xD7, 0xDF]);
                send.payload.clear();
                Packet::Unknown { opcode, send }
            }
            2 => {
                let opcode = dice.pick(&[0x64, 0x04, 0xCF, 0xE0]);
                Packet::Unknown { opcode, send }
            }
            3 => Packet::Ack(Ack {
                dest_qp: queue.qpn,
                psn: dice.word() as u32 & 0xFF_FFFF,
                reply: dice.pick(&[Reply::Ok, Reply::Rnr, Reply::Nak(Nak::Access)]),
                echo: dice.chance(60).then_some(Echo {
                    window,
                    flags: 0,
                    qpn: 3,
                }),
                marked: false,
            }),
            _ => Packet::Send(send),
        };
        let stranger = dice.word() as u32 >> 12;
        let link = Link::between(dice.pick(&[NODES[1 - at], stranger]), NODES[at]);
        let mut frame = wire::encode_frame(&link, &packet).unwrap();
        match dice.below(8) {
            0 => {
                let bit = dice.below(8 * frame.len() as u64);
                frame[bit as usize / 8] ^= 1 << (bit % 8);
            }
            1 => frame.truncate(1 + dice.below(frame.len() as u64) as usize),
            2 => frame.extend([0; 5]),
            _ => {}
        }
        frame
    }

    fn round(&mut self) {
        self.commands();
        self.doorbells();
        let mut receiving = Vec::new();
        let mut sending = Vec::new();
        for at in 0..2 {
            for qpn in QPNS.map(|qpn| qpn as usize) {
                let Some(user) = self.users[at][qpn].clone() else {
                    continue;
                };
                if user.role != Role::Send {
                    let room = (1 << user.queue.logs[1]) - user.open[1];
                    let count = self.dice.below(BURST + 1).min(room.into());
                    let requests: Vec<_> = (0..count).map(|_| self.receive(at, &user)).collect();
                    receiving.push((at, qpn, requests));
                }
                if user.role != Role::Receive {
                    let room = (1 << user.queue.logs[0]) - user.open[0];
                    let count = self.dice.below(BURST + 1).min(room.into());
                    let work: Vec<_> = (0..count).map(|_| self.work(at, &user)).collect();
                    sending.push((at, qpn, work));
                }
            }
        }
        // First all that a message needs, then the messages: who comes first is not left to time.
        for (at, qpn, requests) in receiving {
            let user = self.users[at][qpn].clone().unwrap();
            self.each(|pair| {
                pair.consume(at, &user.queue);
                pair.post_receives(at, &user.queue, &requests);
            });
            let user = self.users[at][qpn].as_mut().unwrap();
            let count = requests.len() as u16;
            user.queue.receives = user.queue.receives.wrapping_add(count);
            user.open[1] += count;
        }
        self.each(|pair| pair.settle(1_000 * CLOCK_NS));
        self.packets(0);
        self.packets(1);
        self.each(|pair| pair.settle(1_000 * CLOCK_NS));
        for (at, qpn, work) in sending {
            let user = self.users[at][qpn].clone().unwrap();
            let arm = self.dice.chance(30);
            self.each(|pair| {
                pair.consume(at, &user.queue);
                pair.post_sends(at, &user.queue, &work);
                if arm {
                    let offset = doorbell(user.queue.qpn, &DOORBELL_ARM);
                    pair.write_at(at, offset, user.queue.consumed.into());
                }
            });
            let user = self.users[at][qpn].as_mut().unwrap();
            let count = work.len() as u16;
            user.queue.posted = user.queue.posted.wrapping_add(count);
            user.open[0] += count;
        }
        self.silence();
        self.each(|pair| pair.settle(QUIET));
        self.compare();
    }

    /// While messages are under way the host takes bus mastering away for a while, well within the timeouts.
    fn silence(&mut self) {
        for _ in 0..self.dice.below(4) {
            let at = self.dice.below(2) as usize;
            let times = [0, 1].map(|_| self.dice.below(8) * 100 * CLOCK_NS);
            self.each(|pair| {
                pair.run(times[0]);
                pair.set_bus_master(at, false);
                pair.run(times[1]);
                pair.set_bus_master(at, true);
            });
        }
    }

    fn compare(&mut self) {
        self.same("frames", Pair::sorted_frames);
        for at in 0..2 {
            for qpn in QPNS.map(|qpn| qpn as usize) {
                let Some(user) = self.users[at][qpn].clone() else {
                    continue;
                };
                let what = format!("node {at}, {user:?}");
                let new = self.same(&what, |pair| order(pair.completions(at, &user.queue)));
                let user = self.users[at][qpn].as_mut().unwrap();
                let count = new.len() as u16;
                user.queue.consumed = user.queue.consumed.wrapping_add(count);
                for completion in new {
                    let kind = usize::from(completion.of == Of::Receive);
                    user.open[kind] = user.open[kind].checked_sub(1).expect("one completion each");
                    self.seen[usize::from(completion.status.code())] += 1;
                }
            }
            self.same(&format!("memory of node {at}"), |pair| {
                pair.mapped(at).bytes(WRITES, AREA as usize)
            });
            self.same(&format!("interrupts of node {at}"), |pair| {
                let mut vectors = std::mem::take(&mut pair.hosts[at].memory.interrupts);
                vectors.sort_unstable();
                vectors
            });
            for counter in Counter::ALL {
                let elsewhere = [
                    Counter::StallPlace,
                    Counter::StallCredit,
                    Counter::WaitRead,
                    Counter::WaitLine,
                    Counter::WaitWrite,
                ];
                if !elsewhere.contains(counter) {
                    let what = format!("{counter:?} of node {at}");
                    self.same(&what, |pair| pair.counter(at, *counter));
                }
            }
        }
        self.each(|pair| {
            for at in 0..2 {
                let denied = pair.mapped(at).take_denied();
                let hole = HOLE..HOLE + 0x2000;
                let stray = denied.iter().find(|denied| !hole.contains(&denied.iova));
                assert_eq!(stray, None);
            }
            pair.check();
        });
    }
}

/// Receptions of a queue pair in their order, then work requests by number: their acknowledgements come in any order. Numbers of
/// completions are given in the order of time.
fn order(completions: Vec<Completion>) -> Vec<Completion> {
    let mut completions: Vec<Completion> = completions
        .into_iter()
        .map(|completion| Completion {
            number: 0,
            ..completion
        })
        .collect();
    completions.sort_by_key(|completion| match completion.of {
        Of::Receive | Of::Notify | Of::Reduction => (0, 0),
        Of::Send => (1, completion.request),
    });
    completions
}

#[test]
fn xud_02_06_14_commands_rings_and_packets_have_the_same_effect_on_card_and_model() {
    let (runs, rounds) = if long() { (50, 60) } else { (3, 14) };
    let mut seen = vec![0; Outcome::ALL.len()];
    for seed in seed()..seed() + runs {
        println!("run with seed {seed}");
        let mut both = Both::new(seed);
        for at in 0..2 {
            (0..8).for_each(|index| both.set_region(at, index));
            QPNS.into_iter().for_each(|qpn| both.create(at, qpn));
        }
        for round in 0..rounds {
            println!("round {round}");
            both.round();
        }
        for (sum, count) in seen.iter_mut().zip(&both.seen) {
            *sum += count;
        }
    }
    let all = Outcome::ALL.iter().zip(&seen);
    let reached: Vec<_> = all.filter(|(_, count)| **count > 0).collect();
    println!("{reached:?}");
    for outcome in [
        Outcome::Ok,
        Outcome::Timeout,
        Outcome::RemoteRnr,
        Outcome::RemoteLength,
        Outcome::RemoteAccess,
        Outcome::BadQp,
        Outcome::EpochMismatch,
        Outcome::LocalLength,
        Outcome::LocalAddress,
        Outcome::LocalProtection,
        Outcome::LocalOpcode,
        Outcome::LocalDma,
    ] {
        assert!(seen[usize::from(outcome.code())] > 0, "no {outcome:?}");
    }
}

#[test]
fn only_the_bits_of_an_address_within_bar0_as_built_count() {
    // 128 KiB for 16 queue pairs, at any multiple of that.
    let bytes = u64::from(bar0_bytes(4));
    assert_eq!(bytes, 0x2_0000);
    let mut pair = Pair::rtl(seed(), 0);
    pair.open(0, MTU);
    let mut count = 0;
    for base in [0, 1, 3, 127, 129, 0x7_FFFF, 0x1234_5678].map(|place| place * bytes) {
        let (card, memory) = pair.rtl_card(0);
        let ticket = card.root().bar_read(base + u64::from(ID.offset), 4);
        // No such queue pair yet.
        for qpn in [0, 5, 15] {
            let offset = u64::from(doorbell(qpn, &DOORBELL_SEND));
            card.root().bar_write(base + offset, &[1, 0, 0, 0]);
            count += 1;
        }
        (0..200).for_each(|_| card.clock(Some(&mut *memory)));
        let answer = card.root().answer(ticket).unwrap();
        assert_eq!(answer.bytes, MAGIC.to_le_bytes(), "{base:#x}");
    }
    assert_eq!(pair.counter(0, Counter::BadDoorbell), count);
    assert_eq!(pair.counter(0, Counter::BadWrite), 0);
    let mut model = Pair::model();
    for at in [0, 7, 0x7FFF].map(|place| place * bytes as u32) {
        assert_eq!(model.read_at(0, at + u32::from(ID.offset)), MAGIC);
    }
    pair.check();
}
