//! The block in lock step with a model of it: what must come, in which order, exactly once.

use super::rtl::{Inputs, Look, Outputs, QPS, Read, Record, Rtl, Set};
use super::world::{Dice, Manner, Places, Reader, Shape, Slots, all, allowed, judge, work_request};
use std::collections::{BTreeMap, VecDeque};
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::{WORK_LEN, WorkRequest};
use tributary_protocol::xud::Outcome;
use tributary_sim::verilate::Verilated;

/// What is wrong, and when.
pub type Check = Result<(), String>;

/// A queue pair as its driver and the model see it.
pub struct Qp {
    pub state: State,
    pub shape: Shape,
    pub ring: Vec<[u8; WORK_LEN]>,
    /// Work requests that the driver has written, that doorbells have said, begun to be fetched, ended; ever.
    pub written: u64,
    pub posted: u64,
    /// A doorbell has lowered it: when, and what it was.
    taken_back: Option<(u64, u64)>,
    pub fetched: u64,
    pub ended: u64,
    /// Turns begun, of which the address of the fetch was seen.
    pub read: u64,
    /// Clock since which it is in Error by command; whether something was dropped since, or its ring failed.
    pub error: Option<u64>,
    pub gone: bool,
    /// Others that had a turn while this one waited.
    passed: BTreeMap<u32, u32>,
}

/// A work request between fetch and record.
struct Fetched {
    qpn: u32,
    number: u64,
    psn: u32,
    entry: [u8; WORK_LEN],
    error: bool,
}

/// A turn under way.
#[derive(Default)]
struct Turn {
    qpn: u32,
    psn: u32,
    slot: Option<bool>,
    place: Option<bool>,
}

/// What a run has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub clocks: u64,
    pub outcomes: BTreeMap<u8, u64>,
    pub records: u64,
    pub payloads: u64,
    pub dropped: u64,
    pub fatal: u64,
    pub good_doorbells: u64,
    pub bad_doorbells: u64,
    pub stall_credit: u64,
    pub stall_place: u64,
    /// Queue pairs whose turns came, in order.
    pub turns: Vec<u32>,
    /// Clock of the latest first sight of a read and of a record, and of the last word that came in.
    pub read_at: u64,
    pub record_at: u64,
    pub word_at: u64,
}

pub struct Bench {
    rtl: Rtl,
    pub dice: Dice,
    pub manner: Manner,
    pub now: u64,
    pub mtu: u64,
    pub hold: bool,
    pub idle: bool,
    /// Clock since which it is on hold.
    held: Option<u64>,
    pub qps: Vec<Qp>,
    pub seen: Seen,
    pub slots: Slots,
    pub places: Places,
    pub reader: Reader,
    /// Doorbells and contexts to give, one a clock each.
    pub doorbells: VecDeque<(u32, u8, u16)>,
    pub contexts: VecDeque<(u32, u8, u64)>,
    asks: Option<u32>,
    /// Clocks in which a bad doorbell must be counted.
    bad_at: VecDeque<u64>,
    looks: VecDeque<(u64, bool)>,
    turn: Option<Turn>,
    /// Slot or place to be given back.
    undo: Option<(u32, u32, bool)>,
    fetched: VecDeque<Fetched>,
    /// How many of them were looked up.
    looked: usize,
    record: Option<(Record, u64)>,
    /// Payload of records that were taken, not read yet.
    payload: VecDeque<Read>,
    /// Payloads that xud_tx waits for.
    sending: usize,
    /// Requests in flight, and when they end.
    flights: Vec<(u64, u32, u32)>,
    /// Fatal queue pairs, and when their state becomes Error.
    fatal: VecDeque<(u64, u32)>,
    fatal_due: Option<u32>,
    /// Events that the block still owes: no slot, no place, local errors.
    owed: [i64; 3],
    before: (Inputs, Outputs),
    progress: u64,
    /// Fault of the environment: what the run must catch.
    pub fault: Option<Fault>,
}

