//! The completion queues with everything around them: who asks for slots, who has completions, dma_write, software.
//!
//! Software and hardware see things some clocks apart. Where the order of two events decides and cannot be known,
//! both outcomes are allowed, and the bench goes on from the one that it saw.

use crate::bench::{Dice, Rtl};
use std::collections::VecDeque;
use tributary_protocol::card::command;
use tributary_protocol::card::descriptor::{Arrival, COMPLETION_LEN, Completion, Of};
use tributary_protocol::red::Address;
use tributary_protocol::red::wire::Reduction;
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::Verilated;

/// log2 of the queue pairs.
pub const LQ: usize = 3;
/// Clocks within which a doorbell or a slot given back counts.
const WINDOW: u64 = 64;
/// Time of a doorbell that has not been rung.
const NOT_YET: u64 = u64::MAX - WINDOW;
/// The words that make a completion queue.
const BASE: u64 = 4;
const RESET: u64 = 6;
/// Words of a frame that come by themselves.
const ARRIVAL_WORDS: usize = 7;
/// Port of stalls at which they do.
const FRAMES: usize = 3;
/// Kinds of doorbells.
const COMPLETE: u64 = 2;
const ARM: u64 = 3;

/// Ports of a source of completions.
struct Source([&'static str; 18]);

const TX: Source = Source([
    "s_tx_valid",
    "s_tx_ready",
    "s_tx_qpn",
    "s_tx_wr_id",
    "s_tx_status",
    "s_tx_vf",
    "s_tx_len",
    "s_tx_node",
    "s_tx_peer",
    "s_tx_win_id",
    "s_tx_epoch",
    "s_tx_msn",
    "s_tx_q_key",
    "s_tx_psn",
    "s_tx_request",
    "s_tx_notified",
    "s_tx_arrived",
    "s_tx_marked",
]);
const RX: Source = Source([
    "s_rx_valid",
    "s_rx_ready",
    "s_rx_qpn",
    "s_rx_wr_id",
    "s_rx_status",
    "s_rx_vf",
    "s_rx_len",
    "s_rx_node",
    "s_rx_peer",
    "s_rx_win_id",
    "s_rx_epoch",
    "s_rx_msn",
    "s_rx_q_key",
    "s_rx_psn",
    "s_rx_request",
    "s_rx_notified",
    "s_rx_arrived",
    "s_rx_marked",
]);

/// Outputs with a handshake: valid, and what must not change while it is held.
const OFFERS: [(&str, &[&str]); 3] = [
    ("m_wr_valid", &["m_wr_addr", "m_wr_len", "m_wr_ctx"]),
    ("m_wd_valid", &["m_wd_data"]),
    ("m_irq_valid", &["m_irq_vector"]),
];

/// Chances in percent.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// A slot is asked for.
    pub reserve: u32,
    /// A completion that has its slot is offered.
    pub record: u32,
    /// A slot is given back instead.
    pub cancel: u32,
    /// dma_write takes a request, a word.
    pub request: u32,
    pub word: u32,
    /// A request that is done is reported.
    pub done: u32,
    /// Software takes completions; most at once.
    pub consume: u32,
    pub batch: u64,
    /// Software rings a doorbell that is bad.
    pub bad: u32,
    /// Software arms.
    pub arm: u32,
    /// A doorbell that waits is rung.
    pub ring: u32,
    /// An interrupt is taken.
    pub irq: u32,
    /// A completion of the sender is a frame; one of its words is offered.
    pub arrival: u32,
    pub frame: u32,
}

/// Nothing waits for anything.
pub const FAST: Rates = Rates {
    reserve: 100,
    record: 100,
    cancel: 0,
    request: 100,
    word: 100,
    done: 100,
    consume: 3,
    batch: 64,
    bad: 0,
    arm: 100,
    ring: 15,
    irq: 100,
    arrival: 0,
    frame: 100,
};

/// Nothing new begins.
pub const DRAIN: Rates = Rates {
    reserve: 0,
    consume: 0,
    arm: 0,
    batch: 1,
    ..FAST
};

#[derive(Clone, Debug, Default)]
pub struct Ring {
    there: bool,
    log: u8,
    base: u64,
    vector: u64,
    /// Ever: slots given away, completions numbered, done, taken by software.
    issued: u64,
    numbered: u64,
    pub done: u64,
    consumer: u64,
    /// Interrupt wanted as soon as more than this are done.
    armed: Option<u64>,
    /// When that has come due for all of the block; until then a new arm may replace it.
    calm_from: u64,
    /// (time, slots) that came free but may not be seen yet.
    unseen: VecDeque<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    qpn: usize,
    completion: Completion,
    /// It is this frame; of the completion only the number of the request counts.
    arrival: Option<Arrival>,
}

/// A request in dma_write.
#[derive(Clone, Debug)]
struct Write {
    ctx: u64,
    addr: u64,
    words: Vec<u64>,
}

/// Interrupts of a vector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Irq {
    /// Became due; taken at most so many; time of the latest of each.
    credit: u64,
    last_due: Option<u64>,
    pub last_taken: Option<u64>,
    pub taken: u64,
}

