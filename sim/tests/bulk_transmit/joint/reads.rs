//! READs of this host (BW-11): peers that answer, refuse or are deaf, and the receiving side of this card, which says what
//! became of their answers.

use super::*;
use tributary_protocol::rw::{Reason, Status};

/// Windows of this card.
const WINDOWS: u16 = 64;

/// What the target of a READ does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It answers, and the window is closed so.
    Answer {
        status: Status,
        reason: Reason,
    },
    Refuse(Refusal),
    /// It says busy once, and nothing else.
    BusyOnce,
}

impl Fate {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Answer { status, reason } => match (status, reason) {
                (Status::Ok, _) => Outcome::Ok,
                (_, Reason::Protection) => Outcome::RemoteAccess,
                (_, Reason::Memory) => Outcome::RemoteOperation,
                (_, Reason::Idle) => Outcome::Unresponsive,
                _ => Outcome::Aborted,
            },
            Self::Refuse(Refusal::Access) => Outcome::RemoteAccess,
            Self::Refuse(Refusal::BadQp) => Outcome::BadQp,
            Self::Refuse(_) => Outcome::RemoteLength,
            Self::BusyOnce => Outcome::Unresponsive,
        }
    }
}

/// What is known of a READ.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    fate: Fate,
    token: Option<u64>,
    /// Requests that have come.
    asked: u32,
    /// Its CONNECT finds no window so often.
    windowless: u32,
    /// A CONNECT for it is on its way, or has a window.
    coming: bool,
    window: Option<u16>,
    /// That was closed; well.
    closed: bool,
    pub closed_well: bool,
    /// Its region has ended before it was answered.
    over: bool,
}

impl Reading {
    pub(super) fn new(fate: Fate) -> Self {
        Self {
            fate,
            token: None,
            asked: 0,
            windowless: 0,
            coming: false,
            window: None,
            closed: false,
            closed_well: false,
            over: false,
        }
    }
}

/// A CONNECT that says that it answers a READ.
#[derive(Clone, Debug)]
struct Answer {
    id: u64,
    fields: [(&'static str, u64); 7],
    counts: bool,
}

/// What the receiving side says.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// CONNECTs on their way, and when they come.
    due: Vec<(u64, u64)>,
    offered: Option<Answer>,
    /// One was found to answer; when it is done, and whether it has a window.
    done: Option<(u64, u64, bool)>,
    /// Windows that are open, for which READ, and when they are closed.
    windows: BTreeMap<u16, (Option<u64>, u64)>,
}

impl Answers {
    /// A CONNECT is looked at.
    pub(super) fn under_way(&self) -> bool {
        self.offered.is_some() || self.done.is_some()
    }

    /// Windows of what has ended are to be closed.
    pub(super) fn closes(&self) -> bool {
        self.windows.values().any(|(_, due)| *due == 0)
    }
}

impl Flow {
    fn reading(&mut self) -> Option<&mut Reading> {
        match &mut self.kind {
            Kind::Read(reading) => Some(reading),
            _ => None,
        }
    }

    /// How it may end when its region does.
    pub(super) fn may_end_with_region(&mut self) -> Vec<u8> {
        let wanted = self.wanted as u8;
        let begun = self.begun;
        match self.reading() {
            None => vec![Outcome::LocalProtection as u8, Outcome::Ok as u8],
            Some(_) if !begun => vec![],
            Some(reading) => {
                // What was known of it before stays so.
                let open = reading.window.is_some() && !reading.closed;
                reading.over |= reading.window.is_none();
                if open {
                    self.wanted = Outcome::LocalProtection;
                    return vec![];
                }
                vec![Outcome::LocalProtection as u8, wanted]
            }
        }
    }
}

impl Bench {
    /// What the target of the next READ does.
    pub(super) fn fate(&mut self) -> Fate {
        let well = Fate::Answer {
            status: Status::Ok,
            reason: Reason::Cancelled,
        };
        let rng = &mut self.rng;
        if self.plan.wrong == 0 {
            return well;
        }
        match rng.random_range(0..12) {
            0 => Fate::Answer {
                status: Status::Aborted,
                reason: Reason::ALL[rng.random_range(0..Reason::ALL.len())],
            },
            1 => Fate::Refuse(Refusal::ALL[rng.random_range(1..4)]),
            2 => Fate::BusyOnce,
            _ => well,
        }
    }

    /// A READ request of this host at its target.
    pub(super) fn read_arrives(&mut self, node: u32, bth: &Bth, body: &[u8]) -> Result<()> {
        let message = ReadMessage::decode(bth, body);
        let message = message.map_err(|e| format!("to {node}: {e}: {body:x?}"))?;
        let own = message.sent_by(NODE);
        match own.ok_or_else(|| format!("{message:?} to {node} of another node"))? {
            ReadMessage::Request(m) => self.request_arrives(node, &m),
            ReadMessage::Refused(m) => self.refusal_arrives(node, &m),
        }
    }