/// Ways in which the environment can lie to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Doorbells of a queue pair are lost on their way.
    LoseDoorbell,
    /// Two work requests come in the wrong order.
    SwapFetches,
    /// Regions answer the other way round.
    InvertLook,
    /// A reserved place is reported as refused.
    DenyPlace,
    /// A failed read is reported as good.
    HideError,
}

fn state_of(qp: &Qp) -> bool {
    matches!(
        qp.state,
        State::Init | State::ReadyToReceive | State::ReadyToSend
    )
}

impl Bench {
    /// After reset, the contexts clean.
    pub fn new(library: &Verilated, seed: u64, manner: Manner) -> Result<Self, String> {
        let mut dice = Dice::new(seed);
        let qps = all().map(|qpn| Qp::none(&mut dice, qpn)).collect();
        let mut bench = Self {
            rtl: Rtl::new(library, seed),
            dice,
            manner,
            now: 1,
            mtu: 4096,
            hold: false,
            idle: false,
            qps,
            seen: Seen::default(),
            slots: Slots::default(),
            places: Places::default(),
            reader: Reader::default(),
            doorbells: VecDeque::new(),
            contexts: VecDeque::new(),
            asks: None,
            bad_at: VecDeque::new(),
            looks: VecDeque::new(),
            turn: None,
            undo: None,
            fetched: VecDeque::new(),
            looked: 0,
            record: None,
            payload: VecDeque::new(),
            sending: 0,
            flights: Vec::new(),
            fatal: VecDeque::new(),
            fatal_due: None,
            owed: [0; 3],
            held: None,
            before: (Inputs::default(), Outputs::default()),
            progress: 0,
            fault: None,
        };
        bench.reset()?;
        Ok(bench)
    }

    /// Reset in the middle of whatever is under way; everything is forgotten, and doorbells are bad until all is clean.
    pub fn reset(&mut self) -> Check {
        let inputs = Inputs {
            rst: true,
            ..Inputs::default()
        };
        for _ in 0..2 {
            self.rtl.clock(&inputs);
        }
        self.qps = all().map(|qpn| Qp::none(&mut self.dice, qpn)).collect();
        self.slots = Slots::default();
        self.places = Places::default();
        self.reader = Reader::default();
        self.doorbells.clear();
        self.contexts.clear();
        self.asks = None;
        self.bad_at.clear();
        self.looks.clear();
        self.turn = None;
        self.undo = None;
        self.fetched.clear();
        self.looked = 0;
        self.record = None;
        self.payload.clear();
        self.sending = 0;
        self.flights.clear();
        self.fatal.clear();
        self.fatal_due = None;
        self.owed = [0; 3];
        self.before = (Inputs::default(), Outputs::default());
        self.progress = self.now;
        let swept = self.now + QPS as u64;
        while self.now < swept {
            if self.dice.chance(50) {
                let doorbell = (self.dice.below(QPS as u64) as u32, 0, 0);
                self.doorbells.push_back(doorbell);
            }
            self.clock()?;
            self.expect(!self.idle, "idle while contexts are cleaned")?;
        }
        self.clock()?;
        self.expect(self.idle, "not idle when the contexts are clean")
    }

    fn expect(&self, holds: bool, what: &str) -> Check {
        if holds {
            Ok(())
        } else {
            Err(format!("clock {}: {what}", self.now))
        }
    }

