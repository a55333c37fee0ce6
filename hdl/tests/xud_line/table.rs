//! The table of requests in flight beside a model: what `tributary_protocol::xud` does with its table, decision by
//! decision. An operation that was taken in one clock is decided six clocks later, in order with all others; which
//! request a timeout was of is known when its completion comes, so the model may run behind.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;

use tributary_hdl::xud::XudInFlight;
use tributary_sim::verilate::Verilated;

use super::met::Met;
use super::rtl::{Rtl, verilate};

pub const QPS: u32 = 8;
pub const PLACES: usize = 32;
const LOG: u32 = 5;
const DECIDED: u64 = 6;
pub const TIMEOUT: u64 = 1;
/// Outcomes of requests that end as they are filled: no other end has one of these.
pub const LOCAL: [u64; 3] = [8, 14, 15];

pub fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(verilate::<XudInFlight<3, 5>>)
}

pub type Tag = (u32, u32);
/// With its outcome.
pub type Failure = (Tag, u64);

/// Place of a request, as `docs/card.md` has it.
pub fn place((qpn, psn): Tag) -> usize {
    let base = qpn.reverse_bits() >> (32 - LOG);
    psn.wrapping_add(base) as usize % PLACES
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub tag: Tag,
    pub node: u32,
    pub peer: u32,
    pub vf: u8,
    pub win_id: u16,
    pub epoch: u16,
    pub msn: u32,
    pub wr_id: u64,
    pub request: u16,
    pub timeout: u8,
    pub outcome: u64,
    /// It waits for an answer: an acknowledgement that says OK is none (XUD-13).
    pub answered: bool,
    /// Of one that has ended: its acknowledgement said that it came marked (CL-4).
    pub marked: bool,
}

/// What is done to the request that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It ends.
    Plain,
    /// It is claimed (XUD-13).
    Claim,
    /// It was claimed and ends.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    pub kind: Kind,
    pub node: u32,
    pub tag: Tag,
    pub outcome: u64,
    pub echo: bool,
    pub win_id: u16,
    pub epoch: u16,
    pub msn: u32,
    pub flags: u8,
    pub peer: u32,
    pub marked: bool,
}

impl Request {
    /// The acknowledgement of this request.
    pub fn ack(&self, outcome: u64) -> Ack {
        Ack {
            kind: Kind::Plain,
            node: self.node,
            tag: self.tag,
            outcome,
            echo: self.vf >> 4 > 0,
            win_id: self.win_id,
            epoch: self.epoch,
            msn: self.msn,
            flags: self.vf & 15,
            peer: self.peer,
            // As good as random.
            marked: (self.tag.1 ^ self.msn).count_ones() % 2 == 1,
        }
    }

    /// An answer of this request claims it.
    pub fn claim(&self) -> Ack {
        Ack {
            kind: Kind::Claim,
            echo: true,
            ..self.ack(0)
        }
    }

    /// The end of this request, which is claimed.
    pub fn end(&self, outcome: u64) -> Ack {
        Ack {
            kind: Kind::End,
            ..self.ack(outcome)
        }
    }
}

/// What is offered in a clock.
#[derive(Clone, Copy, Default)]
pub struct Inputs {
    pub rsv: Option<Tag>,
    pub drop: Option<Tag>,
    pub set: Option<Request>,
    pub fail: Option<(Tag, u64)>,
    pub ack: Option<Ack>,
    pub flush: Option<u32>,
    pub stall: bool,
}

/// Fields of a completion.
const COMPLETION: [&str; 12] = [
    "m_qpn",
    "m_psn",
    "m_node",
    "m_peer",
    "m_vf",
    "m_win_id",
    "m_epoch",
    "m_msn",
    "m_wr_id",
    "m_request",
    "m_status",
    "m_marked",
];

/// What became of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs {
    pub set: bool,
    pub fail: bool,
    pub ack: bool,
    /// The answer to a reservation.
    pub rsv: Option<bool>,
    /// Queue pair and number, outcome.
    pub done: Option<(Tag, u64)>,
    /// A claim is decided: it found its request.
    pub claim: Option<bool>,
    pub flushed: bool,
    /// A completion was on offer.
    pub offered: bool,
    pub events: Events,
}

