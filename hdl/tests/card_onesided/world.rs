//! The block with all its surroundings: frames in, memory, regions, the table of requests in flight, replies out.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;

use tributary_hdl::card::CardOneSided;
use tributary_protocol::xud::onesided::{Operation, Request};
use tributary_protocol::xud::wire::Send;
use tributary_protocol::xud::{
    Ack, Card, CardConfig, Drop, Grant, Nak, Packet, Peer, Reach, Reply, Shape, Window,
};
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::Verilated;

use crate::bench::{Dice, Rtl, build};

/// Queue pairs that receive; 6 is there and does not.
pub const QPS: [u32; 3] = [0, 3, 5];
/// Memory that others may use, and memory for answers, of as many bytes: each bit above is set in one and clear in the other.
pub const BASE: u64 = 0xa5c3_9612_ffff_f000;
pub const ANSWERS: u64 = 0x5a3c_69ed_0000_0000;
pub const HALF: u64 = 0x2000;
/// Clocks after which a frame must be done.
const PATIENCE: u64 = 20_000;

pub fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(CardOneSided::<3, 5>::default()))
}

/// Domain of a queue pair.
pub fn domain(qpn: u32) -> u16 {
    let number = 0xa5c0 + qpn as u16;
    if qpn.is_multiple_of(2) {
        number
    } else {
        !number
    }
}

/// A key that a queue pair may use, but for the rights that it lacks.
pub fn key(qpn: u32, lacks: u32) -> u32 {
    let stem = 0x69a_5c38 + qpn;
    let stem = if qpn.is_multiple_of(2) { stem } else { !stem };
    stem << 4 | lacks
}

/// Where a byte lies in [`Memory`].
pub fn place(address: u64) -> Option<u64> {
    let offset = |base: u64| address.checked_sub(base).filter(|offset| *offset < HALF);
    offset(BASE).or_else(|| Some(HALF + offset(ANSWERS)?))
}

/// Which bit of the needed rights an operation needs.
fn right(operation: Operation) -> u64 {
    match operation {
        Operation::Write => 2,
        Operation::Read => 4,
        Operation::FetchAdd | Operation::CompareSwap => 8,
    }
}

/// The rule of the regions here: the low bits of a key are the rights that it lacks, the rest is of the queue pair.
pub fn allowed(qpn: u32, rkey: u32, address: u64, bytes: u64, need: u64) -> bool {
    let inside = || {
        let [first, last] = [address, address.wrapping_add(bytes - 1)].map(place);
        first.zip(last).is_some_and(|(first, last)| first <= last)
    };
    bytes == 0 || rkey & !15 == key(qpn, 0) && u64::from(rkey) & need == 0 && inside()
}

/// Memory, and whether it answers.
#[derive(Clone)]
pub struct Memory {
    pub bytes: Vec<u8>,
    pub fails: bool,
    /// Reads and writes of one byte or more.
    pub accesses: u64,
}

impl Memory {
    fn at(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let at = place(address).expect("it was allowed") as usize;
        &mut self.bytes[at..at + bytes]
    }
}

impl Reach for Memory {
    fn allows(&self, qpn: u32, request: &Request<'_>) -> bool {
        let need = right(request.asked.operation());
        allowed(
            qpn,
            request.rkey,
            request.address,
            request.asked.bytes(),
            need,
        )
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.accesses += 1;
        if !self.fails {
            into.copy_from_slice(self.at(address, into.len()));
        }
        !self.fails
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        self.accesses += 1;
        self.at(address, bytes.len()).copy_from_slice(bytes);
    }

    fn place(&self, _: u32, _: u64, _: usize) -> Option<u64> {
        unreachable!("answers do not come here")
    }
}

/// A frame, and whether the memory that it reads answers.
#[derive(Clone, Debug)]
pub struct Frame {
    pub from: u32,
    pub send: Send,
    pub fails: bool,
}

/// A request in flight, with the buffer of its answer.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub window: Window,
    pub peer: Peer,
    pub kind: u8,
    pub addr: u64,
    pub key: u32,
    pub len: u16,
}

/// How busy the surroundings are, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub ready: u32,
    pub words: u32,
    pub hold: u32,
    pub contexts: u32,
}

