//! Anything at all on the buses and on the line: the card never hangs, never breaks a rule, never touches what is not its own.

use std::collections::VecDeque;

use tributary_protocol::card::regs::{Counter, ID, MAGIC};
use tributary_protocol::pcie::{Attributes, Completion, Status, Tlp};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::{Fault, RawTlp, RootComplex};

use super::bench::{Dice, Pair, Queue};
use super::traffic::{Traffic, alive};
use super::{long, seed};

/// A request of this format and type; addresses, enables and the rest are of any kind.
fn request(dice: &mut Dice, fmt: u32, ty: u32, length: u32, words: usize) -> RawTlp {
    let address = dice.word() as u32 & 0x1_FFFC;
    let enables = dice.pick(&[0x0F, 0xFF, 0xF0, 0x3C, 0x01]);
    let first = fmt << 29 | ty << 24 | length & 0x3FF;
    let header = match fmt & 1 {
        0 => [first, enables, address, 0],
        _ => [first, enables, dice.word() as u32, address],
    };
    let data = (0..words).map(|_| dice.word() as u32).collect();
    RawTlp {
        header,
        data,
        beside: 0,
    }
}

/// A request of the host. None may change a register: what is well formed goes where nothing is.
fn to_bar(root: &mut RootComplex, dice: &mut Dice) {
    let length = 1 + dice.below(40) as u32;
    match dice.below(12) {
        0 => {
            let address = dice.below(0x2_0000);
            let bytes = dice.pick(&[1, 2, 4, 8, 64]);
            let _ = root.bar_read(address & !63, bytes);
        }
        // Nothing, registers that are read only, doorbells of no queue pair.
        1 => {
            let address = dice.pick(&[0, 4, 12, 0x24, 0x28, 0x100, 0x1FF8, 0x3000, 0x3008, 0x4000]);
            let bytes = dice.bytes(4);
            root.bar_write(address, &bytes);
        }
        2 => {
            let qpn = dice.pick(&[9, 11, 14]);
            let address = 0x1_0000 + 0x1000 * qpn + dice.pick(&[0, 8, 16, 24, 2, 32]);
            let bytes = dice.bytes(4);
            root.bar_write(address, &bytes);
        }
        // Wants an answer and is refused.
        3 => {
            let kinds = [
                (0, 0b00001, 0),
                (1, 0b00001, 0),
                (0, 0b00010, 0),
                (2, 0b00010, 1),
                (0, 0b00100, 0),
                (2, 0b00100, 1),
                (0, 0b00101, 0),
                (2, 0b00101, 1),
                (2, 0b01100, 1),
                (2, 0b01110, 8),
            ];
            let (fmt, ty, words) = dice.pick(&kinds);
            let tlp = request(dice, fmt, ty, (words as u32).max(1), words);
            let _ = root.ask(tlp);
        }
        // A read that is too long, of another BAR or another function.
        4 => {
            let tlp = request(dice, 0, 0, 3 + length, 0);
            let _ = root.ask(tlp);
        }
        5 => {
            let beside = dice.pick(&[1, 6, 0x0100, 0x0700]);
            let tlp = request(dice, 0, 0, 1, 0);
            let _ = root.ask(RawTlp { beside, ..tlp });
        }
        // Writes that are too long, whose data do not match, poisoned, for others; to any register.
        6 => {
            let fmt = dice.pick(&[2, 3]);
            let tlp = request(dice, fmt, 0, 2 + length, 2 + length as usize);
            root.send(tlp);
        }
        7 => {
            let fmt = dice.pick(&[2, 3]);
            let words = dice.pick(&[0, 3, 4, 5, 9, 30]);
            let length = dice.pick(&[1, 2]);
            let tlp = request(dice, fmt, 0, length, words);
            root.send(tlp);
        }
        8 => {
            let mut tlp = request(dice, 2, 0, 1, 1);
            tlp.header[0] |= 1 << 14;
            root.send(tlp);
        }
        9 => {
            let beside = dice.pick(&[2, 5, 0x0300]);
            let tlp = request(dice, 2, 0, 1, 1);
            root.send(RawTlp { beside, ..tlp });
        }
        // Messages, completions that have lost their way, prefixes, types without a meaning.
        10 => {
            let (fmt, ty) = dice.pick(&[
                (1, 0b10000),
                (3, 0b10100),
                (0, 0b01010),
                (2, 0b01010),
                (4, 0b00000),
                (6, 0b00000),
                (2, 0b00001),
                (0, 0b11111),
            ]);
            let words = if fmt & 2 == 0 { 0 } else { length as usize };
            let tlp = request(dice, fmt, ty, words as u32, words);
            root.send(tlp);
        }
        _ => root.send_headless(1 + dice.below(5) as usize),
    }
}

