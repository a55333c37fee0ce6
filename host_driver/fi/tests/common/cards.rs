//! Cards with bulk transfers for two engines: they end transfers in any order, lose some, and are late with those.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tributary_fi::engine::{
    Address, BULK, Busy, EAGER, Label, Regions, SLOT, Spot, Transferred, Wire,
};

use super::{Bytes, CREDITS, End, Line, PACKET};

/// Slots of an end, and transfers that its card has room for.
pub const SLOTS: usize = 5;
pub const ROOM: usize = 3;

/// Numbers from a seed (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    /// A length around all that matters.
    pub fn length(&mut self) -> usize {
        let edges = [
            0,
            1,
            EAGER,
            EAGER + 1,
            BULK - 1,
            BULK,
            BULK + 1,
            SLOT,
            SLOT + 1,
        ];
        match self.next(14) {
            at @ 0..9 => edges[at as usize],
            9..12 => self.next(300_000) as usize,
            _ => self.next(2_000_000) as usize,
        }
    }
}

pub struct Transfer {
    pub from: Address,
    pub spot: Spot,
    pub bytes: Vec<u8>,
    pub name: u32,
}

/// What the cards have: slots by their keys.
#[derive(Default)]
pub struct Cards {
    pub slots: HashMap<u32, Vec<u8>>,
    pub next: u32,
    pub under_way: Vec<Transfer>,
    /// Writes of transfers that were given up.
    pub late: Vec<Transfer>,
    pub landed: usize,
}

impl Cards {
    pub fn make(&mut self) -> u32 {
        self.next += 1;
        self.slots.insert(self.next, vec![0xDD; SLOT]);
        self.next
    }

    /// A write; whether there is such memory.
    pub fn put(&mut self, transfer: &Transfer) -> bool {
        let slot = self.slots.get_mut(&transfer.spot.rkey);
        let slot = slot.filter(|_| transfer.spot.address == 64 * u64::from(transfer.spot.rkey));
        if let Some(slot) = slot {
            slot[..transfer.bytes.len()].copy_from_slice(&transfer.bytes);
            return true;
        }
        false
    }
}

/// The card of one end.
pub struct Card {
    pub line: Line,
    pub cards: Arc<Mutex<Cards>>,
    pub keys: Vec<u32>,
}

impl Card {
    pub fn all(&self) -> MutexGuard<'_, Cards> {
        self.cards.lock().unwrap()
    }
}

impl Wire for Card {
    fn send(&mut self, to: Address, message: &[u8]) -> Result<(), Busy> {
        self.line.send(to, message)
    }

    fn spot(&mut self, slot: usize) -> Option<Spot> {
        let rkey = self.keys[slot];
        Some(Spot {
            qpn: self.line.from as u32,
            address: 64 * u64::from(rkey),
            rkey,
        })
    }

    fn renew(&mut self, slot: usize) -> bool {
        let key = self.keys[slot];
        let mut cards = self.cards.lock().unwrap();
        cards.slots.remove(&key);
        self.keys[slot] = cards.make();
        true
    }

    fn take(&mut self, slot: usize, bytes: usize, to: &mut dyn FnMut(usize, &[u8])) -> bool {
        let cards = self.all();
        let slot = &cards.slots[&self.keys[slot]];
        for (number, piece) in slot[..bytes].chunks(7_000).enumerate() {
            to(7_000 * number, piece);
        }
        true
    }

    fn write(
        &mut self,
        (to, spot): (Address, Spot),
        bytes: usize,
        name: u32,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Busy> {
        assert_eq!(to, u64::from(spot.qpn));
        let from = self.line.from;
        let mut cards = self.all();
        if cards.under_way.iter().filter(|t| t.from == from).count() >= ROOM {
            return Err(Busy);
        }
        let mut filled = vec![0; bytes];
        fill(&mut filled);
        let bytes = filled;
        cards.under_way.push(Transfer {
            from,
            spot,
            bytes,
            name,
        });
        Ok(())
    }
}

/// Two ends whose cards have transfers.
pub struct Pair {
    pub ends: [End; 2],
    pub cards: [Card; 2],
    pub random: Random,
    /// Of so many transfers one is given up; 0: none is.
    pub silent_of: u64,
}

impl Pair {
    pub fn new(seed: u64, silent_of: u64, regions: Regions<Bytes>) -> Self {
        let cards = Arc::new(Mutex::new(Cards::default()));
        let mut ends = [
            End::new((1, 1), CREDITS, PACKET, Regions::default()),
            End::new((2, 1), CREDITS, PACKET, regions),
        ];
        ends.iter_mut().for_each(|end| end.lend(SLOTS));
        let cards = [1, 2].map(|from| Card {
            line: Line {
                from,
                ..Line::default()
            },
            keys: (0..SLOTS).map(|_| cards.lock().unwrap().make()).collect(),
            cards: Arc::clone(&cards),
        });
        Self {
            ends,
            cards,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            silent_of,
        }
    }

    /// One round: everybody sends, messages arrive, one transfer ends.
    pub fn round(&mut self) {
        for (end, card) in self.ends.iter_mut().zip(&mut self.cards) {
            end.pump(card);
        }
        for card in &mut self.cards {
            while let Some((to, from, message)) = card.line.queue.pop_front() {
                card.line.packets -= message.len().div_ceil(PACKET);
                self.ends[to as usize - 1].arrived(from, &message);
            }
        }
        let mut all = self.cards[0].cards.lock().unwrap();
        let (under_way, late) = (all.under_way.len() as u64, all.late.len() as u64);
        if late > 0 && self.random.next(4) == 0 {
            let at = self.random.next(late) as usize;
            let late = all.late.swap_remove(at);
            all.put(&late);
        }
        if under_way == 0 {
            return;
        }
        let transfer = all
            .under_way
            .swap_remove(self.random.next(under_way) as usize);
        let (from, name) = (transfer.from, transfer.name);
        let how = if self.silent_of > 0 && self.random.next(self.silent_of) == 0 {
            let garbled = transfer.bytes.iter().map(|byte| !byte).collect();
            all.late.push(Transfer {
                bytes: garbled,
                ..transfer
            });
            Transferred::Silent
        } else if all.put(&transfer) {
            all.landed += 1;
            Transferred::Landed
        } else {
            Transferred::Broken
        };
        drop(all);
        self.ends[from as usize - 1].transferred(name, how);
    }

    pub fn rest(&self) -> bool {
        !self.ends.iter().any(End::waits) && self.cards[0].all().under_way.is_empty()
    }

    pub fn settle(&mut self) {
        for _ in 0..20_000 {
            self.round();
            if self.rest() {
                return;
            }
        }
        panic!("the two never rest");
    }

    pub fn landed(&self) -> usize {
        self.cards[0].all().landed
    }

    /// A message of one end to the other.
    pub fn send(&mut self, from: usize, tag: u64, bytes: Vec<u8>, op: u32) {
        let label = Label {
            tag: Some(tag),
            data: Some(op.into()),
        };
        let to = 2 - from as u64;
        let sent = self.ends[from].send(to, label, Bytes::new(bytes), Some(op), false);
        assert_eq!(sent, Ok(()));
    }
}
