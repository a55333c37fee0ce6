//! A stand-in for the engine of a port: sends what it gets on as it came, and keeps a record.

use std::collections::VecDeque;
use tributary_sim::testbench::Stalls;

/// A reduction frame as it came to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// 1 up, 2 passes, 3 down.
    pub kind: u8,
    /// In order of arrival: 6, 7, 8 to 11, 1 to 5.
    pub words: [u64; 11],
}

impl Stored {
    /// Wait count of the tree.
    pub fn wait(&self) -> u32 {
        (self.words[9] & 0xffff_ffff) as u32
    }

    /// VNI, tree, reduction id.
    pub fn place(&self) -> (u16, u16, u8) {
        let low = self.words[0];
        (
            (low >> 16) as u16,
            (low >> 3) as u16 & 0x1fff,
            low as u8 & 7,
        )
    }

    /// The frame as it was received.
    pub fn bytes(&self) -> Vec<u8> {
        let (_, tree, reduction) = self.place();
        let address = 0xff80_0007 | u32::from(reduction) << 18 | u32::from(tree) << 3;
        let mut words = [0; 12];
        words[6..].copy_from_slice(&self.words[..6]);
        words[1..6].copy_from_slice(&self.words[6..]);
        words[6] &= 0xffff_ffff_0000_0000;
        words[4] = words[4] & 0xffff_ffff_0000_0000 | u64::from(address.swap_bytes());
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut frame = bytes[2..].to_vec();
        frame[..2].copy_from_slice(&[3, 0]);
        frame[2..6].copy_from_slice(&address.to_be_bytes());
        frame
    }
}

/// A frame that comes in.
#[derive(Clone, Debug, Default)]
struct Coming {
    words: Vec<u64>,
    kind: u8,
}

#[derive(Clone, Debug, Default)]
pub struct Echo {
    /// Frames to look at, frames that pass.
    looks: Coming,
    passes: Coming,
    out: VecDeque<(u64, bool)>,
    /// A word is offered and stays so.
    offered: bool,
    /// It says that it has no room, whatever it has.
    pub closed: bool,
    /// Frames that have come, in order.
    pub seen: Vec<Stored>,
}

impl Echo {
    pub fn offer(&mut self, pauses: &mut Stalls, port: usize) -> Option<(u64, bool)> {
        let word = self.out.front().copied();
        if !self.offered {
            let last = word.is_some_and(|(_, last)| last);
            pauses.observe(port, word.is_some(), last);
            self.offered = word.is_some() && pauses.ready(port);
        }
        word.filter(|_| self.offered)
    }

    pub fn taken(&mut self, taken: bool) {
        if taken {
            self.out.pop_front();
            self.offered = false;
        }
    }

    pub fn has_room(&self) -> bool {
        !self.closed && self.out.len() < 24
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// A word of a frame to look at, or of one that passes, which is kind 2.
    pub fn word(&mut self, data: u64, first: bool, kind: u8) {
        let coming = match kind {
            2 => &mut self.passes,
            _ => &mut self.looks,
        };
        assert_eq!(
            first,
            coming.words.is_empty(),
            "first at word {}",
            coming.words.len()
        );
        if first {
            coming.kind = kind;
        }
        assert_eq!(kind, coming.kind, "the kind changes within a frame");
        coming.words.push(data);
        if let Ok(words) = <[u64; 11]>::try_from(coming.words.as_slice()) {
            coming.words.clear();
            let stored = Stored { kind, words };
            self.seen.push(stored);
            if stored.kind != 3 {
                let bytes = stored.bytes();
                for (chunk, number) in bytes.chunks(8).zip(1..) {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    self.out.push_back((u64::from_le_bytes(word), number == 12));
                }
            }
        }
    }
}
