//! Sender model and RTL in lock step, operation by operation.
//!
//! The model does what `mon_act` says when it says it, at the time that it says. Everything that leaves the RTL must then be
//! what left the model, in its order; what a transfer wants must be what the model says; and who sends must be whom
//! `Turns` chooses from what the transfers want.

use crate::pace::Paces;
use crate::window::Window;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::{BTreeMap, VecDeque};
use tributary_protocol::rw::pace::{Congestion, PaceConfig};
use tributary_protocol::rw::*;
use tributary_sim::rw::rtl_sender::{Act, Inputs, RawPacket, RtlSender};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::Verilated;

/// Clocks behind an operation after which it is seen why nothing is sent.
const SETTLED: u32 = 8;
/// Packets that the RTL keeps track of.
pub const SPAN: u32 = 512;

/// How a run behaves.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub clocks: u64,
    pub slots: u16,
    /// Packets of a window, and windows, at the receiver.
    pub w: u32,
    pub r: u32,
    /// How ports stall.
    pub stall: Profile,
    /// Clocks of a tick.
    pub tick: u64,
    /// Chances in 1,000: a message is lost, doubled; a message is forged; a clock brings a cancellation.
    pub loss: u32,
    pub double: u32,
    pub forge: u32,
    pub cancel: u32,
    /// Clocks of flight, and by how many more at most.
    pub flight: u64,
    pub spread: u64,
    /// Clocks that queues on the way add at most, as they fill and empty; nobody is told.
    pub queue: u64,
    /// Packets of a transfer at most.
    pub packets: u32,
    pub max_busy: u32,
    pub echo: bool,
    /// Chances in 8 that a transfer sends oldest first.
    pub oldest_first: u32,
    /// Clocks between two requests.
    pub gap: u32,
    /// Ticks between two changes of a pace, if transfers have one, and clocks between two words of receivers.
    pub pace: Option<(u16, u64)>,
}

/// What a run has covered.
#[derive(Debug, Default, Clone)]
pub struct Coverage {
    pub packets: u64,
    /// Highest number of a packet.
    pub highest: u32,
    /// By name of the operation.
    pub acts: BTreeMap<String, u64>,
    pub ends: BTreeMap<String, u64>,
    pub messages: BTreeMap<String, u64>,
    pub refused: [u64; 4],
    /// Times that nothing was sent for want of credit, and because there was nothing.
    pub idle: [u64; 3],
    /// Words that made a transfer slower, packets that made one faster, clocks in which one was held.
    pub paces: [u64; 3],
}

impl Coverage {
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.highest = self.highest.max(other.highest);
        for (sum, more) in self.idle.iter_mut().zip(other.idle) {
            *sum += more;
        }
        for (sum, more) in self.paces.iter_mut().zip(other.paces) {
            *sum += more;
        }
        for (sum, more) in [
            (&mut self.acts, &other.acts),
            (&mut self.ends, &other.ends),
            (&mut self.messages, &other.messages),
        ] {
            for (name, count) in more {
                *sum.entry(name.clone()).or_default() += count;
            }
        }
        for (sum, more) in self.refused.iter_mut().zip(other.refused) {
            *sum += more;
        }
    }
}

/// Numbers of first transfers (BW-9), also ones that soon wrap.
const FIRST_XIDS: [u32; 4] = [1, 0x3FFF_0001, u32::MAX - 1, 0x8000_0000];

/// The settings of both.
pub fn config(plan: &Plan) -> SenderConfig {
    let rtt = (2 * plan.flight / plan.tick) as u32 + 2;
    let allowance = (plan.spread / plan.tick) as u32 + 2;
    SenderConfig {
        slots: plan.slots,
        first_xid: FIRST_XIDS[(plan.seed % 4) as usize],
        rtt_ticks: rtt,
        allowance_ticks: allowance,
        retry_ticks: rtt + 2 * allowance + 4,
        poll_ticks: 2 * rtt + 4 * allowance,
        stall_poll_ticks: (rtt / 8).max(1),
        poll_ticks_max: 8 * (rtt + allowance),
        max_busy: plan.max_busy,
        overrun: rtt.min(160),
        span: SPAN,
        echo: plan.echo,
        pace: plan.pace.map(|(interval, _)| PaceConfig {
            interval,
            no_recovery: false,
        }),
        ..Default::default()
    }
}

