//! Whose turn it is on the line (BW-4): `bulk_line` in lock step with the model's schedule.

use std::sync::OnceLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::bulk::BulkLine;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::model::line::{Line, Source, WHOLE};
use tributary_sim::verilate::{BuildOptions, Verilated};

use super::rtl::{Rtl, chance, rng, seeds, verilate};

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(verilate::<BulkLine>)
}

/// Bytes of a frame with its pad: around it, and what it carries.
fn bytes(around: usize, carries: usize) -> usize {
    around + carries.next_multiple_of(4)
}

/// A frame that waits: bytes in front of the payload (of a datagram), and of payload.
#[derive(Clone, Copy)]
struct Frame {
    head: u64,
    len: u64,
}

fn any(rng: &mut ChaCha8Rng, longest: u64) -> Frame {
    Frame {
        head: rng.random_range(0..=16),
        len: match rng.random_range(0..4) {
            0 => rng.random_range(0..20),
            1 => longest,
            _ => rng.random_range(0..=longest),
        },
    }
}

/// How a run differs from what the model says, if it does.
struct Bench {
    rtl: Rtl,
    rng: ChaCha8Rng,
    line: Line,
    share: u32,
    waits: [Option<Frame>; 2],
    /// Who waited in the clock before.
    waited: [bool; 2],
    /// Clocks in which `xud_tx` takes none.
    busy: u64,
    /// Acknowledgements that the block has not looked at yet: clocks since, bytes.
    acks: Vec<(u64, usize)>,
    /// Clocks since the last acknowledgement.
    since: u64,
    sent: [u64; 2],
    /// Frames taken while both waited, and while one did.
    together: u64,
    alone: u64,
}

impl Bench {
    fn new(library: &Verilated, seed: u64, share: u32) -> Self {
        let mut rtl = Rtl::new(library);
        rtl.set("cfg_share", share);
        rtl.model.reset(3).unwrap();
        let mut bench = Self {
            rtl,
            rng: rng(seed),
            line: Line::new(share),
            share: share.min(WHOLE),
            waits: [None; 2],
            waited: [false; 2],
            busy: 20,
            acks: vec![],
            since: 20,
            sent: [0; 2],
            together: 0,
            alone: 0,
        };
        for _ in 0..20 {
            bench.clock([0; 2], 0, 0).unwrap();
        }
        bench
    }

    /// A clock in which a datagram, a bulk frame and an acknowledgement come with these chances.
    fn clock(&mut self, come: [u32; 2], ack: u32, longest: u64) -> Result<(), String> {
        for (waits, percent) in self.waits.iter_mut().zip(come) {
            if waits.is_none() && chance(&mut self.rng, percent) {
                *waits = Some(any(&mut self.rng, longest));
            }
        }
        let [datagram, bulk] = self.waits;
        let rtl = &mut self.rtl;
        rtl.set("s_sd_valid", datagram.is_some());
        rtl.set("s_sd_head_len", datagram.map_or(9, |frame| frame.head));
        rtl.set("s_sd_len", datagram.map_or(77, |frame| frame.len));
        rtl.set("s_bulk_valid", bulk.is_some());
        rtl.set("s_bulk_len", bulk.map_or(55, |frame| frame.len));
        rtl.model.eval().unwrap();
        let turn = usize::from(rtl.is("m_turn"));
        let free = !rtl.is("m_stop") && self.busy == 0;
        let taken = self.waits[turn].filter(|_| free);
        let acked = self.since >= 10 && chance(&mut self.rng, ack);
        let echo = chance(&mut self.rng, 50);
        rtl.set("s_sd_taken", taken.is_some() && turn == 0);
        rtl.set("s_bulk_taken", taken.is_some() && turn == 1);
        rtl.set("s_ak_taken", acked);
        rtl.set("s_ak_echo", echo);
        self.acks.iter_mut().for_each(|(since, _)| *since += 1);
        self.acks.retain(|(since, bytes)| {
            // One of the clock before is not counted yet, and nobody was kept from a turn for it.
            if *since > 1 {
                self.line.sent(Source::Datagrams, *bytes);
            }
            *since <= 1
        });
        if let Some(frame) = taken {
            let model = self.line.next(self.waited[0], self.waited[1]);
            let source = [Source::Datagrams, Source::Bulk][turn];
            // Who has come in this very clock is seen in the next one.
            if self.waited != [false; 2] && model != Some(source) {
                return Err(format!(
                    "{source:?} has the turn, the model says {model:?} of {:?}, {:?}",
                    self.waited, self.line
                ));
            }
            let bytes = match turn {
                0 => bytes(74, (frame.head + frame.len) as usize),
                _ => bytes(66, frame.len as usize),
            };
            self.line.sent(source, bytes);
            self.sent[turn] += bytes as u64;
            match self.waited {
                [true, true] => self.together += 1,
                _ => self.alone += 1,
            }
            self.waits[turn] = None;
            // `xud_tx` has room for the next one as soon as it has begun with this one, later if others are before it.
            self.busy = self.rng.random_range(2..12);
        }
        self.busy = self.busy.saturating_sub(1);
        self.since += 1;
        if acked {
            self.acks.push((0, if echo { 74 } else { 62 }));
            self.since = 0;
        }
        self.waited = [datagram.is_some(), bulk.is_some()];
        self.rtl.model.clock().unwrap();
        Ok(())
    }

