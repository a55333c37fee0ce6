//! Random runs.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::tlp_link::wire::Kind;
use tributary_protocol::tlp_link::{Content, Settings, Unit};
use tributary_sim::verilate::Verilated;

use crate::bench::Bench;
use crate::card::Offered;

/// A TLP of this format and type with so many words of data, everything else at random.
fn tlp(rng: &mut SmallRng, format: u32, ty: u32, words: usize) -> Content {
    let mut header: [u32; 4] = rng.random();
    header[0] &= 0x00FF_7C00;
    header[0] |= format << 29 | ty << 24 | (words as u32 & 0x3FF);
    if format & 1 == 0 {
        header[3] = 0;
    }
    let count = words * (format as usize >> 1);
    let data = (0..count).map(|_| rng.random()).collect();
    Content::Tlp { header, data }
}

fn settings(rng: &mut SmallRng) -> Settings {
    Settings {
        function_id: rng.random(),
        bus_master: rng.random(),
        msix_enable: rng.random(),
        msix_mask: rng.random(),
        function_reset: rng.random_range(0..4) == 0,
        max_payload: 128 << rng.random_range(0..6),
        max_read: 128 << rng.random_range(0..6),
    }
}

/// A unit for the board, mostly a good one; `longest` is how many words it has room for.
fn unit(rng: &mut SmallRng, longest: usize, wrong: u32) -> Unit {
    let most = 2 * (longest - 2);
    let words = match rng.random_range(0..8) {
        0 => most,
        1 => rng.random_range(1..=most),
        _ => rng.random_range(1..6),
    };
    let content = match rng.random_range(0..10) {
        0 => Content::Settings(settings(rng)),
        1 => {
            let (format, ty) = (rng.random_range(0..4), rng.random_range(0..32));
            tlp(rng, format, ty, words)
        }
        2..6 => {
            let format = rng.random_range(0..4);
            tlp(rng, format, 0, words)
        }
        _ => {
            let (format, ty) = (2 * rng.random_range(0..2), 10 + rng.random_range(0..2));
            tlp(rng, format, ty, words)
        }
    };
    let (mut kind, mut bytes) = content.emit().unwrap();
    if rng.random_range(0..1_000) < wrong {
        match rng.random_range(0..7) {
            // Too long, in two ways.
            0 => {
                let words = most + rng.random_range(1..20);
                (kind, bytes) = tlp(rng, 2, 0, words).emit().unwrap();
            }
            1 => bytes.resize(8 * (longest + rng.random_range(0..20)), 1),
            2 => bytes.truncate(8 * rng.random_range(1..=bytes.len() / 8)),
            3 => bytes.extend([0; 8]),
            4 => {
                kind = match kind {
                    Kind::Tlp => Kind::Settings,
                    Kind::Settings => Kind::Tlp,
                }
            }
            5 if kind == Kind::Settings => {
                bytes = (0..8).map(|_| rng.random()).collect();
            }
            _ => {
                let at = [0, 1, 2, 3, 12, 15][rng.random_range(0..6)].min(bytes.len() - 1);
                bytes[at] ^= 1 << rng.random_range(0..8);
            }
        }
    }
    (kind, bytes)
}

/// What a card sends: 0 completions, 1 reads, 2 writes.
fn offered(rng: &mut SmallRng, stream: usize) -> Offered {
    let wide = rng.random_range(0..2);
    let words = match rng.random_range(0..6) {
        0 => rng.random_range(1..=128),
        _ => rng.random_range(1..6),
    };
    let (tlp, number) = match stream {
        0 => {
            let words = rng.random_range(0..3);
            let format = if words > 0 { 2 } else { 0 };
            (tlp(rng, format, 10, words), None)
        }
        1 => (tlp(rng, wide, 0, words), None),
        _ => (tlp(rng, 2 + wide, 0, words), Some(rng.random_range(0..64))),
    };
    Offered { tlp, number }
}

/// What is done to the block.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Of a thousand units, those with something wrong.
    pub wrong: u32,
    /// Of a hundred thousand clocks, those in which a session is lost.
    pub losses: u32,
    pub clocks: u64,
}

/// How many units and TLPs have passed.
pub fn run(library: &Verilated, words: usize, plan: Plan, seed: u64) -> Result<u64, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(library, words, seed);
    let mut gone = 20;
    // How busy the card is, and the host.
    let busy = [2, 30, 300][seed as usize % 3];
    for _ in 0..plan.clocks {
        gone = match bench.session {
            true if rng.random_range(0..100_000) < plan.losses => rng.random_range(1..300),
            true => 0,
            false => gone - 1,
        };
        bench.session = gone == 0;
        if bench.units.len() < 3 && rng.random_range(0..busy) == 0 {
            bench.units.push_back(unit(&mut rng, words, plan.wrong));
        }
        for stream in 0..3 {
            // A card without a session soon has nothing to say.
            let often = busy * if bench.session { 1 } else { 100 };
            if bench.card.waiting(stream) < 2 && rng.random_range(0..often) == 0 {
                bench.card.say(stream, offered(&mut rng, stream));
            }
        }
        bench.clock()?;
    }
    bench.session = true;
    for _ in 0..20_000 {
        bench.clock()?;
    }
    bench.settled()?;
    if plan.losses > 0 && bench.losses == 0 {
        return Err("no session was lost".to_owned());
    }
    Ok(bench.passed)
}