    /// One clock.
    pub fn clock(&mut self) -> Check {
        let inputs = self.inputs();
        let outputs = self.rtl.clock(&inputs);
        self.stable(&outputs)?;
        // What the block sees in this clock comes before what it says.
        if let Some((qpn, word, data)) = inputs.cfg {
            self.context(qpn, word, data);
        }
        self.held = inputs.hold.then(|| self.held.unwrap_or(self.now));
        self.turns(&inputs, &outputs)?;
        self.undone(&outputs)?;
        self.reads(&inputs, &outputs)?;
        self.lookups(&outputs)?;
        self.sets(&inputs, &outputs)?;
        self.records(&inputs, &outputs)?;
        self.events(&outputs)?;
        self.ends();
        self.idleness(&outputs)?;
        self.expect(
            self.now - self.progress < 40_000,
            "nothing moves although work waits",
        )?;
        self.before = (inputs, outputs);
        self.now += 1;
        self.seen.clocks += 1;
        Ok(())
    }

    pub fn clocks(&mut self, clocks: u64) -> Check {
        (0..clocks).try_for_each(|_| self.clock())
    }

    fn inputs(&mut self) -> Inputs {
        let Self {
            dice, manner, now, ..
        } = self;
        let (now, taken) = (*now, manner.taken);
        let rsv = self.slots.answer(self.asks, now, dice, manner);
        let mut place = self.places.answer(now, dice, manner);
        let beat = self.reader.beat(now, dice, manner);
        self.sending -= usize::from(beat.payload_done);
        if let Some((_, true, _)) = beat.word {
            self.seen.word_at = now;
        }
        let mut look = None;
        if self.looks.front().is_some_and(|&(due, _)| due == now) {
            look = self.looks.pop_front().map(|(_, ok)| ok);
        }
        match self.fault {
            Some(Fault::InvertLook) => look = look.map(|ok| !ok),
            Some(Fault::DenyPlace) => place = place.map(|_| false),
            _ => {}
        }
        let inputs = Inputs {
            rst: false,
            db: self.doorbells.pop_front(),
            cfg: self.contexts.pop_front(),
            mtu: self.mtu,
            hold: self.hold,
            rsv,
            place,
            set_ready: dice.chance(taken),
            look,
            rd_ready: self.reader.waiting() < manner.reads && dice.chance(taken),
            wq: beat.word,
            sd_ready: self.sending < manner.ahead && dice.chance(taken),
        };
        let Some((qpn, 0, index)) = inputs.db else {
            return inputs;
        };
        // What the doorbell does; a state that is written in this clock counts already.
        let mut good = false;
        let new_state = match inputs.cfg {
            Some((q, 0, data)) if q == qpn => State::from_code(data as u8 & 7),
            _ => None,
        };
        let qp = &mut self.qps[qpn as usize];
        qp.state = new_state.unwrap_or(qp.state);
        if state_of(qp) {
            let held = index.wrapping_sub(qp.fetched as u16);
            good = u64::from(held) <= 1 << qp.shape.log;
            if good {
                let posted = qp.fetched + u64::from(held);
                if posted < qp.posted {
                    qp.taken_back = Some((now, qp.posted));
                }
                qp.posted = posted;
                qp.written = qp.written.max(posted);
            }
        }
        if good {
            self.seen.good_doorbells += 1;
            if self.fault == Some(Fault::LoseDoorbell) && qpn == 3 {
                return Inputs { db: None, ..inputs };
            }
        } else {
            self.bad_at.push_back(now + 4);
        }
        inputs
    }

    /// What is offered stays until it is taken.
    fn stable(&self, new: &Outputs) -> Check {
        let (inputs, old) = &self.before;
        self.expect(new.wq_ready, "a word of a work request is not taken")?;
        if old.set.is_some() && !inputs.set_ready {
            self.expect(old.set == new.set, "m_set changed")?;
        }
        if old.rd.is_some() && !inputs.rd_ready {
            self.expect(old.rd == new.rd, "m_rd changed")?;
        }
        if old.sd.is_some() && !inputs.sd_ready {
            self.expect(old.sd == new.sd, "m_sd changed")?;
        }
        if old.rsv.is_some() && inputs.rsv.is_none() {
            self.expect(old.rsv == new.rsv, "m_rsv changed")?;
        }
        if old.rsv.is_some() && inputs.rsv.is_some() {
            self.expect(new.rsv.is_none(), "m_rsv stays after its answer")?;
        }
        Ok(())
    }

