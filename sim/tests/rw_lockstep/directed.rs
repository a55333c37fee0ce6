//! Single rules, each in a run of its own.

use std::collections::VecDeque;
use std::sync::OnceLock;
use tributary_protocol::red::address::NODES;
use tributary_protocol::rw::*;
use tributary_sim::rw::rtl::{self, Decision, Inputs, RawCompletion, RawMessage, RtlWindow};
use tributary_sim::verilate::Verilated;

const W: u32 = 64;
const R: u16 = 16;
const MTU: u8 = 9;
/// Clocks in which every operation that has been asked for ends.
const LONG: u32 = 2_000;

const ACCEPTED: u8 = 0;
const CLOSED: u8 = DropReason::Closed as u8;
const ABOVE: u8 = DropReason::AboveWindow as u8;
const DUPLICATE: u8 = DropReason::Duplicate as u8;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| rtl::build(W, R.into(), false).unwrap())
}

/// Timers that never run out unless a test moves the time.
fn config() -> ReceiverConfig {
    ReceiverConfig {
        w: W,
        r: R.into(),
        gen_bits: 16,
        allowance: W,
        allowance_ticks: 1_000,
        retry_ticks: 1_000,
        tail_ticks: 1_000,
        idle_ticks: 500,
        busy_hint: 77,
        copies: 1,
        ..ReceiverConfig::default()
    }
}

/// The same, each message twice.
fn twice() -> ReceiverConfig {
    ReceiverConfig {
        copies: 2,
        ..config()
    }
}

/// An open window, seen from its sender.
#[derive(Clone, Copy, Debug)]
struct Flow {
    src: u32,
    xid: u32,
    wptr: u16,
    generation: u32,
    n: u32,
    length: u32,
}

impl Flow {
    fn data(&self, pidx: u32) -> Message {
        Message::Data(Data {
            src: self.src,
            wptr: self.wptr,
            r#gen: self.generation,
            pidx,
            tail: pidx == self.n - 1,
            round: 0,
            len: packet_len(self.length, MTU, pidx) as u16,
        })
    }

    fn poll(&self, seq: u16) -> Message {
        Message::Poll(Poll {
            src: self.src,
            wptr: self.wptr,
            r#gen: self.generation,
            slot: 0,
            xid: self.xid,
            seq,
        })
    }
}

/// An engine, and what it has said; each with its clock.
struct Rig {
    rtl: RtlWindow,
    copies: usize,
    inputs: Inputs,
    now: u64,
    decisions: Vec<(u64, Decision)>,
    messages: Vec<RawMessage>,
    bitmap: Vec<(u64, bool)>,
    completions: Vec<RawCompletion>,
    full: Vec<(u16, u32)>,
    forgotten: u64,
    revoked: bool,
    free: u16,
}

impl Rig {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: ReceiverConfig) -> Self {
        Self {
            rtl: RtlWindow::new(library(), &config).unwrap(),
            copies: config.copies.into(),
            inputs: Inputs::default(),
            now: 0,
            decisions: vec![],
            messages: vec![],
            bitmap: vec![],
            completions: vec![],
            full: vec![],
            forgotten: 0,
            revoked: false,
            free: R,
        }
    }

    /// One clock; true if the message was taken.
    fn clock(&mut self, message: Option<Message>) -> bool {
        self.inputs.message = message;
        let s = self.rtl.clock(&self.inputs).unwrap();
        self.decisions.extend(s.decision.map(|d| (self.now, d)));
        self.messages.extend(s.message);
        self.bitmap.extend(s.bitmap);
        self.completions.extend(s.completion);
        self.full.extend(s.full);
        self.forgotten += u64::from(s.forgotten);
        self.revoked = s.revoked;
        self.free = s.free;
        self.now += 1;
        s.taken
    }

    /// Offers a message until it is taken; the clock in which it was.
    fn send(&mut self, message: Message) -> u64 {
        for _ in 0..LONG {
            if self.clock(Some(message.clone())) {
                return self.now - 1;
            }
        }
        panic!("{message:?} was not taken");
    }

    fn run(&mut self, clocks: u32) {
        for _ in 0..clocks {
            self.clock(None);
        }
    }

    fn acknowledge(&mut self, wptr: u16, generation: u32) {
        self.inputs.ack = Some((wptr, generation));
        self.clock(None);
        self.inputs.ack = None;
    }

    /// The answer to a message for the control engine, as often as it is to leave.
    fn ask(&mut self, message: Message) -> RawMessage {
        let before = self.messages.len();
        self.send(message);
        self.run(LONG);
        let answers = &self.messages[before..];
        assert_eq!(answers.len(), self.copies, "{answers:?}");
        assert!(answers.iter().all(|m| *m == answers[0]), "{answers:?}");
        answers[0]
    }

    /// The same as soon as it is there.
    fn quick(&mut self, message: Message) -> RawMessage {
        let before = self.messages.len();
        self.send(message);
        for _ in 0..LONG {
            if let Some(m) = self.messages.get(before) {
                return *m;
            }
            self.clock(None);
        }
        panic!("no answer");
    }

    /// A window is revoked; the completion records that came of it.
    fn revoke(&mut self, wptr: u16, generation: u32, status: Status) -> Vec<RawCompletion> {
        let before = self.completions.len();
        self.inputs.revoke = Some((wptr, generation, status));
        for _ in 0..LONG {
            self.clock(None);
            if self.revoked {
                self.inputs.revoke = None;
                return self.completions[before..].to_vec();
            }
        }
        panic!("window {wptr} was not revoked");
    }

    fn connect(&mut self, src: u32, xid: u32, length: u32) -> (RawMessage, Flow) {
        let connect = Connect {
            src,
            slot: 0,
            xid,
            incarnation: 0,
            length,
            addr: 0x1_0000,
            rkey: 7,
            mtu: MTU,
        };
        let m = self.ask(Message::Connect(connect));
        let n = packets(length, MTU) as u32;
        (
            m,
            Flow {
                src,
                xid,
                wptr: m.wptr,
                generation: m.generation,
                n,
                length,
            },
        )
    }

    /// A transfer of `n` whole packets.
    fn open(&mut self, src: u32, n: u32) -> Flow {
        let (m, flow) = self.connect(src, 1, n << MTU);
        assert_eq!((m.kind, m.status, m.credit), (5, 0, n.min(W)));
        flow
    }

    fn reasons(&self) -> Vec<u8> {
        self.decisions.iter().map(|(_, d)| d.reason).collect()
    }

    fn counters(&mut self) -> Vec<u32> {
        (0..16)
            .map(|reason| self.rtl.counter(reason).unwrap())
            .collect()
    }

    /// Counters that differ from `before`, and by how much.
    fn counted_since(&mut self, before: &[u32]) -> Vec<(usize, u32)> {
        let now = self.counters();
        let differences = now.iter().zip(before).map(|(now, before)| now - before);
        differences
            .enumerate()
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Everything seen so far is forgotten.
    fn forget(&mut self) {
        self.decisions.clear();
        self.messages.clear();
        self.bitmap.clear();
        self.completions.clear();
    }
}

