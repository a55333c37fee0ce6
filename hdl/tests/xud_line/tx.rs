//! The sender: every frame byte for byte that of the protocol's encoder.

mod bulk;

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::xud::XudTx;
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::Bth;
use tributary_protocol::xud::{Ack, Packet, Reply, Send, wire};
use tributary_sim::testbench::{Profile, Stalls, profiles};
use tributary_sim::verilate::Verilated;

use super::rtl::{Rtl, ack, chance, frame, rng, seeds, send, verilate, words};

const NODE: u32 = 0xB_C35A;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(verilate::<XudTx<11>>)
}

/// A request for the sender: the first bytes of its payload are the head.
#[derive(Clone)]
struct Request {
    to: u32,
    send: Send,
    head: usize,
    /// Reading the payload fails.
    error: bool,
}

/// A frame of a bulk transfer for the sender.
#[derive(Clone)]
struct Bulk {
    to: u32,
    bth: Bth,
    body: Vec<u8>,
    /// Reading what follows its first 8 bytes fails.
    error: bool,
}

/// Chances in percent: an acknowledgement, a request, a word of payload is offered, the line takes a word, a failure
/// is taken.
#[derive(Clone, Copy)]
struct Pace {
    ack: u32,
    request: u32,
    payload: u32,
    line: u32,
    fail: u32,
}

const FULL: Pace = Pace {
    ack: 100,
    request: 100,
    payload: 100,
    line: 100,
    fail: 100,
};

struct Bench {
    rtl: Rtl,
    rng: ChaCha8Rng,
    clock: u64,
    requests: VecDeque<Request>,
    acks: VecDeque<(u32, Ack)>,
    bulks: VecDeque<Bulk>,
    /// What is on offer, payload words of requests and of bulk frames taken.
    offering: [bool; 5],
    bulk_payload: VecDeque<(u64, u64, bool, bool)>,
    /// Bulk frames that must come out, and have.
    bulk_frames: VecDeque<Vec<u8>>,
    bulk_sent: u64,
    /// Whose turn it is, and that nobody has one, in percent.
    turn: u32,
    stop: u32,
    payload: VecDeque<(u64, u64, bool, bool)>,
    /// What must come out.
    sends: VecDeque<Vec<u8>>,
    answers: VecDeque<Vec<u8>>,
    fails: VecDeque<(u64, u64)>,
    /// The frame that is coming out.
    bytes: Vec<u8>,
    /// The clocks in which requests were taken, and first and last words of frames left.
    taken: Vec<u64>,
    first: Vec<u64>,
    left: Vec<u64>,
    events: [u64; 2],
    sent: [u64; 2],
    stalled: Option<(u64, u64, u64)>,
    /// Beyond the pace: of the line, of failures.
    stalls: Stalls,
}

impl Bench {
    fn new(seed: u64) -> Self {
        Self::of(library(), seed)
    }

    fn of(library: &Verilated, seed: u64) -> Self {
        let mut rtl = Rtl::new(library);
        rtl.set("cfg_node", NODE);
        rtl.model.reset(3).unwrap();
        Self {
            rtl,
            rng: rng(seed),
            clock: 0,
            requests: VecDeque::new(),
            acks: VecDeque::new(),
            bulks: VecDeque::new(),
            offering: [false; 5],
            bulk_payload: VecDeque::new(),
            bulk_frames: VecDeque::new(),
            bulk_sent: 0,
            turn: 0,
            stop: 0,
            payload: VecDeque::new(),
            sends: VecDeque::new(),
            answers: VecDeque::new(),
            fails: VecDeque::new(),
            bytes: vec![],
            taken: vec![],
            first: vec![],
            left: vec![],
            events: [0; 2],
            sent: [0; 2],
            stalled: None,
            stalls: Stalls::new(Profile::Free, seed, 2),
        }
    }

    fn request(&mut self, longest: usize, errors: u32) {
        let send = send(&mut self.rng, longest);
        let head = self.rng.random_range(0..=send.payload.len().min(16));
        let error = head < send.payload.len() && chance(&mut self.rng, errors);
        self.requests.push_back(Request {
            to: self.rng.random_range(0..NODES),
            send,
            head,
            error,
        });
    }

