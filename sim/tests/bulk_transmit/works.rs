//! `bulk_works` beside a model of it: work requests of every kind, READ requests of others, a `bulk_send` that starts and ends
//! transfers at random, packets that cannot be read, and queue pairs and regions that end.

mod ports;
mod requests;
mod serves;

use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkWorks;
use tributary_hdl::emit::{Design, emit_block};
use tributary_protocol::card::descriptor::{OPCODE_BULK_READ, OPCODE_BULK_WRITE, flags};
use tributary_protocol::rw::{Outcome as Ending, Reason};
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::onesided::{
    H_ADDRESS, H_ANSWER, H_LENGTH, H_OPERATION, H_RKEY, Operation,
};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_sim::testbench::{PROFILES, Profile, Stalls, seeds};
use tributary_sim::verilate::{Model, Verilated};

use tributary_sim::testbench::wrong::{self, Wrong};

const SLOTS: usize = 16;
/// READs of this host at once.
const READS: usize = 3;
/// Clocks that a lookup takes.
const LOOKUP: u64 = 6;
/// An MTU of 256 bytes says by how much it is more which deliberate error is there.
const MTU: u64 = 256;

fn design() -> Design {
    emit_block(&mut BulkWorks::<16, 4, 5, 4>::default()).unwrap()
}

/// A work request and what its queue pair adds, by the names of the ports.
#[derive(Clone, Debug, Default)]
struct Work {
    fields: BTreeMap<&'static str, u64>,
    head: [u8; 16],
}

impl Work {
    fn is(&self, name: &str) -> u64 {
        self.fields[name]
    }

    /// It is a READ.
    fn reads(&self) -> bool {
        self.is("opcode") == u64::from(OPCODE_BULK_READ)
    }
}

#[derive(Clone, Copy, Debug)]
struct Region {
    key: u32,
    domain: u16,
    base: u64,
    length: u64,
    /// It has local_write.
    write: bool,
}

impl Region {
    fn holds(&self, key: u32, domain: u16, addr: u64, bytes: u64, write: bool) -> bool {
        let end = u128::from(addr) + u128::from(bytes);
        (key, domain) == (self.key, self.domain)
            && (self.write || !write)
            && addr >= self.base
            && end <= u128::from(self.base) + u128::from(self.length)
    }
}

/// A transfer under way.
#[derive(Clone, Debug)]
struct Running {
    work: Work,
    xid: u32,
    /// Of a response: the READ request.
    token: Option<u64>,
    /// Why the card ends it.
    unread: Option<Reason>,
    flushed: bool,
    /// bulk_send was told to cancel it.
    cancelled: bool,
    /// Clock of its last change.
    since: u64,
}

/// How often something has happened.
#[derive(Debug, Default)]
struct Met {
    statuses: BTreeMap<u64, u64>,
    cancelled: BTreeMap<u64, u64>,
    silent: u64,
    dropped: u64,
    stale: u64,
    waited: u64,
    commands: u64,
    /// READs of this host that have left, and clocks in which one waited for a place.
    reads: u64,
    reads_waited: u64,
    /// READ requests of others: begun, told that all slots are taken, served to the end, ended with their queue pair.
    begun: u64,
    busy: u64,
    served: u64,
    forgotten: u64,
    /// Clocks in which one and a WRITE were offered.
    both: u64,
}

struct Bench {
    model: Model,
    rng: SmallRng,
    stalls: Stalls,
    now: u64,
    mtu: u64,
    regions: Vec<Region>,
    offered: Option<Work>,
    looks: VecDeque<(u64, bool)>,
    /// A READ request of others, by the names of the ports.
    serving: Option<BTreeMap<&'static str, u64>>,
    /// When places of READs of this host are free again.
    reading: Vec<u64>,
    /// A transfer that bulk_send has taken, the clock from which on it says so, and whether it is of a READ request of others.
    starting: Option<(u16, u32, u64, bool)>,
    xids: [u32; SLOTS],
    running: BTreeMap<u16, Running>,
    /// Clock of the last change of each slot.
    changed: [u64; SLOTS],
    ended: Option<(u16, u32, u64)>,
    unread: Option<(u16, u32, bool)>,
    hold: bool,
    /// Everything has come to rest.
    resting: bool,
    ending: Option<u64>,
    asked: VecDeque<(u64, u64)>,
    events: [u64; 4],
    idle: u64,
    met: Met,
}

