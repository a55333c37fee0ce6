//! The table of requests in flight under random operations and stalls, in lock step with its model.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit_block;
use tributary_hdl::xud::XudInFlight;

use super::rtl::{chance, rng, seeds, verilate_design};
use super::table::{Ack, Bench, Inputs, LOCAL, PLACES, QPS, Request, Tag};

/// Clocks from filling a place to the first acknowledgement that the network can bring.
const YOUNG: u64 = 12;

/// Chances in percent, in each clock.
#[derive(Clone, Copy)]
struct Pace {
    reserve: u32,
    fill: u32,
    drop: u32,
    ack: u32,
    fail: u32,
    stall: u32,
    /// Of 1,000.
    flush: u32,
}

struct Driver {
    rng: ChaCha8Rng,
    bench: Bench,
    next: Vec<u32>,
    asked: VecDeque<Tag>,
    kept: Vec<Tag>,
    /// Filled at some time, with when.
    filled: VecDeque<(Request, u64)>,
    offer: Inputs,
    /// A queue pair that is to be flushed, and since when nothing is done with it.
    flush: Option<(u32, u64)>,
}

impl Driver {
    fn new(seed: u64, bench: Bench) -> Self {
        let mut rng = rng(seed);
        // Numbers wrap now and then.
        let next = (0..QPS)
            .map(|_| 0xff_ffff - rng.random_range(0..500))
            .collect();
        Self {
            rng,
            bench,
            next,
            asked: VecDeque::new(),
            kept: vec![],
            filled: VecDeque::new(),
            offer: Inputs::default(),
            flush: None,
        }
    }

    fn request(&mut self, tag: Tag) -> Request {
        let rng = &mut self.rng;
        let version = rng.random_range(0..5u8).min(1);
        let local = chance(rng, 5);
        Request {
            tag,
            node: rng.random_range(0..4),
            peer: rng.random_range(0..4),
            vf: version * (0x10 + rng.random_range(0..8)),
            win_id: rng.random_range(0..4),
            epoch: rng.random_range(0..2),
            msn: rng.random_range(0..4),
            wr_id: rng.random(),
            request: rng.random(),
            timeout: rng.random_range(0..6),
            outcome: if local {
                LOCAL[rng.random_range(0..3)]
            } else {
                0
            },
        }
    }

    /// An acknowledgement of something that was sent, right or nearly so.
    fn ack(&mut self) -> Option<Ack> {
        let count = self.filled.len();
        if count == 0 {
            return None;
        }
        // Mostly of the newest: the others have ended.
        let back = self.rng.random_range(0..count.min(20));
        let (request, _) = self.filled[count - 1 - back];
        let outcome = [0, 0, 0, 2, 3, 4, 5, 6, 7][self.rng.random_range(0..9)];
        let mut ack = request.ack(outcome);
        match self.rng.random_range(0..24) {
            0 => ack.node ^= 1,
            1 => ack.peer ^= 0x80_0000,
            2 => ack.win_id ^= 2,
            3 => ack.epoch ^= 0x100,
            4 => ack.msn ^= 1 << 31,
            5 => ack.flags ^= 4,
            6 => ack.echo = !ack.echo,
            7 => ack.tag.1 = ack.tag.1.wrapping_sub(PLACES as u32) & 0xff_ffff,
            8 => ack.tag.0 ^= 1,
            9 => ack.tag.0 += 8 << self.rng.random_range(0..16),
            _ => {}
        }
        Some(ack)
    }

    /// Whether the network could bring something about this request.
    fn ripe(&self, tag: Tag) -> bool {
        let flushing = self.flush.is_some_and(|(qpn, _)| qpn == tag.0);
        let now = self.bench.clock;
        let young = |(request, since): &(Request, u64)| {
            request.tag == tag && (request.outcome != 0 || since + YOUNG > now)
        };
        !flushing && !self.filled.iter().rev().take(80).any(young)
    }

