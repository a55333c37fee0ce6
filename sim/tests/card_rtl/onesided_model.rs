//! One-sided operations (XUD-13) on Verilated cards and on the model: the same commands, work requests and frames, the same results,
//! completions, memory and counters.

use std::fmt::Debug;

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{Completion, Of, WorkRequest};
use tributary_protocol::card::regs::Counter;
use tributary_protocol::roce::Link;
use tributary_protocol::xud::onesided::{Answer, Asked, Operation, Request};
use tributary_protocol::xud::wire::{self, Ack, Echo, ONE_SIDED, Packet, Reply, Send};
use tributary_protocol::xud::{Nak, Outcome, Peer, Window};
use tributary_sim::pcie::Access;

use super::bench::{Dice, NODES, Pair, Queue, Sent};
use super::onesided::{
    LOCAL_WRITE, MTU, QUIET, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, SHARED, SHARED_LEN, TIMEOUT,
    one_sided, share,
};
use super::{long, seed};

/// Queue pairs of a card; each has a partner of the same number.
const QPS: u32 = 4;
/// Windows that a queue pair has on the other card; each is used by one request at a time.
const EACH: u32 = 4;
const WINDOWS: u32 = QPS * EACH;
/// Bytes of shared memory that belong to a window, on the side of the target and, behind all these, on that of the requester.
const SHARE: u64 = 0x400;
const LOCAL: u64 = SHARED + 0x1_0000;
const LOCAL_LEN: u64 = SHARE * WINDOWS as u64;
/// A node that is not there.
const NOBODY: u32 = 0x5_0009;
const ALL: u32 = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/// What a requester knows of a window there.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    epoch: u16,
    next: u32,
}

/// A request that waits for its answer from nobody.
#[derive(Clone, Copy)]
struct Lonely {
    at: usize,
    qpn: u32,
    psn: u32,
    window: Window,
    asked: Asked<'static>,
}

struct Both {
    rtl: Pair,
    model: Pair,
    dice: Dice,
    queues: [Vec<Queue>; 2],
    epochs: [Vec<u16>; 2],
    /// Windows of the other side, by requester.
    granted: [Vec<Granted>; 2],
    /// Key of all memory, of the part of each window, of local memory.
    full: [u32; 2],
    narrow: [Vec<u32>; 2],
    local: [u32; 2],
    /// What was sent last.
    frames: Vec<Sent>,
    seen: Vec<u64>,
}