/// Unknown, source, echo, bad queue pair, acknowledged, timeout.
pub type Events = [bool; 6];

#[derive(Clone, Copy, Debug)]
enum Slot {
    Kept,
    /// With the clock in which it was filled.
    Filled(Request, u64),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(Ack, Events, Option<bool>),
    Fail(Tag, u64),
    Timeout,
    Reserved(Tag, bool),
    Drop(Tag),
    Set(Request, u64),
    Flushed(u32),
}

pub struct Bench {
    rtl: Rtl,
    pub clock: u64,
    pub unit: u64,
    /// Mutation: an acknowledgement matches by number alone (against XUD-3).
    pub psn_only: bool,
    slots: Vec<Option<(Tag, Slot)>>,
    /// The clock in which a place became free.
    freed: [u64; PLACES],
    /// Requests that end as they are filled.
    local: HashMap<Tag, Request>,
    /// The same of queue pairs that were flushed: their completions may have been under way.
    perhaps: HashMap<Tag, Request>,
    log: VecDeque<(u64, Step)>,
    reserving: VecDeque<(u64, Tag)>,
    /// Ends that were taken, an acknowledgement or a failure, by the clock of their decision.
    deciding: VecDeque<(u64, Option<Ack>, Option<Failure>)>,
    flushing: Option<u32>,
    /// The request that is claimed, and since when.
    claimed: Option<(Tag, u64)>,
    /// The request that ended last, and when.
    last: Option<(Tag, u64)>,
    pub met: Met,
    expected: VecDeque<(Request, u64)>,
    /// Completions that the log has not come to.
    came: VecDeque<(Request, u64, u64)>,
    /// The most by which a timeout was late.
    pub late: u64,
    pub counts: [u64; 6],
    pub completions: u64,
    /// The first difference.
    pub trouble: Option<String>,
    /// The completion on offer that was not taken in the clock before.
    held: Option<[u64; 12]>,
}

impl Bench {
    pub fn new(unit: u64) -> Self {
        Self::of(library(), unit)
    }

    pub fn of(library: &Verilated, unit: u64) -> Self {
        let mut rtl = Rtl::new(library);
        rtl.set("cfg_timeout_unit", unit);
        rtl.model.reset(3).unwrap();
        let mut bench = Self {
            rtl,
            clock: 0,
            unit,
            psn_only: false,
            slots: vec![None; PLACES],
            freed: [0; PLACES],
            local: HashMap::new(),
            perhaps: HashMap::new(),
            log: VecDeque::new(),
            reserving: VecDeque::new(),
            deciding: VecDeque::new(),
            flushing: None,
            claimed: None,
            last: None,
            met: Met::default(),
            expected: VecDeque::new(),
            came: VecDeque::new(),
            late: 0,
            counts: [0; 6],
            completions: 0,
            trouble: None,
            held: None,
        };
        bench.idle(PLACES + 3);
        bench
    }

    /// Chooses what is wrong, in a design with such an input.
    pub fn choose_fault(&mut self, fault: u64) {
        self.rtl.set("fault", fault);
    }

    /// Reset in the middle of anything; everything is forgotten.
    pub fn reset(&mut self) {
        self.rtl.model.reset(1).unwrap();
        let rtl = std::mem::replace(&mut self.rtl, Rtl::new(library()));
        *self = Self {
            rtl,
            ..Self::new(self.unit)
        };
    }

    pub fn idle(&mut self, clocks: usize) {
        for _ in 0..clocks {
            self.step(Inputs::default());
        }
    }

    fn fail(&mut self, what: String) {
        let clock = self.clock;
        self.trouble.get_or_insert(format!("clock {clock}: {what}"));
    }

    /// Stops the test at the first difference.
    pub fn check(&self) {
        assert_eq!(self.trouble, None);
    }

