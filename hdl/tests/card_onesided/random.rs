//! Random frames, good and bad, beside the model.

use tributary_protocol::xud::onesided::{Answer, Asked, Operation, Request};
use tributary_protocol::xud::wire::{ONE_SIDED, Send};
use tributary_protocol::xud::{Grant, Outcome, Packet, Window};

use tributary_sim::testbench::{Stalls, profiles};

use crate::bench::{Dice, seeds};
use crate::world::{
    ANSWERS, BASE, Flight, Frame, HALF, Manner, Memory, QPS, World, allowed, counts, key, model,
    place,
};

pub const CALM: Manner = Manner {
    ready: 100,
    words: 100,
    hold: 0,
    contexts: 0,
};
pub const BUSY: Manner = Manner {
    ready: 60,
    words: 70,
    hold: 10,
    contexts: 2,
};
const SLOW: Manner = Manner {
    ready: 15,
    words: 20,
    hold: 40,
    contexts: 3,
};

/// Windows in use.
const WINDOWS: [u16; 3] = [0, 17, 238];

/// A window for the peer; one in ten of an epoch that is not accepted.
pub fn grant(world: &mut World, index: usize) -> Grant {
    let qpn = QPS[index];
    let newest = world.card.epoch(qpn).unwrap();
    let oldest = world.oldest[index];
    let span = u64::from(newest.wrapping_sub(oldest));
    let dice = &mut world.dice;
    let epoch = match dice.below(20) {
        0 => oldest.wrapping_sub(1 << dice.below(15)),
        1 => newest.wrapping_add(1 << dice.below(15)),
        2..6 => oldest,
        6..10 => newest,
        _ => oldest.wrapping_add(dice.below(span + 1) as u16),
    };
    Grant {
        qpn,
        peer: world.peer,
        epoch,
    }
}

fn asked(dice: &mut Dice, bytes: &[u8], most: usize) -> Asked<'static> {
    const BYTES: &[u8] = &[0x5a; 4080];
    let length = dice.of(&[0, 1, 7, 8, 9, 16, 31, 200, 495, most]);
    let value = dice.of(&[1, u64::MAX, 0xffff_ffff, 1 << 63]);
    let there = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    match dice.below(4) {
        0 => Asked::Write(&BYTES[..length]),
        1 => Asked::Read(length.max(1) as u32),
        2 => Asked::FetchAdd(value),
        _ => Asked::CompareSwap {
            swap: value,
            compare: dice.of(&[there, there, there ^ 1, there ^ 1 << 40]),
        },
    }
}

/// A request of a window, sometimes wrong in some way. `next` is the number that is expected.
fn request(world: &mut World, memory: &Memory, index: usize, next: u32) -> Frame {
    let qpn = QPS[index];
    let grant = world.grants[index];
    let (mtu, q_key, peer) = (usize::from(world.mtu), world.keys[index], world.peer);
    let dice = &mut world.dice;
    let offset = 8 * dice.below(8) as usize;
    let asked = asked(dice, &memory.bytes[offset..], mtu - 16);
    let lacks = dice.of(&[0, 0, 0, 0, 2, 4, 8, 14]);
    let mut address = BASE + offset as u64 + u64::from(!asked.operation().is_atomic());
    if dice.chance(5) {
        address = BASE - 8;
    }
    let request = Request {
        address,
        rkey: key(qpn, lacks),
        asked,
    };
    let mut payload = request.encode();
    if let Asked::Write(_) = asked {
        payload[16..].fill_with(|| dice.bits(8) as u8);
    }
    let bit = dice.below(32);
    let msn = dice.of(&[
        0,
        0,
        0,
        0,
        0,
        u32::MAX,
        u32::MAX,
        u32::MAX - 1,
        1,
        1 << bit,
        !(1 << bit),
    ]);
    let mut send = Send {
        dest_qp: qpn,
        psn: dice.bits(24) as u32,
        q_key,
        src_qp: peer.qpn,
        version: 1,
        flags: ONE_SIDED,
        window: Window {
            id: WINDOWS[index],
            epoch: grant.epoch,
            msn: next.wrapping_add(msn),
        },
        payload,
        marked: false,
    };
    // As good as random, and every seed does what it did without.
    send.marked = send.psn.count_ones() % 2 == 1;
    let mut from = peer.node;
    // More than one fault: the order of the checks shows.
    for _ in 0..dice.of(&[0, 0, 0, 1, 1, 2, 3]) {
        match dice.below(13) {
            0 => send.dest_qp = dice.of(&[1, 6, 8 + qpn, 0xff_ffff, 0x80_0000 | qpn]),
            1 => send.q_key ^= 1 << dice.below(32),
            2 => send.payload.truncate(dice.of(&[0, 1, 15, 16, 24, 31])),
            3 => send
                .payload
                .resize(dice.of(&[33, mtu + 1, mtu + 8, 4096]), 1),
            4 if send.payload.len() > 12 => {
                send.payload[12] = dice.of(&[0, 5, 0x12, 0x81, 0x85, 0xff, 1, 2, 3, 4]);
            }
            5 if send.payload.len() > 15 => send.payload[13 + dice.below(3) as usize] ^= 1,
            6 if send.payload.len() > 7 => send.payload[7] ^= 1 << dice.below(3),
            7 => {
                let high = 0x100 << dice.below(8);
                send.window.id = dice.of(&[1, 16, high | WINDOWS[index]]);
            }
            8 => send.src_qp ^= 1 << dice.below(24),
            9 => from ^= 1 << dice.below(20),
            10 => send.window.epoch ^= 1 << dice.below(16),
            11 if send.payload.len() > 15 => send.payload[15] = dice.of(&[0, 1, 0xf0]),
            _ => send.window.epoch = send.window.epoch.wrapping_add(2),
        }
    }
    Frame {
        from,
        send,
        fails: dice.chance(8),
    }
}

