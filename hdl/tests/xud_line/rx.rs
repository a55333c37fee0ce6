//! The receiver, frame by frame, beside the model's decoder.

mod judge;

use std::collections::VecDeque;
use std::sync::OnceLock;

use tributary_hdl::xud::XudRx;
use tributary_protocol::roce::IP_CARDS;
use tributary_protocol::xud::{Outcome, Packet, Reply, Send};
use tributary_sim::testbench::beyond::beyond;
use tributary_sim::verilate::Verilated;

use super::rtl::{Rtl, frame, rng, send, verilate, words};
pub use judge::{Judged, Taken, Verdict, bulk_frame, judge, of_reductions, repair, samples};

/// Words of the buffer.
pub const BUFFER: usize = 1024;
const WAITING: usize = 16;
/// Clocks from the last word of a frame to its verdict.
const VERDICT: usize = 6;

pub fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(verilate::<XudRx<10>>)
}

/// A word for the line.
#[derive(Clone, Copy, Default)]
pub struct Beat {
    pub data: u64,
    pub keep: u8,
    pub last: bool,
    pub user: bool,
}

pub struct Bench {
    rtl: Rtl,
    /// Frames of bulk transfers are taken.
    bulk: bool,
    /// Marks of switches are looked at.
    marks: bool,
    /// Frames of reductions are for another block.
    reductions: bool,
    pub clock: usize,
    /// Frames given whose verdict is due, by clock.
    due: VecDeque<(usize, Judged)>,
    /// Requests and acknowledgements that must come out, payload that must.
    requests: VecDeque<(u32, Taken)>,
    acks: VecDeque<(u32, Packet)>,
    /// Word, the bits that count, last, and whether it is of a bulk frame.
    payload: VecDeque<(u64, u64, bool, bool)>,
    /// Words of payload that the buffer may hold at most; the most since the latest verdict.
    used: usize,
    peak: usize,
    /// Words of payload that have left; messages that are not wanted: behind how many of these, and their words.
    left: usize,
    unwanted: VecDeque<(usize, usize)>,
    pub verdicts: Vec<Verdict>,
    pub taken: usize,
}

/// What the consumer does in a clock.
#[derive(Clone, Copy)]
pub struct Consumer {
    pub request: bool,
    pub drop: bool,
    pub payload: bool,
    pub ack: bool,
}

impl Consumer {
    pub const EAGER: Self = Self {
        request: true,
        drop: false,
        payload: true,
        ack: true,
    };
    pub const ASLEEP: Self = Self {
        request: false,
        drop: false,
        payload: false,
        ack: false,
    };
}

impl Bench {
    pub fn new() -> Self {
        Self::with_bulk(false)
    }

    pub fn with_bulk(bulk: bool) -> Self {
        Self::of(library(), bulk, false)
    }

    /// With bulk transfers, with reductions.
    pub fn of(library: &Verilated, bulk: bool, reductions: bool) -> Self {
        let mut rtl = Rtl::new(library);
        rtl.set("cfg_bulk", bulk);
        rtl.set("cfg_reduce", reductions);
        rtl.model.reset(3).unwrap();
        Self {
            rtl,
            bulk,
            marks: false,
            reductions,
            clock: 0,
            due: VecDeque::new(),
            requests: VecDeque::new(),
            acks: VecDeque::new(),
            payload: VecDeque::new(),
            used: 0,
            left: 0,
            unwanted: VecDeque::new(),
            peak: 0,
            verdicts: vec![],
            taken: 0,
        }
    }

    pub fn reset(&mut self) {
        let rtl = std::mem::replace(&mut self.rtl, Rtl::new(library()));
        let marks = self.marks;
        *self = Self::of(library(), self.bulk, self.reductions);
        (self.rtl, self.marks) = (rtl, marks);
        self.rtl.model.reset(2).unwrap();
    }

    /// Marks of switches are looked at from now on, or not.
    pub fn look_at_marks(&mut self, on: bool) {
        self.marks = on;
        self.rtl.set("cfg_marks", on);
    }

    /// Chooses an error of the library.
    pub fn choose(&mut self, wrong: u64) {
        self.rtl.set("wrong", wrong);
    }

