//! `bulk_fetch` among packets of every kind, slots that change at any moment, regions, and host memory that fails: each packet
//! becomes the frame that the model's encoder makes of it, with the bytes of its memory, or is named as one that cannot be read.

mod ports;

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkFetch;
use tributary_hdl::emit::{Design, emit_block};
use tributary_protocol::bulk::{Purpose, Transfer};
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::{Abort, Connect, Data, Message, Poll, Reason, wire};
use tributary_sim::testbench::{PROFILES, Profile, Stalls, seeds};
use tributary_sim::verilate::{Model, Verilated};

use tributary_sim::testbench::wrong::{self, Wrong};

const SLOTS: u16 = 16;
/// Words that are kept.
const WORDS: usize = 2_048;
const NODE: u32 = 0xA_0102;

fn design() -> Design {
    emit_block(&mut BulkFetch::<11>::default()).unwrap()
}

/// A byte of host memory.
fn byte(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    live: bool,
    xid: u32,
    address: u64,
    key: u32,
    domain: u16,
    peer: u32,
    qpn: u32,
    q_key: u32,
    notify: bool,
    immediate: u32,
    /// It answers the READ request with this token.
    response: bool,
    token: u64,
}

/// A packet as bulk_send offers it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    kind: u8,
    dst: u32,
    slot: u16,
    xid: u32,
    wptr: u16,
    incarnation: u16,
    pidx: u32,
    tail: bool,
    offset: u32,
    length: u32,
    seq: u16,
    reason: Reason,
    addr: u64,
    rkey: u32,
    mtu: u8,
}

impl Packet {
    /// The message that it is, and what follows it.
    fn message(&self, source: &Slot, incarnation: u16) -> (Message, Vec<u8>) {
        let (src, slot, xid) = (NODE, self.slot, self.xid);
        let (wptr, r#gen) = (self.wptr, self.incarnation.into());
        match self.kind {
            0 => {
                let data = Data {
                    src,
                    wptr,
                    r#gen,
                    pidx: self.pidx,
                    tail: self.tail,
                    round: 0,
                    len: self.length as u16,
                };
                let from = source.address.wrapping_add(self.offset.into());
                let bytes = (0..u64::from(self.length)).map(|at| byte(from.wrapping_add(at)));
                (Message::Data(data), bytes.collect())
            }
            4 => {
                let connect = Connect {
                    src,
                    slot,
                    xid,
                    incarnation,
                    length: self.length,
                    addr: self.addr,
                    rkey: self.rkey,
                    mtu: self.mtu,
                };
                let header = Transfer {
                    qpn: source.peer,
                    source: source.qpn,
                    q_key: source.q_key,
                    purpose: match (source.notify, source.response) {
                        (true, _) => Purpose::Notify(source.immediate),
                        (false, true) => Purpose::Response(source.token),
                        (false, false) => Purpose::Write,
                    },
                };
                (Message::Connect(connect), header.encode().to_vec())
            }
            6 => (
                Message::Poll(Poll {
                    src,
                    wptr,
                    r#gen,
                    slot,
                    xid,
                    seq: self.seq,
                }),
                vec![],
            ),
            _ => (
                Message::Abort(Abort {
                    src,
                    slot,
                    xid,
                    reason: self.reason,
                }),
                vec![],
            ),
        }
    }
}

/// What must leave, in order.
#[derive(Clone, Debug)]
struct Wanted {
    packet: Packet,
    source: Slot,
    /// Its read fails.
    fails: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Met {
    frames: [u64; 8],
    bytes: u64,
    gone: u64,
    no_key: u64,
    no_memory: u64,
    changed: u64,
    /// Looks with the right of others, and such that have failed for nothing else.
    others: u64,
    no_right: u64,
    /// CONNECTs that answer READs.
    responses: u64,
    holds: u64,
    most_words: usize,
    clocks: u64,
}

/// How a run behaves.
#[derive(Clone, Copy, Debug)]
struct Plan {
    stall: Profile,
    incarnation: u16,
    /// Clocks until host memory answers, at least and at most.
    answer: (u64, u64),
    /// Packets are all DATA of so many bytes, offered at once, over a line with headers.
    only: Option<u32>,
}

type Result<T> = std::result::Result<T, String>;

struct Bench {
    model: Model,
    rng: SmallRng,
    stalls: Stalls,
    plan: Plan,
    now: u64,
    slots: Vec<Slot>,
    offered: Option<Packet>,
    /// What its slot was since it is offered; which of these was looked at.
    seen: Vec<Slot>,
    looked: Option<(Slot, bool)>,
    asked: VecDeque<u16>,
    looks: VecDeque<(u64, bool)>,
    /// Reads: when they are answered, address, bytes, and whether they fail.
    reads: VecDeque<(u64, u64, usize, bool)>,
    /// Words of each, all of them.
    sizes: VecDeque<usize>,
    words_here: usize,
    wanted: VecDeque<Wanted>,
    unread: VecDeque<(u16, u32)>,
    failed: VecDeque<(u16, u32)>,
    leaving: VecDeque<(Bth, Vec<u8>, usize, Wanted)>,
    /// Clock from which on the line takes the next frame.
    line: u64,
    hold: bool,
    idle: u64,
    met: Met,
}

impl Bench {
    fn new(library: &Verilated, seed: u64, plan: Plan) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let slots = (0..SLOTS).map(|_| slot(&mut rng)).collect();
        let mut bench = Self {
            model: library.model().unwrap(),
            rng,
            stalls: Stalls::new(plan.stall, seed, 4),
            plan,
            now: 0,
            slots,
            offered: None,
            seen: vec![],
            looked: None,
            asked: VecDeque::from([0, 0]),
            looks: VecDeque::new(),
            reads: VecDeque::new(),
            sizes: VecDeque::new(),
            words_here: 0,
            wanted: VecDeque::new(),
            unread: VecDeque::new(),
            failed: VecDeque::new(),
            leaving: VecDeque::new(),
            line: 0,
            hold: false,
            idle: 0,
            met: Met::default(),
        };
        for name in ["s_valid", "s_look_valid", "s_rd_valid", "hold"] {
            bench.set(name, 0);
        }
        bench.set("cfg_node", NODE.into());
        bench.set("cfg_incarnation", plan.incarnation.into());
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