/// An answer, and what must come of it: the outcome of its request, and where its bytes go.
/// `count` gives each its own place in flight for a while.
fn answer(world: &mut World, count: u32) -> (Frame, Option<(u8, u64, Vec<u8>)>) {
    let (mtu, peer) = (world.mtu, world.peer);
    let dice = &mut world.dice;
    let qpn = dice.of(&QPS);
    // Where the places of a queue pair begin, of 32.
    let base = qpn.reverse_bits() >> 27;
    let psn = dice.bits(19) as u32 * 32 + (count.wrapping_sub(base) & 31);
    let kind = dice.of(&[0, 1, 1, 2, 2_u8]);
    let length = if kind == 2 {
        16
    } else {
        dice.of(&[1, 7, 8, 9, 100, usize::from(mtu) - 16])
    };
    let window = Window {
        id: dice.bits(16) as u16,
        epoch: dice.bits(16) as u16,
        msn: dice.bits(32) as u32,
    };
    let addr = ANSWERS + dice.below(HALF - length as u64 - 16);
    // Bit 0: no local_write.
    let key = key(qpn, u32::from(dice.chance(15)));
    let flight = Flight {
        window,
        peer,
        kind,
        addr,
        key,
        len: length as u16,
    };
    world.fly(qpn, psn, flight);
    let dice = &mut world.dice;
    let mut operation = match kind {
        2 => dice.of(&[Operation::FetchAdd, Operation::CompareSwap]),
        _ => Operation::Read,
    };
    let mut bytes = if kind == 2 { 0 } else { length };
    if dice.chance(15) {
        operation = dice.of(&[Operation::Read, Operation::FetchAdd]);
    }
    if dice.chance(15) {
        bytes = dice.of(&[bytes + 1, 0, 16]);
    }
    let data: Vec<u8> = (0..bytes).map(|_| dice.bits(8) as u8).collect();
    let mut old = [0; 8];
    old.fill_with(|| dice.bits(8) as u8);
    let mut send = Send {
        dest_qp: qpn,
        psn,
        // Not looked at.
        q_key: dice.bits(32) as u32,
        src_qp: peer.qpn,
        version: 1,
        flags: ONE_SIDED,
        window,
        payload: Answer {
            operation,
            old,
            data: &data,
        }
        .encode(),
        marked: psn.count_ones() % 2 == 1,
    };
    let mut good = true;
    if dice.chance(15) {
        good = false;
        match dice.below(3) {
            0 => send.psn ^= 0x20 << dice.below(19),
            1 => send.window.msn ^= 1 << dice.below(32),
            _ => send.src_qp ^= 1 << dice.below(24),
        }
    }
    let put = match (kind, operation) {
        (1, Operation::Read) => data.clone(),
        _ => old.to_vec(),
    };
    let fits = match (kind, operation) {
        (1, Operation::Read) => bytes == length,
        (2, Operation::FetchAdd | Operation::CompareSwap) => bytes == 0,
        _ => false,
    };
    let outcome = match kind {
        0 => Outcome::RemoteOpcode,
        _ if !fits => Outcome::RemoteLength,
        _ if !allowed(qpn, key, addr, put.len() as u64, 1) => Outcome::LocalProtection,
        _ => Outcome::Ok,
    };
    let put = if outcome == Outcome::Ok {
        put
    } else {
        Vec::new()
    };
    let frame = Frame {
        from: peer.node,
        send,
        fails: false,
    };
    (frame, good.then_some((outcome.code(), addr, put)))
}