    /// Gives a frame, a word a clock; `gap` says before which words the line pauses.
    pub fn frame(
        &mut self,
        frame: &[u8],
        user: bool,
        mut gap: impl FnMut() -> bool,
        mut consumer: impl FnMut() -> Consumer,
    ) {
        let words = words(frame);
        for (i, (data, keep)) in words.iter().enumerate() {
            while gap() {
                self.step(None, consumer());
            }
            let last = i + 1 == words.len();
            if last {
                let elsewhere = self.reductions && of_reductions(frame);
                let judged = match elsewhere {
                    true => Err(Verdict::Elsewhere),
                    false => judge(frame, user, self.bulk, self.marks),
                };
                self.due.push_back((self.clock + VERDICT, judged));
            }
            let beat = Beat {
                data: *data,
                keep: *keep,
                last,
                user: user && last,
            };
            self.step(Some(beat), consumer());
        }
    }

    /// A frame without pauses to a consumer that takes everything.
    pub fn plain(&mut self, frame: &[u8]) {
        self.frame(frame, false, || false, || Consumer::EAGER);
    }

    /// Words that are no frame of bytes: `judge` cannot know them, all of them are bad.
    pub fn garbage(&mut self, beats: &[Beat], consumer: Consumer) {
        for beat in beats {
            if beat.last {
                let due = self.clock + VERDICT;
                self.due.push_back((due, Err(Verdict::BadFrame)));
            }
            self.step(Some(*beat), consumer);
        }
    }

    pub fn idle(&mut self, clocks: usize) {
        for _ in 0..clocks {
            self.step(None, Consumer::EAGER);
        }
    }

    /// Everything comes out, and nothing more.
    pub fn finish(&mut self) {
        self.idle(2 * BUFFER + 100);
        assert!(self.due.is_empty() && self.requests.is_empty());
        assert!(self.acks.is_empty() && self.payload.is_empty());
    }

    pub fn step(&mut self, beat: Option<Beat>, consumer: Consumer) {
        let word = beat.unwrap_or(Beat {
            data: 0xdead_beef_dead_beef,
            keep: 0x15,
            last: true,
            user: true,
        });
        let rtl = &mut self.rtl;
        rtl.set("s_axis_rx_tvalid", beat.is_some());
        rtl.set("s_axis_rx_tdata", word.data);
        rtl.set("s_axis_rx_tkeep", word.keep);
        rtl.set("s_axis_rx_tlast", word.last);
        rtl.set("s_axis_rx_tuser", word.user);
        rtl.set("m_rq_ready", consumer.request);
        rtl.set("m_rq_drop", consumer.drop);
        rtl.set("m_pl_ready", consumer.payload);
        rtl.set("m_bulk_ready", consumer.request);
        rtl.set("m_bulk_unwanted", consumer.drop);
        rtl.set("m_bulk_pl_ready", consumer.payload);
        rtl.set("m_ak_ready", consumer.ack);
        rtl.model.eval().unwrap();
        assert!(rtl.is("s_axis_rx_tready"));
        self.verdict();
        assert!(!(self.rtl.is("m_rq_valid") && self.rtl.is("m_bulk_valid")));
        if consumer.request && (self.rtl.is("m_rq_valid") || self.rtl.is("m_bulk_valid")) {
            self.request(consumer.drop);
        }
        if consumer.ack && self.rtl.is("m_ak_valid") {
            self.ack();
        }
        assert!(!(self.rtl.is("m_pl_valid") && self.rtl.is("m_bulk_pl_valid")));
        let bulk = self.rtl.is("m_bulk_pl_valid");
        if consumer.payload && (self.rtl.is("m_pl_valid") || bulk) {
            let (word, mask, last, of_bulk) = self
                .payload
                .pop_front()
                .expect("payload of a request taken");
            assert_eq!(bulk, of_bulk, "whose payload it is");
            let [data, ends] = match bulk {
                true => ["m_bulk_pl_data", "m_bulk_pl_last"],
                false => ["m_pl_data", "m_pl_last"],
            };
            assert_eq!(self.rtl.get(data) & mask, word);
            assert_eq!(self.rtl.is(ends), last);
            self.used -= 1;
            self.left += 1;
        }
        self.drop_unwanted();
        self.rtl.model.clock().unwrap();
        self.clock += 1;
    }

