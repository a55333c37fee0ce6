//! One state of the two machines, and the steps out of it.

use super::Scenario;
use crate::rw::{
    Choice, Message, Outcome, Output, Receiver, ReceiverConfig, Request, Sender, SenderConfig,
    Status, WriteCmd,
};

const SLOT: u16 = 0;
const WPTR: u16 = 0;
const ADDR: u64 = 0x1000;
const MTU: u8 = 8;
/// Transfer numbers wrap on the way.
const FIRST_XID: u32 = u32::MAX;

/// A violated property and what is wrong.
pub(super) type Violation = (&'static str, String);

/// A message in the network. For DATA, the transfer whose bytes it carries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InFlight {
    pub msg: Message,
    pub origin: u32,
}

/// What really happened to a transfer, which no machine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Truth {
    /// Bit k: packet k has been written (slow writes: is visible).
    written: u16,
    at_receiver: Option<Status>,
    /// True for success.
    at_sender: Option<bool>,
}

/// Where a step leads, and what it puts into the network.
pub(super) type Next = Result<(State, Vec<InFlight>), Violation>;

/// One thing that can happen without a message from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Sender(Choice),
    Sweep,
    WriteDone(usize),
    /// Up to this number.
    Slide(u32),
    IdleAbort,
    Forget,
}

/// The two machines, the memory, and what really happened: everything but the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    tx: Sender,
    rx: Receiver,
    writes: Vec<(u32, u32, u32)>,
    truth: Vec<Truth>,
    started: usize,
    /// Peer slots forgotten so far.
    forgotten: u32,
}

