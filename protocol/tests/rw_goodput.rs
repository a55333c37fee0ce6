//! Goodput of the four modes on a lossy, reordering line: one transfer of 2,048 packets of one slot each, round trip 128
//! slots, reorder span 32 slots, applied to both directions. Time runs from the first DATA packet to the receiver's last write,
//! so the handshake is left out. Loss hits what the sender sends; where a test says so, the few control messages of the
//! receiver as well. `tributary bench rw` is the full simulator; this loop only holds
//! the models to their figures.

use std::collections::BinaryHeap;
use std::{cmp::Reverse, collections::BTreeMap};

use tributary_protocol::rw::*;

/// xorshift64*: enough for a line, and the same on every machine.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn chance(&mut self, p: f64) -> bool {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < p
    }
}

#[derive(Default)]
struct Line {
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    messages: BTreeMap<u64, Message>,
    count: u64,
}

impl Line {
    fn send(&mut self, msg: Message, now: u64, loss: f64, span: u64, rng: &mut Rng) {
        if !rng.chance(loss) {
            self.count += 1;
            self.messages.insert(self.count, msg);
            self.queue
                .push(Reverse((now + 64 + rng.below(span + 1), self.count)));
        }
    }

    fn receive(&mut self, now: u64) -> Option<Message> {
        let Reverse((due, _)) = self.queue.peek()?;
        if *due > now {
            return None;
        }
        let Reverse((_, id)) = self.queue.pop()?;
        self.messages.remove(&id)
    }
}

struct Figures {
    goodput: f64,
    sent: f64,
    resent: u64,
}