/// Packets 1 to L-1, then packet 0: the window slides by L. The last packet that the window has room
/// for then, right behind, finds it as it was. DATA taken 17 clocks after packet 0 finds a slide to
/// the end of a word made, and each further word takes 12: the same packet, and the one above it.
#[test]
fn rw_01_rw_03_slide_by_0_1_w_less_1_and_w_and_the_packets_just_behind() {
    for ones in [0, 1, 2, W / 2, W / 2 + 1, W - 1, W] {
        let mut rig = Rig::new();
        let flow = rig.open(3, 3 * W);
        let mut order: Vec<u32> = (1..ones).collect();
        // No slide: packet 1 is there, packet 0 is not.
        order.push(if ones == 0 { 1 } else { 0 });
        let first = rig.send(flow.data(order[0]));
        for pidx in &order[1..] {
            rig.send(flow.data(*pidx));
        }
        assert_eq!(rig.now - first, order.len() as u64, "one record a clock");
        rig.send(flow.data(ones + W - 1));
        rig.run(15 + 12 * (ones.saturating_sub(1) / rig.rtl.word_bits()));
        for pidx in [ones + W - 1, ones + W] {
            rig.send(flow.data(pidx));
        }
        rig.run(LONG);
        let mut want = vec![ACCEPTED; order.len()];
        want.extend(if ones == 0 {
            [ACCEPTED, DUPLICATE, ABOVE]
        } else {
            [ABOVE, ACCEPTED, ABOVE]
        });
        assert_eq!(rig.reasons(), want, "slide by {ones}");

        rig.forget();
        let status = rig.ask(flow.poll(5));
        assert_eq!((status.kind, status.seq, status.wbase), (6, 5, ones));
        let bits = rig.rtl.word_bits();
        let mut arrived = vec![];
        for (word, (value, _)) in rig.bitmap.iter().enumerate() {
            arrived.extend(
                (0..bits)
                    .filter(|bit| value >> bit & 1 == 1)
                    .map(|bit| word as u32 * bits + bit),
            );
        }
        assert_eq!(
            arrived,
            if ones == 0 {
                vec![1, W - 1]
            } else {
                vec![W - 1]
            }
        );
        assert!(rig.bitmap.last().unwrap().1);
    }
}

/// The longest transfer on its way: packets sent whose decision has not been looked at, writes decided and acknowledged.
struct Longest {
    rig: Rig,
    flow: Flow,
    sent: VecDeque<u32>,
    written: u64,
    acked: u64,
}

impl Longest {
    /// Sends a packet, and acknowledges a write of before in the same clocks.
    fn send(&mut self, pidx: u32) {
        let (rig, flow) = (&mut self.rig, self.flow);
        let some = self.acked < self.written + rig.decisions.len() as u64;
        rig.inputs.ack = some.then_some((flow.wptr, flow.generation));
        let before = rig.now;
        rig.send(flow.data(pidx));
        assert_eq!(rig.now, before + 1, "packet {pidx} waits");
        rig.inputs.ack = None;
        self.acked += u64::from(some);
        self.sent.push_back(pidx);
        if self.sent.len() >= 1_000 {
            self.look();
        }
    }

    /// Each packet is written to its place.
    fn look(&mut self) {
        self.rig.run(40);
        for (_, decision) in self.rig.decisions.drain(..) {
            let packet = self.sent.pop_front().expect("it was sent");
            assert_eq!(decision.reason, ACCEPTED, "packet {packet}");
            assert_eq!(decision.addr, 0x1_0000 + (u64::from(packet) << MTU));
            self.written += 1;
        }
        let left = self.sent.len();
        assert_eq!(left, 0, "packets without a decision");
    }
}

/// 2^21 packets of 512 bytes, the most that a transfer may have: each is written to its place, a hole behind each power
/// of two is asked for, and the last acknowledgement ends the transfer.
#[test]
fn rw_01_rw_03_rw_12_rw_16_every_bit_of_a_packets_number_counts() {
    let mut rig = Rig::with(ReceiverConfig {
        allowance_ticks: 40,
        retry_ticks: 30,
        ..config()
    });
    let n = 1 << 21;
    let flow = rig.open(3, n);
    rig.forget();
    let mut longest = Longest {
        rig,
        flow,
        sent: VecDeque::new(),
        written: 0,
        acked: 0,
    };
    let mut pidx = 0;
    while pidx < n {
        if pidx > W && (pidx - 1).is_power_of_two() {
            (pidx + 1..pidx + 5).for_each(|later| longest.send(later));
            let rig = &mut longest.rig;
            rig.run(40);
            rig.messages.clear();
            rig.inputs.now += 40;
            rig.run(LONG);
            let asked = rig.messages.iter().filter(|m| m.kind == 2);
            let asked: Vec<u32> = asked.map(|m| m.pidx).collect();
            assert_eq!(asked, [pidx]);
            longest.send(pidx);
            pidx += 5;
        } else {
            longest.send(pidx);
            pidx += 1;
        }
    }
    longest.look();
    let Longest { mut rig, acked, .. } = longest;
    for _ in acked..u64::from(n) {
        rig.run(LONG / 100);
        assert_eq!(rig.completions, []);
        rig.acknowledge(flow.wptr, flow.generation);
    }
    rig.run(LONG);
    let ended: Vec<_> = rig.completions.iter().map(|c| (c.wptr, c.length)).collect();
    assert_eq!(ended, [(flow.wptr, flow.length)]);
}

