//! Messages of READ, good and malformed.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::bulk::{ReadMessage, ReadRefused, ReadRequest, Refusal};
use tributary_protocol::roce::Bth;

use super::PACKETS_MAX;

/// A message on its way to the block.
#[derive(Clone, Debug)]
pub struct Message {
    /// Node that the frame comes from.
    pub node: u64,
    /// Its header.
    pub bth: Bth,
    /// Its body.
    pub body: Vec<u8>,
    /// It was longer than any frame, and only the rest of its length shows.
    pub long: bool,
}

impl Message {
    /// The frame has fewer bytes than every frame, or does not say how many it has.
    pub fn short(&self) -> bool {
        self.body.len() < 8 || self.long
    }

    /// Bytes behind the first 8.
    pub fn rest(&self) -> usize {
        self.body.len().saturating_sub(8)
    }

    /// What shows before anything but the head is looked at.
    pub fn bad_head(&self) -> bool {
        let fits = match self.bth.opcode {
            0xC8 => self.rest() == 40,
            0xC9 => self.rest() == 8,
            _ => false,
        };
        self.bth.psn != 0 || self.short() || !fits
    }

    /// The request that it is, if every field is good.
    pub fn request(&self) -> Option<ReadRequest> {
        let message = ReadMessage::decode(&self.bth, &self.body).ok()?;
        match message.sent_by(self.node as u32) {
            Some(ReadMessage::Request(of)) => Some(of),
            _ => None,
        }
    }
}

/// Where messages come from.
pub struct Source {
    rng: SmallRng,
    past: VecDeque<Message>,
    tokens: u64,
}

impl Source {
    /// The same messages for the same seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: SmallRng::seed_from_u64(!seed),
            past: VecDeque::new(),
            tokens: 0,
        }
    }

    /// The next one; copies of it may come later.
    pub fn next(&mut self) -> Message {
        let message = self.message();
        self.past.push_back(message.clone());
        if self.past.len() > 12 {
            self.past.pop_front();
        }
        message
    }

    fn one_in(&mut self, times: u32) -> bool {
        self.rng.random_range(0..times) == 0
    }

    /// A request: often just at or beyond the limits.
    fn request(&mut self, node: u64) -> ReadRequest {
        let mtu = self.rng.random_range(8..=12u8);
        let most = u64::from(PACKETS_MAX) << mtu;
        let near = (most + self.rng.random_range(0..3u64)).saturating_sub(1);
        let length = match self.rng.random_range(0..6) {
            0 => 0,
            1 => u32::MAX,
            2 | 3 => u32::try_from(near).unwrap_or_else(|_| self.rng.random()),
            _ => self.rng.random_range(0..1 << 20),
        };
        let to_address = match self.rng.random_range(0..4) {
            0 => u64::MAX,
            1 => (self.rng.random_range(0..3u64))
                .wrapping_sub(u64::from(length))
                .wrapping_sub(1),
            _ => self.rng.random_range(0..1 << 63),
        };
        self.tokens += 1;
        ReadRequest {
            qpn: self.rng.random_range(0..1 << 24),
            node: node as u32,
            source: self.rng.random_range(0..1 << 24),
            q_key: self.rng.random(),
            token: self.rng.random::<u64>() << 16 | self.tokens & 0xffff,
            mtu,
            length,
            address: self.rng.random(),
            rkey: self.rng.random(),
            to_address,
            to_key: self.rng.random(),
        }
    }

    /// Good, a copy of one of before, or with something wrong.
    fn message(&mut self) -> Message {
        // Two of them differ in bits 19:16 alone (CL-1).
        let node = [0x1_0002, 0xA_0002, 7u64][self.rng.random_range(0..3)];
        if !self.past.is_empty() && self.one_in(3) {
            let at = self.rng.random_range(0..self.past.len());
            let mut copy = self.past[at].clone();
            if self.one_in(8) && copy.body.len() == 48 {
                let bit: usize = self.rng.random_range(0..64);
                copy.body[8 + bit / 8] ^= 1 << (bit % 8);
            }
            if self.one_in(8) {
                // The token of another node.
                copy.node = node;
                if let Some(place) = copy.body.get_mut(2..4) {
                    place.copy_from_slice(&(node as u16).to_be_bytes());
                }
            }
            return copy;
        }
        let message = if self.one_in(3) {
            let reason = Refusal::ALL[self.rng.random_range(0..4)];
            ReadMessage::Refused(ReadRefused {
                qpn: self.rng.random_range(0..1 << 24),
                node: node as u32,
                token: self.rng.random(),
                reason,
                retry: self.rng.random(),
            })
        } else {
            ReadMessage::Request(self.request(node))
        };
        let (mut bth, mut body) = message.encode();
        let (mut from, mut long) = (node, false);
        if self.one_in(3) {
            match self.rng.random_range(0..10) {
                0 => bth.psn = 1 << self.rng.random_range(0..24),
                1 => {
                    let bytes = self.rng.random_range(0..body.len());
                    body.truncate(bytes);
                }
                2 => body.resize(body.len() + self.rng.random_range(1..60), 0),
                3 => {
                    let more = self.rng.random_range(0..=1);
                    let bytes = [40, 8, 48, 16][self.rng.random_range(0..4)] + more;
                    body.resize(bytes, 0);
                }
                8 => long = true,
                4 => bth.opcode = 0xC0 | self.rng.random_range(0..16),
                5 => from ^= 1 << self.rng.random_range(0..20),
                6 => body[1] = self.rng.random_range(0..16),
                7 => {
                    // Bits that no field has, and the version.
                    let places: &[usize] = if bth.opcode == 0xC8 {
                        &[0, 44]
                    } else {
                        &[0, 6, 7]
                    };
                    let place = places[self.rng.random_range(0..places.len())];
                    body[place] ^= 1 << self.rng.random_range(0..8);
                }
                _ => {
                    let bit = self.rng.random_range(0..body.len() * 8);
                    body[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
        Message {
            node: from,
            bth,
            body,
            long,
        }
    }
}
