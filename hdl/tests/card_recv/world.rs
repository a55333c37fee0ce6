//! The block in lock step with the rules: every clock, all surroundings, every output accounted for.

mod notices;
mod verdicts;

use std::collections::VecDeque;

use tributary_protocol::card::descriptor::{RECEIVE_LEN, ReceiveRequest};

use crate::host::{Dice, Knobs, Landings, Reads, Regions, Slot, Slots, Writes};
use crate::model::{Qp, Request, Verdict, verdict};
use crate::order::Event;
use crate::ports::Dut;
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::Verilated;

/// A completion that the block owes card_cq.
#[derive(Clone, Debug)]
pub struct Record {
    pub qpn: usize,
    pub rq: Option<Request>,
    pub wr_id: u64,
    pub status: u8,
    pub len: u32,
    pub request: u16,
    /// Payloads that must have been asked for before it, and be there before it lands.
    pub payloads: usize,
}

/// An acknowledgement that the block owes xud_tx; none for a ring that could not be read.
pub type Owed = Option<(Request, u8)>;

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub verdicts: [u64; 8],
    pub accepted: u64,
    pub refused_slot: u64,
    pub refused_access: u64,
    pub local_queue: u64,
    pub bad_doorbells: u64,
    pub fatals: u64,
    pub reads: u64,
    pub acks: u64,
    /// Verdicts compared with `protocol::xud::Card`.
    pub compared: u64,
    /// Notifications that were refused, and taken; withdrawn.
    pub told: [u64; 2],
    pub withdrawn: u64,
}

pub struct World {
    pub dut: Dut,
    pub now: u64,
    pub dice: Dice,
    pub knobs: Knobs,
    /// When the outputs are taken, instead of the knobs' chances.
    pub stalls: Option<Stalls>,
    pub mtu: u16,
    pub hold: bool,
    pub qps: Vec<Qp>,
    pub places: usize,
    /// To come: doorbells (queue pair, kind, index), words of configuration, requests.
    pub doorbells: VecDeque<(usize, u8, u16)>,
    pub configs: VecDeque<(usize, u8, u64)>,
    /// Of the clock before: it counts from now on.
    config: Option<(usize, u8, u64)>,
    pub requests: VecDeque<Request>,
    /// The request on offer, since when, and every verdict that was right meanwhile.
    offer: Option<(Request, u64, Vec<Verdict>)>,
    pub notices: VecDeque<Request>,
    /// The notification on offer, as above; it is looked at.
    notice: Option<(Request, u64, Vec<Verdict>)>,
    begun: bool,
    payload: VecDeque<(u64, bool)>,
    offering: bool,
    pub reads: Reads,
    pub writes: Writes,
    regions: Regions,
    slots: Slots,
    /// Answer for the request on offer.
    slot: Option<Slot>,
    landings: Landings,
    /// Owed: payloads, completions, acknowledgements that wait and those that do not.
    pub owed_writes: VecDeque<(u64, Vec<u8>)>,
    pub owed_records: VecDeque<Record>,
    pub owed_landed: VecDeque<Owed>,
    pub owed_now: VecDeque<Owed>,
    /// How many of `owed_landed` have landed.
    landed: usize,
    taken: usize,
    pub payloads: usize,
    offered_payloads: usize,
    acknowledged: usize,
    /// Queue pairs whose m_fatal is to come, and those without their completion.
    owed_fatal: VecDeque<usize>,
    pub owed_failed: VecDeque<usize>,
    /// Clocks in which a receive request was taken.
    pub takes: Vec<u64>,
    pub events: Vec<Event>,
    pub counts: Counts,
    /// card_regs sets the state Error so many clocks after m_fatal.
    fatal_latency: u64,
    errors: VecDeque<(u64, usize)>,
    /// Held, and was idle since.
    held: bool,
}

impl World {
    pub fn new(library: &Verilated, qps: usize, places: usize, knobs: Knobs, seed: u64) -> Self {
        Self::around(Dut::new(library), qps, places, knobs, seed)
    }