#[derive(Default)]
pub struct Seen {
    pub acks: Vec<Ack>,
    /// Where they go.
    pub ack_nodes: Vec<u32>,
    pub answers: Vec<Send>,
    /// Requests that ended: queue pair, number, outcome.
    pub ended: Vec<(u32, u32, u8)>,
    /// Events, in the order of the ports of [`EVENTS`].
    pub events: [u64; 12],
}

pub const EVENTS: [&str; 12] = [
    "ev_ack_overload",
    "ev_bad_qp",
    "ev_bad_key",
    "ev_bad_length",
    "ev_bad_opcode",
    "ev_stale_epoch",
    "ev_duplicate",
    "ev_ahead",
    "ev_refused",
    "ev_failed",
    "ev_done",
    "ev_local_error",
];

/// Outputs with a handshake: valid, ready, the bit that ends a frame, and what must not change while it is held.
type Offer = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static [&'static str],
);
const OFFERS: [Offer; 7] = [
    ("m_rd_valid", "m_rd_ready", None, &["m_rd_addr", "m_rd_len"]),
    ("m_wr_valid", "m_wr_ready", None, &["m_wr_addr", "m_wr_len"]),
    ("m_wd_valid", "m_wd_ready", None, &["m_wd_data"]),
    (
        "m_sd_valid",
        "m_sd_ready",
        None,
        &[
            "m_sd_len", "m_node", "m_peer", "m_psn", "m_q_key", "m_src", "m_win_id", "m_epoch",
            "m_msn",
        ],
    ),
    (
        "m_pl_valid",
        "m_pl_ready",
        Some("m_pl_last"),
        &["m_pl_data", "m_pl_bytes", "m_pl_last"],
    ),
    (
        "m_ak_valid",
        "m_ak_ready",
        None,
        &[
            "m_ak_node",
            "m_ak_peer",
            "m_ak_psn",
            "m_ak_syndrome",
            "m_ak_win_id",
            "m_ak_epoch",
            "m_ak_msn",
            "m_ak_src",
            "m_ak_marked",
        ],
    ),
    (
        "m_claim_valid",
        "m_claim_ready",
        None,
        &["m_claim_end", "m_claim_outcome", "m_src", "m_psn", "m_node"],
    ),
];

/// Inputs that are high for no longer than they are said to be.
const PULSES: [&str; 9] = [
    "cfg_valid",
    "s_other",
    "s_other_last",
    "s_pl_valid",
    "look_valid",
    "s_rd_valid",
    "done_valid",
    "claim_done",
    "m_ak_ready",
];

/// A read or write that was taken: address, bytes, words so far.
struct Access {
    addr: u64,
    len: usize,
    data: Vec<u8>,
}

pub struct World {
    pub rtl: Rtl,
    pub dice: Dice,
    pub manner: Manner,
    /// When the outputs are taken, instead of the manner's chance.
    pub stalls: Option<Stalls>,
    /// Of each output: the word on offer that was not taken in the clock before.
    held: [Option<Vec<u64>>; 7],
    pub memory: Memory,
    pub card: Card,
    /// Bytes that a frame may have.
    pub mtu: u16,
    /// Who sends.
    pub peer: Peer,
    /// Of each of [`QPS`]: its Q_Key, and the oldest epoch that it accepts.
    pub keys: [u32; 3],
    pub oldest: [u16; 3],
    /// What the window of each has been opened for.
    pub grants: [Grant; 3],
    pub seen: Seen,
    pub flights: HashMap<(u32, u32), Flight>,
    claimed: Option<(u32, u32)>,
    frames: VecDeque<Frame>,
    shown: bool,
    /// Words of the frame that was taken, with the clock from which on they are there.
    words: VecDeque<u64>,
    words_at: u64,
    fails: bool,
    others: u64,
    looks: VecDeque<(u64, bool)>,
    /// The frame under way has been looked up.
    looked: bool,
    reads: VecDeque<(u64, u64, u8, bool)>,
    read_at: u64,
    reading: bool,
    write: Option<Access>,
    dones: VecDeque<u64>,
    claims: VecDeque<(u64, bool)>,
    answer: Option<(Send, usize)>,
}

impl World {
    pub fn new(seed: u64, manner: Manner) -> Self {
        Self::of(library(), seed, manner)
    }