type Result<T> = std::result::Result<T, String>;

impl Bench {
    fn new(library: &Verilated, seed: u64, mtu: u64) -> Self {
        let mut model = library.model().unwrap();
        model.set(model.port("cfg_mtu").unwrap(), mtu);
        let mut bench = Self {
            model,
            rng: SmallRng::seed_from_u64(seed),
            stalls: Stalls::new(Profile::of_seed(seed), seed, 4),
            now: 0,
            mtu,
            regions: vec![
                Region {
                    key: 0x0000_0357,
                    domain: 0x11,
                    base: 0x7F00_1234_5003,
                    length: 1 << 33,
                    write: true,
                },
                Region {
                    key: 0xFFFF_FF01,
                    domain: 0x2222,
                    base: u64::MAX - 0xFFFF,
                    length: 0x1_0000,
                    write: true,
                },
                Region {
                    key: 0x0012_3402,
                    domain: 0x11,
                    base: 0x5003,
                    length: 0x1_0000,
                    write: false,
                },
            ],
            offered: None,
            looks: VecDeque::new(),
            serving: None,
            reading: vec![],
            starting: None,
            xids: std::array::from_fn(|slot| (slot as u32) << 28 | 0xFFFE),
            running: BTreeMap::new(),
            changed: [0; SLOTS],
            ended: None,
            unread: None,
            hold: false,
            resting: false,
            ending: None,
            asked: VecDeque::new(),
            events: [0; 4],
            idle: 0,
            met: Met::default(),
        };
        for name in [
            "s_valid",
            "s_look_valid",
            "s_started_valid",
            "s_ended_valid",
            "s_unread_valid",
            "s_end_valid",
            "s_serve_valid",
            "read_free",
            "hold",
        ] {
            bench.set(name, 0);
        }
        bench.model.reset(4).unwrap();
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) == 1
    }

    /// log2 of the packet size.
    fn log(&self) -> u32 {
        self.mtu.ilog2().clamp(8, 12)
    }

    /// What bulk_send, its reader and commands do next.
    fn happen(&mut self, more: bool) {
        let free = self.running.len() + usize::from(self.starting.is_some()) < SLOTS;
        // One may wait while everything rests, and none comes then.
        if self.offered.is_none()
            && more
            && !self.resting
            && self
                .rng
                .random_range(0..[4, 60][usize::from((self.now / 4_000).is_multiple_of(2))])
                == 0
        {
            self.offered = Some(self.work());
        }
        self.met.waited += u64::from(!free && self.offered.is_some());
        // Those who ask begin nothing while everything is to come to rest.
        let often = [50, 700][usize::from(self.now / 3_000 % 2 == 1)];
        if self.serving.is_none() && more && !self.hold && self.rng.random_range(0..often) == 0 {
            self.serving = Some(self.serve());
        }
        self.met.both += u64::from(self.serving.is_some() && self.offered.is_some());
        let now = self.now;
        self.reading.retain(|until| *until > now);
        // At times transfers last, and all slots are taken.
        let lasts = [40, 1_000][usize::from(more && self.now / 5_000 % 2 == 1)];
        if self.ended.is_none() && self.rng.random_range(0..lasts) == 0 {
            let ending: Vec<(u16, u32, bool)> = self
                .running
                .iter()
                .filter(|(_, one)| one.cancelled || (one.unread.is_none() && !one.flushed) || more)
                .map(|(slot, one)| (*slot, one.xid, one.cancelled))
                .collect();
            if !ending.is_empty() {
                let (slot, xid, cancelled) = ending[self.rng.random_range(0..ending.len())];
                let outcome = match cancelled {
                    true => Ending::Cancelled as u64,
                    false => [0, 0, 1, 2, 3, 4, 5, 7, 8, 9][self.rng.random_range(0..10)],
                };
                self.ended = Some((slot, xid, outcome));
            }
        }
        if self.unread.is_none() && more && !self.resting && self.rng.random_range(0..120) == 0 {
            let slot = self.rng.random_range(0..SLOTS as u16);
            // Of the last transfer that has begun there.
            let begins = self.starting.is_some_and(|(one, ..)| one == slot);
            let mut xid = self.xids[usize::from(slot)].wrapping_sub(begins.into());
            if self.rng.random_range(0..4) == 0 {
                xid = xid.wrapping_sub(1);
            }
            self.unread = Some((slot, xid, self.rng.random()));
        }
        if !self.hold && more && self.rng.random_range(0..1_500) == 0 {
            self.hold = true;
        }
        if self.resting && self.ending.is_none() {
            match self.rng.random_range(0..12) {
                0 => self.ending = Some(self.rng.random_range(0..4)),
                1 => {
                    let at = self.rng.random_range(0..self.regions.len());
                    self.regions[at].key ^= 1 << self.rng.random_range(0..8);
                }
                2 | 3 => (self.hold, self.resting) = (false, false),
                _ => {}
            }
        }
        self.idle += 1;
    }

    fn clock(&mut self, more: bool) -> Result<()> {
        self.happen(more);
        self.stalls.clock();
        self.drive();
        self.model.eval().map_err(|e| e.to_string())?;
        for (at, valid) in [
            "m_start_valid",
            "m_cancel_valid",
            "m_cpl_valid",
            "m_read_valid",
        ]
        .into_iter()
        .enumerate()
        {
            self.stalls.observe(at, self.is(valid), true);
        }
        self.sample()?;
        self.model.clock().map_err(|e| e.to_string())?;
        self.now += 1;
        match self.idle > 30_000 {
            true => Err(format!("it stands still: {:?}", self.running)),
            false => Ok(()),
        }
    }

    fn moves(&self, port: &str) -> bool {
        self.is(&format!("{port}_valid")) && self.is(&format!("{port}_ready"))
    }
}