    /// A word of a context has its effect.
    fn context(&mut self, qpn: u32, word: u8, data: u64) {
        if word != 0 {
            return;
        }
        let state = State::from_code(data as u8 & 7).expect("the bench writes states");
        let qp = &mut self.qps[qpn as usize];
        qp.state = state;
        if state == State::Error {
            qp.error = Some(self.now);
        }
        self.progress = self.now;
    }

    /// Turns: asked for together, for a queue pair that has work, with the right PSN, and nobody waits too long.
    fn turns(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        if let Some((qpn, psn)) = outputs.place {
            self.expect(self.turn.is_none(), "a turn within a turn")?;
            self.expect(outputs.rsv == Some(qpn), "a place without asking for a slot")?;
            let alone = self.places.ask(qpn, psn, self.now);
            self.expect(alone, "two places at once")?;
            let qp = &self.qps[qpn as usize];
            let want = (u64::from(qp.shape.first) + qp.fetched) as u32 & 0xFF_FFFF;
            self.expect(psn == want, &format!("PSN {psn} instead of {want} of {qpn}"))?;
            let recent = qp.error.is_some_and(|since| self.now - since < 8);
            let sends = qp.state == State::ReadyToSend || recent;
            self.expect(sends, "a turn of a queue pair that does not send")?;
            let lately = qp.taken_back.filter(|(since, _)| self.now - since < 20);
            let posted = lately.map_or(0, |(_, posted)| posted).max(qp.posted);
            self.expect(posted > qp.fetched, "a turn of a queue pair without work")?;
            let late = self.held.is_some_and(|since| self.now - since > 4);
            self.expect(!late, "a turn on hold")?;
            self.fair(qpn)?;
            self.seen.turns.push(qpn);
            self.turn = Some(Turn {
                qpn,
                psn,
                ..Turn::default()
            });
        }
        self.asks = outputs.rsv.filter(|_| inputs.rsv.is_none());
        let Some(turn) = &mut self.turn else {
            return self.expect(inputs.rsv.is_none() && outputs.rsv.is_none(), "a stray slot");
        };
        turn.slot = turn.slot.or(inputs.rsv);
        turn.place = turn.place.or(inputs.place);
        let (Some(slot), Some(place)) = (turn.slot, turn.place) else {
            return Ok(());
        };
        let (qpn, psn) = (turn.qpn, turn.psn);
        self.turn = None;
        let qp = &mut self.qps[qpn as usize];
        if slot && place {
            qp.fetched += 1;
            qp.taken_back = qp.taken_back.filter(|(_, posted)| *posted > qp.fetched);
            self.progress = self.now;
        } else {
            self.expect(self.undo.is_none(), "a slot or place was not given back")?;
            self.seen.stall_credit += u64::from(!slot);
            self.seen.stall_place += u64::from(slot);
            self.owed[usize::from(slot)] += 1;
            if slot || place {
                self.undo = Some((qpn, psn, slot));
            }
        }
        Ok(())
    }

    /// Between two turns of a queue pair that has work throughout, each other one has at most two.
    fn fair(&mut self, turn: u32) -> Check {
        for qpn in all() {
            let qp = &mut self.qps[qpn as usize];
            if qpn == turn || qp.posted <= qp.fetched || qp.state != State::ReadyToSend {
                qp.passed.clear();
                continue;
            }
            let turns = qp.passed.entry(turn).or_default();
            *turns += 1;
            if *turns > 2 {
                return self.expect(false, &format!("{qpn} waits while {turn} has three turns"));
            }
        }
        Ok(())
    }

