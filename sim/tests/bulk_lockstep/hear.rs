//! `bulk_hear` beside the model's decoder: random messages, good ones and such with bits turned, cut, made longer, of other
//! nodes and of transfers that are not under way. Each leaves as the decoder reads it, or is counted as what is wrong with it.

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::bulk::BulkHear;
use tributary_hdl::emit::{Design, emit_block};
use tributary_protocol::bulk::{Congested, OPCODE_CONGESTED};
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::pace::Congestion;
use tributary_protocol::rw::{
    Bitmap, Complete, ConnectResp, ConnectStatus, Message, Reason, RetxOne, RetxRange, Status,
    StatusReport, Unknown, wire,
};
use tributary_sim::testbench::{PROFILES, Profile, Stalls, seeds};
use tributary_sim::verilate::{BuildOptions, Model, Verilated};

/// Transfer slots.
const SLOTS: usize = 16;
/// Packets of the largest bitmap that goes on whole.
const KEPT: usize = 1_024;

fn design() -> Design {
    emit_block(&mut BulkHear::<4>::default()).unwrap()
}

fn build(files: &[(String, String)]) -> Verilated {
    Verilated::build(&BuildOptions::new(&design().top, files).with_checks()).unwrap()
}

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(&design().files()))
}

/// A frame as `bulk_sort` hands it on.
#[derive(Clone, Debug)]
struct Frame {
    node: u32,
    bth: Bth,
    body: Vec<u8>,
}

/// What must become of it.
#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    Message(Message),
    Said(u16, Congestion),
    Bad,
    Stray,
}

#[derive(Clone, Copy)]
struct Slot {
    active: bool,
    xid: u32,
    node: u32,
}