fn run(mode: Mode, w: u32, copies: u8, loss: [f64; 2], seed: u64) -> Option<Figures> {
    let span = 32;
    let n = 2048u32;
    let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut rx = Receiver::new(ReceiverConfig {
        mode,
        w,
        copies,
        ..Default::default()
    })
    .unwrap();
    let mut tx = Sender::new(SenderConfig {
        mode,
        ..Default::default()
    })
    .unwrap();
    tx.start(
        Request {
            dst: 1,
            addr: 0,
            rkey: 0,
            length: n * 512,
            mtu: 9,
            oldest_first: false,
        },
        0,
    )
    .unwrap();
    let (mut to_rx, mut to_tx) = (Line::default(), Line::default());
    let (mut first, mut last) = (None, None);
    for now in 0..400_000u64 {
        while let Some(msg) = to_rx.receive(now) {
            let mut outputs = rx.handle(&msg, now);
            while let Some(output) = outputs.pop() {
                match output {
                    Output::Send { msg, .. } => to_tx.send(msg, now, loss[1], span, &mut rng),
                    Output::Write(write) => {
                        outputs.extend(rx.handle_write_done(write.wptr, write.r#gen))
                    }
                    Output::Completion(done) => {
                        assert_eq!(done.status, Status::Ok);
                        last = Some(now);
                    }
                }
            }
        }
        for output in rx.handle_sweep(now) {
            if let Output::Send { msg, .. } = output {
                to_tx.send(msg, now, loss[1], span, &mut rng);
            }
        }
        while let Some(msg) = to_tx.receive(now) {
            tx.on_message(&msg, now);
        }
        if let Some(out) = tx.next_packet(now) {
            if matches!(out.msg, Message::Data(_)) {
                first.get_or_insert(now);
            }
            to_rx.send(out.msg, now, loss[0], span, &mut rng);
        }
        if let Some(done) = tx.take_completion() {
            if done.outcome != Outcome::Ok {
                return None;
            }
            let slots = last? + 1 - first?;
            return Some(Figures {
                goodput: f64::from(n) / slots as f64,
                sent: tx.stats().data() as f64 / f64::from(n),
                resent: tx.stats().resent,
            });
        }
    }
    None
}

/// Means over `seeds` runs: goodput, packets sent per useful packet, and how many runs did not end well.
fn mean(mode: Mode, w: u32, loss: [f64; 2], seeds: u64) -> (f64, f64, u64) {
    let runs: Vec<_> = (1..=seeds)
        .map(|seed| run(mode, w, 2, loss, seed))
        .collect();
    let good: Vec<_> = runs.iter().flatten().collect();
    let count = good.len().max(1) as f64;
    let goodput = good.iter().map(|f| f.goodput).sum::<f64>() / count;
    let sent = good.iter().map(|f| f.sent).sum::<f64>() / count;
    (goodput, sent, seeds - good.len() as u64)
}

#[test]
#[ignore = "prints the table"]
fn table() {
    for (mode, w) in [
        (Mode::Counter, 256),
        (Mode::GoBackN, 256),
        (Mode::RwTimer, 256),
        (Mode::Rw, 256),
        (Mode::Rw, 1024),
    ] {
        for loss in [0.0, 1e-4, 1e-3, 1e-2] {
            for control in [0.0, loss] {
                let (goodput, sent, failed) = mean(
                    mode,
                    w,
                    [loss, control],
                    if mode == Mode::Rw { 200 } else { 5 },
                );
                println!(
                    "{:10} W={w:4} loss {loss:.4}/{control:.4}: goodput {goodput:.3} sent {sent:.4} failed {failed}",
                    mode.name()
                );
            }
        }
    }
}

#[test]
fn p_23_no_loss_and_reorder_within_the_allowance_resends_nothing() {
    for (mode, copies) in [(Mode::Rw, 1), (Mode::Rw, 2), (Mode::RwTimer, 1)] {
        for seed in 1..=20 {
            assert_eq!(
                run(mode, 256, copies, [0.0; 2], seed).unwrap().resent,
                0,
                "{mode} {copies} seed {seed}"
            );
        }
    }
}

#[test]
fn rw_19_credit_keeps_the_line_full_at_w_256() {
    for (loss, least) in [(1e-4, 0.95), (1e-3, 0.94), (1e-2, 0.895)] {
        let (goodput, sent, failed) = mean(Mode::Rw, 256, [loss, 0.0], 60);
        assert!(
            goodput >= least && sent <= 1.021 && failed == 0,
            "loss {loss}: goodput {goodput:.3}, sent {sent:.4}, {failed} failed"
        );
        // With requests and credit lost as often as data.
        let (goodput, sent, failed) = mean(Mode::Rw, 256, [loss, loss], 60);
        assert!(
            goodput >= least - 0.025 && sent <= 1.03 && failed == 0,
            "loss {loss}: goodput {goodput:.3}, sent {sent:.4}, {failed} failed"
        );
    }
}

#[test]
fn rw_11_rw_19_w_256_reaches_nine_tenths_with_two_percent_when_both_directions_lose() {
    let (goodput, sent, failed) = mean(Mode::Rw, 256, [1e-2; 2], 300);
    assert!(
        goodput >= 0.9 && sent <= 1.02 && failed == 0,
        "goodput {goodput:.4}, sent {sent:.4}, {failed} failed"
    );
}

#[test]
fn rw_19_a_window_of_1024_keeps_the_line_full_when_both_directions_lose() {
    let (goodput, sent, failed) = mean(Mode::Rw, 1024, [1e-2; 2], 300);
    assert!(
        goodput >= 0.905 && sent <= 1.02 && failed == 0,
        "goodput {goodput:.4}, sent {sent:.4}, {failed} failed"
    );
}

#[test]
fn reference_modes_finish_with_the_overhead_expected_of_them() {
    // Every full round of the counter must get through whole: about e^(N·loss) rounds.
    let (_, sent, failed) = mean(Mode::Counter, 256, [1e-4, 0.0], 20);
    assert!(
        (1.05..1.5).contains(&sent) && failed == 0,
        "counter: {sent}"
    );
    let (goodput, _, failed) = mean(Mode::GoBackN, 256, [1e-3, 0.0], 2);
    assert!(
        (0.02..0.1).contains(&goodput) && failed == 0,
        "go-back-n: {goodput}"
    );
    let (goodput, _, failed) = mean(Mode::RwTimer, 256, [1e-3, 0.0], 5);
    assert!(
        (0.35..0.9).contains(&goodput) && failed == 0,
        "rw-timer: {goodput}"
    );
}