    /// What is given back: of a turn that failed, or of a work request that is dropped.
    fn undone(&mut self, outputs: &Outputs) -> Check {
        match (outputs.cancel, outputs.drop) {
            (None, None) => Ok(()),
            (Some(qpn), Some((other, psn))) => {
                // The one before may still wait to be set.
                let first = self.fetched.front().map(|first| (first.qpn, first.error));
                let place = self.fetched.iter().take(2).position(|f| (f.qpn, f.psn) == (qpn, psn));
                let Some(place) = place.filter(|_| qpn == other) else {
                    return self.expect(false, "another one is dropped than the next");
                };
                self.fetched.remove(place);
                self.expect(self.looked > place, "dropped before it was there")?;
                self.looked -= 1;
                let failing = place == 1 && first == Some((qpn, true));
                let qp = &mut self.qps[qpn as usize];
                let right = qp.gone || qp.error.is_some() || failing;
                qp.gone |= place == 0;
                self.expect(right, "dropped although its queue pair lives")?;
                self.seen.dropped += 1;
                self.progress = self.now;
                self.give_back(qpn, psn)
            }
            (slot, place) => {
                let Some((qpn, psn, of_slot)) = self.undo.take() else {
                    return self.expect(false, "given back out of turn");
                };
                if of_slot {
                    self.expect(slot == Some(qpn) && place.is_none(), "wrong slot given back")?;
                    let had = self.slots.free(qpn);
                    self.expect(had, "a slot that nobody had")
                } else {
                    self.expect(place == Some((qpn, psn)), "wrong place given back")?;
                    let had = self.places.kept.remove(&(qpn, psn)) == Some(false);
                    self.expect(had, "a place that nobody had")
                }
            }
        }
    }

    fn give_back(&mut self, qpn: u32, psn: u32) -> Check {
        let had = self.slots.free(qpn);
        self.expect(had, "a slot that nobody had")?;
        let had = self.places.kept.remove(&(qpn, psn)) == Some(false);
        self.expect(had, "a place that nobody had")
    }

    /// Reads: payload of the latest record, or the next work request of a queue pair.
    fn reads(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        let Some(read) = outputs.rd else {
            return Ok(());
        };
        if self.before.1.rd.is_none() {
            self.seen.read_at = self.now;
        }
        if !inputs.rd_ready {
            return Ok(());
        }
        let due = self.now + self.manner.latency.max(1);
        if read.ctx >> 14 == 1 {
            let payload = self.payload.pop_front();
            self.expect(payload == Some(read), &format!("{payload:?}, read {read:?}"))?;
            self.reader.payload(read.len, due);
            self.seen.payloads += 1;
            return Ok(());
        }
        self.expect(read.ctx == 0 && read.len == 64, "a fetch of another client or size")?;
        let owner = all().find(|&qpn| {
            let qp = &self.qps[qpn as usize];
            let index = qp.read % (1 << qp.shape.log);
            qp.read < qp.fetched && read.addr == qp.shape.base + 64 * index
        });
        let Some(qpn) = owner else {
            return self.expect(false, &format!("no work request is at {:#x}", read.addr));
        };
        let qp = &mut self.qps[qpn as usize];
        let number = qp.read;
        qp.read += 1;
        let entry = qp.ring[(number % (1 << qp.shape.log)) as usize];
        let psn = (u64::from(qp.shape.first) + number) as u32 & 0xFF_FFFF;
        let error = self.dice.chance(self.manner.fail);
        let mut shown = entry;
        if error {
            shown = std::array::from_fn(|_| self.dice.word() as u8);
        }
        let reported = error && self.fault != Some(Fault::HideError);
        self.reader.fetch(&shown, reported, due);
        self.fetched.push_back(Fetched {
            qpn,
            number,
            psn,
            entry: shown,
            error,
        });
        let last = self.fetched.len() - 1;
        if self.fault == Some(Fault::SwapFetches) && last > self.looked + 1 {
            self.fetched.swap(last, last - 1);
        }
        self.expect(self.fetched.len() <= 17, "more fetches than there is room for")
    }