pub struct Bench {
    pub rtl: Rtl,
    pub dice: Dice,
    pub rings: Vec<Ring>,
    pub moderation: u64,
    /// Queue pairs that are used.
    pub active: u64,
    /// The slot each side asks for.
    asked: [Option<usize>; 2],
    /// Slots each side has.
    slots: [Vec<usize>; 2],
    /// Completion each side offers.
    offered: [Option<Record>; 2],
    /// Completions taken, by side.
    taken: [VecDeque<Record>; 2],
    writing: Option<Write>,
    written: VecDeque<u64>,
    landed: bool,
    doorbell: VecDeque<(usize, u64, u64)>,
    bad: u64,
    seen_bad: u64,
    pub irqs: [Irq; 8],
    irq_was: bool,
    /// When requests, words and interrupts are taken, instead of the rates' chances.
    pub stalls: Option<Stalls>,
    /// Of each output: the word on offer that was not taken in the clock before.
    held: [Option<Vec<u64>>; 3],
    /// Of all: slots refused, completions done.
    pub refused: u64,
    pub done: u64,
    requests: u16,
    /// Words of frames that have not been taken; the first one is offered.
    words: VecDeque<u64>,
    word: bool,
    /// Frames that are done.
    pub arrivals: u64,
    /// Slots given back since one was answered, which comes behind all that were given back before.
    given_back: u32,
}

/// The block keeps 16 slots that are given back, and some may be on their way as one is answered.
const GIVEN_BACK: u32 = 8;

impl Bench {
    pub fn new(library: &Verilated, seed: u64, moderation: u64) -> Self {
        let mut rtl = Rtl::new(library, seed);
        for input in [
            "cfg_valid",
            "db_valid",
            "a_rsv_valid",
            "a_cancel_valid",
            "b_rsv_valid",
            "s_tx_valid",
            "s_rx_valid",
            "s_words_valid",
            "s_words_data",
            "m_wr_ready",
            "m_wd_ready",
            "done_valid",
            "m_irq_ready",
        ] {
            rtl.set(input, 0u8);
        }
        rtl.set("cfg_moderation", moderation);
        rtl.reset(2);
        // Contexts come when the tables have been cleared.
        rtl.clocks(1 << LQ);
        Self {
            rtl,
            dice: Dice::new(seed),
            rings: vec![Ring::default(); 1 << LQ],
            moderation,
            active: 1 << LQ,
            asked: [None; 2],
            slots: [vec![], vec![]],
            offered: [None; 2],
            taken: [VecDeque::new(), VecDeque::new()],
            writing: None,
            written: VecDeque::new(),
            landed: false,
            doorbell: VecDeque::new(),
            bad: 0,
            seen_bad: 0,
            irqs: [Irq::default(); 8],
            irq_was: false,
            stalls: None,
            held: Default::default(),
            refused: 0,
            done: 0,
            requests: 0,
            words: VecDeque::new(),
            word: false,
            arrivals: 0,
            given_back: 0,
        }
    }

