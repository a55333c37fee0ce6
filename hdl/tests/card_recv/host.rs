//! The block's memory side: dma_read, dma_write, card_cq's slots and landings, card_regions.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::card::descriptor::ReceiveRequest;

use crate::model::allowed;
use crate::ports::Dut;

/// Random choices of one test.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// From the first to the second, both included.
    pub fn range(&mut self, (low, high): (u64, u64)) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// How the surroundings behave: chances in percent, latencies in clocks.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// Every ready of the surroundings is high.
    pub ready: u64,
    /// Every valid of the surroundings comes at once.
    pub offer: u64,
    pub read_latency: (u64, u64),
    pub read_fails: u64,
    pub slot_latency: (u64, u64),
    pub slot_refused: u64,
    pub land_latency: (u64, u64),
    /// Payloads that dma_write has taken and not moved.
    pub write_jobs: usize,
    /// m_ak_ready is high.
    pub ak_ready: u64,
    /// A notification that is not looked at is withdrawn.
    pub withdrawn: u64,
}

/// Nothing stalls; a read takes 150 clocks.
pub const CALM: Knobs = Knobs {
    ready: 100,
    offer: 100,
    read_latency: (150, 150),
    read_fails: 0,
    slot_latency: (4, 4),
    slot_refused: 0,
    land_latency: (1, 1),
    write_jobs: 2,
    ak_ready: 100,
    withdrawn: 0,
};

/// A read under way.
struct Read {
    qpn: usize,
    ctx: u64,
    at: u64,
    fails: bool,
    requests: Vec<ReceiveRequest>,
    word: usize,
}

/// What ended at dma_read.
pub struct Arrived {
    pub qpn: usize,
    pub failed: bool,
    pub requests: Vec<ReceiveRequest>,
}

/// dma_read for receive requests: in order, any latency.
#[derive(Default)]
pub struct Reads {
    queue: VecDeque<Read>,
    offering: bool,
}

impl Reads {
    pub fn under_way(&self) -> usize {
        self.queue.len()
    }

    pub fn ask(
        &mut self,
        qpn: usize,
        ctx: u64,
        requests: Vec<ReceiveRequest>,
        at: u64,
        fails: bool,
    ) {
        self.queue.push_back(Read {
            qpn,
            ctx,
            at,
            fails,
            requests,
            word: 0,
        });
    }

    pub fn drive(&mut self, dut: &mut Dut, now: u64, dice: &mut Dice, offer: u64) {
        let p = dut.p;
        let due = self.queue.front().is_some_and(|read| read.at <= now);
        self.offering = due && dice.chance(offer);
        dut.set(p.s_rr_valid, self.offering);
        let Some(read) = self.queue.front().filter(|_| self.offering) else {
            // Between words anything may stand there.
            dut.set(p.s_rr_data, dice.word());
            dut.set(p.s_rr_ctx, dice.word());
            dut.set(p.s_rr_last, dice.chance(50));
            dut.set(p.s_rr_error, dice.chance(50));
            return;
        };
        let entry = read.requests[read.word / 4].encode();
        let at = 8 * (read.word % 4);
        let word: [u8; 8] = entry[at..at + 8].try_into().expect("8 bytes");
        let last = read.word + 1 == 4 * read.requests.len();
        dut.set(p.s_rr_data, u64::from_le_bytes(word));
        dut.set(p.s_rr_ctx, read.ctx);
        dut.set(p.s_rr_last, last);
        dut.set(p.s_rr_error, last && read.fails);
    }

    pub fn observe(&mut self, dut: &Dut) -> Option<Arrived> {
        assert!(dut.is_set(dut.p.s_rr_ready), "words are always taken");
        if !self.offering {
            return None;
        }
        let read = self.queue.front_mut()?;
        read.word += 1;
        if read.word < 4 * read.requests.len() {
            return None;
        }
        self.queue.pop_front().map(|read| Arrived {
            qpn: read.qpn,
            failed: read.fails,
            requests: read.requests,
        })
    }
}

/// dma_write for payloads: words of the requests that it took, in order.
#[derive(Default)]
pub struct Writes {
    jobs: VecDeque<VecDeque<u64>>,
    /// Words moved, payloads moved whole.
    pub words: u64,
    pub done: usize,
}

impl Writes {
    /// Takes a request and a word if it can and they are `wanted`.
    pub fn drive(&mut self, dut: &mut Dut, wanted: [bool; 2], knobs: &Knobs) {
        let room = self.jobs.len() < knobs.write_jobs;
        dut.set(dut.p.m_wr_ready, room && wanted[0]);
        dut.set(dut.p.m_wd_ready, !self.jobs.is_empty() && wanted[1]);
    }

