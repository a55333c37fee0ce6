//! What the card does about marks of switches (CL-4): its frames may be marked, senders are told of marks, and transfers whose
//! receivers say so slow down ([`crate::rw::pace`]). Off until the register `congestion` says otherwise.

use super::CardModel;
use crate::bulk::OPCODE_CONGESTED;
use crate::card::regs::{
    CONGESTION, CONGESTION_CONTROL, CONGESTION_ENABLE, CONGESTION_INTERVAL,
    CONGESTION_INTERVAL_TICKS, CongestionCounter, Counter,
};
use crate::registers::{Access, Register};
use crate::roce;

/// Fewest and most ticks that the register `congestion_interval` counts as.
const INTERVAL: std::ops::RangeInclusive<u16> = 1..=4_096;

/// Registers.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    registers: Vec<u32>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            registers: CONGESTION.iter().map(|register| register.reset).collect(),
        }
    }
}

impl Marks {
    pub fn enabled(&self) -> bool {
        CONGESTION_ENABLE.get(self.get(&CONGESTION_CONTROL)) != 0
    }

    fn interval(&self) -> u16 {
        let ticks = CONGESTION_INTERVAL_TICKS.get(self.get(&CONGESTION_INTERVAL)) as u16;
        ticks.clamp(*INTERVAL.start(), *INTERVAL.end())
    }

    fn get(&self, register: &Register) -> u32 {
        let place = CONGESTION.iter().position(|r| r == register);
        place.map_or(0, |place| self.registers[place])
    }
}

/// Which register of congestion lies at an offset.
fn place(offset: u32) -> Option<usize> {
    CONGESTION
        .iter()
        .position(|register| u32::from(register.offset) == offset)
}

impl CardModel {
    /// Reads a register of congestion, if the card has these.
    pub(super) fn read_marks(&self, offset: u32) -> Option<u32> {
        let marks = self.marks.as_ref()?;
        marks.registers.get(place(offset)?).copied()
    }

    /// Writes one; false if there is none.
    pub(super) fn write_marks(&mut self, offset: u32, value: u32) -> bool {
        let (Some(marks), Some(place)) = (&mut self.marks, place(offset)) else {
            return false;
        };
        let register = &CONGESTION[place];
        if register.access == Access::ReadWrite && register.fits(value) {
            marks.registers[place] = value;
            self.set_pace();
        } else {
            self.count(Counter::BadWrite);
        }
        true
    }

    /// Tells the engines of datagrams and of bulk transfers what the registers say.
    pub(super) fn set_pace(&mut self) {
        let pace = self.marks.as_ref().filter(|marks| marks.enabled());
        self.engine.look_at_marks(pace.is_some());
        let interval = pace.map(|marks| marks.interval());
        if let Some(bulk) = &mut self.bulk {
            bulk.set_pace(interval);
        }
    }

    /// A counter of congestion; 0 without it.
    #[must_use]
    pub fn congestion_counter(&self, counter: CongestionCounter) -> u64 {
        let stats = self.engine.stats();
        let datagrams = match counter {
            CongestionCounter::MarkedReceived => stats.marked,
            CongestionCounter::Sent => stats.marks_told,
            CongestionCounter::Heard => stats.marks_heard,
            CongestionCounter::Slowed | CongestionCounter::WaitPace => 0,
        };
        let bulk = self.bulk.as_ref();
        datagrams + bulk.map_or(0, |bulk| bulk.congestion_counter(counter))
    }

    fn marks_on(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.enabled())
    }

    /// Whether a frame with this opcode is for the engines of bulk transfers.
    pub(super) fn is_congested(&self, opcode: u8) -> bool {
        opcode == OPCODE_CONGESTED && self.marks_on()
    }

    /// A frame that carries no reduction leaves: switches may mark it.
    pub(super) fn allow_marks(&mut self, frame: &mut [u8]) {
        if self.marks_on() {
            roce::allow_marks(frame);
        }
    }
}
