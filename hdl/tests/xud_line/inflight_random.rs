//! The table of requests in flight under random operations and stalls, in lock step with its model.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit_block;
use tributary_hdl::xud::XudInFlight;
use tributary_sim::testbench::{Stalls, profiles};

use super::met::Met;
use super::rtl::{chance, rng, seeds, verilate_design};
use super::table::{Ack, Bench, Inputs, Kind, LOCAL, PLACES, QPS, Request, Tag};

/// Clocks from filling a place to the first acknowledgement that the network can bring.
const YOUNG: u64 = 12;

/// Chances in percent, in each clock.
#[derive(Clone, Copy)]
pub struct Pace {
    pub reserve: u32,
    pub fill: u32,
    pub drop: u32,
    pub ack: u32,
    pub fail: u32,
    pub stall: u32,
    /// Of 1,000.
    pub flush: u32,
    /// Of acknowledgements: they are claims, if there may be one.
    pub claim: u32,
}

/// The request that is claimed or about to be: there is one at most.
#[derive(Default)]
struct Claims {
    /// More of what comes is of this request.
    of: Option<Request>,
    /// Claims that were taken, in order, and are not decided.
    deciding: VecDeque<Tag>,
    /// It is claimed, and when it is to end.
    holds: Option<(Request, u64)>,
}

pub struct Driver {
    rng: ChaCha8Rng,
    pub bench: Bench,
    claims: Claims,
    next: Vec<u32>,
    asked: VecDeque<Tag>,
    kept: Vec<Tag>,
    /// Filled at some time, with when.
    filled: VecDeque<(Request, u64)>,
    offer: Inputs,
    /// A queue pair that is to be flushed, and since when nothing is done with it.
    flush: Option<(u32, u64)>,
    /// When completions are taken, instead of the pace's chance.
    stalls: Option<Stalls>,
}

impl Driver {
    pub fn new(seed: u64, bench: Bench) -> Self {
        let mut rng = rng(seed);
        // Numbers wrap now and then.
        let next = (0..QPS)
            .map(|_| 0xff_ffff - rng.random_range(0..500))
            .collect();
        Self {
            rng,
            bench,
            claims: Claims::default(),
            next,
            asked: VecDeque::new(),
            kept: vec![],
            filled: VecDeque::new(),
            offer: Inputs::default(),
            flush: None,
            stalls: None,
        }
    }

    fn request(&mut self, tag: Tag) -> Request {
        let rng = &mut self.rng;
        let version = rng.random_range(0..5u8).min(1);
        let local = chance(rng, 5);
        Request {
            tag,
            node: rng.random_range(0..4) << rng.random_range(0..19),
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
            answered: version > 0 && chance(rng, 30),
            marked: false,
        }
    }

    /// Whether a request other than that of [`Claims::of`] may be claimed.
    fn may_claim(&self) -> bool {
        let offered = self.offer.ack.is_some_and(|ack| ack.kind == Kind::Claim);
        self.claims.holds.is_none() && self.claims.deciding.is_empty() && !offered
    }