    fn share(&mut self, share: u32) {
        for _ in 0..12 {
            self.waits = [None; 2];
            self.clock([0; 2], 0, 0).unwrap();
        }
        self.rtl.set("cfg_share", share);
        // One that stays changes nothing.
        if share.min(WHOLE) != self.share {
            self.share = share.min(WHOLE);
            self.line.set_share(share);
        }
        for _ in 0..3 {
            self.clock([0; 2], 0, 0).unwrap();
        }
    }
}

/// Two phases of each kind: both have something always, one of them seldom.
fn run(library: &Verilated, seed: u64) -> Result<[u64; 2], String> {
    let shares = [128, 0, 256, 1, 255, 64, 200, 511];
    let mut bench = Bench::new(library, seed, shares[seed as usize % 8]);
    for phase in 0..6 {
        let come = [[100, 100], [2, 100], [100, 2], [30, 30]][(seed + phase) as usize % 4];
        let (ack, longest) = (
            [0, 5, 40][phase as usize % 3],
            [4_096, 60][phase as usize % 2],
        );
        for _ in 0..3_000 {
            bench.clock(come, ack, longest)?;
        }
        let share = shares[(seed + phase) as usize % 8];
        bench.share(share);
    }
    Ok([bench.together, bench.alone])
}

#[test]
fn bw_04_whose_turn_it_is_in_lock_step_with_the_models_schedule() {
    let mut all = [0; 2];
    for seed in seeds(16) {
        let met = run(library(), seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all = [all[0] + met[0], all[1] + met[1]];
    }
    println!("{all:?} frames with both and with one that waited");
    assert!(all.iter().all(|frames| *frames > 2_000), "{all:?}");
}

#[test]
fn bw_04_each_gets_its_share_of_the_bytes() {
    for share in [64, 128, 192] {
        let mut bench = Bench::new(library(), 1, share);
        for _ in 0..100_000 {
            bench.clock([100; 2], 0, 4_096).unwrap();
        }
        let got = bench.sent[1] as f64 / (bench.sent[0] + bench.sent[1]) as f64;
        println!("share {share} of 256: {got:.4}");
        assert!((got - f64::from(share) / 256.0).abs() < 0.01, "{got}");
    }
}

/// Each fault of this list is noticed by lock step.
#[test]
fn bw_04_every_wrong_schedule_is_noticed() {
    let design = emit_block(&mut BulkLine::default()).unwrap();
    for seed in 0..16 {
        run(library(), seed).unwrap();
    }
    let faults = [
        ("the pad is not counted", "bytes_reg", "payload + around"),
        ("all frames are datagrams", "of_bulk_reg", "4'd0"),
        (
            "upper bits of the share are lost",
            "weight_reg",
            "low_reg + middle_reg",
        ),
        ("no acknowledgement has an echo", "ack_echo_reg", "1'b0"),
    ];
    for (name, signal, value) in faults {
        let mut files = design.files();
        let assigned = format!(" {signal} <= ");
        let (_, text) = files
            .iter_mut()
            .find(|(_, text)| text.contains(&assigned))
            .unwrap_or_else(|| panic!("{name}: {signal} is assigned nowhere"));
        let from = text.find(&assigned).unwrap() + assigned.len();
        let upto = from + text[from..].find(';').unwrap();
        text.replace_range(from..upto, value);
        let library = Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap();
        let noticed = (0..16).any(|seed| run(&library, seed).is_err());
        assert!(noticed, "{name}");
    }
}