    fn clock(&mut self, pace: Pace) {
        let closed = self.flush.map(|(qpn, _)| qpn);
        let now = self.bench.clock;
        self.offer.rsv = None;
        self.offer.drop = None;
        self.offer.flush = None;
        if chance(&mut self.rng, pace.reserve) {
            let qpn = self.rng.random_range(0..QPS);
            let tag = (qpn, self.next[qpn as usize]);
            // One at a time for a place.
            let place = super::table::place(tag);
            let busy = self.asked.iter().any(|t| super::table::place(*t) == place);
            if Some(qpn) != closed && !busy {
                self.asked.push_back(tag);
                self.offer.rsv = Some(tag);
            }
        }
        if self.offer.set.is_none() && chance(&mut self.rng, pace.fill) && !self.kept.is_empty() {
            let at = self.rng.random_range(0..self.kept.len());
            if Some(self.kept[at].0) != closed {
                let tag = self.kept.swap_remove(at);
                self.offer.set = Some(self.request(tag));
            }
        }
        if chance(&mut self.rng, pace.drop) && !self.kept.is_empty() {
            let at = self.rng.random_range(0..self.kept.len());
            if Some(self.kept[at].0) != closed {
                self.offer.drop = Some(self.kept.swap_remove(at));
            }
        }
        if self.offer.ack.is_none() && chance(&mut self.rng, pace.ack) {
            self.offer.ack = self.ack();
        }
        if self.offer.fail.is_none() && chance(&mut self.rng, pace.fail) {
            self.offer.fail = self.ack().map(|ack| ((ack.tag.0 % QPS, ack.tag.1), 16));
        }
        self.offer.ack = self.offer.ack.filter(|ack| self.ripe(ack.tag));
        self.offer.fail = self.offer.fail.filter(|(tag, _)| self.ripe(*tag));
        if self.flush.is_none() && self.rng.random_range(0..1000) < pace.flush {
            self.flush = Some((self.rng.random_range(0..QPS), now));
        }
        if let Some((qpn, since)) = self.flush
            && now == since + 40
        {
            let set = self.offer.set.is_some_and(|set| set.tag.0 == qpn);
            assert!(!set || pace.stall > 0);
            if set {
                // It could not be filled in time: flush later.
                self.flush = None;
            } else {
                self.offer.flush = Some(qpn);
            }
        }
        self.offer.stall = chance(&mut self.rng, pace.stall);
        let out = self.bench.step(self.offer);
        if let Some(ok) = out.rsv {
            let tag = self.asked.pop_front().unwrap();
            if ok {
                self.kept.push(tag);
                self.next[tag.0 as usize] = (tag.1 + 1) & 0xff_ffff;
            }
        }
        if let Some(set) = self.offer.set.filter(|_| out.set) {
            self.filled.push_back((set, now));
            self.offer.set = None;
            if self.filled.len() > 400 {
                self.filled.pop_front();
            }
        }
        if out.ack {
            self.offer.ack = None;
        }
        if out.fail {
            self.offer.fail = None;
        }
        if out.flushed {
            let (qpn, _) = self.flush.take().unwrap();
            self.kept.retain(|tag| tag.0 != qpn);
        }
    }

    fn run(&mut self, pace: Pace, clocks: usize) {
        for _ in 0..clocks {
            self.clock(pace);
            if self.bench.trouble.is_some() {
                return;
            }
        }
        // Nothing new; what was sent comes to its end.
        let quiet = Pace {
            reserve: 0,
            drop: 0,
            flush: 0,
            ..pace
        };
        for _ in 0..4_000 {
            self.clock(quiet);
        }
    }
}

const BUSY: Pace = Pace {
    reserve: 60,
    fill: 60,
    drop: 2,
    ack: 60,
    fail: 3,
    stall: 0,
    flush: 0,
};

fn paces() -> [Pace; 6] {
    [
        BUSY,
        Pace {
            ack: 5,
            flush: 3,
            ..BUSY
        },
        Pace { stall: 60, ..BUSY },
        Pace {
            reserve: 20,
            fill: 30,
            ack: 10,
            fail: 10,
            stall: 95,
            flush: 2,
            ..BUSY
        },
        Pace {
            reserve: 100,
            fill: 100,
            ack: 100,
            drop: 10,
            ..BUSY
        },
        Pace {
            reserve: 15,
            fill: 10,
            drop: 20,
            ack: 90,
            stall: 20,
            flush: 5,
            ..BUSY
        },
    ]
}

#[test]
fn xud_01_xud_02_xud_03_random_operations_end_each_request_once_as_the_model_says() {
    let (mut counts, mut completions) = ([0; 6], 0);
    for seed in seeds(12) {
        let unit = [16, 7, 64][seed as usize % 3];
        let mut driver = Driver::new(seed, Bench::new(unit));
        let pace = paces()[seed as usize % 6];
        driver.run(pace, 6_000);
        driver.bench.finish();
        if pace.stall == 0 {
            // Other ends go first: an acknowledgement never, the rest seldom.
            let bound = unit.div_ceil(4) + PLACES as u64 + 60;
            assert!(driver.bench.late <= bound, "{} late", driver.bench.late);
        }
        completions += driver.bench.completions;
        for (all, one) in counts.iter_mut().zip(driver.bench.counts) {
            *all += one;
        }
    }
    println!("{completions} completions, events {counts:?}");
    assert!(counts.iter().all(|count| *count > 20));
}

#[test]
fn xud_03_random_operations_disagree_with_a_model_that_matches_by_number_alone() {
    let mut driver = Driver::new(1, Bench::new(16));
    driver.bench.psn_only = true;
    driver.run(BUSY, 3_000);
    assert!(driver.bench.trouble.is_some());
}

#[test]
fn a_table_without_its_forward_of_ends_is_caught() {
    let mut design = emit_block(&mut XudInFlight::<3, 5>::default()).unwrap();
    let right = "s5_near_reg & hits_reg";
    let found = design.modules.iter_mut().find(|m| m.text.contains(right));
    let module = found.expect("the forward is in the text");
    module.text = module.text.replace(right, "s5_near_reg & 4'd0");
    let library = verilate_design(&design);
    let mut driver = Driver::new(1, Bench::of(&library, 16));
    let twice = Pace {
        reserve: 100,
        fill: 100,
        ack: 100,
        fail: 50,
        ..BUSY
    };
    driver.run(twice, 6_000);
    assert!(driver.bench.trouble.is_some());
}