    /// Whether the model holds nothing, or only requests that cannot have ended.
    pub fn in_flight(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Everything ended as the model says.
    pub fn finish(&mut self) {
        self.idle(200);
        self.check();
        assert!(self.log.is_empty() && self.expected.is_empty() && self.came.is_empty());
        assert!(self.local.is_empty());
    }

    fn drive(&mut self, inputs: &Inputs) {
        let rtl = &mut self.rtl;
        let Inputs {
            rsv,
            drop,
            set,
            fail,
            ack,
            flush,
            stall,
        } = *inputs;
        rtl.set("rsv_valid", rsv.is_some());
        rtl.set("drop_valid", drop.is_some());
        rtl.set("set_valid", set.is_some());
        rtl.set("fail_valid", fail.is_some());
        rtl.set("ack_valid", ack.is_some());
        rtl.set("flush_valid", flush.is_some());
        rtl.set("m_ready", !stall);
        if let Some((qpn, psn)) = rsv {
            rtl.set("rsv_qpn", qpn);
            rtl.set("rsv_psn", psn);
        }
        if let Some((qpn, psn)) = drop {
            rtl.set("drop_qpn", qpn);
            rtl.set("drop_psn", psn);
        }
        if let Some(set) = set {
            rtl.set("set_qpn", set.tag.0);
            rtl.set("set_psn", set.tag.1);
            rtl.set("set_node", set.node);
            rtl.set("set_peer", set.peer);
            rtl.set("set_vf", set.vf);
            rtl.set("set_win_id", set.win_id);
            rtl.set("set_epoch", set.epoch);
            rtl.set("set_msn", set.msn);
            rtl.set("set_wr_id", set.wr_id);
            rtl.set("set_request", set.request);
            rtl.set("set_timeout", set.timeout);
            rtl.set("set_outcome", set.outcome);
            rtl.set("set_answered", set.answered);
        }
        if let Some(((qpn, psn), outcome)) = fail {
            rtl.set("fail_qpn", qpn);
            rtl.set("fail_psn", psn);
            rtl.set("fail_outcome", outcome);
        }
        if let Some(ack) = ack {
            rtl.set("ack_node", ack.node);
            rtl.set("ack_qpn", ack.tag.0);
            rtl.set("ack_psn", ack.tag.1);
            rtl.set("ack_outcome", ack.outcome);
            rtl.set("ack_echo", ack.echo);
            rtl.set("ack_win_id", ack.win_id);
            rtl.set("ack_epoch", ack.epoch);
            rtl.set("ack_msn", ack.msn);
            rtl.set("ack_flags", ack.flags);
            rtl.set("ack_peer", ack.peer);
            rtl.set("ack_marked", ack.marked);
            rtl.set("ack_claim", ack.kind == Kind::Claim);
            rtl.set("ack_end", ack.kind == Kind::End);
        }
        if let Some(qpn) = flush {
            rtl.set("flush_qpn", qpn);
        }
    }

    /// One clock. What is not taken must be offered again.
    pub fn step(&mut self, inputs: Inputs) -> Outputs {
        self.drive(&inputs);
        self.rtl.model.eval().unwrap();
        let now = self.clock;
        let rtl = &mut self.rtl;
        let mut out = Outputs {
            set: rtl.is("set_ready"),
            fail: rtl.is("fail_ready"),
            ack: rtl.is("ack_ready"),
            rsv: rtl.is("rsv_done").then(|| rtl.is("rsv_ok")),
            claim: rtl.is("claim_done").then(|| rtl.is("claim_ok")),
            flushed: rtl.is("flush_done"),
            ..Outputs::default()
        };
        let names = [
            "ev_ack_unknown",
            "ev_ack_source",
            "ev_ack_echo",
            "ev_bad_qp",
            "ev_acknowledged",
            "ev_timeout",
        ];
        for (seen, name) in out.events.iter_mut().zip(names) {
            *seen = rtl.is(name);
        }
        out.offered = rtl.is("m_valid");
        let word = COMPLETION.map(|field| rtl.get(field));
        let now_held = (out.offered && inputs.stall).then_some(word);
        let held = std::mem::replace(&mut self.held, now_held);
        if let Some(held) = held
            && !(out.offered && held == word)
        {
            self.fail(format!(
                "a completion on offer changed: {held:x?}, {word:x?}"
            ));
        }
        let rtl = &mut self.rtl;
        if !inputs.stall && out.offered {
            let done = Request {
                tag: (rtl.get("m_qpn") as u32, rtl.get("m_psn") as u32),
                node: rtl.get("m_node") as u32,
                peer: rtl.get("m_peer") as u32,
                vf: rtl.get("m_vf") as u8,
                win_id: rtl.get("m_win_id") as u16,
                epoch: rtl.get("m_epoch") as u16,
                msn: rtl.get("m_msn") as u32,
                wr_id: rtl.get("m_wr_id"),
                request: rtl.get("m_request") as u16,
                marked: rtl.is("m_marked"),
                ..Request::default()
            };
            let status = rtl.get("m_status");
            let rest = (rtl.get("m_len"), rtl.get("m_q_key"));
            assert_eq!(rest, (0, 0), "nothing is received");
            out.done = Some((done.tag, status));
            self.completed(done, status);
        }
        self.decided(out.events, out.claim);
        if let Some(ok) = out.rsv {
            match self.reserving.pop_front() {
                Some((at, tag)) if at + 4 == now => {
                    // What ended by the clock after the request was seen by it.
                    let before = self.log.partition_point(|(time, _)| *time <= at + 1);
                    self.log.insert(before, (at + 1, Step::Reserved(tag, ok)));
                }
                other => self.fail(format!("an answer, but {other:?}")),
            }
        }
        if let Some(tag) = inputs.rsv {
            self.reserving.push_back((now, tag));
        }
        if let Some(tag) = inputs.drop {
            self.log.push_back((now, Step::Drop(tag)));
        }
        if let Some(set) = inputs.set.filter(|_| out.set) {
            self.log.push_back((now, Step::Set(set, now)));
        }
        let ack = inputs.ack.filter(|_| out.ack);
        let fail = inputs.fail.filter(|_| out.fail);
        if ack.is_some() || fail.is_some() {
            if ack.is_some() && fail.is_some() {
                self.fail("two ends in a clock".into());
            }
            self.deciding.push_back((now + DECIDED, ack, fail));
        }
        if inputs.flush.is_some() {
            self.flushing = inputs.flush;
        }
        if out.flushed {
            match self.flushing.take() {
                Some(qpn) => self.log.push_back((now, Step::Flushed(qpn))),
                None => self.fail("a flush that nobody asked for is done".into()),
            }
        }
        // The answer to a reservation may go in front of what is newer than this.
        while let Some((time, step)) = self.log.front().copied() {
            if time + 4 > now || !self.replay(time, step) {
                break;
            }
            self.log.pop_front();
        }
        self.rtl.model.clock().unwrap();
        self.clock += 1;
        out
    }

    fn decided(&mut self, events: Events, claim: Option<bool>) {
        let now = self.clock;
        for (count, seen) in self.counts.iter_mut().zip(events) {
            *count += u64::from(seen);
        }
        let mut step = events[5].then_some(Step::Timeout);
        if self.deciding.front().is_some_and(|(at, ..)| *at == now) {
            if step.is_some() {
                self.fail("a timeout in the place of another end".into());
            }
            let (_, ack, fail) = self.deciding.pop_front().unwrap();
            let fail = fail.map(|(tag, outcome)| Step::Fail(tag, outcome));
            step = ack.map(|ack| Step::Ack(ack, events, claim)).or(fail);
        }
        let claims = matches!(step, Some(Step::Ack(ack, ..)) if ack.kind == Kind::Claim);
        if claim.is_some() != claims {
            self.fail(format!("a claim decided: {claim:?}, but it is {step:?}"));
        }
        let ack = matches!(step, Some(Step::Ack(..)));
        if !ack && events[..5].contains(&true) {
            self.fail(format!("events {events:?} without an acknowledgement"));
        }
        self.log.extend(step.map(|step| (now, step)));
    }

    fn completed(&mut self, done: Request, status: u64) {
        self.completions += 1;
        if LOCAL.contains(&status) {
            let perhaps = self.perhaps.remove(&done.tag);
            let request = self.local.remove(&done.tag).or(perhaps);
            let same = request.is_some_and(|r| {
                let (timeout, outcome, answered) = (done.timeout, done.outcome, done.answered);
                r.outcome == status
                    && done
                        == Request {
                            timeout,
                            outcome,
                            answered,
                            ..r
                        }
            });
            if !same {
                self.fail(format!("{done:?} of {request:?} ended with {status}"));
            }
            let at = place(done.tag);
            if matches!(self.slots[at], Some((tag, Slot::Filled(..))) if tag == done.tag) {
                self.slots[at] = None;
                self.freed[at] = self.clock;
            }
        } else {
            self.came.push_back((done, status, self.clock));
            self.compare();
        }
    }

    /// Completions that came and those that were expected.
    fn compare(&mut self) {
        while let (Some((request, status)), Some((done, found, _))) =
            (self.expected.front().copied(), self.came.front().copied())
        {
            let request = Request {
                timeout: 0,
                outcome: 0,
                answered: false,
                ..request
            };
            if (request, status) != (done, found) {
                self.fail(format!("{request:?} {status}, but {done:?} {found}"));
            }
            self.expected.pop_front();
            self.came.pop_front();
        }
    }

    /// The request that is filled under this tag, and in reach: a claimed one is not.
    fn filled(&self, tag: Tag) -> Option<(Request, u64)> {
        let claimed = self.claimed.is_some_and(|(at, _)| at == tag);
        self.waits(tag).filter(|_| !claimed)
    }

    /// The same, of an end that is decided at `time`: what was filled when it was taken, or later, it does not find.
    /// No peer can answer so early, but a stranger can.
    fn found(&self, tag: Tag, time: u64) -> Option<(Request, u64)> {
        self.filled(tag).filter(|(_, since)| since + DECIDED < time)
    }

    /// The same, claimed or not.
    fn waits(&self, tag: Tag) -> Option<(Request, u64)> {
        match self.slots[place(tag)] {
            Some((at, Slot::Filled(request, since))) if at == tag => Some((request, since)),
            _ => None,
        }
    }

    fn end(&mut self, time: u64, request: Request, status: u64) {
        self.slots[place(request.tag)] = None;
        self.freed[place(request.tag)] = time;
        self.last = Some((request.tag, time));
        self.expected.push_back((request, status));
        self.compare();
    }

    /// Applies a step; false if a completion must come first.
    fn replay(&mut self, time: u64, step: Step) -> bool {
        match step {
            Step::Ack(ack, events, claim) => self.acknowledged(time, ack, events, claim),
            Step::Fail(tag, outcome) => {
                if let Some((_, since)) = self.claimed.filter(|(at, _)| *at == tag) {
                    self.met.failed(time - since);
                }
                if let Some((request, _)) = self.found(tag, time) {
                    self.end(time, request, outcome);
                }
            }
            Step::Timeout => {
                if !self.expected.is_empty() {
                    return false;
                }
                let Some((done, status, _)) = self.came.front().copied() else {
                    return false;
                };
                match self.filled(done.tag) {
                    Some((request, since)) if status == TIMEOUT => {
                        let deadline = since + (self.unit << request.timeout);
                        if time < deadline {
                            self.fail(format!("timeout {} clocks early", deadline - time));
                        }
                        self.late = self.late.max(time.saturating_sub(deadline));
                        self.end(time, request, TIMEOUT);
                    }
                    other => self.fail(format!("timeout, but {done:?} {status} of {other:?}")),
                }
            }
            Step::Reserved(tag, ok) => self.reserved(time, tag, ok),
            Step::Drop(tag) => {
                let at = place(tag);
                if matches!(self.slots[at], Some((kept, Slot::Kept)) if kept == tag) {
                    self.slots[at] = None;
                    // It may wait for reservations.
                    self.freed[at] = time + 25;
                }
            }
            Step::Set(request, since) => {
                let at = place(request.tag);
                if !matches!(self.slots[at], Some((tag, Slot::Kept)) if tag == request.tag) {
                    self.fail(format!("the test fills what is not kept: {request:?}"));
                }
                self.slots[at] = Some((request.tag, Slot::Filled(request, since)));
                if request.outcome != 0 {
                    self.local.insert(request.tag, request);
                }
            }
            Step::Flushed(qpn) => {
                for slot in &mut self.slots {
                    slot.take_if(|((at, _), _)| *at == qpn);
                }
                let flushed = self.local.extract_if(|(at, _), _| *at == qpn);
                self.perhaps.extend(flushed);
            }
        }
        true
    }

    /// Whether the model has not heard yet that a flush of this queue pair is done.
    fn flushes(&self, qpn: u32) -> bool {
        let done = |(_, step): &(u64, Step)| matches!(step, Step::Flushed(at) if *at == qpn);
        self.flushing == Some(qpn) || self.log.iter().any(done)
    }

    fn reserved(&mut self, time: u64, tag: Tag, ok: bool) {
        let at = place(tag);
        // A request that ends as it is filled may have left already, and so may one that is flushed.
        let gone = self.slots[at]
            .is_none_or(|(tag, _)| self.local.contains_key(&tag) || self.flushes(tag.0));
        if ok && !gone {
            self.fail(format!("{tag:?} is kept on {:?}", self.slots[at]));
        }
        if !ok && self.slots[at].is_none() && self.freed[at] + 1 < time {
            self.fail(format!("{tag:?} is refused, the place is free"));
        }
        if ok {
            self.slots[at] = Some((tag, Slot::Kept));
        }
    }

    fn acknowledged(&mut self, time: u64, ack: Ack, events: Events, claim: Option<bool>) {
        let deadline = |(request, since): (Request, u64)| since + (self.unit << request.timeout);
        // Whatever waits then is taken and decided after this.
        let over = self.waits(ack.tag).map(deadline);
        let over = over.map(|over| (over, over + self.unit.div_ceil(4) + PLACES as u64 + 60));
        self.met
            .acknowledged(time, &ack, self.claimed, self.last, over);
        let mut claims = false;
        let expect = |index: usize| {
            let mut expected = [false; 6];
            if index < 6 {
                expected[index] = true;
            }
            expected
        };
        let found = match ack.kind {
            Kind::Plain | Kind::Claim => self.found(ack.tag, time),
            Kind::End => self.waits(ack.tag),
        };
        if ack.kind == Kind::End {
            self.claimed = None;
        }
        let expected = match found {
            None if ack.tag.0 >= QPS => expect(3),
            None => {
                self.met.nothing += u64::from(ack.kind == Kind::Claim);
                expect(0)
            }
            Some((request, _)) => {
                let plain = self.psn_only || request.vf >> 4 == 0;
                let source = (ack.node, ack.peer) == (request.node, request.peer);
                let window = (ack.win_id, ack.epoch, ack.msn, ack.flags)
                    == (request.win_id, request.epoch, request.msn, request.vf & 15);
                let no_echo = !plain && !ack.echo;
                if no_echo || !(plain || source && window) {
                    self.met.mismatched += u64::from(ack.kind == Kind::Claim);
                    expect(if no_echo || source { 2 } else { 1 })
                } else if ack.kind == Kind::Claim {
                    self.met.claimed += 1;
                    self.claimed = Some((ack.tag, time));
                    claims = true;
                    expect(6)
                } else if !plain && ack.kind == Kind::Plain && request.answered && ack.outcome == 0
                {
                    self.met.refused += 1;
                    expect(2)
                } else {
                    let marked = ack.marked;
                    self.end(time, Request { marked, ..request }, ack.outcome);
                    // Only OK has an event of its own.
                    expect(if ack.outcome == 0 { 4 } else { 6 })
                }
            }
        };
        if events != expected {
            self.fail(format!(
                "{events:?}, the model says {expected:?} of {ack:?}"
            ));
        }
        if claim.is_some_and(|found| found != claims) {
            self.fail(format!(
                "claim_ok {claim:?}, the model says {claims}: {ack:?}"
            ));
        }
    }
}