/// 3 W packets of one window, one in every clock: a decision in every clock, 8 clocks later.
#[test]
fn rw_01_one_record_and_one_decision_a_clock_in_eight_clocks() {
    let swapped = (0..3 * W).map(|p| p ^ 1).collect::<Vec<_>>();
    for order in [(0..3 * W).collect(), swapped] {
        let mut rig = Rig::new();
        let flow = rig.open(9, 3 * W);
        let first = rig.now;
        for (i, pidx) in order.iter().enumerate() {
            assert_eq!(
                rig.send(flow.data(*pidx)),
                first + i as u64,
                "packets a clock: 1.0"
            );
        }
        rig.run(20);
        assert_eq!(rig.decisions.len(), order.len());
        for (i, ((at, d), pidx)) in rig.decisions.iter().zip(&order).enumerate() {
            assert_eq!(*at, first + i as u64 + 8, "packet {pidx}");
            let want = (ACCEPTED, 0x1_0000 + u64::from(*pidx << MTU), 7, 1 << MTU);
            assert_eq!((d.reason, d.addr, d.rkey, d.len), want, "packet {pidx}");
        }
    }
}

#[test]
fn rw_09_busy_with_a_hint_when_all_windows_are_open() {
    let mut rig = Rig::new();
    for src in 0..R.into() {
        rig.open(src, 2);
    }
    assert_eq!(rig.free, 0);
    let (m, _) = rig.connect(R.into(), 1, 512);
    assert_eq!(
        (m.kind, m.status, m.hint, m.dst),
        (5, ConnectStatus::Busy.code(), config().busy_hint, R.into())
    );
    // A window that has become free serves the next CONNECT.
    rig.send(Message::Abort(Abort {
        src: 4,
        slot: 0,
        xid: 1,
        reason: Reason::GaveUp,
    }));
    rig.run(LONG);
    assert_eq!(rig.free, 1);
    let (m, _) = rig.connect(R.into(), 1, 512);
    assert_eq!((m.status, m.wptr, m.generation), (0, 4, 2));
}

/// A BUSY message that is held does not change with the configuration.
#[test]
fn rw_09_a_hint_that_is_held_stays() {
    let mut rig = Rig::new();
    for src in 0..R.into() {
        rig.open(src, 2);
    }
    rig.inputs.msg_ready = false;
    let busy = Message::Connect(Connect {
        src: R.into(),
        slot: 0,
        xid: 1,
        incarnation: 0,
        length: 512,
        addr: 0x1_0000,
        rkey: 7,
        mtu: MTU,
    });
    rig.send(busy);
    rig.run(LONG);
    let model = rig.rtl.model();
    let [valid, hint, setting] =
        ["m_msg_valid", "m_msg_hint", "cfg_busy_hint"].map(|name| model.port(name).unwrap());
    assert!(model.is_set(valid));
    for other in [78, 0, 0xFFFF] {
        model.set(setting, other);
        model.eval().unwrap();
        assert_eq!(model.get(hint), u64::from(config().busy_hint));
        model.clock().unwrap();
    }
}

/// More POLLs than the queue holds while no message can leave: the first are answered, in order,
/// the others counted.
#[test]
fn rw_11_a_full_queue_drops_and_counts() {
    const POLLS: u16 = 40;
    let mut rig = Rig::new();
    let flow = rig.open(2, 2);
    let before = rig.counters();
    rig.forget();
    rig.inputs.msg_ready = false;
    for seq in 1..=POLLS {
        rig.send(flow.poll(seq));
    }
    rig.run(LONG);
    assert_eq!(rig.messages, []);
    rig.inputs.msg_ready = true;
    rig.run(10 * LONG);
    let answered = rig.messages.len() as u16;
    for (m, seq) in rig.messages.iter().zip(1..) {
        assert_eq!((m.kind, m.seq, m.xid, m.wbase, m.credit), (6, seq, 1, 0, 2));
    }
    assert!((16..POLLS).contains(&answered), "{answered} answers");
    assert_eq!(
        rig.counted_since(&before),
        [(14, u32::from(POLLS - answered))]
    );
}

/// A STATUS leaves twice, each time with its bitmap, whatever stalls; packets that arrive meanwhile change neither copy.
#[test]
fn rw_11_each_message_leaves_twice_and_the_second_copy_is_the_first() {
    for stall in [1, 2, 7] {
        let mut rig = Rig::with(twice());
        let flow = rig.open(2, 3 * W);
        rig.send(flow.data(1));
        rig.run(20);
        rig.forget();
        rig.send(flow.poll(5));
        let (mut order, mut arrived, mut next) = (String::new(), vec![], 2);
        for clock in 0..LONG {
            rig.inputs.msg_ready = clock % stall == 0;
            rig.inputs.bitmap_ready = clock % stall == stall / 2;
            let before = (rig.messages.len(), rig.bitmap.len());
            // Packet 0 is missing, so that nothing but the POLL makes a message.
            let packet = (next < W).then(|| flow.data(next));
            next += u32::from(rig.clock(packet));
            if rig.messages.len() > before.0 {
                order.push('m');
                arrived.push(next);
            }
            order.extend((rig.bitmap.len() > before.1).then_some('w'));
        }
        let words = "w".repeat((W / rig.rtl.word_bits()) as usize);
        assert_eq!(order, format!("m{words}m{words}"), "stall {stall}");
        let m = rig.messages[0];
        assert_eq!((m.kind, m.seq, m.wbase, m.credit), (6, 5, 0, W));
        assert_eq!(rig.messages, [m, m], "stall {stall}");
        let (first, second) = rig.bitmap.split_at(words.len());
        assert_eq!(first, second, "stall {stall}");
        assert_eq!((first[0].0 & 3, first[words.len() - 1].1), (2, true));
        assert!(arrived[0] < arrived[1], "no packet between the copies");
        let before = first.to_vec();
        rig.forget();
        rig.inputs.msg_ready = true;
        rig.inputs.bitmap_ready = true;
        rig.ask(flow.poll(6));
        assert_ne!(rig.bitmap[..words.len()], before[..]);
    }
}