    fn offer(&mut self, pace: Pace) {
        let chances = [
            pace.request,
            pace.payload,
            pace.ack,
            pace.request,
            pace.payload,
        ];
        for (offering, percent) in self.offering.iter_mut().zip(chances) {
            *offering |= chance(&mut self.rng, percent);
        }
        self.offer_bulk();
        let request = self.offering[0].then(|| self.requests.front()).flatten();
        self.rtl.set("s_sd_valid", request.is_some());
        if let Some(Request { to, send, head, .. }) = request {
            let rtl = &mut self.rtl;
            rtl.set("s_sd_node", *to);
            rtl.set("s_sd_peer", send.dest_qp);
            rtl.set("s_sd_psn", send.psn);
            rtl.set("s_sd_q_key", send.q_key);
            rtl.set("s_sd_src", send.src_qp);
            rtl.set("s_sd_vf", send.version << 4 | send.flags);
            rtl.set("s_sd_win_id", send.window.id);
            rtl.set("s_sd_epoch", send.window.epoch);
            rtl.set("s_sd_msn", send.window.msn);
            // Bytes of the head that do not count are anything.
            let mut bytes = [0xEE; 16];
            bytes[..*head].copy_from_slice(&send.payload[..*head]);
            rtl.set_wide("s_sd_head", u128::from_le_bytes(bytes));
            rtl.set("s_sd_head_len", *head as u64);
            rtl.set("s_sd_len", (send.payload.len() - head) as u64);
        }
        let word = self.offering[1].then(|| self.payload.front()).flatten();
        self.rtl.set("s_pl_valid", word.is_some());
        if let Some((data, bytes, last, error)) = word {
            self.rtl.set("s_pl_data", *data);
            self.rtl.set("s_pl_bytes", *bytes);
            self.rtl.set("s_pl_last", *last);
            self.rtl.set("s_pl_error", *error);
        }
        let answer = self.offering[2].then(|| self.acks.front()).flatten();
        self.rtl.set("s_ak_valid", answer.is_some());
        if let Some((to, ack)) = answer {
            let rtl = &mut self.rtl;
            rtl.set("s_ak_node", *to);
            rtl.set("s_ak_peer", ack.dest_qp);
            rtl.set("s_ak_psn", ack.psn);
            let syndrome = match ack.reply {
                Reply::Ok => 0x1f,
                Reply::Rnr => 0x20,
                Reply::Nak(nak) => 0x60 | nak.code(),
            };
            rtl.set("s_ak_syndrome", syndrome);
            rtl.set("s_ak_echo", ack.echo.is_some());
            rtl.set("s_ak_marked", ack.marked);
            let echo = ack.echo.unwrap_or(wire::Echo {
                window: wire::Window {
                    id: 0xffff,
                    epoch: 0xffff,
                    msn: !0,
                },
                flags: 15,
                qpn: 0xff_ffff,
            });
            rtl.set("s_ak_win_id", echo.window.id);
            rtl.set("s_ak_epoch", echo.window.epoch);
            rtl.set("s_ak_msn", echo.window.msn);
            rtl.set("s_ak_vf", 0x10 | echo.flags);
            rtl.set("s_ak_src", echo.qpn);
        }
    }

