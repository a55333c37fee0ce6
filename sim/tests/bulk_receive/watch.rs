//! Who is told of marks: `bulk_watch` alone in Verilator, deed by deed with its model (CL-4).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkWatch;
use tributary_hdl::emit::emit_block;
use tributary_protocol::bulk::watch::Watch;
use tributary_protocol::red::address::NODES;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Profile, Stalls, seeds};
use tributary_sim::verilate::{Model, Port, Verilated};

const WINDOWS: u16 = 16;
/// Clocks in which all windows are looked at, and a deed or two in between is done.
const SWEEP: u64 = 16 * 9 + 60;

fn sources() -> (String, Vec<(String, String)>) {
    let design = emit_block(&mut BulkWatch::<16, 4>::default()).unwrap();
    let files = design.files();
    (design.top, files)
}

/// Who sends to a window: node, slot there, transfer.
type Name = (u32, u16, u32);

/// What is known of messages to a sender that have to come.
#[derive(Default)]
struct Due {
    /// Messages that may still come, of marks and others: what is due while another is due comes with it, or apart.
    most: [u32; 2],
    /// One has to.
    some: bool,
    /// Clock in which one was due last.
    at: u64,
}

/// Clocks after which a sender that is due has been told, if nothing else stands at the port.
const TOLD: u64 = 40;

struct Ports {
    opened: [Port; 5],
    cpl: [Port; 2],
    data: [Port; 3],
    m: [Port; 7],
    mon: [Port; 7],
    now: Port,
}

pub struct Bench {
    model: Model,
    ports: Ports,
    rng: SmallRng,
    watch: Watch,
    interval: u16,
    names: BTreeMap<u16, Name>,
    doors: VecDeque<(u16, bool, u64)>,
    data: VecDeque<(u16, bool, u64)>,
    /// Young windows that the look behind an opening has to tell.
    young: BTreeSet<u16>,
    due: BTreeMap<u16, Due>,
    messages: [u64; 2],
    clock: u64,
    /// A silence has just ended.
    wakes: bool,
}

impl Bench {
    fn new(library: &Verilated, seed: u64, interval: u16) -> Self {
        let mut model = library.model().unwrap();
        let port = |name: &str| model.port(name).unwrap();
        let ports = Ports {
            opened: ["valid", "wptr", "src", "slot", "xid"].map(|n| port(&format!("s_opened_{n}"))),
            cpl: ["valid", "wptr"].map(|n| port(&format!("s_cpl_{n}"))),
            data: ["valid", "wptr", "marked"].map(|n| port(&format!("s_data_{n}"))),
            m: ["valid", "ready", "node", "slot", "xid", "marked", "share"]
                .map(|n| port(&format!("m_{n}"))),
            mon: ["act", "deed", "wptr", "marked", "tick", "due", "sweeps"]
                .map(|n| port(&format!("mon_{n}"))),
            now: port("now"),
        };
        let [enable, cfg_interval] = [port("cfg_enable"), port("cfg_interval")];
        model.set(enable, 1);
        model.set(cfg_interval, interval.into());
        model.reset(4).unwrap();
        Self {
            model,
            ports,
            rng: SmallRng::seed_from_u64(seed),
            watch: Watch::default(),
            interval,
            names: BTreeMap::new(),
            doors: VecDeque::new(),
            data: VecDeque::new(),
            young: BTreeSet::new(),
            due: BTreeMap::new(),
            messages: [0; 2],
            clock: 0,
            wakes: false,
        }
    }

    fn open(&mut self, tick: u64) {
        let free: Vec<u16> = (0..WINDOWS)
            .filter(|wptr| !self.names.contains_key(wptr))
            .collect();
        if free.is_empty() {
            return;
        }
        let wptr = free[self.rng.random_range(0..free.len())];
        let name: Name = (
            self.rng.random_range(0..NODES),
            self.rng.random(),
            self.rng.random(),
        );
        let fields = [1, wptr.into(), name.0.into(), name.1.into(), name.2.into()];
        for (port, value) in self.ports.opened.into_iter().zip(fields) {
            self.model.set(port, value);
        }
        self.names.insert(wptr, name);
        self.doors.push_back((wptr, true, tick));
    }

    fn close(&mut self, tick: u64) {
        let open: Vec<u16> = self.names.keys().copied().collect();
        if let Some(wptr) = open.get(self.rng.random_range(0..open.len().max(1))) {
            self.model.set(self.ports.cpl[0], 1);
            self.model.set(self.ports.cpl[1], (*wptr).into());
            self.names.remove(wptr);
            self.doors.push_back((*wptr, false, tick));
        }
    }