impl Both {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let queue = |qpn| Queue {
            timeout: TIMEOUT,
            first_psn: 0xFF_FFF8 + qpn,
            ..Queue::new(qpn, [4, 4, 6])
        };
        let mut both = Self {
            rtl: Pair::rtl(seed, dice.pick(&[0, 32, 100])),
            model: Pair::model(),
            dice,
            queues: [(); 2].map(|()| (0..QPS).map(queue).collect()),
            epochs: [(); 2].map(|()| vec![0; QPS as usize]),
            granted: [(); 2].map(|()| vec![Granted::default(); WINDOWS as usize]),
            full: [0; 2],
            narrow: [(); 2].map(|()| vec![0; WINDOWS as usize]),
            local: [0; 2],
            frames: Vec::new(),
            seen: vec![0; Outcome::ALL.len()],
        };
        both.each(|pair| pair.sent = Some(Vec::new()));
        for at in 0..2 {
            let bytes = both.dice.bytes((SHARED_LEN + LOCAL_LEN) as usize);
            let (there, here) = bytes.split_at(SHARED_LEN as usize);
            both.each(|pair| {
                pair.open(at, MTU);
                let memory = pair.mapped(at);
                memory.map(SHARED, SHARED_LEN, Access::ReadWrite).unwrap();
                memory.map(LOCAL, LOCAL_LEN, Access::ReadWrite).unwrap();
                memory.write(SHARED, there);
                memory.write(LOCAL, here);
            });
            for qpn in 0..QPS as usize {
                let queue = both.queues[at][qpn].clone();
                both.epochs[at][qpn] = both.same("epoch", |pair| pair.create(at, &queue));
            }
            // Beyond its end, nothing is there.
            let length = 2 * SHARED_LEN;
            both.full[at] = both.same("key", |pair| share(pair, at, 1, ALL, SHARED, length));
            both.local[at] = both.same("key", |pair| {
                share(pair, at, 2, LOCAL_WRITE, LOCAL, LOCAL_LEN)
            });
        }
        both
    }

    fn each(&mut self, mut act: impl FnMut(&mut Pair)) {
        act(&mut self.rtl);
        act(&mut self.model);
    }

    fn same<T: PartialEq + Debug>(&mut self, what: &str, mut act: impl FnMut(&mut Pair) -> T) -> T {
        let rtl = act(&mut self.rtl);
        assert_eq!(rtl, act(&mut self.model), "{what}: card and model");
        rtl
    }

    fn command(&mut self, at: usize, command: Command, index: u32, args: &[u32]) -> [u32; 3] {
        self.same(&format!("{command:?} {index} {args:x?}"), |pair| {
            pair.raw_command(at, command.code(), index, args)
        })
    }

    /// Opens a window of `at` for its partner.
    fn open(&mut self, at: usize, window: u32) {
        let qpn = window / EACH;
        let epoch = self.epochs[at][qpn as usize];
        let node = NODES[1 - at];
        let args = [qpn, node, qpn, epoch.into()];
        let [status, ..] = self.command(at, Command::OpenWindow, window, &args);
        assert_eq!(status, 0);
        self.granted[1 - at][window as usize] = Granted { epoch, next: 0 };
    }

    fn commands(&mut self, first: bool) {
        for at in 0..2 {
            for window in 0..WINDOWS {
                if first || self.dice.chance(20) {
                    self.open(at, window);
                }
                if self.dice.chance(5) {
                    self.command(at, Command::CloseWindow, window, &[]);
                }
                if first || self.dice.chance(20) {
                    let rights = self.dice.pick(&[ALL, ALL, 0]) | self.dice.word() as u32 & ALL;
                    let base = SHARED + SHARE * u64::from(window) + 0x100;
                    let length = self.dice.pick(&[1, 8, 64, 0x100]);
                    let index = 8 + window;
                    let key = self.same("key", |pair| share(pair, at, index, rights, base, length));
                    self.narrow[at][window as usize] = key;
                }
            }
            let index = self.dice.pick(&[255, 256, 77, 0xFF_FFFF]);
            let args = [
                self.dice.pick(&[0, 3, 15, 16, 0x8000_0000]),
                self.dice.pick(&[0, 0xFFFF, 0x1_0000]),
                self.dice.pick(&[0, 0xFF_FFFF, 0x100_0000]),
                self.dice.pick(&[0, 0xFFFF, 0x1_0000]),
            ];
            self.command(at, Command::OpenWindow, index, &args);
            self.command(at, Command::CloseWindow, index, &[]);
        }
    }

    fn asked(&mut self) -> Asked<'static> {
        const BYTES: &[u8] = &[0; 496];
        let dice = &mut self.dice;
        let length = dice.pick(&[0, 1, 7, 8, 9, 63, 64, 65, 200, 496]);
        let value = dice.pick(&[1, u64::MAX, 1 << 31, 0x1_0000_0000]);
        match dice.below(4) {
            0 => Asked::Write(&BYTES[..length]),
            1 => Asked::Read(length.max(1) as u32),
            2 => Asked::FetchAdd(value),
            _ => Asked::CompareSwap {
                swap: dice.word(),
                compare: dice.pick(&[0, 0, value]),
            },
        }
    }

    /// Where in the memory of the other side, with which key.
    fn place(&mut self, at: usize, window: u32, asked: &Asked<'_>) -> (u64, u32) {
        let base = SHARED + SHARE * u64::from(window);
        let dice = &mut self.dice;
        let bytes = asked.bytes();
        let atomic = asked.operation().is_atomic();
        let aligned = |address: u64, dice: &mut Dice| {
            if atomic && dice.chance(90) {
                address & !7
            } else {
                address
            }
        };
        let to = 1 - at;
        match dice.below(10) {
            0..6 => {
                let address = base + dice.below(SHARE - bytes);
                (aligned(address, dice), self.full[to])
            }
            // About the ends of its own region.
            6..8 => {
                let ends = [0x100, 0x101, 0x108, 0x140, 0x200, 0x0FF];
                let address = base + dice.pick(&ends);
                let back = dice.pick(&[0, bytes.min(0xFF)]);
                let key = self.narrow[to][window as usize];
                (aligned(address - back, dice), key)
            }
            // Memory that fails, but nothing that is written there; or a key of nothing.
            _ if matches!(asked, Asked::Write(_)) || dice.chance(50) => {
                (base, dice.word() as u32 | 0x8000_0000)
            }
            _ => (SHARED + SHARED_LEN + 0x100, self.full[to]),
        }
    }

    /// A work request through this window of the other side.
    fn work(&mut self, at: usize, index: u32) -> WorkRequest {
        let asked = self.asked();
        let (address, rkey) = self.place(at, index, &asked);
        let granted = self.granted[at][index as usize];
        let dice = &mut self.dice;
        let shift = dice.pick(&[0, 0, 0, 0, 0, 0, 0, 1, 2, u32::MAX, u32::MAX, u32::MAX - 1]);
        let window = Window {
            id: index as u16,
            epoch: granted.epoch.wrapping_sub(u16::from(dice.chance(3))),
            msn: granted.next.wrapping_add(shift),
        };
        let qpn = index / EACH;
        let to = Peer {
            node: NODES[1 - at],
            qpn,
        };
        let request = Request {
            address,
            rkey,
            asked,
        };
        let local = LOCAL + SHARE * u64::from(index) + dice.below(SHARE - 500);
        let mut work = one_sided(to, window, &request, local, self.local[at]);
        let operands = asked.operands();
        let bytes = match operands {
            Some(operands) => operands.to_vec(),
            None => self.dice.bytes(asked.bytes() as usize),
        };
        self.each(|pair| pair.mapped(at).write(local, &bytes));
        let dice = &mut self.dice;
        match dice.below(40) {
            0 => work.length = dice.pick(&[0, 15, 16, 17, 496, 497, 512, 4096, u32::MAX]),
            1 => work.head_len = dice.pick(&[0, 8, 15, 17]),
            2 => work.version_flags = dice.pick(&[0x10, 0x11, 0x19, 0x1C, 0x08, 0x28]),
            3 => work.opcode = dice.pick(&[1, 2, 3, 4, 5]),
            4 => work.lkey ^= 1 << dice.below(16),
            5 => work.address = LOCAL + LOCAL_LEN,
            6 => work.to.qpn = dice.pick(&[14, 16, 1 << 24]),
            7 => work.head[dice.below(16) as usize] ^= 1 << dice.below(8),
            _ => {}
        }
        // A header that was changed writes nothing that another window's request looks at.
        if work.head != request.header() {
            work.head[8] |= 0x80;
        }
        work
    }

    fn post(&mut self, at: usize, qpn: usize, work: &[WorkRequest]) {
        let queue = self.queues[at][qpn].clone();
        self.each(|pair| {
            pair.consume(at, &queue);
            pair.post_sends(at, &queue, work);
        });
        let posted = &mut self.queues[at][qpn].posted;
        *posted = posted.wrapping_add(work.len() as u16);
    }

    /// While operations are under way the host takes bus mastering away for a while, well within the timeouts.
    fn silence(&mut self) {
        for _ in 0..self.dice.below(4) {
            let at = self.dice.below(2) as usize;
            let times = [0, 1].map(|_| self.dice.below(8) * 800);
            self.each(|pair| {
                pair.run(times[0]);
                pair.set_bus_master(at, false);
                pair.run(times[1]);
                pair.set_bus_master(at, true);
            });
        }
    }

    fn settle(&mut self) {
        self.each(|pair| pair.settle(QUIET));
    }

    /// Frames of one-sided requests come again, at most one of each window; so do their answers.
    fn again(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        let mut used = [[false; 256]; 2];
        for Sent { to, frame } in frames {
            let (Some(to), Ok((_, Packet::Send(send)))) = (to, wire::decode_frame(&frame)) else {
                continue;
            };
            let id = usize::from(send.window.id) % 256;
            if send.flags == ONE_SIDED && !used[to][id] && self.dice.chance(40) {
                used[to][id] = true;
                self.each(|pair| pair.hosts[to].inbox.push_back(frame.clone()));
            }
        }
        self.settle();
        self.compare();
    }

    /// Frames that no card has sent, one for each window.
    fn forged(&mut self) {
        for at in 0..2 {
            for index in 0..WINDOWS {
                if self.dice.chance(40) {
                    let frame = self.forge(at, index);
                    self.each(|pair| pair.hosts[at].inbox.push_back(frame.clone()));
                }
            }
        }
        self.settle();
        self.compare();
    }

    fn forge(&mut self, at: usize, index: u32) -> Vec<u8> {
        let granted = self.granted[1 - at][index as usize];
        let asked = self.asked();
        let dice = &mut self.dice;
        let request = Request {
            address: SHARED + SHARE * u64::from(index) + 8 * dice.below(16),
            rkey: self.full[at],
            asked,
        };
        let mut payload = request.encode();
        let qpn = index / EACH;
        let mut send = Send {
            dest_qp: qpn,
            psn: dice.word() as u32 & 0xFF_FFFF,
            q_key: 0x1234_5678,
            src_qp: qpn,
            version: 1,
            flags: ONE_SIDED,
            window: Window {
                id: index as u16,
                epoch: granted.epoch,
                msn: granted.next.wrapping_add(dice.pick(&[0, 0, 1, u32::MAX])),
            },
            payload: Vec::new(),
            marked: false,
        };
        match dice.below(16) {
            0 => payload[12] = dice.pick(&[0, 5, 0x80, 0x81, 0x85, 0xFF, 0x82, 0x84]),
            1 => payload[13 + dice.below(3) as usize] ^= 1 << dice.below(8),
            2 => payload.truncate(dice.below(16) as usize),
            3 => payload.truncate(16 + dice.below(16) as usize),
            4 => payload.resize(32 + dice.below(2) as usize, 7),
            5 => payload.resize(dice.pick(&[513, 600, 4096]), 7),
            6 => send.q_key ^= 1 << dice.below(32),
            7 => send.dest_qp = dice.pick(&[8, 16, 0xFF_FFFF]),
            8 => send.src_qp = qpn + 1,
            9 => send.window.id |= 0x100,
            10 => send.window.epoch = send.window.epoch.wrapping_add(1),
            11 => payload[15] ^= 1,
            _ => {}
        }
        send.payload = payload;
        let link = Link::between(NODES[1 - at], NODES[at]);
        wire::encode_frame(&link, &Packet::Send(send)).unwrap()
    }

    /// Requests to nobody, and what comes in their name.
    fn lonely(&mut self) {
        let mut all = Vec::new();
        for at in 0..2 {
            for qpn in 0..QPS {
                let asked = self.asked();
                let index = qpn * EACH;
                let to = Peer { node: NOBODY, qpn };
                let window = Window {
                    id: index as u16,
                    epoch: 5,
                    msn: self.dice.word() as u32,
                };
                let request = Request {
                    address: 64,
                    rkey: 1,
                    asked,
                };
                let local = LOCAL + SHARE * u64::from(index);
                let work = one_sided(to, window, &request, local, self.local[at]);
                let queue = &self.queues[at][qpn as usize];
                let psn = queue.first_psn.wrapping_add(queue.posted.into()) & 0xFF_FFFF;
                all.push(Lonely {
                    at,
                    qpn,
                    psn,
                    window,
                    asked,
                });
                self.post(at, qpn as usize, &[work]);
            }
        }
        self.each(|pair| (0..14).for_each(|_| pair.step()));
        for lonely in all {
            let count = 1 + self.dice.below(3);
            let mut frames: Vec<_> = (0..count).map(|_| self.echo(&lonely)).collect();
            // Acknowledgements pass answers on the card, so let them come first.
            frames.sort_by_key(|(answer, _)| *answer);
            for (_, frame) in frames {
                self.each(|pair| pair.hosts[lonely.at].inbox.push_back(frame.clone()));
            }
        }
        self.settle();
        self.compare();
    }

    /// A reply to it, and whether that is an answer.
    fn echo(&mut self, lonely: &Lonely) -> (bool, Vec<u8>) {
        let dice = &mut self.dice;
        let operation = match dice.chance(85) {
            true => lonely.asked.operation(),
            false => dice.pick(&[Operation::Read, Operation::FetchAdd]),
        };
        // Of a WRITE there is no answer.
        let operation = match operation {
            Operation::Write => Operation::Read,
            operation => operation,
        };
        let mut length = match lonely.asked {
            Asked::Read(bytes) => bytes as usize,
            _ => 0,
        };
        if dice.chance(15) {
            length = dice.pick(&[length + 1, length.saturating_sub(1), 0, 64]);
        }
        let data = dice.bytes(length);
        let mut old = [0; 8];
        old.copy_from_slice(&dice.bytes(8));
        let answer = Answer {
            operation,
            old,
            data: &data,
        };
        let mut window = lonely.window;
        let mut src_qp = lonely.qpn;
        let mut from = NOBODY;
        let mut psn = lonely.psn;
        match dice.below(14) {
            0 => window.id ^= 1,
            1 => window.epoch ^= 1,
            2 => window.msn ^= 0x8000_0000,
            3 => src_qp += 1,
            4 => from = NODES[1 - lonely.at],
            5 => psn ^= 0x40,
            _ => {}
        }
        let packet = if dice.chance(25) {
            let reply = dice.pick(&[
                Reply::Ok,
                Reply::Ok,
                Reply::Rnr,
                Reply::Nak(Nak::Number),
                Reply::Nak(Nak::Operation),
                Reply::Nak(Nak::Access),
            ]);
            Packet::Ack(Ack {
                dest_qp: lonely.qpn,
                psn,
                reply,
                echo: Some(Echo {
                    window,
                    flags: ONE_SIDED,
                    qpn: src_qp,
                }),
                marked: false,
            })
        } else {
            Packet::Send(Send {
                dest_qp: lonely.qpn,
                psn,
                q_key: dice.word() as u32,
                src_qp,
                version: 1,
                flags: ONE_SIDED,
                window,
                payload: answer.encode(),
                marked: false,
            })
        };
        let link = Link::between(from, NODES[lonely.at]);
        let answer = matches!(packet, Packet::Send(_));
        (answer, wire::encode_frame(&link, &packet).unwrap())
    }

    fn round(&mut self, first: bool) {
        self.commands(first);
        for at in 0..2 {
            for qpn in 0..QPS {
                let work: Vec<_> = (0..EACH)
                    .filter_map(|i| {
                        let index = qpn * EACH + i;
                        let some = self.dice.chance(80);
                        some.then(|| self.work(at, index))
                    })
                    .collect();
                self.post(at, qpn as usize, &work);
            }
        }
        self.silence();
        self.settle();
        self.compare();
        self.again();
        self.forged();
        self.lonely();
    }

    fn compare(&mut self) {
        self.frames = self.same("frames", Pair::sorted_frames);
        for at in 0..2 {
            for qpn in 0..QPS as usize {
                let queue = self.queues[at][qpn].clone();
                let new = self.same(&format!("completions of {at}, {queue:?}"), |pair| {
                    order(pair.completions(at, &queue))
                });
                let consumed = &mut self.queues[at][qpn].consumed;
                *consumed = consumed.wrapping_add(new.len() as u16);
                for completion in new {
                    self.seen[usize::from(completion.status.code())] += 1;
                    let id = usize::from(completion.window.id);
                    let Some(granted) = self.granted[at].get_mut(id) else {
                        continue;
                    };
                    let next = completion.window.msn == granted.next;
                    if next && completion.status == Outcome::Ok && completion.peer.node != NOBODY {
                        granted.next += 1;
                    }
                }
            }
            for (base, length) in [(SHARED, SHARED_LEN), (LOCAL, LOCAL_LEN)] {
                self.same(&format!("memory of node {at} from {base:x} on"), |pair| {
                    pair.mapped(at).bytes(base, length as usize)
                });
            }
            self.same(&format!("acknowledgements dropped by node {at}"), |pair| {
                pair.counter(at, Counter::BadQp) + pair.counter(at, Counter::AckUnknown)
            });
            for counter in Counter::ALL {
                let elsewhere = [
                    Counter::BadQp,
                    Counter::AckUnknown,
                    Counter::StallPlace,
                    Counter::StallCredit,
                    Counter::WaitRead,
                    Counter::WaitLine,
                    Counter::WaitWrite,
                    Counter::Interrupts,
                ];
                if !elsewhere.contains(counter) {
                    let what = format!("{counter:?} of node {at}");
                    self.same(&what, |pair| pair.counter(at, *counter));
                }
            }
        }
        self.each(|pair| {
            for at in 0..2 {
                let hole = SHARED + SHARED_LEN..SHARED + 2 * SHARED_LEN;
                let denied = pair.mapped(at).take_denied();
                let stray = denied.iter().find(|denied| !hole.contains(&denied.iova));
                assert_eq!(stray, None);
            }
            pair.check();
        });
    }
}

