//! Model and RTL in lock step.
//!
//! The model is told what the RTL does at the clocks at which the RTL's tables say it: a DATA
//! record taken at clock t is judged by wbase as it is at t and is in the tables from clock t+6 on;
//! a slide is the RTL's to make (`mon_slide`), legal if all that it passes has arrived; the control
//! engine samples the row of a window six clocks before it decides (`mon_act`) and a bitmap word
//! two clocks before it uses it (`mon_view`).

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::collections::{BTreeMap, VecDeque};
use tributary_protocol::rw::*;
use tributary_sim::rw::rtl::{Inputs, RawCompletion, RawMessage, RtlWindow};
use tributary_sim::testbench::{Profile, Stalls};
use tributary_sim::verilate::Verilated;

/// What a run has covered.
#[derive(Debug, Default, Clone)]
pub struct Coverage {
    pub clocks: u64,
    pub taken: u64,
    pub reasons: [u64; 16],
    pub acts: [u64; 7],
    /// CONNECTs by how they were decided.
    pub connects: [u64; 6],
    /// Complete transfers that kept their window; windows that were revoked, and that were none any more.
    pub kept: u64,
    pub revoked: [u64; 2],
    pub messages: [u64; 8],
    pub completions: [u64; 3],
    pub retx_one: u64,
    /// Second copies, of messages and of bitmaps.
    pub second: [u64; 2],
    pub boundary: BTreeMap<&'static str, u64>,
    pub slides: BTreeMap<u32, u64>,
    /// DATA taken in the clock after DATA for the same window.
    pub back_to_back: u64,
    /// Sweeps of a window in the very clock in which DATA for it enters the tables.
    pub sweeps_with_data: u64,
    /// Ranges asked for while transfers came and went, and sweeps of silent windows while DATA for others came.
    pub ranges: u64,
    pub silent: u64,
    /// CONNECT_RESP with incarnation 0.
    pub wrapped: u64,
}

impl Coverage {
    /// Adds what another run has covered.
    pub fn merge(&mut self, other: &Self) {
        self.clocks += other.clocks;
        self.taken += other.taken;
        self.retx_one += other.retx_one;
        self.back_to_back += other.back_to_back;
        self.sweeps_with_data += other.sweeps_with_data;
        self.ranges += other.ranges;
        self.silent += other.silent;
        self.wrapped += other.wrapped;
        self.kept += other.kept;
        let pairs = (self.reasons.iter_mut().zip(&other.reasons))
            .chain(self.acts.iter_mut().zip(&other.acts))
            .chain(self.messages.iter_mut().zip(&other.messages))
            .chain(self.completions.iter_mut().zip(&other.completions))
            .chain(self.connects.iter_mut().zip(&other.connects))
            .chain(self.revoked.iter_mut().zip(&other.revoked))
            .chain(self.second.iter_mut().zip(&other.second));
        for (sum, count) in pairs {
            *sum += count;
        }
        for (place, count) in &other.boundary {
            *self.boundary.entry(place).or_default() += count;
        }
        for (slide, count) in &other.slides {
            *self.slides.entry(*slide).or_default() += count;
        }
    }

    /// What ought to have been covered and was not.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = vec![];
        let mut need = |what: String, count: u64| {
            if count == 0 {
                gaps.push(what);
            }
        };
        for reason in 0..10 {
            need(format!("decision {reason}"), self.reasons[reason]);
        }
        for (op, count) in self.acts.iter().enumerate() {
            need(format!("operation {op}"), *count);
        }
        for kind in [1, 2, 3, 5, 6, 7] {
            need(format!("message of TYPE {kind}"), self.messages[kind]);
        }
        for (status, count) in self.completions.iter().enumerate() {
            need(format!("completion of status {status}"), *count);
        }
        for place in [
            "wbase-1",
            "wbase",
            "wbase+W-1",
            "wbase+W",
            "N-1",
            "N",
            "M-1",
        ] {
            need(
                format!("packet {place}"),
                self.boundary.get(place).copied().unwrap_or(0),
            );
        }
        for (how, count) in self.connects.iter().enumerate() {
            // All windows are taken where there are few.
            if how != 3 {
                need(format!("CONNECT decided as {how}"), *count);
            }
        }
        need(
            "a complete transfer that keeps its window".into(),
            self.kept,
        );
        need("a window that is revoked".into(), self.revoked[0]);
        need("one that is none any more".into(), self.revoked[1]);
        need("records back to back".into(), self.back_to_back);
        need(
            "sweeps in the clock of a record".into(),
            self.sweeps_with_data,
        );
        need("ranges between records".into(), self.ranges);
        gaps
    }
}

struct Pending {
    t: u64,
    d: Data,
    /// wbase of its window at t.
    seen: u32,
    outcome: Option<Result<WriteCmd, u8>>,
}

/// How a run behaves.
#[derive(Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    pub clocks: u64,
    pub w: u32,
    pub r: u32,
    /// How the outputs stall.
    pub stall: Profile,
    /// Chance in 256 that no record is offered.
    pub idle: u32,
    /// Hint of BUSY answers.
    pub busy_hint: u16,
    /// How often each message leaves.
    pub copies: u8,
    /// Reorder allowance, time before a hole is asked for again, and before the rest of a transfer is asked for.
    pub ticks: [u16; 3],
}

/// A record as it is offered.
#[derive(Clone, Debug)]
struct Offer {
    message: Message,
    error: bool,
    verdict: Verdict,
    hold: bool,
}

/// A bitmap that leaves with its STATUS.
#[derive(Default)]
struct Report {
    base: u32,
    /// What the words sampled so far say of each packet.
    packets: BTreeMap<u32, bool>,
    /// Words that have left of this copy.
    words: u32,
    /// The message of this copy has left.
    announced: bool,
}