/// Reset after the first copy, and after a word of the bitmap: nothing of the second one leaves.
#[test]
fn rw_11_reset_between_two_copies_leaves_no_second_one() {
    for words in 0..2 {
        let mut rig = Rig::with(twice());
        let flow = rig.open(2, 3 * W);
        rig.forget();
        rig.inputs.bitmap_ready = false;
        rig.send(flow.poll(5));
        rig.run(LONG);
        assert_eq!((rig.messages.len(), rig.bitmap.len()), (1, 0));
        for _ in 0..words {
            rig.inputs.bitmap_ready = true;
            rig.clock(None);
            rig.inputs.bitmap_ready = false;
            rig.run(20);
        }
        assert_eq!(rig.bitmap.len(), words);
        rig.rtl.model().reset(4).unwrap();
        rig.forget();
        rig.inputs.bitmap_ready = true;
        rig.run(10_000);
        assert_eq!((&rig.messages[..], &rig.bitmap[..]), (&[][..], &[][..]));
        // Two copies again from then on.
        let flow = rig.open(3, 2);
        assert_eq!((flow.wptr, rig.messages.len()), (0, 2));
    }
}

/// The two copies are one request: the hole is not asked for again within a retry time.
#[test]
fn rw_12_rw_16_a_request_in_two_copies_is_one_and_a_completion_record_has_none() {
    let mut rig = Rig::with(ReceiverConfig {
        allowance_ticks: 40,
        tail_ticks: 50,
        retry_ticks: 60,
        ..twice()
    });
    let flow = rig.open(4, 4);
    rig.forget();
    for pidx in [0, 2] {
        rig.send(flow.data(pidx));
    }
    rig.run(20);
    let told = |rig: &mut Rig, now| {
        rig.forget();
        rig.inputs.now = now;
        rig.run(LONG);
        let told = rig.messages.iter().map(|m| (m.kind, m.pidx));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut rig, 40), [(2, 1); 2]);
    assert_eq!(told(&mut rig, 59), []);
    assert_eq!(told(&mut rig, 60), [(3, 3); 2]);
    assert_eq!(told(&mut rig, 119), []);
    for pidx in [3, 1] {
        rig.send(flow.data(pidx));
    }
    rig.run(20);
    rig.forget();
    for _ in 0..4 {
        rig.acknowledge(flow.wptr, flow.generation);
    }
    rig.run(LONG);
    assert_eq!(
        rig.messages.iter().map(|m| m.kind).collect::<Vec<_>>(),
        [1; 2]
    );
    assert_eq!(rig.completions.len(), 1);
}

/// A hole is asked for when it is old, once in a retry time; the rest of the transfer from the
/// highest packet on, when nothing has come for a while.
#[test]
fn rw_12_rw_13_holes_are_asked_for_once_and_the_rest_from_the_highest_on() {
    let mut rig = Rig::with(ReceiverConfig {
        allowance_ticks: 40,
        tail_ticks: 50,
        retry_ticks: 60,
        ..config()
    });
    let flow = rig.open(4, W);
    rig.forget();
    for pidx in [0, 1, 3, 4, 7] {
        rig.send(flow.data(pidx));
    }
    let told = |rig: &mut Rig, now| {
        rig.forget();
        rig.inputs.now = now;
        rig.run(LONG);
        rig.messages
            .iter()
            .map(|m| (m.kind, m.dst, m.xid, m.pidx))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&mut rig, 0), []);
    assert_eq!(told(&mut rig, 39), []);
    assert_eq!(told(&mut rig, 40), [2, 5, 6].map(|hole| (2, 4, 1, hole)));
    // No earlier than a retry time after the window was opened.
    assert_eq!(told(&mut rig, 59), []);
    let range = (3, 4, 1, 8);
    assert_eq!(told(&mut rig, 60), [range]);
    assert_eq!(told(&mut rig, 119), []);
    assert_eq!(
        told(&mut rig, 120),
        [(2, 4, 1, 2), (2, 4, 1, 5), (2, 4, 1, 6), range]
    );
}

/// While DATA comes for another window, even such that is dropped, the rest of a silent one is asked for after 64 times the
/// silence.
#[test]
fn rw_12_rw_13_a_silent_window_beside_a_busy_one_waits_64_times_as_long() {
    let mut rig = Rig::with(ReceiverConfig {
        tail_ticks: 5,
        retry_ticks: 60,
        ..config()
    });
    let silent = rig.open(4, 4);
    let busy = rig.open(5, 4);
    rig.send(silent.data(0));
    let told = |rig: &mut Rig, now: std::ops::RangeInclusive<u16>| {
        rig.forget();
        for now in now {
            rig.inputs.now = now;
            rig.send(busy.data(0));
            rig.run(LONG / 100);
        }
        rig.run(LONG);
        rig.messages
            .iter()
            .map(|m| (m.kind, m.dst, m.pidx))
            .collect::<Vec<_>>()
    };
    let range = (3, 4, 1);
    assert_eq!(told(&mut rig, 0..=319), []);
    assert_eq!(told(&mut rig, 320..=320), [range]);
    assert_eq!(told(&mut rig, 321..=379), []);
    assert_eq!(told(&mut rig, 380..=380), [range]);
    // Nothing comes any more: both ask, no earlier than a retry time after the last time.
    rig.forget();
    rig.inputs.now = 385;
    rig.run(LONG);
    let asked: Vec<_> = rig.messages.iter().map(|m| (m.kind, m.dst)).collect();
    assert_eq!(asked, [(3, 5)]);
}