/// Work requests by number: their ends come in any order.
fn order(completions: Vec<Completion>) -> Vec<Completion> {
    let mut completions: Vec<_> = completions
        .into_iter()
        .map(|completion| Completion {
            number: 0,
            ..completion
        })
        .collect();
    assert!(completions.iter().all(|one| one.of == Of::Send));
    completions.sort_by_key(|completion| completion.request);
    completions
}

#[test]
fn xud_13_one_sided_operations_have_the_same_effect_on_card_and_model() {
    let (runs, rounds) = if long() { (40, 40) } else { (3, 8) };
    let mut seen = vec![0; Outcome::ALL.len()];
    let mut counts = [0; 5];
    for seed in seed()..seed() + runs {
        println!("run with seed {seed}");
        let mut both = Both::new(seed);
        for round in 0..rounds {
            println!("round {round}");
            both.round(round == 0);
        }
        for (sum, count) in seen.iter_mut().zip(&both.seen) {
            *sum += count;
        }
        let counters = [
            Counter::OneSided,
            Counter::OneSidedDuplicate,
            Counter::OneSidedAhead,
            Counter::OneSidedRefused,
            Counter::OneSidedFailed,
        ];
        for (sum, counter) in counts.iter_mut().zip(counters) {
            *sum += both.rtl.counter(0, counter) + both.rtl.counter(1, counter);
        }
    }
    let all = Outcome::ALL.iter().zip(&seen);
    let reached: Vec<_> = all.filter(|(_, count)| **count > 0).collect();
    println!("{reached:?}, {counts:?}");
    assert!(counts.iter().all(|count| *count > 10));
    for outcome in [
        Outcome::Ok,
        Outcome::Timeout,
        Outcome::RemoteRnr,
        Outcome::RemoteLength,
        Outcome::RemoteAccess,
        Outcome::RemoteOpcode,
        Outcome::RemoteProtocol,
        Outcome::RemoteOperation,
        Outcome::BadQp,
        Outcome::EpochMismatch,
        Outcome::LocalLength,
        Outcome::LocalAddress,
        Outcome::LocalProtection,
        Outcome::LocalOpcode,
    ] {
        assert!(seen[usize::from(outcome.code())] > 0, "no {outcome:?}");
    }
}
