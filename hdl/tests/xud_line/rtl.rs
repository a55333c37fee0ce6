//! A Verilated block with its ports by name, and random packets.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::prelude::*;
use tributary_protocol::roce::Link;
use tributary_protocol::xud::{Ack, Echo, Nak, Packet, Reply, Send, Window, wire};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Verilates a block; a word that a RAM leaves undefined is a wrong one.
pub fn verilate<B: Block + Default>() -> Verilated {
    verilate_design(&emit_block(&mut B::default()).expect("the block is writable"))
}

pub fn verilate_design(design: &Design) -> Verilated {
    let options = BuildOptions::new(&design.top, &design.files()).with_checks();
    Verilated::build(&options).unwrap_or_else(|e| panic!("{}: {e}", design.top))
}

pub struct Rtl {
    pub model: Model,
    ports: HashMap<&'static str, Port>,
}

impl Rtl {
    pub fn new(library: &Verilated) -> Self {
        Self {
            model: library.model().unwrap(),
            ports: HashMap::new(),
        }
    }

    fn port(&mut self, name: &'static str) -> Port {
        let model = &self.model;
        *self
            .ports
            .entry(name)
            .or_insert_with(|| model.port(name).unwrap())
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<u64>) {
        let port = self.port(name);
        self.model.set(port, value.into());
    }

    pub fn set_wide(&mut self, name: &'static str, value: u128) {
        let port = self.port(name);
        let words = [value as u64, (value >> 64) as u64];
        self.model.set_wide(port, &words).unwrap();
    }

    pub fn get(&mut self, name: &'static str) -> u64 {
        let port = self.port(name);
        self.model.get(port)
    }

    pub fn is(&mut self, name: &'static str) -> bool {
        self.get(name) != 0
    }
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// The seeds of a random test.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("TRIBUTARY_SEED") {
        Ok(text) => {
            let seed = text.parse().unwrap();
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}

pub fn chance(rng: &mut ChaCha8Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

pub fn window(rng: &mut ChaCha8Rng, version: u8) -> Window {
    Window {
        id: rng.random(),
        epoch: if version == 0 { 0 } else { rng.random() },
        msn: rng.random(),
    }
}

/// Payload lengths: often short, sometimes at a limit.
pub fn length(rng: &mut ChaCha8Rng, longest: usize) -> usize {
    match rng.random_range(0..10) {
        0..5 => rng.random_range(0..40),
        5..8 => rng.random_range(0..300),
        8 => rng.random_range(longest - 9..=longest),
        _ => rng.random_range(0..=longest),
    }
}

pub fn send(rng: &mut ChaCha8Rng, longest: usize) -> Send {
    let version = rng.random_range(0..2);
    let mut payload = vec![0; length(rng, longest)];
    payload.iter_mut().for_each(|byte| *byte = rng.random());
    Send {
        dest_qp: rng.random_range(0..1 << 24),
        psn: rng.random_range(0..1 << 24),
        q_key: rng.random(),
        src_qp: rng.random_range(0..1 << 24),
        version,
        flags: if version == 0 {
            0
        } else {
            rng.random_range(0..8)
        },
        window: window(rng, version),
        payload,
        marked: false,
    }
}

pub fn ack(rng: &mut ChaCha8Rng) -> Ack {
    let naks = Nak::ALL;
    let reply = match rng.random_range(0..4) {
        0 => Reply::Rnr,
        1 => Reply::Nak(naks[rng.random_range(0..naks.len())]),
        _ => Reply::Ok,
    };
    let echo = chance(rng, 70).then(|| Echo {
        window: window(rng, 1),
        flags: rng.random_range(0..8),
        qpn: rng.random_range(0..1 << 24),
    });
    Ack {
        dest_qp: rng.random_range(0..1 << 24),
        psn: rng.random_range(0..1 << 24),
        reply,
        echo,
        marked: chance(rng, 40),
    }
}

/// Any packet that an encoder makes.
pub fn packet(rng: &mut ChaCha8Rng, longest: usize) -> Packet {
    match rng.random_range(0..10) {
        0..6 => Packet::Send(send(rng, longest)),
        6 => Packet::Unknown {
            opcode: rng.random_range(0xd2..0xe0),
            send: Send {
                payload: vec![],
                ..send(rng, 9)
            },
        },
        _ => Packet::Ack(ack(rng)),
    }
}

pub fn frame(from: u32, to: u32, packet: &Packet) -> Vec<u8> {
    wire::encode_frame(&Link::between(from, to), packet).unwrap()
}

/// A frame as words with the bytes that are present.
pub fn words(frame: &[u8]) -> Vec<(u64, u8)> {
    frame
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            (u64::from_le_bytes(word), 0xff >> (8 - chunk.len()))
        })
        .collect()
}