    /// Whether the next word is the last of its payload.
    pub fn at_end(&self) -> bool {
        self.jobs.front().is_none_or(|job| job.len() <= 1)
    }

    pub fn ask(&mut self, payload: &[u8]) {
        self.jobs.push_back(words(payload).collect());
    }

    pub fn observe(&mut self, dut: &Dut) {
        if !(dut.is_set(dut.p.m_wd_valid) && dut.is_set(dut.p.m_wd_ready)) {
            return;
        }
        let job = self.jobs.front_mut().expect("words follow their request");
        let word = job.pop_front().expect("no word too many");
        assert_eq!(dut.get(dut.p.m_wd_data), word, "a word of a payload");
        self.words += 1;
        if job.is_empty() {
            self.jobs.pop_front();
            self.done += 1;
        }
    }
}

/// A payload as words, padded with zeros.
pub fn words(payload: &[u8]) -> impl Iterator<Item = u64> + '_ {
    payload.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

/// card_regions: 6 clocks.
#[derive(Default)]
pub struct Regions {
    answers: VecDeque<(u64, bool)>,
}

impl Regions {
    pub fn drive(&mut self, dut: &mut Dut, now: u64, dice: &mut Dice) {
        let due = self.answers.front().is_some_and(|&(at, _)| at == now);
        dut.set(dut.p.look_valid, due);
        let answer = self.answers.pop_front_if(|_| due);
        dut.set(
            dut.p.look_ok,
            answer.map_or_else(|| dice.chance(50), |(_, ok)| ok),
        );
    }

    pub fn observe(&mut self, dut: &Dut, now: u64) {
        let p = &dut.p;
        if dut.is_set(p.m_look_valid) {
            let ok = allowed(
                dut.get(p.m_look_key) as u32,
                dut.get(p.m_look_pd) as u16,
                dut.get(p.m_look_addr),
                dut.get(p.m_look_len) as u16,
                dut.is_set(p.m_look_write),
            );
            self.answers.push_back((now + 6, ok));
        }
    }
}

/// A reservation that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub qpn: usize,
    /// With a lookup beside it: for a packet.
    pub packet: bool,
    pub ok: bool,
    at: u64,
}

/// The slots of card_cq.
#[derive(Default)]
pub struct Slots {
    asked: Option<Slot>,
    answering: bool,
}

impl Slots {
    pub fn drive(&mut self, dut: &mut Dut, now: u64, dice: &mut Dice) {
        self.answering = self.asked.is_some_and(|slot| slot.at <= now);
        dut.set(dut.p.rsv_done, self.answering);
        let ok = self.asked.filter(|_| self.answering);
        dut.set(
            dut.p.rsv_ok,
            ok.map_or_else(|| dice.chance(50), |slot| slot.ok),
        );
    }

    /// The slot answered in this clock. `free` says how many a queue pair has; `notice`, that a notification is looked at.
    pub fn observe(
        &mut self,
        dut: &Dut,
        now: u64,
        dice: &mut Dice,
        knobs: &Knobs,
        free: impl Fn(usize) -> u32,
        notice: bool,
    ) -> Option<Slot> {
        if self.answering {
            self.answering = false;
            return self.asked.take();
        }
        if dut.is_set(dut.p.m_rsv_valid) && self.asked.is_none() {
            let qpn = dut.get(dut.p.m_rsv_qpn) as usize;
            self.asked = Some(Slot {
                qpn,
                packet: notice || dut.is_set(dut.p.m_look_valid),
                ok: free(qpn) > 0 && !dice.chance(knobs.slot_refused),
                at: now + dice.range(knobs.slot_latency).max(1),
            });
        }
        None
    }
}

/// Completions that card_cq took, until they are ordered in host memory.
#[derive(Default)]
pub struct Landings {
    queue: VecDeque<(u64, usize)>,
    pulse: bool,
}

impl Landings {
    /// One more, which lands when `payloads` payloads are there and not before `at`.
    pub fn push(&mut self, at: u64, payloads: usize) {
        self.queue.push_back((at, payloads));
    }

    pub fn drive(&mut self, dut: &mut Dut, now: u64, payloads: usize) {
        self.pulse = self
            .queue
            .front()
            .is_some_and(|&(at, needs)| at <= now && needs <= payloads);
        dut.set(dut.p.landed, self.pulse);
        self.queue.pop_front_if(|_| self.pulse);
    }

    pub fn landed(&self) -> bool {
        self.pulse
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}