    fn context(&mut self, qpn: usize, word: u64, data: u64) {
        self.rtl.set("cfg_valid", 1u8);
        self.rtl.set("cfg_qpn", qpn as u64);
        self.rtl.set("cfg_word", word);
        self.rtl.set("cfg_data", data);
        self.clock(&DRAIN);
        self.rtl.set("cfg_valid", 0u8);
    }

    /// As card_regs makes a queue pair.
    pub fn create(&mut self, qpn: usize, log: u8, vector: u8) {
        let base = self.dice.bits(64) & !63;
        for word in [1, 2, 3] {
            let noise = self.dice.bits(64);
            self.context(qpn, word, noise);
        }
        self.context(qpn, BASE, base);
        self.context(qpn, 5, 0);
        self.context(qpn, RESET, 0);
        let shape = command::SHAPE_COMPLETE.put(log.into())
            | command::SHAPE_VECTOR.put(vector.into())
            | command::SHAPE_SEND.put(self.dice.bits(4) as u32);
        let data = self.dice.bits(16) << 32 | u64::from(shape) | 1;
        self.context(qpn, 0, data);
        self.rings[qpn] = Ring {
            there: true,
            log,
            base,
            vector: vector.into(),
            ..Ring::default()
        };
    }

    pub fn destroy(&mut self, qpn: usize) {
        self.context(qpn, 0, 0);
        self.rings[qpn] = Ring::default();
    }

    fn record(&mut self, qpn: usize, of: Of, arrival: u32) -> Record {
        self.requests = self.requests.wrapping_add(1);
        let arrives = of == Of::Send && arrival > 0 && self.dice.chance(arrival);
        let arrival = arrives.then(|| self.arrival());
        let d = &mut self.dice;
        let completion = Completion {
            wr_id: d.bits(64),
            status: d.of(Outcome::ALL),
            of: match of {
                Of::Receive if d.chance(30) => Of::Notify,
                other => other,
            },
            version_flags: d.bits(8) as u8,
            length: d.bits(32) as u32,
            peer: Peer {
                node: d.bits(20) as u32,
                qpn: d.bits(24) as u32,
            },
            window: Window {
                id: d.bits(16) as u16,
                epoch: d.bits(16) as u16,
                msn: d.bits(32) as u32,
            },
            q_key: d.bits(32) as u32,
            psn: d.bits(24) as u32,
            request: self.requests,
            number: 0,
            marked: d.chance(40),
        };
        Record {
            qpn,
            completion,
            arrival,
        }
    }