#[test]
fn rw_16_complete_only_after_the_last_write_is_visible_and_once() {
    let mut rig = Rig::new();
    let flow = rig.open(6, 3);
    for pidx in [2, 0, 1] {
        rig.send(flow.data(pidx));
    }
    rig.run(LONG);
    assert_eq!(rig.reasons(), [ACCEPTED; 3]);
    rig.forget();
    for _ in 0..2 {
        rig.acknowledge(flow.wptr, flow.generation);
        rig.run(LONG);
        assert_eq!(
            (&rig.messages[..], &rig.completions[..], rig.free),
            (&[][..], &[][..], R - 1)
        );
    }
    rig.acknowledge(flow.wptr, flow.generation);
    rig.run(2 * LONG);
    let done = RawCompletion {
        wptr: flow.wptr,
        src: 6,
        slot: 0,
        xid: 1,
        length: 3 << MTU,
        status: 0,
        reason: 0,
    };
    assert_eq!(rig.completions, [done]);
    let told: Vec<_> = rig
        .messages
        .iter()
        .map(|m| (m.kind, m.dst, m.xid, m.status))
        .collect();
    assert_eq!(told, [(1, 6, 1, 0)]);
    assert_eq!(rig.free, R);
    // RW-17: what is left answers a late POLL, and late DATA finds the window closed.
    let late = rig.ask(flow.poll(1));
    assert_eq!((late.kind, late.status), (1, 0));
    rig.send(flow.data(0));
    rig.run(20);
    assert_eq!(rig.reasons(), [CLOSED]);
}

/// Acknowledgements of another incarnation, of a closed window and of one that does not exist
/// finish nothing.
#[test]
fn rw_16_p_07_late_acknowledgements_are_counted_and_ignored() {
    let mut rig = Rig::new();
    let flow = rig.open(6, 2);
    rig.send(flow.data(0));
    rig.send(flow.data(1));
    rig.run(20);
    rig.forget();
    let before = rig.counters();
    for (wptr, generation) in [
        (flow.wptr, 0),
        (flow.wptr, 2),
        (flow.wptr, 0x8001),
        (5, 0),
        (5, 1),
        (R, 1),
        (0x4000, 1),
    ] {
        rig.acknowledge(wptr, generation);
    }
    // Windows that there are none of, each like this one in all bits but one.
    for bit in R.ilog2()..16 {
        rig.acknowledge(flow.wptr | 1 << bit, flow.generation);
    }
    rig.acknowledge(flow.wptr, flow.generation);
    rig.run(LONG);
    assert_eq!((rig.messages.len(), rig.completions.len()), (0, 0));
    assert_eq!(rig.counted_since(&before), [(10, 7 + 12)]);
    rig.acknowledge(flow.wptr, flow.generation);
    rig.run(LONG);
    assert_eq!((rig.messages.len(), rig.completions.len()), (1, 1));
}

/// Nodes and slots like those of a transfer in all bits but one, those that no entry has a place for among them: an ABORT of
/// theirs ends nothing, a POLL hears of nothing, while the transfer is open and when it has ended.
#[test]
fn cl_01_rw_07_p_07_bw_10_nodes_and_slots_that_differ_in_a_bit_name_no_transfer_of_others() {
    let mut rig = Rig::new();
    let flow = rig.open(0x3_00a5, 2);
    let beyond = |bit: u32| match bit {
        0..20 => (flow.src ^ 1 << bit, 0),
        _ => (flow.src, 1 << (bit - 20)),
    };
    for done in [false, true] {
        let before = rig.counters();
        for bit in 0..36 {
            let (src, slot) = beyond(bit);
            let completions = rig.completions.len();
            rig.send(Message::Abort(Abort {
                src,
                slot,
                xid: flow.xid,
                reason: Reason::GaveUp,
            }));
            rig.run(LONG);
            assert_eq!(rig.completions.len(), completions, "{src:#x} {slot:#x}");
            let answer = rig.ask(Message::Poll(Poll {
                src,
                wptr: flow.wptr,
                r#gen: flow.generation,
                slot,
                xid: flow.xid,
                seq: 1,
            }));
            let told = (answer.kind, answer.dst, answer.slot, answer.status);
            assert_eq!(told, (7, src, slot, Reason::NoTransfer.code()));
        }
        let strays = DropReason::StrayAbort as usize;
        assert_eq!(rig.counted_since(&before), [(strays, 36)]);
        assert_eq!(rig.free, R - u16::from(!done));
        if !done {
            for pidx in 0..2 {
                rig.send(flow.data(pidx));
                rig.run(20);
                rig.acknowledge(flow.wptr, flow.generation);
            }
            rig.run(LONG);
            assert_eq!(rig.completions.len(), 1);
        }
    }
}

/// A window that hears nothing is aborted, and free again.
#[test]
fn rw_18_an_idle_window_is_aborted() {
    let mut rig = Rig::new();
    let flow = rig.open(8, 4);
    rig.send(flow.data(1));
    rig.run(20);
    rig.inputs.now = config().idle_ticks - 1;
    rig.run(LONG);
    rig.forget();
    rig.run(LONG);
    assert_eq!(
        (rig.completions.len(), rig.free),
        (0, R - 1),
        "one tick too early"
    );
    rig.inputs.now = config().idle_ticks;
    rig.run(2 * LONG);
    let ended = RawCompletion {
        wptr: flow.wptr,
        src: 8,
        slot: 0,
        xid: 1,
        length: 4 << MTU,
        status: Status::Aborted.code(),
        reason: Reason::Idle.code(),
    };
    assert_eq!(rig.completions, [ended]);
    let told: Vec<_> = rig
        .messages
        .iter()
        .map(|m| (m.kind, m.dst, m.slot, m.xid, m.status))
        .collect();
    assert_eq!(told, [(7, 8, 0, 1, Reason::Idle.code())]);
    assert_eq!(rig.free, R);
    rig.send(flow.data(0));
    rig.run(20);
    assert_eq!(rig.reasons(), [CLOSED]);
}