/// A completion that no read of the card waits for.
fn stray(root: &mut RootComplex, dice: &mut Dice) {
    let words = dice.below(20);
    let completion = Completion {
        attributes: Attributes {
            ep: dice.chance(20),
            ..Attributes::default()
        },
        length: words as u16,
        locked: dice.chance(10),
        completer_id: dice.word() as u16,
        status: dice.pick(&[Status::Successful, Status::CompleterAbort]),
        bcm: false,
        byte_count: 1 + dice.below(4096) as u16,
        requester_id: dice.pick(&[0x0300, 0x0300, 0x0301]),
        // The card has 32 tags.
        tag: 32 + dice.below(992) as u16,
        lower_address: dice.below(128) as u8,
    };
    let mut header = Tlp::Completion(completion).emit().unwrap();
    if dice.chance(10) {
        header[0] = dice.pick(&[0x4000_0002, 0x0000_0001, 0x7F00_0004]);
    }
    let tlp = RawTlp {
        header,
        data: dice
            .bytes(words as usize)
            .into_iter()
            .map(u32::from)
            .collect(),
        beside: dice.pick(&[0, 0, 1, 9]),
    };
    match dice.below(6) {
        0 if words > 2 => root.send_completion_cut(&tlp, 1 + dice.below(words / 2) as usize),
        _ => root.send_completion(&tlp),
    }
}