/// The settings of the receiver.
pub fn receiver(plan: &Plan) -> ReceiverConfig {
    let config = config(plan);
    let turn = 40 * u32::from(plan.slots) / plan.tick as u32;
    ReceiverConfig {
        w: plan.w,
        r: plan.r,
        slot_limit: 256,
        src_limit: 1,
        allowance: config.allowance_ticks,
        allowance_ticks: config.allowance_ticks as u16,
        retry_ticks: config.retry_ticks as u16,
        tail_ticks: (config.allowance_ticks + turn) as u16 + 2,
        busy_hint: 2 * config.rtt_ticks as u16,
        ..Default::default()
    }
}

/// What the model sends, as the RTL does.
fn expected(out: &Outgoing, mtu: u8) -> RawPacket {
    let raw = RawPacket {
        kind: out.msg.kind() as u8,
        dst: out.dst,
        slot: out.slot,
        xid: out.xid,
        ..Default::default()
    };
    match &out.msg {
        Message::Data(d) => RawPacket {
            wptr: d.wptr,
            generation: d.r#gen,
            pidx: d.pidx,
            tail: d.tail,
            again: d.round == 1,
            offset: d.pidx << mtu,
            length: d.len.into(),
            ..raw
        },
        Message::Connect(c) => RawPacket {
            length: c.length,
            addr: c.addr,
            rkey: c.rkey,
            mtu: c.mtu,
            ..raw
        },
        Message::Poll(p) => RawPacket {
            wptr: p.wptr,
            generation: p.r#gen,
            seq: p.seq,
            ..raw
        },
        Message::Abort(a) => RawPacket {
            reason: a.reason as u8,
            ..raw
        },
        other => panic!("a sender sends {other}"),
    }
}

/// The message that a packet of the RTL is.
fn message(raw: &RawPacket) -> Message {
    match raw.kind {
        0 => Message::Data(Data {
            src: 0,
            wptr: raw.wptr,
            r#gen: raw.generation,
            pidx: raw.pidx,
            tail: raw.tail,
            round: raw.again.into(),
            len: raw.length as u16,
        }),
        4 => Message::Connect(Connect {
            src: 0,
            slot: raw.slot,
            xid: raw.xid,
            incarnation: 0,
            length: raw.length,
            addr: raw.addr,
            rkey: raw.rkey,
            mtu: raw.mtu,
        }),
        6 => Message::Poll(Poll {
            src: 0,
            wptr: raw.wptr,
            r#gen: raw.generation,
            slot: raw.slot,
            xid: raw.xid,
            seq: raw.seq,
        }),
        7 => Message::Abort(Abort {
            src: 0,
            slot: raw.slot,
            xid: raw.xid,
            reason: match raw.reason {
                0 => Reason::GaveUp,
                4 => Reason::Protection,
                5 => Reason::Memory,
                _ => Reason::Cancelled,
            },
        }),
        kind => panic!("packet of type {kind}"),
    }
}

/// Words of a bitmap, 64 packets each.
fn words(bitmap: &Bitmap) -> VecDeque<(u64, bool)> {
    let raw = bitmap.as_raw_slice();
    (0..raw.len())
        .map(|i| (raw[i], i + 1 == raw.len()))
        .collect()
}

/// Whether an input that is wanted is offered in this clock.
fn offers(stalls: &mut Stalls, port: usize, wanted: bool, last: bool) -> bool {
    stalls.observe(port, wanted, last);
    wanted && stalls.ready(port)
}