    pub fn of(library: &Verilated, seed: u64, manner: Manner) -> Self {
        let mut rtl = Rtl::new(library, seed);
        let mut dice = Dice::new(seed);
        for input in [
            "hold",
            "cfg_valid",
            "win_valid",
            "set_valid",
            "s_rq_valid",
            "s_other",
            "s_other_last",
            "s_pl_valid",
            "look_valid",
            "m_rd_ready",
            "s_rd_valid",
            "m_wr_ready",
            "m_wd_ready",
            "done_valid",
            "m_sd_ready",
            "m_pl_ready",
            "m_ak_ready",
            "m_claim_ready",
            "claim_done",
        ] {
            rtl.set(input, 0u8);
        }
        let mtu = dice.of(&[512, 512, 4096]);
        rtl.set("cfg_mtu", mtu);
        rtl.reset(2);
        rtl.clocks(300);
        let mut bytes = vec![0; 2 * HALF as usize];
        bytes.iter_mut().for_each(|byte| *byte = dice.bits(8) as u8);
        let card = fresh(mtu);
        let mut world = Self {
            rtl,
            manner,
            stalls: None,
            held: Default::default(),
            memory: Memory {
                bytes,
                fails: false,
                accesses: 0,
            },
            card,
            mtu,
            peer: Peer {
                node: dice.bits(20) as u32,
                qpn: dice.bits(24) as u32,
            },
            keys: [(); 3].map(|()| dice.bits(32) as u32),
            oldest: [0; 3],
            grants: QPS.map(|qpn| Grant {
                qpn,
                peer: Peer { node: 0, qpn: 0 },
                epoch: 0,
            }),
            seen: Seen::default(),
            flights: HashMap::new(),
            claimed: None,
            frames: VecDeque::new(),
            shown: false,
            words: VecDeque::new(),
            words_at: 0,
            fails: false,
            others: 0,
            looks: VecDeque::new(),
            looked: false,
            reads: VecDeque::new(),
            read_at: 0,
            reading: false,
            write: None,
            dones: VecDeque::new(),
            claims: VecDeque::new(),
            answer: None,
            dice,
        };
        world.connect();
        world
    }

    /// A reset while nothing is under way: both forget all.
    pub fn reset(&mut self) {
        self.rtl.reset(1);
        self.rtl.clocks(300);
        self.card = fresh(self.mtu);
        self.seen = Seen::default();
        self.others = 0;
    }

    /// Makes the queue pairs of both.
    pub fn connect(&mut self) {
        for (index, qpn) in QPS.into_iter().enumerate() {
            let shape = Shape {
                q_key: self.keys[index],
                first_psn: 0,
                timeout: 1,
                sends: 1,
                receives: 1,
                completions: 1,
            };
            // The queue pair that was there before it has left any epoch behind.
            self.card.create_qp(qpn, shape).unwrap();
            for _ in 0..self.dice.bits(16) {
                self.card.next_epoch(qpn).unwrap();
            }
            self.card.destroy_qp(qpn);
            self.card.create_qp(qpn, shape).unwrap();
            self.oldest[index] = self.card.epoch(qpn).unwrap();
            let more = self.dice.of(&[1, 2, 8, 100, 0x7ffe]);
            for _ in 0..more {
                self.card.next_epoch(qpn).unwrap();
            }
        }
        for qpn in [0, 3, 5, 6] {
            (0..3).for_each(|word| self.context(qpn, word));
        }
    }

    /// Writes a word of a context, again perhaps.
    fn context(&mut self, qpn: u32, word: usize) {
        let index = QPS.iter().position(|one| *one == qpn);
        let newest = self.card.epoch(qpn).unwrap_or(2);
        let oldest = index.map_or(1, |index| self.oldest[index]);
        let q_key = index.map_or(0, |index| self.keys[index]);
        let state = if qpn == 6 { 1 } else { 3 };
        let (word, data) = [
            (0_u8, state | u64::from(domain(qpn)) << 32),
            (1, u64::from(q_key)),
            (5, u64::from(oldest) | u64::from(newest) << 16),
        ][word];
        self.rtl.set("cfg_valid", 1u8);
        self.rtl.set("cfg_qpn", qpn);
        self.rtl.set("cfg_word", word);
        self.rtl.set("cfg_data", data);
        self.rtl.clock();
        self.rtl.set("cfg_valid", 0u8);
        self.rtl.clocks(3);
    }