/// Batches of frames; the first difference.
pub fn traffic(world: &mut World, batches: u64) -> Result<(), String> {
    traffic_through(world, batches, 15)
}

/// The same with so many of 100 windows opened anew before each.
fn traffic_through(world: &mut World, batches: u64, reopened: u32) -> Result<(), String> {
    let mut memory = world.memory.clone();
    let mut want = [0; 12];
    let mut count = 0;
    let mut accesses = 0;
    for batch in 0..batches {
        for (index, window) in WINDOWS.into_iter().enumerate() {
            if batch == 0 || world.dice.chance(reopened) {
                if world.dice.chance(50) {
                    world.close(window);
                }
                let grant = grant(world, index);
                world.open(window, grant);
                world.grants[index] = grant;
            }
        }
        let mut ack_nodes = Vec::new();
        let mut packets = Vec::new();
        let mut ended = Vec::new();
        for _ in 0..1 + world.dice.below(6) {
            if world.dice.chance(25) {
                count += 1;
                let (frame, outcome) = answer(world, count);
                let tag = (frame.send.dest_qp, frame.send.psn);
                world.push(frame);
                if let Some((outcome, addr, bytes)) = outcome {
                    ended.push((tag.0, tag.1, outcome));
                    want[11] += u64::from(outcome == Outcome::LocalProtection.code());
                    let at = place(addr).unwrap() as usize;
                    memory.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
                    memory.accesses += u64::from(!bytes.is_empty());
                }
                continue;
            }
            let index = world.dice.below(3) as usize;
            let next = next_of(world, index);
            let frame = request(world, &memory, index, next);
            let packet = model(&mut world.card, &mut memory, &frame);
            if let Some(Packet::Ack(_)) = packet {
                ack_nodes.push(frame.from);
            }
            packets.extend(packet);
            world.push(frame);
        }
        world.run()?;
        let mut acks = Vec::new();
        let mut answers = Vec::new();
        for packet in packets {
            match packet {
                Packet::Ack(ack) => acks.push(ack),
                Packet::Send(send) => answers.push(send),
                Packet::Unknown { .. } => unreachable!("nobody sends such"),
            }
        }
        let seen = &mut world.seen;
        let same = |what: &str, same: bool, detail: String| match same {
            true => Ok(()),
            false => Err(format!("batch {batch}: {what}: {detail}")),
        };
        same(
            "acknowledgements",
            seen.acks == acks && seen.ack_nodes == ack_nodes,
            format!("{:x?} {acks:x?} to {ack_nodes:x?}", seen.acks),
        )?;
        same(
            "answers",
            seen.answers == answers,
            format!("{:x?} {answers:x?}", seen.answers),
        )?;
        same(
            "ends",
            seen.ended == ended,
            format!("{:x?} {ended:x?}", seen.ended),
        )?;
        want[..11].copy_from_slice(&counts(&world.card));
        same(
            "events",
            seen.events == want,
            format!("{:?} {want:?}", seen.events),
        )?;
        seen.acks.clear();
        seen.ack_nodes.clear();
        seen.answers.clear();
        seen.ended.clear();
        same("memory", world.memory.bytes == memory.bytes, String::new())?;
        same(
            "accesses",
            world.memory.accesses == memory.accesses,
            String::new(),
        )?;
        accesses = memory.accesses;
    }
    if accesses == 0 {
        return Err("nothing was done".into());
    }
    Ok(())
}