    fn lookups(&mut self, outputs: &Outputs) -> Check {
        let Some(look) = outputs.look else {
            return Ok(());
        };
        let Some(fetched) = self.fetched.get(self.looked) else {
            return self.expect(false, "a region is looked up for nothing");
        };
        let request = WorkRequest::decode(&fetched.entry);
        let want = Look {
            key: request.lkey,
            pd: self.qps[fetched.qpn as usize].shape.pd,
            addr: request.address,
            len: (request.length & 0x1FFF) as u16,
            write: false,
        };
        self.expect(look == want, &format!("{look:?} instead of {want:?}"))?;
        self.looked += 1;
        let ok = allowed(request.lkey, request.length);
        self.looks.push_back((self.now + 6, ok));
        Ok(())
    }

    /// The oldest work request is set, as it must.
    fn sets(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        if let Some(qpn) = outputs.fatal {
            self.expect(self.fatal_due.is_none(), "fatal twice")?;
            self.fatal_due = Some(qpn);
        }
        let Some(set) = outputs.set else {
            return Ok(());
        };
        if !inputs.set_ready {
            return Ok(());
        }
        self.expect(self.record.is_none(), "set before the one before has left")?;
        let Some(fetched) = self.fetched.pop_front() else {
            return self.expect(false, "a set of nothing");
        };
        self.expect(self.looked > 0, "set before it was there")?;
        self.looked -= 1;
        let (qpn, psn) = (fetched.qpn, fetched.psn);
        let request = WorkRequest::decode(&fetched.entry);
        let qp = &mut self.qps[qpn as usize];
        let lives = !qp.gone;
        let mut want = Set {
            qpn,
            psn,
            node: request.to.node,
            peer: request.to.qpn & 0xFF_FFFF,
            vf: request.version_flags,
            win_id: request.window.id,
            epoch: request.window.epoch,
            msn: request.window.msn,
            wr_id: request.wr_id,
            request: fetched.number as u16,
            timeout: qp.shape.timeout,
            outcome: judge(&request, self.mtu).map_or(0, Outcome::code),
        };
        if fetched.error {
            qp.gone = true;
            want = Set {
                qpn,
                psn,
                request: want.request,
                timeout: want.timeout,
                outcome: Outcome::LocalQueue.code(),
                node: 0,
                peer: 0,
                vf: 0,
                win_id: 0,
                epoch: 0,
                msn: 0,
                wr_id: 0,
            };
            let told = self.fatal_due.take() == Some(qpn);
            self.expect(told, "a ring that cannot be read is not told")?;
            self.seen.fatal += 1;
            let delay = 1 + self.dice.below(60);
            self.fatal.push_back((self.now + delay, qpn));
        }
        self.expect(lives, "set although its queue pair has ended")?;
        self.expect(set == want, &format!("{set:?} instead of {want:?}"))?;
        *self.seen.outcomes.entry(set.outcome).or_default() += 1;
        self.owed[2] += i64::from(set.outcome != 0);
        self.progress = self.now;
        let place = self.places.kept.get_mut(&(qpn, psn));
        let filled = place.map(|filled| std::mem::replace(filled, true));
        self.expect(filled == Some(false), "a place that was not kept, or twice")?;
        let mut flight = 2;
        if set.outcome == 0 {
            let shape = &self.qps[qpn as usize].shape;
            let record = Record {
                node: set.node,
                peer: set.peer,
                psn,
                q_key: shape.q_key,
                src: qpn,
                vf: set.vf,
                win_id: set.win_id,
                epoch: set.epoch,
                msn: set.msn,
                head: std::array::from_fn(|at| {
                    let bytes = &request.head[8 * at..8 * at + 8];
                    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
                }),
                head_len: request.head_len,
                len: request.length as u16,
            };
            self.record = Some((record, request.address));
            flight += self.dice.below(self.manner.flight + 1);
        }
        self.flights.push((self.now + flight, qpn, psn));
        Ok(())
    }