    /// Opens a window of both.
    pub fn open(&mut self, window: u16, grant: Grant) {
        assert!(self.card.open_window(window, grant));
        let fields = [
            ("win_index", u64::from(window)),
            ("win_open", 1),
            ("win_qpn", grant.qpn.into()),
            ("win_node", grant.peer.node.into()),
            ("win_peer", grant.peer.qpn.into()),
            ("win_epoch", grant.epoch.into()),
        ];
        for (port, value) in fields {
            self.rtl.set(port, value);
        }
        self.window_command();
    }

    /// Closes one of both, and compares what they say.
    pub fn close(&mut self, window: u16) {
        self.rtl.set("win_index", window);
        self.rtl.set("win_open", 0u8);
        self.window_command();
        let said = self
            .rtl
            .is("win_was")
            .then(|| self.rtl.get("win_expected") as u32);
        assert_eq!(said, self.card.close_window(window), "window {window}");
    }

    fn window_command(&mut self) {
        assert!(self.rtl.is("m_idle"));
        self.rtl.set("win_valid", 1u8);
        self.rtl.clock();
        self.rtl.set("win_valid", 0u8);
        for _ in 0..8 {
            self.rtl.settle();
            if self.rtl.is("win_done") {
                return;
            }
            self.rtl.clock();
        }
        panic!("a window command does not end");
    }

    /// A work request gets its place.
    pub fn fly(&mut self, qpn: u32, psn: u32, flight: Flight) {
        self.flights.insert((qpn, psn), flight);
        self.rtl.set("set_valid", 1u8);
        for (port, value) in [
            ("set_qpn", u64::from(qpn)),
            ("set_psn", psn.into()),
            ("set_kind", flight.kind.into()),
            ("set_addr", flight.addr),
            ("set_key", flight.key.into()),
            ("set_len", flight.len.into()),
        ] {
            self.rtl.set(port, value);
        }
        self.rtl.clock();
        self.rtl.set("set_valid", 0u8);
        self.rtl.clock();
    }

    pub fn push(&mut self, frame: Frame) {
        self.frames.push_back(frame);
    }

    /// Runs until all frames are done and all replies have left.
    pub fn run(&mut self) -> Result<(), String> {
        let mut rest = 0;
        let mut since = self.rtl.now;
        while rest < 12 {
            let left = self.frames.len();
            self.clock()?;
            if self.frames.len() != left {
                since = self.rtl.now;
            }
            if self.rtl.now - since > PATIENCE {
                return Err("a frame does not end".into());
            }
            let idle = self.frames.is_empty() && self.rtl.is("m_idle") && self.words.is_empty();
            rest = if idle { rest + 1 } else { 0 };
        }
        Ok(())
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.dice.chance(percent)
    }