/// The number that a window expects: a copy of the model says it when it is closed there.
fn next_of(world: &World, index: usize) -> u32 {
    let mut card = world.card.clone();
    card.close_window(WINDOWS[index]).unwrap_or(0)
}

#[test]
fn xud_13_requests_and_answers_are_those_of_the_model_whatever_stalls() {
    for (manner, batches) in [(CALM, 150), (BUSY, 150), (SLOW, 60)] {
        let mut sum = [0; 12];
        for seed in seeds(6) {
            let mut world = World::new(seed, manner);
            traffic(&mut world, batches).unwrap_or_else(|e| panic!("seed {seed}, {manner:?}: {e}"));
            for (sum, count) in sum.iter_mut().zip(world.seen.events) {
                *sum += count;
            }
        }
        println!("{manner:?}: {sum:?}");
        assert!(sum[1..].iter().all(|count| *count > 5), "{sum:?}");
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test card_onesided under_every_profile -- --nocapture`.
#[test]
fn xud_13_requests_and_answers_are_those_of_the_model_under_every_profile_of_stalls() {
    profiles("card_onesided: frames", |seed| {
        let stalls = Stalls::of_seed(seed, 7);
        let mut world = World::new(seed, BUSY);
        world.stalls = Some(stalls.clone());
        traffic(&mut world, 60).unwrap_or_else(|e| panic!("{stalls}: {e}"));
        world.seen.events.iter().sum()
    });
}

/// Numbers go far, and what an atomic has found is there again for a copy of it.
#[test]
fn xud_13_windows_that_stay_open_count_on() {
    let mut world = World::new(3, CALM);
    traffic_through(&mut world, 4_500, 0).unwrap();
    let numbers = [0, 1, 2].map(|index| next_of(&world, index));
    assert!(numbers.iter().any(|number| *number > 512), "{numbers:?}");
}

/// After a reset no queue pair receives, and when they do again, no window is open.
#[test]
fn xud_13_a_reset_closes_queue_pairs_and_windows() {
    for seed in seeds(4) {
        let mut world = World::new(seed, BUSY);
        traffic(&mut world, 20).unwrap();
        world.reset();
        for connected in [false, true] {
            if connected {
                world.connect();
            }
            let mut memory = world.memory.clone();
            let mut acks = Vec::new();
            for index in 0..3 {
                let frame = request(&mut world, &memory, index, 0);
                match model(&mut world.card, &mut memory, &frame) {
                    Some(Packet::Ack(ack)) => acks.push(ack),
                    Some(packet) => panic!("seed {seed}: {packet:?}"),
                    None => {}
                }
                world.push(frame);
            }
            world.run().unwrap();
            assert_eq!(world.seen.acks, acks, "seed {seed}, {connected}");
            assert_eq!(world.seen.events[..11], counts(&world.card), "seed {seed}");
            assert_eq!(world.seen.events[10], 0);
            world.seen.acks.clear();
            world.seen.ack_nodes.clear();
        }
        traffic(&mut world, 20).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

#[test]
fn xud_13_with_no_room_for_an_acknowledgement_a_request_is_dropped_undone() {
    let mut world = World::new(1, CALM);
    let grant = Grant {
        qpn: QPS[0],
        peer: world.peer,
        epoch: world.oldest[0],
    };
    world.open(WINDOWS[0], grant);
    world.rtl.set("m_ak_ready", 0u8);
    world.manner.ready = 0;
    let write = Request {
        address: BASE,
        rkey: key(QPS[0], 0),
        asked: Asked::Write(&[]),
    };
    for msn in 0..24 {
        world.push(Frame {
            from: world.peer.node,
            send: Send {
                dest_qp: QPS[0],
                psn: msn,
                q_key: world.keys[0],
                src_qp: world.peer.qpn,
                version: 1,
                flags: ONE_SIDED,
                window: Window {
                    id: WINDOWS[0],
                    epoch: grant.epoch,
                    msn,
                },
                payload: write.encode(),
                marked: msn % 3 == 0,
            },
            fails: false,
        });
    }
    for _ in 0..3_000 {
        world.clock().unwrap();
    }
    assert_eq!((world.seen.events[0], world.seen.events[10]), (8, 16));
    world.manner.ready = 100;
    world.run().unwrap();
    assert_eq!(world.seen.acks.len(), 16);
}