/// A window is closed, in each of the three ways, while writes of its transfer wait for
/// `m_wr_ready`: its completion record follows the last of them, and does not wait for records
/// that came later.
#[test]
fn p_05_aborted_record_follows_the_last_write() {
    type Close = fn(&mut Rig, u32);
    let by_abort: Close = |rig, src| {
        rig.send(Message::Abort(Abort {
            src,
            slot: 0,
            xid: 1,
            reason: Reason::GaveUp,
        }));
    };
    let by_silence: Close = |rig, _| rig.inputs.now = config().idle_ticks;
    let by_connect: Close = |rig, src| {
        rig.send(Message::Connect(Connect {
            src,
            slot: 0,
            xid: 2,
            incarnation: 0,
            length: 512,
            addr: 0,
            rkey: 0,
            mtu: MTU,
        }));
    };
    // Of 5 records that have been taken, s_ready is still high for what closes the window.
    for (close, writes) in [by_abort, by_silence, by_connect]
        .into_iter()
        .flat_map(|close| [0, 1, 5].map(|writes| (close, writes)))
    {
        let mut rig = Rig::new();
        let flow = rig.open(8, W);
        rig.forget();
        rig.inputs.wr_ready = false;
        for pidx in 0..writes {
            rig.send(flow.data(pidx));
        }
        rig.run(20);
        close(&mut rig, flow.src);
        rig.run(2 * LONG);
        let before = usize::from(writes == 0);
        assert_eq!(rig.completions.len(), before, "{writes} writes inside");

        // One write a time, and for each a record that finds the window closed.
        let mut last_write = None;
        for _ in 0..writes {
            assert_eq!(rig.completions, [], "overtakes a write");
            rig.inputs.wr_ready = true;
            last_write = Some(rig.now);
            rig.clock(None);
            rig.inputs.wr_ready = false;
            rig.send(flow.data(W - 1));
            rig.run(3);
        }
        rig.run(20);
        assert_eq!(rig.reasons(), vec![ACCEPTED; writes as usize]);
        assert!(last_write.is_none_or(|at| at == rig.decisions.last().unwrap().0));
        let [ended] = rig.completions[..] else {
            panic!("{writes} writes: {:?}", rig.completions);
        };
        assert_eq!((ended.src, ended.xid, ended.status), (8, 1, 1));
        rig.inputs.wr_ready = true;
        rig.run(LONG);
        assert_eq!(
            rig.reasons()[writes as usize..],
            vec![CLOSED; writes as usize]
        );
        assert_eq!(rig.completions.len(), 1);
    }
}

/// As many writes as the engine holds wait, records of another window follow them, and the
/// completion record stalls: it waits for those writes, and for nothing else.
#[test]
fn p_05_p_18_aborted_record_follows_a_full_queue_and_no_other_window() {
    let mut rig = Rig::new();
    let [flow, other] = [8, 9].map(|src| rig.open(src, 2 * W));
    rig.forget();
    rig.inputs.wr_ready = false;
    rig.send(Message::Abort(Abort {
        src: flow.src,
        slot: 0,
        xid: 1,
        reason: Reason::GaveUp,
    }));
    // All of them enter before the ABORT is served.
    let mut inside = 0;
    while rig.clock(Some(flow.data(inside))) {
        inside += 1;
    }
    assert!((10..=16).contains(&inside), "{inside} records are inside");
    for _ in 0..LONG {
        assert!(!rig.clock(Some(other.data(0))), "there is room");
    }
    assert_eq!(rig.completions, [], "overtakes {inside} writes");
    // A decision leaves in every third clock, so that some always wait.
    let (mut others, mut ended) = (0, None);
    for clock in 0..20 * inside {
        rig.inputs.wr_ready = clock % 3 == 0;
        // The record stalls at first.
        rig.inputs.cpl_ready = clock > 6 * inside;
        others += u32::from(rig.clock(Some(other.data(others))));
        if ended.is_none() && !rig.completions.is_empty() {
            ended = Some(rig.decisions.len() as u32);
        }
    }
    rig.inputs.wr_ready = true;
    rig.run(LONG);
    let left = ended.expect("no completion record");
    assert!(
        (inside..inside + others).contains(&left),
        "{left} decisions before it"
    );
    assert_eq!(rig.completions.len(), 1);
    let of = |flow: Flow| {
        let decisions = rig.decisions.iter();
        decisions
            .filter(|(_, d)| (d.wptr, d.reason) == (flow.wptr, ACCEPTED))
            .count() as u32
    };
    assert_eq!((of(flow), of(other)), (inside, others));
}

/// RW-19: every quarter of a window the sender is told how far it may go.
#[test]
fn rw_19_credit_comes_without_being_asked_for() {
    let mut rig = Rig::new();
    let flow = rig.open(1, 3 * W);
    rig.forget();
    for pidx in 0..W / 4 - 1 {
        rig.send(flow.data(pidx));
    }
    rig.run(LONG);
    assert_eq!(rig.messages, []);
    for quarter in 1..12 {
        rig.forget();
        let first = if quarter == 1 {
            W / 4 - 1
        } else {
            (quarter - 1) * W / 4
        };
        for pidx in first..quarter * W / 4 {
            rig.send(flow.data(pidx));
        }
        rig.run(LONG);
        let told: Vec<_> = rig
            .messages
            .iter()
            .map(|m| (m.kind, m.dst, m.seq, m.wbase, m.credit))
            .collect();
        let wbase = quarter * W / 4;
        assert_eq!(told, [(6, 1, 0, wbase, (wbase + W).min(3 * W))]);
    }
}