/// What queues add now: half a clock more in each, until they are full, then as fast less.
fn queued(plan: &Plan, clock: u64) -> u64 {
    if plan.queue == 0 {
        return 0;
    }
    let phase = clock / 2 % (2 * plan.queue);
    phase.min(2 * plan.queue - phase)
}

/// A network with loss, doubles and overtaking.
struct Net<T> {
    flying: BTreeMap<(u64, u64), T>,
    count: u64,
}

impl<T: Clone> Net<T> {
    fn new() -> Self {
        Self {
            flying: BTreeMap::new(),
            count: 0,
        }
    }

    fn send(&mut self, plan: &Plan, rng: &mut SmallRng, clock: u64, packet: T) {
        if rng.random_range(0..1000) < plan.loss {
            return;
        }
        let copies = 1 + u32::from(rng.random_range(0..1000) < plan.double);
        for _ in 0..copies {
            let flight = plan.flight + queued(plan, clock);
            let arrives = clock + flight + rng.random_range(0..=plan.spread);
            self.flying.insert((arrives, self.count), packet.clone());
            self.count += 1;
        }
    }

    fn receive(&mut self, clock: u64) -> Option<T> {
        let key = *self.flying.keys().next()?;
        (key.0 <= clock).then(|| self.flying.remove(&key))?
    }
}

/// Runs a plan; an error says what differs, and when.
pub struct Bench {
    plan: Plan,
    rtl: RtlSender,
    tx: Sender,
    rx: Receiver,
    /// What receives instead of the model.
    window: Option<Window>,
    /// (slot, xid) of what the sender calls done.
    done: Vec<(u16, u32)>,
    rng: SmallRng,
    /// Of forged numbers that are far away: what else comes at random does not depend on it.
    far: SmallRng,
    /// Of what receivers say of congestion, likewise.
    words: SmallRng,
    turns: Turns,
    wants: Vec<Wants>,
    paces: Option<Paces>,
    /// Clocks since an operation ended or a packet waited for the line.
    settled: u32,
    mtu: Vec<u8>,
    packets: VecDeque<RawPacket>,
    ends: VecDeque<(u16, u32, u8)>,
    started: VecDeque<(u8, u16, u32)>,
    served: VecDeque<Message>,
    cancels: VecDeque<(u16, u32, Reason)>,
    requests: VecDeque<Request>,
    seen_packets: VecDeque<RawPacket>,
    seen_ends: VecDeque<(u16, u32, u8)>,
    seen_started: VecDeque<(u8, u16, u32)>,
    pub coverage: Coverage,
}

impl Bench {
    pub fn new(library: &Verilated, plan: Plan) -> Self {
        let config = config(&plan);
        let rx = receiver(&plan);
        let slots = usize::from(plan.slots);
        let paces = config.pace.map(|pace| Paces::new(pace, plan.slots));
        Self {
            paces,
            rtl: RtlSender::new(library, &config).unwrap(),
            tx: Sender::new(config).unwrap(),
            rx: Receiver::new(rx).unwrap(),
            window: None,
            done: Vec::new(),
            rng: SmallRng::seed_from_u64(plan.seed),
            far: SmallRng::seed_from_u64(!plan.seed),
            words: SmallRng::seed_from_u64(plan.seed.rotate_left(32)),
            turns: Turns::new(),
            wants: vec![Wants::default(); slots],
            settled: 0,
            mtu: vec![0; slots],
            packets: VecDeque::new(),
            ends: VecDeque::new(),
            started: VecDeque::new(),
            served: VecDeque::new(),
            cancels: VecDeque::new(),
            requests: VecDeque::new(),
            seen_packets: VecDeque::new(),
            seen_ends: VecDeque::new(),
            seen_started: VecDeque::new(),
            coverage: Coverage::default(),
            plan,
        }
    }

    /// A Verilated `rw_window` receives.
    pub fn with_window(mut self, window: Window) -> Self {
        self.window = Some(window);
        self
    }

