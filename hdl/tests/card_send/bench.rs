//! The block in lock step with a model of it: what must come, in which order, exactly once.

use super::rtl::{ContextWrite, Doorbell, Inputs, Outputs, QPS, Read, Record, Rtl};
use super::world::{Dice, Manner, Places, Reader, Shape, Slots, all};
use std::collections::{BTreeMap, VecDeque};
use tributary_protocol::card::command::State;
use tributary_protocol::card::descriptor::WORK_LEN;
use tributary_sim::testbench::Stalls;
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
    pub taken_back: Option<(u64, u64)>,
    pub fetched: u64,
    pub ended: u64,
    /// When one has ended last.
    pub ended_at: u64,
    /// Fetches whose address was seen; numbers of those of which it was not, and whether one before them has come back.
    pub read: u64,
    pub unread: VecDeque<(u64, bool)>,
    /// The next one has come back.
    pub later: bool,
    /// Completion slots that work requests of bulk transfers have.
    pub bulks: usize,
    /// Work requests that have left for its group.
    pub reduces: u64,
    /// Clock since which it is in Error by command; whether something was dropped since, or its ring failed.
    pub error: Option<u64>,
    pub gone: bool,
    /// Others that had a turn while this one waited.
    pub passed: BTreeMap<u32, u32>,
}

/// A work request between fetch and record.
pub struct Fetched {
    pub qpn: u32,
    pub number: u64,
    pub psn: u32,
    pub entry: [u8; WORK_LEN],
    pub error: bool,
    /// One before it has come back.
    pub stale: bool,
}

/// A turn under way.
#[derive(Default)]
pub struct Turn {
    pub qpn: u32,
    pub psn: u32,
    pub slot: Option<bool>,
    pub place: Option<bool>,
}