    /// A frame, whose words come by themselves.
    fn arrival(&mut self) -> Arrival {
        let d = &mut self.dice;
        let arrival = Arrival {
            kind: d.bits(4) as u8,
            round: d.bits(56),
            reduction: d.bits(3) as u8,
            by_tree: d.chance(50),
            fetched: 0,
            source: Address(d.bits(32) as u32),
            red: loop {
                if let Ok(red) = Reduction::from_word(0, d.bits(64)) {
                    break red;
                }
            },
            data: std::array::from_fn(|_| d.bits(64)),
            answered: d.chance(50),
            number: 0,
        };
        let entry = arrival.encode(0);
        let words = entry.chunks_exact(8).take(ARRIVAL_WORDS);
        let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("8 bytes"));
        self.words.extend(words.map(word));
        arrival
    }

    fn offer(&mut self, source: &Source, record: Option<Record>) {
        let n = &source.0;
        self.rtl.set(n[0], record.is_some());
        let Some(record) = record else {
            return;
        };
        let (qpn, c) = (record.qpn, record.completion);
        self.rtl.set(n[2], qpn as u64);
        self.rtl.set(n[3], c.wr_id);
        self.rtl.set(n[4], c.status.code());
        self.rtl.set(n[5], c.version_flags);
        self.rtl.set(n[6], c.length);
        self.rtl.set(n[7], c.peer.node);
        self.rtl.set(n[8], c.peer.qpn);
        self.rtl.set(n[9], c.window.id);
        self.rtl.set(n[10], c.window.epoch);
        self.rtl.set(n[11], c.window.msn);
        self.rtl.set(n[12], c.q_key);
        self.rtl.set(n[13], c.psn);
        self.rtl.set(n[14], c.request);
        let answered = record.arrival.is_some_and(|arrival| arrival.answered);
        self.rtl.set(n[15], c.of == Of::Notify || answered);
        self.rtl.set(n[16], record.arrival.is_some());
        self.rtl.set(n[17], c.marked);
    }

    fn due(&mut self, vector: u64) {
        let irq = &mut self.irqs[vector as usize];
        irq.credit += 1;
        irq.last_due = Some(self.rtl.now);
    }

    /// A slot asked for by side `i` has been answered.
    fn answered(&mut self, i: usize, ok: bool) {
        let qpn = self.asked[i].take().expect("an answer to a question");
        self.given_back = 0;
        let ring = &mut self.rings[qpn];
        let now = self.rtl.now;
        while ring.unseen.front().is_some_and(|u| u.0 + WINDOW < now) {
            ring.unseen.pop_front();
        }
        let size = 1 << ring.log;
        let used = ring.issued - ring.consumer;
        let unseen: u64 = ring.unseen.iter().map(|u| u.1).sum();
        if ok {
            assert!(ring.there && used < size, "slot {used} of {size}");
            ring.issued += 1;
            self.slots[i].push(qpn);
        } else {
            self.refused += 1;
            let must = ring.there && used + unseen < size;
            assert!(
                !must,
                "refused with {used} of {size} in use, {unseen} just free"
            );
        }
    }

    /// The last word of a completion has been taken by dma_write.
    fn wrote(&mut self, write: Write) {
        let rx = write.ctx >> 12 & 1;
        let record = self.taken[rx as usize]
            .pop_front()
            .expect("a record was taken");
        assert_eq!(write.ctx, 1 << 13 | rx << 12 | record.qpn as u64);
        let ring = &mut self.rings[record.qpn];
        let number = ring.numbered;
        ring.numbered += 1;
        let size = 1u64 << ring.log;
        assert!(number - ring.consumer < size, "the ring overruns");
        assert_eq!(
            write.addr,
            ring.base.wrapping_add(64 * (number % size)),
            "address of {number} of {size}"
        );
        let number = number as u16;
        let want = match record.arrival {
            Some(arrival) => Arrival {
                number,
                fetched: record.completion.request,
                ..arrival
            }
            .encode(ring.log),
            None => Completion {
                number,
                ..record.completion
            }
            .encode(ring.log),
        };
        self.arrivals += u64::from(record.arrival.is_some());
        let bytes: Vec<u8> = write.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(bytes[..], want[..COMPLETION_LEN], "{record:?}");
        self.written.push_back(write.ctx);
    }

    /// dma_write has done the oldest request.
    fn ended(&mut self, ctx: u64) {
        let qpn = (ctx & ((1 << LQ) - 1)) as usize;
        let ring = &mut self.rings[qpn];
        ring.done += 1;
        self.done += 1;
        let vector = ring.vector;
        if ring.armed.is_some_and(|at| ring.done > at) {
            ring.armed = None;
            ring.calm_from = self.rtl.now + WINDOW;
            self.due(vector);
        }
    }

    /// Software looks at its rings.
    fn software(&mut self, rates: &Rates) {
        let qpn = self.dice.below(self.active) as usize;
        let ready = self.rings[qpn].done - self.rings[qpn].consumer;
        if ready > 0 && self.dice.chance(rates.consume) {
            let count = 1 + self.dice.below(ready.min(rates.batch));
            let ring = &mut self.rings[qpn];
            ring.consumer += count;
            ring.unseen.push_back((NOT_YET, count));
            self.doorbell.push_back((qpn, COMPLETE, ring.consumer));
        }
        if self.dice.chance(rates.bad) {
            let ring = &self.rings[qpn];
            let beyond = (1 << ring.log) + 1;
            let index = ring.consumer + beyond + self.dice.below(65_536 - beyond);
            let kind = if ring.there {
                COMPLETE
            } else {
                self.dice.of(&[COMPLETE, ARM])
            };
            self.doorbell.push_back((qpn, kind, index));
            self.bad += 1;
        }
        if self.dice.chance(rates.bad) {
            // Of other owners.
            let (kind, index) = (self.dice.below(2), self.dice.bits(16));
            self.doorbell.push_back((qpn, kind, index));
        }
        let ring = &self.rings[qpn];
        // Whether an arm counts that is replaced as it comes due is nobody's to say.
        let calm = ring.armed.is_none() && ring.calm_from <= self.rtl.now;
        if ring.there && calm && self.dice.chance(rates.arm) {
            let at = ring.consumer + self.dice.of(&[0, 0, 0, 1, 5]);
            let now = ring.done > at;
            let vector = ring.vector;
            self.rings[qpn].armed = (!now).then_some(at);
            if now {
                self.due(vector);
            }
            self.doorbell.push_back((qpn, ARM, at));
        }
    }

    pub fn clock(&mut self, rates: &Rates) {
        // Inputs.
        let ring_now = self.dice.chance(rates.ring);
        if self.doorbell.len() < 8 {
            self.software(rates);
        }
        let doorbell = if ring_now {
            self.doorbell.pop_front()
        } else {
            None
        };
        self.rtl.set("db_valid", doorbell.is_some());
        if let Some((qpn, kind, index)) = doorbell {
            self.rtl.set("db_qpn", qpn as u64);
            self.rtl.set("db_kind", kind);
            self.rtl.set("db_index", index as u16);
            let ring = &mut self.rings[qpn];
            let rung = kind == COMPLETE && index <= ring.consumer;
            if rung && let Some(u) = ring.unseen.iter_mut().find(|u| u.0 == NOT_YET) {
                u.0 = self.rtl.now;
            }
        }
        for i in 0..2 {
            if self.asked[i].is_none() && self.dice.chance(rates.reserve) {
                self.asked[i] = Some(self.dice.below(self.active) as usize);
            }
            let (valid, qpn) = [("a_rsv_valid", "a_rsv_qpn"), ("b_rsv_valid", "b_rsv_qpn")][i];
            self.rtl.set(valid, self.asked[i].is_some());
            if let Some(asked) = self.asked[i] {
                self.rtl.set(qpn, asked as u64);
            }
            if self.offered[i].is_none()
                && !self.slots[i].is_empty()
                && self.dice.chance(rates.record)
            {
                let which = self.dice.below(self.slots[i].len() as u64) as usize;
                let qpn = self.slots[i].swap_remove(which);
                let of = [Of::Send, Of::Receive][i];
                self.offered[i] = Some(self.record(qpn, of, rates.arrival));
            }
            self.offer([&TX, &RX][i], self.offered[i]);
        }
        let room = self.given_back < GIVEN_BACK;
        let cancel = if room && self.dice.chance(rates.cancel) {
            self.given_back += 1;
            self.slots[0].pop()
        } else {
            None
        };
        self.rtl.set("a_cancel_valid", cancel.is_some());
        if let Some(qpn) = cancel {
            self.rtl.set("a_cancel_qpn", qpn as u64);
            self.rings[qpn].issued -= 1;
            let now = self.rtl.now;
            self.rings[qpn].unseen.push_back((now, 1));
        }
        // As the mux in front of dma_write: a request, its words, the next request.
        let wants = match &mut self.stalls {
            Some(stalls) => {
                stalls.clock();
                [0, 1, 2].map(|port| stalls.ready(port))
            }
            None => [rates.request, rates.word, rates.irq].map(|rate| self.dice.chance(rate)),
        };
        self.offer_word(rates);
        let request = self.writing.is_none() && wants[0];
        let word = self.writing.is_some() && wants[1];
        let irq_ready = wants[2];
        self.rtl.set("m_wr_ready", request);
        self.rtl.set("m_wd_ready", word);
        let done = if self.dice.chance(rates.done) {
            self.written.pop_front()
        } else {
            None
        };
        self.rtl.set("done_valid", done.is_some());
        self.rtl.set("done_ctx", done.unwrap_or(1 << 13));
        if done.is_none() && self.dice.chance(10) {
            // Of another client.
            self.rtl.set("done_valid", 1u8);
            let client = self.dice.of(&[0u64, 2, 3, 4]);
            let ctx = client << 13 | self.dice.bits(13);
            self.rtl.set("done_ctx", ctx);
        }
        self.rtl.set("m_irq_ready", irq_ready);
        self.rtl.settle();
        self.offers([request, word, irq_ready]);
        self.outputs(request, word, irq_ready);
        if let Some(ctx) = done {
            self.ended(ctx);
        }
        self.rtl.clock();
        self.landed = done.is_some_and(|ctx| ctx >> 12 & 1 == 1);
    }

    /// Words of frames come with gaps, and may be there before their record.
    fn offer_word(&mut self, rates: &Rates) {
        if !self.word && !self.words.is_empty() {
            self.word = match &self.stalls {
                Some(stalls) => stalls.ready(FRAMES),
                None => self.dice.chance(rates.frame),
            };
        }
        self.rtl.set("s_words_valid", self.word);
        // Whatever is there without one counts for nothing.
        let noise = self.rtl.now.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let data = self.words.front().copied().filter(|_| self.word);
        self.rtl.set("s_words_data", data.unwrap_or(noise));
    }

    /// What is offered stays until it is taken.
    fn offers(&mut self, ready: [bool; 3]) {
        for (port, (valid, fields)) in OFFERS.into_iter().enumerate() {
            let offered = self.rtl.is(valid);
            if let Some(stalls) = &mut self.stalls {
                let end = self.writing.as_ref().is_none_or(|w| w.words.len() == 7);
                stalls.observe(port, offered, port != 1 || end);
            }
            let words: Vec<u64> = fields.iter().map(|field| self.rtl.get(field)).collect();
            if let Some(held) = &self.held[port] {
                assert!(offered && *held == words, "{valid}: a held word changed");
            }
            self.held[port] = (offered && !ready[port]).then_some(words);
        }
    }

    /// What happens in this clock.
    fn outputs(&mut self, request: bool, word: bool, irq_ready: bool) {
        assert_eq!(self.rtl.is("m_landed"), self.landed, "landed");
        self.seen_bad += self.rtl.get("ev_bad_doorbell");
        let waits = self.taken.iter().any(|t| !t.is_empty()) || !self.written.is_empty();
        assert!(!(waits && self.rtl.is("m_idle")), "idle too early");
        for (i, (done, ok)) in [("a_rsv_done", "a_rsv_ok"), ("b_rsv_done", "b_rsv_ok")]
            .into_iter()
            .enumerate()
        {
            if self.rtl.is(done) {
                let ok = self.rtl.is(ok);
                self.answered(i, ok);
            }
        }
        for (i, source) in [&TX, &RX].into_iter().enumerate() {
            if self.rtl.is(source.0[1])
                && let Some(record) = self.offered[i].take()
            {
                self.taken[i].push_back(record);
            }
        }
        if let Some(stalls) = &mut self.stalls {
            stalls.observe(FRAMES, self.word, self.words.len() % ARRIVAL_WORDS == 1);
        }
        if self.word && self.rtl.is("s_words_ready") {
            let moves = word && self.rtl.is("m_wd_valid");
            assert!(moves, "a word of a frame is taken and leaves nowhere");
            self.words.pop_front();
            self.word = false;
        }
        if word && self.rtl.is("m_wd_valid") {
            let data = self.rtl.get("m_wd_data");
            let write = self.writing.as_mut().expect("its request was taken");
            write.words.push(data);
            if write.words.len() == 8
                && let Some(write) = self.writing.take()
            {
                self.wrote(write);
            }
        }
        if request && self.rtl.is("m_wr_valid") {
            assert_eq!(self.rtl.get("m_wr_len"), COMPLETION_LEN as u64);
            let (ctx, addr) = (self.rtl.get("m_wr_ctx"), self.rtl.get("m_wr_addr"));
            let words = Vec::new();
            self.writing = Some(Write { ctx, addr, words });
        }
        let irq = self.rtl.is("m_irq_valid");
        if irq {
            let vector = self.rtl.get("m_irq_vector");
            let now = self.rtl.now;
            let irq = &mut self.irqs[vector as usize];
            if !self.irq_was {
                assert!(irq.credit > 0, "interrupt of vector {vector} for nothing");
                let early = irq.last_taken.is_some_and(|t| now < t + self.moderation);
                assert!(!early, "vector {vector} again after {:?}", irq.last_taken);
            }
            if irq_ready {
                irq.credit -= 1;
                irq.last_taken = Some(now);
                irq.taken += 1;
            }
        }
        self.irq_was = irq && !irq_ready;
    }

    /// Arms; nothing else is under way.
    pub fn arm(&mut self, qpn: usize, at: u64) {
        let ring = &mut self.rings[qpn];
        let (now, vector) = (ring.done > at, ring.vector);
        ring.armed = (!now).then_some(at);
        if now {
            self.due(vector);
        }
        self.doorbell.push_back((qpn, ARM, at));
        self.settle();
    }

    /// Arms far ahead, so many times without a pause, while all else goes on.
    pub fn burst(&mut self, qpn: usize, count: usize) {
        let at = self.rings[qpn].done + 20_000;
        self.rings[qpn].armed = Some(at);
        let arms = (0..count).map(|_| (qpn, ARM, at));
        self.doorbell.extend(arms);
        while !self.doorbell.is_empty() {
            self.clock(&Rates {
                ring: 100,
                consume: 0,
                ..FAST
            });
        }
    }

    /// One completion of the receiver.
    pub fn complete(&mut self, qpn: usize) {
        self.asked[1] = Some(qpn);
        let want = self.done + 1;
        for _ in 0..100 {
            self.clock(&DRAIN);
        }
        assert_eq!(self.done, want);
        self.settle();
    }

    fn settle(&mut self) {
        for _ in 0..100 {
            self.clock(&DRAIN);
        }
    }

    /// Lets everything end, and looks whether all is accounted for.
    pub fn drain(&mut self) {
        for _ in 0..20_000 {
            self.clock(&DRAIN);
            let busy = self.asked.iter().any(Option::is_some)
                || self.offered.iter().any(Option::is_some)
                || self.slots.iter().any(|s| !s.is_empty())
                || !self.doorbell.is_empty();
            if !busy && self.rtl.is("m_idle") {
                break;
            }
        }
        assert!(self.rtl.is("m_idle"), "not idle");
        assert!(self.words.is_empty(), "words of frames are left");
        for (qpn, ring) in self.rings.iter().enumerate() {
            assert_eq!(ring.done, ring.issued, "queue pair {qpn}");
        }
        let start = self.rtl.now;
        let late = |irq: &Irq| irq.last_due > irq.last_taken;
        while self.irqs.iter().any(late) {
            self.clock(&DRAIN);
            let waited = self.rtl.now - start;
            assert!(waited < self.moderation + 200, "an interrupt is lost");
        }
        for _ in 0..self.moderation + 40 {
            self.clock(&DRAIN);
        }
        for irq in &mut self.irqs {
            irq.credit = 0;
        }
        assert_eq!(self.seen_bad, self.bad, "bad doorbells");
    }
}