    fn data(&mut self, tick: u64, marks: u32) {
        // Of a few windows for the most part, so that some have more than their part; of a closed one now and then.
        let wptr = match self.rng.random_range(0..4) {
            0 => self.rng.random_range(0..WINDOWS),
            _ => self.names.keys().next().copied().unwrap_or(3),
        };
        // Behind a silence the first marks are those of others.
        let wptr = if self.wakes {
            self.names.keys().next_back().copied().unwrap_or(3)
        } else {
            wptr
        };
        let marked = self.wakes || self.rng.random_range(0..1_000) < marks;
        let fields = [1, wptr.into(), marked.into()];
        for (port, value) in self.ports.data.into_iter().zip(fields) {
            self.model.set(port, value);
        }
        self.data.push_back((wptr, marked, tick));
    }

    fn is_due(&mut self, wptr: u16, marked: bool) {
        let due = self.due.entry(wptr).or_default();
        due.most[usize::from(marked)] += 1;
        due.some = true;
        due.at = self.clock;
    }

    /// A deed of the RTL, done by the model.
    fn act(&mut self, exact: bool) -> Result<(), String> {
        let [_, deed, wptr, _, tick, due, sweeps] = self.ports.mon.map(|port| self.model.get(port));
        let (wptr, due) = (wptr as u16, due == 1);
        let same = |at: u64| at as u16 == tick as u16;
        let mut expected = false;
        match deed {
            0 | 1 => {
                let (at, opens, when) = self.doors.pop_front().ok_or("no door moves")?;
                if (at, opens, same(when)) != (wptr, deed == 0, true) {
                    return Err(format!("deed {deed} of {wptr}, door {at} {opens}"));
                }
                if opens {
                    let told = self.watch.open(wptr, Some(self.interval), when);
                    self.young = told.iter().map(|told| told.wptr).collect();
                    expected = self.young.remove(&wptr);
                } else {
                    self.watch.close(wptr);
                    self.young.remove(&wptr);
                    self.due.remove(&wptr);
                }
            }
            2 => {
                let (at, marked, when) = self.data.pop_front().ok_or("no DATA came")?;
                if (at, same(when)) != (wptr, true) {
                    return Err(format!("DATA of {wptr}, it was of {at}"));
                }
                let told = self.watch.data(wptr, marked, self.interval, when);
                expected = told.is_some();
                if expected {
                    self.young.remove(&wptr);
                }
            }
            _ => {
                expected = self.young.remove(&wptr);
                if due && sweeps == 0 {
                    return Err(format!("{wptr} is told for no opening"));
                }
            }
        }
        if due != expected && (exact || deed != 3) {
            return Err(format!("deed {deed} tells {wptr}: {due}, model {expected}"));
        }
        if due {
            self.is_due(wptr, deed == 2);
        }
        Ok(())
    }

    fn message(
        &mut self,
        name: Name,
        marked: bool,
        share: u16,
        shares: [u16; 2],
    ) -> Result<(), String> {
        let told = self.names.iter().find(|(_, of)| **of == name);
        self.messages[usize::from(marked)] += 1;
        if !shares.contains(&share) {
            return Err(format!("share {share} of {shares:?}"));
        }
        // One that was closed while its message waited.
        let Some((wptr, _)) = told else {
            return Ok(());
        };
        let due = self.due.entry(*wptr).or_default();
        let most = &mut due.most[usize::from(marked)];
        if *most == 0 {
            return Err(format!("{wptr} is told for nothing, of marks: {marked}"));
        }
        *most -= 1;
        due.some = false;
        Ok(())
    }

    /// Nothing stands at the port for a while: whoever was due before that has been told.
    fn all_told(&mut self) -> Result<(), String> {
        let before = self.clock.saturating_sub(TOLD);
        let untold = self.due.iter().find(|(_, due)| due.some && due.at < before);
        if let Some((wptr, _)) = untold {
            return Err(format!("{wptr} is never told"));
        }
        self.due.retain(|_, due| due.at >= before);
        Ok(())
    }