    fn moves(&self, port: &str) -> bool {
        self.is(&format!("{port}_valid")) && self.is(&format!("{port}_ready"))
    }

    /// Whether the key of a slot still holds a packet: decided by its place, so that both come often.
    fn allowed(address: u64, key: u32, domain: u16, others: bool) -> bool {
        let held = key & 7 != 0 && domain & 7 != 0 && address >> 60 != 15;
        held && (!others || Self::readable(key))
    }

    /// Whether others may read what a key holds.
    fn readable(key: u32) -> bool {
        key & 0x30 != 0
    }

    fn packet(&mut self) -> Packet {
        let rng = &mut self.rng;
        let at = rng.random_range(0..SLOTS);
        let now = self.slots[usize::from(at)];
        let kind = [0, 0, 0, 0, 0, 4, 6, 7][rng.random_range(0..8)];
        // At times only large ones: room gets short.
        let large = self.now / 5_000 % 2 == 1;
        let mtu = if large { 12 } else { rng.random_range(8..=12) };
        let tail = !large && rng.random_range(0..3) == 0;
        let pidx: u32 = rng.random_range(0..1 << 20);
        let length = match (kind, tail) {
            (4, _) => rng.random(),
            (_, false) => 1 << mtu,
            (_, true) => rng.random_range(0..=1u32 << mtu),
        };
        let xid = if rng.random_range(0..8) == 0 {
            now.xid.wrapping_sub(1)
        } else {
            now.xid
        };
        let mut packet = Packet {
            kind,
            dst: rng.random_range(0..1 << 20),
            slot: at,
            xid,
            wptr: rng.random(),
            incarnation: rng.random(),
            pidx,
            tail,
            offset: pidx << mtu,
            length,
            seq: rng.random(),
            reason: Reason::ALL[rng.random_range(0..Reason::ALL.len())],
            addr: rng.random(),
            rkey: rng.random(),
            mtu,
        };
        if let Some(bytes) = self.plan.only {
            packet = Packet {
                kind: 0,
                tail: true,
                length: bytes,
                xid: now.xid,
                ..packet
            };
        }
        packet
    }