    /// What is not wanted is in the buffer until the payload in front of it has left.
    fn drop_unwanted(&mut self) {
        while let Some((_, words)) = self
            .unwanted
            .pop_front_if(|(behind, _)| *behind <= self.left)
        {
            self.used -= words;
        }
    }

    fn verdict(&mut self) {
        let events = [
            ("ev_overflow", Verdict::Overflow),
            ("ev_bad_frame", Verdict::BadFrame),
            ("ev_not_xud", Verdict::NotXud),
            ("ev_bad_header", Verdict::BadHeader),
        ];
        let mut seen: Vec<_> = vec![];
        for (name, verdict) in events {
            if self.rtl.is(name) {
                seen.push(verdict);
            }
        }
        if self.due.front().is_none_or(|(due, _)| *due != self.clock) {
            assert_eq!(seen, [], "no frame has ended in clock {}", self.clock);
            return;
        }
        let (_, model) = self.due.pop_front().unwrap();
        let verdict = match (&model, &seen[..]) {
            (Ok(_), []) => Verdict::Taken,
            (Ok(packet), [Verdict::Overflow]) => {
                self.may_overflow(packet);
                Verdict::Overflow
            }
            (Err(Verdict::Elsewhere), []) => Verdict::Elsewhere,
            (Err(expected), [verdict]) if verdict == expected => *verdict,
            _ => panic!("clock {}: {seen:?}, the model says {model:?}", self.clock),
        };
        self.verdicts.push(verdict);
        self.peak = self.used;
        if let (Ok((from, taken)), Verdict::Taken) = (model, verdict) {
            if let Taken::Xud(packet @ Packet::Ack(_)) = taken {
                self.acks.push_back((from, packet));
            } else {
                self.used += taken.payload().len().div_ceil(8);
                self.peak = self.used;
                self.requests.push_back((from, taken));
            }
        }
    }

    fn may_overflow(&self, (_, taken): &(u32, Taken)) {
        let words = taken.payload().len().div_ceil(8);
        match taken {
            Taken::Xud(Packet::Ack(_)) => assert!(self.acks.len() >= WAITING),
            _ => assert!(
                self.requests.len() >= WAITING || (words > 0 && self.peak + words > BUFFER),
                "{} words are used",
                self.peak
            ),
        }
    }

    fn request(&mut self, drop: bool) {
        let (from, taken) = self.requests.pop_front().expect("a request is expected");
        let payload = taken.payload().to_vec();
        let bulk = matches!(taken, Taken::Bulk(..));
        assert_eq!(self.rtl.is("m_bulk_valid"), bulk, "{taken:?}");
        match taken {
            Taken::Xud(Packet::Send(send)) => self.datagram(from, &send, false),
            Taken::Xud(Packet::Unknown { send, .. }) => self.datagram(from, &send, true),
            Taken::Xud(Packet::Ack(_)) => unreachable!(),
            Taken::Bulk(bth, body, marked) => {
                let mut fields = vec![
                    ("m_bulk_node", u64::from(from)),
                    ("m_bulk_opcode", u64::from(bth.opcode) & 15),
                    ("m_bulk_dest", bth.dest_qp.into()),
                    ("m_bulk_psn", bth.psn.into()),
                    ("m_bulk_short", body.is_none().into()),
                    ("m_bulk_marked", marked.into()),
                    ("m_bulk_len", payload.len() as u64),
                ];
                if let Some(body) = &body {
                    let head = u64::from_be_bytes(body[..8].try_into().unwrap());
                    fields.push(("m_bulk_head", head));
                }
                for (name, value) in fields {
                    assert_eq!(self.rtl.get(name), value, "{name} of {bth:?} {body:?}");
                }
            }
        }
        let words = words(&payload);
        if drop {
            let behind = self.left + self.payload.len();
            self.unwanted.push_back((behind, words.len()));
        } else {
            for (i, (word, keep)) in words.iter().enumerate() {
                let mask = (0..8).filter(|byte| keep >> byte & 1 == 1);
                let mask = mask.fold(0, |mask, byte| mask | 0xff << (8 * byte));
                let last = i + 1 == words.len();
                self.payload.push_back((*word, mask, last, bulk));
            }
        }
        self.taken += 1;
    }