    /// The surroundings of a block that was just reset.
    pub fn around(dut: Dut, qps: usize, places: usize, knobs: Knobs, seed: u64) -> Self {
        let mut world = Self {
            dut,
            now: 0,
            dice: Dice::new(seed),
            knobs,
            stalls: None,
            mtu: 1024,
            hold: false,
            qps: vec![Qp::default(); qps],
            places,
            doorbells: VecDeque::new(),
            configs: VecDeque::new(),
            config: None,
            requests: VecDeque::new(),
            offer: None,
            notices: VecDeque::new(),
            notice: None,
            begun: false,
            payload: VecDeque::new(),
            offering: false,
            reads: Reads::default(),
            writes: Writes::default(),
            regions: Regions::default(),
            slots: Slots::default(),
            slot: None,
            landings: Landings::default(),
            owed_writes: VecDeque::new(),
            owed_records: VecDeque::new(),
            owed_landed: VecDeque::new(),
            owed_now: VecDeque::new(),
            landed: 0,
            taken: 0,
            payloads: 0,
            offered_payloads: 0,
            acknowledged: 0,
            owed_fatal: VecDeque::new(),
            owed_failed: VecDeque::new(),
            takes: vec![],
            events: vec![],
            counts: Counts::default(),
            fatal_latency: 20,
            errors: VecDeque::new(),
            held: false,
        };
        // The sweep: m_idle says when it is over.
        let mut sweep = 0;
        while !world.dut.is_set(world.dut.p.m_idle) {
            world.dut.clock();
            sweep += 1;
            assert!(sweep <= qps + 4, "the sweep takes a clock a queue pair");
        }
        assert!(sweep >= qps, "no queue pair is forgotten");
        world
    }

    /// Makes a queue pair as CREATE_QP and MODIFY_QP do: words 1 to 6, then 0.
    pub fn create(&mut self, qpn: usize, qp: &Qp) {
        for word in 1..7 {
            self.configs.push_back((qpn, word, qp.config(word)));
        }
        self.configs.push_back((qpn, 0, qp.config(0)));
        self.qps[qpn].slots = qp.slots;
        self.errors.retain(|&(_, other)| other != qpn);
        self.until(20, "configuration", |w| {
            w.configs.is_empty() && w.config.is_none()
        });
    }

    /// Changes state or epochs of a queue pair.
    pub fn modify(&mut self, qpn: usize, change: impl FnOnce(&mut Qp)) {
        let old = &self.qps[qpn];
        let mut new = old.clone();
        change(&mut new);
        for word in [0, 5]
            .into_iter()
            .filter(|&w| new.config(w) != old.config(w))
        {
            self.configs.push_back((qpn, word, new.config(word)));
        }
    }

    /// Posts receive requests and rings once.
    pub fn post(&mut self, qpn: usize, requests: &[ReceiveRequest]) {
        let qp = &mut self.qps[qpn];
        let ring = qp.length();
        for request in requests {
            qp.ring.insert(qp.posted % ring, *request);
            qp.posted = qp.posted.wrapping_add(1);
        }
        let index = qp.posted;
        self.doorbells.push_back((qpn, 1, index));
    }

    /// Rings with an index that must be ignored.
    pub fn ring_badly(&mut self, qpn: usize, index: u16) {
        self.doorbells.push_back((qpn, 1, index));
        self.counts.bad_doorbells += 1;
    }

    /// Whether nothing is under way, as far as the surroundings know.
    pub fn quiet(&self) -> bool {
        self.offer.is_none()
            && self.requests.is_empty()
            && self.notice.is_none()
            && self.notices.is_empty()
            && self.nothing_owed()
    }

    /// Whether the block owes nothing.
    pub fn nothing_owed(&self) -> bool {
        self.owed_writes.is_empty()
            && self.owed_records.is_empty()
            && self.owed_landed.is_empty()
            && self.owed_now.is_empty()
            && self.owed_fatal.is_empty()
            && self.owed_failed.is_empty()
            && self.payload.is_empty()
            && self.reads.under_way() == 0
            && self.landings.waiting() == 0
    }

    /// Clocks until `done`, at most `limit`.
    pub fn until(&mut self, limit: u64, what: &str, done: impl Fn(&Self) -> bool) -> u64 {
        let start = self.now;
        while !done(self) {
            self.step();
            assert!(self.now - start < limit, "{what} took over {limit} clocks");
        }
        self.now - start
    }