    fn step(&mut self, pace: Pace) {
        self.offer(pace);
        self.stalls.clock();
        let ready = chance(&mut self.rng, pace.line) && self.stalls.ready(0);
        let fail_ready = chance(&mut self.rng, pace.fail) && self.stalls.ready(1);
        self.rtl.set("m_axis_tx_tready", ready);
        self.rtl.set("m_fail_ready", fail_ready);
        self.rtl.model.eval().unwrap();
        let last = self.rtl.is("m_axis_tx_tlast");
        self.stalls
            .observe(0, self.rtl.is("m_axis_tx_tvalid"), last);
        self.stalls.observe(1, self.rtl.is("m_fail_valid"), true);
        if self.rtl.is("s_ak_valid") && self.rtl.is("s_ak_ready") {
            let (to, ack) = self.acks.pop_front().unwrap();
            self.answers.push_back(frame(NODE, to, &Packet::Ack(ack)));
            self.offering[2] = false;
        }
        if self.rtl.is("s_sd_valid") && self.rtl.is("s_sd_ready") {
            self.take();
        }
        if self.rtl.is("s_bulk_valid") && self.rtl.is("s_bulk_ready") {
            self.take_bulk();
        }
        if self.rtl.is("s_bulk_pl_valid") && self.rtl.is("s_bulk_pl_ready") {
            self.bulk_payload.pop_front();
            self.offering[4] = false;
        }
        if self.rtl.is("s_pl_valid") && self.rtl.is("s_pl_ready") {
            self.payload.pop_front();
            self.offering[1] = false;
        }
        if fail_ready && self.rtl.is("m_fail_valid") {
            let fail = (self.rtl.get("m_fail_qpn"), self.rtl.get("m_fail_psn"));
            assert_eq!(self.fails.pop_front(), Some(fail));
        }
        self.events[0] += self.rtl.get("ev_sent");
        self.events[1] += self.rtl.get("ev_ack_sent");
        self.line(ready);
        self.rtl.model.clock().unwrap();
        self.clock += 1;
    }

    fn take(&mut self) {
        let request = self.requests.pop_front().unwrap();
        self.offering[0] = false;
        self.taken.push(self.clock);
        let send = &request.send;
        let payload = payload_words(&send.payload[request.head..], request.error);
        self.payload.extend(payload);
        if request.error {
            self.fails.push_back((send.src_qp.into(), send.psn.into()));
        } else {
            let packet = Packet::Send(send.clone());
            self.sends.push_back(frame(NODE, request.to, &packet));
        }
    }

    fn line(&mut self, ready: bool) {
        let valid = self.rtl.is("m_axis_tx_tvalid");
        let word = (
            self.rtl.get("m_axis_tx_tdata"),
            self.rtl.get("m_axis_tx_tkeep"),
            self.rtl.get("m_axis_tx_tlast"),
        );
        if let Some(before) = self.stalled.take() {
            assert!(valid && before == word, "a word on offer changed");
        }
        assert!(valid || self.bytes.is_empty(), "a gap in a frame");
        if !valid {
            return;
        }
        if !ready {
            self.stalled = Some(word);
            return;
        }
        if self.bytes.is_empty() {
            self.first.push(self.clock);
        }
        let (data, keep, last) = word;
        let count = keep.trailing_ones() as usize;
        assert_eq!(keep, 0xff >> (8 - count));
        assert!(count == 8 || last == 1);
        self.bytes.extend(&data.to_le_bytes()[..count]);
        if last == 1 {
            let bytes = std::mem::take(&mut self.bytes);
            self.left.push(self.clock);
            if bytes[42] < 0xd0 {
                assert_eq!(self.bulk_frames.pop_front().as_ref(), Some(&bytes));
                self.bulk_sent += 1;
                return;
            }
            let is_ack = bytes[42] == 0xd1;
            let expected = if is_ack {
                &mut self.answers
            } else {
                &mut self.sends
            };
            assert_eq!(expected.pop_front().as_ref(), Some(&bytes));
            self.sent[usize::from(is_ack)] += 1;
        }
    }

    /// Runs until nothing is left to do.
    fn finish(&mut self, pace: Pace) {
        let mut still = 0;
        while !self.requests.is_empty()
            || !self.bulks.is_empty()
            || !self.bulk_frames.is_empty()
            || !self.bulk_payload.is_empty()
            || !self.acks.is_empty()
            || !self.sends.is_empty()
            || !self.answers.is_empty()
            || !self.fails.is_empty()
        {
            let progress = |bench: &Self| {
                let waiting = bench.payload.len() + bench.bulk_payload.len();
                (bench.left.len(), bench.bytes.len(), waiting)
            };
            let before = progress(self);
            self.step(pace);
            still += 1;
            if before != progress(self) {
                still = 0;
            }
            let patience = 3_000 + 2 * self.stalls.profile().pause();
            assert!(still < patience, "it hangs: {}", self.stalls);
        }
        for _ in 0..50 {
            self.step(pace);
        }
        assert_eq!(self.events, self.sent, "events");
    }
}