/// Length 0 is one packet of length 0.
#[test]
fn rw_20_length_0_is_one_packet_of_length_0() {
    let mut rig = Rig::new();
    let (m, flow) = rig.connect(1, 1, 0);
    assert_eq!((m.kind, m.status, m.credit, flow.n), (5, 0, 1, 1));
    let Message::Data(right) = flow.data(0) else {
        panic!("no DATA")
    };
    assert_eq!((right.len, right.tail), (0, true));
    rig.send(Message::Data(Data { len: 1, ..right }));
    rig.send(Message::Data(Data {
        tail: false,
        ..right
    }));
    rig.send(Message::Data(right));
    rig.send(Message::Data(Data { pidx: 1, ..right }));
    rig.run(LONG);
    let wrong = [DropReason::BadLength.code(), DropReason::BadTail.code()];
    assert_eq!(
        rig.reasons(),
        [wrong[0], wrong[1], ACCEPTED, DropReason::BeyondEnd.code()]
    );
    assert_eq!(rig.decisions[2].1.len, 0);
    rig.forget();
    rig.acknowledge(flow.wptr, flow.generation);
    rig.run(LONG);
    assert_eq!(
        rig.completions
            .iter()
            .map(|c| (c.length, c.status))
            .collect::<Vec<_>>(),
        [(0, 0)]
    );
    assert_eq!(rig.messages.iter().map(|m| m.kind).collect::<Vec<_>>(), [1]);
}

/// A record whose frame failed a check changes counter 13 and nothing else.
#[test]
fn rw_20_p_07_bad_frames_change_one_counter() {
    let mut rig = Rig::new();
    let flow = rig.open(1, 4);
    rig.forget();
    let before = rig.counters();
    let connect = Connect {
        src: 2,
        slot: 0,
        xid: 1,
        incarnation: 0,
        length: 512,
        addr: 0,
        rkey: 0,
        mtu: MTU,
    };
    let abort = Abort {
        src: 1,
        slot: 0,
        xid: 1,
        reason: Reason::GaveUp,
    };
    let messages = [
        flow.data(0),
        flow.data(3),
        Message::Connect(connect),
        flow.poll(1),
        Message::Abort(abort),
    ];
    rig.inputs.error = true;
    for message in messages.iter().cycle().take(50) {
        rig.send(message.clone());
    }
    rig.inputs.error = false;
    rig.run(LONG);
    assert_eq!(
        (
            rig.decisions.len(),
            rig.messages.len(),
            rig.completions.len(),
            rig.free
        ),
        (0, 0, 0, R - 1)
    );
    assert_eq!(rig.counted_since(&before), [(13, 50)]);
    assert_eq!(rig.ask(flow.poll(1)).wbase, 0);
}

/// Messages that only senders expect change counter 15 and nothing else.
#[test]
fn rw_07_p_07_messages_for_senders_change_one_counter() {
    let mut rig = Rig::new();
    let flow = rig.open(1, 4);
    rig.forget();
    let before = rig.counters();
    // The fields of a DATA record that would be accepted stand at the inputs.
    rig.inputs.error = true;
    rig.send(flow.data(0));
    rig.inputs.error = false;
    let model = rig.rtl.model();
    let port = |name: &str| model.port(name).unwrap();
    let (valid, error, kind) = (port("s_valid"), port("s_error"), port("s_type"));
    for (unexpected, count) in [(1, 2), (2, 3), (3, 4), (5, 5)] {
        model.set(valid, 1);
        model.set(error, 0);
        model.set(kind, unexpected);
        model.clocks(count).unwrap();
    }
    rig.run(LONG);
    assert_eq!(
        (
            rig.decisions.len(),
            rig.messages.len(),
            rig.completions.len(),
            rig.free
        ),
        (0, 0, 0, R - 1)
    );
    assert_eq!(rig.counted_since(&before), [(13, 1), (15, 14)]);
    assert_eq!(rig.ask(flow.poll(1)).wbase, 0);
}

/// A CONNECT from slot 0 of a node, of one packet.
fn of(src: u32, xid: u32) -> Connect {
    Connect {
        src,
        slot: 0,
        xid,
        incarnation: 0,
        length: 1 << MTU,
        addr: 0x1_0000,
        rkey: 7,
        mtu: MTU,
    }
}

/// The verdict counts for a transfer that is not known, and for no other: not for one that is open, has ended, or is old.
#[test]
fn bw_02_rw_08_a_verdict_refuses_a_new_transfer_and_no_known_one() {
    let mut rig = Rig::new();
    let statuses = [
        ConnectStatus::Access,
        ConnectStatus::BadQp,
        ConnectStatus::Refused,
    ];
    for status in statuses {
        rig.inputs.verdict = Verdict::Refuse(status);
        let (m, _) = rig.connect(3, 5, 1 << MTU);
        assert_eq!((m.kind, m.status), (5, status.code()));
    }
    rig.inputs.verdict = Verdict::Silent;
    rig.forget();
    rig.send(Message::Connect(of(3, 5)));
    rig.run(LONG);
    assert_eq!((rig.messages.len(), rig.free), (0, R));
    // A transfer is opened, refused a newer one, ended; it is answered as itself throughout.
    rig.inputs.verdict = Verdict::Open;
    let (_, flow) = rig.connect(3, 6, 1 << MTU);
    for verdict in [Verdict::Silent, Verdict::Refuse(ConnectStatus::Access)] {
        rig.inputs.verdict = verdict;
        let (m, again) = rig.connect(3, 6, 1 << MTU);
        assert_eq!((m.status, again.generation), (0, flow.generation));
        rig.forget();
        rig.send(Message::Connect(of(3, 5)));
        rig.run(LONG);
        assert_eq!(rig.messages.len(), 0, "an older one is ignored");
    }
    let (m, _) = rig.connect(3, 7, 1 << MTU);
    assert_eq!((m.kind, m.status), (5, ConnectStatus::Access.code()));
    assert_eq!(
        rig.free,
        R - 1,
        "a newer one that is refused replaces nothing"
    );
    rig.send(flow.data(0));
    rig.run(20);
    rig.acknowledge(flow.wptr, flow.generation);
    rig.run(LONG);
    let (m, _) = rig.connect(3, 6, 1 << MTU);
    assert_eq!((m.kind, m.status), (1, 0));
}