    fn request(&mut self) -> Request {
        let mtu = if self.rng.random_range(0..20) == 0 {
            self.rng.random_range(0..16)
        } else {
            self.rng.random_range(8..=12)
        };
        let length = match self.rng.random_range(0..12) {
            0 => 0,
            1 => self.rng.random::<u32>() >> self.rng.random_range(0..12),
            2 => self.rng.random_range(0..5000),
            _ => self.rng.random_range(0..self.plan.packets) << mtu.min(12),
        };
        let length = length + self.rng.random_range(0..3u32).min(!length);
        let addr = match self.rng.random_range(0..12) {
            0 => (u64::MAX - u64::from(length))
                .wrapping_add(self.rng.random_range(0..4))
                .wrapping_sub(1),
            _ => self.rng.random_range(0..1 << 40),
        };
        Request {
            dst: self.rng.random_range(0..300),
            addr,
            rkey: self.rng.random(),
            length,
            mtu,
            oldest_first: self.rng.random_range(0..8) < self.plan.oldest_first,
        }
    }

    /// A message that nobody sent: fields at random, near what is under way.
    fn forged(&mut self) -> Message {
        let slot = self.rng.random_range(0..self.plan.slots + 2);
        let now = self.tx.xid(slot).unwrap_or(1);
        let xid = match self.rng.random_range(0..4) {
            0 => now.wrapping_sub(1),
            1 => self.rng.random(),
            _ => now,
        };
        let mut slot = if self.rng.random_range(0..16) == 0 {
            slot | 1 << self.rng.random_range(8..16)
        } else {
            slot
        };
        let (next, credit) = self.tx.pointers(slot).unwrap_or((9, 9));
        let near = |rng: &mut SmallRng, at: u32| {
            (at + rng.random_range(0..40)).saturating_sub(rng.random_range(0..300)) & 0x3f_ffff
        };
        let mut pidx = near(&mut self.rng, next);
        let mut credit = near(&mut self.rng, credit);
        // Far away, and like what is near in the lower bits.
        let mut far = 0;
        match self.far.random_range(0..64) {
            0 => slot ^= 1 << self.far.random_range(self.plan.slots.ilog2()..16),
            1 => pidx ^= 1 << self.far.random_range(9..22),
            2 => credit ^= 1 << self.far.random_range(9..22),
            3 => far = 1 << self.far.random_range(6..16),
            _ => {}
        }
        let any = self.rng.random_range(0..100);
        match self.rng.random_range(0..24) {
            0 => Message::Complete(Complete {
                slot,
                xid: if any < 70 { xid ^ 1 } else { xid },
                status: [Status::Ok, Status::Aborted, Status::NotReady][any % 3],
            }),
            1 => Message::Unknown(Unknown {
                slot,
                xid: if any < 70 { xid ^ 1 } else { xid },
                reason: Reason::NoTransfer,
            }),
            2..6 => Message::ConnectResp(ConnectResp {
                slot,
                xid,
                status: [
                    ConnectStatus::Ok,
                    ConnectStatus::Busy,
                    ConnectStatus::Refused,
                    ConnectStatus::Access,
                    ConnectStatus::BadQp,
                ][if any < 9 { 2 + any % 3 } else { any % 2 }],
                wptr: self.rng.random(),
                r#gen: self.rng.random_range(0..1 << 16),
                w: self.rng.random_range(1..512),
                credit,
                retry: self.rng.random(),
            }),
            6..12 => Message::RetxOne(RetxOne { slot, xid, pidx }),
            12..16 => Message::RetxRange(RetxRange {
                slot,
                xid,
                pidx,
                round: 0,
            }),
            _ => {
                let len = 64 * self.rng.random_range(1..=16);
                let mut bitmap = Bitmap::repeat(false, len);
                let density = self.rng.random_range(0..64);
                for i in 0..self.rng.random_range(0..len) {
                    bitmap.set(i, self.rng.random_range(0..64) < density);
                }
                Message::Status(StatusReport {
                    slot,
                    xid,
                    seq: self.rng.random_range(0..40) | far,
                    wbase: pidx,
                    w_tail: false,
                    credit,
                    bitmap,
                })
            }
        }
    }