impl State {
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let rx = ReceiverConfig {
            w: scenario.w,
            r: 1,
            gen_bits: scenario.gen_bits,
            src_limit: 1,
            slot_limit: 1,
            allowance: 0,
            allowance_ticks: 0,
            retry_ticks: 0,
            tail_ticks: 0,
            idle_ticks: u16::MAX,
            // The network doubles messages wherever a scenario says so, at any distance.
            copies: 1,
            late_slides: scenario.late_slides,
            mutations: scenario.mutations,
            ..ReceiverConfig::default()
        };
        let tx = SenderConfig {
            slots: 1,
            first_xid: FIRST_XID,
            rtt_ticks: 0,
            allowance_ticks: 0,
            retry_ticks: 0,
            poll_ticks: 0,
            stall_poll_ticks: 0,
            max_polls: None,
            overrun: if scenario.extras { 2 } else { 0 },
            echo: scenario.extras,
            seq_limit: 1,
            mutations: scenario.mutations,
            ..SenderConfig::default()
        };
        let mut rx = Receiver::new(rx).ok()?;
        rx.preset_gen(WPTR, (1 << scenario.gen_bits) - 2);
        let truth = vec![Truth::default(); scenario.transfers.len()];
        let mut state = Self {
            tx: Sender::new(tx).ok()?,
            rx,
            writes: Vec::new(),
            truth,
            started: 0,
            forgotten: 0,
        };
        state.start_next(scenario);
        Some(state)
    }

    fn start_next(&mut self, scenario: &Scenario) {
        if let Some(n) = scenario
            .transfers
            .get(self.started)
            .filter(|_| self.tx.active() == 0)
        {
            let request = Request {
                dst: 1,
                addr: ADDR,
                rkey: 0,
                length: n << MTU,
                mtu: MTU,
                oldest_first: false,
            };
            if self.tx.start(request, 0).is_ok() {
                self.started += 1;
            }
        }
    }

    /// All transfers have ended and nothing is left (P19).
    pub fn ended(&self) -> bool {
        self.started == self.truth.len()
            && self.tx.active() == 0
            && self.rx.transfer(WPTR).is_none()
            && self.writes.is_empty()
    }

    /// The transfer that has this number.
    fn index(xid: u32) -> u32 {
        xid.wrapping_sub(FIRST_XID)
    }

    pub fn steps(&self, scenario: &Scenario) -> Vec<Step> {
        let choices = self.tx.choices(scenario.give_up);
        let mut steps: Vec<Step> = choices.into_iter().map(Step::Sender).collect();
        if scenario.requests && !self.rx.clone().sweep(WPTR, 0).is_empty() {
            steps.push(Step::Sweep);
        }
        steps.extend((0..self.writes.len()).map(Step::WriteDone));
        if let Some(t) = self.rx.transfer(WPTR) {
            steps.extend((t.wbase + 1..=t.first_hole()).map(Step::Slide));
        }
        if self.forgotten < scenario.forget && self.rx.clone().forget(0, SLOT) {
            steps.push(Step::Forget);
        }
        // A window that a late CONNECT has opened is used by nobody, so only silence ends it.
        if (scenario.give_up || scenario.forget > 0)
            && let Some(t) = self.rx.transfer(WPTR)
            && self.tx.xid(SLOT) != Some(t.xid)
        {
            steps.push(Step::IdleAbort);
        }
        steps
    }

    /// Does a step.
    pub fn apply(&self, step: Step, scenario: &Scenario) -> Next {
        let mut next = self.clone();
        let mut sent = Vec::new();
        match step {
            Step::Sender(choice) => {
                if let Some(out) = next.tx.perform(choice, 0) {
                    put(
                        &mut sent,
                        InFlight {
                            msg: out.msg,
                            origin: Self::index(out.xid),
                        },
                    );
                }
            }
            Step::Sweep => {
                let outputs = next.rx.sweep(WPTR, 0);
                for output in &outputs {
                    next.check_request(output)?;
                }
                next.outputs(outputs, scenario, &mut sent)?;
            }
            Step::WriteDone(index) => {
                let (r#gen, transfer, pidx) = next.writes.remove(index);
                next.truth[transfer as usize].written |= 1 << pidx;
                let outputs = next.rx.handle_write_done(WPTR, r#gen);
                next.outputs(outputs, scenario, &mut sent)?;
            }
            Step::Slide(to) => {
                if next.rx.slide(WPTR, to) == Some(true) {
                    let update = next.rx.credit_update(WPTR).into_iter().collect();
                    next.outputs(update, scenario, &mut sent)?;
                }
            }
            Step::IdleAbort => {
                let outputs = next.rx.abort_idle(WPTR);
                next.outputs(outputs, scenario, &mut sent)?;
            }
            Step::Forget => {
                next.rx.forget(0, SLOT);
                next.forgotten += 1;
            }
        }
        next.settle(self, scenario)?;
        Ok((next, sent))
    }

    /// A message comes out of the network.
    pub fn deliver(&self, flying: &InFlight, scenario: &Scenario) -> Next {
        let mut next = self.clone();
        let mut sent = Vec::new();
        if flying.msg.to_receiver() {
            next.deliver_to_receiver(self, flying, scenario, &mut sent)?;
        } else {
            next.deliver_to_sender(self, &flying.msg)?;
        }
        next.settle(self, scenario)?;
        Ok((next, sent))
    }

    /// Completes a step: checks, the next transfer, and forgets what no later check looks at, so that states which differ in it
    /// only are explored once.
    fn settle(&mut self, before: &Self, scenario: &Scenario) -> Result<(), Violation> {
        self.take_completions()?;
        self.check_receiver(before)?;
        self.start_next(scenario);
        self.tx.level();
        for truth in self
            .truth
            .iter_mut()
            .filter(|truth| truth.at_receiver.is_some())
        {
            truth.written = 0;
        }
        Ok(())
    }

    fn deliver_to_receiver(
        &mut self,
        before: &Self,
        flying: &InFlight,
        scenario: &Scenario,
        sent: &mut Vec<InFlight>,
    ) -> Result<(), Violation> {
        let outputs = self.rx.handle(&flying.msg, 0);
        let open = before.rx.transfer(WPTR).map(|t| Self::index(t.xid));
        for output in &outputs {
            if let Output::Write(write) = output {
                let Some(open) = open else {
                    return Err(("P5", "a write for a window that is closed".into()));
                };
                self.check_write(write, flying.origin, open, scenario)?;
            }
        }
        if matches!(flying.msg, Message::Data(_))
            && open != Some(flying.origin)
            && before.rx != self.rx
        {
            return Err((
                "P7",
                "a DATA packet of another transfer changed the receiver".into(),
            ));
        }
        self.outputs(outputs, scenario, sent)
    }

    fn check_write(
        &self,
        write: &WriteCmd,
        origin: u32,
        open: u32,
        scenario: &Scenario,
    ) -> Result<(), Violation> {
        if origin != open {
            return Err((
                "P1",
                format!(
                    "packet {} of transfer {origin} is written into transfer {open}",
                    write.pidx
                ),
            ));
        }
        let pending = self
            .writes
            .iter()
            .any(|(_, transfer, pidx)| (*transfer, *pidx) == (open, write.pidx));
        if pending || self.truth[open as usize].written & 1 << write.pidx != 0 {
            return Err((
                "RW-2",
                format!("packet {} of transfer {open} is written twice", write.pidx),
            ));
        }
        if self.truth[open as usize].at_receiver.is_some() {
            return Err((
                "P5",
                format!(
                    "packet {} is written after transfer {open} has ended",
                    write.pidx
                ),
            ));
        }
        let length = u64::from(scenario.transfers[open as usize]) << MTU;
        if write.addr != ADDR + (u64::from(write.pidx) << MTU)
            || write.addr + u64::from(write.len) > ADDR + length
        {
            return Err((
                "P6",
                format!("packet {} is written to {:#x}", write.pidx, write.addr),
            ));
        }
        Ok(())
    }

    fn deliver_to_sender(&mut self, before: &Self, msg: &Message) -> Result<(), Violation> {
        self.tx.on_message(msg, 0);
        let xid = match msg {
            Message::Complete(m) => m.xid,
            Message::RetxOne(m) => m.xid,
            Message::RetxRange(m) => m.xid,
            Message::ConnectResp(m) => m.xid,
            Message::Status(m) => m.xid,
            Message::Unknown(m) => m.xid,
            _ => return Ok(()),
        };
        let stale = before.tx.xid(SLOT) != Some(xid);
        let changed = before.tx != self.tx;
        // What it completed is checked first: P3 says more.
        self.take_completions()?;
        if stale && changed {
            return Err((
                "P7",
                format!(
                    "a message for transfer {} changed the sender",
                    Self::index(xid)
                ),
            ));
        }
        Ok(())
    }

    /// Requests are for what is missing (P24, RW-13).
    fn check_request(&self, output: &Output) -> Result<(), Violation> {
        let Some(t) = self.rx.transfer(WPTR) else {
            return Ok(());
        };
        match output {
            Output::Send {
                msg: Message::RetxOne(m),
                ..
            } if !t.missing(m.pidx) => Err((
                "P24",
                format!("packet {} is asked for, and has arrived", m.pidx),
            )),
            Output::Send {
                msg: Message::RetxRange(m),
                ..
            } if m.pidx < t.highest => Err((
                "P24",
                format!(
                    "packets from {} on are asked for, and {} has arrived",
                    m.pidx,
                    t.highest - 1
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Sends messages, gives out writes, and notes completions of the receiver.
    fn outputs(
        &mut self,
        outputs: Vec<Output>,
        scenario: &Scenario,
        sent: &mut Vec<InFlight>,
    ) -> Result<(), Violation> {
        for output in outputs {
            match output {
                Output::Send { msg, .. } => put(sent, InFlight { msg, origin: 0 }),
                Output::Write(write) => {
                    let Some(open) = self.rx.transfer(WPTR).map(|t| Self::index(t.xid)) else {
                        continue;
                    };
                    if scenario.slow_writes {
                        self.writes.push((write.r#gen, open, write.pidx));
                        self.writes.sort_unstable();
                    } else {
                        self.truth[open as usize].written |= 1 << write.pidx;
                        let outputs = self.rx.handle_write_done(write.wptr, write.r#gen);
                        self.outputs(outputs, scenario, sent)?;
                    }
                }
                Output::Completion(done) => {
                    let transfer = Self::index(done.xid) as usize;
                    let all = (1u32 << scenario.transfers[transfer]) - 1;
                    let truth = &mut self.truth[transfer];
                    // What is forgotten can be opened and given up once more, but never be complete again.
                    let again = scenario.forget > 0 && done.status == Status::Aborted;
                    if truth.at_receiver.is_some() && again {
                        continue;
                    }
                    if truth.at_receiver.is_some() {
                        return Err((
                            "P4",
                            format!("a second completion of transfer {transfer} at the receiver"),
                        ));
                    }
                    truth.at_receiver = Some(done.status);
                    if done.status == Status::Ok && u32::from(truth.written) != all {
                        return Err((
                            "P2",
                            format!(
                                "transfer {transfer} is complete with packets {:#b} of {all:#b} in memory",
                                truth.written
                            ),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn take_completions(&mut self) -> Result<(), Violation> {
        while let Some(done) = self.tx.take_completion() {
            let transfer = Self::index(done.xid) as usize;
            let truth = &mut self.truth[transfer];
            if truth.at_sender.is_some() {
                return Err((
                    "P4",
                    format!("a second completion of transfer {transfer} at the sender"),
                ));
            }
            truth.at_sender = Some(done.outcome == Outcome::Ok);
            if done.outcome == Outcome::Ok && truth.at_receiver != Some(Status::Ok) {
                return Err((
                    "P3",
                    format!(
                        "transfer {transfer} is a success for the sender, {:?} for the receiver",
                        truth.at_receiver
                    ),
                ));
            }
        }
        Ok(())
    }

    /// P12 to P14.
    fn check_receiver(&self, before: &Self) -> Result<(), Violation> {
        if let Err(what) = self.rx.check() {
            let property = if what.starts_with("P12") {
                "P12"
            } else {
                "P13"
            };
            return Err((property, what.replacen(&format!("{property}: "), "", 1)));
        }
        let opened = |state: &Self| state.rx.transfer(WPTR).map(|t| t.xid);
        let gen_of = |state: &Self| state.rx.window(WPTR).map_or(0, |window| window.r#gen);
        let rise = u32::from(opened(self).is_some() && opened(self) != opened(before));
        let mask = (1 << self.rx.config().gen_bits) - 1;
        if gen_of(self) != (gen_of(before) + rise) & mask {
            return Err((
                "P14",
                format!("gen went from {} to {}", gen_of(before), gen_of(self)),
            ));
        }
        Ok(())
    }

    /// A step in words.
    pub fn describe(&self, step: Step) -> String {
        match step {
            Step::Sender(Choice::GiveUp(_)) => "sender gives up".into(),
            Step::Sender(choice) => match self.tx.clone().perform(choice, 0) {
                Some(out) => format!("sender -> {}", out.msg),
                None => format!("sender: {choice:?}"),
            },
            Step::Sweep => {
                let sent: Vec<String> = self
                    .rx
                    .clone()
                    .sweep(WPTR, 0)
                    .iter()
                    .filter_map(|output| match output {
                        Output::Send { msg, .. } => Some(msg.to_string()),
                        _ => None,
                    })
                    .collect();
                format!("receiver -> {} (timer)", sent.join(", "))
            }
            Step::WriteDone(index) => format!(
                "memory: packet {} of transfer {} is visible",
                self.writes[index].2, self.writes[index].1
            ),
            Step::Slide(to) => format!("window slides to {to}"),
            Step::IdleAbort => "receiver gives up after silence".into(),
            Step::Forget => "receiver forgets the peer slot".into(),
        }
    }
}

/// Adds a message to what a step sends. Fields that have no effect while the clock stands still are levelled.
fn put(sent: &mut Vec<InFlight>, mut flying: InFlight) {
    if let Message::Data(m) = &mut flying.msg {
        m.round = 0;
    }
    sent.push(flying);
}

impl std::fmt::Display for InFlight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { msg, origin } = self;
        if matches!(msg, Message::Data(_)) {
            write!(f, "receiver <- {msg} (of transfer {origin})")
        } else if msg.to_receiver() {
            write!(f, "receiver <- {msg}")
        } else {
            write!(f, "sender <- {msg}")
        }
    }
}