/// A window that is kept ends when it is revoked, with the status that is given then; until then it answers polls.
#[test]
fn bw_03_rw_16_a_complete_transfer_keeps_its_window_until_that_is_revoked() {
    for status in [Status::Ok, Status::NotReady] {
        let mut rig = Rig::new();
        rig.inputs.hold = true;
        let (_, flow) = rig.connect(9, 1, 2 << MTU);
        rig.inputs.hold = false;
        for pidx in 0..2 {
            rig.send(flow.data(pidx));
            rig.run(20);
            rig.acknowledge(flow.wptr, flow.generation);
        }
        rig.forget();
        rig.run(LONG);
        assert_eq!((rig.messages.len(), rig.completions.len()), (0, 0));
        assert_eq!(rig.full, [(flow.wptr, flow.generation)]);
        let m = rig.ask(flow.poll(1));
        assert_eq!((m.kind, m.wbase, m.tail), (6, 2, true));
        let ended = rig.revoke(flow.wptr, flow.generation, status);
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].status, status.code());
        for message in [
            Message::Connect(Connect {
                length: 2 << MTU,
                ..of(9, 1)
            }),
            flow.poll(2),
        ] {
            let m = rig.ask(message);
            assert_eq!((m.kind, m.status), (1, status.code()), "its peer keeps it");
        }
        assert_eq!(rig.free, R);
    }
}

/// A window is revoked in the midst of a transfer: nothing more is accepted, its sender is told, and a window of another
/// generation is not meant.
#[test]
fn bw_02_bw_09_a_revoked_window_accepts_nothing_and_its_sender_is_told() {
    let mut rig = Rig::new();
    let flow = rig.open(0xfedc, 8);
    rig.send(flow.data(0));
    rig.forget();
    for bit in 0..16 {
        let other = flow.generation ^ 1 << bit;
        assert_eq!(rig.revoke(flow.wptr, other, Status::Aborted), []);
    }
    let ended = rig.revoke(flow.wptr, flow.generation, Status::Aborted);
    assert_eq!(
        ended
            .iter()
            .map(|c| (c.src, c.status, c.reason))
            .collect::<Vec<_>>(),
        [(0xfedc, 1, Reason::Cancelled.code())]
    );
    let told: Vec<_> = rig
        .messages
        .iter()
        .map(|m| (m.kind, m.dst, m.status))
        .collect();
    assert_eq!(told, [(1, 0xfedc, Status::Aborted.code())]);
    rig.decisions.clear();
    rig.send(flow.data(1));
    rig.run(20);
    assert_eq!(rig.reasons(), [CLOSED]);
    assert_eq!(rig.revoke(flow.wptr, flow.generation, Status::Aborted), []);
    assert_eq!(rig.free, R);
}

/// As many peers as there are entries, and more: the one whose transfer ended first is forgotten for a new one, whatever order
/// they came in; one with an open window never is; one that comes again is as if it had come last.
#[test]
fn bw_10_the_peer_whose_transfer_ended_first_is_forgotten_for_a_new_one() {
    const ENTRIES: u32 = 1_024;
    let mut rig = Rig::new();
    let node = |i: u32| (i.wrapping_mul(0x9_9E35) % NODES) ^ 0x1234;
    let mut model = Receiver::new(ReceiverConfig {
        src_limit: NODES,
        slot_limit: 256,
        peers: Some(ENTRIES),
        ..config()
    })
    .unwrap();
    let end = |rig: &mut Rig, model: &mut Receiver, src: u32, xid: u32| {
        let c = of(src, xid);
        let m = rig.quick(Message::Connect(c));
        let Some(Message::ConnectResp(want)) = model.connect(&c, 0).reply else {
            panic!("{src:#x} {xid}: the model knows it");
        };
        assert_eq!((m.kind, m.status), (5, 0), "{src:#x} {xid}");
        assert_eq!((m.wptr, m.generation), (want.wptr, want.r#gen));
        rig.revoke(m.wptr, m.generation, Status::Aborted);
        model.revoke(want.wptr, Status::Aborted);
    };
    // One stays open; all other entries are used up.
    let (open, _) = (of(7, 1), rig.quick(Message::Connect(of(7, 1))));
    model.connect(&open, 0);
    for i in 0..ENTRIES - 1 {
        end(&mut rig, &mut model, node(i), 1);
    }
    assert_eq!((rig.forgotten, model.known_peers()), (0, 1_024));
    // Entries from the middle and both ends of the list come again, and are the last ones then.
    for (i, xid) in [(0, 2), (500, 2), (1_022, 2), (1_022, 3), (1, 2)] {
        end(&mut rig, &mut model, node(i), xid);
    }
    assert_eq!(rig.forgotten, 0);
    for i in 0..4 {
        end(&mut rig, &mut model, 0xF_F000 + i, 1);
    }
    assert_eq!((rig.forgotten, model.stats().forgotten), (4, 4));
    // 2 to 5 are forgotten: a CONNECT of theirs opens a window once more; all others are known.
    for i in [0, 1, 6, 7, 499, 500, 501, 1_021, 1_022] {
        let src = node(i);
        let Peer { xid, .. } = model.peer(src, 0).unwrap();
        let m = rig.quick(Message::Connect(of(src, xid)));
        assert_eq!((m.kind, m.status), (1, 1), "{i}");
    }
    for i in 2..6 {
        assert_eq!(model.peer(node(i), 0), None, "{i}");
        end(&mut rig, &mut model, node(i), 1);
    }
    assert_eq!((rig.forgotten, model.stats().forgotten), (8, 8));
    let m = rig.quick(Message::Connect(open));
    assert_eq!((m.kind, m.status), (5, 0), "an open window keeps its entry");
}