    /// One clock: inputs, outputs, checks.
    pub fn clock(&mut self) -> Result<(), String> {
        let now = self.rtl.now;
        let manner = self.manner;
        let hold = self.chance(manner.hold);
        self.rtl.set("hold", hold);
        // A context that is written again as it was: what is read in these clocks is wrong.
        let again = self.chance(manner.contexts);
        self.rtl.set("cfg_valid", again);
        if again {
            let index = self.dice.below(3) as usize;
            self.rtl.set("cfg_qpn", QPS[index]);
            self.rtl.set("cfg_word", 1u8);
            self.rtl.set("cfg_data", self.keys[index]);
        }
        self.rtl.settle();
        let ours = self.rtl.is("m_ours");

        // The frame.
        self.shown = !self.frames.is_empty() && (self.shown || self.chance(manner.words));
        self.rtl.set("s_rq_valid", self.shown);
        if let Some(frame) = self.frames.front().filter(|_| self.shown) {
            let send = &frame.send;
            for (port, value) in [
                ("s_rq_node", u64::from(frame.from)),
                ("s_rq_qpn", send.dest_qp.into()),
                ("s_rq_psn", send.psn.into()),
                ("s_rq_q_key", send.q_key.into()),
                ("s_rq_src", send.src_qp.into()),
                ("s_rq_win_id", send.window.id.into()),
                ("s_rq_epoch", send.window.epoch.into()),
                ("s_rq_msn", send.window.msn.into()),
                ("s_rq_len", send.payload.len() as u64),
                ("s_rq_marked", send.marked.into()),
            ] {
                self.rtl.set(port, value);
            }
        }
        // Payload of others, before that of this frame.
        let other = !self.shown && !ours && self.others < 16 && self.chance(20);
        let last = !ours && self.others > 0 && self.chance(30);
        self.rtl.set("s_other", other);
        self.rtl.set("s_other_last", last);
        let words = ours && now >= self.words_at && self.chance(manner.words);
        let word = self.words.front().copied().filter(|_| words);
        self.rtl.set("s_pl_valid", word.is_some());
        self.rtl.set("s_pl_data", word.unwrap_or(0));
        self.rtl.set("s_pl_last", self.words.len() == 1);

        // Answers of the surroundings.
        let look = self.looks.front().copied().filter(|look| look.0 == now);
        self.rtl.set("look_valid", look.is_some());
        self.rtl.set("look_ok", look.is_some_and(|look| look.1));
        self.looks.retain(|look| look.0 > now);
        let some = self.reading && now >= self.read_at && self.chance(manner.words);
        let read = self.reads.front().copied().filter(|_| some);
        self.rtl.set("s_rd_valid", read.is_some());
        if let Some((word, bytes, last, error)) = read {
            self.rtl.set("s_rd_data", word);
            self.rtl.set("s_rd_bytes", bytes);
            self.rtl.set("s_rd_last", last);
            self.rtl.set("s_rd_error", error && last > 0);
            self.reads.pop_front();
            self.reading = last == 0;
        }
        let done = self.dones.front().is_some_and(|&at| at <= now);
        self.rtl.set("done_valid", done);
        if done {
            self.dones.pop_front();
        }
        let claim = self.claims.front().copied().filter(|claim| claim.0 == now);
        self.rtl.set("claim_done", claim.is_some());
        self.rtl.set("claim_ok", claim.is_some_and(|claim| claim.1));
        self.claims.retain(|claim| claim.0 > now);
        let may = [
            true,
            self.write.is_none(),
            self.write.is_some(),
            self.answer.is_none(),
            self.answer.is_some(),
            true,
            true,
        ];
        let ready = self.ready(may);
        let [
            rd_ready,
            wr_ready,
            wd_ready,
            sd_ready,
            pl_ready,
            ak_ready,
            claim_ready,
        ] = ready;
        self.rtl.settle();
        self.offers(ready)?;

        // What the block says.
        if self.rtl.is("s_rq_ready") {
            if !self.shown || self.others > 0 {
                return Err("a frame is taken that may not begin".into());
            }
            let frame = self.frames.pop_front().expect("it was shown");
            self.shown = false;
            if !self.rtl.is("s_rq_drop") {
                let chunks = frame.send.payload.chunks(8);
                self.words.extend(chunks.map(word_of));
            }
            self.words_at = now + 2 + self.dice.below(8);
            self.fails = frame.fails;
            self.looked = false;
        }
        self.others += u64::from(other);
        self.others -= u64::from(last);
        if word.is_some() && self.rtl.is("s_pl_ready") {
            self.words.pop_front();
        }
        if self.rtl.is("m_look_valid") {
            if std::mem::replace(&mut self.looked, true) {
                return Err("a second lookup for one frame".into());
            }
            let get = [
                "m_look_key",
                "m_look_pd",
                "m_look_addr",
                "m_look_len",
                "m_look_need",
            ]
            .map(|port| self.rtl.get(port));
            let of = QPS
                .into_iter()
                .find(|qpn| u64::from(domain(*qpn)) == get[1]);
            let qpn = of.ok_or("a domain of nobody")?;
            let ok = allowed(qpn, get[0] as u32, get[2], get[3], get[4]);
            self.looks.push_back((now + 6, ok));
        }
        if rd_ready && self.rtl.is("m_rd_valid") {
            let (addr, len) = (self.rtl.get("m_rd_addr"), self.rtl.get("m_rd_len") as usize);
            if self.reading {
                return Err("two reads".into());
            }
            self.memory.accesses += 1;
            let data = self.memory.at(addr, len).to_vec();
            let count = len.div_ceil(8);
            for (i, chunk) in data.chunks(8).enumerate() {
                let last = u8::from(i + 1 == count);
                let bytes = chunk.len() as u64 - 1;
                self.reads
                    .push_back((word_of(chunk), bytes, last, self.fails));
            }
            self.reading = true;
            self.read_at = now + 3 + self.dice.below(30);
        }
        if wd_ready && self.rtl.is("m_wd_valid") {
            let word = self.rtl.get("m_wd_data");
            let write = self.write.as_mut().expect("ready only then");
            write.data.extend(word.to_le_bytes());
            if write.data.len() >= write.len {
                let write = self.write.take().expect("it is there");
                let data = &write.data[..write.len];
                self.memory.at(write.addr, write.len).copy_from_slice(data);
                self.dones.push_back(now + 1 + self.dice.below(20));
            }
        }
        if wr_ready && self.rtl.is("m_wr_valid") {
            self.memory.accesses += 1;
            self.write = Some(Access {
                addr: self.rtl.get("m_wr_addr"),
                len: self.rtl.get("m_wr_len") as usize,
                data: Vec::new(),
            });
        }
        if pl_ready && self.rtl.is("m_pl_valid") {
            let (word, bytes) = (
                self.rtl.get("m_pl_data"),
                self.rtl.get("m_pl_bytes") as usize,
            );
            let (send, len) = self.answer.as_mut().expect("ready only then");
            send.payload.extend(&word.to_le_bytes()[..=bytes]);
            let whole = send.payload.len() == 16 + *len;
            if whole != self.rtl.is("m_pl_last") {
                return Err("an answer ends at the wrong word".into());
            }
            if whole {
                let (send, _) = self.answer.take().expect("it is there");
                self.seen.answers.push(send);
            }
        }
        if sd_ready && self.rtl.is("m_sd_valid") {
            self.take_answer();
        }
        if ak_ready && self.rtl.is("m_ak_valid") {
            let ack = self.ack();
            self.seen.acks.push(ack);
            self.seen.ack_nodes.push(self.rtl.get("m_ak_node") as u32);
        }
        if claim_ready && self.rtl.is("m_claim_valid") {
            self.claim(now)?;
        }
        for (count, port) in self.seen.events.iter_mut().zip(EVENTS) {
            *count += self.rtl.get(port);
        }
        self.rtl.clock();
        for port in PULSES {
            self.rtl.set(port, 0_u8);
        }
        Ok(())
    }