    fn request_arrives(&mut self, node: u32, m: &ReadRequest) -> Result<()> {
        let now = self.now;
        let log = self.plan.mtu.ilog2() as u8;
        let id = self.by_address.get(&m.address).copied();
        let flow = id.and_then(|id| self.flows.get_mut(&id));
        let (Some(id), Some(flow)) = (id, flow) else {
            return Err(format!("{m:?} of no work request"));
        };
        let wanted = ReadRequest {
            qpn: flow.peer,
            node: NODE,
            source: flow.qpn,
            q_key: flow.q_key,
            token: m.token,
            mtu: log,
            length: flow.length,
            address: flow.there,
            rkey: flow.rkey,
            to_address: flow.address,
            to_key: flow.key,
        };
        let (to, begun) = (flow.node, flow.begun);
        let silent = flow.wanted == Outcome::Unreachable;
        let (over, lost) = (
            flow.flushed || flow.ended.is_some(),
            self.plan.faults.loss > 0,
        );
        let text = format!("{flow:?}");
        let Some(reading) = flow.reading() else {
            return Err(format!("{m:?} of {text}"));
        };
        let token = *reading.token.get_or_insert(m.token);
        if *m != wanted || to != node || !begun || token != m.token {
            return Err(format!("{m:?} to {node} of {text}"));
        }
        reading.asked += 1;
        let first = reading.asked == 1;
        let fate = reading.fate;
        let waits = !reading.coming && !over;
        if self.answers_of(m.token).any(|other| other != id) {
            return Err(format!("{m:?} has the token of another one"));
        }
        if silent {
            return Ok(());
        }
        let busy = Some(Refusal::Busy);
        let refusal = match fate {
            Fate::Answer { .. } if first && m.token & 0x70000 == 0 => busy,
            Fate::Answer { .. } => None,
            Fate::Refuse(reason) => Some(reason),
            Fate::BusyOnce if first => busy,
            Fate::BusyOnce => return Ok(()),
        };
        if matches!(fate, Fate::BusyOnce)
            && lost
            && let Some(flow) = self.flows.get_mut(&id)
        {
            // Nothing was heard if that was lost.
            flow.may.insert(Outcome::Unreachable as u8);
            flow.may.insert(Outcome::Unresponsive as u8);
        }
        if let Some(reason) = refusal {
            let refused = ReadRefused {
                qpn: m.source,
                node,
                token: m.token,
                reason,
                retry: match reason {
                    Refusal::Busy => self.rng.random_range(0..300),
                    _ => 0,
                },
            };
            self.tell(node, &ReadMessage::Refused(refused));
        } else if waits && let Some(flow) = self.flows.get_mut(&id) {
            let due = now + self.rng.random_range(1..2_000);
            if let Some(reading) = flow.reading() {
                reading.coming = true;
                reading.windowless = self.rng.random_range(0..4) / 3;
            }
            self.answers.due.push((due, id));
        }
        Ok(())
    }

    /// READs with a token.
    fn answers_of(&self, token: u64) -> impl Iterator<Item = u64> {
        let flows = self.flows.iter();
        flows.filter_map(move |(id, flow)| match &flow.kind {
            Kind::Read(reading) if reading.token == Some(token) => Some(*id),
            _ => None,
        })
    }

    /// A message of a peer flies to the card.
    pub(super) fn tell(&mut self, node: u32, message: &ReadMessage) {
        let (bth, body) = message.encode();
        let faults = self.plan.faults;
        self.to_card
            .send(&mut self.rng, faults, self.now, (node, bth, body));
    }

    /// A CONNECT for a READ; with something else than that wants, or when it is too late, it does not count.
    fn next_answer(&mut self) -> Option<Answer> {
        let now = self.now;
        let due = self.answers.due.iter().position(|(due, _)| *due <= now);
        let (id, wrong) = match due {
            Some(at) => (self.answers.due.swap_remove(at).1, false),
            None if self.rng.random_range(0..400) == 0 => {
                let asked = self.flows.iter().filter_map(|(id, flow)| match &flow.kind {
                    Kind::Read(reading) if reading.token.is_some() => Some(*id),
                    _ => None,
                });
                let asked: Vec<u64> = asked.collect();
                let last = asked.len().checked_sub(1)?;
                (asked[last - self.rng.random_range(0..=last.min(20))], true)
            }
            None => return None,
        };
        let flow = self.flows.get(&id)?;
        let Kind::Read(reading) = &flow.kind else {
            return None;
        };
        let mut fields = [
            ("token", reading.token?),
            ("src", flow.node.into()),
            ("source", flow.peer.into()),
            ("qpn", flow.qpn.into()),
            ("length", flow.length.into()),
            ("addr", flow.address),
            ("rkey", flow.key.into()),
        ];
        let mut counts =
            flow.ended.is_none() && !flow.flushed && !reading.over && reading.window.is_none();
        if wrong {
            let gone = flow.ended.is_some() || flow.flushed || reading.window.is_some();
            counts = false;
            // One that comes again is as it was.
            if !gone || self.rng.random() {
                let at = self.rng.random_range(0..fields.len());
                let bits = [64, 16, 24, 24, 32, 64, 32][at];
                fields[at].1 ^= 1 << self.rng.random_range(0..bits);
            }
        }
        Some(Answer { id, fields, counts })
    }