/// Words of a payload: data, bytes less one, last, error.
fn payload_words(payload: &[u8], error: bool) -> Vec<(u64, u64, bool, bool)> {
    let payload = words(payload);
    let words = payload.iter().enumerate().map(|(i, (data, keep))| {
        let last = i + 1 == payload.len();
        // Bytes that do not count are anything.
        let junk = (0..8).filter(|byte| keep >> byte & 1 == 0);
        let data = junk.fold(*data, |data, byte| data | 0x5a << (8 * byte));
        let bytes = u64::from(keep.count_ones()) - 1;
        (data, bytes, last, last && error)
    });
    words.collect()
}

#[test]
fn frames_of_every_short_length_and_split_are_those_of_the_encoder() {
    let mut bench = Bench::new(1);
    for length in 0..34 {
        for head in 0..=length.min(16) {
            let mut send = send(&mut bench.rng, 100);
            send.payload.resize(length, 0xb7);
            bench.requests.push_back(Request {
                to: 0xA5C3,
                send,
                head,
                error: false,
            });
        }
    }
    bench.finish(FULL);
    assert_eq!(bench.sent[1], 0);
}

#[test]
fn random_requests_and_acknowledgements_under_stalls_are_those_of_the_encoder() {
    let paces = [
        FULL,
        Pace { line: 30, ..FULL },
        Pace {
            payload: 40,
            ack: 20,
            ..FULL
        },
        Pace {
            ack: 5,
            request: 5,
            payload: 60,
            line: 60,
            fail: 1,
        },
        Pace { ack: 4, ..FULL },
        Pace {
            line: 95,
            fail: 2,
            ack: 10,
            ..FULL
        },
    ];
    for seed in seeds(12) {
        let mut bench = Bench::new(seed);
        let longest = if seed % 2 == 0 { 4096 } else { 60 };
        for _ in 0..if seed % 2 == 0 { 50 } else { 250 } {
            bench.request(longest, if seed % 3 == 0 { 30 } else { 3 });
            if chance(&mut bench.rng, 60) {
                let to = bench.rng.random_range(0..NODES);
                let ack = ack(&mut bench.rng);
                bench.acks.push_back((to, ack));
            }
        }
        bench.finish(paces[seed as usize % paces.len()]);
        assert!(bench.sent[0] > 0 && bench.sent[1] > 0);
    }
}