    /// Which of the ports of [`OFFERS`] take a word, of those that can.
    fn ready(&mut self, may: [bool; 7]) -> [bool; 7] {
        if let Some(stalls) = &mut self.stalls {
            stalls.clock();
        }
        std::array::from_fn(|port| {
            let wants = match &mut self.stalls {
                Some(stalls) => stalls.ready(port),
                None => self.dice.chance(self.manner.ready),
            };
            let (_, ready, _, _) = OFFERS[port];
            self.rtl.set(ready, may[port] && wants);
            may[port] && wants
        })
    }

    /// What is offered stays until it is taken.
    fn offers(&mut self, ready: [bool; 7]) -> Result<(), String> {
        for (port, (valid, _, last, fields)) in OFFERS.into_iter().enumerate() {
            // Words of an answer are offered when its header has been taken; before, a read that fails takes them back.
            let early = valid == "m_pl_valid" && self.answer.is_none();
            let offered = self.rtl.is(valid) && !early;
            if let Some(stalls) = &mut self.stalls {
                let last = last.is_none_or(|last| self.rtl.is(last));
                stalls.observe(port, offered, last);
            }
            let words: Vec<u64> = fields.iter().map(|field| self.rtl.get(field)).collect();
            if let Some(held) = &self.held[port] {
                if !offered {
                    return Err(format!("{valid} fell before the word was taken"));
                }
                if *held != words {
                    return Err(format!(
                        "{valid}: a held word changed: {held:x?} {words:x?}"
                    ));
                }
            }
            self.held[port] = (offered && !ready[port]).then_some(words);
        }
        Ok(())
    }

