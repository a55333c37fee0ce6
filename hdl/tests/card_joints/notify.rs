//! bulk_notify among windows that open, are complete and close at any moment, and a host that has receive requests or has none.

use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkNotify;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::seeds;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::{Model, Verilated};

/// log2 of the windows.
const A: usize = 2;
/// Clocks of a tick.
const TICK: u64 = 8;
/// Ticks for which the right block waits.
const PATIENCE: u64 = 30;
/// Clocks in which a window that waits alone is offered: a round, and one that was closed while it was looked at.
const ALONE: u64 = (1 << A) + 12;
const NOTICE: [&str; 6] = ["qpn", "node", "source", "q_key", "immediate", "length"];
const WIDTHS: [u32; 6] = [24, 16, 24, 32, 32, 32];

/// The number of each, from 101 on, comes as `cfg_patience`; with any other the block is right.
const WRONG: [Wrong; 8] = [
    // BW-3: not ready at the first refusal; never.
    ("bulk_notify", "over_reg <= ", "1'b1"),
    ("bulk_notify", "over_reg <= ", "1'b0"),
    // BW-9: it is never busy; what is closed while it is offered stays there; the same, while it is looked at.
    ("bulk_notify", "m_idle = ", "1'b1"),
    ("bulk_notify", "closes = ", "1'b0"),
    ("bulk_notify", "closed_reg <= ", "1'b0"),
    // What is complete while the one before it is told is forgotten.
    ("bulk_notify", "renewed_reg <= ", "1'b0"),
    // Nothing is noted.
    ("bulk_notify", "notes = ", "1'b0"),
    // Of another window.
    ("bulk_notify", "at_2_reg <= ", "at_reg"),
];

#[derive(Clone, Debug)]
struct Window {
    incarnation: u64,
    notice: [u64; 6],
    /// Complete since this tick.
    full: Option<u64>,
    /// Begun for others since then; clocks in which nothing but this one waited.
    passed_over: u32,
    alone: u64,
}

/// A window whose notification has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: usize,
    incarnation: u64,
    notice: [u64; 6],
    since: u64,
    /// When the host goes on with it; it has taken it.
    due: u64,
    taken: bool,
}

/// A window that is to be closed.
#[derive(Clone, Copy, Debug)]
struct Owed {
    at: usize,
    incarnation: u64,
    status: u64,
    since: u64,
}

#[derive(Debug, Default)]
struct Seen {
    told: u64,
    refused: u64,
    not_ready: u64,
    held: u64,
    closed_on_offer: u64,
    closed_begun: u64,
    renewed: u64,
}