pub struct Bench {
    rng: SmallRng,
    plan: Plan,
    model: Receiver,
    rtl: RtlWindow,
    now: u64,
    /// Value of `now` in each clock.
    ticks: Vec<u16>,
    tick: u16,
    log: VecDeque<Pending>,
    /// Clocks in which DATA came in, from the last one on that the control engine knew of.
    heard: VecDeque<u64>,
    /// wbase of each window now, and slides that the model has not been told of, each with its clock.
    bases: BTreeMap<u16, u32>,
    slides: VecDeque<(u64, u16, u32)>,
    /// Windows with a slide due, and since when.
    due: BTreeMap<u16, (u64, u32)>,
    /// A slide that must not be.
    fault: Option<String>,
    decisions: VecDeque<(u64, tributary_sim::rw::rtl::Decision)>,
    controls: VecDeque<Offer>,
    deferred: Option<(Connect, bool)>,
    /// How CONNECTs are decided, with the window that each gets.
    hows: VecDeque<(u8, Option<(u16, u32)>)>,
    /// Windows that are kept, complete ones that the engine has to name, and windows to be revoked, each with its clock.
    held: BTreeMap<u16, u32>,
    full: VecDeque<(u16, u32)>,
    revokes: VecDeque<(u64, u16, u32, Status)>,
    forgotten: u64,
    opening: bool,
    expected: VecDeque<Message>,
    expected_dst: u32,
    status: Option<Report>,
    /// The message that left last, and how often it is still to leave.
    copy: Option<RawMessage>,
    copies_left: u8,
    /// Holes that the sweep found in the row, and whether each was still one in the word sampled.
    holes: VecDeque<(u32, Vec<bool>)>,
    completions: VecDeque<RawCompletion>,
    /// Incarnation of each window whose completion record left last.
    ended: BTreeMap<u16, u32>,
    /// Stalls of decisions, messages, bitmap words and completion records.
    stalls: Stalls,
    acks: VecDeque<(u64, u16, u32)>,
    credit_due: u64,
    credit_acts: u64,
    op: u8,
    op_wptr: u16,
    last_connect: BTreeMap<(u32, u16), Connect>,
    cursor: BTreeMap<u16, u32>,
    hot: u16,
    /// A packet and the one W further on, in turn, while the window slides between the two: window,
    /// packet, records left.
    twins: Option<(u16, u32, u32)>,
    offered: Option<Offer>,
    pub coverage: Coverage,
}

fn config(plan: &Plan) -> ReceiverConfig {
    let Plan {
        w,
        r,
        busy_hint,
        copies,
        ticks: [allowance_ticks, retry_ticks, tail_ticks],
        ..
    } = *plan;
    ReceiverConfig {
        w,
        r,
        gen_bits: 16,
        src_limit: tributary_protocol::red::address::NODES,
        slot_limit: 256,
        peers: Some(1_024),
        allowance: w / 4,
        allowance_ticks,
        retry_ticks,
        tail_ticks,
        idle_ticks: 20_000,
        busy_hint,
        copies,
        late_slides: true,
        ..ReceiverConfig::default()
    }
}

/// Nodes that send, and their transfer slots: between them, ones and zeros in every bit that they have.
const SOURCES: [u32; 8] = [
    0x0_0000, 0xf_ffff, 0xa_5a5a, 0x5_5a5a, 0x0_5a5a, 0xa_5aa5, 0x5_a55a, 0x5_a5a5,
];
const SLOTS: [u16; 4] = [0x00, 0xff, 0x96, 0x69];

/// Clocks after which the slide of a window is made, or another step of it, whatever else goes on: its turn comes within 8 R
/// clocks, and the rest is for the visit and for what the model is told late.
fn slide_limit(r: u32) -> u64 {
    8 * u64::from(r) + 150
}

/// Clocks that the operations under way at the end of a run may take.
const SETTLE: u32 = 200_000;
/// Clocks before a sweep acts by which DATA must have come in to count for it.
const HEARD: u64 = 5;

type Outcome<T> = Result<T, String>;

impl Bench {
    /// Runs a plan.
    pub fn run(plan: Plan, library: &Verilated, preset_gen: u32) -> Outcome<Coverage> {
        let config = config(&plan);
        let mut model = Receiver::new(config.clone()).map_err(|e| e.to_string())?;
        for wptr in 0..plan.r {
            model.preset_gen(wptr as u16, preset_gen);
        }
        let rtl = RtlWindow::new(library, &config).map_err(|e| format!("{e:#}"))?;
        let mut bench = Self {
            rng: SmallRng::seed_from_u64(plan.seed),
            plan,
            model,
            rtl,
            now: 0,
            ticks: vec![],
            tick: 65_000,
            log: VecDeque::new(),
            heard: VecDeque::new(),
            bases: BTreeMap::new(),
            slides: VecDeque::new(),
            due: BTreeMap::new(),
            fault: None,
            decisions: VecDeque::new(),
            controls: VecDeque::new(),
            deferred: None,
            hows: VecDeque::new(),
            held: BTreeMap::new(),
            full: VecDeque::new(),
            revokes: VecDeque::new(),
            forgotten: 0,
            opening: false,
            expected: VecDeque::new(),
            expected_dst: 0,
            status: None,
            copy: None,
            copies_left: 0,
            holes: VecDeque::new(),
            completions: VecDeque::new(),
            ended: BTreeMap::new(),
            stalls: Stalls::new(plan.stall, plan.seed, 4),
            acks: VecDeque::new(),
            credit_due: 0,
            credit_acts: 0,
            op: 5,
            op_wptr: 0,
            last_connect: BTreeMap::new(),
            cursor: BTreeMap::new(),
            hot: 0,
            twins: None,
            offered: None,
            coverage: Coverage::default(),
        };
        for _ in 0..plan.clocks {
            bench
                .step(true)
                .map_err(|e| format!("seed {} clock {}: {e}", plan.seed, bench.now))?;
        }
        for _ in 0..4000 {
            bench
                .step(false)
                .map_err(|e| format!("seed {} clock {} (drain): {e}", plan.seed, bench.now))?;
        }
        // An operation that is under way at the last clock: let it end.
        for _ in 0..SETTLE {
            if bench.quiet() {
                break;
            }
            bench
                .step(false)
                .map_err(|e| format!("seed {} clock {} (end): {e}", plan.seed, bench.now))?;
        }
        bench
            .finish()
            .map_err(|e| format!("seed {} at the end: {e}", plan.seed))?;
        bench.coverage.clocks = bench.now;
        Ok(bench.coverage)
    }