    fn happen(&mut self, more: bool) {
        let busy = (self.now / 3_000).is_multiple_of(2) || self.plan.only.is_some();
        if self.offered.is_none() && more && (busy || self.rng.random_range(0..30) == 0) {
            let packet = self.packet();
            self.seen = vec![self.slots[usize::from(packet.slot)]];
            self.looked = None;
            self.offered = Some(packet);
        }
        let reads = self
            .offered
            .is_none_or(|packet| packet.kind == 0 && packet.length > 0);
        if self.plan.only.is_none() && reads && self.rng.random_range(0..12) == 0 {
            let at = match self.offered {
                Some(packet) => packet.slot,
                None => self.rng.random_range(0..SLOTS),
            };
            let xid = self.slots[usize::from(at)].xid;
            let mut new = Slot {
                xid,
                ..slot(&mut self.rng)
            };
            new.xid = new.xid.wrapping_add(self.rng.random_range(0..2));
            self.slots[usize::from(at)] = new;
            if self.offered.is_some() {
                self.seen.push(new);
                self.met.changed += 1;
            }
        }
        if self.plan.only.is_none() && self.rng.random_range(0..900) == 0 && (more || self.hold) {
            self.hold = !self.hold;
            self.met.holds += u64::from(self.hold);
        }
    }