/// Requests and acknowledgements to nodes of all 20 bits, by a sender with this error.
pub fn lose(library: &Verilated, wrong: u64) {
    let mut bench = Bench::of(library, wrong);
    bench.rtl.set("wrong", wrong);
    for _ in 0..20 {
        bench.request(60, 0);
        let to = bench.rng.random_range(0..NODES);
        let ack = ack(&mut bench.rng);
        bench.acks.push_back((to, ack));
    }
    bench.finish(FULL);
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test xud_line under_every_profile -- --nocapture`.
#[test]
fn requests_and_acknowledgements_leave_whole_under_every_profile_of_stalls() {
    profiles("xud_tx: frames", |seed| {
        let mut bench = Bench::new(seed);
        bench.stalls = Stalls::of_seed(seed, 2);
        let longest = if seed % 3 == 0 { 4096 } else { 100 };
        for _ in 0..120 {
            bench.request(longest, 10);
            let to = bench.rng.random_range(0..NODES);
            let ack = ack(&mut bench.rng);
            bench.acks.push_back((to, ack));
        }
        bench.finish(FULL);
        bench.sent[0] + bench.sent[1]
    });
}

#[test]
fn a_payload_that_fails_sends_nothing_and_is_reported_once() {
    let mut bench = Bench::new(3);
    for round in 0..30 {
        bench.request(4096, 100);
        bench.request(10, 0);
        let failing = bench.requests.iter().filter(|r| r.error).count();
        let before = bench.sent[0] as usize;
        // Nobody takes the failure at first: at most four of them wait, and nothing is lost.
        for _ in 0..if round % 5 == 0 { 1_500 } else { 0 } {
            bench.step(Pace { fail: 0, ..FULL });
        }
        bench.finish(FULL);
        assert_eq!(bench.sent[0] as usize - before, 2 - failing);
    }
}

#[test]
fn acknowledgements_go_first_and_pass_a_request_that_waits_for_payload() {
    let mut bench = Bench::new(4);
    for round in 0..4 {
        bench.request(100, 0);
        while bench.requests[0].send.payload.len() - bench.requests[0].head == 0 {
            bench.requests.clear();
            bench.request(100, 0);
        }
        for _ in 0..20 {
            let ack = ack(&mut bench.rng);
            bench.acks.push_back((7, ack));
        }
        let before = bench.sent;
        // In the first rounds payload does not come; in the others it is there, but so are acknowledgements.
        let payload = if round < 2 { 0 } else { 100 };
        let mut waiting = bench.acks.len();
        while waiting > 0 || !bench.answers.is_empty() {
            bench.step(Pace { payload, ..FULL });
            waiting = bench.acks.len();
        }
        assert_eq!(bench.sent[1] - before[1], 20);
        // One request may have begun before the first acknowledgement was there.
        assert!(bench.sent[0] - before[0] <= u64::from(round >= 2));
        bench.finish(FULL);
    }
}

#[test]
fn reset_in_the_middle_of_frames_forgets_them() {
    for clocks in [3, 14, 25, 40, 600] {
        let mut bench = Bench::new(clocks);
        for _ in 0..3 {
            bench.request(4096, 0);
        }
        for _ in 0..clocks {
            bench.step(FULL);
        }
        bench.rtl.model.reset(1).unwrap();
        let rtl = std::mem::replace(&mut bench.rtl, Rtl::new(library()));
        let mut bench = Bench::new(clocks);
        bench.rtl = rtl;
        for _ in 0..5 {
            bench.request(300, 0);
        }
        bench.finish(FULL);
    }
}

/// Requests of a fixed size, back to back.
fn uniform(length: usize, head: usize, count: usize) -> Bench {
    let mut bench = Bench::new(9);
    for _ in 0..count {
        let mut send = send(&mut bench.rng, 100);
        send.payload.resize(length, 1);
        bench.requests.push_back(Request {
            to: 2,
            send,
            head,
            error: false,
        });
    }
    bench.finish(FULL);
    bench
}

#[test]
fn messages_of_4_kib_fill_95_percent_of_the_line() {
    for head in [0, 5, 16] {
        let bench = uniform(4096, head, 20);
        let clocks = bench.left[19] - bench.left[3];
        let share = 16.0 * 512.0 / clocks as f64;
        println!("4 KiB, head {head}: {share:.4} of 64 bits a clock");
        assert!(share >= 0.95, "{share}");
    }
}

#[test]
fn messages_of_16_bytes_leave_every_13_clocks() {
    let bench = uniform(16, 16, 100);
    let clocks = bench.left[99] - bench.left[19];
    println!("16 bytes: {} clocks each", clocks as f64 / 80.0);
    assert_eq!(clocks, 80 * 13);
}

#[test]
fn the_first_word_leaves_within_the_latency_that_is_documented() {
    for (length, head, words) in [(0, 0, 0), (16, 16, 2), (24, 16, 3), (4096, 0, 512)] {
        let bench = uniform(length, head, 1);
        let latency = bench.first[0] - bench.taken[0];
        println!("{length} bytes: {latency} clocks");
        assert!(latency <= 17 + words);
    }
}

#[test]
fn headers_are_made_while_payload_is_awaited() {
    for (length, wait) in [(1, 40), (16, 40), (64, 300), (4096, 40)] {
        let mut bench = Bench::new(9);
        let mut send = send(&mut bench.rng, 100);
        send.payload.resize(length, 1);
        bench.requests.push_back(Request {
            to: 2,
            send,
            head: 0,
            error: false,
        });
        for _ in 0..wait {
            bench.step(Pace { payload: 0, ..FULL });
        }
        let words = length.div_ceil(8) as u64;
        let last = bench.clock + words - 1;
        bench.finish(FULL);
        let latency = bench.first[0] - last;
        println!("{length} bytes: {latency} clocks from the last word of payload");
        assert!(latency <= 7, "{latency}");
    }
}