/// What a run has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub clocks: u64,
    pub outcomes: BTreeMap<u8, u64>,
    pub records: u64,
    pub payloads: u64,
    pub dropped: u64,
    /// Of bulk transfers: that have left, that came back, that were fetched for nothing behind those.
    pub bulks: u64,
    pub came_back: u64,
    pub stale: u64,
    /// Of those that came back: for their fence.
    pub fenced: u64,
    /// Of groups: that have left, with a fence, with an opcode of bulk transfers, clocks in which one waited for room, and that
    /// were dropped.
    pub reduces: u64,
    pub reduces_fenced: u64,
    pub reduces_bulk: u64,
    pub no_room: u64,
    pub reduces_dropped: u64,
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
    pub rtl: Rtl,
    pub dice: Dice,
    pub manner: Manner,
    pub now: u64,
    pub mtu: u64,
    /// It knows bulk transfers.
    pub bulk: bool,
    /// When m_bulk was last offered something.
    pub bulk_at: u64,
    /// Place of the one that leaves now.
    pub bulk_place: Option<(u32, u32)>,
    /// Its queue pair has ended: it is dropped.
    pub bulk_ends: bool,
    /// Queue pairs may be in reduction groups.
    pub reduce: bool,
    /// Place of the work request of a group that has left in the clock before.
    pub reduce_place: Option<(u32, u32)>,
    /// Words of work requests that have not landed, and their number; those that landed last.
    pub landing: VecDeque<(u64, usize)>,
    pub words_in: usize,
    pub landed: Vec<u64>,
    pub hold: bool,
    pub idle: bool,
    /// Clock since which it is on hold.
    pub held: Option<u64>,
    pub qps: Vec<Qp>,
    pub seen: Seen,
    pub slots: Slots,
    pub places: Places,
    pub reader: Reader,
    /// Doorbells and contexts to give, one a clock each.
    pub doorbells: VecDeque<Doorbell>,
    pub contexts: VecDeque<ContextWrite>,
    /// Those given in the clock before, which count now: the block registers them.
    pub given: (Option<Doorbell>, Option<ContextWrite>),
    pub asks: Option<u32>,
    /// Clocks in which a bad doorbell must be counted.
    pub bad_at: VecDeque<u64>,
    pub looks: VecDeque<(u64, bool)>,
    pub turn: Option<Turn>,
    /// Slot or place to be given back.
    pub undo: Option<(u32, u32, bool)>,
    pub fetched: VecDeque<Fetched>,
    /// How many of them were looked up.
    pub looked: usize,
    pub record: Option<(Record, u64)>,
    /// Payload of records that were taken, not read yet.
    pub payload: VecDeque<Read>,
    /// Payload that was read before its record was taken.
    pub ahead: Option<Read>,
    /// Payloads that xud_tx waits for; fewer than none if one came before its record was taken.
    pub sending: i64,
    /// Requests in flight, and when they end.
    pub flights: Vec<(u64, u32, u32)>,
    /// Completions that card_send has still to be told of, one a clock.
    pub endings: VecDeque<u32>,
    /// Fatal queue pairs, and when their state becomes Error.
    pub fatal: VecDeque<(u64, u32)>,
    pub fatal_due: Option<u32>,
    /// Events that the block still owes: no slot, no place, local errors.
    pub owed: [i64; 3],
    pub before: (Inputs, Outputs),
    pub progress: u64,
    /// When m_set, m_rd and m_sd are taken, instead of the manner's chance.
    pub stalls: Option<Stalls>,
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
            bulk: seed % 4 != 3,
            bulk_at: 0,
            bulk_place: None,
            bulk_ends: false,
            reduce: manner.group > 0,
            reduce_place: None,
            landing: VecDeque::new(),
            words_in: 0,
            landed: vec![],
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
            given: (None, None),
            bad_at: VecDeque::new(),
            looks: VecDeque::new(),
            turn: None,
            undo: None,
            fetched: VecDeque::new(),
            looked: 0,
            record: None,
            payload: VecDeque::new(),
            ahead: None,
            sending: 0,
            flights: Vec::new(),
            endings: VecDeque::new(),
            fatal: VecDeque::new(),
            fatal_due: None,
            owed: [0; 3],
            held: None,
            before: (Inputs::default(), Outputs::default()),
            progress: 0,
            stalls: None,
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
            self.rtl.clock(&inputs)?;
        }
        self.qps = all().map(|qpn| Qp::none(&mut self.dice, qpn)).collect();
        self.slots = Slots::default();
        self.places = Places::default();
        self.reader = Reader::default();
        self.doorbells.clear();
        self.contexts.clear();
        self.given = (None, None);
        self.asks = None;
        self.bad_at.clear();
        self.looks.clear();
        self.turn = None;
        self.undo = None;
        self.fetched.clear();
        self.looked = 0;
        self.record = None;
        self.payload.clear();
        self.ahead = None;
        self.sending = 0;
        self.flights.clear();
        self.endings.clear();
        self.fatal.clear();
        self.fatal_due = None;
        self.owed = [0; 3];
        self.bulk_place = None;
        self.reduce_place = None;
        self.landing.clear();
        self.words_in = 0;
        self.landed.clear();
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

    pub fn expect(&self, holds: bool, what: &str) -> Check {
        if holds {
            Ok(())
        } else {
            Err(format!("clock {}: {what}", self.now))
        }
    }

    /// One clock.
    pub fn clock(&mut self) -> Check {
        let inputs = self.inputs();
        let lost = self.fault == Some(Fault::LoseDoorbell);
        let outputs = self.rtl.clock(&Inputs {
            db: self.given.0.filter(|&(qpn, ..)| !lost || qpn != 3),
            cfg: self.given.1,
            ..inputs.clone()
        })?;
        self.stable(&outputs)?;
        if let Some(stalls) = &mut self.stalls {
            let offered = [
                outputs.set.is_some(),
                outputs.rd.is_some(),
                outputs.sd.is_some(),
                outputs.bulk.is_some(),
            ];
            for (port, offered) in offered.into_iter().enumerate() {
                stalls.observe(port, offered, true);
            }
            if self.reduce {
                let first = self.fetched.front().filter(|_| self.looked > 0);
                let waits = first.is_some_and(|f| self.qps[f.qpn as usize].shape.member);
                stalls.observe(4, waits, true);
            }
        }
        // What the block sees in this clock comes before what it says.
        if let Some((qpn, word, data)) = inputs.cfg {
            self.context(qpn, word, data);
        }
        self.held = inputs.hold.then(|| self.held.unwrap_or(self.now));
        self.turns(&inputs, &outputs)?;
        self.bulks(&outputs)?;
        self.reduces(&inputs, &outputs)?;
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
        self.bulk_taken(&inputs, &outputs);
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
        let now = *now;
        let taken = match &mut self.stalls {
            None => [manner.taken, manner.taken, manner.taken, manner.bulk_taken]
                .map(|percent| dice.chance(percent)),
            Some(stalls) => {
                stalls.clock();
                [0, 1, 2, 3].map(|port| stalls.ready(port))
            }
        };
        let room = match &self.stalls {
            // Nobody looks at it.
            _ if !self.reduce => now & 1 == 1,
            Some(stalls) => stalls.ready(4),
            None => dice.chance(manner.room),
        };
        let rsv = self.slots.answer(self.asks, now, dice, manner);
        let mut place = self.places.answer(now, dice, manner);
        let beat = self.reader.beat(now, dice, manner);
        self.sending -= i64::from(beat.payload_done);
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
        let given = (self.doorbells.pop_front(), self.contexts.pop_front());
        let (db, cfg) = std::mem::replace(&mut self.given, given);
        let inputs = Inputs {
            rst: false,
            db,
            cfg,
            mtu: self.mtu,
            bulk: self.bulk,
            bulk_ready: self.bulk_ends || taken[3] && !self.hold,
            reduce: self.reduce,
            reduce_room: room,
            ended: self.endings.pop_front(),
            hold: self.hold,
            rsv,
            place,
            set_ready: taken[0],
            look,
            rd_ready: self.reader.waiting() < manner.reads && taken[1],
            wq: beat.word,
            sd_ready: self.sending < manner.ahead as i64 && taken[2],
        };
        let Some((qpn, 0, index)) = inputs.db else {
            return inputs;
        };
        // What the doorbell does; a state that counts from this clock on counts already.
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
        } else {
            self.bad_at.push_back(now + 4);
        }
        inputs
    }

    /// What is asked stays until it is answered.
    fn stable(&self, new: &Outputs) -> Check {
        let (inputs, old) = &self.before;
        self.expect(new.wq_ready, "a word of a work request is not taken")?;
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

    /// Requests in flight end; slots and places become free; queue pairs whose ring failed get their state.
    fn ends(&mut self) {
        let now = self.now;
        let (done, flights): (Vec<_>, _) =
            self.flights.drain(..).partition(|&(due, ..)| due <= now);
        self.flights = flights;
        for (_, qpn, psn) in done {
            let qp = &mut self.qps[qpn as usize];
            if self.places.kept.remove(&(qpn, psn)).is_none() {
                qp.bulks -= 1;
            }
            self.slots.free(qpn);
            qp.ended += 1;
            qp.ended_at = now;
            self.endings.push_back(qpn);
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
}

impl Qp {
    pub fn none(dice: &mut Dice, qpn: u32) -> Self {
        Self {
            state: State::Reset,
            shape: Shape::random(dice, qpn),
            ring: vec![],
            written: 0,
            posted: 0,
            taken_back: None,
            fetched: 0,
            ended: 0,
            ended_at: 0,
            read: 0,
            unread: VecDeque::new(),
            later: false,
            bulks: 0,
            reduces: 0,
            error: None,
            gone: false,
            passed: BTreeMap::new(),
        }
    }
}