    fn clock(&mut self, more: bool) -> Result<()> {
        self.happen(more);
        self.stalls.clock();
        self.drive();
        self.model.eval().map_err(|e| e.to_string())?;
        for (at, valid) in ["m_rd_valid", "m_valid", "m_pl_valid", "m_unread_valid"]
            .into_iter()
            .enumerate()
        {
            let last = at != 2 || self.is("m_pl_last");
            self.stalls.observe(at, self.is(valid), last);
        }
        self.sample()?;
        self.model.clock().map_err(|e| e.to_string())?;
        self.now += 1;
        self.idle += 1;
        match self.idle > 30_000 {
            true => Err(format!("it stands still: {:?}", self.offered)),
            false => Ok(()),
        }
    }
}

fn slot(rng: &mut SmallRng) -> Slot {
    let kind = rng.random_range(0..3);
    Slot {
        live: rng.random_range(0..6) > 0,
        xid: rng.random(),
        address: rng.random(),
        key: rng.random(),
        domain: rng.random(),
        peer: rng.random_range(0..1 << 24),
        qpn: rng.random_range(0..1 << 24),
        q_key: rng.random(),
        notify: kind == 1,
        immediate: rng.random(),
        response: kind == 2,
        token: rng.random(),
    }
}

fn run(library: &Verilated, seed: u64, plan: Plan) -> Result<Met> {
    let mut bench = Bench::new(library, seed, plan);
    let told = |bench: &Bench, e: String| format!("clock {}: {e}", bench.now);
    while bench.now < 25_000 {
        bench.clock(true).map_err(|e| told(&bench, e))?;
    }
    while bench.offered.is_some()
        || !bench.wanted.iter().all(|wanted| wanted.fails)
        || !bench.leaving.is_empty()
        || !bench.unread.is_empty()
        || !bench.failed.is_empty()
    {
        bench.clock(false).map_err(|e| told(&bench, e))?;
    }
    for _ in 0..50 {
        bench.clock(false).map_err(|e| told(&bench, e))?;
    }
    if !bench.hold && !bench.is("m_idle") {
        return Err("not idle at the end".into());
    }
    bench.met.clocks = bench.now;
    Ok(bench.met)
}

fn plan(seed: u64) -> Plan {
    Plan {
        stall: Profile::of_seed(seed),
        incarnation: 7,
        answer: [(10, 60), (150, 150), (100, 900)][(seed % 3) as usize],
        only: None,
    }
}

#[test]
fn bw_05_bw_08_bw_11_rw_07_packets_carry_the_bytes_that_their_keys_hold_when_they_are_read() {
    let design = design();
    let library = wrong::build(&design.top, &design.files());
    let mut all = Met::default();
    for seed in seeds(PROFILES.len() as u64) {
        println!("seed {seed}");
        let met =
            run(&library, seed, plan(seed)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all.frames
            .iter_mut()
            .zip(met.frames)
            .for_each(|(all, met)| *all += met);
        all.bytes += met.bytes;
        all.gone += met.gone;
        all.no_key += met.no_key;
        all.no_memory += met.no_memory;
        all.changed += met.changed;
        all.others += met.others;
        all.no_right += met.no_right;
        all.responses += met.responses;
        all.holds += met.holds;
        all.most_words = all.most_words.max(met.most_words);
    }
    println!("{all:?}");
    if std::env::var_os("TRIBUTARY_SEED").is_some() {
        return;
    }
    assert!(
        [0, 4, 6, 7].into_iter().all(|kind| all.frames[kind] > 100),
        "{all:?}"
    );
    assert!(
        all.gone > 50
            && all.no_key > 50
            && all.no_memory > 20
            && all.changed > 500
            && all.holds > 20,
        "{all:?}"
    );
    assert!(all.most_words > WORDS - 512, "{all:?}");
    assert!(
        all.others > 150 && all.no_right > 20 && all.responses > 30,
        "{all:?}"
    );
}

/// Host memory that answers after 150 clocks does not slow a 64-bit line (BW-6): a packet leaves as soon as the line is free.
#[test]
fn bw_06_a_host_that_answers_after_150_clocks_does_not_slow_the_line() {
    let design = design();
    let library = wrong::build(&design.top, &design.files());
    for bytes in [256, 512, 1_024, 2_048, 4_096] {
        let plan = Plan {
            stall: Profile::Free,
            incarnation: 0,
            answer: (150, 150),
            only: Some(bytes),
        };
        let met = run(&library, 1, plan).unwrap_or_else(|what| panic!("{bytes} bytes: {what}"));
        let sent = met.frames[0] + met.no_key;
        let (clocks, line) = (
            met.clocks as f64 / met.frames[0] as f64,
            f64::from((bytes + 90) / 8),
        );
        println!(
            "{bytes} bytes: {clocks:.1} clocks a packet, {line:.1} on the line, {sent} packets"
        );
        assert!(
            clocks < line * 1.05,
            "{bytes} bytes take {clocks} clocks, {line} on the line"
        );
    }
}

const WRONG: [Wrong; 11] = [
    // RW-7: the transfer in the slot is another one; it is over.
    ("bulk_fetch", "same_reg <= ", "1'b1"),
    ("bulk_fetch", "live_reg <= ", "1'b1"),
    // BW-5: nothing is looked up, and nothing read.
    ("bulk_fetch", "reads_reg <= ", "1'b0"),
    // BW-5: another place is looked up and read.
    ("bulk_fetch", "address_reg <= ", "source_address_reg"),
    // Room is not kept.
    ("bulk_fetch", "fits_reg <= ", "1'b1"),
    // BW-5: the wrong reason is named; a read that has failed is not.
    ("bulk_fetch", "u_memory_reg <= ", "1'b0"),
    ("bulk_pack", "m_failed_valid = ", "1'b0"),
    // What CONNECT says changes before it leaves.
    ("bulk_pack", "m_said_free = ", "1'b1"),
    // BW-11: an answer is read with the rights of this host; it does not say what it answers.
    ("bulk_fetch", "m_look_need = ", "4'd0"),
    ("bulk_pack", "said_response_reg <= ", "1'b0"),
    ("bulk_pack", "transfer_token = ", "64'd0"),
];

#[test]
fn bw_05_bw_11_rw_07_every_wrong_reader_of_packets_is_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        wrong::library(
            &design().top,
            design().files(),
            ("cfg_incarnation", 16),
            101,
            &WRONG,
        )
    });
    let runs = |incarnation| {
        (0..4).try_for_each(|seed| {
            run(
                library,
                seed,
                Plan {
                    incarnation,
                    ..plan(seed)
                },
            )
            .map(|_| ())
        })
    };
    runs(100).unwrap_or_else(|what| panic!("the right one: {what}"));
    wrong::every_is_noticed(&WRONG, |number| runs(101 + number as u16));
}