    pub(super) fn drive_answers(&mut self) {
        let now = self.now;
        self.set("s_closed_valid", 0);
        let closes = self.answers.windows.iter();
        let mut closes = closes.filter(|(_, (_, due))| *due <= now);
        let closes = closes.next().map(|(wptr, _)| *wptr);
        let closes = closes.filter(|_| self.rng.random_range(0..3) == 0);
        if let Some(wptr) = closes {
            self.close(wptr);
        }
        self.set("s_answered_done", 0);
        self.set("s_answered_opened", 0);
        // rw_window never closes and opens one in the same clock.
        let open = |wptr: &u16| self.answers.windows.contains_key(wptr) || closes == Some(*wptr);
        let mut free = (0..WINDOWS).filter(|wptr| !open(wptr));
        let free = free.nth(now as usize % 8);
        let until = now + 1 + self.rng.random_range(0..4_000);
        match (self.answers.done, free) {
            (Some((due, id, opened)), Some(wptr)) if due <= now => {
                self.answers.done = None;
                self.set("s_answered_done", 1);
                self.set("s_answered_opened", opened.into());
                self.set("s_answered_wptr", wptr.into());
                if let Some(reading) = self.flows.get_mut(&id).and_then(Flow::reading) {
                    reading.window = opened.then_some(wptr);
                }
                match opened {
                    true => drop(self.answers.windows.insert(wptr, (Some(id), until))),
                    // It comes again.
                    false => self.answers.due.push((now + 400, id)),
                }
            }
            // A window of a WRITE.
            (None, Some(wptr))
                if self.starting && self.end.is_none() && self.rng.random_range(0..300) == 0 =>
            {
                self.set("s_answered_opened", 1);
                self.set("s_answered_wptr", wptr.into());
                self.answers.windows.insert(wptr, (None, until));
            }
            _ => {}
        }
        if !self.answers.under_way() && self.end.is_none() {
            self.answers.offered = self.next_answer();
        }
        let offered = self.answers.offered.clone();
        self.set("s_answer_valid", offered.is_some().into());
        for (name, value) in offered.into_iter().flat_map(|answer| answer.fields) {
            self.set(&format!("s_answer_{name}"), value);
        }
    }

    /// A window is closed, as its transfer ends, or because of a command.
    fn close(&mut self, wptr: u16) {
        let Some((id, due)) = self.answers.windows.remove(&wptr) else {
            return;
        };
        let statuses = [Status::Ok, Status::Aborted, Status::NotReady];
        let mut status = statuses[self.rng.random_range(0..3)];
        let mut reason = Reason::ALL[self.rng.random_range(0..Reason::ALL.len())];
        if let Some(reading) = id
            .and_then(|id| self.flows.get_mut(&id))
            .and_then(Flow::reading)
        {
            if let Fate::Answer {
                status: as_it,
                reason: why,
            } = reading.fate
            {
                (status, reason) = (as_it, why);
            }
            if due == 0 {
                (status, reason) = (Status::Aborted, Reason::Cancelled);
            }
            reading.closed = true;
            reading.closed_well = status == Status::Ok;
        }
        self.set("s_closed_valid", 1);
        self.set("s_closed_wptr", wptr.into());
        self.set("s_closed_status", status as u64);
        self.set("s_closed_reason", reason as u64);
    }

    /// Windows of what has ended are closed now.
    pub(super) fn close_ended(&mut self, pair: bool, index: u32) {
        for (id, due) in self.answers.windows.values_mut() {
            let flow = id.and_then(|id| self.flows.get(&id));
            let ends = flow.is_some_and(|flow| match pair {
                true => flow.qpn == index,
                false => flow.key >> 8 == index,
            });
            if ends {
                *due = 0;
            }
        }
    }

    pub(super) fn answers_taken(&mut self) -> Result<()> {
        if !self.moves("s_answer") {
            return Ok(());
        }
        let answer = self.answers.offered.take().ok_or("no CONNECT")?;
        if self.is("s_answer_ok") != answer.counts {
            let flow = &self.flows[&answer.id];
            return Err(format!("{answer:x?} is judged wrong, of {flow:?}"));
        }
        if !answer.counts {
            self.coverage.no_answers += 1;
            return Ok(());
        }
        self.coverage.answers += 1;
        let due = self.now + self.rng.random_range(1..30);
        let reading = self.flows.get_mut(&answer.id).and_then(Flow::reading);
        let reading = reading.ok_or("no READ")?;
        let opened = reading.windowless == 0;
        reading.windowless = reading.windowless.saturating_sub(1);
        self.answers.done = Some((due, answer.id, opened));
        Ok(())
    }
}