fn run(library: &Verilated, seed: u64, mtu: u64) -> Result<Met> {
    let mut bench = Bench::new(library, seed, mtu);
    let told = |bench: &Bench, e: String| format!("clock {}: {e}", bench.now);
    while bench.now < 40_000 {
        bench.clock(true).map_err(|e| told(&bench, e))?;
    }
    while bench.offered.is_some()
        || bench.serving.is_some()
        || !bench.running.is_empty()
        || bench.unread.is_some()
        || bench.hold
    {
        bench.clock(false).map_err(|e| told(&bench, e))?;
    }
    for _ in 0..100 {
        bench.clock(false).map_err(|e| told(&bench, e))?;
    }
    let of = |range: fn(&u64) -> bool| {
        bench
            .met
            .statuses
            .iter()
            .filter(|(status, _)| range(status))
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let ok = of(|status| *status == 0);
    let all = of(|_| true);
    let [refused, completed, failed, served] = bench.events;
    if (completed, refused + failed, served) != (ok, all - ok, bench.met.served) {
        return Err(format!("counted {:?} of {:?}", bench.events, bench.met));
    }
    Ok(bench.met)
}

#[test]
fn bw_01_bw_05_bw_09_bw_11_work_requests_have_one_completion_each_and_reads_of_others_none() {
    let design = design();
    let library = wrong::build(&design.top, &design.files());
    let mut all = Met::default();
    for seed in seeds(PROFILES.len() as u64) {
        println!("seed {seed}");
        let mtu = [MTU, 512, 1_024, 2_048, 4_096, 300, 1_500][(seed % 7) as usize];
        let met = run(&library, seed, mtu).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        for (status, count) in met.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
        for (reason, count) in met.cancelled {
            *all.cancelled.entry(reason).or_default() += count;
        }
        all.silent += met.silent;
        all.dropped += met.dropped;
        all.stale += met.stale;
        all.waited += met.waited;
        all.commands += met.commands;
        all.reads += met.reads;
        all.reads_waited += met.reads_waited;
        all.begun += met.begun;
        all.busy += met.busy;
        all.served += met.served;
        all.forgotten += met.forgotten;
        all.both += met.both;
    }
    println!("{all:?}");
    if std::env::var_os("TRIBUTARY_SEED").is_some() {
        return;
    }
    let statuses = [
        Outcome::Ok,
        Outcome::LocalLength,
        Outcome::LocalAddress,
        Outcome::LocalOpcode,
        Outcome::LocalProtection,
        Outcome::LocalDma,
        Outcome::RemoteLength,
        Outcome::RemoteAccess,
        Outcome::RemoteRnr,
        Outcome::BadQp,
        Outcome::Unreachable,
        Outcome::Unresponsive,
        Outcome::Aborted,
    ];
    for status in statuses {
        assert!(all.statuses.contains_key(&(status as u64)), "no {status}");
    }
    for reason in [Reason::Protection, Reason::Memory, Reason::Cancelled] {
        assert!(
            all.cancelled.contains_key(&(reason as u64)),
            "nothing cancelled for {reason:?}"
        );
    }
    assert!(
        all.silent > 20
            && all.dropped > 0
            && all.stale > 20
            && all.waited > 20
            && all.commands > 20,
        "{all:?}"
    );
    assert!(
        all.reads > 100
            && all.reads_waited > 100
            && all.begun > 100
            && all.busy > 20
            && all.served > 20
            && all.forgotten > 5
            && all.both > 500,
        "{all:?}"
    );
}

const WRONG: [Wrong; 23] = [
    // BW-1: too long, beyond the address space, an impossible queue pair, nonsense.
    ("bulk_limits", "too_many_reg <= ", "1'b0"),
    ("bulk_limits", "too_long_reg <= ", "too_many_reg"),
    ("bulk_begin", "far_reg <= ", "1'b0"),
    ("bulk_begin", "bad_code_reg <= ", "1'b0"),
    ("bulk_begin", "bad_head_reg <= ", "1'b0"),
    ("bulk_begin", "bad_window_reg <= ", "1'b0"),
    // BW-5: the last byte is one too far; a wrap is not seen; no byte is looked up.
    ("bulk_limits", "length_1_reg <= ", "length"),
    ("bulk_limits", "some_reg <= ", "1'b0"),
    // BW-9: those of the queue pair that ends, and the request that waits.
    ("bulk_begin", "same_work_reg <= ", "1'b0"),
    ("bulk_marks", "same_pair_reg <= ", "1'b0"),
    // RW-7: of another transfer in that slot.
    ("bulk_marks", "same_xid_reg <= ", "1'b1"),
    // BW-5: only the first reason counts.
    ("bulk_marks", "marked = ", "1'b0"),
    ("bulk_works", "silent_reg <= ", "1'b0"),
    ("bulk_works", "gone_memory_reg <= ", "1'b0"),
    // BW-11: a READ is written where its host may only read; it notifies; it leaves while no place is free.
    ("bulk_begin", "m_look_need = ", "4'd0"),
    (
        "bulk_begin",
        "bad_code_reg <= ",
        "(!reads & (s_opcode != BULK_WRITE)) | (|(s_flags & ~FENCE & ~NOTIFY & ~OLDEST_FIRST)) | (s_vf != ONE_SIDED)",
    ),
    (
        "bulk_begin",
        "m_read_valid = ",
        "(begin_reg == BEGIN_READ) | (reads & (begin_reg == BEGIN_WAIT))",
    ),
    // RW-15: no transfer sends oldest first.
    ("bulk_begin", "m_start_oldest_first = ", "1'b0"),
    // BW-11: a READ request of others is told busy while a slot is free, or not told; it has a completion; it ends with another
    // queue pair; messages for it come from another node.
    ("bulk_works", "s_serve_ready = ", "served | serve_begins"),
    ("bulk_works", "s_serve_busy = ", "1'b0"),
    ("bulk_works", "end_response = ", "1'b0"),
    ("bulk_works", "marks_s_start_qpn = ", "s_qpn"),
    ("bulk_works", "peer_in_node = ", "s_node"),
];

#[test]
fn bw_01_bw_05_bw_09_bw_11_rw_07_every_wrong_keeper_of_work_requests_is_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        wrong::library(
            &design().top,
            design().files(),
            ("cfg_mtu", 13),
            MTU + 1,
            &WRONG,
        )
    });
    let runs = |mtu| (0..4).try_for_each(|seed| run(library, seed, mtu).map(|_| ()));
    runs(MTU).unwrap_or_else(|what| panic!("the right one: {what}"));
    wrong::every_is_noticed(&WRONG, |number| runs(MTU + 1 + number));
}