struct Bench<'a> {
    library: &'a Verilated,
    model: Model,
    rng: SmallRng,
    patience: u64,
    now: u64,
    windows: [Option<Window>; 1 << A],
    incarnations: u64,
    hold: bool,
    /// Clock of the next event of a window, and of the next change of hold.
    next_event: u64,
    next_hold: u64,
    host: Option<Begun>,
    owed: Option<Owed>,
    /// When it is.
    closing: Option<u64>,
    offered: Option<(usize, u64)>,
    seen: Seen,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Bench<'a> {
    fn new(library: &'a Verilated, seed: u64, patience: u64) -> Self {
        let mut model = library.model_with_seed(seed).unwrap();
        model.reset(2).unwrap();
        let mut bench = Self {
            library,
            model,
            rng: SmallRng::seed_from_u64(seed),
            patience,
            now: 0,
            windows: Default::default(),
            incarnations: 0,
            hold: false,
            next_event: 0,
            next_hold: 500,
            host: None,
            owed: None,
            closing: None,
            offered: None,
            seen: Seen::default(),
        };
        bench.set("cfg_patience", patience);
        for clock in 0.. {
            bench.model.eval().unwrap();
            if bench.is("ready") {
                break;
            }
            assert!(clock <= 1 << A, "the table is cleared a window a clock");
            bench.model.clock().unwrap();
        }
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.library.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.library.port(name).unwrap())
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    fn tick(&self, clock: u64) -> u64 {
        65_500 + clock / TICK
    }

    /// What rw_window says in this clock: the window that closes, if one does.
    fn events(&mut self) -> Option<usize> {
        for name in ["s_opened_valid", "s_full_valid", "s_closed_valid"] {
            self.set(name, 0);
        }
        if let Some(owed) = self.owed
            && self.closing == Some(self.now)
        {
            let of = |w: &Window| w.incarnation == owed.incarnation;
            let open = self.windows[owed.at].as_ref().is_some_and(of);
            self.next_event = self.now + 3;
            return open.then(|| self.close(owed.at));
        }
        if self.now < self.next_event {
            return None;
        }
        self.next_event = self.now + self.rng.random_range(3..14);
        let at = self.rng.random_range(0..1 << A);
        match &mut self.windows[at] {
            None => {
                self.incarnations += 1;
                let notice = WIDTHS.map(|bits| self.rng.random_range(0..1u64 << bits));
                self.windows[at] = Some(Window {
                    incarnation: self.incarnations & 0xffff,
                    notice,
                    full: None,
                    passed_over: 0,
                    alone: 0,
                });
                self.set("s_opened_valid", 1);
                self.set("s_opened_wptr", at as u64);
                self.set("s_opened_gen", self.incarnations & 0xffff);
                for (field, value) in NOTICE.iter().zip(notice) {
                    self.set(&format!("s_opened_notice_{field}"), value);
                }
                None
            }
            Some(window) if window.full.is_none() && self.rng.random_range(0..4) > 0 => {
                window.full = Some(u64::MAX);
                let incarnation = window.incarnation;
                self.set("s_full_valid", 1);
                self.set("s_full_wptr", at as u64);
                self.set("s_full_gen", incarnation);
                None
            }
            Some(window) if window.full.is_some() && self.rng.random_range(0..6) > 0 => None,
            Some(_) => Some(self.close(at)),
        }
    }

    fn close(&mut self, at: usize) -> usize {
        self.set("s_closed_valid", 1);
        self.set("s_closed_wptr", at as u64);
        at
    }

    fn clock(&mut self) -> Result<()> {
        let now = self.now;
        if now >= self.next_hold {
            self.hold ^= true;
            self.next_hold = now + self.rng.random_range(20..400);
        }
        self.set("hold", self.hold.into());
        self.set("now", self.tick(now) & 0xffff);
        let closes = self.events();

        // The host.
        let (mut ready, mut told) = (false, None);
        if let Some(host) = self.host.as_mut().filter(|host| host.due <= now) {
            if host.taken {
                told = Some((*host, self.rng.random_range(0..3) == 0));
            } else {
                ready = true;
                host.taken = true;
                host.due = now + self.rng.random_range(1..60);
            }
        }
        self.set("m_begins", 0);
        self.set("m_ready", ready.into());
        self.set("m_told", told.is_some().into());
        self.set("m_ok", told.is_some_and(|(_, ok)| ok).into());
        self.set(
            "m_rev_ready",
            self.closing.is_some_and(|at| at < now).into(),
        );
        self.model.eval().unwrap();

        // What is offered.
        let idle = self.is("m_idle");
        if idle == (self.host.is_some() || self.owed.is_some()) {
            return Err(format!("idle {idle}: {:?}, {:?}", self.host, self.owed));
        }
        let begun = self.host.filter(|host| !host.taken || ready);
        let last = self.offered.take();
        if self.is("m_valid") {
            let is = NOTICE.map(|field| self.get(&format!("m_{field}")));
            if let Some(begun) = begun {
                if is != begun.notice {
                    return Err(format!("{is:x?} is offered in the end, not {begun:x?}"));
                }
            } else {
                let waits = |w: &Option<Window>| {
                    w.as_ref()
                        .is_some_and(|w| w.notice == is && w.full.is_some_and(|at| at != u64::MAX))
                };
                let Some(at) = self.windows.iter().position(waits) else {
                    return Err(format!("{is:x?} is offered, and does not wait"));
                };
                if self.hold || closes == Some(at) || self.host.is_some() {
                    return Err(format!("window {at} is offered"));
                }
                let window = self.windows[at].clone().ok_or("no window")?;
                let incarnation = window.incarnation;
                self.offered = Some((at, incarnation));
                if self.rng.random_range(0..5) == 0 {
                    self.set("m_begins", 1);
                    self.model.eval().unwrap();
                    self.host = Some(Begun {
                        at,
                        incarnation,
                        notice: is,
                        since: window.full.unwrap_or_default(),
                        due: now + self.rng.random_range(1..20),
                        taken: false,
                    });
                    self.offered = None;
                    for (other, window) in self.windows.iter_mut().enumerate() {
                        let Some(window) = window.as_mut().filter(|w| w.full.is_some()) else {
                            continue;
                        };
                        window.passed_over = if other == at {
                            0
                        } else {
                            window.passed_over + 1
                        };
                        if window.passed_over > 2 << A {
                            return Err(format!("window {other} has no turn"));
                        }
                    }
                }
            }
        } else if begun.is_some() {
            return Err("what has begun is withdrawn".into());
        } else if let Some((at, _)) = last {
            self.seen.held += u64::from(self.hold);
            self.seen.closed_on_offer += u64::from(closes == Some(at));
        }

        // Who is alone.
        let waiting = self.windows.iter().flatten().filter(|w| w.full.is_some());
        let alone =
            waiting.count() == 1 && !self.hold && self.host.is_none() && self.owed.is_none();
        for window in self.windows.iter_mut().flatten() {
            let waits = alone && window.full.is_some() && self.offered.is_none();
            window.alone = if waits { window.alone + 1 } else { 0 };
            if window.alone > ALONE {
                return Err("a window that waits alone is not offered".into());
            }
        }

        // What is closed.
        if self.is("m_rev_valid") {
            let is = ["wptr", "gen", "status"].map(|field| self.get(&format!("m_rev_{field}")));
            let owed = self.owed.ok_or_else(|| format!("{is:?} is closed"))?;
            if is != [owed.at as u64, owed.incarnation, owed.status] {
                return Err(format!("{is:?} is closed, not {owed:?}"));
            }
            if self.closing.is_none() {
                self.closing = Some(now + self.rng.random_range(1..12));
            }
            if self.is("m_rev_ready") {
                self.seen.not_ready += u64::from(owed.status == 2);
                (self.owed, self.closing) = (None, None);
            }
        } else if let Some(owed) = self.owed.filter(|owed| owed.since + 8 < now) {
            return Err(format!("{owed:?} is not closed"));
        }
        if let Some((host, ok)) = told {
            self.host = None;
            let window = self.windows[host.at].as_ref();
            let same = window.is_some_and(|w| w.incarnation == host.incarnation);
            let another = window.is_some_and(|w| w.full.is_some()) && !same;
            self.seen.closed_begun += u64::from(!same);
            self.seen.renewed += u64::from(another && ok);
            self.seen.told += u64::from(ok);
            self.seen.refused += u64::from(!ok);
            // The age of two clocks ago counts.
            let over = self.tick(now - 2) - host.since >= self.patience;
            self.owed = (ok || over).then_some(Owed {
                at: host.at,
                incarnation: host.incarnation,
                status: if ok { 0 } else { 2 },
                since: now,
            });
        }

        // Windows as they are from the next clock on.
        let tick = self.tick(now);
        for window in self.windows.iter_mut().flatten() {
            if window.full == Some(u64::MAX) {
                window.full = Some(tick);
            }
        }
        if let Some(at) = closes {
            self.windows[at] = None;
        }
        self.model.clock().unwrap();
        self.now += 1;
        Ok(())
    }
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let design = emit_block(&mut BulkNotify::<A>::default()).unwrap();
        let files = design.files();
        wrong::library(&design.top, files, ("cfg_patience", 16), 101, &WRONG)
    })
}

fn run(seed: u64, patience: u64, clocks: u64) -> Result<Seen> {
    let mut bench = Bench::new(library(), seed, patience);
    for _ in 0..clocks {
        bench
            .clock()
            .map_err(|what| format!("seed {seed}, clock {}: {what}", bench.now))?;
    }
    Ok(bench.seen)
}

/// Each window that is complete is told once, or closed when its time is over; nothing that has closed is told, and whoever
/// waits has turns.
#[test]
fn bw_03_bw_09_windows_are_told_in_turns_whatever_closes_meanwhile() {
    for seed in seeds(6) {
        let seen = run(seed, PATIENCE, 60_000).unwrap_or_else(|what| panic!("{what}"));
        println!("{seen:?}");
        assert!(
            seen.told > 100
                && seen.refused > 100
                && seen.not_ready > 10
                && seen.held > 3
                && seen.closed_on_offer > 3
                && seen.closed_begun > 10
                && seen.renewed > 1,
            "{seen:?}"
        );
    }
}

#[test]
fn bw_03_bw_09_every_wrong_notification_is_noticed() {
    wrong::every_is_noticed(&WRONG, |number| {
        (0..6).try_for_each(|seed| run(seed, 101 + number, 30_000).map(drop))
    });
}