    /// What a receiver may say of a transfer under way.
    fn said(&mut self) -> Option<(u16, Congestion)> {
        let slot = self.words.random_range(0..self.plan.slots);
        self.tx.xid(slot)?;
        let share = match self.words.random_range(0..16) {
            0 => self.words.random_range(1..=u16::MAX),
            1..4 => 1,
            _ => self.words.random_range(1..40),
        };
        let marked = self.words.random_range(0..4) != 0;
        Some((slot, Congestion { marked, share }))
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        let now = u64::from(act.now);
        let slot = act.slot;
        let class = [Class::Due, Class::Resend, Class::Fresh, Class::Spare][usize::from(act.class)];
        let name = match act.op {
            0 => {
                let message = self.served.pop_front().ok_or("no message to serve")?;
                let kind = format!("{:?}", message.kind());
                *self.coverage.messages.entry(kind.clone()).or_default() += 1;
                self.tx.on_message(&message, now);
                kind
            }
            1 => {
                let request = self.requests.pop_front().ok_or("no request to start")?;
                let answer = match self.tx.start(request, now) {
                    Ok((at, xid)) => {
                        if at != slot {
                            return Err(format!("started in slot {slot}, model {at}"));
                        }
                        self.mtu[usize::from(slot)] = request.mtu;
                        self.turns.started(slot.into(), request.oldest_first);
                        if let Some(paces) = &mut self.paces {
                            paces.begins(slot, act.now);
                        }
                        (0, at, xid)
                    }
                    Err(StartError::Mtu(_)) => (1, 0, 0),
                    Err(StartError::TooLong { .. }) => (2, 0, 0),
                    Err(StartError::Address { .. }) => (3, 0, 0),
                    Err(StartError::NoSlot(_)) => return Err("started without a slot".into()),
                };
                self.coverage.refused[usize::from(answer.0)] += 1;
                self.started.push_back(answer);
                format!("start {}", answer.0)
            }
            2 => {
                let (at, xid, reason) = self.cancels.pop_front().ok_or("nothing to cancel")?;
                let hit = self.tx.xid(at) == Some(xid);
                if hit {
                    self.tx.cancel_for(at, reason);
                }
                format!("cancel {hit}")
            }
            3 => {
                let sets = self.paces.as_ref().map_or(&[0][..], |paces| paces.seen());
                let picked: Vec<_> = sets.iter().map(|held| self.pick(*held)).collect();
                if !picked.contains(&Some((usize::from(slot), class))) {
                    return Err(format!(
                        "{slot} sends for {class:?}, model picks {picked:?}"
                    ));
                }
                let choice = self
                    .tx
                    .choice(slot, class)
                    .ok_or_else(|| format!("model has nothing to do for {slot} {class:?}"))?;
                let out = self.tx.perform(choice, now);
                if let Some(out) = &out {
                    self.packets
                        .push_back(expected(out, self.mtu[usize::from(slot)]));
                    if matches!(out.msg, Message::Data(_)) {
                        if let Some(paces) = &mut self.paces {
                            paces.sends(slot, act.now);
                        }
                        self.turns.sent(
                            slot.into(),
                            self.plan.slots.into(),
                            class == Class::Resend,
                            self.tx.config().fresh_every,
                        );
                    }
                }
                format!("{choice:?}")
                    .split('(')
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            }
            4 => "visit".to_owned(),
            op => return Err(format!("operation {op}")),
        };
        *self.coverage.acts.entry(name.clone()).or_default() += 1;
        if let Some(out) = self.tx.perform(Choice::Abort, now) {
            self.packets.push_back(expected(&out, 8));
        }
        while let Some(done) = self.tx.take_completion() {
            *self
                .coverage
                .ends
                .entry(format!("{:?}", done.outcome))
                .or_default() += 1;
            let outcome = match done.outcome {
                Outcome::Ok => 0,
                Outcome::Aborted => 1,
                Outcome::Refused => 2,
                Outcome::Busy => 3,
                Outcome::Unreachable => 4,
                Outcome::Unresponsive => 5,
                Outcome::Cancelled => 6,
                Outcome::Access => 7,
                Outcome::BadQp => 8,
                Outcome::NotReady => 9,
            };
            if outcome == 0 {
                self.done.push((done.slot, done.xid));
            }
            self.turns.ended(done.slot.into());
            if let Some(paces) = &mut self.paces {
                paces.ends(done.slot);
            }
            self.ends.push_back((done.slot, done.xid, outcome));
        }
        let wants = self.tx.visit(slot, now);
        let bits = u8::from(wants.due)
            | u8::from(wants.resend) << 1
            | u8::from(wants.fresh) << 2
            | u8::from(wants.spare) << 3;
        if bits != act.wants {
            return Err(format!(
                "after {name} slot {slot} wants {:04b}, model {bits:04b}: {wants:?}",
                act.wants
            ));
        }
        self.wants[usize::from(slot)] = wants;
        Ok(())
    }