    fn records(&mut self, inputs: &Inputs, outputs: &Outputs) -> Check {
        let Some(record) = outputs.sd else {
            return Ok(());
        };
        if self.before.1.sd.is_none() {
            self.seen.record_at = self.now;
        }
        if !inputs.sd_ready {
            return Ok(());
        }
        let Some((want, addr)) = self.record.take() else {
            return self.expect(false, "a record without a set");
        };
        self.expect(record == want, &format!("{record:?} instead of {want:?}"))?;
        self.seen.records += 1;
        if record.len > 0 {
            self.sending += 1;
            self.payload.push_back(Read {
                addr,
                len: record.len,
                ctx: 0x4000,
            });
        }
        Ok(())
    }

    fn events(&mut self, outputs: &Outputs) -> Check {
        let bad = self.bad_at.front() == Some(&self.now);
        self.expect(
            outputs.bad_doorbell == bad,
            if bad { "a bad doorbell is not counted" } else { "a good doorbell is refused" },
        )?;
        if bad {
            self.bad_at.pop_front();
            self.seen.bad_doorbells += 1;
        }
        let events = [outputs.stall_credit, outputs.stall_place, outputs.local_error];
        for (owed, event) in self.owed.iter_mut().zip(events) {
            *owed -= i64::from(event);
        }
        // A local error is told before its set is taken.
        let told = self.owed[..2].iter().all(|&owed| owed >= 0);
        self.expect(told, "a stall that nobody had")
    }

    /// Requests in flight end; slots and places become free; queue pairs whose ring failed get their state.
    fn ends(&mut self) {
        let now = self.now;
        let (done, flights): (Vec<_>, _) = self.flights.drain(..).partition(|&(due, ..)| due <= now);
        self.flights = flights;
        for (_, qpn, psn) in done {
            self.places.kept.remove(&(qpn, psn));
            self.slots.free(qpn);
            self.qps[qpn as usize].ended += 1;
        }
        while let Some(&(due, qpn)) = self.fatal.front() {
            if due > now {
                break;
            }
            self.fatal.pop_front();
            if self.qps[qpn as usize].state == State::ReadyToSend {
                self.set_state(qpn, State::Error);
            }
        }
    }

    /// Idle is what the model calls idle, as far as the world can see it.
    fn idleness(&mut self, outputs: &Outputs) -> Check {
        self.idle = outputs.idle;
        if outputs.idle {
            let quiet = self.fetched.is_empty()
                && self.turn.is_none()
                && self.undo.is_none()
                && self.record.is_none()
                && self.payload.is_empty()
                && outputs.rd.is_none();
            self.expect(quiet, "idle with something under way")?;
        }
        let waits = self
            .qps
            .iter()
            .any(|qp| qp.state == State::ReadyToSend && !qp.gone && qp.posted > qp.fetched);
        if !waits && self.fetched.is_empty() || self.hold {
            self.progress = self.now;
        }
        Ok(())
    }

    /// Queues the words of a new queue pair, in the state Init.
    pub fn create(&mut self, qpn: u32, shape: Shape) {
        let noise = self.dice.word();
        let words = [
            (1, u64::from(shape.q_key) | u64::from(shape.first) << 32 | noise << 56),
            (2, shape.base | noise & 63),
            (3, noise),
            (4, noise),
            (5, noise),
            (6, noise),
            (0, shape.word_0(State::Init.code(), noise)),
        ];
        for (word, data) in words {
            self.contexts.push_back((qpn, word, data));
        }
        self.qps[qpn as usize] = Qp {
            shape,
            ring: vec![[0; WORK_LEN]; 1 << shape.log],
            ..Qp::none(&mut self.dice, qpn)
        };
    }

    /// Queues a new state.
    pub fn set_state(&mut self, qpn: u32, state: State) {
        let noise = self.dice.word();
        let word = self.qps[qpn as usize].shape.word_0(state.code(), noise);
        self.contexts.push_back((qpn, 0, word));
    }

