//! Memory and wires for engines.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod cards;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use tributary_fi::engine::{Address, Busy, Engine, Memory, Regions, Wire};

/// Bytes, and which of them are meant.
#[derive(Clone)]
pub struct Bytes(Arc<Mutex<Vec<u8>>>, Range<usize>);

impl Bytes {
    pub fn new(bytes: Vec<u8>) -> Self {
        let all = 0..bytes.len();
        Self(Arc::new(Mutex::new(bytes)), all)
    }

    pub fn all(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap()
    }

    fn range(&self, at: usize, count: usize) -> Range<usize> {
        let begin = self.1.start + at;
        assert!(begin + count <= self.1.end);
        begin..begin + count
    }
}

impl Memory for Bytes {
    fn length(&self) -> usize {
        self.1.len()
    }

    fn read(&self, at: usize, count: usize, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.all()[self.range(at, count)]);
    }

    fn copy(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.all()[self.range(at, into.len())]);
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        let range = self.range(at, from.len());
        self.all()[range].copy_from_slice(from);
    }

    fn part(&self, at: usize, count: usize) -> Self {
        Self(Arc::clone(&self.0), self.range(at, count))
    }
}

/// Messages under way to one end; every third is refused once.
#[derive(Default)]
pub struct Line {
    pub from: Address,
    pub queue: VecDeque<(Address, Address, Vec<u8>)>,
    pub calls: u32,
    /// Packets that the receiver has not seen.
    pub packets: usize,
    pub most: usize,
}

pub const PACKET: usize = 4_000;
pub const CREDITS: usize = 16;

impl Wire for Line {
    fn send(&mut self, to: Address, message: &[u8]) -> Result<(), Busy> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(Busy);
        }
        self.packets += message.len().div_ceil(PACKET);
        self.most = self.most.max(self.packets);
        self.queue.push_back((to, self.from, message.to_vec()));
        Ok(())
    }
}

pub type End = Engine<u32, Bytes>;

pub fn pair() -> ([End; 2], [Line; 2]) {
    pair_with(Regions::default())
}

/// The second one has regions.
pub fn pair_with(regions: Regions<Bytes>) -> ([End; 2], [Line; 2]) {
    let ends = [
        End::new((1, 1), CREDITS, PACKET, Regions::default()),
        End::new((2, 1), CREDITS, PACKET, regions),
    ];
    let lines = [1, 2].map(|from| Line {
        from,
        ..Line::default()
    });
    (ends, lines)
}

pub fn settle(ends: &mut [End; 2], lines: &mut [Line; 2]) {
    for _ in 0..4_000 {
        for (end, line) in ends.iter_mut().zip(lines.iter_mut()) {
            end.pump(line);
        }
        for line in lines.iter_mut() {
            while let Some((to, from, message)) = line.queue.pop_front() {
                line.packets -= message.len().div_ceil(PACKET);
                ends[to as usize - 1].arrived(from, &message);
            }
        }
        if !ends.iter().any(End::waits) {
            return;
        }
    }
    panic!("the two never rest");
}