    /// An acknowledgement or a claim of something that was sent, right or nearly so.
    fn ack(&mut self, claim: u32) -> Option<Ack> {
        let count = self.filled.len();
        if count == 0 {
            return None;
        }
        // Mostly of the newest: the others have ended.
        let back = self.rng.random_range(0..count.min(20));
        let (mut request, _) = self.filled[count - 1 - back];
        let mut kind = Kind::Plain;
        if let Some(of) = self.claims.of.filter(|_| chance(&mut self.rng, 30)) {
            request = of;
            if chance(&mut self.rng, 50) {
                kind = Kind::Claim;
            }
        } else if self.may_claim() && chance(&mut self.rng, claim) {
            kind = Kind::Claim;
        }
        let outcome = [0, 0, 0, 2, 3, 4, 5, 6, 7][self.rng.random_range(0..9)];
        let mut ack = if kind == Kind::Claim {
            request.claim()
        } else {
            request.ack(outcome)
        };
        match self.rng.random_range(0..24) {
            0 => ack.node ^= 1 << self.rng.random_range(0..20),
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
        if kind == Kind::Claim {
            let named = self.filled.iter().rev().find(|(r, _)| r.tag == ack.tag);
            let named = named.map(|(request, _)| *request);
            if self.may_claim() {
                self.claims.of = named;
            } else if self.claims.of.is_none_or(|of| of.tag != ack.tag) {
                // A second request must not be claimed.
                ack.kind = Kind::Plain;
            }
        }
        Some(ack)
    }

    /// Queue pairs with a claim: they are not flushed, as the card's machine is not idle then.
    fn claims_of(&self, qpn: u32) -> bool {
        let offered = self.offer.ack.filter(|ack| ack.kind != Kind::Plain);
        let holds = self.claims.holds.map(|(request, _)| request.tag.0);
        let deciding = self.claims.deciding.iter().map(|tag| tag.0);
        deciding
            .chain(holds)
            .chain(offered.map(|ack| ack.tag.0))
            .any(|of| of == qpn)
    }

    /// What was decided of a claim, and what was taken.
    fn claimed(&mut self, claim: Option<bool>, taken: Option<Ack>) {
        let now = self.bench.clock;
        if let Some(ok) = claim {
            let tag = self.claims.deciding.pop_front();
            let named = self.filled.iter().rev().find(|(r, _)| Some(r.tag) == tag);
            if let Some((request, _)) = named.copied().filter(|_| ok) {
                // Often done at once, sometimes long behind the request's time.
                let time = self.bench.unit << request.timeout;
                let hold = match self.rng.random_range(0..10) {
                    0..6 => self.rng.random_range(0..10),
                    6 if time < 600 => time + 100,
                    _ => self.rng.random_range(0..60),
                };
                self.claims.holds = Some((request, now + hold));
            }
        }
        match taken {
            Some(ack) if ack.kind == Kind::Claim => self.claims.deciding.push_back(ack.tag),
            Some(ack) if ack.kind == Kind::End => self.claims.holds = None,
            _ => {}
        }
        if self.may_claim() && chance(&mut self.rng, 20) {
            self.claims.of = None;
        }
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
        if let Some((request, _)) = self.claims.holds.filter(|(_, ends)| *ends <= now) {
            // Before whatever waits: the card's machine goes first.
            let outcome = [0, 0, 0, 3, 5][self.rng.random_range(0..5)];
            let ends = self.offer.ack.is_some_and(|ack| ack.kind == Kind::End);
            if !ends {
                self.offer.ack = Some(request.end(outcome));
            }
        } else if self.offer.ack.is_none() && chance(&mut self.rng, pace.ack) {
            self.offer.ack = self.ack(pace.claim);
        }
        if self.offer.fail.is_none() && chance(&mut self.rng, pace.fail) {
            let ack = self.ack(0).filter(|ack| ack.kind == Kind::Plain);
            self.offer.fail = ack.map(|ack| ((ack.tag.0 % QPS, ack.tag.1), 16));
        }
        self.offer.ack = self.offer.ack.filter(|ack| self.ripe(ack.tag));
        self.offer.fail = self.offer.fail.filter(|(tag, _)| self.ripe(*tag));
        if self.flush.is_none() && self.rng.random_range(0..1000) < pace.flush {
            let qpn = self.rng.random_range(0..QPS);
            self.flush = Some((qpn, now)).filter(|_| !self.claims_of(qpn));
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
        self.offer.stall = match &mut self.stalls {
            Some(stalls) => {
                stalls.clock();
                !stalls.ready(0)
            }
            None => chance(&mut self.rng, pace.stall),
        };
        let out = self.bench.step(self.offer);
        if let Some(stalls) = &mut self.stalls {
            stalls.observe(0, out.offered, true);
        }
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
        self.claimed(out.claim, self.offer.ack.filter(|_| out.ack));
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

    pub fn run(&mut self, pace: Pace, clocks: usize) {
        for _ in 0..clocks {
            self.clock(pace);
            if self.bench.trouble.is_some() {
                return;
            }
        }
        // Nothing new; what was sent comes to its end.
        self.stalls = None;
        let quiet = Pace {
            reserve: 0,
            drop: 0,
            flush: 0,
            claim: 0,
            ..pace
        };
        for _ in 0..4_000 {
            self.clock(quiet);
        }
    }
}

pub const BUSY: Pace = Pace {
    reserve: 60,
    fill: 60,
    drop: 2,
    ack: 60,
    fail: 3,
    stall: 0,
    flush: 0,
    claim: 20,
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
fn xud_01_xud_02_xud_03_xud_13_random_operations_end_each_request_once_as_the_model_says() {
    let (mut counts, mut completions, mut met) = ([0; 6], 0, Met::default());
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
        met.add(&driver.bench.met);
        for (all, one) in counts.iter_mut().zip(driver.bench.counts) {
            *all += one;
        }
    }
    println!("{completions} completions, events {counts:?}, {met:?}");
    // Of one seed alone there is less.
    if std::env::var_os("TRIBUTARY_SEED").is_none() {
        assert!(counts.iter().all(|count| *count > 20));
        assert!(met.claimed > 200 && met.nothing > 100 && met.mismatched > 30);
        assert!(met.ack > 300 && met.again > 300 && met.fail > 40);
        assert!(met.behind.iter().chain(&met.ended).all(|count| *count > 5));
        assert!(met.timeout > 15 && met.refused > 30);
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test xud_line under_every_profile -- --nocapture`.
#[test]
fn xud_01_xud_02_each_request_ends_once_under_every_profile_of_stalls() {
    profiles("xud_inflight: completions", |seed| {
        let mut driver = Driver::new(seed, Bench::new([16, 7, 64][seed as usize % 3]));
        let stalls = Stalls::of_seed(seed, 1);
        driver.stalls = Some(stalls.clone());
        let pace = Pace {
            stall: 1,
            ..paces()[seed as usize % 6]
        };
        driver.run(pace, 6_000);
        let Driver { bench, .. } = &mut driver;
        assert!(bench.trouble.is_none(), "{stalls}: {:?}", bench.trouble);
        bench.finish();
        bench.completions
    });
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