    fn chance(&mut self, of_256: u32) -> bool {
        self.rng.random_range(0..256) < of_256
    }

    /// One bit of these.
    fn bit(&mut self, bits: std::ops::Range<u32>) -> u32 {
        1 << self.rng.random_range(bits)
    }

    fn source(&mut self) -> u32 {
        SOURCES[self.rng.random_range(0..SOURCES.len())]
    }

    fn slot(&mut self) -> u16 {
        SLOTS[self.rng.random_range(0..SLOTS.len())]
    }

    /// Nothing is offered for at least twice the silence behind which ranges are asked for, now and then.
    fn pauses(&self, t: u64) -> bool {
        let silence = 16 * u64::from(self.plan.ticks[2].max(50));
        t % (12 * silence) >= 10 * silence
    }

    fn step(&mut self, busy: bool) -> Outcome<()> {
        let t = self.now;
        if !self.opening && t.is_multiple_of(16) {
            self.tick = self.tick.wrapping_add(1);
        }
        self.ticks.push(self.tick);
        if self.offered.is_none() && busy && !self.chance(self.plan.idle) && !self.pauses(t) {
            let error = self.chance(2);
            let message = self.stimulus();
            let verdict = match self.rng.random_range(0..24) {
                0 => Verdict::Refuse(ConnectStatus::Access),
                1 => Verdict::Refuse(ConnectStatus::BadQp),
                2 => Verdict::Refuse(ConnectStatus::Refused),
                3 => Verdict::Silent,
                _ => Verdict::Open,
            };
            let hold = self.chance(80);
            self.offered = Some(Offer {
                message,
                error,
                verdict,
                hold,
            });
        }
        if busy && self.revokes.is_empty() && t.is_multiple_of(256) {
            self.a_revocation();
        }
        let revoke = self.revokes.front().filter(|(due, ..)| *due <= t);
        let revoke = revoke.map(|&(_, wptr, generation, status)| (wptr, generation, status));
        let ack = self.acks.iter().position(|(due, ..)| *due <= t).map(|i| {
            self.acks.swap(0, i);
            (self.acks[0].1, self.acks[0].2)
        });
        self.stalls.clock();
        let ready = |output| !busy || self.stalls.ready(output);
        let inputs = Inputs {
            message: self.offered.as_ref().map(|offer| offer.message.clone()),
            error: self.offered.as_ref().is_some_and(|offer| offer.error),
            verdict: self
                .offered
                .as_ref()
                .map_or(Verdict::Open, |offer| offer.verdict),
            hold: self.offered.as_ref().is_some_and(|offer| offer.hold),
            revoke,
            ack,
            now: self.tick,
            wr_ready: ready(0),
            msg_ready: ready(1),
            bitmap_ready: ready(2),
            cpl_ready: ready(3),
        };
        let s = self.rtl.clock(&inputs).map_err(|e| format!("{e:#}"))?;
        for (output, waits) in s.waits.into_iter().enumerate() {
            // Only bitmaps have more than one word.
            let last = output != 2 || s.bitmap.is_some_and(|(_, last)| last);
            self.stalls.observe(output, waits, last);
        }
        if let Some((wptr, base)) = s.slide {
            let before = self.bases.insert(wptr, base).unwrap_or(0);
            let quarter = self.plan.w / 4;
            self.credit_due += u64::from(before < base && before / quarter != base / quarter);
            self.slides.push_back((t, wptr, base));
        }
        if t.is_multiple_of(64) {
            self.overdue()?;
        }
        if s.taken {
            self.coverage.taken += 1;
            match self.offered.take() {
                Some(Offer { error: true, .. }) | None => {}
                Some(Offer {
                    message: Message::Data(d),
                    ..
                }) => {
                    if self
                        .log
                        .back()
                        .is_some_and(|p| p.t + 1 == t && p.d.wptr == d.wptr)
                    {
                        self.coverage.back_to_back += 1;
                    }
                    self.heard.push_back(t);
                    self.log.push_back(Pending {
                        t,
                        d,
                        seen: self.bases.get(&d.wptr).copied().unwrap_or(0),
                        outcome: None,
                    });
                }
                Some(offer) => self.controls.push_back(offer),
            }
        }
        if let Some((op, wptr, now)) = s.act {
            self.act(op, wptr, now)?;
        }
        if let (Some(m), Some((c, hold))) = (s.shown, self.deferred)
            && m.kind == 5
        {
            let next = self.model.free().next();
            if let Some(wptr) = next {
                self.flush(wptr, t, t);
                self.cursor.insert(wptr, 0);
            }
            self.deferred = None;
            let out = self.model.connect(&c, self.tick);
            self.expected.extend(out.reply);
            self.expected_dst = c.src;
            let opened = next.and_then(|wptr| Some((wptr, self.model.window(wptr)?.r#gen)));
            self.hows
                .push_back((if opened.is_some() { 1 } else { 3 }, opened));
            if let Some((wptr, generation)) = opened {
                self.held.remove(&wptr);
                if hold {
                    self.held.insert(wptr, generation);
                }
            }
        }
        if let Some(decided) = s.connected {
            let want = self.hows.pop_front();
            if want != Some(decided) {
                return Err(format!(
                    "CONNECT decided {decided:?}, the model says {want:?}"
                ));
            }
            self.coverage.connects[usize::from(decided.0)] += 1;
        }
        if let Some(full) = s.full {
            let want = self.full.pop_front();
            if want != Some(full) {
                return Err(format!("{full:?} is complete, the model says {want:?}"));
            }
            self.coverage.kept += 1;
            let status = match self.chance(128) {
                true => Status::Ok,
                false => Status::NotReady,
            };
            let wait = self.rng.random_range(0..3_000);
            self.revokes.push_back((t + wait, full.0, full.1, status));
        }
        if s.connect_lost {
            return Err("a CONNECT was lost, and the queue has room".into());
        }
        self.forgotten += u64::from(s.forgotten);
        if s.revoked {
            self.revokes.pop_front();
        }
        if let Some(first) = s.view {
            self.view(first)?;
        }
        if let Some(m) = s.message {
            self.message(m)?;
        }
        if let Some((word, last)) = s.bitmap {
            self.bitmap(word, last)?;
        }
        if let Some(c) = s.completion {
            let want = self
                .completions
                .pop_front()
                .ok_or_else(|| format!("completion {c:?} is not due"))?;
            if c != want {
                return Err(format!("completion {c:?}, the model says {want:?}"));
            }
            self.coverage.completions[usize::from(c.status)] += 1;
            let window = self.model.window(c.wptr).ok_or("no such window")?;
            self.ended.insert(c.wptr, window.r#gen);
        }
        if let Some(d) = s.decision {
            // P5: a completion record follows the last write of its transfer.
            if d.reason == 0 && self.ended.get(&d.wptr) == Some(&d.generation) {
                return Err(format!("{d:?} leaves after its completion record"));
            }
            self.decisions.push_back((t, d));
        }
        self.compare()?;
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if s.ack_taken
            && let Some((_, wptr, generation)) = self.acks.pop_front()
        {
            self.model.write_done(wptr, generation);
        }
        self.now += 1;
        Ok(())
    }

    /// Tells the model the DATA records for `wptr` taken at clock `upto` or before, and the slides up to clock `slid`.
    fn flush(&mut self, wptr: u16, upto: u64, slid: u64) {
        let log = self.log.iter().enumerate();
        let due: Vec<usize> = log
            .filter(|(_, p)| p.d.wptr == wptr && p.t <= upto && p.outcome.is_none())
            .map(|(i, _)| i)
            .collect();
        for i in due {
            self.slide(wptr, self.log[i].t);
            let p = &mut self.log[i];
            let at = (p.t as usize + 5).min(self.ticks.len() - 1);
            if let Some(t) = self.model.transfer(wptr) {
                let place = match p.d.pidx {
                    x if p.seen > 0 && x == p.seen - 1 => "wbase-1",
                    x if x == p.seen + self.plan.w - 1 => "wbase+W-1",
                    x if x == p.seen + self.plan.w => "wbase+W",
                    x if x == t.n => "N",
                    0x1F_FFFF => "M-1",
                    x if x == t.n - 1 => "N-1",
                    x if x == p.seen => "wbase",
                    _ => "other",
                };
                *self.coverage.boundary.entry(place).or_default() += 1;
            }
            let outcome = self.model.data_seeing(&p.d, self.ticks[at], p.seen);
            p.outcome = Some(outcome.map(|a| a.write).map_err(DropReason::code));
        }
        self.slide(wptr, slid);
    }

    /// Tells the model the slides of `wptr` up to clock `upto`. What becomes of a closed window does not matter.
    fn slide(&mut self, wptr: u16, upto: u64) {
        while let Some(i) = (self.slides.iter()).position(|&(at, of, _)| of == wptr && at <= upto) {
            let Some((at, _, base)) = self.slides.remove(i) else {
                return;
            };
            let Some(before) = self.model.transfer(wptr).map(|t| t.wbase) else {
                continue;
            };
            if self.model.slide(wptr, base).is_none() {
                let hole = self.model.transfer(wptr).map(Transfer::first_hole);
                self.fault = Some(format!(
                    "window {wptr} slides from {before} to {base} at {at}, the first hole is {hole:?}"
                ));
                return;
            }
            *self.coverage.slides.entry(base - before).or_default() += 1;
        }
    }

    /// Tells the model of the last DATA that had come in by clock `upto`, in whichever order it has been told of the packets.
    fn hear(&mut self, upto: u64) {
        while self.heard.get(1).is_some_and(|&next| next <= upto) {
            self.heard.pop_front();
        }
        let last = self.heard.front().filter(|&&last| last <= upto);
        self.model
            .hear(last.map_or(0, |&last| self.ticks[last as usize]));
    }

    /// No slide waits for ever.
    fn overdue(&mut self) -> Outcome<()> {
        for wptr in 0..self.plan.r as u16 {
            // No later than what the control engine may sample now.
            let now = self.now;
            self.flush(wptr, now.saturating_sub(13), now.saturating_sub(8));
            let base = self.model.transfer(wptr);
            let base = base.filter(|t| t.first_hole() > t.wbase).map(|t| t.wbase);
            match (base, self.due.get(&wptr)) {
                (None, _) => drop(self.due.remove(&wptr)),
                (Some(base), Some(&(since, then))) if base == then => {
                    if self.now - since > slide_limit(self.plan.r) {
                        return Err(format!("window {wptr} stays at {base} since {since}"));
                    }
                }
                (Some(base), _) => drop(self.due.insert(wptr, (self.now, base))),
            }
        }
        Ok(())
    }

    fn legal(&self, c: &Connect) -> bool {
        c.slot < 256
            && MTU_RANGE.contains(&c.mtu)
            && packets(c.length, c.mtu) <= 1 << 21
            && u128::from(c.addr) + u128::from(c.length) <= 1 << 64
    }

    /// The control engine decides.
    fn act(&mut self, op: u8, wptr: u16, now: u16) -> Outcome<()> {
        self.settled()?;
        let a = self.now;
        let sampled = a.saturating_sub(12);
        self.coverage.acts[usize::from(op)] += 1;
        self.op = op;
        self.op_wptr = wptr;
        self.opening = false;
        self.holes.clear();
        match op {
            0 => {
                let Some(Offer {
                    message: Message::Connect(c),
                    verdict,
                    hold,
                    ..
                }) = self.controls.pop_front()
                else {
                    return Err("a CONNECT is served that was not sent".into());
                };
                self.expected_dst = c.src;
                let peer = self.model.peer(c.src, c.slot);
                match peer {
                    Some(p)
                        if self.legal(&c)
                            && verdict == Verdict::Open
                            && transfer_newer((c.incarnation, c.xid), (p.incarnation, p.xid)) =>
                    {
                        if let PeerState::Open { wptr } = p.state {
                            self.flush(wptr, a, a);
                            let abort = Abort {
                                src: c.src,
                                slot: c.slot,
                                xid: p.xid,
                                reason: Reason::GaveUp,
                            };
                            let ended = self.model.abort(&abort);
                            self.ended(ended);
                        }
                        self.deferred = Some((c, hold));
                        self.opening = true;
                    }
                    None if self.legal(&c) && verdict == Verdict::Open => {
                        self.deferred = Some((c, hold));
                        self.opening = true;
                    }
                    _ => {
                        if let Some(Peer {
                            state: PeerState::Open { wptr },
                            ..
                        }) = peer
                        {
                            self.flush(wptr, sampled, a.saturating_sub(6));
                        }
                        let how = match (self.model.knows(&c), self.legal(&c)) {
                            (false, _) if verdict != Verdict::Open => 5,
                            (_, false) => 4,
                            _ if peer.is_some_and(|p| {
                                (p.incarnation, p.xid) == (c.incarnation, c.xid)
                            }) =>
                            {
                                0
                            }
                            _ => 2,
                        };
                        self.hows.push_back((how, None));
                        let out = self.model.connect_judged(&c, verdict, self.tick);
                        self.expected.extend(out.reply);
                    }
                }
            }
            1 => {
                let Some(Offer {
                    message: Message::Poll(p),
                    ..
                }) = self.controls.pop_front()
                else {
                    return Err("a POLL is served that was not sent".into());
                };
                self.flush(p.wptr, sampled, a.saturating_sub(6));
                self.expected_dst = p.src;
                let answer = self.model.poll(&p);
                self.answer(answer);
            }
            2 => {
                let Some(Offer {
                    message: Message::Abort(ab),
                    ..
                }) = self.controls.pop_front()
                else {
                    return Err("an ABORT is served that was not sent".into());
                };
                if let Some(Peer {
                    xid,
                    state: PeerState::Open { wptr },
                    ..
                }) = self.model.peer(ab.src, ab.slot)
                    && xid == ab.xid
                {
                    self.flush(wptr, a, a);
                }
                let ended = self.model.abort(&ab);
                self.ended(ended);
            }
            3 => {
                self.flush(wptr, a, a);
                let due = self
                    .model
                    .transfer(wptr)
                    .is_some_and(|t| t.acked == t.n && t.first_hole() == t.n && t.w_tail);
                let generation = self.model.window(wptr).map_or(0, |window| window.r#gen);
                if due && self.held.get(&wptr) == Some(&generation) {
                    self.full.push_back((wptr, generation));
                } else if due && let Some(out) = self.model.finish(wptr) {
                    self.expected_dst = out.completion.src;
                    self.ended(Some(out.completion));
                    self.expected.push_back(Message::Complete(out.complete_msg));
                } else if self.model.transfer(wptr).is_some_and(|t| t.acked >= t.n) {
                    return Err(format!(
                        "window {wptr} is finished, but not complete in the model"
                    ));
                }
            }
            4 => {
                self.credit_acts += 1;
                self.flush(wptr, sampled, a.saturating_sub(6));
                let more = |t: &Transfer| t.wbase < t.n;
                if self.model.transfer(wptr).is_some_and(more)
                    && let Some(status) = self.model.status(wptr, 0)
                {
                    self.expected_dst = self.model.transfer(wptr).map_or(0, |t| t.src);
                    self.answer(Message::Status(status));
                }
            }
            6 => {
                let Some(&(_, of, generation, status)) = self.revokes.front() else {
                    return Err(format!("window {wptr} is revoked, and is not to be"));
                };
                if of != wptr {
                    return Err(format!("window {wptr} is revoked, not {of}"));
                }
                let named = self
                    .model
                    .window(wptr)
                    .is_some_and(|w| w.r#gen == generation);
                let done = if named {
                    self.flush(wptr, a, a);
                    self.model.revoke(wptr, status)
                } else {
                    None
                };
                self.coverage.revoked[usize::from(done.is_none())] += 1;
                if let Some(done) = done {
                    self.expected_dst = done.completion.src;
                    self.ended(Some(done.completion));
                    self.expected
                        .push_back(Message::Complete(done.complete_msg));
                }
            }
            _ => {
                let with = self.log.iter().any(|p| p.d.wptr == wptr && p.t == sampled);
                self.coverage.sweeps_with_data += u64::from(with);
                self.flush(wptr, sampled, a.saturating_sub(6));
                self.hear(a.saturating_sub(HEARD));
                let tail = self.plan.ticks[2];
                let waits = self.model.transfer(wptr).is_some_and(|t| {
                    now.wrapping_sub(t.last_rx) >= tail
                        && t.highest < t.n
                        && now.wrapping_sub(t.range_tick) >= self.plan.ticks[1]
                });
                self.coverage.silent += u64::from(waits);
                for out in self.model.sweep(wptr, now) {
                    match out {
                        Output::Send {
                            dst,
                            msg: Message::RetxOne(m),
                        } => {
                            self.expected_dst = dst;
                            self.holes.push_back((m.pidx, vec![]));
                        }
                        Output::Send { dst, msg } => {
                            let range = matches!(msg, Message::RetxRange(_));
                            self.coverage.ranges += u64::from(range);
                            self.coverage.silent -= u64::from(range);
                            self.expected_dst = dst;
                            self.expected.push_back(msg);
                        }
                        Output::Completion(c) => self.ended(Some(c)),
                        Output::Write(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, m: Message) {
        if let Message::Status(s) = &m {
            self.status = Some(Report {
                base: s.wbase,
                ..Report::default()
            });
        }
        self.expected.push_back(m);
    }

    fn ended(&mut self, c: Option<Completion>) {
        self.completions.extend(c.map(|c| RawCompletion {
            wptr: c.wptr,
            src: c.src,
            slot: c.slot,
            xid: c.xid,
            length: c.length,
            status: c.status.code(),
            reason: c.reason.code(),
        }));
    }

    /// Nothing of the operation before is left over.
    fn settled(&self) -> Outcome<()> {
        if let Some(m) = self.expected.front() {
            return Err(format!("{m:?} was never sent"));
        }
        if let Some(how) = self.hows.front() {
            return Err(format!("a CONNECT was never decided as {how:?}"));
        }
        if let Some(full) = self.full.front() {
            return Err(format!("{full:?} is complete, and it was never said"));
        }
        if self.deferred.is_some() {
            return Err("a CONNECT was never answered".into());
        }
        if self.status.is_some() {
            return Err("a bitmap was never completed".into());
        }
        if self.copies_left > 0 {
            return Err(format!("{:?} left once only", self.copy));
        }
        match self
            .holes
            .iter()
            .find(|(_, seen)| seen.iter().all(|missing| *missing))
        {
            Some((pidx, _)) => Err(format!("hole {pidx} was not asked for")),
            None => Ok(()),
        }
    }

    /// A bitmap word is used as it was two clocks ago.
    fn view(&mut self, first: u32) -> Outcome<()> {
        let bits = self.rtl.word_bits();
        let wptr = self.op_wptr;
        self.flush(wptr, self.now.saturating_sub(8), self.now.saturating_sub(2));
        let t = self
            .model
            .transfer(wptr)
            .ok_or("a bitmap word of a closed window is used")?;
        if let Some(report) = &mut self.status {
            if report.announced {
                return Err("a bitmap is read again".into());
            }
            for p in first..first + bits {
                let inside = p.wrapping_sub(t.wbase) < self.plan.w;
                report
                    .packets
                    .insert(p, p < t.wbase || (inside && t.wvec[(p - t.wbase) as usize]));
            }
        }
        for (pidx, seen) in self
            .holes
            .iter_mut()
            .filter(|(p, _)| (first..first + bits).contains(p))
        {
            seen.push(*pidx >= t.wbase && t.missing(*pidx));
        }
        Ok(())
    }

    fn bitmap(&mut self, word: u64, last: bool) -> Outcome<()> {
        let bits = self.rtl.word_bits();
        let report = self
            .status
            .as_mut()
            .filter(|report| report.announced)
            .ok_or("a bitmap word without STATUS")?;
        let (base, sent) = (report.base, report.words);
        let mut want = 0;
        for b in 0..bits {
            let p = base + sent * bits + b;
            let got = *report
                .packets
                .get(&p)
                .ok_or_else(|| format!("packet {p} was sent before its word was read"))?;
            want |= u64::from(got) << b;
        }
        if word != want {
            return Err(format!(
                "bitmap word {sent} of base {base}: {word:#x}, the model says {want:#x}"
            ));
        }
        report.words += 1;
        if last != (report.words * bits == self.plan.w) {
            return Err(format!("m_bitmap_last = {last} at word {sent}"));
        }
        if last {
            (report.words, report.announced) = (0, false);
            if self.copies_left == 0 {
                self.coverage.second[1] += u64::from(self.plan.copies > 1);
                self.status = None;
            }
        }
        Ok(())
    }

    /// A message leaves: the first copy as the model says, the second as the first.
    fn message(&mut self, m: RawMessage) -> Outcome<()> {
        if self.status.as_ref().is_some_and(|report| report.announced) {
            return Err(format!("{m:?} leaves before the last word of a bitmap"));
        }
        if self.copies_left > 0 {
            self.copies_left -= 1;
            self.coverage.second[0] += 1;
            if self.copy != Some(m) {
                return Err(format!("{m:?} follows the first copy of {:?}", self.copy));
            }
        } else {
            self.first_copy(m)?;
            self.copy = Some(m);
            self.copies_left = self.plan.copies - 1;
        }
        if m.kind == 6
            && let Some(report) = &mut self.status
        {
            report.announced = true;
        }
        Ok(())
    }

    fn first_copy(&mut self, m: RawMessage) -> Outcome<()> {
        self.coverage.messages[usize::from(m.kind)] += 1;
        if m.dst != self.expected_dst {
            return Err(format!(
                "{m:?} goes to the wrong node, not {}",
                self.expected_dst
            ));
        }
        if m.kind == 2 {
            self.coverage.retx_one += 1;
            let t = self
                .model
                .transfer(self.op_wptr)
                .ok_or("RETX_ONE for a closed window")?;
            if (m.slot, m.xid) != (t.slot, t.xid) {
                return Err(format!("{m:?} names the wrong transfer"));
            }
            while let Some((pidx, seen)) = self.holes.pop_front() {
                if pidx == m.pidx && seen.iter().any(|missing| *missing) {
                    return Ok(());
                }
                if seen.iter().all(|missing| *missing) {
                    return Err(format!("RETX_ONE {}, but hole {pidx} comes first", m.pidx));
                }
            }
            return Err(format!("RETX_ONE {} is not due", m.pidx));
        }
        let want = self
            .expected
            .pop_front()
            .ok_or_else(|| format!("{m:?} is not due"))?;
        let good = match &want {
            Message::Complete(c) => {
                m.kind == 1 && (m.slot, m.xid, m.status) == (c.slot, c.xid, c.status.code())
            }
            Message::RetxRange(r) => {
                m.kind == 3 && (m.slot, m.xid, m.pidx) == (r.slot, r.xid, r.pidx)
            }
            Message::ConnectResp(c) => {
                m.kind == 5
                    && (m.slot, m.xid, m.status) == (c.slot, c.xid, c.status.code())
                    && (c.status != ConnectStatus::Ok
                        || (m.wptr, m.generation, m.credit) == (c.wptr, c.r#gen, c.credit))
                    && (c.status != ConnectStatus::Busy || m.hint == c.retry)
            }
            Message::Status(s) => {
                m.kind == 6
                    && (m.slot, m.xid, m.seq, m.wbase, m.tail, m.credit)
                        == (s.slot, s.xid, s.seq, s.wbase, s.w_tail, s.credit)
            }
            Message::Unknown(u) => {
                m.kind == 7 && (m.slot, m.xid, m.status) == (u.slot, u.xid, u.reason.code())
            }
            _ => false,
        };
        if m.kind == 5 {
            self.opening = false;
            self.coverage.wrapped += u64::from(m.status == 0 && m.generation == 0);
        }
        if good {
            Ok(())
        } else {
            Err(format!("{m:?}, the model says {want:?}"))
        }
    }

    /// Decisions, once the model may be told of their records.
    fn compare(&mut self) -> Outcome<()> {
        while let (Some(p), Some((_, d))) = (self.log.front(), self.decisions.front()) {
            if self.now < p.t + 16 {
                return Ok(());
            }
            let (t, wptr, d) = (p.t, p.d.wptr, *d);
            self.flush(wptr, t, 0);
            let p = self.log.pop_front().ok_or("no record")?;
            self.decisions.pop_front();
            let outcome = p.outcome.ok_or("no outcome")?;
            let got = d.reason;
            match outcome {
                Ok(w) if got == 0 => {
                    let want = (w.wptr, w.r#gen, w.addr, w.rkey, w.len);
                    let is = (d.wptr, d.generation, d.addr, d.rkey, d.len);
                    if want != is {
                        return Err(format!("{:?}: write {is:?}, the model says {want:?}", p.d));
                    }
                    let wait = self.rng.random_range(1..80);
                    self.acks.push_back((self.now + wait, w.wptr, w.r#gen));
                    if self.chance(3) {
                        let other = w.r#gen ^ self.bit(0..16);
                        self.acks.push_back((self.now + wait, w.wptr, other));
                    }
                    if self.chance(2) {
                        let beyond = self.bit(self.plan.r.ilog2()..16) as u16;
                        self.acks
                            .push_back((self.now + wait, w.wptr | beyond, w.r#gen));
                    }
                }
                Err(code) if got == code => {}
                _ => {
                    let transfer = self
                        .model
                        .transfer(wptr)
                        .map(|t| (t.n, t.length, t.mtu, t.wbase, t.highest));
                    return Err(format!(
                        "{:?} taken at {t}: decision {d:?}, the model says {outcome:?}; now {transfer:?}",
                        p.d
                    ));
                }
            }
            self.coverage.reasons[usize::from(got)] += 1;
        }
        Ok(())
    }

    /// Nothing is under way.
    fn quiet(&self) -> bool {
        self.settled().is_ok()
            && self.completions.is_empty()
            && self.log.is_empty()
            && self.controls.is_empty()
            && self.acks.is_empty()
            && self.revokes.is_empty()
            && self.unfinished().is_none()
    }

    /// A window whose transfer is complete, all writes visible, and that is not closed yet.
    fn unfinished(&self) -> Option<u16> {
        (0..self.plan.r as u16).find(|&wptr| {
            let complete = |t: &Transfer| t.acked == t.n && t.first_hole() == t.n;
            self.model.transfer(wptr).is_some_and(complete)
        })
    }

    fn finish(&mut self) -> Outcome<()> {
        self.settled()?;
        self.overdue()?;
        if let Some((wptr, (since, base))) = self.due.first_key_value() {
            return Err(format!("window {wptr} stays at {base} since {since}"));
        }
        if let Some(wptr) = self.unfinished() {
            return Err(format!("window {wptr} is complete and stays open"));
        }
        self.model.check()?;
        if self.forgotten != self.model.stats().forgotten {
            return Err(format!("{} peers were forgotten", self.forgotten));
        }
        if let Some(c) = self.completions.front() {
            return Err(format!("completion {c:?} never came"));
        }
        if !self.log.is_empty() || !self.controls.is_empty() {
            return Err(format!(
                "{} records and {} messages are left",
                self.log.len(),
                self.controls.len()
            ));
        }
        if self.credit_acts > self.credit_due {
            return Err(format!(
                "{} credit updates, {} were due",
                self.credit_acts, self.credit_due
            ));
        }
        for reason in DropReason::ALL.iter().filter(|r| r.code() <= 12) {
            let counted = self
                .rtl
                .counter(reason.code())
                .map_err(|e| format!("{e:#}"))?;
            let want = self.model.stats().dropped(*reason);
            if u64::from(counted) != want {
                return Err(format!(
                    "counter {reason}: {counted}, the model says {want}"
                ));
            }
        }
        let accepted = self.rtl.counter(0).map_err(|e| format!("{e:#}"))?;
        if u64::from(accepted) != self.model.stats().accepted {
            return Err(format!(
                "{accepted} accepted, the model says {}",
                self.model.stats().accepted
            ));
        }
        Ok(())
    }

    /// A record: mostly DATA that fits, and everything that does not.
    fn stimulus(&mut self) -> Message {
        let open: Vec<u16> = (0..self.plan.r as u16)
            .filter(|w| self.model.transfer(*w).is_some())
            .collect();
        let control = self.controls.len() < 10;
        match self.rng.random_range(0..1000) {
            0..12 if control => return self.a_connect(),
            12..20 if control => return self.a_poll(&open),
            20..22 if control => return self.an_abort(),
            _ if control && open.len() < 3 => return self.a_connect(),
            _ => {}
        }
        if open.is_empty() {
            return self.data_for(self.hot);
        }
        if let Some((wptr, pidx, left)) = self.twins {
            self.twins = (left > 0).then(|| (wptr, pidx ^ self.plan.w, left - 1));
            return self.packet(wptr, pidx);
        }
        if self.chance(2)
            && let Some(t) = self.model.transfer(self.hot)
            && t.wbase & self.plan.w == 0
        {
            self.twins = Some((self.hot, t.wbase, 30));
        }
        if self.chance(10) || !open.contains(&self.hot) {
            self.hot = open[self.rng.random_range(0..open.len())];
        }
        let wptr = if self.chance(40) {
            open[self.rng.random_range(0..open.len())]
        } else {
            self.hot
        };
        self.data_for(wptr)
    }

    fn packet(&self, wptr: u16, pidx: u32) -> Message {
        let (src, n, length, mtu) =
            (self.model.transfer(wptr)).map_or((1, 2, 512, 8), |t| (t.src, t.n, t.length, t.mtu));
        Message::Data(Data {
            src,
            wptr,
            r#gen: self.model.window(wptr).map_or(0, |x| x.r#gen),
            pidx,
            tail: pidx == n - 1,
            round: 0,
            len: packet_len(length, mtu, pidx) as u16,
        })
    }

    fn data_for(&mut self, wptr: u16) -> Message {
        let w = self.plan.w;
        let r#gen = self.model.window(wptr).map_or(0, |x| x.r#gen);
        let Some(t) = self.model.transfer(wptr).cloned() else {
            return self.packet(wptr, 0);
        };
        let cursor = self.cursor.get(&wptr).copied().unwrap_or(0);
        let pidx = match self.rng.random_range(0..100) {
            0..52 => {
                let at = if cursor >= (t.wbase + w).min(t.n) {
                    t.wbase
                } else {
                    cursor
                };
                self.cursor.insert(wptr, at + 1);
                at
            }
            52..60 => t.wbase,
            60..72 => t.wbase + self.rng.random_range(0..w),
            72..75 => t.wbase + w - 1,
            75..77 => t.wbase + w,
            77..79 => t.wbase.saturating_sub(1),
            79..84 => t.n - 1,
            84..85 => t.n,
            85..86 => (1 << 21) - 1,
            86..90 => self.rng.random_range(0..t.n),
            _ => (cursor + self.rng.random_range(0..8)).min(t.n - 1),
        };
        let mut d = Data {
            src: t.src,
            wptr,
            r#gen,
            pidx,
            tail: pidx == t.n - 1,
            round: 0,
            len: packet_len(t.length, t.mtu, pidx) as u16,
        };
        match self.rng.random_range(0..400) {
            0 => d.src ^= self.bit(0..20),
            1 => d.r#gen ^= self.bit(0..16),
            2 => d.r#gen = d.r#gen.wrapping_sub(1) & 0xFFFF,
            3 => d.tail = !d.tail,
            4 => d.len ^= self.bit(0..13) as u16,
            5 => d.wptr ^= self.bit(0..16) as u16,
            6 => d.pidx ^= self.bit(0..21),
            _ => {}
        }
        Message::Data(d)
    }

    fn a_connect(&mut self) -> Message {
        let (src, slot) = (self.source(), self.slot());
        if let Some(c) = self.last_connect.get(&(src, slot)).copied() {
            match self.rng.random_range(0..10) {
                0 | 1 => return Message::Connect(c),
                // An old one.
                2 => {
                    let xid = c.xid.wrapping_sub(self.bit(0..32));
                    let incarnation = c.incarnation.wrapping_sub(self.bit(0..16) as u16);
                    let old = if self.chance(128) {
                        Connect { xid, ..c }
                    } else {
                        Connect { incarnation, ..c }
                    };
                    return Message::Connect(old);
                }
                3..6 if self
                    .model
                    .peer(src, slot)
                    .is_some_and(|p| matches!(p.state, PeerState::Open { .. })) =>
                {
                    return Message::Poll(Poll {
                        src,
                        wptr: 0,
                        r#gen: 0,
                        slot,
                        xid: c.xid,
                        seq: self.rng.random_range(1..=u16::MAX),
                    });
                }
                _ => {}
            }
        }
        let w = self.plan.w;
        let mtu = self.rng.random_range(8..13);
        let n = match self.rng.random_range(0..12) {
            0 => 1,
            1 => 2,
            2 => 3,
            3 => w - 1,
            4 => w,
            5 => w + 1,
            6 => 2 * w,
            _ => self.rng.random_range(1..5 * w),
        };
        let short = self.rng.random_range(0..1u32 << mtu);
        let last = self.last_connect.get(&(src, slot));
        let (mut incarnation, mut xid) = last.map_or((0, 0), |c| (c.incarnation, c.xid));
        // Mostly the next one; but numbers may be as far apart as the comparison allows.
        xid = xid.wrapping_add(match self.chance(40) {
            true => self.bit(0..31),
            false => 1,
        });
        // A sender that restarts counts its transfers from anywhere.
        if self.chance(20) {
            incarnation = incarnation.wrapping_add(match self.chance(128) {
                true => self.bit(0..15) as u16,
                false => 1,
            });
            xid = self.rng.random();
        }
        let mut c = Connect {
            src,
            slot,
            xid,
            incarnation,
            length: (n << mtu) - short,
            addr: self.rng.random(),
            rkey: self.rng.random(),
            mtu,
        };
        match self.rng.random_range(0..40) {
            0 => c.mtu = 7,
            1 => c.mtu = 13,
            2 => c.src ^= self.bit(0..20),
            3 => c.slot ^= self.bit(0..16) as u16,
            4 => c.addr = u64::MAX - 5,
            5 => (c.length, c.mtu) = (u32::MAX, 8),
            6 => c.length = 0,
            7 => c.addr = (u64::MAX - u64::from(c.length)) + 1,
            _ => {}
        }
        if self.legal(&c) {
            self.last_connect.insert((src, slot), c);
        }
        Message::Connect(c)
    }

    fn a_poll(&mut self, open: &[u16]) -> Message {
        let Some(&wptr) = open.get(self.rng.random_range(0..open.len().max(1))) else {
            return self.a_connect();
        };
        let (Some(t), r#gen) = (
            self.model.transfer(wptr),
            self.model.window(wptr).map_or(0, |x| x.r#gen),
        ) else {
            return self.a_connect();
        };
        let mut p = Poll {
            src: t.src,
            wptr,
            r#gen,
            slot: t.slot,
            xid: t.xid,
            seq: self.rng.random_range(1..=u16::MAX),
        };
        match self.rng.random_range(0..20) {
            0 => p.r#gen ^= self.bit(0..16),
            1 => p.xid ^= self.bit(0..32),
            2 => p.wptr ^= self.bit(0..16) as u16,
            3 => p.slot ^= self.bit(0..16) as u16,
            4 => p.src ^= self.bit(0..20),
            _ => {}
        }
        Message::Poll(p)
    }

    /// A window is to be revoked, or one of before.
    fn a_revocation(&mut self) {
        let wptr = self.rng.random_range(0..self.plan.r) as u16;
        let generation = self.model.window(wptr).map_or(0, |window| window.r#gen);
        let other = if self.chance(64) { self.bit(0..16) } else { 0 };
        let item = (self.now, wptr, generation ^ other, Status::Aborted);
        self.revokes.push_back(item);
    }

    fn an_abort(&mut self) -> Message {
        let (src, slot) = (self.source(), self.slot());
        let xid = self.last_connect.get(&(src, slot)).map_or(0, |c| c.xid);
        let other = self.bit(0..32);
        let xid = if self.chance(128) { xid } else { xid ^ other };
        Message::Abort(Abort {
            src,
            slot,
            xid,
            reason: Reason::ALL[self.rng.random_range(0..Reason::ALL.len())],
        })
    }
}