    fn datagram(&mut self, from: u32, send: &Send, unknown: bool) {
        let fields = [
            ("m_rq_node", u64::from(from)),
            ("m_rq_qpn", send.dest_qp.into()),
            ("m_rq_psn", send.psn.into()),
            ("m_rq_q_key", send.q_key.into()),
            ("m_rq_src", send.src_qp.into()),
            ("m_rq_vf", (send.version << 4 | send.flags).into()),
            ("m_rq_win_id", send.window.id.into()),
            ("m_rq_epoch", send.window.epoch.into()),
            ("m_rq_msn", send.window.msn.into()),
            (
                "m_rq_len",
                if unknown {
                    0
                } else {
                    send.payload.len() as u64
                },
            ),
            ("m_rq_unknown", unknown.into()),
            ("m_rq_marked", send.marked.into()),
        ];
        for (name, value) in fields {
            assert_eq!(self.rtl.get(name), value, "{name} of {send:?}");
        }
    }

    fn ack(&mut self) {
        let (from, packet) = self
            .acks
            .pop_front()
            .expect("an acknowledgement is expected");
        let Packet::Ack(ack) = packet else {
            unreachable!()
        };
        let outcome = match ack.reply {
            Reply::Ok => Outcome::Ok,
            Reply::Rnr => Outcome::RemoteRnr,
            Reply::Nak(nak) => Outcome::of(nak),
        };
        let mut fields = vec![
            ("m_ak_node", u64::from(from)),
            ("m_ak_qpn", ack.dest_qp.into()),
            ("m_ak_psn", ack.psn.into()),
            ("m_ak_outcome", outcome.code().into()),
            ("m_ak_echo", ack.echo.is_some().into()),
            ("m_ak_marked", ack.marked.into()),
        ];
        if let Some(echo) = ack.echo {
            fields.extend([
                ("m_ak_win_id", u64::from(echo.window.id)),
                ("m_ak_epoch", echo.window.epoch.into()),
                ("m_ak_msn", echo.window.msn.into()),
                ("m_ak_flags", echo.flags.into()),
                ("m_ak_peer", echo.qpn.into()),
            ]);
        }
        for (name, value) in fields {
            assert_eq!(self.rtl.get(name), value, "{name} of {ack:?}");
        }
    }
}

#[test]
fn xud_14_every_flipped_bit_gets_the_verdict_of_the_model() {
    let mut bench = Bench::new();
    for frame in samples() {
        for bit in 0..8 * frame.len() {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            bench.plain(&flipped);
        }
        bench.plain(&frame);
    }
    bench.finish();
}

#[test]
fn xud_14_every_flipped_bit_under_right_checksums_gets_the_verdict_of_the_model() {
    let mut bench = Bench::new();
    for frame in samples() {
        for bit in 0..8 * (frame.len() - 4) {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The checksum covers itself: flipped there, only the ICRC is made right.
            let sum = [flipped[24], flipped[25]];
            repair(&mut flipped);
            if matches!(bit / 8, 24 | 25) {
                flipped[24..26].copy_from_slice(&sum);
            }
            bench.plain(&flipped);
        }
    }
    bench.finish();
    for verdict in [
        Verdict::Taken,
        Verdict::BadFrame,
        Verdict::NotXud,
        Verdict::BadHeader,
    ] {
        assert!(bench.verdicts.contains(&verdict), "{verdict:?} never");
    }
}

/// The node stands in 24 bits of the source address, of which it has 20: the others must not be left out.
#[test]
fn cl_01_xud_14_no_other_source_address_is_taken_for_that_of_a_card() {
    let mut bench = Bench::new();
    for frame in samples() {
        let own = u16::from_be_bytes([frame[26], frame[27]]);
        for upper in beyond(own.into(), 16, &[])
            .into_iter()
            .chain([0, 1, 0x0900])
            .chain(0x0A00..0x0A20)
        {
            let mut strange = frame.clone();
            strange[26..28].copy_from_slice(&(upper as u16).to_be_bytes());
            repair(&mut strange);
            let good = upper >> 4 == u64::from(IP_CARDS);
            assert_eq!(
                judge(&strange, false, false, false).is_ok(),
                good,
                "{upper:#x}"
            );
            bench.plain(&strange);
        }
    }
    bench.finish();
}

