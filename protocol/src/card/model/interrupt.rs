//! MSI-X: table, pending bits, moderation.

use super::{CardModel, HostMemory};
use crate::card::regs::{Counter, MODERATION, MODERATION_CLOCKS};

/// Word of an MSI-X table entry.
const ADDRESS_LOW: usize = 0;
const ADDRESS_HIGH: usize = 1;
const DATA: usize = 2;
const CONTROL: usize = 3;
/// Bit of the last word: the vector is masked.
const MASKED: u32 = 1;

#[derive(Clone, Copy, Debug)]
struct Vector {
    entry: [u32; 4],
    /// An interrupt is to be sent.
    due: bool,
    /// Not before this time, ns.
    not_before: u64,
}

/// The interrupt vectors of a card.
#[derive(Clone, Debug)]
pub(super) struct Interrupts(Vec<Vector>);

impl Interrupts {
    pub fn new(vectors: usize) -> Self {
        // Vectors begin masked, as PCI Express says.
        let vector = Vector {
            entry: [0, 0, 0, MASKED],
            due: false,
            not_before: 0,
        };
        Self(vec![vector; vectors])
    }

    /// An interrupt is due; several of a vector become one.
    pub fn raise(&mut self, vector: u8) {
        if let Some(vector) = self.0.get_mut(usize::from(vector)) {
            vector.due = true;
        }
    }

    /// A word of the table, counted from its start.
    pub fn get(&self, word: usize) -> Option<u32> {
        self.0.get(word / 4)?.entry.get(word % 4).copied()
    }

    /// Writes a word of the table.
    pub fn set(&mut self, word: usize, value: u32) {
        if let Some(vector) = self.0.get_mut(word / 4) {
            vector.entry[word % 4] = value;
        }
    }
}

impl CardModel {
    fn masked(&self, vector: &Vector) -> bool {
        !self.pci.msix_enable || self.pci.msix_mask || vector.entry[CONTROL] & MASKED != 0
    }

    /// Vectors whose interrupt waits for their mask, as bits.
    pub(super) fn pending(&self) -> u32 {
        let vectors = self.interrupts.0.iter().enumerate();
        vectors.fold(0, |bits, (number, vector)| {
            bits | u32::from(vector.due && self.masked(vector)) << number
        })
    }

    /// Sends what is due.
    pub(super) fn interrupt(&mut self, memory: &mut dyn HostMemory, now: u64) {
        let clocks = MODERATION_CLOCKS.get(self.registers.get(&MODERATION));
        let pause = u64::from(clocks) * self.config.clock_ns;
        for number in 0..self.interrupts.0.len() {
            let vector = self.interrupts.0[number];
            if !vector.due || now < vector.not_before || self.masked(&vector) {
                continue;
            }
            let [low, high] = [ADDRESS_LOW, ADDRESS_HIGH].map(|word| u64::from(vector.entry[word]));
            // A posted write: nobody tells the card whether it arrived.
            let _ = memory.write(high << 32 | low, &vector.entry[DATA].to_le_bytes());
            self.count(Counter::Interrupts);
            self.interrupts.0[number] = Vector {
                due: false,
                not_before: now + pause,
                ..vector
            };
        }
    }
}