    /// Gives all queued words of contexts.
    pub fn settle(&mut self) -> Check {
        while !self.contexts.is_empty() || !self.doorbells.is_empty() {
            self.clock()?;
        }
        Ok(())
    }

    /// A queue pair that sends.
    pub fn connect(&mut self, qpn: u32, shape: Shape) -> Check {
        self.create(qpn, shape);
        self.set_state(qpn, State::ReadyToReceive);
        self.set_state(qpn, State::ReadyToSend);
        self.settle()
    }

    /// Holds, waits until the block is idle, ends the queue pair, and lets go.
    pub fn destroy(&mut self, qpn: u32) -> Check {
        self.settle()?;
        self.hold = true;
        self.clock()?;
        let limit = self.now + 40_000;
        while !self.idle {
            self.expect(self.now < limit, "does not become idle")?;
            self.clock()?;
        }
        self.fatal.retain(|&(_, other)| other != qpn);
        self.set_state(qpn, State::Reset);
        self.settle()?;
        self.expect(self.idle, "not idle although it was, and nothing may begin")?;
        let mut lost: Vec<u32> = vec![];
        self.places.kept.retain(|&(owner, psn), _| {
            let stays = owner != qpn;
            if !stays {
                lost.push(psn);
            }
            stays
        });
        self.flights.retain(|&(_, owner, _)| owner != qpn);
        let used = self.slots.used.insert(qpn, 0).unwrap_or(0);
        self.expect(used == lost.len(), "slots and places do not match")?;
        self.qps[qpn as usize] = Qp::none(&mut self.dice, qpn);
        self.hold = false;
        Ok(())
    }

    /// Writes work requests into the ring, as many as there is room for, and tells the block.
    pub fn post(&mut self, qpn: u32, most: u64) -> u64 {
        let qp = &mut self.qps[qpn as usize];
        let room = (1u64 << qp.shape.log).saturating_sub(qp.written - qp.ended);
        let count = room.min(most);
        for _ in 0..count {
            let at = (qp.written % (1 << qp.shape.log)) as usize;
            qp.ring[at] = work_request(&mut self.dice, &self.manner, self.mtu);
            qp.written += 1;
        }
        if count > 0 {
            self.doorbells.push_back((qpn, 0, qp.written as u16));
        }
        count
    }

    /// Lets everything end, without refusals, and checks that it has ended exactly once.
    pub fn drain(&mut self) -> Check {
        self.hold = false;
        let manner = self.manner;
        self.manner.refuse = 0;
        self.manner.fail = 0;
        self.settle()?;
        let limit = self.now + 200_000;
        self.clocks(40)?;
        while !(self.idle && self.flights.is_empty() && self.fatal.is_empty() && self.caught_up()) {
            self.expect(self.now < limit, "does not come to its end")?;
            self.clock()?;
        }
        self.clocks(100)?;
        self.expect(self.places.kept.is_empty(), "a place is kept for ever")?;
        let used: usize = self.slots.used.values().sum();
        self.expect(used == 0, "a slot is reserved for ever")?;
        self.expect(self.owed == [0; 3], "stalls or local errors miscounted")?;
        self.manner = manner;
        Ok(())
    }

    fn caught_up(&self) -> bool {
        self.qps
            .iter()
            .all(|qp| qp.state != State::ReadyToSend || qp.gone || qp.fetched >= qp.posted)
    }
}

impl Qp {
    fn none(dice: &mut Dice, qpn: u32) -> Self {
        Self {
            state: State::Reset,
            shape: Shape::random(dice, qpn),
            ring: vec![],
            written: 0,
            posted: 0,
            taken_back: None,
            fetched: 0,
            ended: 0,
            read: 0,
            error: None,
            gone: false,
            passed: BTreeMap::new(),
        }
    }
}