    /// What transfers want, those that are held.
    fn paced(&self, held: u64) -> Vec<Wants> {
        let wants = self.wants.iter().enumerate();
        wants
            .map(|(slot, wants)| wants.paced(slot < 64 && held >> slot & 1 != 0))
            .collect()
    }

    /// Whose turn it is, when these are held.
    fn pick(&self, held: u64) -> Option<(usize, Class)> {
        self.turns
            .pick(&self.paced(held), self.tx.config().fresh_every)
    }

    /// Compares why nothing is sent.
    fn idle_for(&mut self, idle: [bool; 3]) -> Result<(), String> {
        let held = self.paces.as_ref().map_or(0, Paces::now);
        let paced = self.paced(held);
        let busy = paced.iter().any(|wants| *wants != Wants::default());
        let held = !busy && paced != self.wants;
        let starves = |slot: u16| {
            let left = |request: &Request| {
                let (next, _) = self.tx.pointers(slot).unwrap_or_default();
                next < packets(request.length, request.mtu)
            };
            self.tx.connected(slot) && self.tx.request(slot).is_some_and(left)
        };
        let lacks = !busy && (0..self.plan.slots).any(starves);
        let wanted = [lacks && !held, !busy && !lacks && !held, held];
        for (count, idle) in self.coverage.idle.iter_mut().zip(wanted) {
            *count += u64::from(idle);
        }
        if idle == wanted {
            Ok(())
        } else {
            Err(format!(
                "starved, nothing to send, held {idle:?}, model {wanted:?}"
            ))
        }
    }

    /// Compares what left with what the model let leave.
    fn compare(&mut self) -> Result<(), String> {
        while let (Some(seen), Some(wanted)) = (self.seen_packets.front(), self.packets.front()) {
            if seen != wanted {
                return Err(format!("packet {seen:?}, model {wanted:?}"));
            }
            self.coverage.highest = self.coverage.highest.max(seen.pidx);
            self.seen_packets.pop_front();
            self.packets.pop_front();
            self.coverage.packets += 1;
        }
        while let (Some(seen), Some(wanted)) = (self.seen_ends.front(), self.ends.front()) {
            if seen != wanted {
                return Err(format!("end {seen:?}, model {wanted:?}"));
            }
            self.seen_ends.pop_front();
            self.ends.pop_front();
        }
        while let (Some(seen), Some(wanted)) = (self.seen_started.front(), self.started.front()) {
            let same = seen.0 == wanted.0 && (seen.0 != 0 || seen == wanted);
            if !same {
                return Err(format!("answer {seen:?}, model {wanted:?}"));
            }
            self.seen_started.pop_front();
            self.started.pop_front();
        }
        Ok(())
    }

    /// Runs the plan, and then until nothing is under way.
    pub fn run(&mut self) -> Result<(), String> {
        let mut clock = 0;
        self.clocks(&mut clock)
            .map_err(|what| format!("seed {}, clock {clock}: {what}", self.plan.seed))
    }