    pub fn steps(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.step();
        }
    }

    /// One clock.
    pub fn step(&mut self) {
        self.drive();
        self.judge();
        self.apply_config();
        self.judge();
        self.dut.settle();
        self.observe_stalls();
        self.observe_reads();
        self.observe_stores();
        self.observe_acks();
        self.observe_verdict();
        self.observe_fatal();
        self.dut.clock();
        self.now += 1;
    }

    fn drive(&mut self) {
        let (p, now, knobs) = (self.dut.p, self.now, self.knobs);
        self.dut.set(p.hold, self.hold);
        self.dut.set(p.cfg_mtu, self.mtu);
        let bell = self.doorbells.pop_front();
        self.dut.set(p.db_valid, bell.is_some());
        if let Some((qpn, kind, index)) = bell {
            self.dut.set(p.db_qpn, qpn as u64);
            self.dut.set(p.db_kind, kind);
            self.dut.set(p.db_index, index);
        }
        if self.offer.is_none() && self.dice.chance(knobs.offer) {
            self.offer = self.requests.pop_front().map(|rq| (rq, now, vec![]));
        }
        self.dut.set(p.s_rq_valid, self.offer.is_some());
        if let Some((rq, ..)) = &self.offer {
            let d = &mut self.dut;
            d.set(p.s_rq_node, rq.node);
            d.set(p.s_rq_qpn, rq.qpn);
            d.set(p.s_rq_psn, rq.psn);
            d.set(p.s_rq_q_key, rq.q_key);
            d.set(p.s_rq_src, rq.src);
            d.set(p.s_rq_vf, rq.vf);
            d.set(p.s_rq_win_id, rq.window.id);
            d.set(p.s_rq_epoch, rq.window.epoch);
            d.set(p.s_rq_msn, rq.window.msn);
            d.set(p.s_rq_len, rq.payload.len() as u64);
            d.set(p.s_rq_unknown, rq.unknown);
            d.set(p.s_rq_marked, rq.marked);
        }
        self.drive_notice();
        self.offering |= !self.payload.is_empty() && self.dice.chance(knobs.offer);
        self.dut.set(p.s_pl_valid, self.offering);
        if let Some(&(word, last)) = self.payload.front() {
            self.dut.set(p.s_pl_data, word);
            self.dut.set(p.s_pl_last, last);
        }
        let d = &mut self.dut;
        self.reads.drive(d, now, &mut self.dice, knobs.offer);
        self.regions.drive(d, now, &mut self.dice);
        self.slots.drive(d, now, &mut self.dice);
        self.landings.drive(d, now, self.writes.done);
        let [wr, wd, rd, rx, ak] = match &mut self.stalls {
            Some(stalls) => {
                stalls.clock();
                std::array::from_fn(|port| stalls.ready(port))
            }
            None => {
                let of = [
                    knobs.ready,
                    knobs.ready,
                    knobs.ready,
                    knobs.ready,
                    knobs.ak_ready,
                ];
                of.map(|percent| self.dice.chance(percent))
            }
        };
        self.writes.drive(d, [wr, wd], &knobs);
        d.set(p.m_rd_ready, rd);
        d.set(p.m_rx_ready, rx);
        d.set(p.m_ak_ready, ak);
    }

    /// One word of configuration; what card_regs does about m_fatal.
    fn apply_config(&mut self) {
        let p = self.dut.p;
        if self.errors.front().is_some_and(|&(at, _)| at <= self.now) {
            let qpn = self.errors.pop_front().expect("it is there").1;
            self.modify(qpn, |qp| qp.state = 4);
        }
        if let Some((qpn, word, data)) = self.config.take() {
            self.qps[qpn].configure(word, data);
        }
        self.config = self.configs.pop_front();
        self.dut.set(p.cfg_valid, self.config.is_some());
        if let Some((qpn, word, data)) = self.config {
            self.dut.set(p.cfg_qpn, qpn as u64);
            self.dut.set(p.cfg_word, word);
            self.dut.set(p.cfg_data, data);
        }
    }

    /// Notes the verdicts that are right in this clock.
    fn judge(&mut self) {
        let pending = self.pending();
        for (rq, _, right) in self.offer.iter_mut().chain(&mut self.notice) {
            let qp = self.qps.get(rq.qpn as usize);
            for overload in pending.map(|n| n >= self.places && rq.notice.is_none()) {
                for hasty in [false, true] {
                    let next = qp.and_then(|qp| qp.next(self.now, hasty));
                    let verdict = verdict(rq, qp, self.mtu, overload, next);
                    if !right.contains(&verdict) {
                        right.push(verdict);
                    }
                }
            }
        }
    }

    /// Acknowledgements that wait, at least and at most: those of nothing go unseen.
    fn pending(&self) -> [usize; 2] {
        let all = self.owed_landed.len() + self.owed_now.len();
        let unseen = self.owed_landed.iter().take(self.landed);
        [all - unseen.filter(|owed| owed.is_none()).count(), all]
    }

    fn observe_stalls(&mut self) {
        let p = self.dut.p;
        let Some(stalls) = &mut self.stalls else {
            return;
        };
        let ports = [
            p.m_wr_valid,
            p.m_wd_valid,
            p.m_rd_valid,
            p.m_rx_valid,
            p.m_ak_valid,
        ];
        for (port, valid) in ports.into_iter().enumerate() {
            let last = valid != p.m_wd_valid || self.writes.at_end();
            stalls.observe(port, self.dut.is_set(valid), last);
        }
    }

    fn observe_reads(&mut self) {
        let p = self.dut.p;
        assert!(
            !(self.held && self.dut.is_set(p.m_rd_valid)),
            "a read while held and idle"
        );
        if self.dut.is_set(p.m_rd_valid) && self.dut.is_set(p.m_rd_ready) {
            let ctx = self.dut.get(p.m_rd_ctx);
            let qpn = (ctx >> 4) as usize & 0x3ff;
            let qp = &mut self.qps[qpn];
            let burst = self.dut.get(p.m_rd_len) as u16 / RECEIVE_LEN as u16;
            assert_ne!(qp.state, 0, "queue pair {qpn} is not there");
            let entry = qp.asked % qp.length();
            let address = qp.base + u64::from(entry) * RECEIVE_LEN as u64;
            assert_eq!(ctx, 2 << 14 | (qpn as u64) << 4 | u64::from(qp.asked % 16));
            assert_eq!(self.dut.get(p.m_rd_addr), address, "queue pair {qpn}");
            assert_eq!(
                self.dut.get(p.m_rd_len),
                u64::from(burst) * RECEIVE_LEN as u64
            );
            assert!((1..=4).contains(&burst) && qp.asked % 4 + burst <= 4);
            assert!(entry + burst <= qp.length(), "over the end of the ring");
            let ahead = qp.posted.wrapping_sub(qp.asked);
            assert!(
                burst <= ahead,
                "queue pair {qpn}: {burst} of {ahead} posted"
            );
            let used = qp.asked.wrapping_sub(qp.taken) + burst;
            assert!(used <= 16, "queue pair {qpn}: no place for all");
            let entries = (entry..entry + burst).map(|at| qp.ring[&at]).collect();
            qp.asked = qp.asked.wrapping_add(burst);
            let at = self.now + self.dice.range(self.knobs.read_latency);
            let fails = self.dice.chance(self.knobs.read_fails);
            self.reads.ask(qpn, ctx, entries, at, fails);
            assert!(self.reads.under_way() <= 16);
            self.counts.reads += 1;
        }
        if let Some(arrived) = self.reads.observe(&self.dut) {
            let qp = &mut self.qps[arrived.qpn];
            if arrived.failed && qp.dead.is_none() {
                qp.dead = Some(self.now);
                self.owed_fatal.push_back(arrived.qpn);
                self.owed_failed.push_back(arrived.qpn);
            } else if qp.dead.is_none() {
                let now = self.now;
                qp.cached
                    .extend(arrived.requests.into_iter().map(|r| (r, now)));
            }
        }
    }

    fn observe_stores(&mut self) {
        let p = self.dut.p;
        if self.dut.is_set(p.s_pl_valid) && self.dut.is_set(p.s_pl_ready) {
            self.payload.pop_front();
            self.offering = false;
        }
        self.writes.observe(&self.dut);
        if self.dut.is_set(p.m_wr_valid) && self.dut.is_set(p.m_wr_ready) {
            let (addr, payload) = self.owed_writes.pop_front().expect("a payload is owed");
            assert_eq!(self.dut.get(p.m_wr_addr), addr);
            assert_eq!(self.dut.get(p.m_wr_len), payload.len() as u64);
            assert_eq!(self.dut.get(p.m_wr_ctx), 0);
            self.writes.ask(&payload);
            self.payloads += 1;
            self.events.push(Event::Asked);
        }
        if self.landings.landed() {
            self.landed += 1;
            self.events.push(Event::Landed);
        }
        if self.dut.is_set(p.m_rx_valid) && self.dut.is_set(p.m_rx_ready) {
            self.observe_record();
        }
    }

    fn observe_record(&mut self) {
        let p = self.dut.p;
        let record = self.owed_records.pop_front().expect("a completion is owed");
        let rq = record.rq.clone().unwrap_or_default();
        let wants = [
            ("qpn", p.m_rx_qpn, record.qpn as u64),
            ("wr_id", p.m_rx_wr_id, record.wr_id),
            ("status", p.m_rx_status, record.status.into()),
            ("len", p.m_rx_len, record.len.into()),
            ("request", p.m_rx_request, record.request.into()),
            ("vf", p.m_rx_vf, rq.vf.into()),
            ("node", p.m_rx_node, rq.node.into()),
            ("peer", p.m_rx_peer, rq.src.into()),
            ("win_id", p.m_rx_win_id, rq.window.id.into()),
            ("epoch", p.m_rx_epoch, rq.window.epoch.into()),
            ("msn", p.m_rx_msn, rq.window.msn.into()),
            ("q_key", p.m_rx_q_key, rq.q_key.into()),
            ("psn", p.m_rx_psn, rq.psn.into()),
            ("notified", p.m_rx_notified, rq.notice.is_some().into()),
            ("arrived", p.m_rx_arrived, 0),
            ("marked", p.m_rx_marked, 0),
        ];
        for (field, port, want) in wants {
            assert_eq!(self.dut.get(port), want, "{field} of {record:?}");
        }
        assert!(
            self.payloads >= record.payloads,
            "its payload goes to dma_write first"
        );
        let at = self.now + 1 + self.dice.range(self.knobs.land_latency);
        self.landings.push(at, record.payloads);
        self.events.push(Event::Offered {
            message: record.rq.is_some() && record.status == 0,
        });
    }

    /// The oldest answer that is owed: of what has landed, or of the others.
    fn answered(&mut self, landed: bool) -> (Request, u8) {
        if !landed {
            return self.owed_now.pop_front().flatten().expect("it is owed");
        }
        // What has landed without an acknowledgement of its own is over.
        while self.owed_landed.front().is_some_and(Option::is_none) {
            self.owed_landed.pop_front();
            self.landed -= 1;
        }
        assert!(self.landed > 0, "XUD-4: acknowledged before it landed");
        self.landed -= 1;
        self.owed_landed.pop_front().flatten().expect("it is owed")
    }

    fn observe_acks(&mut self) {
        let p = self.dut.p;
        if self.dut.is_set(p.s_notify_told) {
            let ok = self.dut.is_set(p.s_notify_ok);
            let (rq, syndrome) = self.answered(ok);
            assert!(rq.notice.is_some(), "{rq:?} is for the line");
            assert_eq!(ok, syndrome == 0x1f, "{rq:?}");
            self.counts.told[usize::from(ok)] += 1;
            if ok {
                let n = self.acknowledged;
                self.events.push(Event::Acknowledged { n });
                self.acknowledged += 1;
            }
        }
        if !(self.dut.is_set(p.m_ak_valid) && self.dut.is_set(p.m_ak_ready)) {
            return;
        }
        let said = self.dut.get(p.m_ak_syndrome);
        let (rq, syndrome) = self.answered(matches!(said, 0x1f | 0x62));
        assert!(rq.notice.is_none(), "{rq:?} is not for the line");
        let wants = [
            ("syndrome", p.m_ak_syndrome, u64::from(syndrome)),
            ("node", p.m_ak_node, rq.node.into()),
            ("peer", p.m_ak_peer, rq.src.into()),
            ("psn", p.m_ak_psn, rq.psn.into()),
            ("echo", p.m_ak_echo, (rq.vf >> 4).into()),
            ("win_id", p.m_ak_win_id, rq.window.id.into()),
            ("epoch", p.m_ak_epoch, rq.window.epoch.into()),
            ("msn", p.m_ak_msn, rq.window.msn.into()),
            ("vf", p.m_ak_vf, rq.vf.into()),
            ("src", p.m_ak_src, rq.qpn.into()),
            ("marked", p.m_ak_marked, rq.marked.into()),
        ];
        for (field, port, want) in wants {
            assert_eq!(self.dut.get(port), want, "{field} of {rq:?}");
        }
        if syndrome == 0x1f {
            let n = self.acknowledged;
            self.events.push(Event::Acknowledged { n });
            self.acknowledged += 1;
        }
        self.counts.acks += 1;
    }
}