/// Fields of a message at the ports, those that its type has, and the words of its bitmap.
fn fields(message: &Message) -> (Vec<(&'static str, u64)>, Vec<u64>) {
    let mut words = vec![];
    let fields = match message {
        Message::Complete(m) => vec![
            ("m_type", 1),
            ("m_slot", m.slot.into()),
            ("m_xid", m.xid.into()),
            ("m_status", m.status as u64),
        ],
        Message::RetxOne(RetxOne { slot, xid, pidx }) => vec![
            ("m_type", 2),
            ("m_slot", (*slot).into()),
            ("m_xid", (*xid).into()),
            ("m_pidx", (*pidx).into()),
        ],
        Message::RetxRange(m) => vec![
            ("m_type", 3),
            ("m_slot", m.slot.into()),
            ("m_xid", m.xid.into()),
            ("m_pidx", m.pidx.into()),
        ],
        Message::ConnectResp(m) => vec![
            ("m_type", 5),
            ("m_slot", m.slot.into()),
            ("m_xid", m.xid.into()),
            ("m_status", m.status as u64),
            ("m_wptr", m.wptr.into()),
            ("m_gen", m.r#gen.into()),
            ("m_w", m.w.into()),
            ("m_hint", m.retry.into()),
            ("m_credit", m.credit.into()),
        ],
        Message::Status(m) => {
            let mut bits = m.bitmap.clone();
            bits.resize(bits.len().next_multiple_of(64).clamp(64, KEPT), false);
            words = bits.into_vec();
            vec![
                ("m_type", 6),
                ("m_slot", m.slot.into()),
                ("m_xid", m.xid.into()),
                ("m_pidx", m.wbase.into()),
                ("m_credit", m.credit.into()),
                ("m_seq", m.seq.into()),
            ]
        }
        Message::Unknown(m) => vec![
            ("m_type", 7),
            ("m_slot", m.slot.into()),
            ("m_xid", m.xid.into()),
        ],
        other => unreachable!("{other:?} is for receivers"),
    };
    (fields, words)
}

struct Bench {
    model: Model,
    rng: SmallRng,
    stalls: Stalls,
    slots: [Slot; SLOTS],
    /// Slots that were looked at in the two clocks before.
    asked: [u64; 2],
    offered: Option<Frame>,
    payload: VecDeque<(u64, bool)>,
    wanted: VecDeque<(Frame, Wanted)>,
    /// Words of the bitmap that is leaving.
    words: VecDeque<u64>,
    met: [u64; 4],
    idle: u64,
}

impl Bench {
    fn new(library: &Verilated, seed: u64) -> Self {
        println!("seed {seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let slots = std::array::from_fn(|_| Slot {
            active: rng.random_range(0..8) > 0,
            xid: rng.random(),
            node: rng.random_range(0..1 << 20),
        });
        let mut model = library.model().unwrap();
        model.reset(3).unwrap();
        Self {
            model,
            rng,
            stalls: Stalls::new(Profile::of_seed(seed), seed, 3),
            slots,
            asked: [0; 2],
            offered: None,
            payload: VecDeque::new(),
            wanted: VecDeque::new(),
            words: VecDeque::new(),
            met: [0; 4],
            idle: 0,
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    /// Any message for a sender, mostly of a transfer under way.
    fn message(&mut self) -> (u32, Message) {
        let rng = &mut self.rng;
        let at = rng.random_range(0..SLOTS);
        let (mut slot, mut xid, mut node) = (at as u16, self.slots[at].xid, self.slots[at].node);
        match rng.random_range(0..20) {
            0 => slot ^= 1 << rng.random_range(0..16),
            1 => xid ^= 1 << rng.random_range(0..32),
            2 => node ^= 1 << rng.random_range(0..20),
            _ => {}
        }
        let pidx = rng.random_range(0..1 << 21);
        let number = |rng: &mut SmallRng| match rng.random_range(0..8) {
            0 => 1 << 21,
            _ => rng.random_range(0..=1 << 21),
        };
        let message = match rng.random_range(0..8) {
            0 => Message::Complete(Complete {
                slot,
                xid,
                status: Status::ALL[rng.random_range(0..Status::ALL.len())],
            }),
            1 => Message::RetxOne(RetxOne { slot, xid, pidx }),
            2 => Message::RetxRange(RetxRange {
                slot,
                xid,
                pidx,
                round: rng.random_range(0..16),
            }),
            3 | 4 => Message::ConnectResp(ConnectResp {
                slot,
                xid,
                status: ConnectStatus::ALL[rng.random_range(0..ConnectStatus::ALL.len())],
                wptr: rng.random(),
                r#gen: match rng.random_range(0..8) {
                    0 => rng.random_range(0..1 << 24),
                    _ => rng.random_range(0..1 << 16),
                },
                w: rng.random(),
                credit: number(rng),
                retry: rng.random(),
            }),
            5 | 6 => {
                let w = [64, 256, 1_024, 0, 1_088, 2_048][rng.random_range(0..6)];
                let w = match rng.random_range(0..4) {
                    0 => rng.random_range(0..=w + 70),
                    _ => w,
                };
                let mut bitmap = Bitmap::repeat(false, w);
                for mut bit in bitmap.iter_mut() {
                    *bit = rng.random();
                }
                Message::Status(StatusReport {
                    slot,
                    xid,
                    seq: rng.random(),
                    wbase: number(rng),
                    w_tail: rng.random(),
                    credit: number(rng),
                    bitmap,
                })
            }
            _ => Message::Unknown(Unknown {
                slot,
                xid,
                reason: Reason::ALL[rng.random_range(0..Reason::ALL.len())],
            }),
        };
        (node, message)
    }

    /// What a receiver says of congestion, of the transfer that another message was of.
    fn congested(&mut self, node: u32, slot: u32, of: &[u8]) -> (Bth, Vec<u8>) {
        let rng = &mut self.rng;
        let share = match rng.random_range(0..4) {
            0 => rng.random_range(1..=u16::MAX),
            _ => rng.random_range(1..20),
        };
        let other = u32::from(rng.random_range(0..20) == 0);
        let said = Congestion {
            marked: rng.random(),
            share,
        };
        let message = Congested {
            node: node ^ other << rng.random_range(0..16),
            slot: slot as u16,
            xid: u32::from_be_bytes(of[4..8].try_into().unwrap()),
            said,
        };
        let (bth, body) = message.encode();
        (bth, body.to_vec())
    }

    /// A frame that `bulk_sort` does not keep: a message with anything done to it.
    fn frame(&mut self) -> Frame {
        loop {
            let (node, message) = self.message();
            let (mut bth, mut body) = wire::encode(&message).unwrap();
            if self.rng.random_range(0..5) == 0 {
                (bth, body) = self.congested(node, bth.dest_qp, &body);
            }
            let rng = &mut self.rng;
            match rng.random_range(0..12) {
                0..3 => {
                    let bit = rng.random_range(0..8 * body.len());
                    body[bit / 8] ^= 1 << (bit % 8);
                }
                3 => {
                    let bit = rng.random_range(0..8 * body.len().min(24));
                    body[bit / 8] ^= 1 << (bit % 8);
                }
                4 => bth.psn ^= 1 << rng.random_range(0..24),
                5 => bth.dest_qp ^= 1 << rng.random_range(0..24),
                6 => bth.opcode ^= 1 << rng.random_range(0..4),
                7 => body.truncate(rng.random_range(0..=body.len())),
                8 => body.resize(body.len() + rng.random_range(1..80), 0),
                _ => {}
            }
            if body.len() > 4_112 {
                continue;
            }
            let to_sender = body.first().is_some_and(|byte| byte & 8 != 0);
            let for_others = match bth.opcode & 15 {
                1 | 2 | 3 | 5 | 10 => true,
                6 | 7 => to_sender,
                _ => false,
            };
            if for_others {
                return Frame { node, bth, body };
            }
        }
    }

    fn judge(&self, frame: &Frame) -> Wanted {
        let slot = self.slots.get(frame.bth.dest_qp as usize);
        if frame.bth.opcode == OPCODE_CONGESTED {
            let Ok(message) = Congested::decode(&frame.bth, &frame.body) else {
                return Wanted::Bad;
            };
            let from_there = message.node == frame.node & 0xFFFF;
            return match slot {
                Some(slot)
                    if slot.active
                        && (slot.xid, slot.node) == (message.xid, frame.node)
                        && from_there =>
                {
                    Wanted::Said(message.slot, message.said)
                }
                _ => Wanted::Stray,
            };
        }
        let Ok((message, _)) = wire::decode(&frame.bth, &frame.body) else {
            return Wanted::Bad;
        };
        let xid = u32::from_be_bytes(frame.body[4..8].try_into().unwrap());
        let wide = matches!(&message, Message::ConnectResp(m) if m.r#gen > 0xFFFF);
        match slot {
            Some(slot) if slot.active && (slot.xid, slot.node) == (xid, frame.node) && !wide => {
                Wanted::Message(message)
            }
            _ => Wanted::Stray,
        }
    }

    fn clock(&mut self, more: bool) -> Result<(), String> {
        self.stalls.clock();
        if self.offered.is_none() && more && self.rng.random_range(0..4) > 0 {
            self.offered = Some(self.frame());
        }
        self.set("s_valid", self.offered.is_some().into());
        if let Some(Frame { node, bth, body }) = self.offered.clone() {
            let short = body.len() < 8;
            let mut head = body.clone();
            head.resize(8, 0);
            let head = u64::from_be_bytes(head[..8].try_into().unwrap());
            for (name, value) in [
                ("s_node", u64::from(node)),
                ("s_opcode", u64::from(bth.opcode) & 15),
                ("s_dest", bth.dest_qp.into()),
                ("s_psn", bth.psn.into()),
                ("s_head", head),
                ("s_short", short.into()),
                ("s_len", body.len().saturating_sub(8) as u64),
            ] {
                self.set(name, value);
            }
        }
        let word = self.payload.front().copied();
        self.set("s_pl_valid", word.is_some().into());
        if let Some((data, last)) = word {
            self.set("s_pl_data", data);
            self.set("s_pl_last", last.into());
        }
        let slot = self.slots[self.asked[0] as usize];
        self.set("s_active", slot.active.into());
        self.set("s_xid", slot.xid.into());
        self.set("s_node_of_slot", slot.node.into());
        let ready = [0, 1, 2].map(|port| self.stalls.ready(port));
        self.set("m_said_ready", ready[2].into());
        self.set("m_ready", ready[0].into());
        self.set("m_bitmap_ready", ready[1].into());
        self.model.eval().map_err(|e| e.to_string())?;
        self.stalls.observe(0, self.get("m_valid") == 1, true);
        self.stalls
            .observe(1, self.get("m_bitmap_valid") == 1, true);
        self.stalls.observe(2, self.get("m_said_valid") == 1, true);
        self.asked = [self.asked[1], self.get("m_look")];
        self.idle += 1;
        if word.is_some() && self.get("s_pl_ready") == 1 {
            self.payload.pop_front();
            self.idle = 0;
        }
        if let Some(frame) = self
            .offered
            .take_if(|_| self.model.get(self.model.port("s_ready").unwrap()) == 1)
        {
            if self.get("s_unwanted") == 0 && frame.body.len() > 8 {
                let words: Vec<_> = frame.body[8..].chunks(8).collect();
                for (i, chunk) in words.iter().enumerate() {
                    let mut bytes = [0xA5; 8];
                    bytes[..chunk.len()].copy_from_slice(chunk);
                    let last = i + 1 == words.len();
                    self.payload.push_back((u64::from_le_bytes(bytes), last));
                }
            }
            let wanted = self.judge(&frame);
            self.wanted.push_back((frame, wanted));
        }
        self.ends(ready)?;
        self.model.clock().map_err(|e| e.to_string())?;
        match self.idle > 20_000 {
            true => Err(format!("it stands still: {:?}", self.wanted)),
            false => Ok(()),
        }
    }

    /// What becomes of the oldest frame.
    fn ends(&mut self, ready: [bool; 3]) -> Result<(), String> {
        for (at, name, wanted) in [
            (1, "ev_bad_message", Wanted::Bad),
            (2, "ev_stray", Wanted::Stray),
        ] {
            if self.get(name) == 1 {
                let frame = self.wanted.pop_front().ok_or(name)?;
                if frame.1 != wanted {
                    return Err(format!("{name} of {frame:?}"));
                }
                self.met[at] += 1;
                self.idle = 0;
            }
        }
        if ready[0] && self.get("m_valid") == 1 {
            let (frame, wanted) = self.wanted.pop_front().ok_or("a message of no frame")?;
            let Wanted::Message(message) = &wanted else {
                return Err(format!("{frame:?} has left, wanted {wanted:?}"));
            };
            let (fields, words) = fields(message);
            for (name, value) in fields {
                if self.get(name) != value {
                    return Err(format!("{name} is {:#x} of {message:?}", self.get(name)));
                }
            }
            self.words = words.into();
            self.met[0] += 1;
            self.idle = 0;
        }
        if ready[2] && self.get("m_said_valid") == 1 {
            let (frame, wanted) = self.wanted.pop_front().ok_or("said by no frame")?;
            let said = Congestion {
                marked: self.get("m_said_marked") == 1,
                share: self.get("m_said_share") as u16,
            };
            let seen = Wanted::Said(self.get("m_said_slot") as u16, said);
            if seen != wanted {
                return Err(format!("{seen:?} of {frame:?}, wanted {wanted:?}"));
            }
            self.met[3] += 1;
            self.idle = 0;
        }
        if ready[1] && self.get("m_bitmap_valid") == 1 {
            let (word, last) = (self.get("m_bitmap_data"), self.get("m_bitmap_last") == 1);
            if self.words.pop_front() != Some(word) || self.words.is_empty() != last {
                return Err(format!("word {word:#x} of a bitmap, last: {last}"));
            }
            self.idle = 0;
        }
        Ok(())
    }
}

fn run(library: &Verilated, seed: u64) -> Result<[u64; 4], String> {
    let mut bench = Bench::new(library, seed);
    while bench.met.iter().sum::<u64>() < 1_500 {
        bench.clock(true)?;
    }
    while bench.offered.is_some() || !bench.wanted.is_empty() || !bench.words.is_empty() {
        bench.clock(false)?;
    }
    for _ in 0..50 {
        bench.clock(false)?;
    }
    Ok(bench.met)
}

#[test]
fn bw_08_cl_04_rw_07_rw_20_messages_of_receivers_are_read_as_the_model_reads_them() {
    let mut all = [0; 4];
    for seed in seeds(PROFILES.len() as u64) {
        let met = run(library(), seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all.iter_mut().zip(met).for_each(|(all, met)| *all += met);
    }
    println!("{all:?}: messages, bad ones, strays, of congestion");
    assert!(all.iter().all(|count| *count > 50), "{all:?}");
}

/// A check that says nothing, one at a time: each is noticed.
#[test]
fn bw_08_rw_07_rw_20_every_check_of_a_message_that_is_left_out_is_noticed() {
    for signal in [
        "bad_head_reg",
        "bad_number_reg",
        "wide_gen_reg",
        "bad_gaps_reg",
        "bad_counts_reg",
        "bad_beyond_reg",
        "bad_length_reg",
        "stray_reg",
        "other_node_reg",
        "bad_said_reg",
    ] {
        let mut files = design().files();
        let assigned = format!(" {signal} <= ");
        let (_, text) = files
            .iter_mut()
            .find(|(_, text)| text.contains(&assigned))
            .unwrap_or_else(|| panic!("{signal} is assigned nowhere"));
        let from = text.find(&assigned).unwrap() + assigned.len();
        let upto = from + text[from..].find(';').unwrap();
        text.replace_range(from..upto, "1'b0");
        let library = build(&files);
        let noticed = (0..4).any(|seed| run(&library, seed).is_err());
        assert!(noticed, "{signal}");
    }
}