    fn clocks(&mut self, clock: &mut u64) -> Result<(), String> {
        let plan = self.plan;
        let mut stalls = Stalls::new(plan.stall, plan.seed, 7);
        let (mut there, mut back) = (Net::new(), Net::new());
        let mut inputs = Inputs::default();
        let mut bitmap: VecDeque<(u64, bool)> = VecDeque::new();
        let mut coming: VecDeque<Message> = VecDeque::new();
        let mut quiet = 0u32;
        let drain = plan.clocks + 2_000_000;
        loop {
            *clock += 1;
            let ending = *clock > plan.clocks;
            let now = *clock / plan.tick;
            if (*clock).is_multiple_of(plan.tick) {
                let outputs = self.rx.handle_sweep(now);
                self.reply(outputs, *clock, &mut back);
            }
            if !ending && plan.forge > 0 && self.rng.random_range(0..20_000) < plan.forge {
                let forged = self.forged();
                coming.push_back(forged);
            }
            while let Some(arrived) = back.receive(*clock) {
                coming.push_back(arrived);
            }
            while let Some(arrived) = there.receive(*clock) {
                if let Some(window) = &mut self.window {
                    window.arrives(arrived);
                    continue;
                }
                let outputs = self.rx.handle(&arrived, now);
                self.reply(outputs, *clock, &mut back);
            }
            if let Some(window) = &mut self.window {
                let answers = window
                    .clock(now as u16)
                    .map_err(|error| format!("{error:#}"))?;
                for answer in answers {
                    back.send(&plan, &mut self.rng, *clock, answer);
                }
            }
            // Inputs: what is offered stays.
            stalls.clock();
            let wanted = inputs.message.is_none()
                && bitmap.is_empty()
                && !coming.is_empty()
                && quiet < 20_000;
            if offers(&mut stalls, 3, wanted, true) {
                inputs.message = coming.pop_front();
            }
            let wanted = inputs.bitmap.is_none() && !bitmap.is_empty();
            if offers(&mut stalls, 4, wanted, bitmap.len() == 1) {
                inputs.bitmap = bitmap.front().copied();
            }
            let wanted =
                inputs.request.is_none() && !ending && self.rng.random_range(0..plan.gap) == 0;
            if offers(&mut stalls, 5, wanted, true) {
                inputs.request = Some(self.request());
            }
            let wanted = inputs.cancel.is_none()
                && !ending
                && self.rng.random_range(0..200_000) < plan.cancel;
            if offers(&mut stalls, 6, wanted, true) {
                let slot = self.rng.random_range(0..plan.slots);
                let xid = self.tx.xid(slot).unwrap_or(1);
                let wrong = self.rng.random_range(0..4) == 0;
                let reason = [Reason::Cancelled, Reason::Protection, Reason::Memory]
                    [self.rng.random_range(0..3)];
                inputs.cancel = Some((slot, xid.wrapping_add(wrong.into()), reason));
            }
            // What is too long for this run is cancelled.
            if inputs.cancel.is_none()
                && *clock > plan.clocks + 60_000
                && (*clock).is_multiple_of(512)
            {
                let slot = (*clock / 512 % u64::from(plan.slots)) as u16;
                inputs.cancel = self.tx.xid(slot).map(|xid| (slot, xid, Reason::Cancelled));
            }
            if let Some((_, words)) = plan.pace
                && inputs.said.is_none()
                && self.words.random_range(0..words) == 0
            {
                inputs.said = self.said();
            }
            inputs.now = now as u16;
            inputs.pkt_ready = stalls.ready(0);
            inputs.end_ready = stalls.ready(1);
            inputs.started_ready = stalls.ready(2);
            // A request is taken when it ends: the operation must find it.
            if let Some(request) = inputs.request
                && self.requests.is_empty()
            {
                self.requests.push_back(request);
            }
            if let Some(cancel) = inputs.cancel
                && self.cancels.is_empty()
            {
                self.cancels.push_back(cancel);
            }
            let sample = self.rtl.clock(&inputs).map_err(|error| error.to_string())?;
            for (port, valid) in sample.waits.into_iter().enumerate() {
                stalls.observe(port, valid, true);
            }
            if sample.message_taken
                && let Some(message) = inputs.message.take()
            {
                if let Message::Status(status) = &message {
                    bitmap = words(&status.bitmap);
                }
                self.served.push_back(message);
            }
            if sample.bitmap_taken {
                bitmap.pop_front();
                inputs.bitmap = None;
            }
            if sample.said_taken
                && let (Some((slot, said)), Some(paces)) = (inputs.said.take(), &mut self.paces)
            {
                paces.hears(slot, said);
            }
            if let Some(paces) = &mut self.paces
                && paces.clock(sample.pace, sample.held, now as u16)?
            {
                self.settled = 0;
            }
            self.settled += 1;
            if sample.act.is_some() || sample.waits[0] {
                self.settled = 0;
            }
            if let Some(act) = sample.act {
                self.act(act)?;
                if let Some(paces) = &mut self.paces {
                    paces.operation();
                }
            }
            if self.settled == SETTLED {
                self.idle_for(sample.idle_for)?;
            }
            if sample.request_taken {
                inputs.request = None;
            }
            if sample.cancel_taken {
                inputs.cancel = None;
            }
            if let Some(raw) = sample.packet {
                there.send(&plan, &mut self.rng, *clock, message(&raw));
                self.seen_packets.push_back(raw);
            }
            self.seen_ends.extend(sample.end);
            self.seen_started.extend(sample.started);
            self.compare()?;
            // A receiver may ask for ever for what has been given up; what waits then is left.
            quiet = if ending && self.tx.active() == 0 {
                quiet + 1
            } else {
                0
            };
            let served = inputs.message.is_none() && bitmap.is_empty();
            if quiet > 25_000 && served && inputs.request.is_none() && inputs.cancel.is_none() {
                break;
            }
            if *clock > drain {
                return Err(format!("{} transfers never end", self.tx.active()));
            }
        }
        if let Some(paces) = &self.paces {
            if !paces.is_done() {
                return Err("a deed of a pace is left".into());
            }
            self.coverage.paces = paces.counts;
        }
        self.settled()
    }

