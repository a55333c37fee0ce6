//! MSI-X: table, pending bits, moderation.

use super::{CardModel, HostMemory};
use crate::card::regs::{
    Counter, MODERATION, MODERATION_CLOCKS, MSIX_ADDRESS_HIGH, MSIX_ADDRESS_LOW, MSIX_CONTROL,
    MSIX_CONTROL_MASKED, MSIX_DATA, MSIX_ENTRY,
};
use crate::registers::Register;

#[derive(Clone, Copy, Debug)]
struct Vector {
    entry: [u32; MSIX_ENTRY.len()],
    /// An interrupt is to be sent.
    due: bool,
    /// Not before this time, ns.
    not_before: u64,
}

impl Vector {
    fn word(&self, register: &Register) -> u32 {
        self.entry[usize::from(register.offset) / 4]
    }
}

/// The interrupt vectors of a card.
#[derive(Clone, Debug)]
pub(super) struct Interrupts(Vec<Vector>);

impl Interrupts {
    pub fn new(vectors: usize) -> Self {
        let mut entry = [0; MSIX_ENTRY.len()];
        for (word, register) in entry.iter_mut().zip(MSIX_ENTRY) {
            *word = register.reset;
        }
        let vector = Vector {
            entry,
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
        let words = MSIX_ENTRY.len();
        self.0.get(word / words)?.entry.get(word % words).copied()
    }

    /// Writes a word of the table.
    pub fn set(&mut self, word: usize, value: u32) {
        let words = MSIX_ENTRY.len();
        if let Some(vector) = self.0.get_mut(word / words) {
            vector.entry[word % words] = value & MSIX_ENTRY[word % words].mask();
        }
    }
}

impl CardModel {
    /// Its interrupt may not be sent now.
    fn silent(&self, vector: &Vector) -> bool {
        !self.pci.bus_master
            || !self.pci.msix_enable
            || self.pci.msix_mask
            || MSIX_CONTROL_MASKED.get(vector.word(&MSIX_CONTROL)) != 0
    }

    /// Vectors whose interrupt waits for their mask or for bus mastering, as bits.
    pub(super) fn pending(&self) -> u32 {
        let vectors = self.interrupts.0.iter().enumerate();
        vectors.fold(0, |bits, (number, vector)| {
            bits | u32::from(vector.due && self.silent(vector)) << number
        })
    }

    /// Whether an interrupt waits for its pause.
    pub(super) fn interrupts_wait(&self) -> bool {
        let mut vectors = self.interrupts.0.iter();
        vectors.any(|vector| vector.due && !self.silent(vector))
    }

    /// Sends what is due.
    pub(super) fn interrupt(&mut self, memory: &mut dyn HostMemory, now: u64) {
        let clocks = MODERATION_CLOCKS.get(self.registers.get(&MODERATION));
        let pause = u64::from(clocks) * self.config.clock_ns;
        for number in 0..self.interrupts.0.len() {
            let vector = self.interrupts.0[number];
            if !vector.due || now < vector.not_before || self.silent(&vector) {
                continue;
            }
            let [low, high] =
                [MSIX_ADDRESS_LOW, MSIX_ADDRESS_HIGH].map(|word| u64::from(vector.word(&word)));
            // A posted write: nobody tells the card whether it arrived.
            let _ = memory.write(high << 32 | low, &vector.word(&MSIX_DATA).to_le_bytes());
            self.count(Counter::Interrupts);
            self.interrupts.0[number] = Vector {
                due: false,
                not_before: now + pause,
                ..vector
            };
        }
    }
}