    /// Runs; with `storm` windows open and close as they like, and only at the end all has to be right.
    fn run(
        &mut self,
        clocks: u64,
        tick: u64,
        profile: Profile,
        seed: u64,
        storm: bool,
    ) -> Result<(), String> {
        let mut stalls = Stalls::new(profile, seed, 1);
        let (mut door_at, mut data_at, mut idle) = (0, 0, 0);
        for clock in 0..clocks + 20_000 {
            self.clock = clock;
            let ending = clock >= clocks;
            let now = 70_000 + clock / tick;
            self.model.set(self.ports.now, now & 0xffff);
            for port in [self.ports.opened[0], self.ports.cpl[0], self.ports.data[0]] {
                self.model.set(port, 0);
            }
            // Long silence now and then, so that times grow old: and as old as if they were new.
            let [busy, cycle] = if tick == 8 {
                [130_000, 654_400]
            } else {
                [240_000, 360_000]
            };
            let silent = clock % cycle >= busy;
            self.wakes = clock >= cycle && clock % cycle < 400;
            let quiet = self.doors.is_empty() && !self.model.is_set(self.ports.mon[6]);
            if !ending && !silent && clock >= door_at && (storm || quiet) {
                if self.rng.random_range(0..8) < 5 {
                    self.open(now);
                } else {
                    self.close(now);
                }
                door_at = clock + self.rng.random_range(60..if storm { 300 } else { 4_000 });
            }
            if !ending && !silent && clock >= data_at {
                self.data(now, [2, 60, 300][(clock / 40_000 % 3) as usize]);
                data_at = clock
                    + self
                        .rng
                        .random_range(15..[20, 100, 15 + SWEEP][(clock / 7_000 % 3) as usize]);
            }
            stalls.clock();
            let ready = ending || stalls.ready(0);
            self.model.set(self.ports.m[1], ready.into());
            self.model.eval().unwrap();
            let before = self.watch.share();
            if self.model.is_set(self.ports.mon[0]) {
                self.act(!storm)
                    .map_err(|what| format!("clock {clock}: {what}"))?;
            }
            let valid = self.model.is_set(self.ports.m[0]);
            idle = if valid { 0 } else { idle + 1 };
            if idle > TOLD {
                self.all_told()
                    .map_err(|what| format!("clock {clock}: {what}"))?;
            }
            stalls.observe(0, valid, true);
            if valid && ready {
                let [_, _, node, slot, xid, marked, share] =
                    self.ports.m.map(|port| self.model.get(port));
                let name = (node as u32, slot as u16, xid as u32);
                self.message(
                    name,
                    marked == 1,
                    share as u16,
                    [before, self.watch.share()],
                )
                .map_err(|what| format!("clock {clock}: {what}"))?;
            }
            self.model.clock().unwrap();
        }
        self.all_told()?;
        if !self.young.is_empty() || !self.doors.is_empty() || !self.data.is_empty() {
            return Err(format!(
                "left {:?} {:?} {:?}",
                self.young, self.doors, self.data
            ));
        }
        Ok(())
    }
}

fn run(library: &Verilated, seed: u64, interval: u16, storm: bool) -> Result<[u64; 2], String> {
    let mut bench = Bench::new(library, seed, interval);
    let tick = [1, 8, 3][(seed % 3) as usize];
    let profile = Profile::of_seed(seed);
    let clocks = if tick == 8 { 1_400_000 } else { 600_000 };
    bench
        .run(clocks, tick, profile, seed, storm)
        .map_err(|what| format!("seed {seed}: {what}"))?;
    Ok(bench.messages)
}

/// Intervals of a run, all apart from those of the errors.
const INTERVALS: [u16; 4] = [48, 12, 200, 4_096];

#[test]
fn cl_04_senders_are_told_in_lock_step_with_the_model() {
    let (top, files) = sources();
    let library = wrong::build(&top, &files);
    let mut messages = [0; 2];
    for seed in seeds(12) {
        let interval = INTERVALS[(seed / 3 % 4) as usize];
        let told = run(&library, seed, interval, false).unwrap_or_else(|what| panic!("{what}"));
        messages = [messages[0] + told[0], messages[1] + told[1]];
    }
    println!("{messages:?} messages");
    assert!(messages[0] > 200 && messages[1] > 200, "{messages:?}");
}

#[test]
fn cl_04_windows_that_open_and_close_at_once_leave_nobody_untold() {
    let (top, files) = sources();
    let library = wrong::build(&top, &files);
    for seed in seeds(6) {
        run(&library, seed, 200, true).unwrap_or_else(|what| panic!("{what}"));
    }
}

const WRONG: [Wrong; 14] = [
    ("bulk_watch", "told_recent_reg <= ", "1'b0"),
    ("bulk_watch", "told_recent_reg <= ", "1'b1"),
    ("bulk_watch", "mark_recent_reg <= ", "1'b1"),
    ("bulk_watch", "over_reg <= ", "1'b0"),
    ("bulk_watch", "over_reg <= ", "period_reg & in_time_reg"),
    ("bulk_watch", "in_time_reg <= ", "1'b1"),
    ("bulk_watch", "period_reg <= ", "1'b1"),
    ("bulk_watch", "limit_reg <= ", "{1'b0, elapsed_reg}"),
    ("bulk_watch", "begun_reg <= ", "1'b1"),
    ("bulk_watch", "begun_reg <= ", "1'b0"),
    ("bulk_watch", "shares = ", "windows_reg >= watch_share_reg"),
    ("bulk_watch", "m_share = ", "16'd1"),
    ("bulk_watch", "m_marked = ", "1'b1"),
    ("bulk_watch", "due_share_reg <= ", "begun_reg"),
];

#[test]
fn cl_04_every_wrong_watch_is_noticed() {
    let (top, files) = sources();
    let library = wrong::library(&top, files, ("cfg_interval", 13), 301, &WRONG);
    for seed in 0..6 {
        run(&library, seed, 250, false).unwrap_or_else(|what| panic!("{what}"));
    }
    wrong::every_is_noticed(&WRONG, |number| {
        (0..12).try_for_each(|seed| run(&library, seed, 301 + number as u16, false).map(drop))
    });
}