    fn window(&mut self, ports: [&'static str; 3]) -> Window {
        let [id, epoch, msn] = ports.map(|port| self.rtl.get(port));
        Window {
            id: id as u16,
            epoch: epoch as u16,
            msn: msn as u32,
        }
    }

    fn take_answer(&mut self) {
        let window = self.window(["m_win_id", "m_epoch", "m_msn"]);
        let head = self.rtl.wide("m_sd_head");
        let mut payload = head[0].to_le_bytes().to_vec();
        payload.extend(head[1].to_le_bytes());
        let send = Send {
            dest_qp: self.rtl.get("m_peer") as u32,
            psn: self.rtl.get("m_psn") as u32,
            q_key: self.rtl.get("m_q_key") as u32,
            src_qp: self.rtl.get("m_src") as u32,
            version: 1,
            flags: 8,
            window,
            payload,
            marked: false,
        };
        let len = self.rtl.get("m_sd_len") as usize;
        if len == 0 {
            self.seen.answers.push(send);
        } else {
            self.answer = Some((send, len));
        }
    }

    fn ack(&mut self) -> Ack {
        let window = self.window(["m_ak_win_id", "m_ak_epoch", "m_ak_msn"]);
        let syndrome = self.rtl.get("m_ak_syndrome") as u8;
        let reply = match Nak::from_code(syndrome & 0x1F) {
            _ if syndrome == 0x1F => Reply::Ok,
            Some(nak) if syndrome >> 5 == 3 => Reply::Nak(nak),
            _ => panic!("syndrome {syndrome:#x}"),
        };
        Ack {
            dest_qp: self.rtl.get("m_ak_peer") as u32,
            psn: self.rtl.get("m_ak_psn") as u32,
            reply,
            echo: Some(tributary_protocol::xud::Echo {
                window,
                flags: 8,
                qpn: self.rtl.get("m_ak_src") as u32,
            }),
            marked: self.rtl.is("m_ak_marked"),
        }
    }

    /// The table of requests in flight: a claim, or the end of what is claimed.
    fn claim(&mut self, now: u64) -> Result<(), String> {
        let window = self.window(["m_win_id", "m_epoch", "m_msn"]);
        let [qpn, psn, node, peer] =
            ["m_src", "m_psn", "m_node", "m_peer"].map(|port| self.rtl.get(port) as u32);
        let tag = (qpn, psn);
        if self.rtl.is("m_claim_end") {
            if self.claimed.take() != Some(tag) {
                return Err("the end of what is not claimed".into());
            }
            self.flights.remove(&tag);
            let outcome = self.rtl.get("m_claim_outcome") as u8;
            self.seen.ended.push((qpn, psn, outcome));
            return Ok(());
        }
        let peer = Peer { node, qpn: peer };
        let found = self.flights.get(&tag);
        let ok = found.is_some_and(|flight| flight.window == window && flight.peer == peer);
        if self.claimed.is_some() {
            return Err("two claims".into());
        }
        self.claimed = ok.then_some(tag);
        self.claims.push_back((now + 6, ok));
        Ok(())
    }
}

/// The engine of the model, without a queue pair.
fn fresh(mtu: u16) -> Card {
    let config = CardConfig {
        node: 1,
        mtu,
        ..CardConfig::default()
    };
    Card::new(config).unwrap()
}

/// Up to 8 bytes as a word.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// What the engine of the model replies to a request: at most one packet.
pub fn model(card: &mut Card, memory: &mut Memory, frame: &Frame) -> Option<Packet> {
    memory.fails = frame.fails;
    card.receive(frame.from, &Packet::Send(frame.send.clone()), 0);
    while card.serve(memory) {}
    card.next_packet(0).map(|out| out.packet)
}

/// What the model counts, as [`EVENTS`] are.
pub fn counts(card: &Card) -> [u64; 11] {
    let stats = card.stats();
    let drops = |drop| stats.drops.of(drop);
    [
        0,
        drops(Drop::BadQp),
        drops(Drop::BadKey),
        drops(Drop::BadLength),
        drops(Drop::BadOpcode),
        drops(Drop::StaleEpoch),
        drops(Drop::OneSidedDuplicate),
        drops(Drop::OneSidedAhead),
        drops(Drop::OneSidedRefused),
        drops(Drop::OneSidedFailed),
        stats.one_sided,
    ]
}