fn frames(inbox: &mut VecDeque<Vec<u8>>, real: &[u8], dice: &mut Dice) {
    let mut frame = real.to_vec();
    match dice.below(6) {
        0 => {
            let length = 1 + dice.below(200) as usize;
            frame = dice.bytes(length);
        }
        1 if !frame.is_empty() => {
            let bit = dice.below(8 * frame.len() as u64) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        2 if frame.len() > 1 => frame.truncate(1 + dice.below(frame.len() as u64 - 1) as usize),
        3 => {
            let most = dice.pick(&[8, 8, 8, 100, 500, 4_200]);
            let more = 1 + dice.below(most) as usize;
            frame.extend(dice.bytes(more));
        }
        4 => {
            // Without a gap, more than one a clock can answer.
            for _ in 0..dice.below(40) {
                let length = 1 + dice.below(70) as usize;
                inbox.push_back(dice.bytes(length));
            }
        }
        _ => {}
    }
    if !frame.is_empty() {
        inbox.push_back(frame);
    }
}

/// Units of 64 clocks after which a read fails: 51 us, as the shortest that PCIe allows. Tags of reads that failed come back after
/// twice that.
const READ_TIMEOUT: u64 = 100;

/// What goes wrong with a read. Of those that fail the first ones keep their tags from use until twice the timeout is over.
fn fault(dice: &mut Dice) -> Fault {
    match dice.below(40) {
        // These hold up all that was read after them.
        0 => dice.pick(&[Fault::Dropped, Fault::Late(7_000)]),
        1 => Fault::Late(3_000),
        _ => dice.pick(&[
            Fault::ByteCount,
            Fault::LowerAddress,
            Fault::Short,
            Fault::Long,
            Fault::Interface(2),
            Fault::Refused(Status::UnsupportedRequest),
            Fault::Refused(Status::CompleterAbort),
            Fault::Poisoned,
            Fault::Twice,
        ]),
    }
}

/// Queue pairs of the traffic.
fn queues() -> Vec<Queue> {
    (0..4)
        .map(|qpn| Queue {
            timeout: 2,
            ..Queue::new(qpn, [4, 4, 5])
        })
        .collect()
}

fn campaign(seed: u64, rounds: u64, faults: bool) {
    println!("campaign with seed {seed}, faults {faults}");
    let mut dice = Dice::new(seed);
    let mut pair = Pair::rtl(seed, dice.pick(&[0, 40, 120]));
    let mut traffic = Traffic::new();
    for at in 0..2 {
        if faults {
            pair.rtl_card(at).0.set_read_timeout(READ_TIMEOUT);
        }
        traffic.start(&mut pair, at, &queues());
    }
    let mut real: Vec<u8> = Vec::new();
    for round in 0..rounds {
        for at in 0..2 {
            let (card, _) = pair.rtl_card(at);
            for _ in 0..dice.below(4) {
                to_bar(card.root(), &mut dice);
            }
            for _ in 0..dice.below(3) {
                stray(card.root(), &mut dice);
            }
            if faults && dice.chance(20) {
                card.root().inject(fault(&mut dice));
            }
            if let Some(frame) = pair.hosts[at].inbox.back() {
                real.clone_from(frame);
            }
            if dice.chance(30) {
                frames(&mut pair.hosts[at].inbox, &real, &mut dice);
            }
        }
        traffic.pump(&mut pair, &mut dice, true);
        pair.step();
        // A queue pair whose ring could not be read is made anew.
        for at in 0..2 {
            if traffic.flows[at].iter().any(|flow| flow.dead) && round % 16 == 0 {
                for flow in &traffic.flows[at] {
                    pair.destroy(at, &flow.queue);
                }
                traffic.start(&mut pair, at, &queues());
            }
        }
    }
    // One that is longer than any buffer.
    for host in &mut pair.hosts {
        host.inbox.push_back(dice.bytes(40_000));
    }
    pair.settle(60_000);
    if faults {
        // Every tag is free again.
        pair.run(2 * 64 * READ_TIMEOUT * CLOCK_NS);
    }
    traffic.pump(&mut pair, &mut dice, false);
    assert_eq!(traffic.open_sends(), 0, "work requests without completion");
    assert!(traffic.good > rounds / 4, "{} messages", traffic.good);
    for at in 0..2 {
        assert_eq!(pair.read(at, &ID), MAGIC);
        let (card, _) = pair.rtl_card(at);
        assert!(card.root().is_idle(), "a request without its answer");
        let faulted = card.root().faulted.len();
        println!("{faulted} reads of node {at} went wrong");
        assert!(!faults || faulted > 100);
        for counter in [
            Counter::BadTlp,
            Counter::StrayCompletion,
            Counter::BadFrame,
            Counter::BadWrite,
            Counter::BadDoorbell,
        ] {
            assert!(pair.counter(at, counter) > 0, "{counter:?}");
        }
    }
    traffic.stop(&mut pair);
    alive(&mut pair, &mut dice, 13);
    alive(&mut pair, &mut dice, 0);
    pair.check();
}

#[test]
fn xud_02_14_tlps_and_frames_of_any_kind_do_not_stop_the_card_or_lead_it_astray() {
    let (runs, rounds) = if long() { (100, 3_000) } else { (3, 700) };
    for seed in seed()..seed() + runs {
        campaign(seed, rounds, false);
    }
}

#[test]
fn xud_02_reads_that_fail_in_every_way_do_not_stop_the_card() {
    let (runs, rounds) = if long() { (300, 700) } else { (2, 700) };
    for seed in seed()..seed() + runs {
        campaign(seed, rounds, true);
    }
}