#[test]
fn xud_14_every_value_of_opcode_pad_syndrome_and_version_gets_the_verdict_of_the_model() {
    let mut bench = Bench::new();
    for frame in samples() {
        for at in [42, 43, 54, 61, 69]
            .into_iter()
            .filter(|at| *at < frame.len())
        {
            for value in 0..=255 {
                let mut changed = frame.clone();
                changed[at] = value;
                repair(&mut changed);
                bench.plain(&changed);
            }
        }
    }
    bench.finish();
}

#[test]
fn xud_14_lengths_that_lie_and_lengths_out_of_range_get_the_verdict_of_the_model() {
    let mut bench = Bench::new();
    let base = samples().remove(4);
    // Cut and grown frames, with the lengths of the headers as they were or made right.
    for length in (1..200).chain(4160..4190).chain([9000, 65_549, 140_000]) {
        for right in [false, true] {
            for pad in [0, 1, 3] {
                if pad > 0 && !right {
                    continue;
                }
                let mut frame = base.clone();
                frame.resize(length, 0);
                if right && length >= 58 {
                    frame[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
                    frame[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
                    frame[43] = pad << 4;
                }
                repair(&mut frame);
                bench.plain(&frame);
            }
        }
    }
    bench.finish();
    assert!(bench.verdicts.contains(&Verdict::BadHeader));
}

#[test]
fn a_frame_of_one_word_right_behind_a_good_one_does_not_disturb_it() {
    let mut bench = Bench::new();
    for frame in samples() {
        for runts in 1..12 {
            for words in 1..10 {
                bench.plain(&frame);
                for _ in 0..runts {
                    bench.plain(&frame[..8 * words.min(frame.len() / 8)]);
                }
            }
        }
    }
    bench.finish();
}

#[test]
fn smallest_requests_back_to_back_lose_nothing_while_one_is_taken_each_12_clocks() {
    let mut bench = Bench::new();
    let mut rng = rng(4);
    let mut clock = 0;
    for _ in 0..300 {
        let mut send = send(&mut rng, 100);
        send.payload.clear();
        let bytes = frame(3, 4, &Packet::Send(send));
        // Preamble, check sequence and gap of the line: 74 bytes take 98.
        let mut pause = (98 - bytes.len()) / 8;
        let gap = || {
            pause = pause.saturating_sub(1);
            pause > 0
        };
        let consumer = || {
            clock += 1;
            Consumer {
                request: clock % 12 == 0,
                ..Consumer::EAGER
            }
        };
        bench.frame(&bytes, false, gap, consumer);
    }
    bench.finish();
    assert_eq!(bench.verdicts, [Verdict::Taken; 300]);
    assert_eq!(bench.taken, 300);
}

#[test]
fn xud_14_a_request_on_offer_stays_when_payloads_before_it_are_all_that_may_wait() {
    for pace in [1, 2, 6] {
        let mut bench = Bench::new();
        let mut rng = rng(5);
        for _ in 0..16 {
            let mut send = send(&mut rng, 100);
            send.payload.resize(16, 0x5a);
            let bytes = frame(3, 4, &Packet::Send(send));
            bench.frame(&bytes, false, || false, || Consumer::ASLEEP);
        }
        // Nobody takes payload, so the payloads of requests that were taken wait.
        for clock in 1..200 {
            let request = clock % pace == 0;
            bench.step(
                None,
                Consumer {
                    request,
                    ..Consumer::ASLEEP
                },
            );
        }
        assert!((8..16).contains(&bench.taken), "{} taken", bench.taken);
        bench.finish();
        assert_eq!(bench.taken, 16);
    }
}

#[test]
fn two_largest_payloads_wait_whole_and_a_third_is_dropped_as_a_whole() {
    let mut bench = Bench::new();
    let mut rng = rng(5);
    let mut large = || {
        let mut send = send(&mut rng, 100);
        send.payload.resize(4096, 0x77);
        frame(3, 4, &Packet::Send(send))
    };
    for _ in 0..3 {
        bench.frame(&large(), false, || false, || Consumer::ASLEEP);
    }
    for _ in 0..VERDICT {
        bench.step(None, Consumer::ASLEEP);
    }
    let overflow = [Verdict::Taken, Verdict::Taken, Verdict::Overflow];
    assert_eq!(bench.verdicts, overflow);
    bench.finish();
    bench.plain(&large());
    bench.finish();
    assert_eq!(bench.taken, 3);
}