    fn settled(&mut self) -> Result<(), String> {
        let left = (
            self.packets.len() + self.seen_packets.len(),
            self.ends.len() + self.seen_ends.len(),
            self.started.len() + self.seen_started.len(),
        );
        if left != (0, 0, 0) {
            return Err(format!(
                "{left:?} packets, ends, answers without their like"
            ));
        }
        if let Some(window) = &self.window {
            for done in &self.done {
                if window.completed(*done) != 1 {
                    return Err(format!(
                        "P3, P4: {done:?} is done, but not once at rw_window"
                    ));
                }
            }
        }
        let stats = self.tx.stats().clone();
        let stale = stats.stale_requests;
        for (number, wanted) in [
            (1, stats.fresh),
            (2, stats.resent),
            (3, stats.polls),
            (4, stats.connects),
            (5, stats.aborts),
            (6, stats.ignored - stale),
            (7, stale),
        ] {
            let count = self
                .rtl
                .counter(number)
                .map_err(|error| error.to_string())?;
            if u64::from(count) != wanted {
                return Err(format!("counter {number} is {count}, model {wanted}"));
            }
        }
        Ok(())
    }

    fn reply(&mut self, outputs: Vec<Output>, clock: u64, back: &mut Net<Message>) {
        let mut outputs = VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            match output {
                Output::Send { msg, .. } => back.send(&self.plan, &mut self.rng, clock, msg),
                Output::Write(write) => {
                    outputs.extend(self.rx.handle_write_done(write.wptr, write.r#gen));
                }
                Output::Completion(_) => {}
            }
        }
    }
}
